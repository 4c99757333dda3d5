package symfile

import "sort"

// Names tells the function at an address, for people: the innermost by start of the FUNCs around it, else the last
// PUBLIC before it.
type Names struct {
	data    []byte
	index   *Index
	funcs   []Range
	publics []Range
}

// NewNames returns a table over an index; it sorts on first use.
func NewNames(data []byte, x *Index) *Names { return &Names{data: data, index: x} }

// At returns the name of the function at an address, nil if there is none. The bytes are the input's.
func (n *Names) At(addr uint64) []byte {
	if n.funcs == nil {
		f := n.index.Funcs
		n.funcs = SortedRanges(len(f), func(i int) (uint64, uint64) { return f[i].Addr, f[i].Size })
		p := n.index.Publics
		n.publics = SortedRanges(len(p), func(i int) (uint64, uint64) { return p[i].Addr, 1 })
	}
	if i := lastBefore(n.funcs, addr); i >= 0 && addr < n.funcs[i].End {
		return n.text(n.index.Funcs[n.funcs[i].Index].Off)
	}
	if i := lastBefore(n.publics, addr); i >= 0 {
		return n.text(n.index.Publics[n.publics[i].Index].Off)
	}
	return nil
}

// lastBefore returns the index of the last range that starts at or before addr, -1 if none does.
func lastBefore(ranges []Range, addr uint64) int {
	return sort.Search(len(ranges), func(i int) bool { return ranges[i].Start > addr }) - 1
}

func (n *Names) text(off uint32) []byte { return RecordText(n.data, off) }

// RecordText returns the free text of the record that begins at a byte offset.
func RecordText(data []byte, off uint32) []byte {
	if int(off) >= len(data) {
		return nil
	}
	var s Scanner
	s.Reset(data, int(off), int(off)+1, 1)
	s.Next()
	return data[s.rec.Text.Off:s.rec.Text.End]
}
