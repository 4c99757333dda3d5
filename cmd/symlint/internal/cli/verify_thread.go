package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/replay"
	"github.com/symlint/symlint/rules"
	"github.com/symlint/symlint/unwind"
)

// threadVerdict is what became of one thread, as JSON tells it. Fields may be added, never changed or removed.
type threadVerdict struct {
	Thread    int    `json:"thread"`    // index in the dump; -1 if the dump has no such thread
	Reference *int   `json:"reference"` // the reference's number of it; null without a reference
	ID        uint32 `json:"id"`        // of the operating system
	Matched   bool   `json:"matched"`
	// Frames and Expected count the frames of the walk and of the reference, without inlined calls.
	Frames   int  `json:"frames"`
	Expected *int `json:"reference_frames"` // null without a reference
	// Compared counts the frames held against each other, the differing one included; Agreed those before it.
	Compared   int             `json:"frames_compared"`
	Agreed     int             `json:"frames_agreed"`
	Tolerated  []toleranceJSON `json:"tolerated"`
	Divergence *divergenceJSON `json:"first_divergence"`
}

// toleranceJSON is a difference that is none.
type toleranceJSON struct {
	Frame int    `json:"frame"`
	What  string `json:"what"`
	Text  string `json:"text"`
}

// divergenceJSON is the first difference.
type divergenceJSON struct {
	Frame    int       `json:"frame"` // index in the walk; the number of frames where it has ended
	Field    string    `json:"field"` // what differs: a field, or end or thread
	Expected frameJSON `json:"expected"`
	Actual   frameJSON `json:"actual"`
	// Weakness tells that the reference is known to be wrong here; then nothing is to blame.
	Weakness *weaknessJSON `json:"weakness"`
	Blame    *blameJSON    `json:"blame"`
	Record   *recordJSON   `json:"record"`
	Findings []recordFind  `json:"findings"`
	Remedy   *remedyJSON   `json:"remedy"`
}

// frameJSON is a frame of either side. Null is what that side does not tell.
type frameJSON struct {
	Text      string            `json:"text"`
	Module    *string           `json:"module"`
	Function  *string           `json:"function"`
	File      *string           `json:"file"`
	Line      *int64            `json:"line"`
	PC        *string           `json:"pc"`
	SP        *string           `json:"sp"`
	Trust     *string           `json:"trust"`
	Registers map[string]string `json:"registers"`
	End       *string           `json:"end"` // why there is no frame
}

type weaknessJSON struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// blameJSON is the first wrong value and the frame that it is in.
type blameJSON struct {
	Frame    int     `json:"frame"`    // with the wrong value
	Callee   string  `json:"callee"`   // the frame below, whose record gave it
	Register *string `json:"register"` // pc, sp or a name
	Expected *string `json:"expected"`
	Actual   *string `json:"actual"`
	Proven   bool    `json:"proven"` // expected is not told by the reference but by the walk that matches with the remedy
}

// recordJSON is the record to blame.
type recordJSON struct {
	Technique string     `json:"technique"`
	Kind      string     `json:"kind"`
	File      string     `json:"file"`
	Line      *int       `json:"line"`  // to look at, 1-based; null in binaries
	Lines     []int      `json:"lines"` // of all records in force
	Section   *string    `json:"section"`
	Offset    *uint64    `json:"offset"`
	Address   string     `json:"address"` // where its range begins, relative to the module
	Size      uint64     `json:"size"`
	Lookup    string     `json:"lookup"` // what was looked up
	Function  string     `json:"function"`
	Used      bool       `json:"used"` // it gave the frame
	Why       *string    `json:"why"`  // why not
	Rules     []ruleStep `json:"rules"`
}

// ruleStep is a rule and what it evaluated to.
type ruleStep struct {
	Register   string     `json:"register"`
	Expression string     `json:"expression"`
	Line       *int       `json:"line"`
	Value      *string    `json:"value"`
	Expected   *string    `json:"expected"` // what the reference has
	Fault      *string    `json:"fault"`
	Loads      []loadStep `json:"loads"`
}

type loadStep struct {
	Address string  `json:"address"`
	Value   *string `json:"value"` // null: not in the dump
}

