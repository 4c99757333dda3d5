package symdiff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Detail is what differs within a function. Offsets count bytes from its start.
type Detail struct {
	Lines, Inlines, CFI, Win []Delta
	// LineShift: all lines of the function moved by this in one source file, and nothing else is different about them.
	LineShift int64
	// Rows are what both files say of the whole function, differing or not, for those of the above that differ.
	LineRows, InlineRows, CFIRows [2][]Row
}

// Delta says that from offset From up to To something is different.
type Delta struct {
	From, To uint64
	// What is different: "CFA", "RA", a register; "line"; "level 0" and so on of inlined calls; "STACK WIN type 4". It is
	// "unwind rows" or "inlined calls" where one side has none at all.
	What     string
	Old, New string // "" = nothing
}

// Row is what one file says of the offsets from From up to To.
type Row struct {
	From, To uint64
	Text     string
}

// Detailer tells what differs in changes of a result. It belongs to one goroutine.
type Detailer struct {
	x      *examiner
	dollar bool
}

// NewDetailer returns a detailer for the changes of the result.
func (r *Result) NewDetailer() *Detailer {
	return &Detailer{r.c.newExaminer(), dollar(r.Old.Arch) && dollar(r.New.Arch)}
}

// Detail reads what differs in a function. With rows, also what does not differ is told.
func (d *Detailer) Detail(ch *Change, rows bool) Detail {
	var out Detail
	x := d.x
	if x.states.crowded() {
		x.states.reset()
	}
	c := x.c
	p := ch.pair
	if p.old < 0 || p.new < 0 {
		return out
	}
	a, b := &c.old.units[p.old], &c.new.units[p.new]
	if ch.Aspects.Has(Lines) {
		old := slices.Clone(x.side[0].lines(a))
		new := x.side[1].lines(b)
		eachChange(old, new, func(from, to, o, n uint64) {
			out.Lines = appendDelta(out.Lines, Delta{from, to, "line", x.lineText(o), x.lineText(n)})
		})
		out.LineShift = lineShift(old, new)
		if rows {
			out.LineRows = [2][]Row{rowsOf(old, x.lineText), rowsOf(new, x.lineText)}
		}
	}
	if ch.Aspects.Has(Inlines) {
		x.a, x.b = x.side[0].inlineSpans(a, x.a[:0]), x.side[1].inlineSpans(b, x.b[:0])
		out.Inlines = d.stateDeltas("inlined calls", func(e entry) string { return "level " + strconv.Itoa(int(e.key)) }, d.plain)
		if rows {
			text := func(v uint64) string { return d.stackText(int32(v)) }
			out.InlineRows = [2][]Row{rowsOf(x.a, text), rowsOf(x.b, text)}
		}
	}
	if ch.Aspects.Has(CFI) {
		x.cfi(p)
		out.CFI = d.stateDeltas("unwind rows", func(e entry) string { return d.register(e.key) }, d.rule)
		if rows {
			text := func(v uint64) string { return d.rulesText(int32(v)) }
			out.CFIRows = [2][]Row{rowsOf(x.a, text), rowsOf(x.b, text)}
		}
	}
	if ch.Aspects.Has(Win) {
		out.Win = winDeltas(x.side[0].winRows(a), x.side[1].winRows(b))
	}
	return out
}

func rowsOf(list []span, text func(v uint64) string) []Row {
	out := make([]Row, len(list))
	for i, s := range list {
		out[i] = Row{s.from, s.to, text(s.val)}
	}
	return out
}

// appendDelta joins a delta with the last if it goes on.
func appendDelta(list []Delta, d Delta) []Delta {
	if n := len(list); n > 0 && list[n-1].To == d.From && list[n-1].What == d.What && list[n-1].Old == d.Old && list[n-1].New == d.New {
		list[n-1].To = d.To
		return list
	}
	return append(list, d)
}

// lineText is a source position.
func (x *examiner) lineText(v uint64) string {
	if v == 0 {
		return ""
	}
	return position(x.c.names.short[uint32(v>>32)&^(1<<31)], int64(int32(v)))
}

// lineShift returns by how much all lines moved, 0 if they did not all move alike.
func lineShift(a, b []span) int64 {
	if len(a) != len(b) || len(a) < 2 {
		return 0
	}
	by := int64(int32(b[0].val)) - int64(int32(a[0].val))
	for i := range a {
		if a[i].from != b[i].from || a[i].to != b[i].to || a[i].val>>32 != b[i].val>>32 ||
			int64(int32(b[i].val))-int64(int32(a[i].val)) != by {
			return 0
		}
	}
	return by
}

