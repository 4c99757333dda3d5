package rules

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/symlint/symlint/unwind/postfix"
)

// A module's hundreds of thousands of unwind rows are made of a few thousand rule texts, and the rows in force at an
// address, which are what an INIT record and the deltas up to there add up to, are few as well. The machine knows
// every text and every such state it has met by a number, has judged each once, and remembers which state a text
// leads to from a state. A row then costs a hash of its text and two table look-ups.

// cfiRule is what a register's rule means, as far as it is of a common form.
type cfiRule struct {
	kind cfiRuleKind
	reg  int8  // index of the base register; regCFA or regOther
	off  int32 // bytes; for ruleOther the number of the expression
}

type cfiRuleKind uint8

const (
	noRule      cfiRuleKind = iota // nothing said yet
	ruleInvalid                    // every evaluation fails
	ruleReg                        // reg + off, not loaded; reg may be .cfa
	ruleLoad                       // the word at reg + off
	ruleConst                      // off
	ruleUndef                      // .undef
	ruleSelf                       // the register's own name: unchanged
	ruleOther                      // another expression
)

// Pseudo registers.
const (
	regCFA   = -1
	regRA    = -2
	regOther = -3 // a name the CPU does not have
)

// maxTracked bounds the registers whose rules are followed.
const maxTracked = 40

// cfiState is the row in force at an address.
type cfiState struct {
	cfa, ra cfiRule
	regs    [maxTracked]cfiRule
}

// What is remarkable about a text, a state or a step; blocks that collect any of it are looked at again in judge.
type cfiFlags uint32

const (
	textSyntax       cfiFlags = 1 << iota // the rule list or an expression is malformed
	textUnknown                           // a register the CPU does not have
	textSelf                              // .ra or .cfa where it is not in scope
	textUndef                             // .undef
	textVolatile                          // reads a register that deeper frames have lost
	stateNoCFA                            // no rule for the CFA
	stateNoRA                             // none for the return address
	stateNotEntry                         // not the ABI's state at a function's entry
	stateReturnSlot                       // return address not where the ABI puts it
	stateSlots                            // conflicting or impossible save slots
	stateStale                            // CFA from a register that calls destroy or that was never saved
	stateSwapped                          // stack and frame pointer exchanged
	stateBadCFA                           // CFA below the stack pointer or misaligned
	stateLinkFrame                        // frame allocated, return address still in the link register
	stateReturnSaved                      // return address loaded from memory
	stepJump                              // the CFA offset grows by more than one word
	stepBelowTop                          // a register saved below the stack pointer
	blockOrder                            // a delta below the one before it
	blockRepeat                           // two deltas at one address
	blockOutside                          // a delta outside the INIT range
	blockNotEntry                         // the first row in force has stateNotEntry
	blockFirstLost                        // the INIT record's text does not parse
)

// lone are the flags that make a block suspicious by themselves.
const lone = textSyntax | textUnknown | textSelf | textUndef | textVolatile | stateNoCFA | stateNoRA | stateReturnSlot |
	stateSlots | stateStale | stateSwapped | stateBadCFA | stepJump | stepBelowTop | blockOrder | blockRepeat | blockOutside |
	blockFirstLost

// cfiText is a rule text, parsed once.
type cfiText struct {
	hash     uint64
	off, len uint32
	rules    []cfiTextRule
	flags    cfiFlags
	broken   bool // Google's parser stops in it; rules holds what it had accepted
}

type cfiTextRule struct {
	target int8 // register index, regCFA, regRA or regOther
	rule   cfiRule
}

type cfiMachine struct {
	data []byte
	cpu  *cfiCPU

	texts     []cfiText
	textTable []int32 // open addressing; 0 = free, else number + 1

	byID []int32 // a scanner's text number to ours + 1

	states     []cfiState
	stateFlags []cfiFlags
	stateHash  []uint64
	stateTable []int32 // open addressing; 0 = free, else number + 1

	steps     []cfiStep // open addressing
	stepCount int

	exprs map[string]int32 // expressions of ruleOther
}

