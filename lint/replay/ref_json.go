package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The parts of rust-minidump's JSON that a comparison needs (minidump-processor/json-schema.md).

type jsonHex struct {
	v  uint64
	ok bool
}

// UnmarshalJSON reads "0x12"; null is unknown. Numbers are taken as well.
func (h *jsonHex) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		return nil
	}
	base := 10
	if strings.HasPrefix(s, `"`) {
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		rest, ok := strings.CutPrefix(s, "0x")
		if !ok {
			return fmt.Errorf("expected an address such as \"0x12\", found %.40q", s)
		}
		s, base = rest, 16
	}
	v, err := strconv.ParseUint(s, base, 64)
	if err != nil {
		return fmt.Errorf("expected an address, found %.40q", s)
	}
	h.v, h.ok = v, true
	return nil
}

type jsonInline struct {
	Function *string `json:"function"`
	File     *string `json:"file"`
	Line     *int64  `json:"line"`
}

type jsonFrame struct {
	Frame          *int               `json:"frame"`
	Trust          *string            `json:"trust"`
	Offset         jsonHex            `json:"offset"`
	Module         *string            `json:"module"`
	ModuleOffset   jsonHex            `json:"module_offset"`
	Function       *string            `json:"function"`
	FunctionOffset jsonHex            `json:"function_offset"`
	File           *string            `json:"file"`
	Line           *int64             `json:"line"`
	Inlines        []jsonInline       `json:"inlines"`
	Registers      map[string]jsonHex `json:"registers"`
}

type jsonModule struct {
	Filename *string `json:"filename"`
	Base     jsonHex `json:"base_addr"`
	End      jsonHex `json:"end_addr"`
}

type jsonSystem struct {
	CPU *string `json:"cpu_arch"`
}

// jsonParser goes through the document token by token, so that it knows on which line a frame stands.
type jsonParser struct {
	*builder
	data []byte
	dec  *json.Decoder
	// Where lines were counted to last.
	counted, line int
	crashing      int // index in threads, -1 if unknown
	registers     map[string]jsonHex
}

func parseJSON(data []byte) (*Reference, error) {
	p := &jsonParser{builder: newBuilder(FormatJSON), data: data, line: 1, crashing: -1}
	p.dec = json.NewDecoder(bytes.NewReader(data))
	found := false
	err := p.object(func(key string) error {
		switch key {
		case "threads":
			found = true
			return p.array(p.thread)
		case "crashing_thread":
			return p.crashingThread()
		case "crash_info":
			var c struct {
				Thread *int `json:"crashing_thread"`
			}
			if err := p.decode(&c); err != nil {
				return err
			}
			if c.Thread != nil {
				p.crashing = *c.Thread
			}
			return nil
		case "modules":
			return p.array(p.module)
		case "system_info":
			var s jsonSystem
			if err := p.decode(&s); err != nil {
				return err
			}
			p.ref.CPU = text(s.CPU)
			return nil
		}
		return p.skip()
	})
	switch {
	case err != nil:
		return nil, p.position(err)
	case !found:
		return nil, syntaxError(1, `the JSON has no "threads": expected what minidump-stackwalk --json or symlint walk --format json print`)
	}
	p.finish()
	return p.ref, nil
}

// position adds to an error where it was found.
func (p *jsonParser) position(err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		return err
	}
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return syntaxError(p.lineAt(int(s.Offset)), "%s", s.Error())
	}
	return syntaxError(p.lineAt(int(p.dec.InputOffset())), "%s", err.Error())
}

// lineAt is the line of an offset. Offsets mostly ascend.
func (p *jsonParser) lineAt(offset int) int {
	offset = min(max(offset, 0), len(p.data))
	if offset < p.counted {
		p.counted, p.line = 0, 1
	}
	p.line += bytes.Count(p.data[p.counted:offset], []byte{'\n'})
	p.counted = offset
	return p.line
}

// nextLine is the line of the next value.
func (p *jsonParser) nextLine() int {
	i := int(p.dec.InputOffset())
	for i < len(p.data) && strings.IndexByte(" \n\r\t,:", p.data[i]) >= 0 {
		i++
	}
	return p.lineAt(i)
}

func (p *jsonParser) decode(v any) error { return p.dec.Decode(v) }

func (p *jsonParser) skip() error {
	var raw json.RawMessage
	return p.dec.Decode(&raw)
}

// object calls visit for every key of the next value, which must be an object or null. visit reads the key's value.
func (p *jsonParser) object(visit func(key string) error) error {
	t, err := p.dec.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("expected an object, found %.40v", t)
	}
	for p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		if err := visit(key.(string)); err != nil {
			return err
		}
	}
	_, err = p.dec.Token()
	return err
}

