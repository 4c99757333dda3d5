package symfile

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// ContainedRangeMap holds ranges that may lie within each other but never overlap in part. It behaves as Google's
// ContainedRangeMap (src/processor/contained_range_map-inl.h): a range that crosses one stored before it is dropped.
// The reference keeps a tree; here the ranges stand in one slice in the tree's preorder. The zero value is empty.
type ContainedRangeMap[V any] struct {
	// AllowEqual: of equal ranges the later one lies within the earlier. Otherwise it is dropped.
	AllowEqual bool

	entries []RangeEntry[V] // by First, wider ones first, equal ones in the order stored
	parents []int32         // index of the closest range around each, -1 for none
}

// Len is the number of ranges held.
func (m *ContainedRangeMap[V]) Len() int { return len(m.entries) }

// At returns the i-th range: by start, wider ranges before those within them.
func (m *ContainedRangeMap[V]) At(i int) RangeEntry[V] { return m.entries[i] }

// Get returns the innermost range that contains addr.
func (m *ContainedRangeMap[V]) Get(addr uint64) (RangeEntry[V], bool) {
	for i := m.last(addr); i >= 0; i = int(m.parents[i]) {
		if addr <= m.entries[i].Last {
			return m.entries[i], true
		}
	}
	return RangeEntry[V]{}, false
}

// All appends the ranges that contain addr to dst, from the innermost to the outermost.
func (m *ContainedRangeMap[V]) All(addr uint64, dst []RangeEntry[V]) []RangeEntry[V] {
	for i := m.last(addr); i >= 0; i = int(m.parents[i]) {
		if addr <= m.entries[i].Last {
			dst = append(dst, m.entries[i])
		}
	}
	return dst
}

// last returns the last range in preorder that begins at or below addr. Whatever contains addr is it or around it.
func (m *ContainedRangeMap[V]) last(addr uint64) int {
	return sort.Search(len(m.entries), func(i int) bool { return m.entries[i].First > addr }) - 1
}

// Fill replaces the contents with what storing n ranges one by one leaves. Empty ranges and those that wrap around are
// dropped. It takes O(n log n) time whatever the order and nesting, O(n) for ranges that come in preorder.
func (m *ContainedRangeMap[V]) Fill(n int, at func(i int) (base, size uint64, v V)) {
	if m.fillPreorder(n, at) {
		return
	}
	r := collect(n, at)
	kept := m.laminar(r)
	slices.SortFunc(kept, func(a, b int32) int { return cmp.Or(preorder(r, a, b), cmp.Compare(a, b)) })
	m.entries = slices.Grow(m.entries[:0], len(kept))
	m.parents = slices.Grow(m.parents[:0], len(kept))
	for _, k := range kept {
		_, _, v := at(int(r.source[k]))
		m.push(RangeEntry[V]{r.first[k], r.last[k], v})
	}
}

func preorder(r *ranges, a, b int32) int {
	if c := cmp.Compare(r.first[a], r.first[b]); c != 0 {
		return c
	}
	return cmp.Compare(r.last[b], r.last[a])
}

// fillPreorder fills the map from ranges that come in preorder; false if they do not.
func (m *ContainedRangeMap[V]) fillPreorder(n int, at func(i int) (base, size uint64, v V)) bool {
	m.entries = make([]RangeEntry[V], 0, n)
	m.parents = make([]int32, 0, n)
	var first, last uint64 // of the range before, kept or not
	for i := range n {
		base, size, v := at(i)
		end := base + size - 1
		if size == 0 || end < base {
			continue
		}
		if base < first || base == first && end > last && len(m.entries) > 0 {
			return false
		}
		first, last = base, end
		m.push(RangeEntry[V]{base, end, v})
	}
	return true
}

// push adds a range that follows the others in preorder, unless it crosses or repeats one.
func (m *ContainedRangeMap[V]) push(e RangeEntry[V]) {
	p := len(m.entries) - 1
	for p >= 0 && m.entries[p].Last < e.First {
		p = int(m.parents[p])
	}
	if p >= 0 {
		around := &m.entries[p]
		if around.Last < e.Last || !m.AllowEqual && around.First == e.First && around.Last == e.Last {
			return
		}
	}
	m.entries = append(m.entries, e)
	m.parents = append(m.parents, int32(p))
}

// laminar returns the positions of the ranges that cross none of those kept before them, in the order given. A kept
// range X crosses the new one if it begins below it and ends within it, or begins within it and ends above it; each
// question is one of a minimum or maximum over the kept ranges that end or begin in an interval.
func (m *ContainedRangeMap[V]) laminar(r *ranges) []int32 {
	byFirst := r.order(func(a, b int32) int { return preorder(r, a, b) })
	byLast := r.order(func(a, b int32) int { return cmp.Compare(r.last[a], r.last[b]) })
	n := len(byFirst)
	firstRank, lastRank := make([]int32, n), make([]int32, n)
	equal := make([]int32, n) // position of the first of the ranges equal to each
	for i, k := range byFirst {
		firstRank[k] = int32(i)
		lastRank[byLast[i]] = int32(i)
		equal[k] = k
		if i > 0 && preorder(r, byFirst[i-1], k) == 0 {
			equal[k] = equal[byFirst[i-1]]
		}
	}
	present := newOrdinals(n)
	reach := newSegments(n, 0, func(a, b uint64) uint64 { return max(a, b) })              // last, by firstRank
	begin := newSegments(n, math.MaxUint64, func(a, b uint64) uint64 { return min(a, b) }) // first, by lastRank
	from := func(order []int32, keys []uint64, bound uint64) int {                         // the first with a key of at least bound
		return sort.Search(n, func(i int) bool { return keys[order[i]] >= bound })
	}
	var kept []int32
	for k := range r.first {
		s, e := r.first[k], r.last[k]
		if !m.AllowEqual && present.has(int(equal[k])) {
			continue
		}
		if begin.over(from(byLast, r.last, s), from(byLast, r.last, e)) < s {
			continue
		}
		above := n
		if e < math.MaxUint64 {
			above = from(byFirst, r.first, e+1)
		}
		if s < math.MaxUint64 && reach.over(from(byFirst, r.first, s+1), above) > e {
			continue
		}
		present.add(int(equal[k]))
		reach.set(int(firstRank[k]), e)
		begin.set(int(lastRank[k]), s)
		kept = append(kept, int32(k))
	}
	return kept
}

// segments is a segment tree: values at the numbers below a bound, and a minimum or maximum over intervals of them.
type segments struct {
	n     int
	none  uint64
	tree  []uint64
	merge func(a, b uint64) uint64
}

func newSegments(n int, none uint64, merge func(a, b uint64) uint64) *segments {
	s := &segments{n, none, make([]uint64, 2*n), merge}
	if none != 0 {
		for i := range s.tree {
			s.tree[i] = none
		}
	}
	return s
}

func (s *segments) set(i int, v uint64) {
	for i += s.n; i > 0; i /= 2 {
		s.tree[i] = s.merge(s.tree[i], v)
	}
}

// over merges the values at the numbers from lo up to but without hi.
func (s *segments) over(lo, hi int) uint64 {
	v := s.none
	for lo, hi = lo+s.n, hi+s.n; lo < hi; lo, hi = lo/2, hi/2 {
		if lo&1 != 0 {
			v = s.merge(v, s.tree[lo])
			lo++
		}
		if hi&1 != 0 {
			hi--
			v = s.merge(v, s.tree[hi])
		}
	}
	return v
}
