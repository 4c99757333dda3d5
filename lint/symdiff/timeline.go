package symdiff

import (
	"cmp"
	"slices"
)

// span says that from offset from up to offset to, counted from the start of a function, something has the value val.
// Offsets that no span covers have the value 0. Spans are sorted and do not overlap.
type span struct {
	from, to uint64
	val      uint64
}

// appendSpan adds a span behind the others, joined with the last if it goes on.
func appendSpan(list []span, s span) []span {
	if s.from >= s.to || s.val == 0 {
		return list
	}
	if n := len(list); n > 0 && list[n-1].to == s.from && list[n-1].val == s.val {
		list[n-1].to = s.to
		return list
	}
	return append(list, s)
}

// laid is a record that says something of a range of offsets.
type laid struct {
	from, to uint64
	val      uint64
	order    int
}

// lay makes a timeline of records, which it sorts. Of two that overlap the one that begins first counts.
func lay(list []laid, dst []span) []span {
	byStart := func(a, b laid) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.order, b.order)) }
	if !slices.IsSortedFunc(list, byStart) {
		slices.SortFunc(list, byStart)
	}
	end := uint64(0)
	for _, l := range list {
		if l.to <= l.from || len(dst) > 0 && l.from < end {
			continue // readers drop a record that overlaps another
		}
		end = l.to
		dst = appendSpan(dst, span{l.from, l.to, l.val})
	}
	return dst
}

// eachChange calls f for the maximal ranges in which both timelines have one value each and these differ.
func eachChange(a, b []span, f func(from, to, old, new uint64)) {
	at := uint64(0)
	for len(a) > 0 || len(b) > 0 {
		x, nextA := valueAt(a, at)
		y, nextB := valueAt(b, at)
		to := min(nextA, nextB)
		if x != y {
			f(at, to, x, y)
		}
		at = to
		for len(a) > 0 && a[0].to <= at {
			a = a[1:]
		}
		for len(b) > 0 && b[0].to <= at {
			b = b[1:]
		}
	}
}

// valueAt is the value at an offset that lies before the end of the first span, and where it ends.
func valueAt(list []span, at uint64) (val, until uint64) {
	if len(list) == 0 {
		return 0, 1<<64 - 1
	}
	if list[0].from > at {
		return 0, list[0].from
	}
	return list[0].val, list[0].to
}

// lostAndGained counts the bytes below limit that only the one or only the other timeline covers.
func lostAndGained(a, b []span, limit uint64) (lost, gained uint64) {
	eachChange(a, b, func(from, to, old, new uint64) {
		if to = min(to, limit); from >= to {
			return
		}
		switch {
		case new == 0:
			lost += to - from
		case old == 0:
			gained += to - from
		}
	})
	return lost, gained
}
