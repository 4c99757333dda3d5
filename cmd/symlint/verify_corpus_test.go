package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/symlint/symlint/cmd/symlint/internal/cli"
	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symstore"
)

// verified runs verify and returns its exit status and what it wrote.
func verified(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = cli.Run(append([]string{"verify", "--no-config"}, args...), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
	})
	return status, out.String(), errs.String()
}

// TestVerifyCorpus: the walk of every dump matches its own references, in all their formats.
func TestVerifyCorpus(t *testing.T) {
	corpus := corpustest.Dir(t)
	var runs [][]string
	for _, r := range references(t, corpus) {
		args := slices.DeleteFunc(slices.Clone(r.args), func(a string) bool { return a == "-m" || a == "-s" })
		runs = append(runs, append(args, "--reference", r.path))
	}
	stackwalks := len(runs)
	runs = append(runs, debuggerRuns(t, corpus)...)
	debuggers := len(runs) - stackwalks
	if stackwalks < 300 || debuggers < 100 {
		t.Errorf("only %d references of stackwalkers and %d of gdb", stackwalks, debuggers)
	}
	failures := make([]string, len(runs))
	each(len(runs), func(i int) {
		if status, stdout, stderr := verified(runs[i]...); status != 0 || !strings.Contains(stdout, ": matches ") {
			failures[i] = fmt.Sprintf("symlint verify %s\nexit status %d\n%s%s", strings.Join(runs[i], " "), status, stdout, stderr)
		}
	})
	bad := 0
	for _, text := range failures {
		if text != "" {
			if bad++; bad < 20 {
				t.Error(text)
			}
		}
	}
	t.Logf("%d of %d references are matched, %d of stackwalkers and %d of gdb", len(runs)-bad, len(runs), stackwalks, debuggers)
}

