package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

func TestFuncRanges(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n"
	testRuleCases(t, []string{"func"}, []ruleCase{
		{"neighbours that meet", head + "FUNC 1000 10 0 a\nFUNC 1010 10 0 b\n", nil},
		{"one byte too many", head + "FUNC 1000 11 0 a\nFUNC 1010 10 0 b\n", []string{"func-overlap@2"}},
		{"the lower one later in the file", head + "FUNC 1010 10 0 b\nFUNC 1000 11 0 a\n", []string{"func-overlap@3", "func-order@3"}},
		{"one huge function over many", head + "FUNC 1000 10 0 a\nFUNC 1010 40000000 0 huge\nFUNC 1020 10 0 b\nFUNC 1030 10 0 c\nFUNC 1040 10 0 d\n",
			[]string{"func-overlap@3*3"}},
		{"the huge one is to blame, not the one that reaches into it", head +
			"FUNC 1000 11 0 a\nFUNC 1010 4000 0 huge\nFUNC 1020 10 0 b\nFUNC 1030 10 0 c\n", []string{"func-overlap@3*3"}},
		{"two separate overlaps", head + "FUNC 1000 11 0 a\nFUNC 1010 10 0 b\nFUNC 1020 12 0 c\nFUNC 1030 10 0 d\n",
			[]string{"func-overlap@2", "func-overlap@4"}},
		{"every size one too large", head + "FUNC 1000 11 0 a\nFUNC 1010 11 0 b\nFUNC 1020 11 0 c\nFUNC 1030 11 0 d\n",
			[]string{"func-overlap@2*3"}},
		{"contained", head + "FUNC 1000 40 0 a\nFUNC 1010 10 0 b\n", []string{"func-overlap@2"}},
		{"same start, other size", head + "FUNC 1000 20 0 a\nFUNC 1000 10 0 b\n", []string{"func-duplicate@3"}},
		{"same start thrice", head + "FUNC 1000 20 0 a\nFUNC 1000 20 0 b\nFUNC 1000 20 0 c\n", []string{"func-duplicate@3*2"}},
		{"folded and marked", head + "FUNC m 1000 20 0 a\nFUNC 1000 20 0 b\n", nil},
		{"same start and into the next", head + "FUNC 1000 10 0 a\nFUNC 1000 20 0 b\nFUNC 1010 10 0 c\n",
			[]string{"func-duplicate@3", "func-overlap@3"}},
		{"empty", head + "FUNC 1000 0 0 a\n1000 4 1 0\nFUNC 1000 10 0 b\n", []string{"func-zero-size@2"}},
		{"empty ones in a row", head + "FUNC 1000 0 0 a\nFUNC 1010 0 0 b\nFUNC 1020 4 0 c\nFUNC 1030 0 0 d\n",
			[]string{"func-zero-size@2*2", "func-zero-size@5"}},
		{"wraps", head + "FUNC ffffffffffffff00 200 0 a\nFUNC 1000 10 0 b\n", []string{"func-wraps@2"}},
		{"ends at the last address", head + "FUNC fffffffffffff000 1000 0 a\n", nil},
		{"huge without anything in it", head + "FUNC 1000 1000000 0 a\n", []string{"func-huge@2"}},
		{"just below huge", head + "FUNC 1000 ffffff 0 a\n", nil},
		{"discarded code", head + "FUNC 0 100 0 a\nFUNC 0 10 0 b\n4 4 1 0\nFUNC 1 0 0 c\nFUNC ffffffff 10 0 d\nFUNC fffffffe 10 0 e\nFUNC 1000 10 0 f\n",
			[]string{"func-address-zero@2*4", "func-zero-size@5"}},
		{"low addresses are no tombstones", head + "FUNC 2 100 0 a\n", nil},
		{"steps down", head + "FUNC 3000 10 0 a\nFUNC 2000 10 0 b\nFUNC 2800 10 0 c\nFUNC 1000 10 0 d\nFUNC 4000 10 0 e\n",
			[]string{"func-order@3", "func-order@5"}},
		{"discarded code is in no order", head + "FUNC 3000 10 0 a\nFUNC 0 10 0 b\nFUNC 4000 10 0 c\n", []string{"func-address-zero@3"}},
		{"one that cannot be read is not ours", head + "FUNC 1000 zz 0 a\nFUNC 1000 10 0 b\n", nil},
	})
}

func TestFuncDuplicateRepeat(t *testing.T) {
	f := onlyFinding(t, funcDuplicate, exampleHead+exampleMain+exampleMain+exampleMainCFI)
	if f.Severity != lint.Info || f.Line != 6 {
		t.Errorf("an exact repeat is %s at line %d", f.Severity, f.Line)
	}
}

