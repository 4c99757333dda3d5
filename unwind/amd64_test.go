package unwind

import (
	"fmt"
	"testing"
)

const (
	mod1AMD64, mod2AMD64 = 0x7400c0000000, 0x7500b0000000
	stackAMD64           = 0x8000000000
)

func amd64Fixture(t *testing.T) *fixture {
	return newFixture(t, "x86_64").modules(mod1AMD64, mod2AMD64)
}

func TestAMD64NoResolver(t *testing.T) {
	f := amd64Fixture(t)
	f.walker.Symbols = nil
	f.stack(stackAMD64, gap(2))
	f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64)
	s := f.walk()
	f.check(s, EndNoTechnique)
	if s.Frames[0].Registers != *f.regs {
		t.Error("the context was changed")
	}
	f.checkMissing("")
}

func TestAMD64Simple(t *testing.T) {
	f := amd64Fixture(t)
	f.stack(stackAMD64, gap(2))
	f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64)
	s := f.walk()
	f.check(s, EndNoTechnique)
	if s.Frames[0].Registers != *f.regs {
		t.Error("the context was changed")
	}
	f.checkMissing("module1")
	f.checkCorrupt("")
}

func TestAMD64NoStackMemory(t *testing.T) {
	f := amd64Fixture(t)
	f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64)
	f.check(f.walk(), EndNoStack)
	f.checkMissing("module1")
}

func TestAMD64ScanWithoutSymbols(t *testing.T) {
	f := amd64Fixture(t)
	f.stack(stackAMD64,
		junk(3),
		mod1AMD64-1, mod1AMD64, // neither is one past an address in the module
		mod1AMD64+moduleSize+1,
		mod2AMD64+moduleSize, // one past the last
		"frame1_rsp:", junk(2),
		"frame1_rbp:", 0x9000000000, // the saved rbp, which the dump does not reach
		mod1AMD64+0x129d,
		"frame2_rsp:", junk(4),
	)
	f.set("$rip", mod1AMD64+0xf49d, "$rsp", stackAMD64, "$rbp", "frame1_rbp")
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, mod2AMD64 + moduleSize, f.at("frame1_rsp"), "", values{"$rbp": f.at("frame1_rbp")}},
		want{TrustScan, ByScan, mod1AMD64 + 0x129d, f.at("frame2_rsp"), "", values{"$rbp": 0x9000000000}})
	f.checkMissing("module1 module2")
}

// What becomes of rbp in a scan.
func TestAMD64ScanFramePointer(t *testing.T) {
	const slot = stackAMD64 + 16 // the word below the return address
	for _, c := range []struct {
		rbp, saved uint64
		known      values
	}{
		{slot, slot + 16, values{"$rbp": slot + 16}},
		{slot, slot + 8, values{}}, // not above the return address
		{slot, 0, values{}},
		{slot + 8, slot + 16, values{}}, // points to the return address
		{slot + 16, 0, values{"$rbp": slot + 16}},
		{slot - 8, slot + 16, values{}},
		{0x9000000001, 0, values{"$rbp": 0x9000000001}},
	} {
		f := amd64Fixture(t)
		f.walker.Techniques = []Technique{ByScan}
		f.stack(stackAMD64, junk(2), c.saved, mod2AMD64+0x100, "frame1:", junk(4))
		f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64, "$rbp", c.rbp)
		f.check(f.walk(), EndNoTechnique,
			want{TrustScan, ByScan, mod2AMD64 + 0x100, f.at("frame1"), "", c.known})
	}
	// An rbp that is not known stays so.
	f := amd64Fixture(t)
	f.stack(stackAMD64, junk(2), mod2AMD64+0x100, "frame1:", junk(4))
	f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64)
	f.only("$rip", "$rsp")
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, mod2AMD64 + 0x100, f.at("frame1"), "", values{}})
}

