package dwarf

import (
	"bufio"
	"bytes"
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/corpustest"
)

// corpusELF calls yield for every ELF file below a directory of the corpus.
func corpusELF(t *testing.T, dir string, yield func(name string, data []byte)) {
	t.Helper()
	root := corpustest.Dir(t)
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name := d.Name(); strings.HasPrefix(name, "core") || strings.Contains(name, ".dmp") ||
			strings.Contains(name, ".sym") || strings.Contains(name, ".txt") {
			return nil
		}
		if data := unpacked(t, path); bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
			name, _ := filepath.Rel(root, path)
			yield(name, data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCorpusBinaries(t *testing.T) {
	files, fdes, rows, functions := 0, 0, 0, 0
	for _, dir := range []string{"made/bin", "cpu/bin", "sframe/good", "sframe/toolbug", "sframe/bad"} {
		corpusELF(t, dir, func(name string, data []byte) {
			f, err := Open(data)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			files++
			if strings.HasSuffix(name, "file-cut") {
				if f.ProblemCount() == 0 {
					t.Errorf("%s: no problem", name)
				}
			} else {
				for _, p := range f.Problems() {
					t.Errorf("%s: %s", name, p)
				}
			}
			for i := range f.FDEs() {
				d := &f.FDEs()[i]
				fdes++
				lines := rowsOf(t, d)
				rows += len(lines)
				// Two files hold an instruction that an assembler cut off; see their manifest.
				if last := strings.Join(lines, " "); strings.Contains(last, "error") &&
					(!strings.Contains(name, "gasbugs") || !strings.Contains(last, errShort)) {
					t.Errorf("%s: %s", name, last)
				}
				if found, ok := f.Find(d.Start); d.Start < d.End && (!ok || found.Start != d.Start || found.End != d.End) {
					t.Errorf("%s: 0x%x is not found", name, d.Start)
				}
			}
			functions += compareSymbols(t, name, data, f)
		})
	}
	t.Logf("%d files, %d FDEs, %d rows, %d functions", files, fdes, rows, functions)
	if files < 400 || fdes < 8000 || functions < 5000 {
		t.Error("that is less than the corpus has")
	}
}

// gdbFrame is one line of a gdb.tsv.
type gdbFrame struct {
	thread, kind, module string
	level                int
	pc, sp, cfa, offset  uint64
	regs                 map[string]uint64
}

func readFrames(t *testing.T, path string) (frames []gdbFrame, outermost map[string]bool) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		path += ".gz"
	}
	text := unpacked(t, path)
	number := func(s string) uint64 {
		v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
		if err != nil && s != "" && s != "-" {
			t.Fatalf("%s: %v", path, err)
		}
		return v
	}
	outermost = map[string]bool{}
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		f := strings.Split(in.Text(), "\t")
		if f[0] == "#end" && strings.Contains(f[2], "outermost") {
			outermost[f[1]] = true
		}
		if strings.HasPrefix(f[0], "#") || len(f) < 12 {
			continue
		}
		g := gdbFrame{thread: f[0], kind: f[3], module: f[7], pc: number(f[4]), sp: number(f[5]), cfa: number(f[6]),
			offset: number(f[8]), regs: map[string]uint64{}}
		g.level, _ = strconv.Atoi(f[2])
		for _, r := range strings.Split(f[11], ",") {
			if name, value, ok := strings.Cut(r, "="); ok {
				g.regs[name] = number(value)
			}
		}
		frames = append(frames, g)
	}
	return frames, outermost
}

// coreEnv is a frame of a core: registers as gdb gives them, memory from the core.
type coreEnv struct {
	regs map[uint64]uint64
	mem  *elfFile
}

func (e *coreEnv) Register(n uint64) (uint64, bool) {
	v, ok := e.regs[n]
	return v, ok
}

func (e *coreEnv) Load(addr uint64, size int) (uint64, bool) {
	b, ok := e.mem.Bytes(addr, size)
	if !ok {
		return 0, false
	}
	c := cursor{data: b, big: e.mem.big}
	return c.uint(size), true
}

// dwarfCPU gives the CPU of a machine and the DWARF numbers of its stack pointer and of the column that gdb's pc is in.
func dwarfCPU(t *testing.T, m elf.Machine, word int) (cpu *arch.CPU, sp, pc uint64) {
	t.Helper()
	name := map[elf.Machine]string{elf.EM_386: "x86", elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm",
		elf.EM_S390: "s390x", elf.EM_MIPS: "mips", elf.EM_RISCV: "riscv64"}[m]
	cpu, ok := arch.Lookup(name)
	if !ok {
		t.Fatalf("no CPU %q", name)
	}
	sp = uint64(cpu.DWARFOf(cpu.Slot.SP))
	pc = ^uint64(0)
	if n := cpu.DWARFOf(cpu.Slot.PC); n >= 0 {
		pc = uint64(n)
	}
	return cpu, sp, pc
}

// registerNumber gives the DWARF number of a register by gdb's name.
func registerNumber(cpu *arch.CPU, name string) (uint64, bool) {
	if name == "s8" && cpu.Name == "mips" {
		name = "fp"
	}
	slot := cpu.SlotOf(name)
	if slot < 0 {
		slot = cpu.SlotOf("$" + name)
	}
	if slot < 0 || cpu.DWARFOf(slot) < 0 {
		return 0, false
	}
	return uint64(cpu.DWARFOf(slot)), true
}

