package unwind

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// eachPPC runs a test for both widths, in both byte orders.
func eachPPC(t *testing.T, test func(t *testing.T, f *fixture)) {
	for _, cpu := range []string{"ppc", "ppc64"} {
		for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
			t.Run(fmt.Sprint(cpu, order), func(t *testing.T) {
				f := newFixture(t, cpu).modules(module1, module2)
				f.process.System.OS, f.process.System.OSShort = "Mac OS X", "mac"
				f.process.Order = order
				f.set("r1", linkStack, "srr0", module1+0x200)
				test(t, f)
			})
		}
	}
}

// ppc has the return address at 8 above the back chain and ppc64 at 16: two words in both.
func TestPPCBackChain(t *testing.T) {
	eachPPC(t, func(t *testing.T, f *fixture) {
		f.sym("module1", "FUNC 200 100 0 inner", "FUNC 300 8 0 outer")
		f.stack(linkStack,
			"frame1", junk(3),
			"frame1:", "frame2", junk(1), module1+0x308, // the function's last call: its address is taken 4 or 8 back
			junk(2),
			"frame2:", "frame3", junk(1), module2+0x100,
			junk(1),
			"frame3:", "frame1", junk(1), module2+0x200, // the chain turns back
			junk(2),
		)
		f.check(f.walk(), EndNoTechnique,
			want{TrustFP, ByFramePointer, module1 + 0x308, f.at("frame1"), "outer", values{}},
			want{TrustFP, ByFramePointer, module2 + 0x100, f.at("frame2"), "", values{}},
			want{TrustFP, ByFramePointer, module2 + 0x200, f.at("frame3"), "", values{}})
		f.checkMissing("module2")
	})
}

func TestPPCEnd(t *testing.T) {
	eachPPC(t, func(t *testing.T, f *fixture) {
		for _, c := range []struct {
			name   string
			next   any
			ra     int
			frames int
		}{
			{"good", "frame1", module2 + 0x100, 2},
			{"in no module", "frame1", 2, 2}, // nor is the first page
			{"return address 1", "frame1", 1, 1},
			{"return address 0", "frame1", 0, 1},
			{"own frame", "frame0", module2 + 0x100, 1},
			{"zero", 0, module2 + 0x100, 1},
			{"beyond", "end", module2 + 0x100, 1},
		} {
			// The context frame's own words would serve as a return address if the chain stood still.
			f.stack(linkStack, "frame0:", c.next, junk(1), module2+0x300, "frame1:", 0, junk(1), c.ra, "end:")
			if s := f.walk(); len(s.Frames) != c.frames || s.End != EndNoTechnique {
				t.Errorf("%s: %d frames (%v), want %d", c.name, len(s.Frames), s.End, c.frames)
			}
		}
	})
}

// Neither CFI nor scanning is used.
func TestPPCNoCFI(t *testing.T) {
	eachPPC(t, func(t *testing.T, f *fixture) {
		f.sym("module1", "FUNC 200 100 0 inner", "STACK CFI INIT 200 100 .cfa: r1 16 + .ra: lr")
		f.stack(linkStack, 0, module2+0x100, module2+0x200, gap(4))
		f.set("lr", module2+0x100)
		f.check(f.walk(), EndNoTechnique)
		f.process.Threads[0].Stack = Region{}
		f.check(f.walk(), EndNoStack)
	})
}

func TestPPCStackBeyond(t *testing.T) {
	f := newFixture(t, "ppc").modules(module1)
	f.process.Order = binary.BigEndian
	f.set("r1", 0xffffffe0, "srr0", module1+0x200)
	f.stack(0xffffffe0, "frame1", gap(3), "frame1:", 0, 0, module1+0x300, 0)
	f.check(f.walk(), EndNoTechnique, want{TrustFP, ByFramePointer, module1 + 0x300, f.at("frame1"), "", values{}})
	stack := &f.process.Threads[0].Stack
	stack.Data = append(stack.Data, 0)
	f.check(f.walk(), EndNoStack)
}
