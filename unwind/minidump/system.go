package minidump

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const systemInfoSize = 56

// SystemInfo is the SystemInfo stream. The methods that describe it work on nil, too: their texts are empty then.
type SystemInfo struct {
	Arch                Architecture
	Level, Revision     uint16 // of the processor
	CPUs                uint8
	Product             uint8
	Major, Minor, Build uint32
	Platform            Platform
	CSD                 string // service pack on Windows, uname elsewhere
	HasCSD              bool
	Suite               uint16
	CPU86               CPU86     // x86 only
	ARM                 CPUARM    // arm only
	Features            [2]uint64 // others

	exchanged bool // see CPUInfo
}

// CPU86 is what the CPUID instruction said.
type CPU86 struct {
	Vendor                           [12]byte
	Signature, Features, AMDFeatures uint32
}

// CPUARM is the main ID register and Linux' hardware capabilities, 0 where unknown.
type CPUARM struct{ CPUID, HWCaps uint32 }

func (f *File) readSystemInfo() {
	s := f.open(StreamSystemInfo)
	if s == nil {
		return
	}
	if !s.sized(systemInfoSize) {
		f.SystemErr = s.err
		return
	}
	c := s.cursor(0)
	v := &SystemInfo{
		Arch: Architecture(c.u16()), Level: c.u16(), Revision: c.u16(), CPUs: c.u8(), Product: c.u8(),
		Major: c.u32(), Minor: c.u32(), Build: c.u32(), Platform: Platform(c.u32()),
	}
	csd := c.u32()
	v.Suite = c.u16()
	c.take(2)
	switch cpu := c; v.Arch {
	case ArchX86, ArchX86Win64:
		// Three words, lowest byte first whatever the file's order.
		for i := range 3 {
			for j, w := 0, cpu.u32(); j < 4; j++ {
				v.CPU86.Vendor[4*i+j] = byte(w >> (8 * j))
			}
		}
		v.CPU86.Signature, v.CPU86.Features, v.CPU86.AMDFeatures = cpu.u32(), cpu.u32(), cpu.u32()
	case ArchARM:
		v.ARM = CPUARM{cpu.u32(), cpu.u32()}
		v.exchanged = s.r.order == binary.BigEndian
	default:
		v.Features = [2]uint64{cpu.u64(), cpu.u64()}
	}
	var problem string
	v.CSD, problem = s.r.stringAt(uint64(csd))
	v.HasCSD = problem == ""
	f.System = v
}

// Platform returns the platform of the SystemInfo stream; ok is false if there is none.
func (f *File) Platform() (p Platform, ok bool) {
	if f.System == nil {
		return 0, false
	}
	return f.System.Platform, true
}

var platforms = map[Platform][2]string{
	PlatformWindowsNT: {"Windows NT", "windows"}, PlatformWindows: {"Windows", "windows"},
	PlatformMac: {"Mac OS X", "mac"}, PlatformIOS: {"iOS", "ios"}, PlatformLinux: {"Linux", "linux"},
	PlatformSolaris: {"Solaris", "solaris"}, PlatformAndroid: {"Android", "android"}, PlatformPS3: {"PS3", "ps3"},
	PlatformNaCl: {"NaCl", "nacl"}, PlatformFuchsia: {"Fuchsia", "fuchsia"},
}

// OS names the operating system as Google's processor does: "Linux", "Windows NT", or the platform's number.
func (v *SystemInfo) OS() string {
	if v == nil {
		return ""
	}
	if names, ok := platforms[v.Platform]; ok {
		return names[0]
	}
	return fmt.Sprintf("0x%08x", uint32(v.Platform))
}

// OSShort is the short name, "" for unknown platforms.
func (v *SystemInfo) OSShort() string {
	if v == nil {
		return ""
	}
	return platforms[v.Platform][1]
}

