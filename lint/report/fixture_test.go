package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
)

// A small catalogue and a run over it, in which every part of a finding occurs.

var (
	ruleRA = &lint.Rule{
		Name: "cfi-missing-ra", Family: "cfi", Severity: lint.Error,
		Summary: "INIT record has no .ra rule",
		Why:     "Without a return address the record is useless.",
		Effects: lint.Effects{
			{Impact: lint.Loses, Text: "ignores the record and falls back to frame pointers"},
			{Impact: lint.Loses, Text: "ignores the record and falls back to frame pointers"},
			{Impact: lint.Unaffected, Text: "keeps it"},
		},
		Bad:  lint.Example{Text: "MODULE Linux x86 0 a\nSTACK CFI INIT 10 5 .cfa: $esp 4 +\n", Line: 2},
		Good: "MODULE Linux x86 0 a\nSTACK CFI INIT 10 5 .cfa: $esp 4 + .ra: .cfa 4 - ^\n",
		Refs: []string{"symbol_files.md, STACK CFI records"},
	}
	ruleEncoding = &lint.Rule{
		Name: "format-encoding", Family: "format", Severity: lint.Error,
		Summary: "bytes that are no text", Why: "Consumers refuse them | or not.",
		Effects: lint.Effects{
			lint.Fine("keeps the bytes"),
			{Impact: lint.Rejects, Text: "fails to parse the file"},
			{Impact: lint.Rejects, Text: "fails to parse the file"},
		},
	}
	ruleDuplicate = &lint.Rule{
		Name: "func-duplicate", Family: "func", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
		Summary: "two FUNC records at one address", Why: "One of them is lost.",
	}
	ruleCoverage = &lint.Rule{
		Name: "coverage", Family: "cfi", Severity: lint.Info,
		Summary: "how much code has unwind records", Why: "A measure.",
	}
	ruleFRE = &lint.Rule{
		Name: "sframe-fre-range", Family: "sframe", Severity: lint.Error,
		Summary: "FRE outside its function", Why: "It is never found.",
	}
	ruleQuiet = &lint.Rule{
		Name: "win-type", Family: "win", Severity: lint.Error, Summary: "unknown type", Why: "It is ignored.",
	}
)

