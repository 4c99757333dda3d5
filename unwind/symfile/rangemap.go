package symfile

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

// Overlap says what a RangeMap does with a range that overlaps one it holds already.
type Overlap uint8

// The strategies of Google's RangeMap (src/processor/range_map-inl.h).
const (
	// Reject drops the new range. FUNC, line and STACK CFI INIT records, memory regions and most module lists.
	Reject Overlap = iota
	// TruncateLower shortens the range that begins lower to end before the other; what it held beyond the other is
	// lost. Module lists of Linux and Android minidumps, unloaded modules.
	TruncateLower
	// TruncateUpper moves the start of the range that ends higher behind the other's end; Delta tells by how much.
	// Module lists of Android microdumps.
	TruncateUpper
)

// RangeEntry is a range of addresses with both ends in it, so that it can hold the last address there is.
type RangeEntry[V any] struct {
	First, Last uint64
	Value       V
}

// Contains reports whether addr lies in the range.
func (e *RangeEntry[V]) Contains(addr uint64) bool { return e.First <= addr && addr <= e.Last }

// Size is the number of addresses in the range; 0 stands for 2^64.
func (e *RangeEntry[V]) Size() uint64 { return e.Last - e.First + 1 }

// RangeMap holds ranges that do not overlap. It behaves as Google's RangeMap, but is a sorted slice: storing ranges in
// ascending order costs nothing but the append. The zero value is empty and rejects overlaps.
type RangeMap[V any] struct {
	Overlap Overlap

	entries []RangeEntry[V]
	deltas  map[uint64]uint64 // by Last, for ranges whose start was moved
}

// Len is the number of ranges held.
func (m *RangeMap[V]) Len() int { return len(m.entries) }

// At returns the i-th range in ascending order.
func (m *RangeMap[V]) At(i int) RangeEntry[V] { return m.entries[i] }

// Get returns the range that contains addr.
func (m *RangeMap[V]) Get(addr uint64) (RangeEntry[V], bool) {
	if i := m.lower(addr); i < len(m.entries) && m.entries[i].First <= addr {
		return m.entries[i], true
	}
	return RangeEntry[V]{}, false
}

// Nearest returns the range that contains addr, else the closest one that ends below it.
func (m *RangeMap[V]) Nearest(addr uint64) (RangeEntry[V], bool) {
	i := m.lower(addr)
	if i < len(m.entries) && m.entries[i].First <= addr {
		return m.entries[i], true
	}
	if i == 0 {
		return RangeEntry[V]{}, false
	}
	return m.entries[i-1], true
}

// Delta is by how many bytes the start of a stored range was moved up (TruncateUpper).
func (m *RangeMap[V]) Delta(e RangeEntry[V]) uint64 { return m.deltas[e.Last] }

// lower returns the index of the first range that ends at or above addr.
func (m *RangeMap[V]) lower(addr uint64) int {
	return sort.Search(len(m.entries), func(i int) bool { return m.entries[i].Last >= addr })
}

// Store adds a range of size bytes. It returns false for a size of 0, a range that wraps around and one that the
// strategy gives up on; the map then still holds what the strategy did to the ranges it had.
func (m *RangeMap[V]) Store(base, size uint64, v V) bool {
	var delta uint64
	for {
		last := base + size - 1
		if size == 0 || last < base {
			return false
		}
		if n := len(m.entries); n == 0 || m.entries[n-1].Last < base {
			m.entries = append(m.entries, RangeEntry[V]{base, last, v})
			m.setDelta(last, delta)
			return true
		}
		i, j := m.lower(base), m.lower(last)
		// i != j: range i ends within the new one. Otherwise j may begin within it, and ends at or above its end.
		below := i != j
		if !below && (j == len(m.entries) || m.entries[j].First > last) {
			m.entries = slices.Insert(m.entries, i, RangeEntry[V]{base, last, v})
			m.setDelta(last, delta)
			return true
		}
		other := &m.entries[i]
		switch {
		case m.Overlap == TruncateLower && base < other.First:
			size = other.First - base
		case m.Overlap == TruncateLower && other.First < base:
			moved := m.deltas[other.Last]
			m.setDelta(other.Last, 0)
			other.Last = base - 1
			m.setDelta(other.Last, moved)
		case m.Overlap == TruncateUpper && below:
			skip := other.Last - base + 1
			base, delta, size = base+skip, delta+skip, size-skip
		case m.Overlap == TruncateUpper && other.Last > last:
			skip := last - other.First + 1
			m.setDelta(other.Last, m.deltas[other.Last]+skip)
			other.First += skip
		default:
			return false
		}
	}
}

func (m *RangeMap[V]) setDelta(last, delta uint64) {
	if delta == 0 {
		delete(m.deltas, last)
		return
	}
	if m.deltas == nil {
		m.deltas = make(map[uint64]uint64)
	}
	m.deltas[last] = delta
}

// Fill replaces the contents with what storing n ranges one by one into an empty map that rejects overlaps would leave:
// of two ranges that overlap, the first in the order of i is kept and the other dropped. It takes O(n log n) time
// whatever the order, and O(n) for ranges in ascending order.
func (m *RangeMap[V]) Fill(n int, at func(i int) (base, size uint64, v V)) {
	if m.fillAscending(n, at) {
		return
	}
	r := collect(n, at)
	byStart := r.order(func(a, b int32) int { return cmp.Compare(r.first[a], r.first[b]) })
	if !r.overlap(byStart) {
		m.fillFrom(r, byStart, at)
		return
	}
	// What is kept does not overlap, so a new range can only meet the kept ones next to it in order of starts.
	rank := make([]int32, len(byStart))
	for i, k := range byStart {
		rank[k] = int32(i)
	}
	kept := newOrdinals(len(byStart))
	for k := range r.first {
		p := int(rank[k])
		if q := kept.atOrBelow(p); q >= 0 && r.last[byStart[q]] >= r.first[k] {
			continue
		}
		if q := kept.atOrAbove(p); q >= 0 && r.first[byStart[q]] <= r.last[k] {
			continue
		}
		kept.add(p)
	}
	out := byStart[:0]
	for i, k := range byStart {
		if kept.has(i) {
			out = append(out, k)
		}
	}
	m.fillFrom(r, out, at)
}

