package sframe

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
)

// maxInflated bounds what a file's compressed sections may unpack to, all together.
const maxInflated = 64 << 20

// File is the SFrame information of an ELF file. It does not change after it was made.
type File struct {
	Machine   elf.Machine
	Type      elf.Type
	Word      int // bytes of an address: 4 or 8
	BigEndian bool
	// Sections are those of type SHT_GNU_SFRAME or named .sframe, in the file's order. Where section headers tell of
	// none, the one that PT_GNU_SFRAME points to. Sections with Err set have no functions.
	Sections []*Section
	Segments []Segment // PT_GNU_SFRAME

	data     []byte
	base     uint64
	loads    []Segment // PT_LOAD
	headers  []sectionHeader
	placed   []Placed
	byIndex  []uint64 // placed addresses by section index, for object files
	problems []Problem

	relocated int // bytes of relocations read
}

// Segment is a program header.
type Segment struct {
	Index                                   int
	Flags                                   elf.ProgFlag
	Offset, Vaddr, FileSize, MemSize, Align uint64
}

// ELFSection is what the section header of an SFrame section says.
type ELFSection struct {
	Index                          int
	Type                           elf.SectionType
	Flags                          elf.SectionFlag
	Addr                           uint64
	Offset, Size, Align, EntrySize uint64
	Link, Info                     uint32
	Compressed                     bool // Section.Data is the content unpacked
	Truncated                      bool // the file ends before the section does: Section.Data is what is there
	// Relocations are those of the section, by Offset, R_*_NONE left out. In object files they have been applied; in
	// others (ld --emit-relocs) they are for information only, and do not fit a sorted table.
	Relocations []Reloc
}

// reloc returns the first relocation at an offset.
func (e *ELFSection) reloc(at int) (Reloc, bool) {
	r := e.Relocations
	i := sort.Search(len(r), func(i int) bool { return r[i].Offset >= uint64(at) })
	if i < len(r) && r[i].Offset == uint64(at) {
		return r[i], true
	}
	return Reloc{}, false
}

type sectionHeader struct {
	name                      string
	nameAt                    uint32
	typ                       elf.SectionType
	flags                     elf.SectionFlag
	addr, offset, size, align uint64
	entry                     uint64
	link, info                uint32
}

// Open reads the SFrame sections of an ELF file. The file's bytes are used as long as the File is; addresses are
// those the file was linked for. It fails only for input that is no ELF file; one without SFrame has no Sections, and
// everything else that is wrong is in Problems or in Section.Err.
func Open(data []byte) (*File, error) {
	f := &File{data: data}
	h, err := f.parseHeader(data)
	if err != nil {
		return nil, err
	}
	if err := f.readSegments(h); err != nil {
		f.problem(clamp(h.phoff), BadELF, "%s", err)
	}
	if err := f.readSections(h); err != nil {
		f.problem(clamp(h.shoff), BadELF, "%s", err)
	}
	if f.Type == elf.ET_REL {
		f.place(h)
	}
	inflated := 0
	for i := range f.headers {
		if sh := &f.headers[i]; (sh.typ == SectionType || sh.name == SectionName) && sh.typ != elf.SHT_NULL {
			if len(f.Sections) == 64 {
				f.problem(clamp(h.shoff), BadELF, "more than %d sections with SFrame: the rest is left out", len(f.Sections))
				break
			}
			f.Sections = append(f.Sections, f.openSection(i, &inflated))
		}
	}
	if len(f.Sections) == 0 && len(f.Segments) > 0 {
		p := &f.Segments[0]
		s := &Section{Name: SectionName, Addr: p.Vaddr, Segment: p, file: f}
		s.Data = f.view(p.Offset, p.FileSize)
		s.Err = s.parse()
		f.Sections = append(f.Sections, s)
	}
	return f, nil
}

// openSection reads one section by its header.
func (f *File) openSection(i int, inflated *int) *Section {
	sh := &f.headers[i]
	e := &ELFSection{
		Index: i, Type: sh.typ, Flags: sh.flags, Addr: sh.addr, Offset: sh.offset, Size: sh.size, Align: sh.align,
		EntrySize: sh.entry, Link: sh.link, Info: sh.info, Compressed: sh.flags&elf.SHF_COMPRESSED != 0,
	}
	s := &Section{Name: sh.name, Addr: sh.addr, ELF: e, file: f}
	if f.Type == elf.ET_REL {
		s.Addr = f.placedAddr(i)
	}
	if sh.typ == elf.SHT_NOBITS {
		s.Err = s.fatal(0, BadELF, "the section has no content in the file")
		return s
	}
	s.Data = f.view(sh.offset, sh.size)
	e.Truncated = uint64(len(s.Data)) < sh.size
	if e.Compressed {
		content, err := f.inflate(i, s.Data, maxInflated-*inflated)
		if err != nil {
			s.Data, s.Err = nil, s.fatal(0, BadCompression, "%s", err)
			return s
		}
		s.Data = content
		*inflated += len(content)
	}
	if s.Err = s.parse(); s.Err != nil {
		return s
	}
	f.readRelocations(s)
	if h := &s.Header; h.ABI.Known() && h.ABI.Machine() != f.Machine {
		s.problem(4, BadABI, "ABI %s in a file for %s", h.ABI, f.Machine)
	}
	if s.BigEndian != f.BigEndian {
		s.problem(0, BadByteOrder, "the section's byte order is not the file's")
	}
	return s
}

