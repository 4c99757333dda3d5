package unwind

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/corefile"
	"github.com/symlint/symlint/unwind/minidump"
	"github.com/symlint/symlint/unwind/symfile"
)

// Kind is what a dump was told apart as.
type Kind string

// The kinds of dumps.
const (
	KindMinidump  Kind = "minidump"
	KindMicrodump Kind = "microdump"
	KindCore      Kind = "core"
)

// ErrNotDump is the error for data that is no dump at all.
var ErrNotDump = errors.New("expected a minidump (MDMP), a microdump (BEGIN BREAKPAD MICRODUMP) or an ELF core")

// KindOf tells by content what sort of dump data is, "" if none.
func KindOf(data []byte) Kind {
	switch {
	case minidump.IsMinidump(data):
		return KindMinidump
	case corefile.IsCore(data):
		return KindCore
	case minidump.IsMicrodump(data):
		return KindMicrodump
	}
	return ""
}

// OpenOptions are what a dump may need besides itself.
type OpenOptions struct {
	// Maps is the text of /proc/PID/maps, for cores without an NT_FILE note.
	Maps []byte
	// Lenient keeps what Google's reader throws away of a damaged minidump.
	Lenient bool
	// Binary returns the ELF file that was mapped from a path, for cores: build ids, and memory the core left out.
	Binary func(path string) ([]byte, error)
}

// Open reads a dump, which may be a minidump, a microdump or an ELF core. The data is kept and must not change. It
// must be uncompressed.
func Open(data []byte, o OpenOptions) (*Process, error) {
	switch KindOf(data) {
	case KindMinidump:
		parse := minidump.Parse
		if o.Lenient {
			parse = minidump.ParseLenient
		}
		f, err := parse(data)
		if err != nil {
			return nil, err
		}
		return FromMinidump(f)
	case KindMicrodump:
		d, err := minidump.ParseMicrodump(data)
		if err != nil {
			return nil, err
		}
		return FromMicrodump(d)
	case KindCore:
		c, err := corefile.Parse(data)
		if err != nil {
			return nil, err
		}
		return FromCore(c, o)
	}
	return nil, ErrNotDump
}

// FromMinidump makes a process of a minidump, as Google's MinidumpProcessor does.
func FromMinidump(f *minidump.File) (*Process, error) {
	s, err := f.Process()
	if err != nil {
		return nil, err
	}
	p := &Process{
		System: System{
			OS: s.OS, OSShort: s.OSShort, OSVersion: s.OSVersion, CPU: s.CPU, CPUInfo: s.CPUInfo, CPUCount: s.CPUCount,
		},
		Assertion: s.Assertion, Requesting: s.Requesting, Memory: minidumpMemory{f}, Order: f.Order, LinuxMaps: -1,
	}
	if c := s.Crash; c != nil {
		p.Crash = &Crash{Reason: c.Reason, Address: c.Address, Parameters: c.Parameters, Code: c.Code, Flags: c.Flags}
	}
	p.Uptime.Seconds, p.Uptime.Known = s.Uptime()
	if f.Misc != nil && f.Misc.Flags&minidump.MiscProcessID != 0 {
		p.PID = f.Misc.ProcessID
	}
	if f.Linux.Maps != nil && f.MapsErr == nil {
		p.LinuxMaps = len(f.Maps)
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		x := Thread{ID: t.Thread.ID, Name: t.Name}
		if t.Context != nil {
			x.Registers = &t.Context.Registers
		} else if t.ContextErr != nil {
			p.problem("thread %d: %v", i, t.ContextErr)
		}
		if t.HasStack {
			x.Stack = Region{t.Stack.Base, t.Stack.Data}
		}
		p.Threads = append(p.Threads, x)
	}
	p.minidumpModules(f)
	p.minidumpDetails(f)
	return p, nil
}

func (p *Process) problem(format string, args ...any) {
	p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
}

