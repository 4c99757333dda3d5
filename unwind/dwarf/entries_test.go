package dwarf

import (
	"debug/elf"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func hex(v uint64) string { return strconv.FormatUint(v, 16) }

// parseHex reads the number at the beginning of a line.
func parseHex(t testing.TB, line string) uint64 {
	t.Helper()
	first, _, _ := strings.Cut(line, " ")
	v, err := strconv.ParseUint(first, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVersions(t *testing.T) {
	for _, version := range []byte{1, 3, 4} {
		eachLayout(t, func(t *testing.T, s *frames) {
			s.plain(s.cie(cieSpec{version: version, ra: 77, code: 200, align: 100, program: op(cfaDefCFA, 1, 2)}),
				0x1000, 0x10)
			f := s.open(t, elf.EM_386)
			noProblems(t, f)
			c := f.CIEs()[0]
			if c.Version != int(version) || c.RAReg != 77 || c.CodeAlign != 200 || c.DataAlign != 100 ||
				c.DWARF64 != s.wide || c.AddressSize != s.word || c.Section.Debug != s.debug {
				t.Errorf("%+v", c)
			}
			wantLines(t, rowsOf(t, &f.FDEs()[0]), "1000 r1+2")
		})
	}
	// Version 1 has one byte for the return address column, later ones a LEB128 number.
	s := &frames{asm: asm{word: 8}}
	s.plain(s.cie(cieSpec{version: 1, ra: 0x90, program: op(cfaDefCFA, 1, 2)}), 0x1000, 0x10)
	s.plain(s.cie(cieSpec{version: 3, ra: 0x1234, program: op(cfaDefCFA, 1, 2)}), 0x2000, 0x10)
	f := s.open(t, elf.EM_386)
	noProblems(t, f)
	if f.CIEs()[0].RAReg != 0x90 || f.CIEs()[1].RAReg != 0x1234 {
		t.Errorf("%d, %d", f.CIEs()[0].RAReg, f.CIEs()[1].RAReg)
	}
}

func TestAddressAndSegmentSizes(t *testing.T) {
	for _, seg := range []byte{0, 1, 2, 4, 8} {
		for _, size := range []byte{2, 4, 8} {
			s := &frames{asm: asm{word: 8, big: true}, debug: true}
			cie := s.cie(cieSpec{version: 4, addrSize: size, seg: seg, program: op(cfaDefCFA, 1, 2)})
			s.fde(cie, func(a *asm) {
				a.u8(make([]byte, seg)...).uint(0x1000, int(size)).uint(0x10, int(size))
				a.u8(cfaSetLoc).u8(make([]byte, seg)...).uint(0x1008, int(size)).u8(op(cfaDefCFAOffset, 9)...)
			})
			f := s.open(t, elf.EM_386)
			noProblems(t, f)
			if f.Len() != 1 || f.FDEs()[0].End != 0x1010 {
				t.Fatalf("segments of %d, addresses of %d: %+v", seg, size, f.FDEs())
			}
			wantLines(t, rowsOf(t, &f.FDEs()[0]), "1000 r1+2", "1008 r1+9")
		}
	}
	for _, c := range []cieSpec{{version: 4, addrSize: 3}, {version: 4, seg: 9}, {version: 2}, {version: 5}} {
		s := &frames{asm: asm{word: 8}, debug: true}
		s.plain(s.cie(c), 0x1000, 0x10)
		f := s.open(t, elf.EM_386)
		if f.Len() != 0 || len(f.Problems()) != 1 || f.Problems()[0].Kind != BadCIE {
			t.Errorf("%+v: %d FDEs, %v", c, f.Len(), f.Problems())
		}
	}
}

// pages is a memory of single values.
type pages map[uint64][]byte

func (p pages) Bytes(addr uint64, n int) ([]byte, bool) {
	b := p[addr]
	return b, len(b) == n && n > 0
}

// writePointer writes a value in the format of an encoding.
func writePointer(a *asm, v uint64, enc byte) {
	switch enc & 0x0f {
	case peULEB128:
		a.uleb(mask(v, a.word))
	case peSLEB128:
		a.sleb(int64(v))
	case peUdata2, peSdata2:
		a.u16(uint16(v))
	case peUdata4, peSdata4:
		a.u32(uint32(v))
	case peUdata8, peSdata8:
		a.u64(v)
	default:
		a.addr(v)
	}
}

// testPointer builds an FDE whose start has the encoding, and reads it back.
func testPointer(t *testing.T, enc byte, word int, big bool, start uint64) {
	l := Layout{Word: word, BigEndian: big, TextBase: 0x11000, DataBase: 0x11800}
	s := &frames{asm: asm{word: word, big: big}, at: 0x12000}
	value := start
	if enc&peIndirect != 0 {
		value += 0x40 // where the start is stored
	}
	cie := s.cie(cieSpec{aug: "zR", data: func(a *asm) { a.u8(enc) }, program: op(cfaDefCFA, 1, 2)})
	encoded := func(a *asm, v uint64) {
		switch enc & 0x70 {
		case pePCRel:
			v -= s.at + uint64(a.pos())
		case peTextRel:
			v -= l.TextBase
		case peDataRel:
			v -= l.DataBase
		case peAligned:
			for (s.at+uint64(a.pos()))%uint64(word) != 0 {
				a.u8(0xee)
			}
		}
		writePointer(a, v, enc)
	}
	s.fde(cie, func(a *asm) {
		encoded(a, value)
		writePointer(a, 0x20, enc)
		a.u8(0) // augmentation data
		a.u8(cfaSetLoc)
		if enc&peIndirect != 0 {
			encoded(a, value+0x40)
		} else {
			encoded(a, start+8)
		}
		a.u8(op(cfaDefCFAOffset, 99)...)
	})
	if enc&peIndirect != 0 {
		f, err := OpenSections(l, s.section())
		if err != nil || f.Len() != 0 || !strings.Contains(fmt.Sprint(f.Problems()), "not available") {
			t.Errorf("encoding 0x%02x without memory: %v %v", enc, err, f.Problems())
		}
		l.Memory = pages{value: (&asm{big: big}).uint(start, word).b,
			value + 0x40: (&asm{big: big}).uint(start+8, word).b}
	}
	f, err := OpenSections(l, s.section())
	if err != nil || f.Len() != 1 || f.FDEs()[0].Start != start || f.FDEs()[0].End != start+0x20 {
		t.Errorf("encoding 0x%02x, word %d, big %t: %v %+v %v", enc, word, big, err, f.FDEs(), f.Problems())
		return
	}
	noProblems(t, f)
	wantLines(t, rowsOf(t, &f.FDEs()[0]), hex(start)+" r1+2", hex(start+8)+" r1+99")
}

func TestPointerEncodings(t *testing.T) {
	for i := range 4 {
		word, big := 4+i&2*2, i&1 != 0
		for _, format := range []byte{peAbsptr, peULEB128, peUdata2, peUdata4, peUdata8, peSigned, peSLEB128, peSdata2,
			peSdata4, peSdata8} {
			for _, indirect := range []byte{0, peIndirect} {
				testPointer(t, format|indirect, word, big, 0x2340)
				for _, rel := range []byte{pePCRel, peTextRel, peDataRel} {
					testPointer(t, format|rel|indirect, word, big, 0x12340)
					if format&peSigned != 0 || word == 4 && format == peUdata4 || format == peUdata8 || format == 0 {
						testPointer(t, format|rel|indirect, word, big, 0x10f00) // a negative distance
					}
				}
			}
		}
		testPointer(t, peAligned, word, big, 0x2340)
		testPointer(t, peAligned|peIndirect, word, big, 0x2340)
	}
	for _, enc := range []byte{0x05, 0x0d, 0x60, 0x70, peOmit} {
		s := &frames{asm: asm{word: 8}}
		cie := s.cie(cieSpec{aug: "zR", data: func(a *asm) { a.u8(enc) }, program: op(cfaDefCFA, 1, 2)})
		s.fde(cie, func(a *asm) { a.u64(1).u64(1).u8(0) })
		f := s.open(t, elf.EM_X86_64)
		if f.Len() != 0 || len(f.Problems()) != 1 || f.Problems()[0].Kind != BadFDE {
			t.Errorf("encoding 0x%02x: %v", enc, f.Problems())
		}
	}
}

func TestAugmentations(t *testing.T) {
	s := &frames{asm: asm{word: 8}, at: 0x8000}
	cfa := op(cfaDefCFA, 31, 0)
	full := s.cie(cieSpec{aug: "zPLRSBG", program: cfa, data: func(a *asm) {
		a.u8(peIndirect | pePCRel | peSdata4).u32(0x100).u8(pePCRel | peSdata4).u8(pePCRel | peSdata4)
	}})
	lsda := s.fde(full, func(a *asm) {
		a.u32(uint32(0x1000 - int(s.at) - a.pos())).u32(0x10).u8(4).u32(0x300)
	})
	lsdaAt := uint64(lsda) + 8 + 8 + 1 + 0x300 + s.at
	s.fde(full, func(a *asm) { a.u32(uint32(0x2000 - int(s.at) - a.pos())).u32(0x10).u8(4).u32(0) })
	func1 := s.cie(cieSpec{aug: "zL", program: cfa, data: func(a *asm) { a.u8(peFuncRel | peUdata4) }})
	s.fde(func1, func(a *asm) { a.u64(0x3000).u64(0x10).u8(4).u32(0x44) })
	eh := s.cie(cieSpec{aug: "eh", before: make([]byte, 8), program: cfa})
	s.plain(eh, 0x4000, 0x10)
	newer := s.cie(cieSpec{aug: "zRx", program: cfa, data: func(a *asm) { a.u8(0, 1, 2, 3) }})
	s.fde(newer, func(a *asm) { a.u64(0x5000).u64(0x10).u8(2, 0xee, 0xee) })
	f := s.open(t, elf.EM_AARCH64)
	if len(f.Problems()) != 1 || f.Problems()[0].Kind != BadAugmentation || f.Problems()[0].Offset != uint64(newer) {
		t.Errorf("%v", f.Problems())
	}
	if f.Len() != 5 {
		t.Fatalf("%d FDEs", f.Len())
	}
	for i := range f.FDEs() {
		d := &f.FDEs()[i]
		wantLines(t, rowsOf(t, d), hex(0x1000*uint64(i+1))+" r31+0")
	}
	c := f.CIEs()[0]
	if !c.SignalFrame || !c.BKey || !c.MTE || !c.PersonalityIndirect || c.Personality != s.at+22+0x100 {
		t.Errorf("%+v", c)
	}
	d := f.FDEs()
	if !d[0].HasLSDA || d[0].LSDA != lsdaAt || d[1].HasLSDA || !d[2].HasLSDA || d[2].LSDA != 0x3044 || d[3].HasLSDA {
		t.Errorf("%+v", d)
	}
	if p := f.CIEs()[1]; p.PersonalityEncoding != peOmit || p.LSDAEncoding != peFuncRel|peUdata4 || p.SignalFrame {
		t.Errorf("%+v", p)
	}

	for _, c := range []struct {
		spec   cieSpec
		fdes   int
		reason string
	}{
		{cieSpec{aug: "armcc+"}, 0, "is not known"},
		{cieSpec{aug: "zXR", data: func(a *asm) { a.u8(0, 0) }}, 0, "comes behind"},
		{cieSpec{aug: "zR", data: func(a *asm) {}}, 0, "too short"},
		{cieSpec{aug: "zP", data: func(a *asm) { a.u8(0x60) }}, 0, "personality"},
	} {
		s := &frames{asm: asm{word: 8}}
		s.plain(s.cie(c.spec), 0x1000, 0x10)
		f := s.open(t, elf.EM_AARCH64)
		if f.Len() != c.fdes || !strings.Contains(fmt.Sprint(f.Problems()), c.reason) {
			t.Errorf("%+v: %d FDEs, %v", c.spec, f.Len(), f.Problems())
		}
	}
	// In .debug_frame the range can be told, so that the function is known to have rules, if no readable ones.
	s = &frames{asm: asm{word: 8}, debug: true}
	s.plain(s.cie(cieSpec{aug: "armcc+"}), 0x1000, 0x10)
	f = s.open(t, elf.EM_ARM)
	if d, ok := f.Find(0x1008); !ok || d.Unusable == "" || d.RowAt(0x1008, new(Row)) == nil || f.ProblemCount() != 1 {
		t.Errorf("found %t, %v", ok, f.Problems())
	}
}

func TestSectionErrors(t *testing.T) {
	cfa := op(cfaDefCFA, 7, 8)
	good := func(s *frames) int {
		cie := s.cie(cieSpec{program: cfa})
		s.plain(cie, 0x1000, 0x10)
		return cie
	}
	tests := []struct {
		name  string
		debug bool
		build func(s *frames)
		fdes  int
		kind  ProblemKind // 0: no problem
		text  string
	}{
		{"empty", false, func(s *frames) {}, 0, 0, ""},
		{"terminator", false, func(s *frames) { good(s); s.u32(0) }, 1, 0, ""},
		{"terminator inside", false, func(s *frames) { c := good(s); s.u32(0); s.plain(c, 0x2000, 0x10) }, 2, BadTerminator,
			"follow the zero terminator"},
		{"zero length in .debug_frame", true, func(s *frames) { c := good(s); s.u32(0); s.plain(c, 0x2000, 0x10) }, 2, 0, ""},
		{"cut length", false, func(s *frames) { good(s); s.u8(1, 2) }, 1, BadLength, "within a length"},
		{"cut wide length", false, func(s *frames) { good(s); s.u32(0xffffffff).u32(1) }, 1, BadLength, "within a length"},
		{"reserved", false, func(s *frames) { good(s); s.u32(0xfffffff3).u64(0) }, 1, BadLength, "reserved"},
		{"long", false, func(s *frames) { good(s); s.u32(100).u64(0) }, 1, BadLength, "beyond the section"},
		{"very long", false, func(s *frames) { good(s); s.u32(0xffffffff).u64(1 << 63).u64(0) }, 1, BadLength, "beyond"},
		{"tiny", false, func(s *frames) { good(s); s.u32(2).u16(0) }, 1, BadLength, "too short"},
		{"no CIE", false, func(s *frames) { good(s); s.u32(20).u32(4).u64(0).u64(0) }, 1, BadFDE, "no CIE"},
		{"CIE far away", false, func(s *frames) { good(s); s.u32(20).u32(0x7fffffff).u64(0).u64(0) }, 1, BadFDE, "no CIE"},
		{"FDE as CIE", true, func(s *frames) { s.plain(good(s)+24, 0x2000, 0x10) }, 1, BadFDE, "no CIE"},
		{"FDE first", true, func(s *frames) {
			s.plain(24, 0x2000, 0x10)
			if c := s.cie(cieSpec{program: cfa}); c != 24 {
				panic(c)
			}
		}, 1, 0, ""},
		{"short FDE", false, func(s *frames) { c := good(s); s.fde(c, func(a *asm) { a.u64(0x2000) }) }, 1, BadFDE, "range"},
		{"short CIE", false, func(s *frames) { good(s); s.u32(8).u32(0).u8(1, 0, 1, 0x80) }, 1, BadCIE, "too early"},
		{"unended augmentation", false, func(s *frames) { good(s); s.u32(8).u32(0).u8(1, 'z', 'R', 'x') }, 1, BadCIE,
			"early"},
		{"wide number", false, func(s *frames) {
			good(s)
			s.u32(20).u32(0).u8(1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 1, 1, 0, 0)
		}, 1, BadCIE, "64 bits"},
		{"nothing but an identifier", false, func(s *frames) { good(s); s.u32(4).u32(4).u32(4).u32(100) }, 1,
			BadFDE, "no CIE"},
		{"huge range", false, func(s *frames) { s.plain(good(s), 0x2000, ^uint64(0)) }, 1, BadFDE, "address space"},
		{"overlap", false, func(s *frames) { s.plain(good(s), 0x1008, 0x10) }, 2, BadOrder, "overlaps"},
		{"dropped function", false, func(s *frames) { s.plain(good(s), 0, 0x10) }, 1, 0, ""},
		{"long augmentation data", false, func(s *frames) {
			c := s.cie(cieSpec{aug: "z", data: func(*asm) {}, program: cfa})
			s.plain(c, 0x1000, 0x10, 100)
			s.plain(c, 0x2000, 0x10, 0)
		}, 1, BadFDE, "augmentation data"},
	}
	for _, test := range tests {
		s := &frames{asm: asm{word: 8}, debug: test.debug}
		test.build(s)
		f := s.open(t, elf.EM_X86_64)
		text := fmt.Sprint(f.Problems())
		switch {
		case f.Len() != test.fdes:
			t.Errorf("%s: %d FDEs, %s", test.name, f.Len(), text)
		case test.kind == 0 && f.ProblemCount() != 0:
			t.Errorf("%s: %s", test.name, text)
		case test.kind != 0 && (f.ProblemCount() == 0 || f.Problems()[0].Kind != test.kind ||
			!strings.Contains(text, test.text)):
			t.Errorf("%s: %s, want %q", test.name, text, test.text)
		}
		if test.fdes > 0 {
			for i := range f.FDEs() {
				wantLines(t, rowsOf(t, &f.FDEs()[i]), hex(f.FDEs()[i].Start)+" r7+8")
			}
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	s := &frames{asm: asm{word: 8}}
	for range MaxProblems + 50 {
		s.u32(4).u32(0x7fffffff)
	}
	f := s.open(t, elf.EM_X86_64)
	if len(f.Problems()) != MaxProblems || f.ProblemCount() != MaxProblems+50 {
		t.Errorf("%d of %d", len(f.Problems()), f.ProblemCount())
	}
}

func TestFind(t *testing.T) {
	eh := &frames{asm: asm{word: 8}, at: 0x9000}
	cie := eh.cie(cieSpec{program: op(cfaDefCFA, 7, 8)})
	for _, r := range [][2]uint64{{0x3000, 0x100}, {0x1000, 0x10}, {0x2000, 0x800}, {0x2100, 0x10}, {0x2200, 0},
		{0x4000, 0}, {0x4000, 0x10}, {0x5000, 0x20}} {
		eh.plain(cie, r[0], r[1])
	}
	debug := &frames{asm: asm{word: 8}, debug: true}
	cie = debug.cie(cieSpec{program: op(cfaDefCFA, 6, 6)})
	debug.plain(cie, 0x5000, 0x20)
	debug.plain(cie, 0x6000, 0x20)
	f, err := OpenSections(Layout{Word: 8}, debug.section(), eh.section())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		pc, start uint64 // 0: none
		debug     bool
	}{
		{0, 0, false}, {0xfff, 0, false}, {0x1000, 0x1000, false}, {0x100f, 0x1000, false}, {0x1010, 0, false},
		{0x2000, 0x2000, false}, {0x2100, 0x2100, false}, {0x210f, 0x2100, false}, {0x2110, 0x2000, false},
		{0x2200, 0x2000, false},
		{0x27ff, 0x2000, false}, {0x2800, 0, false}, {0x3000, 0x3000, false}, {0x30ff, 0x3000, false},
		{0x4000, 0x4000, false}, {0x400f, 0x4000, false}, {0x5010, 0x5000, true}, {0x601f, 0x6000, true}, {0x6020, 0, false},
		{^uint64(0), 0, false},
	} {
		d, ok := f.Find(test.pc)
		if ok != (test.start != 0) || ok && (d.Start != test.start || d.CIE.Section.Debug != test.debug) {
			t.Errorf("Find(0x%x) = %+v, %t; want 0x%x", test.pc, d, ok, test.start)
		}
	}
	if f.Len() != 10 {
		t.Errorf("%d FDEs", f.Len())
	}
}

func TestCIEsAreBounded(t *testing.T) {
	s := &frames{asm: asm{word: 4}}
	for range maxCIEs + 3 {
		s.cie(cieSpec{})
	}
	s.plain(s.cie(cieSpec{}), 0x1000, 0x10)
	f := s.open(t, elf.EM_386)
	if len(f.CIEs()) != maxCIEs || f.ProblemCount() != 5 || f.Len() != 0 {
		t.Errorf("%d CIEs, %d problems, %d FDEs", len(f.CIEs()), f.ProblemCount(), f.Len())
	}
}

func TestDiscarded(t *testing.T) {
	build := func() *frames {
		s := &frames{asm: asm{word: 8}, debug: true}
		cie := s.cie(cieSpec{program: op(cfaDefCFA, 7, 8)})
		s.plain(cie, 0, 0x10)
		s.plain(cie, 0x1000, 0x10)
		return s
	}
	if f := build().open(t, elf.EM_386); f.Len() != 1 || f.Discarded() != 1 {
		t.Errorf("%d FDEs, %d discarded", f.Len(), f.Discarded())
	}
	// A file may have code at 0, as those for bare machines.
	for _, flags := range []elf.SectionFlag{elf.SHF_ALLOC, elf.SHF_ALLOC | elf.SHF_EXECINSTR} {
		f, err := Open(buildELF(8, false, elf.EM_386, elf.ET_EXEC, []elfSection{
			{name: ".text", typ: elf.SHT_PROGBITS, flags: flags, data: make([]byte, 0x20)},
			{name: ".debug_frame", typ: elf.SHT_PROGBITS, data: build().b}}))
		exec := int(flags>>2) & 1
		if err != nil || f.Len() != 1+exec || f.Discarded() != 1-exec {
			t.Errorf("%v: %d FDEs, %d discarded, %v", flags, f.Len(), f.Discarded(), err)
		}
	}
}

func TestIndirectLSDA(t *testing.T) {
	s := &frames{asm: asm{word: 8}}
	cie := s.cie(cieSpec{aug: "zL", data: func(a *asm) { a.u8(peIndirect) }, program: op(cfaDefCFA, 7, 8)})
	s.fde(cie, func(a *asm) { a.u64(0x1000).u64(0x10).u8(8).u64(0x5000) })
	for _, test := range []struct {
		memory   Memory
		lsda     uint64
		indirect bool
	}{{nil, 0x5000, true}, {pages{0x5000: make([]byte, 8)}, 0x5000, true},
		{pages{0x5000: []byte{1, 2, 0, 0, 0, 0, 0, 0}}, 0x201, false}} {
		f, err := OpenSections(Layout{Word: 8, Memory: test.memory}, s.section())
		if err != nil || f.Len() != 1 {
			t.Fatal(err)
		}
		if d := &f.FDEs()[0]; !d.HasLSDA || d.LSDA != test.lsda || d.LSDAIndirect != test.indirect {
			t.Errorf("%+v", d)
		}
	}
}
