package postfix

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// brokenFixture is a program in a symbol file of Breakpad's own tests (module1.out) that lacks its first operand.
const brokenFixture = "$eip 4 + ^ = $esp $ebp 8 + = $ebp $ebp ^ ="

// Every rule and program of the real symbol files parses, compiles without a defect, and evaluates as the direct
// interpreters do.
func TestCorpus(t *testing.T) {
	dir := corpustest.Dir(t)
	texts := [2]map[string]bool{{}, {}}
	var l RuleList
	for _, sub := range []string{"made", "cpu", "public"} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !(strings.HasSuffix(path, ".sym") || strings.HasSuffix(path, ".sym.gz")) {
				return err
			}
			collect(t, path, &l, &texts)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(texts[CFI]) < 100 || len(texts[Win]) < 100 {
		t.Errorf("only %d rules and %d programs", len(texts[CFI]), len(texts[Win]))
	}
	var m Machine
	shapes := map[ShapeKind]int{}
	for _, d := range []Dialect{CFI, Win} {
		for text := range texts[d] {
			p, err := Compile([]byte(text), d)
			if (err != nil) != (text == brokenFixture) {
				t.Errorf("%v %q: %v", d, text, err)
			}
			if d == CFI {
				shapes[p.Shape.Kind]++
			}
			compare(t, text, d, &m)
			checkShape(t, text)
		}
	}
	t.Log(len(texts[CFI]), "rules,", len(texts[Win]), "programs,", shapes)
}

func collect(t *testing.T, path string, l *RuleList, texts *[2]map[string]bool) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\r\n")
		if rest, ok := bytes.CutPrefix(line, []byte("STACK CFI ")); ok {
			skip := 1
			if bytes.HasPrefix(rest, []byte("INIT ")) {
				skip = 3
			}
			parts := bytes.SplitN(rest, []byte(" "), skip+1)
			if len(parts) <= skip {
				t.Errorf("%s: %s", path, line)
				continue
			}
			rules := parts[skip]
			if l.Parse(rules); !l.OK() || len(l.Problems) > 0 {
				t.Errorf("%s: %s: %s", path, line, show(string(rules), l))
			}
			for _, r := range l.Rules {
				texts[CFI][string(r.Expr(rules))] = true
			}
		}
		if rest, ok := bytes.CutPrefix(line, []byte("STACK WIN ")); ok {
			if parts := bytes.SplitN(rest, []byte(" "), 11); len(parts) == 11 && string(parts[9]) == "1" {
				texts[Win][string(parts[10])] = true
			}
		}
	}
}