func TestAMD64ScanWithFunctionSymbols(t *testing.T) {
	f := amd64Fixture(t)
	f.sym("module1", "FUNC 100 400 10 outer", "FUNC 1000 100 10 inner")
	f.sym("module2", "FUNC 2000 40 0 middle", "PUBLIC 8000 0 public")
	f.stack(stackAMD64,
		junk(2), mod1AMD64+0x900, mod2AMD64+0x2041, // behind functions
		mod2AMD64+0x2000, // the first byte: its address less one lies before the function
		mod2AMD64+0x2040, // one past the end: the call was the last instruction
		"frame1_rsp:", junk(1), mod1AMD64+0x8000,
		mod1AMD64+0x4ff,
		"frame2_rsp:", junk(3), mod2AMD64+0x9000, // behind a PUBLIC
		"frame3_rsp:", junk(1),
	)
	f.set("$rip", mod1AMD64+0x1010, "$rsp", stackAMD64)
	rbp := f.contexts("$rbp")
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, mod2AMD64 + 0x2040, f.at("frame1_rsp"), "middle", rbp},
		want{TrustScan, ByScan, mod1AMD64 + 0x4ff, f.at("frame2_rsp"), "outer", rbp},
		want{TrustScan, ByScan, mod2AMD64 + 0x9000, f.at("frame3_rsp"), "public", rbp})
	if g := f.walk().Frames[0]; g.Function != "inner" || g.FunctionBase != mod1AMD64+0x1000 {
		t.Errorf("frame 0 is %s at %#x", g.Function, g.FunctionBase)
	}
	f.checkMissing("")
}

func TestAMD64ScanWindow(t *testing.T) {
	for _, c := range []struct{ first, second, frames int }{
		{160, 40, 3}, {161, 0, 1}, {0, 40, 3}, {0, 41, 2},
	} {
		f := amd64Fixture(t)
		f.stack(stackAMD64, junk(c.first), mod1AMD64+0x100, junk(c.second), mod2AMD64+0x100, junk(200))
		f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64)
		if s := f.walk(); len(s.Frames) != c.frames || s.End != EndNoTechnique {
			t.Errorf("return addresses behind %d and %d words: %d frames, want %d", c.first, c.second, len(s.Frames), c.frames)
		}
	}
}

func TestAMD64ScanningNotAllowed(t *testing.T) {
	f := amd64Fixture(t)
	f.walker.MaxScanned = -1
	f.stack(stackAMD64, junk(3), mod2AMD64+0x100, junk(2))
	f.set("$rip", mod1AMD64+0xf49d, "$rsp", stackAMD64)
	f.check(f.walk(), EndNoTechnique)
}

// x64 code of Windows: a delta at the address of its INIT record replaces the INIT's rules there.
func TestAMD64GetCallerByFramePointerRecovery(t *testing.T) {
	f := amd64Fixture(t)
	f.sym("module1",
		"FUNC 1000 100 0 uses rbp",
		"STACK CFI INIT 1000 100 .cfa: $rsp .ra: .cfa 8 - ^",
		"STACK CFI 1000 .cfa: $rbp 16 + $rbp: $rbp ^",
		"FUNC 2000 100 0 uses rsp",
		"STACK CFI INIT 2000 100 .cfa: $rsp .ra: .cfa 8 - ^",
		"STACK CFI 2000 .cfa: $rsp 24 +",
		"FUNC 3000 100 0 bottom",
		"STACK CFI INIT 3000 100 .cfa: 0 .ra: 0")
	f.stack(stackAMD64,
		junk(3), mod1AMD64+0x1010,
		"frame1_rsp:", junk(2),
		"frame1_rbp:", "frame2_rbp", mod1AMD64+0x2010,
		"frame2_rsp:", junk(2), mod1AMD64+0x3010,
		"frame3_rsp:", junk(1),
		"frame2_rbp:", gap(4),
	)
	// At frame 0, in a module without symbols, [rbp] and [rbp+8] can be read, but the chain would go down.
	f.set("$rip", mod2AMD64+0x10, "$rsp", stackAMD64, "$rbp", "frame1_rbp")
	data := f.process.Threads[0].Stack.Data
	copy(data[f.at("frame1_rbp")-stackAMD64:], []byte{8, 0, 0, 0, 0x80, 0, 0, 0}) // 0x8000000008
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, mod1AMD64 + 0x1010, f.at("frame1_rsp"), "uses rbp", values{"$rbp": f.at("frame1_rbp")}},
		want{TrustCFI, ByCFI, mod1AMD64 + 0x2010, f.at("frame2_rsp"), "uses rsp", values{"$rbp": stackAMD64 + 8}},
		want{TrustCFI, ByCFI, mod1AMD64 + 0x3010, f.at("frame3_rsp"), "bottom", values{"$rbp": stackAMD64 + 8}})
}

