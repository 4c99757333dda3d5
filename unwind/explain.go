package unwind

import (
	"fmt"

	"github.com/symlint/symlint/unwind/postfix"
)

// Explanation is how a frame was found: the techniques that were tried in its callee, the last of which succeeded.
type Explanation struct {
	Attempts []Attempt
}

// Found returns the attempt that found the frame, nil if none did.
func (e *Explanation) Found() *Attempt {
	if n := len(e.Attempts); n > 0 && e.Attempts[n-1].Found {
		return &e.Attempts[n-1]
	}
	return nil
}

// Attempt is one technique tried on a frame.
type Attempt struct {
	Technique Technique
	Found     bool
	Why       string // why it found nothing
	Record    *Record
	Rules     []RuleValue
	Loads     []Load // every word read, in order
}

// Record is the unwind record that a technique used.
type Record struct {
	Kind    string  // STACK CFI, STACK WIN, FUNC, .eh_frame, …
	Module  *Module // whose symbols or binary it is in
	Line    int     // of the record in the symbol file that tells the last of the rules, 1-based; 0 in binaries
	Lines   []int   // of all records that apply
	Offset  uint64  // in the section, for binaries
	Address uint64  // relative to the module: where the record's range begins
	Size    uint64  // of its range, in bytes
	Lookup  uint64  // the address looked up, relative to the module
}

// RuleValue is one rule and what it evaluated to.
type RuleValue struct {
	Register string // as written, without its colon
	Expr     string
	Line     int // of the record that it stands in
	Value    uint64
	Fault    string // why it has no value, "" if it has
	Loads    []Load
}

// Load is a word read from memory.
type Load struct {
	Addr, Value uint64
	OK          bool
}

// trace collects what happens in one step.
type trace struct {
	Explanation
	loads []Load
}

func (t *trace) load(addr, value uint64, ok bool) {
	if len(t.loads) < 1<<16 {
		t.loads = append(t.loads, Load{addr, value, ok})
	}
}

func (t *trace) begin(technique Technique) {
	t.Attempts = append(t.Attempts, Attempt{Technique: technique})
	t.loads = nil
}

func (t *trace) current() *Attempt { return &t.Attempts[len(t.Attempts)-1] }

func (t *trace) why(text string) {
	if a := t.current(); a.Why == "" {
		a.Why = text
	}
}

func (t *trace) rejected(_ *cfiEntry, why string) { t.why(why) }

func (t *trace) fault(_ *cfiEntry, p *postfix.Program, f postfix.Fault) {
	t.why(faultText(p, f))
}

func (t *trace) winFault(_ *winEntry, p *postfix.Program, f postfix.Fault) {
	if !f.Failed() {
		t.why("the program sets no $eip or no $esp")
		return
	}
	t.why(faultText(p, f))
}

// whyUnusable says why the walkers of x86 and amd64 do not use the values of rules that evaluated.
func (x *walk) whyUnusable() string {
	switch {
	case x.e.kind == kindX86:
		return "nobody knows the caller's frame pointer"
	case x.e.row.RA == 0:
		return "the return address is 0"
	}
	return "the CFA is 0"
}

// faultText says what failed and at which token.
func faultText(p *postfix.Program, f postfix.Fault) string {
	if p == nil {
		return f.Code.String()
	}
	off, end := p.Position(f)
	if off == end {
		return fmt.Sprintf("%s at the end of %q", f.Code, p.Text)
	}
	return fmt.Sprintf("%s: %q in %q", f.Code, p.Text[off:end], p.Text)
}

func (t *trace) end(x *walk, found bool) {
	a := t.current()
	a.Found = found
	a.Loads = t.loads
	t.loads = nil
	callee := x.callee()
	switch a.Technique {
	case ByCFI:
		if e := x.cfiAt(callee); e != nil {
			a.Record, a.Rules = x.describeCFI(callee, e)
			if !found {
				t.why(x.whyUnusable()) // evaluated, and refused for what came out
			}
		} else {
			t.why("no STACK CFI record covers the address")
		}
	case ByWin:
		if e := x.winAt(callee); e != nil && x.e.kind == kindX86 {
			a.Record, a.Rules = x.describeWin(callee, e)
			if e.info.ParamOnly {
				t.why("the FUNC record tells the size of the parameters only")
			}
		} else {
			t.why("no STACK WIN record covers the address")
		}
	case ByDWARF:
		x.describeDWARF(a, callee)
	case BySFrame:
		x.describeSFrame(a, callee)
	}
	t.loads = nil
	if !found && (a.Technique == ByFramePointer || a.Technique == ByScan) {
		t.why("nothing found") // the others had nothing to do
	}
}

