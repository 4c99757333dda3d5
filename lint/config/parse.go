package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/bmatcuk/doublestar/v4"

	"github.com/symlint/symlint/lint"
)

// Parse reads a configuration from memory; path is what errors name and relative paths start from.
func Parse(path string, data []byte) (*Config, error) {
	if len(data) > MaxSize {
		return nil, &Error{Path: path, Message: fmt.Sprintf("larger than %d bytes", MaxSize)}
	}
	src := string(data)
	if i := invalidUTF8(src); i >= 0 {
		return nil, &Error{path, 1 + strings.Count(src[:i], "\n"), i - strings.LastIndexByte(src[:i], '\n'), "not UTF-8"}
	}
	at, tooDeep := locate(src)
	if tooDeep != nil { // decoding it would be expensive
		return nil, &Error{path, tooDeep.line, tooDeep.column, "nested too deeply"}
	}
	var doc map[string]any
	if _, err := toml.Decode(src, &doc); err != nil {
		return nil, syntaxError(path, err)
	}
	d := &decoder{path: path, at: at}
	c := d.config(doc)
	if len(d.errs) > 0 {
		return nil, errors.Join(d.errs...)
	}
	return c, nil
}

// invalidUTF8 returns the index of the first byte that is no UTF-8, -1 if there is none.
func invalidUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

func syntaxError(path string, err error) error {
	if e, ok := errors.AsType[toml.ParseError](err); ok {
		return &Error{path, e.Position.Line, max(e.Position.Col, 1), e.Message}
	}
	return &Error{Path: path, Message: err.Error()}
}

// decoder turns decoded TOML into a Config. It goes through generic values and not through struct tags, since those
// would let wrong types pass, ignore case, and lose the place of a mistake.
type decoder struct {
	path string
	at   map[string]position
	errs []error
}

func (d *decoder) errorf(key, format string, args ...any) {
	p := d.at[key]
	d.errs = append(d.errs, &Error{d.path, p.line, p.column, fmt.Sprintf(format, args...)})
}

// selector is a selector that stands at a key.
func (d *decoder) selector(key, name string) selector {
	p := d.at[key]
	return selector{name, fmt.Sprintf("%s:%d:%d", d.path, p.line, p.column)}
}

// fields are the keys a table may have.
type fields map[string]func(key string, v any)

// table visits the keys of a table in the order of the file and refuses those that mean nothing.
func (d *decoder) table(key string, v any, known fields) {
	t, ok := v.(map[string]any)
	if !ok {
		d.errorf(key, "%s must be a table, not %s", last(key), kindOf(v))
		return
	}
	for _, name := range d.inOrder(key, t) {
		if visit := known[name]; visit != nil {
			visit(child(key, name), t[name])
			continue
		}
		msg := fmt.Sprintf("unknown key %q", name)
		if s := lint.Nearest(name, slices.Sorted(maps.Keys(known))); s != "" {
			msg += fmt.Sprintf("; did you mean %q?", s)
		}
		d.errorf(child(key, name), "%s", msg)
	}
}

// inOrder returns a table's keys as they stand in the file.
func (d *decoder) inOrder(key string, t map[string]any) []string {
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		p, q := d.at[child(key, a)], d.at[child(key, b)]
		if c := p.line - q.line; c != 0 {
			return c
		}
		if c := p.column - q.column; c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
}

func (d *decoder) config(doc map[string]any) *Config {
	c := &Config{Path: d.path}
	known := d.layerFields(&c.layer)
	known["fail-on"] = func(key string, v any) { c.FailOn = d.failOn(key, v) }
	known["max-per-rule"] = func(key string, v any) {
		n, ok := v.(int64)
		if !ok || n < 0 || n > math.MaxInt32 {
			d.errorf(key, "max-per-rule must be a whole number from 0, not %s", valueOf(v))
			return
		}
		limit := int(n)
		c.MaxPerRule = &limit
	}
	known["consumers"] = func(key string, v any) { c.layer.consumers = d.consumers(key, v) }
	known["baseline"] = func(key string, v any) {
		s, ok := v.(string)
		if !ok || s == "" {
			d.errorf(key, "baseline must be a path, not %s", valueOf(v))
			return
		}
		if s = filepath.FromSlash(s); !filepath.IsAbs(s) {
			s = filepath.Join(filepath.Dir(d.path), s)
		}
		c.Baseline = s
	}
	known["override"] = func(key string, v any) { c.overrides = d.overrides(key, v) }
	d.table("", doc, known)
	return c
}

