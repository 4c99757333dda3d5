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

func TestInlines(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\nINLINE_ORIGIN 0 f\nINLINE_ORIGIN 1 g\n"
	const main = "FUNC 1000 100 0 main\n"
	testRuleCases(t, []string{"inline"}, []ruleCase{
		{"as it should be", head + main + "INLINE 0 1 0 0 1000 20 1040 10\nINLINE 1 1 0 1 1008 8 1040 10\nINLINE 0 1 0 0 1020 8\n1000 100 1 0\n", nil},
		{"call sites merged by Mozilla's dump_syms", head + main +
			"INLINE 0 26 0 0 100e 20\nINLINE 1 20 0 1 100e 1f 1065 1f\nINLINE 0 29 0 0 1065 20\n", nil},
		{"before the first function", head + "INLINE 0 1 0 0 1000 20\nINLINE 0 1 0 0 1000 20\n" + main, []string{"inline-orphan@5*2"}},
		{"behind a PUBLIC", head + main + "PUBLIC 2000 0 p\nINLINE 0 1 0 0 1000 20\n", []string{"inline-orphan@7"}},
		{"behind a function that cannot be read", head + "FUNC 1000 100 0\nINLINE 0 1 0 0 1000 20\nINLINE 0 1 0 0 1020 20\nFUNC 2000 zz 0 f\nINLINE 0 1 0 0 1000 20\n",
			[]string{"inline-orphan@6*2", "inline-orphan@9"}},
		{"behind a negative address, which Google's reader takes", head + "FUNC -1000 100 0 f\nINLINE 0 1 0 0 1000 20\n", nil},
		{"behind a FUNC with TABs", head + "FUNC 1000\t100 0 f\nINLINE 0 1 0 0 1000 20\n", []string{"inline-orphan@6"}},
		{"behind an upper-case FUNC", head + "FUNC 100A 100 0 f\nINLINE 0 1 0 0 1020 20\n", nil},
		{"cut off", head + main + "INFO x\nINLINE 0 1 0 0 1000 20\nINLINE 0 1 0 0 1020 20\n", []string{"inline-orphan@7*2"}},
		{"lines do not cut off", head + main + "1000 100 1 0\nINLINE 0 1 0 0 1000 20\n", nil},
		{"behind what may have been a FUNC", head + main + "FNC 2000 100 0 g\nINLINE 0 1 0 0 2000 20\nINLINE 1 1 0 0 2000 20\n", nil},
		{"behind what may have been the first FUNC", head + "FNC 2000 100 0 g\nINLINE 0 1 0 0 2000 20\n", []string{"inline-orphan@6"}},
		{"its caller cannot be read", head + main + "ILINE 0 1 0 0 1000 20\nINLINE 1 1 0 0 1000 20\nINLINE 0 1 z 0 1020 20\nINLINE 1 1 0 0 1020 20\nINLINE 2 1 0 0 1020 20\n", nil},
		{"the caller of its caller cannot be read", head + main + "INLINE 0 1 0 0 1000 20\nILINE 1 1 0 0 1000 20\nINLINE 2 1 0 0 1000 20\n", nil},
		{"size missing", head + main + "INLINE 0 1 0 0 1000\nINLINE 0 1 0 0 1000 10\n", []string{"inline-form@6"}},
		{"one word too many", head + main + "INLINE 0 1 0 0 1000 10 5\nINLINE 0 1 0 0 1000\nINLINE 0 1 0 0 1000 10\n", []string{"inline-form@6*2"}},
		{"one of the old form", head + main + "INLINE 0 1 0 0 1000 10\nINLINE 0 1 1 1010 10\nINLINE 0 1 0 0 1020 10\n", []string{"inline-form@7"}},
		{"one of the new form", head + main + "INLINE 0 1 1 1010 10\nINLINE 0 1 1 1020 10\nINLINE 0 1 0 0 1000 10\n", []string{"inline-form@8"}},
		{"all of the old form", "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\nINLINE_ORIGIN 0 0 f\nINLINE_ORIGIN 1 -1 g\n" + main +
			"INLINE 0 1 1 1010 10\nINLINE 1 1 0 1010 10\n", []string{"inline-form@6*2"}},
		{"all of the old form, split function", "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\nINLINE_ORIGIN 0 0 f\nFUNC 1000 100 0 main\n" +
			"INLINE 0 1 0 2010 10\nINLINE 0 1 0 1010 10\nFUNC 2000 100 0 main\nINLINE 0 1 0 2010 10\n", []string{"inline-form@5*3"}},
		{"name that begins with a number", head + "INLINE_ORIGIN 2 42 answers\nINLINE_ORIGIN 3 -[a b]\nINLINE_ORIGIN 4 7up x\n" + main + "INLINE 0 1 0 2 1010 10\n",
			[]string{"inline-form@5"}},
		{"names that begin with numbers", head + "INLINE_ORIGIN 2 42 answers\nINLINE_ORIGIN 3 43 answers\nINLINE_ORIGIN 4 h\nINLINE_ORIGIN 5 1 i\n",
			[]string{"inline-form@5*2", "inline-form@8"}},
		{"undefined origins", head + main + "INLINE 0 1 0 5 1000 8\nINLINE 0 1 0 2 1008 8\nINLINE 0 1 0 5 1010 8\nINLINE_ORIGIN 2 late\n",
			[]string{"inline-origin-undefined@6*2"}},
		{"no origins at all", "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\n" + main + "INLINE 0 1 0 5 1000 8\nINLINE 0 1 0 2 1008 8\n",
			[]string{"inline-origin-undefined@4*2"}},
		{"origin twice", head + "INLINE_ORIGIN 0 other\nINLINE_ORIGIN 1 g\nINLINE_ORIGIN 0 third\nINLINE_ORIGIN 2000000000 x\nINLINE_ORIGIN 2000000000 x\n",
			[]string{"inline-origin-duplicate@5", "inline-origin-duplicate@6", "inline-origin-duplicate@7", "inline-origin-duplicate@9"}},
		{"origin twice in other chunks", head + main + "INLINE_ORIGIN 0 other\nFUNC 2000 10 0 g\nINLINE_ORIGIN 7 x\nFUNC 3000 10 0 h\nINLINE_ORIGIN 7 y\nINLINE_ORIGIN 0 z\n",
			[]string{"inline-origin-duplicate@6", "inline-origin-duplicate@10", "inline-origin-duplicate@11"}},
		{"levels", head + main + "INLINE 0 1 0 0 1000 8\nINLINE 2 1 0 0 1000 8\nINLINE 3 1 0 0 1000 8\nINLINE 1 1 0 0 1000 8\nINLINE 2 1 0 0 1000 8\n",
			[]string{"inline-depth@7*2"}},
		{"first level is 1", head + main + "INLINE 1 1 0 0 1000 8\nINLINE 2 1 0 0 1000 8\n", []string{"inline-depth@6"}},
		{"first level is 2", head + main + "INLINE 2 1 0 0 1000 8\nFUNC 2000 100 0 g\nINLINE 0 1 0 0 2000 8\n", []string{"inline-depth@6"}},
		{"levels begin anew with each function", head + main + "INLINE 0 1 0 0 1000 8\nFUNC 2000 100 0 g\nINLINE 1 1 0 0 2000 8\n", []string{"inline-depth@8"}},
		{"partial overlap", head + main + "INLINE 0 1 0 0 1000 20\nINLINE 0 1 0 0 1018 10\n", []string{"inline-nesting@6"}},
		{"one over many", head + main + "INLINE 0 1 0 0 1000 80\nINLINE 0 1 0 0 1008 8\nINLINE 0 1 0 0 1018 8\nINLINE 0 1 0 0 1028 8\n", []string{"inline-nesting@6"}},
		{"same range at one level", head + main + "INLINE 0 1 0 0 1000 20\nINLINE 0 1 0 0 1000 20\n", []string{"inline-nesting@7"}},
		{"same range, one level deeper", head + main + "INLINE 0 1 0 0 1000 20\nINLINE 1 1 0 0 1000 20\n", nil},
		{"past its parent", head + main + "INLINE 0 1 0 0 1000 20\nINLINE 1 1 0 1 1010 18\nINLINE 2 1 0 0 1018 8\n", []string{"inline-nesting@7"}},
		{"not in its parent", head + main + "INLINE 0 1 0 0 1000 20\nINLINE 1 1 0 1 1040 18\nINLINE 1 1 0 1 1080 8\n", []string{"inline-nesting@7*2"}},
		{"across two parents that meet", head + main + "INLINE 0 1 0 0 1000 20\nINLINE 1 1 0 1 1010 20\nINLINE 0 1 0 0 1020 20\n", nil},
		{"parent without code", head + main + "INLINE 0 1 0 0 1000 20\nINLINE 0 1 0 0 1020 0\nINLINE 1 1 0 1 1040 8\n", []string{"inline-range@7"}},
		{"past the function", head + main + "INLINE 0 1 0 0 10f0 20\nINLINE 1 1 0 0 10f8 20\n", []string{"inline-range@6*2"}},
		{"past the function and over its neighbours", head + main + "INLINE 0 1 0 0 1000 110\nINLINE 0 1 0 0 1010 8\nINLINE 0 1 0 0 1020 8\n", []string{"inline-range@6"}},
		{"before the function", head + main + "INLINE 0 1 0 0 ff0 20\n", []string{"inline-range@6"}},
		{"wraps", head + main + "INLINE 0 1 0 0 fffffffffffffff0 20\n", []string{"inline-range@6"}},
		{"elsewhere", head + main + "INLINE 0 1 0 0 1000 8\nINLINE 0 1 0 0 2000 8\nFUNC 2000 100 0 other\n", []string{"inline-range@7"}},
		{"in another part of the function", head + main + "INLINE 0 1 0 0 1000 8 2000 8\nINLINE 1 1 0 0 2000 4\nFUNC 2000 100 0 main\nINLINE 0 1 0 0 1000 8 2000 8\nINLINE 1 1 0 0 2000 4\n",
			nil},
		{"past the other part of the function", head + main + "INLINE 0 1 0 0 1000 8 2000 8\nFUNC 2000 4 0 main\n", []string{"inline-range@6"}},
		{"empty ranges", head + main + "INLINE 0 1 0 0 1000 0\nINLINE 0 1 0 0 1000 8\nINLINE 0 1 0 0 1010 8 1018 0\n", []string{"inline-range@6*2"}},
		{"call site in file -1", head + main + "INLINE 0 1 0 0 1000 8\nINLINE 0 1 -1 0 1010 8\nINLINE 0 1 -1 0 1020 8\n", []string{"inline-callsite-file@7*2"}},
		{"undefined call files", head + main + "INLINE 0 1 9 0 1000 8\nINLINE 0 1 8 0 1010 8\nINLINE 0 1 9 0 1020 8\nFILE 8 late\n", []string{"inline-callsite-file@6*2"}},
		{"in a function without bytes", head + "FUNC 1000 0 0 f\nINLINE 5 1 0 0 2000 8\n", nil},
	})
}

