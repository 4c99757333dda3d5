package minidump

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// micro wraps the lines of a microdump.
func micro(lines ...string) []byte {
	var b strings.Builder
	for _, l := range append(append([]string{string(microBegin)}, lines...), string(microEnd)) {
		b.WriteString("W/google-breakpad(26491): " + l + "\n")
	}
	return []byte(b.String())
}

func parsedMicro(t testing.TB, data []byte) *Microdump {
	t.Helper()
	m, err := ParseMicrodump(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMicrodumpRoundTrip(t *testing.T) {
	for _, c := range []struct {
		cpu   string
		flags uint32
	}{{"arm", ContextARM}, {"arm64", ContextARM64}, {"x86", ContextX86}, {"mips", ContextMIPS}, {"mips64", ContextMIPS64}} {
		stack := bytes.Repeat([]byte("0123456789abcdef"), 60)
		want := &Microdump{
			OS: "Android", OSShort: "android", OSVersion: "21 L (user) x", CPU: c.cpu, CPUCount: 4, HWArch: "aarch64",
			Version: "App:1.2", Process: "browser", HasGPU: true, GLVersion: "ES 3.1", GLVendor: "ARM", GLRenderer: "Mali T880",
			HasReason: true, Signal: "11", Reason: "SIGSEGV", Address: 0xdeadbeef,
			Stack: Region{Base: 0x7f00, Size: uint64(len(stack)), Data: stack}, SP: 0x7f10, StackStart: 0x7f00, StackSize: uint64(len(stack)),
			Modules: []MicroModule{{0x400000, 0x1000, 0x5000, "ABCDEF0", "/system/lib/a.so"}, {0x7f12345678, 0, 1, "X", "b"}},
		}
		regs := someRegisters(t, c.cpu)
		raw := EncodeContext(little, c.flags, regs)
		want.Context = &Context{CPU: regs.CPU, Registers: *regs, Flags: c.flags, Raw: raw, Order: little}
		got := parsedMicro(t, want.Text("W/google-breakpad( 123)"))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.cpu, got, want)
		}
	}
	// arm64 with the old layout
	old := EncodeContext(little, ContextARM64Old|2, someRegisters(t, "arm64"))
	m := parsedMicro(t, micro("O L arm64 01 aarch64 x", fmt.Sprintf("C %x", old)))
	if m.ContextErr != nil || m.Context.Registers != *someRegisters(t, "arm64") || m.Context.Flags != ContextARM64 {
		t.Errorf("%v %+v", m.ContextErr, m.Context)
	}
}

func TestMicrodumpMissing(t *testing.T) {
	for _, text := range []string{
		"", "This is not a valid microdump", string(microBegin), "google-breakpad\n" + string(microBegin) + "\n",
	} {
		if m, err := ParseMicrodump([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, m)
		}
	}
}

func TestMicrodumpContext(t *testing.T) {
	x86 := fmt.Sprintf("C %X", EncodeContext(little, ContextX86, someRegisters(t, "x86")))
	for _, c := range []struct {
		lines []string
		ok    bool
		say   string
	}{
		{[]string{"O L x86 01 i686 x", x86}, true, ""},
		{[]string{"O L i386 01 i686 x", x86}, false, `unsupported architecture "i386"`},
		{[]string{"O L x86_64 01 x x", x86}, false, "unsupported"},
		{[]string{x86}, false, `unsupported architecture ""`},
		{[]string{"O L x86 01 i686 x", x86 + "00"}, false, "717 bytes, want 716"},
		{[]string{"O L x86 01 i686 x", "C 00"}, false, "1 bytes, want 716"},
		{[]string{"O L x86 01 i686 x"}, false, ""},
		{[]string{"O L x86 01 i686 x", x86, "C 00"}, true, "1 bytes"}, // the first stays
	} {
		m := parsedMicro(t, micro(c.lines...))
		if (m.Context != nil) != c.ok || (m.ContextErr == nil) != (c.say == "") || m.ContextErr != nil && !strings.Contains(m.ContextErr.Error(), c.say) {
			t.Errorf("%.40q: %v, %v", c.lines, m.Context, m.ContextErr)
		}
	}
}

