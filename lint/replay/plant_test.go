package replay

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symfile"
	"github.com/symlint/symlint/unwind/symstore"
	"github.com/symlint/symlint/unwind/trace"
)

// A defect is planted into the record that unwound a frame of a healthy walk; the walk with the damaged file is then
// held against the healthy one, written and read again as minidump_stackwalk's text.

// defect damages the lines of a symbol file.
type defect struct {
	name string
	win  bool // of STACK WIN records
	// plant changes lines and returns those that are damaged, 1-based; nil if the record is not of the kind.
	plant func(p *planting) []int
}

// planting is the place where a defect goes.
type planting struct {
	lines  []string
	record *unwind.Record
	rules  []unwind.RuleValue
	word   int
	sp, fp string
	dollar bool
	rand   *rand.Rand
}

func (p *planting) line(n int) *string { return &p.lines[n-1] }

// ruleLine returns the line that a register's rule in force stands in, 0 for none.
func (p *planting) ruleLine(register string) int {
	for _, r := range p.rules {
		if r.Register == register {
			return r.Line
		}
	}
	return 0
}

// edit changes the expression of a rule, the last of its name in its line.
func (p *planting) edit(register string, change func(expr string) string) []int {
	n := p.ruleLine(register)
	if n == 0 {
		return nil
	}
	text := *p.line(n)
	at := strings.LastIndex(text, " "+register+": ")
	if at < 0 {
		return nil
	}
	start := at + len(register) + 3
	end := len(text)
	if m := nextRule.FindStringIndex(text[start:]); m != nil {
		end = start + m[0]
	}
	expr := change(text[start:end])
	if expr == text[start:end] {
		return nil
	}
	if expr == "" {
		text = text[:at] + text[end:]
	} else {
		text = text[:start] + expr + text[end:]
	}
	*p.line(n) = text
	return []int{n}
}

var (
	nextRule = regexp.MustCompile(` \S+: `)
	offsetOf = regexp.MustCompile(` (-?\d+) \+`)
)

// intrude puts a record where the INFO record of the file stands, which no walk needs.
func (p *planting) intrude(record string) []int {
	for i, l := range p.lines[:min(len(p.lines), 5)] {
		if strings.HasPrefix(l, "INFO ") {
			p.lines[i] = record
			return []int{i + 1}
		}
	}
	return nil
}

func (p *planting) shift(register string, by int) []int {
	return p.edit(register, func(expr string) string {
		m := offsetOf.FindStringSubmatchIndex(expr)
		if m == nil {
			return expr
		}
		v, _ := strconv.Atoi(expr[m[2]:m[3]])
		return expr[:m[2]] + strconv.Itoa(v+by) + expr[m[3]:]
	})
}

