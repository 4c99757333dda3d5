package dwarf

import "fmt"

// CIE is what several FDEs have in common.
type CIE struct {
	Section             *Section
	Offset              uint64 // of the length field
	DWARF64             bool
	Version             int
	Augmentation        string
	AddressSize         int // bytes of an address
	SegmentSize         int // bytes of a segment selector, 0 for none
	CodeAlign           uint64
	DataAlign           int64
	RAReg               uint64 // DWARF number of the column of the return address
	PointerEncoding     byte   // of addresses in FDEs (R)
	LSDAEncoding        byte   // 0xff for none (L)
	PersonalityEncoding byte   // 0xff for none (P)
	Personality         uint64
	PersonalityIndirect bool // Personality is the address of the pointer
	SignalFrame         bool // S: the frame of a signal trampoline, whose caller was interrupted
	BKey                bool // B: return addresses are signed with AArch64's B key
	MTE                 bool // G: the frame may be tagged (AArch64 MTE)
	Unusable            string
	file                *File
	program, end        int  // call frame instructions, as offsets in the section
	hasData             bool // z: FDEs have augmentation data
	rangeKnown          bool // the ranges of its FDEs can be read even if it is unusable
	initial             rules
}

// FDE describes one function, or one part of one.
type FDE struct {
	Start, End uint64 // [Start, End)
	CIE        *CIE
	Offset     uint64 // in CIE.Section, of the length field
	LSDA       uint64 // language-specific data area, if HasLSDA
	HasLSDA    bool
	// LSDAIndirect: LSDA is the address of the pointer, which could not be read.
	LSDAIndirect bool
	// Unusable says why the rules cannot be known although the range is; "" if they can.
	Unusable     string
	program, end int
}

// maxCIEs bounds what a file of CIEs alone costs, each of which takes far more memory than its bytes. Programs have a
// few; a .debug_frame may have one for every source file.
const maxCIEs = 1 << 18

// readSection reads all entries of a section.
func (f *File) readSection(s *Section) {
	if f.fdes == nil {
		f.fdes = make([]FDE, 0, len(s.Data)/48)
	}
	cies := make(map[int]*CIE)
	var last *CIE
	// FDEs may come before their CIE. CIEs are looked for at the beginnings of entries only: those that overlap would
	// cost time without bound.
	var early []entry
	defer func() {
		for _, e := range early {
			if c := cies[e.cie]; c != nil {
				f.readFDE(c, e)
			} else {
				f.problem(s.Name, uint64(e.pos), BadFDE, "FDE: there is no CIE at the offset it refers to")
			}
		}
	}()
	for pos := 0; pos < len(s.Data); {
		if f.lastFDE != 0 && !s.Debug && s.Addr+uint64(pos) > f.lastFDE {
			return
		}
		e, reason := f.entry(s, pos)
		if reason != "" {
			f.problem(s.Name, uint64(pos), BadLength, "%s", reason)
			return
		}
		if e.zero {
			if !s.Debug && f.image {
				s.Data = s.Data[:e.end]
				return
			}
			if !s.Debug && e.end < len(s.Data) {
				f.problem(s.Name, uint64(pos), BadTerminator, "%d bytes follow the zero terminator", len(s.Data)-e.end)
			}
			pos = e.end
			continue
		}
		switch {
		case e.isCIE && len(f.cies) == maxCIEs:
			f.problem(s.Name, uint64(pos), BadCIE, "more than %d CIEs: this one is not read", maxCIEs)
			last = nil
		case e.isCIE:
			last = f.readCIE(s, e)
			cies[pos] = last
		case last != nil && int(last.Offset) == e.cie:
			f.readFDE(last, e)
		case cies[e.cie] != nil:
			last = cies[e.cie]
			f.readFDE(last, e)
		default:
			early = append(early, e)
		}
		pos = e.end
	}
}

// entry is the head of a CIE or FDE.
type entry struct {
	pos, body, end int // length field, behind the identifier, behind the entry
	wide           bool
	zero           bool // of no length
	isCIE          bool
	cie            int // offset of an FDE's CIE; -1 if it is not in the section
}

