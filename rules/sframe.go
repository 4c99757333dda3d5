package rules

import (
	"cmp"
	"debug/elf"
	"fmt"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/dwarf"
	"github.com/symlint/symlint/unwind/sframe"
	"github.com/symlint/symlint/unwind/symfile"
)

// sframeFamily judges SFrame sections: by themselves, against the ELF file they are in, and against its call frame
// information.
var sframeFamily = &lint.BinaryAnalyzer{
	Name:  "sframe",
	Rules: slices.Concat(sframeHeaderRules, sframeELFRules, sframeFunctionRules, sframeRowRules, sframeRelocRules, sframeCrossRules),
	Run:   checkSFrame,
}

// sframeCatalogue is the family's place among those of symbol files, of which it says nothing.
var sframeCatalogue = &lint.Analyzer{
	Name:  "sframe",
	Rules: sframeFamily.Rules,
	New:   func(*lint.Pass) lint.Checker { return sframeSilent{} },
}

type sframeSilent struct{}

func (sframeSilent) Record(*symfile.Record) {}
func (sframeSilent) Merge(lint.Checker)     {}
func (sframeSilent) Finish()                {}

// BinaryAnalyzers returns the families over ELF files and SFrame sections, ready for a lint.Runner.
func BinaryAnalyzers() []*lint.BinaryAnalyzer { return []*lint.BinaryAnalyzer{sframeFamily} }

// sframeRule makes a rule. The bad example is made from the healthy one of a machine.
func sframeRule(name string, severity lint.Severity, also []lint.Severity, summary, why string, effects lint.Effects,
	good func() *sframeImage, damage func(*sframeImage)) *lint.Rule {
	return &lint.Rule{
		Name: "sframe-" + name, Family: "sframe", Severity: severity, Also: also, Summary: summary, Why: why, Effects: effects,
		Binary: true,
		Bad: lint.Example{Path: "example", Data: func() []byte {
			im := good()
			damage(im)
			return im.build()
		}},
		GoodData: func() []byte { return good().build() },
		Refs:     []string{"https://sourceware.org/binutils/docs/sframe-spec.html"},
	}
}

// Healthy examples.
func imageAMD64() *sframeImage   { return newImage(elf.EM_X86_64) }
func imageAArch64() *sframeImage { return newImage(elf.EM_AARCH64) }
func imageS390X() *sframeImage   { return newImage(elf.EM_S390) }

// imageBare has no call frame information.
func imageBare() *sframeImage {
	im := imageAMD64()
	im.cfi = false
	return im
}

// imageObject is an object file.
func imageObject() *sframeImage {
	im := imageAMD64()
	im.object = true
	im.table.Flags = sframe.PCRel
	return im
}

// imageBlob is only the section.
func imageBlob() *sframeImage {
	im := imageAMD64()
	im.raw = true
	return im
}

// also lists severities.
func also(s ...lint.Severity) []lint.Severity { return s }

// sframeCheck is one input at work.
type sframeCheck struct {
	p   *lint.BinaryPass
	f   *sframe.File    // nil for a section by itself
	elf *elfFile        // nil for a section by itself
	cfi *dwarf.File     // nil if there is none
	s   *sframe.Section // the one at work
	row dwarf.Row       // scratch
	// work bounds what hostile files may cost.
	work int
	// spans are the addresses of all functions, for the search for gaps.
	spans []addressSpan
}

type addressSpan struct{ start, end uint64 }

// checkSFrame is the family's Run.
func checkSFrame(p *lint.BinaryPass) error {
	c := &sframeCheck{p: p}
	if p.Kind == "sframe" {
		s, err := sframe.Parse(p.Data, sframe.Options{})
		if err != nil {
			problem, ok := err.(*sframe.Problem)
			if !ok {
				return err
			}
			s = &sframe.Section{Name: sframe.SectionName, Data: p.Data, Err: problem}
		}
		c.section(s)
		c.records([]*sframe.Section{s})
		return nil
	}
	f, err := sframe.Open(p.Data)
	if err != nil {
		return err
	}
	c.f, c.elf = f, readELF(p.Data, f)
	p.Module = lint.ModuleInfo{OS: "Linux", Arch: archName(f.Machine, f.BigEndian), ID: c.elf.buildID()}
	c.container()
	if len(f.Sections) == 0 {
		p.Note = "no SFrame section: nothing to check"
		return nil
	}
	if d, err := dwarf.Open(p.Data); err == nil && d.Len() > 0 {
		c.cfi = d
	}
	for _, s := range f.Sections {
		c.section(s)
	}
	c.uncovered()
	c.records(f.Sections)
	return nil
}

