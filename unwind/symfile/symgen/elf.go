package symgen

import (
	"io"
	"slices"
)

// mix is what the records of an ELF module are made of.
type mix struct {
	stream         uint64 // keeps the random numbers of the kinds apart
	name           string
	fewest, most   int // line records of a function; uniform between these
	shortest, mean int // bytes of code for each line record: uniform from shortest to twice mean - shortest
	types          int // how deep the templates in names nest
	publics        int // of 100 symbols, how many are without debug information
	perFunction    int // about how many bytes of the file a function takes; decides how often a source file comes round
	perFile        int // bytes of the file for each FILE record
}

var (
	linesMix = mix{
		stream: 1, name: "liblattice.so", fewest: 20, most: 60, shortest: 4, mean: 7, types: 1, publics: 3,
		perFunction: 1300, perFile: 16000,
	}
	cfiMix = mix{
		stream: 2, name: "libmeridian.so", fewest: 1, most: 5, shortest: 6, mean: 80, types: 3, publics: 6,
		perFunction: 590, perFile: 40000,
	}
)

// textStart is the module-relative address of the code: read-only data and unwind tables come before it.
const textStart = 0x1c40000

type elfWriter struct {
	*generator
	mix
	frames  framer
	inlines bool

	files, origins int
	stride         int // steps through the files in another order than that of their names
	functions      int // written so far
	together       int // functions that stand together in one source file
	address        uint64

	rows     []line
	inlined  text
	nextCall int // origin of the next inlined call
}

// line is one line record.
type line struct{ size, number, file int }

func elf(w io.Writer, seed uint64, size int64, o Options, m mix) error {
	if size < MinSize {
		return errTooSmall
	}
	g := newGenerator(w, seed, m.stream)
	e := &elfWriter{generator: g, mix: m, frames: framer{generator: g, rules: newRules()}, inlines: o.Inlines, address: textStart}
	e.header(size, o)
	for g.out.err == nil && g.out.size() < size {
		e.symbol()
		g.out.spill()
	}
	return g.out.finish()
}

// header writes everything before the first FUNC.
func (e *elfWriter) header(size int64, o Options) {
	t := &e.out.head
	id, code := e.identity(o.ID)
	name := e.name
	if o.Name != "" {
		name = o.Name
	}
	t.str("MODULE Linux x86_64 " + id + " " + name + "\nINFO CODE_ID " + code + "\n")
	e.files = int(min(max(size/int64(e.perFile), 4), 3000))
	for e.stride = 7; e.files%e.stride == 0; e.stride += 2 {
	}
	e.together = int(max(size/int64(e.perFunction)/int64(e.files)/2, 1))
	e.table(t, "FILE ", e.files, func(t *text, i int) { e.names.path(t, "../../", "/", i) })
	if e.inlines {
		e.origins = int(min(max(size/4000, 4), 40000))
		e.table(t, "INLINE_ORIGIN ", e.origins, func(t *text, _ int) { e.names.method(t, e.types) })
	}
}

// table writes n records with ids in the order of their names, as the writers number them.
func (e *elfWriter) table(t *text, keyword string, n int, name func(*text, int)) {
	names := make([]string, n)
	for i := range names {
		var one text
		name(&one, i)
		names[i] = string(one)
	}
	slices.Sort(names)
	for i, s := range names {
		t.str(keyword)
		t.dec(i)
		t.space()
		t.str(s)
		t.newline()
	}
}

// identity makes a build id and the debug id that follows from it: the first 16 bytes as a GUID, whose first three fields
// are little-endian, and age 0. With a debug id given, the build id follows from that.
func (e *elfWriter) identity(id string) (debug, code string) {
	const digits = "0123456789ABCDEF"
	build := make([]byte, 40)
	for i := range build {
		build[i] = digits[e.IntN(16)]
	}
	// swap is its own inverse.
	swap := func(s []byte) string {
		order := []int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}
		var b []byte
		for _, i := range order {
			b = append(b, s[2*i:2*i+2]...)
		}
		return string(b)
	}
	if len(id) >= 32 {
		return id, swap([]byte(id[:32])) + string(build[32:])
	}
	return swap(build[:32]) + "0", string(build)
}

