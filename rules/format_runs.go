package rules

import (
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// problemRun is one defect in records of one kind that follow each other, other kinds aside. Unknown lines must be
// neighbours.
type problemRun struct {
	problemKey
	first recordPos
	fn    recordPos // the FUNC before the first record
	count int
	last  int  // the last record: its ordinal among its kind; for unknown lines its line
	head  bool // the chunk's first record of the kind is the run's first
}

// problemKey is what the records of a run have in common.
type problemKey struct {
	kind  symfile.Kind
	code  symfile.ProblemCode
	field string
}

// problemRuns are the runs of a chunk that are not complete.
type problemRuns struct {
	open []problemRun
	// heads began with the chunk's first record of their kind and are over: the chunk before may hold their beginning.
	heads []problemRun
}

// kinds is the set of kinds that have an open run. An unknown line's is over with any other record.
func (s *problemRuns) kinds() (set uint32) {
	for i := range s.open {
		if s.open[i].kind == symfile.Unknown {
			return allKinds
		}
		set |= 1 << s.open[i].kind
	}
	return set
}

// ordinal is the position of a record that decides whether it continues a run.
func (c *formatChecker) ordinal(r *symfile.Record) int {
	if r.Kind == symfile.Unknown {
		return r.Line
	}
	return c.pass.Index.Counts[r.Kind] + 1 // which counts the records before this one
}

// note adds the record to the run of the problem.
func (c *formatChecker) note(r *symfile.Record, code symfile.ProblemCode, field string) {
	key := problemKey{r.Kind, code, field}
	n := c.ordinal(r)
	for i := range c.runs.open {
		if run := &c.runs.open[i]; run.problemKey == key && run.last >= n-1 {
			run.last = n
			run.count++
			return
		}
	}
	c.runs.open = append(c.runs.open, problemRun{
		problemKey: key, first: posOf(r), fn: c.around(r), count: 1, last: n, head: n == 1 && r.Kind != symfile.Unknown,
	})
	if r.Kind == symfile.Unknown {
		c.busy = allKinds
	}
	c.busy |= 1 << r.Kind
}

// settle closes the runs that the record does not continue.
func (c *formatChecker) settle(r *symfile.Record) {
	keep := c.runs.open[:0]
	for _, run := range c.runs.open {
		over := run.kind == r.Kind && run.last != c.ordinal(r) || run.kind == symfile.Unknown && run.last != r.Line
		switch {
		case !over:
			keep = append(keep, run)
		case run.head && !c.pass.First:
			c.runs.heads = append(c.runs.heads, run)
		default:
			c.reportProblem(&run)
		}
	}
	c.runs.open = keep
	c.busy = c.runs.kinds()
	if c.cr.count > 0 {
		c.busy = allKinds
	}
}

// mergeRuns joins runs over the end of the chunk and reports those that are complete.
func (c *formatChecker) mergeRuns(l *formatChecker) {
	n := len(c.runs.open) // what is appended below belongs to the later chunk
	old := c.runs.open
	c.runs.open = nil
	joined := func(run problemRun) *problemRun {
		for i := range old[:n] {
			if o := &old[i]; o.problemKey == run.problemKey && o.last == c.pass.Index.Counts[o.kind] && run.head {
				return o
			}
		}
		return nil
	}
	for _, run := range l.runs.heads {
		if o := joined(run); o != nil {
			o.count += run.count
			o.last = -1 // over
		} else {
			c.reportProblem(&run)
		}
	}
	var open []problemRun
	for _, run := range l.runs.open {
		if run.kind != symfile.Unknown {
			run.last += c.pass.Index.Counts[run.kind]
		}
		if o := joined(run); o != nil {
			o.count += run.count
			o.last = run.last
			continue
		}
		run.head = false
		open = append(open, run)
	}
	for _, o := range old {
		// A run goes on if the later chunk has no record of the kind or only such as continue it.
		if o.last == c.pass.Index.Counts[o.kind]+l.pass.Index.Counts[o.kind] && o.kind != symfile.Unknown {
			open = append(open, o)
		} else {
			c.reportProblem(&o)
		}
	}
	c.runs.open = open
}

func (c *formatChecker) finishRuns() {
	slices.SortStableFunc(c.runs.open, func(a, b problemRun) int { return int(a.first.line) - int(b.first.line) })
	for i := range c.runs.open {
		c.reportProblem(&c.runs.open[i])
	}
	c.runs.open = nil
}

// reportUpper reports all upper-case numbers of the file as one.
func (c *formatChecker) reportUpper() {
	if c.upper.count == 0 {
		return
	}
	rec := c.pass.RecordAt(c.upper.first.off, c.upper.first.line)
	for _, p := range rec.Problems {
		if p.Code != symfile.UpperCase {
			continue
		}
		spot := lint.At(formatNumberCase, rec, p.Span)
		spot.Count = c.upper.count
		c.pass.Report(spot, func(f *lint.Finding) {
			f.Message = "hexadecimal " + quoted(c.pass, p.Span) + " is in upper case"
		})
		return
	}
}
