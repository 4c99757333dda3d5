package dwarf

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxInflated bounds what compressed sections may unpack to, all together.
const maxInflated = 256 << 20

// elfFile is what is read of an ELF file or image. Positions are offsets in the file, or in the image.
type elfFile struct {
	data     []byte // nil for an image
	machine  elf.Machine
	typ      elf.Type
	word     int
	big      bool
	phoff    uint64
	phnum    int
	shoff    uint64
	shnum    int
	shstrndx int
	segments []segment
	sections []section
}

type segment struct {
	typ                                     elf.ProgType
	flags                                   elf.ProgFlag
	offset, vaddr, fileSize, memSize, align uint64
}

type section struct {
	name                             string
	nameAt                           uint32
	typ                              elf.SectionType
	flags                            elf.SectionFlag
	addr, offset, size, align, entry uint64
	link, info                       uint32
}

// Open reads the call frame information of an ELF file. The file's bytes are used as long as the File is; addresses are
// those the file was linked for. It fails only for input that is no ELF file; one without call frame information has no
// FDEs, and everything else that is wrong is in Problems.
func Open(data []byte) (*File, error) {
	e, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	e.data = data
	f := newFile(Layout{Machine: e.machine, Word: e.word, BigEndian: e.big})
	f.relocatable = e.typ == elf.ET_REL
	if err := e.readSegments(); err != nil {
		f.problem("", e.phoff, BadELF, "%s", err)
	}
	if err := e.readSections(); err != nil {
		f.problem("", e.shoff, BadELF, "%s", err)
	}
	base, _ := e.lowest()
	f.layout.Base = base
	if e.typ == elf.ET_EXEC { // what others hold in their data is changed when they are loaded
		f.layout.Memory = e
	}
	if f.relocatable {
		f.place(e)
	}

	var hdr *Section
	plain, inflated := 0, 0
	noHeader := !f.relocatable // no section header tells of .eh_frame_hdr: it must be found as a process finds it
	for i := range e.sections {
		s := &e.sections[i]
		switch s.name {
		case ".eh_frame", ".debug_frame", ".zdebug_frame", ".eh_frame_hdr":
		case ".text":
			f.layout.TextBase = s.addr
			continue
		case ".got":
			if f.layout.DataBase == 0 {
				f.layout.DataBase = s.addr
			}
			continue
		case ".got.plt":
			f.layout.DataBase = s.addr
			continue
		default:
			continue
		}
		if s.name == ".eh_frame_hdr" {
			noHeader = false
		}
		if s.typ == elf.SHT_NOBITS || s.typ == elf.SHT_NULL || s.size == 0 {
			continue // a file of debug information alone
		}
		content, ok := e.bytes(s.offset, s.size)
		if !ok {
			f.problem(s.name, 0, BadLength, "section of %d bytes at 0x%x goes beyond the file", s.size, s.offset)
			if s.offset >= uint64(len(data)) {
				continue
			}
			content = data[s.offset:]
		}
		// Headers can give one part of the file to any number of sections.
		if plain += len(content); plain > len(data) {
			f.problem(s.name, 0, BadELF, "sections of call frame information overlap")
			break
		}
		if content, err = e.inflate(i, content, maxInflated-inflated); err != nil {
			f.problem(s.name, 0, BadCompression, "%s", err)
			continue
		}
		if s.flags&elf.SHF_COMPRESSED != 0 || s.name == ".zdebug_frame" {
			inflated += len(content)
		}
		read := &Section{Name: s.name, Addr: s.addr, Data: content, Debug: strings.HasSuffix(s.name, "debug_frame")}
		if f.relocatable {
			read.Data = f.relocate(e, i, read)
		}
		if s.name == ".eh_frame_hdr" {
			hdr = read
			continue
		}
		f.sections = append(f.sections, read)
	}
	if a, ok := e.pltGOT(e, 0); ok {
		f.layout.DataBase = a
	}
	f.zeroMapped = e.mapsZero()
	if noHeader {
		hdr = f.findByHeader(e, e, 0)
	}
	f.index(hdr)
	return f, nil
}

var errNotELF = errors.New("dwarf: not an ELF file")

