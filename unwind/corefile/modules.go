package corefile

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/symlint/symlint/unwind/arch"
)

// Source is where a module was learnt of.
type Source uint8

const (
	FromFiles   Source = iota // the NT_FILE note
	FromMaps                  // Options.Maps
	FromLinkMap               // the dynamic linker's list in memory
	FromAuxv                  // the auxiliary vector: the vDSO, the program, the dynamic linker
)

// String names the source.
func (s Source) String() string {
	return [...]string{"NT_FILE", "maps", "link map", "auxiliary vector"}[s&3]
}

// Module is a program, shared library or vDSO in the process.
type Module struct {
	// Base is where the file's first page is mapped, Size the extent of its mappings including gaps. Zero-initialised
	// memory behind the file's data does not count.
	Base, Size uint64
	// Path is as the kernel or the dynamic linker gives it. The vDSO's is linux-gate.so on x86 and elsewhere its SONAME.
	Path   string
	SONAME string // "" where it cannot be read
	// BuildID is nil where neither memory nor a binary tells it.
	BuildID []byte
	// Bias is what is added to the file's virtual addresses, modulo 2^64. Where BiasKnown is false it was guessed: the
	// file is taken to begin at address 0.
	Bias      uint64
	BiasKnown bool
	// Phdrs are the file's program headers, from memory or the binary; nil if unknown.
	Phdrs []Phdr
	// EHFrameHdr is where .eh_frame_hdr lies in the process; zero if unknown. Its bytes need not be readable.
	EHFrameHdr Range
	// Mappings are the file's mappings; nil for modules of the link map and the vDSO.
	Mappings []Mapping
	// Binary is the ELF file that was accepted for the module, or nil.
	Binary []byte
	Source Source
	Main   bool // the program itself
	VDSO   bool

	dynamic  uint64 // l_ld of the link map, 0 if unknown
	deleted  bool
	fromCore []byte // the build id in the core's memory, nil if unknown
	loads    []Phdr // the PT_LOADs in the core's memory, nil if unknown
}

// Range is a range of memory.
type Range struct{ Addr, Size uint64 }

// Name is the last element of Path.
func (m *Module) Name() string {
	if m.Path == "" {
		return ""
	}
	return path.Base(m.Path)
}

// DebugID is the identifier symbol files have for the module, "" if unknown.
func (m *Module) DebugID() string { return DebugID(m.BuildID) }

// Contains reports whether an address lies in the module.
func (m *Module) Contains(addr uint64) bool { return addr-m.Base < m.Size }

// Options is what Modules may use beyond the core.
type Options struct {
	// Maps stand in for a missing NT_FILE note.
	Maps []Mapping
	// Binary returns the ELF file for a module's path as the core names it: absolute, or as the program was started
	// ("./a.out"). No data, with or without an error that is fs.ErrNotExist, means that there is none. May be nil.
	Binary func(path string) ([]byte, error)
}

// Modules lists the modules of the process, sorted by Base. They come from NT_FILE; without one from opts.Maps, or else
// from the dynamic linker's link map; in any case with the vDSO and the program, as far as the auxiliary vector tells.
// Binaries that match their module are added as by AddBinary; those that do not are among the Problems.
func (c *Core) Modules(opts Options) []*Module {
	s := &search{Core: c, opts: opts}
	switch {
	case len(c.Files) > 0:
		s.fromMappings(c.Files, FromFiles)
	case len(opts.Maps) > 0:
		s.fromMappings(opts.Maps, FromMaps)
	}
	s.vdso()
	s.program()
	s.linked()
	s.linker()
	for _, m := range s.modules {
		s.identify(m)
	}
	slices.SortStableFunc(s.modules, func(a, b *Module) int { return cmp.Compare(a.Base, b.Base) })
	return s.modules
}

// search is one call of Modules.
type search struct {
	*Core
	opts       Options
	modules    []*Module
	identified map[*Module]bool
	main       *Module
	interp     string // PT_INTERP of the program
}

