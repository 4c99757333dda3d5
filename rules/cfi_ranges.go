package rules

import (
	"bytes"
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// mergeTexts takes over the rule texts that a later chunk met, for wrongCPU.
func (c *cfiChecker) mergeTexts(l *cfiChecker) {
	for i := range l.m.texts {
		if c.m.full() {
			return
		}
		x := &l.m.texts[i]
		c.m.text(int(x.off), int(x.off+x.len))
	}
}

// judgeOrphans reports deltas before the first INIT record of the file.
func (c *cfiChecker) judgeOrphans() {
	if c.orphans == 0 {
		return
	}
	rec := c.pass.RecordAt(c.orphanOff, c.orphanRow)
	s := lint.At(cfiDeltaOrphan, rec, addrSpan(c.pass, rec))
	s.Count = c.orphans
	c.pass.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, rec.Addr
		f.Message = "STACK CFI record without an INIT record before it"
		if c.orphans > 1 {
			f.Message = fmt.Sprintf("%d STACK CFI records without an INIT record before them", c.orphans)
		}
	})
}

// wrongCPU reports a module whose rules name the registers of another CPU than its MODULE record, and nothing else of
// its rules then.
func (j *cfiJudge) wrongCPU() bool {
	if !j.cpu.known() || j.cpu.guessed || len(j.m.texts) == 0 {
		return false
	}
	foreign := 0
	var other *arch.CPU
	for i := range j.m.texts {
		x := &j.m.texts[i]
		if x.flags&textUnknown == 0 {
			continue
		}
		if c := j.owner(j.p.Data[x.off : x.off+x.len]); c != nil {
			foreign++
			other = c
		}
	}
	if other == nil || 2*foreign <= len(j.m.texts) {
		return false
	}
	m := j.p.Module
	rec := j.p.RecordAt(m.Off, uint32(m.Line))
	j.p.Report(lint.At(moduleArch, rec, word(j.p, rec, 2)), func(f *lint.Finding) {
		f.Subject = m.Arch
		f.Message = fmt.Sprintf("the module is said to be %s, but its unwind rules name registers of %s", m.Arch, other.Name)
	})
	return true
}

// owner returns the CPU that the unknown registers of a rule text belong to.
func (j *cfiJudge) owner(text []byte) *arch.CPU {
	for _, rule := range postfix.ParseRules(text).Rules {
		for _, w := range append([][]byte{rule.Name(text)}, bytes.Fields(rule.Expr(text))...) {
			if !bytes.ContainsAny(w[:1], "$abcdefghijklmnopqrstuvwxyz") || j.cpu.named(w) {
				continue
			}
			if e := j.explanation(string(w)); e.Reason == arch.OtherCPU {
				return e.CPUs[0]
			}
		}
	}
	return nil
}

// judgeRanges holds the INIT ranges against each other.
func (j *cfiJudge) judgeRanges() {
	inits := j.p.Index.Inits
	for i := range inits {
		e := &inits[i]
		switch {
		case e.Size == 0:
			j.initRecord(cfiInitZeroSize, e, sizeSpan, "INIT record of size 0%s", deltasOf(e))
		case e.End() < e.Addr:
			j.initRecord(cfiInitWraps, e, sizeSpan, "the range %x + %x wraps past the end of the address space%s", e.Addr, e.Size, deltasOf(e))
		}
	}
	j.overlaps()
}

func deltasOf(e *symfile.InitEntry) string {
	switch e.Deltas {
	case 0:
		return ""
	case 1:
		return "; its STACK CFI record is lost with it"
	}
	return fmt.Sprintf("; its %d STACK CFI records are lost with it", e.Deltas)
}

func (j *cfiJudge) initRecord(rule *lint.Rule, e *symfile.InitEntry, part func(*lint.Pass, *symfile.Record) symfile.Span, format string, args ...any) {
	rec := j.p.RecordAt(e.Off, e.Line)
	j.report(lint.At(rule, rec, part(j.p, rec)), e.Addr, format, args...)
}

// tombstoneLimit: code does not lie in the first page of a module; FDEs there are of dead-stripped functions.
const tombstoneLimit = 0x1000

