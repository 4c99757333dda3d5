package symdiff

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symlint/symlint/unwind/symfile/symgen"
)

var plantedSize = flag.Int64("planted.size", 1<<20, "bytes of the generated file in which single changes are planted")

// The lines of base-x86_64.sym that the tests change.
const (
	lineRow   = "1665 7 233 0\n"
	inlineRow = "INLINE 0 85 0 1 1d9a 16\n"
	initRow   = "STACK CFI INIT 1660 53 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	cfaRow    = "STACK CFI 166c .cfa: $rsp 224 +\n"
	lastRow   = "STACK CFI 16b2 .cfa: $rsp 8 +\n"
	eatStack  = "FUNC 1660 53 0 eat_stack\n"
)

// one returns the only change of a result.
func one(t *testing.T, r *Result) (*Change, Detail) {
	t.Helper()
	if len(r.Changes) != 1 || len(r.Publics) != 0 || len(r.Module) != 0 {
		t.Fatalf("%d functions, %d publics, %d fields differ:\n%s", len(r.Changes), len(r.Publics), len(r.Module), tell(r))
	}
	return &r.Changes[0], r.NewDetailer().Detail(&r.Changes[0], false)
}

func replaced(t *testing.T, sym, old, new string) string {
	t.Helper()
	if n := strings.Count(sym, old); n != 1 {
		t.Fatalf("%q stands %d times in the file", old, n)
	}
	return strings.Replace(sym, old, new, 1)
}

// TestPlanted: a single change is told alone, and exactly.
func TestPlanted(t *testing.T) {
	base := readBase(t, "base-x86_64.sym")
	for _, c := range []struct {
		name, old, new string
		want           Change
		detail         Detail
	}{
		{"line number", lineRow, "1665 7 234 0\n",
			Change{Aspects: Lines, LineRanges: 1},
			Detail{Lines: []Delta{{5, 0xc, "line", "tower.cc:233", "tower.cc:234"}}}},
		{"line lost", lineRow, "",
			Change{Aspects: Lines, LineRanges: 1, LostLines: 7},
			Detail{Lines: []Delta{{5, 0xc, "line", "tower.cc:233", ""}}}},
		{"inlined call", inlineRow, "INLINE 0 86 0 1 1d9a 16\n",
			Change{Aspects: Inlines, InlineRanges: 1},
			Detail{Inlines: []Delta{{0x3a, 0x50, "level 0", "tower::Guard::~Guard() called at tower.cc:85", "tower::Guard::~Guard() called at tower.cc:86"}}}},
		{"inlined function", inlineRow, "INLINE 0 85 0 0 1d9a 16\n",
			Change{Aspects: Inlines, InlineRanges: 1},
			Detail{Inlines: []Delta{{0x3a, 0x50, "level 0", "tower::Guard::~Guard() called at tower.cc:85", "tower::Guard::Guard(int) called at tower.cc:85"}}}},
		{"inlined call lost", inlineRow, "",
			Change{Aspects: Inlines, InlineRanges: 1, LostInlines: 22},
			Detail{Inlines: []Delta{{0x3a, 0x50, "inlined calls", "tower::Guard::~Guard() called at tower.cc:85", ""}}}},
		{"parameters", eatStack, "FUNC 1660 53 8 eat_stack\n", Change{Aspects: Params}, Detail{}},
		{"multiple", eatStack, "FUNC m 1660 53 0 eat_stack\n", Change{Aspects: Multiple}, Detail{}},
		{"name", eatStack, "FUNC 1660 53 0 digest\n", Change{Aspects: Names, Match: ByAddress}, Detail{}},
		{"spelling", eatStack, "FUNC 1660 53 0 eat_stack(int)\n", Change{Aspects: Names, Match: BySpelling}, Detail{}},
		{"CFA", cfaRow, "STACK CFI 166c .cfa: $rsp 232 +\n",
			Change{Aspects: CFI, CFIRanges: 1},
			Detail{CFI: []Delta{{0xc, 0x52, "CFA", "rsp+224", "rsp+232"}}}},
		{"unwind rows lost", initRow + cfaRow + lastRow, "",
			Change{Aspects: CFI, CFIRanges: 3, LostCFI: 0x53}, Detail{CFI: []Delta{
				{0, 0xc, "unwind rows", "CFA rsp+8, RA [cfa-8]", ""},
				{0xc, 0x52, "unwind rows", "CFA rsp+224, RA [cfa-8]", ""},
				{0x52, 0x53, "unwind rows", "CFA rsp+8, RA [cfa-8]", ""},
			}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			edited := replaced(t, base, c.old, c.new)
			ch, detail := one(t, compare(base, edited))
			if c.want.Match == NoMatch {
				c.want.Match = ByName
			}
			got := Change{Status: ch.Status, Match: ch.Match, Aspects: ch.Aspects, LineRanges: ch.LineRanges, InlineRanges: ch.InlineRanges,
				CFIRanges: ch.CFIRanges, LostLines: ch.LostLines, GainedLines: ch.GainedLines, LostInlines: ch.LostInlines,
				LostCFI: ch.LostCFI, GainedCFI: ch.GainedCFI}
			if got != c.want {
				t.Errorf("got %+v\nwant %+v", got, c.want)
			}
			if d := cmp.Diff(c.detail, detail); d != "" {
				t.Errorf("detail (-want +got):\n%s", d)
			}
			back, _ := one(t, compare(edited, base))
			if back.LostLines != ch.GainedLines || back.GainedLines != ch.LostLines || back.GainedCFI != ch.LostCFI || back.Aspects != ch.Aspects {
				t.Errorf("the other way round: %+v", back)
			}
			for _, aspect := range c.want.Aspects.Names() {
				a, _ := ParseAspect(aspect)
				if r := Compare([]byte(base), []byte(edited), Options{Ignore: a}); !r.Same() {
					t.Errorf("told although %s is ignored:\n%s", aspect, tell(r))
				}
			}
		})
	}
}

