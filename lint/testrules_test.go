package lint

import (
	"fmt"

	"github.com/symlint/symlint/unwind/symfile"
)

// Rules and an analyzer of the tests' own: one finding per FUNC, one per line record without a line, one for the file.
var (
	ruleFunc = &Rule{Name: "test-func", Family: "test", Severity: Error, Summary: "a FUNC", Why: "because",
		Effects: Effects{{Loses, "drops it"}, {Rejects, "rejects the file"}, {Unaffected, "keeps it"}}}
	ruleZero = &Rule{Name: "test-zero", Family: "test", Severity: Warning, Also: []Severity{Error}, Summary: "line 0", Why: "because",
		Effects: Same(Degraded, "shows line 0")}
	ruleTotal = &Rule{Name: "other-count", Family: "other", Severity: Info, Summary: "count", Why: "because",
		Effects: Same(Unaffected, "does not care")}
)

func testRegistry() *Registry {
	g, err := NewRegistry(ruleFunc, ruleZero, ruleTotal)
	if err != nil {
		panic(err)
	}
	return g
}

var testAnalyzer = &Analyzer{
	Name:  "test",
	Rules: []*Rule{ruleFunc, ruleZero, ruleTotal},
	Kinds: []symfile.Kind{symfile.Func, symfile.Line},
	New:   func(p *Pass) Checker { return &testChecker{pass: p} },
}

type testChecker struct {
	pass  *Pass
	funcs int
}

func (c *testChecker) Record(r *symfile.Record) {
	switch {
	case r.Kind == symfile.Func:
		c.funcs++
		c.pass.Report(At(ruleFunc, r, r.Text), func(f *Finding) {
			f.HasAddress, f.Address = true, r.Addr
			f.Message = "a function"
		})
	case r.Number == 0:
		c.pass.Report(At(ruleZero, r, r.Span), func(f *Finding) { f.Message = "line number 0" })
	}
}

func (c *testChecker) Merge(later Checker) { c.funcs += later.(*testChecker).funcs }

func (c *testChecker) Finish() {
	rec := c.pass.RecordAt(0, 1)
	c.pass.Report(At(ruleTotal, rec, rec.Span), func(f *Finding) { f.Message = fmt.Sprintf("%d functions", c.funcs) })
}
