package symdiff

import (
	"cmp"
	"slices"

	"github.com/symlint/symlint/unwind/symfile"
)

// examiner looks at pairs closely. It belongs to one goroutine.
type examiner struct {
	c      *comparison
	side   [2]detailer
	states *stateTable
	a, b   []span // reused
}

func (c *comparison) newExaminer() *examiner {
	x := &examiner{c: c, states: newStateTable(c.names)}
	for i := range x.side {
		x.side[i].init(c.side(i), c.names)
		x.side[i].states = x.states
	}
	return x
}

// judge compares what was matched and fills the result.
func (c *comparison) judge() {
	r := &Result{c: c, PathMaps: c.names.maps}
	c.result = r
	r.Old, r.New = c.old.fileInfo(), c.new.fileInfo()
	c.judgeModule()
	const block = 256
	n := (len(c.pairs) + block - 1) / block
	changes := make([][]Change, n)
	jobs := c.o.jobs()
	free := make(chan *examiner, jobs)
	for range jobs {
		free <- nil
	}
	c.parallel(n, func(i int) {
		x := <-free
		if x == nil {
			x = c.newExaminer()
		}
		for _, p := range c.pairs[i*block : min(len(c.pairs), (i+1)*block)] {
			if change, differs := x.examine(p); differs {
				if changes[i] == nil {
					changes[i] = make([]Change, 0, block)
				}
				changes[i] = append(changes[i], change)
			}
		}
		free <- x
	})
	r.Changes = slices.Concat(changes...)
	clear(changes)
	c.judgePublics()
	c.judgeFiles()
	c.judgeShift()
	c.summarise()
}

func (m *model) fileInfo() FileInfo {
	k := &m.counts
	i := FileInfo{Size: len(m.data), OS: m.module.OS, Arch: m.module.Arch, ID: m.module.ID, Name: m.module.Name}
	i.Coverage = m.total
	i.Functions, i.Publics, i.Lines, i.Inlines = k[symfile.Func], k[symfile.Public], k[symfile.Line], k[symfile.Inline]
	i.CFIRows, i.Wins = k[symfile.StackCFIInit]+k[symfile.StackCFI], k[symfile.StackWin]
	return i
}

func (c *comparison) ignores(a Aspect) bool { return c.o.Ignore.Has(a) }

func (c *comparison) judgeModule() {
	r := c.result
	a, b := c.old.module, c.new.module
	if !c.ignores(Module) {
		for _, f := range [][3]string{{"os", a.OS, b.OS}, {"arch", a.Arch, b.Arch}, {"id", a.ID, b.ID}, {"name", a.Name, b.Name}} {
			if f[1] != f[2] {
				r.Module = append(r.Module, FieldChange{Module, f[0], f[1], f[2]})
			}
		}
	}
	if c.ignores(Info) {
		return
	}
	old, new := withoutCommon(c.old.info, c.new.info)
	for i := range max(len(old), len(new)) {
		f := FieldChange{Aspect: Info, Field: "info"}
		if i < len(old) {
			f.Old = old[i]
		}
		if i < len(new) {
			f.New = new[i]
		}
		r.Module = append(r.Module, f)
	}
}

