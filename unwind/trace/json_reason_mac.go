package trace

import (
	"fmt"

	"github.com/symlint/symlint/unwind"
)

// machType is a Mach exception with its codes: those of every CPU, and those of a family.
type machType struct {
	name  string
	any   map[uint32]string
	byCPU map[string]map[uint32]string
}

// machFamily names the CPUs that share codes; 32-bit arm has none in rust-minidump.
func machFamily(cpu string) string {
	switch cpu {
	case "x86", "amd64":
		return "x86"
	case "arm64", "ppc":
		return cpu
	}
	return ""
}

// Exceptions and codes of mach/exception_types.h, mach/kern_return.h and mach/*/exception.h.
var machTypes = map[uint32]machType{
	1: {
		"EXC_BAD_ACCESS",
		map[uint32]string{
			1: "KERN_INVALID_ADDRESS", 2: "KERN_PROTECTION_FAILURE", 5: "KERN_FAILURE", 8: "KERN_NO_ACCESS",
			9: "KERN_MEMORY_FAILURE", 10: "KERN_MEMORY_ERROR", 50: "KERN_CODESIGN_ERROR",
		},
		map[string]map[uint32]string{
			"arm64": {
				0x101: "EXC_ARM_DA_ALIGN", 0x102: "EXC_ARM_DA_DEBUG", 0x103: "EXC_ARM_SP_ALIGN", 0x104: "EXC_ARM_SWP",
				0x105: "EXC_ARM_PAC_FAIL",
			},
			"ppc": {0x101: "EXC_PPC_VM_PROT_READ", 0x102: "EXC_PPC_BADSPACE", 0x103: "EXC_PPC_UNALIGNED"},
			"x86": {13: "EXC_I386_GPFLT"},
		},
	},
	2: {"EXC_BAD_INSTRUCTION", nil, map[string]map[uint32]string{
		"arm64": {1: "EXC_ARM_UNDEFINED"},
		"ppc": {
			1: "EXC_PPC_INVALID_SYSCALL", 2: "EXC_PPC_UNIPL_INST", 3: "EXC_PPC_PRIVINST", 4: "EXC_PPC_PRIVREG",
			5: "EXC_PPC_TRACE", 6: "EXC_PPC_PERFMON",
		},
		"x86": {
			1: "EXC_I386_INVOP", 10: "EXC_I386_INVTSSFLT", 11: "EXC_I386_SEGNPFLT", 12: "EXC_I386_STKFLT",
			13: "EXC_I386_GPFLT", 17: "EXC_I386_ALIGNFLT",
		},
	}},
	3: {"EXC_ARITHMETIC", nil, map[string]map[uint32]string{
		"arm64": {
			1: "EXC_ARM_FP_IO", 2: "EXC_ARM_FP_DZ", 3: "EXC_ARM_FP_OF", 4: "EXC_ARM_FP_UF", 5: "EXC_ARM_FP_IX",
			6: "EXC_ARM_FP_ID",
		},
		"ppc": {
			1: "EXC_PPC_OVERFLOW", 2: "EXC_PPC_ZERO_DIVIDE", 3: "EXC_FLT_INEXACT", 4: "EXC_PPC_FLT_ZERO_DIVIDE",
			5: "EXC_PPC_FLT_UNDERFLOW", 6: "EXC_PPC_FLT_OVERFLOW", 7: "EXC_PPC_FLT_NOT_A_NUMBER",
			8: "EXC_PPC_NOEMULATION", 9: "EXC_PPC_ALTIVECASSIST",
		},
		"x86": {
			1: "EXC_I386_DIV", 2: "EXC_I386_INTO", 3: "EXC_I386_NOEXT", 4: "EXC_I386_EXTOVR", 5: "EXC_I386_EXTERR",
			6: "EXC_I386_EMERR", 7: "EXC_I386_BOUND", 8: "EXC_I386_SSEEXTERR",
		},
	}},
	4: {name: "EXC_EMULATION"},
	5: {"EXC_SOFTWARE", map[uint32]string{
		1: "EXC_PPC_TRAP", 0x10002: "SIGABRT", 0x10100: "EXC_PPC_MIGRATE", 0xdeadc0de: "UNCAUGHT_NS_EXCEPTION",
	}, nil},
	6: {"EXC_BREAKPOINT", nil, map[string]map[uint32]string{
		"arm64": {1: "EXC_ARM_BREAKPOINT"}, "ppc": {1: "EXC_PPC_BREAKPOINT"},
		"x86": {1: "EXC_I386_SGL", 2: "EXC_I386_BPT"},
	}},
	7: {name: "EXC_SYSCALL"}, 8: {name: "EXC_MACH_SYSCALL"}, 9: {name: "EXC_RPC_ALERT"},
	machResource: {name: "EXC_RESOURCE"}, machGuard: {name: "EXC_GUARD"},
}