// layerFields are the keys that the file itself and its overrides have in common.
func (d *decoder) layerFields(l *layer) fields {
	return fields{
		"select": func(key string, v any) {
			if l.selected = d.selectors(key, v); l.selected != nil && len(l.selected) == 0 {
				d.errorf(key, "select is empty, so no rule would run; leave it out to run all")
			}
		},
		"ignore":       func(key string, v any) { l.ignored = d.selectors(key, v) },
		"severity":     func(key string, v any) { l.severities = d.severities(key, v) },
		"min-coverage": func(key string, v any) { l.minCoverage = d.percent(key, v) },
	}
}

func (d *decoder) overrides(key string, v any) []override {
	tables, ok := v.([]map[string]any)
	if !ok {
		d.errorf(key, "override must be an array of tables, as in [[override]], not %s", kindOf(v))
		return nil
	}
	out := make([]override, len(tables))
	for i, t := range tables {
		o := &out[i]
		known := d.layerFields(&o.layer)
		known["paths"] = func(key string, v any) { o.patterns = d.patterns(key, v) }
		d.table(element(key, i), t, known)
		if _, ok := t["paths"]; !ok {
			d.errorf(element(key, i), "override has no paths")
		}
	}
	return out
}

func (d *decoder) patterns(key string, v any) []string {
	var out []string
	n := d.strings(key, v, func(key, s string) {
		p := strings.TrimPrefix(s, "./")
		if strings.HasSuffix(p, "/") { // a directory is all that is in it
			p += "**"
		}
		if p == "" || !doublestar.ValidatePattern(p) {
			d.errorf(key, "bad pattern %q", s)
		}
		out = append(out, p)
	})
	if n == 0 {
		d.errorf(key, "paths is empty")
	}
	return out
}

// selectors reads a list of selectors, nil if it is none.
func (d *decoder) selectors(key string, v any) []selector {
	out := []selector{}
	if n := d.strings(key, v, func(key, s string) {
		out = append(out, d.selector(key, s))
	}); n < 0 {
		return nil
	}
	return out
}

// strings visits a list of strings and returns its length, -1 if it is none.
func (d *decoder) strings(key string, v any, visit func(key, s string)) int {
	list, ok := v.([]any)
	if !ok {
		d.errorf(key, "%s must be a list of strings, not %s", last(key), valueOf(v))
		return -1
	}
	for i, x := range list {
		s, ok := x.(string)
		if !ok {
			d.errorf(element(key, i), "%s must be a list of strings, but has %s in it", last(key), valueOf(x))
			return -1
		}
		visit(element(key, i), s)
	}
	return len(list)
}

func (d *decoder) severities(key string, v any) []severity {
	t, ok := v.(map[string]any)
	if !ok {
		d.errorf(key, "severity must be a table of rules and severities, not %s", kindOf(v))
		return nil
	}
	var out []severity
	for _, name := range d.inOrder(key, t) {
		k := child(key, name)
		s, ok := t[name].(string)
		if !ok {
			d.errorf(k, "the severity of %s must be error, warning, info or off, not %s", name, valueOf(t[name]))
			continue
		}
		level, err := lint.ParseSeverity(s)
		if err != nil {
			d.errorf(k, "%v", err)
			continue
		}
		out = append(out, severity{d.selector(k, name), level})
	}
	return out
}

func (d *decoder) failOn(key string, v any) *lint.Severity {
	s, _ := v.(string)
	level, err := ParseFailOn(s)
	if err != nil {
		d.errorf(key, "fail-on must be error, warning, info or never, not %s", valueOf(v))
		return nil
	}
	return &level
}

// ParseFailOn reads the severity from which findings fail a run: error, warning, info, or never, which is lint.Off.
func ParseFailOn(s string) (lint.Severity, error) {
	if s == "never" {
		return lint.Off, nil
	}
	level, err := lint.ParseSeverity(s)
	if err != nil || level == lint.Off {
		return lint.Off, fmt.Errorf("unknown threshold %q (want error, warning, info or never)", s)
	}
	return level, nil
}

func (d *decoder) consumers(key string, v any) lint.ConsumerSet {
	var set lint.ConsumerSet
	n := d.strings(key, v, func(key, s string) {
		c, err := lint.ParseConsumer(s)
		if err != nil {
			d.errorf(key, "%v", err)
			return
		}
		set = set.Add(c)
	})
	if n == 0 {
		d.errorf(key, "consumers is empty")
	}
	return set
}

func (d *decoder) percent(key string, v any) *float64 {
	var p float64
	switch v := v.(type) {
	case int64:
		p = float64(v)
	case float64:
		p = v
	default:
		p = math.NaN()
	}
	if !(p >= 0 && p <= 100) {
		d.errorf(key, "min-coverage must be a percentage from 0 to 100, not %s", valueOf(v))
		return nil
	}
	return &p
}

// kindOf names a value's type as TOML does.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "an array of tables"
	}
	return "a date or time"
}

// valueOf shows a simple value, and names the type of others.
func valueOf(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case int64, float64, bool:
		return fmt.Sprint(v)
	}
	return kindOf(v)
}
