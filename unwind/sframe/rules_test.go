package sframe

import (
	"errors"
	"fmt"
	"testing"
)

// oneRow is a section of one function with one row.
func oneRow(t testing.TB, version uint8, abi ABI, info2 uint8, row TableRow) Row {
	t.Helper()
	data, err := Encode(&Table{
		Version: version, ABI: abi, BigEndian: abi.BigEndian(), FixedRA: fixedRA(abi),
		Functions: []Function{{Start: 0x100, Size: 0x10, Info2: info2, Rows: []TableRow{row}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	it := s.FDE(0).Rows()
	if !it.Next() {
		t.Fatal(it.Problem())
	}
	return it.Row
}

const (
	sp   = rowInfoBase
	flex = typeFlex
)

// control words of flexible rules
func ctl(reg int32, bits int32) int32 { return reg<<controlShift | bits }

func TestRules(t *testing.T) {
	for _, c := range []struct {
		version uint8
		abi     ABI
		info2   uint8
		info    uint8
		words   []int32
		want    string
	}{
		{2, AMD64, 0, sp, []int32{8}, "CFA sp+8, FP unchanged, RA *(cfa-8)"},
		{2, AMD64, 0, 0, []int32{16, -16}, "CFA fp+16, FP *(cfa-16), RA *(cfa-8)"},
		{2, AMD64, 0, sp, []int32{1 << 20, -300}, "CFA sp+1048576, FP *(cfa-300), RA *(cfa-8)"},
		{2, AMD64, 0, sp, []int32{8, -16, -8}, "row-words"},
		{2, AMD64, 0, sp, nil, "outermost"},
		{1, AArch64LE, 0, sp, []int32{0}, "CFA sp, FP unchanged, RA unchanged"},
		{2, AArch64LE, 0, sp, []int32{48, -40}, "CFA sp+48, FP unchanged, RA *(cfa-40)"},
		{3, AArch64BE, 0, sp, []int32{48, -40, -48}, "CFA sp+48, FP *(cfa-48), RA *(cfa-40)"},
		{3, AArch64LE, 0, sp, []int32{48, -40, -48, -1}, "row-words"},
		{3, AArch64LE, 2, sp, []int32{48}, "fde-type"},
		{2, S390X, 0, sp, []int32{0}, "CFA sp+160, FP unchanged, RA unchanged"},
		{2, S390X, 0, 0, []int32{20, -48, -72}, "CFA fp+320, FP *(cfa-72), RA *(cfa-48)"},
		{2, S390X, 0, sp, []int32{0, 0, -72}, "CFA sp+160, FP *(cfa-72), RA unchanged"},
		{2, S390X, 0, sp, []int32{0, 17<<1 | 1, 16<<1 | 1}, "CFA sp+160, FP r16, RA r17"},
		{2, S390X, 0, sp, []int32{0, 11<<1 | 1, 15<<1 | 1}, "CFA sp+160, FP sp, RA fp"},
		{3, S390X, 0, sp, []int32{0, -47}, "CFA sp+160, FP unchanged, RA *(cfa-47)"},
		{3, S390X, flex, 0, []int32{ctl(1, controlReg), 2}, "CFA r1+176, FP unchanged, RA unchanged"},
		{3, S390X, flex, 0, []int32{ctl(15, controlReg), 0, ctl(17, controlReg), 0, ctl(16, controlReg), 0},
			"CFA sp+160, FP r16, RA r17"},
		{3, AMD64, flex, 0, []int32{ctl(10, controlReg), 0}, "CFA r10, FP unchanged, RA *(cfa-8)"},
		{3, AMD64, flex, 0, []int32{ctl(6, controlReg|controlDeref), -8, 0, ctl(6, controlReg|controlDeref), 0},
			"CFA *(fp-8), FP *(fp), RA *(cfa-8)"},
		{3, AMD64, flex, 0, []int32{ctl(7, controlReg), 8, ctl(11, controlReg), 0}, "CFA sp+8, FP unchanged, RA r11"},
		{3, AMD64, flex, 0, []int32{ctl(7, controlReg), 24, ctl(0, controlDeref), -16, ctl(0, controlDeref), -24},
			"CFA sp+24, FP *(cfa-24), RA *(cfa-16)"},
		{3, AMD64, flex, 0, []int32{ctl(31, controlReg), 0}, "CFA r31, FP unchanged, RA *(cfa-8)"}, // 0xf9 is no negative
		{3, AMD64, flex, 0, []int32{ctl(7, 0), 8}, "row-rule"},
		{3, AMD64, flex, 0, []int32{8}, "row-rule"},
		{3, AMD64, flex, 0, []int32{ctl(7, controlReg), 8, 0}, "row-words"},
		{3, AMD64, flex, 0, []int32{ctl(7, controlReg), 8, 0, ctl(0, controlDeref)}, "row-words"},
		{3, AMD64, flex, 0, []int32{ctl(7, controlReg), 8, 0, 0, 0}, "row-words"},
	} {
		r := oneRow(t, c.version, c.abi, c.info2, TableRow{Info: c.info, Words: c.words})
		got := fmt.Sprintf("CFA %s, FP %s, RA %s", r.CFA, r.FP, r.RA)
		if r.Fault != 0 {
			got = r.Fault.String()
		} else if r.Outermost {
			got = "outermost"
		}
		if got != c.want {
			t.Errorf("version %d %s %v: %s, want %s", c.version, c.abi, c.words, got, c.want)
		}
	}
}

// frame is a frame with few registers and a few words of stack.
type frame struct {
	registers map[uint64]uint64
	memory    map[uint64]uint64
}

func (f *frame) Register(n uint64) (uint64, bool) { v, ok := f.registers[n]; return v, ok }

func (f *frame) Load(addr uint64, size int) (uint64, bool) {
	v, ok := f.memory[addr]
	return v, ok && size == 8
}

func TestApply(t *testing.T) {
	amd64 := &frame{
		map[uint64]uint64{7: 0x1000, 6: 0x1010, 10: 0x2000},
		map[uint64]uint64{0x1008: 0xf, 0x1018: 0xa, 0x1010: 0xb, 0x2000: 0x3008, 0x3000: 0xc},
	}
	arm := &frame{map[uint64]uint64{31: 0x1000, 29: 0x1010, 30: 0x77}, map[uint64]uint64{0x1018: 0xa, 0x1010: 0xb}}
	s390 := &frame{map[uint64]uint64{15: 0x1000, 11: 0x1020, 14: 0x77, 16: 5, 17: 6}, map[uint64]uint64{0x1078: 0xa}}
	for _, c := range []struct {
		name    string
		version uint8
		abi     ABI
		info2   uint8
		info    uint8
		words   []int32
		env     Env
		want    Recovered
		err     string
	}{
		{"sp", 2, AMD64, 0, sp, []int32{32}, amd64,
			Recovered{CFA: 0x1020, SP: 0x1020, RA: 0xa, FP: 0x1010, FPKnown: true, RAAddr: 0x1018, RAFrom: NoReg, FPFrom: 6}, ""},
		{"fp", 2, AMD64, 0, 0, []int32{16, -16}, amd64,
			Recovered{CFA: 0x1020, SP: 0x1020, RA: 0xa, FP: 0xb, FPKnown: true, RAAddr: 0x1018, FPAddr: 0x1010, RAFrom: NoReg,
				FPFrom: NoReg}, ""},
		{"no FP", 2, AMD64, 0, sp, []int32{32, -80}, amd64,
			Recovered{CFA: 0x1020, SP: 0x1020, RA: 0xa, RAAddr: 0x1018, FPAddr: 0xfd0, RAFrom: NoReg, FPFrom: NoReg}, ""},
		{"no RA", 2, AMD64, 0, sp, []int32{64}, amd64, Recovered{}, "sframe: the return address at 0x1038 cannot be read"},
		{"outermost", 2, AMD64, 0, 0, nil, amd64, Recovered{}, ErrOutermost.Error()},
		{"CFA in memory", 3, AMD64, flex, 0, []int32{ctl(10, 3), 0}, amd64,
			Recovered{CFA: 0x3008, SP: 0x3008, RA: 0xc, FP: 0x1010, FPKnown: true, RAAddr: 0x3000, RAFrom: NoReg, FPFrom: 6}, ""},
		{"CFA in no memory", 3, AMD64, flex, 0, []int32{ctl(10, 3), 8}, amd64, Recovered{},
			"sframe: the CFA at 0x2008 cannot be read"},
		{"register not known", 3, AMD64, flex, 0, []int32{ctl(12, 1), 8}, amd64, Recovered{},
			"sframe: register 12 for the CFA is not known"},
		{"bad row", 2, AMD64, 0, sp, []int32{8, -16, -24}, amd64, Recovered{},
			"sframe: row at 0x30 cannot be used: row-words"},
		{"leaf", 3, AArch64LE, 0, sp, []int32{0}, arm,
			Recovered{CFA: 0x1000, SP: 0x1000, RA: 0x77, FP: 0x1010, FPKnown: true, RAFrom: 30, FPFrom: 29}, ""},
		{"frame record", 3, AArch64LE, 0, sp, []int32{32, -8, -16}, arm,
			Recovered{CFA: 0x1020, SP: 0x1020, RA: 0xa, FP: 0xb, FPKnown: true, RAAddr: 0x1018, FPAddr: 0x1010, RAFrom: NoReg,
				FPFrom: NoReg}, ""},
		{"registers", 2, S390X, 0, sp, []int32{0, 35, 33}, s390,
			Recovered{CFA: 0x10a0, SP: 0x1000, RA: 6, FP: 5, FPKnown: true, RAFrom: 17, FPFrom: 16}, ""},
		{"slot", 2, S390X, 0, 0, []int32{1, -80}, s390,
			Recovered{CFA: 0x10c8, SP: 0x1028, RA: 0xa, FP: 0x1020, FPKnown: true, RAAddr: 0x1078, RAFrom: NoReg, FPFrom: 11}, ""},
	} {
		r := oneRow(t, c.version, c.abi, c.info2, TableRow{Info: c.info, Words: c.words})
		var got Recovered
		err := r.Apply(c.env, &got)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n got %+v\nwant %+v", c.name, err, got, c.want)
		}
	}
	r := oneRow(t, 2, AMD64, 0, TableRow{})
	if err := r.Apply(amd64, &Recovered{}); !errors.Is(err, ErrOutermost) {
		t.Error(err)
	}
}

// TestWithoutRows: what a function of version 3 without rows is.
func TestWithoutRows(t *testing.T) {
	for _, c := range []struct {
		version     uint8
		info, info2 uint8
		outermost   bool
	}{{3, 0, 0, true}, {3, infoSignal, 0, false}, {3, 0, flex, false}, {2, 0, 0, false}} {
		data, err := Encode(&Table{Version: c.version, ABI: AMD64, FixedRA: -8, Functions: []Function{{Size: 1, Info: c.info, Info2: c.info2}}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(data, Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, ok := s.Find(0)
		if !ok || d.Outermost() != c.outermost || d.Signal() != (c.info != 0) {
			t.Errorf("%+v: found %v, outermost %v, signal %v", c, ok, d.Outermost(), d.Signal())
		}
		if _, ok := d.RowAt(0); ok {
			t.Error("a row")
		}
	}
}
