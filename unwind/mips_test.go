package unwind

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

const mipsMod1, mipsMod2 = 0x00400000, 0x00500000

// eachMIPS runs a test for both widths, in both byte orders.
func eachMIPS(t *testing.T, test func(t *testing.T, f *fixture)) {
	for _, cpu := range []string{"mips", "mips64"} {
		for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
			t.Run(fmt.Sprint(cpu, order), func(t *testing.T) {
				f := newFixture(t, cpu).modules(mipsMod1, mipsMod2)
				f.process.Order = order
				f.set("$sp", linkStack, "$pc", mipsMod1+0x200)
				test(t, f)
			})
		}
	}
}

// before is the program counter that a return address stands for.
func (f *fixture) before(ra uint64) uint64 { return ra - 2*uint64(f.cpu.Word) }

func (f *fixture) scannedMIPS(ra, sp, fp uint64) want {
	return want{TrustScan, ByScan, f.before(ra), sp, "", values{"$ra": ra, "$fp": fp}}
}

func TestMIPSNoResolver(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.walker.Symbols = nil
		f.stack(linkStack, gap(2))
		s := f.walk()
		f.check(s, EndNoTechnique)
		if s.Frames[0].Registers != *f.regs {
			t.Error("the context was changed")
		}
		f.checkMissing("")
	})
}

func TestMIPSSimple(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.stack(linkStack, gap(2))
		f.check(f.walk(), EndNoTechnique)
		f.checkMissing("module1")
		f.checkCorrupt("")
	})
}

func TestMIPSNoStackMemory(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.check(f.walk(), EndNoStack)
		f.checkMissing("module1")
	})
}

func TestMIPSScanWithoutSymbols(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.stack(linkStack,
			junk(4), mipsMod2, // not one past an address of the module
			"fp1", mipsMod2+0x100,
			"sp1:", junk(6),
			"fp1:", "fp2", mipsMod1+0x300,
			"sp2:", "fp2:", junk(5),
		)
		f.check(f.walk(), EndNoTechnique,
			f.scannedMIPS(mipsMod2+0x100, f.at("sp1"), f.at("fp1")),
			f.scannedMIPS(mipsMod1+0x300, f.at("sp2"), f.at("fp2")))
		f.checkMissing("module1 module2")
	})
}

func TestMIPSScanWithFunctionSymbols(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.sym("module1", "FUNC 100 400 0 outer", "FUNC 1000 100 0 inner")
		f.sym("module2", "FUNC 2000 40 0 middle")
		f.stack(linkStack,
			junk(4), "fp1", mipsMod2+0x2041, // behind the function
			"fp1", mipsMod2+0x2040,
			"sp1:", junk(6), "fp2", mipsMod1+0x900,
			"fp1:", "fp2", mipsMod1+0x4fe,
			"sp2:", "fp2:", junk(5),
		)
		f.set("$pc", mipsMod1+0x1010)
		one, two := f.scannedMIPS(mipsMod2+0x2040, f.at("sp1"), f.at("fp1")), f.scannedMIPS(mipsMod1+0x4fe, f.at("sp2"),
			f.at("fp2"))
		one.function, two.function = "middle", "outer"
		f.check(f.walk(), EndNoTechnique, one, two)
	})
}

// A frame has at most 1024 bytes. Of the last word that the search looks at nothing comes, because the window is used
// up then.
func TestMIPSCheckStackFrameSizeLimit(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		window := 1024 / f.cpu.Word
		for _, c := range []struct {
			words int
			found bool
		}{{100, true}, {window - 1, true}, {window, false}, {window + 1, false}} {
			f.stack(linkStack, junk(c.words-1), "fp", mipsMod2+0x100, "sp1:", "fp:", junk(4))
			if c.found {
				f.check(f.walk(), EndNoTechnique, f.scannedMIPS(mipsMod2+0x100, f.at("sp1"), f.at("fp")))
			} else {
				f.check(f.walk(), EndNoTechnique)
			}
		}
		// The second frame's window is the same on 64 bits; on 32 bits it leaves out the four argument slots.
		for _, c := range []struct {
			words int
			found bool
		}{{window - 1, true}, {window, false}} {
			f.stack(linkStack, junk(1), "fp", mipsMod2+0x100, "sp1:", junk(c.words-1), "fp2", mipsMod2+0x200, "sp2:",
				"fp2:", "fp:", junk(4))
			// The first frame's frame pointer may not be as far up as that.
			data := f.process.Threads[0].Stack.Data
			copy(data[f.cpu.Word:], f.encode(f.at("sp1")))
			first := f.scannedMIPS(mipsMod2+0x100, f.at("sp1"), f.at("sp1"))
			if c.found {
				f.check(f.walk(), EndNoTechnique, first, f.scannedMIPS(mipsMod2+0x200, f.at("sp2"), f.at("fp2")))
			} else {
				f.check(f.walk(), EndNoTechnique, first)
			}
		}
	})
}