// stateDeltas compares the states in x.a and x.b entry by entry. Where one side has none at all, that is all it says.
func (d *Detailer) stateDeltas(whole string, name func(e entry) string, value func(old, new int32) (string, string)) []Delta {
	x := d.x
	open := make(map[int32]int) // by key: the last delta of it
	var out []Delta
	var keys []int32
	eachChange(x.a, x.b, func(from, to, o, n uint64) {
		put := func(key int32, what, old, new string) {
			if i, ok := open[key]; ok && out[i].To == from && out[i].Old == old && out[i].New == new {
				out[i].To = to
				return
			}
			open[key] = len(out)
			out = append(out, Delta{from, to, what, old, new})
			keys = append(keys, key)
		}
		a, b := x.states.states[o], x.states.states[n]
		if o == 0 || n == 0 {
			put(-1, whole, d.whole(whole, int32(o)), d.whole(whole, int32(n)))
			return
		}
		for len(a) > 0 || len(b) > 0 {
			var e, f entry
			switch {
			case len(b) == 0 || len(a) > 0 && a[0].key < b[0].key:
				e, a = a[0], a[1:]
				f.key = e.key
			case len(a) == 0 || b[0].key < a[0].key:
				f, b = b[0], b[1:]
				e.key = f.key
			default:
				e, f, a, b = a[0], b[0], a[1:], b[1:]
			}
			if e.val != f.val {
				old, new := value(e.val, f.val)
				put(e.key, name(e), old, new)
			}
		}
	})
	slices.SortStableFunc(out, func(a, b Delta) int { return cmp.Or(cmp.Compare(a.From, b.From), compareWhat(a.What, b.What)) })
	return out
}

// compareWhat puts CFA and RA before the registers.
func compareWhat(a, b string) int {
	rank := func(s string) int {
		switch s {
		case "CFA":
			return 0
		case "RA":
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func (d *Detailer) whole(what string, state int32) string {
	switch {
	case state == 0:
		return ""
	case what == "inlined calls":
		return d.stackText(state)
	}
	return d.rulesText(state)
}

// plain returns the texts of two values.
func (d *Detailer) plain(old, new int32) (string, string) {
	return d.x.states.strings[old], d.x.states.strings[new]
}

// rule returns the texts of two rules, without '$' where it makes no difference.
func (d *Detailer) rule(old, new int32) (string, string) {
	a, b := d.plain(old, new)
	if p, q := d.bare(a), d.bare(b); p != q {
		return p, q
	}
	return a, b
}

// bare is a rule as it is shown.
func (d *Detailer) bare(s string) string {
	if strings.HasPrefix(s, "{") {
		return s
	}
	if d.dollar {
		s = strings.Replace(s, "$", "", 1)
	}
	return strings.Replace(s, ".cfa", "cfa", 1)
}

// register is the name of what a rule recovers.
func (d *Detailer) register(key int32) string {
	s := d.x.states.strings[key]
	switch s {
	case ".cfa":
		return "CFA"
	case ".ra":
		return "RA"
	}
	if d.dollar {
		return strings.TrimPrefix(s, "$")
	}
	return s
}

// rulesText is a whole unwind state: "CFA rsp+16, RA [cfa-8], rbx [cfa-16]".
func (d *Detailer) rulesText(state int32) string {
	list := d.x.states.states[state]
	parts := make([][2]string, len(list))
	for i, e := range list {
		parts[i] = [2]string{d.register(e.key), d.bare(d.x.states.strings[e.val])}
	}
	slices.SortFunc(parts, func(a, b [2]string) int { return compareWhat(a[0], b[0]) })
	var out strings.Builder
	for i, p := range parts {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(p[0] + " " + p[1])
	}
	return out.String()
}

// stackText is a stack of inlined calls, the outermost first.
func (d *Detailer) stackText(state int32) string {
	var parts []string
	for _, e := range d.x.states.states[state] {
		parts = append(parts, d.x.states.strings[e.val])
	}
	return strings.Join(parts, " > ")
}

// winDeltas compares STACK WIN records by offset and type.
func winDeltas(a, b []winRow) []Delta {
	var out []Delta
	order := func(x, y winRow) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.typ, y.typ)) }
	what := func(w winRow) string { return "STACK WIN type " + strconv.FormatUint(w.typ, 10) }
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && order(a[0], b[0]) < 0:
			out, a = append(out, Delta{a[0].from, a[0].from + a[0].size, what(a[0]), a[0].text, ""}), a[1:]
		case len(a) == 0 || order(a[0], b[0]) > 0:
			out, b = append(out, Delta{b[0].from, b[0].from + b[0].size, what(b[0]), "", b[0].text}), b[1:]
		default:
			if a[0].text != b[0].text {
				out = append(out, Delta{a[0].from, a[0].from + max(a[0].size, b[0].size), what(a[0]), a[0].text, b[0].text})
			}
			a, b = a[1:], b[1:]
		}
	}
	return out
}
