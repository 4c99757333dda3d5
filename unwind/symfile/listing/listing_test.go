package listing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

const sample = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3
FILE 0 /src/main.c
FILE 1 /src/inner.h
INLINE_ORIGIN 0 inner
INLINE_ORIGIN 1 deeper
FUNC 1000 20 8 main
1010 8 3 1
1000 10 6 0
1018 8 0 7
INLINE 0 7 0 0 1010 8 1018 4
INLINE 1 9 -1 1 1014 2
FUNC m 1040 10 0 tail
PUBLIC 2000 4 start
STACK CFI INIT 1000 20 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^
STACK CFI 1004 .cfa: $rbp 16 +
STACK CFI INIT 1030 4 .cfa: rsp 8 + .ra: .cfa
STACK CFI INIT 2010 4 .cfa: $rsp .ra: .cfa -8 + ^
FUNC 3000 zz
1 2 3 4
`

const sampleText = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3
FILE /src/inner.h
FILE /src/main.c

FUNC main
  address 0x1000
  size 0x20
  parameters 0x8
  lines
    0x0..0x10       /src/main.c:6
    0x10..0x18      /src/inner.h:3
    0x18..0x20      FILE 7, which is missing:0
  inlined
    0x10..0x18, 0x18..0x1c inner, called at /src/main.c:7
      0x14..0x16      deeper, called at line 9
  unwind
    0x0             CFA rsp+8, ra [cfa-8]
    0x1             CFA rsp+16, ra [cfa-8], rbp [cfa-16]
    0x4             CFA rbp+16, ra [cfa-8], rbp [cfa-16]

no symbol
  address 0x1030
  unwind 0x0..0x4
    0x0             CFA rsp?+8, ra cfa

FUNC tail
  address 0x1040
  size 0x10
  shared by several symbols

PUBLIC start
  address 0x2000
  parameters 0x4
  unwind 0x10..0x14
    0x10            CFA rsp, ra [cfa-8]

unreadable
  FUNC 3000 zz
  1 2 3 4
`

func text(t testing.TB, data string, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, []byte(data), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	if got := text(t, sample, Options{}); got != sampleText {
		t.Errorf("got\n%s", got)
	}
	for _, empty := range []string{"", "\n", "\n\n"} {
		if got := text(t, empty, Options{}); got != "" {
			t.Errorf("%q: got %q", empty, got)
		}
	}
}

// moved is sample with code at another place and other ids.
func moved(t *testing.T) string {
	t.Helper()
	lines := strings.SplitAfter(sample, "\n")
	for i, l := range lines {
		for _, at := range []string{"1000", "1001", "1004", "1010", "1014", "1018", "1030", "1040", "2000", "2010"} {
			l = strings.Replace(l, " "+at+" ", " 7"+at+" ", -1)
			if strings.HasPrefix(l, at+" ") {
				l = "7" + l
			}
		}
		l = strings.Replace(l, "FILE 0", "FILE 5", 1)
		l = strings.Replace(l, "6 0\n", "6 5\n", 1)
		l = strings.Replace(l, "INLINE 0 7 0 0 ", "INLINE 0 7 5 0 ", 1)
		lines[i] = l
	}
	return strings.Join(lines, "")
}

// Code that moved, other ids and another order of records change the addresses and nothing else.
func TestMoved(t *testing.T) {
	other := moved(t)
	a, b := strings.Split(text(t, sample, Options{}), "\n"), strings.Split(text(t, other, Options{}), "\n")
	if len(a) != len(b) {
		t.Fatalf("%d and %d lines", len(a), len(b))
	}
	differ := 0
	for i := range a {
		if a[i] != b[i] {
			differ++
			if !strings.HasPrefix(a[i], "  address ") {
				t.Errorf("%q became %q", a[i], b[i])
			}
		}
	}
	if differ != 4 {
		t.Errorf("%d addresses differ, want 4", differ)
	}
	if x, y := text(t, sample, Options{NoAddresses: true}), text(t, other, Options{NoAddresses: true}); x != y || strings.Contains(x, "address") {
		t.Errorf("without addresses\n%s\nbecame\n%s", x, y)
	}
}

