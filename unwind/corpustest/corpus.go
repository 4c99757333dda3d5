// Package corpustest finds the collection of real symbol files and dumps that some tests read.
package corpustest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Dir returns the corpus directory: $SYMLINT_CORPUS, else shared/corpus beside the repository. Where neither is there
// the test is skipped.
func Dir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("SYMLINT_CORPUS")
	if dir == "" {
		dir = filepath.Join(Root(), "..", "shared", "corpus")
	}
	if _, err := os.Stat(filepath.Join(dir, "MANIFEST.md")); err != nil {
		t.Skip("no corpus on this machine")
	}
	return dir
}

// Root returns the repository's root directory.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}
