package unwind

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// textSymbols is a SymbolSource of symbol files given as text, by the module's code file.
type textSymbols struct {
	text  map[string]string
	loads map[string]int
}

var errNoText = errors.New("no symbols for this module")

func (s *textSymbols) ModuleSymbols(m *Module) (*symfile.Symbols, error) {
	s.loads[m.CodeFile]++
	text, ok := s.text[m.CodeFile]
	if !ok {
		return nil, errNoText
	}
	return symfile.Load([]byte(text), symfile.Options{}), nil
}

// fixture is a process of one thread, whose registers, stack and symbols a test writes down.
type fixture struct {
	t       testing.TB
	cpu     *arch.CPU
	process *Process
	symbols *textSymbols
	walker  *Walker
	regs    *arch.Registers
	labels  map[string]uint64
}

// where the modules of the fixtures lie.
const (
	module1, module2 = 0x40000000, 0x50000000
	moduleSize       = 0x10000
)

// newFixture makes a process of two modules without symbols. Its registers hold odd values that point nowhere, so that
// a value which comes through unchanged can be told.
func newFixture(t testing.TB, cpu string) *fixture {
	t.Helper()
	c, ok := arch.Lookup(cpu)
	if !ok {
		t.Fatalf("no CPU %s", cpu)
	}
	f := &fixture{t: t, cpu: c, symbols: &textSymbols{map[string]string{}, map[string]int{}}}
	f.regs = &arch.Registers{CPU: c}
	for i := range c.Slots {
		f.regs.Set(i, (uint64(i)+1)*0x9e3779b97f4a7c15|1)
	}
	f.process = &Process{
		Modules: NewModules(symfile.Reject), Unloaded: NewModules(symfile.TruncateLower), Order: binary.LittleEndian,
		Threads: []Thread{{Registers: f.regs}},
	}
	f.process.System = System{OS: "Linux", OSShort: "linux", CPU: cpu}
	f.walker = &Walker{Process: f.process, Symbols: f.symbols}
	return f
}

// modules adds module1 and module2 at the given addresses.
func (f *fixture) modules(bases ...uint64) *fixture {
	for i, base := range bases {
		f.module(fmt.Sprintf("module%d", i+1), base, moduleSize)
	}
	return f
}

func (f *fixture) module(name string, base, size uint64) {
	f.t.Helper()
	if !f.process.Modules.Add(Module{Base: base, Size: size, CodeFile: name, DebugFile: name}) {
		f.t.Fatalf("module %s was refused", name)
	}
}

// sym gives a module symbols: the lines of a symbol file behind its MODULE record.
func (f *fixture) sym(module string, lines ...string) {
	f.symbols.text[module] = "MODULE Linux " + f.cpu.Name + " 000000000000000000000000000000000 " + module + "\n" +
		strings.Join(lines, "\n") + "\n"
}

// set gives registers of the thread values: names and values in turn; a value may be a label.
func (f *fixture) set(pairs ...any) {
	f.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		name := pairs[i].(string)
		slot := f.cpu.SlotOf(name)
		if slot < 0 {
			f.t.Fatalf("no register %s", name)
		}
		f.regs.Set(slot, f.value(pairs[i+1]))
	}
}

// only makes the named registers the only valid ones of the thread.
func (f *fixture) only(names ...string) {
	f.t.Helper()
	f.regs.Valid = 0
	for _, name := range names {
		slot := f.cpu.SlotOf(name)
		if slot < 0 {
			f.t.Fatalf("no register %s", name)
		}
		f.regs.Valid |= 1 << slot
	}
}

func (f *fixture) value(v any) uint64 {
	f.t.Helper()
	switch v := v.(type) {
	case int:
		return uint64(v)
	case uint64:
		return v
	case string:
		return f.at(v)
	}
	f.t.Fatalf("no value: %v", v)
	return 0
}