// The order of symbols and of the blocks of unwind records does not matter.
func TestOrder(t *testing.T) {
	const broken = "FUNC 3000 zz\n1 2 3 4\n"
	body := strings.TrimSuffix(sample, broken)
	var head string
	var blocks []string
	for _, l := range strings.SplitAfter(body, "\n") {
		switch {
		case strings.HasPrefix(l, "FUNC"), strings.HasPrefix(l, "PUBLIC"), strings.HasPrefix(l, "STACK CFI INIT"):
			blocks = append(blocks, l)
		case len(blocks) == 0:
			head += l
		default:
			blocks[len(blocks)-1] += l
		}
	}
	want := text(t, body, Options{})
	rng := rand.New(rand.NewSource(1))
	for range 50 {
		rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		if got := text(t, head+strings.Join(blocks, ""), Options{}); got != want {
			t.Fatalf("the order\n%s\nis listed as\n%s", strings.Join(blocks, ""), got)
		}
	}
	if got := text(t, strings.ReplaceAll(body, "\n", "\r\n"), Options{}); got != want {
		t.Errorf("CRLF is listed as\n%s", got)
	}
}

func TestValue(t *testing.T) {
	cpu, _ := arch.Lookup("x86_64")
	rr := &ruleReader{cpu: cpu}
	for expr, want := range map[string]string{
		"$rsp 8 +":                   "rsp+8",
		"$rsp -8 +":                  "rsp-8",
		"$rsp 8 -":                   "rsp-8",
		"$rsp -8 -":                  "rsp-(-8)",
		".cfa -16 + ^":               "[cfa-16]",
		"$rbp":                       "rbp",
		".cfa":                       "cfa",
		".undef":                     "undefined",
		"$rsp ^ ^":                   "[[rsp]]",
		"$rax $rbx $rcx + -":         "rax-(rbx+rcx)",
		"$rax $rbx - $rcx +":         "rax-rbx+rcx",
		"$rax $rbx + 8 *":            "(rax+rbx)*8",
		"$rax 8 * $rbx +":            "rax*8+rbx",
		"$rax $rbx $rcx * /":         "rax/(rbx*rcx)",
		"$rax 16 %":                  "rax%16",
		"$rsp 16 @":                  "align(rsp, 16)",
		"$rsp 8 + 16 @ 8 -":          "align(rsp+8, 16)-8",
		"rsp 8 +":                    "rsp?+8",
		"$ra 8 +":                    "$ra?+8",
		"007":                        "7",
		"$rsp 8":                     `"$rsp 8"`,
		"+":                          `"+"`,
		"$rsp 99999999999999999 +":   "rsp+99999999999999999",
		strings.Repeat("$rsp ", 200): fmt.Sprintf("%q", strings.Repeat("$rsp ", 200)),
	} {
		if got := rr.value([]byte(expr)); got != want {
			t.Errorf("%.60q is %.80q, want %.80q", expr, got, want)
		}
	}
	mips, _ := arch.Lookup("mips")
	rr = &ruleReader{cpu: mips}
	if got := rr.value([]byte("$ra")); got != "$ra" {
		t.Errorf("the register $ra is %q", got)
	}
	rr = &ruleReader{}
	if got := rr.value([]byte("$any 8 +")); got != "$any+8" {
		t.Errorf("on an unknown CPU $any 8 + is %q", got)
	}
}

func TestProgram(t *testing.T) {
	cpu, _ := arch.Lookup("x86")
	rr := &ruleReader{cpu: cpu}
	for program, want := range map[string]string{
		"$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =": "$T0 = .raSearch; eip = [$T0]; esp = $T0+4",
		"$eip":     `"$eip"`,
		"$eip 4":   `"$eip 4"`,
		"":         `""`,
		"4 $eip =": `"4 $eip ="`,
	} {
		if got := rr.program([]byte(program)); got != want {
			t.Errorf("%q is %q, want %q", program, got, want)
		}
	}
}

