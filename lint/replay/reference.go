// Package replay holds the walk of a dump against a reference trace: what another stackwalker or a debugger says of the
// same process.
//
// ParseReference reads a trace in whatever format it is written, Pair finds out which of its threads is which of the
// dump's, and Align compares a thread frame by frame. The rules of what counts as a difference are told with Align.
package replay

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Format is how a reference is written.
type Format string

// The formats that ParseReference tells apart.
const (
	FormatText    Format = "stackwalk"         // minidump_stackwalk of Google or rust-minidump (--human), for people
	FormatMachine Format = "stackwalk-machine" // minidump_stackwalk -m
	FormatJSON    Format = "json"              // rust-minidump's JSON, which is symlint's as well
	FormatGDB     Format = "gdb"               // thread apply all backtrace
	FormatTSV     Format = "tsv"               // a table with a column for each field
)

// Stackwalk reports whether the format comes from a tool that walks minidumps, whose modules and threads are the
// dump's.
func (f Format) Stackwalk() bool { return f == FormatText || f == FormatMachine || f == FormatJSON }

// PCKind says what address a reference gives for a frame.
type PCKind uint8

const (
	PCUnknown PCKind = iota
	// PCReturn: the program counter where the frame goes on: the return address, of frame 0 and interrupted frames the
	// exact one. Debuggers tell it.
	PCReturn
	// PCRegister: the value that Google's walker keeps in the frame's program counter register. It is PCReturn but on
	// MIPS, where it is the address of the call.
	PCRegister
	// PCPrinted: what Google's tools print for a frame: PCReturn on x86 and amd64, PCInstruction on other CPUs and for
	// inlined calls.
	PCPrinted
	// PCInstruction: the address that symbols are looked up with, within the calling instruction.
	PCInstruction
)

// Reference is a trace.
type Reference struct {
	Format  Format
	Threads []RefThread
	Modules []RefModule // where the format lists them
	// CPU is the reference's name of it: x86, amd64, arm, …; "" where the format does not tell.
	CPU string
}

// RefModule is a module that a reference lists.
type RefModule struct {
	Name      string // without directories
	Base, End uint64 // first and last address
}

// RefThread is a thread of a reference.
type RefThread struct {
	Index   int    // as the source numbers it: gdb from 1, stackwalkers from 0
	LWP     uint32 // id of the thread in the operating system, 0 if unknown
	Crashed bool   // or the one that asked for the dump
	Frames  []RefFrame
	// End is why the trace ends, in the words of the source: gdb's stop reason. "" if it does not tell.
	End string
	// Truncated: the source says that there are more frames than it shows.
	Truncated bool
	Line      int // where the thread begins in the reference's text, 1-based
}

// RefFrame is a frame, or an inlined call, which comes in front of the frame it was inlined into.
type RefFrame struct {
	Level  int // as the source numbers it
	PC     uint64
	PCKind PCKind
	HasPC  bool
	SP     uint64
	HasSP  bool
	CFA    uint64 // stack pointer of the caller, only tables tell it
	HasCFA bool

	Module   string // without directories, "" if unknown
	Function string // as spelled by the source, "" if unknown
	File     string // as spelled by the source, "" if unknown
	SrcLine  int    // line in File, 0 if unknown

	// Offsets of the frame's address, which is of PCKind OffsetKind, from the start of the module, the function, and the
	// code of the source line.
	ModuleOffset, FunctionOffset, LineOffset          uint64
	HasModuleOffset, HasFunctionOffset, HasLineOffset bool
	OffsetKind                                        PCKind

	Trust    string // one of the names of TrustName, "" if unknown
	Inline   bool   // an inlined call
	TailCall bool   // made up by a debugger for a function that ended in a jump
	Signal   bool   // a signal trampoline
	// Registers that the source gives, in its order.
	Registers []RefRegister
	Line      int // where the frame stands in the reference's text, 1-based
}

// RefRegister is a register and its value. The name is the source's, without a leading $.
type RefRegister struct {
	Name  string
	Value uint64
}