// withoutCommon returns what only the one and only the other of two sorted lists holds.
func withoutCommon(a, b []string) (onlyA, onlyB []string) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			onlyA, a = append(onlyA, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			onlyB, b = append(onlyB, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return onlyA, onlyB
}

func (m *model) sideOf(i int32) Side {
	u := &m.units[i]
	s := Side{Kind: u.kind, Addr: u.addr, Size: u.size, Line: int(u.line), Params: u.params, Multiple: u.multiple}
	if u.kind != Unnamed {
		s.Name = string(m.unitName(u))
	}
	return s
}

// presence is the aspect under which a unit is added or removed.
func presence(k Kind) Aspect { return [...]Aspect{Functions, Publics, CFI}[k] }

// examine compares a pair; false if it is the same on both sides.
func (x *examiner) examine(p pair) (Change, bool) {
	c := x.c
	ch := Change{pair: p}
	switch {
	case p.old < 0:
		u := &c.new.units[p.new]
		ch.Status, ch.Aspects = Added, presence(u.kind)
		if u.kind == Unnamed && u.inits[0] == u.inits[1] {
			ch.Aspects = Win
		}
		if c.ignores(ch.Aspects) {
			return ch, false
		}
		ch.New = c.new.sideOf(p.new)
		return ch, true
	case p.new < 0:
		u := &c.old.units[p.old]
		ch.Status, ch.Aspects = Removed, presence(u.kind)
		if u.kind == Unnamed && u.inits[0] == u.inits[1] {
			ch.Aspects = Win
		}
		if c.ignores(ch.Aspects) {
			return ch, false
		}
		ch.Old = c.old.sideOf(p.old)
		return ch, true
	}
	a, b := &c.old.units[p.old], &c.new.units[p.new]
	ch.Match = c.how[p.old]
	if a.kind != b.kind {
		ch.Aspects |= presence(min(a.kind, b.kind))
		if a.kind == Unnamed {
			ch.Status = Added
		} else if b.kind == Unnamed {
			ch.Status = Removed
		}
	}
	both := a.kind != Unnamed && b.kind != Unnamed
	if both && a.name != b.name {
		ch.Aspects |= Names
	}
	if a.kind == b.kind {
		if a.size != b.size {
			ch.Aspects |= Sizes
		}
		if a.multiple != b.multiple {
			ch.Aspects |= Multiple
		}
		if a.params != b.params {
			ch.Aspects |= Params
		}
		if a.kind == Public && c.ignores(Publics) {
			ch.Aspects &^= Params | Multiple | Names
		}
	}
	ch.Aspects &^= c.o.Ignore
	x.compareRows(&ch, a, b)
	if ch.Aspects == 0 {
		return ch, false
	}
	ch.Old, ch.New = c.old.sideOf(p.old), c.new.sideOf(p.new)
	return ch, true
}

// compareRows compares lines, inlined calls and unwind records unless their hashes tell that they are the same.
func (x *examiner) compareRows(ch *Change, a, b *unit) {
	if x.states.crowded() {
		x.states.reset()
	}
	c := x.c
	limit := min(a.codeEnd(), b.codeEnd())
	// Lines that reach beyond their function are cut there: then the size counts too.
	if (a.body != b.body || a.size != b.size) && a.kind == b.kind {
		if !c.ignores(Lines) {
			old, new := x.side[0].lines(a), x.side[1].lines(b)
			eachChange(old, new, func(from, to, _, _ uint64) { ch.LineRanges++ })
			ch.LostLines, ch.GainedLines = lostAndGained(old, new, limit)
		}
		if !c.ignores(Inlines) {
			x.a, x.b = x.side[0].inlineSpans(a, x.a[:0]), x.side[1].inlineSpans(b, x.b[:0])
			eachChange(x.a, x.b, func(from, to, _, _ uint64) { ch.InlineRanges++ })
			ch.LostInlines, ch.GainedInlines = lostAndGained(x.a, x.b, limit)
		}
	}
	if a.cfi != b.cfi || a.close || b.close {
		if !c.ignores(CFI) {
			x.cfi(ch.pair)
			eachChange(x.a, x.b, func(from, to, _, _ uint64) { ch.CFIRanges++ })
			if a.size == 0 || b.size == 0 {
				limit = min(endOf(x.a), endOf(x.b))
				if len(x.a) == 0 || len(x.b) == 0 {
					limit = 1<<64 - 1
				}
			}
			ch.LostCFI, ch.GainedCFI = lostAndGained(x.a, x.b, limit)
		}
		if !c.ignores(Win) {
			for range winDeltas(x.side[0].winRows(a), x.side[1].winRows(b)) {
				ch.WinRecords++
			}
		}
	}
	for _, f := range []struct {
		n int
		a Aspect
	}{{ch.LineRanges, Lines}, {ch.InlineRanges, Inlines}, {ch.CFIRanges, CFI}, {ch.WinRecords, Win}} {
		if f.n > 0 {
			ch.Aspects |= f.a
		}
	}
}

func endOf(list []span) uint64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].to
}

// cfi reads the unwind states of a pair into x.a and x.b.
func (x *examiner) cfi(p pair) {
	x.a, x.b = x.a[:0], x.b[:0]
	if p.old >= 0 {
		x.a = x.side[0].cfiSpans(&x.c.old.units[p.old], x.c.old.reach(int(p.old)), x.a)
	}
	if p.new >= 0 {
		x.b = x.side[1].cfiSpans(&x.c.new.units[p.new], x.c.new.reach(int(p.new)), x.b)
	}
}

