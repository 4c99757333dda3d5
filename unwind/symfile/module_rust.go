package symfile

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// This file reads a symbol file as rust-minidump does: breakpad-symbols/src/sym_file/parser.rs, version 0.26. The
// grammar is strict, and what does not fit it rejects the file.

// maxRustLine is the length from which on rust-minidump drops a line without a word. Its buffer grows to 160 KiB; where
// a line stands in it decides whether one of more than half of that still fits.
const maxRustLine = 160 << 10

// rustLoader is the state between records.
type rustLoader struct {
	*Symbols
	ordinal int // lines so far: what its own messages count
	// fn and init are the FUNC and STACK CFI INIT record whose sublines may follow; -1 = none.
	fn, init int32
	wins     [2]rustWins
}

// rustWins are the STACK WIN records of one type, with the sizes as repaired.
type rustWins struct {
	records []int32 // positions in index.Wins
	sizes   []uint64
}

func (m *Symbols) loadRust() {
	if len(m.data) == 0 || bytes.IndexByte(m.data, '\n') < 0 {
		m.rejectFile(1, 0, "empty SymbolFile")
		return
	}
	l := rustLoader{Symbols: m, fn: -1, init: -1}
	start, ok := l.module()
	if !ok {
		m.rejectFile(1, 0, "failed to parse file: malformed MODULE record")
		return
	}
	var s Scanner
	s.Reset(m.data, start, len(m.data), 1+CountLines(m.data[:start]))
	for s.Next() {
		r := s.Record()
		if r.EOL == 0 {
			m.rejectFile(r.Line, l.ordinal, "unexpected EOF: the last line has no line end")
			return
		}
		ok := r.EOL > 1 || m.data[r.Span.End] == '\n'
		if ok && r.Span.Len() < maxRustLine {
			ok = l.healthy(r) || l.raw(r)
		}
		if !ok {
			m.rejectFile(r.Line, l.ordinal, "failed to parse file: "+l.reason(r))
			return
		}
		l.ordinal++
	}
	l.finish()
}

// module reads the MODULE record, which may only stand at the very beginning, and returns where the next record starts.
// Its first fields reach to the next blank, even across line ends.
func (l *rustLoader) module() (next int, ok bool) {
	d := l.data
	p := rustParser{d, 0, len(d)}
	if !p.keyword("MODULE") {
		return 0, true
	}
	text := p.pos
	for range 2 {
		if _, ok := p.word(); !ok {
			return 0, false
		}
	}
	id := p.pos
	for p.pos < p.end && hexDigit(d[p.pos]) < 16 {
		p.pos++
	}
	if p.pos == id || !p.blanks() {
		return 0, false
	}
	for p.pos < p.end && !isLineEnd(d[p.pos]) {
		p.pos++
	}
	end := p.pos
	for p.pos < p.end && d[p.pos] == '\r' {
		p.pos++
	}
	if p.pos == p.end || d[p.pos] != '\n' || !utf8.Valid(d[text:end]) {
		return 0, false
	}
	l.index.Module = parseModule(d[text:end])
	l.index.Module.Line = 1
	l.ordinal = 1
	return p.pos + 1, true
}

// reason guesses what the parser stumbles over.
func (l *rustLoader) reason(r *Record) string {
	switch {
	case r.EOL == 1 && l.data[r.Span.End] != '\n':
		return "a carriage return within a line"
	case r.Kind == Line && l.fn < 0:
		return "line record where no FUNC is open"
	case r.Kind == Inline && l.fn < 0:
		return "INLINE where no FUNC is open"
	case r.Kind == StackCFI && l.init < 0:
		return "STACK CFI where no STACK CFI INIT is open"
	case r.Kind == Module:
		return "MODULE line found after the start of the file"
	case r.Kind == Unknown:
		return "unknown record"
	case r.Kind == Blank:
		return "a line of blanks"
	}
	return "malformed " + r.Kind.String() + " record"
}

// healthy takes in a record in canonical form; false if it has to be read again.
func (l *rustLoader) healthy(r *Record) bool {
	if len(r.Problems) != 0 {
		return false
	}
	switch r.Kind {
	case Line:
		if l.fn < 0 {
			return false
		}
		l.funcEnd[l.fn] = uint32(r.Span.End)
	case Inline:
		if l.fn < 0 || r.FileID < 0 {
			return false
		}
		l.funcEnd[l.fn] = uint32(r.Span.End)
	case StackCFI:
		if l.init < 0 {
			return false
		}
		l.delta(r)
	case Func, Public, File, StackCFIInit:
		l.take(r)
	default:
		return false
	}
	return true
}

