package symstore

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symfile"
)

func TestSymbolPath(t *testing.T) {
	for _, tc := range []struct{ file, id, want string }{
		{"/usr/lib/libc.so.6", id, "libc.so.6/" + id + "/libc.so.6.sym"},
		{`C:\build\Tower.PDB`, id, "Tower.PDB/" + id + "/Tower.sym"},
		{`c:\a/b\c.pDb`, id, "c.pDb/" + id + "/c.sym"},
		{`/a\b/c.exe`, id, "c.exe/" + id + "/c.exe.sym"},
		{"tower.pdb.bak", id, "tower.pdb.bak/" + id + "/tower.pdb.bak.sym"},
		{".pdb", id, ".pdb/" + id + "/.pdb.sym"},
		{"", id, ""},
		{"/usr/lib/", id, ""},
		{"tower", "", ""},
		{"..", id, ""},
		{"tower", "../x", ""},
		{"tower", `..\x`, ""},
		{"tow\x00er", id, ""},
	} {
		got, ok := SymbolPath(tc.file, tc.id)
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("SymbolPath(%q, %q) = %q, %v, want %q", tc.file, tc.id, got, ok, tc.want)
		}
	}
}

// TestFind goes through what a root may be and how ids may be spelled.
func TestFind(t *testing.T) {
	text := func(id, name, function string) []byte { return []byte(symText(id, name, function)) }
	const store = "tower.pdb/" + id + "/tower.sym"
	mixed := strings.ToLower(guid) + "1A"
	for _, tc := range []struct {
		name    string
		files   map[string][]byte
		roots   string // separated by blanks, "." if empty
		options Options
		file    string // the module's, "/b/tower.pdb" if empty
		id      string // the module's, id if empty
		want    string // status, match, function
		reason  string // part of Reason
		warning string // part of a warning
	}{
		{name: "store", files: map[string][]byte{store: text(id, "tower.pdb", "f")}, want: "found, path, f"},
		{name: "store, Exact", files: map[string][]byte{store: text(id, "tower.pdb", "f")}, options: Options{Exact: true},
			want: "found, path, f"},
		{name: "MODULE of a store is not asked", files: map[string][]byte{store: text(other, "tower.pdb", "f")},
			want: "found, path, f", warning: "MODULE says id " + other + ", the module has " + id},
		{name: "MODULE name in a store", files: map[string][]byte{store: text(id, "shed", "f")},
			want: "found, path, f", warning: "MODULE says shed"},
		{name: "no MODULE in a store", files: map[string][]byte{store: []byte("FUNC 1000 10 0 f\n")},
			want: "found, path, f", warning: "no MODULE record"},
		{name: "order of stores", files: map[string][]byte{"b/" + store: text(id, "tower.pdb", "b"),
			"a/" + store: text(id, "tower.pdb", "a")}, roots: "b a", want: "found, path, b"},
		{name: "second store", files: map[string][]byte{"b/x": nil, "a/" + store: text(id, "tower.pdb", "a")}, roots: "b a",
			want: "found, path, a"},
		{name: "id of the dump in another case", files: map[string][]byte{store: text(id, "tower.pdb", "f")}, id: mixed,
			want: "found, path with another case or suffix, f", warning: "MODULE says id"},
		{name: "id of the dump in another case, Exact", files: map[string][]byte{store: text(id, "tower.pdb", "f")},
			id: mixed, options: Options{Exact: true}, want: "other id, none, -",
			reason: filepath.FromSlash("tower.pdb/"+mixed+"/tower.sym") + ", only for " + id},
		{name: "id of the store in lower case", files: map[string][]byte{
			"tower.pdb/" + strings.ToLower(id) + "/tower.sym": text(id, "tower.pdb", "f")},
			want: "found, path with another case or suffix, f"},
		{name: "exact id in a later root first", files: map[string][]byte{
			"a/tower.pdb/" + strings.ToLower(id) + "/tower.sym": text(id, "tower.pdb", "lower"),
			"b/" + store: text(id, "tower.pdb", "exact")}, roots: "a b", want: "found, path, exact"},
		{name: "packed beside", files: map[string][]byte{store + ".gz": gz(t, text(id, "tower.pdb", "f"))},
			want: "found, path with another case or suffix, f"},
		{name: "packed beside, Exact", files: map[string][]byte{store + ".gz": gz(t, text(id, "tower.pdb", "f"))},
			options: Options{Exact: true}, want: "not found, none, -"},
		{name: "packed in place", files: map[string][]byte{store: zst(t, text(id, "tower.pdb", "f"))},
			want: "found, path, f"},
		{name: "packed in place, Exact", files: map[string][]byte{store: gz(t, text(id, "tower.pdb", "f"))},
			options: Options{Exact: true}, want: "corrupt, path, ", reason: "tower.sym:1: ",
			warning: "tower.sym: is gzip data, which the reader does not decompress"},
		{name: "other id in a store", files: map[string][]byte{"tower.pdb/" + other + "/tower.sym": nil},
			want: "other id, none, -", reason: "no file at ROOT/" + store + ", only for " + other},
		{name: "nothing in a store", files: map[string][]byte{"shed/" + other + "/shed.sym": nil}, want: "not found, none, -",
			reason: "no file at ROOT/" + store},

		{name: "flat", files: map[string][]byte{"a.sym": text(other, "shed", "g"), "b.sym": text(id, "tower.pdb", "f")},
			want: "found, MODULE id, f"},
		{name: "flat, packed", files: map[string][]byte{"a.sym.gz": gz(t, text(other, "shed", "g")),
			"b.sym.zst": zst(t, text(id, "tower.pdb", "f"))}, want: "found, MODULE id, f"},
		{name: "flat, Exact", files: map[string][]byte{"b.sym": text(id, "tower.pdb", "f")}, options: Options{Exact: true},
			want: "not found, none, -"},
		{name: "flat, other suffix", files: map[string][]byte{"b.txt": text(id, "tower.pdb", "f")},
			want: "not found, none, -"},
		{name: "flat, another case", files: map[string][]byte{"b.sym": text(strings.ToLower(id), "tower.pdb", "f")},
			want: "found, MODULE id in another case, f", warning: "MODULE says id " + strings.ToLower(id)},
		{name: "flat, MODULE without id", files: map[string][]byte{"tower.sym": []byte("MODULE Linux x86\n")},
			want: "not found, none, -", reason: "ROOT/tower.sym: no id in the MODULE record"},
		{name: "flat, another build", files: map[string][]byte{"b.sym": text(other, "TOWER", "f")},
			want: "other id, none, -", reason: "ROOT/b.sym has id " + other},
		{name: "flat, named before unnamed", files: map[string][]byte{"a.sym": text(id, "shed", "a"),
			"b.sym": text(id, "tower", "b")}, want: "found, MODULE id, b"},
		{name: "flat, id of zeros", files: map[string][]byte{"a.sym": text(strings.Repeat("0", 33), "shed", "a")},
			id: strings.Repeat("0", 33), want: "not found, none, -"},
		{name: "flat, id of zeros and name", files: map[string][]byte{"a.sym": text(strings.Repeat("0", 33), "shed", "a"),
			"b.sym": text(strings.Repeat("0", 33), "tower", "b")}, id: strings.Repeat("0", 33), want: "found, MODULE id, b"},
		{name: "flat, damaged first", files: map[string][]byte{"a.sym.gz": gz(t, text(id, "tower", "a"))[:60],
			"b.sym": text(id, "tower", "b")}, want: "found, MODULE id, b"},
		{name: "flat, damaged only", files: map[string][]byte{"tower.sym.gz": gz(t, text(id, "tower", "a"))[:20]},
			want: "not found, none, -", reason: "ROOT/tower.sym.gz: truncated gzip data"},
		{name: "nested", files: map[string][]byte{"x/y/z/b.sym": text(id, "tower", "f")}, want: "found, MODULE id, f"},
		{name: "nested too deep", files: map[string][]byte{"x/y/z/0/b.sym": text(id, "tower", "f")},
			want: "not found, none, -"},
		{name: "nested in a store", files: map[string][]byte{"x/y/b.sym": text(id, "tower", "f"),
			"shed/" + other + "/shed.sym": nil}, want: "not found, none, -"},
		{name: "flat in a store", files: map[string][]byte{"b.sym": text(id, "tower", "f"),
			"shed/" + other + "/shed.sym": nil}, want: "found, MODULE id, f"},
		{name: "MODULE far behind the start", files: map[string][]byte{
			"b.sym": append(bytes.Repeat([]byte("INFO x\n"), maxHeader/7+1), text(id, "tower", "f")...)},
			want: "not found, none, -"},

		{name: "file", files: map[string][]byte{"x": text(id, "tower", "f")}, roots: "x", want: "found, MODULE id, f"},
		{name: "file, Exact", files: map[string][]byte{"x": text(id, "tower", "f")}, roots: "x",
			options: Options{Exact: true}, want: "found, MODULE id, f"},
		{name: "file, another case, Exact", files: map[string][]byte{"x": text(strings.ToLower(id), "tower", "f")},
			roots:   "x",
			options: Options{Exact: true}, want: "not found, none, -", reason: "ROOT/x has id " + strings.ToLower(id)},
		{name: "file, packed", files: map[string][]byte{"x": zst(t, text(id, "tower", "f"))}, roots: "x",
			want: "found, MODULE id, f"},
		{name: "file, another name", files: map[string][]byte{"x": text(id, "shed", "f")}, roots: "x",
			want: "found, MODULE id, f", warning: "MODULE says shed, the module is tower.pdb"},
		{name: "file before store", files: map[string][]byte{"x": text(id, "tower", "fixed"),
			"s/" + store: text(id, "tower", "f")}, roots: "x s", want: "found, MODULE id, fixed"},
		{name: "file of another build", files: map[string][]byte{"x": text(other, "tower", "f")}, roots: "x",
			want: "other id, none, -", reason: "ROOT/x has id " + other},
		{name: "file of another module", files: map[string][]byte{"x": text(other, "shed", "f")}, roots: "x",
			want: "not found, none, -", reason: "ROOT/x is for shed, id " + other},
		{name: "file without MODULE", files: map[string][]byte{"x": []byte("FUNC 1000 10 0 f\n")}, roots: "x",
			want: "not found, none, -", reason: "ROOT/x: no MODULE record"},

		{name: "damaged, Breakpad", files: map[string][]byte{store: []byte(symText(id, "tower", "f") + "FUNC x\nFUNC y\n")},
			want: "corrupt, path, f", reason: "tower.sym:3: ParseFunction failed (and 1 more)"},
		{name: "damaged, rust-minidump", files: map[string][]byte{store: []byte(symText(id, "tower", "f") + "FUNC x\n")},
			options: Options{Policy: symfile.RustMinidump}, want: "corrupt, path, -", reason: "tower.sym:3: failed to parse"},
		{name: "damaged, rust-minidump goes on", files: map[string][]byte{"a/" + store: []byte("x\n"),
			"b/" + store: text(id, "tower", "b")}, roots: "a b", options: Options{Policy: symfile.RustMinidump},
			want: "found, path, b"},
		{name: "damaged, rust-minidump, Exact", files: map[string][]byte{"a/" + store: []byte("x\n"),
			"b/" + store: text(id, "tower", "b")}, roots: "a b", want: "corrupt, path, -",
			options: Options{Policy: symfile.RustMinidump, Exact: true}, reason: "tower.sym:1: "},
		{name: "dies", files: map[string][]byte{store: []byte("INLINE 0 1 1 1 1000 1\n")},
			want: "found, path, ", warning: "INLINE without a function"},
		{name: "empty", files: map[string][]byte{store: nil}, want: "found, path, ", warning: "no MODULE record"},
		{name: "0xff, Exact",
			files:   map[string][]byte{store: []byte(symText(id, "tower", "f") + "INFO \xff\nFUNC 2000 1 0 g\n")},
			options: Options{Exact: true}, want: "found, path, f", warning: "byte 0xff at offset 83"},
		{name: "directory in place", files: map[string][]byte{"a/" + store + "/x": nil, "b/" + store: text(id, "tower", "b")},
			roots: "a b", want: "found, path, b"},
		{name: "directory in place only", files: map[string][]byte{store + "/x": nil}, want: "unreadable, path, -",
			reason: "tower.sym: is a directory"},
		{name: "directory in place, Exact", files: map[string][]byte{"a/" + store + "/x": nil,
			"b/" + store: text(id, "tower", "b")}, roots: "a b", options: Options{Exact: true},
			want: "unreadable, path, ", reason: "is a directory", warning: "empty module"},
		{name: "directory in place, rust-minidump, Exact", files: map[string][]byte{"a/" + store + "/x": nil,
			"b/" + store: text(id, "tower", "b")}, roots: "a b", want: "found, path, b",
			options: Options{Exact: true, Policy: symfile.RustMinidump}},
		{name: "too large", files: map[string][]byte{store: text(id, "tower", "f")}, options: Options{MaxSize: 20},
			want: "unreadable, path, -", reason: "tower.sym: refused: more than 20 bytes"},
		{name: "too large, packed", files: map[string][]byte{store: gz(t, text(id, "tower", "f"))},
			options: Options{MaxSize: 20},
			want:    "unreadable, path, -", reason: "tower.sym: refused: more than 20 bytes"},
		{name: "packed twice", files: map[string][]byte{store: gz(t, zst(t, text(id, "tower", "f")))},
			want: "unreadable, path, -", reason: "tower.sym: compressed twice: the gzip data holds zstd data"},
		{name: "damaged zstd", files: map[string][]byte{store: append([]byte{0x28, 0xb5, 0x2f, 0xfd}, "nonsense"...)},
			want: "unreadable, path, -", reason: "tower.sym: damaged zstd data"},
		{name: "leads out", files: map[string][]byte{"r/x": nil, "x.sym": text(id, "tower", "f")}, roots: "r", id: "../..",
			want: "not found, none, -", reason: "has no path for debug file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range tc.files {
				write(t, dir, name, data)
			}
			var roots []string
			for _, r := range strings.Fields(tc.roots) {
				roots = append(roots, filepath.Join(dir, r))
			}
			if roots == nil {
				roots = []string{dir}
			}
			s := newStore(t, tc.options, roots...)
			r := s.Symbols(or(tc.file, "/b/tower.pdb"), or(tc.id, id), "/b/tower.exe")
			if got := r.Status.String() + ", " + r.Match.String() + ", " + function(r); got != tc.want {
				t.Errorf("got %q, want %q (%s)", got, tc.want, r.Reason)
			}
			reason := filepath.ToSlash(strings.ReplaceAll(r.Reason, dir, "ROOT"))
			if !strings.Contains(reason, filepath.ToSlash(tc.reason)) {
				t.Errorf("reason %q lacks %q", reason, tc.reason)
			}
			if (r.Status == Found) != (r.Reason == "") {
				t.Errorf("%v with reason %q", r.Status, r.Reason)
			}
			if w := strings.Join(r.Warnings, "\n"); tc.warning == "" && w != "" || !strings.Contains(w, tc.warning) {
				t.Errorf("warnings %q, want %q", w, tc.warning)
			}
			if (r.Status == Unreadable || r.Status == Corrupt) != (r.Err != nil) {
				t.Errorf("%v with error %v", r.Status, r.Err)
			}
		})
	}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func TestCutAt0xFF(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tower/"+id+"/tower.sym", []byte(symText(id, "tower", "f")+"FUNC 2000 10 0 \xff\nFUNC 3000 10 0 g\n"))
	for _, exact := range []bool{false, true} {
		r := newStore(t, Options{Exact: exact}, dir).Symbols("tower", id, "")
		if _, g := r.Symbols.Func(0x3000); g == exact {
			t.Errorf("Exact %v: the function behind the byte 0xff is there: %v", exact, g)
		}
	}
}