const (
	machResource  = 11
	machGuard     = 12
	machSimulated = 0x43507378 // written by Crashpad without a crash
)

func macType(cpu string, c *unwind.Crash) string {
	if c.Code == machSimulated {
		return "Simulated Exception"
	}
	t, ok := machTypes[c.Code]
	if !ok {
		return ""
	}
	// The code has 64 bits, of which the flags are the upper half: what kind it is, then its flavor.
	kind := c.Flags >> 29
	switch c.Code {
	case machResource:
		if text := resourceType(kind, parameter(c, 1), parameter(c, 2)); text != "" {
			return text
		}
	case machGuard:
		if text := guardType(kind, parameter(c, 1), parameter(c, 2)); text != "" {
			return text
		}
	}
	if code := t.any[c.Flags]; code != "" {
		return t.name + " / " + code
	}
	if code := t.byCPU[machFamily(cpu)][c.Flags]; code != "" {
		return t.name + " / " + code
	}
	return fmt.Sprintf("%s / 0x%08x", t.name, c.Flags)
}

func parameter(c *unwind.Crash, i int) uint64 {
	if i < len(c.Parameters) {
		return c.Parameters[i]
	}
	return 0
}

var (
	cpuFlavors = []string{1: "FLAVOR_CPU_MONITOR", 2: "FLAVOR_CPU_MONITOR_FATAL"}
	ioFlavors  = []string{1: "FLAVOR_IO_PHYSICAL_WRITES", 2: "FLAVOR_IO_LOGICAL_WRITES"}
)

// resourceType tells which limit was reached (xnu's osfmk/kern/exc_resource.h); "" for an unknown kind.
func resourceType(kind uint32, code, subcode uint64) string {
	flavor := code >> 58 & 7
	var kindName, text string
	switch kind {
	case 1:
		kindName = "RESOURCE_TYPE_CPU"
		if name := nameAt(cpuFlavors, uint32(flavor)); name != "" {
			text = fmt.Sprintf("%s interval: %ds CPU limit: %d%% CPU consumed: %d%%", name, code>>7&0x1ffffff, code&7,
				subcode&7)
		}
	case 2:
		kindName = "RESOURCE_TYPE_WAKEUPS"
		if flavor == 1 {
			text = fmt.Sprintf("FLAVOR_WAKEUPS_MONITOR interval: %ds wakeups permitted: %d wakeups observed: %d",
				code>>20&0xfffff, code&0xfff, subcode&0xfff)
		}
	case 3:
		kindName = "RESOURCE_TYPE_MEMORY"
		if flavor == 1 {
			text = fmt.Sprintf("FLAVOR_HIGH_WATERMARK high watermark limit: %dMiB", code&0x1fff)
		}
	case 4:
		kindName = "RESOURCE_TYPE_IO"
		if name := nameAt(ioFlavors, uint32(flavor)); name != "" {
			text = fmt.Sprintf("%s interval: %ds I/O limit: %d%% I/O observed: %d%%", name, code>>15&0x1ffff, code&0x7fff,
				subcode&0x7fff)
		}
	case 5:
		kindName = "RESOURCE_TYPE_THREADS"
		if flavor == 1 {
			text = fmt.Sprintf("FLAVOR_THREADS_HIGH_WATERMARK high watermark limit: %d", code&0x7fff)
		}
	default:
		return ""
	}
	if text == "" {
		text = numbers(code, subcode)
	}
	return "EXC_RESOURCE / " + kindName + " / " + text
}

func numbers(code, subcode uint64) string { return fmt.Sprintf("0x%016x / 0x%016x", code, subcode) }