// judgeFiles finds the source files that only one side uses.
func (c *comparison) judgeFiles() {
	if c.ignores(Lines) {
		return
	}
	for i, name := range c.names.files {
		a, b := i < len(c.old.used) && c.old.used[i], i < len(c.new.used) && c.new.used[i]
		switch {
		case a && !b:
			c.result.FilesRemoved = append(c.result.FilesRemoved, name)
		case b && !a:
			c.result.FilesAdded = append(c.result.FilesAdded, name)
		}
	}
	slices.Sort(c.result.FilesAdded)
	slices.Sort(c.result.FilesRemoved)
}

// judgeShift lists the stretches of code that moved otherwise than most.
func (c *comparison) judgeShift() {
	if c.ignores(Address) {
		return
	}
	s := &c.result.Shift
	s.By, s.Functions, s.Others = c.shift, c.shifted, c.moved
	var moves []Move
	open := false
	for i, j := range c.mate[0] {
		if j < 0 || c.old.units[i].kind == Unnamed {
			continue
		}
		addr := c.old.units[i].addr
		by := int64(c.new.units[j].addr - addr)
		switch {
		case by == c.shift:
			open = false
		case open && moves[len(moves)-1].By == by:
			moves[len(moves)-1].To = addr
			moves[len(moves)-1].Functions++
		default:
			moves = append(moves, Move{addr, addr, by, 1})
			open = true
		}
	}
	const most = 8
	slices.SortStableFunc(moves, func(a, b Move) int { return cmp.Compare(b.Functions, a.Functions) })
	s.Outliers = moves[:min(most, len(moves))]
}

// publicRef is a PUBLIC record as it is matched.
type publicRef struct {
	name  uint64
	place uint64 // the pair it belongs to
	off   uint64
	at    int32
}

func (c *comparison) publicRefs(side int) []publicRef {
	m := c.side(side)
	out := make([]publicRef, 0, len(m.publics))
	for i := range m.publics {
		p := &m.publics[i]
		ref := publicRef{name: p.name, at: int32(i), off: p.addr, place: 1<<63 | uint64(side)}
		if p.unit >= 0 {
			ref.off = p.addr - m.units[p.unit].addr
			ref.place = uint64(p.unit)
			if side == 1 {
				if mate := c.mate[1][p.unit]; mate >= 0 {
					ref.place = uint64(mate)
				} else {
					ref.place = 1<<62 | uint64(p.unit)
				}
			}
		}
		out = append(out, ref)
	}
	return out
}

// judgePublics compares the PUBLIC records that are no units.
func (c *comparison) judgePublics() {
	if c.ignores(Publics) {
		return
	}
	a, b := c.publicRefs(0), c.publicRefs(1)
	exact := func(x, y publicRef) int {
		return cmp.Or(cmp.Compare(x.name, y.name), cmp.Compare(x.place, y.place), cmp.Compare(x.off, y.off))
	}
	a, b = c.pairPublics(a, b, exact, false)
	byName := func(x, y publicRef) int { return cmp.Compare(x.name, y.name) }
	a, b = c.pairPublics(a, b, byName, true)
	for side, rest := range [][]publicRef{a, b} {
		m := c.side(side)
		for _, ref := range rest {
			p := &m.publics[ref.at]
			if m.isUnit(p) {
				continue // told as such
			}
			pc := PublicChange{Status: Removed, Name: m.publicName(p)}
			m.putPublic(&pc, p, side == 1)
			if side == 1 {
				pc.Status = Added
			}
			c.result.Publics = append(c.result.Publics, pc)
		}
	}
	slices.SortStableFunc(c.result.Publics, func(x, y PublicChange) int {
		return cmp.Or(cmp.Compare(max(x.OldAddr, x.NewAddr), max(y.OldAddr, y.NewAddr)), cmp.Compare(x.Status, y.Status), cmp.Compare(x.Name, y.Name))
	})
}

// isUnit reports whether a PUBLIC record is compared as a unit.
func (m *model) isUnit(p *public) bool {
	return p.unit >= 0 && m.units[p.unit].kind == Public && m.units[p.unit].off == p.off
}

