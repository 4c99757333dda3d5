package unwind

import (
	"encoding/binary"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/dwarf"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/sframe"
	"github.com/symlint/symlint/unwind/symfile"
)

// The limits of Google's Stackwalker.
const (
	DefaultMaxFrames  = 1 << 20 // frames, inlined calls included
	DefaultMaxScanned = 1 << 14 // frames found by scanning, after which no more are
)

// Walker walks the threads of one process. It keeps what it has read from symbols, so walking all threads with one
// Walker is cheaper than with several. It belongs to one goroutine.
type Walker struct {
	Process *Process
	// Symbols finds the symbol files of modules; nil for none.
	Symbols SymbolSource
	// Binaries finds the ELF files of modules, for the techniques that need them; nil for none.
	Binaries BinarySource
	// Techniques are those that may be used, in order. Nil: as the reference walker does, followed by those that
	// Binaries makes possible.
	Techniques []Technique
	// Best: everything that is known is used to find the true callers; no reference's behaviour is followed.
	Best bool
	// Patch changes records before they are used, to try what a repair of the symbol file would do.
	Patch Patch
	// MaxFrames and MaxScanned replace the default limits unless 0; negative: none at all may be scanned.
	MaxFrames, MaxScanned int

	symbols symbolizer
	engines map[*arch.CPU]*engine
	images  imageCache
	trace   *trace
}

// Patch changes the unwind records of symbol files as a walk sees them. The functions must give the same answer for the
// same address, and must not change what they are given. Nil functions change nothing.
type Patch struct {
	// CFI returns the rules for a module-relative address; info is what the file says, nil for nothing.
	CFI func(m *Module, s *symfile.Symbols, addr uint64, info *symfile.CFI) *symfile.CFI
	// Win returns the STACK WIN record for a module-relative address; ok is false for none.
	Win func(m *Module, addr uint64, info symfile.Win, ok bool) (symfile.Win, bool)
}

// engine is what walking the frames of one CPU needs and keeps.
type engine struct {
	cpu      *arch.CPU
	kind     kind
	word     int
	machine  postfix.Machine
	win      postfix.Machine
	programs postfix.Cache
	row      postfix.Row
	// canCFI is the set of slots that the reference's walker knows by name in rules; saved those it carries over.
	canCFI, saved uint64
	// abiSaved is the set of slots that the psABI has functions preserve; 0 where it is not known.
	abiSaved uint64
	// withBinaries is the order of techniques once binaries are at hand.
	withBinaries []Technique
	dwarfRow     dwarf.Row
	dwarfOut     dwarf.Recovered
	sframeOut    sframe.Recovered
}

// kind is the walker that a CPU has.
type kind uint8

const (
	kindNone kind = iota
	kindX86
	kindAMD64
	kindARM
	kindARM64
	kindMIPS
	kindMIPS64
	kindRISCV
	kindPPC
	kindPPC64
	kindSPARC
	kindS390 // no reference walks it: DWARF and SFrame only
)

var kinds = map[string]kind{
	"x86": kindX86, "x86_64": kindAMD64, "arm": kindARM, "arm64": kindARM64, "mips": kindMIPS, "mips64": kindMIPS64,
	"riscv": kindRISCV, "riscv64": kindRISCV, "ppc": kindPPC, "ppc64": kindPPC64, "sparc": kindSPARC, "s390x": kindS390,
}

