package sframe

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// elfSection is a section of a file made for a test.
type elfSection struct {
	name       string
	typ        elf.SectionType
	flags      elf.SectionFlag
	addr       uint64
	link, info uint32
	data       []byte
}

// makeELF makes an ELF64 file with section headers; the names' section is added at the end.
func makeELF(typ elf.Type, machine elf.Machine, order binary.ByteOrder, sections ...elfSection) []byte {
	names := []byte{0}
	sections = append([]elfSection{{}}, append(sections, elfSection{name: ".shstrtab", typ: elf.SHT_STRTAB})...)
	var body []byte
	var headers []elf.Section64
	for i := range sections {
		s := &sections[i]
		h := elf.Section64{Type: uint32(s.typ), Flags: uint64(s.flags), Addr: s.addr, Link: s.link, Info: s.info, Addralign: 1}
		if s.name != "" {
			h.Name = uint32(len(names))
			names = append(append(names, s.name...), 0)
		}
		if i == len(sections)-1 {
			s.data = names
		}
		h.Off, h.Size = 64+uint64(len(body)), uint64(len(s.data))
		body = append(body, s.data...)
		headers = append(headers, h)
	}
	h := elf.Header64{
		Type: uint16(typ), Machine: uint16(machine), Version: 1, Shoff: 64 + uint64(len(body)), Ehsize: 64, Shentsize: 64,
		Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	if order == binary.BigEndian {
		h.Ident[elf.EI_DATA] = byte(elf.ELFDATA2MSB)
	}
	var out bytes.Buffer
	for _, v := range []any{h, body, headers} {
		if err := binary.Write(&out, order, v); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}

func sframeAt(addr uint64) elfSection {
	return elfSection{name: ".sframe", typ: SectionType, flags: elf.SHF_ALLOC, addr: addr, data: handMade}
}

func TestOpenKinds(t *testing.T) {
	named := sframeAt(0x2000)
	named.typ = elf.SHT_PROGBITS
	typed := sframeAt(0x2000)
	typed.name = ".other"
	other := sframeAt(0x12000)
	for _, c := range []struct {
		name     string
		sections []elfSection
		found    int
	}{
		{"none", nil, 0},
		{"by name", []elfSection{named}, 1},
		{"by type", []elfSection{typed}, 1},
		{"two", []elfSection{named, other}, 2},
	} {
		f, err := Open(makeELF(elf.ET_DYN, elf.EM_X86_64, binary.LittleEndian, c.sections...))
		if err != nil || len(f.Problems()) > 0 || len(f.Sections) != c.found {
			t.Errorf("%s: %v %v %d sections", c.name, err, f.Problems(), len(f.Sections))
			continue
		}
		if _, ok := f.Find(0x1000); ok != (c.found > 0) {
			t.Errorf("%s: found %v", c.name, ok)
		}
		if d, ok := f.Find(0x11005); ok != (c.found > 1) || ok && d.Section() != f.Sections[1] {
			t.Errorf("%s: second section: %v", c.name, ok)
		}
		if err := List(&bytes.Buffer{}, f); (err == ErrNone) != (c.found == 0) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestOpenProblems(t *testing.T) {
	nobits := sframeAt(0x2000)
	nobits.typ, nobits.data = elf.SHT_NOBITS, nil
	nobits.name = ".sframe"
	for _, c := range []struct {
		name    string
		data    []byte
		problem string
	}{
		{"machine", makeELF(elf.ET_DYN, elf.EM_AARCH64, binary.LittleEndian, sframeAt(0)), "ABI amd64 in a file for EM_AARCH64"},
		{"order", makeELF(elf.ET_DYN, elf.EM_X86_64, binary.BigEndian, sframeAt(0)), "byte order is not the file's"},
		{"no content", makeELF(elf.ET_DYN, elf.EM_X86_64, binary.LittleEndian, nobits), "no content"},
	} {
		f, err := Open(c.data)
		if err != nil || len(f.Sections) != 1 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text := fmt.Sprint(f.Sections[0].Err, f.Sections[0].Check()); !strings.Contains(text, c.problem) {
			t.Errorf("%s: %s", c.name, text)
		}
		exercise(t, f)
	}
	for _, data := range []string{"", "\x7fEL", "\x7fELF\x02\x01", "\x7fELF\x03\x01" + strings.Repeat("\x00", 60)} {
		if _, err := Open([]byte(data)); err == nil {
			t.Errorf("%q is an ELF file", data)
		}
	}
}

func TestCompressed(t *testing.T) {
	chdr := func(typ elf.CompressionType, size uint64) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(typ))
		b = binary.LittleEndian.AppendUint64(append(b, 0, 0, 0, 0), size)
		return binary.LittleEndian.AppendUint64(b, 1)
	}
	var deflated bytes.Buffer
	z := zlib.NewWriter(&deflated)
	if _, err := z.Write(handMade); err != nil {
		t.Fatal(err)
	}
	z.Close()
	// A frame of one raw block (RFC 8878): single segment, one byte of content size.
	zstd := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(len(handMade))}, byte(len(handMade)<<3|1), byte(len(handMade)>>5), 0)
	zstd = append(zstd, handMade...)
	size := uint64(len(handMade))
	for _, c := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"zlib", append(chdr(elf.COMPRESS_ZLIB, size), deflated.Bytes()...), true},
		{"zstd", append(chdr(elf.COMPRESS_ZSTD, size), zstd...), true},
		{"size too large", append(chdr(elf.COMPRESS_ZLIB, 1<<40), deflated.Bytes()...), false},
		{"size wrong", append(chdr(elf.COMPRESS_ZLIB, size+1), deflated.Bytes()...), false},
		{"size small", append(chdr(elf.COMPRESS_ZLIB, size-1), deflated.Bytes()...), false},
		{"cut", append(chdr(elf.COMPRESS_ZLIB, size), deflated.Bytes()[:20]...), false},
		{"unknown", append(chdr(7, size), handMade...), false},
		{"no header", chdr(elf.COMPRESS_ZLIB, size)[:23], false},
	} {
		s := sframeAt(0x2000)
		s.flags = elf.SHF_COMPRESSED // sections that are loaded cannot be compressed
		s.data = c.data
		f, err := Open(makeELF(elf.ET_DYN, elf.EM_X86_64, binary.LittleEndian, s))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := f.Sections[0]
		if c.ok != (got.Err == nil && bytes.Equal(got.Data, handMade)) || !c.ok && got.Err.Kind != BadCompression {
			t.Errorf("%s: %v", c.name, got.Err)
		}
		exercise(t, f)
	}
}

