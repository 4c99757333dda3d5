package rules

import (
	"bytes"
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/dwarf"
	"github.com/symlint/symlint/unwind/sframe"
)

// comparison holds a row against a row of call frame information for the addresses where both are in force.
type comparison struct {
	c        *sframeCheck
	r        *sframe.Row
	row      *dwarf.Row
	from, to uint64
	offset   int  // of what is compared where there is no row
	next     step // what difference looks at next
}

type step uint8

const (
	stepOutermost step = iota
	stepCFA
	stepRA
	stepFP
	stepSigning
	stepEnd
)

// difference is where the two differ.
type difference struct {
	rule         *lint.Rule
	ours, theirs string
}

// what begins the sentence.
func (d *difference) what() string {
	switch d.rule {
	case sfFPMismatch:
		return "the frame pointer is"
	case sfRAMismatch:
		return "the return address is"
	case sfSigningMismatch:
		return "the return address is"
	case sfOutermostMismatch:
		return "the row says"
	}
	return "the CFA is"
}

// add counts a difference; the first of a kind in a function is reported.
func (x *comparison) add(d *difference, found map[*lint.Rule]*disagreement) {
	rule := d.rule
	if (rule == sfCFAMismatch || rule == sfRAMismatch || rule == sfFPMismatch) && x.c.inPLT(x.from) {
		rule = sfPLTWrong
	}
	f := found[rule]
	if f == nil {
		f = &disagreement{difference: *d, rule: rule, addr: x.from, offset: x.offset, section: x.row.FDE.CIE.Section.Name, rowAt: x.row.Offset}
		if x.r != nil {
			f.offset, f.length = x.r.Offset, x.r.Len()
		}
		found[rule] = f
	}
	f.n++
}

// difference returns the next difference, nil when there are no more.
func (x *comparison) difference() *difference {
	for x.next < stepEnd {
		s := x.next
		x.next++
		if d := x.step(s); d != nil {
			return d
		}
	}
	return nil
}

func (x *comparison) step(s step) *difference {
	r, w := x.r, x.row
	abi := r.FDE.Section().Header.ABI
	ra, hasRA := w.Rule(w.FDE.CIE.RAReg)
	switch s {
	case stepOutermost:
		if r.Fault != 0 {
			x.next = stepEnd // told elsewhere
			return nil
		}
		undefined := hasRA && ra.Kind == dwarf.RuleUndefined
		if r.Outermost || undefined {
			x.next = stepEnd // nothing else matters then
		}
		if undefined && r.FDE.Section().Header.Version < 3 && r.RA.From == sframe.Unchanged {
			return nil // as near as the version comes to it
		}
		if undefined != r.Outermost {
			if undefined {
				return &difference{sfOutermostMismatch, "that the return address is " + r.RA.String(), "that it is undefined"}
			}
			return &difference{sfOutermostMismatch, "that the return address is undefined", "that it is " + theirRule(ra, hasRA)}
		}
	case stepCFA:
		if !x.sameCFA() {
			return &difference{sfCFAMismatch, r.CFA.String(), x.theirCFA()}
		}
	case stepRA:
		if !sameRule(r.RA, ra, hasRA, w, abi) {
			return &difference{sfRAMismatch, r.RA.String(), theirRule(ra, hasRA)}
		}
	case stepFP:
		fp, ok := w.Rule(uint64(abi.FP()))
		if !sameRule(r.FP, fp, ok, w, abi) {
			return &difference{sfFPMismatch, r.FP.String(), theirRule(fp, ok)}
		}
	case stepSigning:
		signed := w.RASigned || w.RASignedWithPC
		switch {
		case abi != sframe.AArch64LE && abi != sframe.AArch64BE:
		case signed != r.RASigned:
			return &difference{sfSigningMismatch, pick(r.RASigned, "signed", "not signed"), pick(signed, "signed", "not signed")}
		case signed && r.FDE.BKey() != w.FDE.CIE.BKey:
			return &difference{sfSigningMismatch, pick(r.FDE.BKey(), "signed with key B", "signed with key A"),
				pick(w.FDE.CIE.BKey, "signed with key B", "signed with key A")}
		}
	}
	return nil
}

