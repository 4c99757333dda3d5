package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symlint/symlint/lint"
)

// contract is the JSON document as the command-line contract shows it.
type contract struct {
	Version int
	Tool    struct{ Name, Version string }
	Files   []struct {
		Path    string
		Kind    *string
		Module  *struct{ OS, Arch, ID, Name string }
		Records map[string]int
		Error   *string
	}
	Diagnostics []map[string]any
	Summary     map[string]int
}

func TestJSONContract(t *testing.T) {
	g := testRegistry(t)
	files, sum := testRun(g)
	text := render(t, "json", Options{Registry: g, Version: "1"}, files, sum)
	var doc contract
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if doc.Version != 1 || doc.Tool.Name != "symlint" || doc.Tool.Version != "1" {
		t.Errorf("version %d, tool %+v", doc.Version, doc.Tool)
	}
	if len(doc.Files) != 4 || doc.Files[0].Records["STACK CFI INIT"] != 1200 || doc.Files[0].Module.ID != "CAFE0" ||
		*doc.Files[0].Kind != "sym" || doc.Files[0].Error != nil {
		t.Errorf("files %+v", doc.Files)
	}
	if broken := doc.Files[2]; broken.Error == nil || broken.Kind != nil || broken.Module != nil {
		t.Errorf("failed file %+v", broken)
	}
	if doc.Summary["error"] != 4 || doc.Summary["warning"] != 1 || doc.Summary["info"] != 2 {
		t.Errorf("summary %v", doc.Summary)
	}
	if len(doc.Diagnostics) != 7 {
		t.Fatalf("%d diagnostics", len(doc.Diagnostics))
	}
	got := doc.Diagnostics[4]
	want := map[string]any{
		"rule": "cfi-missing-ra", "family": "cfi", "severity": "error",
		"file": "out/app #1.sym", "line": 4711.0, "column": 24.0, "end_column": 38.0,
		"section": nil, "offset": 471123.0, "address": "0x1930", "function": "-[Controller causeCrash]",
		"message": "INIT record has no .ra rule",
		"consumers": map[string]any{
			"breakpad":      "ignores the record and falls back to frame pointers",
			"rust-minidump": "ignores the record and falls back to frame pointers",
			"symbolic":      "keeps it",
		},
	}
	for k, v := range want {
		if !reflect.DeepEqual(got[k], v) {
			t.Errorf("%s: %v, want %v", k, got[k], v)
		}
	}
	related := got["related"].([]any)[0].(map[string]any)
	if related["file"] != "out/app #1.sym" || related["line"] != 12.0 || related["message"] == "" {
		t.Errorf("related %v", related)
	}
	binary := doc.Diagnostics[6]
	if binary["section"] != ".sframe" || binary["offset"] != float64(0x1c4) || binary["line"] != nil || binary["column"] != nil {
		t.Errorf("binary diagnostic %v", binary)
	}

	// JSON Lines are the same objects.
	files, sum = testRun(g)
	lines := strings.Split(strings.TrimSuffix(render(t, "jsonl", Options{Registry: g}, files, sum), "\n"), "\n")
	for i, line := range lines {
		var d map[string]any
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(doc.Diagnostics[i], d); diff != "" {
			t.Errorf("line %d: %s", i, diff)
		}
	}
	if len(lines) != len(doc.Diagnostics) {
		t.Errorf("%d lines for %d diagnostics", len(lines), len(doc.Diagnostics))
	}
}

func TestJSONEmptyRun(t *testing.T) {
	g := testRegistry(t)
	var doc map[string]any
	if err := json.Unmarshal([]byte(render(t, "json", Options{Registry: g}, nil, &lint.Summary{})), &doc); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"diagnostics", "files"} {
		if list, ok := doc[key].([]any); !ok || len(list) != 0 {
			t.Errorf("%s is %v, want an empty list", key, doc[key])
		}
	}
	if got := render(t, "jsonl", Options{Registry: g}, nil, &lint.Summary{}); got != "" {
		t.Errorf("jsonl: %q", got)
	}
}

