package unwind

import (
	"github.com/symlint/symlint/unwind/arch"
)

// Best walks are after the true callers. They begin with the evidence that misleads least, look at every result before
// it is taken, and know the cases that the reference's walkers get wrong: ends of stacks, signal trampolines, calls
// into nowhere, realigned stacks.

// bestOrder is the order in which a best walk tries the techniques.
var bestOrder = [...]Technique{BySignal, ByCall, ByDWARF, BySFrame, ByCFI, ByWin, ByRealigned, ByFramePointer, ByLink, ByScan}

// bestCaller finds the caller of the last frame by whatever is known.
func (x *walk) bestCaller(f *Frame) bool {
	callee := x.callee()
	if x.outermost(callee) {
		x.end = EndOutermost
		return false
	}
	for _, t := range bestOrder {
		*f = Frame{}
		if x.trace != nil {
			x.trace.begin(t)
		}
		found := x.tryBest(t, f)
		if found {
			f.Technique = t
			x.settle(f)
			if why := x.doubt(f); why != "" {
				found = false
				if x.trace != nil {
					x.trace.why(why)
				}
			}
		}
		if x.trace != nil {
			x.trace.end(x, found)
		}
		switch {
		case found:
			return true
		case x.end != EndNone:
			return false
		}
	}
	x.end = EndNoTechnique
	return false
}

func (x *walk) tryBest(t Technique, f *Frame) bool {
	switch t {
	case BySignal:
		return x.bySignal(f)
	case ByCall:
		return x.byCall(f)
	case ByCFI:
		return x.bestCFI(f)
	case ByWin:
		return x.e.kind == kindX86 && x.byWin(f)
	case ByRealigned:
		return x.byRealigned(f)
	case ByFramePointer:
		return x.bestFP(f)
	case ByLink:
		return x.byLink(f)
	case ByScan:
		return x.bestScan(f)
	case ByDWARF:
		return x.byDWARF(f)
	case BySFrame:
		return x.bySFrame(f)
	}
	return false
}

// settle derives the addresses of a frame whose program counter is the true return address.
func (x *walk) settle(f *Frame) {
	f.Return = f.Registers.PC()
	x.adjustExact(f)
}

// doubt says why a caller cannot be right, "" if it can.
func (x *walk) doubt(f *Frame) string {
	callee := x.callee()
	pc, sp := f.Registers.PC(), f.Registers.SP()
	last := callee.Registers.SP()
	if f.Signal {
		return "" // bySignal and call frame information of trampolines; the stack may be another one
	}
	switch {
	case pc < lowest:
		return "the return address is below 4096"
	case sp < last && !x.otherStack(sp), sp == last && !x.leafLike(callee):
		return "the stack pointer does not grow"
	case sp == last && pc == callee.Registers.PC():
		return "the frame is its own caller"
	case x.Process.Modules.At(f.Instruction) == nil && !x.mapped(pc):
		return "the return address lies in no module"
	}
	return ""
}

// otherStack reports whether an address lies in memory of the dump that is not the thread's stack: programs switch
// stacks, for signals and for coroutines.
func (x *walk) otherStack(sp uint64) bool {
	if x.stack.Contains(sp) || x.Process.Memory == nil {
		return false
	}
	_, ok := x.Process.Memory.Bytes(sp, x.e.word)
	return ok && x.Process.Modules.At(sp) == nil
}

// mapped reports whether the dump holds code at an address outside all modules. Minidumps keep some bytes around the
// instruction pointer only; that is no evidence.
func (x *walk) mapped(uint64) bool { return false }

// outermostNames are functions that nothing returns from. Their call frame information says so, but dump_syms has no
// way to write "undefined" and drops that.
var outermostNames = map[string]bool{
	"_start": true, "__start": true, "_dl_start_user": true, "_dl_start": false,
	"clone": true, "__clone": true, "clone3": true, "__clone3": true, "__thread_start": true, "thread_start": true,
	"_thread_start": true, "RtlUserThreadStart": true, "_RtlUserThreadStart": true,
}

