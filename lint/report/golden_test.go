package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// TestGolden holds the whole output of each format against files that people have read.
// Rewrite them with: go test ./lint/report -run TestGolden -update
func TestGolden(t *testing.T) {
	for _, tc := range []struct {
		name, format string
		options      Options
	}{
		{"text", "text", Options{MaxPerRule: 1}},
		{"text-all-stats", "text", Options{Stats: true}},
		{"text-color", "text", Options{Color: true, MaxPerRule: 1}},
		{"json", "json", Options{Version: "1.2.3"}},
		{"jsonl", "jsonl", Options{}},
		{"sarif", "sarif", Options{Version: "v1.2.3"}},
		{"github", "github", Options{}},
		{"junit", "junit", Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.options.Registry = testRegistry(t)
			files, sum := testRun(tc.options.Registry)
			got := render(t, tc.format, tc.options, files, sum)
			path := filepath.Join("testdata", tc.name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs (-want +got); -update rewrites it:\n%s", path, diff)
			}
		})
	}
}
