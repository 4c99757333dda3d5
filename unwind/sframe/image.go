package sframe

import (
	"debug/elf"
	"errors"
	"fmt"
)

// Memory is a process's memory.
type Memory interface {
	// Bytes returns exactly n bytes at an address, or false. They must not change afterwards.
	Bytes(addr uint64, n int) ([]byte, bool)
}

// maxImageSection bounds how much of a section in memory is read.
const maxImageSection = 256 << 20

// OpenImage reads the SFrame section of an ELF image that is loaded at base: the vDSO, or a module whose memory is in
// a core. Loaded images have no section headers; PT_GNU_SFRAME leads to the section. Addresses are those of the
// process. It fails if there is no ELF image; one without SFrame has no Sections.
func OpenImage(mem Memory, base uint64) (*File, error) {
	ident, ok := mem.Bytes(base, elf.EI_NIDENT)
	if !ok || string(ident[:4]) != elf.ELFMAG {
		return nil, errors.New("sframe: no ELF image")
	}
	size := 52
	if elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS64 {
		size = 64
	}
	head, ok := mem.Bytes(base, size)
	if !ok {
		return nil, errors.New("sframe: ELF header is not in memory")
	}
	f := &File{}
	h, err := f.parseHeader(head)
	if err != nil {
		return nil, err
	}
	if h.phnum > 0 && (h.phentsize != f.segmentSize() || h.phnum == 0xffff) {
		return nil, errors.New("sframe: program headers of the image cannot be read")
	}
	b, ok := mem.Bytes(f.mask(base+h.phoff), h.phnum*f.segmentSize())
	if !ok {
		return nil, fmt.Errorf("sframe: %d program headers are not in memory", h.phnum)
	}
	f.parseSegments(b)
	if len(f.loads) == 0 {
		return nil, errors.New("sframe: image has no loaded segments")
	}
	bias := f.mask(base - f.base)
	f.base = base
	if len(f.Segments) > 0 {
		p := &f.Segments[0]
		s := &Section{Name: SectionName, Addr: f.mask(p.Vaddr + bias), Segment: p, file: f}
		s.Data = readImage(mem, s.Addr, min(p.MemSize, maxImageSection))
		s.Err = s.parse()
		f.Sections = []*Section{s}
	}
	return f, nil
}

func (f *File) mask(addr uint64) uint64 {
	if f.Word == 4 {
		return uint64(uint32(addr))
	}
	return addr
}

// readImage returns what is in memory of a segment: linkers make the segment larger than the section, so first what the
// section's header tells is tried, and then, where a core holds some pages only, one after the other.
func readImage(mem Memory, addr, size uint64) []byte {
	if b, ok := mem.Bytes(addr, int(size)); ok {
		return b
	}
	if b, ok := mem.Bytes(addr, int(min(size, headerSize))); ok {
		if s, err := Parse(b, Options{}); err == nil && uint64(s.end) <= size {
			if b, ok = mem.Bytes(addr, s.end); ok {
				return b
			}
		}
	}
	var out []byte
	for size > 0 {
		n := min(4096-addr&4095, size)
		b, ok := mem.Bytes(addr, int(n))
		if !ok {
			break
		}
		out = append(out, b...)
		addr += n
		size -= n
	}
	return out
}
