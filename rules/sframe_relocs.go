package rules

import (
	"debug/elf"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/sframe"
)

// The rules on relocations.
var sframeRelocRules = []*lint.Rule{sfReloc, sfRelocFlag, sfEmitRelocs}

var (
	sfReloc = sframeRule("reloc", lint.Error, nil,
		"relocations of an object file do not give the start of every function",
		"In object files the start field is empty, and one PC-relative relocation for each function says where it is. If it is missing, "+
			"there twice or of another type, the linker puts the entry elsewhere.",
		readers(degraded("shows the function elsewhere"), loses("puts the entry elsewhere"), lint.Fine("never sees object files"),
			lint.Fine("never sees object files"), degraded("shows the function elsewhere")),
		imageObject, func(im *sframeImage) { im.change(func(h *imageHeaders) { h.relocs = h.relocs[:1] }) })
	sfRelocFlag = sframeRule("reloc-flag", lint.Warning, nil,
		"relocations count from the field, the flag says from the section",
		"gas up to 2.44 relocated starts relative to their own field, and left SFRAME_F_FDE_FUNC_START_PCREL out, which did not exist; ld of "+
			"the same time put it right. Tools that apply relocations and go by the flag show every function too low.",
		readers(degraded("2.45 and later show wrong addresses"), degraded("2.45 and later refuse the section; 2.44 is right, but not with -r"),
			lint.Fine("never sees object files"), lint.Fine("never sees object files"), degraded("shows wrong addresses")),
		imageObject, func(im *sframeImage) {
			im.table.Version, im.table.Flags = 2, 0
			im.change(func(h *imageHeaders) { h.sframe.typ = uint32(elf.SHT_PROGBITS) })
		})
	sfEmitRelocs = sframeRule("reloc-stale", lint.Info, nil,
		"relocations of a linked file do not fit its table",
		"`ld --emit-relocs` writes those of the inputs, in their order; the table was sorted and has entries for PLTs. Tools that apply "+
			"them again damage it.", sfOdd,
		imageAMD64, func(im *sframeImage) { im.change(func(h *imageHeaders) { h.emit = true }) })
)

func init() {
	sfRelocFlag.Evidence = "every object file of gas 2.41 to 2.44; binutils PR ld/32666"
	sfEmitRelocs.Evidence = "GNU ld 2.47 with --emit-relocs"
}

// relocations judges those of the section.
func (c *sframeCheck) relocations() {
	s := c.s
	if s.ELF == nil {
		return
	}
	relocs := s.ELF.Relocations
	if c.linked() {
		if len(relocs) > 0 && s.Header.Flags&sframe.Sorted != 0 {
			spot := c.spot(sfEmitRelocs, int(min(relocs[0].Offset, uint64(len(s.Data)))), 4)
			spot.Count = len(relocs)
			c.say(spot, "%s left in a linked file, whose table was sorted since", count(len(relocs), "relocation was", "relocations were"))
		}
		return
	}
	if !c.object() {
		return
	}
	if len(relocs) > 0 && s.Header.Flags&sframe.PCRel == 0 && s.Header.Version < 3 {
		spot := c.spot(sfRelocFlag, 3, 1)
		spot.Count = len(relocs)
		c.say(spot, "starts are relocated relative to their own field, but the flag for it is not set")
	}
	size := s.Header.EntrySize()
	for i := range relocs {
		r := &relocs[i]
		off := r.Offset - uint64(s.TableOffset())
		at := int(min(r.Offset, uint64(len(s.Data))))
		switch {
		case r.Offset < uint64(s.TableOffset()) || off/uint64(size) >= uint64(s.Len()) || off%uint64(size) != 0:
			c.say(c.spot(sfReloc, at, 4), "a relocation of something that is no start of a function")
		case i > 0 && relocs[i-1].Offset == r.Offset:
			c.say(c.spot(sfReloc, at, 4), "a second relocation of the start of function %d", off/uint64(size))
		}
	}
	// What the linker dropped (ld -r, gc) keeps its entry and has no relocation, like one that lost it: a start of 0 and a
	// section that has relocations for others tell nothing, so only those with rows are looked at.
	for i := range s.Len() {
		d := s.FDE(i)
		if _, ok := d.Reloc(); !ok && d.Size > 0 {
			c.say(c.spot(sfReloc, d.Offset, 4), "the start of function %d has no relocation", i)
		}
	}
}
