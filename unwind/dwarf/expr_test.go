package dwarf

import (
	"errors"
	"strings"
	"testing"
)

// testEnv has 40 registers (register n holds 0x1000*n, register 20 the largest value) and memory from 0x8000 on whose
// bytes are the low bytes of their addresses.
type testEnv struct{ big bool }

func (e *testEnv) Register(n uint64) (uint64, bool) {
	if n == 20 {
		return ^uint64(0), true
	}
	return 0x1000 * n, n < 40
}

func (e *testEnv) Load(addr uint64, size int) (uint64, bool) {
	if addr < 0x8000 || addr+uint64(size) > 0x9000 {
		return 0, false
	}
	var v uint64
	for i := range uint64(size) {
		if e.big {
			v = v<<8 | (addr+i)&0xff
		} else {
			v |= (addr + i) & 0xff << (8 * i)
		}
	}
	return v, true
}

// assemble turns names and numbers into an expression: "lit3 const1u:200 bra:-4". What comes behind ':' is written as
// the operation has it.
func assemble(t testing.TB, text string, word int, big bool) []byte {
	t.Helper()
	names := map[string]byte{}
	for code, name := range opNames {
		names[name] = code
	}
	a := asm{word: word, big: big}
	for _, f := range strings.Fields(text) {
		name, operand, _ := strings.Cut(f, ":")
		var n, m int64
		first, second, _ := strings.Cut(operand, ",")
		for _, v := range []struct {
			to   *int64
			text string
		}{{&n, first}, {&m, second}} {
			if v.text != "" {
				neg := strings.HasPrefix(v.text, "-")
				u := parseHex(t, strings.TrimPrefix(v.text, "-"))
				if *v.to = int64(u); neg {
					*v.to = -int64(u)
				}
			}
		}
		for prefix, base := range map[string]byte{"lit": opLit0, "breg": opBreg0, "reg": opReg0} {
			if number, ok := strings.CutPrefix(name, prefix); ok && number != "x" {
				a.u8(base + byte(parseHex(t, number)))
				if base == opBreg0 {
					a.sleb(n)
				}
				name = ""
				break
			}
		}
		if name == "" {
			continue
		}
		code, ok := names[name]
		if !ok {
			t.Fatalf("no operation %q", name)
		}
		a.u8(code)
		switch code {
		case opAddr:
			a.addr(uint64(n))
		case opConst1u, opConst1s, opPick, opDerefSize:
			a.u8(byte(n))
		case opConst2u, opConst2s, opBra, opSkip:
			a.u16(uint16(n))
		case opConst4u, opConst4s:
			a.u32(uint32(n))
		case opConst8u, opConst8s:
			a.u64(uint64(n))
		case opConstu, opPlusUconst, opRegx:
			a.uleb(uint64(n))
		case opConsts:
			a.sleb(n)
		case opBregx:
			a.uleb(uint64(n)).sleb(m)
		}
	}
	return a.b
}

