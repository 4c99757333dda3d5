package minidump

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of Google's reader (minidump.cc). Those on threads and memory regions are lifted by its command-line tools
// and not applied here.
const (
	maxStreams       = 128
	maxModules       = 2048
	maxStringUnits   = 1024  // UTF-16 code units, and bytes of UTF-8 strings
	maxCodeViewBytes = 32768 // also of miscellaneous debug records
	maxRegionBytes   = 64 << 20
)

// FormatError says what is wrong with a dump, and where.
type FormatError struct {
	Stream StreamType // the stream that was read, StreamUnused for the header and the directory
	Offset int64      // in the file, in bytes
	Msg    string
}

func (e *FormatError) Error() string {
	if e.Stream == StreamUnused {
		return fmt.Sprintf("minidump: at offset 0x%x: %s", e.Offset, e.Msg)
	}
	return fmt.Sprintf("minidump: %s at offset 0x%x: %s", e.Stream, e.Offset, e.Msg)
}

// reader gives bounded views of the file's bytes.
type reader struct {
	data    []byte
	order   binary.ByteOrder
	lenient bool
	// sticky: as in Google's reader, once something lay beyond the end of the file nothing more can be read. That is
	// how a C++ stream whose state nobody resets behaves, and why a dump that was cut may lose what is left of it.
	sticky, failed bool
	// text is how many more bytes of strings may be made: records that all refer to one long string must not turn a
	// small file into gigabytes.
	text int
}

// textBudget is far above what any real dump holds.
func textBudget(data []byte) int { return 8<<20 + 4*len(data) }

func (r *reader) spend(n int) bool {
	r.text -= n
	return r.text >= 0
}

// view returns n bytes at an offset; it fails if the file does not hold them all.
func (r *reader) view(off, n uint64) ([]byte, bool) {
	if r.failed {
		return nil, false
	}
	if off > uint64(len(r.data)) || n > uint64(len(r.data))-off {
		r.failed = r.sticky && n > 0
		return nil, false
	}
	return r.data[off : off+n : off+n], true
}

// pastEnd says why view failed.
func (r *reader) pastEnd(what string) string {
	if r.failed && r.sticky {
		return what + " cannot be read, because it or something read before runs past the end of the file"
	}
	return what + " runs past the end of the file"
}

// cursor reads fields one after the other from a view whose size has been checked.
type cursor struct {
	b     []byte
	order binary.ByteOrder
}

func (c *cursor) take(n int) []byte {
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u8() uint8   { return c.take(1)[0] }
func (c *cursor) u16() uint16 { return c.order.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return c.order.Uint32(c.take(4)) }
func (c *cursor) u64() uint64 { return c.order.Uint64(c.take(8)) }

func (c *cursor) location() Location { return Location{Size: c.u32(), RVA: c.u32()} }

func (c *cursor) guid() GUID {
	g := GUID{Data1: c.u32(), Data2: c.u16(), Data3: c.u16()}
	copy(g.Data4[:], c.take(8))
	return g
}

// stringAt reads an MDString: the length in bytes, then UTF-16 without a terminator.
func (r *reader) stringAt(off uint64) (string, string) {
	b, ok := r.view(off, 4)
	if !ok {
		return "", r.pastEnd("string")
	}
	n := r.order.Uint32(b)
	if n%2 != 0 {
		return "", fmt.Sprintf("string has the odd length %d", n)
	}
	if n/2 > maxStringUnits {
		return "", fmt.Sprintf("string has %d code units, at most %d are read", n/2, maxStringUnits)
	}
	b, ok = r.view(off+4, uint64(n))
	if !ok {
		return "", r.pastEnd(fmt.Sprintf("string of %d bytes", n))
	}
	if !r.spend(len(b)) {
		return "", "texts add up to more than this file can have"
	}
	s, ok := r.utf16(b)
	if !ok {
		return "", "string has surrogates that Google's reader refuses"
	}
	s, _, _ = strings.Cut(s, "\x00") // as far as reports show it
	return s, ""
}

// utf8At reads a string of Crashpad: the length in bytes, then UTF-8.
func (r *reader) utf8At(off uint64) (string, string) {
	b, ok := r.view(off, 4)
	if !ok {
		return "", "string lies outside the file"
	}
	n := r.order.Uint32(b)
	if n > maxStringUnits {
		return "", fmt.Sprintf("string has %d bytes, at most %d are read", n, maxStringUnits)
	}
	if b, ok = r.view(off+4, uint64(n)); !ok {
		return "", fmt.Sprintf("string of %d bytes runs past the end of the file", n)
	}
	if !r.spend(len(b)) {
		return "", "texts add up to more than this file can have"
	}
	return string(b), ""
}

// utf16 converts UTF-16 to UTF-8 the way Google's reader does: of the low surrogates it knows only 0xdc00–0xdcff, and
// takes the others for ordinary characters (minidump.cc, UTF16ToUTF8). A pair with such a low surrogate makes the
// whole string unreadable; so does, nearly always, any pair in a big-endian file, since the bytes of its second half
// are not exchanged. Leniently, surrogates are read as Unicode has them.
func (r *reader) utf16(b []byte) (string, bool) {
	out := make([]byte, 0, len(b)/2)
	for i := 0; i+2 <= len(b); i += 2 {
		c := rune(r.order.Uint16(b[i:]))
		switch {
		case c >= 0xd800 && c <= 0xdbff:
			var low rune
			last := rune(0xdcff)
			if i+4 <= len(b) && r.lenient {
				low, last = rune(r.order.Uint16(b[i+2:])), 0xdfff
			} else if i+4 <= len(b) {
				low = rune(binary.LittleEndian.Uint16(b[i+2:]))
			}
			if low < 0xdc00 || low > last {
				if !r.lenient {
					return "", false
				}
				c = utf8.RuneError
				break
			}
			c = 0x10000 + (c-0xd800)<<10 + low&0x3ff
			i += 2
		case c >= 0xdc00 && c <= 0xdfff:
			if r.lenient {
				c = utf8.RuneError
				break
			}
			if c <= 0xdcff {
				return "", false
			}
			// Three bytes as for any character of this size, though no valid UTF-8.
			out = append(out, 0xe0|byte(c>>12), 0x80|byte(c>>6&0x3f), 0x80|byte(c&0x3f))
			continue
		}
		out = utf8.AppendRune(out, c)
	}
	return string(out), true
}

// utf16z converts a fixed field of UTF-16 up to its first zero. What cannot be converted is empty.
func (r *reader) utf16z(b []byte) string {
	for i := 0; i+2 <= len(b); i += 2 {
		if b[i] == 0 && b[i+1] == 0 {
			b = b[:i]
			break
		}
	}
	if !r.spend(len(b)) {
		return ""
	}
	s, _ := r.utf16(b)
	return s
}
