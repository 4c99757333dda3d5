package sframe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A section of version 2 errata 1 for AMD64, byte by byte as in the specification: one function of 0x30 bytes at 0x1000
// whose rows are at +0 (sp+8), +1 (sp+16, FP at CFA-16) and +4 (fp+16, FP at CFA-16).
var handMade = []byte{
	0xe2, 0xde, 2, 0x05, // magic, version, SORTED and PCREL
	3, 0, 0xf8, 0, // AMD64, no fixed FP, RA at CFA-8, no auxiliary header
	1, 0, 0, 0, 3, 0, 0, 0, 11, 0, 0, 0, // one function, three rows of 11 bytes
	0, 0, 0, 0, 20, 0, 0, 0, // offsets
	0xe4, 0xef, 0xff, 0xff, 0x30, 0, 0, 0, // 0x201c - 0x101c = 0x1000; size
	0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, // rows, how many, info, repeat size, padding
	0, 0x03, 8, // SP, one word
	1, 0x05, 16, 0xf0, // SP, two words
	4, 0x04, 16, 0xf0, // FP, two words
}

func TestParseHandMade(t *testing.T) {
	s, err := Parse(handMade, Options{Addr: 0x2000})
	if err != nil {
		t.Fatal(err)
	}
	if problems := s.Check(); len(problems) > 0 {
		t.Fatal(problems)
	}
	want := Header{Magic: Magic, Version: 2, Flags: Sorted | PCRel, ABI: AMD64, FixedRA: -8, NumFDEs: 1, NumFREs: 3, FRELen: 11,
		FREOff: 20}
	if s.Header != want {
		t.Errorf("header %+v", s.Header)
	}
	if s.TableOffset() != 28 || s.RowsOffset() != 48 || s.End() != 59 || len(s.Tail()) != 0 {
		t.Errorf("table at %d, rows at %d, end %d", s.TableOffset(), s.RowsOffset(), s.End())
	}
	d, ok := s.Find(0x102f)
	if !ok || d.Start != 0x1000 || d.Size != 0x30 || d.Offset != 28 || d.RowsAt() != 48 {
		t.Fatalf("%v %+v", ok, d)
	}
	for _, pc := range []uint64{0, 0xfff, 0x1030, ^uint64(0)} {
		if d, ok := s.Find(pc); ok {
			t.Errorf("0x%x found in 0x%x", pc, d.Start)
		}
		if _, ok := d.RowAt(pc); ok {
			t.Errorf("row for 0x%x", pc)
		}
	}
	for pc, want := range map[uint64]string{
		0x1000: "+0 to 0x1 at 48, 3 bytes: CFA sp+8, FP unchanged, RA *(cfa-8)",
		0x1001: "+1 to 0x4 at 51, 4 bytes: CFA sp+16, FP *(cfa-16), RA *(cfa-8)",
		0x1003: "+1 to 0x4 at 51, 4 bytes: CFA sp+16, FP *(cfa-16), RA *(cfa-8)",
		0x102f: "+4 to 0x30 at 55, 4 bytes: CFA fp+16, FP *(cfa-16), RA *(cfa-8)",
	} {
		r, ok := d.RowAt(pc)
		got := fmt.Sprintf("+%d to 0x%x at %d, %d bytes: CFA %s, FP %s, RA %s", r.Start, r.End, r.Offset, r.Len(), r.CFA, r.FP, r.RA)
		if !ok || got != want {
			t.Errorf("0x%x: %s\nwant %s", pc, got, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]byte) []byte
		kind   Kind
	}{
		"empty":   {func(b []byte) []byte { return nil }, TooShort},
		"short":   {func(b []byte) []byte { return b[:27] }, TooShort},
		"magic":   {func(b []byte) []byte { b[0] = 0xe3; return b }, BadMagic},
		"version": {func(b []byte) []byte { b[2] = 4; return b }, BadVersion},
		"zero":    {func(b []byte) []byte { b[2] = 0; return b }, BadVersion},
	} {
		s, err := Parse(c.change(slices.Clone(handMade)), Options{})
		var p *Problem
		if s != nil || !errors.As(err, &p) || p.Kind != c.kind {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestFaults plants one fault each into the section made by hand.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		at   int
		to   string
		kind Kind
		want int // where it is reported
	}{
		{"flags", 3, "\x0d", BadFlags, 3},
		{"no ABI", 4, "\x09", BadABI, 4},
		{"other byte order", 4, "\x01", BadByteOrder, 0},
		{"fixed RA", 6, "\xf0", BadFixed, 6},
		{"fixed FP", 5, "\xf0", BadFixed, 5},
		{"auxiliary header beyond", 7, "\xff", OutOfBounds, 8},
		{"many functions", 8, "\xff\xff\xff\xff", OutOfBounds, 8},
		{"many rows", 12, "\xff\xff\xff\xff", BadRowCount, 12},
		{"rows too long", 16, "\xff\xff\xff\xff", OutOfBounds, 16},
		{"rows too short", 16, "\x0a", RowTruncated, 57},
		{"gap", 24, "\x17", BadLayout, 24},
		{"table overlaps", 24, "\x10", BadLayout, 24},
		{"rows far", 24, "\xff\xff\xff\xff", OutOfBounds, 24},
		{"table far", 20, "\xff\xff\xff\xff", OutOfBounds, 8},
		{"no size", 32, "\x00", FDESize, 32},
		{"rows at", 36, "\x0c", OutOfBounds, 28},
		{"rows far off", 36, "\xff\xff\xff\xff", OutOfBounds, 28},
		{"too many rows in function", 40, "\xff\xff\xff\xff", RowTruncated, 59},
		{"row type", 44, "\x03", RowType, 44},
		{"reserved info", 44, "\x40", FDEReserved, 44},
		{"key", 44, "\x20", FDEReserved, 44},
		{"repeat", 44, "\x10", RepeatSize, 44},
		{"padding", 46, "\x01", FDEReserved, 46},
		{"first row", 48, "\x01", RowFirst, 48},
		{"row order", 55, "\x01", RowOrder, 55},
		{"row range", 55, "\x30", RowRange, 55},
		{"word size", 49, "\x63", RowWordSize, 49},
		{"signed", 49, "\x83", RowReserved, 49},
		{"words", 52, "\x07", RowWords, 52},
	} {
		data := slices.Clone(handMade)
		copy(data[c.at:], c.to)
		s, err := Parse(data, Options{Addr: 0x2000})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		problems := s.Check()
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Kind == c.kind && p.Offset == c.want }) {
			t.Errorf("%s: no %s at %d in %v", c.name, c.kind, c.want, problems)
		}
		exerciseSection(t, s)
	}
}