// parseHeader reads the file header.
func parseHeader(data []byte) (*elfFile, error) {
	if len(data) < elf.EI_NIDENT || string(data[:4]) != elf.ELFMAG {
		return nil, errNotELF
	}
	e := &elfFile{}
	switch elf.Class(data[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
		e.word = 4
	case elf.ELFCLASS64:
		e.word = 8
	default:
		return nil, fmt.Errorf("dwarf: ELF class %d is not known", data[elf.EI_CLASS])
	}
	switch elf.Data(data[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		e.big = true
	default:
		return nil, fmt.Errorf("dwarf: ELF byte order %d is not known", data[elf.EI_DATA])
	}
	c := cursor{data: data, pos: elf.EI_NIDENT, big: e.big}
	e.typ, e.machine = elf.Type(c.u16()), elf.Machine(c.u16())
	c.u32()
	c.uint(e.word) // entry
	e.phoff, e.shoff = c.uint(e.word), c.uint(e.word)
	c.u32() // flags
	c.u16()
	phentsize := int(c.u16())
	e.phnum = int(c.u16())
	shentsize := int(c.u16())
	e.shnum, e.shstrndx = int(c.u16()), int(c.u16())
	if c.short {
		return nil, fmt.Errorf("dwarf: ELF header is cut off")
	}
	if e.phnum > 0 && phentsize != e.segmentSize() {
		e.phnum = -1
	}
	if e.shoff != 0 && shentsize != e.sectionSize() {
		e.shnum = -1
	}
	return e, nil
}

func (e *elfFile) segmentSize() int { return 8 + e.word*6 }  // 32, 56
func (e *elfFile) sectionSize() int { return 16 + e.word*6 } // 40, 64

// bytes returns a part of the file.
func (e *elfFile) bytes(offset, size uint64) ([]byte, bool) {
	if n := uint64(len(e.data)); offset > n || size > n-offset {
		return nil, false
	}
	return e.data[offset : offset+size : offset+size], true
}

func (e *elfFile) readSegments() error {
	n := e.phnum
	if n < 0 {
		return errors.New("size of a program header is not that of the ELF class")
	}
	if n == 0xffff { // PN_XNUM
		if b, ok := e.bytes(e.shoff, uint64(e.sectionSize())); ok {
			n = int(e.section(b).info)
		}
	}
	if n == 0 {
		return nil
	}
	size := uint64(n) * uint64(e.segmentSize())
	b, ok := e.bytes(e.phoff, size)
	if !ok {
		return fmt.Errorf("%d program headers go beyond the file", n)
	}
	e.parseSegments(b)
	return nil
}

func (e *elfFile) parseSegments(b []byte) {
	e.segments = make([]segment, 0, len(b)/e.segmentSize())
	for c := (cursor{data: b, big: e.big}); c.left() >= e.segmentSize(); {
		var p segment
		p.typ = elf.ProgType(c.u32())
		if e.word == 8 {
			p.flags = elf.ProgFlag(c.u32())
		}
		p.offset, p.vaddr = c.uint(e.word), c.uint(e.word)
		c.uint(e.word)
		p.fileSize, p.memSize = c.uint(e.word), c.uint(e.word)
		if e.word == 4 {
			p.flags = elf.ProgFlag(c.u32())
		}
		p.align = c.uint(e.word)
		e.segments = append(e.segments, p)
	}
}

func (e *elfFile) section(b []byte) section {
	c := cursor{data: b, big: e.big}
	var s section
	s.nameAt, s.typ = c.u32(), elf.SectionType(c.u32())
	s.flags = elf.SectionFlag(c.uint(e.word))
	s.addr, s.offset, s.size = c.uint(e.word), c.uint(e.word), c.uint(e.word)
	s.link, s.info = c.u32(), c.u32()
	s.align, s.entry = c.uint(e.word), c.uint(e.word)
	return s
}

func (e *elfFile) readSections() error {
	if e.shoff == 0 {
		return nil
	}
	n, size := e.shnum, uint64(e.sectionSize())
	if n < 0 {
		return errors.New("size of a section header is not that of the ELF class")
	}
	b, ok := e.bytes(e.shoff, size)
	if !ok {
		return errors.New("section headers are beyond the file")
	}
	first := e.section(b)
	if n == 0 {
		if first.size > uint64(len(e.data)) {
			return fmt.Errorf("%d section headers go beyond the file", first.size)
		}
		n = int(first.size)
	}
	if e.shstrndx == 0xffff { // SHN_XINDEX
		e.shstrndx = int(first.link)
	}
	if b, ok = e.bytes(e.shoff, uint64(n)*size); !ok {
		return fmt.Errorf("%d section headers go beyond the file", n)
	}
	e.sections = make([]section, n)
	for i := range e.sections {
		e.sections[i] = e.section(b[i*int(size):])
	}
	if e.shstrndx >= n {
		return nil // no names, so nothing to be found by name
	}
	s := &e.sections[e.shstrndx]
	names, ok := e.bytes(s.offset, s.size)
	if !ok || s.typ == elf.SHT_NOBITS {
		return errors.New("names of sections are beyond the file")
	}
	for i := range e.sections {
		s := &e.sections[i]
		if uint64(s.nameAt) < uint64(len(names)) {
			// The names looked for are short; so nothing longer is kept.
			name := names[s.nameAt:]
			name = name[:min(len(name), 256)]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				s.name = string(name[:end])
			}
		}
	}
	return nil
}

// lowest returns the page-aligned address of the lowest loaded segment.
func (e *elfFile) lowest() (uint64, bool) {
	low, found := ^uint64(0), false
	for i := range e.segments {
		if p := &e.segments[i]; p.typ == elf.PT_LOAD {
			low, found = min(low, p.vaddr), true
		}
	}
	if !found {
		return 0, false
	}
	return low &^ 0xfff, true
}

// mapsZero reports whether something executable lies at address 0.
func (e *elfFile) mapsZero() bool {
	for i := range e.sections {
		s := &e.sections[i]
		if s.flags&elf.SHF_EXECINSTR != 0 && s.addr == 0 && s.size > 0 {
			return true
		}
	}
	return false
}

// Bytes implements Memory for the loaded segments of a file.
func (e *elfFile) Bytes(addr uint64, n int) ([]byte, bool) {
	for i := range e.segments {
		p := &e.segments[i]
		if p.typ != elf.PT_LOAD || addr < p.vaddr {
			continue
		}
		if at := addr - p.vaddr; n >= 0 && at <= p.fileSize && uint64(n) <= p.fileSize-at {
			return e.bytes(p.offset+at, uint64(n))
		}
	}
	return nil, false
}

// pltGOT returns the address of the global offset table from the dynamic section (DT_PLTGOT), which is what libgcc
// takes as the base of datarel pointers.
func (e *elfFile) pltGOT(mem Memory, bias uint64) (uint64, bool) {
	for i := range e.segments {
		p := &e.segments[i]
		if p.typ != elf.PT_DYNAMIC {
			continue
		}
		for at := uint64(0); at+uint64(2*e.word) <= min(p.memSize, 1<<16); at += uint64(2 * e.word) {
			b, ok := mem.Bytes(mask(p.vaddr+bias+at, e.word), 2*e.word)
			if !ok {
				return 0, false
			}
			c := cursor{data: b, big: e.big}
			switch tag, value := c.uint(e.word), c.uint(e.word); elf.DynTag(tag) {
			case elf.DT_NULL:
				return 0, false
			case elf.DT_PLTGOT:
				if value < bias { // loaders relocate it on most systems, the kernel does not for the vDSO
					value += bias
				}
				return value, true
			}
		}
	}
	return 0, false
}

// inflate unpacks a section if it is compressed, to at most limit bytes.
func (e *elfFile) inflate(index int, content []byte, limit int) ([]byte, error) {
	s := &e.sections[index]
	var r io.Reader
	var size uint64
	switch {
	case s.flags&elf.SHF_COMPRESSED != 0:
		c := cursor{data: content, big: e.big}
		typ := elf.CompressionType(c.u32())
		if e.word == 8 {
			c.u32()
		}
		size = c.uint(e.word)
		c.uint(e.word)
		if c.short {
			return nil, errors.New("compression header is cut off")
		}
		switch typ {
		case elf.COMPRESS_ZLIB:
			z, err := zlib.NewReader(bytes.NewReader(content[c.pos:]))
			if err != nil {
				return nil, err
			}
			r = z
		case elf.COMPRESS_ZSTD: // only debug/elf has it in the standard library
			std, err := elf.NewFile(bytes.NewReader(e.data))
			if err != nil || index >= len(std.Sections) {
				return nil, fmt.Errorf("zstd: %v", err)
			}
			r = std.Sections[index].Open()
		default:
			return nil, fmt.Errorf("compression %d is not known", typ)
		}
	case s.name == ".zdebug_frame":
		if len(content) < 12 || string(content[:4]) != "ZLIB" {
			return nil, errors.New("no ZLIB header")
		}
		c := cursor{data: content, pos: 4, big: true}
		size = c.u64()
		z, err := zlib.NewReader(bytes.NewReader(content[12:]))
		if err != nil {
			return nil, err
		}
		r = z
	default:
		return content, nil
	}
	if size > uint64(limit) {
		return nil, fmt.Errorf("unpacks to %d bytes, more than is read", size)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return nil, err
	}
	if uint64(len(out)) != size {
		return nil, fmt.Errorf("unpacks to %d bytes instead of %d", len(out), size)
	}
	return out, nil
}
