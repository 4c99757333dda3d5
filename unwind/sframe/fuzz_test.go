package sframe

import (
	"bytes"
	"testing"
)

// FuzzParse: nothing in a section makes anything panic, hang or contradict itself.
func FuzzParse(f *testing.F) {
	f.Add(handMade, uint64(0x2000))
	for _, path := range elfFiles(f, "testdata") {
		for _, s := range open(f, path, readFile(f, path)).Sections {
			f.Add(s.Data, s.Addr)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		s, err := Parse(data, Options{Addr: addr})
		if (s == nil) != (err != nil) {
			t.Fatal("section xor error")
		}
		if err == nil {
			exerciseSection(t, s)
		}
	})
}

// FuzzEncode: what can be read as a whole comes out the same when it is encoded and read again; without faults in the
// layout, byte for byte.
func FuzzEncode(f *testing.F) {
	f.Add(handMade)
	for _, path := range elfFiles(f, "testdata") {
		for _, s := range open(f, path, readFile(f, path)).Sections {
			f.Add(s.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data, Options{})
		if err != nil {
			return
		}
		table, err := s.Table()
		if err != nil {
			return
		}
		out, err := Encode(table)
		if err != nil {
			return
		}
		sound := true
		for _, p := range s.Check() {
			switch p.Kind {
			case BadLayout, BadRowLength, BadRowCount, RowsShared, OutOfBounds:
				sound = false
			}
		}
		for it := s.Functions(); it.Next(); {
			for it.NextRow() {
				r := it.Row()
				sound = sound && !(r.Outermost && r.WordSize == 0) && r.Fault != RowRule && r.Fault != RowWords
			}
			sound = sound && it.FDE.NumRows > 0
		}
		if sound && !bytes.Equal(out, data) {
			t.Fatalf("does not come out the same:\n%x\n%x", data, out)
		}
		again, err := Parse(out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		second, err := again.Table()
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := Encode(second); err != nil || !bytes.Equal(out, twice) {
			t.Fatalf("the second time is not the first: %v\n%x\n%x", err, out, twice)
		}
	})
}

// FuzzOpen: nothing in an ELF file makes anything panic or hang.
func FuzzOpen(f *testing.F) {
	for _, path := range elfFiles(f, "testdata") {
		f.Add(readFile(f, path))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if file, err := Open(data); err == nil {
			exercise(t, file)
		}
	})
}
