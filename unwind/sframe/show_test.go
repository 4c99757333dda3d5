package sframe

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnnotate(t *testing.T) {
	s, err := Parse(append(bytes.Clone(handMade), 0, 0), Options{Addr: 0x2000})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Annotate(&got, s); err != nil {
		t.Fatal(err)
	}
	const want = `.sframe: 61 bytes at 0x2000

Header
00000000  e2 de                    magic                    0xdee2, little-endian
00000002  02                       version                  2
00000003  05                       flags                    SFRAME_F_FDE_SORTED|SFRAME_F_FDE_FUNC_START_PCREL
00000004  03                       ABI                      amd64
00000005  00                       fixed FP offset          none
00000006  f8                       fixed RA offset          CFA-8
00000007  00                       auxiliary header length  0
00000008  01 00 00 00              functions                1
0000000c  03 00 00 00              rows                     3
00000010  0b 00 00 00              length of rows           11, to 0x3b
00000014  00 00 00 00              function table at        +0 = 0x1c
00000018  14 00 00 00              rows at                  +20 = 0x30

Function table
          ; function 0
0000001c  e4 ef ff ff              start                    -4124: 0x1000
00000020  30 00 00 00              size                     48: up to 0x1030
00000024  00 00 00 00              rows at                  +0 = 0x30
00000028  03 00 00 00              rows                     3
0000002c  00                       info                     row starts of 1 bytes, plain
0000002d  00                       repeated block           0
0000002e  00 00                    padding                  0x0000

Rows
          ; function 0, 0x1000
00000030  00                       row start                +0: 0x1000
00000031  03                       row info                 base SP, 1 words of 1 bytes
00000032  08                       CFA                      8: sp+8
00000033  01                       row start                +1: 0x1001
00000034  05                       row info                 base SP, 2 words of 1 bytes
00000035  10                       CFA                      16: sp+16
00000036  f0                       FP                       -16: *(cfa-16)
00000037  04                       row start                +4: 0x1004
00000038  04                       row info                 base FP, 2 words of 1 bytes
00000039  10                       CFA                      16: fp+16
0000003a  f0                       FP                       -16: *(cfa-16)
0000003b  00 00                    behind the end           
`
	if got.String() != want {
		t.Error(firstDifference(got.Bytes(), []byte(want)))
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	path := filepath.Join("testdata", "v3-amd64-cfi.o")
	if err := JSON(&out, open(t, path, readFile(t, path))); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Offset, CFA, FP, RA string
		Start, End          int
		Outermost           bool
		Words               []int
	}
	var got struct {
		Machine, Type string
		Sections      []struct {
			Name, Address, ABI string
			Version            int
			Flags              []string
			FixedRA            int `json:"fixed_ra"`
			Functions          []struct {
				Address, Section string
				Size             int
				Signal, Flex     bool
				Rows             []row
			}
			Problems []any
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Sections[0]
	if got.Machine != "EM_X86_64" || got.Type != "ET_REL" || s.Version != 3 || s.ABI != "amd64" || s.FixedRA != -8 ||
		len(s.Functions) != 10 || len(s.Problems) != 0 || len(s.Flags) != 1 {
		t.Errorf("%+v", got)
	}
	f := s.Functions[1]
	if f.Section != ".text" || f.Address != "0x22" || f.Size != 41 || !f.Flex || len(f.Rows) != 6 {
		t.Errorf("%+v", f)
	}
	if text, want := fmt.Sprint(f.Rows[3]), "{0xd7 *(fp-8) *(fp) *(cfa-8) 19 35 false [51 -8 0 51 0]}"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if !s.Functions[0].Rows[0].Outermost || !s.Functions[5].Signal {
		t.Errorf("%+v", s.Functions)
	}
	for _, p := range []string{handMadeWith(3, 0xff), handMadeWith(2, 9)} {
		b := makeELF(2, 62, binary.LittleEndian, elfSection{name: ".sframe", typ: SectionType, data: []byte(p)})
		out.Reset()
		if err := JSON(&out, open(t, "made", b)); err != nil || !json.Valid(out.Bytes()) || !strings.Contains(out.String(), `"kind":"`) {
			t.Errorf("%v %s", err, out.String())
		}
	}
}

func handMadeWith(at int, v byte) string {
	b := bytes.Clone(handMade)
	b[at] = v
	return string(b)
}

type failingWriter struct{}

var errFull = errors.New("full")

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	f := open(t, "made", makeELF(2, 62, binary.LittleEndian, sframeAt(0x2000)))
	for name, err := range map[string]error{
		"list": List(failingWriter{}, f), "annotate": Annotate(failingWriter{}, f.Sections[0]),
		"json": JSON(failingWriter{}, f), "json section": JSONSection(failingWriter{}, f.Sections[0]),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Example finds how to unwind from an address.
func Example() {
	data, err := os.ReadFile("testdata/v3-s390x-cfi")
	if err != nil {
		panic(err)
	}
	f, err := Open(data)
	if err != nil {
		panic(err)
	}
	const pc = 0x1000130
	if fde, ok := f.Find(pc); ok {
		if row, ok := fde.RowAt(pc); ok {
			fmt.Printf("function at 0x%x, %d bytes: CFA %s, FP %s, RA %s\n", fde.Start, fde.Size, row.CFA, row.FP, row.RA)
		}
	}
	// Output: function at 0x1000120, 24 bytes: CFA fp+360, FP *(cfa-72), RA *(cfa-48)
}

func ExampleEncode() {
	data, err := Encode(&Table{
		Version: 3, Flags: Sorted | PCRel, ABI: AMD64, FixedRA: -8, Addr: 0x2000,
		Functions: []Function{{
			Start: 0x1000, Size: 0x30, Info: RowTypeFor(0x30),
			Rows: []TableRow{{Start: 0, Info: 1, Words: []int32{8}}, {Start: 1, Info: 1, Words: []int32{16, -16}}},
		}},
	})
	if err != nil {
		panic(err)
	}
	s, err := Parse(data, Options{Addr: 0x2000})
	if err != nil {
		panic(err)
	}
	for it := s.FDE(0).Rows(); it.Next(); {
		fmt.Printf("+%d: CFA %s, FP %s, RA %s\n", it.Row.Start, it.Row.CFA, it.Row.FP, it.Row.RA)
	}
	// Output:
	// +0: CFA sp+8, FP unchanged, RA *(cfa-8)
	// +1: CFA sp+16, FP *(cfa-16), RA *(cfa-8)
}
