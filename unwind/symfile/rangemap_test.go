package symfile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

type span struct{ base, size uint64 }

func entries(m *RangeMap[int]) (out []RangeEntry[int]) {
	for i := range m.Len() {
		out = append(out, m.At(i))
	}
	return out
}

// The cases of Google's range_map_unittest.
func TestRangeMapStore(t *testing.T) {
	type store struct {
		span
		ok bool
	}
	for name, stores := range map[string][]store{
		"identical":       {{span{10, 10}, true}, {span{10, 10}, false}},
		"inside":          {{span{10, 10}, true}, {span{11, 5}, false}},
		"around":          {{span{10, 10}, true}, {span{5, 30}, false}},
		"below straddles": {{span{10, 10}, true}, {span{5, 6}, false}},
		"above straddles": {{span{10, 10}, true}, {span{19, 6}, false}},
		"adjacent":        {{span{10, 10}, true}, {span{20, 5}, true}, {span{5, 5}, true}},
		"empty":           {{span{10, 0}, false}, {span{0, 0}, false}},
		"wraps":           {{span{math.MaxUint64 - 4, 6}, false}, {span{math.MaxUint64, 2}, false}, {span{2, math.MaxUint64}, false}},
		"highest end":     {{span{math.MaxUint64 - 4, 5}, true}, {span{math.MaxUint64, 1}, false}},
		"between":         {{span{10, 10}, true}, {span{40, 10}, true}, {span{20, 20}, true}, {span{15, 30}, false}},
	} {
		t.Run(name, func(t *testing.T) {
			var m RangeMap[int]
			for i, s := range stores {
				if got := m.Store(s.base, s.size, i); got != s.ok {
					t.Errorf("Store(%d, %d) = %v", s.base, s.size, got)
				}
			}
		})
	}
}

func TestRangeMapGet(t *testing.T) {
	var m RangeMap[int]
	for i, s := range []span{{100, 10}, {110, 5}, {200, 1}, {math.MaxUint64 - 1, 2}} {
		m.Store(s.base, s.size, i)
	}
	for _, c := range []struct {
		addr         uint64
		get, nearest int // -1: none
	}{
		{0, -1, -1}, {99, -1, -1}, {100, 0, 0}, {109, 0, 0}, {110, 1, 1}, {114, 1, 1}, {115, -1, 1}, {199, -1, 1}, {200, 2, 2},
		{201, -1, 2}, {math.MaxUint64 - 2, -1, 2}, {math.MaxUint64 - 1, 3, 3}, {math.MaxUint64, 3, 3},
	} {
		e, ok := m.Get(c.addr)
		if ok != (c.get >= 0) || ok && e.Value != c.get {
			t.Errorf("Get(%d) = %v, %v", c.addr, e, ok)
		}
		e, ok = m.Nearest(c.addr)
		if ok != (c.nearest >= 0) || ok && e.Value != c.nearest {
			t.Errorf("Nearest(%d) = %v, %v", c.addr, e, ok)
		}
	}
}

