package unwind

import (
	"strings"

	"github.com/symlint/symlint/unwind/postfix"
)

// The programs that stand for FPO records, which have none of their own.
var (
	programFrame = []byte("$eip .raSearchStart ^ = " +
		"$ebp $esp .cbCalleeParams + .cbSavedRegs + 8 - ^ = $esp .raSearchStart 4 + =")
	programFPO     = []byte("$eip .raSearchStart ^ = $esp .raSearchStart 4 + =")
	programFPOWith = []byte("$eip .raSearchStart ^ = $esp .raSearchStart 4 + = $ebx $ebx =")
)

// The types of STACK WIN records.
const winFPO = 0

// winAt returns the STACK WIN record in force at a frame, nil where there is none. FUNC records count as records that
// tell the parameters only.
func (x *walk) winAt(f *Frame) *winEntry {
	ms := x.symbols.of(f.Module)
	if ms == nil || ms.symbols == nil {
		return nil
	}
	addr := f.Instruction - f.Module.Base
	if e, ok := ms.win[addr]; ok {
		return e
	}
	var e *winEntry
	info, ok := ms.symbols.Win(addr)
	if x.Patch.Win != nil {
		info, ok = x.Patch.Win(f.Module, addr, info, ok)
	}
	if ok {
		e = &winEntry{info: info, module: f.Module}
		if info.Program != "" {
			e.program = x.e.programs.Program([]byte(info.Program), postfix.Win)
			e.hasAt = strings.Contains(info.Program, "@")
		}
	}
	if ms.win == nil || len(ms.win) >= cachedAddresses {
		ms.win = make(map[uint64]*winEntry)
	}
	ms.win[addr] = e
	return e
}

// winEnv is what a program sees.
type winEnv struct {
	x                                   *walk
	ebp, esp, ebx                       uint64
	hasEBX                              bool
	calleeParams, params, saved, locals uint64
	search                              uint64
}

// Variable returns a register of the callee or one of the constants of the record.
func (v *winEnv) Variable(p *postfix.Program, name int) (uint64, bool) {
	switch p.Names[name].Text {
	case "$ebp":
		return v.ebp, true
	case "$esp":
		return v.esp, true
	case "$ebx":
		return v.ebx, v.hasEBX
	case ".cbCalleeParams":
		return v.calleeParams, true
	case ".cbSavedRegs":
		return v.saved, true
	case ".cbLocals":
		return v.locals, true
	case ".cbParams":
		return v.params, true
	case ".raSearchStart", ".raSearch":
		return v.search, true
	}
	return 0, false
}

// Load reads a word from the stack.
func (v *winEnv) Load(addr uint64) (uint64, bool) { return v.x.read(addr) }

// probe is how many words past the computed place the return address is looked for: the stack may have been aligned.
const probe = 3

