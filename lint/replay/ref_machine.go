package replay

import (
	"strconv"
	"strings"
)

// machineFields is the number of fields of a frame.
const machineFields = 7

// isMachineLine reports whether a line can only be of the machine format.
func isMachineLine(line string) bool {
	n := strings.Count(line, "|")
	switch {
	case n == 2 && strings.HasPrefix(line, "OS|"), n == 3 && strings.HasPrefix(line, "CPU|"),
		n == 3 && strings.HasPrefix(line, "Crash|"):
		return true
	}
	if n != machineFields-1 {
		return false
	}
	_, rest, ok := cutNumber(line)
	if !ok || rest[0] != '|' {
		return false
	}
	_, rest, ok = cutNumber(rest[1:])
	return ok && rest[0] == '|'
}

// parseMachine reads what minidump_stackwalk -m prints. It does not tell inlined calls from frames.
func parseMachine(data []byte) (*Reference, error) {
	b := newBuilder(FormatMachine)
	crashed := -1
	var seen map[int]bool
	for l := newLines(data); l.next(); {
		line := l.text
		switch {
		case line == "":
		case strings.HasPrefix(line, "CPU|"):
			b.ref.CPU, _, _ = strings.Cut(line[len("CPU|"):], "|")
		case strings.HasPrefix(line, "Crash|"):
			if n, err := strconv.Atoi(line[strings.LastIndexByte(line, '|')+1:]); err == nil {
				crashed = n
			}
		case strings.HasPrefix(line, "Module|"):
			if m, ok := machineModule(line); ok && len(b.ref.Modules) < maxModules {
				b.ref.Modules = append(b.ref.Modules, m)
			}
		case line[0] >= '0' && line[0] <= '9':
			f, thread, err := machineFrame(line, l.number)
			if err != nil {
				return nil, err
			}
			t := b.current()
			if t == nil || t.Index != thread {
				if seen[thread] {
					return nil, syntaxError(l.number, "frames of thread %d are in two places", thread)
				}
				if seen == nil {
					seen = make(map[int]bool)
				}
				seen[thread] = true
				if err := b.thread(RefThread{Index: thread, Crashed: thread == crashed, Line: l.number}); err != nil {
					return nil, err
				}
				t = b.current()
			}
			if f.Level != len(t.Frames) {
				return nil, syntaxError(l.number, "frame %d follows %d frames of thread %d", f.Level, len(t.Frames), thread)
			}
			if err := b.frame(t, f); err != nil {
				return nil, err
			}
		}
	}
	return b.ref, nil
}

func machineModule(line string) (RefModule, bool) {
	field := strings.Split(line, "|")
	if len(field) < 7 {
		return RefModule{}, false
	}
	base, err := strconv.ParseUint(field[5], 0, 64)
	end, err2 := strconv.ParseUint(field[6], 0, 64)
	return RefModule{field[1], base, end}, err == nil && err2 == nil
}

func machineFrame(line string, number int) (f RefFrame, thread int, err error) {
	if n := strings.Count(line, "|"); n != machineFields-1 {
		return f, 0, syntaxError(number, "expected %d fields thread|frame|module|function|file|line|offset, found %d: %.80q",
			machineFields, n+1, line)
	}
	field := strings.SplitN(line, "|", machineFields)
	thread, rest, ok1 := cutNumber(field[0])
	level, rest2, ok2 := cutNumber(field[1])
	if !ok1 || !ok2 || rest != "" || rest2 != "" {
		return f, 0, syntaxError(number, "expected the numbers of a thread and a frame, found %.20q and %.20q",
			field[0], field[1])
	}
	offset, err := strconv.ParseUint(strings.TrimPrefix(field[6], "0x"), 16, 64)
	if err != nil {
		return f, 0, syntaxError(number, "expected a hexadecimal offset, found %.40q", field[6])
	}
	f = RefFrame{Level: level, Module: field[2], Function: field[3], File: field[4], OffsetKind: PCPrinted, Line: number}
	switch {
	case f.Module == "":
		f.PC, f.HasPC, f.PCKind = offset, true, PCPrinted
	case f.Function == "":
		f.ModuleOffset, f.HasModuleOffset = offset, true
	case f.File == "":
		f.FunctionOffset, f.HasFunctionOffset = offset, true
	default:
		n, err := strconv.ParseInt(field[5], 10, 64)
		if err != nil {
			return f, 0, syntaxError(number, "expected a line number, found %.40q", field[5])
		}
		f.SrcLine = lineNumber(n)
		f.LineOffset, f.HasLineOffset = offset, true
	}
	return f, thread, nil
}
