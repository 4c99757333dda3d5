package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/corpustest"
)

var little, big binary.ByteOrder = binary.LittleEndian, binary.BigEndian

// kinds are the CPUs and byte orders that cores come in.
var kinds = []struct {
	cpu   string
	order binary.ByteOrder
}{
	{"x86", little}, {"x86_64", little}, {"arm", little}, {"arm", big}, {"arm64", little}, {"arm64", big},
	{"mips", little}, {"mips", big}, {"mips64", little}, {"mips64", big}, {"riscv", little}, {"riscv64", little},
	{"ppc", big}, {"ppc64", big}, {"ppc64", little}, {"s390x", big},
}

func lookup(t testing.TB, name string) *arch.CPU {
	t.Helper()
	cpu, ok := arch.Lookup(name)
	if !ok {
		t.Fatalf("no CPU %s", name)
	}
	return cpu
}

func builder(t testing.TB, cpu *arch.CPU, order binary.ByteOrder) *Builder {
	t.Helper()
	b, err := NewBuilder(cpu, order)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// values gives every slot of a CPU another value, with the high bits set too.
func values(cpu *arch.CPU, seed uint64) arch.Registers {
	r := arch.Registers{CPU: cpu}
	for i := range cpu.Slots {
		r.Set(i, 0xfedc_ba98_0000_0000+uint64(0x9000_0000)+seed<<16+uint64(i)*0x101)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.cpu+"-"+k.order.String(), func(t *testing.T) {
			cpu := lookup(t, k.cpu)
			b := builder(t, cpu, k.order)
			regs := []arch.Registers{values(cpu, 1), values(cpu, 2)}
			fault := Siginfo{Signo: 11, Code: 1, Errno: 3, Addr: 0x1234, HasAddr: true}
			b.Thread(77, 11, regs[0])
			b.Psinfo("tower", "./tower x y", 70)
			b.Siginfo(fault)
			b.PAC(PACMask{0x7f << 48, 0xff << 48})
			files := []Mapping{
				{Start: 0x10000, End: 0x12000, Path: "/bin/a b", Offset: 0},
				{Start: 0x12000, End: 0x13000, Path: "/bin/a b", Offset: 0x5000, Deleted: true},
			}
			b.Files(4096, files)
			b.Thread(78, 0, regs[1])
			b.Aux(AuxPageSize, 4096)
			b.Aux(AuxEntry, 0x10040)
			b.Load(0x30000, 0x2000, elf.PF_R|elf.PF_W, []byte("0123456789"))
			b.Load(0x10000, 0x2000, elf.PF_R|elf.PF_X, nil)
			c := parse(t, b.Bytes())

			if c.CPU != cpu || c.Order != k.order || c.Word != cpu.Word || len(c.Problems) > 0 {
				t.Errorf("%v %v %d, problems %v", c.CPU, c.Order, c.Word, c.Problems)
			}
			want := []Thread{
				{LWP: 77, Signal: 11, Registers: regs[0], Siginfo: &fault, PAC: PACMask{0x7f << 48, 0xff << 48}},
				{LWP: 78, Registers: regs[1]},
			}
			if !reflect.DeepEqual(c.Threads, want) {
				t.Errorf("threads\n%+v\nwant\n%+v", c.Threads, want)
			}
			if c.Command != "tower" || c.Args != "./tower x y" || c.PID != 70 {
				t.Errorf("%q %q %d", c.Command, c.Args, c.PID)
			}
			if !slices.Equal(c.Files, files) {
				t.Errorf("files %+v", c.Files)
			}
			if !slices.Equal(c.Auxv, []Aux{{AuxPageSize, 4096}, {AuxEntry, 0x10040}}) {
				t.Errorf("auxv %+v", c.Auxv)
			}
			if len(c.Segments) != 2 || c.Segments[0].Addr != 0x10000 || c.Segments[1].Size != 0x2000 || len(c.Segments[1].Data) != 10 {
				t.Errorf("segments %+v", c.Segments)
			}
		})
	}
}

