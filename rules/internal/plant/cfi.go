package plant

import (
	"slices"
	"strconv"
	"strings"
)

// cfiKinds are defects of records and of expressions: what can be seen without asking what the rules mean.
var cfiKinds = []Kind{
	{"cfi-init-overlap", "STACK CFI INIT starts inside the range of the INIT before it", []string{"cfi-init-overlap"},
		func(f *file) (int, bool) {
			pairs := f.neighbours(f.inits)
			if len(pairs) == 0 {
				return 0, false
			}
			p := pairs[f.IntN(len(pairs))]
			next := &f.recs[p[1]]
			f.setSize(p[0], next.addr-f.recs[p[0]].addr+1+f.Uint64N(min(16, next.size-1)))
			return p[1], true
		}},
	{"cfi-duplicate-init", "STACK CFI INIT repeated for the same range", []string{"cfi-init-duplicate"},
		func(f *file) (int, bool) {
			i, ok := f.pick(f.loneInit, cfiInit)
			if ok {
				f.insert(i+1, f.recs[i].text)
			}
			return i + 1, ok
		}},
	{"cfi-conflicting-init", "STACK CFI INIT repeated for the same range with another CFA", []string{"cfi-init-duplicate"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool { return f.loneInit(i, r) && f.cfaAt(i) >= 0 }, cfiInit)
			if !ok {
				return 0, false
			}
			rules := f.rules(i)
			_, n, _ := offset(rules[f.cfaAt(i)].expr)
			rules[f.cfaAt(i)].expr[1] = strconv.Itoa(n + 2*f.word())
			f.insert(i+1, strings.Join(append(slices.Clone(f.recs[i].fields[:5]), joinRules(rules)), " "))
			return i + 1, true
		}},
	{"cfi-init-size-zero", "STACK CFI INIT with size 0", []string{"cfi-init-zero-size"},
		change(func(f *file, i int, r *record) bool { return r.size > 0 && f.loneInit(i, r) },
			func(f *file, i int, _ *record) { f.setSize(i, 0) }, cfiInit)},
	{"cfi-init-wraps", "STACK CFI INIT range wraps past 2^64", []string{"cfi-init-wraps", "format-number-range"},
		change(func(f *file, i int, r *record) bool { return f.loneInit(i, r) && r.addr > 0xfff },
			func(f *file, i int, _ *record) { f.setSize(i, 0xfffffffffffff000) }, cfiInit)},
	{"cfi-init-missing-size", "STACK CFI INIT without size", []string{"format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, slices.Delete(slices.Clone(r.fields), 4, 5)) }, cfiInit)},
	{"cfi-bare", "STACK CFI and nothing else", []string{"format-bad-field", "cfi-syntax"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:len(r.fields)-2]) }, cfiDelta)},
	{"cfi-delta-no-rules", "STACK CFI with an address alone", []string{"format-bad-field", "cfi-syntax"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:len(r.fields)-1]) }, cfiDelta)},

	{"cfi-orphan-delta", "STACK CFI delta without an INIT (the INIT line is missing)", []string{"cfi-delta-orphan", "cfi-delta-outside"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				return i+1 < len(f.recs) && f.recs[i+1].block == i && f.loneInit(i, r) && f.deltasInside(i)
			}, cfiInit)
			if ok {
				f.remove(i, i+1)
			}
			return i, ok
		}},
	{"cfi-delta-outside-init", "STACK CFI delta lies outside the range of its INIT", []string{"cfi-delta-outside"},
		change(func(f *file, i int, r *record) bool {
			return f.lastDelta(i, r) && f.recs[r.block].end() > f.recs[r.block].addr
		},
			func(f *file, i int, r *record) { f.setField(i, 2, hexText(f.recs[r.block].end()+f.Uint64N(16))) }, cfiDelta)},
	{"cfi-delta-before-init", "STACK CFI delta lies before its INIT", []string{"cfi-delta-outside"},
		change(func(f *file, i int, r *record) bool {
			return r.block >= 0 && r.block == i-1 && f.recs[r.block].addr > 16
		},
			func(f *file, i int, r *record) { f.setField(i, 2, hexText(f.recs[r.block].addr-1-f.Uint64N(15))) }, cfiDelta)},
	{"cfi-delta-order", "STACK CFI delta address is lower than that of the delta before it", []string{"cfi-delta-order"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				return r.block >= 0 && i+1 < len(f.recs) && f.recs[i+1].block == r.block && f.recs[i+1].addr > r.addr && f.deltasInside(r.block)
			}, cfiDelta)
			if ok {
				f.move(i, i+1, i+2)
			}
			return i + 1, ok
		}},
	{"cfi-delta-duplicate", "two STACK CFI deltas at one address", []string{"cfi-delta-duplicate"},
		change(func(f *file, i int, r *record) bool {
			return r.block >= 0 && i > 0 && f.recs[i-1].block == r.block && f.recs[i-1].addr < r.addr && f.recs[i-1].rest() != r.rest()
		}, func(f *file, i int, _ *record) { f.setField(i, 2, hexText(f.recs[i-1].addr)) }, cfiDelta)},

	{"cfi-missing-cfa", "STACK CFI INIT without a .cfa rule", []string{"cfi-missing-cfa"}, without(".cfa")},
	{"cfi-missing-ra", "STACK CFI INIT without a .ra rule", []string{"cfi-missing-ra"}, without(".ra")},
	{"cfi-late-ra", "the .ra rule of a STACK CFI INIT comes with the first delta", []string{"cfi-missing-ra"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				return i+1 < len(f.recs) && f.recs[i+1].block == i && f.recs[i+1].addr > r.addr && f.mayLose(i, ".ra") && find(f.rules(i+1), ".ra") < 0
			}, cfiInit)
			if !ok {
				return 0, false
			}
			rules := f.rules(i)
			at := find(rules, ".ra")
			f.setRules(i+1, append(f.rules(i+1), rules[at]))
			f.setRules(i, slices.Delete(rules, at, at+1))
			return i, true
		}},

	{"cfi-empty-rule", "a rule with an empty expression", []string{"cfi-syntax"},
		inRule(nil, func(_ *file, r *rule) { r.expr = nil })},
	{"cfi-no-name", "an expression before the first name", []string{"cfi-syntax"},
		change(nil, func(f *file, i int, r *record) {
			_, rest, _ := strings.Cut(r.rest(), " ")
			f.setField(i, len(r.fields)-1, rest)
		}, cfiInit, cfiDelta)},
	{"cfi-missing-colon", "a name without its colon", []string{"cfi-syntax", "cfi-stack-effect", "cfi-missing-ra"},
		change(func(f *file, i int, _ *record) bool { return find(f.rules(i), ".ra") > 0 },
			func(f *file, i int, r *record) {
				f.setField(i, len(r.fields)-1, strings.Replace(r.rest(), " .ra: ", " .ra ", 1))
			}, cfiInit)},
	{"cfi-hex-literal", "a hexadecimal number in an expression", []string{"cfi-syntax", "cfi-unknown-register"},
		atLiteral(func(_ *file, s string) []string { return []string{hexLiteral(s)} })},
	{"cfi-literal-range", "a number beyond 64 bits in an expression", []string{"cfi-arithmetic", "cfi-syntax"},
		atLiteral(func(_ *file, s string) []string { return []string{s + "10000000000000000000"} })},
	{"cfi-underflow", "postfix expression underflows its stack", []string{"cfi-stack-effect", "cfi-syntax"},
		atLiteral(func(*file, string) []string { return nil })},
	{"cfi-leftover", "postfix expression leaves two values", []string{"cfi-stack-effect", "cfi-syntax"},
		atLiteral(func(_ *file, s string) []string { return []string{s, s} })},
	{"cfi-unknown-operator", "an operator that does not exist", []string{"cfi-syntax", "cfi-unknown-register", "cfi-stack-effect"},
		inRule(func(_ *file, r rule) bool { return slices.Contains(r.expr, "+") },
			func(f *file, r *rule) {
				r.expr[slices.Index(r.expr, "+")] = []string{"&", "|", "<<", "plus"}[f.IntN(4)]
			})},
	{"cfi-division-by-zero", "a division by zero", []string{"cfi-arithmetic"},
		inRule(nil, func(f *file, r *rule) { r.expr = append(r.expr, "0", []string{"/", "%"}[f.IntN(2)]) })},
	{"cfi-alignment", "an alignment that is no power of two", []string{"cfi-arithmetic"},
		inRule(func(_ *file, r rule) bool { return r.name == ".cfa" },
			func(f *file, r *rule) { r.expr = append(r.expr, []string{"12", "24", "48"}[f.IntN(3)], "@") })},

	{"cfi-unknown-register", "rule for a register that does not exist", []string{"cfi-unknown-register"},
		inRule(func(f *file, r rule) bool { return f.cpu != nil && slices.Contains(f.cpu.saved, r.name) },
			func(_ *file, r *rule) { r.name = r.name[:len(r.name)-1] + "q" })},
	{"cfi-unknown-operand", "an expression with a register that does not exist", []string{"cfi-unknown-register"},
		operand(func(f *file, s string) string { return s[:len(s)-1] + "q" })},
	{"cfi-foreign-register", "register of another CPU in the .cfa rule", []string{"cfi-unknown-register", "module-arch"},
		operand(func(f *file, s string) string { return f.cpu.foreign })},
	{"cfi-prefix-convention", "stack pointer with the wrong prefix", []string{"cfi-unknown-register"},
		operand(func(f *file, s string) string { return f.cpu.bare })},
	{"cfi-unnamed-register", "a register that the writer had no name for", []string{"cfi-unknown-register"},
		operand(func(f *file, s string) string { return "unnamed_register" + strconv.Itoa(90+f.IntN(40)) })},

	{"cfi-cfa-self-reference", ".cfa rule refers to .cfa itself", []string{"cfi-self-reference"},
		inRule(func(_ *file, r rule) bool { return r.name == ".cfa" && len(r.expr) == 3 },
			func(_ *file, r *rule) { r.expr[0] = ".cfa" })},
	{"cfi-ra-self-reference", ".ra rule refers to .ra itself", []string{"cfi-self-reference"},
		inRule(func(_ *file, r rule) bool { return r.name == ".ra" && !slices.Contains(r.expr, ".ra") },
			func(_ *file, r *rule) { r.expr = []string{".ra"} })},
	{"cfi-ra-operand", "rule of a register refers to .ra", []string{"cfi-self-reference"},
		inRule(func(_ *file, r rule) bool {
			_, ok := slot(r.expr)
			return ok && r.name != ".ra"
		}, func(_ *file, r *rule) { r.expr[0] = ".ra" })},
	{"cfi-undef-ra", ".undef for the return address", []string{"cfi-undef"},
		inRule(func(_ *file, r rule) bool { return r.name == ".ra" }, func(_ *file, r *rule) { r.expr = []string{".undef"} })},
	{"cfi-undef-callee-saved", ".undef for a register that a function has to preserve", []string{"cfi-undef"},
		inRule(func(f *file, r rule) bool { return f.cpu != nil && slices.Contains(f.cpu.saved, r.name) },
			func(_ *file, r *rule) { r.expr = []string{".undef"} })},
	{"cfi-caller-saved-operand", "a saved register is said to be in one that calls may change", []string{"cfi-caller-saved-operand"},
		inRule(func(f *file, r rule) bool { return f.cpu != nil && slices.Contains(f.cpu.saved, r.name) },
			func(f *file, r *rule) { r.expr = []string{f.cpu.scratch} })},
}