// recordFind is what check says of the record.
type recordFind struct {
	Rule     string        `json:"rule"`
	Severity lint.Severity `json:"severity"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Column   int           `json:"column"`
	Message  string        `json:"message"`
}

// remedyJSON is a change that was proven.
type remedyJSON struct {
	Kind    string  `json:"kind"`
	Text    string  `json:"text"`
	Rule    *string `json:"rule"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Old     *string `json:"old"`
	New     *string `json:"new"`
	Scope   string  `json:"scope"`
	Matched int     `json:"frames_matched"`
	Frames  int     `json:"frames"`
}

// thread tells what became of a thread, and makes the finding of one that differs.
func (x *verifying) thread(r *replay.ThreadResult) (threadVerdict, *lint.Finding) {
	t := threadVerdict{
		Thread: r.Thread, Reference: &r.Reference.Index, Matched: r.Matched(), Compared: r.Alignment.Compared,
		Agreed: r.Alignment.Agreed, Tolerated: []toleranceJSON{},
	}
	n := 0
	for i := range r.Reference.Frames {
		if f := &r.Reference.Frames[i]; !f.Inline && !f.TailCall {
			n++
		}
	}
	t.Expected = &n
	if r.Stack != nil {
		t.Frames, t.ID = len(r.Stack.Frames), r.Stack.Thread.ID
	}
	for _, y := range r.Alignment.Tolerated {
		t.Tolerated = append(t.Tolerated, toleranceJSON{y.Frame, y.What, y.Text})
	}
	d := r.Alignment.First
	if d == nil {
		return t, nil
	}
	j := &divergenceJSON{
		Frame: d.Frame, Field: d.Field, Expected: expectedFrame(d), Actual: actualFrame(r.Stack, d), Findings: []recordFind{},
	}
	t.Divergence = j
	if d.Weakness != nil {
		j.Weakness = &weaknessJSON{d.Weakness.Name, d.Weakness.Text}
		return t, nil
	}
	return t, x.diagnose(r, j)
}

// diagnose tells what is to blame for a difference.
func (x *verifying) diagnose(r *replay.ThreadResult, j *divergenceJSON) *lint.Finding {
	at := rules.WalkPlace{Path: x.Path}
	b := r.Blame
	var more []lint.Finding
	file := ""
	if b != nil && b.Symbol != nil {
		file = x.symbols.SymbolFile(b.Module)
		at = x.lints.place(file, b.Line)
		j.Record = x.symbolRecord(b, file)
		more = x.lints.file(file).at([]int{b.Line}, "")
	} else if b != nil && b.Frame > 0 {
		j.Blame = &blameJSON{Frame: b.Frame, Callee: replay.FrameText(r.Stack, b.Frame-1, -1)}
		if b.Register != "" {
			j.Blame.Register, j.Blame.Expected, j.Blame.Actual, j.Blame.Proven = &b.Register, hexOf(b.Expected), hexOf(b.Got), b.Proven
		}
	}
	if b != nil && b.Attempt != nil {
		record := b.Attempt.Record
		file = x.places().file(record)
		at = x.placeOf(record, b.Line)
		j.Record = x.record(r)
		rule := ""
		if r.Remedy != nil {
			rule = r.Remedy.Rule
		}
		if record.Line > 0 && at.Text != nil {
			more = x.lints.file(file).at(record.Lines, rule)
		}
	}
	for i := range more {
		y := &more[i]
		j.Findings = append(j.Findings, recordFind{y.Rule.Name, y.Severity, file, y.Line, y.Column, y.Message})
	}
	if m := r.Remedy; m != nil {
		j.Remedy = &remedyJSON{
			Kind: m.Kind, Text: m.Text, Rule: textOf(m.Rule), File: x.symbols.SymbolFile(m.Module), Line: m.Line, Old: textOf(m.Old), New: textOf(m.New), Scope: m.Scope,
			Matched: m.Frames, Frames: m.Frames,
		}
	}
	f := rules.WalkDivergence(r, at)
	f.Detail = x.details(r, f.Detail)
	if r.Remedy == nil && !x.NoRemedies && j.Record != nil && len(j.Record.Rules) > 0 && at.Line > 0 {
		f.Detail = append(f.Detail, "No known defect of this record, undone, makes the whole thread match")
	}
	relate(&f, file, more)
	return &f
}

