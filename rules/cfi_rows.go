package rules

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// deltas judges the addresses of the block's deltas, in file order.
func (j *cfiJudge) deltas() {
	init, end := &j.init, j.end
	prev := j.rows[0].addr
	atInit := 0
	for i := 1; i < len(j.rows); i++ {
		r := &j.rows[i]
		outside := end != 0 && (r.addr < init.addr || r.addr >= end)
		if r.addr == end && outside {
			j.atEnd(i)
			continue
		}
		switch {
		case outside:
			n := 1
			for i+n < len(j.rows) && (j.rows[i+n].addr < init.addr || j.rows[i+n].addr > end) {
				n++
			}
			j.outside(i, n)
			i += n - 1
			continue
		case r.addr < prev:
			j.report(j.at(cfiDeltaOrder, r, j.addrPart(r)), r.addr, "STACK CFI %x stands behind %x, which is higher", r.addr, prev)
		case r.addr == prev && r.addr == init.addr:
			if atInit++; atInit > 1 {
				j.repeated(r, &j.rows[i-1])
			}
		case r.addr == prev:
			j.repeated(r, &j.rows[i-1])
		}
		prev = max(prev, r.addr)
	}
}

func (j *cfiJudge) repeated(r, before *cfiRow) {
	s := j.at(cfiDeltaDuplicate, r, j.addrPart(r))
	if r.num == before.num {
		s.Severity = lint.Info
		s.Effects = &sameTwice
	}
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, r.addr
		f.Message = fmt.Sprintf("a second STACK CFI record for %x", r.addr)
		f.Related = []lint.Related{{Location: j.p.Location(before.line, before.span, before.span), Message: "the first one"}}
	})
}

// outside reports n deltas from row i on that their INIT does not cover.
func (j *cfiJudge) outside(i, n int) {
	init, end, r := &j.init, j.end, &j.rows[i]
	s := j.at(cfiDeltaOutside, r, j.addrPart(r))
	s.Count = n
	other := find(j.inits, r.addr)
	covered := other >= 0 && r.addr < j.inits[other].End
	if covered {
		s.Effects = &leakEffects
	}
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, r.addr
		what := "STACK CFI " + hex(r.addr) + " lies"
		if n > 1 {
			what = fmt.Sprintf("%d STACK CFI records from %x on lie", n, r.addr)
		}
		f.Message = fmt.Sprintf("%s outside their INIT record's range %x..%x", what, init.addr, end)
		if n == 1 {
			f.Message = fmt.Sprintf("%s outside its INIT record's range %x..%x", what, init.addr, end)
		}
		switch {
		case covered:
			e := &j.p.Index.Inits[j.inits[other].Index]
			f.Message += fmt.Sprintf(" and in that of line %d", e.Line)
			f.Related = relatedRecord(j.p, e.Off, e.Line, "breakpad applies it to this range")
		case i == 1:
			f.Message += "; an INIT record is missing before it?"
		}
	})
}

// atEnd reports a row at the first address behind the range, which assemblers write for code that ends in a return. It
// is dead unless another range begins there.
func (j *cfiJudge) atEnd(i int) {
	r := &j.rows[i]
	if k := find(j.inits, r.addr); k >= 0 && r.addr < j.inits[k].End {
		j.outside(i, 1)
		return
	}
	s := j.at(cfiDeltaOutside, r, j.addrPart(r))
	s.Severity = lint.Info
	s.Effects = &deadRowEffects
	j.report(s, r.addr, "STACK CFI %x stands at the end of its INIT record's range and is never in force", r.addr)
}

func hex(v uint64) string { return fmt.Sprintf("%x", v) }

// addrPart is the address field of a row.
func (j *cfiJudge) addrPart(r *cfiRow) symfile.Span {
	rec := j.p.RecordAt(uint32(r.span.Off), uint32(r.line))
	return addrSpan(j.p, rec)
}

