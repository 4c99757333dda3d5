package unwind

import (
	"strings"
	"testing"
)

// prewalked describes the frames of a stack, inlined calls first, as name and address.
func prewalked(s *Stack) string {
	var out []string
	for i := range s.Frames {
		f := &s.Frames[i]
		for _, in := range f.Inlines {
			out = append(out, "inline "+in.Name)
		}
		if f.Trust != TrustPrewalked || f.Technique != ByList || f.Return != f.Instruction ||
			f.ReturnAddress() != f.Instruction {
			out = append(out, "(wrong)")
		}
		out = append(out, strings.TrimSpace(f.Function+" "+show(f.Instruction)))
	}
	return strings.Join(out, ", ")
}

func TestListWithoutSymbols(t *testing.T) {
	f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
	f.process.Threads = nil
	s := f.walker.WalkList([]uint64{mod2AMD64 + 0x9000, mod1AMD64 + 0x129d, mod1AMD64 + 0xf49d, 0x1234})
	if got, want := prewalked(s), "0x7500b0009000, 0x7400c000129d, 0x7400c000f49d, 0x1234"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s.End != EndOutermost || s.Index != -1 {
		t.Errorf("%v, thread %d", s.End, s.Index)
	}
	for i, module := range []string{"module2", "module1", "module1", ""} {
		if m := s.Frames[i].Module; (m == nil) != (module == "") || m != nil && m.CodeFile != module {
			t.Errorf("frame %d in %v", i, m)
		}
	}
	f.checkMissing("module2 module1")
}

func TestListNoResolver(t *testing.T) {
	f := newFixture(t, "x86_64").modules(mod1AMD64)
	f.walker.Symbols = nil
	if got, want := prewalked(f.walker.WalkList([]uint64{mod1AMD64})), "0x7400c0000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.checkMissing("")
}

// Addresses are looked up as they are: nothing is taken off.
func TestListWithSymbols(t *testing.T) {
	f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
	f.sym("module1", "FUNC 100 400 10 outer", "FUNC 1000 100 10 inner")
	f.sym("module2", "FILE 3 middle.c", "FUNC 2000 40 0 middle", "2000 10 7 3", "2010 30 8 3")
	s := f.walker.WalkList([]uint64{mod1AMD64 + 0x1000, mod2AMD64 + 0x2010, mod1AMD64 + 0x500, mod1AMD64 + 0x4ff})
	want := "inner 0x7400c0001000, middle 0x7500b0002010, 0x7400c0000500, outer 0x7400c00004ff"
	if got := prewalked(s); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if g := &s.Frames[1]; g.File != "middle.c" || g.Line != 8 || g.FunctionBase != mod2AMD64+0x2000 ||
		g.LineBase != mod2AMD64+0x2010 {
		t.Errorf("%s:%d, function %#x, line %#x", g.File, g.Line, g.FunctionBase, g.LineBase)
	}
	f.checkMissing("")
}

// inlining is a function with two calls inlined into each other.
var inlining = []string{
	"FILE 0 a.c", "FILE 1 b.c", "INLINE_ORIGIN 0 first", "INLINE_ORIGIN 1 second",
	"FUNC 1000 100 0 outer",
	"INLINE 0 11 0 0 1020 40", "INLINE 1 22 1 1 1030 10",
	"1000 30 5 0", "1030 10 33 1", "1040 c0 6 0",
}

func TestListWithInlining(t *testing.T) {
	f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
	f.sym("module1", inlining...)
	s := f.walker.WalkList([]uint64{mod2AMD64 + 0x10, mod1AMD64 + 0x1035, mod1AMD64 + 0x1045, mod1AMD64 + 0x1080})
	want := "0x7500b0000010, inline second, inline first, outer 0x7400c0001035, " +
		"inline first, outer 0x7400c0001045, outer 0x7400c0001080"
	if got := prewalked(s); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// Positions go outwards: the line record tells that of the innermost call, each record that of the next one.
	g := &s.Frames[1]
	if in := g.Inlines; in[0].File != "b.c" || in[0].Number != 33 || in[1].File != "b.c" || in[1].Number != 22 ||
		g.File != "a.c" || g.Line != 11 {
		t.Errorf("%v, then %s:%d", in, g.File, g.Line)
	}
	f.checkMissing("module2")
}

func TestListLimits(t *testing.T) {
	f := newFixture(t, "x86_64").modules(mod1AMD64)
	f.sym("module1", inlining...)
	if s := f.walker.WalkList(nil); len(s.Frames) != 0 || s.End != EndNoContext {
		t.Errorf("no addresses: %d frames, %v", len(s.Frames), s.End)
	}
	pcs := []uint64{mod1AMD64 + 0x1035, mod1AMD64 + 0x1035, mod1AMD64 + 0x1035} // of three frames each
	for _, c := range []struct{ limit, frames int }{{1, 1}, {2, 1}, {3, 2}, {5, 2}, {6, 3}, {8, 3}, {9, 3}} {
		f.walker.MaxFrames = c.limit
		end := EndLimit
		if c.limit == 9 {
			end = EndOutermost
		}
		if s := f.walker.WalkList(pcs); len(s.Frames) != c.frames || s.End != end {
			t.Errorf("limit %d: %d frames, %v; want %d, %v", c.limit, len(s.Frames), s.End, c.frames, end)
		}
	}
	// There is nothing to explain, and asking is no mistake.
	f.walker.MaxFrames = 0
	for _, best := range []bool{false, true} {
		f.walker.Best = best
		s := f.walker.WalkList(pcs)
		for i := range len(s.Frames) + 2 {
			if e := f.walker.Explain(s, i); len(e.Attempts) != 0 {
				t.Errorf("frame %d: %v", i, e.Attempts)
			}
		}
	}
}