// at is the address of a label, which may have an offset behind it: "frame1+8".
func (f *fixture) at(label string) uint64 {
	f.t.Helper()
	name, offset, _ := strings.Cut(label, "+")
	var n uint64
	if offset != "" {
		if _, err := fmt.Sscan(offset, &n); err != nil {
			f.t.Fatal(err)
		}
	}
	a, ok := f.labels[name]
	if !ok {
		f.t.Fatalf("no label %s", name)
	}
	return a + n
}

// gap is a number of words that hold 0.
type gap int

// junk is a number of words that point nowhere.
type junk int

// stack lays out the thread's stack from base on: a number is a word, "name:" a label, any other text a reference to a
// label, which may stand behind it.
func (f *fixture) stack(base uint64, items ...any) {
	f.t.Helper()
	word := uint64(f.cpu.Word)
	size := func(item any) uint64 {
		switch v := item.(type) {
		case gap:
			return uint64(v) * word
		case junk:
			return uint64(v) * word
		case string:
			if strings.HasSuffix(v, ":") {
				return 0
			}
		}
		return word
	}
	f.labels = make(map[string]uint64)
	at := base
	for _, item := range items {
		if s, ok := item.(string); ok && strings.HasSuffix(s, ":") {
			f.labels[strings.TrimSuffix(s, ":")] = at
		}
		at += size(item)
	}
	var data []byte
	put := func(v uint64) {
		if word == 4 {
			if v>>32 != 0 {
				f.t.Fatalf("%#x is no word", v)
			}
			data = f.process.Order.(binary.AppendByteOrder).AppendUint32(data, uint32(v))
			return
		}
		data = f.process.Order.(binary.AppendByteOrder).AppendUint64(data, v)
	}
	for _, item := range items {
		switch v := item.(type) {
		case gap:
			for range v {
				put(0)
			}
		case junk:
			for i := range v {
				put(0xf00d0003 + uint64(i))
			}
		case string:
			if !strings.HasSuffix(v, ":") {
				put(f.at(v))
			}
		default:
			put(f.value(v))
		}
	}
	f.process.Threads[0].Stack = Region{base, data}
}

func (f *fixture) walk() *Stack { return f.walker.Walk(0) }

// values are registers by name.
type values map[string]uint64

// want is a frame as it should be.
type want struct {
	trust    Trust
	by       Technique
	pc, sp   uint64
	function string
	// known are the values of further registers, and no others may be known; nil for whatever they are.
	known values
}

// adjustments are what lies between a caller's program counter and the address that lookups use, by facts of each CPU.
var adjustments = map[string]uint64{
	"x86": 1, "x86_64": 1, "arm": 2, "arm64": 4, "riscv": 4, "riscv64": 4, "ppc": 4, "ppc64": 8, "sparc": 8,
	"mips": 0, "mips64": 0,
}

// check compares the frames behind the context frame, and why the walk ended, with what they should be.
func (f *fixture) check(s *Stack, end End, callers ...want) {
	f.t.Helper()
	if len(s.Frames) == 0 {
		f.t.Fatal("no frames")
	}
	first := &s.Frames[0]
	if first.Trust != TrustContext || first.Technique != ByContext || first.Instruction != f.regs.PC() ||
		first.Return != f.regs.PC() || first.Registers.Valid != f.regs.Valid {
		f.t.Errorf("frame 0 is not the context: %+v", first)
	}
	if s.End != end {
		f.t.Errorf("the walk ended because %q, want %q", s.End, end)
	}
	for i := range max(len(callers), len(s.Frames)-1) {
		if i >= len(callers) {
			g := &s.Frames[i+1]
			f.t.Errorf("frame %d too many: pc %#x sp %#x by %v (%v)", i+1, g.Registers.PC(), g.Registers.SP(), g.Technique,
				g.Trust)
			continue
		}
		if i >= len(s.Frames)-1 {
			f.t.Errorf("frame %d is missing", i+1)
			continue
		}
		f.checkFrame(i+1, &s.Frames[i+1], callers[i])
	}
	if f.t.Failed() {
		f.t.FailNow()
	}
}

