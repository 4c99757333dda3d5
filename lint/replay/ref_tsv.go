package replay

import (
	"strconv"
	"strings"
)

// The columns of a table without a header.
var tsvDefault = [...]string{"thread", "frame", "pc", "sp", "function", "file", "line"}

// tsvColumns are the columns that mean something.
var tsvColumns = map[string]string{
	"thread": "thread", "lwp": "lwp", "tid": "lwp", "frame": "frame", "level": "frame", "kind": "kind", "pc": "pc", "sp": "sp",
	"cfa": "cfa", "module": "module", "offset": "offset", "function": "function", "source": "source", "file": "file",
	"line": "line", "regs": "regs", "registers": "regs", "trust": "trust",
}

// tsvHeader reads a header: the names of the columns, with or without # in front.
func tsvHeader(line string) (columns []string, ok bool) {
	line = strings.TrimLeft(strings.TrimPrefix(line, "#"), " ")
	cells := strings.Split(line, "\t")
	if len(cells) < 3 || len(cells) > 64 {
		return nil, false
	}
	have := make(map[string]bool)
	for _, c := range cells {
		name := tsvColumns[strings.ToLower(strings.TrimSpace(c))]
		if name != "" && have[name] {
			return nil, false
		}
		have[name] = true
		columns = append(columns, name)
	}
	return columns, have["thread"] && have["frame"] && (have["pc"] || have["function"])
}

// isTSVLine reports whether a line is the header of a table, or a row of one without.
func isTSVLine(line string) bool {
	if strings.Count(line, "\t") < 2 {
		return false
	}
	if _, ok := tsvHeader(line); ok {
		return true
	}
	cells := strings.Split(line, "\t")
	if len(cells) < 5 || len(cells) > len(tsvDefault) {
		return false
	}
	for _, c := range cells[:2] {
		if _, rest, ok := cutNumber(c); !ok || rest != "" {
			return false
		}
	}
	_, known, err := tsvAddress(cells[2])
	return known && err == nil
}

// tsvAddress reads a hexadecimal number; "" and "-" are unknown.
func tsvAddress(s string) (v uint64, known bool, err error) {
	if s == "" || s == "-" || s == "?" || s == "??" {
		return 0, false, nil
	}
	v, err = strconv.ParseUint(strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X"), 16, 64)
	return v, err == nil, err
}

// parseTSV reads a table with a row for each frame, innermost first. The first line names the columns: thread, frame
// (or level), pc, sp, function, file, line in that order where there is none; further ones are lwp, kind (NORMAL,
// INLINE, TAILCALL, SIGTRAMP as gdb has them), cfa, module, offset (in the module), source (file:line), trust and regs
// (name=hex, with commas between). Addresses are hexadecimal, pc is the return address but for frame 0. A row
// "#end THREAD REASON" tells why the trace of a thread ends; other rows that begin with # are comments.
func parseTSV(data []byte) (*Reference, error) {
	b := newBuilder(FormatTSV)
	columns := tsvDefault[:]
	started, kinds := false, false
	threads := make(map[int]int) // number to index in Threads
	for l := newLines(data); l.next(); {
		line := l.text
		if strings.TrimSpace(line) == "" {
			continue
		}
		if !started {
			if c, ok := tsvHeader(line); ok {
				columns, started = c, true
				for _, name := range c {
					kinds = kinds || name == "kind"
				}
				continue
			}
		}
		if line[0] == '#' {
			if rest, ok := strings.CutPrefix(line, "#end\t"); ok {
				number, reason, _ := strings.Cut(rest, "\t")
				n, err := strconv.Atoi(number)
				i, ok := threads[n]
				if err != nil || !ok {
					return nil, syntaxError(l.number, "#end of a thread that has no frames: %.20q", number)
				}
				b.ref.Threads[i].End = reason
			}
			continue
		}
		started = true
		f, n, lwp, err := tsvRow(columns, line, l.number)
		if err != nil {
			return nil, err
		}
		i, ok := threads[n]
		if !ok {
			i = len(b.ref.Threads)
			threads[n] = i
			if err := b.thread(RefThread{Index: n, LWP: lwp, Line: l.number}); err != nil {
				return nil, err
			}
		}
		t := &b.ref.Threads[i]
		if k := len(t.Frames); k > 0 && f.Level != t.Frames[k-1].Level+1 || k == 0 && f.Level != 0 {
			return nil, syntaxError(l.number, "frame %d of thread %d follows %d frames", f.Level, n, k)
		}
		if err := b.frame(t, f); err != nil {
			return nil, err
		}
	}
	if !kinds {
		for i := range b.ref.Threads {
			inferKinds(b.ref.Threads[i].Frames)
		}
	}
	return b.ref, nil
}

func tsvRow(columns []string, line string, number int) (f RefFrame, thread int, lwp uint32, err error) {
	cells := strings.Split(line, "\t")
	if len(cells) > len(columns) {
		return f, 0, 0, syntaxError(number, "expected %d columns, found %d", len(columns), len(cells))
	}
	f = RefFrame{PCKind: PCReturn, OffsetKind: PCReturn, Line: number, Level: -1}
	thread = -1
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		name := columns[i]
		address := func(v *uint64, known *bool) {
			var e error
			if *v, *known, e = tsvAddress(cell); e != nil {
				err = syntaxError(number, "expected a hexadecimal %s, found %.40q", name, cell)
			}
		}
		switch name {
		case "thread", "frame", "lwp":
			n, e := strconv.ParseUint(cell, 10, 31)
			switch {
			case e != nil:
				err = syntaxError(number, "expected a number as %s, found %.40q", name, cell)
			case name == "thread":
				thread = int(n)
			case name == "frame":
				f.Level = int(n)
			default:
				lwp = uint32(n)
			}
		case "kind":
			f.Inline, f.TailCall, f.Signal = cell == "INLINE", cell == "TAILCALL", cell == "SIGTRAMP"
		case "pc":
			address(&f.PC, &f.HasPC)
		case "sp":
			address(&f.SP, &f.HasSP)
		case "cfa":
			address(&f.CFA, &f.HasCFA)
			f.HasCFA = f.HasCFA && f.CFA != 0
		case "module":
			f.Module = baseName(known(cell))
		case "offset":
			address(&f.ModuleOffset, &f.HasModuleOffset)
		case "function":
			f.Function = known(cell)
		case "file":
			f.File = known(cell)
		case "line":
			if known(cell) != "" {
				n, e := strconv.ParseInt(cell, 10, 64)
				if e != nil {
					err = syntaxError(number, "expected a number as line, found %.40q", cell)
				}
				f.SrcLine = lineNumber(n)
			}
		case "source":
			f.File, f.SrcLine = cutSource(known(cell))
		case "trust":
			f.Trust = TrustName(cell)
		case "regs":
			f.Registers, err = tsvRegisters(known(cell), number)
		}
		if err != nil {
			return f, 0, 0, err
		}
	}
	if f.Module == "" {
		f.HasModuleOffset = false
	}
	if thread < 0 || f.Level < 0 {
		return f, 0, 0, syntaxError(number, "expected the numbers of a thread and a frame")
	}
	return f, thread, lwp, nil
}