// swapped reports a block in which stack and frame pointer have changed places; false if on a second look they have not.
func (j *cfiJudge) swapped() bool {
	init, end := &j.rows[0], j.end
	first := -1
	j.intervals(func(i int, _ uint64) {
		if first < 0 && j.m.stateFlags[j.rows[i].state]&stateSwapped != 0 {
			first = i
		}
	})
	if first < 0 {
		return false
	}
	cpu := j.cpu
	sp, fp := cpu.names[cpu.sp], cpu.names[cpu.fp]
	r := init
	part := j.rulePart(r, ".cfa")
	if s := &j.m.states[init.state]; !cpu.onFrame(s) {
		r = &j.rows[first]
		part = j.rulePart(r, sp)
	}
	j.p.Report(j.at(cfiSwapped, r, part), func(f *lint.Finding) {
		f.HasAddress, f.Address = true, init.addr
		name := j.funcName(init.addr)
		f.Function = name
		if name == "" {
			name = "the code"
		}
		f.Message = fmt.Sprintf("%s and %s are exchanged in the unwind rows of %s (%x..%x)", sp, fp, name, init.addr, end)
		f.Detail = append(f.Detail, "exchanged back the rows read:")
		const shown = 8
		for i := range j.rows {
			if i == shown {
				f.Detail = append(f.Detail, fmt.Sprintf("  … and %d more", len(j.rows)-shown))
				break
			}
			r := &j.rows[i]
			f.Detail = append(f.Detail, "  "+string(exchange(j.p.Data[r.span.Off:min(r.span.End, r.span.Off+lint.MaxSnippet)], sp, fp)))
		}
		f.Fix = j.exchangeFix(sp, fp)
	})
	return true
}

// exchange swaps two register names in a record's text.
func exchange(text []byte, a, b string) []byte {
	words := bytes.Split(text, []byte{' '})
	for i, w := range words {
		name, colon := bytes.CutSuffix(w, []byte{':'})
		switch string(name) {
		case a:
			w = []byte(b)
		case b:
			w = []byte(a)
		default:
			continue
		}
		if colon {
			w = append(w, ':')
		}
		words[i] = w
	}
	return bytes.Join(words, []byte{' '})
}

// exchangeFix is the edit that puts the registers of the block back.
func (j *cfiJudge) exchangeFix(sp, fp string) *lint.Fix {
	const maxRows = 64
	if len(j.rows) > maxRows {
		return nil
	}
	fix := &lint.Fix{Description: fmt.Sprintf("exchange %s and %s", sp, fp)}
	for i := range j.rows {
		t := j.rows[i].text
		old := j.p.Data[t.Off:t.End]
		if now := exchange(old, sp, fp); !bytes.Equal(now, old) {
			fix.Edits = append(fix.Edits, lint.Edit{Offset: int64(t.Off), Length: int64(t.Len()), Text: string(now)})
		}
	}
	return fix
}

// inexpressible handles ranges whose frame the format cannot describe: signal trampolines and PLT stubs.
func (j *cfiJudge) inexpressible() bool {
	init := &j.rows[0]
	s := &j.m.states[init.state]
	kind := j.special(init.addr, j.end)
	noCFA := s.cfa.kind == noRule && len(j.rows) == 1
	named := kind == specialSignal
	if named && !j.cpu.windows || noCFA && s.ra.kind == ruleReg && s.ra.reg >= 0 && int32(s.ra.reg) != j.cpu.lr {
		j.p.Report(j.at(cfiSignalFrame, init, j.rulePart(init, ".ra")), func(f *lint.Finding) {
			f.HasAddress, f.Address = true, init.addr
			name := j.funcName(init.addr + 1)
			switch {
			case name != "" && named:
				f.Function = name
				f.Message = fmt.Sprintf("the frame of the signal trampoline %s is not described", name)
			default:
				f.Message = "the return address is the program counter itself and there is no CFA: probably a signal trampoline"
			}
			if !noCFA {
				f.Message += ": its CFA is not the interrupted stack pointer"
			}
		})
		return true
	}
	return j.plt()
}

// plt recognises the linkage table's one range for all its slots, of which only the first row holds for the first.
func (j *cfiJudge) plt() bool {
	cpu, init, end := j.cpu, &j.rows[0], j.end
	w := int32(cpu.word)
	if cpu.returnSlot == 0 || cpu.windows || end == 0 || len(j.rows) != 2 {
		return false
	}
	size := end - init.addr
	s, d := &j.m.states[init.state], &j.rows[1]
	body := &j.m.states[d.state]
	if size < 32 || size%16 != 0 || d.addr != init.addr+6 || !cpu.onStack(s) || s.cfa.off != 2*w || !cpu.onStack(body) || body.cfa.off != 3*w {
		return false
	}
	j.p.Report(j.at(cfiPLTStale, d, j.rulePart(d, ".cfa")), func(f *lint.Finding) {
		f.HasAddress, f.Address = true, d.addr
		f.Subject = "PLT"
		f.Message = fmt.Sprintf("in %d PLT stubs (%x..%x) the CFA stays at %s + %d, where it is %d or %d", size/16-1, init.addr+16, end,
			cpu.names[cpu.sp], 3*w, w, 2*w)
	})
	return true
}

