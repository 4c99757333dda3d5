package plant

import (
	"slices"
	"strconv"
	"strings"
)

// cfiSenseKinds are rules that are well-formed and wrong.
var cfiSenseKinds = []Kind{
	{"cfi-registers-exchanged", "stack and frame pointer exchanged in one function", []string{"cfi-swapped-frame-stack", "cfi-entry-row"},
		func(f *file) (int, bool) {
			if f.cpu != x86 && f.cpu != amd64 {
				return 0, false
			}
			i, ok := f.pick(func(i int, r *record) bool { return f.atEntry(i) && f.loneInit(i, r) }, cfiInit)
			if !ok {
				return 0, false
			}
			for j := i; j < f.blockEnd(i); j++ {
				if f.recs[j].kind == cfiInit || f.recs[j].kind == cfiDelta {
					f.setRules(j, exchange(f.rules(j), f.cpu.sp, f.cpu.fp))
				}
			}
			return i, true
		}},
	{"cfi-cfa-sign", "CFA below the stack pointer at function entry (sign of the offset turned)", []string{"cfi-entry-row", "cfi-cfa-discontinuity"},
		change(func(f *file, i int, _ *record) bool {
			return f.entry(i) && f.entryOffset(i) > 0 && f.entryOffset(i) < 1<<16
		},
			func(f *file, i int, _ *record) {
				rules := f.rules(i)
				rules[find(rules, ".cfa")].expr[2] = "-"
				f.setRules(i, rules)
			}, cfiInit)},
	{"cfi-entry-offset", "CFA one word off at function entry", []string{"cfi-entry-row", "cfi-return-slot", "cfi-cfa-discontinuity"},
		change(func(f *file, i int, _ *record) bool {
			return f.entry(i) && f.atFunc(i) && f.entryOffset(i) == f.entryDepth()
		},
			func(f *file, i int, _ *record) { f.setCFA(i, f.entryOffset(i)+f.word()) }, cfiInit)},
	{"cfi-ra-not-dereferenced", ".ra rule gives the address of the slot (the ^ is missing)", []string{"cfi-entry-row", "cfi-return-slot"},
		change(func(f *file, i int, _ *record) bool { return f.raSlot(i) },
			func(f *file, i int, _ *record) {
				rules := f.rules(i)
				at := find(rules, ".ra")
				rules[at].expr = rules[at].expr[:len(rules[at].expr)-1]
				f.setRules(i, rules)
			}, cfiInit)},
	{"cfi-ra-slot", ".ra rule reads the word next to the return address", []string{"cfi-entry-row", "cfi-return-slot"},
		change(func(f *file, i int, _ *record) bool { return f.raSlot(i) && f.atEntry(i) && f.atFunc(i) },
			func(f *file, i int, _ *record) {
				rules := f.rules(i)
				rules[find(rules, ".ra")].expr[1] = strconv.Itoa(-2 * f.word())
				f.setRules(i, rules)
			}, cfiInit)},
	{"cfi-misaligned", "CFA that is not a whole number of words above the stack pointer", []string{"cfi-cfa-discontinuity"},
		change(func(f *file, i int, r *record) bool { return r.block >= 0 && f.onStack(i) },
			func(f *file, i int, _ *record) { f.setCFA(i, f.entryOffset(i)+1+f.IntN(f.word()-1)) }, cfiDelta)},
	{"cfi-cfa-below-entry", "CFA at the stack pointer, below the return address", []string{"cfi-cfa-discontinuity"},
		change(func(f *file, i int, r *record) bool {
			return (f.cpu == x86 || f.cpu == amd64) && r.block >= 0 && f.onStack(i) && r.addr > f.recs[r.block].addr
		}, func(f *file, i int, _ *record) { f.setCFA(i, 0) }, cfiDelta)},
	{"cfi-slot-conflict", "a register saved in the slot of another", []string{"cfi-slot-conflict"},
		saved(func(f *file, i int, r rule) (int, bool) {
			for _, name := range f.cpu.saved {
				if n, ok := slot(f.state(i)[name]); ok && name != r.name {
					return n, true
				}
			}
			return 0, false
		})},
	{"cfi-return-slot-taken", "a register saved in the slot of the return address", []string{"cfi-slot-conflict", "cfi-return-slot"},
		saved(func(f *file, i int, r rule) (int, bool) {
			return slot(f.state(i)[".ra"])
		})},
	{"cfi-slot-above-frame", "a register saved above the CFA", []string{"cfi-slot-outside-frame"},
		saved(func(f *file, i int, r rule) (int, bool) { return 6 * f.word(), !f.windows() })},
	{"cfi-slot-below-frame", "a register saved 4 KiB below the stack pointer", []string{"cfi-slot-outside-frame"},
		saved(func(f *file, i int, r rule) (int, bool) {
			base, n, ok := offset(f.state(i)[".cfa"])
			return -n - 4096, ok && base == f.cpu.sp
		})},
	{"cfi-stale-base", "CFA from a register that calls change, in the body of a function", []string{"cfi-stale-base", "cfi-caller-saved-operand", "cfi-cfa-discontinuity"},
		change(func(f *file, i int, r *record) bool {
			return f.cpu != nil && r.block >= 0 && f.cfaAt(i) >= 0 && r.addr > f.recs[r.block].addr && f.until(i)-r.addr >= 32
		}, func(f *file, i int, _ *record) {
			rules := f.rules(i)
			rules[f.cfaAt(i)].expr[0], rules[f.cfaAt(i)].expr[1] = f.cpu.scratch, "0"
			f.setRules(i, rules)
		}, cfiDelta)},
	{"cfi-frame-pointer-not-saved", "CFA from a frame pointer whose old value no row saves", []string{"cfi-stale-base", "cfi-callee-saved-lost", "cfi-swapped-frame-stack"},
		func(f *file) (int, bool) {
			if f.cpu != x86 && f.cpu != amd64 {
				return 0, false
			}
			i, ok := f.pick(func(i int, r *record) bool {
				if r.block < 0 || f.recs[i-1].block != r.block || f.cfaAt(i) < 0 || f.rules(i)[f.cfaAt(i)].expr[0] != f.cpu.fp {
					return false
				}
				previous := f.rules(i - 1)
				return find(previous, f.cpu.fp) >= 0 && find(f.rules(i), f.cpu.fp) < 0 && len(previous) > 1 && f.until(i)-r.addr >= 16
			}, cfiDelta)
			if !ok {
				return 0, false
			}
			rules := f.rules(i - 1)
			at := find(rules, f.cpu.fp)
			f.setRules(i-1, slices.Delete(rules, at, at+1))
			return i, true
		}},
	{"cfi-spans-functions", "one STACK CFI INIT over two FUNCs, the second without rows of its own", []string{"cfi-spans-functions"},
		func(f *file) (int, bool) {
			pairs := slices.DeleteFunc(f.neighbours(f.inits), func(p [2]int) bool {
				return !f.atFunc(p[0]) || !f.atFunc(p[1]) || f.blockEnd(p[0]) != p[1] || f.functionsIn(p[0], p[1]) != 2
			})
			if len(pairs) == 0 {
				return 0, false
			}
			p := pairs[f.IntN(len(pairs))]
			f.setSize(p[0], f.recs[p[1]].end()-f.recs[p[0]].addr)
			f.remove(p[1], f.blockEnd(p[1]))
			return p[0], true
		}},
	{"cfi-outside-symbols", "STACK CFI INIT below the first symbol", []string{"cfi-outside-symbols"},
		func(f *file) (int, bool) {
			if len(f.funcs) == 0 || len(f.inits) == 0 {
				return 0, false
			}
			low := f.recs[f.funcs[0]].addr
			for _, list := range [][]int{f.publics, f.inits} {
				if len(list) > 0 {
					low = min(low, f.recs[list[0]].addr)
				}
			}
			i, ok := f.pick(func(i int, r *record) bool { return f.entry(i) }, cfiInit)
			if !ok || low < 0x41 {
				return 0, false
			}
			fields := slices.Clone(f.recs[i].fields)
			fields[3], fields[4] = hexText(low-0x40), "20"
			at := slices.Min(f.inits)
			f.insert(at, "")
			f.setFields(at, fields)
			return at, true
		}},
	{"cfi-missing-for-function", "a FUNC without unwind rows where all others have them", []string{"cfi-missing"},
		when(func(f *file) bool {
			covered := f.coverage(f.inits)
			return !f.windows() && len(f.funcs) > 2 && !slices.ContainsFunc(f.funcs, func(i int) bool { return !covered(f.recs[i].addr) })
		}, func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, r *record) bool {
				n := f.initAt(r)
				return r.size >= 32 && n > i && f.recs[n].size == r.size && f.loneInit(n, &f.recs[n]) && f.alone(f.funcs, i)
			}, function)
			if ok {
				n := f.initAt(&f.recs[i])
				f.remove(n, f.blockEnd(n))
			}
			return i, ok
		})},
}