// TestRemoved: a FUNC that is gone is told, and not that its unwind rows stay.
func TestRemoved(t *testing.T) {
	base := readBase(t, "base-x86_64.sym")
	_, list := blocks(base)
	for _, b := range list {
		if !strings.HasPrefix(b, "FUNC") {
			continue
		}
		edited := replaced(t, base, b, "")
		ch, _ := one(t, compare(base, edited))
		if ch.Status != Removed || ch.Aspects != Functions || ch.Old.Kind != Function || ch.New.Name != "" || ch.LostCFI != 0 {
			t.Errorf("%s: %+v", strings.SplitN(b, "\n", 2)[0], ch)
		}
		ch, _ = one(t, compare(edited, base))
		if ch.Status != Added || ch.Aspects != Functions || ch.New.Kind != Function {
			t.Errorf("%s added: %+v", strings.SplitN(b, "\n", 2)[0], ch)
		}
		if r := compare(base, edited); r.Summary.FunctionsRemoved != 1 || !FindCondition("lost-functions").Met(r) || FindCondition("lost-cfi").Met(r) {
			t.Errorf("summary %+v", r.Summary)
		}
	}
}

// TestModule: fields of the MODULE and INFO records.
func TestModule(t *testing.T) {
	base := readBase(t, "base-x86_64.sym")
	edited := replaced(t, base, "42FA2FB7C40D0D89873FDC5DCE498E5E0", "42FA2FB7C40D0D89873FDC5DCE498E5E1")
	edited = replaced(t, edited, "INFO CODE_ID B7", "INFO CODE_ID B8")
	r := compare(base, edited)
	if len(r.Module) != 2 || r.Module[0].Field != "id" || r.Module[1].Field != "info" || len(r.Changes) != 0 {
		t.Errorf("%+v", r.Module)
	}
	if !FindCondition("changed-id").Met(r) {
		t.Error("changed-id is not met")
	}
	if !Compare([]byte(base), []byte(edited), Options{Ignore: Module | Info}).Same() {
		t.Error("ignored fields are told")
	}
}

// TestWin: STACK WIN records by meaning.
func TestWin(t *testing.T) {
	base := readBase(t, "base-windows-x86.sym")
	_, list := blocks(base)
	for _, b := range list {
		if !strings.HasPrefix(b, "STACK WIN 4") {
			continue
		}
		w := strings.Split(b, " ")
		w[8] = "1c" // bytes of saved registers
		ch, detail := one(t, compare(base, replaced(t, base, b, strings.Join(w, " "))))
		if ch.Aspects != Win || len(detail.Win) != 1 || !strings.Contains(detail.Win[0].New, "saved registers 0x1c") {
			t.Errorf("%+v\n%+v", ch, detail)
		}
		return
	}
	t.Fatal("the file has no STACK WIN 4")
}

