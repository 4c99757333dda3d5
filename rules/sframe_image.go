package rules

import (
	"debug/elf"
	"encoding/binary"
	"slices"

	"github.com/symlint/symlint/unwind/sframe"
)

// sframeImage is a small ELF file with SFrame, as the examples of the rules have it: two functions, work and main, with
// call frame information that agrees.
type sframeImage struct {
	machine   elf.Machine
	object    bool // a relocatable file
	raw       bool // only the section
	cfi       bool // with .eh_frame
	text      []byte
	table     *sframe.Table
	functions []imageFunction
	cie       []byte // initial instructions
	ehAddr    uint64 // where .eh_frame is, if not at imageEH
	signal    bool   // the first function's CIE has the augmentation S
	// Changes behind the encoder's back.
	data    []func([]byte) []byte
	headers []func(*imageHeaders)
}

// imageFunction is a symbol, and what .eh_frame says.
type imageFunction struct {
	name        string
	start, size uint64 // from the start of .text
	cfi         []byte
}

// imageHeaders are what an example may change in the ELF headers.
type imageHeaders struct {
	sframe  *imageSection // by name
	plt     string        // the name of the section of code
	segment imageSegment
	twice   bool // list the section twice
	relocs  []imageReloc
	emit    bool // relocations in a linked file
	damaged bool // program headers of an impossible size
}

type imageSegment struct {
	typ              uint32
	flags            uint32
	vaddr, size, mem uint64
}

type imageSection struct {
	typ                      uint32
	flags, addr, size, align uint64
}

type imageReloc struct {
	offset uint64
	typ    uint32
	addend int64
}

// Where the parts of the example lie.
const (
	imageBase   = 0x400000
	imageText   = imageBase + 0x1000
	imageEH     = imageBase + 0x2000
	imageSFrame = imageBase + 0x3000
	workSize    = 0x30
	mainSize    = 0x40
)

// Words of rows: base register bit, 1 = SP.
const (
	rowFP = 0
	rowSP = 1
)

// newImage returns the healthy example of a machine.
func newImage(m elf.Machine) *sframeImage {
	im := &sframeImage{machine: m, cfi: true, text: make([]byte, workSize+mainSize)}
	t := &sframe.Table{
		Version: 3, Flags: sframe.Sorted | sframe.PCRel, ABI: sframe.ABIOf(m, m == elf.EM_S390), BigEndian: m == elf.EM_S390,
		Addr: imageSFrame,
	}
	im.table = t
	var rows []sframe.TableRow
	var cfi []byte
	end := uint32(workSize - 1)
	switch m {
	case elf.EM_X86_64:
		t.FixedRA = -8
		rows = []sframe.TableRow{
			{Start: 0, Info: rowSP, Words: []int32{8}},
			{Start: 1, Info: rowSP, Words: []int32{16, -16}},
			{Start: 4, Info: rowFP, Words: []int32{16, -16}},
			{Start: end, Info: rowSP, Words: []int32{8}},
		}
		im.cie = []byte{0x0c, 7, 8, 0x90, 1}                                         // CFA rsp+8, RA at CFA-8
		cfi = []byte{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x6b, 0x0c, 7, 8, 0xc6} // the prologue and the epilogue of rbp
	case elf.EM_AARCH64:
		end = workSize - 4
		rows = []sframe.TableRow{
			{Start: 0, Info: rowSP, Words: []int32{0}},
			{Start: 4, Info: rowSP, Words: []int32{32, -24, -32}},
			{Start: end, Info: rowSP, Words: []int32{0}},
		}
		im.cie = []byte{0x0c, 31, 0}
		cfi = []byte{0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x68, 0xdd, 0xde, 0x0e, 0}
	case elf.EM_S390:
		end = workSize - 4
		rows = []sframe.TableRow{
			{Start: 0, Info: rowSP, Words: []int32{0}},
			{Start: 4, Info: rowSP, Words: []int32{20, -48, -72}},
			{Start: end, Info: rowSP, Words: []int32{0}},
		}
		im.cie = []byte{0x0c, 15, 0xa0, 1}
		cfi = []byte{0x44, 0x0e, 0xc0, 2, 0x8e, 6, 0x8b, 9, 0x68, 0xce, 0xcb, 0x0e, 0xa0, 1}
	}
	for i := range im.text {
		im.text[i] = 0x90
	}
	im.add("work", 0, workSize, rows, cfi)
	im.add("main", workSize, mainSize, slices.Clone(rows[:1]), nil)
	return im
}