// encode is a word as memory holds it.
func (f *fixture) encode(v uint64) []byte {
	if f.cpu.Word == 4 {
		return f.process.Order.(binary.AppendByteOrder).AppendUint32(nil, uint32(v))
	}
	return f.process.Order.(binary.AppendByteOrder).AppendUint64(nil, v)
}

// The argument slots of 32-bit frames are skipped in all frames but the first.
func TestMIPSScanSkipsArguments(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.stack(linkStack,
			"fp", mipsMod2+0x100, // in the first frame's slots
			"sp1:", junk(1), "fp", mipsMod2+0x200, junk(1),
			"sp2:", "fp", mipsMod2+0x300,
			"sp3:", "fp:", junk(3),
		)
		// sp2 labels the word behind the fourth slot.
		frames := []want{f.scannedMIPS(mipsMod2+0x100, f.at("sp1"), f.at("fp"))}
		if f.cpu.Word == 8 {
			frames = append(frames, f.scannedMIPS(mipsMod2+0x200, f.at("sp1+24"), f.at("fp")))
		}
		frames = append(frames, f.scannedMIPS(mipsMod2+0x300, f.at("sp3"), f.at("fp")))
		f.check(f.walk(), EndNoTechnique, frames...)
	})
}

// The word below a return address has to be a frame pointer: from its own successor on, less than 1024 bytes up.
func TestMIPSScanFramePointer(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		at := linkStack + 2*uint64(f.cpu.Word)
		for _, c := range []struct {
			fp   uint64
			good bool
		}{{at, true}, {at + 1, true}, {at + 1023, true}, {at + 1024, false}, {at - 1, false}, {0, false}} {
			f.stack(linkStack, junk(1), c.fp, mipsMod2+0x100, "sp1:", junk(2), "fp", mipsMod2+0x200, "sp2:", "fp:", junk(6))
			s := f.walk()
			sp, ra, fp := f.at("sp2"), uint64(mipsMod2+0x200), f.at("fp")
			if c.good {
				sp, ra, fp = f.at("sp1"), mipsMod2+0x100, c.fp
			}
			if len(s.Frames) < 2 {
				t.Fatalf("fp %#x: no caller", c.fp)
			}
			f.checkFrame(1, &s.Frames[1], f.scannedMIPS(ra, sp, fp))
		}
		// Each candidate that is refused widens the window by the word it takes.
		window := 1024 / f.cpu.Word
		f.stack(linkStack-uint64(f.cpu.Word), 0, mipsMod2+0x100, junk(window-2), "fp", mipsMod2+0x200, "sp1:", "fp:", junk(4))
		f.check(f.walk(), EndNoTechnique, f.scannedMIPS(mipsMod2+0x200, f.at("sp1"), f.at("fp")))
		// One whose frame pointer cannot be read ends the search.
		f.stack(linkStack, mipsMod2+0x100, junk(2), "fp", mipsMod2+0x200, "sp1:", "fp:", junk(4))
		f.check(f.walk(), EndNoTechnique)
	})
}

func TestMIPSScanningNotAllowed(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.walker.MaxScanned = -1
		f.stack(linkStack, junk(1), "fp", mipsMod2+0x100, "fp:", junk(4))
		f.check(f.walk(), EndNoTechnique)
	})
}

// There are no frame pointers to follow.
func TestMIPSNoFramePointer(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.stack(linkStack, "frame:", "next", mipsMod2+0x100, "next:", junk(4))
		f.set("$fp", "frame", "$ra", mipsMod2+0x200)
		f.walker.MaxScanned = -1
		f.check(f.walk(), EndNoTechnique)
	})
}

var cfiMIPS = []string{
	"FUNC 4000 1000 0 winnower",
	"STACK CFI INIT 4000 1000 .cfa: $sp 0 + .ra: $ra",
	"STACK CFI 4004 .cfa: $sp 4W +",
	"STACK CFI 4008 $fp: .cfa -2W + ^ .ra: .cfa -1W + ^ $s1: .cfa -3W + ^",
	"STACK CFI 400c .cfa: $fp 4W +",
	"STACK CFI 4020 $fp: $fp .cfa: $sp 0 + .ra: .ra",
	"FUNC 5000 1000 0 bottom",
	"STACK CFI INIT 5000 1000 .cfa: 0 .ra: 0",
}

func (f *fixture) cfiMIPS() []string {
	r := strings.NewReplacer("1W", fmt.Sprint(f.cpu.Word), "2W", fmt.Sprint(2*f.cpu.Word), "3W", fmt.Sprint(3*f.cpu.Word),
		"4W", fmt.Sprint(4*f.cpu.Word))
	var out []string
	for _, line := range cfiMIPS {
		out = append(out, r.Replace(line))
	}
	return out
}

