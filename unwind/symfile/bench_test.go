package symfile

import (
	"bytes"
	"fmt"
	"testing"
)

// lineHeavy is what an ELF module with line information looks like.
func lineHeavy(size int) []byte {
	var b bytes.Buffer
	b.WriteString("MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nFILE 0 /src/main.c\n")
	for addr := 0x1000; b.Len() < size; addr += 0x140 {
		fmt.Fprintf(&b, "FUNC %x 140 0 ns::Klass<int>::method_%d(std::vector<int> const&, char const*)\n", addr, addr)
		for i := range 40 {
			fmt.Fprintf(&b, "%x 8 %d 0\n", addr+8*i, 100+i)
		}
	}
	return b.Bytes()
}

// cfiHeavy is what its unwind rows look like.
func cfiHeavy(size int) []byte {
	var b bytes.Buffer
	b.WriteString("MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n")
	for addr := 0x1000; b.Len() < size; addr += 0x140 {
		fmt.Fprintf(&b, "STACK CFI INIT %x 140 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n", addr)
		fmt.Fprintf(&b, "STACK CFI %x $rbp: .cfa -16 + ^ .cfa: $rsp 16 +\n", addr+1)
		fmt.Fprintf(&b, "STACK CFI %x .cfa: $rbp 16 +\n", addr+4)
		fmt.Fprintf(&b, "STACK CFI %x $rbx: .cfa -24 + ^ $r12: .cfa -32 + ^\n", addr+9)
		fmt.Fprintf(&b, "STACK CFI %x .cfa: $rsp 8 +\n", addr+0x13f)
	}
	return b.Bytes()
}

func benchmarkScan(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var s Scanner
	for b.Loop() {
		s.Reset(data, 0, len(data), 1)
		n := 0
		for s.Next() {
			n++
		}
		if n < 1000 {
			b.Fatal("too few records")
		}
	}
}

func BenchmarkScanLines(b *testing.B) { benchmarkScan(b, lineHeavy(8<<20)) }
func BenchmarkScanCFI(b *testing.B)   { benchmarkScan(b, cfiHeavy(8<<20)) }

// CRLF costs nothing; records out of form take the long path.
func BenchmarkScanCRLF(b *testing.B) {
	benchmarkScan(b, bytes.ReplaceAll(lineHeavy(8<<20), []byte("\n"), []byte("\r\n")))
}
func BenchmarkScanUpperCase(b *testing.B) {
	benchmarkScan(b, bytes.ReplaceAll(lineHeavy(8<<20), []byte("FUNC "), []byte("FUNC 0x")))
}

func BenchmarkChunks(b *testing.B) {
	data := lineHeavy(8 << 20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if len(Chunks(data, 4)) != 4 {
			b.Fatal("not cut")
		}
	}
}
