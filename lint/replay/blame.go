package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// Blame is the record that the first wrong frame of a thread came from.
type Blame struct {
	// Frame is the index in Stack.Frames of the first frame with a wrong value; the record belongs to the frame below
	// it, Frame-1. It may lie before the divergence: a register can be wrong long before it is used.
	Frame int
	// Register came out wrong: "pc", "sp", another register, or "" if the reference does not tell.
	Register      string
	Expected, Got uint64
	// Proven: Expected is not the reference's word but that of the walk which matches it with the remedy.
	Proven bool
	// Attempts are the techniques tried in the frame below, the last of them the one that was believed.
	Attempts []unwind.Attempt
	// Attempt is the one whose record is to blame, nil if no record is.
	Attempt *unwind.Attempt
	// Symbol is the record that names the frame itself, where that is in its place and only its function or source line
	// differs. Then no unwind record is to blame, and Frame and Module are those of the frame with the wrong name.
	Symbol *symfile.Symbol
	Module *unwind.Module
	// Line is the line of the symbol file to look at: that of the rule that gave the wrong value where it is known.
	Line int
	// certain: Line is a record that the reader could not use.
	certain bool
}

// blame finds the record that a divergence came from.
func blame(w *unwind.Walker, ref *RefThread, s *unwind.Stack, a *Alignment) *Blame {
	b := &Blame{Frame: a.First.Frame}
	cpu := s.Frames[0].Registers.CPU
	for _, p := range a.Pairs {
		if p.Frame == 0 || p.Frame >= b.Frame {
			continue
		}
		if reg, want, got, ok := wrongRegister(cpu, &ref.Frames[p.Ref], &s.Frames[p.Frame]); ok {
			b.Frame, b.Register, b.Expected, b.Got = p.Frame, reg, want, got
			break
		}
	}
	if b.Register == "" && a.First.Ref != nil && b.Frame > 0 && b.Frame < len(s.Frames) {
		r, f := a.First.Ref, &s.Frames[b.Frame]
		if reg, want, got, ok := wrongRegister(cpu, r, f); ok {
			b.Register, b.Expected, b.Got = reg, want, got
		} else if want, got, ok := wrongPC(cpu, r, f); ok {
			b.Register, b.Expected, b.Got = "pc", want, got
		}
	}
	if b.Register == "" && b.misnamed(w, s, a.First) || b.Frame == 0 {
		return b
	}
	b.Attempts = w.Explain(s, b.Frame).Attempts
	b.Attempt = culprit(b.Attempts)
	if b.Attempt != nil {
		if b.Register == "" && a.First.Ref != nil && b.Frame == len(s.Frames) {
			b.ended(a.First.Ref)
		}
		b.Line = blamedLine(w, b, cpu)
	}
	return b
}

// misnamed finds the record that gives a frame its name, where that is all that differs.
func (b *Blame) misnamed(w *unwind.Walker, s *unwind.Stack, d *Divergence) bool {
	if d.Field != "function" && d.Field != "line" || d.Ref == nil || !d.Ref.HasPC || b.Frame >= len(s.Frames) {
		return false
	}
	f := &s.Frames[b.Frame]
	if f.Module == nil || !f.HasSymbols {
		return false
	}
	symbols, err := moduleSymbols(w, f.Module)
	if symbols == nil || err != nil {
		return false
	}
	name, ok := symbols.Symbol(f.Instruction - f.Module.Base)
	if !ok {
		return false
	}
	b.Symbol, b.Module, b.Line = &name, f.Module, name.Line
	return true
}

// wrongRegister compares what both sides know of a frame's registers. The stack pointer comes first: it is the CFA, on
// which the others depend.
func wrongRegister(cpu *arch.CPU, r *RefFrame, f *unwind.Frame) (name string, want, got uint64, wrong bool) {
	if r.Inline || r.TailCall {
		return "", 0, 0, false
	}
	if got, ok := f.Registers.Get(cpu.Slot.SP); r.HasSP && ok && got != r.SP {
		return "sp", r.SP, got, true
	}
	for _, x := range r.Registers {
		slot := registerSlot(cpu, x.Name)
		if slot == cpu.Slot.PC || slot == cpu.Slot.SP {
			continue
		}
		if got, ok := f.Registers.Get(slot); ok && got != x.Value {
			return cpu.SlotName(slot), x.Value, got, true
		}
	}
	return "", 0, 0, false
}

// wrongPC compares the program counters of both sides: the registers as they are where the reference tells them.
func wrongPC(cpu *arch.CPU, r *RefFrame, f *unwind.Frame) (want, got uint64, wrong bool) {
	for _, x := range r.Registers {
		if registerSlot(cpu, x.Name) == cpu.Slot.PC {
			return x.Value, f.Registers.PC(), x.Value != f.Registers.PC()
		}
	}
	return r.PC, f.Return, r.HasPC && r.PC != f.Return
}

