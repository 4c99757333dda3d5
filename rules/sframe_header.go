package rules

import (
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/sframe"
)

// The rules on the header and the layout of a section.
var sframeHeaderRules = []*lint.Rule{
	sfTruncated, sfMagic, sfByteOrder, sfVersion, sfObsolete, sfFlags, sfABI, sfABIMachine, sfFixedRA, sfFixedFP, sfAux,
	sfNotSorted, sfPCRel, sfEmpty, sfBounds, sfLayout, sfRowLength, sfRowCount, sfTrailing, sfConcatenated,
}

var (
	sfTruncated = sframeRule("header-truncated", lint.Error, also(lint.Warning),
		"the section is too short for a header",
		"The header has 28 bytes. Readers that look for the magic number first read beyond a shorter section. In object files assemblers "+
			"have written empty ones, which linkers stumble over.", sfRefused,
		imageBlob, func(im *sframeImage) { im.data = append(im.data, func(b []byte) []byte { return b[:20] }) })
	sfMagic = sframeRule("magic", lint.Error, nil,
		"the section does not begin with the magic number",
		"Neither 0xdee2 nor its mirror image: nobody takes the section for SFrame.", sfRefused,
		imageAMD64, func(im *sframeImage) { im.set(0, 0xad, 0xde) })
	sfByteOrder = sframeRule("byte-order", lint.Error, nil,
		"the byte order of the section is not that of the machine",
		"The magic number tells the byte order of everything behind it. If it is not the one of the ABI and the file, readers that swap "+
			"get nonsense for every count and offset, and those that do not refuse the section.", sfMemory,
		imageAMD64, func(im *sframeImage) { im.set(0, 0xde, 0xe2) })
	sfVersion = sframeRule("version", lint.Error, nil,
		"a version that does not exist",
		"Versions 1, 2 and 3 exist. No reader guesses what another one may mean.", sfRefused,
		imageAMD64, func(im *sframeImage) { im.set(2, 9) })
	sfObsolete = sframeRule("version-readers", lint.Info, nil,
		"a version that not every reader reads",
		"Version 1 has no current reader. GNU ld 2.46 and later, and the kernel's reader of version 3, leave version 2 out. glibc 2.42 and "+
			"llvm-readobj 23 do not know version 3.",
		readers(loses("reads versions 2 and 3"), loses("merges version 3 only (2.46 and later)"), loses("reads version 3 only"),
			loses("reads version 2 only"), loses("reads version 2 only")),
		imageAMD64v2, func(im *sframeImage) { im.table.Version = 1; im.table.Flags = sframe.Sorted })
	sfFlags = sframeRule("flags", lint.Error, nil,
		"a flag that the version does not define",
		"A reader that meets a flag it does not know cannot tell what it changes, and refuses the section.", sfRefused,
		imageAMD64, func(im *sframeImage) { im.table.Flags |= 0x40 })
	sfABI = sframeRule("abi", lint.Error, nil,
		"an ABI that does not exist",
		"The ABI says which registers rows speak of. 1 and 2 are AArch64, 3 is AMD64, 4 is s390x.", sfRefused,
		imageAMD64, func(im *sframeImage) { im.set(4, 9) })
	sfABIMachine = sframeRule("abi-machine", lint.Error, nil,
		"the section is for another machine than the file",
		"Rows of one ABI mean something else in another: the return address is at a fixed place on AMD64 only, and s390x scales offsets.",
		readers(shows, ldIgnores, refuses, loses("takes wrong callers"), shows),
		imageAMD64, func(im *sframeImage) { im.set(4, byte(sframe.AArch64LE)) })
	sfFixedRA = sframeRule("fixed-ra", lint.Error, nil,
		"the fixed offset of the return address is not the ABI's",
		"On AMD64 the return address is at CFA-8 and rows do not mention it; elsewhere rows do. A header that says otherwise moves every "+
			"return address, and makes readers take the offset of the frame pointer for it.", sfWalk,
		imageAMD64, func(im *sframeImage) { im.table.FixedRA = -16 })
	sfFixedFP = sframeRule("fixed-fp", lint.Warning, nil,
		"a fixed offset of the frame pointer",
		"No ABI saves the frame pointer at a fixed place, and no tool writes this. Readers use it instead of what rows say, or expect rows "+
			"without it.", sfWalk,
		imageAMD64, func(im *sframeImage) { im.table.FixedFP = -16 })
	sfAux = sframeRule("aux-header", lint.Error, nil,
		"there is an auxiliary header",
		"No ABI defines one. The kernel refuses it; others skip its length, and where the bytes are not really there, find all tables "+
			"shifted.", readers(degraded("skips as many bytes"), degraded("drops it"), refuses, loses("reads tables at the wrong place"), shows),
		imageAMD64, func(im *sframeImage) { im.table.Aux = []byte{1, 2, 3, 4} })
	sfNotSorted = sframeRule("not-sorted", lint.Error, nil,
		"the function table of a linked file is not sorted",
		"Look-up is a binary search. The kernel and libsframe refuse tables without the flag SFRAME_F_FDE_SORTED. Linkers that only "+
			"concatenate sections leave them so.",
		readers(degraded("shows it, but refuses to look up"), keeps, refuses, refuses, shows),
		imageAMD64, func(im *sframeImage) { im.table.Flags &^= sframe.Sorted })
	sfPCRel = sframeRule("pcrel-missing", lint.Error, nil,
		"start addresses are not marked as relative to their own field",
		"In version 3, and in sections of the type SHT_GNU_SFRAME, start addresses count from their own field, and the flag "+
			"SFRAME_F_FDE_FUNC_START_PCREL says so. Without it they count from the section: every function is elsewhere.",
		readers(degraded("shows wrong addresses"), ldIgnores, refuses, loses("finds no function"), degraded("shows wrong addresses")),
		imageAMD64, func(im *sframeImage) { im.set(3, byte(sframe.Sorted)) })
	sfEmpty = sframeRule("empty", lint.Warning, nil,
		"there are no functions or no rows",
		"The kernel refuses a section that counts no functions or no rows; for others it is of no use.",
		readers(shows, keeps, refuses, lint.Fine("finds nothing"), shows),
		imageBlob, func(im *sframeImage) { im.table.Functions = nil })
	sfBounds = sframeRule("bounds", lint.Error, nil,
		"a table reaches beyond the section",
		"A count, an offset or a length in the header says that there is more than the section holds. libsframe does not check this for "+
			"sections of the machine's own byte order.", sfMemory,
		imageAMD64, func(im *sframeImage) { im.set(8, 200) })
	sfLayout = sframeRule("layout", lint.Error, also(lint.Warning),
		"function table and rows overlap, or there is a gap",
		"The function table follows the header, the rows follow the table. Overlapping parts cannot both be right. Readers that ignore "+
			"the offsets, such as glibc's, misread a section with gaps.",
		readers(degraded("shows what the offsets say"), degraded("writes it without the gap"), loses("refuses an overlap"),
			loses("expects no gap: reads garbage"), shows),
		imageBlob, func(im *sframeImage) { im.set(24, 0x18) })
	sfRowLength = sframeRule("row-length", lint.Error, also(lint.Warning),
		"the rows do not fill their sub-section",
		"The header's length of the rows, and the rows themselves, say different things: one of them is wrong, or there are bytes between "+
			"rows that no function uses.", sfMemory,
		imageBlob, func(im *sframeImage) {
			im.data = append(im.data, func(b []byte) []byte { b[16] += 4; return append(b, 0, 0, 0, 0) })
		})
	sfRowCount = sframeRule("row-count", lint.Error, nil,
		"the header's number of rows is not that of the functions",
		"Readers of the other byte order check the sum and refuse the section; the others trust one of the two.",
		readers(loses("refuses sections of the other byte order"), degraded("counts anew"), degraded("does not look"),
			degraded("does not look"), shows),
		imageAMD64, func(im *sframeImage) { im.set(12, 6) })
	sfTrailing = sframeRule("trailing-data", lint.Warning, also(lint.Info),
		"there is something behind the end of the section",
		"The header tells where the section ends. Up to 7 zeros are padding, as gas for s390x adds it in object files; more is left over from "+
			"something, and lost when sections are merged.", sfOdd,
		imageBlob, func(im *sframeImage) { im.table.Tail = []byte("left over") })
	sfConcatenated = sframeRule("concatenated", lint.Error, nil,
		"several sections follow each other in one",
		"A linker that does not know SFrame puts the sections of its inputs one behind the other. Readers see the first one only: the "+
			"functions of all other inputs are not there.",
		readers(loses("sees the first one only"), loses("sees the first one only"), loses("sees the first one only, or refuses it"),
			loses("sees the first one only"), loses("sees the first one only")),
		imageBlob, func(im *sframeImage) {
			im.data = append(im.data, func(b []byte) []byte { return append(b, b...) })
		})
)