// Only the consumers that were asked for are told of.
func TestConsumers(t *testing.T) {
	only := lint.ConsumerSet(0).Add(lint.Symbolic)
	for _, format := range Formats {
		got := renderOne(t, format, Options{Consumers: only}, culprit(ruleRA, "a.sym", 1, "x", "x", "m"))
		// SARIF's rule metadata documents all of them.
		if i := strings.Index(got, `"results"`); format == "sarif" && i > 0 {
			got = got[i:]
		}
		if !strings.Contains(got, "keeps it") || strings.Contains(got, "falls back") {
			t.Errorf("%s:\n%s", format, got)
		}
	}
}

// command is a parsed workflow command, unescaped the way the runner does it.
type command struct {
	name  string
	props map[string]string
	text  string
}

func parseCommand(t *testing.T, line string) command {
	t.Helper()
	rest, ok := strings.CutPrefix(line, "::")
	head, text, ok2 := strings.Cut(rest, "::")
	if !ok || !ok2 {
		t.Fatalf("no command: %q", line)
	}
	name, list, _ := strings.Cut(head, " ")
	c := command{name: name, props: map[string]string{}}
	for prop := range strings.SplitSeq(list, ",") {
		k, v, ok := strings.Cut(prop, "=")
		if !ok {
			t.Fatalf("bad property %q in %q", prop, line)
		}
		v, err := url.PathUnescape(v)
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		c.props[k] = v
	}
	var err error
	if c.text, err = url.PathUnescape(text); err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	return c
}

func TestGitHubEscapes(t *testing.T) {
	f := culprit(ruleRA, "a,b:c%25.sym", 3, "FÜNC x", "x", "50%, 10%25 :: done")
	f.Detail = []string{"second line"}
	got := strings.TrimSuffix(renderOne(t, "github", Options{}, f), "\n")
	if strings.Contains(got, "\n") {
		t.Fatalf("more than one line: %q", got)
	}
	c := parseCommand(t, got)
	want := map[string]string{"title": "cfi-missing-ra", "file": "a,b:c%25.sym", "line": "3", "col": "6", "endColumn": "7"}
	if c.name != "error" || !reflect.DeepEqual(c.props, want) {
		t.Errorf("%+v, want %v", c, want)
	}
	if !strings.HasPrefix(c.text, "50%, 10%25 :: done\nsecond line\nbreakpad: ") {
		t.Errorf("text %q", c.text)
	}
}

// GitHub keeps ten of a level: every rule must be among them before any comes twice, and the rest is counted.
func TestGitHubRanking(t *testing.T) {
	g := testRegistry(t)
	var findings []lint.Finding
	for i := range 100 {
		findings = append(findings, culprit(ruleRA, "a.sym", i+1, "x", "x", "ra"))
	}
	for i := range 3 {
		findings = append(findings, culprit(ruleEncoding, "a.sym", 1000+i, "x", "x", "enc"))
		findings = append(findings, culprit(ruleFRE, "a.sym", 2000+i, "x", "x", "fre"))
	}
	for i := range 10 {
		findings = append(findings, culprit(ruleCoverage, "a.sym", 3000+i, "x", "x", "cov"))
	}
	res := lint.NewFileResult(g, "a.sym", findings...)
	files := []*lint.FileResult{res}
	out := render(t, "github", Options{Registry: g}, files, summarize(files))
	count := map[string]int{}
	var order []string
	for line := range strings.Lines(out) {
		c := parseCommand(t, strings.TrimSuffix(line, "\n"))
		count[c.name]++
		order = append(order, c.props["title"])
	}
	if count["error"] != 10 || count["notice"] != 10 || count["warning"] != 0 {
		t.Errorf("%v commands, want ten errors and ten notices", count)
	}
	wantOrder := []string{"cfi-missing-ra", "format-encoding", "sframe-fre-range"}
	if got := order[:6]; !reflect.DeepEqual(got, append(wantOrder, wantOrder...)) {
		t.Errorf("order %v", got)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, "96 more errors, 1 more info") {
		t.Errorf("last notice %q", last)
	}
}

