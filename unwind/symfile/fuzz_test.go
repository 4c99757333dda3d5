package symfile

import (
	"math/rand/v2"
	"testing"
)

// FuzzScanner: whatever the bytes, the records lie one behind the other and cover them all, the short path says what
// the long one says, and cuts change nothing.
func FuzzScanner(f *testing.F) {
	for _, c := range canonical {
		for _, eol := range []string{"\n", "\r\n", "\r", ""} {
			f.Add([]byte(c.text + eol))
		}
	}
	for _, s := range []string{
		"\xef\xbb\xbfMODULE Linux x86_64 0 a\n", "M\x00O\x00D\x00", "STACK CFI\nSTACK CFI INIT\nSTACK WIN\n", "FUNC 10\r00 10 0 f\r\r\n\r",
		"FUNC x 1000 10 0 f\nINLINE 0 1 2 3 4\n", "\t\t \n  FUNC 1 1 1 f \n", "-0 +0 0x0 99999999999999999999\n",
		"FUNC ffffffffffffffff 1 0 a\nPUBLIC 10000000000000000 0 a\n",
	} {
		f.Add([]byte(s))
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 20 {
		f.Add(randomText(rnd, 10, false))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rs := scanAll(data)
		checkLayout(t, data, rs)
		compareRecords(t, "short path against long one", data, rs, scanPart(data, Chunk{0, len(data), 1}, true))
		var parts []Record
		for _, c := range Chunks(data, 3) {
			parts = append(parts, scanPart(data, c, false)...)
		}
		compareRecords(t, "chunks", data, rs, parts)
		for i := range rs {
			RecordText(data, uint32(rs[i].Span.Off))
			if r := &rs[i]; len(r.Problems) == 0 && r.Kind != Blank && !spellingLost(data, r) {
				if got, want := serialize(data, r), string(data[r.Span.Off:r.Span.End]); got != want {
					t.Fatalf("%q became %q", want, got)
				}
			}
		}
		var x Index
		for i := range rs {
			x.Add(&rs[i], data)
		}
		FindModule(data)
		names := NewNames(data, &x)
		for _, fn := range x.Funcs {
			names.At(fn.Addr)
		}
	})
}

// spellingLost: leading zeros are in order and do not come back.
func spellingLost(data []byte, r *Record) bool {
	for i := r.Span.Off + 1; i < r.Span.End; i++ {
		if data[i] == '0' && (i == r.Span.Off || data[i-1] == ' ') && i+1 < r.Span.End && data[i+1] != ' ' {
			return true
		}
	}
	return r.Span.Len() > 1 && data[r.Span.Off] == '0' && data[r.Span.Off+1] != ' '
}
