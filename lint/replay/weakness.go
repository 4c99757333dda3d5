package replay

import (
	"strings"

	"github.com/symlint/symlint/unwind"
)

// Weakness is a case in which the tool that wrote a reference is known to be wrong.
type Weakness struct {
	Name string
	Text string
}

// The weaknesses that are recognised, by evidence in both traces.
var (
	skippedInterrupted = Weakness{"skipped-interrupted",
		"the reference goes past a signal trampoline by what the frame pointer or the stack happens to hold, and loses the " +
			"function that was interrupted; the walk restored the registers that the kernel saved"}
	endsAtTrampoline = Weakness{"ends-at-trampoline",
		"the reference ends at a signal trampoline: symbol files cannot tell where the kernel saved the registers"}
	wildCall = Weakness{"wild-call",
		"the reference takes the caller from a frame pointer that the code at the invalid address never set up, and loses " +
			"the function that made the call; its return address is on top of the stack"}
	duplicateFrame = Weakness{"duplicate-frame",
		"the reference repeats a frame: Google's walker of arm64 takes a frame's own return address for that of its caller " +
			"where the link register is unknown"}
	realignedStack = Weakness{"realigned-stack",
		"the reference loses the trail in a function that realigns the stack: the expression for its frame is not in " +
			"symbol files; two copies of the return address prove the walk right"}
	binaryCFI = Weakness{"symbol-file-only",
		"the walk found the frame by call frame information of the binary itself; the reference had to do without"}
	scannedFrame = Weakness{"scanned-frame",
		"the reference found the frame by scanning the stack: it repeats the one below, or misses frames before its next true one"}
	madeUpFrame = Weakness{"made-up-frame",
		"the reference has a frame that lies in no module, or that it found by scanning the stack, before it comes to the " +
			"frame of the walk"}
	riscvFramePointer = Weakness{"riscv-frame-pointer",
		"the reference expects frame records where compilers for RISC-V do not put them"}
	lostTrail = Weakness{"lost-trail",
		"the reference lost the trail: this frame and all beyond it lie in no module of the dump"}
	interruptedLookup = Weakness{"interrupted-lookup",
		"the reference looks up an interrupted frame at the instruction before the one that was interrupted"}
)

// maxRejoin is how far behind a difference the traces may meet again.
const maxRejoin = 64

// weakness finds out whether a difference is the reference's fault.
func (x *aligner) weakness(d *Divergence) *Weakness {
	if d.Frame == 0 {
		return nil
	}
	if !x.ref.Format.Stackwalk() {
		if x.nowhere(d) {
			return &lostTrail
		}
		return nil
	}
	if d.Frame >= len(x.stack.Frames) {
		return x.repeats(d)
	}
	f := &x.stack.Frames[d.Frame]
	ended := d.Ref == nil
	trust := ""
	if !ended {
		trust = d.Ref.Trust
	}
	nowhere := !ended && d.Ref.Module == "" // in no module
	rejoined := !ended && x.find(d.RefIndex, d.Frame+1) >= 0
	guessed := trust == "scan" || trust == "cfi_scan" || trust == "frame_pointer"
	switch {
	case f.Signal && saved(f.Technique):
		switch {
		case ended:
			return &endsAtTrampoline
		case (rejoined || guessed) && (d.Field == "pc" || !x.samePlace(d)):
			return &skippedInterrupted
		case d.Field == "function" || d.Field == "line" || d.Field == "registers":
			return &interruptedLookup
		}
		return nil
	case f.Technique == unwind.ByCall && (rejoined || guessed):
		return &wildCall
	case x.repeats(d) != nil:
		return &duplicateFrame
	case x.samePlace(d):
		return nil // the frame is right, but not what is said of it
	case f.Technique == unwind.ByRealigned && (ended || rejoined || guessed || nowhere || x.again(d.RefIndex)):
		return &realignedStack
	case (f.Technique == unwind.ByDWARF || f.Technique == unwind.BySFrame) && (ended || rejoined || guessed || nowhere || x.again(d.RefIndex)):
		return &binaryCFI
	case x.cpu() == "riscv" || x.cpu() == "riscv64":
		if trust == "frame_pointer" && f.Technique != unwind.ByFramePointer {
			return &riscvFramePointer
		}
	case !scans(f.Trust) && f.Module != nil && x.madeUpBefore(d):
		return &madeUpFrame
	case d.Frame > 0 && x.stack.Frames[d.Frame-1].Signal && x.again(d.RefIndex):
		return &skippedInterrupted
	case (trust == "scan" || trust == "cfi_scan") && !scans(f.Trust) && (x.again(d.RefIndex) || x.misses(d)):
		return &scannedFrame
	}
	return nil
}

// nowhere reports whether all frames that a debugger has left lie in no module, while that of the walk does.
func (x *aligner) nowhere(d *Divergence) bool {
	if d.Ref == nil || x.process == nil || d.Frame < len(x.stack.Frames) && x.stack.Frames[d.Frame].Module == nil {
		return false
	}
	for i := d.RefIndex; i < len(x.frames); i++ {
		if f := &x.frames[i]; !f.HasPC || f.Function != "" || f.Module != "" || x.process.Modules.At(f.PC) != nil {
			return false
		}
	}
	return true
}

