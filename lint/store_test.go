package lint

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func randomFinding(r *rand.Rand, g *Registry) Finding {
	f := Finding{
		Rule: g.rules[r.IntN(len(g.rules))], Severity: Severity(1 + r.IntN(3)), File: "a.sym",
		Location:      Location{Line: 1 + r.IntN(5000), Column: 1 + r.IntN(40), Offset: r.Int64N(1 << 40), Length: 7},
		Snippet:       []byte("FUNC 1000 10 0 f"),
		SnippetColumn: 6,
		Message:       "m",
		Effects:       Same(Loses, "drops it"),
		Count:         1 + r.IntN(9),
	}
	f.EndColumn = f.Column + 7
	if r.IntN(2) == 0 {
		f.HasAddress, f.Address, f.Function, f.Subject = true, r.Uint64(), "f(int)", "s"
		f.Detail = []string{"one", "", "three"}
		f.Related = []Related{{File: "b.sym", Location: Location{Line: 3, Section: ".sframe"}, Message: "here"}}
		f.Fix = &Fix{Description: "d", Safe: true, Edits: []Edit{{1, 2, "x"}, {5, 0, ""}}}
	}
	return f
}

// Findings that went through temporary storage come back whole and in order.
func TestStoreSpills(t *testing.T) {
	g := testRegistry()
	r := rand.New(rand.NewPCG(1, 2))
	s := &store{registry: g}
	var want []Finding
	for range 3*runLength + 100 {
		f := randomFinding(r, g)
		want = append(want, f)
		s.add(f)
	}
	if s.spill == nil || len(s.mem) > runLength {
		t.Fatalf("%d findings in memory, nothing spilled", len(s.mem))
	}
	slices.SortStableFunc(want, func(a, b Finding) int { return s.compare(&a, &b) })
	i := 0
	for f, err := range s.all() {
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*f, want[i]) {
			t.Fatalf("finding %d:\n got %+v\nwant %+v", i, *f, want[i])
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d findings came back of %d", i, len(want))
	}
	s.close()
	if s.spill != nil {
		t.Error("the temporary file is still open")
	}
}

func TestStoreReportsReadErrors(t *testing.T) {
	g := testRegistry()
	r := rand.New(rand.NewPCG(1, 2))
	s := &store{registry: g}
	for range runLength + 1 {
		s.add(randomFinding(r, g))
	}
	if err := s.spill.Truncate(s.size / 2); err != nil {
		t.Fatal(err)
	}
	var failed error
	for _, err := range s.all() {
		if err != nil {
			failed = err
		}
	}
	if failed == nil {
		t.Error("a truncated temporary file went unnoticed")
	}
	s.close()
}
