package unwind

import (
	"fmt"
	"testing"
)

func x86Fixture(t *testing.T) *fixture {
	f := newFixture(t, "x86").modules(module1, module2)
	f.process.System.OS, f.process.System.OSShort = "Windows NT", "windows"
	// Libraries of the size that Windows has them.
	f.module("ntdll", 0x77100000, 0x13c000)
	f.module("kernel32", 0x75d00000, 0xd4000)
	f.module("user32", 0x76900000, 0xc9000)
	f.module("browser", 0x63000000, 0x1ba8000)
	return f
}

func TestX86NoResolver(t *testing.T) {
	f := x86Fixture(t)
	f.walker.Symbols = nil
	f.stack(0x80000000, gap(2))
	f.set("$eip", module1+0x200, "$esp", 0x80000000)
	s := f.walk()
	f.check(s, EndNoTechnique)
	if s.Frames[0].Registers != *f.regs {
		t.Error("the context was changed")
	}
	f.checkMissing("")
	f.checkCorrupt("")
}

func TestX86Simple(t *testing.T) {
	f := x86Fixture(t)
	f.stack(0x80000000, gap(2))
	f.set("$eip", module1+0x200, "$esp", 0x80000000)
	s := f.walk()
	f.check(s, EndNoTechnique)
	if s.Frames[0].Registers != *f.regs {
		t.Error("the context was changed")
	}
	if m := s.Frames[0].Module; m == nil || m.CodeFile != "module1" || s.Frames[0].HasSymbols {
		t.Errorf("frame 0 in %v", m)
	}
	f.checkMissing("module1")
	f.checkCorrupt("")
	if status, err := f.walker.SymbolStatus(s.Frames[0].Module); status != SymbolsMissing || err != errNoText {
		t.Errorf("symbols: %v, %v", status, err)
	}
}

func TestX86NoStackMemory(t *testing.T) {
	f := x86Fixture(t)
	f.set("$eip", module1+0x200, "$esp", 0x80000000)
	f.check(f.walk(), EndNoStack)
	f.checkMissing("module1")
}

// A stack that does not lie within 32 bits is none.
func TestX86StackBeyond(t *testing.T) {
	chain := []any{"ebp:", "last", module1 + 0x300, "last:", gap(2)}
	for _, c := range []struct {
		base    uint64
		end     End
		callers int
	}{
		{0x100000000 - 16, EndLowAddress, 1}, // ends with the last byte
		{0x100000000 - 12, EndNoStack, 0},
		{0x100000000, EndNoStack, 0},
	} {
		f := x86Fixture(t)
		f.process.Threads[0].Stack = Region{}
		if c.base+16 <= 0x100000000 {
			f.stack(c.base, chain...)
			f.set("$ebp", "ebp")
		} else {
			f.process.Threads[0].Stack = Region{c.base, make([]byte, 16)}
		}
		f.set("$eip", module1+0x200, "$esp", c.base&^15&0xffffffff)
		if s := f.walk(); s.End != c.end || len(s.Frames) != c.callers+1 {
			t.Errorf("%#x: %v after %d frames", c.base, s.End, len(s.Frames))
		}
	}
}

func TestX86Traditional(t *testing.T) {
	f := x86Fixture(t)
	f.stack(0x80000000,
		junk(3),
		"frame0_ebp:", "frame1_ebp", module1+0x8679,
		"frame1_esp:", junk(2),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xc7a5, "$esp", 0x80000000, "$ebp", "frame0_ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module1 + 0x8679, f.at("frame1_esp"), "", values{"$ebp": f.at("frame1_ebp")}})
	f.checkMissing("module1")
}

// What lies at ebp is taken whatever it is, and ends the walk only where its numbers cannot be right.
func TestX86FramePointerIsNotChecked(t *testing.T) {
	f := x86Fixture(t)
	f.stack(0x80000000,
		"frame0_ebp:", 0x12345678, 0x0badc0de, // no module there
		"frame1_esp:", gap(4), module1+0x300, // which a scan would find
	)
	f.set("$eip", module1+0x200, "$esp", 0x80000000, "$ebp", "frame0_ebp")
	f.check(f.walk(), EndNoTechnique,
		want{TrustFP, ByFramePointer, 0x0badc0de, f.at("frame1_esp"), "", values{"$ebp": 0x12345678}},
		// ebp leads nowhere: a scan follows. The word below the return address is 0, so that ebp stays.
		want{TrustScan, ByScan, module1 + 0x300, 0x8000001c, "", values{"$ebp": 0x12345678}})
}

func TestX86TraditionalScan(t *testing.T) {
	f := x86Fixture(t)
	f.stack(0x80000000,
		junk(4),
		"frame1_ebp", module1+0x129d,
		"frame1_esp:", junk(2),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xf49d, "$esp", 0x80000000, "$ebp", 0xd43eed6f)
	f.check(f.walk(), EndLowAddress,
		want{TrustScan, ByScan, module1 + 0x129d, f.at("frame1_esp"), "", values{"$ebp": f.at("frame1_ebp")}})
}

// The word below a return address is ebp where it points above itself, and not too far.
func TestX86ScanFramePointer(t *testing.T) {
	const slot = 0x80000004
	for _, c := range []struct {
		below uint64
		taken bool
	}{
		{slot + 1, true}, {slot, false}, {slot - 4, false}, {slot + 128<<10, true}, {slot + 128<<10 + 1, false}, {0, false},
	} {
		f := x86Fixture(t)
		f.stack(0x80000000, junk(1), c.below, module1+0x100, "frame1:", junk(1))
		f.set("$eip", module1+0x200, "$esp", 0x80000000)
		ebp := f.context("$ebp")
		if c.taken {
			ebp = c.below
		}
		s := f.walk()
		if len(s.Frames) < 2 {
			t.Fatalf("%#x: no caller", c.below)
		}
		f.checkFrame(1, &s.Frames[1],
			want{TrustScan, ByScan, module1 + 0x100, f.at("frame1"), "", values{"$ebp": ebp}})
	}
	// A return address in the first word of the stack has nothing below it.
	f := x86Fixture(t)
	f.stack(0x80000000, module1+0x100)
	f.set("$eip", module1+0x200, "$esp", 0x80000000)
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, module1 + 0x100, 0x80000004, "", f.contexts("$ebp")})
}

