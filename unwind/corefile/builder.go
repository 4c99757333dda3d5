package corefile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/symlint/symlint/unwind/arch"
)

// Builder writes small core files as the kernel lays them out, for tests. Notes appear in the order of the calls, so
// those about a thread follow its Thread.
type Builder struct {
	cpu   *arch.CPU
	out   encoder
	notes []byte
	auxv  []byte
	loads []Segment
}

// NewBuilder starts a core of a CPU that Parse knows.
func NewBuilder(cpu *arch.CPU, order binary.ByteOrder) (*Builder, error) {
	if layouts[cpu] == nil {
		return nil, fmt.Errorf("no core files for %v", cpu)
	}
	return &Builder{cpu: cpu, out: encoder{order, cpu.Word == 8}}, nil
}

// encoder appends integers in a byte order and word size.
type encoder struct {
	order binary.ByteOrder
	wide  bool
}

func (e encoder) u16(b []byte, v uint16) []byte {
	b = append(b, 0, 0)
	e.order.PutUint16(b[len(b)-2:], v)
	return b
}

func (e encoder) u32(b []byte, v ...uint32) []byte {
	for _, v := range v {
		b = append(b, 0, 0, 0, 0)
		e.order.PutUint32(b[len(b)-4:], v)
	}
	return b
}

func (e encoder) u64(b []byte, v ...uint64) []byte {
	for _, v := range v {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		e.order.PutUint64(b[len(b)-8:], v)
	}
	return b
}

func (e encoder) word(b []byte, v ...uint64) []byte {
	for _, v := range v {
		if e.wide {
			b = e.u64(b, v)
		} else {
			b = e.u32(b, uint32(v))
		}
	}
	return b
}

func pad(b []byte, align int) []byte {
	for len(b)%align != 0 {
		b = append(b, 0)
	}
	return b
}

// note encodes one note.
func (e encoder) note(b []byte, owner string, typ uint32, desc []byte) []byte {
	b = e.u32(b, uint32(len(owner)+1), uint32(len(desc)), typ)
	b = pad(append(append(b, owner...), 0), 4)
	return pad(append(b, desc...), 4)
}

// Note adds any note.
func (b *Builder) Note(owner string, typ uint32, desc []byte) {
	b.notes = b.out.note(b.notes, owner, typ, desc)
}

// Thread adds NT_PRSTATUS with the valid registers, and on s390x NT_FPREGSET where there are floating-point ones.
func (b *Builder) Thread(lwp uint32, signal int, regs arch.Registers) {
	pid, reg := prstatusOffsets(b.cpu.Word)
	desc := make([]byte, reg)
	b.out.order.PutUint16(desc[12:], uint16(signal))
	b.out.order.PutUint32(desc[pid:], lwp)
	for _, slot := range layouts[b.cpu].words {
		v, _ := regs.Get(int(slot))
		desc = b.out.word(desc, v)
	}
	desc = pad(b.out.u32(desc, 1), b.cpu.Word) // pr_fpvalid
	b.Note("CORE", notePRStatus, desc)
	if first := b.cpu.SlotOf("f0"); b.cpu.Name == "s390x" && regs.Has(first) {
		fp := make([]byte, 8)
		for i := range 16 {
			fp = b.out.u64(fp, regs.Value[first+i])
		}
		b.Note("CORE", noteFPRegSet, fp)
	}
}

// Siginfo adds NT_SIGINFO.
func (b *Builder) Siginfo(s Siginfo) {
	code := []uint32{uint32(s.Errno), uint32(s.Code)}
	if layouts[b.cpu].machine == elf.EM_MIPS {
		code[0], code[1] = code[1], code[0]
	}
	desc := b.out.u32(nil, uint32(s.Signo), code[0], code[1])
	desc = b.out.word(pad(desc, b.cpu.Word), s.Addr)
	b.Note("CORE", noteSiginfo, append(desc, make([]byte, 128-len(desc))...))
}

// Psinfo adds NT_PRPSINFO.
func (b *Builder) Psinfo(command, args string, pid uint32) {
	var desc []byte
	switch {
	case b.out.wide:
		desc = make([]byte, 24)
	case b.cpu.Name == "x86" || b.cpu.Name == "arm": // 16-bit uid_t
		desc = make([]byte, 12)
	default:
		desc = make([]byte, 16)
	}
	desc = b.out.u32(desc, pid, 0, 0, 0)
	var names [96]byte
	copy(names[:15], command)
	copy(names[16:95], args)
	b.Note("CORE", notePRPSInfo, append(desc, names[:]...))
}

