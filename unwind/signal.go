package unwind

import "bytes"

// trampoline is a way to return from a signal handler: where the kernel saved the interrupted registers, seen from the
// stack pointer at the first instruction of the code that calls sigreturn.
type trampoline uint8

const (
	noTrampoline trampoline = iota
	sigreturn               // without siginfo: i386 and arm
	rtSigreturn
)

// trampolineNames are the functions that call sigreturn, in libc and the vDSO.
var trampolineNames = map[string]trampoline{
	"__restore_rt": rtSigreturn, "__restore": sigreturn, "__kernel_rt_sigreturn": rtSigreturn,
	"__kernel_sigreturn": sigreturn, "__default_rt_sa_restorer": rtSigreturn, "__default_sa_restorer": sigreturn,
	"__vdso_rt_sigreturn": rtSigreturn, "__kernel_sigtramp_rt64": rtSigreturn,
}

// maxTrampoline bounds how far behind its name a trampoline's code may begin, in bytes.
const maxTrampoline = 4

// code of trampolines at the address that handlers return to.
var trampolineCode = map[kind][]struct {
	code []byte
	kind trampoline
}{
	kindAMD64: {{[]byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, rtSigreturn}}, // mov $15,%rax; syscall
	kindX86: {
		{[]byte{0x58, 0xb8, 0x77, 0, 0, 0}, sigreturn}, // pop %eax; mov $119,%eax
		{[]byte{0xb8, 0xad, 0, 0, 0}, rtSigreturn},     // mov $173,%eax
	},
	kindARM64: {{[]byte{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}, rtSigreturn}}, // mov x8,#139; svc #0
	kindARM: {
		{[]byte{0x77, 0x70, 0xa0, 0xe3}, sigreturn},   // mov r7,#119
		{[]byte{0xad, 0x70, 0xa0, 0xe3}, rtSigreturn}, // mov r7,#173
		{[]byte{0x77, 0x27}, sigreturn},               // movs r7,#119
		{[]byte{0xad, 0x27}, rtSigreturn},             // movs r7,#173
	},
	kindS390:  {{[]byte{0x0a, 0xad}, rtSigreturn}, {[]byte{0x0a, 0x77}, sigreturn}}, // svc 173, svc 119
	kindRISCV: {{[]byte{0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0}, rtSigreturn}},       // li a7,139; ecall
}

// trampolineAt recognises a frame that is a signal trampoline: by its name, its code, or by call frame information
// that gives the return address but no CFA, which is all that dump_syms can write of the expressions there.
func (x *walk) trampolineAt(f *Frame) trampoline {
	if x.leafLike(f) {
		return noTrampoline
	}
	pc := f.Registers.PC()
	for _, t := range trampolineCode[x.e.kind] {
		if b, ok := x.codeAt(f.Module, pc, len(t.code)); ok && bytes.Equal(b, t.code) {
			return t.kind
		}
	}
	if f.Module == nil {
		return noTrampoline
	}
	if ms := x.symbols.of(f.Module); ms != nil && ms.symbols != nil {
		// What matters is the name of the instruction returned to, not of the one before it.
		if r := ms.lookup(pc - f.Module.Base); r.ok && pc-f.Module.Base-r.frames.Base < maxTrampoline {
			if t, ok := trampolineNames[r.frames.Name]; ok {
				return t
			}
		}
	}
	if e := x.cfiAt(f); e != nil && x.e.kind == kindAMD64 && e.rules.CFA == nil && e.rules.RA != nil && e.rules.RA.Text == x.e.cpu.PC {
		return rtSigreturn
	}
	return noTrampoline
}

func (x *walk) codeAt(m *Module, pc uint64, n int) ([]byte, bool) {
	if x.Process.Memory != nil {
		if b, ok := x.Process.Memory.Bytes(pc, n); ok {
			return b, true
		}
	}
	if m == nil {
		return nil, false
	}
	return x.imageBytes(m, pc, n)
}

// bySignal restores the registers that a signal interrupted from the frame the kernel built on the stack.
// The layouts are those of struct rt_sigframe and ucontext in the kernel's arch/*/include/uapi/asm.
func (x *walk) bySignal(f *Frame) bool {
	if x.Process.System.OSShort != "linux" && x.Process.System.OSShort != "android" && x.Process.System.OSShort != "" {
		return false
	}
	callee := x.callee()
	t := x.trampolineAt(callee)
	if t == noTrampoline {
		return false
	}
	restore(f, x.e.cpu)
	sp := callee.Registers.SP()
	ok := false
	switch x.e.kind {
	case kindAMD64:
		ok = x.savedAMD64(f, sp)
	case kindX86:
		ok = x.savedX86(f, sp, t)
	case kindARM64:
		ok = x.savedARM64(f, sp)
	case kindARM:
		ok = x.savedARM(f, sp, t)
	case kindRISCV:
		ok = x.savedRISCV(f, sp)
	case kindS390:
		ok = x.savedS390(f, sp)
	}
	if !ok {
		if x.trace != nil {
			x.trace.why("the registers saved by the kernel cannot be read")
		}
		return false
	}
	// A saved stack pointer that nothing is known of is no context.
	_, readable := x.load(f.Registers.SP(), x.e.word)
	return readable || x.Process.Modules.At(f.Registers.PC()) != nil
}

// saved reads registers that lie one behind the other; "" skips a place.
func (x *walk) saved(f *Frame, at uint64, size int, names ...string) bool {
	for _, name := range names {
		v, ok := x.load(at, size)
		if !ok {
			return false
		}
		if name != "" {
			f.Registers.Set(x.e.cpu.SlotOf(name), v)
		}
		at += uint64(size)
	}
	return true
}

// uc_flags and uc_link 16, uc_stack 24, then struct sigcontext.
func (x *walk) savedAMD64(f *Frame, sp uint64) bool {
	return x.saved(f, sp+40, 8, "$r8", "$r9", "$r10", "$r11", "$r12", "$r13", "$r14", "$r15", "$rdi", "$rsi", "$rbp", "$rbx",
		"$rdx", "$rax", "$rcx", "$rsp", "$rip", "$rflags")
}

func (x *walk) savedX86(f *Frame, sp uint64, t trampoline) bool {
	at := sp + 4 // behind the signal number
	if t == rtSigreturn {
		uc, ok := x.load(sp+8, 4) // behind the number and the pointer to siginfo
		if !ok {
			return false
		}
		at = uc + 20 // uc_flags, uc_link 8, uc_stack 12
	}
	return x.saved(f, at, 4, "", "", "", "", "$edi", "$esi", "$ebp", "$esp", "$ebx", "$edx", "$ecx", "$eax", "", "", "$eip", "", "$eflags")
}

// siginfo 128; uc_flags and uc_link 16, uc_stack 24, uc_sigmask 128, rounded up to 16; fault address 8.
func (x *walk) savedARM64(f *Frame, sp uint64) bool {
	at := sp + 128 + 176 + 8
	return x.saved(f, at, 8, x.e.cpu.Slots[:33]...)
}

func (x *walk) savedARM(f *Frame, sp uint64, t trampoline) bool {
	at := sp + 20 + 12 // uc_flags, uc_link 8, uc_stack 12; trap number, error code, old mask 12
	if t == rtSigreturn {
		at += 128 // siginfo
	}
	return x.saved(f, at, 4, x.e.cpu.Slots[:17]...)
}

func (x *walk) savedRISCV(f *Frame, sp uint64) bool {
	if x.e.word != 8 {
		return false
	}
	return x.saved(f, sp+128+176, 8, x.e.cpu.Slots...)
}