func TestFuncNames(t *testing.T) {
	const head = "MODULE windows x86 D892A5DF6477A8E41E03C1EB4BC7DE3D1 a.pdb\n"
	testRuleCases(t, []string{"func"}, []ruleCase{
		{"placeholders", head + "FUNC 1000 10 0 <name omitted>\nFUNC 1010 10 0 a\nFUNC 1020 10 0 <name omitted>\nFUNC 1030 10 0 <unknown in a.dll>\n",
			[]string{"func-unnamed@2*2", "func-unnamed@5"}},
		{"end marker of Mozilla's dump_syms", head + "FUNC 1000 10 0 a\nPUBLIC 1010 0 <unknown in a.dll>\n", nil},
		{"lambdas and operators have names", head + "FUNC 1000 10 0 <lambda_1>::operator()\nFUNC 1010 10 0 operator-\nFUNC 1020 10 0 ?\n",
			[]string{"func-unnamed@4"}},
		{"mangled among demangled", head + "FUNC 1000 10 0 a::b(int)\nFUNC 1010 10 0 ?f@@YAXXZ\nFUNC 1020 10 0 c::d()\nFUNC 1030 10 0 _ZN1a1bEv\nFUNC 1040 10 0 e()\n",
			[]string{"func-mangled-name@3*2"}},
		{"all mangled", head + "FUNC 1000 10 0 _ZN1a1bEv\nFUNC 1010 10 0 _ZN1a1cEv\n", nil},
		{"as many mangled as not", head + "FUNC 1000 10 0 _ZN1a1bEv\nFUNC 1010 10 0 c::d\n", nil},
		{"mangled symbols", head + "FUNC 1000 10 0 a::b\nFUNC 1010 10 0 a::c\nFUNC 1020 10 0 d\nPUBLIC ff0 0 _ZN1a1bEv\n",
			[]string{"func-mangled-name@5"}},
		{"no mangling", head + "FUNC 1000 10 0 a::b\nFUNC 1010 10 0 _Zero\nFUNC 1020 10 0 _Read\nFUNC 1030 10 0 __ZZ\nFUNC 1040 10 0 ?what\nFUNC 1050 10 0 a::c\n", nil},
	})
}

func TestFuncParamSize(t *testing.T) {
	const head = "MODULE windows x86 D892A5DF6477A8E41E03C1EB4BC7DE3D1 a.pdb\n"
	const frame = "STACK WIN 4 1000 10 0 0 %x 0 0 0 1 $eip .raSearch ^ = $esp .raSearch 4 + =\n"
	const fpo = "STACK WIN 0 1000 10 0 0 %x 0 0 0 0 0\n"
	testRuleCases(t, []string{"func"}, []ruleCase{
		{"agree", head + "FUNC 1000 10 8 a\n" + fmt.Sprintf(frame, 8), nil},
		{"differ", head + "FUNC 1000 10 4 a\n" + fmt.Sprintf(frame, 8), []string{"func-param-size@2"}},
		{"not known in FUNC", head + "FUNC 1000 10 0 a\n" + fmt.Sprintf(frame, 8), nil},
		{"FRAME_DATA goes before FPO", head + "FUNC 1000 10 8 a\n" + fmt.Sprintf(fpo, 4) + fmt.Sprintf(frame, 8), nil},
		{"one of several agrees", head + "FUNC 1000 10 8 a\n" + fmt.Sprintf(frame, 4) + fmt.Sprintf(frame, 8), nil},
		{"another start", head + "FUNC 1004 10 4 a\n" + fmt.Sprintf(frame, 8), nil},
		{"decorated", head + "FUNC 1000 10 c _f@12\nFUNC 1010 10 8 _g@12\nFUNC 1020 10 4 @h@12\nFUNC 1030 10 c @i@12\nFUNC 1040 10 0 ?f@@Y3\n",
			[]string{"func-param-size@3*2"}},
		{"no decoration on other CPUs", "MODULE windows x86_64 D892A5DF6477A8E41E03C1EB4BC7DE3D1 a.pdb\nFUNC 1010 10 8 _g@12\n", nil},
	})
}

func TestFuncWithoutLines(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\n"
	testRuleCases(t, []string{"func"}, []ruleCase{
		{"between two that have lines", head + "FUNC 1000 10 0 a\n1000 10 1 0\nFUNC 1010 10 0 b\nFUNC 1020 10 0 c\n1020 10 1 0\nFUNC 1030 10 0 d\nFUNC 1040 10 0 e\n1040 10 1 0\n",
			[]string{"func-without-lines@5*2"}},
		{"two in a row are another language", head + "FUNC 1000 10 0 a\n1000 10 1 0\nFUNC 1010 10 0 b\nFUNC 1020 10 0 c\nFUNC 1030 10 0 d\n1030 10 1 0\n", nil},
		{"no lines anywhere", head + "FUNC 1000 10 0 a\nFUNC 1010 10 0 b\nFUNC 1020 10 0 c\n", nil},
		{"parts of one function", head + "FUNC 1000 10 0 a\n1000 10 1 0\nFUNC 1010 10 0 b\nFUNC 1040 10 0 b\n1010 10 1 0\n1040 10 1 0\n", nil},
		{"another name for the same code", head + "FUNC 1000 10 0 a\n1000 10 1 0\nFUNC 1000 10 0 b\nFUNC 1020 10 0 c\n1020 10 1 0\n",
			[]string{"func-duplicate@5"}},
	})
}

