package plant

import (
	"slices"
	"strconv"
	"strings"
)

var moduleKinds = []Kind{
	{"module-missing", "no MODULE record", []string{"module-missing"},
		func(f *file) (int, bool) {
			if len(f.recs) < 2 || f.recs[0].kind != module {
				return 0, false
			}
			f.remove(0, 1)
			return 0, true
		}},
	{"module-not-first", "MODULE on line 2", []string{"module-not-first"},
		func(f *file) (int, bool) {
			if len(f.recs) < 3 || f.recs[0].kind != module {
				return 0, false
			}
			return f.move(0, 1, 2), true
		}},
	{"module-duplicate", "second MODULE record", []string{"module-duplicate"},
		func(f *file) (int, bool) {
			if len(f.recs) < 3 || f.recs[0].kind != module {
				return 0, false
			}
			i, ok := f.pick(func(i int, _ *record) bool { return i > 1 }, fileRecord, origin, function, public)
			if ok {
				f.insert(i, f.recs[0].text)
			}
			return i, ok
		}},
	{"module-id-length", "MODULE id too short", []string{"module-id", "format-bad-field"},
		ofModule(nil, 3, func(f *file, id string) string { return id[:32-f.IntN(8)] })},
	{"module-id-not-hex", "MODULE id is not hexadecimal", []string{"module-id", "format-bad-field"},
		ofModule(nil, 3, func(f *file, id string) string {
			k := f.IntN(32)
			return id[:k] + []string{"Z", "X", "G"}[f.IntN(3)] + id[k+1:]
		})},
	{"module-id-zero", "MODULE id is all zero", []string{"module-id"},
		ofModule(func(_ *file, id string) bool { return strings.Trim(id, "0") != "" }, 3,
			func(_ *file, id string) string { return strings.Repeat("0", len(id)) })},
	{"module-id-case", "MODULE id in lower case", []string{"module-id", "format-number-case"},
		ofModule(func(f *file, id string) bool { return strings.ToLower(id) != id }, 3,
			func(_ *file, id string) string { return strings.ToLower(id) })},
	{"module-arch", "unknown architecture name", []string{"module-arch"},
		ofModule(nil, 2, func(f *file, arch string) string {
			return []string{"x86-64", "x8664", "ix86", "arm-64", "armel-none"}[f.IntN(5)]
		})},
	{"module-arch-mismatch", "architecture whose registers the STACK CFI records do not use", []string{"module-arch"},
		ofModule(func(f *file, _ string) bool { return f.cpu != nil && len(f.inits) > 0 }, 2,
			func(f *file, _ string) string { return f.cpu.other })},
	{"module-os", "unknown operating system name", []string{"module-os"},
		ofModule(nil, 1, func(f *file, os string) string { return []string{"linuks", "Windoze", "makos"}[f.IntN(3)] })},
	{"module-name-path", "a path as MODULE name", []string{"module-name"},
		ofModule(func(_ *file, name string) bool { return !strings.ContainsAny(name, `/\`) }, 4,
			func(f *file, name string) string {
				return []string{"/usr/lib/", "out/Release/", `C:\build\`}[f.IntN(3)] + name
			})},
	{"module-name-missing", "MODULE without name", []string{"module-name", "format-bad-field"},
		func(f *file) (int, bool) {
			if len(f.recs) < 2 || f.recs[0].kind != module {
				return 0, false
			}
			f.setFields(0, f.recs[0].fields[:4])
			return 0, true
		}},
	{"info-code-id-not-hex", "INFO CODE_ID is not hexadecimal", []string{"module-info"},
		codeID(nil, func(_ *file, code string) string { return "Z" + code[1:] })},
	{"info-code-id-contradicts", "INFO CODE_ID that does not belong to the MODULE id", []string{"module-info"},
		codeID(func(f *file, code string) bool {
			return f.system == "Linux" && len(code) >= 32 && debugID(code) == f.recs[0].fields[3][:32]
		}, func(f *file, code string) string {
			k := f.IntN(32)
			d := "0"
			if code[k] == '0' {
				d = "1"
			}
			return code[:k] + d + code[k+1:]
		})},
	{"info-unknown", "INFO record of an unknown kind", []string{"module-info"},
		func(f *file) (int, bool) {
			if len(f.recs) < 2 || f.recs[0].kind != module {
				return 0, false
			}
			i := 1
			for i < len(f.recs) && f.recs[i].kind == info {
				i++
			}
			f.insert(i, "INFO COLOUR blue")
			return i, true
		}},
}

// ofModule changes a field of a MODULE record with a well-formed id.
func ofModule(eligible func(*file, string) bool, field int, edit func(*file, string) string) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		if len(f.recs) < 2 || f.recs[0].kind != module || len(f.recs[0].fields[3]) < 33 {
			return 0, false
		}
		old := f.recs[0].fields[field]
		if eligible != nil && !eligible(f, old) {
			return 0, false
		}
		f.setField(0, field, edit(f, old))
		return 0, true
	}
}

// codeID changes the value of INFO CODE_ID.
func codeID(eligible func(*file, string) bool, edit func(*file, string) string) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		i, ok := f.pick(func(_ int, r *record) bool {
			code, _, _ := strings.Cut(r.rest(), " ")
			return r.fields[1] == "CODE_ID" && len(code) > 8 && (eligible == nil || eligible(f, code))
		}, info)
		if ok {
			code, name, _ := strings.Cut(f.recs[i].rest(), " ")
			f.setField(i, 2, strings.TrimSuffix(edit(f, code)+" "+name, " "))
		}
		return i, ok
	}
}

// debugID spells the first 16 bytes of a build id as a GUID, whose first three fields are little-endian.
func debugID(build string) string {
	b := strings.ToUpper(build)
	return b[6:8] + b[4:6] + b[2:4] + b[0:2] + b[10:12] + b[8:10] + b[14:16] + b[12:14] + b[16:32]
}

var fileKinds = []Kind{
	{"file-duplicate-id", "FILE id defined twice with different names", []string{"file-duplicate"},
		behind(fileRecord, func(f *file, i int) string {
			return "FILE " + f.recs[i].fields[1] + " " + []string{"/src/other_a.c", "/src/other_b.c"}[f.IntN(2)]
		})},
	{"file-repeat", "FILE record repeated", []string{"file-duplicate"},
		behind(fileRecord, func(f *file, i int) string { return f.recs[i].text })},
	{"file-missing-name", "FILE without a name", []string{"file-empty-name", "format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:2]) }, fileRecord)},
	{"file-bad-id", "FILE id is not a number", []string{"format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, 1, r.fields[1]+"a") }, fileRecord)},
	{"file-unused", "a FILE that nothing refers to, in a file with no other", []string{"file-unused"},
		func(f *file) (int, bool) {
			used, last, high := map[string]bool{}, -1, 0
			for i := range f.recs {
				switch r := &f.recs[i]; r.kind {
				case lineRecord:
					used[r.fields[3]] = true
				case inline:
					used[r.fields[3]] = true
				case fileRecord:
					last = i
					n, _ := strconv.Atoi(r.fields[1])
					high = max(high, n)
				}
			}
			if last < 0 || f.any(func(r *record) bool { return r.kind == fileRecord && !used[r.fields[1]] }) {
				return 0, false
			}
			f.insert(last+1, "FILE "+strconv.Itoa(high+1)+" /src/never_used.cc")
			return last + 1, true
		}},
}

// behind inserts a line behind a record of the kind and of those that belong to it.
func behind(k kind, text func(f *file, i int) string) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		i, ok := f.pick(nil, k)
		if !ok {
			return 0, false
		}
		end := f.blockEnd(i)
		f.insert(end, text(f, i))
		return end, true
	}
}

// undefined is an id no record of the kind defines.
func (f *file) undefined(k kind) string {
	ids := []string{"777", "9000"}
	for {
		id := ids[f.IntN(len(ids))]
		if !f.any(func(r *record) bool { return r.kind == k && r.fields[1] == id }) {
			return id
		}
		ids = append(slices.DeleteFunc(ids, func(s string) bool { return s == id }), id+"0", id+"1")
	}
}