// add adds a function.
func (im *sframeImage) add(name string, start, size uint64, rows []sframe.TableRow, cfi []byte) {
	im.functions = append(im.functions, imageFunction{name, start, size, cfi})
	im.table.Functions = append(im.table.Functions, sframe.Function{
		Start: imageText + start, Size: uint32(size), Info: sframe.RowTypeFor(uint32(size)), Order: uint32(len(im.functions)),
		Rows: rows,
	})
}

// work is the first function's entry.
func (im *sframeImage) work() *sframe.Function { return &im.table.Functions[0] }

// set overwrites bytes of the section.
func (im *sframeImage) set(at int, b ...byte) {
	im.data = append(im.data, func(data []byte) []byte { copy(data[at:], b); return data })
}

// change changes the ELF headers.
func (im *sframeImage) change(f func(*imageHeaders)) { im.headers = append(im.headers, f) }

// row changes the bytes of a row of the first function.
func (im *sframeImage) row(i int, f func(data []byte, r *sframe.Row)) {
	im.data = append(im.data, func(data []byte) []byte {
		s, err := sframe.Parse(data, sframe.Options{Addr: imageSFrame})
		if err != nil {
			return data
		}
		d := s.FDE(0)
		for it := d.Rows(); it.Next(); {
			if it.Row.Index == i {
				f(data, &it.Row)
				break
			}
		}
		return data
	})
}

