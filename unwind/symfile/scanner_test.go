package symfile

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// scanAll returns copies of all records of a text.
func scanAll(data []byte) []Record { return scanPart(data, Chunk{0, len(data), 1}, false) }

// scanPart scans one chunk; slow forbids the short path.
func scanPart(data []byte, c Chunk, slow bool) []Record {
	var s Scanner
	s.Reset(data, c.From, c.To, c.Line)
	if slow {
		s.fastEnd = 0
	}
	var out []Record
	for s.Next() {
		out = append(out, settled(s.Record()))
	}
	return out
}

// settled copies a record without what is stale for its kind.
func settled(r *Record) Record {
	c := Record{Kind: r.Kind, Usable: r.Usable, Line: r.Line, Span: r.Span, EOL: r.EOL}
	c.Problems = append(c.Problems, r.Problems...)
	switch r.Kind {
	case Module, Info:
		c.Text = r.Text
	case File:
		c.FileID, c.Text = r.FileID, r.Text
	case InlineOrigin:
		c.OldForm, c.Origin, c.Text = r.OldForm, r.Origin, r.Text
		if r.OldForm {
			c.FileID = r.FileID
		}
	case Func:
		c.Multiple, c.Addr, c.Size, c.ParamSize, c.Text = r.Multiple, r.Addr, r.Size, r.ParamSize, r.Text
	case Public:
		c.Multiple, c.Addr, c.ParamSize, c.Text = r.Multiple, r.Addr, r.ParamSize, r.Text
	case Inline:
		c.OldForm, c.Nest, c.Number, c.FileID, c.Origin = r.OldForm, r.Nest, r.Number, r.FileID, r.Origin
		c.Addr, c.Size, c.Text = r.Addr, r.Size, r.Text
	case Line:
		c.Addr, c.Size, c.Number, c.FileID = r.Addr, r.Size, r.Number, r.FileID
	case StackWin:
		c.Addr, c.Size, c.ParamSize, c.Win, c.Text = r.Addr, r.Size, r.ParamSize, r.Win, r.Text
	case StackCFIInit:
		c.Addr, c.Size, c.Text = r.Addr, r.Size, r.Text
	case StackCFI:
		c.Addr, c.Text = r.Addr, r.Text
	}
	return c
}

func same(a, b *Record) bool {
	return slices.Equal(a.Problems, b.Problems) &&
		a.Kind == b.Kind && a.Multiple == b.Multiple && a.OldForm == b.OldForm && a.Usable == b.Usable &&
		a.Line == b.Line && a.Span == b.Span && a.EOL == b.EOL && a.Text == b.Text &&
		a.Addr == b.Addr && a.Size == b.Size && a.ParamSize == b.ParamSize && a.Number == b.Number &&
		a.FileID == b.FileID && a.Origin == b.Origin && a.Nest == b.Nest && a.Win == b.Win
}

func compareRecords(t *testing.T, what string, data []byte, a, b []Record) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%s: %d records against %d", what, len(a), len(b))
	}
	for i := range a {
		if !same(&a[i], &b[i]) {
			t.Fatalf("%s: %q\n%+v\n%+v", what, data[a[i].Span.Off:a[i].Span.End], a[i], b[i])
		}
	}
}

