package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/symlint/symlint/lint"
)

// progressAfter is how long a run stays silent: most are over by then.
const progressAfter = time.Second

// progress is one line on standard error that is written over and over.
type progress struct {
	w     io.Writer
	total int // inputs
	keep  bool

	mu    sync.Mutex
	sizes map[string]int64
	files int   // done
	bytes int64 // of the inputs that are done
	shown int   // width of the line on the screen
	stop  chan struct{}
	wg    sync.WaitGroup
}

// newProgress returns the progress of a run over n inputs, nil if none is wanted. All methods accept nil.
func (a *app) newProgress(n int) *progress {
	after := progressAfter
	switch {
	case a.Progress == "never" || a.Quiet:
		return nil
	case a.Progress == "always":
		after = 0
	case !isTerminal(a.Stderr) || a.Getenv("TERM") == "dumb":
		return nil
	}
	p := &progress{w: a.Stderr, total: n, keep: a.Progress == "always", sizes: make(map[string]int64), stop: make(chan struct{})}
	p.wg.Go(func() { p.tick(after) })
	return p
}

func (p *progress) tick(after time.Duration) {
	select {
	case <-p.stop:
		return
	case <-time.After(after):
	}
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		p.mu.Lock()
		p.draw()
		p.mu.Unlock()
		select {
		case <-p.stop:
			return
		case <-t.C:
		}
	}
}

// draw writes the line over the last one. p.mu is held.
func (p *progress) draw() {
	line := fmt.Sprintf("symlint: %d/%d files, %s", p.files, p.total, byteCount(p.bytes))
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(p.shown-len(line), 0)))
	p.shown = len(line)
}

// erase makes room for other output on the same terminal. p.mu is held.
func (p *progress) erase() {
	if p.shown > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}

// opened notes the size of an input.
func (p *progress) opened(path string, size int) {
	p.mu.Lock()
	p.sizes[path] = int64(size)
	p.mu.Unlock()
}

// done counts an input.
func (p *progress) done(path string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.files++
	p.bytes += p.sizes[path]
	delete(p.sizes, path)
	p.mu.Unlock()
}

// finish removes the line, or leaves its last state where it was asked for in any case.
func (p *progress) finish() {
	if p == nil {
		return
	}
	close(p.stop)
	p.wg.Wait()
	if p.keep {
		p.draw()
		fmt.Fprintln(p.w)
		return
	}
	p.erase()
}

// beside returns a writer for output that may share the screen with the line.
func (p *progress) beside(w io.Writer) io.Writer {
	if p == nil {
		return w
	}
	return besideProgress{p, w}
}

type besideProgress struct {
	p *progress
	w io.Writer
}

func (b besideProgress) Write(data []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.erase()
	return b.w.Write(data)
}

// watch lets the progress know of the sizes of inputs.
func (p *progress) watch(sources []lint.Source) []lint.Source {
	if p == nil {
		return sources
	}
	out := make([]lint.Source, len(sources))
	for i, s := range sources {
		out[i] = watched{s, p}
	}
	return out
}

type watched struct {
	lint.Source
	p *progress
}

func (w watched) Open() (*lint.Input, error) {
	in, err := w.Source.Open()
	if err == nil {
		w.p.opened(w.Path(), len(in.Data))
	}
	return in, err
}

// byteCount is a number of bytes for people.
func byteCount(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/unit, 0
	for v >= unit && i < 3 {
		v, i = v/unit, i+1
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[i])
}
