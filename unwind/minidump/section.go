package minidump

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Section is a piece of a minidump under construction: bytes, among them values that are only known once everything
// has its place. The methods append and return the section, so that calls can be chained.
type Section struct {
	// Base is the address of the section's first byte in the memory of the dumped process, for labels in it.
	Base uint64
	// Align is what the section's file offset is a multiple of; 0 is 8.
	Align int

	order  binary.ByteOrder
	b      []byte
	fixups []fixup

	placed bool
	offset uint64
}

// Label is a place in a section, or a number, that may be used before it is known.
type Label struct {
	section *Section
	pos     int
	value   uint64
	known   bool
}

// Set makes the label a number.
func (l *Label) Set(v uint64) { l.value, l.known = v, true }

// fixup is a value to be filled in.
type fixup struct {
	pos, size int
	kind      fixupKind
	label     *Label
	target    *Section
	delta     int64
}

type fixupKind uint8

const (
	fixAddress fixupKind = iota
	fixOffset
	fixSize
)

// NewSection returns an empty section whose numbers have the byte order.
func NewSection(order binary.ByteOrder) *Section { return &Section{order: order} }

// Len is the number of bytes so far.
func (s *Section) Len() int { return len(s.b) }

// Here makes a label the end of what the section has so far.
func (s *Section) Here(l *Label) *Section {
	*l = Label{section: s, pos: len(s.b), known: true}
	return s
}

// Start returns a label for the section's first byte.
func (s *Section) Start() *Label { return &Label{section: s, known: true} }

// U8 appends a byte.
func (s *Section) U8(v uint8) *Section {
	s.b = append(s.b, v)
	return s
}

// U16 appends a number of 16 bits.
func (s *Section) U16(v uint16) *Section {
	s.Zero(2)
	s.order.PutUint16(s.b[len(s.b)-2:], v)
	return s
}

// U32 appends a number of 32 bits.
func (s *Section) U32(v uint32) *Section {
	s.Zero(4)
	s.order.PutUint32(s.b[len(s.b)-4:], v)
	return s
}

// U64 appends a number of 64 bits.
func (s *Section) U64(v uint64) *Section {
	s.Zero(8)
	s.order.PutUint64(s.b[len(s.b)-8:], v)
	return s
}

// Word appends a number of size bytes, 4 or 8.
func (s *Section) Word(size int, v uint64) *Section {
	if size == 4 {
		return s.U32(uint32(v))
	}
	return s.U64(v)
}

// Bytes appends bytes as they are.
func (s *Section) Bytes(b []byte) *Section {
	s.b = append(s.b, b...)
	return s
}

// Zero appends n zero bytes.
func (s *Section) Zero(n int) *Section {
	s.b = append(s.b, make([]byte, n)...)
	return s
}

// UTF16 appends a text in UTF-16 without length or terminator.
func (s *Section) UTF16(text string) *Section {
	for _, u := range utf16Units(text) {
		s.U16(u)
	}
	return s
}

// UTF16Field appends a text in a field of n code units, the last of which is always zero. What is too long is cut.
func (s *Section) UTF16Field(text string, n int) *Section {
	units := utf16Units(text)
	units = units[:min(len(units), n-1)]
	for _, u := range units {
		s.U16(u)
	}
	return s.Zero(2 * (n - len(units)))
}

// Address appends the address of a label in the dumped process, plus delta, as a number of size bytes.
func (s *Section) Address(size int, l *Label, delta int64) *Section {
	return s.fix(fixup{size: size, kind: fixAddress, label: l, delta: delta})
}

// Offset appends the file offset of a label, plus delta, as a number of size bytes.
func (s *Section) Offset(size int, l *Label, delta int64) *Section {
	return s.fix(fixup{size: size, kind: fixOffset, label: l, delta: delta})
}

// Location appends the size and the offset of a section; both are 0 for nil.
func (s *Section) Location(target *Section) *Section {
	if target == nil {
		return s.U32(0).U32(0)
	}
	s.fix(fixup{size: 4, kind: fixSize, target: target})
	return s.Offset(4, target.Start(), 0)
}

func (s *Section) fix(f fixup) *Section {
	f.pos = len(s.b)
	s.fixups = append(s.fixups, f)
	return s.Zero(f.size)
}

// resolve fills the fixups in.
func (s *Section) resolve() error {
	for _, f := range s.fixups {
		var v uint64
		switch l := f.label; {
		case f.kind == fixSize:
			v = uint64(len(f.target.b))
		case !l.known:
			return fmt.Errorf("minidump: label used at offset 0x%x has no place", s.offset+uint64(f.pos))
		case l.section == nil:
			v = l.value
		case f.kind == fixAddress:
			v = l.section.Base + uint64(l.pos)
		case !l.section.placed:
			return fmt.Errorf("minidump: section used at offset 0x%x is not in the dump", s.offset+uint64(f.pos))
		default:
			v = l.section.offset + uint64(l.pos)
		}
		v += uint64(f.delta)
		if f.size == 8 {
			s.order.PutUint64(s.b[f.pos:], v)
			continue
		}
		if v > math.MaxUint32 {
			return fmt.Errorf("minidump: 0x%x does not fit into 32 bits", v)
		}
		s.order.PutUint32(s.b[f.pos:], uint32(v))
	}
	return nil
}
