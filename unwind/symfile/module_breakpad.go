package symfile

import (
	"bytes"
	"math"
	"slices"
)

// googleErrorBudget is how many errors Google's reader counts before it stops reading.
const googleErrorBudget = 100

// googleLoader reads a file as BasicSourceLineResolver::Module::LoadMapFromMemory does.
type googleLoader struct {
	*Symbols
	ordinal int   // records so far, blank lines left out
	fn      int32 // the function that lines belong to; -1 = none
	block   cfiBlock
	done    bool // stop behind this record
}

func (m *Symbols) loadBreakpad(forget func(from, to int)) {
	l := googleLoader{Symbols: m, fn: -1}
	m.data = bytes.TrimRight(m.data, "\x00")
	if hasNUL(m.data, forget) {
		m.data = bytes.ReplaceAll(m.data, []byte{0}, []byte{'_'})
		l.fail(0, "Null terminator is not expected in the middle of the symbol data")
	}
	var s Scanner
	s.Reset(m.data, 0, len(m.data), 1)
	r := s.Record()
	forgotten := 0
	for !l.done && s.Next() {
		if r.Span.Off-forgotten >= forgetEvery {
			if forget != nil {
				forget(forgotten, r.Span.Off)
			}
			forgotten = r.Span.Off
		}
		if r.Kind == Blank && r.Span.Len() == 0 {
			continue
		}
		l.ordinal++
		if r.Kind == Line && l.fn >= 0 && len(r.Problems) == 0 {
			m.funcEnd[l.fn] = uint32(r.Span.End)
			continue
		}
		if len(r.Problems) != 0 || !l.healthy(r) {
			l.raw(r.Span.Off, r.Span.End, r.Line)
		}
		if len(m.errors) > googleErrorBudget {
			m.stopped = r.Line
			break
		}
	}
	l.finish()
}

// hasNUL looks for a NUL byte, a piece at a time.
func hasNUL(data []byte, forget func(from, to int)) bool {
	for from := 0; from < len(data); from += forgetEvery {
		to := min(from+forgetEvery, len(data))
		if bytes.IndexByte(data[from:to], 0) >= 0 {
			return true
		}
		if forget != nil {
			forget(from, to)
		}
	}
	return false
}

// healthy takes in a record in canonical form; false if it has to be read again, as Google's reader would.
func (l *googleLoader) healthy(r *Record) bool {
	off := uint32(r.Span.Off)
	switch r.Kind {
	case Line: // where a function is open the caller has taken it in
		l.fail(r.Line, errOrphanLine)
		return true
	case Inline:
		if l.fn < 0 {
			return false
		}
		l.funcEnd[l.fn] = uint32(r.Span.End)
		return true
	case StackCFI:
		l.delta(r.Addr, r.Text, r.Span.End, r.Line)
		return true
	case Module, Info, Blank, Unknown:
		return false // their keyword may lack its blank
	}
	if d := l.data; r.Text.Off < 2 || isBlank(d[r.Text.Off-2]) {
		return false // the name begins with a blank
	}
	switch r.Kind {
	case Func:
		l.function(off, r)
	case Public:
		l.public(off, r)
	case File:
		l.files.set(r.FileID, off, false)
	case InlineOrigin:
		if c := l.data[r.Text.Off]; r.OldForm || c == '-' || c >= '0' && c <= '9' {
			return false
		}
		l.origins.set(r.Origin, off, false)
	case StackCFIInit:
		l.init(off, r)
	case StackWin:
		if r.Win.Type > 4 {
			return false
		}
		l.addWin(off, r)
	}
	return true
}

const errOrphanLine = "Found source line data without a function"

