package symfile

import (
	"fmt"
	"math"
	"sync"
)

// Policy is the reader whose treatment of damaged and conflicting records the tables follow. On a healthy file all
// readers agree.
type Policy uint8

const (
	// Breakpad is Google's BasicSourceLineResolver, the one minidump_stackwalk uses: a record it cannot read is skipped
	// and counted, and of conflicting records the first in the file wins.
	Breakpad Policy = iota
	// RustMinidump is the breakpad-symbols crate: one record it cannot read rejects the whole file, and of conflicting
	// records the one that sorts first wins.
	RustMinidump
)

// String returns the name of the consumer.
func (p Policy) String() string {
	if p == RustMinidump {
		return "rust-minidump"
	}
	return "breakpad"
}

// Options are how a symbol file is to be read.
type Options struct {
	Policy Policy
	// Forget, if set, is told now and then that the bytes from from to to have been read and will only be looked at again
	// here and there, so that the pages of a mapped file need not stay in memory.
	Forget func(from, to int)
}

// forgetEvery is how many bytes are read between two calls of Options.Forget.
const forgetEvery = 8 << 20

// Symbols is what a consumer can look up in a symbol file. Loading keeps only where the records stand; names, lines,
// inlined calls and unwind rules are read from the text when they are asked for. All addresses are relative to the
// module's base. Symbols may be used by several goroutines.
type Symbols struct {
	data   []byte // the input, which must not change
	policy Policy

	index   Index
	funcEnd []uint32 // by index.Funcs: where the last record that belongs to the function ends
	initEnd []uint32 // by index.Inits: the same

	funcs   RangeMap[int32] // values are positions in the index
	publics AddressMap[int32]
	inits   RangeMap[int32]
	wins    [2]ContainedRangeMap[int32] // frame data (type 4), FPO (type 0)
	rustWin [2]RangeMap[int32]          // the same for rust-minidump
	strays  []stray                     // STACK CFI records whose own INIT does not tell where they apply
	files   idTable
	origins idTable

	errors  []LoadError
	crash   *LoadError
	reject  *LoadError
	stopped int // line behind which nothing was read, 0 = all was

	mu      sync.Mutex
	details map[int32]*funcDetail
	blocks  map[int32]*unwindBlock
}

// cached bounds how many functions and unwind blocks are kept once read from the text.
const cached = 256

// LoadError is a record that a reader could not use, and counts.
type LoadError struct {
	Line    int // 1-based
	Ordinal int // which record of the file it is, not counting blank lines: the "Line" of Google's own messages
	Message string
}

// Error returns the message with its line.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Load reads a symbol file. It never fails: what a reader makes of a damaged file is what Corrupt, Rejected and the
// lookups tell. The data is kept and must not be changed.
func Load(data []byte, o Options) *Symbols {
	m := &Symbols{data: data, policy: o.Policy}
	if uint64(len(data)) > MaxSize {
		m.rejectFile(0, 0, fmt.Sprintf("%d bytes are more than symlint reads (%d)", len(data), uint32(MaxSize)))
		return m
	}
	switch o.Policy {
	case RustMinidump:
		m.loadRust()
	default:
		m.loadBreakpad(o.Forget)
	}
	return m
}

func (m *Symbols) rejectFile(line, ordinal int, message string) {
	*m = Symbols{data: m.data, policy: m.policy, reject: &LoadError{line, ordinal, message}}
}

// Policy returns whose tables these are.
func (m *Symbols) Policy() Policy { return m.policy }

// Header returns the file's first MODULE record, with Line 0 if it has none. No reader checks it on loading.
func (m *Symbols) Header() ModuleEntry { return m.index.Module }

// Corrupt reports whether Google's reader marks the module as corrupt, and the errors it counted, in the order of the
// file. Records that are damaged but raise no error (INLINE, STACK numbers, ranges that overlap) are not among them.
func (m *Symbols) Corrupt() (bool, []LoadError) { return len(m.errors) > 0, m.errors }

// StoppedAt returns the line at which Google's reader gave up because it had counted more than 100 errors, or 0. What
// stands behind it is lost.
func (m *Symbols) StoppedAt() int { return m.stopped }

// Crash returns the record at which Google's reader dies (an INLINE record where no function is open), or nil. The
// lookups behave as if the record were not there.
func (m *Symbols) Crash() error {
	if m.crash == nil {
		return nil
	}
	return m.crash
}

// Rejected returns why the reader refuses the whole file (a *LoadError), or nil. Every lookup then fails.
func (m *Symbols) Rejected() error {
	if m.reject == nil {
		return nil
	}
	return m.reject
}

// File returns the name of a source file by the id that line and INLINE records use.
func (m *Symbols) File(id int64) (string, bool) {
	off, ok := m.files.get(id)
	if !ok {
		return "", false
	}
	return m.recordName(off, File), true
}

// Origin returns the name of an inlined function by its INLINE_ORIGIN id.
func (m *Symbols) Origin(id int64) (string, bool) {
	off, ok := m.origins.get(id)
	if !ok {
		return "", false
	}
	return m.recordName(off, InlineOrigin), true
}

// recordName reads the name of the record at a byte offset, which the reader has accepted before.
func (m *Symbols) recordName(off uint32, k Kind) string {
	if m.policy == RustMinidump {
		return rustName(m.data, int(off), k)
	}
	return googleName(m.data, int(off), k)
}

// idTable maps ids to the offsets of the records that define them. Ids that are numbered densely, as all writers do,
// are kept in a slice.
type idTable struct {
	dense []uint32 // offset + 1; 0 = not defined
	large map[int64]uint32
	n     int
}

func (t *idTable) get(id int64) (uint32, bool) {
	if id >= 0 && id < int64(len(t.dense)) {
		off := t.dense[id]
		return off - 1, off != 0
	}
	off, ok := t.large[id]
	return off, ok
}

// set defines an id. Unless replace is set, the first definition stays.
func (t *idTable) set(id int64, off uint32, replace bool) {
	if off == math.MaxUint32 {
		return // no record can begin there
	}
	if id >= 0 && id < int64(len(t.dense)) {
		if t.dense[id] == 0 || replace {
			t.dense[id] = off + 1
		}
		t.n++
		return
	}
	if _, again := t.large[id]; !again && id >= 0 && id < int64(4*t.n+1024) {
		dense := make([]uint32, max(int(id)+1, 2*len(t.dense), 64))
		copy(dense, t.dense)
		for k, v := range t.large {
			if k >= 0 && k < int64(len(dense)) {
				dense[k] = v + 1
				delete(t.large, k)
			}
		}
		t.dense = dense
		t.dense[id] = off + 1
		t.n++
		return
	}
	if _, again := t.large[id]; again && !replace {
		return
	}
	if t.large == nil {
		t.large = make(map[int64]uint32)
	}
	t.large[id] = off
	t.n++
}
