package symstore

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestByName(t *testing.T) {
	dir := t.TempDir()
	add := func(arch, id string) {
		text := strings.Replace(symText(id, "libc.so.6", "f"), "x86_64", arch, 1)
		write(t, dir, filepath.Join("libc.so.6", id, "libc.so.6.sym"), []byte(text))
	}
	const a, b, c = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA0", "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB0", "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC0"
	add("x86_64", a)
	add("arm64", b)
	s := newStore(t, Options{}, dir)
	is := func(want string) func(string) bool { return func(arch string) bool { return arch == want } }
	if r := s.ByName("/lib/libc.so.6", is("arm64")); r.Symbols == nil || !strings.Contains(r.Path, b) || len(r.Warnings) == 0 {
		t.Errorf("one file fits, got %+v", r)
	}
	if r := s.ByName("libc.so.6", is("mips")); r.Symbols != nil || !strings.Contains(r.Reason, "0 files fit") {
		t.Errorf("no file fits, got %+v", r)
	}
	add("arm64", c)
	if r := s.ByName("libc.so.6", is("arm64")); r.Symbols != nil || !strings.Contains(r.Reason, "2 files fit") {
		t.Errorf("two files fit, got %+v", r)
	}
	if r := s.ByName("..", is("arm64")); r.Symbols != nil {
		t.Error("a name that leads out of the store found something")
	}
}
