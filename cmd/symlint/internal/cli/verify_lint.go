package cli

import (
	"slices"
	"sync"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/rules"
)

// recordLints knows what check says of single records. A symbol file is checked once, when it is first asked for.
type recordLints struct {
	registry *lint.Registry
	settings func(path string) (*lint.Settings, error)
	jobs     int

	mu    sync.Mutex
	files map[string]*lintedFile
}

func newRecordLints(g *lint.Registry, settings func(string) (*lint.Settings, error), jobs int) *recordLints {
	return &recordLints{registry: g, settings: settings, jobs: jobs, files: make(map[string]*lintedFile)}
}

// lintedFile is a symbol file and what is wrong with its unwind and symbol records.
type lintedFile struct {
	once sync.Once
	in   *lint.Input // nil if it cannot be read
	// byLine are the findings at a line, wide those that stand for several records, by rule.
	byLine map[int][]lint.Finding
	wide   map[string][]lint.Finding
	kept   int
}

// maxKept bounds the findings that are kept of a file, and maxWide those of a rule that stand for several records.
const (
	maxKept = 1 << 17
	maxWide = 3
)

func (l *recordLints) file(path string) *lintedFile {
	l.mu.Lock()
	f := l.files[path]
	if f == nil {
		f = new(lintedFile)
		l.files[path] = f
	}
	l.mu.Unlock()
	f.once.Do(func() { f.load(l, path) })
	return f
}

func (l *recordLints) close() {
	for _, f := range l.files {
		if f.in != nil && f.in.Close != nil {
			f.in.Close()
		}
	}
}

// load checks a file. One that cannot be read any more has no findings; the walk has told why, or does not care.
func (f *lintedFile) load(l *recordLints, path string) {
	f.byLine, f.wide = make(map[int][]lint.Finding), make(map[string][]lint.Finding)
	sources := source.Find([]string{path}, source.Options{})
	if len(sources) != 1 {
		return
	}
	in, err := sources[0].Open()
	if err != nil {
		return
	}
	f.in = in
	if in.Kind != "sym" {
		return
	}
	settings, err := l.settings(path)
	if err != nil {
		return
	}
	r := &lint.Runner{Registry: l.registry, Analyzers: rules.Analyzers(), Jobs: l.jobs}
	res := r.CheckSym(path, in.Data, settings)
	defer res.Close()
	for x, err := range res.Findings() {
		if err != nil {
			return
		}
		f.keep(x)
	}
}

// recordFamilies are those whose rules judge records that a walk uses.
var recordFamilies = []string{"cfi", "win", "format", "func", "public"}

func (f *lintedFile) keep(x *lint.Finding) {
	if !slices.Contains(recordFamilies, x.Rule.Family) || f.kept >= maxKept {
		return
	}
	f.kept++
	f.byLine[x.Line] = append(f.byLine[x.Line], *x)
	if name := x.Rule.Name; (x.Count > 1 || x.Line == 0) && len(f.wide[name]) < maxWide {
		f.wide[name] = append(f.wide[name], *x)
	}
}

// at returns the findings at some lines, and those of a rule that stand for several records, in the order of lines.
func (f *lintedFile) at(lines []int, rule string) []lint.Finding {
	var out []lint.Finding
	lines = slices.Clone(lines)
	slices.Sort(lines)
	for _, n := range slices.Compact(lines) {
		out = append(out, f.byLine[n]...)
	}
	for _, x := range f.wide[rule] {
		if !slices.Contains(lines, x.Line) {
			out = append(out, x)
		}
	}
	return out
}

// place is where a line of the file stands.
func (l *recordLints) place(path string, line int) rules.WalkPlace {
	f := l.file(path)
	if f.in == nil {
		return rules.WalkPlace{Path: path, Line: line}
	}
	return rules.RecordAt(path, f.in.Data, line)
}
