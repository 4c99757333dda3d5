package postfix

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// The interpreters in this file work on text, the way the two consumers do, and share nothing with the compiler.

// world is what an expression is evaluated against in tests: variables under their full names and a memory in which
// every word holds its address plus one, except above limit.
type world struct {
	vars  map[string]uint64
	limit uint64
	rust  bool // variables are registers without '$'
}

func (w world) Variable(p *Program, i int) (uint64, bool) {
	name := p.Names[i].Text
	if w.rust && p.Dialect == CFI {
		name = RustMinidump.Operand(name)
	}
	v, ok := w.vars[name]
	return v, ok
}

func (w world) Load(a uint64) (uint64, bool) { return a + 1, a < w.limit }

var testWorld = world{
	vars: map[string]uint64{
		"$rsp": 0x7fff12345678, "$ebp": 0xfffffff0, "$esp": 0x1000, "$T9": 7, "sp": 0x2000, "x29": 0xffffffffffffffff, ".cbLocals": 12, ".raSearch": 0x1040,
	},
	limit: 0xfffffffffffff000,
}

// outcome is what an interpreter comes to.
type outcome struct {
	ok      bool
	crash   bool
	value   uint64
	changes map[string]uint64
}

type directBreakpad struct {
	bits  int
	stack []string
	dict  map[string]uint64
	set   map[string]uint64
	crash bool
	w     world
}

func (d *directBreakpad) cut(v uint64) uint64 {
	if d.bits == 32 {
		return v & 0xffffffff
	}
	return v
}

