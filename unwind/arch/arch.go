// Package arch describes the CPUs that Breakpad symbol files are made for, as data: registers and their DWARF numbers,
// which names the walkers know, which registers survive a call, and how a frame looks on entry.
//
// Sources, all of google/breakpad unless said otherwise:
//   - names by DWARF number: DwarfCFIToModule::RegisterNames in src/common/dwarf_cfi_to_module.cc, which is what
//     dump_syms writes
//   - names known in CFI rules and registers carried over without a rule: the tables of
//     src/processor/stackwalker_{x86,amd64,arm,arm64,mips,riscv,riscv64}.cc
//   - scan windows: src/google_breakpad/processor/stackwalker.h and stackwalker_mips.cc
//   - rust-minidump: the REGISTERS of minidump/src/context.rs and the CALLEE_SAVED_REGS of minidump-unwind/src/*.rs
//   - calling conventions: the System V psABIs of i386 and x86-64, AAPCS32, AAPCS64, the MIPS o32 and n64 ABIs, the
//     RISC-V psABI, and Microsoft's "x64 ABI conventions"
package arch

// Class tells registers apart by what they hold.
type Class uint8

const (
	General Class = iota // integers and addresses
	Float                // floating point and vectors; walkers ignore them
	Special              // flags, segments, control registers, placeholders
)

// String names the class.
func (c Class) String() string {
	switch c {
	case General:
		return "general"
	case Float:
		return "float"
	}
	return "special"
}

// Saved is the set of conventions under which a register keeps its value across a call.
type Saved uint8

const (
	// SavedBreakpad: Google's walker copies the callee's value to the caller where no rule recovers the register.
	SavedBreakpad Saved = 1 << iota
	// SavedRust: rust-minidump does.
	SavedRust
	// SavedWindows: the platform's calling convention on Windows.
	SavedWindows
	// SavedABI: the platform's calling convention elsewhere.
	SavedABI
)

// Reg is one register of a CPU.
type Reg struct {
	// Name is how Google's dump_syms writes it: "$rsp", "x29".
	Name string
	// Aliases are other spellings in use. Google's walker knows none of them; rust-minidump knows fp and lr on
	// arm64, fp and r13–r15 on arm, and ignores a leading '$' everywhere.
	Aliases []string
	// DWARF is the register's number in .eh_frame and .debug_frame, or -1.
	DWARF int
	// Index is the register's place in CPU.Regs.
	Index int
	Class Class
	Saved Saved
	// CFI: Google's walker knows the name in rules, as target and as operand. Where it is false the name may be
	// written, but evaluates to nothing.
	CFI bool
	// Valid: the walker can give the register a value. False for names in its table without a place in the context
	// it keeps: f0–f7, fps and cpsr on arm.
	Valid bool
	// Rust: rust-minidump knows the register.
	Rust bool
}

// Scan is the window in which Google's walker looks for a return address on the stack, in words from the stack
// pointer. Its loop looks at one word more than the limit.
type Scan struct {
	Words int // for a frame that was itself unwound; 0: the walker does not scan
	First int // for the frame of the thread's own context
	// Skip is added to the start of all but the first frame's window, and taken off its length: the argument
	// slots of 32-bit MIPS.
	Skip int
}

