package postfix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func describe(errors []Error) string {
	var s []string
	for _, e := range errors {
		s = append(s, fmt.Sprintf("%v %q", e.Code, e.Token))
	}
	return strings.Join(s, "; ")
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		d    Dialect
		text string
		want string // at 64 bits
	}{
		{CFI, "$rsp 8 +", ""},
		{CFI, ".cfa -8 + ^", ""},
		{CFI, ".undef", ""},
		{CFI, "", `empty ""`},
		{CFI, " \t", `empty " \t"`},
		{CFI, "$rsp +", `underflow "+"`},
		{CFI, "+ +", `underflow "+"; underflow "+"`},
		{CFI, "^", `underflow "^"`},
		{CFI, "$esp .ra 0", `leftover ".ra 0"`},
		{CFI, "$rsp 8 + $rbp 1 +", `leftover "$rbp 1 +"`},
		{CFI, "$t 1 =", `assign-in-rule "="; no-value "$t 1 ="`},
		{CFI, "$rsp 0x10 +", `hex-literal "0x10"`},
		{CFI, "$rsp -0X1f +", `hex-literal "-0X1f"`},
		{CFI, "$rsp 1e3 +", `rough-literal "1e3"`},
		{CFI, "$rsp 8+", `rough-literal "8+"; leftover "8+"`},
		{CFI, "$rsp 18446744073709551616 +", `literal-range "18446744073709551616"`},
		{CFI, "$rsp 18446744073709551615 +", `literal-signed "18446744073709551615"`},
		{CFI, "$rsp --8 +", `literal-sign "--8"`},
		{CFI, "$rsp 8 &", `unknown-symbol "&"; leftover "8 &"`},
		{CFI, "$rsp 0 /", `divides-by-zero "/"`},
		{CFI, "$rsp 8 8 - %", `divides-by-zero "%"`},
		{CFI, "$rsp 8 /", ""},
		{CFI, "$rsp 16 @", ""},
		{CFI, "$rsp 12 @", `align-power "@"`},
		{CFI, "$rsp 0 @", `align-power "@"`},
		{CFI, "$rsp $rbp /", ""},
		{CFI, "-4 5 = 6", `assign-in-rule "="; assigns-literal "-4"`},
		{Win, "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =", ""},
		{Win, "$T0 $ebp 128 + =$eip $T0 4 + ^ =$ebp $T0 ^ =", `glued-assign "="; glued-assign "="`},
		{Win, "$T0 $ebp", `leftover "$T0 $ebp"`},
		{Win, "$T0 $ebp = $eip", `leftover "$eip"`},
		{Win, "4 $ebp =", `bad-assignment "4"`},
		{Win, "-4 $ebp =", `assigns-literal "-4"`},
		{Win, ".cbLocals 4 =", `bad-assignment ".cbLocals"`},
		{Win, "eip 4 =", `bad-assignment "eip"`},
		{Win, "1 2 + 4 =", `bad-assignment "="`},
		{Win, "$eip =", `underflow "="`},
		{Win, "=", `underflow "="`},
		{Win, "$a 4294967296 =", `literal-range "4294967296"`},
		{Win, "$a 4294967295 =", `literal-signed "4294967295"`},
		{Win, "$a 5 4294967295 1 + / =", `literal-signed "4294967295"; divides-by-zero "/"`},
	} {
		p, err := Compile([]byte(c.text), c.d)
		if got := describe(p.Check(8)); got != c.want {
			t.Errorf("%v %q:\n got %s\nwant %s", c.d, c.text, got, c.want)
		}
		first := slices.IndexFunc(p.Check(8), func(e Error) bool { return !e.Code.Hint() })
		if (err == nil) != (first < 0) || (err != nil && *err != p.Check(8)[first]) {
			t.Errorf("%v %q: Compile returns %v", c.d, c.text, err)
		}
		if err != nil && err.Error() == "" {
			t.Errorf("%q: no message", c.text)
		}
	}
}

// A literal of more than 32 bits is one on 64-bit CPUs only.
func TestCheckNarrow(t *testing.T) {
	p, err := Compile([]byte("$esp 4294967296 +"), CFI)
	if err != nil || len(p.Check(8)) != 0 {
		t.Errorf("64 bits: %v", describe(p.Check(8)))
	}
	if got := describe(p.Check(4)); got != `literal-range "4294967296"` {
		t.Errorf("32 bits: %s", got)
	}
	p, _ = Compile([]byte("$esp 8 +"), CFI)
	if got := p.Check(4); got != nil {
		t.Errorf("32 bits: %s", describe(got))
	}
}

func TestProgramParts(t *testing.T) {
	p, err := Compile([]byte("$T0 $ebp = $eip $T0 4 + ^ =$ebp $T2 ="), Win)
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		text           string
		reads, assigns int32
		first          bool
	}
	var got []part
	for _, n := range p.Names {
		got = append(got, part{n.Text, n.Reads, n.Assigns, n.ReadFirst})
	}
	want := []part{{"$T0", 1, 1, false}, {"$ebp", 1, 1, true}, {"$eip", 0, 1, false}, {"$T2", 1, 0, true}}
	if !slices.Equal(got, want) {
		t.Errorf("names %v, want %v", got, want)
	}
	if !p.Uses("$T2") || p.Uses("$eip") || p.Uses("$T9") {
		t.Error("Uses")
	}
	var ops, targets []string
	for i, op := range p.Ops {
		ops = append(ops, p.Token(i))
		if op.Flags&Target != 0 {
			targets = append(targets, fmt.Sprint(p.Token(i), "@", op.Off))
		}
	}
	if s := strings.Join(ops, " "); s != "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T2 =" {
		t.Errorf("operations %s", s)
	}
	if s := strings.Join(targets, " "); s != "$T0@0 $eip@11 $ebp@27" {
		t.Errorf("targets %s", s)
	}
	p.Bind(func(name string) int32 { return int32(len(name)) })
	if p.Names[0].Slot != 3 || p.Names[1].Slot != 4 {
		t.Error("Bind")
	}
}

func TestOperandOfDivision(t *testing.T) {
	p, _ := Compile([]byte("$rsp 4 4 + / $rbp 16 @ + $rax $rbx % +"), CFI)
	got := map[string]string{}
	for i, op := range p.Ops {
		if op.Code >= Div && op.Code <= Align {
			got[p.Token(i)] = fmt.Sprint(op.Flags&Constant != 0, " ", op.Value)
		}
	}
	for token, want := range map[string]string{"/": "true 8", "@": "true 16", "%": "false 0"} {
		if got[token] != want {
			t.Errorf("%s: %s, want %s", token, got[token], want)
		}
	}
}

func TestManyNames(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "$n%d ", i%1000)
	}
	b.WriteString(strings.Repeat("+ ", 2999))
	p, err := Compile([]byte(b.String()), CFI)
	if err != nil || len(p.Names) != 1000 || p.Names[999].Text != "$n999" || p.Names[999].Reads != 3 {
		t.Errorf("%v, %d names", err, len(p.Names))
	}
}
