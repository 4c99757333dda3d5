package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// Remedy is a change to a symbol file that was proven by replaying the walk with it.
type Remedy struct {
	Kind string // a short name: exchange-registers, cfa-offset, …
	Text string // what to change, in words
	// Rule is the lint rule that finds the defect in the file alone, "" if there is none.
	Rule string
	// Module is the one whose symbol file is to be changed, Line the record, 1-based; the first where there are more.
	Module *unwind.Module
	Line   int
	// Old and New are the rule before and after, "" where more than one changes.
	Old, New string
	Scope    string
	// Frames is the number of frames that match with it, which is all of them.
	Frames int

	patch  unwind.Patch
	target string // the register whose rule it changes: .cfa, .ra or a name; "" for more than one
	surely bool   // all registers agree with it, so that Line is the line at fault
}

// budget bounds how much is tried for one thread.
type budget struct {
	trials int
	until  time.Time
}

func newBudget(trials int, d time.Duration) *budget { return &budget{trials, time.Now().Add(d)} }

func (b *budget) spend() bool {
	b.trials--
	return b.trials >= 0 && time.Now().Before(b.until)
}

// Bounds of the search for a remedy of one thread.
const (
	maxTrials = 3000
	maxTime   = 20 * time.Second
)

// trial is a remedy not proven yet.
type trial = Remedy

// try replays the walk with every remedy that the defect of a record could have. It returns the first after which the
// thread matches in all that the reference tells, else the first after which it matches in what is compared.
func try(w *unwind.Walker, thread int, trials []trial, b *budget, matches func(*unwind.Stack) (int, agreement)) (r *Remedy, sure bool) {
	for i := range trials {
		if !b.spend() {
			break
		}
		n, how := matches(clone(w, w.Symbols, trials[i].patch).Walk(thread))
		if how == differs || how == agreesInFields && r != nil {
			continue
		}
		x := trials[i]
		x.Frames, x.surely = n, how == agrees
		r = &x
		if how == agrees {
			return r, true
		}
	}
	return r, false
}

// cfiTrials are the remedies for a STACK CFI record that was in force at an address: known defects, each undone.
func cfiTrials(cpu *arch.CPU, m *unwind.Module, s *symfile.Symbols, addr uint64) []trial {
	info := s.CFI(addr)
	if info == nil || len(info.Rows) == 0 {
		return nil
	}
	t := &target{module: m, addr: addr, info: info, row: &info.Rows[len(info.Rows)-1]}
	var out []trial
	out = append(out, t.attributed(s)...)
	out = append(out, t.exchanged(cpu)...)
	out = append(out, t.misspelled(cpu)...)
	out = append(out, t.missing(cpu)...)
	out = append(out, t.expressions(cpu)...)
	out = append(out, t.rows(s)...)
	out = append(out, t.savedFP(cpu)...)
	return append(out, t.dropped()...)
}

// likelyFirst puts the remedies first that change how the register came about which is wrong.
func likelyFirst(trials []trial, register string, cpu *arch.CPU) []trial {
	rank := func(t *trial) int {
		switch {
		case register == "":
			return 0
		case t.target == "" && t.Kind != "drop-record":
			// Exchanged and misspelled registers: what is wrong first is the CFA, unless nothing evaluates at all.
			if register == "sp" {
				return 0
			}
			return 1
		case register == "sp" && t.target == ".cfa", register == "pc" && (t.target == ".ra" || t.target == cpu.PC):
			return 0
		case t.target != "" && strings.TrimPrefix(t.target, "$") == register:
			return 0
		case t.Kind == "drop-record":
			return 3
		}
		return 2
	}
	out := slices.Clone(trials)
	slices.SortStableFunc(out, func(a, b trial) int { return rank(&a) - rank(&b) })
	return out
}

// exchanged undoes exchanged stack and frame pointers.
func (t *target) exchanged(cpu *arch.CPU) []trial {
	if cpu.SP == "" || cpu.FP == "" {
		return nil
	}
	swap := exchange(cpu)
	var out []trial
	for s := oneRow; s <= wholeModule; s++ {
		out = append(out, trial{
			Kind: "exchange-registers", Text: fmt.Sprintf("exchange %s and %s back in %s", cpu.FP, cpu.SP, scopeTexts[s]),
			Rule: "cfi-swapped-frame-stack", Line: t.cfaLine(s), Scope: scopeTexts[s], patch: t.rewrite(s, swap),
		})
	}
	return out
}

