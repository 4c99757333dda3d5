// Package plant puts one known defect into a healthy symbol file, to measure which of them the rules find.
//
// The kinds are the classes of damage that occur in the field and those by which consumers differ. Which line a defect is
// reported at follows one convention: where two records contradict each other, it is the one that is wrong (the range that
// is too long, the repetition, the record that came too late); where a record is missing, the first that depends on it.
//
// The package reads files on its own: what it does must not hang on the code it helps to test.
package plant

import (
	"math/rand/v2"
	"slices"
)

// Kind is one kind of defect.
type Kind struct {
	Name string
	// What is planted, in one line.
	What string
	// Rules are the names of rules any of which, at the line of the defect, recognises it.
	Rules []string

	plant func(f *file) (index int, ok bool)
}

// Kinds returns all kinds, those of one family together.
func Kinds() []Kind {
	return slices.Concat(formatKinds, moduleKinds, fileKinds, funcKinds, publicKinds, lineKinds, inlineKinds, cfiKinds, cfiSenseKinds, winKinds)
}

// Plant returns a copy of the healthy file src that has one defect of the kind, at a place chosen by rng, and the 1-based
// line at which a linter is to report it. ok is false when the file has no place for it.
func (k Kind) Plant(src []byte, rng *rand.Rand) (damaged []byte, line int, ok bool) {
	f := parse(src, rng)
	index, ok := k.plant(f)
	if !ok {
		return nil, 0, false
	}
	return f.bytes(), index + 1, true
}

// change is a kind that replaces the text of one record: eligible chooses it, edit changes it.
func change(eligible func(f *file, i int, r *record) bool, edit func(f *file, i int, r *record), kinds ...kind) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		i, ok := f.pick(func(i int, r *record) bool { return eligible == nil || eligible(f, i, r) }, kinds...)
		if ok {
			edit(f, i, &f.recs[i])
		}
		return i, ok
	}
}

// when restricts a kind to files that meet a condition.
func when(condition func(*file) bool, plant func(*file) (int, bool)) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		if !condition(f) {
			return 0, false
		}
		return plant(f)
	}
}