// outermost reports whether nothing called a frame.
func (x *walk) outermost(f *Frame) bool {
	if outermostNames[f.Function] && !x.leafLike(f) {
		return true
	}
	return false
}

// bestCFI recovers the caller by STACK CFI, with the return address as it is, and with all memory.
func (x *walk) bestCFI(f *Frame) bool {
	callee := x.callee()
	if x.e.canCFI == 0 {
		return false
	}
	e := x.cfiAt(callee)
	if e == nil {
		return false
	}
	if e.info.Err != "" {
		if x.trace != nil {
			x.trace.rejected(e, e.info.Err)
		}
		return false
	}
	cpu := x.e.cpu
	env := cfiEnv{x: x, regs: &callee.Registers}
	p, fault := e.rules.Evaluate(&x.e.machine, &env, &x.e.row)
	ra := x.e.row.RA
	if fault.Failed() {
		// dump_syms writes ".ra: .ra" for a return address that is in the link register again.
		if p == nil || p != e.rules.RA || p.Text != ".ra" || cpu.Slot.LR < 0 || !callee.Registers.Has(cpu.Slot.LR) {
			if x.trace != nil {
				x.trace.fault(e, p, fault)
			}
			return false
		}
		ra = callee.Registers.Value[cpu.Slot.LR]
	}
	f.Trust = TrustCFI
	f.Registers.CPU = cpu
	for i, slot := range e.slots {
		if slot >= 0 && i < len(x.e.row.Registers) && !x.e.row.Registers[i].Fault.Failed() {
			f.Registers.Set(slot, x.e.row.Registers[i].Value)
		}
	}
	if x.e.kind == kindARM64 {
		ra = x.unsigned(ra, true)
	}
	if x.e.kind == kindARM {
		ra &^= 1
	}
	if !f.Registers.Has(cpu.Slot.PC) || x.e.kind == kindX86 || x.e.kind == kindAMD64 {
		f.Registers.Set(cpu.Slot.PC, ra)
	}
	if !f.Registers.Has(cpu.Slot.SP) {
		f.Registers.Set(cpu.Slot.SP, x.e.row.CFA)
	}
	x.carryDWARF(f, false)
	return true
}

// byCall handles calls to where no code is: the return address is still where the call put it.
func (x *walk) byCall(f *Frame) bool {
	callee := x.callee()
	if !x.leafLike(callee) || x.executable(callee.Registers.PC()) {
		return false
	}
	cpu := x.e.cpu
	f.Registers = callee.Registers
	sp := callee.Registers.SP()
	if cpu.Slot.LR < 0 {
		pc, ok := x.load(sp, x.e.word)
		if !ok || !x.returnAddress(pc) {
			return false
		}
		f.Registers.Set(cpu.Slot.PC, pc)
		f.Registers.Set(cpu.Slot.SP, sp+uint64(x.e.word))
	} else {
		pc := callee.Registers.Value[cpu.Slot.LR]
		if x.e.kind == kindARM64 {
			pc = x.unsigned(pc, true)
		}
		if x.e.kind == kindARM {
			pc &^= 1
		}
		if !x.returnAddress(pc) {
			return false
		}
		f.Registers.Set(cpu.Slot.PC, pc)
		f.Registers.Drop(cpu.Slot.LR)
	}
	f.Trust = TrustLeaf
	return true
}

// executable reports whether code can lie at an address of a module, as far as the binary tells.
func (x *walk) executable(pc uint64) bool {
	if x.Process.Executable != nil {
		if yes, known := x.Process.Executable(pc); known {
			return yes
		}
	}
	return x.Process.Modules.At(pc) != nil
}

// justReturned is how far behind a return address the program counter may be, in bytes, for the link register to be
// that of a call made by the function itself.
const justReturned = 64

