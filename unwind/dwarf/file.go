package dwarf

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"sort"
)

// Memory is the memory of a process, or what a core keeps of it, at the process's addresses.
type Memory interface {
	// Bytes returns exactly n bytes, or false if not all of them are known. They are kept and must not change. It
	// must not allocate memory for n bytes before it knows that they are there.
	Bytes(addr uint64, n int) ([]byte, bool)
}

// Layout is what has to be known about an image to read its call frame information.
type Layout struct {
	Machine   elf.Machine
	Word      int // bytes of an address: 4 or 8
	BigEndian bool
	// TextBase and DataBase are what textrel and datarel pointers are relative to: the text section and the global
	// offset table.
	TextBase, DataBase uint64
	Base               uint64 // see File.Base
	Memory             Memory // where indirect pointers are resolved; may be nil
}

// Section is the content of one section.
type Section struct {
	Name  string
	Addr  uint64
	Data  []byte
	Debug bool // format of .debug_frame, not that of .eh_frame
}

// File is the call frame information of one ELF file or image.
type File struct {
	layout Layout
	// regBytes is the size of a general register where it is saved, which is larger than an address on x32 and n32.
	regBytes     int
	relocatable  bool
	image        bool   // .eh_frame may be longer than what belongs to it: a terminator ends it
	lastFDE      uint64 // the same: where the last FDE is, if the search table tells
	zeroMapped   bool   // address 0 belongs to the program, so that an FDE may start there
	sections     []*Section
	cies         []*CIE
	fdes         []FDE    // by Start
	starts       []uint64 // of fdes, for searching
	ends         []uint64 // largest End up to here; nil if no two FDEs overlap
	discarded    int
	header       *Header
	placed       []Placed
	problems     []Problem
	problemCount int
}

// OpenSections reads the call frame information of section contents. One named .eh_frame_hdr is taken as the search
// table. It fails only for a layout that cannot be.
func OpenSections(l Layout, sections ...Section) (*File, error) {
	if l.Word != 4 && l.Word != 8 {
		return nil, fmt.Errorf("dwarf: addresses of %d bytes are not supported", l.Word)
	}
	f := newFile(l)
	var hdr *Section
	for i := range sections {
		s := sections[i]
		if s.Name == ".eh_frame_hdr" {
			hdr = &s
			continue
		}
		f.sections = append(f.sections, &s)
	}
	f.index(hdr)
	return f, nil
}

func newFile(l Layout) *File {
	f := &File{layout: l, regBytes: l.Word}
	switch l.Machine {
	case elf.EM_X86_64, elf.EM_AARCH64:
		f.regBytes = 8
	}
	return f
}

// Machine returns the CPU the file is for.
func (f *File) Machine() elf.Machine { return f.layout.Machine }

// Word returns the bytes of an address, 4 or 8.
func (f *File) Word() int { return f.layout.Word }

// BigEndian reports the byte order.
func (f *File) BigEndian() bool { return f.layout.BigEndian }

// Base returns the address in the file of what is mapped first: a module loaded at address a has the pc p at
// p - a + Base(). For an image from memory it is where the image begins.
func (f *File) Base() uint64 { return f.layout.Base }

// Relocatable reports that this is an object file, whose sections were placed one behind the other; see Placed.
func (f *File) Relocatable() bool { return f.relocatable }

// Len returns the number of FDEs.
func (f *File) Len() int { return len(f.fdes) }

// FDEs returns all FDEs by Start. Functions that both sections describe appear twice, .debug_frame last, and Find
// returns that.
func (f *File) FDEs() []FDE { return f.fdes }

// CIEs returns the CIEs in the order they were met.
func (f *File) CIEs() []*CIE { return f.cies }

// Sections returns the sections read.
func (f *File) Sections() []*Section { return f.sections }

// Header returns the search table .eh_frame_hdr, nil if there is none.
func (f *File) Header() *Header { return f.header }