func archName(m elf.Machine, bigEndian bool) string {
	switch m {
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_AARCH64:
		if bigEndian {
			return "aarch64_be"
		}
		return "arm64"
	case elf.EM_S390:
		return "s390x"
	}
	return m.String()
}

// records counts what was read.
func (c *sframeCheck) records(sections []*sframe.Section) {
	functions, rows := 0, 0
	for _, s := range sections {
		if s.Err == nil {
			functions += s.Len()
			rows += int(s.Header.NumFREs)
		}
	}
	c.p.Records = []lint.RecordCount{{Kind: "SFrame FDE", Count: functions}, {Kind: "SFrame FRE", Count: rows}}
}

// section judges one section.
func (c *sframeCheck) section(s *sframe.Section) {
	c.s = s
	c.problems()
	c.placement()
	if s.Err != nil {
		return
	}
	c.header()
	c.relocations()
	c.functions()
}

// object tells that the file is an object file.
func (c *sframeCheck) object() bool { return c.f != nil && c.f.Type == elf.ET_REL }

// linked tells that the file is the output of a final link.
func (c *sframeCheck) linked() bool {
	return c.f != nil && (c.f.Type == elf.ET_EXEC || c.f.Type == elf.ET_DYN)
}

// name is that of the section at work, which may be known by its type only.
func (c *sframeCheck) name() string { return cmp.Or(c.s.Name, sframe.SectionName) }

// spot is a place in the section at work.
func (c *sframeCheck) spot(r *lint.Rule, at, n int) lint.BinarySpot {
	return lint.BinarySpot{Rule: r, Section: c.name(), Offset: int64(at), Length: int64(n)}
}

// say reports something about the section as a whole.
func (c *sframeCheck) say(s lint.BinarySpot, format string, args ...any) {
	c.p.Report(s, func(f *lint.Finding) {
		f.Subject = s.Section
		f.Message = fmt.Sprintf(format, args...)
	})
}

// sayAt reports something about code at an address.
func (c *sframeCheck) sayAt(s lint.BinarySpot, addr uint64, more func(*lint.Finding), format string, args ...any) {
	c.p.Report(s, func(f *lint.Finding) {
		c.locate(f, addr)
		f.Message = fmt.Sprintf(format, args...) + ", " + c.where(addr)
		if f.Function == "" {
			f.Subject = c.where(addr)
		}
		if more != nil {
			more(f)
		}
	})
}

// locate fills in address and function. In object files addresses count from their section.
func (c *sframeCheck) locate(f *lint.Finding, addr uint64) {
	f.HasAddress, f.Address = true, addr
	if c.elf == nil {
		return
	}
	f.Function = c.elf.name(addr)
	if c.object() {
		if _, start := c.elf.sectionAt(addr); start <= addr {
			f.Address = addr - start
		}
	}
}

// where names the code at an address: main+0x4 (0x401134).
func (c *sframeCheck) where(addr uint64) string {
	if c.elf == nil {
		return fmt.Sprintf("at 0x%x", addr)
	}
	place := fmt.Sprintf("0x%x", addr)
	if c.object() {
		if s, start := c.elf.sectionAt(addr); s != nil {
			place = fmt.Sprintf("%s+0x%x", s.name, addr-start)
		}
	}
	if s, ok := c.elf.function(addr); ok {
		name := c.elf.nameOf(s)
		if addr > s.addr {
			name = fmt.Sprintf("%s+0x%x", name, addr-s.addr)
		}
		return fmt.Sprintf("in %s (%s)", name, place)
	}
	if s, _ := c.elf.sectionAt(addr); s != nil && !c.object() && s.name != ".text" {
		return fmt.Sprintf("at %s (%s)", place, s.name)
	}
	return "at " + place
}
