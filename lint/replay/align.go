package replay

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/unwind"
)

// Options are how a thread is held against its reference.
type Options struct {
	// Fields are compared; 0 means DefaultFields.
	Fields Fields
	// Code reads the program's code, if it is at hand: it tells calls from jumps.
	Code func(addr uint64, n int) ([]byte, bool)
}

// Alignment is what came of holding a thread against its reference.
type Alignment struct {
	Matched  bool // First is nil
	Compared int  // frames held against each other, the differing one included; inlined calls do not count
	Agreed   int  // frames that agreed before First
	First    *Divergence
	// Tolerated are the differences that are none, in order.
	Tolerated []Tolerance
	// Pairs are the frames that agreed.
	Pairs []FramePair
}

// FramePair is a frame of the reference (an index in RefThread.Frames, that of the frame itself where calls are inlined)
// and the one of the walk that agrees with it.
type FramePair struct{ Ref, Frame int }

// Divergence is the first difference.
type Divergence struct {
	// Ref is the frame of the reference, nil where it has ended.
	Ref      *RefFrame
	RefIndex int // in RefThread.Frames; their number where it has ended
	// Frame is the index in Stack.Frames, their number where the walk has ended. Walker.Explain tells how that frame was
	// found, or why the walk ended.
	Frame  int
	Inline int // index in the frame's Inlines, -1 for the frame itself
	// Field is what differs: the name of a field, or "end" where one side has no more frames.
	Field         string
	Expected, Got string
	// Weakness, if not nil, tells that the reference is known to be wrong here.
	Weakness *Weakness
}

// Tolerance is a difference that is none.
type Tolerance struct {
	What       string // a code: inline, tail-call, beyond-outermost, …
	Text       string
	Ref, Frame int // where: indices as in Divergence
}

// Align compares thread i of a reference with the walk of the thread that it is. Frames are compared one after the
// other from the innermost on, up to the first that differs. These are no differences:
//
//   - inline: calls inlined into a frame that only one side knows of, or knows more of. The names that both have must
//     agree. The innermost source position is compared, whichever call or function it belongs to.
//   - tail-call: frames that a debugger makes up for functions that ended in a jump. A table tells them, or their stack
//     pointer, which is that of their caller. In gdb's text one is assumed only where the next frame is the walk's by
//     address, the walk found that by call frame information, its function is another, and the code, if at hand, does
//     not show a direct call of the function below it.
//   - beyond-outermost: what either side has beyond a frame that nothing returns to, such as _start and clone. Google's
//     dump_syms cannot write that there is no return address, and walks go on for a few frames that are not there.
//   - past-main: gdb ends at main. reference-stopped: a debugger lost the trail, by its own words or as its last frames
//     lie below 4096. truncated: the reference says that there are more frames.
//   - no-symbols, no-function, no-line: one side does not know the function or the line.
//   - no-module: a debugger does not tell the module. module-name: the names differ, the addresses of both are the same.
//   - alias: other names of the function where the program counters are known to be equal: names that differ only in
//     what NormalizeFunction removes, in underscores and in the usual prefixes and suffixes of libraries, or of functions
//     that begin at the same address.
//   - pointer-bits: the Thumb bit of arm, the signature of arm64. address-kind: references tell return addresses,
//     addresses of calls, or what their program counter register holds, see PCKind; an interrupted frame may have been
//     taken for a calling one.
//   - signal-frame: the name of a signal trampoline, which tools look up one byte before its first instruction.
//   - no-memory: the frames lie in stack memory that the dump does not hold. limit: the walk was told to end.
//
// All else is a difference. What a reference does not tell of a frame is not compared.
func Align(r *Reference, i int, p *unwind.Process, s *unwind.Stack, o Options) Alignment {
	if o.Fields == 0 {
		o.Fields = DefaultFields
	}
	x := &aligner{ref: r, thread: &r.Threads[i], frames: r.Threads[i].Frames, process: p, stack: s, o: o, outermost: -1}
	x.run()
	x.out.Matched = x.out.First == nil
	return x.out
}

type aligner struct {
	ref     *Reference
	thread  *RefThread
	frames  []RefFrame
	process *unwind.Process
	stack   *unwind.Stack
	o       Options
	out     Alignment
	// outermost is the walk's frame that both sides know to have no caller, -1 before it.
	outermost int
	// Tolerances of the frame that is being compared.
	pending []Tolerance
}