// model is a function as it was written, for look-ups by the book.
type model struct {
	Function
	mask bool
}

// random makes a table of every version, ABI and width of fields there is.
func random(r *rand.Rand, version uint8, abi ABI, flags Flags) (*Table, []model) {
	t := &Table{Version: version, ABI: abi, BigEndian: abi.BigEndian(), FixedRA: fixedRA(abi), Addr: 0x10000000, Flags: flags}
	var models []model
	pc := t.Addr - 0x100000
	for range 1 + r.IntN(30) {
		pc += uint64(r.IntN(3) * 16)
		sizes := []int{0xff, 0xffff, 0x20000}
		kind := r.IntN(3)
		f := Function{Start: pc, Size: 1 + uint32(r.IntN(sizes[kind])), Info: uint8(kind), Order: r.Uint32()}
		m := model{mask: r.IntN(4) == 0}
		limit := f.Size
		if m.mask {
			f.Info |= infoMask
			if limit = v1Repeat; version > 1 {
				limit = 1 + uint32(r.IntN(255))
				f.RepSize = uint8(limit)
			}
		}
		start := uint32(0)
		if version == v3 && abi != AArch64LE && abi != AArch64BE && r.IntN(2) == 0 {
			f.Info2 = typeFlex
		}
		for len(f.Rows) < 20 && start < limit {
			row := TableRow{Start: start, Info: uint8(r.IntN(2)) | uint8(r.IntN(3))<<5}
			word := func() int32 { return int32(r.Uint32()) >> (8 * (1 + r.IntN(3))) }
			if f.Info2 == typeFlex {
				row.Words = []int32{int32(r.IntN(40))<<controlShift | controlReg, word()}
				switch r.IntN(3) {
				case 0:
					row.Words = append(row.Words, 0, int32(r.IntN(40))<<controlShift|controlReg|controlDeref, word())
				case 1:
					row.Words = append(row.Words, controlDeref, word(), controlDeref, word())
				}
			} else {
				row.Words = []int32{word()}
				if r.IntN(2) == 0 {
					row.Words = append(row.Words, word()&^1)
				}
				if abi != AMD64 && r.IntN(2) == 0 && len(row.Words) == 2 {
					row.Words = append(row.Words, word()&^1)
				}
			}
			f.Rows = append(f.Rows, row)
			start += 1 + uint32(r.IntN(int(limit)))/4
		}
		m.Function = f
		models = append(models, m)
		t.Functions = append(t.Functions, f)
		pc += uint64(f.Size)
	}
	return t, models
}

