package symdiff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// deltaRow is a STACK CFI record of an INIT's range.
type deltaRow struct {
	addr  uint64
	order int
	text  int32 // number of the text
}

// ruleReader makes meaning of rule texts.
type ruleReader struct {
	list postfix.RuleList
	buf  []byte
}

// cfiSpans returns the unwind state of a unit by offset. Values are states: keys and values are texts of the table.
func (d *detailer) cfiSpans(u *unit, reach uint64, dst []span) []span {
	for i := u.inits[0]; i < u.inits[1]; i++ {
		dst = d.initSpans(&d.m.inits[i], u.addr, reach, dst)
	}
	return dst
}

func (d *detailer) initSpans(e *initial, base, reach uint64, dst []span) []span {
	d.deltas = d.deltas[:0]
	state := int32(0)
	first := true
	d.scan.Reset(d.m.data, int(e.off), int(e.end), 1)
	for d.scan.Next() {
		r := d.scan.Record()
		if !r.Usable || r.Kind != symfile.StackCFI && !(first && r.Kind == symfile.StackCFIInit) {
			continue
		}
		text := d.states.text(d.m.data[r.Text.Off:r.Text.End])
		if first {
			state = d.step(0, text)
			first = false
		} else if r.Addr-e.addr < e.size {
			d.deltas = append(d.deltas, deltaRow{r.Addr, len(d.deltas), text})
		}
	}
	if e.close { // records that stand elsewhere reach in: Google's reader finds them by address
		i, _ := slices.BinarySearchFunc(d.m.strays, e.addr, func(s stray, a uint64) int { return cmp.Compare(s.addr, a) })
		for ; i < len(d.m.strays) && d.m.strays[i].addr-e.addr < e.size; i++ {
			r := d.m.record(&d.scan, d.m.strays[i].off)
			text := d.states.text(d.m.data[r.Text.Off:r.Text.End])
			d.deltas = append(d.deltas, deltaRow{d.m.strays[i].addr, len(d.deltas), text})
		}
	}
	byAddress := func(a, b deltaRow) int { return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.order, b.order)) }
	if !slices.IsSortedFunc(d.deltas, byAddress) {
		slices.SortFunc(d.deltas, byAddress)
	}
	at := e.addr
	tell := func(until uint64) {
		from, to := int64(at-base), int64(until-base)
		if at < base {
			from = 0
		}
		if until <= base || to <= from {
			return
		}
		dst = appendSpan(dst, span{uint64(from), min(uint64(to), reach), uint64(state)})
	}
	for i, row := range d.deltas {
		if i+1 < len(d.deltas) && d.deltas[i+1].addr == row.addr {
			continue // the later record replaces it
		}
		tell(row.addr)
		at = row.addr
		state = d.step(state, row.text)
	}
	tell(e.limit())
	return dst
}

// step returns the state that a text makes of another.
func (d *detailer) step(state, text int32) int32 {
	key := uint64(state)<<32 | uint64(uint32(text))
	if n, ok := d.states.steps[key]; ok {
		return n
	}
	set := d.rules.read(d.states, text)
	merged := slices.Clone(d.states.states[state])
	for _, e := range set {
		i, found := slices.BinarySearchFunc(merged, e.key, func(x entry, k int32) int { return cmp.Compare(x.key, k) })
		if found {
			merged[i] = e
		} else if len(merged) < maxEntries {
			merged = slices.Insert(merged, i, e)
		}
	}
	n := d.states.number(merged)
	d.states.steps[key] = n
	return n
}

const unreadable = "unreadable"

// read returns what a rule text sets.
func (r *ruleReader) read(t *stateTable, text int32) []entry {
	raw := []byte(t.strings[text])
	r.list.Parse(raw)
	rules := r.list.Rules
	if !r.list.OK() {
		rules = rules[:min(r.list.Accepted, len(rules))]
	}
	var out []entry
	for _, rule := range rules {
		r.buf = appendMeaning(r.buf[:0], rule.Expr(raw))
		val := t.text(r.buf)
		out = append(out, entry{t.text(rule.Name(raw)), val})
	}
	if !r.list.OK() {
		out = append(out, entry{t.text([]byte(unreadable)), text})
	}
	return out
}

// appendMeaning writes what an expression computes: "$rsp+8", "[.cfa-16]" for what lies there, ".cfa-8". Forms that
// no writer of call frame information uses stay as they are, but for blanks.
func appendMeaning(b, expr []byte) []byte {
	s := postfix.ShapeOf(expr)
	sum := func() {
		b = append(b, s.Register(expr)...)
		if s.Offset > 0 {
			b = append(b, '+')
		}
		if s.Offset != 0 {
			b = strconv.AppendInt(b, s.Offset, 10)
		}
	}
	switch s.Kind {
	case postfix.Reg, postfix.RegOffset, postfix.CFAOffset:
		sum()
	case postfix.DerefCFA, postfix.DerefReg:
		b = append(b, '[')
		sum()
		b = append(b, ']')
	case postfix.Const:
		b = strconv.AppendInt(b, s.Offset, 10)
	case postfix.UndefRule:
		b = append(b, "undefined"...)
	default:
		b = append(b, '{')
		for i, word := range strings.Fields(string(expr)) {
			if i > 0 {
				b = append(b, ' ')
			}
			b = append(b, word...)
		}
		b = append(b, '}')
	}
	return b
}

// winRow is a STACK WIN record, told apart by where and what kind it is.
type winRow struct {
	from, size uint64
	typ        uint64
	text       string
}

// winRows returns the STACK WIN records of a unit by offset and type.
func (d *detailer) winRows(u *unit) []winRow {
	var out []winRow
	for i := u.wins[0]; i < u.wins[1]; i++ {
		w := &d.m.wins[i]
		r := d.m.record(&d.scan, w.off)
		f := &r.Win
		text := strings.Join(strings.Fields(string(d.m.data[r.Text.Off:r.Text.End])), " ")
		switch {
		case f.HasProgram != 0:
			text = "program {" + text + "}"
		case text == "0":
			text = "keeps the base pointer"
		case text == "1":
			text = "uses the base pointer otherwise"
		}
		hex := func(name string, v uint64) string { return name + " 0x" + strconv.FormatUint(v, 16) + ", " }
		text = hex("size", w.size) + hex("prolog", f.Prolog) + hex("epilog", f.Epilog) + hex("params", r.ParamSize) +
			hex("saved registers", f.SavedRegs) + hex("locals", f.Locals) + hex("most stack", f.MaxStack) + text
		row := winRow{w.addr - u.addr, w.size, f.Type, text}
		if n := len(out); n == 0 || out[n-1] != row {
			out = append(out, row)
		}
	}
	return out
}
