package postfix

import (
	"fmt"
	"strings"
	"testing"
)

// show renders a list as "name=expr|… /accepted problems".
func show(text string, l *RuleList) string {
	var rules, problems []string
	for _, r := range l.Rules {
		rules = append(rules, string(r.Name([]byte(text)))+"="+string(r.Expr([]byte(text))))
	}
	for _, p := range l.Problems {
		problems = append(problems, fmt.Sprintf("%v %q", p.Code, text[p.Off:p.End]))
	}
	return strings.TrimSpace(fmt.Sprintf("%s /%d %s", strings.Join(rules, "|"), l.Accepted, strings.Join(problems, "; ")))
}

func TestParseRules(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{".cfa: $rsp 8 + .ra: .cfa -8 + ^", `.cfa=$rsp 8 +|.ra=.cfa -8 + ^ /2`},
		{"  \t.cfa:\r\n$rsp\t8 +  ", `.cfa=$rsp` + "\t" + `8 + /1`},
		{"x29: .cfa -16 + ^ x30: .cfa -8 + ^", `x29=.cfa -16 + ^|x30=.cfa -8 + ^ /2`},
		{"", `/0 no-rules ""`},
		{" \t ", `/0 no-rules " \t "`},
		{":", `/0 lone-colon ":"`},
		{".cfa", `/0 no-name ".cfa"`},
		{".ra", `/0 no-name ".ra"`},
		{"$rax 8 +", `/0 no-name "$rax 8 +"`},
		{".cfa:", `.cfa= /0 empty-expression ".cfa:"`},
		{".cfa: .ra: 0", `.cfa=|.ra=0 /0 empty-expression ".cfa:"`},
		{"$a: 1 $b: $c: 3", `$a=1|$b=|$c=3 /1 empty-expression "$b:"`},
		{"$a: 1 $b:", `$a=1|$b= /1 empty-expression "$b:"`},
		{"1 2 $a: 3 4", `$a=3 4 /0 no-name "1 2"`},
		// A lone colon fails before the pending rule is handed on.
		{"$a: 1 $b: 2 : $c: 3", `$a=1|$b=2|$c=3 /1 lone-colon ":"`},
		{"$a: 1 : 5 $b: 2", `$a=1|$b=2 /0 lone-colon ":"`},
		{": $b: 2", `$b=2 /0 lone-colon ":"`},
		// Hints.
		{".cfa: $esp .ra 0", `.cfa=$esp .ra 0 /1 missing-colon ".ra"`},
		{".cfa: $esp 4 + .ra .cfa 4 - ^", `.cfa=$esp 4 + .ra .cfa 4 - ^ /1 missing-colon ".ra"`},
		{".cfa: $rsp 8 + $rbp .cfa 16 - ^ .ra: .cfa 8 - ^", `.cfa=$rsp 8 + $rbp .cfa 16 - ^|.ra=.cfa 8 - ^ /2 missing-colon "$rbp"`},
		{".ra: .ra", `.ra=.ra /1`},
		{"$rbx: 8 .ra +", `$rbx=8 .ra + /1`},
		{"$rbx: $rsp 8 8", `$rbx=$rsp 8 8 /1`},
		{".cfa: $t 4 = $t", `.cfa=$t 4 = $t /1`},
		{".cfa:$esp 4 +", `/0 no-name ".cfa:$esp 4 +"; glued-colon ".cfa:$esp"`},
		{".cfa: $esp 4 + .ra:.cfa 4 - ^", `.cfa=$esp 4 + .ra:.cfa 4 - ^ /1 glued-colon ".ra:.cfa"`},
		{".cfa:: $esp", `.cfa:=$esp /1 double-colon ".cfa::"`},
		{"$a: 1 $a: 2", `$a=1|$a=2 /2 repeated "$a:"`},
		// The rule parser does not split at VT and FF.
		{".cfa:\v$rsp", `/0 no-name ".cfa:\v$rsp"; glued-colon ".cfa:\v$rsp"`},
	} {
		l := ParseRules([]byte(c.text))
		if got := show(c.text, &l); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
		fatal := false
		for _, p := range l.Problems {
			fatal = fatal || !p.Code.Hint()
		}
		if l.OK() == fatal {
			t.Errorf("%q: OK %v", c.text, l.OK())
		}
	}
}

// directParse is Google's CFIRuleParser on strings: what it hands on, and whether it succeeds.
func directParse(text string) (rules [][2]string, ok bool) {
	name, expr := "", ""
	report := func() bool {
		if name == "" || expr == "" {
			return false
		}
		rules = append(rules, [2]string{name, expr})
		return true
	}
	for _, token := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }) {
		if !strings.HasSuffix(token, ":") {
			expr = strings.TrimPrefix(expr+" "+token, " ")
			continue
		}
		if token == ":" {
			return rules, false
		}
		if (name != "" || expr != "") && !report() {
			return rules, false
		}
		name, expr = strings.TrimSuffix(token, ":"), ""
	}
	return rules, report()
}

func checkRules(t *testing.T, text string, l *RuleList) {
	t.Helper()
	l.Parse([]byte(text))
	want, ok := directParse(text)
	if l.OK() != ok || l.Accepted != len(want) {
		t.Fatalf("%q: OK %v, %d accepted; want %v, %d", text, l.OK(), l.Accepted, ok, len(want))
	}
	last := 0
	for i, r := range l.Rules {
		if r.NameOff < last || r.NameEnd <= r.NameOff || r.ExprOff <= r.NameEnd || r.ExprEnd < r.ExprOff || r.ExprEnd > len(text) {
			t.Fatalf("%q: rule %+v", text, r)
		}
		last = r.ExprEnd
		if i >= len(want) {
			continue
		}
		expr := strings.FieldsFunc(string(r.Expr([]byte(text))), func(c rune) bool { return strings.ContainsRune(" \t\r\n", c) })
		if string(r.Name([]byte(text))) != want[i][0] || strings.Join(expr, " ") != want[i][1] {
			t.Fatalf("%q: rule %d is %q %q", text, i, r.Name([]byte(text)), r.Expr([]byte(text)))
		}
	}
	for _, p := range l.Problems {
		if p.Off < 0 || p.End < p.Off || p.End > len(text) {
			t.Fatalf("%q: problem %+v", text, p)
		}
	}
}

func TestManyRules(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "$r%d: %d ", i%2500, i)
	}
	l := ParseRules([]byte(b.String()))
	repeated := 0
	for _, p := range l.Problems {
		if p.Code == Repeated {
			repeated++
		}
	}
	if l.Accepted != 5000 || repeated != 2500 {
		t.Errorf("%d accepted, %d repeated", l.Accepted, repeated)
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	text := []byte(".cfa: $rsp 24 + $rbx: .cfa -24 + ^ $rbp: .cfa -16 + ^ .ra: .cfa -8 + ^")
	var l RuleList
	l.Parse(text)
	if n := testing.AllocsPerRun(100, func() { l.Parse(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
