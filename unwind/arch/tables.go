package arch

import "strings"

// spec is a CPU as written below; lists are blank-separated, with "r0..r3" for r0 r1 r2 r3 and "-" or "-*38" for
// DWARF numbers without a name.
type spec struct {
	cpu CPU
	// dwarf lists the names in the order of DWARF numbers.
	dwarf string
	// extra lists registers without a DWARF number.
	extra string
	// float and special are the names that are no general registers.
	float, special string
	// cfi lists what Google's walker knows, in its table's order; unvalued those of them without a value.
	cfi, unvalued string
	// rust lists what rust-minidump knows, under the names of this table.
	rust string
	// The sets of Saved; windows is the same as abi where it is empty.
	savedBreakpad, savedRust, savedABI, savedWindows string
	// aliases: "name=alias,alias".
	aliases string
}

var specs = []spec{
	{
		cpu: CPU{
			Name: "x86", Spellings: words("x86 i386 i486 i586 i686"), Word: 4, Dollar: true,
			SP: "$esp", FP: "$ebp", PC: "$eip", EntryCFA: 4, ReturnSlot: 4, CallAdjust: 1, Scan: Scan{Words: 40, First: 160},
		},
		dwarf: "$eax $ecx $edx $ebx $esp $ebp $esi $edi $eip $eflags $unused1 $st0..$st7 $unused2 $unused3 $xmm0..$xmm7 " +
			"$mm0..$mm7 $fcw $fsw $mxcsr $es $cs $ss $ds $fs $gs $unused4 $unused5 $tr $ldtr",
		float:         "$st0..$st7 $xmm0..$xmm7 $mm0..$mm7",
		special:       "$eflags $unused1..$unused5 $fcw $fsw $mxcsr $es $cs $ss $ds $fs $gs $tr $ldtr",
		cfi:           "$eip $esp $ebp $eax $ebx $ecx $edx $esi $edi",
		rust:          "$eip $esp $ebp $ebx $esi $edi $eax $ecx $edx $eflags",
		savedBreakpad: "$ebp $ebx $esi $edi",
		savedRust:     "$ebp $ebx $esi $edi",
		savedABI:      "$ebp $ebx $esi $edi",
	},
	{
		cpu: CPU{
			Name: "x86_64", Spellings: words("x86_64 x86_64h amd64"), Word: 8, Dollar: true,
			SP: "$rsp", FP: "$rbp", PC: "$rip", EntryCFA: 8, ReturnSlot: 8, CallAdjust: 1, Scan: Scan{Words: 40, First: 160},
		},
		dwarf: "$rax $rdx $rcx $rbx $rsi $rdi $rbp $rsp $r8..$r15 $rip $xmm0..$xmm15 $st0..$st7 $mm0..$mm7 $rflags " +
			"$es $cs $ss $ds $fs $gs $unused1 $unused2 $fs.base $gs.base $unused3 $unused4 $tr $ldtr $mxcsr $fcw $fsw",
		float:         "$xmm0..$xmm15 $st0..$st7 $mm0..$mm7",
		special:       "$rflags $es $cs $ss $ds $fs $gs $unused1..$unused4 $fs.base $gs.base $tr $ldtr $mxcsr $fcw $fsw",
		cfi:           "$rax $rdx $rcx $rbx $rsi $rdi $rbp $rsp $r8..$r15 $rip",
		rust:          "$rax $rdx $rcx $rbx $rsi $rdi $rbp $rsp $r8..$r15 $rip",
		savedBreakpad: "$rbx $rbp $r12..$r15",
		savedRust:     "$rbx $rbp $r12..$r15",
		savedABI:      "$rbx $rbp $r12..$r15",
		savedWindows:  "$rbx $rbp $rsi $rdi $r12..$r15 $xmm6..$xmm15",
	},
	{
		cpu: CPU{
			Name: "arm", Spellings: words("arm armv4t armv5 armv6 armv6m armv7 armv7a armv7f armv7k armv7m armv7s armv7em armv8"),
			Word: 4, SP: "sp", FP: "r11", FPAlternates: []string{"r7"}, PC: "pc", LR: "lr", CallAdjust: 2,
			Scan: Scan{Words: 40, First: 160},
		},
		dwarf:         "r0..r12 sp lr pc f0..f7 fps cpsr -*38 s0..s31 f0..f7",
		float:         "f0..f7 s0..s31",
		special:       "fps cpsr",
		cfi:           "r0..r12 sp lr pc f0..f7 fps cpsr",
		unvalued:      "f0..f7 fps cpsr",
		rust:          "r0..r12 sp lr pc",
		savedBreakpad: "r4..r11",
		savedRust:     "r4..r11",
		savedABI:      "r4..r11 s16..s31",
		aliases:       "r9=sb r10=sl r11=fp r12=ip sp=r13 lr=r14 pc=r15",
	},
	{
		cpu: CPU{
			Name: "arm64", Spellings: words("arm64 arm64e arm64v8 aarch64"), Word: 8,
			SP: "sp", FP: "x29", PC: "pc", LR: "x30", CallAdjust: 4, Scan: Scan{Words: 40, First: 160},
		},
		dwarf:         "x0..x30 sp -*32 v0..v31",
		extra:         "pc",
		float:         "v0..v31",
		cfi:           "x0..x30 sp pc",
		rust:          "x0..x30 sp pc",
		savedBreakpad: "x19..x29",
		savedRust:     "x19..x29",
		savedABI:      "x19..x29 v8..v15",
		aliases:       "x29=fp x30=lr sp=x31",
	},
	{
		cpu: CPU{
			Name: "mips", Spellings: words("mips mipsel"), Wide: "mips64", Word: 4, Dollar: true,
			SP: "$sp", FP: "$fp", PC: "$pc", LR: "$ra", CallAdjust: 8, Scan: Scan{Words: 256, First: 256, Skip: 4},
		},
		dwarf:         mipsDWARF,
		extra:         "$to",
		float:         mipsFloat,
		special:       mipsSpecial,
		cfi:           mipsCFI,
		rust:          "$gp $sp $fp $ra $pc $s0..$s7",
		savedBreakpad: "$s0..$s7 $sp $fp",
		savedRust:     "$s0..$s7 $gp $sp $fp",
		savedABI:      "$s0..$s7 $fp $f20..$f31",
		aliases:       "$fp=$s8",
	},
	{
		cpu: CPU{
			Name: "mips64", Spellings: words("mips64 mips64el"), Word: 8, Dollar: true,
			SP: "$sp", FP: "$fp", PC: "$pc", LR: "$ra", CallAdjust: 16, Scan: Scan{Words: 128, First: 128},
		},
		dwarf:         mipsDWARF,
		extra:         "$to",
		float:         mipsFloat,
		special:       mipsSpecial,
		cfi:           mipsCFI,
		rust:          "$gp $sp $fp $ra $pc $s0..$s7",
		savedBreakpad: "$s0..$s7 $gp $sp $fp",
		savedRust:     "$s0..$s7 $gp $sp $fp",
		savedABI:      "$s0..$s7 $gp $fp $f24..$f31",
		aliases:       "$fp=$s8",
	},
	{
		cpu: CPU{
			Name: "riscv", Spellings: words("riscv riscv32"), Wide: "riscv64", Word: 4,
			SP: "sp", FP: "s0", PC: "pc", LR: "ra", CallAdjust: 4, Scan: Scan{Words: 40, First: 160},
		},
		dwarf: riscvDWARF, float: riscvFloat, cfi: riscvCFI,
		savedBreakpad: "s0..s11", savedABI: riscvSaved, aliases: riscvAliases,
	},
	{
		cpu: CPU{
			Name: "riscv64", Spellings: words("riscv64"), Word: 8,
			SP: "sp", FP: "s0", PC: "pc", LR: "ra", CallAdjust: 4, Scan: Scan{Words: 40, First: 160},
		},
		dwarf: riscvDWARF, float: riscvFloat, cfi: riscvCFI,
		savedBreakpad: "s0..s11", savedABI: riscvSaved, aliases: riscvAliases,
	},
	// No register names in dump_syms and no CFI in the walkers.
	{cpu: CPU{Name: "ppc", Spellings: words("ppc powerpc"), Word: 4, CallAdjust: 4}},
	{cpu: CPU{Name: "ppc64", Spellings: words("ppc64 ppc64le powerpc64"), Word: 8, CallAdjust: 8}},
	{cpu: CPU{Name: "sparc", Spellings: words("sparc"), Word: 4}},
	{cpu: CPU{Name: "sparcv9", Spellings: words("sparcv9 sparc64"), Word: 8}},
	{cpu: CPU{Name: "s390", Spellings: words("s390"), Wide: "s390x", Word: 4}},
	{cpu: CPU{Name: "s390x", Spellings: words("s390x"), Word: 8}},
	{cpu: CPU{Name: "nds32", Spellings: words("nds32"), Word: 4}},
}

