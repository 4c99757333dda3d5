package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

func TestLines(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\nFILE 1 b\n"
	testRuleCases(t, []string{"line"}, []ruleCase{
		{"as it should be", head + "FUNC 1000 10 0 f\n1000 8 1 0\n1008 8 2 1\n", nil},
		{"before the first function", head + "1000 8 1 0\n1008 8 2 1\nFUNC 1000 10 0 f\n1000 10 1 0\n", []string{"line-orphan@4*2"}},
		{"behind a PUBLIC", head + "FUNC 1000 10 0 f\n1000 10 1 0\nPUBLIC 2000 0 p\n2000 10 1 0\n", []string{"line-orphan@7"}},
		{"behind a function that cannot be read", head + "FUNC 1000 10 0\n1000 10 1 0\n1010 10 1 9\n", []string{"line-undefined-file@6"}},
		{"cut off by FILE", head + "FUNC 1000 10 0 f\n1000 8 1 0\nFILE 2 c\n1008 4 1 0\n100c 4 1 2\n", []string{"line-orphan@7*2"}},
		{"cut off by STACK", head + "FUNC 1000 10 0 f\n1000 8 1 0\nSTACK CFI INIT 1000 10 .cfa: $rsp 8 +\n1008 8 1 0\n", []string{"line-orphan@7"}},
		{"INLINE does not cut off", head + "FUNC 1000 10 0 f\n1000 8 1 0\nINLINE 0 1 0 0 1000 4\n1008 8 1 0\n", nil},
		{"blank and unknown lines are another family's", head + "FUNC 1000 10 0 f\n1000 8 1 0\n\nwhat is this\n1008 8 1 0\n", nil},
		{"behind the end", head + "FUNC 1000 10 0 f\n1000 10 1 0\n1011 8 2 0\n", []string{"line-outside-func@6"}},
		{"begins at the end", head + "FUNC 1000 10 0 f\n1000 10 1 0\n1010 8 2 0\n1018 8 3 0\n", []string{"line-outside-func@6*2"}},
		{"past the end", head + "FUNC 1000 10 0 f\n1000 8 1 0\n1008 9 2 0\n", []string{"line-outside-func@6"}},
		{"before the start", head + "FUNC 1000 10 0 f\nff8 8 1 0\n1000 10 2 0\n", []string{"line-outside-func@5"}},
		{"across the start", head + "FUNC 1000 10 0 f\nff8 10 1 0\n1008 8 2 0\n", []string{"line-outside-func@5"}},
		{"elsewhere, then on", head + "FUNC 1000 10 0 f\n1000 8 1 0\n2000 8 1 0\n1008 8 1 0\n", []string{"line-outside-func@6"}},
		{"lines of an empty function", head + "FUNC 1000 0 0 f\n1000 8 1 0\n2000 8 1 0\n", nil},
		{"lines of discarded code", head + "FUNC 0 10 0 f\n12 8 1 0\n2000 8 1 0\n", []string{"line-outside-func@5*2"}},
		{"behind what may have been a FUNC", head + "FUNC 1000 10 0 f\n1000 10 1 0\nFNC 2000 10 0 g\n2000 10 1 0\n", nil},
		{"behind what may have been the first FUNC", head + "FNC 2000 10 0 g\n2000 8 1 0\n2008 8 1 0\nFUNC 3000 10 0 h\n2000 10 1 0\n", []string{"line-outside-func@8"}},
		{"empty lines elsewhere", head + "FUNC 1000 10 0 f\n1000 10 1 0\n1010 0 1 0\n2000 0 1 0\n", []string{"line-outside-func@7", "line-zero-size@6*2"}},
		{"FILE records that cannot be read", head + "FILE 2\nFILE 3x c\nFUNC 1000 10 0 f\n1000 8 1 2\n1008 8 1 3\n", nil},
		{"more undefined files than those", head + "FILE 3x c\nFUNC 1000 10 0 f\n1000 8 1 2\n1008 8 1 3\n", []string{"line-undefined-file@6", "line-undefined-file@7"}},
		{"into the next", head + "FUNC 1000 10 0 f\n1000 9 1 0\n1008 8 2 0\n", []string{"line-overlap@5"}},
		{"into the next, not in order", head + "FUNC 1000 10 0 f\n1008 8 2 0\n1000 9 1 0\n", []string{"line-overlap@6", "line-order@6"}},
		{"into many", head + "FUNC 1000 20 0 f\n1000 20 1 0\n1008 8 2 0\n1010 8 3 0\n1018 8 4 0\n", []string{"line-overlap@5*3"}},
		{"into a few, past the end", head + "FUNC 1000 10 0 f\n1000 20 1 0\n1008 8 2 0\n", []string{"line-overlap@5", "line-outside-func@5"}},
		{"one after the other", head + "FUNC 1000 20 0 f\n1000 9 1 0\n1008 9 2 0\n1010 9 3 0\n1018 8 4 0\n", []string{"line-overlap@5*3"}},
		{"same start", head + "FUNC 1000 10 0 f\n1000 8 1 0\n1000 10 2 0\n", []string{"line-overlap@5"}},
		{"not in order", head + "FUNC 1000 10 0 f\n1008 8 2 0\n1000 8 1 0\n", []string{"line-order@6"}},
		{"gaps", head + "FUNC 1000 40 0 f\n1008 8 1 0\n1018 8 2 0\nFUNC 2000 10 0 g\n2000 8 1 0\nFUNC 3000 10 0 h\n",
			[]string{"line-gap@4*2"}},
		{"no size, no number", head + "FUNC 1000 10 0 f\n1000 0 1 0\n1000 8 0 0\n1008 0 0 0\n1008 8 0 0\n",
			[]string{"line-zero-size@5*2", "line-number-zero@6*3"}},
		{"undefined files", head + "FUNC 1000 20 0 f\n1000 8 1 7\n1008 8 1 5\n1010 8 1 7\n1018 8 1 2\nFILE 2 late\n",
			[]string{"line-undefined-file@5*2", "line-undefined-file@6"}},
		{"undefined files with ids beyond all reason", head + "FUNC 1000 20 0 f\n1000 8 1 2000000000\n1008 8 1 1048576\n1010 8 1 2000000000\n1018 8 1 1048575\n",
			[]string{"line-undefined-file@5*2", "line-undefined-file@6", "line-undefined-file@8"}},
		{"no files at all", "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFUNC 1000 10 0 f\n1000 8 1 0\n1008 8 1 1\n",
			[]string{"line-undefined-file@3*2"}},
		{"functions of several chunks", head + "FUNC 1000 10 0 f\n1000 8 1 9\nFUNC 2000 10 0 g\n2000 8 0 9\n2008 0 0 0\nPUBLIC 2100 0 p\nFUNC 3000 10 0 h\n3000 8 1 8\n300c 4 1 9\n",
			[]string{"line-gap@4*3", "line-undefined-file@5*3", "line-number-zero@7*2", "line-zero-size@8", "line-undefined-file@11"}},
	})
}