func TestAMD64CallerPushedRBP(t *testing.T) {
	f := amd64Fixture(t)
	f.stack(stackAMD64,
		junk(2), mod1AMD64+0x555, // what a scan would find
		"frame0_rbp:", "frame1_rbp", mod2AMD64+0x8679,
		"frame1_rsp:", junk(2),
		"frame1_rbp:", "frame2_rbp", mod1AMD64+0x777,
		"frame2_rsp:", junk(1),
		"frame2_rbp:", 0, mod2AMD64+0x888, // the chain ends, so that the last frame is found by a scan
		"frame3_rsp:", junk(1),
	)
	f.set("$rip", mod1AMD64+0xc7a5, "$rsp", stackAMD64, "$rbp", "frame0_rbp")
	f.check(f.walk(), EndNoTechnique,
		want{TrustFP, ByFramePointer, mod2AMD64 + 0x8679, f.at("frame1_rsp"), "", values{"$rbp": f.at("frame1_rbp")}},
		want{TrustFP, ByFramePointer, mod1AMD64 + 0x777, f.at("frame2_rsp"), "", values{"$rbp": f.at("frame2_rbp")}},
		want{TrustScan, ByScan, mod2AMD64 + 0x888, f.at("frame3_rsp"), "", values{}})
}

// The conditions of a frame pointer, one by one; what is refused is scanned.
func TestAMD64FramePointerRefused(t *testing.T) {
	const good = mod2AMD64 + 0x100
	for _, c := range []struct {
		name      string
		rbp       any
		saved, ip any
		by        Technique
	}{
		{"good", "frame", "next", good, ByFramePointer},
		{"not aligned", "frame+4", "next", good, ByScan},
		{"rip not canonical", "frame", "next", uint64(0x0000800000000000), ByScan},
		{"rip not canonical, last", "frame", "next", uint64(0xffff7fffffffffff), ByScan},
		{"rip canonical, below", "frame", "next", uint64(0x00007fffffffffff), ByFramePointer},
		{"rip canonical, above", "frame", "next", uint64(0xffff800000000000), ByFramePointer},
		{"rbp within the frame", "frame", "frame+8", good, ByScan},
		{"rbp at the caller's rsp", "frame", "frame+16", good, ByFramePointer},
		{"rbp beyond the stack", "frame", "end", good, ByScan},
		{"rbp 0", "frame", 0, good, ByScan},
		{"frame not on the stack", "end", "next", good, ByScan},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := amd64Fixture(t)
			f.stack(stackAMD64, junk(1), mod1AMD64+0x555, "scanned:", "frame:", c.saved, c.ip, junk(1), "next:", 0, 0,
				junk(3), "end:")
			f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64, "$rbp", c.rbp)
			if c.rbp == "frame+4" { // all but the alignment is as it should be
				data := f.process.Threads[0].Stack.Data[f.at("frame+4")-stackAMD64:]
				copy(data, f.encode(f.at("next")))
				copy(data[8:], f.encode(good))
			}
			s := f.walk()
			if len(s.Frames) < 2 || s.Frames[1].Technique != c.by {
				t.Fatalf("%d frames", len(s.Frames))
			}
			switch g := &s.Frames[1].Registers; c.by {
			case ByScan:
				if g.PC() != mod1AMD64+0x555 || g.SP() != f.at("scanned") {
					t.Errorf("%#x %#x", g.PC(), g.SP())
				}
			default:
				if g.PC() != f.value(c.ip) || g.SP() != f.at("frame")+16 {
					t.Errorf("%#x %#x", g.PC(), g.SP())
				}
			}
		})
	}
}