func TestModuleWithoutName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tower.exe/"+id+"/tower.exe.sym", []byte(symText(id, "tower.exe", "f")))
	for _, tc := range []struct {
		o              Options
		file, id, code string
		want           Status
		reason         string
	}{
		{Options{}, "", id, `C:\tower.exe`, Found, ""},
		{Options{Exact: true}, "", id, `C:\tower.exe`, NotFound, "the module has no debug file name"},
		{Options{Exact: true}, "/x/", id, `C:\tower.exe`, NotFound, "the module has no debug file name"},
		{Options{Exact: true, Policy: symfile.RustMinidump}, "", id, `C:\tower.exe`, Found, ""},
		{Options{}, "tower.exe", "", "", NotFound, "the module has no debug id"},
	} {
		r := newStore(t, tc.o, dir).Symbols(tc.file, tc.id, tc.code)
		if r.Status != tc.want || r.Reason != tc.reason {
			t.Errorf("%+v: %v %q", tc, r.Status, r.Reason)
		}
	}
	flat := t.TempDir()
	write(t, flat, "x.sym", []byte(symText(id, "tower.exe", "f")))
	if r := newStore(t, Options{}, flat).Symbols("", id, ""); r.Status != Found {
		t.Errorf("by the id alone: %v %s", r.Status, r.Reason)
	}
}