// array calls visit for every element of the next value, which must be an array or null.
func (p *jsonParser) array(visit func() error) error {
	t, err := p.dec.Token()
	if err != nil || t == nil {
		return err
	}
	if t != json.Delim('[') {
		return fmt.Errorf("expected an array, found %.40v", t)
	}
	for p.dec.More() {
		if err := visit(); err != nil {
			return err
		}
	}
	_, err = p.dec.Token()
	return err
}

func (p *jsonParser) thread() error {
	if err := p.builder.thread(RefThread{Index: len(p.ref.Threads), Line: p.nextLine()}); err != nil {
		return err
	}
	t := p.current()
	return p.object(func(key string) error {
		switch key {
		case "thread_id":
			var id *uint64
			if err := p.decode(&id); err != nil {
				return err
			}
			if id != nil && *id <= 1<<32-1 {
				t.LWP = uint32(*id)
			}
			return nil
		case "end":
			var e struct {
				Why string `json:"why"`
			}
			if err := p.decode(&e); err != nil {
				return err
			}
			t.End = e.Why
			return nil
		case "frames":
			return p.array(func() error { return p.frame(t) })
		}
		return p.skip()
	})
}

func (p *jsonParser) frame(t *RefThread) error {
	line := p.nextLine()
	var j jsonFrame
	if err := p.decode(&j); err != nil {
		return err
	}
	f := RefFrame{
		Level: len(t.Frames), PC: j.Offset.v, HasPC: j.Offset.ok, PCKind: PCInstruction, OffsetKind: PCInstruction,
		Module: baseName(text(j.Module)), Function: text(j.Function), File: text(j.File), SrcLine: number(j.Line),
		ModuleOffset: j.ModuleOffset.v, HasModuleOffset: j.ModuleOffset.ok,
		FunctionOffset: j.FunctionOffset.v, HasFunctionOffset: j.FunctionOffset.ok,
		Trust: TrustName(text(j.Trust)), Line: line,
	}
	if j.Frame != nil && *j.Frame >= 0 {
		f.Level = *j.Frame
	}
	f.setRegisters(j.Registers)
	for _, in := range j.Inlines {
		one := RefFrame{
			Level: f.Level, PC: f.PC, HasPC: f.HasPC, PCKind: f.PCKind, OffsetKind: PCInstruction, Module: f.Module,
			ModuleOffset: f.ModuleOffset, HasModuleOffset: f.HasModuleOffset,
			Function: text(in.Function), File: text(in.File), SrcLine: number(in.Line),
			Trust: "inline", Inline: true, Line: line,
		}
		if err := p.builder.frame(t, one); err != nil {
			return err
		}
	}
	return p.builder.frame(t, f)
}

func (f *RefFrame) setRegisters(regs map[string]jsonHex) {
	if len(regs) == 0 || len(regs) > maxRegisters {
		return
	}
	names := make([]string, 0, len(regs))
	for name, v := range regs {
		if v.ok {
			names = append(names, name)
		}
	}
	sortRegisters(names)
	for _, name := range names {
		f.Registers = append(f.Registers, RefRegister{strings.TrimPrefix(name, "$"), regs[name].v})
		switch name {
		case "esp", "rsp", "sp":
			f.SP, f.HasSP = regs[name].v, true
		}
	}
}

// crashingThread reads the copy of the crashing thread, which has the registers of its first frame.
func (p *jsonParser) crashingThread() error {
	var c struct {
		Index  *int        `json:"threads_index"`
		Frames []jsonFrame `json:"frames"`
	}
	if err := p.decode(&c); err != nil {
		return err
	}
	if c.Index != nil {
		p.crashing = *c.Index
	}
	if len(c.Frames) > 0 {
		p.registers = c.Frames[0].Registers
	}
	return nil
}

func (p *jsonParser) module() error {
	var m jsonModule
	if err := p.decode(&m); err != nil {
		return err
	}
	if m.Base.ok && m.End.ok && len(p.ref.Modules) < maxModules {
		p.ref.Modules = append(p.ref.Modules, RefModule{baseName(text(m.Filename)), m.Base.v, m.End.v - 1})
	}
	return nil
}

// finish tells the crashing thread what stands elsewhere in the document.
func (p *jsonParser) finish() {
	if p.crashing < 0 || p.crashing >= len(p.ref.Threads) {
		return
	}
	t := &p.ref.Threads[p.crashing]
	t.Crashed = true
	for i := range t.Frames {
		if f := &t.Frames[i]; !f.Inline {
			if len(f.Registers) == 0 {
				f.setRegisters(p.registers)
			}
			return
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int64) int {
	if n == nil {
		return 0
	}
	return lineNumber(*n)
}
