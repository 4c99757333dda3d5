package postfix

import "testing"

const (
	benchRules   = ".cfa: $rsp 24 + $rbx: .cfa -24 + ^ $rbp: .cfa -16 + ^ .ra: .cfa -8 + ^"
	benchProgram = "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + = $ebp $T0 20 - ^ = $ebx $T0 8 - ^ ="
)

// slots answers by the number Bind gave a name, as a walker does.
type slots [8]uint64

func (s *slots) Variable(p *Program, i int) (uint64, bool) {
	if n := p.Names[i].Slot; n >= 0 {
		return s[n], true
	}
	return 0, false
}

func (s *slots) Load(a uint64) (uint64, bool) { return a + 1, true }

func bind(name string) int32 {
	for i, n := range []string{"$rsp", "$rbp", "$rbx", ".raSearch", "$ebp", "$esp"} {
		if n == name {
			return int32(i)
		}
	}
	return -1
}

func TestEvaluationAllocatesNothing(t *testing.T) {
	env := &slots{0x1000, 0x2000, 3, 0x3000, 0x4000, 0x5000}
	for _, s := range []Semantics{Breakpad, RustMinidump} {
		m := Machine{Semantics: s}
		c := Cache{Bind: bind}
		set := RuleSet{Semantics: s}
		set.Apply([]byte(benchRules), &c)
		win := c.Program([]byte(benchProgram), Win)
		bad := c.Program([]byte("$x 1 = $y $nobody ="), Win)
		var row Row
		if n := testing.AllocsPerRun(100, func() {
			if _, f := set.Evaluate(&m, env, &row); f.Failed() {
				t.Fatal(f.Code)
			}
			if f := m.Run(win, env); f.Failed() {
				t.Fatal(f.Code)
			}
			if f := m.Run(bad, env); !f.Failed() {
				t.Fatal("an unknown name evaluates")
			}
		}); n != 0 && !raceDetector {
			t.Errorf("%v: %v allocations", s, n)
		}
		if v, state := m.Variable("$x"); v != 1 || state != Assigned {
			t.Errorf("%v: $x = %d", s, v)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	text := []byte(".cfa -16 + ^")
	b.ReportAllocs()
	for b.Loop() {
		Compile(text, CFI)
	}
}

func BenchmarkCompileWin(b *testing.B) {
	text := []byte(benchProgram)
	b.ReportAllocs()
	for b.Loop() {
		Compile(text, Win)
	}
}

func BenchmarkParseRules(b *testing.B) {
	text := []byte(benchRules)
	var l RuleList
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		l.Parse(text)
	}
}

func BenchmarkShapeOf(b *testing.B) {
	text := []byte(".cfa -16 + ^")
	b.ReportAllocs()
	for b.Loop() {
		ShapeOf(text)
	}
}

func BenchmarkApply(b *testing.B) {
	var c Cache
	var set RuleSet
	text := []byte(benchRules)
	b.ReportAllocs()
	for b.Loop() {
		set.Reset()
		set.Apply(text, &c)
	}
}

func BenchmarkEvaluateCFI(b *testing.B) {
	env := &slots{0x1000, 0x2000, 3}
	for _, s := range []Semantics{Breakpad, RustMinidump} {
		b.Run(s.String(), func(b *testing.B) {
			c := Cache{Bind: bind}
			set := RuleSet{Semantics: s}
			set.Apply([]byte(benchRules), &c)
			m := Machine{Semantics: s}
			var row Row
			b.ReportAllocs()
			for b.Loop() {
				set.Evaluate(&m, env, &row)
			}
		})
	}
}

func BenchmarkEvaluateWin(b *testing.B) {
	env := &slots{0, 0, 3, 0x3000, 0x4000, 0x5000}
	for _, s := range []Semantics{Breakpad, RustMinidump} {
		b.Run(s.String(), func(b *testing.B) {
			c := Cache{Bind: bind}
			p := c.Program([]byte(benchProgram), Win)
			m := Machine{Semantics: s}
			b.ReportAllocs()
			for b.Loop() {
				m.Run(p, env)
			}
		})
	}
}