const (
	// dump_syms leaves out $f1, which shifts every floating-point register behind it by one.
	mipsDWARF = "$zero $at $v0 $v1 $a0..$a3 $t0..$t7 $s0..$s7 $t8 $t9 $k0 $k1 $gp $sp $fp $ra $lo $hi $pc $f0 $f2..$f31 $fcsr $fir"
	// The walker's table spells register 8 "$to".
	mipsCFI     = "$zero $at $v0 $v1 $a0..$a3 $to $t1..$t7 $s0..$s7 $t8 $t9 $k0 $k1 $gp $sp $fp $ra"
	mipsFloat   = "$f0 $f2..$f31"
	mipsSpecial = "$zero $lo $hi $fcsr $fir"

	// Number 0 is x0, which is always zero; dump_syms calls it pc.
	riscvDWARF   = "pc ra sp gp tp t0..t2 s0 s1 a0..a7 s2..s11 t3..t6 f0..f31 -*32 v0..v31"
	riscvCFI     = "pc ra sp gp tp t0..t2 s0 s1 a0..a7 s2..s11 t3..t6"
	riscvFloat   = "f0..f31 v0..v31"
	riscvSaved   = "gp tp s0..s11 f8 f9 f18..f27"
	riscvAliases = "ra=x1 sp=x2 gp=x3 tp=x4 t0=x5 t1=x6 t2=x7 s0=fp,x8 s1=x9 a0=x10 a1=x11 a2=x12 a3=x13 a4=x14 a5=x15 a6=x16 a7=x17 " +
		"s2=x18 s3=x19 s4=x20 s5=x21 s6=x22 s7=x23 s8=x24 s9=x25 s10=x26 s11=x27 t3=x28 t4=x29 t5=x30 t6=x31"
)

