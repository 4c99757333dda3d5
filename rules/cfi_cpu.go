package rules

import (
	"bytes"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// cfiCPU is what the unwind rules need of a CPU, with its general registers numbered for cfiState.
type cfiCPU struct {
	arch    *arch.CPU // nil if the MODULE record names none and the rules show none
	guessed bool      // from the registers in the rules, the MODULE record being of no help
	word    int
	windows bool

	sp, fp, lr int32 // numbers; -1 = none
	entryCFA   int32
	returnSlot int32 // below the CFA; 0 = link register
	redZone    int32 // bytes below the stack pointer that a function may use
	jumps      bool  // instructions are one byte and more, so that rows can be held against their length

	names    []string
	saved    [maxTracked]bool // callee-saved
	volatile [maxTracked]bool // lost in every frame but the first, the link register aside
}

// cpuOf returns the CPU of the module that a pass is about.
func cpuOf(p *lint.Pass) *cfiCPU {
	a, ok := arch.Lookup(p.Module.Arch)
	guessed := false
	if !ok || !a.HasCFI() {
		a, guessed = guessCPU(p.Data), true
	}
	c := &cfiCPU{arch: a, guessed: guessed, word: 8, sp: -1, fp: -1, lr: -1, windows: p.Module.OS == "windows" || p.Module.OS == "Windows"}
	if a == nil {
		return c
	}
	c.word = a.Word
	c.entryCFA, c.returnSlot = int32(a.EntryCFA), int32(a.ReturnSlot)
	c.jumps = a.ReturnSlot != 0 && !c.windows
	if a.Name == "x86_64" && !c.windows {
		c.redZone = 128 // System V psABI, section 3.2.2
	}
	abi := arch.SavedABI | arch.SavedBreakpad | arch.SavedRust
	if c.windows {
		abi |= arch.SavedWindows
	}
	for i := range a.Regs {
		r := &a.Regs[i]
		if r.Class != arch.General || len(c.names) == maxTracked {
			continue
		}
		n := len(c.names)
		c.names = append(c.names, r.Name)
		c.saved[n] = r.Saved&abi != 0
		c.volatile[n] = a.IsCallerSaved(r.Name) && !c.saved[n] && r.Name != a.LR
		switch r.Name {
		case a.SP:
			c.sp = int32(n)
		case a.FP:
			c.fp = int32(n)
		case a.LR:
			c.lr = int32(n)
		}
	}
	return c
}

// guessCPU looks at the registers of the first unwind rules.
func guessCPU(data []byte) *arch.CPU {
	i := bytes.Index(data, []byte("STACK CFI INIT "))
	if i < 0 {
		return nil
	}
	var s symfile.Scanner
	s.Reset(data, i, len(data), 1)
	for n := 0; n < 32 && s.Next(); n++ {
		r := s.Record()
		if r.Kind != symfile.StackCFIInit {
			continue
		}
		text := data[r.Text.Off:r.Text.End]
		for _, g := range [...]struct{ reg, cpu string }{
			{"$rsp", "x86_64"}, {"$rbp", "x86_64"}, {"$esp", "x86"}, {"$ebp", "x86"}, {"$ra", "mips"}, {"x30", "arm64"}, {"x29", "arm64"},
			{" lr", "arm"}, {"r11", "arm"}, {".ra: ra", "riscv64"},
		} {
			if bytes.Contains(text, []byte(g.reg)) {
				c, _ := arch.Lookup(g.cpu)
				return c
			}
		}
	}
	return nil
}

// literalWord is the word by which literals are judged, in bytes: the larger one where dump_syms gives CPUs of both sizes
// the same name.
func (c *cfiCPU) literalWord() int {
	if c.arch != nil && c.arch.Wide != "" {
		return 8
	}
	return c.word
}

// known reports whether names can be judged at all.
func (c *cfiCPU) known() bool { return c.arch != nil }

// target returns the number of a register, or a pseudo register.
func (c *cfiCPU) target(name []byte) int {
	if len(name) > 0 && name[0] == '.' {
		switch string(name) {
		case ".cfa":
			return regCFA
		case ".ra":
			return regRA
		}
		return regOther
	}
	if c.arch == nil {
		return regOther
	}
	i := c.arch.Index(name)
	if i < 0 || c.arch.Regs[i].Class != arch.General {
		return regOther
	}
	return c.number(c.arch.Regs[i].Name)
}

func (c *cfiCPU) number(name string) int {
	for i, n := range c.names {
		if n == name {
			return i
		}
	}
	return regOther
}

// named reports whether the name is one that dump_syms writes for the CPU, a vector register for example.
func (c *cfiCPU) named(name []byte) bool { return c.arch != nil && c.arch.Index(name) >= 0 }

// name is the spelling of a register number.
func (c *cfiCPU) name(reg int8) string {
	switch {
	case reg == regCFA:
		return ".cfa"
	case reg == regRA:
		return ".ra"
	case int(reg) < len(c.names) && reg >= 0:
		return c.names[reg]
	}
	return "?"
}
