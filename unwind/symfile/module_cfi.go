package symfile

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// CFI is the STACK CFI information in force at an address.
type CFI struct {
	Addr, Size uint64   // the range of the INIT record, in bytes
	Rows       []CFIRow // the INIT record and the deltas that apply, in the order they are applied
	// Rules are the rules that result, one for each register: .cfa, .ra, then the others by name.
	Rules []CFIRule
	// Err says why the consumer does not use the information at this address, "" if it does: its rules do not parse, or
	// there is none for .cfa or .ra.
	Err string
}

// Rule returns the rule in force for a register. Under the RustMinidump policy a leading $ does not count.
func (c *CFI) Rule(name string) (CFIRule, bool) {
	for _, r := range c.Rules {
		if r.Name == name {
			return r, true
		}
	}
	return CFIRule{}, false
}

// CFIRow is a STACK CFI INIT record or one of its deltas.
type CFIRow struct {
	Addr  uint64
	Line  int // 1-based
	Init  bool
	Text  Span // the rules, as a span of the input
	Rules []CFIRule
	// Err says why the text could not be parsed to its end, "" if it could. The rules before the defect are in Rules;
	// Google's reader applies them if the row is a delta, rust-minidump uses none.
	Err string
}

// CFIRule is how the caller's value of one register is computed.
type CFIRule struct {
	Name       string // .cfa, .ra or a register as spelled, without the colon
	Expr       string // the postfix expression
	Line       int    // of the record the rule comes from, 1-based
	NameSpan   Span   // in the input, without the colon
	ExprSpan   Span   // in the input
	RowAddress uint64 // of the record the rule comes from
}

// CFI returns the unwind rules in force at an address; nil if no INIT record covers it.
//
// Google's reader takes the first INIT record in the file that covers the address and applies every delta of the whole
// file that lies between its start and the address; of two deltas at one address the last in the file replaces the
// other. rust-minidump takes the INIT record whose range sorts first and applies the deltas below that record, in the
// order of their address and text.
func (m *Symbols) CFI(addr uint64) *CFI {
	e, ok := m.inits.Get(addr)
	if !ok {
		return nil
	}
	block := m.block(e.Value)
	c := &CFI{Addr: e.First, Size: e.Size()}
	// The first row always applies.
	n := 1 + sort.Search(len(block.rows)-1, func(i int) bool { return !block.rows[1+i].Init && block.rows[1+i].Addr > addr })
	c.Rows = block.rows[:n:n]
	m.merge(c, block)
	return c
}

// unwindBlock is an INIT record with the deltas that can apply in its range, in order.
type unwindBlock struct {
	rows []CFIRow
	// steps are the rules in force behind every stepRows rows, so that a long block is not merged from its start for
	// every address.
	steps []cfiStep
}

type cfiStep struct {
	rules []CFIRule
	err   string
}

const (
	stepRows  = 32
	stepRules = 64 // more rules are not kept: no CPU has so many registers
)

// HasCFI reports whether an INIT record covers an address.
func (m *Symbols) HasCFI(addr uint64) bool {
	_, ok := m.inits.Get(addr)
	return ok
}

// merge applies the rows in order.
func (m *Symbols) merge(c *CFI, block *unwindBlock) {
	from := 0
	if k := min(len(c.Rows)/stepRows, len(block.steps)); k > 0 {
		step := &block.steps[k-1]
		c.Rules, c.Err = slices.Clone(step.rules), step.err
		from = k * stepRows
	}
	for i := from; i < len(c.Rows); i++ {
		c.Rules, c.Err = m.applyRow(&c.Rows[i], c.Rules, c.Err)
	}
	slices.SortStableFunc(c.Rules, func(a, b CFIRule) int {
		return cmp.Or(cmp.Compare(ruleOrder(a.Name), ruleOrder(b.Name)), strings.Compare(a.Name, b.Name))
	})
	if c.Err != "" {
		return
	}
	for _, name := range [...]string{".cfa", ".ra"} {
		if _, ok := c.Rule(name); !ok {
			c.Err = "no rule for " + name
			return
		}
	}
}

// applyRow puts the rules of one record in force.
func (m *Symbols) applyRow(row *CFIRow, rules []CFIRule, err string) ([]CFIRule, string) {
	if row.Err != "" && err == "" && (row.Init || m.policy == RustMinidump) {
		err = row.Err
	}
	for _, rule := range row.Rules {
		if k := m.ruleIndex(rules, rule.Name); k >= 0 {
			rules[k] = rule
		} else {
			rules = append(rules, rule)
		}
	}
	return rules, err
}

func ruleOrder(name string) int {
	switch name {
	case ".cfa":
		return 0
	case ".ra":
		return 1
	}
	return 2
}