// The cases of Google's truncate_lower and truncate_upper tests. Each list of ranges is stored in every order that the
// reference's test uses.
func TestRangeMapTruncate(t *testing.T) {
	type kept struct {
		base, size, delta uint64
		value             int
	}
	for _, c := range []struct {
		name    string
		overlap Overlap
		stores  []span
		want    []kept
		fails   int // the store that fails, -1 for none
	}{
		{"lower: big, small within", TruncateLower, []span{{0, 100}, {10, 80}}, []kept{{0, 10, 0, 0}, {10, 80, 0, 1}}, -1},
		{"lower: small within, big", TruncateLower, []span{{10, 80}, {0, 100}}, []kept{{0, 10, 0, 1}, {10, 80, 0, 0}}, -1},
		{"lower: second reaches further", TruncateLower, []span{{0, 100}, {90, 110}}, []kept{{0, 90, 0, 0}, {90, 110, 0, 1}}, -1},
		{"lower: second begins lower", TruncateLower, []span{{50, 50}, {0, 70}}, []kept{{0, 50, 0, 1}, {50, 50, 0, 0}}, -1},
		{"lower: three", TruncateLower, []span{{0, 100}, {100, 100}, {50, 100}}, []kept{{0, 50, 0, 0}, {50, 50, 0, 2}, {100, 100, 0, 1}}, -1},
		{"lower: over two", TruncateLower, []span{{10, 90}, {100, 100}, {0, 300}}, []kept{{0, 10, 0, 2}, {10, 90, 0, 0}, {100, 100, 0, 1}}, -1},
		{"lower: same", TruncateLower, []span{{0, 100}, {0, 100}}, []kept{{0, 100, 0, 0}}, 1},
		{"lower: same base", TruncateLower, []span{{0, 100}, {0, 50}}, []kept{{0, 100, 0, 0}}, 1},
		{"upper: big, small within", TruncateUpper, []span{{0, 100}, {10, 80}}, []kept{{10, 80, 0, 1}, {90, 10, 90, 0}}, -1},
		{"upper: small within, big", TruncateUpper, []span{{10, 80}, {0, 100}}, []kept{{10, 80, 0, 0}, {90, 10, 90, 1}}, -1},
		{"upper: second reaches further", TruncateUpper, []span{{0, 100}, {90, 110}}, []kept{{0, 100, 0, 0}, {100, 100, 10, 1}}, -1},
		{"upper: second begins lower", TruncateUpper, []span{{50, 50}, {0, 70}}, []kept{{0, 70, 0, 1}, {70, 30, 20, 0}}, -1},
		{"upper: between two", TruncateUpper, []span{{0, 100}, {100, 100}, {50, 100}}, []kept{{0, 100, 0, 0}, {100, 50, 50, 2}, {150, 50, 50, 1}}, -1},
		{"upper: over two", TruncateUpper, []span{{10, 90}, {100, 100}, {0, 300}}, []kept{{10, 90, 0, 0}, {100, 100, 0, 1}, {200, 100, 200, 2}}, -1},
		{"upper: same", TruncateUpper, []span{{0, 100}, {0, 100}}, []kept{{0, 100, 0, 0}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := RangeMap[int]{Overlap: c.overlap}
			for i, s := range c.stores {
				if ok := m.Store(s.base, s.size, i); ok != (i != c.fails) {
					t.Errorf("Store(%v) = %v", s, ok)
				}
			}
			var got []kept
			for _, e := range entries(&m) {
				got = append(got, kept{e.First, e.Size(), m.Delta(e), e.Value})
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("kept %v, want %v", got, c.want)
			}
		})
	}
}

// randomSpans returns ranges that meet often; some are empty or wrap around.
func randomSpans(r *rand.Rand) []span {
	out := make([]span, r.IntN(40))
	for i := range out {
		switch r.IntN(12) {
		case 0:
			out[i] = span{math.MaxUint64 - uint64(r.IntN(8)), uint64(r.IntN(10))}
		case 1:
			out[i] = span{uint64(r.IntN(4)), math.MaxUint64 - uint64(r.IntN(6))}
		default:
			out[i] = span{uint64(r.IntN(120)), uint64(r.IntN(20))}
		}
	}
	if r.IntN(3) == 0 { // mostly in order
		slices.SortFunc(out, func(a, b span) int { return int(a.base>>1) - int(b.base>>1) })
	}
	return out
}

// TestRangeMapFill: filling at once leaves what storing one by one leaves, and that is what the rule says: a range is
// kept if it overlaps none that was kept before it.
func TestRangeMapFill(t *testing.T) {
	for seed := range uint64(3000) {
		spans := randomSpans(rand.New(rand.NewPCG(seed, 1)))
		var one, all RangeMap[int]
		var naive []RangeEntry[int]
		for i, s := range spans {
			one.Store(s.base, s.size, i)
			e := RangeEntry[int]{s.base, s.base + s.size - 1, i}
			if s.size > 0 && e.Last >= e.First && !slices.ContainsFunc(naive, func(x RangeEntry[int]) bool {
				return x.First <= e.Last && e.First <= x.Last
			}) {
				naive = append(naive, e)
			}
		}
		slices.SortFunc(naive, func(a, b RangeEntry[int]) int { return map[bool]int{true: -1, false: 1}[a.First < b.First] })
		all.Fill(len(spans), func(i int) (uint64, uint64, int) { return spans[i].base, spans[i].size, i })
		if !slices.Equal(entries(&one), naive) || !slices.Equal(entries(&all), naive) {
			t.Fatalf("seed %d: %v:\nnaive  %v\nstored %v\nfilled %v", seed, spans, naive, entries(&one), entries(&all))
		}
	}
}

