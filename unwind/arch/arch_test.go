package arch

import (
	"bufio"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

func cpu(t testing.TB, name string) *CPU {
	t.Helper()
	c, ok := Lookup(name)
	if !ok {
		t.Fatalf("no CPU %s", name)
	}
	return c
}

func TestLookup(t *testing.T) {
	for spelling, want := range map[string]string{
		"x86": "x86", "i386": "x86", "x86_64": "x86_64", "x86_64h": "x86_64", "amd64": "x86_64", "arm": "arm", "armv7s": "arm",
		"arm64": "arm64", "arm64e": "arm64", "aarch64": "arm64", "mips": "mips", "mips64": "mips64", "ppc": "ppc",
		"ppc64": "ppc64", "s390": "s390", "sparc": "sparc", "sparcv9": "sparcv9", "riscv": "riscv", "riscv64": "riscv64",
	} {
		c, ok := Lookup(spelling)
		if !ok || c.Name != want {
			t.Errorf("Lookup(%q) = %v, want %s", spelling, c, want)
		}
	}
	for _, unknown := range []string{"", "unknown", "X86", "x86-64", "z80"} {
		if c, ok := Lookup(unknown); ok {
			t.Errorf("Lookup(%q) = %s", unknown, c)
		}
	}
	for spelling, want := range map[string]string{"X86": "x86", "x86-64": "x86_64", "x64": "x86_64", "ARMv7l": "arm", "aarch64_be": "arm64", "x86_64-linux-gnu": "x86_64"} {
		if c, ok := Suggest(spelling); !ok || c.Name != want {
			t.Errorf("Suggest(%q) = %v, want %s", spelling, c, want)
		}
	}
	if c, ok := Suggest("unknown"); ok {
		t.Errorf("Suggest(unknown) = %s", c)
	}
}

// The numbers are those of the psABIs' DWARF tables, except where dump_syms departs from them.
func TestDWARF(t *testing.T) {
	for _, c := range []struct {
		cpu, name string
		number    int
	}{
		{"x86", "$eax", 0}, {"x86", "$esp", 4}, {"x86", "$ebp", 5}, {"x86", "$eip", 8}, {"x86", "$st0", 11}, {"x86", "$xmm0", 21},
		{"x86", "$mm7", 36}, {"x86", "$mxcsr", 39}, {"x86", "$gs", 45}, {"x86", "$tr", 48}, {"x86", "$ldtr", 49},
		{"x86_64", "$rdx", 1}, {"x86_64", "$rbp", 6}, {"x86_64", "$rsp", 7}, {"x86_64", "$r8", 8}, {"x86_64", "$r15", 15},
		{"x86_64", "$rip", 16}, {"x86_64", "$xmm0", 17}, {"x86_64", "$st0", 33}, {"x86_64", "$mm0", 41}, {"x86_64", "$rflags", 49},
		{"x86_64", "$fs.base", 58}, {"x86_64", "$tr", 62}, {"x86_64", "$mxcsr", 64}, {"x86_64", "$fsw", 66},
		{"arm", "sp", 13}, {"arm", "pc", 15}, {"arm", "f0", 16}, {"arm", "cpsr", 25}, {"arm", "s0", 64}, {"arm", "s31", 95},
		{"arm64", "x29", 29}, {"arm64", "sp", 31}, {"arm64", "v0", 64}, {"arm64", "v31", 95},
		{"mips", "$sp", 29}, {"mips", "$ra", 31}, {"mips", "$pc", 34}, {"mips", "$f0", 35}, {"mips", "$f2", 36},
		{"riscv", "pc", 0}, {"riscv", "ra", 1}, {"riscv", "sp", 2}, {"riscv", "s0", 8}, {"riscv64", "t6", 31},
		{"riscv64", "f0", 32}, {"riscv64", "v0", 96},
	} {
		c2 := cpu(t, c.cpu)
		r, ok := c2.Register(c.name)
		if !ok || r.DWARF != c.number {
			t.Errorf("%s %s: number %d, want %d", c.cpu, c.name, r.DWARF, c.number)
		}
		if name, ok := c2.DWARF(c.number); !ok || name != c.name {
			t.Errorf("%s register %d = %q, want %q", c.cpu, c.number, name, c.name)
		}
	}
	for _, c := range []struct {
		cpu    string
		number int
	}{{"arm", 26}, {"arm", 63}, {"arm64", 32}, {"arm64", 63}, {"arm64", 96}, {"riscv", 64}, {"x86_64", 67}, {"ppc", 0}, {"x86", -1}} {
		if name, ok := cpu(t, c.cpu).DWARF(c.number); ok {
			t.Errorf("%s register %d has the name %q", c.cpu, c.number, name)
		}
	}
	if name, _ := cpu(t, "arm").DWARF(96); name != "f0" {
		t.Errorf("arm register 96 = %q: dump_syms lists f0–f7 twice", name)
	}
}

func TestSaved(t *testing.T) {
	for _, c := range []struct {
		cpu  string
		by   Saved
		want string
	}{
		{"x86", SavedBreakpad, "$ebx $ebp $esi $edi"},
		{"x86", SavedRust, "$ebx $ebp $esi $edi"},
		{"x86_64", SavedBreakpad, "$rbx $rbp $r12 $r13 $r14 $r15"},
		{"x86_64", SavedRust, "$rbx $rbp $r12 $r13 $r14 $r15"},
		{"arm", SavedBreakpad, "r4 r5 r6 r7 r8 r9 r10 r11"},
		{"arm64", SavedBreakpad, "x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29"},
		{"mips", SavedBreakpad, "$s0 $s1 $s2 $s3 $s4 $s5 $s6 $s7 $sp $fp"},
		{"mips64", SavedBreakpad, "$s0 $s1 $s2 $s3 $s4 $s5 $s6 $s7 $gp $sp $fp"},
		{"mips", SavedRust, "$s0 $s1 $s2 $s3 $s4 $s5 $s6 $s7 $gp $sp $fp"},
		{"riscv64", SavedBreakpad, "s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11"},
	} {
		var got []string
		for _, r := range cpu(t, c.cpu).Regs {
			if r.Saved&c.by != 0 {
				got = append(got, r.Name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, set %d: %v, want %s", c.cpu, c.by, got, c.want)
		}
	}
	amd64 := cpu(t, "x86_64")
	for _, name := range []string{"$rsi", "$rdi"} {
		if !amd64.SavedBy(name, SavedWindows) || amd64.SavedBy(name, SavedABI) || amd64.IsCalleeSaved(name) {
			t.Errorf("%s is saved on Windows only", name)
		}
	}
	for name, want := range map[string]bool{"$rax": true, "$r10": true, "$rsp": false, "$rip": false, "$rbx": false, "$xmm0": false, "$rsi": false, "nonsense": false} {
		if got := amd64.IsCallerSaved(name); got != want {
			t.Errorf("IsCallerSaved(%s) = %v", name, got)
		}
	}
	if c := cpu(t, "arm64"); !c.IsCallerSaved("x30") || !c.IsLR("x30") || c.IsCallerSaved("x29") {
		t.Error("arm64: a call overwrites the link register and nothing may overwrite x29")
	}
}

// On entry the CFA is the stack pointer before the call: a pushed return address lies just below it.
func TestEntry(t *testing.T) {
	for name, want := range map[string][2]int{"x86": {4, 4}, "x86_64": {8, 8}, "arm": {0, 0}, "arm64": {0, 0}, "mips": {0, 0}, "riscv64": {0, 0}} {
		c := cpu(t, name)
		if c.EntryCFA != want[0] || c.ReturnSlot != want[1] || (c.LR == "") != (want[1] > 0) {
			t.Errorf("%s: EntryCFA %d ReturnSlot %d LR %q", name, c.EntryCFA, c.ReturnSlot, c.LR)
		}
	}
}

func TestRoles(t *testing.T) {
	for _, c := range []struct{ cpu, sp, fp, pc, cfa, ra string }{
		{"x86", "$esp", "$ebp", "$eip", "$esp", "$eip"},
		{"x86_64", "$rsp", "$rbp", "$rip", "$rsp", "$rip"},
		{"arm", "sp", "r11", "pc", "sp", "pc"},
		{"arm64", "sp", "x29", "pc", "sp", "pc"},
		{"mips", "$sp", "$fp", "$pc", "$sp", "$ra"},
		{"riscv64", "sp", "s0", "pc", "sp", "pc"},
	} {
		got := cpu(t, c.cpu)
		if !got.IsSP(c.sp) || !got.IsFP(c.fp) || got.PC != c.pc || got.Target(".cfa") != c.cfa || got.Target(".ra") != c.ra || got.Target(c.fp) != c.fp {
			t.Errorf("%s: SP %s FP %s PC %s .cfa→%s .ra→%s", c.cpu, got.SP, got.FP, got.PC, got.Target(".cfa"), got.Target(".ra"))
		}
	}
	if c := cpu(t, "arm"); !c.IsFP("r7") {
		t.Error("arm: r7 is Thumb's frame pointer")
	}
	if c := cpu(t, "ppc"); c.IsSP("") || c.IsFP("") || c.IsLR("") || c.HasCFI() {
		t.Error("ppc has no CFI names")
	}
}

func TestScan(t *testing.T) {
	for name, want := range map[string]Scan{
		"x86": {Words: 40, First: 160}, "arm64": {Words: 40, First: 160}, "riscv": {Words: 40, First: 160},
		"mips": {Words: 256, First: 256, Skip: 4}, "mips64": {Words: 128, First: 128}, "ppc": {},
	} {
		if got := cpu(t, name).Scan; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestConsistent(t *testing.T) {
	for _, c := range All() {
		if c.Wide != "" && cpu(t, c.Wide).Word != 8 {
			t.Errorf("%s: wide %s", c, c.Wide)
		}
		for i, r := range c.Regs {
			if r.Index != i || c.Index([]byte(r.Name)) != i {
				t.Errorf("%s %s: index", c, r.Name)
			}
			if r.CFI && strings.HasPrefix(r.Name, "$") != c.Dollar {
				t.Errorf("%s %s: prefix", c, r.Name)
			}
			if r.Saved&(SavedBreakpad|SavedRust) != 0 && (!r.CFI || !r.Valid) {
				t.Errorf("%s %s is carried over without being known", c, r.Name)
			}
		}
		for _, name := range append([]string{c.SP, c.FP, c.PC, c.LR}, c.FPAlternates...) {
			if r, ok := c.Register(name); name != "" && (!ok || r.Class != General) {
				t.Errorf("%s: role of %s", c, name)
			}
		}
	}
	if n := len(cpu(t, "x86_64").Regs); n != 67 {
		t.Errorf("x86_64 has %d registers, dump_syms lists 67", n)
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		cpu, name string
		reason    Reason
		suggest   string
	}{
		{"x86_64", "$rsp", Known, "$rsp"},
		{"x86_64", "rsp", WrongPrefix, "$rsp"},
		{"x86", "%esp", WrongPrefix, "$esp"},
		{"x86_64", "$RSP", WrongCase, "$rsp"},
		{"x86_64", ".rsp", LeadingDot, "$rsp"},
		{"arm64", "$x29", WrongPrefix, "x29"},
		{"arm64", ".x19", LeadingDot, "x19"},
		{"arm64", ".sp", LeadingDot, "sp"},
		{"arm64", "fp", Alias, "x29"},
		{"arm64", "lr", Alias, "x30"},
		{"arm", "fp", Alias, "r11"},
		{"arm", "r13", Alias, "sp"},
		{"arm", "f0", NotUnwound, ""},
		{"arm", "s16", NotUnwound, ""},
		{"x86_64", "$xmm6", NotUnwound, ""},
		{"x86_64", "$st0", NotUnwound, ""},
		{"x86_64", "unnamed_register77", Unnamed, ""},
		{"x86", "$rsp", OtherCPU, ""},
		{"x86_64", "$ebp", OtherCPU, ""},
		{"x86_64", "x29", OtherCPU, ""},
		{"riscv64", "x29", OtherCPU, ""},
		{"mips", "$t0", MisspelledT0, "$to"},
		{"x86_64", ".cfa", PseudoName, ""},
		{"x86_64", "$rpb", Unknown, "$rbp"},
		{"x86_64", "$something_else", Unknown, ""},
		{"x86_64", "", Unknown, ""},
		{"ppc", "r1", NoCFI, ""},
	} {
		e := cpu(t, c.cpu).Explain(c.name)
		if e.Reason != c.reason || e.Suggest != c.suggest || e.Text == "" {
			t.Errorf("%s %q: %v, suggest %q: %s", c.cpu, c.name, e.Reason, e.Suggest, e.Text)
		}
	}
	if e := cpu(t, "x86").Explain("unnamed_register77"); e.Number != 77 {
		t.Errorf("number %d", e.Number)
	}
	e := cpu(t, "x86").Explain("$rsp")
	if len(e.CPUs) != 1 || e.CPUs[0].Name != "x86_64" || e.Text != "$rsp is a register of x86_64, not of x86" {
		t.Errorf("%+v", e)
	}
}

func TestRegisterAllocatesNothing(t *testing.T) {
	c := cpu(t, "x86_64")
	name := []byte("$r15")
	found := 0
	if n := testing.AllocsPerRun(100, func() {
		if r, ok := c.Register("$rsp"); ok {
			found += r.Index
		}
		found += c.Index(name)
	}); n != 0 || found == 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzExplain(f *testing.F) {
	for _, s := range []string{"$rsp", "x29", ".sp", "unnamed_register5", "unnamed_register99999999999999999999", "$", ".", "", "ΩΩ", "$$$$$$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, c := range All() {
			e := c.Explain(name)
			r, ok := c.Register(name)
			if (e.Reason == Known) != (ok && r.CFI && r.Valid) {
				t.Fatalf("%s %q: %v", c, name, e.Reason)
			}
			if _, ok := c.Register(e.Suggest); e.Suggest != "" && !ok {
				t.Fatalf("%s %q: suggests %q, which it does not know", c, name, e.Suggest)
			}
		}
	})
}

// Every register that dump_syms writes into the corpus has a name here, on the CPU of its MODULE record.
func TestCorpusNames(t *testing.T) {
	files, targets := 0, map[string]int{}
	dir := corpustest.Dir(t)
	walk := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !(strings.HasSuffix(path, ".sym") || strings.HasSuffix(path, ".sym.gz")) {
			return err
		}
		files++
		c, names := ruleTargets(t, path)
		for name := range names {
			if c == nil {
				continue
			}
			if _, ok := c.Register(name); !ok {
				t.Errorf("%s: %s is no register of %s", path, name, c)
			}
			targets[c.Name]++
		}
		return nil
	}
	for _, sub := range []string{"made", "cpu"} {
		if err := filepath.WalkDir(filepath.Join(dir, sub), walk); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"x86", "x86_64", "arm", "arm64", "riscv"} {
		if targets[want] == 0 {
			t.Errorf("no rules for %s among %d files", want, files)
		}
	}
	t.Log(files, "files,", targets)
}

func ruleTargets(t *testing.T, path string) (*CPU, map[string]bool) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var c *CPU
	names := map[string]bool{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 && fields[0] == "MODULE" {
			c, _ = Lookup(fields[2])
		} else if len(fields) > 2 && fields[0] == "STACK" && fields[1] == "CFI" {
			for _, f := range fields {
				if name, ok := strings.CutSuffix(f, ":"); ok && !slices.Contains([]string{".cfa", ".ra"}, name) {
					names[name] = true
				}
			}
		}
	}
	return c, names
}

func BenchmarkRegister(b *testing.B) {
	c := cpu(b, "x86_64")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Register("$rsp"); !ok {
			b.Fatal("unknown")
		}
	}
}
