package unwind_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symfile"
	"github.com/symlint/symlint/unwind/symstore"
)

// readDump reads a dump, unpacked.
func readDump(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// dumps are the committed dumps, and those of the corpus where there is one.
func dumps(t *testing.T) []string {
	var out []string
	patterns := []string{
		filepath.Join(corpustest.Root(), "testdata", "walk", "*.dmp*"),
		filepath.Join(corpustest.Root(), "testdata", "core", "*.gz"),
	}
	if dir := os.Getenv("SYMLINT_CORPUS"); dir != "" {
		patterns = append(patterns, filepath.Join(dir, "public", "*.dmp"), filepath.Join(dir, "made", "*-null", "*.dmp*"))
	} else {
		dir := filepath.Join(corpustest.Root(), "..", "shared", "corpus")
		patterns = append(patterns, filepath.Join(dir, "public", "*.dmp"), filepath.Join(dir, "made", "*-null", "*.dmp*"))
	}
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		t.Fatal("no dump to damage")
	}
	return out
}

// anySymbols gives every module the same symbols, so that damaged dumps still meet records.
type anySymbols struct{ s *symfile.Symbols }

func (s anySymbols) ModuleSymbols(*unwind.Module) (*symfile.Symbols, error) { return s.s, nil }

// TestDamagedDumps cuts dumps and flips their bits: whatever comes of it, reading and walking end, and what is
// allocated stays in proportion to the file.
func TestDamagedDumps(t *testing.T) {
	perDump := 60
	if testing.Short() {
		perDump = 5
	}
	text, err := os.ReadFile(filepath.Join(corpustest.Root(), "testdata", "sym", "crasher-swapped.sym"))
	if err != nil {
		t.Fatal(err)
	}
	symbols := anySymbols{symfile.Load(text, symfile.Options{})}
	n, read := 0, 0
	for _, path := range dumps(t) {
		original := readDump(t, path)
		if len(original) > 4<<20 {
			continue
		}
		seed := uint64(len(original))
		for i := range perDump {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			data := bytes.Clone(original)
			if i%3 == 0 {
				data = data[:r.IntN(len(data))]
			}
			for range r.IntN(24) {
				if len(data) == 0 {
					break
				}
				at := r.IntN(len(data))
				if r.IntN(2) == 0 {
					at = r.IntN(min(len(data), 4096)) // headers
				}
				data[at] ^= 1 << r.IntN(8)
				if r.IntN(4) == 0 {
					data[at] = 0xff
				}
			}
			if walkDamaged(t, path, data, symbols, i%2 == 0) {
				read++
			}
			n++
		}
	}
	t.Logf("%d damaged dumps, %d of them could be walked", n, read)
	if read == 0 {
		t.Error("none could be walked: the damage is too great to tell anything")
	}
}

func walkDamaged(t *testing.T, path string, data []byte, symbols unwind.SymbolSource, best bool) bool {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	p, err := unwind.Open(data, unwind.OpenOptions{})
	if err != nil {
		return false
	}
	w := &unwind.Walker{Process: p, Symbols: symbols, Best: best}
	for i := range p.Threads {
		s := w.Walk(i)
		w.Explain(s, len(s.Frames))
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20+uint64(len(data))*1000 {
		t.Errorf("%s (%d bytes): %d bytes allocated", filepath.Base(path), len(data), used)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("%s: %v", filepath.Base(path), d)
	}
	return true
}

// truthCase is a dump of the corpus with what gdb says of it.
type truthCase struct {
	dump, truth, binaries string
	maps                  string
	symbols               []string
}

// TestTruth walks every dump and core of the corpus with all that is known and holds the frames against gdb's, one
// program counter after the other until the first difference.
func TestTruth(t *testing.T) {
	dir := corpustest.Dir(t)
	for _, set := range []struct {
		name, dump string
		percent    float64
	}{
		{"inproc", "inproc.dmp", 100}, {"core", "core.gz", 100}, {"cpu", "core.gz", 83},
	} {
		t.Run(set.name, func(t *testing.T) {
			sub := "made"
			if set.name == "cpu" {
				sub = "cpu"
			}
			cases, _ := filepath.Glob(filepath.Join(dir, sub, "*", "gdb.tsv*"))
			right, all := 0, 0
			for _, tsv := range cases {
				home := filepath.Dir(tsv)
				name := filepath.Base(home)
				c := truthCase{dump: filepath.Join(home, set.dump), truth: tsv, symbols: []string{filepath.Join(dir, sub, "symbols")}}
				if _, err := os.Stat(c.dump); err != nil {
					if c.dump += ".gz"; !exists(c.dump) {
						continue
					}
				}
				if sub == "made" {
					name = name[:strings.LastIndexByte(name, '-')]
				} else {
					c.maps = filepath.Join(home, "maps.txt")
				}
				c.binaries = filepath.Join(dir, sub, "bin", name)
				r, n := c.score(t)
				right, all = right+r, all+n
			}
			t.Logf("%s: %d of %d frames as gdb has them", set.name, right, all)
			if all == 0 || 100*float64(right)/float64(all) < set.percent {
				t.Errorf("%d of %d frames, want %.0f %%", right, all, set.percent)
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// score walks the case and counts the frames that equal gdb's, from the innermost one to the first difference.
func (c *truthCase) score(t *testing.T) (right, all int) {
	bins := symstore.NewBinaries([]string{c.binaries})
	defer bins.Close()
	var o unwind.OpenOptions
	o.Binary = func(path string) ([]byte, error) {
		b, _, err := bins.Binary(path, nil)
		return b, err
	}
	if c.maps != "" {
		o.Maps = readDump(t, c.maps)
	}
	p, err := unwind.Open(readDump(t, c.dump), o)
	if err != nil {
		t.Fatalf("%s: %v", c.dump, err)
	}
	store, err := symstore.New(c.symbols, symstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := &unwind.Walker{Process: p, Symbols: unwind.FromStore(store), Binaries: unwind.FromBinaries(bins), Best: true}
	for _, want := range readTruth(t, c.truth) {
		all += len(want)
		for i := range p.Threads {
			r := p.Threads[i].Registers
			if r == nil || r.PC() != want[0].pc || r.SP() != want[0].sp {
				continue
			}
			s := w.Walk(i)
			n := 0
			for n < len(want) && n < len(s.Frames) && s.Frames[n].Return == want[n].pc {
				n++
			}
			right += n
			if n < len(want) {
				t.Logf("%s: %s: frame %d of %d is %#x", filepath.Base(filepath.Dir(c.dump)), filepath.Base(c.dump), n, len(want), want[n].pc)
			}
			break
		}
	}
	return right, all
}

type truthFrame struct{ pc, sp uint64 }

// readTruth reads the physical frames of every thread of a gdb.tsv.
func readTruth(t *testing.T, path string) map[string][]truthFrame {
	out := make(map[string][]truthFrame)
	for _, line := range strings.Split(string(readDump(t, path)), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 6 || f[3] != "NORMAL" && f[3] != "SIGTRAMP" {
			continue
		}
		out[f[0]] = append(out[f[0]], truthFrame{hexField(t, f[4]), hexField(t, f[5])})
	}
	return out
}

func hexField(t *testing.T, s string) uint64 {
	t.Helper()
	var v uint64
	for _, c := range strings.TrimPrefix(s, "0x") {
		d := strings.IndexRune("0123456789abcdef", c)
		if d < 0 {
			t.Fatalf("%q is no address", s)
		}
		v = v<<4 | uint64(d)
	}
	return v
}