func (m *Symbols) ruleIndex(rules []CFIRule, name string) int {
	if m.policy == RustMinidump {
		name = strings.TrimPrefix(name, "$")
	}
	for i := range rules {
		have := rules[i].Name
		if m.policy == RustMinidump {
			have = strings.TrimPrefix(have, "$")
		}
		if have == name {
			return i
		}
	}
	return -1
}

// block returns the INIT record with the given position and all deltas that can apply within its range.
func (m *Symbols) block(init int32) *unwindBlock {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.blocks[init]; ok {
		return b
	}
	b := &unwindBlock{rows: m.readRows(init)}
	var rules []CFIRule
	err := ""
	for i := range b.rows {
		if rules, err = m.applyRow(&b.rows[i], rules, err); (i+1)%stepRows == 0 && len(b.steps) == i/stepRows && len(rules) <= stepRules {
			b.steps = append(b.steps, cfiStep{slices.Clone(rules), err})
		}
	}
	if m.blocks == nil || len(m.blocks) >= cached {
		m.blocks = make(map[int32]*unwindBlock)
	}
	m.blocks[init] = b
	return b
}

func (m *Symbols) readRows(init int32) []CFIRow {
	e := &m.index.Inits[init]
	var rows []CFIRow
	add := func(addr uint64, text Span, line int) { rows = append(rows, m.row(addr, text, line, false)) }
	if m.policy == RustMinidump {
		m.rustRows(init, add)
		rows[0].Init = true
		slices.SortStableFunc(rows[1:], func(a, b CFIRow) int {
			return cmp.Or(cmp.Compare(a.Addr, b.Addr), strings.Compare(m.text(a.Text), m.text(b.Text)))
		})
		return rows
	}
	return m.withStrays(m.ownRows(init), e.Addr, e.Addr+e.Size-1)
}

// withStrays merges the deltas from elsewhere that fall into an INIT record's range with its own. Of two at one address
// the one that stands later in the file counts.
func (m *Symbols) withStrays(rows []CFIRow, first, last uint64) []CFIRow {
	i := sort.Search(len(m.strays), func(i int) bool { return m.strays[i].addr >= first })
	if i == len(m.strays) || m.strays[i].addr > last {
		return rows
	}
	own := slices.Clone(rows[1:])
	rows = rows[:1]
	for i < len(m.strays) && m.strays[i].addr <= last || len(own) > 0 {
		if i == len(m.strays) || m.strays[i].addr > last || len(own) > 0 && own[0].Addr < m.strays[i].addr {
			rows = append(rows, own[0])
			own = own[1:]
			continue
		}
		s := m.strays[i]
		for i++; i < len(m.strays) && m.strays[i].addr == s.addr; i++ {
			s = m.strays[i] // they stand in the order of the file
		}
		if len(own) > 0 && own[0].Addr == s.addr {
			if own[0].Text.Off > s.text.Off {
				rows = append(rows, own[0])
				own = own[1:]
				continue
			}
			own = own[1:]
		}
		rows = append(rows, m.row(s.addr, s.text, int(s.line), false))
	}
	return rows
}

func (m *Symbols) text(s Span) string { return string(m.data[s.Off:s.End]) }

// row splits the rules of a record.
func (m *Symbols) row(addr uint64, text Span, line int, init bool) CFIRow {
	row := CFIRow{Addr: addr, Line: line, Init: init, Text: text}
	rule := CFIRule{Line: line, RowAddress: addr}
	named := false
	report := func() bool {
		switch {
		case !named:
			row.Err = "rules do not begin with a register"
		case rule.ExprSpan == Span{}:
			row.Err = "no expression for " + m.text(rule.NameSpan)
		default:
			rule.Name, rule.Expr = m.text(rule.NameSpan), m.text(rule.ExprSpan)
			row.Rules = append(row.Rules, rule)
			return true
		}
		return false
	}
	for p := text.Off; ; {
		for p < text.End && m.ruleBreak(m.data[p]) {
			p++
		}
		if p == text.End {
			report()
			return row
		}
		start := p
		for p < text.End && !m.ruleBreak(m.data[p]) {
			p++
		}
		if m.data[p-1] != ':' {
			if !named && m.policy == RustMinidump {
				report()
				return row
			}
			if rule.ExprSpan == (Span{}) {
				rule.ExprSpan.Off = start
			}
			rule.ExprSpan.End = p
			continue
		}
		if p-start == 1 && m.policy == Breakpad {
			row.Err = "a colon without a register before it" // what came before it is dropped as well
			return row
		}
		if (named || rule.ExprSpan != Span{}) && !report() {
			return row
		}
		named = true
		rule.NameSpan, rule.ExprSpan = Span{start, p - 1}, Span{}
	}
}

// ruleBreak tells the characters that separate the words of a rule text.
func (m *Symbols) ruleBreak(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' && m.policy == RustMinidump
}
