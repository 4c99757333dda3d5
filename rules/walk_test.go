package rules

import (
	"slices"
	"testing"

	"github.com/symlint/symlint/lint"
)

// replayed are the findings of the walk rules for a symbol file of the example process.
func replayed(t *testing.T, text string, framePointers bool) []lint.Finding {
	t.Helper()
	res, err := replayExample("example.sym", text, nil, framePointers)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	var out []lint.Finding
	for f, err := range res.Findings() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *f)
	}
	return out
}

// The bad examples give their finding, the good ones none, when they are replayed.
func TestWalkExamples(t *testing.T) {
	for _, r := range walkFamily.Rules {
		t.Run(r.Name, func(t *testing.T) {
			bad := replayed(t, r.Bad.Text, r != walkScan)
			if !slices.ContainsFunc(bad, func(f lint.Finding) bool { return f.Rule == r && f.Line == r.Bad.Line }) {
				t.Errorf("the bad example does not trigger the rule at line %d:\n%s", r.Bad.Line, describe(bad))
			}
			if good := replayed(t, r.Good, r != walkScan); len(good) > 0 {
				t.Errorf("the good example triggers\n%s", describe(good))
			}
		})
	}
}
