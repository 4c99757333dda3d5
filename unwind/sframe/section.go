package sframe

import (
	"bytes"
	"fmt"
	"math"
)

// Header is a section's header (specification, "SFrame Header"):
//
//	 0  u16 magic   2  u8 version   3  u8 flags
//	 4  u8  ABI     5  s8 fixed FP  6  s8 fixed RA   7  u8 length of the auxiliary header
//	 8  u32 number of FDEs         12  u32 number of rows
//	16  u32 length of the rows     20  u32 offset of the FDEs   24  u32 offset of the rows
//
// Both offsets count from the end of the header and the auxiliary header behind it.
type Header struct {
	Magic            uint16
	Version          uint8
	Flags            Flags
	ABI              ABI
	FixedFP, FixedRA int8 // from the CFA, in bytes; 0: not fixed, rows tell
	AuxLen           uint8
	NumFDEs, NumFREs uint32
	FRELen           uint32 // of the rows, in version 3 with the attributes in front of them
	FDEOff, FREOff   uint32
}

// EntrySize is the size of an entry of the function table: 17, 20 or 16 bytes; 0 for unknown versions.
func (h *Header) EntrySize() int {
	switch h.Version {
	case 1:
		return 17
	case 2:
		return 20
	case v3:
		return 16
	}
	return 0
}

// Section is an SFrame section. It does not change after it was made.
type Section struct {
	Name string
	Addr uint64 // link-time address; in object files where it was placed, see File.Placed
	// Data is the section's content, including what may be behind the end that its header tells.
	Data      []byte
	BigEndian bool // by the magic number
	Header    Header

	ELF     *ELFSection // what the section header says; nil for others than sections of ELF files
	Segment *Segment    // the segment it was found by where there is no section header
	// Err is why the header cannot be used. Such sections are in File.Sections only; they have no functions.
	Err *Problem

	tableAt, rowsAt, end int // as the header says
	rowsEnd              int // no more than Data holds
	n                    int // entries of the table that Data holds
	problems             []Problem
	file                 *File
}

// Options are what the bytes of a section do not tell.
type Options struct {
	Name string // for problems and listings; SectionName if empty
	Addr uint64 // the section's address; with 0, addresses are distances from it
}

// Parse reads a section. It fails with a *Problem for data without a usable header: too short, of no known magic number
// or version. Everything else that is wrong with the header is in Problems.
func Parse(data []byte, o Options) (*Section, error) {
	s := &Section{Name: o.Name, Addr: o.Addr, Data: data}
	if s.Name == "" {
		s.Name = SectionName
	}
	if p := s.parse(); p != nil {
		return nil, p
	}
	return s, nil
}

func (s *Section) parse() *Problem {
	b := s.Data
	if len(b) >= 4 {
		switch {
		case u16(b, false) == Magic:
		case u16(b, true) == Magic:
			s.BigEndian = true
		default:
			return s.fatal(0, BadMagic, "magic number 0x%04x, not 0x%04x", u16(b, false), Magic)
		}
	}
	if len(b) < headerSize {
		return s.fatal(len(b), TooShort, "section of %d bytes has no room for the header of %d", len(b), headerSize)
	}
	big := s.BigEndian
	s.Header = Header{
		Magic: u16(b, big), Version: b[2], Flags: Flags(b[3]), ABI: ABI(b[4]), FixedFP: int8(b[5]), FixedRA: int8(b[6]),
		AuxLen: b[7], NumFDEs: u32(b[8:], big), NumFREs: u32(b[12:], big), FRELen: u32(b[16:], big),
		FDEOff: u32(b[20:], big), FREOff: u32(b[24:], big),
	}
	h := &s.Header
	size := uint64(h.EntrySize())
	if size == 0 {
		return s.fatal(2, BadVersion, "version %d is not known", h.Version)
	}
	base := headerSize + uint64(h.AuxLen)
	tableAt, rowsAt := base+uint64(h.FDEOff), base+uint64(h.FREOff)
	tableEnd, end := tableAt+uint64(h.NumFDEs)*size, rowsAt+uint64(h.FRELen)
	have := uint64(len(b))
	s.tableAt, s.rowsAt, s.end = clamp(tableAt), clamp(rowsAt), clamp(end)
	s.rowsEnd = int(min(end, have))
	if tableAt < have {
		s.n = int(min(uint64(h.NumFDEs), (have-tableAt)/size))
	}
	s.checkHeader(tableEnd)
	return nil
}