// Expressions and their values, all numbers hexadecimal. Those of 4-byte words are the low halves unless given.
var exprTests = []struct {
	text  string
	want  uint64
	want4 uint64 // 0: low half of want
}{
	{"lit0", 0, 0}, {"lit1f", 31, 0}, {"addr:12345678", 0x12345678, 0},
	{"const1u:ff", 0xff, 0}, {"const1s:-1", ^uint64(0), 0}, {"const2u:ffff", 0xffff, 0}, {"const2s:-2", ^uint64(1), 0},
	{"const4u:80000000", 0x80000000, 0}, {"const4s:80000000", 0xffffffff80000000, 0},
	{"const8u:123456789abcdef0", 0x123456789abcdef0, 0}, {"const8s:-10", ^uint64(15), 0},
	{"constu:4000", 0x4000, 0}, {"consts:-4000", ^uint64(0x3fff), 0},
	{"lit1 dup plus", 2, 0}, {"lit5 lit1 drop", 5, 0}, {"lit5 lit1 over", 5, 0}, {"lit7 lit6 lit5 pick:2", 7, 0},
	{"lit7 lit6 lit5 pick:0", 5, 0}, {"lit5 lit1 swap minus", ^uint64(3), 0},
	{"lit1 lit2 lit3 rot drop", 1, 0}, {"lit1 lit2 lit3 rot", 2, 0}, {"lit1 lit2 lit3 rot drop drop", 3, 0},
	{"const1s:-5 abs", 5, 0}, {"lit5 abs", 5, 0}, {"lit5 neg", ^uint64(4), 0}, {"lit0 not", ^uint64(0), 0},
	{"const1u:cc const1u:aa and", 0x88, 0}, {"const1u:cc const1u:aa or", 0xee, 0}, {"const1u:cc const1u:aa xor", 0x66, 0},
	{"lit14 lit3 div", 6, 0}, {"const1s:-14 lit3 div", ^uint64(5), 0}, {"lit14 const1s:-3 div", ^uint64(5), 0},
	{"lit14 lit6 minus", 14, 0}, {"lit6 lit14 minus", ^uint64(13), 0}, {"lit14 lit6 mod", 2, 0},
	{"const1s:-1 lit10 mod", 15, 0}, {"lit14 lit6 mul", 120, 0}, {"lit14 lit6 plus", 26, 0},
	{"lit14 plus_uconst:1000", 0x1014, 0}, {"const1s:-1 lit1 plus", 0, 0},
	{"lit1 lit1f shl", 0x80000000, 0}, {"lit1 const1u:3f shl", 1 << 63, 0}, {"lit1 const1u:40 shl", 0, 0},
	{"const1s:-10 lit4 shr", 0x0fffffffffffffff, 0x0fffffff}, {"const1s:-10 lit4 shra", ^uint64(0), 0},
	{"const1s:-1 const1u:40 shr", 0, 0}, {"const1s:-1 const1u:50 shra", ^uint64(0), 0}, {"lit10 const1u:50 shra", 0, 0},
	{"const1s:-1 lit1 lt", 1, 0}, {"const1s:-1 lit1 gt", 0, 0}, {"lit1 lit1 le", 1, 0}, {"lit1 lit1 lt", 0, 0},
	{"lit1 lit1 ge", 1, 0}, {"lit2 lit1 gt", 1, 0}, {"lit2 lit1 ge", 1, 0}, {"lit1 lit2 ge", 0, 0}, {"lit2 lit1 le", 0, 0},
	{"lit1 lit1 eq", 1, 0}, {"lit1 lit2 eq", 0, 0}, {"lit1 lit2 ne", 1, 0}, {"lit1 lit1 ne", 0, 0},
	{"breg3:10", 0x3010, 0}, {"breg3:-10", 0x2ff0, 0}, {"bregx:25,-1", 0x24fff, 0}, {"reg4", 0x4000, 0},
	{"regx:5", 0x5000, 0}, {"breg14:0", ^uint64(0), 0},
	{"nop lit1 nop", 1, 0}, {"call_frame_cfa", 0x4444, 0}, {"lit1 skip:1 lit2 lit3 plus", 4, 0},
	{"lit3 lit1 bra:1 lit9 lit5 plus", 8, 0}, {"lit3 lit0 bra:1 lit9 lit5 plus", 14, 0},
	{"lit0 lita swap lit1 plus swap lit1 minus dup bra:-9 drop", 10, 0}, // a loop that counts to ten
	{"breg8:20 deref_size:1", 0x20, 0},
	// The procedure linkage table of x86-64, with the pc in its first and in its second half.
	{"breg7:8 breg10:2 litf and litb ge lit3 shl plus", 0x7008, 0},
	{"breg7:8 breg10:c litf and litb ge lit3 shl plus", 0x7010, 0},
}

func TestEvaluate(t *testing.T) {
	for _, word := range []int{4, 8} {
		for _, big := range []bool{false, true} {
			ctx := ExprContext{Word: word, BigEndian: big, CFA: 0x4444, HasCFA: true}
			for _, test := range exprTests {
				if word == 4 && strings.Contains(test.text, "const1u:3f shl") {
					continue
				}
				want := mask(test.want, word)
				if word == 4 && test.want4 != 0 {
					want = test.want4
				}
				got, err := Evaluate(ctx, assemble(t, test.text, word, big), &testEnv{big})
				if err != nil || got != want {
					t.Errorf("%s, word %d: 0x%x, %v; want 0x%x", test.text, word, got, err, want)
				}
			}
		}
	}
	for _, test := range []struct {
		text string
		word int
		big  bool
		want uint64
	}{
		{"breg8:20 deref", 8, false, 0x2726252423222120}, {"breg8:20 deref", 8, true, 0x2021222324252627},
		{"breg8:20 deref", 4, false, 0x23222120}, {"breg8:20 deref", 4, true, 0x20212223},
		{"breg8:20 deref_size:2", 4, true, 0x2021}, {"breg8:20 deref_size:4", 8, false, 0x23222120},
		{"breg8:20 deref_size:8", 8, false, 0x2726252423222120},
	} {
		got, err := Evaluate(ExprContext{Word: test.word, BigEndian: test.big}, assemble(t, test.text, test.word, test.big),
			&testEnv{test.big})
		if err != nil || got != test.want {
			t.Errorf("%s: 0x%x, %v; want 0x%x", test.text, got, err, test.want)
		}
	}
	got, err := Evaluate(ExprContext{Word: 4}, assemble(t, "plus", 4, false), &testEnv{}, 0x1ffffffff, 3)
	if err != nil || got != 2 {
		t.Errorf("initial values: 0x%x, %v", got, err)
	}
	if got, err = Evaluate(ExprContext{Word: 8}, nil, &testEnv{}, 7); err != nil || got != 7 {
		t.Errorf("no operations: 0x%x, %v", got, err)
	}
}

