package rules

import (
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var coverageFamily = &lint.Analyzer{
	Name:  "coverage",
	Rules: []*lint.Rule{coverageRule},
	Kinds: []symfile.Kind{symfile.Func, symfile.Public, symfile.Line},
	New:   func(p *lint.Pass) lint.Checker { return &coverageChecker{pass: p} },
}

var coverageRule = &lint.Rule{
	Name: "coverage", Family: "coverage", Severity: lint.Info, Also: []lint.Severity{lint.Error},
	Summary: "how much of the code has unwind and line records",
	Why: "Every byte of a FUNC without unwind records is a place where a stack goes wrong, every byte without line records one where a frame " +
		"has no file and line. The share is reported where it is not complete, and is an error below `--min-coverage`, so that a build whose " +
		"unwind information got lost does not reach the symbol server.",
	Effects: lint.Same(lint.Degraded, "falls back to frame pointers and scanning where no unwind record is"),
	Bad: lint.Example{Line: 1, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 40 0 main
1000 40 3 0
FUNC 1040 10 0 other
1040 10 9 0
STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "mozilla/dump_syms 274 asked for a threshold and got a check for one record; rust-minidump 582",
}

// coverageChecker adds up the code that line records cover; the rest is in the index.
type coverageChecker struct {
	pass      *lint.Pass
	prevEnd   uint64 // end of the last line record of the open FUNC
	funcEnd   uint64
	open      bool
	lineBytes uint64
}

func (c *coverageChecker) Record(r *symfile.Record) {
	if r.Kind == symfile.Line {
		if end := r.Addr + r.Size; c.open && r.Addr >= c.prevEnd && end <= c.funcEnd && end >= r.Addr {
			c.lineBytes += r.Size
			c.prevEnd = end
		}
		return
	}
	if c.open = r.Kind == symfile.Func && r.Usable; c.open {
		c.prevEnd, c.funcEnd = r.Addr, r.Addr+r.Size
	}
}

func (c *coverageChecker) Merge(later lint.Checker) {
	c.lineBytes += later.(*coverageChecker).lineBytes
}

func (c *coverageChecker) Finish() {
	cov := measure(c.pass)
	if cov == nil {
		return
	}
	cov.LineBytes = min(c.lineBytes, cov.FuncBytes)
	share := float64(cov.CFIBytes) / float64(cov.FuncBytes)
	least := c.pass.MinCoverage()
	if cov.CFIBytes == cov.FuncBytes && share >= least {
		return
	}
	s := moduleSpot(c.pass, coverageRule)
	if share < least {
		s.Severity = lint.Error
	}
	c.pass.Report(s, func(f *lint.Finding) {
		f.Subject = "coverage"
		f.Message = fmt.Sprintf("%.1f %% of the code in FUNC records (%d of %d bytes) has unwind records, %.1f %% has line records",
			100*share, cov.CFIBytes, cov.FuncBytes, 100*float64(cov.LineBytes)/float64(cov.FuncBytes))
		if share < least {
			f.Message += fmt.Sprintf("; at least %.1f %% is wanted", 100*least)
		}
	})
}

// moduleSpot is the place of findings about the module as a whole: its MODULE record, else the first line.
func moduleSpot(p *lint.Pass, rule *lint.Rule) lint.Spot {
	var off, line uint32 = 0, 1
	if p.Module.Line > 0 {
		off, line = p.Module.Off, uint32(p.Module.Line)
	}
	rec := p.RecordAt(off, line)
	return lint.At(rule, rec, rec.Span)
}

// measure counts the bytes of FUNC ranges and those of them with unwind records; nil if there is no code.
func measure(p *lint.Pass) *lint.Coverage {
	if p.Coverage != nil {
		return p.Coverage
	}
	x := &p.Index
	cov := &lint.Coverage{Funcs: len(x.Funcs)}
	for i := range x.Funcs {
		if x.Funcs[i].Lines {
			cov.FuncsLines++
		}
	}
	a, b := walker{ranges: p.InitRanges()}, walker{ranges: p.WinRanges()}
	done := uint64(0) // code below is counted
	for _, f := range p.FuncRanges() {
		from := max(f.Start, done)
		if f.End <= from {
			continue
		}
		cov.FuncBytes += f.End - from
		covered, atStart := covered(&a, &b, from, f.End)
		cov.CFIBytes += covered
		if atStart {
			cov.FuncsCFI++
		}
		done = f.End
	}
	if cov.FuncBytes == 0 {
		return nil
	}
	p.Coverage = cov
	return cov
}

// walker moves along sorted ranges that may overlap.
type walker struct {
	ranges []symfile.Range
	next   int
	reach  uint64 // end of what the ranges before next cover, as one piece
	start  uint64 // its start
}

// advance moves on until the piece is the first one that ends behind from.
func (w *walker) advance(from uint64) {
	for w.next < len(w.ranges) && (w.reach <= from || w.ranges[w.next].Start <= w.reach) {
		r := w.ranges[w.next]
		if r.Start > w.reach {
			w.start = r.Start
			w.reach = r.End
		} else {
			w.reach = max(w.reach, r.End)
		}
		w.next++
	}
}

// covered counts the bytes of [from, to) that either of the two sets of ranges covers, and says whether the first one is.
func covered(a, b *walker, from, to uint64) (n uint64, atStart bool) {
	for start := from; from < to; {
		a.advance(from)
		b.advance(from)
		end, begin := uint64(0), to
		for _, w := range [...]*walker{a, b} {
			if w.reach <= from {
				continue
			}
			if w.start <= from {
				end = max(end, w.reach)
			} else {
				begin = min(begin, w.start)
			}
		}
		if end > from {
			stop := min(end, to)
			n += stop - from
			atStart = atStart || from == start
			from = stop
			continue
		}
		from = begin
	}
	return n, atStart
}

// smallShare is the part of the code that may lack unwind records without being remarkable.
const smallShare = 0.05

// missingCFI reports code without unwind records.
func (j *cfiJudge) missingCFI() {
	x := &j.p.Index
	cov := measure(j.p)
	if cov == nil || cov.CFIBytes == cov.FuncBytes {
		return
	}
	s := moduleSpot(j.p, cfiMissing)
	bare := cov.FuncBytes - cov.CFIBytes
	none := len(x.Inits) == 0 && len(x.Wins) == 0
	if f := j.firstBare(); f != nil && !none {
		rec := j.p.RecordAt(f.Off, f.Line)
		s = lint.At(cfiMissing, rec, rec.Text)
	}
	s.Count = max(cov.Funcs-cov.FuncsCFI, 1)
	share := float64(bare) / float64(cov.FuncBytes)
	switch name := j.archName(); {
	case none && needsCFI(name, j.p.Module.OS):
		s.Severity = lint.Error
	case none:
	case share < smallShare || j.cpu.windows && (name == "x86_64" || name == "x86"):
		s.Severity = lint.Info // Windows leaf functions have none on purpose
	}
	j.p.Report(s, func(f *lint.Finding) {
		f.Subject = "module"
		if none {
			f.Message = "the module has no unwind records at all"
			return
		}
		f.Message = fmt.Sprintf("%d of %d functions have no unwind records at their start; %d bytes of code (%.1f %%) have none", s.Count, cov.Funcs, bare,
			100*share)
	})
}

// firstBare is the first FUNC record of the file whose first byte has no unwind records; nil if only parts of functions
// have none.
func (j *cfiJudge) firstBare() *symfile.FuncEntry {
	a, b := walker{ranges: j.inits}, walker{ranges: j.p.WinRanges()}
	var first *symfile.FuncEntry
	for _, r := range j.funcs {
		if _, covered := covered(&a, &b, r.Start, r.Start+1); covered {
			continue
		}
		if f := &j.p.Index.Funcs[r.Index]; first == nil || f.Line < first.Line {
			first = f
		}
	}
	return first
}

func (j *cfiJudge) archName() string {
	if j.cpu.arch != nil {
		return j.cpu.arch.Name
	}
	return j.p.Module.Arch
}

// needsCFI reports whether a platform's code is compiled without frame pointers by default, so that nothing else can
// unwind it.
func needsCFI(cpu, os string) bool {
	switch os {
	case "mac", "Mac", "ios", "iOS":
		return false
	}
	return cpu == "x86_64" || cpu == "arm" || cpu == "mips" || cpu == "mips64" || cpu == "riscv" || cpu == "riscv64"
}
