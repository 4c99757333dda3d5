package dwarf

// Pointer encodings of .eh_frame (LSB Core, "DWARF Exception Header Encoding"): the low four bits are the format, the
// next three what the value is relative to.
const (
	peAbsptr  = 0x00
	peULEB128 = 0x01
	peUdata2  = 0x02
	peUdata4  = 0x03
	peUdata8  = 0x04
	peSigned  = 0x08
	peSLEB128 = 0x09
	peSdata2  = 0x0a
	peSdata4  = 0x0b
	peSdata8  = 0x0c

	pePCRel    = 0x10
	peTextRel  = 0x20
	peDataRel  = 0x30
	peFuncRel  = 0x40
	peAligned  = 0x50
	peIndirect = 0x80
	peOmit     = 0xff
)

// bases are what encoded pointers can be relative to.
type bases struct {
	section  uint64 // address of the section the pointer is in
	text     uint64
	data     uint64
	function uint64
	word     int // bytes of an address
}

// pointer is a decoded pointer.
type pointer struct {
	value    uint64
	null     bool // the field itself was zero
	indirect bool // value is the address of the pointer
}

// pointer decodes the pointer at the cursor. The reason is "" unless the encoding is invalid.
func (c *cursor) pointer(enc byte, b *bases) (p pointer, reason string) {
	if enc == peOmit {
		return p, "pointer is omitted"
	}
	if enc&^peIndirect == peAligned {
		addr := b.section + uint64(c.pos)
		c.next(-addr & uint64(b.word-1))
		p.value = c.uint(b.word)
		p.null = p.value == 0
		p.indirect = enc&peIndirect != 0
		return p, ""
	}
	at := b.section + uint64(c.pos)
	var v uint64
	switch enc & 0x0f {
	case peAbsptr:
		v = c.uint(b.word)
	case peSigned:
		v = signExtend(c.uint(b.word), b.word)
	case peULEB128:
		v = c.uleb()
	case peSLEB128:
		v = uint64(c.sleb())
	case peUdata2:
		v = uint64(c.u16())
	case peUdata4:
		v = uint64(c.u32())
	case peUdata8, peSdata8:
		v = c.u64()
	case peSdata2:
		v = uint64(int16(c.u16()))
	case peSdata4:
		v = uint64(int32(c.u32()))
	default:
		return p, "pointer format is not defined"
	}
	p.null = v == 0
	switch enc & 0x70 {
	case 0:
	case pePCRel:
		v += at
	case peTextRel:
		v += b.text
	case peDataRel:
		v += b.data
	case peFuncRel:
		v += b.function
	default:
		return p, "pointer application is not defined"
	}
	p.value = mask(v, b.word)
	p.indirect = enc&peIndirect != 0
	return p, ""
}

// size reads the length that goes with a pointer of an encoding: same format, unsigned, relative to nothing.
func (c *cursor) size(enc byte, word int) uint64 {
	if enc&^peIndirect == peAligned {
		return c.uint(word)
	}
	switch enc & 0x0f {
	case peULEB128:
		return c.uleb()
	case peSLEB128:
		return uint64(c.sleb())
	case peUdata2, peSdata2:
		return uint64(c.u16())
	case peUdata4, peSdata4:
		return uint64(c.u32())
	case peUdata8, peSdata8:
		return c.u64()
	}
	return c.uint(word)
}

// mask cuts a value to a word of 1, 2, 4 or 8 bytes.
func mask(v uint64, word int) uint64 { return v & (^uint64(0) >> (64 - 8*uint(word))) }

func signExtend(v uint64, word int) uint64 {
	shift := 64 - 8*uint(word)
	return uint64(int64(v<<shift) >> shift)
}
