package rules

import (
	"debug/elf"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/sframe"
)

// The rules on the ELF file around the section.
var sframeELFRules = []*lint.Rule{
	sfSectionType, sfNotAlloc, sfMisaligned, sfNoBits, sfPastEOF, sfCompressed, sfMultiple,
	sfSegmentMissing, sfSegmentAddress, sfSegmentSize, sfSegmentWritable, sfHeaders,
}

var (
	sfSectionType = sframeRule("section-type", lint.Warning, nil,
		"the type of the section does not go with its content",
		"Since binutils 2.45 SFrame has a section type of its own, SHT_GNU_SFRAME. GNU ld 2.46 and later do not merge sections of another "+
			"type, and a section of that type with the contents of before (starts relative to the section) cannot be told from damage.",
		readers(shows, ldIgnores, lint.Fine("looks for the segment only"), lint.Fine("looks for the segment only"), shows),
		imageAMD64, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.sframe.typ = uint32(elf.SHT_PROGBITS) })
		})
	sfNotAlloc = sframeRule("section-not-loaded", lint.Error, nil,
		"the section is not loaded into memory",
		"Without SHF_ALLOC the section is in the file, but not in the process: no unwinder of the running program sees it.", sfHidden,
		imageAMD64, func(im *sframeImage) { im.change(func(h *imageHeaders) { h.sframe.flags = 0 }) })
	sfMisaligned = sframeRule("section-misaligned", lint.Warning, nil,
		"the section is not aligned",
		"Header and function table have fields of 4 bytes, in version 3 of 8. Readers on machines that mind load them as they lie.",
		readers(shows, keeps, lint.Fine("copies field by field"), degraded("loads unaligned fields"), shows),
		imageAMD64, func(im *sframeImage) {
			im.table.Addr += 2
			im.change(func(h *imageHeaders) { h.sframe.addr += 2; h.segment.vaddr += 2 })
		})
	sfNoBits = sframeRule("section-nobits", lint.Error, nil,
		"the section has no content in the file",
		"A section of the type SHT_NOBITS, as in files that only hold debugging information. Whatever the program unwinds with is in another "+
			"file, or nowhere.", sfHidden,
		imageAMD64, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.sframe.typ = uint32(elf.SHT_NOBITS) })
		})
	sfPastEOF = sframeRule("section-past-eof", lint.Error, nil,
		"the file ends before the section does",
		"The file was cut, or the section header is wrong.", sfMemory,
		imageAMD64, func(im *sframeImage) { im.change(func(h *imageHeaders) { h.sframe.size += 1 << 20 }) })
	sfCompressed = sframeRule("section-compressed", lint.Error, nil,
		"the section is compressed",
		"Compression is for sections that are not loaded. Nobody unpacks this one.", sfHidden,
		imageAMD64, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.sframe.flags |= uint64(elf.SHF_COMPRESSED) })
		})
	sfMultiple = sframeRule("multiple-sections", lint.Error, nil,
		"a linked file has several sections with SFrame",
		"There is one segment, and readers take one section: functions of the others cannot be unwound.",
		readers(degraded("shows the one that is asked for"), keeps, loses("uses the one the segment points to"),
			loses("uses the one the segment points to"), shows),
		imageAMD64, func(im *sframeImage) { im.change(func(h *imageHeaders) { h.twice = true }) })
	sfSegmentMissing = sframeRule("segment-missing", lint.Error, nil,
		"there is no segment PT_GNU_SFRAME",
		"Section headers are not loaded: at run time SFrame is found by its program header only. lld does not write one.", sfHidden,
		imageAMD64, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.segment.typ = uint32(elf.PT_NULL) })
		})
	sfSegmentAddress = sframeRule("segment-address", lint.Error, nil,
		"the segment PT_GNU_SFRAME is not where the section is",
		"At run time the segment tells the address. If it is not the section's, or what the section holds was made for another address, "+
			"readers find no header, or every function elsewhere.", sfHidden,
		imageAMD64, func(im *sframeImage) { im.change(func(h *imageHeaders) { h.segment.vaddr += 0x40 }) })
	sfSegmentSize = sframeRule("segment-size", lint.Info, also(lint.Error),
		"the segment PT_GNU_SFRAME has another size than the section",
		"A smaller one cuts the table off. GNU ld makes it larger whenever it merges inputs, since the size is settled before they are "+
			"merged: bytes of whatever follows then seem to belong to the section.",
		readers(shows, keeps, degraded("takes more for the section"), degraded("takes more for the section"), shows),
		imageAMD64, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.segment.size += 28; h.segment.mem += 28 })
		})
	sfSegmentWritable = sframeRule("segment-writable", lint.Warning, nil,
		"the segment PT_GNU_SFRAME is writable or executable",
		"Unwind tables are constant. A program that can change them can be led anywhere by a fault in it.", sfOdd,
		imageAMD64, func(im *sframeImage) {
			im.change(func(h *imageHeaders) { h.segment.flags = uint32(elf.PF_R | elf.PF_W) })
		})
	sfHeaders = sframeRule("elf-headers", lint.Warning, nil,
		"headers of the ELF file are damaged",
		"What they should say of SFrame cannot be told.", sfHidden,
		imageAMD64, func(im *sframeImage) { im.change(func(h *imageHeaders) { h.damaged = true }) })
)

