package unwind

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// endless is a process of amd64 whose CFI never comes to an end.
func endless(t testing.TB) *fixture {
	f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
	f.sym("module1", "FUNC 200 100 0 endless", "STACK CFI INIT 200 100 .cfa: $rsp 1 + .ra: $rip")
	f.stack(stackAMD64, gap(1))
	f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
	return f
}

func TestMaxFrames(t *testing.T) {
	for _, limit := range []int{1, 2, 100} {
		f := endless(t)
		f.walker.MaxFrames = limit
		// The limit is looked at behind a frame, so that there is one more than it says.
		if s := f.walk(); len(s.Frames) != limit+1 || s.End != EndLimit {
			t.Errorf("limit %d: %d frames, %v", limit, len(s.Frames), s.End)
		}
	}
}

// Inlined calls count like frames, but frames are never split.
func TestMaxFramesInlines(t *testing.T) {
	for _, c := range []struct{ limit, frames int }{{1, 1}, {2, 1}, {3, 2}, {5, 2}, {6, 3}} {
		f := newFixture(t, "x86_64").modules(mod1AMD64)
		f.sym("module1", append(inlining, "STACK CFI INIT 1000 100 .cfa: $rsp 1 + .ra: $rip 1 +")...)
		f.stack(stackAMD64, gap(1))
		f.set("$rip", mod1AMD64+0x1034, "$rsp", stackAMD64)
		f.walker.MaxFrames = c.limit
		s := f.walk()
		if len(s.Frames) != c.frames || s.End != EndLimit {
			t.Errorf("limit %d: %d frames (%v), want %d", c.limit, len(s.Frames), s.End, c.frames)
		}
		for i := range s.Frames {
			if len(s.Frames[i].Inlines) != 2 {
				t.Errorf("limit %d: frame %d has %d inlined calls", c.limit, i, len(s.Frames[i].Inlines))
			}
		}
	}
}