// byLink takes the link register of the innermost frame for the return address: code without any record is most often
// a leaf function or at its entry.
func (x *walk) byLink(f *Frame) bool {
	callee := x.callee()
	cpu := x.e.cpu
	if cpu.Slot.LR < 0 || !x.leafLike(callee) || !callee.Registers.Has(cpu.Slot.LR) {
		return false
	}
	pc := callee.Registers.Value[cpu.Slot.LR]
	switch x.e.kind {
	case kindARM64:
		pc = x.unsigned(pc, true)
	case kindARM:
		pc &^= 1
	}
	at := callee.Registers.PC()
	if !x.returnAddress(pc) || pc <= at && at-pc <= justReturned {
		return false // a call that returned here a moment ago left it
	}
	f.Registers = callee.Registers
	f.Registers.Set(cpu.Slot.PC, pc)
	f.Registers.Drop(cpu.Slot.LR)
	f.Trust = TrustLeaf
	return true
}

// byRealigned handles functions that realign the stack and address their parameters through a register of which the
// symbol file tells only the prologue: gcc pushes the return address a second time, below the saved frame pointer, and
// the register behind it. That the two copies of the return address agree is the proof.
func (x *walk) byRealigned(f *Frame) bool {
	if x.e.kind != kindX86 && x.e.kind != kindAMD64 {
		return false
	}
	cpu, size := x.e.cpu, uint64(x.e.word)
	callee := x.callee()
	fp, ok := callee.Registers.Get(cpu.Slot.FP)
	if !ok || fp < callee.Registers.SP() {
		return false
	}
	ra, ok := x.load(fp+size, x.e.word)
	if !ok || !x.returnAddress(ra) {
		return false
	}
	for k := uint64(1); k <= 6; k++ {
		v, ok := x.load(fp-k*size, x.e.word)
		if !ok || v <= fp+size || v-fp > maxGap {
			continue
		}
		for j := uint64(1); j <= 2; j++ {
			again, ok := x.load(v-j*size, x.e.word)
			if !ok || again != ra || v-j*size == fp+size {
				continue
			}
			saved, ok := x.load(fp, x.e.word)
			if !ok {
				return false
			}
			f.Registers.CPU = cpu
			f.Registers.Set(cpu.Slot.PC, ra)
			f.Registers.Set(cpu.Slot.SP, v-(j-1)*size)
			f.Registers.Set(cpu.Slot.FP, saved)
			f.Trust = TrustCFI
			return true
		}
	}
	return false
}

// bestFP follows the frame pointer where the return address proves it right.
func (x *walk) bestFP(f *Frame) bool {
	if x.e.kind == kindS390 {
		return x.saveAreaS390(f)
	}
	cpu, size := x.e.cpu, uint64(x.e.word)
	callee := x.callee()
	fp, ok := callee.Registers.Get(cpu.Slot.FP)
	if !ok || fp%size != 0 || fp < callee.Registers.SP() {
		return false
	}
	at, saved := fp+size, fp
	above := fp + 2*size
	switch x.e.kind {
	case kindX86, kindAMD64, kindARM64:
	case kindRISCV:
		at, saved, above = fp-size, fp-2*size, fp
	default:
		return false
	}
	pc, ok1 := x.load(at, x.e.word)
	next, ok2 := x.load(saved, x.e.word)
	if !ok1 || !ok2 {
		return false
	}
	if x.e.kind == kindARM64 {
		pc = x.unsigned(pc, true)
	}
	if !x.returnAddress(pc) {
		return false
	}
	f.Registers.CPU = cpu
	f.Registers.Set(cpu.Slot.PC, pc)
	f.Registers.Set(cpu.Slot.SP, above)
	f.Registers.Set(cpu.Slot.FP, next)
	f.Trust = TrustFP
	return true
}

