package rules

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	hexenc "encoding/hex"
	"slices"
	"sort"
	"strings"

	"github.com/symlint/symlint/unwind/sframe"
)

// elfFile is what the rules want to know of an ELF file besides its unwind tables. Everything is read as far as it is
// there: what is wrong with the headers themselves, package sframe tells.
type elfFile struct {
	data     []byte
	order    binary.ByteOrder
	word     uint64
	sections []elfSection
	loads    []elfLoad
	placed   map[int]sframe.Placed // of object files
	symbols  []elfSymbol           // functions, by address; nil until asked for
	strings  []byte
	sorted   bool
}

type elfSection struct {
	name                               string
	typ                                elf.SectionType
	flags                              elf.SectionFlag
	addr, offset, size, align, entsize uint64
	link, info                         uint32
}

type elfLoad struct {
	exec       bool
	addr, size uint64
}

// elfSymbol is a function.
type elfSymbol struct {
	addr, size uint64
	name       uint32 // in the string table
}

func (e *elfFile) view(offset, size uint64) []byte {
	n := uint64(len(e.data))
	if offset > n {
		return nil
	}
	return e.data[offset : offset+min(size, n-offset)]
}

// fieldReader reads fields of a file one after the other; zeros behind the end.
type fieldReader struct {
	e *elfFile
	b []byte
}

func (r *fieldReader) uint(n int) uint64 {
	if len(r.b) < n {
		r.b = nil
		return 0
	}
	b := r.b[:n]
	r.b = r.b[n:]
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(r.e.order.Uint16(b))
	case 4:
		return uint64(r.e.order.Uint32(b))
	}
	return r.e.order.Uint64(b)
}

func (r *fieldReader) addr() uint64 { return r.uint(int(r.e.word)) }

// readELF reads the headers of a file that package sframe has opened.
func readELF(data []byte, f *sframe.File) *elfFile {
	e := &elfFile{data: data, order: binary.LittleEndian, word: uint64(f.Word)}
	if f.BigEndian {
		e.order = binary.BigEndian
	}
	if p := f.Placed(); len(p) > 0 {
		e.placed = make(map[int]sframe.Placed, len(p))
		for _, x := range p {
			e.placed[x.Index] = x
		}
	}
	const ident = elf.EI_NIDENT
	r := fieldReader{e, e.view(ident+8, 64)}
	r.addr() // entry
	phoff, shoff := r.addr(), r.addr()
	r.uint(4)
	r.uint(2)
	phentsize, phnum := r.uint(2), r.uint(2)
	shentsize, shnum, shstrndx := r.uint(2), r.uint(2), r.uint(2)
	if want := 8 + 6*e.word; phentsize == want && phnum < 0xffff {
		e.readLoads(e.view(phoff, phnum*want))
	}
	if want := 16 + 6*e.word; shentsize == want && shoff != 0 {
		if shnum == 0 || shstrndx == uint64(elf.SHN_XINDEX) {
			first := e.section(e.view(shoff, want))
			if shnum == 0 {
				shnum = first.size
			}
			if shstrndx == uint64(elf.SHN_XINDEX) {
				shstrndx = uint64(first.link)
			}
		}
		e.readSections(e.view(shoff, min(shnum, uint64(len(data))/want)*want), shstrndx)
	}
	return e
}

func (e *elfFile) readLoads(b []byte) {
	for size := int(8 + 6*e.word); len(b) >= size; b = b[size:] {
		r := fieldReader{e, b}
		typ := elf.ProgType(r.uint(4))
		flags := uint64(0)
		if e.word == 8 {
			flags = r.uint(4)
		}
		r.addr()
		l := elfLoad{addr: r.addr()}
		r.addr()
		r.addr()
		l.size = r.addr()
		if e.word == 4 {
			flags = r.uint(4)
		}
		if l.exec = elf.ProgFlag(flags)&elf.PF_X != 0; typ == elf.PT_LOAD {
			e.loads = append(e.loads, l)
		}
	}
}

func (e *elfFile) section(b []byte) elfSection {
	r := fieldReader{e, b}
	r.uint(4)
	s := elfSection{typ: elf.SectionType(r.uint(4)), flags: elf.SectionFlag(r.addr())}
	s.addr, s.offset, s.size = r.addr(), r.addr(), r.addr()
	s.link, s.info = uint32(r.uint(4)), uint32(r.uint(4))
	s.align, s.entsize = r.addr(), r.addr()
	return s
}

func (e *elfFile) readSections(b []byte, names uint64) {
	size := int(16 + 6*e.word)
	for i := 0; len(b)-i*size >= size; i++ {
		e.sections = append(e.sections, e.section(b[i*size:]))
	}
	if names >= uint64(len(e.sections)) {
		return
	}
	table := e.view(e.sections[names].offset, e.sections[names].size)
	for i := range e.sections {
		r := fieldReader{e, b[i*size:]}
		e.sections[i].name = cString(table, uint32(r.uint(4)))
	}
}

// maxELFName bounds names of sections and symbols, in bytes.
const maxELFName = 1 << 12

