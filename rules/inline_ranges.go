package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// checkNesting holds the ranges of the open function against each other: those of one level must not overlap, and each
// must lie in ranges of the level above. Records that have been reported for something else are not judged again.
func (c *inlineChecker) checkNesting() {
	rs := c.ranges
	slices.SortFunc(rs, func(a, b inlineRangeOf) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.Start, b.Start), cmp.Compare(a.Index, b.Index))
	})
	var above []inlineRangeOf
	found := false
	for i := 0; i < len(rs); {
		n := 1
		high, clash := rs[i].End, false
		for i+n < len(rs) && rs[i+n].level == rs[i].level {
			clash = clash || rs[i+n].Start < high
			high = max(high, rs[i+n].End)
			n++
		}
		level := rs[i : i+n]
		if clash {
			found = c.blameSiblings(level) || found
		}
		if len(above) > 0 && above[0].level == level[0].level-1 {
			found = c.checkParents(above, level) || found
		}
		above = level
		i += n
	}
	if found {
		c.reportNesting()
	}
}

// blameSiblings marks the records of one level whose ranges overlap others.
func (c *inlineChecker) blameSiblings(level []inlineRangeOf) (found bool) {
	c.scratch = c.scratch[:0]
	for _, r := range level {
		if c.records[r.Index].flags == 0 {
			c.scratch = append(c.scratch, r.Range)
		}
	}
	eachOverlap(c.scratch, true, func(o overlap) {
		guilty := o.outlier
		if o.hits == 1 && o.other.Start == guilty.Start {
			guilty = o.other // nested in the first by Google's reader
		}
		c.records[guilty.Index].fault(inlineClashes, guilty.Start, guilty.End)
		found = true
	})
	return found
}

// checkParents marks the records with ranges that do not lie in ranges of the level above. Ranges that meet count as one.
// A record whose parent has no range in the function, or a faulty one, is not to blame.
func (c *inlineChecker) checkParents(above, level []inlineRangeOf) (found bool) {
	joined := c.joined[:0]
	for _, r := range above {
		if n := len(joined); n > 0 && r.Start <= joined[n-1].End {
			joined[n-1].End = max(joined[n-1].End, r.End)
		} else {
			joined = append(joined, r.Range)
		}
	}
	c.joined = joined
	i := 0
	for _, r := range level {
		for i+1 < len(joined) && joined[i+1].Start <= r.Start {
			i++
		}
		if joined[i].Start <= r.Start && r.End <= joined[i].End {
			continue
		}
		x := &c.records[r.Index]
		if x.flags != 0 {
			continue
		}
		if x.parent >= 0 && (c.records[x.parent].inside == 0 || c.records[x.parent].flags != 0) {
			continue
		}
		x.fault(inlineStrays, r.Start, r.End)
		found = true
	}
	return found
}

// reportNesting reports runs of marked records.
func (c *inlineChecker) reportNesting() {
	p, fn := c.pass, c.fn
	eachRun(c.records, inlineClashes|inlineStrays, func(x *inlineRecord, n int) {
		rec := p.RecordAt(x.pos.off, x.pos.line)
		spot := lint.At(inlineNesting, rec, rec.Text)
		spot.Count = n
		level, bad := x.level, x.bad
		p.Report(spot, func(f *lint.Finding) {
			at(f, bad.Start)
			f.Function = funcName(p, fn.off)
			f.Message = fmt.Sprintf("INLINE range %#x to %#x of level %d overlaps another of its level", bad.Start, bad.End, level)
			if x.flags&inlineStrays != 0 {
				f.Message = fmt.Sprintf("INLINE range %#x to %#x of level %d does not lie within one of level %d", bad.Start, bad.End, level, level-1)
			}
			if n > 1 {
				f.Message += fmt.Sprintf("; so it is with the %s behind it", plural(n-1, "record"))
			}
		})
	})
}