// canonical are records of every kind as docs/symbol_files.md spells them, with what they mean.
var canonical = []struct {
	text string
	want Record // spans and line aside
	free string // the record's free text
}{
	{"MODULE Linux x86 D3096ED481217FD4C16B29CD9BC208BA0 firefox bin", Record{Kind: Module}, "Linux x86 D3096ED481217FD4C16B29CD9BC208BA0 firefox bin"},
	{"INFO CODE_ID FFFFFFFF module1.exe", Record{Kind: Info}, "CODE_ID FFFFFFFF module1.exe"},
	{"FILE 2 /home/jimb/mc/in/browser/app/nsBrowserApp.cpp", Record{Kind: File, FileID: 2}, "/home/jimb/mc/in/browser/app/nsBrowserApp.cpp"},
	{"FILE 7 c:\\program files\\a b.c", Record{Kind: File, FileID: 7}, "c:\\program files\\a b.c"},
	{"INLINE_ORIGIN 1305 SharedLibraryInfo::Initialize()", Record{Kind: InlineOrigin, Origin: 1305}, "SharedLibraryInfo::Initialize()"},
	{"INLINE_ORIGIN 3 -[NSObject foo]", Record{Kind: InlineOrigin, Origin: 3}, "-[NSObject foo]"},
	{"INLINE_ORIGIN 3 17 old::form()", Record{Kind: InlineOrigin, Origin: 3, FileID: 17, OldForm: true}, "old::form()"},
	{"INLINE_ORIGIN 3 -1 old::form()", Record{Kind: InlineOrigin, Origin: 3, FileID: -1, OldForm: true}, "old::form()"},
	{"FUNC c184 30 0 nsQueryInterfaceWithError::operator()(nsID const&, void**) const",
		Record{Kind: Func, Addr: 0xc184, Size: 0x30}, "nsQueryInterfaceWithError::operator()(nsID const&, void**) const"},
	{"FUNC m fffffffffffffff0 ffffffff 7fffffff f", Record{Kind: Func, Multiple: true, Addr: 0xfffffffffffffff0, Size: 0xffffffff, ParamSize: 0x7fffffff}, "f"},
	{"FUNC 1000 10 0 m", Record{Kind: Func, Addr: 0x1000, Size: 0x10}, "m"},
	{"FUNC 1000 10 0 7 \xc3\xa4\xe2\x82\xac", Record{Kind: Func, Addr: 0x1000, Size: 0x10}, "7 \xc3\xa4\xe2\x82\xac"},
	{"c184 7 59 4", Record{Kind: Line, Addr: 0xc184, Size: 7, Number: 59, FileID: 4}, ""},
	{"ffff0 0 0 0", Record{Kind: Line, Addr: 0xffff0}, ""},
	{"0 1 2147483647 2147483647", Record{Kind: Line, Size: 1, Number: 2147483647, FileID: 2147483647}, ""},
	{"INLINE 1 61 1 2 7b60 3b4", Record{Kind: Inline, Nest: 1, Number: 61, FileID: 1, Origin: 2, Addr: 0x7b60, Size: 0x3b4}, "7b60 3b4"},
	{"INLINE 0 61 -1 2 7b60 3b4 8000 1", Record{Kind: Inline, Number: 61, FileID: -1, Origin: 2, Addr: 0x7b60, Size: 0x3b4}, "7b60 3b4 8000 1"},
	{"PUBLIC 2160 0 Public2_1", Record{Kind: Public, Addr: 0x2160}, "Public2_1"},
	{"PUBLIC m 2160 c Public2_1", Record{Kind: Public, Multiple: true, Addr: 0x2160, ParamSize: 12}, "Public2_1"},
	{"STACK WIN 4 2170 14 1 2 3 4 5 6 1 $eip 4 + ^ = $esp $ebp 8 + =", Record{Kind: StackWin, Addr: 0x2170, Size: 0x14, ParamSize: 3,
		Win: WinFields{Type: 4, Prolog: 1, Epilog: 2, SavedRegs: 4, Locals: 5, MaxStack: 6, HasProgram: 1}}, "$eip 4 + ^ = $esp $ebp 8 + ="},
	{"STACK WIN 0 2170 14 1 0 0 0 0 0 0 1", Record{Kind: StackWin, Addr: 0x2170, Size: 0x14, Win: WinFields{Prolog: 1}}, "1"},
	{"STACK WIN 7 2170 14 1 0 0 0 0 0 0 1", Record{Kind: StackWin, Addr: 0x2170, Size: 0x14, Win: WinFields{Type: 7, Prolog: 1}}, "1"},
	{"STACK CFI INIT 804c4b0 40 .cfa: $esp 4 + $eip: .cfa 4 - ^", Record{Kind: StackCFIInit, Addr: 0x804c4b0, Size: 0x40}, ".cfa: $esp 4 + $eip: .cfa 4 - ^"},
	{"STACK CFI 804c4b1 .cfa: $esp 8 + $ebp: .cfa 8 - ^", Record{Kind: StackCFI, Addr: 0x804c4b1}, ".cfa: $esp 8 + $ebp: .cfa 8 - ^"},
	{"", Record{Kind: Blank}, ""},
}