func cString(table []byte, at uint32) string {
	if uint64(at) >= uint64(len(table)) {
		return ""
	}
	b := table[at:min(uint64(len(table)), uint64(at)+maxELFName)]
	n := slices.Index(b, 0)
	if n < 0 {
		n = len(b)
	}
	return strings.ToValidUTF8(string(b[:n]), "\ufffd")
}

// sectionAt returns the loaded section an address is in, and where it begins.
func (e *elfFile) sectionAt(addr uint64) (s *elfSection, start uint64) {
	for i := range e.sections {
		s := &e.sections[i]
		if s.flags&elf.SHF_ALLOC == 0 || s.flags&elf.SHF_TLS != 0 {
			continue
		}
		start := s.addr
		if e.placed != nil {
			start = e.placed[i].Addr
		}
		if addr-start < s.size {
			return s, start
		}
	}
	return nil, 0
}

// text returns the piece of code an address is in: a section, or where there are no section headers a segment. known is
// false if the file does not tell where its code is.
func (e *elfFile) text(addr uint64) (start, end uint64, exec, known bool) {
	if s, start := e.sectionAt(addr); s != nil {
		return start, start + s.size, s.flags&elf.SHF_EXECINSTR != 0, true
	}
	for _, l := range e.loads {
		if addr-l.addr < l.size {
			// Between sections there is padding, and no code.
			return l.addr, l.addr + l.size, l.exec && len(e.sections) == 0, true
		}
	}
	return 0, 0, false, len(e.sections) > 0 || len(e.loads) > 0
}

// functions returns the function symbols by address.
func (e *elfFile) functions() []elfSymbol {
	if e.sorted {
		return e.symbols
	}
	e.sorted = true
	for _, want := range [...]elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for i := range e.sections {
			if s := &e.sections[i]; s.typ == want && len(e.symbols) == 0 {
				e.readSymbols(s)
			}
		}
	}
	slices.SortFunc(e.symbols, func(a, b elfSymbol) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name))
	})
	return e.symbols
}

func (e *elfFile) readSymbols(s *elfSection) {
	b := e.view(s.offset, s.size)
	if int(s.link) < len(e.sections) {
		t := &e.sections[s.link]
		e.strings = e.view(t.offset, t.size)
	}
	size := int(8 + 2*e.word)
	e.symbols = make([]elfSymbol, 0, len(b)/size)
	for ; len(b) >= size; b = b[size:] {
		r := fieldReader{e, b}
		var v elfSymbol
		var info, index uint64
		v.name = uint32(r.uint(4))
		if e.word == 8 {
			info, _, index = r.uint(1), r.uint(1), r.uint(2)
			v.addr, v.size = r.uint(8), r.uint(8)
		} else {
			v.addr, v.size = r.uint(4), r.uint(4)
			info, _, index = r.uint(1), r.uint(1), r.uint(2)
		}
		if t := elf.ST_TYPE(uint8(info)); t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC {
			continue
		}
		if index == 0 || index >= uint64(len(e.sections)) {
			continue
		}
		if e.placed != nil {
			v.addr += e.placed[int(index)].Addr
		}
		e.symbols = append(e.symbols, v)
	}
}

// function returns the function symbol an address is in, or that begins there.
func (e *elfFile) function(addr uint64) (*elfSymbol, bool) {
	syms := e.functions()
	i := sort.Search(len(syms), func(i int) bool { return syms[i].addr > addr })
	for n := 0; i > 0 && n < 8; n++ { // a few, for those inside others
		if s := &syms[i-1]; addr == s.addr || addr-s.addr < s.size {
			for i > 1 && syms[i-2].addr == s.addr && syms[i-2].size >= s.size {
				i--
				s = &syms[i-1]
			}
			return s, true
		}
		i--
	}
	return nil, false
}

// functionAt returns the symbol of a function that begins at an address.
func (e *elfFile) functionAt(addr uint64) (*elfSymbol, bool) {
	s, ok := e.function(addr)
	return s, ok && s.addr == addr
}

func (e *elfFile) nameOf(s *elfSymbol) string { return cString(e.strings, s.name) }

// name returns the name of the function an address is in, "" if there is no symbol.
func (e *elfFile) name(addr uint64) string {
	if s, ok := e.function(addr); ok {
		return e.nameOf(s)
	}
	return ""
}

// code returns the bytes at an address of a section of code, as many as are there.
func (e *elfFile) code(addr, size uint64) []byte {
	s, start := e.sectionAt(addr)
	if s == nil || s.typ == elf.SHT_NOBITS {
		return nil
	}
	off := addr - start
	return e.view(s.offset+off, min(size, s.size-off))
}

// buildID returns the build id in hexadecimal, "" if there is none.
func (e *elfFile) buildID() string {
	const gnuBuildID = 3
	for i := range e.sections {
		s := &e.sections[i]
		if s.typ != elf.SHT_NOTE || s.name != ".note.gnu.build-id" {
			continue
		}
		b := e.view(s.offset, s.size)
		r := fieldReader{e, b}
		nameSize, size, typ := r.uint(4), r.uint(4), r.uint(4)
		if at := 12 + nameSize; typ == gnuBuildID && nameSize == 4 && size <= 64 && at+size <= uint64(len(b)) {
			return hexenc.EncodeToString(b[at : at+size])
		}
	}
	return ""
}