// OSVersion is "major.minor.build", and the CSD text behind a space if there is one, even if it is empty.
func (v *SystemInfo) OSVersion() string {
	if v == nil {
		return ""
	}
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Build)
	if v.HasCSD {
		s += " " + v.CSD
	}
	return s
}

var cpuNames = map[Architecture]string{
	ArchX86: "x86", ArchAMD64: "amd64", ArchPPC: "ppc", ArchPPC64: "ppc64", ArchSPARC: "sparc", ArchARM: "arm",
	ArchARM64: "arm64", ArchARM64Old: "arm64", ArchMIPS: "mips", ArchMIPS64: "mips64", ArchRISCV: "riscv",
	ArchRISCV64: "riscv64",
}

// CPU names the processor as Google's processor does: "amd64", "x86", or the architecture's number.
func (v *SystemInfo) CPU() string {
	if v == nil {
		return ""
	}
	if name, ok := cpuNames[v.Arch]; ok {
		return name
	}
	return fmt.Sprintf("0x%04x", uint16(v.Arch))
}

// CPUInfo describes the processor: vendor, family, model and stepping on x86 (no vendor on amd64), version, vendor,
// part and features on arm, nothing elsewhere. Of a big-endian dump Google's reader takes ARM's two words for one of
// 64 bits and so for each other, which the text shows.
func (v *SystemInfo) CPUInfo() string {
	if v == nil {
		return ""
	}
	switch v.Arch {
	case ArchX86, ArchAMD64:
		s := fmt.Sprintf("family %d model %d stepping %d", v.Level, v.Revision>>8, v.Revision&0xff)
		if v.Arch == ArchX86 {
			vendor, _, _ := strings.Cut(string(v.CPU86.Vendor[:]), "\x00")
			s = vendor + " " + s
		}
		return s
	case ArchARM:
		if v.exchanged {
			return armInfo(v.Level, CPUARM{v.ARM.HWCaps, v.ARM.CPUID})
		}
		return armInfo(v.Level, v.ARM)
	}
	return ""
}

// Names by fields of the main ID register: implementer, and implementer with part number.
var (
	armVendors = map[uint32]string{0x41: "ARM", 0x51: "Qualcomm", 0x56: "Marvell", 0x69: "Intel/Marvell"}
	armParts   = map[uint32]string{
		0x4100c050: "Cortex-A5", 0x4100c080: "Cortex-A8", 0x4100c090: "Cortex-A9", 0x4100c0f0: "Cortex-A15",
		0x4100c140: "Cortex-R4", 0x4100c150: "Cortex-R5", 0x4100b360: "ARM1136", 0x4100b560: "ARM1156",
		0x4100b760: "ARM1176", 0x4100b020: "ARM11-MPCore", 0x41009260: "ARM926", 0x41009460: "ARM946",
		0x41009660: "ARM966", 0x510006f0: "Krait", 0x510000f0: "Scorpion",
	}
	// By bit of Linux' HWCAP for arm.
	armFeatures = [...]string{
		"swp", "half", "thumb", "26bit", "fastmult", "fpa", "vfpv2", "edsp", "java", "iwmmxt", "crunch", "thumbee",
		"neon", "vfpv3", "vfpv3d16", "tls", "vfpv4", "idiva", "idivt",
	}
)

func armInfo(level uint16, cpu CPUARM) string {
	s := fmt.Sprintf("ARMv%d", level)
	if cpu.CPUID != 0 {
		vendor, ok := armVendors[cpu.CPUID>>24]
		if !ok {
			vendor = fmt.Sprintf("vendor(0x%x)", cpu.CPUID>>24)
		}
		id := cpu.CPUID & 0xff00fff0
		part, ok := armParts[id]
		if !ok {
			part = fmt.Sprintf("part(0x%x)", id)
		}
		s += " " + vendor + " " + part
	}
	if cpu.HWCaps != 0 {
		var names []string
		for i, name := range armFeatures {
			if cpu.HWCaps&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		s += " features: " + strings.Join(names, ",")
	}
	return s
}