// Limits of what is read. They lie far beyond what any tool writes.
const (
	maxThreads   = 1 << 16
	maxRefFrames = 1 << 21 // of all threads
	maxLineBytes = 1 << 20
)

// ErrNotReference is the error for data that is in none of the formats.
var ErrNotReference = errors.New("expected a stack trace: the output of minidump_stackwalk (text, -m or JSON), of gdb's " +
	"thread apply all bt, or a table with the columns thread, frame, pc, sp, function, file, line")

// SyntaxError is an error in a reference.
type SyntaxError struct {
	Line int // 1-based
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

func syntaxError(line int, format string, args ...any) error {
	return &SyntaxError{line, fmt.Sprintf(format, args...)}
}

// ParseReference reads a trace, telling its format by content. The text must be UTF-8 or ASCII; line ends may be LF
// or CRLF.
func ParseReference(data []byte) (*Reference, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var (
		r   *Reference
		err error
	)
	switch detect(data) {
	case FormatJSON:
		r, err = parseJSON(data)
	case FormatMachine:
		r, err = parseMachine(data)
	case FormatText:
		r, err = parseText(data)
	case FormatGDB:
		r, err = parseGDB(data)
	case FormatTSV:
		r, err = parseTSV(data)
	default:
		return nil, ErrNotReference
	}
	if err != nil {
		return nil, err
	}
	if len(r.Threads) == 0 {
		return nil, fmt.Errorf("the reference (%s) has no thread", r.Format)
	}
	return r, nil
}

// detectLines is how many lines are looked at to tell formats apart: gdb may have much to say before its first frame.
const detectLines = 1 << 16

func detect(data []byte) Format {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) > 0 && trimmed[0] == '{' {
		return FormatJSON
	}
	l := newLines(data)
	for n := 0; n < detectLines && l.next(); n++ {
		switch line := l.text; {
		case isMachineLine(line):
			return FormatMachine
		case isTSVLine(line):
			return FormatTSV
		case isGDBLine(line):
			return FormatGDB
		case isTextLine(line):
			return FormatText
		}
	}
	return ""
}

// lines goes through text line by line without copying.
type lines struct {
	rest   []byte
	text   string // without the line end
	number int    // 1-based
}

func newLines(data []byte) *lines { return &lines{rest: data} }

func (l *lines) next() bool {
	if len(l.rest) == 0 {
		return false
	}
	line := l.rest
	if i := bytes.IndexByte(l.rest, '\n'); i >= 0 {
		line, l.rest = l.rest[:i], l.rest[i+1:]
	} else {
		l.rest = nil
	}
	l.number++
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxLineBytes {
		line = line[:maxLineBytes]
	}
	l.text = string(line)
	if !utf8.ValidString(l.text) {
		l.text = string(bytes.ToValidUTF8(line, []byte("\uFFFD")))
	}
	return true
}

// peek returns the next line without going there.
func (l *lines) peek() (string, bool) {
	save := *l
	defer func() { *l = save }()
	if !l.next() {
		return "", false
	}
	return l.text, true
}

// builder collects threads and frames within the limits.
type builder struct {
	ref    *Reference
	frames int
}

func newBuilder(f Format) *builder { return &builder{ref: &Reference{Format: f}} }

// thread begins a thread.
func (b *builder) thread(t RefThread) error {
	if len(b.ref.Threads) >= maxThreads {
		return syntaxError(t.Line, "more than %d threads", maxThreads)
	}
	b.ref.Threads = append(b.ref.Threads, t)
	return nil
}

// current is the thread that frames are added to, nil before the first.
func (b *builder) current() *RefThread {
	if n := len(b.ref.Threads); n > 0 {
		return &b.ref.Threads[n-1]
	}
	return nil
}

// frame adds a frame to a thread.
func (b *builder) frame(t *RefThread, f RefFrame) error {
	if b.frames++; b.frames > maxRefFrames {
		return syntaxError(f.Line, "more than %d frames", maxRefFrames)
	}
	t.Frames = append(t.Frames, f)
	return nil
}
