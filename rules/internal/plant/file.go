package plant

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// kind is a record type. Only well-formed records have one; all else is other.
type kind uint8

const (
	other kind = iota
	module
	info
	fileRecord
	origin
	function
	inline
	lineRecord
	public
	win
	cfiInit
	cfiDelta
)

// record is one line of the file under work.
type record struct {
	text, eol string
	kind      kind
	// fields is the text cut at blanks; the last one of most kinds is free text and may hold blanks itself.
	fields     []string
	addr, size uint64 // of the record, or of an INLINE's first range
	block      int    // index of the FUNC or INIT the record belongs to, -1 for none
}

func (r *record) end() uint64 { return r.addr + r.size }

// Where fields stand. addrField and sizeField of FUNC and PUBLIC move by one behind the `m` mark.
var addrField = [...]int{function: 1, public: 1, lineRecord: 0, inline: 5, win: 3, cfiInit: 3, cfiDelta: 2}
var sizeField = [...]int{function: 2, lineRecord: 1, inline: 6, win: 4, cfiInit: 4, cfiDelta: 0}

// Fields of STACK WIN.
const (
	winType     = 2
	winPrologue = 5
	winParams   = 7
	winFlag     = 11
	winProgram  = 12
)

func (r *record) addrAt() int {
	i := addrField[r.kind]
	if r.marked() {
		i++
	}
	return i
}

func (r *record) sizeAt() int {
	i := sizeField[r.kind]
	if r.marked() {
		i++
	}
	return i
}

func (r *record) marked() bool {
	return (r.kind == function || r.kind == public) && r.fields[1] == "m"
}

// rest is the record's free text: its name, its rules or its program.
func (r *record) rest() string { return r.fields[len(r.fields)-1] }

// file is a symbol file cut into records, and the place where one defect is planted.
type file struct {
	*rand.Rand
	recs []record
	eol  string // the line end of most records
	// What the MODULE record says; cpu is nil when unknown.
	system string
	cpu    *cpu

	funcs, publics, inits, wins []int // by address; for one address, in file order
}

func parse(src []byte, rng *rand.Rand) *file {
	f := &file{Rand: rng, recs: make([]record, 0, bytes.Count(src, []byte("\n"))+2)}
	crlf, open := 0, [2]int{-1, -1} // the FUNC and the INIT under way
	for len(src) > 0 {
		line := src
		if i := bytes.IndexByte(src, '\n'); i >= 0 {
			line = src[:i+1]
		}
		src = src[len(line):]
		text := string(line)
		body := strings.TrimRight(text, "\r\n")
		r := record{text: body, eol: text[len(body):], block: -1}
		if r.eol == "\r\n" {
			crlf++
		}
		r.classify()
		i := len(f.recs)
		switch r.kind {
		case function:
			open = [2]int{i, -1}
			f.funcs = append(f.funcs, i)
		case public:
			open = [2]int{-1, -1}
			f.publics = append(f.publics, i)
		case inline, lineRecord:
			r.block = open[0]
		case cfiInit:
			open = [2]int{-1, i}
			f.inits = append(f.inits, i)
		case cfiDelta:
			r.block = open[1]
		case win:
			open = [2]int{-1, -1}
			f.wins = append(f.wins, i)
		}
		f.recs = append(f.recs, r)
	}
	f.eol = "\n"
	if crlf > len(f.recs)/2 {
		f.eol = "\r\n"
	}
	for _, list := range [][]int{f.funcs, f.publics, f.inits, f.wins} {
		f.sorted(list)
	}
	if len(f.recs) > 0 && f.recs[0].kind == module {
		f.system, f.cpu = f.recs[0].fields[1], cpus[f.recs[0].fields[2]]
	}
	return f
}

// sorted sorts a list of records by address; those with one address stay in file order.
func (f *file) sorted(list []int) []int {
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(f.recs[a].addr, f.recs[b].addr) })
	return list
}