// Find returns the function an address is in. It does not allocate.
func (f *File) Find(pc uint64) (FDE, bool) {
	for _, s := range f.Sections {
		if d, ok := s.Find(pc); ok {
			return d, true
		}
	}
	return FDE{}, false
}

// Base is the page-aligned address of the lowest loaded segment; for images, where the image is.
func (f *File) Base() uint64 { return f.base }

// Problems are those of the ELF headers. Sections have their own.
func (f *File) Problems() []Problem { return f.problems }

func (f *File) problem(at int, k Kind, format string, args ...any) {
	if len(f.problems) < MaxProblems {
		f.problems = append(f.problems, Problem{Offset: at, Kind: k, FDE: -1, Row: -1, Text: fmt.Sprintf(format, args...)})
	}
}

// view returns a part of the file, cut where the file ends.
func (f *File) view(offset, size uint64) []byte {
	n := uint64(len(f.data))
	if offset > n {
		return nil
	}
	end := offset + min(size, n-offset)
	return f.data[offset:end:end]
}

// whole returns a part of the file, all of it or nothing.
func (f *File) whole(offset, size uint64) ([]byte, bool) {
	b := f.view(offset, size)
	return b, uint64(len(b)) == size
}

// reader decodes fields one after another from bytes that are known to be long enough.
type reader struct {
	b    []byte
	big  bool
	word int
}

func (r *reader) u16() uint16 { v := u16(r.b, r.big); r.b = r.b[2:]; return v }
func (r *reader) u32() uint32 { v := u32(r.b, r.big); r.b = r.b[4:]; return v }
func (r *reader) u64() uint64 { v := u64(r.b, r.big); r.b = r.b[8:]; return v }

// addr reads a field of the ELF class's word size.
func (r *reader) addr() uint64 {
	if r.word == 4 {
		return uint64(r.u32())
	}
	return r.u64()
}

func (f *File) reader(b []byte) reader { return reader{b, f.BigEndian, f.Word} }

// elfHeader is what is needed of the file header.
type elfHeader struct {
	phoff, shoff                        uint64
	phentsize, phnum, shentsize, shstrx int
	shnum                               uint64
}

func (f *File) parseHeader(data []byte) (elfHeader, error) {
	var h elfHeader
	if len(data) < elf.EI_NIDENT || string(data[:4]) != elf.ELFMAG {
		return h, errors.New("sframe: not an ELF file")
	}
	size := 64
	switch c := elf.Class(data[elf.EI_CLASS]); c {
	case elf.ELFCLASS32:
		f.Word, size = 4, 52
	case elf.ELFCLASS64:
		f.Word = 8
	default:
		return h, fmt.Errorf("sframe: ELF class %d is not known", c)
	}
	switch o := elf.Data(data[elf.EI_DATA]); o {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		f.BigEndian = true
	default:
		return h, fmt.Errorf("sframe: ELF byte order %d is not known", o)
	}
	if len(data) < size {
		return h, fmt.Errorf("sframe: ELF header of %d bytes is cut off at %d", size, len(data))
	}
	r := f.reader(data[elf.EI_NIDENT:])
	f.Type, f.Machine = elf.Type(r.u16()), elf.Machine(r.u16())
	r.u32()
	r.addr() // entry
	h.phoff, h.shoff = r.addr(), r.addr()
	r.u32() // flags
	r.u16() // size of this header
	h.phentsize, h.phnum = int(r.u16()), int(r.u16())
	h.shentsize, h.shnum, h.shstrx = int(r.u16()), uint64(r.u16()), int(r.u16())
	return h, nil
}

func (f *File) segmentSize() int { return 8 + f.Word*6 }  // 32, 56
func (f *File) sectionSize() int { return 16 + f.Word*6 } // 40, 64

func (f *File) readSegments(h elfHeader) error {
	n := uint64(h.phnum)
	if n == 0xffff { // PN_XNUM: in section header 0
		if b, ok := f.whole(h.shoff, uint64(f.sectionSize())); ok {
			n = uint64(f.header(b).info)
		}
	}
	if n == 0 {
		return nil
	}
	if h.phentsize != f.segmentSize() {
		return fmt.Errorf("program headers of %d bytes are not those of the ELF class", h.phentsize)
	}
	b, ok := f.whole(h.phoff, n*uint64(f.segmentSize()))
	if !ok {
		return fmt.Errorf("%d program headers go beyond the file", n)
	}
	f.parseSegments(b)
	return nil
}

