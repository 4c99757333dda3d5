package sframe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
)

// Magic is the first field of a section (specification, "SFrame Magic Number and Endianness").
const Magic = 0xdee2

// How SFrame is found in ELF files.
const (
	SectionName                  = ".sframe"
	SectionType  elf.SectionType = 0x6ffffff4 // SHT_GNU_SFRAME
	ProgramType  elf.ProgType    = 0x6474e554 // PT_GNU_SFRAME
	headerSize                   = 28
	attrSize                     = 5  // version 3: the attribute in front of a function's rows
	v1Repeat                     = 16 // version 1 has no field for it; only x86-64 PLTs were described so
	maxWords                     = 15
	rowInfoBase                  = 0x01
	rowInfoSign                  = 0x80
	s390xAdjust                  = 160 // SFRAME_S390X_CFA_OFFSET_ADJUSTMENT, SFRAME_S390X_SP_VAL_OFFSET
	s390xFactor                  = 8   // SFRAME_S390X_CFA_OFFSET_ALIGNMENT_FACTOR
	infoRowType                  = 0x0f
	infoMask                     = 0x10
	infoBKey                     = 0x20
	infoSignal                   = 0x80 // version 3
	info2Type                    = 0x1f // version 3
	controlReg                   = 0x01 // flexible rules: the value is a register's, else the CFA
	controlDeref                 = 0x02
	controlRest                  = 0x04
	controlShift                 = 3
	typeFlex                     = 1
	v3                           = 3
)

// Flags are the section's flags (specification, "SFrame Flags").
type Flags uint8

// The flags.
const (
	Sorted       Flags = 1 << iota // the function table is sorted by address
	FramePointer                   // every function keeps the frame pointer; versions 1 and 2
	PCRel                          // start addresses count from their own field; version 2 errata 1 and later
)

var flagNames = [...]string{"SFRAME_F_FDE_SORTED", "SFRAME_F_FRAME_POINTER", "SFRAME_F_FDE_FUNC_START_PCREL"}

// names lists the flags by name, unknown ones as one number.
func (f Flags) names() []string {
	var out []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	if rest := f &^ (1<<len(flagNames) - 1); rest != 0 {
		out = append(out, fmt.Sprint(uint8(rest)))
	}
	return out
}

// String gives the flags' names, separated by "|"; "NONE" for 0.
func (f Flags) String() string {
	if f == 0 {
		return "NONE"
	}
	return strings.Join(f.names(), "|")
}

// Defined returns the flags a version defines; 0 for unknown versions.
func Defined(version uint8) Flags {
	switch version {
	case 1:
		return Sorted | FramePointer
	case 2:
		return Sorted | FramePointer | PCRel
	case v3:
		return Sorted | PCRel
	}
	return 0
}

// ABI is the machine and byte order a section is for (specification, "SFrame ABI/arch Identifier").
type ABI uint8

// The ABIs.
const (
	AArch64BE ABI = iota + 1
	AArch64LE
	AMD64
	S390X
)

// NoReg stands for no register.
const NoReg = ^uint32(0)

// abis are the ABIs' facts: DWARF register numbers as their psABIs give them.
var abis = [...]struct {
	name       string
	machine    elf.Machine
	big        bool
	sp, fp, ra uint32
	regs       uint32 // DWARF numbers below this one name something
}{
	0:         {"unknown", elf.EM_NONE, false, NoReg, NoReg, NoReg, 0},
	AArch64BE: {"aarch64-be", elf.EM_AARCH64, true, 31, 29, 30, 128},
	AArch64LE: {"aarch64", elf.EM_AARCH64, false, 31, 29, 30, 128},
	AMD64:     {"amd64", elf.EM_X86_64, false, 7, 6, 16, 146},
	S390X:     {"s390x", elf.EM_S390, true, 15, 11, 14, 84},
}

func (a ABI) index() int {
	if int(a) < len(abis) {
		return int(a)
	}
	return 0
}

// Known reports whether the ABI is one of those above.
func (a ABI) Known() bool { return a.index() != 0 }

// SP returns the DWARF number of the stack pointer, NoReg for unknown ABIs.
func (a ABI) SP() uint32 { return abis[a.index()].sp }

// FP returns the DWARF number of the frame pointer, NoReg for unknown ABIs.
func (a ABI) FP() uint32 { return abis[a.index()].fp }

// RA returns the DWARF number of the return address column, NoReg for unknown ABIs.
func (a ABI) RA() uint32 { return abis[a.index()].ra }

// Registers returns how many DWARF register numbers the psABI gives a meaning or reserves, from 0.
func (a ABI) Registers() uint32 { return abis[a.index()].regs }

// BigEndian is the byte order that goes with the ABI.
func (a ABI) BigEndian() bool { return abis[a.index()].big }

// Machine is the ELF machine that goes with the ABI, EM_NONE for unknown ABIs.
func (a ABI) Machine() elf.Machine { return abis[a.index()].machine }

// String names the ABI.
func (a ABI) String() string {
	if !a.Known() {
		return fmt.Sprintf("unknown (%d)", uint8(a))
	}
	return abis[a].name
}

// ABIOf returns the ABI that fits an ELF file, 0 if none does.
func ABIOf(machine elf.Machine, bigEndian bool) ABI {
	for i := range abis {
		if i > 0 && abis[i].machine == machine && abis[i].big == bigEndian {
			return ABI(i)
		}
	}
	return 0
}

func (a ABI) aarch64() bool { return a == AArch64BE || a == AArch64LE }

// order is the byte order as the two types of encoding/binary that can be called without an interface.
func u16(b []byte, big bool) uint16 {
	if big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func u32(b []byte, big bool) uint32 {
	if big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func u64(b []byte, big bool) uint64 {
	if big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}
