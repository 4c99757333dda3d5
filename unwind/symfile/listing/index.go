package listing

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/symlint/symlint/unwind/symfile"
)

// entry is where a record with an address stands, and up to where those that belong to it do.
type entry struct {
	addr, size uint64
	off, end   uint32
}

// limit is the first address behind the range; the last one there is for a range that wraps around.
func (e *entry) limit() uint64 {
	if end := e.addr + e.size; end >= e.addr {
		return end
	}
	return ^uint64(0)
}

type extent struct{ off, end uint32 }

// index is what the first pass over a file finds.
type index struct {
	module                      symfile.ModuleEntry
	infos                       []extent
	files, origins              map[int64]extent // as Google's reader: of two records with an id the first counts
	names                       []extent         // of FILE records
	funcs, publics, inits, wins []entry
	unreadable                  bool
}

// context tells which records have something to belong to.
type context struct{ module, function, initial bool }

// usable reports whether a reader can do anything with a record, in the context that it then changes.
func (c *context) usable(r *symfile.Record) bool {
	switch r.Kind {
	case symfile.Blank:
		return true
	case symfile.Unknown:
		return false
	case symfile.Module:
		first := !c.module
		c.module = true
		return first
	case symfile.Info:
		return true
	case symfile.Func:
		c.function = r.Usable
	case symfile.Public:
		c.function = false
	case symfile.StackCFIInit:
		c.initial = r.Usable
	case symfile.Line, symfile.Inline:
		return r.Usable && c.function
	case symfile.StackCFI:
		return r.Usable && c.initial
	}
	return r.Usable
}

func newIndex(data []byte) *index {
	x := &index{files: make(map[int64]extent), origins: make(map[int64]extent)}
	var c context
	for s := symfile.NewScanner(data); s.Next(); {
		r := s.Record()
		if !c.usable(r) {
			x.unreadable = true
			continue
		}
		x.add(r, data)
	}
	x.sort(data)
	return x
}

func (x *index) add(r *symfile.Record, data []byte) {
	end := uint32(min(r.Span.End+r.EOL, len(data)))
	text := extent{uint32(r.Text.Off), uint32(r.Text.End)}
	e := entry{addr: r.Addr, size: r.Size, off: uint32(r.Span.Off), end: end}
	switch r.Kind {
	case symfile.Line, symfile.Inline:
		x.funcs[len(x.funcs)-1].end = end
	case symfile.StackCFI:
		x.inits[len(x.inits)-1].end = end
	case symfile.Func:
		x.funcs = append(x.funcs, e)
	case symfile.Public:
		e.size = 0
		x.publics = append(x.publics, e)
	case symfile.StackCFIInit:
		x.inits = append(x.inits, e)
	case symfile.StackWin:
		x.wins = append(x.wins, e)
	case symfile.File:
		if _, ok := x.files[r.FileID]; !ok {
			x.files[r.FileID] = text
		}
		x.names = append(x.names, text)
	case symfile.InlineOrigin:
		if _, ok := x.origins[r.Origin]; !ok {
			x.origins[r.Origin] = text
		}
	case symfile.Info:
		x.infos = append(x.infos, text)
	case symfile.Module:
		x.module = symfile.FindModule(data[r.Span.Off:end])
		x.module.Line = r.Line
	}
}

// sort puts symbols and unwind records in the order of their addresses, wider ones first, and by their text where these
// are equal, so that the order of the file does not matter.
func (x *index) sort(data []byte) {
	text := func(e extent) []byte { return data[e.off:e.end] }
	slices.SortStableFunc(x.names, func(a, b extent) int { return bytes.Compare(text(a), text(b)) })
	x.names = slices.CompactFunc(x.names, func(a, b extent) bool { return bytes.Equal(text(a), text(b)) })
	order := func(a, b entry) int {
		c := cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(b.size, a.size))
		if c == 0 {
			c = cmp.Or(bytes.Compare(firstLine(data[a.off:a.end]), firstLine(data[b.off:b.end])), cmp.Compare(a.off, b.off))
		}
		return c
	}
	for _, list := range [][]entry{x.funcs, x.publics, x.inits, x.wins} {
		if !slices.IsSortedFunc(list, order) {
			slices.SortFunc(list, order)
		}
	}
}

// firstLine is the first line of an entry, as far as it is worth comparing.
func firstLine(b []byte) []byte {
	const most = 1 << 10
	b = b[:min(len(b), most)]
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return b
}