// byWin recovers the caller by a STACK WIN record: GetCallerByWindowsFrameInfo of Google's stackwalker_x86.cc.
func (x *walk) byWin(f *Frame) bool {
	r := x.e.cpu.Slot
	callee := x.callee()
	e := x.winAt(callee)
	if e == nil {
		return false
	}
	callee.paramSize, callee.hasParams = e.info.ParamSize, true
	if e.info.ParamOnly {
		return false
	}
	last := &callee.Registers
	env := &x.winEnv
	*env = winEnv{
		x: x, ebp: last.Value[r.FP], esp: last.SP(), calleeParams: uint64(x.calleeParams()), params: uint64(e.info.ParamSize),
		saved: uint64(uint32(e.info.SavedRegs)), locals: uint64(uint32(e.info.Locals)),
	}
	ebx, esi, edi := x.e.cpu.SlotOf("$ebx"), x.e.cpu.SlotOf("$esi"), x.e.cpu.SlotOf("$edi")
	env.ebx, env.hasEBX = last.Get(ebx)

	start := uint64(uint32(env.esp + env.calleeParams + env.locals + env.saved))
	if at, found, ok := x.search(start, probe); ok {
		if x.first() && e.info.Type == winFPO && at == start && found == last.PC() {
			// A system call of Windows: the return from it still lies on the stack.
			start = uint64(uint32(start + 4))
			if at, _, ok := x.search(start, probe); ok {
				start = at
			}
		} else {
			start = at
		}
	}

	program, recoverEBP := e.program, true
	if program == nil {
		program, recoverEBP = x.fpoProgram(e, env.hasEBX)
	}
	if last.Has(r.FP) && e.hasAt {
		start = uint64(uint32(env.ebp + 4)) // aligning loses what esp was
	}
	env.search = start

	x.e.win.Word = 4
	fault := x.e.win.Run(program, env)
	eip, eipState := x.e.win.Variable("$eip")
	esp, espState := x.e.win.Variable("$esp")
	ebp, ebpState := x.e.win.Variable("$ebp")
	if ebpState != postfix.Assigned {
		ebp = env.ebp
	}
	f.Trust = TrustCFI
	if fault.Failed() || eipState != postfix.Assigned || espState != postfix.Assigned {
		if x.trace != nil {
			x.trace.winFault(e, program, fault)
		}
		if !x.scan || x.MaxScanned < 0 {
			return false
		}
		at, pc, ok := x.search(env.esp, x.window())
		if !ok {
			return false
		}
		eip, esp = pc, uint64(uint32(at+4))
		f.Trust = TrustScan
	}
	if eip != 0 || ebp != 0 { // both zero: the program says that this is the end of the stack
		eip, esp, ebp = x.winRepair(f, e, env, eip, esp, ebp, recoverEBP)
	}
	x.next(f)
	f.Registers.Set(r.PC, eip)
	f.Registers.Set(r.SP, esp)
	f.Registers.Set(r.FP, ebp)
	for _, s := range [...]struct {
		slot int
		name string
	}{{ebx, "$ebx"}, {esi, "$esi"}, {edi, "$edi"}} {
		if v, state := x.e.win.Variable(s.name); state == postfix.Assigned {
			f.Registers.Set(s.slot, v)
		}
	}
	return true
}

// calleeParams is the size of the parameters of the youngest frame that has a record. It should be that of the frame
// below, but the reference's loop runs on, and its results are what people have.
func (x *walk) calleeParams() uint32 {
	for i := range x.frames[:len(x.frames)-1] {
		if x.frames[i].hasParams {
			return x.frames[i].paramSize
		}
	}
	return 0
}

func (x *walk) fpoProgram(e *winEntry, ebx bool) (p *postfix.Program, recoverEBP bool) {
	switch {
	case e.info.AllocatesBasePointer:
		return x.e.programs.Program(programFrame, postfix.Win), true
	case ebx:
		return x.e.programs.Program(programFPOWith, postfix.Win), false
	}
	return x.e.programs.Program(programFPO, postfix.Win), false
}

// winRepair searches for a return address and a frame pointer near where the program found them, if they cannot be
// right.
func (x *walk) winRepair(f *Frame, e *winEntry, env *winEnv, eip, esp, ebp uint64, recoverEBP bool) (_, _, _ uint64) {
	offset := uint64(0)
	if x.Process.Modules.At(eip) == nil && x.scan && x.MaxScanned >= 0 {
		start := uint64(uint32(env.search + 4))
		if at, pc, ok := x.search(start, x.window()); ok {
			eip, esp, offset = pc, uint64(uint32(at+4)), at-start
			f.Trust = TrustCFIScan
		}
	}
	if !recoverEBP {
		return eip, esp, ebp
	}
	skipped := f.Trust != TrustCFI && ebp <= uint64(uint32(env.search+offset))
	if !skipped {
		if _, ok := x.read(ebp); ok {
			return eip, esp, ebp
		}
	}
	end := uint64(uint32(env.esp + env.calleeParams))
	for at := uint64(uint32(end + env.saved + offset)); at >= end; at = uint64(uint32(at - 4)) {
		v, ok := x.read(at)
		if !ok {
			break
		}
		if _, ok := x.read(v); ok {
			return eip, esp, v
		}
	}
	return eip, esp, ebp
}
