package minidump

import (
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
)

// twoThreads is a dump whose last bytes are the stack of the first thread.
func twoThreads(t *testing.T, sp uint64) []byte {
	b := builder()
	cpu, _ := arch.Lookup("x86")
	r := &arch.Registers{CPU: cpu}
	r.Set(cpu.Slot.SP, sp)
	first, second := b.Section().Bytes([]byte("stack of the first")), b.Section().Bytes([]byte("stack of the second"))
	first.Base, second.Base = 0x1000, 0x2000
	b.Thread(Thread{ID: 1}, first, b.Context(ContextX86, r))
	b.Thread(Thread{ID: 2}, second, b.Context(ContextX86, r))
	b.Text(StreamLinuxStatus, "Name: x\n")
	b.Add(second)
	b.Add(first)
	return build(t, b)
}

// Google's reader never gets over the end of the file: what it reads after that fails, too.
func TestCutStack(t *testing.T) {
	for _, c := range []struct {
		sp     uint64
		second bool // has a context
	}{{0x1004, false}, {0x5000, true}} { // a stack that is never looked at does no harm
		data := twoThreads(t, c.sp)
		f, err := Parse(data[:len(data)-1])
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Process()
		if err != nil {
			t.Fatal(err)
		}
		if th := s.Threads[0]; th.Context == nil || !th.HasStack || th.Stack.Data != nil {
			t.Errorf("first thread: %+v", th)
		}
		th := s.Threads[1]
		if (th.Context != nil) != c.second || (th.Stack.Data != nil) != c.second {
			t.Errorf("sp 0x%x, second thread: %v", c.sp, th.ContextErr)
		}
		if !c.second && !strings.Contains(th.ContextErr.Error(), "something read before") {
			t.Error(th.ContextErr)
		}
		if string(f.Linux.Status) != "Name: x\n" {
			t.Error("a stream that Google's processor does not read is lost")
		}
		if m, ok := f.Memory(0x2000, 5); !ok || string(m) != "stack" {
			t.Error("Memory does not find what is there")
		}
	}
	data := twoThreads(t, 0x1004)
	f, err := ParseLenient(data[:len(data)-1])
	if err != nil {
		t.Fatal(err)
	}
	s, _ := f.Process()
	if th := s.Threads[1]; th.Context == nil || string(th.Stack.Data) != "stack of the second" {
		t.Errorf("leniently: %+v", th)
	}
}

// A module's name beyond the end costs the thread list, which is read later.
func TestCutName(t *testing.T) {
	b := builder()
	b.Thread(Thread{ID: 1}, nil, b.Context(ContextX86, &arch.Registers{}))
	b.Module(Module{Base: 1, Size: 1, CodeFile: "fine"}, nil, nil)
	b.Module(Module{Base: 2, Size: 1, CodeFile: "cut"}, nil, nil)
	data := build(t, b)
	data = data[:len(data)-3]
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if f.ModulesErr == nil || f.ThreadsErr == nil || f.Modules != nil || f.Threads != nil {
		t.Errorf("%v, %v", f.ModulesErr, f.ThreadsErr)
	}
	if _, err := f.Process(); err == nil || !strings.Contains(err.Error(), "ThreadList") {
		t.Error(err)
	}
	f, _ = ParseLenient(data)
	if f.ModulesErr == nil || f.ThreadsErr != nil || len(f.Modules) != 1 || len(f.Threads) != 1 {
		t.Errorf("leniently: %v, %v", f.ModulesErr, f.ThreadsErr)
	}
}

// A context that is of no CPU is given up after its flags, and so cannot run past the end.
func TestContextOfAbsurdSize(t *testing.T) {
	b := builder()
	c := b.Add(b.Section().U32(ContextX86).Zero(712))
	b.Thread(Thread{ID: 1}, nil, nil)
	b.Thread(Thread{ID: 2}, nil, c)
	f := parsed(t, b)
	data := f.Data
	e, _ := f.entry(StreamThreadList)
	little.PutUint32(data[e.RVA+4+40:], 0x10000000) // size of the first thread's context
	little.PutUint32(data[e.RVA+4+44:], f.Threads[1].Context.RVA)
	f, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Process()
	if err != nil || s.Threads[0].Context != nil || s.Threads[1].Context == nil {
		t.Errorf("%v: %v, %v", err, s.Threads[0].ContextErr, s.Threads[1].ContextErr)
	}
	// One of amd64 is read as a whole.
	if _, err := f.ContextAt(Location{1232, uint32(len(data)) - 100}); err == nil {
		t.Error("amd64 context past the end")
	}
}
