package corefile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/corpustest"
)

func gunzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return data
}

// truth is what gdb.tsv says of a thread's innermost frame.
type truth struct {
	lwp    uint32
	pc, sp uint64
	regs   string // callee-saved registers: "ebx=56611ff4,ebp=18"
}

// gdbTruth reads the frames of level 0. gdb gives several where inlined functions are the innermost; they agree.
func gdbTruth(t *testing.T, name string) []truth {
	t.Helper()
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		text = gunzip(t, name+".gz")
	} else if err != nil {
		t.Fatal(err)
	}
	var out []truth
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Split(line, "\t")
		if len(f) < 6 || strings.HasPrefix(line, "#") || f[2] != "0" {
			continue
		}
		lwp, err1 := strconv.ParseUint(f[1], 10, 32)
		pc, err2 := strconv.ParseUint(f[4], 0, 64)
		sp, err3 := strconv.ParseUint(f[5], 0, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatalf("%s: %q", name, line)
		}
		out = append(out, truth{uint32(lwp), pc, sp, f[len(f)-1]})
	}
	return out
}

func checkThreads(t *testing.T, c *Core, want []truth) {
	t.Helper()
	if len(want) == 0 || len(c.Threads) != len(want) {
		t.Fatalf("%d threads, gdb has %d", len(c.Threads), len(want))
	}
	for i, th := range c.Threads {
		if got := (truth{th.LWP, th.Registers.PC(), th.Registers.SP(), want[i].regs}); got != want[i] {
			t.Errorf("thread %d: lwp %d pc %#x sp %#x, gdb has %+v", i, got.lwp, got.pc, got.sp, want[i])
		}
		checkRegisters(t, &th.Registers, want[i].regs)
	}
}

// checkRegisters compares the registers that gdb lists.
func checkRegisters(t *testing.T, r *arch.Registers, want string) {
	t.Helper()
	checked := 0
	for _, f := range strings.Split(want, ",") {
		name, value, ok := strings.Cut(f, "=")
		v, err := strconv.ParseUint(value, 16, 64)
		if !ok || err != nil {
			continue
		}
		if name == "s8" && r.CPU.FP == "$fp" {
			name = "fp"
		}
		slot := r.CPU.SlotOf(name)
		if slot < 0 {
			slot = r.CPU.SlotOf("$" + name)
		}
		if got, ok := r.Get(slot); !ok || got != v {
			t.Errorf("%s = %#x (valid %v), gdb has %#x", name, got, ok, v)
		}
		checked++
	}
	if checked < 3 {
		t.Errorf("%d registers in %q", checked, want)
	}
}

func cores(t *testing.T, sub string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(corpustest.Dir(t), sub, "*", "core.gz"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no cores in %s: %v", sub, err)
	}
	return list
}

// binaries looks programs up by base name among the unstripped ones of a case.
func binaries(t *testing.T, dir string) func(string) ([]byte, error) {
	return func(p string) ([]byte, error) {
		name := filepath.Join(dir, path.Base(p)+".gz")
		if _, err := os.Stat(name); err != nil {
			return nil, err
		}
		return gunzip(t, name), nil
	}
}

func parse(t testing.TB, data []byte) *Core {
	t.Helper()
	c, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// buildCase splits off the crash: gcc12-O2-i386-null ran made/bin/gcc12-O2-i386.
func buildCase(name string) string { return name[:strings.LastIndexByte(name, '-')] }

func TestMadeCores(t *testing.T) {
	for _, file := range cores(t, "made") {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			c := parse(t, gunzip(t, file))
			checkThreads(t, c, gdbTruth(t, filepath.Join(dir, "gdb.tsv")))
			if c.Command != "tower" || !strings.HasPrefix(c.Args, "./tower ") ||
				!slices.ContainsFunc(c.Threads, func(th Thread) bool { return th.LWP == c.PID }) {
				t.Errorf("command %q, args %q, pid %d", c.Command, c.Args, c.PID)
			}
			si := c.Threads[0].Siginfo
			if si == nil || int(si.Signo) != c.Threads[0].Signal {
				t.Errorf("siginfo %+v, signal %d", si, c.Threads[0].Signal)
			}
			if strings.HasSuffix(dir, "-null") && (si == nil || si.Signo != 11 || !si.HasAddr || si.Addr > 4096) {
				t.Errorf("a write through NULL: %+v", si)
			}
			if len(c.Problems) > 0 {
				t.Error(c.Problems)
			}
			bin := filepath.Join(corpustest.Dir(t), "made", "bin", buildCase(filepath.Base(dir)))
			mods := c.Modules(Options{Binary: binaries(t, bin)})
			checkGoogle(t, dir, mods)
			accepted := 0
			for _, m := range mods {
				if m.Binary != nil {
					accepted++
				}
				if m.BuildID == nil || !m.BiasKnown || m.EHFrameHdr.Size == 0 && !m.VDSO {
					t.Errorf("%v: build id %x, bias known %v, eh_frame_hdr %v", m, m.BuildID, m.BiasKnown, m.EHFrameHdr)
				}
			}
			if accepted != 2 {
				t.Errorf("%d binaries accepted, want tower and libstep.so", accepted)
			}
			if len(c.Problems) > 0 {
				t.Error(c.Problems)
			}
			if pc := c.Threads[0].Registers.PC(); c.CPU.Name == "x86_64" && strings.HasSuffix(dir, "-trap") {
				if b, ok := c.Memory(pc, 2); !ok || !bytes.Equal(b, []byte{0x0f, 0x0b}) {
					t.Errorf("code at pc %#x: % x, want ud2 from the binary", pc, b)
				}
			}
			checkUnmapped(t, file, mods)
		})
	}
}