// overlaps reports INIT ranges that meet, the exact repeats and the tombstones once for the file.
func (j *cfiJudge) overlaps() {
	inits := j.p.Index.Inits
	var repeats, dead cfiGroup
	reach := -1 // position in j.inits of the range that reaches furthest so far
	for k := range j.inits {
		cur := &j.inits[k]
		if reach < 0 || cur.Start >= j.inits[reach].End {
			reach = k
			continue
		}
		prev := &j.inits[reach]
		e, o := &inits[cur.Index], &inits[prev.Index]
		same := cur.Start == prev.Start && cur.End == prev.End
		switch {
		case same && j.sameBlock(e, o):
			group(&repeats, e)
		case j.tombstone(cur.Start):
			group(&dead, e)
		case same:
			j.conflict(e, o)
		default:
			j.overlap(e, o)
		}
		if cur.End > prev.End {
			reach = k
		}
	}
	j.reportGroup(cfiInitDuplicate, lint.Info, &sameTwice, repeats, "INIT record repeated with the same rows, as from .debug_frame and .eh_frame")
	j.reportGroup(cfiInitDuplicate, lint.Warning, &tombstoneEffects, dead, "INIT records of dead-stripped functions share addresses near 0")
}

func group(g *cfiGroup, e *symfile.InitEntry) {
	if g.count == 0 || e.Line < g.line {
		g.off, g.line = e.Off, e.Line
	}
	g.count++
}

func (j *cfiJudge) reportGroup(rule *lint.Rule, severity lint.Severity, effects *lint.Effects, g cfiGroup, what string) {
	if g.count == 0 {
		return
	}
	rec := j.p.RecordAt(g.off, g.line)
	s := lint.At(rule, rec, addrSpan(j.p, rec))
	s.Severity, s.Effects, s.Count = severity, effects, g.count
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, rec.Addr
		f.Message = what
	})
}

// tombstone: in the first page of a module where several ranges begin at address 0.
func (j *cfiJudge) tombstone(addr uint64) bool { return j.dead && addr < tombstoneLimit }

// sameBlock reports whether two INIT records of one range have the same rows.
func (j *cfiJudge) sameBlock(a, b *symfile.InitEntry) bool {
	return bytes.Equal(j.blockText(a), j.blockText(b))
}

func (j *cfiJudge) blockText(e *symfile.InitEntry) []byte {
	end := nextInit(j.p, e.Off)
	if e.Deltas == 0 {
		if i := bytes.IndexByte(j.p.Data[e.Off:end], '\n'); i >= 0 {
			end = int(e.Off) + i
		}
	}
	return bytes.TrimRight(j.p.Data[e.Off:end], "\r\n")
}

// order returns the two entries in file order.
func order(a, b *symfile.InitEntry) (first, second *symfile.InitEntry) {
	if b.Line < a.Line {
		return b, a
	}
	return a, b
}

func (j *cfiJudge) conflict(a, b *symfile.InitEntry) {
	first, second := order(a, b)
	rec := j.p.RecordAt(second.Off, second.Line)
	first1 := j.p.RecordAt(first.Off, first.Line)
	sameInit := bytes.Equal(j.p.Data[first1.Text.Off:first1.Text.End], j.p.Data[rec.Text.Off:rec.Text.End])
	s := lint.At(cfiInitDuplicate, rec, addrSpan(j.p, rec))
	s.Severity, s.Effects = lint.Error, &conflictEffects
	if sameInit && (first.Deltas == 0 || second.Deltas == 0) {
		s.Effects = &splitDuplicateEffects
	}
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, second.Addr
		f.Message = fmt.Sprintf("a second INIT record for %x..%x with other rows", second.Addr, second.End())
		if sameInit && first.Deltas == 0 {
			f.Message = fmt.Sprintf("the INIT record for %x..%x is repeated, and only the second has STACK CFI records", second.Addr, second.End())
		}
		f.Related = relatedRecord(j.p, first.Off, first.Line, "the first one")
	})
}

// overlap is reported at the record that starts inside the other.
func (j *cfiJudge) overlap(e, o *symfile.InitEntry) {
	rec := j.p.RecordAt(e.Off, e.Line)
	s := lint.At(cfiInitOverlap, rec, addrSpan(j.p, rec))
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, e.Addr
		shared := min(e.End(), o.End()) - e.Addr
		kept, lost := order(e, o)
		f.Message = fmt.Sprintf("INIT %x..%x begins inside %x..%x of line %d: %d bytes have two sets of rows", e.Addr, e.End(), o.Addr, o.End(), o.Line, shared)
		f.Related = relatedRecord(j.p, o.Off, o.Line, "the other range")
		f.Effects = overlapEffects(kept, lost, o)
	})
}

func overlapEffects(kept, lost, lower *symfile.InitEntry) lint.Effects {
	rustKept := kept
	if lower != kept {
		rustKept = lost
	}
	rustLost := lost
	if rustKept == lost {
		rustLost = kept
	}
	return lint.Effects{
		{Impact: lint.Loses, Text: fmt.Sprintf("keeps the record of line %d and drops that of line %d, whose STACK CFI records stay in force", kept.Line, lost.Line)},
		{Impact: lint.Loses, Text: fmt.Sprintf("keeps the record of line %d and drops that of line %d with its STACK CFI records", rustKept.Line, rustLost.Line)},
		{Impact: lint.Degraded, Text: "hands both on"},
	}
}

