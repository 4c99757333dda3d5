package postfix

import "fmt"

// ErrorCode says what is wrong with an expression.
type ErrorCode uint8

// The first group makes every evaluation fail in Google's walker; of Divides and AssignsLiteral it even dies.
const (
	NoError        ErrorCode = iota
	Empty                    // no token at all
	Underflow                // an operator finds too few operands
	Leftover                 // more on the stack at the end than the dialect wants
	NoValue                  // a STACK CFI expression that leaves nothing
	HexLiteral               // 0x10: a name nobody defines
	RoughLiteral             // 1e3, 12abc, 8+: the same
	LiteralRange             // too large for the word: the same
	UnknownSymbol            // punctuation that is no operator: the same
	BadAssignment            // '=' whose target is a computed value, a positive literal or a name without '$'
	AssignsLiteral           // '=' whose target is a literal with a leading '-': Google's evaluator dereferences null
	Divides                  // '/' or '%' by the constant 0: Google's evaluator dies of SIGFPE
	TooLong                  // longer than MaxText

	// Hints: Google's evaluator runs it, others may not.
	AssignInRule  // '=' in a STACK CFI expression: rust-minidump knows no assignment there
	AlignPower    // '@' with a constant that is no power of two: rust-minidump fails
	LiteralSign   // two signs: rust-minidump fails
	LiteralSigned // outside int64 (STACK CFI) or int32 (STACK WIN): rust-minidump fails
	GluedAssign   // "=$eip": split by Google's evaluator and by rust-minidump's for STACK WIN
)

var errorNames = [...]string{
	"none", "empty", "underflow", "leftover", "no-value", "hex-literal", "rough-literal", "literal-range",
	"unknown-symbol", "bad-assignment", "assigns-literal", "divides-by-zero", "too-long",
	"assign-in-rule", "align-power", "literal-sign", "literal-signed", "glued-assign",
}

// String returns a short name.
func (c ErrorCode) String() string {
	if int(c) < len(errorNames) {
		return errorNames[c]
	}
	return "invalid"
}

// Hint reports whether Google's evaluator runs the expression all the same.
func (c ErrorCode) Hint() bool { return c >= AssignInRule }

// Crashes reports whether Google's evaluator dies of it.
func (c ErrorCode) Crashes() bool { return c == Divides || c == AssignsLiteral }