// 64-bit Windows has no frame pointers; a leaf function's return address is near rsp.
func TestAMD64Windows(t *testing.T) {
	windows := func(items ...any) *fixture {
		f := amd64Fixture(t)
		f.process.System.OS, f.process.System.OSShort = "Windows NT", "windows"
		f.stack(stackAMD64, items...)
		f.set("$rip", mod1AMD64+0x200, "$rsp", stackAMD64)
		return f
	}
	all := func(f *fixture) values {
		v := values{}
		for _, name := range f.cpu.Slots {
			if name != "$rip" && name != "$rsp" {
				v[name] = f.context(name)
			}
		}
		return v
	}
	for skip := range 2 {
		f := windows(junk(skip), mod2AMD64+0x100, "frame1:", junk(3))
		f.check(f.walk(), EndNoTechnique,
			want{TrustLeaf, ByLeaf, mod2AMD64 + 0x100, f.at("frame1"), "", all(f)})
	}
	f := windows(junk(2), mod2AMD64+0x100, "frame1:", junk(3))
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, mod2AMD64 + 0x100, f.at("frame1"), "", f.contexts("$rbp")})

	// Only the context frame can be a leaf.
	f = windows(mod2AMD64+0x100, "frame1:", mod2AMD64+0x200, "frame2:", junk(3))
	f.check(f.walk(), EndNoTechnique,
		want{TrustLeaf, ByLeaf, mod2AMD64 + 0x100, f.at("frame1"), "", all(f)},
		want{TrustScan, ByScan, mod2AMD64 + 0x200, f.at("frame2"), "", f.contexts("$rbp")})

	// A leaf does not count as scanned, and is found without scanning.
	f.walker.MaxScanned = -1
	f.check(f.walk(), EndNoTechnique,
		want{TrustLeaf, ByLeaf, mod2AMD64 + 0x100, f.at("frame1"), "", all(f)})

	// The chain of rbp is not followed.
	f = windows(junk(4), "frame0_rbp:", "next", mod2AMD64+0x300, "frame1:", "next:", gap(2))
	f.set("$rbp", "frame0_rbp")
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, mod2AMD64 + 0x300, f.at("frame1"), "", values{"$rbp": f.at("next")}})

	// CFI is asked first, and without it rbp is not used either where the system is not known to be something else.
	f = windows(mod2AMD64+0x100, mod2AMD64+0x200, "frame1:", junk(3))
	f.sym("module1", "STACK CFI INIT 200 1 .cfa: $rsp 16 + .ra: .cfa 8 - ^")
	f.check(f.walk(), EndNoTechnique,
		want{TrustCFI, ByCFI, mod2AMD64 + 0x200, f.at("frame1"), "",
			f.contexts("$rbx", "$rbp", "$r12", "$r13", "$r14", "$r15")})
}

