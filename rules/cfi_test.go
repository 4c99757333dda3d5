package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
)

// said runs every rule over a text and returns what the cfi family says, a line each: "7 error cfi-syntax".
func said(t testing.TB, text string) []string {
	t.Helper()
	var out []string
	for _, f := range check(t, "test.sym", text) {
		if f.Rule.Family == "cfi" {
			out = append(out, fmt.Sprintf("%d %s %s", f.Line, f.Severity, f.Rule.Name))
		}
	}
	return out
}

func funcs(head string, n int) string {
	var b strings.Builder
	b.WriteString(strings.Join(strings.SplitAfter(head, "\n")[:3], ""))
	for i := range n {
		fmt.Fprintf(&b, "FUNC %x 80 0 f%d\n%x 80 3 0\n", 0x1000+0x100*i, i, 0x1000+0x100*i)
	}
	return b.String()
}

const (
	goodFrame86 = "STACK CFI INIT %x 80 .cfa: $esp 4 + .ra: .cfa -4 + ^\nSTACK CFI %x $ebp: .cfa -8 + ^ .cfa: $esp 8 +\nSTACK CFI %x .cfa: $ebp 8 +\n"
	badFrame86  = "STACK CFI INIT %x 80 .cfa: $ebp 4 + .ra: .cfa -4 + ^\nSTACK CFI %x $esp: .cfa -8 + ^ .cfa: $ebp 8 +\nSTACK CFI %x .cfa: $esp 8 +\n"
)

func frame(form string, addr int) string { return fmt.Sprintf(form, addr, addr+1, addr+3) }

// The registers are recognised as exchanged whatever share of the file they are.
func TestSwappedShare(t *testing.T) {
	for _, bad := range []int{0, 1, 3, 6} {
		text := funcs(x86Head, 6)
		var want []string
		line := 16
		for i := range 6 {
			if i < bad {
				text += frame(badFrame86, 0x1000+0x100*i)
				want = append(want, fmt.Sprintf("%d error cfi-swapped-frame-stack", line))
			} else {
				text += frame(goodFrame86, 0x1000+0x100*i)
			}
			line += 3
		}
		if got := said(t, text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d of 6 exchanged:\n got %q\nwant %q", bad, got, want)
		}
	}
}

// The finding names the function and its range, and shows the rows the right way round; applied, its edits make the
// block healthy.
func TestSwappedRemedy(t *testing.T) {
	text := x86Head + `STACK CFI INIT 1000 40 .cfa: $ebp 4 + .ra: .cfa -4 + ^
STACK CFI 1001 $esp: .cfa -8 + ^ .cfa: $ebp 8 +
STACK CFI 1003 .cfa: $esp 8 +
STACK CFI 1007 $esi: .cfa -12 + ^
`
	fs := check(t, "test.sym", text)
	if len(fs) != 1 || fs[0].Rule != cfiSwapped {
		t.Fatalf("got\n%s", describe(fs))
	}
	f := fs[0]
	if want := "$esp and $ebp are exchanged in the unwind rows of main (1000..1040)"; f.Message != want {
		t.Errorf("message %q, want %q", f.Message, want)
	}
	detail := strings.Join(f.Detail, "\n")
	for _, row := range []string{
		"STACK CFI INIT 1000 40 .cfa: $esp 4 + .ra: .cfa -4 + ^",
		"STACK CFI 1001 $ebp: .cfa -8 + ^ .cfa: $esp 8 +",
		"STACK CFI 1003 .cfa: $ebp 8 +",
		"STACK CFI 1007 $esi: .cfa -12 + ^",
	} {
		if !strings.Contains(detail, row) {
			t.Errorf("the detail lacks %q:\n%s", row, detail)
		}
	}
	fixed := text
	for i := len(f.Fix.Edits) - 1; i >= 0; i-- {
		e := f.Fix.Edits[i]
		fixed = fixed[:e.Offset] + e.Text + fixed[e.Offset+e.Length:]
	}
	if fs := check(t, "test.sym", fixed); len(fs) > 0 {
		t.Errorf("repaired, the file still has\n%s\n%s", describe(fs), fixed)
	}
}

