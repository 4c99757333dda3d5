package lint

import (
	"iter"

	"github.com/symlint/symlint/unwind/symfile"
)

// ModuleInfo is what the MODULE record of a symbol file says.
type ModuleInfo struct{ OS, Arch, ID, Name string }

// RecordCount is how many records of one kind a file holds.
type RecordCount struct {
	Kind  string
	Count int
}

// RuleCount is how often a rule spoke in one file.
type RuleCount struct {
	Rule     *Rule
	Findings int // findings
	Records  int // records concerned: the sum of Finding.Count
	// BySeverity splits Findings up.
	BySeverity [Error + 1]int
}

// Coverage measures how much of a module's code is described.
type Coverage struct {
	FuncBytes  uint64 // bytes of FUNC ranges, each byte counted once
	CFIBytes   uint64 // of these, covered by STACK CFI INIT (or STACK WIN in x86 Windows modules)
	LineBytes  uint64 // of these, covered by line records
	Funcs      int    // FUNC records
	FuncsCFI   int    // with unwind records at their first byte
	FuncsLines int    // with at least one line record
}

// FileResult is what came of one input.
type FileResult struct {
	Path     string
	Kind     string // "sym", "elf", "sframe"; "" when it could not be told
	Module   ModuleInfo
	Records  []RecordCount // kinds that occur, in the order of the format
	Coverage *Coverage     // nil where there is no code to cover
	// Note is a remark on the input that is no finding: there is nothing in it to check.
	Note string
	// Err is why the input could not be linted. Findings made before it are still there.
	Err error

	// Totals counts all findings by severity, kept or not.
	Totals [Error + 1]int
	// Rules counts all findings by rule, in catalogue order, kept or not.
	Rules []RuleCount
	// Suppressed counts findings that the baseline knows.
	Suppressed int

	findings   *store
	names      *symfile.Names
	closeInput func() error
}

// Findings yields the kept findings in order of position. Large sets are read back from temporary storage, so the
// sequence can fail; it can be taken once.
func (f *FileResult) Findings() iter.Seq2[*Finding, error] {
	return func(yield func(*Finding, error) bool) {
		for x, err := range f.findings.all() {
			if err == nil {
				nameFunction(x, f.names)
			}
			if !yield(x, err) {
				return
			}
		}
	}
}

// Close releases the input and temporary storage.
func (f *FileResult) Close() {
	f.findings.close()
	if f.closeInput != nil {
		f.closeInput()
		f.closeInput = nil
	}
}

// Summary counts over a whole run.
type Summary struct {
	Files      int
	Failed     int // inputs that could not be read or are no symbol file
	Totals     [Error + 1]int
	Suppressed int
}

// Worst is the highest severity found, Off when there is none.
func (s *Summary) Worst() Severity {
	for v := Error; v > Off; v-- {
		if s.Totals[v] > 0 {
			return v
		}
	}
	return Off
}

// NewFileResult returns a result that holds the given findings, for reporters and their tests.
func NewFileResult(g *Registry, path string, findings ...Finding) *FileResult {
	f := &FileResult{Path: path, Kind: "sym", findings: &store{registry: g}}
	counts := make([]RuleCount, len(g.rules))
	for _, x := range findings {
		if x.Count == 0 {
			x.Count = 1
		}
		f.findings.add(x)
		f.Totals[x.Severity]++
		c := &counts[g.Index(x.Rule)]
		c.Rule = x.Rule
		c.Findings++
		c.Records += x.Count
		c.BySeverity[x.Severity]++
	}
	for _, c := range counts {
		if c.Rule != nil {
			f.Rules = append(f.Rules, c)
		}
	}
	return f
}
