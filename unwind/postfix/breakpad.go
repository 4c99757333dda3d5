package postfix

// breakpad evaluates as Google's PostfixEvaluator does: operands are tokens until an operator needs their value, so
// "$a $a 4 + =" reads the old $a and assigns the new one.
func (m *Machine) breakpad(p *Program, env Env) Fault {
	narrow := m.narrow(p)
	for i := range p.Ops {
		op := &p.Ops[i]
		at := int32(i)
		e := element{ref: isValue, op: at}
		switch op.Code {
		case Push:
			e.value = op.Value
			switch {
			case narrow && op.Flags&Over32 != 0:
				e.ref = isNameless
			case op.Flags&LeadingMinus != 0:
				e.ref = isNegative
			}
		case Var:
			e.ref = op.Name
		case Load:
			address, f := m.pop(p, env, at)
			if f.Failed() {
				return f
			}
			v, ok := env.Load(address)
			if !ok {
				return Fault{Op: at, Code: Unreadable}
			}
			e.value = v
		case Assign:
			if f := m.assignBreakpad(p, env, at); f.Failed() {
				return f
			}
			continue
		default:
			v, f := m.binary(p, env, op.Code, at)
			if f.Failed() {
				return f
			}
			e.value = v
		}
		if narrow {
			e.value = uint64(uint32(e.value))
		}
		if !m.push(e) {
			return Fault{Op: at, Code: TooDeep}
		}
	}
	return Fault{}
}

// binary pops two values, the right one first, and combines them without cutting the result to the word.
func (m *Machine) binary(p *Program, env Env, code Code, at int32) (uint64, Fault) {
	b, f := m.pop(p, env, at)
	if f.Failed() {
		return 0, f
	}
	a, f := m.pop(p, env, at)
	if f.Failed() {
		return 0, f
	}
	if (code == Div || code == Mod) && b == 0 {
		return 0, Fault{Op: at, Code: DivisionByZero, Crash: m.Semantics == Breakpad}
	}
	if code == Align && m.Semantics == RustMinidump && (b == 0 || b&(b-1) != 0) {
		return 0, Fault{Op: at, Code: AlignmentPower}
	}
	return arithmetic(code, a, b), Fault{}
}

func (m *Machine) assignBreakpad(p *Program, env Env, at int32) Fault {
	v, f := m.pop(p, env, at)
	if f.Failed() {
		return f
	}
	n := len(m.stack) - 1
	if n < 0 {
		return Fault{Op: at, Code: NoTarget}
	}
	target := m.stack[n]
	m.stack = m.stack[:n]
	switch {
	case target.ref == isNegative:
		return Fault{Op: target.op, Code: NullTarget, Crash: true}
	case target.ref < 0 || p.Names[target.ref].Kind != Dollar:
		return Fault{Op: target.op, Code: NoTarget}
	}
	m.vars[target.ref] = binding{value: v, state: Assigned}
	return Fault{}
}