// FillLowest replaces the contents with n ranges by rust-minidump's rule: they are taken in the order of (start, end),
// those that are equal in the order of i, and one that overlaps the last one kept is dropped.
func (m *RangeMap[V]) FillLowest(n int, at func(i int) (base, size uint64, v V)) {
	if m.fillAscending(n, at) {
		return
	}
	r := collect(n, at)
	order := r.order(func(a, b int32) int {
		if c := cmp.Compare(r.first[a], r.first[b]); c != 0 {
			return c
		}
		return cmp.Compare(r.last[a], r.last[b])
	})
	out := order[:0]
	for _, k := range order {
		if len(out) == 0 || r.first[k] > r.last[out[len(out)-1]] {
			out = append(out, k)
		}
	}
	m.fillFrom(r, out, at)
}

// fillAscending fills the map from ranges that stand in ascending order and do not overlap; false if they do not.
func (m *RangeMap[V]) fillAscending(n int, at func(i int) (base, size uint64, v V)) bool {
	m.entries = make([]RangeEntry[V], 0, n)
	m.deltas = nil
	for i := range n {
		base, size, v := at(i)
		last := base + size - 1
		if size == 0 || last < base {
			continue
		}
		if k := len(m.entries); k > 0 && m.entries[k-1].Last >= base {
			return false
		}
		m.entries = append(m.entries, RangeEntry[V]{base, last, v})
	}
	return true
}

// ranges are the ranges of a map to be filled that are neither empty nor wrap around.
type ranges struct {
	first, last []uint64
	source      []int32 // i of each
}

func collect[V any](n int, at func(i int) (base, size uint64, v V)) *ranges {
	r := &ranges{make([]uint64, 0, n), make([]uint64, 0, n), make([]int32, 0, n)}
	for i := range n {
		base, size, _ := at(i)
		if last := base + size - 1; size != 0 && last >= base {
			r.first = append(r.first, base)
			r.last = append(r.last, last)
			r.source = append(r.source, int32(i))
		}
	}
	return r
}

// order returns the positions of the ranges in order, those that compare equal as they were given.
func (r *ranges) order(compare func(a, b int32) int) []int32 {
	out := make([]int32, len(r.first))
	for i := range out {
		out[i] = int32(i)
	}
	slices.SortFunc(out, func(a, b int32) int {
		if c := compare(a, b); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return out
}

// overlap reports whether any of the ranges, given in order of starts, overlap.
func (r *ranges) overlap(byStart []int32) bool {
	for i := 1; i < len(byStart); i++ {
		if r.last[byStart[i-1]] >= r.first[byStart[i]] {
			return true
		}
	}
	return false
}

// fillFrom makes the ranges with the given positions, which are in ascending order and apart, the map's contents.
func (m *RangeMap[V]) fillFrom(r *ranges, order []int32, at func(i int) (base, size uint64, v V)) {
	m.entries = slices.Grow(m.entries[:0], len(order))
	for _, k := range order {
		_, _, v := at(int(r.source[k]))
		m.entries = append(m.entries, RangeEntry[V]{r.first[k], r.last[k], v})
	}
}

// ordinals is a set of the numbers below a bound in which neighbours are found quickly: a bitmap, and above it bitmaps
// of the words that are not empty.
type ordinals struct{ levels [][]uint64 }

func newOrdinals(n int) *ordinals {
	s := new(ordinals)
	for {
		words := (n + 63) / 64
		s.levels = append(s.levels, make([]uint64, words))
		if words <= 1 {
			return s
		}
		n = words
	}
}

func (s *ordinals) add(i int) {
	for _, level := range s.levels {
		level[i/64] |= 1 << (i % 64)
		i /= 64
	}
}

func (s *ordinals) has(i int) bool { return s.levels[0][i/64]>>(i%64)&1 != 0 }

// atOrBelow returns the greatest member up to i, -1 if there is none.
func (s *ordinals) atOrBelow(i int) int {
	for l, level := range s.levels {
		if w := level[i/64] << (63 - i%64); w != 0 {
			return s.highest(l, i-bits.LeadingZeros64(w))
		}
		if i /= 64; i == 0 {
			return -1
		}
		i--
	}
	return -1
}

func (s *ordinals) highest(level, i int) int {
	for ; level > 0; level-- {
		i = i*64 + 63 - bits.LeadingZeros64(s.levels[level-1][i])
	}
	return i
}

// atOrAbove returns the least member from i on, -1 if there is none.
func (s *ordinals) atOrAbove(i int) int {
	for l, level := range s.levels {
		if i/64 >= len(level) {
			return -1
		}
		if w := level[i/64] >> (i % 64); w != 0 {
			return s.lowest(l, i+bits.TrailingZeros64(w))
		}
		i = i/64 + 1
	}
	return -1
}

func (s *ordinals) lowest(level, i int) int {
	for ; level > 0; level-- {
		i = i*64 + bits.TrailingZeros64(s.levels[level-1][i])
	}
	return i
}