// symbolRecord is the record that gives a frame its name.
func (x *verifying) symbolRecord(b *replay.Blame, file string) *recordJSON {
	return &recordJSON{
		Kind: strings.ToUpper(b.Symbol.Kind.String()), File: file, Line: &b.Line, Lines: []int{b.Line}, Address: hex(b.Symbol.Base), Size: b.Symbol.Size,
		Lookup: hex(b.Symbol.Base), Function: b.Symbol.Name, Used: true, Rules: []ruleStep{},
	}
}

// relate adds what check says of a record to a finding of the walk.
func relate(f *lint.Finding, file string, more []lint.Finding) {
	for i := range more {
		y := &more[i]
		f.Related = append(f.Related, lint.Related{
			File: file, Location: y.Location, Message: fmt.Sprintf("%s: %s [%s]", y.Severity, y.Message, y.Rule.Name),
		})
	}
}

// details puts the evaluated rules of the record between what a finding says of blame and remedy.
func (x *verifying) details(r *replay.ThreadResult, told []string) []string {
	if r.Blame == nil || len(r.Blame.Attempts) == 0 {
		return told
	}
	var out []string
	out = append(out, told[0])
	out = append(out, x.explain(r.Blame.Attempts)...)
	if text := x.instead(r); text != "" {
		out = append(out, "  "+text)
	}
	return append(out, told[1:]...)
}

// explain tells the techniques that were tried on a frame as walk --explain does.
func (x *verifying) explain(attempts []unwind.Attempt) []string {
	var text bytes.Buffer
	e := &explainer{walker: x.walker, places: x.places(), w: &text}
	for i := range attempts {
		if a := &attempts[i]; a.Found || a.Why != "" || a.Record != nil {
			e.attempt(a)
		}
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = " " + strings.TrimPrefix(lines[i], mark)
	}
	return lines
}

