package minidump

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// Region is memory of the process: Size bytes at address Base, which do not wrap.
type Region struct {
	Base, Size uint64
	// Data are the bytes, a view of the file; nil where the file does not hold them all, and for regions above 64 MiB
	// in lists that Google's processor reads, since it refuses to.
	Data   []byte
	Offset uint64 // of Data in the file
}

// Contains reports whether an address lies in the region.
func (r *Region) Contains(addr uint64) bool { return addr >= r.Base && addr-r.Base < r.Size }

// region is the memory a descriptor stands for. Its Data is nil if the file does not hold it.
func (r *reader) region(base uint64, loc Location) Region {
	m := Region{Base: base, Size: uint64(loc.Size), Offset: uint64(loc.RVA)}
	if loc.RVA == 0 || loc.Size == 0 || m.Size > ^uint64(0)-base {
		return m
	}
	if loc.Size <= maxRegionBytes || r.lenient {
		m.Data, _ = r.view(m.Offset, m.Size)
	}
	return m
}

func (f *File) readMemoryList() {
	s := f.open(StreamMemoryList)
	if s == nil {
		return
	}
	const size = 16
	b, n := s.list(size, true, math.MaxUint32)
	head := len(s.b) - len(b)
	regions := make([]Region, 0, n)
	for i := range n {
		c := cursor{b[i*size:], s.r.order}
		base, loc := c.u64(), c.location()
		if loc.Size == 0 || uint64(loc.Size) > ^uint64(0)-base {
			s.fail(head+i*size, "region %d has the range 0x%x+0x%x", i, base, loc.Size)
			continue
		}
		m := f.loose.region(base, loc)
		if loc.RVA == 0 && (loc.Size <= maxRegionBytes || s.r.lenient) {
			m.Data, _ = f.loose.view(0, m.Size) // unlike a thread's stack, a region may lie at offset 0
		}
		regions = append(regions, m)
	}
	if i, j := overlap(regions); i >= 0 && s.err == nil {
		s.fail(head+max(i, j)*size, "regions %d and %d overlap", min(i, j), max(i, j))
	}
	f.Memory32, f.Memory32Err = keep(f, s, regions)
}

// overlap finds two regions that share an address, -1 if there are none.
func overlap(regions []Region) (int, int) {
	order := make([]int, len(regions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(regions[i].Base, regions[j].Base) })
	for k := 1; k < len(order); k++ {
		if a := &regions[order[k-1]]; a.Contains(regions[order[k]].Base) {
			return order[k-1], order[k]
		}
	}
	return -1, -1
}

// readMemory64 reads the list of full dumps: one offset, then the sizes of regions that lie one behind the other.
func (f *File) readMemory64() {
	s := f.openLoose(StreamMemory64List)
	if s == nil {
		return
	}
	const head, size = 16, 16
	if !s.atLeast(head) {
		f.Memory64Err = s.err
		return
	}
	c := s.cursor(0)
	n, off := c.u64(), c.u64()
	if have := uint64(len(s.b)-head) / size; n > have {
		s.fail(0, "%d regions, but there is room for %d", n, have)
		if n = 0; s.r.lenient {
			n = have
		}
	}
	regions := make([]Region, 0, n)
	for i := range n {
		m := Region{Base: c.u64(), Size: c.u64(), Offset: off}
		if m.Size == 0 || m.Size > ^uint64(0)-m.Base {
			s.fail(head+int(i)*size, "region %d has the range 0x%x+0x%x", i, m.Base, m.Size)
			break
		}
		if m.Size > ^uint64(0)-off {
			s.fail(head+int(i)*size, "region %d ends beyond any file", i)
			break
		}
		m.Data, _ = s.r.view(off, m.Size) // a truncated dump keeps the regions before the cut
		off += m.Size
		regions = append(regions, m)
	}
	f.Memory64, f.Memory64Err = keep(f, s, regions)
}

// indexMemory collects what Memory looks at.
func (f *File) indexMemory() {
	regions := make([]Region, 0, len(f.Memory32)+len(f.Memory64)+len(f.Threads))
	for _, list := range [][]Region{f.Memory32, f.Memory64} {
		for _, m := range list {
			if m.Data != nil {
				regions = append(regions, m)
			}
		}
	}
	for i := range f.Threads {
		if m := f.Threads[i].Stack; m.Data != nil {
			regions = append(regions, m)
		}
	}
	slices.SortStableFunc(regions, func(a, b Region) int {
		return cmp.Or(cmp.Compare(a.Base, b.Base), cmp.Compare(b.Size, a.Size))
	})
	kept := regions[:0]
	for _, m := range regions {
		if k := len(kept); k > 0 && m.Base+m.Size <= kept[k-1].Base+kept[k-1].Size {
			continue // within the one before
		}
		kept = append(kept, m)
	}
	f.regions = kept
}

