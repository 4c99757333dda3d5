package plant

import (
	"slices"
	"strings"
)

var winKinds = []Kind{
	{"win-bad-program", "STACK WIN program: an assignment operator is missing", []string{"win-program"},
		inProgram(func(f *file, tokens []string, list []statement) []string {
			at := list[f.IntN(len(list))].end - 1
			return slices.Delete(tokens, at, at+1)
		})},
	{"win-leftover", "STACK WIN program leaves a value", []string{"win-program"},
		inProgram(func(_ *file, tokens []string, _ []statement) []string { return append(tokens, "$T0") })},
	{"win-underflow", "STACK WIN program with an operator too many", []string{"win-program"},
		inProgram(func(f *file, tokens []string, list []statement) []string {
			return slices.Insert(tokens, list[f.IntN(len(list))].end, "+")
		})},
	{"win-undefined-variable", "STACK WIN program reads a variable that was never set", []string{"win-program"},
		inProgram(func(f *file, tokens []string, list []statement) []string {
			var reads []int
			for _, s := range list {
				for _, at := range s.reads {
					if strings.HasPrefix(tokens[at], "$T") {
						reads = append(reads, at)
					}
				}
			}
			if len(reads) == 0 || slices.Contains(tokens, "$T9") {
				return nil
			}
			tokens[reads[f.IntN(len(reads))]] = "$T9"
			return tokens
		})},
	{"win-no-eip", "STACK WIN program never assigns $eip", []string{"win-program"}, unassigned("$eip")},
	{"win-no-esp", "STACK WIN program never assigns $esp", []string{"win-program"}, unassigned("$esp")},
	{"win-assigns-constant", "STACK WIN program assigns to a name that is no variable", []string{"win-program"},
		inProgram(func(f *file, tokens []string, list []statement) []string {
			s := list[f.IntN(len(list))]
			if slices.Contains(tokens[s.from+1:s.end], ".cbParams") {
				return nil
			}
			tokens[s.from] = ".cbParams"
			return tokens
		})},
	{"win-numeric-register", "STACK WIN program restores a register by its number, in a file with no other such", []string{"win-program-temporaries"},
		when(func(f *file) bool { return !f.any(func(r *record) bool { return r.kind == win && numeric(r.rest()) }) },
			inProgram(func(f *file, tokens []string, list []statement) []string {
				numbers := map[string]string{"$ebx": "$20", "$esi": "$23", "$edi": "$24"}
				for _, s := range list {
					if n, ok := numbers[s.target]; ok && tokens[s.from] == s.target {
						tokens[s.from] = n
						return tokens
					}
				}
				return nil
			}))},
	{"win-short", "STACK WIN with too few fields", []string{"format-bad-field", "format-truncated"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:3+f.IntN(9)]) }, win)},
	{"win-bad-type", "STACK WIN with an unknown type", []string{"win-type"},
		change(nil, func(f *file, i int, _ *record) { f.setField(i, winType, hexText(5+f.Uint64N(11))) }, win)},
	{"win-unused-type", "STACK WIN of a type that no consumer reads", []string{"win-type", "win-flag-mismatch"},
		change(func(f *file, i int, r *record) bool { return r.fields[winType] == "4" || r.fields[winType] == "0" },
			func(f *file, i int, _ *record) { f.setField(i, winType, hexText(1+f.Uint64N(3))) }, win)},
	{"win-flag-mismatch", "STACK WIN whose flag contradicts its type", []string{"win-flag-mismatch"},
		change(func(f *file, i int, r *record) bool {
			return r.fields[winType] == "4" && r.fields[winFlag] == "1" || r.fields[winType] == "0" && r.fields[winFlag] == "0"
		}, func(f *file, i int, r *record) {
			f.setField(i, winFlag, map[string]string{"0": "1", "1": "0"}[r.fields[winFlag]])
		}, win)},
	{"win-overlap", "STACK WIN range partly overlaps the next one of its type", []string{"win-overlap"},
		func(f *file) (int, bool) {
			types := []string{"4", "0"}
			f.Shuffle(2, func(i, j int) { types[i], types[j] = types[j], types[i] })
			for _, t := range types {
				list := slices.DeleteFunc(slices.Clone(f.wins), func(i int) bool { return f.recs[i].fields[winType] != t })
				if i, ok := f.reachInto(list); ok {
					return i, true
				}
			}
			return 0, false
		}},
	{"win-wraps", "STACK WIN range reaches beyond 2^32", []string{"win-range", "format-number-range"},
		change(func(f *file, i int, r *record) bool { return f.alone(f.wins, i) && r.addr > 0xff },
			func(f *file, i int, _ *record) { f.setSize(i, 0xffffff00) }, win)},
	{"win-size-zero", "STACK WIN with size 0", []string{"win-range"},
		change(func(f *file, i int, r *record) bool { return r.size > 0 && f.alone(f.wins, i) },
			func(f *file, i int, _ *record) { f.setSize(i, 0) }, win)},
	{"win-prologue", "STACK WIN prologue longer than the code", []string{"win-prologue"},
		change(func(f *file, i int, r *record) bool { return r.size > 0 && r.size < 0xff00 },
			func(f *file, i int, r *record) { f.setField(i, winPrologue, hexText(r.size+1+f.Uint64N(16))) }, win)},
	{"win-param-size", "STACK WIN parameter size differs from that of its FUNC", []string{"win-param-size", "func-param-size"},
		func(f *file) (int, bool) {
			fn, ok := f.pick(func(i int, r *record) bool { return f.sameParams(i) >= 0 }, function)
			if !ok {
				return 0, false
			}
			i := f.sameParams(fn)
			f.setField(i, winParams, otherSize(f.recs[i].fields[winParams]))
			return i, true
		}},
	{"win-in-other-module", "STACK WIN in a module that is not for x86", []string{"win-type"},
		func(f *file) (int, bool) {
			if f.cpu == nil || f.cpu == x86 || len(f.funcs) == 0 || f.has(win) {
				return 0, false
			}
			fn := &f.recs[f.funcs[f.IntN(len(f.funcs))]]
			if fn.size == 0 || fn.size > 1<<31 {
				return 0, false
			}
			at := slices.IndexFunc(f.recs, func(r record) bool { return r.kind == cfiInit })
			if at < 0 {
				at = len(f.recs)
			}
			f.insert(at, "STACK WIN 4 "+fn.fields[fn.addrAt()]+" "+fn.fields[fn.sizeAt()]+" 0 0 0 0 0 0 1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =")
			return at, true
		}},
}