// PAC adds NT_ARM_PAC_MASK.
func (b *Builder) PAC(m PACMask) { b.Note("LINUX", noteARMPACMsk, b.out.u64(nil, m.Data, m.Insn)) }

// Aux adds an entry to the auxiliary vector, which is written behind the other notes.
func (b *Builder) Aux(tag, value uint64) { b.auxv = b.out.word(b.auxv, tag, value) }

// Files adds NT_FILE. Offsets are rounded down to units of pageSize; the kernel's is that of the machine, gdb's is 1.
func (b *Builder) Files(pageSize uint64, files []Mapping) {
	desc := b.out.word(nil, uint64(len(files)), pageSize)
	for _, f := range files {
		desc = b.out.word(desc, f.Start, f.End, f.Offset/pageSize)
	}
	for _, f := range files {
		desc = append(desc, f.Path...)
		if f.Deleted {
			desc = append(desc, " (deleted)"...)
		}
		desc = append(desc, 0)
	}
	b.Note("CORE", noteFile, desc)
}

// Load adds a PT_LOAD of size bytes, of which data are dumped.
func (b *Builder) Load(addr, size uint64, flags elf.ProgFlag, data []byte) {
	b.loads = append(b.loads, Segment{Addr: addr, Size: size, Flags: flags, Data: data})
}

// LinkEntry is an object in the dynamic linker's list.
type LinkEntry struct {
	Bias    uint64
	Name    string
	Dynamic uint64 // run-time address of the dynamic section
}

// LinkMap adds a writable segment of one page or more with struct r_debug at its start, followed by the list.
func (b *Builder) LinkMap(addr, linkerBase uint64, entries []LinkEntry) {
	word := uint64(b.cpu.Word)
	links := addr + 8*word
	names := links + uint64(len(entries))*5*word
	at := func(i int) uint64 {
		if i < 0 || i >= len(entries) {
			return 0
		}
		return links + uint64(i)*5*word
	}
	data := pad(b.out.u32(nil, 1), b.cpu.Word)
	data = b.out.word(data, at(0), 0)
	data = pad(b.out.u32(data, 0), b.cpu.Word)
	data = b.out.word(data, linkerBase, 0, 0, 0)
	var strings []byte
	for i, e := range entries {
		data = b.out.word(data, e.Bias, names+uint64(len(strings)), e.Dynamic, at(i+1), at(i-1))
		strings = append(append(strings, e.Name...), 0)
	}
	data = pad(append(data, strings...), 4096)
	b.Load(addr, uint64(len(data)), elf.PF_R|elf.PF_W, data)
}

// Bytes returns the core file.
func (b *Builder) Bytes() []byte {
	notes := b.notes
	if b.auxv != nil {
		auxv := b.out.word(slices.Clone(b.auxv), 0, 0)
		notes = b.out.note(slices.Clone(notes), "CORE", noteAuxv, auxv)
	}
	phdrs := []Phdr{{Type: elf.PT_NOTE, Filesz: uint64(len(notes))}}
	for _, s := range b.loads {
		p := Phdr{Type: elf.PT_LOAD, Flags: s.Flags, Vaddr: s.Addr, Memsz: s.Size, Align: 4096}
		p.Filesz = uint64(len(s.Data))
		phdrs = append(phdrs, p)
	}
	offset := b.out.headerSize(len(phdrs))
	phdrs[0].Off = offset
	offset = roundUp(offset+uint64(len(notes)), 4096)
	for i := range b.loads {
		phdrs[i+1].Off = offset
		offset = roundUp(offset+uint64(len(b.loads[i].Data)), 4096)
	}
	out := b.out.headers(elf.ET_CORE, layouts[b.cpu].machine, 0, phdrs)
	out = pad(append(out, notes...), 4096)
	for _, s := range b.loads {
		out = pad(append(out, s.Data...), 4096)
	}
	return out
}

func (e encoder) headerSize(phdrs int) uint64 {
	if e.wide {
		return uint64(ehdr64 + phdrs*phdr64)
	}
	return uint64(ehdr32 + phdrs*phdr32)
}

