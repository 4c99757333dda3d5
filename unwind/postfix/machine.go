package postfix

// Env is what an expression is evaluated against: the registers and constants of one frame and the stack memory.
type Env interface {
	// Variable returns the value that p.Names[name] has before the program runs; ok is false where it has none.
	// Slot, set by Bind, saves looking the text up. For RustMinidump the register meant is that of
	// Semantics.Operand. The Machine itself answers for .cfa in STACK CFI expressions.
	Variable(p *Program, name int) (value uint64, ok bool)
	// Load returns the word at an address, of the size of the CPU's general registers; ok is false where the
	// memory is not known. Addresses are not cut to 32 bits for RustMinidump's STACK CFI.
	Load(address uint64) (value uint64, ok bool)
}

// MaxDepth is the number of operands a Machine holds. No writer needs more than a handful.
const MaxDepth = 4096

// FaultCode says why an evaluation failed.
type FaultCode uint8

const (
	NoFault        FaultCode = iota
	NoOperand                // an operator found too few operands
	NotOneValue              // not exactly one value at the end of a STACK CFI expression
	NotEmpty                 // values left at the end of a STACK WIN program
	UnknownName              // a variable without value, or what the consumer takes for one
	Unreadable               // a load from memory that is not known
	DivisionByZero           // Breakpad's processor dies of SIGFPE
	AlignmentPower           // RustMinidump: '@' with something else than a power of two
	Undefined                // RustMinidump: .undef
	NoTarget                 // '=' without a variable that can be assigned
	NullTarget               // '=' to a literal with a leading '-': Breakpad's processor dies of SIGSEGV
	NoAssignment             // RustMinidump: '=' in a STACK CFI expression
	TooWide                  // RustMinidump: the result does not fit the register; one that is not .cfa or .ra keeps the callee's value
	TooDeep                  // more than MaxDepth operands
	MissingCFA               // RuleSet: no rule for .cfa
	MissingRA                // RuleSet: no rule for .ra
)

var faultNames = [...]string{
	"no fault", "too few operands", "not exactly one value left", "values left on the stack", "unknown name",
	"unreadable memory", "division by zero", "alignment to no power of two", "undefined",
	"assignment to no variable", "assignment to a negative number", "assignment in a rule",
	"result wider than the register", "too many operands", "no .cfa rule", "no .ra rule",
}

// String describes the fault in a few words.
func (c FaultCode) String() string {
	if int(c) < len(faultNames) {
		return faultNames[c]
	}
	return "invalid"
}

// Fault is the outcome of an evaluation; the zero value is success. It is a value, not an error, because failing
// rules are ordinary and evaluation must not allocate.
type Fault struct {
	// Op is the operation that failed, an index into Program.Ops; len(Ops) for what is wrong at the end.
	Op   int32
	Code FaultCode
	// Crash: Breakpad's processor would not survive.
	Crash bool
}

// Failed reports whether there was a fault.
func (f Fault) Failed() bool { return f.Code != NoFault }

// Position returns the token a fault belongs to, a range of p.Text; an empty range at the end for faults there.
func (p *Program) Position(f Fault) (off, end int) {
	if int(f.Op) >= len(p.Ops) || f.Op < 0 {
		return len(p.Text), len(p.Text)
	}
	return int(p.Ops[f.Op].Off), int(p.Ops[f.Op].End)
}

// Machine evaluates programs. It is reused, so that evaluation allocates nothing, and belongs to one goroutine.
// The zero value evaluates as Breakpad does on a 64-bit CPU.
type Machine struct {
	Semantics Semantics
	// Word is the size of a general register in bytes: 4, or 8 for any other value. STACK WIN always has 4.
	Word int

	cfa    uint64
	hasCFA bool

	stack []element
	vars  []binding // one for each name of prog
	prog  *Program
}

// element is an entry of the operand stack. Breakpad's stack holds tokens, which are resolved when popped.
type element struct {
	value uint64
	ref   int32 // index into Names, or one of the constants below
	op    int32 // the operation that pushed it
}

const (
	isValue    = -1 // value holds
	isNegative = -2 // value holds, and the token had a leading '-'
	isNameless = -3 // a literal out of range, which is a name nobody defines
	isUndef    = -4 // RustMinidump's .undef
)

