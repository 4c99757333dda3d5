package sframe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// convert converts one row and reads it again.
func convert(t *testing.T, r *Row, to Target) string {
	t.Helper()
	table, dropped, err := r.FDE.Section().Convert(to)
	if err != nil {
		return err.Error()
	}
	if len(dropped) > 0 {
		return "dropped: " + dropped[0].Why
	}
	data, err := Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Check(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	it := s.FDE(0).Rows()
	if !it.Next() {
		t.Fatal(it.Problem())
	}
	if it.Row.Outermost {
		return "outermost"
	}
	return fmt.Sprintf("%v CFA %s, FP %s, RA %s", it.Row.words(), it.Row.CFA, it.Row.FP, it.Row.RA)
}

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		version uint8
		abi     ABI
		info2   uint8
		info    uint8
		words   []int32
		to      Target
		want    string
	}{
		{3, AMD64, 0, sp, []int32{16, -16}, Target{2, 1}, "[16 -16] CFA sp+16, FP *(cfa-16), RA *(cfa-8)"},
		{3, AMD64, 0, sp, []int32{16, -16}, Target{1, 0}, "[16 -16] CFA sp+16, FP *(cfa-16), RA *(cfa-8)"},
		{1, AMD64, 0, 0, []int32{16, -16}, Target{3, 0}, "[16 -16] CFA fp+16, FP *(cfa-16), RA *(cfa-8)"},
		{3, AMD64, 0, 0, nil, Target{2, 2}, "outermost"},
		{3, AMD64, 0, 0, nil, Target{2, 1}, "dropped: an undefined return address"},
		{3, AMD64, flex, 0, []int32{ctl(7, 1), 16, 0, ctl(0, 2), -16}, Target{2, 1},
			"[16 -16] CFA sp+16, FP *(cfa-16), RA *(cfa-8)"},
		{3, AMD64, flex, 0, []int32{ctl(31, 1), 16}, Target{3, 0}, "[249 16] CFA r31+16, FP unchanged, RA *(cfa-8)"},
		{3, AMD64, flex, 0, []int32{ctl(10, 1), 0}, Target{2, 1}, "dropped: rules CFA r10, FP unchanged, RA *(cfa-8)"},
		{3, AMD64, flex, 0, []int32{ctl(7, 1), 8, ctl(11, 1), 0}, Target{2, 1}, "dropped: rules CFA sp+8, FP unchanged, RA r11"},
		{3, AMD64, flex, 0, []int32{ctl(7, 1), 8, 0, ctl(0, 0), 0}, Target{2, 1}, "dropped: a row that cannot be used: row-words"},
		{3, AMD64, flex, 0, []int32{ctl(6, 3), -8}, Target{2, 1}, "dropped: rules CFA *(fp-8), FP unchanged, RA *(cfa-8)"},
		{2, AArch64LE, 0, sp | rowInfoSign, []int32{48, -40, -48}, Target{3, 0}, "[48 -40 -48] CFA sp+48, FP *(cfa-48), RA *(cfa-40)"},
		{2, S390X, 0, sp, []int32{0, 17<<1 | 1, 16<<1 | 1}, Target{3, 0}, "[121 0 137 0 129 0] CFA sp+160, FP r16, RA r17"},
		{3, S390X, flex, 0, []int32{ctl(15, 1), 0, ctl(17, 1), 0, ctl(16, 1), 0}, Target{2, 1},
			"[0 35 33] CFA sp+160, FP r16, RA r17"},
		{3, S390X, flex, 0, []int32{ctl(15, 1), 0, 0, ctl(16, 1), 0}, Target{2, 1}, "[0 0 33] CFA sp+160, FP r16, RA unchanged"},
		{3, S390X, 0, sp, []int32{0, -47}, Target{2, 1}, "dropped: rules CFA sp+160, FP unchanged, RA *(cfa-47)"},
		{3, S390X, 0, sp, []int32{0}, Target{2, 0}, "sframe: s390x came with version 2 errata 1"},
		{3, AMD64, 0, sp, []int32{8}, Target{4, 0}, "sframe: version 4 is not known"},
	} {
		r := oneRow(t, c.version, c.abi, c.info2, TableRow{Info: c.info, Words: c.words})
		if got := convert(t, &r, c.to); got != c.want {
			t.Errorf("version %d %s %v to %v: %s, want %s", c.version, c.abi, c.words, c.to, got, c.want)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	row := []TableRow{{0, sp, []int32{8}}}
	for _, c := range []struct {
		table Table
		want  string
	}{
		{Table{Version: 4}, "version 4"},
		{Table{Version: 2, Aux: make([]byte, 256)}, "auxiliary header of 256"},
		{Table{Version: 2, Functions: []Function{{Start: 1 << 40}}}, "more than 2 GiB"},
		{Table{Version: 2, Functions: []Function{{Info: 3, Rows: row}}}, "row type 3"},
		{Table{Version: 2, Functions: []Function{{Rows: []TableRow{{Start: 256}}}}}, "no room in 1 bytes"},
		{Table{Version: 2, Functions: []Function{{Rows: []TableRow{{Words: make([]int32, 16)}}}}}, "16 words"},
		{Table{Version: 2, Functions: []Function{{Rows: []TableRow{{Info: 0x60, Words: make([]int32, 1)}}}}}, "size of words"},
		{Table{Version: 3, Functions: []Function{{Rows: make([]TableRow, 65536)}}}, "65536 rows"},
	} {
		if _, err := Encode(&c.table); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestEncodeFar: version 3 reaches any address.
func TestEncodeFar(t *testing.T) {
	table := Table{Version: 3, ABI: AMD64, FixedRA: -8, Flags: PCRel, Addr: 1 << 62, Functions: []Function{
		{Start: 5 << 60, Size: 0x20000, Info: RowTypeFor(0x20000), Rows: []TableRow{{0, sp, []int32{8}}}},
		{Start: 1 << 20, Size: 0x200, Info: RowTypeFor(0x200), Rows: []TableRow{{0, sp, []int32{8}}}, Order: 1},
	}}
	table.Sort()
	data, err := Encode(&table)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data, Options{Addr: table.Addr})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint64{1 << 20, 5 << 60} {
		if d, ok := s.Find(want); !ok || d.Index != i || d.StartWidth() != []int{2, 4}[i] {
			t.Errorf("0x%x: %v %+v", want, ok, d)
		}
	}
	if p := s.Check(); len(p) > 0 || s.Header.Flags != Sorted|PCRel {
		t.Errorf("%v, flags %s", p, s.Header.Flags)
	}
}

func TestWordCode(t *testing.T) {
	for _, c := range []struct {
		words []int32
		flex  bool
		want  int
	}{
		{nil, false, 0},
		{[]int32{127, -128}, false, 0},
		{[]int32{128}, false, 1},
		{[]int32{-129}, false, 1},
		{[]int32{32767, -32768}, false, 1},
		{[]int32{32768}, false, 2},
		{[]int32{-32769}, false, 2},
		{[]int32{255, 127}, true, 0},
		{[]int32{255, 128}, true, 1},
		{[]int32{256, 0}, true, 1},
		{[]int32{1, 0, 0, 255, -128}, true, 0},
		{[]int32{65535, 0}, true, 1},
		{[]int32{65536, 0}, true, 2},
		{[]int32{-1, 0}, true, 2},
	} {
		if got := wordCode(c.words, c.flex); got != c.want {
			t.Errorf("%v flexible %v: %d, want %d", c.words, c.flex, got, c.want)
		}
	}
}

func TestABIs(t *testing.T) {
	for a := AArch64BE; a <= S390X; a++ {
		if !a.Known() || ABIOf(a.Machine(), a.BigEndian()) != a {
			t.Errorf("%s", a)
		}
	}
	for _, a := range []ABI{0, 5, 255} {
		if a.Known() || a.SP() != NoReg || !strings.HasPrefix(a.String(), "unknown") {
			t.Errorf("%d is %s", uint8(a), a)
		}
	}
	names := slices.Clone(kindNames[:])
	slices.Sort(names)
	if len(slices.Compact(names)) != len(kindNames) || int(BadRelocation) != len(kindNames)-1 {
		t.Error("kinds without a name of their own")
	}
}
