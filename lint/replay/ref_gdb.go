package replay

import (
	"strconv"
	"strings"
)

// isGDBLine reports whether a line can only be of gdb: a thread's header or a frame.
func isGDBLine(line string) bool {
	if _, ok := gdbThread(line); ok {
		return true
	}
	_, rest, ok := gdbLevel(line)
	return ok && gdbFrameText(rest)
}

// gdbThread reads "Thread 4 (Thread 0x7f8b2caa16c0 (LWP 6194)):", behind which may stand the thread's name.
func gdbThread(line string) (t RefThread, ok bool) {
	rest, ok := strings.CutPrefix(line, "Thread ")
	if !ok || !strings.HasSuffix(line, ":") {
		return t, false
	}
	t.Index, rest, ok = cutNumber(rest)
	if !ok || !strings.HasPrefix(rest, " (") {
		return t, false
	}
	t.LWP = gdbLWP(rest)
	return t, true
}

// gdbLWP finds "LWP 6194" or "process 6194", 0 without.
func gdbLWP(s string) uint32 {
	for _, word := range [...]string{"(LWP ", "(process "} {
		if i := strings.Index(s, word); i >= 0 {
			if n, _, ok := cutNumber(s[i+len(word):]); ok {
				return uint32(n)
			}
		}
	}
	return 0
}

// gdbLevel takes the number from "#3  …". Frames that a filter elided are indented.
func gdbLevel(line string) (level int, rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimLeft(line, " "), "#")
	if !ok {
		return 0, "", false
	}
	level, rest, ok = cutNumber(rest)
	if !ok || !strings.HasPrefix(rest, " ") {
		return 0, "", false
	}
	return level, strings.TrimLeft(rest, " "), true
}

// gdbFrameText reports whether text can stand behind the number of a frame.
func gdbFrameText(s string) bool {
	return strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "<") || strings.Contains(s, " (")
}

// maxWrapped is how many lines a frame may be broken into.
const maxWrapped = 256

// parseGDB reads the output of backtrace for one or all threads. What stands around it, such as the lines that gdb
// prints when it starts, is passed over; so are the variables of backtrace full.
//
// gdb prints no address for a frame whose program counter is at the beginning of a line of source code. That is so for
// the innermost frame of a thread and for those that a signal interrupted. Of all others the address is at hand, but
// not printed for the function that the call before was inlined into.
func parseGDB(data []byte) (*Reference, error) {
	b := newBuilder(FormatGDB)
	crashed := uint32(0) // LWP of the current thread
	headed := false      // threads have headers
	skipping := false    // a backtrace of one thread comes behind that of all
	seen := make(map[int]bool)
	for l := newLines(data); l.next(); {
		line := strings.TrimRight(l.text, " ")
		if t, ok := gdbThread(line); ok {
			if !headed {
				b.ref.Threads, headed = nil, true // where gdb stopped when it started, which is told again
			}
			if seen[t.Index] {
				b.ref.Threads = nil // all threads are told again
				clear(seen)
			}
			seen[t.Index] = true
			skipping = false
			t.Line = l.number
			if err := b.thread(t); err != nil {
				return nil, err
			}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "[Current thread is "); ok {
			crashed = gdbLWP(rest)
			continue
		}
		t := b.current()
		if t != nil && len(t.Frames) > 0 && !skipping {
			if reason, ok := strings.CutPrefix(line, "Backtrace stopped: "); ok {
				t.End = reason
				continue
			}
			if line == "(More stack frames follow...)" {
				t.Truncated = true
				continue
			}
		}
		level, rest, ok := gdbLevel(line)
		if !ok || !gdbFrameText(rest) {
			continue
		}
		skipping = skipping || headed && level == 0 && t != nil && len(t.Frames) > 0
		if skipping {
			continue
		}
		first := l.number
		depth := gdbDepth(rest)
		for n := 0; n < maxWrapped && wrapped(l, rest, depth); n++ {
			l.next()
			more := strings.TrimSpace(l.text)
			rest += " " + more
			depth += gdbDepth(more)
			if len(rest) > maxLineBytes {
				return nil, syntaxError(first, "frame #%d is longer than %d bytes", level, maxLineBytes)
			}
		}
		f := RefFrame{Level: level, PCKind: PCReturn, Line: first}
		if err := f.parseGDB(rest, first); err != nil {
			return nil, err
		}
		if t == nil || !headed && level == 0 {
			b.ref.Threads = nil // a second backtrace without headers replaces the first
			if err := b.thread(RefThread{Index: 1, Line: first, Crashed: true}); err != nil {
				return nil, err
			}
			t = b.current()
		}
		if level != len(t.Frames) {
			return nil, syntaxError(first, "frame #%d follows %d frames of thread %d", level, len(t.Frames), t.Index)
		}
		if level > 0 && !f.HasPC && !f.Signal {
			if callee := &t.Frames[level-1]; !callee.Signal {
				callee.Inline = true
				f.PC, f.HasPC = callee.PC, callee.HasPC
			}
		}
		if err := b.frame(t, f); err != nil {
			return nil, err
		}
	}
	for i := range b.ref.Threads {
		if t := &b.ref.Threads[i]; crashed != 0 && t.LWP == crashed {
			t.Crashed = true
		} else if crashed != 0 && !headed {
			t.LWP = crashed
		}
	}
	return b.ref, nil
}