// minidumpModules stores the modules as MinidumpModuleList and BasicCodeModules do.
func (p *Process) minidumpModules(f *minidump.File) {
	overlap, android := symfile.Reject, false
	if f.System != nil {
		switch f.System.Platform {
		case minidump.PlatformAndroid:
			overlap, android = symfile.TruncateLower, true
		case minidump.PlatformLinux:
			overlap = symfile.TruncateLower
		}
	}
	p.Modules = NewModules(overlap)
	p.Unloaded = NewModules(symfile.TruncateLower)
	if f.ModulesErr != nil {
		p.problem("modules: %v", f.ModulesErr)
	}
	if f.Modules == nil {
		p.Modules = nil
	}
	seen := make(map[uint64]int)
	for i := range f.Modules {
		m := &f.Modules[i]
		if k, ok := seen[m.Base]; ok && f.Modules[k].Size == m.Size && f.Modules[k].CodeFile == m.CodeFile {
			continue // repeated word for word
		}
		x := Module{
			Base: m.Base, Size: uint64(m.Size), CodeFile: m.CodeFile, CodeID: m.CodeID, DebugFile: m.DebugFile,
			DebugID: m.DebugID, Version: m.Version, BuildID: buildID(m.CodeView), Bias: m.Base,
		}
		if !p.Modules.Add(x) {
			p.problem("module %s at %#x overlaps another", m.CodeFile, m.Base)
			if !android {
				p.Modules = nil // the reference then has no module list at all
				break
			}
			continue
		}
		seen[m.Base] = i
	}
	if m := f.Modules; len(m) > 0 && p.Modules.Len() > 0 && p.Modules.list[0].Base == m[0].Base {
		p.Modules.SetMain(0)
	}
	for i := range f.Unloaded {
		m := &f.Unloaded[i]
		p.Unloaded.Add(Module{Base: m.Base, Size: uint64(m.Size), CodeFile: m.CodeFile, CodeID: m.CodeID, Bias: m.Base})
	}
}

type minidumpMemory struct{ f *minidump.File }

// Bytes reads the dump's memory.
func (m minidumpMemory) Bytes(addr uint64, n int) ([]byte, bool) { return m.f.Memory(addr, n) }

// buildID returns the build id of a CodeView record that holds one.
func buildID(codeView []byte) []byte {
	if len(codeView) > 4 && string(codeView[:4]) == "LEpB" {
		return codeView[4:]
	}
	return nil
}

// ErrMicrodumpContext is the error for a microdump whose processor state cannot be read: there is nothing to walk.
var ErrMicrodumpContext = errors.New("microdump without a processor state that can be read")

// FromMicrodump makes a process of a microdump, as Google's MicrodumpProcessor does: one thread, which crashed.
func FromMicrodump(d *minidump.Microdump) (*Process, error) {
	if d.Context == nil {
		if d.ContextErr != nil {
			return nil, fmt.Errorf("%w: %w", ErrMicrodumpContext, d.ContextErr)
		}
		return nil, ErrMicrodumpContext
	}
	p := &Process{
		System: System{
			OS: d.OS, OSVersion: d.OSVersion, CPU: d.CPU, CPUCount: d.CPUCount,
			// OSShort stays empty: the reference sets it only after the walk.
		},
		Crash: &Crash{Reason: d.Reason, Address: d.Address}, Order: binary.LittleEndian, LinuxMaps: -1,
	}
	if d.HasGPU {
		p.System.GPU = &GPU{d.GLVersion, d.GLVendor, d.GLRenderer}
	}
	t := Thread{Registers: &d.Context.Registers, Stack: Region{d.Stack.Base, d.Stack.Data}}
	p.Threads = []Thread{t}
	p.Memory = &p.Threads[0].Stack
	overlap := symfile.Reject
	if d.OS == "Android" {
		overlap = symfile.TruncateUpper
	}
	p.Modules = NewModules(overlap)
	for i := range d.Modules {
		m := &d.Modules[i]
		x := Module{Base: m.Base, Size: m.Size, CodeFile: m.Name, CodeID: m.ID, DebugFile: m.Name, DebugID: m.ID, Bias: m.Base}
		if !p.Modules.Add(x) {
			p.problem("module %s at %#x overlaps another", m.Name, m.Base)
		}
	}
	return p, nil
}