func clamp(v uint64) int { return int(min(v, math.MaxInt)) }

func (s *Section) fatal(at int, k Kind, format string, args ...any) *Problem {
	return &Problem{Section: s.Name, Offset: at, Kind: k, FDE: -1, Row: -1, Text: fmt.Sprintf(format, args...)}
}

func (s *Section) problem(at int, k Kind, format string, args ...any) {
	s.problems = append(s.problems, *s.fatal(at, k, format, args...))
}

// checkHeader looks at what the header says of itself and of the layout.
func (s *Section) checkHeader(tableEnd uint64) {
	h := &s.Header
	if rest := h.Flags &^ Defined(h.Version); rest != 0 {
		s.problem(3, BadFlags, "flags 0x%02x are not defined in version %d", uint8(rest), h.Version)
	}
	if !h.ABI.Known() || h.ABI == S390X && h.Version == 1 {
		s.problem(4, BadABI, "ABI %d is not known in version %d", uint8(h.ABI), h.Version)
	} else if h.ABI.BigEndian() != s.BigEndian {
		s.problem(0, BadByteOrder, "the byte order of the magic number is not that of %s", h.ABI)
	}
	if h.ABI.Known() {
		if want := fixedRA(h.ABI); h.FixedRA != want {
			s.problem(6, BadFixed, "fixed return address offset %d, on %s it is %d", h.FixedRA, h.ABI, want)
		}
		if h.FixedFP != 0 {
			s.problem(5, BadFixed, "fixed frame pointer offset %d, but %s has none", h.FixedFP, h.ABI)
		}
	}
	have := uint64(len(s.Data))
	rowsAt, end := uint64(s.rowsAt), uint64(s.end)
	switch {
	case tableEnd > have:
		s.problem(8, OutOfBounds, "%d functions at 0x%x go beyond the section's end at 0x%x: %d are there",
			h.NumFDEs, s.tableAt, have, s.n)
	case tableEnd > rowsAt && uint64(s.tableAt) < end:
		s.problem(24, BadLayout, "rows at 0x%x overlap the function table, which ends at 0x%x", rowsAt, tableEnd)
	case uint64(s.tableAt) >= end && h.NumFDEs > 0 && h.FRELen > 0:
		s.problem(20, BadLayout, "function table at 0x%x behind the rows", s.tableAt)
	case h.FDEOff != 0:
		s.problem(20, BadLayout, "%d bytes between the header and the function table", h.FDEOff)
	case tableEnd < rowsAt && rowsAt <= have:
		s.problem(24, BadLayout, "%d bytes between the function table and the rows", rowsAt-tableEnd)
	}
	switch {
	case rowsAt > have:
		s.problem(24, OutOfBounds, "rows at 0x%x are beyond the section's end at 0x%x", rowsAt, have)
	case end > have:
		s.problem(16, OutOfBounds, "rows end at 0x%x, beyond the section's end at 0x%x", end, have)
	case end < have && s.Segment == nil: // linkers make the segment larger than the section
		s.checkTail()
	}
}