// bytes puts the file together again.
func (f *file) bytes() []byte {
	var b bytes.Buffer
	for i := range f.recs {
		b.WriteString(f.recs[i].text)
		b.WriteString(f.recs[i].eol)
	}
	return b.Bytes()
}

// classify finds the record's kind, fields and numbers. What departs from the canonical form in any way stays other, so
// that nothing is planted there.
func (r *record) classify() {
	word, rest, _ := strings.Cut(r.text, " ")
	k, n := other, 0
	switch word {
	case "MODULE":
		k, n = module, 5
	case "INFO":
		k, n = info, 3
	case "FILE":
		k, n = fileRecord, 3
	case "INLINE_ORIGIN":
		k, n = origin, 3
	case "FUNC", "PUBLIC":
		k, n = function, 5
		if word == "PUBLIC" {
			k, n = public, 4
		}
		if strings.HasPrefix(rest, "m ") {
			n++
		}
	case "INLINE":
		k, n = inline, -1
	case "STACK":
		switch {
		case strings.HasPrefix(rest, "WIN "):
			k, n = win, 13
		case strings.HasPrefix(rest, "CFI INIT "):
			k, n = cfiInit, 6
		case strings.HasPrefix(rest, "CFI "):
			k, n = cfiDelta, 4
		}
	default:
		k, n = lineRecord, 4
		if strings.Count(r.text, " ") != 3 {
			return
		}
	}
	fields := strings.SplitN(r.text, " ", n)
	if n > 0 && len(fields) != n || slices.Contains(fields, "") || k == inline && (len(fields) < 7 || len(fields)%2 == 0) {
		return
	}
	r.fields = fields
	r.kind = k
	if int(k) < len(addrField) && addrField[k] > 0 || k == lineRecord {
		var ok, ok2 bool
		r.addr, ok = hex(fields[r.addrAt()])
		ok2 = true
		if s := sizeField[k]; s > 0 {
			r.size, ok2 = hex(fields[r.sizeAt()])
		}
		if !ok || !ok2 {
			r.kind = other
		}
	}
	switch k {
	case lineRecord:
		r.decimals(fields[2:])
	case fileRecord, origin:
		r.decimals(fields[1:2])
	}
}

// decimals makes the record other when one of the fields is no number that every consumer takes.
func (r *record) decimals(fields []string) {
	for _, s := range fields {
		if _, err := strconv.ParseUint(s, 10, 31); err != nil {
			r.kind = other
		}
	}
}

// hex reads a canonical hexadecimal field.
func hex(s string) (uint64, bool) {
	n, err := strconv.ParseUint(s, 16, 64)
	return n, err == nil && s == strings.ToLower(s)
}

func hexText(n uint64) string { return strconv.FormatUint(n, 16) }

// set replaces the text of record i.
func (f *file) set(i int, text string) { f.recs[i].text = text }

// setField replaces one field of record i.
func (f *file) setField(i, field int, value string) {
	r := &f.recs[i]
	r.fields = slices.Clone(r.fields)
	r.fields[field] = value
	r.text = strings.Join(r.fields, " ")
}

// setFields replaces all fields of record i.
func (f *file) setFields(i int, fields []string) { f.set(i, strings.Join(fields, " ")) }

// insert puts a line before record i.
func (f *file) insert(i int, text string) {
	if i == len(f.recs) && i > 0 && f.recs[i-1].eol == "" {
		f.recs[i-1].eol = f.eol
	}
	f.recs = slices.Insert(f.recs, i, record{text: text, eol: f.eol, block: -1})
}

// remove deletes records i to j-1.
func (f *file) remove(i, j int) { f.recs = slices.Delete(f.recs, i, j) }

// move takes records i to j-1 and puts them before record to, which is none of them. It returns where the first is now.
func (f *file) move(i, j, to int) int {
	moved := slices.Clone(f.recs[i:j])
	if last := &f.recs[len(f.recs)-1]; last.eol == "" {
		last.eol = f.eol
	}
	for k := range moved {
		if moved[k].eol == "" {
			moved[k].eol = f.eol
		}
	}
	if to > i {
		to -= j - i
	}
	f.recs = slices.Delete(f.recs, i, j)
	f.recs = slices.Insert(f.recs, to, moved...)
	return to
}