// missing reports stretches without a rule for the CFA or the return address.
func (j *cfiJudge) missing() {
	init, end := &j.rows[0], j.end
	var noCFA, noRA uint64
	cfaEnd, raEnd := end, end
	j.intervals(func(i int, length uint64) {
		s := &j.m.states[j.rows[i].state]
		if s.cfa.kind == noRule {
			noCFA += length
			cfaEnd = j.rows[i].addr + length
		}
		if s.ra.kind == noRule {
			noRA += length
			raEnd = j.rows[i].addr + length
		}
	})
	s := &j.m.states[init.state]
	if s.cfa.kind == noRule && (noCFA > 0 || end == 0) && !j.garbled {
		j.report(j.at(cfiMissingCFA, init, init.text), init.addr, "INIT record has no .cfa rule%s", until(init.addr, cfaEnd, end))
	}
	if s.ra.kind == noRule && (noRA > 0 || end == 0) && !j.garbled {
		spot := j.at(cfiMissingRA, init, init.text)
		tail := until(init.addr, raEnd, end)
		if s.cfa.kind != noRule && j.isOutermost(init, end) {
			spot.Severity = lint.Info
			spot.Effects = &outermostNoRAEffects
			tail = " (an outermost function: there is no caller)"
		}
		j.report(spot, init.addr, "INIT record has no .ra rule%s", tail)
	}
}

func until(from, to, end uint64) string {
	if to == end || to <= from {
		return ""
	}
	return fmt.Sprintf(" and none is in force before %x", to)
}

// isOutermost: by name, or the only range of the file without a return address, which then is _start.
func (j *cfiJudge) isOutermost(init *cfiRow, end uint64) bool {
	if j.special(init.addr, end) == specialOutermost {
		return true
	}
	return j.noRA == 1 && len(j.rows) == 1 && end-init.addr <= 64 && j.funcName(init.addr) == "" &&
		j.cpu.onStack(&j.m.states[init.state])
}

// states judges the rows in force, each kind of oddity once for every stretch of rows that have it.
func (j *cfiJudge) states(b cfiBlock) {
	init := &j.init
	special := j.special(init.addr, j.end)
	if special == specialLinkage || special == specialContext {
		return // what they do to the stack is their purpose
	}
	var was cfiFlags
	entrySaid := false
	if b.flags&blockNotEntry != 0 && j.entryRows && special != specialOutermost && j.window == 0 {
		entrySaid = j.entry()
	}
	if first := &j.m.states[j.rows[0].state]; j.window == 0 && j.cpu.onStack(first) && first.cfa.off < 0 && len(j.rows) > 1 && j.rows[1].addr == init.addr {
		j.badCFA(&j.rows[0], first) // replaced at once, and nonsense all the same
		j.said |= stateBadCFA
	}
	stale := uint64(0)
	link := uint64(0)
	staleRow, linkRow := -1, -1
	saved := false
	j.intervals(func(i int, length uint64) {
		r := &j.rows[i]
		s := &j.m.states[r.state]
		f := j.m.stateFlags[r.state]
		fresh := f &^ was &^ j.said
		j.said |= f & stateBadCFA
		was = f
		oddFrame := false
		if fresh&stateBadCFA != 0 && !(entrySaid && r.addr == init.addr) {
			j.badCFA(r, s)
			oddFrame = true
		}
		if r.flags&stepJump != 0 && i > 0 && b.flags&stepJump != 0 {
			j.jump(i)
		}
		if fresh&stateReturnSlot != 0 && !oddFrame && !(entrySaid && r.addr == init.addr) {
			j.returnSlot(r, s)
		}
		if fresh&stateSlots != 0 {
			j.slots(r, s)
		}
		if r.flags&stepBelowTop != 0 {
			reg := j.cpu.belowTop(&j.m.texts[r.num], s)
			j.reportSubject(j.at(cfiSlotOutside, r, j.rulePart(r, j.cpu.name(reg))), r.addr, j.cpu.name(reg),
				"%s is saved below the stack pointer, which is at .cfa - %d", j.cpu.name(reg), s.cfa.off)
		}
		if f&stateStale != 0 {
			if staleRow < 0 {
				staleRow = i
			}
			stale += length
		} else if staleRow >= 0 {
			j.stale(staleRow, stale)
			staleRow, stale = -1, 0
		}
		if f&stateLinkFrame != 0 {
			if linkRow < 0 {
				linkRow = i
			}
			link += length
		} else if linkRow >= 0 {
			j.link(linkRow, link, saved)
			linkRow, link = -1, 0
		}
		saved = saved || f&stateReturnSaved != 0
	})
	if staleRow >= 0 {
		j.stale(staleRow, stale)
	}
	if linkRow >= 0 && b.flags&stateReturnSaved != 0 {
		j.link(linkRow, link, saved)
	}
}

