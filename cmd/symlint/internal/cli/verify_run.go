package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/replay"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/symstore"
	"github.com/symlint/symlint/unwind/trace"
)

// verdict is what became of one dump. It holds nothing of the dump any more.
type verdict struct {
	Path      string
	Reference string // "" if the walk was held against itself
	Err       error  // why it could not be verified
	Skipped   bool   // is no dump, and needs not be one
	Updated   bool   // the reference was written
	Notes     []string
	Threads   []threadVerdict
	Findings  []lint.Finding
}

// run verifies all dumps and writes the result.
func (v *verification) run() error {
	a := v.app
	out, err := a.openOutput()
	if err != nil {
		return err
	}
	p := a.newProgress(len(v.dumps))
	w, err := v.newWriter(p.beside(out))
	if err != nil {
		out.abort()
		return err
	}
	sum, err := v.each(p, w)
	p.finish()
	if err != nil {
		out.abort()
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	v.judge(sum)
	return nil
}

// each verifies the dumps, several at a time, and writes their verdicts in the order of the dumps.
func (v *verification) each(p *progress, w verdictWriter) (*verifySums, error) {
	if err := w.begin(); err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt ends the program
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := v.app.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	queue := make(chan chan *verdict, jobs) // verdicts in order; its length bounds what waits for its turn
	go func() {
		defer close(queue)
		for _, d := range v.dumps {
			slot := make(chan *verdict, 1)
			select {
			case queue <- slot:
			case <-ctx.Done():
				return
			}
			go func() { slot <- v.verify(d, p) }()
		}
	}()
	sum := new(verifySums)
	stderr := p.beside(v.app.Stderr)
	var failed error
	for slot := range queue {
		d := <-slot
		if failed != nil {
			continue
		}
		p.done(d.Path)
		if d.Skipped && len(v.dumps) > 1 {
			continue
		}
		sum.add(d)
		v.tell(stderr, d)
		if failed = w.dump(d); failed != nil {
			cancel()
		}
	}
	switch {
	case failed != nil:
		return sum, failed
	case ctx.Err() != nil:
		return sum, errors.New("interrupted")
	case sum.Dumps == 0:
		return sum, fmt.Errorf("%s: %w", v.Dump, errNoDumps)
	}
	return sum, w.end(sum)
}

// tell writes what went wrong with a dump to standard error.
func (v *verification) tell(stderr io.Writer, d *verdict) {
	if d.Err != nil {
		fmt.Fprintf(stderr, "symlint: %v\n", d.Err)
	}
	if v.app.Quiet {
		return
	}
	for _, text := range d.Notes {
		if !v.told[text] {
			v.told[text] = true
			fmt.Fprintf(stderr, "symlint: note: %s\n", printable(text))
		}
	}
}

// judge turns what was found into the exit status.
func (v *verification) judge(sum *verifySums) {
	if sum.Failed > 0 {
		v.app.exit(exitTrouble)
	}
	if v.failOn != lint.Off && sum.worst() >= v.failOn {
		v.app.exit(exitFindings)
	}
}

// verify verifies one dump. Whatever happens, there is a verdict.
func (v *verification) verify(in dumpInput, p *progress) (d *verdict) {
	d = &verdict{Path: in.path}
	if in.path == "-" {
		d.Path = source.StdinPath
	}
	defer func() {
		if e := recover(); e != nil {
			d.Err = fmt.Errorf("%s: internal error: %v\n%s", d.Path, e, debug.Stack())
		}
	}()
	if err := whileMapped(func() error { return v.dump(d, in, p) }); err != nil {
		d.Err = err
	}
	return d
}

// dump opens a dump and holds it against what it has.
func (v *verification) dump(d *verdict, in dumpInput, p *progress) error {
	b, err := source.Read(in.path, source.Options{Stdin: v.app.Stdin})
	if err != nil {
		return err
	}
	defer b.Close()
	if p != nil {
		p.opened(d.Path, len(b.Data))
	}
	if b.Err != nil {
		return b.Err
	}
	if in.perhaps && unwind.KindOf(b.Data) == "" {
		d.Skipped = true
		return nil
	}
	process, err := v.openProcess(b)
	if err != nil {
		return err
	}
	for _, text := range process.Problems {
		d.Notes = append(d.Notes, d.Path+": "+text)
	}
	x := &verifying{verification: v, verdict: d, symbols: v.symbols.forOneDump()}
	x.walker = &unwind.Walker{Process: process, Techniques: v.techniques, Best: v.best}
	if x.symbols != nil {
		x.walker.Symbols = x.symbols
	}
	if v.binaries != nil {
		x.walker.Binaries = unwind.FromBinaries(v.binaries)
	}
	if err := x.run(in); err != nil {
		return err
	}
	x.symbols.noteSymbols(x.walker, func(format string, args ...any) { d.Notes = append(d.Notes, fmt.Sprintf(format, args...)) })
	return nil
}

// openProcess makes a process of a dump.
func (v *verification) openProcess(b *source.Blob) (*unwind.Process, error) {
	o := unwind.OpenOptions{Maps: v.maps}
	if v.binaries != nil {
		o.Binary = func(path string) ([]byte, error) {
			data, _, err := v.binaries.Binary(path, nil)
			return data, err
		}
	}
	p, err := unwind.Open(b.Data, o)
	switch {
	case errors.Is(err, unwind.ErrNotDump):
		return nil, fmt.Errorf("%s: at offset 0x0: %w, found %s", b.Path, err, source.Describe(b.Data))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	case len(p.Threads) == 0:
		return nil, fmt.Errorf("%s: the dump has no threads: expected at least one", b.Path)
	}
	return p, nil
}

// forOneDump is a view of the same symbols that keeps apart what was found for the modules of one dump.
func (s *symbolSearch) forOneDump() *symbolSearch {
	if s == nil {
		return nil
	}
	return &symbolSearch{roots: s.roots, all: s.all, found: make(map[string]*symstore.Result)}
}

// verifying is the verification of one dump.
type verifying struct {
	*verification
	*verdict
	symbols *symbolSearch // nil without SYMBOLS
	walker  *unwind.Walker
}

func (x *verifying) run(in dumpInput) error {
	if x.Update {
		return x.update(in)
	}
	ref := x.reference
	switch {
	case x.Self:
	case ref != nil:
		x.verdict.Reference = x.verification.Reference
	default:
		path := defaultReference(in.path)
		if path == "" {
			break
		}
		var err error
		if ref, err = readReference(x.app, path); err != nil {
			return err
		}
		x.verdict.Reference = path
	}
	if ref != nil {
		x.against(ref)
		return nil
	}
	if x.symbols == nil {
		return fmt.Errorf("%s: nothing to verify: no reference (%s%s and the like) and no SYMBOLS", x.Path, referenceStem(x.Path), referenceEnds[0])
	}
	x.againstItself()
	return nil
}

// update writes the walk as the reference.
func (x *verifying) update(in dumpInput) error {
	path := x.verification.Reference
	if path == "" {
		path = referenceStem(in.path) + referenceEnds[0]
	}
	d := trace.Walk(x.walker, false)
	out, err := createFile(path)
	if err != nil {
		return err
	}
	if err := trace.JSON(out, d, trace.JSONOptions{Pretty: true}); err != nil {
		out.abort()
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	x.verdict.Reference, x.Updated = path, true
	for i, s := range d.Stacks {
		x.Threads = append(x.Threads, threadVerdict{Thread: i, Matched: true, Frames: len(s.Frames)})
	}
	return nil
}

// against holds the walk against a reference.
func (x *verifying) against(ref *replay.Reference) {
	results := replay.Verify(x.walker, ref, replay.VerifyOptions{Fields: x.fields, NoRemedies: x.NoRemedies})
	var wrong []*unwind.Stack
	for i := range results {
		r := &results[i]
		t, f := x.thread(r)
		x.Threads = append(x.Threads, t)
		if f != nil {
			x.add(*f)
			wrong = append(wrong, r.Stack)
		}
	}
	if len(wrong) > 0 {
		issues := replay.Mismatches(x.walker, wrong)
		x.issues(append(issues, x.otherBuilds()...))
	}
}

// againstItself holds the walk against itself.
func (x *verifying) againstItself() {
	stacks, issues := replay.Self(x.walker)
	for i, s := range stacks {
		x.Threads = append(x.Threads, threadVerdict{Thread: i, Matched: true, Frames: len(s.Frames)})
	}
	for _, i := range issues {
		if i.Thread < len(x.Threads) && i.Rule != "walk-module-mismatch" {
			x.Threads[i.Thread].Matched = false
		}
	}
	x.issues(append(issues, x.otherBuilds()...))
}