// Every kind of record reads the same whatever ends it.
func TestCanonicalRecords(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n", "\r\r\n", "\r", ""} {
		for _, c := range canonical {
			// A record before and one behind it, so that the line number and the end are its own.
			const before, behind = "FILE 0 a\n", "FILE 1 b\n"
			text := before + c.text + eol
			if eol != "" {
				text += behind
			}
			rs := scanAll([]byte(text))
			if len(rs) < 2 {
				if c.text == "" && eol == "" {
					continue
				}
				t.Fatalf("%q: %d records", text, len(rs))
			}
			r := rs[1]
			want := c.want
			want.Usable = want.Kind != Blank
			want.Line = 2
			want.Span = Span{len(before), len(before) + len(c.text)}
			want.EOL = len(eol)
			want.Text = r.Text
			switch {
			case eol == "\r":
				want.Problems = []Problem{{LoneCR, "", Span{want.Span.End, want.Span.End + 1}}}
			case eol == "" && want.Kind != Blank:
				want.Problems = []Problem{{NoFinalNewline, "", Span{want.Span.End, want.Span.End}}}
			}
			if !same(&r, &want) {
				t.Errorf("%q:\n got %+v\nwant %+v", text, r, want)
			}
			if got := text[r.Text.Off:r.Text.End]; got != c.free && c.free != "" {
				t.Errorf("%q: free text %q", text, got)
			}
			if eol != "" && (len(rs) != 3 || rs[2].Line != 3 || rs[2].Kind != File || rs[2].FileID != 1) {
				t.Errorf("%q: the record behind it: %+v", text, rs[2:])
			}
		}
	}
}

// A run of CRs that no LF follows ends a record with each CR.
func TestCRRuns(t *testing.T) {
	rs := scanAll([]byte("FILE 0 a\r\r\rFILE 1 b\r\r\nFILE 2 c\r"))
	var got []string
	for _, r := range rs {
		got = append(got, fmt.Sprintf("%d:%s+%d", r.Line, r.Kind, r.EOL))
	}
	if want := "1:FILE+1 2:blank+1 3:blank+1 4:FILE+3 5:FILE+1"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}

// A file whose lines end in CR alone, and one that is a single run of CRs, must not cost a look at the whole rest for
// every record. The sizes take minutes if they do.
func TestCRFilesAreLinear(t *testing.T) {
	for _, text := range []string{strings.Repeat("1000 10 3 0\r", 1<<18), strings.Repeat("\r", 1<<19), strings.Repeat("\r", 1<<19) + "\n"} {
		s := NewScanner([]byte(text))
		n := 0
		for s.Next() {
			n++
		}
		if n == 0 {
			t.Error("no records")
		}
	}
}

// randomText makes a symbol file out of canonical records, damage, and odd line ends.
func randomText(rnd *rand.Rand, records int, clean bool) []byte {
	var b []byte
	eols := []string{"\n", "\n", "\n", "\r\n", "\r\r\n", "\r", "\r\r"}
	for range records {
		line := []byte(randomRecord(rnd))
		if !clean && rnd.IntN(3) == 0 && len(line) > 0 {
			for range 1 + rnd.IntN(3) {
				switch i := rnd.IntN(len(line)); rnd.IntN(4) {
				case 0:
					line[i] = byte(rnd.IntN(256))
				case 1:
					line[i] = "\t 0xAg-+\x00\n\r"[rnd.IntN(11)]
				case 2:
					line = append(line[:i], line[min(len(line), i+1+rnd.IntN(8)):]...)
				case 3:
					line = append(line[:i:i], append([]byte("  "), line[i:]...)...)
				}
				if len(line) == 0 {
					break
				}
			}
		}
		b = append(b, line...)
		if clean {
			b = append(b, '\n')
		} else {
			b = append(b, eols[rnd.IntN(len(eols))]...)
		}
	}
	if !clean && rnd.IntN(2) == 0 && len(b) > 0 {
		b = b[:len(b)-1]
	}
	return b
}

var names = []string{"main", "operator()(nsID const&, void**) const", "f", "0", "12 34", "m", "-", "-1x", "a-very-long-name-without-any-blank",
	"/src/a b/c.cc", "grüße", "$ebp: .cfa", "STACK"}

