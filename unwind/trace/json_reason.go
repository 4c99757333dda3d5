package trace

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/minidump"
)

// crashType is what rust-minidump calls the reason of a crash (CrashReason in minidump/src/minidump.rs). Where it has
// no more than numbers, a name that Google's processor has is kept.
func crashType(s *unwind.System, c *unwind.Crash) string {
	var text string
	switch s.OSShort {
	case "linux", "android":
		text = linuxType(c)
	case "windows":
		text = windowsType(c)
	case "mac", "ios":
		text = macType(s.CPU, c)
	default:
		if !strings.HasPrefix(c.Reason, "0x") {
			return c.Reason
		}
	}
	if text == "" {
		return fmt.Sprintf("unknown 0x%08x / 0x%08x", c.Code, c.Flags)
	}
	return text
}

func nameAt(names []string, i uint32) string {
	if uint64(i) < uint64(len(names)) {
		return names[i]
	}
	return ""
}

// Signals by number, and the codes of those that have their own (asm-generic/siginfo.h).
var (
	signalNames = []string{
		"", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1",
		"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP",
		"SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR",
		"SIGSYS",
	}
	signalCodes = map[uint32][]string{
		4: {"", "ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC",
			"ILL_BADSTK", "ILL_BADIADDR"},
		5: {"", "TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK", "TRAP_PERF"},
		7: {"", "BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"},
		8: {"", "FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV",
			"FPE_FLTSUB"},
		11: {"", "SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"},
		31: {"", "SYS_SECCOMP", "SYS_USER_DISPATCH"},
	}
	// Codes of any signal; 0 is a signal that a process sent, which goes without saying.
	anyCodes = map[int32]string{
		0x80: "SI_KERNEL", -1: "SI_QUEUE", -2: "SI_TIMER", -3: "SI_MESGQ", -4: "SI_ASYNCIO", -5: "SI_SIGIO", -6: "SI_TKILL",
		-7: "SI_DETHREAD", -60: "SI_ASYNCNL",
	}
)

// dumpRequested is the signal of dumps made without a crash.
const dumpRequested = 0xffffffff

func linuxType(c *unwind.Crash) string {
	name := nameAt(signalNames, c.Code)
	if c.Code == dumpRequested {
		name = "DUMP_REQUESTED"
	}
	if name == "" {
		return ""
	}
	if code := nameAt(signalCodes[c.Code], c.Flags); code != "" {
		return name + " / " + code
	}
	if c.Flags == 0 {
		return name
	}
	if code, ok := anyCodes[int32(c.Flags)]; ok {
		return name + " / " + code
	}
	return fmt.Sprintf("%s / 0x%08x", name, c.Flags)
}

// Exceptions of Windows whose names tell more than the status of the same number.
var windowsTypes = map[uint32]string{
	0x80000001: "EXCEPTION_GUARD_PAGE", 0x80000002: "EXCEPTION_DATATYPE_MISALIGNMENT", 0x80000003: "EXCEPTION_BREAKPOINT",
	0x80000004: "EXCEPTION_SINGLE_STEP", 0xc0000005: "EXCEPTION_ACCESS_VIOLATION", 0xc0000006: "EXCEPTION_IN_PAGE_ERROR",
	0xc0000008: "EXCEPTION_INVALID_HANDLE", 0xc000001d: "EXCEPTION_ILLEGAL_INSTRUCTION",
	0xc0000025: "EXCEPTION_NONCONTINUABLE_EXCEPTION", 0xc0000026: "EXCEPTION_INVALID_DISPOSITION",
	0xc000008c: "EXCEPTION_BOUNDS_EXCEEDED", 0xc000008d: "EXCEPTION_FLT_DENORMAL_OPERAND",
	0xc000008e: "EXCEPTION_FLT_DIVIDE_BY_ZERO", 0xc000008f: "EXCEPTION_FLT_INEXACT_RESULT",
	0xc0000090: "EXCEPTION_FLT_INVALID_OPERATION", 0xc0000091: "EXCEPTION_FLT_OVERFLOW",
	0xc0000092: "EXCEPTION_FLT_STACK_CHECK", 0xc0000093: "EXCEPTION_FLT_UNDERFLOW",
	0xc0000094: "EXCEPTION_INT_DIVIDE_BY_ZERO", 0xc0000095: "EXCEPTION_INT_OVERFLOW",
	0xc0000096: "EXCEPTION_PRIV_INSTRUCTION", 0xc00000fd: "EXCEPTION_STACK_OVERFLOW",
	0xc0000194: "EXCEPTION_POSSIBLE_DEADLOCK", 0xe0000008: "Out of Memory", 0xe06d7363: "Unhandled C++ Exception",
	0xe0434352: "MANAGED_EXCEPTION_CODE_V4", 0x0517a7ed: "Simulated Exception",
}

