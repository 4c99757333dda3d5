package rules

import (
	"fmt"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var publicFamily = &lint.Analyzer{
	Name:  "public",
	Rules: []*lint.Rule{publicDuplicate, publicInsideFunc, publicThumbBit, publicAddressZero, publicUnbounded, publicOrder},
	New:   func(p *lint.Pass) lint.Checker { return &publicChecker{pass: p} },
}

var publicDuplicate = &lint.Rule{
	Name: "public-duplicate", Family: "public", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
	Summary: "several PUBLIC symbols at one address",
	Why: "Google's reader counts an error for each PUBLIC at an address that has one. The first makes it call the module's symbols corrupt, and " +
		"behind the hundred-and-first error it reads nothing more (`format-error-budget`). Which name is shown depends on the consumer. Symbols " +
		"marked `m` are info: the mark says that the name is one of several.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "keeps the first, counts an error and calls the symbols corrupt"},
		{Impact: lint.Loses, Text: "shows the greatest name in byte order"},
		{Impact: lint.Degraded, Text: "keeps all and shows one of them"},
	},
	Bad: lint.Example{Line: 7, Text: exampleHead + exampleMain + `PUBLIC fe0 0 entry
PUBLIC fe0 0 other_entry
` + exampleMainCFI + exampleEntryCFI},
	Good:     examplePublic,
	Evidence: "103 PUBLIC records at one address made Breakpad's reader lose the functions behind them",
	Refs:     []string{symbolFilesDoc + "#public-records"},
}

const (
	exampleEntryCFI = "STACK CFI INIT fe0 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	examplePublic   = exampleHead + exampleMain + "PUBLIC fe0 0 entry\n" + exampleMainCFI + exampleEntryCFI
)

var publicInsideFunc = &lint.Rule{
	Name: "public-inside-func", Family: "public", Severity: lint.Warning,
	Summary: "a PUBLIC symbol inside a function",
	Why: "Within the function's range its own name is shown, so the symbol is never seen there. It is seen behind the function's end instead, up " +
		"to the next symbol, where it names code that is not its own. Second entry points of assembler functions look like this, and so do " +
		"symbols that a producer forgot to hold against its functions.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "ignores it in the function and uses it for code behind the function"},
		{Impact: lint.Degraded, Text: "ignores it in the function and uses it for code behind the function"},
		{Impact: lint.Degraded, Text: "keeps both names"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `PUBLIC 1004 0 stray_label
` + exampleMainCFI},
	Good:     examplePublic,
	Evidence: "_NLG_Return2 inside _NLG_Call in Breakpad's test_app.sym; https://chromium.googlesource.com/breakpad/breakpad/+/dbbdf057",
	Refs:     []string{symbolFilesDoc + "#public-records"},
}

var publicThumbBit = &lint.Rule{
	Name: "public-thumb-bit", Family: "public", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
	Summary: "the Thumb bit was left in the address of an arm symbol",
	Why: "ELF symbols of Thumb functions have bit 0 set; the code is one byte below. Where the function has a FUNC record at the even address the " +
		"symbol is its twin: useless in the function and wrong behind its end. Where it stands alone (info) only the first byte of its code " +
		"goes to the symbol before it. All of a file's are one finding.",
	Effects: lint.Same(lint.Degraded, "takes the address as it is, one byte too high"),
	Bad: lint.Example{Line: 6, Text: `MODULE Linux arm B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 10 0 main
1000 10 3 0
PUBLIC 1001 0 main
STACK CFI INIT 1000 10 .cfa: sp 0 + .ra: lr
`},
	Good:     examplePublic,
	Evidence: "all 235 PUBLIC records of breakpad_unittests for Android/arm; https://github.com/mozilla/dump_syms/issues/263",
	Refs:     []string{symbolFilesDoc + "#public-records"},
}

var publicAddressZero = &lint.Rule{
	Name: "public-address-zero", Family: "public", Severity: lint.Info,
	Summary: "a PUBLIC symbol at address 0",
	Why: "Address 0 is the module's header, not code. Google's reader skips such a symbol; others use it for every address up to the next symbol. " +
		"On macOS it is `__mh_execute_header`.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "ignores the symbol"},
		lint.Fine("uses it up to the next symbol"),
		lint.Fine("uses it up to the next symbol"),
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `PUBLIC 0 0 __mh_execute_header
` + exampleMainCFI},
	Good:     examplePublic,
	Evidence: "the macOS symbol files of symbolic and rust-minidump",
	Refs:     []string{symbolFilesDoc + "#public-records"},
}

var publicUnbounded = &lint.Rule{
	Name: "public-unbounded", Family: "public", Severity: lint.Info,
	Summary: "the last PUBLIC symbol claims everything behind it",
	Why: "A PUBLIC has no size: it goes as far as the next symbol. Behind the last one there is none, so every address up to the end of the " +
		"module is shown under its name, data and padding included, and stack scanning takes any word that points there for a return address. " +
		"A function record behind it, or a symbol at the end of the code, would bound it.",
	Effects: lint.Same(lint.Degraded, "shows the name for everything up to the end of the module"),
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `PUBLIC 1010 0 entry
` + exampleMainCFI},
	Good:     examplePublic,
	Evidence: "every file whose assembler functions come last; https://github.com/namhyung/uftrace/issues/344 is the same in another tool",
	Refs:     []string{symbolFilesDoc + "#public-records"},
}

