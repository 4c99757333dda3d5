package report

import (
	"strings"
	"unicode/utf8"

	"github.com/symlint/symlint/lint"
)

// ellipsis stands for the part of a long record that is not quoted.
const ellipsis = "…"

// quoted is a record in printable form.
type quoted struct {
	text     string
	from, to int // the culprit in printed runes, 0-based, to exclusive
}

// quote makes a finding's record printable and finds the culprit in it.
func quote(f *lint.Finding) quoted {
	text := string(f.Snippet)
	from := min(max(f.SnippetColumn-1, 0), len(text))
	to := from + max(f.EndColumn-f.Column, 0)
	cutLeft, cutRight := f.Column > f.SnippetColumn, cutRight(f)
	if cutLeft { // perhaps within a character
		for n := 0; n < utf8.UTFMax-1 && n < from && !utf8.RuneStart(text[0]); n++ {
			text, from, to = text[1:], from-1, to-1
		}
	}
	if cutRight {
		text = trimPartialRune(text)
	}

	q := quoted{from: -1}
	dst := make([]byte, 0, len(text)+2*len(ellipsis))
	if cutLeft {
		dst = append(dst, ellipsis...)
	}
	col := utf8.RuneCount(dst)
	for i, n := 0, 0; i < len(text); i += n {
		start := len(dst)
		dst, n = appendPrintable(dst, text[i:])
		if from < i+n && q.from < 0 {
			q.from = col
		}
		col += utf8.RuneCount(dst[start:])
		if i < to {
			q.to = col
		}
	}
	if q.from < 0 {
		q.from = col
	}
	if cutRight {
		dst = append(dst, ellipsis...)
	}
	q.text = string(dst)
	return q
}

// cutRight reports whether the record goes on behind the snippet: it is as long as snippets get, and not what is
// left when the culprit is near the record's end.
func cutRight(f *lint.Finding) bool {
	return f.SnippetColumn-1+f.EndColumn-f.Column > len(f.Snippet) ||
		len(f.Snippet) >= lint.MaxSnippet && f.SnippetColumn-1 <= lint.MaxSnippet/3
}

// trimPartialRune removes the first bytes of a character whose last ones are missing.
func trimPartialRune(s string) string {
	for i := len(s) - 1; i >= 0 && i > len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

// caret is the line that goes under the quoted record.
func (q *quoted) caret() (blanks, mark string) {
	return strings.Repeat(" ", q.from), "^" + strings.Repeat("~", max(q.to-q.from-1, 0))
}

// codePoints converts the finding's columns from bytes to Unicode code points, an invalid byte counting as one.
// exact is false where a part of the record that is not in the snippet had to be taken for ASCII.
func codePoints(f *lint.Finding) (start, end int, exact bool) {
	size := max(f.EndColumn-f.Column, 0)
	if f.SnippetColumn == 0 {
		return f.Column, f.Column + size, false
	}
	at := f.SnippetColumn - 1
	from := min(at, len(f.Snippet))
	to := min(from+size, len(f.Snippet))
	start = f.Column - at + utf8.RuneCount(f.Snippet[:from]) + (at - from)
	end = start + utf8.RuneCount(f.Snippet[from:to]) + size - (to - from)
	return start, end, f.Column == f.SnippetColumn && to-from == size
}