func TestInlineSeverities(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\nINLINE_ORIGIN 0 f\nFUNC 1000 100 0 main\n"
	for _, c := range []struct {
		rule     *lint.Rule
		text     string
		severity lint.Severity
		headline string // who crashes or refuses the file
	}{
		{inlineOrphan, "INLINE_ORIGIN 0 f\nINLINE 0 1 0 0 1000 8\n", lint.Error, "breakpad crashes; rust-minidump rejects the file"},
		{inlineOrphan, head + "INFO x\nINLINE 0 1 0 0 1000 8\n", lint.Error, "rust-minidump rejects the file"},
		{inlineOrphan, "FUNC 1000\t10 0 f\nINLINE 0 1 0 0 1000 8\n", lint.Error, "breakpad crashes"},
		{inlineForm, head + "INLINE 0 1 0 1000 8\n", lint.Warning, "rust-minidump rejects the file"},
		{inlineForm, head + "INLINE 0 1 0 0 1000\n", lint.Error, "rust-minidump rejects the file"},
		{inlineForm, "INLINE_ORIGIN 0 1 f\nINLINE_ORIGIN 1 g\n", lint.Error, ""},
		{inlineCallsiteFile, head + "INLINE 0 1 -1 0 1000 8\n", lint.Error, "rust-minidump rejects the file"},
		{inlineCallsiteFile, head + "INLINE 0 1 5 0 1000 8\n", lint.Warning, ""},
		{inlineRange, head + "INLINE 0 1 0 0 1000 0\n", lint.Info, ""},
		{inlineRange, head + "INLINE 0 1 0 0 1000 200\n", lint.Warning, ""},
		{inlineOriginDuplicate, head + "INLINE_ORIGIN 0 f\n", lint.Info, ""},
		{lineOrphan, head + "INFO x\n1000 100 1 0\n", lint.Error, "rust-minidump rejects the file"},
	} {
		f := onlyFinding(t, c.rule, c.text)
		if got := f.Effects.Headline(lint.AllConsumers); f.Severity != c.severity || got != c.headline {
			t.Errorf("%s is %s and %q, want %s and %q:\n%s", c.rule.Name, f.Severity, got, c.severity, c.headline, numberedLines(c.text))
		}
	}
}