// group is a frame of the reference with the calls inlined into it: frames[first:end], the last of which is the frame.
type group struct{ first, end int }

func (g group) physical() int { return g.end - 1 }

func (x *aligner) run() {
	ri, fi := 0, 0
	for {
		if ri >= len(x.frames) || fi >= len(x.stack.Frames) {
			x.end(ri, fi)
			return
		}
		g := x.group(ri, fi)
		x.out.Compared++
		d := x.compare(g, fi)
		if d != nil {
			if next, ok := x.tailCall(g, fi); ok {
				x.out.Compared--
				ri = next
				continue
			}
			for x.frames[g.physical()].TailCall && g.end < len(x.frames) { // which no walk has
				g = x.group(g.end, fi)
				d = x.compare(g, fi)
			}
			if d != nil {
				if x.lost(ri, fi) {
					x.out.Compared--
				} else {
					x.differs(d)
				}
				return
			}
		}
		x.out.Tolerated = append(x.out.Tolerated, x.pending...)
		x.out.Agreed++
		x.out.Pairs = append(x.out.Pairs, FramePair{g.physical(), fi})
		if x.outermost < 0 && fi > 0 && !x.stack.Frames[fi].Signal && x.isOutermost(g, fi) {
			x.outermost = fi
		}
		ri, fi = g.end, fi+1
	}
}

func (x *aligner) isOutermost(g group, fi int) bool {
	return isOutermost(x.stack.Frames[fi].Function) || isOutermost(x.frames[g.physical()].Function)
}

func (x *aligner) tolerate(what string, ri, fi int, format string, args ...any) {
	x.pending = append(x.pending, Tolerance{what, fmt.Sprintf(format, args...), ri, fi})
}

// finally adds a tolerance that ends the comparison.
func (x *aligner) finally(what string, ri, fi int, format string, args ...any) {
	x.pending = nil
	x.tolerate(what, ri, fi, format, args...)
	x.out.Tolerated = append(x.out.Tolerated, x.pending...)
}

// differs ends the comparison at a difference.
func (x *aligner) differs(d *Divergence) {
	if x.beyond(d.RefIndex, d.Frame) {
		if d.Field != "end" {
			x.out.Compared--
		}
		return
	}
	d.Weakness = x.weakness(d)
	x.out.First = d
}

// beyond reports whether what comes now lies beyond the outermost frame.
func (x *aligner) beyond(ri, fi int) bool {
	if x.outermost < 0 {
		return false
	}
	x.finally("beyond-outermost", ri, fi, "nothing called %s: the frames beyond are not compared",
		FrameText(x.stack, x.outermost, -1))
	return true
}

// end is called when one side, or both, have no more frames.
func (x *aligner) end(ri, fi int) {
	s, t := x.stack, x.thread
	switch {
	case ri >= len(x.frames) && fi >= len(s.Frames):
		return
	case ri >= len(x.frames):
		if x.referenceStopped(ri, fi) {
			return
		}
		d := &Divergence{RefIndex: ri, Frame: fi, Inline: -1, Field: "end", Expected: "end of the stack"}
		d.Got = FrameText(s, fi, -1)
		if t.End != "" {
			d.Expected += ": " + t.End
		}
		x.differs(d)
		return
	}
	g := x.group(ri, fi)
	f := &x.frames[g.physical()]
	switch {
	case x.outermost < 0 && s.End == unwind.EndOutermost && (x.ref.Format.Stackwalk() || x.madeUp(ri)):
		x.finally("beyond-outermost", ri, fi, "nothing called %s: the frames beyond are not compared", FrameText(s, fi-1, -1))
	case x.lost(ri, fi):
	case x.outermost < 0 && s.End == unwind.EndLimit:
		x.finally("limit", ri, fi, "the walk was ended after %d frames", len(s.Frames))
	case x.outermost < 0 && !x.ref.Format.Stackwalk() && x.outOfMemory(f):
		x.finally("no-memory", ri, fi, "the dump does not hold the stack of %s and the frames beyond", f)
	default:
		x.differs(&Divergence{
			Ref: f, RefIndex: g.physical(), Frame: fi, Inline: -1, Field: "end", Expected: f.String(), Got: FrameText(s, fi, -1),
		})
	}
}

