package lint

import (
	"bytes"
	"strings"

	"github.com/symlint/symlint/unwind/symfile"
)

// Analyzer is one family of rules over symbol files.
type Analyzer struct {
	Name  string
	Rules []*Rule
	// Kinds are the records its checkers want.
	Kinds []symfile.Kind
	// Irregular: they also want every record that is not in canonical form or does not end in LF, whatever its kind.
	Irregular bool
	// Steady: of a run of STACK CFI records in canonical form, or of line records in a FUNC, they only want the first;
	// the rest can tell them nothing that Pass.Index.Counts does not.
	Steady bool
	// New makes the checker for one chunk of a file.
	New func(*Pass) Checker
}

// Checker judges the records of one chunk of a symbol file. Large files are cut into chunks that begin with a FUNC,
// PUBLIC, STACK CFI INIT or STACK WIN record and are checked at the same time.
type Checker interface {
	// Record takes the records the analyzer asked for in file order. The record is only valid during the call.
	Record(*symfile.Record)
	// Merge takes over what the checker of the chunk that follows has learnt. It may report through its own Pass.
	Merge(later Checker)
	// Finish is called once, on the first chunk's checker, when all have been merged.
	Finish()
}

// Pass is one chunk of one file being checked.
type Pass struct {
	Path string
	Data []byte
	// Encoding is the Encoding of the Input: what Data was before it became UTF-8.
	Encoding string
	// Module is the MODULE record, known before the scan begins; its Line is 0 if the file has none.
	Module symfile.ModuleEntry
	// First tells the chunk at the beginning of the file.
	First bool
	// Index holds the file's records: the chunk's while scanning, the whole file's in Finish.
	Index symfile.Index
	// Coverage is set by whoever measures it, in Finish.
	Coverage *Coverage

	ranges   ranges
	settings *Settings
	registry *Registry
	keep     int // findings kept per rule and severity; 0 = all
	counts   []ruleCount
	store    store
}

type ruleCount struct {
	findings [Error + 1]int
	records  int
	kept     [Error + 1]int
}

// Spot is where and what a finding is, before anything is said of it.
type Spot struct {
	Rule     *Rule
	Severity Severity // Off = the rule's default
	Effects  *Effects // nil = the rule's
	Line     int
	Record   symfile.Span // the record, for the snippet
	Culprit  symfile.Span // what the caret stands under; empty = the record's end
	Count    int          // records that share the cause; 0 = 1
}

// At is the spot of a rule in a record, the culprit being a part of it.
func At(rule *Rule, r *symfile.Record, culprit symfile.Span) Spot {
	return Spot{Rule: rule, Line: r.Line, Record: r.Span, Culprit: culprit}
}

// ranges are the index's ranges in order, made when first asked for.
type ranges struct{ funcs, inits, wins []symfile.Range }

// FuncRanges returns the FUNC ranges of the whole file in order of address. For Finish only.
func (p *Pass) FuncRanges() []symfile.Range {
	if x := p.Index.Funcs; p.ranges.funcs == nil {
		p.ranges.funcs = symfile.SortedRanges(len(x), func(i int) (uint64, uint64) { return x[i].Addr, x[i].Size })
	}
	return p.ranges.funcs
}

// InitRanges returns the STACK CFI INIT ranges of the whole file in order of address. For Finish only.
func (p *Pass) InitRanges() []symfile.Range {
	if x := p.Index.Inits; p.ranges.inits == nil {
		p.ranges.inits = symfile.SortedRanges(len(x), func(i int) (uint64, uint64) { return x[i].Addr, x[i].Size })
	}
	return p.ranges.inits
}

// WinRanges returns the STACK WIN ranges of the whole file in order of address. For Finish only.
func (p *Pass) WinRanges() []symfile.Range {
	if x := p.Index.Wins; p.ranges.wins == nil {
		p.ranges.wins = symfile.SortedRanges(len(x), func(i int) (uint64, uint64) { return x[i].Addr, x[i].Size })
	}
	return p.ranges.wins
}

// Consumers are the consumers the run judges by.
func (p *Pass) Consumers() ConsumerSet { return p.settings.Consumers }

// MinCoverage is the share of code that must have unwind records, 0 to 1; 0 = not asked for.
func (p *Pass) MinCoverage() float64 { return p.settings.MinCoverage }