var (
	cpus       = build(specs)
	bySpelling = spellings(cpus)
)

// All returns every CPU. The slice and what it points to are not to be changed.
func All() []*CPU { return cpus }

// Lookup finds the CPU that the arch field of a MODULE record names. Spellings are compared exactly, as consumers do.
func Lookup(moduleArch string) (*CPU, bool) {
	c, ok := bySpelling[moduleArch]
	return c, ok
}

// Suggest finds the CPU that an unknown spelling most likely means: in another letter case, with '-' for '_', or with
// a tail such as "-linux-gnu" or a variant's letters ("armv7l").
func Suggest(moduleArch string) (*CPU, bool) {
	s := strings.ReplaceAll(strings.ToLower(moduleArch), "-", "_")
	if c, ok := bySpelling[s]; ok {
		return c, true
	}
	if s == "x64" {
		return Lookup("x86_64")
	}
	longest := ""
	for spelling := range bySpelling {
		if len(spelling) > len(longest) && strings.HasPrefix(s, spelling) {
			longest = spelling
		}
	}
	return Lookup(longest)
}

func spellings(cpus []*CPU) map[string]*CPU {
	m := make(map[string]*CPU)
	for _, c := range cpus {
		for _, s := range c.Spellings {
			m[s] = c
		}
	}
	return m
}
