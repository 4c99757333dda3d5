package minidump

import (
	"encoding/binary"
	"fmt"

	"github.com/symlint/symlint/unwind/arch"
)

// Bits of a context's flags that tell the CPU, and what else matters of them.
const (
	ContextCPUMask = 0xffffff00

	ContextX86      = 0x00010000
	ContextMIPS     = 0x00040000
	ContextMIPS64   = 0x00080000
	ContextAMD64    = 0x00100000
	ContextARM64    = 0x00400000
	ContextRISCV    = 0x00800000
	ContextPPC64    = 0x01000000
	ContextRISCV64  = 0x08000000
	ContextSPARC    = 0x10000000
	ContextPPC      = 0x20000000
	ContextARM      = 0x40000000
	ContextARM64Old = 0x80000000

	contextARMOld   = 0x40 // of Windows CE
	contextXState   = 0x40 // of x86 and amd64: more registers follow
	maxXStateBytes  = 16384
	amd64FlagOffset = 48
)

// Context are the registers of a thread.
type Context struct {
	CPU *arch.CPU
	// Registers holds every slot of the CPU.
	Registers arch.Registers
	Flags     uint32 // with the CPU's bits, as Google's processor completes them
	Raw       []byte // the record, a view, in the layout of the file
	Order     binary.ByteOrder
}

// layout is a context record as data: where each slot's value lies.
type layout struct {
	cpu    *arch.CPU
	flag   uint32 // the CPU's bits in the flags
	size   int
	flags  int // offset of the flags
	wide   bool
	fields []field
}

type field struct {
	slot, offset, size int
}

// layoutSpecs are the records of minidump_cpu_*.h. run puts consecutive slots one behind the other.
type layoutSpec struct {
	cpu         string
	flag        uint32
	size, flags int
	wide        bool // flags have 64 bits
	runs        []run
}

type run struct {
	from, to string // slots, in their order
	offset   int
	size     int // of one value in bytes
}

var layoutSpecs = []layoutSpec{
	{cpu: "x86", flag: ContextX86, size: 716, runs: []run{
		{"$edi", "$edi", 156, 4}, {"$esi", "$esi", 160, 4}, {"$ebx", "$ebx", 164, 4}, {"$edx", "$edx", 168, 4},
		{"$ecx", "$ecx", 172, 4}, {"$eax", "$eax", 176, 4}, {"$ebp", "$ebp", 180, 4}, {"$eip", "$eip", 184, 4},
		{"$eflags", "$eflags", 192, 4}, {"$esp", "$esp", 196, 4},
	}},
	{cpu: "x86_64", flag: ContextAMD64, size: 1232, flags: amd64FlagOffset, runs: []run{
		{"$rflags", "$rflags", 68, 4}, {"$rax", "$rax", 120, 8}, {"$rcx", "$rcx", 128, 8}, {"$rdx", "$rdx", 136, 8},
		{"$rbx", "$rbx", 144, 8}, {"$rsp", "$rsp", 152, 8}, {"$rbp", "$rbp", 160, 8}, {"$rsi", "$rsi", 168, 8},
		{"$rdi", "$rdi", 176, 8}, {"$r8", "$r15", 184, 8}, {"$rip", "$rip", 248, 8},
	}},
	{cpu: "arm", flag: ContextARM, size: 368, runs: []run{{"r0", "cpsr", 4, 4}}},
	{cpu: "arm64", flag: ContextARM64, size: 912, runs: []run{{"cpsr", "cpsr", 4, 4}, {"x0", "pc", 8, 8}}},
	{cpu: "arm64", flag: ContextARM64Old, size: 796, wide: true, runs: []run{
		{"x0", "pc", 8, 8}, {"cpsr", "cpsr", 272, 4},
	}},
	{cpu: "mips", flag: ContextMIPS, size: 600, runs: []run{{"$zero", "$ra", 8, 8}, {"$pc", "$pc", 312, 8}}},
	{cpu: "mips64", flag: ContextMIPS64, size: 600, runs: []run{{"$zero", "$ra", 8, 8}, {"$pc", "$pc", 312, 8}}},
	{cpu: "ppc", flag: ContextPPC, size: 1004, runs: []run{
		{"srr0", "srr0", 4, 4}, {"r0", "r31", 12, 4}, {"cr", "cr", 140, 4}, {"lr", "ctr", 148, 4},
	}},
	{cpu: "ppc64", flag: ContextPPC64, size: 1160, wide: true, runs: []run{
		{"srr0", "srr0", 8, 8}, {"r0", "r31", 24, 8}, {"cr", "cr", 280, 8}, {"lr", "ctr", 296, 8},
	}},
	{cpu: "sparc", flag: ContextSPARC, size: 584, runs: []run{{"g0", "i7", 8, 8}, {"pc", "npc", 272, 8}}},
	{cpu: "riscv", flag: ContextRISCV, size: 268, runs: []run{{"pc", "t6", 8, 4}}},
	{cpu: "riscv64", flag: ContextRISCV64, size: 528, runs: []run{{"pc", "t6", 8, 8}}},
}