// cfiStep is the memory of one transition.
type cfiStep struct {
	key   uint64 // from-state << 32 | text, plus one; 0 = free
	to    int32
	flags cfiFlags
}

// Limits on what is remembered. A hostile file that exceeds them costs time, not memory.
const (
	maxTexts  = 1 << 16
	maxStates = 1 << 14
	maxSteps  = 1 << 18
)

// stateBefore is the state before an INIT record: nothing is known.
const stateBefore = 0

func newCFIMachine(data []byte, cpu *cfiCPU) *cfiMachine {
	m := &cfiMachine{data: data, cpu: cpu}
	m.reset()
	return m
}

func (m *cfiMachine) reset() {
	m.texts = m.texts[:0]
	m.textTable = make([]int32, 1<<10)
	clear(m.byID)
	m.states, m.stateFlags, m.stateHash = m.states[:0], m.stateFlags[:0], m.stateHash[:0]
	m.stateTable = make([]int32, 1<<10)
	m.steps = make([]cfiStep, 1<<10)
	m.stepCount = 0
	m.exprs = make(map[string]int32)
	m.state(&cfiState{}, 0) // stateBefore
}

// hashSeed is another in every process, so that nobody can write a file whose texts or states collide.
var hashSeed = rand.Uint64() | 1

// hashText is a multiply-and-fold hash, eight bytes at a time.
func hashText(t []byte) uint64 {
	const k1 = 0xd6e8feb86659fd93
	k0 := hashSeed
	h := uint64(len(t)) * k0
	for len(t) >= 16 {
		hi, lo := bits.Mul64(binary.LittleEndian.Uint64(t)^k1, binary.LittleEndian.Uint64(t[8:])^h)
		h = hi ^ lo
		t = t[16:]
	}
	var a, b uint64
	switch {
	case len(t) >= 8:
		a, b = binary.LittleEndian.Uint64(t), binary.LittleEndian.Uint64(t[len(t)-8:])
	case len(t) >= 4:
		a, b = uint64(binary.LittleEndian.Uint32(t)), uint64(binary.LittleEndian.Uint32(t[len(t)-4:]))
	case len(t) > 0:
		a = uint64(t[0]) | uint64(t[len(t)>>1])<<8 | uint64(t[len(t)-1])<<16
	}
	hi, lo := bits.Mul64(a^k1, b^h)
	return (hi ^ lo) * k0
}

// text returns the number of the rule text data[off:end].
func (m *cfiMachine) text(off, end int) int32 {
	t := m.data[off:end]
	h := hashText(t)
	mask := uint64(len(m.textTable) - 1)
	for i := h >> 20 & mask; ; i = (i + 1) & mask {
		n := m.textTable[i]
		if n == 0 {
			break
		}
		x := &m.texts[n-1]
		if x.hash == h && string(m.data[x.off:x.off+x.len]) == string(t) {
			return n - 1
		}
	}
	return m.addText(off, end, h)
}

func (m *cfiMachine) addText(off, end int, h uint64) int32 {
	if 2*len(m.texts) >= len(m.textTable) {
		m.textTable = make([]int32, 4*len(m.textTable))
		for n := range m.texts {
			m.placeText(int32(n))
		}
	}
	m.texts = append(m.texts, cfiText{hash: h, off: uint32(off), len: uint32(end - off)})
	n := int32(len(m.texts) - 1)
	m.parseText(&m.texts[n])
	m.placeText(n)
	return n
}

func (m *cfiMachine) placeText(n int32) {
	mask := uint64(len(m.textTable) - 1)
	i := m.texts[n].hash >> 20 & mask
	for m.textTable[i] != 0 {
		i = (i + 1) & mask
	}
	m.textTable[i] = n + 1
}

// full reports whether the machine has met as much as it remembers; the caller then restarts it.
func (m *cfiMachine) full() bool {
	return len(m.texts) >= maxTexts || len(m.states) >= maxStates || m.stepCount >= maxSteps
}

// restart forgets everything but one state and returns its new number.
func (m *cfiMachine) restart(keep int32) int32 {
	s, h := m.states[keep], m.stateHash[keep]
	m.reset()
	return m.state(&s, h)
}