// number follows PopValueOrIdentifier: '-' by hand, then what a stream reads into an unsigned word.
func (d *directBreakpad) number(token string) (uint64, bool) {
	minus := strings.HasPrefix(token, "-")
	token = strings.TrimPrefix(token, "-")
	again := strings.HasPrefix(token, "-")
	if again || strings.HasPrefix(token, "+") {
		token = token[1:]
	}
	if token == "" || strings.Trim(token, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(token, 10, d.bits)
	if err != nil {
		return 0, false
	}
	if minus != again {
		v = -v
	}
	return d.cut(v), true
}

func (d *directBreakpad) pop() (uint64, bool) {
	if len(d.stack) == 0 {
		return 0, false
	}
	token := d.stack[len(d.stack)-1]
	d.stack = d.stack[:len(d.stack)-1]
	if v, ok := d.number(token); ok {
		return v, true
	}
	v, ok := d.dict[token]
	return v, ok
}

func (d *directBreakpad) token(token string) bool {
	switch token {
	case "+", "-", "*", "/", "%", "@":
		b, ok := d.pop()
		if !ok {
			return false
		}
		a, ok := d.pop()
		if !ok {
			return false
		}
		var r uint64
		switch token {
		case "+":
			r = a + b
		case "-":
			r = a - b
		case "*":
			r = a * b
		case "@":
			r = a & ^(d.cut(b - 1))
		default:
			if b == 0 {
				d.crash = true
				return false
			}
			if r = a / b; token == "%" {
				r = a % b
			}
		}
		d.stack = append(d.stack, strconv.FormatUint(d.cut(r), 10))
	case "^":
		a, ok := d.pop()
		if !ok {
			return false
		}
		v, ok := d.w.Load(a)
		if !ok {
			return false
		}
		d.stack = append(d.stack, strconv.FormatUint(d.cut(v), 10))
	case "=":
		v, ok := d.pop()
		if !ok || len(d.stack) == 0 {
			return false
		}
		target := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if _, literal := d.number(target); literal {
			d.crash = target[0] == '-'
			return false
		}
		if target[0] != '$' {
			return false
		}
		d.dict[target], d.set[target] = v, v
	default:
		d.stack = append(d.stack, token)
	}
	return true
}

func interpretBreakpad(text string, d Dialect, bits int, w world) outcome {
	in := directBreakpad{bits: bits, dict: map[string]uint64{}, set: map[string]uint64{}, w: w}
	for k, v := range w.vars {
		in.dict[k] = in.cut(v)
	}
	o := outcome{changes: in.set}
	for _, token := range strings.Fields(text) {
		if len(token) > 1 && token[0] == '=' {
			if !in.token("=") || !in.token(token[1:]) {
				o.crash = in.crash
				return o
			}
		} else if !in.token(token) {
			o.crash = in.crash
			return o
		}
	}
	if d == Win {
		o.ok = len(in.stack) == 0
		return o
	}
	if len(in.stack) == 1 {
		o.value, o.ok = in.pop()
	}
	return o
}

func interpretRustCFI(text string, bits int, w world) outcome {
	var stack []uint64
	pop := func() (uint64, bool) {
		if len(stack) == 0 {
			return 0, false
		}
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return v, true
	}
	register := func(name string) (uint64, bool) {
		v, ok := w.vars[name]
		return v, ok && name != ".cfa"
	}
	for _, token := range strings.Fields(text) {
		switch token {
		case "+", "-", "*", "/", "%", "@":
			b, okB := pop()
			a, okA := pop()
			if !okA || !okB || (b == 0 && strings.Contains("/%@", token)) || (token == "@" && b&(b-1) != 0) {
				return outcome{}
			}
			stack = append(stack, map[string]func() uint64{
				"+": func() uint64 { return a + b }, "-": func() uint64 { return a - b }, "*": func() uint64 { return a * b },
				"/": func() uint64 { return a / b }, "%": func() uint64 { return a % b }, "@": func() uint64 { return a / b * b },
			}[token]())
		case "^":
			a, ok := pop()
			if !ok {
				return outcome{}
			}
			v, ok := w.Load(a)
			if !ok {
				return outcome{}
			}
			stack = append(stack, v)
		case ".cfa":
			v, ok := w.vars[".cfa"]
			if !ok {
				return outcome{}
			}
			stack = append(stack, v)
		case ".undef":
			return outcome{}
		default:
			if _, name, found := strings.Cut(token, "$"); found {
				v, ok := register(name)
				if !ok {
					return outcome{}
				}
				stack = append(stack, v)
			} else if n, err := strconv.ParseInt(token, 10, 64); err == nil {
				stack = append(stack, uint64(n))
			} else if v, ok := register(token); ok {
				stack = append(stack, v)
			} else {
				return outcome{}
			}
		}
	}
	if len(stack) != 1 || (bits == 32 && stack[0] > 0xffffffff) {
		return outcome{}
	}
	return outcome{ok: true, value: stack[0]}
}

func interpretRustWin(text string, w world) outcome {
	vars := map[string]uint64{}
	for k, v := range w.vars {
		vars[k] = uint64(uint32(v))
	}
	o := outcome{changes: map[string]uint64{}}
	type item struct {
		name string // a variable, ".undef", or "" for a value
		v    uint64
	}
	var stack []item
	value := func(i item) (uint64, bool) {
		if i.name == "" {
			return i.v, true
		}
		v, ok := vars[i.name]
		return v, ok && i.name != ".undef"
	}
	take := func() (item, bool) {
		if len(stack) == 0 {
			return item{}, false
		}
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return i, true
	}
	pop := func() (uint64, bool) {
		i, ok := take()
		if !ok {
			return 0, false
		}
		return value(i)
	}
	var tokens []string
	for _, token := range strings.Fields(text) {
		if len(token) > 1 && token[0] == '=' {
			tokens = append(tokens, "=", token[1:])
		} else {
			tokens = append(tokens, token)
		}
	}
	for _, token := range tokens {
		switch token {
		case "+", "-", "*", "/", "%", "@":
			b, ok := pop()
			if !ok {
				return o
			}
			a, ok := pop()
			if !ok || (b == 0 && strings.Contains("/%@", token)) || (token == "@" && b&(b-1) != 0) {
				return o
			}
			var r uint64
			switch token {
			case "+":
				r = a + b
			case "-":
				r = a - b
			case "*":
				r = a * b
			case "/":
				r = a / b
			case "%":
				r = a % b
			case "@":
				r = a / b * b
			}
			stack = append(stack, item{v: uint64(uint32(r))})
		case "^":
			a, ok := pop()
			if !ok {
				return o
			}
			v, ok := w.Load(a)
			if !ok {
				return o
			}
			stack = append(stack, item{v: uint64(uint32(v))})
		case "=":
			source, ok := take()
			if !ok {
				return o
			}
			target, ok := take()
			if !ok || target.name == "" || target.name == ".undef" {
				return o
			}
			if source.name == ".undef" {
				delete(vars, target.name)
				delete(o.changes, target.name)
				continue
			}
			v, ok := value(source)
			if !ok {
				return o
			}
			vars[target.name], o.changes[target.name] = v, v
		default:
			if token[0] == '$' || token[0] == '.' {
				stack = append(stack, item{name: token})
			} else if n, err := strconv.ParseInt(token, 10, 32); err == nil {
				stack = append(stack, item{v: uint64(uint32(n))})
			} else {
				return o
			}
		}
	}
	o.ok = true
	return o
}

// compare evaluates a text with the machine and with the direct interpreter, for both consumers and both widths.
func compare(t *testing.T, text string, d Dialect, m *Machine) {
	t.Helper()
	p, _ := Compile([]byte(text), d)
	if p.Depth > MaxDepth {
		return
	}
	vars := maps.Clone(testWorld.vars)
	bare := map[string]uint64{"rsp": 0x7fff12345678, "ebp": 0xfffffff0, "esp": 0x1000, "sp": 0x2000, "x29": 0xffffffffffffffff, "T9": 7}
	const cfa = 0x3000
	for _, word := range []int{4, 8} {
		w := world{vars: vars, limit: testWorld.limit}
		m.Word = word
		m.SetCFA(cfa)
		if d == CFI {
			vars[".cfa"] = cfa
		}
		bits := 8 * word
		if d == Win {
			bits = 32
		}
		m.Semantics = Breakpad
		agree(t, "breakpad", text, d, word, m, p, w, interpretBreakpad(text, d, bits, w))
		m.Semantics = RustMinidump
		if d == Win {
			agree(t, "rust-minidump", text, d, word, m, p, w, interpretRustWin(text, w))
		} else {
			narrow := map[string]uint64{".cfa": cfa}
			for k, v := range bare {
				narrow[k] = v
				if word == 4 {
					narrow[k] = uint64(uint32(v))
				}
			}
			w = world{vars: narrow, limit: w.limit, rust: true}
			agree(t, "rust-minidump", text, d, word, m, p, w, interpretRustCFI(text, bits, w))
		}
	}
}

func agree(t *testing.T, who, text string, d Dialect, word int, m *Machine, p *Program, w world, want outcome) {
	t.Helper()
	var v uint64
	var f Fault
	if d == Win {
		f = m.Run(p, w)
	} else {
		v, f = m.Value(p, w)
	}
	if f.Failed() == want.ok || f.Crash != want.crash || v != want.value {
		t.Fatalf("%s, %d bytes, %s %q:\n got %#x %v (crash %v)\nwant %#x ok %v crash %v", who, word, d, text, v, f.Code, f.Crash, want.value, want.ok, want.crash)
	}
	if off, end := p.Position(f); off < 0 || end < off || end > len(p.Text) {
		t.Fatalf("%q: fault outside the text: %d-%d", text, off, end)
	}
	if d == CFI {
		return
	}
	for _, n := range p.Names {
		got, state := m.Variable(n.Text)
		value, changed := want.changes[n.Text]
		if (state == Assigned) != changed || (changed && got != value) {
			t.Fatalf("%s %q: %s is %#x (state %d), want %#x (assigned %v)", who, text, n.Text, got, state, value, changed)
		}
	}
}

// pool holds tokens that make valid programs likely and every oddity possible.
var pool = strings.Fields(`0 1 2 3 4 8 16 -1 -4 -8 +5 --5 -+5 +-5 010 2147483647 2147483648 -2147483648 -2147483649 4294967295 4294967296
	9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616
	0x10 1e3 1,000 8+ & $ $rsp $ebp $esp $T0 $T1 $T9 sp x29 .cfa .ra .undef .cbLocals .raSearch abc$rsp =$T0 =$esp =.cfa == ==2 =+
	+ - * / % @ ^ = + - * / % @ ^ = + - + - ^ =`)

func randomProgram(r *rand.Rand) string {
	n := 1 + r.IntN(9)
	tokens := make([]string, n)
	depth := 0
	for i := range tokens {
		tokens[i] = pool[r.IntN(len(pool))]
		// Mostly keep operators for when there is something to operate on, so that programs get far.
		for tries := 0; tries < 6 && depth+effect([]byte(tokens[i]), depth) < 0; tries++ {
			tokens[i] = pool[r.IntN(len(pool))]
		}
		depth = max(0, depth+effect([]byte(tokens[i]), depth))
	}
	// Half of them are brought to an end that one dialect or the other accepts.
	if finish := r.IntN(4); finish < 2 {
		for ; depth > 1; depth-- {
			tokens = append(tokens, []string{"+", "-", "*", "@"}[r.IntN(4)])
		}
		if finish == 1 {
			tokens = append(append([]string{"$T1"}, tokens...), "=")
		}
	}
	return strings.Join(tokens, []string{" ", "  ", "\t", " \n"}[r.IntN(4)])
}

func TestAgainstDirectInterpreters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m Machine
	succeeded := 0
	for range 20000 {
		text := randomProgram(r)
		for _, d := range []Dialect{CFI, Win} {
			compare(t, text, d, &m)
			if interpretBreakpad(text, d, 64, testWorld).ok {
				succeeded++
			}
		}
	}
	if succeeded < 3000 {
		t.Errorf("only %d programs ran to their end; the generator tests little", succeeded)
	}
}

