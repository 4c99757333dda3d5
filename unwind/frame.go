package unwind

import (
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// Trust says how a frame was found, and so how far it can be believed. The names and their order are those of
// StackFrame::FrameTrust in Google's stack_frame.h.
type Trust uint8

const (
	TrustNone      Trust = iota
	TrustScan            // a word on the stack that looks like a return address
	TrustCFIScan         // STACK WIN, then a search near where it pointed
	TrustFP              // the frame pointer
	TrustCFI             // call frame information of whatever format
	TrustPrewalked       // given from outside
	TrustContext         // the thread's own registers
	TrustInline          // an inlined call; not a frame of its own
	TrustLeaf            // simulated return from a leaf function
)

var trustTexts = [...]string{
	"unknown", "stack scanning", "call frame info with scanning", "previous frame's frame pointer", "call frame info",
	"recovered by external stack walker", "given as instruction pointer in context", "inline record",
	"simulating a return from leaf function",
}

// String returns the text that Google's tools print behind "Found by:".
func (t Trust) String() string {
	if int(t) < len(trustTexts) {
		return trustTexts[t]
	}
	return trustTexts[TrustNone]
}

// Technique is a way of finding the caller of a frame.
type Technique uint8

const (
	ByContext      Technique = iota // frame 0
	ByCFI                           // STACK CFI records
	ByWin                           // STACK WIN records
	BySFrame                        // SFrame sections of the binaries
	ByDWARF                         // .eh_frame or .debug_frame of the binaries
	ByFramePointer                  // the chain of frame pointers
	ByScan                          // scanning the stack
	ByLeaf                          // simulated return from a leaf function
	BySignal                        // the context that a signal trampoline restores
	ByCall                          // the return address that a wild call left behind
	ByRealigned                     // a realigned stack, proved by two copies of the return address
	ByLink                          // the link register of the innermost frame
	ByList                          // a list of addresses from outside
	techniqueCount
)

var techniqueNames = [techniqueCount]string{
	"context", "cfi", "win", "sframe", "dwarf", "fp", "scan", "leaf", "signal", "call", "realigned", "link", "list",
}

// String returns the name used by --unwind.
func (t Technique) String() string {
	if t < techniqueCount {
		return techniqueNames[t]
	}
	return "invalid"
}

// Frame is one frame of a stack. Calls inlined into it are in Inlines and are no frames of their own.
type Frame struct {
	Registers arch.Registers
	// Instruction is the address that lookups use: the program counter of frame 0, and an address within the calling
	// instruction for the others.
	Instruction uint64
	// Return is the true program counter: that of frame 0 and of interrupted frames, else the return address as it was
	// found, on every CPU.
	Return uint64
	Trust  Trust
	// Technique is what found the frame.
	Technique Technique
	// Signal: the frame was interrupted, not left by a call, so that Instruction is its exact program counter.
	Signal bool
	Module *Module // nil where no module covers Instruction

	Function     string
	FunctionBase uint64 // absolute
	File         string // source file, "" if unknown
	Line         int64
	LineBase     uint64 // absolute: where the code of the source line begins
	HasSymbols   bool   // the module's symbols were looked up
	// Inlines are the calls inlined at Instruction, innermost first; their addresses are relative to the module.
	Inlines []symfile.InlineFrame

	// paramSize is what STACK WIN or FUNC say of the function's parameters, in bytes, if hasParams.
	paramSize uint32
	hasParams bool
}

// ReturnAddress is the address that Google's tools print for a frame: on x86 and amd64 the return address itself, on
// other CPUs the adjusted one.
func (f *Frame) ReturnAddress() uint64 {
	if cpu := f.Registers.CPU; cpu != nil && (cpu.Name == "x86" || cpu.Name == "x86_64") {
		return f.Registers.PC()
	}
	return f.Instruction
}

// Stack is the result of walking one thread.
type Stack struct {
	Thread *Thread
	Index  int     // of the thread
	Frames []Frame // innermost first
	// End says why the walk ended.
	End End
}

// End is why a walk ended.
type End uint8

const (
	EndNone        End = iota // not walked
	EndNoContext              // the thread has no registers that can be read
	EndNoStack                // no stack memory
	EndNoTechnique            // no technique found a caller
	EndLowAddress             // the caller's program counter is below 4096
	EndBackwards              // the caller's stack pointer is not above the callee's
	EndLimit                  // as many frames as a walk may have
	EndOutermost              // call frame information says that there is no caller
	EndUnsupported            // a CPU that cannot be walked
)

var endTexts = [...]string{
	"not walked", "no registers", "no stack memory", "no technique found a caller", "the return address is below 4096",
	"the stack pointer does not grow", "limit of frames reached", "outermost frame", "CPU not supported",
}

// String says it in words.
func (e End) String() string {
	if int(e) < len(endTexts) {
		return endTexts[e]
	}
	return "unknown"
}