// CPU is an architecture.
type CPU struct {
	Name string // canonical spelling in MODULE records
	// Spellings are those under which MODULE records name it, Name included.
	Spellings []string
	// Wide names the CPU with 64-bit words whose symbol files Google's dump_syms labels with this CPU's name, or "".
	Wide string
	// Word is the size of a general register, and so of a stack slot, in bytes.
	Word int
	// Dollar: register names carry a '$'.
	Dollar bool

	// SP, FP, PC and LR are registers by name. FP is what the compilers keep the frame pointer in. LR is "" where a
	// call pushes the return address. All four are "" for CPUs without STACK CFI.
	SP, FP, PC, LR string
	// FPAlternates are further frame pointers: r7 of Thumb code and iOS on arm.
	FPAlternates []string

	// EntryCFA is the distance in bytes from the stack pointer to the canonical frame address (CFA) at a function's
	// first instruction.
	EntryCFA int
	// ReturnSlot: on entry the return address lies at CFA-ReturnSlot. 0 where it is in LR.
	ReturnSlot int

	// CallAdjust is what Google's walker takes off a return address to get into the calling instruction, in bytes.
	CallAdjust int
	Scan       Scan

	// Regs are the registers, those with a DWARF number in its order.
	Regs []Reg

	// Slots are the registers that a frame keeps, under their names in CFI rules; Slot tells those with a role.
	Slots []string
	Slot  Roles

	slots      map[string]int8
	plain      []string
	dwarfSlots []int8
	dwarf      []int16 // DWARF number to index into Regs, -1 for none
	byName     map[string]int16
	folded     map[string]int16 // lower-case names without prefix, and aliases
}

// HasCFI reports whether Google's tools use STACK CFI on this CPU at all. They do not on ppc, s390 and sparc.
func (c *CPU) HasCFI() bool { return len(c.Regs) > 0 }

// Register finds a register by its exact name as dump_syms writes it. It does not allocate.
func (c *CPU) Register(name string) (Reg, bool) {
	i, ok := c.byName[name]
	if !ok {
		return Reg{}, false
	}
	return c.Regs[i], true
}

// Index is Register for callers that have the name as bytes: the register's place in Regs, or -1. It does not
// allocate.
func (c *CPU) Index(name []byte) int {
	if i, ok := c.byName[string(name)]; ok {
		return int(i)
	}
	return -1
}

// DWARF returns the name dump_syms writes for a DWARF register number; ok is false where it has none and writes
// "unnamed_register" and the number. The column of the return address is written as .ra instead.
func (c *CPU) DWARF(number int) (name string, ok bool) {
	if number < 0 || number >= len(c.dwarf) || c.dwarf[number] < 0 {
		return "", false
	}
	return c.Regs[c.dwarf[number]].Name, true
}

// IsCalleeSaved reports whether Google's walker takes the register for unchanged across a call.
func (c *CPU) IsCalleeSaved(name string) bool { return c.SavedBy(name, SavedBreakpad) }

// SavedBy reports whether the register keeps its value across a call under any of the given conventions.
func (c *CPU) SavedBy(name string, by Saved) bool {
	i, ok := c.byName[name]
	return ok && c.Regs[i].Saved&by != 0
}

// IsCallerSaved reports whether a function may overwrite the register freely: it is a general register, no convention
// saves it, and it is neither stack pointer nor program counter. The link register counts: a call overwrites it.
func (c *CPU) IsCallerSaved(name string) bool {
	i, ok := c.byName[name]
	return ok && c.Regs[i].Class == General && c.Regs[i].Saved == 0 && name != c.SP && name != c.PC
}

// IsSP reports whether name is the stack pointer.
func (c *CPU) IsSP(name string) bool { return name == c.SP && name != "" }

// IsFP reports whether name is the frame pointer, or the other one where there are two.
func (c *CPU) IsFP(name string) bool {
	if name == "" {
		return false
	}
	for _, fp := range c.FPAlternates {
		if name == fp {
			return true
		}
	}
	return name == c.FP
}

// IsLR reports whether name is the link register.
func (c *CPU) IsLR(name string) bool { return name == c.LR && name != "" }

// Target returns the register that a rule sets in the caller: .cfa stands for the stack pointer, .ra for the program
// counter ($ra on mips, from which the walker derives it).
func (c *CPU) Target(name string) string {
	switch name {
	case ".cfa":
		return c.SP
	case ".ra":
		if c.Name == "mips" || c.Name == "mips64" {
			return c.LR
		}
		return c.PC
	}
	return name
}

// String returns the name.
func (c *CPU) String() string { return c.Name }
