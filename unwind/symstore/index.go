package symstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxEntries bounds how many directory entries one scan looks at.
	maxEntries = 1 << 15
	// maxDepth is how many directories below a root are entered.
	maxDepth = 3
	// storeSample is how many directories of a root are looked into to tell whether it is a store.
	storeSample = 16
)

// index is what the files of one root say they are for.
type index struct {
	files []header
	byID  map[string][]int // by id in upper case: positions in files
	cut   bool             // the scan ended at maxEntries
	err   error            // why the directory could not be listed
}

// newIndex reads the headers of files in the order given.
func newIndex(paths []string) *index {
	x := &index{files: make([]header, 0, len(paths)), byID: make(map[string][]int)}
	for _, path := range paths {
		h := readHeader(path)
		if h.problem == "" {
			id := strings.ToUpper(h.id)
			x.byID[id] = append(x.byID[id], len(x.files))
		}
		x.files = append(x.files, h)
	}
	return x
}

// find returns the files for a module: those with its id, the ones that name it first. An id of zeros needs the name as
// well.
func (x *index) find(m module, fold bool) []header {
	var named, others []header
	for _, i := range x.byID[strings.ToUpper(m.id)] {
		switch h := x.files[i]; {
		case !fold && h.id != m.id:
		case m.named(h.name):
			named = append(named, h)
		case !isZeroID(m.id):
			others = append(others, h)
		}
	}
	return append(named, others...)
}

// misses tells of the files that could be for the module and are not. other is set if one is for another build of it.
func (x *index) misses(m module) (misses []string, other bool) {
	for _, h := range x.files {
		switch {
		case h.problem != "" && strings.HasPrefix(Base(h.path), symbolName(Base(m.debugFile))):
			misses = append(misses, h.path+": "+h.problem)
		case h.problem == "" && !strings.EqualFold(h.id, m.id) && m.named(h.name):
			misses = append(misses, fmt.Sprintf("%s has id %s", h.path, h.id))
			other = true
		}
	}
	return misses, other
}

// indexDirectory scans a directory for symbol files.
func indexDirectory(root string) *index {
	s := scan{left: maxEntries}
	files, dirs, err := s.list(root)
	nested := !slices.ContainsFunc(dirs[:min(len(dirs), storeSample)], s.holdsIDs)
	paths := symbolFiles(files)
	for depth := 1; nested && depth <= maxDepth && len(dirs) > 0; depth++ {
		var below []string
		for _, dir := range dirs {
			if isID(filepath.Base(dir)) {
				continue
			}
			files, deeper, _ := s.list(dir)
			paths = append(paths, symbolFiles(files)...)
			below = append(below, deeper...)
		}
		dirs = below
	}
	x := newIndex(paths)
	x.cut, x.err = s.left <= 0, err
	return x
}

func symbolFiles(files []string) (symbols []string) {
	for _, f := range files {
		if name := strings.ToLower(f); strings.HasSuffix(name, ".sym") || strings.HasSuffix(name, ".sym.gz") ||
			strings.HasSuffix(name, ".sym.zst") {
			symbols = append(symbols, f)
		}
	}
	return symbols
}

// scan lists directories until it has seen enough.
type scan struct{ left int }

// list returns the files and the directories in a directory, each in the order of their names. Links to directories
// count as files: nothing is entered twice.
func (s *scan) list(dir string) (files, dirs []string, err error) {
	entries, err := readDir(dir, s.left)
	s.left -= len(entries)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			dirs = append(dirs, path)
		} else {
			files = append(files, path)
		}
	}
	return files, dirs, err
}

// holdsIDs reports whether a directory holds directories that are called like an id, as one of a store does.
func (s *scan) holdsIDs(dir string) bool {
	_, dirs, _ := s.list(dir)
	return slices.ContainsFunc(dirs, func(d string) bool { return isID(filepath.Base(d)) })
}

// readDir returns at most limit entries of a directory, ordered by name.
func readDir(dir string, limit int) ([]fs.DirEntry, error) {
	if limit <= 0 {
		return nil, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(limit)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, withoutPath(err)
}

// otherIDs returns the ids for which a store has symbols of a module, at most a few.
func otherIDs(root string, m module) (ids []string) {
	entries, err := readDir(filepath.Join(root, Base(m.debugFile)), 64)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if isID(e.Name()) && e.Name() != m.id {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// some joins the first few texts and counts the others.
func some(texts []string, n int, separator string) string {
	if len(texts) <= n {
		return strings.Join(texts, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(texts[:n], separator), separator, len(texts)-n)
}
