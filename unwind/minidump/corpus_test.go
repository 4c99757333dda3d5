package minidump

import (
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// corpusDumps are the dumps of the corpus by path, unpacked.
func corpusDumps(t testing.TB) map[string][]byte {
	dir := corpustest.Dir(t)
	dumps := map[string][]byte{}
	for _, sub := range []string{"public", "made", "bad/ebp-esp-swap"} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".dmp") {
				return err
			}
			dumps[path], err = readMaybeGzip(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(dumps) < 50 {
		t.Fatalf("only %d dumps in %s", len(dumps), dir)
	}
	return dumps
}

func readMaybeGzip(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		return io.ReadAll(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// machineReferences are the files with output of minidump_stackwalk -m for a dump.
func machineReferences(t *testing.T, dump string) []string {
	dir, name := filepath.Split(dump)
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".dmp") + "."
	if strings.Contains(dir, "ebp-esp-swap") {
		stem = "" // one dump a directory, references named for the symbols
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.machine.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(path string) bool { return !strings.HasPrefix(filepath.Base(path), stem) })
}

// headOf returns the OS, CPU, GPU, Crash and Module lines of a reference.
func headOf(t *testing.T, path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "\n\n")
	return strings.Split(strings.TrimSuffix(head, "\n"), "\n")
}

func strip(s string) string { return strings.NewReplacer("|", "", "\n", "").Replace(s) }

func baseName(s string) string { return s[strings.LastIndexAny(s, `/\`)+1:] }

func crashLine(c *Crash, assertion string, requesting int) string {
	thread := ""
	if requesting >= 0 {
		thread = fmt.Sprint(requesting)
	}
	if c == nil {
		if assertion == "" {
			assertion = "No crash"
		}
		return fmt.Sprintf("Crash|%s||%s", strip(assertion), thread)
	}
	return fmt.Sprintf("Crash|%s|0x%x|%s", strip(c.Reason), c.Address, thread)
}

func moduleLine(code, version, debug, id string, base, size uint64, main bool) string {
	n := 0
	if main {
		n = 1
	}
	return fmt.Sprintf("Module|%s|%s|%s|%s|0x%08x|0x%08x|%d", strip(baseName(code)), strip(version), strip(baseName(debug)), strip(id), base, base+size-1, n)
}

// machineHead is what minidump_stackwalk -m prints before the frames, with modules by base address.
func machineHead(f *File, s *State) []string {
	lines := []string{
		fmt.Sprintf("OS|%s|%s", strip(s.OS), strip(s.OSVersion)),
		fmt.Sprintf("CPU|%s|%s|%d", strip(s.CPU), strip(s.CPUInfo), s.CPUCount),
		"GPU|||",
		crashLine(s.Crash, s.Assertion, s.Requesting),
	}
	order := slices.Clone(f.Modules)
	slices.SortFunc(order, func(a, b Module) int { return cmpUint(a.Base, b.Base) })
	for _, m := range order {
		lines = append(lines, moduleLine(m.CodeFile, m.Version, m.DebugFile, m.DebugID, m.Base, uint64(m.Size), m.Base == f.Modules[0].Base))
	}
	return lines
}

func cmpUint(a, b uint64) int {
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

func microHead(m *Microdump) []string {
	lines := []string{
		fmt.Sprintf("OS|%s|%s", strip(m.OS), strip(m.OSVersion)),
		fmt.Sprintf("CPU|%s||%d", strip(m.CPU), m.CPUCount),
		fmt.Sprintf("GPU|%s|%s|%s", strip(m.GLVersion), strip(m.GLVendor), strip(m.GLRenderer)),
		crashLine(&Crash{Reason: m.Reason, Address: m.Address}, "", 0),
	}
	order := slices.Clone(m.Modules)
	slices.SortFunc(order, func(a, b MicroModule) int { return cmpUint(a.Base, b.Base) })
	for _, x := range order {
		lines = append(lines, moduleLine(x.Name, "", x.Name, x.ID, x.Base, x.Size, false))
	}
	return lines
}

func TestCorpusReferences(t *testing.T) {
	compared := 0
	for path, data := range corpusDumps(t) {
		var got []string
		if IsMicrodump(data) {
			m, err := ParseMicrodump(data)
			if err != nil || m.ContextErr != nil || m.StackErr != nil || m.Context == nil {
				t.Errorf("%s: %v %v %v", path, err, m.ContextErr, m.StackErr)
				continue
			}
			got = microHead(m)
		} else {
			f, err := Parse(data)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			s, err := f.Process()
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			got = machineHead(f, s)
		}
		for _, ref := range machineReferences(t, path) {
			compared++
			want := headOf(t, ref)
			// The reference's order is that of ranges after overlaps are resolved.
			slices.Sort(got[4:])
			slices.Sort(want[4:])
			if !slices.Equal(got, want) {
				t.Errorf("%s:\n%s", ref, difference(got, want))
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d references compared", compared)
	}
}

func difference(got, want []string) string {
	var b strings.Builder
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			fmt.Fprintf(&b, "  got  %s\n  want %s\n", g, w)
		}
	}
	return b.String()
}

// Streams that minidump_dump cannot read either, and one it does not know, which lies in the same damaged tail.
var brokenInCorpus = map[string]bool{
	"exec_av_on_stack.dmp MemoryList":     true,
	"linux_executable_stack.dmp Maps":     true,
	"linux_executable_stack.dmp DSODebug": true,
}

// Every stream that the corpus has can be read, and every thread's context and stack.
func TestCorpusStreams(t *testing.T) {
	for path, data := range corpusDumps(t) {
		if !IsMinidump(data) {
			continue
		}
		f, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range f.streamErrors() {
			if broken := brokenInCorpus[filepath.Base(path)+" "+name]; (err != nil) != broken {
				t.Errorf("%s: %s: %v", path, name, err)
			}
		}
		s, err := f.Process()
		if err != nil {
			t.Fatal(err)
		}
		for i, th := range s.Threads {
			if th.ContextErr != nil {
				t.Errorf("%s: thread %d: %v", path, i, th.ContextErr)
			}
			if th.Context != nil && th.HasStack && th.Stack.Data != nil && th.Stack.Contains(th.Context.Registers.SP()) {
				b, ok := f.Memory(th.Context.Registers.SP(), th.Context.CPU.Word)
				if !ok || &b[0] != &th.Stack.Data[th.Context.Registers.SP()-th.Stack.Base] {
					t.Errorf("%s: thread %d: stack is not where Memory finds it", path, i)
				}
			}
		}
		if f.Linux.Maps != nil && len(f.Maps) == 0 && f.MapsErr == nil {
			t.Errorf("%s: maps are empty", path)
		}
	}
}

func (f *File) streamErrors() map[string]error {
	return map[string]error{
		"ThreadList": f.ThreadsErr, "ThreadNames": f.ThreadNamesErr, "ModuleList": f.ModulesErr, "Unloaded": f.UnloadedErr,
		"MemoryList": f.Memory32Err, "Memory64": f.Memory64Err, "Exception": f.ExceptionErr, "SystemInfo": f.SystemErr,
		"MiscInfo": f.MiscErr, "MemoryInfo": f.MemoryInfoErr, "Breakpad": f.BreakpadErr, "Assertion": f.AssertionErr,
		"Crashpad": f.CrashpadErr, "Handles": f.HandlesErr, "Maps": f.MapsErr, "DSODebug": f.DSODebugErr,
	}
}
