package unwind

// byScan looks for a return address on the stack: GetCallerByStackScan of Google's stackwalker_*.cc.
func (x *walk) byScan(f *Frame) bool {
	if !x.scan || x.MaxScanned < 0 {
		return false
	}
	f.Trust = TrustScan
	switch x.e.kind {
	case kindX86:
		return x.scanX86(f)
	case kindAMD64:
		return x.scanAMD64(f)
	case kindARM, kindARM64, kindRISCV:
		return x.scanPlain(f)
	case kindMIPS, kindMIPS64:
		return x.scanMIPS(f)
	}
	return false
}

// first reports whether the callee is the context frame, whose window is wider: at a crash the prologue may have
// reserved space that the frame does not use yet.
func (x *walk) first() bool { return x.callee().Trust == TrustContext }

func (x *walk) window() int {
	if x.first() {
		return x.e.cpu.Scan.First
	}
	return x.e.cpu.Scan.Words
}

// search looks at one word more than words, from start on, and returns the first that could be a return address.
func (x *walk) search(start uint64, words int) (location, pc uint64, ok bool) {
	word := uint64(x.e.word)
	for location = start; words >= 0; words, location = words-1, location+word {
		pc, ok := x.read(location)
		if !ok {
			return 0, 0, false
		}
		if x.candidate(pc) {
			return location, pc, true
		}
	}
	return 0, 0, false
}

// candidate reports whether the word could be a return address: the byte before it lies in a loaded module and is
// named by that module's symbols, if it has any.
func (x *walk) candidate(pc uint64) bool {
	before := pc - 1
	if x.e.word == 4 {
		before = uint64(uint32(before))
	}
	return x.Process.Modules.At(before) != nil && x.plausible(before)
}

// maxGap is how far apart two frames of an ebp chain may reasonably be, in bytes.
const maxGap = 128 << 10

func (x *walk) scanX86(f *Frame) bool {
	r := x.e.cpu.Slot
	last := &x.callee().Registers
	location, eip, ok := x.search(last.SP(), x.window())
	if !ok {
		return false
	}
	below := uint64(uint32(location - 4))
	ebp, ok := x.read(below)
	if !ok || ebp <= below || ebp-below > maxGap {
		ebp = last.Value[r.FP]
	}
	x.next(f)
	f.Registers.Set(r.PC, eip)
	f.Registers.Set(r.SP, location+4)
	f.Registers.Set(r.FP, ebp)
	return true
}

func (x *walk) scanAMD64(f *Frame) bool {
	r := x.e.cpu.Slot
	last := &x.callee().Registers
	location, rip, ok := x.search(last.SP(), x.window())
	if !ok {
		return false
	}
	x.next(f)
	f.Registers.Set(r.PC, rip)
	f.Registers.Set(r.SP, location+8)
	rbp, valid := last.Get(r.FP)
	if !valid {
		return true
	}
	if location-8 == rbp {
		if saved, ok := x.read(rbp); ok && saved > location {
			f.Registers.Set(r.FP, saved)
		}
	} else if rbp >= location+8 {
		f.Registers.Set(r.FP, rbp)
	}
	return true
}

func (x *walk) scanPlain(f *Frame) bool {
	r := x.e.cpu.Slot
	location, pc, ok := x.search(x.callee().Registers.SP(), x.window())
	if !ok {
		return false
	}
	x.next(f)
	f.Registers.Set(r.PC, pc)
	f.Registers.Set(r.SP, location+uint64(x.e.word))
	return true
}

// maxFrameMIPS is the size of frames that scanning on mips believes in, in bytes.
const maxFrameMIPS = 1024

// scanMIPS takes a candidate only if the word below it could be the frame pointer saved with it.
func (x *walk) scanMIPS(f *Frame) bool {
	r, word := x.e.cpu.Slot, uint64(x.e.word)
	location := x.callee().Registers.SP()
	count := x.e.cpu.Scan.Words
	if !x.first() {
		location += uint64(x.e.cpu.Scan.Skip) * word // the callee's argument slots
		count -= x.e.cpu.Scan.Skip
	}
	for count > 0 {
		at, ra, ok := x.search(location, count)
		if !ok {
			return false
		}
		fp, ok := x.read(at - word)
		if !ok {
			return false
		}
		// A candidate at the very end of the window leaves nothing of it, and the reference then gives up.
		if count -= int((at - location) / word); count > 0 && (fp-at)&x.mask() < maxFrameMIPS {
			x.next(f)
			f.Registers.Set(r.PC, ra-2*word)
			f.Registers.Set(r.SP, at+word)
			f.Registers.Set(r.FP, fp)
			f.Registers.Set(r.LR, ra)
			return true
		}
		location = at + word
	}
	return false
}

// mask is the values a word of the CPU can have.
func (x *walk) mask() uint64 {
	if x.e.word == 4 {
		return 1<<32 - 1
	}
	return ^uint64(0)
}

// byLeaf simulates the return from a leaf function of 64-bit Windows, which has no unwind data and leaves the return
// address at the stack pointer.
func (x *walk) byLeaf(f *Frame) bool {
	if x.e.kind != kindAMD64 || !x.first() || x.Techniques == nil && x.Process.System.OSShort != "windows" {
		return false
	}
	r := x.e.cpu.Slot
	last := &x.callee().Registers
	location, rip, ok := x.search(last.SP(), 1)
	if !ok {
		return false
	}
	f.Registers = *last
	f.Registers.Set(r.PC, rip)
	f.Registers.Set(r.SP, location+8)
	f.Trust = TrustLeaf
	return true
}