// outermost reports functions without a caller that say they have one.
func (j *cfiJudge) outermost() {
	if j.cpu.windows {
		return
	}
	for _, s := range j.c.special {
		if s.kind != specialOutermost {
			continue
		}
		i := find(j.inits, s.addr)
		if i < 0 || s.addr >= j.inits[i].End || s.addr != j.inits[i].Start {
			continue
		}
		e := &j.p.Index.Inits[j.inits[i].Index]
		rec := j.p.RecordAt(e.Off, e.Line)
		if !bytes.Contains(j.p.Data[rec.Text.Off:rec.Text.End], []byte(".ra: ")) {
			continue
		}
		row := cfiRow{addr: rec.Addr, line: rec.Line, span: rec.Span, text: rec.Text}
		name := string(symfile.RecordText(j.p.Data, s.off))
		j.reportSubject(j.at(cfiOutermost, &row, j.rulePart(&row, ".ra")), rec.Addr, name,
			"%s begins a thread and has no caller, but its rows give it a return address", name)
	}
}

// symbols holds the INIT ranges against the symbols.
func (j *cfiJudge) symbols() {
	j.spans()
	j.outsideSymbols()
	j.missingCFI()
}

// maxSpanned is where the functions that a range reaches over are not counted any more.
const maxSpanned = 100

// spans reports INIT ranges over several functions. Compact unwind information merges neighbours on purpose, so it is
// only remarkable where it is rare.
func (j *cfiJudge) spans() {
	type hit struct {
		init   *symfile.InitEntry
		second *symfile.FuncEntry
		n      int
	}
	var hits []hit
	f := 0
	for k := range j.inits {
		r := &j.inits[k]
		if j.tombstone(r.Start) {
			continue
		}
		for f < len(j.funcs) && j.funcs[f].Start <= r.Start {
			f++
		}
		n, first := 0, f
		for g := f; g < len(j.funcs) && j.funcs[g].Start < r.End && n < maxSpanned; g++ {
			// A function that only touches the range's tail, or aliases inside the first, do not count.
			if g > first && j.funcs[g].Start == j.funcs[g-1].Start {
				continue
			}
			n++
		}
		inFirst := f > 0 && r.Start < j.funcs[f-1].End
		if k+1 < len(j.inits) && j.inits[k+1].Start < r.End || n == 0 || !inFirst && n == 1 || inFirst && j.funcs[first].Start < j.funcs[f-1].End {
			continue
		}
		hits = append(hits, hit{&j.p.Index.Inits[r.Index], &j.p.Index.Funcs[j.funcs[first].Index], n})
	}
	if len(hits)*10 > len(j.inits) && len(hits) > 10 {
		return
	}
	for _, h := range hits {
		rec := j.p.RecordAt(h.init.Off, h.init.Line)
		j.p.Report(lint.At(cfiSpansFunctions, rec, sizeSpan(j.p, rec)), func(f *lint.Finding) {
			f.HasAddress, f.Address = true, rec.Addr
			more := fmt.Sprint(h.n)
			if h.n == maxSpanned {
				more = fmt.Sprintf("%d or more", h.n)
			}
			f.Message = fmt.Sprintf("INIT %x..%x reaches over %s further function(s), the first at %x", h.init.Addr, h.init.End(), more, h.second.Addr)
			f.Related = relatedRecord(j.p, h.second.Off, h.second.Line, "a function that begins inside")
		})
	}
}

// outsideSymbols counts INIT ranges in which no symbol is.
func (j *cfiJudge) outsideSymbols() {
	if len(j.funcs)+len(j.public) == 0 {
		return // symbols-missing says it all
	}
	var g cfiGroup
	first := ^uint64(0) // the lowest PUBLIC, which names everything behind it
	if len(j.public) > 0 {
		first = j.public[0].Start
	}
	f := -1 // the last function that begins before the range's end
	for k := range j.inits {
		r := &j.inits[k]
		if r.End-1 >= first {
			continue
		}
		if f < 0 || f+1 < len(j.funcs) && j.funcs[f+1].Start < r.End {
			f = max(f, 0)
			for f+1 < len(j.funcs) && j.funcs[f+1].Start < r.End {
				f++
			}
		}
		if len(j.funcs) > 0 && j.funcs[f].Start < r.End && r.Start < j.funcs[f].End || j.tombstone(r.Start) {
			continue
		}
		group(&g, &j.p.Index.Inits[r.Index])
	}
	j.reportGroup(cfiOutsideSymbols, lint.Off, nil, g, "no FUNC or PUBLIC lies in the range of the INIT record")
}
