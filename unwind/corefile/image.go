package corefile

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math"
)

// image is what is known of a module's ELF file, read from memory or from the file itself.
type image struct {
	header
	loads   []Phdr // the PT_LOADs of phdrs
	phdrs   []Phdr
	buildID []byte
	soname  string
}

// maxBuildID bounds build ids; the longest in use (SHA-1) has 20 bytes.
const maxBuildID = 64

// maxName bounds a SONAME: NAME_MAX.
const maxName = 255

// maxRead bounds notes and dynamic sections, in bytes.
const maxRead = 64 << 10

// Tags of the dynamic section that package elf names differently or not at all.
const (
	dtMIPSRLDMap    = 0x70000016 // address of the pointer that DT_DEBUG holds elsewhere
	dtMIPSRLDMapRel = 0x70000035 // the same, from the tag's own address
)

// bytesAt gives what is readable of the n bytes at a file offset or, where that has no answer, a virtual address of
// the image.
type bytesAt func(off, vaddr, n uint64) []byte

// maxPhdrs bounds the program headers of a module; real ones have about a dozen.
const maxPhdrs = 1024

// parseImage reads headers; data is the file or its first mapped bytes.
func parseImage(data []byte) (*image, error) {
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	if h.typ != elf.ET_DYN && h.typ != elf.ET_EXEC {
		return nil, fmt.Errorf("ELF type %v is neither program nor shared library", h.typ)
	}
	if h.phnum > maxPhdrs {
		return nil, fmt.Errorf("%d program headers", h.phnum)
	}
	im := &image{header: h}
	im.phdrs, _ = h.phdrs(data)
	for _, p := range im.phdrs {
		if p.Type == elf.PT_LOAD {
			im.loads = append(im.loads, p)
		}
	}
	if len(im.loads) == 0 {
		return nil, fmt.Errorf("no PT_LOAD among %d program headers", len(im.phdrs))
	}
	return im, nil
}

// imageAt reads the headers of the module whose file begins at an address, nil where the core's memory has none that
// fit the core's CPU.
func (c *Core) imageAt(addr uint64) *image {
	im, _ := c.headersAt(addr)
	return im
}

// headersAt is imageAt that also tells whether the memory is there and may be read.
func (c *Core) headersAt(addr uint64) (im *image, readable bool) {
	b := find(c.memory, addr)
	if len(b) < ehdr64 || c.spent > maxSpent {
		return nil, false
	}
	im, err := parseImage(b)
	if err != nil || im.matches(c) != nil {
		return nil, true
	}
	if !c.spend(len(im.phdrs) * phdr64) {
		return nil, false
	}
	return im, true
}

// maxSpent bounds what is read of the modules' headers, notes and dynamic sections, in bytes. Without a bound, a small
// core can make many modules of the same memory. A real module needs one or two thousand.
const maxSpent = 16 << 20

// spend tells whether n bytes more of module data may be read.
func (c *Core) spend(n int) bool {
	if c.spent > maxSpent {
		return false
	}
	if c.spent += n; c.spent > maxSpent {
		c.problem(0, "too many modules; the rest is not identified")
	}
	return true
}

// matches says why the image cannot belong to the core's process.
func (im *image) matches(c *Core) error {
	cpu, err := im.cpu()
	if err != nil {
		return err
	}
	if cpu != c.CPU || im.order != c.Order {
		return fmt.Errorf("it is for %s (%v), the core for %s (%v)", cpu.Name, im.order, c.CPU.Name, c.Order)
	}
	return nil
}

// read fills in what lies in segments: build id and SONAME.
func (im *image) read(c *Core, from bytesAt) {
	at := func(off, vaddr, n uint64) []byte {
		b := from(off, vaddr, min(n, maxRead))
		if !c.spend(len(b)) {
			return nil
		}
		return b
	}
	for _, p := range im.phdrs {
		if p.Type == elf.PT_NOTE && im.buildID == nil {
			im.buildID = buildID(at(p.Off, p.Vaddr, p.Filesz), im, p.Align)
		}
	}
	dyn, ok := im.find(elf.PT_DYNAMIC)
	if !ok {
		return
	}
	var soname, strtab uint64
	var hasName, hasTable bool
	im.dynamic(at(dyn.Off, dyn.Vaddr, dyn.Filesz), func(_ int, tag, value uint64) {
		switch elf.DynTag(tag) {
		case elf.DT_SONAME:
			soname, hasName = value, true
		case elf.DT_STRTAB:
			strtab, hasTable = value, true
		}
	})
	if hasName && hasTable && soname < math.MaxUint32 {
		name := at(math.MaxUint64, strtab+soname, maxName+1)
		if i := bytes.IndexByte(name, 0); i >= 0 {
			im.soname = string(name[:i])
		}
	}
}

func buildID(b []byte, im *image, align uint64) []byte {
	if align != 8 {
		align = 4
	}
	for len(b) > 0 {
		n, rest, ok := nextNote(b, im.order, align)
		if !ok {
			return nil
		}
		if n.typ == noteBuildID && string(n.owner) == "GNU" && n.whole && len(n.desc) > 0 && len(n.desc) <= maxBuildID {
			return bytes.Clone(n.desc)
		}
		b = rest
	}
	return nil
}

// dynamic calls f for the entries of a dynamic section up to DT_NULL, with their place in it.
func (h *header) dynamic(b []byte, f func(at int, tag, value uint64)) {
	size := h.word()
	for at := 0; at+2*size <= len(b); at += 2 * size {
		var tag, value uint64
		if h.wide {
			tag, value = h.order.Uint64(b[at:]), h.order.Uint64(b[at+8:])
		} else {
			tag, value = uint64(h.order.Uint32(b[at:])), uint64(h.order.Uint32(b[at+4:]))
		}
		if elf.DynTag(tag) == elf.DT_NULL {
			return
		}
		f(at, tag, value)
	}
}

func (im *image) find(t elf.ProgType) (Phdr, bool) { return findPhdr(im.phdrs, t) }

func findPhdr(list []Phdr, t elf.ProgType) (Phdr, bool) {
	for _, p := range list {
		if p.Type == t {
			return p, true
		}
	}
	return Phdr{}, false
}

// span returns the page of the lowest PT_LOAD, and the end of the file's part of the highest, rounded up to a page.
func span(phdrs []Phdr, page uint64) (low, high uint64) {
	low = math.MaxUint64
	for _, p := range phdrs {
		if p.Type == elf.PT_LOAD && p.Vaddr <= math.MaxUint64-p.Filesz-page {
			low = min(low, p.Vaddr&^(page-1))
			high = max(high, roundUp(p.Vaddr+p.Filesz, page))
		}
	}
	if low > high {
		return 0, 0
	}
	return low, high
}

// fileBytes reads from the ELF file.
func (im *image) fileBytes(file []byte) bytesAt {
	return func(off, vaddr, n uint64) []byte {
		if off != math.MaxUint64 {
			return cut(file, off, n)
		}
		for _, p := range im.loads {
			if d := vaddr - p.Vaddr; vaddr >= p.Vaddr && d < p.Filesz && p.Off <= math.MaxUint64-d {
				return cut(file, p.Off+d, min(n, p.Filesz-d))
			}
		}
		return nil
	}
}