// NaCl: the upper halves of rip, rsp and rbp do not count.
func TestAMD64NaCl(t *testing.T) {
	f := newFixture(t, "x86_64").modules(0x10000000, 0x20000000)
	f.process.System.OS, f.process.System.OSShort = "NaCl", "nacl"
	f.sym("module1", "STACK CFI INIT 200 100 .cfa: $rsp 16 + .ra: .cfa 8 - ^ $rbp: .cfa 16 - ^")
	f.stack(0x70000000, uint64(0x1234567870000018), uint64(0x1234567820000100), "frame1:", junk(1), "rbp:", junk(3))
	f.set("$rip", 0x10000210, "$rsp", 0x70000000)
	f.check(f.walk(), EndNoTechnique,
		want{TrustCFI, ByCFI, 0x20000100, f.at("frame1"), "",
			f.contexts("$rbx", "$r12", "$r13", "$r14", "$r15").with(values{"$rbp": f.at("rbp")})})
	// Elsewhere they do.
	f.process.System.OS, f.process.System.OSShort = "Linux", "linux"
	if s := f.walk(); len(s.Frames) != 2 || s.Frames[1].Registers.PC() != 0x1234567820000100 {
		t.Errorf("%d frames", len(s.Frames))
	}
}

var cfiAMD64 = []string{
	"FUNC 4000 1000 10 winnower",
	"STACK CFI INIT 4000 100 .cfa: $rsp 8 + .ra: .cfa 8 - ^",
	"STACK CFI 4001 .cfa: $rsp 16 + $rbx: .cfa 16 - ^",
	"STACK CFI 4002 $r12: $rax",
	"STACK CFI 4003 .cfa: $rsp 40 + $r13: .cfa 32 - ^",
	"STACK CFI 4005 .ra: $rcx",
	"STACK CFI 4006 .cfa: $rbp 16 + .ra: .cfa 8 - ^ $rbp: .cfa 16 - ^ $rbx: .cfa 24 - ^",
	"FUNC 5000 1000 10 bottom",
	"STACK CFI INIT 5000 1000 .cfa: 0 .ra: 0",
}

func TestAMD64CFI(t *testing.T) {
	const (
		ra  = mod1AMD64 + 0x5510
		rbx = 0x1e33cb3d0f1d2aaf
		r12 = 0x2a7a4fa9a8e5c8f0
		r13 = 0x3c9c4db6dd1e0ff6
		rbp = 0x4eb8e4bd3a53a2a2
	)
	junked := []any{"$rbx", uint64(0xbb01), "$rax", uint64(r12), "$r12", uint64(0xbb02), "$r13", uint64(0xbb03)}
	saved := []any{"rsp:", junk(1), uint64(r13), junk(1), uint64(rbx)}
	for _, c := range []struct {
		at    uint64
		stack []any
		set   []any
	}{
		{0x4000, []any{"rsp:", ra}, nil},
		{0x4001, []any{"rsp:", uint64(rbx), ra}, []any{"$rbx", uint64(0xbb01)}},
		{0x4002, []any{"rsp:", uint64(rbx), ra}, junked[:6]},
		{0x4003, append(saved[:len(saved):len(saved)], ra), junked},
		{0x4004, append(saved[:len(saved):len(saved)], ra), junked},
		{0x4005, append(saved[:len(saved):len(saved)], 0xbadbad), append(junked[:len(junked):len(junked)], "$rcx", ra)},
		{0x4006, []any{"rsp:", junk(7), uint64(r13), uint64(rbx), "rbp:", uint64(rbp), ra},
			append(junked[:len(junked):len(junked)], "$rbp", "rbp")},
	} {
		t.Run(fmt.Sprintf("%x", c.at), func(t *testing.T) {
			f := amd64Fixture(t)
			f.sym("module1", cfiAMD64...)
			f.stack(stackAMD64, append(c.stack, "caller:", gap(20))...)
			f.set("$rbx", uint64(rbx), "$r12", uint64(r12), "$r13", uint64(r13), "$rbp", uint64(rbp))
			f.set("$rip", mod1AMD64+c.at, "$rsp", "rsp")
			f.set(c.set...)
			f.check(f.walk(), EndNoTechnique, want{TrustCFI, ByCFI, ra, f.at("caller"), "bottom",
				f.contexts("$r14", "$r15").with(values{"$rbx": rbx, "$r12": r12, "$r13": r13, "$rbp": rbp})})
		})
	}
}

