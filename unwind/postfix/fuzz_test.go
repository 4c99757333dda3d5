package postfix

import "testing"

var seeds = []string{
	"", "$rsp 8 +", ".cfa -8 + ^", ".undef", "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =",
	"$T0 $ebp 128 + =$eip $T0 4 + ^ =$ebp $T0 ^ =", "-4 5 =", "--5", "+-5 0 /", "==2 = =", "18446744073709551616 1 +",
	"8 $rsp + ^", "\x00\xff \v$rsp\f8 +", "0x10 1e3 &", "$a .undef = $a", "=$ =. ==",
}

func FuzzEvaluate(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, win bool) {
		d := CFI
		if win {
			d = Win
		}
		// The direct interpreters split at white space of all Unicode, the compiler at that of C.
		for i := range len(text) {
			if text[i] >= 0x80 || text[i] == 0 || text[i] == '\v' {
				checkCompile(t, text, d)
				return
			}
		}
		var m Machine
		compare(t, text, d, &m)
		checkCompile(t, text, d)
	})
}

func checkCompile(t *testing.T, text string, d Dialect) {
	t.Helper()
	p, _ := Compile([]byte(text), d)
	last := 0
	for i, op := range p.Ops {
		if int(op.Off) < last || op.End <= op.Off || int(op.End) > len(text) {
			t.Fatalf("%q: operation %d at %d-%d", text, i, op.Off, op.End)
		}
		last = int(op.End)
		if op.Code == Var && p.Names[op.Name].Text != p.Token(i) {
			t.Fatalf("%q: operation %d has the wrong name", text, i)
		}
	}
	for _, word := range []int{4, 8} {
		for _, e := range p.Check(word) {
			if e.Token != text[e.Off:e.End] || e.Message == "" {
				t.Fatalf("%q: %+v", text, e)
			}
		}
	}
	checkShape(t, text)
}

func FuzzParseRules(f *testing.F) {
	for _, s := range []string{
		".cfa: $rsp 8 + .ra: .cfa -8 + ^", ".cfa: $esp .ra 0", ":", "a: 1 : b: 2", "a: b: c", "1 2 a: 3", ".cfa:$esp", "a:: 1", "", "a: \v",
		".cfa: $rsp 8 + $rbp .cfa 16 - ^", ".cfa: = =",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var l RuleList
		checkRules(t, text, &l)
		for _, r := range l.Rules {
			checkCompile(t, string(r.Expr([]byte(text))), CFI)
		}
		var c Cache
		var set RuleSet
		var row Row
		if set.Apply([]byte(text), &c) != l.OK() {
			t.Fatalf("%q: Apply", text)
		}
		set.Evaluate(&Machine{Word: 4}, world{}, &row)
	})
}