func TestReasonListsFirstFew(t *testing.T) {
	var roots []string
	for range 7 {
		roots = append(roots, t.TempDir())
	}
	r := newStore(t, Options{}, roots...).Symbols("tower", id, "")
	if n := strings.Count(r.Reason, "no file at"); n != trials || !strings.HasSuffix(r.Reason, "; and 3 more") {
		t.Errorf("%d trials: %s", n, r.Reason)
	}
	if r := newStore(t, Options{}).Symbols("tower", id, ""); r.Status != NotFound || r.Reason == "" {
		t.Errorf("without roots: %v %q", r.Status, r.Reason)
	}
}

func TestRootErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tower/"+id+"/tower.sym", []byte(symText(id, "tower", "f")))
	missing := filepath.Join(dir, "missing")
	s, err := New([]string{missing, dir}, Options{})
	if s == nil {
		t.Fatal("no store")
	}
	defer s.Close()
	e, ok := errors.AsType[*RootError](err)
	if !ok || e.Root != missing || !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), missing) != 1 {
		t.Errorf("error %v", err)
	}
	if r := s.Symbols("tower", id, ""); r.Status != Found {
		t.Errorf("the root that is there: %v %s", r.Status, r.Reason)
	}
	if runtime.GOOS != "windows" {
		if _, err := New([]string{os.DevNull}, Options{}); err == nil {
			t.Error("a device is a root")
		}
	}
}

