package unwind

import (
	"errors"
	"fmt"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
	"github.com/symlint/symlint/unwind/symstore"
)

// FromStore makes a symbol store a source of symbols.
func FromStore(s *symstore.Store) *StoreSource { return &StoreSource{s} }

// StoreSource finds the symbols of modules in a store.
type StoreSource struct{ store *symstore.Store }

// ModuleSymbols returns the symbols of a module, or why the store has none.
func (s *StoreSource) ModuleSymbols(m *Module) (*symfile.Symbols, error) {
	r := s.Result(m)
	if r.Symbols != nil {
		return r.Symbols, nil
	}
	return nil, storeError(r)
}

// Result is all that the store tells of a module's symbols: the path of the file among others.
func (s *StoreSource) Result(m *Module) *symstore.Result {
	r := s.store.Symbols(m.DebugFile, m.DebugID, m.CodeFile)
	for _, name := range m.Alternates {
		if r.Symbols != nil {
			break
		}
		if other := s.store.Symbols(name, m.DebugID, name); other.Symbols != nil {
			return other
		}
	}
	return r
}

// SymbolsByName returns the symbols of a module whose id the dump does not know, see symstore.Store.ByName.
func (s *StoreSource) SymbolsByName(m *Module, cpu *arch.CPU) (*symfile.Symbols, error) {
	r := s.store.ByName(m.CodeFile, func(name string) bool {
		c, ok := arch.Lookup(name)
		return ok && (c == cpu || c.Wide == cpu.Name)
	})
	if r.Symbols != nil {
		return r.Symbols, nil
	}
	return nil, storeError(r)
}

// SymbolFile is the path of a module's symbol file, "" if it has none.
func (s *StoreSource) SymbolFile(m *Module) string {
	if s == nil {
		return ""
	}
	if r := s.Result(m); r.Symbols != nil {
		return r.Path
	}
	return ""
}

func storeError(r *symstore.Result) error {
	switch {
	case r.Reason != "":
		return fmt.Errorf("%s: %s", r.Status, r.Reason)
	case r.Err != nil:
		return r.Err
	}
	return errors.New(r.Status.String())
}

// FromBinaries makes directories of binaries a source of them.
func FromBinaries(b *symstore.Binaries) BinarySource { return binarySource{b} }

type binarySource struct{ b *symstore.Binaries }

// ModuleBinary returns the ELF file of a module.
func (s binarySource) ModuleBinary(m *Module) ([]byte, error) {
	path := m.Path
	if path == "" {
		path = m.CodeFile
	}
	data, _, err := s.b.Binary(path, m.BuildID)
	return data, err
}