// TestRandomTables writes tables of all kinds and looks addresses up in them, against a reading of the table itself.
func TestRandomTables(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for version := uint8(1); version <= 3; version++ {
		for abi := AArch64BE; abi <= S390X; abi++ {
			for _, flags := range []Flags{0, Sorted, PCRel, Sorted | PCRel} {
				if version == 1 && (abi == S390X || flags&PCRel != 0) {
					continue
				}
				for range 20 {
					table, models := random(r, version, abi, flags)
					testTable(t, r, table, models)
				}
			}
		}
	}
}

func testTable(t *testing.T, r *rand.Rand, table *Table, models []model) {
	t.Helper()
	name := fmt.Sprintf("version %d %s flags %s", table.Version, table.ABI, table.Flags)
	data, err := Encode(table)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s, err := Parse(data, Options{Addr: table.Addr})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, p := range s.Check() {
		t.Errorf("%s: %v", name, &p)
	}
	if s.BigEndian != table.BigEndian || s.Len() != len(models) {
		t.Fatalf("%s: %d functions of %d", name, s.Len(), len(models))
	}
	for i, m := range models {
		for range 8 {
			off := uint32(r.IntN(int(m.Size)))
			d, ok := s.Find(m.Start + uint64(off))
			if !ok || d.Index != i || d.Start != m.Start || d.Size != m.Size || d.Mask() != m.mask {
				t.Fatalf("%s: 0x%x found %v: %+v", name, m.Start+uint64(off), ok, d)
			}
			in := off
			if m.mask {
				in %= d.Repeat()
			}
			want := 0
			for j, row := range m.Rows {
				if row.Start <= in {
					want = j
				}
			}
			row, ok := d.RowAt(m.Start + uint64(off))
			if !ok || row.Index != want || row.Start != m.Rows[want].Start || !slices.Equal(row.words(), m.Rows[want].Words) {
				t.Fatalf("%s: +0x%x: %v, row %d %v, want %d %v", name, off, ok, row.Index, row.words(), want, m.Rows[want].Words)
			}
		}
		if d, ok := s.Find(m.Start + uint64(m.Size)); ok && d.Index <= i {
			t.Errorf("%s: the end of function %d found in %d", name, i, d.Index)
		}
	}
	again, err := s.Table()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if out, err := Encode(again); err != nil || string(out) != string(data) {
		t.Errorf("%s: does not come out the same: %v", name, err)
	}
}

// TestEqualStarts: of two rows with one start the second counts, as in libsframe.
func TestEqualStarts(t *testing.T) {
	data := slices.Clone(handMade)
	data[55] = 1
	s, err := Parse(data, Options{Addr: 0x2000})
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := s.FDE(0).RowAt(0x1001); !ok || r.Index != 2 {
		t.Errorf("%v, row %d", ok, r.Index)
	}
}

// TestUnreadableRows: rows in front of a damaged one hold up to it, and none is taken for what may be its addresses.
func TestUnreadableRows(t *testing.T) {
	data := slices.Clone(handMade)
	data[56] = 0x64 // the last row: no such size of words
	s, err := Parse(data, Options{Addr: 0x2000})
	if err != nil {
		t.Fatal(err)
	}
	d := s.FDE(0)
	if r, ok := d.RowAt(0x1003); !ok || r.Index != 1 || r.End != 4 {
		t.Errorf("in front of the damage: %v, row %d to %d", ok, r.Index, r.End)
	}
	if _, ok := d.RowAt(0x1004); ok {
		t.Error("a row was found where the damaged one is")
	}
}

