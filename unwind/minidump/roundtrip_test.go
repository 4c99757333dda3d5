package minidump

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
)

var orders = []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}

// machine is a CPU with what a dump says about it.
type machine struct {
	name  string
	arch  Architecture
	flags uint32
}

var machines = []machine{
	{"x86", ArchX86, ContextX86 | 0x1f}, {"x86_64", ArchAMD64, ContextAMD64 | 0xb}, {"arm", ArchARM, ContextARM | 2},
	{"arm64", ArchARM64, ContextARM64 | 3}, {"arm64", ArchARM64Old, ContextARM64Old | 2},
	{"mips", ArchMIPS, ContextMIPS | 2}, {"mips64", ArchMIPS64, ContextMIPS64 | 2}, {"ppc", ArchPPC, ContextPPC | 1},
	{"ppc64", ArchPPC64, ContextPPC64 | 1}, {"sparc", ArchSPARC, ContextSPARC | 3},
	{"riscv", ArchRISCV, ContextRISCV | 1}, {"riscv64", ArchRISCV64, ContextRISCV64 | 1},
}

// someRegisters gives every slot a different value that fills its word.
func someRegisters(t testing.TB, name string) *arch.Registers {
	cpu, ok := arch.Lookup(name)
	if !ok {
		t.Fatal("no CPU " + name)
	}
	r := &arch.Registers{CPU: cpu}
	for slot := range cpu.Slots {
		v := 0x8182838485868700 + uint64(slot)
		if s := cpu.Slots[slot]; s == "$rflags" || s == "cpsr" {
			v &= 0xffffffff
		}
		r.Set(slot, v)
	}
	return r
}

