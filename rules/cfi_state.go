package rules

// judgeState says what is remarkable about a row on its own. It runs once for every distinct row of a file.
func (m *cfiMachine) judgeState(s *cfiState) (f cfiFlags) {
	c := m.cpu
	if s.cfa.kind == noRule {
		f |= stateNoCFA
	}
	if s.ra.kind == noRule {
		f |= stateNoRA
	}
	if !c.known() {
		return f
	}
	if !c.entryState(s) {
		f |= stateNotEntry
	}
	if c.exchanged(s) {
		return f | stateSwapped // its other oddities follow from that
	}
	if badCFA(c, s) {
		f |= stateBadCFA
	}
	if c.staleBase(s) != soundBase {
		f |= stateStale
	}
	if c.returnSlotOdd(s) {
		f |= stateReturnSlot
	}
	if slot, _, _ := c.slots(s); slot != slotsFine {
		f |= stateSlots
	}
	if c.returnSlot == 0 {
		switch {
		case s.ra.kind == ruleLoad:
			f |= stateReturnSaved
		case s.ra.kind == ruleReg && int32(s.ra.reg) == c.lr && s.cfa.kind == ruleReg && int32(s.cfa.reg) == c.sp && s.cfa.off > 0:
			f |= stateLinkFrame
		}
	}
	return f
}

// judgeStep says what is remarkable about the way from one row to the next.
func (m *cfiMachine) judgeStep(from, to *cfiState) cfiFlags {
	c := m.cpu
	if c.onStack(from) && c.onStack(to) && to.cfa.off-from.cfa.off > 2*int32(c.word) {
		return stepJump
	}
	return 0
}

// belowTop returns the register that a text says is saved below the stack pointer; regOther if none is. Only the row
// that brings the rule counts: in an epilogue the slots of registers popped already lie there.
func (c *cfiCPU) belowTop(x *cfiText, to *cfiState) int8 {
	if !c.onStack(to) || c.windows {
		return regOther
	}
	for _, r := range x.rules {
		if r.target >= 0 && r.rule.kind == ruleLoad && r.rule.reg == regCFA && r.rule.off < -to.cfa.off-c.redZone {
			return r.target
		}
	}
	return regOther
}

// onStack: the CFA is counted from the stack pointer.
func (c *cfiCPU) onStack(s *cfiState) bool {
	return s.cfa.kind == ruleReg && int32(s.cfa.reg) == c.sp && c.sp >= 0
}

// onFrame: the CFA is counted from the frame pointer.
func (c *cfiCPU) onFrame(s *cfiState) bool {
	return s.cfa.kind == ruleReg && int32(s.cfa.reg) == c.fp && c.fp >= 0
}

// entryState reports whether a row is what the ABI has at a function's first instruction: the return address on top of
// the stack or in the link register.
func (c *cfiCPU) entryState(s *cfiState) bool {
	if !c.onStack(s) || s.cfa.off != c.entryCFA {
		return false
	}
	if c.returnSlot == 0 {
		return s.ra.kind == ruleReg && int32(s.ra.reg) == c.lr && s.ra.off == 0
	}
	return s.ra.kind == ruleLoad && s.ra.reg == regCFA && s.ra.off == -c.returnSlot
}

// exchanged recognises rows in which stack and frame pointer have changed places.
//
// Read the right way round, a function begins with the CFA one word above the stack pointer and saves the frame
// pointer with its first push. Exchanged, the CFA is one word above the frame pointer, which nothing in a sound
// function ever is, and the stack pointer is "restored" from the push slot, which needs no rule since it is the CFA.
func (c *cfiCPU) exchanged(s *cfiState) bool {
	if c.fp < 0 || c.sp < 0 || c.windows {
		return false
	}
	if k := s.regs[c.fp].kind; k != noRule && k != ruleSelf {
		return false
	}
	spLoaded := s.regs[c.sp].kind == ruleLoad && s.regs[c.sp].reg == regCFA && s.regs[c.sp].off < 0
	switch {
	case c.onFrame(s):
		return spLoaded || s.cfa.off == c.entryCFA && (c.returnSlot != 0 || s.regs[c.sp].kind == noRule)
	case c.onStack(s):
		return spLoaded && c.returnSlot != 0
	}
	return false
}