var publicOrder = &lint.Rule{
	Name: "public-order", Family: "public", Severity: lint.Info,
	Summary: "a PUBLIC record follows one with a higher address",
	Why:     "Readers sort, so the order costs nothing. Files in order are easier to compare.",
	Effects: lint.Same(lint.Unaffected, "sorts the records"),
	Bad: lint.Example{Line: 7, Text: exampleHead + exampleMain + `PUBLIC fe0 0 entry
PUBLIC fd0 0 early_entry
` + exampleMainCFI + exampleEntryCFI},
	Good:     examplePublic,
	Evidence: "487 steps back in Breakpad's kernel32.sym",
	Refs:     []string{symbolFilesDoc + "#public-records"},
}

// publicChecker works on the finished index alone.
type publicChecker struct{ pass *lint.Pass }

func (c *publicChecker) Record(*symfile.Record) {}
func (c *publicChecker) Merge(lint.Checker)     {}

func (c *publicChecker) Finish() {
	p := c.pass
	if len(p.Index.Publics) == 0 {
		return
	}
	c.reportZero()
	c.reportOrder()
	sorted := symfile.SortedRanges(len(p.Index.Publics), func(i int) (uint64, uint64) { return p.Index.Publics[i].Addr, 1 })
	c.reportDuplicates(sorted)
	funcs := plainFuncs(p)
	c.reportInside(funcs)
	c.reportUnbounded(sorted, funcs)
}

// reportZero reports the symbols at 0, as one.
func (c *publicChecker) reportZero() {
	p := c.pass
	first, count := -1, 0
	for i := range p.Index.Publics {
		if p.Index.Publics[i].Addr == 0 {
			if count == 0 {
				first = i
			}
			count++
		}
	}
	if count == 0 {
		return
	}
	c.report(publicAddressZero, first, count, lint.Off, func(f *lint.Finding) {
		f.Message = fmt.Sprintf("%s is at address 0", shortName(f.Function))
		if count > 1 {
			f.Message = fmt.Sprintf("%d PUBLIC symbols are at address 0, first %s", count, shortName(f.Function))
		}
	})
}

// report reports a finding about the address of a PUBLIC record.
func (c *publicChecker) report(rule *lint.Rule, index, count int, severity lint.Severity, fill func(*lint.Finding)) {
	p := c.pass
	x := &p.Index.Publics[index]
	rec := p.RecordAt(x.Off, x.Line)
	spot := lint.At(rule, rec, addrSpan(p, rec))
	spot.Count, spot.Severity = count, severity
	p.Report(spot, func(f *lint.Finding) {
		at(f, x.Addr)
		f.Function = funcName(p, x.Off)
		fill(f)
	})
}

func (c *publicChecker) reportOrder() {
	p := c.pass
	publics := p.Index.Publics
	prev := -1
	for i := range publics {
		if publics[i].Addr == 0 {
			continue
		}
		if prev >= 0 && publics[i].Addr < publics[prev].Addr {
			before := &publics[prev]
			c.report(publicOrder, i, 1, lint.Off, func(f *lint.Finding) {
				f.Message = fmt.Sprintf("%s at %#x follows %s at %#x", shortName(f.Function), f.Address,
					shortName(funcName(p, before.Off)), before.Addr)
				f.Related = relatedRecord(p, before.Off, before.Line, "the symbol before it")
			})
		}
		prev = i
	}
}

// reportDuplicates reports each address with several symbols once, at the second in the file. Google's reader does not
// look at symbols at 0.
func (c *publicChecker) reportDuplicates(sorted []symfile.Range) {
	p := c.pass
	publics := p.Index.Publics
	for i := 0; i < len(sorted); {
		n, marked := 1, publics[sorted[i].Index].Multiple
		for i+n < len(sorted) && sorted[i+n].Start == sorted[i].Start {
			marked = marked || publics[sorted[i+n].Index].Multiple
			n++
		}
		if n > 1 && sorted[i].Start != 0 {
			severity := lint.Off
			if marked {
				severity = lint.Info
			}
			first := &publics[sorted[i].Index]
			c.report(publicDuplicate, int(sorted[i+1].Index), n-1, severity, func(f *lint.Finding) {
				f.Message = fmt.Sprintf("%s is at %#x, where %s is already", shortName(f.Function), f.Address, shortName(funcName(p, first.Off)))
				if n > 2 {
					f.Message = fmt.Sprintf("%d PUBLIC symbols are at %#x: %s, %s …", n, f.Address, shortName(funcName(p, first.Off)),
						shortName(f.Function))
				}
				f.Related = relatedRecord(p, first.Off, first.Line, "the first symbol at the address")
			})
		}
		i += n
	}
}

