package replay

import (
	"strconv"
	"strings"
)

// isTextLine reports whether a line can only be of minidump_stackwalk's text.
func isTextLine(line string) bool {
	if strings.HasPrefix(line, "Operating system: ") {
		return true
	}
	if rest, ok := strings.CutPrefix(line, "Thread "); ok {
		_, _, ok := cutNumber(rest)
		return ok && !strings.HasSuffix(line, ":")
	}
	return false
}

// cutNumber splits a decimal number from the start of text.
func cutNumber(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && i < 10 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	return n, s[i:], i > 0 && i < 10
}

// textParser reads what stackwalk_common.cc prints, and rust-minidump's human text, which has the same frames.
type textParser struct {
	*builder
	frame   *RefFrame // whose registers come next; nil outside of frames
	modules bool      // the list of modules has begun
	done    bool      // and ended
	rust    bool      // rust-minidump wrote it: offsets are those of the address that symbols are looked up with
}

func parseText(data []byte) (*Reference, error) {
	p := &textParser{builder: newBuilder(FormatText)}
	for l := newLines(data); l.next(); {
		if err := p.line(l.text, l.number); err != nil {
			return nil, err
		}
	}
	for i := range p.ref.Threads {
		for k := range p.ref.Threads[i].Frames {
			p.ref.Threads[i].Frames[k].fromRegisters()
		}
	}
	return p.ref, nil
}

func (p *textParser) line(line string, number int) error {
	switch {
	case p.done:
		return nil
	case line == "":
		p.frame = nil
		return nil
	case p.modules:
		p.moduleLine(line)
		return nil
	case strings.HasPrefix(line, "Thread "):
		return p.threadLine(line, number)
	case strings.HasPrefix(line, "CPU: "):
		p.ref.CPU = strings.TrimSpace(line[len("CPU: "):])
		return nil
	case line == "Loaded modules:":
		p.modules = true
		p.frame = nil
		return nil
	}
	if len(p.ref.Threads) == 0 {
		return nil // the head
	}
	if level, rest, ok := cutLevel(line); ok {
		return p.frameLine(level, rest, number)
	}
	if p.frame == nil {
		return nil
	}
	text := strings.TrimSpace(line)
	if by, ok := strings.CutPrefix(text, "Found by: "); ok {
		p.frame.Trust = TrustName(by)
		p.frame.Inline = p.frame.Trust == "inline"
		if p.frame.Inline {
			p.frame.OffsetKind = PCInstruction
		}
		p.frame = nil
		return nil
	}
	return p.registers(text, number)
}

// cutLevel takes the number from the first line of a frame: two columns wide at least, with two blanks behind it.
func cutLevel(line string) (level int, rest string, ok bool) {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 1 {
		return 0, "", false
	}
	level, rest, ok = cutNumber(trimmed)
	if !ok || !strings.HasPrefix(rest, "  ") {
		return 0, "", false
	}
	return level, rest[2:], true
}

// threadLine reads "Thread 0 (crashed)", behind which rust-minidump has a name and " - tid: 1".
func (p *textParser) threadLine(line string, number int) error {
	n, rest, ok := cutNumber(line[len("Thread "):])
	if !ok {
		return syntaxError(number, "expected the number of a thread: %.60q", line)
	}
	t := RefThread{Index: n, Line: number}
	t.Crashed = strings.Contains(rest, "(crashed)") || strings.Contains(rest, "(requested dump, did not crash)")
	if i := strings.LastIndex(rest, " - tid: "); i >= 0 {
		id, err := strconv.ParseUint(strings.TrimSpace(rest[i+len(" - tid: "):]), 0, 32)
		if err == nil {
			t.LWP = uint32(id)
		}
		p.rust = true
	}
	p.frame = nil
	return p.thread(t)
}

func (p *textParser) frameLine(level int, rest string, number int) error {
	f := RefFrame{Level: level, Line: number, OffsetKind: PCPrinted}
	if !f.parseLocation(rest) {
		return syntaxError(number, "expected module!function [file : line + 0xOFFSET], module + 0xOFFSET or an address: %.80q",
			rest)
	}
	if p.rust {
		f.OffsetKind = PCInstruction
	}
	t := p.current()
	if level != len(t.Frames) {
		return syntaxError(number, "frame %d follows %d frames of the thread", level, len(t.Frames))
	}
	if err := p.builder.frame(t, f); err != nil {
		return err
	}
	p.frame = &t.Frames[len(t.Frames)-1]
	return nil
}

