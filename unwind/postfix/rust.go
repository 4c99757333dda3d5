package postfix

import "strings"

// rustCFI evaluates as rust-minidump's eval_cfi_expr does: with 64 bits on every CPU, and variables are resolved when
// they are pushed.
func (m *Machine) rustCFI(p *Program, env Env) Fault {
	for i := 0; i < len(p.Ops); i++ {
		op := &p.Ops[i]
		at := int32(i)
		e := element{ref: isValue, op: at}
		switch op.Code {
		case Push:
			// What i64::from_str refuses is looked up as a register.
			if op.Flags&(DoubleSign|OverInt64) != 0 {
				return Fault{Op: at, Code: UnknownName}
			}
			e.value = op.Value
		case Var:
			v, f := m.rustRegister(p, env, at)
			if f.Failed() {
				return f
			}
			e.value = v
		case Load:
			v, f := m.rustLoad(p, env, at)
			if f.Failed() {
				return f
			}
			e.value = v
		case Assign:
			// "=" is no operator here. "=$eip" is one token, and means the register behind the '$'.
			if op.Flags&Glued == 0 || i+1 == len(p.Ops) || !strings.Contains(p.Token(i+1), "$") {
				return Fault{Op: at, Code: NoAssignment}
			}
			i++
			v, f := m.rustRegister(p, env, int32(i))
			if f.Failed() {
				return f
			}
			e.value = v
		default:
			v, f := m.binary(p, env, op.Code, at)
			if f.Failed() {
				return f
			}
			e.value = v
		}
		if !m.push(e) {
			return Fault{Op: at, Code: TooDeep}
		}
	}
	return Fault{}
}

func (m *Machine) rustRegister(p *Program, env Env, at int32) (uint64, Fault) {
	name := p.Ops[at].Name
	if p.Names[name].Kind == Undef {
		return 0, Fault{Op: at, Code: Undefined}
	}
	v, ok := m.lookup(p, env, name)
	if !ok {
		return 0, Fault{Op: at, Code: UnknownName}
	}
	return v, Fault{}
}

func (m *Machine) rustLoad(p *Program, env Env, at int32) (uint64, Fault) {
	address, f := m.pop(p, env, at)
	if f.Failed() {
		return 0, f
	}
	v, ok := env.Load(address)
	if !ok {
		return 0, Fault{Op: at, Code: Unreadable}
	}
	return v, Fault{}
}

// rustWin evaluates as rust-minidump's eval_win_expr does: 32 bits, variables resolved when used, any variable
// assignable, .undef deletes.
func (m *Machine) rustWin(p *Program, env Env) Fault {
	for i := range p.Ops {
		op := &p.Ops[i]
		at := int32(i)
		e := element{ref: isValue, op: at}
		switch op.Code {
		case Push:
			if op.Flags&(DoubleSign|OverInt32) != 0 {
				return Fault{Op: at, Code: UnknownName}
			}
			e.value = op.Value
		case Var:
			e.ref = op.Name
			switch text := p.Names[op.Name].Text; {
			case p.Names[op.Name].Kind == Undef:
				e.ref = isUndef
			case text[0] != '$' && text[0] != '.':
				return Fault{Op: at, Code: UnknownName}
			}
		case Load:
			v, f := m.rustLoad(p, env, at)
			if f.Failed() {
				return f
			}
			e.value = v
		case Assign:
			if f := m.rustAssign(p, env, at); f.Failed() {
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
		e.value = uint64(uint32(e.value))
		if !m.push(e) {
			return Fault{Op: at, Code: TooDeep}
		}
	}
	return Fault{}
}

func (m *Machine) rustAssign(p *Program, env Env, at int32) Fault {
	n := len(m.stack) - 2
	if n < 0 {
		return Fault{Op: at, Code: NoOperand}
	}
	target, source := m.stack[n], m.stack[n+1]
	m.stack = m.stack[:n]
	if target.ref < 0 {
		return Fault{Op: target.op, Code: NoTarget}
	}
	if source.ref == isUndef {
		m.vars[target.ref] = binding{state: Deleted}
		return Fault{}
	}
	v, f := m.resolve(p, env, source)
	if f.Failed() {
		return f
	}
	m.vars[target.ref] = binding{value: v, state: Assigned}
	return Fault{}
}
