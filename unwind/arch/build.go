package arch

import (
	"strconv"
	"strings"
)

func build(specs []spec) []*CPU {
	cpus := make([]*CPU, len(specs))
	for i := range specs {
		cpus[i] = specs[i].build()
	}
	return cpus
}

func (s *spec) build() *CPU {
	c := s.cpu
	c.byName = make(map[string]int16)
	c.folded = make(map[string]int16)
	for _, name := range words(s.dwarf) {
		if name == "-" {
			c.dwarf = append(c.dwarf, -1)
			continue
		}
		c.dwarf = append(c.dwarf, c.add(name, len(c.dwarf)))
	}
	for _, name := range words(s.extra) {
		c.add(name, -1)
	}
	c.mark(s.float, func(r *Reg) { r.Class = Float })
	c.mark(s.special, func(r *Reg) { r.Class = Special })
	c.mark(s.cfi, func(r *Reg) { r.CFI, r.Valid = true, true })
	c.mark(s.unvalued, func(r *Reg) { r.Valid = false })
	c.mark(s.rust, func(r *Reg) { r.Rust = true })
	c.mark(s.savedBreakpad, func(r *Reg) { r.Saved |= SavedBreakpad })
	c.mark(s.savedRust, func(r *Reg) { r.Saved |= SavedRust })
	c.mark(s.savedABI, func(r *Reg) { r.Saved |= SavedABI })
	if s.savedWindows == "" {
		s.savedWindows = s.savedABI
	}
	c.mark(s.savedWindows, func(r *Reg) { r.Saved |= SavedWindows })
	for _, a := range strings.Fields(s.aliases) {
		name, list, _ := strings.Cut(a, "=")
		c.mark(name, func(r *Reg) { r.Aliases = strings.Split(list, ",") })
	}
	c.fold()
	c.layOut(slotSpecs[c.Name])
	return &c
}

// add returns the index of the named register, which it creates if it is new: arm's f0–f7 have two DWARF numbers each.
func (c *CPU) add(name string, dwarf int) int16 {
	if i, ok := c.byName[name]; ok {
		return i
	}
	i := int16(len(c.Regs))
	c.Regs = append(c.Regs, Reg{Name: name, DWARF: dwarf, Index: int(i)})
	c.byName[name] = i
	return i
}

func (c *CPU) mark(list string, set func(*Reg)) {
	for _, name := range words(list) {
		set(&c.Regs[c.byName[name]])
	}
}

// fold enters what Explain looks up: names without prefix and in lower case, then aliases where they are free.
func (c *CPU) fold() {
	for i := range c.Regs {
		c.folded[fold(c.Regs[i].Name)] = int16(i)
	}
	for i := range c.Regs {
		for _, alias := range c.Regs[i].Aliases {
			if _, taken := c.folded[fold(alias)]; !taken {
				c.folded[fold(alias)] = int16(i)
			}
		}
	}
}

func fold(name string) string { return strings.ToLower(strings.TrimLeft(name, "$.%")) }

// words splits a list and expands "r0..r3" and "-*4".
func words(list string) []string {
	var out []string
	for _, w := range strings.Fields(list) {
		first, last, isRange := strings.Cut(w, "..")
		if count, ok := strings.CutPrefix(w, "-*"); ok {
			for n := number(count); n > 0; n-- {
				out = append(out, "-")
			}
			continue
		}
		if !isRange {
			out = append(out, w)
			continue
		}
		stem := strings.TrimRight(first, "0123456789")
		for n := number(first[len(stem):]); n <= number(last[len(stem):]); n++ {
			out = append(out, stem+strconv.Itoa(n))
		}
	}
	return out
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic("arch: bad table entry " + digits)
	}
	return n
}
