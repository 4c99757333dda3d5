package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Registry is a set of rules known by name.
type Registry struct {
	rules  []*Rule
	byName map[string]int
}

// NewRegistry builds a registry. It refuses duplicate names and rules without documentation.
func NewRegistry(rules ...*Rule) (*Registry, error) {
	g := &Registry{byName: make(map[string]int, len(rules))}
	for _, r := range rules {
		if _, dup := g.byName[r.Name]; dup {
			return nil, fmt.Errorf("rule %s is defined twice", r.Name)
		}
		if r.Name == "" || r.Family == "" || r.Summary == "" || r.Why == "" || r.Severity == Off {
			return nil, fmt.Errorf("rule %q lacks a name, family, summary, severity or explanation", r.Name)
		}
		g.byName[r.Name] = len(g.rules)
		g.rules = append(g.rules, r)
	}
	return g, nil
}

// Rules returns all rules in their order of registration, which is that of the catalogue.
func (g *Registry) Rules() []*Rule { return g.rules }

// Rule returns the rule of that name, or nil.
func (g *Registry) Rule(name string) *Rule {
	if i, ok := g.byName[name]; ok {
		return g.rules[i]
	}
	return nil
}

// Index returns the position of the rule in the catalogue, -1 if it is not there.
func (g *Registry) Index(r *Rule) int {
	if i, ok := g.byName[r.Name]; ok {
		return i
	}
	return -1
}

// Match returns the rules a selector names: a rule name, a family, a severity, or a glob over names.
// An unknown selector is an error that suggests the nearest known one.
func (g *Registry) Match(selector string) ([]*Rule, error) {
	if selector == "all" {
		return g.rules, nil
	}
	var out []*Rule
	sev, sevErr := ParseSeverity(selector)
	for _, r := range g.rules {
		ok := r.Name == selector || r.Family == selector
		if sevErr == nil {
			ok = ok || r.Severity == sev
		}
		if !ok && strings.ContainsAny(selector, "*?[") {
			m, err := path.Match(selector, r.Name)
			if err != nil {
				return nil, fmt.Errorf("bad pattern %q: %w", selector, err)
			}
			ok = m
		}
		if ok {
			out = append(out, r)
		}
	}
	if out == nil {
		return nil, g.unknown(selector)
	}
	return out, nil
}

func (g *Registry) unknown(selector string) error {
	var names []string
	for _, r := range g.rules {
		names = append(names, r.Name)
		if !slices.Contains(names, r.Family) {
			names = append(names, r.Family)
		}
	}
	names = append(names, "error", "warning", "info")
	msg := fmt.Sprintf("unknown rule, family or severity %q", selector)
	if s := Nearest(selector, names); s != "" {
		msg += fmt.Sprintf("; did you mean %q?", s)
	}
	return &UnknownRuleError{selector, msg}
}

// UnknownRuleError reports a selector that names nothing.
type UnknownRuleError struct{ Selector, msg string }

func (e *UnknownRuleError) Error() string { return e.msg }

// Nearest returns the candidate with the smallest edit distance to name, "" when none is close enough to suggest. A
// candidate that begins with name is one step away.
func Nearest(name string, candidates []string) string {
	best, bestDist := "", len(name)/3+2
	for _, c := range candidates {
		d := editDistance(name, c)
		if len(name) > 2 && strings.HasPrefix(c, name) {
			d = min(d, 1)
		}
		if d < bestDist || d == bestDist && best != "" && len(c) < len(best) {
			best, bestDist = c, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		prev := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cur := row[j]
			cost := prev
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, row[j]+1, row[j-1]+1)
			prev = cur
		}
	}
	return row[len(b)]
}
