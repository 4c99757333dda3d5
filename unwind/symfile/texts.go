package symfile

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// A symbol file has hundreds of thousands of STACK CFI records and a few thousand distinct rule texts. A scanner over a
// large input numbers the texts, so that a text is looked at once and everybody behind the scanner knows it by number.
// Finding the end of the line and hashing it are one loop.

// maxTexts bounds the numbered texts; further ones have the number -1.
const maxTexts = 1 << 16

// internMin is the least size of an input, in bytes, that is worth the tables.
const internMin = 1 << 16

type textTable struct {
	texts []Span
	slots []textSlot // open addressing
}

type textSlot struct {
	hash uint64
	off  uint32
	len  uint32 // 0 = free
	id   int32
}

// hashSeed is another in every process, so that nobody can write a file whose texts collide.
var hashSeed = rand.Uint64() | 1

const (
	hashMul  = 0xd6e8feb86659fd93
	newlines = ones * '\n'
)

// lineHash finds the line feed at or behind p and hashes the bytes before it. end is -1 near the end of the data.
func lineHash(d []byte, p int) (h uint64, end int) {
	h = hashSeed
	for p+16 <= len(d) {
		a, b := binary.LittleEndian.Uint64(d[p:]), binary.LittleEndian.Uint64(d[p+8:])
		x := a ^ newlines
		if z := (x - ones) & ^x & highs; z != 0 {
			n := bits.TrailingZeros64(z) &^ 7
			hi, lo := bits.Mul64(a&(1<<n-1)^hashMul, h^uint64(n))
			return hi ^ lo, p + n>>3
		}
		x = b ^ newlines
		if z := (x - ones) & ^x & highs; z != 0 {
			n := bits.TrailingZeros64(z) &^ 7
			hi, lo := bits.Mul64(a^hashMul, b&(1<<n-1)^h^uint64(n)<<56)
			hi, lo = bits.Mul64(hi^lo, hashSeed)
			return hi ^ lo, p + 8 + n>>3
		}
		hi, lo := bits.Mul64(a^hashMul, b^h)
		h = hi ^ lo
		p += 16
	}
	return 0, -1
}

// reset forgets the texts and keeps the memory.
func (t *textTable) reset() {
	if len(t.texts) > 0 {
		t.texts = t.texts[:0]
		clear(t.slots)
	}
}

// find returns the number of data[off:end], -1 if it has none yet.
func (t *textTable) find(data []byte, h uint64, off, end int) int32 {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.len == 0 {
			return -1
		}
		if s.hash == h && int(s.len) == end-off && string(data[s.off:int(s.off)+end-off]) == string(data[off:end]) {
			return s.id
		}
	}
}

// add numbers a text; -1 if there are too many.
func (t *textTable) add(h uint64, off, end int) int32 {
	if len(t.texts) >= maxTexts || end == off {
		return -1
	}
	if 2*len(t.texts) >= len(t.slots) {
		old := t.slots
		t.slots = make([]textSlot, max(4*len(old), 1<<12))
		for _, s := range old {
			if s.len != 0 {
				t.place(s)
			}
		}
	}
	id := int32(len(t.texts))
	t.texts = append(t.texts, Span{off, end})
	t.place(textSlot{h, uint32(off), uint32(end - off), id})
	return id
}

func (t *textTable) place(s textSlot) {
	mask := uint64(len(t.slots) - 1)
	i := s.hash & mask
	for t.slots[i].len != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}
