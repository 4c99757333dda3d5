package corefile

import (
	"debug/elf"
	"strconv"
	"strings"

	"github.com/symlint/symlint/unwind/arch"
)

// layout is the elf_gregset_t of a CPU: which slot each of its words is for.
type layout struct {
	machine elf.Machine
	words   []int8 // slot, or -1
}

// gregsets lists the words of pr_reg by slot name; "-" for a word no slot is for, "-*6" for six.
//
// Linux: arch/x86/include/asm/user_{32,64}.h, arch/arm/include/asm/ptrace.h, arch/arm64/include/uapi/asm/ptrace.h,
// arch/mips/include/uapi/asm/reg.h, arch/riscv/include/uapi/asm/ptrace.h, arch/powerpc/include/uapi/asm/ptrace.h,
// arch/s390/include/uapi/asm/ptrace.h.
var gregsets = map[string]struct {
	machine elf.Machine
	words   string
}{
	"x86": {elf.EM_386, "$ebx $ecx $edx $esi $edi $ebp $eax -*5 $eip - $eflags $esp -"},
	"x86_64": {elf.EM_X86_64, "$r15 $r14 $r13 $r12 $rbp $rbx $r11 $r10 $r9 $r8 $rax $rcx $rdx $rsi $rdi - " +
		"$rip - $rflags $rsp -*7"},
	"arm":     {elf.EM_ARM, "r0..r12 sp lr pc cpsr -"},
	"arm64":   {elf.EM_AARCH64, "x0..x30 sp pc cpsr"},
	"mips":    {elf.EM_MIPS, "-*6 " + mipsWords + " -*2 $pc -*4"},
	"mips64":  {elf.EM_MIPS, mipsWords + " -*2 $pc -*10"},
	"riscv":   {elf.EM_RISCV, riscvWords},
	"riscv64": {elf.EM_RISCV, riscvWords},
	"ppc":     {elf.EM_PPC, ppcWords},
	"ppc64":   {elf.EM_PPC64, ppcWords},
	"s390x":   {elf.EM_S390, "pswm pswa r0..r15 -*9"},
}

const (
	mipsWords  = "$zero $at $v0 $v1 $a0..$a3 $t0..$t7 $s0..$s7 $t8 $t9 $k0 $k1 $gp $sp $fp $ra"
	riscvWords = "pc ra sp gp tp t0..t2 s0 s1 a0..a7 s2..s11 t3..t6"
	ppcWords   = "r0..r31 srr0 -*2 ctr lr - cr -*9"
)

var layouts = buildLayouts()

func buildLayouts() map[*arch.CPU]*layout {
	m := make(map[*arch.CPU]*layout)
	for name, g := range gregsets {
		cpu, ok := arch.Lookup(name)
		if !ok {
			panic("corefile: no CPU " + name)
		}
		l := &layout{machine: g.machine}
		for _, word := range expand(g.words) {
			slot := cpu.SlotOf(word)
			if slot < 0 && word != "-" {
				panic("corefile: " + name + " has no register " + word)
			}
			l.words = append(l.words, int8(slot))
		}
		m[cpu] = l
	}
	return m
}

// expand splits a list at blanks and writes out "r0..r3" and "-*3".
func expand(list string) []string {
	var out []string
	for _, w := range strings.Fields(list) {
		if count, ok := strings.CutPrefix(w, "-*"); ok {
			n, _ := strconv.Atoi(count)
			for range n {
				out = append(out, "-")
			}
		} else if first, last, ok := strings.Cut(w, ".."); ok {
			stem := strings.TrimRight(first, "0123456789")
			from, _ := strconv.Atoi(first[len(stem):])
			to, _ := strconv.Atoi(last[len(stem):])
			for n := from; n <= to; n++ {
				out = append(out, stem+strconv.Itoa(n))
			}
		} else {
			out = append(out, w)
		}
	}
	return out
}

// Offsets in elf_prstatus by word size (include/linux/elfcore.h); pr_cursig is at 12 in both.
func prstatusOffsets(word int) (pid, reg int) {
	if word == 8 {
		return 32, 112
	}
	return 24, 72
}

// registers decodes pr_reg as far as b reaches.
func (c *Core) registers(b []byte) arch.Registers {
	r := arch.Registers{CPU: c.CPU}
	for i, slot := range layouts[c.CPU].words {
		if len(b) < (i+1)*c.Word {
			break
		}
		r.Set(int(slot), c.word(b[i*c.Word:]))
	}
	return r
}
