package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/symlint/symlint/lint"
)

// sarifSchemaFile compiles the schema that OASIS publishes with the standard, formats such as URIs asserted.
func sarifSchemaFile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(sarifSchema, doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile(sarifSchema)
}

func validateSARIF(t *testing.T, schema *jsonschema.Schema, text string) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := schema.Validate(doc); err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
}

// sarifLog is what tests read of a log, written down again from the standard.
type sarifLog struct {
	Version string
	Runs    []struct {
		ColumnKind string
		Tool       struct {
			Driver struct {
				SemanticVersion string
				Rules           []struct{ ID, Name string }
			}
		}
		Results []struct {
			RuleID              string
			RuleIndex           int
			Level               string
			Message             struct{ Text string }
			PartialFingerprints map[string]string
			Locations           []struct {
				PhysicalLocation struct {
					ArtifactLocation struct{ URI, URIBaseID string }
					Region           map[string]any
					Address          *struct {
						OffsetFromParent int
						ParentIndex      int
					}
				}
			}
			RelatedLocations []struct{ ID int }
			Fixes            []any
		}
		Artifacts   []any
		Addresses   []struct{ Kind, Name string }
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []struct {
				Level   string
				Message struct{ Text string }
			}
		}
	}
}

func parseSARIF(t *testing.T, text string) *sarifLog {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(text), &log); err != nil {
		t.Fatal(err)
	}
	if len(log.Runs) != 1 {
		t.Fatalf("%d runs", len(log.Runs))
	}
	return &log
}

func TestSARIFValid(t *testing.T) {
	schema := sarifSchemaFile(t)
	g := testRegistry(t)
	files, sum := testRun(g)
	text := render(t, "sarif", Options{Registry: g, Version: "v1.2.3"}, files, sum)
	validateSARIF(t, schema, text)

	run := parseSARIF(t, text).Runs[0]
	if len(run.Tool.Driver.Rules) != len(g.Rules()) {
		t.Errorf("%d rules described, want %d", len(run.Tool.Driver.Rules), len(g.Rules()))
	}
	if run.Tool.Driver.SemanticVersion != "1.2.3" {
		t.Errorf("semanticVersion %q", run.Tool.Driver.SemanticVersion)
	}
	prints := map[string]bool{}
	for _, r := range run.Results {
		rule := run.Tool.Driver.Rules[r.RuleIndex]
		if rule.ID != r.RuleID || rule.ID == rule.Name {
			t.Errorf("result of %s points to rule %+v", r.RuleID, rule)
		}
		for _, p := range r.PartialFingerprints {
			if prints[p] {
				t.Errorf("fingerprint of %s used twice", r.RuleID)
			}
			prints[p] = true
		}
		for _, rel := range r.RelatedLocations {
			if !strings.Contains(r.Message.Text, fmt.Sprintf("](%d)", rel.ID)) {
				t.Errorf("related location %d is not linked in %q", rel.ID, r.Message.Text)
			}
		}
		p := r.Locations[0].PhysicalLocation
		if p.Address != nil {
			if a := run.Addresses[p.Address.ParentIndex]; a.Name != ".sframe" || p.Address.OffsetFromParent != 0x1c4 {
				t.Errorf("address %+v in %+v", p.Address, a)
			}
			if p.Region != nil { // an ELF file's section offset is no file offset
				t.Errorf("binary result has region %v", p.Region)
			}
		}
	}
	if len(prints) != sum.Totals[lint.Error]+sum.Totals[lint.Warning]+sum.Totals[lint.Info] {
		t.Errorf("%d fingerprints for %v findings", len(prints), sum.Totals)
	}
	inv := run.Invocations[0]
	if inv.ExecutionSuccessful || len(inv.ToolExecutionNotifications) != 1 ||
		!strings.Contains(inv.ToolExecutionNotifications[0].Message.Text, "not a Breakpad symbol file") {
		t.Errorf("invocation %+v, want one failure", inv)
	}
}

func TestSARIFEmptyRun(t *testing.T) {
	g := testRegistry(t)
	text := render(t, "sarif", Options{Registry: g, Version: "(devel)"}, nil, &lint.Summary{})
	validateSARIF(t, sarifSchemaFile(t), text)
	if !strings.Contains(text, `"results": [`) || strings.Contains(text, "semanticVersion") ||
		!parseSARIF(t, text).Runs[0].Invocations[0].ExecutionSuccessful {
		t.Errorf("empty run:\n%s", text)
	}
}

