package sframe

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

// readFile reads a file, unpacked if it is compressed; nil if there is none.
func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		if data, err = os.ReadFile(path + ".gz"); os.IsNotExist(err) {
			return nil
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// elfFiles are the ELF files of a directory.
func elfFiles(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "v[123]*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range paths {
		if !strings.Contains(filepath.Base(p), ".txt") {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		t.Fatalf("no files in %s", dir)
	}
	return out
}

// forFiles runs a test for every file of a directory of the corpus, and of testdata.
func forFiles(t *testing.T, dirs []string, run func(t *testing.T, path string, data []byte)) {
	t.Helper()
	files := func(t *testing.T, dir string) {
		for _, path := range elfFiles(t, dir) {
			run(t, path, readFile(t, path))
		}
	}
	t.Run("testdata", func(t *testing.T) { files(t, "testdata") })
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) { files(t, filepath.Join(corpustest.Dir(t), "sframe", dir)) })
	}
}

func open(t testing.TB, path string, data []byte) *File {
	t.Helper()
	f, err := Open(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

// reference is what readelf printed for a file; ok: and it did so without complaint.
func reference(t testing.TB, path string) (text []byte, ok bool) {
	t.Helper()
	path = strings.TrimSuffix(path, ".gz")
	if text = readFile(t, path+".readelf-2.40.txt"); text == nil {
		text = readFile(t, path+".readelf.txt")
	}
	if i := bytes.Index(text, []byte("--- stderr ---")); i >= 0 {
		return text[:i], false
	}
	return text, len(text) > 0 && !bytes.Contains(text, []byte("--- exit status"))
}

func TestListFiles(t *testing.T) {
	equal, total := 0, 0
	forFiles(t, []string{"good", "toolbug"}, func(t *testing.T, path string, data []byte) {
		want, ok := reference(t, path)
		if !ok && !strings.Contains(path, "nocfi") && !strings.Contains(path, "empty") {
			if !strings.HasSuffix(path, "v1-amd64-gasbugs-2.o") { // readelf 2.40 crashes and prints nothing
				t.Errorf("%s: no reference", path)
			}
			return
		}
		total++
		var got bytes.Buffer
		err := List(&got, open(t, path, data))
		if ok && err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: %s", path, firstDifference(got.Bytes(), want))
			return
		}
		equal++
	})
	t.Logf("%d of %d listings equal", equal, total)
}

// TestListBad holds the listings of damaged files against readelf's where it sees no damage. They may differ only where
// rows cannot be read or mean nothing, for which readelf repeats rows it has read before, and where the function
// table does not follow the header.
func TestListBad(t *testing.T) {
	equal, total := 0, 0
	for _, path := range elfFiles(t, filepath.Join(corpustest.Dir(t), "sframe", "bad")) {
		want, ok := reference(t, path)
		if !ok {
			continue
		}
		total++
		f := open(t, path, readFile(t, path))
		var got bytes.Buffer
		err := List(&got, f)
		if bytes.Equal(got.Bytes(), want) {
			equal++
			continue
		}
		excused := err != nil
		for _, s := range f.Sections {
			for _, p := range s.Check() {
				excused = excused || p.Kind == RowWords || p.Kind == RowTruncated || p.Kind == BadLayout
			}
		}
		if !excused {
			t.Errorf("%s: %s", path, firstDifference(got.Bytes(), want))
		}
	}
	t.Logf("%d of %d listings equal", equal, total)
	if equal < 175 {
		t.Errorf("%d of %d listings equal, there have been 175", equal, total)
	}
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n got %q\nwant %q", i+1, a, b)
		}
	}
	return "same"
}

// TestLookUpFiles looks up every row of readelf's listings by its address, and the last address before the next row,
// and holds the rules that were decoded against the columns.
func TestLookUpFiles(t *testing.T) {
	rows := 0
	forFiles(t, []string{"good"}, func(t *testing.T, path string, data []byte) {
		f := open(t, path, data)
		text, ok := reference(t, path)
		if !ok || len(f.Sections) != 1 || strings.Contains(path, "gasbugs-3") { // rows with the same start
			return
		}
		for _, l := range parseListing(t, text) {
			d := f.Sections[0].FDE(l.function)
			if f.Placed() == nil {
				found, ok := f.Find(d.Start)
				if !ok || found.Start != d.Start || d.Start != l.pc {
					t.Errorf("%s: function %d at 0x%x not found", path, l.function, l.pc)
					continue
				}
				d = found
			}
			for i, want := range l.rows {
				first, last := want.start, uint64(d.Size)-1
				if d.Mask() {
					last = uint64(d.Repeat()) - 1
				} else {
					first -= l.pc
				}
				if i+1 < len(l.rows) {
					if last = l.rows[i+1].start - 1; !d.Mask() {
						last -= l.pc
					}
				}
				for _, off := range []uint64{first, last} {
					if d.Mask() && off+uint64(d.Repeat()) < uint64(d.Size) {
						off += uint64(d.Repeat()) // the second block
					}
					row, ok := d.RowAt(d.Start + off)
					if !ok {
						t.Errorf("%s: function %d: no row at +0x%x", path, l.function, off)
						continue
					}
					if got := columns(&row); got != want.columns {
						t.Errorf("%s: function %d +0x%x: %q, readelf %q", path, l.function, off, got, want.columns)
					}
				}
				rows++
			}
		}
	})
	t.Logf("%d rows", rows)
}

