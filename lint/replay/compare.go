package replay

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
)

// compare holds a frame of the reference against one of the walk, and returns what differs. What it tolerated is in
// x.pending.
func (x *aligner) compare(g group, fi int) *Divergence {
	x.pending = x.pending[:0]
	fields := x.o.Fields
	pc := x.comparePC(g, fi)
	if pc.known && !pc.equal && fields.Has(FieldPC) {
		return x.divergence(g, fi, -1, "pc")
	}
	if fields.Has(FieldModule) && !x.sameModule(g, fi) {
		return x.divergence(g, fi, -1, "module")
	}
	if fields.Has(FieldFunction) {
		if ri, inline, ok := x.sameFunctions(g, fi, pc.known && pc.equal); !ok {
			return x.divergenceAt(ri, fi, inline, "function")
		}
	}
	if fields.Has(FieldLine) {
		if ri, inline, ok := x.sameLines(g, fi); !ok {
			return x.divergenceAt(ri, fi, inline, "line")
		}
	}
	return x.compareRegisters(g, fi)
}

func (x *aligner) divergence(g group, fi, inline int, field string) *Divergence {
	return x.divergenceAt(g.physical(), fi, inline, field)
}

func (x *aligner) divergenceAt(ri, fi, inline int, field string) *Divergence {
	r := &x.frames[ri]
	return &Divergence{
		Ref: r, RefIndex: ri, Frame: fi, Inline: inline, Field: field, Expected: r.String(), Got: FrameText(x.stack, fi, inline),
	}
}

