package lint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/symlint/symlint/unwind/symfile"
)

// Source is an input that can be opened.
type Source interface {
	Path() string // as shown
	Open() (*Input, error)
}

// Input is an opened input.
type Input struct {
	Kind string // "sym", "elf", "sframe"
	Data []byte // decompressed, text as UTF-8
	// Encoding is what text was before it became UTF-8: "UTF-16LE" or "UTF-16BE"; "" if it was left alone.
	Encoding string
	// Err is why Data ends before the input does, such as a damaged archive. What is there is checked all the same,
	// and the result carries the error.
	Err   error
	Close func() error // may be nil
	// Forget tells that the bytes from from to to of Data are not needed soon; nil where Data is no mapped file.
	Forget func(from, to int)
}

// Runner leads inputs through analyzers.
type Runner struct {
	Registry  *Registry
	Analyzers []*Analyzer
	// Binary are the analyzers of ELF files and SFrame sections; nil = these are refused.
	Binary []*BinaryAnalyzer
	// Settings gives the settings for a path; nil = the defaults for every path.
	Settings func(path string) (*Settings, error)
	// Known returns the filter of findings that a baseline holds already, for one module, whose name is "" if the input
	// says none; nil = none.
	Known func(module string) func(*Finding) bool
	// Keep bounds the findings kept per rule, severity and file; 0 = all. Counts are always complete.
	Keep int
	// Jobs bounds how much runs at the same time; 0 = the number of CPUs.
	Jobs int
}

// ErrUnsupported is wrapped by the error of inputs whose kind no analyzer reads.
var ErrUnsupported = errors.New("not a Breakpad symbol file")

// kindNames are the kinds of input as prose calls them.
var kindNames = map[string]string{"elf": "ELF", "sframe": "SFrame"}

// minChunk is the least number of bytes worth a goroutine of their own.
const minChunk = 1 << 20