// inProgram changes the program of a type 4 record; edit returns nil where it finds no place.
func inProgram(edit func(f *file, tokens []string, list []statement) []string) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		var changed []string
		i, ok := f.pick(func(i int, r *record) bool {
			if r.fields[winType] != "4" || r.fields[winFlag] != "1" {
				return false
			}
			tokens := strings.Fields(r.rest())
			list, ok := statements(tokens)
			if !ok || strings.Join(tokens, " ") != r.rest() {
				return false
			}
			changed = edit(f, tokens, list)
			return changed != nil
		}, win)
		if ok {
			f.setField(i, winProgram, strings.Join(changed, " "))
		}
		return i, ok
	}
}

// unassigned removes the assignment to a variable.
func unassigned(variable string) func(*file) (int, bool) {
	return inProgram(func(_ *file, tokens []string, list []statement) []string {
		for _, s := range list {
			if s.target == variable && tokens[s.from] == variable {
				return slices.Delete(tokens, s.from, s.end)
			}
		}
		return nil
	})
}

// numeric reports whether a program assigns to a register number such as $20.
func numeric(program string) bool {
	for _, token := range strings.Fields(program) {
		if len(token) > 1 && token[0] == '$' && token[1] >= '0' && token[1] <= '9' {
			return true
		}
	}
	return false
}
