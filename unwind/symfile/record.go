package symfile

// Kind is the type of one record of a Breakpad symbol file.
type Kind uint8

// The record kinds, in the order in which Google's writer emits them.
const (
	Unknown      Kind = iota // a line that is no known record
	Blank                    // an empty line or one of blanks only
	Module                   // MODULE os arch id name
	Info                     // INFO …
	File                     // FILE id name
	InlineOrigin             // INLINE_ORIGIN id [file] name
	Func                     // FUNC [m] address size param_size name
	Inline                   // INLINE nest call_line [call_file] origin (address size)+
	Line                     // address size line file
	Public                   // PUBLIC [m] address param_size name
	StackWin                 // STACK WIN type rva size … program
	StackCFIInit             // STACK CFI INIT address size rules
	StackCFI                 // STACK CFI address rules
	KindCount
)

var kindNames = [KindCount]string{
	"unknown", "blank", "MODULE", "INFO", "FILE", "INLINE_ORIGIN", "FUNC", "INLINE", "line",
	"PUBLIC", "STACK WIN", "STACK CFI INIT", "STACK CFI",
}

// String returns the record's keyword; line records, which have none, are called "line".
func (k Kind) String() string {
	if k < KindCount {
		return kindNames[k]
	}
	return "invalid"
}

// Span is a range of bytes of the input: Data[Off:End].
type Span struct{ Off, End int }

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Off }

// Record is one record as a view into the scanner's input. The scanner reuses it: copy what must outlive
// the next call of Next. Which numeric fields hold a value depends on Kind; the others are stale.
//
// A record whose Problems are empty is in canonical form: single blanks, lower-case hexadecimal, every
// field present and in range. One with problems holds the values a tolerant reader would take, as far as
// there are any; see Usable.
type Record struct {
	Kind Kind
	// Multiple is the `m` mark of FUNC and PUBLIC: several symbols share the code.
	Multiple bool
	// OldForm marks the INLINE and INLINE_ORIGIN grammar without (with) a file field.
	OldForm bool
	// Usable: every field the kind needs could be read. An unusable record is one that consumers drop.
	Usable bool

	Line int  // 1-based
	Span Span // the record without its line terminator
	// EOL is the length of the line terminator: 0 at the end of a file without final newline, 1 for LF or
	// a lone CR, 2 for CRLF (more for CR CR LF).
	EOL int

	Addr uint64 // FUNC, line, PUBLIC, STACK *: module-relative address (RVA); INLINE: that of the first range
	Size uint64 // FUNC, line, STACK CFI INIT, STACK WIN: bytes of code; INLINE: that of the first range

	ParamSize uint64 // FUNC, PUBLIC, STACK WIN: bytes of parameters on the stack
	Number    int64  // line: source line; INLINE: call-site line
	FileID    int64  // FILE: its id; line: file id; INLINE: call-site file id, -1 for none; old INLINE_ORIGIN: its file
	Origin    int64  // INLINE and INLINE_ORIGIN: origin id
	Nest      int64  // INLINE: nesting level, 0 = inlined directly into the FUNC

	Win WinFields // STACK WIN only

	// Text is the free text of the record: the name of FILE, FUNC, PUBLIC, INLINE_ORIGIN and MODULE, the
	// rest of INFO and MODULE lines, the rules of STACK CFI, the program of STACK WIN (or its
	// allocates_base_pointer flag), the address-size pairs of INLINE.
	Text Span

	// TextID numbers the distinct texts of STACK CFI records in the order of their first appearance since the
	// scanner's Reset: equal numbers are equal texts. -1 where texts are not numbered.
	TextID int32

	// Problems lists what keeps the record from canonical form, in order of position.
	Problems []Problem
}

// WinFields are the numbers of a STACK WIN record that only it has.
type WinFields struct {
	Type              uint64 // 0 FPO, 1 TRAP, 2 TSS, 3 STANDARD, 4 FRAME_DATA
	Prolog, Epilog    uint64
	SavedRegs, Locals uint64
	MaxStack          uint64
	HasProgram        uint64
}

// ProblemCode says what is wrong with a field or a line.
type ProblemCode uint8

// What the scanner reports of a record that is not in canonical form.
const (
	NoProblem          ProblemCode = iota
	UnknownRecord                  // the line is no known record
	MissingField                   // a field the kind needs is absent; Span is where it should stand
	SurplusField                   // text behind the last field
	EmptyName                      // the free-text field is absent or blank
	BadHex                         // not hexadecimal
	BadDecimal                     // not decimal
	HexPrefix                      // 0x before a hexadecimal field
	Sign                           // + or - where no sign is due
	UpperCase                      // upper-case hexadecimal digits
	Range32                        // does not fit the 32 bits some consumer stores
	Range64                        // does not fit 64 bits, or is the all-ones value Google's reader rejects
	BadMark                        // a word where only `m` may stand
	InlineParity                   // an INLINE whose token count selects a grammar its values do not fit
	Tab                            // a TAB as separator
	LeadingBlank                   // blanks before the keyword
	RepeatedBlank                  // more than one blank between fields
	TrailingBlank                  // blanks at the end of the line
	NULByte                        // a NUL byte
	ControlByte                    // another control character
	InvalidUTF8                    // bytes that are no UTF-8
	ByteOrderMark                  // U+FEFF at the start of the file
	LoneCR                         // the record ends in a CR without LF
	NoFinalNewline                 // the file ends without a line terminator
	NegativeNumber                 // a negative decimal where none is allowed
	LeadingZeroOverrun             // more digits than a consumer reads, although the value is small
	Range16                        // does not fit the 16 bits in which symbolic keeps some sizes of STACK WIN
	ProblemCodeCount
)

// Problem is one departure from canonical form.
type Problem struct {
	Code  ProblemCode
	Field string // name of the field, "" where the problem is the line's
	Span  Span
}