// exchange swaps two registers wherever they stand in the rules.
func exchange(rules []rule, a, b string) []rule {
	other := map[string]string{a: b, b: a}
	swap := func(s *string) {
		if o, ok := other[*s]; ok {
			*s = o
		}
	}
	for i := range rules {
		swap(&rules[i].name)
		for k := range rules[i].expr {
			swap(&rules[i].expr[k])
		}
	}
	return rules
}

// entry reports whether INIT i has the form of an entry row: CFA a number of bytes above the stack pointer.
func (f *file) entry(i int) bool {
	at := f.cfaAt(i)
	return f.cpu != nil && at >= 0 && f.rules(i)[at].expr[0] == f.cpu.sp && find(f.rules(i), ".ra") >= 0
}

// atEntry reports whether INIT i is the state at an entry, as it is everywhere but in the output for 64-bit Windows, where
// INIT records hold the state of the body.
func (f *file) atEntry(i int) bool {
	return f.entry(i) && f.entryOffset(i) == f.entryDepth() && !f.windows()
}

// windows reports whether the module is one for Windows.
func (f *file) windows() bool { return strings.EqualFold(f.system, "windows") }

// entryDepth is how far above the stack pointer the CFA is at an entry.
func (f *file) entryDepth() int {
	if f.cpu.ra == "" {
		return f.cpu.word
	}
	return 0
}