func (f *fixture) checkFrame(i int, g *Frame, w want) {
	f.t.Helper()
	bad := func(what string, got, want any) {
		f.t.Helper()
		f.t.Errorf("frame %d: %s %v, want %v", i, what, got, want)
	}
	r := &g.Registers
	if g.Trust != w.trust {
		bad("trust", g.Trust, w.trust)
	}
	if g.Technique != w.by {
		bad("technique", g.Technique, w.by)
	}
	pc := show(w.pc)
	if got := show(r.PC()); got != pc {
		bad("pc", got, pc)
	}
	if got, want := show(g.Instruction), show(w.pc-adjustments[f.cpu.Name]); got != want {
		bad("instruction", got, want)
	}
	switch f.cpu.Name {
	case "mips", "mips64":
		if got, want := show(g.Return), show(w.pc+2*uint64(f.cpu.Word)); got != want {
			bad("return address", got, want)
		}
	default:
		if got := show(g.Return); got != pc {
			bad("return address", got, pc)
		}
	}
	if got, want := show(r.SP()), show(w.sp); got != want {
		bad("sp", got, want)
	}
	if g.Function != w.function {
		bad("function", g.Function, w.function)
	}
	if !r.Has(f.cpu.Slot.PC) || !r.Has(f.cpu.Slot.SP) {
		f.t.Errorf("frame %d: pc or sp not known", i)
	}
	if w.known == nil {
		return
	}
	got := values{}
	for slot, name := range f.cpu.Slots {
		if v, ok := r.Get(slot); ok && slot != f.cpu.Slot.PC && slot != f.cpu.Slot.SP {
			got[name] = v
		}
	}
	if !maps.Equal(got, w.known) {
		bad("registers", showValues(got), showValues(w.known))
	}
}

func show(v uint64) string { return fmt.Sprintf("%#x", v) }

func showValues(v values) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out = append(out, name+"="+show(v[name]))
	}
	return strings.Join(out, " ")
}

// context is the value that a register of the thread has.
func (f *fixture) context(name string) uint64 { return f.regs.Value[f.cpu.SlotOf(name)] }

// contexts are the values of several.
func (f *fixture) contexts(names ...string) values {
	v := values{}
	for _, name := range names {
		v[name] = f.context(name)
	}
	return v
}

// with is a copy of v with further registers.
func (v values) with(more values) values {
	v = maps.Clone(v)
	maps.Copy(v, more)
	return v
}

// missing and corrupt are the names of the modules reported.
func names(list []*Module) string {
	var out []string
	for _, m := range list {
		out = append(out, m.CodeFile)
	}
	return strings.Join(out, " ")
}

func (f *fixture) checkMissing(want string) {
	f.t.Helper()
	if got := names(f.walker.Missing()); got != want {
		f.t.Errorf("modules without symbols: %q, want %q", got, want)
	}
}

func (f *fixture) checkCorrupt(want string) {
	f.t.Helper()
	if got := names(f.walker.Corrupt()); got != want {
		f.t.Errorf("modules with corrupt symbols: %q, want %q", got, want)
	}
}

// The fixture itself: labels before and behind their use, words in both orders.
func TestFixtureStack(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, cpu := range []string{"x86", "x86_64"} {
			f := newFixture(t, cpu)
			f.process.Order = order
			f.stack(0x8000, "a:", "c", 0x1234, gap(2), "b:", "a+4", "c:")
			word := uint64(f.cpu.Word)
			stack := &f.process.Threads[0].Stack
			for i, want := range []uint64{0x8000 + 5*word, 0x1234, 0, 0, 0x8004} {
				if v, ok := stackWord(stack, order, 0x8000+uint64(i)*word, f.cpu.Word); !ok || v != want {
					t.Errorf("%s %v: word %d is %#x, want %#x", cpu, order, i, v, want)
				}
			}
			if f.at("b") != 0x8000+4*word || stack.End() != f.at("c") {
				t.Errorf("%s: b at %#x, end %#x", cpu, f.at("b"), stack.End())
			}
		}
	}
}

