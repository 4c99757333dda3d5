// Package trace tells a walk in the formats that people and tools know: the text and the machine format of Google's
// minidump_stackwalk, byte for byte (src/processor/stackwalk_common.cc), and the JSON of rust-minidump.
package trace

import "github.com/symlint/symlint/unwind"

// Walked is a process with the stacks of its threads.
type Walked struct {
	Process *unwind.Process
	Walker  *unwind.Walker
	// Stacks are in the order of Process.Threads; nil for threads that were not walked.
	Stacks []*unwind.Stack
}

// Walk walks all threads, or only the requesting one, which is the first where it is not known.
func Walk(w *unwind.Walker, onlyRequesting bool) *Walked {
	p := w.Process
	out := &Walked{Process: p, Walker: w, Stacks: make([]*unwind.Stack, len(p.Threads))}
	if onlyRequesting {
		if p.Requesting >= 0 && p.Requesting < len(p.Threads) {
			out.Stacks[p.Requesting] = w.Walk(p.Requesting)
		}
		return out
	}
	for i := range p.Threads {
		out.Stacks[i] = w.Walk(i)
	}
	return out
}

// order yields the indices of the walked threads, the requesting one first.
func (d *Walked) order(yield func(int) bool) {
	first := d.Process.Requesting
	if first >= 0 && first < len(d.Stacks) && d.Stacks[first] != nil && !yield(first) {
		return
	}
	for i, s := range d.Stacks {
		if i != first && s != nil && !yield(i) {
			return
		}
	}
}
