package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
)

// ruleCase is a text and what the rules of some families find in it, as `rule@line` or `rule@line*count`.
type ruleCase struct {
	name, text string
	want       []string
}

// testRuleCases checks the cases against the rules of the given families, whole and cut everywhere.
func testRuleCases(t *testing.T, families []string, cases []ruleCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := check(t, "example.sym", c.text)
			var got []string
			for _, f := range all {
				if !slices.Contains(families, f.Rule.Family) {
					continue
				}
				s := fmt.Sprintf("%s@%d", f.Rule.Name, f.Line)
				if f.Count > 1 {
					s += fmt.Sprintf("*%d", f.Count)
				}
				got = append(got, s)
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("got  %v\nwant %v\n%s\n%s", got, want, describe(all), numberedLines(c.text))
			}
			sameHoweverCut(t, c.text, families...)
		})
	}
}

func numberedLines(text string) string {
	var b strings.Builder
	for i, l := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%4d %s\n", i+1, l)
	}
	return b.String()
}

// onlyFinding returns the only finding of a rule in a text.
func onlyFinding(t *testing.T, rule *lint.Rule, text string) lint.Finding {
	t.Helper()
	var out []lint.Finding
	for _, f := range check(t, "example.sym", text) {
		if f.Rule == rule {
			out = append(out, f)
		}
	}
	if len(out) != 1 {
		t.Fatalf("%d findings of %s in\n%s", len(out), rule.Name, numberedLines(text))
	}
	return out[0]
}

func TestSymbolsMissing(t *testing.T) {
	testRuleCases(t, []string{"symbols"}, []ruleCase{
		{"unwind records only", exampleHead + exampleMainCFI, []string{"symbols-missing@4"}},
		{"STACK WIN before STACK CFI", "MODULE windows x86 D892A5DF6477A8E41E03C1EB4BC7DE3D1 a.pdb\nSTACK WIN 0 1000 10 0 0 0 0 0 0 0 0\n" +
			"STACK CFI INIT 1000 10 .cfa: $esp 4 + .ra: .cfa 4 - ^\n", []string{"symbols-missing@2"}},
		{"a delta only", exampleHead + "STACK CFI 1004 .cfa: $rsp 16 +\n", []string{"symbols-missing@1"}},
		{"a PUBLIC is enough", exampleHead + "PUBLIC 1000 0 f\n" + exampleMainCFI, nil},
		{"a FUNC is enough", exampleOne, nil},
		{"nothing to unwind", exampleHead, nil},
	})
}
