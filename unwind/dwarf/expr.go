package dwarf

import "fmt"

// Env is the state of a frame that expressions and rules look at.
type Env interface {
	// Register returns the value of a register by its DWARF number. Expressions may ask for the return address column
	// and mean the pc (x86-64's procedure linkage tables do).
	Register(n uint64) (uint64, bool)
	// Load reads 1, 2, 4 or 8 bytes of memory in the byte order of the process, zero-extended.
	Load(addr uint64, size int) (uint64, bool)
}

// ExprContext is what an expression depends on besides the frame.
type ExprContext struct {
	Word      int // bytes of an address: values are of that size
	BigEndian bool
	CFA       uint64 // for DW_OP_call_frame_cfa, which is an error without HasCFA
	HasCFA    bool
}

// Bounds of expressions. libgcc's stack has 64 values as well; the longest loop known takes a few dozen steps.
const (
	maxStack = 64
	maxSteps = 1 << 16
)

// Operations of DWARF expressions: DWARF 5, section 7.7.1.
const (
	opAddr         = 0x03
	opDeref        = 0x06
	opConst1u      = 0x08
	opConst1s      = 0x09
	opConst2u      = 0x0a
	opConst2s      = 0x0b
	opConst4u      = 0x0c
	opConst4s      = 0x0d
	opConst8u      = 0x0e
	opConst8s      = 0x0f
	opConstu       = 0x10
	opConsts       = 0x11
	opDup          = 0x12
	opDrop         = 0x13
	opOver         = 0x14
	opPick         = 0x15
	opSwap         = 0x16
	opRot          = 0x17
	opAbs          = 0x19
	opAnd          = 0x1a
	opDiv          = 0x1b
	opMinus        = 0x1c
	opMod          = 0x1d
	opMul          = 0x1e
	opNeg          = 0x1f
	opNot          = 0x20
	opOr           = 0x21
	opPlus         = 0x22
	opPlusUconst   = 0x23
	opShl          = 0x24
	opShr          = 0x25
	opShra         = 0x26
	opXor          = 0x27
	opBra          = 0x28
	opEq           = 0x29
	opGe           = 0x2a
	opGt           = 0x2b
	opLe           = 0x2c
	opLt           = 0x2d
	opNe           = 0x2e
	opSkip         = 0x2f
	opLit0         = 0x30
	opLit31        = 0x4f
	opReg0         = 0x50
	opReg31        = 0x6f
	opBreg0        = 0x70
	opBreg31       = 0x8f
	opRegx         = 0x90
	opBregx        = 0x92
	opDerefSize    = 0x94
	opNop          = 0x96
	opCallFrameCFA = 0x9c
)

// ExprError is an expression that has no value.
type ExprError struct {
	Offset int // in the expression, of the operation
	Text   string
}

func (e *ExprError) Error() string { return fmt.Sprintf("expression+%d: %s", e.Offset, e.Text) }

// Evaluate returns the value an expression leaves on top of its stack, which holds the initial values at first, the
// last one on top. Arithmetic is that of addresses: modulo 2^32 or 2^64; division, comparisons and shra are signed, mod
// is not (as in gdb and libgcc). Operations that make no sense in call frame information (DWARF 5, section 6.4.2) are
// errors, but for DW_OP_regN, which gives the register's value, as libgcc has it. An expression takes at most 65536
// steps and 64 values. Nothing is allocated unless it fails.
func Evaluate(ctx ExprContext, expr []byte, env Env, initial ...uint64) (uint64, error) {
	m := machine{ctx: ctx, env: env, c: cursor{data: expr, big: ctx.BigEndian}}
	for _, v := range initial {
		m.push(v)
	}
	for steps := 0; m.c.pos < len(expr) && m.reason == ""; steps++ {
		m.at = m.c.pos
		if steps == maxSteps {
			m.reason = "too many steps"
			break
		}
		m.step(m.c.u8())
		switch {
		case m.c.short:
			m.reason = "operation goes beyond the expression"
		case m.c.wide:
			m.reason = "operand has more than 64 bits"
		}
	}
	if m.reason == "" && m.n == 0 {
		m.reason = "stack is empty at the end"
	}
	if m.reason != "" {
		return 0, &ExprError{m.at, m.reason}
	}
	return m.stack[m.n-1], nil
}

// machine evaluates one expression. Values on the stack are cut to the word.
type machine struct {
	ctx    ExprContext
	env    Env
	c      cursor
	at     int
	n      int
	reason string
	stack  [maxStack]uint64
}

func (m *machine) push(v uint64) {
	if m.n == maxStack {
		m.reason = "stack overflows"
		return
	}
	m.stack[m.n] = mask(v, m.ctx.Word)
	m.n++
}

func (m *machine) pop() uint64 {
	if m.n == 0 {
		m.reason = "stack is empty"
		return 0
	}
	m.n--
	return m.stack[m.n]
}

// peek returns the value below n others.
func (m *machine) peek(n int) uint64 {
	if n >= m.n {
		m.reason = "stack has too few values"
		return 0
	}
	return m.stack[m.n-1-n]
}

