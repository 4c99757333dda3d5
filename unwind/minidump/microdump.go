package minidump

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Markers and keys of a microdump (src/processor/microdump.cc). The colon and the blank before a key's letter are the
// end of a log's tag, so anything may stand before them.
var (
	microTag   = []byte("google-breakpad")
	microBegin = []byte("-----BEGIN BREAKPAD MICRODUMP-----")
	microEnd   = []byte("-----END BREAKPAD MICRODUMP-----")

	keyOS         = []byte(": O ")
	keyStack      = []byte(": S ")
	keyStackStart = []byte(": S 0 ")
	keyCPU        = []byte(": C ")
	keyReason     = []byte(": R ")
	keyGPU        = []byte(": G ")
	keyModule     = []byte(": M ")
	keyVersion    = []byte(": V ")
	keyProcess    = []byte(": P ")
)

// Microdump is a dump of one thread as text, as Android's log holds it.
type Microdump struct {
	OS, OSShort string // "Linux" and "linux", "Android" and "android", or ""
	OSVersion   string
	CPU         string // as in the text: arm, arm64, x86, mips, mips64, or one that is not supported
	CPUCount    int    // 0 to 255
	HWArch      string // of the machine, which may be another than the process's
	Version     string // product and version
	Process     string // type of the process

	// HasGPU: the texts below are known. They may be empty all the same.
	HasGPU                          bool
	GLVersion, GLVendor, GLRenderer string

	HasReason bool // there is a crash reason line; the dump counts as one of a crash without it, too
	Signal    string
	Reason    string
	Address   uint64

	Context    *Context // nil if there is none of a supported CPU: the dump cannot be processed then
	ContextErr error    // why a context was not used

	// Stack is the memory of the one thread. Its Data is not a view: the text has it in hexadecimal.
	Stack    Region
	StackErr error // chunks that do not follow one another; those after the first such are left out
	// SP, StackStart and StackSize are what the stack's header says. Nothing depends on them.
	SP, StackStart, StackSize uint64

	Modules []MicroModule // in file order
}

// MicroModule is a module of a microdump. Name is both code and debug file, ID both identifiers.
type MicroModule struct {
	Base, Offset, Size uint64 // Offset is that of the mapping in its file. Size may be 0, and the range may wrap
	ID, Name           string
}

// IsMicrodump reports whether data is a text that has a microdump in it.
func IsMicrodump(data []byte) bool {
	return !IsMinidump(data) && bytes.Contains(data, microBegin)
}