// TestSharedRows makes a section of functions that all have the same rows: as large as it can be, it must not take
// long.
func TestSharedRows(t *testing.T) {
	const functions, rows = 20000, 100000
	table := &Table{Version: 2, ABI: AMD64, FixedRA: -8, Flags: Sorted}
	for i := range functions {
		table.Functions = append(table.Functions, Function{Start: uint64(i), Size: 1})
	}
	data, err := Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	for i := range functions {
		binary.LittleEndian.PutUint32(data[headerSize+20*i+12:], rows)
	}
	binary.LittleEndian.PutUint32(data[16:], 2*rows)
	s, err := Parse(append(data, make([]byte, 2*rows)...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.Check(), func(p Problem) bool { return p.Kind == RowsShared }) {
		t.Error("shared rows are not told")
	}
	if _, err := s.Table(); err == nil || !strings.Contains(err.Error(), "share rows") {
		t.Errorf("table: %v", err)
	}
	if _, _, err := s.Convert(Target{Version: 3}); err == nil {
		t.Error("converted")
	}
	exerciseSection(t, s)
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		tail string
		kind Kind
	}{
		{"\x00\x00\x00\x00\x00\x00\x00", 0},
		{"\x00\x00\x00\x00\x00\x00\x00\x00", TrailingData},
		{"\x01", TrailingData},
		{string(handMade), Concatenated},
		{"\x00\x00\x00\x00\x00" + string(handMade), Concatenated},
	} {
		s, err := Parse(append(slices.Clone(handMade), c.tail...), Options{Addr: 0x2000})
		if err != nil {
			t.Fatal(err)
		}
		problems := s.Check()
		if string(s.Tail()) != c.tail || c.kind == 0 && len(problems) > 0 ||
			c.kind != 0 && (len(problems) != 1 || problems[0].Kind != c.kind) {
			t.Errorf("%q: %v", c.tail, problems)
		}
	}
}

// large is a section like one of a large program: 66000 functions of five rows.
func large(t testing.TB) *Section {
	t.Helper()
	table := &Table{Version: 3, ABI: AMD64, FixedRA: -8, Flags: Sorted | PCRel, Addr: 0x40000000}
	rows := []TableRow{
		{0, rowInfoBase, []int32{8}}, {1, rowInfoBase, []int32{16, -16}}, {4, 0, []int32{16, -16}},
		{60, rowInfoBase, []int32{8}}, {62, 0, []int32{16, -16}},
	}
	for i := range 66000 {
		table.Functions = append(table.Functions, Function{Start: 0x1000000 + uint64(i)*64, Size: 64, Rows: rows, Order: uint32(i)})
	}
	data, err := Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data, Options{Addr: table.Addr})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNoAllocations(t *testing.T) {
	s := large(t)
	pc := uint64(0x1000000)
	var caller Recovered
	env := Env(flatEnv{})
	n := testing.AllocsPerRun(100, func() {
		pc += 12345
		d, ok := s.Find(pc)
		if !ok {
			t.Fatal("not found")
		}
		row, ok := d.RowAt(pc)
		if !ok || row.Apply(env, &caller) != nil {
			t.Fatal("no row")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for a look-up", n)
	}
	n = testing.AllocsPerRun(3, func() {
		count := 0
		for it := s.Functions(); it.Next(); {
			for it.NextRow() {
				count++
			}
		}
		if count != 5*66000 {
			t.Fatal(count)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for all rows", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	s := large(b)
	b.SetBytes(int64(len(s.Data)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := Parse(s.Data, Options{Addr: s.Addr})
		if err != nil {
			b.Fatal(err)
		}
		for it := s.Functions(); it.Next(); {
			for it.NextRow() {
			}
		}
	}
}

func BenchmarkLookUp(b *testing.B) {
	s := large(b)
	b.ReportAllocs()
	var caller Recovered
	env := Env(flatEnv{})
	for i := uint64(0); b.Loop(); i++ {
		pc := 0x1000000 + i*7919%(66000*64)
		d, _ := s.Find(pc)
		if row, ok := d.RowAt(pc); !ok || row.Apply(env, &caller) != nil {
			b.Fatal("no row")
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s := large(b)
	b.SetBytes(int64(len(s.Data)))
	for b.Loop() {
		if p := s.Check(); len(p) > 0 {
			b.Fatal(p)
		}
	}
}