// referenceStopped reports whether a reference ended for a reason that says nothing of the frames beyond.
func (x *aligner) referenceStopped(ri, fi int) bool {
	t := x.thread
	last := ""
	if ri > 0 {
		last = NormalizeFunction(x.frames[ri-1].Function)
	}
	debugger := !x.ref.Format.Stackwalk()
	switch {
	case t.Truncated:
		x.finally("truncated", ri, fi, "the reference says that there are more frames")
	case debugger && last == "main" && (t.End == "" || x.ref.Format == FormatGDB):
		x.finally("past-main", ri, fi, "gdb ends at main")
	case debugger && t.End != "" && t.End != "outermost" && t.End != "no reason":
		x.finally("reference-stopped", ri, fi, "the reference lost the trail: %s", t.End)
	default:
		return false
	}
	return true
}

// lost reports whether a debugger's trace ends in frames at addresses where no code can be: its way to say that it lost
// the trail.
func (x *aligner) lost(ri, fi int) bool {
	if x.ref.Format.Stackwalk() || ri == 0 || x.frames[ri-1].Signal {
		return false
	}
	for i := ri; i < len(x.frames); i++ {
		if f := &x.frames[i]; !f.HasPC || f.PC >= 4096 || f.Function != "" {
			return false
		}
	}
	x.finally("reference-stopped", ri, fi, "the reference ends at %s", x.frames[ri].String())
	return true
}

// madeUp reports whether all that is left of a reference are frames of which it knows neither function nor module.
func (x *aligner) madeUp(ri int) bool {
	for i := ri; i < len(x.frames); i++ {
		if f := &x.frames[i]; f.Function != "" || f.Module != "" {
			return false
		}
	}
	return true
}

// outOfMemory reports whether the walk ended because the dump does not hold the memory that a frame was found in.
func (x *aligner) outOfMemory(f *RefFrame) bool {
	switch x.stack.End {
	case unwind.EndNoStack:
		return true
	case unwind.EndNoTechnique, unwind.EndLowAddress, unwind.EndBackwards:
	default:
		return false
	}
	if x.stack.Thread == nil || x.stack.Thread.Stack.Empty() {
		return true
	}
	if !f.HasSP {
		return false
	}
	word := 8
	if regs := x.stack.Thread.Registers; regs != nil && regs.CPU.Word != 0 {
		word = regs.CPU.Word
	}
	at := f.SP - uint64(word) // where the return address is, or near it
	if _, ok := x.stack.Thread.Stack.Bytes(at, word); ok {
		return false
	}
	if x.process != nil && x.process.Memory != nil {
		if _, ok := x.process.Memory.Bytes(at, word); ok {
			return false
		}
	}
	return true
}

// group returns the frame of the reference that begins at ri, with its inlined calls.
func (x *aligner) group(ri, fi int) group {
	if x.ref.Format == FormatMachine {
		return x.machineGroup(ri, fi)
	}
	end := ri
	for end < len(x.frames)-1 && x.frames[end].Inline {
		end++
	}
	return group{ri, end + 1}
}

// maxInlines is how many inlined calls are looked for where the reference does not tell them from frames.
const maxInlines = 64

// machineGroup finds out by the walk's frame which of the next frames are inlined calls. If the walk has the same
// calls it is those. If it has none, an inlined call is what has the frame's source position, and the frame's function
// comes behind it.
func (x *aligner) machineGroup(ri, fi int) group {
	one := group{ri, ri + 1}
	if fi >= len(x.stack.Frames) {
		return one
	}
	f := &x.stack.Frames[fi]
	if n := len(f.Inlines); n > 0 && ri+n < len(x.frames) {
		for k := range n {
			if !SameFunction(x.frames[ri+k].Function, f.Inlines[k].Name) {
				return one
			}
		}
		return group{ri, ri + n + 1}
	}
	r := &x.frames[ri]
	if len(f.Inlines) > 0 || f.Function == "" || r.File == "" || SameFunction(r.Function, f.Function) ||
		!samePosition(r, f.File, f.Line) {
		return one
	}
	for k := 1; k <= maxInlines && ri+k < len(x.frames); k++ {
		if o := &x.frames[ri+k]; o.Module != r.Module {
			break
		} else if SameFunction(o.Function, f.Function) {
			return group{ri, ri + k + 1}
		}
	}
	return one
}

func samePosition(r *RefFrame, file string, line int64) bool {
	return strings.EqualFold(baseName(r.File), baseName(file)) && int64(r.SrcLine) == line
}
