package report

import (
	"strings"
	"testing"
	"unicode"

	"github.com/symlint/symlint/lint"
)

// The record and the caret as they must stand under each other, worked out by hand.
func TestCaret(t *testing.T) {
	for _, tc := range []struct {
		name, record, part string
		want               []string
	}{
		{"contract", "STACK CFI INIT 1930 55 .cfa: $esp 4 +", ".cfa: $esp 4 +", []string{
			"    STACK CFI INIT 1930 55 .cfa: $esp 4 +",
			"                           ^~~~~~~~~~~~~~"}},
		{"first byte", "FUNC x", "F", []string{"    FUNC x", "    ^"}},
		{"at the end", "FUNC x", "", []string{"    FUNC x", "          ^"}},
		{"tab before", "a\tb c", "b", []string{`    a\tb c`, "       ^"}},
		{"tab itself", "a\tb c", "\t", []string{`    a\tb c`, "     ^~"}},
		{"multi-byte runes before", "FÜNC 你好 x", "x", []string{"    FÜNC 你好 x", "            ^"}},
		{"multi-byte runes within", "F 你好 x", "你好", []string{"    F 你好 x", "      ^~"}},
		{"astral rune", "😀😀 x", "x", []string{"    😀😀 x", "       ^"}},
		{"invalid bytes before", "a\xff\xfeb x", "x", []string{`    a\xff\xfeb x`, "               ^"}},
		{"invalid byte itself", "ab\xffc", "\xff", []string{`    ab\xffc`, "      ^~~~"}},
		{"second half of a rune", "aéz", "\xa9z", []string{"    aéz", "     ^~"}},
		{"carriage return within", "a\rb x", "x", []string{`    a\rb x`, "         ^"}},
		{"escape sequence before", "\x1b[2Jx", "x", []string{`    \x1b[2Jx`, "           ^"}},
		{"zero-width and bidi", "a\u200b\u202eb", "b", []string{`    a\u200b\u202eb`, "                 ^"}},
		{"C1 control", "a\u009bb", "b", []string{`    a\u009bb`, "           ^"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := renderOne(t, "text", Options{Quiet: true}, culprit(ruleDuplicate, "a.sym", 3, tc.record, tc.part, "m"))
			lines := strings.Split(got, "\n")
			if len(lines) != 4 || lines[1] != tc.want[0] || lines[2] != tc.want[1] {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(tc.want, "\n"))
			}
		})
	}
}

// The collector cuts long records around the culprit; what is missing is marked, and no half characters show.
func TestCaretInCutRecord(t *testing.T) {
	record := strings.Repeat("你", 200) + "X" + strings.Repeat("ü", 300)
	const column = 600                      // of X, 0-based
	const from = column - lint.MaxSnippet/3 // in the middle of a character, and so is the end
	f := culprit(ruleDuplicate, "a.sym", 3, "X", "X", "m")
	f.Snippet = []byte(record)[from : from+lint.MaxSnippet]
	f.Column, f.EndColumn, f.SnippetColumn = column+1, column+2, column-from+1
	lines := strings.Split(renderOne(t, "text", Options{Quiet: true}, f), "\n")
	// 80 bytes before X hold 26 whole characters of three bytes, 159 behind it 79 of two.
	if want := indent + "…" + strings.Repeat("你", 26) + "X" + strings.Repeat("ü", 79) + "…"; lines[1] != want {
		t.Errorf("got  %q\nwant %q", lines[1], want)
	}
	if want := indent + strings.Repeat(" ", 27) + "^"; lines[2] != want {
		t.Errorf("caret %q, want %q", lines[2], want)
	}

	f = culprit(ruleDuplicate, "a.sym", 3, strings.Repeat("x", lint.MaxSnippet), "x", "m")
	if lines := strings.Split(renderOne(t, "text", Options{Quiet: true}, f), "\n"); !strings.HasSuffix(lines[1], "x…") {
		t.Errorf("the cut at the right is not marked: %q", lines[1])
	}
}

