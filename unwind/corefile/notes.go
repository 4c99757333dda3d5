package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
)

// Note types: <elf.h>.
const (
	noteBuildID   = 3 // of owner GNU
	notePRStatus  = 1
	noteFPRegSet  = 2
	notePRPSInfo  = 3
	noteAuxv      = 6
	noteSiginfo   = 0x53494749
	noteFile      = 0x46494c45
	noteARMPACMsk = 0x406
)

// note is one entry of a PT_NOTE segment.
type note struct {
	owner  []byte // without its NUL
	typ    uint32
	desc   []byte
	offset uint64 // of desc, from the start of the segment
	whole  bool   // desc has the length the note claims
}

// nextNote takes the first note off b. ok is false where b holds no whole note header.
func nextNote(b []byte, order binary.ByteOrder, align uint64) (n note, rest []byte, ok bool) {
	if len(b) < 12 {
		return note{}, nil, false
	}
	name, size := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
	n.typ = order.Uint32(b[8:])
	n.owner = bytes.TrimRight(cut(b, 12, name), "\x00")
	n.offset = roundUp(12+name, align)
	n.desc = cut(b, n.offset, size)
	n.whole = uint64(len(n.desc)) == size
	end := roundUp(n.offset+size, align)
	return n, b[min(end, uint64(len(b))):], true
}

func roundUp(n, align uint64) uint64 { return (n + align - 1) &^ (align - 1) }

// notes reads one PT_NOTE segment.
func (c *Core) notes(p Phdr) {
	b := cut(c.data, p.Off, p.Filesz)
	if uint64(len(b)) < p.Filesz {
		c.problem(p.Off, "notes: the file holds %#x of %#x bytes", len(b), p.Filesz)
	}
	at := p.Off
	for len(b) > 0 {
		n, rest, ok := nextNote(b, c.Order, 4)
		if !ok {
			if len(bytes.Trim(b, "\x00")) > 0 {
				c.problem(at, "notes: %d bytes left over", len(b))
			}
			return
		}
		if !n.whole {
			c.problem(at, "note %#x of %.16q is cut off after %d bytes", n.typ, n.owner, len(n.desc))
		}
		c.note(n, at+n.offset)
		at += uint64(len(b) - len(rest))
		b = rest
	}
}

func (c *Core) note(n note, at uint64) {
	switch string(n.owner) {
	case "CORE":
		switch n.typ {
		case notePRStatus:
			c.prstatus(n.desc, at)
		case notePRPSInfo:
			c.prpsinfo(n.desc, at)
		case noteSiginfo:
			c.siginfo(n.desc, at)
		case noteAuxv:
			c.auxv(n.desc)
		case noteFile:
			c.fileNote(n.desc, at)
		case noteFPRegSet:
			c.fpregset(n.desc)
		}
	case "LINUX":
		if n.typ == noteARMPACMsk {
			c.pacMask(n.desc, at)
		}
	}
}

func (c *Core) prstatus(b []byte, at uint64) {
	pid, reg := prstatusOffsets(c.Word)
	if len(b) < reg {
		c.problem(at, "NT_PRSTATUS has %d bytes, too few for any register", len(b))
		return
	}
	t := Thread{LWP: c.Order.Uint32(b[pid:]), Signal: int(c.Order.Uint16(b[12:]))}
	t.Registers = c.registers(b[reg:])
	if want := reg + len(layouts[c.CPU].words)*c.Word; len(b) < want {
		c.problem(at, "NT_PRSTATUS has %d bytes, %s needs %d", len(b), c.CPU.Name, want)
	}
	c.Threads = append(c.Threads, t)
}

// prpsinfo: pr_fname and pr_psargs close the structure on every CPU, whatever the width of pr_uid is before them.
func (c *Core) prpsinfo(b []byte, at uint64) {
	const names, fname = 16 + 80, 16
	pid := len(b) - names - 16
	if pid < 0 {
		c.problem(at, "NT_PRPSINFO has %d bytes, too few", len(b))
		return
	}
	c.PID = c.Order.Uint32(b[pid:])
	tail := b[len(b)-names:]
	c.Command = untilNUL(tail[:fname])
	c.Args = strings.TrimRight(untilNUL(tail[fname:]), " ")
}

