package rules

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/rules/internal/plant"
	"github.com/symlint/symlint/unwind/corpustest"
)

// readSym reads a symbol file, unpacking it if it is compressed.
func readSym(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// symFiles lists the symbol files under some directories.
func symFiles(t testing.TB, dirs ...string) (names []string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(filepath.Base(path), ".sym") {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// accepted are the rules by which a kind of defect is recognised.
func accepted(t testing.TB, class string) []string {
	for _, k := range plant.Kinds() {
		if k.Name == class {
			return k.Rules
		}
	}
	t.Errorf("the class %s is none that plant knows", class)
	return nil
}

// Every damaged file of the corpus is found damaged, at the line and by a rule that names the defect.
func TestBadCorpus(t *testing.T) {
	dir := filepath.Join(corpustest.Dir(t), "bad")
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, row := range strings.Split(strings.TrimSpace(string(manifest)), "\n")[1:] {
		f := strings.Split(row, "\t")
		line, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatal(err)
		}
		found := check(t, filepath.Join(dir, f[0]), string(readSym(t, filepath.Join(dir, f[0]))))
		if f[2] == "none" {
			for _, x := range found {
				if x.Severity == lint.Error {
					t.Errorf("%s: the undamaged file has\n%s", f[0], describe([]lint.Finding{x}))
				}
			}
			continue
		}
		n++
		rules := accepted(t, f[2])
		if !slices.ContainsFunc(found, func(x lint.Finding) bool { return x.Line == line && slices.Contains(rules, x.Rule.Name) }) {
			t.Errorf("%s:%d: %s is not recognised (by one of %v):\n%s", f[0], line, f[3], rules, describe(found))
		}
	}
	if n < 50 {
		t.Errorf("only %d damaged files in the manifest", n)
	}
}

// plantAll plants every kind of defect in every file and returns how many were planted and which were missed.
func plantAll(t *testing.T, names []string, rounds int, maxSize int) (planted int, missed []string) {
	for fi, name := range names {
		data := readSym(t, name)
		if len(data) > maxSize {
			continue
		}
		path := strings.TrimSuffix(name, ".gz")
		healthy := map[string]bool{}
		for _, x := range check(t, path, string(data)) {
			healthy[fmt.Sprint(x.Line, x.Rule.Name)] = true
		}
		for _, k := range plant.Kinds() {
			for round := range rounds {
				rng := rand.New(rand.NewPCG(uint64(fi), uint64(round)))
				bad, line, ok := k.Plant(data, rng)
				if !ok {
					break
				}
				planted++
				found := check(t, path, string(bad))
				if !slices.ContainsFunc(found, func(x lint.Finding) bool { return x.Line == line && slices.Contains(k.Rules, x.Rule.Name) }) {
					var at []lint.Finding
					for _, x := range found {
						if !healthy[fmt.Sprint(x.Line, x.Rule.Name)] && len(at) < 6 {
							at = append(at, x)
						}
					}
					text := ""
					if lines := bytes.Split(bad, []byte("\n")); line-1 < len(lines) {
						text = string(lines[line-1])
					}
					missed = append(missed, fmt.Sprintf("%s (seed %d): %s at line %d, wanted one of %v: %.150q\n%s", filepath.Base(name), round, k.Name, line, k.Rules, text, describe(at)))
				}
			}
		}
	}
	return planted, missed
}

// Defects planted at random places of healthy files are recognised.
func TestPlanted(t *testing.T) {
	names := symFiles(t, filepath.Join(corpustest.Root(), "testdata", "sym"))
	names = slices.DeleteFunc(names, func(s string) bool { return !strings.Contains(s, "base-") })
	if len(names) == 0 {
		t.Fatal("no files to damage")
	}
	planted, missed := plantAll(t, names, 3, 1<<20)
	for _, m := range missed {
		t.Error(m)
	}
	t.Logf("%d planted, %d missed", planted, len(missed))
}

// The same over the corpus, whose files come from several producers and CPUs.
func TestPlantedCorpus(t *testing.T) {
	dir := corpustest.Dir(t)
	if testing.Short() {
		t.Skip("slow")
	}
	names := symFiles(t, filepath.Join(dir, "public", "sym"), filepath.Join(dir, "made", "symbols"), filepath.Join(dir, "cpu", "symbols"),
		filepath.Join(dir, "made", "symbols-inline"))
	seen := map[string]int{}
	names = slices.DeleteFunc(names, func(s string) bool { // two of a name are enough
		b := filepath.Base(s)
		seen[b]++
		return seen[b] > 2 || strings.Contains(b, "_bad") || strings.Contains(b, "cfi-only") ||
			strings.Contains(b, "module1.out") // its parameter sizes contradict each other already
	})
	planted, missed := plantAll(t, names, 1, 130_000)
	for _, m := range missed {
		t.Error(m)
	}
	t.Logf("%d planted, %d missed", planted, len(missed))
}
