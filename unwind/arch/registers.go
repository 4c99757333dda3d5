package arch

import "strings"

// MaxSlots bounds the registers of one frame.
const MaxSlots = 40

// Registers are the register values of one frame, by slot. A value counts only where its bit of Valid is set. The
// values of CPUs with 32-bit words have 32 bits.
type Registers struct {
	CPU   *CPU
	Valid uint64
	Value [MaxSlots]uint64
}

// Get returns the value in a slot. It fails for slots that hold none, and for slot -1.
func (r *Registers) Get(slot int) (uint64, bool) {
	if uint(slot) >= MaxSlots || r.Valid&(1<<slot) == 0 {
		return 0, false
	}
	return r.Value[slot], true
}

// Has reports whether a slot holds a value.
func (r *Registers) Has(slot int) bool { return uint(slot) < MaxSlots && r.Valid&(1<<slot) != 0 }

// Set gives a slot a value, cut to the CPU's word. Slot -1 is ignored.
func (r *Registers) Set(slot int, v uint64) {
	if uint(slot) >= MaxSlots {
		return
	}
	if r.CPU != nil && r.CPU.Word == 4 {
		v = uint64(uint32(v))
	}
	r.Value[slot] = v
	r.Valid |= 1 << slot
}

// Drop makes a slot's value unknown.
func (r *Registers) Drop(slot int) {
	if uint(slot) < MaxSlots {
		r.Valid &^= 1 << slot
		r.Value[slot] = 0
	}
}

// SetAll marks every slot of the CPU as valid: a context gives all registers.
func (r *Registers) SetAll() { r.Valid = 1<<len(r.CPU.Slots) - 1 }

// All reports whether every slot of the CPU holds a value.
func (r *Registers) All() bool { return r.Valid == 1<<len(r.CPU.Slots)-1 }

// PC returns the program counter, 0 if unknown.
func (r *Registers) PC() uint64 { return r.Value[r.CPU.Slot.PC] }

// SP returns the stack pointer, 0 if unknown.
func (r *Registers) SP() uint64 { return r.Value[r.CPU.Slot.SP] }

// Roles are the slots of the registers that unwinding is about, -1 where the CPU has none.
type Roles struct{ PC, SP, FP, LR int }

// SlotOf returns the slot of a register by its name in CFI rules or by one of its plain names in Slots; -1 for none.
// It does not allocate.
func (c *CPU) SlotOf(name string) int {
	if s, ok := c.slots[name]; ok {
		return int(s)
	}
	return -1
}

// SlotOfDWARF returns the slot of a register by its DWARF number as the psABI gives it; -1 for none.
func (c *CPU) SlotOfDWARF(number uint64) int {
	if number >= uint64(len(c.dwarfSlots)) {
		return -1
	}
	return int(c.dwarfSlots[number])
}

// DWARFOf returns the DWARF number of the register in a slot, or -1.
func (c *CPU) DWARFOf(slot int) int {
	for n, s := range c.dwarfSlots {
		if int(s) == slot {
			return n
		}
	}
	return -1
}

// slotSpec is how the registers of a frame are laid out for one CPU: names in slot order, the roles by name, and for
// CPUs whose psABI numbering is not that of the slots the names by DWARF number ("-" for none, "-*8" for eight).
type slotSpec struct {
	names, dwarf   string
	pc, sp, fp, lr string
}