// randomRecord returns a record in canonical form.
func randomRecord(rnd *rand.Rand) string {
	hex := func(bits int) string { return strconv.FormatUint(rnd.Uint64()>>(64-1-rnd.IntN(bits)), 16) }
	addr := func() string {
		if rnd.IntN(10) == 0 {
			return hex(63)
		}
		return hex(32)
	}
	dec := func() string { return strconv.Itoa(rnd.IntN(1 << (1 + rnd.IntN(30)))) }
	name := func() string { return names[rnd.IntN(len(names))] }
	mark := func() string { return []string{"", "", "m "}[rnd.IntN(3)] }
	rules := func() string {
		return []string{".cfa: $rsp 8 +", ".cfa: $esp 4 + .ra: .cfa -4 + ^", "$rbp: .cfa -16 + ^ .cfa: $rbp 16 +", "x19: .cfa -8 + ^"}[rnd.IntN(4)]
	}
	switch rnd.IntN(12) {
	case 0:
		return "MODULE Linux x86_64 " + strings.ToUpper(hex(63)) + " " + name()
	case 1:
		return "INFO " + name()
	case 2:
		return "FILE " + dec() + " " + name()
	case 3:
		return "INLINE_ORIGIN " + dec() + " x" + name()
	case 4:
		return "FUNC " + mark() + addr() + " " + hex(31) + " " + hex(30) + " " + name()
	case 5:
		s := "INLINE " + dec() + " " + dec() + " " + []string{"-1", dec()}[rnd.IntN(2)] + " " + dec()
		for range 1 + rnd.IntN(4) {
			s += " " + addr() + " " + hex(31)
		}
		return s
	case 6:
		return "PUBLIC " + mark() + addr() + " " + hex(30) + " " + name()
	case 7:
		s := "STACK WIN " + strconv.Itoa(rnd.IntN(5))
		for _, bits := range []int{31, 31, 15, 15, 31, 15, 31, 31} {
			s += " " + hex(bits)
		}
		if rnd.IntN(2) == 0 {
			return s + " 1 $eip 4 + ^ ="
		}
		return s + " 0 1"
	case 8:
		return "STACK CFI INIT " + addr() + " " + hex(31) + " " + rules()
	case 9:
		return "STACK CFI " + addr() + " " + rules()
	default:
		return addr() + " " + hex(31) + " " + dec() + " " + dec()
	}
}

// Whatever the input: no panic, records within it that stand one behind the other, and nothing left out.
func checkLayout(t *testing.T, data []byte, rs []Record) {
	t.Helper()
	pos, line := 0, 1
	for i := range rs {
		r := &rs[i]
		if r.Span.Off != pos || r.Span.End < r.Span.Off || r.Span.End+r.EOL > len(data) {
			t.Fatalf("record %d at %v+%d after %d of %d", i, r.Span, r.EOL, pos, len(data))
		}
		if r.Line != line {
			t.Fatalf("record %d has line %d, want %d", i, r.Line, line)
		}
		switch eol := string(data[r.Span.End : r.Span.End+r.EOL]); {
		case eol == "\r", eol == "" && r.Span.End == len(data):
		case strings.TrimRight(strings.TrimSuffix(eol, "\n"), "\r") != "" || !strings.HasSuffix(eol, "\n"):
			t.Fatalf("record %d ends in %q", i, eol)
		}
		if bytes.ContainsAny(data[r.Span.Off:r.Span.End], "\r\n") {
			t.Fatalf("record %d holds a line end: %q", i, data[r.Span.Off:r.Span.End])
		}
		for _, p := range r.Problems {
			if p.Code == NoProblem || p.Code >= ProblemCodeCount || p.Span.Off < r.Span.Off || p.Span.End < p.Span.Off || p.Span.End > r.Span.End+r.EOL {
				t.Fatalf("record %d %v: problem %+v", i, r.Span, p)
			}
		}
		if r.Text != (Span{}) && (r.Text.Off < r.Span.Off || r.Text.End > r.Span.End || r.Text.Len() < 0) {
			t.Fatalf("record %d %v: text %v", i, r.Span, r.Text)
		}
		if len(r.Problems) > maxProblems+1 {
			t.Fatalf("record %d has %d problems", i, len(r.Problems))
		}
		pos = r.Span.End + r.EOL
		line++
	}
	if pos != len(data) {
		t.Fatalf("the records end at %d of %d", pos, len(data))
	}
}

