package unwind

import "math/bits"

// byFramePointer follows the chain of saved frame pointers: GetCallerByFramePointer and its like in Google's
// stackwalker_*.cc.
func (x *walk) byFramePointer(f *Frame) bool {
	f.Trust = TrustFP
	switch x.e.kind {
	case kindX86:
		return x.fpX86(f)
	case kindAMD64:
		return x.Process.System.OSShort != "windows" && x.fpAMD64(f)
	case kindARM:
		return x.fpARM(f)
	case kindARM64:
		return x.fpARM64(f)
	case kindRISCV:
		return x.fpRISCV(f)
	case kindPPC:
		return x.fpPPC(f, 8)
	case kindPPC64:
		return x.fpPPC(f, 16)
	case kindSPARC:
		return x.fpSPARC(f)
	}
	return false
}

// fpX86 takes whatever lies at ebp, in a known module or not.
func (x *walk) fpX86(f *Frame) bool {
	r := x.e.cpu.Slot
	ebp := x.callee().Registers.Value[r.FP]
	eip, ok := x.read(ebp + 4)
	if !ok {
		return false
	}
	next, ok := x.read(ebp)
	if !ok {
		return false
	}
	x.next(f)
	f.Registers.Set(r.PC, eip)
	f.Registers.Set(r.SP, ebp+8)
	f.Registers.Set(r.FP, next)
	return true
}

// fpAMD64 refuses chains that cannot go on, so that scanning gets its turn at the last frame.
func (x *walk) fpAMD64(f *Frame) bool {
	r := x.e.cpu.Slot
	rbp := x.callee().Registers.Value[r.FP]
	if rbp%8 != 0 {
		return false
	}
	rip, ok := x.read(rbp + 8)
	if !ok {
		return false
	}
	next, ok := x.read(rbp)
	if !ok || !canonical(rip) || next < rbp+16 {
		return false
	}
	if _, ok := x.read(next); !ok {
		return false
	}
	x.next(f)
	f.Registers.Set(r.PC, rip)
	f.Registers.Set(r.SP, rbp+16)
	f.Registers.Set(r.FP, next)
	return true
}

// canonical reports whether an address of x86-64 can exist; the bounds are those of the reference's IsCanonical.
func canonical(addr uint64) bool { return addr < 0x0000800000000000 || addr > 0xffff7fffffffffff }

// armFP is the slot of the frame pointer the reference uses on arm, which is r7 on iOS and none elsewhere.
func (x *walk) armFP() int {
	if x.Process.System.OSShort == "ios" {
		return x.e.cpu.SlotOf("r7")
	}
	return -1
}

func (x *walk) fpARM(f *Frame) bool {
	r, slot := x.e.cpu.Slot, x.armFP()
	if slot < 0 {
		return false
	}
	last := &x.callee().Registers
	fp := last.Value[slot]
	var lr, next uint64
	if fp != 0 {
		var ok bool
		if next, ok = x.read(fp); !ok {
			return false
		}
		if lr, ok = x.read(fp + 4); !ok {
			return false
		}
	}
	sp := last.Value[r.SP]
	if fp != 0 {
		sp = fp + 8
	}
	pc := last.Value[r.LR]
	x.next(f)
	f.Registers.Set(r.PC, pc)
	f.Registers.Set(r.LR, lr)
	f.Registers.Set(slot, next)
	f.Registers.Set(r.SP, sp)
	return true
}

// fpARM64 takes the program counter from the link register and the next link register from the frame record. No
// value is checked, so it succeeds unless the record cannot be read.
func (x *walk) fpARM64(f *Frame) bool {
	r := x.e.cpu.Slot
	last := x.callee()
	if !last.Registers.Has(r.LR) {
		x.repairLR(last)
	}
	fp := last.Registers.Value[r.FP]
	sp := last.Registers.Value[r.SP]
	var next, lr uint64
	if fp != 0 {
		var ok bool
		if next, ok = x.read(fp); !ok {
			return false
		}
		if lr, ok = x.read(fp + 8); !ok {
			return false
		}
		sp = fp + 16
	}
	pc := last.Registers.Value[r.LR]
	x.next(f)
	f.Registers.Set(r.PC, pc)
	f.Registers.Set(r.LR, x.stripPAC(lr))
	f.Registers.Set(r.FP, next)
	f.Registers.Set(r.SP, sp)
	return true
}