func TestEvaluateErrors(t *testing.T) {
	tests := []struct {
		text string
		at   int
		want string
	}{
		{"", 0, "empty at the end"}, {"lit1 drop", 1, "empty at the end"}, {"plus", 0, "stack is empty"},
		{"lit1 plus", 1, "stack is empty"}, {"lit1 over", 1, "too few"}, {"lit1 pick:ff", 1, "too few"},
		{"lit1 swap", 1, "stack is empty"}, {"lit1 lit2 rot", 2, "stack is empty"}, {"bra:0", 0, "stack is empty"},
		{"lit1 lit0 div", 2, "division by zero"}, {"lit1 lit0 mod", 2, "division by zero"}, {"div", 0, "stack is empty"},
		{"skip:-3", 0, "too many steps"}, {"skip:-4", 0, "leaves"}, {"skip:1", 0, "leaves"},
		{"lit1 skip:-4 lit1", 4, "overflows"},
		{"breg1e:0 regx:28", 2, "register 40"}, {"bregx:28,0", 0, "register 40"}, {"lit1 deref", 1, "0x1 are not available"},
		{"breg8:0 deref_size:3", 2, "deref_size"}, {"breg8:0 deref_size:0", 2, "deref_size"},
		{"call_frame_cfa", 0, "CFA"}, {"lit1 piece", 1, "piece is not allowed"},
		{"entry_value", 0, "entry_value is not allowed"},
		{"stack_value", 0, "not allowed"}, {"call2", 0, "not allowed"}, {"xderef", 0, "not allowed"},
	}
	for _, test := range tests {
		_, err := Evaluate(ExprContext{Word: 8}, assemble(t, test.text, 8, false), &testEnv{})
		var e *ExprError
		if !errors.As(err, &e) || e.Offset != test.at && !strings.Contains(test.want, "overflows") ||
			!strings.Contains(e.Text, test.want) {
			t.Errorf("%q: %v, want %q at %d", test.text, err, test.want, test.at)
		}
	}
	for _, expr := range [][]byte{{opConst2u, 1}, {opConst8u, 1, 2, 3, 4, 5, 6, 7}, {opConstu, 0x80}, {opBreg0, 0x80},
		{opAddr, 1, 2}, {opBra}, {opLit0, opBra, 1}, {opConst1u}, {opPick}, {0x02}, {0xff}, {0xe0},
		{opConstu, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, {opLit0, opDerefSize, 8, 8}} {
		if v, err := Evaluate(ExprContext{Word: 4}, expr, &testEnv{}); err == nil {
			t.Errorf("% x: %d", expr, v)
		}
	}
	long := make([]byte, maxStack+1)
	for i := range long {
		long[i] = opLit1
	}
	if _, err := Evaluate(ExprContext{Word: 8}, long[:maxStack], &testEnv{}); err != nil {
		t.Error(err)
	}
	if _, err := Evaluate(ExprContext{Word: 8}, long, &testEnv{}); err == nil {
		t.Error("stack did not overflow")
	}
	for i := range long {
		long[i] = opNop
	}
	if v, err := Evaluate(ExprContext{Word: 8}, append([]byte{opLit0 + 9}, long...), &testEnv{}); err != nil || v != 9 {
		t.Error(v, err)
	}
}

const opLit1 = opLit0 + 1

func TestFormatExpr(t *testing.T) {
	name := func(n uint64) string {
		if n == 7 {
			return "rsp"
		}
		return ""
	}
	for _, test := range []struct{ text, want string }{
		{"breg7:8 breg10:0 litf and litb ge lit3 shl plus",
			"breg7(rsp)+8; breg16+0; lit15; and; lit11; ge; lit3; shl; plus"},
		{"reg7 regx:7 bregx:7,-2", "reg7(rsp); regx 7(rsp); bregx 7(rsp)-2"},
		{"addr:1234 const1u:ff const1s:ff const2u:fffe const2s:-2",
			"addr 0x1234; const1u 255; const1s -1; const2u 65534; const2s -2"},
		{"const4u:ffffffff const4s:-3 const8u:5 const8s:-5", "const4u 4294967295; const4s -3; const8u 5; const8s -5"},
		{"constu:10 consts:-10 plus_uconst:8 pick:3 deref_size:4",
			"constu 16; consts -16; plus_uconst 8; pick 3; deref_size 4"},
		{"lit0 bra:1 nop deref skip:-4", "lit0; bra to 5; nop; deref; skip to 5"}, {"", ""},
		{"dup fbreg", "dup; bytes 91"}, {"call_frame_cfa", "call_frame_cfa"},
	} {
		if got := FormatExpr(assemble(t, test.text, 8, true), 8, true, name); got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
	if got := FormatExpr([]byte{opLit0, opConst4u, 1}, 8, false, nil); got != "lit0; bytes 0c 01" {
		t.Error(got)
	}
}
