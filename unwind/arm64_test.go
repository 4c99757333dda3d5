package unwind

import "testing"

func arm64Fixture(t *testing.T) *fixture {
	f := newFixture(t, "arm64").modules(module1, module2)
	f.set("sp", linkStack, "pc", module1+0x200)
	return f
}

func TestARM64OnlyFramePointer(t *testing.T) {
	f := arm64Fixture(t)
	f.stack(linkStack,
		junk(4), module1+0x555, // what a scan would find
		"frame0:", "frame1", module2+0x300,
		"sp1:", junk(4),
		"frame1:", 0, 0,
		"sp2:", junk(1),
	)
	f.set("x29", "frame0", "x30", module1+0x100)
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module1 + 0x100, f.at("sp1"), "", values{"x29": f.at("frame1"),
			"x30": module2 + 0x300}},
		want{TrustFP, ByFramePointer, module2 + 0x300, f.at("sp2"), "", values{"x29": 0, "x30": 0}})
}

func TestARM64FramePointerLeavesStack(t *testing.T) {
	f := arm64Fixture(t)
	f.stack(linkStack, junk(2), "frame0:", 0x90000000, module2+0x300, "sp1:", junk(1), module2+0x400, "sp2:", junk(2))
	f.set("x29", "frame0", "x30", module1+0x100)
	f.check(f.walk(), EndNoTechnique,
		want{TrustFP, ByFramePointer, module1 + 0x100, f.at("sp1"), "", values{"x29": 0x90000000, "x30": module2 + 0x300}},
		want{TrustScan, ByScan, module2 + 0x400, f.at("sp2"), "", values{}})
}

// Nothing is checked: a frame pointer of 0 takes what the link register holds, and a link register of 0 ends the walk
// although a scan would find something.
func TestARM64FramePointerZero(t *testing.T) {
	f := arm64Fixture(t)
	f.stack(linkStack, junk(1), module2+0x300, junk(4))
	f.set("x29", 0, "x30", module1+0x100)
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module1 + 0x100, linkStack, "", values{"x29": 0, "x30": 0}})
	f.set("x30", 0)
	f.check(f.walk(), EndLowAddress)
	f.set("x30", 0x777777777) // in no module
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, 0x777777777, linkStack, "", values{"x29": 0, "x30": 0}})
}

// Explicit .ra and the frame pointer mixed: CFI first, and the frame pointer where there is none.
func TestARM64FramePointerAndCFI(t *testing.T) {
	f := arm64Fixture(t)
	f.sym("module1",
		"FUNC 200 100 0 pushes", "STACK CFI INIT 200 100 .cfa: sp 32 + .ra: .cfa -8 + ^ x29: .cfa -16 + ^ x30: .cfa -24 + ^",
		"FUNC 1000 100 0 chained")
	f.stack(linkStack,
		junk(1), module2+0x300, "frame1", module1+0x1010,
		"sp1:", junk(3),
		"frame1:", "frame2", module2+0x400,
		"sp2:", junk(1),
		"frame2:", 0, 0,
		"sp3:", junk(1),
	)
	carried := f.contexts("x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByCFI, module1 + 0x1010, f.at("sp1"), "chained",
			carried.with(values{"x29": f.at("frame1"), "x30": module2 + 0x300})},
		want{TrustFP, ByFramePointer, module2 + 0x300, f.at("sp2"), "", values{"x29": f.at("frame2"),
			"x30": module2 + 0x400}},
		want{TrustFP, ByFramePointer, module2 + 0x400, f.at("sp3"), "", values{"x29": 0, "x30": 0}})
}