func TestX86TraditionalScanLongWay(t *testing.T) {
	f := x86Fixture(t)
	f.stack(0x80000000,
		junk(100),
		"frame1_ebp", module1+0x129d,
		"frame1_esp:", junk(2),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xf49d, "$esp", 0x80000000, "$ebp", 0xd43eed6f)
	f.check(f.walk(), EndLowAddress,
		want{TrustScan, ByScan, module1 + 0x129d, f.at("frame1_esp"), "", values{"$ebp": f.at("frame1_ebp")}})
}

// The windows are one word wider than their names say: 161 and 41.
func TestX86ScanWindow(t *testing.T) {
	for _, c := range []struct{ first, second, frames int }{
		{160, 40, 3}, {161, 0, 1}, {0, 40, 3}, {0, 41, 2}, {160, 41, 2},
	} {
		f := x86Fixture(t)
		f.stack(0x80000000, junk(c.first), module1+0x100, junk(c.second), module2+0x100, junk(200))
		f.set("$eip", module1+0x200, "$esp", 0x80000000)
		if s := f.walk(); len(s.Frames) != c.frames || s.End != EndNoTechnique {
			t.Errorf("return addresses behind %d and %d words: %d frames, want %d", c.first, c.second, len(s.Frames), c.frames)
		}
	}
}

func TestX86ScanningNotAllowed(t *testing.T) {
	f := x86Fixture(t)
	f.walker.MaxScanned = -1
	f.stack(0x80000000, junk(4), "frame1_ebp", module1+0x129d, junk(2), "frame1_ebp:", 0, 0)
	f.set("$eip", module1+0xf49d, "$esp", 0x80000000, "$ebp", 0xd43eed6f)
	f.check(f.walk(), EndNoTechnique)
}

// saveAll is the program of a function that pushes ebp, esi, edi and ebx, as its frame data tells: the return address
// lies where the sizes say.
const saveAll = "$T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + = " +
	"$ebp $T0 4 - ^ = $esi $T0 8 - ^ = $edi $T0 12 - ^ = $ebx $T0 16 - ^ ="

// traditional is the program of a function with a frame pointer.
const traditional = "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + ="

func win4(rva, size, params, saved, locals int, program string) string {
	return fmt.Sprintf("STACK WIN 4 %x %x 1 2 %x %x %x 0 1 %s", rva, size, params, saved, locals, program)
}

func winFPOData(rva, size, params, saved, locals int, allocatesBase int) string {
	return fmt.Sprintf("STACK WIN 0 %x %x 1 2 %x %x %x 0 0 %d", rva, size, params, saved, locals, allocatesBase)
}

func TestX86WindowsFrameData(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", win4(0xaa00, 0x200, 4, 0x10, 8, saveAll))
	f.stack(0x80000000,
		"frame0_esp:", junk(2), // locals
		0x2b1e1ebe, 0xed1ed1ed, 0xe51e51e5, "frame1_ebp", module2+0xf6fd,
		"frame1_esp:", junk(3),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xaa85, "$esp", "frame0_esp")
	s := f.walk()
	f.check(s, EndLowAddress,
		want{TrustCFI, ByWin, module2 + 0xf6fd, f.at("frame1_esp"), "", values{
			"$ebp": f.at("frame1_ebp"), "$ebx": 0x2b1e1ebe, "$edi": 0xed1ed1ed, "$esi": 0xe51e51e5}})
	f.checkMissing("module2")
}

// Registers that the program does not assign are not known in the caller.
func TestX86WindowsFrameDataWithoutRegisters(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", win4(0xaa00, 0x200, 0, 0, 4, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + = $esi $ebx ="))
	f.stack(0x80000000, junk(1), module2+0xf6fd, "frame1:", "ebp:", 0, 0)
	f.set("$eip", module1+0xaa85, "$esp", 0x80000000, "$ebp", "ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module2 + 0xf6fd, f.at("frame1"), "", values{
			"$ebp": f.at("ebp"), "$esi": f.context("$ebx")}})
}

