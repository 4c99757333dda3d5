package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/cmd/symlint/internal/cli"
	"github.com/symlint/symlint/unwind/corpustest"
)

// dump runs symlint dump.
func dump(args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = cli.Run(append([]string{"dump"}, args...), cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }})
	return out.String(), errs.String(), status
}

// sframeFiles are the ELF files of a directory with the listing that readelf printed of each; "" if it crashed.
func sframeFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "v[123]*"))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, path := range paths {
		if strings.Contains(filepath.Base(path), ".txt") {
			continue
		}
		out[path] = ""
		stem := strings.TrimSuffix(path, ".gz")
		for _, name := range []string{stem + ".readelf-2.40.txt", stem + ".readelf.txt", stem + ".readelf.txt.gz"} {
			if data, err := os.ReadFile(name); err == nil {
				if strings.HasSuffix(name, ".gz") {
					z, err := gzip.NewReader(bytes.NewReader(data))
					if err != nil {
						t.Fatal(err)
					}
					if data, err = io.ReadAll(z); err != nil {
						t.Fatal(err)
					}
				}
				out[path] = string(data)
				break
			}
		}
	}
	return out
}

// TestDumpFiles holds listings of SFrame sections against readelf's, byte for byte.
func TestDumpFiles(t *testing.T) {
	check := func(t *testing.T, dir string, least int) {
		equal, none, total := 0, 0, 0
		for path, want := range sframeFiles(t, dir) {
			got, stderr, status := dump(path)
			total++
			switch {
			case strings.HasPrefix(want, "--- stderr ---") && strings.Contains(want, "it does not exist"):
				none++
				if status != 2 || got != "" || !strings.HasSuffix(stderr, ": has no SFrame section\n") {
					t.Errorf("%s: status %d, %s", path, status, stderr)
				}
			case got != want:
				t.Errorf("%s: the listing differs from readelf's", path)
			case status != 0 || stderr != "":
				if !strings.Contains(path, "gasbugs") || status != 1 { // assemblers' mistakes
					t.Errorf("%s: status %d, %s", path, status, stderr)
				}
				equal++
			default:
				equal++
			}
		}
		t.Logf("%d of %d listings equal, %d files have no SFrame", equal, total-none, none)
		if total < least {
			t.Errorf("%d files in %s", total, dir)
		}
	}
	t.Run("testdata", func(t *testing.T) { check(t, filepath.Join(corpustest.Root(), "unwind", "sframe", "testdata"), 12) })
	t.Run("corpus", func(t *testing.T) { check(t, filepath.Join(corpustest.Dir(t), "sframe", "good"), 112) })
}

// TestDumpBad shows damaged sections every way: none is refused as a whole, all that are found damaged have status 1.
func TestDumpBad(t *testing.T) {
	damaged, total := 0, 0
	for path := range sframeFiles(t, filepath.Join(corpustest.Dir(t), "sframe", "bad")) {
		total++
		_, stderr, status := dump(path)
		if status > 1 || (status == 1) != (stderr != "") {
			t.Errorf("%s: status %d, %s", path, status, stderr)
		}
		if status == 1 {
			damaged++
		}
		if out, _, s := dump("--annotate", path); s != status || out == "" {
			t.Errorf("%s: --annotate has status %d, want %d", path, s, status)
		}
		out, _, s := dump("--format", "json", path)
		if s != status || !json.Valid([]byte(out)) {
			t.Errorf("%s: --format json has status %d, want %d", path, s, status)
		}
	}
	t.Logf("%d of %d are found damaged", damaged, total)
	if damaged < 236 {
		t.Errorf("%d of %d are found damaged", damaged, total)
	}
}
