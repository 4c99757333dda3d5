package dwarf

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// unpacked reads a file, through gzip if it is packed.
func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(z)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func binaries(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.gz")
	if err != nil || len(files) == 0 {
		t.Fatal("no binaries", err)
	}
	return files
}

// listing writes all rows in the form of testdata/*.rows: as readelf shows them, which tells neither undefined
// registers nor the expressions of a row. Addresses of object files are those in their sections.
func listing(t testing.TB, f *File) string {
	var out strings.Builder
	var fdes []*FDE
	for i := range f.FDEs() {
		fdes = append(fdes, &f.FDEs()[i])
	}
	sort.SliceStable(fdes, func(i, j int) bool {
		a, b := fdes[i], fdes[j]
		if a.CIE.Section != b.CIE.Section {
			return a.CIE.Section.Name < b.CIE.Section.Name
		}
		return a.Offset < b.Offset
	})
	exprs := map[string]bool{}
	for _, d := range fdes {
		p, _ := f.PlacedAt(d.Start)
		fmt.Fprintf(&out, "%s+0x%x %x-%x\n", d.CIE.Section.Name, d.Offset, d.Start-p.Addr, d.End-p.Addr)
		err := d.Rows(nil, func(r *Row) bool {
			cfa := r.CFA.String()
			if r.CFA.Kind == CFAExpression {
				cfa = "expression"
				exprs["cfa: "+FormatExpr(r.CFA.Expr, f.Word(), f.BigEndian(), nil)] = true
			}
			fmt.Fprintf(&out, "\t%x %s", r.Start-p.Addr, cfa)
			for _, g := range r.Regs {
				switch g.Kind {
				case RuleUndefined:
				case RuleSameValue:
					fmt.Fprintf(&out, " %d=same", g.Reg)
				case RuleExpression:
					fmt.Fprintf(&out, " %d=[expression]", g.Reg)
				case RuleValExpression:
					fmt.Fprintf(&out, " %d=expression", g.Reg)
				default:
					fmt.Fprintf(&out, " %d=%s", g.Reg, g)
				}
				if g.Expr != nil {
					exprs[fmt.Sprintf("%d: %s", g.Reg, FormatExpr(g.Expr, f.Word(), f.BigEndian(), nil))] = true
				}
			}
			out.WriteByte('\n')
			return true
		})
		if err != nil {
			t.Error(err)
		}
	}
	var lines []string
	for e := range exprs {
		lines = append(lines, e)
	}
	slices.Sort(lines)
	for _, e := range lines {
		out.WriteString(e + "\n")
	}
	return out.String()
}

func golden(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(strings.TrimSuffix(name, ".gz") + ".rows")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func firstDifference(t testing.TB, what, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(end)", "(end)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("%s: line %d: got %q, want %q", what, i+1, a, b)
			return
		}
	}
}

func TestRowsOfBinaries(t *testing.T) {
	for _, name := range binaries(t) {
		f, err := Open(unpacked(t, name))
		if err != nil {
			t.Fatal(err)
		}
		noProblems(t, f)
		firstDifference(t, name, listing(t, f), golden(t, name))
		for i := range f.FDEs() {
			rowsOf(t, &f.FDEs()[i])
		}
		if h := f.Header(); h != nil && (h.Good != h.Entries || h.Missing != 0 || !h.Sorted || uint64(h.Entries) != h.Count) {
			t.Errorf("%s: %+v", name, h)
		}
	}
}

// The outermost function says so: its return address is undefined.
func TestOutermostFunction(t *testing.T) {
	for name, ra := range map[string]uint64{"tower-x86_64.gz": 16, "relay-s390x.gz": 14} {
		data := unpacked(t, "testdata/"+name)
		f, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		std, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		d, ok := f.Find(std.Entry)
		if !ok || d.CIE.RAReg != ra {
			t.Fatalf("%s: no FDE of _start", name)
		}
		var row Row
		if err := d.RowAt(d.End-1, &row); err != nil {
			t.Fatal(err)
		}
		if r, ok := row.Rule(ra); !ok || r.Kind != RuleUndefined {
			t.Errorf("%s: %s", name, rowText(&row))
		}
	}
}

// stripSections removes the section headers.
func stripSections(data []byte) []byte {
	out := bytes.Clone(data)
	if elf.Class(out[elf.EI_CLASS]) == elf.ELFCLASS64 {
		clear(out[40:48])
		clear(out[60:64])
	} else {
		clear(out[32:36])
		clear(out[48:52])
	}
	return out
}