func TestDamaged(t *testing.T) {
	const module = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n"
	for _, c := range []struct{ name, file, want string }{
		{"orphans", "1 2 3 4\nSTACK CFI 5 .cfa: $rsp\nINLINE 0 1 0 0 5 5\n", "1 2 3 4\n  STACK CFI 5 .cfa: $rsp\n  INLINE 0 1 0 0 5 5\n"},
		{"second module", module, "unreadable\n  MODULE Linux"},
		{"unknown record", "HELLO world\n", "unreadable\n  HELLO world\n"},
		{"control characters", "FUNC 10 10 0 a\x1b[31m\n", `FUNC a\x1b[31m`},
		{"no UTF-8", "FUNC 10 10 0 a\xff\n", `FUNC a\xff`},
		{"missing origin", "FUNC 10 10 0 f\nINLINE 0 3 -1 9 10 2\n", "INLINE_ORIGIN 9, which is missing, called at line 3"},
		{"rules cut off", "STACK CFI INIT 10 10 .cfa: $rsp 8 + .ra:\n", "CFA rsp+8, not readable: .cfa: $rsp 8 + .ra:\n"},
		{"no rules", "STACK CFI INIT 10 10 8 +\n", "not readable: 8 +\n"},
		{"before the symbol", "FUNC 20 10 0 f\n1e 4 1 0\n", "    -0x2..0x2       FILE 0"},
		{"wrapping", "FUNC fffffffffffffff0 20 0 f\nSTACK CFI INIT fffffffffffffff8 4 .cfa: $rsp .ra: $rip\n", "  unwind 0x8..0xc\n    0x8             CFA rsp, ra rip\n"},
		{"one address", "FUNC 10 10 0 b\nFUNC 10 20 0 c\nFUNC 10 10 0 a\n", "FUNC c\n  address 0x10\n  size 0x20\n\nFUNC a\n  address 0x10\n  size 0x10\n\nFUNC b\n"},
		{"win without program", "STACK WIN 0 10 8 1 2 3 4 5 6 0 1\n", "0x0..0x8        type 0, prolog 0x1, epilog 0x2, parameters 0x3, saved registers 0x4, locals 0x5, stack 0x6, allocates base pointer 1\n"},
		{"stray delta", "STACK CFI INIT 10 10 .cfa: $rsp .ra: $rip\nSTACK CFI 90 .cfa: $rsp 8 +\nSTACK CFI 12 .cfa: $rsp 4 +\n",
			"    0x0             CFA rsp, ra rip\n    0x2             CFA rsp+4, ra rip\n    0x80            CFA rsp+8, ra rip\n"},
		{"first id counts", "FILE 0 a\nFILE 0 b\nFUNC 10 10 0 f\n10 1 1 0\n", "FILE a\nFILE b\n\nFUNC f\n  address 0x10\n  size 0x10\n  lines\n    0x0..0x1        a:1\n"},
		{"strange nests", "INLINE_ORIGIN 0 o\nINLINE_ORIGIN 1 p\nFUNC 10 10 0 f\nINLINE 5 1 -1 0 12 2\nINLINE 0 2 -1 1 10 8\nINLINE 1 3 -1 0 20 1\n",
			"    0x0..0x8        p, called at line 2\n      0x10..0x11      o, called at line 3\n              0x2..0x4        o, called at line 1\n"},
	} {
		if got := text(t, module+c.file, Options{}); !strings.Contains(got, c.want) {
			t.Errorf("%s: got\n%s\nwithout\n%s", c.name, got, c.want)
		}
	}
}

// Inlined calls stand where they were inlined, whatever the order of the records.
func TestInlineTree(t *testing.T) {
	records := []string{
		"INLINE 0 1 -1 0 1000 20 1060 10\n",
		"INLINE 1 2 -1 1 1004 4\n",
		"INLINE 1 3 -1 2 1064 4\n",
		"INLINE 2 4 -1 3 1064 2\n",
		"INLINE 0 5 -1 4 1030 10\n",
		"INLINE 1 6 -1 5 1032 2\n",
	}
	const want = `  inlined
    0x0..0x20, 0x60..0x70 a, called at line 1
      0x4..0x8        b, called at line 2
      0x64..0x68      c, called at line 3
        0x64..0x66      d, called at line 4
    0x30..0x40      e, called at line 5
      0x32..0x34      f, called at line 6
`
	head := ""
	for i, name := range strings.Split("abcdef", "") {
		head += fmt.Sprintf("INLINE_ORIGIN %d %s\n", i, name)
	}
	rng := rand.New(rand.NewSource(1))
	for range 50 {
		if got := text(t, head+"FUNC 1000 100 0 f\n"+strings.Join(records, ""), Options{}); !strings.Contains(got, want) {
			t.Fatalf("got\n%s", got)
		}
		rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	}
}

