package unwind

import (
	"encoding/binary"

	"github.com/symlint/symlint/unwind/arch"
)

// Process is what a dump tells of the process it was made from: the input of a walk. It does not change once made, and
// may be shared by goroutines.
type Process struct {
	System     System
	Crash      *Crash // nil: the dump was not made because of a crash
	Assertion  string // the text of an assertion or an invalid parameter, "" if there is none
	Uptime     Uptime
	Threads    []Thread
	Requesting int      // index in Threads of the thread that crashed or asked for the dump, -1 if unknown
	Modules    *Modules // nil: the dump has no list of modules, or none that can be used
	Unloaded   *Modules
	// Memory is all memory that the dump holds. Only --unwind best and the techniques that read binaries use more than
	// a thread's own stack.
	Memory Memory
	// Executable tells whether code can lie at an address, and whether the dump knows. Nil where no dump tells.
	Executable func(addr uint64) (executable, known bool)
	// Order is the byte order of memory.
	Order binary.ByteOrder
	// PID is the process id, 0 if unknown.
	PID uint32
	// LinuxMaps is the number of lines of /proc/self/maps that the dump carries, -1 without them.
	LinuxMaps int
	// Problems are what could not be read and was left out, in words.
	Problems []string
	// Details are what else a minidump tells, for reports; nil for other dumps.
	Details *Details
}

// System is the machine and its operating system.
type System struct {
	OS        string // as Google's tools print it: Linux, Windows NT, Mac OS X, …
	OSShort   string // linux, windows, mac, ios, …; "" for unknown ones
	OSVersion string
	CPU       string // x86, amd64, arm, …
	CPUInfo   string // family, model and stepping, or the like
	CPUCount  int
	GPU       *GPU // only microdumps tell it
}

// GPU is the graphics driver of a microdump.
type GPU struct{ Version, Vendor, Renderer string }

// Crash is why and where a process stopped.
type Crash struct {
	Reason     string
	Address    uint64
	Parameters []uint64 // of a Windows or Linux exception record
	// Signal, Code and Flags are the raw numbers where the source has them.
	Code, Flags uint32
}

// Uptime is how long a process ran.
type Uptime struct {
	Seconds uint32
	Known   bool
}

// Thread is one thread of a process.
type Thread struct {
	ID    uint32
	Name  string // "" if unknown
	Named bool   // the dump has a name for it, if an empty one
	// Registers of the innermost frame; nil where the dump has none that can be read. Such a thread has no frames.
	Registers *arch.Registers
	// Stack is the memory a walk reads. Without it the walk ends at the innermost frame.
	Stack Region
	// Alternate: further stacks, which only --unwind best reads, are in Process.Memory.
	// LastError is the thread's GetLastError(), if HasLastError.
	LastError    uint32
	HasLastError bool
	// PACMask are the bits of a code pointer that hold a signature (arm64), 0 if unknown.
	PACMask uint64
}

// Memory is part of an address space.
type Memory interface {
	// Bytes returns n bytes at an address without copying; false where not all of them are known.
	Bytes(addr uint64, n int) ([]byte, bool)
}

// Region is a contiguous piece of memory.
type Region struct {
	Base uint64
	Data []byte
}

// Empty reports whether the region holds nothing.
func (r *Region) Empty() bool { return len(r.Data) == 0 }

// End is the first address behind the region; it wraps around at the end of the address space.
func (r *Region) End() uint64 { return r.Base + uint64(len(r.Data)) }

// Bytes returns n bytes at an address.
func (r *Region) Bytes(addr uint64, n int) ([]byte, bool) {
	off := addr - r.Base
	if addr < r.Base || n < 0 || uint64(n) > uint64(len(r.Data)) || off > uint64(len(r.Data)-n) {
		return nil, false
	}
	return r.Data[off : off+uint64(n)], true
}

// Contains reports whether an address lies in the region.
func (r *Region) Contains(addr uint64) bool {
	return addr-r.Base < uint64(len(r.Data)) && addr >= r.Base
}

// stackWord reads one word of 4 or 8 bytes.
func stackWord(r *Region, order binary.ByteOrder, addr uint64, size int) (uint64, bool) {
	b, ok := r.Bytes(addr, size)
	if !ok {
		return 0, false
	}
	return decode(order, b), true
}

func decode(order binary.ByteOrder, b []byte) uint64 {
	if len(b) == 4 {
		if order == binary.BigEndian {
			return uint64(binary.BigEndian.Uint32(b))
		}
		return uint64(binary.LittleEndian.Uint32(b))
	}
	if order == binary.BigEndian {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// decodeSized is decode for 1, 2, 4 or 8 bytes.
func decodeSized(order binary.ByteOrder, b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b))
	}
	return decode(order, b)
}
