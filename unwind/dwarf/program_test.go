package dwarf

import (
	"debug/elf"
	"strings"
	"testing"
)

// instruction helpers: each gives the bytes of one instruction.
func op(code byte, operands ...uint64) []byte {
	a := asm{}
	a.u8(code)
	for _, v := range operands {
		a.uleb(v)
	}
	return a.b
}

func opS(code byte, reg uint64, offset int64) []byte {
	return (&asm{}).u8(code).uleb(reg).sleb(offset).b
}

func opExpr(code byte, reg uint64, expr ...byte) []byte {
	return (&asm{}).u8(code).uleb(reg).block(expr).b
}

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func advance(n byte) []byte { return []byte{cfaAdvanceLoc | n} }

func TestInstructions(t *testing.T) {
	// The CIE gives r7+8, r16=[cfa-8], r3=[cfa-16]; the code alignment is 2, the data alignment -8.
	initial := join(op(cfaDefCFA, 7, 8), op(cfaOffset|16, 1), op(cfaOffset|3, 2))
	tests := []struct {
		name    string
		program []byte
		want    []string
	}{
		{"nothing", nil, []string{"1000 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"nop", []byte{cfaNop, cfaNop}, []string{"1000 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"advance_loc", join(advance(1), op(cfaDefCFAOffset, 16), advance(0x3f), op(cfaDefCFAOffset, 8)),
			[]string{"1000 r7+8 3=[cfa-16] 16=[cfa-8]", "1002 r7+16 3=[cfa-16] 16=[cfa-8]", "1080 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"advance_loc1", join([]byte{cfaAdvanceLoc1, 0x90}, op(cfaDefCFAOffset, 16)),
			[]string{"1000 r7+8 3=[cfa-16] 16=[cfa-8]", "1120 r7+16 3=[cfa-16] 16=[cfa-8]"}},
		{"advance by 0", join(advance(0), op(cfaDefCFAOffset, 16)), []string{"1000 r7+16 3=[cfa-16] 16=[cfa-8]"}},
		{"advance to the end", join(advance(1), []byte{cfaAdvanceLoc2, 7, 0xff}, op(cfaDefCFAOffset, 16)),
			[]string{"1000 r7+8 3=[cfa-16] 16=[cfa-8]", "1002 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"offset", op(cfaOffset|6, 3), []string{"1000 r7+8 3=[cfa-16] 6=[cfa-24] 16=[cfa-8]"}},
		{"offset again", op(cfaOffset|3, 5), []string{"1000 r7+8 3=[cfa-40] 16=[cfa-8]"}},
		{"offset_extended", op(cfaOffsetExtended, 200, 3), []string{"1000 r7+8 3=[cfa-16] 16=[cfa-8] 200=[cfa-24]"}},
		{"offset_extended_sf", opS(cfaOffsetExtendedSF, 6, -2), []string{"1000 r7+8 3=[cfa-16] 6=[cfa+16] 16=[cfa-8]"}},
		{"GNU_negative_offset_extended", op(cfaGNUNegOffsetExtended, 6, 2),
			[]string{"1000 r7+8 3=[cfa-16] 6=[cfa+16] 16=[cfa-8]"}},
		{"val_offset", op(cfaValOffset, 6, 2), []string{"1000 r7+8 3=[cfa-16] 6=cfa-16 16=[cfa-8]"}},
		{"val_offset_sf", opS(cfaValOffsetSF, 6, -2), []string{"1000 r7+8 3=[cfa-16] 6=cfa+16 16=[cfa-8]"}},
		{"restore", join(op(cfaOffset|3, 9), op(cfaOffset|6, 4), advance(1), op(cfaRestore|3), op(cfaRestore|6)),
			[]string{"1000 r7+8 3=[cfa-72] 6=[cfa-32] 16=[cfa-8]", "1002 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"restore_extended", join(op(cfaOffset|3, 9), op(cfaOffsetExtended, 99, 4), advance(1), op(cfaRestoreExtended, 3),
			op(cfaRestoreExtended, 99)),
			[]string{"1000 r7+8 3=[cfa-72] 16=[cfa-8] 99=[cfa-32]", "1002 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"restore of what was dropped", join(op(cfaUndefined, 3), advance(1), op(cfaRestore|3)),
			[]string{"1000 r7+8 3=undefined 16=[cfa-8]", "1002 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"undefined", op(cfaUndefined, 16), []string{"1000 r7+8 3=[cfa-16] 16=undefined"}},
		{"same_value", op(cfaSameValue, 3), []string{"1000 r7+8 3=same 16=[cfa-8]"}},
		{"register", op(cfaRegister, 16, 10), []string{"1000 r7+8 3=[cfa-16] 16=r10"}},
		{"remember and restore", join([]byte{cfaRememberState}, op(cfaDefCFA, 6, 16), op(cfaOffset|6, 2), op(cfaRestore|3),
			op(cfaGNUArgsSize, 12), advance(1), []byte{cfaRestoreState}),
			[]string{"1000 r6+16 3=[cfa-16] 6=[cfa-16] 16=[cfa-8] args=12", "1002 r7+8 3=[cfa-16] 16=[cfa-8] args=12"}},
		{"remember twice", join([]byte{cfaRememberState}, op(cfaDefCFAOffset, 16), []byte{cfaRememberState},
			op(cfaUndefined, 3), op(cfaDefCFAOffset, 24), advance(1), []byte{cfaRestoreState}, advance(1),
			[]byte{cfaRestoreState}),
			[]string{"1000 r7+24 3=undefined 16=[cfa-8]", "1002 r7+16 3=[cfa-16] 16=[cfa-8]",
				"1004 r7+8 3=[cfa-16] 16=[cfa-8]"}},
		{"def_cfa", op(cfaDefCFA, 6, 300), []string{"1000 r6+300 3=[cfa-16] 16=[cfa-8]"}},
		{"def_cfa_sf", opS(cfaDefCFASF, 6, -2), []string{"1000 r6+16 3=[cfa-16] 16=[cfa-8]"}},
		{"def_cfa_register", op(cfaDefCFARegister, 130), []string{"1000 r130+8 3=[cfa-16] 16=[cfa-8]"}},
		{"def_cfa_offset", op(cfaDefCFAOffset, 1000), []string{"1000 r7+1000 3=[cfa-16] 16=[cfa-8]"}},
		{"def_cfa_offset_sf", (&asm{}).u8(cfaDefCFAOffsetSF).sleb(-3).b, []string{"1000 r7+24 3=[cfa-16] 16=[cfa-8]"}},
		{"def_cfa_expression", (&asm{}).u8(cfaDefCFAExpression).block([]byte{opBreg0 + 6, 8}).b,
			[]string{"1000 expression 76 08 3=[cfa-16] 16=[cfa-8]"}},
		{"def_cfa_register after an expression",
			join((&asm{}).u8(cfaDefCFAExpression).block([]byte{opLit0}).b, advance(1), op(cfaDefCFARegister, 6)),
			[]string{"1000 expression 30 3=[cfa-16] 16=[cfa-8]", "1002 r6+8 3=[cfa-16] 16=[cfa-8]"}},
		{"expression", opExpr(cfaExpression, 6, opBreg0+6, 8),
			[]string{"1000 r7+8 3=[cfa-16] 6=[expression 76 08] 16=[cfa-8]"}},
		{"empty expression", opExpr(cfaExpression, 6), []string{"1000 r7+8 3=[cfa-16] 6=[expression ] 16=[cfa-8]"}},
		{"val_expression", opExpr(cfaValExpression, 6, opLit31), []string{"1000 r7+8 3=[cfa-16] 6=expression 4f 16=[cfa-8]"}},
		{"args_size", op(cfaGNUArgsSize, 500), []string{"1000 r7+8 3=[cfa-16] 16=[cfa-8] args=500"}},
		{"padded operand", []byte{cfaDefCFAOffset, 0x90, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0},
			[]string{"1000 r7+16 3=[cfa-16] 16=[cfa-8]"}},
	}
	eachLayout(t, func(t *testing.T, s *frames) {
		cie := s.cie(cieSpec{code: 2, align: -8, ra: 16, program: initial})
		for i := range tests {
			s.plain(cie, 0x1000*uint64(i+1), 0x200, tests[i].program...)
		}
		// Those with operands of the byte order.
		program := func(code byte, operand uint64, size int) []byte {
			return (&asm{big: s.big, word: s.word}).u8(code).uint(operand, size).u8(cfaDefCFAOffset, 16).b
		}
		s.plain(cie, 0x100000, 0x2000, program(cfaAdvanceLoc2, 0x210, 2)...)
		s.plain(cie, 0x110000, 0x20000, program(cfaAdvanceLoc4, 0x2100, 4)...)
		s.plain(cie, 0x140000, 0x2000, program(cfaMIPSAdvanceLoc8, 0x210, 8)...)
		s.plain(cie, 0x150000, 0x2000, program(cfaSetLoc, 0x150345, s.word)...)
		s.plain(cie, 0x160000, 0x2000, program(cfaAdvanceLoc4, 0xffffffff, 4)...)
		f := s.open(t, elf.EM_X86_64)
		noProblems(t, f)
		if f.Len() != len(tests)+5 || len(f.CIEs()) != 1 {
			t.Fatalf("%d FDEs, %d CIEs", f.Len(), len(f.CIEs()))
		}
		for i := range tests {
			t.Run(tests[i].name, func(t *testing.T) {
				d, ok := f.Find(0x1000*uint64(i+1) + 0x1ff)
				if !ok || d.End-d.Start != 0x200 {
					t.Fatalf("Find: %t", ok)
				}
				var want []string
				for _, w := range tests[i].want { // the lines are those of an FDE at 0x1000
					_, rest, _ := strings.Cut(w, " ")
					start := parseHex(t, w) + 0x1000*uint64(i)
					want = append(want, hex(start)+" "+rest)
				}
				wantLines(t, rowsOf(t, d), want...)
			})
		}
		for start, second := range map[uint64]string{0x100000: "100420", 0x110000: "114200", 0x140000: "140420",
			0x150000: "150345", 0x160000: ""} {
			d, _ := f.Find(start)
			want := []string{hex(start) + " r7+8 3=[cfa-16] 16=[cfa-8]"}
			if second != "" {
				want = append(want, second+" r7+16 3=[cfa-16] 16=[cfa-8]")
			}
			wantLines(t, rowsOf(t, d), want...)
		}
	})
}

func TestRowOffsets(t *testing.T) {
	s := &frames{asm: asm{word: 8}}
	cie := s.cie(cieSpec{program: op(cfaDefCFA, 7, 8)})
	at := s.plain(cie, 0x1000, 0x100, join([]byte{cfaNop}, advance(1), op(cfaDefCFAOffset, 16), advance(2), advance(0),
		op(cfaDefCFAOffset, 8))...)
	d, _ := s.open(t, elf.EM_X86_64).Find(0x1000)
	program := uint64(at) + 4 + 4 + 16
	want := []uint64{program, program + 1, program + 4}
	var got []uint64
	d.Rows(nil, func(r *Row) bool { got = append(got, r.Offset); return true })
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("offsets %v, want %v", got, want)
	}
	n := 0
	if err := d.Rows(nil, func(*Row) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("stopped after %d rows: %v", n, err)
	}
	var row Row
	for _, pc := range []uint64{0xfff, 0x1100} {
		if err := d.RowAt(pc, &row); err == nil {
			t.Errorf("RowAt(0x%x) did not fail", pc)
		}
	}
}

func TestInstructionErrors(t *testing.T) {
	many := func(n int, b ...byte) []byte {
		var out []byte
		for range n {
			out = append(out, b...)
		}
		return out
	}
	var registers []byte
	for i := range uint64(maxRules + 1) {
		registers = append(registers, op(cfaUndefined, i)...)
	}
	tests := []struct {
		program []byte
		at      int // of the error, in the program
		text    string
	}{
		{[]byte{0x3f}, 0, "instruction 0x3f is not known"},
		{[]byte{cfaNop, 0x17}, 1, "instruction 0x17 is not known"},
		{[]byte{cfaWindowSave}, 0, "is not known for EM_X86_64"},
		{[]byte{cfaRestoreState}, 0, errRestore},
		{[]byte{cfaNop, cfaAdvanceLoc4, 1, 2}, 1, errShort},
		{[]byte{cfaNop, cfaMIPSAdvanceLoc8, 1, 2}, 1, errShort},
		{[]byte{cfaSetLoc, 1}, 0, errShort},
		{[]byte{cfaSetLoc, 1, 0, 0, 0, 0, 0, 0, 0}, 0, errBackwards},
		{[]byte{cfaDefCFA, 0x80, 0x80}, 0, errShort},
		{[]byte{cfaExpression, 3, 5, 1, 2}, 0, errShort},
		{[]byte{cfaDefCFAExpression, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 0, errShort},
		{[]byte{cfaDefCFAOffset, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, 0, errWide},
		{[]byte{cfaDefCFAOffsetSF, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2}, 0, errWide},
		{many(maxRemembered+1, cfaRememberState), maxRemembered, errRemember},
		{many(maxInstructions, cfaNop), maxInstructions - 1, errMany}, /* the advance counts */
		{registers, 128*2 + 128*3, errRules},
	}
	for _, test := range tests {
		s := &frames{asm: asm{word: 8}}
		cie := s.cie(cieSpec{program: op(cfaDefCFA, 7, 8)})
		// Padding would be operands: the FDE ends with the instruction, and one good row comes before.
		at := s.pos()
		body := join(advance(1), test.program)
		length := asm{}
		s.u8(length.u32(uint32(4 + 16 + len(body))).b...)
		s.u32(uint32(s.pos() - cie)).u64(0x1000).u64(0x100).u8(body...)
		f := s.open(t, elf.EM_X86_64)
		noProblems(t, f)
		d, ok := f.Find(0x1010)
		if !ok {
			t.Fatalf("% x: no FDE", test.program[:min(len(test.program), 20)])
		}
		var row Row
		err, _ := d.RowAt(0x1010, &row).(*ProgramError)
		want := uint64(at) + 4 + 4 + 16 + 1 + uint64(test.at)
		if err == nil || err.Offset != want || !strings.Contains(err.Text, test.text) || err.Section != ".eh_frame" {
			t.Errorf("% x: %v, want %q at 0x%x", test.program[:min(len(test.program), 20)], err, test.text, want)
		}
		if e := d.RowAt(0x1000, &row); e != nil {
			t.Errorf("row before the error: %v", e)
		}
		n := 0
		if e := d.Rows(&row, func(*Row) bool { n++; return true }); e == nil || n != 1 {
			t.Errorf("%d rows, %v", n, e)
		}
	}
}

func TestVendorInstructions(t *testing.T) {
	s := &frames{asm: asm{word: 8}}
	cie := s.cie(cieSpec{code: 4, align: -8, ra: 30, program: op(cfaDefCFA, 31, 0)})
	s.plain(cie, 0x1000, 0x100, join(advance(1), []byte{cfaWindowSave}, advance(1),
		[]byte{cfaRememberState, cfaWindowSave},
		advance(1), []byte{cfaRestoreState}, advance(1), []byte{cfaWindowSave, cfaNegateRAStateWithPC}, advance(1),
		[]byte{cfaNegateRAStateWithPC})...)
	f := s.open(t, elf.EM_AARCH64)
	noProblems(t, f)
	wantLines(t, rowsOf(t, &f.FDEs()[0]), "1000 r31+0", "1004 r31+0 signed", "1008 r31+0", "100c r31+0 signed",
		"1010 r31+0 signed+pc", "1014 r31+0")

	// What a SPARC compiler writes after "save %sp, -n, %sp": def_cfa_register %fp, window_save, register %o7 in %i7.
	s = &frames{asm: asm{word: 4, big: true}}
	cie = s.cie(cieSpec{code: 4, align: -4, ra: 15, program: op(cfaDefCFA, 14, 0)})
	s.plain(cie, 0x1000, 0x100, join(advance(1), op(cfaDefCFARegister, 30), []byte{cfaWindowSave},
		op(cfaRegister, 15, 31))...)
	f = s.open(t, elf.EM_SPARC)
	noProblems(t, f)
	d := &f.FDEs()[0]
	var row Row
	if err := d.RowAt(0x1004, &row); err != nil {
		t.Fatal(err)
	}
	if got := rowText(&row); got != "1004 r30+0 8=r24 9=r25 10=r26 11=r27 12=r28 13=r29 14=r30 15=r31 16=[cfa+0] "+
		"17=[cfa+4] "+
		"18=[cfa+8] 19=[cfa+12] 20=[cfa+16] 21=[cfa+20] 22=[cfa+24] 23=[cfa+28] 24=[cfa+32] 25=[cfa+36] 26=[cfa+40] "+
		"27=[cfa+44] 28=[cfa+48] 29=[cfa+52] 30=[cfa+56] 31=[cfa+60]" {
		t.Error(got)
	}
}

func TestInitialInstructions(t *testing.T) {
	for _, test := range []struct {
		program []byte
		reason  string
	}{
		{advance(1), errInitial},
		{op(cfaRestore | 3), errInitial},
		{op(cfaRestoreExtended, 3), errInitial},
		{[]byte{0x3e}, "not known"},
		{[]byte{cfaRestoreState}, errRestore},
	} {
		s := &frames{asm: asm{word: 8}}
		cie := s.cie(cieSpec{program: test.program})
		s.plain(cie, 0x1000, 0x100)
		f := s.open(t, elf.EM_X86_64)
		if len(f.Problems()) != 1 || f.Problems()[0].Kind != BadCIE || !strings.Contains(f.Problems()[0].Text, test.reason) {
			t.Errorf("% x: %v", test.program, f.Problems())
		}
		d, ok := f.Find(0x1000)
		var row Row
		if !ok || !strings.Contains(d.Unusable, test.reason) || d.RowAt(0x1000, &row) == nil {
			t.Errorf("% x: FDE is found: %t", test.program, ok)
		}
	}
	// A row without any CFA rule is a row, but has no CFA.
	s := &frames{asm: asm{word: 8}}
	s.plain(s.cie(cieSpec{}), 0x1000, 0x100)
	f := s.open(t, elf.EM_X86_64)
	noProblems(t, f)
	wantLines(t, rowsOf(t, &f.FDEs()[0]), "1000 undefined")
}