// document is the JSON that the package documents.
type document struct {
	Version int
	Module  *struct{ OS, Arch, ID, Name string }
	Info    []string
	Files   []string
	Symbols []struct {
		Record    *string
		Name      string
		Address   string
		Size      string
		ParamSize string `json:"param_size"`
		Multiple  bool
		Lines     []struct {
			Offset, Size string
			File         *string
			Line         int64
		}
		Inlines []struct {
			Nest     int64
			Name     *string
			CallFile *string `json:"call_file"`
			CallLine int64   `json:"call_line"`
			Ranges   []struct{ Offset, Size string }
		}
		Unwind []struct {
			Offset, Size string
			Rows         []struct {
				Offset     string
				Rules      map[string]string
				Partial    bool
				Unreadable *string
			}
		}
		Win []struct {
			Offset, Size, Prolog, Epilog string
			Type                         int
			ParamSize                    string `json:"param_size"`
			SavedRegs                    string `json:"saved_regs"`
			Locals                       string
			MaxStack                     string `json:"max_stack"`
			Program                      *string
			AllocatesBasePointer         *bool `json:"allocates_base_pointer"`
		}
	}
	Unreadable []string
}

func parsed(t testing.TB, data []byte) *document {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, data); err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b.Bytes()))
	dec.DisallowUnknownFields()
	var d document
	if err := dec.Decode(&d); err != nil {
		t.Fatalf("%v in\n%.2000s", err, b.String())
	}
	return &d
}

func TestJSON(t *testing.T) {
	d := parsed(t, []byte(sample+"STACK WIN 4 1000 20 1 2 3 4 5 6 1 $eip $ebp 4 + ^ =\nSTACK WIN 0 1000 20 1 2 3 4 5 6 0 1\n"))
	var lines []string
	for _, s := range d.Symbols {
		record := "-"
		if s.Record != nil {
			record = *s.Record
		}
		lines = append(lines, fmt.Sprint(record, " ", s.Name, " ", s.Address, s.Size, s.ParamSize, s.Multiple,
			" ", len(s.Lines), len(s.Inlines), len(s.Unwind), len(s.Win)))
	}
	want := []string{"FUNC main 0x10000x200x8false 3 2 1 2", "-  0x10300x00x0false 0 0 1 0", "FUNC tail 0x10400x100x0true 0 0 0 0",
		"PUBLIC start 0x20000x00x4false 0 0 1 0"}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
	m := d.Symbols[0]
	if got := m.Unwind[0].Rows[1]; got.Offset != "0x1" || got.Rules[".cfa"] != "rsp+16" || got.Rules[".ra"] != "[cfa-8]" || got.Rules["$rbp"] != "[cfa-16]" {
		t.Errorf("got %+v", got)
	}
	if m.Lines[2].File != nil || *m.Lines[0].File != "/src/main.c" || m.Inlines[1].CallFile != nil || *m.Inlines[1].Name != "deeper" {
		t.Errorf("got %+v", m)
	}
	if w := m.Win; w[0].AllocatesBasePointer == nil || !*w[0].AllocatesBasePointer || w[0].Program != nil ||
		w[1].Program == nil || *w[1].Program != "$eip = [$ebp+4]" || w[1].AllocatesBasePointer != nil {
		t.Errorf("got %+v", w)
	}
	if d.Version != 1 || d.Module.Arch != "x86_64" || len(d.Unreadable) != 2 || len(d.Info) != 1 || len(d.Files) != 2 {
		t.Errorf("got %+v", d)
	}
	if d := parsed(t, nil); d.Module != nil || d.Symbols == nil || d.Unreadable == nil {
		t.Errorf("an empty file: %+v", d)
	}
}

