package symfile

import (
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// model answers the questions a module is asked by going through all records for each, after the table of map policies.
type model struct {
	policy  Policy
	funcs   []modelFunc
	publics []modelName
	inits   []modelInit
	deltas  []modelRow // in the order of the file
	wins    []modelWin
}

type modelRange struct{ addr, size uint64 }

func (r modelRange) has(a uint64) bool { return r.size > 0 && a >= r.addr && a-r.addr < r.size }
func (r modelRange) overlaps(o modelRange) bool {
	return r.addr < o.addr+o.size && o.addr < r.addr+r.size
}
func (r modelRange) lower(o modelRange) bool {
	return r.addr < o.addr || r.addr == o.addr && r.size < o.size
}

type modelName struct {
	addr uint64
	name string
}

type modelFunc struct {
	modelRange
	name  string
	lines []modelLine
}

type modelLine struct {
	modelRange
	number int
}

type modelRow struct {
	addr uint64
	regs []string // pairs
}

type modelInit struct {
	modelRange
	modelRow
	deltas []modelRow
}

type modelWin struct {
	modelRange
	kind int
	name string
}

// kept returns the positions of the ranges that a map keeps: first in the file, or lowest (start, end).
func kept(p Policy, n int, at func(int) modelRange) (out []int) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if p == RustMinidump {
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case at(a).lower(at(b)):
				return -1
			case at(b).lower(at(a)):
				return 1
			}
			return 0
		})
	}
	for _, i := range order {
		if at(i).size > 0 && !slices.ContainsFunc(out, func(k int) bool { return at(k).overlaps(at(i)) }) {
			out = append(out, i)
		}
	}
	return out
}

func (m *model) symbol(a uint64) string {
	var below uint64
	found := false
	for _, i := range kept(m.policy, len(m.funcs), func(i int) modelRange { return m.funcs[i].modelRange }) {
		f := &m.funcs[i]
		if f.has(a) {
			s := fmt.Sprintf("%s@%x", f.name, f.addr)
			for _, l := range kept(m.policy, len(f.lines), func(i int) modelRange { return f.lines[i].modelRange }) {
				if f.lines[l].has(a) {
					s += fmt.Sprintf(" f:%d", f.lines[l].number)
				}
			}
			return s
		}
		if f.addr < a && (!found || f.addr > below) {
			below, found = f.addr, true
		}
	}
	best := -1
	for i, p := range m.publics {
		switch {
		case p.addr > a, p.addr == 0 && m.policy == Breakpad:
		case best < 0, p.addr > m.publics[best].addr, p.addr == m.publics[best].addr && m.policy == RustMinidump && p.name > m.publics[best].name:
			best = i
		}
	}
	if best < 0 || found && m.publics[best].addr <= below {
		return ""
	}
	return fmt.Sprintf("%s@%x", m.publics[best].name, m.publics[best].addr)
}

func (m *model) cfi(a uint64) string {
	for _, i := range kept(m.policy, len(m.inits), func(i int) modelRange { return m.inits[i].modelRange }) {
		in := &m.inits[i]
		if !in.has(a) {
			continue
		}
		rules := map[string]string{}
		apply := func(r modelRow) {
			for i := 0; i < len(r.regs); i += 2 {
				rules[r.regs[i]] = r.regs[i+1]
			}
		}
		apply(in.modelRow)
		var rows []modelRow
		if m.policy == Breakpad {
			for x := in.modelRange.addr; x <= a; x++ { // the last one in the file for each address
				for i := len(m.deltas) - 1; i >= 0; i-- {
					if m.deltas[i].addr == x {
						rows = append(rows, m.deltas[i])
						break
					}
				}
			}
		} else {
			for _, d := range in.deltas {
				if d.addr <= a {
					rows = append(rows, d)
				}
			}
			slices.SortFunc(rows, func(a, b modelRow) int {
				if a.addr != b.addr {
					return map[bool]int{true: -1, false: 1}[a.addr < b.addr]
				}
				return strings.Compare(ruleText(a), ruleText(b))
			})
		}
		for _, r := range rows {
			apply(r)
		}
		var names, parts []string
		for n := range rules {
			names = append(names, n)
		}
		slices.Sort(names) // .cfa, .ra before letters
		for _, n := range names {
			parts = append(parts, n+" "+rules[n])
		}
		return strings.Join(parts, " ")
	}
	return ""
}