// Discarded returns the number of FDEs left out because the linker dropped their functions and set their start to 0.
func (f *File) Discarded() int { return f.discarded }

// Problems returns what was wrong, at most MaxProblems of it. Call frame instructions are not looked at when a file is
// opened: RowAt and Rows report those.
func (f *File) Problems() []Problem { return f.problems }

// ProblemCount returns how many problems there were, including those not kept.
func (f *File) ProblemCount() int { return f.problemCount }

// Find returns the FDE of a pc. A return address may belong to the next function already: look up the byte before it,
// unless the frame below is that of a signal handler's trampoline (CIE.SignalFrame).
func (f *File) Find(pc uint64) (*FDE, bool) {
	// i is the number of FDEs that start at or before pc.
	i, j := 0, len(f.starts)
	for i < j {
		if h := int(uint(i+j) >> 1); f.starts[h] <= pc {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 {
		return nil, false
	}
	if d := &f.fdes[i-1]; pc < d.End {
		return d, true
	}
	if f.ends == nil {
		return nil, false
	}
	for i--; i >= 0 && pc < f.ends[i]; i-- {
		if d := &f.fdes[i]; pc < d.End {
			return d, true
		}
	}
	return nil, false
}

// index reads all sections and sorts what they hold. The search table is that of .eh_frame.
func (f *File) index(hdr *Section) {
	for _, s := range f.sections {
		if !s.Debug {
			f.readSection(s)
		}
	}
	f.sortFDEs()
	if hdr != nil {
		f.readHeader(hdr)
	}
	n := len(f.fdes)
	for _, s := range f.sections {
		if s.Debug {
			f.readSection(s)
		}
	}
	if len(f.fdes) > n {
		f.sortFDEs()
	}
	f.starts = make([]uint64, len(f.fdes))
	var end uint64
	overlap := false
	for i := range f.fdes {
		d := &f.fdes[i]
		f.starts[i] = d.Start
		if d.Start < end && i > 0 {
			overlap = true
			if p := &f.fdes[i-1]; p.CIE.Section == d.CIE.Section && d.Start < p.End {
				f.problem(d.CIE.Section.Name, d.Offset, BadOrder, "FDE of 0x%x-0x%x overlaps that of 0x%x-0x%x at 0x%x",
					d.Start, d.End, p.Start, p.End, p.Offset)
			}
		}
		end = max(end, d.End)
	}
	if overlap {
		f.ends = make([]uint64, len(f.fdes))
		end = 0
		for i := range f.fdes {
			end = max(end, f.fdes[i].End)
			f.ends[i] = end
		}
	}
}

// sortFDEs puts, of several FDEs with one start, the one that Find is to return last: empty ones come first, then those
// of .eh_frame, then those of .debug_frame (which gdb prefers as well), and of these shorter ones first.
func (f *File) sortFDEs() {
	order := func(a, b *FDE) int {
		if c := cmp.Compare(a.Start, b.Start); c != 0 {
			return c
		}
		if ae, be := a.Start == a.End, b.Start == b.End; ae != be {
			return after(be)
		}
		if ad, bd := a.CIE.Section.Debug, b.CIE.Section.Debug; ad != bd {
			return after(ad)
		}
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Offset, b.Offset))
	}
	sorted := sort.SliceIsSorted(f.fdes, func(i, j int) bool { return order(&f.fdes[i], &f.fdes[j]) < 0 })
	if sorted {
		return
	}
	// FDEs are large: sort their numbers and move each FDE once.
	numbers := make([]uint32, len(f.fdes))
	for i := range numbers {
		numbers[i] = uint32(i)
	}
	slices.SortFunc(numbers, func(a, b uint32) int { return order(&f.fdes[a], &f.fdes[b]) })
	fdes := make([]FDE, len(f.fdes))
	for i, n := range numbers {
		fdes[i] = f.fdes[n]
	}
	f.fdes = fdes
}

func after(yes bool) int {
	if yes {
		return 1
	}
	return -1
}
