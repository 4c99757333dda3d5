package rules

import (
	"bytes"
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

func (c *inlineChecker) reportOrphans() {
	p := c.pass
	run := c.orphans
	rec := p.RecordAt(run.first.off, run.first.line)
	spot := lint.At(inlineOrphan, rec, rec.Span)
	spot.Count = run.count
	what := "INLINE record"
	if run.count > 1 {
		what = fmt.Sprintf("run of %d INLINE records", run.count)
	}
	var message string
	switch {
	case c.severed:
		message = what + " is cut off from its FUNC by another kind of record"
		spot.Effects = &severedEffects
	case c.rejected && c.state == brokenFunc:
		message = what + " follows a FUNC that cannot be read"
		effects := inlineOrphan.Effects
		effects[lint.RustMinidump].Text = "has refused the whole file because of the FUNC"
		spot.Effects = &effects
	case c.rejected:
		message = what + " follows a FUNC that breakpad cannot read"
		spot.Effects = &lint.Effects{inlineOrphan.Effects[lint.Breakpad], lint.Fine("reads both"), lint.Fine("reads both")}
	case c.fn.line != 0:
		message = what + " follows a PUBLIC and belongs to no FUNC"
	default:
		message = what + " before the first FUNC"
	}
	fn := c.fn
	p.Report(spot, func(f *lint.Finding) {
		at(f, rec.Addr)
		f.Message = message
		if fn.line != 0 {
			f.Subject = funcName(p, fn.off)
			f.Related = relatedRecord(p, fn.off, fn.line, "the symbol before it")
		} else {
			f.Subject = "before the first FUNC"
		}
	})
}

// reportMisread reports records that are in the old form by accident: read that way their range is in no part of the
// function. Those of a split function may be at home in another part and are what they seem.
func (c *inlineChecker) reportMisread(funcs []symfile.Range) {
	p := c.pass
	for _, run := range c.misread {
		rec := p.RecordAt(run.first.off, run.first.line)
		name := symfile.RecordText(p.Data, run.fn.off)
		if c.atHome(funcs, name, run.addr, run.addr+run.size) {
			c.formed[oldForm].addRun(run.first, run.count)
			continue
		}
		spot := lint.At(inlineForm, rec, rec.Span)
		spot.Count = run.count
		p.Report(spot, func(f *lint.Finding) {
			at(f, p.RecordAt(run.fn.off, run.fn.line).Addr)
			f.Function = validText(name)
			words := len(bytes.Fields(p.Data[rec.Span.Off:rec.Span.End])) - 1
			f.Message = fmt.Sprintf("%d words behind INLINE make it the old form without call-site file, with a range at %#x outside %s", words,
				rec.Addr, shortName(f.Function))
			if run.count > 1 {
				f.Message += fmt.Sprintf(", and so with the %s behind it", plural(run.count-1, "record"))
			}
		})
	}
}

// reportForms reports records that are in another form than the rest of the file.
func (c *inlineChecker) reportForms() {
	p := c.pass
	current, old := &c.formed[newForm], &c.formed[oldForm]
	var t *tally
	severity := lint.Off
	effects := inlineForm.Effects
	switch {
	case old.count == 0:
	case current.count == 0:
		t, severity = old, lint.Warning
		effects[lint.Breakpad] = lint.Fine("reads the old form")
	case old.count <= current.count:
		t = old
		effects[lint.Breakpad] = lint.Effect{Impact: lint.Degraded, Text: "tells the forms apart by the number of words"}
	default:
		t = current
		effects[lint.Breakpad] = lint.Effect{Impact: lint.Degraded, Text: "tells the forms apart by the number of words"}
	}
	if t != nil {
		rec := p.RecordAt(t.off, t.line)
		spot := lint.At(inlineForm, rec, rec.Span)
		spot.Severity, spot.Effects, spot.Count = severity, &effects, t.count
		p.Report(spot, func(f *lint.Finding) {
			at(f, rec.Addr)
			f.Subject = "forms of INLINE"
			switch {
			case current.count == 0:
				f.Message = fmt.Sprintf("the file has INLINE records in the old form only, without call-site file (%d)", old.count)
			case t == old:
				f.Message = fmt.Sprintf("%s in the old form among %d in the new", plural(old.count, "INLINE record"), current.count)
			default:
				f.Message = fmt.Sprintf("%s in the new form among %d in the old", plural(current.count, "INLINE record"), old.count)
			}
		})
	}
	if old.count > current.count || current.count == 0 && c.namedNew == 0 {
		return // a file of the old form
	}
	for i := 0; i < len(c.namedOld); {
		n := 1
		for i+n < len(c.namedOld) && c.namedOld[i+n].line == c.namedOld[i].line+uint32(n) {
			n++
		}
		c.reportDigits(c.namedOld[i], n)
		i += n
	}
}

// reportDigits reports an INLINE_ORIGIN record whose name begins with a number, in a file of the new form.
func (c *inlineChecker) reportDigits(pos recordPos, n int) {
	p := c.pass
	rec := p.RecordAt(pos.off, pos.line)
	number := word(p, rec, 2)
	spot := lint.At(inlineForm, rec, number)
	spot.Count = n
	spot.Effects = &lint.Effects{
		{Impact: lint.Loses, Text: "takes the number for the file of the old form and off the name"},
		lint.Fine("takes the number as part of the name"),
		lint.Fine("takes the number as part of the name"),
	}
	p.Report(spot, func(f *lint.Finding) {
		f.Subject = validText(p.Data[number.Off:rec.Span.End])
		f.Message = fmt.Sprintf("the name of INLINE_ORIGIN %d begins with the number %s", rec.Origin, p.Data[number.Off:number.End])
		if n > 1 {
			f.Message += fmt.Sprintf("; so do the names of the %s behind it", plural(n-1, "record"))
		}
	})
}

func (c *inlineChecker) reportOrigins() {
	p := c.pass
	for _, again := range c.originDefs.repeats() {
		first := c.originDefs.get(again.id)
		old, name := symfile.RecordText(p.Data, first.off), symfile.RecordText(p.Data, again.pos.off)
		rec := p.RecordAt(again.pos.off, again.pos.line)
		spot := lint.At(inlineOriginDuplicate, rec, rec.Text)
		same := bytes.Equal(old, name)
		if same {
			spot.Severity, spot.Effects = lint.Info, &sameTwice
		}
		p.Report(spot, func(f *lint.Finding) {
			f.Message = fmt.Sprintf("INLINE_ORIGIN %d is defined again, as another function", again.id)
			if same {
				f.Message = fmt.Sprintf("INLINE_ORIGIN %d is repeated", again.id)
			}
			f.Subject = validText(name)
			f.Related = relatedRecord(p, first.off, first.line, "first defined here")
		})
	}
	reportUndefined(p, &c.origins, &c.originIDs, undefinedIDs{
		rule: inlineOriginUndefined, kind: "INLINE_ORIGIN", user: "INLINE record", place: originSpan})
}

func (c *inlineChecker) reportFiles() {
	p := c.pass
	if t := &c.noFile; t.count > 0 {
		rec := p.RecordAt(t.off, t.line)
		spot := lint.At(inlineCallsiteFile, rec, word(p, rec, 3))
		spot.Count, spot.Severity = t.count, lint.Error
		spot.Effects = &lint.Effects{
			{Impact: lint.Degraded, Text: "shows the physical frame's own file for the caller"},
			{Impact: lint.Rejects, Text: "refuses the whole file"},
			{Impact: lint.Loses, Text: "refuses the record"},
		}
		p.Report(spot, func(f *lint.Finding) {
			at(f, rec.Addr)
			f.Subject = "call-site file -1"
			f.Message = "the call site is in file -1"
			if t.count > 1 {
				f.Message = fmt.Sprintf("the call sites of %d INLINE records are in file -1", t.count)
			}
		})
	}
	reportUndefined(p, &c.files, &c.fileDefs, undefinedIDs{
		rule: inlineCallsiteFile, kind: "FILE", user: "INLINE record", place: callFileSpan})
}

func callFileSpan(p *lint.Pass, r *symfile.Record) symfile.Span { return word(p, r, 3) }

func originSpan(p *lint.Pass, r *symfile.Record) symfile.Span {
	if r.OldForm {
		return word(p, r, 3)
	}
	return word(p, r, 4)
}

// reportEmpty reports the empty ranges of a file as one.
func (c *inlineChecker) reportEmpty() {
	p := c.pass
	t := &c.empty
	if t.count == 0 {
		return
	}
	rec := p.RecordAt(t.off, t.line)
	spot := lint.At(inlineRange, rec, rec.Text)
	spot.Count, spot.Severity = t.count, lint.Info
	effects := lint.Same(lint.Degraded, "drops the range")
	spot.Effects = &effects
	p.Report(spot, func(f *lint.Finding) {
		at(f, rec.Addr)
		f.Subject = "empty ranges"
		f.Message = "the INLINE record has an empty range"
		if t.count > 1 {
			f.Message = fmt.Sprintf("%d INLINE records have an empty range", t.count)
		}
	})
}

func (c *inlineChecker) reportLimit(r *symfile.Record, count int) {
	p, fn := c.pass, c.fn
	p.Report(lint.At(inlineRangeLimit, r, r.Text), func(f *lint.Finding) {
		at(f, r.Addr)
		f.Function = funcName(p, fn.off)
		f.Message = fmt.Sprintf("the INLINE record has %d ranges, %d more than breakpad reads", count, count-maxInlineRanges)
	})
}

func (c *inlineChecker) reportJump() {
	if c.jump.count == 0 {
		return
	}
	p, jump, fn := c.pass, c.jump, c.fn
	c.jump = inlineJump{}
	rec := p.RecordAt(jump.first.off, jump.first.line)
	spot := lint.At(inlineDepth, rec, word(p, rec, 1))
	spot.Count = jump.count
	effects := inlineDepth.Effects
	if jump.after < 0 && jump.level == 1 && jump.count == 1 {
		effects[lint.Breakpad] = lint.Fine("lets the first level of a function be 1")
		spot.Effects = &effects
	}
	p.Report(spot, func(f *lint.Finding) {
		at(f, rec.Addr)
		f.Function = funcName(p, fn.off)
		before := "the function's first"
		if jump.after >= 0 {
			before = fmt.Sprintf("behind level %d", jump.after)
		}
		f.Message = fmt.Sprintf("INLINE of level %d is %s", jump.level, before)
		if jump.count > 1 {
			f.Message += fmt.Sprintf("; with the %s behind it", plural(jump.count-1, "record"))
		}
	})
}
