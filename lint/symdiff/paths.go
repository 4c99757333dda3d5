package symdiff

import (
	"cmp"
	"slices"
	"strings"
)

// PathMap replaces the beginning of source paths.
type PathMap struct {
	From, To string
	// Auto: found by comparing the two files' paths.
	Auto bool
	// Files is how many paths of the older file it changed.
	Files int
}

// nameTable numbers the source files and inlined functions of both files: equal numbers are equal names. Number 0 is
// no name.
type nameTable struct {
	files   []string // full paths
	short   []string // file names alone, where no two files have the same
	inlined []string
	maps    []PathMap // those that changed something
}

func newNameTable(old, new *model, o *Options) *nameTable {
	t := &nameTable{files: []string{""}, inlined: []string{""}}
	t.numberFiles(old, new, o)
	numbers := make(map[string]uint32)
	for _, m := range []*model{old, new} {
		m.origins = idTable{}
		for _, n := range m.inlined {
			v, ok := numbers[string(n.name)]
			if !ok {
				v = uint32(len(t.inlined))
				t.inlined = append(t.inlined, string(n.name))
				numbers[string(n.name)] = v
			}
			m.origins.set(n.id, v, len(m.inlined))
		}
	}
	return t
}

func (t *nameTable) numberFiles(old, new *model, o *Options) {
	maps := slices.Clone(o.PathMaps)
	paths := [2][]string{mapped(old, maps, true), mapped(new, maps, false)}
	if !o.KeepPaths && !o.Ignore.Has(Paths|Files) {
		for range 4 { // several source trees
			found, ok := findMove(paths[0], paths[1])
			if !ok {
				break
			}
			theirs := set(paths[1])
			for i, p := range paths[0] {
				if rest, ok := strings.CutPrefix(p, found.From); ok && !theirs[p] && theirs[found.To+rest] {
					paths[0][i] = found.To + rest
					found.Files++
				}
			}
			if found.Files == 0 {
				break
			}
			maps = append(maps, found)
		}
	}
	for _, m := range maps {
		if m.Files > 0 {
			t.maps = append(t.maps, m)
		}
	}
	numbers := make(map[string]uint32)
	for i, m := range []*model{old, new} {
		m.fileIDs = idTable{}
		for j, n := range m.files {
			key := paths[i][j]
			switch {
			case o.Ignore.Has(Files):
				key = "(any file)"
			case o.Ignore.Has(Paths):
				key = base(key)
			}
			v, ok := numbers[key]
			if !ok {
				v = uint32(len(t.files))
				t.files = append(t.files, key)
				numbers[key] = v
			}
			m.fileIDs.set(n.id, v, len(m.files))
		}
	}
	bases := make(map[string]int, len(t.files))
	for _, f := range t.files {
		bases[base(f)]++
	}
	for _, f := range t.files {
		if b := base(f); bases[b] == 1 && b != "" {
			f = b
		}
		t.short = append(t.short, f)
	}
}

// mapped returns the paths of a file after the given replacements.
func mapped(m *model, maps []PathMap, count bool) []string {
	out := make([]string, len(m.files))
	for i, n := range m.files {
		out[i] = string(n.name)
		for j := range maps {
			if rest, ok := strings.CutPrefix(out[i], maps[j].From); ok {
				out[i] = maps[j].To + rest
				if count {
					maps[j].Files++
				} else {
					maps[j].Files = max(maps[j].Files, 1)
				}
				break
			}
		}
	}
	return out
}

func set(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if isSlash(path[i]) {
			return path[i+1:]
		}
	}
	return path
}

// maxSameBase bounds how many files of one name are tried against each other.
const maxSameBase = 16

// findMove looks for the directory that most of the paths that only one side has can be moved from and to. What is
// found in the other direction is the same, exchanged.
func findMove(old, new []string) (PathMap, bool) {
	ours, theirs := set(old), set(new)
	there, back := likeliest(ours, theirs), likeliest(theirs, ours)
	same := 0
	for p := range ours {
		if theirs[p] {
			same++
		}
	}
	alone := min(len(ours), len(theirs)) - same
	type move struct{ from, to string }
	votes := make(map[move]int)
	for p, q := range there {
		if back[q] == p {
			n := commonTail(p, q)
			votes[move{p[:len(p)-n], q[:len(q)-n]}]++
		}
	}
	type voted struct {
		move
		n int
	}
	var list []voted
	for m, n := range votes {
		list = append(list, voted{m, n})
	}
	if len(list) == 0 {
		return PathMap{}, false
	}
	best := slices.MinFunc(list, func(a, b voted) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(len(a.from)+len(a.to), len(b.from)+len(b.to)),
			cmp.Compare(min(a.from, a.to), min(b.from, b.to)), cmp.Compare(max(a.from, a.to), max(b.from, b.to)))
	})
	if best.n < 2 && same > 0 || best.n*4 < alone && best.n < 8 {
		return PathMap{}, false // a file with another name, more likely
	}
	return PathMap{From: best.from, To: best.to, Auto: true}, true
}

// likeliest finds for each path that is not in the other set the one there that ends in the most like it.
func likeliest(paths, others map[string]bool) map[string]string {
	byBase := make(map[string][]string)
	for q := range others {
		if !paths[q] {
			byBase[base(q)] = append(byBase[base(q)], q)
		}
	}
	out := make(map[string]string)
	for p := range paths {
		candidates := byBase[base(p)]
		if others[p] || len(candidates) > maxSameBase {
			continue
		}
		best, longest, tied := "", 0, false
		for _, q := range candidates {
			switch n := commonTail(p, q); {
			case n > longest:
				best, longest, tied = q, n, false
			case n == longest:
				tied = true
			}
		}
		if longest > 0 && !tied {
			out[p] = best
		}
	}
	return out
}

// commonTail returns how many bytes at the end of two paths are the same, counted in whole names.
func commonTail(a, b string) int {
	n, whole := 0, 0
	for n < len(a) && n < len(b) {
		x, y := a[len(a)-1-n], b[len(b)-1-n]
		if x != y && !(isSlash(x) && isSlash(y)) {
			break
		}
		n++
		if isSlash(x) {
			whole = n - 1 // the slash stays with the directory
		}
	}
	if n == len(a) || n == len(b) {
		longer := a
		if len(b) > len(a) {
			longer = b
		}
		if len(a) == len(b) || isSlash(longer[len(longer)-1-n]) {
			whole = n
		}
	}
	return whole
}
