package baseline

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/symlint/symlint/lint"
)

var (
	ruleA = &lint.Rule{Name: "cfi-missing-ra"}
	ruleB = &lint.Rule{Name: "func-overlap"}
)

func finding(r *lint.Rule, function string) *lint.Finding {
	return &lint.Finding{Rule: r, Function: function}
}

func encode(t *testing.T, r *Recorder) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func read(t *testing.T, text string) *Baseline {
	t.Helper()
	b, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEncode(t *testing.T) {
	r := NewRecorder()
	r.Add("b", finding(ruleB, "g<int>&"))
	r.Add("a", finding(ruleB, "f"))
	r.Add("b", finding(ruleA, "-[C d]"))
	r.Add("a", finding(ruleB, "f"))
	r.Add("a", &lint.Finding{Rule: ruleB, Function: "f", Subject: "$rbx"})
	r.Add("a", finding(ruleB, ""))
	const want = `{"version": 1,
"findings": [
{"rule":"cfi-missing-ra","module":"b","subject":"-[C d]","count":1},
{"rule":"func-overlap","module":"a","subject":"","count":1},
{"rule":"func-overlap","module":"a","subject":"$rbx","count":1},
{"rule":"func-overlap","module":"a","subject":"f","count":2},
{"rule":"func-overlap","module":"b","subject":"g<int>&","count":1}
]}
`
	for range 10 { // map order must not matter
		if got := encode(t, r); got != want {
			t.Fatalf("got\n%swant\n%s", got, want)
		}
	}
	if got := encode(t, NewRecorder()); got != "{\"version\": 1,\n\"findings\": [\n]}\n" {
		t.Errorf("empty: %q", got)
	}
}

// Lines, addresses and debug ids change with every build and are no part of the key.
func TestKnownInAnotherBuild(t *testing.T) {
	old := finding(ruleA, "main")
	old.Line, old.HasAddress, old.Address, old.Message, old.File = 10, true, 0x1000, "at 0x1000", "v1/app.sym"
	r := NewRecorder()
	r.Add("app", old)
	moved := finding(ruleA, "main")
	moved.Line, moved.HasAddress, moved.Address, moved.Message, moved.File = 99, true, 0x7777, "at 0x7777", "v2/app.sym"

	b := read(t, encode(t, r))
	if !b.File("app").Known(moved) {
		t.Error("not known in the next build")
	}
	for name, v := range map[string]bool{
		"other module":   b.File("lib").Known(moved),
		"other rule":     b.File("app").Known(finding(ruleB, "main")),
		"other function": b.File("app").Known(finding(ruleA, "main2")),
	} {
		if v {
			t.Errorf("%s: known", name)
		}
	}
}

func TestCountIsUsedUp(t *testing.T) {
	b := read(t, `{"version":1,"findings":[{"rule":"cfi-missing-ra","module":"m","subject":"f","count":2}]}`)
	for range 2 { // every file has the count to itself
		v := b.File("m")
		got := []bool{v.Known(finding(ruleA, "f")), v.Known(finding(ruleA, "f")), v.Known(finding(ruleA, "f"))}
		if !reflect.DeepEqual(got, []bool{true, true, false}) {
			t.Errorf("known: %v", got)
		}
	}
}

func TestStale(t *testing.T) {
	b := read(t, `{"version":1,"findings":[
{"rule":"func-overlap","module":"m","subject":"gone","count":1},
{"rule":"cfi-missing-ra","module":"m","subject":"fewer","count":5},
{"rule":"cfi-missing-ra","module":"m","subject":"same","count":1},
{"rule":"cfi-missing-ra","module":"not checked","subject":"x","count":1}]}`)
	if got := b.Stale(); len(got) != 0 {
		t.Errorf("before any file: %v", got)
	}
	v := b.File("m")
	v.Known(finding(ruleA, "same"))
	v.Known(finding(ruleA, "fewer"))
	v = b.File("m") // another build, which has more of them
	v.Known(finding(ruleA, "fewer"))
	v.Known(finding(ruleA, "fewer"))
	want := []Entry{{"cfi-missing-ra", "m", "fewer", 3}, {"func-overlap", "m", "gone", 1}}
	if got := b.Stale(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What a run records, the same run finds known to the last, however its files are interleaved.
func TestConcurrentRoundTrip(t *testing.T) {
	files := make([][]*lint.Finding, 16)
	module := func(i int) string { return fmt.Sprintf("module%d", i%4) } // four builds of each
	for i := range files {
		for j := range 500 {
			files[i] = append(files[i], finding(ruleA, fmt.Sprintf("f%d", j%(i+1))))
		}
	}
	rec := NewRecorder()
	var wg sync.WaitGroup
	for i, list := range files {
		wg.Go(func() {
			f := rec.File(module(i))
			for _, x := range list {
				f.Add(x)
			}
			f.Close()
		})
	}
	wg.Wait()
	text := encode(t, rec)
	// 500 findings of f0 in the first build of module0, 100 in its second: the higher count holds.
	if want := `"module":"module0","subject":"f0","count":500}`; !strings.Contains(text, want) {
		t.Errorf("no %s", want)
	}
	b := read(t, text)
	for i, list := range files {
		wg.Go(func() {
			v := b.File(module(i))
			for _, x := range list {
				if !v.Known(x) {
					t.Errorf("file %d: %s is not known", i, x.Function)
					return
				}
			}
		})
	}
	wg.Wait()
	if stale := b.Stale(); len(stale) != 0 {
		t.Errorf("stale: %v", stale)
	}
}

// Names in symbol files need not be UTF-8; JSON must be.
func TestInvalidUTF8(t *testing.T) {
	f := finding(ruleA, "caf\xe9\xe8 \xff")
	for _, record := range []func(*Recorder){
		func(r *Recorder) { r.Add("m\xfe", f) },
		func(r *Recorder) { x := r.File("m\xfe"); x.Add(f); x.Close() },
	} {
		r := NewRecorder()
		record(r)
		if !read(t, encode(t, r)).File("m\xfe").Known(f) {
			t.Error("not known again")
		}
	}
}

func TestModule(t *testing.T) {
	for _, tc := range [][3]string{{"app", "x/y.sym", "app"}, {"", "x/y.sym", "y.sym"}, {"", "y.sym", "y.sym"}} {
		if got := Module(tc[0], tc[1]); got != tc[2] {
			t.Errorf("Module(%q, %q) = %q", tc[0], tc[1], got)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "line 1: the file ends too early",
		"{\"version\": 1,\n\"findings\": [": "line 2: the file ends too early",
		"[]":                                `line 1: want "{", found [`,
		"{}":                                "line 1: no baseline",
		`{"version":1}`:                     "line 1: no baseline",
		"{\"version\":1,\n\"version\":1}":   `line 2: key "version" is there twice`,
		"{\n\"version\":2,\"findings\":[]}": "line 2: version 2, want 1",
		`{"version":"1","findings":[]}`:     "line 1: json: cannot unmarshal string",
		`{"version":1,"findings":{}}`:       `line 1: want "[", found {`,
		`{"version":1,"extra":[]}`:          `line 1: unknown key "extra"`,
		`{"version":1,"findings":[]} x`:     "line 1: text after the end",
		"{\"version\":1,\"findings\":[\n{\"rule\":\"a\",\"count\":1},\n{\"rule\":\"a\",\"count\":0}]}": `line 3: entry "a" of "": want a rule and a count from 1`,
		"{\"version\":1,\"findings\":[\n{\"rule\":\"a\",\"count\":-1}]}":                               `line 2: entry "a" of "": want a rule`,
		"{\"version\":1,\"findings\":[\n{\"rule\":\"\",\"count\":1}]}":                                 `line 2: entry "" of ""`,
		"{\"version\":1,\"findings\":[\n{\"rule\":\"a\",\"count\":99999999999}]}":                      `line 2: entry "a"`,
		"{\"version\":1,\"findings\":[\n{\"rule\":\"a\",\"count\":1,\"line\":3}]}":                     `line 2: json: unknown field "line"`,
		"{\"version\":1,\"findings\":[\n\nnull]}":                                                      `line 3: entry ""`,
		"{\"version\":1,\"findings\":[\n7]}":                                                           `line 2: json: cannot unmarshal number`,
		"{\"version\":1,\n\"findings\":[}":                                                             "line 2: ",
	} {
		b, err := Read(strings.NewReader(text))
		if err == nil || b != nil || !strings.HasPrefix(err.Error(), "baseline: "+want) {
			t.Errorf("%q:\ngot  %v\nwant baseline: %s", text, err, want)
		}
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// endless is a reader that never ends.
type endless struct{ n int64 }

func (r *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	r.n += int64(len(p))
	return len(p), nil
}

func TestBrokenStreams(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Read(brokenReader{broken}); !errors.Is(err, broken) {
		t.Errorf("read: %v", err)
	}
	r := NewRecorder()
	r.Add("m", finding(ruleA, "f"))
	if err := r.Encode(brokenWriter{broken}); !errors.Is(err, broken) {
		t.Errorf("write: %v", err)
	}
	if testing.Short() {
		return
	}
	e := new(endless)
	if _, err := Read(e); err == nil || !strings.Contains(err.Error(), "larger than") || e.n > 2*MaxSize {
		t.Errorf("%d bytes read: %v", e.n, err)
	}
}

// FuzzRead: no input panics, and what is read comes back from what is written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"version":1,"findings":[{"rule":"a","module":"m","subject":"s","count":2},{"rule":"a","module":"m","subject":"s","count":1}]}`))
	f.Add([]byte(`{"findings":[],"version":1}`))
	f.Add([]byte(`{"version":1,"findings":[{"rule":"a\ud800","module":"\u0000","subject":"é","count":2147483647}]}`))
	f.Add([]byte(`{"version":1,"findings":[{"RULE":"a","count":1e0}]}`))
	f.Add([]byte(`[[[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Read(bytes.NewReader(data))
		if (b == nil) == (err == nil) {
			t.Fatalf("baseline %v and error %v", b, err)
		}
		if b == nil {
			return
		}
		r := NewRecorder()
		for name, m := range b.modules {
			v := b.File(name)
			for k, e := range m.entries {
				r.counts[Entry{Rule: k.rule, Module: name, Subject: k.subject}] = e.count
				x := &lint.Finding{Rule: &lint.Rule{Name: k.rule}, Subject: k.subject}
				if !v.Known(x) {
					t.Fatalf("%+v of %q is not known", k, name)
				}
				if e.count == 1 && v.Known(x) {
					t.Fatalf("%+v of %q is known twice", k, name)
				}
			}
		}
		var out bytes.Buffer
		if err := r.Encode(&out); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for name, m := range again.modules {
			for k, e := range m.entries {
				if n++; b.modules[name].entries[k].count != e.count {
					t.Fatalf("%+v of %q has count %d", k, name, e.count)
				}
			}
		}
		if n != len(r.counts) {
			t.Fatalf("%d entries came back as %d", len(r.counts), n)
		}
	})
}
