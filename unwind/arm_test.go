package unwind

import "testing"

// armIOS is the fixture of a process of iOS, where r7 is the frame pointer. Its OS is left empty, because call frame
// information is not used where it is "iOS".
func armIOS(t *testing.T) *fixture {
	f := newFixture(t, "arm").modules(module1, module2)
	f.process.System.OS, f.process.System.OSShort = "", "ios"
	f.set("sp", linkStack, "pc", module1+0x200)
	return f
}

func TestARMOnlyFramePointer(t *testing.T) {
	f := armIOS(t)
	f.stack(linkStack,
		junk(4), module1+0x555, // what a scan would find
		"frame0:", "frame1", module2+0x300,
		"sp1:", junk(4),
		"frame1:", 0, 0,
		"sp2:", junk(1),
	)
	f.set("r7", "frame0", "lr", module1+0x100)
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module1 + 0x100, f.at("sp1"), "", values{"r7": f.at("frame1"), "lr": module2 + 0x300}},
		want{TrustFP, ByFramePointer, module2 + 0x300, f.at("sp2"), "", values{"r7": 0, "lr": 0}})
}

// Elsewhere no register is one.
func TestARMNoFramePointer(t *testing.T) {
	f := armIOS(t)
	f.process.System.OS, f.process.System.OSShort = "Linux", "linux"
	f.stack(linkStack, junk(1), "frame:", "next", module2+0x300, "sp1:", junk(4), "next:", 0, 0)
	f.set("r7", "frame", "r11", "frame", "lr", module1+0x100)
	f.check(f.walk(), EndNoTechnique, want{TrustScan, ByScan, module2 + 0x300, f.at("sp1"), "", values{}})
}

// A frame pointer that leaves the stack ends the chain; then the stack is scanned.
func TestARMFramePointerLeavesStack(t *testing.T) {
	f := armIOS(t)
	f.stack(linkStack, junk(2), "frame0:", 0x90000000, module2+0x300, "sp1:", junk(1), module2+0x400, "sp2:", junk(2))
	f.set("r7", "frame0", "lr", module1+0x100)
	f.check(f.walk(), EndNoTechnique,
		want{TrustFP, ByFramePointer, module1 + 0x100, f.at("sp1"), "", values{"r7": 0x90000000, "lr": module2 + 0x300}},
		want{TrustScan, ByScan, module2 + 0x400, f.at("sp2"), "", values{}})
}

// A frame pointer of 0 keeps the stack pointer, which only the context frame gets away with.
func TestARMFramePointerZero(t *testing.T) {
	f := armIOS(t)
	f.stack(linkStack, junk(4))
	f.set("r7", 0, "lr", module1+0x100)
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module1 + 0x100, linkStack, "", values{"r7": 0, "lr": 0}})
}

// With a frame pointer configured, .ra is the caller's link register and the callee's is the program counter.
func TestARMFramePointerAndCFI(t *testing.T) {
	f := armIOS(t)
	f.sym("module1",
		"FUNC 200 100 0 pushes", "STACK CFI INIT 200 100 .cfa: sp 12 + .ra: .cfa -4 + ^ r7: .cfa -8 + ^ r4: .cfa -12 + ^",
		"FUNC 1000 100 0 chained")
	f.stack(linkStack,
		0x44444444, "frame1", module2+0x300,
		"sp1:", junk(3),
		"frame1:", "frame2", module2+0x400,
		"sp2:", junk(1),
		"frame2:", 0, 0,
		"sp3:", junk(1),
	)
	f.set("lr", module1+0x1010)
	carried := f.contexts("r5", "r6", "r8", "r9", "r10", "r11")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByCFI, module1 + 0x1010, f.at("sp1"), "chained",
			carried.with(values{"r4": 0x44444444, "r7": f.at("frame1"), "lr": module2 + 0x300})},
		want{TrustFP, ByFramePointer, module2 + 0x300, f.at("sp2"), "", values{"r7": f.at("frame2"), "lr": module2 + 0x400}},
		want{TrustFP, ByFramePointer, module2 + 0x400, f.at("sp3"), "", values{"r7": 0, "lr": 0}})

	// A rule for pc wins over that.
	f.sym("module1", "FUNC 1000 100 0 chained", "STACK CFI INIT 200 100 .cfa: sp 12 + .ra: 7 pc: .cfa -4 + ^ r7: 0")
	f.walker = &Walker{Process: f.process, Symbols: f.symbols}
	s := f.walk()
	if len(s.Frames) < 2 || s.Frames[1].Registers.PC() != module2+0x300 || s.Frames[1].Registers.Has(f.cpu.Slot.LR) {
		t.Errorf("rule for pc: %d frames", len(s.Frames))
	}
}

// Call frame information is not used on iOS.
func TestARMNoCFIOnIOS(t *testing.T) {
	f := armIOS(t)
	f.process.System.OS = "iOS"
	f.sym("module1", "FUNC 200 100 0 function", "STACK CFI INIT 200 100 .cfa: sp 4 + .ra: .cfa -4 + ^")
	f.stack(linkStack, module2+0x100, junk(1), "frame0:", 0, 0, "sp1:", junk(1))
	f.set("r7", "frame0", "lr", module2+0x200)
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module2 + 0x200, f.at("sp1"), "", values{"r7": 0, "lr": 0}})
}

// The bit that marks Thumb code stays in every address.
func TestARMThumb(t *testing.T) {
	f := newFixture(t, "arm").modules(module1, module2)
	f.sym("module1", "STACK CFI INIT 200 100 .cfa: sp 4 + .ra: .cfa -4 + ^")
	f.stack(linkStack, module2+0x101, "sp1:", junk(2))
	f.set("sp", linkStack, "pc", module1+0x211)
	s := f.walk()
	f.check(s, EndNoTechnique,
		want{TrustCFI, ByCFI, module2 + 0x101, f.at("sp1"), "",
			f.contexts("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11")})
	if s.Frames[0].Instruction != module1+0x211 || s.Frames[1].Instruction != module2+0xff {
		t.Errorf("instructions %#x %#x", s.Frames[0].Instruction, s.Frames[1].Instruction)
	}
}

// Names of the walker's table that have no value: as operands they fail, as targets they are ignored.
func TestARMNamesWithoutValue(t *testing.T) {
	for _, c := range []struct {
		rules string
		by    Technique
	}{
		{".cfa: sp 4 + .ra: .cfa -4 + ^ f0: 1 fps: 2 cpsr: 3 r99: 4", ByCFI},
		{".cfa: sp 4 + cpsr - .ra: .cfa -4 + ^", ByScan},
		{".cfa: r13 4 + .ra: .cfa -4 + ^", ByScan}, // only one spelling counts
	} {
		f := newFixture(t, "arm").modules(module1, module2)
		f.sym("module1", "STACK CFI INIT 200 100 "+c.rules)
		f.stack(linkStack, module2+0x100, "sp1:", junk(2))
		f.set("sp", linkStack, "pc", module1+0x210)
		s := f.walk()
		if len(s.Frames) != 2 || s.Frames[1].Technique != c.by || s.Frames[1].Registers.Has(f.cpu.SlotOf("cpsr")) {
			t.Errorf("%s: %+v", c.rules, s.Frames)
		}
	}
}
