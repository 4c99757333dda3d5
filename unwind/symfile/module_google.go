package symfile

import "math"

// This file takes single records apart as Google's reader does, whatever their form: src/processor/tokenize.cc,
// SymbolParseHelper in basic_source_line_resolver.cc, windows_frame_info.h. Offsets are those of the whole input.

// googleTokens cuts data[off:end] into at most limit fields, which are separated by blanks and line ends; the last one
// is the rest of its line, blanks included. Google's Tokenize fails unless exactly limit fields are found.
func googleTokens(data []byte, off, end, limit int, dst []Span) []Span {
	p := off
	for len(dst) < limit-1 {
		for p < end && isGoogleBreak(data[p]) {
			p++
		}
		if p == end {
			return dst
		}
		start := p
		for p < end && !isGoogleBreak(data[p]) {
			p++
		}
		dst = append(dst, Span{start, p})
		if p < end {
			p++ // the separator was overwritten with the field's terminator
		}
	}
	if rest := googleLine(data, p, end); rest.Len() > 0 {
		dst = append(dst, rest)
	}
	return dst
}

// googleLine is C's strtok_r(…, "\r\n").
func googleLine(data []byte, p, end int) Span {
	for p < end && isLineEnd(data[p]) {
		p++
	}
	start := p
	for p < end && !isLineEnd(data[p]) {
		p++
	}
	return Span{start, p}
}

func isGoogleBreak(c byte) bool { return c == ' ' || c == '\r' || c == '\n' }
func isLineEnd(c byte) bool     { return c == '\r' || c == '\n' }

// isSpace is C's isspace, which its number conversions skip.
func isSpace(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }

// strtoull is C's: n is the number of bytes converted, 0 if there is no number. Values that do not fit saturate.
func strtoull(t []byte, base uint64) (v uint64, n int) {
	v, n, negative, overflow := convert(t, base)
	switch {
	case overflow:
		return math.MaxUint64, n
	case negative:
		return -v, n
	}
	return v, n
}

// strtol is C's with a long of 64 bits.
func strtol(t []byte, base uint64) (v int64, n int) {
	u, n, negative, overflow := convert(t, base)
	switch {
	case negative && (overflow || u > 1<<63):
		return math.MinInt64, n
	case negative:
		return -int64(u), n
	case overflow || u > math.MaxInt64:
		return math.MaxInt64, n
	}
	return int64(u), n
}

func convert(t []byte, base uint64) (v uint64, n int, negative, overflow bool) {
	p := 0
	for p < len(t) && isSpace(t[p]) {
		p++
	}
	if p < len(t) && (t[p] == '-' || t[p] == '+') {
		negative = t[p] == '-'
		p++
	}
	if base == 16 && p+2 < len(t) && t[p] == '0' && t[p+1]|0x20 == 'x' && hexDigit(t[p+2]) < 16 {
		p += 2
	}
	start := p
	for p < len(t) {
		d := uint64(hexDigit(t[p]))
		if d >= base {
			break
		}
		if v > (math.MaxUint64-d)/base {
			overflow = true
		}
		v = v*base + d
		p++
	}
	if p == start {
		return 0, 0, false, false
	}
	return v, p, negative, overflow
}

func hexDigit(c byte) uint8 {
	if c >= 'A' && c <= 'F' {
		c |= 0x20
	}
	return lowerHex[c]
}

// ended tells a number that its field ends with. A conversion that found nothing has n == 0, so a field that begins
// with a blank (only the last one of a record can) passes and counts as 0.
func ended(t []byte, n int) bool { return n == len(t) || isGoogleBreak(t[n]) }

func googleHex(t []byte) (uint64, bool) {
	v, n := strtoull(t, 16)
	return v, ended(t, n) && v != math.MaxUint64
}

func googleDec(t []byte, least int64) (int64, bool) {
	v, n := strtol(t, 10)
	return v, ended(t, n) && v != math.MaxInt64 && v >= least
}

