package symfile

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// look renders what is found at an address: name@base file:line {inline@base file:line}…
func look(m *Symbols, addr uint64) string {
	f, ok := m.Lookup(addr)
	if !ok {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s@%x", f.Name, f.Base)
	if f.File != "" || f.Number != 0 {
		fmt.Fprintf(&b, " %s:%d", f.File, f.Number)
	}
	for _, in := range f.Inlines {
		fmt.Fprintf(&b, " {%s@%x %s:%d}", in.Name, in.Base, in.File, in.Number)
	}
	return b.String()
}

// rulesAt renders the unwind rules at an address, with the lines they come from.
func rulesAt(m *Symbols, addr uint64) string {
	c := m.CFI(addr)
	if c == nil {
		return ""
	}
	if c.Err != "" {
		return "unusable: " + c.Err
	}
	var parts []string
	for _, r := range c.Rules {
		parts = append(parts, fmt.Sprintf("%s: %s (%d)", r.Name, r.Expr, r.Line))
	}
	return strings.Join(parts, " ")
}

func winAt(m *Symbols, addr uint64) string {
	w, ok := m.Win(addr)
	switch {
	case !ok:
		return ""
	case w.ParamOnly:
		return fmt.Sprintf("params %x", w.ParamSize)
	}
	return fmt.Sprintf("type %d line %d %x+%x params %x %q %v", w.Type, w.Line, w.Addr, w.Size, w.ParamSize, w.Program, w.AllocatesBasePointer)
}

type question struct {
	addr uint64
	want string
}

type lookupCase struct {
	name, text string
	symbols    []question
	cfi        []question
	win        []question
	errors     int
	crash      bool
}

func (c *lookupCase) run(t *testing.T, o Options) {
	t.Helper()
	m := Load([]byte(c.text), o)
	ask := func(what string, get func(*Symbols, uint64) string, qs []question) {
		for _, q := range qs {
			if got := get(m, q.addr); got != q.want {
				t.Errorf("%s at %#x: %q, want %q", what, q.addr, got, q.want)
			}
		}
	}
	if err := m.Rejected(); err != nil {
		t.Fatalf("rejected: %v", err)
	}
	ask("symbol", look, c.symbols)
	ask("CFI", rulesAt, c.cfi)
	ask("WIN", winAt, c.win)
	corrupt, errs := m.Corrupt()
	if len(errs) != c.errors || corrupt != (c.errors > 0) {
		t.Errorf("%d errors %v, want %d", len(errs), errs, c.errors)
	}
	if crash := m.Crash() != nil; crash != c.crash {
		t.Errorf("crash: %v", m.Crash())
	}
}

// What Google's reader was seen to do. The names give the row of the list of invariants or the section they restate.
var googleCases = []lookupCase{
	{name: "S04 big function hides the small one", text: "FUNC 1000 100 0 big\n1000 100 1 0\nFUNC 1040 10 0 small\n1040 10 2 0\nFILE 0 f\n",
		symbols: []question{{0x1040, "big@1000 f:1"}, {0x10ff, "big@1000 f:1"}, {0x1100, ""}}},
	{name: "S04 small function loses the big one", text: "FUNC 1040 10 0 small\nFUNC 1000 100 0 big\n",
		symbols: []question{{0x1000, ""}, {0x1040, "small@1040"}, {0x1050, ""}}},
	{name: "S04 duplicate", text: "FUNC 1000 10 0 first\nFUNC 1000 10 0 second\n1000 10 7 0\nFILE 0 f\n",
		symbols: []question{{0x1000, "first@1000"}}},
	{name: "S05 empty and wrapping functions", text: "FUNC 1000 0 0 empty\n1000 10 7 0\nFUNC fffffffffffffff0 20 0 wraps\n",
		symbols: []question{{0x1000, ""}, {0xfffffffffffffff8, ""}}},
	{name: "S06 S07 lines: the first stays", text: "FILE 1 f\nFUNC 1000 20 0 a\n1000 10 5 1\n1008 10 6 1\n1010 0 7 1\n1018 8 8 1\n",
		symbols: []question{{0x1008, "a@1000 f:5"}, {0x1010, "a@1000"}, {0x1018, "a@1000 f:8"}}},
	{name: "S02 undefined file: a line without a file", text: "FUNC 1000 10 0 a\n1000 10 5 9\n",
		symbols: []question{{0x1000, "a@1000 :5"}}},
	{name: "S01 F08 file ids: the first stays, 32 bits are kept", text: "FILE 1 first\nFILE 1 second\nFILE 4294967298 wide\nFUNC 1000 10 0 a\n1000 8 5 1\n1008 8 6 2\n",
		symbols: []question{{0x1000, "a@1000 first:5"}, {0x1008, "a@1000 wide:6"}}},
	{name: "1.3 FILE after its use", text: "FUNC 1000 10 0 a\n1000 10 5 1\nFILE 1 late name\n",
		symbols: []question{{0x1000, "a@1000 late name:5"}}},
	{name: "S08 line beyond its function", text: "FILE 1 f\nFUNC 1000 10 0 a\n1000 20 5 1\n",
		symbols: []question{{0x100f, "a@1000 f:5"}, {0x1010, ""}}},
	{name: "S11 PUBLIC twice is an error", text: "PUBLIC 1000 0 first\nPUBLIC 1000 0 second\n", errors: 1,
		symbols: []question{{0x1000, "first@1000"}}},
	{name: "S12 PUBLIC at 0 is ignored", text: "PUBLIC 0 0 a\nPUBLIC 0 0 b\n", symbols: []question{{0, ""}, {8, ""}}},
	{name: "S13 1.12 PUBLIC and FUNC", text: "PUBLIC 800 0 before\nFUNC 1000 10 0 f\nPUBLIC 1008 0 within\nPUBLIC 2000 0 after\n",
		symbols: []question{{0x7ff, ""}, {0xfff, "before@800"}, {0x1008, "f@1000"}, {0x1010, "within@1008"}, {0x1fff, "within@1008"},
			{0xffffffffffffffff, "after@2000"}}},
	{name: "S13 PUBLIC below a FUNC does not reach over it", text: "PUBLIC 800 0 before\nPUBLIC 1000 0 at\nFUNC 1000 10 0 f\n",
		symbols: []question{{0xfff, "before@800"}, {0x1000, "f@1000"}, {0x1010, ""}}},
	{name: "S10 lines without a function", text: "1000 10 1 1\nFUNC 1000 10 0 a\nPUBLIC 2000 0 p\n1000 10 2 1\nFILE 1 f\n", errors: 2,
		symbols: []question{{0x1000, "a@1000"}}},
	{name: "S10 other records leave the function open", text: "FUNC 1000 10 0 a\nMODULE x\nINFO x\nFILE 1 f\nSTACK CFI 2000 .cfa: 1\n1000 10 2 1\n",
		symbols: []question{{0x1000, "a@1000 f:2"}}},
	{name: "S03 a broken FUNC takes its lines along", text: "FUNC 1000 10 0 a\nFUNC 2000 10 0\n2000 10 1 1\n2010 10 1 1\n", errors: 3,
		symbols: []question{{0x2000, ""}}},

	{name: "F03 NUL", text: "FUNC 1000 10 0 a\x00b\n\x00\x00", errors: 1, symbols: []question{{0x1000, "a_b@1000"}}},
	{name: "F04 TAB", text: "FUNC\t1000 10 0 a\nFUNC 1000\t10 0 b\nFUNC 2000 10 0 c\td\n", errors: 2, symbols: []question{{0x1000, ""}, {0x2000, "c\td@2000"}}},
	{name: "F05 blanks", text: "FUNC  1000   10  0   f\nFUNC 2000 10 0 \n FUNC 3000 10 0 g\nFUNC 4000 10 0 h \n", errors: 2,
		symbols: []question{{0x1000, "  f@1000"}, {0x2000, ""}, {0x3000, ""}, {0x4000, "h @4000"}}},
	{name: "F06 line ends", text: "FUNC 1000 10 0 a\r\n\r\n\nFUNC 2000 10 0 b\rFUNC 3000 10 0 c\r\r\nFUNC 4000 10 0 d",
		symbols: []question{{0x1000, "a@1000"}, {0x2000, "b@2000"}, {0x3000, "c@3000"}, {0x4000, "d@4000"}}},
	{name: "F07 numbers", text: "FUNC 0x1000 0X10 +0 a\nFUNC 2ABC 1 0 b\nFUNC -2 1 0 c\nFUNC ffffffffffffffff 1 0 d\nFUNC 12z 1 0 e\nFUNC 1ffffffffffffffff 1 0 f\n", errors: 3,
		symbols: []question{{0x1000, "a@1000"}, {0x2abc, "b@2abc"}, {0xfffffffffffffffe, "c@fffffffffffffffe"}}},
	{name: "1.4 mark", text: "FUNC m 1000 10 0 a\nFUNC x 2000 10 0 b\nFUNC m 3000 10 0\n", errors: 2, symbols: []question{{0x1000, "a@1000"}}},
	{name: "1.4 negative parameter size", text: "FUNC 1000 10 -5 a\nPUBLIC 1000 -5 b\n", errors: 2},
	{name: "1.5 text behind the fields, line 0, negative line", text: "FILE 1 f\nFUNC 1000 10 0 a\n1000 4 5 1 // x\n1004 4 0 1\n1008 4 -1 1\n100c 4 1 -1\n", errors: 2,
		symbols: []question{{0x1000, "a@1000 f:5"}, {0x1004, "a@1000 f:0"}, {0x1008, "a@1000"}}},
	{name: "F02 unknown records", text: "WHAT 1 2 3\nFILE\nFUNC\n\xef\xbb\xbfMODULE Linux x86 0 a\n", errors: 4},

	{name: "I01 INLINE without a function", text: "INLINE 0 1 2 3 1000 10\nFUNC 1000 10 0 a\n", crash: true, symbols: []question{{0x1000, "a@1000"}}},
	{name: "I01 INLINE behind a PUBLIC", text: "FUNC 1000 10 0 a\nPUBLIC 2000 0 p\nINLINE 0 1 2 3 1000 10\n", crash: true},
	{name: "I13 bad INLINE is no error", text: "INLINE 0\nFUNC 1000 10 0 a\nINLINE x 1 2 3 1000 10\nINLINE_ORIGIN x\n"},
	{name: "I09 I12 undefined origin and file", text: "FILE 1 f\nFUNC 1000 10 0 a\nINLINE 0 7 -1 9 1000 8\n1000 10 5 1\n",
		symbols: []question{{0x1000, "a@1000 f:7 {<name omitted>@1000 f:5}"}, {0x1008, "a@1000 f:5"}}},
	{name: "I05 nest level", text: "FILE 1 f\nINLINE_ORIGIN 1 o\nFUNC 1000 10 0 a\nINLINE 2 7 1 1 1000 8\nINLINE 1 8 1 1 1008 8\n1000 10 5 1\n",
		symbols: []question{{0x1000, "a@1000 f:5"}, {0x1008, "a@1000 f:8 {o@1008 f:5}"}}},
	{name: "I06 equal ranges: the later one is within", text: "FILE 1 f\nINLINE_ORIGIN 1 x\nINLINE_ORIGIN 2 y\nFUNC 1000 10 0 a\nINLINE 0 7 1 1 1000 8\nINLINE 0 8 1 2 1000 8\n1000 10 5 1\n",
		symbols: []question{{0x1000, "a@1000 f:7 {y@1000 f:5} {x@1000 f:8}"}}},
	{name: "I06 partial overlap: the later one is dropped", text: "FILE 1 f\nINLINE_ORIGIN 1 x\nINLINE_ORIGIN 2 y\nFUNC 1000 10 0 a\nINLINE 0 7 1 1 1000 8\nINLINE 0 8 1 2 1004 8\n1000 10 5 1\n",
		symbols: []question{{0x1004, "a@1000 f:7 {x@1000 f:5}"}, {0x1008, "a@1000 f:5"}}},
	{name: "I07 a range larger than its parent becomes the parent", text: "FILE 1 f\nINLINE_ORIGIN 1 x\nINLINE_ORIGIN 2 y\nFUNC 1000 10 0 a\nINLINE 0 7 1 1 1004 4\nINLINE 1 8 1 2 1000 10\n1000 10 5 1\n",
		symbols: []question{{0x1004, "a@1000 f:8 {x@1004 f:5} {y@1000 f:7}"}}},
	{name: "I08 empty range", text: "FILE 1 f\nINLINE_ORIGIN 1 x\nFUNC 1000 10 0 a\nINLINE 0 7 1 1 1000 0\n1000 10 5 1\n", symbols: []question{{0x1000, "a@1000 f:5"}}},
	{name: "I02 old form", text: "FILE 1 f\nINLINE_ORIGIN 3 1 x y\nFUNC 1000 10 0 a\nINLINE 0 7 3 1000 8\n1000 10 5 1\n",
		symbols: []question{{0x1000, "a@1000 f:7 {x y@1000 f:5}"}}},
	{name: "I02 a missing file field shifts the rest", text: "FILE 1 f\nINLINE_ORIGIN 3 x\nFUNC 1000 10 0 a\nINLINE 0 7 1 3 1000\n1000 10 5 1\n", // read as origin 1, range [3, 0x1003)
		symbols: []question{{0x1000, "a@1000 f:7 {<name omitted>@3 f:5}"}}},
	{name: "I11 origin names", text: "FILE 1 f\nINLINE_ORIGIN 1 -[NSObject foo]\nINLINE_ORIGIN 2 42\nINLINE_ORIGIN 3 - x\nINLINE_ORIGIN 4 -1 old\nINLINE_ORIGIN 5 -2 old\n" +
		"FUNC 1000 10 0 a\nINLINE 0 7 1 1 1000 1\nINLINE 0 7 1 2 1001 1\nINLINE 0 7 1 3 1002 1\nINLINE 0 7 1 4 1003 1\nINLINE 0 7 1 5 1004 1\n",
		symbols: []question{{0x1000, "a@1000 f:7 {-[NSObject foo]@1000 :0}"}, {0x1001, "a@1000 f:7 {<name omitted>@1001 :0}"},
			{0x1002, "a@1000 f:7 {<name omitted>@1002 :0}"}, {0x1003, "a@1000 f:7 {old@1003 :0}"}, {0x1004, "a@1000 f:7 {<name omitted>@1004 :0}"}}},
	{name: "1.8 positions move outwards", text: "FILE 1 a.cpp\nFILE 2 b.cpp\nFILE 3 c.cpp\nINLINE_ORIGIN 1 foo\nINLINE_ORIGIN 2 bar\nINLINE_ORIGIN 3 func\nFUNC 15b30 6cf 0 main\n" +
		"INLINE 0 42 1 1 161b6 c\nINLINE 1 39 2 2 161b6 c\nINLINE 2 32 3 3 161b6 c\n161b6 c 27 3\n",
		symbols: []question{{0x161b6, "main@15b30 a.cpp:42 {func@161b6 c.cpp:27} {bar@161b6 c.cpp:32} {foo@161b6 b.cpp:39}"}}},

	{name: "C01 a record without rules is an error", text: "STACK CFI INIT 1000 10 \nSTACK CFI INIT 2000 10\nSTACK CFI 2000 \nSTACK CFI 2000\n", errors: 4, cfi: []question{{0x1000, ""}}},
	{name: "C02 bad numbers count as 0", text: "STACK CFI INIT zz 10 .cfa: 1 .ra: 2\nSTACK CFI yy .cfa: 3\n", cfi: []question{{0, ".cfa: 3 (2) .ra: 2 (1)"}}},
	{name: "C03 of overlapping INITs the first stays, the other's deltas apply", text: "STACK CFI INIT 1000 20 .cfa: 1 .ra: 2\nSTACK CFI INIT 1008 8 .cfa: 3 .ra: 4\nSTACK CFI 100a .cfa: 5\n",
		cfi: []question{{0x1009, ".cfa: 1 (1) .ra: 2 (1)"}, {0x100a, ".cfa: 5 (3) .ra: 2 (1)"}, {0x1018, ".cfa: 5 (3) .ra: 2 (1)"}}},
	{name: "C04 empty INIT", text: "STACK CFI INIT 1000 0 .cfa: 1 .ra: 2\n", cfi: []question{{0x1000, ""}}},
	{name: "C05 a delta at an address again replaces it whole", text: "STACK CFI INIT 1000 20 .cfa: 1 .ra: 2\nSTACK CFI 1004 .cfa: 3 $ebx: 4\nSTACK CFI 1004 .ra: 5\n",
		cfi: []question{{0x1004, ".cfa: 1 (1) .ra: 5 (3)"}}},
	{name: "C06 a delta outside its INIT applies to the one that covers it", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2\nSTACK CFI 1018 .cfa: 9\nSTACK CFI INIT 1010 10 .cfa: 3 .ra: 4\n",
		cfi: []question{{0x1000, ".cfa: 1 (1) .ra: 2 (1)"}, {0x1017, ".cfa: 3 (3) .ra: 4 (3)"}, {0x1018, ".cfa: 9 (2) .ra: 4 (3)"}}},
	{name: "C07 a delta at the start of its INIT applies", text: "STACK CFI INIT 1000 20 .cfa: $rsp .ra: .cfa 8 - ^\nSTACK CFI 1000 .cfa: $rsp 40 +\n",
		cfi: []question{{0x1000, ".cfa: $rsp 40 + (2) .ra: .cfa 8 - ^ (1)"}}},
	{name: "C08 order in the file does not matter", text: "STACK CFI 1008 .cfa: 5\nSTACK CFI INIT 1000 20 .cfa: 1 .ra: 2\nSTACK CFI 1010 .cfa: 7\nSTACK CFI 100c .cfa: 6\n",
		cfi: []question{{0x1007, ".cfa: 1 (2) .ra: 2 (2)"}, {0x1008, ".cfa: 5 (1) .ra: 2 (2)"}, {0x100c, ".cfa: 6 (4) .ra: 2 (2)"}, {0x101f, ".cfa: 7 (3) .ra: 2 (2)"}, {0x1020, ""}}},
	{name: "C09 an INIT that does not parse", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra:\nSTACK CFI INIT 2000 10 1 .cfa: 1 .ra: 2\nSTACK CFI INIT 3000 10 .cfa: 1 : .ra: 2\nSTACK CFI INIT 4000 10 .cfa: .ra: 2\n",
		cfi: []question{{0x1000, "unusable: no expression for .ra"}, {0x2000, "unusable: rules do not begin with a register"},
			{0x3000, "unusable: a colon without a register before it"}, {0x4000, "unusable: no expression for .cfa"}}},
	{name: "C09 a delta that does not parse: rules before the defect count, later deltas too", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2\nSTACK CFI 1004 .cfa: 3 .ra: $ebx: 4\nSTACK CFI 1008 $ebx: 5\n",
		cfi: []question{{0x1004, ".cfa: 3 (2) .ra: 2 (1)"}, {0x1008, ".cfa: 3 (2) .ra: 2 (1) $ebx: 5 (3)"}}},
	{name: "C10 a name without its colon is part of the expression", text: "STACK CFI INIT 1000 10 .cfa: $esp .ra 0\n", cfi: []question{{0x1000, "unusable: no rule for .ra"}}},
	{name: "C11 no .cfa", text: "STACK CFI INIT 1000 10 .ra: $rip\nSTACK CFI 1004 .cfa: 1\n", cfi: []question{{0x1000, "unusable: no rule for .cfa"}, {0x1004, ".cfa: 1 (2) .ra: $rip (1)"}}},
	{name: "C30 the later rule in a text counts", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2 .cfa: 3\n", cfi: []question{{0x1000, ".cfa: 3 (1) .ra: 2 (1)"}}},
	{name: "2.2 white space", text: "STACK CFI INIT 1000 10  \t.cfa:\t$esp   4\t+  .ra: 2\t\n", cfi: []question{{0x1000, ".cfa: $esp   4\t+ (1) .ra: 2 (1)"}}},
	{name: "G dollar counts", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2 $eax: 3 eax: 4\n", cfi: []question{{0x1000, ".cfa: 1 (1) .ra: 2 (1) $eax: 3 (1) eax: 4 (1)"}}},

	{name: "F14 bare STACK CFI takes the next line and loses the rest", text: "FUNC 1000 10 0 a\nSTACK CFI\nSTACK CFI INIT 2000 10 .cfa: 1 .ra: 2\nFUNC 3000 10 0 b\n", errors: 1,
		symbols: []question{{0x1000, "a@1000"}, {0x3000, ""}}, cfi: []question{{0x2000, ""}}},
	{name: "F14 bare STACK WIN reads the words that follow", text: "STACK WIN\n4 1000 10 0 0 8 0 0 0 1 prog\nFUNC 1000 10 0 a\n", errors: 1,
		win: []question{{0x1000, `type 4 line 1 1000+10 params 8 "prog" false`}}},
	{name: "F14 STACK alone", text: "STACK \nSTACK\nSTACK XYZ 1\nSTACK CFI \nSTACK WIN \n", errors: 5},

	{name: "W01 W02 too few fields, unknown type", text: "STACK WIN 4 1000 10 0 0 0 0 0 0 1\nSTACK WIN 5 1000 10 0 0 0 0 0 0 1 p\nSTACK WIN 4 1000 10 0 0 0 0 0 0 1 \n", errors: 3, win: []question{{0x1000, ""}}},
	{name: "W03 types 1 to 3", text: "STACK WIN 3 1000 10 0 0 0 0 0 0 1 p\n", win: []question{{0x1000, ""}}},
	{name: "W05 bad numbers count as 0", text: "STACK WIN 4 1000 10 zz 0 yy 0 0 0 1 p\nSTACK WIN z 2000 10 0 0 0 0 0 0 0 1\n",
		win: []question{{0x1000, `type 4 line 1 1000+10 params 0 "p" false`}, {0x2000, `type 0 line 2 2000+10 params 0 "" true`}}},
	{name: "W04 nested: the innermost", text: "STACK WIN 4 1000 100 1 0 4 0 0 0 1 outer\nSTACK WIN 4 1040 10 2 0 8 0 0 0 1 inner\nSTACK WIN 4 10f0 20 2 0 8 0 0 0 1 crossing\nSTACK WIN 4 1040 10 2 0 8 0 0 0 1 again\n",
		win: []question{{0x1000, `type 4 line 1 1000+100 params 4 "outer" false`}, {0x1040, `type 4 line 2 1040+10 params 8 "inner" false`},
			{0x1050, `type 4 line 1 1000+100 params 4 "outer" false`}, {0x1100, ""}}},
	{name: "W12 type 4 before type 0, parameters of the FUNC last", text: "FUNC 1000 30 c f\nSTACK WIN 0 1000 20 0 0 4 0 0 0 0 1\nSTACK WIN 4 1000 10 0 0 8 0 0 0 1 p\n",
		win: []question{{0x1000, `type 4 line 3 1000+10 params 8 "p" false`}, {0x1010, `type 0 line 2 1000+20 params 4 "" true`}, {0x1020, "params c"}, {0x1030, ""}}},
	{name: "S16 parameter size of a PUBLIC", text: "PUBLIC 1000 8 p\n", win: []question{{0x1000, ""}}},
	{name: "W06 flag and type", text: "STACK WIN 4 400 200 3 3 0 0 0 0 0 1\nSTACK WIN 0 600 10 0 0 0 0 0 0 1 prog\n",
		win: []question{{0x400, `type 4 line 1 400+200 params 0 "" true`}, {0x600, `type 0 line 2 600+10 params 0 "prog" false`}}},
}

func TestGoogleReader(t *testing.T) {
	for _, c := range googleCases {
		t.Run(c.name, func(t *testing.T) { c.run(t, Options{}) })
	}
}

// The parser tests of Google's basic_source_line_resolver_unittest: which records are read and which are errors.
func TestGoogleRecords(t *testing.T) {
	const fn = "FUNC 1 1 0 f\n"
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"FILE 1 file name", true}, {"FILE 0 file name", true},
		{"FILE 1", false}, {"FILE 1 ", false}, {"FILE x1 name", false}, {"FILE 123123123123123123123123 name", false}, {"FILE -2 name", false},
		{"FUNC 1 2 3 function name", true}, {"FUNC a1 a2 a3 function name", true}, {"FUNC 0 0 0 function name", true}, {"FUNC m a1 a2 a3 function name", true},
		{"FUNC 1 2 3 ", false}, {"FUNC 1z 2 3 function name", false}, {"FUNC 123123123123123123123123123 2 3 f", false}, {"FUNC 1 z2 3 f", false},
		{"FUNC 1 123123123123123123123123123 3 f", false}, {"FUNC 1 2 3z f", false}, {"FUNC 1 2 123123123123123123123123123 f", false}, {"FUNC 1 2 -5 f", false}, {"FUNC x 1 2 5 f", false},
		{fn + "1 2 3 4", true}, {fn + "a1 a2 3 4 // some comment", true}, {fn + "a1 a2 0 4", true},
		{fn + "1 2 3", false}, {fn + "1z 2 3 4", false}, {fn + "123123123123123123123123123 2 3 4", false}, {fn + "1 z2 3 4", false}, {fn + "1 123123123123123123123123123 3 4", false},
		{fn + "1 2 z3 4", false}, {fn + "1 2 -1 4", false}, {fn + "1 2 123123123123123123123123123 4", false}, {fn + "1 2 3 z4", false}, {fn + "1 2 3 123123123123123123123123123", false}, {fn + "1 2 3 -4", false},
		{"PUBLIC 1 2 3", true}, {"PUBLIC a1 a2 function name", true}, {"PUBLIC 0 a2 function name", true}, {"PUBLIC m a1 a2 function name", true},
		{"PUBLIC 5 ", false}, {"PUBLIC 1z 2 n", false}, {"PUBLIC 123123123123123123123123 2 n", false}, {"PUBLIC 1 z2 n", false}, {"PUBLIC 1 123123123123123123123123123 n", false},
		{"PUBLIC 1 -5 n", false}, {"PUBLIC x 1 5 n", false},
	} {
		corrupt, errs := Load([]byte(c.text), Options{}).Corrupt()
		if corrupt == c.ok {
			t.Errorf("%q: errors %v", c.text, errs)
		}
	}
	read := func(text string, r *Record) bool {
		if strings.HasPrefix(text, "INLINE_") {
			return googleOrigin([]byte(text), 0, len(text), r)
		}
		return googleInline([]byte(text), 0, len(text), r, nil)
	}
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"INLINE_ORIGIN 1 function name", true}, {"INLINE_ORIGIN 1 2 function name", true}, {"INLINE_ORIGIN 1 -1 function name", true}, {"INLINE_ORIGIN 0 0 name", true},
		{"INLINE_ORIGIN 1 ", false}, {"INLINE_ORIGIN x1 name", false}, {"INLINE_ORIGIN 123123123123123123123123 name", false}, {"INLINE_ORIGIN -1 name", false}, {"INLINE_ORIGIN 1 -2 name", false},
		{"INLINE 0 1 2 3 4", true}, {"INLINE 0 1 2 3 a1 a2", true}, {"INLINE 0 1 -1 3 a1 a2 b1 b2", true}, {"INLINE 3 4 5 a1 a2 b1 b2", true},
		{"INLINE 0 1 2 3", false}, {"INLINE x 1 2 3 4 5", false}, {"INLINE 0 -1 2 3 4 5", false}, {"INLINE 0 1 -2 3 4 5", false}, {"INLINE 0 1 2 -3 4 5", false},
		{"INLINE 0 1 2 3 4z 5", false}, {"INLINE 0 1 2 3 4 z", false},
	} {
		var r Record
		if ok := read(c.text, &r); ok != c.ok {
			t.Errorf("%q: %v", c.text, ok)
		}
	}
}

