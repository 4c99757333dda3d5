// Package source turns what stands on a command line into inputs: files, directories of symbol files, standard input;
// plain, gzip or zstd; UTF-8 or UTF-16. What an input is, is decided by its content, never by its name, and how much
// memory it may take is decided here and not by what it claims.
package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// StdinPath is how standard input is shown.
const StdinPath = "<stdin>"

// Options say where inputs come from and how large they may be. The zero value reads no standard input and sets the
// default limits.
type Options struct {
	// Stdin is what "-" names; nil = it cannot be read.
	Stdin io.Reader
	Limits
}

// Limits bound what one input may become in memory. Zero fields mean the defaults.
type Limits struct {
	// Size is the largest input in bytes, after decompression: symfile.MaxSize unless given.
	Size int64
	// Ratio is how many times larger than its archive an input may be, once it is larger than RatioFrom bytes.
	// Symbol files shrink to a fifth or a tenth; what shrinks two-hundredfold is no symbol file.
	Ratio, RatioFrom int64
}

func (l Limits) withDefaults() Limits {
	if l.Size <= 0 || l.Size > symfile.MaxSize {
		l.Size = symfile.MaxSize
	}
	if l.Ratio <= 0 {
		l.Ratio = 200
	}
	if l.RatioFrom <= 0 {
		l.RatioFrom = 64 << 20
	}
	return l
}

// Find returns the inputs that paths name, in that order, a directory's files in the order of their paths, and each
// path once. A path that cannot be read or a directory without symbol files becomes a source whose Open says so:
// nothing that was asked for goes missing in silence.
func Find(paths []string, o Options) []lint.Source {
	f := finder{options: o, seen: make(map[string]bool)}
	f.options.Limits = o.Limits.withDefaults()
	for _, path := range paths {
		f.path(path)
	}
	return f.sources
}

type finder struct {
	options Options
	sources []lint.Source
	seen    map[string]bool // cleaned paths
}

func (f *finder) path(path string) {
	if path == "-" {
		f.add(StdinPath, stdin{&f.options})
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		f.fail(path, plainError(err))
	case info.IsDir():
		f.dir(path)
	default:
		f.add(path, file{path, &f.options})
	}
}

func (f *finder) add(path string, s lint.Source) {
	if key := filepath.Clean(path); !f.seen[key] {
		f.seen[key] = true
		f.sources = append(f.sources, s)
	}
}

func (f *finder) fail(path string, err error) {
	f.add(path, failed{path, fmt.Errorf("%s: %w", path, err)})
}

// dir adds the symbol files and the ELF files with SFrame below a directory. Links to files are read, links to directories are not followed: they
// may lead in circles or out of the store.
func (f *finder) dir(root string) {
	found := 0
	walk := root
	if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		walk += string(filepath.Separator) // the link itself was asked for
	}
	_ = filepath.WalkDir(walk, func(path string, d fs.DirEntry, err error) error {
		if path != walk {
			path = filepath.Clean(path)
		}
		switch {
		case err != nil:
			f.fail(path, plainError(err))
			found++
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() || !hasSymbolName(d.Name()) && !f.hasSFrame(path, d):
		case isRegular(path, d):
			f.add(path, file{path, &f.options})
			found++
		}
		return nil
	})
	if found == 0 {
		f.fail(root, ErrNoInput)
	}
}

// ErrNoInput is wrapped by the error of a directory in which there is nothing to check.
var ErrNoInput = errors.New("no symbol files in this directory: expected *.sym, *.sym.gz or *.sym.zst, or ELF files with SFrame")

func hasSymbolName(name string) bool {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.HasSuffix(name, ".sym")
}

func isRegular(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular() // a dangling link is worth an error when it is opened
}

// plainError strips what the caller says anyway: operation and path.
func plainError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// file is an input with a name in the file system.
type file struct {
	path    string
	options *Options
}

func (f file) Path() string { return f.path }

// stdin is standard input.
type stdin struct{ options *Options }

func (stdin) Path() string { return StdinPath }

// failed is an input that cannot be opened.
type failed struct {
	path string
	err  error
}

func (f failed) Path() string               { return f.path }
func (f failed) Open() (*lint.Input, error) { return nil, f.err }
