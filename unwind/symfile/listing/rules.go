package listing

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// rule is how the caller's value of one register is computed.
type rule struct {
	key     string // the register as spelled in the file
	shown   string // as people call it: "CFA", "ra", "rbp"
	meaning string
}

// ruleText is what a STACK CFI record says.
type ruleText struct {
	rules      []rule
	unreadable string // the whole text, if it is not all rules
}

// ruleReader makes meanings of rule texts. Files of a million records have a few thousand texts: each is read once.
type ruleReader struct {
	cpu   *arch.CPU // nil if the file's is not known
	texts map[string]*ruleText
	list  postfix.RuleList
}

// What is remembered: the number of texts, and the length of each in bytes.
const (
	maxTexts = 1 << 14
	maxText  = 1 << 10
)

func (rr *ruleReader) read(text []byte) *ruleText {
	if t, ok := rr.texts[string(text)]; ok {
		return t
	}
	t := rr.parse(text)
	if len(text) <= maxText {
		if rr.texts == nil || len(rr.texts) >= maxTexts {
			rr.texts = make(map[string]*ruleText)
		}
		rr.texts[string(text)] = t
	}
	return t
}

func (rr *ruleReader) parse(text []byte) *ruleText {
	rr.list.Parse(text)
	t := &ruleText{}
	rules := rr.list.Rules
	if !rr.list.OK() {
		t.unreadable = string(text)
		rules = rules[:rr.list.Accepted]
	}
	for _, r := range rules {
		key := string(r.Name(text))
		t.rules = append(t.rules, rule{key, rr.target(key), rr.value(r.Expr(text))})
	}
	return t
}

// target is the register that a rule sets, for people.
func (rr *ruleReader) target(key string) string {
	switch key {
	case ".cfa":
		return "CFA"
	case ".ra":
		return "ra"
	}
	return rr.register(key, true)
}

// register is a name in an expression, for people: registers without their "$". What the CPU does not have is
// questionable in a rule; programs have variables of their own.
func (rr *ruleReader) register(name string, question bool) string {
	switch name {
	case ".cfa":
		return "cfa"
	case ".ra":
		return "ra"
	case ".undef":
		return "undefined"
	}
	if rr.cpu == nil {
		return name
	}
	if _, ok := rr.cpu.Register(name); !ok {
		if question {
			name += "?"
		}
		return name
	}
	if plain := strings.TrimPrefix(name, "$"); plain != "ra" && plain != "cfa" {
		return plain
	}
	return name
}

// maxExpression is the length in bytes of the longest expression that is taken apart. Writers stay below a hundred.
const maxExpression = 512

// value is what an expression computes: "rsp+16", "[cfa-8]". One that nobody can evaluate is quoted.
func (rr *ruleReader) value(expr []byte) string {
	if len(expr) <= maxExpression {
		if p, err := postfix.Compile(expr, postfix.CFI); err == nil {
			if v, ok := rr.infix(p); ok && len(v) == 1 {
				return v[0]
			}
		}
	}
	return strconv.Quote(string(expr))
}

// program is what the program of a STACK WIN record does: "eip = [ebp+4]; esp = ebp+8".
func (rr *ruleReader) program(text []byte) string {
	if len(text) <= maxExpression {
		if p, err := postfix.Compile(text, postfix.Win); err == nil {
			if v, ok := rr.infix(p); ok {
				return strings.Join(v, "; ")
			}
		}
	}
	return strconv.Quote(string(text))
}

// Precedences of operands.
const (
	sum = iota
	product
	atom
)

type operand struct {
	text string
	prec int
}

// within puts brackets around an operand that binds less than it must.
func (o operand) within(prec int) string {
	if o.prec < prec {
		return "(" + o.text + ")"
	}
	return o.text
}

// infix writes a program as assignments, and what it leaves behind them.
func (rr *ruleReader) infix(p *postfix.Program) (out []string, ok bool) {
	var stack []operand
	question := p.Dialect == postfix.CFI
	for i, op := range p.Ops {
		switch op.Code {
		case postfix.Push:
			text := p.Token(i)
			if op.Flags&(postfix.OverInt64|postfix.DoubleSign) == 0 {
				text = strconv.FormatInt(int64(op.Value), 10)
			}
			prec := atom
			if strings.HasPrefix(text, "-") {
				prec = sum
			}
			stack = append(stack, operand{text, prec})
			continue
		case postfix.Var:
			stack = append(stack, operand{rr.register(p.Names[op.Name].Text, question), atom})
			continue
		case postfix.Load:
			if len(stack) < 1 {
				return nil, false
			}
			top := &stack[len(stack)-1]
			*top = operand{"[" + top.text + "]", atom}
			continue
		}
		if len(stack) < 2 {
			return nil, false
		}
		a, b := stack[len(stack)-2], stack[len(stack)-1]
		stack = stack[:len(stack)-2]
		if op.Code == postfix.Assign {
			if p.Dialect == postfix.CFI {
				return nil, false
			}
			out = append(out, a.text+" = "+b.text)
			continue
		}
		stack = append(stack, binary(op.Code, a, b))
	}
	for _, o := range stack {
		out = append(out, o.text)
	}
	return out, true
}

