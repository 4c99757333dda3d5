package symgen

import (
	"fmt"
	"strings"
)

// The rules below are those of x86_64 System V: the CFA lies above the return address, so at the entry it is the stack
// pointer plus one word. Google's writer orders the rules of a row by the bytes of their names, `$…` before `.cfa`.

const (
	word      = 8
	entryRule = ".cfa: $rsp 8 + .ra: .cfa -8 + ^"
)

// calleeSaved in the order in which gcc pushes them; a function that needs k saves the last k.
var calleeSaved = []string{"$r15", "$r14", "$r13", "$r12", "$rbp", "$rbx"}

// row is one STACK CFI record: the rules in force from offset on.
type row struct {
	offset int // bytes behind the start of the function
	rules  string
}

// frame is the unwind description of one function, built instruction by instruction.
type frame struct {
	rows []row
	at   int // offset of the next instruction; in the end, the size of the function
}

// emit appends an instruction of n bytes behind which rules are in force.
func (f *frame) emit(n int, rules string) {
	f.at += n
	f.rows = append(f.rows, row{f.at, rules})
}

// rules are texts, made once: they repeat by the ten thousand.
type rules struct {
	rsp  map[int]string
	save map[[2]int]string
}

func newRules() rules {
	return rules{rsp: map[int]string{}, save: map[[2]int]string{}}
}

// cfa is the rule for a frame of depth bytes, return address included.
func (r rules) cfa(depth int) string {
	s, ok := r.rsp[depth]
	if !ok {
		s = fmt.Sprintf(".cfa: $rsp %d +", depth)
		r.rsp[depth] = s
	}
	return s
}

// push are the rules behind the push of a register that makes the frame depth bytes deep.
func (r rules) push(register, depth int) string {
	key := [2]int{register, depth}
	s, ok := r.save[key]
	if !ok {
		s = slot(calleeSaved[register], depth) + " " + r.cfa(depth)
		r.save[key] = s
	}
	return s
}

// slot is the rule of a register saved in the word at CFA - distance.
func slot(register string, distance int) string {
	return fmt.Sprintf("%s: .cfa -%d + ^", register, distance)
}

// together are the rules of registers, given in the order of their pushes, the first in the word at CFA - first.
func together(registers []string, first int) string {
	texts := map[string]string{}
	for i, r := range registers {
		texts[r] = slot(r, first+i*word)
	}
	var b strings.Builder
	for _, name := range []string{"$r12", "$r13", "$r14", "$r15", "$rbp", "$rbx"} {
		if t, ok := texts[name]; ok {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(t)
		}
	}
	return b.String()
}

// framer makes unwind descriptions.
type framer struct {
	*generator
	rules
	frame
}

// pushSize is the length of the push or pop of a register: r8 to r15 need a REX prefix.
func pushSize(register string) int {
	if strings.HasPrefix(register, "$r1") {
		return 2
	}
	return 1
}

// adjustSize is the length of `sub rsp, n` or `add rsp, n`.
func adjustSize(n int) int {
	if n < 128 {
		return 4
	}
	return 7
}

// next describes a function of about target bytes. The result is valid until the next call.
func (f *framer) next(target int) *frame {
	f.rows, f.at = f.rows[:0], 0
	switch k := f.IntN(100); {
	case k < 19:
		f.at = max(target, 2) // a leaf: the entry state holds throughout
	case k < 33:
		f.adjusted(target)
	case k < 65:
		f.gcc(target)
	case k < 72:
		f.gccFramePointer(target)
	case k < 84:
		f.clang(target)
	case k < 95:
		f.clangFramePointer(target)
	default:
		f.shrinkWrapped(target)
	}
	return &f.frame
}

// filler is code that moves neither the stack pointer nor a saved register.
func (f *framer) filler() {
	if f.chance(25) {
		f.at += f.between(2, 9)
	}
}

// onFramePointer stands for the depth of a frame whose CFA hangs on the frame pointer, where pushes do not move it.
const onFramePointer = 0

// body appends about n bytes of code in which the CFA is depth above the stack pointer, now and then with arguments
// pushed around a call.
func (f *framer) body(n, depth int) {
	n = max(n, 6)
	if depth == onFramePointer || n < 40 || !f.chance(4) {
		f.at += n
		return
	}
	f.at += n / 2
	arguments := 2 * f.between(1, 2) // an even number keeps the stack aligned
	for i := range arguments {
		f.emit(2, f.cfa(depth+(i+1)*word))
	}
	f.at += 5 // call
	f.emit(4, f.cfa(depth))
	f.at += n / 2
}

// locals is the size of the local variables of a frame that is depth bytes deep without them: what aligns it to 16, and
// often more.
func (f *framer) locals(depth int) int {
	n := depth & 8
	switch k := f.IntN(100); {
	case k < 25:
	case k < 75:
		n += 16 * f.between(1, 8)
	case k < 97:
		n += 16 * f.skewed(1, 18)
	default:
		n += 16 * f.between(1, 800)
	}
	return n
}

