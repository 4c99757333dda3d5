package listing

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/symlint/symlint/unwind/symfile"
)

// call is an INLINE record.
type call struct {
	nest, number, file, origin int64
	from, to                   int // of inlineTree.ranges

	first, next int32 // positions in calls: the first call inlined into it, the next beside it; -1 for none
	last        int32
}

// inlineTree puts the calls inlined in a function in order. It is reused.
type inlineTree struct {
	calls  []call
	ranges []span
	roots  call
}

func (t *inlineTree) reset() { t.calls, t.ranges = t.calls[:0], t.ranges[:0] }

func (t *inlineTree) add(r *symfile.Record, ranges []byte, base uint64) {
	c := call{nest: r.Nest, number: r.Number, file: r.FileID, origin: r.Origin, from: len(t.ranges)}
	if r.OldForm {
		c.file = -1
	}
	for {
		addr, rest, ok := hexWord(ranges)
		if !ok {
			break
		}
		size, rest, ok := hexWord(rest)
		if !ok {
			break
		}
		t.ranges, ranges = append(t.ranges, span{int64(addr - base), size}), rest
	}
	c.to = len(t.ranges)
	if c.from == c.to { // no usable record is without
		return
	}
	slices.SortStableFunc(t.ranges[c.from:], func(a, b span) int { return cmp.Compare(a.offset, b.offset) })
	t.calls = append(t.calls, c)
}

// hexWord reads a hexadecimal number and returns what follows it.
func hexWord(b []byte) (v uint64, rest []byte, ok bool) {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	if len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		b = b[2:]
	}
	for len(b) > 0 {
		switch c := b[0]; {
		case c-'0' <= 9:
			v = v<<4 | uint64(c-'0')
		case c|0x20-'a' <= 5:
			v = v<<4 | uint64(c|0x20-'a'+10)
		default:
			return v, b, ok
		}
		b, ok = b[1:], true
	}
	return v, b, ok
}

// preorder yields the calls, each before those inlined into it, and those at one place by address. A call belongs to
// the one of the next lower nest whose code contains the beginning of its own; where there is none it stands beside
// the outermost.
func (t *inlineTree) preorder() iter.Seq[*call] {
	t.link()
	return func(yield func(*call) bool) {
		var open []int32 // what comes next, the innermost last
		for at := t.roots.first; ; {
			if at < 0 {
				if len(open) == 0 {
					return
				}
				at, open = open[len(open)-1], open[:len(open)-1]
				continue
			}
			c := &t.calls[at]
			if !yield(c) {
				return
			}
			if c.next >= 0 {
				open = append(open, c.next)
			}
			at = c.first
		}
	}
}

// link finds out what is inlined into what.
func (t *inlineTree) link() {
	byLevel := func(a, b call) int {
		return cmp.Or(cmp.Compare(a.nest, b.nest), cmp.Compare(t.ranges[a.from].offset, t.ranges[b.from].offset))
	}
	if !slices.IsSortedFunc(t.calls, byLevel) {
		slices.SortStableFunc(t.calls, byLevel)
	}
	t.roots = call{first: -1, last: -1}
	for i := range t.calls {
		c := &t.calls[i]
		c.first, c.next, c.last = -1, -1, -1
	}
	var outer []place // of the level before
	for from := 0; from < len(t.calls); {
		nest := t.calls[from].nest
		to := from
		for ; to < len(t.calls) && t.calls[to].nest == nest; to++ {
			t.append(int32(to), containing(outer, t.ranges[t.calls[to].from].offset))
		}
		outer = outer[:0]
		if to < len(t.calls) && t.calls[to].nest == nest+1 {
			outer = t.places(outer, from, to)
		}
		from = to
	}
}

// place is a range and the call it belongs to.
type place struct {
	span
	call int32
}

func (t *inlineTree) places(list []place, from, to int) []place {
	for i := from; i < to; i++ {
		for _, r := range t.ranges[t.calls[i].from:t.calls[i].to] {
			list = append(list, place{r, int32(i)})
		}
	}
	slices.SortStableFunc(list, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
	return list
}

// containing returns the call whose range contains an offset, -1 for none.
func containing(list []place, offset int64) int32 {
	i := sort.Search(len(list), func(i int) bool { return list[i].offset > offset }) - 1
	if i < 0 || uint64(offset-list[i].offset) >= list[i].size {
		return -1
	}
	return list[i].call
}

func (t *inlineTree) append(i, parent int32) {
	p := &t.roots
	if parent >= 0 {
		p = &t.calls[parent]
	}
	if p.last < 0 {
		p.first = i
	} else {
		t.calls[p.last].next = i
	}
	p.last = i
}
