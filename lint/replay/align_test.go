package replay

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// row is a frame of a stack that a test writes down.
type row struct {
	pc, sp    uint64
	name      string // module!function
	at        string // file:line
	technique unwind.Technique
	trust     unwind.Trust
	signal    bool
	inlines   []string // "function file:line", innermost first
}

// cfi is an ordinary frame.
func cfi(pc, sp uint64, name, at string) row {
	return row{pc: pc, sp: sp, name: name, at: at, technique: unwind.ByCFI, trust: unwind.TrustCFI}
}

const (
	towerBase = 0x1000000
	libcBase  = 0x2000000
)

// world is a process with the stack of its only thread.
type world struct {
	process *unwind.Process
	stack   *unwind.Stack
}

func newWorld(t testing.TB, cpu string, rows ...row) *world {
	t.Helper()
	c, ok := arch.Lookup(cpu)
	if !ok {
		t.Fatal(cpu)
	}
	w := &world{process: &unwind.Process{Modules: unwind.NewModules(symfile.Reject), Order: binary.LittleEndian}}
	w.process.Modules.Add(unwind.Module{Base: towerBase, Size: 0x10000, CodeFile: "/src/tower", DebugFile: "tower"})
	w.process.Modules.Add(unwind.Module{Base: libcBase, Size: 0x10000, CodeFile: "/lib/libc.so.6", DebugFile: "libc.so.6"})
	w.stack = &unwind.Stack{End: unwind.EndNoTechnique}
	for i, r := range rows {
		f := unwind.Frame{Return: r.pc, Instruction: r.pc, Technique: r.technique, Trust: r.trust, Signal: r.signal, HasSymbols: true}
		f.Registers.CPU = c
		f.Registers.Set(c.Slot.PC, r.pc)
		f.Registers.Set(c.Slot.SP, r.sp)
		if i == 0 {
			f.Trust, f.Technique = unwind.TrustContext, unwind.ByContext
		} else if !r.signal {
			f.Instruction -= callSizes(cpu)[0]
		}
		f.Module = w.process.Modules.At(f.Instruction)
		_, f.Function, _ = strings.Cut(r.name, "!")
		f.FunctionBase = r.pc &^ 0xff
		f.File, f.Line = position(r.at)
		f.LineBase = r.pc &^ 0xf
		for _, in := range r.inlines {
			name, at, _ := strings.Cut(in, " ")
			one := symfile.InlineFrame{Name: name, LineBase: r.pc&^0xf - towerBase}
			one.File, one.Number = position(at)
			f.Inlines = append(f.Inlines, one)
		}
		w.stack.Frames = append(w.stack.Frames, f)
	}
	thread := unwind.Thread{ID: 77}
	if len(rows) > 0 {
		regs := w.stack.Frames[0].Registers
		thread.Registers = &regs
	}
	thread.Stack = unwind.Region{Base: 0x7000, Data: make([]byte, 0x1000)}
	w.process.Threads = []unwind.Thread{thread}
	w.stack.Thread = &w.process.Threads[0]
	w.process.Memory = &w.process.Threads[0].Stack
	return w
}

func position(at string) (string, int64) {
	file, line := cutSource(at)
	return file, int64(line)
}

// base is the stack that most cases begin with.
func base() []row {
	return []row{
		{pc: towerBase + 0x1010, sp: 0x7000, name: "tower!leaf", at: "tower.cc:30"},
		cfi(towerBase+0x1120, 0x7010, "tower!middle(int)", "/x/tower.cc:36"),
		cfi(towerBase+0x1230, 0x7040, "tower!main", "tower.cc:40"),
		cfi(libcBase+0x1340, 0x7080, "libc.so.6!__libc_start_main_impl", ""),
		cfi(towerBase+0x1450, 0x70c0, "tower!_start", ""),
	}
}

// table is what gdb sees of base.
const table = `#thread	lwp	level	kind	pc	sp	module	function	source	regs
1	77	0	NORMAL	0x1001010	0x7000	tower	leaf	tower.cc:30	-
1	77	1	NORMAL	0x1001120	0x7010	tower	middle	tower.cc:36	-
1	77	2	NORMAL	0x1001230	0x7040	tower	main	tower.cc:40	-
1	77	3	NORMAL	0x2001340	0x7080	libc.so.6	__libc_start_main_impl	libc-start.c:360	-
1	77	4	NORMAL	0x1001450	0x70c0	tower	_start	-	-
#end	1	outermost
`

const backtrace = `Thread 1 (LWP 77):
#0  leaf (p=0x0) at tower.cc:30
#1  0x0000000001001120 in middle (n=1) at tower.cc:36
#2  0x0000000001001230 in main () at tower.cc:40
`

const walked = `CPU: amd64
Thread 0 (crashed)
 0  tower!leaf [tower.cc : 30 + 0x0]
    rip = 0x0000000001001010   rsp = 0x0000000000007000
    Found by: given as instruction pointer in context
 1  tower!middle(int) [tower.cc : 36 + 0x0]
    rip = 0x0000000001001120   rsp = 0x0000000000007010
    Found by: call frame info
 2  tower!main [tower.cc : 40 + 0x0]
    rip = 0x0000000001001230   rsp = 0x0000000000007040
    Found by: call frame info
 3  libc.so.6!__libc_start_main_impl + 0x40
    rip = 0x0000000002001340   rsp = 0x0000000000007080
    Found by: call frame info
 4  tower!_start + 0x50
    rip = 0x0000000001001450   rsp = 0x00000000000070c0
    Found by: call frame info
`

