package unwind

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// hostile are symbols that lead walkers in circles, up, down and out.
var hostile = []string{
	"STACK CFI INIT 0 10000 .cfa: SP 1 + .ra: PC",
	"STACK CFI INIT 0 10000 .cfa: SP .ra: PC",
	"STACK CFI INIT 0 10000 .cfa: SP 1 - .ra: PC",
	"STACK CFI INIT 0 10000 .cfa: .cfa .ra: .ra",
	"STACK CFI INIT 0 10000 .cfa: SP 8 + .ra: .cfa 8 - ^\nSTACK CFI 8 .cfa: .cfa 8 +\n" +
		"STACK CFI 9 .cfa: SP ^ .ra: SP 8 + ^",
	"STACK CFI INIT 0 10000 .cfa: SP ^ .ra: .cfa ^",
	"STACK CFI INIT 0 10000 .cfa: 0 1 - .ra: 0 1 -",
	"STACK CFI INIT 0 10000 .cfa: SP 0 / .ra: PC 0 %",
	"STACK CFI INIT 0 10000 .cfa: SP 16 + 0 @ SP + 1 + .ra: PC PC: PC 1 + SP: SP 3 +",
	"STACK CFI INIT 0 10000 .cfa: SP 4 + SP: .cfa FP: FP 16 + .ra: .cfa ^",
	"STACK CFI INIT 0 10000 .cfa: SP 18446744073709551615 + .ra: PC",
	"STACK CFI INIT ffffffffffff0000 10000 .cfa: SP 1 + .ra: PC\nSTACK CFI INIT 0 ffffffffffffffff .cfa: SP 1 + .ra: PC",
	"STACK WIN 4 0 10000 0 0 0 0 0 0 1 $eip $eip = $esp $esp 1 + = $ebp $ebp =",
	"STACK WIN 4 0 10000 0 0 ffffffff ffffffff ffffffff 0 1 " +
		"$T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + = $ebp $T0 4 - ^ =",
	"STACK WIN 4 0 10000 0 0 0 fffffff0 10 0 1 $eip $esp ^ = $esp $esp 4 + = $ebp 0 =",
	"STACK WIN 4 0 10000 0 0 4 4 4 0 1 $T1 .raSearch = $T0 $T1 4 - 8 @ = $ebp $T1 4 - ^ = $eip $T1 ^ = $esp $T1 4 + =",
	"STACK WIN 4 0 10000 0 0 4 4 4 0 1 $eip .undef = $esp $nobody =",
	"STACK WIN 0 0 10000 0 0 4 8 4 0 0 0\nSTACK WIN 0 10 20 0 0 4 8 4 0 0 1",
	"FUNC 0 10000 ffffffff f\nSTACK WIN 0 0 10000 0 0 0 0 0 0 0 0",
	"FUNC 0 10000 0 f\nINLINE 0 1 0 0 0 10000\nINLINE 1 1 0 0 0 10000\nINLINE 2 1 0 7 0 10000\n0 10000 1 0",
	"PUBLIC 0 0 a\nPUBLIC 1 0 b\nFUNC bad\nSTACK CFI\nSTACK WIN\nINLINE",
	"",
}

