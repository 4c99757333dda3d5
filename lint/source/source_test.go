package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
)

const text = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
FILE 0 /src/main.c
FUNC 1000 10 0 main
1000 10 3 0
`

func gz(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zst(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

func utf16Bytes(s string, big, mark bool) []byte {
	units := utf16.Encode([]rune(s))
	if mark {
		units = append([]uint16{0xfeff}, units...)
	}
	var out []byte
	for _, u := range units {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func TestContentDecides(t *testing.T) {
	packed := gz(t, []byte(text))
	skippable := append([]byte{0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}, zst(t, []byte(text))...)
	for _, c := range []struct {
		name     string
		in       []byte
		kind     string
		data     string
		encoding string
	}{
		{"plain", []byte(text), "sym", text, ""},
		{"crlf", []byte(strings.ReplaceAll(text, "\n", "\r\n")), "sym", strings.ReplaceAll(text, "\n", "\r\n"), ""},
		{"gzip", packed, "sym", text, ""},
		{"gzip of two members", append(gz(t, []byte(text[:70])), gz(t, []byte(text[70:]))...), "sym", text, ""},
		{"zstd", zst(t, []byte(text)), "sym", text, ""},
		{"zstd behind a skippable frame", skippable, "sym", text, ""},
		{"gzip in gzip", gz(t, packed), "sym", text, ""},
		{"zstd in gzip", gz(t, zst(t, []byte(text))), "sym", text, ""},
		{"gzip in zstd", zst(t, packed), "sym", text, ""},
		{"UTF-8 mark", []byte("\xef\xbb\xbf" + text), "sym", "\xef\xbb\xbf" + text, ""},
		{"UTF-16LE with mark", utf16Bytes(text, false, true), "sym", text, "UTF-16LE"},
		{"UTF-16BE with mark", utf16Bytes(text, true, true), "sym", text, "UTF-16BE"},
		{"UTF-16LE without mark", utf16Bytes(text, false, false), "sym", text, "UTF-16LE"},
		{"UTF-16BE without mark", utf16Bytes(text, true, false), "sym", text, "UTF-16BE"},
		{"UTF-16LE in gzip", gz(t, utf16Bytes(text, false, true)), "sym", text, "UTF-16LE"},
		{"UTF-16LE beyond the BMP", utf16Bytes(text+"FILE 1 \U0001f600é\n", false, true), "sym", text + "FILE 1 \U0001f600é\n", "UTF-16LE"},
		{"UTF-16LE cut in a character", append(utf16Bytes(text, false, true), 'x'), "sym", text + "\ufffd", "UTF-16LE"},
		{"UTF-16LE unpaired surrogate", append(utf16Bytes(text, false, true), 0x3d, 0xd8, 'x', 0), "sym", text + "\ufffdx", "UTF-16LE"},
		{"no MODULE", []byte("STACK CFI INIT 1f10 2a .cfa: $rsp 8 +\n"), "sym", "STACK CFI INIT 1f10 2a .cfa: $rsp 8 +\n", ""},
		{"MODULE without fields", []byte("MODULE\n"), "sym", "MODULE\n", ""},
		{"MODULE misspelt", []byte("MODUL Linux x86 17A046D4BE06036BA5DB23853A481A5A0 a\n"), "sym", "MODUL Linux x86 17A046D4BE06036BA5DB23853A481A5A0 a\n", ""},
		{"MODULE in lower case", []byte("module Linux x86 17A046D4BE06036BA5DB23853A481A5A0 a\n"), "sym", "module Linux x86 17A046D4BE06036BA5DB23853A481A5A0 a\n", ""},
		{"damaged first FUNC", []byte("FUNC zz zz 0 main\n"), "sym", "FUNC zz zz 0 main\n", ""},
		{"junk before the first record", []byte("warning: no debug info\n\n" + text), "sym", "warning: no debug info\n\n" + text, ""},
		{"NUL in the text", []byte("MODULE Linux x86 17A046D4BE06036BA5DB23853A481A5A0 a\x00b\n"), "sym", "MODULE Linux x86 17A046D4BE06036BA5DB23853A481A5A0 a\x00b\n", ""},
		{"ELF", []byte("\x7fELF\x02\x01\x01\x00"), "elf", "\x7fELF\x02\x01\x01\x00", ""},
		{"ELF in gzip", gz(t, []byte("\x7fELF\x02\x01\x01\x00")), "elf", "\x7fELF\x02\x01\x01\x00", ""},
		{"SFrame little-endian", []byte("\xe2\xde\x02\x01"), "sframe", "\xe2\xde\x02\x01", ""},
		{"SFrame big-endian", []byte("\xde\xe2\x02\x01"), "sframe", "\xde\xe2\x02\x01", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := FromBytes("x", c.in, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if in.Kind != c.kind || string(in.Data) != c.data || in.Encoding != c.encoding || in.Err != nil {
				t.Errorf("kind %q, encoding %q, error %v, data\n%q\nwant %q, %q, none,\n%q",
					in.Kind, in.Encoding, in.Err, in.Data, c.kind, c.encoding, c.data)
			}
		})
	}
}

func TestForeignContent(t *testing.T) {
	tar := make([]byte, 1024)
	copy(tar, "app.sym")
	copy(tar[257:], "ustar")
	copy(tar[512:], text)
	for _, c := range []struct{ name, in, found string }{
		{"nothing", "", "found an empty file"},
		{"blanks", " \n\t\r\n", "found nothing but blanks"},
		{"empty gzip", string(gz(t, nil)), "found an empty file"},
		{"prose", "Hello, world\nMODULEs are fine\n", `found "Hello, world"`},
		{"long line", strings.Repeat("lorem ipsum ", 9), `found "lorem ipsum lorem ipsum lorem ipsum lore"…`},
		{"escapes", "\x1b[31mred", `found "\x1b[31mred"`},
		{"log", "INFO 12:00 server started\nINFO 12:01 done\n", `found "INFO 12:00 server started"`},
		{"C", "FILE *log;\nPUBLIC int x;\n", `found "FILE *log;"`},
		{"numbers", "1 2 3 4\n5 6 7 8\n", `found "1 2 3 4"`},
		{"module in prose", "Module loading failed with code 12\n", `found "Module loading failed with code 12"`},
		{"minidump", "MDMP\x93\xa7\x00\x00", "found a minidump"},
		{"PDB", "Microsoft C/C++ MSF 7.00\r\n\x1aDS", "found a PDB file"},
		{"PE", "MZ\x90\x00", "found a PE image"},
		{"error page", "<!DOCTYPE html>\n<title>404</title>\n", "found HTML (an error page of a symbol server?)"},
		{"tar", string(tar), "found a tar archive"},
		{"binary", "\x01\x02\x00\x03", "found binary data that begins with 01 02 00 03"},
		{"UTF-16 prose", string(utf16Bytes("Hello, world\n", false, true)), `found "Hello, world"`},
		{"triple gzip", string(gz(t, gz(t, gz(t, []byte(text))))), "compressed more than twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := FromBytes("a/b.sym", []byte(c.in), Limits{})
			if err == nil {
				t.Fatalf("taken for %q", in.Kind)
			}
			if c.name != "triple gzip" && (!errors.Is(err, lint.ErrUnsupported) ||
				!strings.HasPrefix(err.Error(), "a/b.sym:1:1: not a Breakpad symbol file: expected a MODULE record, ")) {
				t.Errorf("error does not tell file, position and expectation: %v", err)
			}
			if !strings.Contains(err.Error(), c.found) {
				t.Errorf("error %q lacks %q", err, c.found)
			}
		})
	}
}

// A record near the beginning is enough; one behind the part that is looked at is not.
func TestSniffBound(t *testing.T) {
	junk := strings.Repeat("junk\n", sniffSize/5)
	if _, err := FromBytes("x", []byte(junk[:len(junk)-1000]+text), Limits{}); err != nil {
		t.Error(err)
	}
	if _, err := FromBytes("x", []byte(junk+"junk\n"+text), Limits{}); err == nil {
		t.Error("a text whose records begin behind 64 KiB was taken for a symbol file")
	}
}

// zeros yields n NUL bytes behind the text.
func zeros(n int64) io.Reader {
	return io.MultiReader(strings.NewReader(text), io.LimitReader(zeroReader{}, n))
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBombs(t *testing.T) {
	const size = 96 << 20
	var gzBomb, zstBomb bytes.Buffer
	w := gzip.NewWriter(&gzBomb)
	if _, err := io.Copy(w, zeros(size)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	z, _ := zstd.NewWriter(&zstBomb, zstd.WithEncoderConcurrency(1))
	if _, err := io.Copy(z, zeros(size)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	for name, bomb := range map[string][]byte{
		"gzip": gzBomb.Bytes(), "zstd": zstBomb.Bytes(), "gzip in zstd": zst(t, gzBomb.Bytes()), "gzip in gzip": gz(t, gzBomb.Bytes()),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			in, err := FromBytes("bomb", bomb, Limits{})
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatalf("%d bytes became %d", len(bomb), len(in.Data))
			}
			if !strings.Contains(err.Error(), "bomb: refused: ") || !strings.Contains(err.Error(), "over 200 times as much") {
				t.Errorf("error %q", err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 600<<20 {
				t.Errorf("%d bytes were allocated to find out", grown)
			}
		})
		t.Run(name+" by size", func(t *testing.T) {
			_, err := FromBytes("bomb", bomb, Limits{Size: 1 << 20, Ratio: 1 << 30})
			if err == nil || !strings.Contains(err.Error(), "the decompressed input is more than symlint reads (1048576 bytes)") {
				t.Errorf("error %v", err)
			}
		})
	}
	// The same ratio in a small input is no bomb.
	small := gz(t, []byte(text+strings.Repeat("\n", 1<<20)))
	if in, err := FromBytes("x", small, Limits{}); err != nil || len(in.Data) != len(text)+1<<20 {
		t.Errorf("a small input of great redundancy was refused: %v", err)
	}
}

func TestSizeLimit(t *testing.T) {
	limits := Limits{Size: int64(len(text)) - 1}
	for name, in := range map[string][]byte{"plain": []byte(text), "gzip": gz(t, []byte(text)), "zstd": zst(t, []byte(text)), "utf-16": utf16Bytes(text, true, true)} {
		t.Run(name, func(t *testing.T) {
			if _, err := FromBytes("x", in, limits); err == nil || !strings.Contains(err.Error(), "more than symlint reads") {
				t.Errorf("bytes: error %v", err)
			}
			sources := Find([]string{"-"}, Options{Stdin: bytes.NewReader(in), Limits: limits})
			if _, err := sources[0].Open(); err == nil || !strings.Contains(err.Error(), "more than symlint reads") {
				t.Errorf("stdin: error %v", err)
			}
		})
	}
	// A stream without end stops at the limit.
	endless := Find([]string{"-"}, Options{Stdin: io.MultiReader(strings.NewReader(text), zeroReader{}), Limits: Limits{Size: 1 << 20}})
	if _, err := endless[0].Open(); err == nil || !strings.Contains(err.Error(), "<stdin>: the input is more than") {
		t.Errorf("error %v", err)
	}
}

func TestDamagedArchives(t *testing.T) {
	long := []byte(text)
	random := rand.New(rand.NewPCG(1, 2)) // names that do not compress, so that an archive has several blocks
	for range 20000 {
		long = fmt.Appendf(long, "PUBLIC 1000 0 name_%x\n", random.Uint64())
	}
	for _, c := range []struct {
		name   string
		packed []byte
	}{{"gzip", gz(t, long)}, {"zstd", zst(t, long)}, {"zstd in gzip", gz(t, zst(t, long))}} {
		t.Run(c.name+" truncated", func(t *testing.T) {
			in, err := FromBytes("x", c.packed[:len(c.packed)-9], Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if in.Err == nil || !strings.HasPrefix(in.Err.Error(), "x: truncated ") {
				t.Errorf("no error tells of the truncation: %v", in.Err)
			}
			if in.Kind != "sym" || !bytes.HasPrefix(long, in.Data) || len(in.Data) == 0 {
				t.Errorf("kind %q, %d bytes", in.Kind, len(in.Data))
			}
		})
		t.Run(c.name+" header only", func(t *testing.T) {
			if in, err := FromBytes("x", c.packed[:5], Limits{}); err == nil {
				t.Errorf("taken for %+v", in)
			} else if !strings.Contains(err.Error(), "nothing could be read") {
				t.Errorf("error %v", err)
			}
		})
	}
	flipped := gz(t, long)
	flipped[len(flipped)-6] ^= 1 // the checksum
	in, err := FromBytes("x", flipped, Limits{})
	if err != nil || !bytes.Equal(in.Data, long) || in.Err == nil || !strings.Contains(in.Err.Error(), "x: damaged gzip data near byte ") {
		t.Errorf("wrong checksum: %v, %+v", err, in.Err)
	}
}

// A reader that fails in the middle leaves what it gave.
func TestReadError(t *testing.T) {
	r := io.MultiReader(strings.NewReader(text), failing{})
	in, err := Find([]string{"-"}, Options{Stdin: r})[0].Open()
	if err != nil || string(in.Data) != text || in.Err == nil || !strings.Contains(in.Err.Error(), "boom") {
		t.Errorf("%v, %+v", err, in)
	}
	if _, err := Find([]string{"-"}, Options{Stdin: failing{}})[0].Open(); err == nil || err.Error() != "<stdin>: boom" {
		t.Errorf("error %v", err)
	}
	if _, err := Find([]string{"-"}, Options{})[0].Open(); err == nil {
		t.Error("no standard input, and it was read")
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("boom") }

// TestMapped reads a file that is large enough to be mapped.
func TestMapped(t *testing.T) {
	data := []byte(text + strings.Repeat("PUBLIC 2000 0 name\n", mapFrom/18))
	path := filepath.Join(t.TempDir(), "large.sym")
	write(t, path, data)
	in, err := Find([]string{path}, Options{})[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(in.Data, data) || in.Kind != "sym" {
		t.Error("the mapping differs from the file")
	}
	if in.Close == nil && runtime.GOOS == "linux" {
		t.Error("the file was not mapped")
	}
	if in.Close != nil {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Find([]string{path}, Options{Limits: Limits{Size: mapFrom}})[0].Open(); err == nil {
		t.Error("a file beyond the limit was mapped")
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func paths(sources []lint.Source) []string {
	var out []string
	for _, s := range sources {
		out = append(out, filepath.ToSlash(s.Path()))
	}
	return out
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, p := range []string{
		"store/b.pdb/1/b.sym", "store/a.so/2/a.so.sym.gz", "store/a.so/1/a.so.sym", "store/c/1/c.SYM.zst",
		"store/a.so/1/a.so.dbg", "store/notes.txt", "store/d.sym/e.sym", "other/x.bin", "empty/readme",
	} {
		write(t, p, []byte(text))
	}
	links := runtime.GOOS != "windows"
	if links {
		for _, l := range [][2]string{
			{"../..", "store/a.so/loop.sym"},       // a directory above
			{"../../other", "store/a.so/out"},      // one elsewhere
			{"../../other/x.bin", "store/c/l.sym"}, // a file
			{"nowhere", "store/c/dangling.sym"},
			{"store", "link"},
		} {
			if err := os.Symlink(l[0], l[1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{
		"store/a.so/1/a.so.sym", "store/a.so/2/a.so.sym.gz", "store/b.pdb/1/b.sym",
		"store/c/1/c.SYM.zst", "store/c/dangling.sym", "store/c/l.sym", "store/d.sym/e.sym",
	}
	if !links {
		want = slices.DeleteFunc(want, func(s string) bool { return strings.HasPrefix(s, "store/c/d") || strings.HasPrefix(s, "store/c/l") })
	}
	if got := paths(Find([]string{"store"}, Options{})); !slices.Equal(got, want) {
		t.Errorf("store:\n%q\nwant\n%q", got, want)
	}
	if links {
		for i := range want {
			want[i] = "link" + strings.TrimPrefix(want[i], "store")
		}
		if got := paths(Find([]string{"link"}, Options{})); !slices.Equal(got, want) {
			t.Errorf("a link to the store:\n%q\nwant\n%q", got, want)
		}
		_, err := Find([]string{"store/c/dangling.sym"}, Options{})[0].Open()
		if err == nil || !strings.HasPrefix(err.Error(), "store/c/dangling.sym: ") {
			t.Errorf("dangling link: %v", err)
		}
	}

	// A file's own name needs no extension; order is the command line's; nothing comes twice.
	got := paths(Find([]string{"other/x.bin", "-", "store/b.pdb", "store/./b.pdb/1/b.sym", "-"}, Options{}))
	if want := []string{"other/x.bin", StdinPath, "store/b.pdb/1/b.sym"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := paths(Find([]string{"."}, Options{})); !slices.Contains(got, "store/a.so/1/a.so.sym") {
		t.Errorf("the working directory: %q", got)
	}
	for _, c := range []struct{ path, want string }{
		{"empty", "empty: no symbol files in this directory"},
		{"missing.sym", "missing.sym: "},
	} {
		s := Find([]string{c.path}, Options{})
		if len(s) != 1 {
			t.Fatalf("%s: %d sources", c.path, len(s))
		}
		if _, err := s[0].Open(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v", c.path, err)
		}
	}
	if _, err := Find([]string{"missing.sym"}, Options{})[0].Open(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v is not os.ErrNotExist", err)
	}
}

// Every symbol file of the corpus is one; nothing else there is.
func TestCorpus(t *testing.T) {
	dir := corpustest.Dir(t)
	syms, others := 0, 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		in, err := file{path, &Options{Limits: Limits{}.withDefaults()}}.Open()
		if hasSymbolName(path) {
			syms++
			if err != nil || in.Kind != "sym" {
				t.Errorf("%s: %v", path, err)
			}
			return nil
		}
		others++
		if err == nil && in.Kind == "sym" {
			t.Errorf("%s: taken for a symbol file", path)
		}
		return nil
	})
	if err != nil || syms < 100 || others < 100 {
		t.Errorf("%d symbol files, %d others: %v", syms, others, err)
	}
}

func FuzzOpen(f *testing.F) {
	for _, seed := range [][]byte{
		nil, []byte(text), gz(f, []byte(text)), zst(f, []byte(text)), gz(f, zst(f, []byte(text))),
		utf16Bytes(text, false, true), utf16Bytes(text, true, false), []byte("\x7fELF"), []byte("\xe2\xde\x02\x01"), []byte("MDMP"), []byte("x\n\nFUNC 1"),
	} {
		f.Add(seed)
	}
	limits := Limits{Size: 1 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := FromBytes("input", data, limits)
		if (in == nil) == (err == nil) {
			t.Fatalf("input %v, error %v: want exactly one", in, err)
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "input:") || strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
				t.Errorf("error %q does not begin with the path or is more than one clear line", err)
			}
			return
		}
		if in.Kind != "sym" && in.Kind != "elf" && in.Kind != "sframe" {
			t.Errorf("kind %q", in.Kind)
		}
		if len(in.Data) == 0 || int64(len(in.Data)) > limits.Size {
			t.Errorf("%d bytes", len(in.Data))
		}
		if in.Encoding == "" && compressionOf(data) == uncompressed && !bytes.Equal(in.Data, data) {
			t.Error("the data of a plain input changed")
		}
	})
}

// shrinking is a source whose file is emptied as soon as it is mapped.
type shrinking struct{ lint.Source }

func (s shrinking) Open() (*lint.Input, error) {
	in, err := s.Source.Open()
	if err == nil {
		err = os.Truncate(s.Path(), 0)
	}
	return in, err
}

// A file that shrinks while it is read costs itself an error and nobody else anything.
func TestShrinkingFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("mapped files behave differently")
	}
	g, err := lint.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, jobs := range []int{1, 4} {
		dir := t.TempDir()
		large, small := filepath.Join(dir, "large.sym"), filepath.Join(dir, "small.sym")
		write(t, large, []byte(text+strings.Repeat("PUBLIC 2000 0 name\n", 4*mapFrom/18)))
		write(t, small, []byte(text))
		sources := Find([]string{large, small}, Options{})
		sources[0] = shrinking{sources[0]}
		r := lint.Runner{Registry: g, Jobs: jobs}
		var errs []error
		sum, err := r.Run(t.Context(), sources, func(f *lint.FileResult) error {
			errs = append(errs, f.Err)
			return nil
		})
		if err != nil || sum.Failed != 1 || errs[1] != nil {
			t.Fatalf("jobs %d: %+v, %v, %v", jobs, sum, errs, err)
		}
		if want := large + ": the file changed while it was read"; errs[0] == nil || errs[0].Error() != want {
			t.Errorf("jobs %d: error %v, want %s", jobs, errs[0], want)
		}
	}
}
