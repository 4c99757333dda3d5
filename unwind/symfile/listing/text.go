package listing

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/symlint/symlint/unwind/symfile"
)

// textSink writes a listing for people.
type textSink struct {
	out
	options Options
	section string // of the symbol, that was begun last
	rested  bool   // the unreadable records have begun
}

func (t *textSink) s(s string)      { t.b = append(t.b, s...) }
func (t *textSink) text(b []byte)   { t.b = appendPrintable(t.b, b) }
func (t *textSink) string(s string) { t.text([]byte(s)) }
func (t *textSink) hex(v uint64)    { t.b = strconv.AppendUint(append(t.b, "0x"...), v, 16) }
func (t *textSink) int(v int64)     { t.b = strconv.AppendInt(t.b, v, 10) }

func (t *textSink) field(name string, v uint64) {
	t.s(name)
	t.s(" ")
	t.hex(v)
}

func (t *textSink) newline() {
	t.b = append(t.b, '\n')
	t.flushed()
}

func (t *textSink) head(h *head) {
	if m := &h.module; m.Line > 0 {
		t.s("MODULE")
		for _, s := range []string{m.OS, m.Arch, m.ID, m.Name} {
			t.s(" ")
			t.string(s)
		}
		t.newline()
	}
	for _, info := range h.infos {
		t.s("INFO ")
		t.text(info)
		t.newline()
	}
}

func (t *textSink) file(name []byte) {
	t.s("FILE ")
	t.text(name)
	t.newline()
}

func (t *textSink) symbol(s *symbol) {
	t.section = ""
	t.newline()
	if s.kind == symfile.Unknown {
		t.s("no symbol")
	} else {
		t.s(s.kind.String())
		t.s(" ")
		t.text(s.name)
	}
	t.newline()
	if !t.options.NoAddresses {
		t.field("  address", s.addr)
		t.newline()
	}
	if s.kind == symfile.Func {
		t.field("  size", s.size)
		t.newline()
	}
	if s.params != 0 {
		t.field("  parameters", s.params)
		t.newline()
	}
	if s.multiple {
		t.s("  shared by several symbols\n")
	}
}

// begin opens a section of a symbol, unless it is open.
func (t *textSink) begin(section string) {
	if t.section != section {
		t.section = section
		t.s("  ")
		t.s(section)
		t.newline()
	}
}

// offset writes an offset, which is negative before the symbol.
func (t *textSink) offset(v int64) {
	if v < 0 {
		t.s("-")
		v = -v
	}
	t.hex(uint64(v))
}

func (t *textSink) span(x span) {
	t.offset(x.offset)
	t.s("..")
	t.offset(x.offset + int64(x.size))
}

// pad fills up the column that began at a position.
func (t *textSink) pad(from int) {
	const column = 16
	t.b = append(t.b, ' ')
	for len(t.b)-from < column {
		t.b = append(t.b, ' ')
	}
}

func (t *textSink) place(x *source) {
	switch {
	case x.known:
		t.text(x.file)
	case x.id >= 0:
		t.s("FILE ")
		t.int(x.id)
		t.s(", which is missing")
	default:
		t.s("line ")
		t.int(x.number)
		return
	}
	t.s(":")
	t.int(x.number)
}

func (t *textSink) line(x *line) {
	t.begin("lines")
	t.s("    ")
	from := len(t.b)
	t.span(x.span)
	t.pad(from)
	t.place(&x.source)
	t.newline()
}

func (t *textSink) inline(x *inline) {
	t.begin("inlined")
	t.s("    ")
	for range min(max(x.nest, 0), 32) {
		t.s("  ")
	}
	from := len(t.b)
	for i, r := range x.ranges {
		if i > 0 {
			t.s(", ")
		}
		t.span(r)
	}
	t.pad(from)
	if x.known {
		t.text(x.name)
	} else {
		t.s("INLINE_ORIGIN ")
		t.int(x.origin)
		t.s(", which is missing")
	}
	t.s(", called at ")
	t.place(&x.call)
	t.newline()
}

func (t *textSink) unwind(x *unwind) {
	t.section = "unwind"
	t.s("  unwind")
	if !x.whole {
		t.s(" ")
		t.span(x.span)
	}
	t.newline()
}

func (t *textSink) row(x *row) {
	t.s("    ")
	from := len(t.b)
	t.offset(x.offset)
	t.pad(from)
	if x.partial {
		t.s("as before, but ")
	}
	for i, r := range x.rules {
		if i > 0 {
			t.s(", ")
		}
		t.string(r.shown)
		t.s(" ")
		t.string(r.meaning)
	}
	if len(x.unreadable) > 0 {
		if len(x.rules) > 0 {
			t.s(", ")
		}
		t.s("not readable: ")
		t.text(x.unreadable)
	}
	t.newline()
}

func (t *textSink) win(x *win) {
	t.begin("stack win")
	t.s("    ")
	from := len(t.b)
	t.span(x.span)
	t.pad(from)
	t.s("type ")
	t.int(int64(x.Type))
	t.field(", prolog", x.Prolog)
	t.field(", epilog", x.Epilog)
	t.field(", parameters", x.params)
	t.field(", saved registers", x.SavedRegs)
	t.field(", locals", x.Locals)
	t.field(", stack", x.MaxStack)
	if x.HasProgram == 0 {
		t.s(", allocates base pointer ")
		t.text(x.flag)
		t.newline()
		return
	}
	t.s("\n                    ")
	t.string(x.program)
	t.newline()
}

func (t *textSink) end() {}

func (t *textSink) unreadable(text []byte) {
	if !t.rested {
		t.rested = true
		t.s("\nunreadable\n")
	}
	t.s("  ")
	t.text(text)
	t.newline()
}

func (t *textSink) close() {}

// appendPrintable appends a text of the file; what would act on a terminal is escaped.
func appendPrintable(b, text []byte) []byte {
	plain := true
	for _, c := range text {
		if c < ' ' || c > '~' {
			plain = false
			break
		}
	}
	if plain {
		return append(b, text...)
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if unicode.IsPrint(r) && r != utf8.RuneError {
			b = append(b, text[:n]...)
		} else {
			q := strconv.AppendQuote(nil, string(text[:n]))
			b = append(b, q[1:len(q)-1]...)
		}
		text = text[n:]
	}
	return b
}