// raw reads data[off:end] as Google's reader does.
func (l *googleLoader) raw(off, end, line int) {
	d, pos := l.data, uint32(off)
	r := Record{Line: line, Span: Span{off, end}}
	switch text := d[off:end]; {
	case bytes.HasPrefix(text, []byte("FILE ")):
		if !googleFile(d, off, end, &r) {
			l.fail(line, "ParseFile on buffer failed")
			return
		}
		l.files.set(r.FileID, pos, false)
	case bytes.HasPrefix(text, []byte("STACK ")):
		if !l.rawStack(off, end, &r) {
			l.fail(line, "ParseStackInfo failed")
		}
	case bytes.HasPrefix(text, []byte("FUNC ")):
		l.fn = -1
		if !googleSymbol(d, off, end, Func, &r) {
			l.fail(line, "ParseFunction failed")
			return
		}
		l.function(pos, &r)
	case bytes.HasPrefix(text, []byte("PUBLIC ")):
		l.fn = -1
		if !googleSymbol(d, off, end, Public, &r) {
			l.fail(line, errPublic)
			return
		}
		l.public(pos, &r)
	case bytes.HasPrefix(text, []byte("MODULE ")):
		if l.index.Module.Line == 0 {
			l.index.Module = parseModule(text[len("MODULE "):])
			l.index.Module.Line, l.index.Module.Off = line, pos
		}
	case bytes.HasPrefix(text, []byte("INFO ")):
	case bytes.HasPrefix(text, []byte("INLINE ")):
		// A record that cannot be read is an error of a second kind, which nobody counts.
		if !googleInline(d, off, end, &r, nil) {
			return
		}
		if l.fn < 0 {
			if l.crash == nil {
				l.crash = &LoadError{line, l.ordinal, "INLINE without a function: Google's reader dereferences null"}
			}
			return
		}
		l.funcEnd[l.fn] = uint32(end)
	case bytes.HasPrefix(text, []byte("INLINE_ORIGIN ")):
		if googleOrigin(d, off, end, &r) {
			l.origins.set(r.Origin, pos, false)
		}
	case l.fn < 0:
		l.fail(line, errOrphanLine)
	case googleSourceLine(d, off, end, &r):
		l.funcEnd[l.fn] = uint32(end)
	default:
		l.fail(line, "ParseLine failed")
	}
}

const errPublic = "ParsePublicSymbol failed"

func (l *googleLoader) rawStack(off, end int, r *Record) bool {
	platform, fields, bare := stackPlatform(l.data, off, end)
	switch string(l.data[platform.Off:platform.End]) {
	case "WIN":
		if bare {
			end = len(l.data) // the fields are looked for in all that follows
		}
		if fields > end || !googleWin(l.data, fields, end, r) {
			return false
		}
		l.addWin(uint32(off), r)
		return true
	case "CFI":
		if bare {
			return fields <= len(l.data) && l.bareCFI(fields, r)
		}
		if !googleCFI(l.data, fields, end, r) {
			return false
		}
		if r.Kind == StackCFI {
			l.delta(r.Addr, r.Text, end, r.Line)
		} else {
			l.init(uint32(off), r)
		}
		return true
	}
	return false
}

// bareCFI reads what Google's reader makes of a line `STACK CFI` with nothing behind it: it takes the next line for the
// fields and ends that line behind its first word. The outer loop then reads this word as a record and finds the end of
// the string there: the rest of the file is lost.
func (l *googleLoader) bareCFI(from int, r *Record) bool {
	d := l.data
	first := googleTokens(d, from, len(d), 2, nil)
	if len(first) == 0 || !googleCFI(d, from, len(d), r) {
		return false
	}
	if r.Kind == StackCFI {
		l.strays = append(l.strays, stray{r.Addr, r.Text, uint32(r.Line)})
	}
	l.done = true
	l.stopped = r.Line
	if word := (Span{googleLine(d, from, len(d)).Off, first[0].End}); len(l.errors) <= googleErrorBudget {
		l.ordinal++
		l.raw(word.Off, word.End, r.Line+1)
	}
	return true
}

func (l *googleLoader) fail(line int, message string) {
	l.errors = append(l.errors, LoadError{line, l.ordinal, message})
}

func (l *googleLoader) function(off uint32, r *Record) {
	l.fn = int32(len(l.index.Funcs))
	l.addFunc(off, r)
}

func (m *Symbols) addFunc(off uint32, r *Record) {
	m.index.Funcs = append(m.index.Funcs, FuncEntry{Addr: r.Addr, Size: r.Size, Off: off, Line: uint32(r.Line),
		ParamSize: uint32(r.ParamSize), Multiple: r.Multiple})
	m.funcEnd = append(m.funcEnd, uint32(r.Span.End))
}

func (l *googleLoader) public(off uint32, r *Record) {
	l.fn = -1
	if r.Addr == 0 {
		return // accepted, not kept
	}
	if !l.publics.Store(r.Addr, int32(len(l.index.Publics))) {
		l.fail(r.Line, errPublic)
		return
	}
	l.addPublic(off, r)
}

func (m *Symbols) addPublic(off uint32, r *Record) {
	m.index.Publics = append(m.index.Publics, PublicEntry{Addr: r.Addr, Off: off, Line: uint32(r.Line), Multiple: r.Multiple})
}

func (m *Symbols) addWin(off uint32, r *Record) {
	if r.Win.Type != winFrameData && r.Win.Type != winFPO {
		return // kept by the readers and never asked for
	}
	m.index.Wins = append(m.index.Wins, WinEntry{Addr: r.Addr, Size: r.Size, Off: off, Line: uint32(r.Line),
		ParamSize: uint32(r.ParamSize), Type: uint8(r.Win.Type), HasProgram: r.Win.HasProgram != 0})
}

