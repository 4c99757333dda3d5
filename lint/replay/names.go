package replay

import (
	"slices"
	"strings"

	"github.com/symlint/symlint/unwind"
)

func baseName(path string) string { return unwind.BaseName(path) }

// sortRegisters puts names into an order that does not depend on that of a map.
func sortRegisters(names []string) { slices.Sort(names) }

// SameFunction reports whether two names are spellings of one function's name.
func SameFunction(a, b string) bool { return a == b || NormalizeFunction(a) == NormalizeFunction(b) }

// maxName bounds the names that are normalised; longer ones are compared as they are.
const maxName = 16 << 10

// NormalizeFunction returns a name without what tools spell differently or leave out: symbol versions, the suffixes
// of clones that compilers make, glibc's __GI_, parameters and their qualifiers, return types, blanks that mean
// nothing, the spellings of anonymous namespaces and lambdas, and the types of literals in template arguments.
func NormalizeFunction(name string) string {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxName || name[0] == '?' || isObjC(name) {
		return name
	}
	name = cutVersion(name)
	name = cutClones(name)
	name = strings.TrimPrefix(name, "__GI_")
	name = replaceUnnamed(name)
	if strings.IndexByte(name, '[') >= 0 {
		name = cutABITags(name)
	}
	name = cutParameters(name)
	name = cutClones(name)
	name = cutReturnType(name)
	name = strings.TrimPrefix(name, "::")
	name = cutRustHash(name)
	return squeeze(name)
}

// isObjC reports whether a name is that of a method in Objective-C.
func isObjC(name string) bool {
	return len(name) > 1 && (name[0] == '-' || name[0] == '+') && name[1] == '['
}

// cutVersion removes @VERSION and @@VERSION of ELF symbols, and stdcall's @12.
func cutVersion(name string) string {
	i := strings.IndexByte(name, '@')
	if i <= 0 || strings.ContainsAny(name, " (<") {
		return name
	}
	return name[:i]
}

// cloneSuffixes are put by compilers behind the name of a function that they took apart or copied; a number may follow.
var cloneSuffixes = [...]string{
	".cold", ".isra", ".part", ".constprop", ".lto_priv", ".llvm", ".localalias", ".clone", ".uniq", ".__uniq", ".resume",
	".destroy", ".cleanup", ".warm", ".hot", ".split", ".ifunc", ".resolver",
}

// cutClones removes [clone .x] and the bare suffixes.
func cutClones(name string) string {
	for {
		name = strings.TrimRight(name, " ")
		if strings.HasSuffix(name, "]") {
			if i := strings.LastIndex(name, "[clone "); i > 0 {
				name = name[:i]
				continue
			}
		}
		if strings.HasSuffix(name, ")") {
			if i := strings.LastIndex(name, " (."); i > 0 { // " (.cold)" of LLVM's demangler
				name = name[:i]
				continue
			}
		}
		dot := strings.LastIndexByte(name, '.')
		if dot <= 0 {
			return name
		}
		stem := name[:dot]
		if suffix := name[dot:]; suffix != "." && strings.Trim(suffix[1:], "0123456789") == "" {
			// A number belongs to the suffix before it.
			before := strings.LastIndexByte(stem, '.')
			if before <= 0 || !isClone(stem[before:]) {
				return name
			}
			name = stem[:before]
			continue
		} else if !isClone(suffix) {
			return name
		}
		name = stem
	}
}

func isClone(suffix string) bool { return slices.Contains(cloneSuffixes[:], suffix) }

// replaceUnnamed gives anonymous namespaces and lambdas one spelling.
func replaceUnnamed(name string) string {
	name = strings.ReplaceAll(name, "{anonymous}", "(anonymous namespace)")
	name = strings.ReplaceAll(name, "<unnamed>", "(anonymous namespace)")
	name = strings.ReplaceAll(name, "`anonymous namespace'", "(anonymous namespace)")
	name = strings.ReplaceAll(name, "`anonymous-namespace'", "(anonymous namespace)")
	for _, open := range [...]string{"{lambda(", "<lambda("} {
		for {
			i := strings.Index(name, open)
			if i < 0 {
				break
			}
			end := matching(name, i)
			if end < 0 {
				break
			}
			name = name[:i] + "{lambda}" + name[end+1:]
		}
	}
	return name
}