// wrapped reports whether the next line continues a frame: gdb breaks lines within arguments and before "at" and "from".
// depth is how many parentheses are open.
func wrapped(l *lines, frame string, depth int) bool {
	next, ok := l.peek()
	if !ok || !strings.HasPrefix(next, " ") {
		return false
	}
	next = strings.TrimLeft(next, " ")
	if strings.HasPrefix(next, "#") {
		return false
	}
	if depth > 0 {
		return true
	}
	return (strings.HasPrefix(next, "at ") || strings.HasPrefix(next, "from ") || strings.HasPrefix(next, "(")) &&
		!strings.Contains(frame, ") at ") && !strings.Contains(frame, ") from ")
}

// gdbDepth is by how many parentheses a piece of text is deeper at its end.
func gdbDepth(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '"', '\'':
			i = endOfQuote(s, i)
		}
	}
	return depth
}

// endOfQuote returns the index of the quote that ends the string or character that begins at i. An apostrophe that no
// other follows within a character's length is none.
func endOfQuote(s string, i int) int {
	quote := s[i]
	limit := len(s)
	if quote == '\'' {
		limit = min(limit, i+7) // '\000'
	}
	for k := i + 1; k < limit; k++ {
		switch s[k] {
		case '\\':
			k++
		case quote:
			return k
		}
	}
	if quote == '\'' {
		return i
	}
	return len(s)
}

// parseGDB reads a frame behind its number: [0xPC in ]function (arguments)[ at file:line][ from library].
func (f *RefFrame) parseGDB(s string, number int) error {
	if strings.HasPrefix(s, "<signal handler called>") {
		f.Signal = true
		return nil
	}
	if strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">") { // <function called from gdb> and the like
		f.Function = s
		return nil
	}
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		pc, rest, _ := strings.Cut(rest, " ")
		v, err := strconv.ParseUint(pc, 16, 64)
		if err != nil {
			return syntaxError(number, "expected an address, found %.40q", "0x"+pc)
		}
		f.PC, f.HasPC = v, true
		if s, ok = strings.CutPrefix(rest, "in "); !ok {
			if rest == "" {
				return nil
			}
			return syntaxError(number, "expected \"in\" behind the address, found %.60q", rest)
		}
	}
	name, where, ok := cutArguments(s)
	if !ok {
		return syntaxError(number, "expected function (arguments) at file:line, found %.80q", s)
	}
	f.Function = known(name)
	if lib, ok := strings.CutPrefix(where, " from "); ok {
		f.Module = baseName(lib)
	} else if source, ok := strings.CutPrefix(where, " at "); ok {
		f.File, f.SrcLine = cutSource(source)
	}
	return nil
}

// cutArguments splits "name (arguments) at …" before the arguments and behind them. Names have parentheses, too: the
// arguments are the first that stand behind a blank and have nothing or the position behind them.
func cutArguments(s string) (name, where string, ok bool) {
	for i := 1; i < len(s); i++ {
		if s[i] != '(' || s[i-1] != ' ' {
			continue
		}
		end := closing(s, i)
		if end < 0 {
			return "", "", false
		}
		where = s[end+1:]
		if where == "" || strings.HasPrefix(where, " at ") || strings.HasPrefix(where, " from ") {
			return s[:i-1], where, true
		}
		i = end
	}
	return "", "", false
}

// closing returns the index of the parenthesis that closes the one at i, -1 for none.
func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		case '"', '\'':
			i = endOfQuote(s, i)
		}
	}
	return -1
}
