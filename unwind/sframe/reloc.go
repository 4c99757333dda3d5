package sframe

import (
	"debug/elf"
	"sort"
)

// Reloc is a relocation of an SFrame section.
type Reloc struct {
	Offset  uint64 // in the section
	Type    uint32 // R_X86_64_PC32 and so on
	Symbol  uint32 // index in the symbol table
	Addend  int64
	Section int    // the one the symbol is in; 0 for symbols of other files, absolute ones, and broken ones
	Target  uint64 // symbol plus addend, from the start of that section
	// Applied: the file is an object file, the type is known and the symbol exists.
	Applied bool
	pc      bool // relative to the field
}

// Placed is where a section of an object file was put. Object files give every section the address 0; to tell their
// functions apart, the loaded sections are placed one behind the other, in the file's order.
type Placed struct {
	Index      int // of the section header
	Name       string
	Addr, Size uint64
	Exec       bool
}

// Placed returns the sections of an object file by address; nil for other files.
func (f *File) Placed() []Placed { return f.placed }

func (f *File) place(h elfHeader) {
	limit := uint64(1)<<(8*f.Word-1) - 1
	next := uint64(0)
	f.byIndex = make([]uint64, len(f.headers))
	for i := range f.headers {
		s := &f.headers[i]
		if s.flags&elf.SHF_ALLOC == 0 || s.typ == elf.SHT_NULL {
			continue
		}
		if a := s.align; a > 1 && a&(a-1) == 0 && a <= 1<<20 {
			next = (next + a - 1) &^ (a - 1)
		}
		if next > limit || s.size > limit-next {
			f.problem(clamp(h.shoff), BadELF, "sections of the object file are larger than the address space")
			return
		}
		f.byIndex[i] = next
		f.placed = append(f.placed, Placed{i, s.name, next, s.size, s.flags&elf.SHF_EXECINSTR != 0})
		next += s.size
	}
}

// placedAddr returns where a section was placed, 0 for none.
func (f *File) placedAddr(index int) uint64 {
	if index < 0 || index >= len(f.byIndex) {
		return 0
	}
	return f.byIndex[index]
}

// relocKinds are the relocations that may stand in an SFrame section: type to bytes, negative if relative to the field.
var relocKinds = map[elf.Machine]map[uint32]int{
	elf.EM_X86_64: {
		uint32(elf.R_X86_64_PC32): -4, uint32(elf.R_X86_64_PC64): -8,
		uint32(elf.R_X86_64_32S): 4, uint32(elf.R_X86_64_64): 8,
	},
	elf.EM_AARCH64: {
		uint32(elf.R_AARCH64_PREL32): -4, uint32(elf.R_AARCH64_PREL64): -8,
		uint32(elf.R_AARCH64_ABS32): 4, uint32(elf.R_AARCH64_ABS64): 8,
	},
	elf.EM_S390: {
		uint32(elf.R_390_PC32): -4, uint32(elf.R_390_PC64): -8,
		uint32(elf.R_390_32): 4, uint32(elf.R_390_64): 8,
	},
}

// readRelocations reads the relocations for a section.
func (f *File) readRelocations(s *Section) {
	for i := range f.headers {
		sh := &f.headers[i]
		rela := sh.typ == elf.SHT_RELA
		if int64(sh.info) != int64(s.ELF.Index) || !rela && sh.typ != elf.SHT_REL {
			continue
		}
		b := f.view(sh.offset, sh.size)
		if uint64(len(b)) < sh.size {
			f.problem(clamp(sh.offset), BadRelocation, "relocations of %s go beyond the file", s.Name)
		}
		// Headers can give one part of the file to any number of sections.
		if f.relocated += len(b); f.relocated > len(f.data) {
			f.problem(clamp(sh.offset), BadRelocation, "sections of relocations overlap")
			break
		}
		f.parseRelocations(s, sh, b, rela)
	}
	r := s.ELF.Relocations
	sort.SliceStable(r, func(i, j int) bool { return r[i].Offset < r[j].Offset })
}

func (f *File) parseRelocations(s *Section, sh *sectionHeader, b []byte, rela bool) {
	size := 2 * f.Word
	if rela {
		size = 3 * f.Word
	}
	kinds := relocKinds[f.Machine]
	symbols := f.symbols(sh.link)
	width := 4
	if s.Header.Version == v3 {
		width = 8
	}
	for at := 0; len(b)-at >= size; at += size {
		r := f.reader(b[at:])
		var v Reloc
		v.Offset = r.addr()
		info := r.addr()
		v.Type, v.Symbol = uint32(info), uint32(info>>32)
		if f.Word == 4 {
			v.Type, v.Symbol = uint32(info&0xff), uint32(info>>8)
		}
		if rela {
			if v.Addend = int64(r.addr()); f.Word == 4 {
				v.Addend = int64(int32(v.Addend))
			}
		}
		if v.Type == 0 { // R_*_NONE: the function was dropped
			continue
		}
		fail := func(format string, args ...any) {
			if f.Type == elf.ET_REL {
				f.problem(clamp(sh.offset+uint64(at)), BadRelocation, format, args...)
			}
		}
		// Relocations other than those of starts have no business here and are kept without being applied.
		n, known := kinds[v.Type]
		v.pc = n < 0
		inside := v.Offset <= uint64(len(s.Data)) && uint64(width) <= uint64(len(s.Data))-v.Offset
		value, section, ok := symbols.value(v.Symbol)
		switch {
		case !known || n != width && n != -width:
			fail("relocation type %d does not fit a start of %d bytes", v.Type, width)
		case !inside:
			fail("relocation at 0x%x is beyond its section", v.Offset)
		case !ok:
			fail("there is no symbol %d", v.Symbol)
		default:
			if !rela {
				v.Addend = int64(int32(u32(s.Data[v.Offset:], s.BigEndian)))
				if width == 8 {
					v.Addend = int64(u64(s.Data[v.Offset:], s.BigEndian))
				}
			}
			v.Section, v.Target = section, value+uint64(v.Addend)
			v.Applied = f.Type == elf.ET_REL
		}
		s.ELF.Relocations = append(s.ELF.Relocations, v)
	}
}

// symbolTable is the content of a symbol table.
type symbolTable struct {
	f *File
	b []byte
}

func (f *File) symbols(index uint32) symbolTable {
	if uint64(index) >= uint64(len(f.headers)) {
		return symbolTable{f, nil}
	}
	sh := &f.headers[index]
	if sh.typ != elf.SHT_SYMTAB && sh.typ != elf.SHT_DYNSYM {
		return symbolTable{f, nil}
	}
	return symbolTable{f, f.view(sh.offset, sh.size)}
}

// value returns a symbol's value and section, which is 0 for one that is defined elsewhere or absolute.
func (t symbolTable) value(n uint32) (value uint64, section int, ok bool) {
	size := uint64(8 + 2*t.f.Word) // 16, 24
	if uint64(n) >= uint64(len(t.b))/size {
		return 0, 0, false
	}
	r := t.f.reader(t.b[uint64(n)*size:])
	r.u32()
	var index uint16
	if t.f.Word == 8 {
		r.u16()
		index = r.u16()
		value = r.addr()
	} else {
		value = r.addr()
		r.u32()
		r.u16()
		index = r.u16()
	}
	if elf.SectionIndex(index) == elf.SHN_XINDEX {
		return 0, 0, false // more sections than object files with SFrame have
	}
	if int(index) < len(t.f.headers) {
		section = int(index)
	}
	return value, section, true
}
