package minidump

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"
)

// exercise reads everything that can be read of a dump. Whatever the bytes are, nothing panics and every view lies in
// the file.
func exercise(t testing.TB, data []byte) {
	for _, parse := range []func([]byte) (*File, error){Parse, ParseLenient} {
		f, err := parse(data)
		if (f == nil) == (err == nil) {
			t.Fatal("error xor value")
		}
		if err != nil {
			continue
		}
		for name, err := range f.streamErrors() {
			if fe, ok := err.(*FormatError); ok && (fe.Offset < 0 || fe.Offset > 1<<40 && name != "ThreadNames") {
				t.Fatalf("%s: %v", name, err)
			}
		}
		checkRegions(t, f)
		for i := range f.Modules {
			if m := &f.Modules[i]; m.Size == 0 || m.Base+uint64(m.Size) < m.Base {
				t.Fatalf("range of %+v", m)
			}
		}
		s, err := f.Process()
		if (s == nil) == (err == nil) {
			t.Fatal("error xor value")
		}
		if err != nil {
			continue
		}
		s.Uptime()
		if s.Requesting < -1 || s.Requesting >= len(s.Threads) {
			t.Fatalf("requesting thread %d of %d", s.Requesting, len(s.Threads))
		}
		for _, th := range s.Threads {
			if th.Context != nil {
				f.Memory(th.Context.Registers.SP(), 8)
				EncodeContext(f.Order, th.Context.Flags, &th.Context.Registers)
			}
			if th.Stack.Data != nil && uint64(len(th.Stack.Data)) != th.Stack.Size {
				t.Fatalf("stack of %d bytes has %d", th.Stack.Size, len(th.Stack.Data))
			}
		}
	}
}

func checkRegions(t testing.TB, f *File) {
	end := uint64(0)
	for _, m := range f.Regions() {
		if m.Data == nil || uint64(len(m.Data)) != m.Size || m.Base+m.Size < m.Base || m.Base+m.Size < end {
			t.Fatalf("region %x+%x", m.Base, m.Size)
		}
		end = m.Base + m.Size
		b, ok := f.Memory(m.Base, 1)
		if !ok || len(b) != 1 {
			t.Fatalf("nothing at the start of region %x+%x", m.Base, m.Size)
		}
		if _, ok := f.Memory(m.Base+m.Size-1, 1); !ok {
			t.Fatalf("nothing at the end of region %x+%x", m.Base, m.Size)
		}
	}
}

// allocated is how many bytes a call takes from the heap.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// variants calls back with damaged copies of a file: cut at any place, single bits turned, and words replaced by
// values that counts and offsets like to have.
func variants(data []byte, n int, r *rand.Rand, try func(name string, data []byte)) {
	for i := range n {
		try("cut", data[:i*len(data)/n])
	}
	work := append([]byte(nil), data...)
	for range n {
		at := r.IntN(len(work))
		bit := byte(1) << r.IntN(8)
		work[at] ^= bit
		try("bit", work)
		work[at] ^= bit
	}
	words := []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, uint32(len(data)), uint32(len(data)) - 4, 0x20, 0x10000}
	for range n {
		at := r.IntN(len(work)-4) &^ 3
		if r.IntN(2) == 0 {
			at = min(at, 32+12*30) &^ 3 // header and directory decide most
		}
		old := little.Uint32(work[at:])
		v := words[r.IntN(len(words))]
		if r.IntN(2) == 0 {
			binary.BigEndian.PutUint32(work[at:], v)
		} else {
			little.PutUint32(work[at:], v)
		}
		try("word", work)
		little.PutUint32(work[at:], old)
	}
}

func TestDamagedDumps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 400
	if testing.Short() {
		n = 50
	}
	files := map[string][]byte{}
	for _, order := range orders {
		for _, m := range []machine{machines[0], machines[1], machines[2], machines[4]} {
			b, _ := everything(t, order, m, true)
			files[order.String()+m.name] = build(t, b)
		}
	}
	tried := 0
	for name, data := range files {
		variants(data, n, r, func(kind string, data []byte) {
			tried++
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("%s, %s: %v", name, kind, p)
				}
			}()
			exercise(t, data)
		})
	}
	if tried < 8*3*n {
		t.Errorf("only %d variants", tried)
	}
}