// loneInit reports whether INIT i has its range to itself.
func (f *file) loneInit(i int, r *record) bool {
	return r.size > 0 && r.end() > r.addr && f.alone(f.inits, i)
}

// deltasInside reports whether all deltas of an INIT lie in its range, in order.
func (f *file) deltasInside(i int) bool {
	last := f.recs[i].addr
	for _, j := range f.members(i, cfiDelta) {
		if r := &f.recs[j]; r.addr < last || r.addr >= f.recs[i].end() {
			return false
		} else {
			last = r.addr
		}
	}
	return true
}

// lastDelta reports whether delta i is the last of its INIT.
func (f *file) lastDelta(i int, r *record) bool {
	return r.block >= 0 && f.blockEnd(r.block) == i+1
}

// cfaAt is the index of the .cfa rule of row i when it has the form `register N +`, else -1.
func (f *file) cfaAt(i int) int {
	rules := f.rules(i)
	at := find(rules, ".cfa")
	if at < 0 {
		return -1
	}
	if _, _, ok := offset(rules[at].expr); !ok {
		return -1
	}
	return at
}

func (f *file) word() int {
	if f.cpu == nil {
		return 8
	}
	return f.cpu.word
}

// outermost are functions above which there is no caller: no rule for the return address is right there.
var outermost = []string{"_start", "__start", "clone", "__clone", "__clone3", "_dl_start_user", "thread_start", "start"}