// linkCPU is a CPU whose calls leave the return address in a register, so that its walker tries CFI, the frame pointer
// where it has one, and scanning, and marks nothing but pc and sp as known behind a scan.
type linkCPU struct {
	name           string
	pc, sp, lr, fp string // registers
	saved          []string
}

var linkCPUs = []linkCPU{
	{"arm", "pc", "sp", "lr", "r11", []string{"r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11"}},
	{"arm64", "pc", "sp", "x30", "x29",
		[]string{"x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29"}},
	{"riscv", "pc", "sp", "ra", "s0",
		[]string{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11"}},
	{"riscv64", "pc", "sp", "ra", "s0",
		[]string{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11"}},
}

const linkStack = 0x80000000

func eachLinkCPU(t *testing.T, test func(t *testing.T, c linkCPU, f *fixture)) {
	for _, c := range linkCPUs {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, c.name).modules(module1, module2)
			f.set(c.sp, linkStack, c.pc, module1+0x200)
			test(t, c, f)
		})
	}
}

func TestLinkNoResolver(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.walker.Symbols = nil
		f.stack(linkStack, gap(2))
		s := f.walk()
		f.check(s, EndNoTechnique)
		if s.Frames[0].Registers != *f.regs {
			t.Error("the context was changed")
		}
		f.checkMissing("")
	})
}

func TestLinkSimple(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.stack(linkStack, gap(2))
		s := f.walk()
		f.check(s, EndNoTechnique)
		if s.Frames[0].Registers != *f.regs {
			t.Error("the context was changed")
		}
		f.checkMissing("module1")
		f.checkCorrupt("")
	})
}

func TestLinkNoStackMemory(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.check(f.walk(), EndNoStack)
		f.checkMissing("module1")
	})
}

func TestLinkScanWithoutSymbols(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.stack(linkStack,
			junk(2), module1-1, module1, module1+moduleSize+1,
			module2+moduleSize,                 // the byte before it is the module's last
			"frame1:", junk(4), module1+0x1301, // odd, as return addresses into Thumb code are
			"frame2:", junk(4),
		)
		f.check(f.walk(), EndNoTechnique,
			want{TrustScan, ByScan, module2 + moduleSize, f.at("frame1"), "", values{}},
			want{TrustScan, ByScan, module1 + 0x1301, f.at("frame2"), "", values{}})
		f.checkMissing("module1 module2")
	})
}

func TestLinkScanWithFunctionSymbols(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.sym("module1", "FUNC 100 400 10 outer", "FUNC 1000 100 10 inner")
		f.sym("module2", "FUNC 2000 40 0 middle")
		f.stack(linkStack,
			junk(2), module1+0x900, module2+0x2041, module2+0x2000,
			module2+0x2040,
			"frame1:", junk(1), module1+0x8000, module1+0x4fe,
			"frame2:", junk(3),
		)
		f.set(c.pc, module1+0x1010)
		s := f.walk()
		f.check(s, EndNoTechnique,
			want{TrustScan, ByScan, module2 + 0x2040, f.at("frame1"), "middle", values{}},
			want{TrustScan, ByScan, module1 + 0x4fe, f.at("frame2"), "outer", values{}})
		if g := s.Frames[0]; g.Function != "inner" || g.FunctionBase != module1+0x1000 {
			t.Errorf("frame 0 is %s at %#x", g.Function, g.FunctionBase)
		}
	})
}

// The test of candidates takes one byte off on every CPU. A return address at a function's second byte is one then,
// although the frame's own address lies before the function.
func TestLinkScanTestsOneByteBefore(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.sym("module2", "FUNC 2000 40 0 middle")
		f.stack(linkStack, module2+0x2001, "frame1:", junk(1))
		f.check(f.walk(), EndNoTechnique, want{TrustScan, ByScan, module2 + 0x2001, f.at("frame1"), "", values{}})
	})
}