// fuzzProcess makes a process of what a fuzzer gives: the program counter lies in the module with symbols and the stack
// pointer on the stack, more often than not.
func fuzzProcess(cpu *arch.CPU, flags uint8, regs, stack []byte) *Process {
	p := &Process{Order: binary.LittleEndian, Modules: NewModules(symfile.Reject),
		Unloaded: NewModules(symfile.TruncateLower)}
	if flags&1 != 0 {
		p.Order = binary.BigEndian
	}
	systems := [...]System{{OS: "Linux", OSShort: "linux"}, {OS: "Windows NT", OSShort: "windows"}, {OSShort: "ios"},
		{OSShort: "nacl"}}
	p.System = systems[flags>>1&3]
	p.Modules.Add(Module{Base: module1, Size: moduleSize, CodeFile: "module1"})
	p.Modules.Add(Module{Base: module2, Size: moduleSize, CodeFile: "module2"})
	p.Unloaded.Add(Module{Base: 0x60000000, Size: moduleSize, CodeFile: "module1"})
	r := &arch.Registers{CPU: cpu}
	var word [8]byte
	for i := range cpu.Slots {
		n := copy(word[:], regs[min(len(regs), i*8):])
		clear(word[n:])
		r.Set(i, binary.LittleEndian.Uint64(word[:]))
	}
	if flags&8 == 0 {
		r.Set(cpu.Slot.PC, module1+r.PC()%moduleSize)
		r.Set(cpu.Slot.SP, linkStack+r.SP()%uint64(len(stack)+1))
		if fp := cpu.Slot.FP; fp >= 0 && flags&16 == 0 {
			r.Set(fp, linkStack+r.Value[fp]%uint64(len(stack)+1))
		}
	}
	if flags&32 != 0 {
		r.Valid &= binary.LittleEndian.Uint64(append(regs[:min(8, len(regs)):min(8, len(regs))], make([]byte, 8)...)) | 3
	}
	t := Thread{Registers: r, Stack: Region{linkStack, stack}}
	p.Threads = []Thread{t}
	p.Memory = &p.Threads[0].Stack
	return p
}

func FuzzWalk(f *testing.F) {
	cpus := arch.All()
	for i, cpu := range cpus {
		sp, pc, fp := "sp", "pc", "fp"
		if cpu.HasCFI() {
			sp, pc, fp = cpu.SP, cpu.PC, cpu.FP
		}
		for j, text := range hostile {
			for old, name := range map[string]string{" SP": sp, " PC": pc, " FP": fp} {
				text = replaceWord(text, old, " "+name)
			}
			// A stack of pointers into itself and into both modules.
			var stack []byte
			for k := range 24 {
				v := [...]uint64{linkStack + uint64(k+3)*8, module2 + 0x100 + uint64(k), module1 + 0x10*uint64(k) + 1, 0}[k%4]
				if cpu.Word == 4 {
					stack = binary.LittleEndian.AppendUint32(stack, uint32(v))
				} else {
					stack = binary.LittleEndian.AppendUint64(stack, v)
				}
			}
			f.Add(uint8(i), uint8(j&1<<1), []byte{0x10, 0, 0, 0, 0, 0, 0, 0, 8}, stack, text)
			f.Add(uint8(i), uint8(64), []byte{0x10, 0, 0, 0, 0, 0, 0, 0, 8}, stack, text) // by all means
		}
	}
	f.Fuzz(func(t *testing.T, which, flags uint8, regs, stack []byte, text string) {
		if len(stack) > 1<<14 || len(text) > 1<<14 {
			return
		}
		cpu := cpus[int(which)%len(cpus)]
		p := fuzzProcess(cpu, flags, regs, stack)
		began := time.Now()
		symbols := &textSymbols{map[string]string{"module1": text}, map[string]int{}}
		w := &Walker{Process: p, Symbols: symbols, MaxFrames: 300, MaxScanned: 50, Best: flags&64 != 0}
		s := w.Walk(0)
		checkWalk(t, w, s)
		again := (&Walker{Process: p, Symbols: symbols, MaxFrames: 300, MaxScanned: 50, Best: w.Best}).WalkInto(0,
			make([]Frame, 3))
		if again.End != s.End || len(again.Frames) != len(s.Frames) {
			t.Fatalf("two walks: %d frames and %v, %d frames and %v", len(s.Frames), s.End, len(again.Frames), again.End)
		}
		for i := range s.Frames {
			if !reflect.DeepEqual(s.Frames[i].Registers, again.Frames[i].Registers) ||
				s.Frames[i].Trust != again.Frames[i].Trust {
				t.Fatalf("frame %d differs between two walks", i)
			}
		}
		scanned := 0
		for i := range min(20, len(s.Frames)) {
			e := w.Explain(s, i)
			if a := e.Found(); i > 0 && scanned < w.MaxScanned && (a == nil || a.Technique != s.Frames[i].Technique) {
				t.Fatalf("frame %d was found by %v, but is explained by %+v", i, s.Frames[i].Technique, a)
			}
			switch s.Frames[i].Trust {
			case TrustNone, TrustScan, TrustCFIScan:
				scanned++
			}
		}
		w.Explain(s, len(s.Frames))
		w.WalkList([]uint64{module1, module1 + uint64(flags)*16, 0, 1<<64 - 1})
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("%d frames took %v", len(s.Frames), took)
		}
	})
}

