package sframe

import "fmt"

// MaxProblems is how many problems Check and File.Problems keep.
const MaxProblems = 1000

// Kind says what a problem is about.
type Kind uint8

// The kinds of problems.
const (
	TooShort       Kind = iota + 1 // a section without room for the header
	BadMagic                       // neither byte order's magic number
	BadVersion                     // a version that does not exist
	BadFlags                       // flags the version does not define
	BadABI                         // an ABI that does not exist
	BadByteOrder                   // a byte order that is not the ABI's or the file's
	BadFixed                       // fixed offsets that are not the ABI's
	BadLayout                      // sub-sections that overlap or leave gaps
	OutOfBounds                    // a sub-section, count or offset beyond the section
	BadRowCount                    // the header's number of rows is not that of the functions
	BadRowLength                   // the rows end before or behind the end of their sub-section
	TrailingData                   // something other than padding behind the end
	Concatenated                   // another section's header behind the end
	FDEOrder                       // the table is not sorted, as it claims to be
	FDEOverlap                     // two functions share addresses
	FDESize                        // an empty function, or one that wraps around
	FDEReserved                    // bits that must be zero
	FDEType                        // an undefined type
	RowType                        // an undefined width of row starts
	RepeatSize                     // a repeated block of size zero, or a size without repetition
	RowsShared                     // functions share rows
	RowTruncated                   // a row goes beyond the rows
	RowWordSize                    // the undefined word size
	RowWords                       // a number of words with no meaning
	RowOrder                       // rows that do not ascend
	RowRange                       // a row starts behind its function's end
	RowFirst                       // the first row does not start at the function
	RowReserved                    // bits that must be zero
	RowRule                        // a flexible rule that cannot be meant: no register for the CFA, no such register
	BadELF                         // headers of the ELF file
	BadCompression                 // a compressed section
	BadRelocation                  // a relocation that was not applied, or is missing
)

var kindNames = [...]string{
	"unknown", "truncated-header", "magic", "version", "flags", "abi", "byte-order", "fixed-offset", "layout",
	"out-of-bounds", "row-count", "row-length", "trailing-data", "concatenated", "fde-order", "fde-overlap", "fde-size",
	"fde-reserved", "fde-type", "row-type", "repeat-size", "rows-shared", "row-truncated", "row-word-size", "row-words",
	"row-order", "row-range", "row-first", "row-reserved", "row-rule", "elf", "compression", "relocation",
}

// String gives the kind's name, which does not change between releases.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// Problem is one thing wrong with a section or a file.
type Problem struct {
	Section string // "" for the file itself
	Offset  int    // in the section's data, or in the file
	Kind    Kind
	// FDE and Row are what it was found in, -1 for none.
	FDE, Row int
	Text     string
}

// Error gives the problem with its position.
func (p *Problem) Error() string {
	where := p.Section
	if where == "" {
		where = "offset "
	} else {
		where += "+"
	}
	if p.Row >= 0 {
		return fmt.Sprintf("%s0x%x: function %d, row %d: %s", where, p.Offset, p.FDE, p.Row, p.Text)
	}
	if p.FDE >= 0 {
		return fmt.Sprintf("%s0x%x: function %d: %s", where, p.Offset, p.FDE, p.Text)
	}
	return fmt.Sprintf("%s0x%x: %s", where, p.Offset, p.Text)
}
