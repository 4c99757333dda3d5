package dwarf

import (
	"debug/elf"
	"testing"
)

// manyFDEs is a section as large programs have it: 66000 functions of five rows, in the order of linking.
func manyFDEs() (section Section, pcs []uint64) {
	s := &frames{asm: asm{word: 8}, at: 0x10000000}
	cie := s.cie(cieSpec{aug: "zR", ra: 16, data: func(a *asm) { a.u8(pePCRel | peSdata4) },
		program: join(op(cfaDefCFA, 7, 8), op(cfaOffset|16, 1))})
	program := join(advance(1), op(cfaDefCFAOffset, 16), op(cfaOffset|6, 2), advance(3), op(cfaDefCFARegister, 6),
		advance(9), op(cfaOffset|3, 3), op(cfaOffset|12, 4), advance(40), op(cfaDefCFA, 7, 8))
	for i := range uint64(66000) {
		start := 0x1000 + (i^1)*0x80
		s.fde(cie, func(a *asm) {
			a.u32(uint32(start - s.at - uint64(a.pos()))).u32(0x70).u8(0).u8(program...)
		})
		pcs = append(pcs, start+i%0x70)
	}
	return s.section(), pcs
}

func BenchmarkIndex(b *testing.B) {
	section, pcs := manyFDEs()
	b.SetBytes(int64(len(section.Data)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := OpenSections(Layout{Machine: elf.EM_X86_64, Word: 8}, section)
		if err != nil || f.Len() != len(pcs) || f.ProblemCount() != 0 {
			b.Fatal(err, f.Len(), f.Problems())
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	section, pcs := manyFDEs()
	f, err := OpenSections(Layout{Machine: elf.EM_X86_64, Word: 8}, section)
	if err != nil {
		b.Fatal(err)
	}
	var row Row
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 40503) % len(pcs)
		d, ok := f.Find(pcs[i])
		if !ok || d.RowAt(pcs[i], &row) != nil {
			b.Fatal(i)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	section, _ := manyFDEs()
	f, err := OpenSections(Layout{Machine: elf.EM_X86_64, Word: 8}, section)
	if err != nil {
		b.Fatal(err)
	}
	var row Row
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for i := range f.FDEs() {
			if err := f.FDEs()[i].Rows(&row, func(*Row) bool { n++; return true }); err != nil {
				b.Fatal(err)
			}
		}
		if n != 5*f.Len() {
			b.Fatal(n)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	expr := assemble(b, "breg7:8 breg10:0 litf and litb ge lit3 shl plus", 8, false)
	ctx := ExprContext{Word: 8}
	var env Env = &testEnv{}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Evaluate(ctx, expr, env); err != nil {
			b.Fatal(err)
		}
	}
}
