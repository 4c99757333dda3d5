package sframe

// interpret gives the row's words their meaning (specification, "ABI/arch-specific Definition"; version 3 as libsframe
// and the kernel read it).
func (r *Row) interpret() {
	s := r.FDE.s
	h := &s.Header
	r.CFA, r.FP, r.RA = Rule{}, Rule{}, Rule{}
	r.Fault = 0
	r.Outermost = r.N == 0
	if r.Outermost {
		return
	}
	if r.FDE.Type() > typeFlex {
		r.Fault = FDEType
		return
	}
	if h.FixedRA != 0 {
		r.RA = Rule{From: FromCFA, Offset: int64(h.FixedRA), Deref: true, Fixed: true}
	}
	if h.FixedFP != 0 {
		r.FP = Rule{From: FromCFA, Offset: int64(h.FixedFP), Deref: true, Fixed: true}
	}
	if r.FDE.Flex() {
		r.flexible(h)
	} else {
		r.standard(h)
	}
	if r.Fault == 0 && !h.ABI.Known() {
		r.Fault = BadABI
	}
}

// standard reads rows without flexible rules: the CFA's offset from SP or FP, then the offsets of RA and FP from the
// CFA where the header does not fix them.
func (r *Row) standard(h *Header) {
	r.CFA = Rule{From: FromFP, Reg: h.ABI.FP(), Offset: cfaOffset(h.ABI, r.Word(0))}
	if r.BaseSP {
		r.CFA.From, r.CFA.Reg = FromSP, h.ABI.SP()
	}
	next := 1
	if h.FixedRA == 0 && next < r.N {
		r.RA = slotRule(h, r.Word(next))
		if r.Word(next) == 0 { // SFRAME_FRE_RA_OFFSET_INVALID: only there to come before the frame pointer's
			r.RA = Rule{Padded: true}
		}
		next++
	}
	if h.FixedFP == 0 && next < r.N {
		r.FP = slotRule(h, r.Word(next))
		next++
	}
	if next != r.N {
		r.Fault = RowWords
	}
}

// slotRule is the rule of an offset from the CFA. Version 2 on s390x may name a register instead.
func slotRule(h *Header, w int32) Rule {
	if reg, ok := registerWord(h, w); ok {
		return registerRule(h.ABI, reg)
	}
	return Rule{From: FromCFA, Offset: int64(w), Deref: true}
}

// registerWord decodes SFRAME_V2_S390X_OFFSET_IS_REGNUM.
func registerWord(h *Header, w int32) (uint32, bool) {
	if h.ABI != S390X || h.Version >= v3 || w&1 == 0 {
		return 0, false
	}
	return uint32(w >> 1), true
}

func registerRule(a ABI, reg uint32) Rule {
	switch reg {
	case a.SP():
		return Rule{From: FromSP, Reg: reg}
	case a.FP():
		return Rule{From: FromFP, Reg: reg}
	}
	return Rule{From: FromRegister, Reg: reg}
}

// cfaOffset undoes the scaling of CFA offsets on s390x (SFRAME_V2_S390X_CFA_OFFSET_DECODE).
func cfaOffset(a ABI, w int32) int64 {
	if a == S390X {
		return int64(w)*s390xFactor + s390xAdjust
	}
	return int64(w)
}

// flexible reads rows of flexible functions (version 3): for CFA, RA and FP a control word and an offset each; a
// control word of zero stands alone and means that there is no rule. Missing rules at the end have no words.
func (r *Row) flexible(h *Header) {
	if r.N < 2 || r.ControlWord(0)&controlReg == 0 {
		r.Fault = RowRule
		return
	}
	r.CFA = flexRule(h.ABI, r.ControlWord(0), cfaOffset(h.ABI, r.Word(1)))
	next := 2
	for _, rule := range [...]*Rule{&r.RA, &r.FP} {
		if next >= r.N {
			break
		}
		control := r.ControlWord(next)
		next++
		if control == 0 {
			rule.Padded = true
			continue
		}
		if next >= r.N {
			r.Fault = RowWords
			return
		}
		*rule = flexRule(h.ABI, control, int64(r.Word(next)))
		next++
	}
	// A padding word is only there for what follows it.
	if next != r.N || r.N == 3 {
		r.Fault = RowWords
	}
}

func flexRule(a ABI, control uint32, offset int64) Rule {
	rule := Rule{From: FromCFA}
	if control&controlReg != 0 {
		rule = registerRule(a, control>>controlShift)
	}
	rule.Offset, rule.Deref = offset, control&controlDeref != 0
	return rule
}
