package dwarf

import (
	"fmt"
	"strconv"
)

// Bounds on what one FDE may ask for. Real ones have below 40 rules in a row, two remembered states and a few thousand
// instructions.
const (
	maxRules        = 256
	maxRemembered   = 128
	maxInstructions = 1 << 20
)

// CFAKind says how a canonical frame address is found.
type CFAKind uint8

// The kinds of CFA rules.
const (
	CFAUndefined  CFAKind = iota // no instruction gave one
	CFARegister                  // register + offset
	CFAExpression                // value of a DWARF expression
)

// CFARule is how the canonical frame address is found.
type CFARule struct {
	Kind   CFAKind
	Reg    uint64 // DWARF number
	Offset int64
	Expr   []byte // part of the section
}

// RuleKind says how a register of the caller is found. A register without a rule is not undefined: callee-saved
// registers without one are by convention the same as in the frame itself, and the stack pointer is the CFA.
type RuleKind uint8

// The kinds of register rules (DWARF 5, section 6.4.1).
const (
	RuleUndefined     RuleKind = iota + 1 // lost; for the return address: the outermost frame
	RuleSameValue                         // not changed
	RuleOffset                            // saved at CFA + Offset
	RuleValOffset                         // is CFA + Offset
	RuleRegister                          // saved in register From
	RuleExpression                        // saved at the address Expr gives, which starts with the CFA on its stack
	RuleValExpression                     // is the value Expr gives
)

var ruleKinds = [...]string{"unspecified", "undefined", "same value", "offset", "val_offset", "register", "expression",
	"val_expression"}

func (k RuleKind) String() string {
	if int(k) < len(ruleKinds) {
		return ruleKinds[k]
	}
	return "rule " + strconv.Itoa(int(k))
}

// RegRule is how one register of the caller is found.
type RegRule struct {
	Reg    uint64 // DWARF number
	Kind   RuleKind
	Offset int64  // RuleOffset, RuleValOffset
	From   uint64 // RuleRegister: DWARF number
	Expr   []byte // RuleExpression, RuleValExpression: part of the section
}

// Row is the rules that hold for a range of pcs. It owns its storage: give it to RowAt again and again. It must not be
// copied but by Clone.
type Row struct {
	FDE        *FDE
	Start, End uint64 // pcs [Start, End)
	CFA        CFARule
	Regs       []RegRule // by Reg; registers without a rule are not in it
	// RASigned: the return address is signed (AArch64 pointer authentication), where it is recovered from as where it
	// still is in its register. RASignedWithPC: with the pc as second modifier.
	RASigned, RASignedWithPC bool
	ArgsSize                 uint64 // bytes of pushed arguments (DW_CFA_GNU_args_size)
	// Offset is where the instruction that began the row is in the section: the one that set its location; for the
	// first row, the FDE's first instruction.
	Offset uint64

	saved     []RegRule // rules of the remembered states, one behind the other
	savedRows []savedRow
}

// savedRow is a state that DW_CFA_remember_state kept.
type savedRow struct {
	from           int // of its rules in Row.saved
	cfa            CFARule
	signed, withPC bool
}

// rules is what a CIE gives its FDEs to begin with.
type rules struct {
	cfa            CFARule
	regs           []RegRule
	signed, withPC bool
	argsSize       uint64
}

func (r *Row) begin(from *rules) {
	r.Regs = append(r.Regs[:0], from.regs...)
	r.CFA, r.RASigned, r.RASignedWithPC, r.ArgsSize = from.cfa, from.signed, from.withPC, from.argsSize
}

// Rule returns the rule of a register, if it has one.
func (r *Row) Rule(reg uint64) (RegRule, bool) {
	if i, ok := r.find(reg); ok {
		return r.Regs[i], true
	}
	return RegRule{}, false
}

// Clone returns a copy that shares only the expressions' bytes with r.
func (r *Row) Clone() Row {
	c := *r
	c.Regs = append([]RegRule(nil), r.Regs...)
	c.saved, c.savedRows = nil, nil
	return c
}

