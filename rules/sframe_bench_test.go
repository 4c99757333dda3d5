package rules

import (
	"fmt"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/sframe"
)

// imageOf has n functions besides those of the example, each with a row for its prologue.
func imageOf(n int) *sframeImage {
	im := imageAMD64()
	const size = 16
	first := len(im.text)
	im.text = append(im.text, make([]byte, n*size)...)
	for i := range n {
		rows := []sframe.TableRow{{Info: rowSP, Words: []int32{8}}, {Start: 1, Info: rowSP, Words: []int32{16}}, {Start: 15, Info: rowSP, Words: []int32{8}}}
		im.add(fmt.Sprintf("f%d", i), uint64(first+i*size), size, rows, []byte{0x41, 0x0e, 16, 0x4e, 0x0e, 8})
	}
	im.change(func(h *imageHeaders) { h.sframe.addr += 1 << 24; h.segment.vaddr += 1 << 24 })
	im.table.Addr += 1 << 24
	im.ehAddr = imageEH + 1<<25
	return im
}

// A binary of many functions is as healthy as one of few.
func TestSFrameMany(t *testing.T) {
	res, found := checkBinary(t, "many", imageOf(5000).build())
	if res.Err != nil || len(found) > 0 {
		t.Fatalf("%v\n%s", res.Err, describeBinary(found))
	}
	if n := res.Records[0].Count; n != 5002 {
		t.Errorf("%d functions", n)
	}
}

// Reading, judging and cross-checking a binary of 66 000 functions.
func BenchmarkSFrameCheck(b *testing.B) {
	data := imageOf(66000).build()
	g := Registry()
	r := &lint.Runner{Registry: g, Binary: BinaryAnalyzers(), Jobs: 1, Keep: 10}
	settings := lint.NewSettings(g)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		res := r.CheckBinary("many", "elf", data, settings)
		if res.Err != nil || res.Totals != [lint.Error + 1]int{} {
			b.Fatal(res.Err, res.Totals)
		}
		res.Close()
	}
}