// compareRegisters compares the fields that only the frame itself has.
func (x *aligner) compareRegisters(g group, fi int) *Divergence {
	r, f := &x.frames[g.physical()], &x.stack.Frames[fi]
	fields := x.o.Fields
	differs := func(field, expected, got string) *Divergence {
		d := x.divergence(g, fi, -1, field)
		d.Expected, d.Got = expected, got
		return d
	}
	cpu := f.Registers.CPU
	if cpu == nil {
		return nil
	}
	if sp, ok := f.Registers.Get(cpu.Slot.SP); ok && fields.Has(FieldSP) && r.HasSP && sp != r.SP {
		return differs("sp", hex(r.SP), hex(sp))
	}
	if fields.Has(FieldTrust) && r.Trust != "" {
		if trust := trustOf(f.Trust); trust != r.Trust {
			return differs("trust", r.Trust, trust)
		}
	}
	if !fields.Has(FieldRegisters) {
		return nil
	}
	for _, reg := range r.Registers {
		slot := slotOf(cpu, reg.Name)
		v, ok := f.Registers.Get(slot)
		if !ok || v == reg.Value || slot == cpu.Slot.PC && x.samePC(reg.Value, PCRegister, f, g.first > 0, nil) {
			continue
		}
		return differs("registers", reg.Name+" = "+hex(reg.Value), reg.Name+" = "+hex(v))
	}
	return nil
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

// slotOf finds a register by the name that a reference has for it.
func slotOf(cpu *arch.CPU, name string) int {
	switch name {
	case "efl", "eflags":
		name = "$" + name[:3] + "ags"
		if cpu.Name == "x86_64" {
			name = "$rflags"
		}
	case "fp", "lr":
		slot := cpu.Slot.FP
		if name == "lr" {
			slot = cpu.Slot.LR
		}
		if cpu.Name == "arm" || cpu.Name == "arm64" {
			return slot
		}
	}
	if slot := cpu.SlotOf("$" + name); slot >= 0 {
		return slot
	}
	return cpu.SlotOf(name)
}

// trustOf is the name that TrustName has for a level.
func trustOf(t unwind.Trust) string { return TrustName(t.String()) }

// verdict is whether something is known to be equal.
type verdict struct{ known, equal bool }

// comparePC compares the addresses of a frame: the program counter, else an offset from what both sides know.
func (x *aligner) comparePC(g group, fi int) verdict {
	r, f := &x.frames[g.physical()], &x.stack.Frames[fi]
	outer := g.first > 0
	if r.HasPC {
		return verdict{true, x.samePC(r.PC, r.PCKind, f, outer, x.noter(g, fi))}
	}
	pc, kind, ok := x.address(r, f)
	if !ok {
		return verdict{}
	}
	return verdict{true, x.samePC(pc, kind, f, outer, x.noter(g, fi))}
}

func (x *aligner) noter(g group, fi int) func(what, text string) {
	return func(what, text string) { x.tolerate(what, g.physical(), fi, "%s", text) }
}

// address is the address that a frame's offsets mean, seen from the walk's frame.
func (x *aligner) address(r *RefFrame, f *unwind.Frame) (addr uint64, kind PCKind, ok bool) {
	kind = r.OffsetKind
	switch {
	case r.HasModuleOffset && f.Module != nil && (r.Module == "" || sameModuleName(r.Module, f.Module)):
		return f.Module.Base + r.ModuleOffset, kind, true
	case r.HasFunctionOffset && f.Function != "" && SameFunction(r.Function, f.Function):
		return f.FunctionBase + r.FunctionOffset, kind, true
	case r.HasLineOffset && f.File != "" && SameFunction(r.Function, f.Function) && samePosition(r, f.File, f.Line):
		return f.LineBase + r.LineOffset, kind, true
	}
	return 0, 0, false
}

// samePC compares an address of the reference with a frame. note, if not nil, is told what is tolerated.
func (x *aligner) samePC(pc uint64, kind PCKind, f *unwind.Frame, outer bool, note func(what, text string)) bool {
	cpu := f.Registers.CPU
	if cpu == nil {
		return pc == f.Instruction
	}
	mine := f.Return
	switch kind {
	case PCPrinted:
		mine = f.ReturnAddress()
	case PCInstruction:
		mine = f.Instruction
	case PCRegister:
		mine = f.Registers.PC()
	}
	if pc == mine || kind == PCRegister && pc == f.Instruction && (cpu.Name == "mips" || cpu.Name == "mips64") {
		return true
	}
	say := func(what, text string) {
		if note != nil {
			note(what, text)
		}
	}
	switch cpu.Name {
	case "arm":
		if pc&^1 == mine&^1 {
			say("pointer-bits", "the addresses differ in the Thumb bit")
			return true
		}
	case "arm64":
		const address = 1<<48 - 1
		if pc&address == mine&address && (pc == pc&address || mine == mine&address) {
			say("pointer-bits", "the addresses differ in the bits of a signature")
			return true
		}
	}
	if !outer || kind == PCReturn {
		return false
	}
	// How far before the return address a call is thought to be differs between tools on MIPS, and a frame that was
	// interrupted may have been taken for a calling one.
	if f.Signal || cpu.Name == "mips64" {
		for _, n := range callSizes(cpu.Name) {
			if kind != PCRegister && pc+n == f.Return || cpu.Name == "mips64" && pc+n == f.Return {
				say("address-kind", "the reference tells the address of a call")
				return true
			}
		}
	}
	return false
}

// callSizes are the distances from a return address back to the address that symbols are looked up with.
func callSizes(cpu string) []uint64 {
	switch cpu {
	case "x86", "x86_64", "s390x":
		return []uint64{1}
	case "arm":
		return []uint64{2}
	case "arm64", "riscv", "riscv64", "ppc":
		return []uint64{4}
	case "mips64":
		return []uint64{8, 16}
	}
	return []uint64{8}
}

func (x *aligner) sameModule(g group, fi int) bool {
	r, f := &x.frames[g.physical()], &x.stack.Frames[fi]
	m := f.Module
	if m != nil && x.ref.Format == FormatJSON && x.process != nil && x.process.Modules.At(f.Instruction) == nil {
		m = nil // JSON tells unloaded modules apart
	}
	switch {
	case r.Module == "" && m == nil:
		return true
	case r.Module == "":
		if x.ref.Format.Stackwalk() {
			return false
		}
		x.tolerate("no-module", g.physical(), fi, "the reference does not tell the module")
		return true
	case m == nil:
		return false
	case sameModuleName(r.Module, m):
		return true
	}
	// Another name for what is mapped at the same address.
	base, ok := x.moduleBase(r)
	if !ok || base != m.Base {
		return false
	}
	x.tolerate("module-name", g.physical(), fi, "the module is %s here", baseName(m.CodeFile))
	return true
}

// moduleBase is where a reference says that the module of a frame begins.
func (x *aligner) moduleBase(r *RefFrame) (uint64, bool) {
	if r.HasModuleOffset && r.HasPC && r.PCKind == r.OffsetKind {
		return r.PC - r.ModuleOffset, true
	}
	for i := range x.ref.Modules {
		if m := &x.ref.Modules[i]; m.Name == r.Module && (!r.HasPC || r.PC-m.Base <= m.End-m.Base) {
			return m.Base, true
		}
	}
	return 0, false
}

// sameModuleName compares a name with all that a module has.
func sameModuleName(name string, m *unwind.Module) bool {
	for _, n := range [...]string{m.CodeFile, m.Path, m.DebugFile} {
		if n != "" && strings.EqualFold(name, baseName(n)) {
			return true
		}
	}
	for _, n := range m.Alternates {
		if name == n {
			return true
		}
	}
	return isVDSO(name) && isVDSO(baseName(m.CodeFile))
}

// isVDSO reports whether a name is one of those that the kernel's library goes by.
func isVDSO(name string) bool {
	return strings.HasPrefix(name, "linux-gate.so") || strings.HasPrefix(name, "linux-vdso") || name == "[vdso]" ||
		strings.HasPrefix(name, "system-supplied DSO")
}

// sameFunctions compares the function and the calls inlined into it. Where they differ it returns the reference's frame
// and the index of the walk's inlined call, -1 for the function.
func (x *aligner) sameFunctions(g group, fi int, pcEqual bool) (ri, inline int, ok bool) {
	f := &x.stack.Frames[fi]
	ri = g.physical()
	if !x.sameFunction(&x.frames[ri], ri, fi, f, f.Function, f.FunctionBase, pcEqual) {
		return ri, -1, false
	}
	n, m := ri-g.first, len(f.Inlines)
	switch {
	case n == 0 && m == 0:
		return ri, -1, true
	case n == m:
		for k := range n {
			if !x.sameFunction(&x.frames[g.first+k], g.first+k, fi, f, f.Inlines[k].Name, 0, pcEqual) {
				return g.first + k, k, false
			}
		}
		return ri, -1, true
	case n > 0 && m > 0:
		// The shorter list must be part of the longer one.
		long, short, name := n, m, func(k int) string { return f.Inlines[k].Name }
		other := func(k int) string { return x.frames[g.first+k].Function }
		if m > n {
			long, short, name, other = m, n, other, name
		}
		k := 0
		for i := 0; i < long && k < short; i++ {
			if aliasOf(other(i), name(k)) {
				k++
			}
		}
		if k < short {
			return g.first, 0, false
		}
	}
	x.tolerate("inline", g.first, fi, "the reference has %d inlined calls here, the walk %d", n, m)
	return ri, -1, true
}

// sameFunction compares a function or an inlined call. base is where the walk's function begins, 0 of an inlined call.
func (x *aligner) sameFunction(r *RefFrame, ri, fi int, f *unwind.Frame, name string, base uint64, pcEqual bool) bool {
	switch {
	case r.Signal:
		if r.Function != "" && name != "" && !aliasOf(r.Function, name) {
			x.tolerate("signal-frame", ri, fi, "the trampoline is %s here", name)
		}
		return true
	case r.Function == "" && name == "" || r.Function == name:
		return true
	case r.Function == "":
		x.tolerate("no-function", ri, fi, "the reference does not know the function, which is %s here", name)
		return true
	case name == "" && !f.HasSymbols:
		x.tolerate("no-symbols", ri, fi, "there are no symbols for %s", r)
		return true
	case name == "":
		x.tolerate("no-function", ri, fi, "the symbols have no function at %s", r)
		return true
	case SameFunction(r.Function, name):
		return true
	case !pcEqual:
		return false
	case aliasOf(r.Function, name):
	case base != 0 && x.sameStart(r, f, base):
	default:
		return false
	}
	x.tolerate("alias", ri, fi, "%s is %s here", r.Function, name)
	return true
}

// sameStart reports whether a reference's function begins where the walk's does.
func (x *aligner) sameStart(r *RefFrame, f *unwind.Frame, base uint64) bool {
	if !r.HasFunctionOffset {
		return false
	}
	switch r.OffsetKind {
	case PCInstruction:
		return f.Instruction-r.FunctionOffset == base
	case PCPrinted:
		return f.ReturnAddress()-r.FunctionOffset == base
	}
	return f.Return-r.FunctionOffset == base
}

// sameLines compares the innermost source position of a frame, and those of the calls around it if both sides have the
// same ones.
func (x *aligner) sameLines(g group, fi int) (ri, inline int, ok bool) {
	f := &x.stack.Frames[fi]
	n, m := g.physical()-g.first, len(f.Inlines)
	count := 1
	if n == m {
		count = n + 1
	}
	for k := range count {
		r := &x.frames[g.first+k]
		file, line, inline := f.File, f.Line, -1
		if k < m {
			file, line, inline = f.Inlines[k].File, f.Inlines[k].Number, k
		}
		switch {
		case r.File == "" && file == "", r.Signal:
		case r.File == "" || file == "":
			x.tolerate("no-line", g.first+k, fi, "only one side knows the source line")
		case r.SrcLine == 0 || line == 0:
			if !strings.EqualFold(baseName(r.File), baseName(file)) {
				return g.first + k, inline, false
			}
			x.tolerate("no-line", g.first+k, fi, "only one side knows the source line")
		case !samePosition(r, file, line):
			return g.first + k, inline, false
		}
	}
	return g.physical(), -1, true
}
