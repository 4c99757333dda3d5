package symfile

import "slices"

// Index is the skeleton of a symbol file: its ranges and where their records stand, without names, lines or rules,
// which are read from the text when they are wanted. Entries are in file order.
type Index struct {
	// Expect is the number of bytes the records to be added come from, 0 if unknown; slices are sized by it.
	Expect  int
	Module  ModuleEntry
	Funcs   []FuncEntry
	Publics []PublicEntry
	Inits   []InitEntry
	Wins    []WinEntry
	Counts  [KindCount]int

	funcOpen, initOpen bool // line records belong to the last of Funcs, STACK CFI records to the last of Inits
	lines, deltas      int  // Counts of them when it was added
}

// ModuleEntry is the first MODULE record.
type ModuleEntry struct {
	OS, Arch, ID, Name string
	Line               int // 0 if there is none
	Off                uint32
}

// FuncEntry is a FUNC record.
type FuncEntry struct {
	Addr, Size uint64
	Off        uint32 // of the record in the file
	Line       uint32 // 1-based
	ParamSize  uint32
	Multiple   bool
	Lines      bool // a line record follows it
}

// End is the first address behind the function; it wraps for a damaged record.
func (f *FuncEntry) End() uint64 { return f.Addr + f.Size }

// PublicEntry is a PUBLIC record.
type PublicEntry struct {
	Addr     uint64
	Off      uint32
	Line     uint32
	Multiple bool
}

// InitEntry is a STACK CFI INIT record.
type InitEntry struct {
	Addr, Size uint64
	Off        uint32
	Line       uint32
	Deltas     uint32 // STACK CFI records between it and the next INIT
}

// End is the first address behind the range; it wraps for a damaged record.
func (e *InitEntry) End() uint64 { return e.Addr + e.Size }

// WinEntry is a STACK WIN record.
type WinEntry struct {
	Addr, Size uint64
	Off        uint32
	Line       uint32
	ParamSize  uint32
	Type       uint8
	HasProgram bool
}

// End is the first address behind the range.
func (e *WinEntry) End() uint64 { return e.Addr + e.Size }

// Add takes a record into the index. Unusable records only count. When all have been added, Close completes it.
func (x *Index) Add(r *Record, data []byte) {
	x.Counts[r.Kind]++
	if r.Kind != Line && r.Kind != StackCFI { // by far the most: they count and no more
		x.add(r, data)
	}
}

// Close completes the entries of the last FUNC and INIT.
func (x *Index) Close() {
	x.closeFunc()
	x.closeInit()
}

func (x *Index) closeFunc() {
	if x.funcOpen {
		x.Funcs[len(x.Funcs)-1].Lines = x.Counts[Line] > x.lines
		x.funcOpen = false
	}
}

func (x *Index) closeInit() {
	if x.initOpen {
		x.Inits[len(x.Inits)-1].Deltas = uint32(x.Counts[StackCFI] - x.deltas)
		x.initOpen = false
	}
}

func (x *Index) add(r *Record, data []byte) {
	switch r.Kind {
	case Module:
		if x.Module.Line == 0 {
			x.Module = parseModule(data[r.Text.Off:r.Text.End])
			x.Module.Line, x.Module.Off = r.Line, uint32(r.Span.Off)
		}
		return
	case Func, Public:
		x.closeFunc()
	case StackCFIInit:
		x.closeInit()
	}
	if !r.Usable {
		return
	}
	off, line := uint32(r.Span.Off), uint32(r.Line)
	switch r.Kind {
	case Func:
		if x.Funcs == nil && x.Expect > 1<<20 {
			x.Funcs = make([]FuncEntry, 0, x.Expect/512) // reserved, not touched: costs nothing where it is too much
		}
		x.funcOpen, x.lines = true, x.Counts[Line]
		x.Funcs = append(x.Funcs, FuncEntry{Addr: r.Addr, Size: r.Size, Off: off, Line: line,
			ParamSize: uint32(min(r.ParamSize, 1<<32-1)), Multiple: r.Multiple})
	case Public:
		x.Publics = append(x.Publics, PublicEntry{Addr: r.Addr, Off: off, Line: line, Multiple: r.Multiple})
	case StackCFIInit:
		if x.Inits == nil && x.Expect > 1<<20 {
			x.Inits = make([]InitEntry, 0, x.Expect/512)
		}
		x.initOpen, x.deltas = true, x.Counts[StackCFI]
		x.Inits = append(x.Inits, InitEntry{Addr: r.Addr, Size: r.Size, Off: off, Line: line})
	case StackWin:
		x.Wins = append(x.Wins, WinEntry{Addr: r.Addr, Size: r.Size, Off: off, Line: line,
			ParamSize: uint32(r.ParamSize), Type: uint8(min(r.Win.Type, 255)), HasProgram: r.Win.HasProgram != 0})
	}
}

// Merge appends the index of the part of the file that follows, both being closed.
func (x *Index) Merge(later *Index) {
	if x.Module.Line == 0 {
		x.Module = later.Module
	}
	x.Funcs = append(x.Funcs, later.Funcs...)
	x.Publics = append(x.Publics, later.Publics...)
	x.Inits = append(x.Inits, later.Inits...)
	x.Wins = append(x.Wins, later.Wins...)
	for k := range x.Counts {
		x.Counts[k] += later.Counts[k]
	}
}

// maxModuleText bounds what is kept of a MODULE record, in bytes.
const maxModuleText = 4096

// parseModule splits the text behind the MODULE keyword: os arch id name.
func parseModule(text []byte) (m ModuleEntry) {
	text = text[:min(len(text), maxModuleText)]
	fields := [...]*string{&m.OS, &m.Arch, &m.ID}
	for _, f := range fields {
		text = trimBlanks(text)
		n := 0
		for n < len(text) && !isBlank(text[n]) {
			n++
		}
		*f, text = string(text[:n]), text[n:]
	}
	m.Name = string(trimBlanks(text))
	return m
}

func trimBlanks(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	return text
}

// Range is a half-open interval of addresses with the position of its record in one of the index's slices.
type Range struct {
	Start, End uint64
	Index      int32
}

// SortedRanges returns the ranges of n records ordered by start, then by position in the file. Ranges that are empty
// or wrap are left out. Records that stand in order already are not sorted again.
func SortedRanges(n int, at func(i int) (start, size uint64)) []Range {
	out := make([]Range, 0, n)
	sorted := true
	for i := range n {
		start, size := at(i)
		end := start + size
		if size == 0 || end < start {
			continue
		}
		if len(out) > 0 && out[len(out)-1].Start > start {
			sorted = false
		}
		out = append(out, Range{start, end, int32(i)})
	}
	if !sorted {
		slices.SortStableFunc(out, func(a, b Range) int {
			switch {
			case a.Start < b.Start:
				return -1
			case a.Start > b.Start:
				return 1
			}
			return 0
		})
	}
	return out
}