// The schema must be able to fail, or the tests above say nothing.
func TestSARIFSchemaRefuses(t *testing.T) {
	schema := sarifSchemaFile(t)
	g := testRegistry(t)
	files, sum := testRun(g)
	text := render(t, "sarif", Options{Registry: g}, files, sum)
	for old, bad := range map[string]string{
		`"unicodeCodePoints"`:            `"bytes"`,
		`"level":"error"`:                `"level":"fatal"`,
		`"startLine":7`:                  `"startLine":0`,
		`"uri":"out/app%20%231.sym"`:     `"uri":"out/a b\\c"`,
		`"executionSuccessful":false,`:   ``,
		`"text":"add the rule the other`: `"txt":"add the rule the other`,
	} {
		broken := strings.ReplaceAll(text, old, bad)
		if broken == text {
			t.Errorf("%s does not occur", old)
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(broken))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("schema accepts %s", bad)
		}
	}
}

// Columns count Unicode code points, an invalid byte as one (SARIF 3.14.17, 3.30.2).
func TestSARIFColumns(t *testing.T) {
	schema := sarifSchemaFile(t)
	for _, tc := range []struct {
		name, record, part string
		start, end         float64
	}{
		{"ascii", "FUNC 10 x", "x", 9, 10},
		{"two bytes before", "FÜNC 10 x", "x", 9, 10},
		{"three and four bytes before", "你😀 x", "x", 4, 5},
		{"within", "a 你😀b c", "你😀b", 3, 6},
		{"invalid bytes before", "\xff\xfe\xfd x", "x", 5, 6},
		{"invalid bytes within", "a \xe4\xbd z", "\xe4\xbd", 3, 5},
		{"at the end", "ÄÖ", "", 3, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := culprit(ruleRA, "a.sym", 5, tc.record, tc.part, "m")
			text := renderOne(t, "sarif", Options{}, f)
			validateSARIF(t, schema, text)
			r := parseSARIF(t, text).Runs[0].Results[0].Locations[0].PhysicalLocation.Region
			if r["startLine"] != 5.0 || r["endLine"] != 5.0 || r["startColumn"] != tc.start || r["endColumn"] != tc.end {
				t.Errorf("region %v, want columns %v to %v", r, tc.start, tc.end)
			}
			if r["byteOffset"] != float64(f.Offset) || r["byteLength"] != float64(len(tc.part)) {
				t.Errorf("region %v, want bytes %d+%d", r, f.Offset, len(tc.part))
			}
		})
	}
}

// In a cut record the bytes before the snippet are taken for ASCII; bytes are then not told, since both forms of a
// region must denote the same place.
func TestSARIFColumnsOfCutRecord(t *testing.T) {
	f := culprit(ruleRA, "a.sym", 5, "é "+strings.Repeat("x", 100), "xxx", "m")
	f.Column, f.EndColumn = 1004, 1007
	text := renderOne(t, "sarif", Options{}, f)
	validateSARIF(t, sarifSchemaFile(t), text)
	r := parseSARIF(t, text).Runs[0].Results[0].Locations[0].PhysicalLocation.Region
	if r["startColumn"] != 1003.0 || r["endColumn"] != 1006.0 {
		t.Errorf("region %v, want columns 1003 to 1006", r)
	}
	if _, told := r["byteOffset"]; told {
		t.Errorf("region %v has bytes", r)
	}
}

// Lines, addresses and ids change with every build; a fingerprint must not. It must tell apart what is different.
func TestSARIFFingerprints(t *testing.T) {
	prints := func(module, path string, findings ...lint.Finding) []string {
		g := testRegistry(t)
		f := lint.NewFileResult(g, path, findings...)
		f.Module = lint.ModuleInfo{Name: module, ID: path}
		files := []*lint.FileResult{f}
		var out []string
		for _, r := range parseSARIF(t, render(t, "sarif", Options{Registry: g}, files, summarize(files))).Runs[0].Results {
			out = append(out, r.PartialFingerprints["symlint/v1"])
		}
		return out
	}
	at := func(line int, address uint64, function string) lint.Finding {
		f := culprit(ruleRA, "a.sym", line, fmt.Sprintf("STACK CFI INIT %x 5", address), "", fmt.Sprintf("bad at %#x", address))
		f.HasAddress, f.Address, f.Function = true, address, function
		return f
	}
	old := prints("app", "v1/app.sym", at(10, 0x1000, "f"), at(11, 0x1010, "f"), at(12, 0x1020, "g"))
	moved := prints("app", "v2/app.sym", at(20, 0x2000, "f"), at(31, 0x2010, "f"), at(42, 0x2020, "g"))
	if fmt.Sprint(old) != fmt.Sprint(moved) {
		t.Errorf("fingerprints change with the build: %v, %v", old, moved)
	}
	if old[0] == old[1] || old[0] == old[2] || old[1] == old[2] {
		t.Errorf("fingerprints collide: %v", old)
	}
	if other := prints("lib", "v1/app.sym", at(10, 0x1000, "f")); other[0] == old[0] {
		t.Error("module name does not matter")
	}
	if a, b := prints("", "v1/x.sym", at(1, 1, "f")), prints("", "v2/x.sym", at(1, 1, "f")); a[0] != b[0] {
		t.Error("without a module name the file's base name counts, not its directory")
	}
}