// badCFA: below the stack pointer, or not a multiple of the word.
func badCFA(c *cfiCPU, s *cfiState) bool {
	if s.cfa.kind == ruleLoad || !c.onStack(s) && !c.onFrame(s) {
		return false
	}
	if s.cfa.off%int32(c.stackAlign()) != 0 {
		return true
	}
	// A return address in a register needs no room: eh_return and vfork take it off the stack.
	return c.onStack(s) && (s.cfa.off < 0 || s.cfa.off < c.entryCFA && s.ra.kind != ruleReg)
}

// stackAlign is what every CFA offset is a multiple of.
func (c *cfiCPU) stackAlign() int { return min(c.word, 8) }

type baseVerdict uint8

const (
	soundBase    baseVerdict = iota
	volatileBase             // a call destroys the register
	unsavedBase              // callee-saved, but no row says where the caller's value is
	unsavedFrame             // the same of the frame pointer
)

// staleBase judges the register the CFA is counted from.
func (c *cfiCPU) staleBase(s *cfiState) baseVerdict {
	if s.cfa.kind != ruleReg || s.cfa.reg < 0 || int32(s.cfa.reg) == c.sp {
		return soundBase
	}
	if c.volatile[s.cfa.reg] {
		return volatileBase
	}
	if k := s.regs[s.cfa.reg].kind; k == noRule || k == ruleSelf {
		switch {
		case c.windows || !c.saved[s.cfa.reg]:
			return soundBase
		case int32(s.cfa.reg) == c.fp:
			return unsavedFrame
		}
		return unsavedBase
	}
	return soundBase
}

// returnSlotOdd: the return address is not where calls put it.
func (c *cfiCPU) returnSlotOdd(s *cfiState) bool {
	switch s.ra.kind {
	case noRule, ruleInvalid, ruleOther, ruleUndef:
		return false // reported otherwise, or beyond judgement
	case ruleConst:
		return s.ra.off != 0 // zero ends the stack
	case ruleLoad:
		if s.ra.reg != regCFA {
			return c.returnSlot != 0
		}
		if c.returnSlot == 0 || c.windows {
			return s.ra.off >= 0
		}
		return s.ra.off != -c.returnSlot
	}
	if c.onStack(s) && s.cfa.off == 0 && s.ra.kind == ruleReg && s.ra.reg >= 0 {
		return false // taken off the stack into a register, to jump to: eh_return and vfork
	}
	return int32(s.ra.reg) != c.lr || s.ra.off != 0
}

type slotVerdict uint8

const (
	slotsFine     slotVerdict = iota
	slotShared                // two registers in one slot
	slotAboveCFA              // in the caller's frame
	slotUnaligned             // not on a word boundary
)

// slots judges where a row says the registers were saved; a and b are the registers at fault, b only for slotShared.
func (c *cfiCPU) slots(s *cfiState) (v slotVerdict, a, b int8) {
	type slot struct {
		off int32
		reg int8
	}
	var seen [maxTracked + 1]slot
	n := 0
	if s.ra.kind == ruleLoad && s.ra.reg == regCFA {
		seen[0] = slot{s.ra.off, regRA}
		n = 1
	}
	for i := range c.names {
		r := s.regs[i]
		if r.kind != ruleLoad || r.reg != regCFA {
			continue
		}
		for _, o := range seen[:n] {
			if o.off == r.off && !(o.reg == regRA && int32(i) == c.lr) {
				return slotShared, int8(i), o.reg
			}
		}
		seen[n] = slot{r.off, int8(i)}
		n++
		switch {
		case r.off >= 0 && !c.windows:
			return slotAboveCFA, int8(i), 0
		case r.off%4 != 0:
			return slotUnaligned, int8(i), 0
		}
	}
	return slotsFine, 0, 0
}