// Memory returns n bytes of the process's memory at an address, a view of the file, from whatever part of the dump
// holds them: both memory lists and the threads' stacks. It fails if no single region holds them all. It does not
// allocate.
func (f *File) Memory(addr uint64, n int) ([]byte, bool) {
	b := f.MemoryFrom(addr)
	if n < 0 || len(b) < n || b == nil {
		return nil, false
	}
	return b[:n:n], true
}

// MemoryFrom returns the memory from an address to the end of the region that holds it, nil if none does. Of
// overlapping regions it takes the one that reaches furthest. It does not allocate.
func (f *File) MemoryFrom(addr uint64) []byte {
	// The kept regions' ends grow with their bases: the last that begins at or before addr reaches furthest.
	i := sort.Search(len(f.regions), func(i int) bool { return f.regions[i].Base > addr }) - 1
	if i < 0 || !f.regions[i].Contains(addr) {
		return nil
	}
	m := &f.regions[i]
	return m.Data[addr-m.Base:]
}

// Regions returns the memory that Memory looks at, by base address. No region lies within another. The caller must
// not change it.
func (f *File) Regions() []Region { return f.regions }

// StackMemory returns the memory that Google's processor walks for a thread: what the thread refers to, or, if it has
// no offset or no size, the region of the MemoryList that holds the start of its stack. The region's Data is nil if
// the memory cannot be read; ok is false if there is none.
func (f *File) StackMemory(t *Thread) (m Region, ok bool) {
	if t.StackLocation.RVA != 0 && t.StackLocation.Size != 0 && t.Stack.Size <= ^uint64(0)-t.Stack.Base {
		return t.Stack, true
	}
	if t.Stack.Base == 0 {
		return Region{}, false
	}
	for i := range f.Memory32 {
		if f.Memory32[i].Contains(t.Stack.Base) {
			return f.Memory32[i], true
		}
	}
	return Region{}, false
}

// MemoryInfo is a MINIDUMP_MEMORY_INFO: a range of pages with common attributes.
type MemoryInfo struct {
	Base, AllocationBase uint64
	AllocationProtection uint32
	Size                 uint64
	State                uint32 // 0x1000 committed, 0x2000 reserved, 0x10000 free
	Protection           uint32 // Windows' PAGE_ constants
	Type                 uint32
}

// Executable reports whether the pages may be executed.
func (m *MemoryInfo) Executable() bool { return m.Protection&0xf0 != 0 }

func (f *File) readMemoryInfo() {
	s := f.openLoose(StreamMemoryInfoList)
	if s == nil {
		return
	}
	f.MemoryInfo, f.MemoryInfoErr = keep(f, s, memoryInfoList(s))
}

func memoryInfoList(s *stream) []MemoryInfo {
	const head, size = 16, 48
	if !s.atLeast(head) {
		return nil
	}
	c := s.cursor(0)
	header, entry, n := c.u32(), c.u32(), c.u64()
	if header != head || entry != size || uint64(len(s.b)-head)%size != 0 || n != uint64(len(s.b)-head)/size {
		s.fail(0, "size is %d, which a header of %d bytes and %d entries of %d do not fit", len(s.b), header, n, entry)
		return nil
	}
	list := make([]MemoryInfo, 0, n)
	for i := range int(n) {
		c := s.cursor(head + i*size)
		m := MemoryInfo{Base: c.u64(), AllocationBase: c.u64(), AllocationProtection: c.u32()}
		c.take(4)
		m.Size, m.State, m.Protection, m.Type = c.u64(), c.u32(), c.u32(), c.u32()
		if m.Size == 0 || m.Size > ^uint64(0)-m.Base {
			s.fail(head+i*size, "range %d is 0x%x+0x%x", i, m.Base, m.Size)
			continue
		}
		list = append(list, m)
	}
	regions := make([]Region, len(list))
	for i := range list {
		regions[i] = Region{Base: list[i].Base, Size: list[i].Size}
	}
	if i, j := overlap(regions); i >= 0 {
		s.fail(head+max(i, j)*size, "ranges %d and %d overlap", min(i, j), max(i, j))
	}
	return list
}