func (s *search) containing(addr uint64) *Module {
	for _, m := range s.modules {
		if m.Contains(addr) {
			return m
		}
	}
	return nil
}

// fromMappings groups the mappings of each file and keeps those that are modules.
func (s *search) fromMappings(list []Mapping, source Source) {
	var groups []*group
	latest := make(map[string]*group)
	var before *group
	for _, f := range list {
		if f.Path == "" || f.Path[0] == '[' {
			continue
		}
		g := latest[f.Path]
		if g == nil || !g.takes(f, g == before) {
			g = &group{path: f.Path}
			groups = append(groups, g)
			latest[f.Path] = g
		}
		g.add(s.Core, f)
		before = g
	}
	for _, g := range groups {
		if m := s.module(g); m != nil {
			m.Source = source
			s.modules = append(s.modules, m)
		}
	}
}

// group is the mappings of one file, from one loading of it.
type group struct {
	path      string
	mappings  []Mapping
	image     *image // from memory; nil where its header is not in the core
	end       uint64 // of what the image's program headers span, 0 if unknown
	notELF    bool
	writable  bool
	exec      bool
	unmatched bool // some mapping has no segment in the core, so its rights are unknown
}

// takes tells whether the next mapping of the same file belongs to the same loading of it.
func (g *group) takes(f Mapping, consecutive bool) bool {
	if g.end != 0 {
		return f.Start < g.end
	}
	restarts := f.Offset < g.mappings[0].Offset || f.Offset == g.mappings[0].Offset && g.writable
	return consecutive && !restarts
}

func (g *group) add(c *Core, f Mapping) {
	flags := f.Flags
	if flags == 0 {
		if s, ok := c.Segment(f.Start); ok {
			flags = s.Flags
		} else {
			g.unmatched = true
		}
	}
	g.writable = g.writable || flags&elf.PF_W != 0
	g.exec = g.exec || flags&elf.PF_X != 0
	g.mappings = append(g.mappings, f)
	if f.Offset != 0 || g.image != nil {
		return
	}
	im, readable := c.headersAt(f.Start)
	if im == nil {
		g.notELF = g.notELF || readable
		return
	}
	g.image, g.notELF = im, false
	low, high := span(im.phdrs, c.pageSize)
	if first := g.mappings[0].Start; high-low <= math.MaxUint64-first {
		g.end = first + high - low
	}
}

// module makes a module of a group, or nil for a file that is none: data, or a library mapped only to be looked at.
func (s *search) module(g *group) *Module {
	entry, hasEntry := s.AuxValue(AuxEntry)
	first, last := g.mappings[0], g.mappings[len(g.mappings)-1]
	m := &Module{Base: first.Start, Path: g.path, Mappings: g.mappings, deleted: first.Deleted}
	for _, f := range g.mappings {
		m.Size = max(m.Size, f.End-m.Base)
	}
	m.Main = hasEntry && entry >= first.Start && entry < last.End
	switch {
	case m.Main:
	case g.image == nil && g.notELF:
		return nil
	case !g.exec && !g.unmatched && !(g.image != nil && len(g.mappings) > 1):
		return nil
	}
	if m.Main && s.main == nil {
		s.main = m
	}
	s.adopt(m, g.image)
	return m
}

// vdso adds the kernel's own library.
func (s *search) vdso() {
	base, ok := s.AuxValue(AuxSysinfoEHdr)
	if !ok || base == 0 {
		return
	}
	m := &Module{Base: base, Source: FromAuxv, VDSO: true}
	if seg, ok := s.Segment(base); ok {
		m.Size = seg.Addr + seg.Size - base
	}
	s.adopt(m, s.imageAt(base))
	if m.Size == 0 {
		s.problem(0, "the vDSO at %#x is not in the core", base)
		return
	}
	switch {
	case s.CPU == x86:
		m.Path = "linux-gate.so"
	case m.SONAME != "":
		m.Path = m.SONAME
	default:
		m.Path = "linux-vdso.so.1"
	}
	s.modules = append(s.modules, m)
}

var x86, _ = arch.Lookup("x86")

