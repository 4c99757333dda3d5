package rules

import (
	"fmt"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// overlap is a group of ranges that touch each other, laid at the door of the one that reaches into most of the others.
type overlap struct {
	outlier  symfile.Range
	other    symfile.Range // the first range it reaches into
	earliest int32         // the lowest index of a range it reaches into
	last     symfile.Range // the last range of the group
	hits     int           // ranges it reaches into
	total    int           // hits of all members of the group
}

// eachOverlap hands on the groups of overlapping ranges. The ranges are ordered by start, then by index. Ranges with the
// same start overlap only if sameStart says so.
func eachOverlap(ranges []symfile.Range, sameStart bool, emit func(overlap)) {
	if len(ranges) == 0 {
		return
	}
	best, cur, total := overlap{}, overlap{outlier: ranges[0]}, 0
	for i := 1; i <= len(ranges); i++ {
		if i < len(ranges) && ranges[i].Start < cur.outlier.End {
			r := ranges[i]
			if sameStart || r.Start > cur.outlier.Start {
				if cur.hits == 0 {
					cur.other, cur.earliest = r, r.Index
				}
				cur.earliest = min(cur.earliest, r.Index)
				cur.hits++
				total++
			}
			if r.End <= cur.outlier.End {
				continue
			}
			if cur.hits > best.hits {
				best = cur
			}
			cur = overlap{outlier: r}
			continue
		}
		if cur.hits > best.hits {
			best = cur
		}
		if total > 0 {
			best.total, best.last = total, ranges[i-1]
			emit(best)
		}
		if i < len(ranges) {
			best, cur, total = overlap{}, overlap{outlier: ranges[i]}, 0
		}
	}
}

// plainFuncs returns the ranges of the functions that have one to speak of, ordered by start; Index is the position in
// the file's index. For Finish only.
func plainFuncs(p *lint.Pass) []symfile.Range {
	all := p.FuncRanges()
	plain := func(r symfile.Range) bool { return classOf(r.Start, r.End-r.Start) == funcPlain }
	for i := range all {
		if plain(all[i]) {
			continue
		}
		out := make([]symfile.Range, i, len(all))
		copy(out, all)
		for _, r := range all[i:] {
			if plain(r) {
				out = append(out, r)
			}
		}
		return out
	}
	return all
}

// hugeFunc is the size from which a function is not believed.
const hugeFunc = 16 << 20

func (c *funcChecker) reportOverlaps() {
	p := c.pass
	ranges := plainFuncs(p)
	var blamed []int32
	eachOverlap(ranges, false, func(o overlap) {
		blamed = append(blamed, o.outlier.Index)
		c.reportOverlap(&o)
	})
	slices.Sort(blamed)
	for i := range p.Index.Funcs {
		f := &p.Index.Funcs[i]
		if f.Size < hugeFunc || classOf(f.Addr, f.Size) != funcPlain {
			continue
		}
		if _, said := slices.BinarySearch(blamed, int32(i)); said {
			continue
		}
		rec := p.RecordAt(f.Off, f.Line)
		p.Report(lint.At(funcHuge, rec, sizeSpan(p, rec)), func(x *lint.Finding) {
			at(x, f.Addr)
			x.Function = funcName(p, f.Off)
			x.Message = fmt.Sprintf("%s at %#x claims %#x bytes (%d MiB)", shortName(x.Function), f.Addr, f.Size, f.Size>>20)
		})
	}
	for i := 0; i < len(ranges); {
		n := 1
		for i+n < len(ranges) && ranges[i+n].Start == ranges[i].Start {
			n++
		}
		if n > 1 {
			c.reportDuplicates(ranges[i : i+n])
		}
		i += n
	}
}

// reportOverlap says who is dropped where. Google's reader takes functions in file order and refuses what overlaps one
// it has; rust-minidump sorts by (start, end) and does the same.
func (c *funcChecker) reportOverlap(o *overlap) {
	p := c.pass
	f, g := &p.Index.Funcs[o.outlier.Index], &p.Index.Funcs[o.other.Index]
	lower, upper := funcName(p, f.Off), funcName(p, g.Off)
	loser := "the " + plural(o.hits, "function") + " in its range"
	if o.hits == 1 {
		loser = shortName(upper)
	}
	effects := funcOverlap.Effects
	sameWinner := o.outlier.Index < o.earliest
	if sameWinner {
		effects[lint.Breakpad].Text = fmt.Sprintf("keeps %s, which comes first in the file, and drops %s", shortName(lower), loser)
	} else {
		effects[lint.Breakpad].Text = fmt.Sprintf("drops %s, which comes later in the file", shortName(lower))
		if o.hits > 1 {
			effects[lint.Breakpad].Text = fmt.Sprintf("drops %s, because a function in its range comes first in the file", shortName(lower))
		}
	}
	effects[lint.RustMinidump].Text = fmt.Sprintf("keeps %s, which has the lowest start, and drops %s", shortName(lower), loser)
	rec := p.RecordAt(f.Off, f.Line)
	spot := lint.At(funcOverlap, rec, sizeSpan(p, rec))
	spot.Effects, spot.Count = &effects, o.total
	p.Report(spot, func(x *lint.Finding) {
		at(x, f.Addr)
		x.Function = lower
		switch {
		case o.hits == 1:
			x.Message = fmt.Sprintf("%s at %#x with %#x bytes reaches %#x bytes into %s at %#x", shortName(lower), f.Addr, f.Size,
				min(f.Addr+f.Size, g.Addr+g.Size)-g.Addr, shortName(upper), g.Addr)
		default:
			x.Message = fmt.Sprintf("%s at %#x with %#x bytes reaches into %d functions, from %s at %#x on", shortName(lower), f.Addr,
				f.Size, o.hits, shortName(upper), g.Addr)
		}
		if more := o.total - o.hits; more > 0 {
			x.Message += fmt.Sprintf("; the functions around it overlap in %s", plural(more, "more place"))
		}
		if !sameWinner {
			x.Message += "; breakpad and rust-minidump keep different ones"
		}
		x.Related = relatedRecord(p, g.Off, g.Line, "the function it reaches into")
	})
}

// reportDuplicates judges the functions that start at one address, in file order.
func (c *funcChecker) reportDuplicates(same []symfile.Range) {
	p := c.pass
	funcs := p.Index.Funcs
	first, second := &funcs[same[0].Index], &funcs[same[1].Index]
	name := symfile.RecordText(p.Data, first.Off)
	repeat, shortest := true, first
	for _, r := range same {
		f := &funcs[r.Index]
		if f.Multiple {
			return
		}
		if f.Size < shortest.Size {
			shortest = f
		}
		repeat = repeat && f.Size == first.Size && string(symfile.RecordText(p.Data, f.Off)) == string(name)
	}
	effects := funcDuplicate.Effects
	kept, keptByRust := validText(name), funcName(p, shortest.Off)
	effects[lint.Breakpad].Text = fmt.Sprintf("keeps %s, which comes first in the file", shortName(kept))
	effects[lint.RustMinidump].Text = fmt.Sprintf("keeps %s", shortName(keptByRust))
	if shortest.Size < first.Size {
		effects[lint.RustMinidump].Text += ", the shortest"
	}
	rec := p.RecordAt(second.Off, second.Line)
	spot := lint.At(funcDuplicate, rec, addrSpan(p, rec))
	if repeat {
		spot.Severity = lint.Info
		effects = lint.Same(lint.Degraded, "keeps one, with its own lines only")
	}
	spot.Effects, spot.Count = &effects, len(same)-1
	p.Report(spot, func(x *lint.Finding) {
		at(x, first.Addr)
		x.Function = funcName(p, second.Off)
		switch {
		case repeat && len(same) == 2:
			x.Message = fmt.Sprintf("%s at %#x with %#x bytes is repeated", shortName(x.Function), first.Addr, first.Size)
		case repeat:
			x.Message = fmt.Sprintf("%s at %#x with %#x bytes is repeated %d times", shortName(x.Function), first.Addr, first.Size, len(same)-1)
		case len(same) == 2:
			x.Message = fmt.Sprintf("%s starts at %#x like %s, and neither is marked m", shortName(x.Function), first.Addr, shortName(kept))
		default:
			x.Message = fmt.Sprintf("%d functions start at %#x and none is marked m: %s, %s …", len(same), first.Addr, shortName(kept),
				shortName(x.Function))
		}
		if shortest.Size < first.Size {
			x.Message += fmt.Sprintf("; breakpad keeps %#x bytes, rust-minidump %#x", first.Size, shortest.Size)
		}
		x.Related = relatedRecord(p, first.Off, first.Line, "the first function at the address")
	})
}

// reportParamSizes compares FUNC with STACK WIN at the same address, and names with their own records.
func (c *funcChecker) reportParamSizes() {
	p := c.pass
	wins := p.Index.Wins
	frames := p.WinRanges()
	first, count, theirs := -1, 0, uint32(0)
	for i := range p.Index.Funcs {
		f := &p.Index.Funcs[i]
		if f.ParamSize == 0 || len(frames) == 0 {
			continue
		}
		size, ok := statedParamSize(wins, frames, f)
		if !ok || size == f.ParamSize {
			continue
		}
		if count == 0 {
			first, theirs = i, size
		}
		count++
	}
	if count > 0 {
		f := &p.Index.Funcs[first]
		rec := p.RecordAt(f.Off, f.Line)
		spot := lint.At(funcParamSize, rec, paramSpan(p, rec))
		spot.Count = count
		p.Report(spot, func(x *lint.Finding) {
			at(x, f.Addr)
			x.Function = funcName(p, f.Off)
			x.Message = fmt.Sprintf("%s has %#x bytes of parameters in FUNC and %#x in STACK WIN", shortName(x.Function), f.ParamSize, theirs)
			if count > 1 {
				x.Message += fmt.Sprintf("; so differ %d functions in all", count)
			}
		})
	}
	if t := &c.decorated; t.count > 0 {
		rec := p.RecordAt(t.off, t.line)
		spot := lint.At(funcParamSize, rec, paramSpan(p, rec))
		spot.Count = t.count
		p.Report(spot, func(x *lint.Finding) {
			text := p.Data[rec.Text.Off:rec.Text.End]
			size, _ := decoratedSize(text)
			at(x, rec.Addr)
			x.Function = validText(text)
			x.Message = fmt.Sprintf("%s has %#x bytes of parameters by its record and %#x by its name", shortName(x.Function), rec.ParamSize, size)
			if t.count > 1 {
				x.Message += fmt.Sprintf("; so differ %d records in all", t.count)
			}
		})
	}
}

// statedParamSize is the parameter size of the STACK WIN record that starts where the function does: FRAME_DATA before
// FPO, and the one that agrees if there are several.
func statedParamSize(wins []symfile.WinEntry, frames []symfile.Range, f *symfile.FuncEntry) (size uint32, ok bool) {
	i, _ := slices.BinarySearchFunc(frames, f.Addr, func(r symfile.Range, addr uint64) int {
		if r.Start < addr {
			return -1
		}
		return 1
	})
	best := uint8(0)
	for ; i < len(frames) && frames[i].Start == f.Addr; i++ {
		w := &wins[frames[i].Index]
		switch {
		case w.Type != 0 && w.Type != 4: // no reader uses the others
		case ok && w.Type < best:
		case ok && w.Type == best && size == f.ParamSize:
		default:
			size, best, ok = w.ParamSize, w.Type, true
		}
	}
	return size, ok
}

func paramSpan(p *lint.Pass, r *symfile.Record) symfile.Span {
	n := addrWord(r) + 1
	if r.Kind == symfile.Func {
		n++
	}
	return word(p, r, n)
}
