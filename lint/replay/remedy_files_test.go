package replay

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// chain is a process of one thread whose functions, with frame pointers and frames of 48 bytes, lie in app and lib in
// turn.
type chain struct {
	process *unwind.Process
	text    map[string]string // of symbol files, by module
	pcs     []uint64
	sp      uint64 // of the innermost frame
}

const chainFrame, chainLocals = 48, 32

func newChain(t *testing.T) *chain {
	t.Helper()
	cpu, ok := arch.Lookup("x86_64")
	if !ok {
		t.Fatal("no x86_64")
	}
	c := &chain{text: make(map[string]string), sp: 0x7ff000000000}
	for i := range 6 {
		base := uint64(0x400000)
		if i%2 == 1 {
			base = 0x500000
		}
		c.pcs = append(c.pcs, base+0x1000+uint64(i)*0x40+0x20)
	}
	stack := make([]byte, len(c.pcs)*chainFrame+64)
	for i := range len(stack) / 8 {
		binary.LittleEndian.PutUint64(stack[i*8:], uint64(i+1)) // locals
	}
	for i := range c.pcs[1:] {
		at := i*chainFrame + chainLocals
		binary.LittleEndian.PutUint64(stack[at:], c.sp+uint64(at+chainFrame))
		binary.LittleEndian.PutUint64(stack[at+8:], c.pcs[i+1])
	}
	regs := &arch.Registers{CPU: cpu}
	for i := range cpu.Slots {
		regs.Set(i, 0)
	}
	regs.Set(cpu.Slot.PC, c.pcs[0])
	regs.Set(cpu.Slot.SP, c.sp)
	regs.Set(cpu.Slot.FP, c.sp+chainLocals)
	c.process = &unwind.Process{
		Modules: unwind.NewModules(symfile.Reject), Unloaded: unwind.NewModules(symfile.TruncateLower), Order: binary.LittleEndian,
		System:  unwind.System{OS: "Linux", OSShort: "linux", CPU: "amd64"},
		Threads: []unwind.Thread{{ID: 7, Registers: regs, Stack: unwind.Region{Base: c.sp, Data: stack}}},
	}
	for i, name := range [...]string{"app", "lib"} {
		c.process.Modules.Add(unwind.Module{Base: 0x400000 + uint64(i)<<20, Size: 0x10000, CodeFile: "/bin/" + name, DebugFile: name, DebugID: chainID})
	}
	c.symbols("app", "$rsp", "$rbp")
	c.symbols("lib", "$rsp", "$rbp")
	return c
}

const chainID = "0123456789ABCDEF0123456789ABCDEF0"

// symbols writes the symbol file of a module. The last function has no unwind record and the name of one that begins a
// program.
func (c *chain) symbols(module, sp, fp string) {
	var b strings.Builder
	fmt.Fprintf(&b, "MODULE Linux x86_64 %s %s\n", chainID, module)
	for i := range c.pcs {
		name := fmt.Sprintf("f%d", i)
		if i == len(c.pcs)-1 {
			name = "_start"
		}
		fmt.Fprintf(&b, "FUNC %x 40 0 %s\n", 0x1000+i*0x40, name)
	}
	for i := range c.pcs[1:] {
		fmt.Fprintf(&b, "STACK CFI INIT %x 40 .cfa: %s 8 + .ra: .cfa -8 + ^\n", 0x1000+i*0x40, sp)
		fmt.Fprintf(&b, "STACK CFI %x .cfa: %s 16 + %s: .cfa -16 + ^\n", 0x1004+i*0x40, fp, fp)
	}
	c.text[module] = b.String()
}

// ModuleSymbols makes the chain a source of its own symbols.
func (c *chain) ModuleSymbols(m *unwind.Module) (*symfile.Symbols, error) {
	text, ok := c.text[m.DebugFile]
	if !ok {
		return nil, errWithheld
	}
	return symfile.Load([]byte(text), symfile.Options{}), nil
}

func (c *chain) walker() *unwind.Walker { return &unwind.Walker{Process: c.process, Symbols: c} }