// TestRangeMapFillLowest: rust-minidump's into_rangemap_safe sorts by (start, end) and drops what overlaps the last kept.
func TestRangeMapFillLowest(t *testing.T) {
	for seed := range uint64(2000) {
		spans := randomSpans(rand.New(rand.NewPCG(seed, 2)))
		var rest []RangeEntry[int]
		for i, s := range spans {
			if e := (RangeEntry[int]{s.base, s.base + s.size - 1, i}); s.size > 0 && e.Last >= e.First {
				rest = append(rest, e)
			}
		}
		var naive []RangeEntry[int]
		for len(rest) > 0 { // selection: the lowest (start, end), the first of equal ones
			low := 0
			for i, e := range rest {
				if e.First < rest[low].First || e.First == rest[low].First && e.Last < rest[low].Last {
					low = i
				}
			}
			if n := len(naive); n == 0 || rest[low].First > naive[n-1].Last {
				naive = append(naive, rest[low])
			}
			rest = slices.Delete(rest, low, low+1)
		}
		var m RangeMap[int]
		m.FillLowest(len(spans), func(i int) (uint64, uint64, int) { return spans[i].base, spans[i].size, i })
		if !slices.Equal(entries(&m), naive) {
			t.Fatalf("seed %d: %v: got %v, want %v", seed, spans, entries(&m), naive)
		}
	}
}

func TestOrdinals(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{1, 63, 64, 65, 4096, 4097, 300000} {
		s := newOrdinals(n)
		var members []int
		for range 20 {
			i := r.IntN(n)
			s.add(i)
			members = append(members, i)
		}
		for range 200 {
			i := r.IntN(n)
			below, above := -1, -1
			for _, k := range members {
				if k <= i && k > below {
					below = k
				}
				if k >= i && (above < 0 || k < above) {
					above = k
				}
			}
			if got := s.atOrBelow(i); got != below {
				t.Fatalf("n %d: atOrBelow(%d) = %d, want %d of %v", n, i, got, below, members)
			}
			if got := s.atOrAbove(i); got != above {
				t.Fatalf("n %d: atOrAbove(%d) = %d, want %d of %v", n, i, got, above, members)
			}
			if s.has(i) != slices.Contains(members, i) {
				t.Fatalf("n %d: has(%d)", n, i)
			}
		}
	}
}

// containedTree is Google's ContainedRangeMap as it is written: a tree of maps by high address.
type containedTree struct {
	base, high uint64
	value      int
	children   []*containedTree
}

func (c *containedTree) store(base, size uint64, v int, equal bool) bool {
	high := base + size - 1
	if size == 0 || high < base {
		return false
	}
	slices.SortFunc(c.children, func(a, b *containedTree) int { return map[bool]int{true: -1, false: 1}[a.high < b.high] })
	lower := func(key uint64) int {
		for i, k := range c.children {
			if k.high >= key {
				return i
			}
		}
		return len(c.children)
	}
	i, j := lower(base), lower(high)
	if i == j && i < len(c.children) && base >= c.children[i].base {
		if !equal && c.children[i].base == base && c.children[i].high == high {
			return false
		}
		return c.children[i].store(base, size, v, equal)
	}
	containsHigh := j < len(c.children) && high >= c.children[j].base
	if i < len(c.children) && base > c.children[i].base || containsHigh && high < c.children[j].high {
		return false
	}
	if containsHigh {
		j++
	}
	child := &containedTree{base, high, v, slices.Clone(c.children[i:j])}
	c.children = append(slices.Delete(c.children, i, j), child)
	return true
}

func (c *containedTree) all(addr uint64) (out []int) {
	for _, k := range c.children {
		if k.base <= addr && addr <= k.high {
			return append(k.all(addr), k.value)
		}
	}
	return nil
}