// epilogues appends the rest of a function of about target bytes: bodies, each but perhaps the last ended by an epilogue.
// Behind a return that is not the last code, the state before the epilogue holds again.
func (f *framer) epilogues(target, depth int, again string, epilogue func()) {
	count := 1
	for count < 6 && f.chance(30) {
		count++
	}
	tail := f.chance(45) // slow paths behind the last return
	if f.chance(4) {
		count, tail = 0, true // no return at all: the function ends in a call that does not come back
	}
	parts := count
	if tail {
		parts++
	}
	share := max((target-f.at)/parts, 8)
	for i := range count {
		f.body(f.between(share/2+1, share+share/2), depth)
		epilogue()
		f.at++ // ret
		if i < count-1 || tail {
			if f.chance(60) {
				f.at = (f.at + 7) &^ 7
			}
			f.rows = append(f.rows, row{f.at, again})
		}
	}
	if tail {
		f.body(share, depth)
	}
}

// adjusted: `sub rsp, n` … `add rsp, n; ret`.
func (f *framer) adjusted(target int) {
	n := f.locals(word)
	depth := word + n
	f.filler()
	f.emit(adjustSize(n), f.cfa(depth))
	f.epilogues(target, depth, f.cfa(depth), func() { f.emit(adjustSize(n), f.cfa(word)) })
}

// gcc -fomit-frame-pointer: every push is a row of its own, with the register's slot.
func (f *framer) gcc(target int) {
	first := f.IntN(len(calleeSaved))
	if f.chance(30) {
		first = 0
	}
	depth := word
	f.filler()
	for i := first; i < len(calleeSaved); i++ {
		depth += word
		f.emit(pushSize(calleeSaved[i]), f.push(i, depth))
		f.filler()
	}
	saved, n := depth, f.locals(depth)
	if n > 0 {
		depth += n
		f.emit(adjustSize(n), f.cfa(depth))
	}
	f.epilogues(target, depth, f.cfa(depth), func() {
		if n > 0 {
			f.emit(adjustSize(n), f.cfa(saved))
		}
		f.pops(first, saved)
	})
}

// pops are the rows of an epilogue that takes back registers first and behind from a frame of depth bytes.
func (f *framer) pops(first, depth int) {
	for i := len(calleeSaved) - 1; i >= first; i-- {
		depth -= word
		f.emit(pushSize(calleeSaved[i]), f.cfa(depth))
	}
}

const (
	rbp          = 4 // its index in calleeSaved
	pushedRBP    = "$rbp: .cfa -16 + ^ .cfa: $rsp 16 +"
	framePointer = ".cfa: $rbp 16 +"
)

// enter is the prologue that sets the frame pointer up.
func (f *framer) enter() {
	f.filler()
	f.emit(1, pushedRBP)
	f.emit(3, framePointer)
}

// gccFramePointer: the slots become known one by one while the CFA hangs on the frame pointer; `leave` ends it.
func (f *framer) gccFramePointer(target int) {
	f.enter()
	order := []string{"$r15", "$r14", "$r13", "$r12", "$rbx"}
	for i, r := range order[:f.IntN(len(order)+1)] {
		f.emit(pushSize(r), slot(r, 24+i*word))
		f.filler()
	}
	f.epilogues(target, onFramePointer, framePointer, func() { f.emit(1, f.cfa(word)) })
}

// clang: the pushes move the CFA alone; the slots follow together at the end of the prologue.
func (f *framer) clang(target int) {
	order := []string{"$rbp", "$r15", "$r14", "$r13", "$r12", "$rbx"}
	saved := order[f.IntN(len(order)):]
	depth := word
	for _, r := range saved[:len(saved)-1] {
		depth += word
		f.emit(pushSize(r), f.cfa(depth))
	}
	depth += word
	top := depth
	n := depth & 8
	if f.chance(60) {
		n += 16 * f.between(1, 24)
	}
	slots := together(saved, 16)
	if n > 0 {
		f.emit(1, f.cfa(depth))
		depth += n
		f.emit(adjustSize(n), slots+" "+f.cfa(depth))
	} else {
		f.emit(1, slots+" "+f.cfa(depth))
	}
	f.epilogues(target, depth, f.cfa(depth), func() {
		if n > 0 {
			f.emit(adjustSize(n), f.cfa(top))
		}
		for i := len(saved) - 1; i >= 0; i-- {
			f.emit(pushSize(saved[i]), f.cfa(top-(len(saved)-i)*word))
		}
	})
}

// clangFramePointer: as clang, with the CFA at the frame pointer.
func (f *framer) clangFramePointer(target int) {
	f.enter()
	order := []string{"$r15", "$r14", "$r13", "$r12", "$rbx"}
	if saved := order[f.IntN(len(order)+1):]; len(saved) > 0 {
		n := 0
		for _, r := range saved {
			n += pushSize(r)
		}
		f.emit(n+adjustSize(64), together(saved, 24))
	}
	f.epilogues(target, onFramePointer, framePointer, func() { f.emit(1, f.cfa(word)) })
}

// shrinkWrapped: the entry checks something and returns early; only the slow path has a frame, and gives the register
// back with an explicit rule.
func (f *framer) shrinkWrapped(target int) {
	f.at += f.between(8, 40)
	f.emit(1, "$rbx: .cfa -16 + ^ .cfa: $rsp 16 +")
	f.body(target/2, 16)
	f.emit(1, "$rbx: $rbx .cfa: $rsp 8 +")
	f.at++
	f.at += f.between(4, 24)
}