// instead tells what the reference has in the frame whose values came out wrong.
func (x *verifying) instead(r *replay.ThreadResult) string {
	f := referenceFrame(r)
	if f == nil || r.Blame.Attempt == nil {
		return ""
	}
	var parts []string
	for i := range r.Blame.Attempt.Rules {
		rule := &r.Blame.Attempt.Rules[i]
		if want, ok := expectedValue(f, rule.Register); ok {
			parts = append(parts, fmt.Sprintf("%s = %s", printable(rule.Register), hex(want)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "the reference has " + strings.Join(parts, ", ")
}

// referenceFrame is the reference's frame that a record should have led to, nil if it has none or does not tell.
func referenceFrame(r *replay.ThreadResult) *replay.RefFrame {
	a := &r.Alignment
	for _, p := range a.Pairs {
		if p.Frame == r.Blame.Frame {
			return &r.Reference.Frames[p.Ref]
		}
	}
	if d := a.First; d != nil && d.Frame == r.Blame.Frame && d.Ref != nil && !d.Ref.Inline && !d.Ref.TailCall {
		return d.Ref
	}
	return nil
}

// expectedValue is the value that a reference's frame has for the register of a rule in the frame below.
func expectedValue(f *replay.RefFrame, register string) (uint64, bool) {
	name := strings.TrimPrefix(register, "$")
	switch register {
	case ".cfa", "CFA":
		return f.SP, f.HasSP
	case ".ra", "$eip", "rip", "eip", "pc":
		for _, r := range f.Registers {
			switch r.Name {
			case "eip", "rip", "pc":
				return r.Value, true
			}
		}
		return f.PC, f.HasPC && f.PCKind == replay.PCReturn
	}
	for _, r := range f.Registers {
		if r.Name == name || r.Name == register {
			return r.Value, true
		}
	}
	return 0, false
}

// places knows the files of this dump's records.
func (x *verifying) places() recordPlaces { return recordPlaces{x.symbols, x.binaries} }

// placeOf is where a record stands: in a symbol file, a binary, or nowhere that can be shown.
func (x *verifying) placeOf(r *unwind.Record, line int) rules.WalkPlace {
	path := x.places().file(r)
	switch {
	case strings.HasPrefix(path, "["):
		return rules.WalkPlace{Path: x.Path}
	case r.Line > 0 || line > 0:
		return x.lints.place(path, line)
	}
	return rules.WalkPlace{Path: path, Section: r.Kind, Offset: int64(r.Offset)}
}

func (x *verifying) record(r *replay.ThreadResult) *recordJSON {
	b, a := r.Blame, r.Blame.Attempt
	k := a.Record
	j := &recordJSON{
		Technique: a.Technique.String(), Kind: k.Kind, File: x.places().file(k), Lines: append([]int{}, k.Lines...),
		Address: hex(k.Address), Size: k.Size, Lookup: hex(k.Lookup), Used: a.Found, Why: textOf(a.Why), Rules: []ruleStep{},
	}
	if b.Frame > 0 {
		j.Function = r.Stack.Frames[b.Frame-1].Function
	}
	if k.Line > 0 {
		j.Line = &b.Line
	} else {
		j.Section, j.Offset = &k.Kind, &k.Offset
	}
	f := referenceFrame(r)
	for i := range a.Rules {
		v := &a.Rules[i]
		s := ruleStep{Register: v.Register, Expression: v.Expr, Fault: textOf(v.Fault), Loads: []loadStep{}}
		if v.Line > 0 {
			s.Line = &v.Line
		}
		if v.Fault == "" {
			s.Value = hexOf(v.Value)
		}
		if f != nil {
			if want, ok := expectedValue(f, v.Register); ok {
				s.Expected = hexOf(want)
			}
		}
		for _, l := range v.Loads {
			step := loadStep{Address: hex(l.Addr)}
			if l.OK {
				step.Value = hexOf(l.Value)
			}
			s.Loads = append(s.Loads, step)
		}
		j.Rules = append(j.Rules, s)
	}
	return j
}

func expectedFrame(d *replay.Divergence) frameJSON {
	j := frameJSON{Text: d.Expected}
	f := d.Ref
	if f == nil {
		j.End = textOf("the reference has no more frames")
		return j
	}
	j.Module, j.Function, j.File, j.Trust = textOf(f.Module), textOf(f.Function), textOf(f.File), textOf(f.Trust)
	if f.SrcLine > 0 {
		n := int64(f.SrcLine)
		j.Line = &n
	}
	if f.HasPC {
		j.PC = hexOf(f.PC)
	}
	if f.HasSP {
		j.SP = hexOf(f.SP)
	}
	for _, r := range f.Registers {
		j.register(r.Name, r.Value)
	}
	return j
}

func actualFrame(s *unwind.Stack, d *replay.Divergence) frameJSON {
	j := frameJSON{Text: d.Got}
	if s == nil {
		j.End = textOf("the dump has no such thread")
		return j
	}
	if d.Frame >= len(s.Frames) {
		j.End = textOf(s.End.String())
		return j
	}
	f := &s.Frames[d.Frame]
	function, file, line := f.Function, f.File, f.Line
	if d.Inline >= 0 && d.Inline < len(f.Inlines) {
		in := &f.Inlines[d.Inline]
		function, file, line = in.Name, in.File, in.Number
	}
	if f.Module != nil {
		j.Module = textOf(unwind.BaseName(f.Module.CodeFile))
	}
	j.Function, j.File, j.PC = textOf(function), textOf(file), hexOf(f.Return)
	if line > 0 {
		j.Line = &line
	}
	j.Trust = textOf(replay.TrustName(f.Trust.String()))
	cpu := f.Registers.CPU
	if cpu == nil {
		return j
	}
	if sp, ok := f.Registers.Get(cpu.Slot.SP); ok {
		j.SP = hexOf(sp)
	}
	for i := range cpu.Slots {
		if v, ok := f.Registers.Get(i); ok {
			j.register(strings.TrimPrefix(cpu.SlotName(i), "$"), v)
		}
	}
	return j
}

func (j *frameJSON) register(name string, v uint64) {
	if j.Registers == nil {
		j.Registers = make(map[string]string)
	}
	j.Registers[name] = hex(v)
}

// textOf is null for what is empty.
func textOf(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func hexOf(v uint64) *string { return textOf(hex(v)) }
