package symfile

import (
	"strings"
	"testing"
)

func TestCFIAlternatives(t *testing.T) {
	text := strings.Join([]string{
		"MODULE Linux x86_64 0123456789ABCDEFFEDCBA98765432100 a",
		"STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^",  // line 2
		"STACK CFI INIT 1008 20 .cfa: $rsp 16 + .ra: .cfa -8 + ^", // overlaps: dropped by the reader
		"STACK CFI 100a .cfa: $rsp 24 +",                          // its delta applies to the first all the same
		"STACK CFI INIT 2000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^",
	}, "\n") + "\n"
	m := Load([]byte(text), Options{})
	if c := m.CFI(0x100c); c == nil || c.Addr != 0x1000 || len(c.Rows) != 2 {
		t.Fatalf("the reader's rules are %+v", c)
	}
	got := m.CFIAlternatives(0x100c)
	if len(got) != 2 {
		t.Fatalf("%d alternatives, want 2", len(got))
	}
	for i, want := range []string{"$rsp 8 +", "$rsp 24 +"} {
		if r, _ := got[i].Rule(".cfa"); r.Expr != want {
			t.Errorf("alternative %d has .cfa: %s, want %s", i, r.Expr, want)
		}
	}
	if got := m.CFIAlternatives(0x2004); len(got) != 1 || got[0].Rows[0].Line != 5 {
		t.Errorf("a healthy place has %d alternatives", len(got))
	}
	if got := m.CFIAlternatives(0x3000); got != nil {
		t.Errorf("nothing covers the address, got %d", len(got))
	}
}