// Flavors by kind of guard (xnu's osfmk/kern/exc_guard.h).
var (
	guardKinds = []string{
		"GUARD_TYPE_NONE", "GUARD_TYPE_MACH_PORT", "GUARD_TYPE_FD", "GUARD_TYPE_USER", "GUARD_TYPE_VN",
		"GUARD_TYPE_VIRT_MEMORY", "GUARD_TYPE_REJECTED_SC",
	}
	guardFlavors = []map[uint64]string{
		1: {
			1: "GUARD_EXC_DESTROY", 2: "GUARD_EXC_MOD_REFS", 3: "GUARD_EXC_INVALID_OPTIONS", 4: "GUARD_EXC_SET_CONTEXT",
			5: "GUARD_EXC_THREAD_SET_STATE", 8: "GUARD_EXC_UNGUARDED", 0x10: "GUARD_EXC_INCORRECT_GUARD",
			0x20: "GUARD_EXC_IMMOVABLE", 0x40: "GUARD_EXC_STRICT_REPLY", 0x80: "GUARD_EXC_MSG_FILTERED",
			0x100: "GUARD_EXC_INVALID_RIGHT", 0x200: "GUARD_EXC_INVALID_NAME", 0x400: "GUARD_EXC_INVALID_VALUE",
			0x800: "GUARD_EXC_INVALID_ARGUMENT", 0x1000: "GUARD_EXC_RIGHT_EXISTS", 0x2000: "GUARD_EXC_KERN_NO_SPACE",
			0x4000: "GUARD_EXC_KERN_FAILURE", 0x8000: "GUARD_EXC_KERN_RESOURCE", 0x10000: "GUARD_EXC_SEND_INVALID_REPLY",
			0x20000: "GUARD_EXC_SEND_INVALID_VOUCHER", 0x40000: "GUARD_EXC_SEND_INVALID_RIGHT",
			0x80000: "GUARD_EXC_RCV_INVALID_NAME", 0x100000: "GUARD_EXC_RCV_GUARDED_DESC",
			0x200000: "GUARD_EXC_MOD_REFS_NON_FATAL", 0x400000: "GUARD_EXC_IMMOVABLE_NON_FATAL",
			0x800000: "GUARD_EXC_REQUIRE_REPLY_PORT_SEMANTICS", 0x1000000: "GUARD_EXC_EXCEPTION_BEHAVIOR_ENFORCE",
		},
		2: {
			1: "GUARD_EXC_CLOSE", 2: "GUARD_EXC_DUP", 4: "GUARD_EXC_NOCLOEXEC", 8: "GUARD_EXC_SOCKET_IPC",
			0x10: "GUARD_EXC_FILEPORT", 0x20: "GUARD_EXC_MISMATCH", 0x40: "GUARD_EXC_WRITE",
		},
		4: {
			1: "GUARD_EXC_RENAME_TO", 2: "GUARD_EXC_RENAME_FROM", 4: "GUARD_EXC_UNLINK", 8: "GUARD_EXC_WRITE_OTHER",
			0x10: "GUARD_EXC_TRUNC_OTHER", 0x20: "GUARD_EXC_LINK", 0x40: "GUARD_EXC_EXCHDATA",
		},
		5: {1: "GUARD_EXC_DEALLOC_GAP"},
		6: {0: "GUARD_EXC_MACH_TRAP"},
	}
)

// guardType tells what was guarded and what happened to it; "" for an unknown kind.
func guardType(kind uint32, code, subcode uint64) string {
	name := nameAt(guardKinds, kind)
	if name == "" {
		return ""
	}
	text := "EXC_GUARD / " + name
	target := code & 0xfffffff
	switch kind {
	case 0:
		return text
	case 3:
		return fmt.Sprintf("%s/ namespace: %d guard identifier: %d", text, code&0xffffffff, subcode)
	}
	flavor := guardFlavors[kind][code>>32&0x1fffffff]
	if flavor == "" {
		return text + " / " + numbers(code, subcode)
	}
	text += " / " + flavor
	switch kind {
	case 1:
		text += fmt.Sprintf(" port name: %d", target)
		if subcode != 0 {
			text += fmt.Sprintf(" subcode: %d", subcode)
		}
	case 2:
		text += fmt.Sprintf(" file descriptor: %d guard identifier: %d", target, subcode)
	case 4:
		text += fmt.Sprintf(" pid: %d guard identifier: %d", target, subcode)
	case 5:
		text += fmt.Sprintf(" offset: %d", subcode)
	case 6:
		text += fmt.Sprintf(" syscall: %d", subcode)
	}
	return text
}
