package plant

import (
	"slices"
	"strconv"
	"strings"
)

var funcKinds = []Kind{
	{"func-overlap", "FUNC size reaches into the next FUNC", []string{"func-overlap"},
		func(f *file) (int, bool) { return f.reachInto(f.funcs) }},
	{"func-swallows", "FUNC size reaches beyond the end of the next FUNC", []string{"func-overlap"},
		func(f *file) (int, bool) {
			pairs := f.neighbours(f.funcs)
			if len(pairs) == 0 {
				return 0, false
			}
			p := pairs[f.IntN(len(pairs))]
			f.setSize(p[0], f.recs[p[1]].end()+1-f.recs[p[0]].addr)
			return p[0], true
		}},
	{"func-unsorted", "FUNC comes after a FUNC with a higher address", []string{"func-order", "format-record-order"},
		when(func(f *file) bool { return ascending(f, function) }, func(f *file) (int, bool) {
			// A block moves up before one that stood anywhere before it; that one now comes late.
			i, ok := f.pick(func(i int, _ *record) bool { return i != f.funcs[0] }, function)
			if !ok {
				return 0, false
			}
			n := slices.Index(f.funcs, i)
			to := f.funcs[f.IntN(n)]
			if f.recs[to].addr == f.recs[i].addr {
				return 0, false
			}
			end := f.blockEnd(i)
			f.move(i, end, to)
			return to + end - i, true
		})},
	{"func-size-zero", "FUNC with size 0 that has line records", []string{"func-zero-size"},
		change(func(f *file, i int, r *record) bool { return r.size > 0 && len(f.members(i, lineRecord)) > 0 },
			func(f *file, i int, r *record) { f.setField(i, r.sizeAt(), "0") }, function)},
	{"func-duplicate-address", "second FUNC with the same address and size", []string{"func-duplicate", "func-overlap"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool { return !r.marked() && r.size > 0 && f.alone(f.funcs, i) }, function)
			if !ok {
				return 0, false
			}
			end := f.blockEnd(i)
			f.insert(end, strings.Join(append(slices.Clone(f.recs[i].fields[:4]), "twin_of_it"), " "))
			return end, true
		}},
	{"func-missing-name", "FUNC without a name", []string{"format-bad-field", "func-unnamed"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:len(r.fields)-1]) }, function)},
	{"func-missing-param-size", "FUNC without the parameter-size field (the name is read in its place)", []string{"format-bad-field"},
		change(func(_ *file, _ int, r *record) bool {
			word, _, _ := strings.Cut(r.rest(), " ")
			_, ok := hex(word)
			return !ok
		}, func(f *file, i int, r *record) {
			f.setFields(i, slices.Delete(slices.Clone(r.fields), len(r.fields)-2, len(r.fields)-1))
		}, function)},
	{"func-bad-mark", "a word before the FUNC address that is not m", []string{"format-bad-field"},
		change(func(_ *file, _ int, r *record) bool { return !r.marked() },
			func(f *file, i int, r *record) { f.setFields(i, slices.Insert(slices.Clone(r.fields), 1, "n")) }, function)},
	{"func-address-wrap", "FUNC range wraps past 2^64", []string{"func-wraps", "format-number-range"},
		change(nil, func(f *file, i int, r *record) {
			f.setField(i, r.addrAt(), "ffffffffffffff00")
			f.setField(i, r.sizeAt(), "200")
		}, function)},
	{"func-huge", "the last FUNC is 2 GB long", []string{"func-huge"},
		func(f *file) (int, bool) {
			if len(f.funcs) == 0 {
				return 0, false
			}
			i := f.funcs[len(f.funcs)-1]
			if !f.alone(f.funcs, i) {
				return 0, false
			}
			f.setSize(i, 0x7f000000)
			return i, true
		}},
	{"func-address-zero", "FUNC of dead-stripped code at address 0", []string{"func-address-zero"},
		func(f *file) (int, bool) {
			first := slices.IndexFunc(f.recs, func(r record) bool { return r.kind == function })
			low := func(list []int) bool { return len(list) > 0 && f.recs[list[0]].addr < 0x10 }
			if first < 0 || low(f.funcs) || low(f.publics) || low(f.inits) {
				return 0, false
			}
			f.insert(first, "FUNC 0 10 0 dead_stripped")
			return first, true
		}},
	{"func-placeholder-name", "a FUNC named <name omitted>, in a file with no other", []string{"func-unnamed"},
		when(func(f *file) bool {
			return !f.any(func(r *record) bool { return r.kind == function && strings.HasPrefix(r.rest(), "<") })
		}, change(nil, func(f *file, i int, r *record) { f.setField(i, len(r.fields)-1, "<name omitted>") }, function))},
	{"func-mangled-name", "a mangled name where the others are demangled", []string{"func-mangled-name"},
		when(func(f *file) bool {
			demangled := 0
			for _, i := range f.funcs {
				name := f.recs[i].rest()
				if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "?") {
					return false
				}
				if strings.Contains(name, "(") {
					demangled++
				}
			}
			return demangled > 3
		}, change(nil, func(f *file, i int, r *record) { f.setField(i, len(r.fields)-1, "_ZN4base5Timer4StopEPKci") }, function))},
	{"func-without-lines", "a FUNC without lines between two that have them", []string{"func-without-lines"},
		when(func(f *file) bool {
			return !slices.ContainsFunc(f.funcs, func(i int) bool { return len(f.members(i, lineRecord)) == 0 })
		}, func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				return r.size >= 16 && len(f.members(i, inline)) == 0 && i != f.funcs[0] && i != f.funcs[len(f.funcs)-1]
			}, function)
			if ok {
				f.remove(i+1, f.blockEnd(i))
			}
			return i, ok
		})},
	{"func-param-size", "FUNC parameter size differs from that of its STACK WIN", []string{"func-param-size"},
		change(func(f *file, i int, r *record) bool { return f.sameParams(i) >= 0 }, func(f *file, i int, r *record) {
			f.setField(i, len(r.fields)-2, otherSize(r.fields[len(r.fields)-2]))
		}, function)},
}

