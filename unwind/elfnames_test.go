package unwind

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/dwarf"
	"github.com/symlint/symlint/unwind/symfile"
)

// oneBinary is a source of binaries that has one.
type oneBinary []byte

func (b oneBinary) ModuleBinary(*Module) ([]byte, error) { return b, nil }

// noSymbols is a store without any file.
type noSymbols struct{}

func (noSymbols) ModuleSymbols(*Module) (*symfile.Symbols, error) { return nil, os.ErrNotExist }

// Without a symbol file the symbol table of the binary names the frames.
func TestELFNames(t *testing.T) {
	f, err := os.Open(filepath.Join(corpustest.Root(), "testdata", "walk", "bin", "relay.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := io.Copy(&file, r); err != nil {
		t.Fatal(err)
	}
	const base = 0x5500000000
	functions := elfFunctions(file.Bytes())
	if len(functions) == 0 {
		t.Fatal("no functions in the symbol table")
	}
	cpu, _ := arch.Lookup("arm64")
	for _, fn := range functions {
		if fn.size < 8 {
			continue
		}
		p := &Process{Modules: NewModules(symfile.Reject), Unloaded: NewModules(symfile.Reject)}
		p.Modules.Add(Module{Base: base, Size: 1 << 20, CodeFile: "relay"})
		w := &Walker{Process: p, Symbols: noSymbols{}, Binaries: oneBinary(file.Bytes())}
		w.init()
		fr := Frame{Registers: arch.Registers{CPU: cpu}, Instruction: base + fn.addr + 4}
		w.symbolize(&fr)
		if fr.Function == "" || fr.FunctionBase != base+fn.addr {
			t.Errorf("%s at %#x: named %q from %#x", fn.name, fn.addr, fr.Function, fr.FunctionBase)
		}
	}
}

func TestELFNamesDemangled(t *testing.T) {
	w := &Walker{Process: &Process{}, images: make(imageCache)}
	m := &Module{Base: 0x1000, Size: 0x1000}
	w.images[m] = imageWith([]elfFunction{{0x10, 0x10, "_ZN5tower5Meter4readEi"}, {0x20, 0, "_start"}})
	for _, c := range []struct {
		addr uint64
		want string
	}{{0x1018, "tower::Meter::read(int)"}, {0x1040, "_start"}, {0x1004, ""}} {
		f := Frame{Module: m, Instruction: c.addr}
		w.elfName(&f)
		if f.Function != c.want {
			t.Errorf("%#x is %q, want %q", c.addr, f.Function, c.want)
		}
	}
}

// imageWith is an image whose symbol table was read already.
func imageWith(functions []elfFunction) *image {
	empty, err := dwarf.OpenSections(dwarf.Layout{Machine: elf.EM_X86_64, Word: 8})
	if err != nil {
		panic(err)
	}
	return &image{elf: []byte("read"), cfi: empty, functions: functions, named: true}
}
