package rules

import (
	"bytes"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// problemRules says which rule speaks of a problem. Those that are missing are spoken of elsewhere: InlineParity by the
// inline family, line ends and the end of the file by their own parts of this one.
var problemRules = [symfile.ProblemCodeCount]*lint.Rule{
	symfile.UnknownRecord:      formatUnknownRecord,
	symfile.MissingField:       formatBadField,
	symfile.SurplusField:       formatBadField,
	symfile.EmptyName:          formatBadField,
	symfile.BadHex:             formatBadField,
	symfile.BadDecimal:         formatBadField,
	symfile.BadMark:            formatBadField,
	symfile.HexPrefix:          formatNumberPrefix,
	symfile.Sign:               formatNumberPrefix,
	symfile.NegativeNumber:     formatNumberPrefix,
	symfile.UpperCase:          formatNumberCase,
	symfile.Range16:            formatNumberRange,
	symfile.Range32:            formatNumberRange,
	symfile.Range64:            formatNumberRange,
	symfile.LeadingZeroOverrun: formatNumberRange,
	symfile.Tab:                formatSpacing,
	symfile.LeadingBlank:       formatSpacing,
	symfile.RepeatedBlank:      formatSpacing,
	symfile.TrailingBlank:      formatSpacing,
	symfile.NULByte:            formatEncoding,
	symfile.ControlByte:        formatEncoding,
	symfile.InvalidUTF8:        formatEncoding,
	symfile.ByteOrderMark:      formatEncoding,
}

// problems notes what is wrong with a record: of each rule the first problem, and none that another explains.
func (c *formatChecker) problems(r *symfile.Record) {
	if r.Kind == symfile.Blank {
		return
	}
	ended := false // the file ends in this record
	for i := range r.Problems {
		switch r.Problems[i].Code {
		case symfile.NoFinalNewline:
			ended = true
		case symfile.NULByte:
			c.budget.nul = true
		}
	}
	if ended && onlyNUL(c.pass.Data, r) {
		c.note(r, symfile.NULByte, "")
		return
	}
	truncated := ended && c.endOfFile(r)
	// What remains of a record that was cut is not judged: the cut is what is wrong.
	cut := truncated || !r.Usable && c.beside
	if r.Kind == symfile.Unknown {
		if !cut {
			c.unknown(r)
		}
		return
	}
	var said [len(formatRuleSet)]bool
	for i := range r.Problems {
		p := &r.Problems[i]
		rule := problemRules[p.Code]
		switch {
		case rule == nil, explained(r, p), cut && rule != formatEncoding:
			continue
		case c.beside && (p.Code == symfile.LeadingBlank || p.Code == symfile.TrailingBlank):
			continue // where the CR has cut it
		}
		if n := formatRuleSet.index(rule); !said[n] {
			said[n] = true
			if p.Code == symfile.UpperCase {
				c.upper.add(r)
			} else {
				c.note(r, p.Code, p.Field)
			}
		}
	}
}

// ruleSet numbers a few rules.
type ruleSet [6]*lint.Rule

var formatRuleSet = ruleSet{formatBadField, formatNumberPrefix, formatNumberCase, formatNumberRange, formatSpacing, formatEncoding}

func (s *ruleSet) index(rule *lint.Rule) int {
	for i, r := range s {
		if r == rule {
			return i
		}
	}
	return -1
}

// explained: another problem of the record is the cause of this one, or the module family speaks of it.
func explained(r *symfile.Record, p *symfile.Problem) bool {
	switch p.Code {
	case symfile.TrailingBlank:
		// The blank is what is left of the missing field.
		return r.Kind != symfile.Info && (has(r, symfile.EmptyName) || has(r, symfile.MissingField))
	case symfile.MissingField:
		if r.Kind == symfile.Module && p.Field == "name" || r.Kind == symfile.Info && has(r, symfile.TrailingBlank) {
			return true
		}
	}
	if problemRules[p.Code] != formatBadField {
		return false
	}
	// A damaged byte spoils the field it is in, and where it stands for a blank all that follow.
	for i := range r.Problems {
		switch q := &r.Problems[i]; q.Code {
		case symfile.NULByte, symfile.ControlByte, symfile.InvalidUTF8:
			if q.Span.Off < r.Text.Off || p.Span.Off <= q.Span.Off && q.Span.Off < p.Span.End || r.Text.Len() == 0 {
				return true
			}
		}
	}
	return false
}

func has(r *symfile.Record, code symfile.ProblemCode) bool {
	for i := range r.Problems {
		if r.Problems[i].Code == code {
			return true
		}
	}
	return false
}

// unknown tells an unknown record from binary data and from a record of which single bytes are damaged.
func (c *formatChecker) unknown(r *symfile.Record) {
	if code := damagedByte(r); code != symfile.NoProblem && !binaryData(c.pass.Data, r) {
		c.note(r, code, "")
		return
	}
	c.note(r, symfile.UnknownRecord, "")
}

// damagedByte is the first problem of a record with a byte of it.
func damagedByte(r *symfile.Record) symfile.ProblemCode {
	for i := range r.Problems {
		if code := r.Problems[i].Code; problemRules[code] == formatEncoding {
			return code
		}
	}
	return symfile.NoProblem
}

// binaryData: a fifth of the bytes or more is no text.
func binaryData(data []byte, r *symfile.Record) bool {
	odd := 0
	rec := data[r.Span.Off:r.Span.End]
	for _, b := range rec[:min(len(rec), 1<<10)] {
		if b < 0x20 && b != '\t' || b >= 0x7f {
			odd++
		}
	}
	return odd*5 >= min(len(rec), 1<<10)
}

// onlyNUL: the record is the NULs that some writers fill a file up with.
func onlyNUL(data []byte, r *symfile.Record) bool {
	rec := data[r.Span.Off:r.Span.End]
	return len(rec) > 0 && len(bytes.Trim(rec, "\x00")) == 0
}

// reportProblem reports a complete run, as its first record shows it.
func (c *formatChecker) reportProblem(run *problemRun) {
	rec := c.pass.RecordAt(run.first.off, run.first.line)
	rule := problemRules[run.code]
	p := symfile.Problem{Code: run.code, Field: run.field, Span: rec.Span}
	for _, q := range rec.Problems {
		if q.Code == run.code && q.Field == run.field {
			p = q
			break
		}
	}
	if p.Code == symfile.NULByte && rec.Kind == symfile.Unknown && onlyNUL(c.pass.Data, rec) {
		p.Span = rec.Span
	}
	j := problemJudge{c.pass, rec, p, followers{}}
	if rec.Kind == symfile.Func && googleReads(c.pass.Data, rec) != googleTakes {
		j.behind = followersOf(c.pass.Data, rec)
	}
	severity, effects := j.judge()
	spot := lint.Spot{Rule: rule, Severity: severity, Effects: &effects, Line: rec.Line, Record: rec.Span, Culprit: p.Span, Count: run.count}
	c.pass.Report(spot, func(f *lint.Finding) {
		c.name(f, rec, run.fn)
		f.Message = j.message()
	})
}

// name says which function a record belongs to.
func (c *formatChecker) name(f *lint.Finding, r *symfile.Record, fn recordPos) {
	text := validText(c.pass.Data[r.Text.Off:r.Text.End])
	switch r.Kind {
	case symfile.Func, symfile.Public:
		f.Function = text
	case symfile.File, symfile.InlineOrigin:
		f.Subject = text
	case symfile.Line, symfile.Inline, symfile.Unknown:
		if fn.line != 0 {
			f.Function = funcName(c.pass, fn.off)
		}
	}
	switch r.Kind {
	case symfile.Func, symfile.Public, symfile.Line, symfile.Inline, symfile.StackCFI, symfile.StackCFIInit, symfile.StackWin:
		if r.Usable {
			at(f, r.Addr)
		}
	}
}

// followers are the line records and the well-formed INLINE records of a FUNC block, which share the fate of their FUNC.
type followers struct{ lines, inlines int }

// followersOf counts the records behind a FUNC that belong to it.
func followersOf(data []byte, r *symfile.Record) (n followers) {
	var s symfile.Scanner
	// The end of the block is not known: look at growing pieces, so that a short one costs little.
	from, line := r.Span.End+r.EOL, r.Line+1
	for size := 4 << 10; from < len(data); size *= 4 {
		to := min(len(data), from+size)
		s.Reset(data, from, to, line)
		rec := s.Record()
		for s.Next() {
			switch rec.Kind {
			case symfile.Line:
				n.lines++
			case symfile.Inline:
				if rec.Usable {
					n.inlines++
				}
			case symfile.Func, symfile.Public, symfile.StackWin, symfile.StackCFI, symfile.StackCFIInit:
				return n
			}
			from, line = rec.Span.End+rec.EOL, rec.Line+1
		}
	}
	return n
}