// saved reports whether a technique restores the registers that the kernel saved.
func saved(t unwind.Technique) bool {
	return t == unwind.BySignal || t == unwind.ByDWARF || t == unwind.BySFrame
}

func scans(t unwind.Trust) bool {
	return t == unwind.TrustScan || t == unwind.TrustCFIScan || t == unwind.TrustNone
}

func (x *aligner) cpu() string {
	if t := x.stack.Thread; t != nil && t.Registers != nil && t.Registers.CPU != nil {
		return t.Registers.CPU.Name
	}
	return ""
}

// samePlace reports whether a difference is between two frames of one address.
func (x *aligner) samePlace(d *Divergence) bool {
	if d.Ref == nil || d.Frame >= len(x.stack.Frames) {
		return false
	}
	v := x.quietPC(d.RefIndex, d.Frame)
	return v.known && v.equal
}

// quietPC is comparePC of one frame, without a note of what it tolerated.
func (x *aligner) quietPC(ri, fi int) verdict {
	n := len(x.pending)
	defer func() { x.pending = x.pending[:n] }()
	return x.comparePC(group{ri, ri + 1}, fi)
}

// same reports whether a frame of the reference is one of the walk: by address, else by module and function.
func (x *aligner) same(ri, fi int) bool {
	if ri >= len(x.frames) || fi >= len(x.stack.Frames) {
		return false
	}
	if v := x.quietPC(ri, fi); v.known {
		return v.equal
	}
	r, f := &x.frames[ri], &x.stack.Frames[fi]
	return r.Function != "" && f.Module != nil && SameFunction(r.Function, f.Function) && sameModuleName(r.Module, f.Module)
}

// find returns the walk's frame, from one on, that a frame of the reference is; -1 for none.
func (x *aligner) find(ri, from int) int {
	for fi := from; fi < len(x.stack.Frames) && fi < from+maxRejoin; fi++ {
		if x.same(ri, fi) {
			return fi
		}
	}
	return -1
}

// before is the reference's frame below another one, -1 for none.
func (x *aligner) before(ri int) int {
	for i := ri - 1; i >= 0; i-- {
		if !x.frames[i].Inline {
			return i
		}
	}
	return -1
}

// again reports whether a frame of the reference has the address of the one below it.
func (x *aligner) again(ri int) bool {
	if ri >= len(x.frames) {
		return false
	}
	i := x.before(ri)
	if i < 0 {
		return false
	}
	a, b := &x.frames[i], &x.frames[ri]
	switch {
	case a.HasPC && b.HasPC:
		return a.PC == b.PC
	case a.HasLineOffset && b.HasLineOffset:
		return a.Function == b.Function && a.SrcLine == b.SrcLine && a.LineOffset == b.LineOffset
	}
	return a.HasFunctionOffset && b.HasFunctionOffset && a.Function == b.Function && a.FunctionOffset == b.FunctionOffset
}

// repeats recognises the frames that Google's walker of arm64 shows twice: what comes behind the second is the walk's
// frame, or nothing where that has ended.
func (x *aligner) repeats(d *Divergence) *Weakness {
	if x.cpu() != "arm64" || d.Ref == nil || !x.again(d.RefIndex) || x.same(d.RefIndex, d.Frame) {
		return nil
	}
	if d.RefIndex+1 >= len(x.frames) {
		if d.Frame >= len(x.stack.Frames) {
			return &duplicateFrame
		}
		return nil
	}
	next := x.group(d.RefIndex+1, d.Frame)
	if !x.same(next.physical(), d.Frame) {
		return nil
	}
	return &duplicateFrame
}

// misses reports whether all that the reference has left and knows the function of comes in the walk, too, in the same
// order and with others between: the reference lost frames.
func (x *aligner) misses(d *Divergence) bool {
	from, found := d.Frame, 0
	for ri := d.RefIndex; ri < len(x.frames) && found < maxRejoin; ri++ {
		r := &x.frames[ri]
		if r.Inline || r.Function == "" || strings.HasPrefix(r.Function, "<") {
			continue
		}
		if isOutermost(r.Function) && found > 0 {
			return true
		}
		fi := x.find(ri, from)
		if fi < 0 {
			return ri == d.RefIndex && x.find(x.nextPhysical(ri), from) >= 0
		}
		found, from = found+1, fi+1
	}
	return found > 0
}

// madeUpBefore reports whether the reference comes to the walk's frame behind some that lie in no module or were found
// by scanning.
func (x *aligner) madeUpBefore(d *Divergence) bool {
	const few = 4
	for ri, n := d.RefIndex, 0; ri < len(x.frames) && n < few; ri, n = x.nextPhysical(ri), n+1 {
		if n > 0 && x.same(ri, d.Frame) {
			return true
		}
		r := &x.frames[ri]
		known := r.Trust != "" || n == 0 // the machine format does not tell how a frame was found
		if r.Module != "" && known && r.Trust != "scan" && r.Trust != "cfi_scan" {
			return false
		}
	}
	return false
}

func (x *aligner) nextPhysical(ri int) int {
	for ri++; ri < len(x.frames) && x.frames[ri].Inline; ri++ {
	}
	return ri
}
