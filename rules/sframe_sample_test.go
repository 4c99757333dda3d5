package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/sframe"
)

// TestSFrameSamples holds what is said of the committed ELF files of several tool chains to sframe.golden, so that every
// kind of file is checked without the collection.
func TestSFrameSamples(t *testing.T) {
	dir := filepath.Join(corpustest.Root(), "unwind", "sframe", "testdata")
	var b strings.Builder
	for _, path := range sframeFiles(t, dir) {
		if strings.HasSuffix(path, ".md") {
			continue
		}
		res, found := checkBinary(t, filepath.Base(path), readFile(t, path))
		if res.Err != nil {
			t.Errorf("%s: %v", path, res.Err)
		}
		fmt.Fprintf(&b, "%s: %d functions, %d rows\n", filepath.Base(path), res.Records[0].Count, res.Records[1].Count)
		for _, f := range found {
			fmt.Fprintf(&b, "  %s+0x%x: %s: %s [%s]\n", f.Section, f.Offset, f.Severity, f.Message, f.Rule.Name)
		}
	}
	golden := filepath.Join("testdata", "sframe.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("findings of the samples differ from %s (%v); they are\n%s", golden, err, b.String())
	}
}

// A row moved to another place in an ELF file is told for every kind of machine, without the collection.
func TestSFramePlanted(t *testing.T) {
	for _, c := range []struct {
		name  string
		image func() *sframeImage
		rule  *lint.Rule
		plant func(*sframeImage)
	}{
		{"CFA on AArch64", imageAArch64, sfCFAMismatch, func(im *sframeImage) { im.work().Rows[1].Words[0] = 48 }},
		{"CFA on s390x", imageS390X, sfCFAMismatch, func(im *sframeImage) { im.work().Rows[1].Words[0]++ }},
		{"RA on s390x", imageS390X, sfRAMismatch, func(im *sframeImage) { im.work().Rows[1].Words[1] = -56 }},
		{"FP on AArch64", imageAArch64, sfFPMismatch, func(im *sframeImage) { im.work().Rows[1].Words[2] = -40 }},
		{"a row 1 byte late", imageAMD64, sfCFAMismatch, func(im *sframeImage) { im.work().Rows[1].Start++ }},
		{"a row missing", imageAMD64, sfCFAMismatch, func(im *sframeImage) { im.work().Rows = im.work().Rows[:3] }},
		{"in an object file", imageObject, sfFPMismatch, func(im *sframeImage) { im.work().Rows[2].Words[1] = -32 }},
		{"a function without rows", imageAMD64, sfOutermostMismatch, func(im *sframeImage) { im.work().Rows = nil }},
		{"a second relocation", imageObject, sfReloc, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.relocs = append(h.relocs, h.relocs[0]) })
		}},
		{"a segment too small", imageAMD64, sfSegmentSize, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.segment.size -= 8 })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, found := checkBinary(t, "healthy", c.image().build()); len(found) > 0 {
				t.Errorf("healthy:\n%s", describeBinary(found))
			}
			im := c.image()
			c.plant(im)
			_, found := checkBinary(t, "planted", im.build())
			n := 0
			for _, f := range found {
				if f.Rule == c.rule && f.Severity == lint.Error {
					n++
					if sfReloc != c.rule && sfSegmentSize != c.rule && f.Function != "work" {
						t.Errorf("in function %q", f.Function)
					}
				}
			}
			if n != 1 {
				t.Errorf("%d findings of %s:\n%s", n, c.rule.Name, describeBinary(found))
			}
		})
	}
}

// Files made to cost time do not: every function has all the rows of the file, and as many lines of call frame information.
func TestSFrameHostile(t *testing.T) {
	im := imageAMD64()
	const n = 8000
	im.text = make([]byte, 1<<20)
	rows := make([]sframe.TableRow, n)
	var cfi []byte
	for i := range rows {
		rows[i] = sframe.TableRow{Start: uint32(i), Info: rowSP, Words: []int32{4}} // never plausible
		cfi = append(cfi, 0x41, 0x0e, byte(8+i%2))
	}
	im.add("large", workSize+mainSize, 1<<19, rows, cfi)
	for i := range 500 {
		im.add("small", uint64(1<<19+2*workSize+mainSize+i), 1, []sframe.TableRow{{Info: rowSP, Words: []int32{8}}}, nil)
	}
	im.change(func(h *imageHeaders) { h.sframe.addr += 1 << 24; h.segment.vaddr += 1 << 24 })
	im.table.Addr += 1 << 24
	im.ehAddr = imageEH + 1<<25
	large := len(im.table.Functions) - 501
	im.data = append(im.data, func(b []byte) []byte { // all rows are those of the large one
		at := b[28+16*large+12:]
		for i := large + 1; i < len(im.table.Functions); i++ {
			copy(b[28+16*i+12:28+16*i+16], at[:4])
		}
		return b
	})
	res, found := checkBinary(t, "hostile", im.build())
	if res.Err != nil || len(found) == 0 || res.Note == "" {
		t.Errorf("%v, %d findings, %q", res.Err, len(found), res.Note)
	}
}
