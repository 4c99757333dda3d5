package symstore

import (
	"slices"
	"strings"
)

// SymbolPath returns where a store keeps a module's symbol file, relative to its root and with slashes:
// DEBUGFILE/ID/NAME.sym. False means that Google's reader finds no symbols for the module: the debug file has no base
// name, or there is no id. Base names and ids that would lead out of the directory have no path either.
func SymbolPath(debugFile, debugID string) (string, bool) {
	leaf := Base(debugFile)
	if !isElement(leaf) || !isElement(debugID) {
		return "", false
	}
	return leaf + "/" + debugID + "/" + symbolName(leaf), true
}

// Base returns what stands behind the last slash or backslash of a path, as Breakpad's PathnameStripper does.
func Base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// symbolName is a debug file's base name with ".pdb" behind it, in any case, replaced by ".sym"; other names get it
// appended.
func symbolName(leaf string) string { return withoutPDB(leaf) + ".sym" }

func withoutPDB(leaf string) string {
	const ext = ".pdb"
	if n := len(leaf) - len(ext); n > 0 && strings.EqualFold(leaf[n:], ext) {
		return leaf[:n]
	}
	return leaf
}

// isElement reports whether a text from a dump may be one element of a path.
func isElement(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}

// guidDigits is the number of hexadecimal digits before the age.
const guidDigits = 32

// otherCases returns the id as writers spell it, except as given: GUID in upper case with the age in lower case, all in
// upper case, all in lower case.
func otherCases(id string) []string {
	upper, lower := strings.ToUpper(id), strings.ToLower(id)
	n := min(guidDigits, len(upper), len(lower))
	var ids []string
	for _, s := range [...]string{upper[:n] + lower[n:], upper, lower} {
		if s != id && !slices.Contains(ids, s) {
			ids = append(ids, s)
		}
	}
	return ids
}

// isID reports whether a directory's name looks like a module's id: the 8 digits of a timestamp or the 32 of a GUID,
// and an age.
func isID(name string) bool {
	if len(name) < 9 || len(name) > 48 {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i] | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(name) > guidDigits || len(name) <= 16
}

// isZeroID reports whether an id tells nothing: a GUID of zeros.
func isZeroID(id string) bool { return strings.Trim(id[:min(len(id), guidDigits)], "0") == "" }

// sameModule reports whether two paths have base names that are the same but for case and ".pdb".
func sameModule(a, b string) bool {
	a, b = withoutPDB(Base(a)), withoutPDB(Base(b))
	return a != "" && strings.EqualFold(a, b)
}
