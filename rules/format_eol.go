package rules

import (
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// The terminators a record can have, as lineEnds counts them: indexed by Record.EOL where that tells them apart.
const (
	noEnd = iota
	endLF
	endCRLF
	endCRCRLF // two or more CRs
	endCR
	endKinds
)

var endNames = [endKinds]string{"none", "LF", "CR LF", "CR CR LF", "CR"}

// lineEnds counts the records by terminator.
type lineEnds struct {
	n     [endKinds]int
	first [endKinds]recordPos
}

// usual counts a record in canonical form, if its terminator has been seen before.
func (e *lineEnds) usual(r *symfile.Record) bool {
	if r.EOL > endCRLF || e.n[r.EOL] == 0 {
		return false
	}
	e.n[r.EOL]++
	return true
}

func (e *lineEnds) add(r *symfile.Record) {
	k := min(r.EOL, endCRCRLF)
	if endsInCR(r) {
		k = endCR
	}
	if e.n[k] == 0 {
		e.first[k] = posOf(r)
	}
	e.n[k]++
}

func (e *lineEnds) merge(later *lineEnds) {
	for k := range e.n {
		if e.n[k] == 0 {
			e.first[k] = later.first[k]
		}
		e.n[k] += later.n[k]
	}
}

// endsInCR: a CR without LF.
func endsInCR(r *symfile.Record) bool {
	if r.EOL != 1 || len(r.Problems) == 0 {
		return false
	}
	for i := range r.Problems {
		if r.Problems[i].Code == symfile.LoneCR {
			return true
		}
	}
	return false
}

// reportLineEnds compares the terminators LF, CR LF and CR CR LF; a CR alone is reported where it stands.
func (c *formatChecker) reportLineEnds() {
	e := &c.ends
	e.n[endLF] = 0 // the records that continue a run were not seen; all of them end in LF
	rest := e.n[noEnd] + e.n[endCRLF] + e.n[endCRCRLF] + e.n[endCR]
	for _, n := range c.pass.Index.Counts {
		e.n[endLF] += n
	}
	e.n[endLF] -= rest
	most := endLF
	for k := endCRLF; k <= endCRCRLF; k++ {
		if e.n[k] > e.n[most] || e.n[k] == e.n[most] && e.first[k].line < e.first[most].line {
			most = k
		}
	}
	if e.n[most] == 0 {
		return
	}
	for k := endLF; k <= endCRCRLF; k++ {
		if k != most && e.n[k] > 0 {
			c.reportMinority(k, most)
		}
	}
	if most == endLF {
		return
	}
	rec := c.pass.RecordAt(e.first[most].off, e.first[most].line)
	spot := lint.At(formatLineEnding, rec, symfile.Span{Off: rec.Span.End, End: rec.Span.End})
	spot.Severity = lint.Info
	if most == endCRCRLF {
		spot.Severity, spot.Effects = lint.Warning, &crcrlfEffects
	}
	c.pass.Report(spot, func(f *lint.Finding) {
		f.Message = "the lines end in " + endNames[most]
	})
}

func (c *formatChecker) reportMinority(k, most int) {
	e := &c.ends
	rec := c.pass.RecordAt(e.first[k].off, e.first[k].line)
	spot := lint.At(formatLineEnding, rec, symfile.Span{Off: rec.Span.End, End: rec.Span.End})
	spot.Count = e.n[k]
	if k == endCRCRLF || most == endCRCRLF {
		spot.Effects = &crcrlfEffects
	}
	c.pass.Report(spot, func(f *lint.Finding) {
		f.Message = fmt.Sprintf("the line ends in %s, most of the %s in %s", endNames[k], plural(e.n[k]+e.n[most], "line"), endNames[most])
	})
}

var crcrlfEffects = lint.Effects{
	lint.Fine("takes any of CR and LF for the end of a line"),
	lint.Fine("takes any number of CR before LF"),
	{Impact: lint.Degraded, Text: "keeps all CRs but one at the end of the name"},
}

// loneCRs is a run of records that end in a CR alone, each on the heels of the one before.
type loneCRs struct {
	first recordPos
	fn    recordPos // the FUNC around the first record
	count int
	cut   bool // a record of the run is not usable: a CR stands inside it
}

func (c *formatChecker) loneCR(r *symfile.Record) {
	if !endsInCR(r) {
		c.endCRs(r)
		return
	}
	if c.cr.count == 0 {
		c.cr.first, c.cr.fn = posOf(r), c.around(r)
		c.busy = allKinds
	}
	c.cr.count++
	c.cr.cut = c.cr.cut || cutOff(r)
}

// cutOff: what stands on this side of the CR is no record.
func cutOff(r *symfile.Record) bool { return !r.Usable && r.Kind != symfile.Blank }

// endCRs closes the run with the record behind it, nil at the end.
func (c *formatChecker) endCRs(r *symfile.Record) {
	run := c.cr
	if run.count == 0 {
		return
	}
	c.cr = loneCRs{}
	c.busy = c.runs.kinds()
	cut := run.cut || r != nil && cutOff(r)
	rec := c.pass.RecordAt(run.first.off, run.first.line)
	spot := lint.At(formatLineEnding, rec, symfile.Span{Off: rec.Span.End, End: rec.Span.End})
	spot.Count, spot.Effects = run.count, &loneCREffects
	if cut {
		spot.Severity, spot.Effects = lint.Error, &cutCREffects
	}
	c.pass.Report(spot, func(f *lint.Finding) {
		c.name(f, rec, run.fn)
		f.Message = fmt.Sprintf("the %s record ends in a CR alone", kindName(rec.Kind))
		if cut {
			f.Message = "a CR stands inside a record"
			if rec.Kind != symfile.Unknown {
				f.Message = fmt.Sprintf("a CR stands inside the %s record", kindName(rec.Kind))
			}
		}
	})
}

var (
	loneCREffects = lint.Effects{
		lint.Fine("takes any of CR and LF for the end of a line"),
		refusesFile,
		{Impact: lint.Loses, Text: "takes the next record for a part of this one"},
	}
	cutCREffects = lint.Effects{
		{Impact: lint.Loses, Text: "cuts the record in two: the first part is read as it is, the second is an error"},
		refusesFile,
		{Impact: lint.Degraded, Text: "keeps the CR in the name, or fails on the record"},
	}
)
