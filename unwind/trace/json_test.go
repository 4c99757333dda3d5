package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

var updateJSON = flag.Bool("update-json", false, "rewrite testdata/*.walk.json")

const walkSchemaFile = "testdata/walk.schema.json"

// walkSchema compiles the schema of JSON's output.
func walkSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open(walkSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("walk.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("walk.schema.json")
}

func validateJSON(schema *jsonschema.Schema, text []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

const madeSymbols = `MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 tower
FILE 0 src/tower.cc
FILE 1 src/<inline> & "more".h
INLINE_ORIGIN 0 inner<int>()
FUNC 1000 100 0 outer()
INLINE 0 7 0 0 1000 10
1000 10 3 1
1010 f0 8 0
FUNC 2000 50 0 main
2000 50 20 0
PUBLIC 3000 0 _exit
STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa 8 - ^
STACK CFI 1004 .cfa: $rsp 16 +
STACK CFI INIT 2000 50 .cfa: $rsp 8 + .ra: .cfa 8 - ^ $rbx: .cfa 4096 - ^
`

// madeSource has symbols for one module.
type madeSource struct{ symbols *symfile.Symbols }

func (s madeSource) ModuleSymbols(m *unwind.Module) (*symfile.Symbols, error) {
	if unwind.BaseName(m.DebugFile) == "tower" {
		return s.symbols, nil
	}
	return nil, fmt.Errorf("no symbols for %s", m.DebugFile)
}

const madeBase = 0x55d0c0000000

// madeWalk is a process in which everything is set that JSON prints.
func madeWalk(t testing.TB) *Walked {
	t.Helper()
	cpu, _ := arch.Lookup("x86_64")
	const sp = 0x7ffd00001000
	stack := make([]byte, 64)
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(stack[off:], v) }
	put(8, madeBase+0x2011)
	put(16, 0x7f0000001235)
	regs := &arch.Registers{CPU: cpu}
	for i := range cpu.Slots {
		regs.Set(i, uint64(i))
	}
	regs.Set(cpu.Slot.PC, madeBase+0x1008)
	regs.Set(cpu.Slot.SP, sp)
	modules := unwind.NewModules(symfile.TruncateLower)
	loaded := []unwind.Module{
		{Base: madeBase, Size: 0x10000, CodeFile: "/usr/bin/tower", CodeID: "0001020304", DebugFile: "/usr/bin/tower",
			DebugID: "000102030405060708090A0B0C0D0E0F0", Bias: madeBase},
		{Base: 0x7f1100000000, Size: 0x2000, CodeFile: "/lib/libm.so.6", DebugFile: "/lib/libm.so.6", Version: "6.0.0.0",
			DebugID: "FF0102030405060708090A0B0C0D0E0F0"},
		{Base: 0x7f1200000000, Size: 0x1000, CodeFile: "/dev/shm/data"},
	}
	for _, m := range loaded {
		modules.Add(m)
	}
	gone := unwind.NewModules(symfile.TruncateLower)
	unloaded := []unwind.Module{
		{Base: 0x7f0000001000, Size: 0x1000, CodeFile: `C:\plug.dll`, CodeID: "5F00aabb3000"},
		{Base: 0x7f0000000000, Size: 0x9000, CodeFile: `C:\plug.dll`, CodeID: "5f00aabb3000"},
		{Base: 0x7f0000001000, Size: 0x1000, CodeFile: `C:\other.dll`, CodeID: "5f00aabb1000"},
	}
	for _, m := range unloaded {
		gone.Add(m)
	}
	args := "-v"
	p := &unwind.Process{
		System: unwind.System{
			OS: "Linux", OSShort: "linux", OSVersion: "0.0.0 Linux 6.1.0-18-amd64 #1 SMP Debian 6.1.76-1 x86_64 GNU/Linux",
			CPU: "amd64", CPUInfo: "family 6 model 85 stepping 7", CPUCount: 2,
		},
		Crash:  &unwind.Crash{Reason: "SIGSEGV /SEGV_MAPERR", Code: 11, Flags: 1, Address: 0x45},
		Uptime: unwind.Uptime{Seconds: 17, Known: true},
		Threads: []unwind.Thread{
			{ID: 100, Name: "main \"quoted\"\t\x01\xff<&>é", Registers: regs, Stack: unwind.Region{Base: sp, Data: stack}},
			{ID: 102, Named: true, LastError: 2, HasLastError: true},
		},
		Modules: modules, Unloaded: gone, Order: binary.LittleEndian, PID: 4242, LinuxMaps: 31,
		Details: &unwind.Details{
			Modules: loaded, Unloaded: unloaded, Writer: &unwind.Writer{ID: 101, Index: 1}, Microcode: 0x5003604,
			LSB: &unwind.LSBRelease{
				ID: "Debian", Release: "12", Codename: "bookworm", Description: "Debian GNU/Linux 12",
			},
			Limits:     []unwind.Limit{{Name: "Max cpu time", Soft: unwind.LimitNone, Hard: 1, Unit: "seconds"}},
			Handles:    []unwind.Handle{{Value: 3, Type: "file", Name: "/dev/null"}, {Value: 4}},
			HasHandles: true, SoftErrors: `[{"b":1e400,"a":["<x>",null]}]`, MacBootArgs: &args,
			MacCrash: []unwind.MacCrash{
				{Version: 5, Thread: 1, AbortCause: 2, Module: "dyld", Message: "no image"}, {Version: 1},
			},
			HasMacCrash: true,
		},
	}
	p.Memory = &p.Threads[0].Stack
	symbols := symfile.Load([]byte(madeSymbols), symfile.Options{})
	return Walk(&unwind.Walker{Process: p, Symbols: madeSource{symbols}}, false)
}

func jsonOf(t testing.TB, d *Walked, o JSONOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := JSON(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONGolden(t *testing.T) {
	schema := walkSchema(t)
	for name, o := range map[string]JSONOptions{
		"made": {Pretty: true}, "made-explain": {Pretty: true, Explain: true},
	} {
		got := jsonOf(t, madeWalk(t), o)
		if err := validateJSON(schema, got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		file := filepath.Join("testdata", name+".walk.json")
		if *updateJSON {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// Compact output has the same content, on one line.
func TestJSONCompact(t *testing.T) {
	d := madeWalk(t)
	compact := jsonOf(t, d, JSONOptions{})
	if n := bytes.Count(compact, []byte("\n")); n != 1 || compact[len(compact)-1] != '\n' {
		t.Errorf("%d newlines, want one at the end", n)
	}
	var again bytes.Buffer
	if err := json.Indent(&again, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(jsonOf(t, d, JSONOptions{Pretty: true})), again.String()); diff != "" {
		t.Errorf("pretty differs from indented compact (-pretty +indented):\n%s", diff)
	}
	if second := jsonOf(t, d, JSONOptions{}); !bytes.Equal(compact, second) {
		t.Error("not the same twice")
	}
}

// sortedKeys reports objects whose keys are not in ascending order.
func sortedKeys(t testing.TB, text []byte) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value func(path string)
	value = func(path string) {
		token, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		switch token {
		case json.Delim('{'):
			last := ""
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					t.Fatal(err)
				}
				name := key.(string)
				if name <= last {
					t.Errorf("%s: %q behind %q", path, name, last)
				}
				last = name
				value(path + "." + name)
			}
			_, _ = dec.Token()
		case json.Delim('['):
			for dec.More() {
				value(path + "[]")
			}
			_, _ = dec.Token()
		}
	}
	value("")
}

func TestJSONKeysSorted(t *testing.T) {
	sortedKeys(t, jsonOf(t, madeWalk(t), JSONOptions{Explain: true}))
}

// A walk of the crashing thread alone has no frames for the others.
func TestJSONOneThread(t *testing.T) {
	d := madeWalk(t)
	d.Stacks[1] = nil
	got := jsonOf(t, d, JSONOptions{})
	if err := validateJSON(walkSchema(t), got); err != nil {
		t.Error(err)
	}
	want := `"frame_count":null,"frames":null,"last_error_value":"ERROR_FILE_NOT_FOUND","thread_id":102`
	if !strings.Contains(string(got), want) {
		t.Errorf("%s lacks %s", got, want)
	}
}

// Nothing but what must be set is.
func TestJSONEmpty(t *testing.T) {
	p := &unwind.Process{Requesting: -1, LinuxMaps: -1, System: unwind.System{CPU: "x86"}}
	got := jsonOf(t, &Walked{Process: p}, JSONOptions{Explain: true})
	if err := validateJSON(walkSchema(t), got); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`{"crash_info":{"address":null,`, `"crashing_thread":null`, `"handles":null`, `"modules":[]`, `"threads":[]`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if strings.Contains(string(got), `"crashing_thread":{`) {
		t.Error("a crashing thread that is none")
	}
}

// The schema refuses what JSON never prints.
func TestWalkSchemaRefuses(t *testing.T) {
	schema := walkSchema(t)
	good := string(jsonOf(t, madeWalk(t), JSONOptions{}))
	for _, x := range [][2]string{
		{`"status":"OK"`, `"status":"FAIL"`}, {`"trust":"cfi"`, `"trust":"call frame info"`}, {`"pid":4242`, `"pid":"4242"`},
		{`"thread_count":3`, `"thread_count":null`}, {`"missing_symbols":false`, `"missing_symbols":null`},
		{`"offset":"0x`, `"offset":"`}, {`"threads_index":0`, `"thread_index":0`},
	} {
		bad := strings.Replace(good, x[0], x[1], 1)
		if bad == good {
			t.Errorf("no %s in the output", x[0])
		} else if validateJSON(schema, []byte(bad)) == nil {
			t.Errorf("%s passes", x[1])
		}
	}
}

func TestJSONStrings(t *testing.T) {
	for in, want := range map[string]string{
		"":                       `""`,
		"plain é \u2028 \x7f":    "\"plain é \u2028 \x7f\"",
		"\"\\\b\f\n\r\t\x00\x1f": `"\"\\\b\f\n\r\t\u0000\u001f"`,
		"<a href='&'>":           `"<a href='&'>"`,
		"a\xff\xc3(\xed\xa0\x80": "\"a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD\"",
		"\uFFFD":                 "\"\uFFFD\"",
	} {
		var b bytes.Buffer
		j := newJSONWriter(&b, false)
		j.string(in)
		if err := j.flush(); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(b.String(), "\n"); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// failing is a writer that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestJSONWriteError(t *testing.T) {
	if err := JSON(failing{}, madeWalk(t), JSONOptions{}); err == nil {
		t.Error("no error of a writer that fails")
	}
}

func TestOSVersion(t *testing.T) {
	for _, x := range []struct{ os, in, want string }{
		{"linux", "0.0.0 Linux 6.1.0 #1 SMP x86_64 GNU/Linux", "6.1.0 #1 SMP x86_64"},
		{"linux", "0.0.0 Linux 6.1.0 #1 SMP x86_64", "6.1.0 #1 SMP"},
		{"linux", "0.0.0 Linux 0.0.0 x", "0.0.0 Linux 0.0.0 x"},
		{"linux", "0.0.0", "0.0.0"},
		{"linux", "5.4.1 Linux 5.4.1 x y", "5.4.1 Linux 5.4.1 x y"},
		{"windows", "10.0.19041 ", "10.0.19041"},
		{"windows", "6.1.7601 Service Pack 1", "6.1.7601 Service Pack 1"},
		{"", "", ""},
	} {
		if got := osVersion(&unwind.System{OSShort: x.os, OSVersion: x.in}); got != x.want {
			t.Errorf("%s %q: %q, want %q", x.os, x.in, got, x.want)
		}
	}
}

func TestCrashType(t *testing.T) {
	type crash = unwind.Crash
	params := func(v ...uint64) []uint64 { return v }
	for _, x := range []struct {
		os, cpu string
		c       crash
		want    string
	}{
		{"linux", "amd64", crash{Code: 11, Flags: 1, Reason: "SIGSEGV /SEGV_MAPERR"}, "SIGSEGV / SEGV_MAPERR"},
		{"android", "arm", crash{Code: 11, Flags: 0x80}, "SIGSEGV / SI_KERNEL"},
		{"linux", "amd64", crash{Code: 6, Flags: 0xfffffffa}, "SIGABRT / SI_TKILL"},
		{"linux", "amd64", crash{Code: 6}, "SIGABRT"},
		{"linux", "amd64", crash{Code: 5, Flags: 4}, "SIGTRAP / TRAP_HWBKPT"},
		{"linux", "amd64", crash{Code: 7, Flags: 9}, "SIGBUS / 0x00000009"},
		{"linux", "amd64", crash{Code: 0xffffffff}, "DUMP_REQUESTED"},
		{"linux", "amd64", crash{Code: 77, Flags: 1}, "unknown 0x0000004d / 0x00000001"},
		{"windows", "x86", crash{Code: 0xc0000005, Parameters: params(8, 0x45)}, "EXCEPTION_ACCESS_VIOLATION_EXEC"},
		{"windows", "x86", crash{Code: 0xc0000005}, "EXCEPTION_ACCESS_VIOLATION"},
		{"windows", "x86", crash{Code: 0xc0000006, Parameters: params(0, 1, 0xc000000e)},
			"EXCEPTION_IN_PAGE_ERROR_READ / STATUS_NO_SUCH_DEVICE"},
		{"windows", "x86", crash{Code: 0xc0000006, Parameters: params(0, 1)}, "EXCEPTION_IN_PAGE_ERROR"},
		{"windows", "x86", crash{Code: 0xc0000409, Parameters: params(7), Reason: "FAST_FAIL_FATAL_APP_EXIT"},
			"EXCEPTION_STACK_BUFFER_OVERRUN / FAST_FAIL_FATAL_APP_EXIT"},
		{"windows", "x86", crash{Code: 0xc0000409, Parameters: params(999), Reason: "EXCEPTION_STACK_BUFFER_OVERRUN"},
			"EXCEPTION_STACK_BUFFER_OVERRUN / 0x000003e7"},
		{"windows", "x86", crash{Code: 0xc0000409, Parameters: params(0)},
			"EXCEPTION_STACK_BUFFER_OVERRUN / FAST_FAIL_LEGACY_GS_VIOLATION"},
		{"windows", "x86", crash{Code: 0xc0000409}, "STATUS_STACK_BUFFER_OVERRUN"},
		{"windows", "x86", crash{Code: 0xe0000008}, "Out of Memory"},
		{"windows", "x86", crash{Code: 0xc0000374}, "STATUS_HEAP_CORRUPTION"},
		{"windows", "x86", crash{Code: 0x40010005}, "DBG_CONTROL_C"},
		{"windows", "x86", crash{Code: 5}, "ERROR_ACCESS_DENIED"},
		{"windows", "x86", crash{Code: 0xc06d007e}, "FACILITY_VISUALCPP / ERROR_MOD_NOT_FOUND"},
		{"windows", "x86", crash{Code: 0x12345678}, "unknown 0x12345678"},
		{"mac", "amd64", crash{Code: 1, Flags: 1}, "EXC_BAD_ACCESS / KERN_INVALID_ADDRESS"},
		{"mac", "amd64", crash{Code: 1, Flags: 13}, "EXC_BAD_ACCESS / EXC_I386_GPFLT"},
		{"ios", "arm64", crash{Code: 1, Flags: 0x105}, "EXC_BAD_ACCESS / EXC_ARM_PAC_FAIL"},
		{"mac", "amd64", crash{Code: 1, Flags: 0x105}, "EXC_BAD_ACCESS / 0x00000105"},
		{"mac", "arm64", crash{Code: 6, Flags: 1}, "EXC_BREAKPOINT / EXC_ARM_BREAKPOINT"},
		{"mac", "amd64", crash{Code: 5, Flags: 0x10002}, "EXC_SOFTWARE / SIGABRT"},
		{"mac", "amd64", crash{Code: 0x43507378}, "Simulated Exception"},
		{"mac", "amd64", crash{Code: 11, Flags: 3<<29 | 1<<26, Parameters: params(11, 3<<61|1<<58|100, 0)},
			"EXC_RESOURCE / RESOURCE_TYPE_MEMORY / FLAVOR_HIGH_WATERMARK high watermark limit: 100MiB"},
		{"mac", "amd64", crash{Code: 11, Flags: 7 << 29}, "EXC_RESOURCE / 0xe0000000"},
		{"mac", "amd64", crash{Code: 12, Flags: 2 << 29, Parameters: params(12, 2<<61|1<<32|5, 77)},
			"EXC_GUARD / GUARD_TYPE_FD / GUARD_EXC_CLOSE file descriptor: 5 guard identifier: 77"},
		{"mac", "amd64", crash{Code: 12, Flags: 2 << 29, Parameters: params(12, 2<<61|9<<32, 1)},
			"EXC_GUARD / GUARD_TYPE_FD / 0x4000000900000000 / 0x0000000000000001"},
		{"mac", "amd64", crash{Code: 99, Flags: 1, Reason: "0x00000063 / 0x00000001"}, "unknown 0x00000063 / 0x00000001"},
		{"solaris", "sparc", crash{Code: 11, Reason: "SIGSEGV"}, "SIGSEGV"},
		{"solaris", "sparc", crash{Code: 99, Reason: "0x00000063 / 0x00000000"}, "unknown 0x00000063 / 0x00000000"},
		{"", "arm", crash{}, ""},
	} {
		if got := crashType(&unwind.System{OSShort: x.os, CPU: x.cpu}, &x.c); got != x.want {
			t.Errorf("%s %s %#x/%#x: %q, want %q", x.os, x.cpu, x.c.Code, x.c.Flags, got, x.want)
		}
	}
}

// The table is sorted, so that a code that stands twice shows.
func TestWindowsCodes(t *testing.T) {
	last := ""
	n := 0
	for line := range strings.Lines(windowsCodes) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		code, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || len(code) != 8 || name == "" || code <= last {
			t.Errorf("%q behind %s", line, last)
		}
		last = code
		n++
	}
	if n < 2800 {
		t.Errorf("%d codes", n)
	}
	if got := windowsError(0); got != "ERROR_SUCCESS" {
		t.Errorf("0 is %s", got)
	}
}
