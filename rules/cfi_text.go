package rules

import (
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// text reports what is wrong with the rule text of row i.
func (j *cfiJudge) text(i int) {
	r := &j.rows[i]
	text := j.p.Data[r.text.Off:r.text.End]
	list := postfix.ParseRules(text)
	for _, p := range list.Problems {
		j.ruleProblem(i, p)
	}
	for _, rule := range list.Rules {
		if rule.ExprOff == rule.ExprEnd || garbled(rule, list.Problems) {
			continue // one of the problems says so
		}
		j.rule(i, rule, text)
	}
}

// garbled: the rule's expression holds what should have been another rule.
func garbled(rule postfix.Rule, problems []postfix.RuleProblem) bool {
	for _, p := range problems {
		if (p.Code == postfix.MissingColon || p.Code == postfix.GluedColon) && p.Off >= rule.ExprOff && p.Off < rule.ExprEnd {
			return true
		}
	}
	return false
}

// part is a stretch of a row's text as a span of the file.
func (r *cfiRow) part(off, end int) symfile.Span {
	return symfile.Span{Off: r.text.Off + off, End: r.text.Off + end}
}

func (j *cfiJudge) ruleProblem(i int, p postfix.RuleProblem) {
	r := &j.rows[i]
	s := j.at(cfiSyntax, r, r.part(p.Off, p.End))
	what := ""
	switch p.Code {
	case postfix.NoRules, postfix.NoName:
		what = "the text does not begin with a rule's name and colon"
	case postfix.LoneColon:
		what = "a colon without a name before it"
	case postfix.EmptyExpr:
		what = "the rule has no expression"
	case postfix.MissingColon:
		j.garbled = true
		what = "a name without its colon: everything up to the next rule is read as one expression"
		s.Effects = &missingColonEffects
	case postfix.GluedColon:
		j.garbled = true
		what = "no blank behind the colon, so that this opens no rule"
		s.Effects = &missingColonEffects
	case postfix.DoubleColon:
		what = "the name has more than one colon"
		s.Effects = &missingColonEffects
	case postfix.Repeated:
		what = "the register has a rule in this record already"
		s.Severity = lint.Warning
		s.Effects = &repeatedRuleEffects
	default:
		what = p.Code.String()
	}
	if i > 0 && s.Effects == nil {
		s.Effects = &deltaSyntaxEffects
	}
	j.report(s, r.addr, "%s", what)
}

// rule reports what is wrong with one rule.
func (j *cfiJudge) rule(i int, rule postfix.Rule, text []byte) {
	r := &j.rows[i]
	name, expr := rule.Name(text), rule.Expr(text)
	whole := r.part(rule.NameOff, rule.ExprEnd)
	target := j.cpu.target(name)
	if target == regOther && j.cpu.known() && !j.cpu.named(name) && string(name) != ".cfa" {
		j.unknownTarget(r, string(name), r.part(rule.NameOff, rule.NameEnd))
	}
	if target == regOther && j.cpu.named(name) {
		return // vector and special registers, which no walker follows
	}
	program, _ := postfix.Compile(expr, postfix.CFI)
	ranged := false
	for _, e := range program.Check(j.cpu.literalWord()) {
		j.exprProblem(r, string(name), rule, e)
		ranged = ranged || e.Code == postfix.LiteralRange
	}
	if shape := program.Shape; shape.Kind != postfix.Const && farOffset(shape) && !ranged {
		s := j.at(cfiArithmetic, r, r.part(rule.ExprOff, rule.ExprEnd))
		s.Effects = &wrongWalkEffects
		j.report(s, r.addr, "the rule for %s has an offset of %d bytes, which no stack frame has: the dumper wrote an uninitialised number", name, shape.Offset)
	}
	for _, n := range program.Names {
		if n.FirstRead < 0 || n.Kind == postfix.Odd {
			continue
		}
		op := program.Ops[n.FirstRead]
		part := r.part(rule.ExprOff+int(op.Off), rule.ExprOff+int(op.End))
		reg := j.cpu.target([]byte(n.Text))
		switch flags := j.m.operandFlags(target, reg, []byte(n.Text)); {
		case flags&textUndef != 0:
			j.undef(r, string(name), target, whole)
		case flags&textSelf != 0:
			j.self(i, string(name), n.Text, target, part)
		case flags&textUnknown != 0:
			if n.ReadFirst {
				j.unknownOperand(r, string(name), n.Text, target, part)
			}
		case flags&textVolatile != 0:
			if j.special(j.init.addr, j.end) == notSpecial && !j.jumping(i) {
				j.grouped(j.at(cfiCallerSavedOperand, r, part), r, n.Text,
					"the rule for %s reads %s, which any call made since has overwritten", name, n.Text)
			}
		}
	}
}

// jumping: the return address has been taken off the stack into a register, to be jumped to. What else is in scratch
// registers there is read by nobody but the frame of the crash, which has them.
func (j *cfiJudge) jumping(i int) bool {
	s := &j.m.states[j.rows[i].state]
	return j.cpu.onStack(s) && s.cfa.off == 0 && s.ra.kind == ruleReg && j.cpu.returnSlot != 0
}

func (j *cfiJudge) exprProblem(r *cfiRow, name string, rule postfix.Rule, e postfix.Error) {
	part := r.part(rule.ExprOff+e.Off, rule.ExprOff+e.End)
	s := j.at(cfiSyntax, r, part)
	essential := name == ".cfa" || name == ".ra"
	if essential {
		s.Effects = &essentialRuleEffects
	} else {
		s.Effects = &registerRuleEffects
	}
	switch e.Code {
	case postfix.Underflow, postfix.Leftover, postfix.NoValue:
		s.Rule = cfiStackEffect
	case postfix.Divides, postfix.AssignsLiteral:
		s.Rule = cfiArithmetic
		s.Effects = &crashEffects
	case postfix.LiteralRange, postfix.LiteralSigned:
		s.Rule = cfiArithmetic
	case postfix.AlignPower:
		s.Rule = cfiArithmetic
		s.Effects = &alignEffects
	case postfix.AssignInRule:
		s.Severity = lint.Warning
		s.Effects = &assignEffects
	case postfix.LiteralSign:
		s.Severity = lint.Warning
	}
	j.report(s, r.addr, "the rule for %s: %s", name, e.Message)
}

func (j *cfiJudge) unknownTarget(r *cfiRow, name string, part symfile.Span) {
	e := j.explanation(name)
	s := j.at(cfiUnknownRegister, r, part)
	s.Severity = lint.Warning
	s.Effects = &unknownTargetEffects
	switch e.Reason {
	case arch.Unnamed, arch.NotUnwound, arch.NoCFI:
		s.Severity = lint.Info
		s.Effects = &ignoredTargetEffects
	case arch.WrongPrefix, arch.Alias:
		s.Effects = &prefixTargetEffects
	}
	j.reportSubject(s, r.addr, name, "%s; its rule is evaluated and thrown away", explain(e))
}

// maxExplained bounds the names that are explained; a hostile file has a new one in every record.
const maxExplained = 1 << 10

// explanation says why a name is no register, once for each name.
func (j *cfiJudge) explanation(name string) arch.Explanation {
	e, ok := j.explained[name]
	switch {
	case ok:
		return e
	case len(j.explained) >= maxExplained:
		return arch.Explanation{Reason: arch.Unknown, Text: fmt.Sprintf("%s is no register of %s", name, j.cpu.arch.Name)}
	case j.explained == nil:
		j.explained = make(map[string]arch.Explanation)
	}
	e = j.cpu.arch.Explain(name)
	j.explained[name] = e
	return e
}

func (j *cfiJudge) unknownOperand(r *cfiRow, rule, name string, target int, part symfile.Span) {
	s := j.at(cfiUnknownRegister, r, part)
	s.Effects = &registerRuleEffects
	if target == regCFA || target == regRA {
		s.Effects = &essentialRuleEffects
	}
	e := j.explanation(name)
	if e.Reason == arch.WrongPrefix || e.Reason == arch.Alias {
		x := *s.Effects
		x[lint.RustMinidump] = lint.Fine("knows the register under this name too")
		s.Effects = &x
	}
	j.reportSubject(s, r.addr, name, "the rule for %s cannot be evaluated: %s", rule, explain(e))
}

func explain(e arch.Explanation) string {
	if e.Suggest != "" && e.Reason != arch.Unknown {
		return fmt.Sprintf("%s (%s is meant?)", e.Text, e.Suggest)
	}
	return e.Text
}

func (j *cfiJudge) reportSubject(s lint.Spot, addr uint64, subject, format string, args ...any) {
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, addr
		f.Subject = subject
		f.Message = fmt.Sprintf(format, args...)
	})
}

