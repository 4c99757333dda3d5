package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
)

// Places in the made-up process.
const (
	progBase   = 0x400000
	libBase    = 0x10000000
	linkerBase = 0x20000000
	vdsoBase   = 0x30000000
	debugAt    = 0x40000000
	stackAt    = 0x50000000
)

// made is a process with a program, a library, a dynamic linker and a vDSO.
type made struct {
	t               testing.TB
	cpu             *arch.CPU
	order           binary.ByteOrder
	images          map[string][]byte // by path
	prog, lib, link []byte
	vdso            []byte
	files           []Mapping
}

func process(t testing.TB, cpu *arch.CPU, order binary.ByteOrder) *made {
	t.Helper()
	m := &made{t: t, cpu: cpu, order: order, files: mappings()}
	bytesOf := func(im Image) []byte {
		b, err := im.Bytes(cpu, order)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	m.prog = bytesOf(Image{Type: elf.ET_EXEC, Vaddr: progBase, Entry: progBase + ImageText, BuildID: id(1), Debug: debugAt, Text: []byte("program text")})
	m.lib = bytesOf(Image{Type: elf.ET_DYN, BuildID: id(2), SONAME: "libx.so.1", Text: []byte("library text")})
	m.link = bytesOf(Image{Type: elf.ET_DYN, BuildID: id(3), SONAME: "ld.so.1", Text: []byte("linker text")})
	m.vdso = bytesOf(Image{Type: elf.ET_DYN, BuildID: id(4), SONAME: "linux-vdso.so.9", Text: []byte("vdso text")})
	m.images = map[string][]byte{"/bin/prog": m.prog, "./prog": m.prog, "/lib/libx.so": m.lib, "/lib/ld.so": m.link}
	return m
}

func id(n byte) []byte { return bytes.Repeat([]byte{n}, 20) }

func (m *made) binary(path string) ([]byte, error) {
	if b := m.images[path]; b != nil {
		return b, nil
	}
	return nil, fs.ErrNotExist
}

// core builds the core, with the modules' first pages dumped or not, and with NT_FILE or not.
func (m *made) core(headers, files bool) *Builder {
	b := builder(m.t, m.cpu, m.order)
	b.Thread(7, 11, values(m.cpu, 1))
	b.Psinfo("prog", "./prog", 7)
	for _, l := range []struct {
		base uint64
		data []byte
	}{{progBase, m.prog}, {libBase, m.lib}, {linkerBase, m.link}} {
		if headers {
			b.Load(l.base, 0x1000, elf.PF_R|elf.PF_X, l.data[:0x1000])
		} else {
			b.Load(l.base, 0x1000, elf.PF_R|elf.PF_X, nil)
		}
		b.Load(l.base+0x1000, 0x1000, elf.PF_R|elf.PF_W, l.data[0x1000:])
	}
	b.Load(vdsoBase, 0x2000, elf.PF_R|elf.PF_X, m.vdso)
	b.LinkMap(debugAt, linkerBase, []LinkEntry{
		{0, "", progBase + ImageDynamic}, {vdsoBase, "linux-vdso.so.9", vdsoBase + ImageDynamic},
		{libBase, "/lib/libx.so", libBase + ImageDynamic}, {linkerBase, "/lib/ld.so", linkerBase + ImageDynamic},
	})
	b.Load(stackAt, 0x1000, elf.PF_R|elf.PF_W, append([]byte("./prog\x00"), make([]byte, 4089)...))
	if files {
		b.Files(4096, m.files)
	}
	e := encoder{m.order, m.cpu.Word == 8}
	b.Aux(AuxPhdr, progBase+e.headerSize(0))
	b.Aux(AuxPhnum, 6)
	b.Aux(AuxPageSize, 4096)
	b.Aux(AuxBase, linkerBase)
	b.Aux(AuxEntry, progBase+ImageText)
	b.Aux(AuxExecFn, stackAt)
	b.Aux(AuxSysinfoEHdr, vdsoBase)
	return b
}

// mappings is what NT_FILE and maps tell, with a file that is no module.
func mappings() []Mapping {
	return []Mapping{
		{progBase, progBase + 0x1000, 0, 0, "/bin/prog", false}, {progBase + 0x1000, progBase + 0x2000, 0x1000, 0, "/bin/prog", false},
		{libBase, libBase + 0x1000, 0, 0, "/lib/libx.so", false}, {libBase + 0x1000, libBase + 0x2000, 0x1000, 0, "/lib/libx.so", false},
		{linkerBase, linkerBase + 0x1000, 0, 0, "/lib/ld.so", false},
		{linkerBase + 0x1000, linkerBase + 0x2000, 0x1000, 0, "/lib/ld.so", false},
		{stackAt, stackAt + 0x1000, 0, 0, "/var/cache/data", false},
	}
}

func summary(mods []*Module) string {
	var b strings.Builder
	for _, m := range mods {
		fmt.Fprintf(&b, "%s %#x+%#x bias %#x id %x soname %q main %v vdso %v\n", m.Path, m.Base, m.Size, m.Bias, m.BuildID, m.SONAME, m.Main, m.VDSO)
	}
	return b.String()
}

func TestModules(t *testing.T) {
	for _, k := range kinds {
		for _, headers := range []bool{true, false} {
			for _, source := range []Source{FromFiles, FromMaps, FromLinkMap} {
				t.Run(fmt.Sprintf("%s-%v headers=%v %v", k.cpu, k.order, headers, source), func(t *testing.T) {
					cpu := lookup(t, k.cpu)
					m := process(t, cpu, k.order)
					c := parse(t, m.core(headers, source == FromFiles).Bytes())
					o := Options{Binary: m.binary}
					prog := "/bin/prog"
					if source == FromMaps {
						o.Maps = mappings()
					} else if source == FromLinkMap {
						prog = "./prog"
					}
					mods := c.Modules(o)
					vdso := "linux-vdso.so.9"
					if k.cpu == "x86" {
						vdso = "linux-gate.so"
					}
					want := prog + ` 0x400000+0x2000 bias 0x0 id 0101010101010101010101010101010101010101 soname "" main true vdso false
/lib/libx.so 0x10000000+0x2000 bias 0x10000000 id 0202020202020202020202020202020202020202 soname "libx.so.1" main false vdso false
/lib/ld.so 0x20000000+0x2000 bias 0x20000000 id 0303030303030303030303030303030303030303 soname "ld.so.1" main false vdso false
` + vdso + ` 0x30000000+0x2000 bias 0x30000000 id 0404040404040404040404040404040404040404 soname "linux-vdso.so.9" main false vdso true
`
					if got := summary(mods); got != want {
						t.Errorf("modules\n%swant\n%s", got, want)
					}
					if len(c.Problems) > 0 {
						t.Error(c.Problems)
					}
					for _, mod := range mods[:3] {
						if mod.Binary == nil || mod.EHFrameHdr != (Range{mod.Base + ImageText, 8}) {
							t.Errorf("%v: binary %v, eh_frame_hdr %+v", mod, mod.Binary != nil, mod.EHFrameHdr)
						}
					}
					if b, ok := c.Memory(libBase+ImageText, 12); !ok || string(b) != "library text" {
						t.Errorf("text: %q %v", b, ok)
					}
				})
			}
		}
	}
}

func TestWrongBinary(t *testing.T) {
	cpu := lookup(t, "arm64")
	for _, k := range []struct {
		what    string
		headers bool
		change  func(m *made)
		text    string
	}{
		{"build id", true, func(m *made) {
			m.images["/lib/libx.so"] = other(m, Image{Type: elf.ET_DYN, BuildID: id(9), SONAME: "libx.so.1"})
		}, "build id is 0909"},
		{"headers", true, func(m *made) { m.images["/lib/libx.so"] = other(m, Image{Type: elf.ET_DYN, Vaddr: 0x10000}) }, "program headers differ"},
		{"entry", false, func(m *made) {
			m.images["/bin/prog"] = other(m, Image{Type: elf.ET_EXEC, Vaddr: progBase, Entry: progBase + 0x500, BuildID: id(1)})
		}, "entry point"},
		{"mapping", false, func(m *made) { m.files[3].Offset = 0x3000 }, "none of its segments is mapped at 0x10001000"},
		{"cpu", false, func(m *made) { m.images["/lib/libx.so"] = process(t, lookup(t, "x86_64"), little).lib }, "it is for x86_64"},
		{"order", false, func(m *made) { m.images["/lib/libx.so"] = process(t, cpu, big).lib }, "BigEndian"},
		{"no ELF", false, func(m *made) { m.images["/lib/libx.so"] = []byte("text") }, "no ELF magic"},
		{"debug file", true, func(m *made) {
			b := bytes.Clone(m.lib)
			section := make([]byte, 64)
			m.order.PutUint32(section[4:], uint32(elf.SHT_NOBITS))
			m.order.PutUint64(section[8:], uint64(elf.SHF_ALLOC|elf.SHF_EXECINSTR))
			m.order.PutUint64(b[40:], uint64(len(b))) // e_shoff
			m.order.PutUint16(b[58:], 64)
			m.order.PutUint16(b[60:], 1)
			m.images["/lib/libx.so"] = append(b, section...)
		}, "separate debug file"},
		{"core", false, func(m *made) { m.images["/lib/libx.so"] = m.core(true, true).Bytes() }, "ET_CORE"},
	} {
		t.Run(k.what, func(t *testing.T) {
			m := process(t, cpu, little)
			k.change(m)
			c := parse(t, m.core(k.headers, true).Bytes())
			mods := c.Modules(Options{Binary: m.binary})
			if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Text, k.text) {
				t.Errorf("problems %v, want %s", c.Problems, k.text)
			}
			used := 0
			for _, mod := range mods {
				if mod.Binary != nil {
					used++
				}
			}
			if used != 2 {
				t.Errorf("%d binaries used, want 2", used)
			}
		})
	}
}

