package replay

import "github.com/symlint/symlint/unwind"

// tailCall reports whether the reference's frame was made up for a function that ended in a jump, and where the frame
// behind it begins.
func (x *aligner) tailCall(g group, fi int) (next int, ok bool) {
	const maxChain = 16
	first := g.first
	for n := 0; n < maxChain && g.end < len(x.frames); n++ {
		f := &x.frames[g.physical()]
		if !f.TailCall && !x.maybeTailCall(g, fi) {
			return 0, false
		}
		skipped := g
		g = x.group(g.end, fi)
		if x.compare(g, fi) == nil {
			if !f.TailCall && !x.jumpedTo(skipped, g, fi) {
				return 0, false
			}
			text := f.String()
			x.finally("tail-call", first, fi, "%s ended in a jump: it has no frame", text)
			return g.first, true
		}
	}
	return 0, false
}

// maybeTailCall reports whether a frame of gdb's text may be one for a function that ended in a jump.
func (x *aligner) maybeTailCall(g group, fi int) bool {
	f := &x.frames[g.physical()]
	told := x.ref.Format != FormatGDB && (x.ref.Format != FormatTSV || f.HasSP)
	if told || fi == 0 || g.first == 0 || g.end >= len(x.frames) {
		return false
	}
	callee, caller := &x.frames[g.first-1], &x.frames[g.end]
	return f.HasPC && f.Function != "" && !f.Signal && !callee.Signal &&
		!SameFunction(f.Function, callee.Function) && !SameFunction(f.Function, caller.Function)
}

// jumpedTo looks for what speaks against a jump: the walk's frame must be known well, its address be the reference's, and
// the call in it must not be of the function that the walk has below it.
func (x *aligner) jumpedTo(skipped, g group, fi int) bool {
	f := &x.stack.Frames[fi]
	switch f.Trust {
	case unwind.TrustCFI, unwind.TrustLeaf:
	default:
		return false
	}
	r := &x.frames[g.physical()]
	if !r.HasPC || f.Signal {
		return false
	}
	below := &x.stack.Frames[fi-1]
	target, known := x.callTarget(f)
	if !known || below.Function == "" {
		return true
	}
	return target != below.FunctionBase
}

// callTarget returns what the instruction before a frame's return address calls, if that is a direct call.
func (x *aligner) callTarget(f *unwind.Frame) (uint64, bool) {
	if x.o.Code == nil || f.Registers.CPU == nil {
		return 0, false
	}
	pc := f.Return
	switch f.Registers.CPU.Name {
	case "x86", "x86_64":
		b, ok := x.o.Code(pc-5, 5)
		if !ok || b[0] != 0xe8 { // call rel32
			return 0, false
		}
		target := pc + uint64(int64(int32(uint32(b[1])|uint32(b[2])<<8|uint32(b[3])<<16|uint32(b[4])<<24)))
		if f.Registers.CPU.Word == 4 {
			target = uint64(uint32(target))
		}
		return target, true
	case "arm64":
		b, ok := x.o.Code(pc-4, 4)
		if !ok || b[3]>>2 != 0x25 { // bl imm26
			return 0, false
		}
		imm := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		return pc - 4 + uint64(int64(int32(imm<<6))>>4), true
	}
	return 0, false
}
