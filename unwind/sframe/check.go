package sframe

import (
	"fmt"
	"sort"
)

// Check reads every function and row and returns what is wrong with them and with the header: at most MaxProblems, by
// offset. It judges the section by itself; what it says of the code is another matter.
func (s *Section) Check() []Problem {
	c := checker{s: s, out: append([]Problem(nil), s.problems...)}
	if s.Err != nil {
		return append(c.out, *s.Err)
	}
	c.run()
	sort.SliceStable(c.out, func(i, j int) bool { return c.out[i].Offset < c.out[j].Offset })
	return c.out[:min(len(c.out), MaxProblems)]
}

type span struct{ from, to, fde int }

type checker struct {
	s     *Section
	out   []Problem
	spans []span
	rows  uint64
	bad   bool // a function's rows could not be read to the end, so sums tell nothing
}

func (c *checker) add(fde, row, at int, k Kind, format string, args ...any) {
	if len(c.out) < MaxProblems {
		c.out = append(c.out, Problem{c.s.Name, at, k, fde, row, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) addProblem(p *Problem) {
	if p != nil {
		c.bad = true
		if len(c.out) < MaxProblems {
			c.out = append(c.out, *p)
		}
	}
}

func (c *checker) run() {
	s := c.s
	if s.n > 0 {
		c.spans = make([]span, 0, s.n)
	}
	var last FDE
	it := s.Functions()
	for it.Next() {
		d := &it.FDE
		c.function(d, &last)
		last = *d
		c.functionRows(&it)
	}
	if p := it.Problem(); p != nil {
		c.out = append(c.out[:min(len(c.out), MaxProblems-1)], *p) // the one that matters most
		c.bad = true
	}
	if c.bad || s.n < int(min(uint64(s.Header.NumFDEs), 1<<31)) {
		return
	}
	if c.rows != uint64(s.Header.NumFREs) {
		c.add(-1, -1, 12, BadRowCount, "the functions have %d rows, the header says %d", c.rows, s.Header.NumFREs)
	}
	c.layout()
}

// function looks at the fields of an entry, and at its place in the table.
func (c *checker) function(d, last *FDE) {
	h := &c.s.Header
	if d.Index > 0 && h.Flags&Sorted != 0 {
		switch {
		case d.Start < last.Start:
			c.add(d.Index, -1, d.Offset, FDEOrder, "starts at 0x%x, before the function in front of it (0x%x) in a sorted table",
				d.Start, last.Start)
		case d.Start < last.End() && last.End() > last.Start:
			c.add(d.Index, -1, d.Offset, FDEOverlap, "starts at 0x%x, inside the function in front of it (0x%x to 0x%x)",
				d.Start, last.Start, last.End())
		}
	}
	sizeAt := d.Offset + 4
	if h.Version == v3 {
		sizeAt = d.Offset + 8
	}
	switch {
	case d.Size == 0:
		c.add(d.Index, -1, sizeAt, FDESize, "size 0")
	case d.End() < d.Start:
		c.add(d.Index, -1, sizeAt, FDESize, "size 0x%x goes beyond the address space", d.Size)
	}
	if d.Padding != 0 {
		c.add(d.Index, -1, d.Offset+18, FDEReserved, "padding is 0x%04x", d.Padding)
	}
	if h.Version == v3 && d.Attr < 0 {
		return // told with the rows
	}
	reserved := uint8(0xc0)
	if h.Version == v3 {
		reserved = 0x40
	}
	if bits := d.Info & reserved; bits != 0 {
		c.add(d.Index, -1, d.infoAt(), FDEReserved, "bits 0x%02x of the info byte are not defined", bits)
	}
	if bits := d.Info2 &^ info2Type; bits != 0 {
		c.add(d.Index, -1, d.Attr+3, FDEReserved, "bits 0x%02x of the second info byte are not defined", bits)
	}
	if d.Type() > typeFlex {
		c.add(d.Index, -1, d.Attr+3, FDEType, "type %d is not defined", d.Type())
	}
	if d.BKey() && h.ABI.Known() && !h.ABI.aarch64() {
		c.add(d.Index, -1, d.infoAt(), FDEReserved, "a key for signed return addresses on %s", h.ABI)
	}
	if d.Mask() && d.Repeat() == 0 {
		c.add(d.Index, -1, d.infoAt(), RepeatSize, "a repeated block of size 0")
	}
}

// functionRows looks at the rows of a function.
func (c *checker) functionRows(it *Functions) {
	d := &it.FDE
	from := d.RowsAt()
	if d.Attr >= 0 {
		from = d.Attr
	}
	end := d.RowsAt()
	last := -1
	for it.NextRow() {
		r := it.Row()
		c.row(r, last)
		last = int(r.Start)
		end = r.Offset + r.Len()
		c.rows++
	}
	c.addProblem(it.RowProblem())
	if from >= 0 && end > from {
		c.spans = append(c.spans, span{from, end, d.Index})
	}
}

func (c *checker) row(r *Row, last int) {
	d := &r.FDE
	add := func(at int, k Kind, format string, args ...any) { c.add(d.Index, r.Index, at, k, format, args...) }
	switch {
	case last < 0 && r.Start != 0:
		add(r.Offset, RowFirst, "the first row starts at 0x%x, not at the function's start", r.Start)
	case int64(r.Start) <= int64(last):
		add(r.Offset, RowOrder, "starts at 0x%x, the row in front of it at 0x%x", r.Start, last)
	}
	if size := d.blockSize(); r.Start >= size && size > 0 {
		add(r.Offset, RowRange, "starts at 0x%x, the function has 0x%x bytes", r.Start, size)
	}
	abi := c.s.Header.ABI
	if r.RASigned && abi.Known() && !abi.aarch64() {
		add(r.InfoAt(), RowReserved, "a signed return address on %s", abi)
	}
	if r.Outermost {
		if bits := r.Info; bits != 0 && c.s.Header.Version >= 2 {
			add(r.InfoAt(), RowReserved, "no words, but the info byte is 0x%02x", bits)
		}
		return
	}
	switch r.Fault {
	case RowWords:
		add(r.InfoAt(), RowWords, "%d words have no meaning here", r.N)
		return
	case RowRule:
		add(r.WordsAt(), RowRule, "the CFA does not count from a register")
		return
	}
	if !d.Flex() {
		return
	}
	for i, next := 0, 0; i < 3 && next < r.N; i++ {
		at, control := r.WordsAt()+next*r.WordSize, r.ControlWord(next)
		if next++; control == 0 {
			continue
		}
		next++
		if control&controlRest != 0 {
			add(at, RowReserved, "bit 2 of the control word 0x%x is not defined", control)
		}
		if reg := control >> controlShift; control&controlReg != 0 && abi.Known() && reg >= abi.Registers() {
			add(at, RowRule, "register %d does not exist on %s", reg, abi)
		}
	}
}

// layout looks at how the functions' rows fill their sub-section.
func (c *checker) layout() {
	s := c.s
	sort.Slice(c.spans, func(i, j int) bool { return c.spans[i].from < c.spans[j].from })
	at := s.rowsAt
	for _, p := range c.spans {
		switch {
		case p.from < at:
			c.add(p.fde, -1, p.from, RowsShared, "its rows overlap those of another function")
		case p.from > at:
			c.add(p.fde, -1, at, BadRowLength, "%d bytes in front of its rows belong to no function", p.from-at)
		}
		at = max(at, p.to)
	}
	if at != s.end {
		c.add(-1, -1, 16, BadRowLength, "the rows end at 0x%x, the header says at 0x%x", at, s.end)
	}
}
