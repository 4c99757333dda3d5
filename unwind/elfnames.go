package unwind

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"sort"

	"github.com/ianlancetaylor/demangle"
)

// elfFunction is a function of an ELF symbol table.
type elfFunction struct {
	addr, size uint64 // addr in the addresses of the file
	name       string
}

// elfFunctions reads the functions of an ELF file, in ascending order; .dynsym serves where there is no .symtab.
func elfFunctions(file []byte) []elfFunction {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil || len(symbols) == 0 {
		if symbols, err = f.DynamicSymbols(); err != nil {
			return nil
		}
	}
	var out []elfFunction
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF || s.Name == "" {
			continue
		}
		addr := s.Value
		if f.Machine == elf.EM_ARM {
			addr &^= 1 // Thumb
		}
		out = append(out, elfFunction{addr, s.Size, s.Name})
	}
	slices.SortStableFunc(out, func(a, b elfFunction) int { return cmp.Compare(a.addr, b.addr) })
	return out
}

// elfName names a frame by the symbol table of the module's binary.
func (w *Walker) elfName(f *Frame) {
	i := w.imageOf(f.Module)
	if i.elf == nil || i.cfi == nil {
		return
	}
	if !i.named {
		i.functions, i.named = elfFunctions(i.elf), true
	}
	addr := f.Instruction - f.Module.Base + i.cfi.Base()
	at := sort.Search(len(i.functions), func(k int) bool { return i.functions[k].addr > addr }) - 1
	for ; at >= 0; at-- {
		x := &i.functions[at]
		if x.size == 0 || addr-x.addr < x.size {
			// Demangled only now: a symbol table has many names, and stacks few.
			f.Function, f.FunctionBase = demangle.Filter(x.name, demangle.LLVMStyle), x.addr-i.cfi.Base()+f.Module.Base
			return
		}
		if at > 0 && i.functions[at-1].addr != x.addr {
			return // aliases may differ in size
		}
	}
}
