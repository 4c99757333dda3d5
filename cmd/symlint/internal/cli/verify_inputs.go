package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// dumpInput is a dump to verify.
type dumpInput struct {
	path string
	// perhaps: its name says little, so that something else under it is no mistake.
	perhaps bool
}

// findDumps returns the dump that a path names, or those below a directory, in the order of their paths.
func findDumps(path string) ([]dumpInput, error) {
	if path == "-" {
		return []dumpInput{{path: path}}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, pathError(path, err)
	case !info.IsDir():
		return []dumpInput{{path: path}}, nil
	}
	var out []dumpInput
	root := path
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		root += string(filepath.Separator) // the link itself was asked for
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		sure, perhaps := dumpName(d.Name())
		if d.IsDir() || !sure && !perhaps || !isFile(path, d) {
			return nil
		}
		out = append(out, dumpInput{filepath.Clean(path), !sure})
		return nil
	})
	if err != nil {
		return nil, pathError(path, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNoDumps)
	}
	return out, nil
}

var errNoDumps = errors.New("no dumps in this directory: expected *.dmp, *.mdmp, *.microdump, *.core, core or core.*, plain, .gz or .zst")

func isFile(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// dumpName judges a file by its name: a dump for sure, or perhaps.
func dumpName(name string) (sure, perhaps bool) {
	name = unpacked(strings.ToLower(name))
	switch filepath.Ext(name) {
	case ".dmp", ".mdmp", ".microdump":
		return true, false
	case ".core":
		return true, false
	}
	return false, name == "core" || strings.HasPrefix(name, "core.")
}

// unpacked is a name without what compression adds.
func unpacked(name string) string {
	for _, ext := range [...]string{".gz", ".zst"} {
		if len(name) > len(ext) && strings.EqualFold(name[len(name)-len(ext):], ext) {
			return name[:len(name)-len(ext)]
		}
	}
	return name
}

// referenceEnds are what takes the place of a dump's extension in the name of its reference, in the order in which they
// are looked for. --update writes the first.
var referenceEnds = [...]string{".expected.json", ".expected.txt", ".stackwalk.txt"}

// referenceStem is a dump's path without its extension. The number behind core. is none.
func referenceStem(dump string) string {
	dir, name := filepath.Split(dump)
	name = unpacked(name)
	if _, perhaps := dumpName(name); !perhaps {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	return dir + name
}

// defaultReference finds the reference beside a dump, "" if there is none.
func defaultReference(dump string) string {
	if dump == "-" {
		return ""
	}
	stem := referenceStem(dump)
	for _, end := range referenceEnds {
		if info, err := os.Stat(stem + end); err == nil && info.Mode().IsRegular() {
			return stem + end
		}
	}
	return ""
}
