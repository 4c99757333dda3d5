package trace

import "github.com/symlint/symlint/unwind"

// explanation writes how a frame was found, and returns the attempt that found it; nil for frame 0.
func (j *report) explanation(s *unwind.Stack, i int) *unwind.Attempt {
	j.key("explain")
	e := j.explained(s, i)
	if e == nil {
		j.null()
		return nil
	}
	j.open('{')
	j.key("attempts")
	j.attempts(e)
	j.close('}')
	return e.Found()
}

func (j *report) explained(s *unwind.Stack, i int) *unwind.Explanation {
	if i == 0 || j.d.Walker == nil {
		return nil
	}
	return j.d.Walker.Explain(s, i)
}

// end writes why the walk of a thread ended.
func (j *report) end(s *unwind.Stack) {
	j.key("end").open('{')
	j.key("attempts")
	if e := j.explained(s, len(s.Frames)); e != nil {
		j.attempts(e)
	} else {
		j.open('[')
		j.close(']')
	}
	j.key("why").string(s.End.String())
	j.close('}')
}

func (j *report) attempts(e *unwind.Explanation) {
	j.open('[')
	for i := range e.Attempts {
		a := &e.Attempts[i]
		j.open('{')
		j.key("found").bool(a.Found)
		j.key("loads")
		j.loads(a.Loads)
		j.key("record")
		j.record(a)
		j.key("rules").open('[')
		for k := range a.Rules {
			j.rule(&a.Rules[k])
		}
		j.close(']')
		j.key("technique").string(a.Technique.String())
		j.key("why").text(a.Why)
		j.close('}')
	}
	j.close(']')
}

// rule writes a rule; its value is null where it has none.
func (j *report) rule(r *unwind.RuleValue) {
	j.open('{')
	j.key("expression").string(r.Expr)
	j.key("fault").text(r.Fault)
	j.key("line")
	j.line(r.Line)
	j.key("loads")
	j.loads(r.Loads)
	j.key("register").string(r.Register)
	j.key("value")
	if r.Fault == "" {
		j.address(r.Value)
	} else {
		j.null()
	}
	j.close('}')
}

// loads writes the words read from memory; what could not be read is null.
func (j *report) loads(list []unwind.Load) {
	j.open('[')
	for _, l := range list {
		j.open('{')
		j.key("address").address(l.Addr)
		j.key("value")
		if l.OK {
			j.address(l.Value)
		} else {
			j.null()
		}
		j.close('}')
	}
	j.close(']')
}

func (j *report) line(n int) {
	if n > 0 {
		j.number(uint64(n))
		return
	}
	j.null()
}

// record writes the unwind record of an attempt. A line is one of the symbol file, which is the file then; records of
// binaries have an offset in the section that kind names.
func (j *report) record(a *unwind.Attempt) {
	if a == nil || a.Record == nil {
		j.null()
		return
	}
	r := a.Record
	j.open('{')
	j.key("address").hex(r.Address, 1)
	j.key("file").text(j.symbolFile(r))
	j.key("kind").string(r.Kind)
	j.key("line")
	j.line(r.Line)
	j.key("lines").open('[')
	for _, n := range r.Lines {
		j.number(uint64(n))
	}
	j.close(']')
	j.key("lookup").hex(r.Lookup, 1)
	j.key("module")
	if r.Module != nil {
		j.string(unwind.BaseName(r.Module.CodeFile))
	} else {
		j.null()
	}
	j.key("offset")
	if r.Line == 0 {
		j.hex(r.Offset, 1)
	} else {
		j.null()
	}
	j.key("size").hex(r.Size, 1)
	j.close('}')
}

// symbolFile is the path of the symbol file that a record stands in, "" if unknown.
func (j *report) symbolFile(r *unwind.Record) string {
	if r.Line == 0 || r.Module == nil || j.d.Walker == nil {
		return ""
	}
	s, ok := j.d.Walker.Symbols.(interface{ SymbolFile(*unwind.Module) string })
	if !ok {
		return ""
	}
	return s.SymbolFile(r.Module)
}