// eachRun hands on runs of neighbouring records that have a flag.
func eachRun(records []inlineRecord, flag inlineFlags, emit func(first *inlineRecord, n int)) {
	for i := 0; i < len(records); {
		n := 0
		for i+n < len(records) && records[i+n].flags&flag != 0 {
			n++
		}
		if n > 0 {
			emit(&records[i], n)
		}
		i += max(n, 1)
	}
}

// reportOutside reports runs of records with ranges that cross the border of their function, lie elsewhere, or wrap.
func (c *inlineChecker) reportOutside(records []inlineRecord, fn recordPos) {
	p := c.pass
	eachRun(records, inlineOutside|inlineWraps, func(x *inlineRecord, n int) {
		rec := p.RecordAt(x.pos.off, x.pos.line)
		spot := lint.At(inlineRange, rec, rec.Text)
		spot.Count = n
		p.Report(spot, func(f *lint.Finding) {
			head := p.RecordAt(fn.off, fn.line)
			start, end := head.Addr, head.Addr+head.Size
			at(f, start)
			f.Function = funcName(p, fn.off)
			var how string
			switch bad := x.bad; {
			case bad.End < bad.Start:
				how = "reaches beyond the last address"
			case bad.Start >= end:
				how = fmt.Sprintf("lies behind %s, which ends at %#x", shortName(f.Function), end)
			case bad.End <= start:
				how = fmt.Sprintf("lies before %s at %#x", shortName(f.Function), start)
			case bad.Start < start:
				how = fmt.Sprintf("begins %#x bytes before %s", start-bad.Start, shortName(f.Function))
			default:
				how = fmt.Sprintf("reaches %#x bytes past the end of %s", bad.End-end, shortName(f.Function))
			}
			f.Message = fmt.Sprintf("INLINE range %#x to %#x %s", x.bad.Start, x.bad.End, how)
			if n > 1 {
				f.Message += fmt.Sprintf("; so do ranges of the %s behind it", plural(n-1, "record"))
			}
			f.Related = relatedRecord(p, fn.off, fn.line, "the function")
		})
	})
}

// reportSplit judges ranges that lie in no part of their function. Google's writer repeats the INLINE records of a split
// function under each of its parts, so that most of them are at home in another part, which has the same name.
func (c *inlineChecker) reportSplit(funcs []symfile.Range) {
	p := c.pass
	for _, block := range c.split {
		head := p.RecordAt(block.fn.off, block.fn.line)
		start, end := head.Addr, head.Addr+head.Size
		name := p.Data[head.Text.Off:head.Text.End]
		c.records = c.records[:0]
		var s symfile.Scanner
		s.Reset(p.Data, head.Span.End+head.EOL, int(block.end), int(block.fn.line)+1)
		for s.Next() {
			r := s.Record()
			if r.Kind != symfile.Inline || !r.Usable || r.OldForm && (r.Addr < start || r.Addr >= end) {
				continue
			}
			x := inlineRecord{pos: posOf(r)}
			for text := p.Data[r.Text.Off:r.Text.End]; ; {
				var from, size uint64
				var ok bool
				if from, size, text, ok = nextPair(text); !ok {
					break
				}
				to := from + size
				if size-1 >= math.MaxUint32 || to < from || from < end && to > start {
					continue
				}
				if !c.atHome(funcs, name, from, to) {
					x.fault(inlineOutside, from, to)
				}
			}
			c.records = append(c.records, x)
		}
		c.reportOutside(c.records, block.fn)
	}
}

// atHome reports whether a function of that name contains the range.
func (c *inlineChecker) atHome(funcs []symfile.Range, name []byte, from, to uint64) bool {
	at := funcAt(funcs, from)
	for i := at; i >= 0 && funcs[i].Start == funcs[at].Start; i-- {
		if to <= funcs[i].End && string(symfile.RecordText(c.pass.Data, c.pass.Index.Funcs[funcs[i].Index].Off)) == string(name) {
			return true
		}
	}
	return false
}