// headers encodes the ELF header and the program headers behind it.
func (e encoder) headers(typ elf.Type, machine elf.Machine, entry uint64, phdrs []Phdr) []byte {
	class, order := elf.ELFCLASS32, elf.ELFDATA2LSB
	if e.wide {
		class = elf.ELFCLASS64
	}
	if e.order == binary.BigEndian {
		order = elf.ELFDATA2MSB
	}
	b := append([]byte(elf.ELFMAG), byte(class), byte(order), byte(elf.EV_CURRENT))
	b = pad(b, 16)
	b = e.u16(e.u16(b, uint16(typ)), uint16(machine))
	b = e.u32(b, uint32(elf.EV_CURRENT))
	b = e.word(b, entry, e.headerSize(0), 0)
	b = e.u32(b, 0)
	size := e.headerSize(1) - e.headerSize(0)
	for _, v := range []uint16{uint16(e.headerSize(0)), uint16(size), uint16(len(phdrs)), 0, 0, 0} {
		b = e.u16(b, v)
	}
	for _, p := range phdrs {
		if e.wide {
			b = e.u64(e.u32(b, uint32(p.Type), uint32(p.Flags)), p.Off, p.Vaddr, 0, p.Filesz, p.Memsz, p.Align)
		} else {
			b = e.u32(b, uint32(p.Type), uint32(p.Off), uint32(p.Vaddr), 0)
			b = e.u32(b, uint32(p.Filesz), uint32(p.Memsz), uint32(p.Flags), uint32(p.Align))
		}
	}
	return b
}

// Image describes an ELF program or library for tests: one page with headers, build id, strings and Text, and behind it
// a writable page with the dynamic section.
type Image struct {
	Type    elf.Type // ET_DYN or ET_EXEC
	Vaddr   uint64   // of the first page
	Entry   uint64
	BuildID []byte
	SONAME  string
	Debug   uint64 // value of DT_DEBUG; 0 for no such tag
	Text    []byte // at ImageText from the start, at most a page less that
}

// Places in an Image, from its start.
const (
	ImageText    = 0x400
	ImageDynamic = 0x1000
	imageStrings = 0x300
	imageSize    = 0x2000
)

// Bytes returns the file, two pages. They are also what memory holds at the load address.
func (im *Image) Bytes(cpu *arch.CPU, order binary.ByteOrder) ([]byte, error) {
	l := layouts[cpu]
	if l == nil {
		return nil, fmt.Errorf("no images for %v", cpu)
	}
	e := encoder{order, cpu.Word == 8}
	noteAt := e.headerSize(6)
	var build []byte
	if im.BuildID != nil {
		build = e.note(nil, "GNU", noteBuildID, im.BuildID)
	}
	strings := append(append([]byte{0}, im.SONAME...), 0)
	var dyn []byte
	if im.SONAME != "" {
		dyn = e.word(dyn, uint64(elf.DT_SONAME), 1)
	}
	dyn = e.word(dyn, uint64(elf.DT_STRTAB), im.Vaddr+imageStrings)
	if im.Debug != 0 {
		dyn = e.word(dyn, uint64(elf.DT_DEBUG), im.Debug)
	}
	dyn = e.word(dyn, 0, 0)
	if noteAt+uint64(len(build)) > imageStrings || len(strings) > ImageText-imageStrings ||
		len(im.Text) > ImageDynamic-ImageText {
		return nil, fmt.Errorf("image contents too large")
	}
	at := func(t elf.ProgType, flags elf.ProgFlag, off, size uint64) Phdr {
		return Phdr{Type: t, Flags: flags, Off: off, Vaddr: im.Vaddr + off, Filesz: size, Memsz: size, Align: 4}
	}
	phdrs := []Phdr{
		at(elf.PT_PHDR, elf.PF_R, e.headerSize(0), e.headerSize(6)-e.headerSize(0)),
		at(elf.PT_LOAD, elf.PF_R|elf.PF_X, 0, ImageDynamic),
		at(elf.PT_LOAD, elf.PF_R|elf.PF_W, ImageDynamic, imageSize-ImageDynamic),
		at(elf.PT_DYNAMIC, elf.PF_R|elf.PF_W, ImageDynamic, uint64(len(dyn))),
		at(elf.PT_NOTE, elf.PF_R, noteAt, uint64(len(build))),
		at(elf.PT_GNU_EH_FRAME, elf.PF_R, ImageText, 8),
	}
	out := make([]byte, imageSize)
	copy(out, e.headers(im.Type, l.machine, im.Entry, phdrs))
	copy(out[noteAt:], build)
	copy(out[imageStrings:], strings)
	copy(out[ImageText:], im.Text)
	copy(out[ImageDynamic:], dyn)
	return out, nil
}
