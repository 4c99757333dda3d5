package unwind

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/symlint/symlint/unwind/minidump"
)

// Details are what a dump tells that no walk needs, for reports. All of it is optional.
type Details struct {
	// Modules and Unloaded are all of the dump's list, in its order, with those that Process.Modules refuses because
	// they overlap others. Versions and code ids are as rust-minidump derives them. Nil: they are not known to differ
	// from Process.Modules.
	Modules, Unloaded []Module
	// Writer is the thread that wrote the dump, which is not in Process.Threads.
	Writer *Writer
	// Microcode is the version of the CPU's microcode, 0 if unknown.
	Microcode uint64
	LSB       *LSBRelease
	Limits    []Limit // nil: unknown
	Handles   []Handle
	// HasHandles: the dump has a list of handles, if an empty one.
	HasHandles bool
	// SoftErrors is the JSON text that the writer of the dump left about problems of its own, "" for none.
	SoftErrors string
	// MacBootArgs are the boot arguments of the kernel, MacCrash the __crash_info sections of the loaded images; nil
	// without them.
	MacBootArgs *string
	MacCrash    []MacCrash
	HasMacCrash bool
}

// Writer is a thread that wrote a dump.
type Writer struct {
	ID    uint32
	Index int // in the dump's list of threads
}

// LSBRelease is what /etc/lsb-release or os-release tells of a Linux distribution.
type LSBRelease struct{ ID, Release, Codename, Description string }

// Limit is a line of /proc/PID/limits. Soft and Hard are LimitNone if there is no limit.
type Limit struct {
	Name       string
	Soft, Hard uint64
	Unit       string
}

// LimitNone is the limit that is none.
const LimitNone = 1<<64 - 1

// Handle is an open handle or file descriptor; Type and Name are "" if unknown.
type Handle struct {
	Value      uint64
	Type, Name string
}

// minidumpDetails fills in what a minidump tells beyond what walks need.
func (p *Process) minidumpDetails(f *minidump.File) {
	d := &Details{}
	p.Details = d
	for i := range f.Modules {
		d.Modules = append(d.Modules, detailedModule(f, &f.Modules[i]))
	}
	for i := range f.Unloaded {
		m := &f.Unloaded[i]
		d.Unloaded = append(d.Unloaded, Module{
			Base: m.Base, Size: uint64(m.Size), CodeFile: m.CodeFile, Bias: m.Base,
			CodeID: fmt.Sprintf("%08x%x", m.Timestamp, m.Size),
		})
	}
	d.writer(f)
	p.threadDetails(f)
	if f.Misc == nil && f.Linux.Status != nil {
		pid, _ := procValue(f.Linux.Status, ':', "Pid")
		n, _ := strconv.ParseUint(pid, 10, 32)
		p.PID = uint32(n)
	}
	if v, ok := procValue(f.Linux.CPUInfo, ':', "microcode"); ok && strings.HasPrefix(v, "0x") {
		d.Microcode, _ = strconv.ParseUint(v[2:], 16, 64)
	}
	if f.Linux.LSBRelease != nil {
		d.LSB = parseLSB(f.Linux.LSBRelease)
	}
	if f.Has(minidump.StreamHandleData) && f.HandlesErr == nil {
		d.HasHandles = true
		for _, h := range f.Handles {
			d.Handles = append(d.Handles, Handle{h.Value, h.Type, h.Name})
		}
	}
	d.mozilla(f)
}

// Signatures of CodeView records.
const (
	cvPDB70 = 0x53445352
	cvPDB20 = 0x3031424e
	cvELF   = 0x4270454c
)

func detailedModule(f *minidump.File, m *minidump.Module) Module {
	x := Module{
		Base: m.Base, Size: uint64(m.Size), CodeFile: m.CodeFile, DebugFile: m.DebugFile, DebugID: m.DebugID,
		Version: m.Version, Bias: m.Base,
	}
	short := f.System.OSShort()
	apple := short == "mac" || short == "ios"
	if m.Version != "" && !apple && short != "windows" {
		// Breakpad's Linux writer puts a number of the soname's into each word.
		v := &m.FixedInfo
		x.Version = fmt.Sprintf("%d.%d.%d.%d", v.FileVersionHi, v.FileVersionLo, v.ProductVersionHi, v.ProductVersionLo)
	}
	var signature uint32
	if len(m.CodeView) > 4 {
		signature = f.Order.Uint32(m.CodeView)
	}
	switch {
	case signature == cvPDB70 && apple && len(m.DebugID) >= 32:
		x.CodeID = strings.ToLower(m.DebugID[:32])
	case signature == cvPDB70, signature == cvPDB20, short == "windows" && signature != cvELF:
		x.CodeID = fmt.Sprintf("%08x%x", m.Timestamp, m.Size)
	case signature == cvELF && len(bytes.Trim(m.CodeView[4:], "\x00")) > 0:
		x.CodeID = hex.EncodeToString(m.CodeView[4:])
	}
	return x
}

func (d *Details) writer(f *minidump.File) {
	id, ok := f.DumpThread()
	if !ok {
		return
	}
	for i := range f.Threads {
		if f.Threads[i].ID == id {
			d.Writer = &Writer{ID: id, Index: i}
			return
		}
	}
}

// threadDetails tells which threads have a name, and reads the GetLastError() of each: it is 13 words into the thread's
// environment block.
func (p *Process) threadDetails(f *minidump.File) {
	blocks := make(map[uint32]uint64, len(f.Threads))
	for i := range f.Threads {
		blocks[f.Threads[i].ID] = f.Threads[i].TEB
	}
	named := make(map[uint32]bool, len(f.ThreadNames))
	for i := range f.ThreadNames {
		named[f.ThreadNames[i].ID] = true
	}
	for i := range p.Threads {
		t := &p.Threads[i]
		t.Named = named[t.ID]
		teb := blocks[t.ID]
		if t.Registers == nil || teb == 0 {
			continue
		}
		if b, ok := f.Memory(teb+13*uint64(t.Registers.CPU.Word), 4); ok {
			t.LastError, t.HasLastError = f.Order.Uint32(b), true
		}
	}
}

// procValue finds the first line "key: value" or "key=value".
func procValue(text []byte, separator byte, key string) (string, bool) {
	for line := range bytes.Lines(text) {
		if k, v, ok := keyValue(line, separator); ok && k == key {
			return v, true
		}
	}
	return "", false
}

func keyValue(line []byte, separator byte) (key, value string, ok bool) {
	k, v, ok := bytes.Cut(line, []byte{separator})
	return unquote(k), unquote(v), ok
}

func unquote(b []byte) string {
	b = bytes.TrimSpace(b)
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		b = b[1 : n-1]
	}
	return string(b)
}

func parseLSB(text []byte) *LSBRelease {
	r := &LSBRelease{}
	for line := range bytes.Lines(text) {
		key, value, ok := keyValue(line, '=')
		if !ok {
			continue
		}
		switch key {
		case "DISTRIB_ID", "ID":
			r.ID = value
		case "DISTRIB_RELEASE", "VERSION_ID":
			r.Release = value
		case "DISTRIB_CODENAME", "VERSION_CODENAME":
			r.Codename = value
		case "DISTRIB_DESCRIPTION", "PRETTY_NAME":
			r.Description = value
		}
	}
	return r
}
