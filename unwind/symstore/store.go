package symstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/symlint/symlint/unwind/symfile"
)

// Options are how symbols are searched and read.
type Options struct {
	// Policy is the reader whose tables the symbols are.
	Policy symfile.Policy
	// Exact makes directories give what Breakpad's supplier and rust-minidump find in them, and nothing else: the file at
	// ROOT/DEBUGFILE/ID/NAME.sym, the id as it is, whatever the file holds, not decompressed. The first root with
	// something at that place ends the search, even if it cannot be read. For Breakpad that is then an empty module, and
	// the text ends at the first byte 0xff, as it does there. Roots that are files are matched by their MODULE id, which
	// Breakpad has nothing like, in its exact case.
	Exact bool
	// MaxSize is the largest symbol file in bytes, decompressed: symfile.MaxSize unless given.
	MaxSize int64
}

// Store finds the symbols of modules. It may be used by several goroutines: every file is read once, however many ask.
type Store struct {
	options Options
	roots   []*root
	pool    *pool

	mu      sync.Mutex
	results map[module]*pending
}

// root is one of the places to search.
type root struct {
	path  string
	isDir bool

	once  sync.Once
	index *index // by once
}

// module is what a dump knows of a module.
type module struct{ debugFile, id, codeFile string }

// named reports whether a MODULE record's name means the module. A module without a name is meant by any.
func (m module) named(name string) bool {
	if m.debugFile == "" && m.codeFile == "" {
		return true
	}
	return sameModule(name, m.debugFile) || sameModule(name, m.codeFile)
}

// pending is a result that the first who asks for it works out.
type pending struct {
	once   sync.Once
	result *Result
}

// New returns a store over roots, which are tried in the order given: symbol stores, directories of symbol files,
// symbol files. Nothing is read yet.
//
// The error joins a *RootError for every root that does not exist or is neither a directory nor a file. The store can
// be used all the same and does without them, as Breakpad does.
func New(roots []string, o Options) (*Store, error) {
	s := &Store{options: o, pool: newPool(o.MaxSize), results: make(map[module]*pending)}
	var errs []error
	for _, path := range roots {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			errs = append(errs, &RootError{path, withoutPath(err)})
		case !info.IsDir() && !info.Mode().IsRegular():
			errs = append(errs, &RootError{path, errors.New("is neither a directory nor a regular file")})
		default:
			s.roots = append(s.roots, &root{path: path, isDir: info.IsDir()})
		}
	}
	return s, errors.Join(errs...)
}

// Close releases the memory of all files. The symbols of earlier results must not be used any more; later lookups
// fail with ErrClosed.
func (s *Store) Close() error { return s.pool.close() }

// Symbols returns the symbols of a module, and always why there are none. debugFile and debugID are what the dump says:
// a path or a base name, and GUID and age in Breakpad's form. codeFile serves where debugFile is empty, though not with
// Exact and the Breakpad policy. The same module gives the same result, whatever happened to the files meanwhile.
func (s *Store) Symbols(debugFile, debugID, codeFile string) *Result {
	if s.pool.isClosed() {
		return &Result{Status: Unreadable, Reason: ErrClosed.Error(), Err: ErrClosed}
	}
	m := module{debugFile, debugID, codeFile}
	s.mu.Lock()
	p := s.results[m]
	if p == nil {
		p = new(pending)
		s.results[m] = p
	}
	s.mu.Unlock()
	p.once.Do(func() { p.result = s.find(m) })
	return p.result
}

// search is the state of one lookup.
type search struct {
	*Store
	m     module
	place string   // where a store has the file, with slashes; "" if nowhere
	tried []string // what was looked at
	other bool     // a file for another build was met
	// failed is the first file that was there and could not be used.
	failed *Result
}

// trials is how many of the places that were tried a reason lists.
const trials = 4

