package minidump

import (
	"slices"
	"testing"
)

// A real dump that every clone has.
func TestCrasher(t *testing.T) {
	data, err := readMaybeGzip("testdata/crasher.dmp.gz")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range f.streamErrors() {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := f.Process()
	if err != nil {
		t.Fatal(err)
	}
	got, want := machineHead(f, s), headOf(t, "testdata/crasher.machine.txt")
	slices.Sort(got[4:])
	slices.Sort(want[4:])
	if !slices.Equal(got, want) {
		t.Error(difference(got, want))
	}
	if len(f.Maps) == 0 || f.Maps[0].Path != f.Modules[0].CodeFile || f.Maps[0].Start != f.Modules[0].Base {
		t.Errorf("first mapping %+v, first module %s at 0x%x", f.Maps[0], f.Modules[0].CodeFile, f.Modules[0].Base)
	}
	if d := f.DSODebug; d == nil || len(d.Objects) < 3 || d.Objects[0].Addr != f.Modules[0].Base {
		t.Errorf("%+v", d)
	}
	th := s.Threads[s.Requesting]
	if sp := th.Context.Registers.SP(); !th.Stack.Contains(sp) || th.Context.CPU.Name != "x86" {
		t.Errorf("sp 0x%x, stack 0x%x+0x%x", sp, th.Stack.Base, th.Stack.Size)
	}
}
