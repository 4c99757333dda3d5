package rules

import (
	"sort"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// maxDenseID bounds the ids kept in a bitmap: producers number from zero; anything beyond goes to a map.
const maxDenseID = 1 << 20

// idSet is a set of FILE or INLINE_ORIGIN ids.
type idSet struct {
	bits  []uint64
	large map[int64]struct{}
}

func (s *idSet) add(id int64) {
	if uint64(id) < uint64(len(s.bits))*64 {
		s.bits[id>>6] |= 1 << (id & 63)
		return
	}
	s.grow(id)
}

func (s *idSet) grow(id int64) {
	if id < 0 || id >= maxDenseID {
		if s.large == nil {
			s.large = make(map[int64]struct{})
		}
		s.large[id] = struct{}{}
		return
	}
	bits := make([]uint64, max(int(id>>6)+1, 2*len(s.bits), 64))
	copy(bits, s.bits)
	s.bits = bits
	s.add(id)
}

func (s *idSet) has(id int64) bool {
	if uint64(id) < uint64(len(s.bits))*64 {
		return s.bits[id>>6]>>(id&63)&1 != 0
	}
	_, ok := s.large[id]
	return ok
}

func (s *idSet) union(o *idSet) {
	if len(o.bits) > len(s.bits) {
		bits := make([]uint64, len(o.bits))
		copy(bits, s.bits)
		s.bits = bits
	}
	for i, w := range o.bits {
		s.bits[i] |= w
	}
	for id := range o.large {
		s.grow(id)
	}
}

// relatedRecord is a related place: the whole record at a byte offset.
func relatedRecord(p *lint.Pass, off, line uint32, message string) []lint.Related {
	rec := p.RecordAt(off, line)
	return []lint.Related{{Location: p.Location(rec.Line, rec.Span, rec.Span), Message: message}}
}

// word returns the n-th blank-separated word of a record, the keyword being word 0; the record's end if there is none.
func word(p *lint.Pass, r *symfile.Record, n int) symfile.Span {
	d, i, end := p.Data, r.Span.Off, r.Span.End
	for {
		for i < end && (d[i] == ' ' || d[i] == '\t') {
			i++
		}
		start := i
		for i < end && d[i] != ' ' && d[i] != '\t' {
			i++
		}
		if n == 0 || i == end {
			if n > 0 {
				start = end
			}
			return symfile.Span{Off: start, End: i}
		}
		n--
	}
}

// addrSpan and sizeSpan are the address and size fields of a record.
func addrSpan(p *lint.Pass, r *symfile.Record) symfile.Span { return word(p, r, addrWord(r)) }
func sizeSpan(p *lint.Pass, r *symfile.Record) symfile.Span { return word(p, r, addrWord(r)+1) }

func addrWord(r *symfile.Record) int {
	n := map[symfile.Kind]int{symfile.Func: 1, symfile.Public: 1, symfile.StackCFI: 2, symfile.StackCFIInit: 3, symfile.StackWin: 3}[r.Kind]
	if r.Multiple {
		n++
	}
	return n
}

// maxName bounds the names that messages show, in bytes: a name can be as long as the file.
const maxName = 1 << 12

// shortText is the beginning of a text that may be of any length.
func shortText(text []byte) []byte { return text[:min(len(text), maxName)] }

// find returns the index of the last range that starts at or before addr, -1 if none does.
func find(ranges []symfile.Range, addr uint64) int {
	return sort.Search(len(ranges), func(i int) bool { return ranges[i].Start > addr }) - 1
}