// inlineTree writes INLINE records that nest as they should and returns their ranges: the children lie in their parent
// and apart from each other.
func inlineTree(random *rand.Rand, b *strings.Builder, level int, start, end uint64) {
	for pos := start; pos < end; {
		from := pos + random.Uint64N(8)
		to := from + 1 + random.Uint64N(24)
		if to > end {
			return
		}
		second := ""
		if gap := to + 2; gap+3 < end && random.IntN(4) == 0 {
			second = fmt.Sprintf(" %x 3", gap)
			pos = gap + 3
		} else {
			pos = to
		}
		fmt.Fprintf(b, "INLINE %d 7 0 0 %x %x%s\n", level, from, to-from, second)
		if level < 4 && random.IntN(2) == 0 {
			inlineTree(random, b, level+1, from, to)
		}
	}
}

// A tree of inlined functions is healthy, and moving the end of one range out of its parent is found at that record.
func TestInlineNestingProperty(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 a\nINLINE_ORIGIN 0 f\nFUNC 1000 100 0 main\n"
	random := rand.New(rand.NewPCG(37, 41))
	damaged := 0
	for range 600 {
		var b strings.Builder
		b.WriteString(head)
		inlineTree(random, &b, 0, 0x1000, 0x1100)
		text := b.String()
		for _, f := range check(t, "x.sym", text) {
			if f.Rule.Family == "inline" {
				t.Fatalf("%s in\n%s", describe([]lint.Finding{f}), numberedLines(text))
			}
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		i := 4 + random.IntN(max(len(lines)-4, 1))
		if i >= len(lines) {
			continue
		}
		words := strings.Fields(lines[i])
		if len(words) != 7 || words[1] == "0" {
			continue
		}
		// A child that reaches behind the end of everything its parent's level covers, yet stays in the function.
		var addr, size uint64
		fmt.Sscanf(words[5]+" "+words[6], "%x %x", &addr, &size)
		parent := words[1]
		high := uint64(0)
		for _, l := range lines[4:] {
			w := strings.Fields(l)
			if fmt.Sprint(atoi(w[1])+1) != parent {
				continue
			}
			for j := 5; j+1 < len(w); j += 2 {
				var a, s uint64
				fmt.Sscanf(w[j]+" "+w[j+1], "%x %x", &a, &s)
				high = max(high, a+s)
			}
		}
		if high+4 > 0x1100 {
			continue
		}
		lines[i] = fmt.Sprintf("INLINE %s 7 0 0 %x 4", parent, high)
		damaged++
		text = strings.Join(lines, "\n") + "\n"
		found := check(t, "x.sym", text)
		if !slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Rule == inlineNesting && f.Line == i+1 }) {
			t.Fatalf("line %d is not found:\n%s%s", i+1, describe(found), numberedLines(text))
		}
	}
	if damaged < 30 {
		t.Fatalf("only %d damaged trees", damaged)
	}
}

func atoi(digits string) (n int) {
	fmt.Sscan(digits, &n)
	return n
}

// nextPair reads what the scanner accepts.
func TestNextPair(t *testing.T) {
	for _, pairs := range []string{"1000 10", "1000 10 2000 20", "1000  10\t2000 20", "0x1000 0X10", "ABC def", "+10 8", "ffffffffffffff00 0"} {
		text := "INLINE 0 1 0 0 " + pairs + "\n"
		s := symfile.NewScanner([]byte(text))
		s.Next()
		r := s.Record()
		if !r.Usable {
			t.Fatalf("%q is not usable", text)
		}
		var got []uint64
		for rest := []byte(text[r.Text.Off:r.Text.End]); ; {
			var a, n uint64
			var ok bool
			if a, n, rest, ok = nextPair(rest); !ok {
				break
			}
			got = append(got, a, n)
		}
		if len(got) != len(strings.Fields(pairs)) || got[0] != r.Addr || got[1] != r.Size {
			t.Errorf("%q: %x, the scanner read %x %x first", pairs, got, r.Addr, r.Size)
		}
	}
}