func (f *File) entry(s *Section, pos int) (e entry, reason string) {
	c := cursor{data: s.Data, pos: pos, big: f.layout.BigEndian}
	e.pos = pos
	length := uint64(c.u32())
	switch {
	case length == 0xffffffff:
		e.wide = true
		length = c.u64()
	case length >= 0xfffffff0:
		return e, fmt.Sprintf("length 0x%x is reserved", length)
	}
	if c.short {
		return e, "section ends within a length field"
	}
	if length > uint64(c.left()) {
		return e, fmt.Sprintf("entry of %d bytes goes beyond the section, which has %d left", length, c.left())
	}
	e.body = c.pos
	e.end = c.pos + int(length)
	if e.zero = length == 0; e.zero {
		return e, ""
	}
	c.data = s.Data[:e.end]
	at, id := c.pos, uint64(0)
	if e.wide {
		id = c.u64()
	} else {
		id = uint64(c.u32())
	}
	if c.short {
		return e, fmt.Sprintf("entry of %d bytes is too short", length)
	}
	e.body = c.pos
	switch {
	case !s.Debug:
		e.isCIE = id == 0
		e.cie = -1
		if id <= uint64(at) {
			e.cie = at - int(id)
		}
	case e.wide:
		e.isCIE = id == ^uint64(0)
		e.cie = offset(id, s)
	default:
		e.isCIE = id == 0xffffffff
		e.cie = offset(id, s)
	}
	return e, ""
}

func offset(id uint64, s *Section) int {
	if id >= uint64(len(s.Data)) {
		return -1
	}
	return int(id)
}

// readCIE always returns a CIE; what it cannot make out makes it unusable.
func (f *File) readCIE(s *Section, e entry) *CIE {
	cie := &CIE{Section: s, Offset: uint64(e.pos), DWARF64: e.wide, AddressSize: f.layout.Word, file: f,
		LSDAEncoding: peOmit, PersonalityEncoding: peOmit, program: e.end, end: e.end}
	f.cies = append(f.cies, cie)
	unusable := func(pos int, kind ProblemKind, format string, args ...any) *CIE {
		cie.Unusable = fmt.Sprintf(format, args...)
		f.problem(s.Name, uint64(pos), kind, "CIE: %s", cie.Unusable)
		return cie
	}
	c := cursor{data: s.Data[:e.end], pos: e.body, big: f.layout.BigEndian}

	cie.Version = int(c.u8())
	if cie.Version != 1 && cie.Version != 3 && cie.Version != 4 {
		return unusable(e.body, BadCIE, "version %d is not known", cie.Version)
	}
	at := c.pos
	cie.Augmentation = string(c.text())
	aug := cie.Augmentation
	if aug == "eh" { // gcc 2: a pointer to exception information
		c.next(uint64(f.layout.Word))
		aug = ""
	}
	if cie.Version >= 4 {
		cie.AddressSize, cie.SegmentSize = int(c.u8()), int(c.u8())
		if n := cie.AddressSize; !c.short && n != 2 && n != 4 && n != 8 {
			return unusable(c.pos-2, BadCIE, "address size %d is not supported", n)
		}
		if n := cie.SegmentSize; n > 8 {
			return unusable(c.pos-1, BadCIE, "segment selector size %d is not supported", n)
		}
	}
	cie.CodeAlign = c.uleb()
	cie.DataAlign = c.sleb()
	if cie.Version == 1 {
		cie.RAReg = uint64(c.u8())
	} else {
		cie.RAReg = c.uleb()
	}
	if c.wide {
		return unusable(at, BadCIE, "a number has more than 64 bits")
	}
	cie.program = c.pos

	cie.rangeKnown = s.Debug && !c.short
	if aug != "" {
		if aug[0] != 'z' {
			// Without its length nobody can tell what the letter adds to CIE and FDEs.
			return unusable(at, BadAugmentation, "augmentation %q is not known", aug)
		}
		cie.hasData = true
		if reason := cie.augment(&c, aug[1:]); reason != "" {
			return unusable(at, BadAugmentation, "augmentation %q: %s", aug, reason)
		}
	}
	if c.short {
		return unusable(e.pos, BadCIE, "entry ends too early")
	}
	cie.rangeKnown = true
	cie.runInitial()
	return cie
}

