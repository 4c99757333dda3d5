// Package corefile reads ELF core files of Linux processes: those the kernel writes, gdb's gcore, and qemu-user's.
//
// Sources: the ELF gABI and the psABI supplements for headers; for notes the Linux kernel's binfmt_elf.c, elfcore.h and
// each architecture's elf_gregset_t; for the link map glibc's <link.h>.
//
// A core is untrusted. Nothing a header claims is believed beyond what the file holds; what is missing or contradictory
// is listed in Core.Problems, and the rest is used.
package corefile

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/symlint/symlint/unwind/arch"
)

// Core is a parsed core file. It keeps the slice it was parsed from.
type Core struct {
	CPU   *arch.CPU
	Order binary.ByteOrder // of memory and of notes
	Word  int              // size of a pointer in bytes: 4 or 8

	// Threads in file order; the kernel and gdb write the one that crashed first. Cores hold no thread names.
	Threads []Thread
	// Segments are the PT_LOADs, sorted by Addr.
	Segments []Segment
	// Files is the NT_FILE note: the file mappings, sorted by Start. Nil where the core has none (qemu).
	Files []Mapping
	// Auxv is the auxiliary vector the kernel gave the process, without its end mark.
	Auxv []Aux
	// Command and Args are pr_fname (at most 15 bytes) and pr_psargs (at most 79) of NT_PRPSINFO.
	Command, Args string
	// PID is the process of NT_PRPSINFO, 0 if unknown.
	PID uint32
	// Problems is what was wrong with the file, in the order found; at most maxProblems.
	Problems []Problem

	data     []byte
	memory   []extent // what the core itself holds
	files    []extent // what the accepted binaries add
	pageSize uint64
	spent    int // see maxSpent
}

// Thread is one NT_PRSTATUS note and the per-thread notes behind it.
type Thread struct {
	LWP    uint32
	Signal int // pr_cursig; 0 for none
	// Registers holds every register of the note; those a short note lacks are not valid.
	Registers arch.Registers
	// Siginfo is the thread's NT_SIGINFO, or nil. The kernel writes one for the first thread only.
	Siginfo *Siginfo
	// PAC are the bits of pointers that hold an arm64 authentication code; zero for none.
	PAC PACMask
}

// Siginfo is the part of siginfo_t common to all signals, and the fault address.
type Siginfo struct {
	Signo, Code, Errno int32
	// Addr is si_addr, meaningful where HasAddr: faults that the kernel raised.
	Addr    uint64
	HasAddr bool
}

// PACMask is the NT_ARM_PAC_MASK note: which bits of a data or code pointer are the authentication code.
type PACMask struct{ Data, Insn uint64 }

// Segment is one PT_LOAD. Data may be shorter than Size: the rest was not dumped, or the file ends before it.
type Segment struct {
	Addr, Size uint64
	Flags      elf.ProgFlag
	Data       []byte

	offset   uint64 // of Data in the file
	declared uint64 // p_filesz
}

// Mapping is a range of memory and the file behind it, from NT_FILE or /proc/PID/maps.
type Mapping struct {
	Start, End uint64
	Offset     uint64 // in the file, bytes
	// Flags are the access rights; 0 for NT_FILE, which has none.
	Flags elf.ProgFlag
	// Path is "" for anonymous memory. The kernel's mark " (deleted)" is taken off and kept in Deleted.
	Path    string
	Deleted bool
}

// Aux is one entry of the auxiliary vector.
type Aux struct{ Tag, Value uint64 }

// Tags of the auxiliary vector (<elf.h>) that this package reads.
const (
	AuxPhdr        = 3
	AuxPhnum       = 5
	AuxPageSize    = 6
	AuxBase        = 7
	AuxEntry       = 9
	AuxExecFn      = 31
	AuxSysinfoEHdr = 33
)

// Problem is a defect of the core file, or of what was said about it.
type Problem struct {
	Offset uint64 // in the core file; 0 where the problem has no place in it
	Text   string
}

// String gives the text, with the offset where there is one.
func (p Problem) String() string {
	if p.Offset == 0 {
		return p.Text
	}
	return fmt.Sprintf("offset %#x: %s", p.Offset, p.Text)
}

// maxProblems bounds the list: a damaged file has as many as it has headers.
const maxProblems = 100

// ErrNotCore is what Parse wraps for data that is no ELF core file at all.
var ErrNotCore = errors.New("not an ELF core file")

// IsCore reports whether data begins like an ELF core file, of whatever CPU.
func IsCore(data []byte) bool {
	h, err := parseHeader(data)
	return err == nil && h.typ == elf.ET_CORE
}

// Parse reads a core file. It fails for other files (ErrNotCore) and for CPUs it does not know; a core that is merely
// damaged or cut off gives what is there, and Problems.
func Parse(data []byte) (*Core, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNotCore, err)
	}
	if h.typ != elf.ET_CORE {
		return nil, fmt.Errorf("%w: ELF type %v", ErrNotCore, h.typ)
	}
	cpu, err := h.cpu()
	if err != nil {
		return nil, err
	}
	c := &Core{CPU: cpu, Order: h.order, Word: h.word(), data: data, pageSize: 4096}
	phdrs, missing := h.phdrs(data)
	if missing > 0 {
		c.problem(h.phoff, "program headers: %d of %d lie beyond the end of the file", missing, uint64(len(phdrs))+missing)
	}
	c.loads(phdrs)
	read := uint64(0)
	for _, p := range phdrs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		if read += min(p.Filesz, uint64(len(data))); read > uint64(len(data)) {
			c.problem(p.Off, "notes: their segments overlap")
			break
		}
		c.notes(p)
	}
	if len(c.Threads) == 0 {
		c.problem(0, "no NT_PRSTATUS note: the core has no threads")
	}
	if size, ok := c.AuxValue(AuxPageSize); ok && size >= 512 && size <= 1<<20 && size&(size-1) == 0 {
		c.pageSize = size
	}
	return c, nil
}

func (c *Core) problem(offset uint64, format string, args ...any) {
	switch n := len(c.Problems); {
	case n < maxProblems-1:
		c.Problems = append(c.Problems, Problem{offset, fmt.Sprintf(format, args...)})
	case n == maxProblems-1:
		c.Problems = append(c.Problems, Problem{0, "too many problems; the rest is not listed"})
	}
}

// AuxValue returns the first entry of the auxiliary vector with this tag.
func (c *Core) AuxValue(tag uint64) (uint64, bool) {
	for _, a := range c.Auxv {
		if a.Tag == tag {
			return a.Value, true
		}
	}
	return 0, false
}

// Executable returns the path the program was started by (AT_EXECFN), or else its command name; "" if unknown.
func (c *Core) Executable() string {
	if addr, ok := c.AuxValue(AuxExecFn); ok {
		if path, ok := c.CString(addr); ok && path != "" {
			return path
		}
	}
	return c.Command
}
