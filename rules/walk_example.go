package rules

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/replay"
	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// exampleFrame is a frame of the process of the examples, as it truly is.
type exampleFrame struct {
	function   string
	pc, sp, bp uint64
}

// Where the module and the stack of the examples lie.
const (
	exampleBase  = 0x400000
	exampleSize  = 0x2000
	exampleStack = 0x7ffd1000
	exampleID    = "B6F2E3D1A09C4F57812D3E4F5A6B7C8D0"
)

// exampleFrames are those of the crash: each frame has 32 bytes of locals below the saved frame pointer and the return
// address.
func exampleFrames() []exampleFrame {
	const frame = 48
	names := []string{"crash", "work", "main", "_start"}
	pcs := []uint64{0x1010, 0x1060, 0x10a0, 0xfe0}
	var out []exampleFrame
	for i, name := range names {
		sp := uint64(exampleStack + i*frame)
		out = append(out, exampleFrame{name, exampleBase + pcs[i], sp, sp + frame - 16})
	}
	out[len(out)-1].bp = 0
	return out
}

// exampleProcess is the crash that the examples of the walk rules are replayed against. Without frame pointers the
// register holds no address.
func exampleProcess(framePointers bool) *unwind.Process {
	cpu, _ := arch.Lookup("x86_64")
	frames := exampleFrames()
	stack := make([]byte, 0x200)
	put := func(addr, v uint64) { binary.LittleEndian.PutUint64(stack[addr-exampleStack:], v) }
	for i, f := range frames[:len(frames)-1] {
		caller := frames[i+1]
		if framePointers {
			put(f.bp, caller.bp)
		}
		put(f.bp+8, caller.pc)
	}
	put(frames[0].sp, 2) // locals: numbers, and what an earlier call left behind
	put(frames[0].sp+8, 1)
	put(frames[0].sp+24, exampleBase+0x1030)
	put(frames[2].bp-8, 3)
	regs := &arch.Registers{CPU: cpu}
	for i := range cpu.Slots {
		regs.Set(i, 0)
	}
	regs.Set(cpu.Slot.PC, frames[0].pc)
	regs.Set(cpu.Slot.SP, frames[0].sp)
	if framePointers {
		regs.Set(cpu.Slot.FP, frames[0].bp)
	}
	p := &unwind.Process{
		Modules: unwind.NewModules(symfile.Reject), Unloaded: unwind.NewModules(symfile.TruncateLower), Order: binary.LittleEndian,
		System:  unwind.System{OS: "Linux", OSShort: "linux", CPU: "amd64"},
		Threads: []unwind.Thread{{ID: 1, Registers: regs, Stack: unwind.Region{Base: exampleStack, Data: stack}}},
	}
	p.Memory = &p.Threads[0].Stack
	p.Modules.Add(unwind.Module{Base: exampleBase, Size: exampleSize, CodeFile: "/usr/bin/app", DebugFile: "app", DebugID: exampleID})
	return p
}

// exampleReference is the truth about the process, written as a table.
func exampleReference() (*replay.Reference, error) {
	var t strings.Builder
	t.WriteString("thread\tframe\tpc\tsp\tfunction\tfile\tline\n")
	for i, f := range exampleFrames() {
		fmt.Fprintf(&t, "0\t%d\t0x%x\t0x%x\t%s\t\t\n", i, f.pc, f.sp, f.function)
	}
	return replay.ParseReference([]byte(t.String()))
}

// exampleSymbols are those of the one module, whatever id they say.
type exampleSymbols struct{ *symfile.Symbols }

// ModuleSymbols returns them.
func (s exampleSymbols) ModuleSymbols(*unwind.Module) (*symfile.Symbols, error) {
	return s.Symbols, nil
}

// replayExample walks the example process with a symbol file and returns what the walk rules say, for one of them or
// for all if it is nil.
func replayExample(path, text string, rule *lint.Rule, framePointers bool) (*lint.FileResult, error) {
	w := &unwind.Walker{
		Process: exampleProcess(framePointers),
		Symbols: exampleSymbols{symfile.Load([]byte(text), symfile.Options{})},
	}
	ref, err := exampleReference()
	if err != nil {
		return nil, err
	}
	var findings []lint.Finding
	add := func(f lint.Finding) {
		if rule == nil || f.Rule == rule {
			findings = append(findings, f)
		}
	}
	results := replay.Verify(w, ref, replay.VerifyOptions{})
	for i := range results {
		if r := &results[i]; !r.Matched() {
			line := 0
			if r.Blame != nil {
				line = r.Blame.Line
			}
			add(WalkDivergence(r, RecordAt(path, []byte(text), line)))
		}
	}
	_, issues := replay.Self(w)
	for i := range issues {
		add(WalkIssue(&issues[i], RecordAt(path, []byte(text), issues[i].Line)))
	}
	return lint.NewFileResult(Registry(), path, findings...), nil
}

// runWalkExample is RunExample for the rules that need a dump.
func runWalkExample(rule *lint.Rule, path string) (*lint.FileResult, error) {
	if !slices.Contains(walkFamily.Rules, rule) {
		return nil, errors.New("no rule of walks: " + rule.Name)
	}
	return replayExample(path, rule.Bad.Text, rule, rule != walkScan)
}
