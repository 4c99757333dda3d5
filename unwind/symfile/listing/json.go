package listing

import (
	"strconv"
	"unicode/utf8"

	"github.com/symlint/symlint/unwind/symfile"
)

// jsonSink writes a listing as JSON, one record a line.
type jsonSink struct {
	out
	state   jsonState
	section int  // of the symbol: the array that is open
	first   bool // nothing stands in the innermost open array
	rows    bool // an element of unwind is open
}

type jsonState int

const (
	inFiles jsonState = iota
	inSymbols
	inUnreadable
)

// The arrays of a symbol, in order; 0 is none. Rows stand in the elements of the third.
const (
	lines = iota + 1
	inlines
	unwinds
	wins
)

var sectionNames = [...]string{lines: "lines", inlines: "inlines", unwinds: "unwind", wins: "win"}

func (j *jsonSink) s(s string)        { j.b = append(j.b, s...) }
func (j *jsonSink) text(b []byte)     { j.b = appendJSON(j.b, b) }
func (j *jsonSink) string(s string)   { j.text([]byte(s)) }
func (j *jsonSink) int(v int64)       { j.b = strconv.AppendInt(j.b, v, 10) }
func (j *jsonSink) bool(v bool)       { j.b = strconv.AppendBool(j.b, v) }
func (j *jsonSink) open(array string) { j.s(array); j.first = true }

func (j *jsonSink) hex(v uint64) {
	j.s(`"0x`)
	j.b = append(strconv.AppendUint(j.b, v, 16), '"')
}

func (j *jsonSink) offset(v int64) {
	if v >= 0 {
		j.hex(uint64(v))
		return
	}
	j.s(`"-0x`)
	j.b = append(strconv.AppendUint(j.b, uint64(-v), 16), '"')
}

func (j *jsonSink) span(x span) {
	j.s(`{"offset":`)
	j.offset(x.offset)
	j.s(`,"size":`)
	j.hex(x.size)
}

// item begins an element of the open array.
func (j *jsonSink) item() {
	if !j.first {
		j.s(",")
	}
	j.first = false
	j.s("\n")
	j.flushed()
}

func (j *jsonSink) head(h *head) {
	j.s(`{"version":1,"module":`)
	if m := &h.module; m.Line == 0 {
		j.s("null")
	} else {
		j.s(`{"os":`)
		j.string(m.OS)
		j.s(`,"arch":`)
		j.string(m.Arch)
		j.s(`,"id":`)
		j.string(m.ID)
		j.s(`,"name":`)
		j.string(m.Name)
		j.s("}")
	}
	j.open(`,"info":[`)
	for _, info := range h.infos {
		j.item()
		j.text(info)
	}
	j.open(`],"files":[`)
}

func (j *jsonSink) file(name []byte) {
	j.item()
	j.text(name)
}

// reach closes and opens arrays of the file up to one of them.
func (j *jsonSink) reach(state jsonState) {
	for j.state < state {
		j.state++
		if j.state == inSymbols {
			j.open(`],"symbols":[`)
		} else {
			j.open(`],"unreadable":[`)
		}
	}
}

func (j *jsonSink) symbol(s *symbol) {
	j.reach(inSymbols)
	j.item()
	j.s(`{"record":`)
	if s.kind == symfile.Unknown {
		j.s("null")
	} else {
		j.string(s.kind.String())
	}
	j.s(`,"name":`)
	j.text(s.name)
	j.s(`,"address":`)
	j.hex(s.addr)
	j.s(`,"size":`)
	j.hex(s.size)
	j.s(`,"param_size":`)
	j.hex(s.params)
	j.s(`,"multiple":`)
	j.bool(s.multiple)
	j.section = 0
}

// begin closes and opens arrays of the symbol up to one of them.
func (j *jsonSink) begin(section int) {
	for j.section < section {
		j.leave()
		j.section++
		j.open(`,"` + sectionNames[j.section] + `":[`)
	}
}

// leave closes the open array of the symbol.
func (j *jsonSink) leave() {
	if j.rows {
		j.s("]}")
		j.rows = false
	}
	if j.section > 0 {
		j.s("]")
	}
}

func (j *jsonSink) source(x *source, file, number string) {
	j.s(file)
	if x.known {
		j.text(x.file)
	} else {
		j.s("null")
	}
	j.s(number)
	j.int(x.number)
}

func (j *jsonSink) line(x *line) {
	j.begin(lines)
	j.item()
	j.span(x.span)
	j.source(&x.source, `,"file":`, `,"line":`)
	j.s("}")
}

func (j *jsonSink) inline(x *inline) {
	j.begin(inlines)
	j.item()
	j.s(`{"nest":`)
	j.int(x.nest)
	j.s(`,"name":`)
	if x.known {
		j.text(x.name)
	} else {
		j.s("null")
	}
	j.source(&x.call, `,"call_file":`, `,"call_line":`)
	j.s(`,"ranges":[`)
	for i, r := range x.ranges {
		if i > 0 {
			j.s(",")
		}
		j.span(r)
		j.s("}")
	}
	j.s("]}")
}

func (j *jsonSink) unwind(x *unwind) {
	j.begin(unwinds)
	if j.rows {
		j.s("]}")
		j.first = false
	}
	j.item()
	j.span(x.span)
	j.open(`,"rows":[`)
	j.rows = true
}

func (j *jsonSink) row(x *row) {
	j.item()
	j.s(`{"offset":`)
	j.offset(x.offset)
	j.s(`,"rules":{`)
	for i, r := range x.rules {
		if i > 0 {
			j.s(",")
		}
		j.string(r.key)
		j.s(":")
		j.string(r.meaning)
	}
	j.s(`},"partial":`)
	j.bool(x.partial)
	j.s(`,"unreadable":`)
	if len(x.unreadable) > 0 {
		j.text(x.unreadable)
	} else {
		j.s("null")
	}
	j.s("}")
}

func (j *jsonSink) win(x *win) {
	j.begin(wins)
	j.item()
	j.span(x.span)
	j.s(`,"type":`)
	j.int(int64(x.Type))
	for _, f := range []struct {
		name  string
		value uint64
	}{
		{"prolog", x.Prolog}, {"epilog", x.Epilog}, {"param_size", x.params}, {"saved_regs", x.SavedRegs},
		{"locals", x.Locals}, {"max_stack", x.MaxStack},
	} {
		j.s(`,"` + f.name + `":`)
		j.hex(f.value)
	}
	if x.HasProgram != 0 {
		j.s(`,"program":`)
		j.string(x.program)
		j.s(`,"allocates_base_pointer":null}`)
		return
	}
	j.s(`,"program":null,"allocates_base_pointer":`)
	j.bool(len(x.flag) == 0 || x.flag[0] != '0')
	j.s("}")
}

func (j *jsonSink) end() {
	j.begin(wins)
	j.leave()
	j.section = 0
	j.s("}")
	j.first = false
}

func (j *jsonSink) unreadable(text []byte) {
	j.reach(inUnreadable)
	j.item()
	j.text(text)
}

func (j *jsonSink) close() {
	j.reach(inUnreadable)
	j.s("]}\n")
}

// appendJSON appends a text of the file as a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendJSON(b, text []byte) []byte {
	b = append(b, '"')
	for len(text) > 0 {
		c := text[0]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			const digits = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRune(text)
			b = utf8.AppendRune(b, r)
			text = text[n:]
			continue
		}
		text = text[1:]
	}
	return append(b, '"')
}