// Every frame that gdb saw in the programs' own code must come out the same: CFA, return address, and the registers of
// the caller.
func TestCorpusFramesAgainstGDB(t *testing.T) {
	root := corpustest.Dir(t)
	cores, err := filepath.Glob(filepath.Join(root, "*", "*", "core.gz"))
	if err != nil || len(cores) < 15 {
		t.Fatal(len(cores), err)
	}
	total, bottoms, images, trampolines := 0, 0, 0, 0
	for _, core := range cores {
		dir := filepath.Dir(core)
		name := filepath.Base(dir)
		bin := name
		if filepath.Base(filepath.Dir(dir)) == "made" {
			bin = name[:strings.LastIndexByte(name, '-')]
		}
		data := unpacked(t, core)
		mem, err := parseHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		mem.data = data
		if err := mem.readSegments(); err != nil {
			t.Fatal(err)
		}
		segments := mem.segments
		joinSegments(mem)
		// ELF images in the core's memory: the vDSO has call frame information, of others only the first page is kept.
		var inMemory []*File
		for _, s := range segments {
			if b, ok := mem.Bytes(s.vaddr, 4); s.typ != elf.PT_LOAD || !ok || string(b) != elf.ELFMAG {
				continue
			}
			f, err := OpenImage(mem, s.vaddr)
			if err != nil || f.Len() == 0 {
				continue
			}
			noProblems(t, f)
			for i := range f.FDEs() {
				rowsOf(t, &f.FDEs()[i])
			}
			inMemory = append(inMemory, f)
		}
		images += len(inMemory)
		modules := map[string]*File{}
		module := func(file string) *File {
			f, ok := modules[file]
			if !ok {
				path := filepath.Join(filepath.Dir(dir), "bin", bin, file+".gz")
				if _, err := os.Stat(path); err == nil {
					if f, err = Open(unpacked(t, path)); err != nil {
						t.Fatal(err)
					}
				}
				modules[file] = f
			}
			return f
		}
		frames, outermost := readFrames(t, filepath.Join(dir, "gdb.tsv"))
		cpu, sp, pcReg := dwarfCPU(t, mem.machine, mem.word)
		n := 0
		for i, frame := range frames {
			if frame.kind != "NORMAL" && frame.kind != "SIGTRAMP" {
				continue
			}
			f, pc := module(frame.module), frame.pc
			if f != nil {
				pc = frame.offset + f.Base()
			} else {
				for _, m := range inMemory {
					if _, ok := m.Find(frame.pc); ok {
						f = m
					}
				}
				if f == nil {
					continue
				}
			}
			if frame.kind == "SIGTRAMP" {
				trampolines++
			} else if i > 0 && frames[i-1].thread == frame.thread && frames[i-1].kind != "SIGTRAMP" {
				pc--
			}
			d, ok := f.Find(pc)
			if !ok {
				continue
			}
			env := &coreEnv{regs: map[uint64]uint64{sp: frame.sp, pcReg: frame.pc}, mem: mem}
			for r, v := range frame.regs {
				if n, ok := registerNumber(cpu, r); ok {
					env.regs[n] = v
				}
			}
			var row Row
			var out Recovered
			if err := d.RowAt(pc, &row); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if err := row.Apply(env, &out); err != nil {
				t.Errorf("%s thread %s level %d: %v (%s)", name, frame.thread, frame.level, err, rowText(&row))
				continue
			}
			// The caller: the next frame that is not an inlined function.
			var caller *gdbFrame
			for k := i + 1; k < len(frames) && frames[k].thread == frame.thread; k++ {
				if frames[k].kind == "NORMAL" || frames[k].kind == "SIGTRAMP" {
					caller = &frames[k]
					break
				}
			}
			if caller == nil {
				if outermost[frame.thread] && out.RA.How == IsUndefined {
					bottoms++
				}
				continue
			}
			n++
			report := func(what string, got, want uint64) {
				t.Errorf("%s thread %s level %d, %s+0x%x: %s 0x%x, gdb has 0x%x (%s)", name, frame.thread, frame.level,
					frame.module, frame.offset, what, got, want, rowText(&row))
			}
			if out.CFA != frame.cfa && frame.cfa != 0 {
				report("CFA", out.CFA, frame.cfa)
			}
			if mem.machine == elf.EM_ARM { // bit 0 is the instruction set
				out.RA.Value &^= 1
			}
			if out.RA.Value != caller.pc {
				report("return address", out.RA.Value, caller.pc)
			}
			if g, ok := out.Get(sp); ok && g.Value != caller.sp {
				report("stack pointer", g.Value, caller.sp)
			} else if !ok && mem.machine != elf.EM_S390 && out.CFA != caller.sp {
				report("stack pointer", out.CFA, caller.sp)
			}
			for r, want := range caller.regs {
				number, ok := registerNumber(cpu, r)
				if !ok {
					continue
				}
				if g, ok := out.Get(number); ok {
					if g.Known && g.Value != want && number != d.CIE.RAReg {
						report(r, g.Value, want)
					}
				} else if number != d.CIE.RAReg && number != sp && env.regs[number] != want {
					report(r+" (no rule)", env.regs[number], want)
				}
			}
		}
		t.Logf("%s: %d frames", name, n)
		total += n
	}
	t.Logf("%d cores, %d frames, %d ends of stacks, %d images, %d trampolines", len(cores), total, bottoms, images,
		trampolines)
	if total < 1600 || bottoms < 25 || images < 20 || trampolines < 1 {
		t.Error("that is less than the corpus has")
	}
}

// joinSegments makes one segment of those that follow each other in memory and file, so that reads may cross.
func joinSegments(e *elfFile) {
	var out []segment
	for _, s := range e.segments {
		if s.typ != elf.PT_LOAD {
			continue
		}
		if n := len(out); n > 0 {
			if l := &out[n-1]; l.vaddr+l.fileSize == s.vaddr && l.offset+l.fileSize == s.offset {
				l.fileSize += s.fileSize
				continue
			}
		}
		out = append(out, s)
	}
	e.segments = out
}
