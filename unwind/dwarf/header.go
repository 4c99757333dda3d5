package dwarf

import "sort"

// Header is the search table .eh_frame_hdr (LSB Core, "The .eh_frame_hdr section"). Unwinders in a process search it;
// here it is only held against the FDEs.
type Header struct {
	Addr           uint64
	Version        int
	FramesEncoding byte // of Frames
	CountEncoding  byte
	TableEncoding  byte
	Frames         uint64 // address of .eh_frame
	Count          uint64 // entries it claims
	Entries        int    // entries that are there
	Sorted         bool
	// Good is the number of entries that lead to the FDE of their address. Missing is the number of FDEs of .eh_frame,
	// empty ones left out, that no entry leads to.
	Good, Missing int
}

// headOf reads the fixed part; the cursor is then at the table. Where the beginning cannot be read FramesEncoding is
// 0xff.
func (f *File) headOf(s *Section) (*Header, cursor) {
	h := &Header{Addr: s.Addr, FramesEncoding: peOmit, CountEncoding: peOmit, TableEncoding: peOmit, Sorted: true}
	c := cursor{data: s.Data, big: f.layout.BigEndian}
	h.Version = int(c.u8())
	frames, count, table := c.u8(), c.u8(), c.u8()
	if c.short {
		f.problem(s.Name, 0, BadHeader, "%d bytes are too few for a header", len(s.Data))
		return h, c
	}
	if h.Version != 1 {
		f.problem(s.Name, 0, BadHeader, "version %d is not known", h.Version)
		return h, c
	}
	b := bases{s.Addr, f.layout.TextBase, s.Addr, 0, f.layout.Word}
	read := func(enc byte, what string) (uint64, bool) {
		at := c.pos
		p, reason := c.pointer(enc, &b)
		switch {
		case reason != "":
			f.problem(s.Name, uint64(at), BadHeader, "%s: %s (encoding 0x%02x)", what, reason, enc)
			return 0, false
		case c.short:
			f.problem(s.Name, uint64(at), BadHeader, "%s is cut off", what)
			return 0, false
		case p.indirect:
			v, ok := f.load(p.value)
			if !ok {
				f.problem(s.Name, uint64(at), BadHeader, "%s is stored at 0x%x, which is not available", what, p.value)
			}
			return v, ok
		}
		return p.value, true
	}
	var ok bool
	if h.Frames, ok = read(frames, "pointer to .eh_frame"); !ok {
		return h, c
	}
	h.FramesEncoding = frames
	if count == peOmit || table == peOmit { // no table
		return h, c
	}
	if h.Count, ok = read(count, "number of entries"); !ok {
		return h, c
	}
	h.CountEncoding, h.TableEncoding = count, table
	return h, c
}

// entrySize returns the size of one of the two pointers of a table entry, 0 if the table cannot be searched.
func (h *Header) entrySize(word int) uint64 {
	if h.TableEncoding == peOmit || h.TableEncoding&peIndirect != 0 || h.TableEncoding&0x70 >= peFuncRel {
		return 0
	}
	switch h.TableEncoding & 0x0f {
	case peAbsptr, peSigned:
		return uint64(word)
	case peUdata2, peSdata2:
		return 2
	case peUdata4, peSdata4:
		return 4
	case peUdata8, peSdata8:
		return 8
	}
	return 0
}

// lastInTable returns the highest address of an FDE in the table. All FDEs are in it, so that .eh_frame ends there even
// if its linker put no terminator. It is 0 if there is no table.
func (f *File) lastInTable(s *Section) uint64 {
	known, count := len(f.problems), f.problemCount
	h, c := f.headOf(s)
	f.problems, f.problemCount = f.problems[:known], count // readHeader tells them
	size := h.entrySize(f.layout.Word)
	if size == 0 || h.Count == 0 || uint64(c.left())/(2*size) < h.Count {
		return 0
	}
	b := bases{s.Addr, f.layout.TextBase, s.Addr, 0, f.layout.Word}
	var last uint64
	for range h.Count {
		c.pointer(h.TableEncoding, &b)
		p, _ := c.pointer(h.TableEncoding, &b)
		last = max(last, p.value)
	}
	return last
}

// readHeader holds the search table against the FDEs read from .eh_frame, which are sorted.
func (f *File) readHeader(s *Section) {
	known := f.problemCount
	h, c := f.headOf(s)
	f.header = h
	if f.problemCount > known || h.FramesEncoding == peOmit {
		return
	}
	var frames *Section
	for _, t := range f.sections {
		if !t.Debug && t.Addr == h.Frames {
			frames = t
		}
	}
	if frames == nil && len(f.sections) > 0 {
		f.problem(s.Name, 4, BadHeader, "no .eh_frame is at 0x%x", h.Frames)
		return
	}
	if h.TableEncoding == peOmit || frames == nil {
		return
	}
	size := h.entrySize(f.layout.Word)
	if size == 0 {
		f.problem(s.Name, 3, BadHeader, "table of encoding 0x%02x cannot be searched", h.TableEncoding)
		return
	}
	there := uint64(c.left()) / (2 * size)
	h.Entries = int(min(h.Count, there))
	if h.Count > there {
		f.problem(s.Name, uint64(c.pos), BadHeader, "table of %d entries is cut off after %d", h.Count, there)
	}

	b := bases{s.Addr, f.layout.TextBase, s.Addr, 0, f.layout.Word}
	met := make([]bool, len(f.fdes))
	next := 0 // FDE after the one of the last entry
	var last uint64
	for i := range h.Entries {
		at := uint64(c.pos)
		start, _ := c.pointer(h.TableEncoding, &b)
		addr, _ := c.pointer(h.TableEncoding, &b)
		if start.value < last && i > 0 {
			if h.Sorted {
				f.problem(s.Name, at, BadHeader, "entry %d: 0x%x comes after 0x%x: not sorted", i, start.value, last)
			}
			h.Sorted = false
		}
		last = start.value
		if next >= len(f.fdes) || f.fdes[next].Start != start.value || f.fdes[next].address() != addr.value {
			next = sort.Search(len(f.fdes), func(k int) bool { return f.fdes[k].Start >= start.value })
			for k := next; k < len(f.fdes) && k < next+64 && f.fdes[k].Start == start.value; k++ {
				if f.fdes[k].address() == addr.value {
					next = k
					break
				}
			}
		}
		if next >= len(f.fdes) || f.fdes[next].Start != start.value || f.fdes[next].address() != addr.value {
			f.problem(s.Name, at, BadHeader, "entry %d: no FDE of 0x%x is at 0x%x", i, start.value, addr.value)
			continue
		}
		h.Good++
		met[next] = true
		next++
	}
	if uint64(h.Entries) < h.Count {
		return
	}
	for i, ok := range met {
		if d := &f.fdes[i]; !ok && d.Start < d.End && d.CIE.Section == frames {
			if h.Missing++; h.Missing == 1 {
				f.problem(s.Name, uint64(c.pos), BadHeader, "no entry leads to the FDE of 0x%x-0x%x at 0x%x",
					d.Start, d.End, d.Offset)
			}
		}
	}
}

// address is where the FDE itself is.
func (d *FDE) address() uint64 { return mask(d.CIE.Section.Addr+d.Offset, d.CIE.file.layout.Word) }