// A million keys must not be remembered at once, nor must nearby repeats be forgotten.
func TestOrdinalsAreBounded(t *testing.T) {
	var o ordinals
	o.reset()
	for i := range 3 * ordinalWindow {
		key := fmt.Sprint(i)
		for want := range 3 {
			if got := o.next("rule", key); got != want {
				t.Fatalf("key %d: ordinal %d, want %d", i, got, want)
			}
		}
		if got := o.next("often", ""); got != i {
			t.Fatalf("repeated key: ordinal %d, want %d", got, i)
		}
		if n := len(o.new) + len(o.old); n > 2*ordinalWindow+2 {
			t.Fatalf("%d keys remembered", n)
		}
	}
}

// Text from a file must not become a link of the viewer.
func TestSARIFMessageLinks(t *testing.T) {
	f := culprit(ruleRA, "a.sym", 1, "x", "x", "name [click](http://evil.example) odd")
	f.Related = []lint.Related{{Location: lint.Location{Line: 2}, Message: "-[A b] here"}}
	got := parseSARIF(t, renderOne(t, "sarif", Options{}, f)).Runs[0].Results[0].Message.Text
	if strings.Contains(got, "[click](http") {
		t.Errorf("link of the file's making in %q", got)
	}
	if want := `[-\[A b\] here](1)`; !strings.Contains(got, want) {
		t.Errorf("%q lacks %q", got, want)
	}
}

func TestArtifactURI(t *testing.T) {
	root := t.TempDir()
	for _, tc := range []struct{ root, file, want string }{
		{"", "a/b.sym", "a/b.sym"},
		{"", "./a//b.sym", "a/b.sym"},
		{"", "a b#?.sym", "a%20b%23%3F.sym"},
		{"", "100%.sym", "100%25.sym"},
		{"", "c:d.sym", "./c:d.sym"},
		{"", "\xff.sym", "%FF.sym"},
		{"", "-", "-"},
		{root, filepath.Join(root, "x", "ü.sym"), "x/%C3%BC.sym"},
	} {
		got, under := artifactURI(tc.root, tc.file)
		if got != tc.want || !under {
			t.Errorf("artifactURI(%q, %q) = %q, %v; want %q under the root", tc.root, tc.file, got, under, tc.want)
		}
		u, err := url.Parse(got)
		if err != nil || u.Scheme != "" {
			t.Errorf("%q is no relative reference: %v", got, err)
		}
	}
	for _, file := range []string{filepath.Join(filepath.Dir(root), "elsewhere.sym"), "../up.sym"} {
		got, under := artifactURI(root, file)
		if under || !strings.HasPrefix(got, "file:///") || strings.Contains(got, "..") {
			t.Errorf("artifactURI(%q, %q) = %q, %v; want an absolute URI", root, file, got, under)
		}
	}
}

// A failed input must not stop the others from being told, and its findings stay.
func TestSARIFFailedInputKeepsFindings(t *testing.T) {
	g := testRegistry(t)
	res := lint.NewFileResult(g, "a.sym", culprit(ruleRA, "a.sym", 1, "x", "x", "m"))
	res.Err = errors.New("cut off")
	files := []*lint.FileResult{res}
	text := render(t, "sarif", Options{Registry: g}, files, summarize(files))
	validateSARIF(t, sarifSchemaFile(t), text)
	run := parseSARIF(t, text).Runs[0]
	if len(run.Results) != 1 || run.Invocations[0].ExecutionSuccessful {
		t.Errorf("%d results, executionSuccessful %v", len(run.Results), run.Invocations[0].ExecutionSuccessful)
	}
}