// reference is the truth, with stack pointers or without.
func (c *chain) reference(t *testing.T, sp bool, names map[int]string) *Reference {
	t.Helper()
	var b strings.Builder
	b.WriteString("thread\tframe\tpc\tsp\tfunction\tfile\tline\n")
	for i, pc := range c.pcs {
		name, ok := names[i]
		if !ok {
			name = fmt.Sprintf("f%d", i)
			if i == len(c.pcs)-1 {
				name = "_start"
			}
		}
		at := ""
		if sp {
			at = fmt.Sprintf("%#x", c.sp+uint64(i*chainFrame))
		}
		fmt.Fprintf(&b, "0\t%d\t%#x\t%s\t%s\t\t\n", i, pc, at, name)
	}
	ref, err := ParseReference([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func (c *chain) verify(t *testing.T, ref *Reference) *ThreadResult {
	t.Helper()
	results := Verify(c.walker(), ref, VerifyOptions{})
	if len(results) != 1 {
		t.Fatalf("%d threads", len(results))
	}
	return &results[0]
}

func TestChain(t *testing.T) {
	c := newChain(t)
	if r := c.verify(t, c.reference(t, true, nil)); !r.Matched() || r.Alignment.Agreed != len(c.pcs) {
		t.Errorf("%d of %d frames agree: %+v", r.Alignment.Agreed, len(c.pcs), r.Alignment.First)
	}
	if _, issues := Self(c.walker()); len(issues) > 0 {
		t.Errorf("healthy symbols: %+v", issues)
	}
}

// Exchanged registers in both files: only undoing both makes the walk match.
func TestRemedySeveralFiles(t *testing.T) {
	for _, sp := range [...]bool{true, false} {
		c := newChain(t)
		c.symbols("app", "$rbp", "$rsp")
		c.symbols("lib", "$rbp", "$rsp")
		r := c.verify(t, c.reference(t, sp, nil))
		if r.Matched() || r.Remedy == nil || r.Blame == nil || r.Blame.Attempt == nil {
			t.Fatalf("no remedy: %+v %+v", r.Alignment.First, r.Blame)
		}
		// Without stack pointers one record is enough: from there on two wrongs make a right.
		if r.Remedy.Frames != len(c.pcs) || sp && !strings.HasSuffix(r.Remedy.Text, "the files of app and lib") {
			t.Errorf("remedy %+v", r.Remedy)
		}
		if r.Blame.Frame != 1 || r.Blame.Line != 9 || r.Blame.Attempt.Record.Module.DebugFile != "app" {
			t.Errorf("blamed frame %d, line %d: %s", r.Blame.Frame, r.Blame.Line, r.Blame.Describe(r.Stack))
		}
	}
}

// One of two files: the other is left alone.
func TestRemedyOneFile(t *testing.T) {
	c := newChain(t)
	c.symbols("lib", "$rbp", "$rsp")
	r := c.verify(t, c.reference(t, true, nil))
	if r.Remedy == nil || r.Remedy.Scope != scopeTexts[wholeModule] || r.Remedy.Module.DebugFile != "lib" || r.Remedy.Frames != len(c.pcs) {
		t.Fatalf("remedy %+v", r.Remedy)
	}
	if r.Blame.Frame != 2 || r.Blame.Line != 11 {
		t.Errorf("blamed frame %d, line %d", r.Blame.Frame, r.Blame.Line)
	}
}

// A frame that is in its place and has another name.
func TestBlameSymbol(t *testing.T) {
	c := newChain(t)
	r := c.verify(t, c.reference(t, true, map[int]string{2: "other"}))
	if r.Matched() || r.Blame == nil || r.Blame.Symbol == nil || r.Blame.Line != 4 || r.Blame.Attempt != nil || r.Remedy != nil {
		t.Fatalf("%+v %+v", r.Alignment.First, r.Blame)
	}
	if text := r.Blame.Describe(r.Stack); text != "frame 2 is in its place; its name comes from FUNC 1080 at line 4" {
		t.Error(text)
	}
}

func TestSelfIssues(t *testing.T) {
	for _, x := range []struct {
		name   string
		damage func(c *chain)
		rule   string // "" for none
		line   int
	}{
		{"exchanged", func(c *chain) { c.symbols("app", "$rbp", "$rsp") }, "walk-shorter-with-symbols", 9},
		{"no .ra", func(c *chain) {
			c.replace("app", "STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^", "STACK CFI INIT 1000 40 .cfa: $rsp 8 +")
		}, "walk-cfi-rejected", 8},
		{"unknown register", func(c *chain) { c.replace("app", "STACK CFI 1004 .cfa: $rbp", "STACK CFI 1004 .cfa: $ebp") }, "walk-cfi-rejected", 9},
		{"downwards", func(c *chain) {
			c.replace("app", "STACK CFI 1104 .cfa: $rbp 16 +", "STACK CFI 1104 .cfa: $rbp -48 +")
			binary.LittleEndian.PutUint64(c.process.Threads[0].Stack.Data[3*chainFrame+24:], c.pcs[2]) // an old return address there
		}, "walk-sp-not-growing", 17},
		{"return address below", func(c *chain) {
			c.replace("app", "1100 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^", "1100 40 .cfa: $rsp 8 + .ra: .cfa -32 + ^")
		}, "walk-stops-early", 16},
		{"stack ends in the dump", func(c *chain) {
			s := &c.process.Threads[0].Stack
			s.Data = s.Data[:2*chainFrame]
		}, "", 0},
		{"another build", func(c *chain) { c.replace("lib", chainID, "F"+chainID[1:]) }, "walk-module-mismatch", 1},
		{"beyond the module", func(c *chain) { c.text["lib"] += "FUNC 20000 10 0 far\n" }, "walk-module-mismatch", 18},
		{"scanned", func(c *chain) {
			c.text["app"] = c.text["app"][:strings.Index(c.text["app"], "STACK")]
			c.process.Threads[0].Registers.Set(c.process.Threads[0].Registers.CPU.Slot.FP, 0)
		}, "walk-scan-despite-symbols", 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newChain(t)
			x.damage(c)
			_, issues := Self(c.walker())
			if x.rule == "" {
				if len(issues) > 0 {
					t.Errorf("%+v", issues)
				}
				return
			}
			for _, i := range issues {
				if i.Rule == x.rule && i.Line == x.line {
					return
				}
			}
			t.Errorf("no %s at line %d: %+v", x.rule, x.line, issues)
		})
	}
}

func (c *chain) replace(module, old, new string) {
	if !strings.Contains(c.text[module], old) {
		panic(old)
	}
	c.text[module] = strings.Replace(c.text[module], old, new, 1)
}
