package lint

import (
	"context"
	"errors"
	"testing"
)

var ruleBinary = &Rule{Name: "test-binary", Family: "test", Severity: Error, Also: []Severity{Info}, Summary: "a byte", Why: "because", Binary: true,
	Effects: Effects{Linux: {Loses, "drops it"}, Binutils: {Unaffected, "shows it"}}}

// binaryAnalyzer has a finding for every byte that is 1; 2 cannot be read.
var binaryAnalyzer = &BinaryAnalyzer{Name: "test", Rules: []*Rule{ruleBinary}, Run: func(p *BinaryPass) error {
	p.Records = []RecordCount{{"byte", len(p.Data)}}
	p.Module.Arch = "x86_64"
	for i, b := range p.Data {
		switch b {
		case 1:
			section := ".a"
			if i > 2 {
				section = ".b"
			}
			p.Report(BinarySpot{Rule: ruleBinary, Section: section, Offset: int64(-i + 10), Length: 1}, func(f *Finding) { f.Message = "a 1" })
		case 2:
			return errors.New("offset 0: a 2")
		case 3:
			panic("no")
		}
	}
	return nil
}}

func binaryRunner(t *testing.T) *Runner {
	g, err := NewRegistry(ruleFunc, ruleZero, ruleTotal, ruleBinary)
	if err != nil {
		t.Fatal(err)
	}
	return &Runner{Registry: g, Analyzers: []*Analyzer{testAnalyzer}, Binary: []*BinaryAnalyzer{binaryAnalyzer}}
}

func TestCheckBinary(t *testing.T) {
	r := binaryRunner(t)
	res := r.CheckBinary("a.o", "elf", []byte{0, 1, 1, 1}, nil)
	defer res.Close()
	if res.Err != nil || res.Kind != "elf" || res.Module.Arch != "x86_64" || res.Records[0].Count != 4 || res.Totals[Error] != 3 {
		t.Fatalf("%+v", res)
	}
	var places []Location
	for f, err := range res.Findings() {
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, f.Location)
	}
	// By section, then by offset.
	want := []Location{{Section: ".a", Offset: 8, Length: 1}, {Section: ".a", Offset: 9, Length: 1}, {Section: ".b", Offset: 7, Length: 1}}
	for i := range want {
		if len(places) != len(want) || places[i] != want[i] {
			t.Fatalf("places %+v, want %+v", places, want)
		}
	}
}

func TestCheckBinaryErrors(t *testing.T) {
	r := binaryRunner(t)
	for data, want := range map[string]string{"\x02": "a.o: offset 0: a 2", "\x03": "a.o: internal error: no"} {
		res := r.CheckBinary("a.o", "elf", []byte(data), nil)
		if res.Err == nil || len(res.Err.Error()) < len(want) || res.Err.Error()[:len(want)] != want {
			t.Errorf("%q: %v, want %s", data, res.Err, want)
		}
		res.Close()
	}
	r.Binary = nil
	if res := r.CheckBinary("a.o", "elf", nil, nil); res.Err == nil {
		t.Error("a runner without analyzers of binaries checked one")
	}
}

// Settings, consumers, baselines and bounds hold for binaries as for symbol files.
func TestCheckBinarySettings(t *testing.T) {
	r := binaryRunner(t)
	data := []byte{1, 1, 1, 1}
	s := NewSettings(r.Registry)
	s.Consumers = SymbolConsumers
	if res := r.CheckBinary("a.o", "elf", data, s); res.Totals[Error] != 0 {
		t.Error("readers of symbol files mind SFrame")
	}
	r.Keep = 1
	res := r.CheckBinary("a.o", "elf", data, nil)
	kept := 0
	for range res.Findings() {
		kept++
	}
	if kept != 1 || res.Totals[Error] != 4 {
		t.Errorf("%d kept of %d", kept, res.Totals[Error])
	}
	r.Known = func(string) func(*Finding) bool { return func(f *Finding) bool { return f.Section == ".b" } }
	if res = r.CheckBinary("a.o", "elf", data, nil); res.Suppressed != 1 || res.Totals[Error] != 3 {
		t.Errorf("%d known, %d left", res.Suppressed, res.Totals[Error])
	}
}

type memorySource struct {
	path string
	in   Input
}

func (s *memorySource) Path() string          { return s.path }
func (s *memorySource) Open() (*Input, error) { in := s.in; return &in, nil }

func TestRunMixedKinds(t *testing.T) {
	r := binaryRunner(t)
	var kinds []string
	sum, err := r.Run(context.Background(), []Source{
		&memorySource{"a.sym", Input{Kind: "sym", Data: []byte("FUNC 10 10 0 f\n")}},
		&memorySource{"a.o", Input{Kind: "elf", Data: []byte{1}}},
		&memorySource{"a.sframe", Input{Kind: "sframe", Data: []byte{0}}},
	}, func(res *FileResult) error {
		kinds = append(kinds, res.Kind)
		return res.Err
	})
	if err != nil || sum.Files != 3 || sum.Failed != 0 || len(kinds) != 3 || kinds[1] != "elf" || sum.Totals[Error] != 2 {
		t.Errorf("%+v, %v, %v", sum, kinds, err)
	}
}