// augment reads the augmentation data, at whose length the cursor is.
func (cie *CIE) augment(c *cursor, letters string) (reason string) {
	f := cie.file
	n := c.uleb()
	from := c.pos
	if c.next(n) == nil && n > 0 {
		return "data goes beyond the entry"
	}
	cie.program = c.pos
	d := cursor{data: c.data[:c.pos], pos: from, big: c.big}
	unknown := byte(0)
	for i := range len(letters) {
		switch l := letters[i]; {
		case unknown != 0 && (l == 'R' || l == 'P' || l == 'L'):
			return fmt.Sprintf("data of %q comes behind that of the unknown %q", l, unknown)
		case unknown != 0:
		case l == 'R':
			cie.PointerEncoding = d.u8()
		case l == 'L':
			cie.LSDAEncoding = d.u8()
		case l == 'P':
			cie.PersonalityEncoding = d.u8()
			if cie.PersonalityEncoding == peOmit {
				continue
			}
			p, reason := d.pointer(cie.PersonalityEncoding, f.bases(cie, 0))
			if reason != "" {
				return "personality: " + reason
			}
			cie.Personality, cie.PersonalityIndirect = p.value, p.indirect
			if p.indirect {
				if v, ok := f.load(p.value); ok {
					cie.Personality, cie.PersonalityIndirect = v, false
				}
			}
		case l == 'S':
			cie.SignalFrame = true
		case l == 'B':
			cie.BKey = true
		case l == 'G':
			cie.MTE = true
		default:
			unknown = l
			f.problem(cie.Section.Name, cie.Offset, BadAugmentation, "CIE: augmentation letter %q is not known", l)
		}
	}
	if d.short {
		return "data is too short"
	}
	return ""
}

func (f *File) bases(cie *CIE, function uint64) *bases {
	return &bases{cie.Section.Addr, f.layout.TextBase, f.layout.DataBase, function, cie.AddressSize}
}

// load reads an address from memory. One of 0 has not been filled in yet.
func (f *File) load(addr uint64) (uint64, bool) {
	if f.layout.Memory == nil {
		return 0, false
	}
	b, ok := f.layout.Memory.Bytes(addr, f.layout.Word)
	if !ok {
		return 0, false
	}
	c := cursor{data: b, big: f.layout.BigEndian}
	v := c.uint(f.layout.Word)
	return v, v != 0
}

func (f *File) readFDE(cie *CIE, e entry) {
	s := cie.Section
	left := func(pos int, format string, args ...any) {
		f.problem(s.Name, uint64(pos), BadFDE, "FDE: "+format, args...)
	}
	d := FDE{CIE: cie, Offset: uint64(e.pos), Unusable: cie.Unusable, end: e.end}
	if !cie.rangeKnown {
		return // the CIE's problem tells
	}
	c := cursor{data: s.Data[:e.end], pos: e.body, big: f.layout.BigEndian}
	c.next(uint64(cie.SegmentSize))
	at := c.pos
	var start uint64
	var null bool
	switch enc := cie.PointerEncoding; {
	case enc == pePCRel|peSdata4: // nearly all there are
		v := uint64(int32(c.u32()))
		start, null = mask(v+s.Addr+uint64(at), cie.AddressSize), v == 0
	default:
		p, reason := c.pointer(enc, f.bases(cie, 0))
		if reason != "" {
			left(at, "start: %s (encoding 0x%02x)", reason, enc)
			return
		}
		start, null = p.value, p.null
		if p.indirect && !null {
			v, ok := f.load(p.value)
			if !ok {
				left(at, "start is stored at 0x%x, which is not available", p.value)
				return
			}
			start = v
		}
	}
	size := c.size(cie.PointerEncoding, cie.AddressSize)
	if c.short || c.wide {
		left(e.pos, "entry ends within the address range")
		return
	}
	if null && !f.relocatable && !f.zeroMapped {
		f.discarded++
		return
	}
	if top := mask(^uint64(0), cie.AddressSize); size > top-start {
		left(at, "0x%x bytes from 0x%x go beyond the address space", size, start)
		return
	}
	d.Start, d.End = start, start+size

	if cie.hasData && cie.Unusable == "" {
		n := c.uleb()
		from := c.pos
		if c.next(n) == nil && n > 0 {
			left(from, "augmentation data goes beyond the entry")
			return
		}
		if cie.LSDAEncoding != peOmit {
			a := cursor{data: c.data[:c.pos], pos: from, big: c.big}
			p, reason := a.pointer(cie.LSDAEncoding, f.bases(cie, start))
			switch {
			case a.short:
				reason = "augmentation data is too short"
				fallthrough
			case reason != "":
				left(from, "language-specific data area: %s", reason)
			case !p.null:
				d.LSDA, d.HasLSDA = p.value, true
				if p.indirect {
					v, ok := f.load(p.value)
					if d.LSDAIndirect = !ok; ok {
						d.LSDA = v
					}
				}
			}
		}
	}
	if c.short {
		left(e.pos, "entry ends too early")
		return
	}
	d.program = c.pos
	f.fdes = append(f.fdes, d)
}
