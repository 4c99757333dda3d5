package dwarf

import "encoding/binary"

// cursor reads a section. Positions are offsets in the section. The first read beyond the end sets short, and from
// then on every read gives zero, so that callers check once per entry.
type cursor struct {
	data  []byte
	pos   int
	big   bool
	short bool
	wide  bool // a LEB128 number did not fit 64 bits
}

func (c *cursor) left() int { return len(c.data) - c.pos }

func (c *cursor) fail() {
	c.short = true
	c.pos = len(c.data)
}

func (c *cursor) u8() byte {
	if c.pos >= len(c.data) {
		c.fail()
		return 0
	}
	b := c.data[c.pos]
	c.pos++
	return b
}

// next returns the next n bytes, nil if there are not that many.
func (c *cursor) next(n uint64) []byte {
	if n > uint64(c.left()) {
		c.fail()
		return nil
	}
	b := c.data[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return b
}

func (c *cursor) u16() uint16 {
	b := c.next(2)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (c *cursor) u32() uint32 {
	b := c.next(4)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (c *cursor) u64() uint64 {
	b := c.next(8)
	switch {
	case b == nil:
		return 0
	case c.big:
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}

// uint reads an unsigned number of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 4:
		return uint64(c.u32())
	}
	return c.u64()
}

// uleb reads an unsigned LEB128 number. Padding with zero bits is allowed to any length, as assemblers write it.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if c.pos >= len(c.data) {
			c.fail()
			return 0
		}
		b := c.data[c.pos]
		c.pos++
		if bits := uint64(b & 0x7f); shift < 64 {
			v |= bits << shift
			if shift > 57 && bits>>(64-shift) != 0 {
				c.wide = true
			}
		} else if bits != 0 {
			c.wide = true
		}
		if b&0x80 == 0 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if c.pos >= len(c.data) {
			c.fail()
			return 0
		}
		b := c.data[c.pos]
		c.pos++
		bits := uint64(b & 0x7f)
		switch {
		case shift < 63:
			v |= bits << shift
		default: // at shift 63 one bit is left; every other bit must repeat the sign
			if shift == 63 {
				v |= bits << 63
			}
			if sign := uint64(int64(v)>>63) & 0x7f; bits != sign {
				c.wide = true
			}
		}
		if b&0x80 == 0 {
			if shift < 57 && b&0x40 != 0 {
				v |= ^uint64(0) << (shift + 7)
			}
			return int64(v)
		}
	}
}

// text reads bytes up to a zero byte, which it skips.
func (c *cursor) text() []byte {
	for i := c.pos; i < len(c.data); i++ {
		if c.data[i] == 0 {
			s := c.data[c.pos:i]
			c.pos = i + 1
			return s
		}
	}
	c.fail()
	return nil
}
