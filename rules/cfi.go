package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var cfiFamily = &lint.Analyzer{
	Name: "cfi",
	Rules: []*lint.Rule{
		cfiMissingCFA, cfiMissingRA, cfiSwapped, cfiEntryRow, cfiSyntax, cfiStackEffect, cfiArithmetic, cfiUnknownRegister,
		cfiSelfReference, cfiUndef, cfiCallerSavedOperand, cfiInitOverlap, cfiInitDuplicate, cfiInitZeroSize, cfiInitWraps,
		cfiDeltaOrphan, cfiDeltaOutside, cfiDeltaOrder, cfiDeltaDuplicate, cfiDiscontinuity, cfiReturnSlot, cfiSlotConflict,
		cfiSlotOutside, cfiCalleeSavedLost, cfiStaleBase, cfiSignalFrame, cfiOutermost, cfiPLTStale, cfiLinkRegister,
		cfiSpansFunctions, cfiOutsideSymbols, cfiMissing,
	},
	Kinds: []symfile.Kind{symfile.StackCFIInit, symfile.StackCFI, symfile.Func, symfile.Public},
	New:   func(p *lint.Pass) lint.Checker { return newCFIChecker(p) },
}

// cfiChecker follows the unwind rows of a chunk and sets aside the INIT blocks that deserve a second look.
type cfiChecker struct {
	pass *lint.Pass
	cpu  *cfiCPU
	m    *cfiMachine

	block   cfiBlock // the open one
	open    bool
	skip    bool   // its INIT record cannot be read
	end     uint64 // of its range; 0 = not to be held against deltas
	prev    uint64 // address of the last row
	state   int32  // in force there
	first   bool   // still at the INIT's address
	suspect cfiFlags

	blocks    int // INIT records
	notEntry  int // of them, with a first row other than the ABI's
	suspects  []cfiBlock
	special   []namedSpot
	orphans   int // deltas before any INIT
	orphanOff uint32
	orphanRow uint32
}

// cfiBlock is an INIT record with its deltas, set aside.
type cfiBlock struct {
	off, line uint32
	flags     cfiFlags
}

// namedSpot is a function whose unwinding is special by its name.
type namedSpot struct {
	addr uint64
	off  uint32
	kind specialKind
}

func newCFIChecker(p *lint.Pass) *cfiChecker {
	cpu := cpuOf(p)
	return &cfiChecker{pass: p, cpu: cpu, m: newCFIMachine(p.Data, cpu)}
}

func (c *cfiChecker) Record(r *symfile.Record) {
	switch r.Kind {
	case symfile.StackCFI:
		c.delta(r)
	case symfile.StackCFIInit:
		c.init(r)
	default:
		if r.Usable {
			c.symbol(r)
		}
	}
}

// init opens a block.
func (c *cfiChecker) init(r *symfile.Record) {
	c.close()
	c.blocks++
	c.open, c.first = true, true
	c.block = cfiBlock{off: uint32(r.Span.Off), line: uint32(r.Line)}
	if c.skip = !r.Usable; c.skip {
		return // the format family has said so; the rows hang on nothing
	}
	if c.m.full() {
		c.m.restart(stateBefore)
	}
	c.prev, c.end = r.Addr, r.Addr+r.Size
	c.state, c.suspect = c.apply(stateBefore, r)
	if c.m.stateFlags[c.state]&stateBadCFA != 0 && c.m.states[c.state].cfa.off < 0 {
		c.suspect |= stateBadCFA // nonsense even where a delta at the same address replaces it
	}
	if r.Size == 0 || c.end < r.Addr {
		c.end = 0
	}
}

func (c *cfiChecker) apply(from int32, r *symfile.Record) (int32, cfiFlags) {
	return c.m.step(from, c.m.known(r.TextID, r.Text.Off, r.Text.End))
}

// delta follows one row of the open block.
func (c *cfiChecker) delta(r *symfile.Record) {
	if !r.Usable || c.skip {
		return
	}
	if !c.open {
		if c.orphans == 0 {
			c.orphanOff, c.orphanRow = uint32(r.Span.Off), uint32(r.Line)
		}
		c.orphans++
		return
	}
	addr := r.Addr
	switch {
	case addr > c.prev:
		c.leave()
	case addr < c.prev:
		c.suspect |= blockOrder
	case !c.first:
		c.suspect |= blockRepeat
	case c.block.flags&blockRepeat != 0:
		c.suspect |= blockRepeat
	default:
		c.block.flags |= blockRepeat // the first delta at the INIT's own address is healthy
	}
	if c.end != 0 && addr >= c.end {
		c.suspect |= blockOutside
	}
	if c.m.full() {
		c.state = c.m.restart(c.state)
	}
	from := c.state
	to, flags := c.apply(from, r)
	if flags&stepJump != 0 {
		flags &^= stepJump
		if addr > c.prev && addr-c.prev <= 2 && c.cpu.jumps && (c.first || c.m.states[from].cfa.off != c.cpu.entryCFA) {
			flags |= stepJump
		}
	}
	if addr > c.prev {
		c.first = false
	}
	c.suspect |= flags
	c.state = to
	c.prev = addr
}

// leave judges the row in force up to here, which no record at its own address can change any more.
func (c *cfiChecker) leave() {
	f := c.m.stateFlags[c.state]
	if c.first && f&stateNotEntry != 0 {
		c.suspect |= blockNotEntry
	}
	c.suspect |= f &^ stateNotEntry
}

// close ends the open block.
func (c *cfiChecker) close() {
	if !c.open || c.skip {
		return
	}
	c.leave()
	c.open = false
	if c.suspect&blockNotEntry != 0 {
		c.notEntry++
	}
	if c.suspect&(lone|blockNotEntry) != 0 || c.suspect&(stateLinkFrame|stateReturnSaved) == stateLinkFrame|stateReturnSaved {
		c.block.flags = c.suspect
		c.suspects = append(c.suspects, c.block)
	}
}

// symbol keeps the functions whose unwinding is special.
func (c *cfiChecker) symbol(r *symfile.Record) {
	name := c.pass.Data[r.Text.Off:r.Text.End]
	if len(name) > 32 || name[0] != '_' && name[0] != 'c' && name[0] != 's' && name[0] != 'l' && name[0] != 't' {
		return
	}
	if kind := specialName(string(name)); kind != notSpecial {
		c.special = append(c.special, namedSpot{r.Addr, uint32(r.Span.Off), kind})
	}
}

func (c *cfiChecker) Merge(later lint.Checker) {
	c.close()
	l := later.(*cfiChecker)
	l.close()
	c.blocks += l.blocks
	c.notEntry += l.notEntry
	c.suspects = append(c.suspects, l.suspects...)
	c.special = append(c.special, l.special...)
	if c.orphans == 0 {
		c.orphanOff, c.orphanRow = l.orphanOff, l.orphanRow
	}
	c.orphans += l.orphans
	c.mergeTexts(l)
}

func (c *cfiChecker) Finish() {
	c.close()
	c.judgeOrphans()
	j := newCFIJudge(c)
	if j.wrongCPU() {
		return
	}
	j.judgeRanges()
	for _, b := range c.suspects {
		j.block(b)
	}
	j.finish()
}