func replaceWord(text, old, with string) string {
	out := ""
	for i := 0; i < len(text); i++ {
		if end := i + len(old); end <= len(text) && text[i:end] == old && (end == len(text) || text[end] == ' ' ||
			text[end] == ':' || text[end] == '\n') {
			out += with
			i = end - 1
			continue
		}
		out += text[i : i+1]
	}
	return out
}

// checkWalk holds a walk against what is true of every one.
func checkWalk(t *testing.T, w *Walker, s *Stack) {
	t.Helper()
	regs := w.Process.Threads[0].Registers
	kind := kinds[regs.CPU.Name]
	if s.End == EndNone {
		t.Fatal("the walk does not say why it ended")
	}
	count, scanned := 0, 0
	for i := range s.Frames {
		f := &s.Frames[i]
		if (i == 0) != (f.Trust == TrustContext) {
			t.Fatalf("frame %d: %v", i, f.Trust)
		}
		if count > w.MaxFrames {
			t.Fatalf("frame %d is beyond the limit of %d", i, w.MaxFrames)
		}
		count += 1 + len(f.Inlines)
		switch f.Trust {
		case TrustScan, TrustCFIScan, TrustNone:
			scanned++
		}
		if f.Registers.CPU != regs.CPU || f.Registers.Valid>>len(regs.CPU.Slots) != 0 {
			t.Fatalf("frame %d: registers %x", i, f.Registers.Valid)
		}
		if f.Module != nil && !f.Module.Contains(f.Instruction) {
			t.Fatalf("frame %d: %#x is not in its module", i, f.Instruction)
		}
		if regs.CPU.Word == 4 && f.Registers.PC()|f.Registers.SP() > 1<<32-1 {
			t.Fatalf("frame %d: %#x %#x", i, f.Registers.PC(), f.Registers.SP())
		}
		if i == 0 || w.Best {
			continue
		}
		last := &s.Frames[i-1]
		switch grows := f.Registers.SP() > last.Registers.SP(); {
		case kind == kindPPC || kind == kindPPC64 || kind == kindSPARC:
			if !grows {
				t.Fatalf("frame %d: the stack pointer does not grow", i)
			}
		case f.Registers.PC() < lowest, !grows && (i > 1 || f.Registers.SP() != last.Registers.SP()):
			t.Fatalf("frame %d: pc %#x, sp %#x behind %#x", i, f.Registers.PC(), f.Registers.SP(), last.Registers.SP())
		}
	}
	if !w.Best && scanned > w.MaxScanned {
		t.Fatalf("%d frames by scanning", scanned)
	}
}

// Symbols of many deltas and calls, and frames all over them: what grows with both has to stay bearable.
func TestWalkHostileSymbols(t *testing.T) {
	text := "STACK CFI INIT 0 10000 .cfa: $rsp 1 + .ra: $rip 2 +\n"
	for i := range 4000 {
		text += fmt.Sprintf("STACK CFI %x $rbx: $rbx %d +\n", i, i)
	}
	f := newFixture(t, "x86_64").modules(module1)
	f.sym("module1", text)
	f.stack(linkStack, gap(1))
	f.set("$rip", module1+1, "$rsp", linkStack)
	f.walker.MaxFrames = 2000
	began := time.Now()
	s := f.walk()
	took := time.Since(began)
	// A frame takes at least a word of the stack, whatever the records say.
	if n := len(s.Frames); n < 1000 || n > 1100 || s.End != EndLimit {
		t.Errorf("%d frames, end: %s", n, s.End)
	}
	t.Logf("%d frames over 4000 deltas took %v", len(s.Frames), took)
}
