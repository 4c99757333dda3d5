package symdiff

import (
	"cmp"
	"slices"

	"github.com/symlint/symlint/unwind/symfile"
)

// detailer reads what the records of single units mean. It belongs to one goroutine.
type detailer struct {
	m     *model
	names *nameTable
	scan  symfile.Scanner
	laid  []laid
	spans []span // of lines, reused

	states  *stateTable
	inlines []inlineRec
	rules   ruleReader
	deltas  []deltaRow
	buf     []byte
}

func (d *detailer) init(m *model, names *nameTable) { d.m, d.names = m, names }

// codeEnd is how far lines of a unit count: nobody looks beyond its code.
func (u *unit) codeEnd() uint64 {
	if u.size == 0 {
		return 1<<64 - 1 - u.addr
	}
	return u.size
}

// eachRow calls f for the usable line and INLINE records of a unit.
func (d *detailer) eachRow(u *unit, f func(r *symfile.Record)) {
	if !u.rows {
		return
	}
	d.scan.Reset(d.m.data, int(u.off), int(u.end), 1)
	for d.scan.Next() {
		if r := d.scan.Record(); r.Usable && (r.Kind == symfile.Line || r.Kind == symfile.Inline) {
			f(r)
		}
	}
}

// A line's value is its file's number and the line number.
func lineValue(file uint32, number int64) uint64 {
	return 1<<63 | uint64(file)<<32 | uint64(uint32(number))
}

// lines returns the source lines of a unit by offset. The result is valid until the next call.
func (d *detailer) lines(u *unit) []span {
	d.laid = d.laid[:0]
	d.eachRow(u, func(r *symfile.Record) {
		if r.Kind == symfile.Line {
			d.lay(u, r.Addr, r.Size, lineValue(d.m.fileIDs.get(r.FileID), r.Number))
		}
	})
	d.spans = lay(d.laid, d.spans[:0])
	return d.spans
}

// lay adds a range of addresses, cut to the unit's code.
func (d *detailer) lay(u *unit, addr, size, val uint64) {
	from := addr - u.addr
	if addr < u.addr || from >= u.codeEnd() {
		return
	}
	to := from + size
	if to < from || to > u.codeEnd() {
		to = u.codeEnd()
	}
	d.laid = append(d.laid, laid{from, to, val, len(d.laid)})
}

// inlineRec is one range of an INLINE record.
type inlineRec struct {
	from, to uint64
	nest     int32
	val      int32 // what is inlined and where it is called
}

const (
	// maxNest bounds the depth to which inlined calls are compared: real ones stay below 100.
	maxNest = 200
	// maxInlines bounds the ranges of one function.
	maxInlines = 1 << 20
)

// inlineSpans returns the stack of inlined calls of a unit by offset. Values are states: key n is what is inlined at
// nesting level n.
func (d *detailer) inlineSpans(u *unit, dst []span) []span {
	d.inlines = d.inlines[:0]
	d.eachRow(u, func(r *symfile.Record) {
		if r.Kind != symfile.Inline || r.Nest < 0 || r.Nest > maxNest {
			return
		}
		val := int32(-1)
		d.m.eachRange(r, func(addr, size uint64) {
			from := addr - u.addr
			if addr < u.addr || from >= u.codeEnd() || size == 0 || len(d.inlines) >= maxInlines {
				return
			}
			if val < 0 {
				val = d.states.call(d.m.origins.get(r.Origin), d.m.callFile(r), r.Number)
			}
			to := from + size
			if to < from || to > u.codeEnd() {
				to = u.codeEnd()
			}
			d.inlines = append(d.inlines, inlineRec{from, to, int32(r.Nest), val})
		})
	})
	if len(d.inlines) == 0 {
		return dst
	}
	list := d.inlines
	slices.SortFunc(list, func(a, b inlineRec) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.nest, b.nest), cmp.Compare(b.to, a.to), cmp.Compare(a.val, b.val))
	})
	var active []inlineRec // one for each level, by level
	var stack []entry
	at := uint64(0)
	flush := func(until uint64) { // tells the state from at to until
		for at < until {
			to := until
			stack = stack[:0]
			for i := 0; i < len(active); {
				if active[i].to <= at {
					active = slices.Delete(active, i, i+1)
					continue
				}
				to = min(to, active[i].to)
				stack = append(stack, entry{active[i].nest, active[i].val})
				i++
			}
			if len(stack) == 0 {
				break
			}
			dst = appendSpan(dst, span{at, to, uint64(d.states.number(stack))})
			at = to
		}
		at = until
	}
	for _, r := range list {
		flush(r.from)
		i, taken := slices.BinarySearchFunc(active, r.nest, func(a inlineRec, n int32) int { return cmp.Compare(a.nest, n) })
		switch {
		case !taken:
			active = slices.Insert(active, i, r)
		case active[i].to <= r.from:
			active[i] = r
		}
	}
	flush(1<<64 - 1)
	return dst
}