func (s *Store) find(m module) *Result {
	google := s.options.Exact && s.options.Policy == symfile.Breakpad
	if google {
		m.codeFile = ""
	} else if m.debugFile == "" {
		m.debugFile = m.codeFile
	}
	l := search{Store: s, m: m}
	switch {
	case m.id == "":
		return &Result{Reason: "the module has no debug id"}
	case google && Base(m.debugFile) == "":
		return &Result{Reason: "the module has no debug file name"}
	case len(s.roots) == 0:
		return &Result{Reason: "there is no place to search"}
	}
	l.place, _ = SymbolPath(m.debugFile, m.id)

	for _, r := range s.roots {
		if result := l.exactly(r); result != nil {
			return result
		}
	}
	if !s.options.Exact {
		for _, r := range s.roots {
			if result := l.folded(r); result != nil {
				return result
			}
		}
	}
	if l.failed != nil {
		return l.failed
	}
	for _, r := range s.roots {
		l.explain(r)
	}
	result := &Result{Reason: some(l.tried, trials, "; ")}
	if l.other {
		result.Status = OtherID
	}
	return result
}

// exactly looks in a root for the id as it is.
func (l *search) exactly(r *root) *Result {
	if r.isDir && l.place != "" {
		path := filepath.Join(r.path, filepath.FromSlash(l.place))
		if l.exists(path) {
			return l.take(path, ByPath)
		}
	}
	return l.lookup(r, false, ByID)
}

// folded looks in a root for what a reader less strict would find.
func (l *search) folded(r *root) *Result {
	if r.isDir && l.place != "" {
		for i, id := range append([]string{l.m.id}, otherCases(l.m.id)...) {
			place, _ := SymbolPath(l.m.debugFile, id)
			for j, suffix := range [...]string{"", ".gz", ".zst"} {
				if path := filepath.Join(r.path, filepath.FromSlash(place)) + suffix; i+j > 0 && l.exists(path) {
					if result := l.take(path, ByPathFolded); result != nil {
						return result
					}
				}
			}
		}
	}
	return l.lookup(r, true, ByIDFolded)
}

// exists reports whether there is something at a path for the reader.
func (l *search) exists(path string) bool {
	info, err := os.Stat(path)
	if l.options.Exact && l.options.Policy == symfile.RustMinidump {
		return err == nil && info.Mode().IsRegular()
	}
	return err == nil
}

// lookup asks the index of a root.
func (l *search) lookup(r *root, fold bool, match Match) *Result {
	x := l.indexOf(r)
	if x == nil {
		return nil
	}
	for _, h := range x.find(l.m, fold) {
		if result := l.take(h.path, match); result != nil {
			return result
		}
	}
	return nil
}

// indexOf returns what the files of a root say they are for; nil where a directory is to be a store and nothing else.
func (l *search) indexOf(r *root) *index {
	if r.isDir && l.options.Exact {
		return nil
	}
	r.once.Do(func() {
		if r.isDir {
			r.index = indexDirectory(r.path)
		} else {
			r.index = newIndex([]string{r.path})
		}
	})
	return r.index
}

// take loads a file. nil means that the search goes on; the failure is remembered.
func (l *search) take(path string, match Match) *Result {
	raw := l.options.Exact && match == ByPath
	e := l.pool.get(path, raw, func(e *pooled) {
		data := e.data
		e.packed = compressionOf(data)
		if raw && l.options.Policy == symfile.Breakpad {
			// It reads with std::getline up to a character that is EOF converted to char.
			if cut := firstFF(data, e.forget); cut >= 0 {
				e.cut, data = int64(cut), data[:cut]
			}
		}
		e.symbols = symfile.Load(data, symfile.Options{Policy: l.options.Policy, Forget: e.forget})
		if e.forget != nil {
			e.forget(0, len(data))
		}
	})
	r := l.judge(path, e)
	r.Match = match
	if r.Symbols == nil && !raw {
		if l.failed == nil {
			l.failed = r
		}
		return nil
	}
	if r.Symbols == nil && l.options.Policy == symfile.Breakpad && r.Err != ErrClosed {
		r.Symbols = symfile.Load(nil, symfile.Options{})
		r.warn("is an empty module to Breakpad's reader")
		return r
	}
	if r.Symbols != nil {
		l.compare(r)
	}
	return r
}