var layouts = layOut(layoutSpecs)

func layOut(specs []layoutSpec) map[uint32]*layout {
	all := make(map[uint32]*layout)
	for _, s := range specs {
		cpu, ok := arch.Lookup(s.cpu)
		if !ok {
			panic("minidump: unknown CPU " + s.cpu)
		}
		l := &layout{cpu: cpu, flag: s.flag, size: s.size, flags: s.flags, wide: s.wide}
		for _, r := range s.runs {
			from, to := cpu.SlotOf(r.from), cpu.SlotOf(r.to)
			if from < 0 || to < from {
				panic("minidump: no slots " + r.from + " to " + r.to)
			}
			for slot := from; slot <= to; slot++ {
				l.fields = append(l.fields, field{slot, r.offset + (slot-from)*r.size, r.size})
			}
		}
		all[s.flag] = l
	}
	return all
}

// contextFlags is what the SystemInfo stream says about contexts: the CPU's bits, 0 if it has none.
func (v *SystemInfo) contextFlags() uint32 {
	if v == nil {
		return 0
	}
	switch v.Arch {
	case ArchX86:
		return ContextX86
	case ArchMIPS:
		return ContextMIPS
	case ArchMIPS64:
		return ContextMIPS64
	case ArchPPC:
		return ContextPPC
	case ArchPPC64:
		return ContextPPC64
	case ArchARM:
		return ContextARM
	case ArchARM64:
		return ContextARM64
	case ArchARM64Old:
		return ContextARM64Old
	case ArchAMD64:
		return ContextAMD64
	case ArchSPARC:
		return ContextSPARC
	case ArchRISCV:
		return ContextRISCV
	case ArchRISCV64:
		return ContextRISCV64
	}
	return 0
}

// agrees reports whether a context of the CPU may occur in the dump.
func (v *SystemInfo) agrees(cpu uint32) bool {
	if v == nil || v.contextFlags() == cpu {
		return true
	}
	return cpu == ContextX86 && (v.Arch == ArchX86Win64 || v.Arch == ArchAMD64)
}

// ContextAt reads the context at a location of the file.
func (f *File) ContextAt(loc Location) (*Context, error) { return f.contextAt(&f.loose, loc) }

// contextAt looks no further into the file than it must to tell that a record is of no CPU, like Google's reader.
func (f *File) contextAt(r *reader, loc Location) (*Context, error) {
	fail := func(problem string) (*Context, error) {
		return nil, &FormatError{Offset: int64(loc.RVA), Msg: problem}
	}
	off, n := flagsOf(uint64(loc.Size), f.System)
	if off > 0 {
		n = layouts[ContextAMD64].size - off
	}
	head, ok := r.view(uint64(loc.RVA), uint64(off+n))
	if !ok {
		return fail(r.pastEnd(fmt.Sprintf("context of %d bytes", loc.Size)))
	}
	if _, _, err := contextLayout(uint64(loc.Size), head, f.Order, f.System); err != nil {
		return fail(err.Error())
	}
	raw, ok := r.view(uint64(loc.RVA), uint64(loc.Size))
	if !ok {
		return fail(r.pastEnd(fmt.Sprintf("context of %d bytes", loc.Size)))
	}
	c, err := DecodeContext(raw, f.Order, f.System)
	if err != nil {
		return fail(err.Error())
	}
	return c, nil
}