// known returns "" for the ways to write that something is not known.
func known(s string) string {
	if s == "-" || s == "?" || s == "??" {
		return ""
	}
	return s
}

// cutSource splits file:line.
func cutSource(s string) (file string, line int) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0
	}
	n, err := strconv.ParseInt(s[i+1:], 10, 64)
	if err != nil {
		return s, 0
	}
	return s[:i], lineNumber(n)
}

func tsvRegisters(s string, number int) ([]RefRegister, error) {
	var out []RefRegister
	for s != "" && len(out) < maxRegisters {
		var one string
		one, s, _ = strings.Cut(s, ",")
		name, value, ok := strings.Cut(one, "=")
		v, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64)
		if !ok || err != nil || name == "" {
			return nil, syntaxError(number, "expected register=hexadecimal, found %.40q", one)
		}
		out = append(out, RefRegister{strings.TrimPrefix(name, "$"), v})
	}
	return out, nil
}

// inferKinds finds the frames that are none of their own where a table does not tell. Two neighbours at the same
// program counter and stack pointer are one frame, as no call leaves the stack pointer where it was; without stack
// pointers, if their functions differ. A frame that has the stack pointer of its caller, and is not the innermost one,
// was left by a jump.
func inferKinds(frames []RefFrame) {
	for i := 0; i+1 < len(frames); i++ {
		f, next := &frames[i], &frames[i+1]
		switch {
		case !f.HasPC && !next.HasPC:
		case !next.HasPC:
			f.Inline = true
			next.PC, next.HasPC = f.PC, true
			if !next.HasSP {
				next.SP, next.HasSP = f.SP, f.HasSP
			}
		case !f.HasPC:
		case f.HasSP && next.HasSP:
			switch {
			case f.SP != next.SP:
			case f.PC == next.PC && f.Function != next.Function:
				f.Inline = true
			case f.PC != next.PC && i > 0 && !innermost(frames[:i+1]):
				f.TailCall = true
			}
		case f.PC == next.PC && f.Function != "" && next.Function != "" && f.Function != next.Function:
			f.Inline = true
		}
	}
}

// innermost reports whether all but the last of some frames are calls inlined into it.
func innermost(frames []RefFrame) bool {
	for i := range frames[:len(frames)-1] {
		if !frames[i].Inline {
			return false
		}
	}
	return true
}
