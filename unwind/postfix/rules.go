package postfix

// Rule is one "name: expression" of a STACK CFI rule text. Positions are byte offsets into the text.
type Rule struct {
	NameOff, NameEnd int // the name without its colon
	ExprOff, ExprEnd int // the expression without blanks around it; empty if the rule has none
}

// Name returns the rule's target: .cfa, .ra or a register.
func (r Rule) Name(text []byte) []byte { return text[r.NameOff:r.NameEnd] }

// Expr returns the rule's expression.
func (r Rule) Expr(text []byte) []byte { return text[r.ExprOff:r.ExprEnd] }

// RuleCode says what is wrong with a rule text.
type RuleCode uint8

// The first group stops Google's parser (CFIRuleParser::Parse in cfi_frame_info.cc) at that point.
const (
	NoRuleError RuleCode = iota
	NoRules              // no token at all
	NoName               // an expression before the first "name:"
	LoneColon            // a ':' on its own; rust-minidump takes it for a register with an empty name
	EmptyExpr            // a "name:" without expression

	// Hints: the text parses, but hardly as it was meant.
	MissingColon // a name inside an expression that should open a rule: ".cfa: $esp .ra 0"
	GluedColon   // a colon inside a token: ".cfa:$esp"
	DoubleColon  // a name that itself contains ':'
	Repeated     // the name has a rule already; the later one replaces it
)

var ruleCodeNames = [...]string{
	"none", "no-rules", "no-name", "lone-colon", "empty-expression",
	"missing-colon", "glued-colon", "double-colon", "repeated",
}

// String returns a short name.
func (c RuleCode) String() string {
	if int(c) < len(ruleCodeNames) {
		return ruleCodeNames[c]
	}
	return "invalid"
}

// Hint reports whether the text parses all the same.
func (c RuleCode) Hint() bool { return c >= MissingColon }

// RuleProblem is a defect of a rule text: the tokens text[Off:End].
type RuleProblem struct {
	Code     RuleCode
	Off, End int
}

// RuleList is a parsed rule text. Parse reuses its slices, so that a list that is kept allocates nothing.
type RuleList struct {
	// Rules are all rules that can be made out, also behind an error.
	Rules []Rule
	// Accepted counts the rules that Google's parser had handed on when it stopped: Rules[:Accepted] are in force
	// after a delta record that fails to parse. An INIT record that fails is unusable as a whole. rust-minidump
	// drops the rules of every record of the range in both cases.
	Accepted int
	// Problems are in order of position.
	Problems []RuleProblem
}

// ParseRules parses the rule text of one STACK CFI record.
func ParseRules(text []byte) RuleList {
	var l RuleList
	l.Parse(text)
	return l
}

// OK reports whether Google's parser takes the whole text.
func (l *RuleList) OK() bool { return len(l.Rules) > 0 && l.Accepted == len(l.Rules) }

// Parse replaces the list by the rules of text. A token of at least two bytes that ends in ':' opens a rule, every
// other one belongs to the expression of the rule before it.
func (l *RuleList) Parse(text []byte) {
	l.Rules, l.Problems, l.Accepted = l.Rules[:0], l.Problems[:0], 0
	p := ruleParser{l: l, text: text, good: true, stray: -1}
	for off, end := nextRuleToken(text, 0); off < end; off, end = nextRuleToken(text, end) {
		switch {
		case text[end-1] != ':':
			p.operand(off, end)
		case end-off == 1:
			p.loneColon(off)
		default:
			p.open(off, end)
		}
	}
	p.close()
	if len(l.Rules) == 0 && len(l.Problems) == 0 {
		p.report(NoRules, 0, len(text))
	}
}

// ruleBlank is what Google's rule parser splits at; the evaluator splits at VT and FF too.
var ruleBlank = [256]bool{' ': true, '\t': true, '\r': true, '\n': true}

func nextRuleToken(text []byte, from int) (off, end int) {
	for off = from; off < len(text) && ruleBlank[text[off]]; off++ {
	}
	for end = off; end < len(text) && !ruleBlank[text[end]]; end++ {
	}
	return off, end
}

func hasColon(token []byte) bool {
	for _, c := range token {
		if c == ':' {
			return true
		}
	}
	return false
}

type ruleParser struct {
	l    *RuleList
	text []byte
	good bool // Google's parser is still running
	rule bool // a rule is open: the last of l.Rules
	// depth is the operand stack behind the last token of the open rule, or less than 0 after an underflow.
	depth int
	// stray is the problem that the current tokens without a rule were reported as; quiet suppresses it.
	stray int
	quiet bool
	many  map[string]struct{}
}