func TestX86WindowsFrameDataAligned(t *testing.T) {
	f := x86Fixture(t)
	// The function aligned esp to 16 bytes, so that the sizes lead to the wrong place.
	f.sym("module1", win4(0xaa00, 0x200, 0, 4, 8,
		"$T1 .raSearch = $T0 $T1 4 - 16 @ = $ebp $T1 4 - ^ = $eip $T1 ^ = $esp $T1 4 + = $ebx $T0 ="))
	f.stack(0x80000000,
		"frame0_esp:", junk(8),
		"frame0_ebp:", "frame1_ebp", module2+0xdfe,
		"frame1_esp:", junk(1),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xaa85, "$esp", "frame0_esp", "$ebp", "frame0_ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module2 + 0xdfe, f.at("frame1_esp"), "", values{
			"$ebp": f.at("frame1_ebp"), "$ebx": f.at("frame0_ebp") &^ 15}})

	// Without an ebp to start from, the sizes are all there is.
	f.walker.MaxScanned = -1
	f.regs.Drop(f.cpu.SlotOf("$ebp"))
	f.process.Threads[0].Stack.Data[12], f.process.Threads[0].Stack.Data[13] = 0xfe, 0x0d // behind 12 bytes
	f.process.Threads[0].Stack.Data[14], f.process.Threads[0].Stack.Data[15] = 0, 0x50
	s := f.walk()
	if len(s.Frames) < 2 || s.Frames[1].Registers.SP() != f.at("frame0_esp")+16 || s.Frames[1].Trust != TrustCFI {
		t.Errorf("without ebp: %d frames", len(s.Frames))
	}
}

// The STACK WIN record tells the parameters where the FUNC record tells something else.
func TestX86WindowsFrameDataParameterSize(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", "FUNC 1000 100 14 pusher")
	f.sym("module2", "FUNC aa00 200 beef whiner", win4(0xaa00, 0x200, 4, 0x10, 4, saveAll))
	f.stack(0x80000000,
		"frame0_esp:", junk(2),
		"frame0_ebp:", "frame1_ebp", module2+0xaa85,
		"frame1_esp:",
		junk(5), // the parameters of pusher
		junk(1), // locals
		0x2b1e1ebe, 0xed1ed1ed, 0xe51e51e5, "frame2_ebp", module1+0x1010,
		"frame2_esp:", junk(1), // the parameter of whiner
		"frame2_ebp:", 0, 0,
		"frame1_ebp:", // not used by whiner, but readable
		0,
	)
	f.set("$eip", module1+0x1004, "$esp", "frame0_esp", "$ebp", "frame0_ebp")
	s := f.walk()
	f.check(s, EndLowAddress,
		want{TrustFP, ByFramePointer, module2 + 0xaa85, f.at("frame1_esp"), "whiner", values{"$ebp": f.at("frame1_ebp")}},
		want{TrustCFI, ByWin, module1 + 0x1010, f.at("frame2_esp"), "pusher", values{
			"$ebp": f.at("frame2_ebp"), "$ebx": 0x2b1e1ebe, "$edi": 0xed1ed1ed, "$esi": 0xe51e51e5}})

	// The caller of whiner steps over 4 bytes, not 0xbeef. It returns to code that no module tells of, so that nothing
	// but the sizes leads there.
	f = x86Fixture(t)
	f.walker.MaxScanned = -1
	f.sym("module1", "FUNC 1000 100 0 caller",
		win4(0x1000, 0x100, 0, 0, 8, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + ="))
	f.sym("module2", "FUNC aa00 200 beef whiner", win4(0xaa00, 0x200, 4, 0x10, 4, saveAll))
	f.stack(0x80000000,
		"frame0_esp:", junk(1), 0x2b1e1ebe, 0xed1ed1ed, 0xe51e51e5, "ebp", module1+0x1010,
		"frame1_esp:", junk(1), // the parameter of whiner
		junk(2), // locals
		0x0badc0de,
		"frame2_esp:", "ebp:", 0, 0,
	)
	f.set("$eip", module2+0xaa85, "$esp", "frame0_esp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module1 + 0x1010, f.at("frame1_esp"), "caller", values{
			"$ebp": f.at("ebp"), "$ebx": 0x2b1e1ebe, "$edi": 0xed1ed1ed, "$esi": 0xe51e51e5}},
		want{TrustCFI, ByWin, 0x0badc0de, f.at("frame2_esp"), "", values{"$ebp": f.at("ebp")}})
}

// Of several younger frames whose parameters are known, the youngest one's count.
func TestX86WindowsFrameDataYoungestParameters(t *testing.T) {
	const program = "$eip .raSearchStart ^ = $esp .raSearchStart 4 + ="
	f := x86Fixture(t)
	f.walker.MaxScanned = -1
	f.sym("module1",
		win4(0x1000, 0x100, 0xc, 0, 0, program), win4(0x2000, 0x100, 4, 0, 0, program), win4(0x3000, 0x100, 8, 0, 0, program),
		"PUBLIC 1000 0 some code")
	f.stack(0x80000000,
		module1+0x2010,
		"frame1_esp:", junk(3), module1+0x3010, // past 12 bytes of frame 0
		"frame2_esp:", junk(3), 0x0badc0de, // past 12 again, not 4 of frame 1, nor 8 of its own
		"frame3_esp:", "ebp:", 0, 0,
	)
	f.set("$eip", module1+0x1010, "$esp", 0x80000000, "$ebp", "ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module1 + 0x2010, f.at("frame1_esp"), "some code", values{"$ebp": f.at("ebp")}},
		want{TrustCFI, ByWin, module1 + 0x3010, f.at("frame2_esp"), "some code", values{"$ebp": f.at("ebp")}},
		want{TrustCFI, ByWin, 0x0badc0de, f.at("frame3_esp"), "", values{"$ebp": f.at("ebp")}})
}

