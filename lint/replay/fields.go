package replay

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/unwind"
)

// Fields is a set of what is compared of a frame.
type Fields uint8

// The fields, in the order in which they are compared.
const (
	FieldPC Fields = 1 << iota
	FieldModule
	FieldFunction
	FieldLine
	FieldSP
	FieldTrust
	FieldRegisters

	DefaultFields = FieldModule | FieldFunction | FieldPC | FieldLine
	AllFields     = DefaultFields | FieldSP | FieldTrust | FieldRegisters
)

// fieldNames are in the order of the command line's documentation.
var fieldNames = [...]struct {
	name  string
	field Fields
}{
	{"module", FieldModule}, {"function", FieldFunction}, {"pc", FieldPC}, {"sp", FieldSP}, {"line", FieldLine},
	{"trust", FieldTrust}, {"registers", FieldRegisters},
}

// ParseFields reads names with commas between them.
func ParseFields(list string) (Fields, error) {
	var out Fields
next:
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		for _, f := range fieldNames {
			if f.name == name {
				out |= f.field
				continue next
			}
		}
		return 0, fmt.Errorf("no field %q: expected some of module,function,pc,sp,line,trust,registers", name)
	}
	return out, nil
}

// Has reports whether a field is in the set.
func (f Fields) Has(x Fields) bool { return f&x != 0 }

// String returns the names with commas between them.
func (f Fields) String() string {
	var out []string
	for _, n := range fieldNames {
		if f.Has(n.field) {
			out = append(out, n.name)
		}
	}
	return strings.Join(out, ",")
}

// String tells a frame of a reference as "module!function [file : line] @ 0xPC", without what is not known.
func (f *RefFrame) String() string {
	if f.Signal && f.Function == "" {
		return "<signal handler called>"
	}
	s := frameText(f.Module, f.Function, f.File, int64(f.SrcLine))
	switch {
	case f.HasPC:
		s += fmt.Sprintf(" @ %#x", f.PC)
	case f.HasModuleOffset:
		s += fmt.Sprintf(" + %#x", f.ModuleOffset)
	case f.HasFunctionOffset:
		s += fmt.Sprintf(" + %#x", f.FunctionOffset)
	case f.HasLineOffset:
		s += fmt.Sprintf(" + %#x", f.LineOffset)
	}
	return strings.TrimPrefix(s, " ")
}

// FrameText tells a frame of a walk in the words of RefFrame.String; inline is the index of an inlined call, or -1.
// Behind the last frame it tells why the walk ended.
func FrameText(s *unwind.Stack, frame, inline int) string {
	if frame >= len(s.Frames) {
		return "end of the stack: " + s.End.String()
	}
	f := &s.Frames[frame]
	module := ""
	if f.Module != nil {
		module = baseName(f.Module.CodeFile)
	}
	function, file, line, pc := f.Function, f.File, f.Line, f.Return
	if inline >= 0 && inline < len(f.Inlines) {
		in := &f.Inlines[inline]
		function, file, line, pc = in.Name, in.File, in.Number, f.Instruction
	}
	return strings.TrimPrefix(frameText(module, function, file, line)+fmt.Sprintf(" @ %#x", pc), " ")
}

func frameText(module, function, file string, line int64) string {
	s := module
	if function != "" {
		if s != "" {
			s += "!"
		}
		s += function
	}
	if file != "" {
		s += fmt.Sprintf(" [%s : %d]", baseName(file), line)
	}
	return s
}
