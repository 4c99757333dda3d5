package symdiff

import (
	"cmp"
	"slices"
)

// Kind is what stands for a piece of code in a symbol file.
type Kind uint8

// The kinds.
const (
	Function Kind = iota // a FUNC
	Public               // a PUBLIC outside of all FUNCs
	Unnamed              // unwind records that no symbol covers
)

// String returns the record's keyword, or "unwind records".
func (k Kind) String() string { return [...]string{"FUNC", "PUBLIC", "unwind records"}[k] }

// Match is how two functions were recognised as the same.
type Match uint8

// The ways, from the surest on.
const (
	NoMatch    Match = iota
	ByName           // the name is the same
	BySpelling       // it is but for blanks, parameters, clone suffixes or scopes
	ByAddress        // they stand at the same place between the same neighbours
	ByBody           // they have the same lines, or the same unwind rules
)

// String returns name, spelling, address or body.
func (m Match) String() string { return [...]string{"none", "name", "spelling", "address", "body"}[m] }

// pair is what is compared: units of both files, or -1.
type pair struct{ old, new int32 }

// candidate is a unit under the key that is being matched.
type candidate struct {
	key  uint64
	unit int32
}

// match finds for every unit its like on the other side.
func (c *comparison) match() {
	for i := range 2 {
		c.mate[i] = slices.Repeat([]int32{-1}, len(c.side(i).units))
	}
	c.how = make([]Match, len(c.old.units))
	for _, sameKind := range []bool{true, false} {
		c.matchBy(ByName, func(m *model, u *unit) uint64 {
			if u.kind == Unnamed || u.name == 0 {
				return 0
			}
			if sameKind {
				return mix(u.name, uint64(u.kind), 1)
			}
			return u.name
		})
	}
	if c.unmatchedOnBoth() {
		c.matchBySpelling()
	}
	c.findShift()
	c.matchByPlace()
	c.matchByBody()
	c.matchUnnamed()
	c.findShift()
	c.listPairs()
}

func (c *comparison) unmatchedOnBoth() bool {
	for i := range 2 {
		units := c.side(i).units
		if !slices.ContainsFunc(units, func(u unit) bool { return u.kind != Unnamed }) {
			return false
		}
		found := false
		for j := range units {
			if units[j].kind != Unnamed && c.mate[i][j] < 0 {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// matchBySpelling matches what is named alike, level by level.
func (c *comparison) matchBySpelling() {
	var keys [2][][keyCount]uint64
	for side := range keys {
		m := c.side(side)
		keys[side] = make([][keyCount]uint64, len(m.units))
		c.eachUnmatched(side, func(worker *detailer, i int) {
			keys[side][i] = nameKeys(m.unitName(&m.units[i]), &worker.buf)
		})
	}
	for level := range keyCount {
		a, b := c.both(func(side, i int) uint64 { return keys[side][i][level] })
		c.matchCandidates(a, b, BySpelling)
	}
}

// eachUnmatched calls f for the named units of a side that are not matched yet, several at a time.
func (c *comparison) eachUnmatched(side int, f func(worker *detailer, i int)) {
	m := c.side(side)
	const block = 1024
	c.parallel((len(m.units)+block-1)/block, func(n int) {
		var worker detailer
		worker.init(m, c.names)
		for i := n * block; i < min(len(m.units), (n+1)*block); i++ {
			if c.mate[side][i] == -1 && m.units[i].kind != Unnamed {
				f(&worker, i)
			}
		}
	})
}

// candidates lists the unmatched units that have a key.
func (c *comparison) candidates(side int, key func(i int) uint64) []candidate {
	var out []candidate
	for i, mate := range c.mate[side] {
		if mate < 0 {
			if k := key(i); k != 0 {
				if out == nil {
					out = make([]candidate, 0, len(c.mate[side])-i)
				}
				out = append(out, candidate{k, int32(i)})
			}
		}
	}
	return out
}

func compareCandidates(a, b candidate) int {
	switch {
	case a.key < b.key:
		return -1
	case a.key > b.key:
		return 1
	}
	return int(a.unit) - int(b.unit)
}

// both makes the lists of candidates of both sides at the same time, by key and address. Keys that the other side does
// not have are left out, as far as a small filter can tell: there may be many, and sorting is what takes the time.
func (c *comparison) both(key func(side, i int) uint64) (a, b []candidate) {
	var out [2][]candidate
	var seen [2][]uint64
	const bits = 1 << 20
	c.parallel(2, func(side int) {
		out[side] = c.candidates(side, func(i int) uint64 { return key(side, i) })
		seen[side] = make([]uint64, bits/64)
		for _, k := range out[side] {
			h := k.key >> 7 % bits
			seen[side][h/64] |= 1 << (h % 64)
		}
	})
	c.parallel(2, func(side int) {
		other := seen[1-side]
		out[side] = slices.DeleteFunc(out[side], func(k candidate) bool {
			h := k.key >> 7 % bits
			return other[h/64]>>(h%64)&1 == 0
		})
		slices.SortFunc(out[side], compareCandidates)
	})
	return out[0], out[1]
}

// matchBy matches units with equal keys. Several of one key, such as static functions of one name, are told apart by
// what is said of them, then by size, then by order.
func (c *comparison) matchBy(how Match, key func(m *model, u *unit) uint64) {
	a, b := c.both(func(side, i int) uint64 {
		m := c.side(side)
		return key(m, &m.units[i])
	})
	c.matchCandidates(a, b, how)
}

func (c *comparison) matchCandidates(a, b []candidate, how Match) {
	eachGroup(a, b, func(x, y []candidate) {
		if len(x) == 1 && len(y) == 1 {
			c.join(x[0].unit, y[0].unit, how)
			return
		}
		c.matchGroup(x, y, how)
	})
}

func (c *comparison) join(old, new int32, how Match) {
	c.mate[0][old], c.mate[1][new], c.how[old] = new, old, how
}

// eachGroup calls f for the candidates of both sides that share a key.
func eachGroup(a, b []candidate, f func(x, y []candidate)) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].key < b[0].key:
			a = a[1:]
		case a[0].key > b[0].key:
			b = b[1:]
		default:
			i, j := run(a), run(b)
			f(a[:i], b[:j])
			a, b = a[i:], b[j:]
		}
	}
}