// F01: 100 errors are read past, the 101st ends the reading.
func TestErrorBudget(t *testing.T) {
	for n, want := range map[int]string{100: "last@5000", 101: ""} {
		text := strings.Repeat("JUNK\n", n) + "FUNC 5000 10 0 last\n"
		m := Load([]byte(text), Options{})
		if got := look(m, 0x5000); got != want {
			t.Errorf("behind %d errors: %q", n, got)
		}
		_, errs := m.Corrupt()
		if len(errs) != n || errs[0].Line != 1 || errs[n-1].Line != n {
			t.Errorf("%d errors, want %d", len(errs), n)
		}
		if stopped := m.StoppedAt(); stopped != map[int]int{100: 0, 101: 101}[n] {
			t.Errorf("stopped at %d", stopped)
		}
	}
	inlines := "FUNC 1000 10 0 a\n" + strings.Repeat("INLINE x\n", 500) + "FUNC 5000 10 0 last\n" // I13: not counted
	if got := look(Load([]byte(inlines), Options{}), 0x5000); got != "last@5000" {
		t.Errorf("behind 500 bad INLINE records: %q", got)
	}
	publics := strings.Repeat("PUBLIC 1000 0 p\n", 103) + "FUNC 5000 10 0 last\n" // each repeat is an error
	if got := look(Load([]byte(publics), Options{}), 0x5000); got != "p@1000" {
		t.Errorf("behind 103 PUBLICs at one address: %q", got)
	}
	// A PUBLIC repeated far from the first, out of order.
	mixed := "PUBLIC 3000 0 a\nPUBLIC 1000 0 b\nPUBLIC 2000 0 c\nPUBLIC 3000 0 d\n"
	if _, errs := Load([]byte(mixed), Options{}).Corrupt(); len(errs) != 1 || errs[0].Line != 4 {
		t.Errorf("errors %v, want one in line 4", errs)
	}
}