// TestTwins: functions of one name are told apart by what they hold, whatever their order.
func TestTwins(t *testing.T) {
	const file = "MODULE Linux x86_64 000000000000000000000000000000000 a\nFILE 0 a.c\n"
	f := func(addr, size, line int) string {
		return fmt.Sprintf("FUNC %x %x 0 twin\n%x %x %d 0\n", addr, size, addr, size, line)
	}
	a := file + f(0x1000, 0x10, 1) + f(0x2000, 0x20, 2) + f(0x3000, 0x20, 3)
	b := file + f(0x1000, 0x20, 3) + f(0x2000, 0x10, 1) + f(0x3000, 0x20, 2)
	if r := compare(a, b); !r.Same() {
		t.Error(tell(r))
	}
	gone := file + f(0x1000, 0x20, 3) + f(0x3000, 0x20, 2)
	if ch, _ := one(t, compare(a, gone)); ch.Status != Removed || ch.Old.Size != 0x10 {
		t.Errorf("%+v", ch)
	}
}

// TestPaths: a source tree that moved is found; a file that got another name is a difference.
func TestPaths(t *testing.T) {
	file := func(paths ...string) string {
		var b strings.Builder
		b.WriteString("MODULE Linux x86_64 000000000000000000000000000000000 a\n")
		for i, p := range paths {
			fmt.Fprintf(&b, "FILE %d %s\n", i, p)
		}
		for i := range paths {
			fmt.Fprintf(&b, "FUNC %x 10 0 f%d\n%x 10 %d %d\n", 0x1000+16*i, i, 0x1000+16*i, i+1, i)
		}
		return b.String()
	}
	a := file("/home/a/src/x.c", "/home/a/src/lib/y.c", "/usr/include/z.h")
	b := file("/build/x.c", "/build/lib/y.c", "/usr/include/z.h")
	for _, r := range []*Result{compare(a, b), compare(b, a)} {
		if !r.Same() || len(r.PathMaps) != 1 || !r.PathMaps[0].Auto {
			t.Errorf("%+v\n%s", r.PathMaps, tell(r))
		}
	}
	if r := Compare([]byte(a), []byte(b), Options{KeepPaths: true}); len(r.Changes) != 2 {
		t.Error(tell(r))
	}
	if r := Compare([]byte(a), []byte(b), Options{KeepPaths: true, PathMaps: []PathMap{{From: "/home/a/src", To: "/build"}}}); !r.Same() || r.PathMaps[0].Files != 2 {
		t.Error(tell(r))
	}
	if r := Compare([]byte(a), []byte(b), Options{Ignore: Paths}); !r.Same() {
		t.Error(tell(r))
	}
	other := file("/home/a/src/w.c", "/home/a/src/lib/y.c", "/usr/include/z.h")
	ch, detail := one(t, compare(a, other))
	if ch.Aspects != Lines || detail.Lines[0].Old != "x.c:1" || detail.Lines[0].New != "w.c:1" {
		t.Errorf("%+v", detail)
	}
	if !Compare([]byte(a), []byte(other), Options{Ignore: Files}).Same() {
		t.Error("ignored files are told")
	}
}

// TestPlantedLarge plants changes in a large file. -planted.size 40000000 makes it as large as real ones.
func TestPlantedLarge(t *testing.T) {
	var b bytes.Buffer
	if err := symgen.LinesWith(&b, 1, *plantedSize, symgen.Options{Inlines: true}); err != nil {
		t.Fatal(err)
	}
	base := b.Bytes()
	plant := func(prefix string, skip int, f func(w []string)) []byte {
		at := len(base) / 3
		for ; ; skip-- {
			n := bytes.Index(base[at:], []byte("\n"+prefix))
			if n < 0 {
				t.Fatalf("no %q", prefix)
			}
			if at += n + 1; skip == 0 {
				break
			}
		}
		end := at + bytes.IndexByte(base[at:], '\n')
		w := strings.Split(string(base[at:end]), " ")
		f(w)
		return slicesConcat(base[:at], []byte(strings.Join(w, " ")), base[end:])
	}
	for what, c := range map[string]struct {
		edited []byte
		aspect Aspect
	}{
		"params": {plant("FUNC", 3, func(w []string) { w[3] = "7f" }), Params},
		"inline": {plant("INLINE ", 3, func(w []string) { w[2] += "7" }), Inlines},
		"cfa":    {plant("STACK CFI INIT", 3, func(w []string) { w[7] = "24" }), CFI},
	} {
		r := Compare(base, c.edited, Options{})
		if ch, _ := one(t, r); ch.Aspects != c.aspect {
			t.Errorf("%s: %v", what, ch.Aspects)
		}
	}
}

func slicesConcat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