// Enabled reports whether any finding of the rule can be wanted, so that work can be spared.
func (p *Pass) Enabled(r *Rule) bool {
	i := p.registry.Index(r)
	return i >= 0 && p.settings.rules[i].wanted != 0
}

// Keeps reports whether a further finding of the rule would be kept at some severity, rather than only counted. It spares
// the work of finding words that nobody reads.
func (p *Pass) Keeps(r *Rule) bool {
	i := p.registry.Index(r)
	if i < 0 || p.settings.rules[i].wanted == 0 {
		return false
	}
	if p.keep == 0 {
		return true
	}
	for _, n := range p.counts[i].kept[Info:] {
		if n < p.keep {
			return true
		}
	}
	return false
}

// Report counts a finding and, if it is to be kept, has fill complete it. It costs little when a rule has spoken
// more often than is shown.
func (p *Pass) Report(s Spot, fill func(*Finding)) {
	p.report(s.Rule, s.Severity, s.Effects, s.Count, func(f *Finding) {
		p.place(f, s)
		fill(f)
	})
}

// report is Report for findings whose place fill tells.
func (p *Pass) report(rule *Rule, severity Severity, effects *Effects, count int, fill func(*Finding)) {
	i := p.registry.Index(rule)
	if i < 0 {
		return
	}
	if effects == nil {
		effects = &rule.Effects
	}
	if severity == Off {
		severity = rule.Severity
	}
	severity = p.settings.rules[i].effective(severity)
	if severity == Off || !effects.Affects(p.settings.Consumers) {
		return
	}
	c := &p.counts[i]
	c.findings[severity]++
	c.records += max(count, 1)
	if p.keep > 0 && c.kept[severity] >= p.keep {
		return
	}
	c.kept[severity]++
	f := Finding{Rule: rule, Severity: severity, File: p.Path, Effects: *effects, Count: max(count, 1)}
	fill(&f)
	f.Message, f.Function, f.Subject = bounded(f.Message), bounded(f.Function), bounded(f.Subject)
	p.store.add(f)
}

// maxText bounds the texts of a finding, in bytes: a name can be as long as the file.
const maxText = 1 << 12

func bounded(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}

// place fills in the location and the snippet.
func (p *Pass) place(f *Finding, s Spot) {
	if s.Culprit.Off < s.Record.Off || s.Culprit.End < s.Culprit.Off || s.Culprit == (symfile.Span{}) {
		s.Culprit = symfile.Span{Off: s.Record.End, End: s.Record.End}
	}
	f.Location = p.Location(s.Line, s.Record, s.Culprit)
	rec := p.Data[s.Record.Off:s.Record.End]
	column := s.Culprit.Off - s.Record.Off // 0-based
	if len(rec) > MaxSnippet {
		from := max(0, min(column-MaxSnippet/3, len(rec)-MaxSnippet))
		rec = rec[from : from+MaxSnippet]
		column -= from
	}
	f.Snippet = bytes.Clone(rec)
	f.SnippetColumn = column + 1
}

// Location is the place of a part of a record.
func (p *Pass) Location(line int, record, part symfile.Span) Location {
	return Location{
		Line:      line,
		Column:    part.Off - record.Off + 1,
		EndColumn: part.End - record.Off + 1,
		Offset:    int64(part.Off),
		Length:    int64(part.Len()),
	}
}

// RecordAt scans the one record that begins at a byte offset, for findings about records seen earlier.
func (p *Pass) RecordAt(off uint32, line uint32) *symfile.Record {
	var s symfile.Scanner
	s.Reset(p.Data, int(off), min(int(off)+1, len(p.Data)), int(line))
	s.Next()
	return s.Record()
}

// merge takes over what a later chunk found.
func (p *Pass) merge(later *Pass) {
	p.Index.Merge(&later.Index)
	for i := range p.counts {
		c, l := &p.counts[i], &later.counts[i]
		for v := range c.findings {
			c.findings[v] += l.findings[v]
		}
		c.records += l.records
	}
	for f, err := range later.store.all() {
		if err != nil {
			p.store.err = err
			break
		}
		c := &p.counts[p.registry.Index(f.Rule)]
		if p.keep > 0 && c.kept[f.Severity] >= p.keep {
			continue
		}
		c.kept[f.Severity]++
		p.store.add(*f)
	}
	later.store.close()
}