// parseLocation reads the first line of a frame behind its number.
func (f *RefFrame) parseLocation(s string) bool {
	s = strings.TrimRight(s, " ")
	if addr, ok := strings.CutPrefix(s, "0x"); ok {
		addr, _, _ = strings.Cut(addr, " ") // rust-minidump: the unloaded modules that were there
		if v, err := strconv.ParseUint(addr, 16, 64); err == nil {
			f.PC, f.HasPC, f.PCKind = v, true, PCPrinted
			return true
		}
	}
	if strings.HasSuffix(s, "]") {
		open := strings.LastIndex(s, " [")
		for open >= 0 && !f.parseSource(s[open+2:len(s)-1]) {
			open = strings.LastIndex(s[:open], " [")
		}
		if open >= 0 {
			return f.parseFunction(s[:open])
		}
	}
	plus := strings.LastIndex(s, " + 0x")
	if plus < 0 {
		return false
	}
	v, err := strconv.ParseUint(s[plus+len(" + 0x"):], 16, 64)
	if err != nil {
		return false
	}
	if strings.IndexByte(s[:plus], '!') >= 0 {
		f.FunctionOffset, f.HasFunctionOffset = v, true
		return f.parseFunction(s[:plus])
	}
	f.Module = s[:plus]
	f.ModuleOffset, f.HasModuleOffset = v, true
	return f.Module != ""
}

// parseSource reads "file : line + 0xOFFSET".
func (f *RefFrame) parseSource(s string) bool {
	colon := strings.LastIndex(s, " : ")
	if colon < 0 {
		return false
	}
	number, offset, ok := strings.Cut(s[colon+3:], " + 0x")
	if !ok {
		return false
	}
	n, err := strconv.ParseInt(number, 10, 64)
	v, err2 := strconv.ParseUint(offset, 16, 64)
	if err != nil || err2 != nil {
		return false
	}
	f.File, f.SrcLine = s[:colon], lineNumber(n)
	f.LineOffset, f.HasLineOffset = v, true
	return true
}

func (f *RefFrame) parseFunction(s string) bool {
	var ok bool
	f.Module, f.Function, ok = strings.Cut(s, "!")
	return ok && f.Function != ""
}

// lineNumber is a source line, 0 for what cannot be one.
func lineNumber(n int64) int {
	if n < 0 || n > 1<<31-1 {
		return 0
	}
	return int(n)
}

// registers reads "eip = 0x1 esp = 0x2". Other text within a frame, such as the stack's contents, is passed over.
func (p *textParser) registers(text string, number int) error {
	for text != "" {
		name, rest, ok := strings.Cut(text, " = 0x")
		if !ok || name == "" || strings.ContainsAny(name, " \t(*") {
			return nil
		}
		value, rest, _ := strings.Cut(rest, " ")
		v, err := strconv.ParseUint(value, 16, 64)
		if err != nil {
			return syntaxError(number, "expected a hexadecimal value of register %.20q, found %.40q", name, value)
		}
		if len(p.frame.Registers) < maxRegisters {
			p.frame.Registers = append(p.frame.Registers, RefRegister{name, v})
		}
		text = strings.TrimLeft(rest, " ")
	}
	return nil
}

const maxRegisters = 256 // of a frame

// fromRegisters sets the program counter and stack pointer of a frame from its registers.
func (f *RefFrame) fromRegisters() {
	ppc := false
	for _, r := range f.Registers {
		ppc = ppc || r.Name == "srr0"
	}
	for _, r := range f.Registers {
		switch r.Name {
		case "eip", "rip", "pc", "srr0", "pswa":
			f.PC, f.HasPC, f.PCKind = r.Value, true, PCRegister
		case "esp", "rsp", "sp":
			f.SP, f.HasSP = r.Value, true
		case "r1":
			if ppc {
				f.SP, f.HasSP = r.Value, true
			}
		}
	}
}

// moduleLine reads "0x0001 - 0x0002  name  version  (main)  (WARNING: …)".
func (p *textParser) moduleLine(line string) {
	from, rest, ok := strings.Cut(line, " - ")
	if !ok || !strings.HasPrefix(line, "0x") {
		p.done = true // rust-minidump has more behind the modules
		return
	}
	to, rest, ok := strings.Cut(rest, "  ")
	if !ok {
		return
	}
	base, err := strconv.ParseUint(from, 0, 64)
	end, err2 := strconv.ParseUint(to, 0, 64)
	if err != nil || err2 != nil || len(p.ref.Modules) >= maxModules {
		return
	}
	name, _, _ := strings.Cut(rest, "  ")
	p.ref.Modules = append(p.ref.Modules, RefModule{name, base, end})
}

const maxModules = 1 << 20

// TrustName returns the short name for a trust level as tools spell it: context, cfi, cfi_scan, frame_pointer, scan,
// prewalked, leaf, inline; "" for none.
func TrustName(text string) string {
	switch text {
	case "given as instruction pointer in context", "context":
		return "context"
	case "call frame info", "cfi":
		return "cfi"
	case "call frame info with scanning", "cfi_scan":
		return "cfi_scan"
	case "previous frame's frame pointer", "frame_pointer":
		return "frame_pointer"
	case "stack scanning", "scan":
		return "scan"
	case "recovered by external stack walker", "prewalked":
		return "prewalked"
	case "simulating a return from leaf function", "leaf":
		return "leaf"
	case "inline record", "inlining":
		return "inline"
	}
	return ""
}