// I04: Google's tokenizer stops at 512 words, which is 254 ranges; rust-minidump has no bound.
func TestInlineRangeLimit(t *testing.T) {
	var b strings.Builder
	b.WriteString("FILE 0 f\nINLINE_ORIGIN 0 o\nFUNC 0 10000 0 a\nINLINE 0 7 0 0")
	for i := range 256 {
		fmt.Fprintf(&b, " %x 1", 2*i)
	}
	b.WriteString("\n0 10000 5 0\n")
	google, rust := Load([]byte(b.String()), Options{}), Load([]byte(b.String()), Options{Policy: RustMinidump})
	for i, want := range map[uint64]int{0: 1, 253: 1, 254: 0, 255: 0} {
		if got := len(google.Inlines(2 * i)); got != want {
			t.Errorf("breakpad: range %d: %d inlined calls, want %d", i, got, want)
		}
		if got := len(rust.Inlines(2 * i)); got != 1 {
			t.Errorf("rust-minidump: range %d: %d inlined calls", i, got)
		}
	}
}

// What is an error to Google's reader is known by line and by the ordinal it prints, which leaves blank lines out.
func TestLoadErrors(t *testing.T) {
	m := Load([]byte("MODULE Linux x86 0 a\n\n\r\nFILE x\nFUNC 1000 10 0 a\nFUNC 1000\n"), Options{})
	_, errs := m.Corrupt()
	want := []LoadError{{4, 2, "ParseFile on buffer failed"}, {6, 4, "ParseFunction failed"}}
	if len(errs) != 2 || errs[0] != want[0] || errs[1] != want[1] {
		t.Errorf("errors %v, want %v", errs, want)
	}
	if h := m.Header(); h.Name != "a" || h.Arch != "x86" || h.Line != 1 {
		t.Errorf("header %v", h)
	}
	if corrupt, _ := Load(nil, Options{}).Corrupt(); corrupt {
		t.Error("an empty file is a module without symbols")
	}
}

