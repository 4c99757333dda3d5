package replay

import (
	"slices"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/symfile"
)

// scope is how much of a symbol file a remedy changes.
type scope uint8

const (
	oneRow scope = iota // the record that the rule stands in
	oneBlock
	wholeModule
)

var scopeTexts = [...]string{"this record", "the records of this function", "every record of the file"}

// target is the STACK CFI information that a remedy is tried on.
type target struct {
	module *unwind.Module
	addr   uint64 // module-relative address that was looked up
	info   *symfile.CFI
	row    *symfile.CFIRow // the last row in force
}

// rewrite makes a patch that changes rules one by one. The function gets a rule and returns what to put in its place,
// or false for no rule.
func (t *target) rewrite(s scope, change func(r symfile.CFIRule) (symfile.CFIRule, bool)) unwind.Patch {
	return unwind.Patch{CFI: func(m *unwind.Module, _ *symfile.Symbols, _ uint64, info *symfile.CFI) *symfile.CFI {
		if info == nil || m != t.module || s != wholeModule && info.Addr != t.info.Addr {
			return info
		}
		out := *info
		out.Rules = make([]symfile.CFIRule, 0, len(info.Rules))
		for _, r := range info.Rules {
			if s == oneRow && r.Line != t.row.Line {
				out.Rules = append(out.Rules, r)
				continue
			}
			if r, ok := change(r); ok {
				out.Rules = append(out.Rules, r)
			}
		}
		return complete(&out)
	}}
}

// rule is rewrite for the one rule of a register that stands in a given line.
func (t *target) rule(name string, line int, expr string) unwind.Patch {
	return t.rewrite(oneBlock, func(r symfile.CFIRule) (symfile.CFIRule, bool) {
		if r.Name == name && r.Line == line {
			r.Expr = expr
		}
		return r, true
	})
}

// add puts a rule in force that no record gives, where the same rows apply as at the target.
func (t *target) add(s scope, name, expr string) unwind.Patch {
	return unwind.Patch{CFI: func(m *unwind.Module, _ *symfile.Symbols, _ uint64, info *symfile.CFI) *symfile.CFI {
		if info == nil || m != t.module || s != wholeModule && info.Addr != t.info.Addr || s == oneRow && !t.applies(info) {
			return info
		}
		if _, ok := info.Rule(name); ok {
			return info
		}
		out := *info
		out.Rules = append(slices.Clone(info.Rules), symfile.CFIRule{Name: name, Expr: expr, Line: t.row.Line})
		return complete(&out)
	}}
}

// applies reports whether the target's last row is in force.
func (t *target) applies(info *symfile.CFI) bool {
	return slices.ContainsFunc(info.Rows, func(r symfile.CFIRow) bool { return r.Line == t.row.Line })
}

// at makes the rules in force at another address of the same function apply at the target's rows.
func (t *target) at(addr uint64) unwind.Patch {
	return unwind.Patch{CFI: func(m *unwind.Module, s *symfile.Symbols, _ uint64, info *symfile.CFI) *symfile.CFI {
		if info == nil || m != t.module || info.Addr != t.info.Addr || info.Rows[len(info.Rows)-1].Line != t.row.Line {
			return info
		}
		return s.CFI(addr)
	}}
}

// replaceWhereLast replaces a rule of an earlier record where the target's last record is in force.
func (t *target) replaceWhereLast(name string, line int, expr string) func(m *unwind.Module, s *symfile.Symbols, addr uint64, info *symfile.CFI) *symfile.CFI {
	change := t.rule(name, line, expr).CFI
	return func(m *unwind.Module, s *symfile.Symbols, addr uint64, info *symfile.CFI) *symfile.CFI {
		if info == nil || m != t.module || info.Addr != t.info.Addr || !t.applies(info) {
			return info
		}
		return change(m, s, addr, info)
	}
}

// drop makes the walk behave as if the records were not there.
func (t *target) drop(s scope) unwind.Patch {
	return unwind.Patch{CFI: func(m *unwind.Module, _ *symfile.Symbols, _ uint64, info *symfile.CFI) *symfile.CFI {
		if info == nil || m != t.module || s != wholeModule && info.Addr != t.info.Addr || s == oneRow && !t.applies(info) {
			return info
		}
		return nil
	}}
}

// complete decides anew whether the rules can be used.
func complete(c *symfile.CFI) *symfile.CFI {
	c.Err = ""
	for _, name := range [...]string{".cfa", ".ra"} {
		if _, ok := c.Rule(name); !ok {
			c.Err = "no rule for " + name
			break
		}
	}
	return c
}
