package corefile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"math"
	"slices"
)

// extent is a stretch of memory whose bytes are known.
type extent struct {
	addr uint64
	data []byte
}

func (e *extent) end() uint64 { return e.addr + uint64(len(e.data)) }

// loads takes the PT_LOADs into Segments, and what the file holds of them into memory.
func (c *Core) loads(phdrs []Phdr) {
	cutOff := 0
	for _, p := range phdrs {
		if p.Type != elf.PT_LOAD || p.Memsz == 0 && p.Filesz == 0 {
			continue
		}
		s := Segment{Addr: p.Vaddr, Size: max(p.Memsz, p.Filesz), Flags: p.Flags, offset: p.Off, declared: p.Filesz}
		if s.Size > math.MaxUint64-s.Addr {
			c.problem(p.Off, "segment at %#x: its size %#x reaches beyond the address space", s.Addr, s.Size)
			s.Size = math.MaxUint64 - s.Addr
		}
		s.Data = cut(c.data, p.Off, min(p.Filesz, s.Size))
		if uint64(len(s.Data)) < p.Filesz {
			cutOff++
			c.problem(p.Off, "segment at %#x: the file holds %#x of %#x bytes", s.Addr, len(s.Data), p.Filesz)
		}
		c.Segments = append(c.Segments, s)
	}
	if cutOff > 0 {
		c.problem(uint64(len(c.data)), "the core is truncated: %d of %d segments are cut off", cutOff, len(c.Segments))
	}
	slices.SortStableFunc(c.Segments, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	c.layOut()
}

// layOut builds memory from the sorted segments: without overlaps, and neighbours joined where they are neighbours in
// the file too, so that a read may cross from one to the next.
func (c *Core) layOut() {
	next := uint64(0) // file offset behind the last extent
	for i := range c.Segments {
		s := &c.Segments[i]
		addr, data, offset := s.Addr, s.Data, s.offset
		if len(data) == 0 {
			continue
		}
		last := len(c.memory) - 1
		if last >= 0 && addr < c.memory[last].end() {
			c.problem(s.offset, "segment at %#x overlaps the one before it", s.Addr)
			skip := c.memory[last].end() - addr
			if skip >= uint64(len(data)) {
				continue
			}
			addr, data, offset = addr+skip, data[skip:], offset+skip
		}
		if last >= 0 && addr == c.memory[last].end() && offset == next {
			start := next - uint64(len(c.memory[last].data))
			c.memory[last].data = cut(c.data, start, next-start+uint64(len(data)))
		} else {
			c.memory = append(c.memory, extent{addr, data})
		}
		next = offset + uint64(len(data))
	}
}

// find returns the bytes known from addr on.
func find(list []extent, addr uint64) []byte {
	lo, hi := 0, len(list)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if list[mid].addr <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil
	}
	e := &list[lo-1]
	if off := addr - e.addr; off < uint64(len(e.data)) {
		return e.data[off:]
	}
	return nil
}

// Memory returns n bytes of the process's memory, n at least 1, as a view that is not to be changed. It takes them
// from the core, or else from the binaries that were added; memory that neither holds is absent, not zero. It does not
// allocate and may be called concurrently, though not with AddBinary or Modules.
func (c *Core) Memory(addr uint64, n int) ([]byte, bool) {
	if n <= 0 {
		return nil, false
	}
	if b := find(c.memory, addr); len(b) >= n {
		return b[:n:n], true
	}
	if b := find(c.files, addr); len(b) >= n {
		return b[:n:n], true
	}
	return nil, false
}

// Readable returns all contiguous bytes from addr on, from the same sources as Memory; nil where there are none.
func (c *Core) Readable(addr uint64) []byte {
	b := find(c.memory, addr)
	if f := find(c.files, addr); len(f) > len(b) {
		b = f
	}
	return b[:len(b):len(b)]
}

// Pointer reads one word of memory.
func (c *Core) Pointer(addr uint64) (uint64, bool) {
	b, ok := c.Memory(addr, c.Word)
	if !ok {
		return 0, false
	}
	return c.word(b), true
}

// word decodes the word at the start of b, which must hold one.
func (c *Core) word(b []byte) uint64 {
	if c.Word == 8 {
		return c.Order.Uint64(b)
	}
	return uint64(c.Order.Uint32(b))
}

// maxString bounds strings read from memory: PATH_MAX.
const maxString = 4096

// CString reads a string of at most 4095 bytes; it fails where its end cannot be read.
func (c *Core) CString(addr uint64) (string, bool) {
	b := c.Readable(addr)
	b = b[:min(len(b), maxString)]
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", false
	}
	return string(b[:i]), true
}

// Segment returns the segment that holds an address, whether or not its bytes are there.
func (c *Core) Segment(addr uint64) (*Segment, bool) {
	i, found := slices.BinarySearchFunc(c.Segments, addr, func(s Segment, a uint64) int { return cmp.Compare(s.Addr, a) })
	if !found {
		i--
	}
	if i < 0 || addr-c.Segments[i].Addr >= c.Segments[i].Size {
		return nil, false
	}
	return &c.Segments[i], true
}