// program finds the main module, or makes one from the auxiliary vector, and identifies it: the link map is found
// through its headers.
func (s *search) program() {
	headers, ok := s.AuxValue(AuxPhdr)
	if !ok {
		return
	}
	if s.main == nil {
		if s.main = s.containing(headers); s.main == nil {
			base := headers &^ (s.pageSize - 1)
			if _, ok := s.Segment(base); !ok {
				s.problem(0, "the program's headers at %#x (AT_PHDR) lie in no segment", headers)
				return
			}
			s.main = &Module{Base: base, Path: s.Executable(), Source: FromAuxv}
			s.modules = append(s.modules, s.main)
		}
		s.main.Main = true
	}
	if s.main.Phdrs == nil {
		s.adopt(s.main, s.imageAt(s.main.Base))
	}
	s.identify(s.main)
	if p, ok := findPhdr(s.main.Phdrs, elf.PT_INTERP); ok {
		s.interp, _ = s.CString(p.Vaddr + s.main.Bias)
	}
}

// linked adds what the dynamic linker's list tells.
func (s *search) linked() {
	haveMappings := len(s.modules) > 0 && slices.ContainsFunc(s.modules, func(m *Module) bool { return m.Mappings != nil })
	for _, l := range s.linkMap(s.main) {
		m := s.linkedModule(l)
		if m == nil {
			if haveMappings { // which are complete: this is a leftover or a lie
				s.problem(0, "link map: %.200q at %#x is in no mapping", l.name, l.bias)
				continue
			}
			if m = s.newLinked(l); m == nil {
				continue
			}
			s.modules = append(s.modules, m)
		}
		m.dynamic = l.dynamic
		if !m.BiasKnown {
			m.Bias, m.BiasKnown = l.bias, true
		} else if m.Bias != l.bias && !m.VDSO {
			s.problem(0, "link map: %.200q has bias %#x, its headers say %#x", m.Path, l.bias, m.Bias)
		}
		if m.Path == "" {
			m.Path = l.name
		}
	}
}

// linkedModule finds the module of a link map entry among those known.
func (s *search) linkedModule(l link) *Module {
	if m := s.containing(l.dynamic); m != nil {
		return m
	}
	// A program made from the auxiliary vector alone has no size yet.
	if m := s.main; m != nil && m.Size == 0 && l.first {
		return m
	}
	return nil
}

// maxModuleSegments bounds the segments that a module without headers is taken to have.
const maxModuleSegments = 16

// newLinked makes a module of a link map entry; nil where the core has no memory for it.
func (s *search) newLinked(l link) *Module {
	m := &Module{Base: l.bias, Path: l.name, Source: FromLinkMap, Bias: l.bias, BiasKnown: true, dynamic: l.dynamic}
	seg, ok := s.Segment(l.dynamic)
	if !ok {
		s.problem(0, "link map: %.200q at %#x lies in no segment", l.name, l.bias)
		return nil
	}
	if im := s.imageAt(l.bias); im != nil {
		s.adopt(m, im)
		return m
	}
	if at, ok := s.Segment(l.bias); !ok || at.Addr != l.bias || l.bias > l.dynamic {
		// Linked for an address other than 0: go down to where its memory begins.
		m.Base = seg.Addr
		for range maxModuleSegments {
			below, ok := s.Segment(m.Base - 1)
			if m.Base == 0 || !ok || s.containing(below.Addr) != nil {
				break
			}
			m.Base = below.Addr
		}
	}
	return m
}

// linker adds the dynamic linker where nothing else told of it.
func (s *search) linker() {
	base, ok := s.AuxValue(AuxBase)
	if !ok || base == 0 || s.containing(base) != nil {
		return
	}
	for _, m := range s.modules {
		if m.Base == base {
			return
		}
	}
	if _, ok := s.Segment(base); !ok {
		return
	}
	m := &Module{Base: base, Path: s.interp, Source: FromAuxv}
	s.adopt(m, s.imageAt(base))
	if m.Path == "" {
		m.Path = m.SONAME
	}
	if m.Path != "" {
		s.modules = append(s.modules, m)
	}
}

