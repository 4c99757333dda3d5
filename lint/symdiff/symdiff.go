// Package symdiff compares two Breakpad symbol files by meaning: what a stackwalker would show for an address, counted
// from the start of the function it belongs to, and not how the records that say so are numbered, ordered or split.
//
// A comparison goes through each file once and hashes what every function says of its lines, inlined calls and unwind
// rules. Functions are then matched, by name, by address and by body, and only pairs with unequal hashes are looked at
// closely. What differs in a pair is not kept: Result.Detail reads it again when somebody wants to see it.
package symdiff

import (
	"runtime"
	"strings"
	"sync"

	"github.com/symlint/symlint/unwind/arch"
)

// Aspect is one kind of thing that is compared. Aspects are combined as bits.
type Aspect uint32

// The aspects, in the order in which they are told.
const (
	Module    Aspect = 1 << iota // MODULE: system, CPU, debug identifier, name
	Info                         // INFO records
	Functions                    // functions that are in one file only, or a FUNC here and a PUBLIC there
	Names                        // matched functions and symbols under another name
	Sizes                        // bytes of code
	Params                       // bytes of parameters
	Multiple                     // the m mark
	Lines                        // source lines, by offset in the function
	Files                        // the file name of a source line
	Paths                        // its directory
	Inlines                      // the inlined calls, by offset in the function
	CFI                          // STACK CFI, by offset in the function
	Win                          // STACK WIN
	Publics                      // PUBLIC records
	Address                      // how far the code moved; never a difference, only told

	// All are all aspects.
	All Aspect = 1<<iota - 1
)

var aspectNames = []string{
	"module", "info", "functions", "names", "sizes", "params", "multiple", "lines", "files", "paths", "inlines", "cfi",
	"win", "publics", "address",
}

// AspectNames returns the names that ParseAspect reads, in order.
func AspectNames() []string { return append([]string(nil), aspectNames...) }

// ParseAspect reads an aspect's name; false if there is none of that name.
func ParseAspect(name string) (Aspect, bool) {
	for i, n := range aspectNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// Names lists the aspects in the set.
func (a Aspect) Names() []string {
	var out []string
	for i, n := range aspectNames {
		if a>>i&1 != 0 {
			out = append(out, n)
		}
	}
	return out
}

// String returns the names, separated by commas.
func (a Aspect) String() string { return strings.Join(a.Names(), ",") }

// Has reports whether one of the aspects in b is in the set.
func (a Aspect) Has(b Aspect) bool { return a&b != 0 }

// Options say what is compared. The zero value compares everything.
type Options struct {
	// Ignore are aspects that are no difference.
	Ignore Aspect
	// PathMaps replace the beginning of source paths, the first that fits, in both files.
	PathMaps []PathMap
	// KeepPaths switches the detection of a moved source directory off.
	KeepPaths bool
	// ForgetOld and ForgetNew, if set, are told now and then that bytes of the older or newer file have been read and are
	// not needed soon.
	ForgetOld, ForgetNew func(from, to int)
	// Jobs is how many things are done at the same time; 0 = one for each CPU. The result does not depend on it.
	Jobs int
}

func (o *Options) jobs() int {
	if o.Jobs > 0 {
		return o.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// Compare compares two symbol files. Any bytes will do: what cannot be read as a record counts as absent, which is how
// consumers see it. The data are read again by Result.Detail and must stay as they are for as long as the result is
// used.
func Compare(old, new []byte, o Options) *Result {
	c := &comparison{o: o}
	c.compare(old, new)
	return c.result
}

// comparison is one run of Compare.
type comparison struct {
	o        Options
	old, new *model
	names    *nameTable // of source files and inlined functions, of both
	pairs    []pair
	mate     [2][]int32 // by unit: its index on the other side, -1 for none
	how      []Match    // by old unit
	shift    int64
	shifted  int // matched units that moved by shift
	moved    int // matched units that moved otherwise
	result   *Result
}

func (c *comparison) compare(old, new []byte) {
	c.old, c.new = newModel(old), newModel(new)
	c.old.forget, c.new.forget = c.o.ForgetOld, c.o.ForgetNew
	c.scan(false)
	if c.old.late || c.new.late {
		c.scan(true)
	}
	c.match()
	c.judge()
}

// scan reads both files, looking for names either at their beginnings or everywhere.
func (c *comparison) scan(all bool) {
	c.parallel(2, func(i int) { c.side(i).readNames(all) })
	c.names = newNameTable(c.old, c.new, &c.o)
	c.old.scan(c.o.jobs())
	c.new.scan(c.o.jobs())
}

func (c *comparison) side(i int) *model {
	if i == 0 {
		return c.old
	}
	return c.new
}

// parallel calls f for 0..n-1, as many at the same time as may be.
func (c *comparison) parallel(n int, f func(i int)) { parallel(c.o.jobs(), n, f) }

func parallel(jobs, n int, f func(i int)) {
	if jobs < 2 || n < 2 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(jobs, n) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// dollar reports whether the registers of a CPU are written with '$', which is then not shown.
func dollar(moduleArch string) bool {
	cpu, ok := arch.Lookup(moduleArch)
	return !ok || cpu.Dollar
}
