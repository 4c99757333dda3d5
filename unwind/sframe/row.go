package sframe

import "fmt"

// Row is a frame row entry (specification, "SFrame FRE"): how to find the caller's registers from Start on. In Data
// it is
//
//	u8/u16/u32 start, u8 info, N words of 1, 2 or 4 bytes
//
// with the info byte: bit 0 base register (1: SP), bits 1-4 N, bits 5-6 code for the size of words, bit 7 signed return
// address.
type Row struct {
	FDE    FDE // the function
	Index  int // in the function
	Offset int // of the start field in Section.Data
	// Start and End are distances from the function's start, or from the start of each repeated block (FDE.Mask). End
	// is the next row's start, or the end of the function or block.
	Start, End uint32

	Info     uint8
	N        int // words
	WordSize int // 1, 2 or 4 bytes

	// BaseSP, RASigned: the CFA counts from the stack pointer; the return address is signed (AArch64).
	BaseSP, RASigned bool
	// Outermost: a row without words (version 2 errata 2): the return address is undefined, the walk ends here.
	Outermost bool

	CFA, FP, RA Rule
	// Fault is why the rules cannot be used, 0 if they can.
	Fault Kind
}

// Source is what a rule's value counts from.
type Source uint8

// The sources.
const (
	Unchanged    Source = iota // no rule: the caller's value is the one in the register
	FromSP                     // the stack pointer
	FromFP                     // the frame pointer
	FromRegister               // another register
	FromCFA                    // the CFA
)

// Rule is how a value is recovered: source plus offset, or what lies there in memory.
type Rule struct {
	From   Source
	Reg    uint32 // DWARF number for FromSP, FromFP and FromRegister, NoReg for unknown ABIs
	Offset int64  // in bytes, after scaling
	Deref  bool   // the value is in memory at source + offset
	Fixed  bool   // the header's, not the row's
	Padded bool   // there is a word that says "no rule"
}

// String gives the rule as an expression: "sp+16", "*(cfa-8)", "unchanged".
func (r Rule) String() string {
	var from string
	switch r.From {
	case Unchanged:
		return "unchanged"
	case FromSP:
		from = "sp"
	case FromFP:
		from = "fp"
	case FromCFA:
		from = "cfa"
	default:
		from = fmt.Sprintf("r%d", r.Reg)
	}
	if r.Offset != 0 {
		from = fmt.Sprintf("%s%+d", from, r.Offset)
	}
	if r.Deref {
		return "*(" + from + ")"
	}
	return from
}

// Len is the row's size in bytes.
func (r *Row) Len() int { return r.WordsAt() + r.N*r.WordSize - r.Offset }

// InfoAt is the offset of the info byte in Section.Data.
func (r *Row) InfoAt() int { return r.Offset + r.FDE.StartWidth() }

// WordsAt is the offset of the first word in Section.Data.
func (r *Row) WordsAt() int { return r.InfoAt() + 1 }

// ControlWord returns word i without sign, as control words of flexible rules are. i must be below N.
func (r *Row) ControlWord(i int) uint32 {
	s := r.FDE.s
	b := s.Data[r.WordsAt()+i*r.WordSize:]
	switch r.WordSize {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(u16(b, s.BigEndian))
	}
	return u32(b, s.BigEndian)
}

// Word returns word i, which must be below N, with its sign.
func (r *Row) Word(i int) int32 {
	switch v := r.ControlWord(i); r.WordSize {
	case 1:
		return int32(int8(v))
	case 2:
		return int32(int16(v))
	default:
		return int32(v)
	}
}

func (r *Row) setInfo(info uint8) {
	r.Info = info
	r.BaseSP, r.RASigned = info&rowInfoBase != 0, info&rowInfoSign != 0
	r.N = int(info >> 1 & 15)
	r.WordSize = 0
	if code := info >> 5 & 3; code < 3 {
		r.WordSize = 1 << code
	}
}

// Rows goes through the rows of a function:
//
//	for it := d.Rows(); it.Next(); {
//		use(&it.Row)
//	}
type Rows struct {
	Row   Row
	pos   int // of the next row
	limit int
	left  uint32
	index int

	fault   Kind
	faultAt int
}

// Rows returns an iterator over the function's rows.
func (d FDE) Rows() Rows {
	it := Rows{Row: Row{FDE: d}, pos: d.rows, limit: d.s.rowsEnd, left: d.NumRows}
	switch {
	case d.rows < 0:
		it.stop(OutOfBounds, d.Offset)
	case d.rowSizeShift < 0 && d.NumRows > 0:
		it.stop(RowType, d.infoAt())
	}
	return it
}

func (it *Rows) stop(k Kind, at int) {
	it.fault, it.faultAt, it.left = k, at, 0
}

