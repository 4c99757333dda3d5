package plant

import (
	"slices"
	"strconv"
	"strings"
)

// Fields of INLINE.
const (
	inlineNest   = 1
	inlineFile   = 3
	inlineOrigin = 4
	inlineRanges = 5
)

var inlineKinds = []Kind{
	{"inline-origin-missing", "INLINE refers to an INLINE_ORIGIN whose record is missing", []string{"inline-origin-undefined"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool { return f.firstUse(i) > i && f.definitions(r.fields[1]) == 1 }, origin)
			if !ok {
				return 0, false
			}
			use := f.firstUse(i)
			f.remove(i, i+1)
			return use - 1, true
		}},
	{"inline-undefined-origin", "INLINE with an undefined origin id", []string{"inline-origin-undefined"},
		change(nil, func(f *file, i int, _ *record) { f.setField(i, inlineOrigin, f.undefined(origin)) }, inline)},
	{"inline-duplicate-origin", "INLINE_ORIGIN id defined twice with different names", []string{"inline-origin-duplicate"},
		behind(origin, func(f *file, i int) string { return "INLINE_ORIGIN " + f.recs[i].fields[1] + " some_other_function" })},
	{"inline-origin-missing-name", "INLINE_ORIGIN without a name", []string{"format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:2]) }, origin)},
	{"inline-origin-digits", "INLINE_ORIGIN whose name begins with a number, as if it were a file id", []string{"inline-form"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, 2, "42 "+r.fields[2]) }, origin)},
	{"inline-nest-skip", "INLINE nest level without a parent", []string{"inline-depth"},
		change(nil, func(f *file, i int, r *record) {
			last := 0
			if i > 0 && f.recs[i-1].kind == inline {
				last, _ = strconv.Atoi(f.recs[i-1].fields[inlineNest])
			}
			f.setField(i, inlineNest, strconv.Itoa(last+2))
		}, inline)},
	{"inline-undefined-file", "INLINE call site names an undefined FILE id", []string{"inline-callsite-file"},
		change(nil, func(f *file, i int, _ *record) { f.setField(i, inlineFile, f.undefined(fileRecord)) }, inline)},
	{"inline-negative-file", "INLINE call site with file -1", []string{"inline-callsite-file", "format-number-prefix"},
		change(nil, func(f *file, i int, _ *record) { f.setField(i, inlineFile, "-1") }, inline)},
	{"inline-old-form", "INLINE without call-site file among others that have it", []string{"inline-form"},
		change(func(f *file, i int, _ *record) bool { return f.manyInlines(i) },
			func(f *file, i int, r *record) {
				f.setFields(i, slices.Delete(slices.Clone(r.fields), inlineFile, inlineFile+1))
			}, inline)},
	{"inline-odd-range", "INLINE whose last range has no size", []string{"inline-form", "format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:len(r.fields)-1]) }, inline)},
	{"inline-outside-parent", "INLINE range reaches past the end of its FUNC", []string{"inline-range", "inline-nesting"},
		change(func(f *file, _ int, r *record) bool { return f.inFunc(r) && len(r.fields) == inlineRanges+2 },
			func(f *file, i int, r *record) {
				f.setSize(i, f.recs[r.block].end()-r.addr+1+f.Uint64N(16))
			}, inline)},
	{"inline-child-outside", "INLINE range reaches past the end of the call it stands in", []string{"inline-nesting", "inline-range"},
		change(func(f *file, i int, r *record) bool {
			if i == 0 {
				return false
			}
			p := &f.recs[i-1]
			return p.kind == inline && nest(r) == nest(p)+1 && len(r.fields) == inlineRanges+2 && len(p.fields) == inlineRanges+2 &&
				r.size > 0 && p.size > 0 && r.addr > p.addr && r.end() <= p.end() && f.inFunc(p) && p.end() < f.recs[r.block].end()
		}, func(f *file, i int, r *record) {
			f.setSize(i, f.recs[i-1].end()-r.addr+1)
		}, inline)},
	{"inline-partial-overlap", "INLINE range reaches into the next call of its level", []string{"inline-nesting", "inline-range"},
		change(func(f *file, i int, r *record) bool {
			if i+1 >= len(f.recs) || !f.inFunc(r) || len(r.fields) != inlineRanges+2 || r.size == 0 {
				return false
			}
			next := &f.recs[i+1]
			return next.kind == inline && nest(next) == nest(r) && len(next.fields) == inlineRanges+2 && next.addr >= r.end() && next.size > 1 && f.inFunc(next) &&
				!f.inlinedBetween(r, next)
		}, func(f *file, i int, r *record) {
			f.setSize(i, f.recs[i+1].addr-r.addr+1)
		}, inline)},
	{"inline-zero-size", "INLINE range of size 0, in a file with no other", []string{"inline-range"},
		when(func(f *file) bool { return !f.any(func(r *record) bool { return r.kind == inline && r.size == 0 }) },
			change(func(_ *file, _ int, r *record) bool { return len(r.fields) == inlineRanges+2 },
				func(f *file, i int, r *record) { f.setField(i, r.sizeAt(), "0") }, inline))},
	{"inline-too-many-ranges", "INLINE with 300 ranges", []string{"inline-range-limit"},
		func(f *file) (int, bool) {
			if !f.has(origin) || !f.has(fileRecord) {
				return 0, false
			}
			i, ok := f.pick(func(i int, r *record) bool {
				return r.size > 600 && len(f.members(i, inline)) == 0 && len(f.members(i, lineRecord)) > 0 && f.alone(f.funcs, i)
			}, function)
			if !ok {
				return 0, false
			}
			var b strings.Builder
			o, _ := f.pick(nil, origin)
			b.WriteString("INLINE 0 1 " + f.recs[f.members(i, lineRecord)[0]].fields[3] + " " + f.recs[o].fields[1])
			for k := range uint64(300) {
				b.WriteString(" " + hexText(f.recs[i].addr+2*k) + " 1")
			}
			f.insert(i+1, b.String())
			return i + 1, true
		}},
	{"inline-orphan", "INLINE before the FUNC it belongs to, where no FUNC is open", []string{"inline-orphan"},
		func(f *file) (int, bool) {
			i, ok := f.pick(f.childless, inline)
			if !ok {
				return 0, false
			}
			first := slices.IndexFunc(f.recs, func(r record) bool { return r.kind == function || r.kind == public })
			return f.move(i, i+1, first), true
		}},
	{"inline-after-public", "INLINE behind a PUBLIC", []string{"inline-orphan"},
		func(f *file) (int, bool) {
			p, ok := f.pick(nil, public)
			if !ok {
				return 0, false
			}
			i, ok := f.pick(f.childless, inline)
			if !ok {
				return 0, false
			}
			return f.move(i, i+1, p+1), true
		}},
}

func nest(r *record) int {
	n, _ := strconv.Atoi(r.fields[inlineNest])
	return n
}

// childless reports whether INLINE i is of the first level and no other is nested in it.
func (f *file) childless(i int, r *record) bool {
	return nest(r) == 0 && i+1 < len(f.recs) && (f.recs[i+1].kind != inline || nest(&f.recs[i+1]) == 0)
}

// firstUse is the first INLINE that refers to INLINE_ORIGIN i, or -1.
func (f *file) firstUse(i int) int {
	return slices.IndexFunc(f.recs, func(r record) bool {
		return r.kind == inline && r.fields[inlineOrigin] == f.recs[i].fields[1]
	})
}

// definitions counts the INLINE_ORIGIN records of an id.
func (f *file) definitions(id string) (n int) {
	for i := range f.recs {
		if f.recs[i].kind == origin && f.recs[i].fields[1] == id {
			n++
		}
	}
	return n
}

// manyInlines reports whether the file has more INLINE records than i.
func (f *file) manyInlines(i int) bool {
	for j := range f.recs {
		if f.recs[j].kind == inline && j != i {
			return true
		}
	}
	return false
}

// inlinedBetween reports whether another INLINE of the FUNC begins between the end of a and the start of b.
func (f *file) inlinedBetween(a, b *record) bool {
	for _, j := range f.members(a.block, inline) {
		if r := &f.recs[j]; r != a && r != b && r.addr < b.end() && r.end() > a.end() {
			return true
		}
	}
	return false
}
