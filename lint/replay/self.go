package replay

import (
	"fmt"
	"slices"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// Issue is something wrong that a walk shows without a reference. Rule is the name of a rule of the walk family.
type Issue struct {
	Rule    string
	Thread  int
	Frame   int // index in Stack.Frames of the frame that it is about
	Module  *unwind.Module
	Path    string // of a symbol file that belongs to no module of the dump, "" otherwise
	Line    int    // of the record in the module's symbol file, 0 if it is about the file as a whole
	Address uint64 // module-relative
	// Function is the one at Address, "" if unknown.
	Function string
	Message  string
}

// withheld is a source of symbols that gives none for one module, or for any.
type withheld struct {
	unwind.SymbolSource
	module *unwind.Module
}

func (s withheld) ModuleSymbols(m *unwind.Module) (*symfile.Symbols, error) {
	if s.module == nil || m.CodeFile == s.module.CodeFile {
		return nil, errWithheld
	}
	return s.SymbolSource.ModuleSymbols(m)
}

var errWithheld = fmt.Errorf("withheld")

func moduleSymbols(w *unwind.Walker, m *unwind.Module) (*symfile.Symbols, error) {
	if w.Symbols == nil {
		return nil, nil
	}
	return w.Symbols.ModuleSymbols(m)
}

// Self holds the walk of every thread against itself: with symbols against without, one module's symbols withheld at a
// time, and every step against the records that should have made it. At last the symbol files of the modules that
// frames lie in are held against these.
func Self(w *unwind.Walker) (stacks []*unwind.Stack, issues []Issue) {
	for i := range w.Process.Threads {
		s := w.Walk(i)
		stacks = append(stacks, s)
		found := shorter(w, i, s)
		for _, x := range steps(w, i, s) {
			if !told(found, &x) {
				found = append(found, x)
			}
		}
		issues = append(issues, found...)
	}
	return stacks, append(issues, Mismatches(w, stacks)...)
}

// told reports whether an issue says why a walk ends of which another says that it ends too early there.
func told(issues []Issue, x *Issue) bool {
	if x.Rule != "walk-stops-early" && x.Rule != "walk-sp-not-growing" {
		return false
	}
	return slices.ContainsFunc(issues, func(y Issue) bool {
		return y.Rule == "walk-shorter-with-symbols" && y.Module == x.Module && y.Frame == x.Frame
	})
}

// clone makes a walker over other symbols.
func clone(w *unwind.Walker, symbols unwind.SymbolSource, patch unwind.Patch) *unwind.Walker {
	return &unwind.Walker{
		Process: w.Process, Symbols: symbols, Binaries: w.Binaries, Techniques: w.Techniques, Best: w.Best,
		MaxFrames: w.MaxFrames, MaxScanned: w.MaxScanned, Patch: patch,
	}
}

// shorter finds the symbol files without which the walk reaches further.
func shorter(w *unwind.Walker, thread int, s *unwind.Stack) []Issue {
	if w.Symbols == nil || len(s.Frames) == 0 || wholeStack(s) {
		return nil
	}
	names := clone(w, w.Symbols, unwind.Patch{}) // names the frames of walks without symbols
	further := "without any symbols"
	if !reachesFurther(names, s, clone(w, withheld{w.Symbols, nil}, unwind.Patch{}).Walk(thread)) {
		// A technique alone must not do better than all of them together either.
		further = ""
		for _, t := range [...]unwind.Technique{unwind.ByFramePointer, unwind.ByCFI, unwind.ByWin, unwind.ByDWARF, unwind.BySFrame} {
			alone := clone(w, w.Symbols, unwind.Patch{})
			alone.Best, alone.Techniques = false, []unwind.Technique{t}
			if reachesFurther(names, s, alone.Walk(thread)) {
				further = "by " + t.String() + " alone"
				break
			}
		}
		if further == "" {
			return nil
		}
	}
	// Which file is it? Those of the frames up to the end, from there downwards.
	var out []Issue
	tried := make(map[string]bool)
	for j := len(s.Frames) - 1; j >= 0; j-- {
		f := &s.Frames[j]
		if f.Module == nil || !f.HasSymbols || tried[f.Module.CodeFile] {
			continue
		}
		tried[f.Module.CodeFile] = true
		other := clone(w, withheld{w.Symbols, f.Module}, unwind.Patch{}).Walk(thread)
		if !reachesFurther(names, s, other) {
			continue
		}
		issue := Issue{
			Rule: "walk-shorter-with-symbols", Thread: thread, Frame: j, Module: f.Module, Address: f.Instruction - f.Module.Base,
			Function: f.Function,
			Message: fmt.Sprintf("thread %d: the walk has %s with this file and %d without it; it ends after %s: %s",
				thread, frameCount(len(s.Frames)), len(other.Frames), FrameText(s, len(s.Frames)-1, -1), s.End),
		}
		if c := culprit(w.Explain(s, j+1).Attempts); c != nil {
			issue.Line = c.Record.Line
		}
		return append(out, issue)
	}
	f := &s.Frames[len(s.Frames)-1]
	return append(out, Issue{
		Rule: "walk-shorter-with-symbols", Thread: thread, Frame: len(s.Frames) - 1, Module: f.Module, Function: f.Function,
		Message: fmt.Sprintf("thread %d: the walk reaches further %s; no single file makes the difference", thread, further),
	})
}

func frameCount(n int) string {
	if n == 1 {
		return "1 frame"
	}
	return fmt.Sprintf("%d frames", n)
}

// wholeStack reports whether the walk came to a function that a thread begins with.
func wholeStack(s *unwind.Stack) bool {
	for i := range s.Frames {
		if unwind.Outermost(s.Frames[i].Function) {
			return true
		}
	}
	return s.End == unwind.EndOutermost
}

// reachesFurther reports whether another walk of the thread goes on beyond the end of this one with frames that are
// no guesses: by frame pointers or call frame information, into functions that have names.
func reachesFurther(names *unwind.Walker, s, other *unwind.Stack) bool {
	if len(s.Frames) == 0 {
		return false
	}
	last := s.Frames[len(s.Frames)-1].Registers.SP()
	n := 0
	for i := range other.Frames {
		f := &other.Frames[i]
		if f.Registers.SP() <= last {
			continue
		}
		switch f.Trust {
		case unwind.TrustFP, unwind.TrustCFI:
		default:
			return n >= 2
		}
		if f.Module == nil {
			return n >= 2
		}
		if names.Symbols != nil {
			if symbols, _ := names.Symbols.ModuleSymbols(f.Module); symbols != nil && !symbols.Named(f.Instruction-f.Module.Base) {
				return n >= 2
			}
		}
		n++
	}
	return n >= 2
}

// steps looks at every step of a walk.
func steps(w *unwind.Walker, thread int, s *unwind.Stack) []Issue {
	var out []Issue
	for i := 1; i <= len(s.Frames); i++ {
		f := &s.Frames[i-1]
		if f.Module == nil || unwind.Outermost(f.Function) {
			break
		}
		last := i == len(s.Frames)
		byScan := !last && (s.Frames[i].Trust == unwind.TrustScan || s.Frames[i].Trust == unwind.TrustCFIScan)
		if !last && s.Frames[i].Trust != unwind.TrustFP && !byScan {
			continue
		}
		if !f.HasSymbols {
			continue
		}
		issue := Issue{Thread: thread, Frame: i - 1, Module: f.Module, Address: f.Instruction - f.Module.Base, Function: f.Function}
		rejected := false
		for _, a := range w.Explain(s, i).Attempts {
			if a.Found || a.Record == nil || a.Record.Kind == "FUNC" {
				continue
			}
			if stackEnds(s.Thread, &a) {
				rejected = true // the dump is to blame, not the record
				break
			}
			x := issue
			x.Rule, x.Line = "walk-cfi-rejected", rejectedLine(&a)
			x.Message = fmt.Sprintf("thread %d, frame %d: %s covers the address but is not used: %s", thread, i-1, a.Record.Kind, a.Why)
			if last && (s.End == unwind.EndBackwards || s.End == unwind.EndLowAddress) {
				x.Rule = "walk-stops-early"
				if s.End == unwind.EndBackwards {
					x.Rule = "walk-sp-not-growing"
				}
				x.Line = endingLine(&a, f.Registers.CPU, s.End)
				x.Message = fmt.Sprintf("thread %d, frame %d: the walk ends with this record: %s", thread, i-1, a.Why)
			}
			out = append(out, x)
			rejected = true
			break
		}
		switch {
		case rejected:
		case byScan:
			issue.Rule, issue.Line = "walk-scan-despite-symbols", symbolLine(w, f)
			issue.Message = fmt.Sprintf("thread %d, frame %d: the caller was found by scanning the stack, although the module has symbols: no record covers the address", thread, i-1)
			out = append(out, issue)
		case last && s.End != unwind.EndOutermost:
			issue.Rule, issue.Line = "walk-stops-early", symbolLine(w, f)
			issue.Message = fmt.Sprintf("thread %d, frame %d: the walk ends here: %s", thread, i-1, s.End)
			out = append(out, issue)
		}
	}
	return out
}

// beyondStack is how far behind the end of a thread's stack a word may lie that a healthy rule reads, in bytes: dumps
// hold a part of the stack only.
const beyondStack = 64 << 10

// stackEnds reports whether an attempt failed for want of stack memory right behind that which the dump holds.
func stackEnds(t *unwind.Thread, a *unwind.Attempt) bool {
	for _, r := range a.Rules {
		if r.Fault == "" || r.Register != ".cfa" && r.Register != ".ra" {
			continue
		}
		for _, l := range r.Loads {
			if end := t.Stack.End(); !l.OK && l.Addr+8 > end && l.Addr-end+8 < beyondStack {
				return true
			}
		}
	}
	return false
}

// rejectedLine is the line of the record for which an attempt failed: that of a rule without a value, or the INIT
// record where a rule is missing that it has to have.
func rejectedLine(a *unwind.Attempt) int {
	for _, name := range [...]string{".cfa", ".ra"} {
		switch r := ruleOf(a, name); {
		case r == nil && a.Record.Kind == "STACK CFI" && len(a.Record.Lines) > 0:
			return a.Record.Lines[0]
		case r != nil && r.Fault != "" && r.Line > 0:
			return r.Line
		}
	}
	return a.Record.Line
}

// endingLine is the line of the rule whose value ended a walk: that of the CFA, unless the return address came out
// wrong and lies where calls do not put it.
func endingLine(a *unwind.Attempt, cpu *arch.CPU, end unwind.End) int {
	name := ".cfa"
	if ra := ruleOf(a, ".ra"); end == unwind.EndLowAddress && ra != nil && cpu.ReturnSlot > 0 {
		if shape := postfix.ShapeOf([]byte(ra.Expr)); shape.Kind != postfix.DerefCFA || shape.Offset != -int64(cpu.ReturnSlot) {
			name = ".ra"
		}
	}
	if r := ruleOf(a, name); r != nil && r.Line > 0 {
		return r.Line
	}
	return a.Record.Line
}

func ruleOf(a *unwind.Attempt, name string) *unwind.RuleValue {
	for i := range a.Rules {
		if a.Rules[i].Register == name {
			return &a.Rules[i]
		}
	}
	return nil
}

// symbolLine is the line of the FUNC or PUBLIC record that names a frame, 0 if none does.
func symbolLine(w *unwind.Walker, f *unwind.Frame) int {
	symbols, _ := moduleSymbols(w, f.Module)
	if symbols == nil {
		return 0
	}
	s, _ := symbols.Symbol(f.Instruction - f.Module.Base)
	return s.Line
}
