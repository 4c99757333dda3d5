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
	// trampoline: a signal frame that no row can describe, only the platform's layout of saved registers.
	trampoline bool
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
	if fde.Signal() && fde.NumRows == 0 {
		s.row.FDE, s.trampoline = fde, true
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
	switch {
	case s.row.Outermost:
		x.end = EndOutermost
		return false
	case s.trampoline:
		return x.interrupted(f)
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
	// Other registers may have been saved and changed; SFrame does not tell, so they are not known.
	f.Registers.CPU = cpu
	f.Registers.Set(cpu.Slot.SP, out.SP)
	if out.FPKnown {
		f.Registers.Set(cpu.SlotOfDWARF(uint64(s.row.FDE.Section().Header.ABI.FP())), out.FP)
	}
	ra := out.RA
	if x.e.kind == kindARM64 {
		ra = x.unsigned(ra, s.row.RASigned)
	}
	f.Registers.Set(cpu.Slot.PC, ra)
	f.Trust, f.Signal = TrustCFI, s.row.FDE.Signal()
	return true
}

// interrupted restores the registers of a frame that a signal interrupted, where SFrame only marks the trampoline that
// the handler returns to.
func (x *walk) interrupted(f *Frame) bool {
	callee := x.callee()
	restore(f, x.e.cpu)
	sp, ok := callee.Registers.SP(), false
	switch x.e.kind {
	case kindAMD64:
		ok = x.savedAMD64(f, sp)
	case kindARM64:
		ok = x.savedARM64(f, sp)
	case kindS390:
		ok = x.savedS390(f, sp)
	}
	// The mark does not say that the stack pointer is where the kernel set it: a context must look like one.
	if ok && x.executable(f.Registers.PC()) {
		if _, ok = x.load(f.Registers.SP(), x.e.word); ok {
			return true
		}
	}
	if x.trace != nil {
		x.trace.why("the registers saved by the kernel cannot be read")
	}
	return false
}

// savedS390 reads the registers from struct rt_sigframe or sigframe of the kernel's arch/s390/kernel/signal.c: a register
// save area of 160 bytes; then the system call's code in 8, siginfo 128, uc_flags and uc_link 16 and uc_stack 24, or the
// signal mask and a pointer to the registers.
func (x *walk) savedS390(f *Frame, sp uint64) bool {
	const sigreturn = 119 // the system call: svc 119 is 0a 77
	at := sp + 160 + 8 + 128 + 40
	callee := x.callee()
	if code, ok := x.codeAt(callee.Module, callee.Registers.PC(), 2); ok && code[0] == 0x0a && code[1] == sigreturn {
		if at, ok = x.load(sp+168, 8); !ok {
			return false
		}
	}
	slots := x.e.cpu.Slots
	return x.saved(f, at, 8, "pswm", "pswa") && x.saved(f, at+16, 8, slots[:16]...) &&
		x.saved(f, at+16+128+64+8, 8, slots[16:32]...) // behind the access registers and the control of floating point
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
	switch {
	case s.row.Outermost:
		a.Rules = append(a.Rules, RuleValue{Register: "RA", Expr: "undefined"})
		return
	case s.trampoline:
		a.Record.Offset = uint64(fde.Offset) // there is no row
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
