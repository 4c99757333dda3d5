package unwind

import (
	"github.com/symlint/symlint/unwind/sframe"
)

// sframeSource is the SFrame row that a frame was found by.
type sframeSource struct {
	module *Module
	file   *sframe.File
	row    sframe.Row
	pc     uint64 // in the addresses of file
}

// sframeOf returns the SFrame sections of a module: from its binary, else from the dump's memory.
func (w *Walker) sframeOf(m *Module) *sframe.File {
	i := w.imageOf(m)
	if i.sframeTried {
		return i.sframe
	}
	i.sframeTried = true
	if i.elf != nil {
		if f, err := sframe.Open(i.elf); err == nil && len(f.Sections) > 0 {
			i.sframe = f
		}
	}
	if i.sframe == nil && w.Process.Memory != nil {
		if f, err := sframe.OpenImage(w.Process.Memory, m.Base); err == nil && len(f.Sections) > 0 {
			i.sframe = f
		}
	}
	return i.sframe
}

// sframeAt finds the row in force at an address.
func (w *Walker) sframeAt(m *Module, pc uint64) (s sframeSource, found bool, why string) {
	if m == nil {
		return s, false, ""
	}
	f := w.sframeOf(m)
	if f == nil {
		return s, false, ""
	}
	s = sframeSource{module: m, file: f, pc: pc - m.Base + f.Base()}
	fde, ok := f.Find(s.pc)
	if !ok {
		return s, false, "no SFrame function covers the address"
	}
	if fde.Outermost() {
		s.row.FDE, s.row.Outermost = fde, true
		return s, true, ""
	}
	if s.row, ok = fde.RowAt(s.pc); !ok {
		return s, false, "no usable SFrame row at the address"
	}
	return s, true, ""
}

// bySFrame recovers the caller by the SFrame section of the module.
func (x *walk) bySFrame(f *Frame) bool {
	callee := x.callee()
	s, ok, why := x.sframeAt(callee.Module, x.exact(callee))
	if !ok {
		if x.trace != nil && why != "" {
			x.trace.why(why)
		}
		return false
	}
	if s.row.Outermost {
		x.end = EndOutermost
		return false
	}
	env := dwarfEnv{x, &callee.Registers}
	out := &x.e.sframeOut
	if err := s.row.Apply(&env, out); err != nil {
		if x.trace != nil {
			x.trace.why(err.Error())
		}
		return false
	}
	cpu := x.e.cpu
	signal := s.row.FDE.Signal()
	f.Registers.CPU = cpu
	// SFrame tells of no other callee-saved register: they count as unchanged, which only rules on the frame pointer and
	// the stack pointer can rely on.
	x.carryDWARF(f, signal)
	f.Registers.Drop(cpu.Slot.LR)
	f.Registers.Set(cpu.Slot.SP, out.SP)
	if out.FPKnown {
		f.Registers.Set(cpu.SlotOfDWARF(uint64(s.row.FDE.Section().Header.ABI.FP())), out.FP)
	}
	ra := out.RA
	if x.e.kind == kindARM64 {
		ra = x.unsigned(ra, s.row.RASigned)
	}
	f.Registers.Set(cpu.Slot.PC, ra)
	f.Trust, f.Signal = TrustCFI, signal
	return true
}

// describeSFrame tells the row's rules and what they evaluated to.
func (x *walk) describeSFrame(a *Attempt, callee *Frame) {
	s, ok, _ := x.sframeAt(callee.Module, x.exact(callee))
	if !ok {
		return
	}
	fde := s.row.FDE
	a.Record = &Record{
		Kind: fde.Section().Name, Module: s.module, Offset: uint64(s.row.Offset), Address: fde.Start - s.file.Base(),
		Size: uint64(fde.Size), Lookup: s.pc - s.file.Base(),
	}
	if s.row.Outermost {
		a.Rules = append(a.Rules, RuleValue{Register: "RA", Expr: "undefined"})
		return
	}
	env := dwarfEnv{x, &callee.Registers}
	out := &x.e.sframeOut
	fault := ""
	if err := s.row.Apply(&env, out); err != nil {
		fault = err.Error()
	}
	a.Rules = append(a.Rules,
		RuleValue{Register: "CFA", Expr: s.row.CFA.String(), Value: out.CFA, Fault: fault},
		RuleValue{Register: "RA", Expr: s.row.RA.String(), Value: out.RA},
		RuleValue{Register: "FP", Expr: s.row.FP.String(), Value: out.FP})
}