// checkGoogle compares with the modules of the minidump that core2md made of the same process. Google's modules end
// with their code, so only the start is compared.
func checkGoogle(t *testing.T, dir string, mods []*Module) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "core2md.stackwalk.machine.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Split(line, "|"); f[0] == "Module" {
			want = append(want, fmt.Sprintf("%s %s %s", f[1], f[4], f[5]))
		}
	}
	for _, m := range mods {
		name := m.Name()
		if m.VDSO {
			name = "linux-gate.so"
		}
		if strings.HasPrefix(name, "libstdc++.so.6.") {
			name = m.SONAME
			if name == "" {
				name = "libstdc++.so.6"
			}
		}
		got = append(got, fmt.Sprintf("%s %s %#x", name, m.DebugID(), m.Base))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("modules\n%s\nGoogle has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// checkUnmapped: without NT_FILE the link map gives the same modules.
func checkUnmapped(t *testing.T, file string, want []*Module) {
	t.Helper()
	c := parse(t, gunzip(t, file))
	c.Files = nil
	mods := c.Modules(Options{})
	if len(mods) != len(want) {
		t.Fatalf("link map: %v, NT_FILE: %v", mods, want)
	}
	for i, m := range mods {
		w := want[i]
		if m.Base != w.Base || m.Size != w.Size || m.DebugID() != w.DebugID() || m.Main != w.Main || m.VDSO != w.VDSO {
			t.Errorf("link map: %v %s, NT_FILE: %v %s", m, m.DebugID(), w, w.DebugID())
		}
	}
	if len(c.Problems) > 0 {
		t.Error(c.Problems)
	}
}

func TestOtherCPUs(t *testing.T) {
	for _, file := range cores(t, "cpu") {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			data := gunzip(t, file)
			c := parse(t, data)
			checkThreads(t, c, gdbTruth(t, filepath.Join(dir, "gdb.tsv")))
			if c.Executable() != "./relay" {
				t.Errorf("executable %q", c.Executable())
			}
			if len(c.Problems) > 0 {
				t.Error(c.Problems)
			}
			text, err := os.ReadFile(filepath.Join(dir, "maps.txt"))
			if err != nil {
				t.Fatal(err)
			}
			maps, err := ParseMaps(text)
			if err != nil {
				t.Fatal(err)
			}
			bin := filepath.Join(corpustest.Dir(t), "cpu", "bin", name)
			options := []Options{
				{Maps: maps, Binary: binaries(t, bin)}, {Maps: maps},
				{Binary: binaries(t, bin)}, {},
			}
			var first []*Module
			for i, o := range options {
				c := parse(t, data)
				c.Files = nil
				mods := c.Modules(o)
				t.Logf("%d: %v", i, describe(mods))
				if len(mods) != 3 {
					t.Fatalf("options %d: %d modules, want program, libc and ld.so; problems %v", i, len(mods), c.Problems)
				}
				if len(c.Problems) > 0 {
					t.Errorf("options %d: %v", i, c.Problems)
				}
				if i == 0 {
					first = mods
				}
				for j, m := range mods {
					w := first[j]
					// The link map names the dynamic linker by the program's PT_INTERP, in text that qemu did not dump.
					unnamed := m.Path == "" && o.Maps == nil && o.Binary == nil
					if m.Base != w.Base || m.Name() != w.Name() && !unnamed || !m.Main && m.Path != w.Path && !unnamed || m.Main != w.Main || m.Bias != w.Bias {
						t.Errorf("options %d: %v %+d, maps have %v %+d", i, m, m.Bias, w, w.Bias)
					}
				}
				checkRelay(t, c, mods, filepath.Join(bin, "relay.gz"), o.Binary != nil)
			}
		})
	}
}

func describe(mods []*Module) string {
	var b strings.Builder
	for _, m := range mods {
		fmt.Fprintf(&b, "\n\t%v bias %#x(%v) id %x soname %q %v main=%v eh %x phdrs %d", m, m.Bias, m.BiasKnown, m.BuildID, m.SONAME, m.Source, m.Main, m.EHFrameHdr, len(m.Phdrs))
	}
	return b.String()
}

// checkRelay holds the program's build id against readelf's, and reads code through the binary.
func checkRelay(t *testing.T, c *Core, mods []*Module, file string, withBinary bool) {
	t.Helper()
	i := slices.IndexFunc(mods, func(m *Module) bool { return m.Main })
	if i < 0 || mods[i].Name() != "relay" {
		t.Fatalf("no program among %v", mods)
	}
	m := mods[i]
	pc := c.Threads[0].Registers.PC()
	if !m.Contains(pc) {
		t.Errorf("pc %#x is outside %v", pc, m)
	}
	if !withBinary {
		return
	}
	elfFile := gunzip(t, file)
	if want := readelfBuildID(t, elfFile); fmt.Sprintf("%x", m.BuildID) != want {
		t.Errorf("build id %x, readelf has %s", m.BuildID, want)
	}
	code, ok := c.Memory(pc, 4)
	if !ok || !bytes.Contains(elfFile, code) {
		t.Errorf("code at pc %#x: % x", pc, code)
	}
	if m.EHFrameHdr.Size > 0 {
		if b, ok := c.Memory(m.EHFrameHdr.Addr, 4); !ok || b[0] != 1 {
			t.Errorf(".eh_frame_hdr at %#x: % x", m.EHFrameHdr.Addr, b)
		}
	}
}

func readelfBuildID(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "relay")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("readelf", "-n", name).Output()
	if err != nil {
		t.Skipf("readelf: %v", err)
	}
	_, id, _ := strings.Cut(string(out), "Build ID: ")
	id, _, _ = strings.Cut(id, "\n")
	return id
}
