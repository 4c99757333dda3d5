package symfile

import (
	"bytes"
	"io"
	"testing"

	"github.com/symlint/symlint/unwind/symfile/symgen"
)

// FuzzModule: whatever the bytes, both readers take them in, every lookup answers, and what it answers covers the
// address and stands where it says.
func FuzzModule(f *testing.F) {
	for _, c := range googleCases {
		f.Add([]byte(c.text), uint64(0x1008))
	}
	for _, c := range rustCases {
		f.Add([]byte(c.text), uint64(0x1008))
	}
	for _, c := range canonical {
		f.Add([]byte("FUNC 1000 20 0 f\n"+c.text+"\n"), uint64(0x1000))
	}
	f.Add([]byte("STACK CFI\n STACK CFI INIT\nSTACK WIN\n\nSTACK CFI\r\nINIT 1 2 3\n"), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		for _, p := range []Policy{Breakpad, RustMinidump} {
			m := Load(data, Options{Policy: p})
			if m.Rejected() != nil && m.Funcs() != 0 {
				t.Fatal("a rejected file has functions")
			}
			lines := CountLines(data) + 2
			inFile := func(line int) {
				if line < 1 || line > lines {
					t.Fatalf("line %d of %d", line, lines)
				}
			}
			if _, errs := m.Corrupt(); len(errs) > googleErrorBudget+2 {
				t.Fatalf("%d errors counted", len(errs))
			}
			addrs := []uint64{addr, 0, ^uint64(0)}
			for i := range min(m.Funcs(), 8) {
				g := m.FuncAt(i)
				inFile(g.Line)
				addrs = append(addrs, g.Addr, g.Addr+g.Size-1, g.Addr+g.Size)
				for _, l := range m.Lines(g) {
					inFile(l.Line)
				}
			}
			for _, a := range addrs {
				s, ok := m.Lookup(a)
				if ok != m.Named(a) && !(ok && s.Name == "") {
					t.Fatalf("Named(%#x) = %v, found %v", a, !ok, s)
				}
				if ok {
					inFile(s.Line)
					if s.Base > a || s.Kind == Func && a-s.Base >= s.Size {
						t.Fatalf("%#x is not in %v", a, s)
					}
				}
				for _, in := range s.Inlines {
					inFile(in.Line)
				}
				if w, ok := m.Win(a); ok {
					inFile(w.Line)
					if !w.ParamOnly && a-w.Addr >= w.Size {
						t.Fatalf("%#x is not in %v", a, w)
					}
				}
				if c := m.CFI(a); c != nil {
					checkCFI(t, m, c, a, inFile)
				}
			}
		}
	})
}

func checkCFI(t *testing.T, m *Symbols, c *CFI, a uint64, inFile func(int)) {
	t.Helper()
	if len(c.Rows) == 0 || !c.Rows[0].Init || a-c.Addr >= c.Size {
		t.Fatalf("CFI at %#x: %v", a, c)
	}
	for i, r := range c.Rows {
		inFile(r.Line)
		if r.Addr > a || i > 1 && r.Addr < c.Rows[i-1].Addr {
			t.Fatalf("row %d of %v at %#x", i, c, a)
		}
	}
	for i, r := range c.Rules {
		inFile(r.Line)
		if text := m.text(r.ExprSpan); text != r.Expr || r.Expr == "" || m.text(r.NameSpan) != r.Name {
			t.Fatalf("rule %v stands at %q", r, text)
		}
		for _, o := range c.Rules[:i] {
			if o.Name == r.Name {
				t.Fatalf("two rules for %s", r.Name)
			}
		}
	}
}

func generated(b *testing.B, write func(io.Writer, uint64, int64) error, size int64) []byte {
	b.Helper()
	var buf bytes.Buffer
	if err := write(&buf, 1, size); err != nil {
		b.Fatal(err)
	}
	return buf.Bytes()
}

func benchmarkLoad(b *testing.B, data []byte, p Policy) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		m := Load(data, Options{Policy: p})
		if m.Rejected() != nil || m.Funcs() == 0 {
			b.Fatal("no functions")
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, kind := range []struct {
		name  string
		write func(io.Writer, uint64, int64) error
	}{{"lines", symgen.Lines}, {"cfi", symgen.CFI}, {"win", symgen.Win}} {
		data := generated(b, kind.write, 16<<20)
		for _, p := range []Policy{Breakpad, RustMinidump} {
			b.Run(kind.name+"/"+p.String(), func(b *testing.B) { benchmarkLoad(b, data, p) })
		}
	}
}

// BenchmarkLookup asks for functions that were not asked for before and for such that were.
func BenchmarkLookup(b *testing.B) {
	data := generated(b, symgen.Lines, 16<<20)
	m := Load(data, Options{})
	for _, near := range []int{m.Funcs(), 16} {
		b.Run(map[bool]string{true: "near", false: "far"}[near == 16], func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f := m.FuncAt(i * 7919 % near)
				if s, ok := m.Lookup(f.Addr); !ok || s.Base != f.Addr || m.CFI(f.Addr) == nil {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
}