// ParseMicrodump reads the first microdump in a text as Google's microdump_stackwalk does. Lines without the tag
// google-breakpad and keys it does not know are skipped, and the end marker may be missing. It fails only where there
// is no microdump at all: see ContextErr and StackErr for the rest.
func ParseMicrodump(data []byte) (*Microdump, error) {
	m := &Microdump{}
	inside, seen := false, false
	var line []byte
	for at, next := 0, 0; at < len(data); at = next {
		if n := bytes.IndexByte(data[at:], '\n'); n < 0 {
			line, next = data[at:], len(data)
		} else {
			line, next = data[at:at+n], at+n+1
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		switch {
		case !bytes.Contains(line, microTag):
		case bytes.Contains(line, microBegin):
			inside, seen = true, true
		case !inside:
		case bytes.Contains(line, microEnd):
			m.finish()
			return m, nil
		default:
			m.line(line, int64(at))
		}
	}
	if !seen {
		return nil, &FormatError{Msg: "no line with google-breakpad and " + string(microBegin)}
	}
	m.finish()
	return m, nil
}

// after returns what follows a key in a line.
func after(line, key []byte) ([]byte, bool) {
	_, rest, ok := bytes.Cut(line, key)
	return rest, ok
}

// line takes a line in. Keys are looked for anywhere in it, in this order.
func (m *Microdump) line(line []byte, at int64) {
	if rest, ok := after(line, keyOS); ok {
		m.systemLine(rest)
	} else if rest, ok := after(line, keyStack); ok {
		if head, ok := after(line, keyStackStart); ok {
			m.SP, m.StackStart, m.StackSize = hexNumber(token(&head)), hexNumber(token(&head)), hexNumber(token(&head))
			return
		}
		m.stackLine(rest, at)
	} else if rest, ok := after(line, keyCPU); ok {
		m.contextLine(rest, at)
	} else if rest, ok := after(line, keyReason); ok {
		m.HasReason = true
		m.Signal, m.Reason = string(token(&rest)), string(token(&rest))
		m.Address = hexNumber(token(&rest))
	} else if rest, ok := after(line, keyGPU); ok {
		m.gpuLine(rest)
	} else if rest, ok := after(line, keyModule); ok {
		m.Modules = append(m.Modules, MicroModule{
			hexNumber(token(&rest)), hexNumber(token(&rest)), hexNumber(token(&rest)),
			string(token(&rest)), string(token(&rest)),
		})
	} else if rest, ok := after(line, keyVersion); ok {
		m.Version = string(rest)
	} else if rest, ok := after(line, keyProcess); ok {
		m.Process = string(rest)
	}
}

func (m *Microdump) systemLine(rest []byte) {
	id := string(token(&rest))
	m.CPU = string(token(&rest))
	m.CPUCount = int(uint8(hexNumber(token(&rest))))
	m.HWArch = string(token(&rest))
	if len(rest) > 0 {
		rest = rest[1:] // the blank
	}
	m.OSVersion = string(rest)
	switch id {
	case "L":
		m.OS, m.OSShort = "Linux", "linux"
	case "A":
		m.OS, m.OSShort = "Android", "android"
	}
}

func (m *Microdump) stackLine(rest []byte, at int64) {
	start := hexNumber(token(&rest))
	chunk := token(&rest)
	if m.StackErr != nil {
		return
	}
	if m.Stack.Base == 0 {
		m.Stack.Base = start
	} else if want := m.Stack.Base + uint64(len(m.Stack.Data)); start != want {
		m.StackErr = &FormatError{Offset: at, Msg: fmt.Sprintf("stack goes on at 0x%x, want 0x%x", start, want)}
		return
	}
	m.Stack.Data = appendHex(m.Stack.Data, chunk)
}

func (m *Microdump) contextLine(rest []byte, at int64) {
	fail := func(format string, args ...any) {
		m.ContextErr = &FormatError{Offset: at, Msg: fmt.Sprintf(format, args...)}
	}
	flag := map[string]uint32{
		"arm": ContextARM, "arm64": ContextARM64, "x86": ContextX86, "mips": ContextMIPS, "mips64": ContextMIPS64,
	}[m.CPU]
	if flag == 0 {
		fail("unsupported architecture %.40q", m.CPU)
		return
	}
	raw := appendHex(make([]byte, 0, len(rest)/2+1), rest)
	l := layouts[flag]
	if old := layouts[ContextARM64Old]; flag == ContextARM64 && len(raw) == old.size {
		l = old
	}
	if len(raw) != l.size {
		fail("context of %s has %d bytes, want %d", m.CPU, len(raw), l.size)
		return
	}
	c := &Context{CPU: l.cpu, Flags: flag, Raw: raw, Order: binary.LittleEndian}
	l.decode(&c.Registers, raw, c.Order)
	m.Context = c
}

func (m *Microdump) gpuLine(rest []byte) {
	if string(rest) == "UNKNOWN" {
		return
	}
	m.HasGPU = true
	for _, to := range []*string{&m.GLVersion, &m.GLVendor, &m.GLRenderer} {
		field, more, _ := bytes.Cut(rest, []byte("|"))
		*to, rest = string(field), more
	}
}

// finish bounds the stack: one that would wrap holds nothing.
func (m *Microdump) finish() {
	if uint64(len(m.Stack.Data)) > math.MaxUint64-m.Stack.Base {
		m.StackErr = &FormatError{Msg: fmt.Sprintf("stack of %d bytes at 0x%x wraps", len(m.Stack.Data), m.Stack.Base)}
		m.Stack.Data = nil
	}
	m.Stack.Size = uint64(len(m.Stack.Data))
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// token cuts the next word off.
func token(s *[]byte) []byte {
	b := *s
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	n := 0
	for n < len(b) && !isBlank(b[n]) {
		n++
	}
	*s = b[n:]
	return b[:n]
}

// hexNumber reads a number as C++ streams do: what follows the digits is ignored, no digits are 0, and a number that
// is too large is the largest.
func hexNumber(b []byte) uint64 {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '0' && b[1]|0x20 == 'x' {
		b = b[2:]
	}
	var v uint64
	for _, c := range b {
		d, ok := hexDigit(c)
		if !ok {
			break
		}
		if v>>60 != 0 {
			return math.MaxUint64
		}
		v = v<<4 | uint64(d)
	}
	if negative {
		return -v
	}
	return v
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// appendHex adds bytes of two digits each. Whatever is no number is 0, as in hexNumber.
func appendHex(out, text []byte) []byte {
	for ; len(text) > 0; text = text[min(2, len(text)):] {
		if len(text) > 1 {
			hi, ok1 := hexDigit(text[0])
			lo, ok2 := hexDigit(text[1])
			if ok1 && ok2 {
				out = append(out, hi<<4|lo)
				continue
			}
		}
		out = append(out, byte(hexNumber(text[:min(2, len(text))])))
	}
	return out
}