func (j *cfiJudge) undef(r *cfiRow, name string, target int, part symfile.Span) {
	s := j.at(cfiUndef, r, part)
	switch {
	case target == regCFA || target == regRA:
		s.Effects = &essentialRuleEffects
		j.report(s, r.addr, "%s is .undef, which Google's evaluator takes for the name of a register that does not exist", name)
	case target >= 0 && j.cpu.saved[target]:
		j.report(s, r.addr, "%s is .undef, yet breakpad takes the callee-saved register for unchanged", name)
	}
}

// self handles .cfa and .ra where they are not in scope. `.ra: .ra` is what Google's writer makes of a restored return
// address register, once per epilogue: one finding for the file.
func (j *cfiJudge) self(i int, rule, operand string, target int, part symfile.Span) {
	r := &j.rows[i]
	if target == regRA && operand == ".ra" && (i > 0 || j.window > 0) && string(j.p.Data[part.Off:part.End]) == ".ra" && j.loneOperand(r, part) {
		if g := &j.selfRA; j.inEpilogue(i) {
			if g.count == 0 {
				g.off, g.line, g.part = uint32(r.span.Off), uint32(r.line), part
			}
			g.count++
			return
		}
		s := j.at(cfiSelfReference, r, part)
		j.report(s, r.addr, "`.ra: .ra` outside an epilogue: no return address can be computed from here on")
		return
	}
	s := j.at(cfiSelfReference, r, part)
	if target >= 0 || target == regOther {
		s.Effects = &registerRuleEffects
	}
	j.report(s, r.addr, "the rule for %s reads %s, which is not known when it is evaluated", rule, operand)
}

