package postfix

import (
	"bytes"
	"math"
)

// isBlank is C's isspace, by which Google's evaluator splits an expression. Rule texts are split by fewer
// characters, see ruleBlank.
func isBlank(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }

// nextToken returns the range of the next token of text at or behind off. off == end means there is none.
func nextToken(text []byte, from int) (off, end int) {
	off = from
	for off < len(text) && isBlank(text[off]) {
		off++
	}
	end = off
	for end < len(text) && !isBlank(text[end]) {
		end++
	}
	return off, end
}

// operator returns the operation a token stands for, or Push when it is no operator.
func operator(token []byte) Code {
	if len(token) != 1 {
		return Push
	}
	switch token[0] {
	case '+':
		return Add
	case '-':
		return Sub
	case '*':
		return Mul
	case '/':
		return Div
	case '%':
		return Mod
	case '@':
		return Align
	case '^':
		return Load
	case '=':
		return Assign
	}
	return Push
}

// literalForm says how far a token is a number.
type literalForm uint8

const (
	notLiteral   literalForm = iota
	goodLiteral              // a number of at most 64 bits
	hugeLiteral              // decimal, but above 64 bits: the evaluator takes it for a name
	hexLiteral               // 0x…: the same
	roughLiteral             // begins like a number and goes on differently: the same
)

type literal struct {
	value uint64 // two's complement
	flags Flags
}

// parseLiteral reads a token the way Google's PopValueOrIdentifier does: an optional '-', then whatever a C++ stream
// extracts into an unsigned word, which may carry a sign of its own ("--5" is 5), with nothing behind.
func parseLiteral(token []byte) (literal, literalForm) {
	var l literal
	rest := token
	negative := false
	if len(rest) > 0 && rest[0] == '-' {
		negative = true
		l.flags |= LeadingMinus
		rest = rest[1:]
	}
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		if l.flags&LeadingMinus != 0 {
			l.flags |= DoubleSign
		}
		negative = negative != (rest[0] == '-')
		rest = rest[1:]
	}
	if len(rest) == 0 || !isDigit(rest[0]) {
		if digits := bytes.TrimLeft(token, "+-"); len(digits) > 0 && isDigit(digits[0]) {
			return literal{}, roughLiteral
		}
		return literal{}, notLiteral
	}
	if len(rest) > 2 && rest[0] == '0' && rest[1]|0x20 == 'x' && allHex(rest[2:]) {
		return literal{}, hexLiteral
	}
	var magnitude uint64
	huge := false
	for _, c := range rest {
		if !isDigit(c) {
			return literal{}, roughLiteral
		}
		d := uint64(c - '0')
		if magnitude > (math.MaxUint64-d)/10 {
			huge = true
		}
		magnitude = magnitude*10 + d
	}
	if huge {
		return literal{}, hugeLiteral
	}
	if magnitude > math.MaxUint32 {
		l.flags |= Over32
	}
	if exceedsSigned(magnitude, negative, math.MaxInt32) {
		l.flags |= OverInt32
	}
	if exceedsSigned(magnitude, negative, math.MaxInt64) {
		l.flags |= OverInt64
	}
	l.value = magnitude
	if negative {
		l.value = -magnitude
	}
	return l, goodLiteral
}

func exceedsSigned(magnitude uint64, negative bool, limit uint64) bool {
	if negative {
		limit++
	}
	return magnitude > limit
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func allHex(s []byte) bool {
	for _, c := range s {
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// isWordByte tells bytes that occur in names from punctuation. Bytes of UTF-8 sequences count as name bytes.
func isWordByte(c byte) bool {
	return isDigit(c) || (c|0x20 >= 'a' && c|0x20 <= 'z') || c == '$' || c == '.' || c == '_' || c >= 0x80
}

func allPunctuation(token []byte) bool {
	for _, c := range token {
		if isWordByte(c) {
			return false
		}
	}
	return true
}