func TestLayout(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 3000 {
		records := rnd.IntN(12)
		if i%1000 == 0 {
			records = 10000
		}
		data := randomText(rnd, records, false)
		rs := scanAll(data)
		checkLayout(t, data, rs)
		compareRecords(t, "short path against long one", data, rs, scanPart(data, Chunk{0, len(data), 1}, true))
	}
	const letters = "FUNCSTACKIWMODLE 0123af\t\r\n\x00\xff\xef\xbb\xbf-+xm"
	noise := make([]byte, 300)
	for range 3000 {
		for i := range noise {
			noise[i] = letters[rnd.IntN(len(letters))]
		}
		checkLayout(t, noise, scanAll(noise))
	}
}

// Records in canonical form have no problems, take the short path, and mean what their text says: written again from
// their fields they are the same bytes.
func TestCanonicalRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for i := range 3000 {
		records := 1 + rnd.IntN(8)
		if i%1000 == 0 { // large enough for rule texts to be numbered
			records = 10000
		}
		data := randomText(rnd, records, true)
		if i%1000 == 0 && len(data) < 2*internMin {
			t.Fatalf("%d bytes are too few", len(data))
		}
		rs := scanAll(data)
		compareRecords(t, "short path against long one", data, rs, scanPart(data, Chunk{0, len(data), 1}, true))
		for i := range rs {
			if len(rs[i].Problems) > 0 {
				t.Fatalf("%q: %+v", data[rs[i].Span.Off:rs[i].Span.End], rs[i].Problems)
			}
			if got, want := serialize(data, &rs[i]), string(data[rs[i].Span.Off:rs[i].Span.End]); got != want {
				t.Fatalf("%q became %q", want, got)
			}
		}
	}
}

// serialize writes a record from its fields as docs/symbol_files.md orders them.
func serialize(data []byte, r *Record) string {
	text := string(data[r.Text.Off:r.Text.End])
	mark := ""
	if r.Multiple {
		mark = "m "
	}
	switch r.Kind {
	case Module, Info:
		return r.Kind.String() + " " + text
	case File:
		return fmt.Sprintf("FILE %d %s", r.FileID, text)
	case InlineOrigin:
		if r.OldForm {
			return fmt.Sprintf("INLINE_ORIGIN %d %d %s", r.Origin, r.FileID, text)
		}
		return fmt.Sprintf("INLINE_ORIGIN %d %s", r.Origin, text)
	case Func:
		return fmt.Sprintf("FUNC %s%x %x %x %s", mark, r.Addr, r.Size, r.ParamSize, text)
	case Public:
		return fmt.Sprintf("PUBLIC %s%x %x %s", mark, r.Addr, r.ParamSize, text)
	case Inline:
		rest := strings.TrimPrefix(text, fmt.Sprintf("%x %x", r.Addr, r.Size))
		return fmt.Sprintf("INLINE %d %d %d %d %x %x%s", r.Nest, r.Number, r.FileID, r.Origin, r.Addr, r.Size, rest)
	case Line:
		return fmt.Sprintf("%x %x %d %d", r.Addr, r.Size, r.Number, r.FileID)
	case StackWin:
		w := r.Win
		return fmt.Sprintf("STACK WIN %x %x %x %x %x %x %x %x %x %x %s",
			w.Type, r.Addr, r.Size, w.Prolog, w.Epilog, r.ParamSize, w.SavedRegs, w.Locals, w.MaxStack, w.HasProgram, text)
	case StackCFIInit:
		return fmt.Sprintf("STACK CFI INIT %x %x %s", r.Addr, r.Size, text)
	case StackCFI:
		return fmt.Sprintf("STACK CFI %x %s", r.Addr, text)
	}
	return ""
}

// However a file is cut, its records and their line numbers stay the same.
func TestChunks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	cut := 0
	for i := range 400 {
		data := randomText(rnd, 1+rnd.IntN(60), i%2 == 0)
		whole := scanAll(data)
		for n := 1; n <= 9; n++ {
			chunks := Chunks(data, n)
			if len(chunks) > n || chunks[0].From != 0 || chunks[len(chunks)-1].To != len(data) {
				t.Fatalf("%d chunks asked for: %v", n, chunks)
			}
			var rs []Record
			for i, c := range chunks {
				if i > 0 {
					cut++
					if c.From != chunks[i-1].To {
						t.Fatalf("a gap: %v", chunks)
					}
				}
				part := scanPart(data, c, false)
				if i > 0 {
					switch part[0].Kind {
					case Func, Public, StackCFIInit, StackWin:
					default:
						t.Fatalf("a chunk begins with %s", part[0].Kind)
					}
				}
				rs = append(rs, part...)
			}
			compareRecords(t, "chunks", data, whole, rs)
		}
	}
	if cut < 1000 {
		t.Errorf("only %d cuts were made", cut)
	}
}