type listedRow struct {
	start   uint64
	columns string
}

type listedFunction struct {
	function int
	pc       uint64
	rows     []listedRow
}

// parseListing reads the functions and rows of readelf's listing.
func parseListing(t testing.TB, text []byte) []listedFunction {
	t.Helper()
	var out []listedFunction
	for _, line := range strings.Split(string(text), "\n") {
		var f listedFunction
		if n, _ := fmt.Sscanf(line, "    func idx [%d]: pc = 0x%x,", &f.function, &f.pc); n == 2 {
			out = append(out, f)
			continue
		}
		if len(line) < 22 || !strings.HasPrefix(line, "    ") || line[4] == 'S' || len(out) == 0 {
			continue
		}
		var r listedRow
		if _, err := fmt.Sscanf(line[4:20], "%x", &r.start); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		r.columns = strings.TrimRight(line[22:], " ")
		last := &out[len(out)-1]
		last.rows = append(last.rows, r)
	}
	return out
}

// columns shows a row's rules as readelf does, from what was decoded rather than from the words.
func columns(r *Row) string {
	if r.Outermost {
		return "RA undefined"
	}
	h := r.FDE.Section().Header
	show := func(rule Rule, ra bool) string {
		reg := map[Source]string{FromSP: "sp", FromFP: "fp", FromRegister: fmt.Sprint("r", rule.Reg), FromCFA: "c"}[rule.From]
		switch {
		case ra && rule.Padded:
			return "U"
		case ra && rule.Fixed && h.Version == 1, rule.From == Unchanged:
			return "u"
		case ra && rule.Fixed:
			return "f"
		case rule.From == FromCFA:
			return fmt.Sprintf("c%+d", rule.Offset)
		case rule.Deref:
			return fmt.Sprintf("(%s%+d)", reg, rule.Offset)
		case !r.FDE.Flex() && rule.From == FromRegister:
			return reg
		}
		return fmt.Sprintf("%s%+d", reg, rule.Offset)
	}
	ra := show(r.RA, true)
	if r.RASigned {
		ra += "[s]"
	}
	return strings.TrimRight(fmt.Sprintf("%-10s%-10s%s", show(r.CFA, false), show(r.FP, false), ra), " ")
}

// TestCheckGood holds the checks to finding nothing in sound files, and what is known in the others.
func TestCheckGood(t *testing.T) {
	forFiles(t, []string{"good"}, func(t *testing.T, path string, data []byte) {
		f := open(t, path, data)
		for _, p := range f.Problems() {
			t.Errorf("%s: %s", path, &p)
		}
		for _, s := range f.Sections {
			for _, p := range s.Check() {
				if !strings.Contains(path, "gasbugs-3") || p.Kind != RowOrder {
					t.Errorf("%s: %s", path, &p)
				}
			}
		}
	})
}

func TestCheckBad(t *testing.T) {
	// Faults that only show against the code, the call frame information or the ELF headers; and a flipped bit may
	// make other values that are possible.
	silent := map[string]bool{
		"fde-in-data": true, "fde-outside-text": true, "fde-size-huge": true, "fre-base-flipped": true,
		"fre-cfa-neg": true, "fre-cfa-odd": true, "fre-cfa-off8": true, "fre-cfa-zero": true, "fre-fp-eq-ra": true,
		"fre-fp-positive": true, "pcinc-rep16": true, "sec-addr-skew": true, "sec-noalloc": true, "sec-progbits": true,
		"seg-missing": true, "seg-size": true, "seg-vaddr": true, "seg-writable": true, "sorted-cleared": true,
		"v3-flex-badreg": true,
	}
	dir := filepath.Join(corpustest.Dir(t), "sframe")
	list := strings.Split(strings.TrimSpace(string(readFile(t, filepath.Join(dir, "bad.tsv")))), "\n")[1:]
	found, flips := 0, 0
	for _, line := range list {
		fields := strings.Split(line, "\t")
		path := filepath.Join(dir, "bad", fields[0])
		n := 1
		if f, err := Open(readFile(t, path)); err == nil {
			n = len(f.Problems())
			for _, s := range f.Sections {
				n += len(s.Check())
			}
		}
		switch {
		case n > 0 && !silent[fields[1]]:
			found++
		case fields[1] == "bitflip":
			flips++
		case n == 0 && !silent[fields[1]]:
			t.Errorf("%s: nothing found (%s)", fields[0], fields[2])
		}
	}
	t.Logf("%d of %d faults found; %d flipped bits make other valid files", found, len(list), flips)
	if flips > 4 {
		t.Errorf("%d flipped bits were not noticed", flips)
	}
}