// matching returns the index of the bracket that closes the one at i, -1 for none. Within <> an arrow and comparison
// operators are no brackets.
func matching(s string, i int) int {
	depth := 0
	for k := i; k < len(s); k++ {
		switch s[k] {
		case '(', '{', '[', '<':
			if s[k] == '<' && k >= 8 && strings.HasSuffix(s[:k], "operator") {
				continue
			}
			depth++
		case ')', '}', ']', '>':
			if s[k] == '>' && k > 0 && s[k-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return -1
}

func cutABITags(name string) string {
	for {
		i := strings.Index(name, "[abi:")
		if i < 0 {
			return name
		}
		end := strings.IndexByte(name[i:], ']')
		if end < 0 {
			return name
		}
		name = name[:i] + name[i+end+1:]
	}
}

// qualifiers stand behind parameters.
var qualifiers = [...]string{" const", " volatile", " &&", "&&", " &", "&", " noexcept", " restrict", " [[noreturn]]"}

// cutParameters removes the parameters at the end of a name.
func cutParameters(name string) string {
	s := strings.TrimRight(name, " ")
	for again := true; again; {
		again = false
		for _, q := range qualifiers {
			if rest, ok := strings.CutSuffix(s, q); ok && !endsInOperator(rest) {
				s, again = strings.TrimRight(rest, " "), true
			}
		}
	}
	if !strings.HasSuffix(s, ")") {
		return name
	}
	open := opening(s)
	if open <= 0 {
		return name
	}
	before := strings.TrimRight(s[:open], " ")
	switch {
	case s[open:] == "(anonymous namespace)" || before == "":
		return name
	case before == "operator" || strings.HasSuffix(before, "::operator"):
		return s // operator() without parameters
	case strings.HasSuffix(before, "decltype"):
		return name
	}
	return before
}

func endsInOperator(s string) bool { return strings.HasSuffix(strings.TrimRight(s, " "), "operator") }

// opening returns the index of the parenthesis that opens what the last byte closes, -1 for none.
func opening(s string) int {
	depth := 0
	for k := len(s) - 1; k >= 0; k-- {
		switch s[k] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return -1
}

// cutReturnType removes what stands before the last blank that is in no brackets: return types, static, virtual and
// calling conventions. What follows the word operator is part of the name.
func cutReturnType(name string) string {
	if strings.Contains(name, " to ") || strings.HasPrefix(name, "guard variable ") || strings.HasPrefix(name, "<") {
		return name // virtual thunk to f, construction vtable for, and <T as Trait>::f
	}
	depth, start := 0, 0
	for k := 0; k < len(name); k++ {
		switch c := name[k]; {
		case depth == 0 && strings.HasPrefix(name[k:], "operator") && (k == 0 || !identByte(name[k-1])) &&
			(k+8 == len(name) || !identByte(name[k+8])):
			return name[start:]
		case c == '(' || c == '{' || c == '[' || c == '<':
			depth++
		case c == ')' || c == '}' || c == ']' || c == '>' && (k == 0 || name[k-1] != '-'):
			depth--
		case c == ' ' && depth == 0:
			start = k + 1
		}
	}
	if depth != 0 || start >= len(name) {
		return name
	}
	return name[start:]
}

func identByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// cutRustHash removes ::h and 16 hexadecimal digits.
func cutRustHash(name string) string {
	const digits = 16
	i := len(name) - digits - 3
	if i <= 0 || name[i:i+3] != "::h" || strings.Trim(name[i+3:], "0123456789abcdef") != "" {
		return name
	}
	return name[:i]
}

// squeeze removes blanks but those between two words, and the suffixes of numbers: 3ul is 3.
func squeeze(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == ' ' {
			k := i
			for k < len(name) && name[k] == ' ' {
				k++
			}
			if b.Len() > 0 && k < len(name) && identByte(name[i-1]) && identByte(name[k]) {
				b.WriteByte(' ')
			}
			i = k - 1
			continue
		}
		if c >= '0' && c <= '9' && (i == 0 || !identByte(name[i-1])) {
			k := i
			for k < len(name) && name[k] >= '0' && name[k] <= '9' {
				k++
			}
			b.WriteString(name[i:k])
			for k < len(name) && (name[k] == 'u' || name[k] == 'l' || name[k] == 'U' || name[k] == 'L') {
				k++
			}
			i = k - 1
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// aliasPrefixes are what libraries put before the names of functions that they call themselves.
var aliasPrefixes = [...]string{"libc_", "GI_", "IO_", "vdso_"}

// aliasOf reports whether two names are of one function where it is known that the addresses are the same: glibc and
// others have several names for most, which differ in underscores, prefixes and the suffixes _impl, 64 and _time64; and
// symbols without debug information may lack the namespace.
func aliasOf(a, b string) bool {
	a, b = NormalizeFunction(a), NormalizeFunction(b)
	if a == b {
		return true
	}
	if strings.HasSuffix(a, "::"+b) || strings.HasSuffix(b, "::"+a) {
		return true
	}
	x, y := aliasStem(a), aliasStem(b)
	return x != "" && x == y
}

func aliasStem(s string) string {
	if strings.ContainsAny(s, ":<( ") {
		return ""
	}
	s = strings.TrimLeft(s, "_")
	for again := true; again; {
		again = false
		for _, p := range aliasPrefixes {
			if rest, ok := strings.CutPrefix(s, p); ok && rest != "" {
				s, again = strings.TrimLeft(rest, "_"), true
			}
		}
	}
	for _, suffix := range [...]string{"_impl", "_time64", "64"} {
		s = strings.TrimSuffix(s, suffix)
	}
	return s
}

// outermostFunctions are those that nothing returns from: the first frame of a process, thread or context.
var outermostFunctions = map[string]bool{
	"_start": true, "__start": true, "_dl_start_user": true, "_rt0_amd64_linux": true, "rt0_go": true, "runtime.goexit": true,
	"clone": true, "__clone": true, "clone3": true, "__clone3": true, "__thread_start": true, "thread_start": true,
	"_thread_start": true, "__start_context": true, "__libc_start_context": true,
	"RtlUserThreadStart": true, "_RtlUserThreadStart": true, "__RtlUserThreadStart": true, "start": true, "start_wqthread": true,
}

func isOutermost(function string) bool { return outermostFunctions[NormalizeFunction(function)] }