// identify completes a module from its binary, and guesses its size where no headers tell it.
func (s *search) identify(m *Module) {
	if s.identified[m] {
		return
	}
	if s.identified == nil {
		s.identified = make(map[*Module]bool)
	}
	s.identified[m] = true
	if s.opts.Binary != nil && m.Path != "" && !m.VDSO {
		elfFile, err := s.opts.Binary(m.Path)
		if err == nil && len(elfFile) > 0 {
			err = s.AddBinary(m, elfFile)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.problem(0, "binary for %.200q: %v", m.Path, err)
		}
	}
	if m.Size == 0 {
		m.Size = s.guessSize(m)
	}
	if !m.BiasKnown && m.Phdrs == nil {
		m.Bias = m.Base
	}
}

// guessSize is for modules without mappings or headers: the contiguous segments from Base up to the first writable one
// that is not before the dynamic section, but not into another module.
func (s *search) guessSize(m *Module) uint64 {
	i, ok := slices.BinarySearchFunc(s.Segments, m.Base, func(g Segment, a uint64) int { return cmp.Compare(g.Addr, a) })
	if !ok && i > 0 {
		i--
	}
	end := m.Base
	for last := min(len(s.Segments), i+maxModuleSegments); i < last; i++ {
		seg := &s.Segments[i]
		begins := func(o *Module) bool { return o.Base == seg.Addr }
		if seg.Addr > end || seg.Addr > m.Base && slices.ContainsFunc(s.modules, begins) {
			break
		}
		end = max(end, seg.Addr+seg.Size)
		if seg.Flags&elf.PF_W != 0 && m.dynamic < end {
			break
		}
	}
	return end - m.Base
}

// adopt takes over what memory tells of a module's file. im may be nil.
func (s *search) adopt(m *Module, im *image) {
	if im == nil {
		return
	}
	c := s.Core
	low, high := span(im.phdrs, c.pageSize)
	m.Bias, m.BiasKnown = m.Base-low, true
	if len(m.Mappings) == 0 && !(m.VDSO && m.Size > 0) {
		m.Size = high - low
	}
	im.read(c, func(off, vaddr, n uint64) []byte { return c.imageBytes(m, off, vaddr, n) })
	m.Phdrs, m.loads, m.SONAME = im.phdrs, im.loads, im.soname
	m.BuildID, m.fromCore = im.buildID, im.buildID
	m.locate()
}

// locate sets what follows from Phdrs and Bias.
func (m *Module) locate() {
	if p, ok := findPhdr(m.Phdrs, elf.PT_GNU_EH_FRAME); ok {
		m.EHFrameHdr = Range{p.Vaddr + m.Bias, p.Memsz}
	}
}

// imageBytes reads a module's image from the core's own memory: at the file offset wherever a mapping shows it, or at
// the virtual address.
func (c *Core) imageBytes(m *Module, off, vaddr, n uint64) []byte {
	for _, f := range m.Mappings {
		if off >= f.Offset && off-f.Offset < f.End-f.Start {
			if b := find(c.memory, f.Start+off-f.Offset); len(b) > 0 {
				return b[:min(n, uint64(len(b)))]
			}
		}
	}
	// The dynamic linker relocates the addresses in its dynamic sections, the kernel those of the vDSO does not.
	addr := vaddr
	if off != math.MaxUint64 || !m.Contains(vaddr) {
		addr += m.Bias
	}
	b := find(c.memory, addr)
	return b[:min(n, uint64(len(b)))]
}

// mismatch is why a binary is not a module's.
func mismatch(format string, args ...any) error {
	return fmt.Errorf("not the file that ran: "+format, args...)
}

// Deleted reports whether the file had been deleted or replaced while the process ran: a binary of that name may be
// another one.
func (m *Module) Deleted() bool { return m.deleted }

// String is for messages: path and range.
func (m *Module) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %#x-%#x", m.Path, m.Base, m.Base+m.Size))
}
