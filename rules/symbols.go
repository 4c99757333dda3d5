package rules

import (
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var symbolsFamily = &lint.Analyzer{
	Name:  "symbols",
	Rules: []*lint.Rule{symbolsMissing},
	New:   func(p *lint.Pass) lint.Checker { return &symbolsChecker{pass: p} },
}

var symbolsMissing = &lint.Rule{
	Name: "symbols-missing", Family: "symbols", Severity: lint.Error,
	Summary: "unwind records but neither FUNC nor PUBLIC",
	Why: "Frames in the module have no names. Worse, where unwinding falls back to scanning the stack, a word counts as a return address only if " +
		"the symbol file has a name for it: with a file that has none at all every address of the module is refused, and the walk ends or skips " +
		"the module's frames. Without any symbol file it would have gone on.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "refuses every address of the module when it scans the stack"},
		{Impact: lint.Loses, Text: "refuses every address of the module when it scans the stack"},
		lint.Fine("reads the unwind records"),
	},
	Bad:      lint.Example{Line: 4, Text: exampleHead + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "https://github.com/getsentry/sentry/issues/10420",
	Refs:     []string{symbolFilesDoc + "#stack-cfi-records"},
}

// symbolsChecker works on the finished index alone.
type symbolsChecker struct{ pass *lint.Pass }

func (c *symbolsChecker) Record(*symfile.Record) {}
func (c *symbolsChecker) Merge(lint.Checker)     {}

func (c *symbolsChecker) Finish() {
	p := c.pass
	x := &p.Index
	records := x.Counts[symfile.StackCFIInit] + x.Counts[symfile.StackCFI] + x.Counts[symfile.StackWin]
	if records == 0 || x.Counts[symfile.Func]+x.Counts[symfile.Public] > 0 {
		return
	}
	off, line := uint32(0), uint32(1)
	switch {
	case len(x.Inits) > 0 && (len(x.Wins) == 0 || x.Inits[0].Line < x.Wins[0].Line):
		off, line = x.Inits[0].Off, x.Inits[0].Line
	case len(x.Wins) > 0:
		off, line = x.Wins[0].Off, x.Wins[0].Line
	}
	rec := p.RecordAt(off, line)
	spot := lint.At(symbolsMissing, rec, rec.Span)
	p.Report(spot, func(f *lint.Finding) {
		f.Message = fmt.Sprintf("%s but neither FUNC nor PUBLIC", plural(records, "STACK record"))
		f.Subject = "symbols"
	})
}