const (
	accessViolation    = 0xc0000005
	inPageError        = 0xc0000006
	stackBufferOverrun = 0xc0000409
	fastFail           = "FAST_FAIL_"
)

var accessTypes = map[uint64]string{0: "_READ", 1: "_WRITE", 8: "_EXEC"}

func windowsType(c *unwind.Crash) string {
	text, ok := windowsTypes[c.Code]
	n := len(c.Parameters)
	switch {
	case c.Code == accessViolation && n >= 1:
		return text + accessTypes[c.Parameters[0]]
	case c.Code == inPageError && n >= 3 && accessTypes[c.Parameters[0]] != "":
		return text + accessTypes[c.Parameters[0]] + " / " + statusName(uint32(c.Parameters[2]))
	case c.Code == stackBufferOverrun && n >= 1:
		text = "EXCEPTION_STACK_BUFFER_OVERRUN / "
		if strings.HasPrefix(c.Reason, fastFail) {
			return text + c.Reason
		}
		if name := nameAt(fastFails, uint32(c.Parameters[0])); name != "" {
			return text + fastFail + name
		}
		return fmt.Sprintf("%s0x%08x", text, uint32(c.Parameters[0]))
	case ok:
		return text
	}
	return windowsError(c.Code)
}

// fastFails are the codes of __fastfail that Google's processor does not name.
var fastFails = []string{
	0: "LEGACY_GS_VIOLATION", 71: "ASAN_ERROR", 72: "CLR_EXCEPTION_AOT", 73: "POINTER_AUTH_INVALID_RETURN_ADDRESS",
	74: "INVALID_THREAD_STATE", 75: "CORRUPT_WOW64_STATE", 76: "INVALID_EXTENDED_STATE",
}

// windowsCodes has a line "code name" for each error of winerror.h, and each status below severity error.
//
//go:embed wincodes.txt
var windowsCodes string

func windowsCode(code uint32) string {
	_, rest, ok := strings.Cut(windowsCodes, fmt.Sprintf("\n%08X ", code))
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

// The one facility whose errors of winerror.h come with a severity: that of the C++ runtime's delayed loading.
const (
	facilityVisualCPP = 109
	severityMask      = 0xf0000000
)

// windowsError names a number that is an error of winerror.h, a status or an HRESULT.
func windowsError(code uint32) string {
	if name := windowsCode(code); name != "" {
		return name
	}
	if name := minidump.NTStatusName(code); !strings.HasPrefix(name, "0x") {
		return name
	}
	if code&severityMask != 0 && code>>16&0xfff == facilityVisualCPP {
		if name := windowsCode(code & 0xffff); strings.HasPrefix(name, "ERROR_") {
			return "FACILITY_VISUALCPP / " + name
		}
	}
	return fmt.Sprintf("unknown 0x%08x", code)
}

// statusName is the name of an NTSTATUS, else its number.
func statusName(status uint32) string {
	if name := windowsCode(status); name != "" && !strings.HasPrefix(name, "ERROR_") {
		return name
	}
	return minidump.NTStatusName(status)
}
