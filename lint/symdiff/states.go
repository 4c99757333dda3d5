package symdiff

import (
	"encoding/binary"
	"strconv"
)

// entry is one thing that is so at an offset: what register key is recovered from, or what is inlined at level key.
type entry struct{ key, val int32 }

// stateTable numbers states, sets of entries sorted by key; equal numbers are equal states. Number 0 is the empty one.
// The strings behind keys and values are numbered too.
type stateTable struct {
	names   *nameTable
	states  [][]entry
	byState map[string]int32
	strings []string
	byText  map[string]int32
	calls   map[[3]int64]int32
	steps   map[uint64]int32 // a state and a STACK CFI text to the state that follows
	buf     []byte
	held    int // entries of all states
}

func newStateTable(names *nameTable) *stateTable {
	t := &stateTable{names: names}
	t.reset()
	return t
}

const (
	// maxEntries bounds the registers of a state and maxHeld the entries of all states of one function; real ones have
	// 20 and some hundreds. What comes beyond is not told apart.
	maxEntries = 256
	maxHeld    = 1 << 22
)

// maxStates is how much a table holds before it is emptied between two functions.
const maxStates = 1 << 14

func (t *stateTable) reset() {
	*t = stateTable{names: t.names, buf: t.buf, states: [][]entry{nil}, strings: []string{""},
		byState: map[string]int32{"": 0}, byText: map[string]int32{"": 0}, calls: map[[3]int64]int32{}, steps: map[uint64]int32{}}
}

// crowded reports whether the table is to be emptied before the next function.
func (t *stateTable) crowded() bool {
	return len(t.states) > maxStates || len(t.strings) > maxStates || len(t.steps) > 4*maxStates || len(t.calls) > maxStates
}

// number returns the number of a state.
func (t *stateTable) number(state []entry) int32 {
	t.buf = t.buf[:0]
	for _, e := range state {
		t.buf = binary.LittleEndian.AppendUint32(t.buf, uint32(e.key))
		t.buf = binary.LittleEndian.AppendUint32(t.buf, uint32(e.val))
	}
	if n, ok := t.byState[string(t.buf)]; ok {
		return n
	}
	if t.held > maxHeld {
		return 0
	}
	t.held += len(state)
	n := int32(len(t.states))
	t.states = append(t.states, append([]entry(nil), state...))
	t.byState[string(t.buf)] = n
	return n
}

// text returns the number of a string.
func (t *stateTable) text(s []byte) int32 {
	if n, ok := t.byText[string(s)]; ok {
		return n
	}
	n := int32(len(t.strings))
	t.strings = append(t.strings, string(s))
	t.byText[t.strings[n]] = n
	return n
}

// call returns the number of an inlined call.
func (t *stateTable) call(origin, file uint32, line int64) int32 {
	key := [3]int64{int64(origin), int64(file), line}
	n, ok := t.calls[key]
	if !ok {
		name := t.names.inlined[origin]
		if name == "" {
			name = "(unknown function)"
		}
		n = t.text([]byte(name + " called at " + position(t.names.short[file], line)))
		t.calls[key] = n
	}
	return n
}

// position is a place in the program's source.
func position(file string, line int64) string {
	if file == "" {
		file = "(unknown file)"
	}
	return file + ":" + strconv.FormatInt(line, 10)
}