// entry judges the first row of a function; true if it had something to say.
func (j *cfiJudge) entry() bool {
	cpu, init := j.cpu, &j.rows[0]
	last := 0
	for last+1 < len(j.rows) && j.rows[last+1].addr == init.addr {
		last++
	}
	r := &j.rows[last]
	s := &j.m.states[r.state]
	if s.cfa.kind == noRule || s.ra.kind == noRule || s.cfa.kind == ruleInvalid || s.ra.kind == ruleInvalid {
		return false // reported as such
	}
	for n := range cpu.names {
		if s.regs[n].kind == ruleLoad {
			return false // registers saved already: a split-off part of a function
		}
	}
	if !j.startsFunc(init.addr) && !(cpu.onStack(s) && s.cfa.off == -cpu.entryCFA && s.cfa.off != 0) {
		return false
	}
	spot := j.at(cfiEntryRow, r, j.rulePart(r, ".cfa"))
	switch {
	case cpu.onStack(s) && s.cfa.off == -cpu.entryCFA && cpu.entryCFA != 0:
		spot.Severity = lint.Error
		j.report(spot, r.addr, "at the function's entry the CFA is %s - %d: the sign is turned, it lies at %s + %d", cpu.names[cpu.sp], cpu.entryCFA,
			cpu.names[cpu.sp], cpu.entryCFA)
		return true
	case cpu.onStack(s) && s.cfa.off == cpu.entryCFA:
		return false // the return address is elsewhere: that is cfi-return-slot
	case j.fragment(init.addr) || strings.Contains(j.funcName(init.addr), ".plt"):
		return false
	}
	j.report(spot, r.addr, "at the function's entry the CFA is %s, where the ABI has %s + %d", describeRule(cpu, s.cfa), cpu.names[cpu.sp], cpu.entryCFA)
	return true
}

func describeRule(c *cfiCPU, r cfiRule) string {
	switch r.kind {
	case ruleReg:
		if r.off < 0 {
			return fmt.Sprintf("%s - %d", c.name(r.reg), -int64(r.off))
		}
		return fmt.Sprintf("%s + %d", c.name(r.reg), r.off)
	case ruleLoad:
		return fmt.Sprintf("the word at %s", describeRule(c, cfiRule{kind: ruleReg, reg: r.reg, off: r.off}))
	case ruleConst:
		return fmt.Sprint(r.off)
	case ruleUndef:
		return "undefined"
	case ruleInvalid:
		return "not computable"
	}
	return "another expression"
}

func (j *cfiJudge) badCFA(r *cfiRow, s *cfiState) {
	cpu := j.cpu
	what := fmt.Sprintf("is no multiple of %d bytes from the register", cpu.stackAlign())
	switch {
	case cpu.onStack(s) && s.cfa.off < 0:
		what = "lies below the stack pointer"
	case cpu.onStack(s) && s.cfa.off < cpu.entryCFA:
		what = "leaves no room for the return address"
	}
	j.grouped(j.at(cfiDiscontinuity, r, j.rulePart(r, ".cfa")), r, "", "the CFA, %s, %s", describeRule(cpu, s.cfa), what)
}