// TestRelocations makes an object file whose functions are in two sections.
func TestRelocations(t *testing.T) {
	table := &Table{Version: 2, ABI: AMD64, FixedRA: -8, RawStarts: true}
	for range 4 {
		table.Functions = append(table.Functions, Function{Size: 0x10, Rows: []TableRow{{0, rowInfoBase, []int32{8}}}})
	}
	content, err := Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	rela := func(at uint64, sym, typ uint32, addend int64) []byte {
		b := binary.LittleEndian.AppendUint64(nil, at)
		b = binary.LittleEndian.AppendUint64(b, uint64(sym)<<32|uint64(typ))
		return binary.LittleEndian.AppendUint64(b, uint64(addend))
	}
	symbol := func(section uint16, value uint64) []byte {
		b := binary.LittleEndian.AppendUint16([]byte{0, 0, 0, 0, 0, 0}, section)
		return append(binary.LittleEndian.AppendUint64(b, value), make([]byte, 8)...)
	}
	relocations := bytes.Join([][]byte{
		rela(28+20*2, 2, uint32(elf.R_X86_64_PC32), 0x30),
		rela(28, 1, uint32(elf.R_X86_64_PC32), 0x20),
		rela(28+20, 3, uint32(elf.R_X86_64_PC32), -4),
		rela(28+60, 0, uint32(elf.R_X86_64_NONE), 0),
		rela(28+60, 1, uint32(elf.R_X86_64_GOTPCREL), 0),
		rela(1<<40, 1, uint32(elf.R_X86_64_PC32), 0),
		rela(28+60, 99, uint32(elf.R_X86_64_PC32), 0),
	}, nil)
	code := elfSection{name: ".text", typ: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, data: make([]byte, 0x40)}
	cold := code
	cold.name = ".text.cold"
	f, err := Open(makeELF(elf.ET_REL, elf.EM_X86_64, binary.LittleEndian,
		code, cold, // 1, 2
		elfSection{name: ".sframe", typ: SectionType, flags: elf.SHF_ALLOC, data: content}, // 3
		elfSection{name: ".rela.sframe", typ: elf.SHT_RELA, link: 5, info: 3, data: relocations},
		elfSection{name: ".symtab", typ: elf.SHT_SYMTAB, data: bytes.Join([][]byte{
			symbol(0, 0), symbol(1, 0), symbol(2, 0), symbol(2, 8)}, nil)},
	))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Sections[0]
	for i, want := range []struct {
		start, target uint64
		section       int
	}{{0x20, 0x20, 1}, {0x44, 4, 2}, {0x70, 0x30, 2}} {
		d := s.FDE(i)
		r, ok := d.Reloc()
		if d.Start != want.start || !ok || !r.Applied || r.Target != want.target || r.Section != want.section {
			t.Errorf("function %d at 0x%x: %+v", i, d.Start, r)
		}
		if found, ok := f.Find(want.start + 15); !ok || found.Index != i {
			t.Errorf("0x%x found in %d: %v", want.start+15, found.Index, ok)
		}
	}
	d := s.FDE(3)
	if r, ok := d.Reloc(); ok && r.Applied {
		t.Errorf("a relocation that cannot be applied was: %+v", r)
	}
	if p := f.Problems(); len(p) != 3 {
		t.Errorf("problems: %v", p)
	}
	if p := f.Placed(); len(p) != 3 || p[1].Name != ".text.cold" || p[1].Addr != 0x40 || !p[1].Exec || p[2].Exec {
		t.Errorf("placed: %+v", p)
	}
	if out, err := s.Table(); err != nil {
		t.Error(err)
	} else if b, err := Encode(out); err != nil || !bytes.Equal(b, content) {
		t.Errorf("does not come out the same: %v", err)
	}
	exercise(t, f)
}

