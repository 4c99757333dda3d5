package rules

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symfile"
)

// own checks a text with the format and module families alone and lists their findings as "line:column severity rule
// count".
func own(t testing.TB, path, text string) []lint.Finding {
	t.Helper()
	fs, err := run(&lint.Runner{Registry: Registry(), Analyzers: []*lint.Analyzer{formatFamily, moduleFamily}, Jobs: 1}, path, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for i := range fs {
		if f := &fs[i]; f.Severity != f.Rule.Severity && !slices.Contains(f.Rule.Also, f.Severity) {
			t.Errorf("%s does not list the severity %s", f.Rule.Name, f.Severity)
		}
	}
	return fs
}

// memorySource is a file that was UTF-16 before it was opened.
type memorySource string

func (m memorySource) Path() string { return "x.sym" }
func (m memorySource) Open() (*lint.Input, error) {
	return &lint.Input{Kind: "sym", Data: []byte(m), Encoding: "UTF-16LE", Close: func() error { return nil }}, nil
}

// A file that was transcoded when it was opened is judged as text, and its encoding is told.
func TestTranscoded(t *testing.T) {
	r := &lint.Runner{Registry: Registry(), Analyzers: []*lint.Analyzer{formatFamily, moduleFamily}}
	var fs []lint.Finding
	_, err := r.Run(context.Background(), []lint.Source{memorySource(exampleOne + "FUNC 1010\n")}, func(res *lint.FileResult) error {
		for f, err := range res.Findings() {
			if err != nil {
				return err
			}
			fs = append(fs, *f)
		}
		return res.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := brief(fs), "1:1 error format-encoding; 7:1 warning format-record-order; 7:10 error format-bad-field"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func run(r *lint.Runner, path string, data []byte) (out []lint.Finding, err error) {
	res := r.CheckSym(path, data, nil)
	defer res.Close()
	for f, err := range res.Findings() {
		if err != nil {
			return nil, err
		}
		out = append(out, *f)
	}
	return out, res.Err
}

func brief(fs []lint.Finding) string {
	var b strings.Builder
	for i := range fs {
		f := &fs[i]
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%d:%d %s %s", f.Line, f.Column, f.Severity, f.Rule.Name)
		if f.Count > 1 {
			fmt.Fprintf(&b, " x%d", f.Count)
		}
	}
	return b.String()
}

const (
	headLines = 3 // lines of exampleHead
	crlf      = "\r\n"
	// moduleLines are exampleHead without its FILE.
	moduleLines = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
`
)

// impacts of a finding: one letter a consumer, breakpad, rust-minidump, symbolic.
func impacts(f *lint.Finding) string {
	var b []byte
	for _, e := range f.Effects[:lint.Symbolic+1] {
		b = append(b, "-dlRC"[e.Impact])
	}
	return string(b)
}

// One defect in an otherwise healthy file: one finding, at its place, with the effects that facts about the three
// readers' source tell. The defect stands on line 4 unless the text says otherwise.
func TestFormatDefects(t *testing.T) {
	const tail = exampleMainCFI
	for _, c := range []struct{ name, text, want, impacts, message string }{
		// unknown records
		{"unknown in a function", exampleMain + "# note\n" + tail, "6:1 error format-unknown-record", "lRl", `unknown record "#"`},
		{"wrong case", "func 1000 10 0 main\n" + exampleMain + tail, "4:1 error format-unknown-record", "lRl", `the keyword FUNC is not in upper case: "func"`},
		{"glued", "FUNC1000 10 0 main\n" + exampleMain + tail, "4:1 error format-unknown-record", "lRl", "no blank follows the keyword FUNC"},
		{"misspelt", exampleMain + "STAK CFI INIT 1000 10 .cfa: $rsp 8 +\n" + tail, "6:1 error format-unknown-record", "lRl", `unknown record "STAK"; was STACK CFI INIT meant?`},
		{"misspelt 2", exampleMain + "STACK CIF 1000 .cfa: $rsp 8 +\n" + tail, "6:1 error format-unknown-record", "lRl", `unknown record "STACK"; was STACK CFI meant?`},
		{"misspelt 3", exampleMain + "PUBILC 2000 0 x\n" + tail, "6:1 error format-unknown-record", "lRl", `unknown record "PUBILC"; was PUBLIC meant?`},
		{"a run", exampleMain + "one log line\nand another\nand more\n" + tail, "6:1 error format-unknown-record x3", "lRl", `unknown record "one"`},
		{"two runs", "one log line\n" + exampleMain + "and another\n" + tail, "4:1 error format-unknown-record; 7:1 error format-unknown-record", "lRl", `unknown record "one"`},
		{"binary data", exampleMain + "\x00\x01\x02\xff\xfe\x03\n\x80\x81\x82 x\n" + tail, "6:1 error format-unknown-record x2", "lRl", "binary data between the records"},

		// fields
		{"no name", "FUNC 1000 10 0\n1000 10 3 0\n" + tail, "4:15 error format-bad-field", "lRd", "FUNC has no name; its line record is lost with it"},
		{"no name but its blank", "FUNC 1000 10 0 \n1000 10 3 0\n" + tail, "4:15 error format-bad-field", "ldd", "FUNC has no name; its line record is lost with it"},
		{"no parameter size", "FUNC 1000 10 a::b(int, c)\n1000 10 3 0\n1008 8 4 0\n" + tail, "4:14 error format-bad-field", "lRl",
			"FUNC has no parameter size: its name stands in that place; its 2 line records are lost with it"},
		{"a FUNC lost before INLINE", "INLINE_ORIGIN 0 in\nFUNC 1000 1g 0 main\nINLINE 0 3 0 0 1000 4\n1000 10 3 0\n" + tail, "5:11 error format-bad-field", "CRl",
			`FUNC size "1g" is not hexadecimal; its 1 line record and 1 inline are lost with it`},
		{"bad mark", "FUNC x 1000 10 0 main\n1000 10 3 0\n" + tail, "4:6 error format-bad-field", "lRl",
			`"x" stands where FUNC has its address or the mark m; its line record is lost with it`},
		{"bad line number", "FUNC 1000 10 0 main\n1000 10 3a 0\n" + tail, "5:9 error format-bad-field", "lRl", `line number "3a" is not decimal`},
		{"bad line address", "FUNC 1000 10 0 main\n10g0 10 3 0\n" + tail, "5:1 error format-bad-field", "lRl", `line record's address "10g0" is not hexadecimal`},
		{"short line", "FUNC 1000 10 0 main\n1000 10 3\n" + tail, "5:10 error format-bad-field", "lRl", "line record has no file id"},
		{"long line record", "FUNC 1000 10 0 main\n1000 10 3 0 // x\n" + tail, "5:13 error format-bad-field", "-Rl", `text behind the line record: "// x"`},
		{"FILE without name", "FILE 1\n" + exampleMain + tail, "4:7 error format-bad-field", "lRd", "FILE has no name"},
		{"FILE with a bad id", "FILE 1x /a.c\n" + exampleMain + tail, "4:6 error format-bad-field", "lRl", `FILE id "1x" is not decimal`},
		{"INLINE_ORIGIN without name", "INLINE_ORIGIN 1\n" + exampleMain + tail, "4:16 error format-bad-field", "lRl", "INLINE_ORIGIN has no name"},
		{"PUBLIC without name", exampleMain + "PUBLIC 2000 0\n" + tail, "6:14 error format-bad-field", "lRd", "PUBLIC has no name"},
		{"INIT without rules", exampleMain + tail + "STACK CFI INIT 2000 10\n", "7:23 error format-bad-field", "lRl", "STACK CFI INIT has no rules"},
		{"INIT without rules but its blank", exampleMain + tail + "STACK CFI INIT 2000 10 \n", "7:23 error format-bad-field", "lll", "STACK CFI INIT has no rules"},
		{"delta without rules", exampleMain + tail + "STACK CFI 1004\n", "7:15 error format-bad-field", "lRl", "STACK CFI has no rules"},
		{"delta with a bad address", exampleMain + tail + "STACK CFI 10z4 .cfa: $rsp 16 +\n", "7:11 error format-bad-field", "lRl", `STACK CFI address "10z4" is not hexadecimal`},
		{"bare STACK CFI", exampleMain + tail + "STACK CFI\n", "7:10 error format-bad-field", "lRl", "STACK CFI stands alone"},
		{"bare STACK WIN", exampleMain + "STACK WIN\n" + tail, "6:10 error format-bad-field", "lRl", "STACK WIN stands alone"},
		{"short STACK WIN", exampleMain + "STACK WIN 4 1000 10 0 0 0 0 0 0 1\n" + tail, "6:34 error format-bad-field", "lRl", "STACK WIN has no program"},
		{"INFO alone", moduleLines + "INFO\n" + exampleBody, "3:5 error format-bad-field", "lRd", "INFO says nothing"},
		{"INFO with a blank", moduleLines + "INFO \n" + exampleBody, "3:5 warning format-spacing", "---", "1 blank behind the INFO record"},
		{"INLINE with a field missing", "INLINE_ORIGIN 0 in\nFUNC 1000 10 0 main\nINLINE 0 3 -1 0 1000\n1000 10 3 0\n" + tail, "6:12 error format-number-prefix", "lRl",
			"INLINE origin id -1 is negative (with an odd number of fields the record is read in the old form, without call-site file)"},
		{"several bad fields, one cause", "FUNC main 1000 10 0\n1000 10 3 0\n" + tail, "4:6 error format-bad-field", "lRl",
			`FUNC address "main" is not hexadecimal; its line record is lost with it`},
		{"a run of FUNCs", "FUNC 1000 8 0\n1000 8 3 0\nFUNC 1008 8 0\n1008 8 3 0\n" + tail, "4:14 error format-bad-field x2", "lRd",
			"FUNC has no name; its line record is lost with it"},

		// numbers
		{"0x", "FUNC 0x1000 10 0 main\n1000 10 3 0\n" + tail, "4:6 error format-number-prefix", "-Rl", `FUNC address "0x1000" has a 0x prefix`},
		{"0x twice", "FUNC 0x1000 0x10 0 main\n1000 10 3 0\n" + tail, "4:6 error format-number-prefix", "-Rl", `FUNC address "0x1000" has a 0x prefix`},
		{"0x in a decimal", "FILE 0x1 /a.c\n" + exampleMain + tail, "4:6 error format-number-prefix", "lRl", `FILE id "0x1" has a 0x prefix`},
		{"0x in CFI", exampleMain + "STACK CFI INIT 0x1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n", "6:16 error format-number-prefix", "-Rl", `STACK CFI INIT address "0x1000" has a 0x prefix`},
		{"minus", exampleMain + "PUBLIC -2000 0 x\n" + tail, "6:8 error format-number-prefix", "lRl", `PUBLIC address "-2000" has a sign`},
		{"plus", "FUNC 1000 10 0 main\n1000 10 +3 0\n" + tail, "5:9 error format-number-prefix", "-Rl", `line number "+3" has a sign`},
		{"negative line", "FUNC 1000 10 0 main\n1000 10 -60 0\n" + tail, "5:9 error format-number-prefix", "lRd", "line number -60 is negative"},
		{"negative file", "FUNC 1000 10 0 main\n1000 10 60 -1\n" + tail, "5:12 error format-number-prefix", "lRl", "file id -1 is negative"},
		{"upper case", "FUNC 1A00 10 0 main\n1A00 10 3 0\nFUNC 1B00 10 0 b\n" + tail, "4:6 info format-number-case x3", "---", `hexadecimal "1A00" is in upper case`},
		{"33-bit size", "FUNC 1000 100000010 0 main\n1000 10 3 0\n" + tail, "4:11 error format-number-range", "-R-", `FUNC size "100000010" does not fit 32 bits`},
		{"zeros", "FUNC 00000000000001000 10 0 main\n1000 10 3 0\n" + tail, "4:6 error format-number-range", "-R-", `FUNC address "00000000000001000" has more digits than rust-minidump reads`},
		{"65 bits", "FUNC 10000000000001000 10 0 main\n1000 10 3 0\n" + tail, "4:6 error format-number-range", "lRl", `FUNC address "10000000000001000" does not fit 64 bits`},
		{"all ones", exampleMain + "PUBLIC ffffffffffffffff 0 x\n" + tail, "6:8 error format-number-range", "lld", `PUBLIC address "ffffffffffffffff" is all ones, which Breakpad takes for an overflow`},
		{"32-bit line", "FUNC 1000 10 0 main\n1000 10 3000000000 0\n" + tail, "5:9 error format-number-range", "d--", `line number "3000000000" does not fit 31 bits`},
		{"33-bit line", "FUNC 1000 10 0 main\n1000 10 5000000000 0\n" + tail, "5:9 error format-number-range", "dR-", `line number "5000000000" does not fit 31 bits`},
		{"huge id", "FILE 99999999999999999999 /a.c\n" + exampleMain + tail, "4:6 error format-number-range", "lRl", `FILE id "99999999999999999999" does not fit 64 bits`},
		{"parameter size", "FUNC 1000 10 80000000 main\n1000 10 3 0\n" + tail, "4:14 error format-number-range", "d--", `FUNC parameter size "80000000" does not fit 31 bits`},
		{"16 bits", exampleMain + "STACK WIN 4 1000 10 12345 0 0 0 0 0 1 $eip 4 + ^ =\n" + tail, "6:21 error format-number-range", "--l", `STACK WIN prolog_size "12345" does not fit 16 bits`},

		// line ends
		{"one CRLF", "FUNC 1000 10 0 main\r\n1000 10 3 0\n" + tail, "4:20 warning format-line-ending", "---", "the line ends in CR LF, most of the 6 lines in LF"},
		{"a CR in a name", "FUNC 1000 10 0 ma\rin\n1000 10 3 0\n" + tail, "4:18 error format-line-ending", "lRd", "a CR stands inside the FUNC record"},
		{"a CR in a number", "FUNC 10\r00 10 0 main\n1000 10 3 0\n" + tail, "4:8 error format-line-ending", "lRd", "a CR stands inside the FUNC record"},
		{"a CR between records", "FUNC 1000 10 0 main\r1000 10 3 0\n" + tail, "4:20 warning format-line-ending", "-Rl", "the FUNC record ends in a CR alone"},
		{"CRCRLF", "FUNC 1000 10 0 main\r\r\n1000 10 3 0\n" + tail, "4:20 warning format-line-ending", "--d", "the line ends in CR CR LF, most of the 6 lines in LF"},

		// encoding
		{"NUL in a name", "FUNC 1000 10 0 ma\x00in\n1000 10 3 0\n" + tail, "4:18 error format-encoding", "d--", "NUL byte in the FUNC record, at byte 148 of the file"},
		{"NUL in a number", "FUNC 10\x0000 10 0 main\n1000 10 3 0\n" + tail, "4:8 error format-encoding", "lRl", "NUL byte in the FUNC record, at byte 138 of the file"},
		{"NUL in a keyword", "FU\x00C 1000 10 0 main\n" + exampleMain + tail, "4:3 error format-encoding", "lR-", "NUL byte at byte 133 of the file"},
		{"UTF-8", "FUNC 1000 10 0 m\xc3\n1000 10 3 0\n" + tail, "4:17 error format-encoding", "-Rl", "c3 is not UTF-8, in the FUNC record, at byte 147 of the file"},
		{"UTF-8 in INFO", moduleLines + "INFO GENERATOR \xff\n" + exampleBody, "3:16 error format-encoding", "--d", "ff is not UTF-8, in the INFO record, at byte 127 of the file"},
		{"UTF-8 in INFO URL", moduleLines + "INFO URL \xff\n" + exampleBody, "3:10 error format-encoding", "-Rd", "ff is not UTF-8, in the INFO record, at byte 121 of the file"},
		{"escape", "FUNC 1000 10 0 m\x1b[1m\n1000 10 3 0\n" + tail, "4:17 error format-encoding", "ddd", "control character U+001B in the FUNC record, at byte 147 of the file"},
		{"TAB in a name", "FUNC 1000 10 0 m\tn\n1000 10 3 0\n" + tail, "4:17 warning format-encoding", "ddd", "TAB in a name, in the FUNC record, at byte 147 of the file"},

		// spacing
		{"leading blanks", exampleMain + "  PUBLIC 2000 0 x\n" + tail, "6:1 error format-spacing", "lRl", "2 blanks before the PUBLIC record"},
		{"leading blank of a line", "FUNC 1000 10 0 main\n 1000 10 3 0\n" + tail, "5:1 error format-spacing", "-R-", "1 blank before the line record"},
		{"TAB behind the keyword", "FUNC\t1000 10 0 main\n1000 10 3 0\n" + tail, "4:5 error format-spacing", "l-l", "a TAB follows the keyword FUNC"},
		{"TAB between numbers", "FUNC 1000\t10 0 main\n1000 10 3 0\n" + tail, "4:10 error format-spacing", "l--", "a TAB separates fields of the FUNC record"},
		{"TAB in rules", exampleMain + "STACK CFI INIT 1000 10 .cfa:\t$rsp 8 + .ra: .cfa -8 + ^\n", "6:29 warning format-spacing", "---", "a TAB separates fields of the STACK CFI INIT record"},
		{"blanks before the name", "FUNC 1000 10 0   main\n1000 10 3 0\n" + tail, "4:15 warning format-spacing", "d--", "3 blanks before the free text of the FUNC record"},
		{"blanks between fields", "FUNC 1000  10 0 main\n1000 10 3 0\n" + tail, "4:10 warning format-spacing", "---", "2 blanks between two fields of the FUNC record"},
		{"blanks in the keyword", exampleMain + "STACK  CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n", "6:6 error format-spacing", "-Rl", "2 blanks inside the keyword STACK CFI INIT"},
		{"trailing blank of a line", "FUNC 1000 10 0 main\n1000 10 3 0 \n" + tail, "5:12 error format-spacing", "-R-", "1 blank behind the line record"},
		{"trailing blank of a name", "FUNC 1000 10 0 main \n1000 10 3 0\n" + tail, "4:20 warning format-spacing", "dd-", "1 blank behind the FUNC record"},
		{"trailing blank of a program", exampleMain + "STACK WIN 4 1000 10 0 0 0 0 0 0 1 $eip 4 + ^ = \n" + tail, "6:47 info format-spacing", "---", "1 blank behind the STACK WIN record"},
		{"trailing blank of a flag", exampleMain + "STACK WIN 0 1000 10 0 0 0 0 0 0 0 1 \n" + tail, "6:36 error format-spacing", "-l-", "1 blank behind the STACK WIN record"},

		// blank lines
		{"blank between FUNC and line", "FUNC 1000 10 0 main\n\n1000 10 3 0\n" + tail, "5:1 error format-blank-line", "-R-", "a blank line cuts the records behind it off from their FUNC"},
		{"blanks between all lines", "FUNC 1000 10 0 main\n\n1000 4 3 0\n\n\n1004 c 4 0\n\n" + tail, "5:1 error format-blank-line x3; 10:1 info format-blank-line", "-R-", "a blank line cuts the records behind it off from their FUNC"},
		{"blank behind a function", exampleMain + "\n" + tail, "6:1 info format-blank-line", "---", "a blank line between records"},
		{"blank before a delta", exampleMain + tail + "\nSTACK CFI 1004 .cfa: $rsp 16 +\n", "7:1 error format-blank-line", "-R-", "a blank line cuts the STACK CFI record behind it off from its STACK CFI INIT"},
		{"blank at the end", exampleMain + tail + "\n", "7:1 info format-blank-line", "---", "a blank line between records"},
		{"blanks at the end", exampleMain + tail + "\n\n", "7:1 error format-blank-line x2", "-R-", "2 blank lines behind the last STACK CFI record"},
		{"a blank line in the header", "\nFILE 1 /b.c\n" + exampleMain + tail, "4:1 warning format-blank-line", "--l", "a blank line among the INFO and FILE records"},
		{"a line of blanks", exampleMain + "  \n" + tail, "6:1 error format-blank-line", "dRl", "the line consists of blanks only"},

		// order
		{"FILE behind FUNC", exampleMain + "FILE 1 /b.c\nFILE 2 /c.c\n" + tail, "6:1 warning format-record-order x2", "--l", "FILE stands behind records other than MODULE, INFO and FILE"},
		{"FUNC behind STACK", exampleMain + tail + "FUNC 2000 10 0 b\nPUBLIC 3000 0 c\n", "7:1 warning format-record-order x2", "--l", "FUNC stands behind STACK records"},
		{"CODE_ID late", exampleMain + tail + "INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344\n", "7:1 warning format-record-order; 7:14 info module-info", "--l", "INFO CODE_ID stands behind other records"},
		{"URL late", exampleMain + tail + "INFO URL https://example.org/app.sym\n", "", "", ""},
		{"GENERATOR late", exampleMain + tail + "INFO GENERATOR x 1.0\n", "7:1 info format-record-order", "---", "INFO stands behind other records"},
		{"origin late", "FUNC 1000 10 0 main\nINLINE 0 3 0 0 1000 4\n1000 10 3 0\nINLINE_ORIGIN 0 in\n" + tail, "7:1 warning format-record-order", "--l", "INLINE_ORIGIN stands behind an INLINE that uses it"},
		{"origin in the function", "FUNC 1000 10 0 main\nINLINE_ORIGIN 0 in\nINLINE 0 3 0 0 1000 4\n1000 10 3 0\n" + tail, "", "", ""},
		{"FUNC and PUBLIC mixed", exampleMain + "PUBLIC 1010 0 p\nFUNC 1020 10 0 b\n1020 10 3 0\n" + tail, "", "", ""},
		{"a record in a CFI block", exampleMain + tail + "FILE 1 /b.c\nSTACK CFI 1004 .cfa: $rsp 16 +\n", "7:1 warning format-record-order; 7:1 error format-record-order", "--l",
			"FILE stands behind records other than MODULE, INFO and FILE"},

		// the end
		{"no newline", exampleMain + strings.TrimSuffix(tail, "\n"), "6:55 error format-no-final-newline", "-R-", "no newline follows the last record"},
		{"a register alone", exampleMain + tail + "STACK CFI 1004 .cfa: $rsp", "7:26 error format-truncated", "lRl", "the file ends inside the STACK CFI record"},
		{"an operand", exampleMain + tail + "STACK CFI 1004 .cfa: $rsp 16", "7:29 error format-truncated", "lRl", "the file ends inside the STACK CFI record"},
		{"behind a colon", exampleMain + tail + "STACK CFI 1004 .cfa: $rsp 16 + $rbp:", "7:37 error format-truncated", "lRl", "the file ends inside the STACK CFI record"},
		{"inside a name", exampleMain + tail + "STACK CFI 1004 .cf", "7:19 error format-truncated", "lRl", "the file ends inside the STACK CFI record"},
		{"a register in another", exampleMain + tail + "STACK CFI 1004 $rbx: $rbx", "7:26 error format-no-final-newline", "-R-", "no newline follows the last record"},
		{"a saved register", exampleMain + tail + "STACK CFI 1004 $rbp: .cfa -16 + ^", "7:34 error format-no-final-newline", "-R-", "no newline follows the last record"},
		{"without rules", exampleMain + tail + "STACK CFI 10", "7:13 error format-truncated", "lRl", "the file ends inside the STACK CFI record"},
		{"inside a keyword", exampleMain + tail + "STACK C", "7:8 error format-truncated", "lRl", "the file ends inside a record"},
		{"inside a line record", exampleMain + "1008 8 3", "6:9 error format-truncated", "lRl", "the file ends inside the line record"},
		{"inside a parameter list", exampleMain + "PUBLIC 2000 0 f(int, ch", "6:24 error format-truncated", "lRl", "the file ends inside the PUBLIC record"},
		{"inside a program", exampleMain + "STACK WIN 4 1000 10 0 0 0 0 0 0 1 $eip 4 + ^", "6:45 error format-truncated", "lRl", "the file ends inside the STACK WIN record"},
		{"a damaged last record", exampleMain + strings.TrimSuffix(strings.Replace(tail, "1000", "1g00", 1), "\n"), "6:16 error format-bad-field; 6:55 error format-no-final-newline", "lRl",
			`STACK CFI INIT address "1g00" is not hexadecimal`},
		{"an unknown last record", exampleMain + tail + "TACK CFI 1004 .cfa: $rsp 16 +", "7:1 error format-unknown-record; 7:30 error format-no-final-newline", "lRl",
			`unknown record "TACK"; was STACK CFI meant?`},
		{"a blank behind the last record", "FUNC 1000 10 0 main\n1000 10 3 0 ", "5:12 error format-spacing; 5:13 error format-no-final-newline", "-R-", "1 blank behind the line record"},
		{"a blank behind half a rule", exampleMain + tail + "STACK CFI 1004 .cfa: $rsp ", "7:27 error format-truncated", "lRl", "the file ends inside the STACK CFI record"},
		{"NULs at the end", exampleMain + tail + "\x00\x00\x00", "7:1 error format-encoding", "-R-", "the file ends in 3 NUL bytes"},
		{"CR at the end", exampleMain + strings.TrimSuffix(tail, "\n") + "\r", "6:55 warning format-line-ending", "-Rl", "the STACK CFI INIT record ends in a CR alone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := exampleHead + c.text
			if strings.HasPrefix(c.text, moduleLines) {
				text = c.text
			}
			fs := own(t, "x.sym", text)
			if got := brief(fs); got != c.want {
				t.Fatalf("got  %s\nwant %s\n%s", got, c.want, describe(fs))
			}
			if c.want == "" {
				return
			}
			if fs[0].Message != c.message {
				t.Errorf("got  %s\nwant %s", fs[0].Message, c.message)
			}
			if got := impacts(&fs[0]); got != c.impacts {
				t.Errorf("impacts %s, want %s: %s", got, c.impacts, fs[0].Effects.String(lint.AllConsumers))
			}
			sameHoweverCut(t, text, "format", "module")
			for _, e := range fs[0].Effects[:lint.Symbolic+1] {
				if e.Text == "" {
					t.Error("a consumer's effect is not told")
				}
			}
		})
	}
}

// Defects of the file as a whole.
func TestFormatFiles(t *testing.T) {
	utf16 := func(order int) string {
		var b []byte
		for _, c := range []byte(exampleOne) {
			if order == 0 {
				b = append(b, c, 0)
			} else {
				b = append(b, 0, c)
			}
		}
		return string(b)
	}
	for _, c := range []struct{ name, text, want, message string }{
		{"CRLF", strings.ReplaceAll(exampleOne, "\n", crlf), "1:58 info format-line-ending", "the lines end in CR LF"},
		{"CRCRLF", strings.ReplaceAll(exampleOne, "\n", "\r\r\n"), "1:58 warning format-line-ending", "the lines end in CR CR LF"},
		{"mostly CRLF", strings.Replace(strings.ReplaceAll(exampleOne, "\n", crlf), "main"+crlf, "main\n", 1),
			"1:58 info format-line-ending; 4:20 warning format-line-ending", "the lines end in CR LF"},
		{"CR", strings.ReplaceAll(exampleOne, "\n", "\r"), "1:58 warning format-line-ending x6", "the MODULE record ends in a CR alone"},
		{"BOM", "\xef\xbb\xbf" + exampleOne, "1:1 error format-encoding", "the file begins with a UTF-8 byte-order mark"},
		{"UTF-16LE", "\xff\xfe" + utf16(0), "1:1 error format-encoding", "the file is UTF-16LE, not ASCII or UTF-8"},
		{"UTF-16BE without mark", utf16(1), "1:1 error format-encoding", "the file is UTF-16BE, not ASCII or UTF-8"},
		{"UTF-16LE without mark", utf16(0), "1:1 error format-encoding", "the file is UTF-16LE, not ASCII or UTF-8"},
		{"empty", "", "1:1 error module-missing", "the file has no MODULE record"},
		{"MODULE misspelt", "MODUL" + strings.TrimPrefix(exampleOne, "MODULE"), "1:1 error format-unknown-record", `unknown record "MODUL"; was MODULE meant?`},
		{"long MODULE", formatLongLine.Bad.Text, "1:321 warning format-long-line", "the MODULE record has 338 bytes, symbolic reads 320"},
		{"long rules", exampleOne + "STACK CFI 1004 " + strings.Repeat("$rbx: .cfa -16 + ^ ", 5000) + ".cfa: $rsp 16 +\n", "7:81921 warning format-long-line",
			"the STACK CFI record has 95030 bytes, rust-minidump may skip lines of 81920 and more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := own(t, "x.sym", c.text)
			if got := brief(fs); got != c.want {
				t.Fatalf("got  %s\nwant %s\n%s", got, c.want, describe(fs))
			}
			if fs[0].Message != c.message {
				t.Errorf("got  %s\nwant %s", fs[0].Message, c.message)
			}
		})
	}
}

// Google's reader reads past 100 errors and stops at the 101st; what counts is known from runs of it.
func TestErrorBudget(t *testing.T) {
	const more = "FUNC 9000 10 0 lost\n9000 10 3 0\nSTACK CFI INIT 9000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	errors := func(n int, one string) string { return strings.Repeat(one, n) }
	for _, c := range []struct {
		name, text string
		line       int // of the finding; 0 = none
	}{
		{"100 bad records", exampleOne + errors(100, "FUNC 1000\n") + more, 0},
		{"101 bad records", exampleOne + errors(101, "FUNC 1000\n") + more, 6 + 101},
		{"101 at the very end", exampleOne + errors(101, "FUNC 1000\n"), 0},
		{"orphan lines behind a PUBLIC", exampleOne + "PUBLIC 2000 0 p\n" + errors(150, "1000 4 3 0\n") + more, 7 + 101},
		{"lines of a lost FUNC", exampleOne + "FUNC 2000 10 0\n" + errors(150, "2000 4 3 0\n") + more, 7 + 100},
		{"lines behind STACK still have their FUNC", exampleOne + errors(150, "1000 4 3 0\n") + more, 0},
		{"lines in front of all", strings.Replace(exampleOne, exampleHead, exampleHead+errors(150, "1000 4 3 0\n"), 1) + more, headLines + 101},
		{"PUBLIC again and again", exampleOne + errors(102, "PUBLIC 2000 0 p\n") + more, 6 + 102},
		{"PUBLIC at 0", exampleOne + errors(150, "PUBLIC 0 0 p\n") + more, 0},
		{"INLINE does not count", exampleOne + errors(150, "INLINE 0 1\n") + errors(150, "INLINE_ORIGIN 1\n") + more, 0},
		{"misspelt INLINE counts", exampleOne + errors(150, " INLINE_ORIGIN 1 x\n") + more, 6 + 101},
		{"blank lines do not count", exampleOne + errors(150, "\n") + more, 0},
		{"lines of blanks do", exampleOne + errors(150, " \n") + more, 6 + 101},
		{"a NUL is one", exampleOne + "FILE 1 a\x00b\n" + errors(100, "FUNC 1000\n") + more, 7 + 100},
		{"NULs at the end are none", exampleOne + errors(100, "FUNC 1000\n") + more + "\x00\x00", 0},
		{"bad numbers in STACK do not count", exampleOne + errors(150, "STACK CFI 10zz .cfa: $rsp 8 +\n") + more, 0},
		{"missing rules do", exampleOne + errors(150, "STACK CFI 1000\n") + more, 6 + 101},
		{"0x does not", exampleOne + errors(150, "FUNC 0x1000 10 0 f\n") + more, 0},
		{"MODULE does not", exampleOne + errors(150, "MODULE x\n") + more, 0},
		{"several kinds", exampleOne + errors(60, "PUBLIC 2000 0 p\n") + errors(60, "junk\n") + more, 6 + 60 + 42},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []lint.Finding
			for _, f := range own(t, "x.sym", c.text) {
				if f.Rule == formatErrorBudget {
					got = append(got, f)
				}
			}
			switch {
			case c.line == 0 && len(got) > 0:
				t.Errorf("got %s", describe(got))
			case c.line != 0 && (len(got) != 1 || got[0].Line != c.line):
				t.Errorf("want it on line %d, got %s", c.line, describe(got))
			}
		})
	}
	text := exampleOne + errors(101, "FUNC 1000\n") + more
	for _, f := range own(t, "x.sym", text) {
		if want := "the 101st error for Breakpad: it stops here and loses the 3 lines behind it, 1 FUNC and 1 STACK CFI INIT among them"; f.Rule == formatErrorBudget && f.Message != want {
			t.Errorf("got  %s\nwant %s", f.Message, want)
		}
	}
}