// What rust-minidump was seen to do with conflicts.
var rustCases = []lookupCase{
	{name: "FUNC overlap: the lowest start, then the lowest end", text: "FUNC 1040 10 0 small\nFUNC 1000 100 0 big\nFUNC 2000 20 0 long\nFUNC 2000 10 0 short\n",
		symbols: []question{{0x1000, "big@1000"}, {0x1040, "big@1000"}, {0x2000, "short@2000"}, {0x2010, ""}}},
	{name: "CFI INIT overlap: the loser's deltas are gone", text: "STACK CFI INIT 1000 20 .cfa: 1 .ra: 2\nSTACK CFI INIT 1008 8 .cfa: 3 .ra: 4\nSTACK CFI 100a .cfa: 5\n",
		cfi: []question{{0x100a, ".cfa: 1 (1) .ra: 2 (1)"}}},
	{name: "two deltas at one address: both, in the order of their text", text: "STACK CFI INIT 1000 20 .cfa: 1 .ra: 2\nSTACK CFI 1004 .ra: 6 .cfa: 5\nSTACK CFI 1004 .cfa: 3 $ebx: 4\n",
		cfi: []question{{0x1004, ".cfa: 5 (2) .ra: 6 (2) $ebx: 4 (3)"}}},
	{name: "delta behind its INIT is dead", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2\nSTACK CFI 1018 .cfa: 9\nSTACK CFI INIT 1010 10 .cfa: 3 .ra: 4\n",
		cfi: []question{{0x1018, ".cfa: 3 (3) .ra: 4 (3)"}}},
	{name: "a delta that does not parse spoils all that follows", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2\nSTACK CFI 1004 .cfa: 3 .ra:\nSTACK CFI 1008 $ebx: 5\n",
		cfi: []question{{0x1003, ".cfa: 1 (1) .ra: 2 (1)"}, {0x1004, "unusable: no expression for .ra"}, {0x1008, "unusable: no expression for .ra"}}},
	{name: "a delta without rules, behind a blank, too", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2\nSTACK CFI 1004 \n",
		cfi: []question{{0x1003, ".cfa: 1 (1) .ra: 2 (1)"}, {0x1004, "unusable: rules do not begin with a register"}}},
	{name: "the dollar does not count", text: "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2 $eax: 3 eax: 4\n", cfi: []question{{0x1000, ".cfa: 1 (1) .ra: 2 (1) eax: 4 (1)"}}},
	{name: "line overlap: lowest (start, end)", text: "FILE 1 f\nFUNC 1000 20 0 a\n1008 10 6 1\n1000 10 5 1\n", symbols: []question{{0x1008, "a@1000 f:5"}, {0x1010, "a@1000"}}},
	{name: "PUBLIC twice: the greatest name", text: "PUBLIC 1000 0 b\nPUBLIC 1000 0 c\nPUBLIC 1000 0 a\n", symbols: []question{{0x1000, "c@1000"}}},
	{name: "PUBLIC at 0 counts", text: "PUBLIC 0 0 z\n", symbols: []question{{8, "z@0"}}},
	{name: "FUNC before PUBLIC", text: "PUBLIC 1000 0 p\nFUNC 1000 10 0 f\n", symbols: []question{{0x1000, "f@1000"}, {0x1010, ""}}},
	{name: "FILE and INLINE_ORIGIN twice: the last", text: "FILE 1 a\nFILE 1 b\nINLINE_ORIGIN 1 x\nINLINE_ORIGIN 1 y\nFUNC 1000 10 0 f\nINLINE 0 3 1 1 1000 8\n1000 10 5 1\n",
		symbols: []question{{0x1000, "f@1000 b:3 {y@1000 b:5}"}, {0x1008, "f@1000 b:5"}}},
	{name: "INLINE with an unknown origin is left out", text: "FILE 1 a\nFUNC 1000 10 0 f\nINLINE 0 3 1 1 1000 8\n1000 10 5 1\n", symbols: []question{{0x1000, "f@1000 a:3"}}},
	{name: "a missing nest level stops the chain", text: "FILE 1 a\nINLINE_ORIGIN 1 x\nFUNC 1000 10 0 f\nINLINE 1 3 1 1 1000 8\n1000 10 5 1\n", symbols: []question{{0x1000, "f@1000 a:5"}}},
	{name: "STACK WIN: a nested record ends its parent", text: "STACK WIN 4 1000 100 1 0 4 0 0 0 1 outer\nSTACK WIN 4 1040 10 2 0 8 0 0 0 1 inner\n",
		win: []question{{0x1000, `type 4 line 1 1000+40 params 4 "outer" false`}, {0x1040, `type 4 line 2 1040+10 params 8 "inner" false`}, {0x1050, ""}}},
	{name: "STACK WIN: order in the file matters", text: "STACK WIN 4 1040 10 2 0 8 0 0 0 1 inner\nSTACK WIN 4 1000 100 1 0 4 0 0 0 1 outer\n",
		win: []question{{0x1000, ""}, {0x1040, `type 4 line 1 1040+10 params 8 "inner" false`}}},
	{name: "STACK WIN: suffix chains", text: "STACK WIN 4 0 10 0 0 0 0 0 0 1 a\nSTACK WIN 4 1 f 0 0 0 0 0 0 1 b\nSTACK WIN 4 4 c 0 0 0 0 0 0 1 c\n",
		win: []question{{0, `type 4 line 1 0+1 params 0 "a" false`}, {3, `type 4 line 2 1+3 params 0 "b" false`}, {15, `type 4 line 3 4+c params 0 "c" false`}}},
	{name: "STACK WIN whose type and flag disagree is dropped", text: "STACK WIN 4 1000 10 0 0 0 0 0 0 0 1\nSTACK WIN 0 2000 10 0 0 0 0 0 0 1 p\nSTACK WIN 3 3000 10 0 0 0 0 0 0 0 1\nSTACK WIN a 3000 10 0 0 0 0 0 0 0 1\n",
		win: []question{{0x1000, ""}, {0x2000, ""}, {0x3000, ""}}},
	{name: "tabs, case, empty names", text: "FUNC\t1000\tA 0 a\nFUNC 2000 10 0 \nPUBLIC m 3000  0   x\n", symbols: []question{{0x1009, "a@1000"}, {0x2000, "@2000"}, {0x3000, "x@3000"}}},
	{name: "CR CR LF and blank lines at top level", text: "\r\n\nFUNC 1000 10 0 a\r\r\n1000 10 1 0\r\n\n\nFILE 0 f\n", symbols: []question{{0x1000, "a@1000 f:1"}}},
	{name: "NUL in a name", text: "FUNC 1000 10 0 a\x00b\n", symbols: []question{{0x1000, "a\x00b@1000"}}},
	{name: "no MODULE", text: "FUNC 1000 10 0 a\n", symbols: []question{{0x1000, "a@1000"}}},
	{name: "the end must be an address", text: "FUNC fffffffffffffff0 10 0 a\nFUNC ffffffffffffff00 10 0 b\n", symbols: []question{{0xfffffffffffffff8, ""}, {0xffffffffffffff00, "b@ffffffffffffff00"}}},
}

