package replay

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symstore"
	"github.com/symlint/symlint/unwind/trace"
)

// readPlain reads a file that may be compressed, and have .gz behind its name.
func readPlain(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		data, err = os.ReadFile(path + ".gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}

// walkerOf opens a dump for walks with the symbols under some roots.
func walkerOf(t testing.TB, dump string, o unwind.OpenOptions, roots ...string) *unwind.Walker {
	t.Helper()
	p, err := unwind.Open(readPlain(t, dump), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &unwind.Walker{Process: p}
	if len(roots) == 0 {
		return w
	}
	store, err := symstore.New(roots, symstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w.Symbols = unwind.FromStore(store)
	return w
}

func withBinaries(t testing.TB, w *unwind.Walker, dir string) {
	b := symstore.NewBinaries([]string{dir})
	t.Cleanup(func() { b.Close() })
	w.Binaries = unwind.FromBinaries(b)
}

func parseFile(t testing.TB, path string) *Reference {
	t.Helper()
	ref, err := ParseReference(readPlain(t, path))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return ref
}

// held aligns all threads of a reference with walks, and returns the number of frames that agreed.
func held(t *testing.T, name string, ref *Reference, w *unwind.Walker, o Options, report func(i int, a *Alignment, s *unwind.Stack)) int {
	t.Helper()
	agreed := 0
	for i, pair := range Pair(ref, w.Process) {
		if pair.Thread < 0 {
			if pair.By != "skipped" {
				t.Errorf("%s: thread %d of the reference has no partner", name, ref.Threads[i].Index)
			}
			continue
		}
		s := w.Walk(pair.Thread)
		a := Align(ref, i, w.Process, s, o)
		agreed += a.Agreed
		report(i, &a, s)
	}
	return agreed
}

// expectMatch reports differences as errors.
func expectMatch(t *testing.T, name string) func(i int, a *Alignment, s *unwind.Stack) {
	return func(i int, a *Alignment, s *unwind.Stack) {
		t.Helper()
		if d := a.First; d != nil {
			t.Errorf("%s: thread %d: frame %d (reference line %d) differs in %s: expected %s, got %s (%v)", name, i, d.Frame,
				lineOf(d), d.Field, d.Expected, d.Got, d.Weakness)
		}
	}
}

func lineOf(d *Divergence) int {
	if d.Ref == nil {
		return 0
	}
	return d.Ref.Line
}

// stackwalkReference is an output of Google's tool, with the dump and the symbols it was made of.
type stackwalkReference struct {
	path, dump string
	roots      []string
}

// stackwalkReferences finds the outputs in the corpus; MANIFEST.md tells what they are called.
func stackwalkReferences(t *testing.T, corpus string) []stackwalkReference {
	var out []stackwalkReference
	for _, dir := range [...]string{"public", "made", filepath.Join("bad", "ebp-esp-swap")} {
		err := filepath.WalkDir(filepath.Join(corpus, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			stem, _, ok := strings.Cut(d.Name(), ".stackwalk.")
			if !ok {
				return nil
			}
			folder := filepath.Dir(path)
			r := stackwalkReference{path: path}
			if strings.HasPrefix(dir, "bad") {
				symbols, system := strings.CutSuffix(stem, "+system")
				if symbols != "nosym" {
					r.roots = append(r.roots, filepath.Join(folder, "symbols-"+symbols))
				}
				if system {
					r.roots = append(r.roots, filepath.Join(corpus, "made", "symbols"))
				}
				r.dump = filepath.Join(folder, "inproc.dmp")
			} else {
				name, variant, _ := strings.Cut(stem, ".")
				r.dump = filepath.Join(folder, name+".dmp")
				symbols := filepath.Join(corpus, dir, "symbols")
				switch variant {
				case "":
					r.roots = []string{symbols}
				case "inline":
					r.roots = []string{symbols + "-inline", symbols}
				case "alt":
					r.roots = []string{symbols + "-alt"}
				}
			}
			out = append(out, r)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestStackwalkCorpus: walks that print the same bytes as Google's tool must agree with what it printed in all fields,
// and nothing need be tolerated.
func TestStackwalkCorpus(t *testing.T) {
	corpus := corpustest.Dir(t)
	list := stackwalkReferences(t, corpus)
	if len(list) < 200 {
		t.Errorf("only %d references", len(list))
	}
	agreed := 0
	for _, r := range list {
		name, _ := filepath.Rel(corpus, r.path)
		ref := parseFile(t, r.path)
		w := walkerOf(t, r.dump, unwind.OpenOptions{}, r.roots...)
		if len(ref.Threads) != len(w.Process.Threads) && ref.Format == FormatText {
			t.Errorf("%s: %d threads, the dump has %d", name, len(ref.Threads), len(w.Process.Threads))
		}
		match := expectMatch(t, name)
		agreed += held(t, name, ref, w, Options{Fields: AllFields}, func(i int, a *Alignment, s *unwind.Stack) {
			match(i, a, s)
			if a.Agreed != len(s.Frames) {
				t.Errorf("%s: thread %d: %d of %d frames agreed", name, i, a.Agreed, len(s.Frames))
			}
			for _, x := range a.Tolerated {
				t.Errorf("%s: thread %d: frame %d: tolerated as %s: %s", name, i, x.Frame, x.What, x.Text)
			}
		})
	}
	t.Logf("%d references, %d frames agree", len(list), agreed)
}

// TestGDBCorpus: best walks with all symbols and binaries must find what gdb found.
func TestGDBCorpus(t *testing.T) {
	corpus := corpustest.Dir(t)
	symbols := filepath.Join(corpus, "made", "symbols")
	dumps, err := filepath.Glob(filepath.Join(corpus, "made", "*", "inproc.dmp"))
	if err != nil || len(dumps) < 20 {
		t.Fatalf("%d dumps, %v", len(dumps), err)
	}
	agreed, tolerated, texts := 0, make(map[string]int), 0
	for _, dump := range dumps {
		folder := filepath.Dir(dump)
		build, _, _ := cutLast(filepath.Base(folder), "-")
		refs := []string{"gdb.tsv", "gdb.bt.txt"}
		for _, file := range refs {
			path := filepath.Join(folder, file)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			texts++
			for _, roots := range [][]string{{symbols}, {symbols + "-inline", symbols}} {
				w := walkerOf(t, dump, unwind.OpenOptions{}, roots...)
				w.Best = true
				withBinaries(t, w, filepath.Join(corpus, "made", "bin", build))
				name := filepath.Join(filepath.Base(folder), file) + " with " + filepath.Base(roots[0])
				ref := parseFile(t, path)
				fields := DefaultFields | FieldSP
				match := expectMatch(t, name)
				agreed += held(t, name, ref, w, Options{Fields: fields, Code: w.Process.Memory.Bytes}, func(i int, a *Alignment, s *unwind.Stack) {
					match(i, a, s)
					for _, x := range a.Tolerated {
						tolerated[x.What]++
					}
				})
			}
		}
	}
	t.Logf("%d traces, %d frames agree; tolerated: %v", texts, agreed, tolerated)
}

// TestOwnTraces: what a walk is written down as, in each format, agrees with it.
func TestOwnTraces(t *testing.T) {
	corpus := corpustest.Dir(t)
	dumps, err := filepath.Glob(filepath.Join(corpus, "made", "*", "inproc.dmp"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := filepath.Glob(filepath.Join(corpus, "public", "*.dmp"))
	if err != nil || len(dumps)+len(public) < 40 {
		t.Fatalf("%d dumps, %v", len(dumps)+len(public), err)
	}
	for _, dump := range append(dumps, public...) {
		roots := []string{filepath.Join(corpus, "made", "symbols-inline"), filepath.Join(corpus, "made", "symbols")}
		if filepath.Base(filepath.Dir(dump)) == "public" {
			roots = []string{filepath.Join(corpus, "public", "symbols")}
		}
		w := walkerOf(t, dump, unwind.OpenOptions{}, roots...)
		for _, best := range []bool{false, true} {
			w.Best = best
			walked := trace.Walk(w, false)
			var text, machine, json, explained bytes.Buffer
			for _, err := range []error{
				trace.Text(&text, walked, trace.TextOptions{StackContents: !best}), trace.Machine(&machine, walked),
				trace.JSON(&json, walked, trace.JSONOptions{}), trace.JSON(&explained, walked, trace.JSONOptions{Pretty: true, Explain: true}),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for i, data := range [][]byte{text.Bytes(), machine.Bytes(), json.Bytes(), explained.Bytes()} {
				name := fmt.Sprintf("%s best %v format %d", strings.TrimPrefix(dump, corpus), best, i)
				ref, err := ParseReference(data)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				match := expectMatch(t, name)
				held(t, name, ref, w, Options{Fields: AllFields}, func(i int, a *Alignment, s *unwind.Stack) {
					match(i, a, s)
					for _, x := range a.Tolerated {
						t.Errorf("%s: thread %d frame %d: %s: %s", name, i, x.Frame, x.What, x.Text)
					}
				})
			}
		}
	}
}

// TestFirstDifferences: where walks as Google's tool makes them leave gdb's truth is known from elsewhere: MANIFEST.md of
// the corpus tells for each case the frame of the crashing thread and what gdb has there.
func TestFirstDifferences(t *testing.T) {
	corpus := corpustest.Dir(t)
	manifest := string(readPlain(t, filepath.Join(corpus, "MANIFEST.md")))
	row := regexp.MustCompile(`(?m)^\| (\S+) \| \d+ \| [^|]* \| inproc [^|]* \| both: thread 0 frame (\d+): gdb=(\S+) .*$`)
	cases := row.FindAllStringSubmatch(manifest, -1)
	if len(cases) < 20 {
		t.Fatalf("%d cases", len(cases))
	}
	differing := 0
	for _, c := range cases {
		name, frame, truth := c[1], c[2], c[3]
		folder := filepath.Join(corpus, "made", name)
		w := walkerOf(t, filepath.Join(folder, "inproc.dmp"), unwind.OpenOptions{}, filepath.Join(corpus, "made", "symbols"))
		ref := parseFile(t, filepath.Join(folder, "gdb.tsv"))
		held(t, name, ref, w, Options{Code: w.Process.Memory.Bytes}, func(i int, a *Alignment, s *unwind.Stack) {
			d := a.First
			if s.Index != w.Process.Requesting || truth == "END" {
				if d != nil {
					t.Errorf("%s: thread %d: frame %d: %s, %s", name, s.Index, d.Frame, d.Expected, d.Got)
				}
				return
			}
			if d == nil {
				t.Errorf("%s matches: frame %s differs", name, frame)
				return
			}
			differing++
			function, pc, _ := strings.Cut(truth, "@")
			if fmt.Sprint(d.Frame) != frame || d.Ref == nil || d.Ref.Function != function || fmt.Sprintf("%x", d.Ref.PC) != pc || a.Agreed != d.Frame {
				t.Errorf("%s: frame %d: %s; want frame %s, %s", name, d.Frame, d.Expected, frame, truth)
			}
			if d.Weakness != nil {
				t.Errorf("%s: gdb is blamed: %v", name, d.Weakness)
			}
		})
	}
	t.Logf("%d cases, %d differ", len(cases), differing)
}

// TestWeaknessCorpus: wherever a best walk, which finds gdb's truth, differs from what Google's tool printed, that is
// known to be wrong.
func TestWeaknessCorpus(t *testing.T) {
	corpus := corpustest.Dir(t)
	count := make(map[string]int)
	for _, r := range stackwalkReferences(t, corpus) {
		folder := filepath.Dir(r.path)
		if filepath.Dir(folder) != filepath.Join(corpus, "made") || filepath.Base(r.dump) != "inproc.dmp" || strings.Contains(r.path, "nosym") {
			continue
		}
		name := filepath.Base(folder) + "/" + filepath.Base(r.path)
		build, crash, _ := cutLast(filepath.Base(folder), "-")
		w := walkerOf(t, r.dump, unwind.OpenOptions{}, r.roots...)
		w.Best = true
		withBinaries(t, w, filepath.Join(corpus, "made", "bin", build))
		held(t, name, parseFile(t, r.path), w, Options{}, func(i int, a *Alignment, s *unwind.Stack) {
			d := a.First
			if d == nil {
				return
			}
			if d.Weakness == nil {
				t.Errorf("%s: thread %d: frame %d: expected %s, got %s", name, i, d.Frame, d.Expected, d.Got)
				return
			}
			count[d.Weakness.Name]++
			want := map[string]string{"badcall": "wild-call", "jump0": "wild-call", "signal": "skipped-interrupted ends-at-trampoline",
				"null": "symbol-file-only made-up-frame", "trap": "symbol-file-only"}[crash]
			if build == "gcc12-O2-i386" && crash != "signal" {
				want = "symbol-file-only" // a realigned stack comes first
			}
			if !slices.Contains(strings.Fields(want), d.Weakness.Name) {
				t.Errorf("%s: %s, want %s", name, d.Weakness.Name, want)
			}
		})
	}
	t.Log(count)
	for _, name := range [...]string{"wild-call", "skipped-interrupted", "ends-at-trampoline", "symbol-file-only", "made-up-frame"} {
		if count[name] == 0 {
			t.Errorf("%s was never seen", name)
		}
	}
}

// TestPlantedDifferences changes references frame by frame and field by field: each change must be found where it is.
func TestPlantedDifferences(t *testing.T) {
	corpus := corpustest.Dir(t)
	planted := 0
	for _, name := range []string{"made/gcc12-O2-x86_64-null/inproc.inline.stackwalk.txt", "made/clang14-O2fp-i386-null/inproc.stackwalk.txt", "public/microdump-arm.stackwalk.txt",
		"public/microdump-mips32.stackwalk.txt", "public/minidump_crashpad_annotation.stackwalk.txt"} {
		path := filepath.Join(corpus, name)
		dir := filepath.Dir(path)
		roots := []string{filepath.Join(corpus, strings.Split(name, "/")[0], "symbols")}
		if strings.Contains(name, ".inline.") {
			roots = append([]string{roots[0] + "-inline"}, roots...)
		}
		stem, _, _ := strings.Cut(filepath.Base(name), ".")
		w := walkerOf(t, filepath.Join(dir, stem+".dmp"), unwind.OpenOptions{}, roots...)
		ref := parseFile(t, path)
		for i := range ref.Threads {
			s := w.Walk(Pair(ref, w.Process)[i].Thread)
			frames := ref.Threads[i].Frames
			for k := range frames {
				saved := frames[k]
				plant := func(field string, change func(f *RefFrame) bool) {
					f := saved
					f.Registers = slices.Clone(f.Registers)
					if !change(&f) {
						return
					}
					frames[k] = f
					defer func() { frames[k] = saved }()
					a := Align(ref, i, w.Process, s, Options{Fields: AllFields})
					planted++
					d := a.First
					if d == nil {
						for _, x := range a.Tolerated {
							if x.What == "beyond-outermost" && x.Ref <= k {
								return
							}
						}
						t.Errorf("%s thread %d frame %d: a %s that differs is not found", name, i, k, field)
						return
					}
					if d.Field != field || d.RefIndex != k && !frames[k].Inline {
						t.Errorf("%s thread %d frame %d: %s differs, found %s at %d", name, i, k, field, d.Field, d.RefIndex)
					}
				}
				plant("pc", func(f *RefFrame) bool { f.PC += 16; return f.HasPC && !f.Inline })
				plant("sp", func(f *RefFrame) bool { f.SP += 8; return f.HasSP })
				plant("module", func(f *RefFrame) bool { f.Module = "no" + f.Module; return !f.Inline && f.Module != "no" })
				plant("function", func(f *RefFrame) bool {
					f.Function = "no::" + f.Function + "x"
					f.FunctionOffset++ // other names at the same address are no difference
					return saved.Function != ""
				})
				plant("line", func(f *RefFrame) bool { f.SrcLine++; return f.File != "" })
				plant("line", func(f *RefFrame) bool { f.File += "x"; return saved.File != "" })
				plant("trust", func(f *RefFrame) bool { f.Trust = "prewalked"; return !f.Inline })
				plant("registers", func(f *RefFrame) bool {
					if len(f.Registers) == 0 {
						return false
					}
					f.Registers[len(f.Registers)/2].Value ^= 0x100
					return true
				})
			}
		}
	}
	t.Logf("%d differences", planted)
	if planted < 1000 {
		t.Error("too few")
	}
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
