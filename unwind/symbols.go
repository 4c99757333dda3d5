package unwind

import (
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// SymbolSource finds the symbols of modules. A nil source is no supplier at all: modules are then not reported as
// lacking symbols.
type SymbolSource interface {
	// ModuleSymbols returns the symbols of a module, or why there are none.
	ModuleSymbols(m *Module) (*symfile.Symbols, error)
}

// NamedSource is a SymbolSource that can guess by name, which best walks make use of where a dump does not tell ids.
type NamedSource interface {
	SymbolsByName(m *Module, cpu *arch.CPU) (*symfile.Symbols, error)
}

// SymbolStatus is what became of a module's symbols.
type SymbolStatus uint8

const (
	SymbolsUnused  SymbolStatus = iota // no frame needed them
	SymbolsMissing                     // none were found
	SymbolsCorrupt                     // loaded, but some records could not be read
	SymbolsLoaded
)

// moduleSymbols are the symbols of one module and what was read from them already.
type moduleSymbols struct {
	symbols *symfile.Symbols // nil: missing
	err     error            // why
	corrupt bool
	names   map[uint64]*resolved
	cfi     map[uint64]*cfiEntry
	win     map[uint64]*winEntry
	named   map[uint64]bool
}

// resolved is what the symbols say of an address, kept because stacks repeat themselves.
type resolved struct {
	frames symfile.Frames
	ok     bool
}

// cachedAddresses bounds each of a module's caches.
const cachedAddresses = 4096

// symbolizer loads symbols once for each code file, as Google's StackFrameSymbolizer does: a second module of the same
// path uses the symbols of the first.
type symbolizer struct {
	source SymbolSource
	guess  *arch.CPU // of best walks: modules without an id may be found by name
	byFile map[string]*moduleSymbols
	last   *Module
	found  *moduleSymbols
	// Modules that a frame lay in, in the order of their first frame.
	missing, corrupt []*Module
}

// of returns the symbols of a module, which are loaded on first use; nil without a source.
func (s *symbolizer) of(m *Module) *moduleSymbols {
	if s.source == nil || m == nil {
		return nil
	}
	if m == s.last {
		return s.found
	}
	ms, ok := s.byFile[m.CodeFile]
	if !ok {
		ms = &moduleSymbols{}
		if named, ok := s.source.(NamedSource); ok && s.guess != nil && m.DebugID == "" {
			ms.symbols, ms.err = named.SymbolsByName(m, s.guess)
		} else {
			ms.symbols, ms.err = s.source.ModuleSymbols(m)
		}
		if ms.symbols != nil && ms.symbols.Rejected() != nil {
			ms.symbols, ms.err = nil, ms.symbols.Rejected()
		}
		if ms.symbols != nil {
			ms.corrupt, _ = ms.symbols.Corrupt()
		}
		if s.byFile == nil {
			s.byFile = make(map[string]*moduleSymbols)
		}
		s.byFile[m.CodeFile] = ms
	}
	s.last, s.found = m, ms
	return ms
}

// status tells what became of a module's symbols.
func (s *symbolizer) status(m *Module) SymbolStatus {
	ms, ok := s.byFile[m.CodeFile]
	switch {
	case !ok:
		return SymbolsUnused
	case ms.symbols == nil:
		return SymbolsMissing
	case ms.corrupt:
		return SymbolsCorrupt
	}
	return SymbolsLoaded
}

func (ms *moduleSymbols) lookup(addr uint64) *resolved {
	if r, ok := ms.names[addr]; ok {
		return r
	}
	r := &resolved{}
	r.frames, r.ok = ms.symbols.Lookup(addr)
	if ms.names == nil || len(ms.names) >= cachedAddresses {
		ms.names = make(map[uint64]*resolved)
	}
	ms.names[addr] = r
	return r
}

// hasName reports whether the symbols name an address.
func (ms *moduleSymbols) hasName(addr uint64) bool {
	if v, ok := ms.named[addr]; ok {
		return v
	}
	v := ms.symbols.Named(addr)
	if ms.named == nil || len(ms.named) >= cachedAddresses {
		ms.named = make(map[uint64]bool)
	}
	ms.named[addr] = v
	return v
}

// symbolize fills in what is known of the frame's instruction.
func (w *Walker) symbolize(f *Frame) {
	f.Module = w.module(f.Instruction)
	if f.Module == nil {
		return
	}
	ms := w.symbols.of(f.Module)
	if ms == nil || ms.symbols == nil {
		if ms != nil {
			w.symbols.missing = noteModule(w.symbols.missing, f.Module)
		}
		if w.Binaries != nil {
			w.elfName(f)
		}
		return
	}
	if ms.corrupt {
		w.symbols.corrupt = noteModule(w.symbols.corrupt, f.Module)
	}
	f.HasSymbols = true
	r := ms.lookup(f.Instruction - f.Module.Base)
	if !r.ok {
		return
	}
	s := &r.frames
	f.Function, f.FunctionBase = s.Name, f.Module.Base+s.Base
	f.File, f.Line, f.LineBase = s.File, s.Number, f.Module.Base+s.LineBase
	f.Inlines = s.Inlines
}

func noteModule(list []*Module, m *Module) []*Module {
	for _, have := range list {
		if have == m {
			return list
		}
	}
	return append(list, m)
}

// module finds the module of an address: a loaded one, else an unloaded one.
func (w *Walker) module(addr uint64) *Module {
	if m := w.Process.Modules.At(addr); m != nil {
		return m
	}
	return w.Process.Unloaded.At(addr)
}

// plausible is Google's InstructionAddressSeemsValid: the address lies in a module, and where that module has symbols
// they name it.
func (w *Walker) plausible(addr uint64) bool {
	m := w.module(addr)
	if m == nil {
		return false
	}
	ms := w.symbols.of(m)
	if ms == nil || ms.symbols == nil {
		return true
	}
	return ms.hasName(addr - m.Base)
}

// cfiEntry are the STACK CFI rules in force at an address, compiled.
type cfiEntry struct {
	info   *symfile.CFI
	rules  postfix.RuleSet
	slots  []int // of rules.Registers
	module *Module
	ms     *moduleSymbols
	cpu    *arch.CPU // whose slots the rules are bound to
}

// winEntry is the STACK WIN record in force at an address.
type winEntry struct {
	info    symfile.Win
	program *postfix.Program // what is run; chosen at compile time but for FPO records
	hasAt   bool             // the program aligns
	module  *Module
}

// Resolve tells what the symbols of a module say of an address, if they were loaded by a walk.
func (w *Walker) Resolve(m *Module, addr uint64) (symfile.Frames, bool) {
	ms, ok := w.symbols.byFile[m.CodeFile]
	if !ok || ms.symbols == nil {
		return symfile.Frames{}, false
	}
	r := ms.lookup(addr - m.Base)
	return r.frames, r.ok
}
