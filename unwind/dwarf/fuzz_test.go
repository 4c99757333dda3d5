package dwarf

import (
	"bytes"
	"debug/elf"
	"testing"
)

// exercise uses all that a File offers, and checks what holds for any input.
func exercise(t *testing.T, f *File) {
	if len(f.Problems()) > MaxProblems || f.ProblemCount() < len(f.Problems()) {
		t.Fatalf("%d of %d problems", len(f.Problems()), f.ProblemCount())
	}
	var row, at Row
	var out Recovered
	env := &testEnv{f.BigEndian()}
	fdes := f.FDEs()
	for i := range fdes {
		d := &fdes[i]
		if d.End < d.Start || d.CIE == nil || i > 0 && d.Start < fdes[i-1].Start {
			t.Fatalf("FDE %d: 0x%x-0x%x", i, d.Start, d.End)
		}
		if d.Start < d.End {
			if found, ok := f.Find(d.Start); !ok || found.Start > d.Start || found.End <= d.Start {
				t.Fatalf("0x%x is not found", d.Start)
			}
		}
		if i > 200 {
			continue
		}
		next, n := d.Start, 0
		err := d.Rows(&row, func(r *Row) bool {
			if r.Start != next || r.End <= r.Start || r.End > d.End || len(r.Regs) > maxRules {
				t.Fatalf("row 0x%x-0x%x after 0x%x in 0x%x-0x%x", r.Start, r.End, next, d.Start, d.End)
			}
			for k := 1; k < len(r.Regs); k++ {
				if r.Regs[k].Reg <= r.Regs[k-1].Reg {
					t.Fatal("rules are not in order")
				}
			}
			next = r.End
			if n++; n > 50 {
				return true
			}
			if err := d.RowAt(r.Start, &at); err != nil || !at.SameRules(r) || at.End != r.End || at.Offset != r.Offset {
				t.Fatalf("RowAt(0x%x): %v", r.Start, err)
			}
			if err := r.Apply(env, &out); err == nil {
				if len(out.Regs) != len(r.Regs) {
					t.Fatal("registers are missing")
				}
				for k := range out.Regs {
					g := &out.Regs[k]
					known := g.How != IsUndefined && g.How != Unreadable
					if g.Known != known || (g.Err != nil) != (g.How == Unreadable) {
						t.Fatalf("%+v", g)
					}
				}
			}
			_ = r.CFA.String()
			for k := range r.Regs {
				_ = r.Regs[k].String()
				FormatExpr(r.Regs[k].Expr, f.Word(), f.BigEndian(), nil)
			}
			return true
		})
		if err == nil && d.Start < d.End && next != d.End {
			t.Fatalf("rows of 0x%x-0x%x end at 0x%x", d.Start, d.End, next)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range binaries(f) {
		data := unpacked(f, name)
		f.Add(data)
		f.Add(stripSections(data))
	}
	image, _ := unendedImage(0x10000)
	f.Add(image)
	for i := range 4 {
		word, big := 4+i&2*2, i&1 != 0
		plain := debugFrames(word, big)
		f.Add(buildELF(word, big, elf.EM_386, elf.ET_EXEC, []elfSection{
			{name: ".debug_frame", typ: elf.SHT_PROGBITS, flags: elf.SHF_COMPRESSED,
				data: join(compressionHeader(word, big, elf.COMPRESS_ZLIB, uint64(len(plain))), deflated(plain))},
			{name: ".zdebug_frame", typ: elf.SHT_PROGBITS, data: plain}}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(data)
		if (err == nil) == (file == nil) {
			t.Fatal("error and file")
		}
		if err == nil {
			exercise(t, file)
		}
		if image, err := OpenImage(flat(data), 0x10000); err == nil {
			exercise(t, image)
		}
	})
}

// flat is memory at 0x10000.
type flat []byte

func (m flat) Bytes(addr uint64, n int) ([]byte, bool) {
	if addr -= 0x10000; addr > uint64(len(m)) || n < 0 || uint64(n) > uint64(len(m))-addr {
		return nil, false
	}
	return m[addr : addr+uint64(n)], true
}

func FuzzEhFrame(f *testing.F) {
	for _, name := range binaries(f) {
		file, err := Open(unpacked(f, name))
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range file.Sections() {
			flags := byte(0)
			if file.Word() == 8 {
				flags |= 1
			}
			if file.BigEndian() {
				flags |= 2
			}
			if s.Debug {
				flags |= 4
			}
			f.Add(s.Data[:min(len(s.Data), 2000)], []byte(nil), flags, s.Addr)
		}
	}
	for i := range byte(16) {
		s := &frames{asm: asm{big: i&2 != 0, word: 4 + int(i&1)*4}, debug: i&4 != 0, wide: i&8 != 0}
		cie := s.cie(cieSpec{version: 4, program: join(op(cfaDefCFA, 7, 8), op(cfaOffset|16, 1))})
		s.plain(cie, 0x1000, 0x100, join([]byte{cfaRememberState}, advance(1), op(cfaRegister, 3, 4), advance(1),
			[]byte{cfaRestoreState, cfaWindowSave}, opExpr(cfaValExpression, 3, opDup, opPlus), opS(cfaDefCFASF, 3, -4))...)
		f.Add(s.b, header(0x8000, 0x9000, [2]uint64{0x1000, 0x9000}), i, uint64(0x9000))
	}
	machines := []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64, elf.EM_SPARC, elf.EM_S390}
	f.Fuzz(func(t *testing.T, data, hdr []byte, flags byte, addr uint64) {
		l := Layout{Machine: machines[flags>>6], Word: 4 + int(flags&1)*4, BigEndian: flags&2 != 0, TextBase: 0x1000,
			DataBase: 0x2000}
		if flags&16 != 0 {
			l.Memory = flat(data)
		}
		section := Section{Name: "frames", Addr: mask(addr, l.Word), Data: bytes.Clone(data), Debug: flags&4 != 0}
		file := newFile(l)
		file.sections = append(file.sections, &section)
		file.zeroMapped = flags&32 != 0
		file.image = flags&8 != 0
		file.index(&Section{Name: "header", Addr: 0x8000, Data: hdr})
		exercise(t, file)
		if h := file.Header(); h == nil || h.Good > h.Entries || h.Entries > len(hdr) {
			t.Fatalf("%+v", h)
		}
	})
}

func FuzzExpression(f *testing.F) {
	for _, test := range exprTests {
		f.Add(assemble(f, test.text, 8, false), true, false)
		f.Add(assemble(f, test.text, 4, true), false, true)
	}
	f.Fuzz(func(t *testing.T, expr []byte, wide, big bool) {
		ctx := ExprContext{Word: 4, BigEndian: big, CFA: 0x8100, HasCFA: true}
		if wide {
			ctx.Word = 8
		}
		before := bytes.Clone(expr)
		v, err := Evaluate(ctx, expr, &testEnv{big}, 0x8200)
		if v != mask(v, ctx.Word) || err != nil && v != 0 {
			t.Fatalf("0x%x %v", v, err)
		}
		if e, ok := err.(*ExprError); err != nil && (!ok || e.Offset < 0 || e.Offset > len(expr) || e.Text == "") {
			t.Fatalf("%v", err)
		}
		if again, err2 := Evaluate(ctx, expr, &testEnv{big}, 0x8200); again != v || (err == nil) != (err2 == nil) {
			t.Fatal("not the same twice")
		}
		if FormatExpr(expr, ctx.Word, big, nil) == "" && len(expr) > 0 {
			t.Fatal("no text")
		}
		if !bytes.Equal(before, expr) {
			t.Fatal("expression was changed")
		}
	})
}