func (m *model) win(a uint64) string {
	for _, kind := range []int{4, 0} {
		var of []modelWin
		for _, w := range m.wins {
			if w.kind != kind || w.size == 0 {
				continue
			}
			crosses := false
			for i := range of {
				k := &of[i]
				if m.policy == Breakpad {
					nested := k.addr <= w.addr && w.addr+w.size <= k.addr+k.size || w.addr <= k.addr && k.addr+k.size <= w.addr+w.size
					crosses = crosses || k.modelRange == w.modelRange || k.overlaps(w.modelRange) && !nested
				} else if i == len(of)-1 && k.overlaps(w.modelRange) {
					if w.addr > k.addr {
						k.size = w.addr - k.addr
					} else if k.modelRange != w.modelRange {
						crosses = true
					}
				}
			}
			if !crosses {
				of = append(of, w)
			}
		}
		if m.policy == RustMinidump {
			for _, i := range kept(m.policy, len(of), func(i int) modelRange { return of[i].modelRange }) {
				if of[i].has(a) {
					return fmt.Sprintf("%s %x+%x", of[i].name, of[i].addr, of[i].size)
				}
			}
			continue
		}
		best := -1
		for i := range of {
			if of[i].has(a) && (best < 0 || of[i].size < of[best].size) {
				best = i
			}
		}
		if best >= 0 {
			return fmt.Sprintf("%s %x+%x", of[best].name, of[best].addr, of[best].size)
		}
	}
	return ""
}

func ruleText(r modelRow) string {
	var parts []string
	for i := 0; i < len(r.regs); i += 2 {
		parts = append(parts, r.regs[i]+": "+r.regs[i+1])
	}
	return strings.Join(parts, " ")
}

// randomModule writes a file with many conflicts and the model of it. Deltas never stand below their INIT's start:
// rust-minidump applies such ones, the table of policies does not say so, and TestRustDeltaBelow holds it.
func randomModule(r *rand.Rand, p Policy) (*model, string) {
	m := &model{policy: p}
	var b strings.Builder
	b.WriteString("MODULE Linux x86_64 000000000000000000000000000000000 a\nFILE 0 f\n")
	addr := func() uint64 { return uint64(0x100 + r.IntN(64)) }
	size := func() uint64 { return uint64(r.IntN(24)) }
	n := 0
	name := func() string { n++; return fmt.Sprintf("n%02d", (n*37)%100) }
	regs := func(all bool) (out []string) {
		for _, reg := range []string{".cfa", ".ra", "r1", "r2"} {
			if all && reg[0] == '.' || r.IntN(3) == 0 {
				out = append(out, reg, fmt.Sprint(r.IntN(50)))
			}
		}
		if out == nil {
			out = []string{"r1", "7"}
		}
		return out
	}
	for range 4 + r.IntN(24) {
		switch r.IntN(4) {
		case 0:
			f := modelFunc{modelRange{addr(), size()}, name(), nil}
			fmt.Fprintf(&b, "FUNC %x %x 0 %s\n", f.addr, f.size, f.name)
			for range r.IntN(6) {
				l := modelLine{modelRange{addr(), size() / 2}, r.IntN(100)}
				f.lines = append(f.lines, l)
				fmt.Fprintf(&b, "%x %x %d 0\n", l.addr, l.size, l.number)
			}
			m.funcs = append(m.funcs, f)
		case 1:
			q := modelName{addr() * uint64(r.IntN(8)) / 4, name()}
			fmt.Fprintf(&b, "PUBLIC %x 0 %s\n", q.addr, q.name)
			m.publics = append(m.publics, q)
		case 2:
			in := modelInit{modelRange{addr(), size()}, modelRow{}, nil}
			in.modelRow = modelRow{in.modelRange.addr, regs(true)}
			fmt.Fprintf(&b, "STACK CFI INIT %x %x %s\n", in.modelRange.addr, in.size, ruleText(in.modelRow))
			for range r.IntN(5) {
				d := modelRow{in.modelRange.addr + uint64(r.IntN(30)), regs(false)}
				fmt.Fprintf(&b, "STACK CFI %x %s\n", d.addr, ruleText(d))
				in.deltas = append(in.deltas, d)
				m.deltas = append(m.deltas, d)
			}
			m.inits = append(m.inits, in)
		case 3:
			w := modelWin{modelRange{addr(), size()}, r.IntN(2) * 4, name()}
			text := "1 " + w.name
			if w.kind == 0 {
				text, w.name = "0 0", ""
			}
			fmt.Fprintf(&b, "STACK WIN %d %x %x 0 0 0 0 0 0 %s\n", w.kind, w.addr, w.size, text)
			m.wins = append(m.wins, w)
		}
	}
	return m, b.String()
}

