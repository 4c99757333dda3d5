// Package listing shows a Breakpad symbol file in a normal form, for people and for programs that compare texts:
// symbols in the order of their addresses, everything below a symbol relative to its start, ids of files and inlined
// functions resolved into names, unwind records as what they mean. The address of a symbol stands on a line of its own,
// so that moving code changes that line and no other, and renumbering or reordering records changes nothing.
//
// Nothing that the file says is lost but line numbers, ids, the order of records and FILE and INLINE_ORIGIN records
// that nothing uses (FILE names are all listed). Records that no reader can use, and those that belong to no symbol
// although they must, stand at the end as they are.
package listing

import (
	"io"

	"github.com/symlint/symlint/unwind/symfile"
)

// Options say what is shown.
type Options struct {
	// NoAddresses leaves out the addresses of symbols, so that moving code changes nothing at all. For Text.
	NoAddresses bool
}

// Text writes the listing of a symbol file as text. It fails only if w does. Memory grows with the number of symbols
// and unwind records, time and output with the size of the data: what a short record repeats, such as the name of a
// file, is cut where a file repeats long texts without measure.
func Text(w io.Writer, data []byte, o Options) error {
	t := &textSink{out: out{w: w}, options: o}
	return run(data, t, &t.out)
}

// JSON writes the listing as one JSON object. Fields may be added, never changed or removed:
//
//	{"version": 1,
//	 "module": {"os", "arch", "id", "name"},            null without MODULE record
//	 "info": ["CODE_ID …"],
//	 "files": ["/src/main.c"],                          sorted, each once
//	 "symbols": [{
//	   "record": "FUNC",                                or "PUBLIC"; null: unwind records that belong to no symbol
//	   "name": "main",                                  "" where record is null
//	   "address": "0x1000", "size": "0x20",             size "0x0" for a PUBLIC
//	   "param_size": "0x0", "multiple": false,
//	   "lines": [{"offset": "0x0", "size": "0x10", "file": "/src/main.c", "line": 6}],
//	   "inlines": [{"nest": 0, "name": "inner", "call_file": null, "call_line": 7,
//	                "ranges": [{"offset": "0x10", "size": "0x10"}]}],
//	   "unwind": [{"offset": "0x0", "size": "0x20",
//	               "rows": [{"offset": "0x0", "rules": {".cfa": "rsp+8", ".ra": "[cfa-8]"},
//	                         "partial": false, "unreadable": null}]}],
//	   "win": [{"offset": "0x0", "size": "0x20", "type": 4, "prolog": "0x6", "epilog": "0x0", "param_size": "0x0",
//	            "saved_regs": "0x8", "locals": "0x0", "max_stack": "0x0", "program": "T0 = ebp; …",
//	            "allocates_base_pointer": null}]}],     one of the last two is null
//	 "unreadable": ["FUNC x"]}
//
// Offsets count from the symbol's address and are negative, "-0x10", before it. A file is null where the record names
// none or one that is not there. Inlined calls stand in preorder: those inlined into one follow it with a higher nest.
// The rules of a row are all that are in force, by the registers' names in the file; partial rows have the record's own
// only. What a record has that is no rule is unreadable.
func JSON(w io.Writer, data []byte) error {
	j := &jsonSink{out: out{w: w}}
	return run(data, j, &j.out)
}

// sink receives a listing piece by piece. The bytes it is given are the input's or used again: it must not keep them.
type sink interface {
	head(h *head)
	file(name []byte)
	symbol(s *symbol)
	line(x *line)
	inline(x *inline)
	unwind(x *unwind)
	row(x *row)
	win(x *win)
	end() // of a symbol
	unreadable(text []byte)
	close()
}

type head struct {
	module symfile.ModuleEntry // Line 0: none
	infos  [][]byte
}

// symbol is a FUNC or PUBLIC record, or an address that unwind records without one have in common (Unknown).
type symbol struct {
	kind       symfile.Kind
	name       []byte
	addr, size uint64
	params     uint64
	multiple   bool
}

// span is a range of code relative to its symbol.
type span struct {
	offset int64
	size   uint64
}

// source is a place in the program's source.
type source struct {
	file   []byte
	known  bool  // the file has a name
	id     int64 // of the file, -1 for none
	number int64
}

type line struct {
	span
	source
}

type inline struct {
	nest   int64
	name   []byte
	known  bool
	origin int64
	call   source
	ranges []span
}

// unwind is a STACK CFI INIT record.
type unwind struct {
	span
	whole bool // it covers just the symbol
}

// row is the rules in force from an offset on.
type row struct {
	offset     int64
	rules      []rule
	partial    bool
	unreadable []byte
}

type win struct {
	span
	symfile.WinFields
	params  uint64
	program string // its meaning
	flag    []byte // of a record without program
}

// out collects output and remembers the first error.
type out struct {
	w   io.Writer
	b   []byte
	err error
}

const flushAt = 1 << 16

// flushed writes what has been collected once it is worth it.
func (o *out) flushed() {
	if len(o.b) >= flushAt {
		o.flush()
	}
}

func (o *out) flush() {
	if o.err == nil && len(o.b) > 0 {
		_, o.err = o.w.Write(o.b)
	}
	o.b = o.b[:0]
}

// run lists a file into a sink.
func run(data []byte, s sink, o *out) error {
	if most := uint64(symfile.MaxSize); uint64(len(data)) > most {
		data = data[:most]
	}
	l := newLister(data, s)
	l.head()
	l.symbols(o)
	if o.err == nil {
		l.rest(o)
	}
	s.close()
	o.flush()
	return o.err
}
