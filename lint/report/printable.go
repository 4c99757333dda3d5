package report

import (
	"fmt"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/symlint/symlint/lint"
)

// printable returns s with everything escaped that a terminal would act upon or not show: control bytes, format
// characters such as the bidirectional overrides, and bytes that are no UTF-8. What file content says must not
// become what the terminal does.
func printable(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			dst := append(make([]byte, 0, len(s)+8), s[:i]...)
			for n := 0; i < len(s); i += n {
				dst, n = appendPrintable(dst, s[i:])
			}
			return string(dst)
		}
	}
	return s
}

// appendPrintable appends the first rune of s and returns how many bytes of s it took.
func appendPrintable(dst []byte, s string) ([]byte, int) {
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		return fmt.Appendf(dst, `\x%02x`, s[0]), 1
	case unicode.IsPrint(r):
		return append(dst, s[:n]...), n
	case r == '\t':
		return append(dst, `\t`...), n
	case r == '\n':
		return append(dst, `\n`...), n
	case r == '\r':
		return append(dst, `\r`...), n
	case r < utf8.RuneSelf:
		return fmt.Appendf(dst, `\x%02x`, r), n
	case r <= 0xffff:
		return fmt.Appendf(dst, `\u%04x`, r), n
	}
	return fmt.Appendf(dst, `\U%08x`, r), n
}

// place is a location as compilers write it: path:line:column, or path(.section+0x1c4) in a binary.
func place(path string, l *lint.Location) string {
	path = printable(path)
	switch {
	case l.Section != "":
		return path + "(" + printable(l.Section) + "+0x" + strconv.FormatInt(l.Offset, 16) + ")"
	case l.Line == 0:
		return path
	case l.Column == 0:
		return path + ":" + strconv.Itoa(l.Line)
	}
	return path + ":" + strconv.Itoa(l.Line) + ":" + strconv.Itoa(l.Column)
}
