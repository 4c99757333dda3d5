package symfile

import (
	"encoding/binary"
	"math/bits"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain reports whether text is printable ASCII with single blanks between words and none at the ends: text that is
// the same to every reader. Eight bytes are judged at a time.
func plain(text []byte) bool {
	n := len(text)
	if n == 0 || text[0] == ' ' || text[n-1] == ' ' {
		return false
	}
	var bad, carry uint64 // carry: 0x80 when the byte before the word is a blank
	i := 0
	for ; i+8 <= n; i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		b, blanks := plainWord(w)
		bad |= b | blanks&(blanks<<8|carry)
		carry = blanks >> 56
	}
	if i == n {
		return bad == 0
	}
	var w uint64
	if n >= 8 { // the last eight bytes: the overlap is judged twice
		w = binary.LittleEndian.Uint64(text[n-8:])
		carry = 0
		if n > 8 && text[n-9] == ' ' {
			carry = 0x80
		}
	} else {
		for j := n - 1; j >= 0; j-- {
			w = w<<8 | uint64(text[j])
		}
		w |= ^uint64(0) << (8 * n) & (0x4141414141414141) // fill with letters
	}
	b, blanks := plainWord(w)
	return bad|b|blanks&(blanks<<8|carry) == 0
}

// plainWord judges eight bytes: bad is not 0 if one is no printable ASCII, blanks has the high bit of every byte that is
// a blank (and, harmlessly, of a '!' behind one).
func plainWord(w uint64) (bad, blanks uint64) {
	// Below 0x20 the subtraction borrows (and only ripples out of bytes that are bad themselves); 0x7f + 1 sets the
	// high bit.
	bad = (w | (w - ones*0x20) | (w + ones)) & highs
	x := w ^ ones*0x20
	return bad, (x - ones) & ^x & highs
}

// plainPrefix returns how many leading bytes of text are printable ASCII.
func plainPrefix(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		if bad := (w | (w - ones*0x20) | (w + ones)) & highs; bad != 0 {
			return i + bits.TrailingZeros64(bad)/8
		}
	}
	for ; i < len(text); i++ {
		if text[i] < 0x20 || text[i] > 0x7e {
			return i
		}
	}
	return i
}
