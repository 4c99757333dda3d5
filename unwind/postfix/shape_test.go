package postfix

import "testing"

func TestShape(t *testing.T) {
	for _, c := range []struct {
		text   string
		kind   ShapeKind
		reg    string
		offset int64
	}{
		{"$rax", Reg, "$rax", 0},
		{"x29", Reg, "x29", 0},
		{" $rbx ", Reg, "$rbx", 0},
		{".ra", Reg, ".ra", 0},
		{"$rsp 8 +", RegOffset, "$rsp", 8},
		{"$rsp 8 -", RegOffset, "$rsp", -8},
		{"$rsp -8 +", RegOffset, "$rsp", -8},
		{"$rsp -8 -", RegOffset, "$rsp", 8},
		{"$rsp 0 +", RegOffset, "$rsp", 0},
		{"8 $rsp +", RegOffset, "$rsp", 8},
		{"$rsp 8 + 16 +", RegOffset, "$rsp", 24},
		{"sp\t16\n+", RegOffset, "sp", 16},
		{".cfa", CFAOffset, ".cfa", 0},
		{".cfa 8 -", CFAOffset, ".cfa", -8},
		{".cfa -8 + ^", DerefCFA, ".cfa", -8},
		{".cfa 8 - ^", DerefCFA, ".cfa", -8},
		{".cfa 0 - ^", DerefCFA, ".cfa", 0},
		{".cfa ^", DerefCFA, ".cfa", 0},
		{"$esp 4 + ^", DerefReg, "$esp", 4},
		{"sp ^", DerefReg, "sp", 0},
		{"8 $rsp + ^", DerefReg, "$rsp", 8},
		{"0", Const, "", 0},
		{"-16", Const, "", -16},
		{"8 8 +", Const, "", 16},
		{".undef", UndefRule, "", 0},
		{"", Other, "", 0},
		{"  ", Other, "", 0},
		{"+", Other, "", 0},
		{"0x10", Other, "", 0},
		{"$rsp 8", Other, "", 0},
		{"$rsp 8 *", Other, "", 0},
		{"$rsp 8 + + ", Other, "", 0},
		{"$rsp 8 + ^ ^", Other, "", 0},
		{"$rsp 8 + ^ 8 +", Other, "", 0},
		{"$rsp $rbp +", Other, "", 0},
		{"$rsp 0x8 +", Other, "", 0},
		{"8 $rsp -", Other, "", 0},
		{"8 8 $rsp + +", Other, "", 0},
		{"8 $rsp + 8", Other, "", 0},
		{"8 ^", Other, "", 0},
		{".undef 8 +", Other, "", 0},
		{".undef ^", Other, "", 0},
		{"=$rsp 8 +", Other, "", 0},
		{"$rsp --8 +", Other, "", 0},
		{"$rsp 9223372036854775807 +", RegOffset, "$rsp", 1<<63 - 1},
		{"$rsp 9223372036854775807 + 1 +", Other, "", 0},
		{"$rsp -9223372036854775808 -", Other, "", 0},
		{"$rsp 9223372036854775808 +", Other, "", 0},
	} {
		s := ShapeOf([]byte(c.text))
		if got := string(s.Register([]byte(c.text))); s.Kind != c.kind || got != c.reg || s.Offset != c.offset {
			t.Errorf("%q: %v %q %d, want %v %q %d", c.text, s.Kind, got, s.Offset, c.kind, c.reg, c.offset)
		}
		p, _ := Compile([]byte(c.text), CFI)
		if p.Shape != s || p.Base() != c.reg {
			t.Errorf("%q: the program's shape differs", c.text)
		}
	}
}

func TestShapeAllocatesNothing(t *testing.T) {
	text := []byte(".cfa -24 + ^")
	if n := testing.AllocsPerRun(100, func() { ShapeOf(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// checkShape holds a shape against what the expression evaluates to.
func checkShape(t *testing.T, text string) {
	t.Helper()
	s := ShapeOf([]byte(text))
	if s.Kind == Other || s.Kind == UndefRule {
		return
	}
	reg := string(s.Register([]byte(text)))
	const base, load = 0x7000, 3
	w := world{vars: map[string]uint64{reg: base}, limit: ^uint64(0)}
	m := Machine{}
	p, _ := Compile([]byte(text), CFI)
	m.SetCFA(base)
	got, f := m.Value(p, w)
	want := base + uint64(s.Offset)
	switch s.Kind {
	case Const:
		want = uint64(s.Offset)
	case DerefCFA, DerefReg:
		want++
		if f.Code == Unreadable {
			return
		}
	}
	if f.Failed() || got != want {
		t.Fatalf("%q is %v %s %d, but evaluates to %#x (%v), not %#x", text, s.Kind, reg, s.Offset, got, f.Code, want)
	}
}