// repairLR is CorrectRegLRByFramePointer. The word it finds is the return address into this frame, not out of it, so
// the caller that results repeats the frame; the reference does just that.
func (x *walk) repairLR(last *Frame) {
	r := x.e.cpu.Slot
	if len(x.frames) < 2 || last.Registers.Value[r.FP] <= last.Registers.Value[r.SP] {
		return
	}
	younger := x.frames[len(x.frames)-2].Registers.Value[r.FP]
	var saved, lr uint64
	if younger != 0 {
		var ok bool
		if saved, ok = x.read(younger); !ok {
			return
		}
	}
	if saved != last.Registers.Value[r.FP] {
		return
	}
	if younger != 0 {
		var ok bool
		if lr, ok = x.read(younger + 8); !ok {
			return
		}
	}
	last.Registers.Value[r.LR] = x.stripPAC(lr)
}

// fpRISCV reads the frame record at s0 as the reference does, although compilers put it below.
func (x *walk) fpRISCV(f *Frame) bool {
	r := x.e.cpu.Slot
	last := &x.callee().Registers
	fp := last.Value[r.FP]
	var next, ra, sp uint64
	if fp != 0 {
		var ok bool
		if next, ok = x.read(fp); !ok {
			return false
		}
		if ra, ok = x.read(fp + uint64(x.e.word)); !ok {
			return false
		}
		sp = fp + uint64(2*x.e.word)
	}
	pc := last.Value[r.LR]
	x.next(f)
	f.Registers.Set(r.PC, pc)
	f.Registers.Set(r.LR, ra)
	f.Registers.Set(r.FP, next)
	f.Registers.Set(r.SP, sp)
	return true
}

// fpPPC follows the back chain at the stack pointer; the return address lies at a fixed place in the caller's frame.
func (x *walk) fpPPC(f *Frame, saved uint64) bool {
	r := x.e.cpu.Slot
	sp := x.callee().Registers.SP()
	next, ok := x.read(sp)
	if !ok || next <= sp {
		return false
	}
	pc, ok := x.read(next + saved)
	if !ok || pc <= 1 {
		return false
	}
	x.next(f)
	f.Registers.Set(r.PC, pc)
	f.Registers.Set(r.SP, next)
	return true
}

// fpSPARC reads the register window that was spilled at the frame pointer. The program counter of the caller is its
// call instruction plus 8.
func (x *walk) fpSPARC(f *Frame) bool {
	r := x.e.cpu.Slot
	last := &x.callee().Registers
	sp := last.Value[r.FP]
	if sp <= last.Value[r.SP] {
		return false
	}
	pc, ok := x.read(sp + 60)
	if !ok || pc <= 1 {
		return false
	}
	fp, ok := x.read(sp + 56)
	if !ok || fp <= 1 {
		return false
	}
	x.next(f)
	f.Registers.Set(r.PC, pc+8)
	f.Registers.Set(r.SP, sp)
	f.Registers.Set(r.FP, fp)
	return true
}

// stripPAC removes the signature from a code pointer of arm64 where what remains lies in a module. The reference takes
// as many bits as the end of the highest module has.
func (x *walk) stripPAC(ptr uint64) uint64 {
	mask := ^uint64(0)
	if n := bits.Len64(x.Process.Modules.top()); n < 64 {
		mask = 1<<n - 1
	}
	if stripped := ptr & mask; x.Process.Modules.At(stripped) != nil {
		return stripped
	}
	return ptr
}
