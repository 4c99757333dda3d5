package dwarf

import (
	"debug/elf"
	"errors"
	"testing"
)

// rowFrom gives the row of a program that follows "CFA = r8+0x20" and has r16 for the return address.
func rowFrom(t *testing.T, m elf.Machine, word int, big bool, program ...byte) *Row {
	t.Helper()
	s := &frames{asm: asm{word: word, big: big}}
	s.plain(s.cie(cieSpec{ra: 16, align: -8, program: op(cfaDefCFA, 8, 0x20)}), 0x1000, 0x100, program...)
	f := s.open(t, m)
	noProblems(t, f)
	row := new(Row)
	if err := f.FDEs()[0].RowAt(0x1000, row); err != nil {
		t.Fatal(err)
	}
	return row
}

func TestApply(t *testing.T) {
	row := rowFrom(t, elf.EM_X86_64, 8, false, join(
		op(cfaOffset|16, 1), opS(cfaOffsetExtendedSF, 3, -2), op(cfaValOffset, 4, 1), op(cfaRegister, 5, 9),
		op(cfaSameValue, 6), op(cfaUndefined, 7), opExpr(cfaExpression, 10, opPlusUconst, 8),
		opExpr(cfaValExpression, 11, opPlusUconst, 9), op(cfaOffsetExtended, 12, 0x1000), op(cfaRegister, 13, 99),
		opExpr(cfaValExpression, 14, opPlus), op(cfaSameValue, 77), opExpr(cfaExpression, 17, opDrop, opLit1))...)
	var out Recovered
	if err := row.Apply(&testEnv{}, &out); err != nil {
		t.Fatal(err)
	}
	if out.CFA != 0x8020 {
		t.Errorf("CFA 0x%x", out.CFA)
	}
	want := []RecoveredReg{
		{Reg: 3, How: InMemory, Addr: 0x8030, Value: 0x3736353433323130, Known: true},
		{Reg: 4, How: Computed, Value: 0x8018, Known: true},
		{Reg: 5, How: InRegister, From: 9, Value: 0x9000, Known: true},
		{Reg: 6, How: Same, Value: 0x6000, Known: true},
		{Reg: 7, How: IsUndefined},
		{Reg: 10, How: InMemory, Addr: 0x8028, Value: 0x2f2e2d2c2b2a2928, Known: true},
		{Reg: 11, How: Computed, Value: 0x8029, Known: true},
		{Reg: 12, How: Unreadable, Addr: 0x20, Err: ErrNoMemory},
		{Reg: 13, How: Unreadable, From: 99, Err: ErrNoRegister},
		{Reg: 14, How: Unreadable},
		{Reg: 16, How: InMemory, Addr: 0x8018, Value: 0x1f1e1d1c1b1a1918, Known: true},
		{Reg: 17, How: Unreadable, Addr: 1, Err: ErrNoMemory},
		{Reg: 77, How: Unreadable, Err: ErrNoRegister},
	}
	if len(out.Regs) != len(want) {
		t.Fatalf("%+v", out.Regs)
	}
	for i, w := range want {
		got := out.Regs[i]
		if w.Reg == 14 { // its error is that of the expression
			var e *ExprError
			if !errors.As(got.Err, &e) {
				t.Errorf("%+v", got)
			}
			got.Err = nil
		}
		if got != w {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	if g, ok := out.Get(16); !ok || g != out.RA || out.RA.Value != 0x1f1e1d1c1b1a1918 {
		t.Errorf("return address %+v", out.RA)
	}
	if _, ok := out.Get(2); ok {
		t.Error("register 2 has no rule")
	}

	row = rowFrom(t, elf.EM_X86_64, 8, false, op(cfaUndefined, 16)...)
	if err := row.Apply(&testEnv{}, &out); err != nil || out.RA.How != IsUndefined || out.RA.Known || len(out.Regs) != 1 {
		t.Errorf("outermost: %+v %v", out, err)
	}
	row = rowFrom(t, elf.EM_S390, 8, true)
	if err := row.Apply(&testEnv{}, &out); err != nil || out.RA.How != Unspecified || out.RA.Value != 0x10000 ||
		!out.RA.Known || len(out.Regs) != 0 {
		t.Errorf("no rule: %+v %v", out, err)
	}
	row = rowFrom(t, elf.EM_386, 4, false, (&asm{}).u8(cfaDefCFAExpression).block([]byte{opBreg0 + 20, 0x21}).b...)
	if err := row.Apply(&testEnv{}, &out); err != nil || out.CFA != 0x20 {
		t.Errorf("CFA of an expression: 0x%x %v", out.CFA, err)
	}
	for _, program := range [][]byte{op(cfaDefCFARegister, 50), (&asm{}).u8(cfaDefCFAExpression).block(nil).b} {
		row = rowFrom(t, elf.EM_386, 4, false, program...)
		if err := row.Apply(&testEnv{}, &out); err == nil {
			t.Errorf("% x: CFA 0x%x", program, out.CFA)
		}
	}
	s := &frames{asm: asm{word: 8}}
	s.plain(s.cie(cieSpec{}), 0x1000, 0x10)
	f := s.open(t, elf.EM_X86_64)
	if err := f.FDEs()[0].RowAt(0x1000, row); err != nil || !errors.Is(row.Apply(&testEnv{}, &out), ErrNoCFA) {
		t.Error("there is no CFA")
	}
}

// The stack of a 32-bit CPU can lie at its end, and what is saved there can be wider than an address.
func TestApplyWidths(t *testing.T) {
	var out Recovered
	row := rowFrom(t, elf.EM_386, 4, false, join(op(cfaDefCFA, 20, 0x8011), op(cfaOffset|3, 1))...)
	if err := row.Apply(&testEnv{}, &out); err != nil || out.CFA != 0x8010 || out.Regs[0].Value != 0x0b0a0908 {
		t.Errorf("%+v %v", out, err)
	}
	for _, test := range []struct {
		machine elf.Machine
		word    int
		big     bool
		reg     uint64
		want    uint64
	}{
		{elf.EM_X86_64, 4, false, 3, 0x1f1e1d1c1b1a1918}, // x32
		{elf.EM_AARCH64, 4, false, 3, 0x1f1e1d1c1b1a1918},
		{elf.EM_386, 4, false, 3, 0x1b1a1918},
		{elf.EM_ARM, 4, false, 4, 0x1b1a1918},
		{elf.EM_ARM, 4, false, 264, 0x1f1e1d1c1b1a1918}, // d8
		{elf.EM_S390, 4, true, 6, 0x18191a1b},
		{elf.EM_S390, 4, true, 24, 0x18191a1b1c1d1e1f}, // f8
		{elf.EM_S390, 8, true, 6, 0x18191a1b1c1d1e1f},
		{elf.EM_PPC, 4, true, 46, 0x18191a1b1c1d1e1f}, // f14
		{elf.EM_PPC, 4, true, 14, 0x18191a1b},
	} {
		row := rowFrom(t, test.machine, test.word, test.big, op(cfaOffsetExtended, test.reg, 1)...)
		if err := row.Apply(&testEnv{test.big}, &out); err != nil || out.Regs[0].Value != test.want {
			t.Errorf("%s register %d: %+v %v", test.machine, test.reg, out.Regs, err)
		}
	}
}

func TestCloneAndRules(t *testing.T) {
	row := rowFrom(t, elf.EM_X86_64, 8, false, join(op(cfaOffset|16, 1), op(cfaUndefined, 3))...)
	c := row.Clone()
	row.Regs[0].Kind = RuleSameValue
	if r, ok := c.Rule(3); !ok || r.Kind != RuleUndefined {
		t.Errorf("%+v", r)
	}
	if c.SameRules(row) {
		t.Error("changed row is the same")
	}
	row.Regs[0].Kind = RuleUndefined
	if !c.SameRules(row) {
		t.Error("rows differ")
	}
	if _, ok := c.Rule(4); ok {
		t.Error("register 4 has no rule")
	}
	for _, change := range []func(r *Row){
		func(r *Row) { r.CFA.Offset++ }, func(r *Row) { r.CFA.Kind = CFAUndefined }, func(r *Row) { r.RASigned = true },
		func(r *Row) { r.Regs = r.Regs[:1] }, func(r *Row) { r.Regs[1].Offset++ },
		func(r *Row) { r.CFA = CFARule{Kind: CFAExpression} },
	} {
		o := row.Clone()
		if change(&o); c.SameRules(&o) {
			t.Errorf("%s is the same as %s", rowText(&o), rowText(&c))
		}
	}
}

func TestNoAllocations(t *testing.T) {
	s := &frames{asm: asm{word: 8}}
	cie := s.cie(cieSpec{ra: 16, program: join(op(cfaDefCFA, 8, 0x20), op(cfaOffset|16, 1))})
	for i := range uint64(100) {
		s.plain(cie, 0x1000+0x100*i, 0x100, join([]byte{cfaRememberState}, op(cfaOffset|3, 2), op(cfaOffset|6, 3),
			advance(8), []byte{cfaRestoreState}, opExpr(cfaExpression, 6, opPlusUconst, 8))...)
	}
	f := s.open(t, elf.EM_X86_64)
	var row Row
	var out Recovered
	var env Env = &testEnv{}
	pc := uint64(0x1000)
	n := testing.AllocsPerRun(200, func() {
		pc += 0x37
		if pc >= 0x1000+0x100*100 {
			pc = 0x1000
		}
		d, ok := f.Find(pc)
		if !ok || d.RowAt(pc, &row) != nil || row.Apply(env, &out) != nil || out.RA.How != InMemory {
			t.Fatalf("0x%x", pc)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