// DecodeContext reads a context record as Google's processor does: the layout follows from the size for amd64, ppc64
// and old arm64, and from the flags for others. Flags without a CPU are completed from the dump's SystemInfo, which
// may be nil; a context of another CPU than the dump's is refused, except for x86 on amd64.
func DecodeContext(raw []byte, order binary.ByteOrder, sys *SystemInfo) (*Context, error) {
	if off, n := flagsOf(uint64(len(raw)), sys); len(raw) < off+n {
		return nil, fmt.Errorf("context has %d bytes", len(raw))
	}
	l, flags, err := contextLayout(uint64(len(raw)), raw, order, sys)
	if err != nil {
		return nil, err
	}
	if !sys.agrees(l.flag) {
		return nil, fmt.Errorf("context is of %s, but the dump of %s", l.cpu, sys.CPU())
	}
	c := &Context{CPU: l.cpu, Flags: flags, Raw: raw, Order: order}
	l.decode(&c.Registers, raw, order)
	return c, nil
}

func (l *layout) decode(r *arch.Registers, raw []byte, order binary.ByteOrder) {
	r.CPU = l.cpu
	for _, f := range l.fields {
		if f.size == 8 {
			r.Set(f.slot, order.Uint64(raw[f.offset:]))
		} else {
			r.Set(f.slot, uint64(order.Uint32(raw[f.offset:])))
		}
	}
	r.SetAll()
}

// flagsOf says where the flags of a record lie and how many bytes they have, which its size decides.
func flagsOf(size uint64, sys *SystemInfo) (off, n int) {
	amd64 := uint64(layouts[ContextAMD64].size)
	switch {
	case size == amd64 || sys.contextFlags() == ContextAMD64 && size > amd64:
		return amd64FlagOffset, 4
	case size == uint64(layouts[ContextPPC64].size) || size == uint64(layouts[ContextARM64Old].size):
		return 0, 8
	}
	return 0, 4
}

// contextLayout finds the layout of a record and its completed flags; head reaches to the end of the flags at least.
func contextLayout(size uint64, head []byte, order binary.ByteOrder, sys *SystemInfo) (*layout, uint32, error) {
	amd64, ppc64, old := layouts[ContextAMD64], layouts[ContextPPC64], layouts[ContextARM64Old]
	switch off, n := flagsOf(size, sys); {
	case off > 0:
		if size > uint64(amd64.size)+maxXStateBytes {
			extended := size - uint64(amd64.size)
			return nil, 0, fmt.Errorf("context has %d bytes of extended state, at most %d are read", extended, maxXStateBytes)
		}
		flags := order.Uint32(head[off:])
		if flags&ContextCPUMask != ContextAMD64 {
			return nil, 0, fmt.Errorf("context of %d bytes has flags 0x%x, which are not those of amd64", size, flags)
		}
		return amd64, flags, nil
	case n == 8:
		l := ppc64
		if size == uint64(old.size) {
			l = old
		}
		flags := order.Uint64(head)
		cpu := uint32(flags) & ContextCPUMask
		if cpu == 0 {
			cpu = sys.contextFlags()
		}
		if cpu != l.flag || l == ppc64 && flags>>32 != 0 {
			return nil, 0, fmt.Errorf("context of %d bytes has flags 0x%x, which are not those of %s", size, flags, l.cpu)
		}
		if l == old {
			return old, convertOldFlags(uint32(flags)), nil
		}
		return ppc64, uint32(flags) | cpu, nil
	}
	flags := order.Uint32(head)
	cpu := flags & ContextCPUMask
	if cpu == 0 && flags&contextARMOld != 0 {
		flags = flags&^contextARMOld | ContextARM
		cpu = ContextARM
	}
	if cpu == 0 {
		cpu = sys.contextFlags()
		flags |= cpu
	}
	l := layouts[cpu]
	if l == nil || l == amd64 || l == ppc64 || l == old {
		return nil, 0, fmt.Errorf("context of %d bytes has flags 0x%x, which are those of no CPU with this size", size, flags)
	}
	want := uint64(l.size)
	extended := l.flag == ContextX86 && flags&contextXState != 0 && size > want && size <= want+maxXStateBytes
	if size != want && !extended {
		return nil, 0, fmt.Errorf("context of %s has %d bytes, want %d", l.cpu, size, l.size)
	}
	return l, flags, nil
}

// convertOldFlags gives the flags of an old arm64 context their new meaning.
func convertOldFlags(old uint32) uint32 {
	const (
		oldInteger, oldFloat        = ContextARM64Old | 2, ContextARM64Old | 4
		control, integer, floatings = 1, 2, 4
	)
	flags := uint32(ContextARM64)
	// As in convert_old_arm64_context.cc: any shared bit counts, and the CPU's is one.
	if old&oldInteger != 0 {
		flags |= integer | control
	}
	if old&oldFloat != 0 {
		flags |= floatings
	}
	return flags
}
