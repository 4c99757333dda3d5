package postfix

// Cache compiles each distinct expression once. A symbol file of a million rows has a few thousand.
// The zero value is ready; it belongs to one goroutine. It grows with the number of distinct texts.
type Cache struct {
	// Bind, if set, resolves the names of each new program, see Program.Bind.
	Bind func(name string) int32

	programs [2]map[string]*Program
	names    map[string]string
}

// Program returns the compiled expression. Text already seen costs no allocation.
func (c *Cache) Program(text []byte, d Dialect) *Program {
	d &= 1
	if p, ok := c.programs[d][string(text)]; ok {
		return p
	}
	p, _ := Compile(text, d)
	if c.Bind != nil {
		p.Bind(c.Bind)
	}
	if c.programs[d] == nil {
		c.programs[d] = make(map[string]*Program)
	}
	c.programs[d][p.Text] = p
	return p
}

func (c *Cache) intern(name []byte) string {
	if s, ok := c.names[string(name)]; ok {
		return s
	}
	if c.names == nil {
		c.names = make(map[string]string)
	}
	s := string(name)
	c.names[s] = s
	return s
}

// RuleSet is the rules in force at one address: those of the INIT record, overridden by the deltas up to there.
type RuleSet struct {
	Semantics Semantics
	CFA, RA   *Program // nil where there is no rule
	Registers []RegisterRule

	scratch RuleList
}

// RegisterRule recovers one register.
type RegisterRule struct {
	Name    string // as Semantics.RuleTarget gives it
	Program *Program
}

// Reset empties the set.
func (s *RuleSet) Reset() { s.CFA, s.RA, s.Registers = nil, nil, s.Registers[:0] }

// Set puts a rule in force, in place of the one for the same name.
func (s *RuleSet) Set(name string, p *Program) {
	switch name {
	case ".cfa":
		s.CFA = p
		return
	case ".ra":
		s.RA = p
		return
	}
	name = s.Semantics.RuleTarget(name)
	for i := range s.Registers {
		if s.Registers[i].Name == name {
			s.Registers[i].Program = p
			return
		}
	}
	s.Registers = append(s.Registers, RegisterRule{Name: name, Program: p})
}

// Rule returns the rule in force for .cfa, .ra or a register, or nil.
func (s *RuleSet) Rule(name string) *Program {
	switch name {
	case ".cfa":
		return s.CFA
	case ".ra":
		return s.RA
	}
	name = s.Semantics.RuleTarget(name)
	for i := range s.Registers {
		if s.Registers[i].Name == name {
			return s.Registers[i].Program
		}
	}
	return nil
}

// Apply overrides the set by the rule text of one more record, and reports whether the text parsed. What to do where
// it does not is the caller's: Breakpad finds an INIT record unusable, but keeps the rules before the failure of a
// delta, which Apply has set then; RustMinidump gives up the address.
func (s *RuleSet) Apply(text []byte, c *Cache) bool {
	l := &s.scratch
	l.Parse(text)
	for _, r := range l.Rules[:l.Accepted] {
		s.Set(c.intern(r.Name(text)), c.Program(r.Expr(text), CFI))
	}
	return l.OK()
}

// Row is what a rule set recovers of the caller. It is reused.
type Row struct {
	CFA, RA   uint64
	Registers []Recovered // one for each of RuleSet.Registers
}

// Recovered is one register of the caller, or why its rule failed.
type Recovered struct {
	Value uint64
	Fault Fault
}

// Evaluate recovers the caller's registers from the callee's, which env holds: .cfa first, which sees registers only;
// then .ra and each register, which see .cfa too, but neither .ra nor each other. Assignments inside a rule end with
// it. A register rule that fails leaves its Fault in the row and does not disturb the others; a missing or failing
// .cfa or .ra makes the whole set unusable and is returned, with the failing program (nil for a missing rule).
func (s *RuleSet) Evaluate(m *Machine, env Env, row *Row) (*Program, Fault) {
	row.CFA, row.RA, row.Registers = 0, 0, row.Registers[:0]
	defer m.ClearCFA()
	switch {
	case s.CFA == nil:
		return nil, Fault{Code: MissingCFA}
	case s.RA == nil:
		return nil, Fault{Code: MissingRA}
	}
	var f Fault
	m.ClearCFA()
	if row.CFA, f = m.Value(s.CFA, env); f.Failed() {
		return s.CFA, f
	}
	m.SetCFA(row.CFA)
	if row.RA, f = m.Value(s.RA, env); f.Failed() {
		return s.RA, f
	}
	for _, r := range s.Registers {
		v, f := m.Value(r.Program, env)
		row.Registers = append(row.Registers, Recovered{Value: v, Fault: f})
	}
	return nil, Fault{}
}