// googleFields cuts the fields behind a keyword, where the word m may stand before the first of them.
func googleFields(data []byte, off, end, limit int, buf []Span) (fields []Span, multiple, ok bool) {
	fields = googleTokens(data, off, end, limit-1, buf[:0])
	if len(fields) != limit-1 {
		return nil, false, false
	}
	if first := fields[0]; first.Len() != 1 || data[first.Off] != 'm' {
		return fields, false, true
	}
	rest := fields[limit-2]
	last := googleTokens(data, rest.Off, rest.End, 2, nil)
	if len(last) != 2 {
		return nil, false, false
	}
	return append(fields[1:limit-2], last...), true, true
}

// googleSymbol reads the fields of a FUNC or PUBLIC record from off to end; kind says which.
func googleSymbol(data []byte, off, end int, k Kind, r *Record) bool {
	limit, keyword := 5, len("FUNC ")
	if k == Public {
		limit, keyword = 4, len("PUBLIC ")
	}
	var buf [8]Span
	f, multiple, ok := googleFields(data, off+keyword, end, limit, buf[:])
	if !ok {
		return false
	}
	text := func(i int) []byte { return data[f[i].Off:f[i].End] }
	addr, ok := googleHex(text(0))
	if !ok {
		return false
	}
	i := 1
	var size uint64
	if k == Func {
		if size, ok = googleHex(text(1)); !ok {
			return false
		}
		i = 2
	}
	params, n := strtol(text(i), 16)
	if !ended(text(i), n) || params == math.MaxInt64 || params < 0 {
		return false
	}
	r.Addr, r.Size, r.ParamSize, r.Multiple, r.Text = addr, size, uint64(uint32(params)), multiple, f[i+1]
	return true
}

// googleSourceLine reads a line record. Numbers are kept in 32 bits.
func googleSourceLine(data []byte, off, end int, r *Record) bool {
	var buf [4]Span
	f := googleTokens(data, off, end, 4, buf[:0])
	if len(f) != 4 {
		return false
	}
	var ok [4]bool
	r.Addr, ok[0] = googleHex(data[f[0].Off:f[0].End])
	r.Size, ok[1] = googleHex(data[f[1].Off:f[1].End])
	r.Number, ok[2] = googleDec(data[f[2].Off:f[2].End], 0)
	r.FileID, ok[3] = googleDec(data[f[3].Off:f[3].End], 0)
	r.Number, r.FileID = int64(int32(r.Number)), int64(int32(r.FileID))
	return ok == [4]bool{true, true, true, true}
}

// googleFile reads a FILE record.
func googleFile(data []byte, off, end int, r *Record) bool {
	var buf [2]Span
	f := googleTokens(data, off+len("FILE "), end, 2, buf[:0])
	if len(f) != 2 {
		return false
	}
	id, ok := googleDec(data[f[0].Off:f[0].End], 0)
	r.FileID, r.Text = int64(int32(id)), f[1]
	return ok
}

// googleOrigin reads an INLINE_ORIGIN record of either form: it is the old one, with a file id, if the word behind the
// id has nothing but digits in it.
func googleOrigin(data []byte, off, end int, r *Record) bool {
	var buf [2]Span
	f := googleTokens(data, off+len("INLINE_ORIGIN "), end, 2, buf[:0])
	if len(f) != 2 {
		return false
	}
	id, ok := googleDec(data[f[0].Off:f[0].End], 0)
	if !ok {
		return false
	}
	r.OldForm = true
	for i, c := range data[f[1].Off:f[1].End] {
		if c == ' ' {
			break
		}
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			r.OldForm = false
			break
		}
	}
	if r.OldForm {
		if f = googleTokens(data, f[1].Off, f[1].End, 2, buf[:0]); len(f) != 2 {
			return false
		}
		if r.FileID, ok = googleDec(data[f[0].Off:f[0].End], -1); !ok {
			return false
		}
	}
	r.Origin, r.Text = int64(int32(id)), f[1]
	return true
}

// maxInlineTokens is where Google's tokenizer stops; what remains of the line is read as the last field.
const maxInlineTokens = 512