var publicKinds = []Kind{
	{"public-duplicate", "two PUBLIC records with one address and no m mark", []string{"public-duplicate"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool { return !r.marked() && r.addr > 0 && f.alone(f.publics, i) }, public)
			if ok {
				f.insert(i+1, strings.Join(append(slices.Clone(f.recs[i].fields[:3]), "other_name"), " "))
			}
			return i + 1, ok
		}},
	{"public-inside-func", "PUBLIC lies inside a FUNC", []string{"public-inside-func"},
		func(f *file) (int, bool) {
			fn, ok := f.pick(func(i int, r *record) bool { return r.size > 2 && r.end() > r.addr && f.alone(f.funcs, i) }, function)
			if !ok {
				return 0, false
			}
			r := &f.recs[fn]
			at := r.addr + 1 + f.Uint64N(r.size-1)
			if f.cpu == arm { // an odd address would be a Thumb function's
				at = max(at&^1, r.addr+2)
			}
			return f.addPublic(at, "stray_label")
		}},
	{"public-thumb-bit", "PUBLIC at a FUNC's address with the Thumb bit", []string{"public-thumb-bit", "public-inside-func"},
		func(f *file) (int, bool) {
			if f.cpu != arm {
				return 0, false
			}
			fn, ok := f.pick(func(i int, r *record) bool { return r.size > 2 && r.addr&1 == 0 && f.alone(f.funcs, i) }, function)
			if !ok {
				return 0, false
			}
			return f.addPublic(f.recs[fn].addr|1, f.recs[fn].rest())
		}},
	{"public-unsorted", "PUBLIC records out of order", []string{"public-order", "format-record-order"},
		when(func(f *file) bool { return ascending(f, public) }, func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				return i+1 < len(f.recs) && f.recs[i+1].kind == public && f.recs[i+1].addr > r.addr
			}, public)
			if ok {
				f.move(i, i+1, i+2)
			}
			return i + 1, ok
		})},
	{"public-missing-name", "PUBLIC without a name", []string{"format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:len(r.fields)-1]) }, public)},
	{"public-address-zero", "PUBLIC at address 0", []string{"public-address-zero"},
		func(f *file) (int, bool) {
			if f.coverage(f.funcs)(0) || len(f.publics) > 0 && f.recs[f.publics[0]].addr == 0 {
				return 0, false
			}
			return f.addPublic(0, "__mh_execute_header")
		}},
}

// reachInto makes the size of a record reach up to 16 bytes into the next one of the list, but not to its end.
func (f *file) reachInto(list []int) (int, bool) {
	pairs := f.neighbours(list)
	if len(pairs) == 0 {
		return 0, false
	}
	p := pairs[f.IntN(len(pairs))]
	next := &f.recs[p[1]]
	f.setSize(p[0], next.addr-f.recs[p[0]].addr+1+f.Uint64N(min(16, next.size-1)))
	return p[0], true
}

func (f *file) setSize(i int, size uint64) { f.setField(i, f.recs[i].sizeAt(), hexText(size)) }

// ascending reports whether the records of the kind come in the order of their addresses.
func ascending(f *file, k kind) bool {
	last, n := uint64(0), 0
	for i := range f.recs {
		if r := &f.recs[i]; r.kind == k {
			if r.addr < last {
				return false
			}
			last = r.addr
			n++
		}
	}
	return n > 1
}

// addPublic inserts a PUBLIC where the writers would put it: among the others by address, else before the STACK records.
func (f *file) addPublic(at uint64, name string) (int, bool) {
	if _, taken := f.search(f.publics, at); taken {
		return 0, false
	}
	place := -1
	for i := range f.recs {
		r := &f.recs[i]
		if r.kind == public && r.addr > at || r.kind == win || r.kind == cfiInit {
			place = i
			break
		}
		if r.kind == public || r.kind == function {
			place = f.blockEnd(i)
		}
	}
	if place < 0 {
		return 0, false
	}
	f.insert(place, "PUBLIC "+hexText(at)+" 0 "+name)
	return place, true
}

// sameParams is the index of the one STACK WIN record that covers exactly FUNC i and agrees with its parameter size, or -1.
func (f *file) sameParams(i int) int {
	r := &f.recs[i]
	found := -1
	for _, j := range f.wins {
		w := &f.recs[j]
		if w.addr < r.end() && r.addr < w.end() {
			if found >= 0 || w.addr != r.addr || w.size != r.size || w.fields[winParams] != r.fields[len(r.fields)-2] {
				return -1
			}
			found = j
		}
	}
	if found < 0 || !f.alone(f.funcs, i) {
		return -1
	}
	return found
}

// otherSize is another parameter size than s.
func otherSize(s string) string {
	n, _ := strconv.ParseUint(s, 16, 32)
	return hexText(n + 8)
}

var lineKinds = []Kind{
	{"line-undefined-file", "line record names a FILE id that is not defined", []string{"line-undefined-file"},
		change(nil, func(f *file, i int, _ *record) { f.setField(i, 3, f.undefined(fileRecord)) }, lineRecord)},
	{"line-outside-func", "line record starts behind the end of its FUNC", []string{"line-outside-func"},
		change(func(f *file, i int, _ *record) bool { return f.lastLine(i) },
			func(f *file, i int, r *record) { f.setField(i, 0, hexText(f.recs[r.block].end()+f.Uint64N(16))) }, lineRecord)},
	{"line-before-func", "line record starts before its FUNC", []string{"line-outside-func"},
		change(func(f *file, i int, r *record) bool {
			return f.inFunc(r) && i == r.block+1+len(f.members(r.block, inline)) && f.recs[r.block].addr > 16
		}, func(f *file, i int, r *record) { f.setField(i, 0, hexText(f.recs[r.block].addr-1-f.Uint64N(15))) }, lineRecord)},
	{"line-past-func-end", "line record reaches past the end of its FUNC", []string{"line-outside-func"},
		change(func(f *file, i int, _ *record) bool { return f.lastLine(i) },
			func(f *file, i int, r *record) { f.setSize(i, f.recs[r.block].end()-r.addr+1+f.Uint64N(16)) }, lineRecord)},
	{"line-orphan", "line record before the FUNC it belongs to, where no FUNC is open", []string{"line-orphan"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, _ *record) bool {
				return !f.open(i) && i+2 < len(f.recs) && f.recs[i+1].kind == lineRecord && f.recs[i+2].kind == lineRecord
			}, function)
			if ok {
				f.move(i, i+1, i+2)
			}
			return i, ok
		}},
	{"line-after-public", "line record behind a PUBLIC", []string{"line-orphan"},
		func(f *file) (int, bool) {
			p, ok := f.pick(nil, public)
			if !ok {
				return 0, false
			}
			i, ok := f.pick(func(i int, r *record) bool { return f.inFunc(r) && len(f.members(r.block, lineRecord)) > 2 }, lineRecord)
			if !ok {
				return 0, false
			}
			return f.move(i, i+1, p+1), true
		}},
	{"line-overlap", "line range overlaps the next line record", []string{"line-overlap"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				if i+1 >= len(f.recs) || f.recs[i+1].kind != lineRecord || !f.inFunc(r) || !f.inFunc(&f.recs[i+1]) {
					return false
				}
				return r.size > 0 && r.end() == f.recs[i+1].addr && f.recs[i+1].size > 1 && f.alone(f.sorted(f.members(r.block, lineRecord)), i+1)
			}, lineRecord)
			if ok {
				f.setSize(i, f.recs[i].size+1+f.Uint64N(min(16, f.recs[i+1].size-1)))
			}
			return i, ok
		}},
	{"line-negative-number", "negative line number", []string{"format-number-prefix", "format-bad-field", "format-number-range"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, 2, "-"+r.fields[2]) }, lineRecord)},
	{"line-zero-size", "a line record of size 0, in a file with no other", []string{"line-zero-size"},
		when(func(f *file) bool { return !f.any(func(r *record) bool { return r.kind == lineRecord && r.size == 0 }) },
			change(func(f *file, _ int, r *record) bool { return f.inFunc(r) }, func(f *file, i int, _ *record) { f.setField(i, 1, "0") }, lineRecord))},
	{"line-number-zero", "a line record of line 0, in a file with no other", []string{"line-number-zero"},
		when(func(f *file) bool {
			return !f.any(func(r *record) bool { return r.kind == lineRecord && r.fields[2] == "0" })
		},
			change(nil, func(f *file, i int, _ *record) { f.setField(i, 2, "0") }, lineRecord))},
	{"line-order", "two line records of a FUNC exchanged, in a file whose lines are in order", []string{"line-order"},
		when(linesAscend, func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				return i+1 < len(f.recs) && f.recs[i+1].kind == lineRecord && f.recs[i+1].addr > r.addr && f.inFunc(r)
			}, lineRecord)
			if ok {
				f.move(i, i+1, i+2)
			}
			return i + 1, ok
		})},
}

// inFunc reports whether the line or INLINE record stands under a FUNC, all of whose range it is in.
func (f *file) inFunc(r *record) bool {
	if r.block < 0 {
		return false
	}
	fn := &f.recs[r.block]
	return r.addr >= fn.addr && r.end() <= fn.end()
}

// lastLine reports whether line record i is the last of its FUNC, and inside it.
func (f *file) lastLine(i int) bool {
	r := &f.recs[i]
	if !f.inFunc(r) || r.size == 0 {
		return false
	}
	lines := f.members(r.block, lineRecord)
	return len(lines) > 0 && lines[len(lines)-1] == i
}

// open reports whether a FUNC is open just before record i.
func (f *file) open(i int) bool {
	for j := i - 1; j >= 0; j-- {
		switch f.recs[j].kind {
		case function, lineRecord, inline:
			return true
		case public:
			return false
		}
	}
	return false
}

// linesAscend reports whether the lines of every FUNC are in order.
func linesAscend(f *file) bool {
	for i := 1; i < len(f.recs); i++ {
		a, b := &f.recs[i-1], &f.recs[i]
		if a.kind == lineRecord && b.kind == lineRecord && b.addr < a.addr {
			return false
		}
	}
	return true
}