// The findings of a file do not depend on how it is cut.
func TestFormatChunks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for round := range 6 {
		size, most := 3<<20+1<<19, 4
		if round >= 3 { // many findings
			size, most = 1<<20+1<<18, 2
		}
		data := damagedFile(rnd, size, round)
		var first string
		for jobs := 1; jobs <= most; jobs++ {
			r := &lint.Runner{Registry: Registry(), Analyzers: []*lint.Analyzer{formatFamily, moduleFamily}, Jobs: jobs}
			if chunks := symfile.Chunks(data, jobs); len(chunks) != jobs || !independent(data, chunks) {
				t.Fatalf("the runner does not judge the file in %d pieces", jobs)
			}
			fs, err := run(r, "x.sym", data)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for i := range fs {
				f := &fs[i]
				fmt.Fprintf(&b, "%d:%d %s %s x%d %s | %s | %v\n", f.Line, f.Column, f.Severity, f.Rule.Name, f.Count, f.Message, f.Function, f.Related)
			}
			if jobs == 1 {
				first = b.String()
				if len(fs) < 5 {
					t.Fatalf("only %d findings", len(fs))
				}
			} else if b.String() != first {
				t.Fatalf("round %d: %d jobs differ from one:\n%s", round, jobs, firstDifference(first, b.String()))
			}
		}
	}
}