// TestSegmentAlone takes the section headers away from a linked file.
func TestSegmentAlone(t *testing.T) {
	data := readFile(t, filepath.Join("testdata", "v3-amd64-cfi"))
	var whole, alone bytes.Buffer
	if err := List(&whole, open(t, "whole", data)); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(data[40:], 0) // e_shoff
	f := open(t, "alone", data)
	if len(f.Sections) != 1 || f.Sections[0].Segment == nil || f.Sections[0].ELF != nil {
		t.Fatalf("%+v", f.Sections)
	}
	if err := List(&alone, f); err != nil || !bytes.Equal(whole.Bytes(), alone.Bytes()) {
		t.Errorf("%v: %s", err, firstDifference(alone.Bytes(), whole.Bytes()))
	}
}

// imageMemory maps a file's segments as a loader does, except for pages that are missing.
type imageMemory struct {
	data    []byte
	base    uint64
	missing uint64 // from this address on
}

func (m *imageMemory) Bytes(addr uint64, n int) ([]byte, bool) {
	std, err := elf.NewFile(bytes.NewReader(m.data))
	if err != nil {
		return nil, false
	}
	for _, p := range std.Progs {
		if p.Type != elf.PT_LOAD || addr < m.base+p.Vaddr {
			continue
		}
		at := addr - m.base - p.Vaddr
		if m.missing != 0 && addr+uint64(n) > m.missing || at > p.Filesz || uint64(n) > p.Filesz-at {
			continue
		}
		return m.data[p.Off+at:][:n], true
	}
	return nil, false
}

func TestOpenImage(t *testing.T) {
	data := readFile(t, filepath.Join("testdata", "v3-amd64-mix-O2"))
	linked := open(t, "linked", data)
	const base = 0x7f0000000000
	mem := &imageMemory{data: data, base: base}
	f, err := OpenImage(mem, base)
	if err != nil || len(f.Sections) != 1 || f.Base() != base || linked.Base() != 0 {
		t.Fatalf("%v %+v", err, f)
	}
	if p := f.Sections[0].Check(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	for i := range linked.Sections[0].Len() {
		a, b := linked.Sections[0].FDE(i), f.Sections[0].FDE(i)
		if d, ok := f.Find(base + a.Start); !ok || d.Start != b.Start || b.Start != base+a.Start {
			t.Errorf("function %d at 0x%x, linked at 0x%x", i, b.Start, a.Start)
		}
	}
	// The segment is larger than the section; what is behind the section may not be there.
	s := f.Sections[0]
	mem.missing = s.Addr + uint64(s.End())
	if f, err = OpenImage(mem, base); err != nil || f.Sections[0].Len() != s.Len() || f.Sections[0].Err != nil {
		t.Errorf("without the rest of the segment: %v %+v", err, f)
	}
	mem.missing = s.Addr + 28
	if f, err = OpenImage(mem, base); err != nil || f.Sections[0].Len() != 0 {
		t.Errorf("without the section: %v", err)
	}
	mem.missing = base + 63
	if _, err = OpenImage(mem, base); err == nil {
		t.Error("an image without its header")
	}
}
