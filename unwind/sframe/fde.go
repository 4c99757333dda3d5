package sframe

// FDE is an entry of the function table (specification, "SFrame FDE"). The numbers in front are the offsets of the
// fields in versions 1 and 2, and in version 3:
//
//	 0   0  s32/s64 start     4   8  u32 size     8  12  u32 offset of the rows
//	12   -  u32 rows         16   -  u8  info    17   -  u8  repeat size (version 2)   18  -  u16 padding (version 2)
//
// Version 3 keeps the rest in an attribute in front of the rows: u16 rows, u8 info, u8 info2, u8 repeat size.
type FDE struct {
	Index  int
	Offset int    // of the entry in Section.Data; its first field is the start
	Start  uint64 // link-time address; in object files that of the relocation's target, see File.Placed
	Size   uint32 // in bytes
	Field  int64  // the start field as it is stored

	RowOffset    uint32 // field, from the start of the rows' sub-section
	NumRows      uint32 // field; there may be fewer
	Info, Info2  uint8  // fields
	RepSize      uint8  // field
	Padding      uint16 // field
	Attr         int    // offset of the attribute in Section.Data; -1 in versions 1 and 2, and where it is out of bounds
	rows         int    // offset of the first row, -1 if out of bounds
	s            *Section
	rowSizeShift int8 // log2 of the width of row starts, -1 undefined
}

// FDE returns function i, which must be below Len. It does not allocate.
func (s *Section) FDE(i int) FDE {
	b, big, limit := s.entry(i), s.BigEndian, s.rowsEnd
	d := FDE{Index: i, Offset: s.tableAt + i*len(b), Start: s.start(i), Field: s.field(i), Attr: -1, rows: -1, s: s}
	if s.Header.Version == v3 {
		d.Size, d.RowOffset = u32(b[8:], big), u32(b[12:], big)
		if at := uint64(s.rowsAt) + uint64(d.RowOffset); limit >= attrSize && at <= uint64(limit-attrSize) {
			d.Attr, d.rows = int(at), int(at)+attrSize
			a := s.Data[at : at+attrSize]
			d.NumRows, d.Info, d.Info2, d.RepSize = uint32(u16(a, big)), a[2], a[3], a[4]
		}
	} else {
		d.Size, d.RowOffset, d.NumRows, d.Info = u32(b[4:], big), u32(b[8:], big), u32(b[12:], big), b[16]
		if len(b) > 17 {
			d.RepSize, d.Padding = b[17], u16(b[18:], big)
		}
		if at := uint64(s.rowsAt) + uint64(d.RowOffset); at <= uint64(limit) {
			d.rows = int(at)
		}
	}
	d.rowSizeShift = -1
	if t := d.Info & infoRowType; t <= 2 {
		d.rowSizeShift = int8(t)
	}
	return d
}

// Section returns the section the function is described in.
func (d *FDE) Section() *Section { return d.s }

// End is the address behind the function.
func (d *FDE) End() uint64 { return d.Start + uint64(d.Size) }

// Contains reports whether an address is in the function.
func (d *FDE) Contains(pc uint64) bool { return pc-d.Start < uint64(d.Size) }

// RowsAt is the offset of the first row in Section.Data, -1 if it is out of bounds.
func (d *FDE) RowsAt() int { return d.rows }

// RowType is the code for the width of row starts, defined from 0 to 2.
func (d *FDE) RowType() uint8 { return d.Info & infoRowType }

// StartWidth is the size of row starts in bytes: 1, 2 or 4; 0 if undefined.
func (d *FDE) StartWidth() int {
	if d.rowSizeShift < 0 {
		return 0
	}
	return 1 << d.rowSizeShift
}

// Mask reports that the function is a block of code repeated (SFRAME_FDE_TYPE_PCMASK): rows are for every block.
func (d *FDE) Mask() bool { return d.Info&infoMask != 0 }

// Repeat is the size of the block of a Mask function in bytes. Version 1 has no field for it; its only such functions
// are PLTs of x86-64 with 16 bytes to an entry.
func (d *FDE) Repeat() uint32 {
	if d.s.Header.Version == 1 {
		return v1Repeat
	}
	return uint32(d.RepSize)
}

// BKey reports that AArch64 return addresses of the function are signed with key B.
func (d *FDE) BKey() bool { return d.Info&infoBKey != 0 }

// Signal reports a signal frame (version 3).
func (d *FDE) Signal() bool { return d.s.Header.Version == v3 && d.Info&infoSignal != 0 }

// Type is the type of the function's rows: 0 default, 1 flexible (version 3), others undefined.
func (d *FDE) Type() uint8 { return d.Info2 & info2Type }

// Flex reports flexible rows (version 3): each rule names its register.
func (d *FDE) Flex() bool { return d.Type() == typeFlex }

// Outermost reports a function from which there is no return (version 3): one without rows that is no signal frame. A
// signal frame without rows is one that the assembler could not describe.
func (d *FDE) Outermost() bool {
	return d.s.Header.Version == v3 && d.Attr >= 0 && d.NumRows == 0 && !d.Signal() && d.Type() == 0
}

// Reloc returns the relocation of the start field in an object file.
func (d *FDE) Reloc() (Reloc, bool) {
	if d.s.ELF == nil {
		return Reloc{}, false
	}
	return d.s.ELF.reloc(d.Offset)
}

// RowAt returns the row for an address in the function: the last one that does not start behind it. It fails outside of
// the function, where there is no such row, and where it cannot be read or used. It does not allocate.
func (d FDE) RowAt(pc uint64) (Row, bool) {
	if !d.Contains(pc) {
		return Row{}, false
	}
	off := uint32(pc - d.Start)
	if d.Mask() {
		rep := d.Repeat()
		if rep == 0 {
			return Row{}, false
		}
		off %= rep
	}
	it := d.Rows()
	index, end := -1, d.blockSize()
	var info uint8
	var start uint32
	var at int
	for it.head() {
		if it.Row.Start > off {
			end = it.Row.Start
			break
		}
		index, at, start, info = it.Row.Index, it.Row.Offset, it.Row.Start, it.Row.Info
		if !it.body() {
			break // no row behind this one can be found, so none may be taken
		}
	}
	if index < 0 || it.fault != 0 {
		return Row{}, false
	}
	r := &it.Row
	r.Index, r.Offset, r.Start, r.End = index, at, start, end
	r.setInfo(info)
	r.interpret()
	return it.Row, r.Fault == 0
}

// blockSize is how far the function's rows reach.
func (d *FDE) blockSize() uint32 {
	if d.Mask() {
		return d.Repeat()
	}
	return d.Size
}
