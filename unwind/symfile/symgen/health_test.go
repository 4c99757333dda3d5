package symgen

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// reader checks a whole file against what the writers guarantee, in the plainest way: it shares nothing with the package.
type reader struct {
	t    *testing.T
	line int
	text string

	seen           string // the record type under way
	files, origins map[int]bool
	used, inlined  map[int]bool
	symbols        []extent // FUNC and PUBLIC; a PUBLIC ends where its INIT does
	inits          map[int]int
	lineAt         int // end of the line before
	inlines        []extent

	deltas   int // address of the last row of this INIT
	initEnd  int
	entry    int
	cfa      cfa
	saved    map[string]int // register → distance of its slot below the CFA
	bodies   map[cfa]bool   // states seen in this INIT
	framePtr bool           // $rbp holds the caller's frame plus 16

	wins   map[int][]extent
	params map[int]int
}

type extent struct {
	start, end int
	public     bool
}

type cfa struct {
	register string
	offset   int
}

func (r *reader) errorf(format string, a ...any) {
	r.t.Helper()
	r.t.Errorf("line %d: %s: %s", r.line, r.text, fmt.Sprintf(format, a...))
}

// order in which the record types may follow one another.
var order = map[string][]string{
	"elf": {"MODULE", "INFO", "FILE", "INLINE_ORIGIN", "FUNC", "PUBLIC", "STACK"},
	"win": {"MODULE", "INFO", "FILE", "FUNC", "STACK"},
}

func TestHealthy(t *testing.T) {
	for _, k := range kinds {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(k.name, seed), func(t *testing.T) {
				check(t, string(generate(t, k, seed, 6e6)), k.name == "win")
			})
		}
	}
}

func check(t *testing.T, file string, win bool) {
	r := &reader{t: t, files: map[int]bool{}, origins: map[int]bool{}, used: map[int]bool{}, inlined: map[int]bool{},
		inits: map[int]int{}, wins: map[int][]extent{}, params: map[int]int{}}
	rank := map[string]int{}
	for i, s := range order[map[bool]string{false: "elf", true: "win"}[win]] {
		rank[s] = i
	}
	if !strings.HasSuffix(file, "\n") {
		t.Error("no final newline")
	}
	for text := range strings.Lines(file) {
		r.line, r.text = r.line+1, strings.TrimSuffix(text, "\n")
		if strings.Contains(r.text, "  ") || strings.TrimSpace(r.text) != r.text {
			r.errorf("spacing")
		}
		f := strings.Split(r.text, " ")
		if n, ok := rank[f[0]]; ok {
			if n < rank[r.seen] {
				r.errorf("after %s", r.seen)
			}
			r.seen = f[0]
		}
		switch f[0] {
		case "MODULE", "INFO":
		case "FILE":
			r.define(r.files, f)
		case "INLINE_ORIGIN":
			r.define(r.origins, f)
		case "FUNC":
			r.function(f)
		case "INLINE":
			r.inline(f)
		case "PUBLIC":
			r.public(f)
		case "STACK":
			if f[1] == "CFI" {
				r.stackCFI(f[2:])
			} else {
				r.stackWin(f[2:])
			}
		default:
			r.lineRecord(f)
		}
		if t.Failed() {
			return
		}
	}
	r.finish(win)
}

func (r *reader) hex(s string) int { return number(r.t, s, 16) }
func (r *reader) dec(s string) int { return number(r.t, s, 10) }

func (r *reader) define(ids map[int]bool, f []string) {
	id := r.dec(f[1])
	if ids[id] || len(f) < 3 || f[2] == "" {
		r.errorf("id twice or name empty")
	}
	ids[id] = true
}

func (r *reader) function(f []string) {
	start, size := r.hex(f[1]), r.hex(f[2])
	r.symbol(extent{start, start + size, false})
	r.params[start] = r.hex(f[3])
	if size == 0 || len(f) < 5 {
		r.errorf("no size or no name")
	}
	r.lineAt, r.inlines = start, r.inlines[:0]
}

func (r *reader) symbol(e extent) {
	if n := len(r.symbols); n > 0 {
		last := r.symbols[n-1]
		if !last.public && !e.public {
			if e.start != last.end && last.end != r.lineAt {
				r.errorf("lines of the function before end at %x, not at %x", r.lineAt, last.end)
			}
			if e.start < last.end {
				r.errorf("overlaps or goes back")
			}
		}
		if last.public && e.public && e.start <= last.start {
			r.errorf("PUBLIC not ascending")
		}
	}
	r.symbols = append(r.symbols, e)
}

func (r *reader) public(f []string) {
	start := r.hex(f[1])
	r.symbol(extent{start, start, true})
	r.params[start] = r.hex(f[2])
	for _, s := range f[3:] {
		if at := strings.LastIndexByte(s, '@'); at > 0 && r.dec(s[at+1:]) != r.params[start] {
			r.errorf("parameter size")
		}
	}
}