func TestStripped(t *testing.T) {
	for _, name := range []string{"testdata/tower-x86_64.gz", "testdata/relay-s390x.gz"} {
		f, err := Open(stripSections(unpacked(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		noProblems(t, f)
		if f.Header() == nil || f.Header().Good == 0 {
			t.Errorf("%s: %+v", name, f.Header())
		}
		firstDifference(t, name, listing(t, f), golden(t, name))
	}
}

// imageMemory is an ELF file loaded at a base, of which some pages may be missing.
type imageMemory struct {
	file    *elfFile
	bias    uint64
	missing map[uint64]bool
}

func (m *imageMemory) Bytes(addr uint64, n int) ([]byte, bool) {
	for a := addr &^ 0xfff; a < addr+uint64(n); a += 0x1000 {
		if m.missing[a] {
			return nil, false
		}
	}
	return m.file.Bytes(addr-m.bias, n)
}

func loaded(t testing.TB, name string, base uint64) *imageMemory {
	t.Helper()
	data := unpacked(t, name)
	e, err := parseHeader(data)
	if err != nil {
		t.Fatal(err)
	}
	e.data = data
	if err := e.readSegments(); err != nil {
		t.Fatal(err)
	}
	low, _ := e.lowest()
	return &imageMemory{file: e, bias: base - low, missing: map[uint64]bool{}}
}

func TestOpenImage(t *testing.T) {
	for _, name := range []string{"testdata/tower-x86_64.gz", "testdata/relay-s390x.gz"} {
		const base = 0x7ffff0000000
		m := loaded(t, name, base)
		f, err := OpenImage(m, base)
		if err != nil {
			t.Fatal(err)
		}
		noProblems(t, f)
		file, err := Open(m.file.data)
		if err != nil {
			t.Fatal(err)
		}
		if f.Base() != base || file.Base()+m.bias != base || f.Len() != file.Len() || f.Len() == 0 {
			t.Fatalf("%s: base 0x%x, %d FDEs of %d", name, f.Base(), f.Len(), file.Len())
		}
		for i := range f.FDEs() {
			a, b := &f.FDEs()[i], &file.FDEs()[i]
			if a.Start != b.Start+m.bias || a.End != b.End+m.bias || a.Offset != b.Offset {
				t.Fatalf("%s: 0x%x-0x%x, want 0x%x-0x%x", name, a.Start, a.End, b.Start, b.End)
			}
			ra, rb := rowsOf(t, a), rowsOf(t, b)
			if len(ra) != len(rb) {
				t.Errorf("%s: rows of 0x%x differ", name, a.Start)
			}
		}
		if d, ok := f.Find(f.FDEs()[3].End - 1); !ok || d != &f.FDEs()[3] {
			t.Error("Find fails")
		}

		// A page of .eh_frame is missing: what comes before it is found.
		frames := f.FDEs()[0].CIE.Section
		m.missing[(frames.Addr+uint64(len(frames.Data)))&^0xfff] = true
		if (frames.Addr+uint64(len(frames.Data)))&^0xfff != m.file.segments[0].vaddr+m.bias {
			if g, err := OpenImage(m, base); err != nil || g.Len() >= f.Len() {
				t.Errorf("%s: %d FDEs, %v", name, g.Len(), err)
			}
		}
	}
	m := loaded(t, "testdata/tower-x86_64.gz", 0x10000)
	for _, base := range []uint64{0, 0x11000, 1 << 40} {
		if _, err := OpenImage(m, base); err == nil {
			t.Errorf("there is no image at 0x%x", base)
		}
	}
}

// elfSection is one section of a built ELF file.
type elfSection struct {
	name  string
	typ   elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	data  []byte
	align uint64
	link  uint32
	info  uint32
}

// buildELF writes an ELF file of sections. The string table is section 1, the given ones follow from 2 on.
func buildELF(word int, big bool, machine elf.Machine, typ elf.Type, sections []elfSection) []byte {
	a := &asm{word: word, big: big}
	class, order := elf.ELFCLASS32, elf.ELFDATA2LSB
	if word == 8 {
		class = elf.ELFCLASS64
	}
	if big {
		order = elf.ELFDATA2MSB
	}
	a.u8([]byte(elf.ELFMAG)...).u8(byte(class), byte(order), 1).u8(make([]byte, 9)...)
	names := []byte{0}
	all := []elfSection{{}, {name: ".shstrtab", typ: elf.SHT_STRTAB}}
	all = append(all, sections...)
	var nameAt []uint32
	for _, s := range all {
		nameAt = append(nameAt, uint32(len(names)))
		names = append(append(names, s.name...), 0)
	}
	all[1].data = names
	head := 40 + 3*word
	at := head
	var offsets []int
	for _, s := range all {
		offsets = append(offsets, at)
		at += len(s.data)
	}
	a.u16(uint16(typ)).u16(uint16(machine)).u32(1).addr(0).addr(0).addr(uint64(at)).u32(0).u16(uint16(head))
	a.u16(uint16(8 + 6*word)).u16(0).u16(uint16(16 + 6*word)).u16(uint16(len(all))).u16(1)
	for _, s := range all {
		a.u8(s.data...)
	}
	for i, s := range all {
		a.u32(nameAt[i]).u32(uint32(s.typ)).addr(uint64(s.flags)).addr(s.addr).addr(uint64(offsets[i]))
		a.addr(uint64(len(s.data))).u32(s.link).u32(s.info).addr(s.align).addr(0)
	}
	return a.b
}

// debugFrames gives a .debug_frame with one FDE at 0x1000.
func debugFrames(word int, big bool) []byte {
	s := &frames{asm: asm{word: word, big: big}, debug: true}
	s.plain(s.cie(cieSpec{version: 4, program: op(cfaDefCFA, 13, 0)}), 0x1000, 0x100)
	return s.b
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// stored is b as a zstd frame of one raw block.
func stored(b []byte) []byte {
	out := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x60} // two-byte content size, no window
	out = binary.LittleEndian.AppendUint16(out, uint16(len(b)-256))
	head := uint32(len(b))<<3 | 1
	return append(append(out, byte(head), byte(head>>8), byte(head>>16)), b...)
}

func compressionHeader(word int, big bool, typ elf.CompressionType, size uint64) []byte {
	a := &asm{word: word, big: big}
	a.u32(uint32(typ))
	if word == 8 {
		a.u32(0)
	}
	return a.addr(size).addr(1).b
}

func TestCompressedSections(t *testing.T) {
	for i := range 4 {
		word, big := 4+i&2*2, i&1 != 0
		plain := debugFrames(word, big)
		long := append(bytes.Clone(plain), make([]byte, 400)...) // zero lengths are skipped
		size := func(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte("ZLIB"), n) }
		head := func(typ elf.CompressionType, n int) []byte { return compressionHeader(word, big, typ, uint64(n)) }
		for _, test := range []struct {
			name    string
			section elfSection
			fdes    int
			problem string
		}{
			{"plain", elfSection{name: ".debug_frame", data: plain}, 1, ""},
			{"zlib", elfSection{name: ".debug_frame", flags: elf.SHF_COMPRESSED,
				data: join(head(elf.COMPRESS_ZLIB, len(plain)), deflated(plain))}, 1, ""},
			{"zstd", elfSection{name: ".debug_frame", flags: elf.SHF_COMPRESSED,
				data: join(head(elf.COMPRESS_ZSTD, len(long)), stored(long))}, 1, ""},
			{"gnu", elfSection{name: ".zdebug_frame", data: join(size(uint64(len(plain))), deflated(plain))}, 1, ""},
			{"claims less", elfSection{name: ".zdebug_frame", data: join(size(4), deflated(plain))}, 0, ""},
			{"claims more", elfSection{name: ".zdebug_frame", data: join(size(uint64(len(plain)+1)), deflated(plain))}, 0,
				"instead of"},
			{"claims far too much", elfSection{name: ".zdebug_frame", data: join(size(1<<62), deflated(plain))}, 0,
				"more than is read"},
			{"no header", elfSection{name: ".zdebug_frame", data: plain[:8]}, 0, "no ZLIB header"},
			{"cut header", elfSection{name: ".debug_frame", flags: elf.SHF_COMPRESSED, data: plain[:8]}, 0, "cut off"},
			{"unknown", elfSection{name: ".debug_frame", flags: elf.SHF_COMPRESSED, data: head(77, 1)}, 0, "not known"},
			{"damaged", elfSection{name: ".debug_frame", flags: elf.SHF_COMPRESSED,
				data: join(head(elf.COMPRESS_ZLIB, len(plain)), []byte("nonsense"))}, 0, "zlib"},
			{"damaged zstd", elfSection{name: ".debug_frame", flags: elf.SHF_COMPRESSED,
				data: join(head(elf.COMPRESS_ZSTD, len(plain)), []byte("nonsense"))}, 0, "zstd"},
		} {
			test.section.typ = elf.SHT_PROGBITS
			f, err := Open(buildELF(word, big, elf.EM_386, elf.ET_EXEC, []elfSection{test.section}))
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(f.Problems())
			if test.name == "claims less" { // four bytes of it are a cut entry
				test.problem = "beyond the section"
			}
			if f.Len() != test.fdes || test.problem == "" && f.ProblemCount() != 0 || !strings.Contains(text, test.problem) {
				t.Errorf("%s, word %d, big %t: %d FDEs, %s", test.name, word, big, f.Len(), text)
			}
			if f.Len() == 1 {
				wantLines(t, rowsOf(t, &f.FDEs()[0]), "1000 r13+0")
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	data := unpacked(t, "testdata/tower-x86_64.gz")
	for _, n := range []int{0, 3, 4, 15, 16, 20, 63} {
		if _, err := Open(data[:n]); err == nil {
			t.Errorf("%d bytes are no ELF file", n)
		}
	}
	for at, v := range map[int]byte{0: 0, elf.EI_CLASS: 3, elf.EI_DATA: 0} {
		bad := bytes.Clone(data)
		bad[at] = v
		if _, err := Open(bad); err == nil {
			t.Errorf("byte %d = %d is no ELF file", at, v)
		}
	}
	if _, err := OpenSections(Layout{Word: 2}); err == nil {
		t.Error("2-byte addresses")
	}
	// Cut anywhere, it must say so or read what is there.
	whole, _ := Open(data)
	for n := 64; n < len(data); n += 997 {
		f, err := Open(data[:n])
		if err != nil {
			t.Fatal(err)
		}
		if f.ProblemCount() == 0 && f.Len() != whole.Len() {
			t.Errorf("%d of %d bytes: %d FDEs and no problem", n, len(data), f.Len())
		}
	}
	// Sections may not share what they hold: reading them would take forever.
	s := elfSection{name: ".debug_frame", typ: elf.SHT_PROGBITS, data: debugFrames(8, false)}
	many := buildELF(8, false, elf.EM_X86_64, elf.ET_EXEC, slices.Repeat([]elfSection{s}, 40))
	shoff := binary.LittleEndian.Uint64(many[40:])
	for i := range uint64(40) { // each gets all the file
		h := many[shoff+(2+i)*64:]
		binary.LittleEndian.PutUint64(h[24:], 0)
		binary.LittleEndian.PutUint64(h[32:], uint64(len(many)))
	}
	if f, err := Open(many); err != nil || len(f.sections) > 1 || !strings.Contains(fmt.Sprint(f.Problems()), "overlap") {
		t.Errorf("%v %v", err, f.Problems())
	}
}

func TestNoFrames(t *testing.T) {
	f, err := Open(buildELF(8, false, elf.EM_X86_64, elf.ET_EXEC, nil))
	if err != nil || f.Len() != 0 || f.ProblemCount() != 0 {
		t.Errorf("%v %v", err, f.Problems())
	}
	if _, ok := f.Find(0x1000); ok {
		t.Error("found")
	}
	// A file of debug information alone has the headers of what it does not hold.
	s := []elfSection{{name: ".eh_frame", typ: elf.SHT_NOBITS}, {name: ".eh_frame_hdr", typ: elf.SHT_NOBITS},
		{name: ".debug_frame", typ: elf.SHT_PROGBITS, data: debugFrames(8, false)}}
	b := buildELF(8, false, elf.EM_X86_64, elf.ET_DYN, s)
	f, err = Open(b)
	if err != nil || f.Len() != 1 || f.ProblemCount() != 0 {
		t.Errorf("%v %v", err, f.Problems())
	}
}

// header builds .eh_frame_hdr for FDEs of absolute addresses.
func header(at, frames uint64, entries ...[2]uint64) []byte {
	a := asm{}
	a.u8(1, pePCRel|peSdata4, peUdata4, peDataRel|peSdata4)
	a.u32(uint32(frames - at - 4)).u32(uint32(len(entries)))
	for _, e := range entries {
		a.u32(uint32(e[0] - at)).u32(uint32(e[1] - at))
	}
	return a.b
}

func TestHeader(t *testing.T) {
	const hdrAt, framesAt = 0x8000, 0x9000
	s := &frames{asm: asm{word: 8}, at: framesAt}
	cie := s.cie(cieSpec{program: op(cfaDefCFA, 7, 8)})
	var good [][2]uint64
	for _, start := range []uint64{0x1000, 0x3000, 0x2000} {
		good = append(good, [2]uint64{start, framesAt + uint64(s.plain(cie, start, 0x100))})
	}
	s.plain(cie, 0x2500, 0) // needs no entry
	good[1], good[2] = good[2], good[1]
	for _, test := range []struct {
		name                  string
		hdr                   []byte
		count                 uint64
		entries, ok, problems int
		text                  string
	}{
		{"good", header(hdrAt, framesAt, good...), 3, 3, 3, 0, ""},
		{"one missing", header(hdrAt, framesAt, good[0], good[2]), 2, 2, 2, 1, "no entry leads to the FDE of 0x2000"},
		{"not sorted", header(hdrAt, framesAt, good[0], good[2], good[1]), 3, 3, 3, 1, "not sorted"},
		{"wrong FDE", header(hdrAt, framesAt, good[0], [2]uint64{0x2000, good[0][1]}, good[2]), 3, 3, 2, 2,
			"no FDE of 0x2000"},
		{"wrong start", header(hdrAt, framesAt, good[0], [2]uint64{0x2001, good[1][1]}, good[2]), 3, 3, 2, 2,
			"no FDE of 0x2001"},
		{"cut", header(hdrAt, framesAt, good...)[:25], 3, 1, 1, 1, "cut off after 1"},
		{"wrong section", header(hdrAt, framesAt+8, good...), 3, 0, 0, 1, "no .eh_frame is at"},
		{"empty", nil, 0, 0, 0, 1, "too few"},
		{"short", []byte{1, 0x1b, 3, 0x3b, 0}, 0, 0, 0, 1, "cut off"},
		{"version", []byte{2, 0x1b, 3, 0x3b, 0, 0, 0, 0}, 0, 0, 0, 1, "version 2"},
		{"encoding", []byte{1, 0x60, 3, 0x3b, 0, 0, 0, 0}, 0, 0, 0, 1, "not defined"},
		{"indirect", []byte{1, 0x9b, 3, 0x3b, 0, 0, 0, 0}, 0, 0, 0, 1, "not available"},
		{"no table", append([]byte{1, 0x1b, 0xff, 0xff}, header(hdrAt, framesAt)[4:]...), 0, 0, 0, 0, ""},
		{"table encoding", append([]byte{1, 0x1b, 3, 0x31}, header(hdrAt, framesAt, good...)[4:]...), 3, 0, 0, 1,
			"be searched"},
	} {
		f, err := OpenSections(Layout{Machine: elf.EM_X86_64, Word: 8}, s.section(),
			Section{Name: ".eh_frame_hdr", Addr: hdrAt, Data: test.hdr})
		if err != nil {
			t.Fatal(err)
		}
		h := f.Header()
		text := fmt.Sprint(f.Problems())
		if h == nil || h.Count != test.count || h.Entries != test.entries || h.Good != test.ok ||
			f.ProblemCount() != test.problems || !strings.Contains(text, test.text) || f.Len() != 4 {
			t.Errorf("%s: %+v %s", test.name, h, text)
		}
	}
}

func TestRelocations(t *testing.T) {
	for _, test := range []struct {
		machine  elf.Machine
		word     int
		big      bool
		rela     bool
		pc, abs  uint32 // relocation types
		wide     bool   // the absolute one has 8 bytes
		unwanted uint32
	}{
		{elf.EM_X86_64, 8, false, true, uint32(elf.R_X86_64_PC32), uint32(elf.R_X86_64_64), true, 99},
		{elf.EM_386, 4, false, false, uint32(elf.R_386_PC32), uint32(elf.R_386_32), false, 99},
		{elf.EM_AARCH64, 8, false, true, uint32(elf.R_AARCH64_PREL32), uint32(elf.R_AARCH64_ABS64), true, 99},
		{elf.EM_AARCH64, 8, true, true, uint32(elf.R_AARCH64_PREL32), uint32(elf.R_AARCH64_ABS64), true, 99},
		{elf.EM_S390, 8, true, true, uint32(elf.R_390_PC32), uint32(elf.R_390_64), true, 99},
	} {
		rel := &asm{word: test.word, big: test.big}
		debugRel := &asm{word: test.word, big: test.big}
		add := func(a *asm, at int, symbol, typ uint32, addend int) {
			a.addr(uint64(at))
			if test.word == 8 {
				a.addr(uint64(symbol)<<32 | uint64(typ))
			} else {
				a.addr(uint64(symbol<<8 | typ))
			}
			if test.rela {
				a.addr(uint64(addend))
			}
		}
		inPlace := func(addend int) uint64 { // REL keeps the addend in the field
			if test.rela {
				return 0xeeeeeeeeeeeeeeee
			}
			return uint64(addend)
		}
		eh := &frames{asm: asm{word: test.word, big: test.big}}
		cie := eh.cie(cieSpec{aug: "zR", data: func(a *asm) { a.u8(pePCRel | peSdata4) }, program: op(cfaDefCFA, 7, 8)})
		for i := range 2 {
			eh.fde(cie, func(a *asm) {
				add(rel, a.pos(), uint32(1+i), test.pc, 0x10)
				a.u32(uint32(inPlace(0x10))).u32(0x20).u8(0)
			})
		}
		dbg := &frames{asm: asm{word: test.word, big: test.big}, debug: true}
		cie = dbg.cie(cieSpec{program: op(cfaDefCFA, 7, 8)})
		dbg.fde(cie, func(a *asm) {
			add(debugRel, a.pos(), 2, test.abs, 0x40)
			a.addr(inPlace(0x40)).addr(0x20)
		})
		add(debugRel, 0, 0, 0, 0)             // none
		add(debugRel, 4, 1, test.unwanted, 0) // not known
		add(debugRel, 1<<20, 1, test.abs, 0)  // beyond the section
		add(debugRel, 4, 99, test.abs, 0)     // no such symbol
		symbols := &asm{word: test.word, big: test.big}
		for _, s := range []struct {
			section uint16
			value   uint64
		}{{0, 0}, {2, 0x100}, {3, 0x200}} {
			if test.word == 8 {
				symbols.u32(0).u8(0, 0).u16(s.section).u64(s.value).u64(0)
			} else {
				symbols.u32(0).u32(uint32(s.value)).u32(0).u8(0, 0).u16(s.section)
			}
		}
		relType := elf.SHT_REL
		if test.rela {
			relType = elf.SHT_RELA
		}
		exec := elf.SHF_ALLOC | elf.SHF_EXECINSTR
		data := buildELF(test.word, test.big, test.machine, elf.ET_REL, []elfSection{
			{name: ".text", typ: elf.SHT_PROGBITS, flags: exec, data: make([]byte, 0x1001), align: 16},
			{name: ".text.other", typ: elf.SHT_PROGBITS, flags: exec, data: make([]byte, 0x1000), align: 16},
			{name: ".eh_frame", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, data: eh.b, align: 8},
			{name: ".debug_frame", typ: elf.SHT_PROGBITS, data: dbg.b, align: 8},
			{name: ".rel.eh_frame", typ: relType, data: rel.b, link: 8, info: 4},
			{name: ".rel.debug_frame", typ: relType, data: debugRel.b, link: 8, info: 5},
			{name: ".symtab", typ: elf.SHT_SYMTAB, data: symbols.b},
		})
		f, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if f.ProblemCount() != 3 || f.Problems()[0].Kind != BadRelocation {
			t.Errorf("%s: %v", test.machine, f.Problems())
		}
		want := []uint64{0x110, 0x1010 + 0x210, 0x1010 + 0x240}
		if f.Len() != 3 || !f.Relocatable() {
			t.Fatalf("%s: %d FDEs", test.machine, f.Len())
		}
		for i, w := range want {
			if d := &f.FDEs()[i]; d.Start != w || d.End != w+0x20 {
				t.Errorf("%s: FDE of 0x%x-0x%x, want 0x%x", test.machine, d.Start, d.End, w)
			}
		}
		p, ok := f.PlacedAt(want[1])
		if !ok || p.Name != ".text.other" || p.Index != 3 || p.Addr != 0x1010 || !p.Exec || len(f.Placed()) != 3 {
			t.Errorf("%s: %+v", test.machine, f.Placed())
		}
		if _, ok := f.PlacedAt(1 << 40); ok {
			t.Error("found nothing")
		}
	}
	data := buildELF(8, false, elf.EM_RISCV, elf.ET_REL, []elfSection{
		{name: ".eh_frame", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, data: debugFrames(8, false)},
		{name: ".rela.eh_frame", typ: elf.SHT_RELA, data: make([]byte, 24), info: 2}})
	if f, err := Open(data); err != nil || !strings.Contains(fmt.Sprint(f.Problems()), "EM_RISCV are not applied") {
		t.Errorf("%v %v", err, f.Problems())
	}
}

// Addresses of functions and those of FDEs agree.
func TestSymbols(t *testing.T) {
	for _, name := range binaries(t) {
		data := unpacked(t, name)
		f, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if n := compareSymbols(t, name, data, f); n == 0 && !f.Relocatable() {
			t.Errorf("%s: no functions", name)
		}
	}
}

// compareSymbols holds the FDEs against the functions of the symbol table and returns how many it compared.
func compareSymbols(t testing.TB, name string, data []byte, f *File) int {
	t.Helper()
	std, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return 0
	}
	symbols, _ := std.Symbols()
	n := 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 || int(s.Section) >= len(std.Sections) || s.Section == 0 {
			continue
		}
		start := s.Value
		if std.Machine == elf.EM_ARM {
			start &^= 1
		}
		for _, p := range f.Placed() {
			if p.Index == int(s.Section) {
				start += p.Addr
			}
		}
		d, ok := f.Find(start)
		if !ok {
			continue // assembly without call frame information
		}
		n++
		if d.Start != start || d.End != start+s.Size {
			t.Errorf("%s: %s is 0x%x-0x%x, its FDE 0x%x-0x%x", name, s.Name, start, start+s.Size, d.Start, d.End)
		}
	}
	return n
}

// unendedImage is the image of a program whose linker put no terminator behind .eh_frame, so that what follows would be
// taken for entries.
func unendedImage(base uint64) (image []byte, fdes int) {
	const hdrAt, framesAt = 0x100, 0x200
	s := &frames{asm: asm{word: 8}, at: base + framesAt}
	cie := s.cie(cieSpec{program: op(cfaDefCFA, 7, 8)})
	var entries [][2]uint64
	for i := range uint64(4) {
		entries = append(entries, [2]uint64{base + 0x1000 + 0x100*i, s.at + uint64(s.plain(cie, base+0x1000+0x100*i, 0x80))})
	}
	s.plain(cie, 0x777777, 0x80) // something that looks like an FDE
	a := &asm{word: 8}
	a.u8([]byte(elf.ELFMAG)...).u8(2, 1, 1).u8(make([]byte, 9)...)
	a.u16(uint16(elf.ET_DYN)).u16(uint16(elf.EM_X86_64)).u32(1).u64(0).u64(64).u64(0).u32(0).u16(64).u16(56).u16(2)
	a.u16(0).u16(0).u16(0)
	hdr := header(base+hdrAt, s.at, entries...)
	for _, p := range []struct {
		typ      elf.ProgType
		at, size uint64
	}{{elf.PT_LOAD, 0, 0x2000}, {elf.PT_GNU_EH_FRAME, hdrAt, uint64(len(hdr))}} {
		a.u32(uint32(p.typ)).u32(5).u64(p.at).u64(p.at).u64(p.at).u64(p.size).u64(p.size).u64(1)
	}
	image = make([]byte, 0x2000)
	copy(image, a.b)
	copy(image[hdrAt:], hdr)
	copy(image[framesAt:], s.b)
	return image, len(entries)
}

func TestImageWithoutTerminator(t *testing.T) {
	image, fdes := unendedImage(0x10000)
	f, err := OpenImage(flat(image), 0x10000)
	if err != nil {
		t.Fatal(err)
	}
	noProblems(t, f)
	if f.Len() != fdes || f.Header().Good != fdes {
		t.Errorf("%d FDEs, %+v", f.Len(), f.Header())
	}
	if _, ok := f.Find(0x777780); ok {
		t.Error("what follows .eh_frame was read")
	}
}