// entryOffset is the N of the row's `.cfa: register N +`.
func (f *file) entryOffset(i int) int {
	_, n, _ := offset(f.rules(i)[f.cfaAt(i)].expr)
	return n
}

func (f *file) setCFA(i, n int) {
	rules := f.rules(i)
	rules[f.cfaAt(i)].expr[1] = strconv.Itoa(n)
	f.setRules(i, rules)
}

// onStack reports whether row i has a .cfa rule that counts from the stack pointer.
func (f *file) onStack(i int) bool {
	at := f.cfaAt(i)
	return f.cpu != nil && at >= 0 && f.rules(i)[at].expr[0] == f.cpu.sp
}

// raSlot reports whether the .ra rule of INIT i reads the word below the CFA.
func (f *file) raSlot(i int) bool {
	rules := f.rules(i)
	at := find(rules, ".ra")
	if at < 0 || f.cpu == nil {
		return false
	}
	n, ok := slot(rules[at].expr)
	return ok && n == -f.cpu.word
}

// atFunc reports whether INIT i begins where a FUNC does.
func (f *file) atFunc(i int) bool {
	_, ok := f.search(f.funcs, f.recs[i].addr)
	return ok
}

// functionsIn counts the FUNCs that begin in the ranges of two INITs and between them.
func (f *file) functionsIn(i, j int) int {
	from, _ := f.search(f.funcs, f.recs[i].addr)
	to, _ := f.search(f.funcs, f.recs[j].end())
	return to - from
}

// initAt is the index of the INIT that begins where the FUNC does, or -1.
func (f *file) initAt(r *record) int {
	if n, ok := f.search(f.inits, r.addr); ok {
		return f.inits[n]
	}
	return -1
}

// until is the address up to which the CFA of row i is in force.
func (f *file) until(i int) uint64 {
	block := f.recs[i].block
	for j := i + 1; j < f.blockEnd(block); j++ {
		if f.recs[j].kind == cfiDelta && find(f.rules(j), ".cfa") >= 0 {
			return f.recs[j].addr
		}
	}
	return f.recs[block].end()
}

// saved changes where a callee-saved register is stored: to is the new distance from the CFA in row i.
func saved(to func(f *file, i int, r rule) (distance int, ok bool)) func(*file) (int, bool) {
	places := func(f *file, i int) (at []int, to_ []int) {
		for k, r := range f.rules(i) {
			if _, ok := slot(r.expr); ok && slices.Contains(f.cpu.saved, r.name) {
				if n, ok := to(f, i, r); ok {
					at, to_ = append(at, k), append(to_, n)
				}
			}
		}
		return at, to_
	}
	return change(func(f *file, i int, r *record) bool {
		if f.cpu == nil || r.block < 0 {
			return false
		}
		at, _ := places(f, i)
		return len(at) > 0
	}, func(f *file, i int, _ *record) {
		at, distances := places(f, i)
		k := f.IntN(len(at))
		rules := f.rules(i)
		rules[at[k]].expr[1] = strconv.Itoa(distances[k])
		f.setRules(i, rules)
	}, cfiDelta)
}