// mayLose reports whether INIT i needs its rule for name: it has others, no delta at its address brings another, and it is
// not the unwind data of an outermost function.
func (f *file) mayLose(i int, name string) bool {
	rules := f.rules(i)
	if find(rules, name) < 0 || len(rules) < 2 || len(rules[find(rules, name)].expr) == 0 {
		return false
	}
	for _, j := range f.members(i, cfiDelta) {
		if f.recs[j].addr <= f.recs[i].addr && find(f.rules(j), name) >= 0 {
			return false
		}
	}
	for _, list := range [][]int{f.funcs, f.publics} {
		for _, j := range list {
			if r := &f.recs[j]; r.addr >= f.recs[i].addr && r.addr < f.recs[i].end() && slices.Contains(outermost, r.rest()) {
				return false
			}
		}
	}
	return true
}

// without removes a rule from an INIT.
func without(name string) func(*file) (int, bool) {
	return change(func(f *file, i int, r *record) bool { return f.loneInit(i, r) && f.mayLose(i, name) },
		func(f *file, i int, _ *record) {
			rules := f.rules(i)
			at := find(rules, name)
			f.setRules(i, slices.Delete(rules, at, at+1))
		}, cfiInit)
}

// inRule changes one rule of a row.
func inRule(eligible func(*file, rule) bool, edit func(*file, *rule)) func(*file) (int, bool) {
	places := func(f *file, i int) (at []int) {
		for k, r := range f.rules(i) {
			if len(r.expr) > 0 && (eligible == nil || eligible(f, r)) {
				at = append(at, k)
			}
		}
		return at
	}
	return change(func(f *file, i int, _ *record) bool { return len(places(f, i)) > 0 },
		func(f *file, i int, _ *record) {
			rules, at := f.rules(i), places(f, i)
			edit(f, &rules[at[f.IntN(len(at))]])
			f.setRules(i, rules)
		}, cfiInit, cfiDelta)
}

// atLiteral replaces the number of a rule by other tokens.
func atLiteral(tokens func(f *file, s string) []string) func(*file) (int, bool) {
	return inRule(func(_ *file, r rule) bool { return slices.ContainsFunc(r.expr, literal) },
		func(f *file, r *rule) {
			at := slices.IndexFunc(r.expr, literal)
			r.expr = slices.Replace(slices.Clone(r.expr), at, at+1, tokens(f, r.expr[at])...)
		})
}

// hexLiteral spells a number in hexadecimal.
func hexLiteral(s string) string {
	if digits, ok := strings.CutPrefix(s, "-"); ok {
		return "-" + hexLiteral(digits)
	}
	n, _ := strconv.ParseUint(s, 10, 64)
	return "0x" + hexText(n)
}

// operand replaces the stack pointer in a .cfa rule.
func operand(name func(f *file, s string) string) func(*file) (int, bool) {
	return inRule(func(f *file, r rule) bool { return f.cpu != nil && r.name == ".cfa" && r.expr[0] == f.cpu.sp },
		func(f *file, r *rule) { r.expr[0] = name(f, r.expr[0]) })
}
