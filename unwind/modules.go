package unwind

import (
	"strings"

	"github.com/symlint/symlint/unwind/symfile"
)

// Module is a program or library that was mapped into the process.
type Module struct {
	Base, Size uint64 // bytes from Base on
	CodeFile   string // path as the dump has it
	Path       string // of the file that was mapped, where CodeFile is not that; else ""
	CodeID     string
	DebugFile  string // name of the symbol or PDB file; may be a path
	// Alternates are further names that the symbol file may have: a core seldom tells the SONAME of a library.
	Alternates []string
	DebugID    string // id as symbol stores spell it, "" if unknown
	Version    string // "" if unknown
	BuildID    []byte // of ELF modules, nil if unknown
	// Bias is what is added to the addresses in an ELF file to get those in memory. It is Base, but for programs linked
	// to a fixed address.
	Bias uint64
}

// Contains reports whether the module's range covers an address.
func (m *Module) Contains(addr uint64) bool { return addr >= m.Base && addr-m.Base < m.Size }

// BaseName returns what follows the last slash or backslash of a path, as Google's PathnameStripper::File does.
func BaseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// Modules are the modules of a process by address.
type Modules struct {
	list   []Module
	ranges symfile.RangeMap[int32]
	main   int
}

// NewModules returns a list that treats overlapping ranges as told.
func NewModules(overlap symfile.Overlap) *Modules {
	m := &Modules{main: -1}
	m.ranges.Overlap = overlap
	return m
}

// Add appends a module and reports whether its range could be stored. One whose range is refused is not kept.
func (m *Modules) Add(x Module) bool {
	if !m.ranges.Store(x.Base, x.Size, int32(len(m.list))) {
		return false
	}
	m.list = append(m.list, x)
	return true
}

// SetMain makes the i-th module added that of the program itself. A list has none at first.
func (m *Modules) SetMain(i int) { m.main = i }

// At returns the module whose range covers an address, or nil.
func (m *Modules) At(addr uint64) *Module {
	if m == nil {
		return nil
	}
	e, ok := m.ranges.Get(addr)
	if !ok {
		return nil
	}
	return &m.list[e.Value]
}

// Len is the number of modules that lookups reach.
func (m *Modules) Len() int {
	if m == nil {
		return 0
	}
	return m.ranges.Len()
}

// Sorted returns the i-th module in ascending order of addresses.
func (m *Modules) Sorted(i int) *Module { return &m.list[m.ranges.At(i).Value] }

// Main returns the module of the program itself, or nil.
func (m *Modules) Main() *Module {
	if m == nil || m.main < 0 || m.main >= len(m.list) || m.Len() == 0 {
		return nil
	}
	return &m.list[m.main]
}

// List returns the modules in the order they were added. It must not be changed.
func (m *Modules) List() []Module {
	if m == nil {
		return nil
	}
	return m.list
}

// MainIndex is the index in List of the main module, -1 without modules.
func (m *Modules) MainIndex() int {
	if m.Main() == nil {
		return -1
	}
	return m.main
}

// top is the end of the highest module.
func (m *Modules) top() uint64 {
	if m.Len() == 0 {
		return 0
	}
	x := m.Sorted(m.Len() - 1)
	return x.Base + x.Size
}
