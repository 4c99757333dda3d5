package postfix

import "math"

// ShapeKind is what an expression means, as far as it is one of the forms that call frame information takes.
type ShapeKind uint8

const (
	Other     ShapeKind = iota
	Reg                 // $rax
	RegOffset           // $rsp 8 +   also $rsp 0 + and $rsp 8 -
	CFAOffset           // .cfa -8 +  also .cfa alone
	DerefCFA            // .cfa -8 + ^
	DerefReg            // $esp 4 + ^ also sp ^
	Const               // 0
	UndefRule           // .undef
)

var shapeNames = [...]string{"other", "register", "register+offset", "cfa+offset", "load(cfa+offset)", "load(register+offset)", "constant", "undefined"}

// String names the kind.
func (k ShapeKind) String() string {
	if int(k) < len(shapeNames) {
		return shapeNames[k]
	}
	return "invalid"
}

// Shape classifies an expression. RegOff and RegEnd give the register's (or .cfa's) place in the text; both are 0 for
// Other, Const and UndefRule. Names other than .cfa and .undef count as registers, .ra included.
type Shape struct {
	Offset         int64 // bytes added to the register or CFA before loading; the value of a Const
	RegOff, RegEnd int32
	Kind           ShapeKind
}

// Register returns the register's name, or ".cfa", out of the text the shape was made from.
func (s Shape) Register(text []byte) []byte { return text[s.RegOff:s.RegEnd] }

// Base returns the name of the register an expression starts from, or ".cfa", or "".
func (p *Program) Base() string { return p.Text[p.Shape.RegOff:p.Shape.RegEnd] }

// ShapeOf classifies an expression without compiling it. It allocates nothing.
//
// Recognised is: one base, then any number of literals added or subtracted, then at most one load. Literals with two
// signs and sums outside int64 make it Other.
func ShapeOf(text []byte) Shape {
	if len(text) > MaxText {
		return Shape{}
	}
	off, end := nextToken(text, 0)
	if off == end {
		return Shape{}
	}
	s, ok := shapeBase(text, off, end)
	if !ok {
		return Shape{}
	}
	for {
		off, end = nextToken(text, end)
		if off == end {
			return s.finish(false)
		}
		token := text[off:end]
		if operator(token) == Load {
			if off, end = nextToken(text, end); off != end {
				return Shape{}
			}
			return s.finish(true)
		}
		n, ok := shapeLiteral(token)
		if !ok {
			return s.commuted(text, off, end)
		}
		off, end = nextToken(text, end)
		code := operator(text[off:end])
		if code == Sub && n != math.MinInt64 {
			n = -n
		} else if code != Add {
			return Shape{}
		}
		if !s.add(n) {
			return Shape{}
		}
	}
}

func shapeBase(text []byte, off, end int) (Shape, bool) {
	token := text[off:end]
	if n, ok := shapeLiteral(token); ok {
		return Shape{Kind: Const, Offset: n}, true
	}
	if operator(token) != Push || token[0] == '=' {
		return Shape{}, false
	}
	s := Shape{Kind: Reg, RegOff: int32(off), RegEnd: int32(end)}
	switch {
	case string(token) == ".cfa":
		s.Kind = CFAOffset
	case string(token) == ".undef":
		s = Shape{Kind: UndefRule}
	case !isWordByte(token[0]) || isDigit(token[0]):
		return Shape{}, false
	}
	return s, true
}

// commuted reads "8 $rsp +", the same as "$rsp 8 +".
func (s Shape) commuted(text []byte, off, end int) Shape {
	base, ok := shapeBase(text, off, end)
	if s.Kind != Const || !ok || base.Kind == Const || base.Kind == UndefRule {
		return Shape{}
	}
	off, end = nextToken(text, end)
	if operator(text[off:end]) != Add || !base.add(s.Offset) {
		return Shape{}
	}
	off, end = nextToken(text, end)
	if off == end {
		return base.finish(false)
	}
	if operator(text[off:end]) == Load {
		if off, end = nextToken(text, end); off == end {
			return base.finish(true)
		}
	}
	return Shape{}
}

func (s *Shape) add(n int64) bool {
	sum := s.Offset + n
	if (n > 0) != (sum > s.Offset) && n != 0 {
		return false
	}
	s.Offset = sum
	switch s.Kind {
	case Reg:
		s.Kind = RegOffset
	case UndefRule:
		return false
	}
	return true
}

func (s Shape) finish(load bool) Shape {
	if !load {
		return s
	}
	switch s.Kind {
	case CFAOffset:
		s.Kind = DerefCFA
	case Reg, RegOffset:
		s.Kind = DerefReg
	default:
		return Shape{}
	}
	return s
}

func shapeLiteral(token []byte) (int64, bool) {
	l, form := parseLiteral(token)
	if form != goodLiteral || l.flags&(OverInt64|DoubleSign) != 0 {
		return 0, false
	}
	return int64(l.value), true
}
