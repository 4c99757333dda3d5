package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/symlint/symlint/cmd/symlint/internal/cli"
)

// TestFiles holds what is said of the files under testdata against what is recorded beside them. Files in testdata/ok are
// healthy: whatever else is recorded of them, it is no error.
func TestFiles(t *testing.T) {
	root := filepath.Join("..", "..")
	for dir, want := range map[string]int{"ok": 0, "err": 1} {
		files, err := filepath.Glob(filepath.Join(root, "testdata", dir, "*.sym"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d files in testdata/%s (%v)", len(files), dir, err)
		}
		for _, name := range files {
			t.Run(dir+"/"+filepath.Base(name), func(t *testing.T) {
				shown := "testdata/" + dir + "/" + filepath.Base(name)
				got, status := runIn(t, root, "check", "--no-config", "--max-per-rule", "0", shown)
				golden := strings.TrimSuffix(filepath.Join("testdata", dir, filepath.Base(name)), ".sym") + ".out" // the working directory is the root now
				if *update {
					if err := os.WriteFile(golden, got, 0o666); err != nil {
						t.Fatal(err)
					}
				}
				recorded, err := os.ReadFile(golden)
				if err != nil {
					t.Fatalf("%v; go test ./cmd/symlint -run TestFiles -update writes it", err)
				}
				if !bytes.Equal(got, recorded) {
					t.Errorf("the output differs from %s; go test ./cmd/symlint -run TestFiles -update rewrites it\n%s", golden, got)
				}
				if dir == "ok" && regexp.MustCompile(`(?m)^\S+:\d+:\d+: error: `).Match(got) {
					t.Errorf("a healthy file has errors:\n%s", got)
				}
				if status != want && !(dir == "err" && status == 0 && !bytes.Contains(got, []byte(": error: "))) {
					t.Errorf("exit status %d, want %d", status, want)
				}
			})
		}
	}
}

// runIn runs the command in a directory and returns its output and exit status.
func runIn(t *testing.T, dir string, args ...string) ([]byte, int) {
	t.Helper()
	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	status := cli.Run(args, cli.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }})
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", stderr.String())
	}
	return stdout.Bytes(), status
}
