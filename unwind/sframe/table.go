package sframe

import (
	"fmt"
	"math"
	"sort"
)

// Table is the content of a section in a form that can be changed and encoded.
type Table struct {
	Version          uint8
	Flags            Flags
	ABI              ABI
	BigEndian        bool
	FixedFP, FixedRA int8
	Aux              []byte
	Addr             uint64 // of the section
	Functions        []Function
	Tail             []byte // behind the end: padding
	// RawStarts: start fields are Function.Field, as in object files where a relocation gives the address. Otherwise
	// they are made of Function.Start.
	RawStarts bool
}

// Function is an entry of the function table with its rows.
type Function struct {
	Start       uint64
	Size        uint32
	Field       int64
	Info, Info2 uint8
	RepSize     uint8
	Padding     uint16
	// Rows are laid out by Order; those of functions with the same one as they are in the table, except that functions
	// that take no room come first.
	Order uint32
	Rows  []TableRow
}

// TableRow is a row.
type TableRow struct {
	Start uint32
	// Info is the info byte. The number of words in it is taken from Words, and its code for their size is the least
	// that is used.
	Info uint8
	// Words as they are stored: control words of flexible rules without sign, the others with it.
	Words []int32
}

// Table returns the section's content. It fails if not all of it can be read, or functions share rows; Encode gives the
// same bytes again for sections without gaps.
func (s *Section) Table() (*Table, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	h := &s.Header
	t := &Table{
		Version: h.Version, Flags: h.Flags, ABI: h.ABI, BigEndian: s.BigEndian, FixedFP: h.FixedFP, FixedRA: h.FixedRA,
		Aux: s.Aux(), Addr: s.Addr, Tail: s.Tail(), RawStarts: s.ELF != nil && s.file.Type == 1, // ET_REL
	}
	if int(h.AuxLen) != len(t.Aux) || uint64(s.n) != uint64(h.NumFDEs) {
		return nil, s.fatal(8, OutOfBounds, "%d of %d functions are in the section", s.n, h.NumFDEs)
	}
	t.Functions = make([]Function, 0, s.n)
	left := len(s.Data)
	for it := s.Functions(); it.Next(); {
		d := &it.FDE
		f := Function{
			Start: d.Start, Size: d.Size, Field: d.Field, Info: d.Info, Info2: d.Info2, RepSize: d.RepSize,
			Padding: d.Padding, Order: d.RowOffset,
		}
		for it.NextRow() {
			r := it.Row()
			if left -= r.Len(); left < 0 {
				return nil, s.fatal(d.Offset, RowsShared, "functions share rows")
			}
			f.Rows = append(f.Rows, TableRow{r.Start, r.Info, r.words()})
		}
		if p := it.RowProblem(); p != nil {
			return nil, p
		}
		t.Functions = append(t.Functions, f)
	}
	return t, nil
}

// words returns the row's words as TableRow has them.
func (r *Row) words() []int32 {
	if r.N == 0 {
		return nil
	}
	out := make([]int32, r.N)
	for i := range out {
		out[i] = r.Word(i)
	}
	if r.FDE.Flex() {
		eachControl(out, func(i int) { out[i] = int32(r.ControlWord(i)) })
	}
	return out
}

// eachControl finds the control words of a flexible row.
func eachControl(words []int32, visit func(int)) {
	for i := 0; i < len(words); i++ {
		visit(i)
		if words[i] != 0 {
			i++ // its offset
		}
	}
}

// Sort puts the functions into the order of their addresses and sets the flag that says so.
func (t *Table) Sort() {
	sort.SliceStable(t.Functions, func(i, j int) bool { return t.Functions[i].Start < t.Functions[j].Start })
	t.Flags |= Sorted
}

// Encode writes a section: header, function table and rows without gaps. It fails for what the version's fields cannot
// hold.
func Encode(t *Table) ([]byte, error) {
	h := Header{Version: t.Version}
	entry := h.EntrySize()
	switch {
	case entry == 0:
		return nil, fmt.Errorf("sframe: version %d is not known", t.Version)
	case len(t.Aux) > math.MaxUint8:
		return nil, fmt.Errorf("sframe: auxiliary header of %d bytes", len(t.Aux))
	case uint64(len(t.Functions)) > math.MaxUint32/20:
		return nil, fmt.Errorf("sframe: %d functions", len(t.Functions))
	}
	e := encoder{t: t, offsets: make([]uint32, len(t.Functions))}
	order := make([]int, len(t.Functions))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := &t.Functions[order[i]], &t.Functions[order[j]]
		return a.Order < b.Order || a.Order == b.Order && t.Version < v3 && len(a.Rows) == 0 && len(b.Rows) > 0
	})
	rowCount := 0
	for _, i := range order {
		if uint64(len(e.b)) > math.MaxUint32 {
			return nil, fmt.Errorf("sframe: more than 4 GiB of rows")
		}
		e.offsets[i] = uint32(len(e.b))
		if err := e.rows(&t.Functions[i]); err != nil {
			return nil, fmt.Errorf("sframe: function %d: %w", i, err)
		}
		rowCount += len(t.Functions[i].Rows)
	}
	rows := e.b
	if uint64(len(rows)) > math.MaxUint32 {
		return nil, fmt.Errorf("sframe: more than 4 GiB of rows")
	}

	table := len(t.Functions) * entry
	e.b = make([]byte, 0, headerSize+len(t.Aux)+table+len(rows)+len(t.Tail))
	e.u16(Magic)
	e.b = append(e.b, t.Version, uint8(t.Flags), uint8(t.ABI), uint8(t.FixedFP), uint8(t.FixedRA), uint8(len(t.Aux)))
	e.u32(uint32(len(t.Functions)))
	e.u32(uint32(rowCount))
	e.u32(uint32(len(rows)))
	e.u32(0)
	e.u32(uint32(table))
	e.b = append(e.b, t.Aux...)
	for i := range t.Functions {
		if err := e.entry(i); err != nil {
			return nil, fmt.Errorf("sframe: function %d: %w", i, err)
		}
	}
	e.b = append(e.b, rows...)
	return append(e.b, t.Tail...), nil
}

