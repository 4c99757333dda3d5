package symdiff

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// FuzzDiff edits a file at random places: nothing may panic, a file never differs from itself, and a difference is one
// in both directions.
func FuzzDiff(f *testing.F) {
	var files [][]byte
	paths, _ := filepath.Glob(filepath.Join(corpustest.Root(), "testdata", "sym", "*.sym"))
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, data)
	}
	const stray = "MODULE Linux x86_64 0 a\nSTACK CFI INIT 10 10 .cfa: $rsp 8 + .ra: .cfa 8 - ^\nSTACK CFI INIT 20 10 .cfa: $rsp 8 + .ra: .cfa 8 - ^\n" +
		"STACK CFI 14 .cfa: $rsp 16 +\nPUBLIC 10 0 a\nPUBLIC 18 0 b\nPUBLIC 18 0 c\nSTACK WIN 4 10 20 1 1 4 4 0 0 1 $eip 4 + ^ =\nFILE 3 late\nFUNC 40 0 0 z\n40 ffffffff 1 3\nINLINE 0 1 3 0 40 10 44 2\nINLINE 1 1 3 1 41 2\n"
	files = append(files, []byte(stray))
	for i := range files {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{1, 10, 3, '9', 2, 40, 9, 'f', 0, 200, 50, 0})
		f.Add(uint8(i), []byte{3, 10, 77, 0, 0, 4, 200, 0, 1, 90, 2, ' ', 2, 91, 2, '\n'})
	}
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		old := files[int(which)%len(files)]
		new := bytes.Clone(old)
		for ; len(edits) >= 4 && len(new) > 0; edits = edits[4:] {
			at := (int(edits[1])<<8 | int(edits[2])) * 7 % len(new)
			switch edits[0] % 5 {
			case 0: // remove a line
				if n := bytes.IndexByte(new[at:], '\n'); n >= 0 {
					new = append(new[:at:at], new[at+n:]...)
				}
			case 1: // change a byte
				new[at] = edits[3]
			case 2: // insert a byte
				new = append(append(new[:at:at], edits[3]), new[at:]...)
			case 3: // write a line twice
				if n := bytes.IndexByte(new[at:], '\n'); n >= 0 {
					new = append(append(new[:at+n:at+n], new[at:at+n]...), new[at+n:]...)
				}
			case 4: // cut the end off
				new = new[:at]
			}
		}
		check := func(a, b []byte) *Result {
			r := Compare(a, b, Options{Jobs: 1})
			for _, write := range []func(io.Writer) error{
				func(w io.Writer) error { return r.WriteText(w, TextOptions{Context: 2, Color: true}) }, r.WriteJSON, r.WriteHTML,
			} {
				if err := write(io.Discard); err != nil {
					t.Error(err)
				}
			}
			return r
		}
		if r := check(new, new); !r.Same() {
			t.Errorf("differs from itself:\n%s", tell(r))
		}
		there, back := check(old, new), check(new, old)
		if there.Same() != back.Same() {
			t.Errorf("one way:\n%s\nthe other:\n%s", tell(there), tell(back))
		}
	})
}
