package unwind

import (
	"testing"
)

// longStack is a stack of many frames that one technique finds.
type longStack struct {
	name  string
	by    Technique
	build func(t testing.TB, frames int) *fixture
}

var longStacks = []longStack{
	{"CFI", ByCFI, func(t testing.TB, frames int) *fixture {
		f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
		f.sym("module1", "FUNC 200 1000 0 f", "STACK CFI INIT 200 1000 .cfa: $rsp 8 + .ra: .cfa 8 - ^",
			"STACK CFI 201 .cfa: $rsp 16 + $rbp: .cfa 16 - ^", "STACK CFI 204 .cfa: $rbp 16 + $rbx: .cfa 24 - ^")
		var items []any
		for i := range frames {
			items = append(items, junk(2), uint64(stackAMD64+32*i+48), mod1AMD64+0x300+i%64)
		}
		f.stack(stackAMD64, append(items, gap(8))...)
		f.set("$rip", mod1AMD64+0x2f0, "$rsp", stackAMD64, "$rbp", stackAMD64+16)
		return f
	}},
	{"WIN", ByWin, func(t testing.TB, frames int) *fixture {
		f := newFixture(t, "x86").modules(module1, module2)
		f.sym("module1", "FUNC 200 1000 0 f", win4(0x200, 0x1000, 0, 0x10, 0, saveAll))
		var items []any
		for i := range frames {
			items = append(items, junk(3), linkStack+20*i, module1+0x300+i%64)
		}
		f.stack(linkStack, append(items, gap(8))...)
		f.set("$eip", module1+0x2f0, "$esp", linkStack, "$ebp", linkStack)
		return f
	}},
	{"FPO", ByWin, func(t testing.TB, frames int) *fixture {
		f := newFixture(t, "x86").modules(module1, module2)
		f.sym("module1", "FUNC 200 1000 0 f", winFPOData(0x200, 0x1000, 0, 8, 8, 1))
		var items []any
		for i := range frames {
			items = append(items, linkStack, junk(3), module1+0x300+i%64)
		}
		f.stack(linkStack, append(items, gap(8))...)
		f.set("$eip", module1+0x2f0, "$esp", linkStack, "$ebp", linkStack)
		return f
	}},
	{"FP", ByFramePointer, func(t testing.TB, frames int) *fixture {
		f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
		f.sym("module1", "FUNC 200 1000 0 f")
		var items []any
		for i := range frames {
			items = append(items, uint64(stackAMD64+32*(i+1)), mod1AMD64+0x300+i%64, junk(2))
		}
		f.stack(stackAMD64, append(items, gap(8))...)
		f.set("$rip", mod1AMD64+0x2f0, "$rsp", stackAMD64-8, "$rbp", stackAMD64)
		return f
	}},
	{"Scan", ByScan, func(t testing.TB, frames int) *fixture {
		f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
		f.sym("module1", "FUNC 200 1000 0 f")
		var items []any
		for i := range frames {
			items = append(items, junk(4), mod1AMD64+0x2000, junk(2),
				mod1AMD64+0x300+i%64) // one word in a gap between functions
		}
		f.stack(stackAMD64, append(items, gap(8))...)
		f.set("$rip", mod1AMD64+0x2f0, "$rsp", stackAMD64)
		return f
	}},
}

// Walking allocates for each walk, and for each address that is new, but not for frames.
func TestWalkAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, l := range longStacks {
		t.Run(l.name, func(t *testing.T) {
			allocs := func(frames int) float64 {
				f := l.build(t, frames)
				s := f.walk()
				if len(s.Frames) < frames {
					t.Fatalf("%d frames, want %d", len(s.Frames), frames)
				}
				for i := 1; i < frames; i++ {
					if s.Frames[i].Technique != l.by {
						t.Fatalf("frame %d by %v", i, s.Frames[i].Technique)
					}
				}
				return testing.AllocsPerRun(10, func() { s = f.walker.WalkInto(0, s.Frames) })
			}
			few, many := allocs(100), allocs(1000)
			if many != few || many > 5 {
				t.Errorf("%v allocations for 1000 frames, %v for 100", many, few)
			}
		})
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, l := range longStacks {
		b.Run(l.name, func(b *testing.B) {
			f := l.build(b, 1000)
			s := f.walk()
			if len(s.Frames) < 1000 {
				b.Fatalf("%d frames", len(s.Frames))
			}
			b.ReportAllocs()
			b.ResetTimer()
			frames := 0
			for b.Loop() {
				s = f.walker.WalkInto(0, s.Frames)
				frames += len(s.Frames)
			}
			b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}

// The first walk of a process, which compiles rules and looks symbols up.
func BenchmarkWalkFirst(b *testing.B) {
	for _, l := range longStacks {
		b.Run(l.name, func(b *testing.B) {
			f := l.build(b, 1000)
			s := f.walk()
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				w := &Walker{Process: f.process, Symbols: f.symbols}
				s = w.WalkInto(0, s.Frames)
			}
		})
	}
}
