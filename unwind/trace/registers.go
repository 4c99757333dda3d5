package trace

import (
	"bufio"
	"fmt"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
)

// shown is which registers of a CPU are printed, in order.
type shown struct {
	slots  []int
	labels []string
	// whole: registers that are printed only of a frame that has all.
	whole  int
	digits int
}

var printed = func() map[string]shown {
	out := make(map[string]shown)
	for name, list := range map[string][]string{
		"x86":     {"$eip", "$esp", "$ebp", "$ebx", "$esi", "$edi", "$eax", "$ecx", "$edx", "efl=$eflags"},
		"x86_64":  {"$rax", "$rdx", "$rcx", "$rbx", "$rsi", "$rdi", "$rbp", "$rsp", "$r8", "$r9", "$r10", "$r11", "$r12", "$r13", "$r14", "$r15", "$rip"},
		"arm":     append(numbered("r", 0, 10), "r12", "fp=r11", "sp", "lr", "pc"),
		"arm64":   append(numbered("x", 0, 28), "fp=x29", "lr=x30", "sp", "pc"),
		"mips":    append([]string{"$gp", "$sp", "$fp", "$ra", "$pc"}, numbered("$s", 0, 7)...),
		"mips64":  append([]string{"$gp", "$sp", "$fp", "$ra", "$pc"}, numbered("$s", 0, 7)...),
		"ppc":     {"srr0", "r1"},
		"sparc":   {"sp", "fp", "pc"},
		"riscv":   riscv(),
		"riscv64": riscv(),
		"s390x":   append(numbered("r", 0, 15), "pswa"), // the reference has no s390x
	} {
		cpu, ok := arch.Lookup(name)
		if !ok {
			panic("trace: no CPU " + name)
		}
		s := shown{digits: 2 * cpu.Word, whole: len(list)}
		if name == "x86" {
			s.whole = 6
		}
		if name == "mips" {
			s.digits = 16
		}
		for _, r := range list {
			label, slot := r, r
			for i := range r {
				if r[i] == '=' {
					label, slot = r[:i], r[i+1:]
				}
			}
			if label[0] == '$' {
				label = label[1:]
			}
			s.slots = append(s.slots, cpu.SlotOf(slot))
			s.labels = append(s.labels, label)
		}
		out[name] = s
	}
	return out
}()

func numbered(stem string, from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprint(stem, i))
	}
	return out
}

func riscv() []string {
	out := append([]string{"pc", "ra", "sp", "gp", "tp"}, numbered("t", 0, 2)...)
	out = append(out, "s0", "s1")
	out = append(out, numbered("a", 0, 7)...)
	out = append(out, numbered("s", 2, 11)...)
	return append(out, numbered("t", 3, 6)...)
}

// maxLine is the width that lines of registers are broken at.
const maxLine = 80

// registers prints the registers that have a value.
func registers(w *bufio.Writer, f *unwind.Frame) {
	if f.Registers.CPU == nil {
		return
	}
	s := printed[f.Registers.CPU.Name]
	column := 0
	for i, slot := range s.slots {
		v, ok := f.Registers.Get(slot)
		if !ok || i >= s.whole && f.Trust != unwind.TrustContext {
			continue
		}
		text := fmt.Sprintf(" %5s = 0x%0*x", s.labels[i], s.digits, v)
		if column+len(text) > maxLine {
			fmt.Fprint(w, "\n ")
			column = 0
		}
		fmt.Fprint(w, text)
		column += len(text)
	}
}
