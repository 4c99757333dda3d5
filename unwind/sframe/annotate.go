package sframe

import (
	"bufio"
	"fmt"
	"io"
	"sort"
)

// Annotate writes a section's bytes with what they are: every byte once, in the order of their offsets as far as
// functions do not share rows, which is told.
func Annotate(w io.Writer, s *Section) error {
	a := annotator{w: bufio.NewWriterSize(w, 1<<16), s: s}
	fmt.Fprintf(a.w, "%s: %d bytes at 0x%x\n", s.Name, len(s.Data), s.Addr)
	if s.Err != nil {
		fmt.Fprintf(a.w, "not readable: %s\n\n", s.Err)
		a.unknown(len(s.Data), "unused")
		return a.w.Flush()
	}
	a.header()
	a.table()
	a.rows()
	if a.at < s.end {
		a.unknown(min(s.end, len(s.Data)), "unused")
	}
	a.unknown(len(s.Data), "behind the end")
	if s.end > len(s.Data) {
		a.note("the section ends here; its header says at 0x%x", s.end)
	}
	return a.w.Flush()
}

type annotator struct {
	w  *bufio.Writer
	s  *Section
	at int // next byte to show
}

// field shows the next n bytes, as many as there are.
func (a *annotator) field(n int, name, format string, args ...any) {
	end := min(a.at+n, len(a.s.Data))
	if a.at >= end {
		return
	}
	fmt.Fprintf(a.w, "%08x  %-24s %-24s ", a.at, fmt.Sprintf("% x", a.s.Data[a.at:end]), name)
	fmt.Fprintf(a.w, format, args...)
	a.w.WriteByte('\n')
	a.at = end
}

// unknown shows bytes without meaning up to an offset.
func (a *annotator) unknown(end int, name string) {
	for a.at < end {
		a.field(min(8, end-a.at), name, "")
	}
}

func (a *annotator) note(format string, args ...any) {
	a.w.WriteString("          ; ")
	fmt.Fprintf(a.w, format, args...)
	a.w.WriteByte('\n')
}

func (a *annotator) title(format string, args ...any) {
	a.w.WriteByte('\n')
	fmt.Fprintf(a.w, format, args...)
	a.w.WriteByte('\n')
}

func (a *annotator) header() {
	h := &a.s.Header
	order := "little-endian"
	if a.s.BigEndian {
		order = "big-endian"
	}
	a.title("Header")
	a.field(2, "magic", "0x%04x, %s", h.Magic, order)
	a.field(1, "version", "%d", h.Version)
	a.field(1, "flags", "%s", h.Flags)
	a.field(1, "ABI", "%s", h.ABI)
	a.field(1, "fixed FP offset", "%s", fixed(h.FixedFP))
	a.field(1, "fixed RA offset", "%s", fixed(h.FixedRA))
	a.field(1, "auxiliary header length", "%d", h.AuxLen)
	a.field(4, "functions", "%d", h.NumFDEs)
	a.field(4, "rows", "%d", h.NumFREs)
	a.field(4, "length of rows", "%d, to 0x%x", h.FRELen, a.s.end)
	a.field(4, "function table at", "+%d = 0x%x", h.FDEOff, a.s.tableAt)
	a.field(4, "rows at", "+%d = 0x%x", h.FREOff, a.s.rowsAt)
	if aux := a.s.Aux(); len(aux) > 0 {
		a.title("Auxiliary header")
		a.unknown(a.at+len(aux), "auxiliary header")
	}
}

func fixed(v int8) string {
	if v == 0 {
		return "none"
	}
	return fmt.Sprintf("CFA%+d", v)
}

func (a *annotator) table() {
	s := a.s
	if s.n > 0 {
		a.title("Function table")
	}
	a.unknown(min(s.tableAt, len(s.Data)), "unused")
	for i := range s.n {
		d := s.FDE(i)
		a.note("function %d", i)
		width := 4
		if s.Header.Version == v3 {
			width = 8
		}
		a.field(width, "start", "%+d: 0x%x", d.Field, d.Start)
		a.field(4, "size", "%d: up to 0x%x", d.Size, d.End())
		a.field(4, "rows at", "+%d = 0x%x", d.RowOffset, uint64(s.rowsAt)+uint64(d.RowOffset))
		if s.Header.Version == v3 {
			continue
		}
		a.field(4, "rows", "%d", d.NumRows)
		a.field(1, "info", "%s", d.describe())
		if s.Header.Version == 2 {
			a.field(1, "repeated block", "%d", d.RepSize)
			a.field(2, "padding", "0x%04x", d.Padding)
		}
	}
}