const machine = `OS|Linux|6.1
0|0|tower|leaf|/src/tower.cc|30|0x0
0|1|tower|middle(int)|/src/tower.cc|36|0x0
0|2|tower|main|/src/tower.cc|40|0x0
0|3|libc.so.6|__libc_start_main_impl|||0x40
0|4|tower|_start|||0x50
`

const document = `{"system_info": {"cpu_arch": "amd64"},
"threads": [{"thread_id": 77, "frames": [
{"frame": 0, "offset": "0x1001010", "module": "tower", "module_offset": "0x1010", "function": "leaf", "file": "tower.cc", "line": 30, "trust": "context"},
{"frame": 1, "offset": "0x100111f", "module": "tower", "module_offset": "0x111f", "function": "middle", "file": "tower.cc", "line": 36, "trust": "cfi"},
{"frame": 2, "offset": "0x100122f", "module": "tower", "module_offset": "0x122f", "function": "main", "file": "tower.cc", "line": 40, "trust": "cfi"},
{"frame": 3, "offset": "0x200133f", "module": "libc.so.6", "module_offset": "0x133f", "function": "__libc_start_main_impl", "trust": "cfi"},
{"frame": 4, "offset": "0x100144f", "module": "tower", "module_offset": "0x144f", "function": "_start", "trust": "cfi"}]}]}
`

