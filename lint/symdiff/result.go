package symdiff

import "fmt"

// Result is how two symbol files differ.
type Result struct {
	Old, New FileInfo
	// Module are the fields of MODULE and the INFO records that differ.
	Module []FieldChange
	// Shift is how far the code moved.
	Shift Shift
	// PathMaps are the replacements of source paths that were made.
	PathMaps []PathMap
	// FilesAdded and FilesRemoved are source files that only one side's lines use. They are told, but are no difference
	// of their own.
	FilesAdded, FilesRemoved []string
	// Changes are the functions, symbols and stretches of code that differ, in the order of the older file's addresses.
	Changes []Change
	// Publics are PUBLIC records inside of functions that differ. Those outside are among Changes.
	Publics []PublicChange
	Summary Summary

	c *comparison
}

// FileInfo is what is said of one file as a whole.
type FileInfo struct {
	Path               string // set by the caller; shown only
	Size               int    // bytes
	OS, Arch, ID, Name string
	Coverage
}

// Coverage counts records, and bytes of the code in FUNC records.
type Coverage struct {
	Functions, Publics, Lines, Inlines, CFIRows, Wins int
	Code                                              uint64 // bytes in FUNC records
	WithLines, WithCFI                                uint64 // bytes of them that have source lines, STACK CFI
}

// FieldChange is a field that differs. "" stands for an absent one.
type FieldChange struct {
	Aspect   Aspect
	Field    string // os, arch, id, name or info
	Old, New string
}

// Shift tells by how much code moved. Moving is no difference.
type Shift struct {
	By        int64 // bytes: the distance that most functions moved
	Functions int   // how many did
	Others    int   // matched functions that moved otherwise
	// Outliers are stretches of functions that moved otherwise, the largest first, at most 8.
	Outliers []Move
}

// Move is a stretch of functions that moved by the same distance.
type Move struct {
	From, To  uint64 // addresses in the older file of the first and last function
	By        int64
	Functions int
}

// Status says what became of a function.
type Status uint8

// The statuses.
const (
	Changed Status = iota
	Added
	Removed
)

// String returns changed, added or removed.
func (s Status) String() string { return [...]string{"changed", "added", "removed"}[s] }

// Side is what one file says of a function as a whole.
type Side struct {
	Kind     Kind
	Name     string
	Addr     uint64
	Size     uint64
	Line     int // of the record, 1-based
	Params   uint32
	Multiple bool
}

// Change is a function, symbol or stretch of code that differs.
type Change struct {
	Status Status
	Match  Match
	// Aspects are what differs.
	Aspects  Aspect
	Old, New Side // the zero value where the file does not have it
	// How many ranges differ, and how many bytes within the size both sides have are covered by one side only.
	LineRanges, InlineRanges, CFIRanges, WinRecords int
	LostLines, GainedLines                          uint64
	LostInlines, GainedInlines                      uint64
	LostCFI, GainedCFI                              uint64

	pair pair
}

// Name is the name of the function, the older one if there are two.
func (c *Change) Name() string {
	s := c.Old
	if c.Status == Added || s.Kind == Unnamed && c.New.Kind != Unnamed && c.New.Name != "" {
		s = c.New
	}
	if s.Kind == Unnamed {
		return fmt.Sprintf("unwind records at 0x%x", s.Addr)
	}
	return s.Name
}

// PublicChange is a PUBLIC record inside of a function that differs.
type PublicChange struct {
	Status         Status
	Name           string
	OldAddr        uint64
	NewAddr        uint64
	OldParams      uint32
	NewParams      uint32
	OldMult        bool
	NewMult        bool
	OldLine        int // of the record, 1-based; 0 = there is none
	NewLine        int
	Moved          bool   // within its function or to another one
	OldIn, NewIn   string // the function it lies in
	OldOff, NewOff uint64 // its offset there
}

// Summary counts. Units are functions, symbols outside of functions, and stretches of unwind records without symbol.
type Summary struct {
	Matched, Same, Changed, Added, Removed int // units
	FunctionsAdded, FunctionsRemoved       int // of these, FUNC records
	Renamed, Resized                       int
	By                                     [ByBody + 1]int // matched units by Match
	With                                   map[Aspect]int  // changed units by aspect
	PublicsAdded, PublicsRemoved           int             // PUBLIC records
	PublicsChanged                         int
	// Bytes of matched code that lost or gained coverage.
	LostLines, GainedLines, LostCFI, GainedCFI uint64
	LostInlines, GainedInlines                 uint64
}

// Same reports whether the files mean the same.
func (r *Result) Same() bool { return len(r.Module) == 0 && len(r.Changes) == 0 && len(r.Publics) == 0 }

// Condition is something a difference can be tested for.
type Condition struct {
	Name, Help string
	met        func(r *Result) bool
}

// Met reports whether the condition holds.
func (c *Condition) Met(r *Result) bool { return c.met(r) }

func with(a Aspect) func(r *Result) bool {
	return func(r *Result) bool {
		for i := range r.Changes {
			if r.Changes[i].Aspects.Has(a) {
				return true
			}
		}
		return false
	}
}

// Conditions are the conditions by name, such as lost-cfi.
var Conditions = []Condition{
	{"any", "anything differs", func(r *Result) bool { return !r.Same() }},
	{"never", "nothing", func(*Result) bool { return false }},
	{"lost-cfi", "code lost its STACK CFI", func(r *Result) bool { return r.Summary.LostCFI > 0 }},
	{"lost-lines", "code lost its source lines", func(r *Result) bool { return r.Summary.LostLines > 0 }},
	{"lost-inlines", "code lost its inlined calls", func(r *Result) bool { return r.Summary.LostInlines > 0 }},
	{"lost-functions", "functions are gone", func(r *Result) bool { return r.Summary.FunctionsRemoved > 0 }},
	{"lost-publics", "PUBLIC records are gone", func(r *Result) bool { return r.Summary.PublicsRemoved > 0 }},
	{"changed-id", "the debug identifier differs", func(r *Result) bool {
		for _, f := range r.Module {
			if f.Field == "id" {
				return true
			}
		}
		return false
	}},
	{"changed-module", "the MODULE record differs", func(r *Result) bool {
		for _, f := range r.Module {
			if f.Aspect == Module {
				return true
			}
		}
		return false
	}},
	{"changed-cfi", "unwind states differ", with(CFI | Win)},
	{"changed-lines", "source lines differ", with(Lines)},
	{"changed-inlines", "inlined calls differ", with(Inlines)},
	{"changed-params", "sizes of parameters differ", with(Params)},
	{"changed-sizes", "sizes of functions differ", with(Sizes)},
	{"changed-names", "functions were renamed", with(Names)},
}

// FindCondition returns the condition of a name, nil if there is none.
func FindCondition(name string) *Condition {
	for i := range Conditions {
		if Conditions[i].Name == name {
			return &Conditions[i]
		}
	}
	return nil
}
