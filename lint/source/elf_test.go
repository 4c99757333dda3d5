package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// Of the ELF files in a directory those with SFrame are inputs, whatever they are called.
func TestFindELF(t *testing.T) {
	sample, err := os.ReadFile(filepath.Join(corpustest.Root(), "unwind", "sframe", "testdata", "v3-amd64-cfi.o"))
	if err != nil {
		t.Fatal(err)
	}
	plain := append([]byte(nil), sample...)
	for i := range plain[64:] { // no section headers that could be read
		plain[64+i] = 0
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"lib/libfoo.so.1": sample, "plain.o": plain, "short": []byte("\x7fELF"), "notes.txt": []byte("hello"), "raw.sframe": {0xe2, 0xde, 2, 1},
		"b.sym": []byte("MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 b\n"), "empty": nil,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("lib/libfoo.so.1", filepath.Join(dir, "libfoo.so")); err != nil {
		t.Log(err)
	}
	var got []string
	for _, s := range Find([]string{dir}, Options{}) {
		rel, _ := filepath.Rel(dir, s.Path())
		got = append(got, filepath.ToSlash(rel))
		in, err := s.Open()
		if err != nil {
			t.Error(err)
		} else if in.Close != nil {
			in.Close()
		}
	}
	if want := "b.sym lib/libfoo.so.1 raw.sframe"; strings.Join(got, " ") != want {
		t.Errorf("found %s, want %s", got, want)
	}
}
