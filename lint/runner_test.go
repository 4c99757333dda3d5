package lint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/symfile"
)

type memSource struct {
	path string
	data string
	kind string
	err  error
	done *int
}

func (m memSource) Path() string { return m.path }
func (m memSource) Open() (*Input, error) {
	if m.err != nil {
		return nil, m.err
	}
	return &Input{Kind: m.kind, Data: []byte(m.data), Close: func() error { *m.done++; return nil }}, nil
}

func symText(funcs int) string {
	var b strings.Builder
	b.WriteString("MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n")
	for i := range funcs {
		fmt.Fprintf(&b, "FUNC %x 10 0 function_number_%d\n%x 10 %d 0\n", 0x1000+16*i, i, 0x1000+16*i, i%3)
	}
	return b.String()
}

func collect(t *testing.T, res *FileResult) []Finding {
	t.Helper()
	var out []Finding
	for f, err := range res.Findings() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, *f)
	}
	return out
}

func TestRunnerKeepsOrder(t *testing.T) {
	closed := 0
	var sources []Source
	for i := range 20 {
		s := memSource{path: fmt.Sprint("f", i), data: symText(200 - 10*i), kind: "sym", done: &closed}
		switch i {
		case 7:
			s.err = errors.New("no such file")
		case 11:
			s.kind = "elf"
		}
		sources = append(sources, s)
	}
	var first string
	for _, jobs := range []int{1, 2, 8} {
		closed = 0
		r := &Runner{Registry: testRegistry(), Analyzers: []*Analyzer{testAnalyzer}, Jobs: jobs}
		var log strings.Builder
		sum, err := r.Run(context.Background(), sources, func(f *FileResult) error {
			fmt.Fprintln(&log, f.Path, f.Totals, f.Err != nil)
			for _, x := range collect(t, f) {
				fmt.Fprintln(&log, x.Line, x.Column, x.Message, x.Function)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if sum.Files != 20 || sum.Failed != 2 || sum.Worst() != Error || closed != 19 {
			t.Errorf("jobs %d: summary %+v, %d inputs closed", jobs, sum, closed)
		}
		if first == "" {
			first = log.String()
		} else if log.String() != first {
			t.Errorf("the output of %d jobs differs", jobs)
		}
	}
	if !strings.Contains(first, "a function function_number_3\n") {
		t.Error("findings do not name the function at their address")
	}
}

func TestRunnerStops(t *testing.T) {
	closed := 0
	var sources []Source
	for range 50 {
		sources = append(sources, memSource{path: "f", data: symText(3), kind: "sym", done: &closed})
	}
	stop := errors.New("enough")
	n := 0
	r := &Runner{Registry: testRegistry(), Analyzers: []*Analyzer{testAnalyzer}, Jobs: 2}
	_, err := r.Run(context.Background(), sources, func(*FileResult) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 3 {
		t.Errorf("got %v after %d results", err, n)
	}
}

// Keep bounds what is kept, never what is counted; which findings are kept does not hang on the cuts.
func TestKeep(t *testing.T) {
	text := symText(60000) // more than one chunk
	if n := len(symfile.Chunks([]byte(text), 3)); n != 3 {
		t.Fatalf("%d chunks", n)
	}
	var want []Finding
	for _, jobs := range []int{1, 3} {
		r := &Runner{Registry: testRegistry(), Analyzers: []*Analyzer{testAnalyzer}, Jobs: jobs, Keep: 5}
		res := r.CheckSym("a.sym", []byte(text), nil)
		got := collect(t, res)
		if res.Totals != [4]int{0, 1, 20000, 60000} {
			t.Errorf("totals %v", res.Totals)
		}
		if len(got) != 11 {
			t.Errorf("%d findings kept", len(got))
		}
		if want == nil {
			want = got
		} else if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("with %d jobs:\n%v\nwith one:\n%v", jobs, got, want)
		}
		res.Close()
	}
	if want[1].Line != 2 || want[10].Line != 27 {
		t.Errorf("not the first findings are kept: %v", want)
	}
}

func TestSettings(t *testing.T) {
	g := testRegistry()
	text := symText(9)
	for _, c := range []struct {
		name string
		set  func(*Settings) error
		want [4]int
	}{
		{"default", func(*Settings) error { return nil }, [4]int{0, 1, 3, 9}},
		{"select rule", func(s *Settings) error { return s.Select(g, []string{"test-zero"}) }, [4]int{0, 0, 3, 0}},
		{"select family", func(s *Settings) error { return s.Select(g, []string{"test"}) }, [4]int{0, 0, 3, 9}},
		{"select glob and severity", func(s *Settings) error { return s.Select(g, []string{"oth*", "error"}) }, [4]int{0, 1, 0, 9}},
		{"ignore severity", func(s *Settings) error { return s.Ignore(g, []string{"info", "error"}) }, [4]int{0, 0, 3, 0}},
		{"severity", func(s *Settings) error { return s.SetSeverity(g, "test-func", Info) }, [4]int{0, 10, 3, 0}},
		{"off", func(s *Settings) error { return s.SetSeverity(g, "test", Off) }, [4]int{0, 1, 0, 0}},
		{"consumer", func(s *Settings) error { s.Consumers = ConsumerSet(0).Add(Symbolic); return nil }, [4]int{0, 1, 3, 0}},
	} {
		s := NewSettings(g)
		if err := c.set(s); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		r := &Runner{Registry: g, Analyzers: []*Analyzer{testAnalyzer}, Jobs: 1}
		res := r.CheckSym("a.sym", []byte(text), s)
		if res.Totals != c.want {
			t.Errorf("%s: totals %v, want %v", c.name, res.Totals, c.want)
		}
		res.Close()
	}
	err := NewSettings(g).Select(g, []string{"test-fnc"})
	if err == nil || !strings.Contains(err.Error(), `did you mean "test-func"`) {
		t.Errorf("an unknown rule gives %v", err)
	}
}

func TestBaselineFilter(t *testing.T) {
	r := &Runner{Registry: testRegistry(), Analyzers: []*Analyzer{testAnalyzer}, Jobs: 1, Keep: 2,
		Known: func(module string) func(*Finding) bool {
			if module != "app" {
				t.Errorf("asked for module %q", module)
			}
			return func(f *Finding) bool { return f.Function == "function_number_0" || f.Rule == ruleZero }
		}}
	res := r.CheckSym("a.sym", []byte(symText(9)), nil)
	defer res.Close()
	if res.Suppressed != 4 || res.Totals != [4]int{0, 1, 0, 8} {
		t.Errorf("%d suppressed, totals %v", res.Suppressed, res.Totals)
	}
	if got := collect(t, res); len(got) != 3 || got[1].Function != "function_number_1" {
		t.Errorf("kept %v", got)
	}
}

// A chunk whose first records hang on the chunk before it is not judged alone.
func TestChunksWithContext(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFUNC 1000 10 0 f\n")
	for i := range 60000 { // rows before their lines: the FUNC stays open
		fmt.Fprintf(&b, "STACK CFI INIT %x 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n1000 1 0 0\n", 0x1000+16*i)
	}
	for _, jobs := range []int{1, 4} {
		r := &Runner{Registry: testRegistry(), Analyzers: []*Analyzer{testAnalyzer}, Jobs: jobs}
		res := r.CheckSym("a.sym", b.Bytes(), nil)
		if res.Err != nil || res.Totals != [4]int{0, 1, 60000, 1} {
			t.Errorf("jobs %d: %v, totals %v", jobs, res.Err, res.Totals)
		}
		res.Close()
	}
}

func TestCheckerPanicIsAnError(t *testing.T) {
	a := *testAnalyzer
	a.New = func(*Pass) Checker { panic("a bug") }
	r := &Runner{Registry: testRegistry(), Analyzers: []*Analyzer{&a}, Jobs: 1}
	res := r.CheckSym("a.sym", []byte(symText(1)), nil)
	if res.Err == nil || !strings.Contains(res.Err.Error(), "a bug") {
		t.Errorf("got %v", res.Err)
	}
	res.Close()
}