// Slots by their place in pr_reg, counted by hand from the kernel's headers.
func TestGregsetPlaces(t *testing.T) {
	for _, k := range []struct {
		cpu, name string
		word, of  int
	}{
		{"x86", "$eip", 12, 17}, {"x86", "$esp", 15, 17}, {"x86_64", "$rip", 16, 27}, {"x86_64", "$rsp", 19, 27},
		{"x86_64", "$rbp", 4, 27}, {"arm", "pc", 15, 18}, {"arm", "cpsr", 16, 18}, {"arm64", "sp", 31, 34}, {"arm64", "pc", 32, 34},
		{"mips", "$sp", 35, 45}, {"mips", "$pc", 40, 45}, {"mips64", "$ra", 31, 45}, {"mips64", "$pc", 34, 45},
		{"riscv64", "pc", 0, 32}, {"riscv64", "t6", 31, 32}, {"ppc", "srr0", 32, 48}, {"ppc64", "lr", 36, 48}, {"ppc64", "cr", 38, 48},
		{"ppc", "ctr", 35, 48}, {"s390x", "pswm", 0, 27}, {"s390x", "pswa", 1, 27}, {"s390x", "r15", 17, 27},
	} {
		cpu := lookup(t, k.cpu)
		words := layouts[cpu].words
		if len(words) != k.of || int(words[k.word]) != cpu.SlotOf(k.name) {
			t.Errorf("%s: word %d of %d is slot %d, want %s = %d of %d", k.cpu, k.word, len(words), words[k.word], k.name, cpu.SlotOf(k.name), k.of)
		}
	}
}

func TestFloatRegistersOnlyFromNote(t *testing.T) {
	cpu := lookup(t, "s390x")
	b := builder(t, cpu, big)
	var r arch.Registers
	r.CPU = cpu
	r.Set(cpu.Slot.PC, 0x1000)
	b.Thread(1, 0, r)
	c := parse(t, b.Bytes())
	if got := &c.Threads[0].Registers; got.Has(cpu.SlotOf("f0")) || !got.Has(cpu.SlotOf("r3")) || got.PC() != 0x1000 {
		t.Errorf("valid %#x", got.Valid)
	}
}

func TestShortRegisters(t *testing.T) {
	cpu := lookup(t, "arm64")
	b := builder(t, cpu, little)
	desc := make([]byte, 112+5*8)
	desc[112+4*8] = 9 // x4
	b.Note("CORE", notePRStatus, desc)
	c := parse(t, b.Bytes())
	if len(c.Threads) != 1 || len(c.Problems) != 1 {
		t.Fatalf("%+v, problems %v", c.Threads, c.Problems)
	}
	r := &c.Threads[0].Registers
	if v, ok := r.Get(4); !ok || v != 9 || r.Has(5) || r.Has(cpu.Slot.PC) {
		t.Errorf("x4 %d, valid %#x", v, r.Valid)
	}
}

func TestSiginfoAddress(t *testing.T) {
	for _, k := range []struct {
		cpu         string
		signo, code int32
		want        bool
	}{
		{"x86_64", 11, 1, true}, {"x86_64", 11, 0x80, true}, {"x86_64", 11, 0, false}, {"x86_64", 11, -6, false}, {"x86_64", 6, 1, false},
		{"x86_64", 7, 2, true}, {"x86_64", 10, 1, false}, {"mips", 10, 1, true}, {"mips", 7, 1, false},
	} {
		b := builder(t, lookup(t, k.cpu), little)
		b.Thread(1, int(k.signo), arch.Registers{CPU: lookup(t, k.cpu)})
		b.Siginfo(Siginfo{Signo: k.signo, Code: k.code, Addr: 0x10})
		si := parse(t, b.Bytes()).Threads[0].Siginfo
		if si == nil || si.HasAddr != k.want || si.Code != k.code || si.HasAddr != (si.Addr == 0x10) {
			t.Errorf("%+v: %+v", k, si)
		}
	}
}