func (w *Walker) engine(cpu *arch.CPU) *engine {
	if e, ok := w.engines[cpu]; ok {
		return e
	}
	e := &engine{cpu: cpu, kind: kinds[cpu.Name], word: cpu.Word}
	e.machine.Word = cpu.Word
	e.win.Word = 4
	for _, r := range cpu.Regs {
		slot := cpu.SlotOf(r.Name)
		if slot >= 0 && r.Saved&arch.SavedABI != 0 {
			e.abiSaved |= 1 << slot
		}
		if slot < 0 || !r.CFI || !r.Valid {
			continue
		}
		e.canCFI |= 1 << slot
		if r.Saved&arch.SavedBreakpad != 0 {
			e.saved |= 1 << slot
		}
	}
	e.programs.Bind = func(name string) int32 {
		if r, ok := cpu.Register(name); ok && r.CFI && r.Valid {
			return int32(cpu.SlotOf(name))
		}
		return -1
	}
	if w.engines == nil {
		w.engines = make(map[*arch.CPU]*engine)
	}
	w.engines[cpu] = e
	return e
}

// walk is one walk of a thread.
type walk struct {
	*Walker
	e       *engine
	thread  *Thread
	stack   Region
	frames  []Frame
	count   int // frames with inlined calls
	scanned int
	scan    bool // scanning is allowed
	end     End
	// What expressions see; here, so that a step allocates nothing.
	cfiEnv cfiEnv
	winEnv winEnv
}

// Missing returns the modules that a frame lay in and no symbols were found for, Corrupt those whose symbols hold
// records that could not be read, both in the order of their first frame in the walks so far.
func (w *Walker) Missing() []*Module { return w.symbols.missing }

// Corrupt is described with Missing.
func (w *Walker) Corrupt() []*Module { return w.symbols.corrupt }

// SymbolStatus tells what became of a module's symbols in the walks so far, and why there are none.
func (w *Walker) SymbolStatus(m *Module) (SymbolStatus, error) {
	w.init()
	s := w.symbols.status(m)
	if s == SymbolsMissing {
		return s, w.symbols.byFile[m.CodeFile].err
	}
	return s, nil
}

func (w *Walker) init() {
	w.symbols.source = w.Symbols
	// The symbol files of big-endian programs cannot be Google's, which reads no such ELF files: a guess would find
	// those of the little-endian sister.
	if w.Best && w.Process.Order == binary.LittleEndian && len(w.Process.Threads) > 0 && w.Process.Threads[0].Registers != nil {
		w.symbols.guess = w.Process.Threads[0].Registers.CPU
	}
}

// Walk walks a thread, given by its index in Process.Threads. It follows Stackwalker::Walk of Google's
// src/processor/stackwalker.cc unless Best is set.
func (w *Walker) Walk(thread int) *Stack { return w.WalkInto(thread, nil) }

// WalkInto is Walk with a slice of frames to reuse.
func (w *Walker) WalkInto(thread int, frames []Frame) *Stack {
	w.init()
	t := &w.Process.Threads[thread]
	x := w.start(t, frames)
	x.run()
	return &Stack{Thread: t, Index: thread, Frames: x.frames, End: x.end}
}

// start prepares the walk of a thread.
func (w *Walker) start(t *Thread, frames []Frame) *walk {
	x := &walk{Walker: w, thread: t, stack: t.Stack, frames: frames[:0]}
	if t.Registers == nil {
		return x
	}
	x.e = w.engine(t.Registers.CPU)
	if x.e.word == 4 && !x.stack.Empty() && (x.stack.Base > 1<<32-1 || x.stack.End()-1 > 1<<32-1) && x.e.narrow() {
		x.stack = Region{} // as the reference's walkers of 32-bit CPUs
	}
	return x
}

// narrow reports whether the CPU's walker in the reference refuses stacks beyond 32 bits.
func (e *engine) narrow() bool { return e.kind == kindX86 || e.kind == kindPPC || e.kind == kindMIPS }

