package unwind

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/symlint/symlint/unwind/minidump"
)

// dumpBuilder puts a minidump together: streams and what they refer to.
type dumpBuilder struct {
	data    []byte
	streams []minidump.Entry
}

func newDump() *dumpBuilder { return &dumpBuilder{data: make([]byte, 32)} }

// words appends numbers of 32 bits.
func words(b []byte, v ...uint32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

func quads(b []byte, v ...uint64) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b
}

func (d *dumpBuilder) add(b []byte) uint32 {
	at := uint32(len(d.data))
	d.data = append(d.data, b...)
	for len(d.data)%8 != 0 {
		d.data = append(d.data, 0)
	}
	return at
}

func (d *dumpBuilder) text(s string) uint32 {
	units := utf16.Encode([]rune(s))
	b := words(nil, uint32(2*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return d.add(append(b, 0, 0))
}

func (d *dumpBuilder) stream(t minidump.StreamType, b []byte) {
	at := minidump.Location{Size: uint32(len(b)), RVA: d.add(b)}
	d.streams = append(d.streams, minidump.Entry{Type: t, Location: at})
}

func (d *dumpBuilder) bytes() []byte {
	var dir []byte
	for _, e := range d.streams {
		dir = words(dir, uint32(e.Type), e.Size, e.RVA)
	}
	at := d.add(dir)
	copy(d.data, words(nil, 0x504d444d, 0xa793, uint32(len(d.streams)), at, 0, 1700000000, 0, 0))
	return d.data
}

const (
	madeStack = 0x7ff000000000
	madeTEB   = 0x7ff100000000
	madeBase  = 0x7ff200000000
)

// detailedDump is of a process with everything that Details tell. Its first thread wrote it.
func detailedDump(platform uint32) []byte {
	d := newDump()
	system := make([]byte, 56)
	binary.LittleEndian.PutUint16(system, 9) // amd64
	system[6] = 4                            // CPUs
	copy(system[20:], words(nil, platform, d.text("Linux 6.1.0 #1 SMP x86_64 GNU/Linux")))
	d.stream(minidump.StreamSystemInfo, system)

	context := make([]byte, 1232)
	copy(context[0x30:], words(nil, 0x10000b))
	copy(context[0x98:], quads(nil, madeStack+16))
	copy(context[0xf8:], quads(nil, madeBase+0x1234))
	contextAt := d.add(context)
	stackAt, tebAt := d.add(make([]byte, 64)), d.add(append(make([]byte, 13*8), words(nil, 5, 0)...))
	threads := words(nil, 2)
	for _, id := range []uint32{71, 72} {
		threads = words(threads, id, 0, 0, 0)
		threads = quads(threads, madeTEB, madeStack)
		threads = words(threads, 64, stackAt, uint32(len(context)), contextAt)
	}
	d.stream(minidump.StreamThreadList, threads)
	d.stream(minidump.StreamMemoryList, words(quads(words(nil, 1), madeTEB), 112, tebAt))
	d.stream(minidump.StreamBreakpadInfo, words(nil, 3, 71, 72))

	elf := d.add(append(words(nil, 0x4270454c),
		"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14"...))
	modules := words(nil, 1)
	modules = quads(modules, madeBase)
	modules = words(modules, 0x5000, 0, 0x5f000000, d.text("/usr/lib/libc.so.6"))
	modules = words(modules, 0xfeef04bd, 0x10000, 6, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0)
	modules = words(modules, 24, elf, 0, 0, 0, 0, 0, 0)
	d.stream(minidump.StreamModuleList, modules)
	unloaded := words(nil, 12, 24, 2)
	for range 2 {
		unloaded = quads(unloaded, madeBase+0x8000)
		unloaded = words(unloaded, 0x3000, 0, 0x5f00abcd, d.text("gone.dll"))
	}
	d.stream(minidump.StreamUnloadedModules, unloaded)
	names := words(nil, 1, 72)
	d.stream(minidump.StreamThreadNames, quads(names, uint64(d.text(""))))

	handles := words(nil, 16, 32, 2, 0)
	handles = words(quads(handles, 0x44), d.text("File"), d.text(`\Device\Null`), 0, 0, 1, 1)
	handles = words(quads(handles, 0x48), 0, 0, 0, 0, 1, 1)
	d.stream(minidump.StreamHandleData, handles)

	d.stream(minidump.StreamLinuxLSBRelease, []byte("PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n"+
		"# comment\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"))
	d.stream(minidump.StreamLinuxCPUInfo, []byte("processor\t: 0\nmicrocode\t: 0x5003604\n"+
		"processor\t: 1\nmicrocode\t: 0x1\n"))
	d.stream(minidump.StreamLinuxStatus, []byte("Name:\ttower\nPid:\t4242\nPPid:\t1\n"))
	d.stream(streamLinuxLimits, []byte("Limit                     Soft Limit           Hard Limit           Units     \n"+
		"Max cpu time              unlimited            60                   seconds   \n"+
		"Max nice priority         0                    0                    \nbroken\n"))
	d.stream(streamSoftErrors, []byte(`[{"b":{"y":1,"x":[]},"a":"<&>"}]`))
	boot := words(nil, uint32(streamMacBootArgs))
	d.stream(streamMacBootArgs, quads(boot, uint64(d.text("-v keepsyms=1"))))

	record := quads(nil, uint64(streamMacCrashInfo), 5, 0x303, 0, 7)
	record = append(record, "dyld\x00Library not loaded\x00\x00bt\x00second\x00"...)
	crash := words(nil, uint32(streamMacCrashInfo), 1, 40, uint32(len(record)), d.add(record))
	d.stream(streamMacCrashInfo, append(crash, make([]byte, 12+8*macCrashMost-len(crash))...))
	return d.bytes()
}

const platformLinux = 0x8201

func TestDetails(t *testing.T) {
	p, err := Open(detailedDump(platformLinux), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	args := "-v keepsyms=1"
	want := &Details{
		Modules: []Module{{
			Base: madeBase, Size: 0x5000, CodeFile: "/usr/lib/libc.so.6", CodeID: "0102030405060708090a0b0c0d0e0f1011121314",
			DebugFile: "/usr/lib/libc.so.6", DebugID: "0403020106050807090A0B0C0D0E0F100", Version: "6.1.2.3", Bias: madeBase,
		}},
		Unloaded: []Module{
			{Base: madeBase + 0x8000, Size: 0x3000, CodeFile: "gone.dll", CodeID: "5f00abcd3000", Bias: madeBase + 0x8000},
			{Base: madeBase + 0x8000, Size: 0x3000, CodeFile: "gone.dll", CodeID: "5f00abcd3000", Bias: madeBase + 0x8000},
		},
		Writer: &Writer{ID: 71}, Microcode: 0x5003604,
		LSB:         &LSBRelease{"debian", "12", "bookworm", "Debian GNU/Linux 12 (bookworm)"},
		Limits:      []Limit{{"Max cpu time", LimitNone, 60, "seconds"}, {"Max nice priority", 0, 0, "n/a"}},
		Handles:     []Handle{{0x44, "File", `\Device\Null`}, {Value: 0x48}},
		HasHandles:  true,
		SoftErrors:  `[{"b":{"y":1,"x":[]},"a":"<&>"}]`,
		MacBootArgs: &args,
		MacCrash: []MacCrash{{
			Version: 5, Thread: 0x303, AbortCause: 7, Module: "dyld", Message: "Library not loaded", Backtrace: "bt",
			SecondMsg: "second",
		}},
		HasMacCrash: true,
	}
	if diff := cmp.Diff(want, p.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	if p.PID != 4242 {
		t.Errorf("pid %d", p.PID)
	}
	if len(p.Threads) != 1 {
		t.Fatalf("%d threads", len(p.Threads))
	}
	if th := &p.Threads[0]; !th.Named || th.Name != "" || !th.HasLastError || th.LastError != 5 {
		t.Errorf("thread %+v", th)
	}
}

func TestMacCrashDamaged(t *testing.T) {
	record := func(version, thread uint64, text string) []byte {
		return append(quads(nil, uint64(streamMacCrashInfo), version, thread, 0, 0), text...)
	}
	const five = "a\x00b\x00c\x00d\x00e\x00"
	for name, x := range map[string]struct {
		fixed   uint32
		records [][]byte
		n       int
		ok      bool
	}{
		"two":              {40, [][]byte{record(5, 1, five), record(5, 2, five)}, 2, true},
		"newer":            {40, [][]byte{record(9, 1, five+"more")}, 1, true},
		"old":              {16, [][]byte{record(1, 1, "")}, 1, true},
		"two versions":     {40, [][]byte{record(5, 1, five), record(4, 2, five)}, 0, false},
		"text not ended":   {40, [][]byte{record(5, 1, "a\x00b\x00c\x00d\x00e")}, 0, false},
		"text beyond":      {4000, [][]byte{record(5, 1, five)}, 0, false},
		"text too early":   {32, [][]byte{record(5, 1, five)}, 0, false},
		"record too short": {40, [][]byte{record(5, 1, "")[:39]}, 0, false},
	} {
		d := newDump()
		head := words(nil, uint32(streamMacCrashInfo), uint32(len(x.records)), x.fixed)
		for _, r := range x.records {
			head = words(head, uint32(len(r)), d.add(r))
		}
		head = append(head, make([]byte, 12+8*macCrashMost-len(head))...)
		list, ok := parseMacCrash(&minidump.File{Data: d.data, Order: binary.LittleEndian}, head)
		if ok != x.ok || len(list) != x.n {
			t.Errorf("%s: %d records, %v; want %d, %v", name, len(list), ok, x.n, x.ok)
		}
	}
}

// Whatever the streams hold, reading them ends, and takes no more memory than they have.
func FuzzDetails(f *testing.F) {
	f.Add(detailedDump(platformLinux))
	f.Add(detailedDump(2))
	f.Add(detailedDump(0x8101))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Open(data, OpenOptions{})
		if err != nil || p.Details == nil {
			return
		}
		d := p.Details
		total := len(d.SoftErrors)
		for _, l := range d.Limits {
			total += len(l.Name) + len(l.Unit)
		}
		for _, m := range d.MacCrash {
			total += len(m.Module) + len(m.Message) + len(m.Signature) + len(m.Backtrace) + len(m.SecondMsg)
		}
		// Records of __crash_info may share their bytes.
		if limit := macCrashMost*len(data) + 4*len(data); total > limit {
			t.Errorf("%d bytes of text from %d", total, len(data))
		}
	})
}