func (m *machine) signed(v uint64) int64 { return int64(signExtend(v, m.ctx.Word)) }

func (m *machine) register(n uint64) uint64 {
	v, ok := m.env.Register(n)
	if !ok {
		m.reason = fmt.Sprintf("register %d is not known", n)
	}
	return v
}

func (m *machine) load(addr uint64, size int) {
	if m.reason != "" {
		return
	}
	v, ok := m.env.Load(addr, size)
	if !ok {
		m.reason = fmt.Sprintf("%d bytes at 0x%x are not available", size, addr)
		return
	}
	m.push(mask(v, size))
}

func (m *machine) jump() {
	d := int(int16(m.c.u16()))
	to := m.c.pos + d
	if m.c.short {
		return
	}
	if to < 0 || to > len(m.c.data) {
		m.reason = "branch leaves the expression"
		return
	}
	m.c.pos = to
}

func (m *machine) step(op byte) {
	c := &m.c
	switch {
	case op >= opLit0 && op <= opLit31:
		m.push(uint64(op - opLit0))
		return
	case op >= opReg0 && op <= opReg31:
		m.push(m.register(uint64(op - opReg0)))
		return
	case op >= opBreg0 && op <= opBreg31:
		m.push(m.register(uint64(op-opBreg0)) + uint64(c.sleb()))
		return
	case op >= opAnd && op <= opMul, op >= opOr && op <= opPlus, op >= opShl && op <= opXor, op >= opEq && op <= opNe:
		m.binary(op)
		return
	}
	switch op {
	case opAddr:
		m.push(c.uint(m.ctx.Word))
	case opDeref:
		m.load(m.pop(), m.ctx.Word)
	case opDerefSize:
		switch size := int(c.u8()); size {
		case 1, 2, 4, 8:
			if size <= m.ctx.Word {
				m.load(m.pop(), size)
				return
			}
			fallthrough
		default:
			m.reason = fmt.Sprintf("deref_size of %d bytes", size)
		}
	case opConst1u:
		m.push(uint64(c.u8()))
	case opConst1s:
		m.push(uint64(int8(c.u8())))
	case opConst2u:
		m.push(uint64(c.u16()))
	case opConst2s:
		m.push(uint64(int16(c.u16())))
	case opConst4u:
		m.push(uint64(c.u32()))
	case opConst4s:
		m.push(uint64(int32(c.u32())))
	case opConst8u, opConst8s:
		m.push(c.u64())
	case opConstu:
		m.push(c.uleb())
	case opConsts:
		m.push(uint64(c.sleb()))
	case opDup:
		m.push(m.peek(0))
	case opDrop:
		m.pop()
	case opOver:
		m.push(m.peek(1))
	case opPick:
		m.push(m.peek(int(c.u8())))
	case opSwap:
		a, b := m.pop(), m.pop()
		m.push(a)
		m.push(b)
	case opRot: // the top becomes the third
		a, b, d := m.pop(), m.pop(), m.pop()
		m.push(a)
		m.push(d)
		m.push(b)
	case opAbs:
		v := m.signed(m.pop())
		m.push(uint64(max(v, -v)))
	case opNeg:
		m.push(-m.pop())
	case opNot:
		m.push(^m.pop())
	case opPlusUconst:
		m.push(m.pop() + c.uleb())
	case opBra:
		if m.pop() == 0 {
			c.u16()
		} else {
			m.jump()
		}
	case opSkip:
		m.jump()
	case opRegx:
		m.push(m.register(c.uleb()))
	case opBregx:
		v := m.register(c.uleb())
		m.push(v + uint64(c.sleb()))
	case opNop:
	case opCallFrameCFA:
		if !m.ctx.HasCFA {
			m.reason = "the CFA is not known here"
			return
		}
		m.push(m.ctx.CFA)
	default:
		if name := opName(op); name != "" {
			m.reason = name + " is not allowed here"
		} else {
			m.reason = fmt.Sprintf("operation 0x%02x is not known", op)
		}
	}
}

func (m *machine) binary(op byte) {
	b, a := m.pop(), m.pop() // a op b
	sa, sb := m.signed(a), m.signed(b)
	truth := func(t bool) uint64 {
		if t {
			return 1
		}
		return 0
	}
	var v uint64
	switch op {
	case opAnd:
		v = a & b
	case opOr:
		v = a | b
	case opXor:
		v = a ^ b
	case opPlus:
		v = a + b
	case opMinus:
		v = a - b
	case opMul:
		v = a * b
	case opDiv, opMod:
		switch {
		case b == 0 && m.reason == "":
			m.reason = "division by zero"
		case b == 0:
		case op == opDiv:
			v = uint64(sa / sb)
		default:
			v = a % b
		}
	case opShl:
		v = a << b
	case opShr:
		v = a >> b
	case opShra:
		v = uint64(sa >> b)
	case opEq:
		v = truth(a == b)
	case opNe:
		v = truth(a != b)
	case opGe:
		v = truth(sa >= sb)
	case opGt:
		v = truth(sa > sb)
	case opLe:
		v = truth(sa <= sb)
	case opLt:
		v = truth(sa < sb)
	}
	m.push(v)
}
