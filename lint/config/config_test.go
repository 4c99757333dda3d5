package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/symlint/symlint/lint"
)

func testRegistry(t testing.TB) *lint.Registry {
	t.Helper()
	rule := func(name, family string, v lint.Severity) *lint.Rule {
		return &lint.Rule{Name: name, Family: family, Severity: v, Summary: "s", Why: "w"}
	}
	g, err := lint.NewRegistry(
		rule("format-encoding", "format", lint.Error),
		rule("format-number-case", "format", lint.Info),
		rule("func-overlap", "func", lint.Error),
		rule("func-duplicate", "func", lint.Warning),
		rule("cfi-missing-ra", "cfi", lint.Error),
		rule("cfi-outermost", "cfi", lint.Info),
		rule("coverage", "cfi", lint.Info),
	)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// describe lists the rules in force as "name" or "name=severity" where it is not the default.
func describe(g *lint.Registry, s *lint.Settings) string {
	var out []string
	for _, r := range g.Rules() {
		switch v := s.Severity(g, r); v {
		case lint.Off:
		case r.Severity:
			out = append(out, r.Name)
		default:
			out = append(out, r.Name+"="+v.String())
		}
	}
	return strings.Join(out, " ")
}

func parse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse(".symlint.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const allRules = "format-encoding format-number-case func-overlap func-duplicate cfi-missing-ra cfi-outermost coverage"

func TestSettings(t *testing.T) {
	g := testRegistry(t)
	for _, tc := range []struct {
		name, text string
		flags      Flags
		want       string
	}{
		{"nothing said", "", Flags{}, allRules},
		{"select family", `select = ["func"]`, Flags{}, "func-overlap func-duplicate"},
		{"select glob", `select = ["*-o*"]`, Flags{}, "func-overlap cfi-outermost"},
		{"select severity", `select = ["warning"]`, Flags{}, "func-duplicate"},
		{"ignore", `ignore = ["cfi", "func-overlap"]`, Flags{}, "format-encoding format-number-case func-duplicate"},
		{"ignore severity", `ignore = ["info", "warning"]`, Flags{}, "format-encoding func-overlap cfi-missing-ra"},
		{"severity", "[severity]\nfunc-overlap = \"warning\"\ncoverage = \"off\"", Flags{},
			"format-encoding format-number-case func-overlap=warning func-duplicate cfi-missing-ra cfi-outermost"},
		{"exact severity before family, whatever the order", "[severity]\ncfi-missing-ra = \"warning\"\ncfi = \"off\"", Flags{},
			"format-encoding format-number-case func-overlap func-duplicate cfi-missing-ra=warning"},
		{"severity selects nothing", "select = [\"func\"]\n[severity]\ncfi-missing-ra = \"warning\"", Flags{}, "func-overlap func-duplicate"},
		{"severity decides what a severity selects", "select = [\"error\"]\n[severity]\nfunc-overlap = \"warning\"\ncoverage = \"error\"", Flags{},
			"format-encoding cfi-missing-ra coverage=error"},
		{"ignore beats select in one layer", "select = [\"cfi-missing-ra\", \"func\"]\nignore = [\"cfi\"]", Flags{}, "func-overlap func-duplicate"},

		{"select flag replaces", `select = ["func"]`, Flags{Select: []string{"format"}}, "format-encoding format-number-case"},
		{"ignore flag adds", `ignore = ["func"]`, Flags{Ignore: []string{"format"}}, "cfi-missing-ra cfi-outermost coverage"},
		{"file's ignore holds against a family flag", `ignore = ["coverage"]`, Flags{Select: []string{"cfi"}}, "cfi-missing-ra cfi-outermost"},
		{"select flag names an ignored rule", `ignore = ["cfi"]`, Flags{Select: []string{"cfi-outermost", "func"}},
			"func-overlap func-duplicate cfi-outermost"},
		{"select flag names a rule that is off", "[severity]\ncfi = \"off\"", Flags{Select: []string{"coverage"}}, "coverage"},
		{"severity flag beats the file", "[severity]\ncoverage = \"off\"", Flags{Severity: []string{"coverage=error"}},
			"format-encoding format-number-case func-overlap func-duplicate cfi-missing-ra cfi-outermost coverage=error"},
		{"severity flags count from left to right", "", Flags{Select: []string{"coverage"}, Severity: []string{"coverage=error", "coverage=warning"}},
			"coverage=warning"},
		{"severity flag off", "", Flags{Severity: []string{"cfi=off", "format=off"}}, "func-overlap func-duplicate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := parse(t, tc.text).Settings(g, "x.sym", tc.flags)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(g, s); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestNilConfig(t *testing.T) {
	g := testRegistry(t)
	var c *Config
	half := 50.0
	s, err := c.Settings(g, "x.sym", Flags{Select: []string{"func"}, Consumers: []string{"symbolic"}, MinCoverage: &half})
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(g, s); got != "func-overlap func-duplicate" {
		t.Error(got)
	}
	if s.MinCoverage != 0.5 || s.Consumers != lint.ConsumerSet(0).Add(lint.Symbolic) {
		t.Errorf("%v %v", s.MinCoverage, s.Consumers)
	}
	if err := c.Check(g); err != nil {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	text := "fail-on = 'never'\nmax-per-rule = 0\nmin-coverage = 97.5\nconsumers = ['breakpad', 'symbolic']\nbaseline = 'ci/known.json'\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	found, err := Find(deep)
	if err != nil || found != path {
		t.Fatalf("Find = %q, %v; want %q", found, err, path)
	}
	// A directory of that name is none, and the search goes on.
	if err := os.Mkdir(filepath.Join(deep, FileName), 0o777); err != nil {
		t.Fatal(err)
	}
	if found, err = Find(deep); err != nil || found != path {
		t.Fatalf("Find = %q, %v; want %q", found, err, path)
	}
	c, err := Load(found)
	if err != nil {
		t.Fatal(err)
	}
	if *c.FailOn != lint.Off || *c.MaxPerRule != 0 || c.Baseline != filepath.Join(dir, "ci", "known.json") {
		t.Errorf("%v %v %q", *c.FailOn, *c.MaxPerRule, c.Baseline)
	}
	s, err := c.Settings(testRegistry(t), "x.sym", Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if s.MinCoverage != 0.975 || s.Consumers.Has(lint.RustMinidump) || !s.Consumers.Has(lint.Symbolic) {
		t.Errorf("%v %v", s.MinCoverage, s.Consumers)
	}
	if _, err := Load(filepath.Join(dir, "none.toml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestOverrides(t *testing.T) {
	g := testRegistry(t)
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	c, err := Parse(path, []byte(`
select = ["func", "cfi"]
min-coverage = 10

[[override]]
paths = ["third_party/**", "./gen/"]
ignore = ["cfi"]
min-coverage = 0

[[override]]
paths = ["*.pdb.sym"]
select = ["format"]

[[override]]
paths = ["third_party/mine/*.sym"]
[override.severity]
cfi-missing-ra = "warning"
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		file     string
		want     string
		coverage float64
	}{
		{"app.sym", "func-overlap func-duplicate cfi-missing-ra cfi-outermost coverage", 0.1},
		{"third_party/a.sym", "func-overlap func-duplicate", 0},
		{"third_party/x/y/z.sym", "func-overlap func-duplicate", 0},
		{"gen/a/b.sym", "func-overlap func-duplicate", 0},
		{"third_party", "func-overlap func-duplicate", 0},
		{"my_third_party/a.sym", "func-overlap func-duplicate cfi-missing-ra cfi-outermost coverage", 0.1},
		{"deep/down/x.pdb.sym", "format-encoding format-number-case", 0.1},
		{"third_party/mine/a.sym", "func-overlap func-duplicate cfi-missing-ra=warning", 0},
		{"third_party/mine/sub/a.sym", "func-overlap func-duplicate", 0},
		{"../third_party/a.sym", "func-overlap func-duplicate cfi-missing-ra cfi-outermost coverage", 0.1},
	} {
		s, err := c.Settings(g, filepath.Join(dir, filepath.FromSlash(tc.file)), Flags{})
		if err != nil {
			t.Fatal(err)
		}
		if got := describe(g, s); got != tc.want || s.MinCoverage != tc.coverage {
			t.Errorf("%s: %s, coverage %v; want %s, %v", tc.file, got, s.MinCoverage, tc.want, tc.coverage)
		}
	}
	// Paths are relative to the working directory, patterns to the configuration's.
	t.Chdir(dir)
	if err := os.MkdirAll("gen", 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir("gen")
	s, err := c.Settings(g, "a.sym", Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(g, s); got != "func-overlap func-duplicate" {
		t.Errorf("gen/a.sym: %s", got)
	}
}

// Every mistake is told with its place; lines and columns were counted by hand.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"fial-on = 'error'", `c.toml:1:1: unknown key "fial-on"; did you mean "fail-on"?`},
		{"# c\n\nFail-On = 'error'", `c.toml:3:1: unknown key "Fail-On"; did you mean "fail-on"?`},
		{"zzzzzzzzzz = 1", `c.toml:1:1: unknown key "zzzzzzzzzz"`},
		{"fail-on = 'fatal'", `c.toml:1:1: fail-on must be error, warning, info or never, not "fatal"`},
		{"fail-on = 3", `c.toml:1:1: fail-on must be error, warning, info or never, not 3`},
		{"fail-on = 'off'", `c.toml:1:1: fail-on must be error, warning, info or never, not "off"`},
		{"max-per-rule = -1", `c.toml:1:1: max-per-rule must be a whole number from 0, not -1`},
		{"max-per-rule = '3'", `c.toml:1:1: max-per-rule must be a whole number from 0, not "3"`},
		{"max-per-rule = 99999999999", `c.toml:1:1: max-per-rule must be a whole number from 0, not 99999999999`},
		{"min-coverage = 101", `c.toml:1:1: min-coverage must be a percentage from 0 to 100, not 101`},
		{"min-coverage = nan", `c.toml:1:1: min-coverage must be a percentage from 0 to 100, not NaN`},
		{"min-coverage = '9'", `c.toml:1:1: min-coverage must be a percentage from 0 to 100, not "9"`},
		{"select = 'cfi'", `c.toml:1:1: select must be a list of strings, not "cfi"`},
		{"select = []", `c.toml:1:1: select is empty, so no rule would run; leave it out to run all`},
		{"ignore = [\n  'cfi',\n  7,\n]", `c.toml:3:3: ignore must be a list of strings, but has 7 in it`},
		{"consumers = ['breakpad',\n'socorro']", `c.toml:2:1: unknown consumer "socorro" (want breakpad, rust-minidump, symbolic, binutils, ld, linux, glibc, llvm)`},
		{"consumers = []", `c.toml:1:1: consumers is empty`},
		{"baseline = true", `c.toml:1:1: baseline must be a path, not true`},
		{"severity = 3", `c.toml:1:1: severity must be a table of rules and severities, not an integer`},
		{"[severity]\ncfi = 'warn'", `c.toml:2:1: unknown severity "warn" (want error, warning, info or off)`},
		{"[severity]\n cfi = 1", `c.toml:2:2: the severity of cfi must be error, warning, info or off, not 1`},
		{"[override]\npaths = []", `c.toml:1:2: override must be an array of tables, as in [[override]], not a table`},
		{"[[override]]\nignore = []", `c.toml:1:3: override has no paths`},
		{"[[override]]\npaths = []", `c.toml:2:1: paths is empty`},
		{"[[override]]\npaths = ['a']\n[[override]]\npaths = ['[z']", `c.toml:4:10: bad pattern "[z"`},
		{"[[override]]\npaths = ['a']\n[[override]]\npaths = ['b']\nfail-on = 'error'\n[[override]]\npaths = ['b']",
			`c.toml:5:1: unknown key "fail-on"`},
		{"[[override]]\npaths = ['a']\n[[override]]\npath = ['b']\n[[override]]\npaths = ['b']",
			"c.toml:4:1: unknown key \"path\"; did you mean \"paths\"?\nc.toml:3:3: override has no paths"},
		{"x = 1\nfail-on = 2\ny = 3", "c.toml:1:1: unknown key \"x\"\n" +
			"c.toml:2:1: fail-on must be error, warning, info or never, not 2\nc.toml:3:1: unknown key \"y\""},
		{"select = ['cfi'\n", `c.toml:1:16: `},
		{"select = 'cfi", `c.toml:1:`},
		{"a = 1\na = 2", `c.toml:2:`},
		{"\xff\xfea = 1", `c.toml:1:1: not UTF-8`},
		{"# ä\n  # x\xe4y", `c.toml:2:6: not UTF-8`},
		{"a" + strings.Repeat(".a", 20) + " = 1", `c.toml:1:33: nested too deeply`},
		{strings.Repeat("#", MaxSize+1), `c.toml: larger than 65536 bytes`},
	} {
		_, err := Parse("c.toml", []byte(tc.text))
		if err == nil {
			t.Errorf("%.60q: no error", tc.text)
			continue
		}
		if got := err.Error(); got != tc.want && !(strings.HasSuffix(tc.want, ":") || strings.HasSuffix(tc.want, ": ")) || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%.60q:\ngot  %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

// Rules are known only later, but the place is remembered.
func TestUnknownRules(t *testing.T) {
	g := testRegistry(t)
	for _, tc := range []struct{ text, want string }{
		{"select = [\n'func',\n  'cfi-mising-ra']", `c.toml:3:3: unknown rule, family or severity "cfi-mising-ra"; did you mean "cfi-missing-ra"?`},
		{"ignore = ['fnc']", `c.toml:1:11: unknown rule, family or severity "fnc"; did you mean "func"?`},
		{"ignore = ['off']", `c.toml:1:11: unknown rule, family or severity "off"`},
		{"[severity]\n'covrage' = 'error'", `c.toml:2:1: unknown rule, family or severity "covrage"; did you mean "coverage"?`},
		{"ignore = ['cfi-[']", `c.toml:1:11: bad pattern "cfi-["`},
		{"[[override]]\npaths = ['nowhere']\nignore = ['x-y-z-w']", `c.toml:3:11: unknown rule, family or severity "x-y-z-w"`},
	} {
		c, err := Parse("c.toml", []byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(g); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", tc.text, err, tc.want)
		}
		if strings.Contains(tc.text, "override") {
			continue
		}
		if _, err := c.Settings(g, "x.sym", Flags{}); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("Settings: %v, want %s", err, tc.want)
		}
	}
	bad := 200.0
	for want, flags := range map[string]Flags{
		`--select: unknown rule, family or severity "nope"`: {Select: []string{"nope"}},
		`--ignore: unknown rule, family or severity "nope"`: {Ignore: []string{"nope"}},
		`--severity: unknown rule`:                          {Severity: []string{"nope=error"}},
		`--severity: "cfi" is not of the form`:              {Severity: []string{"cfi"}},
		`--severity: unknown severity "x"`:                  {Severity: []string{"cfi=x"}},
		`--consumers: unknown consumer "x"`:                 {Consumers: []string{"x"}},
		`--min-coverage: 200 is no percentage`:              {MinCoverage: &bad},
	} {
		_, err := (*Config)(nil).Settings(g, "x.sym", flags)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, ok := errors.AsType[*lint.UnknownRuleError](err); strings.Contains(want, "unknown rule") && !ok {
			t.Errorf("%v does not wrap UnknownRuleError", err)
		}
	}
}

// Documents that the decoder would take minutes for are refused at once.
func TestDeepNesting(t *testing.T) {
	const n = MaxSize / 4
	for name, text := range map[string]string{
		"keys":    strings.Repeat("a.", n) + "a = 1",
		"header":  "[" + strings.Repeat("a.", n) + "a]",
		"inline":  "a = " + strings.Repeat("{a = ", n/3) + "1" + strings.Repeat("}", n/3),
		"lists":   "a = " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"comment": "a = 1 # '''\n" + strings.Repeat("a.", n) + "a = 1",
		"string":  `a = "\"` + `"` + "\n" + strings.Repeat("b.", n) + "a = 1",
	} {
		start := time.Now()
		_, err := Parse("c.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%s: %.100v", name, err)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
	if _, err := Parse("c.toml", []byte("a = "+strings.Repeat("[", 10)+strings.Repeat("]", 10))); err == nil || strings.Contains(err.Error(), "deeply") {
		t.Errorf("ten levels: %v", err)
	}
}

func ExampleConfig_Settings() {
	rule := &lint.Rule{Name: "func-overlap", Family: "func", Severity: lint.Error, Summary: "ranges overlap", Why: "One is lost."}
	g, _ := lint.NewRegistry(rule)
	c, _ := Parse(FileName, []byte("[[override]]\npaths = ['old/**']\nseverity = { func = 'info' }"))
	for _, file := range []string{"app.sym", "old/app.sym"} {
		s, _ := c.Settings(g, file, Flags{})
		fmt.Println(file, s.Severity(g, rule))
	}
	// Output:
	// app.sym error
	// old/app.sym info
}