// jump reports a step that the few bytes of code before it cannot have made.
func (j *cfiJudge) jump(i int) {
	r, before := &j.rows[i], &j.rows[i-1]
	from, to := &j.m.states[before.state], &j.m.states[r.state]
	grown, code := to.cfa.off-from.cfa.off, r.addr-before.addr
	if code > 2 || !j.cpu.onStack(from) || !j.cpu.onStack(to) || (from.cfa.off == j.cpu.entryCFA && i > 1) {
		return
	}
	if j.m.stateFlags[before.state]&stateBadCFA != 0 {
		return // the row before is the one to blame
	}
	saves := 0
	for _, rule := range j.m.texts[r.num].rules {
		if rule.rule.kind == ruleLoad && rule.target >= 0 {
			saves++
		}
	}
	if saves > 1 {
		return // a whole state, not a step
	}
	for k := range i - 1 {
		if j.m.states[j.rows[k].state].cfa == to.cfa {
			return // a state restored behind a jump
		}
	}
	j.report(j.at(cfiDiscontinuity, r, j.rulePart(r, ".cfa")), r.addr,
		"%d bytes of code move the stack pointer by %d bytes", code, grown)
}

func (j *cfiJudge) returnSlot(r *cfiRow, s *cfiState) {
	spot := j.at(cfiReturnSlot, r, j.rulePart(r, ".ra"))
	if s.ra.kind == ruleReg && s.ra.reg == regCFA {
		spot.Severity = lint.Error
		spot.Effects = &noLoadEffects
		j.report(spot, r.addr, "the return address is the address of its slot, %s: the ^ that loads it is missing", describeRule(j.cpu, s.ra))
		return
	}
	where := "the link register or a slot of the frame"
	if j.cpu.returnSlot != 0 {
		where = fmt.Sprintf("the word at .cfa - %d", j.cpu.returnSlot)
	}
	j.grouped(spot, r, "", "the return address is %s, where the ABI has %s", describeRule(j.cpu, s.ra), where)
}

func (j *cfiJudge) slots(r *cfiRow, s *cfiState) {
	cpu := j.cpu
	verdict, a, b := cpu.slots(s)
	spot := j.at(cfiSlotOutside, r, j.rulePart(r, cpu.name(a)))
	slot := describeRule(cpu, cfiRule{kind: ruleReg, reg: regCFA, off: s.regs[a].off})
	switch verdict {
	case slotShared:
		spot.Rule = cfiSlotConflict
		j.grouped(spot, r, cpu.name(a), "%s and %s are both saved at %s", cpu.name(b), cpu.name(a), slot)
	case slotAboveCFA:
		j.grouped(spot, r, cpu.name(a), "%s is saved at %s, in the caller's frame", cpu.name(a), slot)
	case slotUnaligned:
		j.grouped(spot, r, cpu.name(a), "%s is saved at %s, across two words", cpu.name(a), slot)
	}
}

// staleBytes is how long a scratch register may carry the CFA while a prologue realigns the stack.
const staleBytes = 24

func (j *cfiJudge) stale(i int, length uint64) {
	r := &j.rows[i]
	s := &j.m.states[r.state]
	verdict := j.cpu.staleBase(s)
	reg := j.cpu.name(s.cfa.reg)
	part := j.rulePart(r, ".cfa")
	if verdict == unsavedFrame {
		j.reportSubject(j.at(cfiCalleeSavedLost, r, part), r.addr, reg, "the CFA is counted from %s, but no rule says where the caller's %s is", reg, reg)
		return
	}
	if length <= staleBytes {
		return
	}
	why := "which every call overwrites"
	if verdict == unsavedBase {
		why = "which no row saves"
	}
	j.reportSubject(j.at(cfiStaleBase, r, part), r.addr, reg, "for %d bytes the CFA is counted from %s, %s", length, reg, why)
}

// linkBytes is how long a frame may exist before the link register is stored into it.
const linkBytes = 128

func (j *cfiJudge) link(i int, length uint64, savedBefore bool) {
	if length <= linkBytes && !(savedBefore && length > epilogueBytes) {
		return
	}
	r := &j.rows[i]
	j.report(j.at(cfiLinkRegister, r, r.text), r.addr,
		"for %d bytes the return address is taken from %s although the function has a frame and stores it elsewhere", length, j.cpu.names[j.cpu.lr])
}
