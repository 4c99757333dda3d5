package source

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is no symbol file is read all the same, in every packing.
func TestRead(t *testing.T) {
	text := "MDMP\x93\xa7 any bytes at all \x00\xff"
	large := strings.Repeat(text, 2*mapFrom/len(text))
	dir := t.TempDir()
	for _, c := range []struct{ name, content, want string }{
		{"plain", text, text},
		{"empty", "", ""},
		{"mapped", large, large},
		{"gzip", string(gz(t, []byte(text))), text},
		{"zstd", string(zst(t, []byte(text))), text},
		{"both", string(gz(t, zst(t, []byte(text)))), text},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, "-"} {
			b, err := Read(from, Options{Stdin: strings.NewReader(c.content)})
			if err != nil {
				t.Errorf("%s from %s: %v", c.name, from, err)
				continue
			}
			if string(b.Data) != c.want || b.Err != nil {
				t.Errorf("%s from %s: %d bytes (%v), want %d", c.name, from, len(b.Data), b.Err, len(c.want))
			}
			if want := map[bool]string{true: StdinPath, false: path}[from == "-"]; b.Path != want {
				t.Errorf("path %q, want %q", b.Path, want)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestReadTrouble(t *testing.T) {
	dir := t.TempDir()
	thrice := gz(t, gz(t, gz(t, []byte("x"))))
	zeros := gz(t, make([]byte, 64<<10))
	for _, c := range []struct {
		path   string
		stdin  io.Reader
		limits Limits
		want   string
	}{
		{path: dir, want: dir + ": is a directory: expected one dump"},
		{path: filepath.Join(dir, "nowhere"), want: "nowhere: no such file or directory"},
		{path: "-", want: "<stdin>: there is no standard input"},
		{path: "-", stdin: bytes.NewReader(thrice), want: "compressed more than twice: expected a dump, found gzip data"},
		{path: "-", stdin: bytes.NewReader(zeros), limits: Limits{Size: 1 << 10}, want: "more than symlint reads (1024 bytes)"},
		{path: "-", stdin: bytes.NewReader(zeros), limits: Limits{RatioFrom: 1 << 10, Ratio: 20}, want: "which no dump does"},
		{path: "-", stdin: strings.NewReader("\x1f\x8b\x08"), want: "truncated gzip data"},
	} {
		b, err := Read(c.path, Options{Stdin: c.stdin, Limits: c.limits})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
		if b != nil {
			t.Errorf("%s: a value beside the error", c.path)
		}
	}
}

// A truncated archive gives what came out of it, and says so.
func TestReadTruncated(t *testing.T) {
	packed := gz(t, []byte("MDMP and more"))
	b, err := Read("-", Options{Stdin: bytes.NewReader(packed[:len(packed)-4])})
	if err != nil {
		t.Fatal(err)
	}
	if string(b.Data) != "MDMP and more" || b.Err == nil || !strings.HasSuffix(b.Err.Error(), "only what comes before was used") {
		t.Errorf("%q, %v", b.Data, b.Err)
	}
}

func TestDescribe(t *testing.T) {
	for data, want := range map[string]string{
		"":                "an empty file",
		"\x7fELF\x02\x01": "an ELF file",
		"MDMP\x93\xa7":    "a minidump",
		"MODULE Linux x86 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n": "a Breakpad symbol file",
		"Hello, world\n":    `"Hello, world"`,
		"\x00\x01\x02\x03h": "binary data that begins with 00 01 02 03 68",
	} {
		if got := Describe([]byte(data)); got != want {
			t.Errorf("%q is %s, want %s", data, got, want)
		}
	}
}