func TestLineGapMeasure(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\n"
	random := rand.New(rand.NewPCG(13, 17))
	for range 300 {
		var text strings.Builder
		text.WriteString(head + "FUNC 1000 40 0 f\n")
		covered := map[uint64]bool{}
		lines := 1 + random.IntN(6)
		for range lines {
			addr, size := 0xff8+random.Uint64N(0x50), random.Uint64N(0x14)
			fmt.Fprintf(&text, "%x %x 1 0\n", addr, size)
			for a := addr; a < addr+size; a++ {
				if a >= 0x1000 && a < 0x1040 {
					covered[a] = true
				}
			}
		}
		if len(covered) == 0 {
			continue // a function without lines is another rule's
		}
		gap := 0x40 - len(covered)
		said := 0
		for _, f := range check(t, "x.sym", text.String()) {
			if f.Rule == lineGap {
				if _, err := fmt.Sscanf(f.Message, "%v bytes of f have no line", &said); err != nil {
					t.Fatalf("%s: %v", f.Message, err)
				}
			}
		}
		if said != gap {
			t.Fatalf("%#x bytes without line, said %#x:\n%s", gap, said, text.String())
		}
	}
}

// What is said of two overlapping lines is what readers of their kind do.
func TestLineOverlapAgainstReaders(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\nFUNC 1000 100 0 f\n"
	random := rand.New(rand.NewPCG(19, 23))
	differ := 0
	for range 300 {
		var lines []symfile.Range
		var text strings.Builder
		text.WriteString(head)
		for i := range 2 {
			start, size := 0x1000+random.Uint64N(12), 1+random.Uint64N(8)
			lines = append(lines, symfile.Range{Start: start, End: start + size, Index: int32(i)})
			fmt.Fprintf(&text, "%x %x %d 0\n", start, size, i+1)
		}
		google, rust := keptByBreakpad(lines), keptByRust(lines)
		var found []lint.Finding
		for _, f := range check(t, "x.sym", text.String()) {
			if f.Rule == lineOverlap {
				found = append(found, f)
			}
		}
		if (len(google) == 1) != (len(found) == 1) {
			t.Fatalf("google keeps %v, found\n%s%s", google, describe(found), text.String())
		}
		if len(found) == 0 {
			continue
		}
		if strings.Contains(found[0].Message, "keep different ones") != (google[0] != rust[0]) {
			t.Fatalf("google keeps %v, rust %v: %s\n%s", google, rust, found[0].Message, text.String())
		}
		if google[0] != rust[0] {
			differ++
		}
	}
	if differ < 20 {
		t.Fatalf("only %d cases in which the readers differ", differ)
	}
}

// hugeText is a symbol file of about the given number of line records, as a linker of C++ programs has them.
func hugeText(lines int) []byte {
	var b strings.Builder
	b.WriteString("MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 huge\n")
	const files = 4000
	for i := range files {
		fmt.Fprintf(&b, "FILE %d /src/dir%d/file%d.cc\n", i, i%97, i)
	}
	addr, random := uint64(0x1000), rand.New(rand.NewPCG(29, 31))
	for n := 0; n < lines; {
		count := 4 + random.IntN(40)
		var body strings.Builder
		start := addr
		for range count {
			size := 1 + random.Uint64N(20)
			fmt.Fprintf(&body, "%x %x %d %d\n", addr, size, 1+random.IntN(3000), random.IntN(files))
			addr += size
		}
		fmt.Fprintf(&b, "FUNC %x %x 0 ns%d::Class%d::method%d(int, char const*)\n", start, addr-start, n%13, n%1009, n)
		b.WriteString(body.String())
		addr = (addr + 15) &^ 15
		n += count
	}
	return []byte(b.String())
}

// BenchmarkLineFamily measures what a line record costs beyond being scanned, for these families.
func BenchmarkLineFamily(b *testing.B) {
	const lines = 400_000
	data := hugeText(lines)
	for _, c := range []struct {
		name     string
		families []*lint.Analyzer
	}{
		{"scan", nil},
		{"line", []*lint.Analyzer{lineFamily}},
		{"all", []*lint.Analyzer{funcFamily, publicFamily, symbolsFamily, lineFamily, inlineFamily}},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := &lint.Runner{Registry: Registry(), Analyzers: c.families, Jobs: 1, Keep: 10}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				res := r.CheckSym("huge.sym", data, nil)
				if res.Err != nil {
					b.Fatal(res.Err)
				}
				res.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lines, "ns/line")
		})
	}
}
