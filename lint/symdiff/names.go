package symdiff

import "bytes"

// A compiler's name for a function has parts that another compiler, or another dumper, spells otherwise or leaves out:
// blanks, the parameters, and what is appended to clones of a function. nameParts takes a name apart.
type nameParts struct {
	base   []byte // without parameters and clone suffixes
	params []byte // from the '(' on, with what qualifies the function: "(int) const"
	clone  []byte // ".isra.0.cold", "[clone .cold]"
}

func splitName(name []byte) (p nameParts) {
	rest := name
	if i := bytes.Index(rest, []byte(" [clone ")); i > 0 {
		rest, p.clone = rest[:i], rest[i:]
	} else if i := cloneStart(rest); i > 0 {
		rest, p.clone = rest[:i], rest[i:]
	}
	p.base = rest
	if i := bytes.LastIndexByte(rest, '('); i <= 0 {
		return p
	}
	if i := paramsStart(rest); i > 0 {
		p.base, p.params = rest[:i], rest[i:]
	}
	return p
}

var cloneWords = [][]byte{
	[]byte(".isra"), []byte(".part"), []byte(".constprop"), []byte(".cold"), []byte(".llvm"), []byte(".lto_priv"),
	[]byte(".localalias"), []byte(".clone"), []byte(".ipa_ra"), []byte(".simdclone"), []byte(".resume"), []byte(".destroy"),
	[]byte(".cleanup"), []byte(".__uniq"), []byte(".str"), []byte(".hot"), []byte(".unlikely"),
}

// cloneStart returns where the suffixes of a clone begin, 0 for none.
func cloneStart(name []byte) int {
	for i := 1; i < len(name); i++ {
		if name[i] != '.' {
			continue
		}
		for _, w := range cloneWords {
			if bytes.HasPrefix(name[i:], w) {
				after := name[i+len(w):]
				if len(after) == 0 || after[0] == '.' || after[0] == ' ' {
					return i
				}
			}
		}
	}
	return 0
}

// paramsStart returns where the last parameter list outside of template arguments begins, 0 for none. "operator()" and
// "(anonymous namespace)" are no parameter lists.
func paramsStart(name []byte) int {
	depth, angle, start := 0, 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			if !afterOperator(name, i) {
				angle++
			}
		case '>':
			if i > 0 && name[i-1] != '-' && angle > 0 && !afterOperator(name, i) {
				angle--
			}
		case '{':
			depth++
		case '}':
			if depth > 0 {
				depth--
			}
		case '(':
			if depth == 0 && angle == 0 && i > 0 && !bytes.HasPrefix(name[i:], []byte("(anonymous ")) &&
				!(bytes.HasPrefix(name[i:], []byte("()")) && bytes.HasSuffix(name[:i], []byte("operator"))) {
				start = i
			}
			depth++
		case ')':
			if depth > 0 {
				depth--
			}
		case ':':
			if depth == 0 && angle == 0 && i > 0 && name[i-1] == ':' {
				start = 0 // f(int)::local: the parameters are those of the function around it
			}
		}
	}
	return start
}

func afterOperator(name []byte, i int) bool {
	before := bytes.TrimRight(name[:i], "<>=-")
	return bytes.HasSuffix(before, []byte("operator"))
}

// The ways to make names of different producers alike, from the most exact on.
const (
	keyClone  = iota // blanks and the numbers of clones do not count
	keyPlain         // nor do parameters
	keySource        // nor what was done to a clone, but for parts of the code that were split off
	keyTail          // nor the scopes around the name
	keyCount
)

// nameKeys returns the hashes of a name's likeness at every level, 0 where it has none.
func nameKeys(name []byte, buf *[]byte) (keys [keyCount]uint64) {
	p := splitName(name)
	key := func(level int, base, params []byte) uint64 {
		b := appendDense((*buf)[:0], base)
		b = appendDense(b, params)
		if len(p.clone) > 0 {
			for _, w := range cloneWords {
				if bytes.Contains(p.clone, w) && (level < keySource || string(w) == ".cold" || string(w) == ".part") {
					b = append(append(b, 0), w...)
				}
			}
		}
		*buf = b
		if len(b) == 0 {
			return 0
		}
		return textHash(b) | 1
	}
	// Where a level leaves nothing more out, its key is the one before.
	keys[keyClone] = key(keyClone, p.base, p.params)
	keys[keyPlain] = keys[keyClone]
	if len(p.params) > 0 {
		keys[keyPlain] = key(keyPlain, p.base, nil)
	}
	keys[keySource] = keys[keyPlain]
	if len(p.clone) > 0 {
		keys[keySource] = key(keySource, p.base, nil)
	}
	keys[keyTail] = keys[keySource]
	if i := scopeEnd(p.base); i > 0 {
		keys[keyTail] = key(keyTail, p.base[i:], nil)
	}
	return keys
}

// scopeEnd returns where the last part of a qualified name begins.
func scopeEnd(name []byte) int {
	angle := 0
	for i := len(name) - 1; i > 0; i-- {
		switch name[i] {
		case '>':
			angle++
		case '<':
			angle--
		case ')', '}':
			return 0 // too intricate to be told by its tail
		case ':':
			if angle <= 0 && name[i-1] == ':' {
				return i + 1
			}
		}
	}
	return 0
}

// appendDense appends text without blanks.
func appendDense(b, text []byte) []byte {
	for _, c := range text {
		if c != ' ' && c != '\t' {
			b = append(b, c)
		}
	}
	return b
}
