package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
)

// check runs every rule over a text in one chunk.
func check(t testing.TB, path, text string) []lint.Finding {
	t.Helper()
	r := &lint.Runner{Registry: Registry(), Analyzers: Analyzers(), Jobs: 1}
	res := r.CheckSym(path, []byte(text), nil)
	defer res.Close()
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	var out []lint.Finding
	for f, err := range res.Findings() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *f)
	}
	return out
}

func describe(fs []lint.Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintf(&b, "  %d:%d: %s: %s [%s]\n", f.Line, f.Column, f.Severity, f.Message, f.Rule.Name)
	}
	return b.String()
}

func TestCatalogue(t *testing.T) {
	if _, err := lint.NewRegistry(All()...); err != nil {
		t.Fatal(err)
	}
	for _, r := range All() {
		t.Run(r.Name, func(t *testing.T) {
			if r.Binary {
				testBinaryExamples(t, r)
				return
			}
			if r.Bad.Text == "" || r.Good == "" || r.Bad.Line < 0 {
				t.Fatal("a rule needs a bad and a good example")
			}
			if r.Effects.IsZero() {
				t.Error("a rule says what each consumer does")
			}
			path := r.Bad.Path
			if path == "" {
				path = "example.sym"
			}
			bad := check(t, path, r.Bad.Text)
			if NeedsDump(r) {
				bad = replayed(t, r.Bad.Text, r != walkScan) // TestWalkExamples has more
			}
			if !slices.ContainsFunc(bad, func(f lint.Finding) bool { return f.Rule == r && f.Line == r.Bad.Line }) {
				t.Errorf("the bad example does not trigger the rule at line %d:\n%s", r.Bad.Line, describe(bad))
			}
			for _, f := range bad {
				if f.Rule == r && f.Severity != r.Severity && !slices.Contains(r.Also, f.Severity) {
					t.Errorf("a finding has severity %s, which the rule does not list", f.Severity)
				}
				if f.Message == "" || strings.HasSuffix(f.Message, ".") {
					t.Errorf("message %q is empty or ends in a full stop", f.Message)
				}
			}
			if good := check(t, "example.sym", r.Good); len(good) > 0 {
				t.Errorf("the good example triggers\n%s", describe(good))
			}
		})
	}
}
