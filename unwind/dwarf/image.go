package dwarf

import (
	"debug/elf"
	"errors"
	"fmt"
)

// maxImageFrames bounds how much of an .eh_frame in memory, whose length nothing tells, is read.
const maxImageFrames = 256 << 20

// OpenImage reads the call frame information of an ELF image that is loaded at base: the vDSO, or a module whose memory
// is in a core. Loaded images have no section headers; PT_GNU_EH_FRAME leads to .eh_frame. Addresses are those of the
// process. It fails if there is no ELF image; one without call frame information has no FDEs.
func OpenImage(mem Memory, base uint64) (*File, error) {
	ident, ok := mem.Bytes(base, elf.EI_NIDENT)
	if !ok || string(ident[:4]) != elf.ELFMAG {
		return nil, errNotELF
	}
	size := 52
	if elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS64 {
		size = 64
	}
	head, ok := mem.Bytes(base, size)
	if !ok {
		return nil, errors.New("dwarf: ELF header is not in memory")
	}
	e, err := parseHeader(head)
	if err != nil {
		return nil, err
	}
	if e.phnum < 0 || e.phnum == 0xffff {
		return nil, errors.New("dwarf: program headers of the image cannot be read")
	}
	b, ok := mem.Bytes(mask(base+e.phoff, e.word), e.phnum*e.segmentSize())
	if !ok {
		return nil, fmt.Errorf("dwarf: %d program headers are not in memory", e.phnum)
	}
	e.parseSegments(b)
	linked, ok := e.lowest()
	if !ok {
		return nil, errors.New("dwarf: image has no loaded segments")
	}
	bias := mask(base-linked, e.word)
	f := newFile(Layout{Machine: e.machine, Word: e.word, BigEndian: e.big, Base: base, Memory: mem})
	f.image = true
	if a, ok := e.pltGOT(mem, bias); ok {
		f.layout.DataBase = a
	}
	f.index(f.findByHeader(e, mem, bias))
	return f, nil
}

// findByHeader finds .eh_frame_hdr by its program header, and .eh_frame, unless it is known, by what stands there.
func (f *File) findByHeader(e *elfFile, mem Memory, bias uint64) *Section {
	for i := range e.segments {
		p := &e.segments[i]
		if p.typ != elf.PT_GNU_EH_FRAME || p.memSize == 0 {
			continue
		}
		hdr := &Section{Name: ".eh_frame_hdr", Addr: mask(p.vaddr+bias, e.word)}
		if p.memSize > maxImageFrames {
			f.problem(hdr.Name, 0, BadHeader, "size of %d bytes is not believed", p.memSize)
			return nil
		}
		var ok bool
		if hdr.Data, ok = mem.Bytes(hdr.Addr, int(p.memSize)); !ok {
			f.problem(hdr.Name, 0, BadHeader, "%d bytes at 0x%x are not available", p.memSize, hdr.Addr)
			// Its beginning says where .eh_frame is.
			if hdr.Data, ok = mem.Bytes(hdr.Addr, int(min(p.memSize, 12))); !ok {
				return nil
			}
		}
		for _, s := range f.sections {
			if !s.Debug {
				return hdr
			}
		}
		h, _ := f.headOf(hdr)
		if h.FramesEncoding == peOmit {
			return nil // headOf told why
		}
		data := e.rest(mem, h.Frames, bias)
		if data == nil {
			f.problem(hdr.Name, 4, BadHeader, ".eh_frame at 0x%x is not available", h.Frames)
			return hdr
		}
		f.image = true // its length is not known here either
		f.lastFDE = f.lastInTable(hdr)
		f.sections = append(f.sections, &Section{Name: ".eh_frame", Addr: h.Frames, Data: data})
		return hdr
	}
	return nil
}

// rest returns what is available from an address to the end of its segment.
func (e *elfFile) rest(mem Memory, addr, bias uint64) []byte {
	for i := range e.segments {
		p := &e.segments[i]
		start := mask(p.vaddr+bias, e.word)
		if p.typ != elf.PT_LOAD || addr < start || addr-start >= p.fileSize {
			continue
		}
		left := min(p.fileSize-(addr-start), maxImageFrames)
		if b, ok := mem.Bytes(addr, int(left)); ok {
			return b
		}
		// A core may hold some pages only.
		var out []byte
		for left > 0 {
			n := min(4096-addr&4095, left)
			b, ok := mem.Bytes(addr, int(n))
			if !ok {
				break
			}
			out = append(out, b...)
			addr += n
			left -= n
		}
		return out
	}
	return nil
}