func (r *reader) lineRecord(f []string) {
	start, size, number, file := r.hex(f[0]), r.hex(f[1]), r.dec(f[2]), r.dec(f[3])
	if start != r.lineAt || size == 0 || number == 0 || !r.files[file] || len(f) != 4 {
		r.errorf("line record, expected one at %x", r.lineAt)
	}
	r.used[file] = true
	r.lineAt += size
	if f := r.symbols[len(r.symbols)-1]; r.lineAt > f.end {
		r.errorf("behind its FUNC")
	}
}

// inline: r.inlines holds the chain of calls that the last one stands in.
func (r *reader) inline(f []string) {
	level, file, origin := r.dec(f[1]), r.dec(f[3]), r.dec(f[4])
	e := extent{r.hex(f[5]), r.hex(f[5]) + r.hex(f[6]), false}
	if !r.files[file] || !r.origins[origin] || len(f) != 7 || e.end == e.start {
		r.errorf("form")
	}
	r.used[file], r.inlined[origin] = true, true
	if level > len(r.inlines) {
		r.errorf("level")
		return
	}
	if level < len(r.inlines) && e.start < r.inlines[level].end {
		r.errorf("overlaps the call before")
	}
	parent := r.symbols[len(r.symbols)-1]
	if level > 0 {
		parent = r.inlines[level-1]
	}
	if e.start < parent.start || e.end > parent.end {
		r.errorf("outside its parent")
	}
	r.inlines = append(r.inlines[:level], e)
}

func (r *reader) stackCFI(f []string) {
	if f[0] == "INIT" {
		start, size := r.hex(f[1]), r.hex(f[2])
		if start < r.initEnd || size == 0 {
			r.errorf("overlap or no size")
		}
		if got := strings.Join(f[3:], " "); got != ".cfa: $rsp 8 + .ra: .cfa -8 + ^" {
			r.errorf("not the state at an entry")
		}
		r.inits[start] = start + size
		r.initEnd, r.deltas, r.entry = start+size, start, start
		r.cfa, r.saved, r.framePtr = cfa{"$rsp", 8}, map[string]int{}, false
		r.bodies = map[cfa]bool{}
		return
	}
	at := r.hex(f[0])
	if at <= r.deltas || at >= r.initEnd {
		r.errorf("outside its INIT or out of order")
	}
	length := at - r.deltas
	r.deltas = at
	r.rules(f[1:], length)
}

// rules holds one row against the machine state before it. length is the number of bytes of code since the last row.
func (r *reader) rules(f []string, length int) {
	var previous string
	pushed := 0 // registers whose slots this row adds
	next := r.cfa
	for len(f) > 0 {
		name := strings.TrimSuffix(f[0], ":")
		if name == f[0] {
			r.errorf("no rule: %s", f[0])
			return
		}
		if name <= previous {
			r.errorf("rules not in the writer's order")
		}
		previous = name
		switch {
		case name == ".cfa" && len(f) >= 4 && f[3] == "+":
			next = cfa{f[1], r.dec(f[2])}
			f = f[4:]
		case len(f) >= 5 && f[1] == ".cfa" && f[3] == "+" && f[4] == "^":
			distance := -r.dec(f[2])
			if distance%8 != 0 || distance < 16 {
				r.errorf("slot of %s", name)
			}
			for other, d := range r.saved {
				if other == name || d == distance {
					r.errorf("slot of %s taken by %s", name, other)
				}
			}
			r.saved[name] = distance
			pushed++
			f = f[5:]
		case len(f) >= 2 && f[1] == name:
			if _, ok := r.saved[name]; !ok {
				r.errorf("%s given back without having been saved", name)
			}
			delete(r.saved, name)
			f = f[2:]
		default:
			r.errorf("form of a rule")
			return
		}
	}
	r.step(next, length)
	for register, distance := range r.saved {
		if r.cfa.register == "$rsp" && pushed > 0 && distance > r.cfa.offset {
			r.errorf("slot of %s below the stack pointer", register)
		}
	}
}

// step accepts a change of the CFA that one instruction explains: a push or pop, an adjustment, setting up or leaving the
// frame pointer, or a jump past a return, behind which an earlier state holds again.
func (r *reader) step(next cfa, length int) {
	last := r.cfa
	r.cfa = next
	r.bodies[last] = true
	if next.offset%8 != 0 || next.offset < 8 {
		r.errorf("CFA offset")
	}
	switch {
	case next == last:
		return
	case r.bodies[next]: // includes pops back to a depth that a push made
		return
	case last.register == "$rsp" && next.register == "$rsp":
		change := next.offset - last.offset
		if change == -8 || change == 8 {
			return
		}
		if length < 4 {
			r.errorf("%d bytes of code cannot adjust the stack by %d", length, change)
		}
	case last == cfa{"$rsp", 16} && next == cfa{"$rbp", 16}:
		if r.saved["$rbp"] != 16 || length < 3 {
			r.errorf("frame pointer set up without having been saved")
		}
	default:
		r.errorf("from %v", last)
	}
}

