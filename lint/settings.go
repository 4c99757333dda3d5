package lint

import "fmt"

// Settings say what a run wants of each rule. They are made for one path by the configuration.
type Settings struct {
	rules []setting // by catalogue position
	// Consumers judges by these consumers only.
	Consumers ConsumerSet
	// MinCoverage is the share of FUNC bytes with unwind records, 0 to 1, below which the coverage rule is an error.
	MinCoverage float64
}

// setting is what is wanted of one rule.
type setting struct {
	wanted   uint8    // bit n: findings of Severity n are wanted
	severity Severity // replaces what the finding says; Off = the finding decides
}

const anySeverity uint8 = 1<<Info | 1<<Warning | 1<<Error

// NewSettings returns the defaults: every rule on, at its own severity, for all consumers.
func NewSettings(g *Registry) *Settings {
	s := &Settings{rules: make([]setting, len(g.rules)), Consumers: AllConsumers}
	for i := range s.rules {
		s.rules[i].wanted = anySeverity
	}
	return s
}

// Clone returns an independent copy.
func (s *Settings) Clone() *Settings {
	c := *s
	c.rules = append([]setting(nil), s.rules...)
	return &c
}

// Select drops every finding that no selector names: a rule, family or glob names all findings of its rules, a
// severity all findings of that severity. An empty list changes nothing.
func (s *Settings) Select(g *Registry, selectors []string) error {
	if len(selectors) == 0 {
		return nil
	}
	keep := make([]uint8, len(g.rules))
	for _, sel := range selectors {
		rules, mask, err := g.match(sel)
		if err != nil {
			return err
		}
		for _, r := range rules {
			keep[g.Index(r)] |= mask
		}
	}
	for i := range keep {
		s.rules[i].wanted &= keep[i]
	}
	return nil
}

// Ignore drops every finding that a selector names.
func (s *Settings) Ignore(g *Registry, selectors []string) error {
	for _, sel := range selectors {
		rules, mask, err := g.match(sel)
		if err != nil {
			return err
		}
		for _, r := range rules {
			s.rules[g.Index(r)].wanted &^= mask
		}
	}
	return nil
}

// match is Match for findings: a severity names findings of every rule.
func (g *Registry) match(selector string) ([]*Rule, uint8, error) {
	if v, err := ParseSeverity(selector); err == nil && v != Off {
		return g.rules, 1 << v, nil
	}
	rules, err := g.Match(selector)
	return rules, anySeverity, err
}

// SetSeverity gives the rules a selector names one severity, whatever the single finding would have; Off drops them.
func (s *Settings) SetSeverity(g *Registry, selector string, v Severity) error {
	rules, err := g.Match(selector)
	if err != nil {
		return err
	}
	if v > Error {
		return fmt.Errorf("rule %s: invalid severity %d", selector, v)
	}
	for _, r := range rules {
		x := &s.rules[g.Index(r)]
		if x.severity = v; v == Off {
			x.wanted = 0
		}
	}
	return nil
}

// Severity returns the severity that findings of a rule have by default under these settings, Off when the rule is
// disabled.
func (s *Settings) Severity(g *Registry, r *Rule) Severity {
	i := g.Index(r)
	if i < 0 {
		return Off
	}
	return s.rules[i].effective(r.Severity)
}

// Enabled reports whether a finding of the rule, of its default or another of its severities, would be reported.
func (s *Settings) Enabled(g *Registry, r *Rule) bool {
	i := g.Index(r)
	if i < 0 {
		return false
	}
	for _, v := range append([]Severity{r.Severity}, r.Also...) {
		if s.rules[i].effective(v) != Off {
			return true
		}
	}
	return false
}

// effective is the severity of a finding that says v; Off if it is not wanted.
func (x setting) effective(v Severity) Severity {
	if x.severity != Off {
		v = x.severity
	}
	if x.wanted>>v&1 == 0 {
		return Off
	}
	return v
}