// TestStoreIsNotListed finds a file in a store whose directories cannot be listed.
func TestStoreIsNotListed(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions do not hold here")
	}
	dir := t.TempDir()
	write(t, dir, "tower/"+id+"/tower.sym", []byte(symText(id, "tower", "f")))
	for _, d := range []string{dir, filepath.Join(dir, "tower")} {
		if err := os.Chmod(d, 0o111); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(d, 0o777)
	}
	if r := newStore(t, Options{}, dir).Symbols("tower", id, ""); r.Status != Found {
		t.Errorf("%v: %s", r.Status, r.Reason)
	}
}

// TestIndexIsLazy: a store that has the file is not scanned.
func TestIndexIsLazy(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tower/"+id+"/tower.sym", []byte(symText(id, "tower", "f")))
	s := newStore(t, Options{}, dir)
	s.Symbols("tower", id, "")
	if s.roots[0].index != nil {
		t.Error("scanned although the file stands at its path")
	}
	s.Symbols("shed", id, "")
	first := s.roots[0].index
	s.Symbols("barn", id, "")
	if first == nil || s.roots[0].index != first {
		t.Error("scanned not once")
	}
}

func TestMapped(t *testing.T) {
	dir := t.TempDir()
	text := symText(id, "tower", "f") + strings.Repeat("INFO padding\n", mapFrom/13+1)
	write(t, dir, "tower/"+id+"/tower.sym", []byte(text))
	s, err := New([]string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := s.Symbols("tower", id, "")
	if r.Status != Found || function(r) != "f" || r.Size != int64(len(text)) {
		t.Errorf("%v %q %d: %s", r.Status, function(r), r.Size, r.Reason)
	}
	mapped := 0
	for _, e := range s.pool.files {
		if e.release != nil {
			mapped++
		}
	}
	if want := map[bool]int{true: 1}[runtime.GOOS == "linux"]; runtime.GOOS == "linux" && mapped != want {
		t.Errorf("%d files mapped", mapped)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if r := s.Symbols("tower", id, ""); r.Symbols != nil || !errors.Is(r.Err, ErrClosed) {
		t.Errorf("after Close: %v", r.Err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestBombs(t *testing.T) {
	defer func(n int64) { ratioFrom = n }(ratioFrom)
	ratioFrom = 1 << 20
	text := append([]byte(symText(id, "tower", "f")), bytes.Repeat([]byte("\n"), 64<<20)...)
	for name, data := range map[string][]byte{"gzip": gz(t, text), "zstd": zst(t, text)} {
		dir := t.TempDir()
		path := write(t, dir, "x", data)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := newStore(t, Options{}, path).Symbols("tower", id, "")
		runtime.ReadMemStats(&after)
		if r.Status != Unreadable || !strings.Contains(r.Reason, "refused") || r.Symbols != nil {
			t.Errorf("%s: %v %s", name, r.Status, r.Reason)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 40<<20 {
			t.Errorf("%s: %d bytes allocated", name, got)
		}
		if _, err := NewBinaries([]string{path}).pool.load(path); err == nil {
			t.Errorf("%s: taken as a binary", name)
		}
	}
}

// load reads a file as it is.
func (p *pool) load(path string) (*pooled, error) {
	e := p.get(path, false, func(*pooled) {})
	return e, e.err
}

// TestParsedOnce asks for one file under many names from many goroutines.
func TestParsedOnce(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "tower/"+id+"/tower.sym", []byte(symText(id, "tower", "f")))
	s := newStore(t, Options{}, dir, path)
	var mu sync.Mutex
	seen := make(map[*symfile.Symbols]bool)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			r := s.Symbols("tower", id, []string{"a", "b", "c"}[i%3])
			s.Symbols("shed", id, []string{"a", "b", "c"}[i%3])
			mu.Lock()
			seen[r.Symbols] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(seen) != 1 || seen[nil] {
		t.Errorf("%d tables", len(seen))
	}
}

// TestClosedMeanwhile closes a store while it is asked.
func TestClosedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		write(t, dir, name+"/"+id+"/"+name+".sym", []byte(symText(id, name, "f")))
	}
	for range 20 {
		s, err := New([]string{dir}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c", "d"} {
			wg.Go(func() {
				if r := s.Symbols(name, id, ""); r.Status != Found && !errors.Is(r.Err, ErrClosed) {
					t.Errorf("%v %s", r.Status, r.Reason)
				}
			})
		}
		s.Close()
		wg.Wait()
	}
}

func TestCorpusStore(t *testing.T) {
	made := filepath.Join(corpustest.Dir(t), "made")
	s := newStore(t, Options{Exact: true}, filepath.Join(made, "symbols-inline"), filepath.Join(made, "symbols"))
	for _, tc := range [][2]string{
		{"/case/gcc12-O0-x86_64/tower", "633200A1056A066FB9E7FBAD987B28260"},
		{"/usr/lib/x86_64-linux-gnu/libc.so.6", "EC61AC938E5A39B16F9FBD350E3169A50"},
		{"linux-gate.so", "EAAA5BE985ECED34C5DF3654182DDF120"},
	} {
		if r := s.Symbols(tc[0], tc[1], tc[0]); r.Status != Found || len(r.Warnings) > 0 {
			t.Errorf("%s: %v %s %q", tc[0], r.Status, r.Reason, r.Warnings)
		}
	}
	full := newStore(t, Options{}, filepath.Join(made, "symbols-full"))
	if r := full.Symbols("/lib/libc.so.6", "EC61AC938E5A39B16F9FBD350E3169A50", ""); r.Status != Found || r.Match != ByID {
		t.Errorf("a packed file by its id: %v %v %s", r.Status, r.Match, r.Reason)
	}
}
