package replay

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// severalFiles is the remedy for stack and frame pointers that are exchanged in more than one symbol file, as they are
// where one producer wrote them all: no change of a single file makes such a walk match. It returns nil if not more
// than one file looks exchanged, if one of them alone makes the difference, or if the walk does not match after all.
func severalFiles(w *unwind.Walker, thread int, s *unwind.Stack, b *Blame, left *budget, matches func(*unwind.Stack) (int, agreement)) *Remedy {
	cpu := s.Frames[0].Registers.CPU
	var files []*target
	right := s
	for more := exchangedFiles(w, s, files); len(more) > 0 && left.spend(); more = exchangedFiles(w, right, files) {
		files = append(files, more...)
		right = clone(w, w.Symbols, exchangeAll(cpu, files)).Walk(thread) // which may get into further files
	}
	if len(files) < 2 {
		return nil
	}
	best := differs // of one file alone
	for i := range files {
		if !left.spend() {
			return nil
		}
		_, how := matches(clone(w, w.Symbols, exchangeAll(cpu, files[i:i+1])).Walk(thread))
		best = max(best, how)
	}
	n, how := matches(right)
	if how <= best {
		return nil
	}
	if b.settle(w, s, right); b.Attempt == nil {
		return nil
	}
	var names []string
	for _, t := range files {
		names = append(names, unwind.BaseName(t.module.CodeFile))
	}
	last := len(names) - 1
	where := "every record of the files of " + strings.Join(names[:last], ", ") + " and " + names[last]
	return &Remedy{
		Kind: "exchange-registers", Text: fmt.Sprintf("exchange %s and %s back in %s", cpu.FP, cpu.SP, where), Rule: "cfi-swapped-frame-stack",
		Module: b.Attempt.Record.Module, Line: b.Line, Scope: where, Frames: n, patch: exchangeAll(cpu, files), surely: how == agrees,
	}
}

// exchangeAll exchanges the registers in all records of some files.
func exchangeAll(cpu *arch.CPU, files []*target) unwind.Patch {
	var patches []unwind.Patch
	for _, t := range files {
		patches = append(patches, t.rewrite(wholeModule, exchange(cpu)))
	}
	return unwind.Patch{CFI: func(m *unwind.Module, symbols *symfile.Symbols, addr uint64, info *symfile.CFI) *symfile.CFI {
		for _, p := range patches {
			info = p.CFI(m, symbols, addr, info)
		}
		return info
	}}
}

// exchangedFiles are the files of a stack, but for those that are known, in which functions begin with the CFA taken
// from the frame pointer, which no calling convention has. One record stands for each.
func exchangedFiles(w *unwind.Walker, s *unwind.Stack, known []*target) []*target {
	var out []*target
	cpu := s.Frames[0].Registers.CPU
	seen := make(map[*unwind.Module]bool)
	for _, t := range known {
		seen[t.module] = true
	}
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Module == nil || seen[f.Module] || cpu.FP == "" || cpu.SP == "" {
			continue
		}
		symbols, err := moduleSymbols(w, f.Module)
		if symbols == nil || err != nil {
			continue
		}
		addr := f.Instruction - f.Module.Base
		info := symbols.CFI(addr)
		if info == nil || len(info.Rows) == 0 {
			continue
		}
		entry := symbols.CFI(info.Addr)
		if entry == nil {
			continue
		}
		cfa, _ := entry.Rule(".cfa")
		shape := postfix.ShapeOf([]byte(cfa.Expr))
		if string(shape.Register([]byte(cfa.Expr))) != cpu.FP {
			continue
		}
		seen[f.Module] = true
		out = append(out, &target{module: f.Module, addr: addr, info: info, row: &info.Rows[len(info.Rows)-1]})
	}
	return out
}

// settle puts the blame on the first frame in which a walk differs from one that is known to be right.
func (b *Blame) settle(w *unwind.Walker, s, right *unwind.Stack) {
	cpu := s.Frames[0].Registers.CPU
	for i := 1; i < len(right.Frames) && i <= len(s.Frames); i++ {
		want := frameRegisters(cpu, &right.Frames[i])
		var register string
		var expected, got uint64
		if i < len(s.Frames) {
			var wrong bool
			if register, expected, got, wrong = wrongRegister(cpu, want, &s.Frames[i]); !wrong {
				if expected, got, wrong = wrongPC(cpu, want, &s.Frames[i]); !wrong {
					continue
				}
				register = "pc"
			}
		}
		attempts := w.Explain(s, i).Attempts
		c := culprit(attempts)
		if c == nil {
			return
		}
		*b = Blame{Frame: i, Register: register, Expected: expected, Got: got, Proven: true, Attempts: attempts, Attempt: c}
		if i == len(s.Frames) {
			b.ended(want)
		}
		b.Line = blamedLine(w, b, cpu)
		return
	}
}

// frameRegisters is a frame of a walk as a reference would tell it.
func frameRegisters(cpu *arch.CPU, f *unwind.Frame) *RefFrame {
	r := &RefFrame{PC: f.Return, HasPC: true, PCKind: PCReturn}
	r.SP, r.HasSP = f.Registers.Get(cpu.Slot.SP)
	for i := range cpu.Slots {
		if v, ok := f.Registers.Get(i); ok {
			r.Registers = append(r.Registers, RefRegister{cpu.SlotName(i), v})
		}
	}
	return r
}
