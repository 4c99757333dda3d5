package rules

import (
	"bytes"
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// symbolicHeader is how many bytes of a file symbolic searches for the MODULE record.
const symbolicHeader = 320

// rustLine is the size of rust-minidump's line buffer, in bytes, up to which every line fits.
const rustLine = 80 << 10

func (c *formatChecker) longLine(r *symfile.Record) {
	n := r.Span.Len()
	module := r.Kind == symfile.Module && r.Line == 1
	if !module && n < rustLine {
		return
	}
	spot := lint.At(formatLongLine, r, symfile.Span{Off: r.Span.Off + min(n, rustLine), End: r.Span.End})
	effects := lint.Effects{
		lint.Fine("has no limit"),
		{Impact: lint.Loses, Text: "skips the line if it does not fit its buffer"},
		lint.Fine("has no limit"),
	}
	if module {
		spot.Culprit.Off = r.Span.Off + symbolicHeader
		effects[lint.Symbolic] = lint.Effect{Impact: lint.Degraded, Text: "cuts the module's name"}
		if n < rustLine {
			effects[lint.RustMinidump] = lint.Fine("reads 80 KiB and more")
		}
	}
	spot.Effects = &effects
	c.pass.Report(spot, func(f *lint.Finding) {
		c.name(f, r, c.around(r))
		f.Message = fmt.Sprintf("the %s record has %d bytes, rust-minidump may skip lines of %d and more", kindName(r.Kind), n, rustLine)
		if module {
			f.Message = fmt.Sprintf("the MODULE record has %d bytes, symbolic reads %d", n, symbolicHeader)
		}
	})
}

// blankLines are the blank lines of a chunk: a run of them waits for the record behind it.
type blankLines struct {
	open     recordGroup
	at       blankPlace
	harmless recordGroup
	// A series of harmful runs with one record between each and the next is one finding.
	series   recordGroup
	seriesAt blankPlace
	seriesFn recordPos   // the FUNC before it
	last     int         // its last line
	only     recordGroup // lines of blanks
}

// blankPlace is what a run of blank lines interrupts.
type blankPlace uint8

const (
	blankElsewhere blankPlace = iota
	blankInFunc
	blankInCFI
	blankInHeader // before a record that is none of MODULE, INFO and FILE
	blankAtEnd
)

func (c *formatChecker) blankLine(r *symfile.Record) {
	b := &c.blanks
	if r.Kind != symfile.Blank {
		if b.open.count > 0 {
			c.resolveBlanks(r.Kind)
		}
		if b.only.count > 0 {
			c.closeBlanks()
		}
		return
	}
	if r.Span.Len() > 0 {
		b.only.add(r)
		return
	}
	if b.open.count == 0 {
		b.at = blankElsewhere
		switch {
		case c.block == blockFunc:
			b.at = blankInFunc
		case c.block == blockCFI:
			b.at = blankInCFI
		case c.pass.First && !c.order.pastFile:
			b.at = blankInHeader
		}
	}
	b.open.add(r)
}

// resolveBlanks judges the open run by the kind of the record behind it, KindCount at the end of the file.
func (c *formatChecker) resolveBlanks(next symfile.Kind) {
	b := &c.blanks
	run := b.open
	if run.count == 0 {
		return
	}
	b.open = recordGroup{}
	place := blankElsewhere
	switch {
	case b.at == blankInFunc && (next == symfile.Line || next == symfile.Inline):
		place, c.block = blankInFunc, blockFunc
	case b.at == blankInCFI && next == symfile.StackCFI:
		place, c.block = blankInCFI, blockCFI
	case b.at == blankInHeader && (next == symfile.Info || next == symfile.File):
		place = blankInHeader
	case b.at == blankInCFI && next == symfile.KindCount && run.count > 1:
		place = blankAtEnd
	}
	if place == blankElsewhere {
		b.harmless.join(run)
		return
	}
	if b.series.count > 0 && (b.seriesAt != place || int(run.first.line) > b.last+2) {
		c.closeBlanks()
	}
	if b.series.count == 0 {
		b.seriesAt, b.seriesFn = place, c.fn
	}
	b.series.join(run)
	b.last = int(run.first.line) + run.count - 1
	if place == blankInHeader || place == blankAtEnd {
		c.closeBlanks()
	}
}

// closeBlanks reports what is complete.
func (c *formatChecker) closeBlanks() {
	b := &c.blanks
	if run := b.series; run.count > 0 {
		c.reportBlanks(run, b.seriesAt, b.seriesFn)
		b.series = recordGroup{}
	}
	if run := b.only; run.count > 0 {
		b.only = recordGroup{}
		rec := c.pass.RecordAt(run.first.off, run.first.line)
		spot := lint.At(formatBlankLine, rec, rec.Span)
		spot.Count, spot.Effects = run.count, &blanksOnlyEffects
		c.pass.Report(spot, func(f *lint.Finding) {
			f.Message = "the line consists of blanks only"
		})
	}
}

var blanksOnlyEffects = lint.Effects{
	{Impact: lint.Degraded, Text: "takes it for a line record it cannot read, counts an error and calls the symbols corrupt"},
	refusesFile,
	{Impact: lint.Loses, Text: "skips it; inside a function it fails on that function"},
}

func (c *formatChecker) reportBlanks(run recordGroup, place blankPlace, fn recordPos) {
	rec := c.pass.RecordAt(run.first.off, run.first.line)
	spot := lint.At(formatBlankLine, rec, rec.Span)
	spot.Count = run.count
	message := ""
	switch place {
	case blankInFunc:
		message = "a blank line cuts the records behind it off from their FUNC"
	case blankInCFI:
		message = "a blank line cuts the STACK CFI record behind it off from its STACK CFI INIT"
	case blankInHeader:
		spot.Severity = lint.Warning
		spot.Effects = &lint.Effects{
			lint.Fine("never sees blank lines"),
			lint.Fine("skips it"),
			{Impact: lint.Loses, Text: "reads no INFO and FILE records behind it"},
		}
		message = "a blank line among the INFO and FILE records"
	case blankAtEnd:
		spot.Effects = &lint.Effects{
			lint.Fine("never sees blank lines"),
			{Impact: lint.Rejects, Text: "refuses the file before version 0.22"},
			lint.Fine("skips it"),
		}
		message = fmt.Sprintf("%d blank lines behind the last STACK CFI record", run.count)
	default:
		spot.Severity = lint.Info
		spot.Effects = &lint.Effects{lint.Fine("never sees blank lines"), lint.Fine("skips it"), lint.Fine("skips it")}
		message = "a blank line between records"
	}
	c.pass.Report(spot, func(f *lint.Finding) {
		if place == blankInFunc && fn.line != 0 {
			f.Function = funcName(c.pass, fn.off)
		}
		f.Message = message
	})
}

func (c *formatChecker) reportHarmlessBlanks() {
	if c.blanks.harmless.count > 0 {
		c.reportBlanks(c.blanks.harmless, blankElsewhere, recordPos{})
	}
}

// recordOrder finds records where a consumer does not look for them.
type recordOrder struct {
	first    bool // this is the file's first chunk
	pastInfo bool // a record that is neither MODULE nor INFO has been met
	pastFile bool // one that is none of MODULE, INFO and FILE
	stack    bool // a STACK record has been met
	codeID   recordGroup
	info     recordGroup // other INFO records
	file     recordGroup
	early    recordGroup // FUNC and PUBLIC before the chunk's first STACK record
	late     recordGroup // and behind it
	origin   recordGroup // INLINE_ORIGIN behind an INLINE that uses it

	used, defined idSet
	origins       []originDef // of a chunk that is not the first
	cfi           recordPos   // the record that ended the last STACK CFI INIT block; line 0 = none
	init          recordPos
}

// originDef is an INLINE_ORIGIN record whose past the chunk does not know.
type originDef struct {
	id   int64
	pos  recordPos
	used bool // by an INLINE before it in the chunk
}

func (o *recordOrder) begin(p *lint.Pass) {
	o.first = p.First
	o.pastInfo, o.pastFile = !p.First, !p.First
}

// place notes a record out of its place.
func (c *formatChecker) place(r *symfile.Record) {
	o := &c.order
	switch r.Kind {
	case symfile.Unknown, symfile.Blank, symfile.Module, symfile.Line:
	case symfile.Info:
		if o.pastInfo {
			c.lateInfo(r)
		}
	case symfile.File:
		if o.pastFile {
			o.file.add(r)
		}
		o.pastInfo = true
	case symfile.Func, symfile.Public:
		if o.stack {
			o.late.add(r)
		} else {
			o.early.add(r)
		}
		o.pastInfo, o.pastFile = true, true
	case symfile.Inline:
		if r.Usable {
			o.used.add(r.Origin)
		}
	case symfile.InlineOrigin:
		o.pastInfo, o.pastFile = true, true
		if r.Usable {
			o.define(r)
		}
	default:
		o.stack, o.pastInfo, o.pastFile = true, true, true
	}
	c.cfiBlock(r)
}

// cfiBlock finds the record that separates STACK CFI records from their INIT.
func (c *formatChecker) cfiBlock(r *symfile.Record) {
	o := &c.order
	switch {
	case r.Kind == symfile.StackCFIInit:
		o.init, o.cfi = posOf(r), recordPos{}
	case r.Kind == symfile.StackCFI && o.cfi.line != 0:
		c.reportInterrupted(r)
		o.cfi, c.block = recordPos{}, blockCFI
	case c.block == blockCFI && r.Usable && r.Kind != symfile.StackCFI && r.Kind != symfile.Module:
		o.cfi = posOf(r)
	}
}

func (c *formatChecker) reportInterrupted(delta *symfile.Record) {
	o := &c.order
	rec := c.pass.RecordAt(o.cfi.off, o.cfi.line)
	spot := lint.At(formatRecordOrder, rec, word(c.pass, rec, 0))
	spot.Severity = lint.Error
	spot.Effects = &lint.Effects{
		lint.Fine("reads records in any order"),
		refusesFile,
		{Impact: lint.Loses, Text: "ends the block there and ignores the STACK CFI records behind it"},
	}
	c.pass.Report(spot, func(f *lint.Finding) {
		f.Message = fmt.Sprintf("the %s record separates STACK CFI %x from its STACK CFI INIT", kindName(rec.Kind), delta.Addr)
		at(f, delta.Addr)
		f.Related = relatedRecord(c.pass, o.init.off, o.init.line, "the block begins here")
	})
}

func (c *formatChecker) lateInfo(r *symfile.Record) {
	text := c.pass.Data[r.Text.Off:r.Text.End]
	switch {
	case bytes.HasPrefix(text, []byte("CODE_ID")):
		c.order.codeID.add(r)
	case bytes.HasPrefix(text, []byte("URL ")):
		// rust-minidump's cache appends where a file came from.
	default:
		c.order.info.add(r)
	}
}

func (o *recordOrder) define(r *symfile.Record) {
	used := o.used.has(r.Origin)
	if !o.first {
		o.origins = append(o.origins, originDef{r.Origin, posOf(r), used})
	} else if used && !o.defined.has(r.Origin) {
		o.origin.add(r)
	}
	o.defined.add(r.Origin)
}

func (o *recordOrder) merge(l *recordOrder) {
	o.codeID.join(l.codeID)
	o.info.join(l.info)
	o.file.join(l.file)
	if o.stack {
		o.late.join(l.early)
	}
	o.late.join(l.late)
	for _, d := range l.origins {
		if (d.used || o.used.has(d.id)) && !o.defined.has(d.id) {
			o.origin.join(recordGroup{d.pos, 1})
		}
		o.defined.add(d.id)
	}
	o.used.union(&l.used)
	o.stack = o.stack || l.stack
	o.cfi, o.init = l.cfi, l.init
}

func (c *formatChecker) reportOrder() {
	o := &c.order
	for _, g := range []struct {
		group    recordGroup
		severity lint.Severity
		message  string
		lost     string // what symbolic does; "" = nothing
	}{
		{o.codeID, lint.Off, "INFO CODE_ID stands behind other records", "does not find the code id"},
		{o.info, lint.Info, "INFO stands behind other records", ""},
		{o.file, lint.Off, "FILE stands behind records other than MODULE, INFO and FILE", "does not know the file"},
		{o.late, lint.Off, "%s stands behind STACK records", "does not see the record"},
		{o.origin, lint.Off, "INLINE_ORIGIN stands behind an INLINE that uses it", "shows the inlined frames without a name"},
	} {
		if g.group.count == 0 {
			continue
		}
		rec := c.pass.RecordAt(g.group.first.off, g.group.first.line)
		spot := lint.At(formatRecordOrder, rec, word(c.pass, rec, 0))
		spot.Count, spot.Severity = g.group.count, g.severity
		effects := formatRecordOrder.Effects
		effects[lint.Symbolic].Text = g.lost
		if g.lost == "" {
			effects = lint.Same(lint.Unaffected, "does not use the record")
		}
		spot.Effects = &effects
		c.pass.Report(spot, func(f *lint.Finding) {
			f.Message = g.message
			if rec.Kind == symfile.Func || rec.Kind == symfile.Public {
				f.Message = fmt.Sprintf(g.message, kindName(rec.Kind))
			}
			c.name(f, rec, recordPos{})
		})
	}
}