func TestFindModule(t *testing.T) {
	for text, want := range map[string]ModuleEntry{
		"":                                      {},
		"MODULE Linux x86_64 ABC0 a b\n":        {OS: "Linux", Arch: "x86_64", ID: "ABC0", Name: "a b", Line: 1},
		"\xef\xbb\xbfMODULE  mac\tarm64 ABC0 x": {OS: "mac", Arch: "arm64", ID: "ABC0", Name: "x", Line: 1},
		"INFO X y\r\nMODULE windows x86 1 a.pdb\r\nMODULE Linux arm 2 b\n": {OS: "windows", Arch: "x86", ID: "1", Name: "a.pdb", Line: 2, Off: 10},
		"MODULE Linux\n": {OS: "Linux", Line: 1},
		strings.Repeat("FILE 0 a\n", 64) + "MODULE Linux x86 1 a\n": {},
	} {
		if got := FindModule([]byte(text)); got != want {
			t.Errorf("%.40q: got %+v, want %+v", text, got, want)
		}
	}
}

func TestRecordText(t *testing.T) {
	data := []byte("MODULE Linux x86 1 a\nFUNC 1000 10 0 a name\r\nPUBLIC 2000 0 last")
	for off, want := range map[uint32]string{0: "Linux x86 1 a", 21: "a name", 44: "last", uint32(len(data)): "", 1 << 20: ""} {
		if got := string(RecordText(data, off)); got != want {
			t.Errorf("at %d: %q, want %q", off, got, want)
		}
	}
}

// Scanning allocates nothing, healthy or not.
func TestScanAllocates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	for _, clean := range []bool{true, false} {
		data := randomText(rnd, 2000, clean)
		var s Scanner
		s.rec.Problems = make([]Problem, 0, 2*maxProblems)
		if n := testing.AllocsPerRun(5, func() {
			s.Reset(data, 0, len(data), 1)
			for s.Next() {
			}
		}); n > 0 {
			t.Errorf("%v allocations a scan (clean: %v)", n, clean)
		}
	}
}

// corpusSyms returns the paths of all plain symbol files of the corpus.
func corpusSyms(t *testing.T) []string {
	var out []string
	err := filepath.WalkDir(corpustest.Dir(t), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".sym") {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatal("no symbol files in the corpus", err)
	}
	return out
}

// Real files: both paths agree, and what the short path takes is what it was written from.
func TestCorpusScan(t *testing.T) {
	for _, path := range corpusSyms(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rs := scanAll(data)
		checkLayout(t, data, rs)
		if len(data) < 1<<20 {
			compareRecords(t, path, data, rs, scanPart(data, Chunk{0, len(data), 1}, true))
		}
		for i := range rs {
			if r := &rs[i]; len(r.Problems) == 0 && r.Kind != Blank {
				if got, want := serialize(data, r), string(data[r.Span.Off:r.Span.End]); got != want {
					t.Fatalf("%s:%d: %q became %q", path, r.Line, want, got)
				}
			}
		}
	}
}

// The corpus's manifest counts records independently.
func TestCorpusCounts(t *testing.T) {
	dir := corpustest.Dir(t)
	f, err := os.Open(filepath.Join(dir, "MANIFEST.md"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row := regexp.MustCompile("^\\| (\\S+\\.sym) \\| `[^`]*` \\| (\\d+) \\| (\\d+) \\| (\\d+) \\|$")
	files := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		m := row.FindStringSubmatch(sc.Text())
		if m == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "public", "sym", m[1]))
		if err != nil {
			continue // not everything the manifest lists is there
		}
		files++
		var n [KindCount]int
		for _, r := range scanAll(data) {
			n[r.Kind]++
		}
		got := fmt.Sprint(n[StackWin], n[StackCFI]+n[StackCFIInit], n[Inline])
		if want := strings.Join(m[2:], " "); got != want {
			t.Errorf("%s: STACK WIN, STACK CFI, INLINE: %s, the manifest says %s", m[1], got, want)
		}
	}
	if files < 5 {
		t.Errorf("only %d files compared", files)
	}
}
