package minidump

import (
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Builder writes a minidump: sections, some of which are streams. Streams that are lists grow with every call and are
// laid out by Build. A Builder writes whatever it is told to, so that it can make the dumps that a reader must refuse.
type Builder struct {
	Order  binary.ByteOrder
	Header Header // Version, Time, Checksum and Flags are used; a Version of 0 is the right one
	// PadLists puts four bytes behind the count of the lists of threads, modules and memory, as 64-bit writers do.
	PadLists bool

	sections  []*Section
	directory []directoryEntry
	strings   map[string]*Section

	threads, modules, memory, memory64, names *Section
	counts                                    map[*Section]int
	memory64Data                              *Section
}

type directoryEntry struct {
	kind    StreamType
	section *Section
	at      Location // where section is nil
}

// NewBuilder returns a Builder for a byte order.
func NewBuilder(order binary.ByteOrder) *Builder {
	return &Builder{Order: order, strings: map[string]*Section{}, counts: map[*Section]int{}}
}

// Section returns an empty section of the dump's byte order. Add puts it into the dump.
func (b *Builder) Section() *Section { return NewSection(b.Order) }

// Add puts a section behind those already there.
func (b *Builder) Add(s *Section) *Section {
	b.sections = append(b.sections, s)
	return s
}

// Stream adds a section and its directory entry.
func (b *Builder) Stream(t StreamType, s *Section) *Section {
	b.directory = append(b.directory, directoryEntry{kind: t, section: s})
	return b.Add(s)
}

// Entry adds a directory entry that says what it is told to.
func (b *Builder) Entry(t StreamType, at Location) {
	b.directory = append(b.directory, directoryEntry{kind: t, at: at})
}

// String returns the section of an MDString. Equal texts share one.
func (b *Builder) String(text string) *Section {
	s, ok := b.strings[text]
	if !ok {
		s = b.Section()
		s.U32(uint32(2 * len(utf16Units(text)))).UTF16(text).U16(0)
		b.strings[text] = b.Add(s)
	}
	return s
}

// UTF8 returns the section of a string of Crashpad's: length, text, a zero byte.
func (b *Builder) UTF8(text string) *Section {
	return b.Add(b.Section().U32(uint32(len(text))).Bytes([]byte(text)).U8(0))
}

// utf16Units encodes a text. Bytes that are no UTF-8 are the three-byte forms of surrogates where they can be.
func utf16Units(text string) []uint16 {
	var units []uint16
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 && len(text) >= 3 && text[0] == 0xed {
			units = append(units, 0xd000|uint16(text[1]&0x3f)<<6|uint16(text[2]&0x3f))
			text = text[3:]
			continue
		}
		units = utf16.AppendRune(units, r)
		text = text[n:]
	}
	return units
}

// list returns the section of a growing list, with its stream on first use.
func (b *Builder) list(s **Section, t StreamType, pad bool) *Section {
	if *s == nil {
		*s = b.Section()
		(*s).U32(0)
		if pad && b.PadLists {
			(*s).U32(0)
		}
		b.Stream(t, *s)
	}
	b.counts[*s]++
	return *s
}

// EmptyList adds a list without entries.
func (b *Builder) EmptyList(t StreamType) *Section { return b.Stream(t, b.Section().U32(0)) }

// Build lays everything out: header, directory, then the sections in the order they were added. It fails if a label
// has no place or an offset does not fit. A Builder can be built again after more was added.
func (b *Builder) Build() ([]byte, error) {
	for s, n := range b.counts {
		if s == b.memory64 {
			b.Order.PutUint64(s.b, uint64(n))
		} else {
			b.Order.PutUint32(s.b, uint32(n))
		}
	}
	head := b.Section()
	version := b.Header.Version
	if version == 0 {
		version = formatVersion
	}
	head.U32(signature).U32(version).U32(uint32(len(b.directory))).U32(headerSize)
	head.U32(b.Header.Checksum).U32(b.Header.Time).U64(b.Header.Flags)
	for _, e := range b.directory {
		head.U32(uint32(e.kind))
		if e.section == nil {
			head.U32(e.at.Size).U32(e.at.RVA)
		} else {
			head.Location(e.section)
		}
	}
	all := append([]*Section{head}, b.sections...)
	end := uint64(0)
	for _, s := range all {
		align := uint64(max(s.Align, 1))
		if s.Align == 0 {
			align = 8
		}
		end = (end + align - 1) / align * align
		s.offset, s.placed = end, true
		end += uint64(len(s.b))
	}
	out := make([]byte, 0, end)
	for _, s := range all {
		if err := s.resolve(); err != nil {
			return nil, err
		}
		out = append(out, make([]byte, s.offset-uint64(len(out)))...)
		out = append(out, s.b...)
	}
	return out, nil
}
