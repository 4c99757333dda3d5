package postfix

import (
	"strings"
	"testing"
)

func value(t *testing.T, s Semantics, word int, text string, w world) (uint64, Fault) {
	t.Helper()
	p, _ := Compile([]byte(text), CFI)
	m := Machine{Semantics: s, Word: word}
	w.rust = s == RustMinidump
	return m.Value(p, w)
}

// Every operator, at both widths, for both consumers. "fail" and "crash" are outcomes too.
func TestOperators(t *testing.T) {
	const fail, crash = "fail", "crash"
	w := world{vars: map[string]uint64{"$a": 0xfffffffe, "a": 0xfffffffe, "sp": 0x1000}, limit: 1 << 63}
	for _, c := range []struct{ text, breakpad32, breakpad64, rust32, rust64 string }{
		{"2 3 +", "5", "5", "5", "5"},
		{"2 3 -", "ffffffff", "ffffffffffffffff", fail, "ffffffffffffffff"},
		{"65536 65537 *", "10000", "100010000", fail, "100010000"},
		{"$a 3 +", "1", "100000001", fail, "100000001"},
		{"7 2 /", "3", "3", "3", "3"},
		// Division is unsigned, so -8/4 is not -2.
		{"-8 4 /", "3ffffffe", "3ffffffffffffffe", fail, "3ffffffffffffffe"},
		{"-1 10 %", "5", "5", "5", "5"},
		{"7 4 %", "3", "3", "3", "3"},
		{"1 0 /", crash, crash, fail, fail},
		{"1 0 %", crash, crash, fail, fail},
		{"36 8 @", "20", "20", "20", "20"},
		{"37 6 @", "20", "20", fail, fail},
		{"37 0 @", "0", "0", fail, fail},
		{"37 1 @", "25", "25", "25", "25"},
		{"9 ^", "a", "a", "a", "a"},
		{"-1 ^", "0", fail, fail, fail},
		{"sp 8 +", "1008", "1008", "1008", "1008"},
		{"$sp 8 +", fail, fail, "1008", "1008"},
		// Literals.
		{"5", "5", "5", "5", "5"},
		{"+5", "5", "5", "5", "5"},
		{"-5", "fffffffb", "fffffffffffffffb", fail, "fffffffffffffffb"},
		{"--5", "5", "5", fail, fail},
		{"-+5 6 +", "1", "1", fail, fail},
		{"+-5", fail, fail, fail, fail},
		{"010", "a", "a", "a", "a"},
		{"0x10", fail, fail, fail, fail},
		{"1e3", fail, fail, fail, fail},
		{"1,000", fail, fail, fail, fail},
		{"4294967295", "ffffffff", "ffffffff", "ffffffff", "ffffffff"},
		{"4294967296", fail, "100000000", fail, "100000000"},
		{"4294967296 4294967296 -", fail, "0", "0", "0"},
		{"-4294967295", "1", "ffffffff00000001", fail, "ffffffff00000001"},
		{"9223372036854775808", fail, "8000000000000000", fail, fail},
		{"-9223372036854775808", fail, "8000000000000000", fail, "8000000000000000"},
		{"18446744073709551615", fail, "ffffffffffffffff", fail, fail},
		{"18446744073709551616", fail, fail, fail, fail},
		// Stack discipline.
		{"", fail, fail, fail, fail},
		{"1 2", fail, fail, fail, fail},
		{"+", fail, fail, fail, fail},
		{"1 +", fail, fail, fail, fail},
		{"^", fail, fail, fail, fail},
		// Names.
		{"$nobody", fail, fail, fail, fail},
		{".undef", fail, fail, fail, fail},
		{".cfa", fail, fail, fail, fail},
		{"x$a", fail, fail, "fffffffe", "fffffffe"},
		// Assignment belongs to STACK WIN, but Google's evaluator runs it in a rule too.
		{"$t 4 = $t 1 +", "5", "5", fail, fail},
		{"$t 4 =$t 1 +", "5", "5", fail, fail},
		{"$a 1 2 =$a +", fail, fail, fail, fail},
		{"1 =$a +", fail, fail, "ffffffff", "ffffffff"},
		{"$t 4 =", fail, fail, fail, fail},
		{"-5 3 =", crash, crash, fail, fail},
		{"--5 3 =", crash, crash, fail, fail},
		{"5 3 =", fail, fail, fail, fail},
	} {
		for _, run := range []struct {
			s    Semantics
			word int
			want string
		}{{Breakpad, 4, c.breakpad32}, {Breakpad, 8, c.breakpad64}, {RustMinidump, 4, c.rust32}, {RustMinidump, 8, c.rust64}} {
			v, f := value(t, run.s, run.word, c.text, w)
			got := strings.TrimLeft(hex(v), "0")
			switch {
			case f.Crash:
				got = crash
			case f.Failed():
				got = fail
			case got == "":
				got = "0"
			}
			if got != run.want {
				t.Errorf("%v, %d bytes, %q = %s (%v), want %s", run.s, run.word, c.text, got, f.Code, run.want)
			}
		}
	}
}

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	for i := range b {
		b[i] = digits[v>>(60-4*i)&15]
	}
	return string(b[:])
}

