package postfix

// Code is an operation.
type Code uint8

const (
	Push   Code = iota // push the literal Value
	Var                // push a reference to the variable Name
	Add                // a b + : a+b
	Sub                // a b - : a-b
	Mul                // a b * : a*b
	Div                // a b / : unsigned quotient
	Mod                // a b % : unsigned remainder
	Align              // a b @ : a with the bits of b-1 cleared
	Load               // a ^   : the word at address a
	Assign             // $v a = : $v becomes a; leaves nothing
)

const codeText = "?v+-*/%@^="

// String returns the operator as written; "literal" and "variable" for operands.
func (c Code) String() string {
	switch {
	case c == Push:
		return "literal"
	case c == Var:
		return "variable"
	case int(c) < len(codeText):
		return codeText[c : c+1]
	}
	return "invalid"
}

// Binary reports whether the operation takes two values and leaves one.
func (c Code) Binary() bool { return c >= Add && c <= Align }

// Flags tell what is special about an operation.
type Flags uint16

const (
	LeadingMinus Flags = 1 << iota // Push: the token begins with '-'; as the target of '=' it crashes Google's evaluator
	DoubleSign                     // Push: two signs, "--5"; only Google's evaluator reads that as a number
	Over32                         // Push: the magnitude has more than 32 bits; Google's evaluator takes it for a name on 32-bit CPUs
	OverInt32                      // Push: not in the range of int32, which rust-minidump's STACK WIN evaluator wants
	OverInt64                      // Push: not in the range of int64, which rust-minidump's STACK CFI evaluator wants
	Glued                          // Assign: written together with the token behind it, "=$eip"
	Target                         // Var: this occurrence is what a '=' assigns to
	Constant                       // Div, Mod, Align: the right operand is known beforehand and kept in Value
)

// Op is one operation of a program.
type Op struct {
	// Value is the literal of a Push in 64-bit two's complement, or the right operand of a Div, Mod or Align
	// flagged Constant, computed with 64 bits.
	Value    uint64
	Name     int32 // Var: index into Program.Names
	Off, End int32 // the token is Text[Off:End]
	Flags    Flags
	Code     Code
}

// NameKind tells the variables of an expression apart by their spelling.
type NameKind uint8

const (
	Plain  NameKind = iota // no prefix: registers of arm, arm64, riscv
	Dollar                 // "$…": registers of x86, x86_64 and mips, and STACK WIN temporaries; the only ones '=' may assign
	CFA                    // ".cfa"
	RA                     // ".ra"
	Undef                  // ".undef"
	Pseudo                 // another name with a leading dot: .cbLocals, .raSearch
	Odd                    // something no writer means as a name: 0x10, 1e3, &
)

// Name is a variable of a program. Positions are indexes into Program.Ops.
type Name struct {
	Text string
	Kind NameKind
	// Slot is what Bind found for the name: the consumer's own register number, say. -1 before Bind.
	Slot int32
	// Reads and Assigns count the occurrences whose value is used and those that are assigned to.
	Reads, Assigns int32
	// FirstRead and FirstAssign are the first such occurrences, -1 for none.
	FirstRead, FirstAssign int32
	// ReadFirst: the program needs a value for the name from outside, because a read precedes every assignment.
	ReadFirst bool
}

// Program is a compiled expression. It is immutable but for Bind and may be shared by goroutines.
type Program struct {
	Dialect Dialect
	Text    string // the source; Op positions refer to it
	Ops     []Op
	Names   []Name // each distinct name once, in order of appearance
	Shape   Shape
	// Depth is the number of operands on the stack at its fullest.
	Depth int

	assigns bool // there is a '='
	errors  []Error
}

// Bind sets the Slot of every name to what resolve returns. It must not run while the program is evaluated.
func (p *Program) Bind(resolve func(name string) int32) {
	for i := range p.Names {
		p.Names[i].Slot = resolve(p.Names[i].Text)
	}
}

// Name returns the index of a variable in Names, or -1. It does not allocate.
func (p *Program) Name(text string) int {
	for i := range p.Names {
		if p.Names[i].Text == text {
			return i
		}
	}
	return -1
}