func untilNUL(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// siginfo belongs to the thread whose NT_PRSTATUS came before.
func (c *Core) siginfo(b []byte, at uint64) {
	addr := 12
	if c.Word == 8 {
		addr = 16
	}
	if len(b) < addr+c.Word {
		c.problem(at, "NT_SIGINFO has %d bytes, too few", len(b))
		return
	}
	field := func(i int) int32 { return int32(c.Order.Uint32(b[4*i:])) }
	s := &Siginfo{Signo: field(0), Errno: field(1), Code: field(2)}
	if c.isMIPS() { // whose siginfo_t has the two exchanged
		s.Errno, s.Code = s.Code, s.Errno
	}
	if s.HasAddr = s.Code > 0 && c.isFault(s.Signo); s.HasAddr {
		s.Addr = c.word(b[addr:])
	}
	if len(c.Threads) > 0 {
		c.Threads[len(c.Threads)-1].Siginfo = s
	} else {
		c.problem(at, "NT_SIGINFO before any NT_PRSTATUS")
	}
}

func (c *Core) isMIPS() bool { return layouts[c.CPU].machine == elf.EM_MIPS }

// isFault: SIGILL, SIGTRAP, SIGFPE, SIGSEGV, and SIGBUS, which has another number on mips.
func (c *Core) isFault(signo int32) bool {
	switch signo {
	case 4, 5, 8, 11:
		return true
	case 7:
		return !c.isMIPS()
	case 10:
		return c.isMIPS()
	}
	return false
}

func (c *Core) auxv(b []byte) {
	if c.Auxv != nil {
		return
	}
	for ; len(b) >= 2*c.Word; b = b[2*c.Word:] {
		a := Aux{c.word(b), c.word(b[c.Word:])}
		if a.Tag == 0 {
			return
		}
		c.Auxv = append(c.Auxv, a)
	}
}

// fileNote: count, page size, then count times start, end and offset in pages, then as many strings.
func (c *Core) fileNote(b []byte, at uint64) {
	if c.Files != nil {
		return
	}
	if len(b) < 2*c.Word {
		c.problem(at, "NT_FILE has %d bytes, too few", len(b))
		return
	}
	count, page := c.word(b), c.word(b[c.Word:])
	b = b[2*c.Word:]
	if held := uint64(len(b) / (3 * c.Word)); count > held {
		c.problem(at, "NT_FILE claims %d files, but has room for %d", count, held)
		count = held
	}
	ranges, names := b[:int(count)*3*c.Word], string(b[int(count)*3*c.Word:])
	for ; len(ranges) > 0; ranges = ranges[3*c.Word:] {
		name, rest, ok := strings.Cut(names, "\x00")
		if !ok {
			c.problem(at, "NT_FILE ends within its names")
			break
		}
		names = rest
		m := Mapping{Start: c.word(ranges), End: c.word(ranges[c.Word:]), Offset: c.word(ranges[2*c.Word:]) * page}
		if m.End <= m.Start {
			c.problem(at, "NT_FILE: %.200q lies at %#x to %#x", name, m.Start, m.End)
			continue
		}
		m.setPath(name)
		c.Files = append(c.Files, m)
	}
	sortMappings(c.Files)
}

// fpregset is read for s390x only, where leaf functions keep general registers in floating-point ones: fpc, padding,
// f0 to f15.
func (c *Core) fpregset(b []byte) {
	if layouts[c.CPU].machine != elf.EM_S390 || len(c.Threads) == 0 || len(b) < 8 {
		return
	}
	r := &c.Threads[len(c.Threads)-1].Registers
	first := c.CPU.SlotOf("f0")
	for i, b := 0, b[8:]; i < 16 && len(b) >= 8; i, b = i+1, b[8:] {
		r.Set(first+i, c.Order.Uint64(b))
	}
}

func (c *Core) pacMask(b []byte, at uint64) {
	if len(b) < 16 || len(c.Threads) == 0 {
		c.problem(at, "NT_ARM_PAC_MASK of %d bytes is not usable", len(b))
		return
	}
	c.Threads[len(c.Threads)-1].PAC = PACMask{c.Order.Uint64(b), c.Order.Uint64(b[8:])}
}
