package trace

import (
	"github.com/symlint/symlint/unwind"
)

// entry is one line of a stack as the formats number them: an inlined call or a frame.
type entry struct {
	frame    *unwind.Frame
	inline   bool
	module   *unwind.Module
	function string
	file     string
	line     int64
	// address is what is printed, lineBase and functionBase what it is printed relative to.
	address, lineBase, functionBase uint64
}

// entries yields the frames of a stack, each behind the calls inlined into it, innermost first.
func entries(s *unwind.Stack, yield func(entry) bool) {
	for i := range s.Frames {
		f := &s.Frames[i]
		for j := range f.Inlines {
			in := &f.Inlines[j]
			e := entry{
				frame: f, inline: true, module: f.Module, function: in.Name, file: in.File, line: in.Number,
				address: f.Instruction, lineBase: f.Module.Base + in.LineBase, functionBase: f.Module.Base + in.Base,
			}
			if !yield(e) {
				return
			}
		}
		e := entry{
			frame: f, module: f.Module, function: f.Function, file: f.File, line: f.Line, address: f.ReturnAddress(),
			lineBase: f.LineBase, functionBase: f.FunctionBase,
		}
		if !yield(e) {
			return
		}
	}
}
