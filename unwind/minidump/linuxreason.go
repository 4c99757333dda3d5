package minidump

// LinuxReason is the reason text of a signal of Linux, by its number and si_code, as for a minidump.
func LinuxReason(signal, code uint32) string {
	e := Exception{Code: signal, Flags: code}
	return e.reason(&SystemInfo{Platform: PlatformLinux})
}
