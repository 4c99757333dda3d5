package plant

import (
	"slices"
	"strconv"
	"strings"
)

// rule is one `name: expression` of a STACK CFI record.
type rule struct {
	name string
	expr []string
}

// splitRules cuts a rule text. It is only asked about healthy ones.
func splitRules(text string) (rules []rule) {
	for _, token := range strings.Fields(text) {
		if name, ok := strings.CutSuffix(token, ":"); ok {
			rules = append(rules, rule{name: name})
		} else if n := len(rules); n > 0 {
			rules[n-1].expr = append(rules[n-1].expr, token)
		}
	}
	return rules
}

func joinRules(rules []rule) string {
	var parts []string
	for _, r := range rules {
		parts = append(parts, strings.Join(append([]string{r.name + ":"}, r.expr...), " "))
	}
	return strings.Join(parts, " ")
}

// find is the index of the rule for name, or -1.
func find(rules []rule, name string) int {
	return slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
}

// rules are those of STACK CFI record i.
func (f *file) rules(i int) []rule { return splitRules(f.recs[i].rest()) }

// setRules replaces them.
func (f *file) setRules(i int, rules []rule) {
	f.setField(i, len(f.recs[i].fields)-1, joinRules(rules))
}

// state are the rules in force behind row i: those of its INIT and of all rows between.
func (f *file) state(i int) map[string][]string {
	first := i
	if f.recs[i].kind == cfiDelta {
		first = f.recs[i].block
	}
	state := map[string][]string{}
	for j := first; j <= i && j >= 0; j++ {
		if f.recs[j].kind == cfiInit || f.recs[j].kind == cfiDelta {
			for _, r := range f.rules(j) {
				state[r.name] = r.expr
			}
		}
	}
	return state
}

// offset reads an expression of the form `base N +`.
func offset(expr []string) (base string, n int, ok bool) {
	if len(expr) != 3 || expr[2] != "+" {
		return "", 0, false
	}
	n, err := strconv.Atoi(expr[1])
	return expr[0], n, err == nil
}

// slot reads an expression of the form `.cfa N + ^`.
func slot(expr []string) (n int, ok bool) {
	if len(expr) != 4 || expr[3] != "^" {
		return 0, false
	}
	base, n, ok := offset(expr[:3])
	return n, ok && base == ".cfa"
}

// literal reports whether a token of an expression is a number.
func literal(token string) bool {
	_, err := strconv.Atoi(token)
	return err == nil
}

// statement is one assignment of a STACK WIN program: tokens from to end-1, the last of which is `=`.
type statement struct {
	from, end int
	target    string
	reads     []int // positions of the operands that are read
}

// statements cuts a program into its assignments; ok is false when it is not a plain sequence of such.
func statements(tokens []string) (list []statement, ok bool) {
	var stack []int // positions of operands; -1 for results
	from := 0
	var reads []int
	pop := func() bool {
		if len(stack) == 0 {
			return false
		}
		if at := stack[len(stack)-1]; at >= 0 {
			reads = append(reads, at)
		}
		stack = stack[:len(stack)-1]
		return true
	}
	for i, t := range tokens {
		switch t {
		case "+", "-", "*", "/", "%", "@":
			if len(stack) < 2 {
				return nil, false
			}
			pop()
			pop()
			stack = append(stack, -1)
		case "^":
			if !pop() {
				return nil, false
			}
			stack = append(stack, -1)
		case "=":
			if !pop() || len(stack) != 1 || stack[0] < 0 {
				return nil, false
			}
			list = append(list, statement{from, i + 1, tokens[stack[0]], reads})
			stack, reads, from = nil, nil, i+1
		default:
			stack = append(stack, i)
		}
	}
	return list, len(stack) == 0 && len(list) > 0
}