// saved returns a callee-saved register with a rule.
func (p *planting) saved() string {
	var names []string
	for _, r := range p.rules {
		if !strings.HasPrefix(r.Register, ".") && r.Fault == "" {
			names = append(names, r.Register)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return names[p.rand.IntN(len(names))]
}

func swapNames(text, a, b string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		colon := strings.HasSuffix(w, ":")
		w = strings.TrimSuffix(w, ":")
		switch w {
		case a:
			w = b
		case b:
			w = a
		}
		if colon {
			w += ":"
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

var defects = []defect{
	{name: "exchanged registers, whole file", plant: func(p *planting) []int {
		var damaged []int
		for i, l := range p.lines {
			if again := swapNames(l, p.sp, p.fp); strings.HasPrefix(l, "STACK CFI") && again != l {
				p.lines[i] = again
				damaged = append(damaged, i+1)
			}
		}
		return damaged
	}},
	{name: "exchanged registers, one record", plant: func(p *planting) []int {
		n := p.record.Line
		again := swapNames(*p.line(n), p.sp, p.fp)
		if again == *p.line(n) {
			return nil
		}
		*p.line(n) = again
		return []int{n}
	}},
	{name: "CFA a word too high", plant: func(p *planting) []int { return p.shift(".cfa", p.word) }},
	{name: "CFA a word too low", plant: func(p *planting) []int { return p.shift(".cfa", -p.word) }},
	{name: "CFA four words too high", plant: func(p *planting) []int { return p.shift(".cfa", 4*p.word) }},
	{name: "CFA with the wrong sign", plant: func(p *planting) []int {
		return p.edit(".cfa", func(e string) string { return strings.Replace(e, " +", " -", 1) })
	}},
	{name: "CFA from the other register", plant: func(p *planting) []int {
		return p.edit(".cfa", func(e string) string { return swapNames(e, p.sp, p.fp) })
	}},
	{name: "no .cfa rule", plant: func(p *planting) []int { return p.edit(".cfa", func(string) string { return "" }) }},
	{name: "no .ra rule", plant: func(p *planting) []int { return p.edit(".ra", func(string) string { return "" }) }},
	{name: ".ra slot a word off", plant: func(p *planting) []int { return p.shift(".ra", -p.word) }},
	{name: ".ra not dereferenced", plant: func(p *planting) []int {
		return p.edit(".ra", func(e string) string { return strings.TrimSuffix(e, " ^") })
	}},
	{name: "saved register without rule", plant: func(p *planting) []int {
		if r := p.saved(); r != "" {
			return p.edit(r, func(string) string { return "" })
		}
		return nil
	}},
	{name: "saved register in the wrong slot", plant: func(p *planting) []int {
		if r := p.saved(); r != "" {
			return p.shift(r, -p.word)
		}
		return nil
	}},
	{name: "row lost", plant: func(p *planting) []int {
		if len(p.record.Lines) < 2 {
			return nil
		}
		*p.line(p.record.Line) = "INFO lost"
		return p.record.Lines // the rows before it are in force now
	}},
	{name: "overlapping INIT before it", plant: func(p *planting) []int {
		return p.intrude(fmt.Sprintf("STACK CFI INIT %x %x .cfa: %s %d + .ra: .cfa -%d + ^", p.record.Address-1, p.record.Size+1, p.sp, 3*p.word, 3*p.word))
	}},
	{name: "delta of another place", plant: func(p *planting) []int {
		return p.intrude(fmt.Sprintf("STACK CFI %x .cfa: %s %d +", p.record.Lookup, p.sp, 5*p.word))
	}},
	{name: "unknown register names", plant: func(p *planting) []int {
		n := p.ruleLine(".cfa")
		if n == 0 {
			return nil
		}
		old := *p.line(n)
		if p.dollar {
			*p.line(n) = strings.ReplaceAll(old, "$", "")
		} else {
			*p.line(n) = strings.ReplaceAll(old, " "+p.sp+" ", " $"+p.sp+" ")
		}
		if *p.line(n) == old {
			return nil
		}
		return []int{n}
	}},
	{name: "program without $eip", win: true, plant: func(p *planting) []int {
		return p.program(func(s string) string { return strings.ReplaceAll(s, "$eip", "$eax") })
	}},
	{name: "program with exchanged registers", win: true, plant: func(p *planting) []int {
		return p.program(func(s string) string { return swapNames(s, "$ebp", "$esp") })
	}},
	{name: "program without dereference", win: true, plant: func(p *planting) []int {
		return p.program(func(s string) string { return strings.Replace(s, " ^", "", 1) })
	}},
	{name: "locals too large", win: true, plant: func(p *planting) []int { return p.field(8, 0x20) }},
	{name: "saved registers too large", win: true, plant: func(p *planting) []int { return p.field(7, 0x10) }},
}

func (p *planting) program(change func(string) string) []int {
	n := p.record.Line
	old := *p.line(n)
	if !strings.HasPrefix(old, "STACK WIN") {
		return nil
	}
	if *p.line(n) = change(old); *p.line(n) == old {
		return nil
	}
	return []int{n}
}

// field adds to the i-th number behind "STACK WIN".
func (p *planting) field(i int, by uint64) []int {
	return p.program(func(s string) string {
		words := strings.Split(s, " ")
		if len(words) <= i+1 {
			return s
		}
		v, err := strconv.ParseUint(words[i+1], 16, 32)
		if err != nil {
			return s
		}
		words[i+1] = strconv.FormatUint(v+by, 16)
		return strings.Join(words, " ")
	})
}

// plantedSource gives one module other symbols.
type plantedSource struct {
	unwind.SymbolSource
	file    string
	symbols *symfile.Symbols
}

func (s plantedSource) ModuleSymbols(m *unwind.Module) (*symfile.Symbols, error) {
	if m.CodeFile == s.file {
		return s.symbols, nil
	}
	return s.SymbolSource.ModuleSymbols(m)
}

// healthy is a dump with its symbols and the walk that they give.
type healthy struct {
	name   string
	walker *unwind.Walker
	store  *unwind.StoreSource
	walked *trace.Walked
	ref    *Reference
}

func openHealthy(t *testing.T, name, dump string, roots ...string) *healthy {
	t.Helper()
	data, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	p, err := unwind.Open(data, unwind.OpenOptions{})
	if err != nil {
		t.Fatalf("%s: %v", dump, err)
	}
	store, err := symstore.New(roots, symstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	h := &healthy{name: name, store: unwind.FromStore(store)}
	h.walker = &unwind.Walker{Process: p, Symbols: h.store}
	h.walked = trace.Walk(h.walker, false)
	var b bytes.Buffer
	if err := trace.Text(&b, h.walked, trace.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if h.ref, err = ParseReference(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	return h
}

// score counts what became of the planted defects of one kind.
type score struct{ planted, changed, found, blamed, curable, cured int }

// TestPlantedDefects damages records that walks use, and wants the difference found, the record named and the remedy
// proven.
func TestPlantedDefects(t *testing.T) {
	var cases []*healthy
	add := func(name, dump string, roots ...string) { cases = append(cases, openHealthy(t, name, dump, roots...)) }
	if os.Getenv("SYMLINT_CORPUS") != "" || exists(filepath.Join(corpustest.Root(), "..", "shared", "corpus", "MANIFEST.md")) {
		dir := corpustest.Dir(t)
		dumps, _ := filepath.Glob(filepath.Join(dir, "made", "*", "inproc.dmp"))
		for _, d := range dumps {
			add(filepath.Base(filepath.Dir(d)), d, filepath.Join(dir, "made", "symbols"))
		}
		dumps, _ = filepath.Glob(filepath.Join(dir, "public", "*.dmp"))
		for _, d := range dumps {
			add(filepath.Base(d), d, filepath.Join(dir, "public", "symbols"))
		}
	} else {
		dumps, _ := filepath.Glob(filepath.Join(corpustest.Root(), "testdata", "walk", "*.dmp*"))
		for _, d := range dumps {
			add(filepath.Base(d), d, filepath.Join(corpustest.Root(), "testdata", "walk", "symbols"))
		}
	}
	every := 1
	if testing.Short() {
		every = 10
	}
	scores := make([]score, len(defects))
	for k, h := range cases {
		for i := range defects {
			if (k+i)%every == 0 || len(cases) < 8 {
				plantOne(t, h, &defects[i], &scores[i], rand.New(rand.NewPCG(uint64(i), 0)))
			}
		}
	}
	var all score
	for i, s := range scores {
		t.Logf("%-34s planted %3d, walks changed %3d, found %3d, blamed %3d, cured %3d of %3d", defects[i].name, s.planted, s.changed, s.found, s.blamed, s.cured, s.curable)
		all.planted += s.planted
		all.changed += s.changed
		all.found += s.found
		all.blamed += s.blamed
		all.curable += s.curable
		all.cured += s.cured
	}
	t.Logf("%-34s planted %3d, walks changed %3d, found %3d, blamed %3d, cured %3d of %3d", "all", all.planted, all.changed, all.found, all.blamed, all.cured, all.curable)
	if all.changed == 0 || all.found < all.changed {
		t.Errorf("%d of %d changed walks were found", all.found, all.changed)
	}
	if 100*all.blamed < 95*all.changed {
		t.Errorf("%d of %d blamed rightly, want 95 %%", all.blamed, all.changed)
	}
	if 100*all.cured < 80*all.curable {
		t.Errorf("%d of %d cured, want 80 %%", all.cured, all.curable)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// plantOne damages one record that a random step of a random thread used.
func plantOne(t *testing.T, h *healthy, d *defect, s *score, r *rand.Rand) {
	type place struct{ thread, frame int }
	var places []place
	want := unwind.ByCFI
	if d.win {
		want = unwind.ByWin
	}
	for i, stack := range h.walked.Stacks {
		for j := range stack.Frames {
			if j > 0 && unwind.Outermost(stack.Frames[j-1].Function) {
				break // what lies beyond is made up
			}
			if stack.Frames[j].Technique == want {
				places = append(places, place{i, j})
			}
		}
	}
	for _, k := range r.Perm(len(places)) {
		at := places[k]
		attempt := (&Explain{h.walker.Explain(h.walked.Stacks[at.thread], at.frame)}).found()
		if attempt == nil || attempt.Record == nil {
			continue
		}
		m := attempt.Record.Module
		result := h.store.Result(m)
		data, err := os.ReadFile(result.Path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 20<<20 {
			continue
		}
		cpu := h.walked.Stacks[at.thread].Frames[0].Registers.CPU
		p := &planting{
			lines: strings.Split(string(data), "\n"), record: attempt.Record, rules: attempt.Rules, word: cpu.Word, sp: cpu.SP, fp: cpu.FP,
			dollar: cpu.Dollar, rand: r,
		}
		damaged := d.plant(p)
		if damaged == nil {
			continue
		}
		s.planted++
		symbols := symfile.Load([]byte(strings.Join(p.lines, "\n")), symfile.Options{})
		w := &unwind.Walker{Process: h.walker.Process, Symbols: plantedSource{h.store, m.CodeFile, symbols}}
		judgePlanted(t, h, w, d, s, at.thread, at.frame, damaged, m)
		return
	}
}

// Explain wraps an explanation.
type Explain struct{ e *unwind.Explanation }

func (x *Explain) found() *unwind.Attempt { return x.e.Found() }

func judgePlanted(t *testing.T, h *healthy, w *unwind.Walker, d *defect, s *score, thread, frame int, damaged []int, m *unwind.Module) {
	changed := false
	stack := w.Walk(thread)
	before := h.walked.Stacks[thread]
	changed = len(stack.Frames) != len(before.Frames)
	for i := range stack.Frames {
		if !changed && stack.Frames[i].Return != before.Frames[i].Return {
			changed = true
		}
	}
	if !changed {
		return
	}
	s.changed++
	for _, r := range Verify(w, h.ref, VerifyOptions{}) {
		if r.Thread != thread {
			continue
		}
		if r.Matched() {
			t.Logf("%s: %s at line %v, thread %d frame %d: not found", h.name, d.name, damaged[:min(4, len(damaged))], thread, frame)
			return
		}
		s.found++
		right := false
		for _, n := range damaged {
			right = right || r.Blame != nil && r.Blame.Line == n && r.Blame.Attempt != nil && r.Blame.Attempt.Record.Module == m
		}
		if right {
			s.blamed++
		} else if r.Blame != nil {
			t.Logf("%s: %s at line %v, thread %d frame %d: blamed line %d: %s; remedy %s", h.name, d.name, damaged[:min(4, len(damaged))], thread, frame, r.Blame.Line, r.Blame.Describe(r.Stack), remedyText(r.Remedy))
		}
		s.curable++
		if r.Remedy != nil {
			s.cured++
		} else {
			t.Logf("%s: %s at line %v, thread %d frame %d: no remedy; blame %s", h.name, d.name, damaged[:min(4, len(damaged))], thread, frame, r.Blame.Describe(r.Stack))
		}
		return
	}
	t.Errorf("%s: thread %d was not verified", h.name, thread)
}

func remedyText(r *Remedy) string {
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%s (line %d)", r.Text, r.Line)
}