// Run checks the sources and hands each result to each, in the order of the sources whatever the number of jobs.
// It stops early when each returns an error or the context ends.
func (r *Runner) Run(ctx context.Context, sources []Source, each func(*FileResult) error) (*Summary, error) {
	jobs := r.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tokens := make(chan struct{}, jobs)
	queue := make(chan chan *FileResult, jobs) // results in order; its length bounds what waits for its turn
	go func() {
		defer close(queue)
		for _, src := range sources {
			slot := make(chan *FileResult, 1)
			select {
			case queue <- slot:
			case <-ctx.Done():
				return
			}
			go func() { slot <- r.check(src, jobs, tokens) }()
		}
	}()
	sum := new(Summary)
	var failed error
	for slot := range queue {
		res := <-slot
		if failed == nil {
			sum.add(res)
			if failed = each(res); failed != nil {
				cancel()
			}
		}
		res.Close()
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return sum, failed
}

func (s *Summary) add(f *FileResult) {
	s.Files++
	if f.Err != nil {
		s.Failed++
	}
	for v, n := range f.Totals {
		s.Totals[v] += n
	}
	s.Suppressed += f.Suppressed
}

// check opens and checks one source.
func (r *Runner) check(src Source, jobs int, tokens chan struct{}) (res *FileResult) {
	res = &FileResult{Path: src.Path()}
	defer func() {
		if e := recover(); e != nil {
			res.Err = fmt.Errorf("%s: %w", src.Path(), recovered(e))
		}
	}()
	debug.SetPanicOnFault(true) // see checkChunks
	tokens <- struct{}{}
	in, err := src.Open()
	<-tokens
	if err != nil {
		res.Err = err
		return res
	}
	res.closeInput = in.Close
	res.Kind = in.Kind
	if in.Kind != "sym" && len(r.Binary) == 0 {
		res.Err = fmt.Errorf("%s:1:1: %w: expected a MODULE record, found an %s file", src.Path(), ErrUnsupported, kindNames[in.Kind])
		return res
	}
	settings := NewSettings(r.Registry)
	if r.Settings != nil {
		if settings, err = r.Settings(src.Path()); err != nil {
			res.Err = err
			return res
		}
	}
	if in.Kind != "sym" {
		err = r.checkBinary(res, in, settings, tokens)
	} else {
		err = r.checkSym(res, in, settings, jobs, tokens)
	}
	if err != nil {
		res.Err = fmt.Errorf("%s: %w", src.Path(), err)
	} else {
		res.Err = in.Err
	}
	return res
}

// CheckSym checks one symbol file in memory.
func (r *Runner) CheckSym(path string, data []byte, settings *Settings) *FileResult {
	if settings == nil {
		settings = NewSettings(r.Registry)
	}
	jobs := r.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	res := &FileResult{Path: path, Kind: "sym"}
	if err := r.checkSym(res, &Input{Data: data}, settings, jobs, make(chan struct{}, jobs)); err != nil {
		res.Err = fmt.Errorf("%s: %w", path, err)
	}
	return res
}

// CheckChunks checks one symbol file in memory that is cut as given: a test's means of seeing that findings do not
// depend on where a file is cut. The cuts follow each other from the file's first byte to its last.
func (r *Runner) CheckChunks(path string, data []byte, settings *Settings, cuts []symfile.Chunk) *FileResult {
	if settings == nil {
		settings = NewSettings(r.Registry)
	}
	res := &FileResult{Path: path, Kind: "sym"}
	module := symfile.FindModule(data)
	res.Module = ModuleInfo{module.OS, module.Arch, module.ID, module.Name}
	tokens := make(chan struct{}, 1)
	p, err := r.checkChunks(path, &Input{Data: data}, module, settings, cuts, tokens)
	if errors.Is(err, errContext) {
		whole := []symfile.Chunk{{From: 0, To: len(data), Line: 1}}
		p, err = r.checkChunks(path, &Input{Data: data}, module, settings, whole, tokens)
	}
	if err != nil {
		res.Err = fmt.Errorf("%s: %w", path, err)
		return res
	}
	r.conclude(res, p)
	return res
}

func (r *Runner) checkSym(res *FileResult, in *Input, settings *Settings, jobs int, tokens chan struct{}) error {
	data := in.Data
	if uint64(len(data)) > symfile.MaxSize {
		return fmt.Errorf("%d bytes are more than symlint reads (%d)", len(data), uint32(symfile.MaxSize))
	}
	module := symfile.FindModule(data)
	res.Module = ModuleInfo{module.OS, module.Arch, module.ID, module.Name}
	cuts := symfile.Cut(data, min(jobs, len(data)/minChunk+1))
	p, err := r.checkChunks(res.Path, in, module, settings, cuts, tokens)
	if errors.Is(err, errContext) {
		whole := []symfile.Chunk{{From: 0, To: len(data), Line: 1}}
		p, err = r.checkChunks(res.Path, in, module, settings, whole, tokens)
	}
	if err != nil {
		return err
	}
	r.conclude(res, p)
	return nil
}

// errContext: a chunk holds a record whose meaning hangs on the chunk before it, which healthy files do not.
var errContext = errors.New("chunk depends on the one before it")

// chunkPass is a chunk with the checkers at work on it.
type chunkPass struct {
	pass     *Pass
	checkers []Checker
	err      error
}

func (r *Runner) checkChunks(path string, in *Input, module symfile.ModuleEntry, settings *Settings, cuts []symfile.Chunk,
	tokens chan struct{}) (*Pass, error) {
	chunks := make([]chunkPass, len(cuts))
	var wg sync.WaitGroup
	for i, cut := range cuts {
		wg.Go(func() {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			c := &chunks[i]
			defer func() {
				if e := recover(); e != nil {
					c.err = recovered(e)
				}
			}()
			debug.SetPanicOnFault(true) // a mapped file may shrink under us
			keep := r.Keep
			if r.Known != nil {
				keep = 0 // the baseline decides first
			}
			c.pass = &Pass{
				Path: path, Data: in.Data, Encoding: in.Encoding, Module: module, First: i == 0,
				settings: settings, registry: r.Registry, keep: keep,
				counts: make([]ruleCount, len(r.Registry.rules)),
				store:  store{registry: r.Registry},
			}
			c.err = c.scan(r.Analyzers, cut)
		})
	}
	wg.Wait()
	for i := range chunks {
		if err := chunks[i].err; err != nil {
			for j := range chunks {
				if p := chunks[j].pass; p != nil {
					p.store.close()
				}
			}
			return nil, err
		}
	}
	return finish(chunks)
}

func finish(chunks []chunkPass) (p *Pass, err error) {
	defer func() {
		if e := recover(); e != nil {
			err = recovered(e)
		}
	}()
	debug.SetPanicOnFault(true)
	first := &chunks[0]
	for i := range chunks[1:] {
		later := &chunks[i+1]
		for j, c := range first.checkers {
			c.Merge(later.checkers[j])
		}
		first.pass.merge(later.pass)
	}
	var sorting sync.WaitGroup // nearly every family asks for these
	sorting.Go(func() { first.pass.FuncRanges() })
	first.pass.InitRanges()
	sorting.Wait()
	for _, c := range first.checkers {
		c.Finish()
	}
	return first.pass, nil
}

func recovered(e any) error {
	if isFault(e) {
		return errors.New("the file changed while it was read")
	}
	return fmt.Errorf("internal error: %v\n%s", e, debug.Stack())
}

// isFault tells panics over memory that cannot be read, such as that of a mapped file which has shrunk.
func isFault(e any) bool {
	_, ok := e.(interface{ Addr() uintptr })
	return ok
}

// listeners are the checkers that want a kind of record; steady are those that do without the records that continue a
// run.
type listeners struct{ every, steady []Checker }

// longRecord is a length, in bytes, that makes a record worth a look by itself.
const longRecord = 1 << 10

// scan runs the chunk's records past the checkers.
func (c *chunkPass) scan(analyzers []*Analyzer, cut symfile.Chunk) error {
	var byKind [symfile.KindCount]listeners
	var irregular []Checker
	wants := make([]uint32, 0, len(analyzers)) // kinds of the irregular ones, which must not see a record twice
	for _, a := range analyzers {
		enabled := false
		for _, rule := range a.Rules {
			enabled = enabled || c.pass.Enabled(rule)
		}
		ch := a.New(c.pass)
		c.checkers = append(c.checkers, ch)
		if !enabled {
			continue
		}
		var mask uint32
		for _, k := range a.Kinds {
			if mask |= 1 << k; a.Steady {
				byKind[k].steady = append(byKind[k].steady, ch)
			} else {
				byKind[k].every = append(byKind[k].every, ch)
			}
		}
		if a.Irregular {
			irregular = append(irregular, ch)
			wants = append(wants, mask)
		}
	}
	line := cut.Line
	if line == 0 {
		line = 1 + symfile.CountLines(c.pass.Data[:cut.From])
	}
	var s symfile.Scanner
	s.Reset(c.pass.Data, cut.From, cut.To, line)
	rec, data, index := s.Record(), c.pass.Data, &c.pass.Index
	if index.Expect = cut.To - cut.From; c.pass.First {
		index.Expect = len(data) // the others are appended to it
	}
	funcOpen, initOpen := c.pass.First, c.pass.First
	inFunc := false        // line records have a FUNC to belong to
	run := symfile.Unknown // Line or StackCFI while records of that kind follow each other in canonical form
	for s.Next() {
		kind := rec.Kind
		regular := len(rec.Problems) == 0 && rec.EOL == 1
		if kind == run && regular && rec.Span.Len() < longRecord {
			for _, ch := range byKind[kind].every {
				ch.Record(rec)
			}
			index.Add(rec, data)
			continue
		}
		run = symfile.Unknown
		switch kind {
		case symfile.Func, symfile.Public:
			funcOpen = true
			inFunc = kind == symfile.Func && rec.Usable
		case symfile.StackCFIInit:
			initOpen = true
		case symfile.Line, symfile.Inline:
			if !funcOpen {
				return errContext
			}
			if kind == symfile.Line && regular && inFunc {
				run = kind
			}
		case symfile.StackCFI:
			if !initOpen {
				return errContext
			}
			if regular {
				run = kind
			}
		}
		if !regular {
			for i, ch := range irregular {
				if wants[i]>>kind&1 == 0 {
					ch.Record(rec)
				}
			}
		}
		for _, ch := range byKind[kind].every {
			ch.Record(rec)
		}
		for _, ch := range byKind[kind].steady {
			ch.Record(rec)
		}
		index.Add(rec, data)
	}
	c.pass.Index.Close()
	return nil
}

// conclude turns what the passes know into the result.
func (r *Runner) conclude(res *FileResult, p *Pass) {
	var names *symfile.Names
	if res.Kind == "sym" {
		names = symfile.NewNames(p.Data, &p.Index)
	}
	if r.Known != nil {
		p.applyBaseline(res, r.Known(res.Module.Name), r.Keep, names)
	}
	for k := symfile.Kind(0); k < symfile.KindCount; k++ {
		if n := p.Index.Counts[k]; n > 0 && k != symfile.Blank {
			res.Records = append(res.Records, RecordCount{k.String(), n})
		}
	}
	res.Coverage = p.Coverage
	for i := range p.counts {
		c := &p.counts[i]
		n := 0
		for v, k := range c.findings {
			res.Totals[v] += k
			n += k
		}
		if n > 0 {
			res.Rules = append(res.Rules, RuleCount{r.Registry.rules[i], n, c.records, c.findings})
		}
	}
	res.findings = &p.store
	res.names = names
}

// applyBaseline drops the findings that are known and counts the rest anew.
func (p *Pass) applyBaseline(res *FileResult, known func(*Finding) bool, keep int, names *symfile.Names) {
	old := p.store
	p.store = store{registry: p.registry}
	clear(p.counts)
	for f, err := range old.all() {
		if err != nil {
			p.store.err = err
			break
		}
		nameFunction(f, names)
		if known(f) {
			res.Suppressed++
			continue
		}
		c := &p.counts[p.registry.Index(f.Rule)]
		c.findings[f.Severity]++
		c.records += f.Count
		if keep > 0 && c.kept[f.Severity] >= keep {
			continue
		}
		c.kept[f.Severity]++
		p.store.add(*f)
	}
	old.close()
}

// nameFunction fills in the function at the finding's address. A mapped file that has shrunk has no names.
func nameFunction(f *Finding, names *symfile.Names) {
	if f.Function != "" || !f.HasAddress || names == nil {
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil && !isFault(e) {
			panic(e)
		}
	}()
	f.Function = bounded(string(bytes.ToValidUTF8(names.At(f.Address), []byte("\ufffd"))))
}
