package symdiff

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

func readPair(t *testing.T, name string) (a, b string) {
	t.Helper()
	dir := filepath.Join(corpustest.Dir(t), "pairs", name)
	for i, p := range []*string{&a, &b} {
		data, err := os.ReadFile(filepath.Join(dir, string("ab"[i])+".sym"))
		if err != nil {
			t.Fatal(err)
		}
		*p = string(data)
	}
	return a, b
}

// TestPairs holds what is found between real files of two compilers, linkers and dumpers.
func TestPairs(t *testing.T) {
	for _, c := range []struct {
		name string
		// most functions that may be without a like in the other file
		added, removed int
		// none of these may differ in a function, and only these may
		never, only   Aspect
		moduleDiffers bool
	}{
		{"libstep.so-gcc12-vs-clang14-O2-x86_64", 0, 0, 0, All, true},
		{"tower-gcc12-vs-clang14-O2-x86_64", 0, 0, 0, All, true},
		{"tower-gcc12-vs-clang14-O2-i386", 0, 0, 0, All, true},
		{"tower-clang14-O2-vs-O2fp-x86_64", 0, 0, Names, All, true},
		{"tower-gcc12-O0-vs-O2-x86_64", 0, 3, 0, All, true}, // three that -O2 inlines
		{"tower-gcc12-plain-vs-inline-records", 0, 0, CFI | Lines, Inlines, false},
		{"tower-clang14-with-vs-without-cfi", 0, 0, Lines, CFI, false},
		{"tower-gcc12-O2-relinked-at-other-address", 0, 0, CFI | Lines, Publics, true}, // the pad has a symbol
		{"tower-renumbered-same-meaning", 0, 0, All, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := readPair(t, c.name)
			r := compare(a, b)
			if r.Summary.FunctionsAdded > c.added || r.Summary.FunctionsRemoved > c.removed {
				t.Errorf("%d functions added, %d removed", r.Summary.FunctionsAdded, r.Summary.FunctionsRemoved)
			}
			if (len(r.Module) > 0) != c.moduleDiffers {
				t.Errorf("module: %+v", r.Module)
			}
			for i := range r.Changes {
				if a := r.Changes[i].Aspects; a.Has(c.never) || a&^c.only != 0 {
					t.Errorf("%s: %s differs", r.Changes[i].Name(), a)
				}
			}
			if c.never == All && !r.Same() {
				t.Error(tell(r))
			}
			back := compare(b, a)
			if back.Summary.Added != r.Summary.Removed || back.Summary.Same != r.Summary.Same || len(back.Changes) != len(r.Changes) {
				t.Errorf("the other way round: %+v, not %+v", back.Summary, r.Summary)
			}
		})
	}
}

// TestCorpusEdits: every file of the pairs means the same as its rewritten copies.
func TestCorpusEdits(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpustest.Dir(t), "pairs", "*", "?.sym"))
	if len(files) < 20 {
		t.Fatalf("only %d files", len(files))
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		base := string(data)
		for what, edited := range map[string]string{
			"shifted": shift(base, 0x4000), "reversed": reverse(base), "renumbered": renumber(base), "split": resplit(base),
		} {
			if r := compare(base, edited); !r.Same() {
				t.Errorf("%s/%s %s:\n%s", filepath.Base(filepath.Dir(f)), filepath.Base(f), what, tell(r))
			}
		}
	}
}