// Wherever a damaged file is cut, at one place or many.
func TestFormatHoweverCut(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	for round := range 48 {
		text := string(damagedFile(rnd, 1<<10+rnd.IntN(6<<10), round%6))
		text = strings.NewReplacer("\r\n", "\r\n", "\r", "").Replace(text) // cuts are numbered by LF
		sameHoweverCut(t, text, "format", "module")
	}
	sameHoweverCut(t, formatErrorBudget.Bad.Text, "format")
	sameHoweverCut(t, exampleOne+strings.Repeat("FUNC 1000 10 0\n1000 4 3 0\n", 90)+exampleMain+exampleMainCFI, "format")
}

// independent: no chunk begins in the middle of a block, for which the runner would read the file in one piece.
func independent(data []byte, chunks []symfile.Chunk) bool {
	for _, c := range chunks[1:] {
		var s symfile.Scanner
		s.Reset(data, c.From, c.To, c.Line)
		fn, cfi := false, false
		for s.Next() {
			switch s.Record().Kind {
			case symfile.Func, symfile.Public:
				fn = true
			case symfile.StackCFIInit:
				cfi = true
			case symfile.Line, symfile.Inline:
				if !fn {
					return false
				}
			case symfile.StackCFI:
				if !cfi {
					return false
				}
			}
		}
	}
	return true
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return "  " + x[i] + "\n  " + y[i]
		}
	}
	return fmt.Sprintf("%d and %d findings", len(x), len(y))
}

