package minidump

import "fmt"

// StreamType is the type of a stream in the directory.
type StreamType uint32

// Stream types, as in Microsoft's MINIDUMP_STREAM_TYPE, Breakpad's minidump_format.h and Crashpad's
// minidump_extensions.h.
const (
	StreamUnused          StreamType = 0
	StreamThreadList      StreamType = 3
	StreamModuleList      StreamType = 4
	StreamMemoryList      StreamType = 5
	StreamException       StreamType = 6
	StreamSystemInfo      StreamType = 7
	StreamThreadExList    StreamType = 8
	StreamMemory64List    StreamType = 9
	StreamCommentA        StreamType = 10
	StreamCommentW        StreamType = 11
	StreamHandleData      StreamType = 12
	StreamFunctionTable   StreamType = 13
	StreamUnloadedModules StreamType = 14
	StreamMiscInfo        StreamType = 15
	StreamMemoryInfoList  StreamType = 16
	StreamThreadInfoList  StreamType = 17
	StreamHandleOps       StreamType = 18
	StreamToken           StreamType = 19
	StreamJavaScript      StreamType = 20
	StreamSystemMemory    StreamType = 21
	StreamProcessVM       StreamType = 22
	StreamThreadNames     StreamType = 24

	StreamBreakpadInfo    StreamType = 0x47670001
	StreamAssertion       StreamType = 0x47670002
	StreamLinuxCPUInfo    StreamType = 0x47670003
	StreamLinuxStatus     StreamType = 0x47670004
	StreamLinuxLSBRelease StreamType = 0x47670005
	StreamLinuxCmdLine    StreamType = 0x47670006
	StreamLinuxEnviron    StreamType = 0x47670007
	StreamLinuxAuxv       StreamType = 0x47670008
	StreamLinuxMaps       StreamType = 0x47670009
	StreamLinuxDSODebug   StreamType = 0x4767000a

	StreamCrashpadInfo StreamType = 0x43500001
)

var streamNames = map[StreamType]string{
	StreamUnused: "Unused", StreamThreadList: "ThreadList", StreamModuleList: "ModuleList",
	StreamMemoryList: "MemoryList", StreamException: "Exception", StreamSystemInfo: "SystemInfo",
	StreamThreadExList: "ThreadExList", StreamMemory64List: "Memory64List", StreamCommentA: "CommentA",
	StreamCommentW: "CommentW", StreamHandleData: "HandleData", StreamFunctionTable: "FunctionTable",
	StreamUnloadedModules: "UnloadedModuleList", StreamMiscInfo: "MiscInfo", StreamMemoryInfoList: "MemoryInfoList",
	StreamThreadInfoList: "ThreadInfoList", StreamHandleOps: "HandleOperationList", StreamToken: "Token",
	StreamJavaScript: "JavaScriptData", StreamSystemMemory: "SystemMemoryInfo",
	StreamProcessVM: "ProcessVMCounters", StreamThreadNames: "ThreadNames",
	StreamBreakpadInfo: "BreakpadInfo", StreamAssertion: "AssertionInfo", StreamLinuxCPUInfo: "LinuxCPUInfo",
	StreamLinuxStatus: "LinuxProcStatus", StreamLinuxLSBRelease: "LinuxLSBRelease",
	StreamLinuxCmdLine: "LinuxCmdLine", StreamLinuxEnviron: "LinuxEnviron", StreamLinuxAuxv: "LinuxAuxv",
	StreamLinuxMaps: "LinuxMaps", StreamLinuxDSODebug: "LinuxDSODebug", StreamCrashpadInfo: "CrashpadInfo",
}

// String names the type, or gives its number in hexadecimal.
func (t StreamType) String() string {
	if name, ok := streamNames[t]; ok {
		return name
	}
	return fmt.Sprintf("stream 0x%x", uint32(t))
}

// Architecture is the processor_architecture of the SystemInfo stream.
type Architecture uint16

const (
	ArchX86        Architecture = 0
	ArchMIPS       Architecture = 1
	ArchAlpha      Architecture = 2
	ArchPPC        Architecture = 3
	ArchSHX        Architecture = 4
	ArchARM        Architecture = 5
	ArchIA64       Architecture = 6
	ArchAMD64      Architecture = 9
	ArchX86Win64   Architecture = 10
	ArchARM64      Architecture = 12
	ArchSPARC      Architecture = 0x8001
	ArchPPC64      Architecture = 0x8002
	ArchARM64Old   Architecture = 0x8003
	ArchMIPS64     Architecture = 0x8004
	ArchRISCV      Architecture = 0x8005
	ArchRISCV64    Architecture = 0x8006
	ArchUnknownCPU Architecture = 0xffff
)

// Platform is the platform_id of the SystemInfo stream.
type Platform uint32

const (
	PlatformWindows   Platform = 1 // Windows 95 to ME
	PlatformWindowsNT Platform = 2
	PlatformMac       Platform = 0x8101
	PlatformIOS       Platform = 0x8102
	PlatformLinux     Platform = 0x8201
	PlatformSolaris   Platform = 0x8202
	PlatformAndroid   Platform = 0x8203
	PlatformPS3       Platform = 0x8204
	PlatformNaCl      Platform = 0x8205
	PlatformFuchsia   Platform = 0x8206
)

// IsWindows reports whether the platform is any Windows.
func (p Platform) IsWindows() bool { return p == PlatformWindows || p == PlatformWindowsNT }

// IsLinux reports whether the platform is Linux or Android, whose module ranges Google's reader truncates from below
// instead of refusing overlaps.
func (p Platform) IsLinux() bool { return p == PlatformLinux || p == PlatformAndroid }

// Location is a MINIDUMP_LOCATION_DESCRIPTOR: Size bytes at offset RVA of the file.
type Location struct{ Size, RVA uint32 }

// GUID is a Microsoft GUID.
type GUID struct {
	Data1 uint32
	Data2 uint16
	Data3 uint16
	Data4 [8]byte
}

// String writes the GUID in lower case with dashes, as minidump_dump does.
func (g GUID) String() string {
	return fmt.Sprintf("%08x-%04x-%04x-%02x%02x-%x", g.Data1, g.Data2, g.Data3, g.Data4[0], g.Data4[1], g.Data4[2:])
}

// debugID is the identifier of symbol stores: the GUID in upper case without dashes, then the age in hexadecimal.
func (g GUID) debugID(age uint32) string {
	return fmt.Sprintf("%08X%04X%04X%X%x", g.Data1, g.Data2, g.Data3, g.Data4[:], age)
}