// The repair of a link register that CFI does not tell takes the return address into the frame for the one out of it,
// so that the frame appears twice.
func TestARM64RepairLR(t *testing.T) {
	f := arm64Fixture(t)
	const pushes = "STACK CFI INIT 200 100 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^"
	f.sym("module1", "FUNC 200 100 0 pushes", pushes, "FUNC 1000 100 0 without")
	f.stack(linkStack,
		"frame0:", "frame1", module1+0x1010, junk(2),
		"sp1:", junk(3),
		"frame1:", "frame2", module2+0x400,
		"sp2:", junk(1),
		"frame2:", 0, 0,
		"sp3:", junk(1),
	)
	f.set("x29", "frame0")
	carried := f.contexts("x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28")
	first := want{TrustCFI, ByCFI, module1 + 0x1010, f.at("sp1"), "without", carried.with(values{"x29": f.at("frame1")})}
	f.check(f.walk(), EndLowAddress, first,
		want{TrustFP, ByFramePointer, module1 + 0x1010, f.at("sp2"), "without", values{
			"x29": f.at("frame2"), "x30": module2 + 0x400}},
		want{TrustFP, ByFramePointer, module2 + 0x400, f.at("sp3"), "", values{"x29": 0, "x30": 0}})

	// What is found is stripped of its signature.
	data := f.process.Threads[0].Stack.Data
	data[15] = 0x3f
	f.sym("module1", "FUNC 200 100 0 pushes", "STACK CFI INIT 200 100 .cfa: sp 32 + .ra: x1 x29: .cfa -32 + ^",
		"FUNC 1000 100 0 without")
	f.walker = &Walker{Process: f.process, Symbols: f.symbols}
	f.set("x1", module1+0x1010)
	f.check(f.walk(), EndLowAddress, first,
		want{TrustFP, ByFramePointer, module1 + 0x1010, f.at("sp2"), "without", values{
			"x29": f.at("frame2"), "x30": module2 + 0x400}},
		want{TrustFP, ByFramePointer, module2 + 0x400, f.at("sp3"), "", values{"x29": 0, "x30": 0}})
	data[15] = 0

	// Where the chain and CFI do not agree nothing is repaired: the link register stays 0.
	for name, x29 := range map[string]any{"another frame": "frame1", "not readable": 0x90000000, "none": 0} {
		f.sym("module1", "FUNC 200 100 0 pushes", pushes, "FUNC 1000 100 0 without")
		f.walker = &Walker{Process: f.process, Symbols: f.symbols}
		f.set("x29", x29)
		t.Run(name, func(t *testing.T) {
			f.t = t
			f.check(f.walk(), EndLowAddress, first)
		})
		f.t = t
	}

	// Nor where the frame pointer does not lie above the stack pointer.
	f.sym("module1", "FUNC 200 100 0 pushes",
		"STACK CFI INIT 200 100 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^ sp: .cfa 24 +", "FUNC 1000 100 0 without")
	f.walker = &Walker{Process: f.process, Symbols: f.symbols}
	f.set("x29", "frame0")
	first.sp = f.at("frame1")
	f.check(f.walk(), EndLowAddress, first)
}

// Signed return addresses. The highest module ends at 0x50010000, so that 31 bits are taken for the address.
func TestARM64PointerAuthentication(t *testing.T) {
	const signature = uint64(0x5a) << 48
	f := arm64Fixture(t)
	f.stack(linkStack,
		junk(2),
		"frame0:", "frame1", signature|(module2+0x300),
		"sp1:", junk(1),
		"frame1:", "frame2", signature|0x70000300, // in no module: kept as it is
		"sp2:", junk(1),
		"frame2:", 0, 0,
		"sp3:",
	)
	f.set("x29", "frame0", "x30", signature|(module1+0x100))
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module1 + 0x100, f.at("sp1"), "", values{"x29": f.at("frame1"),
			"x30": module2 + 0x300}},
		want{TrustFP, ByFramePointer, module2 + 0x300, f.at("sp2"), "", values{"x29": f.at("frame2"),
			"x30": signature | 0x70000300}},
		want{TrustFP, ByFramePointer, signature | 0x70000300, f.at("sp3"), "", values{"x29": 0, "x30": 0}})

	if s := f.walk(); s.Frames[0].Registers.Value[f.cpu.Slot.LR] != module1+0x100 {
		t.Errorf("the context's link register is %#x", s.Frames[0].Registers.Value[f.cpu.Slot.LR])
	}
	if f.regs.Value[f.cpu.Slot.LR] != signature|(module1+0x100) {
		t.Error("the walk changed the process")
	}

	// CFI: the program counter, but not the link register.
	f.sym("module1", "STACK CFI INIT 200 100 .cfa: sp 16 + .ra: .cfa -8 + ^ x30: .cfa -16 + ^")
	f.walker = &Walker{Process: f.process, Symbols: f.symbols}
	f.stack(linkStack, signature|(module2+0x500), signature|(module2+0x300), "sp1:", junk(2))
	f.set("x29", 0x90000000)
	saved := f.contexts("x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29")
	f.check(f.walk(), EndNoTechnique,
		want{TrustCFI, ByCFI, module2 + 0x300, f.at("sp1"), "", saved.with(values{"x30": signature | (module2 + 0x500)})})

	// The context's program counter is what it is.
	f.set("pc", signature|(module1+0x200))
	if s := f.walk(); s.Frames[0].Module != nil || s.Frames[0].Instruction != signature|(module1+0x200) {
		t.Errorf("context at %#x", s.Frames[0].Instruction)
	}

	// Words of the stack are no candidates with a signature.
	f.set("pc", module2+0x200)
	f.stack(linkStack, signature|(module2+0x500), junk(1), module2+0x600, "sp1:", junk(1))
	f.check(f.walk(), EndNoTechnique, want{TrustScan, ByScan, module2 + 0x600, f.at("sp1"), "", values{}})
}

// Without modules there is no telling which bits are the address.
func TestARM64PointerAuthenticationWithoutModules(t *testing.T) {
	f := newFixture(t, "arm64")
	f.stack(linkStack, "frame0:", "frame1", 0x333333, "sp1:", "frame1:", 0, 0, "sp2:")
	f.set("sp", linkStack, "pc", module1, "x29", "frame0", "x30", uint64(0xffff000000222222))
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, 0xffff000000222222, f.at("sp1"), "", values{"x29": f.at("frame1"), "x30": 0x333333}},
		want{TrustFP, ByFramePointer, 0x333333, f.at("sp2"), "", values{"x29": 0, "x30": 0}})
}
