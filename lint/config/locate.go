package config

import (
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// position is a place in the file, 1-based, the column in bytes.
type position struct{ line, column int }

// maxDepth bounds how deep keys and values nest: the configuration needs three levels, and the decoder's time grows
// with the square of the depth.
const maxDepth = 16

// Keys are known by their path from the root: child and element extend one.

func child(key, name string) string { return key + "\x00" + name }

func element(key string, i int) string { return key + "\x01" + strconv.Itoa(i) }

// last is the name at the end of a path, without list indices.
func last(key string) string {
	name := key[strings.LastIndexByte(key, 0)+1:]
	name, _, _ = strings.Cut(name, "\x01")
	return name
}

// locate finds where the keys and list elements of a TOML document stand, which the decoder does not tell. It
// follows valid documents exactly and ends somehow on others; those, the decoder refuses. tooDeep is where a document
// nests deeper than maxDepth, nil if nowhere.
func locate(src string) (at map[string]position, tooDeep *position) {
	src = strings.TrimPrefix(src, "\ufeff")
	l := &locator{src: src, line: 1, at: make(map[string]position), tables: make(map[string]int)}
	prefix := ""
	for l.skip(" \t\r\n") {
		switch {
		case strings.HasPrefix(l.rest(), "[["):
			l.advance(2)
			prefix = l.header(true)
		case l.rest()[0] == '[':
			l.advance(1)
			prefix = l.header(false)
		default:
			l.pair(prefix, 0)
		}
		if l.deep {
			p := l.here()
			return nil, &p
		}
	}
	return l.at, nil
}

type locator struct {
	src       string
	pos       int
	line      int
	lineStart int
	at        map[string]position
	tables    map[string]int // arrays of tables: path to how many there are
	deep      bool
}

func (l *locator) rest() string { return l.src[l.pos:] }

// advance passes n bytes.
func (l *locator) advance(n int) {
	n = min(n, len(l.src)-l.pos)
	passed := l.src[l.pos : l.pos+n]
	if i := strings.LastIndexByte(passed, '\n'); i >= 0 {
		l.line += strings.Count(passed, "\n")
		l.lineStart = l.pos + i + 1
	}
	l.pos += n
}

// skip passes blanks and comments and reports whether anything is left.
func (l *locator) skip(blanks string) bool {
	for {
		l.advance(len(l.rest()) - len(strings.TrimLeft(l.rest(), blanks)))
		if l.pos == len(l.src) {
			return false
		}
		if l.src[l.pos] != '#' || !strings.Contains(blanks, "\n") {
			return true
		}
		comment, _, _ := strings.Cut(l.rest(), "\n")
		l.advance(len(comment))
	}
}

func (l *locator) here() position { return position{l.line, l.pos - l.lineStart + 1} }

// mark notes where a path is first mentioned.
func (l *locator) mark(path string, p position) {
	if _, ok := l.at[path]; !ok {
		l.at[path] = p
	}
}

// header reads the name of a table behind its brackets and returns its path.
func (l *locator) header(array bool) string {
	path := l.key("", array)
	l.skip(" \t")
	for range 2 {
		if strings.HasPrefix(l.rest(), "]") {
			l.advance(1)
		}
	}
	return path
}

// key reads a dotted key and returns its path. The last part of an array's header begins a new element.
func (l *locator) key(path string, newElement bool) string {
	for depth := 0; ; depth++ {
		if l.deep = l.deep || depth >= maxDepth; l.deep {
			return path
		}
		l.skip(" \t")
		here := l.here()
		path = child(path, l.part())
		l.mark(path, here)
		l.skip(" \t")
		dot := strings.HasPrefix(l.rest(), ".")
		if n, isArray := l.tables[path]; !dot && newElement {
			l.tables[path] = n + 1
			path = element(path, n)
			l.mark(path, here)
		} else if isArray {
			path = element(path, n-1)
		}
		if !dot {
			return path
		}
		l.advance(1)
	}
}

// part reads one part of a key: bare, "basic" or 'literal'.
func (l *locator) part() string {
	rest := l.rest()
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		n := stringLength(rest)
		raw := rest[:n]
		l.advance(n)
		if raw[0] == '"' && strings.Contains(raw, `\`) {
			return unescape(raw)
		}
		return strings.TrimSuffix(raw[1:], raw[:1])
	}
	n := strings.IndexAny(rest, " \t\r\n.=[]{},#\"'")
	if n < 0 {
		n = len(rest)
	}
	l.advance(n)
	return rest[:n]
}

// unescape reads a basic string; the library knows its escapes.
func unescape(raw string) string {
	var doc struct{ K string }
	if _, err := toml.Decode("K = "+raw, &doc); err != nil {
		return raw
	}
	return doc.K
}

// pair reads key = value.
func (l *locator) pair(prefix string, depth int) {
	start := l.pos
	path := l.key(prefix, false)
	l.skip(" \t")
	if strings.HasPrefix(l.rest(), "=") {
		l.advance(1)
		l.skip(" \t")
		l.value(path, depth)
	}
	if l.pos == start { // no TOML; go on anyhow
		l.advance(1)
	}
}

func (l *locator) value(path string, depth int) {
	if l.deep = l.deep || depth >= maxDepth; l.deep || l.pos == len(l.src) {
		return
	}
	switch rest := l.rest(); rest[0] {
	case '"', '\'':
		l.advance(stringLength(rest))
	case '[':
		l.advance(1)
		for i := 0; l.more(']'); i++ {
			start := l.pos
			l.mark(element(path, i), l.here())
			l.value(element(path, i), depth+1)
			l.pass(start)
		}
	case '{':
		l.advance(1)
		for l.more('}') {
			start := l.pos
			l.pair(path, depth+1)
			l.pass(start)
		}
	default:
		n := strings.IndexAny(rest, ",]}#\r\n")
		if n < 0 {
			n = len(rest)
		}
		l.advance(n)
	}
}

// more goes to the next element of a list and passes its end.
func (l *locator) more(end byte) bool {
	if l.deep || !l.skip(" \t\r\n,") {
		return false
	}
	if l.src[l.pos] == end {
		l.advance(1)
		return false
	}
	return true
}

// pass makes sure that an element took something.
func (l *locator) pass(start int) {
	if l.pos == start {
		l.advance(1)
	}
}

// stringLength is the length of the string at the start of s, quotes included.
func stringLength(s string) int {
	quote := s[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s, triple) {
		for i := 3; i < len(s); i++ {
			if s[i] == '\\' && quote == `"` {
				i++
			} else if strings.HasPrefix(s[i:], triple) {
				for i < len(s) && s[i] == quote[0] { // the last three of a run close; two more may stand before them
					i++
				}
				return i
			}
		}
		return len(s)
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if quote == `"` {
				i++
			}
		case quote[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(s)
}