// A reader like Google's: functions in file order, what overlaps one it has is refused.
func keptByBreakpad(funcs []symfile.Range) (kept []int32) {
	var have []symfile.Range
	for _, f := range funcs {
		if !slices.ContainsFunc(have, func(h symfile.Range) bool { return f.Start < h.End && h.Start < f.End }) {
			have = append(have, f)
			kept = append(kept, f.Index)
		}
	}
	slices.Sort(kept)
	return kept
}

// A reader like rust-minidump: sorted by (start, end), what overlaps the last one kept is dropped.
func keptByRust(funcs []symfile.Range) (kept []int32) {
	s := slices.Clone(funcs)
	slices.SortStableFunc(s, func(a, b symfile.Range) int {
		if c := compareRanges(symfile.Range{Start: a.Start}, symfile.Range{Start: b.Start}); c != 0 {
			return c
		}
		return compareRanges(symfile.Range{Start: a.End}, symfile.Range{Start: b.End})
	})
	end := uint64(0)
	for _, f := range s {
		if f.Start >= end {
			kept = append(kept, f.Index)
			end = f.End
		}
	}
	slices.Sort(kept)
	return kept
}

// What two overlapping functions' findings say about the consumers is what readers of their kind do.
func TestFuncOverlapAgainstReaders(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	seen := map[bool]int{}
	for range 400 {
		var funcs []symfile.Range
		var text strings.Builder
		text.WriteString("MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n")
		for i := range 2 {
			start := 0x1000 + random.Uint64N(12)
			size := 1 + random.Uint64N(8)
			funcs = append(funcs, symfile.Range{Start: start, End: start + size, Index: int32(i)})
			fmt.Fprintf(&text, "FUNC %x %x 0 f%d\n", start, size, i)
		}
		google, rust := keptByBreakpad(funcs), keptByRust(funcs)
		var found []lint.Finding
		for _, f := range check(t, "x.sym", text.String()) {
			if f.Rule == funcOverlap || f.Rule == funcDuplicate {
				found = append(found, f)
			}
		}
		if len(google) == 2 {
			if len(found) != 0 {
				t.Fatalf("nothing is dropped from\n%s%s", text.String(), describe(found))
			}
			continue
		}
		if len(found) != 1 {
			t.Fatalf("%d findings in\n%s", len(found), text.String())
		}
		f := &found[0]
		seen[slices.Equal(google, rust)]++
		for i, c := range [...]lint.Consumer{lint.Breakpad, lint.RustMinidump} {
			kept := [...][]int32{google, rust}[i][0]
			said := f.Effects[c].Text
			keeps := strings.HasPrefix(said, fmt.Sprintf("keeps f%d", kept)) || strings.HasPrefix(said, fmt.Sprintf("drops f%d", 1-kept))
			if !keeps {
				t.Fatalf("%s keeps f%d but the finding says it %q:\n%s", c, kept, said, text.String())
			}
		}
		if f.Rule == funcOverlap && strings.Contains(f.Message, "keep different ones") == slices.Equal(google, rust) {
			t.Fatalf("google keeps %v, rust %v: %s\n%s", google, rust, f.Message, text.String())
		}
	}
	if seen[true] < 20 || seen[false] < 20 {
		t.Fatalf("the test saw too little: %v", seen)
	}
}

// eachOverlap hands on groups exactly where ranges overlap.
func TestEachOverlap(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for range 2000 {
		n := 1 + random.IntN(8)
		var ranges []symfile.Range
		for i := range n {
			start := random.Uint64N(40)
			ranges = append(ranges, symfile.Range{Start: start, End: start + 1 + random.Uint64N(6), Index: int32(i)})
		}
		slices.SortFunc(ranges, compareRanges)
		// Groups by brute force: connected components of "overlap".
		group := make([]int, n)
		for i := range group {
			group[i] = i
		}
		for range n {
			for i := range ranges {
				for j := range ranges {
					if ranges[i].Start < ranges[j].End && ranges[j].Start < ranges[i].End {
						group[i], group[j] = min(group[i], group[j]), min(group[i], group[j])
					}
				}
			}
		}
		sizes := map[int]int{}
		for _, g := range group {
			sizes[g]++
		}
		want := 0
		for _, s := range sizes {
			if s > 1 {
				want++
			}
		}
		got := 0
		eachOverlap(ranges, true, func(o overlap) {
			got++
			if o.hits < 1 || o.total < o.hits || o.other.Start < o.outlier.Start || o.other.Start >= o.outlier.End {
				t.Fatalf("%+v of %v", o, ranges)
			}
			reach, earliest := 0, int32(n)
			for _, r := range ranges {
				if r != o.outlier && compareRanges(r, o.outlier) > 0 && r.Start < o.outlier.End {
					reach++
					earliest = min(earliest, r.Index)
				}
			}
			if o.hits > reach || earliest > o.earliest {
				t.Fatalf("%+v reaches into %d of %v", o, reach, ranges)
			}
		})
		if got != want {
			t.Fatalf("%d groups, want %d: %v", got, want, ranges)
		}
	}
}
