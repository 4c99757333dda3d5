package unwind

import (
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/dwarf"
	"github.com/symlint/symlint/unwind/sframe"
)

// BinarySource finds the ELF files of modules.
type BinarySource interface {
	// ModuleBinary returns the contents of a module's ELF file, or why there is none.
	ModuleBinary(m *Module) ([]byte, error)
}

// image is what is known of a module's ELF file.
type image struct {
	elf []byte
	cfi *dwarf.File
	err error
	// segments are the read-only parts of elf, read when code is looked at.
	segments  []segment
	functions []elfFunction // of elf's symbol table, by named
	named     bool

	sframe      *sframe.File
	sframeTried bool
}

type imageCache map[*Module]*image

// imageOf returns the module's ELF file and its call frame information: from the binaries, else from the dump's
// memory, which holds the headers and .eh_frame of small modules such as the vDSO.
func (w *Walker) imageOf(m *Module) *image {
	if i, ok := w.images[m]; ok {
		return i
	}
	i := &image{}
	if w.Binaries != nil {
		i.elf, i.err = w.Binaries.ModuleBinary(m)
		if i.err == nil {
			i.cfi, i.err = dwarf.Open(i.elf)
		}
	}
	if i.cfi == nil || i.cfi.Len() == 0 {
		if w.Process.Memory != nil {
			if f, err := dwarf.OpenImage(w.Process.Memory, m.Base); err == nil && f.Len() > 0 {
				i.cfi, i.err = f, nil
			}
		}
	}
	if w.images == nil {
		w.images = make(imageCache)
	}
	w.images[m] = i
	return i
}

// withBinaries adds the techniques that binaries make possible behind STACK CFI.
func (w *Walker) withBinaries(e *engine, order []Technique) []Technique {
	if e.withBinaries != nil {
		return e.withBinaries
	}
	if e.kind == kindS390 || len(order) == 1 {
		e.withBinaries = append([]Technique{ByCFI, BySFrame, ByDWARF}, order...)
		return e.withBinaries
	}
	for _, t := range order {
		e.withBinaries = append(e.withBinaries, t)
		if t == ByCFI {
			e.withBinaries = append(e.withBinaries, BySFrame, ByDWARF)
		}
	}
	return e.withBinaries
}

// dwarfSource is the row of DWARF call frame information that a frame was found by.
type dwarfSource struct {
	module *Module
	file   *dwarf.File
	pc     uint64 // in the addresses of file
}

// dwarfEnv is what the expressions of call frame information see.
type dwarfEnv struct {
	x    *walk
	regs *arch.Registers
}

// Register returns a register of the callee by its DWARF number.
func (v *dwarfEnv) Register(n uint64) (uint64, bool) { return v.regs.Get(v.regs.CPU.SlotOfDWARF(n)) }

// Load reads memory of the dump.
func (v *dwarfEnv) Load(addr uint64, size int) (uint64, bool) { return v.x.load(addr, size) }

// load reads from the stack, else from whatever memory the dump and the binaries hold.
func (x *walk) load(addr uint64, size int) (uint64, bool) {
	if x.e.word == 4 {
		addr = uint64(uint32(addr))
	}
	b, ok := x.stack.Bytes(addr, size)
	if !ok && x.Process.Memory != nil {
		b, ok = x.Process.Memory.Bytes(addr, size)
	}
	var v uint64
	if ok {
		v = decodeSized(x.Process.Order, b)
	}
	if x.trace != nil {
		x.trace.load(addr, v, ok)
	}
	return v, ok
}

// dwarfAt finds the call frame information of an address.
func (w *Walker) dwarfAt(m *Module, pc uint64) (dwarfSource, *dwarf.FDE) {
	if m == nil {
		return dwarfSource{}, nil
	}
	i := w.imageOf(m)
	if i.cfi == nil {
		return dwarfSource{}, nil
	}
	s := dwarfSource{module: m, file: i.cfi, pc: pc - m.Base + i.cfi.Base()}
	fde, ok := i.cfi.Find(s.pc)
	if !ok {
		return dwarfSource{}, nil
	}
	return s, fde
}

// byDWARF recovers the caller by .eh_frame or .debug_frame.
func (x *walk) byDWARF(f *Frame) bool {
	callee := x.callee()
	s, fde := x.dwarfAt(callee.Module, x.exact(callee))
	if fde == nil {
		return false
	}
	if err := fde.RowAt(s.pc, &x.e.dwarfRow); err != nil {
		if x.trace != nil {
			x.trace.why(err.Error())
		}
		return false
	}
	env := dwarfEnv{x, &callee.Registers}
	if err := x.e.dwarfRow.Apply(&env, &x.e.dwarfOut); err != nil {
		if x.trace != nil {
			x.trace.why(err.Error())
		}
		return false
	}
	out := &x.e.dwarfOut
	cpu := x.e.cpu
	ra := &out.RA
	switch {
	case ra.How == dwarf.IsUndefined:
		x.end = EndOutermost
		return false
	case ra.How == dwarf.Unreadable || !ra.Known:
		if x.trace != nil {
			x.trace.why("the return address cannot be read")
		}
		return false
	case ra.How == dwarf.Unspecified && !x.leafLike(callee):
		if x.trace != nil {
			x.trace.why("no rule for the return address")
		}
		return false
	}
	signal := fde.CIE.SignalFrame
	f.Registers.CPU = cpu
	x.carryDWARF(f, signal)
	for i := range out.Regs {
		r := &out.Regs[i]
		slot := cpu.SlotOfDWARF(r.Reg)
		if slot < 0 {
			continue
		}
		if r.Known && r.How != dwarf.Unreadable && r.How != dwarf.IsUndefined {
			f.Registers.Set(slot, r.Value)
		} else {
			f.Registers.Drop(slot)
		}
	}
	if r, ok := out.Get(uint64(cpu.DWARFOf(cpu.Slot.SP))); (!ok || !r.Known) && x.e.kind != kindS390 {
		f.Registers.Set(cpu.Slot.SP, out.CFA) // on s390 the CFA is 160 bytes above, and r15 is saved like others
	}
	pc := ra.Value
	if x.e.kind == kindARM64 {
		pc = x.unsigned(pc, x.e.dwarfRow.RASigned)
	}
	if x.e.kind == kindARM {
		pc &^= 1
	}
	f.Registers.Set(cpu.Slot.PC, pc)
	f.Trust, f.Signal = TrustCFI, signal
	return true
}

// leafLike reports whether the link register of a frame is its return address: nothing was called from it.
func (x *walk) leafLike(f *Frame) bool { return f.Trust == TrustContext || f.Signal }

// carryDWARF copies what a register keeps without a rule. The psABIs let a function change the others, but a signal
// trampoline restores all.
func (x *walk) carryDWARF(f *Frame, all bool) {
	from := &x.callee().Registers
	keep := x.e.abiSaved
	if all || keep == 0 {
		keep = ^uint64(0)
	}
	x.carry(f, keep&from.Valid)
}

// unsigned removes a signature from a return address of arm64.
func (x *walk) unsigned(pc uint64, signed bool) uint64 {
	if x.thread.PACMask != 0 && signed {
		return pc &^ x.thread.PACMask
	}
	return x.stripPAC(pc)
}

// exact is the address at which a frame's call frame information is looked up: within the calling instruction, or the
// program counter itself where the frame was interrupted.
func (x *walk) exact(f *Frame) uint64 {
	if f.Trust == TrustContext || f.Signal {
		return f.Registers.PC()
	}
	return f.Instruction
}