// The search for a frame pointer goes through the save area, which lies behind the parameters of the callee.
func TestX86WindowsFrameDataSearchesEBP(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", "FUNC 1000 100 8 pusher")
	f.sym("module2", "FUNC 2000 100 0 f",
		win4(0x2000, 0x100, 0, 4, 0, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + = $ebp 1 ="))
	f.stack(0x80000000,
		"frame0_ebp:", "below", module2+0x2010,
		"frame1_esp:", "below:", "below", junk(1), // parameters
		"frame2_ebp", module2+0x3010,
		"frame2_esp:", "frame2_ebp:", 0, 0,
	)
	f.set("$eip", module1+0x1010, "$esp", 0x80000000, "$ebp", "frame0_ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustFP, ByFramePointer, module2 + 0x2010, f.at("frame1_esp"), "f", values{"$ebp": f.at("below")}},
		want{TrustCFI, ByWin, module2 + 0x3010, f.at("frame2_esp"), "", values{"$ebp": f.at("frame2_ebp")}})

	// A frame pointer that can be read is kept however low it is, if nothing had to be scanned for.
	f.sym("module2", "FUNC 2000 100 0 f",
		win4(0x2000, 0x100, 0, 4, 0, "$eip .raSearchStart ^ = $ebp $esp = $esp .raSearchStart 4 + ="))
	f.walker = &Walker{Process: f.process, Symbols: f.symbols}
	s := f.walk()
	f.checkFrame(2, &s.Frames[2],
		want{TrustCFI, ByWin, module2 + 0x3010, f.at("frame2_esp"), "", values{"$ebp": f.at("frame1_esp")}})
}

// Whether the program's eip will do is asked of the address itself: the end of a module does not, its base does.
func TestX86WindowsFrameDataModuleEnds(t *testing.T) {
	for _, c := range []struct {
		eip, found uint64
		trust      Trust
		sp         string
	}{
		{module2 + moduleSize, module2 + 0x111, TrustCFIScan, "later"},
		{module2 + moduleSize - 1, module2 + moduleSize - 1, TrustCFI, "frame1"},
		{module2, module2, TrustCFI, "frame1"},
		{module2 - 1, module2 + 0x111, TrustCFIScan, "later"},
	} {
		f := x86Fixture(t)
		f.sym("module1", win4(0x1000, 0x100, 0, 0, 4, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + ="))
		f.stack(0x80000000, junk(1), c.eip, "frame1:", junk(4), module2+0x111, "later:", junk(1), "ebp:", 0, 0)
		f.set("$eip", module1+0x1010, "$esp", 0x80000000, "$ebp", "ebp")
		f.check(f.walk(), EndLowAddress, want{c.trust, ByWin, c.found, f.at(c.sp), "", values{"$ebp": f.at("ebp")}})
	}
}

func TestX86WindowsFrameDataScan(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", win4(0xaa00, 0x200, 0, 0x10, 4, "$eip .raSearchStart ^ = $esp $nobody 4 + ="))
	f.stack(0x80000000,
		"frame0_esp:", junk(1), 0x2b1e1ebe, 0xed1ed1ed, 0xe51e51e5, "frame1_ebp", junk(3),
		module2+0xf6fd,
		"frame1_esp:", junk(1),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xaa85, "$esp", "frame0_esp", "$ebp", "frame1_ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustScan, ByWin, module2 + 0xf6fd, f.at("frame1_esp"), "", values{"$ebp": f.at("frame1_ebp")}})

	// No scan, no caller by STACK WIN: ebp is next.
	f.walker.MaxScanned = -1
	f.check(f.walk(), EndLowAddress)
}

// A program that leaves $esp or $eip alone is as good as none.
func TestX86WindowsFrameDataIncomplete(t *testing.T) {
	for _, program := range []string{"$eip .raSearchStart 8 + ^ =", "$esp .raSearchStart 8 + =", "$ebp $ebp ="} {
		f := x86Fixture(t)
		f.sym("module1", win4(0xaa00, 0x200, 0, 0, 0, program))
		f.stack(0x80000000, junk(1), module2+0x111, junk(3), "ebp:", 0, 0)
		f.set("$eip", module1+0xaa85, "$esp", 0x80000000, "$ebp", "ebp")
		f.check(f.walk(), EndLowAddress,
			want{TrustScan, ByWin, module2 + 0x111, 0x80000008, "", values{"$ebp": f.at("ebp")}})
	}
}

func TestX86WindowsFrameDataBadEIPScan(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", win4(0xaa00, 0x200, 0, 0xc, 4,
		"$eip .raSearchStart ^ = $esp .raSearchStart 4 + = $ebp .raSearchStart 12 - ^ ="))
	f.stack(0x80000000,
		"frame0_esp:", junk(1), // locals
		junk(2), "frame1_ebp", // saved registers; the program takes the first for ebp
		0xbadbad01, junk(3), // no return address, nor within the probe behind it
		module2+0xebe3,
		"frame1_esp:", junk(2),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xaa85, "$esp", "frame0_esp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFIScan, ByWin, module2 + 0xebe3, f.at("frame1_esp"), "", values{"$ebp": f.at("frame1_ebp")}})

	// Without scanning the program's result stands, as far as ebp can be found in the save area.
	f.walker.MaxScanned = -1
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, 0xbadbad01, 0x80000014, "", values{"$ebp": f.at("frame1_ebp")}})
}

// The probe behind the computed place moves .raSearchStart, scanning allowed or not.
func TestX86WindowsFrameDataProbe(t *testing.T) {
	for words := range 5 {
		f := x86Fixture(t)
		f.walker.MaxScanned = -1
		f.sym("module1", win4(0xaa00, 0x200, 0, 0, 4, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + ="))
		f.stack(0x80000000, junk(1), junk(words), module2+0x111, "frame1:", "ebp:", 0, 0)
		f.set("$eip", module1+0xaa85, "$esp", 0x80000000, "$ebp", "ebp")
		if words <= 3 {
			f.check(f.walk(), EndLowAddress,
				want{TrustCFI, ByWin, module2 + 0x111, f.at("frame1"), "", values{"$ebp": f.at("ebp")}})
		} else if s := f.walk(); s.Frames[1].Registers.PC() != 0xf00d0003 {
			t.Errorf("a return address behind %d words was found", words)
		}
	}
}

func TestX86WindowsFPOUnchangedEBP(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", winFPOData(0xe8a0, 0x100, 4, 8, 4, 0))
	f.stack(0x80000000,
		"frame0_esp:", junk(1), "frame1_esp", 0xbadbadba, module2+0x900d, // what looks like an ebp is none
		"frame1_esp:", junk(1),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0xe8b8, "$esp", "frame0_esp", "$ebp", "frame1_ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module2 + 0x900d, f.at("frame1_esp"), "", f.contexts("$ebp", "$ebx")})

	// Even an ebp that leads nowhere is passed through, and ebx only where it is known.
	f.set("$ebp", 0x00f00b42)
	f.regs.Drop(f.cpu.SlotOf("$ebx"))
	f.check(f.walk(), EndNoTechnique,
		want{TrustCFI, ByWin, module2 + 0x900d, f.at("frame1_esp"), "", values{"$ebp": 0x00f00b42}})
}

func TestX86WindowsFPOUsedEBP(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", winFPOData(0x9aa8, 0x100, 4, 0xc, 4, 1))
	f.stack(0x80000000,
		"frame0_esp:", junk(1), // the function's ebp lies 8 below the end of the saved registers, as the record counts
		"frame1_ebp", 0xecbdd1a5, 0x2b1e1ebe, module2+0xb8c1, // at esp + saved - 8
		"frame1_esp:", junk(1),
		"frame1_ebp:", 0, 0,
	)
	f.set("$eip", module1+0x9ab8, "$esp", "frame0_esp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module2 + 0xb8c1, f.at("frame1_esp"), "", values{"$ebp": f.at("frame1_ebp")}})
}

func TestX86WindowsFPOReferencesEBX(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1",
		"PUBLIC 1000 0 some code",
		winFPOData(0x1000, 0x100, 0, 0, 4, 0),
		winFPOData(0x2000, 0x100, 0, 0, 8, 0),
		win4(0x3000, 0x100, 0, 4, 0, "$T0 $ebx = $eip $T0 4 + ^ = $ebx $T0 4 - ^ = $esp $T0 8 + = $ebp $T0 ^ ="))
	f.stack(0x80000000,
		junk(1), module1+0x2010,
		"frame1_esp:", junk(2), module1+0x3010,
		"frame2_esp:", junk(2), 0x2b1e1ebe,
		"ebx:", "frame3_ebp", module2+0x4010,
		"frame3_esp:", junk(1),
		"frame3_ebp:", "frame4_ebp", module2+0x5010,
		"frame4_esp:", junk(1),
		"frame4_ebp:", 0, 0,
	)
	f.set("$eip", module1+0x1010, "$esp", 0x80000000, "$ebx", "ebx")
	through := f.contexts("$ebp", "$ebx")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module1 + 0x2010, f.at("frame1_esp"), "some code", through},
		want{TrustCFI, ByWin, module1 + 0x3010, f.at("frame2_esp"), "some code", through},
		want{TrustCFI, ByWin, module2 + 0x4010, f.at("frame3_esp"), "", values{
			"$ebp": f.at("frame3_ebp"), "$ebx": 0x2b1e1ebe}},
		want{TrustFP, ByFramePointer, module2 + 0x5010, f.at("frame4_esp"), "", values{"$ebp": f.at("frame4_ebp")}})
}

func TestX86WindowsFPOSystemCall(t *testing.T) {
	for _, c := range []struct {
		record string
		before int // words
		pc, sp uint64
	}{
		{winFPOData(0x4004, 1, 0, 0, 0, 0), 0, 0x77104104, 0x80000008},
		{winFPOData(0x4004, 1, 0, 0, 4, 0), 0, 0x77104104, 0x80000008}, // starts behind the slot
		{winFPOData(0x4004, 1, 0, 0, 0, 0), 1, 0x77104004, 0x80000008}, // starts before it
		{winFPOData(0x4004, 1, 0, 0, 4, 0), 1, 0x77104104, 0x8000000c},
		{win4(0x4004, 1, 0, 0, 0, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + ="), 0, 0x77104004, 0x80000004},
	} {
		f := x86Fixture(t)
		f.sym("ntdll", "FUNC 4000 4 0 call", "FUNC 4004 1 0 return", "FUNC 4100 10 0 waiter", c.record)
		f.stack(0x80000000, junk(c.before), 0x77104004, 0x77104104, "frame1_esp:", "ebp:", 0, 0)
		f.set("$eip", 0x77104004, "$esp", 0x80000000, "$ebp", "ebp")
		s := f.walk()
		if len(s.Frames) < 2 || s.Frames[1].Registers.PC() != c.pc || s.Frames[1].Registers.SP() != c.sp {
			t.Errorf("%s: caller %#x %#x", c.record, s.Frames[1].Registers.PC(), s.Frames[1].Registers.SP())
		}
	}
	// Only a context frame can have its own address on the stack.
	f := x86Fixture(t)
	f.sym("ntdll", "FUNC 4000 4 0 call", "FUNC 4004 1 0 return", "FUNC 4100 10 0 waiter", winFPOData(0x4000, 5, 0, 0,
		0, 0))
	f.stack(0x80000000, "ebp", 0x77104004, "frame1_esp:", 0x77104004, "frame2_esp:", 0x77104104, "ebp:", 0, 0)
	f.set("$eip", module1+0x100, "$esp", 0x80000000, "$ebp", 0x80000000)
	s := f.walk()
	if len(s.Frames) < 3 || s.Frames[2].Registers.PC() != 0x77104004 || s.Frames[2].Registers.SP() != f.at("frame2_esp") {
		t.Errorf("the slot of a frame that is not the context was skipped: %d frames", len(s.Frames))
	}
}

func TestX86ReturnAddressIsNotInKnownModule(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", "FUNC 1000 100 0 inner", win4(0x1000, 0x100, 0, 8, 0, traditional))
	f.sym("browser", "FUNC 1000 100 0 outer", win4(0x1000, 0x100, 0, 4, 0, traditional))
	f.stack(0x80000000,
		"frame0_esp:", junk(1),
		"frame0_ebp:", "unknown_ebp", 0x32100100, // code that no module tells of
		junk(5),
		"unknown_ebp:", "frame1_ebp", 0x63001020, // in outer
		"frame1_esp:", junk(2),
		"frame1_ebp:", "frame2_ebp", module2+0x2010,
		"frame2_esp:",
		"frame2_ebp:", 0, 0,
	)
	f.set("$eip", module1+0x1010, "$esp", "frame0_esp", "$ebp", "frame0_ebp")
	f.check(f.walk(), EndLowAddress,
		want{TrustCFIScan, ByWin, 0x63001020, f.at("frame1_esp"), "outer", values{"$ebp": f.at("frame1_ebp")}},
		want{TrustCFI, ByWin, module2 + 0x2010, f.at("frame2_esp"), "", values{"$ebp": f.at("frame2_ebp")}})
}

func TestX86HandleAlignmentInProgramString(t *testing.T) {
	f := x86Fixture(t)
	aligned := "$T1 .raSearch = $T0 $T1 4 - 8 @ = $ebp $T1 4 - ^ = $eip $T1 ^ = $esp $T1 4 + = $ebx $T0 20 - ^ ="
	f.sym("module1", "FUNC 1000 100 0 aligns", win4(0x1000, 0x100, 0, 4, 0x10, aligned))
	f.sym("module2", "FUNC 2000 100 0 between", win4(0x2000, 0x100, 8, 0xc, 0, traditional))
	f.stack(0x80000008,
		"frame0_esp:", junk(4),
		module2+0x2099, // an old return address where the sizes lead to
		junk(2), 0x2b1e1ebe, junk(4),
		"frame0_ebp:", "frame1_ebp", module2+0x2010,
		"frame1_esp:", junk(3),
		"frame1_ebp:", "frame2_ebp", module1+0x1020,
		"frame2_esp:", junk(4), 0xe51e51e5, junk(5),
		"frame2_ebp:", "frame3_ebp", 0x75d00111,
		"frame3_esp:", "frame3_ebp:", 0, 0,
	)
	f.set("$eip", module1+0x1010, "$esp", "frame0_esp", "$ebp", "frame0_ebp")
	ebx := func(frame string) uint64 { // 20 bytes below ebp aligned to 8
		v, ok := stackWord(&f.process.Threads[0].Stack, f.process.Order, f.at(frame)&^7-20, 4)
		if !ok {
			t.Fatal(frame)
		}
		return v
	}
	if ebx("frame0_ebp") != 0x2b1e1ebe || ebx("frame2_ebp") != 0xe51e51e5 {
		t.Fatalf("the test's stack is laid out wrongly: %#x %#x", ebx("frame0_ebp"), ebx("frame2_ebp"))
	}
	f.check(f.walk(), EndLowAddress,
		want{TrustCFI, ByWin, module2 + 0x2010, f.at("frame1_esp"), "between", values{
			"$ebp": f.at("frame1_ebp"), "$ebx": 0x2b1e1ebe}},
		want{TrustCFI, ByWin, module1 + 0x1020, f.at("frame2_esp"), "aligns", values{"$ebp": f.at("frame2_ebp")}},
		want{TrustCFI, ByWin, 0x75d00111, f.at("frame3_esp"), "", values{
			"$ebp": f.at("frame3_ebp"), "$ebx": 0xe51e51e5}})
}

func unknownIPFixture(t *testing.T) *fixture {
	f := x86Fixture(t)
	f.stack(0x80000000,
		"frame0_esp:", junk(2),
		"frame0_ebp:", "frame1_ebp", 0x63001020,
		"frame1_esp:", junk(2),
		"frame1_ebp:", "frame2_ebp", 0x63002020,
		"frame2_esp:", junk(1),
		"frame2_ebp:", "frame3_ebp", 0x75d00111,
		"frame3_esp:", "frame3_ebp:", 0, 0,
	)
	f.set("$eip", 0x09009009, "$esp", "frame0_esp", "$ebp", "frame0_ebp")
	return f
}

func (f *fixture) checkUnknownIP(s *Stack) {
	f.t.Helper()
	f.check(s, EndLowAddress,
		want{TrustFP, ByFramePointer, 0x63001020, f.at("frame1_esp"), "one", values{"$ebp": f.at("frame1_ebp")}},
		want{TrustCFI, ByWin, 0x63002020, f.at("frame2_esp"), "two", values{"$ebp": f.at("frame2_ebp")}},
		want{TrustCFI, ByWin, 0x75d00111, f.at("frame3_esp"), "", values{"$ebp": f.at("frame3_ebp")}})
	f.checkMissing("kernel32")
}

func TestX86IPAddressIsNotInKnownModule(t *testing.T) {
	f := unknownIPFixture(t)
	f.sym("browser",
		"FUNC 1000 100 0 one", win4(0x1000, 0x100, 0, 4, 0, traditional),
		"FUNC 2000 100 0 two", win4(0x2000, 0x100, 0, 4, 0, traditional))
	f.checkUnknownIP(f.walk())
	f.checkCorrupt("")
}

func TestX86IPAddressIsNotInKnownModuleCorruptSymbols(t *testing.T) {
	f := unknownIPFixture(t)
	f.sym("browser",
		"FUNC 1000 100 0 one", win4(0x1000, 0x100, 0, 4, 0, traditional),
		"FUNC gibberish",
		"STACK WIN 4 30 broken",
		"FUNC 2000 100 0 two", win4(0x2000, 0x100, 0, 4, 0, traditional),
		"STACK nonsense")
	s := f.walk()
	f.checkUnknownIP(s)
	f.checkCorrupt("browser")
	if status, err := f.walker.SymbolStatus(s.Frames[1].Module); status != SymbolsCorrupt || err != nil {
		t.Errorf("symbols: %v, %v", status, err)
	}
}

// The end of a stack by STACK WIN: eip and ebp are both 0, and nothing is searched for then.
func TestX86WindowsFrameDataEnd(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", win4(0x1000, 0x100, 0, 4, 0, traditional))
	f.stack(0x80000000, junk(1), "ebp:", 0, 0, junk(3), module2+0x111, junk(2))
	f.set("$eip", module1+0x1010, "$esp", 0x80000000, "$ebp", "ebp")
	f.check(f.walk(), EndLowAddress)
}

// A save area whose size wraps around is none: the search for ebp does not begin below it.
func TestX86WindowsFrameDataHugeSizes(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1",
		"STACK WIN 4 1000 100 0 0 0 fffffffc 4 0 1 $eip $esp ^ = $esp $esp 4 + = $ebp 1 =")
	f.stack(0x80000000, junk(8), "top", "esp:", module2+0x111, "frame1:", "top:", junk(4))
	f.set("$eip", module1+0x1010, "$esp", "esp")
	f.check(f.walk(), EndNoTechnique,
		want{TrustCFI, ByWin, module2 + 0x111, f.at("frame1"), "", values{"$ebp": 1}})
}

// One function with seven addresses, all of which lead to the same caller.
var cfiX86 = []string{
	"FUNC 4000 1000 10 winnower",
	"STACK CFI INIT 4000 100 .cfa: $esp 4 + .ra: .cfa 4 - ^",
	"STACK CFI 4001 .cfa: $esp 8 + $ebx: .cfa 8 - ^",
	"STACK CFI 4002 $esi: $eax",
	"STACK CFI 4003 .cfa: $esp 20 + $edi: .cfa 16 - ^",
	"STACK CFI 4005 .ra: $ecx",
	"STACK CFI 4006 .cfa: $ebp 8 + .ra: .cfa 4 - ^ $ebp: .cfa 8 - ^ $ebx: .cfa 12 - ^",
	"FUNC 5000 1000 10 bottom",
	"STACK CFI INIT 5000 1000 .cfa: 0 .ra: 0",
}

func TestX86CFI(t *testing.T) {
	const ra = module1 + 0x5510
	caller := values{"$ebp": 0xd43eed6e, "$ebx": 0x60f20ce6, "$esi": 0x53d1379d, "$edi": 0xafbae234}
	for _, c := range []struct {
		at    uint64
		stack []any
		set   []any // what differs from the caller's registers
	}{
		{0x4000, []any{"esp:", ra}, nil},
		{0x4001, []any{"esp:", 0x60f20ce6, ra}, []any{"$ebx", 0x91aa9a8b}},
		{0x4002, []any{"esp:", 0x60f20ce6, ra}, []any{"$ebx", 0x91aa9a8b, "$eax", 0x53d1379d, "$esi", 0xa5c790ed}},
		{0x4003, []any{"esp:", junk(1), 0xafbae234, junk(1), 0x60f20ce6, ra},
			[]any{"$ebx", 0x91aa9a8b, "$eax", 0x53d1379d, "$esi", 0xa5c790ed, "$edi", 0xdb46ca47}},
		{0x4004, []any{"esp:", junk(1), 0xafbae234, junk(1), 0x60f20ce6, ra},
			[]any{"$ebx", 0x91aa9a8b, "$eax", 0x53d1379d, "$esi", 0xa5c790ed, "$edi", 0xdb46ca47}},
		{0x4005, []any{"esp:", junk(1), 0xafbae234, junk(1), 0x60f20ce6, 0xbadbad01},
			[]any{"$ebx", 0x91aa9a8b, "$eax", 0x53d1379d, "$esi", 0xa5c790ed, "$edi", 0xdb46ca47, "$ecx", ra}},
		{0x4006, []any{"esp:", junk(7), 0xafbae234, 0x60f20ce6, "ebp:", 0xd43eed6e, ra},
			[]any{"$ebx", 0x91aa9a8b, "$eax", 0x53d1379d, "$esi", 0xa5c790ed, "$edi", 0xdb46ca47, "$ebp", "ebp"}},
	} {
		t.Run(fmt.Sprintf("%x", c.at), func(t *testing.T) {
			f := x86Fixture(t)
			f.sym("module1", cfiX86...)
			f.stack(0x80000000, append(c.stack, "caller:", gap(20))...)
			for name, v := range caller {
				f.set(name, v)
			}
			f.set("$eip", module1+c.at, "$esp", "esp")
			f.set(c.set...)
			f.check(f.walk(), EndLowAddress, want{TrustCFI, ByCFI, ra, f.at("caller"), "bottom", caller})
		})
	}
}

// A register whose rule fails keeps the callee's value where functions preserve it. What the callee does not know is
// not known in the caller either, and without ebp there is no use for it.
func TestX86CFIFailingRules(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1",
		"STACK CFI INIT 4000 100 .cfa: $esp 4 + .ra: .cfa 4 - ^ $ebx: .undef $eax: $nobody $ecx: $eax")
	f.stack(0x80000000, module2+0x111, "frame1:", gap(1))
	f.set("$eip", module1+0x4010, "$esp", 0x80000000)
	s := f.walk()
	f.check(s, EndNoTechnique,
		want{TrustCFI, ByCFI, module2 + 0x111, f.at("frame1"), "",
			f.contexts("$ebp", "$ebx", "$esi", "$edi").with(values{"$ecx": f.context("$eax")})})
	if v := s.Frames[1].Registers.Value[f.cpu.SlotOf("$eax")]; v != 0xdadadada { // as the reference fills them
		t.Errorf("the unknown $eax holds %#x", v)
	}

	f.regs.Drop(f.cpu.SlotOf("$ebp")) // the chain cannot be read: a scan
	f.check(f.walk(), EndNoTechnique,
		want{TrustScan, ByScan, module2 + 0x111, f.at("frame1"), "", values{"$ebp": 0}})
}

// $eip and $esp have names of their own, which win over .ra and .cfa.
func TestX86CFIOwnNames(t *testing.T) {
	f := x86Fixture(t)
	f.sym("module1", "STACK CFI INIT 4000 100 .cfa: $esp 4 + .ra: 17 $eip: .cfa 4 - ^ $esp: .cfa 8 +")
	f.stack(0x80000000, module2+0x111, gap(2), "frame1:", gap(1))
	f.set("$eip", module1+0x4010, "$esp", 0x80000000)
	f.check(f.walk(), EndNoTechnique,
		want{TrustCFI, ByCFI, module2 + 0x111, f.at("frame1"), "", f.contexts("$ebp", "$ebx", "$esi", "$edi")})
}

// STACK WIN is asked before STACK CFI, and STACK CFI before ebp.
func TestX86Order(t *testing.T) {
	f := x86Fixture(t)
	f.stack(0x80000000, module1+0x3001, module1+0x3002, "ebp:", "top", module1+0x3003, "top:", gap(4))
	f.set("$eip", module1+0x4010, "$esp", 0x80000000, "$ebp", "ebp")
	cfi := "STACK CFI INIT 4000 100 .cfa: $esp 4 + .ra: .cfa 4 - ^"
	for _, c := range []struct {
		lines []string
		by    Technique
		pc    uint64
	}{
		{[]string{cfi, win4(0x4000, 0x100, 0, 0, 4, "$eip .raSearchStart ^ = $esp .raSearchStart 4 + =")}, ByWin,
			module1 + 0x3002},
		{[]string{cfi, "FUNC 4000 100 4 params only"}, ByCFI, module1 + 0x3001},
		{[]string{"FUNC 4000 100 4 params only"}, ByFramePointer, module1 + 0x3003},
	} {
		f.sym("module1", append(c.lines, "PUBLIC 3000 0 callers")...)
		f.walker = &Walker{Process: f.process, Symbols: f.symbols}
		s := f.walk()
		if len(s.Frames) < 2 || s.Frames[1].Technique != c.by || s.Frames[1].Registers.PC() != c.pc {
			t.Errorf("%v: %+v", c.lines, s.Frames)
		}
	}
}
