package rules

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
)

// Whatever the bytes are, checking them ends, with findings that have a place and a text.
func FuzzBinary(f *testing.F) {
	for _, a := range sframeFamily.Rules {
		f.Add(a.Bad.Data())
	}
	f.Add(imageAMD64().build())
	f.Add(imageAArch64().build())
	f.Add(imageS390X().build())
	f.Add(imageObject().build())
	samples, _ := filepath.Glob(filepath.Join(corpustest.Root(), "unwind", "sframe", "testdata", "*"))
	for _, path := range samples {
		if !strings.Contains(path, ".txt") && !strings.HasSuffix(path, ".md") {
			f.Add(readFile(f, path))
		}
	}
	g := Registry()
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &lint.Runner{Registry: g, Binary: BinaryAnalyzers(), Jobs: 1}
		res := r.CheckBinary("fuzz", binaryKind(data), data, nil)
		defer res.Close()
		if res.Err != nil {
			if strings.Contains(res.Err.Error(), "internal error") {
				t.Fatal(res.Err)
			}
			return
		}
		for f, err := range res.Findings() {
			if err != nil {
				t.Fatal(err)
			}
			if f.Section == "" || f.Message == "" || f.Offset < 0 || f.Length < 0 {
				t.Errorf("finding without place or text: %s+0x%x %q [%s]", f.Section, f.Offset, f.Message, f.Rule.Name)
			}
		}
	})
}
