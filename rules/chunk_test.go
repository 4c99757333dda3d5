package rules

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// blockStarts returns the offsets of the records at which a file may be cut, and their line numbers.
func blockStarts(data []byte) (cuts []symfile.Chunk) {
	for pos := 0; ; {
		n := bytes.IndexByte(data[pos:], '\n')
		if n < 0 {
			return cuts
		}
		pos += n + 1
		for _, keyword := range [...]string{"FUNC ", "PUBLIC ", "STACK CFI INIT ", "STACK WIN "} {
			if bytes.HasPrefix(data[pos:], []byte(keyword)) {
				cuts = append(cuts, symfile.Chunk{From: pos, Line: 1 + symfile.CountLines(data[:pos])})
			}
		}
	}
}

// checkCut runs every rule over a file that is cut at the given places and returns all that is found, or what some families
// find, as text.
func checkCut(t testing.TB, data []byte, cuts []symfile.Chunk, only ...string) string {
	t.Helper()
	chunks := append([]symfile.Chunk{{Line: 1}}, cuts...)
	for i := range chunks {
		chunks[i].To = len(data)
		if i+1 < len(chunks) {
			chunks[i].To = chunks[i+1].From
		}
	}
	r := &lint.Runner{Registry: Registry(), Analyzers: Analyzers(), Jobs: 1}
	res := r.CheckChunks("chunks.sym", data, nil, chunks)
	defer res.Close()
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	var b strings.Builder
	for f, err := range res.Findings() {
		if err != nil {
			t.Fatal(err)
		}
		if len(only) > 0 && !slices.Contains(only, f.Rule.Family) {
			continue
		}
		fmt.Fprintf(&b, "%d:%d-%d +%d %s %s x%d %q %q %#x %q %v\n", f.Line, f.Column, f.EndColumn, f.Offset, f.Severity, f.Rule.Name, f.Count,
			f.Function, f.Subject, f.Address, f.Message, f.Detail)
		fmt.Fprintf(&b, "    %s\n", f.Effects.String(lint.AllConsumers))
		for _, r := range f.Related {
			fmt.Fprintf(&b, "    %d %s\n", r.Line, r.Message)
		}
	}
	if len(only) == 0 {
		fmt.Fprintf(&b, "%+v\n", res.Coverage)
	}
	return b.String()
}

// sameHoweverCut fails the test if the findings depend on where the text is cut: at each place alone (few at random in a
// long file), at all places, and at random ones.
func sameHoweverCut(t testing.TB, text string, only ...string) {
	t.Helper()
	data := []byte(text)
	starts := blockStarts(data)
	want := checkCut(t, data, nil, only...)
	try := func(cuts []symfile.Chunk) {
		t.Helper()
		if got := checkCut(t, data, cuts, only...); got != want {
			var lines []int
			for _, c := range cuts {
				lines = append(lines, c.Line)
			}
			if len(lines) > 20 {
				lines = lines[:20]
			}
			t.Fatalf("cut at lines %v:\n%s", lines, cutDifference(want, got))
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(len(data))))
	const most = 24
	for i := range starts {
		if len(starts) <= most || random.IntN(len(starts)) < most {
			try(starts[i : i+1])
		}
	}
	if len(starts) <= 4000 {
		try(starts)
	}
	for range 4 {
		var some []symfile.Chunk
		for _, s := range starts {
			if random.IntN(1+len(starts)/8) == 0 {
				some = append(some, s)
			}
		}
		try(some)
	}
}

func cutDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := 0; i < min(len(w), len(g)); i++ {
		if w[i] != g[i] {
			return "whole: " + w[i] + "\ncut:   " + g[i]
		}
	}
	return fmt.Sprintf("whole: %d lines, cut: %d lines", len(w), len(g))
}

// Whatever is done to a file, findings do not depend on where it is cut, and nothing panics.
func TestDamagedHoweverCut(t *testing.T) {
	random := rand.New(rand.NewPCG(53, 59))
	texts := []string{exampleTwo, examplePublic, exampleInline, exampleInline + exampleHelper + exampleHelperCFI}
	words := []string{"FUNC", "INLINE", "PUBLIC", "STACK CFI INIT", "FILE", "0", "1", "1000", "1008", "10", "ffffffffffffff00", "-1", "m", "x", "", "\n"}
	for range 300 {
		text := ""
		for range 1 + random.IntN(3) {
			text += texts[random.IntN(len(texts))]
		}
		lines := strings.SplitAfter(text, "\n")
		for range 1 + random.IntN(6) {
			i, j := random.IntN(len(lines)), random.IntN(len(lines))
			switch random.IntN(4) {
			case 0:
				lines[i], lines[j] = lines[j], lines[i]
			case 1:
				lines[i] += lines[j]
			case 2:
				lines[i] = ""
			default:
				fields := strings.Split(lines[i], " ")
				fields[random.IntN(len(fields))] = words[random.IntN(len(words))]
				lines[i] = strings.Join(fields, " ")
			}
		}
		text = strings.Join(lines, "")
		t.Run("", func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Log(text)
				}
			}()
			sameHoweverCut(t, text)
		})
	}
}