// debuggerRuns are the dumps and cores with what gdb said of them, which takes the best walk and the binaries.
func debuggerRuns(t *testing.T, corpus string) (runs [][]string) {
	t.Helper()
	made := filepath.Join(corpus, "made")
	for _, name := range [...]string{"inproc.dmp", "core.gz", "core2md.dmp", "core2md.dmp.gz"} {
		dumps, err := filepath.Glob(filepath.Join(made, "*", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, dump := range dumps {
			folder := filepath.Dir(dump)
			build := filepath.Base(folder)
			build = build[:strings.LastIndex(build, "-")]
			for _, ref := range [...]string{"gdb.tsv", "gdb.bt.txt"} {
				if path := filepath.Join(folder, ref); exists(path) {
					runs = append(runs, []string{dump, filepath.Join(made, "symbols"), "--unwind", "best", "--binaries", filepath.Join(made, "bin", build), "--reference", path})
				}
			}
		}
	}
	return runs
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// each calls f for 0 to n-1, several at a time.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// TestVerifyUpdateCorpus: what --update writes is matched in all fields, by one verification of a whole directory.
func TestVerifyUpdateCorpus(t *testing.T) {
	corpus := corpustest.Dir(t)
	dir := t.TempDir()
	var dumps int
	for _, pattern := range [...]string{"public/*.dmp", "made/*/inproc.dmp", "made/*/core2md.dmp*", "bad/ebp-esp-swap/*/inproc.dmp"} {
		found, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			rel, err := filepath.Rel(corpus, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path, filepath.Join(dir, strings.ReplaceAll(rel, string(filepath.Separator), "_"))); err != nil {
				t.Fatal(err)
			}
			dumps++
		}
	}
	if dumps < 50 {
		t.Errorf("only %d dumps", dumps)
	}
	symbols := []string{filepath.Join(corpus, "made", "symbols-inline"), filepath.Join(corpus, "made", "symbols"), filepath.Join(corpus, "public", "symbols")}
	args := append([]string{dir}, symbols...)
	if status, stdout, stderr := verified(append(args, "--update", "--quiet")...); status != 0 {
		t.Fatalf("exit status %d\n%s%s", status, stdout, stderr)
	}
	status, stdout, stderr := verified(append(args, "--compare", "module,function,pc,sp,line,trust,registers")...)
	if status != 0 || !strings.Contains(stdout, fmt.Sprintf("\n%d dumps, ", dumps)) || !strings.HasSuffix(stdout, " compared: all match\n") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
	for _, jobs := range [...]string{"1", "7"} {
		if _, again, _ := verified(append(args, "--compare", "module,function,pc,sp,line,trust,registers", "--jobs", jobs)...); again != stdout {
			t.Errorf("the output with --jobs %s is another", jobs)
		}
	}
	t.Logf("%s", stdout[strings.LastIndex(strings.TrimSpace(stdout), "\n")+1:])
}

// verifyResult is the part of verify's JSON that the tests look at.
type verifyResult struct {
	Threads []struct {
		Thread     int
		Matched    bool
		Frames     int
		Expected   int `json:"reference_frames"`
		Divergence *struct {
			Record *struct {
				File, Function string
				Line           int
				Rules          []struct {
					Register string
					Value    *string
				}
			}
			Findings []struct{ Rule, File string }
			Remedy   *struct {
				Rule, File      string
				Matched, Frames int
				FramesMatched   int `json:"frames_matched"`
			}
		} `json:"first_divergence"`
	}
	Summary struct{ Threads, Matched, Diverged, Remedies int }
}

// TestVerifySwapped: symbol files with exchanged registers. The record to blame is in the function that the first wrong
// frame came from, check names the defect, and undoing it is proven to make the whole thread match.
func TestVerifySwapped(t *testing.T) {
	corpus := corpustest.Dir(t)
	folders, err := filepath.Glob(filepath.Join(corpus, "bad", "ebp-esp-swap", "*", "inproc.dmp"))
	if err != nil || len(folders) < 5 {
		t.Fatalf("%d cases, %v", len(folders), err)
	}
	threads, alone := 0, 0
	for _, dump := range folders {
		folder := filepath.Dir(dump)
		for _, system := range [...]bool{false, true} {
			for _, format := range [...]string{"txt", "machine.txt"} {
				name, more := "correct", []string(nil)
				if system {
					name, more = "correct+system", []string{filepath.Join(corpus, "made", "symbols")}
				}
				reference := filepath.Join(folder, name+".stackwalk."+format)
				correct := append([]string{filepath.Join(folder, "symbols-correct")}, more...)
				swapped := append([]string{filepath.Join(folder, "symbols-swapped")}, more...)
				if status, stdout, stderr := verified(append([]string{dump, "-r", reference}, correct...)...); status != 0 {
					t.Errorf("%s, correct symbols: exit status %d\n%s%s", reference, status, stdout, stderr)
				}
				status, stdout, stderr := verified(append([]string{dump, "-r", reference, "-f", "json", "-q"}, swapped...)...)
				if status != 1 || stderr != "" {
					t.Errorf("%s, swapped symbols: exit status %d\n%s", reference, status, stderr)
				}
				var result verifyResult
				if err := json.Unmarshal([]byte(stdout), &result); err != nil {
					t.Fatal(err)
				}
				n := checkSwapped(t, reference, &result, walkWith(t, dump, swapped...), walkWith(t, dump, correct...))
				if n == 0 {
					t.Errorf("%s: no thread differs", reference)
				}
				if threads += n; !system {
					alone += n
				}
			}
		}
		// Without a reference the walk betrays itself.
		if status, stdout, stderr := verified("--self", dump, filepath.Join(folder, "symbols-swapped")); status != 1 || !strings.Contains(stdout, "cfi-swapped-frame-stack") {
			t.Errorf("%s, held against itself: exit status %d\n%s%s", dump, status, stdout, stderr)
		}
		if status, stdout, stderr := verified("--self", dump, filepath.Join(folder, "symbols-correct")); status != 0 {
			t.Errorf("%s, held against itself with correct symbols: exit status %d\n%s%s", dump, status, stdout, stderr)
		}
	}
	t.Logf("%d threads, %d of them without the system's symbols: all blamed and remedied", threads, alone)
}

func walkWith(t *testing.T, dump string, roots ...string) *unwind.Walker {
	t.Helper()
	data, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	p, err := unwind.Open(data, unwind.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := symstore.New(roots, symstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &unwind.Walker{Process: p, Symbols: unwind.FromStore(store)}
}

// checkSwapped holds the diagnosis of each thread that differs against the walks with either symbols, and returns their
// number.
func checkSwapped(t *testing.T, name string, result *verifyResult, wrong, right *unwind.Walker) int {
	t.Helper()
	n := 0
	for _, thread := range result.Threads {
		if thread.Matched {
			continue
		}
		n++
		d := thread.Divergence
		if d == nil || d.Record == nil || d.Remedy == nil {
			t.Errorf("%s, thread %d: no record or no remedy: %+v", name, thread.Thread, d)
			continue
		}
		lines, function := firstWrong(wrong, right, thread.Thread)
		if !slices.Contains(lines, d.Record.Line) || d.Record.Function != function || !strings.Contains(d.Record.File, "symbols-swapped") {
			t.Errorf("%s, thread %d: blamed %s:%d in %s, the first wrong frame came from %s, lines %v", name, thread.Thread,
				d.Record.File, d.Record.Line, d.Record.Function, function, lines)
		}
		if len(d.Record.Rules) == 0 || d.Record.Rules[0].Value == nil {
			t.Errorf("%s, thread %d: the record's rules have no values", name, thread.Thread)
		}
		if !slices.ContainsFunc(d.Findings, func(f struct{ Rule, File string }) bool { return f.Rule == "cfi-swapped-frame-stack" }) {
			t.Errorf("%s, thread %d: check's finding is not named: %v", name, thread.Thread, d.Findings)
		}
		if want := len(right.Walk(thread.Thread).Frames); d.Remedy.Rule != "cfi-swapped-frame-stack" || d.Remedy.FramesMatched != want || d.Remedy.Frames != want {
			t.Errorf("%s, thread %d: remedy %+v, want %d of %d frames", name, thread.Thread, *d.Remedy, want, want)
		}
	}
	return n
}

// firstWrong finds the first frame whose registers differ between two walks, and the lines of the unwind records of the
// function below it.
func firstWrong(wrong, right *unwind.Walker, thread int) (lines []int, function string) {
	a, b := wrong.Walk(thread), right.Walk(thread)
	i := 1
	for i < len(a.Frames) && i < len(b.Frames) && a.Frames[i].Registers == b.Frames[i].Registers {
		i++
	}
	f := &a.Frames[i-1]
	symbols, err := wrong.Symbols.ModuleSymbols(f.Module)
	if err != nil {
		return nil, f.Function
	}
	info := symbols.CFI(f.Instruction - f.Module.Base)
	if info == nil {
		return nil, f.Function
	}
	for _, row := range symbols.CFI(info.Addr + info.Size - 1).Rows {
		lines = append(lines, row.Line)
	}
	return lines, f.Function
}