// take takes in a record that stands on its own or opens a block.
func (l *rustLoader) take(r *Record) {
	off := uint32(r.Span.Off)
	l.fn, l.init = -1, -1
	switch r.Kind {
	case Func:
		l.fn = int32(len(l.index.Funcs))
		l.addFunc(off, r)
	case Public:
		l.addPublic(off, r)
	case File:
		l.files.set(r.FileID, off, true)
	case InlineOrigin:
		l.origins.set(r.Origin, off, true)
	case StackCFIInit:
		l.init = int32(len(l.index.Inits))
		l.addInit(off, r)
	case StackWin:
		l.win(off, r)
	}
}

func (l *rustLoader) delta(r *Record) {
	l.index.Inits[l.init].Deltas++
	l.initEnd[l.init] = uint32(r.Span.End)
}

// raw reads a record by rust-minidump's grammar; false if the parser fails.
func (l *rustLoader) raw(r *Record) bool {
	d, off, end := l.data, r.Span.Off, r.Span.End
	text := d[off:end]
	if l.fn >= 0 {
		// Three kinds of records belong to a FUNC; any other ends it.
		switch {
		case bytes.HasPrefix(text, []byte("INLINE_ORIGIN ")):
			if !rustNamed(d, off, end, InlineOrigin, r) {
				return false
			}
			l.origins.set(r.Origin, uint32(off), true)
			return true
		case bytes.HasPrefix(text, []byte("INLINE ")):
			if !rustInline(d, off, end, r, nil) {
				return false
			}
			l.funcEnd[l.fn] = uint32(end)
			return true
		case rustSourceLine(d, off, end, r):
			l.funcEnd[l.fn] = uint32(end)
			return true
		}
	}
	if l.init >= 0 && rustDelta(d, off, end, r) {
		l.delta(r)
		return true
	}
	l.fn, l.init = -1, -1
	if len(text) == 0 {
		return true // blank lines count as lines
	}
	if rustInfo(text) {
		return true
	}
	for _, k := range [...]Kind{File, InlineOrigin} {
		if rustNamed(d, off, end, k, r) {
			l.take(r)
			return true
		}
	}
	if rustSymbol(d, off, end, Public, r) || rustSymbol(d, off, end, Func, r) || rustWin(d, off, end, r) ||
		rustInit(d, off, end, r) {
		l.take(r)
		return true
	}
	return false
}

// win keeps the record if its type and flag agree, and repairs overlaps with the record of the type before it: that one
// is cut short where the new one begins; a new one that does not begin above it is dropped unless it is a repetition.
func (l *rustLoader) win(off uint32, r *Record) {
	program := r.Win.HasProgram != 0
	slot := 0
	switch {
	case r.Win.Type == winFrameData && program:
	case r.Win.Type == winFPO && !program:
		slot = 1
	default:
		return
	}
	if r.Size == 0 || r.Addr+r.Size < r.Addr {
		return // memory_range: the end must be an address
	}
	w := &l.wins[slot]
	if n := len(w.records); n > 0 {
		before := &l.index.Wins[w.records[n-1]]
		size := &w.sizes[n-1]
		if r.Addr <= before.Addr+*size-1 && before.Addr <= r.Addr+r.Size-1 {
			if r.Addr > before.Addr {
				*size = r.Addr - before.Addr
			} else if r.Addr != before.Addr || r.Size != *size {
				return
			}
		}
	}
	w.records = append(w.records, int32(len(l.index.Wins)))
	w.sizes = append(w.sizes, r.Size)
	l.addWin(off, r)
}

func (l *rustLoader) finish() {
	x := &l.index
	// Ranges whose end is not an address are dropped, also those that end at the very last one.
	clip := func(addr, size uint64) uint64 {
		if addr+size < addr {
			return 0
		}
		return size
	}
	l.funcs.FillLowest(len(x.Funcs), func(i int) (uint64, uint64, int32) {
		return x.Funcs[i].Addr, clip(x.Funcs[i].Addr, x.Funcs[i].Size), int32(i)
	})
	l.inits.FillLowest(len(x.Inits), func(i int) (uint64, uint64, int32) {
		return x.Inits[i].Addr, clip(x.Inits[i].Addr, x.Inits[i].Size), int32(i)
	})
	for slot := range l.wins {
		w := &l.wins[slot]
		l.rustWin[slot].FillLowest(len(w.records), func(i int) (uint64, uint64, int32) {
			return x.Wins[w.records[i]].Addr, w.sizes[i], w.records[i]
		})
	}
	l.sortPublics()
}

