package corefile

import "debug/elf"

// link is one struct link_map of <link.h>.
type link struct {
	bias    uint64 // l_addr
	name    string // l_name
	dynamic uint64 // l_ld
	first   bool   // of the list: the program
}

// Bounds on lists in memory, which may be damaged or circular.
const (
	maxLinks      = 4096
	maxNamespaces = 64 // glibc has 16
	maxCandidates = 16
)

// linkMap reads the dynamic linker's list of loaded objects, nil where it cannot be found. main may be nil.
func (c *Core) linkMap(main *Module) []link {
	if main != nil {
		if addr, ok := c.debugAddress(main); ok {
			if links := c.debug(addr); len(links) > 0 {
				return links
			}
		}
	}
	return c.scanDebug()
}

// debugAddress finds struct r_debug through the program's dynamic section, where the dynamic linker notes it.
func (c *Core) debugAddress(main *Module) (uint64, bool) {
	phdrs, bias, ok := c.programHeaders(main)
	if !ok {
		return 0, false
	}
	p, ok := findPhdr(phdrs, elf.PT_DYNAMIC)
	if !ok {
		return 0, false
	}
	start := p.Vaddr + bias
	b := c.Readable(start)
	b = b[:min(uint64(len(b)), p.Memsz)]
	addr := uint64(0)
	h := header{order: c.Order, wide: c.Word == 8}
	h.dynamic(b, func(at int, tag, value uint64) {
		if addr != 0 {
			return
		}
		switch {
		case elf.DynTag(tag) == elf.DT_DEBUG:
			addr = value
		case tag == dtMIPSRLDMap && c.isMIPS():
			addr, _ = c.Pointer(value)
		case tag == dtMIPSRLDMapRel && c.isMIPS():
			addr, _ = c.Pointer(c.address(start + uint64(at) + value))
		}
	})
	return addr, addr != 0
}

// address cuts a sum to the width of an address.
func (c *Core) address(a uint64) uint64 {
	if c.Word == 4 {
		return uint64(uint32(a))
	}
	return a
}

// programHeaders are those of the module or, where its first page is not known, those AT_PHDR points at.
func (c *Core) programHeaders(main *Module) (phdrs []Phdr, bias uint64, ok bool) {
	if main.Phdrs != nil {
		return main.Phdrs, main.Bias, true
	}
	at, _ := c.AuxValue(AuxPhdr)
	count, _ := c.AuxValue(AuxPhnum)
	h := header{order: c.Order, wide: c.Word == 8, phnum: min(count, phnumExtended-1), phentsize: phdr32}
	if h.wide {
		h.phentsize = phdr64
	}
	phdrs, _ = h.phdrs(c.Readable(at))
	self, ok := findPhdr(phdrs, elf.PT_PHDR)
	return phdrs, at - self.Vaddr, ok
}

// debug reads struct r_debug: version, r_map, r_brk, r_state, r_ldbase, and from version 2 on the next namespace's.
func (c *Core) debug(addr uint64) []link {
	var links []link
	seen := make(map[uint64]bool)
	word := uint64(c.Word)
	for range maxNamespaces {
		b, ok := c.Memory(addr, 5*c.Word)
		if !ok || seen[addr] {
			break
		}
		seen[addr] = true
		version := c.Order.Uint32(b)
		if version == 0 || version > 16 {
			break
		}
		links = c.links(c.word(b[word:]), links, seen)
		next, ok := c.Pointer(addr + 5*word)
		if version < 2 || !ok || next == 0 {
			break
		}
		addr = next
	}
	return links
}

// links follows one chain of struct link_map: l_addr, l_name, l_ld, l_next, l_prev.
func (c *Core) links(addr uint64, links []link, seen map[uint64]bool) []link {
	for first := len(links) == 0; addr != 0 && len(links) < maxLinks && !seen[addr]; first = false {
		b, ok := c.Memory(addr, 5*c.Word)
		if !ok {
			c.problem(0, "link map: entry at %#x cannot be read", addr)
			break
		}
		seen[addr] = true
		l := link{bias: c.word(b), dynamic: c.word(b[2*c.Word:]), first: first}
		l.name, _ = c.CString(c.word(b[c.Word:]))
		links = append(links, l)
		addr = c.word(b[3*c.Word:])
	}
	return links
}

// scanDebug searches memory for struct r_debug: for cores without the program's headers. What gives it away is
// r_ldbase, which the kernel told the process as AT_BASE.
func (c *Core) scanDebug() []link {
	base, ok := c.AuxValue(AuxBase)
	if !ok || base == 0 {
		return nil
	}
	ldbase := 4 * c.Word
	candidates := 0
	scanned := 0
	for _, e := range c.memory {
		if scanned += len(e.data); scanned > 2*len(c.data) { // segments that share bytes of a damaged file
			return nil
		}
		b := e.data
		b = b[min(-e.addr&uint64(c.Word-1), uint64(len(b))):]
		for at := ldbase; at+c.Word <= len(b); at += c.Word {
			if c.word(b[at:]) != base || !c.isDebug(b[at-ldbase:at]) {
				continue
			}
			if links := c.debug(e.addr + uint64(len(e.data)-len(b)+at-ldbase)); len(links) > 0 {
				return links
			}
			if candidates++; candidates == maxCandidates {
				return nil
			}
		}
	}
	return nil
}

// isDebug judges the fields of struct r_debug before r_ldbase: known version and state, and a list whose first entry
// has none before it and whose dynamic section lies in a segment.
func (c *Core) isDebug(b []byte) bool {
	version, state := c.Order.Uint32(b), c.Order.Uint32(b[3*c.Word:])
	if version == 0 || version > 2 || state > 2 {
		return false
	}
	l, ok := c.Memory(c.word(b[c.Word:]), 5*c.Word)
	if !ok || c.word(l[4*c.Word:]) != 0 {
		return false
	}
	_, ok = c.Segment(c.word(l[2*c.Word:]))
	return ok
}