func (p *ruleParser) operand(off, end int) {
	if p.rule {
		r := &p.l.Rules[len(p.l.Rules)-1]
		if r.ExprOff == r.ExprEnd {
			r.ExprOff = off
		}
		r.ExprEnd = end
		p.depth += effect(p.text[off:end], p.depth)
	} else if !p.quiet {
		p.good = false
		if p.stray < 0 {
			p.stray = len(p.l.Problems)
			p.report(NoName, off, end)
		}
		p.l.Problems[p.stray].End = end
	}
	if hasColon(p.text[off:end]) {
		p.report(GluedColon, off, end)
	}
}

// effect is what a token adds to an operand stack of the given depth. A stack that ran empty stays below zero.
func effect(token []byte, depth int) int {
	const never = -1 << 30
	if depth < 0 {
		return 0
	}
	if len(token) > 1 && token[0] != '=' {
		return 1
	}
	need, delta := 0, 1
	switch code := operator(token); {
	case code.Binary(), len(token) > 1:
		need, delta = 2, -1
	case code == Load:
		need, delta = 1, 0
	case code == Assign:
		need, delta = 2, -2
	}
	if depth < need {
		return never
	}
	return delta
}

func (p *ruleParser) loneColon(off int) {
	p.report(LoneColon, off, off+1)
	// The rule before it is never handed on; its expression ends here.
	p.good = false
	p.close()
	p.quiet = true
}

func (p *ruleParser) open(off, end int) {
	p.close()
	p.quiet, p.stray = false, -1
	if hasColon(p.text[off : end-1]) {
		p.report(DoubleColon, off, end)
	}
	p.repeated(off, end-1)
	p.l.Rules = append(p.l.Rules, Rule{NameOff: off, NameEnd: end - 1, ExprOff: end, ExprEnd: end})
	p.rule, p.depth = true, 0
}

// close hands on the open rule.
func (p *ruleParser) close() {
	if !p.rule {
		return
	}
	p.rule = false
	r := p.l.Rules[len(p.l.Rules)-1]
	if r.ExprOff == r.ExprEnd {
		p.report(EmptyExpr, r.NameOff, r.NameEnd+1)
		p.good = false
		return
	}
	if p.good {
		p.l.Accepted++
	}
	if p.depth != 1 {
		p.missingColon(r)
	}
}

// missingColon looks in an unbalanced expression for a name that should have opened a rule: .ra behind the first
// place, because no expression can use it, or else a name that stands as a value of its own between two others, as
// $rbp does in "$rsp 8 + $rbp .cfa 16 - ^".
func (p *ruleParser) missingColon(r Rule) {
	depth := 0
	between := Rule{NameOff: -1} // the second element of the stack, while it is a name as written
	for off, end := nextRuleToken(p.text[:r.ExprEnd], r.ExprOff); off < end; off, end = nextRuleToken(p.text[:r.ExprEnd], end) {
		token := p.text[off:end]
		if off > r.ExprOff && string(token) == ".ra" {
			p.report(MissingColon, off, end)
			return
		}
		before := depth
		depth += effect(token, depth)
		switch {
		case depth == 2 && before == 1 && isWordByte(token[0]) && !isDigit(token[0]):
			between = Rule{NameOff: off, NameEnd: end}
		case depth <= 2 && operator(token) != Push:
			between.NameOff = -1
		}
	}
	if depth >= 3 && between.NameOff >= 0 {
		p.report(MissingColon, between.NameOff, between.NameEnd)
	}
}

// repeated reports a second rule for one name.
func (p *ruleParser) repeated(off, end int) {
	const few = 64
	rules := p.l.Rules
	name := p.text[off:end]
	if p.many == nil && len(rules) > few {
		p.many = make(map[string]struct{}, 2*few)
		for _, r := range rules {
			p.many[string(r.Name(p.text))] = struct{}{}
		}
	}
	if p.many != nil {
		if _, ok := p.many[string(name)]; ok {
			p.report(Repeated, off, end+1)
		}
		p.many[string(name)] = struct{}{}
		return
	}
	for _, r := range rules {
		if string(r.Name(p.text)) == string(name) {
			p.report(Repeated, off, end+1)
			return
		}
	}
}

func (p *ruleParser) report(code RuleCode, off, end int) {
	p.l.Problems = append(p.l.Problems, RuleProblem{Code: code, Off: off, End: end})
}
