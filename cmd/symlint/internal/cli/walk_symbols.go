package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
	"github.com/symlint/symlint/unwind/symstore"
)

// symbolSearch finds symbols in the places a command line names. In a store it finds what Google's reader finds there,
// and compressed files; the other places, single files and directories of symbol files, are searched by MODULE id.
type symbolSearch struct {
	roots []symbolRoot
	all   *symstore.Store // over all places, for guesses by name
	// found is what became of each module that was asked for, by its path in the dump: as the walker, which asks once
	// for each.
	found  map[string]*symstore.Result
	stores []*symstore.Store // to be closed
}

// symbolRoot is one of the places.
type symbolRoot struct {
	google *unwind.StoreSource // as Google's reader; nil if the place is no store
	loose  *unwind.StoreSource
}

// newSymbolSearch returns nil for no places at all. A place that does not exist is an error.
func newSymbolSearch(paths []string) (*symbolSearch, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	s := &symbolSearch{found: make(map[string]*symstore.Result)}
	var err error
	if s.all, err = s.open(paths, symstore.Options{}); err != nil {
		return nil, err
	}
	for _, path := range paths {
		loose, err := s.open([]string{path}, symstore.Options{})
		if err != nil {
			return nil, err
		}
		r := symbolRoot{loose: unwind.FromStore(loose)}
		if isStore(path) {
			google, err := s.open([]string{path}, symstore.Options{Exact: true})
			if err != nil {
				return nil, err
			}
			r.google = unwind.FromStore(google)
		}
		s.roots = append(s.roots, r)
	}
	return s, nil
}

func (s *symbolSearch) open(paths []string, o symstore.Options) (*symstore.Store, error) {
	x, err := symstore.New(paths, o)
	if err != nil {
		return nil, err
	}
	s.stores = append(s.stores, x)
	return x, nil
}

// close unmaps all files: symbols must not be used any more.
func (s *symbolSearch) close() {
	if s == nil {
		return
	}
	for _, x := range s.stores {
		x.Close()
	}
}

// ModuleSymbols returns the symbols of a module, or why there are none.
func (s *symbolSearch) ModuleSymbols(m *unwind.Module) (*symfile.Symbols, error) {
	r := s.find(m)
	s.found[m.CodeFile] = r
	if r.Symbols == nil {
		return nil, errors.New(r.Reason)
	}
	return r.Symbols, nil
}

// SymbolsByName guesses the symbols of a module whose id the dump does not know.
func (s *symbolSearch) SymbolsByName(m *unwind.Module, cpu *arch.CPU) (*symfile.Symbols, error) {
	r := s.all.ByName(m.CodeFile, func(name string) bool {
		c, ok := arch.Lookup(name)
		return ok && (c == cpu || c.Wide == cpu.Name)
	})
	s.found[m.CodeFile] = r
	if r.Symbols == nil {
		return nil, errors.New(r.Reason)
	}
	return r.Symbols, nil
}

// of is what was found for a module, nil if it was not asked for.
func (s *symbolSearch) of(m *unwind.Module) *symstore.Result {
	if s == nil || m == nil {
		return nil
	}
	return s.found[m.CodeFile]
}

// SymbolFile is the path of a module's symbol file, "" if none is used.
func (s *symbolSearch) SymbolFile(m *unwind.Module) string {
	if r := s.of(m); r != nil && r.Symbols != nil {
		return r.Path
	}
	return ""
}

func (s *symbolSearch) find(m *unwind.Module) *symstore.Result {
	var best *symstore.Result // the first with more to tell than that nothing is there
	var reasons []string
	for i := range s.roots {
		r := s.roots[i].find(m)
		if r.Symbols != nil {
			return r
		}
		if best == nil || best.Status == symstore.NotFound && r.Status != symstore.NotFound {
			best = r
		}
		reasons = append(reasons, r.Reason)
	}
	failed := *best
	if failed.Status == symstore.NotFound || failed.Status == symstore.OtherID {
		failed.Reason = strings.Join(reasons, "; ")
	}
	return &failed
}

func (r *symbolRoot) find(m *unwind.Module) *symstore.Result {
	if r.google == nil {
		return r.loose.Result(m)
	}
	google := r.google.Result(m)
	if google.Symbols != nil && !isPacked(google.Path) {
		return google
	}
	loose := r.loose.Result(m)
	switch loose.Match {
	case symstore.ByPath, symstore.ByID:
		return loose
	case symstore.ByPathFolded:
		if filepath.Base(filepath.Dir(loose.Path)) == m.DebugID {
			return loose // compressed; Google's reader does not find an id in another case either
		}
	}
	return google
}

// isPacked reports whether a file is gzip or zstd data. Google's reader would read that as text.
func isPacked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	n, _ := io.ReadFull(f, head[:])
	h := string(head[:n])
	return strings.HasPrefix(h, "\x1f\x8b\x08") || h == "\x28\xb5\x2f\xfd"
}

// storeSample is how many directories of a root are looked into to tell whether it is a store.
const storeSample = 64

// isStore reports whether a directory is laid out as a symbol store: it has no symbol files of its own, and some of its
// directories hold directories called like ids. One without either is a store without files.
func isStore(root string) bool {
	entries, err := readSome(root, 1<<12)
	if err != nil {
		return false
	}
	dirs, plain := 0, 0
	for _, e := range entries {
		if !e.IsDir() {
			if strings.Contains(strings.ToLower(e.Name()), ".sym") {
				plain++
			}
			continue
		}
		if dirs++; dirs > storeSample {
			break
		}
		below, _ := readSome(filepath.Join(root, e.Name()), storeSample)
		for _, b := range below {
			if b.IsDir() && looksLikeID(b.Name()) {
				return true
			}
		}
	}
	return dirs == 0 && plain == 0
}

func readSome(dir string, n int) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(n)
	if err == io.EOF {
		err = nil
	}
	return entries, err
}

// looksLikeID: a GUID or a timestamp in hexadecimal, and an age.
func looksLikeID(name string) bool {
	return len(name) >= 9 && strings.Trim(name, "0123456789abcdefABCDEF") == ""
}

// noteSymbols tells of modules whose frames had no symbols or damaged ones, and of files that are doubtful.
func (s *symbolSearch) noteSymbols(w *unwind.Walker, note func(format string, args ...any)) {
	if s == nil {
		return
	}
	told := make(map[string]bool)
	once := func(text string) {
		if !told[text] {
			told[text] = true
			note("%s", text)
		}
	}
	for _, m := range w.Missing() {
		name := unwind.BaseName(m.CodeFile)
		if name == "" {
			name = unwind.BaseName(m.DebugFile)
		}
		reason := "no symbols were looked for"
		if r := s.of(m); r != nil {
			reason = r.Reason
		}
		once(fmt.Sprintf("no symbols for %s (%s): %s", name, orNone(m.DebugID), reason))
	}
	for _, m := range w.Corrupt() {
		if r := s.of(m); r != nil && r.Reason != "" {
			once("damaged symbols: " + r.Reason)
		}
	}
	for i := range w.Process.Modules.Len() {
		if r := s.of(w.Process.Modules.Sorted(i)); r != nil && r.Symbols != nil {
			for _, text := range r.Warnings {
				once(text)
			}
		}
	}
}

func orNone(id string) string {
	if id == "" {
		return "no id"
	}
	return id
}