// What Compile calls a certain failure is one, whatever the registers hold.
func TestCertainFailuresFail(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	certain := map[ErrorCode]int{}
	for range 20000 {
		text := randomProgram(r)
		for _, d := range []Dialect{CFI, Win} {
			p, err := Compile([]byte(text), d)
			for _, e := range p.Check(8) {
				if e.Off < 0 || e.End < e.Off || e.End > len(text) || e.Token != text[e.Off:e.End] {
					t.Fatalf("%q: %v at %d-%d", text, e.Code, e.Off, e.End)
				}
			}
			if err == nil {
				continue
			}
			certain[err.Code]++
			// Every name has a value here that could have one at all.
			o := interpretBreakpad(text, d, map[Dialect]int{CFI: 64, Win: 32}[d], world{vars: definable(p), limit: ^uint64(0)})
			if o.ok {
				t.Fatalf("%s %q runs, but Compile says: %v", d, text, err)
			}
			if err.Code.Crashes() && len(p.Check(8)) == 1 && !o.crash {
				t.Fatalf("%s %q does not crash, but Compile says: %v", d, text, err)
			}
		}
	}
	for code := Empty; code < TooLong; code++ {
		if certain[code] == 0 && code != Empty {
			t.Errorf("no program with the defect %v", code)
		}
	}
}

func definable(p *Program) map[string]uint64 {
	vars := map[string]uint64{}
	for _, n := range p.Names {
		if n.Kind != Odd {
			vars[n.Text] = 5
		}
	}
	return vars
}
