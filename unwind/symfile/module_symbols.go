package symfile

// Function is a FUNC record that lookups reach.
type Function struct {
	Name       string
	Addr, Size uint64 // bytes of code from the module-relative Addr on
	ParamSize  uint32 // bytes of parameters on the stack
	Multiple   bool   // marked m: several symbols share the code
	Line       int    // of the record, 1-based

	index int32
}

// PublicSymbol is a PUBLIC record that lookups reach.
type PublicSymbol struct {
	Name      string
	Addr      uint64
	ParamSize uint32
	Multiple  bool
	Line      int // of the record, 1-based
}

// Symbol is what a consumer names an address by: a FUNC that covers it, or the PUBLIC before it.
type Symbol struct {
	Name string
	Base uint64 // where the function begins
	Size uint64 // bytes; 0 for a PUBLIC, which has no end
	// ParamSize is the record's own. rust-minidump prefers that of the STACK WIN record at the address.
	ParamSize uint32
	Multiple  bool
	Kind      Kind // Func or Public
	Line      int  // of the record, 1-based
}

// Func returns the function that covers an address.
func (m *Symbols) Func(addr uint64) (Function, bool) {
	e, ok := m.funcs.Get(addr)
	if !ok {
		return Function{}, false
	}
	return m.function(e.Value), true
}

func (m *Symbols) function(i int32) Function {
	e := &m.index.Funcs[i]
	return Function{Name: m.recordName(e.Off, Func), Addr: e.Addr, Size: e.Size, ParamSize: e.ParamSize,
		Multiple: e.Multiple, Line: int(e.Line), index: i}
}

// Funcs is the number of functions that lookups reach.
func (m *Symbols) Funcs() int { return m.funcs.Len() }

// FuncAt returns the i-th function in ascending order of addresses.
func (m *Symbols) FuncAt(i int) Function { return m.function(m.funcs.At(i).Value) }

// Public returns the PUBLIC symbol an address is named by if no function covers it: the closest one at or below it,
// unless a function begins at that symbol or between it and the address.
func (m *Symbols) Public(addr uint64) (PublicSymbol, bool) {
	i, ok := m.public(addr)
	if !ok {
		return PublicSymbol{}, false
	}
	e := &m.index.Publics[i]
	p := PublicSymbol{Addr: e.Addr, Multiple: e.Multiple, Line: int(e.Line)}
	p.Name, p.ParamSize = m.publicText(e)
	return p, true
}

func (m *Symbols) public(addr uint64) (int32, bool) {
	at, i, ok := m.publics.Get(addr)
	if !ok {
		return 0, false
	}
	if f, below := m.funcs.Nearest(addr); below && f.First >= at {
		return 0, false
	}
	return i, true
}

func (m *Symbols) publicText(e *PublicEntry) (name string, params uint32) {
	var r Record
	end := googleLine(m.data, int(e.Off), len(m.data)).End
	if m.policy == RustMinidump {
		rustSymbol(m.data, int(e.Off), end, Public, &r)
	} else {
		googleSymbol(m.data, int(e.Off), end, Public, &r)
	}
	return string(m.data[r.Text.Off:r.Text.End]), uint32(r.ParamSize)
}

// Symbol returns the symbol a consumer names an address by.
func (m *Symbols) Symbol(addr uint64) (Symbol, bool) {
	if f, ok := m.Func(addr); ok {
		s := Symbol{Name: f.Name, Base: f.Addr, Size: f.Size, ParamSize: f.ParamSize, Multiple: f.Multiple,
			Kind: Func, Line: f.Line}
		if m.policy == RustMinidump {
			if w, ok := m.Win(addr); ok {
				s.ParamSize = w.ParamSize
			}
		}
		return s, true
	}
	if p, ok := m.Public(addr); ok {
		return Symbol{Name: p.Name, Base: p.Addr, ParamSize: p.ParamSize, Multiple: p.Multiple, Kind: Public,
			Line: p.Line}, true
	}
	return Symbol{}, false
}

// Named reports whether an address has a symbol with a name, without reading more than that. Stack scanning takes a
// word for a return address only if the address before it has one.
func (m *Symbols) Named(addr uint64) bool {
	if e, ok := m.funcs.Get(addr); ok {
		return m.policy == Breakpad || m.recordName(m.index.Funcs[e.Value].Off, Func) != ""
	}
	i, ok := m.public(addr)
	if !ok {
		return false
	}
	if m.policy == Breakpad {
		return true // it takes no record without a name
	}
	name, _ := m.publicText(&m.index.Publics[i])
	return name != ""
}
