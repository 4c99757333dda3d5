package symfile

// Frames is all that a consumer shows for an address: the function whose code it is, and the calls inlined there.
type Frames struct {
	Symbol
	// File and Number are the source position within the function itself, which is the outermost call site if calls
	// are inlined. "" and 0: unknown.
	File     string
	Number   int64
	LineBase uint64 // where the code of that position begins
	// Inlines are the inlined calls, innermost first.
	Inlines []InlineFrame
}

// InlineFrame is a call that was inlined.
type InlineFrame struct {
	Name string // "<name omitted>" if Google's reader finds no origin; rust-minidump leaves such frames out
	Base uint64 // where the range of the record begins that covers the address
	// File and Number are the source position within the inlined function: that of the line record for the innermost
	// one, the call site of the next inner one for the others.
	File     string
	Number   int64
	LineBase uint64 // as Frames.LineBase: readers do not tell it for each
	// CallFile and CallNumber are where the record says the call was.
	CallFile   string
	CallNumber int64
	Nest       int64
	Line       int // of the INLINE record, 1-based
}

// nameOmitted is what Google's reader shows for an inlined function whose origin is not defined.
const nameOmitted = "<name omitted>"

// Lookup returns all that a consumer shows for an address.
func (m *Symbols) Lookup(addr uint64) (Frames, bool) {
	s, ok := m.Symbol(addr)
	if !ok {
		return Frames{}, false
	}
	f := Frames{Symbol: s}
	if s.Kind == Func {
		e, _ := m.funcs.Get(addr)
		if d := m.detail(e.Value); m.policy == RustMinidump {
			m.rustFrames(&f, d, addr)
		} else {
			m.googleFrames(&f, d, addr)
		}
	}
	return f, true
}

// Inlines returns the calls inlined at an address, innermost first.
func (m *Symbols) Inlines(addr uint64) []InlineFrame {
	f, _ := m.Lookup(addr)
	return f.Inlines
}

// googleFrames follows LookupAddress and ConstructInlineFrames in src/processor/basic_source_line_resolver.cc.
func (m *Symbols) googleFrames(f *Frames, d *funcDetail, addr uint64) {
	if l, ok := d.lines.Get(addr); ok {
		f.File, _ = m.File(l.Value.File)
		f.Number, f.LineBase = l.Value.Number, l.First
	}
	for _, e := range d.nested.All(addr, nil) {
		c := &d.calls[e.Value]
		in := InlineFrame{LineBase: f.LineBase, CallNumber: c.number, Nest: c.nest, Line: c.line}
		known := false
		if in.Name, known = m.Origin(c.origin); !known {
			in.Name = nameOmitted
		}
		if c.named {
			in.CallFile, _ = m.File(c.file)
		}
		if in.CallFile == "" {
			in.CallFile = f.File
		}
		for _, r := range c.ranges {
			if addr >= r.First && addr < r.First+r.Last {
				in.Base = r.First
				break
			}
		}
		f.Inlines = append(f.Inlines, in)
	}
	// Positions move outwards: each frame gets the one that was found for the frame within it.
	for i := range f.Inlines {
		in := &f.Inlines[i]
		in.File, in.Number = f.File, f.Number
		f.File, f.Number = in.CallFile, in.CallNumber
	}
}

// rustFrames follows SymbolFile::fill_symbol in breakpad-symbols/src/sym_file/mod.rs.
func (m *Symbols) rustFrames(f *Frames, d *funcDetail, addr uint64) {
	line, hasLine := d.lines.Get(addr)
	outer, inlined := d.atNest(0, addr)
	if !inlined {
		if name, ok := m.File(line.Value.File); ok && hasLine {
			f.File, f.Number, f.LineBase = name, line.Value.Number, line.First
		}
		return
	}
	c := &d.calls[outer.call]
	if name, ok := m.File(c.file); ok {
		f.File, f.Number, f.LineBase = name, c.number, outer.addr
	}
	frame := func(at inlineRange, file, number int64) {
		c := &d.calls[at.call]
		name, ok := m.Origin(c.origin)
		if !ok {
			return
		}
		in := InlineFrame{Name: name, Base: at.addr, Number: number, LineBase: f.LineBase, CallNumber: c.number,
			Nest: c.nest, Line: c.line}
		in.File, _ = m.File(file)
		in.CallFile, _ = m.File(c.file)
		f.Inlines = append(f.Inlines, in)
	}
	for nest := int64(1); ; nest++ {
		next, ok := d.atNest(nest, addr)
		if !ok {
			break
		}
		frame(outer, d.calls[next.call].file, d.calls[next.call].number)
		outer = next
	}
	if hasLine {
		frame(outer, line.Value.File, line.Value.Number)
	} else {
		frame(outer, -1, 0)
	}
	for i, j := 0, len(f.Inlines)-1; i < j; i, j = i+1, j-1 {
		f.Inlines[i], f.Inlines[j] = f.Inlines[j], f.Inlines[i]
	}
}