// symbol writes one function with all that belongs to it, or a symbol without debug information.
func (e *elfWriter) symbol() {
	count := e.between(e.fewest, e.most)
	f := e.frames.next(count * e.between(e.shortest, 2*e.mean-e.shortest))
	if e.functions > 0 && e.chance(e.publics) {
		e.public()
	} else {
		e.function(f.at, count)
	}
	e.unwind(f)
	e.functions++
	e.address = (e.address + uint64(f.at) + 15) &^ 15
}

func (e *elfWriter) public() {
	t := &e.out.late
	t.str("PUBLIC ")
	t.field(e.address)
	t.str("0 ")
	if e.chance(70) {
		e.names.plain(t)
	} else {
		e.names.method(t, e.types)
	}
	t.newline()
}

func (e *elfWriter) function(size, count int) {
	t := &e.out.head
	t.str("FUNC ")
	t.field(e.address)
	t.field(uint64(size))
	t.str("0 ")
	if e.chance(8) {
		e.names.plain(t)
	} else {
		e.names.method(t, e.types)
	}
	t.newline()
	e.split(size, min(count, size))
	if e.inlines {
		e.inlined = e.inlined[:0]
		e.inline(0, len(e.rows), 0, e.address)
		t.bytes(e.inlined)
	}
	at := e.address
	for _, l := range e.rows {
		t.field(at)
		t.field(uint64(l.size))
		t.dec(l.number)
		t.space()
		t.dec(l.file)
		t.newline()
		at += uint64(l.size)
	}
}

// split divides left bytes of code into count line records without gaps. The lines go up and, around loops, back; some
// belong to a header.
func (e *elfWriter) split(left, count int) {
	file := e.functions / e.together * e.stride % e.files
	header := (file + e.between(1, 5)) % e.files
	number := e.between(20, 1800)
	e.rows = e.rows[:0]
	for i := range count {
		size := left
		if rest := count - i; rest > 1 {
			size = min(1+e.IntN(2*left/rest), left-rest+1)
		}
		left -= size
		switch k := e.IntN(16); {
		case k < 10:
			number += k
		case k < 12:
			number = max(number-e.IntN(12), 1)
		case k == 15:
			e.rows = append(e.rows, line{size, e.between(30, 900), header})
			continue
		}
		e.rows = append(e.rows, line{size, number, file})
	}
}

// inline puts calls into the lines from lo to hi, each with the calls inlined into it, and moves the lines that belong to
// them to the file of what is called. start is the address of line lo.
func (e *elfWriter) inline(lo, hi, level int, start uint64) {
	for lo < hi && e.chance(60-12*level) {
		skip, length := e.between(1, 6), e.between(1, 8)
		if level > 0 {
			skip = e.between(0, 1) // what is inlined often begins with another call
		}
		a, b := lo+skip, lo+skip+length
		if b >= hi {
			return
		}
		for _, l := range e.rows[lo:a] {
			start += uint64(l.size)
		}
		size := 0
		for _, l := range e.rows[a:b] {
			size += l.size
		}
		call := e.rows[a]
		t := &e.inlined
		t.str("INLINE ")
		t.dec(level)
		t.space()
		t.dec(call.number)
		t.space()
		t.dec(call.file)
		t.space()
		t.dec(e.nextCall % e.origins)
		t.space()
		t.field(start)
		t.hex(uint64(size))
		t.newline()
		e.nextCall++
		file, number := e.nextCall*e.stride%e.files, e.between(10, 600)
		for i := a; i < b; i++ {
			e.rows[i].file, e.rows[i].number = file, number
			number += e.IntN(4)
		}
		e.inline(a, b, level+1, start)
		start += uint64(size)
		lo = b
	}
}

// unwind writes the rows of the function at the current address.
func (e *elfWriter) unwind(f *frame) {
	t := &e.out.last
	t.str("STACK CFI INIT ")
	t.field(e.address)
	t.field(uint64(f.at))
	t.str(entryRule)
	t.newline()
	for _, r := range f.rows {
		t.str("STACK CFI ")
		t.field(e.address + uint64(r.offset))
		t.str(r.rules)
		t.newline()
	}
}
