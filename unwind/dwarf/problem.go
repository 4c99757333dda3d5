package dwarf

import "fmt"

// MaxProblems is how many problems of one file are kept; the rest is only counted.
const MaxProblems = 1000

// ProblemKind says what a problem is about.
type ProblemKind uint8

// The kinds of problems.
const (
	BadELF          ProblemKind = iota + 1 // headers, sections or segments of the file
	BadCompression                         // a compressed section
	BadLength                              // an entry's length: the rest of the section is not read
	BadCIE                                 // a CIE that cannot be used
	BadAugmentation                        // an augmentation letter nobody knows
	BadFDE                                 // an FDE that was left out
	BadTerminator                          // a zero length with entries behind it, where unwinders stop reading
	BadHeader                              // .eh_frame_hdr
	BadOrder                               // FDEs of one section that overlap
	BadRelocation                          // a relocation of an object file that was not applied
)

var problemKinds = [...]string{"unknown", "elf", "compression", "length", "cie", "augmentation", "fde", "terminator",
	"header", "overlap", "relocation"}

func (k ProblemKind) String() string {
	if int(k) < len(problemKinds) {
		return problemKinds[k]
	}
	return problemKinds[0]
}

// Problem is one thing wrong with the call frame information of a file.
type Problem struct {
	Section string // "" for the file itself
	Offset  uint64 // in the section
	Kind    ProblemKind
	Text    string
}

func (p Problem) Error() string {
	if p.Section == "" {
		return fmt.Sprintf("offset 0x%x: %s", p.Offset, p.Text)
	}
	return fmt.Sprintf("%s+0x%x: %s", p.Section, p.Offset, p.Text)
}

func (f *File) problem(section string, offset uint64, kind ProblemKind, format string, args ...any) {
	f.problemCount++
	if len(f.problems) < MaxProblems {
		f.problems = append(f.problems, Problem{section, offset, kind, fmt.Sprintf(format, args...)})
	}
}