// loneOperand: the operand is the rule's whole expression.
func (j *cfiJudge) loneOperand(r *cfiRow, part symfile.Span) bool {
	if part.Off < r.text.Off+len(".ra: ") {
		return false
	}
	if part.End == r.text.End {
		return true
	}
	rest := j.p.Data[part.End:r.text.End]
	k := 1
	for k < len(rest) && rest[k] != ' ' {
		k++
	}
	return rest[k-1] == ':'
}

// epilogueBytes is how far a return may be from the restored return address: the loads of the other registers, the
// stack adjustment and the jump.
const epilogueBytes = 64

// inEpilogue reports whether the return address was in memory before row i, and is known again, or the range ends,
// shortly behind it.
func (j *cfiJudge) inEpilogue(i int) bool {
	if i == 0 || j.m.states[j.rows[i-1].state].ra.kind != ruleLoad {
		return false
	}
	for k := i + 1; k < len(j.rows); k++ {
		if s := &j.m.states[j.rows[k].state]; s.ra.kind != ruleInvalid {
			return j.rows[k].addr-j.rows[i].addr <= epilogueBytes
		}
	}
	return j.end >= j.rows[i].addr && j.end-j.rows[i].addr <= epilogueBytes
}

func (j *cfiJudge) reportSelfRA() {
	g := &j.selfRA
	if g.count == 0 {
		return
	}
	rec := j.p.RecordAt(g.off, g.line)
	s := lint.At(cfiSelfReference, rec, g.part)
	s.Severity, s.Count = lint.Warning, g.count
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, rec.Addr
		f.Subject = ".ra: .ra"
		f.Message = "`.ra: .ra` in an epilogue: no return address can be computed up to the return instruction"
	})
}