// judge tells what became of loading a file.
func (l *search) judge(path string, e *pooled) *Result {
	r := &Result{Path: path, Status: Found, Symbols: e.symbols, Size: int64(len(e.data))}
	if e.err != nil {
		r.Status, r.Err, r.Size = Unreadable, e.err, 0
		r.Reason = fmt.Sprintf("%s: %v", path, e.err)
		return r
	}
	if e.packed != plain {
		r.warn("is %s data, which the reader does not decompress", e.packed)
	}
	if e.cut >= 0 {
		r.warn("byte 0xff at offset %d: Breakpad's reader sees nothing from there on", e.cut)
	}
	if err := r.Symbols.Crash(); err != nil {
		r.warn("%v", err)
	}
	if err := r.Symbols.Rejected(); err != nil {
		r.Status, r.Err, r.Symbols = Corrupt, err, nil
		r.Reason = located(path, err)
		return r
	}
	if corrupt, damage := r.Symbols.Corrupt(); corrupt {
		r.Status, r.Err = Corrupt, &damage[0]
		r.Reason = located(path, &damage[0])
		if n := len(damage) - 1; n > 0 {
			r.Reason += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return r
}

// located writes an error of a symbol file as PATH:LINE: message.
func located(path string, err error) string {
	e, ok := errors.AsType[*symfile.LoadError](err)
	if !ok || e.Line == 0 {
		return fmt.Sprintf("%s: %v", path, err)
	}
	return fmt.Sprintf("%s:%d: %s", path, e.Line, e.Message)
}

// compare warns of a file that says it is for another module.
func (l *search) compare(r *Result) {
	h := r.Symbols.Header()
	switch {
	case h.Line == 0:
		r.warn("no MODULE record")
	case h.ID != l.m.id:
		r.warn("MODULE says id %s, the module has %s", h.ID, l.m.id)
	case !l.m.named(h.Name):
		r.warn("MODULE says %s, the module is %s", h.Name, Base(l.m.debugFile))
	}
}

func (r *Result) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, r.Path+": "+fmt.Sprintf(format, args...))
}

// explain tells why a root has nothing for the module.
func (l *search) explain(r *root) {
	miss := func(format string, args ...any) { l.tried = append(l.tried, fmt.Sprintf(format, args...)) }
	if !r.isDir {
		switch h := l.indexOf(r).files[0]; {
		case h.problem != "":
			miss("%s: %s", r.path, h.problem)
		case strings.EqualFold(h.id, l.m.id):
			miss("%s has id %s and is for %s", r.path, h.id, h.name) // of zeros, or in another case
		case l.m.named(h.name):
			l.other = true
			miss("%s has id %s", r.path, h.id)
		default:
			miss("%s is for %s, id %s", r.path, h.name, h.id)
		}
		return
	}
	if l.place == "" {
		miss("%s has no path for debug file %q and id %q", r.path, l.m.debugFile, l.m.id)
	} else {
		text := "no file at " + filepath.Join(r.path, filepath.FromSlash(l.place))
		if ids := otherIDs(r.path, l.m); len(ids) > 0 {
			l.other = true
			text += ", only for " + some(ids, 3, ", ")
		}
		l.tried = append(l.tried, text)
	}
	x := l.indexOf(r)
	if x == nil {
		return
	}
	misses, other := x.misses(l.m)
	l.tried, l.other = append(l.tried, misses...), l.other || other
	if x.cut {
		miss("%s has more files than are looked at", r.path)
	}
	if x.err != nil && !errors.Is(x.err, fs.ErrNotExist) {
		miss("%s: %v", r.path, x.err)
	}
}
