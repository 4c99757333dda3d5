package symstore

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

var (
	build  = []byte{0xa1, 0, 0x32, 0x63, 0x6a, 5, 0x6f, 6, 0xb9, 0xe7, 0xfb, 0xad, 0x98, 0x7b, 0x28, 0x26, 1, 2, 3, 4}
	build2 = bytes.Repeat([]byte{0xcc}, 20)
)

func TestBuildID(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	for _, f := range []elfForm{{le, true}, {le, false}, {be, true}, {be, false}} {
		for _, inSection := range []bool{false, true} {
			for _, debugOnly := range []bool{false, true} {
				data := f.elfFile(build, inSection, debugOnly)
				info, ok := readELF(bytes.NewReader(data), int64(len(data)))
				if !ok || !bytes.Equal(info.buildID, build) || info.debugOnly != debugOnly {
					t.Errorf("%+v, section %v: %v %x %v", f, inSection, ok, info.buildID, info.debugOnly)
				}
				for n := range data { // cut short it is no crash, and no other id
					if got := BuildID(data[:n]); got != nil && !bytes.Equal(got, build) {
						t.Errorf("%+v cut at %d: %x", f, n, got)
					}
				}
			}
		}
	}
	if got := BuildID(elf64.elfFile(nil, false, false)); got != nil {
		t.Errorf("no note: %x", got)
	}
	if BuildID([]byte("MODULE")) != nil || BuildID(nil) != nil {
		t.Error("no ELF file has a build id")
	}
}

func TestBreakpadID(t *testing.T) {
	if got := breakpadID(build); got != "633200A1056A066FB9E7FBAD987B28260" {
		t.Error(got)
	}
	if got := breakpadID([]byte{1, 2}); got != "000002010000000000000000000000000" {
		t.Error(got)
	}
}

func TestSameBuild(t *testing.T) {
	for _, tc := range []struct {
		dump, file []byte
		want       bool
	}{
		{build, build, true},
		{build[:16], build, true},
		{build[:15], build, false},
		{append(bytes.Clone(build[:8]), make([]byte, 8)...), build[:8], true},
		{build2, build, false},
		{build, build[:16], false},
	} {
		if sameBuild(tc.dump, tc.file) != tc.want {
			t.Errorf("%x, %x", tc.dump, tc.file)
		}
	}
}