// Registers that CFI does not tell hold what the reference fills them with, and are not known.
func TestAMD64CFIUnknown(t *testing.T) {
	f := amd64Fixture(t)
	f.sym("module1", "STACK CFI INIT 200 100 .cfa: $rsp 8 + .ra: .cfa 8 - ^ $rbp: .undef $rdi: $rsi")
	f.stack(stackAMD64, mod2AMD64+0x100, "frame1:", junk(1))
	f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
	f.only("$rip", "$rsp", "$rbx", "$rsi")
	s := f.walk()
	f.check(s, EndNoTechnique, want{TrustCFI, ByCFI, mod2AMD64 + 0x100, f.at("frame1"), "",
		f.contexts("$rbx").with(values{"$rdi": f.context("$rsi")})})
	for _, name := range []string{"$rbp", "$rax", "$rsi"} {
		if v := s.Frames[1].Registers.Value[f.cpu.SlotOf(name)]; v != 0xdadadadadadadada {
			t.Errorf("the unknown %s holds %#x", name, v)
		}
	}
}

// CFI that yields 0 for rip or rsp counts as having failed, so that other techniques get their turn.
func TestAMD64CFIZero(t *testing.T) {
	for _, rules := range []string{
		".cfa: 0 .ra: $rip", ".cfa: $rsp 8 + .ra: 0", ".cfa: $rsp 8 + .ra: $rip $rsp: 0", ".cfa: $rsp 8 + .ra: $rip $rip: 0",
	} {
		f := amd64Fixture(t)
		f.sym("module1", "STACK CFI INIT 200 100 "+rules)
		f.stack(stackAMD64, junk(1), mod2AMD64+0x100, "frame1:", junk(1))
		f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
		f.check(f.walk(), EndNoTechnique,
			want{TrustScan, ByScan, mod2AMD64 + 0x100, f.at("frame1"), "", f.contexts("$rbp")})
	}
}

// Rules that do not evaluate leave the other techniques their turn.
func TestAMD64CFIBroken(t *testing.T) {
	for _, rules := range []string{
		".cfa: moot .ra: ambiguous", ".cfa: $rsp 8 +", ".ra: $rip", ".cfa: $rsp 8 + .ra: .ra", ".cfa: .cfa 8 + .ra: $rip",
		".cfa: $rsp 8 .ra: $rip", ".cfa: $rsp 8 + .ra: .cfa 8000 + ^", "nonsense", ".cfa: $rsp 0 / .ra: $rip",
		".cfa: $rsp 8 + : .ra: $rip",
	} {
		f := amd64Fixture(t)
		f.sym("module1", "STACK CFI INIT 200 100 "+rules)
		f.stack(stackAMD64, junk(1), mod2AMD64+0x100, "frame1:", junk(1))
		f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64)
		f.check(f.walk(), EndNoTechnique,
			want{TrustScan, ByScan, mod2AMD64 + 0x100, f.at("frame1"), "", f.contexts("$rbp")})
	}
}

// Memory is the thread's stack and nothing else: CFI, rbp and scanning read no other.
func TestAMD64OnlyTheStack(t *testing.T) {
	f := amd64Fixture(t)
	f.sym("module1", "STACK CFI INIT 200 100 .cfa: $rbx 8 + .ra: $rbx ^")
	f.stack(stackAMD64, junk(4))
	other := Region{0x9000000000, make([]byte, 64)}
	copy(other.Data, []byte{0x10, 0, 0, 0xb0, 0, 0x75}) // a return address into module2
	f.process.Memory = &other
	f.set("$rip", mod1AMD64+0x210, "$rsp", stackAMD64, "$rbx", uint64(0x9000000000), "$rbp", uint64(0x9000000010))
	f.check(f.walk(), EndNoTechnique)
}