func TestTextCapsPerRule(t *testing.T) {
	g := testRegistry(t)
	var findings []lint.Finding
	for i := range 1234 {
		findings = append(findings, culprit(ruleRA, "a.sym", 10+i, "STACK CFI INIT 1 1", "1", "no .ra"))
	}
	findings = append(findings, culprit(ruleDuplicate, "a.sym", 5000, "FUNC 1 1 0 x", "1", "twice"))
	render := func(max int, counted int) string {
		res := lint.NewFileResult(g, "a.sym", findings...)
		res.Rules[1].Findings, res.Rules[1].BySeverity[lint.Error] = counted, counted
		return render(t, "text", Options{Registry: g, MaxPerRule: max, Quiet: true}, []*lint.FileResult{res}, &lint.Summary{})
	}
	got := render(3, 1234)
	if n := strings.Count(got, ": error: no .ra"); n != 3 {
		t.Errorf("%d findings shown, want 3", n)
	}
	if !strings.Contains(got, ":5000:6: warning: twice") {
		t.Error("a rule was hidden behind another")
	}
	last := "a.sym: error: 1231 more findings [cfi-missing-ra] (--max-per-rule 0 shows all)\n"
	if !strings.HasSuffix(got, last) || strings.Count(got, "more finding") != 1 {
		t.Errorf("ends %q, want %q", got[max(0, len(got)-200):], last)
	}
	if all := render(0, 1234); strings.Count(all, ": error: no .ra") != 1234 || strings.Contains(all, "more finding") {
		t.Error("0 does not show all")
	}
	// The result may hold fewer findings than were counted.
	if got := render(0, 1300); !strings.HasSuffix(got, "a.sym: error: 66 more findings [cfi-missing-ra]\n") {
		t.Errorf("ends %q", got[max(0, len(got)-200):])
	}
	if got := render(5000, 1235); !strings.HasSuffix(got, "a.sym: error: 1 more finding [cfi-missing-ra] (--max-per-rule 0 shows all)\n") {
		t.Errorf("ends %q", got[max(0, len(got)-200):])
	}
}

func TestSummaryLine(t *testing.T) {
	for _, tc := range []struct {
		sum  lint.Summary
		want string
	}{
		{lint.Summary{Files: 1}, "no findings in 1 file"},
		{lint.Summary{Files: 3, Totals: [4]int{0, 0, 1, 2}}, "2 errors, 1 warning in 3 files"},
		{lint.Summary{Files: 2, Totals: [4]int{0, 2, 0, 1}}, "1 error, 2 infos in 2 files"},
		{lint.Summary{Files: 2, Failed: 2}, "no findings in 0 files; 2 could not be checked"},
		{lint.Summary{Files: 5, Suppressed: 7}, "no findings in 5 files, 7 known to the baseline"},
	} {
		if got := summaryLine(&tc.sum); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.sum, got, tc.want)
		}
	}
}

// Quiet leaves the findings and drops the summary; a failed input is not text's business.
func TestTextQuietAndFailed(t *testing.T) {
	g := testRegistry(t)
	files, sum := testRun(g)
	loud := render(t, "text", Options{Registry: g}, files, sum)
	files, sum = testRun(g)
	quiet := render(t, "text", Options{Registry: g, Quiet: true}, files, sum)
	if loud != quiet+summaryLine(sum)+"\n" {
		t.Errorf("quiet output is not the output less its summary:\n%s", quiet)
	}
	if strings.Contains(quiet, "broken.sym") {
		t.Error("the failed input is on stdout")
	}
}

// Colour changes nothing but colour.
func TestTextColor(t *testing.T) {
	g := testRegistry(t)
	files, sum := testRun(g)
	plain := render(t, "text", Options{Registry: g, Stats: true}, files, sum)
	files, sum = testRun(g)
	colored := render(t, "text", Options{Registry: g, Stats: true, Color: true}, files, sum)
	if strings.Contains(plain, "\x1b") {
		t.Error("escape sequences without colour")
	}
	stripped := stripSGR(colored)
	if stripped == colored || stripped != plain {
		t.Errorf("stripped of colour:\n%s\nwant\n%s", stripped, plain)
	}
}