func (x *walk) run() {
	if x.thread.Registers == nil {
		x.end = EndNoContext
		return
	}
	if x.e.kind == kindNone || x.e.kind == kindS390 && !x.Best && x.Techniques == nil && x.Binaries == nil {
		x.end = EndUnsupported
		return
	}
	maxFrames, maxScanned := x.MaxFrames, x.maxScanned()
	if maxFrames == 0 {
		maxFrames = DefaultMaxFrames
	}
	// Every frame takes a word of the stack, the return address if nothing else: records that say otherwise must not
	// make frames without end.
	mostFrames := len(x.stack.Data)/x.e.word + 1024
	if x.Best {
		mostFrames = max(mostFrames, 1<<16) // other stacks
	}
	f := x.contextFrame()
	for {
		x.symbolize(&f)
		x.count += len(f.Inlines) + 1
		x.frames = append(x.frames, f)
		switch f.Trust {
		case TrustNone, TrustScan, TrustCFIScan:
			x.scanned++
		}
		if x.count > maxFrames || len(x.frames) > mostFrames {
			x.end = EndLimit
			return
		}
		x.scan = x.scanned < maxScanned
		if !x.caller(&f) {
			return
		}
	}
}

// maxScanned is how many frames may be found by scanning.
func (w *Walker) maxScanned() int {
	if w.MaxScanned == 0 {
		return DefaultMaxScanned
	}
	return w.MaxScanned
}

// contextFrame is frame 0: the thread's own registers.
func (x *walk) contextFrame() Frame {
	f := Frame{Registers: *x.thread.Registers, Trust: TrustContext}
	if x.e.kind == kindARM64 {
		lr := x.e.cpu.Slot.LR
		f.Registers.Value[lr] = x.stripPAC(f.Registers.Value[lr])
	}
	f.Instruction = f.Registers.PC()
	f.Return = f.Instruction
	return f
}

// callee is the frame whose caller is looked for.
func (x *walk) callee() *Frame { return &x.frames[len(x.frames)-1] }

// caller finds the caller of the last frame. It returns false, with x.end set, where the walk ends.
func (x *walk) caller(f *Frame) bool {
	if x.e == nil { // a list of addresses, see WalkList
		x.end = EndNoContext
		return false
	}
	if x.Best {
		return x.bestCaller(f)
	}
	if x.stack.Empty() {
		x.end = EndNoStack
		return false
	}
	if !x.step(f) {
		if x.end == EndNone {
			x.end = EndNoTechnique
		}
		return false
	}
	if end := x.terminates(f); end != EndNone {
		x.end = end
		return false
	}
	if f.Technique != ByDWARF && f.Technique != BySFrame {
		x.adjust(f)
		return true
	}
	x.adjustExact(f)
	return true
}

// step tries the techniques in order until one yields a caller.
func (x *walk) step(f *Frame) bool {
	techniques := x.Techniques
	if techniques == nil {
		techniques = x.e.techniques(x.Walker)
	}
	for _, t := range techniques {
		*f = Frame{}
		if x.trace != nil {
			x.trace.begin(t)
		}
		found := x.try(t, f)
		if x.trace != nil {
			x.trace.end(x, found)
		}
		if found {
			f.Technique = t
			return true
		}
		if x.end != EndNone {
			return false
		}
	}
	return false
}

// The order of techniques in the reference's walkers. Scanning is part of the frame pointer technique on x86, which
// makes no difference to the order.
var (
	orderX86   = []Technique{ByWin, ByCFI, ByFramePointer, ByScan}
	orderAMD64 = []Technique{ByCFI, ByLeaf, ByFramePointer, ByScan}
	orderCFI   = []Technique{ByCFI, ByFramePointer, ByScan}
	orderMIPS  = []Technique{ByCFI, ByScan}
	orderFP    = []Technique{ByFramePointer}
)

func (e *engine) techniques(w *Walker) []Technique {
	var order []Technique
	switch e.kind {
	case kindX86:
		order = orderX86
	case kindAMD64:
		order = orderAMD64
	case kindMIPS, kindMIPS64:
		order = orderMIPS
	case kindPPC, kindPPC64, kindSPARC:
		order = orderFP
	default:
		order = orderCFI
	}
	if w.Binaries == nil {
		return order
	}
	return w.withBinaries(e, order)
}

