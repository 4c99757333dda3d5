package minidump

// machFamily sorts CPUs by which codes of an exception they share. Modern arm64 has none: Google's processor tests
// the number that only old arm64 dumps have.
type machFamily uint8

const (
	machAny machFamily = iota
	machARM
	machPPC
	machX86
)

func familyOf(a Architecture) machFamily {
	switch a {
	case ArchARM, ArchARM64Old:
		return machARM
	case ArchPPC:
		return machPPC
	case ArchX86, ArchAMD64:
		return machX86
	}
	return machAny
}

// machException is a Mach exception with its codes by family; those of machAny hold on every CPU.
type machException struct {
	name  string
	codes map[machFamily]map[uint32]string
}

var machExceptions = map[uint32]machException{
	1: {"EXC_BAD_ACCESS", map[machFamily]map[uint32]string{
		machAny: {
			1: "KERN_INVALID_ADDRESS", 2: "KERN_PROTECTION_FAILURE", 8: "KERN_NO_ACCESS", 9: "KERN_MEMORY_FAILURE",
			10: "KERN_MEMORY_ERROR", 50: "KERN_CODESIGN_ERROR",
		},
		machARM: {0x101: "EXC_ARM_DA_ALIGN", 0x102: "EXC_ARM_DA_DEBUG"},
		machPPC: {0x101: "EXC_PPC_VM_PROT_READ", 0x102: "EXC_PPC_BADSPACE", 0x103: "EXC_PPC_UNALIGNED"},
		machX86: {13: "EXC_I386_GPFLT"},
	}},
	2: {"EXC_BAD_INSTRUCTION", map[machFamily]map[uint32]string{
		machARM: {1: "EXC_ARM_UNDEFINED"},
		machPPC: {
			1: "EXC_PPC_INVALID_SYSCALL", 2: "EXC_PPC_UNIPL_INST", 3: "EXC_PPC_PRIVINST", 4: "EXC_PPC_PRIVREG",
			5: "EXC_PPC_TRACE", 6: "EXC_PPC_PERFMON",
		},
		machX86: {
			1: "EXC_I386_INVOP", 10: "EXC_I386_INVTSSFLT", 11: "EXC_I386_SEGNPFLT", 12: "EXC_I386_STKFLT",
			13: "EXC_I386_GPFLT", 17: "EXC_I386_ALIGNFLT",
		},
	}},
	3: {"EXC_ARITHMETIC", map[machFamily]map[uint32]string{
		machPPC: {
			1: "EXC_PPC_OVERFLOW", 2: "EXC_PPC_ZERO_DIVIDE", 3: "EXC_FLT_INEXACT", 4: "EXC_PPC_FLT_ZERO_DIVIDE",
			5: "EXC_PPC_FLT_UNDERFLOW", 6: "EXC_PPC_FLT_OVERFLOW", 7: "EXC_PPC_FLT_NOT_A_NUMBER",
			8: "EXC_PPC_NOEMULATION", 9: "EXC_PPC_ALTIVECASSIST",
		},
		machX86: {
			1: "EXC_I386_DIV", 2: "EXC_I386_INTO", 3: "EXC_I386_NOEXT", 4: "EXC_I386_EXTOVR", 5: "EXC_I386_EXTERR",
			6: "EXC_I386_EMERR", 7: "EXC_I386_BOUND", 8: "EXC_I386_SSEEXTERR",
		},
	}},
	4: {name: "EXC_EMULATION"},
	5: {"EXC_SOFTWARE", map[machFamily]map[uint32]string{machAny: {
		0x10002: "SIGABRT", 0xdeadc0de: "UNCAUGHT_NS_EXCEPTION", 1: "EXC_PPC_TRAP", 0x10100: "EXC_PPC_MIGRATE",
	}}},
	6: {"EXC_BREAKPOINT", map[machFamily]map[uint32]string{
		machARM: {0x101: "EXC_ARM_DA_ALIGN", 0x102: "EXC_ARM_DA_DEBUG", 1: "EXC_ARM_BREAKPOINT"},
		machPPC: {1: "EXC_PPC_BREAKPOINT"},
		machX86: {1: "EXC_I386_SGL", 2: "EXC_I386_BPT"},
	}},
	7:  {name: "EXC_SYSCALL"},
	8:  {name: "EXC_MACH_SYSCALL"},
	9:  {name: "EXC_RPC_ALERT"},
	11: {name: "EXC_RESOURCE"},
	12: {name: "EXC_GUARD"},
}

func (e *Exception) macReason(a Architecture) string {
	switch e.Code {
	case 0x43507378: // written by Crashpad without a crash
		return "Simulated Exception"
	case 0x43506e78:
		return "Uncaught NSException"
	}
	x, ok := machExceptions[e.Code]
	if !ok {
		return ""
	}
	code := x.codes[machAny][e.Flags]
	if code == "" {
		code = x.codes[familyOf(a)][e.Flags]
	}
	if code == "" {
		code = e.flags()
	}
	return x.name + " / " + code
}
