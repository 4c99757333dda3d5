package minidump

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
)

var little = binary.LittleEndian

func builder() *Builder { return NewBuilder(little) }

// with builds a dump from one function.
func with(t testing.TB, fill func(b *Builder)) *File {
	t.Helper()
	b := builder()
	fill(b)
	return parsed(t, b)
}

func TestEmptyDump(t *testing.T) {
	for _, order := range orders {
		f := parsed(t, NewBuilder(order))
		if len(f.Directory) != 0 || f.ThreadsErr != ErrNoThreadList || f.ModulesErr != nil || f.System != nil {
			t.Errorf("%+v", f)
		}
		if _, err := f.Process(); err != ErrNoThreadList {
			t.Errorf("Process: %v", err)
		}
	}
}

func TestUnreadable(t *testing.T) {
	good := build(t, builder())
	patched := func(at int, v uint32) []byte {
		d := append([]byte(nil), good...)
		little.PutUint32(d[at:], v)
		return d
	}
	for name, c := range map[string]struct {
		data   []byte
		offset int64
	}{
		"empty":            {nil, 0},
		"short header":     {good[:31], 0},
		"signature":        {patched(0, 0x12345678), 0},
		"version":          {patched(4, 0xa794), 4},
		"too many streams": {patched(8, 129), 8},
		"directory":        {patched(8, 1), 32},
		"directory offset": {patched(12, 0xffffffff), 0xffffffff},
	} {
		_, err := Parse(c.data)
		var fe *FormatError
		if !errors.As(err, &fe) || fe.Offset != c.offset {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(patched(4, 0x1234a793)); err != nil {
		t.Error("the high half of the version is the writer's:", err)
	}
}

// Of some streams there may be one; of others the last counts.
func TestDuplicateStreams(t *testing.T) {
	for kind := range streamNames {
		b := builder()
		b.Entry(kind, Location{})
		b.Entry(kind, Location{})
		_, err := Parse(build(t, b))
		if (err != nil) != unique[kind] {
			t.Errorf("two of %s: %v", kind, err)
		}
	}
	f := with(t, func(b *Builder) {
		b.Assertion(Assertion{Expression: "first"})
		b.Assertion(Assertion{Expression: "second"})
		b.Entry(0x12345, Location{1, 2})
	})
	if f.Assertion.Expression != "second" {
		t.Error("not the last assertion")
	}
	if len(f.Directory) != 3 || f.Directory[2] != (Entry{0x12345, Location{1, 2}}) {
		t.Errorf("directory: %v", f.Directory)
	}
}

func TestSniffing(t *testing.T) {
	for text, want := range map[string][2]bool{
		"MDMP": {true, false}, "PMDM": {true, false}, "MDM": {}, "": {},
		"x google-breakpad: -----BEGIN BREAKPAD MICRODUMP-----": {false, true},
		"MODULE Linux x86_64": {},
	} {
		if got := [2]bool{IsMinidump([]byte(text)), IsMicrodump([]byte(text))}; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// usable checks one stream's error and whether the lenient reading keeps anything.
func TestUnusableStreams(t *testing.T) {
	context := func(b *Builder) *Section {
		return b.Context(ContextX86, &arch.Registers{})
	}
	module := func(b *Builder, m Module) {
		if m.CodeFile == "" {
			m.CodeFile = "m"
		}
		b.Module(m, nil, nil)
	}
	for _, c := range []struct {
		name string
		fill func(b *Builder)
		err  func(f *File) error
		say  string // in the error
		keep func(f *File) int
		n    int // kept leniently
	}{
		{"thread list size", func(b *Builder) { b.Stream(StreamThreadList, b.Section().U32(1).Zero(47)) },
			func(f *File) error { return f.ThreadsErr }, "size is 51", func(f *File) int { return len(f.Threads) }, 0},
		{"thread list count", func(b *Builder) { b.Stream(StreamThreadList, b.Section().U32(0xffffffff).Zero(48)) },
			func(f *File) error { return f.ThreadsErr }, "4294967295 entries", func(f *File) int { return len(f.Threads) }, 0},
		{"thread list too short", func(b *Builder) { b.Stream(StreamThreadList, b.Section().U16(0)) },
			func(f *File) error { return f.ThreadsErr }, "size is 2", func(f *File) int { return len(f.Threads) }, 0},
		{"thread list outside", func(b *Builder) { b.Entry(StreamThreadList, Location{4, 1 << 30}) },
			func(f *File) error { return f.ThreadsErr }, "past the end", func(f *File) int { return len(f.Threads) }, 0},
		{"repeated thread id", func(b *Builder) {
			b.Thread(Thread{ID: 7}, nil, context(b))
			b.Thread(Thread{ID: 7}, nil, context(b))
		}, func(f *File) error { return f.ThreadsErr }, "id 0x7", func(f *File) int { return len(f.Threads) }, 2},
		{"thread names", func(b *Builder) {
			b.ThreadName(1, "fine")
			b.ThreadName(2, strings.Repeat("x", 1025))
		}, func(f *File) error { return f.ThreadNamesErr }, "1025 code units", func(f *File) int { return len(f.ThreadNames) }, 1},
		{"padded thread names", func(b *Builder) { b.Stream(StreamThreadNames, b.Section().U32(0).U32(0)) },
			func(f *File) error { return f.ThreadNamesErr }, "size is 8", func(f *File) int { return len(f.ThreadNames) }, 0},
		{"module of size 0", func(b *Builder) { module(b, Module{Base: 1, Size: 1}); module(b, Module{Base: 5}) },
			func(f *File) error { return f.ModulesErr }, "module 1 has the range 0x5+0x0", func(f *File) int { return len(f.Modules) }, 1},
		{"module that wraps", func(b *Builder) { module(b, Module{Base: math.MaxUint64, Size: 1}) },
			func(f *File) error { return f.ModulesErr }, "range", func(f *File) int { return len(f.Modules) }, 0},
		{"module without name", func(b *Builder) {
			s := b.Section().U32(1).U64(0x1000).U32(1).Zero(8).U32(0xfffffff0).Zero(84)
			b.Stream(StreamModuleList, s)
		}, func(f *File) error { return f.ModulesErr }, "name of module 0", func(f *File) int { return len(f.Modules) }, 0},
		{"surrogates", func(b *Builder) { module(b, Module{Base: 1, Size: 1, CodeFile: "😀.dll"}) },
			func(f *File) error { return f.ModulesErr }, "surrogates", func(f *File) int { return len(f.Modules) }, 1},
		{"too many modules", func(b *Builder) {
			for i := range 2049 {
				module(b, Module{Base: uint64(i), Size: 1})
			}
		}, func(f *File) error { return f.ModulesErr }, "2049 entries", func(f *File) int { return len(f.Modules) }, 2049},
		{"memory of size 0", func(b *Builder) { b.Memory(b.Add(b.Section())) },
			func(f *File) error { return f.Memory32Err }, "range 0x0+0x0", func(f *File) int { return len(f.Memory32) }, 0},
		{"overlapping memory", func(b *Builder) {
			for _, base := range []uint64{0x1008, 0x2000, 0x1000} {
				s := b.Add(b.Section().Zero(9))
				s.Base = base
				b.Memory(s)
			}
		}, func(f *File) error { return f.Memory32Err }, "regions 0 and 2 overlap", func(f *File) int { return len(f.Memory32) }, 3},
		{"Memory64 with too many", func(b *Builder) { b.Stream(StreamMemory64List, b.Section().U64(1<<60).U64(0).U64(1).U64(1)) },
			func(f *File) error { return f.Memory64Err }, "room for 1", func(f *File) int { return len(f.Memory64) }, 1},
		{"exception size", func(b *Builder) { b.Stream(StreamException, b.Section().Zero(167)) },
			func(f *File) error { return f.ExceptionErr }, "want 168", func(f *File) int { return 0 }, 0},
		{"system info size", func(b *Builder) { b.Stream(StreamSystemInfo, b.Section().Zero(57)) },
			func(f *File) error { return f.SystemErr }, "want 56", func(f *File) int { return 0 }, 0},
		{"breakpad info size", func(b *Builder) { b.Stream(StreamBreakpadInfo, b.Section().Zero(8)) },
			func(f *File) error { return f.BreakpadErr }, "want 12", func(f *File) int { return 0 }, 0},
		{"assertion size", func(b *Builder) { b.Stream(StreamAssertion, b.Section().Zero(775)) },
			func(f *File) error { return f.AssertionErr }, "want 776", func(f *File) int { return 0 }, 0},
		{"unloaded entries", func(b *Builder) { b.Stream(StreamUnloadedModules, b.Section().U32(12).U32(20).U32(1).Zero(20)) },
			func(f *File) error { return f.UnloadedErr }, "entries of 20", func(f *File) int { return len(f.Unloaded) }, 0},
		{"unloaded header", func(b *Builder) { b.Stream(StreamUnloadedModules, b.Section().U32(8).U32(24).U32(0)) },
			func(f *File) error { return f.UnloadedErr }, "header of 8", func(f *File) int { return len(f.Unloaded) }, 0},
		{"unloaded of size 0", func(b *Builder) {
			b.Unloaded([]UnloadedModule{{Base: 1, CodeFile: "x"}, {Base: 1, Size: 1, CodeFile: "y"}})
		},
			func(f *File) error { return f.UnloadedErr }, "module 0", func(f *File) int { return len(f.Unloaded) }, 1},
		{"memory info entry", func(b *Builder) { b.Stream(StreamMemoryInfoList, b.Section().U32(16).U32(40).U64(1).Zero(48)) },
			func(f *File) error { return f.MemoryInfoErr }, "entries of 40", func(f *File) int { return len(f.MemoryInfo) }, 0},
		{"memory info overlap", func(b *Builder) { b.MemoryInfo([]MemoryInfo{{Base: 1, Size: 2}, {Base: 2, Size: 2}}) },
			func(f *File) error { return f.MemoryInfoErr }, "overlap", func(f *File) int { return len(f.MemoryInfo) }, 2},
		{"crashpad size", func(b *Builder) { b.Stream(StreamCrashpadInfo, b.Section().Zero(51)) },
			func(f *File) error { return f.CrashpadErr }, "at least 52", func(f *File) int { return 0 }, 0},
		{"crashpad list", func(b *Builder) { b.Stream(StreamCrashpadInfo, b.Section().Zero(36).U32(4).U32(0x20).Zero(8)) },
			func(f *File) error { return f.CrashpadErr }, "past the end", func(f *File) int { return 0 }, 0},
		{"handles", func(b *Builder) { b.Stream(StreamHandleData, b.Section().U32(16).U32(32).U32(2).U32(0).Zero(32)) },
			func(f *File) error { return f.HandlesErr }, "2 entries", func(f *File) int { return len(f.Handles) }, 0},
		{"maps without newline", func(b *Builder) { b.Text(StreamLinuxMaps, "1-2 r-xp 0 0:0 0 \n2-3 r-xp 0 0:0 0") },
			func(f *File) error { return f.MapsErr }, "newline", func(f *File) int { return len(f.Maps) }, 1},
		{"objects of the linker", func(b *Builder) { b.Stream(StreamLinuxDSODebug, b.Section().U32(1).U32(0).U32(1<<31).Zero(12)) },
			func(f *File) error { return f.DSODebugErr }, "past the end", func(f *File) int { return 0 }, 0},
	} {
		b := builder()
		c.fill(b)
		data := build(t, b)
		strict, err := Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		var fe *FormatError
		if err := c.err(strict); !errors.As(err, &fe) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: error is %v", c.name, err)
		} else if fe.Offset < 0x20 {
			t.Errorf("%s: offset 0x%x", c.name, fe.Offset)
		}
		if n := c.keep(strict); n != 0 {
			t.Errorf("%s: %d kept", c.name, n)
		}
		for name, err := range strict.streamErrors() {
			if err != nil && err != c.err(strict) && err != ErrNoThreadList {
				t.Errorf("%s: also %s: %v", c.name, name, err)
			}
		}
		lenient, err := ParseLenient(data)
		if err != nil {
			t.Fatal(err)
		}
		if c.err(lenient) == nil && c.name != "surrogates" {
			t.Errorf("%s: no error leniently", c.name)
		}
		if n := c.keep(lenient); n != c.n {
			t.Errorf("%s: %d kept leniently, want %d", c.name, n, c.n)
		}
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"", true}, {"plain", true}, {"ä☃", true}, {"𐀀", true}, {"\U000103ff", false}, {"\U000100ff", true},
		{"\xed\xa0\x80", false}, {"\xed\xb0\x80", false}, {"\xed\xb4\x80", true}, {strings.Repeat("ä", 1024), true},
		{strings.Repeat("a", 1025), false},
	} {
		for _, order := range orders {
			b := NewBuilder(order)
			b.ThreadName(1, c.text)
			f := parsed(t, b)
			want := c.ok && (order == little || !strings.ContainsAny(c.text, "𐀀\U000100ff"))
			if ok := f.ThreadNamesErr == nil; ok != want {
				t.Errorf("%s %q: %v", order, c.text, f.ThreadNamesErr)
			}
			if want && f.ThreadName(1) != c.text {
				t.Errorf("%q: got %q", c.text, f.ThreadName(1))
			}
		}
	}
	b := builder()
	s := b.Add(b.Section().U32(3).Bytes([]byte("abc")))
	b.Stream(StreamThreadNames, b.Section().U32(1).U32(1).Offset(8, s.Start(), 0))
	if f := parsed(t, b); f.ThreadNamesErr == nil || !strings.Contains(f.ThreadNamesErr.Error(), "odd length 3") {
		t.Error(f.ThreadNamesErr)
	}
	b = builder()
	b.ThreadName(1, "😀\xed\xb0\x80\xed\xa0\x80x")
	f, err := ParseLenient(build(t, b))
	if err != nil || f.ThreadName(1) != "😀\ufffd\ufffdx" {
		t.Errorf("%v %q", err, f.ThreadName(1))
	}
}

func TestModuleIdentifiers(t *testing.T) {
	id := []byte("\x5f\xa9\xcd\xb4\x10\x53\xdf\x1b\x86\xfa\xb7\x33\xb4\xdf\x37\x38\xce\xa3\x4a\x87")
	type want struct{ codeID, debugFile, debugID string }
	for _, c := range []struct {
		name     string
		platform Platform // 0: no SystemInfo
		record   func(b *Builder) (codeView, misc *Section)
		want     want
	}{
		{"no record on Linux", PlatformLinux, nil, want{"id", "", ""}},
		{"no record on Windows", PlatformWindowsNT, nil, want{"ABCD12343000", "", ""}},
		{"no record on Mac", PlatformMac, nil, want{"id", "", ""}},
		{"no record, unknown platform", 0x9999, nil, want{}},
		{"no record, no platform", 0, nil, want{}},
		{"build id on Linux", PlatformLinux, elf(id), want{"5fa9cdb41053df1b86fab733b4df3738cea34a87", "m", "B4CDA95F53101BDF86FAB733B4DF37380"}},
		{"build id on Android", PlatformAndroid, elf(id[:16]), want{"5fa9cdb41053df1b86fab733b4df3738", "m", "B4CDA95F53101BDF86FAB733B4DF37380"}},
		{"build id on Fuchsia", PlatformFuchsia, elf(id[:9]), want{"5fa9cdb41053df1b86", "m", "B4CDA95F53101BDF86000000000000000"}},
		{"build id on Windows", PlatformWindowsNT, elf(id), want{"ABCD12343000", "m", "B4CDA95F53101BDF86FAB733B4DF37380"}},
		{"build id on Solaris", PlatformSolaris, elf(id), want{"id", "m", "B4CDA95F53101BDF86FAB733B4DF37380"}},
		{"empty build id", PlatformLinux, elf(nil), want{"id", "", ""}}, // 4 bytes are too few for a signature
		{"pdb on Windows", PlatformWindows, func(b *Builder) (*Section, *Section) {
			return b.CodeViewPDB70(GUID{0xA, 0xB, 0xC, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}}, 0xabcdef, `c:\x\m.pdb`), nil
		}, want{"ABCD12343000", `c:\x\m.pdb`, "0000000A000B000C0102030405060708abcdef"}},
		{"old pdb", PlatformWindowsNT, func(b *Builder) (*Section, *Section) { return b.CodeViewPDB20(0x1a, 0x1f, "m.pdb"), nil },
			want{"ABCD12343000", "m.pdb", "0000001A1f"}},
		{"pdb without terminator", PlatformWindowsNT, func(b *Builder) (*Section, *Section) {
			s := b.CodeViewPDB70(GUID{}, 1, "m.pdb")
			s.b[len(s.b)-1] = 'x'
			return s, nil
		}, want{}},
		{"pdb too short", PlatformWindowsNT, func(b *Builder) (*Section, *Section) {
			return b.Add(b.Section().U32(cvPDB70).Zero(20)), nil
		}, want{}},
		{"record too large", PlatformWindowsNT, func(b *Builder) (*Section, *Section) {
			return b.Add(b.Section().U32(cvPDB70).Zero(32769 - 4)), nil
		}, want{}},
		{"largest record", PlatformWindowsNT, func(b *Builder) (*Section, *Section) {
			return b.Add(b.Section().U32(cvPDB70).Zero(32768 - 4)), nil
		}, want{"ABCD12343000", "", "000000000000000000000000000000000"}},
		{"unknown record with misc", PlatformWindowsNT, func(b *Builder) (*Section, *Section) {
			return b.Add(b.Section().Bytes([]byte("NB09 and so on"))), b.MiscRecord("m.dbg", false)
		}, want{"ABCD12343000", "m.dbg", ""}},
		{"misc of wrong length", PlatformWindowsNT, func(b *Builder) (*Section, *Section) {
			s := b.MiscRecord("m.dbg", false)
			s.U8(0)
			return nil, s
		}, want{}},
		{"build id and broken misc", PlatformLinux, func(b *Builder) (*Section, *Section) {
			return b.CodeViewELF(id), b.Add(b.Section().Zero(11))
		}, want{}},
	} {
		b := builder()
		if c.platform != 0 {
			b.SystemInfo(SystemInfo{Platform: c.platform})
		}
		var codeView, misc *Section
		if c.record != nil {
			codeView, misc = c.record(b)
		}
		b.Module(Module{Base: 0x1000, Size: 0x3000, Timestamp: 0xabcd1234, CodeFile: "m"}, codeView, misc)
		f := parsed(t, b)
		if f.ModulesErr != nil {
			t.Fatalf("%s: %v", c.name, f.ModulesErr)
		}
		m := f.Modules[0]
		if got := (want{m.CodeID, m.DebugFile, m.DebugID}); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if broken := m.DebugErr != nil; broken != (c.want == want{} && c.record != nil) {
			t.Errorf("%s: %v", c.name, m.DebugErr)
		}
	}
}

func elf(id []byte) func(b *Builder) (*Section, *Section) {
	return func(b *Builder) (*Section, *Section) { return b.CodeViewELF(id), nil }
}

// A record that the file does not hold costs the module its identifiers, not the dump its modules.
func TestModuleRecordOutside(t *testing.T) {
	b := builder()
	b.SystemInfo(SystemInfo{Platform: PlatformLinux})
	b.Module(Module{Base: 1, Size: 1, CodeFile: "m"}, b.CodeViewELF([]byte("0123456789")), nil)
	data := build(t, b)
	f, _ := Parse(data)
	e, _ := f.entry(StreamModuleList)
	little.PutUint32(data[e.RVA+4+80:], 0xfffffff0)
	f, err := Parse(data)
	if err != nil || f.ModulesErr != nil || len(f.Modules) != 1 || f.Modules[0].DebugErr == nil || f.Modules[0].CodeID != "" {
		t.Errorf("%v %v %+v", err, f.ModulesErr, f.Modules)
	}
}

func TestMemory(t *testing.T) {
	f := with(t, func(b *Builder) {
		for _, m := range []struct {
			base uint64
			text string
		}{{0x1000, "aaaa"}, {0x1004, "bbbb"}, {math.MaxUint64 - 4, "top!"}} {
			s := b.Add(b.Section().Bytes([]byte(m.text)))
			s.Base = m.base
			b.Memory(s)
		}
		b.Memory64(0x1002, []byte("AA"))       // within the first
		b.Memory64(0x1006, []byte("BBcc"))     // reaches further
		b.Memory64(0x5000, []byte("far away")) // alone
		s := b.Add(b.Section().Bytes([]byte("stack")))
		s.Base = 0x7000
		b.Thread(Thread{ID: 1}, s, nil)
	})
	for _, c := range []struct {
		addr uint64
		n    int
		want string
		ok   bool
	}{
		{0x1000, 4, "aaaa", true}, {0x1002, 2, "aa", true}, {0x1000, 5, "", false}, {0x1004, 4, "bbbb", true},
		{0x1006, 4, "BBcc", true}, {0x1008, 2, "cc", true}, {0xfff, 1, "", false}, {0x100a, 1, "", false},
		{0x5001, 3, "ar ", true}, {0x7000, 5, "stack", true}, {0x7004, 1, "k", true}, {0x7005, 1, "", false},
		{math.MaxUint64 - 4, 4, "top!", true}, {math.MaxUint64 - 1, 1, "!", true}, {math.MaxUint64, 1, "", false},
		{math.MaxUint64 - 1, 8, "", false}, {0x1000, -1, "", false}, {0x1000, 0, "", true}, {0x9999, 0, "", false},
	} {
		b, ok := f.Memory(c.addr, c.n)
		if ok != c.ok || string(b) != c.want {
			t.Errorf("0x%x+%d: %q, %t", c.addr, c.n, b, ok)
		}
	}
	if n := testing.AllocsPerRun(100, func() { f.Memory(0x1006, 4) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A full dump that was cut keeps what is before the cut.
func TestTruncatedMemory64(t *testing.T) {
	b := builder()
	b.Memory64(0x1000, []byte("whole"))
	b.Memory64(0x2000, []byte("cut"))
	data := build(t, b)
	f, err := Parse(data[:len(data)-1])
	if err != nil || f.Memory64Err != nil || len(f.Memory64) != 2 || f.Memory64[1].Data != nil {
		t.Fatalf("%v %v %+v", err, f.Memory64Err, f.Memory64)
	}
	if m, ok := f.Memory(0x1000, 5); !ok || string(m) != "whole" {
		t.Error("lost what is there")
	}
	if _, ok := f.Memory(0x2000, 1); ok {
		t.Error("found what is not there")
	}
}

// Data is a view: nothing is copied, and appending to a view does not write into the file.
func TestViews(t *testing.T) {
	b := builder()
	s := b.Add(b.Section().Bytes([]byte("stack memory")))
	s.Base = 0x1000
	b.Thread(Thread{ID: 1}, s, b.Context(ContextX86, &arch.Registers{}))
	b.Text(StreamLinuxStatus, "Name: x\n")
	data := build(t, b)
	f, _ := Parse(data)
	m, _ := f.Memory(0x1000, 5)
	if &m[0] != &data[s.offset] || &f.Threads[0].Stack.Data[0] != &data[s.offset] {
		t.Error("memory is a copy")
	}
	before := string(data)
	_ = append(m, "XXXX"...)
	_ = append(f.Linux.Status, "XXXX"...)
	_ = append(f.Threads[0].Stack.Data, "XXXX"...)
	if string(data) != before {
		t.Error("append wrote into the file")
	}
}

func TestMaps(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "\n": 0, "\r\n\r\n": 0,
		"10000-20000 r--p 00000000 fc:00 1234 /tmp/x\n":                                         1,
		"10000-20000 r--p 00000000 fc:00 1234 /tmp/x y z\n":                                     1,
		"10000-20000 r--p 00000000 fc:00 1234 \n20000-30000 -wxs 10 fc:00 0\n":                  2,
		"10000-20000 r--p 00000000 fc:00 1234 /tmp/x\r\n20000-30000 ---S 0 fc:00 0 [stack]\r\n": 2,
		"10000-20000 r--p 00000000 fc:00 1234 /tmp/x":                                           -1,
		"10000-20000 r--p 00000000 fc:00\n":                                                     -1,
		"10000 20000 r--p 00000000 fc:00 1234 /tmp/x\n":                                         -1,
		"10000-20000 q--p 00000000 fc:00 1234 /tmp/x\n":                                         -1,
		"10000-20000 rr-p 00000000 fc:00 1234 /tmp/x\n":                                         -1,
		"10000-20000 r--z 00000000 fc:00 1234 /tmp/x\n":                                         -1,
		"x-20000 r--p 00000000 fc:00 1234 /tmp/x\n":                                             -1,
		"10000-20000 r--p 00000000 fc 00 1234 /tmp/x\n":                                         -1,
		"10000-20000 r-\n": -1,
		"11111111111111111-20000 r--p 0 fc:00 1234 /tmp/x\n":                                        -1,
		"10000-20000 r--p 00000000 fc:00 1234 /tmp/x\nnonsense\n10000-20000 r--p 0 fc:00 1234 /y\n": -1,
	} {
		maps, err := ParseMaps([]byte(text))
		if (err == nil) != (want >= 0) || err == nil && len(maps) != want {
			t.Errorf("%q: %v, %v", text, maps, err)
		}
	}
	maps, err := ParseMaps([]byte("10000-20000 r-xp 00003000 fc:1 1234      /tmp/a  b \n"))
	want := Mapping{0x10000, 0x20000, MapRead | MapExecute | MapPrivate, 0x3000, 0xfc, 1, 1234, "/tmp/a  b "}
	if err != nil || len(maps) != 1 || maps[0] != want {
		t.Errorf("%v %+v", err, maps)
	}
}

func TestSystemTexts(t *testing.T) {
	x86 := CPU86{Vendor: [12]byte([]byte("GenuineIntel"))}
	for _, c := range []struct {
		v                              SystemInfo
		os, short, version, cpu, about string
	}{
		{SystemInfo{Platform: PlatformWindowsNT, Arch: ArchX86, Level: 6, Revision: 0xd06, Major: 5, Minor: 1, Build: 2600, HasCSD: true, CSD: "Service Pack 2", CPU86: x86},
			"Windows NT", "windows", "5.1.2600 Service Pack 2", "x86", "GenuineIntel family 6 model 13 stepping 6"},
		{SystemInfo{Platform: PlatformWindows, Arch: ArchAMD64, Level: 6, Revision: 0x3f02, CPU86: x86, HasCSD: true}, "Windows", "windows", "0.0.0 ", "amd64", "family 6 model 63 stepping 2"},
		{SystemInfo{Platform: PlatformMac, Arch: ArchARM64}, "Mac OS X", "mac", "0.0.0", "arm64", ""},
		{SystemInfo{Platform: PlatformIOS, Arch: ArchARM64Old}, "iOS", "ios", "0.0.0", "arm64", ""},
		{SystemInfo{Platform: PlatformSolaris, Arch: ArchSPARC}, "Solaris", "solaris", "0.0.0", "sparc", ""},
		{SystemInfo{Platform: PlatformAndroid, Arch: ArchMIPS}, "Android", "android", "0.0.0", "mips", ""},
		{SystemInfo{Platform: PlatformPS3, Arch: ArchPPC64}, "PS3", "ps3", "0.0.0", "ppc64", ""},
		{SystemInfo{Platform: PlatformNaCl, Arch: ArchMIPS64}, "NaCl", "nacl", "0.0.0", "mips64", ""},
		{SystemInfo{Platform: PlatformFuchsia, Arch: ArchRISCV64}, "Fuchsia", "fuchsia", "0.0.0", "riscv64", ""},
		{SystemInfo{Platform: 0x12345, Arch: ArchX86Win64, CPU86: x86}, "0x00012345", "", "0.0.0", "0x000a", ""},
		{SystemInfo{Platform: PlatformLinux, Arch: ArchARM, Level: 7, ARM: CPUARM{0x410fc0f4, 1<<1 | 1<<12 | 1<<18}}, "Linux", "linux", "0.0.0", "arm", "ARMv7 ARM Cortex-A15 features: half,neon,idivt"},
		{SystemInfo{Platform: PlatformLinux, Arch: ArchARM, Level: 8, ARM: CPUARM{0x440fc0f4, 0}}, "Linux", "linux", "0.0.0", "arm", "ARMv8 vendor(0x44) part(0x4400c0f0)"},
		{SystemInfo{Platform: PlatformLinux, Arch: ArchARM, Level: 7, ARM: CPUARM{0x510006f1, 1 << 19}}, "Linux", "linux", "0.0.0", "arm", "ARMv7 Qualcomm Krait features: "},
		{SystemInfo{Platform: PlatformLinux, Arch: ArchARM, Level: 5}, "Linux", "linux", "0.0.0", "arm", "ARMv5"},
	} {
		f := with(t, func(b *Builder) { b.SystemInfo(c.v) })
		v := f.System
		if v.OS() != c.os || v.OSShort() != c.short || v.OSVersion() != c.version || v.CPU() != c.cpu || v.CPUInfo() != c.about {
			t.Errorf("got %q %q %q %q %q\nwant %+v", v.OS(), v.OSShort(), v.OSVersion(), v.CPU(), v.CPUInfo(), c)
		}
	}
	var none *SystemInfo
	if none.OS()+none.OSShort()+none.OSVersion()+none.CPU()+none.CPUInfo() != "" {
		t.Error("texts without SystemInfo")
	}
}

func TestCrashpadOlderVersions(t *testing.T) {
	for size, mask := range map[int]uint64{52: 0, 56: 0, 60: 0, 64: 5, 80: 5} {
		s := builder().Section().Zero(56).U64(5).Zero(16)
		s.b = s.b[:size]
		f := with(t, func(b *Builder) { b.Stream(StreamCrashpadInfo, s) })
		if f.CrashpadErr != nil || f.Crashpad.AddressMask != mask {
			t.Errorf("%d bytes: %v", size, f.CrashpadErr)
		}
	}
	f := with(t, func(b *Builder) {
		b.Crashpad(CrashpadInfo{SimpleAnnotations: []Annotation{{"k", "first"}, {"k", "second"}}})
	})
	if a := f.Crashpad.SimpleAnnotations; len(a) != 1 || a[0].Value != "first" {
		t.Errorf("%v", a)
	}
}

// Many records that refer to one long text do not multiply it without end.
func TestTextBudget(t *testing.T) {
	b := builder()
	name := b.String(strings.Repeat("x", 1024))
	s := b.Section().U32(100000)
	for i := range 100000 {
		s.U32(uint32(i)).Offset(8, name.Start(), 0)
	}
	b.Stream(StreamThreadNames, s)
	f := parsed(t, b)
	if f.ThreadNamesErr == nil || !strings.Contains(f.ThreadNamesErr.Error(), "add up") {
		t.Error(f.ThreadNamesErr)
	}
}