// describe tells what the info byte says.
func (d *FDE) describe() string {
	text := "undefined row type"
	if width := d.StartWidth(); width > 0 {
		text = fmt.Sprintf("row starts of %d bytes", width)
	}
	if d.Mask() {
		text += ", repeated block"
	} else {
		text += ", plain"
	}
	if d.BKey() {
		text += ", key B"
	}
	if d.Signal() {
		text += ", signal frame"
	}
	return text
}

// rows shows the functions' rows by offset.
func (a *annotator) rows() {
	s := a.s
	type place struct{ at, function int }
	var places []place
	for i := range s.n {
		d := s.FDE(i)
		at := d.rows
		if d.Attr >= 0 {
			at = d.Attr
		}
		if at >= 0 && (d.NumRows > 0 || d.Attr >= 0) {
			places = append(places, place{at, i})
		}
	}
	sort.SliceStable(places, func(i, j int) bool { return places[i].at < places[j].at })
	if s.rowsAt < len(s.Data) && len(places) > 0 {
		a.title("Rows")
	}
	for _, p := range places {
		if p.at < a.at {
			a.note("function %d has its rows at 0x%x, among those shown", p.function, p.at)
			continue
		}
		a.unknown(p.at, "unused")
		a.functionRows(s.FDE(p.function))
	}
}

func (a *annotator) functionRows(d FDE) {
	a.note("function %d, 0x%x", d.Index, d.Start)
	if d.Attr >= 0 {
		a.field(2, "rows", "%d", d.NumRows)
		a.field(1, "info", "%s", d.describe())
		kind := "default"
		if d.Flex() {
			kind = "flexible"
		} else if d.Type() != 0 {
			kind = "undefined"
		}
		a.field(1, "info 2", "%s (%d)", kind, d.Type())
		a.field(1, "repeated block", "%d", d.RepSize)
	}
	it := d.Rows()
	for it.Next() {
		a.row(&it.Row)
	}
	if p := it.Problem(); p != nil {
		a.note("%s", p.Text)
	}
}

func (a *annotator) row(r *Row) {
	pc := r.FDE.Start
	if r.FDE.Mask() {
		a.field(r.FDE.StartWidth(), "row start", "+%d to +%d of each block", r.Start, r.End)
	} else {
		a.field(r.FDE.StartWidth(), "row start", "+%d: 0x%x", r.Start, pc+uint64(r.Start))
	}
	base := "FP"
	if r.BaseSP {
		base = "SP"
	}
	signed := ""
	if r.RASigned {
		signed = ", signed RA"
	}
	switch {
	case r.Outermost:
		a.field(1, "row info", "no words: RA undefined%s", signed)
		return
	case r.FDE.Flex():
		a.field(1, "row info", "%d words of %d bytes%s", r.N, r.WordSize, signed)
	default:
		a.field(1, "row info", "base %s, %d words of %d bytes%s", base, r.N, r.WordSize, signed)
	}
	if r.Fault != 0 {
		for i := range r.N {
			a.field(r.WordSize, "word", "%d", r.Word(i))
		}
		a.note("these words have no meaning: %s", r.Fault)
		return
	}
	next := 0
	show := func(name string, rule *Rule, counts bool) {
		switch {
		case !counts || next >= r.N:
		case rule.Padded:
			a.field(r.WordSize, name, "0: padding")
			next++
		case r.FDE.Flex():
			a.field(r.WordSize, name+" control", "0x%x", r.ControlWord(next))
			a.field(r.WordSize, name+" offset", "%d: %s", r.Word(next+1), rule)
			next += 2
		default:
			a.field(r.WordSize, name, "%d: %s", r.Word(next), rule)
			next++
		}
	}
	h := &a.s.Header
	show("CFA", &r.CFA, true)
	show("RA", &r.RA, r.FDE.Flex() || h.FixedRA == 0)
	show("FP", &r.FP, r.FDE.Flex() || h.FixedFP == 0)
}