func TestContainedRangeMap(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 4))
		spans := randomSpans(r)
		equal := seed%2 == 0
		tree := new(containedTree)
		n := 0
		for i, s := range spans {
			if tree.store(s.base, s.size, i, equal) {
				n++
			}
		}
		m := ContainedRangeMap[int]{AllowEqual: equal}
		m.Fill(len(spans), func(i int) (uint64, uint64, int) { return spans[i].base, spans[i].size, i })
		if m.Len() != n {
			t.Fatalf("seed %d: %v: %d ranges kept, want %d", seed, spans, m.Len(), n)
		}
		for i := range 160 {
			addr := uint64(i)
			if i > 145 {
				addr = -uint64(i - 145)
			}
			want := tree.all(addr)
			var got []int
			for _, e := range m.All(addr, nil) {
				got = append(got, e.Value)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: %v: at %d %v, want %v", seed, spans, addr, got, want)
			}
			e, ok := m.Get(addr)
			if ok != (len(want) > 0) || ok && e.Value != want[0] {
				t.Fatalf("seed %d: innermost at %d: %v %v, want %v", seed, addr, e, ok, want)
			}
		}
	}
}

// The pairs that MSVC writes and the comment in Google's reader speaks of: of the first two the second is dropped, the
// others nest.
func TestContainedRangeMapMSVC(t *testing.T) {
	for _, c := range []struct {
		stores []span
		addr   uint64
		want   string
	}{
		{[]span{{0x4242, 0x1a}, {0x4243, 0x2e}}, 0x4243, "[0]"},
		{[]span{{0x4242, 0x1a}, {0x4243, 0x2e}}, 0x4260, "[]"},
		{[]span{{0x1040, 0x73}, {0x105a, 0x59}}, 0x105a, "[1 0]"},
		{[]span{{0x105a, 0x59}, {0x1040, 0x73}}, 0x105a, "[0 1]"},
		{[]span{{0x105a, 0x59}, {0x1040, 0x73}}, 0x1059, "[1]"},
	} {
		var m ContainedRangeMap[int]
		m.Fill(len(c.stores), func(i int) (uint64, uint64, int) { return c.stores[i].base, c.stores[i].size, i })
		got := []int{}
		for _, e := range m.All(c.addr, nil) {
			got = append(got, e.Value)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v at %#x: %v, want %s", c.stores, c.addr, got, c.want)
		}
	}
}

func TestAddressMap(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 5))
		var m AddressMap[int]
		naive := map[uint64]int{}
		for i := range r.IntN(60) {
			a := uint64(r.IntN(50))
			if r.IntN(2) == 0 {
				a += uint64(i) // often in order
			}
			_, again := naive[a]
			if ok := m.Store(a, i); ok == again {
				t.Fatalf("seed %d: Store(%d) = %v", seed, a, ok)
			}
			if !again {
				naive[a] = i
			}
			if r.IntN(10) == 0 {
				m.Seal()
			}
		}
		if m.Len() != len(naive) {
			t.Fatalf("%d values, want %d", m.Len(), len(naive))
		}
		for a := range uint64(120) {
			best, found := uint64(0), false
			for k := range naive {
				if k <= a && (!found || k > best) {
					best, found = k, true
				}
			}
			at, v, ok := m.Get(a)
			if ok != found || ok && (at != best || v != naive[best]) {
				t.Fatalf("seed %d: Get(%d) = %d %d %v", seed, a, at, v, ok)
			}
		}
	}
}

// hostile orders: one range over many, inserted in every order, must not take quadratic time.
func BenchmarkRangeMapHostile(b *testing.B) {
	const n = 200000
	perm := rand.New(rand.NewPCG(1, 1)).Perm(n)
	at := func(i int) (uint64, uint64, int) {
		if i == n {
			return 0, n * 16, i
		}
		return uint64(perm[i]) * 16, 8, i
	}
	for b.Loop() {
		var m RangeMap[int]
		m.Fill(n+1, at)
		if m.Len() != n {
			b.Fatal(m.Len())
		}
	}
}

func BenchmarkContainedRangeMapHostile(b *testing.B) {
	const n = 200000 // half nested in each other, half leaves within, in random order
	perm := rand.New(rand.NewPCG(1, 1)).Perm(n)
	at := func(i int) (uint64, uint64, int) {
		k := uint64(perm[i])
		if k%2 == 0 {
			return k, 4*n - 2*k, i
		}
		return n + 2*k, 1, i
	}
	for b.Loop() {
		var m ContainedRangeMap[int]
		m.Fill(n, at)
		if m.Len() != n {
			b.Fatal(m.Len())
		}
	}
}
