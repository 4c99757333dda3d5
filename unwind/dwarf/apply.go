package dwarf

import (
	"debug/elf"
	"errors"
	"fmt"
)

// How says where the value of a caller's register comes from.
type How uint8

// How registers are recovered.
const (
	Unspecified How = iota // no rule: the value is the frame's own, if that is known
	IsUndefined            // lost
	Same                   // the rule says that it was not changed
	InMemory               // read at Addr
	InRegister             // the frame's register From held it
	Computed               // CFA + offset, or an expression's value
	Unreadable             // memory or a register it takes is missing, or its expression fails: Err tells
)

var hows = [...]string{"unspecified", "undefined", "same value", "memory", "register", "computed", "unreadable"}

func (h How) String() string {
	if int(h) < len(hows) {
		return hows[h]
	}
	return fmt.Sprintf("how %d", uint8(h))
}

// RecoveredReg is one register of the caller.
type RecoveredReg struct {
	Reg   uint64 // DWARF number
	Value uint64
	Known bool // Value is what the rule gives
	How   How
	Addr  uint64 // where it was read, or was to be read (InMemory, Unreadable)
	From  uint64 // InRegister: DWARF number
	Err   error  // Unreadable
}

// Recovered is the caller of a frame. It owns its storage: give it to Apply again and again.
type Recovered struct {
	CFA uint64
	// RA is the return address column. IsUndefined means that the frame is the outermost. Unspecified: no rule; on CPUs
	// with a link register the value is then that register's. Signed addresses (Row.RASigned) are given as they are.
	RA RecoveredReg
	// Regs has every register with a rule, by number, the return address column included. The caller's stack pointer is
	// the CFA unless it has a rule.
	Regs []RecoveredReg
}

// Get returns a register that has a rule.
func (o *Recovered) Get(reg uint64) (RecoveredReg, bool) {
	for i := range o.Regs {
		if o.Regs[i].Reg == reg {
			return o.Regs[i], true
		}
	}
	return RecoveredReg{}, false
}

// Errors of Apply and of registers that cannot be recovered.
var (
	ErrNoCFA      = errors.New("dwarf: no rule for the CFA")
	ErrNoRegister = errors.New("dwarf: register is not known")
	ErrNoMemory   = errors.New("dwarf: memory is not available")
)

// Apply computes the CFA and the registers of the caller from those of the frame. It fails only if there is no CFA; a
// register that cannot be recovered is Unreadable. Values have the size of the CPU's registers. Nothing is allocated
// once out is large enough, unless an expression fails.
func (r *Row) Apply(env Env, out *Recovered) error {
	f := r.FDE.CIE.file
	ctx := ExprContext{Word: r.FDE.CIE.AddressSize, BigEndian: f.layout.BigEndian}
	out.Regs = out.Regs[:0]
	out.RA = RecoveredReg{Reg: r.FDE.CIE.RAReg}
	switch r.CFA.Kind {
	case CFARegister:
		v, ok := env.Register(r.CFA.Reg)
		if !ok {
			return fmt.Errorf("%w: %d, of which the CFA is made", ErrNoRegister, r.CFA.Reg)
		}
		out.CFA = mask(v+uint64(r.CFA.Offset), ctx.Word)
	case CFAExpression:
		v, err := Evaluate(ctx, r.CFA.Expr, env)
		if err != nil {
			return fmt.Errorf("CFA: %w", err)
		}
		out.CFA = v
	default:
		return ErrNoCFA
	}
	ctx.CFA, ctx.HasCFA = out.CFA, true

	ruled := false
	for i := range r.Regs {
		reg := recoverReg(&r.Regs[i], f, ctx, env)
		out.Regs = append(out.Regs, reg)
		if reg.Reg == out.RA.Reg {
			out.RA, ruled = reg, true
		}
	}
	if !ruled {
		if v, ok := env.Register(out.RA.Reg); ok {
			out.RA.Value, out.RA.Known = v, true
		}
	}
	return nil
}

func recoverReg(rule *RegRule, f *File, ctx ExprContext, env Env) RecoveredReg {
	reg := RecoveredReg{Reg: rule.Reg}
	fromMemory := func(addr uint64) {
		reg.Addr = mask(addr, ctx.Word)
		reg.How = InMemory
		if reg.Value, reg.Known = env.Load(reg.Addr, f.registerBytes(rule.Reg)); !reg.Known {
			reg.How, reg.Err, reg.Value = Unreadable, ErrNoMemory, 0
		}
	}
	fromRegister := func(n uint64, how How) {
		reg.How = how
		if reg.Value, reg.Known = env.Register(n); !reg.Known {
			reg.How, reg.Err, reg.Value = Unreadable, ErrNoRegister, 0
		}
	}
	switch rule.Kind {
	case RuleUndefined:
		reg.How = IsUndefined
	case RuleSameValue:
		fromRegister(rule.Reg, Same)
	case RuleRegister:
		reg.From = rule.From
		fromRegister(rule.From, InRegister)
	case RuleOffset:
		fromMemory(ctx.CFA + uint64(rule.Offset))
	case RuleValOffset:
		reg.How, reg.Known, reg.Value = Computed, true, mask(ctx.CFA+uint64(rule.Offset), ctx.Word)
	case RuleExpression, RuleValExpression:
		v, err := Evaluate(ctx, rule.Expr, env, ctx.CFA)
		switch {
		case err != nil:
			reg.How, reg.Err = Unreadable, err
		case rule.Kind == RuleExpression:
			fromMemory(v)
		default:
			reg.How, reg.Known, reg.Value = Computed, true, v
		}
	}
	return reg
}

// registerBytes returns how many bytes of a register are saved. Of vector registers the low half is read.
func (f *File) registerBytes(reg uint64) int {
	switch f.layout.Machine {
	case elf.EM_ARM:
		if reg >= 256 && reg < 288 { // d0 to d31
			return 8
		}
	case elf.EM_PPC:
		if reg >= 32 && reg < 64 { // f0 to f31
			return 8
		}
	case elf.EM_S390:
		if reg >= 16 && reg < 32 { // f0 to f15
			return 8
		}
	}
	return f.regBytes
}