// run is how many candidates at the front have the same key.
func run(list []candidate) int {
	n := 1
	for n < len(list) && list[n].key == list[0].key {
		n++
	}
	return n
}

func (c *comparison) matchGroup(x, y []candidate, how Match) {
	hash := func(u *unit) uint64 { return mix(u.body, u.cfi, u.size) }
	size := func(u *unit) uint64 { return u.size }
	order := func(*unit) uint64 { return 0 }
	for _, key := range []func(*unit) uint64{hash, size, order} {
		x, y = c.rekey(0, x, key), c.rekey(1, y, key)
		eachGroup(x, y, func(x, y []candidate) {
			for i := range min(len(x), len(y)) {
				c.join(x[i].unit, y[i].unit, how)
			}
		})
	}
}

// rekey lists those that are still unmatched under another key.
func (c *comparison) rekey(side int, list []candidate, key func(*unit) uint64) []candidate {
	m := c.side(side)
	var out []candidate
	for _, k := range list {
		if c.mate[side][k.unit] < 0 {
			out = append(out, candidate{key(&m.units[k.unit]), k.unit})
		}
	}
	slices.SortFunc(out, compareCandidates)
	return out
}

// findShift finds by how much most of the code moved.
func (c *comparison) findShift() {
	var deltas []int64
	for i, j := range c.mate[0] {
		if j >= 0 && c.old.units[i].kind != Unnamed {
			deltas = append(deltas, int64(c.new.units[j].addr-c.old.units[i].addr))
		}
	}
	c.shift, c.shifted, c.moved = 0, 0, 0
	slices.Sort(deltas)
	for i := 0; i < len(deltas); {
		n := 1
		for i+n < len(deltas) && deltas[i+n] == deltas[i] {
			n++
		}
		if n > c.shifted || n == c.shifted && magnitude(deltas[i]) < magnitude(c.shift) {
			c.shift, c.shifted = deltas[i], n
		}
		i += n
	}
	c.moved = len(deltas) - c.shifted
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// expect returns for every unit of a side the address at which its like is expected: moved as far as the nearest
// matched unit before it, or else behind it. ok is false where nothing is matched.
func (c *comparison) expect(side int) (at []uint64, ok bool) {
	mine, theirs := c.side(side), c.side(1-side)
	at = make([]uint64, len(mine.units))
	shift, known := uint64(0), -1
	for i := range mine.units {
		if j := c.mate[side][i]; j >= 0 {
			shift = theirs.units[j].addr - mine.units[i].addr
			if known < 0 {
				known = i
				for k := range i {
					at[k] = mine.units[k].addr + shift
				}
			}
		}
		at[i] = mine.units[i].addr + shift
	}
	return at, known >= 0
}

// matchAt matches unmatched units that stand where their like is expected, seen from both sides.
func (c *comparison) matchAt(how Match, fits func(a, b *unit) bool) {
	if !c.anyUnmatched(0) || !c.anyUnmatched(1) {
		return
	}
	there, ok := c.expect(0)
	back, _ := c.expect(1)
	if !ok {
		return
	}
	units := c.new.units
	for i := range c.old.units {
		if c.mate[0][i] >= 0 {
			continue
		}
		const most = 64 // functions at one address
		j, _ := slices.BinarySearchFunc(units, there[i], func(u unit, a uint64) int { return cmp.Compare(u.addr, a) })
		for k := j; k < min(len(units), j+most) && units[k].addr == there[i]; k++ {
			if c.mate[1][k] < 0 && back[k] == c.old.units[i].addr && fits(&c.old.units[i], &units[k]) {
				c.join(int32(i), int32(k), how)
				break
			}
		}
	}
}

func (c *comparison) anyUnmatched(side int) bool { return slices.Contains(c.mate[side], -1) }

// matchByPlace matches functions and symbols that stand in the same place under another name.
func (c *comparison) matchByPlace() {
	named := func(a, b *unit) bool { return a.kind != Unnamed && b.kind != Unnamed }
	c.matchAt(ByAddress, func(a, b *unit) bool { return named(a, b) && a.size == b.size })
	c.matchAt(ByAddress, func(a, b *unit) bool {
		return named(a, b) && a.rows && b.rows && a.body == b.body
	})
}

// matchByBody matches functions that say the same under another name elsewhere: the same lines and rules, the same
// lines, the same steps from line to line, or the same unwind rules. What several share matches nothing.
func (c *comparison) matchByBody() {
	if !c.unmatchedOnBoth() {
		return
	}
	const fewest = 3 // lines or rows, which two functions do not have in common by chance
	type shape struct{ all, lines, steps, rules uint64 }
	var shapes [2][]shape
	for side := range shapes {
		m := c.side(side)
		shapes[side] = make([]shape, len(m.units))
		c.eachUnmatched(side, func(worker *detailer, i int) {
			u := &m.units[i]
			s := &shapes[side][i]
			if m.rowCount(u) >= fewest {
				s.rules = mix(u.cfi, u.size, 0) | 1
			}
			lines := worker.lines(u)
			if len(lines) < fewest {
				return
			}
			s.all = mix(u.body, u.cfi, u.size) | 1
			before := lines[0].val
			s.steps = u.size
			for _, l := range lines {
				s.lines = mix(s.lines, l.val, 0)
				s.steps = mix(s.steps, l.val-before, l.from)
				before = l.val
			}
			s.lines |= 1
			s.steps |= 1
		})
	}
	for _, key := range []func(s *shape) uint64{
		func(s *shape) uint64 { return s.all }, func(s *shape) uint64 { return s.lines },
		func(s *shape) uint64 { return s.steps }, func(s *shape) uint64 { return s.rules },
	} {
		a, b := c.both(func(side, i int) uint64 { return key(&shapes[side][i]) })
		eachGroup(a, b, func(x, y []candidate) {
			if len(x) == 1 && len(y) == 1 {
				c.join(x[0].unit, y[0].unit, ByBody)
			}
		})
	}
}

// rowCount is about how many unwind rows a unit has, from the bytes they take.
func (m *model) rowCount(u *unit) int {
	n := 0
	for j := u.inits[0]; j < u.inits[1]; j++ {
		const perRow = 32
		n += 1 + int(m.inits[j].end-m.inits[j].off)/perRow
	}
	return n
}

// matchUnnamed matches unwind records without symbol: by place, then by what they say. Those whose symbol is missing
// in the other file match the unwind records left there.
func (c *comparison) matchUnnamed() {
	unnamed := func(a, b *unit) bool { return a.kind == Unnamed && b.kind == Unnamed }
	if c.anyUnnamed() {
		c.matchRestUnnamed(unnamed)
	}
	for i, j := range c.mate[0] {
		if j >= 0 && c.old.units[i].cfi != c.new.units[j].cfi {
			c.absorb(i, int(j))
		}
	}
}

// anyUnnamed reports whether there are unmatched unwind records without symbol.
func (c *comparison) anyUnnamed() bool {
	for side := range 2 {
		for i, mate := range c.mate[side] {
			if mate == -1 && c.side(side).units[i].kind == Unnamed {
				return true
			}
		}
	}
	return false
}

func (c *comparison) matchRestUnnamed(unnamed func(a, b *unit) bool) {
	c.matchAt(ByAddress, func(a, b *unit) bool { return unnamed(a, b) && a.cfi == b.cfi })
	c.matchAt(ByAddress, unnamed)
	c.matchAt(ByAddress, func(a, b *unit) bool { return a.kind == Unnamed || b.kind == Unnamed })
	c.matchBy(ByBody, func(m *model, u *unit) uint64 {
		if u.kind != Unnamed {
			return 0
		}
		return u.cfi | 1
	})
}

// absorbed marks a unit that became part of the one before it.
const absorbed = -2

// absorb makes up for unwind records that are split at different places: the side whose records end earlier gets the
// records that follow without a gap and belong to nothing else.
func (c *comparison) absorb(i, j int) {
	at := [2]int{i, j}
	behind := [2]int{i + 1, j + 1}
	for {
		a, b := c.old.reach(at[0]), c.new.reach(at[1])
		side := 0
		switch {
		case a == b:
			return
		case a > b:
			side = 1
		}
		m := c.side(side)
		u := &m.units[at[side]]
		next := behind[side]
		if next == len(m.units) || m.units[next].kind != Unnamed || c.mate[side][next] != -1 ||
			m.units[next].inits[0] != u.inits[1] || m.units[next].addr != u.addr+m.reach(at[side]) ||
			m.units[next].inits[0] == m.units[next].inits[1] {
			return
		}
		c.mate[side][next] = absorbed
		behind[side]++
		u.inits[1] = m.units[next].inits[1]
		u.close = true
		m.units[next].addr = u.addr // no limit to the unit any more
	}
}

// reach is how far a unit goes, in bytes: its code, and the unwind records that begin there up to the next unit.
func (m *model) reach(i int) uint64 {
	u := &m.units[i]
	reach := u.size
	if u.inits[1] > u.inits[0] {
		last := &m.inits[u.inits[1]-1]
		end := last.limit()
		k, _ := slices.BinarySearchFunc(m.units, u.addr, func(x unit, a uint64) int {
			if x.addr <= a {
				return -1
			}
			return 1
		})
		if k < len(m.units) {
			end = min(end, max(m.units[k].addr, u.limit()))
		}
		if end > u.addr {
			reach = max(reach, end-u.addr)
		}
	}
	return reach
}

// listPairs lists what is to be compared in the order of the older file's addresses; what only the newer has stands
// behind the unit before it.
func (c *comparison) listPairs() {
	var onlyNew []int32
	for j, i := range c.mate[1] {
		if i == -1 {
			onlyNew = append(onlyNew, int32(j))
		}
	}
	place, _ := c.expect(1)
	slices.SortStableFunc(onlyNew, func(a, b int32) int { return cmp.Compare(place[a], place[b]) })
	c.pairs = make([]pair, 0, len(c.old.units)+len(onlyNew))
	for i, j := range c.mate[0] {
		for len(onlyNew) > 0 && place[onlyNew[0]] < c.old.units[i].addr {
			c.pairs = append(c.pairs, pair{-1, onlyNew[0]})
			onlyNew = onlyNew[1:]
		}
		if j != absorbed {
			c.pairs = append(c.pairs, pair{int32(i), j})
		}
	}
	for _, j := range onlyNew {
		c.pairs = append(c.pairs, pair{-1, j})
	}
}