func TestModel(t *testing.T) {
	for seed := range uint64(800) {
		p := Policy(seed % 2)
		want, text := randomModule(rand.New(rand.NewPCG(seed, 9)), p)
		m := Load([]byte(text), Options{Policy: p})
		if err := m.Rejected(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		for a := uint64(0); a < 0x180; a++ {
			got := look(m, a)
			if w := want.symbol(a); got != w {
				t.Fatalf("seed %d (%s): symbol at %#x: %q, want %q\n%s", seed, p, a, got, w, text)
			}
			cfi := ""
			if c := m.CFI(a); c != nil {
				var parts []string
				for _, r := range c.Rules {
					parts = append(parts, r.Name+" "+r.Expr)
				}
				cfi = strings.Join(parts, " ")
			}
			if w := want.cfi(a); cfi != w {
				t.Fatalf("seed %d (%s): CFI at %#x: %q, want %q\n%s", seed, p, a, cfi, w, text)
			}
			win := ""
			if w, ok := m.Win(a); ok && !w.ParamOnly {
				win = fmt.Sprintf("%s %x+%x", w.Program, w.Addr, w.Size)
			}
			if w := want.win(a); win != w {
				t.Fatalf("seed %d (%s): STACK WIN at %#x: %q, want %q\n%s", seed, p, a, win, w, text)
			}
		}
	}
}

// rust-minidump's list of deltas is cut at the address only from above.
func TestRustDeltaBelow(t *testing.T) {
	text := "STACK CFI INIT 1000 10 .cfa: 1 .ra: 2\nSTACK CFI 800 .cfa: 9\n"
	if got := rulesAt(Load([]byte(text), Options{Policy: RustMinidump}), 0x1000); got != ".cfa: 9 (2) .ra: 2 (1)" {
		t.Errorf("rules %q", got)
	}
	if got := rulesAt(Load([]byte(text), Options{}), 0x1000); got != ".cfa: 1 (1) .ra: 2 (1)" {
		t.Errorf("breakpad: rules %q", got)
	}
}

func corpusFiles(t *testing.T, dirs ...string) map[string][]byte {
	t.Helper()
	root := corpustest.Dir(t)
	out := map[string][]byte{}
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sym") && !strings.HasSuffix(path, ".sym.gz") {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			var r io.Reader = f
			if strings.HasSuffix(path, ".gz") {
				if r, err = gzip.NewReader(f); err != nil {
					return err
				}
			}
			data, err := io.ReadAll(r)
			rel, _ := filepath.Rel(root, path)
			out[rel] = data
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestCorpusPolicies: on files that both readers take without complaint they find the same function, line and CFA at
// every record, but for those that overlap.
func TestCorpusPolicies(t *testing.T) {
	files := corpusFiles(t, "made", "pairs", "cpu", "bad/base-x86.sym", "bad/base-x86_64.sym", "bad/base-windows-x86.sym")
	questions := 0
	for path, data := range files {
		google, rust := Load(data, Options{}), Load(data, Options{Policy: RustMinidump})
		if corrupt, errs := google.Corrupt(); corrupt {
			t.Errorf("%s: %v", path, errs)
			continue
		}
		if err := rust.Rejected(); err != nil {
			if !strings.Contains(string(data), " -1 ") { // INLINE without a call-site file
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if google.Funcs() != rust.Funcs() {
			t.Errorf("%s: %d functions against %d", path, google.Funcs(), rust.Funcs())
		}
		for i := range google.Funcs() {
			f := google.FuncAt(i)
			if g, ok := rust.Func(f.Addr); !ok || g.Name != f.Name || g.Size != f.Size {
				t.Fatalf("%s: FUNC %x: %v against %v", path, f.Addr, f, g)
			}
			lines := google.Lines(f)
			if !slices.Equal(lines, rust.Lines(f)) {
				t.Fatalf("%s: lines of %s differ", path, f.Name)
			}
			for _, a := range append([]uint64{f.Addr, f.Addr + f.Size - 1}, linesStarts(lines)...) {
				questions++
				x, y := look(google, a), look(rust, a)
				if x != y && !strings.Contains(x, "{") && !strings.Contains(y, "{") {
					t.Fatalf("%s: at %#x %q against %q", path, a, x, y)
				}
				// mips functions end in a delta at the first address behind them: Google's reader applies it to the next one.
				if x, y := cfaAt(google, a), cfaAt(rust, a); x != y && google.Header().Arch != "mips" {
					t.Fatalf("%s: at %#x CFA %q against %q", path, a, x, y)
				}
			}
		}
	}
	if questions < 10000 {
		t.Errorf("only %d addresses compared in %d files", questions, len(files))
	}
}

func linesStarts(lines []SourceLine) (out []uint64) {
	for _, l := range lines {
		out = append(out, l.Addr)
	}
	return out
}

func cfaAt(m *Symbols, a uint64) string {
	c := m.CFI(a)
	if c == nil {
		return ""
	}
	r, _ := c.Rule(".cfa")
	return fmt.Sprintf("%x %s %d %s", c.Addr, r.Expr, len(c.Rows), c.Err)
}
