package replay

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/symfile"
)

// winTrials are the remedies for a STACK WIN record that was in force at an address.
func winTrials(m *unwind.Module, s *symfile.Symbols, addr uint64) []trial {
	record, ok := s.Win(addr)
	if !ok {
		return nil
	}
	patch := func(change func(w *symfile.Win) bool) unwind.Patch {
		return unwind.Patch{Win: func(in *unwind.Module, _ uint64, w symfile.Win, ok bool) (symfile.Win, bool) {
			if in != m || !ok || w.Line != record.Line {
				return w, ok
			}
			keep := change(&w)
			return w, keep
		}}
	}
	var out []trial
	add := func(kind, rule, text string, change func(w *symfile.Win)) {
		out = append(out, trial{
			Kind: kind, Rule: rule, Text: text, Line: record.Line, Scope: scopeTexts[oneRow],
			patch: patch(func(w *symfile.Win) bool { change(w); return true }),
		})
	}
	if record.Program != "" {
		swapped := swapWords(record.Program, "$ebp", "$esp")
		add("exchange-registers", "win-program", "exchange $ebp and $esp in the program", func(w *symfile.Win) { w.Program = swapped })
		for _, program := range programs {
			if program != record.Program {
				add("program", "win-program", "write the program "+program, func(w *symfile.Win) { w.Program = program })
			}
		}
		if fixed := withDerefs(record.Program); fixed != record.Program {
			add("program", "win-program", "write the program "+fixed, func(w *symfile.Win) { w.Program = fixed })
		}
	}
	for _, k := range [...]int{1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6, 7, -7, 8, -8} {
		by := func(v uint64) uint64 { return uint64(int64(v) + int64(4*k)) }
		if int64(record.ParamSize)+int64(4*k) >= 0 {
			v := uint32(by(uint64(record.ParamSize)))
			add("parameter-size", "win-param-size", fmt.Sprintf("write 0x%x bytes of parameters instead of 0x%x", v, record.ParamSize),
				func(w *symfile.Win) { w.ParamSize = v })
		}
		if !record.ParamOnly && int64(record.SavedRegs)+int64(4*k) >= 0 {
			v := by(record.SavedRegs)
			add("saved-registers", "", fmt.Sprintf("write 0x%x bytes of saved registers instead of 0x%x", v, record.SavedRegs),
				func(w *symfile.Win) { w.SavedRegs = v })
		}
		if !record.ParamOnly && int64(record.Locals)+int64(4*k) >= 0 {
			v := by(record.Locals)
			add("locals", "", fmt.Sprintf("write 0x%x bytes of locals instead of 0x%x", v, record.Locals), func(w *symfile.Win) { w.Locals = v })
		}
	}
	if record.Program == "" && !record.ParamOnly {
		add("base-pointer-flag", "", "turn the flag for the base pointer round", func(w *symfile.Win) {
			w.AllocatesBasePointer = !w.AllocatesBasePointer
		})
	}
	out = append(out, trial{
		Kind: "drop-record", Text: "remove this record: the walk is right without", Line: record.Line, Scope: scopeTexts[oneRow],
		patch: patch(func(*symfile.Win) bool { return false }),
	})
	return out
}

// programs are the ones that compilers write for frames with a base pointer and without.
var programs = [...]string{
	"$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =",
	"$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =",
}

// withDerefs adds a dereference to the assignments of registers that lack one.
func withDerefs(program string) string {
	return strings.ReplaceAll(program, "+ =", "+ ^ =")
}