func TestRefused(t *testing.T) {
	good := builder(t, lookup(t, "x86_64"), little).Bytes()
	put := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	for _, k := range []struct {
		data    []byte
		notCore bool
		text    string
	}{
		{nil, true, "no ELF magic"},
		{[]byte("MDMP and more than that"), true, "no ELF magic"},
		{good[:40], true, "cut off"},
		{good[:60], true, "cut off"},
		{put(16, byte(elf.ET_EXEC)), true, "ET_EXEC"},
		{put(4, 9), true, "class"},
		{put(5, 0), true, "byte order"},
		{put(18, byte(elf.EM_SPARC)), false, "EM_SPARC"},
		{put(4, 1), false, "x32"},
		{put(18, byte(elf.EM_386)), false, "64-bit"},
	} {
		c, err := Parse(k.data)
		if c != nil || err == nil || errors.Is(err, ErrNotCore) != k.notCore || !strings.Contains(err.Error(), k.text) {
			t.Errorf("%.20q: %v, want %s", k.data, err, k.text)
		}
		if k.notCore && IsCore(k.data) {
			t.Errorf("%.20q: IsCore", k.data)
		}
	}
	if !IsCore(good) || !IsCore(put(18, byte(elf.EM_SPARC))) {
		t.Error("IsCore fails for cores")
	}
}

// PN_XNUM: section header 0 has the number of program headers.
func TestManySegments(t *testing.T) {
	const n = 70000
	b := builder(t, lookup(t, "x86_64"), little)
	b.Thread(1, 0, arch.Registers{CPU: b.cpu})
	for i := range uint64(n) {
		b.Load(0x100000+i*0x2000, 0x1000, elf.PF_R, nil)
	}
	data := b.Bytes()
	section := make([]byte, 64)
	little.PutUint32(section[44:], n+1)
	little.PutUint64(data[40:], uint64(len(data)))
	little.PutUint16(data[56:], phnumExtended)
	c := parse(t, append(data, section...))
	if len(c.Segments) != n || len(c.Threads) != 1 || len(c.Problems) > 0 {
		t.Errorf("%d segments, %d threads, %v", len(c.Segments), len(c.Threads), c.Problems)
	}
}

