package unwind

import (
	"math/bits"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
)

// undefined is what the reference fills the registers of x86 and amd64 with that CFI did not recover.
const undefined = 0xdadadadadadadada

// cfiAt returns the compiled rules in force at the frame's instruction, nil where there are none that the reference
// would use.
func (x *walk) cfiAt(f *Frame) *cfiEntry {
	ms := x.symbols.of(f.Module)
	if ms == nil || ms.symbols == nil {
		return nil
	}
	addr := f.Instruction - f.Module.Base
	if e, ok := ms.cfi[addr]; ok && (e == nil || e.cpu == x.e.cpu) {
		return e
	}
	var e *cfiEntry
	info := ms.symbols.CFI(addr)
	if x.Patch.CFI != nil {
		info = x.Patch.CFI(f.Module, ms.symbols, addr, info)
	}
	if info != nil {
		e = &cfiEntry{info: info, module: f.Module, ms: ms, cpu: x.e.cpu}
		for _, r := range info.Rules {
			e.rules.Set(r.Name, x.e.programs.Program([]byte(r.Expr), postfix.CFI))
		}
		for _, r := range e.rules.Registers {
			slot := x.e.cpu.SlotOf(r.Name)
			if reg, ok := x.e.cpu.Register(r.Name); !ok || !reg.CFI || !reg.Valid {
				slot = -1
			}
			e.slots = append(e.slots, slot)
		}
	}
	if ms.cfi == nil || len(ms.cfi) >= cachedAddresses {
		ms.cfi = make(map[uint64]*cfiEntry)
	}
	ms.cfi[addr] = e
	return e
}

// cfiEnv is what the expressions of a rule see: the registers of the callee and its stack.
type cfiEnv struct {
	x    *walk
	regs *arch.Registers
	all  bool // every register counts, known or not
}

// Variable returns a register of the callee.
func (v *cfiEnv) Variable(p *postfix.Program, name int) (uint64, bool) {
	slot := p.Names[name].Slot
	if slot < 0 {
		return 0, false
	}
	if v.all {
		return v.regs.Value[slot], true
	}
	return v.regs.Get(int(slot))
}

// Load reads a word from the stack.
func (v *cfiEnv) Load(addr uint64) (uint64, bool) {
	if v.x.Best {
		return v.x.load(addr, v.x.e.word)
	}
	return v.x.read(addr)
}

// byCFI recovers the caller by STACK CFI rules: CFIFrameInfo::FindCallerRegs of cfi_frame_info.cc, and what the walker
// of each CPU makes of the result.
func (x *walk) byCFI(f *Frame) bool {
	callee := x.callee()
	if x.e.canCFI == 0 || x.e.kind == kindARM && x.Process.System.OS == "iOS" {
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
	x.cfiEnv = cfiEnv{x: x, regs: &callee.Registers, all: x.e.kind == kindMIPS || x.e.kind == kindMIPS64}
	if p, fault := e.rules.Evaluate(&x.e.machine, &x.cfiEnv, &x.e.row); fault.Failed() {
		if x.trace != nil {
			x.trace.fault(e, p, fault)
		}
		return false
	}
	ok := false
	switch x.e.kind {
	case kindX86, kindAMD64:
		ok = x.simpleCFI(f, e)
	case kindMIPS, kindMIPS64:
		ok = x.mipsCFI(f, e)
	default:
		ok = x.cfiWithPC(f, e)
	}
	f.Trust = TrustCFI
	return ok
}

// recovered sets the registers that have a rule which evaluated.
func (x *walk) recovered(f *Frame, e *cfiEntry) {
	for i, slot := range e.slots {
		if slot >= 0 && !x.e.row.Registers[i].Fault.Failed() {
			f.Registers.Set(slot, x.e.row.Registers[i].Value)
		}
	}
}

// carry copies the callee-saved registers that no rule recovered.
func (x *walk) carry(f *Frame, saved uint64) {
	from := &x.callee().Registers
	for rest := saved & from.Valid &^ f.Registers.Valid; rest != 0; rest &= rest - 1 {
		slot := bits.TrailingZeros64(rest)
		f.Registers.Value[slot] = from.Value[slot]
		f.Registers.Valid |= 1 << slot
	}
}

// simpleCFI is SimpleCFIWalker of cfi_frame_info-inl.h, with the conditions of the x86 and amd64 walkers.
func (x *walk) simpleCFI(f *Frame, e *cfiEntry) bool {
	cpu := x.e.cpu
	f.Registers.CPU = cpu
	fill := uint64(undefined)
	if x.e.word == 4 {
		fill = undefined & (1<<32 - 1)
	}
	for i := range cpu.Slots {
		f.Registers.Value[i] = fill
	}
	x.recovered(f, e)
	if !f.Registers.Has(cpu.Slot.PC) {
		f.Registers.Set(cpu.Slot.PC, x.e.row.RA)
	}
	if !f.Registers.Has(cpu.Slot.SP) {
		f.Registers.Set(cpu.Slot.SP, x.e.row.CFA)
	}
	x.carry(f, x.e.saved)
	if x.e.kind == kindX86 {
		return f.Registers.Has(cpu.Slot.FP)
	}
	return f.Registers.PC() != 0 && f.Registers.SP() != 0
}

// cfiWithPC is the treatment of arm, arm64 and riscv, where rules may name pc and sp.
func (x *walk) cfiWithPC(f *Frame, e *cfiEntry) bool {
	cpu := x.e.cpu
	f.Registers.CPU = cpu
	x.recovered(f, e)
	x.carry(f, x.e.saved)
	switch {
	case f.Registers.Has(cpu.Slot.PC):
	case x.e.kind == kindARM && x.armFP() >= 0:
		f.Registers.Set(cpu.Slot.LR, x.e.row.RA)
		f.Registers.Set(cpu.Slot.PC, x.callee().Registers.Value[cpu.Slot.LR])
	default:
		f.Registers.Set(cpu.Slot.PC, x.e.row.RA)
	}
	if !f.Registers.Has(cpu.Slot.SP) {
		f.Registers.Set(cpu.Slot.SP, x.e.row.CFA)
	}
	if x.e.kind == kindARM64 {
		f.Registers.Set(cpu.Slot.PC, x.stripPAC(f.Registers.PC()))
	}
	return true
}

// mipsCFI: the return address is in $ra, and the calling instruction and its delay slot lie before it.
func (x *walk) mipsCFI(f *Frame, e *cfiEntry) bool {
	cpu := x.e.cpu
	f.Registers.CPU = cpu
	x.recovered(f, e)
	f.Registers.Set(cpu.Slot.SP, x.e.row.CFA)
	f.Registers.Set(cpu.Slot.LR, x.e.row.RA)
	f.Registers.Set(cpu.Slot.PC, x.e.row.RA-uint64(2*x.e.word))
	x.carry(f, x.e.saved)
	return true
}
