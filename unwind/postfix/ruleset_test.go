package postfix

import "testing"

func ruleSet(t *testing.T, s Semantics, texts ...string) *RuleSet {
	t.Helper()
	var c Cache
	set := &RuleSet{Semantics: s}
	for _, text := range texts {
		set.Apply([]byte(text), &c)
	}
	return set
}

func recovered(set *RuleSet, row *Row, name string) (Recovered, bool) {
	for i, r := range set.Registers {
		if r.Name == name && i < len(row.Registers) {
			return row.Registers[i], true
		}
	}
	return Recovered{}, false
}

func TestRuleSetRow(t *testing.T) {
	stack := memory{0x1000: 0x77, 0x1008: 0x401000}
	env := mixed{world{vars: map[string]uint64{"$rsp": 0x1000, "$rbp": 0x5000, "$rbx": 9}}, stack}
	set := ruleSet(t, Breakpad, ".cfa: $rsp 8 + .ra: .cfa -8 + ^", ".cfa: $rsp 16 + $rbp: .cfa -16 + ^ $rbx: $rbx 1 +")
	var row Row
	p, f := set.Evaluate(&Machine{}, env, &row)
	if p != nil || f.Failed() || row.CFA != 0x1010 || row.RA != 0x401000 {
		t.Fatalf("%v: CFA %#x RA %#x", f.Code, row.CFA, row.RA)
	}
	for name, want := range map[string]uint64{"$rbp": 0x77, "$rbx": 10} {
		if r, ok := recovered(set, &row, name); !ok || r.Fault.Failed() || r.Value != want {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Who sees whom, by Google's FindCallerRegs.
func TestRuleSetScope(t *testing.T) {
	env := mixed{world{vars: map[string]uint64{"$rsp": 0x1000, "$rbx": 9}}, memory{}}
	for _, c := range []struct {
		text string
		code FaultCode // of the set
		reg  FaultCode // of $r, if there is a rule for it
	}{
		{".cfa: 1 .ra: 2", NoFault, NoFault},
		{".ra: 2", MissingCFA, NoFault},
		{".cfa: 1", MissingRA, NoFault},
		{".cfa: .cfa 8 + .ra: 2", UnknownName, NoFault},
		{".cfa: .ra .ra: 2", UnknownName, NoFault},
		{".cfa: $rsp .ra: .cfa", NoFault, NoFault},
		{".cfa: $rsp .ra: .ra", UnknownName, NoFault},
		{".cfa: $rsp .ra: $r $r: 1", UnknownName, NoFault},
		{".cfa: $rsp .ra: $rbx $r: .cfa 1 +", NoFault, NoFault},
		{".cfa: $rsp .ra: 1 $r: .ra", NoFault, UnknownName},
		{".cfa: $rsp .ra: 1 $q: 5 $r: $q", NoFault, UnknownName},
		{".cfa: $t 1 = $t .ra: $t", UnknownName, NoFault},
		{".cfa: 1 .ra: 2 $q: $t 3 = $t $r: $t", NoFault, UnknownName},
		{".cfa: .undef .ra: 2", UnknownName, NoFault},
		{".cfa: 1 .ra: 2 $r: .undef", NoFault, UnknownName},
		{".cfa: 1 .ra: 2 $r: 1 0 /", NoFault, DivisionByZero},
	} {
		set := ruleSet(t, Breakpad, c.text)
		var row Row
		p, f := set.Evaluate(&Machine{}, env, &row)
		if f.Code != c.code {
			t.Errorf("%q: %v, want %v", c.text, f.Code, c.code)
		}
		if missing := f.Code == MissingCFA || f.Code == MissingRA; f.Failed() && (p == nil) != missing {
			t.Errorf("%q: failing program %v", c.text, p)
		}
		if r, ok := recovered(set, &row, "$r"); ok && !f.Failed() && r.Fault.Code != c.reg {
			t.Errorf("%q: $r %v, want %v", c.text, r.Fault.Code, c.reg)
		}
	}
}

// The value of .cfa does not outlive the row it belongs to.
func TestRuleSetLeavesNoCFA(t *testing.T) {
	env := mixed{world{}, memory{}}
	var m Machine
	var row Row
	ruleSet(t, Breakpad, ".cfa: 4096 .ra: 1").Evaluate(&m, env, &row)
	if _, f := ruleSet(t, Breakpad, ".cfa: .cfa .ra: 1").Evaluate(&m, env, &row); f.Code != UnknownName {
		t.Errorf("%v", f.Code)
	}
	p, _ := Compile([]byte(".cfa"), CFI)
	if _, f := m.Value(p, env); f.Code != UnknownName {
		t.Errorf("%v", f.Code)
	}
}

func TestRuleSetApply(t *testing.T) {
	var c Cache
	set := RuleSet{}
	if !set.Apply([]byte(".cfa: $rsp 8 + .ra: 1 $rbx: 2"), &c) {
		t.Fatal("a good text fails")
	}
	// What stands before the failure is in force, the rest is not.
	if set.Apply([]byte("$rbx: 3 $rbp: 4 $r12: $r13: 5"), &c) {
		t.Fatal("an empty expression passes")
	}
	for name, want := range map[string]string{".cfa": "$rsp 8 +", "$rbx": "3", "$rbp": "4", "$r12": "", "$r13": ""} {
		got := ""
		if p := set.Rule(name); p != nil {
			got = p.Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	// Within one text the last rule for a name counts.
	if !set.Apply([]byte("$rbx: 6 $rbx: 7"), &c) || set.Rule("$rbx").Text != "7" || len(set.Registers) != 2 {
		t.Errorf("%q, %d registers", set.Rule("$rbx").Text, len(set.Registers))
	}
	set.Reset()
	if set.CFA != nil || set.RA != nil || len(set.Registers) != 0 {
		t.Error("Reset")
	}
}

// rust-minidump: the '$' of a name is optional, and a 64-bit result is none for a 32-bit register.
func TestRuleSetRust(t *testing.T) {
	env := mixed{world{vars: map[string]uint64{"esp": 0x1000}, rust: true}, memory{}}
	set := ruleSet(t, RustMinidump, ".cfa: $esp 4 + .ra: 1 $ebx: 2", "ebx: 4294967295 1 +")
	if len(set.Registers) != 1 || set.Registers[0].Name != "ebx" || set.Rule("$ebx").Text != "4294967295 1 +" {
		t.Fatalf("%+v", set.Registers)
	}
	var row Row
	m := Machine{Semantics: RustMinidump, Word: 4}
	if _, f := set.Evaluate(&m, env, &row); f.Failed() || row.CFA != 0x1004 || row.Registers[0].Fault.Code != TooWide {
		t.Errorf("%v, CFA %#x, %v", f.Code, row.CFA, row.Registers[0].Fault.Code)
	}
	set = ruleSet(t, RustMinidump, ".cfa: esp 4294967295 + .ra: 1")
	if p, f := set.Evaluate(&m, env, &row); f.Code != TooWide || p != set.CFA {
		t.Errorf("%v", f.Code)
	}
}

func TestCache(t *testing.T) {
	bound := 0
	c := Cache{Bind: func(string) int32 { bound++; return 7 }}
	text := []byte("$rsp 8 +")
	p := c.Program(text, CFI)
	text2 := []byte("$rsp 8 +")
	if c.Program(text2, CFI) != p || bound != 1 || p.Names[0].Slot != 7 {
		t.Error("compiled twice")
	}
	if c.Program(text2, Win) == p {
		t.Error("one program for two dialects")
	}
	text[0] = 'x'
	if p.Text != "$rsp 8 +" || c.Program(text2, CFI) != p {
		t.Error("the cache holds on to the caller's bytes")
	}
}