func TestFaults(t *testing.T) {
	w := world{vars: map[string]uint64{"$a": 1, "a": 1}, limit: 100}
	for _, c := range []struct {
		s     Semantics
		text  string
		code  FaultCode
		token string // where it is said to be
	}{
		{Breakpad, "$a +", NoOperand, "+"},
		{Breakpad, "$a $b +", UnknownName, "$b"},
		{Breakpad, "$a 1 + $b", NotOneValue, ""},
		{Breakpad, "100 ^", Unreadable, "^"},
		{Breakpad, "$a 0 /", DivisionByZero, "/"},
		{Breakpad, "4 5 =", NoTarget, "4"},
		{Breakpad, "-4 5 =", NullTarget, "-4"},
		{Breakpad, ".c 5 =", NoTarget, ".c"},
		{Breakpad, "$b", UnknownName, "$b"},
		{RustMinidump, "$a $b +", UnknownName, "$b"},
		{RustMinidump, "$a 3 @", AlignmentPower, "@"},
		{RustMinidump, "$a .undef +", Undefined, ".undef"},
		{RustMinidump, "$a 1 =", NoAssignment, "="},
		{RustMinidump, "--5", UnknownName, "--5"},
	} {
		p, _ := Compile([]byte(c.text), CFI)
		m := Machine{Semantics: c.s}
		wr := w
		wr.rust = c.s == RustMinidump
		_, f := m.Value(p, wr)
		off, end := p.Position(f)
		if f.Code != c.code || c.text[off:end] != c.token {
			t.Errorf("%v %q: %v at %q, want %v at %q", c.s, c.text, f.Code, c.text[off:end], c.code, c.token)
		}
	}
	narrow := Machine{Semantics: RustMinidump, Word: 4}
	p, _ := Compile([]byte("4294967295 1 +"), CFI)
	if _, f := narrow.Value(p, w); f.Code != TooWide {
		t.Errorf("a result of 33 bits on a 32-bit CPU: %v", f.Code)
	}
}

// The programs and situations that Google's own evaluator test has, in other words.
func TestEvaluateMode(t *testing.T) {
	w := world{vars: map[string]uint64{"$T1": 9, ".cbParams": 4}, limit: 1 << 32}
	for _, c := range []struct {
		text string
		ok   bool
		name string
		want uint64
	}{
		{"$sum 2 2 + =", true, "$sum", 4},
		{"$sum\t2\n2  +\r\n=", true, "$sum", 4},
		{"   $sum 2 2 + =   ", true, "$sum", 4},
		{"$d 9 6 - =", true, "$d", 3},
		{"$q 7 6 / =", true, "$q", 1},
		{"$m 9 6 % =", true, "$m", 3},
		{"$p 9 6 * =", true, "$p", 54},
		{"$l 9 ^ =", true, "$l", 10},
		{"$al 36 8 @ =", true, "$al", 32},
		{"$x 9 6 * =$y $x 1 + =", true, "$y", 55},
		{"$x 1 = $x 2 =", true, "$x", 2},
		{"$T1 $T1 1 + =", true, "$T1", 10},
		{"$p .cbParams 8 + =", true, "$p", 12},
		{"$w 0 1 - =", true, "$w", 0xffffffff},
		{"99", false, "", 0},
		{"2 2 +", false, "", 0},
		{"$T1", false, "", 0},
		{"2 =", false, "", 0},
		{"2 2 =", false, "", 0},
		{"k 2 =", false, "", 0},
		{".cbParams 2 =", false, "", 0},
		{"+", false, "", 0},
		{"^", false, "", 0},
		{"=", false, "", 0},
		{"$T0 2 = +", false, "$T0", 2},
		{"$T2 $T2 2 + =", false, "", 0},
		// A failure does not take back what was assigned before it.
		{"$x 3 = $y $nobody =", false, "$x", 3},
		// The old value is read although the name was pushed before: names are resolved when used.
		{"$u 1 = $v $u $u 5 = = ", true, "$v", 5},
	} {
		p, _ := Compile([]byte(c.text), Win)
		var m Machine
		f := m.Run(p, w)
		if f.Failed() == c.ok {
			t.Errorf("%q: %v", c.text, f.Code)
		}
		if c.name != "" {
			if v, state := m.Variable(c.name); state != Assigned || v != c.want {
				t.Errorf("%q: %s = %d (state %d), want %d", c.text, c.name, v, state, c.want)
			}
		}
		if v, state := m.Variable("$never"); state != Untouched || v != 0 {
			t.Errorf("%q assigned $never", c.text)
		}
	}
}

