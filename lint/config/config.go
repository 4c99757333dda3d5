// Package config reads .symlint.toml and turns it, together with command-line flags, into the settings for a path.
//
//	fail-on      = "warning"                  # error, warning, info or never
//	max-per-rule = 20                         # text output; 0 = all
//	min-coverage = 90                         # percent of FUNC bytes with unwind records
//	select       = ["all"]                    # rules, families, severities, globs
//	ignore       = ["format-number-case"]
//	consumers    = ["breakpad", "symbolic"]
//	baseline     = "symlint-baseline.json"    # relative to this file
//
//	[severity]
//	func = "info"                             # a family
//	func-overlap = "error"                    # one rule; the more exact entry wins
//
//	[[override]]
//	paths  = ["third_party/**", "*.pdb.sym"]  # a pattern without slash is held against the base name
//	ignore = ["inline"]
//
// Settings are built in layers: the file, its overrides that match the path in their order, the flags. In a later
// layer select replaces, ignore adds, severities and min-coverage replace. A rule that a later layer's select or
// severity names by its full name is on again, whatever earlier layers said against it.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/symlint/symlint/lint"
)

// FileName is the name of configuration files.
const FileName = ".symlint.toml"

// MaxSize is the most bytes a configuration may have.
const MaxSize = 64 << 10

// Config is a configuration file. Nil is a valid one that says nothing.
type Config struct {
	Path       string         // where it was read from
	FailOn     *lint.Severity // lint.Off = never; nil = not said
	MaxPerRule *int           // 0 = all; nil = not said
	Baseline   string         // the baseline's path, relative ones joined to the file's directory; "" = not said

	layer     layer
	overrides []override
}

// layer is what one source wants of the rules.
type layer struct {
	selected    []selector // nil = not said
	ignored     []selector
	severities  []severity
	minCoverage *float64 // percent; nil = not said
	consumers   lint.ConsumerSet
}

// selector names rules; at is where it stands, for errors.
type selector struct {
	name string
	at   string
}

// severity gives the rules that a selector names a severity.
type severity struct {
	selector
	level lint.Severity
}

// override is a layer for some paths.
type override struct {
	patterns []string
	layer
}

// Find returns the path of the nearest configuration from dir upward, "" if there is none.
func Find(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, FileName)
		switch info, err := os.Stat(path); {
		case err == nil && !info.IsDir():
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// Load reads a configuration. Mistakes in it are *Error values, joined if there are several.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Error is a mistake in a configuration.
type Error struct {
	Path         string
	Line, Column int // 1-based, Column in bytes; 0 = the file as a whole
	Message      string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Message)
}