// damagedFile is a large file with defects of every kind, more of them in some rounds, so that runs of defects reach
// over cuts.
func damagedFile(rnd *rand.Rand, size, round int) []byte {
	var b bytes.Buffer
	b.WriteString(exampleHead)
	if round%2 == 0 {
		b.WriteString("INLINE_ORIGIN 0 first\nINLINE_ORIGIN 1 second\n")
	}
	dense := round >= 3
	odd := func() bool { return dense && rnd.IntN(3) > 0 || rnd.IntN(400) == 0 }
	eol := func() {
		switch {
		case rnd.IntN(3000) == 0:
			b.WriteString("\r")
		case round == 5 || rnd.IntN(3000) == 0:
			b.WriteString("\r\n")
		default:
			b.WriteString("\n")
		}
		if rnd.IntN(3000) == 0 {
			b.WriteString(strings.Repeat("\n", 1+rnd.IntN(2)))
		}
		if rnd.IntN(3000) == 0 {
			b.WriteString([]string{"junk and more\n", "FILE 7 /late.c\n", "INFO CODE_ID 00\n", "  \n", "INLINE_ORIGIN 1 again\n", "MODULE x\n", "PUBLIC 2000 0 again\n"}[rnd.IntN(7)])
		}
	}
	pick := func(good string, bad ...string) string {
		if odd() {
			return bad[rnd.IntN(len(bad))]
		}
		return good
	}
	for addr := 0x1000; b.Len() < size; addr += 0x100 {
		if b.Len() < size*2/3 || rnd.IntN(500) == 0 {
			fmt.Fprintf(&b, pick("FUNC %x 100 0 f\n", "FUNC 0x%x 100 0 f\n", "FUNC %x 100 0\n", "FUNC %X 100 0 f\n", "FUNC  %x 100 0 f\n", "FUNC %xg 100 0 f\n"), addr)
			if rnd.IntN(4) == 0 {
				fmt.Fprintf(&b, "INLINE 0 3 0 %d %x 4\n", rnd.IntN(3), addr)
			}
			for i := range rnd.IntN(12) {
				fmt.Fprintf(&b, pick("%x 10 3 0", "%x 10 3 0 ", "%x 10 -3 0", "%X 10 3 0", "%x 10 3", "0x%x 10 3 0"), addr+16*i)
				eol()
			}
		}
		if b.Len() > size/2 {
			fmt.Fprintf(&b, pick("STACK CFI INIT %x 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^", "STACK CFI INIT 0x%x 100 .cfa: $rsp 8 +", "STACK CFI INIT %x 100 "), addr)
			eol()
			for i := range rnd.IntN(5) {
				fmt.Fprintf(&b, pick("STACK CFI %x .cfa: $rsp 16 +", "STACK CFI %x .cfa: $rsp 16 + ", "STACK CFI %xz .cfa: $rsp 16 +", "STACK CFI %x"), addr+i)
				eol()
			}
		}
	}
	if round == 1 {
		b.WriteString("STACK CFI 10")
	}
	return b.Bytes()
}