func init() {
	sfSegmentSize.Evidence = "GNU ld 2.44 to 2.47: every program that is linked from more than one object"
	sfSegmentMissing.Evidence = "shared objects of lld 23"
}

// container judges what belongs to the file as a whole.
func (c *sframeCheck) container() {
	for _, p := range c.f.Problems() {
		if p.Kind == sframe.BadRelocation {
			c.p.Report(lint.BinarySpot{Rule: sfReloc, Section: sframe.SectionName}, func(f *lint.Finding) {
				f.Message, f.Subject = p.Text, "relocations"
			})
			continue
		}
		c.p.Report(lint.BinarySpot{Rule: sfHeaders, Section: "ELF headers", Offset: int64(p.Offset)}, func(f *lint.Finding) {
			f.Message, f.Subject = p.Text, "headers"
		})
	}
	if n := len(c.f.Sections); c.linked() && n > 1 {
		c.s = c.f.Sections[1]
		c.say(c.spot(sfMultiple, 0, 0), "%d sections with SFrame in a linked file", n)
	}
}

// placement judges section and program header.
func (c *sframeCheck) placement() {
	s := c.s
	e := s.ELF
	if e == nil {
		return
	}
	if e.Type == elf.SHT_NOBITS {
		c.say(c.spot(sfNoBits, 0, 0), "the section is of type SHT_NOBITS: its content is not in the file")
	}
	if e.Truncated {
		c.say(c.spot(sfPastEOF, len(s.Data), 0), "the section header says %d bytes, of which %d are in the file", e.Size, len(s.Data))
	}
	if e.Compressed && s.Err == nil {
		c.say(c.spot(sfCompressed, 0, 0), "the section is compressed")
	}
	if e.Flags&elf.SHF_ALLOC == 0 {
		c.say(c.spot(sfNotAlloc, 0, 0), "the section lacks SHF_ALLOC")
	}
	if s.Err == nil {
		c.sectionType()
		align := uint64(4)
		if s.Header.Version == 3 {
			align = 8
		}
		if c.linked() && e.Addr%align != 0 {
			c.say(c.spot(sfMisaligned, 0, 0), "the section is at 0x%x, which is not a multiple of %d", e.Addr, align)
		}
	}
	if c.linked() && e.Flags&elf.SHF_ALLOC != 0 {
		c.segment()
	}
}

func (c *sframeCheck) sectionType() {
	e, h := c.s.ELF, &c.s.Header
	modern := h.Version == 3 || h.Flags&sframe.PCRel != 0
	switch {
	case e.Type == elf.SHT_NOBITS:
	case modern && e.Type != sframe.SectionType:
		c.say(c.spot(sfSectionType, 0, 0), "the section is of type %s, not SHT_GNU_SFRAME", e.Type)
	case h.Version == 1 && e.Type == sframe.SectionType:
		c.say(c.spot(sfSectionType, 0, 0), "the section is of type SHT_GNU_SFRAME, but its version is older than that")
	}
}

func (c *sframeCheck) segment() {
	e := c.s.ELF
	if len(c.f.Segments) == 0 {
		c.say(c.spot(sfSegmentMissing, 0, 0), "there is no program header PT_GNU_SFRAME")
		return
	}
	p := c.f.Segments[0]
	for _, q := range c.f.Segments {
		if q.Vaddr == e.Addr {
			p = q
		}
	}
	if p.Vaddr != e.Addr || p.Offset != e.Offset {
		c.say(c.spot(sfSegmentAddress, 0, 0), "the segment is at 0x%x (file offset 0x%x), the section at 0x%x (file offset 0x%x)",
			p.Vaddr, p.Offset, e.Addr, e.Offset)
		return
	}
	size := c.spot(sfSegmentSize, 0, 0)
	switch {
	case p.FileSize < e.Size || p.MemSize < e.Size:
		size.Severity = lint.Error
		c.say(size, "the segment has 0x%x bytes (0x%x in memory), the section 0x%x: its end is cut off", p.FileSize, p.MemSize, e.Size)
	case p.FileSize > e.Size || p.MemSize > e.Size:
		c.say(size, "the segment has 0x%x bytes, the section 0x%x", max(p.FileSize, p.MemSize), e.Size)
	}
	if p.Flags&(elf.PF_W|elf.PF_X) != 0 {
		c.say(c.spot(sfSegmentWritable, 0, 0), "the segment is marked %s", p.Flags)
	}
}