// SameRules reports whether two rows say the same about the CFA and every register, whatever their pcs.
func (r *Row) SameRules(o *Row) bool {
	if r.CFA.Kind != o.CFA.Kind || !r.CFA.equal(&o.CFA) || len(r.Regs) != len(o.Regs) ||
		r.RASigned != o.RASigned || r.RASignedWithPC != o.RASignedWithPC {
		return false
	}
	for i := range r.Regs {
		if !r.Regs[i].equal(&o.Regs[i]) {
			return false
		}
	}
	return true
}

func (c *CFARule) equal(o *CFARule) bool {
	switch {
	case c.Kind != o.Kind:
		return false
	case c.Kind == CFARegister:
		return c.Reg == o.Reg && c.Offset == o.Offset
	case c.Kind == CFAExpression:
		return string(c.Expr) == string(o.Expr)
	}
	return true
}

func (r *RegRule) equal(o *RegRule) bool {
	return r.Reg == o.Reg && r.Kind == o.Kind && r.Offset == o.Offset && r.From == o.From &&
		string(r.Expr) == string(o.Expr)
}

// find returns where a register's rule is or belongs. Rows are short, and rules come mostly in order.
func (r *Row) find(reg uint64) (int, bool) {
	i := len(r.Regs)
	for i > 0 && r.Regs[i-1].Reg >= reg {
		i--
	}
	return i, i < len(r.Regs) && r.Regs[i].Reg == reg
}

func (r *Row) set(rule RegRule) bool {
	i, ok := r.find(rule.Reg)
	if !ok {
		if len(r.Regs) >= maxRules {
			return false
		}
		r.Regs = append(r.Regs, RegRule{})
		copy(r.Regs[i+1:], r.Regs[i:])
	}
	r.Regs[i] = rule
	return true
}

func (r *Row) drop(reg uint64) {
	if i, ok := r.find(reg); ok {
		r.Regs = append(r.Regs[:i], r.Regs[i+1:]...)
	}
}

func (r *Row) remember() bool {
	if len(r.savedRows) >= maxRemembered {
		return false
	}
	r.savedRows = append(r.savedRows, savedRow{len(r.saved), r.CFA, r.RASigned, r.RASignedWithPC})
	r.saved = append(r.saved, r.Regs...)
	return true
}

// recall takes the CFA from the stack as well, as gdb, libgcc and readelf do; DWARF speaks of register rules only.
func (r *Row) recall() bool {
	n := len(r.savedRows) - 1
	if n < 0 {
		return false
	}
	s := r.savedRows[n]
	r.CFA, r.RASigned, r.RASignedWithPC = s.cfa, s.signed, s.withPC
	r.Regs = append(r.Regs[:0], r.saved[s.from:]...)
	r.saved, r.savedRows = r.saved[:s.from], r.savedRows[:n]
	return true
}

func regName(n uint64) string { return "r" + strconv.FormatUint(n, 10) }

func (c CFARule) String() string {
	switch c.Kind {
	case CFARegister:
		return fmt.Sprintf("%s%+d", regName(c.Reg), c.Offset)
	case CFAExpression:
		return fmt.Sprintf("expression % x", c.Expr)
	}
	return "undefined"
}

// String returns the rule's right side: "[cfa-16]" for a place in memory, "cfa+8", "r3", "same value", "undefined".
func (r RegRule) String() string {
	switch r.Kind {
	case RuleOffset:
		return fmt.Sprintf("[cfa%+d]", r.Offset)
	case RuleValOffset:
		return fmt.Sprintf("cfa%+d", r.Offset)
	case RuleRegister:
		return regName(r.From)
	case RuleExpression:
		return fmt.Sprintf("[expression % x]", r.Expr)
	case RuleValExpression:
		return fmt.Sprintf("expression % x", r.Expr)
	}
	return r.Kind.String()
}
