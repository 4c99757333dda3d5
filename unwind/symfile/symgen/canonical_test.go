package symgen

import (
	"testing"

	"github.com/symlint/symlint/unwind/symfile"
)

// The scanner, which knows what every consumer takes, finds nothing to remark.
func TestCanonical(t *testing.T) {
	for _, k := range kinds {
		data := generate(t, k, 4, 2e6)
		s := symfile.NewScanner(data)
		records := 0
		for s.Next() {
			records++
			if r := s.Record(); !r.Usable || len(r.Problems) > 0 || r.Kind == symfile.Unknown || r.Kind == symfile.Blank {
				t.Fatalf("%s: line %d: %s: %v", k.name, r.Line, data[r.Span.Off:r.Span.End], r.Problems)
			}
		}
		if records < 10000 {
			t.Errorf("%s: only %d records", k.name, records)
		}
	}
}
