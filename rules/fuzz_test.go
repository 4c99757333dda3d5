package rules

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
)

// FuzzCheck runs every rule over arbitrary text: nothing panics, every position lies inside the input, and the findings
// do not hang on how the file is cut.
func FuzzCheck(f *testing.F) {
	for _, r := range All() {
		f.Add([]byte(r.Bad.Text))
	}
	names, err := filepath.Glob(filepath.Join(corpustest.Root(), "testdata", "sym", "*.sym"))
	if err != nil || len(names) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	runner := &lint.Runner{Registry: Registry(), Analyzers: Analyzers(), Jobs: 1}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		res := runner.CheckSym("fuzz.sym", data, nil)
		defer res.Close()
		if res.Err != nil {
			t.Fatal(res.Err)
		}
		lines := bytes.Count(data, []byte{'\n'}) + bytes.Count(data, []byte{'\r'}) + 1
		for x, err := range res.Findings() {
			if err != nil {
				t.Fatal(err)
			}
			if x.Offset < 0 || x.Offset+x.Length > int64(len(data)) || x.Line < 1 || x.Line > lines || x.Column < 1 || x.EndColumn < x.Column {
				t.Fatalf("%s at %+v in %d bytes, %d lines", x.Rule.Name, x.Location, len(data), lines)
			}
			if x.Message == "" || x.Count < 1 {
				t.Fatalf("%s: message %q, count %d", x.Rule.Name, x.Message, x.Count)
			}
		}
		if cuts := blockStarts(data); len(cuts) > 0 {
			if whole, cut := checkCut(t, data, nil), checkCut(t, data, cuts[:min(len(cuts), 8)]); whole != cut {
				t.Fatalf("whole:\n%s\ncut:\n%s", whole, cut)
			}
		}
	})
}