// saveAreaS390 finds the caller by the registers that every function of s390x with a frame saves at its entry, at fixed
// places above the caller's stack pointer: r14, the return address, at 112, and behind it that stack pointer itself.
func (x *walk) saveAreaS390(f *Frame) bool {
	const window, area, frame = 4096, 112, 160
	cpu := x.e.cpu
	sp := x.callee().Registers.SP()
	// A frame that calls has at least the save area of what it calls, so the caller's stack pointer is that far above.
	for at := sp + frame + area; at < sp+window*8; at += 8 {
		above, ok := x.load(at+8, 8)
		if !ok {
			return false
		}
		if above != at-area {
			continue
		}
		pc, ok := x.load(at, 8)
		if !ok || !x.returnAddress(pc) {
			continue
		}
		f.Registers.CPU = cpu
		f.Registers.Set(cpu.Slot.PC, pc)
		f.Registers.Set(cpu.Slot.SP, above)
		f.Trust = TrustFP
		return true
	}
	return false
}

// bestScan looks for a word that must be a return address, in a wider window than the reference.
func (x *walk) bestScan(f *Frame) bool {
	if !x.scan || x.MaxScanned < 0 {
		return false
	}
	const window = 1024
	cpu, size := x.e.cpu, uint64(x.e.word)
	sp := x.callee().Registers.SP()
	sp = (sp + size - 1) &^ (size - 1)
	for i := range uint64(window) {
		pc, ok := x.load(sp+i*size, x.e.word)
		if !ok {
			return false
		}
		switch x.e.kind {
		case kindARM64:
			pc = x.unsigned(pc, true)
		case kindARM:
			pc &^= 1 // Thumb
		}
		if !x.returnAddress(pc) || !x.candidate(pc) {
			continue
		}
		if x.callee().Technique == ByLink && pc == x.callee().Return {
			continue // the copy of the link register that the function saved
		}
		f.Registers.CPU = cpu
		f.Registers.Set(cpu.Slot.PC, pc)
		f.Registers.Set(cpu.Slot.SP, sp+(i+1)*size)
		if fp, ok := x.callee().Registers.Get(cpu.Slot.FP); ok && fp >= sp+(i+1)*size {
			f.Registers.Set(cpu.Slot.FP, fp)
		} else if saved, ok := x.load(sp+(i-1)*size, x.e.word); ok && i > 0 && saved > sp+i*size && saved-sp < maxGap {
			f.Registers.Set(cpu.Slot.FP, saved)
		}
		f.Trust = TrustScan
		return true
	}
	return false
}

// returnAddress reports whether a call can have pushed the address: it lies in a module, and where the code is at hand
// a call stands before it.
func (x *walk) returnAddress(pc uint64) bool {
	m := x.Process.Modules.At(pc - 1)
	if m == nil {
		return false
	}
	if x.Process.Executable != nil {
		if yes, known := x.Process.Executable(pc - 1); known && !yes {
			return false
		}
	}
	if ms := x.symbols.of(m); ms != nil && ms.symbols != nil && ms.symbols.Funcs() > 0 && !ms.hasName(pc-1-m.Base) && !ms.symbols.HasCFI(pc-1-m.Base) {
		return false
	}
	code := x.code(m, pc)
	return code == nil || precededByCall(x.e.kind, code, x.Process.Order)
}

// code returns the bytes before an address, up to 8, nil if they are not known.
func (x *walk) code(m *Module, pc uint64) []byte {
	for n := 8; n >= 4; n -= 4 {
		if x.Process.Memory != nil {
			if b, ok := x.Process.Memory.Bytes(pc-uint64(n), n); ok {
				return b
			}
		}
		if b, ok := x.imageBytes(m, pc-uint64(n), n); ok {
			return b
		}
	}
	return nil
}

// restore sets all registers of a frame from a saved context.
func restore(f *Frame, cpu *arch.CPU) {
	f.Registers.CPU = cpu
	f.Trust, f.Signal = TrustCFI, true
}

// Outermost reports whether a function is known to be one that nothing returns from: where threads and programs begin.
func Outermost(function string) bool { return outermostNames[function] }
