package rules

import (
	"fmt"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// Producers write 0 where they do not know the parameter size of a FUNC. It is taken at its word in files in which it is
// nearly always right: one exception, and one more for each manyZeroes functions of which FUNC and STACK WIN say 0; none
// where there are fewer of these than someZeroes.
const (
	someZeroes = 8
	manyZeroes = 200
)

// winOfFunc is a record at the start of a function.
type winOfFunc struct {
	win *symfile.WinEntry
	fn  *symfile.FuncEntry
}

// reportParams holds the parameter sizes against those of FUNC records and decorated names at the same address.
func (c *winChecker) reportParams() {
	p := c.pass
	if !p.Enabled(winParamSize) {
		return
	}
	for _, s := range c.params {
		rec := p.RecordAt(s.off, s.line)
		c.reportParam(s.off, s.line, fmt.Sprintf("%#x bytes of parameters are no whole number of words", rec.ParamSize), nil)
	}
	funcs := p.FuncRanges()
	q := p.Index.Publics
	publics := symfile.SortedRanges(len(q), func(i int) (uint64, uint64) { return q[i].Addr, 1 })
	agree, odd := 0, []winOfFunc(nil) // where FUNC tells no parameters
	for i := range p.Index.Wins {
		w := &p.Index.Wins[i]
		if w.ParamSize%4 != 0 || w.Type != winFPOType && w.Type != winDataType {
			continue
		}
		k, ok := startAt(funcs, w.Addr)
		if !ok {
			if k, ok := startAt(publics, w.Addr); ok && w.ParamSize != 0 {
				c.decorated(w, q[publics[k].Index].Off, q[publics[k].Index].Line)
			}
			continue
		}
		f := &p.Index.Funcs[funcs[k].Index]
		switch {
		case w.ParamSize == 0:
			if f.ParamSize == 0 {
				agree++
			}
		case f.ParamSize != w.ParamSize && !c.explained(f, w.ParamSize):
			c.reportPair(w, f)
		case !c.decorated(w, f.Off, f.Line) && f.ParamSize == 0 && len(odd) < 3+len(p.Index.Wins)/manyZeroes:
			odd = append(odd, winOfFunc{w, f})
		}
	}
	if agree >= someZeroes && len(odd) <= 1+agree/manyZeroes {
		for _, x := range odd {
			c.reportPair(x.win, x.fn)
		}
	}
}

// explained tells the differences that healthy files have: a size that is not known, a hidden parameter that is counted
// on one side only, and the two parameters that fastcall functions take in registers.
func (c *winChecker) explained(f *symfile.FuncEntry, size uint32) bool {
	switch f.ParamSize {
	case 0, size + 4, size - 4:
		return true
	case size + 8:
		name := symfile.RecordText(c.pass.Data, f.Off)
		return len(name) > 0 && name[0] == '@'
	}
	return false
}

// decorated compares a record with the @N of the name of a symbol; true if it reported.
func (c *winChecker) decorated(w *symfile.WinEntry, off, line uint32) bool {
	p := c.pass
	name := symfile.RecordText(p.Data, off)
	if len(name) == 0 || name[0] != '_' && name[0] != '@' {
		return false
	}
	size, ok := decoratedSize(name)
	if !ok || size == uint64(w.ParamSize) {
		return false
	}
	c.reportParam(w.Off, w.Line, fmt.Sprintf("%#x bytes of parameters, where %s has %#x by its name", w.ParamSize, shortName(validText(name)), size),
		relatedRecord(p, off, line, "the symbol"))
	return true
}

func (c *winChecker) reportPair(w *symfile.WinEntry, f *symfile.FuncEntry) {
	c.reportParam(w.Off, w.Line, fmt.Sprintf("%#x bytes of parameters, where the FUNC has %#x", w.ParamSize, f.ParamSize),
		relatedRecord(c.pass, f.Off, f.Line, "the function"))
}

func (c *winChecker) reportParam(off, line uint32, message string, related []lint.Related) {
	p := c.pass
	rec := p.RecordAt(off, line)
	p.Report(lint.At(winParamSize, rec, word(p, rec, 7)), func(f *lint.Finding) {
		at(f, rec.Addr)
		f.Message = message
		f.Related = related
	})
}

// startAt finds the first of the ranges that begin at an address.
func startAt(ranges []symfile.Range, addr uint64) (int, bool) {
	return slices.BinarySearchFunc(ranges, addr, func(r symfile.Range, addr uint64) int {
		switch {
		case r.Start < addr:
			return -1
		case r.Start > addr:
			return 1
		}
		return 0
	})
}
