package minidump

import "fmt"

// reason is the text of GetCrashReason in minidump_processor.cc. It depends on the platform and, on Apple's, on the
// CPU; without SystemInfo there are only numbers.
func (e *Exception) reason(sys *SystemInfo) string {
	numbers := fmt.Sprintf("0x%08x / 0x%08x", e.Code, e.Flags)
	if sys == nil {
		return numbers
	}
	var text string
	switch sys.Platform {
	case PlatformLinux, PlatformAndroid:
		text = e.linuxReason()
	case PlatformWindowsNT, PlatformWindows:
		text = e.windowsReason()
	case PlatformMac, PlatformIOS:
		text = e.macReason(sys.Arch)
	case PlatformFuchsia:
		if name, ok := fuchsiaExceptions[e.Code]; ok {
			text = name + " / " + e.flags()
		}
	case PlatformSolaris:
		text = at(solarisSignals[:], e.Code)
	case PlatformPS3:
		text = at(ps3Exceptions[:], e.Code)
	}
	if text == "" {
		return numbers
	}
	return text
}

func (e *Exception) flags() string { return fmt.Sprintf("0x%08x", e.Flags) }

// at looks a number up in a table of names, "" for none.
func at(names []string, i uint32) string {
	if uint64(i) >= uint64(len(names)) {
		return ""
	}
	return names[i]
}

// Signals of Linux by number.
var linuxSignals = [...]string{
	"", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1",
	"SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP",
	"SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR",
	"SIGSYS",
}

// Codes (si_code) of the signals that have their own, by number. The text before them is Google's to the blank.
var linuxCodes = map[uint32]struct {
	prefix string
	codes  []string
}{
	4: {"SIGILL / ", []string{
		"", "ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC",
		"ILL_BADSTK",
	}},
	7: {"SIGBUS / ", []string{"", "BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"}},
	8: {"SIGFPE / ", []string{
		"", "FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV",
		"FPE_FLTSUB",
	}},
	11: {"SIGSEGV /", []string{
		"", "SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR", "SEGV_ACCADI", "SEGV_ADIDERR", "SEGV_ADIPERR",
		"SEGV_MTEAERR", "SEGV_MTESERR",
	}},
}

func (e *Exception) linuxReason() string {
	if e.Code == 0xffffffff {
		return "DUMP_REQUESTED"
	}
	s, ok := linuxCodes[e.Code]
	if !ok {
		return at(linuxSignals[:], e.Code)
	}
	if code := at(s.codes, e.Flags); code != "" {
		return s.prefix + code
	}
	return s.prefix + e.flags()
}

var solarisSignals = [...]string{
	"", "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGIOT | SIGABRT", "SIGEMT", "SIGFPE", "SIGKILL", "SIGBUS",
	"SIGSEGV", "SIGSYS", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCLD | SIGCHLD", "SIGPWR",
	"SIGWINCH", "SIGURG", "SIGPOLL | SIGIO", "SIGSTOP", "SIGTSTP", "SIGCONT", "SIGTTIN", "SIGTTOU", "SIGVTALRM",
	"SIGPROF", "SIGXCPU", "SIGXFSZ", "SIGWAITING", "SIGLWP", "SIGFREEZE", "SIGTHAW", "SIGCANCEL", "SIGLOST", "SIGXRES",
	"SIGJVM1", "SIGJVM2",
}

var ps3Exceptions = [...]string{
	"UNKNOWN", "TRAP_EXCEP", "PRIV_INSTR", "ILLEGAL_INSTR", "INSTR_STORAGE", "INSTR_SEGMENT", "DATA_STORAGE",
	"DATA_SEGMENT", "FLOAT_POINT", "DABR_MATCH", "ALIGN_EXCEP", "MEMORY_ACCESS", "COPRO_ALIGN", "COPRO_INVALID_COM",
	"COPRO_ERR", "COPRO_FIR", "COPRO_DATA_SEGMENT", "COPRO_DATA_STORAGE", "COPRO_STOP_INSTR", "COPRO_HALT_INSTR",
	"COPRO_HALTINSTR_UNKNOWN", "COPRO_MEMORY_ACCESS", "GRAPHIC",
}

var fuchsiaExceptions = map[uint32]string{
	0x8: "GENERAL", 0x108: "FATAL_PAGE_FAULT", 0x208: "UNDEFINED_INSTRUCTION", 0x308: "SW_BREAKPOINT",
	0x408: "HW_BREAKPOINT", 0x508: "UNALIGNED_ACCESS", 0x8008: "THREAD_STARTING", 0x8108: "THREAD_EXITING",
	0x8208: "POLICY_ERROR", 0x8308: "PROCESS_STARTING",
}
