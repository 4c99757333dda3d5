package postfix

// Semantics selects the consumer whose behaviour an evaluation has.
type Semantics uint8

const (
	// Breakpad computes in the CPU's word, wrapping around at 32 or 64 bits. Variables are resolved when they are
	// used, not when they are pushed. Division by zero kills it; '@' masks with whatever it is given.
	Breakpad Semantics = iota
	// RustMinidump computes STACK CFI with 64 bits on every CPU and wants the result to fit the register, and STACK
	// WIN with 32 bits. Literals are int64 and int32. '@' takes powers of two only, '$' is optional, .undef is known,
	// and what a STACK WIN program leaves on the stack does not matter.
	RustMinidump
)

// String names the consumer.
func (s Semantics) String() string {
	if s == RustMinidump {
		return "rust-minidump"
	}
	return "breakpad"
}

// Operand returns the register that a token of a STACK CFI expression names: for Breakpad the token itself, for
// RustMinidump what stands behind the first '$', or the token if it has none.
func (s Semantics) Operand(token string) string {
	if s == RustMinidump {
		for i := range len(token) {
			if token[i] == '$' {
				return token[i+1:]
			}
		}
	}
	return token
}

// RuleTarget returns the register that a rule of a STACK CFI record sets: for Breakpad its name as it is, for
// RustMinidump without a leading '$'.
func (s Semantics) RuleTarget(name string) string {
	if s == RustMinidump && name != "" && name[0] == '$' {
		return name[1:]
	}
	return name
}

func arithmetic(code Code, a, b uint64) uint64 {
	switch code {
	case Add:
		return a + b
	case Sub:
		return a - b
	case Mul:
		return a * b
	case Div:
		return a / b
	case Mod:
		return a % b
	}
	return a &^ (b - 1)
}