type encoder struct {
	t       *Table
	b       []byte
	offsets []uint32 // of the functions' rows
}

// uint appends the low bytes of v.
func (e *encoder) uint(v uint64, size int) {
	for i := range size {
		shift := 8 * i
		if e.t.BigEndian {
			shift = 8 * (size - 1 - i)
		}
		e.b = append(e.b, byte(v>>shift))
	}
}

func (e *encoder) u16(v uint16) { e.uint(uint64(v), 2) }
func (e *encoder) u32(v uint32) { e.uint(uint64(v), 4) }

// entry writes an entry of the function table.
func (e *encoder) entry(i int) error {
	t, f := e.t, &e.t.Functions[i]
	field := f.Field
	if !t.RawStarts {
		field = int64(f.Start - t.Addr)
		if t.Flags&PCRel != 0 {
			field -= int64(len(e.b))
		}
	}
	if t.Version == v3 {
		e.uint(uint64(field), 8)
		e.u32(f.Size)
		e.u32(e.offsets[i])
		return nil
	}
	if field != int64(int32(field)) {
		return fmt.Errorf("start 0x%x is more than 2 GiB from the section", f.Start)
	}
	e.u32(uint32(field))
	e.u32(f.Size)
	e.u32(e.offsets[i])
	e.u32(uint32(len(f.Rows)))
	e.b = append(e.b, f.Info)
	if t.Version == 2 {
		e.b = append(e.b, f.RepSize)
		e.u16(f.Padding)
	}
	return nil
}

// rows writes a function's rows.
func (e *encoder) rows(f *Function) error {
	if e.t.Version == v3 {
		if len(f.Rows) > math.MaxUint16 {
			return fmt.Errorf("%d rows, version 3 allows %d", len(f.Rows), math.MaxUint16)
		}
		e.u16(uint16(len(f.Rows)))
		e.b = append(e.b, f.Info, f.Info2, f.RepSize)
	}
	width := 1 << (f.Info & infoRowType)
	if width > 4 && len(f.Rows) > 0 {
		return fmt.Errorf("row type %d is not defined", f.Info&infoRowType)
	}
	flex := e.t.Version == v3 && f.Info2&info2Type == typeFlex
	for i := range f.Rows {
		r := &f.Rows[i]
		if len(r.Words) > maxWords {
			return fmt.Errorf("row %d has %d words", i, len(r.Words))
		}
		if width < 4 && r.Start>>(8*width) != 0 {
			return fmt.Errorf("row %d starts at 0x%x, which has no room in %d bytes", i, r.Start, width)
		}
		code := max(int(r.Info>>5&3), wordCode(r.Words, flex))
		if code == 3 && len(r.Words) > 0 {
			return fmt.Errorf("row %d: the size of words is not defined", i)
		}
		e.uint(uint64(r.Start), width)
		e.b = append(e.b, r.Info&(rowInfoBase|rowInfoSign)|byte(len(r.Words))<<1|byte(code)<<5)
		for _, w := range r.Words {
			e.uint(uint64(w), 1<<code)
		}
	}
	return nil
}

// wordCode is the code of the least size that holds the words.
func wordCode(words []int32, flex bool) int {
	code := 0
	fits := func(w int32, signed bool) {
		low, high := int32(0), int32(math.MaxUint8)
		for c := 0; c < 2; c++ {
			if signed {
				low, high = -(high+1)/2, high/2
			}
			if w >= low && w <= high {
				code = max(code, c)
				return
			}
			low, high = 0, math.MaxUint16
		}
		code = 2
	}
	control := uint16(0)
	if flex {
		eachControl(words, func(i int) { control |= 1 << (i & 15) })
	}
	for i, w := range words {
		fits(w, control>>(i&15)&1 == 0)
	}
	return code
}

// RowTypeFor returns the row type for a function: the least width that holds its size, as assemblers choose it.
func RowTypeFor(size uint32) uint8 {
	switch {
	case size <= math.MaxUint8:
		return 0
	case size <= math.MaxUint16:
		return 1
	}
	return 2
}
