package listing

import (
	"path/filepath"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

func FuzzListing(f *testing.F) {
	f.Add([]byte(sample))
	for _, dir := range []string{"sym", "err"} {
		symbolFiles(f, filepath.Join(corpustest.Root(), "testdata", dir), func(path string, data []byte) {
			if len(data) < 8<<10 {
				f.Add(data)
			}
		})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := counter(0)
		if err := Text(&w, data, Options{}); err != nil {
			t.Fatal(err)
		}
		if int(w) > 64*len(data)+2<<20 {
			t.Errorf("%d bytes of %d", w, len(data))
		}
		counted(t, data)
	})
}
