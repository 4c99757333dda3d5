package postfix_test

import (
	"fmt"

	"github.com/symlint/symlint/unwind/postfix"
)

func ExampleParseRules() {
	text := []byte(".cfa: $rsp 16 + $rbp: .cfa -16 + ^ .ra: .cfa 8- ^")
	list := postfix.ParseRules(text)
	for _, rule := range list.Rules {
		p, err := postfix.Compile(rule.Expr(text), postfix.CFI)
		if err != nil {
			fmt.Printf("%s: %v\n", rule.Name(text), err)
			continue
		}
		fmt.Printf("%s: %v %s %+d\n", rule.Name(text), p.Shape.Kind, p.Base(), p.Shape.Offset)
	}
	// Output:
	// .cfa: register+offset $rsp +16
	// $rbp: load(cfa+offset) .cfa -16
	// .ra: 8- is no decimal number, so it is taken for a name that nobody defines
}

// frame is what a walker knows of the callee.
type frame struct{ rsp uint64 }

func (f frame) Variable(p *postfix.Program, name int) (uint64, bool) {
	return f.rsp, p.Names[name].Text == "$rsp"
}

func (f frame) Load(address uint64) (uint64, bool) { return 0x401000 + address, address >= f.rsp }

func ExampleRuleSet() {
	var cache postfix.Cache
	var rules postfix.RuleSet
	rules.Apply([]byte(".cfa: $rsp 8 + .ra: .cfa -8 + ^"), &cache) // STACK CFI INIT
	rules.Apply([]byte(".cfa: $rsp 16 + $rbx: $r12"), &cache)      // STACK CFI

	var row postfix.Row
	if _, fault := rules.Evaluate(&postfix.Machine{}, frame{rsp: 0x1000}, &row); fault.Failed() {
		fmt.Println(fault.Code)
		return
	}
	fmt.Printf(".cfa %#x .ra %#x\n", row.CFA, row.RA)
	for i, r := range rules.Registers {
		fmt.Println(r.Name, row.Registers[i].Fault.Code)
	}
	// Output:
	// .cfa 0x1010 .ra 0x402008
	// $rbx unknown name
}