func binary(code postfix.Code, a, b operand) operand {
	switch code {
	case postfix.Add:
		if strings.HasPrefix(b.text, "-") { // a negative number, or a sum that begins with one
			return operand{a.text + b.text, sum}
		}
		return operand{a.text + "+" + b.text, sum}
	case postfix.Sub:
		return operand{a.text + "-" + b.within(product), sum}
	case postfix.Mul:
		return operand{a.within(product) + "*" + b.within(product), product}
	case postfix.Div:
		return operand{a.within(product) + "/" + b.within(atom), product}
	case postfix.Mod:
		return operand{a.within(product) + "%" + b.within(atom), product}
	}
	return operand{"align(" + a.text + ", " + b.text + ")", atom}
}

// state is the rules in force, .cfa and .ra first, then by name.
type state struct {
	rules []rule
	bytes int // of what is shown of them
}

// maxState is the number of registers whose rules are carried from row to row. No CPU has more.
const maxState = 128

func (s *state) reset() { s.rules, s.bytes = s.rules[:0], 0 }

// set overrides a rule. It fails if there are too many.
func (s *state) set(r rule) bool {
	i, found := slices.BinarySearchFunc(s.rules, r.key, func(r rule, key string) int { return byKey(r.key, key) })
	switch {
	case found:
		s.bytes -= s.rules[i].len()
		s.rules[i] = r
	case len(s.rules) >= maxState:
		return false
	default:
		s.rules = slices.Insert(s.rules, i, r)
	}
	s.bytes += r.len()
	return true
}

func (r *rule) len() int { return len(r.key) + len(r.meaning) }

// byKey is the order of rules: .cfa, .ra, then by name.
func byKey(a, b string) int {
	rank := func(key string) int {
		switch key {
		case ".cfa":
			return 0
		case ".ra":
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

// delta is a STACK CFI record.
type delta struct {
	addr uint64
	text extent
}

// cfi lists a STACK CFI INIT record with its deltas as rows.
func (l *lister) cfi(s *symbol, e *entry) {
	r := l.scan(e)
	initial := delta{r.Addr, extent{uint32(r.Text.Off), uint32(r.Text.End)}}
	l.deltas = l.deltas[:0]
	for l.scanner.Next() {
		if r = l.scanner.Record(); r.Kind == symfile.StackCFI && r.Usable {
			l.deltas = append(l.deltas, delta{r.Addr, extent{uint32(r.Text.Off), uint32(r.Text.End)}})
		}
	}
	byAddress := func(a, b delta) int { return cmp.Compare(a.addr, b.addr) }
	if !slices.IsSortedFunc(l.deltas, byAddress) {
		slices.SortStableFunc(l.deltas, byAddress)
	}
	whole := s.kind == symfile.Func && e.addr == s.addr && e.size == s.size
	l.sink.unwind(&unwind{span{int64(e.addr - s.addr), e.size}, whole})
	l.state.reset()
	l.row(s, initial)
	for _, d := range l.deltas {
		l.row(s, d)
	}
}

// row lists the rules in force from one record on.
func (l *lister) row(s *symbol, d delta) {
	t := l.rules.read(l.text(d.text))
	x := row{offset: int64(d.addr - s.addr), unreadable: []byte(t.unreadable)}
	complete := true
	for _, r := range t.rules {
		complete = l.state.set(r) && complete
	}
	x.rules = l.state.rules
	if short := 4 * int(d.text.end-d.text.off); l.state.bytes > short+64 {
		if complete = complete && int64(l.state.bytes) <= l.budget; complete {
			l.budget -= int64(l.state.bytes)
		}
	}
	if !complete {
		x.rules, x.partial = own(t.rules), true
	}
	l.sink.row(&x)
}

// own is the rules of one record in order; of several for a register the last counts.
func own(rules []rule) []rule {
	list := slices.Clone(rules)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b rule) int { return byKey(a.key, b.key) })
	return slices.CompactFunc(list, func(a, b rule) bool { return a.key == b.key })
}