func imageAMD64v2() *sframeImage {
	im := imageAMD64()
	im.table.Version = 2
	return im
}

func init() {
	sfConcatenated.Evidence = "lld concatenates input sections: llvm issues 64449 and 156667"
	sfTruncated.Evidence = "gas 2.45 could write sections of size 0: mold issue 1646"
	// Version 2 has a finding of its own here.
	sfObsolete.GoodData = func() []byte { im := imageBlob(); return im.build() }
	sfObsolete.Bad.Data = func() []byte {
		im := imageBlob()
		im.table.Version, im.table.Flags = 1, sframe.Sorted
		return im.build()
	}
}

// header judges what the header says by itself.
func (c *sframeCheck) header() {
	h, s := &c.s.Header, c.s
	switch h.Version {
	case 1:
		c.say(c.spot(sfObsolete, 2, 1), "version 1, which current readers refuse")
	case 2:
		c.say(c.spot(sfObsolete, 2, 1), "version 2, which GNU ld 2.46 and the kernel's reader of version 3 leave out")
	}
	if h.AuxLen != 0 {
		c.say(c.spot(sfAux, 7, 1), "an auxiliary header of %d bytes, which no ABI defines", h.AuxLen)
	}
	if c.linked() && h.Flags&sframe.Sorted == 0 {
		c.say(c.spot(sfNotSorted, 3, 1), "the function table is not marked as sorted")
	}
	if h.Flags&sframe.PCRel == 0 && (h.Version == 3 || h.Version == 2 && s.ELF != nil && s.ELF.Type == sframe.SectionType) {
		c.say(c.spot(sfPCRel, 3, 1), "the flag SFRAME_F_FDE_FUNC_START_PCREL is not set")
	}
	switch {
	case h.NumFDEs == 0:
		c.say(c.spot(sfEmpty, 8, 4), "no functions")
	case h.NumFREs == 0:
		c.say(c.spot(sfEmpty, 12, 4), "no rows")
	}
	if n := len(s.Tail()); n > 0 && n < 8 && strings.Trim(string(s.Tail()), "\x00") == "" {
		c.say(lint.BinarySpot{Rule: sfTrailing, Severity: lint.Info, Section: c.name(), Offset: int64(s.End()), Length: int64(n)},
			"%d bytes of padding", n)
	}
}

