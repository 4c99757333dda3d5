package listing

import (
	"cmp"
	"slices"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// lister reads a file symbol by symbol.
type lister struct {
	*index
	data    []byte
	sink    sink
	scanner symfile.Scanner
	rules   ruleReader
	// budget is how many bytes the listing may still repeat of what the file says once: names of files and inlined
	// functions in every line, rules in every row.
	budget int64

	lines   []line
	inlines inlineTree
	deltas  []delta
	state   state
}

// repeats is how many times its own size a file may repeat itself. Real ones do up to about three times.
const repeats = 16

func newLister(data []byte, s sink) *lister {
	l := &lister{index: newIndex(data), data: data, sink: s, budget: repeats*int64(len(data)) + 1<<20}
	l.rules.cpu, _ = arch.Lookup(l.module.Arch)
	return l
}

func (l *lister) text(e extent) []byte { return l.data[e.off:e.end] }

func (l *lister) head() {
	h := head{module: l.module}
	for _, e := range l.infos {
		h.infos = append(h.infos, l.text(e))
	}
	l.sink.head(&h)
	for _, e := range l.names {
		l.sink.file(l.text(e))
	}
}

// symbols lists the symbols by address, each with the unwind records that begin in it. Those between the end of a
// function and the next symbol belong to a PUBLIC that begins there before them, as readers name that code by it.
func (l *lister) symbols(o *out) {
	f, p, distinct := 0, 0, 0
	for o.err == nil {
		switch {
		case f < len(l.funcs) && (p == len(l.publics) || l.funcs[f].addr <= l.publics[p].addr):
			if l.orphan(l.funcs[f].addr, false) {
				continue
			}
			for distinct < len(l.funcs) && l.funcs[distinct].addr <= l.funcs[f].addr {
				distinct++
			}
			l.function(&l.funcs[f], l.funcs[distinct:])
			f++
		case p < len(l.publics):
			if l.orphan(l.publics[p].addr, false) {
				continue
			}
			l.public(&l.publics[p], l.funcs[f:], l.publics[p+1:])
			p++
		case !l.orphan(0, true):
			return
		}
	}
}

// orphan lists the unwind records at the lowest address, if it is before the next symbol or there is none.
func (l *lister) orphan(next uint64, last bool) bool {
	at, any := uint64(0), false
	for _, list := range [][]entry{l.inits, l.wins} {
		if len(list) > 0 && (!any || list[0].addr < at) {
			at, any = list[0].addr, true
		}
	}
	if !any || !last && at >= next {
		return false
	}
	s := symbol{kind: symfile.Unknown, addr: at}
	l.sink.symbol(&s)
	l.unwinds(&s, at+1, at+1 == 0)
	l.sink.end()
	return true
}

// function lists a function, behind which others begin.
func (l *lister) function(e *entry, behind []entry) {
	limit := e.limit()
	if len(behind) > 0 {
		limit = min(limit, behind[0].addr)
	}
	s := l.read(e)
	l.sink.symbol(&s)
	l.source(e)
	l.unwinds(&s, max(limit, e.addr+1), limit == ^uint64(0))
	l.sink.end()
}

// public lists a PUBLIC, whose code reaches up to the next symbol.
func (l *lister) public(e *entry, funcs, publics []entry) {
	s := l.read(e)
	l.sink.symbol(&s)
	limit, last := ^uint64(0), true
	for _, next := range [][]entry{funcs, publics} {
		if len(next) > 0 {
			limit, last = min(limit, next[0].addr), false
		}
	}
	l.unwinds(&s, limit, last)
	l.sink.end()
}

// scan makes the scanner read an entry's records, of which the first is the entry's own.
func (l *lister) scan(e *entry) *symfile.Record {
	l.scanner.Reset(l.data, int(e.off), int(e.end), 1)
	l.scanner.Next()
	return l.scanner.Record()
}

func (l *lister) read(e *entry) symbol {
	r := l.scan(e)
	return symbol{kind: r.Kind, name: l.data[r.Text.Off:r.Text.End], addr: e.addr, size: e.size, params: r.ParamSize,
		multiple: r.Multiple}
}

// source lists the lines and inlined calls of the function that was read.
func (l *lister) source(e *entry) {
	l.lines = l.lines[:0]
	l.inlines.reset()
	for l.scanner.Next() {
		switch r := l.scanner.Record(); {
		case !r.Usable:
		case r.Kind == symfile.Line:
			l.lines = append(l.lines, line{span{int64(r.Addr - e.addr), r.Size}, source{id: r.FileID, number: r.Number}})
		case r.Kind == symfile.Inline:
			l.inlines.add(r, l.data[r.Text.Off:r.Text.End], e.addr)
		}
	}
	byOffset := func(a, b line) int { return cmp.Compare(a.offset, b.offset) }
	if !slices.IsSortedFunc(l.lines, byOffset) {
		slices.SortStableFunc(l.lines, byOffset)
	}
	for i := range l.lines {
		x := &l.lines[i]
		l.resolve(&x.source)
		l.sink.line(x)
		x.file = nil
	}
	for call := range l.inlines.preorder() {
		var name extent
		x := inline{nest: call.nest, origin: call.origin, ranges: l.inlines.ranges[call.from:call.to],
			call: source{id: call.file, number: call.number}}
		if name, x.known = l.origins[call.origin]; x.known {
			x.name = l.afford(l.text(name))
		}
		l.resolve(&x.call)
		l.sink.inline(&x)
	}
}

// resolve finds the name of a file.
func (l *lister) resolve(s *source) {
	var e extent
	if e, s.known = l.files[s.id]; s.known {
		s.file = l.afford(l.text(e))
	}
}

// afford cuts what is repeated too often.
func (l *lister) afford(text []byte) []byte {
	const short = 64
	if len(text) <= short {
		return text
	}
	if int64(len(text)) > l.budget {
		return text[:short]
	}
	l.budget -= int64(len(text))
	return text
}

// unwinds lists the unwind records that begin before limit and were not listed yet.
func (l *lister) unwinds(s *symbol, limit uint64, all bool) {
	for len(l.inits) > 0 && (all || l.inits[0].addr < limit) {
		l.cfi(s, &l.inits[0])
		l.inits = l.inits[1:]
	}
	for len(l.wins) > 0 && (all || l.wins[0].addr < limit) {
		l.win(s, &l.wins[0])
		l.wins = l.wins[1:]
	}
}

func (l *lister) win(s *symbol, e *entry) {
	r := l.scan(e)
	x := win{span: span{int64(e.addr - s.addr), e.size}, WinFields: r.Win, params: r.ParamSize}
	if text := l.data[r.Text.Off:r.Text.End]; r.Win.HasProgram != 0 {
		x.program = l.rules.program(text)
	} else {
		x.flag = text
	}
	l.sink.win(&x)
}

// rest lists the records that no reader can use.
func (l *lister) rest(o *out) {
	if !l.unreadable {
		return
	}
	var c context
	for s := symfile.NewScanner(l.data); s.Next() && o.err == nil; {
		if r := s.Record(); !c.usable(r) {
			l.sink.unreadable(l.data[r.Span.Off:r.Span.End])
		}
	}
}