// checkTail tells padding, as linkers and assemblers add it, from other bytes behind the end.
func (s *Section) checkTail() {
	tail := s.Tail()
	zeros := len(tail) - len(bytes.TrimLeft(tail, "\x00"))
	if zeros == len(tail) {
		if zeros > 7 {
			s.problem(s.end, TrailingData, "%d zero bytes behind the end", zeros)
		}
		return
	}
	if at := zeros; at <= 7 && len(tail)-at >= headerSize && u16(tail[at:], s.BigEndian) == Magic {
		if h := (Header{Version: tail[at+2]}); h.EntrySize() != 0 {
			s.problem(s.end+at, Concatenated, "another section follows: linked without merging, readers see only the first")
			return
		}
	}
	s.problem(s.end, TrailingData, "%d bytes behind the end", len(tail))
}

// fixedRA is what writers put into the header.
func fixedRA(a ABI) int8 {
	if a == AMD64 {
		return -8
	}
	return 0
}

// TableOffset is where the function table begins in Data as the header says; it may be beyond it.
func (s *Section) TableOffset() int { return s.tableAt }

// RowsOffset is where the rows (FRE sub-section) begin in Data as the header says; it may be beyond it.
func (s *Section) RowsOffset() int { return s.rowsAt }

// End is where the rows end as the header says; it may be beyond Data.
func (s *Section) End() int { return s.end }

// Aux returns the auxiliary header.
func (s *Section) Aux() []byte {
	if s.Err != nil {
		return nil
	}
	return s.Data[min(headerSize, len(s.Data)):min(headerSize+int(s.Header.AuxLen), len(s.Data))]
}

// Tail returns what is behind the end: nothing, padding, or another section.
func (s *Section) Tail() []byte {
	if s.Err != nil || s.end >= len(s.Data) {
		return nil
	}
	return s.Data[s.end:]
}

// Problems are those of the header and the layout. Check looks at functions and rows as well.
func (s *Section) Problems() []Problem { return s.problems }

// Len is the number of functions: as many of the header's as Data holds.
func (s *Section) Len() int { return s.n }

// entry returns the bytes of a table entry.
func (s *Section) entry(i int) []byte {
	size := s.Header.EntrySize()
	at := s.tableAt + i*size
	return s.Data[at : at+size]
}

// field returns a start field as it is stored.
func (s *Section) field(i int) int64 {
	b := s.entry(i)
	if s.Header.Version == v3 {
		return int64(u64(b, s.BigEndian))
	}
	return int64(int32(u32(b, s.BigEndian)))
}

// start returns the address of function i.
func (s *Section) start(i int) uint64 {
	at := s.tableAt + i*s.Header.EntrySize()
	if s.ELF != nil && len(s.ELF.Relocations) > 0 {
		if r, ok := s.ELF.reloc(at); ok && r.Applied {
			return r.Target + s.file.placedAddr(r.Section)
		}
	}
	return s.resolve(at, s.field(i))
}

// resolve turns a start field into an address (specification, SFRAME_F_FDE_FUNC_START_PCREL).
func (s *Section) resolve(at int, field int64) uint64 {
	if s.Header.Flags&PCRel != 0 {
		return s.Addr + uint64(at) + uint64(field)
	}
	return s.Addr + uint64(field)
}

// Find returns the function an address is in. A table that says it is sorted is searched by halves, others from the
// start. It does not allocate.
func (s *Section) Find(pc uint64) (FDE, bool) {
	if s.Header.Flags&Sorted == 0 {
		for i := range s.n {
			// The size is the second field of the versions' entries.
			if pc-s.start(i) < uint64(s.size(i)) {
				return s.FDE(i), true
			}
		}
		return FDE{}, false
	}
	low, high := 0, s.n
	for low < high {
		if mid := int(uint(low+high) >> 1); s.start(mid) <= pc {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 || pc-s.start(low-1) >= uint64(s.size(low-1)) {
		return FDE{}, false
	}
	return s.FDE(low - 1), true
}

func (s *Section) size(i int) uint32 {
	b := s.entry(i)
	if s.Header.Version == v3 {
		return u32(b[8:], s.BigEndian)
	}
	return u32(b[4:], s.BigEndian)
}
