package rules

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// winRanges holds the records of one type against each other.
type winRanges struct {
	c       *winChecker
	wins    []symfile.WinEntry
	starts  []uint64 // of functions and PUBLICs, ascending; made when asked for
	open    []winOpen
	same    [2]winRepeats // of equal ranges: with other fields, exact
	across  []winPartial  // overlaps with records of other functions
	within  []winPartial  // of the same function
	outer   int32         // first record that others lie in; -1 = none
	started bool
}

// winOpen is a record whose range is not behind yet.
type winOpen struct {
	index int32
	told  bool // its overlap has been reported
}

// winRepeats are repetitions of a range.
type winRepeats struct {
	n             int
	first, before int32 // the first repetition and what it repeats
}

// winPartial is a record that overlaps another in part.
type winPartial struct {
	culprit, other int32
	leaves         bool // the culprit begins above the other and leaves the function both are in
}

func (c *winChecker) reportOverlaps() {
	for _, kind := range [...]uint8{winDataType, winFPOType} {
		w := winRanges{c: c, wins: c.pass.Index.Wins, outer: -1}
		order := w.order(kind)
		for _, i := range order {
			w.next(i)
		}
		w.reportPartial(w.across, false)
		w.reportPartial(w.within, true)
		w.reportSame()
		w.reportNested(kind, len(order))
	}
}

// order lists the records of a type by start, wider ranges first. Those that are empty or leave the address space are
// not among them.
func (w *winRanges) order(kind uint8) []int32 {
	var order []int32
	for i := range w.wins {
		if e := &w.wins[i]; e.Type == kind && e.Size > 0 && e.Size <= winSpace && e.End() <= winSpace {
			order = append(order, int32(i))
		}
	}
	compare := func(a, b int32) int {
		x, y := &w.wins[a], &w.wins[b]
		return cmp.Or(cmp.Compare(x.Addr, y.Addr), cmp.Compare(y.Size, x.Size), cmp.Compare(a, b))
	}
	if !slices.IsSortedFunc(order, compare) {
		slices.SortFunc(order, compare)
	}
	return order
}

// maxOpen bounds how many records deep the nesting is followed: healthy files nest less than ten.
const maxOpen = 64

func (w *winRanges) next(i int32) {
	e := &w.wins[i]
	for n := len(w.open); n > 0 && w.wins[w.open[n-1].index].End() <= e.Addr; n-- {
		w.open = w.open[:n-1]
	}
	told := false
	if n := len(w.open); n > 0 {
		top := &w.open[n-1]
		o := &w.wins[top.index]
		switch {
		case o.Addr == e.Addr && o.Size == e.Size:
			w.repeat(top.index, i)
			return // it is dropped
		case e.End() > o.End():
			told = w.partial(top, i)
		case w.outer < 0:
			w.outer = top.index
		}
	}
	if len(w.open) == maxOpen { // overlapping records leave some behind that have ended
		w.open = slices.DeleteFunc(w.open, func(o winOpen) bool { return w.wins[o.index].End() <= e.Addr })
	}
	if len(w.open) < maxOpen {
		w.open = append(w.open, winOpen{i, told})
	}
}

func (w *winRanges) repeat(before, i int32) {
	p := w.c.pass
	a := p.RecordAt(w.wins[before].Off, w.wins[before].Line).Span
	b := p.RecordAt(w.wins[i].Off, w.wins[i].Line).Span
	s := &w.same[0]
	if bytes.Equal(p.Data[a.Off:a.End], p.Data[b.Off:b.End]) {
		s = &w.same[1]
	}
	if s.n == 0 || w.wins[i].Line < w.wins[s.first].Line {
		s.first, s.before = i, before
	}
	s.n++
}

func (w *winRanges) reportSame() {
	p := w.c.pass
	for k := range w.same {
		s := &w.same[k]
		if s.n == 0 {
			continue
		}
		e, o := &w.wins[s.first], &w.wins[s.before]
		rec := p.RecordAt(e.Off, e.Line)
		spot := lint.At(winOverlap, rec, addrSpan(p, rec))
		spot.Count, spot.Effects = s.n, &winSame
		if k == 1 {
			spot.Severity, spot.Effects = lint.Info, &sameTwice
		}
		p.Report(spot, func(f *lint.Finding) {
			at(f, e.Addr)
			f.Message = fmt.Sprintf("%#x bytes from %#x on are described again, in another way", e.Size, e.Addr)
			if k == 1 {
				f.Message = fmt.Sprintf("the record of %#x bytes from %#x on is repeated", e.Size, e.Addr)
			}
			if s.n > 1 {
				f.Message += fmt.Sprintf("; there are %d such records", s.n)
			}
			f.Related = relatedRecord(p, o.Off, o.Line, "the first record of the range")
		})
	}
}

// partial notes that record top, which begins lower, ends within record i. It returns true if record i is to blame.
func (w *winRanges) partial(top *winOpen, i int32) bool {
	o, e := &w.wins[top.index], &w.wins[i]
	if !w.symbolBetween(o.Addr, e.Addr) {
		// One function's frame in pieces. A piece that leaves the function is the one that is wrong.
		if end, ok := w.functionEnd(e.Addr); ok && e.End() > end && o.End() <= end {
			w.across = append(w.across, winPartial{i, top.index, true})
			return true
		}
		if !top.told {
			w.within = append(w.within, winPartial{top.index, i, false})
		}
	} else if !top.told {
		w.across = append(w.across, winPartial{top.index, i, false})
	}
	top.told = true
	return false
}