// ended tells what is wrong of a step that was taken but not believed, or not finished: the values that the rules
// evaluated to, against the frame that the reference has there.
func (b *Blame) ended(r *RefFrame) {
	for _, rule := range b.Attempt.Rules {
		switch {
		case rule.Fault != "":
		case rule.Register == ".cfa" && r.HasSP && rule.Value != r.SP:
			b.Register, b.Expected, b.Got = "sp", r.SP, rule.Value
			return
		case rule.Register == ".ra" && r.HasPC && rule.Value != r.PC:
			b.Register, b.Expected, b.Got = "pc", r.PC, rule.Value
			return
		}
	}
}

// registerSlot finds a register by the name that a trace gives it, with or without '$'.
func registerSlot(cpu *arch.CPU, name string) int {
	for _, n := range [...]string{name, "$" + name} {
		if slot := cpu.SlotOf(n); slot >= 0 {
			return slot
		}
	}
	switch name {
	case "fp":
		return cpu.Slot.FP
	case "lr":
		return cpu.Slot.LR
	}
	return -1
}

// culprit picks the attempt whose record is to blame: the one that was believed, else the first with a record.
func culprit(attempts []unwind.Attempt) *unwind.Attempt {
	for i := range attempts {
		if attempts[i].Found && attempts[i].Record != nil {
			return &attempts[i]
		}
	}
	for i := range attempts {
		if r := attempts[i].Record; r != nil && r.Kind != "FUNC" {
			return &attempts[i]
		}
	}
	return nil
}

// blamedLine is the line of the rule that gave the wrong value, or of the last record in force.
func blamedLine(w *unwind.Walker, b *Blame, cpu *arch.CPU) int {
	if line := unreadable(w, b.Attempt.Record); line > 0 {
		b.certain = true
		return line
	}
	line := func(names ...string) int {
		for _, r := range b.Attempt.Rules {
			if slices.Contains(names, r.Register) && r.Line > 0 {
				return r.Line
			}
		}
		return 0
	}
	for _, r := range b.Attempt.Rules {
		if r.Fault != "" && !b.Attempt.Found && r.Line > 0 {
			return r.Line
		}
	}
	for _, name := range [...]string{".cfa", ".ra"} {
		if line(name) == 0 && b.Attempt.Record.Kind == "STACK CFI" {
			return b.Attempt.Record.Lines[0] // the INIT record has to have both
		}
	}
	found := 0
	switch b.Register {
	case "sp":
		if found = line(".cfa"); silentRow(b.Attempt, found, cpu) {
			found = b.Attempt.Record.Line
		}
	case "pc":
		if found = line(".ra", cpu.PC); found == 0 {
			found = line(".cfa")
		}
	case "":
	default:
		if found = line(b.Register, "$"+b.Register); found == 0 && registerSlot(cpu, b.Register) == cpu.Slot.LR {
			found = line(".ra")
		}
	}
	if found > 0 {
		return found
	}
	return b.Attempt.Record.Line
}

// unreadable returns the line of a damaged record among those in force, which the reader could not use; 0 for none.
func unreadable(w *unwind.Walker, r *unwind.Record) int {
	if r.Kind != "STACK CFI" || len(r.Lines) == 0 {
		return 0
	}
	s, err := moduleSymbols(w, r.Module)
	if s == nil || err != nil {
		return 0
	}
	_, errs := s.Corrupt()
	for _, e := range errs {
		if e.Line > r.Lines[0] && e.Line <= r.Lines[len(r.Lines)-1]+1 {
			return e.Line
		}
	}
	return 0
}

// silentRow reports whether it is not the .cfa rule that is wrong but a later record that has none, because the record of
// the rule agrees with itself.
func silentRow(a *unwind.Attempt, line int, cpu *arch.CPU) bool {
	if line == 0 || line == a.Record.Line {
		return false
	}
	var rules []symfile.CFIRule
	for _, r := range a.Rules {
		rules = append(rules, symfile.CFIRule{Name: r.Register, Expr: r.Expr, Line: r.Line})
	}
	return consistent(rules, line, a.Record.Lines[0], cpu)
}

// Describe says in one line what is wrong, for people.
func (b *Blame) Describe(s *unwind.Stack) string {
	if b.Symbol != nil {
		return fmt.Sprintf("frame %d is in its place; its name comes from %s %x at line %d", b.Frame, strings.ToUpper(b.Symbol.Kind.String()), b.Symbol.Base, b.Line)
	}
	if b.Frame == 0 {
		return "frame 0 has the registers that the dump tells of the thread: no unwind record is to blame"
	}
	below := FrameText(s, b.Frame-1, -1)
	var t strings.Builder
	switch {
	case b.Attempt == nil:
		fmt.Fprintf(&t, "frame %d, unwound from %s without any record", b.Frame, below)
	case b.Attempt.Record.Line > 0:
		fmt.Fprintf(&t, "frame %d, unwound from %s by %s at line %d", b.Frame, below, b.Attempt.Record.Kind, b.Line)
	default:
		fmt.Fprintf(&t, "frame %d, unwound from %s by %s", b.Frame, below, b.Attempt.Record.Kind)
	}
	if b.Register != "" {
		who := "the reference"
		if b.Proven {
			who = "the walk that matches the reference"
		}
		fmt.Fprintf(&t, ": %s is 0x%x, %s has 0x%x", b.Register, b.Got, who, b.Expected)
	}
	return t.String()
}