func (m *model) putPublic(pc *PublicChange, p *public, new bool) {
	in, off := "", p.addr
	if p.unit >= 0 && m.units[p.unit].kind == Function {
		in, off = string(m.unitName(&m.units[p.unit])), p.addr-m.units[p.unit].addr
	}
	if new {
		pc.NewAddr, pc.NewParams, pc.NewMult, pc.NewLine, pc.NewIn, pc.NewOff = p.addr, p.params, p.multiple, int(p.line), in, off
	} else {
		pc.OldAddr, pc.OldParams, pc.OldMult, pc.OldLine, pc.OldIn, pc.OldOff = p.addr, p.params, p.multiple, int(p.line), in, off
	}
}

// pairPublics takes records out of both lists that are the same by an order, and tells how they differ.
func (c *comparison) pairPublics(a, b []publicRef, order func(x, y publicRef) int, moved bool) (restA, restB []publicRef) {
	full := func(x, y publicRef) int { return cmp.Or(order(x, y), cmp.Compare(x.at, y.at)) }
	slices.SortFunc(a, full)
	slices.SortFunc(b, full)
	for len(a) > 0 && len(b) > 0 {
		switch d := order(a[0], b[0]); {
		case d < 0:
			restA, a = append(restA, a[0]), a[1:]
		case d > 0:
			restB, b = append(restB, b[0]), b[1:]
		default:
			c.comparePublics(a[0], b[0], moved)
			a, b = a[1:], b[1:]
		}
	}
	return append(restA, a...), append(restB, b...)
}

func (c *comparison) comparePublics(x, y publicRef, moved bool) {
	a, b := &c.old.publics[x.at], &c.new.publics[y.at]
	if c.old.isUnit(a) && c.new.isUnit(b) {
		return // compared as units
	}
	if c.old.isUnit(a) != c.new.isUnit(b) {
		moved = false // a unit that lost or gained its FUNC is told as such
	}
	params := a.params != b.params && !c.ignores(Params)
	multiple := a.multiple != b.multiple && !c.ignores(Multiple)
	if !moved && !params && !multiple {
		return
	}
	pc := PublicChange{Name: c.old.publicName(a), Moved: moved}
	c.old.putPublic(&pc, a, false)
	c.new.putPublic(&pc, b, true)
	c.result.Publics = append(c.result.Publics, pc)
}

func (c *comparison) summarise() {
	r := c.result
	s := &r.Summary
	s.With = make(map[Aspect]int)
	for i, j := range c.mate[0] {
		if j >= 0 {
			s.Matched++
			s.By[c.how[i]]++
		}
	}
	for i := range r.Changes {
		ch := &r.Changes[i]
		switch ch.Status {
		case Changed:
			s.Changed++
		case Added:
			s.Added++
			if ch.New.Kind == Function {
				s.FunctionsAdded++
			} else if ch.New.Kind == Public {
				s.PublicsAdded++
			}
		case Removed:
			s.Removed++
			if ch.Old.Kind == Function {
				s.FunctionsRemoved++
			} else if ch.Old.Kind == Public {
				s.PublicsRemoved++
			}
		}
		if ch.Status == Changed && ch.Aspects.Has(Functions) {
			if ch.Old.Kind == Function {
				s.FunctionsRemoved++
			} else {
				s.FunctionsAdded++
			}
		}
		if ch.Aspects.Has(Names) {
			s.Renamed++
		}
		if ch.Aspects.Has(Sizes) {
			s.Resized++
		}
		for bit := Aspect(1); bit <= All; bit <<= 1 {
			if ch.Aspects.Has(bit) {
				s.With[bit]++
			}
		}
		s.LostLines += ch.LostLines
		s.GainedLines += ch.GainedLines
		s.LostInlines += ch.LostInlines
		s.GainedInlines += ch.GainedInlines
		s.LostCFI += ch.LostCFI
		s.GainedCFI += ch.GainedCFI
	}
	matchedAndDifferent := 0
	for i := range r.Changes {
		if r.Changes[i].pair.old >= 0 && r.Changes[i].pair.new >= 0 {
			matchedAndDifferent++
		}
	}
	s.Same = s.Matched - matchedAndDifferent
	for i := range r.Publics {
		switch r.Publics[i].Status {
		case Added:
			s.PublicsAdded++
		case Removed:
			s.PublicsRemoved++
		default:
			s.PublicsChanged++
		}
	}
}