// The format and module families find every damaged file of the corpus that is theirs, at its line, and have no error
// for the undamaged ones.
func TestFormatCorpusBad(t *testing.T) {
	dir := filepath.Join(corpustest.Dir(t), "bad")
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"bad-hex": "format-bad-field", "bad-utf8": "format-encoding", "crlf-mixed": "format-line-ending", "empty-line": "format-blank-line",
		"file-missing-name": "format-bad-field", "func-missing-name": "format-bad-field", "func-missing-param-size": "format-bad-field",
		"hex-prefix": "format-number-prefix", "line-negative-number": "format-number-prefix", "module-arch": "module-arch",
		"module-duplicate": "module-duplicate", "module-id-length": "module-id", "module-id-not-hex": "module-id",
		"module-missing": "module-missing", "truncated": "format-truncated", "unknown-record": "format-unknown-record", "win-short": "format-bad-field",
	}
	met := 0
	for _, row := range strings.Split(strings.TrimSpace(string(manifest)), "\n")[1:] {
		f := strings.Split(row, "\t")
		data, err := os.ReadFile(filepath.Join(dir, f[0]))
		if err != nil {
			t.Fatal(err)
		}
		fs := own(t, f[0], string(data))
		if rule, ok := want[f[2]]; ok {
			met++
			if len(fs) != 1 || fs[0].Rule.Name != rule || fmt.Sprint(fs[0].Line) != f[1] {
				t.Errorf("%s: want %s on line %s alone, got\n%s", f[0], rule, f[1], describe(fs))
			}
		} else if len(fs) > 0 {
			t.Errorf("%s:\n%s", f[0], describe(fs))
		}
	}
	if met != len(want) {
		t.Errorf("%d of %d classes met", met, len(want))
	}
}

