package replay

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/unwind"
)

// Mismatches finds symbol files that are not those of the modules they were used for, among the modules that frames of
// the stacks lie in: the MODULE record says another id, or functions lie beyond the module's end.
func Mismatches(w *unwind.Walker, stacks []*unwind.Stack) []Issue {
	var out []Issue
	seen := make(map[*unwind.Module]bool)
	for thread, s := range stacks {
		if s == nil {
			continue
		}
		for i := range s.Frames {
			m := s.Frames[i].Module
			if m == nil || !s.Frames[i].HasSymbols || seen[m] {
				continue
			}
			seen[m] = true
			if x, ok := mismatch(w, m); ok {
				x.Thread, x.Frame = thread, i
				out = append(out, x)
			}
		}
	}
	return out
}

func mismatch(w *unwind.Walker, m *unwind.Module) (Issue, bool) {
	symbols, err := moduleSymbols(w, m)
	if symbols == nil || err != nil {
		return Issue{}, false
	}
	x := Issue{Rule: "walk-module-mismatch", Module: m}
	name := unwind.BaseName(m.CodeFile)
	if h := symbols.Header(); h.Line > 0 && m.DebugID != "" && !strings.EqualFold(h.ID, m.DebugID) {
		x.Line = h.Line
		x.Message = fmt.Sprintf("the MODULE record says id %s, the module %s of the dump has %s", h.ID, name, m.DebugID)
		return x, true
	}
	if f, ok := symbols.LastFunc(); ok && m.Size > 0 && f.Addr >= m.Size {
		x.Line, x.Address = int(f.Line), f.Addr
		x.Message = fmt.Sprintf("the file has functions up to 0x%x, the module %s of the dump has 0x%x bytes", f.Addr+f.Size, name, m.Size)
		return x, true
	}
	return Issue{}, false
}