// try runs one technique.
func (x *walk) try(t Technique, f *Frame) bool {
	switch t {
	case ByCFI:
		return x.byCFI(f)
	case ByWin:
		return x.e.kind == kindX86 && x.byWin(f)
	case ByLeaf:
		return x.byLeaf(f)
	case ByFramePointer:
		return x.byFramePointer(f)
	case ByScan:
		return x.byScan(f)
	case ByDWARF:
		return x.byDWARF(f)
	case BySFrame:
		return x.bySFrame(f)
	}
	return false
}

// lowest is the first address that can be a return address: nothing is mapped into the first page.
const lowest = 4096

// terminates is Google's TerminateWalk: a candidate that fails ends the walk, and the next technique is not tried.
func (x *walk) terminates(f *Frame) End {
	callee := x.callee()
	pc, sp := f.Registers.PC(), f.Registers.SP()
	switch x.e.kind {
	case kindAMD64:
		if x.Process.System.OSShort == "nacl" { // the upper halves are of no meaning there
			for _, slot := range [...]int{x.e.cpu.Slot.PC, x.e.cpu.Slot.SP, x.e.cpu.Slot.FP} {
				f.Registers.Value[slot] = uint64(uint32(f.Registers.Value[slot]))
			}
			pc, sp = f.Registers.PC(), f.Registers.SP()
		}
	case kindMIPS, kindMIPS64:
	case kindPPC, kindPPC64, kindSPARC:
		return EndNone // these walkers make their own checks
	}
	if pc < lowest {
		return EndLowAddress
	}
	leaf := callee.Trust == TrustContext
	if f.Technique == ByDWARF || f.Technique == BySFrame {
		if f.Signal {
			return EndNone // the handler may have had a stack of its own
		}
		leaf = x.leafLike(callee)
	}
	last := callee.Registers.SP()
	if sp < last || sp == last && !leaf {
		return EndBackwards
	}
	return EndNone
}

// adjust sets the address that lookups use, from the return address into the calling instruction.
func (x *walk) adjust(f *Frame) {
	pc := f.Registers.PC()
	f.Return = pc
	switch x.e.kind {
	case kindX86, kindAMD64:
		f.Instruction = pc - 1
	case kindARM:
		f.Instruction = uint64(uint32(pc - 2))
	case kindARM64, kindRISCV, kindPPC:
		f.Instruction = pc - 4
	case kindPPC64:
		f.Instruction = pc - 8
	case kindS390:
		f.Instruction = pc - 1
	case kindSPARC:
		f.Instruction = pc - 8
	default: // the return address of mips was adjusted when it was recovered
		f.Instruction = pc
		f.Return = f.Registers.Value[x.e.cpu.Slot.LR]
	}
}

// adjustExact is adjust for techniques that recover the return address itself on every CPU, and know of interrupted
// frames.
func (x *walk) adjustExact(f *Frame) {
	if f.Signal {
		f.Instruction = f.Registers.PC()
		f.Return = f.Instruction
		return
	}
	x.adjust(f)
	f.Return = f.Registers.PC()
	if x.e.kind == kindMIPS || x.e.kind == kindMIPS64 {
		f.Instruction = f.Registers.PC() - 8 // a call and its delay slot
	}
}

// next fills the caller with the values of its callee; none of them counts until it is marked as valid. The reference
// copies its contexts in the same way, and a few of its steps read values that are not marked.
func (x *walk) next(f *Frame) {
	f.Registers = x.callee().Registers
	f.Registers.Valid = 0
}

// read reads a word of the CPU's size from the stack.
func (x *walk) read(addr uint64) (uint64, bool) {
	if x.e.word == 4 {
		addr = uint64(uint32(addr))
	}
	v, ok := stackWord(&x.stack, x.Process.Order, addr, x.e.word)
	if x.trace != nil {
		x.trace.load(addr, v, ok)
	}
	return v, ok
}
