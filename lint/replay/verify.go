package replay

import (
	"time"

	"github.com/symlint/symlint/unwind"
)

// ThreadResult is what became of holding one thread against its reference.
type ThreadResult struct {
	Thread    int // index in Process.Threads; -1 where the reference has a thread that the dump has not
	Reference *RefThread
	Stack     *unwind.Stack
	Alignment Alignment
	// Blame and Remedy are nil where the thread matches, and where the difference is a weakness of the reference.
	Blame  *Blame
	Remedy *Remedy
}

// Matched reports whether nothing speaks against the walk.
func (r *ThreadResult) Matched() bool {
	return r.Alignment.Matched || r.Alignment.First != nil && r.Alignment.First.Weakness != nil
}

// VerifyOptions choose what is compared, and how long remedies are looked for.
type VerifyOptions struct {
	Fields Fields
	// NoRemedies leaves out replaying.
	NoRemedies bool
	// MaxTime bounds the search for the remedy of one thread; 0 means 20 seconds.
	MaxTime time.Duration
}

// Verify walks every thread that the reference has and holds it against that.
func Verify(w *unwind.Walker, ref *Reference, o VerifyOptions) []ThreadResult {
	if o.MaxTime == 0 {
		o.MaxTime = maxTime
	}
	p := w.Process
	var out []ThreadResult
	for i, pair := range Pair(ref, p) {
		if pair.By == "skipped" {
			continue // the thread that wrote the dump
		}
		r := ThreadResult{Thread: pair.Thread, Reference: &ref.Threads[i]}
		if pair.Thread >= 0 {
			r.verify(w, ref, i, o)
		} else {
			r.Alignment.First = &Divergence{Inline: -1, Field: "thread", Expected: "a thread", Got: "none"}
			if len(r.Reference.Frames) > 0 {
				r.Alignment.First.Ref = &r.Reference.Frames[0]
				r.Alignment.First.Expected = r.Reference.Frames[0].String()
			}
		}
		out = append(out, r)
	}
	return out
}

func (r *ThreadResult) verify(w *unwind.Walker, ref *Reference, i int, o VerifyOptions) {
	p := w.Process
	options := Options{Fields: o.Fields}
	if p.Memory != nil {
		options.Code = p.Memory.Bytes
	}
	r.Stack = w.Walk(r.Thread)
	r.Alignment = Align(ref, i, p, r.Stack, options)
	if r.Matched() || len(r.Stack.Frames) == 0 {
		return
	}
	r.Blame = blame(w, r.Reference, r.Stack, &r.Alignment)
	if o.NoRemedies || r.Blame.Symbol != nil {
		return // no other way of walking gives the frame another name
	}
	matches := func(s *unwind.Stack) (int, agreement) {
		a := Align(ref, i, p, s, options)
		switch {
		case !a.Matched && (a.First == nil || a.First.Weakness == nil):
			return 0, differs
		case registersAgree(r.Reference, s, &a):
			return a.Compared, agrees
		}
		return a.Compared, agreesInFields
	}
	r.Remedy = remedy(w, r.Thread, r.Stack, r.Blame, o.MaxTime, matches)
	if r.Remedy != nil && r.Remedy.Line > 0 && r.Remedy.surely && !r.Blame.certain {
		r.Blame.Line = r.Remedy.Line
	}
}

// agreement is how well a walk matches a reference.
type agreement uint8

const (
	differs        agreement = iota
	agreesInFields           // in what is compared
	agrees                   // in all registers that the reference tells, too
)

// registersAgree reports whether the registers that both sides know are equal in all frames held against each other.
func registersAgree(ref *RefThread, s *unwind.Stack, a *Alignment) bool {
	for _, p := range a.Pairs {
		r, f := &ref.Frames[p.Ref], &s.Frames[p.Frame]
		if _, _, _, wrong := wrongRegister(s.Frames[0].Registers.CPU, r, f); wrong {
			return false
		}
		// A frame found by a lesser technique is right by luck: the record is not cured.
		if r.Trust != "" && r.Trust != trustOf(f.Trust) {
			return false
		}
	}
	return true
}

// remedy looks for a change of a record after which the thread matches: first of the one to blame, then of those of
// the frames below it, whose registers it used.
func remedy(w *unwind.Walker, thread int, s *unwind.Stack, b *Blame, limit time.Duration, matches func(*unwind.Stack) (int, agreement)) *Remedy {
	left := newBudget(maxTrials, limit)
	if r := severalFiles(w, thread, s, b, left, matches); r != nil {
		return r
	}
	var second *Remedy
	seen := make(map[suspect]bool)
	for j := b.Frame - 1; j >= 0; j-- {
		f := &s.Frames[j]
		if f.Module == nil {
			continue
		}
		symbols, err := moduleSymbols(w, f.Module)
		if symbols == nil || err != nil {
			continue
		}
		x := suspect{f.Module, f.Instruction - f.Module.Base}
		if seen[x] {
			continue
		}
		seen[x] = true
		cpu := f.Registers.CPU
		trials := cfiTrials(cpu, f.Module, symbols, x.addr)
		if cpu.Name == "x86" {
			trials = append(winTrials(f.Module, symbols, x.addr), trials...)
		}
		if j == b.Frame-1 {
			trials = likelyFirst(trials, b.Register, cpu)
		}
		r, sure := try(w, thread, trials, left, cured(matches, j+1))
		if r != nil {
			r.Module = f.Module
		}
		if r != nil && !sure && second == nil {
			second = r
		}
		if r != nil && sure {
			if j != b.Frame-1 {
				e := w.Explain(s, j+1).Attempts
				if c := culprit(e); c != nil {
					b.Frame, b.Register, b.Attempts, b.Attempt = j+1, "", e, c
				}
			}
			return r
		}
	}
	return second
}

// cured is matches for changes of the record that a frame is found by: one that only makes the record useless, so that
// another technique has its turn, is no sure remedy.
func cured(matches func(*unwind.Stack) (int, agreement), frame int) func(*unwind.Stack) (int, agreement) {
	return func(s *unwind.Stack) (int, agreement) {
		n, how := matches(s)
		if how == agrees && frame < len(s.Frames) {
			switch s.Frames[frame].Technique {
			case unwind.ByCFI, unwind.ByWin, unwind.BySignal:
			default:
				how = agreesInFields
			}
		}
		return n, how
	}
}

type suspect struct {
	module *unwind.Module
	addr   uint64
}
