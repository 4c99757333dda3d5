package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/sframe"
)

// The rules on the function table.
var sframeFunctionRules = []*lint.Rule{
	sfOrder, sfDuplicate, sfOverlap, sfSizeZero, sfOutsideText, sfNotAtSymbol, sfPastSection, sfRowOffset, sfShared, sfNoRows,
	sfStartWidth, sfStartWide, sfReservedBits, sfFDEType, sfPauthKey, sfRepeatZero, sfRepeat, sfRepeatUnused, sfFlexAArch64,
}

var (
	sfOrder = sframeRule("fde-order", lint.Error, nil,
		"the function table is not sorted, as it claims to be",
		"Look-up is a binary search: functions on the wrong side of the disorder are not found. The kernel drops the section.", sfSearch,
		imageAMD64, func(im *sframeImage) { slices.Reverse(im.table.Functions) })
	sfDuplicate = sframeRule("fde-duplicate", lint.Error, nil,
		"two functions start at the same address",
		"Only one of them is found, and which one is a matter of the search. The kernel wants starts to ascend strictly.", sfSearch,
		imageBare, func(im *sframeImage) { im.table.Functions[1].Start = im.work().Start })
	sfOverlap = sframeRule("fde-overlap", lint.Error, nil,
		"a function reaches into the next one",
		"Addresses in both are looked up in the later one. One of the two sizes or starts is wrong.",
		readers(shows, keeps, loses("uses rows of the wrong function"), loses("uses rows of the wrong function"), shows),
		imageBare, func(im *sframeImage) { im.work().Size += 8 })
	sfSizeZero = sframeRule("fde-size", lint.Warning, also(lint.Error),
		"a function has no size, or one beyond the address space",
		"No address is in a function without size: its rows are lost. Assemblers write such entries for functions whose end they do not see.",
		sfGap, imageBare, func(im *sframeImage) { im.work().Size = 0 })
	sfOutsideText = sframeRule("fde-outside-text", lint.Error, nil,
		"a function starts where no code is",
		"The start address does not lie in an executable section. The address is wrong, or the section was moved without it. The kernel "+
			"refuses to use the entry.",
		readers(shows, keeps, loses("refuses the entry"), loses("does not find the function"), shows),
		imageBare, func(im *sframeImage) { im.table.Functions[1].Start = imageSFrame })
	sfNotAtSymbol = sframeRule("fde-symbol", lint.Warning, nil,
		"an entry does not agree with the function's symbol",
		"It starts inside a function, or has another size. Rows count from the entry's start: all of them are shifted if that is wrong. "+
			"Where call frame information confirms the entry, nothing is said.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Start++; im.work().Size-- })
	sfPastSection = sframeRule("fde-past-section", lint.Warning, nil,
		"a function goes beyond the section of code it starts in",
		"The size is too large, or the start is wrong.", sfOdd,
		imageBare, func(im *sframeImage) { im.table.Functions[1].Size += 0x100 })
	sfRowOffset = sframeRule("fde-rows", lint.Error, nil,
		"the rows of a function are beyond the section",
		"The entry's offset points outside of the rows: the function cannot be unwound, and readers that do not check read other memory.",
		sfMemory, imageAMD64, func(im *sframeImage) { im.set(28+12, 0xff, 0xff) })
	sfShared = sframeRule("rows-shared", lint.Warning, nil,
		"functions share rows",
		"Every function has rows of its own; no tool writes tables that share them. One of the offsets is wrong.", sfWalk,
		imageBlob, func(im *sframeImage) {
			im.data = append(im.data, func(b []byte) []byte { copy(b[28+16+12:28+16+16], b[28+12:28+16]); return b })
		})
	sfNoRows = sframeRule("fde-no-rows", lint.Warning, also(lint.Info),
		"a function has no rows",
		"In version 3 this marks an outermost frame; before, and in flexible functions, nothing can be unwound. For signal frames gas leaves the "+
			"rows out where it cannot describe them: readers need another way past these.", sfGap,
		imageAMD64, func(im *sframeImage) { im.work().Rows = nil })
	sfStartWidth = sframeRule("row-type", lint.Error, nil,
		"the width of the rows' starts is not defined",
		"The row type says how many bytes the start of a row has: 0, 1 and 2 stand for 1, 2 and 4 bytes. No row can be read with another one.",
		sfRows, imageBlob, func(im *sframeImage) {
			im.data = append(im.data, func(b []byte) []byte { b[28+32+2] = 3; return b })
		})
	sfStartWide = sframeRule("row-type-width", lint.Info, also(lint.Warning),
		"the starts of rows are wider than the function needs, or too narrow",
		"The row type follows from the size of the function. Wider starts cost space only: linkers' tables for PLTs and those of clang "+
			"have them. With narrower ones the end of the function cannot have rows of its own.", sfOdd,
		imageBlob, func(im *sframeImage) { im.work().Info = 1 })
	sfReservedBits = sframeRule("reserved-bits", lint.Warning, nil,
		"bits are set that must be zero",
		"They may mean something in a later version; here they are damage or the mark of a writer that took one version for another.",
		sfReserved, imageBlob, func(im *sframeImage) { im.work().Info |= 0x40 })
	sfFDEType = sframeRule("fde-type", lint.Error, nil,
		"the type of a function's rows is not defined",
		"Version 3 has rows of the default and of the flexible type. Words of other types have no meaning.",
		readers(shows, keeps, loses("drops the section for the whole process once it meets the function"), loses("does not read version 3"),
			loses("does not read version 3")),
		imageBlob, func(im *sframeImage) { im.work().Info2 = 2 })
	sfPauthKey = sframeRule("pauth-key", lint.Warning, nil,
		"a key for signed return addresses on a machine that has none",
		"Only AArch64 signs return addresses. The bit is damage, or the section is for another machine.", sfReserved,
		imageBlob, func(im *sframeImage) { im.work().Info |= 0x20 })
	sfRepeatZero = sframeRule("repeat-zero", lint.Error, nil,
		"a repeated block has no size",
		"Rows of such functions are looked up by the remainder of a division by the size of the block. libsframe, glibc and the kernel divide "+
			"without a look at it.",
		readers(crashes("divides by zero when it looks an address up"), keeps, crashes("divides by zero"), crashes("divides by zero"), shows),
		imageBlob, func(im *sframeImage) { im.work().Info |= 0x10 })
	sfRepeat = sframeRule("repeat-mismatch", lint.Warning, nil,
		"a repeated block does not fit its function",
		"The function's size should be a multiple of the block's, and every row start inside of the block. Where the section tells the "+
			"size of a PLT entry, it should be the block's.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Info |= 0x10; im.work().RepSize = 5 })
	sfRepeatUnused = sframeRule("repeat-unused", lint.Info, nil,
		"a size of repeated blocks in a function without",
		"Readers look at it only if the function is marked as repeated. GNU ld 2.44 writes it for the first entry of a PLT.", sfOdd,
		imageBlob, func(im *sframeImage) { im.work().RepSize = 16 })
	sfFlexAArch64 = sframeRule("flex-aarch64", lint.Warning, nil,
		"flexible rows on AArch64",
		"The type is defined for AMD64 and s390x. Readers for AArch64 take the words for offsets.",
		readers(shows, keeps, loses("drops the section"), loses("does not read version 3"), loses("does not read version 3")),
		imageAArch64Bare, func(im *sframeImage) {
			im.work().Info2 = 1
			im.work().Rows = []sframe.TableRow{{Words: []int32{31<<3 | 1, 16}}}
		})
)

func imageAArch64Bare() *sframeImage {
	im := imageAArch64()
	im.cfi = false
	return im
}

func init() {
	sfFlexAArch64.Evidence = "gas 2.47 for an expression as the rule of the frame pointer"
	sfSizeZero.Evidence = "gas 2.44 to 2.47 for empty functions"
}

// functionRuleOf is ruleOf for problems of functions and rows.
func (c *sframeCheck) functionRuleOf(p *sframe.Problem) (rule *lint.Rule, severity lint.Severity, size int) {
	switch p.Kind {
	case sframe.FDEOrder:
		return sfOrder, 0, 4
	case sframe.FDEOverlap:
		if d := c.s.FDE(p.FDE); p.FDE > 0 {
			if last := c.s.FDE(p.FDE - 1); last.Start == d.Start {
				return sfDuplicate, 0, 4
			}
		}
		return sfOverlap, 0, 4
	case sframe.FDESize:
		if !strings.HasPrefix(p.Text, "size 0") || strings.HasPrefix(p.Text, "size 0x") {
			severity = lint.Error
		}
		return sfSizeZero, severity, 4
	case sframe.FDEReserved:
		if strings.HasPrefix(p.Text, "a key") {
			return sfPauthKey, 0, 1
		}
		return sfReservedBits, 0, 1
	case sframe.FDEType:
		return sfFDEType, 0, 1
	case sframe.RowType:
		return sfStartWidth, 0, 1
	case sframe.RepeatSize:
		return sfRepeatZero, 0, 1
	case sframe.RowsShared:
		return sfShared, 0, 4
	case sframe.BadRelocation:
		return sfReloc, 0, 4
	}
	return c.rowRuleOf(p)
}

// functions judges the entries, their rows, and what call frame information says of them.
func (c *sframeCheck) functions() {
	s := c.s
	c.work = 1<<20 + 64*s.Len() + 16*len(s.Data) // more than healthy files need
	var sums rowSums
	spans := make([]addressSpan, 0, s.Len())
	it := s.Functions()
	for it.Next() {
		d := &it.FDE
		spans = append(spans, addressSpan{d.Start, d.End()})
		c.function(d)
		sums.begin()
		for it.NextRow() {
			c.judgeRow(it.Row(), &sums)
		}
		if it.RowProblem() == nil && c.cfi != nil {
			c.cross(d)
		}
	}
	if c.work <= 0 {
		c.p.Note = "not all of SFrame was compared with call frame information: it is out of proportion"
	}
	c.spans = append(c.spans, spans...)
	c.sums(&sums)
}

// function judges an entry.
func (c *sframeCheck) function(d *sframe.FDE) {
	h := &c.s.Header
	sizeAt := d.Offset + 4
	if h.Version == 3 {
		sizeAt = d.Offset + 8
	}
	if c.elf != nil {
		c.location(d, sizeAt)
	}
	if h.Version == 3 && d.Attr < 0 {
		return
	}
	info := d.Offset + 16
	if h.Version == 3 {
		info = d.Attr + 2
	}
	if d.NumRows == 0 {
		s := c.spot(sfNoRows, d.Offset, h.EntrySize())
		switch {
		case d.Signal():
			s.Severity = lint.Info
			c.sayAt(s, d.Start, nil, "a signal frame without rows: the assembler could not describe it")
		case d.Outermost():
			s.Severity = lint.Info
			if undefined, known := c.undefinedRA(d.Start); known && !undefined {
				s.Severity = lint.Warning
			}
			c.sayAt(s, d.Start, nil, "no rows: an outermost frame")
		default:
			c.sayAt(s, d.Start, nil, "no rows")
		}
	}
	if w := d.StartWidth(); w > 0 && w < 4 && d.NumRows > 0 && uint64(d.Size) > 1<<(8*w) && !d.Mask() {
		s := c.spot(sfStartWide, info, 1)
		s.Severity = lint.Warning
		c.sayAt(s, d.Start, nil, "rows can start in the first 0x%x bytes only, the function has 0x%x", uint64(1)<<(8*w), d.Size)
	}
	if d.Mask() {
		c.repeated(d, info)
	} else if d.RepSize != 0 {
		at := info + 1
		if h.Version == 3 {
			at = d.Attr + 4
		}
		c.sayAt(c.spot(sfRepeatUnused, at, 1), d.Start, nil, "a repeated block of %d bytes in a function that does not repeat", d.RepSize)
	}
	if d.Flex() && (h.ABI == sframe.AArch64BE || h.ABI == sframe.AArch64LE) {
		c.sayAt(c.spot(sfFlexAArch64, d.Attr+3, 1), d.Start, nil, "flexible rows on %s", h.ABI)
	}
}

// location judges where an entry says its function is.
func (c *sframeCheck) location(d *sframe.FDE, sizeAt int) {
	start, end, exec, known := c.elf.text(d.Start)
	if !known || c.unrelocated(d) {
		return
	}
	if !exec {
		what := "where nothing is"
		if s, _ := c.elf.sectionAt(d.Start); s != nil {
			what = "in " + s.name + ", which is no code"
		}
		c.p.Report(c.spot(sfOutsideText, d.Offset, 4), func(f *lint.Finding) {
			f.HasAddress, f.Address = true, d.Start
			f.Message = fmt.Sprintf("function %d starts at 0x%x, %s", d.Index, d.Start, what)
			f.Subject = f.Message
		})
		return
	}
	if d.End() > end && d.Size > 0 {
		c.sayAt(c.spot(sfPastSection, sizeAt, 4), d.Start, nil, "the function ends at 0x%x, its section (0x%x) at 0x%x", d.End(), start, end)
	}
	sym, ok := c.elf.function(d.Start)
	if !ok {
		return
	}
	var text string
	switch {
	case sym.addr != d.Start:
		text = fmt.Sprintf("the entry starts 0x%x bytes into the function", d.Start-sym.addr)
	case sym.size != uint64(d.Size) && sym.size != 0 && !c.sizedLike(d):
		text = fmt.Sprintf("the entry has 0x%x bytes, the symbol 0x%x", d.Size, sym.size)
	default:
		return
	}
	if c.cfi != nil {
		if x, ok := c.cfi.Find(d.Start); ok && x.Start == d.Start && x.End == d.End() {
			return
		}
	}
	c.sayAt(c.spot(sfNotAtSymbol, d.Offset, 4), d.Start, nil, "%s", text)
}

// sizedLike: another symbol at the same address has the entry's size.
func (c *sframeCheck) sizedLike(d *sframe.FDE) bool {
	syms := c.elf.functions()
	i, _ := slices.BinarySearchFunc(syms, d.Start, func(s elfSymbol, a uint64) int {
		if s.addr < a {
			return -1
		}
		return 1
	})
	for n := 0; i < len(syms) && syms[i].addr == d.Start && n < 64; i, n = i+1, n+1 {
		if syms[i].size == uint64(d.Size) {
			return true
		}
	}
	return false
}

// unrelocated: an object file's entry whose function is not known, or was dropped.
func (c *sframeCheck) unrelocated(d *sframe.FDE) bool {
	if !c.object() {
		return false
	}
	r, ok := d.Reloc()
	return !ok || !r.Applied || r.Section == 0
}

// repeated judges a function of repeated blocks.
func (c *sframeCheck) repeated(d *sframe.FDE, info int) {
	rep := d.Repeat()
	if rep == 0 {
		return
	}
	s := c.spot(sfRepeat, info, 1)
	if d.Size%rep != 0 {
		c.sayAt(s, d.Start, nil, "0x%x bytes are no multiple of the repeated block's %d", d.Size, rep)
		return
	}
	if c.elf == nil {
		return
	}
	// Some linkers give the whole section the entry size of its largest entries, so that only more is wrong.
	if x, _ := c.elf.sectionAt(d.Start); x != nil && strings.HasPrefix(x.name, ".plt") && x.entsize != 0 && uint64(rep)%x.entsize != 0 &&
		x.entsize%uint64(rep) != 0 {
		c.sayAt(s, d.Start, nil, "a repeated block of %d bytes, entries of %s have %d", rep, x.name, x.entsize)
	}
}
