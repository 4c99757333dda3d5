package rules

import (
	"bytes"

	"github.com/symlint/symlint/unwind/symfile"
)

// googleReading is what Google's reader (BasicSourceLineResolver) makes of a record.
type googleReading uint8

const (
	googleTakes googleReading = iota
	googleDrops               // knows the keyword and cannot read the record
	googleAlien               // does not know the keyword: tries the record as a line record, which fails
)

// googleReads tells what Google's reader makes of a record by itself; whether a line record has a function is not asked.
// It knows a keyword by its letters and the blank behind them, splits fields at blanks but not at TABs, and reads numbers
// with strtoull and strtol.
func googleReads(data []byte, r *symfile.Record) googleReading {
	switch {
	case r.Kind == symfile.Unknown:
		return googleAlien
	case r.Kind == symfile.Blank && r.Span.Len() > 0: // blanks only
		return googleAlien
	case len(r.Problems) == 0:
		return googleTakes
	}
	rec := data[r.Span.Off:r.Span.End]
	if r.Kind != symfile.Line {
		switch blank := bytes.IndexAny(rec, " \t"); {
		case blank < 0 && r.Kind != symfile.Blank, blank >= 0 && rec[blank] == '\t':
			return googleAlien
		}
	}
	stack := r.Kind == symfile.StackCFI || r.Kind == symfile.StackCFIInit || r.Kind == symfile.StackWin
	free := r.Kind == symfile.Module || r.Kind == symfile.Info
	for i := range r.Problems {
		p := &r.Problems[i]
		switch p.Code {
		case symfile.LeadingBlank:
			if r.Kind != symfile.Line {
				return googleAlien
			}
		case symfile.ByteOrderMark:
			return googleAlien
		case symfile.Tab:
			if !stack && !free && !(r.Text.Off <= p.Span.Off && p.Span.Off < r.Text.End && r.Kind != symfile.Inline) {
				return googleDrops
			}
		case symfile.MissingField, symfile.EmptyName:
			if !free {
				return googleDrops
			}
		case symfile.BadHex, symfile.Range64: // no number of a STACK record is checked
			if !stack {
				return googleDrops
			}
		case symfile.BadDecimal, symfile.NegativeNumber, symfile.BadMark:
			return googleDrops
		case symfile.HexPrefix:
			if isDecimal(r.Kind, p.Field) {
				return googleDrops
			}
		case symfile.Sign:
			if p.Field == "param_size" && data[p.Span.Off] == '-' && bytes.Trim(data[p.Span.Off+1:p.Span.End], "0") != nil {
				return googleDrops
			}
		}
	}
	return googleTakes
}

// isDecimal tells the decimal fields from the hexadecimal ones.
func isDecimal(k symfile.Kind, field string) bool {
	switch k {
	case symfile.File, symfile.InlineOrigin:
		return true
	case symfile.Line:
		return field == "line" || field == "file"
	case symfile.Inline:
		return field != "address" && field != "size"
	}
	return false
}

// strtoul is the value C's function of that name finds in a field: its digits up to the first other character.
func strtoul(t []byte) (v uint64) {
	if len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x' {
		t = t[2:]
	}
	for _, b := range t {
		switch c := b | 0x20; {
		case b >= '0' && b <= '9':
			v = v<<4 | uint64(b-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return v
		}
	}
	return v
}