// sortPublics fills the table of PUBLIC symbols. Of several at one address the one whose (name, parameter size) is
// greatest is found.
func (l *rustLoader) sortPublics() {
	p := l.index.Publics
	order := make([]int32, len(p))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(p[a].Addr, p[b].Addr) })
	for i := 0; i < len(order); {
		best := order[i]
		j := i + 1
		if j < len(order) && p[order[j]].Addr == p[best].Addr {
			name, params := l.publicText(&p[best])
			for ; j < len(order) && p[order[j]].Addr == p[best].Addr; j++ {
				n, s := l.publicText(&p[order[j]])
				if cmp.Or(strings.Compare(n, name), cmp.Compare(s, params)) > 0 {
					best, name, params = order[j], n, s
				}
			}
		}
		l.publics.Store(p[best].Addr, best)
		i = j
	}
}

// rustRows calls add for the deltas below an INIT record, after it has done so for the record itself.
func (m *Symbols) rustRows(init int32, add func(addr uint64, text Span, line int)) {
	e := &m.index.Inits[init]
	var s Scanner
	s.Reset(m.data, int(e.Off), int(m.initEnd[init]), int(e.Line))
	first := true
	for s.Next() {
		r := s.Record()
		switch {
		case r.Span.Len() >= maxRustLine:
		case first && rustInit(m.data, r.Span.Off, r.Span.End, r), !first && rustDelta(m.data, r.Span.Off, r.Span.End, r):
			add(r.Addr, r.Text, r.Line)
		}
		first = false
	}
}

// rustSubline tells what a record below a FUNC is, and reads it.
func rustSubline(data []byte, r *Record, ranges *[]RangeEntry[struct{}]) Kind {
	if r.Span.Len() >= maxRustLine {
		return Unknown
	}
	if r.Kind == Line && len(r.Problems) == 0 {
		return Line
	}
	ok := rustInline(data, r.Span.Off, r.Span.End, r, func(addr, size uint64) {
		*ranges = append(*ranges, RangeEntry[struct{}]{First: addr, Last: size})
	})
	if ok {
		return Inline
	}
	if rustSourceLine(data, r.Span.Off, r.Span.End, r) {
		return Line
	}
	return Unknown
}

// rustParser reads one line from left to right.
type rustParser struct {
	data     []byte
	pos, end int
}

func (p *rustParser) keyword(word string) bool {
	if !at(p.data[:p.end], p.pos, word) {
		return false
	}
	p.pos += len(word)
	return p.blanks()
}

// blanks passes over one or more blanks and tabs.
func (p *rustParser) blanks() bool {
	start := p.pos
	for p.pos < p.end && isBlank(p.data[p.pos]) {
		p.pos++
	}
	return p.pos > start
}

// hex reads a number of up to digits digits and leaves what is behind them.
func (p *rustParser) hex(digits int) (v uint64, ok bool) {
	start := p.pos
	for p.pos < p.end && p.pos < start+digits {
		d := hexDigit(p.data[p.pos])
		if d > 15 {
			break
		}
		v = v<<4 | uint64(d)
		p.pos++
	}
	return v, p.pos > start
}

// hexField is hex and the blanks behind it.
func (p *rustParser) hexField(digits int) (uint64, bool) {
	v, ok := p.hex(digits)
	return v, ok && p.blanks()
}

// dec reads a decimal of up to ten digits that fits 32 bits.
func (p *rustParser) dec() (int64, bool) {
	var v int64
	start := p.pos
	for p.pos < p.end && p.pos < start+10 {
		d := p.data[p.pos] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		p.pos++
	}
	return v, p.pos > start && v <= 1<<32-1
}

func (p *rustParser) decField() (int64, bool) {
	v, ok := p.dec()
	return v, ok && p.blanks()
}

// name takes the rest of the line, which may be empty but must be UTF-8.
func (p *rustParser) name() (Span, bool) {
	s := Span{p.pos, p.end}
	return s, utf8.Valid(p.data[s.Off:s.End])
}

// word takes what stands before the next blank (not tab), and the blanks behind it.
func (p *rustParser) word() (Span, bool) {
	start := p.pos
	for p.pos < p.end && p.data[p.pos] != ' ' {
		p.pos++
	}
	s := Span{start, p.pos}
	return s, p.blanks() && utf8.Valid(p.data[s.Off:s.End])
}

// rustInfo accepts any INFO record; only the URL must be UTF-8.
func rustInfo(text []byte) bool {
	p := rustParser{text, 0, len(text)}
	if p.keyword("INFO URL") {
		return utf8.Valid(text[p.pos:])
	}
	p.pos = 0
	return p.keyword("INFO")
}

// rustNamed reads FILE and INLINE_ORIGIN records.
func rustNamed(data []byte, off, end int, k Kind, r *Record) bool {
	p := rustParser{data, off, end}
	keyword := "FILE"
	if k == InlineOrigin {
		keyword = "INLINE_ORIGIN"
	}
	if !p.keyword(keyword) {
		return false
	}
	id, ok := p.decField()
	if !ok {
		return false
	}
	if r.Text, ok = p.name(); !ok {
		return false
	}
	r.Kind = k
	if k == File {
		r.FileID = id
	} else {
		r.Origin = id
	}
	return true
}

