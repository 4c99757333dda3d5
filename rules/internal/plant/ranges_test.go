package plant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// span is a record with a range, read again from the damaged text.
type span struct {
	line       int
	kind       string // FUNC, PUBLIC, INLINE, INIT, delta, WIN n, or line
	start, end uint64
	parent     int // index of the FUNC or INIT above, -1 for none
}

func spans(t *testing.T, text []byte) (list []span) {
	t.Helper()
	fn, init := -1, -1
	for i, l := range lines(text) {
		f := strings.Split(strings.TrimRight(l, "\r\n"), " ")
		s := span{line: i + 1, kind: f[0], parent: -1}
		addr, size := "", "0"
		switch {
		case f[0] == "FUNC":
			if f[1] == "m" {
				f = f[1:]
			}
			addr, size = f[1], f[2]
			fn, init = len(list), -1
		case f[0] == "PUBLIC":
			addr = f[1]
			fn = -1
		case f[0] == "INLINE":
			addr, size, s.parent = f[5], f[6], fn
		case f[0] == "STACK" && f[1] == "WIN":
			s.kind, addr, size = "WIN "+f[2], f[3], f[4]
		case f[0] == "STACK" && f[2] == "INIT":
			s.kind, addr, size = "INIT", f[3], f[4]
			init = len(list)
		case f[0] == "STACK":
			s.kind, addr, s.parent = "delta", f[2], init
		case slices.Contains([]string{"MODULE", "INFO", "FILE", "INLINE_ORIGIN"}, f[0]):
			continue
		default:
			s.kind, addr, size, s.parent = "line", f[0], f[1], fn
		}
		a, err := strconv.ParseUint(addr, 16, 64)
		n, err2 := strconv.ParseUint(size, 16, 64)
		if err != nil || err2 != nil {
			t.Fatalf("line %d: %s", i+1, l)
		}
		s.start, s.end = a, a+n
		list = append(list, s)
	}
	return list
}

// What must hold of the damaged record and its surroundings, worked out from the text alone.
var rangeFacts = map[string]func(list []span, at int) bool{
	"func-overlap":           func(list []span, at int) bool { return reaches(list, at) == 1 },
	"win-overlap":            func(list []span, at int) bool { return reaches(list, at) == 1 },
	"line-overlap":           func(list []span, at int) bool { return reaches(list, at) == 1 },
	"inline-partial-overlap": func(list []span, at int) bool { return reaches(list, at) >= 1 },
	"func-swallows": func(list []span, at int) bool {
		return slices.ContainsFunc(list, func(s span) bool {
			return s.kind == "FUNC" && s.start > list[at].start && s.end > s.start && s.end < list[at].end
		})
	},
	"cfi-init-overlap": func(list []span, at int) bool {
		return slices.ContainsFunc(list, func(s span) bool {
			return s.kind == "INIT" && s.line < list[at].line && s.start < list[at].start && s.end > list[at].start && s.end <= list[at].end
		})
	},
	"line-outside-func": func(list []span, at int) bool { return list[at].start >= list[list[at].parent].end },
	"line-before-func":  func(list []span, at int) bool { return list[at].start < list[list[at].parent].start },
	"line-past-func-end": func(list []span, at int) bool {
		p := list[list[at].parent]
		return list[at].start < p.end && list[at].end > p.end
	},
	"line-orphan":           func(list []span, at int) bool { return list[at].parent < 0 },
	"line-after-public":     func(list []span, at int) bool { return list[at].parent < 0 },
	"inline-orphan":         func(list []span, at int) bool { return list[at].parent < 0 },
	"inline-after-public":   func(list []span, at int) bool { return list[at].parent < 0 },
	"line-order":            func(list []span, at int) bool { return list[at-1].kind == "line" && list[at].start < list[at-1].start },
	"public-unsorted":       func(list []span, at int) bool { return earlierHigher(list, at) },
	"func-unsorted":         func(list []span, at int) bool { return earlierHigher(list, at) },
	"inline-outside-parent": func(list []span, at int) bool { return list[at].end > list[list[at].parent].end },
	"inline-child-outside": func(list []span, at int) bool {
		p := list[at-1]
		return p.kind == "INLINE" && list[at].start > p.start && list[at].start < p.end && list[at].end > p.end
	},
	"public-inside-func": func(list []span, at int) bool {
		return slices.ContainsFunc(list, func(s span) bool { return s.kind == "FUNC" && s.start < list[at].start && list[at].start < s.end })
	},
	"public-duplicate": func(list []span, at int) bool {
		return slices.ContainsFunc(list[:at], func(s span) bool { return s.kind == "PUBLIC" && s.start == list[at].start })
	},
	"func-duplicate-address": func(list []span, at int) bool {
		return slices.ContainsFunc(list[:at], func(s span) bool {
			return s.kind == "FUNC" && s.start == list[at].start && s.end == list[at].end
		})
	},
	"cfi-delta-outside-init": func(list []span, at int) bool { return list[at].start >= list[list[at].parent].end },
	"cfi-delta-before-init":  func(list []span, at int) bool { return list[at].start < list[list[at].parent].start },
	"cfi-delta-order": func(list []span, at int) bool {
		return list[at-1].kind == "delta" && list[at].start < list[at-1].start
	},
	"cfi-delta-duplicate": func(list []span, at int) bool {
		return list[at-1].kind == "delta" && list[at].start == list[at-1].start
	},
	"cfi-orphan-delta": func(list []span, at int) bool {
		s := list[at]
		return s.kind == "delta" && (s.parent < 0 || s.start < list[s.parent].start || s.start >= list[s.parent].end)
	},
	"cfi-spans-functions": func(list []span, at int) bool {
		n := 0
		for _, s := range list {
			if s.kind == "FUNC" && s.start >= list[at].start && s.start < list[at].end {
				n++
			}
		}
		return n == 2
	},
	"cfi-missing-for-function": func(list []span, at int) bool {
		return !slices.ContainsFunc(list, func(s span) bool { return s.kind == "INIT" && s.start < list[at].end && list[at].start < s.end })
	},
	"cfi-outside-symbols": func(list []span, at int) bool {
		return !slices.ContainsFunc(list, func(s span) bool { return (s.kind == "FUNC" || s.kind == "PUBLIC") && s.start < list[at].end })
	},
}

// reaches counts the ranges of the kind that the range reaches into without covering them.
func reaches(list []span, at int) (n int) {
	s := list[at]
	for i, o := range list {
		if i != at && o.kind == s.kind && o.parent == s.parent && o.start > s.start && o.start < s.end && s.end <= o.end {
			n++
		}
	}
	return n
}

// earlierHigher reports whether the record of the kind before it has a higher address.
func earlierHigher(list []span, at int) bool {
	for i := at - 1; i >= 0; i-- {
		if list[i].kind == list[at].kind {
			return list[i].start > list[at].start
		}
	}
	return false
}

func TestRanges(t *testing.T) {
	for _, src := range sources(t) {
		for name, holds := range rangeFacts {
			k := byName(t, name)
			for seed := range map[bool]int{true: 30, false: 3}[len(src.text) < 10e3] {
				damaged, line, ok := k.Plant(src.text, random(seed))
				if !ok {
					break
				}
				list := spans(t, damaged)
				at := slices.IndexFunc(list, func(s span) bool { return s.line == line })
				if at < 0 || !holds(list, at) {
					t.Errorf("%s in %s, seed %d, line %d: %s", name, src.name, seed, line, fmt.Sprint(list[max(at, 0)]))
					break
				}
			}
		}
	}
}