// head reads the next row up to its info byte.
func (it *Rows) head() bool {
	if it.left == 0 {
		return false
	}
	s := it.Row.FDE.s
	width := it.Row.FDE.StartWidth()
	if it.limit-it.pos < width+1 {
		it.stop(RowTruncated, it.pos)
		return false
	}
	b := s.Data[it.pos : it.pos+width+1]
	r := &it.Row
	switch width {
	case 1:
		r.Start = uint32(b[0])
	case 2:
		r.Start = uint32(u16(b, s.BigEndian))
	default:
		r.Start = u32(b, s.BigEndian)
	}
	r.Index, r.Offset, r.Info = it.index, it.pos, b[width]
	return true
}

// body goes behind the row that head has read.
func (it *Rows) body() bool {
	info := it.Row.Info
	n, code := int(info>>1&15), info>>5&3
	at := it.pos + it.Row.FDE.StartWidth() + 1
	if code == 3 && n > 0 {
		it.stop(RowWordSize, at-1)
		return false
	}
	if n<<code > it.limit-at {
		it.stop(RowTruncated, at)
		return false
	}
	it.pos = at + n<<code
	it.left--
	it.index++
	return true
}

// Next reads the next row. It fails behind the last, and where rows cannot be read any more: see Problem.
func (it *Rows) Next() bool {
	if !it.head() || !it.body() {
		return false
	}
	r := &it.Row
	r.End = r.FDE.blockSize()
	if it.left > 0 {
		if s, width := r.FDE.s, r.FDE.StartWidth(); it.limit-it.pos >= width {
			switch b := s.Data[it.pos:]; width {
			case 1:
				r.End = uint32(b[0])
			case 2:
				r.End = uint32(u16(b, s.BigEndian))
			default:
				r.End = u32(b, s.BigEndian)
			}
		}
	}
	r.setInfo(r.Info)
	r.interpret()
	return true
}

// Problem returns why rows could not be read to the end, or nil.
func (it *Rows) Problem() *Problem {
	if it.fault == 0 {
		return nil
	}
	d := &it.Row.FDE
	p := d.s.fatal(it.faultAt, it.fault, "")
	p.FDE, p.Row = d.Index, it.index
	switch it.fault {
	case OutOfBounds:
		p.Row = -1
		p.Text = fmt.Sprintf("rows at offset 0x%x of their sub-section are beyond its end", d.RowOffset)
	case RowType:
		p.Row = -1
		p.Text = fmt.Sprintf("row type %d is not defined: %d rows are not read", d.RowType(), d.NumRows)
	case RowWordSize:
		p.Text = fmt.Sprintf("the size of words is not defined: %d rows are not read", d.NumRows-uint32(it.index))
	default:
		p.Text = fmt.Sprintf("%d rows go beyond the end of the rows at 0x%x", d.NumRows-uint32(it.index), it.limit)
	}
	return p
}

// infoAt is the offset of the info byte in Section.Data.
func (d *FDE) infoAt() int {
	if d.s.Header.Version != v3 {
		return d.Offset + 16
	}
	if d.Attr < 0 {
		return d.Offset
	}
	return d.Attr + 2
}

// Functions goes through the functions of a section and their rows. It ends early where functions share so many rows
// that the file means no good.
//
//	for it := s.Functions(); it.Next(); {
//		for it.NextRow() {
//			use(&it.FDE, it.Row())
//		}
//	}
type Functions struct {
	FDE    FDE
	rows   Rows
	s      *Section
	next   int
	budget int
	spent  bool
}

// Functions returns an iterator over the section's functions.
func (s *Section) Functions() Functions {
	// A row is at least two bytes: honest files stay below half a row to a byte.
	return Functions{s: s, budget: 2*len(s.Data) + 1<<12}
}

// Next goes to the next function.
func (it *Functions) Next() bool {
	if it.spent || it.next >= it.s.n {
		return false
	}
	it.FDE = it.s.FDE(it.next)
	it.rows = it.FDE.Rows()
	it.next++
	return true
}

// NextRow goes to the function's next row.
func (it *Functions) NextRow() bool {
	if it.budget == 0 {
		it.spent = true
		return false
	}
	it.budget--
	return it.rows.Next()
}

// Row returns the row; it changes with the next one.
func (it *Functions) Row() *Row { return &it.rows.Row }

// RowProblem returns why the function's rows could not be read to the end, or nil.
func (it *Functions) RowProblem() *Problem { return it.rows.Problem() }

// Problem returns why not all functions were looked at, or nil.
func (it *Functions) Problem() *Problem {
	if !it.spent {
		return nil
	}
	p := it.s.fatal(it.FDE.Offset, RowsShared, "functions share rows: %d of %d were looked at", it.next, it.s.n)
	p.FDE = it.FDE.Index
	return p
}