func TestRustReader(t *testing.T) {
	for _, c := range rustCases {
		t.Run(c.name, func(t *testing.T) { c.run(t, Options{Policy: RustMinidump}) })
	}
}

// The table of inputs for which rust-minidump refuses the file, with the line; 0 = it does not.
func TestRustRejects(t *testing.T) {
	const fn = "FUNC 1000 10 0 a\n"
	for _, c := range []struct {
		text string
		line int
	}{
		{fn + "WHAT 1 2\n", 2}, {" FILE 1 a\n", 1}, {"junk\n", 1}, {fn + "1000 10 1 1", 2}, {"", 1}, {"\xef\xbb\xbfMODULE Linux x86 0 a\n", 1},
		{"M\x00O\x00D\x00\n\x00", 1}, {fn + "MODULE Linux x86 0 a\n", 2}, {"MODULE Linux x86 0 a\nMODULE Linux x86 0 a\n", 2}, {fn, 0},
		{"MODULE Linux x86 0z a\n", 1}, {"MODULE Linux x86 0\n", 1}, {"MODULE Linux x86 0 a\n", 0}, {"FUNC 0x1000 10 0 a\n", 1},
		{"FUNC 1000 100000000 0 a\n", 1}, {fn + "1000 100000000 1 1\n", 2}, {"PUBLIC 1000 100000000 a\n", 1}, {"STACK CFI INIT 1000 100000000 .cfa: 1\n", 1},
		{"FUNC 10000000000000000 10 0 a\n", 1}, {fn + "1000 10 4294967296 1\n", 2}, {fn + "1000 10 00000000001 1\n", 2}, {"FILE 4294967295 a\n", 0},
		{"FUNC\t1000 10 0 a\n", 0}, {"FUNC 1000 10 0\n", 1}, {"FUNC 1000 10 0 \n", 0}, {"FILE 1\n", 1}, {"INLINE_ORIGIN 1\n", 1}, {"STACK CFI INIT 1000 10 .cfa: 1\nSTACK CFI 1000\n", 2},
		{"STACK CFI INIT 1000 10 .cfa: 1\nSTACK CFI 1000 \n", 0}, {fn + "1000 10 -1 1\n", 2}, {"FILE -1 a\n", 1}, {fn + "INLINE 0 1 -1 1 1000 10\n", 2},
		{fn + "INLINE 0 1 1 1000 10\n", 2}, {"INLINE_ORIGIN 1 2 old\n", 0}, {"INLINE 0 1 1 1 1000 10\n", 1}, {fn + "PUBLIC 2000 0 p\nINLINE 0 1 1 1 1000 10\n", 3},
		{"STACK CFI INIT zz 10 .cfa: 1\n", 1}, {"STACK CFI 1000 .cfa: 1\n", 1}, {"STACK CFI INIT 1000 10 .cfa: 1\nFILE 1 a\nSTACK CFI 1004 .cfa: 1\n", 3},
		{"1000 10 1 1\n", 1}, {fn + "FILE 1 a\n1000 10 1 1\n", 3}, {fn + "\n1000 10 1 1\n", 3}, {fn + "\nFILE 1 a\n", 0}, {"FUNC 1000 10 0 a\xff\n", 1}, {"INFO \xff\n", 0},
		{"INFO URL \xff\n", 1}, {"FUNC 1000 10 0 a\rb\n", 1}, {"STACK WIN 4 1000 10 0 0 0 0 0 0 1\n", 1}, {"STACK WIN 04 1000 10 0 0 0 0 0 0 1 p\n", 1}, {"STACK WIN 4 1000 10 0 0 0 0 0 0 a p\n", 1},
		{"INFO\n", 1}, {"INFO x\n", 0}, {"STACK CFI\n", 1}, {"   \n", 1}, {fn + "1000 10 1 1 // x\n", 2}, {fn + "INLINE 0 1 1 1 1000 10 \n", 2},
	} {
		m := Load([]byte(c.text), Options{Policy: RustMinidump})
		err := m.Rejected()
		switch e, ok := err.(*LoadError); {
		case c.line == 0 && err != nil:
			t.Errorf("%q: %v", c.text, err)
		case c.line > 0 && !ok:
			t.Errorf("%q is accepted", c.text)
		case c.line > 0 && e.Line != c.line:
			t.Errorf("%q: %v, want line %d", c.text, err, c.line)
		}
		if err != nil && (look(m, 0x1000) != "" || m.CFI(0x1000) != nil) {
			t.Errorf("%q: a rejected file has no symbols", c.text)
		}
	}
}

