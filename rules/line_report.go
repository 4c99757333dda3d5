package rules

import (
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

func (c *lineChecker) reportOrphans() {
	p := c.pass
	run, severed := c.orphans, c.severed
	rec := p.RecordAt(run.first.off, run.first.line)
	spot := lint.At(lineOrphan, rec, rec.Span)
	spot.Count = run.count
	if severed {
		spot.Effects = &severedEffects
	}
	p.Report(spot, func(f *lint.Finding) {
		what := "line record"
		if run.count > 1 {
			what = fmt.Sprintf("run of %d line records", run.count)
		}
		at(f, rec.Addr)
		switch {
		case severed:
			f.Function = funcName(p, c.fn.off)
			f.Message = fmt.Sprintf("%s of %s is cut off from its FUNC by another kind of record", what, shortName(f.Function))
			f.Related = relatedRecord(p, c.fn.off, c.fn.line, "the function")
		case c.fn.line != 0:
			f.Message = what + " follows a PUBLIC and belongs to no FUNC"
			f.Subject = funcName(p, c.fn.off)
		default:
			f.Message = what + " before the first FUNC"
			f.Subject = "before the first FUNC"
		}
	})
}

var severedEffects = lint.Effects{
	lint.Fine("still knows the function"),
	{Impact: lint.Rejects, Text: "refuses the whole file"},
	{Impact: lint.Loses, Text: "ends the function there and drops the line"},
}

func (c *lineChecker) reportOutside() {
	p := c.pass
	run := c.outside
	rec := p.RecordAt(run.first.off, run.first.line)
	spot := lint.At(lineOutsideFunc, rec, symfile.Span{Off: rec.Span.Off, End: word(p, rec, 1).End})
	spot.Count = run.count
	start, end, fn := c.start, c.end, c.fn
	p.Report(spot, func(f *lint.Finding) {
		at(f, start)
		f.Function = funcName(p, fn.off)
		var how string
		switch last := run.addr + run.size; {
		case run.addr == end:
			how = "begins at the end"
		case run.addr > end:
			how = fmt.Sprintf("lies %#x bytes behind the end", run.addr-end)
		case run.addr < start && last <= start && last > run.addr:
			how = fmt.Sprintf("lies %#x bytes before the start", start-run.addr)
		case run.addr < start:
			how = fmt.Sprintf("begins %#x bytes before the start", start-run.addr)
		default:
			how = fmt.Sprintf("reaches %#x bytes past the end", last-end)
		}
		name := fmt.Sprintf("%s (%#x to %#x)", shortName(f.Function), start, end)
		f.Message = fmt.Sprintf("line at %#x %s of %s", run.addr, how, name)
		if run.count > 1 {
			f.Message = fmt.Sprintf("%d lines reach outside %s; the first, at %#x, %s", run.count, name, run.addr, how)
		}
		f.Related = relatedRecord(p, fn.off, fn.line, "the function")
	})
}

func (c *lineChecker) reportOrder() {
	p := c.pass
	run, fn := c.order, c.fn
	rec := p.RecordAt(run.first.off, run.first.line)
	spot := lint.At(lineOrder, rec, word(p, rec, 0))
	spot.Count = run.count
	p.Report(spot, func(f *lint.Finding) {
		at(f, run.addr)
		f.Function = funcName(p, fn.off)
		f.Message = fmt.Sprintf("line at %#x follows one with a higher address", run.addr)
		if run.count > 1 {
			f.Message += fmt.Sprintf("; so do %d lines of %s in all", run.count, shortName(f.Function))
		}
	})
}

func (c *lineChecker) reportOverlap(o overlap) {
	p := c.pass
	lower, upper, last := c.lines[o.outlier.Index], c.lines[o.other.Index], o.last
	rec := p.RecordAt(lower.off, lower.line)
	spot := lint.At(lineOverlap, rec, word(p, rec, 1))
	spot.Count = o.total
	fn := c.fn
	p.Report(spot, func(f *lint.Finding) {
		at(f, o.outlier.Start)
		f.Function = funcName(p, fn.off)
		into := min(o.outlier.End, o.other.End) - o.other.Start
		f.Message = fmt.Sprintf("line at %#x with %#x bytes reaches %#x bytes into the one at %#x", o.outlier.Start,
			o.outlier.End-o.outlier.Start, into, o.other.Start)
		if o.hits > 1 {
			f.Message = fmt.Sprintf("line at %#x with %#x bytes reaches into %d others, from %#x on", o.outlier.Start,
				o.outlier.End-o.outlier.Start, o.hits, o.other.Start)
		}
		if more := o.total - o.hits; more > 0 {
			f.Message += fmt.Sprintf("; lines up to %#x overlap in %s", last.End, plural(more, "more place"))
		}
		shorter := o.other.Start == o.outlier.Start && o.other.End < o.outlier.End // which rust-minidump sorts before it
		if o.outlier.Index > o.earliest || shorter {
			f.Message += "; breakpad and rust-minidump keep different ones"
		}
		f.Related = relatedRecord(p, upper.off, upper.line, "the line it reaches into")
	})
}

func (c *lineChecker) reportFiles() {
	reportUndefined(c.pass, &c.uses, &c.files, undefinedIDs{
		rule: lineUndefinedFile, kind: "FILE", user: "line record",
		place: func(p *lint.Pass, r *symfile.Record) symfile.Span { return word(p, r, 3) }})
}

func (c *lineChecker) reportTallies() {
	p := c.pass
	report := func(rule *lint.Rule, t *tally, n int, message func(f *lint.Finding) string) {
		if t.count == 0 {
			return
		}
		rec := p.RecordAt(t.off, t.line)
		culprit := rec.Text
		if n >= 0 {
			culprit = word(p, rec, n)
		}
		spot := lint.At(rule, rec, culprit)
		spot.Count = t.count
		p.Report(spot, func(f *lint.Finding) {
			at(f, rec.Addr)
			if rec.Kind == symfile.Func {
				f.Function = funcName(p, t.off)
			}
			f.Message = message(f)
			f.Subject = rule.Name
		})
	}
	report(lineZeroSize, &c.empty, 1, func(*lint.Finding) string {
		return fmt.Sprintf("%s without bytes", plural(c.empty.count, "line record"))
	})
	report(lineNumberZero, &c.zero, 2, func(*lint.Finding) string {
		return fmt.Sprintf("%s with line number 0, for %#x bytes of code", plural(c.zero.count, "line record"), c.zero.bytes)
	})
	report(lineGap, &c.gaps, -1, func(f *lint.Finding) string {
		s := fmt.Sprintf("%#x bytes of %s have no line", c.gaps.bytes, shortName(f.Function))
		if c.gaps.count > 1 {
			s = fmt.Sprintf("%#x bytes in %d functions have no line, first in %s", c.gaps.bytes, c.gaps.count, shortName(f.Function))
		}
		return s + fmt.Sprintf("; that is %.1f %% of the functions with lines", 100*float64(c.gaps.bytes)/float64(c.gaps.bytes+c.covered))
	})
}
