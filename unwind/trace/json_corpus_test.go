package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symstore"
)

// corpusDump is a dump of the corpus with the folder of its symbols.
type corpusDump struct{ file, symbols string }

func corpusDumps(t *testing.T) []corpusDump {
	t.Helper()
	dir := corpustest.Dir(t)
	var out []corpusDump
	for folder, symbols := range map[string]string{
		"public": "public/symbols", "made": "made/symbols-inline", "bad/ebp-esp-swap": "", "cpu": "cpu/symbols",
	} {
		err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, e fs.DirEntry, err error) error {
			name := strings.TrimSuffix(e.Name(), ".gz")
			if err != nil || e.IsDir() || filepath.Ext(name) != ".dmp" && (name != "core" || folder != "cpu") {
				return err
			}
			from := filepath.Join(dir, symbols)
			if symbols == "" {
				from = filepath.Join(filepath.Dir(path), "symbols-swapped")
			}
			out = append(out, corpusDump{path, from})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (c corpusDump) walk(t *testing.T) *Walked {
	t.Helper()
	data, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(c.file, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	var o unwind.OpenOptions
	if maps, err := os.ReadFile(filepath.Join(filepath.Dir(c.file), "maps.txt")); err == nil {
		o.Maps = maps
	}
	p, err := unwind.Open(data, o)
	if err != nil {
		t.Fatal(err)
	}
	store, err := symstore.New([]string{c.symbols}, symstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Walk(&unwind.Walker{Process: p, Symbols: unwind.FromStore(store)}, false)
}

// document is what the test reads back.
type document struct {
	Crash struct {
		Thread *int `json:"crashing_thread"`
	} `json:"crash_info"`
	Crashing    *docThread `json:"crashing_thread"`
	ThreadCount int        `json:"thread_count"`
	Threads     []docThread
	Modules     []struct {
		Filename    string
		Base        string `json:"base_addr"`
		End         string `json:"end_addr"`
		Missing     bool   `json:"missing_symbols"`
		Loaded      bool   `json:"loaded_symbols"`
		DebugID     string `json:"debug_id"`
		DebugSource string `json:"debug_file"`
	}
}

type docThread struct {
	Index  *int `json:"threads_index"`
	Count  int  `json:"frame_count"`
	Frames []docFrame
}

type docFrame struct {
	Frame          int
	Offset         string
	Module         *string
	ModuleOffset   *string `json:"module_offset"`
	Function       *string
	FunctionOffset *string `json:"function_offset"`
	Missing        bool    `json:"missing_symbols"`
	Trust          string
	Registers      map[string]string
}

func number(t *testing.T, hex string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(hex, 0, 64)
	if err != nil {
		t.Error(err)
	}
	return v
}

// Every dump: the output is what the schema says, and says the same in all the places that tell a thing twice.
func TestJSONCorpus(t *testing.T) {
	schema := walkSchema(t)
	dumps := corpusDumps(t)
	frames := 0
	for _, c := range dumps {
		t.Run(c.file, func(t *testing.T) {
			d := c.walk(t)
			text := jsonOf(t, d, JSONOptions{})
			if again := jsonOf(t, c.walk(t), JSONOptions{}); !bytes.Equal(text, again) {
				t.Error("not the same twice")
			}
			sortedKeys(t, text)
			for _, text := range [][]byte{text, jsonOf(t, d, JSONOptions{Explain: true, Pretty: true})} {
				if err := validateJSON(schema, text); err != nil {
					t.Error(err)
				}
			}
			var doc document
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			doc.check(t, d)
			for i := range doc.Threads {
				frames += len(doc.Threads[i].Frames)
			}
		})
	}
	t.Logf("%d frames of %d dumps", frames, len(dumps))
}

func (doc *document) check(t *testing.T, d *Walked) {
	t.Helper()
	if len(doc.Threads) != doc.ThreadCount {
		t.Errorf("thread_count is %d of %d", doc.ThreadCount, len(doc.Threads))
	}
	skipped := len(doc.Threads) - len(d.Stacks)
	if skipped != 0 && skipped != 1 {
		t.Fatalf("%d threads, want %d", len(doc.Threads), len(d.Stacks))
	}
	if doc.Crashing != nil {
		i := doc.Crashing.Index
		if i == nil || doc.Crash.Thread == nil || *i != *doc.Crash.Thread {
			t.Fatal("threads_index is not crashing_thread")
		}
		if len(doc.Crashing.Frames[0].Registers) == 0 {
			t.Error("no registers")
		}
		doc.Crashing.Frames[0].Registers = nil
		if diff := cmp.Diff(doc.Threads[*i].Frames, doc.Crashing.Frames); diff != "" {
			t.Errorf("crashing_thread differs from its thread:\n%s", diff)
		}
	}
	digits := len("0x") + pointerDigits(d.Process.System.CPU)
	for i := range doc.Threads {
		th := &doc.Threads[i]
		if th.Count != len(th.Frames) {
			t.Errorf("thread %d: frame_count is %d of %d", i, th.Count, len(th.Frames))
		}
		for k := range th.Frames {
			f := &th.Frames[k]
			where := fmt.Sprintf("thread %d frame %d", i, k)
			named, first := f.Function != nil, f.Trust == "context"
			if f.Frame != k || len(f.Offset) != digits || named == f.Missing || first != (k == 0) {
				t.Errorf("%s: %+v", where, f)
			}
			if f.Module != nil {
				doc.checkModule(t, where, f)
			}
		}
	}
	// What was walked is told, in order.
	at := 0
	for i, s := range d.Stacks {
		if skipped == 1 && d.Process.Details.Writer.Index == i {
			at++
		}
		if len(doc.Threads[at].Frames) != len(s.Frames) {
			t.Errorf("thread %d has %d frames, want %d", at, len(doc.Threads[at].Frames), len(s.Frames))
		}
		at++
	}
}

// checkModule looks for the module that a frame names.
func (doc *document) checkModule(t *testing.T, where string, f *docFrame) {
	t.Helper()
	addr := number(t, f.Offset)
	for i := range doc.Modules {
		m := &doc.Modules[i]
		base, end := number(t, m.Base), number(t, m.End)
		if m.Filename != *f.Module || addr < base || addr >= end || addr-base != number(t, *f.ModuleOffset) {
			continue
		}
		if f.Function != nil && !m.Loaded || m.Loaded && m.Missing {
			t.Errorf("%s: function, but module %+v", where, m)
		}
		return
	}
	t.Errorf("%s: no module for %+v", where, f)
}