// One failing program leaves nothing behind that the next could trip over.
func TestMachineStartsAfresh(t *testing.T) {
	var m Machine
	w := world{vars: map[string]uint64{"$a": 1}, limit: 10}
	bad, _ := Compile([]byte("$x 7 = 1 2 3 $y"), Win)
	good, _ := Compile([]byte("$a 1 +"), CFI)
	user, _ := Compile([]byte("$y $x ="), Win)
	if f := m.Run(bad, w); f.Code != NotEmpty {
		t.Fatal(f.Code)
	}
	if v, f := m.Value(good, w); f.Failed() || v != 2 {
		t.Errorf("%d, %v", v, f.Code)
	}
	if _, state := m.Variable("$x"); state != Untouched {
		t.Error("a program without assignments knows those of another")
	}
	if f := m.Run(user, w); f.Code != UnknownName {
		t.Errorf("$x is still known: %v", f.Code)
	}
}

// A standard frame as MSVC describes it.
func TestFrameDataProgram(t *testing.T) {
	const text = "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $L $T0 .cbSavedRegs - = $P $T0 8 + .cbParams + ="
	stack := memory{0x2000: 0x3000, 0x2004: 0x401234}
	env := struct {
		world
		memory
	}{world{vars: map[string]uint64{"$ebp": 0x2000, "$esp": 0x1f00, ".cbSavedRegs": 4, ".cbParams": 12}}, stack}
	for _, s := range []Semantics{Breakpad, RustMinidump} {
		p, err := Compile([]byte(text), Win)
		if err != nil {
			t.Fatal(err)
		}
		m := Machine{Semantics: s}
		if f := m.Run(p, mixed{env.world, env.memory}); f.Failed() {
			t.Fatalf("%v: %v", s, f.Code)
		}
		for name, want := range map[string]uint64{"$T0": 0x2000, "$eip": 0x401234, "$ebp": 0x3000, "$esp": 0x2008, "$L": 0x1ffc, "$P": 0x2014} {
			if v, state := m.Variable(name); state != Assigned || v != want {
				t.Errorf("%v: %s = %#x, want %#x", s, name, v, want)
			}
		}
	}
}

type memory map[uint64]uint64

type mixed struct {
	world
	memory
}

func (m mixed) Load(a uint64) (uint64, bool) { v, ok := m.memory[a]; return v, ok }

// STACK WIN as rust-minidump sees it, where it differs.
func TestRustWin(t *testing.T) {
	w := world{vars: map[string]uint64{"$esp": 16, "$ebp": 8, ".cbLocals": 4}, limit: 1 << 32}
	for _, c := range []struct {
		text  string
		code  FaultCode
		name  string
		state State
		want  uint64
	}{
		{"$esp 20 = 7", NoFault, "$esp", Assigned, 20}, // what is left does not matter
		{".cbLocals 9 =", NoFault, ".cbLocals", Assigned, 9},
		{"$ebp .undef =", NoFault, "$ebp", Deleted, 0},
		{"$ebp .undef = $x $ebp =", UnknownName, "$x", Untouched, 0},
		{"$x sp =", UnknownName, "", Untouched, 0},
		{"$x 2147483648 =", UnknownName, "", Untouched, 0},
		{"$x -2147483648 =", NoFault, "$x", Assigned, 0x80000000},
		{"$x 5 3 @ =", AlignmentPower, "", Untouched, 0},
		{"5 $esp =", NoTarget, "", Untouched, 0},
		{"$x .undef 1 + =", Undefined, "", Untouched, 0},
		{"$esp 4 =$ebp 5 =", NoFault, "$ebp", Assigned, 5},
	} {
		p, _ := Compile([]byte(c.text), Win)
		m := Machine{Semantics: RustMinidump}
		if f := m.Run(p, w); f.Code != c.code {
			t.Errorf("%q: %v, want %v", c.text, f.Code, c.code)
		}
		if c.name == "" {
			continue
		}
		if v, state := m.Variable(c.name); state != c.state || v != c.want {
			t.Errorf("%q: %s = %d, state %d", c.text, c.name, v, state)
		}
	}
}

// A hostile program fails instead of filling the memory, and is reported as what it is.
func TestDepth(t *testing.T) {
	text := strings.Repeat("1 ", 100000) + strings.Repeat("+ ", 99999)
	p, err := Compile([]byte(text), CFI)
	if err != nil || p.Depth != 100000 {
		t.Fatalf("%v, depth %d", err, p.Depth)
	}
	for _, s := range []Semantics{Breakpad, RustMinidump} {
		m := Machine{Semantics: s}
		if _, f := m.Value(p, world{}); f.Code != TooDeep || f.Op != MaxDepth {
			t.Errorf("%v: %v at %d", s, f.Code, f.Op)
		}
		if cap(m.stack) > 2*MaxDepth {
			t.Errorf("%v: a stack of %d", s, cap(m.stack))
		}
	}
}