// What is allocated follows from the size of the file, not from what it claims.
func TestDamagedDumpsStaySmall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	b, _ := everything(t, little, machines[1], false)
	data := build(t, b)
	limit := uint64(textBudget(data)) + 64*uint64(len(data))
	variants(data, 100, r, func(kind string, data []byte) {
		if n := allocated(func() { exercise(t, data) }); n > limit {
			t.Errorf("%s: %d bytes for a file of %d", kind, n, len(data))
		}
	})
}

func TestDamagedCorpus(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := 60
	if testing.Short() {
		n = 5
	}
	for path, data := range corpusDumps(t) {
		if len(data) > 1<<20 {
			continue
		}
		try := exercise
		if IsMicrodump(data) {
			try = exerciseMicro
		}
		variants(data, n, r, func(kind string, data []byte) {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("%s, %s: %v", path, kind, p)
				}
			}()
			try(t, data)
		})
	}
}

func exerciseMicro(t testing.TB, data []byte) {
	m, err := ParseMicrodump(data)
	if (m == nil) == (err == nil) {
		t.Fatal("error xor value")
	}
	if err != nil {
		return
	}
	if uint64(len(m.Stack.Data)) != m.Stack.Size || m.Stack.Base+m.Stack.Size < m.Stack.Base {
		t.Fatalf("stack %x+%x with %d bytes", m.Stack.Base, m.Stack.Size, len(m.Stack.Data))
	}
	// Texts may hold keys of other lines, so what is written need not be what is read; but it is a microdump.
	if _, err := ParseMicrodump(m.Text("google-breakpad")); err != nil {
		t.Fatal(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, order := range orders {
		for _, m := range machines {
			b, _ := everything(f, order, m, false)
			f.Add(build(f, b))
		}
		f.Add(build(f, NewBuilder(order)))
	}
	f.Add([]byte("MDMP"))
	f.Fuzz(func(t *testing.T, data []byte) {
		limit := uint64(textBudget(data)) + 128*uint64(len(data))
		if n := allocated(func() { exercise(t, data) }); n > 4*limit {
			t.Fatalf("%d bytes for a file of %d", n, len(data))
		}
	})
}

func FuzzMicrodump(f *testing.F) {
	for _, cpu := range []struct {
		name  string
		flags uint32
	}{{"arm", ContextARM}, {"arm64", ContextARM64}, {"x86", ContextX86}, {"mips", ContextMIPS}} {
		m := &Microdump{
			OSShort: "android", CPU: cpu.name, CPUCount: 2, HasReason: true, Signal: "6", Reason: "SIGABRT", Address: 9,
			Context: &Context{Raw: EncodeContext(little, cpu.flags, someRegisters(f, cpu.name))},
			Stack:   Region{Base: 0x1000, Data: []byte("stack")}, Modules: []MicroModule{{1, 2, 3, "id", "name"}},
		}
		f.Add(m.Text("W/google-breakpad"))
	}
	f.Add(micro("O L x86 01 i686 x", "S 1000 00", "S 1002 11", "C zz", "G UNKNOWN", "M", "R"))
	f.Fuzz(func(t *testing.T, data []byte) { exerciseMicro(t, data) })
}

func BenchmarkParse(b *testing.B) {
	builder, _ := everything(b, little, machines[1], false)
	for i := range 200 {
		name := "/usr/lib/x86_64-linux-gnu/lib" + string(rune('a'+i%26)) + ".so"
		builder.Module(Module{Base: uint64(i+1) << 32, Size: 0x10000, CodeFile: name}, builder.CodeViewELF(make([]byte, 20)), nil)
	}
	for i := range 50 {
		s := builder.Add(builder.Section().Zero(32 << 10))
		s.Base = uint64(i+1) << 24
		builder.Thread(Thread{ID: uint32(1000 + i)}, s, builder.Context(ContextAMD64, someRegisters(b, "x86_64")))
		builder.Memory(s)
	}
	data := build(b, builder)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		f, err := Parse(data)
		if err != nil || len(f.Modules) < 200 {
			b.Fatal(err)
		}
	}
}
