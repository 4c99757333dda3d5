package symdiff

import (
	"bufio"
	_ "embed"
	"io"
	"strings"
)

// The page is one file that needs nothing else: style and script are in it, and the data as JSON, in which every '<'
// is escaped.
//
//go:embed page.html
var page string

// pageDetails is how many functions of a comparison a page has all ranges of; the rest is listed.
const pageDetails = 3000

const pageData = "{{data}}"

// WriteHTML writes the result as a self-contained page.
func (r *Result) WriteHTML(w io.Writer) error {
	return writePage(w, func(b *bufio.Writer) error { return r.writeJSON(b, pageDetails) })
}

// WriteHTML writes the result as a self-contained page.
func (r *StoreResult) WriteHTML(w io.Writer, c Options) error {
	return writePage(w, func(b *bufio.Writer) error { return r.writeJSON(b, c, pageDetails) })
}

func writePage(w io.Writer, data func(b *bufio.Writer) error) error {
	head, tail, _ := strings.Cut(page, pageData)
	b := bufio.NewWriter(w)
	b.WriteString(head)
	if err := data(b); err != nil {
		return err
	}
	b.WriteString(tail)
	return b.Flush()
}

// strip is a map of the older file's addresses, cut into cells of equal width, in which code that only the newer file
// has stands where it would be. A lane is a string of one character for each cell.
type strip struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Cell      string `json:"cell"` // bytes
	Functions string `json:"functions"`
	Lines     string `json:"lines"`
	CFI       string `json:"cfi"`
}

const stripCells = 480

// What a cell can be, the later outdoing the earlier.
const (
	cellNone    = '.'
	cellSame    = '='
	cellChanged = '~'
	cellGained  = '+'
	cellLost    = '-'
)

func rank(c byte) int { return strings.IndexByte(".=~+-", c) }

func (r *Result) strip() strip {
	c := r.c
	back, known := c.expect(1)
	place := func(p pair) (from, to uint64) {
		if p.old >= 0 {
			u := &c.old.units[p.old]
			return u.addr, u.addr + max(c.old.reach(int(p.old)), 1)
		}
		u := &c.new.units[p.new]
		from = u.addr
		if known {
			from = back[p.new]
		}
		return from, from + max(c.new.reach(int(p.new)), 1)
	}
	lo, hi := uint64(1<<64-1), uint64(0)
	for _, p := range c.pairs {
		if from, to := place(p); to > from {
			lo, hi = min(lo, from), max(hi, to)
		}
	}
	if lo >= hi {
		return strip{From: "0x0", To: "0x0", Cell: "0x0"}
	}
	width := (hi-lo)/stripCells + 1
	var lanes [3][]byte
	for i := range lanes {
		lanes[i] = []byte(strings.Repeat(string(cellNone), stripCells))
	}
	put := func(lane int, from, to uint64, what byte) {
		for i := (from - lo) / width; i <= (to-1-lo)/width && i < stripCells; i++ {
			if rank(what) > rank(lanes[lane][i]) {
				lanes[lane][i] = what
			}
		}
	}
	for _, p := range c.pairs {
		from, to := place(p)
		if to <= from {
			continue
		}
		m, i := c.old, p.old
		if i < 0 {
			m, i = c.new, p.new
		}
		u := &m.units[i]
		if p.old >= 0 && p.new >= 0 {
			if u.kind != Unnamed {
				put(0, from, to, cellSame)
			}
			if u.rows {
				put(1, from, to, cellSame)
			}
			if u.inits[1] > u.inits[0] {
				put(2, from, to, cellSame)
			}
		}
	}
	for i := range r.Changes {
		ch := &r.Changes[i]
		from, to := place(ch.pair)
		if to <= from {
			continue
		}
		m, at := c.old, ch.pair.old
		if at < 0 {
			m, at = c.new, ch.pair.new
		}
		u := &m.units[at]
		whole := byte(cellChanged)
		switch ch.Status {
		case Added:
			whole = cellGained
		case Removed:
			whole = cellLost
		}
		if u.kind != Unnamed || ch.New.Kind != Unnamed {
			put(0, from, to, whole)
		}
		lane := func(lane int, there, differs bool, lost, gained uint64) {
			switch {
			case ch.pair.old < 0 || ch.pair.new < 0:
				if there {
					put(lane, from, to, whole)
				}
			case lost > 0:
				put(lane, from, to, cellLost)
			case gained > 0:
				put(lane, from, to, cellGained)
			case differs:
				put(lane, from, to, cellChanged)
			}
		}
		lane(1, u.rows, ch.LineRanges > 0, ch.LostLines, ch.GainedLines)
		lane(2, u.inits[1] > u.inits[0], ch.CFIRanges > 0, ch.LostCFI, ch.GainedCFI)
	}
	return strip{hex(lo), hex(hi), hex(width), string(lanes[0]), string(lanes[1]), string(lanes[2])}
}