// Uses reports whether the program reads the named variable.
func (p *Program) Uses(text string) bool {
	i := p.Name(text)
	return i >= 0 && p.Names[i].Reads > 0
}

// Token returns the source text of operation i; empty for an index outside Ops.
func (p *Program) Token(i int) string {
	if i < 0 || i >= len(p.Ops) {
		return ""
	}
	return p.Text[p.Ops[i].Off:p.Ops[i].End]
}

// MaxText is the length in bytes of the longest expression Compile takes.
const MaxText = 1<<31 - 1

// Compile translates one expression. The program is never nil: one with defects fails at evaluation where Google's
// evaluator fails. The error is the first defect for which that failure is certain, whatever the values of the
// registers are; Check lists all of them. The text is copied.
func Compile(text []byte, d Dialect) (*Program, *Error) {
	p := &Program{Dialect: d}
	if len(text) > MaxText {
		p.errors = []Error{{Code: TooLong, End: len(text), Message: "the expression is longer than 2 GiB"}}
		return p, &p.errors[0]
	}
	p.Text = string(text)
	p.translate(text)
	p.analyse()
	p.Shape = ShapeOf(text)
	return p, p.Err()
}

// Err returns the first defect that makes every evaluation fail, or nil.
func (p *Program) Err() *Error {
	for i := range p.errors {
		if !p.errors[i].Code.Hint() {
			return &p.errors[i]
		}
	}
	return nil
}

func (p *Program) translate(text []byte) {
	count := 0
	for off, end := nextToken(text, 0); off < end; off, end = nextToken(text, end) {
		count++
		// MSVC's link-time code generation writes "=$eip"; Google's evaluator takes that apart.
		if text[off] == '=' && end-off > 1 {
			count++
		}
	}
	if count == 0 {
		return
	}
	p.Ops = make([]Op, 0, count)
	var names nameTable
	for off, end := nextToken(text, 0); off < end; off, end = nextToken(text, end) {
		if text[off] == '=' && end-off > 1 {
			p.Ops = append(p.Ops, Op{Code: Assign, Flags: Glued, Name: -1, Off: int32(off), End: int32(off + 1)})
			p.assigns = true
			off++
		}
		p.Ops = append(p.Ops, p.operation(text, off, end, &names))
	}
}

func (p *Program) operation(text []byte, off, end int, names *nameTable) Op {
	op := Op{Name: -1, Off: int32(off), End: int32(end)}
	token := text[off:end]
	if op.Code = operator(token); op.Code != Push {
		p.assigns = p.assigns || op.Code == Assign
		return op
	}
	l, form := parseLiteral(token)
	if form == goodLiteral {
		op.Value, op.Flags = l.value, l.flags
		return op
	}
	op.Code = Var
	op.Name = names.intern(p, off, end)
	return op
}

// nameTable finds names already seen: by comparison while they are few, by hash when a hostile text has many.
type nameTable struct{ byText map[string]int32 }

func (t *nameTable) intern(p *Program, off, end int) int32 {
	const few = 16
	text := p.Text[off:end]
	if t.byText == nil {
		if i := p.Name(text); i >= 0 {
			return int32(i)
		}
		if len(p.Names) == few {
			t.byText = make(map[string]int32, 4*few)
			for i := range p.Names {
				t.byText[p.Names[i].Text] = int32(i)
			}
		}
	} else if i, ok := t.byText[text]; ok {
		return i
	}
	i := int32(len(p.Names))
	if t.byText != nil {
		t.byText[text] = i
	}
	p.Names = append(p.Names, Name{Text: text, Kind: kindOf(text), Slot: -1, FirstRead: -1, FirstAssign: -1})
	return i
}

func kindOf(name string) NameKind {
	switch {
	case name == ".cfa":
		return CFA
	case name == ".ra":
		return RA
	case name == ".undef":
		return Undef
	case name[0] == '$':
		return Dollar
	case name[0] == '.' && len(name) > 1:
		return Pseudo
	case name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z', name[0] == '_', name[0] >= 0x80:
		return Plain
	}
	return Odd
}