// place is a rule in a common form: register + offset, or what lies there.
type place struct {
	cfa    bool // counts from the CFA
	reg    uint64
	offset int64
	deref  bool
}

// sframePlace is the place of a rule that is not Unchanged.
func sframePlace(r sframe.Rule) place {
	if r.From == sframe.FromCFA {
		return place{cfa: true, offset: r.Offset, deref: r.Deref}
	}
	return place{reg: uint64(r.Reg), offset: r.Offset, deref: r.Deref}
}

// The operations that rules of compilers consist of (DWARF 5, 7.7.1).
const (
	opDeref      = 0x06
	opPlusUconst = 0x23
	opBra        = 0x28
	opSkip       = 0x2f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
)

// exprPlace reads expressions of the form register + offset, perhaps dereferenced.
func exprPlace(expr []byte, cfa bool) (p place, ok bool) {
	if cfa { // the CFA is on the stack already
		p.cfa = true
	} else {
		if len(expr) == 0 {
			return p, false
		}
		op := expr[0]
		expr = expr[1:]
		switch {
		case op >= opBreg0 && op <= opBreg31:
			p.reg = uint64(op - opBreg0)
		case op == opBregx:
			if p.reg, expr, ok = uleb(expr); !ok {
				return p, false
			}
		default:
			return p, false
		}
		if p.offset, expr, ok = sleb(expr); !ok {
			return p, false
		}
	}
	for len(expr) > 0 {
		op := expr[0]
		expr = expr[1:]
		switch op {
		case opPlusUconst:
			v, rest, ok := uleb(expr)
			if !ok || p.deref {
				return p, false
			}
			p.offset, expr = p.offset+int64(v), rest
		case opDeref:
			if p.deref {
				return p, false
			}
			p.deref = true
		default:
			return p, false
		}
	}
	return p, true
}

