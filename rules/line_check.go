package rules

import (
	"bytes"
	"math"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// funcState says what the records behind the last FUNC or PUBLIC belong to.
type funcState uint8

const (
	noFunc     funcState = iota // nothing: the file's beginning, or a PUBLIC
	deadFunc                    // a function without a usable range, which has been reported
	brokenFunc                  // a FUNC that could not be read, which has been reported
	openFunc
)

// stateBehind is the state behind a FUNC or PUBLIC record.
func stateBehind(r *symfile.Record) funcState {
	switch {
	case r.Kind == symfile.Public:
		return noFunc
	case !r.Usable:
		return brokenFunc
	case r.Size == 0, r.Size > math.MaxUint32, r.Addr+r.Size <= r.Addr:
		return deadFunc
	}
	return openFunc
}

// recordPos is where a record stands, as compactly as it is kept.
type recordPos struct{ off, line uint32 }

func posOf(r *symfile.Record) recordPos { return recordPos{uint32(r.Span.Off), uint32(r.Line)} }

// noAddr is no address: records with it are not usable.
const noAddr = math.MaxUint64

// lineChecker follows the lines of the open function. A line that begins where the last one ended, inside the function,
// costs a few comparisons; a function with anything else but gaps is looked at again when it is complete.
type lineChecker struct {
	pass  *lint.Pass
	state funcState
	// The open function.
	start, end uint64
	high       uint64 // end of the lines so far; noAddr where no line can continue
	room       uint64 // bytes of the function behind high
	prev       uint64 // start of the last line; noAddr before the first
	next       int    // offset behind the last record that belongs to the function
	fn         recordPos
	gap        uint64
	again      bool // lines overlap or are out of order
	outside    lineRun
	order      lineRun
	orphans    lineRun // without a function, or cut off from it
	severed    bool    // the function is known to Google's reader
	astray     bool    // behind a line that may have been meant for a FUNC

	files   idDefinitions
	uses    idUses
	zero    tally // line number 0
	empty   tally // size 0
	gaps    tally // functions with gaps; the first is the FUNC record
	covered uint64

	scratch []symfile.Range
	lines   []recordPos
}

// lineRun counts records that share a cause within one function.
type lineRun struct {
	first      recordPos
	count      int
	addr, size uint64 // of the first
}

func (x *lineRun) add(r *symfile.Record) {
	if x.count == 0 {
		*x = lineRun{first: posOf(r), addr: r.Addr, size: r.Size}
	}
	x.count++
}

func newLineChecker(p *lint.Pass) *lineChecker {
	return &lineChecker{pass: p, high: noAddr, prev: noAddr}
}

func (c *lineChecker) Record(r *symfile.Record) {
	if r.Kind != symfile.Line {
		c.other(r)
		return
	}
	if r.Span.Off != c.next {
		c.resume(r)
	}
	c.next = r.Span.End + r.EOL
	if !r.Usable {
		if meantOtherwise(r) {
			c.goAstray()
		}
		return
	}
	if id := uint64(r.FileID); id < uint64(len(c.uses.dense)) && c.uses.dense[id] != 0 {
		c.uses.dense[id]++
	} else {
		c.uses.add(r.FileID, r)
	}
	if r.Number == 0 {
		c.zero.add(r, r.Size)
	}
	if r.Addr == c.high && r.Size != 0 && r.Size <= c.room {
		c.prev = r.Addr
		c.high += r.Size
		c.room -= r.Size
		return
	}
	c.unusual(r)
}

// other takes the records that are not lines.
func (c *lineChecker) other(r *symfile.Record) {
	switch r.Kind {
	case symfile.File:
		c.files.define(r, r.FileID)
	case symfile.Inline:
		if r.Span.Off == c.next {
			c.next = r.Span.End + r.EOL
		}
	default: // FUNC, PUBLIC
		c.close()
		c.state = stateBehind(r)
		c.next = r.Span.End + r.EOL
		c.prev, c.high, c.gap = noAddr, noAddr, 0
		c.fn = posOf(r)
		if c.state == openFunc {
			c.start, c.end = r.Addr, r.Addr+r.Size
			c.high, c.room = r.Addr, r.Size
		}
	}
}

// unusual takes a line that does not continue the one before.
func (c *lineChecker) unusual(r *symfile.Record) {
	if c.severed {
		c.orphans.count++ // the run's first line has been noted
		return
	}
	switch c.state {
	case noFunc:
		c.orphans.add(r)
		return
	case openFunc:
	default:
		return
	}
	if r.Size == 0 {
		c.empty.add(r, 0)
		if r.Addr < c.start || r.Addr > c.end {
			c.addOutside(r)
		} else if c.prev == noAddr {
			c.prev = r.Addr
		}
		return
	}
	if r.Size > math.MaxUint32 {
		return // it has been reported
	}
	end := r.Addr + r.Size
	if r.Addr < c.start || end > c.end || end < r.Addr {
		c.addOutside(r)
		if r.Addr >= c.end || end <= c.start {
			return // it says nothing of the lines in the function
		}
	}
	if c.prev != noAddr && r.Addr < c.prev {
		c.order.add(r)
		c.again = true
	}
	if r.Addr < c.high {
		c.again = c.again || c.prev != noAddr
	} else {
		c.gap += min(r.Addr, c.end) - min(c.high, c.end)
	}
	c.prev = r.Addr
	c.high = max(c.high, end)
	c.room = c.end - min(c.high, c.end)
}

func (c *lineChecker) addOutside(r *symfile.Record) {
	if !c.astray {
		c.outside.add(r)
	}
}

// resume is called for a line that does not follow the last record of the function. Other kinds of records in between
// end the function for all but Google's reader; blank and unknown lines have been reported.
func (c *lineChecker) resume(r *symfile.Record) {
	if c.state == brokenFunc || c.severed {
		return
	}
	if meantOtherwise(recordBefore(c.pass, r)) {
		c.goAstray()
		return
	}
	if c.state == noFunc || !endsFunc(c.pass.Data, c.next, r.Span.Off) {
		return
	}
	c.orphans.add(r)
	c.orphans.count = 0 // counted as it comes by
	c.severed, c.high = true, noAddr
}

// goAstray is called behind a line that may have been meant for a FUNC: lines that lie outside the last one may belong to
// it, and that has been reported.
func (c *lineChecker) goAstray() {
	if c.astray = true; c.state == noFunc {
		c.state = brokenFunc
	}
}

// meantOtherwise reports whether a line that cannot be read may be a record of any kind, such as `FNC 1000 10 0 f`.
func meantOtherwise(r *symfile.Record) bool {
	if r.Kind == symfile.Line && !r.Usable {
		return slices.ContainsFunc(r.Problems, func(x symfile.Problem) bool { return x.Field == "address" && x.Code == symfile.BadHex })
	}
	return r.Kind == symfile.Unknown
}

// recordBefore scans the record in the line before one.
func recordBefore(p *lint.Pass, r *symfile.Record) *symfile.Record {
	if r.Span.Off == 0 {
		return new(symfile.Record{Kind: symfile.Blank})
	}
	start := bytes.LastIndexByte(p.Data[:r.Span.Off-1], '\n') + 1
	return p.RecordAt(uint32(start), uint32(max(r.Line-1, 1)))
}

// endsFunc reports whether data[from:to] holds a record that consumers other than Breakpad's end a function at.
func endsFunc(data []byte, from, to int) bool {
	var s symfile.Scanner
	s.Reset(data, from, to, 1)
	for s.Next() {
		switch s.Record().Kind {
		case symfile.Module, symfile.Info, symfile.File, symfile.InlineOrigin, symfile.StackWin, symfile.StackCFIInit, symfile.StackCFI:
			return true
		}
	}
	return false
}

// close reports what is known of the open function.
func (c *lineChecker) close() {
	if c.orphans.count > 0 {
		c.reportOrphans()
	}
	if c.state == openFunc {
		c.closeFunc()
	}
	c.outside, c.order, c.orphans = lineRun{}, lineRun{}, lineRun{}
	c.again, c.severed, c.astray = false, false, false
	c.state = noFunc
}

func (c *lineChecker) closeFunc() {
	if c.prev != noAddr {
		c.measure()
	}
	if c.outside.count > 0 {
		c.reportOutside()
	}
	if c.order.count > 0 {
		c.reportOrder()
	}
}

// measure adds up which bytes of a function with lines have none.
func (c *lineChecker) measure() {
	if c.again {
		c.gap = c.lookAgain()
	} else if c.end > c.high {
		c.gap += c.end - c.high
	}
	size := c.end - c.start
	c.covered += size - min(c.gap, size)
	if c.gap > 0 {
		if c.gaps.count == 0 {
			c.gaps.off, c.gaps.line = c.fn.off, c.fn.line
		}
		c.gaps.count++
		c.gaps.bytes += c.gap
	}
}

// lookAgain reads the function's lines once more, reports those that overlap, and returns how many of its bytes no line
// covers.
func (c *lineChecker) lookAgain() (gap uint64) {
	var s symfile.Scanner
	s.Reset(c.pass.Data, int(c.fn.off), c.next, int(c.fn.line))
	c.scratch, c.lines = c.scratch[:0], c.lines[:0]
	for s.Next() {
		r := s.Record()
		if r.Kind == symfile.Line && r.Usable && r.Size-1 < math.MaxUint32 && r.Addr < c.end && r.Addr+r.Size > c.start {
			c.scratch = append(c.scratch, symfile.Range{Start: r.Addr, End: r.Addr + r.Size, Index: int32(len(c.lines))})
			c.lines = append(c.lines, posOf(r))
		}
	}
	slices.SortFunc(c.scratch, compareRanges)
	high := c.start
	for _, r := range c.scratch {
		if r.Start > high {
			gap += r.Start - high
		}
		high = max(high, min(r.End, c.end))
	}
	eachOverlap(c.scratch, true, c.reportOverlap)
	return gap + c.end - high
}

// compareRanges orders by start, then by index.
func compareRanges(a, b symfile.Range) int {
	switch {
	case a.Start < b.Start:
		return -1
	case a.Start > b.Start:
		return 1
	}
	return int(a.Index) - int(b.Index)
}

func (c *lineChecker) Merge(later lint.Checker) {
	c.close()
	l := later.(*lineChecker)
	l.close()
	c.files.merge(&l.files)
	c.uses.merge(&l.uses)
	c.zero.merge(&l.zero)
	c.empty.merge(&l.empty)
	c.gaps.merge(&l.gaps)
	c.covered += l.covered
}

func (c *lineChecker) Finish() {
	c.close()
	c.reportFiles()
	c.reportTallies()
}
