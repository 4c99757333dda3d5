package replay

import (
	"fmt"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/symfile"
)

// attributed lets other INIT records apply than the one the reader took, each with the deltas that stand under it: of
// records that overlap the reader keeps the first, and deltas apply wherever their address falls.
func (t *target) attributed(s *symfile.Symbols) []trial {
	alternatives := s.CFIAlternatives(t.addr)
	var out []trial
	for _, c := range alternatives {
		init := c.Rows[0].Line
		if init == t.info.Rows[0].Line && len(c.Rows) == len(t.info.Rows) {
			continue // what applies already
		}
		x := trial{
			Kind: "attribute-records", Scope: scopeTexts[oneBlock], Rule: "cfi-init-overlap", Line: t.info.Rows[0].Line,
			Text: fmt.Sprintf("let the STACK CFI INIT record of line %d apply, with its own deltas only, and remove that of line %d", init, t.info.Rows[0].Line),
		}
		if init == t.info.Rows[0].Line {
			stray := t.stray(c)
			x.Rule, x.Line = "cfi-delta-outside", stray
			x.Text = fmt.Sprintf("remove the STACK CFI record of line %d, which applies here but stands elsewhere", stray)
		}
		x.patch = unwind.Patch{CFI: func(m *unwind.Module, s *symfile.Symbols, addr uint64, info *symfile.CFI) *symfile.CFI {
			if info == nil || m != t.module || info.Addr != t.info.Addr {
				return info
			}
			for _, c := range s.CFIAlternatives(addr) {
				if c.Rows[0].Line == init {
					return c
				}
			}
			return info
		}}
		out = append(out, x)
	}
	return out
}

// stray is the line of the first record in force that does not stand under its INIT record.
func (t *target) stray(own *symfile.CFI) int {
	mine := make(map[int]bool)
	for _, r := range own.Rows {
		mine[r.Line] = true
	}
	for _, r := range t.info.Rows {
		if !mine[r.Line] {
			return r.Line
		}
	}
	return t.row.Line
}