func TestBinary(t *testing.T) {
	right, wrong := elf64.elfFile(build, false, false), elf64.elfFile(build2, false, false)
	none, debug := elf64.elfFile(nil, false, false), elf64.elfFile(build, true, true)
	x := hex.EncodeToString(build)
	for _, tc := range []struct {
		name  string
		files map[string][]byte
		dirs  string // "." if empty
		path  string // "/opt/app/tower" if empty
		id    []byte
		want  string // the file, or with a "!" part of the error
	}{
		{name: "path", files: map[string][]byte{"opt/app/tower": right}, id: build, want: "opt/app/tower"},
		{name: "path, id unknown", files: map[string][]byte{"opt/app/tower": right}, want: "opt/app/tower"},
		{name: "path, packed", files: map[string][]byte{"opt/app/tower.gz": gz(t, right)}, id: build,
			want: "opt/app/tower.gz"},
		{name: "path before name", files: map[string][]byte{"opt/app/tower": right, "tower": right}, want: "opt/app/tower"},
		{name: "deleted", files: map[string][]byte{"opt/app/tower": right}, path: "/opt/app/tower (deleted)",
			want: "opt/app/tower"},
		{name: "Windows path", files: map[string][]byte{"app/tower.dll": right}, path: `C:\app\tower.dll`,
			want: "app/tower.dll"},
		{name: "name", files: map[string][]byte{"tower": right}, id: build, want: "tower"},
		{name: "name, zstd", files: map[string][]byte{"tower.zst": zst(t, right)}, want: "tower.zst"},
		{name: "store", files: map[string][]byte{"tower/633200A1056A066FB9E7FBAD987B28260/tower": right}, id: build,
			want: "tower/633200A1056A066FB9E7FBAD987B28260/tower"},
		{name: "build-id", files: map[string][]byte{".build-id/" + x[:2] + "/" + x[2:]: right}, id: build,
			want: ".build-id/" + x[:2] + "/" + x[2:]},
		{name: "build-id, 16 bytes", files: map[string][]byte{".build-id/" + x[:2] + "/" + x[2:]: right}, id: build[:16],
			want: ".build-id/" + x[:2] + "/" + x[2:]},
		{name: "build-id, debug", files: map[string][]byte{".build-id/" + x[:2] + "/" + x[2:] + ".debug": debug}, id: build,
			want: ".build-id/" + x[:2] + "/" + x[2:] + ".debug"},
		{name: "code before debug", files: map[string][]byte{".build-id/" + x[:2] + "/" + x[2:] + ".debug": debug,
			"renamed": right}, id: build, want: "renamed"},
		{name: "index", files: map[string][]byte{"renamed": right, "another": wrong}, id: build, want: "renamed"},
		{name: "index below", files: map[string][]byte{"sub/renamed.gz": gz(t, right)}, id: build, want: "sub/renamed.gz"},
		{name: "index two below", files: map[string][]byte{"sub/sub/renamed": right}, id: build, want: "!no such binary"},
		{name: "index needs the id", files: map[string][]byte{"renamed": right}, want: "!no such binary"},
		{name: "id first", files: map[string][]byte{"a/tower": wrong, "b/tower": right}, dirs: "a b", id: build,
			want: "b/tower"},
		{name: "packed, id first", files: map[string][]byte{"a/tower.gz": gz(t, wrong), "b/tower.gz": gz(t, right)},
			dirs: "a b",
			id:   build, want: "b/tower.gz"},
		{name: "other build", files: map[string][]byte{"tower": wrong}, id: build,
			want: "!/opt/app/tower: no such binary with build id " + x + ": ROOT/tower has build id cccc"},
		{name: "file without id", files: map[string][]byte{"tower": none}, id: build, want: "tower"},
		{name: "file without id, packed", files: map[string][]byte{"tower.gz": gz(t, none)}, id: build, want: "tower.gz"},
		{name: "file without id last", files: map[string][]byte{"tower": none, "renamed": right}, id: build, want: "renamed"},
		{name: "a file for a directory", files: map[string][]byte{"tower": right}, dirs: "tower", want: "tower"},
		{name: "a renamed file for a directory", files: map[string][]byte{"x": right}, dirs: "x", id: build, want: "x"},
		{name: "a file of another name", files: map[string][]byte{"x": right}, dirs: "x", want: "!no such binary"},
		{name: "no ELF file", files: map[string][]byte{"tower": []byte("#!/bin/sh")}, id: build,
			want: "!ROOT/tower: is no ELF file"},
		{name: "damaged", files: map[string][]byte{"tower.gz": gz(t, right)[:len(gz(t, right))-12]}, id: build,
			want: "!ROOT/tower.gz: truncated gzip data"},
		{name: "missing directory", dirs: "missing", want: "!no such binary: ROOT/missing: "},
		{name: "leads out", files: map[string][]byte{"d/x": nil, "tower": right}, dirs: "d", path: "/../tower",
			want: "!no such binary"},
		{name: "leads out, Windows", files: map[string][]byte{"d/x": nil, "tower": right}, dirs: "d", path: `..\..\tower`,
			want: "!no such binary"},
		{name: "no name", path: "/", files: map[string][]byte{"x": right}, want: "!no such binary"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			for name, data := range tc.files {
				write(t, root, name, data)
			}
			var dirs []string
			for _, d := range strings.Fields(or(tc.dirs, ".")) {
				dirs = append(dirs, filepath.Join(root, d))
			}
			b := NewBinaries(dirs)
			defer b.Close()
			data, file, err := b.Binary(or(tc.path, "/opt/app/tower"), tc.id)
			if want, fails := strings.CutPrefix(tc.want, "!"); fails {
				if err == nil {
					t.Fatalf("got %s", file)
				}
				if text := strings.ReplaceAll(err.Error(), root, "ROOT"); !strings.Contains(filepath.ToSlash(text), want) {
					t.Errorf("%q lacks %q", text, want)
				}
				if _, ok := errors.AsType[*BinaryError](err); ok != errors.Is(err, fs.ErrNotExist) || data != nil {
					t.Errorf("error %#v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if rel, _ := filepath.Rel(root, file); filepath.ToSlash(rel) != tc.want {
				t.Errorf("got %s, want %s", rel, tc.want)
			}
			if string(data[:4]) != "\x7fELF" {
				t.Errorf("data %x", data[:4])
			}
		})
	}
}

func TestBinaryOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "tower", append(elf64.elfFile(build, false, false), make([]byte, mapFrom)...))
	b := NewBinaries([]string{dir})
	var wg sync.WaitGroup
	firsts := make([]*byte, 32)
	for i := range firsts {
		wg.Go(func() {
			data, _, err := b.Binary([]string{"/x/tower", "/y/tower", "renamed"}[i%3], build)
			if err != nil {
				t.Error(err)
				return
			}
			firsts[i] = &data[0]
		})
	}
	wg.Wait()
	for _, p := range firsts {
		if p != firsts[0] {
			t.Error("read more than once")
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := b.Binary("tower", build); err != ErrClosed {
		t.Error(err)
	}
}

func TestCorpusBinaries(t *testing.T) {
	bin := filepath.Join(corpustest.Dir(t), "made", "bin")
	id, _ := hex.DecodeString("a10032636a056f06b9e7fbad987b2826")
	for _, dir := range []string{bin, filepath.Join(bin, "gcc12-O0-x86_64")} {
		b := NewBinaries([]string{dir})
		data, file, err := b.Binary("/case/gcc12-O0-x86_64/tower", id)
		if want := filepath.Join(bin, "gcc12-O0-x86_64", "tower.gz"); err != nil || file != want {
			t.Errorf("%s: %s, %v", dir, file, err)
		} else if got := BuildID(data); len(got) != 20 || !bytes.Equal(got[:16], id) {
			t.Errorf("%s: build id %x", dir, got)
		}
		b.Close()
	}
}

func FuzzBuildID(f *testing.F) {
	for _, form := range []elfForm{elf64, {binary.BigEndian, false}} {
		for _, section := range []bool{false, true} {
			f.Add(form.elfFile(build, section, section))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := BuildID(data); got != nil && !bytes.Contains(data, got) {
			t.Errorf("%x is not in the file", got)
		}
	})
}