// A line of 160 KiB and more is dropped, and parsing goes on behind it.
func TestRustLongLine(t *testing.T) {
	text := "FUNC 1000 10 0 " + strings.Repeat("x", maxRustLine) + "\nFUNC 2000 10 0 a\n" + "JUNK" + strings.Repeat("x", maxRustLine) + "\n2000 10 1 1\nFILE 1 f\n"
	m := Load([]byte(text), Options{Policy: RustMinidump})
	if err := m.Rejected(); err != nil {
		t.Fatal(err)
	}
	if got := look(m, 0x1000); got != "" {
		t.Errorf("found %.20q", got)
	}
	if got := look(m, 0x2000); got != "a@2000 f:1" {
		t.Errorf("found %q", got)
	}
}

// The accessors beside Lookup tell the same.
func TestAccessors(t *testing.T) {
	text := "MODULE Linux x86 0 a\nFILE 3 f.c\nINLINE_ORIGIN 2 in\nFUNC m 1000 20 8 fn name\nINLINE 0 9 3 2 1000 4\n1000 8 5 3\n1008 8 6 3\nPUBLIC m 3000 4 pub\n" +
		"STACK CFI INIT 1000 20 .cfa: $esp 4 + .ra: .cfa -4 + ^\n"
	for _, p := range []Policy{Breakpad, RustMinidump} {
		m := Load([]byte(text), Options{Policy: p})
		f, ok := m.Func(0x101f)
		if !ok || f.Name != "fn name" || f.Addr != 0x1000 || f.Size != 0x20 || f.ParamSize != 8 || !f.Multiple || f.Line != 4 {
			t.Errorf("Func: %v %v", f, ok)
		}
		if m.Funcs() != 1 || m.FuncAt(0) != f {
			t.Errorf("FuncAt: %v", m.FuncAt(0))
		}
		if l := m.Lines(f); len(l) != 2 || l[0] != (SourceLine{0x1000, 8, 5, 3, 6}) || l[1] != (SourceLine{0x1008, 8, 6, 3, 7}) {
			t.Errorf("Lines: %v", l)
		}
		if l, ok := m.LineAt(0x100f); !ok || l.Number != 6 || l.Line != 7 {
			t.Errorf("LineAt: %v", l)
		}
		if _, ok := m.LineAt(0x1010); ok {
			t.Error("LineAt in a hole")
		}
		if q, ok := m.Public(0x3001); !ok || q.Name != "pub" || q.Addr != 0x3000 || q.ParamSize != 4 || !q.Multiple || q.Line != 8 {
			t.Errorf("Public: %v %v", q, ok)
		}
		in := m.Inlines(0x1000)
		if len(in) != 1 || in[0].Name != "in" || in[0].CallFile != "f.c" || in[0].CallNumber != 9 || in[0].Number != 5 || in[0].Line != 5 || in[0].LineBase != 0x1000 {
			t.Errorf("Inlines: %v", in)
		}
		if name, ok := m.File(3); !ok || name != "f.c" {
			t.Errorf("File: %q", name)
		}
		if _, ok := m.File(4); ok {
			t.Error("File(4)")
		}
		c := m.CFI(0x1008)
		r, _ := c.Rule(".ra")
		if got := string(text[r.ExprSpan.Off:r.ExprSpan.End]); r.Line != 9 || r.Expr != got || got != ".cfa -4 + ^" || string(text[r.NameSpan.Off:r.NameSpan.End]) != ".ra" {
			t.Errorf("rule %v at %q", r, got)
		}
		if !m.HasCFI(0x101f) || m.HasCFI(0x1020) {
			t.Error("HasCFI")
		}
		for addr, want := range map[uint64]bool{0xfff: false, 0x1000: true, 0x1020: false, 0x3000: true} {
			if m.Named(addr) != want {
				t.Errorf("Named(%#x) = %v", addr, !want)
			}
		}
	}
}

