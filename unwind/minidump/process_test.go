package minidump

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
)

// contextWithPC adds an x86 context.
func contextWithPC(b *Builder, pc uint64) *Section {
	cpu, _ := arch.Lookup("x86")
	r := &arch.Registers{CPU: cpu}
	r.Set(cpu.Slot.PC, pc)
	return b.Context(ContextX86|7, r)
}

func processed(t *testing.T, fill func(b *Builder)) *State {
	t.Helper()
	s, err := with(t, fill).Process()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pcs(s *State) []uint64 {
	var list []uint64
	for _, th := range s.Threads {
		if th.Context == nil {
			list = append(list, 0)
			continue
		}
		list = append(list, th.Context.Registers.PC())
	}
	return list
}

func TestProcessThreads(t *testing.T) {
	threads := func(b *Builder) {
		for id := range uint32(4) {
			b.Thread(Thread{ID: id}, nil, contextWithPC(b, 0x100+uint64(id)))
		}
	}
	for _, c := range []struct {
		name       string
		fill       func(b *Builder)
		requesting int
		pcs        []uint64
	}{
		{"nothing known", threads, -1, []uint64{0x100, 0x101, 0x102, 0x103}},
		{"requesting", func(b *Builder) { threads(b); b.BreakpadInfo(BreakpadInfo{2, 0, 2}) }, 2, []uint64{0x100, 0x101, 0x102, 0x103}},
		{"writer shifts", func(b *Builder) { threads(b); b.BreakpadInfo(BreakpadInfo{3, 0, 2}) }, 1, []uint64{0x101, 0x102, 0x103}},
		{"writer behind", func(b *Builder) { threads(b); b.BreakpadInfo(BreakpadInfo{3, 3, 2}) }, 2, []uint64{0x100, 0x101, 0x102}},
		{"nothing valid", func(b *Builder) { threads(b); b.BreakpadInfo(BreakpadInfo{4, 0, 2}) }, -1, []uint64{0x100, 0x101, 0x102, 0x103}},
		{"writer requests", func(b *Builder) { threads(b); b.BreakpadInfo(BreakpadInfo{3, 2, 2}) }, -1, []uint64{0x100, 0x101, 0x103}},
		{"not in the list", func(b *Builder) { threads(b); b.BreakpadInfo(BreakpadInfo{2, 0, 9}) }, -1, []uint64{0x100, 0x101, 0x102, 0x103}},
		{"exception wins", func(b *Builder) {
			threads(b)
			b.BreakpadInfo(BreakpadInfo{2, 0, 2})
			b.Exception(Exception{ThreadID: 1}, contextWithPC(b, 0xeee))
		}, 1, []uint64{0x100, 0xeee, 0x102, 0x103}},
		{"exception without context", func(b *Builder) { threads(b); b.Exception(Exception{ThreadID: 1}, nil) }, 1, []uint64{0x100, 0x101, 0x102, 0x103}},
		{"exception with foreign context", func(b *Builder) {
			b.SystemInfo(SystemInfo{Arch: ArchX86})
			threads(b)
			b.Exception(Exception{ThreadID: 1}, b.Context(ContextARM, &arch.Registers{}))
		}, 1, []uint64{0x100, 0x101, 0x102, 0x103}},
		{"exception of no thread", func(b *Builder) { threads(b); b.Exception(Exception{ThreadID: 9}, contextWithPC(b, 0xeee)) }, -1, []uint64{0x100, 0x101, 0x102, 0x103}},
		{"thread without context", func(b *Builder) {
			b.Thread(Thread{ID: 1}, nil, nil)
			b.Thread(Thread{ID: 2}, nil, contextWithPC(b, 0x102))
		}, -1, []uint64{0, 0x102}},
		{"only the exception has a context", func(b *Builder) {
			b.Thread(Thread{ID: 1}, nil, nil)
			b.Exception(Exception{ThreadID: 1}, contextWithPC(b, 0xeee))
		}, 0, []uint64{0xeee}},
	} {
		s := processed(t, c.fill)
		if s.Requesting != c.requesting || !slices.Equal(pcs(s), c.pcs) {
			t.Errorf("%s: requesting %d, %x", c.name, s.Requesting, pcs(s))
		}
		for i, th := range s.Threads {
			if (th.Context == nil) != (th.ContextErr != nil) {
				t.Errorf("%s: thread %d: %v", c.name, i, th.ContextErr)
			}
		}
	}
}

func TestProcessStacks(t *testing.T) {
	// The list has 0x1000–0x100f; descriptors of threads say where their stacks begin.
	region := func(b *Builder) *Section {
		s := b.Add(b.Section().Bytes([]byte("0123456789abcdef")))
		s.Base = 0x1000
		b.Memory(s)
		return s
	}
	for _, c := range []struct {
		name string
		th   func(b *Builder, s *Section) (Thread, *Section)
		has  bool
		data string
	}{
		{"own", func(b *Builder, s *Section) (Thread, *Section) {
			own := b.Add(b.Section().Bytes([]byte("own")))
			own.Base = 0x1000
			return Thread{}, own
		}, true, "own"},
		{"from the list", func(b *Builder, s *Section) (Thread, *Section) { return Thread{Stack: Region{Base: 0x1004}}, nil }, true, "0123456789abcdef"},
		{"size without offset", func(b *Builder, s *Section) (Thread, *Section) {
			return Thread{Stack: Region{Base: 0x100f}, StackLocation: Location{16, 0}}, nil
		}, true, "0123456789abcdef"},
		{"offset without size", func(b *Builder, s *Section) (Thread, *Section) {
			return Thread{Stack: Region{Base: 0x1000}, StackLocation: Location{0, 64}}, nil
		}, true, "0123456789abcdef"},
		{"not in the list", func(b *Builder, s *Section) (Thread, *Section) { return Thread{Stack: Region{Base: 0x1010}}, nil }, false, ""},
		{"no start", func(b *Builder, s *Section) (Thread, *Section) { return Thread{}, nil }, false, ""},
		{"outside the file", func(b *Builder, s *Section) (Thread, *Section) {
			return Thread{Stack: Region{Base: 0x1000}, StackLocation: Location{16, 0xfffff000}}, nil
		}, true, ""},
		{"wraps", func(b *Builder, s *Section) (Thread, *Section) {
			return Thread{Stack: Region{Base: math.MaxUint64 - 3}, StackLocation: Location{16, 64}}, nil
		}, false, ""},
	} {
		s := processed(t, func(b *Builder) {
			th, own := c.th(b, region(b))
			b.Thread(th, own, contextWithPC(b, 1))
		})
		if th := s.Threads[0]; th.HasStack != c.has || string(th.Stack.Data) != c.data {
			t.Errorf("%s: %t %q", c.name, th.HasStack, th.Stack.Data)
		}
	}
}

// A region above 64 MiB is there, but cannot be read.
func TestHugeStack(t *testing.T) {
	b := builder()
	s := b.Add(b.Section().Zero(maxRegionBytes + 1))
	s.Base = 0x1000
	b.Thread(Thread{ID: 1}, s, nil)
	data := build(t, b)
	f, _ := Parse(data)
	if m, ok := f.StackMemory(&f.Threads[0]); !ok || m.Data != nil || m.Size != maxRegionBytes+1 {
		t.Errorf("%t, %d bytes", ok, len(m.Data))
	}
	f, _ = ParseLenient(data)
	if m, _ := f.StackMemory(&f.Threads[0]); len(m.Data) != maxRegionBytes+1 {
		t.Errorf("%d bytes leniently", len(m.Data))
	}
}

func TestProcessTexts(t *testing.T) {
	s := processed(t, func(b *Builder) {
		b.Header.Time = 1000
		b.EmptyList(StreamThreadList)
		b.MiscInfo(MiscInfo{Size: 24, Flags: MiscProcessTimes, CreateTime: 400})
		b.SystemInfo(SystemInfo{Arch: ArchAMD64, CPUs: 12, Platform: PlatformLinux})
	})
	if s.OS != "Linux" || s.OSShort != "linux" || s.OSVersion != "0.0.0" || s.CPU != "amd64" || s.CPUCount != 12 || s.Crash != nil || s.Requesting != -1 {
		t.Errorf("%+v", s)
	}
	if up, ok := s.Uptime(); !ok || up != 600 {
		t.Errorf("uptime %d, %t", up, ok)
	}
	for _, c := range []struct{ at, created, flags uint32 }{{0, 1, 2}, {5, 0, 2}, {5, 6, 2}, {5, 4, 0}} {
		s := processed(t, func(b *Builder) {
			b.Header.Time = c.at
			b.EmptyList(StreamThreadList)
			b.MiscInfo(MiscInfo{Size: 24, Flags: c.flags, CreateTime: c.created})
		})
		if up, ok := s.Uptime(); ok {
			t.Errorf("%+v: uptime %d", c, up)
		}
	}
	names := processed(t, func(b *Builder) {
		b.Thread(Thread{ID: 1}, nil, nil)
		b.Thread(Thread{ID: 2}, nil, nil)
		b.ThreadName(2, "two")
		b.ThreadName(2, "again")
	})
	if names.Threads[0].Name != "" || names.Threads[1].Name != "two" {
		t.Errorf("%q %q", names.Threads[0].Name, names.Threads[1].Name)
	}
}

func TestAssertionText(t *testing.T) {
	for want, a := range map[string]Assertion{
		"Invalid parameter passed to library function":                                            {Type: 1},
		"Pure virtual function called":                                                            {Type: 2},
		"Unknown assertion type 0x0000002a":                                                       {Type: 42},
		"Unknown assertion type 0x00000000 x > 0 in function f, in file a.c at line 7":            {Expression: "x > 0", Function: "f", File: "a.c", Line: 7},
		"Pure virtual function called, in file a.c":                                               {Type: 2, File: "a.c"},
		"Invalid parameter passed to library function " + strings.Repeat("x", 127) + " at line 1": {Type: 1, Line: 1, Expression: strings.Repeat("x", 200)},
	} {
		s := processed(t, func(b *Builder) { b.EmptyList(StreamThreadList); b.Assertion(a) })
		if s.Assertion != want {
			t.Errorf("%q, want %q", s.Assertion, want)
		}
	}
}

func TestCrashReason(t *testing.T) {
	for _, c := range []struct {
		platform Platform
		cpu      Architecture
		code     uint32
		flags    uint32
		params   []uint64
		want     string
	}{
		{PlatformLinux, ArchAMD64, 11, 1, nil, "SIGSEGV /SEGV_MAPERR"},
		{PlatformLinux, ArchAMD64, 11, 9, nil, "SIGSEGV /SEGV_MTESERR"},
		{PlatformLinux, ArchAMD64, 11, 0, nil, "SIGSEGV /0x00000000"},
		{PlatformAndroid, ArchARM, 11, 10, nil, "SIGSEGV /0x0000000a"},
		{PlatformLinux, ArchAMD64, 7, 2, nil, "SIGBUS / BUS_ADRERR"},
		{PlatformLinux, ArchAMD64, 7, 6, nil, "SIGBUS / 0x00000006"},
		{PlatformLinux, ArchAMD64, 8, 8, nil, "SIGFPE / FPE_FLTSUB"},
		{PlatformLinux, ArchAMD64, 4, 2, nil, "SIGILL / ILL_ILLOPN"},
		{PlatformLinux, ArchAMD64, 6, 77, nil, "SIGABRT"},
		{PlatformLinux, ArchAMD64, 1, 0, nil, "SIGHUP"},
		{PlatformLinux, ArchAMD64, 31, 0, nil, "SIGSYS"},
		{PlatformLinux, ArchAMD64, 32, 1, nil, "0x00000020 / 0x00000001"},
		{PlatformLinux, ArchAMD64, 0, 0, nil, "0x00000000 / 0x00000000"},
		{PlatformLinux, ArchAMD64, 0xffffffff, 0, nil, "DUMP_REQUESTED"},

		{PlatformWindowsNT, ArchX86, 0xc0000005, 0, nil, "EXCEPTION_ACCESS_VIOLATION"},
		{PlatformWindowsNT, ArchX86, 0xc0000005, 0, []uint64{0, 5}, "EXCEPTION_ACCESS_VIOLATION_READ"},
		{PlatformWindowsNT, ArchX86, 0xc0000005, 0, []uint64{1, 5}, "EXCEPTION_ACCESS_VIOLATION_WRITE"},
		{PlatformWindows, ArchX86, 0xc0000005, 0, []uint64{8, 5}, "EXCEPTION_ACCESS_VIOLATION_EXEC"},
		{PlatformWindowsNT, ArchX86, 0xc0000005, 0, []uint64{7, 5}, "EXCEPTION_ACCESS_VIOLATION"},
		{PlatformWindowsNT, ArchX86, 0xc0000006, 0, []uint64{0, 5}, "EXCEPTION_IN_PAGE_ERROR_READ"},
		{PlatformWindowsNT, ArchX86, 0xc0000006, 0, []uint64{1, 5, 0xc000009c}, "EXCEPTION_IN_PAGE_ERROR_WRITE / STATUS_DEVICE_DATA_ERROR"},
		{PlatformWindowsNT, ArchX86, 0xc0000006, 0, []uint64{8, 5, 0xffffffffc000000e}, "EXCEPTION_IN_PAGE_ERROR_EXEC / STATUS_NO_SUCH_DEVICE"},
		{PlatformWindowsNT, ArchX86, 0xc0000006, 0, []uint64{9, 5, 0x12}, "EXCEPTION_IN_PAGE_ERROR / 0x00000012"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000409, 0, nil, "EXCEPTION_STACK_BUFFER_OVERRUN"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000409, 0, []uint64{0}, "EXCEPTION_STACK_BUFFER_OVERRUN"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000409, 0, []uint64{7}, "FAST_FAIL_FATAL_APP_EXIT"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000409, 0, []uint64{15}, "EXCEPTION_STACK_BUFFER_OVERRUN"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000409, 0, []uint64{70}, "FAST_FAIL_INVALID_FLS_DATA"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000409, 0, []uint64{71}, "EXCEPTION_STACK_BUFFER_OVERRUN"},
		{PlatformWindowsNT, ArchAMD64, 0xe06d7363, 0, nil, "Unhandled C++ Exception"},
		{PlatformWindowsNT, ArchAMD64, 0x0517a7ed, 0, nil, "Simulated Exception"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000374, 0, nil, "EXCEPTION_HEAP_CORRUPTION"},
		{PlatformWindowsNT, ArchAMD64, 0xc0000001, 3, nil, "0xc0000001 / 0x00000003"},

		{PlatformMac, ArchAMD64, 1, 1, nil, "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS"},
		{PlatformMac, ArchAMD64, 1, 13, nil, "EXC_BAD_ACCESS / EXC_I386_GPFLT"},
		{PlatformMac, ArchPPC, 1, 0x102, nil, "EXC_BAD_ACCESS / EXC_PPC_BADSPACE"},
		{PlatformIOS, ArchARM, 1, 0x102, nil, "EXC_BAD_ACCESS / EXC_ARM_DA_DEBUG"},
		{PlatformIOS, ArchARM64Old, 6, 1, nil, "EXC_BREAKPOINT / EXC_ARM_BREAKPOINT"},
		{PlatformIOS, ArchARM64, 6, 1, nil, "EXC_BREAKPOINT / 0x00000001"},
		{PlatformMac, ArchX86, 6, 2, nil, "EXC_BREAKPOINT / EXC_I386_BPT"},
		{PlatformMac, ArchX86, 2, 1, nil, "EXC_BAD_INSTRUCTION / EXC_I386_INVOP"},
		{PlatformMac, ArchPPC, 3, 3, nil, "EXC_ARITHMETIC / EXC_FLT_INEXACT"},
		{PlatformMac, ArchARM, 3, 3, nil, "EXC_ARITHMETIC / 0x00000003"},
		{PlatformMac, ArchX86, 4, 5, nil, "EXC_EMULATION / 0x00000005"},
		{PlatformMac, ArchX86, 5, 0x10002, nil, "EXC_SOFTWARE / SIGABRT"},
		{PlatformMac, ArchX86, 5, 0xdeadc0de, nil, "EXC_SOFTWARE / UNCAUGHT_NS_EXCEPTION"},
		{PlatformMac, ArchX86, 10, 0, nil, "0x0000000a / 0x00000000"},
		{PlatformMac, ArchX86, 12, 0, nil, "EXC_GUARD / 0x00000000"},
		{PlatformMac, ArchX86, 0x43507378, 0, nil, "Simulated Exception"},
		{PlatformMac, ArchARM64, 0x43506e78, 0, nil, "Uncaught NSException"},

		{PlatformFuchsia, ArchAMD64, 0x108, 5, nil, "FATAL_PAGE_FAULT / 0x00000005"},
		{PlatformFuchsia, ArchAMD64, 0x109, 5, nil, "0x00000109 / 0x00000005"},
		{PlatformSolaris, ArchSPARC, 6, 5, nil, "SIGIOT | SIGABRT"},
		{PlatformSolaris, ArchSPARC, 40, 5, nil, "SIGJVM2"},
		{PlatformSolaris, ArchSPARC, 41, 5, nil, "0x00000029 / 0x00000005"},
		{PlatformPS3, ArchPPC64, 0, 5, nil, "UNKNOWN"},
		{PlatformPS3, ArchPPC64, 22, 5, nil, "GRAPHIC"},
		{PlatformNaCl, ArchAMD64, 11, 1, nil, "0x0000000b / 0x00000001"},
		{0, 0, 11, 1, nil, "0x0000000b / 0x00000001"}, // no SystemInfo
	} {
		f := with(t, func(b *Builder) {
			if c.platform != 0 {
				b.SystemInfo(SystemInfo{Platform: c.platform, Arch: c.cpu})
			}
			e := Exception{Code: c.code, Flags: c.flags, Address: 0x1_00000045, Parameters: uint32(len(c.params))}
			copy(e.Information[:], c.params)
			b.Exception(e, nil)
		})
		crash := f.Crash()
		if crash.Reason != c.want {
			t.Errorf("%s %x: %q, want %q", f.System.OS(), c.code, crash.Reason, c.want)
		}
		if !slices.Equal(crash.Parameters, c.params) {
			t.Errorf("parameters %v, want %v", crash.Parameters, c.params)
		}
	}
	if got := LinuxReason(11, 2); got != "SIGSEGV /SEGV_ACCERR" {
		t.Errorf("LinuxReason: %q", got)
	}
	if f := with(t, func(b *Builder) {}); f.Crash() != nil {
		t.Error("a crash without exception")
	}
}

func TestCrashAddress(t *testing.T) {
	const high = 0xffffffff_80000045
	for _, c := range []struct {
		platform Platform
		cpu      Architecture
		code     uint32
		params   uint32
		want     uint64
	}{
		{PlatformLinux, ArchAMD64, 11, 0, high}, {PlatformLinux, ArchX86, 11, 0, 0x80000045},
		{PlatformLinux, ArchMIPS, 11, 0, 0x80000045}, {PlatformLinux, ArchPPC, 11, 0, 0x80000045},
		{PlatformLinux, ArchSHX, 11, 0, 0x80000045}, {PlatformLinux, ArchARM, 11, 0, 0x80000045},
		{PlatformWindowsNT, ArchX86Win64, 1, 0, 0x80000045}, {PlatformLinux, ArchSPARC, 11, 0, high},
		{PlatformLinux, ArchARM64, 11, 2, high}, {PlatformLinux, ArchAMD64, 0xc0000005, 2, high},
		{PlatformWindowsNT, ArchAMD64, 0xc0000005, 1, high}, {PlatformWindowsNT, ArchAMD64, 0xc0000005, 2, 0x1234567812345678},
		{PlatformWindows, ArchX86, 0xc0000006, 3, 0x12345678}, {PlatformWindowsNT, ArchAMD64, 0xc0000007, 3, high},
		{0, 0, 0xc0000005, 3, high},
	} {
		f := with(t, func(b *Builder) {
			if c.platform != 0 {
				b.SystemInfo(SystemInfo{Platform: c.platform, Arch: c.cpu})
			}
			b.Exception(Exception{Code: c.code, Address: high, Parameters: c.params, Information: [15]uint64{0, 0x1234567812345678}}, nil)
		})
		if got := f.Crash().Address; got != c.want {
			t.Errorf("%+v: 0x%x", c, got)
		}
	}
	f := with(t, func(b *Builder) { b.Exception(Exception{Parameters: 1 << 31}, nil) })
	if n := len(f.Crash().Parameters); n != 15 {
		t.Errorf("%d parameters", n)
	}
}

func TestNTStatus(t *testing.T) {
	for status, want := range map[uint32]string{
		0xc0000001: "STATUS_UNSUCCESSFUL", 0xc0000022: "STATUS_ACCESS_DENIED", 0xc00000e9: "STATUS_UNEXPECTED_IO_ERROR",
		0xc0000185: "STATUS_IO_DEVICE_ERROR", 0xc0000011: "STATUS_END_OF_FILE", 0xc0e7000b: "STATUS_SPACES_NOT_ENOUGH_DRIVES",
		0: "0x00000000", 0xc0ffffff: "0xc0ffffff",
	} {
		if got := NTStatusName(status); got != want {
			t.Errorf("0x%x: %s, want %s", status, got, want)
		}
	}
	lines := strings.Split(strings.TrimSuffix(ntStatus, "\n"), "\n")[1:]
	if !slices.IsSorted(lines) || len(slices.Compact(slices.Clone(lines))) != len(lines) {
		t.Error("the table is not in order")
	}
}
