package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/symlint/symlint/lint"
)

const many = 20_000

// manyFindings are as many as make the collector use temporary storage, each with a subject and message of its own.
func manyFindings(t testing.TB, g *lint.Registry) *lint.FileResult {
	t.Helper()
	findings := make([]lint.Finding, many)
	for i := range findings {
		f := culprit(ruleRA, "big.sym", i+1, "STACK CFI INIT 1930 55 .cfa: $esp 4 +", ".cfa: $esp 4 +", fmt.Sprintf("finding number %d", i))
		f.HasAddress, f.Address, f.Function = true, uint64(i), fmt.Sprintf("function_%d", i)
		f.Detail = []string{strings.Repeat("detail ", 20)}
		findings[i] = f
	}
	res := lint.NewFileResult(g, "big.sym", findings...)
	t.Cleanup(res.Close)
	return res
}

// meter counts what is written and samples the live heap while it is.
type meter struct {
	written, samples int
	base, peak       uint64
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (m *meter) Write(p []byte) (int, error) {
	if m.samples < 12 && m.written/(1<<20) != (m.written+len(p))/(1<<20) { // every MiB
		m.samples++
		m.peak = max(m.peak, liveHeap())
	}
	m.written += len(p)
	return len(p), nil
}

// Memory must not grow with the number of findings: these are more than 10 MB of JSON.
func TestMemoryIsBounded(t *testing.T) {
	g := testRegistry(t)
	for _, format := range Formats {
		t.Run(format, func(t *testing.T) {
			res := manyFindings(t, g)
			m := &meter{base: liveHeap()}
			r, err := New(format, Options{Writer: m, Registry: g, Consumers: lint.AllConsumers})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Begin(); err != nil {
				t.Fatal(err)
			}
			if err := r.File(res); err != nil {
				t.Fatal(err)
			}
			m.peak = max(m.peak, liveHeap())
			if err := r.End(&lint.Summary{Files: 1}); err != nil {
				t.Fatal(err)
			}
			if grown := int64(m.peak) - int64(m.base); grown > 4<<20 {
				t.Errorf("%d bytes of heap for %d bytes of output", grown, m.written)
			}
		})
	}
}

// However many findings there are, JSON, JSON Lines and SARIF have each of them once and in order.
func TestComplete(t *testing.T) {
	g := testRegistry(t)
	check := func(t *testing.T, i int, message string) {
		if want := fmt.Sprintf("finding number %d", i); message != want && !strings.HasPrefix(message, want+".") {
			t.Fatalf("finding %d is %q", i, message)
		}
	}
	t.Run("json", func(t *testing.T) {
		files := []*lint.FileResult{manyFindings(t, g)}
		var doc struct{ Diagnostics []struct{ Message string } }
		if err := json.Unmarshal([]byte(render(t, "json", Options{Registry: g}, files, summarize(files))), &doc); err != nil {
			t.Fatal(err)
		}
		for i, d := range doc.Diagnostics {
			check(t, i, d.Message)
		}
		if len(doc.Diagnostics) != many {
			t.Errorf("%d diagnostics", len(doc.Diagnostics))
		}
	})
	t.Run("jsonl", func(t *testing.T) {
		files := []*lint.FileResult{manyFindings(t, g)}
		n := 0
		for line := range strings.Lines(render(t, "jsonl", Options{Registry: g}, files, summarize(files))) {
			var d struct{ Message string }
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				t.Fatal(err)
			}
			check(t, n, d.Message)
			n++
		}
		if n != many {
			t.Errorf("%d lines", n)
		}
	})
	t.Run("sarif", func(t *testing.T) {
		files := []*lint.FileResult{manyFindings(t, g)}
		results := parseSARIF(t, render(t, "sarif", Options{Registry: g}, files, summarize(files))).Runs[0].Results
		for i, r := range results {
			check(t, i, r.Message.Text)
		}
		if len(results) != many {
			t.Errorf("%d results", len(results))
		}
	})
	t.Run("text", func(t *testing.T) {
		files := []*lint.FileResult{manyFindings(t, g)}
		out := render(t, "text", Options{Registry: g}, files, summarize(files))
		if n := strings.Count(out, ": error: finding number "); n != many {
			t.Errorf("%d findings", n)
		}
	})
}

// A reader that goes away ends the report with its error, and soon.
func TestBrokenPipe(t *testing.T) {
	g := testRegistry(t)
	for _, format := range Formats {
		t.Run(format, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			r.Close()
			rep, err := New(format, Options{Writer: w, Registry: g, Consumers: lint.AllConsumers})
			if err != nil {
				t.Fatal(err)
			}
			files := []*lint.FileResult{manyFindings(t, g)}
			if err := report(rep, files, summarize(files)); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("got %v, want EPIPE", err)
			}
		})
	}
}

var errFull = errors.New("disk full")

// limited takes so many bytes and then fails.
type limited struct{ left, calls int }

func (l *limited) Write(p []byte) (int, error) {
	l.calls++
	if len(p) > l.left {
		n := l.left
		l.left = 0
		return n, errFull
	}
	l.left -= len(p)
	return len(p), nil
}

// Whatever the byte at which the writer fails, the error comes back.
func TestFailingWriter(t *testing.T) {
	g := testRegistry(t)
	for _, format := range Formats {
		files, sum := testRun(g)
		size := len(render(t, format, Options{Registry: g}, files, sum))
		for left := 0; left < size; left += 1 + size/7 {
			files, sum := testRun(g)
			r, err := New(format, Options{Writer: &limited{left: left}, Registry: g, Consumers: lint.AllConsumers})
			if err != nil {
				t.Fatal(err)
			}
			if err := report(r, files, sum); !errors.Is(err, errFull) {
				t.Errorf("%s after %d of %d bytes: %v", format, left, size, err)
			}
		}
	}
}

// After a failed write the findings that remain are not rendered for nobody.
func TestStopsEarly(t *testing.T) {
	g := testRegistry(t)
	for _, format := range []string{"text", "json", "jsonl", "sarif"} {
		res := manyFindings(t, g)
		w := &limited{left: 1 << 20}
		r, err := New(format, Options{Writer: w, Registry: g, Consumers: lint.AllConsumers})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := r.File(res); !errors.Is(err, errFull) {
			t.Errorf("%s: File returned %v", format, err)
		}
		if w.calls > 40 {
			t.Errorf("%s: %d writes after the first failed", format, w.calls)
		}
	}
}

// Two runs over the same findings give the same bytes.
func TestDeterministic(t *testing.T) {
	g := testRegistry(t)
	for _, format := range Formats {
		var outs [2]string
		for i := range outs {
			files, sum := testRun(g)
			outs[i] = render(t, format, Options{Registry: g, Stats: true, Color: true}, files, sum)
		}
		if outs[0] != outs[1] {
			t.Errorf("%s differs between runs", format)
		}
	}
}

// BenchmarkReport writes a thousand findings.
func BenchmarkReport(b *testing.B) {
	g := testRegistry(b)
	findings := make([]lint.Finding, 1000)
	for i := range findings {
		findings[i] = culprit(ruleRA, "a.sym", i+1, "STACK CFI INIT 1930 55 .cfa: $esp 4 +", ".cfa: $esp 4 +", "no .ra")
	}
	for _, format := range Formats {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				files := []*lint.FileResult{lint.NewFileResult(g, "a.sym", findings...)}
				r, err := New(format, Options{Writer: io.Discard, Registry: g, Consumers: lint.AllConsumers})
				if err != nil {
					b.Fatal(err)
				}
				if err := report(r, files, summarize(files)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