func TestMaxScanned(t *testing.T) {
	items := []any{}
	for range 10 {
		items = append(items, junk(1), mod2AMD64+0x100)
	}
	for _, c := range []struct{ limit, frames int }{{-1, 1}, {1, 2}, {3, 4}, {9, 10}, {10, 11}, {11, 11}, {0, 11}} {
		f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
		f.stack(stackAMD64, items...)
		f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
		f.walker.MaxScanned = c.limit
		if s := f.walk(); len(s.Frames) != c.frames || s.End != EndNoTechnique {
			t.Errorf("limit %d: %d frames (%v), want %d", c.limit, len(s.Frames), s.End, c.frames)
		}
	}
	// Frames found otherwise do not count, and other techniques go on behind the limit.
	f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
	f.sym("module1", "FUNC 200 100 0 f", "STACK CFI INIT 200 100 .cfa: $rsp 8 + .ra: .cfa 8 - ^")
	f.stack(stackAMD64, mod1AMD64+0x211, mod2AMD64+0x100, junk(1), mod1AMD64+0x210, mod1AMD64+0x211, mod2AMD64+0x100,
		mod1AMD64+0x210)
	f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
	f.walker.MaxScanned = 1
	var trusts []Trust
	s := f.walk()
	for i := range s.Frames {
		trusts = append(trusts, s.Frames[i].Trust)
	}
	if got, want := fmt.Sprint(trusts), fmt.Sprint([]Trust{TrustContext, TrustCFI, TrustCFI, TrustScan, TrustCFI,
		TrustCFI}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The scans within STACK WIN count and are bounded as well.
func TestMaxScannedWin(t *testing.T) {
	const program = "$eip .raSearchStart ^ = $esp $nobody ="
	f := x86Fixture(t)
	f.sym("module1", "FUNC 1000 100 0 f", win4(0x1000, 0x100, 0, 0, 0, program))
	f.stack(0x80000000, module1+0x1010, "ebp:", module1+0x1011, module1+0x1012, junk(2))
	f.set("$eip", module1+0x1010, "$esp", 0x80000000, "$ebp", 0x90000000)
	for _, c := range []struct{ limit, frames int }{{-1, 1}, {1, 2}, {2, 3}, {0, 4}} {
		f.walker.MaxScanned = c.limit
		if s := f.walk(); len(s.Frames) != c.frames {
			t.Errorf("limit %d: %d frames, want %d", c.limit, len(s.Frames), c.frames)
		}
	}

	// Nor does a program whose result had to be searched for go beyond it.
	f.sym("module1", "FUNC 1000 100 0 f",
		win4(0x1000, 0x100, 0, 0, 0, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + ="))
	items := []any{}
	for range 3 {
		items = append(items, 0x0badc0de, junk(4), module1+0x1010)
	}
	f.stack(0x80000000, append(items, "ebp:", 0, 0)...)
	f.set("$ebp", "ebp")
	f.walker = &Walker{Process: f.process, Symbols: f.symbols, MaxScanned: 2}
	s := f.walk()
	var trusts []Trust
	for i := range s.Frames {
		trusts = append(trusts, s.Frames[i].Trust)
	}
	want := fmt.Sprint([]Trust{TrustContext, TrustCFIScan, TrustCFIScan, TrustCFI})
	if got := fmt.Sprint(trusts); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// 3.1: return addresses below 4096 and stack pointers that do not grow end a walk outright, even where the next
// technique would find something.
func TestTermination(t *testing.T) {
	for _, c := range []struct {
		rules  string
		end    End
		frames int
	}{
		{".cfa: $rsp 8 + .ra: 4095", EndLowAddress, 1},
		{".cfa: $rsp 8 + .ra: 4096", EndNoTechnique, 3},
		{".cfa: $rsp 1 - .ra: $rip", EndBackwards, 1},
		{".cfa: $rsp .ra: $rip", EndBackwards, 2}, // once, for a leaf function
		{".cfa: $rsp 1 + .ra: 4096", EndNoTechnique, 2},
	} {
		f := newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
		f.sym("module1", "FUNC 200 100 0 f", "STACK CFI INIT 200 100 "+c.rules)
		f.stack(stackAMD64, junk(1), mod2AMD64+0x100, junk(2))
		f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
		if s := f.walk(); s.End != c.end || len(s.Frames) != c.frames {
			t.Errorf("%s: %d frames, %v; want %d, %v", c.rules, len(s.Frames), s.End, c.frames, c.end)
		}
	}
}

func TestWalkWithoutContext(t *testing.T) {
	f := newFixture(t, "x86_64").modules(mod1AMD64)
	f.stack(stackAMD64, gap(2))
	f.process.Threads[0].Registers = nil
	if s := f.walk(); len(s.Frames) != 0 || s.End != EndNoContext {
		t.Errorf("%d frames, %v", len(s.Frames), s.End)
	}
}

// CPUs without a walker have no frames at all, not even that of the context.
func TestWalkUnsupported(t *testing.T) {
	for _, cpu := range []string{"nds32", "s390", "s390x", "sparcv9"} {
		f := newFixture(t, cpu).modules(module1)
		f.stack(linkStack, gap(2))
		if s := f.walk(); len(s.Frames) != 0 || s.End != EndUnsupported {
			t.Errorf("%s: %d frames, %v", cpu, len(s.Frames), s.End)
		}
	}
}

// Symbols belong to a code file: a second module of the same path has those of the first, whatever its id.
func TestSymbolsByCodeFile(t *testing.T) {
	f := newFixture(t, "x86_64")
	for i, base := range []uint64{mod1AMD64, mod2AMD64} {
		f.process.Modules.Add(Module{Base: base, Size: moduleSize, CodeFile: "/lib/same.so", DebugID: fmt.Sprint(i)})
	}
	f.module("other", 0x7600a0000000, moduleSize)
	f.sym("/lib/same.so", "FUNC 200 100 0 f", "STACK CFI INIT 200 100 .cfa: $rsp 8 + .ra: .cfa 8 - ^")
	f.stack(stackAMD64, mod2AMD64+0x211, mod1AMD64+0x212, 0x7600a0000100, 0x7600a0000200, "end:", junk(3))
	f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
	s := f.walk()
	carried := f.contexts("$rbx", "$rbp", "$r12", "$r13", "$r14", "$r15")
	f.check(s, EndNoTechnique,
		want{TrustCFI, ByCFI, mod2AMD64 + 0x211, stackAMD64 + 8, "f", carried},
		want{TrustCFI, ByCFI, mod1AMD64 + 0x212, stackAMD64 + 16, "f", carried},
		want{TrustCFI, ByCFI, 0x7600a0000100, stackAMD64 + 24, "", carried},
		want{TrustScan, ByScan, 0x7600a0000200, f.at("end"), "", f.contexts("$rbp")})
	if g := s.Frames[1]; g.FunctionBase != mod2AMD64+0x200 || g.Module.Base != mod2AMD64 {
		t.Errorf("frame 1: function at %#x in the module at %#x", g.FunctionBase, g.Module.Base)
	}
	f.walk()
	if n := f.symbols.loads["/lib/same.so"]; n != 1 {
		t.Errorf("loaded %d times", n)
	}
	if n := f.symbols.loads["other"]; n != 1 {
		t.Errorf("missing symbols were asked for %d times", n)
	}
	f.checkMissing("other")
}

// The lists have each module once, in the order of their first frame; modules of one file are modules of their own.
func TestMissingAndCorrupt(t *testing.T) {
	f := newFixture(t, "x86_64")
	f.module("unused", 0x10000000, moduleSize)
	f.module("corrupt1", 0x20000000, moduleSize)
	f.module("missing1", 0x30000000, moduleSize)
	f.module("corrupt2", 0x40000000, moduleSize)
	f.module("missing2", 0x50000000, moduleSize)
	f.module("good", 0x60000000, moduleSize)
	f.module("missing1", 0x70000000, moduleSize)
	f.sym("corrupt1", "PUBLIC 0100 0 one", "FUNC bad")
	f.sym("corrupt2", "FUNC 100 1000 0 two", "STACK WIN bad")
	f.sym("good", "FUNC 100 1000 0 good", "INLINE bad") // an error that nobody counts
	f.stack(stackAMD64,
		0x50000100, 0x40000200, 0x60000200, 0x30000200, 0x20000200, 0x50000200, 0x40000200, 0x70000200,
		0x90000000) // in no module
	f.set("$rip", 0x20000210, "$rsp", stackAMD64)
	s := f.walk()
	if len(s.Frames) != 9 {
		t.Errorf("%d frames", len(s.Frames))
	}
	f.checkMissing("missing2 missing1 missing1")
	f.checkCorrupt("corrupt1 corrupt2")
	f.walk() // once more
	f.checkMissing("missing2 missing1 missing1")
	f.checkCorrupt("corrupt1 corrupt2")

	for i, want := range []SymbolStatus{
		SymbolsCorrupt, SymbolsMissing, SymbolsCorrupt, SymbolsLoaded, SymbolsMissing, SymbolsCorrupt, SymbolsMissing,
		SymbolsCorrupt, SymbolsMissing,
	} {
		if got, err := f.walker.SymbolStatus(s.Frames[i].Module); got != want || (err != nil) != (want == SymbolsMissing) {
			t.Errorf("frame %d: symbols are %v (%v), want %v", i, got, err, want)
		}
	}
	if got, _ := f.walker.SymbolStatus(f.process.Modules.At(0x10000000)); got != SymbolsUnused {
		t.Errorf("the unused module's symbols are %v", got)
	}
}

// A candidate of a scan loads its module's symbols, but does not make the module one that lacks them.
func TestScanDoesNotReportModules(t *testing.T) {
	f := newFixture(t, "x86").modules(module1, module2)
	f.sym("module2", "FUNC 100 10 0 f", "FUNC bad")
	f.stack(0x80000000, module2+0x200, junk(1))
	f.set("$eip", module1+0x210, "$esp", 0x80000000)
	f.check(f.walk(), EndNoTechnique)
	f.checkMissing("module1")
	f.checkCorrupt("")
	if f.symbols.loads["module2"] != 1 {
		t.Error("the symbols of module2 were not asked")
	}
}

// Unloaded modules name frames, but a scan takes nothing that lies in them.
func TestUnloadedModules(t *testing.T) {
	f := newFixture(t, "x86_64").modules(mod1AMD64)
	f.process.Unloaded.Add(Module{Base: mod2AMD64, Size: moduleSize, CodeFile: "gone"})
	f.process.Unloaded.Add(Module{Base: mod1AMD64, Size: moduleSize, CodeFile: "replaced"})
	f.sym("gone", "FUNC 200 100 0 f", "STACK CFI INIT 200 100 .cfa: $rsp 16 + .ra: .cfa 8 - ^")
	f.stack(stackAMD64, mod2AMD64+0x210, mod1AMD64+0x100, "frame1:", mod2AMD64+0x210, junk(2))
	f.set("$rip", mod2AMD64+0x210, "$rsp", stackAMD64)
	s := f.walk()
	f.check(s, EndNoTechnique,
		want{TrustCFI, ByCFI, mod1AMD64 + 0x100, f.at("frame1"), "",
			f.contexts("$rbx", "$rbp", "$r12", "$r13", "$r14", "$r15")})
	if s.Frames[0].Module.CodeFile != "gone" || s.Frames[0].Function != "f" || s.Frames[1].Module.CodeFile != "module1" {
		t.Errorf("modules %s %s, function %q", s.Frames[0].Module.CodeFile, s.Frames[1].Module.CodeFile, s.Frames[0].Function)
	}
}

// Every walker reads memory in the order of the process: the same stack, written both ways.
func TestByteOrders(t *testing.T) {
	for _, c := range []struct {
		cpu, pc, sp string
		set         []any
		by          Technique
	}{
		{"x86", "$eip", "$esp", []any{"$ebp", "frame"}, ByFramePointer},
		{"x86", "$eip", "$esp", nil, ByScan},
		{"x86_64", "$rip", "$rsp", []any{"$rbp", "frame"}, ByFramePointer},
		{"x86_64", "$rip", "$rsp", nil, ByScan},
		{"arm", "pc", "sp", nil, ByScan},
		{"arm64", "pc", "sp", nil, ByScan},
		{"arm64", "pc", "sp", []any{"x29", "frame", "x30", 0x40000322}, ByFramePointer},
		{"riscv", "pc", "sp", nil, ByScan},
		{"riscv64", "pc", "sp", []any{"s0", "frame", "ra", 0x40000322}, ByFramePointer},
		{"mips", "$pc", "$sp", nil, ByScan},
		{"mips64", "$pc", "$sp", nil, ByScan},
		{"x86", "$eip", "$esp", nil, ByCFI},
		{"x86_64", "$rip", "$rsp", nil, ByCFI},
		{"arm", "pc", "sp", nil, ByCFI},
		{"arm64", "pc", "sp", nil, ByCFI},
		{"riscv", "pc", "sp", nil, ByCFI},
		{"riscv64", "pc", "sp", nil, ByCFI},
		{"mips", "$pc", "$sp", nil, ByCFI},
		{"mips64", "$pc", "$sp", nil, ByCFI},
		{"x86", "$eip", "$esp", nil, ByWin},
	} {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			f := newFixture(t, c.cpu).modules(module1, module2)
			f.process.Order = order
			f.stack(linkStack, junk(2), "frame:", "next", module2+0x100, "next:", junk(20))
			f.set(c.pc, module1+0x210, c.sp, linkStack)
			f.set(c.set...)
			switch c.by {
			case ByCFI:
				f.sym("module1", fmt.Sprintf("STACK CFI INIT 200 100 .cfa: %s %d + .ra: .cfa %d - ^", c.sp, 4*f.cpu.Word,
					f.cpu.Word))
			case ByWin:
				f.sym("module1", win4(0x200, 0x100, 0, 0, 12, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + ="))
			}
			want := uint64(module2 + 0x100)
			switch {
			case c.cpu == "mips" || c.cpu == "mips64":
				want -= 2 * uint64(f.cpu.Word)
			case len(c.set) == 4:
				want = 0x40000322
			}
			s := f.walk()
			if len(s.Frames) < 2 || s.Frames[1].Technique != c.by || s.Frames[1].Registers.PC() != want ||
				s.Frames[1].Registers.SP() != f.at("next") {
				t.Errorf("%s %v %v: %d frames, %+v", c.cpu, order, c.by, len(s.Frames), s.Frames[len(s.Frames)-1].Registers)
			}
		}
	}
}

// A stack memory that does not hold the stack pointer gives no frame but the first.
func TestStackElsewhere(t *testing.T) {
	for _, c := range linkCPUs {
		f := newFixture(t, c.name).modules(module1, module2)
		f.stack(linkStack, module2+0x100, gap(8))
		f.set(c.pc, module1+0x200, c.sp, 0x90000000)
		f.check(f.walk(), EndNoTechnique)
		f.set(c.sp, linkStack-1)
		f.check(f.walk(), EndNoTechnique)
		f.set(c.sp, linkStack+9*uint64(f.cpu.Word)-1) // not a whole word left
		f.check(f.walk(), EndNoTechnique)
	}
}

// Threads of two CPUs in one process, as 32-bit programs on 64-bit Windows have them: what one walk keeps of a symbol
// file does not reach the other.
func TestTwoCPUs(t *testing.T) {
	f := newFixture(t, "x86").modules(module1, module2)
	f.sym("module1", "FUNC 200 100 0 f", "STACK CFI INIT 200 100 .cfa: 2147483664 .ra: 1073742353 $ebx: 7 $rbx: 8")
	f.stack(0x80000000, gap(16))
	f.set("$eip", module1+0x211, "$esp", 0x80000000)
	wide, _ := arch.Lookup("x86_64")
	regs := &arch.Registers{CPU: wide}
	regs.Set(wide.Slot.PC, module1+0x211)
	regs.Set(wide.Slot.SP, 0x80000000)
	f.process.Threads = append(f.process.Threads, Thread{Registers: regs, Stack: f.process.Threads[0].Stack})
	for range 2 {
		one, two := f.walker.Walk(0), f.walker.Walk(1)
		if len(one.Frames) != 2 || len(two.Frames) != 2 {
			t.Fatalf("%d and %d frames", len(one.Frames), len(two.Frames))
		}
		if v, ok := one.Frames[1].Registers.Get(f.cpu.SlotOf("$ebx")); !ok || v != 7 {
			t.Errorf("$ebx is %d, %t", v, ok)
		}
		if v, ok := two.Frames[1].Registers.Get(wide.SlotOf("$rbx")); !ok || v != 8 {
			t.Errorf("$rbx is %d, %t", v, ok)
		}
	}
}

// A caller's module list may leave out what overlaps: the walk uses what lookups reach.
func TestModuleOverlap(t *testing.T) {
	m := NewModules(symfile.TruncateLower)
	m.Add(Module{Base: 0x1000, Size: 0x3000, CodeFile: "lower"})
	m.Add(Module{Base: 0x2000, Size: 0x1000, CodeFile: "upper"})
	for addr, want := range map[uint64]string{0xfff: "", 0x1000: "lower", 0x1fff: "lower", 0x2000: "upper",
		0x2fff: "upper", 0x3000: ""} {
		if got := m.At(addr); (got == nil) != (want == "") || got != nil && got.CodeFile != want {
			t.Errorf("%#x in %v, want %s", addr, got, want)
		}
	}
	if m.top() != 0x3000 {
		t.Errorf("the highest module ends at %#x", m.top())
	}
}