// googleInline reads an INLINE record and calls each for its ranges. The number of fields tells the form.
func googleInline(data []byte, off, end int, r *Record, each func(addr, size uint64)) bool {
	var buf [16]Span
	f := googleTokens(data, off+len("INLINE "), end, maxInlineTokens, buf[:0])
	if len(f) < 5 {
		return false
	}
	text := func(i int) []byte { return data[f[i].Off:f[i].End] }
	var ok bool
	if r.Nest, ok = googleDec(text(0), 0); !ok {
		return false
	}
	if r.Number, ok = googleDec(text(1), 0); !ok {
		return false
	}
	i := 2
	r.FileID = -1
	if r.OldForm = len(f)%2 != 0; !r.OldForm {
		if r.FileID, ok = googleDec(text(2), -1); !ok {
			return false
		}
		i = 3
	}
	if r.Origin, ok = googleDec(text(i), 0); !ok {
		return false
	}
	pairs := i + 1
	for i = pairs; i < len(f); i++ {
		if _, ok := googleHex(text(i)); !ok {
			return false
		}
	}
	r.Nest, r.Number, r.FileID, r.Origin = int64(int32(r.Nest)), int64(int32(r.Number)), int64(int32(r.FileID)), int64(int32(r.Origin))
	if each != nil {
		for i = pairs; i+1 < len(f); i += 2 {
			addr, _ := googleHex(text(i))
			size, _ := googleHex(text(i + 1))
			each(addr, size)
		}
	}
	return true
}

// stackPlatform finds the word behind STACK and where the fields behind it begin. Where nothing stands behind the word
// Google's reader steps over the end of the record, into the next one: bare says so.
func stackPlatform(data []byte, off, end int) (platform Span, fields int, bare bool) {
	p := off + len("STACK ")
	for p < end && data[p] == ' ' {
		p++
	}
	start := p
	for p < end && data[p] != ' ' {
		p++
	}
	return Span{start, p}, p + 1, p == end
}

// googleCFI reads the fields of a STACK CFI record. Numbers are not checked: what is none counts as 0.
func googleCFI(data []byte, off, end int, r *Record) bool {
	f := googleTokens(data, off, end, 2, nil)
	if len(f) == 0 {
		return false
	}
	r.Kind = StackCFI
	if string(data[f[0].Off:f[0].End]) == "INIT" {
		if f = googleTokens(data, off, end, 4, f[:0]); len(f) != 4 {
			return false
		}
		r.Kind = StackCFIInit
		r.Size, _ = strtoull(data[f[2].Off:f[2].End], 16)
		f = f[1:]
	} else if len(f) != 2 {
		return false
	}
	r.Addr, _ = strtoull(data[f[0].Off:f[0].End], 16)
	r.Text = f[len(f)-1]
	return true
}

// googleWin reads the fields of a STACK WIN record from off on. Numbers are not checked.
func googleWin(data []byte, off, end int, r *Record) bool {
	var buf [11]Span
	f := googleTokens(data, off, end, 11, buf[:0])
	if len(f) != 11 {
		return false
	}
	hex := func(i int) uint64 {
		v, _ := strtoull(data[f[i].Off:f[i].End], 16)
		return v
	}
	kind, _ := strtol(data[f[0].Off:f[0].End], 16)
	if t := int32(kind); t < 0 || t > 4 {
		return false
	}
	r.Kind, r.Text = StackWin, f[10]
	r.Addr, r.Size, r.ParamSize = hex(1), hex(2), uint64(uint32(hex(5)))
	r.Win = WinFields{Type: uint64(int32(kind)), Prolog: uint64(uint32(hex(3))), Epilog: uint64(uint32(hex(4))),
		SavedRegs: uint64(uint32(hex(6))), Locals: uint64(uint32(hex(7))), MaxStack: uint64(uint32(hex(8))),
		HasProgram: uint64(uint32(hex(9)))}
	return true
}

// googleName reads the name of a record that has been accepted before.
func googleName(data []byte, off int, k Kind) string {
	end := googleLine(data, off, len(data)).End
	var r Record
	ok := false
	switch k {
	case Func, Public:
		ok = googleSymbol(data, off, end, k, &r)
	case File:
		ok = googleFile(data, off, end, &r)
	case InlineOrigin:
		ok = googleOrigin(data, off, end, &r)
	}
	if !ok {
		return ""
	}
	return string(data[r.Text.Off:r.Text.End])
}