// known returns the number of a text that a scanner has numbered.
func (m *cfiMachine) known(id int32, off, end int) int32 {
	if id < 0 {
		return m.text(off, end)
	}
	if int(id) < len(m.byID) {
		if n := m.byID[id]; n != 0 {
			return n - 1
		}
	} else {
		m.byID = append(m.byID, make([]int32, max(int(id)+1-len(m.byID), len(m.byID), 256))...)
	}
	n := m.text(off, end)
	m.byID[id] = n + 1
	return n
}

// hashRule is a register's share of its state's hash; no rule has none.
func hashRule(target int8, r cfiRule) uint64 {
	if r == (cfiRule{}) {
		return 0
	}
	x := uint64(uint8(target))<<48 | uint64(r.kind)<<40 | uint64(uint8(r.reg))<<32 | uint64(uint32(r.off))
	hi, lo := bits.Mul64(x^0xd6e8feb86659fd93, hashSeed)
	return hi ^ lo
}

// state returns the number of a state, whose hash is the exclusive or of its registers' hashes.
func (m *cfiMachine) state(s *cfiState, h uint64) int32 {
	mask := uint64(len(m.stateTable) - 1)
	for i := h & mask; m.stateTable[i] != 0; i = (i + 1) & mask {
		if n := m.stateTable[i] - 1; m.stateHash[n] == h && m.states[n] == *s {
			return n
		}
	}
	n := int32(len(m.states))
	m.states = append(m.states, *s)
	m.stateFlags = append(m.stateFlags, m.judgeState(s))
	m.stateHash = append(m.stateHash, h)
	if 2*len(m.states) >= len(m.stateTable) {
		m.stateTable = make([]int32, 4*len(m.stateTable))
		for k := range m.states {
			m.placeState(int32(k))
		}
	} else {
		m.placeState(n)
	}
	return n
}

func (m *cfiMachine) placeState(n int32) {
	mask := uint64(len(m.stateTable) - 1)
	i := m.stateHash[n] & mask
	for m.stateTable[i] != 0 {
		i = (i + 1) & mask
	}
	m.stateTable[i] = n + 1
}

// step returns the state that a text leads to and what is remarkable about the text and the step.
func (m *cfiMachine) step(from, text int32) (int32, cfiFlags) {
	key := (uint64(from)<<32 | uint64(uint32(text))) + 1
	mask := uint64(len(m.steps) - 1)
	i := key * hashSeed >> 32 & mask
	for {
		s := &m.steps[i]
		if s.key == key {
			return s.to, s.flags
		}
		if s.key == 0 {
			return m.addStep(key, from, text)
		}
		i = (i + 1) & mask
	}
}

func (m *cfiMachine) addStep(key uint64, from, text int32) (int32, cfiFlags) {
	next, h := m.states[from], m.stateHash[from]
	x := &m.texts[text]
	for _, r := range x.rules {
		var old *cfiRule
		switch {
		case r.target == regCFA:
			old = &next.cfa
		case r.target == regRA:
			old = &next.ra
		case r.target >= 0:
			old = &next.regs[r.target]
		default:
			continue
		}
		h ^= hashRule(r.target, *old) ^ hashRule(r.target, r.rule)
		*old = r.rule
	}
	flags := x.flags
	if from == stateBefore && x.broken {
		next, h = cfiState{}, 0 // an INIT that fails to parse leaves nothing
		flags |= blockFirstLost
	}
	if from != stateBefore {
		flags |= m.judgeStep(&m.states[from], &next)
	}
	if m.cpu.belowTop(x, &next) >= 0 {
		flags |= stepBelowTop
	}
	s := cfiStep{key: key, to: m.state(&next, h), flags: flags}
	if 2*m.stepCount >= len(m.steps) {
		old := m.steps
		m.steps = make([]cfiStep, 4*len(old))
		for _, o := range old {
			if o.key != 0 {
				m.placeStep(o)
			}
		}
	}
	m.placeStep(s)
	m.stepCount++
	return s.to, s.flags
}