// reportInside reports symbols behind the start of a function that contains them: runs in one function as one, and
// those that are only off by the Thumb bit as one for the whole file. A function that overlaps others has been reported;
// what its excess covers is no defect of the symbols.
func (c *publicChecker) reportInside(funcs []symfile.Range) {
	p := c.pass
	publics := p.Index.Publics
	var oversized []int32
	eachOverlap(funcs, false, func(o overlap) { oversized = append(oversized, o.outlier.Index) })
	slices.Sort(oversized)
	arm := p.Module.Arch == "arm"
	var twins, odd struct{ first, count int }
	for i := 0; i < len(publics); {
		x := &publics[i]
		var f *symfile.Range
		if at := funcAt(funcs, x.Addr); at >= 0 {
			f = &funcs[at]
		}
		if arm && x.Addr&1 != 0 && (f == nil || x.Addr == f.Start+1) {
			t := &odd
			if f != nil {
				t = &twins
			}
			if t.count == 0 {
				t.first = i
			}
			t.count++
			i++
			continue
		}
		if f == nil || x.Addr == f.Start {
			i++
			continue
		}
		n := 1
		for i+n < len(publics) && publics[i+n].Addr > f.Start && publics[i+n].Addr < f.End &&
			!(arm && publics[i+n].Addr == f.Start+1) {
			n++
		}
		if _, said := slices.BinarySearch(oversized, f.Index); !said {
			c.reportRun(i, n, &p.Index.Funcs[f.Index])
		}
		i += n
	}
	if twins.count > 0 {
		c.report(publicThumbBit, twins.first, twins.count, lint.Off, func(f *lint.Finding) {
			f.Message = fmt.Sprintf("%s at %#x has the Thumb bit set; its FUNC is at %#x", shortName(f.Function), f.Address, f.Address-1)
			if twins.count > 1 {
				f.Message = fmt.Sprintf("%d PUBLIC symbols have the Thumb bit set and a FUNC one byte below, first %s at %#x", twins.count,
					shortName(f.Function), f.Address)
				f.Subject = "Thumb bit"
			}
		})
	}
	if odd.count > 0 {
		c.report(publicThumbBit, odd.first, odd.count, lint.Info, func(f *lint.Finding) {
			f.Message = fmt.Sprintf("%s at %#x has the Thumb bit set", shortName(f.Function), f.Address)
			if odd.count > 1 {
				f.Message = fmt.Sprintf("%d PUBLIC symbols have the Thumb bit set, first %s at %#x", odd.count, shortName(f.Function), f.Address)
				f.Subject = "Thumb bit"
			}
		})
	}
}

func (c *publicChecker) reportRun(first, n int, fn *symfile.FuncEntry) {
	p := c.pass
	c.report(publicInsideFunc, first, n, lint.Off, func(f *lint.Finding) {
		name := shortName(funcName(p, fn.Off))
		f.Message = fmt.Sprintf("%s at %#x lies %#x bytes inside %s at %#x", shortName(f.Function), f.Address, f.Address-fn.Addr, name, fn.Addr)
		if n > 1 {
			f.Message = fmt.Sprintf("%s at %#x and the %s behind it lie inside %s at %#x", shortName(f.Function), f.Address,
				plural(n-1, "symbol"), name, fn.Addr)
		}
		f.Related = relatedRecord(p, fn.Off, fn.Line, "the function")
	})
}

// funcAt returns which of the ranges contains an address, -1 if none does. Where functions overlap it is the last that
// starts at or before the address.
func funcAt(funcs []symfile.Range, addr uint64) int {
	i := find(funcs, addr)
	if i < 0 || addr >= funcs[i].End {
		return -1
	}
	return i
}

// reportUnbounded reports the symbol with the highest address if no function stands behind it.
func (c *publicChecker) reportUnbounded(sorted, funcs []symfile.Range) {
	p := c.pass
	at := len(sorted) - 1
	for at > 0 && sorted[at-1].Start == sorted[at].Start {
		at--
	}
	last := sorted[at]
	if last.Start == 0 || len(funcs) > 0 && funcs[len(funcs)-1].Start >= last.Start {
		return
	}
	if name := symfile.RecordText(p.Data, p.Index.Publics[last.Index].Off); len(name) == 0 || placeholderOf(name) >= 0 {
		return // Mozilla's dump_syms marks the end of the code like this
	}
	foreign := 0 // unwind records behind it, each of which is other code
	for i := range p.Index.Inits {
		if p.Index.Inits[i].Addr > last.Start {
			foreign++
		}
	}
	for i := range p.Index.Wins {
		if p.Index.Wins[i].Addr > last.Start {
			foreign++
		}
	}
	c.report(publicUnbounded, int(last.Index), 1, lint.Off, func(f *lint.Finding) {
		f.Message = fmt.Sprintf("%s claims everything from %#x to the end of the module", shortName(f.Function), f.Address)
		if foreign > 0 {
			f.Message += fmt.Sprintf(", among it code with %s", plural(foreign, "unwind record"))
		}
	})
}