// pick chooses a record of one of the kinds for which eligible, if given, is true; all such are equally likely.
func (f *file) pick(eligible func(i int, r *record) bool, kinds ...kind) (int, bool) {
	var places []int
	for i := range f.recs {
		if slices.Contains(kinds, f.recs[i].kind) {
			places = append(places, i)
		}
	}
	return f.among(places, func(i int) bool { return eligible == nil || eligible(i, &f.recs[i]) })
}

// among chooses one of the places for which eligible is true. It asks about as few as possible: some conditions are
// costly.
func (f *file) among(places []int, eligible func(i int) bool) (int, bool) {
	for n := len(places); n > 0; n-- {
		k := f.IntN(n)
		if eligible == nil || eligible(places[k]) {
			return places[k], true
		}
		places[k] = places[n-1]
	}
	return 0, false
}

// any reports whether some record meets the condition.
func (f *file) any(is func(r *record) bool) bool {
	return slices.ContainsFunc(f.recs, func(r record) bool { return is(&r) })
}

// has reports whether the file has a record of the kind.
func (f *file) has(k kind) bool {
	return f.any(func(r *record) bool { return r.kind == k })
}

// blockEnd is the index behind the last record that belongs to FUNC or INIT i.
func (f *file) blockEnd(i int) int {
	end := i + 1
	for j := i + 1; j < len(f.recs) && (f.recs[j].block == i || f.recs[j].kind == other || f.recs[j].kind == info); j++ {
		if f.recs[j].block == i {
			end = j + 1
		}
	}
	return end
}

// members lists the records of the kind that belong to FUNC or INIT i.
func (f *file) members(i int, k kind) []int {
	var list []int
	for j := i + 1; j < f.blockEnd(i); j++ {
		if f.recs[j].kind == k {
			list = append(list, j)
		}
	}
	return list
}

// alone reports whether no other record of the list, which is sorted by address, shares an address with record i.
func (f *file) alone(list []int, i int) bool {
	at, end := f.recs[i].addr, f.recs[i].end()
	for _, j := range list {
		if r := &f.recs[j]; r.addr >= end && r.addr != at {
			break
		} else if j != i && (r.end() > at && r.addr < end || r.addr == at) {
			return false
		}
	}
	return true
}

// neighbours are the pairs of records of the list that follow each other by address and in the file, the first well
// before the second, neither overlapping any other.
func (f *file) neighbours(list []int) (pairs [][2]int) {
	var high uint64 // end of all ranges so far
	for n, j := range list {
		r := &f.recs[j]
		if n > 0 {
			i := list[n-1]
			before := uint64(0)
			if n > 1 {
				before = f.recs[list[n-2]].end()
			}
			a := &f.recs[i]
			next := ^uint64(0)
			if n+1 < len(list) {
				next = f.recs[list[n+1]].addr
			}
			if high <= r.addr && before <= a.addr && a.size > 0 && r.size > 1 && i < j && r.end() <= next && r.end() > r.addr {
				pairs = append(pairs, [2]int{i, j})
			}
		}
		high = max(high, r.end())
	}
	return pairs
}

// coverage returns a function that reports whether some record of the list, sorted by address, holds an address.
func (f *file) coverage(list []int) func(address uint64) bool {
	high := make([]uint64, len(list)) // end of the records up to here
	for n, j := range list {
		high[n] = f.recs[j].end()
		if n > 0 {
			high[n] = max(high[n], high[n-1])
		}
	}
	return func(address uint64) bool {
		n, _ := f.search(list, address+1)
		return n > 0 && address < high[n-1]
	}
}

// search finds the first record of the list, sorted by address, at or behind an address.
func (f *file) search(list []int, address uint64) (n int, exact bool) {
	return slices.BinarySearchFunc(list, address, func(j int, a uint64) int { return cmp.Compare(f.recs[j].addr, a) })
}