func (r *reader) stackWin(f []string) {
	if len(f) < 11 {
		r.errorf("too few fields")
		return
	}
	kind := r.hex(f[0])
	e := extent{r.hex(f[1]), r.hex(f[1]) + r.hex(f[2]), false}
	prologue, params, saved, locals := r.hex(f[3]), r.hex(f[5]), r.hex(f[6]), r.hex(f[7])
	outer := e.start
	for _, o := range r.wins[kind] {
		if e.start < o.end && o.start < e.end {
			if e.start < o.start || e.end != o.end || e.start == o.start {
				r.errorf("neither nested nor apart")
			}
			outer = o.start
		}
	}
	r.wins[kind] = append(r.wins[kind], e)
	if n := len(r.wins[kind]); n > 4 {
		r.wins[kind] = r.wins[kind][n-4:] // records go by address
	}
	if want, ok := r.params[outer]; !ok || want != params {
		r.errorf("parameter size, want %#x", want)
	}
	r.inits[outer] = e.end
	if prologue > e.end-e.start {
		r.errorf("prologue")
	}
	switch {
	case kind == 4 && f[9] == "1":
		r.program(f[10:], saved, locals)
	case kind == 0 && f[9] == "0" && len(f) == 11 && (f[10] == "0" || f[10] == "1" && saved >= 4):
	default:
		r.errorf("type, flag and last field disagree")
	}
}

// program runs a program with made-up memory: every operand must be known, the stack empty in the end, and $eip and $esp
// assigned; registers must come from saved bytes below the locals.
func (r *reader) program(f []string, saved, locals int) {
	known := map[string]bool{"$ebp": true, "$esp": true, ".raSearch": true, ".cbSavedRegs": true, ".cbParams": true}
	assigned := map[string]bool{}
	var stack []string
	need := func(n int) bool {
		if len(stack) < n {
			r.errorf("underflow")
			stack = nil
			return false
		}
		return true
	}
	value := func(s string) {
		if _, err := strconv.Atoi(s); err != nil && s != "value" && !known[s] {
			r.errorf("%s unknown", s)
		}
	}
	for i, s := range f {
		switch s {
		case "+", "-":
			if !need(2) {
				return
			}
			value(stack[len(stack)-1])
			value(stack[len(stack)-2])
			stack = append(stack[:len(stack)-2], "value")
		case "^":
			if !need(1) {
				return
			}
			value(stack[len(stack)-1])
			stack[len(stack)-1] = "value"
		case "=":
			if !need(2) {
				return
			}
			value(stack[len(stack)-1])
			target := stack[len(stack)-2]
			if target[0] != '$' {
				r.errorf("%s assigned", target)
			}
			known[target], assigned[target] = true, true
			if target == "$ebx" || target == "$esi" || target == "$edi" {
				if d := r.dec(f[i-3]); d <= locals || d > locals+saved {
					r.errorf("%s restored from outside the saved registers", target)
				}
			}
			stack = stack[:len(stack)-2]
		default:
			stack = append(stack, s)
		}
	}
	if len(stack) != 0 || !assigned["$eip"] || !assigned["$esp"] {
		r.errorf("program")
	}
}

// finish checks what only the whole file shows.
func (r *reader) finish(win bool) {
	if len(r.used) != len(r.files) || len(r.inlined) != len(r.origins) {
		r.t.Errorf("%d of %d files and %d of %d origins used", len(r.used), len(r.files), len(r.inlined), len(r.origins))
	}
	if len(r.files) == 0 || len(r.symbols) == 0 {
		r.t.Error("no files or no symbols")
	}
	functions := map[int]int{}
	for _, s := range r.symbols {
		end, ok := r.inits[s.start]
		if !ok || !s.public && end != s.end {
			r.t.Errorf("%x to %x: unwind rows to %x", s.start, s.end, end)
		}
		if !s.public {
			functions[s.start] = s.end
		}
	}
	// The rows of a PUBLIC bound it: no function may reach in.
	last, public := 0, 0
	for _, s := range r.symbols {
		if s.public {
			public++
			if _, ok := functions[s.start]; ok {
				r.t.Errorf("PUBLIC %x at a FUNC", s.start)
			}
		}
	}
	if public == 0 {
		r.t.Error("no PUBLIC")
	}
	if win {
		for _, s := range r.symbols {
			if s.start < last {
				r.t.Errorf("%x: records not by address", s.start)
			}
			last = max(s.end, s.start)
		}
		return
	}
	var inside int
	starts := make([]extent, 0, len(functions))
	for _, s := range r.symbols {
		if !s.public {
			starts = append(starts, s)
		}
	}
	for _, p := range r.symbols {
		for inside < len(starts) && p.public && starts[inside].end <= p.start {
			inside++
		}
		if p.public && inside < len(starts) && starts[inside].start < r.inits[p.start] {
			r.t.Errorf("PUBLIC %x and FUNC %x overlap", p.start, starts[inside].start)
		}
	}
}