// Ids far apart do not cost memory, and ids move from the map to the slice without getting lost.
func TestIDTable(t *testing.T) {
	for _, replace := range []bool{false, true} {
		var table idTable
		want := map[int64]uint32{}
		for i, id := range []int64{0, 1 << 40, 5, 70000, 1 << 31, 2, 5, 70000, 1030, 1500, 1 << 40, -3, -3, 2000, 64, 0} {
			table.set(id, uint32(100+i), replace)
			if _, again := want[id]; !again || replace {
				want[id] = uint32(100 + i)
			}
			for id, off := range want {
				if got, ok := table.get(id); !ok || got != off {
					t.Fatalf("id %d: %d %v, want %d", id, got, ok, off)
				}
			}
		}
		if _, ok := table.get(3); ok {
			t.Error("id 3 was never set")
		}
		if len(table.dense) > 1<<16 {
			t.Errorf("%d entries for a few ids", len(table.dense))
		}
	}
}

// Lookups from several goroutines fill the caches at the same time (run with -race).
func TestConcurrentLookups(t *testing.T) {
	var b strings.Builder
	b.WriteString("FILE 0 f\n")
	const n = 2 * cached
	for i := range n {
		fmt.Fprintf(&b, "FUNC %x 10 0 f%d\n%x 10 %d 0\n", 16*i, i, 16*i, i)
	}
	for i := range n {
		fmt.Fprintf(&b, "STACK CFI INIT %x 10 .cfa: %d .ra: 2\n", 16*i, i)
	}
	m := Load([]byte(b.String()), Options{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range n {
				k := (i*7 + g*13) % n
				want := fmt.Sprintf("f%d@%x f:%d", k, 16*k, k)
				if got := look(m, uint64(16*k+3)); got != want {
					t.Errorf("%q, want %q", got, want)
				}
				if r, _ := m.CFI(uint64(16 * k)).Rule(".cfa"); r.Expr != fmt.Sprint(k) {
					t.Errorf(".cfa %s, want %d", r.Expr, k)
				}
			}
		})
	}
	wg.Wait()
}