func TestLinkScanFirstFrame(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.stack(linkStack,
			junk(96), module2+0x100,
			"frame1:", junk(96), module1+0x100, junk(4),
		)
		f.check(f.walk(), EndNoTechnique, want{TrustScan, ByScan, module2 + 0x100, f.at("frame1"), "", values{}})

		f.stack(linkStack,
			junk(160), module2+0x100,
			"frame1:", junk(40), module1+0x100,
			"frame2:", junk(41), module1+0x100, junk(4),
		)
		f.check(f.walk(), EndNoTechnique,
			want{TrustScan, ByScan, module2 + 0x100, f.at("frame1"), "", values{}},
			want{TrustScan, ByScan, module1 + 0x100, f.at("frame2"), "", values{}})

		f.stack(linkStack, junk(161), module2+0x100, junk(4))
		f.check(f.walk(), EndNoTechnique)
	})
}

func TestLinkScanningNotAllowed(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.walker.MaxScanned = -1
		f.stack(linkStack, junk(2), module2+0x100, junk(4))
		f.check(f.walk(), EndNoTechnique)
	})
}

func TestLinkRejectBackwards(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		for _, by := range []int{4, 8} {
			f.sym("module1", fmt.Sprintf("STACK CFI INIT 200 100 .cfa: sp %d - .ra: %s", by, c.lr))
			f.walker = &Walker{Process: f.process, Symbols: f.symbols}
			f.stack(linkStack-16, junk(8), module2+0x100, junk(4)) // which a scan would find
			f.set(c.lr, module1+0x300)
			f.check(f.walk(), EndBackwards)
		}
	})
}

func TestLinkRejectBadExpressions(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.sym("module1", "STACK CFI INIT 200 100 .cfa: moot .ra: ambiguous")
		f.stack(linkStack, junk(12))
		f.check(f.walk(), EndNoTechnique)
	})
}

// A leaf function has the stack pointer of its caller, which only the context frame may have.
func TestLinkSameStackPointer(t *testing.T) {
	eachLinkCPU(t, func(t *testing.T, c linkCPU, f *fixture) {
		f.sym("module1", "STACK CFI INIT 200 100 .cfa: sp .ra: "+c.lr)
		f.sym("module2", "STACK CFI INIT 200 100 .cfa: sp .ra: "+c.saved[0])
		f.stack(linkStack, junk(4))
		f.set(c.lr, module2+0x210, c.saved[0], module1+0x210)
		f.check(f.walk(), EndBackwards,
			want{TrustCFI, ByCFI, module2 + 0x210, linkStack, "", f.contexts(c.saved...)})
	})
}

// cfiLink is one function with seven addresses, all of which lead to the same caller: in the terms of four registers
// that functions preserve (A to D), two that they do not (X, Y), and the size of a word.
var cfiLink = []string{
	"FUNC 4000 1000 0 winnower",
	"STACK CFI INIT 4000 100 .cfa: sp .ra: LR",
	"STACK CFI 4001 .cfa: sp 3W + .ra: .cfa -1W + ^ A: .cfa -3W + ^ B: .cfa -2W + ^",
	"STACK CFI 4002 A: X C: Y",
	"STACK CFI 4003 A: A X: .cfa -3W + ^ C: C",
	"STACK CFI 4005 .cfa: sp 5W + .ra: .cfa -3W + ^ B: .cfa -4W + ^ X: .cfa -5W + ^ sp: .cfa 2W -",
	"STACK CFI 4006 .ra: 39 pc: .cfa -3W + ^",
	"FUNC 5000 1000 0 bottom",
	"STACK CFI INIT 5000 1000 .cfa: 0 .ra: 0",
	"FUNC 6000 1000 0 without",
}

// roles are the registers that cfiLink means: A to D, X and Y.
var roles = map[string][6]string{
	"arm":     {"r4", "r5", "r6", "r11", "r1", "r2"},
	"arm64":   {"x19", "x20", "x21", "x28", "x1", "x2"},
	"riscv":   {"s1", "s2", "s3", "s11", "a1", "a2"},
	"riscv64": {"s1", "s2", "s3", "s11", "a1", "a2"},
}

