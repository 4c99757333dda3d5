package rules

import (
	"fmt"
	"math"

	"github.com/symlint/symlint/unwind/dwarf"
	"github.com/symlint/symlint/unwind/sframe"
)

// refusal guesses why an assembler left a function out, from what its call frame information says: the format has no way
// to put it. "" if there is no reason to be seen.
func (c *sframeCheck) refusal(x *dwarf.FDE) string {
	abi, version := c.format()
	if abi == 0 {
		return ""
	}
	if x.CIE.RAReg != uint64(abi.RA()) {
		return fmt.Sprintf("its return address is in column %d, not %d", x.CIE.RAReg, abi.RA())
	}
	if x.CIE.SignalFrame && version < 3 {
		return fmt.Sprintf("a signal frame, which version %d cannot mark", version)
	}
	flex := version >= 3 && abi != sframe.AArch64LE && abi != sframe.AArch64BE
	reason := ""
	_ = x.Rows(&c.row, func(w *dwarf.Row) bool {
		c.work--
		reason = refusedRow(w, abi, version, flex)
		return reason == "" && c.work > 0
	})
	return reason
}

// format is what the file's sections are.
func (c *sframeCheck) format() (sframe.ABI, uint8) {
	for _, s := range c.f.Sections {
		if s.Err == nil && s.Header.ABI.Known() {
			return s.Header.ABI, s.Header.Version
		}
	}
	return 0, 0
}

func refusedRow(w *dwarf.Row, abi sframe.ABI, version uint8, flex bool) string {
	sp, fp, ra := uint64(abi.SP()), uint64(abi.FP()), uint64(abi.RA())
	switch w.CFA.Kind {
	case dwarf.CFARegister:
		switch {
		case w.CFA.Reg != sp && w.CFA.Reg != fp && !flex:
			return fmt.Sprintf("its CFA counts from register %d, which is neither stack nor frame pointer", w.CFA.Reg)
		case w.CFA.Offset < math.MinInt32 || w.CFA.Offset > math.MaxInt32:
			return "the offset of its CFA has more than 32 bits"
		}
	case dwarf.CFAExpression:
		if p, ok := exprPlace(w.CFA.Expr, false); !ok || !flex || p.reg != sp && p.reg != fp {
			return "its CFA is an expression"
		}
	}
	if w.RASignedWithPC {
		return "its return address is signed with the pc"
	}
	has := func(reg uint64) (dwarf.RegRule, bool) { return w.Rule(reg) }
	if r, ok := has(sp); ok && r.Kind != dwarf.RuleSameValue && !(r.Kind == dwarf.RuleValOffset && r.Offset == 0) {
		return "it has a rule for the stack pointer"
	}
	raRule, raSaved := has(ra)
	if raSaved {
		switch raRule.Kind {
		case dwarf.RuleRegister:
			if version < 3 && !(version == 2 && abi == sframe.S390X) {
				return fmt.Sprintf("its return address is in register %d", raRule.From)
			}
		case dwarf.RuleValOffset:
			return "its return address is computed"
		case dwarf.RuleExpression, dwarf.RuleValExpression:
			if !flex {
				return "its return address is found by an expression"
			}
		case dwarf.RuleUndefined:
			if version < 3 {
				return "its return address is undefined, for which the version has no mark"
			}
		case dwarf.RuleOffset:
			if abi == sframe.AMD64 && raRule.Offset != -8 && !flex {
				return fmt.Sprintf("its return address is at CFA%+d", raRule.Offset)
			}
		}
	}
	if r, ok := has(fp); ok {
		switch r.Kind {
		case dwarf.RuleRegister:
			if version < 3 && !(version == 2 && abi == sframe.S390X) {
				return fmt.Sprintf("its frame pointer is in register %d", r.From)
			}
		case dwarf.RuleUndefined:
			return "its frame pointer is undefined"
		case dwarf.RuleValOffset:
			return "its frame pointer is computed"
		case dwarf.RuleExpression, dwarf.RuleValExpression:
			if !flex {
				return "its frame pointer is found by an expression"
			}
		case dwarf.RuleOffset:
			if (abi == sframe.AArch64LE || abi == sframe.AArch64BE) && (!raSaved || raRule.Kind != dwarf.RuleOffset) {
				return "it saves the frame pointer without the return address"
			}
		}
	}
	return ""
}
