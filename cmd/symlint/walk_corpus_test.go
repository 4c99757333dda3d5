package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/symlint/symlint/cmd/symlint/internal/cli"
	"github.com/symlint/symlint/unwind/corpustest"
)

// reference is an output of Google's tool, and the arguments that it was made with.
type reference struct {
	path string
	args []string // of walk
}

// references finds the outputs that are recorded in the corpus. What they are called is told by its MANIFEST.md.
func references(t *testing.T, corpus string) []reference {
	t.Helper()
	var out []reference
	for _, dir := range []string{"public", "made", filepath.Join("bad", "ebp-esp-swap")} {
		err := filepath.WalkDir(filepath.Join(corpus, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			stem, kind, ok := strings.Cut(d.Name(), ".stackwalk.")
			if !ok {
				return nil
			}
			r := reference{path: path}
			switch kind {
			case "txt":
			case "machine.txt":
				r.args = append(r.args, "-m")
			case "stack.txt":
				r.args = append(r.args, "-s")
			default:
				t.Errorf("%s: no reference is called so", path)
				return nil
			}
			dump, roots := arguments(t, corpus, dir, filepath.Dir(path), stem)
			if _, err := os.Stat(dump); err != nil {
				dump += ".gz"
			}
			r.args = append(append(r.args, dump), roots...)
			out = append(out, r)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// arguments are the dump and the symbols that a reference was made with.
func arguments(t *testing.T, corpus, dir, folder, stem string) (dump string, roots []string) {
	if strings.HasPrefix(dir, "bad") {
		symbols, system := strings.CutSuffix(stem, "+system")
		if symbols != "nosym" {
			roots = append(roots, filepath.Join(folder, "symbols-"+symbols))
		}
		if system {
			roots = append(roots, filepath.Join(corpus, "made", "symbols"))
		}
		return filepath.Join(folder, "inproc.dmp"), roots
	}
	symbols := filepath.Join(corpus, dir, "symbols")
	name, variant, _ := strings.Cut(stem, ".")
	switch variant {
	case "":
		roots = []string{symbols}
	case "inline":
		roots = []string{symbols + "-inline", symbols}
	case "nosym":
	default:
		t.Errorf("%s in %s: with which symbols?", stem, folder)
	}
	return filepath.Join(folder, name+".dmp"), roots
}

// TestWalkCorpus holds walk against all outputs of Google's tool in the corpus, byte for byte.
func TestWalkCorpus(t *testing.T) {
	corpus := corpustest.Dir(t)
	list := references(t, corpus)
	if len(list) < 300 {
		t.Errorf("only %d references", len(list))
	}
	if raceDetector {
		list = sample(list)
	}
	failures := make([]string, len(list))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				failures[i] = list[i].compare()
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	wg.Wait()
	same := 0
	for i, text := range failures {
		if text == "" {
			same++
			continue
		}
		if i-same < 40 {
			t.Errorf("symlint walk %s\n%s", strings.Join(list[i].args, " "), text)
		}
	}
	t.Logf("%d of %d outputs are the same byte for byte", same, len(list))
}

// sample is a few of many: the race detector makes walks thirty times as slow.
func sample[T any](list []T) []T {
	var out []T
	for i := 0; i < len(list); i += 20 {
		out = append(out, list[i])
	}
	return out
}

// compare walks the dump and returns how the output differs, "" if it does not.
func (r *reference) compare() string {
	want, err := os.ReadFile(r.path)
	if err != nil {
		return err.Error()
	}
	got, trouble := walk(r.args...)
	if trouble == "" {
		trouble = firstDifference(got, string(want))
	}
	if trouble != "" || r.args[0] == "-m" {
		return trouble
	}
	// The explanations add lines and change none.
	if got, trouble = walk(append([]string{"--explain"}, r.args...)...); trouble != "" {
		return "--explain: " + trouble
	}
	var plain strings.Builder
	explained := false
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "    #") {
			explained = true
		} else {
			plain.WriteString(line)
		}
	}
	if !explained {
		return "--explain: nothing is explained"
	}
	if d := firstDifference(plain.String(), string(want)); d != "" {
		return "--explain, without its own lines: " + d
	}
	return ""
}

// walk runs the command in this process and returns its output, or what went wrong.
func walk(args ...string) (output, trouble string) {
	var stdout, stderr bytes.Buffer
	status := cli.Run(append([]string{"walk", "--quiet"}, args...), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" },
	})
	if status != 0 || stderr.Len() > 0 {
		return "", fmt.Sprintf("exit status %d, stderr: %s", status, &stderr)
	}
	return stdout.String(), ""
}

// TestWalkCorpusJSON: all dumps of the corpus give JSON, with explanations and by whatever techniques.
func TestWalkCorpusJSON(t *testing.T) {
	corpus := corpustest.Dir(t)
	n := 0
	for _, pattern := range []string{"public/*.dmp", "made/*/*.dmp", "made/*/*.dmp.gz", "made/*/core.gz", "cpu/*/core.gz"} {
		files, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil {
			t.Fatal(err)
		}
		n += len(files)
		if raceDetector {
			files = sample(files)
		}
		for _, dump := range files {
			symbols := filepath.Join(corpus, strings.SplitN(pattern, "/", 2)[0], "symbols")
			for _, techniques := range []string{"auto", "best"} {
				got, trouble := walk("--format", "json", "--explain", "--unwind", techniques, dump, symbols)
				if trouble == "" && !json.Valid([]byte(got)) {
					trouble = "the output is no JSON"
				}
				if trouble != "" {
					t.Errorf("%s, --unwind %s: %s", dump, techniques, trouble)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d dumps", n)
	}
}

// firstDifference tells the first line in which two texts differ, "" if they do not.
func firstDifference(got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	for i := 0; ; i++ {
		switch {
		case i >= len(g):
			return fmt.Sprintf("line %d is missing: %q", i+1, w[i])
		case i >= len(w):
			return fmt.Sprintf("line %d is too much: %q", i+1, g[i])
		case g[i] != w[i]:
			return fmt.Sprintf("line %d\n got %q\nwant %q", i+1, g[i], w[i])
		}
	}
}