func other(m *made, im Image) []byte {
	b, err := im.Bytes(m.cpu, m.order)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

// A binary's writable data stand in only for what the core never held.
func TestWritableFromBinary(t *testing.T) {
	cpu := lookup(t, "x86_64")
	m := process(t, cpu, little)
	copy(m.lib[0x1800:], "initial value")
	build := func(data []byte) []byte {
		b := builder(t, cpu, little)
		b.Load(libBase, 0x1000, elf.PF_R|elf.PF_X, nil)
		b.Load(libBase+0x1000, 0x1000, elf.PF_R|elf.PF_W, data)
		return b.Bytes()
	}
	touched := bytes.Repeat([]byte("x"), 0x1000)
	for _, k := range []struct {
		what string
		core []byte
		want string
	}{
		{"never touched", build(nil), "initial value"},
		{"dumped", build(touched), "xxxxxxxxxxxxx"},
		{"lost", build(touched)[:0x1100], ""},
		{"dumped in part", build(touched[:0x800]), "initial value"},
	} {
		c := parse(t, k.core)
		mod := &Module{Base: libBase, Size: 0x2000, Path: "/lib/libx.so"}
		if err := c.AddBinary(mod, m.lib); err != nil {
			t.Fatal(err)
		}
		got, ok := c.Memory(libBase+0x1800, 13)
		if string(got) != k.want || ok != (k.want != "") {
			t.Errorf("%s: %q %v", k.what, got, ok)
		}
		if text, ok := c.Memory(libBase+ImageText, 7); !ok || string(text) != "library" {
			t.Errorf("%s: text %q", k.what, text)
		}
		if err := c.AddBinary(mod, m.lib); err != nil || !sorted(c.files) {
			t.Errorf("%s: added again: %v, %d extents", k.what, err, len(c.files))
		}
	}
}

func sorted(list []extent) bool {
	return slices.IsSortedFunc(list, func(a, b extent) int {
		if a.end() <= b.addr {
			return -1
		}
		return 1
	})
}

func TestDamagedLinkMap(t *testing.T) {
	cpu := lookup(t, "x86_64")
	m := process(t, cpu, little)
	data := m.core(true, false).Bytes()
	entry := func(i int) uint64 { return debugAt + 8*8 + uint64(i)*5*8 }
	set := func(addr, v uint64) []byte {
		d := bytes.Clone(data)
		b, ok := parse(t, d).Memory(addr, 8)
		if !ok {
			t.Fatalf("no memory at %#x", addr)
		}
		little.PutUint64(b, v)
		return d
	}
	for _, k := range []struct {
		what     string
		data     []byte
		modules  int
		problems int
	}{
		{"whole", data, 4, 0},
		{"circle", set(entry(3)+24, entry(1)), 4, 0},
		{"points at itself", set(entry(0)+24, entry(0)), 3, 0}, // program, vDSO, linker from AT_BASE
		{"leads nowhere", set(entry(2)+24, 0xdead0000), 4, 1},
		{"name cannot be read", set(entry(2)+8, 0xdead0000), 4, 0},
		{"object in no segment", set(entry(2)+16, 0xdead0000), 3, 1},
		{"DT_DEBUG wrong, found by AT_BASE", set(progBase+ImageDynamic+16+8, 0xdead0000), 4, 0},
	} {
		c := parse(t, k.data)
		mods := c.Modules(Options{})
		if len(mods) != k.modules || len(c.Problems) != k.problems {
			t.Errorf("%s: %d modules, problems %v\n%s", k.what, len(mods), c.Problems, summary(mods))
		}
	}
}

// A second namespace (dlmopen) hangs on struct r_debug_extended.
func TestNamespaces(t *testing.T) {
	cpu := lookup(t, "x86_64")
	m := process(t, cpu, little)
	data := m.core(true, false).Bytes()
	b, _ := parse(t, data).Memory(debugAt, 6*8)
	last, _ := parse(t, data).Memory(debugAt+8*8+2*5*8+24, 8) // libx's l_next
	second := uint64(debugAt + 0x800)
	d2, _ := parse(t, data).Memory(second, 6*8)
	copy(d2, b)
	little.PutUint64(d2[8:], debugAt+8*8+3*5*8)
	little.PutUint64(last, 0)
	b[0] = 2
	little.PutUint64(b[40:], second)
	c := parse(t, data)
	var names []string
	for _, l := range c.debug(debugAt) {
		names = append(names, l.name)
	}
	if got := strings.Join(names, " "); got != " linux-vdso.so.9 /lib/libx.so /lib/ld.so" {
		t.Errorf("%q", got)
	}
}

// mips has its dynamic section in read-only memory, and a pointer to the pointer.
func TestMIPSDebug(t *testing.T) {
	for _, tag := range []uint32{dtMIPSRLDMap, dtMIPSRLDMapRel} {
		m := process(t, lookup(t, "mips"), big)
		const pointer = stackAt + 0x100
		place := ImageDynamic + 8 // of the tag: DT_STRTAB is before it
		big.PutUint32(m.prog[place:], tag)
		big.PutUint32(m.prog[place+4:], pointer)
		if tag == dtMIPSRLDMapRel {
			at := uint32(progBase + place)
			big.PutUint32(m.prog[place+4:], pointer-at)
		}
		data := m.core(true, false).Bytes()
		c := parse(t, data)
		b, _ := c.Memory(pointer, 4)
		big.PutUint32(b, debugAt)
		addr, ok := c.debugAddress(&Module{Phdrs: c.imageAt(progBase).phdrs})
		if !ok || addr != debugAt {
			t.Errorf("tag %#x: %#x %v", tag, addr, ok)
		}
	}
}

// The same file loaded twice is two modules; one whose first page is mapped twice (as on 64 KiB-page layouts) is one.
func TestMappingGroups(t *testing.T) {
	cpu := lookup(t, "x86_64")
	m := process(t, cpu, little)
	for _, dumped := range []bool{true, false} {
		b := builder(t, cpu, little)
		var files []Mapping
		for _, base := range []uint64{0x100000, 0x102000, 0x200000} {
			head := m.lib[:0x1000]
			if !dumped {
				head = nil
			}
			b.Load(base, 0x1000, elf.PF_R|elf.PF_X, head)
			b.Load(base+0x1000, 0x1000, elf.PF_R|elf.PF_W, m.lib[0x1000:])
			files = append(files, Mapping{Start: base, End: base + 0x1000, Path: "/lib/libx.so"}, Mapping{Start: base + 0x1000, End: base + 0x2000, Offset: 0x1000, Path: "/lib/libx.so"})
		}
		b.Load(0x300000, 0x1000, elf.PF_R|elf.PF_X, nil)
		b.Load(0x301000, 0x1000, elf.PF_R, nil)
		b.Load(0x302000, 0x1000, elf.PF_R|elf.PF_W, nil)
		files = append(files, Mapping{Start: 0x300000, End: 0x301000, Path: "/p"}, Mapping{Start: 0x301000, End: 0x302000, Path: "/p"}, Mapping{Start: 0x302000, End: 0x303000, Offset: 0x1000, Path: "/p"})
		b.Files(1, files)
		c := parse(t, b.Bytes())
		var got []string
		for _, mod := range c.Modules(Options{}) {
			got = append(got, mod.String())
		}
		want := []string{"/lib/libx.so 0x100000-0x102000", "/lib/libx.so 0x102000-0x104000", "/lib/libx.so 0x200000-0x202000", "/p 0x300000-0x303000"}
		if !slices.Equal(got, want) {
			t.Errorf("dumped %v: %q", dumped, got)
		}
	}
}

// A small core can claim many modules in the same memory, each with many headers to read.
func TestManyModules(t *testing.T) {
	cpu := lookup(t, "x86_64")
	m := process(t, cpu, little)
	const modules, pages = 30000, 17
	head := append(m.lib[:0x1000:0x1000], make([]byte, (pages-1)*4096)...)
	little.PutUint16(head[56:], maxPhdrs)
	for i := uint64(6); i < maxPhdrs; i++ { // every header a note segment over everything
		p := head[64+i*phdr64:]
		little.PutUint32(p, uint32(elf.PT_NOTE))
		little.PutUint64(p[8:], 0)
		little.PutUint64(p[32:], pages*4096)
	}
	b := builder(t, cpu, little)
	b.Load(libBase, pages*4096, elf.PF_R|elf.PF_X, head)
	var files []Mapping
	for i := range modules {
		files = append(files, Mapping{Start: libBase, End: libBase + 0x1000, Path: fmt.Sprintf("/%d", i)})
	}
	b.Files(4096, files)
	c := parse(t, b.Bytes())
	mods := c.Modules(Options{})
	if len(mods) != modules || c.spent > maxSpent+maxRead+maxPhdrs*phdr64 {
		t.Errorf("%d modules, %d bytes read", len(mods), c.spent)
	}
	if len(c.Problems) == 0 || !strings.Contains(c.Problems[len(c.Problems)-1].Text, "too many modules") {
		t.Error(c.Problems)
	}
}