// stripSGR removes "select graphic rendition" sequences.
func stripSGR(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return b.String() + s
		}
		j := strings.IndexByte(s[i:], 'm')
		b.WriteString(s[:i])
		s = s[i+j+1:]
	}
}

// hostile holds what must not reach a terminal, a log parser or an XML parser as it is.
const hostile = "\x1b]0;owned\x07\x1b[31m\r\n::error file=x::forged\u2028\u202e\u009b2J\x00\x7f\xff\u2066]]>&<a b=\"'c'\">%0A::,\ufffe"

func hostileFinding() lint.Finding {
	f := culprit(ruleRA, "dir/"+hostile, 1, "FUNC "+hostile+" end", "end", "m "+hostile)
	f.Function, f.Subject = hostile, hostile
	f.Detail = []string{hostile, "d" + hostile}
	f.Effects[0].Text = hostile
	f.Related = []lint.Related{{File: hostile, Location: lint.Location{Line: 2}, Message: hostile}}
	f.Fix = &lint.Fix{Description: hostile, Edits: []lint.Edit{{Text: hostile}}}
	return f
}

func TestInjection(t *testing.T) {
	schema := sarifSchemaFile(t)
	g := testRegistry(t)
	for _, format := range Formats {
		binary := hostileFinding()
		binary.Section, binary.Snippet = ".s"+hostile, nil
		res := lint.NewFileResult(g, hostile, hostileFinding(), binary)
		res.Module.Name, res.Err = hostile, stringError(hostile)
		res.Records = []lint.RecordCount{{Kind: hostile, Count: 1}}
		files := []*lint.FileResult{res}
		got := render(t, format, Options{Registry: g, Stats: true}, files, summarize(files))
		for _, r := range got {
			// JSON escapes what is below a blank itself; its readers unescape, so all else is theirs.
			bad := unicode.IsControl(r) && r != '\n'
			if format == "json" || format == "jsonl" || format == "sarif" {
				bad = r < ' ' && r != '\n'
			} else {
				bad = bad || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || r == '\ufffd'
			}
			if bad {
				t.Errorf("%s: %U in output\n%q", format, r, got)
				break
			}
		}
		for line := range strings.Lines(got) {
			if format != "github" && strings.HasPrefix(line, "::") {
				t.Errorf("%s: workflow command %q", format, line)
			}
		}
		if format == "sarif" {
			validateSARIF(t, schema, got)
		}
		if format == "github" && strings.Count(got, "\n") != 3 {
			t.Errorf("github: %d lines, want one for each finding and one for the failure:\n%s", strings.Count(got, "\n"), got)
		}
	}
}

type stringError string

func (e stringError) Error() string { return string(e) }

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain ASCII, äöü, 你好": "plain ASCII, äöü, 你好",
		"a\tb\r\n":             `a\tb\r\n`,
		"\x1b[0m":              `\x1b[0m`,
		"\x00\x7f":             `\x00\x7f`,
		"\xff\xc3(":            `\xff\xc3(`,
		"\u202e\u2028\u00a0":   `\u202e\u2028\u00a0`,
		"\U000e0041":           `\U000e0041`,
		"\ufffd":               "\ufffd", // the character itself is text
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, tc := range []struct {
		part, whole uint64
		want        string
	}{
		{0, 0, "-"}, {0, 5, "0.0%"}, {5, 5, "100.0%"}, {199999, 200000, "99.9%"}, {1, 3, "33.3%"}, {2, 3, "66.6%"},
		{1<<64 - 2, 1<<64 - 1, "99.9%"}, {1<<64 - 1, 1<<64 - 1, "100.0%"}, {9, 3, "100.0%"},
	} {
		if got := percent(tc.part, tc.whole); got != tc.want {
			t.Errorf("percent(%d, %d) = %s, want %s", tc.part, tc.whole, got, tc.want)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	_, err := New("serif", Options{Registry: testRegistry(t)})
	if err == nil || !strings.Contains(err.Error(), `did you mean "sarif"`) {
		t.Errorf("got %v", err)
	}
}