func TestMicrodumpLines(t *testing.T) {
	m := parsedMicro(t, micro("O L x86 0a i686  two blanks"))
	if m.OS != "Linux" || m.OSShort != "linux" || m.CPUCount != 10 || m.HWArch != "i686" || m.OSVersion != " two blanks" || m.HasReason || m.Reason != "" || m.Address != 0 {
		t.Errorf("%+v", m)
	}
	m = parsedMicro(t, micro("O Q arm 1ff", "R 5 SIGTRAP 4a7cb000", "G UNKNOWN"))
	if m.OS != "" || m.CPUCount != 255 || m.OSVersion != "" || m.Reason != "SIGTRAP" || m.Address != 0x4a7cb000 || m.HasGPU {
		t.Errorf("%+v", m)
	}
	m = parsedMicro(t, micro("G a|b c"))
	if !m.HasGPU || m.GLVersion != "a" || m.GLVendor != "b c" || m.GLRenderer != "" {
		t.Errorf("%+v", m)
	}
	// Windows line ends, foreign lines, lines of other tags, no end.
	text := "noise\r\nI/google-breakpad: ignored: O A arm 1 x\r\n" +
		"W/google-breakpad: -----BEGIN BREAKPAD MICRODUMP-----\r\nW/other: O L x86 1 x y\r\n" +
		"W/google-breakpad: O A arm64 08 aarch64 9 P\r\nW/google-breakpad: M 1000 0 200 ID /a/b.so\r\n" +
		"W/google-breakpad: S 8000 0102\r\nW/google-breakpad: S 8002 03"
	m = parsedMicro(t, []byte(text))
	if m.OS != "Android" || m.OSVersion != "9 P" || len(m.Modules) != 1 || m.Modules[0] != (MicroModule{0x1000, 0, 0x200, "ID", "/a/b.so"}) || string(m.Stack.Data) != "\x01\x02\x03" {
		t.Errorf("%+v", m)
	}
	// Of two dumps the first counts.
	m = parsedMicro(t, append(micro("O L arm 1"), micro("O A x86 2")...))
	if m.OS != "Linux" || m.CPU != "arm" {
		t.Errorf("%+v", m)
	}
	// Keys are looked for anywhere, in a fixed order.
	m = parsedMicro(t, micro("M 1 2 3 : O L mips x", "S 0 7fff 7000 1000"))
	if m.CPU != "mips" || len(m.Modules) != 0 || m.SP != 0x7fff || m.StackStart != 0x7000 || m.StackSize != 0x1000 || m.Stack.Data != nil {
		t.Errorf("%+v", m)
	}
}

func TestMicrodumpStack(t *testing.T) {
	m := parsedMicro(t, micro("S 1000 00112233", "S 1004 4455", "S 1007 66", "S 1006 77"))
	if string(m.Stack.Data) != "\x00\x11\x22\x33\x44\x55" || m.StackErr == nil || m.Stack.Size != 6 {
		t.Errorf("%x %v", m.Stack.Data, m.StackErr)
	}
	m = parsedMicro(t, micro("S fffffffffffffffe 00112233"))
	if m.StackErr == nil || m.Stack.Data != nil || m.Stack.Size != 0 {
		t.Errorf("%x %v", m.Stack.Data, m.StackErr)
	}
}

// Numbers are read as the reference's streams read them.
func TestHexNumbers(t *testing.T) {
	for text, want := range map[string]uint64{
		"": 0, "0": 0, "12aF": 0x12af, "0x12": 0x12, "12z": 0x12, "z": 0, "-1": math.MaxUint64, "+5": 5,
		"ffffffffffffffff": math.MaxUint64, "10000000000000000": math.MaxUint64,
	} {
		if got := hexNumber([]byte(text)); got != want {
			t.Errorf("%q: 0x%x", text, got)
		}
	}
	if got := appendHex(nil, []byte("00fFzz1")); !bytes.Equal(got, []byte{0, 0xff, 0, 1}) {
		t.Errorf("%x", got)
	}
}

// What is unknown leaves a word, so that the columns stay.
func TestMicrodumpTextOfLittle(t *testing.T) {
	m := &Microdump{CPU: "x86", OSShort: "linux"}
	if got := parsedMicro(t, m.Text("google-breakpad")); got.Context != nil || got.Version != "" || got.HWArch != "-" {
		t.Errorf("%+v", got)
	}
}
