package symdiff

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// readBase reads a symbol file of testdata.
func readBase(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpustest.Root(), "testdata", "sym", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var bases = []string{"base-x86.sym", "base-x86_64.sym", "base-windows-x86.sym"}

// editLines rewrites the lines of a file.
func editLines(sym string, f func(words []string) []string) string {
	var out []string
	for _, line := range strings.Split(strings.TrimSuffix(sym, "\n"), "\n") {
		out = append(out, strings.Join(f(strings.Split(line, " ")), " "))
	}
	return strings.Join(out, "\n") + "\n"
}

func moved(word string, by uint64) string {
	v, err := strconv.ParseUint(word, 16, 64)
	if err != nil {
		panic(err)
	}
	return strconv.FormatUint(v+by, 16)
}

// shift moves all addresses.
func shift(sym string, by uint64) string {
	return editLines(sym, func(w []string) []string {
		at := -1
		switch {
		case w[0] == "FUNC" || w[0] == "PUBLIC":
			at = 1
			if w[1] == "m" {
				at = 2
			}
		case w[0] == "STACK" && (w[2] == "INIT" || w[1] == "WIN"):
			at = 3
		case w[0] == "STACK":
			at = 2
		case w[0] == "INLINE":
			for i := 5; i < len(w); i += 2 {
				w[i] = moved(w[i], by)
			}
		case strings.Trim(w[0], "0123456789abcdef") == "":
			at = 0
		}
		if at >= 0 {
			w[at] = moved(w[at], by)
		}
		return w
	})
}

// renumber gives FILE and INLINE_ORIGIN records other ids, one beyond what is kept in a dense table.
func renumber(sym string) string {
	id := func(s string) string {
		n, _ := strconv.Atoi(s)
		if n < 0 {
			return s
		}
		if n == 0 {
			return "40000000"
		}
		return strconv.Itoa(1000 - 3*n)
	}
	return editLines(sym, func(w []string) []string {
		switch {
		case w[0] == "FILE" || w[0] == "INLINE_ORIGIN":
			w[1] = id(w[1])
		case w[0] == "INLINE":
			w[3], w[4] = id(w[3]), id(w[4])
		case len(w) == 4 && strings.Trim(w[0], "0123456789abcdef") == "":
			w[3] = id(w[3])
		}
		return w
	})
}

// blocks cuts a file into records with what hangs on them.
func blocks(sym string) (head string, out []string) {
	for _, line := range strings.SplitAfter(strings.TrimSuffix(sym, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\n") + "\n"
		opens := strings.HasPrefix(line, "FUNC") || strings.HasPrefix(line, "PUBLIC") || strings.HasPrefix(line, "FILE") ||
			strings.HasPrefix(line, "INLINE_ORIGIN") || strings.HasPrefix(line, "STACK CFI INIT") || strings.HasPrefix(line, "STACK WIN")
		switch {
		case opens:
			out = append(out, line)
		case len(out) == 0:
			head += line
		default:
			out[len(out)-1] += line
		}
	}
	return head, out
}

// reverse puts all records in the opposite order, FILE records last, and the lines of every function too.
func reverse(sym string) string {
	head, list := blocks(sym)
	slices.Reverse(list)
	for i, b := range list {
		if !strings.HasPrefix(b, "FUNC") {
			continue
		}
		lines := strings.SplitAfter(strings.TrimSuffix(b, "\n"), "\n")
		rest := lines[1:]
		for j := range rest {
			rest[j] = strings.TrimSuffix(rest[j], "\n") + "\n"
		}
		slices.Reverse(rest)
		list[i] = strings.TrimSuffix(lines[0], "\n") + "\n" + strings.Join(rest, "")
	}
	return head + strings.Join(list, "")
}

// resplit cuts every STACK CFI INIT of at least two rows in two at its last row, whose whole state the second INIT
// spells out, and cuts every line record of at least two bytes in two.
func resplit(sym string) string {
	head, list := blocks(sym)
	for i, b := range list {
		rows := strings.Split(strings.TrimSuffix(b, "\n"), "\n")
		if !strings.HasPrefix(b, "STACK CFI INIT") {
			var out []string
			for _, row := range rows {
				w := strings.Split(row, " ")
				size := uint64(0)
				if len(w) == 4 && strings.Trim(w[0], "0123456789abcdef") == "" {
					size, _ = strconv.ParseUint(w[1], 16, 64)
				}
				if size < 2 {
					out = append(out, row)
					continue
				}
				out = append(out, fmt.Sprintf("%s 1 %s %s", w[0], w[2], w[3]), fmt.Sprintf("%s %x %s %s", moved(w[0], 1), size-1, w[2], w[3]))
			}
			list[i] = strings.Join(out, "\n") + "\n"
			continue
		}
		if len(rows) < 2 {
			continue
		}
		first := strings.Split(rows[0], " ")
		start, _ := strconv.ParseUint(first[3], 16, 64)
		size, _ := strconv.ParseUint(first[4], 16, 64)
		last := strings.Split(rows[len(rows)-1], " ")
		at, _ := strconv.ParseUint(last[2], 16, 64)
		var names []string
		rules := map[string]string{}
		for j, row := range rows {
			w := strings.Split(row, " ")[3:]
			if j == 0 {
				w = w[2:]
			}
			name := ""
			for _, token := range w {
				if strings.HasSuffix(token, ":") {
					name = token
					if _, ok := rules[name]; !ok {
						names = append(names, name)
					}
					rules[name] = ""
				} else {
					rules[name] += " " + token
				}
			}
		}
		state := ""
		for _, n := range names {
			state += " " + n + rules[n]
		}
		rows[0] = fmt.Sprintf("STACK CFI INIT %x %x %s", start, at-start, strings.Join(first[5:], " "))
		rows[len(rows)-1] = fmt.Sprintf("STACK CFI INIT %x %x%s", at, start+size-at, state)
		list[i] = strings.Join(rows, "\n") + "\n"
	}
	return head + strings.Join(list, "")
}

func compare(a, b string) *Result { return Compare([]byte(a), []byte(b), Options{}) }

func tell(r *Result) string {
	var b strings.Builder
	_ = r.WriteText(&b, TextOptions{Context: 1})
	return b.String()
}

// TestNoDifference: what is written otherwise but means the same.
func TestNoDifference(t *testing.T) {
	for _, name := range bases {
		base := readBase(t, name)
		for what, edit := range map[string]func(string) string{
			"nothing":    func(s string) string { return s },
			"shifted":    func(s string) string { return shift(s, 0x12340) },
			"renumbered": renumber,
			"reversed":   reverse,
			"split":      resplit,
			"all":        func(s string) string { return reverse(renumber(shift(resplit(s), 0x1000))) },
			"CRLF":       func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				edited := edit(base)
				if what != "nothing" && edited == base {
					t.Fatal("the edit changes nothing")
				}
				for _, r := range []*Result{compare(base, edited), compare(edited, base)} {
					if !r.Same() {
						t.Errorf("reported as a difference:\n%s", tell(r))
					}
				}
			})
		}
	}
}

// TestShift: moved code is told once.
func TestShift(t *testing.T) {
	base := readBase(t, "base-x86_64.sym")
	r := compare(base, shift(base, 0x2000))
	if r.Shift.By != 0x2000 || r.Shift.Others != 0 || r.Shift.Functions == 0 {
		t.Errorf("shift %+v", r.Shift)
	}
	if got := compare(shift(base, 0x2000), base).Shift.By; got != -0x2000 {
		t.Errorf("shift back %#x", got)
	}
}
