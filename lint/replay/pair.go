package replay

import "github.com/symlint/symlint/unwind"

// Pairing says which thread of a dump a thread of a reference is.
type Pairing struct {
	Thread int // index in Process.Threads, -1 for none
	// By is how it was found: "id", "index", "pc and sp", "pc", "crashed", "only". Of a thread that was not found it is
	// "", or "skipped" where it is the thread that wrote the dump, which nobody walks.
	By string
}

// Pair finds the threads of a dump that those of a reference are, one for each and none twice.
//
// Stackwalkers see the threads of the dump itself: their ids, if told, or else their places in the list agree. Debuggers
// saw the process, or a core of it, and number threads as they like: first the registers of the innermost frame are
// looked at, then thread ids, then the program counter alone if it is that of one thread only, and at last which thread
// crashed.
func Pair(r *Reference, p *unwind.Process) []Pairing {
	x := pairing{r: r, p: p, out: make([]Pairing, len(r.Threads)), taken: make([]bool, len(p.Threads)), pcs: make(map[uint64]int)}
	for i := range r.Threads {
		if f := r.Threads[i].Frames; len(f) > 0 && f[0].HasPC {
			x.pcs[f[0].PC]++
		}
	}
	for i := range x.out {
		x.out[i].Thread = -1
	}
	if r.Format.Stackwalk() {
		x.each("id", x.byID)
		x.skipped()
		x.each("index", x.byIndex)
		return x.out
	}
	x.each("pc and sp", x.byRegisters)
	x.each("id", x.byID)
	x.each("pc", x.byPC)
	x.each("crashed", x.byCrash)
	x.each("index", x.byIndex)
	if len(r.Threads) == 1 && len(p.Threads) == 1 && x.out[0].Thread < 0 {
		x.out[0] = Pairing{0, "only"}
	}
	return x.out
}

type pairing struct {
	r     *Reference
	p     *unwind.Process
	out   []Pairing
	taken []bool
	pcs   map[uint64]int // threads of the reference by the program counter of their innermost frame
}

// each finds the threads that are still without a partner one in a way that returns -1 if there is none.
func (x *pairing) each(by string, find func(t *RefThread) int) {
	for i := range x.r.Threads {
		if x.out[i].Thread >= 0 || x.out[i].By != "" {
			continue
		}
		if k := find(&x.r.Threads[i]); k >= 0 && !x.taken[k] {
			x.out[i] = Pairing{k, by}
			x.taken[k] = true
		}
	}
}

func (x *pairing) byID(t *RefThread) int {
	if t.LWP == 0 {
		return -1
	}
	return x.one(func(k int) bool { return x.p.Threads[k].ID == t.LWP })
}

// skipped marks the thread that wrote the dump.
func (x *pairing) skipped() {
	if x.p.Details == nil || x.p.Details.Writer == nil {
		return
	}
	for i := range x.r.Threads {
		t := &x.r.Threads[i]
		if x.out[i].Thread < 0 && t.LWP == x.p.Details.Writer.ID && len(t.Frames) == 0 {
			x.out[i].By = "skipped"
		}
	}
}

// byIndex takes the place in the list for threads of which nothing tells against it.
func (x *pairing) byIndex(t *RefThread) int {
	k := t.Index
	if d := x.p.Details; x.r.Format == FormatJSON && d != nil && d.Writer != nil && k > d.Writer.Index {
		k-- // the document has a place for that thread
	}
	if k < 0 || k >= len(x.p.Threads) {
		return -1
	}
	if id := x.p.Threads[k].ID; t.LWP != 0 && id != 0 && id != t.LWP {
		return -1
	}
	if x.r.Format.Stackwalk() {
		return k
	}
	if x.r.Format != FormatTSV || len(t.Frames) == 0 {
		return -1
	}
	if t.Frames[0].HasPC && x.p.Threads[k].Registers != nil && x.p.Threads[k].Registers.PC() != t.Frames[0].PC {
		return -1
	}
	return k
}

func (x *pairing) byRegisters(t *RefThread) int {
	if len(t.Frames) == 0 || !t.Frames[0].HasPC || !t.Frames[0].HasSP {
		return -1
	}
	return x.one(func(k int) bool {
		regs := x.p.Threads[k].Registers
		return regs != nil && regs.PC() == t.Frames[0].PC && regs.SP() == t.Frames[0].SP
	})
}

// byPC pairs threads whose program counter no other thread has, on either side.
func (x *pairing) byPC(t *RefThread) int {
	if len(t.Frames) == 0 || !t.Frames[0].HasPC {
		return -1
	}
	if x.pcs[t.Frames[0].PC] > 1 {
		return -1
	}
	return x.one(func(k int) bool {
		regs := x.p.Threads[k].Registers
		return regs != nil && regs.PC() == t.Frames[0].PC
	})
}

func (x *pairing) byCrash(t *RefThread) int {
	if !t.Crashed || x.p.Requesting < 0 || x.p.Requesting >= len(x.p.Threads) {
		return -1
	}
	regs := x.p.Threads[x.p.Requesting].Registers
	if len(t.Frames) > 0 && t.Frames[0].HasPC && regs != nil && regs.PC() != t.Frames[0].PC {
		return -1
	}
	return x.p.Requesting
}

// one returns the index of the only free thread of which a test holds, or -1.
func (x *pairing) one(holds func(k int) bool) int {
	found := -1
	for k := range x.p.Threads {
		if x.taken[k] || !holds(k) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = k
	}
	return found
}
