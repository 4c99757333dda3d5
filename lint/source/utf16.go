package source

import (
	"encoding/binary"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// byteOrder is how text is stored as UTF-16, if it is.
type byteOrder uint8

const (
	notUTF16 byteOrder = iota
	littleEndian
	bigEndian
)

func (o byteOrder) String() string { return [...]string{"", "UTF-16LE", "UTF-16BE"}[o] }

// utf16Order recognises UTF-16 by its byte-order mark, or by every second of the first bytes being NUL, as it is when
// ASCII such as a MODULE record is stored so. PowerShell's redirection writes files of this kind.
func utf16Order(data []byte) byteOrder {
	if len(data) < 2 {
		return notUTF16
	}
	switch mark := binary.BigEndian.Uint16(data); mark {
	case 0xfffe:
		return littleEndian
	case 0xfeff:
		return bigEndian
	}
	const least, most = 4, 16 // characters looked at
	n := min(len(data)/2, most)
	if n < least {
		return notUTF16
	}
	little, big := true, true
	for i := range n {
		first, second := data[2*i] == 0, data[2*i+1] == 0
		little = little && !first && second
		big = big && first && !second
	}
	switch {
	case little:
		return littleEndian
	case big:
		return bigEndian
	}
	return notUTF16
}

// transcode returns the text as UTF-8 without its byte-order mark. Half characters and unpaired surrogates become
// U+FFFD. It fails when the text would be larger than limit bytes.
func (o byteOrder) transcode(data []byte, limit int64) ([]byte, error) {
	unit := binary.LittleEndian.Uint16
	if o == bigEndian {
		unit = binary.BigEndian.Uint16
	}
	if unit(data) == 0xfeff {
		data = data[2:]
	}
	out := make([]byte, 0, len(data)/2+len(data)/16)
	for len(data) >= 2 {
		r := rune(unit(data))
		data = data[2:]
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
			continue
		case utf16.IsSurrogate(r):
			pair := rune(utf8.RuneError)
			if len(data) >= 2 {
				pair = utf16.DecodeRune(r, rune(unit(data)))
			}
			if r = pair; r != utf8.RuneError {
				data = data[2:]
			}
		}
		out = utf8.AppendRune(out, r)
		if int64(len(out)) > limit {
			return nil, fmt.Errorf("the text is more than symlint reads (%d bytes) when it is converted from %s", limit, o)
		}
	}
	if len(data) > 0 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out, nil
}
