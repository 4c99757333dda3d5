package symdiff

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"testing"

	"github.com/symlint/symlint/unwind/symfile/symgen"
)

var benchSize = flag.Int64("diff.size", 4<<20, "bytes of each of the files that the benchmarks compare")

// BenchmarkCompare compares generated files: -diff.size 100000000 for large ones.
func BenchmarkCompare(b *testing.B) {
	for _, kind := range []struct {
		name string
		gen  func(w io.Writer, seed uint64, size int64) error
	}{
		{"lines", func(w io.Writer, seed uint64, size int64) error {
			return symgen.LinesWith(w, seed, size, symgen.Options{Inlines: true})
		}},
		{"cfi", symgen.CFI}, {"win", symgen.Win},
	} {
		gen := func(seed uint64) []byte {
			var buf bytes.Buffer
			if err := kind.gen(&buf, seed, *benchSize); err != nil {
				b.Fatal(err)
			}
			return buf.Bytes()
		}
		base, other := gen(1), gen(2)
		one := bytes.Clone(base)
		one[bytes.Index(one[len(one)/2:], []byte("\nFUNC"))+len(one)/2-1] ^= 1 // the last digit of a line's file
		for _, c := range []struct {
			name string
			new  []byte
			same bool
		}{{"equal", bytes.Clone(base), true}, {"one", one, false}, {"different", other, false}} {
			b.Run(kind.name+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(len(base) + len(c.new)))
				b.ReportAllocs()
				for b.Loop() {
					if Compare(base, c.new, Options{}).Same() != c.same {
						b.Fatal("the wrong result")
					}
				}
			})
		}
	}
}

// TestHostile: files made to cost time in the square of their size. It ends in a fraction of a second, or not at all.
func TestHostile(t *testing.T) {
	const n = 60000
	head := "MODULE Linux x86_64 000000000000000000000000000000000 a\n"
	repeat := func(f func(b *bytes.Buffer, i int)) []byte {
		var b bytes.Buffer
		b.WriteString(head)
		for i := range n {
			f(&b, i)
		}
		return b.Bytes()
	}
	for name, f := range map[string]func(b *bytes.Buffer, i int){
		"functions around everything": func(b *bytes.Buffer, i int) {
			fmt.Fprintf(b, "FUNC 0 ffffff 0 f%d\nSTACK CFI INIT %x 4 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n", i, i*4)
		},
		"one name":    func(b *bytes.Buffer, i int) { fmt.Fprintf(b, "FUNC %x 4 0 f\n%x 4 %d 0\n", i*4, i*4, i) },
		"one address": func(b *bytes.Buffer, i int) { fmt.Fprintf(b, "PUBLIC 10 0 p%d\nFUNC 20 0 0 f%d\n", i, i) },
		"rows of one INIT": func(b *bytes.Buffer, i int) {
			fmt.Fprintf(b, "STACK CFI INIT %x 4 .cfa: $rsp %d + .ra: .cfa -8 + ^\n", i*4, i)
		},
		"registers": func(b *bytes.Buffer, i int) {
			if i == 0 {
				b.WriteString("STACK CFI INIT 0 fffff .cfa: $rsp 8 + .ra: .cfa -8 + ^\n")
			}
			fmt.Fprintf(b, "STACK CFI %x r%d: .cfa %d - ^\n", i, i, i)
		},
		"inlined calls": func(b *bytes.Buffer, i int) {
			if i == 0 {
				b.WriteString("INLINE_ORIGIN 0 f\nFUNC 0 fffff 0 f\n")
			}
			fmt.Fprintf(b, "INLINE %d 1 0 0 %x %x\n", i%1000, i, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := repeat(f)
			b := repeat(func(b *bytes.Buffer, i int) { f(b, i+i/7) })
			for _, r := range []*Result{Compare(a, a, Options{}), Compare(a, b, Options{}), Compare(b, a, Options{})} {
				if err := r.WriteText(io.Discard, TextOptions{Context: 3}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