func (im *sframeImage) order() binary.AppendByteOrder {
	if im.table.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// section encodes the SFrame section.
func (im *sframeImage) section() []byte {
	if im.object {
		im.table.RawStarts = true
	}
	b, err := sframe.Encode(im.table)
	if err != nil {
		panic("example: " + err.Error())
	}
	for _, f := range im.data {
		b = f(b)
	}
	return b
}

// ehFrame encodes .eh_frame: a CIE and an FDE for every function, PC-relative. It also returns where the starts are.
func (im *sframeImage) ehFrame(addr, text uint64) (b []byte, starts []int) {
	o := im.order()
	record := func(id func(at int) uint32, body []byte) {
		for (len(body)+8)%8 != 0 {
			body = append(body, 0)
		}
		b = o.AppendUint32(b, uint32(len(body)+4))
		b = o.AppendUint32(b, id(len(b)))
		b = append(b, body...)
	}
	augmentation := "zR"
	if im.signal {
		augmentation = "zRS"
	}
	ra := byte(im.table.ABI.RA())
	body := append([]byte{1}, augmentation...)
	body = append(body, 0, 1, 0x78, ra, 1, 0x1b) // code 1, data -8, pcrel sdata4
	record(func(int) uint32 { return 0 }, append(body, im.cie...))
	for i := range im.functions {
		f := &im.functions[i]
		starts = append(starts, len(b)+8)
		body := o.AppendUint32(nil, uint32(text+f.start-(addr+uint64(len(b))+8)))
		body = o.AppendUint32(body, uint32(f.size))
		record(func(at int) uint32 { return uint32(at) }, append(append(body, 0), f.cfi...))
	}
	return o.AppendUint32(b, 0), starts
}

// build writes the file.
func (im *sframeImage) build() []byte {
	data := im.section()
	if im.raw {
		return data
	}
	o := im.order()
	h := imageHeaders{
		plt:     ".text",
		sframe:  &imageSection{uint32(sframe.SectionType), uint64(elf.SHF_ALLOC), imageSFrame, uint64(len(data)), 8},
		segment: imageSegment{uint32(sframe.ProgramType), uint32(elf.PF_R), imageSFrame, uint64(len(data)), uint64(len(data))},
	}
	relocType, textAddr, ehAddr := uint32(elf.R_X86_64_PC64), uint64(imageText), uint64(imageEH)
	if im.ehAddr != 0 {
		ehAddr = im.ehAddr
	}
	switch im.machine {
	case elf.EM_AARCH64:
		relocType = uint32(elf.R_AARCH64_PREL64)
	case elf.EM_S390:
		relocType = uint32(elf.R_390_PC64)
	}
	if im.object {
		textAddr, ehAddr, h.sframe.addr = 0, 0, 0
		h.segment.typ = uint32(elf.PT_NULL)
		entry := uint64(16)
		if im.table.Version == 2 {
			entry, relocType = 20, uint32(elf.R_X86_64_PC32)
		}
		for i, f := range im.functions {
			h.relocs = append(h.relocs, imageReloc{28 + uint64(i)*entry, relocType, int64(f.start)})
		}
	}
	for _, f := range im.headers {
		f(&h)
	}
	if h.emit {
		h.relocs = append(h.relocs, imageReloc{28, relocType, workSize}, imageReloc{28 + 16, relocType, 0})
	}

	// Contents.
	var names, strtab, symtab, rela, ehRela []byte
	eh, starts := im.ehFrame(ehAddr, textAddr)
	strtab, symtab = []byte{0}, make([]byte, 24)
	symbol := func(name string, info byte, value, size uint64) {
		at := uint32(0)
		if name != "" {
			at = uint32(len(strtab))
			strtab = append(append(strtab, name...), 0)
		}
		symtab = o.AppendUint32(symtab, at)
		symtab = append(symtab, info, 0)
		symtab = o.AppendUint16(symtab, 1)
		symtab = o.AppendUint64(o.AppendUint64(symtab, value), size)
	}
	symbol("", byte(elf.STT_SECTION), textAddr, 0)
	for _, f := range im.functions {
		symbol(f.name, 1<<4|byte(elf.STT_FUNC), textAddr+f.start, f.size)
	}
	for _, r := range h.relocs {
		rela = o.AppendUint64(o.AppendUint64(rela, r.offset), 1<<32|uint64(r.typ))
		rela = o.AppendUint64(rela, uint64(r.addend))
	}
	pc32 := map[elf.Machine]uint32{
		elf.EM_X86_64: uint32(elf.R_X86_64_PC32), elf.EM_AARCH64: uint32(elf.R_AARCH64_PREL32), elf.EM_S390: uint32(elf.R_390_PC32),
	}[im.machine]
	for i, at := range starts {
		ehRela = o.AppendUint64(o.AppendUint64(ehRela, uint64(at)), 1<<32|uint64(pc32))
		ehRela = o.AppendUint64(ehRela, im.functions[i].start)
	}

	// Section headers.
	type section struct {
		name       string
		h          imageSection
		link, info uint32
		entry      uint64
		content    []byte
	}
	alloc := uint64(elf.SHF_ALLOC)
	sections := []section{
		{},
		{name: h.plt, h: imageSection{uint32(elf.SHT_PROGBITS), alloc | uint64(elf.SHF_EXECINSTR), textAddr, uint64(len(im.text)), 16}, content: im.text},
		{name: ".sframe", h: *h.sframe, content: data},
		{name: ".symtab", h: imageSection{uint32(elf.SHT_SYMTAB), 0, 0, uint64(len(symtab)), 8}, link: 4, info: 2, entry: 24, content: symtab},
		{name: ".strtab", h: imageSection{uint32(elf.SHT_STRTAB), 0, 0, uint64(len(strtab)), 1}, content: strtab},
	}
	if im.cfi {
		sections = append(sections, section{name: ".eh_frame", content: eh,
			h: imageSection{uint32(elf.SHT_PROGBITS), alloc, ehAddr, uint64(len(eh)), 8}})
		if im.object {
			sections = append(sections, section{name: ".rela.eh_frame", content: ehRela, link: 3, info: uint32(len(sections) - 1), entry: 24,
				h: imageSection{uint32(elf.SHT_RELA), 0, 0, uint64(len(ehRela)), 8}})
		}
	}
	if len(rela) > 0 {
		sections = append(sections, section{name: ".rela.sframe", content: rela, link: 3, info: 2, entry: 24,
			h: imageSection{uint32(elf.SHT_RELA), 0, 0, uint64(len(rela)), 8}})
	}
	if h.twice {
		sections = append(sections, section{name: ".sframe", h: *h.sframe, content: data})
	}
	sections = append(sections, section{name: ".shstrtab", h: imageSection{typ: uint32(elf.SHT_STRTAB), align: 1}})
	nameAt := make([]uint32, len(sections))
	names = []byte{0}
	for i := range sections {
		if i > 0 {
			nameAt[i] = uint32(len(names))
			names = append(append(names, sections[i].name...), 0)
		}
	}
	sections[len(sections)-1].content = names
	sections[len(sections)-1].h.size = uint64(len(names))

	// The file: header, segments, contents, section headers.
	const ehsize, phentsize, shentsize, segments = 64, 56, 64, 2
	phnum := segments
	if im.object {
		phnum = 0
	}
	body := make([]byte, 0, 1<<12)
	at := func() uint64 { return uint64(ehsize + phnum*phentsize + len(body)) }
	offsets := make([]uint64, len(sections))
	for i := range sections {
		for at()%8 != 0 {
			body = append(body, 0)
		}
		offsets[i] = at()
		body = append(body, sections[i].content...)
	}
	for at()%8 != 0 {
		body = append(body, 0)
	}
	shoff := at()

	class, typ := byte(elf.ELFDATA2LSB), elf.ET_EXEC
	if im.table.BigEndian && im.machine == elf.EM_S390 {
		class = byte(elf.ELFDATA2MSB)
	}
	if im.object {
		typ = elf.ET_REL
	}
	b := append([]byte(elf.ELFMAG), byte(elf.ELFCLASS64), class, 1)
	b = append(b, make([]byte, 9)...)
	b = o.AppendUint16(b, uint16(typ))
	b = o.AppendUint16(b, uint16(im.machine))
	b = o.AppendUint32(b, 1)
	b = o.AppendUint64(b, 0)
	phoff := uint64(0)
	if phnum > 0 {
		phoff = ehsize
	}
	b = o.AppendUint64(o.AppendUint64(b, phoff), shoff)
	b = o.AppendUint32(b, 0)
	size := phentsize
	if h.damaged {
		size--
	}
	for _, v := range [...]int{ehsize, size, phnum, shentsize, len(sections), len(sections) - 1} {
		b = o.AppendUint16(b, uint16(v))
	}
	if phnum > 0 {
		load := imageSegment{uint32(elf.PT_LOAD), uint32(elf.PF_R | elf.PF_X), imageText, uint64(len(im.text)), uint64(len(im.text))}
		for i, p := range [...]imageSegment{load, h.segment} {
			b = o.AppendUint32(o.AppendUint32(b, p.typ), p.flags)
			for _, v := range [...]uint64{offsets[i+1], p.vaddr, p.vaddr, p.size, p.mem, 8} {
				b = o.AppendUint64(b, v)
			}
		}
	}
	b = append(b, body...)
	for i, s := range sections {
		b = o.AppendUint32(o.AppendUint32(b, nameAt[i]), s.h.typ)
		b = o.AppendUint64(o.AppendUint64(b, s.h.flags), s.h.addr)
		if i == 0 {
			b = o.AppendUint64(b, 0)
		} else {
			b = o.AppendUint64(b, offsets[i])
		}
		b = o.AppendUint64(b, s.h.size)
		b = o.AppendUint32(o.AppendUint32(b, s.link), s.info)
		b = o.AppendUint64(o.AppendUint64(b, s.h.align), s.entry)
	}
	return b
}