type binding struct {
	value uint64
	state State
}

// State is what a program did to a variable.
type State uint8

const (
	Untouched State = iota
	Assigned
	Deleted // RustMinidump: .undef was assigned
)

// SetCFA gives .cfa a value in the STACK CFI expressions evaluated from now on.
func (m *Machine) SetCFA(cfa uint64) { m.cfa, m.hasCFA = cfa, true }

// ClearCFA makes .cfa an unknown name again, as it is in the rule of .cfa itself.
func (m *Machine) ClearCFA() { m.cfa, m.hasCFA = 0, false }

// Value evaluates an expression for its one value. Assignments made by it are not visible to the next evaluation.
func (m *Machine) Value(p *Program, env Env) (uint64, Fault) {
	if f := m.run(p, env); f.Failed() {
		return 0, f
	}
	end := int32(len(p.Ops))
	if len(m.stack) != 1 {
		return 0, Fault{Op: end, Code: NotOneValue}
	}
	v, f := m.pop(p, env, end)
	if f.Failed() {
		return 0, f
	}
	if m.Semantics == RustMinidump && m.narrow(p) && v > 1<<32-1 {
		return 0, Fault{Op: end, Code: TooWide}
	}
	return v, Fault{}
}

// Run evaluates a program for its assignments, which Variable then tells; those made before a fault count too.
func (m *Machine) Run(p *Program, env Env) Fault {
	if f := m.run(p, env); f.Failed() {
		return f
	}
	if len(m.stack) != 0 && m.Semantics == Breakpad {
		return Fault{Op: int32(len(p.Ops)), Code: NotEmpty}
	}
	return Fault{}
}

// Variable tells what the last evaluated program did to a variable. The value is that of an Assigned one.
func (m *Machine) Variable(name string) (value uint64, state State) {
	if m.prog == nil || !m.prog.assigns {
		return 0, Untouched
	}
	i := m.prog.Name(name)
	if i < 0 {
		return 0, Untouched
	}
	return m.vars[i].value, m.vars[i].state
}

func (m *Machine) run(p *Program, env Env) Fault {
	m.prog = p
	m.stack = m.stack[:0]
	if p.assigns {
		m.vars = append(m.vars[:0], make([]binding, len(p.Names))...)
	}
	if m.Semantics == Breakpad {
		return m.breakpad(p, env)
	}
	if p.Dialect == Win {
		return m.rustWin(p, env)
	}
	return m.rustCFI(p, env)
}

// narrow reports whether registers have 32 bits.
func (m *Machine) narrow(p *Program) bool { return m.Word == 4 || p.Dialect == Win }

// push leaves its result to the caller to report, because a full stack is the one fault it has.
func (m *Machine) push(e element) bool {
	if len(m.stack) == MaxDepth {
		return false
	}
	m.stack = append(m.stack, e)
	return true
}

// pop takes the value of the topmost operand.
func (m *Machine) pop(p *Program, env Env, op int32) (uint64, Fault) {
	n := len(m.stack) - 1
	if n < 0 {
		return 0, Fault{Op: op, Code: NoOperand}
	}
	e := m.stack[n]
	m.stack = m.stack[:n]
	return m.resolve(p, env, e)
}

func (m *Machine) resolve(p *Program, env Env, e element) (uint64, Fault) {
	switch e.ref {
	case isValue, isNegative:
		return e.value, Fault{}
	case isNameless:
		return 0, Fault{Op: e.op, Code: UnknownName}
	case isUndef:
		return 0, Fault{Op: e.op, Code: Undefined}
	}
	if p.assigns {
		switch b := m.vars[e.ref]; b.state {
		case Assigned:
			return b.value, Fault{}
		case Deleted:
			return 0, Fault{Op: e.op, Code: UnknownName}
		}
	}
	v, ok := m.lookup(p, env, e.ref)
	if !ok {
		return 0, Fault{Op: e.op, Code: UnknownName}
	}
	return v, Fault{}
}

func (m *Machine) lookup(p *Program, env Env, name int32) (uint64, bool) {
	if p.Dialect == CFI && p.Names[name].Kind == CFA {
		return m.cfa, m.hasCFA
	}
	v, ok := env.Variable(p, int(name))
	if m.narrow(p) {
		v = uint64(uint32(v))
	}
	return v, ok
}