// cfaLine is the line of the .cfa rule in force, where a wrong register shows most; of a single record its own.
func (t *target) cfaLine(s scope) int {
	if r, ok := t.info.Rule(".cfa"); ok && s != oneRow {
		return r.Line
	}
	return t.row.Line
}

// exchange is a change of rules that exchanges the stack and the frame pointer.
func exchange(cpu *arch.CPU) func(r symfile.CFIRule) (symfile.CFIRule, bool) {
	return func(r symfile.CFIRule) (symfile.CFIRule, bool) {
		r.Name, r.Expr = swapWord(r.Name, cpu.SP, cpu.FP), swapWords(r.Expr, cpu.SP, cpu.FP)
		return r, true
	}
}

func swapWord(word, a, b string) string {
	switch word {
	case a:
		return b
	case b:
		return a
	}
	return word
}

func swapWords(text, a, b string) string {
	words := strings.Fields(text)
	for i := range words {
		words[i] = swapWord(words[i], a, b)
	}
	return strings.Join(words, " ")
}

// misspelled gives registers the names that the walkers know.
func (t *target) misspelled(cpu *arch.CPU) []trial {
	known := func(word string) string {
		if word == "" || strings.HasPrefix(word, ".") || isNumber(word) || len(word) == 1 && strings.ContainsAny(word, "+-*/%^@=") {
			return word
		}
		e := cpu.Explain(word)
		if e.Reason == arch.Known {
			return word
		}
		if e.Suggest != "" {
			return e.Suggest
		}
		for _, other := range e.CPUs {
			if s := sameRole(word, other, cpu); s != "" {
				return s
			}
		}
		return word
	}
	line := 0 // of the first rule that changes
	respell := func(r symfile.CFIRule) (symfile.CFIRule, bool) {
		r.Name = known(r.Name)
		words := strings.Fields(r.Expr)
		for i := range words {
			words[i] = known(words[i])
		}
		r.Expr = strings.Join(words, " ")
		return r, true
	}
	for _, r := range t.info.Rules {
		again, _ := respell(r)
		if line == 0 && (again.Name != r.Name || again.Expr != strings.Join(strings.Fields(r.Expr), " ")) {
			line = r.Line
		}
	}
	if line == 0 {
		return nil
	}
	var out []trial
	for s := oneRow; s <= wholeModule; s++ {
		out = append(out, trial{
			Kind: "register-names", Text: "spell the registers as the consumers know them in " + scopeTexts[s], Rule: "cfi-unknown-register",
			Line: line, Scope: scopeTexts[s], patch: t.rewrite(s, respell),
		})
	}
	return out
}

func isNumber(word string) bool {
	_, err := strconv.ParseInt(word, 10, 64)
	return err == nil
}

// sameRole finds the register of a CPU that has the role which a name has on another.
func sameRole(name string, from, to *arch.CPU) string {
	switch {
	case from.IsSP(name):
		return to.SP
	case from.IsFP(name):
		return to.FP
	case name == from.PC:
		return to.PC
	}
	return ""
}

// missing adds the rules that a record should have: those of a function's entry, or of a frame with a frame pointer.
func (t *target) missing(cpu *arch.CPU) []trial {
	var out []trial
	w := cpu.Word
	add := func(name, expr, rule string) {
		for _, s := range [...]scope{oneRow, oneBlock} {
			out = append(out, trial{
				target: name, Kind: "missing-rule", Text: fmt.Sprintf("add %s: %s to %s", name, expr, scopeTexts[s]), Rule: rule, Line: t.info.Rows[0].Line,
				New: name + ": " + expr, Scope: scopeTexts[s], patch: t.add(s, name, expr),
			})
		}
	}
	if _, ok := t.info.Rule(".ra"); !ok {
		if cpu.ReturnSlot > 0 {
			add(".ra", fmt.Sprintf(".cfa -%d + ^", cpu.ReturnSlot), "cfi-missing-ra")
		} else {
			for k := 1; k <= 64; k++ {
				add(".ra", fmt.Sprintf(".cfa -%d + ^", k*w), "cfi-missing-ra")
			}
			add(".ra", cpu.LR, "cfi-missing-ra")
		}
	}
	if _, ok := t.info.Rule(".cfa"); !ok && cpu.SP != "" {
		for k := 0; k <= 160; k++ {
			add(".cfa", fmt.Sprintf("%s %d +", cpu.SP, k*w), "cfi-missing-cfa")
		}
		for k := 0; k <= 4; k++ {
			add(".cfa", fmt.Sprintf("%s %d +", cpu.FP, k*w), "cfi-missing-cfa")
		}
	}
	return append(out, t.silentRow(cpu)...)
}