// parseSegments reads program headers.
func (f *File) parseSegments(b []byte) {
	low := uint64(math.MaxUint64)
	for i := 0; len(b) >= f.segmentSize(); i++ {
		r := f.reader(b)
		b = b[f.segmentSize():]
		p := Segment{Index: i}
		typ := elf.ProgType(r.u32())
		if f.Word == 8 {
			p.Flags = elf.ProgFlag(r.u32())
		}
		p.Offset, p.Vaddr = r.addr(), r.addr()
		r.addr()
		p.FileSize, p.MemSize = r.addr(), r.addr()
		if f.Word == 4 {
			p.Flags = elf.ProgFlag(r.u32())
		}
		p.Align = r.addr()
		switch typ {
		case elf.PT_LOAD:
			f.loads = append(f.loads, p)
			low = min(low, p.Vaddr)
		case ProgramType:
			f.Segments = append(f.Segments, p)
		}
	}
	if len(f.loads) > 0 {
		f.base = low &^ 0xfff
	}
}

func (f *File) header(b []byte) sectionHeader {
	r := f.reader(b)
	var s sectionHeader
	s.nameAt, s.typ = r.u32(), elf.SectionType(r.u32())
	s.flags = elf.SectionFlag(r.addr())
	s.addr, s.offset, s.size = r.addr(), r.addr(), r.addr()
	s.link, s.info = r.u32(), r.u32()
	s.align, s.entry = r.addr(), r.addr()
	return s
}

func (f *File) readSections(h elfHeader) error {
	if h.shoff == 0 {
		return nil
	}
	size := uint64(f.sectionSize())
	if h.shentsize != int(size) {
		return fmt.Errorf("section headers of %d bytes are not those of the ELF class", h.shentsize)
	}
	b, ok := f.whole(h.shoff, size)
	if !ok {
		return errors.New("section headers are beyond the file")
	}
	first := f.header(b)
	if h.shnum == 0 {
		h.shnum = first.size
	}
	if h.shstrx == int(elf.SHN_XINDEX) {
		h.shstrx = clamp(uint64(first.link))
	}
	if h.shnum > uint64(len(f.data))/size {
		return fmt.Errorf("%d section headers go beyond the file", h.shnum)
	}
	if b, ok = f.whole(h.shoff, h.shnum*size); !ok {
		return fmt.Errorf("%d section headers go beyond the file", h.shnum)
	}
	f.headers = make([]sectionHeader, h.shnum)
	for i := range f.headers {
		f.headers[i] = f.header(b[i*int(size):])
	}
	if h.shstrx >= len(f.headers) {
		return fmt.Errorf("names of sections are in section %d of %d", h.shstrx, len(f.headers))
	}
	s := &f.headers[h.shstrx]
	names, ok := f.whole(s.offset, s.size)
	if !ok || s.typ == elf.SHT_NOBITS {
		return errors.New("names of sections are beyond the file")
	}
	for i := range f.headers {
		s := &f.headers[i]
		if uint64(s.nameAt) >= uint64(len(names)) {
			continue
		}
		name := names[s.nameAt:]
		name = name[:min(len(name), 256)] // the ones looked for are short
		if end := bytes.IndexByte(name, 0); end >= 0 {
			s.name = string(name[:end])
		}
	}
	return nil
}

// inflate unpacks a compressed section to at most limit bytes.
func (f *File) inflate(index int, content []byte, limit int) ([]byte, error) {
	head := 12
	if f.Word == 8 {
		head = 24
	}
	if len(content) < head {
		return nil, errors.New("compression header is cut off")
	}
	r := f.reader(content)
	typ := elf.CompressionType(r.u32())
	if f.Word == 8 {
		r.u32()
	}
	size := r.addr()
	if size > uint64(max(limit, 0)) {
		return nil, fmt.Errorf("compressed section says it has %d bytes, %d are allowed", size, max(limit, 0))
	}
	var from io.Reader
	switch typ {
	case elf.COMPRESS_ZLIB:
		z, err := zlib.NewReader(bytes.NewReader(content[head:]))
		if err != nil {
			return nil, err
		}
		from = z
	case elf.COMPRESS_ZSTD: // the standard library has it behind debug/elf only
		std, err := elf.NewFile(bytes.NewReader(f.data))
		if err != nil || index >= len(std.Sections) {
			return nil, fmt.Errorf("zstd: %v", err)
		}
		from = std.Sections[index].Open()
	default:
		return nil, fmt.Errorf("compression %d is not known", typ)
	}
	out, err := io.ReadAll(io.LimitReader(from, int64(size)+1))
	if err != nil {
		return nil, err
	}
	if uint64(len(out)) != size {
		return nil, fmt.Errorf("compressed section does not have the %d bytes it says", size)
	}
	return out, nil
}
