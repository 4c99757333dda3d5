// Package symgen writes large, healthy symbol files for tests and benchmarks: what a dump_syms would write for
// programs of the wanted size, as far as records, proportions and unwind rows go. The code they describe does not exist.
//
// A file depends on nothing but its kind, seed, size and options. Its records follow the order, spelling and conventions
// of Google's writers (module.cc for ELF, pdb_source_line_writer.cc for PDB); ranges never overlap, every FILE and
// INLINE_ORIGIN is used, every function has unwind rows, and each row follows from the one before it by a push, a pop or
// an adjustment of the stack pointer.
//
// Writers hold back the records that come late in a file, so a call needs memory for a part of it: for CFI, two thirds.
package symgen

import (
	"errors"
	"io"
	"math/rand/v2"
)

// MinSize is the smallest size, in bytes, the package writes.
const MinSize = 4096

var errTooSmall = errors.New("symgen: size below MinSize")

// Options vary a file beyond its seed and size. The zero value is a good default.
type Options struct {
	// ID and Name replace those of the MODULE record: ID is 32 upper-case hexadecimal digits and an age.
	ID, Name string
	// Inlines adds INLINE_ORIGIN and INLINE records to an ELF module, as dump_syms -d does.
	Inlines bool
}

// Lines writes an x86_64 ELF module that consists of FUNC and line records in the main: 20 to 60 lines a function, with
// the unwind rows of those functions behind them. The file is size bytes long, give or take one function.
func Lines(w io.Writer, seed uint64, size int64) error { return LinesWith(w, seed, size, Options{}) }

// CFI writes an x86_64 ELF module that consists of STACK CFI in the main, with few line records and fewer than 2000
// distinct rule texts: 92 MB are about 1.3 million rows. The file is size bytes long, give or take one function.
func CFI(w io.Writer, seed uint64, size int64) error { return CFIWith(w, seed, size, Options{}) }

// Win writes an x86 PDB module: FUNC with line records, PUBLIC, and STACK WIN of types 4 and 0. The file is size bytes
// long, give or take one function.
func Win(w io.Writer, seed uint64, size int64) error { return WinWith(w, seed, size, Options{}) }

// LinesWith is Lines with options.
func LinesWith(w io.Writer, seed uint64, size int64, o Options) error {
	return elf(w, seed, size, o, linesMix)
}

// CFIWith is CFI with options.
func CFIWith(w io.Writer, seed uint64, size int64, o Options) error {
	return elf(w, seed, size, o, cfiMix)
}

// generator is what all kinds share: the random source, the file under way and scratch space.
type generator struct {
	*rand.Rand
	out   output
	names namer
}

func newGenerator(w io.Writer, seed uint64, stream uint64) *generator {
	r := rand.New(rand.NewPCG(seed, stream))
	return &generator{Rand: r, out: output{w: w}, names: namer{Rand: r}}
}

// chance is true in n of 100 cases.
func (g *generator) chance(n int) bool { return g.IntN(100) < n }

// between returns a number from lo to hi, both included.
func (g *generator) between(lo, hi int) int { return lo + g.IntN(hi-lo+1) }

// skewed returns a number from lo upward whose mean is about lo+mean: many small ones, few that are large, none above
// lo + 40*mean. Code sizes are spread like this.
func (g *generator) skewed(lo, mean int) int {
	return lo + min(int(g.ExpFloat64()*float64(mean)), 40*mean)
}