// silentRow gives the last record a .cfa rule, if it has none and the rule in force, which is of an earlier record, agrees
// with that record.
func (t *target) silentRow(cpu *arch.CPU) []trial {
	old, ok := t.info.Rule(".cfa")
	if !ok || old.Line == t.row.Line || !consistent(t.info.Rules, old.Line, t.info.Rows[0].Line, cpu) {
		return nil
	}
	var out []trial
	for _, expr := range variants(old.Expr, ".cfa", cpu) {
		out = append(out, trial{
			target: ".cfa", Kind: "missing-rule", Text: fmt.Sprintf("add .cfa: %s to %s", expr, scopeTexts[oneRow]), Line: t.row.Line,
			New: ".cfa: " + expr, Scope: scopeTexts[oneRow], patch: unwind.Patch{CFI: t.replaceWhereLast(".cfa", old.Line, expr)},
		})
	}
	return out
}

// consistent reports whether the .cfa rule of a record agrees with the other rules there: with a register that is
// saved just below the CFA, or with the state at a function's entry.
func consistent(rules []symfile.CFIRule, line, entry int, cpu *arch.CPU) bool {
	cfa := int64(-1)
	for _, r := range rules {
		if r.Line == line && r.Name == ".cfa" {
			shape := postfix.ShapeOf([]byte(r.Expr))
			if string(shape.Register([]byte(r.Expr))) != cpu.SP || shape.Kind != postfix.RegOffset && shape.Kind != postfix.Reg {
				return false
			}
			cfa = shape.Offset
		}
	}
	if line == entry {
		return cfa == int64(cpu.EntryCFA)
	}
	for _, r := range rules {
		shape := postfix.ShapeOf([]byte(r.Expr))
		if r.Line == line && r.Name != ".cfa" && shape.Kind == postfix.DerefCFA && cfa > 0 && -shape.Offset == cfa {
			return true
		}
	}
	return false
}

// savedFP adds the rule for the frame pointer that the function saves without saying so.
func (t *target) savedFP(cpu *arch.CPU) []trial {
	var out []trial
	for _, r := range cpu.Regs {
		if r.Saved&arch.SavedBreakpad == 0 || !r.CFI {
			continue
		}
		if _, ok := t.info.Rule(r.Name); ok || r.Name == cpu.SP {
			continue
		}
		for k := 1; k <= 8; k++ {
			expr := fmt.Sprintf(".cfa -%d + ^", k*cpu.Word)
			out = append(out, trial{
				target: r.Name, Kind: "missing-rule", Text: fmt.Sprintf("add %s: %s to %s", r.Name, expr, scopeTexts[oneBlock]), Rule: "cfi-missing-saved",
				Line: t.pushLine(cpu, k*cpu.Word), New: r.Name + ": " + expr, Scope: scopeTexts[oneBlock], patch: t.add(oneBlock, r.Name, expr),
			})
		}
	}
	return out
}

// pushLine is the line of the record that tells of the push which put a register at a distance below the CFA.
func (t *target) pushLine(cpu *arch.CPU, distance int) int {
	want := fmt.Sprintf("%s %d +", cpu.SP, distance)
	for _, row := range t.info.Rows {
		for _, r := range row.Rules {
			if r.Name == ".cfa" && strings.Join(strings.Fields(r.Expr), " ") == want {
				return row.Line
			}
		}
	}
	return t.row.Line
}