// Exactly as many as GitHub keeps: nothing is left out and no notice says so.
func TestGitHubExactly(t *testing.T) {
	var findings []lint.Finding
	for i := range githubCap {
		findings = append(findings, culprit(ruleCoverage, "a.sym", i+1, "x", "x", "cov"))
	}
	out := renderOne(t, "github", Options{}, findings...)
	if n := strings.Count(out, "\n"); n != githubCap || strings.Contains(out, "more") {
		t.Errorf("%d lines:\n%s", n, out)
	}
}

type junitDoc struct {
	Suites []struct {
		Name                             string `xml:"name,attr"`
		Tests, Failures, Errors, Skipped int    `xml:"-"`
		T                                int    `xml:"tests,attr"`
		F                                int    `xml:"failures,attr"`
		E                                int    `xml:"errors,attr"`
		S                                int    `xml:"skipped,attr"`
		Cases                            []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
			Output  string    `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func parseJUnit(t *testing.T, text string) *junitDoc {
	t.Helper()
	var doc junitDoc
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for _, s := range doc.Suites {
		var f, e, k int
		for _, c := range s.Cases {
			if c.Failure != nil {
				f++
			}
			if c.Error != nil {
				e++
			}
			if c.Skipped != nil {
				k++
			}
		}
		if len(s.Cases) != s.T || f != s.F || e != s.E || k != s.S {
			t.Errorf("suite %q counts %d %d %d %d, has %d %d %d %d", s.Name, s.T, s.F, s.E, s.S, len(s.Cases), f, e, k)
		}
	}
	return &doc
}

func TestJUnit(t *testing.T) {
	g := testRegistry(t)
	files, sum := testRun(g)
	doc := parseJUnit(t, render(t, "junit", Options{Registry: g}, files, sum))
	if len(doc.Suites) != 4 {
		t.Fatalf("%d suites", len(doc.Suites))
	}
	for i, want := range [][4]int{{6, 3, 0, 0}, {6, 1, 0, 0}, {7, 0, 1, 6}, {6, 0, 0, 0}} {
		if s := doc.Suites[i]; [4]int{s.T, s.F, s.E, s.S} != want {
			t.Errorf("suite %s: %d %d %d %d, want %v", s.Name, s.T, s.F, s.E, s.S, want)
		}
	}
}

// A failure quotes twenty findings at most and tells how many there are.
func TestJUnitBounded(t *testing.T) {
	g := testRegistry(t)
	var findings []lint.Finding
	for i := range 500 {
		findings = append(findings, culprit(ruleDuplicate, "a.sym", i+1, "x", "x", fmt.Sprintf("twice %d", i)))
	}
	findings[400].Severity = lint.Error
	res := lint.NewFileResult(g, "a.sym", findings...)
	res.Rules[0].Findings = 700
	files := []*lint.FileResult{res}
	for _, c := range parseJUnit(t, render(t, "junit", Options{Registry: g}, files, summarize(files))).Suites[0].Cases {
		if c.Name != "func-duplicate" {
			if c.Failure != nil {
				t.Errorf("%s fails", c.Name)
			}
			continue
		}
		if n := strings.Count(c.Failure.Text, "twice"); n != 20 {
			t.Errorf("%d findings quoted", n)
		}
		if c.Failure.Type != "error" || c.Failure.Message != "twice 400" || !strings.Contains(c.Failure.Text, "680 more findings of 700") {
			t.Errorf("failure %+v", c.Failure)
		}
	}
}

func TestJUnitHostile(t *testing.T) {
	doc := parseJUnit(t, renderOne(t, "junit", Options{}, hostileFinding()))
	if got := doc.Suites[0].Cases[3].Failure.Text; !strings.Contains(got, `\x1b]0;owned\x07\x1b[31m\r\n::error file=x::forged`) {
		t.Errorf("text %q", got)
	}
}
