package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/symlint/symlint/lint"
)

// Flags are what the command line says. They come after the file.
type Flags struct {
	Select, Ignore []string
	Severity       []string // "RULE=SEVERITY"
	Consumers      []string // nil = not said
	MinCoverage    *float64 // percent, 0 to 100; nil = not said
}

// layer checks the flags.
func (f *Flags) layer() (*layer, error) {
	l := &layer{minCoverage: f.MinCoverage}
	for _, s := range f.Select {
		l.selected = append(l.selected, selector{s, "--select"})
	}
	for _, s := range f.Ignore {
		l.ignored = append(l.ignored, selector{s, "--ignore"})
	}
	for _, s := range f.Severity {
		rule, level, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("--severity: %q is not of the form RULE=SEVERITY", s)
		}
		v, err := lint.ParseSeverity(level)
		if err != nil {
			return nil, fmt.Errorf("--severity: %w", err)
		}
		l.severities = append(l.severities, severity{selector{rule, "--severity"}, v})
	}
	for _, s := range f.Consumers {
		c, err := lint.ParseConsumer(s)
		if err != nil {
			return nil, fmt.Errorf("--consumers: %w", err)
		}
		l.consumers = l.consumers.Add(c)
	}
	if p := l.minCoverage; p != nil && !(*p >= 0 && *p <= 100) {
		return nil, fmt.Errorf("--min-coverage: %v is no percentage from 0 to 100", *p)
	}
	return l, nil
}

// Settings returns what is wanted of each rule for the file at path. Errors name the place of the mistake.
func (c *Config) Settings(g *lint.Registry, path string, flags Flags) (*lint.Settings, error) {
	last, err := flags.layer()
	if err != nil {
		return nil, err
	}
	var layers []*layer
	if c != nil {
		layers = append(layers, &c.layer)
		rel := c.relative(path)
		for i := range c.overrides {
			if o := &c.overrides[i]; o.matches(rel) {
				layers = append(layers, &o.layer)
			}
		}
	}
	return settings(g, append(layers, last))
}

// Check looks up every rule the file names, also in overrides for paths that may not come.
func (c *Config) Check(g *lint.Registry) error {
	if c == nil {
		return nil
	}
	if _, err := settings(g, []*layer{&c.layer}); err != nil {
		return err
	}
	for i := range c.overrides {
		if _, err := settings(g, []*layer{&c.overrides[i].layer}); err != nil {
			return err
		}
	}
	return nil
}

// relative is the slash path from the directory of the configuration.
func (c *Config) relative(file string) string {
	abs, err := filepath.Abs(file)
	if err == nil {
		var dir, rel string
		if dir, err = filepath.Abs(filepath.Dir(c.Path)); err == nil {
			if rel, err = filepath.Rel(dir, abs); err == nil {
				file = rel
			}
		}
	}
	return filepath.ToSlash(file)
}

func (o *override) matches(rel string) bool {
	return slices.ContainsFunc(o.patterns, func(p string) bool {
		name := rel
		if !strings.Contains(p, "/") {
			name = path.Base(rel)
		}
		return doublestar.MatchUnvalidated(p, name)
	})
}

// state is what the layers so far say of one rule.
type state struct {
	off      bool          // ignored, or of severity off
	severity lint.Severity // Off = not said
}

// settings puts layers on top of each other.
func settings(g *lint.Registry, layers []*layer) (*lint.Settings, error) {
	s := lint.NewSettings(g)
	rules := make([]state, len(g.Rules()))
	var selected []selector
	var levels []string // severities ignored as such
	for _, l := range layers {
		if l.selected != nil {
			selected = l.selected
		}
		for _, sel := range l.selected {
			if r := g.Rule(sel.name); r != nil {
				rules[g.Index(r)].off = false
			}
		}
		for _, v := range byExactness(g, l.severities) {
			matched, err := match(g, v.selector)
			if err != nil {
				return nil, err
			}
			for _, r := range matched {
				x := &rules[g.Index(r)]
				x.severity = v.level
				if v.level == lint.Off {
					x.off = true
				} else if v.name == r.Name {
					x.off = false
				}
			}
		}
		for _, sel := range l.ignored {
			if isSeverity(sel.name) {
				levels = append(levels, sel.name)
				continue
			}
			matched, err := match(g, sel)
			if err != nil {
				return nil, err
			}
			for _, r := range matched {
				rules[g.Index(r)].off = true
			}
		}
		if l.minCoverage != nil {
			s.MinCoverage = *l.minCoverage / 100
		}
		if l.consumers != 0 {
			s.Consumers = l.consumers
		}
	}

	for i, r := range g.Rules() {
		if v := rules[i].severity; v != lint.Off {
			if err := s.SetSeverity(g, r.Name, v); err != nil {
				return nil, err
			}
		}
	}
	var names []string
	for _, sel := range selected {
		if _, err := match(g, sel); err != nil && !isSeverity(sel.name) {
			return nil, err
		}
		names = append(names, sel.name)
	}
	if err := s.Select(g, names); err != nil {
		return nil, err
	}
	off := levels
	for i, r := range g.Rules() {
		if rules[i].off {
			off = append(off, r.Name)
		}
	}
	return s, s.Ignore(g, off)
}

// isSeverity tells selectors of findings of one severity, whatever their rules.
func isSeverity(name string) bool {
	v, err := lint.ParseSeverity(name)
	return err == nil && v != lint.Off
}

// match returns the rules that a selector names, or an error that says where it stands.
func match(g *lint.Registry, s selector) ([]*lint.Rule, error) {
	rules, err := g.Match(s.name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.at, err)
	}
	return rules, nil
}

// byExactness orders severities so that rules come after families, and families after patterns and severities; the
// last one counts.
func byExactness(g *lint.Registry, list []severity) []severity {
	rank := func(s severity) int {
		switch {
		case g.Rule(s.name) != nil:
			return 2
		case slices.ContainsFunc(g.Rules(), func(r *lint.Rule) bool { return r.Family == s.name }):
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b severity) int { return rank(a) - rank(b) })
}
