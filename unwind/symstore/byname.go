package symstore

import (
	"fmt"
	"path/filepath"
	"slices"
)

// maxByName bounds how many builds of a module are looked at by name.
const maxByName = 16

// ByName returns the symbols of a module of which the dump does not know the id: the only file of that name in the
// stores whose MODULE record is of a CPU that fits. Several are as good as none. The walk has to show that the guess is
// right.
func (s *Store) ByName(debugFile string, fits func(moduleArch string) bool) *Result {
	leaf := Base(debugFile)
	if !isElement(leaf) {
		return &Result{Reason: "the module has no debug file name"}
	}
	var ids []string
	for _, r := range s.roots {
		if !r.isDir {
			continue
		}
		entries, err := readDir(filepath.Join(r.path, leaf), maxByName+1)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && isID(e.Name()) && !slices.Contains(ids, e.Name()) {
				ids = append(ids, e.Name())
			}
		}
	}
	if len(ids) > maxByName {
		return &Result{Reason: fmt.Sprintf("the module has no debug id, and there are more than %d files for its name", maxByName)}
	}
	var found []*Result
	for _, id := range ids {
		if r := s.Symbols(leaf, id, ""); r.Symbols != nil && fits(r.Symbols.Header().Arch) {
			found = append(found, r)
		}
	}
	if len(found) == 1 {
		r := *found[0]
		r.Warnings = append(slices.Clone(r.Warnings), r.Path+": taken for its name, since the dump has no id of the module")
		return &r
	}
	return &Result{Reason: fmt.Sprintf("the module has no debug id, and %d files fit its name", len(found))}
}