func build(t testing.TB, b *Builder) []byte {
	t.Helper()
	data, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parsed(t testing.TB, b *Builder) *File {
	t.Helper()
	f, err := Parse(build(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// everything is a dump with every stream, and the values that should come back.
func everything(t testing.TB, order binary.ByteOrder, m machine, pad bool) (*Builder, *File) {
	b := NewBuilder(order)
	b.PadLists = pad
	b.Header.Time, b.Header.Checksum, b.Header.Flags = 1700000100, 0xabcd, 0x1234567890
	is64 := (&SystemInfo{Arch: m.arch}).is64()
	w := &File{
		System: &SystemInfo{
			Arch: m.arch, Level: 6, Revision: 0x2a07, CPUs: 8, Product: 1, Major: 5, Minor: 10, Build: 7,
			Platform: PlatformLinux, CSD: "Linux 5.10.7 #1 SMP", HasCSD: true, Suite: 256,
		},
		Misc: &MiscInfo{
			Size: miscSize5, Flags: 0x3f7, ProcessID: 4711, CreateTime: 1700000000, UserTime: 3, KernelTime: 4,
			MaxMHz: 3000, CurrentMHz: 2900, LimitMHz: 3100, MaxIdleState: 2, CurrentIdleState: 1,
			IntegrityLevel: 0x2000, ExecuteFlags: 0x4d, Protected: 1, TimeZoneID: 2, Bias: -60,
			StandardName: "Normalzeit", DaylightName: "Sommerzeit äöü", BuildString: "19041.1.amd64fre", DebugBuildString: "dbgcore",
			XStateContextSize: 1232, XStateEnabled: 7, Cookie: 0x1234,
		},
		ThreadNames: []ThreadName{{10, "main"}, {11, "Worker ☃"}},
		Unloaded:    []UnloadedModule{{Base: 0x70000000, Size: 0x1000, Checksum: 1, Timestamp: 2, CodeFile: "gone.so", CodeID: "id"}},
		MemoryInfo: []MemoryInfo{
			{Base: 0x1000, AllocationBase: 0x1000, AllocationProtection: 4, Size: 0x2000, State: 0x1000, Protection: 0x20, Type: 0x20000},
			{Base: 0x5000, AllocationBase: 0x5000, AllocationProtection: 4, Size: 0x1000, State: 0x1000, Protection: 4, Type: 0x20000},
		},
		Breakpad:  &BreakpadInfo{Validity: 3, DumpThreadID: 12, RequestingID: 11},
		Assertion: &Assertion{Expression: "x != 0", Function: "f(int)", File: `c:\src\a.c`, Line: 17, Type: 1},
		Crashpad: &CrashpadInfo{
			Version: 1, ReportID: GUID{1, 2, 3, [8]byte{4, 5, 6, 7, 8, 9, 10, 11}}, ClientID: GUID{0xffffffff, 0xffff, 1, [8]byte{0: 0x80}},
			SimpleAnnotations: []Annotation{{"channel", "beta"}, {"empty", ""}},
			Modules: []CrashpadModule{{
				Index: 1, Version: 1, ListAnnotations: []string{"one", "two"}, SimpleAnnotations: []Annotation{{"k", "v"}},
				Objects: []AnnotationObject{{"text", 1, []byte("value")}, {"raw", 0x8000, []byte{0, 1, 255}}},
			}, {Index: 0, Version: 1}},
			AddressMask: 0x0000ffffffffffff,
		},
		Handles: []Handle{
			{Value: 0x44, Type: "File", Name: `\Device\x`, Attributes: 1, Access: 2, Handles: 3, Pointers: 4}, {Value: 0x48},
		},
		DSODebug: &DSODebug{
			Version: 1, Break: 0x7fff1000, Base: 0x7fff0000, Dynamic: 0x6000,
			Objects: []DSO{{0x400000, "", 0x6000}, {0x7f000000, "/lib/libc.so.6", 0x7f001000}}, DynamicSection: []byte("dynamic!"),
		},
		Maps: []Mapping{
			{0x400000, 0x401000, MapRead | MapExecute | MapPrivate, 0, 8, 1, 1234, "/bin/a b"},
			{0x7fff0000, 0x7fff1000, MapRead | MapWrite, 0x2000, 0xfd, 0, 0, ""},
		},
		Linux: Linux{
			CPUInfo: []byte("processor: 0\n"), Status: []byte("Name: x\n"), LSBRelease: []byte("DISTRIB_ID=x\n"),
			CmdLine: []byte("/bin/a\x00-x\x00"), Environ: []byte("A=b\x00"), Auxv: []byte("12345678"),
			Maps: []byte("00400000-00401000 r-xp 00000000 08:01 1234    /bin/a b\n7fff0000-7fff1000 rw-s 00002000 fd:00 0 \n"),
		},
		Exception: &Exception{ThreadID: 11, Code: 11, Flags: 1, Nested: 5, Address: 0x45, Parameters: 2, Information: [15]uint64{1, 2, 14: 99}},
		Memory64:  []Region{{Base: 0x9000, Size: 4, Data: []byte("full")}, {Base: 0xa000, Size: 6, Data: []byte("memory")}},
	}
	switch m.arch {
	case ArchX86:
		w.System.CPU86 = CPU86{Vendor: [12]byte([]byte("GenuineIntel")), Signature: 0x906ea, Features: 0xbfebfbff, AMDFeatures: 3}
	case ArchARM:
		w.System.ARM = CPUARM{0x410fc090, 0x1217}
		w.System.exchanged = order == binary.BigEndian
	default:
		w.System.Features = [2]uint64{0x1122334455667788, 9}
	}
	for i := range w.Misc.XState {
		w.Misc.XState[i] = XStateFeature{uint32(i), uint32(2 * i)}
	}

	b.SystemInfo(*w.System)
	b.MiscInfo(*w.Misc)
	for _, n := range w.ThreadNames {
		b.ThreadName(n.ID, n.Name)
	}
	b.Unloaded(w.Unloaded)
	b.MemoryInfo(w.MemoryInfo)
	b.BreakpadInfo(*w.Breakpad)
	b.Assertion(*w.Assertion)
	b.Crashpad(*w.Crashpad)
	b.HandleData(w.Handles)
	b.DSODebug(*w.DSODebug, is64)
	for kind, text := range map[StreamType][]byte{
		StreamLinuxCPUInfo: w.Linux.CPUInfo, StreamLinuxStatus: w.Linux.Status, StreamLinuxLSBRelease: w.Linux.LSBRelease,
		StreamLinuxCmdLine: w.Linux.CmdLine, StreamLinuxEnviron: w.Linux.Environ, StreamLinuxAuxv: w.Linux.Auxv,
		StreamLinuxMaps: w.Linux.Maps,
	} {
		b.Text(kind, string(text))
	}
	crash := b.Context(m.flags, someRegisters(t, m.name))
	b.Exception(*w.Exception, crash)
	for _, r := range w.Memory64 {
		b.Memory64(r.Base, r.Data)
	}

	for i, id := range []uint32{10, 11, 12} {
		var top Label
		stack := b.Add(b.Section())
		stack.Base = 0x10000 * uint64(i+1)
		word := 4
		if is64 {
			word = 8
		}
		stack.Address(word, &top, 8).Here(&top).Bytes([]byte("stack of a thread"))
		th := Thread{ID: id, Suspend: 1, PriorityClass: 2, Priority: 3, TEB: 0x7ffd0000 + uint64(i)}
		b.Thread(th, stack, b.Context(m.flags, someRegisters(t, m.name)))
		b.Memory(stack)
		w.Threads = append(w.Threads, th)
	}

	version := FixedFileInfo{Signature: fixedInfoSignature, StructVersion: fixedInfoVersion, FileVersionHi: 1<<16 | 2, FileVersionLo: 3<<16 | 4}
	guid := GUID{0xabcd1234, 0xf00d, 0xbeef, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}}
	for i, m := range []struct {
		Module
		codeView, misc *Section
	}{
		{Module{CodeFile: "/bin/a b", CodeID: "5fa9cdb41053df1b86fab733b4df3738aabbccdd", DebugFile: "/bin/a b", DebugID: "B4CDA95F53101BDF86FAB733B4DF37380"},
			b.CodeViewELF([]byte("\x5f\xa9\xcd\xb4\x10\x53\xdf\x1b\x86\xfa\xb7\x33\xb4\xdf\x37\x38\xaa\xbb\xcc\xdd")), nil},
		{Module{CodeFile: "/lib/short", CodeID: "010203", DebugFile: "/lib/short", DebugID: "000302010000000000000000000000000"}, b.CodeViewELF([]byte{1, 2, 3}), nil},
		{Module{CodeFile: `c:\w.dll`, CodeID: "id", DebugFile: `d:\w.pdb`, DebugID: "ABCD1234F00DBEEF010203040506070810f", FixedInfo: version, Version: "1.2.3.4"},
			b.CodeViewPDB70(guid, 0x10f, `d:\w.pdb`), nil},
		{Module{CodeFile: "old.exe", CodeID: "id", DebugFile: "old.pdb", DebugID: "45A1B2C32"}, b.CodeViewPDB20(0x45a1b2c3, 2, "old.pdb"), nil},
		{Module{CodeFile: "misc.exe", CodeID: "id", DebugFile: "misc.dbg"}, nil, b.MiscRecord("misc.dbg", false)},
		{Module{CodeFile: "wide.exe", CodeID: "id", DebugFile: "wide.dbg"}, b.Add(b.Section().U32(0x12345678).U32(0)), b.MiscRecord("wide.dbg", true)},
		{Module{CodeFile: "bare", CodeID: "id"}, nil, nil},
		{Module{CodeFile: "☃.so", CodeID: "id"}, nil, nil},
	} {
		m.Base, m.Size, m.Checksum, m.Timestamp = 0x400000+0x10000*uint64(i), 0x10000, uint32(i), uint32(100+i)
		b.Module(m.Module, m.codeView, m.misc)
		w.Modules = append(w.Modules, m.Module)
	}
	return b, w
}

func TestRoundTrip(t *testing.T) {
	for _, order := range orders {
		for i, m := range machines {
			b, want := everything(t, order, m, i%2 == 0)
			f := parsed(t, b)
			if f.Order != order || f.Time != 1700000100 || f.Checksum != 0xabcd || f.Flags != 0x1234567890 || f.Version != formatVersion {
				t.Errorf("%s: header %+v of %s", m.name, f.Header, f.Order)
			}
			for name, err := range f.streamErrors() {
				if err != nil {
					t.Errorf("%s %s: %s: %v", order, m.name, name, err)
				}
			}
			for i := range f.Memory64 {
				if !bytes.Equal(f.Data[f.Memory64[i].Offset:][:f.Memory64[i].Size], f.Memory64[i].Data) {
					t.Error("offset of memory")
				}
				f.Memory64[i].Offset = 0
			}
			for i := range f.Modules {
				if f.Modules[i].DebugErr != nil {
					t.Error(f.Modules[i].DebugErr)
				}
				if (f.Modules[i].CodeView != nil) != (f.Modules[i].codeView.Size > 0) {
					t.Errorf("module %d: CodeView", i)
				}
				f.Modules[i].CodeView, f.Modules[i].codeView, f.Modules[i].misc = nil, Location{}, Location{}
			}
			f.Exception.Context = Location{}
			for _, c := range []struct {
				name      string
				got, want any
			}{
				{"SystemInfo", f.System, want.System}, {"MiscInfo", f.Misc, want.Misc}, {"ThreadNames", f.ThreadNames, want.ThreadNames},
				{"Unloaded", f.Unloaded, want.Unloaded}, {"MemoryInfo", f.MemoryInfo, want.MemoryInfo}, {"Breakpad", f.Breakpad, want.Breakpad},
				{"Assertion", f.Assertion, want.Assertion}, {"Crashpad", f.Crashpad, want.Crashpad}, {"Handles", f.Handles, want.Handles},
				{"DSODebug", f.DSODebug, want.DSODebug}, {"Maps", f.Maps, want.Maps}, {"Linux", f.Linux, want.Linux},
				{"Exception", f.Exception, want.Exception}, {"Memory64", f.Memory64, want.Memory64}, {"Modules", f.Modules, want.Modules},
			} {
				if !reflect.DeepEqual(c.got, c.want) {
					t.Errorf("%s %s: %s:\n got %+v\nwant %+v", order, m.name, c.name, c.got, c.want)
				}
			}
			checkThreads(t, f, want, m)
		}
	}
}

func checkThreads(t *testing.T, f, want *File, m machine) {
	if len(f.Threads) != len(want.Threads) || len(f.Memory32) != len(want.Threads) {
		t.Fatalf("%d threads, %d regions", len(f.Threads), len(f.Memory32))
	}
	regs := someRegisters(t, m.name)
	for i, th := range f.Threads {
		w := want.Threads[i]
		if th.ID != w.ID || th.Suspend != 1 || th.PriorityClass != 2 || th.Priority != 3 || th.TEB != w.TEB {
			t.Errorf("thread %d: %+v", i, th)
		}
		base := 0x10000 * uint64(i+1)
		stack, ok := f.StackMemory(&th)
		if !ok || stack.Base != base || !bytes.HasSuffix(stack.Data, []byte("stack of a thread")) {
			t.Errorf("thread %d: stack %+v", i, stack)
		}
		word := regs.CPU.Word
		if m.name == "sparc" {
			word = 4
		}
		b, ok := f.Memory(base, word)
		if !ok {
			t.Fatal("no memory")
		}
		top := uint64(f.Order.Uint32(b))
		if word == 8 {
			top = f.Order.Uint64(b)
		}
		if top != base+uint64(word)+8 {
			t.Errorf("%s: word on the stack is 0x%x", m.name, top)
		}
		c, err := f.ContextAt(th.Context)
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		if c.Registers != *regs || c.CPU != regs.CPU || !c.Registers.All() {
			t.Errorf("%s %s:\n got %x\nwant %x", f.Order, m.name, c.Registers.Value, regs.Value)
		}
		flags := m.flags
		if m.arch == ArchARM64Old {
			flags = ContextARM64 | 7 // any bit of the old flags stands for all
		}
		if c.Flags != flags {
			t.Errorf("%s: flags 0x%x", m.name, c.Flags)
		}
	}
}

// Each version of MiscInfo has what is before its end.
func TestMiscInfoVersions(t *testing.T) {
	full := MiscInfo{Flags: MiscProcessTimes, CreateTime: 7, MaxMHz: 1, IntegrityLevel: 2, StandardName: "S", BuildString: "B", XStateEnabled: 3, Cookie: 4}
	for _, order := range orders {
		for _, size := range []uint32{24, 44, 232, 832, 1364, 1368, 2000} {
			b := NewBuilder(order)
			m := full
			m.Size = size
			b.MiscInfo(m)
			f := parsed(t, b)
			if f.MiscErr != nil {
				t.Fatal(f.MiscErr)
			}
			want := m
			if size < 44 {
				want.MaxMHz = 0
			}
			if size < 232 {
				want.IntegrityLevel, want.StandardName = 0, ""
			}
			if size < 832 {
				want.BuildString = ""
			}
			if size < 1364 {
				want.XStateEnabled, want.Cookie = 0, 0
			}
			if !reflect.DeepEqual(*f.Misc, want) {
				t.Errorf("%d bytes: got %+v", size, *f.Misc)
			}
			if at, ok := f.CreateTime(); !ok || at != 7 {
				t.Error("create time")
			}
		}
	}
	b := NewBuilder(binary.LittleEndian)
	b.MiscInfo(MiscInfo{Size: 30})
	if f := parsed(t, b); f.MiscErr == nil || f.Misc != nil {
		t.Error("30 bytes are no MiscInfo")
	}
	b = NewBuilder(binary.LittleEndian)
	b.Stream(StreamMiscInfo, b.Section().U32(44).Zero(20))
	if f := parsed(t, b); f.MiscErr == nil {
		t.Error("contradicting sizes")
	}
}

func TestBuilderErrors(t *testing.T) {
	b := NewBuilder(binary.LittleEndian)
	var nowhere Label
	b.Add(b.Section().Offset(4, &nowhere, 0))
	if _, err := b.Build(); err == nil {
		t.Error("a label without a place")
	}
	b = NewBuilder(binary.LittleEndian)
	b.Add(b.Section().Offset(4, b.Section().Start(), 0))
	if _, err := b.Build(); err == nil {
		t.Error("a section that is not in the dump")
	}
	b = NewBuilder(binary.LittleEndian)
	s := b.Add(b.Section())
	s.Base = 1 << 40
	s.Address(4, s.Start(), 0)
	if _, err := b.Build(); err == nil {
		t.Error("an address that does not fit")
	}
	var number Label
	b = NewBuilder(binary.BigEndian)
	s = b.Add(b.Section().Address(8, &number, -1))
	number.Set(0x10)
	data := build(t, b)
	if got := binary.BigEndian.Uint64(data[s.offset:]); got != 0xf {
		t.Errorf("got 0x%x", got)
	}
}
