package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
)

// checkBinary runs every rule over an ELF file or a section.
func checkBinary(t testing.TB, path string, data []byte) (*lint.FileResult, []lint.Finding) {
	t.Helper()
	r := &lint.Runner{Registry: Registry(), Binary: BinaryAnalyzers(), Jobs: 1}
	res := r.CheckBinary(path, binaryKind(data), data, nil)
	defer res.Close()
	var out []lint.Finding
	for f, err := range res.Findings() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *f)
	}
	return res, out
}

func describeBinary(fs []lint.Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintf(&b, "  %s+0x%x: %s: %s [%s]\n", f.Section, f.Offset, f.Severity, f.Message, f.Rule.Name)
	}
	return b.String()
}

// testBinaryExamples is TestCatalogue for a rule over binaries.
func testBinaryExamples(t *testing.T, r *lint.Rule) {
	if r.Bad.Data == nil || r.GoodData == nil {
		t.Fatal("a rule needs a bad and a good example")
	}
	if r.Effects.IsZero() {
		t.Error("a rule says what each consumer does")
	}
	for c := lint.Consumer(0); c < lint.ConsumerCount; c++ {
		if said := r.Effects[c].Text != ""; said != r.Consumers().Has(c) {
			t.Errorf("what %s does is told: %v", c, said)
		}
	}
	res, bad := checkBinary(t, "example", r.Bad.Data())
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if !slices.ContainsFunc(bad, func(f lint.Finding) bool { return f.Rule == r && f.Severity == r.Severity }) {
		t.Errorf("the bad example does not trigger the rule at its severity:\n%s", describeBinary(bad))
	}
	for _, f := range bad {
		if f.Severity != f.Rule.Severity && !slices.Contains(f.Rule.Also, f.Severity) {
			t.Errorf("a finding of %s has severity %s, which the rule does not list", f.Rule.Name, f.Severity)
		}
		if f.Message == "" || strings.HasSuffix(f.Message, ".") || f.Section == "" {
			t.Errorf("message %q is empty or ends in a full stop, or has no place", f.Message)
		}
	}
	res, good := checkBinary(t, "example", r.GoodData())
	if res.Err != nil || len(good) > 0 {
		t.Errorf("the good example: %v\n%s", res.Err, describeBinary(good))
	}
}
