package symdiff

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// maxAligned bounds the rows of both sides that are aligned with each other: that takes time in the product of rows
// and differences.
const maxAligned = 2000

// maxEmphasised bounds the text, in bytes, in which single characters are marked.
const maxEmphasised = 400

func newMatcher() *diffmatchpatch.DiffMatchPatch {
	m := diffmatchpatch.New()
	m.DiffTimeout = 0 // the result must not depend on how fast the machine is
	return m
}

// emphasise colours two texts, the words and numbers that differ more than the others.
func emphasise(p paint, old, new string) (string, string) {
	if !p {
		return old, new
	}
	if len(old)+len(new) > maxEmphasised {
		return p.old(old), p.new(new)
	}
	x, y := words(old), words(new)
	runes := make(map[string]rune)
	var a, b strings.Builder
	i, j := 0, 0
	for _, d := range newMatcher().DiffMainRunes(encode(runes, x), encode(runes, y), false) {
		n := utf8.RuneCountInString(d.Text)
		switch d.Type {
		case diffmatchpatch.DiffEqual:
			a.WriteString(p.old(strings.Join(x[i:i+n], "")))
			b.WriteString(p.new(strings.Join(y[j:j+n], "")))
			i, j = i+n, j+n
		case diffmatchpatch.DiffDelete:
			a.WriteString(p.gone(strings.Join(x[i:i+n], "")))
			i += n
		case diffmatchpatch.DiffInsert:
			b.WriteString(p.come(strings.Join(y[j:j+n], "")))
			j += n
		}
	}
	return a.String(), b.String()
}

// words cuts a text into words, numbers and single other characters.
func words(s string) (out []string) {
	start, kind := 0, -1
	for i, r := range s {
		k := 0
		switch {
		case unicode.IsDigit(r):
			k = 1
		case unicode.IsLetter(r) || r == '_':
			k = 2
		}
		if i > start && (k != kind || k == 0) {
			out = append(out, s[start:i])
			start = i
		}
		kind = k
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// encode turns each distinct text into a character of its own, as go-diff wants it. There are at most maxAligned or
// maxEmphasised of them: far fewer than characters below the surrogates.
func encode(runes map[string]rune, list []string) []rune {
	out := make([]rune, len(list))
	for i, s := range list {
		c, ok := runes[s]
		if !ok {
			c = rune(1 + len(runes))
			runes[s] = c
		}
		out[i] = c
	}
	return out
}

// edit is a row of one side or of both; -1 where a side does not have it.
type edit struct{ old, new int }

// align finds which rows of both sides say the same in the same order, wherever they stand.
func align(a, b []Row) []edit {
	runes := make(map[string]rune)
	texts := func(rows []Row) []string {
		out := make([]string, len(rows))
		for i, r := range rows {
			out[i] = r.Text
		}
		return out
	}
	var out []edit
	i, j := 0, 0
	for _, d := range newMatcher().DiffMainRunes(encode(runes, texts(a)), encode(runes, texts(b)), false) {
		for range d.Text {
			switch d.Type {
			case diffmatchpatch.DiffEqual:
				out = append(out, edit{i, j})
				i++
				j++
			case diffmatchpatch.DiffDelete:
				out = append(out, edit{i, -1})
				i++
			case diffmatchpatch.DiffInsert:
				out = append(out, edit{-1, j})
				j++
			}
		}
	}
	return out
}

// alignedRows tells rows as removed, added and kept, with some of the kept around the others.
func (t *text) alignedRows(rows [2][]Row) {
	edits := align(rows[0], rows[1])
	keep := make([]bool, len(edits))
	differs, moved := 0, 0
	for i, e := range edits {
		if e.old >= 0 && e.new >= 0 {
			if rows[0][e.old].From != rows[1][e.new].From || rows[0][e.old].To != rows[1][e.new].To {
				moved++
			}
			continue
		}
		differs++
		for k := max(0, i-t.o.Context); k <= min(len(edits)-1, i+t.o.Context); k++ {
			keep[k] = true
		}
	}
	if differs == 0 {
		t.line("! the same %d rows, %d of them at other offsets", len(edits), moved)
		return
	}
	gap := false
	for i, e := range edits {
		if !keep[i] {
			gap = true
			continue
		}
		if gap {
			t.line("%s", t.p.dim("  …"))
			gap = false
		}
		switch {
		case e.new < 0:
			r := rows[0][e.old]
			t.line("%s", t.p.old("- "+offsets(r.From, r.To)+": "+printable(r.Text)))
		case e.old < 0:
			r := rows[1][e.new]
			t.line("%s", t.p.new("+ "+offsets(r.From, r.To)+": "+printable(r.Text)))
		default:
			r, s := rows[0][e.old], rows[1][e.new]
			at := offsets(r.From, r.To)
			if r.From != s.From || r.To != s.To {
				at += " -> " + offsets(s.From, s.To)
			}
			t.line("%s", t.p.dim("  "+at+": "+printable(r.Text)))
		}
	}
}
