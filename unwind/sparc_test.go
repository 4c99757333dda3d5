package unwind

import (
	"encoding/binary"
	"testing"
)

func sparcFixture(t *testing.T) *fixture {
	f := newFixture(t, "sparc").modules(module1, module2)
	f.process.System.OS, f.process.System.OSShort = "Solaris", "solaris"
	f.process.Order = binary.BigEndian
	f.set("sp", linkStack, "pc", module1+0x200)
	return f
}

// A register window is spilled to the 64 bytes at the frame pointer, %i6 and %i7 last: the caller's frame pointer and
// the address of its call.
func TestSPARCWindows(t *testing.T) {
	f := sparcFixture(t)
	f.sym("module1", "FUNC 200 100 0 inner", "FUNC 308 4 0 outer")
	f.stack(linkStack,
		junk(20),
		"frame1:", junk(14), "frame2", module1+0x308,
		junk(4),
		"frame2:", junk(14), "frame3", module2+0x100,
		junk(4),
		"frame3:", junk(14), 0, module2+0x200, // no further frame
	)
	f.set("fp", "frame1")
	f.check(f.walk(), EndNoTechnique,
		want{TrustFP, ByFramePointer, module1 + 0x308 + 8, f.at("frame1"), "outer", values{"fp": f.at("frame2")}},
		want{TrustFP, ByFramePointer, module2 + 0x100 + 8, f.at("frame2"), "", values{"fp": f.at("frame3")}})
	f.checkMissing("module2")
}

func TestSPARCEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		fp     any
		next   int
		call   int
		frames int
	}{
		{"good", "frame1", 0x90000000, module2 + 0x100, 2},
		{"in no module", "frame1", 2, 2, 2},
		{"call at 1", "frame1", 0x90000000, 1, 1},
		{"next at 1", "frame1", 1, module2 + 0x100, 1},
		{"own frame", "frame0", 0x90000000, module2 + 0x100, 1},
		{"below", linkStack - 4, 0x90000000, module2 + 0x100, 1},
		{"beyond", "frame1+4", 0x90000000, module2 + 0x100, 1},
	} {
		f := sparcFixture(t)
		f.stack(linkStack, "frame0:", junk(14), 0x90000000, module2+0x300, "frame1:", junk(14), c.next, c.call)
		f.set("fp", c.fp)
		if s := f.walk(); len(s.Frames) != c.frames || s.End != EndNoTechnique {
			t.Errorf("%s: %d frames (%v), want %d", c.name, len(s.Frames), s.End, c.frames)
		}
	}
}

func TestSPARCNoCFI(t *testing.T) {
	f := sparcFixture(t)
	f.sym("module1", "FUNC 200 100 0 inner", "STACK CFI INIT 200 100 .cfa: sp 16 + .ra: o7")
	f.stack(linkStack, module2+0x100, module2+0x200, gap(30))
	f.set("fp", 0x90000000)
	f.check(f.walk(), EndNoTechnique)
	f.process.Threads[0].Stack = Region{}
	f.check(f.walk(), EndNoStack)
}