// What a file repeats without measure is cut, so that the output is no more than a fixed number of times its size.
func TestBounded(t *testing.T) {
	const module = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n"
	long := strings.Repeat("n", 200_000)
	var registers, deltas strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&registers, "STACK CFI %x $r%d: .cfa\n", i, i)
		fmt.Fprintf(&deltas, "STACK CFI %x .cfa: $rsp\n", i)
	}
	for name, file := range map[string]string{
		"file name":    "FILE 0 " + long + "\nFUNC 0 ffff 0 f\n" + strings.Repeat("1 1 1 0\n", 20_000),
		"inlined name": "INLINE_ORIGIN 0 " + long + "\nFUNC 0 ffff 0 f\n" + strings.Repeat("INLINE 0 1 0 0 1 1\n", 20_000),
		"nests":        "INLINE_ORIGIN 0 o\nFUNC 0 ffff 0 f\n" + strings.Repeat("INLINE 999999999 1 0 0 1 1\n", 20_000),
		"registers":    "STACK CFI INIT 0 ffff .cfa: $rsp .ra: $rip\n" + registers.String(),
		"long rule":    "STACK CFI INIT 0 ffff .cfa: $rsp .ra: " + strings.Repeat("1 + ", 100_000) + "\n" + deltas.String(),
		"one name":     strings.Repeat("FUNC 1 1 0 "+strings.Repeat("n", 2000)+"\n", 2_000),
		"no newline":   strings.Repeat("FUNC 1 1 0 f\n1 1 1 1\n", 20_000) + "FUNC 1 1 0 " + long,
	} {
		for format, list := range map[string]func(w *counter, data []byte) error{
			"text": func(w *counter, data []byte) error { return Text(w, data, Options{}) },
			"json": func(w *counter, data []byte) error { return JSON(w, data) },
		} {
			w := counter(0)
			if err := list(&w, []byte(module+file)); err != nil {
				t.Fatal(err)
			}
			if int(w) > 45*len(file)+2<<20 {
				t.Errorf("%s, %s: %d bytes of %d", name, format, w, len(file))
			}
		}
	}
}

type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

type broken struct{ writes int }

var errBroken = errors.New("broken")

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errBroken
}

func TestWriteError(t *testing.T) {
	data := []byte(strings.Repeat("FUNC 1000 20 8 main\n1010 8 3 1\nFUNC x\n", 50_000))
	for name, list := range map[string]func(w *broken) error{
		"text": func(w *broken) error { return Text(w, data, Options{}) },
		"json": func(w *broken) error { return JSON(w, data) },
	} {
		w := &broken{}
		if err := list(w); !errors.Is(err, errBroken) || w.writes != 1 {
			t.Errorf("%s: error %v after %d writes", name, err, w.writes)
		}
	}
}

// counted compares what a listing shows with the records of the file: none may get lost.
func counted(t testing.TB, data []byte) {
	t.Helper()
	d := parsed(t, data)
	var want, got [symfile.KindCount]int
	unusable := 0
	var c context
	for s := symfile.NewScanner(data); s.Next(); {
		if r := s.Record(); c.usable(r) {
			want[r.Kind]++
		} else {
			unusable++
		}
	}
	if d.Module != nil {
		got[symfile.Module]++
	}
	got[symfile.Info] = len(d.Info)
	for _, s := range d.Symbols {
		switch {
		case s.Record == nil:
		case *s.Record == "FUNC":
			got[symfile.Func]++
		default:
			got[symfile.Public]++
		}
		got[symfile.Line] += len(s.Lines)
		got[symfile.Inline] += len(s.Inlines)
		got[symfile.StackWin] += len(s.Win)
		got[symfile.StackCFIInit] += len(s.Unwind)
		for _, u := range s.Unwind {
			got[symfile.StackCFI] += len(u.Rows) - 1
		}
	}
	if len(d.Unreadable) != unusable {
		t.Errorf("%d records are unreadable, want %d", len(d.Unreadable), unusable)
	}
	for k := range symfile.KindCount {
		switch k {
		case symfile.Blank, symfile.File, symfile.InlineOrigin, symfile.Unknown:
		default:
			if got[k] != want[k] {
				t.Errorf("%d %s records are listed, want %d", got[k], k, want[k])
			}
		}
	}
}

func TestCounted(t *testing.T) { counted(t, []byte(sample)) }