// DWARF numbers: the psABI supplement of each CPU. Those of riscv differ from the names dump_syms writes (0 is x0).
var slotSpecs = map[string]slotSpec{
	"x86": {names: "$eax $ecx $edx $ebx $esp $ebp $esi $edi $eip $eflags", pc: "$eip", sp: "$esp", fp: "$ebp"},
	"x86_64": {
		names: "$rax $rdx $rcx $rbx $rsi $rdi $rbp $rsp $r8..$r15 $rip $rflags",
		dwarf: "$rax $rdx $rcx $rbx $rsi $rdi $rbp $rsp $r8..$r15 $rip -*32 $rflags",
		pc:    "$rip", sp: "$rsp", fp: "$rbp",
	},
	"arm": {names: "r0..r12 sp lr pc cpsr", dwarf: "r0..r12 sp lr pc", pc: "pc", sp: "sp", fp: "r11", lr: "lr"},
	"arm64": {
		names: "x0..x30 sp pc cpsr", dwarf: "x0..x30 sp pc", pc: "pc", sp: "sp", fp: "x29", lr: "x30",
	},
	"mips": mipsSlots, "mips64": mipsSlots,
	"riscv": riscvSlots, "riscv64": riscvSlots,
	"ppc": {
		names: "r0..r31 srr0 lr ctr cr", dwarf: "r0..r31 -*33 lr ctr", pc: "srr0", sp: "r1", fp: "r31", lr: "lr",
	},
	"ppc64": {
		names: "r0..r31 srr0 lr ctr cr", dwarf: "r0..r31 -*33 lr ctr", pc: "srr0", sp: "r1", fp: "r31", lr: "lr",
	},
	"sparc":   {names: "g0..g7 o0..o5 sp o7 l0..l7 i0..i5 fp i7 pc npc", dwarf: "g0..g7 o0..o5 sp o7 l0..l7 i0..i5 fp i7", pc: "pc", sp: "sp", fp: "fp", lr: "o7"},
	"sparcv9": {names: "g0..g7 o0..o5 sp o7 l0..l7 i0..i5 fp i7 pc npc", dwarf: "g0..g7 o0..o5 sp o7 l0..l7 i0..i5 fp i7", pc: "pc", sp: "sp", fp: "fp", lr: "o7"},
	"s390":    s390Slots, "s390x": s390Slots,
	"nds32": {names: "pc sp", pc: "pc", sp: "sp"},
}

var (
	mipsSlots = slotSpec{
		names: "$zero $at $v0 $v1 $a0..$a3 $t0..$t7 $s0..$s7 $t8 $t9 $k0 $k1 $gp $sp $fp $ra $pc",
		dwarf: "$zero $at $v0 $v1 $a0..$a3 $t0..$t7 $s0..$s7 $t8 $t9 $k0 $k1 $gp $sp $fp $ra",
		pc:    "$pc", sp: "$sp", fp: "$fp", lr: "$ra",
	}
	riscvSlots = slotSpec{
		names: "pc ra sp gp tp t0..t2 s0 s1 a0..a7 s2..s11 t3..t6",
		dwarf: "- ra sp gp tp t0..t2 s0 s1 a0..a7 s2..s11 t3..t6",
		pc:    "pc", sp: "sp", fp: "s0", lr: "ra",
	}
	// Floating-point registers are kept because leaf functions save general registers in them.
	s390Slots = slotSpec{
		names: "r0..r15 f0..f15 pswa pswm",
		dwarf: "r0..r15 f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15 -*32 pswm pswa",
		pc:    "pswa", sp: "r15", fp: "r11", lr: "r14",
	}
)

func (c *CPU) layOut(s slotSpec) {
	c.Slots = words(s.names)
	if len(c.Slots) > MaxSlots {
		panic("arch: " + c.Name + " has too many registers for a frame")
	}
	c.slots = make(map[string]int8)
	for i, name := range c.Slots {
		c.slots[name] = int8(i)
		if plain := strings.TrimPrefix(name, "$"); plain != name {
			c.plain = append(c.plain, plain)
		} else {
			c.plain = append(c.plain, name)
		}
	}
	if s, ok := c.slots["$t0"]; ok {
		c.slots["$to"] = s // as the walker's table spells it
	}
	c.Slot = Roles{c.SlotOf(s.pc), c.SlotOf(s.sp), c.SlotOf(s.fp), c.SlotOf(s.lr)}
	if s.dwarf == "" {
		s.dwarf = s.names
	}
	for _, name := range words(s.dwarf) {
		c.dwarfSlots = append(c.dwarfSlots, int8(c.SlotOf(name)))
	}
}

// SlotName returns the name of a slot without '$', as Google's text output spells it.
func (c *CPU) SlotName(slot int) string { return c.plain[slot] }
