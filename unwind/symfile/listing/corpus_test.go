package listing

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// symbolFiles calls f for the symbol files below a directory.
func symbolFiles(t testing.TB, dir string, f func(path string, data []byte)) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(strings.TrimSuffix(path, ".gz"), ".sym") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return err
			}
			if data, err = io.ReadAll(z); err != nil {
				return err
			}
		}
		n++
		f(path, data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFiles lists real files, healthy and damaged: every record is there, and expressions are quoted in damaged ones
// only.
func TestFiles(t *testing.T) {
	check := func(t *testing.T, dir string, least int, healthy bool) {
		n := symbolFiles(t, dir, func(path string, data []byte) {
			counted(t, data)
			got := text(t, string(data), Options{})
			if healthy && (strings.Contains(got, "not readable") || strings.Contains(got, "unreadable\n") || strings.Contains(got, `"`+"\n")) {
				t.Errorf("%s: not all could be listed", path)
			}
			if t.Failed() {
				t.Fatalf("%s", path)
			}
		})
		if n < least {
			t.Errorf("%d files in %s", n, dir)
		}
		t.Logf("%d files", n)
	}
	testdata := filepath.Join(corpustest.Root(), "testdata")
	t.Run("ok", func(t *testing.T) { check(t, filepath.Join(testdata, "ok"), 8, true) })
	t.Run("err", func(t *testing.T) { check(t, filepath.Join(testdata, "err"), 10, false) })
	t.Run("corpus made", func(t *testing.T) { check(t, filepath.Join(corpustest.Dir(t), "made"), 10, false) })
	t.Run("corpus bad", func(t *testing.T) { check(t, filepath.Join(corpustest.Dir(t), "bad"), 10, false) })
	t.Run("corpus public", func(t *testing.T) { check(t, filepath.Join(corpustest.Dir(t), "public"), 1, false) })
}