func uleb(b []byte) (v uint64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 10; i++ {
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

func sleb(b []byte) (v int64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 10; i++ {
		v |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			if shift := 7 * (i + 1); b[i]&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

// rulePlace is the place of a rule of call frame information; unchanged if it says that the value is the frame's own.
func rulePlace(r dwarf.RegRule) (p place, unchanged, ok bool) {
	switch r.Kind {
	case dwarf.RuleSameValue, dwarf.RuleUndefined:
		return p, true, true
	case dwarf.RuleOffset:
		return place{cfa: true, offset: r.Offset, deref: true}, false, true
	case dwarf.RuleValOffset:
		return place{cfa: true, offset: r.Offset}, false, true
	case dwarf.RuleRegister:
		return place{reg: r.From}, r.From == r.Reg, true
	case dwarf.RuleExpression, dwarf.RuleValExpression:
		p, ok = exprPlace(r.Expr, false)
		if !ok { // or one that counts from the CFA
			p, ok = exprPlace(r.Expr, true)
		}
		if r.Kind == dwarf.RuleExpression {
			ok = ok && !p.deref
			p.deref = true
		}
		return p, false, ok
	}
	return p, false, false
}

// sameRule compares the rules of a register. Expressions that are no place cannot be compared, and count as different:
// SFrame cannot express them.
func sameRule(ours sframe.Rule, theirs dwarf.RegRule, has bool, w *dwarf.Row, abi sframe.ABI) bool {
	if !has {
		return ours.From == sframe.Unchanged
	}
	p, unchanged, ok := rulePlace(theirs)
	if unchanged {
		return ours.From == sframe.Unchanged
	}
	if !ok || ours.From == sframe.Unchanged {
		return false
	}
	return sframePlace(ours) == p || absolute(sframePlace(ours), w) == absolute(p, w)
}

// absolute writes a place that counts from the CFA as one that counts from the CFA's register.
func absolute(p place, w *dwarf.Row) place {
	if p.cfa && w.CFA.Kind == dwarf.CFARegister {
		p.cfa, p.reg, p.offset = false, w.CFA.Reg, p.offset+w.CFA.Offset
	}
	return p
}

// sameCFA compares the rules of the CFA; expressions that are no place, as PLTs have them, at every address.
func (x *comparison) sameCFA() bool {
	r, w := x.r, x.row
	switch w.CFA.Kind {
	case dwarf.CFARegister:
		return sframePlace(r.CFA) == place{reg: w.CFA.Reg, offset: w.CFA.Offset}
	case dwarf.CFAExpression:
		if p, ok := exprPlace(w.CFA.Expr, false); ok {
			return sframePlace(r.CFA) == p
		}
		cost := 4
		if bytes.IndexByte(w.CFA.Expr, opSkip) >= 0 || bytes.IndexByte(w.CFA.Expr, opBra) >= 0 {
			cost = 1 << 16 // it may loop
		}
		for ; x.from < x.to && x.c.work > 0; x.from++ {
			x.c.work -= cost
			ours, theirs, ok := x.evaluate()
			if !ok || ours != theirs {
				return false
			}
		}
		return true
	}
	return true // the row has none
}

// somewhere is an address for registers of frames that are made up.
const somewhere = 0x7000_0000

// registersAt has a value for every register; DWARF's column of the return address is the pc in expressions of PLTs.
type registersAt struct {
	pc  uint64
	abi sframe.ABI
}

func (e registersAt) Register(n uint64) (uint64, bool) {
	if n == uint64(e.abi.RA()) {
		return e.pc, true
	}
	return somewhere + n<<16, n < 64
}

func (e registersAt) Load(uint64, int) (uint64, bool) { return 0, false }

// evaluate computes both CFAs at x.from.
func (x *comparison) evaluate() (ours, theirs uint64, ok bool) {
	abi := x.r.FDE.Section().Header.ABI
	env := registersAt{x.from, abi}
	rule := x.r.CFA
	if rule.Deref || rule.From == sframe.Unchanged {
		return 0, 0, false
	}
	base, ok := env.Register(uint64(rule.Reg))
	if !ok {
		return 0, 0, false
	}
	theirs, err := dwarf.Evaluate(dwarf.ExprContext{Word: x.c.cfi.Word(), BigEndian: x.c.cfi.BigEndian()}, x.row.CFA.Expr, env)
	return base + uint64(rule.Offset), theirs, err == nil
}

// theirCFA describes the CFA of call frame information, at one address if it depends on it.
func (x *comparison) theirCFA() string {
	w := x.row
	switch w.CFA.Kind {
	case dwarf.CFARegister:
		return registerName(x.r.FDE.Section().Header.ABI, w.CFA.Reg) + fmt.Sprintf("%+d", w.CFA.Offset)
	case dwarf.CFAExpression:
		if p, ok := exprPlace(w.CFA.Expr, false); ok {
			text := registerName(x.r.FDE.Section().Header.ABI, p.reg) + fmt.Sprintf("%+d", p.offset)
			if p.deref {
				text = "*(" + text + ")"
			}
			return text
		}
		abi := x.r.FDE.Section().Header.ABI
		if _, theirs, ok := x.evaluate(); ok {
			sp, _ := registersAt{x.from, abi}.Register(uint64(abi.SP()))
			return fmt.Sprintf("sp%+d", int64(theirs-sp))
		}
	}
	return w.CFA.String()
}

func registerName(abi sframe.ABI, reg uint64) string {
	switch reg {
	case uint64(abi.SP()):
		return "sp"
	case uint64(abi.FP()):
		return "fp"
	}
	return fmt.Sprintf("r%d", reg)
}

func theirRule(r dwarf.RegRule, has bool) string {
	if !has {
		return "unchanged"
	}
	switch r.Kind {
	case dwarf.RuleSameValue:
		return "unchanged"
	case dwarf.RuleOffset:
		return fmt.Sprintf("*(cfa%+d)", r.Offset)
	case dwarf.RuleValOffset:
		return fmt.Sprintf("cfa%+d", r.Offset)
	case dwarf.RuleUndefined:
		return "undefined"
	case dwarf.RuleRegister:
		return fmt.Sprintf("in register %d", r.From)
	}
	return "an expression"
}
