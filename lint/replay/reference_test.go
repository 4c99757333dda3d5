package replay

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateGolden = flag.Bool("update-golden", false, "rewrite testdata/*.golden")

// tell writes a reference down, a line for each frame, with all that is known of it.
func tell(r *Reference) string {
	var b strings.Builder
	fmt.Fprintf(&b, "format %s cpu %q\n", r.Format, r.CPU)
	for _, m := range r.Modules {
		fmt.Fprintf(&b, "module %s %#x %#x\n", m.Name, m.Base, m.End)
	}
	for i := range r.Threads {
		t := &r.Threads[i]
		fmt.Fprintf(&b, "thread %d lwp %d crashed %v end %q truncated %v line %d\n", t.Index, t.LWP, t.Crashed, t.End, t.Truncated, t.Line)
		for k := range t.Frames {
			f := &t.Frames[k]
			fmt.Fprintf(&b, " %d", f.Level)
			opt := func(have bool, format string, args ...any) {
				if have {
					fmt.Fprintf(&b, " "+format, args...)
				}
			}
			opt(f.HasPC, "pc=%#x/%d", f.PC, f.PCKind)
			opt(f.HasSP, "sp=%#x", f.SP)
			opt(f.HasCFA, "cfa=%#x", f.CFA)
			opt(f.Module != "", "module=%s", f.Module)
			opt(f.Function != "", "function=%q", f.Function)
			opt(f.File != "", "at=%s:%d", f.File, f.SrcLine)
			opt(f.HasModuleOffset, "in-module=%#x/%d", f.ModuleOffset, f.OffsetKind)
			opt(f.HasFunctionOffset, "in-function=%#x/%d", f.FunctionOffset, f.OffsetKind)
			opt(f.HasLineOffset, "in-line=%#x/%d", f.LineOffset, f.OffsetKind)
			opt(f.Trust != "", "trust=%s", f.Trust)
			opt(f.Inline, "inline")
			opt(f.TailCall, "tail-call")
			opt(f.Signal, "signal")
			opt(len(f.Registers) > 0, "registers=%d:%v", len(f.Registers), first(f.Registers))
			fmt.Fprintf(&b, " line=%d\n", f.Line)
		}
	}
	return b.String()
}

func first(r []RefRegister) RefRegister {
	if len(r) == 0 {
		return RefRegister{}
	}
	return r[0]
}

func TestParseGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	formats := make(map[Format]int)
	for _, path := range files {
		if s, err := os.Stat(path); err != nil || s.IsDir() || strings.HasSuffix(path, ".golden") {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Line ends and a byte order mark make no difference.
		crlf := append([]byte("\xef\xbb\xbf"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))...)
		var told string
		for i, text := range [][]byte{data, crlf} {
			ref, err := ParseReference(text)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if got := tell(ref); i == 0 {
				told = got
				formats[ref.Format]++
			} else if got != told {
				t.Errorf("%s: CRLF makes a difference:\n%s", path, got)
			}
		}
		golden := path + ".golden"
		if *updateGolden {
			if err := os.WriteFile(golden, []byte(told), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if told != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", path, told, want)
		}
	}
	for _, f := range [...]Format{FormatText, FormatMachine, FormatJSON, FormatGDB, FormatTSV} {
		if formats[f] == 0 {
			t.Errorf("no file of format %s", f)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "expected a stack trace"},
		{"prose", "hello\nworld\n", "expected a stack trace"},
		{"text frame", "Thread 0 (crashed)\n 0  tower!main [a.cc : 1 + 0x0]\n 1  what is this\n", "line 3: expected module!function"},
		{"text level", "Thread 0\n 0  0x1\n 2  0x2\n", "line 3: frame 2 follows 1 frames"},
		{"text register", "Thread 0\n 0  0x1\n    eip = 0xzz   esp = 0x1\n", "line 3: expected a hexadecimal value of register"},
		{"text empty", "Operating system: Linux\n", "has no thread"},
		{"machine fields", "OS|Linux|1\n0|0|tower|main|a.cc|1\n", "line 2: expected 7 fields"},
		{"machine offset", "OS|Linux|1\n0|0|tower|main|a.cc|1|zz\n", "line 2: expected a hexadecimal offset"},
		{"machine line", "OS|Linux|1\n0|0|tower|main|a.cc|x|0x1\n", "line 2: expected a line number"},
		{"machine threads", "0|0||||" + "|0x1\n1|0|||||0x1\n0|1|||||0x2\n", "line 3: frames of thread 0 are in two places"},
		{"machine level", "0|1|||||0x1\n", "line 1: frame 1 follows 0 frames"},
		{"json syntax", "{\n\"threads\": [\n{,", "line 3: "},
		{"json no threads", "{\"a\": 1}", "the JSON has no \"threads\""},
		{"json address", "{\n\"threads\": [\n{\"frames\": [\n{\"offset\": \"zz\"}]}]}", "line 4: expected an address"},
		{"json kind", "{\n\"threads\": 5}", "expected an array"},
		{"gdb pc", "#0  0xzz in main () at a.c:1\n", "line 1: expected an address"},
		{"gdb frame", "#0  0x1 in main\n", "line 1: expected function (arguments)"},
		{"gdb level", "#0  main () at a.c:1\n#2  0x2 in f ()\n", "line 2: frame #2 follows 1 frames"},
		{"tsv number", "#thread\tframe\tpc\tsp\nx\t0\t0x1\t0x2\n", "line 2: expected a number as thread"},
		{"tsv pc", "thread\tframe\tpc\tsp\n1\t0\t0xg\t0x2\n", "line 2: expected a hexadecimal pc"},
		{"tsv columns", "thread\tframe\tpc\n1\t0\t0x1\t0x2\n", "line 2: expected 3 columns, found 4"},
		{"tsv level", "thread\tframe\tpc\n1\t0\t0x1\n1\t5\t0x1\n", "line 3: frame 5 of thread 1"},
		{"tsv end", "thread\tframe\tpc\n#end\t7\toutermost\n", "line 2: #end of a thread"},
		{"tsv registers", "thread\tframe\tpc\tregs\n1\t0\t0x1\trax\n", "line 2: expected register=hexadecimal"},
	} {
		_, err := ParseReference([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := ParseReference([]byte("x")); !errors.Is(err, ErrNotReference) {
		t.Errorf("got %v", err)
	}
}

// TestGDBFrames are single frames in all the ways that gdb prints them.
func TestGDBFrames(t *testing.T) {
	for _, c := range []struct{ text, function, file, module string }{
		{"#0  main (argc=1, argv=0x7ffe) at a.c:3", "main", "a.c", ""},
		{"#0  0x00007f in ?? ()", "", "", ""},
		{"#0  0x00007f in ?? () from /lib/x86_64-linux-gnu/libc.so.6", "", "", "libc.so.6"},
		{"#0  0x00007f in raise () from /lib/libc.so.6", "raise", "", "libc.so.6"},
		{"#0  _start () from /lib64/ld-linux-x86-64.so.2", "_start", "", "ld-linux-x86-64.so.2"},
		{"#0  operator() (a=1, __closure=0x1) at a.cc:2", "operator()", "a.cc", ""},
		{"#0  0x1 in A::operator() (this=0x1) at a.cc:2", "A::operator()", "a.cc", ""},
		{"#0  0x1 in A::operator<< <int> (this=0x1) at a.cc:2", "A::operator<< <int>", "a.cc", ""},
		{"#0  0x1 in A::operator unsigned long (this=0x1) at a.cc:2", "A::operator unsigned long", "a.cc", ""},
		{"#0  0x1 in (anonymous namespace)::f (x=1) at a.cc:2", "(anonymous namespace)::f", "a.cc", ""},
		{"#0  0x1 in void (anonymous namespace)::g<void (int)> (x=1) at a.cc:2", "void (anonymous namespace)::g<void (int)>", "a.cc", ""},
		{"#0  0x1 in P<char const*, M>::visit(int)::{lambda(int)#1}::operator()(int) const (k=1) at a.cc:2",
			"P<char const*, M>::visit(int)::{lambda(int)#1}::operator()(int) const", "a.cc", ""},
		{"#0  0x1 in f (s=0x2 \"a) at b (\\\" \", c=40 '(') at dir with (x)/a.cc:2", "f", "dir with (x)/a.cc", ""},
		{"#0  0x1 in std::function<int (char)>::operator() (this=0x1, __args#0=1 '\\001') at a.h:2", "std::function<int (char)>::operator()", "a.h", ""},
		{"#0  0x1 in foo[abi:cxx11] (x=...) at a.cc:2", "foo[abi:cxx11]", "a.cc", ""},
		{"#0  0x1 in f (x=<optimized out>,\n    y=5)\n    at a.cc:2", "f", "a.cc", ""},
		{"#0  0x1 in f (x=5)\n   from /lib/libx.so", "f", "", "libx.so"},
		{"#0  0x1 in f (x=5) at a.cc:2\n        from = 1\n        y = (1", "f", "a.cc", ""},
	} {
		ref, err := ParseReference([]byte(c.text + "\n"))
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		f := &ref.Threads[0].Frames[0]
		if f.Function != c.function || f.File != c.file || f.Module != c.module || c.file != "" && f.SrcLine == 0 {
			t.Errorf("%q: got %q %q:%d %q", c.text, f.Function, f.File, f.SrcLine, f.Module)
		}
	}
}

// TestGDBSessions: what stands in the output of a session besides one backtrace of each thread.
func TestGDBSessions(t *testing.T) {
	all := "Thread 2 (LWP 8):\n#0  0x1 in f () at a.c:1\n\nThread 1 (LWP 7):\n#0  g () at a.c:2\n#1  0x2 in main () at a.c:3\n"
	start := "Program terminated with signal SIGSEGV, Segmentation fault.\n#0  g () at a.c:2\n2\t  *p = 0;\n[Current thread is 1 (Thread 0x7f (LWP 7))]\n"
	one := "#0  g () at a.c:2\n        p = 0x0\n        s = \"(\"\n#1  0x2 in main () at a.c:3\nNo locals.\n"
	for _, c := range []struct{ name, text, want string }{
		{"all", all, "2/8:1 1/7:2"},
		{"start and all", start + all, "2/8:1 1/7:2*"},
		{"all twice", all + all, "2/8:1 1/7:2"},
		{"all and one", start + all + "[Switching to thread 1]\n#0  g () at a.c:2\n" + one + "(More stack frames follow...)\n", "2/8:1 1/7:2*"},
		{"start and one", start + one, "1/7:2*"},
		{"start", start, "1/7:1*"},
	} {
		ref, err := ParseReference([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for i := range ref.Threads {
			x := &ref.Threads[i]
			s := fmt.Sprintf("%d/%d:%d", x.Index, x.LWP, len(x.Frames))
			if x.Crashed {
				s += "*"
			}
			if x.Truncated {
				s += "+"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s, want %s", c.name, s, c.want)
		}
	}
}

func TestNormalizeFunction(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"main", "main"},
		{"f(int, char const*)", "f"},
		{"f(int) const", "f"},
		{"f(int) const &", "f"},
		{"void f<int>(int)", "f<int>"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<int,std::allocator<int>>::push_back"},
		{"A::operator()(int, int) const", "A::operator()"},
		{"A::operator()", "A::operator()"},
		{"A::operator unsigned long() const", "A::operator unsigned long"},
		{"A::operator unsigned long", "A::operator unsigned long"},
		{"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<<char>"},
		{"operator new(unsigned long)", "operator new"},
		{"operator delete[](void*)", "operator delete[]"},
		{"A::operator&", "A::operator&"},
		{"A::operator&(int)", "A::operator&"},
		{"A::operator->() const", "A::operator->"},
		{"f [clone .cold]", "f"},
		{"f(int) [clone .isra.0] [clone .cold]", "f"},
		{"f.cold", "f"},
		{"f.isra.0.cold.1", "f"},
		{"f.part.12", "f"},
		{"f (.cold)", "f"},
		{"name.with.dots", "name.with.dots"},
		{"v1.2", "v1.2"},
		{"__GI_raise", "raise"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
		{"{anonymous}::f", "(anonymous namespace)::f"},
		{"`anonymous namespace'::f", "(anonymous namespace)::f"},
		{"(anonymous namespace)", "(anonymous namespace)"},
		{"P<char const*>::visit(int)::{lambda(int)#1}::operator()(int) const", "P<char const*>::visit(int)::{lambda}::operator()"},
		{"f<3ul>", "f<3>"},
		{"f<Foo3ul>", "f<Foo3ul>"},
		{"foo[abi:cxx11](int)", "foo"},
		{"-[Controller causeCrash:]", "-[Controller causeCrash:]"},
		{"?foo@@YAXXZ", "?foo@@YAXXZ"},
		{"static void __cdecl ns::f(int)", "ns::f"},
		{"virtual thunk to A::f(int)", "virtual thunk to A::f"},
		{"core::ops::function::FnOnce::call_once::h0123456789abcdef", "core::ops::function::FnOnce::call_once"},
		{"<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt"},
		{"f(void (*)(int))", "f"},
		{"decltype(auto) f<int>(int)", "f<int>"},
		{"", ""},
		{"(", "("},
		{")", ")"},
		{"operator", "operator"},
		{".cold", ".cold"},
	} {
		if got := NormalizeFunction(c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
	for _, c := range [...][2]string{{"f", "g"}, {"A::f", "B::f"}, {"f<int>", "f<char>"}, {"f.cold2x", "f"}, {"operator new", "operator delete"}} {
		if SameFunction(c[0], c[1]) || aliasOf(c[0], c[1]) {
			t.Errorf("%q and %q are the same", c[0], c[1])
		}
	}
	for _, c := range [...][2]string{
		{"read", "__GI___libc_read"}, {"__clone3", "clone3"}, {"__qsort_r", "__GI___qsort_r"},
		{"___pthread_cond_wait", "pthread_cond_wait"}, {"__libc_start_main_impl", "__libc_start_main"},
		{"tower::floor_catch", "floor_catch"}, {"__clock_nanosleep_time64", "__clock_nanosleep"},
	} {
		if !aliasOf(c[0], c[1]) {
			t.Errorf("%q and %q are no aliases", c[0], c[1])
		}
	}
}