// rustSymbol reads FUNC and PUBLIC records.
func rustSymbol(data []byte, off, end int, k Kind, r *Record) bool {
	p := rustParser{data, off, end}
	keyword := "FUNC"
	if k == Public {
		keyword = "PUBLIC"
	}
	if !p.keyword(keyword) {
		return false
	}
	before := p.pos
	multiple := p.keyword("m")
	if !multiple {
		p.pos = before
	}
	addr, ok := p.hexField(16)
	if !ok {
		return false
	}
	var size uint64
	if k == Func {
		if size, ok = p.hexField(8); !ok {
			return false
		}
	}
	params, ok := p.hexField(8)
	if !ok {
		return false
	}
	text, ok := p.name()
	r.Kind, r.Addr, r.Size, r.ParamSize, r.Multiple, r.Text = k, addr, size, params, multiple, text
	return ok
}

func rustSourceLine(data []byte, off, end int, r *Record) bool {
	p := rustParser{data, off, end}
	addr, ok := p.hexField(16)
	if !ok {
		return false
	}
	size, ok := p.hexField(8)
	if !ok {
		return false
	}
	number, ok := p.decField()
	if !ok {
		return false
	}
	file, ok := p.dec()
	if !ok || p.pos != p.end {
		return false
	}
	r.Kind, r.Addr, r.Size, r.Number, r.FileID = Line, addr, size, number, file
	return true
}

func rustInline(data []byte, off, end int, r *Record, each func(addr, size uint64)) bool {
	p := rustParser{data, off, end}
	if !p.keyword("INLINE") {
		return false
	}
	var v [4]int64
	for i := range v {
		var ok bool
		if v[i], ok = p.decField(); !ok {
			return false
		}
	}
	for {
		addr, ok := p.hexField(16)
		if !ok {
			return false
		}
		size, ok := p.hex(8)
		if !ok {
			return false
		}
		if each != nil {
			each(addr, size)
		}
		if p.pos == p.end {
			break
		}
		if !p.blanks() {
			return false
		}
	}
	r.Kind, r.Nest, r.Number, r.FileID, r.Origin, r.OldForm = Inline, v[0], v[1], v[2], v[3], false
	return true
}

func rustInit(data []byte, off, end int, r *Record) bool {
	p := rustParser{data, off, end}
	if !p.keyword("STACK CFI INIT") {
		return false
	}
	addr, ok := p.hexField(16)
	if !ok {
		return false
	}
	size, ok := p.hexField(8)
	if !ok {
		return false
	}
	text, ok := p.name()
	r.Kind, r.Addr, r.Size, r.Text = StackCFIInit, addr, size, text
	return ok
}

func rustDelta(data []byte, off, end int, r *Record) bool {
	p := rustParser{data, off, end}
	if !p.keyword("STACK CFI") {
		return false
	}
	addr, ok := p.hexField(16)
	if !ok {
		return false
	}
	text, ok := p.name()
	r.Kind, r.Addr, r.Text = StackCFI, addr, text
	return ok
}

// rustWin reads a STACK WIN record. Type and program flag are single digits; the flag is set by 1 alone.
func rustWin(data []byte, off, end int, r *Record) bool {
	p := rustParser{data, off, end}
	if !p.keyword("STACK WIN") {
		return false
	}
	var v [10]uint64
	for i := range v {
		digits := 8
		switch i {
		case 0, 9:
			digits = 1
		case 1:
			digits = 16
		}
		var ok bool
		if v[i], ok = p.hexField(digits); !ok || i == 9 && v[i] > 9 {
			return false
		}
	}
	text, ok := p.name()
	if v[9] != 1 {
		v[9] = 0
	}
	r.Kind, r.Addr, r.Size, r.ParamSize, r.Text = StackWin, v[1], v[2], v[5], text
	r.Win = WinFields{Type: v[0], Prolog: v[3], Epilog: v[4], SavedRegs: v[6], Locals: v[7], MaxStack: v[8], HasProgram: v[9]}
	return ok
}

// rustName reads the name of a record that has been accepted before.
func rustName(data []byte, off int, k Kind) string {
	end := googleLine(data, off, len(data)).End
	var r Record
	ok := false
	switch k {
	case Func, Public:
		ok = rustSymbol(data, off, end, k, &r)
	default:
		ok = rustNamed(data, off, end, k, &r)
	}
	if !ok {
		return ""
	}
	return string(data[r.Text.Off:r.Text.End])
}
