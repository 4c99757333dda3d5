package dwarf

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// asm writes numbers of one byte order.
type asm struct {
	b    []byte
	big  bool
	word int
}

func (a *asm) order() binary.AppendByteOrder {
	if a.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (a *asm) u8(v ...byte) *asm   { a.b = append(a.b, v...); return a }
func (a *asm) u16(v uint16) *asm   { a.b = a.order().AppendUint16(a.b, v); return a }
func (a *asm) u32(v uint32) *asm   { a.b = a.order().AppendUint32(a.b, v); return a }
func (a *asm) u64(v uint64) *asm   { a.b = a.order().AppendUint64(a.b, v); return a }
func (a *asm) text(s string) *asm  { a.b = append(append(a.b, s...), 0); return a }
func (a *asm) addr(v uint64) *asm  { return a.uint(v, a.word) }
func (a *asm) pos() int            { return len(a.b) }
func (a *asm) block(b []byte) *asm { a.uleb(uint64(len(b))); a.b = append(a.b, b...); return a }

func (a *asm) uint(v uint64, size int) *asm {
	switch size {
	case 1:
		return a.u8(byte(v))
	case 2:
		return a.u16(uint16(v))
	case 4:
		return a.u32(uint32(v))
	}
	return a.u64(v)
}

func (a *asm) uleb(v uint64) *asm {
	a.b = binary.AppendUvarint(a.b, v)
	return a
}

func (a *asm) sleb(v int64) *asm {
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return a.u8(b)
		}
		a.u8(b | 0x80)
	}
}

// frames builds a section of call frame information.
type frames struct {
	asm
	debug, wide bool
	at          uint64 // address of the section
}

// entry writes an entry with its length, padded to the word with nops, and returns its offset.
func (s *frames) entry(id uint64, body func(a *asm)) int {
	from := s.pos()
	size := 4
	if s.wide {
		s.u32(0xffffffff)
		size = 8
	}
	length := s.pos()
	s.uint(0, size)
	begin := s.pos()
	if !s.debug && id != 0 { // distance from this field to the CIE
		id = uint64(begin) - (id - 1)
	} else if s.debug && id == 0 {
		id = ^uint64(0)
	} else if s.debug {
		id--
	}
	s.uint(id, size)
	body(&s.asm)
	for s.pos()%s.word != 0 {
		s.u8(0)
	}
	fixed := asm{big: s.big}
	copy(s.b[length:], fixed.uint(uint64(s.pos()-begin), size).b)
	return from
}

// cieSpec is a CIE; the zero values of version, address size and alignments mean 1, the word, 1 and -word.
type cieSpec struct {
	version         byte
	aug             string
	data            func(a *asm) // augmentation data, behind its length
	addrSize, seg   byte
	code            uint64
	align           int64
	ra              uint64
	program, before []byte
}

func (s *frames) cie(c cieSpec) int {
	if c.version == 0 {
		c.version = 1
	}
	if c.addrSize == 0 {
		c.addrSize = byte(s.word)
	}
	if c.code == 0 {
		c.code = 1
	}
	if c.align == 0 {
		c.align = -int64(s.word)
	}
	return s.entry(0, func(a *asm) {
		a.u8(c.version).text(c.aug).u8(c.before...)
		if c.version >= 4 {
			a.u8(c.addrSize, c.seg)
		}
		a.uleb(c.code).sleb(c.align)
		if c.version == 1 {
			a.u8(byte(c.ra))
		} else {
			a.uleb(c.ra)
		}
		if c.data != nil {
			d := asm{big: a.big, word: a.word}
			c.data(&d)
			a.block(d.b)
		}
		a.u8(c.program...)
	})
}

// fde writes an FDE whose body begins with the range.
func (s *frames) fde(cie int, body func(a *asm)) int { return s.entry(uint64(cie)+1, body) }

// plain writes an FDE of absolute addresses.
func (s *frames) plain(cie int, start, size uint64, program ...byte) int {
	return s.fde(cie, func(a *asm) { a.addr(start).addr(size).u8(program...) })
}

func (s *frames) section() Section {
	name := ".eh_frame"
	if s.debug {
		name = ".debug_frame"
	}
	return Section{Name: name, Addr: s.at, Data: s.b, Debug: s.debug}
}

func (s *frames) open(t testing.TB, m elf.Machine) *File {
	t.Helper()
	f, err := OpenSections(Layout{Machine: m, Word: s.word, BigEndian: s.big, TextBase: 0x10000, DataBase: 0x20000},
		s.section())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// eachLayout runs a test for both formats, both lengths, both words and both byte orders.
func eachLayout(t *testing.T, test func(t *testing.T, s *frames)) {
	for i := range 16 {
		s := &frames{asm: asm{big: i&1 != 0, word: 4 + i&2*2}, debug: i&4 != 0, wide: i&8 != 0}
		t.Run(fmt.Sprintf("word%d-big%t-debug%t-wide%t", s.word, s.big, s.debug, s.wide), func(t *testing.T) {
			test(t, s)
		})
	}
}

// rowText writes a row in one line: start, CFA, and every rule.
func rowText(r *Row) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%x %s", r.Start, r.CFA)
	for _, g := range r.Regs {
		fmt.Fprintf(&out, " %d=%s", g.Reg, strings.ReplaceAll(g.String(), "same value", "same"))
	}
	if r.RASigned {
		out.WriteString(" signed")
	}
	if r.RASignedWithPC {
		out.WriteString("+pc")
	}
	if r.ArgsSize != 0 {
		fmt.Fprintf(&out, " args=%d", r.ArgsSize)
	}
	return out.String()
}

// rowsOf lists the rows of an FDE and checks that they cover it and that RowAt gives the same ones.
func rowsOf(t testing.TB, d *FDE) []string {
	t.Helper()
	var out []string
	next := d.Start
	var at Row
	err := d.Rows(nil, func(r *Row) bool {
		if r.Start != next || r.End <= r.Start || r.FDE != d {
			t.Errorf("row 0x%x-0x%x follows 0x%x", r.Start, r.End, next)
		}
		next = r.End
		out = append(out, rowText(r))
		for _, pc := range []uint64{r.Start, r.Start + (r.End-r.Start)/2, r.End - 1} {
			if err := d.RowAt(pc, &at); err != nil {
				t.Errorf("RowAt(0x%x): %v", pc, err)
			} else if rowText(&at) != rowText(r) || at.End != r.End || at.Offset != r.Offset || !at.SameRules(r) {
				t.Errorf("RowAt(0x%x) = %s, want %s", pc, rowText(&at), rowText(r))
			}
		}
		if !slices.IsSortedFunc(r.Regs, func(a, b RegRule) int { return int(a.Reg) - int(b.Reg) }) {
			t.Errorf("rules of 0x%x are not sorted", r.Start)
		}
		return true
	})
	if err != nil {
		return append(out, "error: "+err.Error())
	}
	if next != d.End {
		t.Errorf("rows end at 0x%x, not at 0x%x", next, d.End)
	}
	return out
}

func noProblems(t testing.TB, f *File) {
	t.Helper()
	for _, p := range f.Problems() {
		t.Errorf("%s (%s)", p, p.Kind)
	}
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