// cfiBlock is the INIT record whose deltas are being read, as long as nothing stands between them.
type cfiBlock struct {
	addr, size uint64
	next       uint64 // the least address that a delta in order may have
	index      int32
	open       bool
}

// takes reports whether a delta's address is one the block's INIT alone accounts for: inside its range and above the
// deltas before it.
func (b *cfiBlock) takes(addr uint64) bool {
	if !b.open || addr < b.next || addr-b.addr >= b.size {
		return false
	}
	b.next = addr + 1
	b.open = addr < math.MaxUint64
	return true
}

// stray is a STACK CFI record that its INIT does not account for: outside its range, out of order, or left over from an
// INIT that was dropped. To Google's reader, which keeps all deltas in one map, it applies all the same.
type stray struct {
	addr uint64
	text Span
	line uint32
}

func (l *googleLoader) init(off uint32, r *Record) {
	l.block = cfiBlock{addr: r.Addr, size: r.Size, next: r.Addr, index: int32(len(l.index.Inits)), open: true}
	l.addInit(off, r)
}

func (m *Symbols) addInit(off uint32, r *Record) {
	m.index.Inits = append(m.index.Inits, InitEntry{Addr: r.Addr, Size: r.Size, Off: off, Line: uint32(r.Line)})
	m.initEnd = append(m.initEnd, uint32(r.Span.End))
}

func (l *googleLoader) delta(addr uint64, text Span, end, line int) {
	if l.block.takes(addr) {
		l.index.Inits[l.block.index].Deltas++
		l.initEnd[l.block.index] = uint32(end)
		return
	}
	l.strays = append(l.strays, stray{addr, text, uint32(line)})
}

// finish builds the tables.
func (l *googleLoader) finish() {
	x := &l.index
	l.funcs.Fill(len(x.Funcs), func(i int) (uint64, uint64, int32) { return x.Funcs[i].Addr, x.Funcs[i].Size, int32(i) })
	l.inits.Fill(len(x.Inits), func(i int) (uint64, uint64, int32) { return x.Inits[i].Addr, x.Inits[i].Size, int32(i) })
	l.publics.Seal()
	l.loseInits()
	slices.SortStableFunc(l.strays, func(a, b stray) int {
		switch {
		case a.addr < b.addr:
			return -1
		case a.addr > b.addr:
			return 1
		}
		return a.text.Off - b.text.Off
	})
	for slot, t := range [...]uint8{winFrameData, winFPO} {
		var of []int32
		for i := range x.Wins {
			if x.Wins[i].Type == t {
				of = append(of, int32(i))
			}
		}
		l.wins[slot].Fill(len(of), func(i int) (uint64, uint64, int32) {
			w := &x.Wins[of[i]]
			return w.Addr, w.Size, of[i]
		})
	}
}

// loseInits turns the deltas of INIT records that were dropped into strays.
func (l *googleLoader) loseInits() {
	if l.inits.Len() == len(l.index.Inits) {
		return
	}
	kept := make([]bool, len(l.index.Inits))
	for i := range l.inits.Len() {
		kept[l.inits.At(i).Value] = true
	}
	for i := range kept {
		if !kept[i] && l.index.Inits[i].Deltas > 0 {
			l.eachDelta(int32(i), func(addr uint64, text Span, line int) {
				l.strays = append(l.strays, stray{addr, text, uint32(line)})
			})
		}
	}
}

// eachDelta calls do for the deltas that an INIT record accounts for, in ascending order.
func (m *Symbols) eachDelta(init int32, do func(addr uint64, text Span, line int)) {
	e := &m.index.Inits[init]
	b := cfiBlock{addr: e.Addr, size: e.Size, next: e.Addr, open: true}
	var s Scanner
	s.Reset(m.data, int(e.Off), int(m.initEnd[init]), int(e.Line))
	s.Next() // the INIT record
	for s.Next() {
		r := s.Record()
		if len(r.Problems) != 0 || r.Kind != StackCFI {
			if !m.googleDelta(r) {
				continue
			}
		}
		if b.takes(r.Addr) {
			do(r.Addr, r.Text, r.Line)
		}
	}
}

// googleDelta reads a record again as Google's reader does; false if it is no STACK CFI record to it.
func (m *Symbols) googleDelta(r *Record) bool {
	if !bytes.HasPrefix(m.data[r.Span.Off:r.Span.End], []byte("STACK ")) {
		return false
	}
	platform, fields, bare := stackPlatform(m.data, r.Span.Off, r.Span.End)
	return !bare && string(m.data[platform.Off:platform.End]) == "CFI" &&
		googleCFI(m.data, fields, r.Span.End, r) && r.Kind == StackCFI
}
