package symstore

import (
	"fmt"

	"github.com/symlint/symlint/unwind/symfile"
)

// Status is what became of the search for a module's symbols.
type Status uint8

const (
	NotFound Status = iota // no root has the file
	Found                  // a healthy file
	OtherID                // only files for other builds of the module
	Corrupt                // a file with records its reader cannot use: Symbols is nil if the reader rejects it whole
	// Unreadable is a file that cannot be read, or is too large, or does not decompress. Symbols is nil, but with
	// Options.Exact and the Breakpad policy an empty module.
	Unreadable
)

var statusNames = [...]string{"not found", "found", "other id", "corrupt", "unreadable"}

// String returns the status in words.
func (s Status) String() string { return name(statusNames[:], int(s)) }

// Match is the rule by which a file was found.
type Match uint8

const (
	NoMatch      Match = iota
	ByPath             // at ROOT/DEBUGFILE/ID/NAME.sym, where Google's reader finds it; the MODULE record was not asked
	ByPathFolded       // near that: the id in another case, or the file with .gz or .zst behind its name
	ByID               // by the id in its MODULE record
	ByIDFolded         // by the same, in another case
)

var matchNames = [...]string{
	"none", "path", "path with another case or suffix", "MODULE id", "MODULE id in another case",
}

// String returns the rule in words.
func (m Match) String() string { return name(matchNames[:], int(m)) }

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "invalid"
}

// Result is what is known of a module's symbols. It does not change, and its Symbols are valid until the store is
// closed.
type Result struct {
	Symbols *symfile.Symbols // nil if there are none, or the reader rejects them
	Path    string           // of the file: the one that was taken, or could not be
	Status  Status
	Match   Match
	Reason  string // why Status is not Found: what was looked at, and what was wrong with it
	// Warnings are what one should know of a file that was taken, each with its path.
	Warnings []string
	Size     int64 // bytes of symbol text, decompressed
	Err      error // the error behind Unreadable, or a *symfile.LoadError behind Corrupt
}

// RootError is a root that cannot be searched.
type RootError struct {
	Root string
	Err  error // without the path; fs.ErrNotExist among others
}

// Error returns the message with the root before it.
func (e *RootError) Error() string { return fmt.Sprintf("%s: %v", e.Root, e.Err) }

// Unwrap returns the cause.
func (e *RootError) Unwrap() error { return e.Err }
