// Package baseline keeps the findings that are known already, so that only new ones are reported. It is a JSON file:
//
//	{"version": 1,
//	"findings": [
//	{"rule":"cfi-missing-ra","module":"app","subject":"main","count":2}
//	]}
//
// A finding is known by its rule, the name of its module and what it is about (lint.Finding.Key). Lines, addresses
// and debug ids are not part of it: they change with every build. Count is how many findings of one file share these;
// of several files of one module, such as its builds in a symbol store, the one with the most counts.
package baseline

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/symlint/symlint/lint"
)

// Entry is a line of a baseline.
type Entry struct {
	Rule    string `json:"rule"`
	Module  string `json:"module"`
	Subject string `json:"subject"`
	Count   int    `json:"count"` // 1 to MaxCount
}

// key is what a finding of a module is known by.
type key struct{ rule, subject string }

func keyOf(f *lint.Finding) key { return key{f.Rule.Name, toUTF8(f.Key())} }

// toUTF8 is a name as JSON can hold it.
func toUTF8(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Module is the name a file's module goes by: that of its MODULE record, or the file's base name where it has none.
func Module(name, file string) string {
	if name != "" {
		return name
	}
	return path.Base(filepath.ToSlash(file))
}

// Baseline is a set of known findings. It is safe for concurrent use.
type Baseline struct {
	modules map[string]*module
}

// module holds the known findings of one module.
type module struct {
	seen    atomic.Bool // a file of the module was checked
	entries map[key]*entry
}

type entry struct {
	count int
	used  atomic.Int64 // the most that one file used up
}

// File returns the known findings for one file of a module. Every file has the full count of each entry to itself,
// so that what is known does not depend on the order in which files are checked.
func (b *Baseline) File(moduleName string) *View {
	m := b.modules[toUTF8(moduleName)]
	if m == nil {
		return &View{}
	}
	m.seen.Store(true)
	return &View{module: m, used: make(map[key]int)}
}

// View is a baseline as one file uses it up. It must not be used concurrently.
type View struct {
	module *module
	used   map[key]int
}

// Known reports whether the baseline holds the finding, and uses up one of its count.
func (v *View) Known(f *lint.Finding) bool {
	if v.module == nil {
		return false
	}
	k := keyOf(f)
	e := v.module.entries[k]
	if e == nil || v.used[k] >= e.count {
		return false
	}
	v.used[k]++
	for n := int64(v.used[k]); ; {
		old := e.used.Load()
		if n <= old || e.used.CompareAndSwap(old, n) {
			return true
		}
	}
}

// Stale lists what no file used up, with the count left over, for the modules of which a file was checked: of the
// others nothing can be said. It is in the order of Encode.
func (b *Baseline) Stale() []Entry {
	var out []Entry
	for name, m := range b.modules {
		if !m.seen.Load() {
			continue
		}
		for k, e := range m.entries {
			if left := e.count - int(e.used.Load()); left > 0 {
				out = append(out, Entry{k.rule, name, k.subject, left})
			}
		}
	}
	sortEntries(out)
	return out
}

func sortEntries(list []Entry) {
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Module, b.Module), strings.Compare(a.Subject, b.Subject))
	})
}

// Recorder collects the findings of a run for a baseline. It is safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex
	counts map[Entry]int // by entries without count
}

// NewRecorder returns an empty recorder.
func NewRecorder() *Recorder { return &Recorder{counts: make(map[Entry]int)} }

// Add records one finding, on top of those before it. Where several files may be of one module, File counts right.
func (r *Recorder) Add(moduleName string, f *lint.Finding) {
	k := keyOf(f)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[Entry{Rule: k.rule, Module: toUTF8(moduleName), Subject: k.subject}]++
}

// File begins a file of a module.
func (r *Recorder) File(moduleName string) *FileRecorder {
	return &FileRecorder{recorder: r, module: toUTF8(moduleName), counts: make(map[key]int)}
}

// FileRecorder collects the findings of one file. It must not be used concurrently.
type FileRecorder struct {
	recorder *Recorder
	module   string
	counts   map[key]int
}

// Add records one finding.
func (r *FileRecorder) Add(f *lint.Finding) { r.counts[keyOf(f)]++ }

// Close hands the file's counts to the recorder, which keeps the highest of each module.
func (r *FileRecorder) Close() {
	r.recorder.mu.Lock()
	defer r.recorder.mu.Unlock()
	for k, n := range r.counts {
		e := Entry{Rule: k.rule, Module: r.module, Subject: k.subject}
		r.recorder.counts[e] = max(r.recorder.counts[e], n)
	}
	clear(r.counts)
}
