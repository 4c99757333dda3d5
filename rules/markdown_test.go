package rules

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
)

var update = flag.Bool("update", false, "rewrite RULES.md")

// TestRulesMD holds RULES.md to the catalogue.
func TestRulesMD(t *testing.T) {
	var want bytes.Buffer
	if err := Markdown(&want); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(corpustest.Root(), "RULES.md")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("RULES.md is not what the rules say (%v); run\n\n\tgo test ./rules -run RulesMD -update\n", err)
	}
}

// Every rule has a section under the anchor that DocURL names, with its finding, and no link leads nowhere.
func TestMarkdownSections(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, r := range All() {
		_, anchor, _ := strings.Cut(r.DocURL(), "#")
		_, section, ok := strings.Cut(text, "\n### "+anchor+"\n")
		if !ok {
			t.Errorf("no section %q", anchor)
			continue
		}
		section, _, _ = strings.Cut(section, "\n### ")
		wants := []string{"[" + r.Name + "]\n", "\nWrong:\n", "\nRight:\n"}
		for c := lint.Consumer(0); c < lint.ConsumerCount; c++ {
			if r.Consumers().Has(c) {
				wants = append(wants, "| "+c.String()+" |")
			}
		}
		for _, want := range wants {
			if !strings.Contains(section, want) {
				t.Errorf("the section of %s lacks %q", r.Name, want)
			}
		}
		if strings.Count(section, "```")%2 != 0 {
			t.Errorf("the section of %s has an open fence", r.Name)
		}
	}
	anchors := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(text, -1) {
		if !anchors[m[1]] {
			t.Errorf("link to #%s leads nowhere", m[1])
		}
	}
	for i, line := range strings.Split(text, "\n") {
		for _, c := range line {
			if c < ' ' || c == 0x7f || c == '\ufffd' {
				t.Errorf("line %d holds the character %U", i+1, c)
			}
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("FILE 1 a\n", 10) + "FILE 2 b\n" + strings.Repeat("FILE 3 c\n", 30)
	for _, c := range []struct {
		name, text string
		mark       int
		want       string
	}{
		{"short", "a\nb\nc", 2, "    1  a\n>   2  b\n    3  c"},
		{"no mark", "a\n", 0, "    1  a"},
		{"bytes", "a\x00b\xff\r\n\tc \n\u202ed", 0, "    1  a\\x00b\\xff\\r\n    2  \\tc·\n    3  \\u202ed"},
		{"long", long, 11, "    1  FILE 1 a\n    2  FILE 1 a\n    3  FILE 1 a\n      …\n    8  FILE 1 a\n    9  FILE 1 a\n" +
			"   10  FILE 1 a\n>  11  FILE 2 b\n   12  FILE 3 c\n   13  FILE 3 c\n   14  FILE 3 c\n      …"},
		{"wide", "é" + strings.Repeat("x", 200), 0, "    1  é" + strings.Repeat("x", excerptWidth-1) + "…"},
	} {
		if got := strings.Join(Excerpt(c.text, c.mark), "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"the rule of $ebp reads $esp":          "the rule of `$ebp` reads `$esp`",
		"`$ebp` stays, $esp does not":          "`$ebp` stays, `$esp` does not",
		"__restore_rt and <name omitted>":      "`__restore_rt` and `<name omitted>`",
		"see https://example.org/a_b?<x> here": "see https://example.org/a_b?<x> here",
		"snake_case is safe":                   "snake_case is safe",
	} {
		if got := prose(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestRunExample(t *testing.T) {
	for _, r := range All() {
		res, err := RunExample(r)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for f, err := range res.Findings() {
			if err != nil || f.Rule != r {
				t.Errorf("%s: finding of %s, error %v", r.Name, f.Rule.Name, err)
			}
			if f.Line == r.Bad.Line {
				n++
			}
		}
		res.Close()
		if n == 0 {
			t.Errorf("%s: no finding at line %d", r.Name, r.Bad.Line)
		}
	}
	if _, err := RunExample(&lint.Rule{Name: "no-such-rule"}); err == nil {
		t.Error("the example of an unknown rule ran")
	}
}
