package unwind_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symstore"
)

// sframeCores are the cores of testdata/sframe-cores.
var sframeCores = []string{
	"amd64-v1-O2", "amd64-v2-O0", "amd64-v3-O2", "amd64-v3-signal", "aarch64-v2-O0", "aarch64-v3-O2",
	"aarch64-v3-pac", "aarch64-v3-signal", "s390x-v3-O0", "s390x-v3-O2", "s390x-v3-signal",
}

// trueFrame is a frame as gdb sees it.
type trueFrame struct {
	pc, sp   uint64
	function string
}

func sframeCoreDir() string { return filepath.Join(corpustest.Root(), "testdata", "sframe-cores") }

func gunzip(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readGDB(t *testing.T, path string) []trueFrame {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []trueFrame
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		var f trueFrame
		var thread, level int
		if _, err := fmt.Sscanf(s.Text(), "%d\t%d\t0x%x\t0x%x\t%s", &thread, &level, &f.pc, &f.sp, &f.function); err != nil {
			t.Fatalf("%s: %q: %v", path, s.Text(), err)
		}
		if thread != 1 || level != len(out) {
			t.Fatalf("%s: %q out of order", path, s.Text())
		}
		out = append(out, f)
	}
	if len(out) < 10 {
		t.Fatalf("%s: only %d frames", path, len(out))
	}
	return out
}

// sframeWalker opens a core of testdata/sframe-cores.
func sframeWalker(t *testing.T, name string) *unwind.Walker {
	t.Helper()
	binaries := symstore.NewBinaries([]string{filepath.Join(sframeCoreDir(), "bin")})
	t.Cleanup(func() { binaries.Close() })
	p, err := unwind.Open(gunzip(t, filepath.Join(sframeCoreDir(), name+".core.gz")), unwind.OpenOptions{
		Binary: func(path string) ([]byte, error) {
			data, _, err := binaries.Binary(path, nil)
			return data, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &unwind.Walker{Process: p, Binaries: unwind.FromBinaries(binaries)}
}

// SFrame alone, DWARF alone and everything together find the frames that gdb finds.
func TestSFrameCores(t *testing.T) {
	walks := []struct {
		name       string
		techniques []unwind.Technique
	}{
		{"sframe", []unwind.Technique{unwind.BySFrame}}, {"dwarf", []unwind.Technique{unwind.ByDWARF}}, {"best", nil},
	}
	for _, c := range sframeCores {
		truth := readGDB(t, filepath.Join(sframeCoreDir(), c+".tsv"))
		for _, how := range walks {
			t.Run(c+"/"+how.name, func(t *testing.T) {
				w := sframeWalker(t, c)
				w.Techniques, w.Best = how.techniques, how.techniques == nil
				s := w.Walk(0)
				compareTruth(t, c, s, truth)
				for i := range s.Frames[1:] {
					f := &s.Frames[i+1]
					switch {
					case how.name == "sframe" && f.Technique != unwind.BySFrame:
						t.Errorf("frame %d was found by %s", i+1, f.Technique)
					case how.name == "dwarf" && f.Technique != unwind.ByDWARF:
						t.Errorf("frame %d was found by %s", i+1, f.Technique)
					}
				}
			})
		}
	}
}

func compareTruth(t *testing.T, name string, s *unwind.Stack, truth []trueFrame) {
	t.Helper()
	for i := range s.Frames {
		f := &s.Frames[i]
		if i >= len(truth) {
			t.Errorf("frame %d: pc %#x, gdb has none", i, f.Return)
			continue
		}
		want := truth[i]
		if f.Return != want.pc || f.Registers.SP() != want.sp {
			t.Errorf("frame %d: pc %#x sp %#x, gdb: pc %#x sp %#x in %s", i, f.Return, f.Registers.SP(), want.pc, want.sp, want.function)
		}
		// Names are looked up before the address returned to, which is in front of a trampoline.
		if f.Function != want.function && want.function != "restorer" {
			t.Errorf("frame %d: function %q, gdb: %q", i, f.Function, want.function)
		}
	}
	switch n := len(s.Frames); {
	case n == len(truth):
		// The tables of the versions before 3 and entry points without any cannot tell that nothing called _start.
		if s.End != unwind.EndOutermost && (strings.Contains(name, "-v3-") || s.End != unwind.EndNoTechnique) {
			t.Errorf("ends with %v", s.End)
		}
	default:
		t.Errorf("%d frames, gdb has %d; end: %v", n, len(truth), s.End)
	}
}

// Every step of an explanation names the row and what its rules came to.
func TestSFrameExplain(t *testing.T) {
	for _, c := range sframeCores {
		w := sframeWalker(t, c)
		w.Techniques = []unwind.Technique{unwind.BySFrame}
		s := w.Walk(0)
		for i := 1; i < len(s.Frames); i++ {
			a := w.Explain(s, i).Found()
			if a == nil || a.Technique != unwind.BySFrame || a.Record == nil || a.Record.Kind != ".sframe" {
				t.Errorf("%s: frame %d: %+v", c, i, a)
				continue
			}
			callee := &s.Frames[i-1]
			r := a.Record
			if r.Module == nil || r.Lookup < r.Address || r.Lookup >= r.Address+r.Size {
				t.Errorf("%s: frame %d: the row of [%#x, +%#x) does not hold %#x", c, i, r.Address, r.Size, r.Lookup)
			}
			if callee.Function == "" {
				continue // a trampoline has no rows
			}
			if len(a.Rules) != 3 || a.Rules[0].Register != "CFA" || a.Rules[1].Register != "RA" || a.Rules[2].Register != "FP" {
				t.Errorf("%s: frame %d: rules %+v", c, i, a.Rules)
				continue
			}
			cfa := s.Frames[i].Registers.SP()
			if strings.HasPrefix(c, "s390x") {
				cfa += 160
			}
			if a.Rules[0].Value != cfa || a.Rules[0].Fault != "" {
				t.Errorf("%s: frame %d: CFA %+v, want %#x", c, i, a.Rules[0], cfa)
			}
		}
		if a := w.Explain(s, len(s.Frames)).Found(); a != nil {
			t.Errorf("%s: a caller of the last frame: %+v", c, a)
		}
	}
}
