package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// formatChecker sees every record of a chunk. Line records and STACK CFI in canonical form cost it a counter or two.
type formatChecker struct {
	pass *lint.Pass
	mute bool // the text is UTF-16: one finding says it all
	// busy has a bit for each kind whose records are waited for, canonical or not.
	busy  uint32
	block formatBlock
	fn    recordPos // the FUNC that lines belong to; line 0 = none

	ends   lineEnds
	cr     loneCRs
	beside bool // a lone CR stands before or behind the record at hand
	runs   problemRuns
	upper  recordGroup // records with upper-case digits
	blanks blankLines
	order  recordOrder
	budget errorBudget
}

// formatBlock is the kind of block that rust-minidump has open: the records that belong into it are read only there.
type formatBlock uint8

const (
	blockNone formatBlock = iota
	blockFunc
	blockCFI
)

// recordGroup is many records that share a cause, known by the first.
type recordGroup struct {
	first recordPos
	count int
}

func (g *recordGroup) add(r *symfile.Record) {
	if g.count == 0 {
		g.first = posOf(r)
	}
	g.count++
}

// join takes over a group that stands later in the file.
func (g *recordGroup) join(later recordGroup) {
	if g.count == 0 {
		g.first = later.first
	}
	g.count += later.count
}

const allKinds = 1<<symfile.KindCount - 1

func newFormatChecker(p *lint.Pass) *formatChecker {
	c := &formatChecker{pass: p, mute: utf16Name(p.Data) != ""}
	c.order.begin(p)
	return c
}

func (c *formatChecker) Record(r *symfile.Record) {
	if c.mute {
		return
	}
	// A record that belongs into the open block changes nothing.
	if (r.Kind == symfile.Line && c.block == blockFunc || r.Kind == symfile.StackCFI && c.block == blockCFI && r.Span.Len() < rustLine) &&
		len(r.Problems) == 0 && c.busy>>r.Kind&1 == 0 && c.ends.usual(r) {
		return
	}
	c.record(r)
}

func (c *formatChecker) record(r *symfile.Record) {
	c.ends.add(r)
	c.beside = c.cr.count > 0 || endsInCR(r)
	c.loneCR(r)
	if len(r.Problems) > 0 {
		c.problems(r)
	}
	if c.busy>>r.Kind&1 != 0 {
		c.settle(r)
	}
	if r.Span.Len() > symbolicHeader {
		c.longLine(r)
	}
	c.count(r)
	c.blankLine(r)
	c.place(r)
	switch r.Kind {
	case symfile.Func:
		c.fn = posOf(r)
		c.block = blockNone
		if r.Usable && c.budget.open {
			c.block = blockFunc
		}
	case symfile.StackCFIInit:
		c.block = blockNone
		if r.Usable {
			c.block = blockCFI
		}
	case symfile.Public:
		c.fn = recordPos{}
		c.block = blockNone
	case symfile.Module, symfile.Info, symfile.File, symfile.StackWin, symfile.Blank:
		c.block = blockNone
	case symfile.InlineOrigin:
		if c.block == blockCFI {
			c.block = blockNone
		}
	}
}

// around is the FUNC that a record belongs to, as far as that can be told.
func (c *formatChecker) around(r *symfile.Record) recordPos {
	switch {
	case r.Kind == symfile.Line, r.Kind == symfile.Inline, r.Kind == symfile.Unknown && c.block == blockFunc:
		return c.fn
	}
	return recordPos{}
}

func (c *formatChecker) Merge(later lint.Checker) {
	l := later.(*formatChecker)
	if c.mute {
		return
	}
	c.endOfChunk()
	c.mergeRuns(l)
	c.ends.merge(&l.ends)
	c.upper.join(l.upper)
	c.blanks.harmless.join(l.blanks.harmless)
	l.blanks.harmless = c.blanks.harmless
	c.blanks = l.blanks
	c.order.merge(&l.order)
	c.budget.merge(&l.budget)
	c.cr = l.cr
	c.block, c.fn = l.block, l.fn
}

// endOfChunk is called when a record that opens a block follows.
func (c *formatChecker) endOfChunk() {
	c.endCRs(nil)
	c.resolveBlanks(symfile.Func)
	c.closeBlanks()
}

func (c *formatChecker) Finish() {
	c.reportUTF16()
	if c.mute {
		return
	}
	c.endCRs(nil)
	c.resolveBlanks(symfile.KindCount)
	c.closeBlanks()
	c.finishRuns()
	c.reportUpper()
	c.reportLineEnds()
	c.reportHarmlessBlanks()
	c.reportOrder()
	c.reportBudget()
}