// Explain tells how frame i of a stack was found, by taking the step from frame i-1 again. For frame 0 there is
// nothing to tell. With i one beyond the last frame it tells why the walk ended.
func (w *Walker) Explain(s *Stack, i int) *Explanation {
	if i <= 0 || i > len(s.Frames) {
		return &Explanation{}
	}
	w.init()
	x := w.start(s.Thread, nil)
	x.frames = s.Frames[:i:i]
	for j := range x.frames {
		switch x.frames[j].Trust {
		case TrustNone, TrustScan, TrustCFIScan:
			x.scanned++
		}
	}
	x.scan = w.MaxScanned >= 0 && x.scanned < w.maxScanned()
	t := &trace{}
	w.trace = t
	defer func() { w.trace = nil }()
	var f Frame
	if !x.caller(&f) && len(t.Attempts) > 0 {
		if a := t.current(); a.Found && x.end != EndNone {
			a.Found = false
			t.why(x.end.String())
		}
	}
	return &t.Explanation
}

// describeCFI evaluates every rule of an entry by itself.
func (x *walk) describeCFI(callee *Frame, e *cfiEntry) (*Record, []RuleValue) {
	rec := &Record{
		Kind: "STACK CFI", Module: e.module, Address: e.info.Addr, Size: e.info.Size,
		Lookup: callee.Instruction - e.module.Base,
	}
	for _, row := range e.info.Rows {
		rec.Lines = append(rec.Lines, row.Line)
		rec.Line = row.Line
	}
	env := cfiEnv{x: x, regs: &callee.Registers, all: x.e.kind == kindMIPS || x.e.kind == kindMIPS64}
	m := &x.e.machine
	defer m.ClearCFA()
	m.ClearCFA()
	var out []RuleValue
	for _, rule := range e.info.Rules {
		p := e.rules.Rule(rule.Name)
		if p == nil {
			continue
		}
		x.trace.loads = nil
		v, fault := m.Value(p, &env)
		r := RuleValue{Register: rule.Name, Expr: rule.Expr, Line: rule.Line, Value: v, Loads: x.trace.loads}
		if fault.Failed() {
			r.Fault = faultText(p, fault)
		} else if rule.Name == ".cfa" {
			m.SetCFA(v)
		}
		out = append(out, r)
	}
	return rec, out
}

func (x *walk) describeWin(callee *Frame, e *winEntry) (*Record, []RuleValue) {
	rec := &Record{
		Kind: "STACK WIN", Module: e.module, Line: e.info.Line, Lines: []int{e.info.Line}, Address: e.info.Addr,
		Size: e.info.Size, Lookup: callee.Instruction - e.module.Base,
	}
	if e.info.ParamOnly {
		rec.Kind = "FUNC"
		return rec, nil
	}
	p := e.program
	if p == nil {
		p, _ = x.fpoProgram(e, callee.Registers.Has(x.e.cpu.SlotOf("$ebx")))
	}
	var out []RuleValue
	for _, name := range p.Names {
		if name.Assigns == 0 {
			continue
		}
		r := RuleValue{Register: name.Text, Expr: p.Text, Line: e.info.Line}
		v, state := x.e.win.Variable(name.Text)
		if state == postfix.Assigned {
			r.Value = v
		} else {
			r.Fault = "not assigned"
		}
		out = append(out, r)
	}
	return rec, out
}

func (x *walk) describeDWARF(a *Attempt, callee *Frame) {
	s, fde := x.dwarfAt(callee.Module, x.exact(callee))
	if fde == nil {
		if a.Why == "" && !a.Found {
			a.Why = "no call frame information covers the address"
			if callee.Module != nil {
				if i := x.imageOf(callee.Module); i.cfi == nil && i.err != nil {
					a.Why = i.err.Error()
				}
			}
		}
		return
	}
	row := &x.e.dwarfRow
	if err := fde.RowAt(s.pc, row); err != nil {
		return
	}
	a.Record = &Record{
		Kind: fde.CIE.Section.Name, Module: s.module, Offset: fde.Offset, Address: fde.Start - s.file.Base(),
		Size: fde.End - fde.Start, Lookup: s.pc - s.file.Base(),
	}
	env := dwarfEnv{x, &callee.Registers}
	a.Rules = append(a.Rules, RuleValue{Register: "CFA", Expr: row.CFA.String(), Value: x.e.dwarfOut.CFA})
	if err := row.Apply(&env, &x.e.dwarfOut); err != nil {
		a.Rules[0].Fault = err.Error()
		return
	}
	a.Rules[0].Value = x.e.dwarfOut.CFA
	for i, r := range row.Regs {
		v := RuleValue{Register: fmt.Sprintf("r%d", r.Reg), Expr: r.String()}
		if slot := x.e.cpu.SlotOfDWARF(r.Reg); slot >= 0 {
			v.Register = x.e.cpu.SlotName(slot)
		}
		if i < len(x.e.dwarfOut.Regs) {
			o := &x.e.dwarfOut.Regs[i]
			v.Value = o.Value
			if o.Err != nil {
				v.Fault = o.Err.Error()
			}
		}
		a.Rules = append(a.Rules, v)
	}
}