// edited replaces text that must be there.
func edited(t testing.TB, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if strings.Count(text, pairs[i]) != 1 {
			t.Fatalf("%q comes %d times", pairs[i], strings.Count(text, pairs[i]))
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func aligned(t testing.TB, text string, w *world, o Options) Alignment {
	t.Helper()
	ref, err := ParseReference([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	pairs := Pair(ref, w.process)
	if pairs[0].Thread != 0 {
		t.Fatalf("the thread has no partner: %v", pairs)
	}
	return Align(ref, 0, w.process, w.stack, o)
}

func codes(a *Alignment) string {
	var out []string
	for _, x := range a.Tolerated {
		if !slices.Contains(out, x.What) {
			out = append(out, x.What)
		}
	}
	return strings.Join(out, " ")
}

// outcome tells an alignment in a line: what was tolerated, and where and how the traces differ.
func outcome(a *Alignment) string {
	s := codes(a)
	if d := a.First; d != nil {
		s += fmt.Sprintf(" | %s at %d", d.Field, d.Frame)
		if d.Inline >= 0 {
			s += fmt.Sprintf(" inline %d", d.Inline)
		}
		if d.Weakness != nil {
			s += " " + d.Weakness.Name
		}
	}
	return strings.TrimSpace(s)
}

func TestAlignSame(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"table", table, "no-line"}, {"gdb", backtrace, "no-module past-main"}, {"text", walked, ""}, {"machine", machine, ""}, {"json", document, ""},
	} {
		w := newWorld(t, "x86_64", base()...)
		a := aligned(t, c.text, w, Options{Fields: AllFields})
		if !a.Matched || outcome(&a) != c.want {
			t.Errorf("%s: %q, want %q: %+v", c.name, outcome(&a), c.want, a.First)
		}
		if n := len(w.stack.Frames); c.name != "gdb" && (a.Agreed != n || a.Compared != n || len(a.Pairs) != n) {
			t.Errorf("%s: %d agreed, %d compared", c.name, a.Agreed, a.Compared)
		}
	}
}

// TestAlign changes either side by one thing each.
func TestAlign(t *testing.T) {
	for _, c := range []struct {
		name   string
		text   string
		edit   []string
		change func(r []row) []row
		world  func(w *world)
		fields Fields
		want   string
	}{
		// Differences.
		{name: "table pc", text: table, edit: []string{"0x1001120", "0x1001128"}, want: "| pc at 1"},
		{name: "table without a header", text: "0\t0\t0x1001010\t0x7000\tleaf\ttower.cc\t30\n0\t1\t0x1001120\t0x7010\tmiddle\ttower.cc\t37\n", want: "no-module | line at 1"},
		{name: "short table without a header", text: "0\t0\t0x1001010\t0x7000\tleaf\n0\t1\t0x1001121\t0x7010\tmiddle\n", want: "no-module no-line | pc at 1"},
		{name: "table pc not compared", text: table, edit: []string{"0x1001120", "0x1001128"}, fields: FieldFunction, want: ""},
		{name: "table sp", text: table, edit: []string{"0x7040", "0x7048"}, fields: AllFields, want: "| sp at 2"},
		{name: "table sp not compared", text: table, edit: []string{"0x7040", "0x7048"}, want: "no-line"},
		{name: "table module", text: table, edit: []string{"tower	main", "other	main"}, want: "| module at 2"},
		{name: "table function", text: table, edit: []string{"middle", "center"}, want: "| function at 1"},
		{name: "table line", text: table, edit: []string{"tower.cc:36", "tower.cc:37"}, want: "| line at 1"},
		{name: "table file", text: table, edit: []string{"tower.cc:36", "tower.h:36"}, want: "| line at 1"},
		{name: "table register", text: table, edit: []string{"_start	-	-", "_start	-	rsp=70c0,rip=1001450"}, fields: AllFields, want: "no-line"},
		{name: "table register differs", text: table, edit: []string{"_start	-	-", "_start	-	rsp=70c8"}, fields: AllFields, want: "no-line | registers at 4"},
		{name: "table short", text: table, edit: []string{"1	77	4	NORMAL	0x1001450	0x70c0	tower	_start	-	-\n", ""}, want: "no-line | end at 4"},
		{name: "gdb pc", text: backtrace, edit: []string{"1001120", "1001121"}, want: "no-module | pc at 1"},
		{name: "gdb function", text: backtrace, edit: []string{"leaf", "twig"}, want: "| function at 0"},
		{name: "text pc", text: walked, edit: []string{"1001120", "1001121"}, want: "| pc at 1"},
		{name: "text module", text: walked, edit: []string{"tower!main", "power!main"}, want: "| module at 2"},
		{name: "text no module", text: walked, edit: []string{"tower!main [tower.cc : 40 + 0x0]", "0x1001230"}, want: "| module at 2"},
		{name: "text trust", text: walked, edit: []string{"0x0000000000007010\n    Found by: call frame info", "0x0000000000007010\n    Found by: stack scanning"}, fields: AllFields, want: "| trust at 1"},
		{name: "text registers", text: walked, edit: []string{"rsp = 0x00000000000070c0", "rbp = 0x1 rsp = 0x00000000000070c0"}, fields: AllFields, want: ""},
		{name: "machine offset", text: machine, edit: []string{"_start|||0x50", "_start|||0x51"}, want: "| pc at 4"},
		{name: "machine line offset", text: machine, edit: []string{"36|0x0", "36|0x1"}, want: "| pc at 1"},
		{name: "machine line", text: machine, edit: []string{"36|0x0", "37|0x0"}, want: "| line at 1"},
		{name: "machine function", text: machine, edit: []string{"middle(int)", "center(int)"}, want: "| function at 1"},
		{name: "json offset", text: document, edit: []string{`"0x100111f"`, `"0x1001120"`}, want: "| pc at 1"},
		{name: "json no module", text: document, edit: []string{`"module": "tower", "module_offset": "0x111f"`, `"module": null`}, want: "| module at 1"},
		{name: "walk short", text: walked, change: func(r []row) []row { return r[:3] }, want: "| end at 3"},
		{name: "walk short, gdb", text: table, change: func(r []row) []row { return r[:3] }, want: "| end at 3"},
		{name: "walk skips", text: walked, change: func(r []row) []row { return slices.Delete(r, 1, 2) }, want: "| pc at 1"},
		{name: "walk skips, table", text: table, change: func(r []row) []row { return slices.Delete(r, 1, 2) }, want: "| pc at 1"},
		{name: "walk repeats", text: walked, change: func(r []row) []row { return slices.Insert(r, 2, r[1]) }, want: "| pc at 2"},

		// Outermost frames.
		{name: "made-up frames of the reference", text: walked + " 5  0x7ffe\n     rip = 0x7ffe   rsp = 0x8000\n    Found by: call frame info\n", want: "beyond-outermost"},
		{name: "made-up frames of the walk", text: walked, change: func(r []row) []row { return append(r, cfi(0x7ffe, 0x7100, "", "")) }, want: "beyond-outermost"},
		{name: "made-up frames of the walk, gdb", text: table, change: func(r []row) []row { return append(r, cfi(0x7ffe, 0x7100, "", "")) }, want: "no-line beyond-outermost"},
		{name: "made-up frames differ", text: walked + " 5  0x7ffe\n     rip = 0x7ffe   rsp = 0x8000\n    Found by: call frame info\n",
			change: func(r []row) []row { return append(r, cfi(0x6ffe, 0x7100, "", "")) }, want: "beyond-outermost"},
		{name: "frames beyond another function", text: walked + " 5  0x7ffe\n     rip = 0x7ffe   rsp = 0x8000\n    Found by: call frame info\n", edit: []string{"_start + 0x50", "start_up + 0x50"},
			change: func(r []row) []row { r[4].name = "tower!start_up"; return r }, want: "| end at 5"},
		{name: "the walk knows its end", text: walked + " 5  0x7ffe\n     rip = 0x7ffe   rsp = 0x8000\n    Found by: call frame info\n", edit: []string{"_start + 0x50", "enter + 0x50"},
			change: func(r []row) []row { r[4].name = "tower!enter"; return r }, world: func(w *world) { w.stack.End = unwind.EndOutermost }, want: "beyond-outermost"},
		{name: "frames that gdb makes up", text: table, edit: []string{"_start	-	-\n", "enter	-	-\n1	77	5	NORMAL	0x0	0x7100	-	-	-	-\n"},
			change: func(r []row) []row { r[4].name = "tower!enter"; return r }, world: func(w *world) { w.stack.End = unwind.EndOutermost }, want: "no-line beyond-outermost"},
		{name: "frames that gdb knows", text: table, edit: []string{"_start	-	-\n", "enter	-	-\n1	77	5	NORMAL	0x1001550	0x7100	tower	caller	-	-\n"},
			change: func(r []row) []row { r[4].name = "tower!enter"; return r }, world: func(w *world) { w.stack.End = unwind.EndOutermost }, want: "no-line | end at 5"},
		{name: "the innermost frame may be called", text: walked, edit: []string{"tower!leaf [tower.cc : 30 + 0x0]", "tower!clone + 0x10"},
			change: func(r []row) []row { r[0].name, r[0].at = "tower!clone", ""; r[2].pc++; return r }, want: "| pc at 2"},

		// Ends.
		{name: "gdb lost the trail", text: table, edit: []string{"#end	1	outermost", "#end	1	previous frame inner to this frame (corrupt stack?)", "1	77	4	NORMAL	0x1001450	0x70c0	tower	_start	-	-\n", ""}, want: "no-line reference-stopped"},
		{name: "gdb ends at zero", text: backtrace + "#3  0x0000000000000000 in ?? ()\n", change: func(r []row) []row { return r[:3] }, want: "no-module reference-stopped"},
		{name: "gdb ends at zero, the walk goes on", text: backtrace + "#3  0x0000000000000000 in ?? ()\n", want: "no-module reference-stopped"},
		{name: "gdb has more", text: strings.Replace(backtrace, "#2  0x0000000001001230 in main () at tower.cc:40\n", "(More stack frames follow...)\n", 1), want: "no-module truncated"},
		{name: "gdb does not end at main", text: strings.Replace(backtrace, "main ()", "mean ()", 1), change: func(r []row) []row { r[2].name = "tower!mean"; return r }, want: "no-module | end at 3"},
		{name: "limit", text: walked, change: func(r []row) []row { return r[:3] }, world: func(w *world) { w.stack.End = unwind.EndLimit }, want: "limit"},
		{name: "no memory", text: table, edit: []string{"0x7080", "0x8080"}, change: func(r []row) []row { return r[:3] }, want: "no-memory"},
		{name: "no memory, same dump", text: walked, edit: []string{"0x0000000000007080", "0x0000000000008080"}, change: func(r []row) []row { return r[:3] }, want: "| end at 3"},
		{name: "no stack", text: table, change: func(r []row) []row { return r[:1] }, world: func(w *world) { w.stack.End = unwind.EndNoStack }, want: "no-memory"},

		// Inlined calls.
		{name: "reference has inlined calls", text: table, edit: []string{"1	77	2	NORMAL	0x1001230	0x7040	tower	main	tower.cc:40",
			"1	77	2	INLINE	0x1001230	0x7040	tower	in	tower.cc:40	-\n1	77	3	NORMAL	0x1001230	0x7040	tower	main	tower.cc:99", "	3	NORMAL	0x2", "	4	NORMAL	0x2", "	4	NORMAL	0x1001450", "	5	NORMAL	0x1001450"}, want: "inline no-line"},
		{name: "inlined calls at another line", text: table, edit: []string{"1	77	2	NORMAL	0x1001230	0x7040	tower	main	tower.cc:40",
			"1	77	2	INLINE	0x1001230	0x7040	tower	in	tower.cc:41	-\n1	77	3	NORMAL	0x1001230	0x7040	tower	main	tower.cc:40", "	3	NORMAL	0x2", "	4	NORMAL	0x2", "	4	NORMAL	0x1001450", "	5	NORMAL	0x1001450"}, want: "| line at 2"},
		{name: "walk has inlined calls", text: walked, change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:36"}; r[1].at = "tower.cc:90"; return r }, want: "inline"},
		{name: "walk has inlined calls, machine", text: machine, change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:36"}; r[1].at = "tower.cc:90"; return r }, want: "inline"},
		{name: "both have inlined calls, machine", text: machine, edit: []string{"0|1|tower|middle(int)|/src/tower.cc|36|0x0", "0|1|tower|in(int)|/src/tower.cc|35|0xf\n0|2|tower|middle(int)|/src/tower.cc|36|0x0", "0|2|tower|main", "0|3|tower|main", "0|3|libc", "0|4|libc", "0|4|tower|_s", "0|5|tower|_s"},
			change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:35"}; return r }, want: ""},
		{name: "inlined call differs, machine", text: machine, edit: []string{"0|1|tower|middle(int)|/src/tower.cc|36|0x0", "0|1|tower|out(int)|/src/tower.cc|35|0xf\n0|2|tower|middle(int)|/src/tower.cc|36|0x0", "0|2|tower|main", "0|3|tower|main", "0|3|libc", "0|4|libc", "0|4|tower|_s", "0|5|tower|_s"},
			change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:35"}; return r }, want: "| function at 1"},
		{name: "reference has inlined calls, machine", text: machine, edit: []string{"0|1|tower|middle(int)|/src/tower.cc|36|0x0", "0|1|tower|in(int)|/src/tower.cc|36|0x0\n0|2|tower|middle(int)|/src/tower.cc|90|0x0", "0|2|tower|main", "0|3|tower|main", "0|3|libc", "0|4|libc", "0|4|tower|_s", "0|5|tower|_s"}, want: "inline"},
		{name: "json inlined call differs", text: document, edit: []string{`"function": "middle",`, `"function": "middle", "inlines": [{"function": "out", "file": "tower.cc", "line": 35}],`},
			change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:35"}; return r }, want: "| function at 1 inline 0"},
		{name: "json inlined call at another line", text: document, edit: []string{`"function": "middle",`, `"function": "middle", "inlines": [{"function": "in", "file": "tower.cc", "line": 34}],`},
			change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:35"}; return r }, want: "| line at 1 inline 0"},
		{name: "json has fewer inlined calls", text: document, edit: []string{`"function": "middle",`, `"function": "middle", "inlines": [{"function": "in", "file": "tower.cc", "line": 35}],`},
			change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:35", "in2 tower.cc:34"}; return r }, want: "inline"},
		{name: "json has others", text: document, edit: []string{`"function": "middle",`, `"function": "middle", "inlines": [{"function": "out", "file": "tower.cc", "line": 35}],`},
			change: func(r []row) []row { r[1].inlines = []string{"in tower.cc:35", "in2 tower.cc:34"}; return r }, want: "| function at 1 inline 0"},

		// Tail calls.
		{name: "tail call", text: table, edit: []string{"1	77	1	N", "1	77	1	TAILCALL	0x1001999	0x7010	tower	tail	tower.cc:33	-\n1	77	2	N", "1	77	2	NORMAL	0x1001230", "1	77	3	NORMAL	0x1001230",
			"	3	NORMAL	0x2", "	4	NORMAL	0x2", "	4	NORMAL	0x1001450", "	5	NORMAL	0x1001450"}, want: "tail-call no-line"},
		{name: "tail call and a wrong frame", text: table, edit: []string{"1	77	1	NORMAL	0x1001120", "1	77	1	TAILCALL	0x1001999	0x7010	tower	tail	tower.cc:33	-\n1	77	2	NORMAL	0x1001122", "1	77	2	NORMAL	0x1001230", "1	77	3	NORMAL	0x1001230",
			"	3	NORMAL	0x2", "	4	NORMAL	0x2", "	4	NORMAL	0x1001450", "	5	NORMAL	0x1001450"}, want: "| pc at 1"},
		{name: "gdb tail call", text: backtrace, edit: []string{"#1  ", "#1  0x0000000001001999 in tail (n=1) at tower.cc:33\n#2  ", "#2  0x0000000001001230", "#3  0x0000000001001230"}, want: "no-module tail-call past-main"},
		{name: "gdb frame skipped by frame pointer", text: backtrace, edit: []string{"#1  ", "#1  0x0000000001001999 in tail (n=1) at tower.cc:33\n#2  ", "#2  0x0000000001001230", "#3  0x0000000001001230"},
			change: func(r []row) []row { r[1].trust, r[1].technique = unwind.TrustFP, unwind.ByFramePointer; return r }, want: "no-module | pc at 1"},
		{name: "gdb recursion skipped", text: backtrace, edit: []string{"#1  ", "#1  0x0000000001001120 in middle (n=1) at tower.cc:36\n#2  ", "#2  0x0000000001001230", "#3  0x0000000001001230"}, want: "no-module | pc at 2"},

		// What one side does not know.
		{name: "no symbols", text: table, change: func(r []row) []row { r[1].name, r[1].at = "tower!", ""; return r }, want: "no-function no-line"},
		{name: "no function", text: table, edit: []string{"middle	tower.cc:36", "-	-"}, want: "no-function no-line"},
		{name: "question marks", text: backtrace, edit: []string{"middle (n=1) at tower.cc:36", "?? ()"}, want: "no-module no-function no-line past-main"},
		{name: "gdb does not know the module", text: table, edit: []string{"tower	main", "-	main"}, want: "no-module no-line"},

		// Names.
		{name: "alias", text: table, edit: []string{"__libc_start_main_impl", "__libc_start_main"}, want: "alias no-line"},
		{name: "alias without an address", text: machine, edit: []string{"__libc_start_main_impl", "__libc_start_main"}, want: "| function at 3"},
		{name: "other name at the same start", text: document, edit: []string{`"__libc_start_main_impl",`, `"entry", "function_offset": "0x3f",`}, want: "alias"},
		{name: "other name at another start", text: document, edit: []string{`"__libc_start_main_impl",`, `"entry", "function_offset": "0x3e",`}, want: "| function at 3"},
		{name: "namespace", text: table, edit: []string{"middle", "tower::middle"}, want: "alias no-line"},
		{name: "case of a module", text: walked, edit: []string{"tower!main", "TOWER!main"}, want: ""},
		{name: "module by address", text: walked + "\nLoaded modules:\n0x01000000 - 0x0100ffff  castle  ???  (main)\n", edit: []string{"tower!main", "castle!main"}, want: "module-name"},

		// Signals.
		{name: "trampoline", text: table, edit: []string{"0x7010	tower	middle	tower.cc:36", "0x7010	-	__restore_rt	-", "1	77	1	NORMAL", "1	77	1	SIGTRAMP"}, want: "no-module signal-frame no-line"},
		{name: "interrupted frame of a stackwalker", text: document, change: func(r []row) []row { r[2].signal = true; return r }, want: "address-kind"},

		// Weaknesses.
		{name: "gdb lost the trail without a word", text: strings.Replace(backtrace, "0x0000000001001230 in main () at tower.cc:40", "0x0a0a0a0a0a0a0a0a in ?? ()", 1) + "#3  0x0000000000000000 in ?? ()\n", want: "no-module | pc at 2 lost-trail"},
		{name: "gdb has a name", text: strings.Replace(backtrace, "0x0000000001001230 in main () at tower.cc:40", "0x0a0a0a0a0a0a0a0a in f ()", 1), want: "no-module | pc at 2"},
		{name: "ends at a trampoline", text: walked[:strings.Index(walked, " 2  ")], change: func(r []row) []row {
			r[2].signal, r[2].technique = true, unwind.BySignal
			return r
		}, want: "| end at 2 ends-at-trampoline"},
		{name: "ends elsewhere", text: walked[:strings.Index(walked, " 2  ")], want: "| end at 2"},
		{name: "skips what was interrupted", text: walked, change: func(r []row) []row {
			return slices.Insert(r, 2, row{pc: libcBase + 0x999, sp: 0x7020, name: "libc.so.6!raise", signal: true, technique: unwind.BySignal, trust: unwind.TrustCFI})
		}, want: "| pc at 2 skipped-interrupted"},
		{name: "wild call", text: walked, edit: []string{"tower!leaf [tower.cc : 30 + 0x0]", "0x0", "0x0000000001001010", "0x0"}, change: func(r []row) []row {
			r[0] = row{sp: 0x7000}
			return slices.Insert(r, 1, row{pc: towerBase + 0x999, sp: 0x7008, name: "tower!caller", technique: unwind.ByCall, trust: unwind.TrustLeaf})
		}, want: "| pc at 1 wild-call"},
		{name: "realigned", text: walked[:strings.Index(walked, " 2  ")], change: func(r []row) []row {
			r[2].technique = unwind.ByRealigned
			return r
		}, want: "| end at 2 realigned-stack"},
		{name: "binary", text: walked[:strings.Index(walked, " 2  ")], change: func(r []row) []row {
			r[2].technique = unwind.ByDWARF
			return r
		}, want: "| end at 2 symbol-file-only"},
		{name: "the binary says otherwise, so does a symbol file", text: walked, edit: []string{"rip = 0x0000000001001230", "rip = 0x0000000001001236"}, change: func(r []row) []row {
			r[2].technique = unwind.ByDWARF
			return r
		}, want: "| pc at 2"},
		{name: "scanned", text: walked, edit: []string{"0x0000000000007040\n    Found by: call frame info", "0x0000000000007040\n    Found by: stack scanning"}, change: func(r []row) []row {
			return slices.Insert(r, 2, cfi(towerBase+0x999, 0x7018, "tower!between", ""))
		}, want: "| pc at 2 scanned-frame"},
		{name: "not scanned", text: walked, change: func(r []row) []row {
			return slices.Insert(r, 2, cfi(towerBase+0x999, 0x7018, "tower!between", ""))
		}, want: "| pc at 2"},
		{name: "both scanned", text: walked, edit: []string{"0x0000000000007040\n    Found by: call frame info", "0x0000000000007040\n    Found by: stack scanning"}, change: func(r []row) []row {
			return slices.Insert(r, 2, row{pc: towerBase + 0x999, sp: 0x7018, name: "tower!between", technique: unwind.ByScan, trust: unwind.TrustScan})
		}, want: "| pc at 2"},
		{name: "made up", text: walked, change: func(r []row) []row { return slices.Delete(r, 2, 3) },
			edit: []string{"tower!main [tower.cc : 40 + 0x0]\n    rip = 0x0000000001001230", "0x99999\n    rip = 0x0000000000099999"}, want: "| pc at 2 made-up-frame"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := base()
			if c.change != nil {
				rows = c.change(rows)
			}
			w := newWorld(t, "x86_64", rows...)
			if c.world != nil {
				c.world(w)
			}
			a := aligned(t, edited(t, c.text, c.edit...), w, Options{Fields: c.fields})
			if got := outcome(&a); got != c.want {
				t.Errorf("got %q, want %q: %+v", got, c.want, a.First)
			}
			if a.Matched != (a.First == nil) {
				t.Errorf("matched is %v", a.Matched)
			}
			if d := a.First; d != nil && (d.Expected == d.Got || a.Agreed > d.Frame || d.Ref != nil && d.Ref.Line == 0) {
				t.Errorf("%+v, %d agreed", d, a.Agreed)
			}
		})
	}
}

// TestTailCallTarget: code that calls the function below directly speaks against a tail call.
func TestTailCallTarget(t *testing.T) {
	text := edited(t, backtrace, "#1  ", "#1  0x0000000001001999 in tail (n=1) at tower.cc:33\n#2  ", "#2  0x0000000001001230", "#3  0x0000000001001230")
	for _, c := range []struct {
		target uint32
		want   bool
	}{{towerBase + 0x1000, false}, {towerBase + 0x1900, true}} {
		w := newWorld(t, "x86_64", base()...)
		code := func(addr uint64, n int) ([]byte, bool) {
			if addr != towerBase+0x1120-5 || n != 5 {
				return nil, false
			}
			return append([]byte{0xe8}, binary.LittleEndian.AppendUint32(nil, c.target-(towerBase+0x1120))...), true
		}
		if a := aligned(t, text, w, Options{Code: code}); a.Matched != c.want {
			t.Errorf("%#x: matched %v", c.target, a.Matched)
		}
	}
	w := newWorld(t, "arm64", base()...)
	code := func(addr uint64, n int) ([]byte, bool) {
		delta := int32(0x1000-(0x1120-4)) / 4
		return binary.LittleEndian.AppendUint32(nil, 0x94000000|uint32(delta)&0x3ffffff), true
	}
	x := aligner{o: Options{Code: code}}
	if target, ok := x.callTarget(&w.stack.Frames[1]); !ok || target != towerBase+0x1000 {
		t.Errorf("bl: %#x %v", target, ok)
	}
}

// TestAddressKinds: each CPU's addresses, in each way that references tell them.
func TestAddressKinds(t *testing.T) {
	rows := func() []row {
		return []row{{pc: towerBase + 0x1010, sp: 0x7000, name: "tower!leaf"}, cfi(towerBase+0x1120, 0x7010, "tower!f", "")}
	}
	for _, c := range []struct {
		cpu  string
		kind PCKind
		pc   uint64
		want bool
	}{
		{"x86", PCReturn, 0x1120, true}, {"x86", PCReturn, 0x111f, false}, {"x86", PCPrinted, 0x1120, true}, {"x86", PCInstruction, 0x111f, true}, {"x86", PCInstruction, 0x1120, false},
		{"arm", PCReturn, 0x1120, true}, {"arm", PCReturn, 0x1121, true}, {"arm", PCPrinted, 0x111e, true}, {"arm", PCPrinted, 0x1122, false},
		{"arm64", PCPrinted, 0x111c, true}, {"arm64", PCRegister, 0x1120, true}, {"arm64", PCReturn, 0x1120 | 0x12<<48, true}, {"arm64", PCPrinted, 0x1120, false},
		{"mips", PCRegister, 0x1118, true}, {"mips", PCRegister, 0x1120, true}, {"mips", PCReturn, 0x1118, false}, {"mips", PCPrinted, 0x1118, true},
		{"mips64", PCPrinted, 0x1110, true}, {"mips64", PCInstruction, 0x1118, true}, {"mips64", PCInstruction, 0x1114, false},
		{"riscv64", PCPrinted, 0x111c, true}, {"ppc64", PCPrinted, 0x1118, true}, {"s390x", PCReturn, 0x1120, true},
	} {
		w := newWorld(t, c.cpu, rows()...)
		x := aligner{process: w.process, stack: w.stack, ref: &Reference{}}
		if got := x.samePC(towerBase+c.pc, c.kind, &w.stack.Frames[1], true, nil); got != c.want {
			t.Errorf("%s kind %d %#x: %v", c.cpu, c.kind, c.pc, got)
		}
	}
}

// TestDuplicateFrame: Google's walker of arm64 shows a frame twice.
func TestDuplicateFrame(t *testing.T) {
	frame := func(n int, name string, pc uint64, by string) string {
		return fmt.Sprintf(" %d  tower!%s + 0x0\n      sp = 0x0000000000007000     pc = %#016x\n    Found by: %s\n", n, name, pc, by)
	}
	rows := []row{
		{pc: towerBase + 0x1010, sp: 0x7000, name: "tower!leaf"}, cfi(towerBase+0x1120, 0x7010, "tower!middle", ""),
		cfi(towerBase+0x1230, 0x7040, "tower!outer", ""),
	}
	text := "CPU: arm64\nThread 0 (crashed)\n" + frame(0, "leaf", towerBase+0x1010, "given as instruction pointer in context") +
		frame(1, "middle", towerBase+0x1120, "call frame info") + frame(2, "middle", towerBase+0x1120, "previous frame's frame pointer") +
		frame(3, "outer", towerBase+0x1230, "call frame info")
	a := aligned(t, text, newWorld(t, "arm64", rows...), Options{})
	if got := outcome(&a); got != "| pc at 2 duplicate-frame" {
		t.Error(got)
	}
	// Without the frame behind it, it is recursion that the walk lacks.
	rows[2].pc += 0x100
	a = aligned(t, text, newWorld(t, "arm64", rows...), Options{})
	if got := outcome(&a); got != "| pc at 2" {
		t.Error(got)
	}
	// On other CPUs nothing is repeated.
	rows[2].pc -= 0x100
	a = aligned(t, strings.ReplaceAll(strings.ReplaceAll(text, "pc = ", "rip = "), "sp = ", "rsp = "), newWorld(t, "x86_64", rows...), Options{})
	if got := outcome(&a); got != "| pc at 2" {
		t.Error(got)
	}
}

func TestPair(t *testing.T) {
	w := newWorld(t, "x86_64", base()...)
	one := w.process.Threads[0]
	add := func(id uint32, pc, sp uint64) {
		regs := *one.Registers
		regs.Set(regs.CPU.Slot.PC, pc)
		regs.Set(regs.CPU.Slot.SP, sp)
		w.process.Threads = append(w.process.Threads, unwind.Thread{ID: id, Registers: &regs})
	}
	add(78, libcBase+0x10, 0x9000)
	add(79, libcBase+0x10, 0xa000)
	w.process.Requesting = 0
	for _, c := range []struct{ name, text, want string }{
		{"text by index", "Thread 2 (crashed)\n 0  0x1\n\nThread 0\n 0  0x2\n\nThread 5\n 0  0x1\n", "[{2 index} {0 index} {-1 }]"},
		{"text by id", "Thread 0 (crashed) - tid: 79\n 0  0x1\n\nThread 1 - tid: 5\n 0  0x2\n", "[{2 id} {-1 }]"},
		{"json by id", `{"threads": [{"thread_id": 78}, {"thread_id": 77}]}`, "[{1 id} {0 id}]"},
		{"gdb by id", "Thread 3 (LWP 78):\n#0  0x2000010 in f ()\n\nThread 1 (LWP 77):\n#0  f ()\n", "[{1 id} {0 id}]"},
		{"gdb by pc", "Thread 3 (LWP 5):\n#0  0x2000010 in f ()\n\nThread 1 (LWP 6):\n#0  0x1001010 in f ()\n", "[{-1 } {0 pc}]"},
		{"gdb by crash", "[Current thread is 1 (LWP 6)]\nThread 3 (LWP 5):\n#0  0x2000010 in f ()\n\nThread 1 (LWP 6):\n#0  f ()\n", "[{-1 } {0 crashed}]"},
		{"table by registers", "thread\tlwp\tframe\tpc\tsp\n1\t78\t0\t0x2000010\t0xa000\n2\t79\t0\t0x2000010\t0x9000\n", "[{2 pc and sp} {1 pc and sp}]"},
		{"table by index", "thread\tframe\tpc\tsp\tfunction\n2\t0\t\t\tf\n0\t0\t\t\tf\n", "[{2 index} {0 index}]"},
		{"table by index, but another pc", "thread\tframe\tpc\n2\t0\t0x5\n", "[{-1 }]"},
	} {
		ref, err := ParseReference([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := fmt.Sprint(Pair(ref, w.process)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	w.process.Details = &unwind.Details{Writer: &unwind.Writer{ID: 99, Index: 1}}
	ref, err := ParseReference([]byte(`{"threads": [{"thread_id": 77}, {"thread_id": 99}, {"thread_id": 78}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(Pair(ref, w.process)); got != "[{0 id} {-1 skipped} {1 id}]" {
		t.Error(got)
	}
	ref, err = ParseReference([]byte(`{"threads": [{}, {}, {}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(Pair(ref, w.process)); got != "[{0 index} {1 index} {-1 }]" {
		t.Error(got)
	}
}

func TestParseFields(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Fields
	}{{"module,function,pc,line", DefaultFields}, {"pc", FieldPC}, {" sp , trust", FieldSP | FieldTrust}, {"module,function,pc,sp,line,trust,registers", AllFields}} {
		got, err := ParseFields(c.in)
		if err != nil || got != c.want {
			t.Errorf("%q: %v %v", c.in, got, err)
		}
	}
	for _, in := range []string{"", "pcs", "pc,,sp"} {
		if _, err := ParseFields(in); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
	if s := AllFields.String(); s != "module,function,pc,sp,line,trust,registers" {
		t.Error(s)
	}
}

// fuzzSeeds adds the committed traces and the small ones of the tests.
func fuzzSeeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		if s, err := os.Stat(path); err != nil || s.IsDir() || strings.HasSuffix(path, ".golden") {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range [...]string{table, backtrace, walked, machine, document} {
		f.Add([]byte(text))
	}
}

// checkReference tests what must hold of whatever was read, and holds it against a walk.
func checkReference(t *testing.T, w *world, r *Reference, err error) {
	if err != nil {
		return
	}
	pairs := Pair(r, w.process)
	if len(pairs) != len(r.Threads) {
		t.Fatalf("%d pairs of %d threads", len(pairs), len(r.Threads))
	}
	for i := range r.Threads {
		a := Align(r, i, w.process, w.stack, Options{Fields: AllFields})
		frames := r.Threads[i].Frames
		d := a.First
		if a.Matched != (d == nil) || a.Agreed > a.Compared || a.Agreed != len(a.Pairs) || a.Agreed > len(frames) {
			t.Fatalf("%+v", a)
		}
		if d != nil && (d.RefIndex > len(frames) || d.Frame > len(w.stack.Frames) || (d.Ref == nil) != (d.RefIndex == len(frames))) {
			t.Fatalf("%+v", d)
		}
	}
}

func fuzzParser(f *testing.F, parse func([]byte) (*Reference, error)) {
	fuzzSeeds(f)
	w := newWorld(f, "x86_64", base()...)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(data)
		checkReference(t, w, r, err)
	})
}

func FuzzParseReference(f *testing.F) { fuzzParser(f, ParseReference) }
func FuzzText(f *testing.F)           { fuzzParser(f, parseText) }
func FuzzMachine(f *testing.F)        { fuzzParser(f, parseMachine) }
func FuzzJSON(f *testing.F)           { fuzzParser(f, parseJSON) }
func FuzzGDB(f *testing.F)            { fuzzParser(f, parseGDB) }
func FuzzTSV(f *testing.F)            { fuzzParser(f, parseTSV) }

func FuzzNormalizeFunction(f *testing.F) {
	for _, s := range [...]string{"void f<int>(int) const", "A::operator()(int)", "{lambda(int)#1}::operator()() const", "f [clone .cold]", "a@@B", "-[A b]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := NormalizeFunction(s)
		if len(n) > 3*len(s)+len("(anonymous namespace)")*(1+len(s)/9) {
			t.Fatalf("%q became longer: %q", s, n)
		}
		if !SameFunction(s, s) || SameFunction(s, n) != (n == NormalizeFunction(n)) {
			t.Fatalf("%q is not the same as itself", s)
		}
	})
}