func testRegistry(t testing.TB) *lint.Registry {
	t.Helper()
	g, err := lint.NewRegistry(ruleEncoding, ruleDuplicate, ruleCoverage, ruleRA, ruleFRE, ruleQuiet)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// culprit is a finding in a text file whose culprit is the given part of the record.
func culprit(rule *lint.Rule, file string, line int, record, part, message string) lint.Finding {
	at := strings.Index(record, part)
	if at < 0 || part == "" {
		at = len(record)
	}
	return lint.Finding{
		Rule: rule, Severity: rule.Severity, File: file,
		Location: lint.Location{
			Line: line, Column: at + 1, EndColumn: at + 1 + len(part),
			Offset: int64(line*100 + at), Length: int64(len(part)),
		},
		Snippet: []byte(record), SnippetColumn: at + 1,
		Message: message, Effects: rule.Effects, Count: 1,
	}
}

// testRun is a run over four inputs: findings of all kinds, a binary, one that failed, and a clean one.
func testRun(g *lint.Registry) ([]*lint.FileResult, *lint.Summary) {
	const app = "out/app #1.sym"
	ra := culprit(ruleRA, app, 4711, "STACK CFI INIT 1930 55 .cfa: $esp 4 +", ".cfa: $esp 4 +", "INIT record has no .ra rule")
	ra.HasAddress, ra.Address, ra.Function = true, 0x1930, "-[Controller causeCrash]"
	ra.Detail = []string{"rows at 0x1931 and 0x1933 inherit the defect", "    0x1931: .cfa: $esp 8 +"}
	ra.Related = []lint.Related{
		{Location: lint.Location{Line: 12, Column: 1, EndColumn: 5}, Message: "FUNC [causeCrash] begins here"},
		{File: "src/other.sym", Location: lint.Location{Line: 3}, Message: "healthy twin"},
	}
	ra.Fix = &lint.Fix{Description: "add the rule the other rows have", Safe: true,
		Edits: []lint.Edit{{Offset: 471137, Length: 0, Text: " .ra: .cfa 4 - ^"}, {Offset: 471100, Length: 2}}}
	ra2 := ra
	ra2.Line, ra2.Related, ra2.Detail, ra2.Fix, ra2.Count = 4720, nil, nil, nil, 42

	enc := culprit(ruleEncoding, app, 7, "FILE 0 Gr\xfc\xdfe/\u4f60\u597d/\x1b[31mred.c", "\u597d/\x1b", "invalid UTF-8: caf\xe9")
	dup := culprit(ruleDuplicate, app, 9, "FUNC 1000 10 0 f<a, b>::g", "1000", "same start as line 8: 50% of it, too")
	soft := dup
	soft.Line, soft.Severity = 10, lint.Info
	cov := lint.Finding{Rule: ruleCoverage, Severity: lint.Info, File: app, Message: "97.2% of the code has unwind records", Count: 1}

	r1 := lint.NewFileResult(g, app, ra, ra2, enc, dup, soft, cov)
	r1.Module = lint.ModuleInfo{OS: "mac", Arch: "x86", ID: "CAFE0", Name: "app"}
	r1.Records = []lint.RecordCount{{Kind: "FUNC", Count: 769}, {Kind: "line", Count: 35797}, {Kind: "STACK CFI INIT", Count: 1200}}
	r1.Coverage = &lint.Coverage{FuncBytes: 200000, CFIBytes: 199999, LineBytes: 50000, Funcs: 769, FuncsCFI: 768, FuncsLines: 0}

	fre := lint.Finding{
		Rule: ruleFRE, Severity: lint.Error, File: "bin/libfoo.so",
		Location: lint.Location{Section: ".sframe", Offset: 0x1c4, Length: 2},
		Message:  "FRE starts past the end of its function", HasAddress: true, Address: 0x4011a0, Function: "do_work",
		Related: []lint.Related{{Location: lint.Location{Section: ".sframe", Offset: 0x20}, Message: "its FDE"}}, Count: 1,
	}
	r2 := lint.NewFileResult(g, "bin/libfoo.so", fre)
	r2.Kind = "elf"

	r3 := lint.NewFileResult(g, "bad/broken.sym")
	r3.Kind, r3.Err = "", errors.New("bad/broken.sym: not a Breakpad symbol file: line 1: want MODULE, found \x1b]0;")

	r4 := lint.NewFileResult(g, "clean.sym")
	r4.Module = lint.ModuleInfo{OS: "Linux", Arch: "x86_64", ID: "0", Name: "clean"}

	files := []*lint.FileResult{r1, r2, r3, r4}
	return files, summarize(files)
}

// summarize counts as the runner does.
func summarize(files []*lint.FileResult) *lint.Summary {
	s := &lint.Summary{Files: len(files)}
	for _, f := range files {
		if f.Err != nil {
			s.Failed++
		}
		for v, n := range f.Totals {
			s.Totals[v] += n
		}
	}
	return s
}

// render writes a whole report.
func render(t testing.TB, format string, o Options, files []*lint.FileResult, sum *lint.Summary) string {
	t.Helper()
	var b bytes.Buffer
	o.Writer = &b
	if o.Consumers == 0 {
		o.Consumers = lint.AllConsumers
	}
	r, err := New(format, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := report(r, files, sum); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func report(r Reporter, files []*lint.FileResult, sum *lint.Summary) error {
	if err := r.Begin(); err != nil {
		return err
	}
	for _, f := range files {
		if err := r.File(f); err != nil {
			return err
		}
	}
	return r.End(sum)
}

// renderOne writes the report of one file with the given findings.
func renderOne(t testing.TB, format string, o Options, findings ...lint.Finding) string {
	t.Helper()
	o.Registry = testRegistry(t)
	files := []*lint.FileResult{lint.NewFileResult(o.Registry, "a.sym", findings...)}
	return render(t, format, o, files, summarize(files))
}
