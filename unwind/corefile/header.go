package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/symlint/symlint/unwind/arch"
)

// header is what this package needs of an ELF file header, that of the core or of a module.
type header struct {
	order     binary.ByteOrder
	wide      bool // ELFCLASS64
	typ       elf.Type
	machine   elf.Machine
	flags     uint32
	entry     uint64
	phoff     uint64
	shoff     uint64
	phentsize uint64
	phnum     uint64
	shentsize uint64
	shnum     uint64
}

// Phdr is a program header of a module.
type Phdr struct {
	Type                             elf.ProgType
	Flags                            elf.ProgFlag
	Off, Vaddr, Filesz, Memsz, Align uint64
}

const (
	ehdr32, ehdr64 = 52, 64
	phdr32, phdr64 = 32, 56
	phnumExtended  = 0xffff     // PN_XNUM: the count is in sh_info of section 0
	efMIPSABI2     = 0x00000020 // n32
)

func parseHeader(data []byte) (header, error) {
	var h header
	if !bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		return h, fmt.Errorf("no ELF magic")
	}
	if len(data) < ehdr32 {
		return h, fmt.Errorf("ELF header cut off after %d bytes", len(data))
	}
	switch class := elf.Class(data[elf.EI_CLASS]); class {
	case elf.ELFCLASS32:
	case elf.ELFCLASS64:
		h.wide = true
	default:
		return h, fmt.Errorf("invalid ELF class %d", class)
	}
	switch order := elf.Data(data[elf.EI_DATA]); order {
	case elf.ELFDATA2LSB:
		h.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		h.order = binary.BigEndian
	default:
		return h, fmt.Errorf("invalid ELF byte order %d", order)
	}
	if h.wide && len(data) < ehdr64 {
		return h, fmt.Errorf("ELF header cut off after %d bytes", len(data))
	}
	h.typ = elf.Type(h.order.Uint16(data[16:]))
	h.machine = elf.Machine(h.order.Uint16(data[18:]))
	rest := data[40:] // e_ehsize
	if h.wide {
		h.entry, h.phoff, h.shoff = h.order.Uint64(data[24:]), h.order.Uint64(data[32:]), h.order.Uint64(data[40:])
		h.flags = h.order.Uint32(data[48:])
		rest = data[52:]
	} else {
		h.entry = uint64(h.order.Uint32(data[24:]))
		h.phoff, h.shoff = uint64(h.order.Uint32(data[28:])), uint64(h.order.Uint32(data[32:]))
		h.flags = h.order.Uint32(data[36:])
	}
	h.phentsize, h.phnum = uint64(h.order.Uint16(rest[2:])), uint64(h.order.Uint16(rest[4:]))
	h.shentsize, h.shnum = uint64(h.order.Uint16(rest[6:])), uint64(h.order.Uint16(rest[8:]))
	return h, nil
}

func (h *header) word() int {
	if h.wide {
		return 8
	}
	return 4
}

// cpu tells the architecture from machine and class.
func (h *header) cpu() (*arch.CPU, error) {
	var name string
	narrow := "" // why the 32-bit form is refused
	switch h.machine {
	case elf.EM_386:
		name = "x86"
	case elf.EM_X86_64:
		name, narrow = "x86_64", "x32"
	case elf.EM_ARM:
		name = "arm"
	case elf.EM_AARCH64:
		name, narrow = "arm64", "arm64 ILP32"
	case elf.EM_MIPS, elf.EM_MIPS_RS3_LE:
		name = "mips"
		if h.wide {
			name = "mips64"
		} else if h.flags&efMIPSABI2 != 0 {
			return nil, fmt.Errorf("mips n32 cores are not supported")
		}
	case elf.EM_RISCV:
		name = "riscv"
		if h.wide {
			name = "riscv64"
		}
	case elf.EM_PPC:
		name = "ppc"
	case elf.EM_PPC64:
		name, narrow = "ppc64", "32-bit ppc64"
	case elf.EM_S390:
		name, narrow = "s390x", "31-bit s390"
	default:
		return nil, fmt.Errorf("cores of %v (machine %d) are not supported", h.machine, uint16(h.machine))
	}
	if narrow != "" && !h.wide {
		return nil, fmt.Errorf("%s cores are not supported", narrow)
	}
	cpu, ok := arch.Lookup(name)
	if !ok || cpu.Word != h.word() {
		return nil, fmt.Errorf("%s core with %d-bit ELF class", name, 8*h.word())
	}
	return cpu, nil
}

// phdrs reads the program headers that data holds, data being the file from its start; missing is how many more the
// header claims.
func (h *header) phdrs(data []byte) (list []Phdr, missing uint64) {
	size := uint64(phdr32)
	if h.wide {
		size = phdr64
	}
	count := h.phnum
	if count == phnumExtended {
		count = h.extendedCount(data)
	}
	if count == 0 {
		return nil, 0
	}
	if h.phentsize < size || h.phoff >= uint64(len(data)) {
		return nil, count
	}
	held := (uint64(len(data)) - h.phoff) / h.phentsize
	n := min(count, held)
	list = make([]Phdr, n)
	for i := range list {
		list[i] = h.phdr(data[h.phoff+uint64(i)*h.phentsize:])
	}
	return list, count - n
}

// extendedCount is the number of program headers where e_phnum cannot say it.
func (h *header) extendedCount(data []byte) uint64 {
	info := uint64(28) // sh_info
	if h.wide {
		info = 44
	}
	if h.shoff == 0 || h.shoff > uint64(len(data)) || uint64(len(data))-h.shoff < info+4 {
		return phnumExtended
	}
	return uint64(h.order.Uint32(data[h.shoff+info:]))
}

func (h *header) phdr(b []byte) Phdr {
	o := h.order
	if h.wide {
		return Phdr{
			Type: elf.ProgType(o.Uint32(b)), Flags: elf.ProgFlag(o.Uint32(b[4:])), Off: o.Uint64(b[8:]),
			Vaddr: o.Uint64(b[16:]), Filesz: o.Uint64(b[32:]), Memsz: o.Uint64(b[40:]), Align: o.Uint64(b[48:]),
		}
	}
	return Phdr{
		Type: elf.ProgType(o.Uint32(b)), Off: uint64(o.Uint32(b[4:])), Vaddr: uint64(o.Uint32(b[8:])),
		Filesz: uint64(o.Uint32(b[16:])), Memsz: uint64(o.Uint32(b[20:])), Flags: elf.ProgFlag(o.Uint32(b[24:])),
		Align: uint64(o.Uint32(b[28:])),
	}
}

// debugOnly tells a separate debug file: its code has places and sizes but no bytes.
func (h *header) debugOnly(file []byte) bool {
	table := cut(file, h.shoff, h.shnum*h.shentsize)
	for ; len(table) >= 40 && h.shentsize >= 40; table = table[min(h.shentsize, uint64(len(table))):] {
		typ := elf.SectionType(h.order.Uint32(table[4:]))
		flags := uint64(h.order.Uint32(table[8:]))
		if h.wide {
			flags = h.order.Uint64(table[8:])
		}
		if typ == elf.SHT_NOBITS && elf.SectionFlag(flags)&elf.SHF_EXECINSTR != 0 {
			return true
		}
	}
	return false
}

// cut returns what data holds of [off, off+size).
func cut(data []byte, off, size uint64) []byte {
	n := uint64(len(data))
	if off >= n {
		return nil
	}
	return data[off : off+min(size, n-off) : off+min(size, n-off)]
}