// Error is a defect of an expression, found without evaluating it.
type Error struct {
	Code     ErrorCode
	Off, End int    // the token, or for Leftover the surplus tokens, in the expression's text
	Token    string // the text of that range
	Message  string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Check lists every defect and hint, in order of position, judging literals by a CPU whose words have the given
// number of bytes (4 or 8; STACK WIN programs are always judged by 4). The slice must not be changed.
func (p *Program) Check(word int) []Error {
	if word != 4 || p.Dialect == Win {
		return p.errors
	}
	for i := range p.Ops {
		if p.Ops[i].Flags&Over32 != 0 {
			a := analysis{p: p, narrow: true}
			a.run()
			return a.errors
		}
	}
	return p.errors
}

// analyse runs the program on abstract values, to find what is certain whatever the registers hold.
func (p *Program) analyse() {
	a := analysis{p: p, narrow: p.Dialect == Win, record: true}
	a.run()
	p.errors = a.errors
}

// operand is an element of the abstract stack.
type operand struct {
	value uint64
	from  int32 // first operation of the subexpression
	op    int32 // the operation that pushed it
	kind  operandKind
}

type operandKind uint8

const (
	computed operandKind = iota
	known                // computed from literals only
	written              // a literal, still as written
	variable             // a name, still unresolved: resolution happens when the operand is used
)

type analysis struct {
	p      *Program
	narrow bool // words have 32 bits
	record bool // fill in what the Program knows of its names; false on a second look
	stack  []operand
	errors []Error
	broken bool // operands were missing, so the depth says nothing any more
}

func (a *analysis) run() {
	p := a.p
	if len(p.Ops) == 0 {
		a.report(Empty, 0, len(p.Text), "the expression is empty")
		return
	}
	for i := range p.Ops {
		a.step(int32(i))
		if a.record && len(a.stack) > p.Depth {
			p.Depth = len(a.stack)
		}
	}
	a.end()
}

func (a *analysis) step(i int32) {
	op := &a.p.Ops[i]
	switch {
	case op.Code == Push:
		a.literal(i)
	case op.Code == Var:
		a.name(i)
	case op.Code.Binary():
		right := a.pop(i, op)
		left := a.pop(i, op)
		a.push(a.binary(op, left, right, i))
	case op.Code == Load:
		address := a.pop(i, op)
		a.push(operand{from: address.from, op: i})
	case op.Code == Assign:
		a.assign(i)
	}
}

func (a *analysis) literal(i int32) {
	op := &a.p.Ops[i]
	token := a.p.Token(int(i))
	o := operand{value: op.Value, from: i, op: i, kind: written}
	switch {
	case op.Flags&Over32 != 0 && a.narrow:
		o.kind = computed
		a.reportOp(LiteralRange, op, "%s does not fit 32 bits, so it is taken for a name that nobody defines", token)
	case op.Flags&OverInt32 != 0 && a.p.Dialect == Win:
		a.reportOp(LiteralSigned, op, "%s is outside the signed 32-bit range that rust-minidump reads", token)
	case op.Flags&OverInt64 != 0 && a.p.Dialect == CFI:
		a.reportOp(LiteralSigned, op, "%s is outside the signed 64-bit range that rust-minidump reads", token)
	case op.Flags&DoubleSign != 0:
		a.reportOp(LiteralSign, op, "%s has two signs; only Breakpad reads it as a number", token)
	}
	a.push(o)
}

func (a *analysis) name(i int32) {
	op := &a.p.Ops[i]
	if name := &a.p.Names[op.Name]; name.Kind == Odd {
		a.oddName(op, name.Text)
	}
	a.push(operand{from: i, op: i, kind: variable})
}

func (a *analysis) oddName(op *Op, token string) {
	_, form := parseLiteral([]byte(token))
	switch {
	case form == hexLiteral:
		a.reportOp(HexLiteral, op, "%s is hexadecimal; expressions know decimal numbers only", token)
	case form == hugeLiteral:
		a.reportOp(LiteralRange, op, "%s does not fit 64 bits, so it is taken for a name that nobody defines", token)
	case form == roughLiteral:
		a.reportOp(RoughLiteral, op, "%s is no decimal number, so it is taken for a name that nobody defines", token)
	case allPunctuation([]byte(token)):
		a.reportOp(UnknownSymbol, op, "%s is no operator; there are + - * / %% @ ^ =", token)
	}
}

func (a *analysis) binary(op *Op, left, right operand, i int32) operand {
	result := operand{from: left.from, op: i}
	rightKnown := right.kind == known || right.kind == written
	if rightKnown && op.Code >= Div {
		a.divisor(op, right.value)
	}
	if !rightKnown || (left.kind != known && left.kind != written) {
		return result
	}
	if op.Code >= Div && op.Code <= Mod && a.cut(right.value) == 0 {
		return result
	}
	result.value = a.cut(arithmetic(op.Code, a.cut(left.value), a.cut(right.value)))
	result.kind = known
	return result
}

// divisor judges the right operand of / % @.
func (a *analysis) divisor(op *Op, value uint64) {
	if a.record {
		op.Value = value
		op.Flags |= Constant
	}
	value = a.cut(value)
	switch {
	case op.Code != Align && value == 0:
		a.reportOp(Divides, op, "%s by zero: Breakpad's processor dies of SIGFPE here", divisionNames[op.Code-Div])
	case op.Code == Align && value&(value-1) != 0, op.Code == Align && value == 0:
		a.reportOp(AlignPower, op, "alignment to %d, which is no power of two", int64(value))
	}
}

var divisionNames = [...]string{"division", "remainder"}

func (a *analysis) cut(v uint64) uint64 {
	if a.narrow {
		return uint64(uint32(v))
	}
	return v
}

func (a *analysis) assign(i int32) {
	op := &a.p.Ops[i]
	if a.p.Dialect == CFI {
		a.reportOp(AssignInRule, op, "assignment in a STACK CFI expression; rust-minidump knows none")
	}
	if op.Flags&Glued != 0 {
		a.reportOp(GluedAssign, op, "no blank behind the assignment operator")
	}
	a.pop(i, op)
	if len(a.stack) == 0 {
		a.underflow(op)
		return
	}
	target := a.stack[len(a.stack)-1]
	a.stack = a.stack[:len(a.stack)-1]
	at := &a.p.Ops[target.op]
	token := a.p.Token(int(target.op))
	switch {
	case target.kind == variable && a.p.Names[at.Name].Kind == Dollar:
		if a.record {
			a.assigned(target.op)
		}
	case target.kind == variable:
		a.reportOp(BadAssignment, at, "%s cannot be assigned: variables begin with $", token)
	case target.kind == written && at.Flags&LeadingMinus != 0:
		a.reportOp(AssignsLiteral, at, "assignment to the number %s: Breakpad's processor dereferences a null pointer here", token)
	case target.kind == written:
		a.reportOp(BadAssignment, at, "assignment to the number %s", token)
	default:
		a.reportOp(BadAssignment, op, "assignment to a computed value")
	}
}

func (a *analysis) assigned(i int32) {
	a.p.Ops[i].Flags |= Target
	name := &a.p.Names[a.p.Ops[i].Name]
	if name.Assigns++; name.FirstAssign < 0 {
		name.FirstAssign = i
	}
}

func (a *analysis) push(o operand) { a.stack = append(a.stack, o) }

// pop takes an operand off the stack to use its value.
func (a *analysis) pop(i int32, op *Op) operand {
	if len(a.stack) == 0 {
		a.underflow(op)
		return operand{from: i, op: i}
	}
	o := a.stack[len(a.stack)-1]
	a.stack = a.stack[:len(a.stack)-1]
	a.used(o)
	return o
}

func (a *analysis) used(o operand) {
	if o.kind != variable || !a.record {
		return
	}
	name := &a.p.Names[a.p.Ops[o.op].Name]
	if name.Reads++; name.FirstRead < 0 {
		name.FirstRead = o.op
		name.ReadFirst = name.Assigns == 0
	}
}

func (a *analysis) underflow(op *Op) {
	a.broken = true
	// One report for an operator that misses two.
	if n := len(a.errors); n > 0 && a.errors[n-1].Code == Underflow && a.errors[n-1].Off == int(op.Off) {
		return
	}
	a.reportOp(Underflow, op, "%s finds too few operands", op.Code.String())
}

func (a *analysis) end() {
	if a.broken {
		return
	}
	last := int(a.p.Ops[len(a.p.Ops)-1].End)
	switch depth := len(a.stack); {
	case a.p.Dialect == Win && depth > 0:
		off := int(a.p.Ops[a.stack[0].from].Off)
		a.report(Leftover, off, last, fmt.Sprintf("%d left on the stack at the end, where a program leaves nothing", depth))
	case a.p.Dialect == CFI && depth == 0:
		a.report(NoValue, 0, last, "the expression leaves no value")
	case a.p.Dialect == CFI && depth > 1:
		off := int(a.p.Ops[a.stack[1].from].Off)
		a.report(Leftover, off, last, fmt.Sprintf("%d values left on the stack, where a rule leaves one", depth))
	case a.p.Dialect == CFI:
		a.used(a.stack[0])
	}
}

func (a *analysis) reportOp(code ErrorCode, op *Op, format string, args ...any) {
	a.report(code, int(op.Off), int(op.End), fmt.Sprintf(format, args...))
}

func (a *analysis) report(code ErrorCode, off, end int, message string) {
	a.errors = append(a.errors, Error{Code: code, Off: off, End: end, Token: a.p.Text[off:end], Message: message})
}