// FromCore makes a process of an ELF core.
func FromCore(c *corefile.Core, o OpenOptions) (*Process, error) {
	p := &Process{Order: c.Order, Memory: coreMemory{c}, PID: c.PID, LinuxMaps: -1, Requesting: 0}
	p.System = System{OS: "Linux", OSShort: "linux", CPU: cpuName(c.CPU)}
	p.Executable = func(addr uint64) (bool, bool) {
		s, ok := c.Segment(addr)
		return ok && s.Flags&elf.PF_X != 0, ok
	}
	var maps []corefile.Mapping
	if o.Maps != nil {
		var err error
		if maps, err = corefile.ParseMaps(o.Maps); err != nil {
			return nil, err
		}
	}
	p.Modules = NewModules(symfile.Reject)
	for _, m := range c.Modules(corefile.Options{Maps: maps, Binary: o.Binary}) {
		name := coreModuleName(m)
		x := Module{
			Base: m.Base, Size: m.Size, CodeFile: path.Join(path.Dir(m.Path), name), CodeID: hexID(m.BuildID), DebugFile: name,
			DebugID: m.DebugID(), BuildID: m.BuildID, Bias: m.Bias, Path: m.Path,
		}
		if m.SONAME == "" && !m.Main {
			x.Alternates = shorterNames(name)
		}
		if path.Dir(m.Path) == "." {
			x.CodeFile = name
		}
		if !m.BiasKnown {
			x.Bias = m.Base
		}
		if p.Modules.Add(x) && m.Main {
			p.Modules.SetMain(len(p.Modules.list) - 1)
		}
	}
	for i := range c.Threads {
		t := &c.Threads[i]
		x := Thread{ID: t.LWP, Registers: &t.Registers, PACMask: t.PAC.Insn}
		x.Stack = coreStack(c, t.Registers.SP())
		p.Threads = append(p.Threads, x)
	}
	if len(c.Threads) == 0 {
		return nil, errors.New("the core has no thread: expected an NT_PRSTATUS note")
	}
	p.Crash = coreCrash(&c.Threads[0], c)
	for _, q := range c.Problems {
		p.Problems = append(p.Problems, q.String())
	}
	return p, nil
}

// coreModuleName is the name that Google's writers of Linux dumps give a module, and symbol stores have it under: the
// SONAME of a library, and always the same for the vDSO.
func coreModuleName(m *corefile.Module) string {
	switch {
	case m.VDSO:
		return "linux-gate.so"
	case m.SONAME != "" && !m.Main:
		return BaseName(m.SONAME)
	}
	return m.Name()
}

// shorterNames are the names that a library's file name can have as SONAME: libz.so.1 for libz.so.1.2.3.
func shorterNames(name string) []string {
	var out []string
	for {
		i := strings.LastIndexByte(name, '.')
		if i <= strings.Index(name, ".so") || i < 0 {
			return out
		}
		name = name[:i]
		out = append(out, name)
	}
}

type coreMemory struct{ c *corefile.Core }

// Bytes reads the core's memory, and that of the binaries behind it.
func (m coreMemory) Bytes(addr uint64, n int) ([]byte, bool) { return m.c.Memory(addr, n) }

// cpuName is what Google's tools call a CPU.
func cpuName(c *arch.CPU) string {
	if c.Name == "x86_64" {
		return "amd64"
	}
	return c.Name
}

func hexID(id []byte) string { return fmt.Sprintf("%x", id) }

// coreStack is the memory around a stack pointer: from a little below it, for leaf functions that use the red zone, to
// the end of what is contiguous.
func coreStack(c *corefile.Core, sp uint64) Region {
	const below = 4096
	base := sp &^ (below - 1)
	for _, start := range [...]uint64{base - below, base, sp} {
		if data := c.Readable(start); data != nil && uint64(len(data)) > sp-start {
			return Region{start, data}
		}
	}
	return Region{}
}

// coreCrash tells what signal ended the process.
func coreCrash(t *corefile.Thread, c *corefile.Core) *Crash {
	if t.Signal == 0 && t.Siginfo == nil {
		return nil
	}
	x := &Crash{Code: uint32(t.Signal)}
	if s := t.Siginfo; s != nil {
		x.Code, x.Flags = uint32(s.Signo), uint32(s.Code)
		if s.HasAddr {
			x.Address = s.Addr
		}
	}
	x.Reason = minidump.LinuxReason(x.Code, x.Flags)
	return x
}
