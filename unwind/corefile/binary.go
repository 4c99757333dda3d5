package corefile

import (
	"bytes"
	"debug/elf"
	"errors"
	"math"
	"slices"
)

// AddBinary gives the core the ELF file of a module. Memory then answers from the file where the core has left
// something out: in what the program cannot write, and in writable segments those ranges that the core did not dump
// because they were never touched. The module gets what it lacks: build id, SONAME, program headers.
//
// A file that is not the one that ran is refused, as far as that shows: by its build id; by its program headers where
// the core has them; or else by the places of its segments, of its dynamic section and of its entry point.
func (c *Core) AddBinary(m *Module, elfFile []byte) error {
	im, err := parseImage(elfFile)
	if err != nil {
		return err
	}
	if err := im.matches(c); err != nil {
		return err
	}
	if im.debugOnly(elfFile) {
		return errors.New("it is a separate debug file, without code")
	}
	im.read(c, im.fileBytes(elfFile))
	bias, err := c.fit(m, im)
	if err != nil {
		return err
	}
	low, high := span(im.phdrs, c.pageSize)
	m.Bias, m.BiasKnown, m.Binary = bias, true, elfFile
	if len(m.Mappings) == 0 && !m.VDSO {
		m.Base, m.Size = c.address(bias+low), high-low
	}
	if m.BuildID == nil {
		m.BuildID = im.buildID
	}
	if m.SONAME == "" {
		m.SONAME = im.soname
	}
	if m.Phdrs == nil {
		m.Phdrs = im.phdrs
	}
	m.locate()
	for _, p := range im.loads {
		c.addLoad(m, p, elfFile)
	}
	return nil
}

// fit returns the bias at which the file is the module's, or why it is not.
func (c *Core) fit(m *Module, im *image) (bias uint64, err error) {
	if m.fromCore != nil && im.buildID != nil && !bytes.Equal(m.fromCore, im.buildID) {
		return 0, mismatch("its build id is %x, the process had %x", im.buildID, m.fromCore)
	}
	if m.loads != nil && !slices.Equal(m.loads, im.loads) {
		return 0, mismatch("its program headers differ from those in memory")
	}
	low, _ := span(im.phdrs, c.pageSize)
	bias = m.Base - low
	if m.BiasKnown {
		bias = m.Bias
	}
	for _, f := range m.Mappings {
		first := c.address(f.Start - f.Offset) // where file offset 0 would be
		fits := func(p Phdr) bool { return c.address(bias+p.Vaddr-p.Off)&^(c.pageSize-1) == first }
		if !slices.ContainsFunc(im.loads, fits) {
			return 0, mismatch("none of its segments is mapped at %#x from file offset %#x", f.Start, f.Offset)
		}
	}
	if dyn, ok := im.find(elf.PT_DYNAMIC); m.dynamic != 0 && (!ok || c.address(bias+dyn.Vaddr) != m.dynamic) {
		return 0, mismatch("its dynamic section is not at %#x", m.dynamic)
	}
	if entry, ok := c.AuxValue(AuxEntry); m.Main && ok && c.address(bias+im.entry) != entry {
		return 0, mismatch("its entry point is not at %#x", entry)
	}
	return bias, nil
}

// addLoad adds the bytes of one PT_LOAD to files.
func (c *Core) addLoad(m *Module, p Phdr, elfFile []byte) {
	data := cut(elfFile, p.Off, p.Filesz)
	addr := c.address(p.Vaddr + m.Bias)
	if uint64(len(data)) > math.MaxUint64-addr {
		return
	}
	if p.Flags&elf.PF_W == 0 {
		c.addExtent(extent{addr, data})
		return
	}
	for _, s := range c.Segments {
		if s.declared == 0 || s.Addr+s.Size <= addr {
			continue
		}
		if s.Addr >= addr+uint64(len(data)) {
			break
		}
		// What the core meant to hold, it holds, or it is lost with the end of a truncated file.
		if s.Addr > addr {
			c.addExtent(extent{addr, data[:s.Addr-addr]})
		}
		behind := min(s.Addr+min(s.declared, s.Size), addr+uint64(len(data)))
		data = data[max(behind, addr)-addr:]
		addr = max(behind, addr)
	}
	c.addExtent(extent{addr, data})
}

// addExtent keeps files sorted. An extent that overlaps others is dropped: the same binary added again.
func (c *Core) addExtent(e extent) {
	if len(e.data) == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(c.files, e.addr, func(x extent, addr uint64) int {
		if x.end() <= addr {
			return -1
		}
		return 1
	})
	if i < len(c.files) && c.files[i].addr < e.end() {
		return
	}
	c.files = slices.Insert(c.files, i, e)
}