func TestMemory(t *testing.T) {
	b := builder(t, lookup(t, "x86_64"), little)
	page := func(c byte) []byte { return bytes.Repeat([]byte{c}, 4096) }
	b.Load(0x1000, 0x1000, elf.PF_R, page('a')) // these two are neighbours in the file as well
	b.Load(0x2000, 0x1000, elf.PF_R, page('b'))
	b.Load(0x9000, 0x1000, elf.PF_R, page('x'))
	b.Load(0x3000, 0x1000, elf.PF_R, page('c')[:10]) // adjoins b in memory, not in the file; partly dumped
	b.Load(0xffffffffffffe000, 0x2000, elf.PF_R, page('z'))
	c := parse(t, b.Bytes())
	for _, k := range []struct {
		addr uint64
		n    int
		want string
	}{
		{0x1000, 1, "a"}, {0x1ffe, 4, "aabb"}, {0x2fff, 1, "b"}, {0x3000, 10, "cccccccccc"}, {0x3009, 1, "c"}, {0x9fff, 1, "x"},
		{0xffffffffffffe000, 2, "zz"},
		{0xfff, 1, ""}, {0xfff, 2, ""}, {0x2ffe, 4, ""}, {0x300a, 1, ""}, {0x3009, 2, ""}, {0x9fff, 2, ""}, {0x1000, 0, ""}, {0x1000, -1, ""},
		{0xffffffffffffffff, 2, ""}, {0xfffffffffffff000, 1, ""}, {0, 1, ""}, {0x1000, math.MaxInt, ""},
	} {
		got, ok := c.Memory(k.addr, k.n)
		if ok != (k.want != "") || string(got) != k.want || cap(got) != len(got) {
			t.Errorf("Memory(%#x, %d) = %q %v", k.addr, k.n, got, ok)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, ok := c.Memory(0x1ffe, 8); !ok {
			t.Fatal("gone")
		}
		if _, ok := c.Pointer(0x1ffe); !ok {
			t.Fatal("gone")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s, ok := c.Segment(0x3fff); !ok || s.Addr != 0x3000 {
		t.Errorf("Segment(0x3fff) = %v", s)
	}
	if s, ok := c.Segment(0x4000); ok {
		t.Errorf("Segment(0x4000) = %v", s)
	}
}

func TestOverlap(t *testing.T) {
	b := builder(t, lookup(t, "x86"), little)
	b.Load(0x1000, 0x3000, elf.PF_R, bytes.Repeat([]byte("a"), 0x1800))
	b.Load(0x2000, 0x1000, elf.PF_R, bytes.Repeat([]byte("b"), 0x1000))
	b.Load(0x2100, 0x10, elf.PF_R, bytes.Repeat([]byte("c"), 0x10))
	c := parse(t, b.Bytes())
	for addr, want := range map[uint64]string{0x27ff: "a", 0x2800: "b", 0x2fff: "b", 0x2105: "a"} {
		if got, ok := c.Memory(addr, 1); !ok || string(got) != want {
			t.Errorf("Memory(%#x) = %q, want %q", addr, got, want)
		}
	}
	if len(c.Problems) != 3 { // two overlaps, no thread
		t.Error(c.Problems)
	}
}

func TestDebugID(t *testing.T) {
	for _, k := range [][2]string{
		{"e95baaeaec8534edc5df3654182ddf12b19d9b23", "EAAA5BE985ECED34C5DF3654182DDF120"}, // vDSO in the corpus
		{"0102030405060708090a0b0c0d0e0f10", "0403020106050807090A0B0C0D0E0F100"},
		{"0102030405060708", "040302010605080700000000000000000"},
		{"01", "000000010000000000000000000000000"},
		{"", ""},
	} {
		var id []byte
		if _, err := fmt.Sscanf(k[0], "%x", &id); k[0] != "" && err != nil {
			t.Fatal(err)
		}
		if got := DebugID(id); got != k[1] {
			t.Errorf("DebugID(%s) = %s, want %s", k[0], got, k[1])
		}
	}
}

func TestParseMaps(t *testing.T) {
	list, err := ParseMaps([]byte("5500021000-5500042000 rw-p 00000000 00:00 0                              \n" +
		"5500000000-5500002000 r-xp 00001000 fe:00 6225930                        /case/a b/relay (deleted)\r\n" +
		"\n7ffe0000-7ffe1000 r--p 00000000 00:00 0 [vvar]\n" +
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n" +
		"1000-2000 rw-s 00000010 fe:00 1 /x\\012y"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Mapping{
		{0x1000, 0x2000, 0x10, elf.PF_R | elf.PF_W, "/x\ny", false},
		{0x7ffe0000, 0x7ffe1000, 0, elf.PF_R, "[vvar]", false},
		{0x5500000000, 0x5500002000, 0x1000, elf.PF_R | elf.PF_X, "/case/a b/relay", true},
		{0x5500021000, 0x5500042000, 0, elf.PF_R | elf.PF_W, "", false},
		{0xffffffffff600000, 0xffffffffff601000, 0, elf.PF_X, "[vsyscall]", false},
	}
	if !slices.Equal(list, want) {
		t.Errorf("%+v", list)
	}
	for text, want := range map[string]string{
		"1000-2000 r-xp 0 fe:00 1 /a\nnonsense\n":     "line 2: no address range",
		"1000-2000 r-x 0 fe:00 1 /a":                  "access rights",
		"1000-2000 rqxp 0 fe:00 1 /a":                 "access rights",
		"2000-1000 r-xp 0 fe:00 1 /a":                 "range",
		"1000-2000 r-xp zz fe:00 1 /a":                "hexadecimal",
		"10000000000000000-2 r-xp 0 fe:00 1 /a":       "hexadecimal",
		"Size:   4 kB\n1000-2000 r-xp 0 fe:00 1 /a\n": "line 1",
		"-2000 r-xp 0 fe:00 1 /a":                     "hexadecimal",
	} {
		if _, err := ParseMaps([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// committed is the core every clone has.
func committed(t testing.TB) []byte {
	return gunzip(t, filepath.Join(corpustest.Root(), "testdata", "core", "tower-x86_64.core.gz"))
}

// What gdb says of testdata/core, and the modules of the minidump that Google's core2md made of it.
func TestCommittedCore(t *testing.T) {
	c := parse(t, committed(t))
	checkThreads(t, c, []truth{
		{6193, 0x559155821650, 0x7ffca7d68cd8, "rbx=15,rbp=0,r12=18,r13=4,r14=7ffca7d69040,r15=7ffca7d69114"},
		{6196, 0x7f8b2c6a3f16, 0x7f8b2ca7ed90, "rbx=0,rbp=0,r12=559155824160,r13=0,r14=0,r15=559155824148"},
		{6195, 0x7f8b2c7162ec, 0x7f8b2ca8fda0, "rbx=0,rbp=0,r12=ffffffffffffff50,r13=0,r14=7ffca7d6aa60,r15=7f8b2ca80000"},
		{6194, 0x7f8b2c6ed545, 0x7f8b2caa0e30, "rbx=0,rbp=0,r12=ffffffffffffff50,r13=0,r14=7ffca7d6aa60,r15=7f8b2ca91000"},
	})
	if si := c.Threads[0].Siginfo; si == nil || *si != (Siginfo{Signo: 11, Code: 1, HasAddr: true, Addr: si.Addr}) || si.Addr > 4096 {
		t.Errorf("%+v", si)
	}
	var got []string
	for _, m := range c.Modules(Options{}) {
		got = append(got, fmt.Sprintf("%s %s %#x", m.Name(), m.DebugID(), m.Base))
	}
	want := []string{
		"tower 42FA2FB7C40D0D89873FDC5DCE498E5E0 0x559155820000",
		"libc.so.6 EC61AC938E5A39B16F9FBD350E3169A50 0x7f8b2c61e000",
		"libstdc++.so.6.0.30 9FE39E28078C4FBDA48102DFEEB7E6F90 0x7f8b2c800000",
		"libm.so.6 E3F9E6D612AFEE43D9BF5EFD366DD0150 0x7f8b2caa5000",
		"libgcc_s.so.1 4C38036F3C2E88387DD3BA5A24B2E18C0 0x7f8b2cb87000",
		"libstep.so 55460EFAF02AB76179A5ADE2E15569F10 0x7f8b2cbab000",
		"libbph.so 87551B14746AC9CDA55EBF79BA3E1EEE0 0x7f8b2cbb0000",
		"linux-vdso.so.1 EAAA5BE985ECED34C5DF3654182DDF120 0x7f8b2cc15000",
		"ld-linux-x86-64.so.2 E565BC7E2B2FA4BE98B4040FA92F72380 0x7f8b2cc17000",
	}
	if !slices.Equal(got, want) {
		t.Errorf("modules\n%s", strings.Join(got, "\n"))
	}
	if len(c.Problems) > 0 {
		t.Error(c.Problems)
	}
}

// exercise uses everything of a core that parsed, and holds the invariants.
func exercise(t *testing.T, data []byte, o Options) {
	c, err := Parse(data)
	if (err == nil) != (c != nil) {
		t.Fatalf("%v, %v", c, err)
	}
	if err != nil {
		return
	}
	if len(c.Problems) > maxProblems {
		t.Fatalf("%d problems", len(c.Problems))
	}
	for i, s := range c.Segments {
		if uint64(len(s.Data)) > s.Size || s.Addr+s.Size < s.Addr || i > 0 && s.Addr < c.Segments[i-1].Addr {
			t.Fatalf("segment %+v", s)
		}
		if len(s.Data) > 0 {
			if _, ok := c.Memory(s.Addr, len(s.Data)); !ok && len(c.Problems) == 0 {
				t.Fatalf("segment at %#x cannot be read", s.Addr)
			}
		}
	}
	for i := range c.Threads {
		r := &c.Threads[i].Registers
		c.Pointer(r.SP())
		c.Readable(r.PC())
	}
	last := uint64(0)
	for _, m := range c.Modules(o) {
		if m.Base < last {
			t.Fatalf("modules are not sorted: %v", m)
		}
		last = m.Base
		if m.Name() == "" && m.Path != "" {
			t.Fatalf("module %v has no name", m)
		}
		m.DebugID()
	}
}

func TestTruncated(t *testing.T) {
	data := committed(t)
	whole := parse(t, data)
	notes := len(whole.Threads)
	for _, n := range []int{0, 3, 63, 64, 100, 0xcf0, 0xcf1, 0xd80, 0xe60, 0x2000, 0xd3d8, 0xe000, 0xe010, 0xe100, 0x20000, 0x80000, len(data) - 4096, len(data) - 1} {
		exercise(t, data[:n], Options{})
		c, err := Parse(data[:n])
		if n < 64 {
			if !errors.Is(err, ErrNotCore) {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil || len(c.Problems) == 0 {
			t.Fatalf("%d bytes: %v, no problem found", n, err)
		}
		if n >= 0xe000 && (len(c.Threads) != notes || len(c.Segments) != len(whole.Segments)) {
			t.Errorf("%d bytes: %d threads, %d segments", n, len(c.Threads), len(c.Segments))
		}
	}
}

func TestBitFlips(t *testing.T) {
	data := committed(t)
	heads := 0xe000 // headers and notes
	step := 37
	if testing.Short() {
		step = 997
	}
	for at := 0; at < heads; at += step {
		// XSAVE notes are most of the space and are not read.
		if at > 0x2000 && at%8 != 0 {
			continue
		}
		for _, v := range []byte{0, 0xff, data[at] ^ 0x80, data[at] + 1} {
			was := data[at]
			data[at] = v
			exercise(t, data, Options{})
			data[at] = was
		}
	}
	// ELF headers and dynamic sections of the modules.
	for _, s := range parse(t, data).Segments {
		if len(s.Data) != 4096 {
			continue
		}
		for at := 0; at < 0x300; at += step {
			was := s.Data[at]
			s.Data[at] ^= 0xff
			exercise(t, data, Options{})
			s.Data[at] = was
		}
	}
}

func seeds(t testing.TB) [][]byte {
	var out [][]byte
	for _, k := range kinds {
		out = append(out, process(t, lookup(t, k.cpu), k.order).core(true, true).Bytes(), process(t, lookup(t, k.cpu), k.order).core(false, true).Bytes())
	}
	return out
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		exercise(t, data, Options{})
		exercise(t, data, Options{
			Maps:   []Mapping{{Start: 0x400000, End: 0x402000, Path: "/bin/prog"}, {Start: 0x10000000, End: 0x10002000, Path: "/lib/libx.so"}},
			Binary: func(string) ([]byte, error) { return cut(data, 0x1000, 0x2000), nil },
		})
	})
}

func FuzzMaps(f *testing.F) {
	f.Add([]byte("5500000000-5500002000 r-xp 00001000 fe:00 6225930                        /case/a b/relay (deleted)\n"))
	f.Add([]byte("1-2 ---p 0 0 0\n\n3-4 rwxs 0 0:0 0 [stack]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := ParseMaps(text)
		lines := bytes.Count(text, []byte("\n")) + 1
		if len(list) > lines || err == nil && len(list) == 0 && len(bytes.TrimSpace(text)) > 0 {
			t.Fatalf("%d mappings of %d lines, %v", len(list), lines, err)
		}
		for i, m := range list {
			if m.End <= m.Start || i > 0 && m.Start < list[i-1].Start {
				t.Fatalf("%+v", list)
			}
		}
		c := &Core{CPU: x86, Order: little, Word: 4, pageSize: 4096}
		c.Modules(Options{Maps: list, Binary: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
	})
}

func BenchmarkMemory(b *testing.B) {
	c := parse(b, committed(b))
	sp := c.Threads[0].Registers.SP()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := c.Pointer(sp); !ok {
			b.Fatal("no stack")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	data := committed(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
