package symfile

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// SourceLine is a line record.
type SourceLine struct {
	Addr, Size uint64 // bytes of code from the module-relative Addr on
	Number     int64  // source line; 0 for code that has none
	File       int64  // id, for Symbols.File
	Line       int    // of the record in the symbol file, 1-based
}

// inlineCall is an INLINE record.
type inlineCall struct {
	nest, number, file, origin int64
	named                      bool // the record names the file of the call
	line                       int
	ranges                     []RangeEntry[struct{}]
}

// inlineRange is one range of an INLINE record, as rust-minidump keeps them.
type inlineRange struct {
	addr, size uint64
	call       int32
}

// funcDetail is what stands below a FUNC record.
type funcDetail struct {
	lines  RangeMap[SourceLine]
	calls  []inlineCall
	nested ContainedRangeMap[int32] // Google: values are positions in calls
	byNest []inlineRange            // rust-minidump: by nest, address, …
}

// Lines returns the line records of a function that lookups reach, in ascending order of addresses. Records that
// overlap an earlier one (rust-minidump: one that sorts lower) or are empty are not among them.
func (m *Symbols) Lines(f Function) []SourceLine {
	d := m.detail(f.index)
	if d == nil {
		return nil
	}
	out := make([]SourceLine, d.lines.Len())
	for i := range out {
		out[i] = d.lines.At(i).Value
	}
	return out
}

// LineAt returns the line record at an address within a function.
func (m *Symbols) LineAt(addr uint64) (SourceLine, bool) {
	e, ok := m.funcs.Get(addr)
	if !ok {
		return SourceLine{}, false
	}
	l, ok := m.detail(e.Value).lines.Get(addr)
	return l.Value, ok
}

// detail reads what stands below a function, or remembers it.
func (m *Symbols) detail(i int32) *funcDetail {
	if i < 0 || int(i) >= len(m.index.Funcs) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.details[i]; d != nil {
		return d
	}
	d := m.readDetail(i)
	if m.details == nil || len(m.details) >= cached {
		m.details = make(map[int32]*funcDetail)
	}
	m.details[i] = d
	return d
}

func (m *Symbols) readDetail(i int32) *funcDetail {
	d := new(funcDetail)
	var lines []SourceLine
	f := &m.index.Funcs[i]
	var s Scanner
	s.Reset(m.data, int(f.Off), int(m.funcEnd[i]), int(f.Line))
	s.Next() // the FUNC record
	r := s.Record()
	for s.Next() {
		var ranges []RangeEntry[struct{}]
		kind := Unknown
		if m.policy == RustMinidump {
			kind = rustSubline(m.data, r, &ranges)
		} else {
			kind = googleSubline(m.data, r, &ranges)
		}
		switch kind {
		case Line:
			lines = append(lines, SourceLine{r.Addr, r.Size, r.Number, r.FileID, r.Line})
		case Inline:
			d.calls = append(d.calls, inlineCall{nest: r.Nest, number: r.Number, file: r.FileID, origin: r.Origin,
				named: !r.OldForm, line: r.Line, ranges: ranges})
		}
	}
	at := func(i int) (uint64, uint64, SourceLine) { return lines[i].Addr, lines[i].Size, lines[i] }
	if m.policy == RustMinidump {
		d.lines.FillLowest(len(lines), at)
		d.sortByNest()
	} else {
		d.lines.Fill(len(lines), at)
		d.nest()
	}
	return d
}

// googleSubline tells what a record below a FUNC is to Google's reader, and reads it. The ranges of an INLINE record
// are kept as address and size in First and Last.
func googleSubline(data []byte, r *Record, ranges *[]RangeEntry[struct{}]) Kind {
	if r.Kind == Line && len(r.Problems) == 0 {
		return Line
	}
	text := data[r.Span.Off:r.Span.End]
	if bytes.HasPrefix(text, []byte("INLINE ")) {
		ok := googleInline(data, r.Span.Off, r.Span.End, r, func(addr, size uint64) {
			*ranges = append(*ranges, RangeEntry[struct{}]{First: addr, Last: size})
		})
		if !ok {
			return Unknown
		}
		return Inline
	}
	for _, keyword := range [...]string{"FILE ", "STACK ", "MODULE ", "INFO ", "INLINE_ORIGIN "} {
		if bytes.HasPrefix(text, []byte(keyword)) {
			return Unknown
		}
	}
	if len(text) == 0 || !googleSourceLine(data, r.Span.Off, r.Span.End, r) {
		return Unknown
	}
	return Line
}

// nest builds Google's tree of inlined calls. The nest level only decides whether a record is taken at all: it may be
// at most one above that of the last one taken, counting from 0 at the start of the function.
func (d *funcDetail) nest() {
	d.nested.AllowEqual = true
	type piece struct {
		addr, size uint64
		call       int32
	}
	var pieces []piece
	var level int64
	for i := range d.calls {
		c := &d.calls[i]
		if c.nest > level+1 {
			continue
		}
		level = c.nest
		for _, r := range c.ranges {
			pieces = append(pieces, piece{r.First, r.Last, int32(i)})
		}
	}
	d.nested.Fill(len(pieces), func(i int) (uint64, uint64, int32) { return pieces[i].addr, pieces[i].size, pieces[i].call })
}

// sortByNest orders the ranges of inlined calls the way rust-minidump searches them.
func (d *funcDetail) sortByNest() {
	for i := range d.calls {
		for _, r := range d.calls[i].ranges {
			d.byNest = append(d.byNest, inlineRange{r.First, r.Last, int32(i)})
		}
	}
	slices.SortStableFunc(d.byNest, func(a, b inlineRange) int {
		x, y := &d.calls[a.call], &d.calls[b.call]
		return cmp.Or(cmp.Compare(x.nest, y.nest), cmp.Compare(a.addr, b.addr), cmp.Compare(a.size, b.size),
			cmp.Compare(x.file, y.file), cmp.Compare(x.number, y.number), cmp.Compare(x.origin, y.origin))
	})
}

// atNest returns the call rust-minidump finds at one nest level: the last range that begins at or below the address,
// if that one covers it.
func (d *funcDetail) atNest(nest int64, addr uint64) (inlineRange, bool) {
	i := sort.Search(len(d.byNest), func(i int) bool {
		n := d.calls[d.byNest[i].call].nest
		return n > nest || n == nest && d.byNest[i].addr > addr
	}) - 1
	if i < 0 || d.calls[d.byNest[i].call].nest != nest {
		return inlineRange{}, false
	}
	r := d.byNest[i]
	end := r.addr + r.size
	return r, end >= r.addr && addr < end
}