func TestMIPSCFI(t *testing.T) {
	const ra = mipsMod1 + 0x5510
	eachMIPS(t, func(t *testing.T, f *fixture) {
		carried := []string{"$s0", "$s1", "$s2", "$s3", "$s4", "$s5", "$s6", "$s7", "$fp"}
		if f.cpu.Word == 8 {
			carried = append(carried, "$gp")
		}
		f.sym("module1", f.cfiMIPS()...)
		walk := func() *Stack {
			f.walker = &Walker{Process: f.process, Symbols: f.symbols}
			return f.walk()
		}
		f.set("$ra", ra)
		known := f.contexts(carried...).with(values{"$ra": ra})

		f.stack(linkStack, gap(8))
		f.set("$pc", mipsMod1+0x4000)
		f.check(walk(), EndBackwards, want{TrustCFI, ByCFI, f.before(ra), linkStack, "bottom", known})

		f.stack(linkStack, junk(4), "caller:", gap(8))
		f.set("$pc", mipsMod1+0x4004)
		f.check(walk(), EndBackwards, want{TrustCFI, ByCFI, f.before(ra), f.at("caller"), "bottom", known})

		f.stack(linkStack, junk(1), 0x51515151, 0x1f1f1f1f, ra, "caller:", gap(8))
		f.set("$pc", mipsMod1+0x4008, "$ra", 0xbad)
		restored := known.with(values{"$s1": 0x51515151, "$fp": 0x1f1f1f1f})
		f.check(walk(), EndBackwards, want{TrustCFI, ByCFI, f.before(ra), f.at("caller"), "bottom", restored})

		f.set("$pc", mipsMod1+0x4010, "$fp", linkStack, "$sp", linkStack-uint64(f.cpu.Word))
		f.check(walk(), EndBackwards, want{TrustCFI, ByCFI, f.before(ra), f.at("caller"), "bottom", restored})

		// The rule for .ra cannot name itself.
		f.set("$pc", mipsMod1+0x4020, "$sp", linkStack)
		f.check(walk(), EndNoTechnique)

		// Operands count whether they are known or not, but nothing unknown is carried over.
		f.stack(linkStack, junk(4), "caller:", gap(8))
		f.set("$pc", mipsMod1+0x4004, "$ra", ra)
		f.only("$pc", "$sp")
		f.check(walk(), EndBackwards, want{TrustCFI, ByCFI, f.before(ra), f.at("caller"), "bottom", values{"$ra": ra}})
	})
}

// Rules for $sp and $ra themselves do not count.
func TestMIPSCFIOwnNames(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.sym("module1", "STACK CFI INIT 200 100 .cfa: $sp 8 + .ra: $ra $sp: 7 $ra: 9 $to: 11 $t0: 12 $a0: 13")
		f.stack(linkStack, gap(8))
		f.set("$ra", mipsMod2+0x100)
		s := f.walk()
		if len(s.Frames) < 2 {
			t.Fatal("no caller")
		}
		r := &s.Frames[1].Registers
		known := values{
			"$sp": linkStack + 8, "$ra": mipsMod2 + 0x100, "$pc": f.before(mipsMod2 + 0x100),
			"$t0": 11, // whose name in rules is $to
			"$a0": 13,
		}
		for name, want := range known {
			if v, ok := r.Get(f.cpu.SlotOf(name)); !ok || v != want {
				t.Errorf("%s is %#x, want %#x", name, v, want)
			}
		}
	})
}

func TestMIPSRejectBackwards(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.sym("module1", "STACK CFI INIT 200 100 .cfa: $sp 8 - .ra: $ra")
		f.stack(linkStack-16, junk(8), "fp", mipsMod2+0x100, "fp:", junk(2))
		f.set("$ra", mipsMod2+0x100)
		f.check(f.walk(), EndBackwards)
	})
}

func TestMIPSRejectBadExpressions(t *testing.T) {
	eachMIPS(t, func(t *testing.T, f *fixture) {
		f.sym("module1", "STACK CFI INIT 200 100 .cfa: moot .ra: ambiguous")
		f.stack(linkStack, junk(8))
		f.check(f.walk(), EndNoTechnique)
	})
}

// The stack of a 32-bit process ends within 32 bits.
func TestMIPSStackBeyond(t *testing.T) {
	f := newFixture(t, "mips").modules(mipsMod1, mipsMod2)
	f.set("$sp", 0xfffffff0, "$pc", mipsMod1+0x200)
	f.process.Threads[0].Stack = Region{0xfffffff0, make([]byte, 17)}
	f.check(f.walk(), EndNoStack)
	f.process.Threads[0].Stack = Region{0xfffffff0, make([]byte, 16)}
	f.check(f.walk(), EndNoTechnique)
}
