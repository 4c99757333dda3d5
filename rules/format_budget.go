package rules

import (
	"bytes"
	"fmt"
	"slices"
	"sort"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// googleBudget is how many errors Google's reader reads past (kMaxErrorsBeforeBailing).
const googleBudget = 100

// errorBudget counts as Google's reader does, as far as one chunk shows it: PUBLIC records at an address that has one
// are found when the whole file is known.
type errorBudget struct {
	open   bool        // the reader holds a function
	errors []recordPos // the first googleBudget+1 errors
	nul    bool        // NULs somewhere: one error, before all others
}

// count counts the record if it is an error to Google's reader.
func (c *formatChecker) count(r *symfile.Record) {
	b := &c.budget
	reading := googleTakes
	if len(r.Problems) > 0 {
		reading = googleReads(c.pass.Data, r)
	}
	failed := reading != googleTakes
	if reading != googleAlien {
		switch r.Kind {
		case symfile.Func:
			b.open = !failed
		case symfile.Public:
			b.open = false
		case symfile.Line:
			failed = failed || !b.open
		case symfile.Inline, symfile.InlineOrigin: // errors of their own, which nobody counts
			failed = false
		}
	}
	if failed && len(b.errors) <= googleBudget {
		b.errors = append(b.errors, posOf(r))
	}
}

func (b *errorBudget) merge(l *errorBudget) {
	b.open = l.open
	b.nul = b.nul || l.nul
	n := min(len(l.errors), googleBudget+1-len(b.errors))
	b.errors = append(b.errors, l.errors[:n]...)
}

func (c *formatChecker) reportBudget() {
	b := &c.budget
	last := googleBudget // the index of the error that ends the reading
	if b.nul && bytes.IndexByte(bytes.TrimRight(c.pass.Data, "\x00"), 0) >= 0 {
		last--
	}
	errors := append(b.errors, repeatedPublics(c.pass.Index.Publics)...)
	if len(errors) <= last {
		return
	}
	slices.SortFunc(errors, func(x, y recordPos) int { return int(x.line) - int(y.line) })
	stop := errors[last]
	rec := c.pass.RecordAt(stop.off, stop.line)
	behind := c.pass.Data[rec.Span.End+rec.EOL:]
	lines := bytes.Count(behind, []byte{'\n'})
	if len(behind) > 0 && behind[len(behind)-1] != '\n' {
		lines++
	}
	if lines == 0 {
		return // there is nothing to lose
	}
	x := &c.pass.Index
	funcs := len(x.Funcs) - sort.Search(len(x.Funcs), func(i int) bool { return x.Funcs[i].Off > stop.off })
	inits := len(x.Inits) - sort.Search(len(x.Inits), func(i int) bool { return x.Inits[i].Off > stop.off })
	c.pass.Report(lint.At(formatErrorBudget, rec, rec.Span), func(f *lint.Finding) {
		f.Message = fmt.Sprintf("the %dst error for Breakpad: it stops here and loses the %s behind it", googleBudget+1, plural(lines, "line"))
		switch {
		case funcs > 0 && inits > 0:
			f.Message += fmt.Sprintf(", %d FUNC and %d STACK CFI INIT among them", funcs, inits)
		case funcs > 0:
			f.Message += fmt.Sprintf(", %d FUNC among them", funcs)
		case inits > 0:
			f.Message += fmt.Sprintf(", %d STACK CFI INIT among them", inits)
		}
		f.Related = relatedRecord(c.pass, errors[0].off, errors[0].line, "the first error")
	})
}

// repeatedPublics are the PUBLIC records at an address that an earlier one has. Address 0 is taken by none.
func repeatedPublics(publics []symfile.PublicEntry) (out []recordPos) {
	ascending := true
	for i := 1; i < len(publics) && ascending; i++ {
		ascending = publics[i-1].Addr < publics[i].Addr
	}
	if ascending {
		return nil
	}
	order := make([]int32, len(publics))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		switch x, y := publics[a].Addr, publics[b].Addr; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a - b)
	})
	for i := 1; i < len(order); i++ {
		if p := &publics[order[i]]; p.Addr == publics[order[i-1]].Addr && p.Addr != 0 {
			out = append(out, recordPos{p.Off, p.Line})
		}
	}
	return out
}
