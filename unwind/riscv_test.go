package unwind

import "testing"

func eachRISCV(t *testing.T, test func(t *testing.T, f *fixture)) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		if c.name == "riscv" || c.name == "riscv64" {
			test(t, f)
		}
	})
}

// The reference looks for the saved registers at s0 and above, where no compiler puts them.
func TestRISCVOnlyFramePointer(t *testing.T) {
	eachRISCV(t, func(t *testing.T, f *fixture) {
		f.stack(linkStack,
			junk(4), module1+0x555,
			"frame0:", "frame1", module2+0x300,
			"sp1:", junk(4),
			"frame1:", "frame2", module2+0x400,
			"sp2:", junk(1),
			"frame2:", 0, 0,
			"sp3:", junk(1),
		)
		f.set("s0", "frame0", "ra", module1+0x100)
		f.check(f.walk(), EndLowAddress,
			want{TrustFP, ByFramePointer, module1 + 0x100, f.at("sp1"), "", values{"s0": f.at("frame1"), "ra": module2 + 0x300}},
			want{TrustFP, ByFramePointer, module2 + 0x300, f.at("sp2"), "", values{"s0": f.at("frame2"), "ra": module2 + 0x400}},
			want{TrustFP, ByFramePointer, module2 + 0x400, f.at("sp3"), "", values{"s0": 0, "ra": 0}})
	})
}

func TestRISCVFramePointerLeavesStack(t *testing.T) {
	eachRISCV(t, func(t *testing.T, f *fixture) {
		f.stack(linkStack, junk(2), "frame0:", 0x90000000, module2+0x300, "sp1:", junk(1), module2+0x400, "sp2:", junk(2))
		f.set("s0", "frame0", "ra", module1+0x100)
		f.check(f.walk(), EndNoTechnique,
			want{TrustFP, ByFramePointer, module1 + 0x100, f.at("sp1"), "", values{"s0": 0x90000000, "ra": module2 + 0x300}},
			want{TrustScan, ByScan, module2 + 0x400, f.at("sp2"), "", values{}})
	})
}

// Unlike on arm, an s0 of 0 makes sp 0 too, and ends the walk.
func TestRISCVFramePointerZero(t *testing.T) {
	eachRISCV(t, func(t *testing.T, f *fixture) {
		f.stack(linkStack, junk(2), module2+0x300, junk(2))
		f.set("s0", 0, "ra", module1+0x100)
		f.check(f.walk(), EndBackwards)
	})
}
