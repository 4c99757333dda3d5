package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
)

const modulePath = "github.com/symlint/symlint"

// room is a part of the tree: a pattern over import paths below the module, with /... for everything below.
type room struct {
	pattern string
	// may are the rooms its packages may import, besides their own.
	may []string
}

// rooms are the directions in which packages may depend on each other. The first pattern that matches counts.
var rooms = []room{
	{"cmd/...", []string{"cmd/...", "rules", "lint", "lint/...", "unwind", "unwind/..."}},
	{"rules/...", []string{"rules/...", "lint", "unwind", "unwind/..."}},
	{"rules", []string{"lint", "lint/replay", "unwind", "unwind/..."}},
	{"lint", []string{"unwind/..."}},
	{"lint/replay", []string{"lint", "unwind", "unwind/..."}},
	{"lint/...", append([]string{"lint"}, formats...)},
	{"unwind/corpustest", nil},
	{"unwind/symfile/symgen", []string{"unwind/symfile"}},
	{"unwind/symfile", []string{"unwind/arch", "unwind/postfix"}},
	{"unwind/postfix", []string{"unwind/arch"}},
	{"unwind/arch", nil},
	{"unwind/sframe", []string{"unwind/arch"}},
	{"unwind/dwarf", []string{"unwind/arch", "unwind/postfix"}},
	{"unwind/minidump", []string{"unwind/arch"}},
	{"unwind/corefile", []string{"unwind/arch"}},
	{"unwind/trace", []string{"unwind", "unwind/..."}},
	{"unwind", []string{"unwind/..."}},
	{"unwind/...", []string{"unwind/..."}},
}

// formats are the packages that read and write one file format each and know nothing of each other.
var formats = []string{"unwind/symfile", "unwind/sframe", "unwind/dwarf", "unwind/minidump", "unwind/corefile", "unwind/arch", "unwind/postfix"}

// only are modules that these rooms alone may use.
var only = map[string][]string{
	"github.com/alecthomas/kong":         {"cmd/symlint/internal/cli"},
	"github.com/mattn/go-isatty":         {"cmd/symlint/internal/cli"},
	"github.com/fatih/color":             {"lint/report"},
	"github.com/sergi/go-diff":           {"lint/symdiff"},
	"github.com/BurntSushi/toml":         {"lint/config"},
	"github.com/klauspost/compress":      {"lint/source", "unwind/symstore"},
	"github.com/ianlancetaylor/demangle": {"unwind"},
}

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

// listPackages returns the packages of the module and what they depend on.
func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Standard", "./...")
	cmd.Dir = corpustest.Root()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var list []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func matches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(path, prefix+"/")
	}
	return pattern == path
}

// broken returns the imports of a package that the rooms do not allow.
func broken(path string, imports []string) []string {
	var out []string
	for _, imported := range imports {
		if dep, ok := strings.CutPrefix(imported, modulePath+"/"); ok {
			if !allowed(path, dep) {
				out = append(out, imported)
			}
			continue
		}
		for module, owners := range only {
			if (imported == module || strings.HasPrefix(imported, module+"/")) && !slices.Contains(owners, path) {
				out = append(out, imported)
			}
		}
	}
	return out
}

func allowed(path, dep string) bool {
	for _, r := range rooms {
		if matches(r.pattern, path) {
			return slices.ContainsFunc(r.may, func(p string) bool { return matches(p, dep) })
		}
	}
	return false
}

// TestDependencies holds the directions in which packages depend on each other.
func TestDependencies(t *testing.T) {
	own := 0
	for _, p := range listPackages(t) {
		path, ok := strings.CutPrefix(p.ImportPath, modulePath+"/")
		if !ok {
			continue
		}
		own++
		if !slices.ContainsFunc(rooms, func(r room) bool { return matches(r.pattern, path) }) {
			t.Errorf("%s belongs to no room", path)
		}
		for _, dep := range broken(path, p.Imports) {
			t.Errorf("%s must not import %s", path, dep)
		}
	}
	if own < 8 {
		t.Errorf("go list knows only %d packages", own)
	}
}

// The directions really forbid what they are meant to.
func TestDependencyRules(t *testing.T) {
	for _, c := range []struct {
		path, imported string
		ok             bool
	}{
		{"rules", modulePath + "/lint", true},
		{"rules", modulePath + "/unwind/symfile", true},
		{"rules", modulePath + "/lint/report", false},
		{"rules", modulePath + "/lint/replay", true},
		{"lint/replay", modulePath + "/rules", false},
		{"lint", modulePath + "/rules", false},
		{"lint", modulePath + "/lint/report", false},
		{"lint/report", modulePath + "/lint", true},
		{"lint/report", modulePath + "/rules", false},
		{"lint/report", modulePath + "/lint/config", false},
		{"unwind/symfile", modulePath + "/lint", false},
		{"unwind/symfile", modulePath + "/unwind/sframe", false},
		{"unwind", modulePath + "/unwind/symfile", true},
		{"unwind", modulePath + "/rules", false},
		{"rules", modulePath + "/cmd/symlint/internal/cli", false},
		{"cmd/symlint", modulePath + "/cmd/symlint/internal/cli", true},
		{"cmd/symlint/internal/cli", "github.com/alecthomas/kong", true},
		{"lint/config", "github.com/alecthomas/kong", false},
		{"cmd/symlint/internal/cli", "github.com/fatih/color", false},
		{"lint/report", "github.com/fatih/color", true},
		{"lint/source", "github.com/klauspost/compress/zstd", true},
		{"unwind/symstore", "github.com/klauspost/compress/zstd", true},
		{"unwind/trace", modulePath + "/unwind", true},
		{"unwind/minidump", modulePath + "/unwind", false},
		{"unwind/symfile", "strings", true},
		{"newroom", modulePath + "/lint", false},
	} {
		if got := len(broken(c.path, []string{c.imported})) == 0; got != c.ok {
			t.Errorf("%s importing %s: allowed %v, want %v", c.path, c.imported, got, c.ok)
		}
	}
}