// Real files are silent, but for what is really wrong with them.
func TestFormatCorpusHealthy(t *testing.T) {
	dir := corpustest.Dir(t)
	known := map[string]string{
		"bp-module1.out.sym":                "25:30 info format-spacing",
		"bp-module3_bad.out.sym":            "1:1 info module-info; 3:10 error format-bad-field",
		"bp-omap_reorder_bbs.sym":           "1:1 info module-info; 1:74 info format-line-ending; 3704:91 info format-spacing x2477",
		"bp-linux-gate-intel.sym":           "3:36 error format-no-final-newline",
		"bp-dump_syms_regtest64.sym":        "1:80 info format-line-ending",
		"mozdump-basic32-dwarf.sym":         "1:20 error module-id",
		"symbolic-crash_linux.cfi-only.sym": "1:1 error module-missing",
		"test_app.sym":                      "1:1 info module-info",
		"kernel32.sym":                      "1:1 info module-info",
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sym") {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if strings.HasPrefix(rel, "bad"+string(filepath.Separator)) && !strings.Contains(rel, "ebp-esp-swap") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if fs := own(t, path, string(data)); brief(fs) != known[filepath.Base(path)] {
			t.Errorf("%s:\n%s", rel, describe(fs))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 50 {
		t.Errorf("only %d files", files)
	}
}

// The records of a healthy file cost next to nothing: no allocation.
func TestFormatAllocates(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(exampleHead)
	for addr := 0x1000; addr < 0x40000; addr += 0x100 {
		fmt.Fprintf(&b, "FUNC %x 100 0 f\n%x 80 3 0\n%x 80 4 0\n", addr, addr, addr+0x80)
	}
	for addr := 0x1000; addr < 0x40000; addr += 0x100 {
		fmt.Fprintf(&b, "STACK CFI INIT %x 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI %x .cfa: $rsp 16 +\n", addr, addr+4)
	}
	data := b.Bytes()
	p := &lint.Pass{Data: data, First: true}
	var s symfile.Scanner
	if n := testing.AllocsPerRun(10, func() {
		c := newFormatChecker(p)
		s.Reset(data, 0, len(data), 1)
		for s.Next() {
			c.Record(s.Record())
		}
	}); n > 1 { // the checker itself
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkFormatRecords measures the scan alone and with the checker.
func BenchmarkFormatRecords(b *testing.B) {
	var lines, cfi bytes.Buffer
	lines.WriteString(exampleHead)
	for addr := 0x1000; lines.Len() < 4<<20; addr += 0x140 {
		fmt.Fprintf(&lines, "FUNC %x 140 0 function\n", addr)
		for i := range 40 {
			fmt.Fprintf(&lines, "%x 8 %d 0\n", addr+8*i, i)
		}
	}
	cfi.WriteString(exampleHead)
	for addr := 0x1000; cfi.Len() < 4<<20; addr += 0x140 {
		fmt.Fprintf(&cfi, "STACK CFI INIT %x 140 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n", addr)
		for i := range 4 {
			fmt.Fprintf(&cfi, "STACK CFI %x $rbp: .cfa -16 + ^ .cfa: $rsp 16 +\n", addr+i)
		}
	}
	for name, data := range map[string][]byte{"lines": lines.Bytes(), "cfi": cfi.Bytes()} {
		for _, check := range []string{"scan", "check"} {
			b.Run(name+"/"+check, func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				p := &lint.Pass{Data: data, First: true}
				var s symfile.Scanner
				n := 0
				for b.Loop() {
					var c lint.Checker = newFormatChecker(p)
					s.Reset(data, 0, len(data), 1)
					for n = 0; s.Next(); n++ {
						if check == "check" {
							c.Record(s.Record())
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
			})
		}
	}
}
