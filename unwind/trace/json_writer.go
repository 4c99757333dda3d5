package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// jsonWriter writes JSON token by token: nothing of the document is kept. It trusts its caller to open and close what
// must be, and keeps the first error for flush.
type jsonWriter struct {
	w      *bufio.Writer
	pretty bool
	depth  int
	filled bool // the object or array that is open has members
	member bool // a key was written, and its value is next
	digits int  // of addresses
	buf    []byte
}

func newJSONWriter(out io.Writer, pretty bool) *jsonWriter {
	return &jsonWriter{w: bufio.NewWriter(out), pretty: pretty, digits: 16}
}

// next puts in front of a value or key what separates it from the one before.
func (j *jsonWriter) next() {
	if j.member {
		j.member = false
		return
	}
	if j.filled {
		j.w.WriteByte(',')
	}
	if j.depth > 0 {
		j.newline()
	}
	j.filled = true
}

func (j *jsonWriter) newline() {
	if !j.pretty {
		return
	}
	j.w.WriteByte('\n')
	for range j.depth {
		j.w.WriteString("  ")
	}
}

// open begins an object or array, close ends it.
func (j *jsonWriter) open(bracket byte) {
	j.next()
	j.w.WriteByte(bracket)
	j.depth++
	j.filled = false
}

func (j *jsonWriter) close(bracket byte) {
	j.depth--
	if j.filled {
		j.newline()
	}
	j.w.WriteByte(bracket)
	j.filled = true
}

func (j *jsonWriter) key(name string) *jsonWriter {
	j.next()
	j.quote(name)
	j.w.WriteByte(':')
	if j.pretty {
		j.w.WriteByte(' ')
	}
	j.member = true
	return j
}

func (j *jsonWriter) null() {
	j.next()
	j.w.WriteString("null")
}

func (j *jsonWriter) bool(v bool) {
	j.next()
	j.w.WriteString(strconv.FormatBool(v))
}

func (j *jsonWriter) number(v uint64) {
	j.next()
	j.buf = strconv.AppendUint(j.buf[:0], v, 10)
	j.w.Write(j.buf)
}

func (j *jsonWriter) string(s string) {
	j.next()
	j.quote(s)
}

// text writes a string, or null for none.
func (j *jsonWriter) text(s string) {
	if s == "" {
		j.null()
		return
	}
	j.string(s)
}

// address writes a number of the width of the process's pointers.
func (j *jsonWriter) address(v uint64) { j.hex(v, j.digits) }

func (j *jsonWriter) hex(v uint64, digits int) {
	j.next()
	fmt.Fprintf(j.w, `"0x%0*x"`, digits, v)
}

// raw writes text that is JSON.
func (j *jsonWriter) raw(b []byte) {
	j.next()
	j.w.Write(b)
}

const hexDigits = "0123456789abcdef"

// quote writes a string with no more escapes than JSON demands. Bytes that are not UTF-8 become U+FFFD.
func (j *jsonWriter) quote(s string) {
	w := j.w
	w.WriteByte('"')
	plain := 0 // s[plain:i] needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				w.WriteString(s[plain:i])
				w.WriteString("\uFFFD")
				plain = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		w.WriteString(s[plain:i])
		w.WriteByte('\\')
		switch c {
		case '"', '\\':
			w.WriteByte(c)
		case '\b':
			w.WriteByte('b')
		case '\f':
			w.WriteByte('f')
		case '\n':
			w.WriteByte('n')
		case '\r':
			w.WriteByte('r')
		case '\t':
			w.WriteByte('t')
		default:
			w.WriteString("u00")
			w.WriteByte(hexDigits[c>>4])
			w.WriteByte(hexDigits[c&15])
		}
		i++
		plain = i
	}
	w.WriteString(s[plain:])
	w.WriteByte('"')
}

func (j *jsonWriter) flush() error {
	j.w.WriteByte('\n')
	return j.w.Flush()
}