func (m *cfiMachine) placeStep(s cfiStep) {
	mask := uint64(len(m.steps) - 1)
	i := s.key * hashSeed >> 32 & mask
	for m.steps[i].key != 0 {
		i = (i + 1) & mask
	}
	m.steps[i] = s
}

// parseText fills in what a rule text says.
func (m *cfiMachine) parseText(x *cfiText) {
	text := m.data[x.off : x.off+x.len]
	list := postfix.ParseRules(text)
	x.broken = !list.OK()
	if len(list.Problems) > 0 {
		x.flags |= textSyntax
	}
	for _, r := range list.Rules[:list.Accepted] {
		target := m.cpu.target(r.Name(text))
		if target == regOther && m.cpu.named(r.Name(text)) {
			continue // vector and special registers, which no walker follows
		}
		rule, flags := m.parseExpr(target, r.Expr(text))
		x.flags |= flags
		if target == regOther && m.cpu.known() && !m.cpu.named(r.Name(text)) {
			x.flags |= textUnknown
		}
		x.rules = append(x.rules, cfiTextRule{int8(target), rule})
	}
}

// parseExpr classifies the expression of a rule and flags what is wrong with it; judgeText says it in words.
func (m *cfiMachine) parseExpr(target int, expr []byte) (cfiRule, cfiFlags) {
	shape := postfix.ShapeOf(expr)
	switch shape.Kind {
	case postfix.Const:
		if shape.Offset == int64(int32(shape.Offset)) {
			return cfiRule{kind: ruleConst, off: int32(shape.Offset)}, 0
		}
	case postfix.UndefRule:
		return cfiRule{kind: ruleUndef}, textUndef
	case postfix.Reg, postfix.RegOffset, postfix.CFAOffset, postfix.DerefCFA, postfix.DerefReg:
		if farOffset(shape) {
			return cfiRule{kind: ruleInvalid}, textSyntax // no frame is so large
		}
		reg := m.cpu.target(shape.Register(expr))
		load := shape.Kind == postfix.DerefCFA || shape.Kind == postfix.DerefReg
		flags := m.operandFlags(target, reg, shape.Register(expr))
		rule := cfiRule{kind: ruleReg, reg: int8(reg), off: int32(shape.Offset)}
		switch {
		case flags&(textSelf|textUnknown) != 0:
			rule = cfiRule{kind: ruleInvalid}
		case load:
			rule.kind = ruleLoad
		case reg == target && reg >= 0 && shape.Offset == 0:
			rule = cfiRule{kind: ruleSelf}
			flags = 0
		}
		return rule, flags // such expressions have no further defect
	}
	program, bad := postfix.Compile(expr, postfix.CFI)
	var flags cfiFlags
	for _, n := range program.Names {
		flags |= m.operandFlags(target, m.cpu.target([]byte(n.Text)), []byte(n.Text))
	}
	if bad != nil || flags&(textSelf|textUnknown) != 0 {
		return cfiRule{kind: ruleInvalid}, flags | textSyntax
	}
	if len(program.Check(m.cpu.literalWord())) > 0 {
		flags |= textSyntax
	}
	id, ok := m.exprs[string(expr)]
	if !ok {
		id = int32(len(m.exprs))
		m.exprs[string(expr)] = id
	}
	return cfiRule{kind: ruleOther, reg: regOther, off: id}, flags
}

// farOffset: beyond what any stack frame has. dump_syms has written uninitialised memory where the offset stands.
func farOffset(s postfix.Shape) bool { return s.Offset > math.MaxInt32 || s.Offset < math.MinInt32 }

// operandFlags judges a name that the expression for target reads.
func (m *cfiMachine) operandFlags(target, reg int, name []byte) cfiFlags {
	switch {
	case string(name) == ".undef":
		return textUndef
	case reg == regRA, reg == regCFA && target == regCFA:
		return textSelf // .ra is in nobody's scope, .cfa not in its own
	case reg == regCFA:
		return 0
	case reg == regOther:
		if m.cpu.known() {
			return textUnknown
		}
		return 0
	case m.cpu.volatile[reg] && target != regCFA && reg != target:
		return textVolatile
	}
	return 0
}
