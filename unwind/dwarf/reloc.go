package dwarf

import (
	"debug/elf"
	"encoding/binary"
)

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

// PlacedAt returns the section of an object file that an address is in.
func (f *File) PlacedAt(addr uint64) (Placed, bool) {
	for _, p := range f.placed {
		if addr >= p.Addr && addr-p.Addr < p.Size {
			return p, true
		}
	}
	return Placed{}, false
}

func (f *File) place(e *elfFile) {
	limit := mask(^uint64(0), e.word) >> 1
	next := uint64(0)
	for i := range e.sections {
		s := &e.sections[i]
		if s.flags&elf.SHF_ALLOC == 0 || s.typ == elf.SHT_NULL {
			continue
		}
		if a := s.align; a > 1 && a&(a-1) == 0 && a <= 1<<20 {
			next = (next + a - 1) &^ (a - 1)
		}
		if next > limit || s.size > limit-next {
			f.problem("", e.shoff, BadELF, "sections of the object file are larger than the address space")
			return
		}
		s.addr = next
		f.placed = append(f.placed, Placed{i, s.name, s.addr, s.size, s.flags&elf.SHF_EXECINSTR != 0})
		next += s.size
	}
}

// relocKind is how a relocation changes its field.
type relocKind struct {
	size int  // bytes
	pc   bool // relative to the field
}

// relocKinds are the relocations that assemblers use in call frame information. Type 0 is "none" everywhere.
var relocKinds = map[elf.Machine]map[uint32]relocKind{
	elf.EM_X86_64: {
		uint32(elf.R_X86_64_64): {8, false}, uint32(elf.R_X86_64_PC64): {8, true}, uint32(elf.R_X86_64_32): {4, false},
		uint32(elf.R_X86_64_32S): {4, false}, uint32(elf.R_X86_64_PC32): {4, true},
		uint32(elf.R_X86_64_PLT32): {4, true},
	},
	elf.EM_386: {
		uint32(elf.R_386_32): {4, false}, uint32(elf.R_386_PC32): {4, true}, uint32(elf.R_386_PLT32): {4, true},
	},
	elf.EM_AARCH64: {
		uint32(elf.R_AARCH64_ABS64): {8, false}, uint32(elf.R_AARCH64_PREL64): {8, true},
		uint32(elf.R_AARCH64_ABS32): {4, false}, uint32(elf.R_AARCH64_PREL32): {4, true},
	},
	elf.EM_S390: {
		uint32(elf.R_390_64): {8, false}, uint32(elf.R_390_PC64): {8, true}, uint32(elf.R_390_32): {4, false},
		uint32(elf.R_390_PC32): {4, true},
	},
}

// relocate returns a section's content with the relocations for it applied. Symbols of other files count as 0.
func (f *File) relocate(e *elfFile, target int, s *Section) []byte {
	out := s.Data
	if len(out) == 0 {
		return out
	}
	total := 0
	for i := range e.sections {
		r := &e.sections[i]
		rela := r.typ == elf.SHT_RELA
		if int(r.info) != target || !rela && r.typ != elf.SHT_REL {
			continue
		}
		kinds := relocKinds[f.layout.Machine]
		if kinds == nil {
			f.problem(r.name, 0, BadRelocation, "relocations of %s are not applied", f.layout.Machine)
			return out
		}
		data, ok := e.bytes(r.offset, r.size)
		if !ok {
			f.problem(r.name, 0, BadRelocation, "relocations go beyond the file")
			continue
		}
		if total += len(data); total > len(e.data) {
			f.problem(r.name, 0, BadRelocation, "sections of relocations overlap")
			return out
		}
		if &out[0] == &s.Data[0] {
			out = append([]byte(nil), s.Data...)
		}
		f.applyRelocations(e, r, data, out, s.Addr, kinds)
	}
	return out
}

func (f *File) applyRelocations(e *elfFile, r *section, data, out []byte, base uint64, kinds map[uint32]relocKind) {
	var order binary.ByteOrder = binary.LittleEndian
	if e.big {
		order = binary.BigEndian
	}
	rela := r.typ == elf.SHT_RELA
	size := 2 * e.word
	if rela {
		size = 3 * e.word
	}
	for c := (cursor{data: data, big: e.big}); c.left() >= size; {
		at := uint64(c.pos)
		offset, info := c.uint(e.word), c.uint(e.word)
		typ, sym := uint32(info), info>>32
		if e.word == 4 {
			typ, sym = uint32(info&0xff), info>>8
		}
		var addend uint64
		if rela {
			addend = signExtend(c.uint(e.word), e.word)
		}
		if typ == 0 {
			continue
		}
		k, ok := kinds[typ]
		if !ok {
			f.problem(r.name, at, BadRelocation, "relocation type %d is not known", typ)
			continue
		}
		if n := uint64(len(out)); offset > n || uint64(k.size) > n-offset {
			f.problem(r.name, at, BadRelocation, "relocation at 0x%x is beyond its section", offset)
			continue
		}
		value, ok := e.symbol(r.link, sym)
		if !ok {
			f.problem(r.name, at, BadRelocation, "there is no symbol %d", sym)
			continue
		}
		field := out[offset : offset+uint64(k.size)]
		if !rela {
			if k.size == 8 {
				addend = order.Uint64(field)
			} else {
				addend = uint64(int32(order.Uint32(field)))
			}
		}
		value += addend
		if k.pc {
			value -= base + offset
		}
		if k.size == 8 {
			order.PutUint64(field, value)
		} else {
			order.PutUint32(field, uint32(value))
		}
	}
}

// symbol returns a symbol's value, 0 if it is defined elsewhere.
func (e *elfFile) symbol(table uint32, n uint64) (uint64, bool) {
	if uint64(table) >= uint64(len(e.sections)) {
		return 0, false
	}
	size := uint64(8 + 2*e.word) // 16, 24
	t := &e.sections[table]
	if n >= t.size/size {
		return 0, false
	}
	b, ok := e.bytes(t.offset+n*size, size)
	if !ok || t.offset+n*size < t.offset {
		return 0, false
	}
	c := cursor{data: b, big: e.big}
	var value uint64
	var index uint16
	if e.word == 8 {
		c.next(6)
		index = c.u16()
		value = c.u64()
	} else {
		c.next(4)
		value = uint64(c.u32())
		c.next(6)
		index = c.u16()
	}
	if index == uint16(elf.SHN_XINDEX) {
		return 0, false // more sections than object files with call frame information have
	}
	if int(index) < len(e.sections) && index != uint16(elf.SHN_UNDEF) {
		value += e.sections[index].addr
	}
	return value, true
}