func TestEncodeFiles(t *testing.T) {
	equal := 0
	forFiles(t, []string{"good", "toolbug"}, func(t *testing.T, path string, data []byte) {
		for _, s := range open(t, path, data).Sections {
			table, err := s.Table()
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			out, err := Encode(table)
			if err != nil || !bytes.Equal(out, s.Data) {
				t.Errorf("%s: %d bytes encoded, not the same %d: %v", path, len(out), len(s.Data), err)
				continue
			}
			equal++
		}
	})
	t.Logf("%d sections come out the same", equal)
}

// TestConvertFiles holds conversions of version 3 against the files of version 2 that an independent script made of
// them.
func TestConvertFiles(t *testing.T) {
	equal := 0
	forFiles(t, []string{"good"}, func(t *testing.T, path string, data []byte) {
		base := filepath.Base(path)
		errata := uint8(2)
		if strings.HasPrefix(base, "v2e1-") {
			errata = 1
		} else if !strings.HasPrefix(base, "v2e2-") {
			return
		}
		from := filepath.Join(filepath.Dir(path), "v3"+strings.TrimSuffix(base, ".gz")[4:])
		source := readFile(t, from)
		if source == nil {
			return
		}
		table, _, err := open(t, from, source).Sections[0].Convert(Target{Version: 2, Errata: errata})
		if err != nil {
			t.Errorf("%s: %v", base, err)
			return
		}
		out, err := Encode(table)
		if want := open(t, path, data).Sections[0].Data; err != nil || !bytes.Equal(out, want) {
			t.Errorf("%s: %d bytes, not the same %d: %v", base, len(out), len(want), err)
			return
		}
		equal++
	})
	t.Logf("%d sections converted to the same bytes", equal)
}

// TestNothingPanics lets everything loose on all files, and on the small ones with every byte changed.
func TestNothingPanics(t *testing.T) {
	forFiles(t, []string{"good", "bad", "toolbug"}, func(t *testing.T, path string, data []byte) {
		if f, err := Open(data); err == nil {
			exercise(t, f)
		}
	})
	for _, path := range elfFiles(t, "testdata") {
		data := readFile(t, path)
		if len(data) > 4096 {
			continue
		}
		step := 2
		if testing.Short() {
			step = 7
		}
		for i := 0; i < len(data); i += step {
			old := data[i]
			data[i] = old ^ []byte{0x01, 0xff, 0x80, 0x10}[i/step%4]
			if f, err := Open(data); err == nil {
				exercise(t, f)
			}
			data[i] = old
			if i%16 == 0 {
				if f, err := Open(data[:i]); err == nil {
					exercise(t, f)
				}
			}
		}
	}
}

// exercise calls everything there is for a file, and holds results against each other.
func exercise(t testing.TB, f *File) {
	t.Helper()
	_ = List(io.Discard, f)
	_ = JSON(io.Discard, f)
	f.Find(0)
	f.Problems()
	for _, s := range f.Sections {
		exerciseSection(t, s)
	}
}

func exerciseSection(t testing.TB, s *Section) {
	t.Helper()
	_ = ListSection(io.Discard, s)
	if problems := s.Check(); len(problems) > MaxProblems {
		t.Errorf("%d problems", len(problems))
	} else {
		for i := range problems {
			_ = problems[i].Error()
		}
	}
	var text bytes.Buffer
	if err := Annotate(&text, s); err != nil {
		t.Error(err)
	}
	if n := annotatedBytes(text.String()); n != len(s.Data) {
		t.Errorf("%d bytes of %d are annotated", n, len(s.Data))
	}
	var caller Recovered
	looked := 0
	for it := s.Functions(); it.Next() && looked < 1<<16; {
		d := it.FDE
		looked += 64 + int(min(d.NumRows, 1<<16))
		for _, pc := range []uint64{d.Start, d.Start + uint64(d.Size)/2, d.End() - 1, d.End()} {
			if found, ok := s.Find(pc); ok && !found.Contains(pc) {
				t.Errorf("0x%x found in 0x%x to 0x%x", pc, found.Start, found.End())
			}
			if row, ok := d.RowAt(pc); ok {
				_ = row.Apply(flatEnv{}, &caller)
				if !d.Contains(pc) {
					t.Errorf("row for 0x%x outside of its function", pc)
				}
			}
		}
	}
	if table, err := s.Table(); err == nil {
		if out, err := Encode(table); err == nil {
			if again, err := Parse(out, Options{Addr: s.Addr}); err != nil || again.Len() != s.Len() {
				t.Errorf("what was encoded cannot be read: %v", err)
			}
		}
	}
	for _, to := range []Target{{1, 0}, {2, 0}, {2, 1}, {2, 2}, {3, 0}} {
		if table, _, err := s.Convert(to); err == nil {
			_, _ = Encode(table)
		}
	}
}

// annotatedBytes counts the bytes that Annotate shows.
func annotatedBytes(text string) int {
	n := 0
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 34 && line[0] != ' ' && line[8:10] == "  " {
			n += len(strings.Fields(line[10:34]))
		}
	}
	return n
}

// flatEnv has every register and all memory.
type flatEnv struct{}

func (flatEnv) Register(n uint64) (uint64, bool)       { return 0x1000 * n, true }
func (flatEnv) Load(addr uint64, _ int) (uint64, bool) { return addr + 1, true }