// expressions changes one rule at a time: its offset by words, its sign, its register, its dereference.
func (t *target) expressions(cpu *arch.CPU) []trial {
	var out []trial
	for _, r := range t.info.Rules {
		for _, expr := range variants(r.Expr, r.Name, cpu) {
			if expr == r.Expr {
				continue
			}
			kind, rule := "register-slot", ""
			switch r.Name {
			case ".cfa":
				kind = "cfa-offset"
			case ".ra":
				kind = "return-address-slot"
			}
			out = append(out, trial{
				target: r.Name, Kind: kind, Text: fmt.Sprintf("write %s: %s instead of %s: %s", r.Name, expr, r.Name, r.Expr), Rule: rule, Line: r.Line,
				Old: r.Name + ": " + r.Expr, New: r.Name + ": " + expr, Scope: scopeTexts[oneRow], patch: t.rule(r.Name, r.Line, expr),
			})
		}
		if r.Name != ".cfa" && r.Name != ".ra" {
			name, line := r.Name, r.Line
			out = append(out, trial{
				target: r.Name, Kind: "surplus-rule", Text: fmt.Sprintf("remove %s: %s", r.Name, r.Expr), Line: r.Line, Old: r.Name + ": " + r.Expr,
				Scope: scopeTexts[oneRow],
				patch: t.rewrite(oneBlock, func(r symfile.CFIRule) (symfile.CFIRule, bool) {
					return r, r.Name != name || r.Line != line
				}),
			})
		}
	}
	return out
}

// maxWords is by how many words an offset may be wrong.
const maxWords = 16

// variants are the expressions that a rule may have been meant to be, nearest first.
func variants(expr, name string, cpu *arch.CPU) []string {
	shape := postfix.ShapeOf([]byte(expr))
	register := string(shape.Register([]byte(expr)))
	var out []string
	build := func(register string, offset int64, deref bool) string {
		text := fmt.Sprintf("%s %d +", register, offset)
		if deref {
			text += " ^"
		}
		return text
	}
	deref := shape.Kind == postfix.DerefCFA || shape.Kind == postfix.DerefReg
	switch shape.Kind {
	case postfix.Reg, postfix.RegOffset, postfix.CFAOffset, postfix.DerefCFA, postfix.DerefReg:
	default:
		if name == ".ra" && cpu.ReturnSlot > 0 {
			return []string{build(".cfa", -int64(cpu.ReturnSlot), true)}
		}
		if name == ".cfa" {
			for k := int64(0); k <= maxWords; k++ {
				out = append(out, build(cpu.SP, k*int64(cpu.Word), false))
			}
			out = append(out, build(cpu.FP, int64(2*cpu.Word), false))
		}
		return out
	}
	offset := shape.Offset
	if name != ".cfa" {
		out = append(out, build(register, offset, !deref))
	} else if deref {
		out = append(out, build(register, offset, false))
	}
	if offset != 0 {
		out = append(out, build(register, -offset, deref))
	}
	switch register {
	case cpu.SP:
		out = append(out, build(cpu.FP, offset, deref))
	case cpu.FP:
		out = append(out, build(cpu.SP, offset, deref))
	default:
		if register != ".cfa" {
			out = append(out, build(cpu.SP, offset, deref), build(cpu.FP, offset, deref))
			if name != ".cfa" {
				out = append(out, build(".cfa", offset, deref))
			}
		}
	}
	if name == ".ra" && cpu.ReturnSlot > 0 {
		out = append(out, build(".cfa", -int64(cpu.ReturnSlot), true))
	}
	for k := int64(1); k <= maxWords; k++ {
		out = append(out, build(register, offset+k*int64(cpu.Word), deref), build(register, offset-k*int64(cpu.Word), deref))
	}
	for k := int64(1); k < int64(cpu.Word); k++ { // not whole words: a digit went wrong
		out = append(out, build(register, offset+k, deref), build(register, offset-k, deref))
	}
	return out
}

// maxRows is how many other rows of a function are tried.
const maxRows = 64

// rows lets other rows of the function apply: a record is missing, stale or at the wrong address.
func (t *target) rows(s *symfile.Symbols) []trial {
	var out []trial
	last := t.info.Addr + t.info.Size - 1
	full := s.CFI(last)
	if full == nil {
		return nil
	}
	for i := range full.Rows {
		r := &full.Rows[i]
		if r.Line == t.row.Line || len(out) >= maxRows {
			continue
		}
		out = append(out, trial{
			Kind: "stale-row", Text: fmt.Sprintf("let the rules of line %d apply from 0x%x on", r.Line, t.row.Addr), Rule: "",
			Line: t.row.Line, Scope: scopeTexts[oneRow], patch: t.at(r.Addr),
		})
	}
	return out
}

// dropped lets the next technique have its turn.
func (t *target) dropped() []trial {
	var out []trial
	for s := oneRow; s <= wholeModule; s++ {
		out = append(out, trial{
			Kind: "drop-record", Text: "remove " + scopeTexts[s] + ": the walk is right without", Line: t.row.Line,
			Scope: scopeTexts[s], patch: t.drop(s),
		})
	}
	return out
}