// manyOverlaps is the number of overlaps from which they have one cause: code that was reordered after linking, whose
// records still have the sizes from before.
const manyOverlaps = 512

func (w *winRanges) reportPartial(found []winPartial, within bool) {
	count := 0
	if len(found) > manyOverlaps {
		count = len(found)
		first := slices.MinFunc(found, func(a, b winPartial) int { return cmp.Compare(w.wins[a.culprit].Line, w.wins[b.culprit].Line) })
		found = []winPartial{first}
	}
	p := w.c.pass
	for _, x := range found {
		o, e := &w.wins[x.culprit], &w.wins[x.other]
		rec := p.RecordAt(o.Off, o.Line)
		spot := lint.At(winOverlap, rec, sizeSpan(p, rec))
		spot.Count = count
		switch {
		case within:
			spot.Severity, spot.Effects = lint.Info, &winSplit
		case e.Line < o.Line:
			spot.Effects = &winUpperFirst
		}
		p.Report(spot, func(f *lint.Finding) {
			at(f, o.Addr)
			f.Message = fmt.Sprintf("the record reaches from %#x to %#x, %s into that at %#x", o.Addr, o.End(),
				plural(o.End()-max(e.Addr, o.Addr), "byte"), e.Addr)
			switch {
			case x.leaves:
				f.Message = fmt.Sprintf("the record from %#x to %#x crosses that from %#x to %#x and leaves its function", o.Addr, o.End(),
					e.Addr, e.End())
			case within:
				f.Message += ", which describes the same function further on"
			}
			if count > 0 {
				f.Message += fmt.Sprintf("; %d records do so", count)
			}
			f.Related = relatedRecord(p, e.Off, e.Line, "the record it overlaps")
		})
	}
}

// symbolBetween reports whether a function or PUBLIC begins above after and not above upTo. Without any symbol every
// record counts as one.
func (w *winRanges) symbolBetween(after, upTo uint64) bool {
	if !w.started {
		w.started = true
		x := &w.c.pass.Index
		w.starts = make([]uint64, 0, len(x.Funcs)+len(x.Publics))
		for i := range x.Funcs {
			w.starts = append(w.starts, x.Funcs[i].Addr)
		}
		for i := range x.Publics {
			w.starts = append(w.starts, x.Publics[i].Addr)
		}
		slices.Sort(w.starts)
	}
	i := sort.Search(len(w.starts), func(i int) bool { return w.starts[i] > after })
	return len(w.starts) == 0 || i < len(w.starts) && w.starts[i] <= upTo
}

// functionEnd is where the FUNC around an address ends.
func (w *winRanges) functionEnd(addr uint64) (uint64, bool) {
	ranges := w.c.pass.FuncRanges()
	i := find(ranges, addr)
	if i < 0 || addr >= ranges[i].End {
		return 0, false
	}
	return ranges[i].End, true
}

// reportNested measures what rust-minidump's repair of nested records leaves without a frame, as one finding.
func (w *winRanges) reportNested(kind uint8, n int) {
	if w.outer < 0 {
		return
	}
	lost := w.lost(kind, n)
	if lost == 0 {
		return
	}
	p := w.c.pass
	o := &w.wins[w.outer]
	rec := p.RecordAt(o.Off, o.Line)
	spot := lint.At(winOverlap, rec, addrSpan(p, rec))
	spot.Severity, spot.Effects = lint.Info, &winNested
	p.Report(spot, func(f *lint.Finding) {
		at(f, o.Addr)
		f.Subject = fmt.Sprintf("type %d", kind)
		f.Message = fmt.Sprintf("records of type %d lie within others, as they may; behind the inner ones rust-minidump has no record for %s in all", kind, plural(lost, "byte"))
	})
}

// lost is the number of bytes that records of a type cover, but not after rust-minidump has cut those that the next
// record of the file begins in (breakpad-symbols/src/sym_file/parser.rs).
func (w *winRanges) lost(kind uint8, n int) uint64 {
	type piece struct{ addr, size uint64 }
	pieces := make([]piece, 0, n)
	var all symfile.ContainedRangeMap[struct{}]
	at := func(i int) (uint64, uint64, struct{}) { return pieces[i].addr, pieces[i].size, struct{}{} }
	cut := make([]piece, 0, n)
	for i := range w.wins {
		e := &w.wins[i]
		if e.Type != kind || e.Size == 0 || e.Size > winSpace || e.End() > winSpace {
			continue
		}
		pieces = append(pieces, piece{e.Addr, e.Size})
		if e.HasProgram != (kind == winDataType) {
			continue
		}
		if k := len(cut) - 1; k >= 0 && e.Addr < cut[k].addr+cut[k].size && cut[k].addr < e.End() {
			if e.Addr > cut[k].addr {
				cut[k].size = e.Addr - cut[k].addr
			} else if e.Addr != cut[k].addr || e.Size != cut[k].size {
				continue
			}
		}
		cut = append(cut, piece{e.Addr, e.Size})
	}
	all.Fill(len(pieces), at)
	covered := uint64(0)
	for i, end := 0, uint64(0); i < all.Len(); i++ {
		if e := all.At(i); e.First >= end {
			covered, end = covered+e.Size(), e.Last+1
		}
	}
	var kept symfile.RangeMap[struct{}]
	kept.FillLowest(len(cut), func(i int) (uint64, uint64, struct{}) { return cut[i].addr, cut[i].size, struct{}{} })
	for i := range kept.Len() {
		e := kept.At(i)
		covered -= min(covered, e.Size())
	}
	return covered
}
