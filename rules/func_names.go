package rules

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// tally counts records that share a cause and remembers the first of them.
type tally struct {
	count     int
	bytes     uint64
	off, line uint32
}

func (t *tally) add(r *symfile.Record, size uint64) {
	if t.count == 0 {
		t.off, t.line = uint32(r.Span.Off), uint32(r.Line)
	}
	t.count++
	t.bytes += size
}

// addRun adds records that have been counted elsewhere, the first of which may stand before all others.
func (t *tally) addRun(first recordPos, count int) {
	if t.count == 0 || first.line < t.line {
		t.off, t.line = first.off, first.line
	}
	t.count += count
}

// merge takes over the tally of the part of the file that follows.
func (t *tally) merge(later *tally) {
	if t.count == 0 {
		*t = *later
		return
	}
	t.count += later.count
	t.bytes += later.bytes
}

// placeholders are what producers write for a function without a name. The last one is the prefix of
// `<unknown in app.dll>`.
var placeholders = [...]string{
	"<name omitted>", "<unknown>", "<unnamed>", "<no name>", "unknown", "(null)", "??", "?", "-", `""`, unknownIn,
}

const unknownIn = "<unknown in "

// placeholderOf returns which placeholder a name is, -1 for a real name.
func placeholderOf(name []byte) int {
	switch name[0] { // Usable records have a name
	case '<', '(', '?', '-', '"', 'u': // nearly every real name is through here
	default:
		return -1
	}
	for i, s := range placeholders {
		if string(name) == s || s == unknownIn && bytes.HasPrefix(name, []byte(s)) {
			return i
		}
	}
	return -1
}

// isMangled reports whether a name is in the form that a C++, Rust or Swift compiler gives to the linker.
func isMangled(name []byte) bool {
	switch name[0] {
	case '_', '?', '$':
	default:
		return false
	}
	if name[0] == '?' {
		return bytes.Contains(name, []byte("@@"))
	}
	for len(name) > 0 && name[0] == '_' {
		name = name[1:]
	}
	if len(name) < 4 {
		return false
	}
	switch c := name[1]; name[0] {
	case 'Z':
		return c >= '0' && c <= '9' || bytes.IndexByte([]byte("NKLSTGUIZDr"), c) >= 0
	case 'R':
		return bytes.IndexByte([]byte("NCMXYIB"), c) >= 0
	case '$':
		return c == 's' || c == 'S'
	}
	return false
}

// isDemangled reports whether a name shows what only a demangler writes.
func isDemangled(name []byte) bool {
	if i := bytes.IndexByte(name, ':'); i >= 0 && i+1 < len(name) && name[i+1] == ':' {
		return true
	}
	return bytes.IndexByte(name, '(') > 0
}

// decoratedSize returns the bytes of parameters that a stdcall or fastcall name tells: the number behind the last `@`,
// for fastcall less what is passed in two registers.
func decoratedSize(name []byte) (size uint64, ok bool) {
	last := len(name) - 1
	if name[last] < '0' || name[last] > '9' || name[0] != '_' && name[0] != '@' {
		return 0, false
	}
	at := bytes.LastIndexByte(name, '@')
	if at <= 0 || bytes.IndexByte(name, '@') != at && name[0] == '_' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(name[at+1:]), 10, 16)
	if err != nil || n%4 != 0 {
		return 0, false
	}
	if name[0] == '@' {
		n -= min(n, 8)
	}
	return n, true
}

// funcName is the name of a FUNC or PUBLIC record for a finding's Function.
func funcName(p *lint.Pass, off uint32) string { return validText(symfile.RecordText(p.Data, off)) }

func validText(b []byte) string { return string(bytes.ToValidUTF8(shortText(b), []byte("\ufffd"))) }

// shortName cuts a name for a message: template instances run to kilobytes.
func shortName(name string) string {
	const most = 96
	if len(name) <= most {
		return name
	}
	cut := most
	for cut > 0 && name[cut]&0xc0 == 0x80 {
		cut--
	}
	return name[:cut] + "…"
}

// plural is "1 byte" or "17 bytes".
func plural[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