// problems reports what package sframe finds wrong with the section.
func (c *sframeCheck) problems() {
	list := c.s.Check()
	for i := range list {
		c.problem(&list[i])
	}
	if len(list) >= sframe.MaxProblems {
		c.p.Note = "only the first 1000 problems of a section are reported"
	}
}

func (c *sframeCheck) problem(p *sframe.Problem) {
	rule, severity, size := c.ruleOf(p)
	if rule == nil {
		return
	}
	s := lint.BinarySpot{Rule: rule, Severity: severity, Section: c.name(), Offset: int64(p.Offset), Length: int64(size)}
	if p.FDE < 0 || p.FDE >= c.s.Len() {
		c.say(s, "%s", p.Text)
		return
	}
	d := c.s.FDE(p.FDE)
	addr := d.Start
	if p.Row >= 0 && p.Row < manyRows {
		for it := d.Rows(); it.Next(); {
			if it.Row.Index == p.Row {
				if start := it.Row.Start; start < d.Size {
					addr += uint64(start)
				}
				break
			}
		}
	}
	c.sayAt(s, addr, nil, "%s", p.Text)
}

// manyRows is how many rows are gone through to find the address of a problem.
const manyRows = 1 << 12

// ruleOf finds the rule a problem belongs to, its severity there (Off = the rule's own), and the size of what it is about.
func (c *sframeCheck) ruleOf(p *sframe.Problem) (rule *lint.Rule, severity lint.Severity, size int) {
	switch p.Kind {
	case sframe.TooShort:
		if c.object() && len(c.s.Data) == 0 {
			severity = lint.Warning
		}
		return sfTruncated, severity, len(c.s.Data)
	case sframe.BadMagic:
		return sfMagic, 0, 2
	case sframe.BadByteOrder:
		return sfByteOrder, 0, 2
	case sframe.BadVersion:
		return sfVersion, 0, 1
	case sframe.BadFlags:
		return sfFlags, 0, 1
	case sframe.BadABI:
		if c.s.Header.ABI.Known() && !(c.s.Header.ABI == sframe.S390X && c.s.Header.Version == 1) {
			return sfABIMachine, 0, 1
		}
		return sfABI, 0, 1
	case sframe.BadFixed:
		if p.Offset == 6 {
			return sfFixedRA, 0, 1
		}
		return sfFixedFP, 0, 1
	case sframe.BadLayout:
		if !strings.Contains(p.Text, "overlap") && !strings.Contains(p.Text, "behind the rows") {
			severity = lint.Warning
		}
		return sfLayout, severity, 4
	case sframe.OutOfBounds:
		if p.FDE >= 0 {
			return sfRowOffset, 0, 4
		}
		return sfBounds, 0, 4
	case sframe.BadRowCount:
		return sfRowCount, 0, 4
	case sframe.BadRowLength:
		if p.FDE >= 0 {
			severity = lint.Warning
		}
		return sfRowLength, severity, 4
	case sframe.TrailingData:
		return sfTrailing, 0, len(c.s.Tail())
	case sframe.Concatenated:
		return sfConcatenated, 0, 28
	case sframe.BadCompression:
		return sfCompressed, 0, 0
	case sframe.BadELF:
		return nil, 0, 0 // placement tells
	}
	return c.functionRuleOf(p)
}