// Rows over the whole i386 crash corpus: every function of a file with exchanged registers is found, and none of the
// same file as it should be.
func TestSwappedCorpus(t *testing.T) {
	dir := filepath.Join(corpustest.Dir(t), "bad", "ebp-esp-swap")
	for kind, want := range map[string]bool{"symbols-swapped": true, "symbols-correct": false, "symbols-nocfi": false} {
		files, err := filepath.Glob(filepath.Join(dir, "*", kind, "*", "*", "*.sym"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files of %s (%v)", kind, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var entries, swapped int
			for _, l := range strings.Split(string(data), "\n") {
				if strings.HasPrefix(l, "STACK CFI INIT") && strings.Contains(l, ".cfa: $ebp 4 +") {
					entries++
				}
			}
			for _, f := range check(t, name, string(data)) {
				if f.Rule == cfiSwapped {
					swapped++
				}
			}
			if swapped != entries || (entries > 0) != want {
				t.Errorf("%s: %d of %d exchanged entry rows found", name, swapped, entries)
			}
		}
	}
}

func TestCFICases(t *testing.T) {
	x64 := func(body string) string { return x64Head + body }
	arm64 := func(body string) string { return arm64Head + body }
	for _, c := range []struct {
		name string
		text string
		want []string
	}{
		{"frame pointer prologue and two epilogues", x64(`STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 $rbp: .cfa -16 + ^ .cfa: $rsp 16 +
STACK CFI 1004 .cfa: $rbp 16 +
STACK CFI 1010 .cfa: $rsp 8 +
STACK CFI 1011 .cfa: $rbp 16 +
STACK CFI 103f .cfa: $rsp 8 +
`), nil},
		{"pushes, pops and a jump over the epilogue", x64(`STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 $rbx: .cfa -16 + ^ .cfa: $rsp 16 +
STACK CFI 1008 .cfa: $rsp 272 +
STACK CFI 1020 .cfa: $rsp 16 +
STACK CFI 1021 .cfa: $rsp 8 +
STACK CFI 1022 .cfa: $rsp 272 +
`), nil},
		{"a split-off part of a function", x64(`STACK CFI INIT 1000 40 $rbp: .cfa -16 + ^ $rbx: .cfa -24 + ^ .cfa: $rsp 48 + .ra: .cfa -8 + ^
FUNC 2000 10 0 other
2000 10 4 0
STACK CFI INIT 2000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`), nil},
		{"restored registers", x64(`STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 $rbx: .cfa -16 + ^ .cfa: $rsp 16 +
STACK CFI 103e $rbx: $rbx .cfa: $rsp 8 +
`), nil},
		{"red zone saves of old compilers", x64(`STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1005 $rbp: .cfa -32 + ^ $rbx: .cfa -40 + ^
STACK CFI 100c .cfa: $rsp 48 +
`), nil},
		{"Windows x64: a delta at the INIT record's address", strings.Replace(x64Head, "Linux", "windows", 1) +
			`STACK CFI INIT 1000 40 .cfa: $rsp .ra: .cfa 8 - ^
STACK CFI 1000 .cfa: $rsp 48 +
`, nil},
		{"the end of the stack", x64("STACK CFI INIT 1000 40 .cfa: 0 .ra: 0\nFUNC 2000 10 0 b\n2000 10 4 0\nSTACK CFI INIT 2000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"),
			[]string{"6 warning cfi-entry-row"}},
		{"vector registers", arm64(`STACK CFI INIT 1000 40 .cfa: sp 0 + .ra: x30
STACK CFI 1004 .cfa: sp 48 + .ra: .cfa -40 + ^ v8: .cfa -16 + ^ v9: v9 x29: .cfa -48 + ^
`), nil},
		{"the link register of a leaf with a frame", arm64(`STACK CFI INIT 1000 40 .cfa: sp 0 + .ra: x30
STACK CFI 1004 .cfa: sp 64 +
STACK CFI 103c .cfa: sp 0 +
`), nil},
		{"an epilogue's .ra: .ra, once for the file", arm64(`STACK CFI INIT 1000 40 .cfa: sp 0 + .ra: x30
STACK CFI 1004 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^
STACK CFI 1020 .cfa: sp 0 + .ra: .ra x29: x29
STACK CFI 1024 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^
STACK CFI 103c .cfa: sp 0 + .ra: .ra x29: x29
`), []string{"8 warning cfi-self-reference"}},
		{".ra: .ra for good", arm64(`FUNC 2000 400 0 g
2000 400 9 0
STACK CFI INIT 1000 40 .cfa: sp 0 + .ra: x30
STACK CFI INIT 2000 400 .cfa: sp 0 + .ra: x30
STACK CFI 2004 .cfa: sp 32 + .ra: .ra x29: .cfa -32 + ^
`), []string{"10 error cfi-self-reference"}},
		{"no dollar", x64("STACK CFI INIT 1000 40 .cfa: rsp 8 + .ra: .cfa -8 + ^\nFUNC 2000 10 0 b\n2000 10 4 0\nSTACK CFI INIT 2000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"),
			[]string{"6 error cfi-unknown-register"}},
		{"a dollar too many", arm64("STACK CFI INIT 1000 40 .cfa: $sp 0 + .ra: x30\nFUNC 2000 10 0 b\n2000 10 4 0\nSTACK CFI INIT 2000 10 .cfa: sp 0 + .ra: x30\n"),
			[]string{"6 error cfi-unknown-register"}},
		{"unnamed registers", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^ unnamed_register120: .cfa -16 + ^\n"),
			[]string{"6 info cfi-unknown-register"}},
		{"hexadecimal literal", x64("STACK CFI INIT 1000 40 .cfa: $rsp 0x8 + .ra: .cfa -8 + ^\n"), []string{"6 error cfi-syntax"}},
		{"forgotten colon", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra .cfa -8 + ^\n"), []string{"6 error cfi-syntax"}},
		{"division by zero", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 + 0 / .ra: .cfa -8 + ^\n"), []string{"6 error cfi-arithmetic"}},
		{"literal beyond 32 bits on x86", x86Head + "STACK CFI INIT 1000 40 .cfa: $esp 94466065896088 + .ra: .cfa -4 + ^\n",
			[]string{"6 error cfi-arithmetic"}},
		{".ra rule comes late", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 +\nSTACK CFI 1008 .ra: .cfa -8 + ^\n"), []string{"6 error cfi-missing-ra"}},
		{".ra rule comes with a delta at the same address", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 +\nSTACK CFI 1000 .ra: .cfa -8 + ^\n"), nil},
		{"_start without .ra", strings.Replace(x64Head, "0 main", "0 _start", 1) + "STACK CFI INIT 1000 40 .cfa: $rsp 8 +\n", []string{"6 info cfi-missing-ra"}},
		{"deltas without their INIT", x64(`FUNC 2000 40 0 b
2000 40 4 0
STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 2001 .cfa: $rsp 16 +
STACK CFI 2004 .cfa: $rsp 32 +
`), []string{"6 warning cfi-missing", "9 error cfi-delta-outside"}},
		{"a delta at the end of its range", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1040 .cfa: $rsp 16 +\n"),
			[]string{"7 info cfi-delta-outside"}},
		{"the same, where the next range begins", x64(`FUNC 1040 40 0 b
1040 40 4 0
STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1040 .cfa: $rsp 16 +
STACK CFI INIT 1040 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`), []string{"9 error cfi-delta-outside"}},
		{"exact repeats are one info", x64(strings.Repeat("STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1004 .cfa: $rsp 16 +\n", 3)),
			[]string{"8 info cfi-init-duplicate"}},
		{"conflicting repeat", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1004 .cfa: $rsp 16 +\nSTACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1005 .cfa: $rsp 24 +\n"),
			[]string{"8 error cfi-init-duplicate"}},
		{"dead-stripped functions at 0", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI INIT 0 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI INIT 0 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI INIT 0 30 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"),
			[]string{"8 warning cfi-init-duplicate"}},
		{"eh_return", x64("STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 103d .cfa: $rsp 0 + .ra: $rcx\n"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range said(t, c.text) {
				if !strings.Contains(s, "cfi-outside-symbols") {
					got = append(got, s)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %q, want %q\n%s", got, c.want, c.text)
			}
		})
	}
}

// A module whose rules name another CPU's registers is one finding, not one for every row.
func TestWrongCPU(t *testing.T) {
	text := strings.Replace(funcs(x86Head, 6), " x86 ", " x86_64 ", 1)
	for i := range 6 {
		text += frame(goodFrame86, 0x1000+0x100*i)
	}
	fs := check(t, "test.sym", text)
	if len(fs) != 1 || fs[0].Rule != moduleArch || fs[0].Severity != lint.Error || fs[0].Line != 1 {
		t.Errorf("got\n%s", describe(fs))
	}
}

// The machine forgets when it is full and goes on from where it was.
func TestMachineRestarts(t *testing.T) {
	var b strings.Builder
	b.WriteString(x64Head)
	b.WriteString("STACK CFI INIT 1000 2000000 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n")
	rows := 3*maxStates + 7
	for i := range rows {
		fmt.Fprintf(&b, "STACK CFI %x .cfa: $rsp %d +\n", 0x1004+8*i, 16+8*i)
	}
	fmt.Fprintf(&b, "STACK CFI %x .cfa: $rsp 13 +\n", 0x1004+8*rows)
	var got []string
	for _, f := range check(t, "test.sym", b.String()) {
		got = append(got, fmt.Sprintf("%d %s", f.Line, f.Rule.Name))
	}
	if want := fmt.Sprintf("[%d cfi-cfa-discontinuity]", 7+rows); fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func BenchmarkCFIFamily(b *testing.B) {
	text := funcs(x64Head, 500)
	for i := range 500 {
		a := 0x1000 + 0x100*i
		text += fmt.Sprintf("STACK CFI INIT %x 80 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI %x $rbp: .cfa -16 + ^ .cfa: $rsp 16 +\n"+
			"STACK CFI %x .cfa: $rbp 16 +\nSTACK CFI %x $rbx: .cfa -24 + ^\nSTACK CFI %x .cfa: $rsp 8 +\n", a, a+1, a+4, a+9, a+0x7f)
	}
	r := &lint.Runner{Registry: Registry(), Analyzers: []*lint.Analyzer{cfiFamily}, Jobs: 1}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		res := r.CheckSym("bench.sym", []byte(text), nil)
		if res.Totals != [4]int{} {
			b.Fatal(res.Totals)
		}
		res.Close()
	}
}