func (c *linkCPU) cfi(f *fixture) []string {
	words := map[string]string{"LR": c.lr}
	for i, role := range []string{"A", "B", "C", "D", "X", "Y"} {
		words[role], words[role+":"] = roles[c.name][i], roles[c.name][i]+":"
	}
	for n := -5; n <= 5; n++ {
		words[fmt.Sprintf("%dW", n)] = fmt.Sprint(n * f.cpu.Word)
	}
	var out []string
	for _, line := range cfiLink {
		fields := strings.Fields(line)
		for i, word := range fields {
			if w, ok := words[word]; ok {
				fields[i] = w
			}
		}
		out = append(out, strings.Join(fields, " "))
	}
	return out
}

func TestLinkCFI(t *testing.T) {
	const (
		ra         = module1 + 0x5510
		a, b, c, d = 0x11a1a1a1, 0x22b2b2b2, 0x33c3c3c3, 0x44d4d4d4
	)
	eachLinkCPU(t, func(t *testing.T, link linkCPU, _ *fixture) {
		r := roles[link.name]
		for _, x := range []struct {
			at    uint64
			stack []any
			set   []any // what differs from the caller's registers
			more  values
		}{
			{0x4000, []any{"sp:"}, []any{link.lr, ra}, nil},
			{0x4001, []any{"sp:", a, b, ra}, []any{r[0], 0xbad, r[1], 0xbad}, nil},
			{0x4002, []any{"sp:", a, b, ra}, []any{r[0], 0xbad, r[1], 0xbad, r[2], 0xbad, r[4], a, r[5], c}, nil},
			{0x4003, []any{"sp:", 0x5aa5, b, ra}, []any{r[1], 0xbad}, values{r[4]: 0x5aa5}},
			{0x4004, []any{"sp:", 0x5aa5, b, ra}, []any{r[1], 0xbad}, values{r[4]: 0x5aa5}},
			{0x4005, []any{"sp:", 0x5aa5, b, ra}, []any{r[1], 0xbad}, values{r[4]: 0x5aa5}},
			{0x4006, []any{"sp:", 0x5aa5, b, ra}, []any{r[1], 0xbad}, values{r[4]: 0x5aa5}},
		} {
			t.Run(fmt.Sprintf("%x", x.at), func(t *testing.T) {
				f := newFixture(t, link.name).modules(module1, module2)
				f.sym("module1", link.cfi(f)...)
				f.stack(linkStack, append(x.stack, "caller:", gap(20))...)
				f.set(r[0], a, r[1], b, r[2], c, r[3], d)
				preserved := f.contexts(link.saved...)
				f.set(link.pc, module1+x.at, link.sp, "sp")
				f.set(x.set...)
				f.check(f.walk(), EndLowAddress,
					want{TrustCFI, ByCFI, ra, f.at("caller"), "bottom", preserved.with(x.more)})
			})
		}
		// 6.3, At4001LimitedValidity: the caller has what the rules load, and no more.
		t.Run("limited", func(t *testing.T) {
			f := newFixture(t, link.name).modules(module1, module2)
			f.sym("module1", link.cfi(f)...)
			f.stack(linkStack, "sp:", a, b, ra, "caller:", gap(20))
			f.set(link.pc, module1+0x4001, link.sp, "sp")
			f.only(link.pc, link.sp)
			f.check(f.walk(), EndLowAddress,
				want{TrustCFI, ByCFI, ra, f.at("caller"), "bottom", values{r[0]: a, r[1]: b}})
			f.set(link.fp, 0x77f7f7f7)
			f.check(f.walk(), EndLowAddress,
				want{TrustCFI, ByCFI, ra, f.at("caller"), "bottom", values{r[0]: a, r[1]: b, link.fp: 0x77f7f7f7}})
			// A rule that needs more than that cannot be followed. Nothing else is on the stack either.
			f.set(link.pc, module1+0x4000)
			f.only(link.pc, link.sp)
			f.stack(linkStack, "sp:", gap(20))
			if s := f.walk(); len(s.Frames) != 1 {
				t.Errorf("%d frames from a link register that is not known", len(s.Frames))
			}
		})
	})
}
