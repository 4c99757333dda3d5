package plant

import (
	"strings"
)

// addressed are the kinds of record that begin with an address, whatever follows.
var addressed = []kind{function, public, lineRecord, win, cfiInit, cfiDelta}

// named are the kinds whose last field is a name.
var named = []kind{fileRecord, origin, function, public}

// plainRecords are all kinds but MODULE and INFO.
var plainRecords = []kind{fileRecord, origin, function, inline, lineRecord, public, win, cfiInit, cfiDelta}

var formatKinds = []Kind{
	{"unknown-record", "a letter of the keyword is missing", []string{"format-unknown-record"},
		change(nil, func(f *file, _ int, r *record) {
			k := f.IntN(strings.IndexByte(r.text, ' '))
			r.text = r.text[:k] + r.text[k+1:]
		}, fileRecord, origin, function, inline, public, win, cfiInit, cfiDelta)},
	{"bad-hex", "a digit of an address is not hexadecimal", []string{"format-bad-field", "format-unknown-record"},
		change(nil, func(f *file, i int, r *record) {
			s := []byte(r.fields[r.addrAt()])
			s[f.IntN(len(s))] = 'g'
			f.setField(i, r.addrAt(), string(s))
		}, addressed...)},
	{"hex-prefix", "0x before an address", []string{"format-number-prefix"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, r.addrAt(), "0x"+r.fields[r.addrAt()]) }, addressed...)},
	{"upper-case-hex", "an address in upper case, in a file with no other", []string{"format-number-case"},
		when(canonical, change(func(_ *file, _ int, r *record) bool {
			return strings.ContainsAny(r.fields[r.addrAt()], "abcdef")
		}, func(f *file, i int, r *record) { f.setField(i, r.addrAt(), strings.ToUpper(r.fields[r.addrAt()])) }, addressed...))},
	{"size-over-32-bit", "a size of more than 32 bits", []string{"format-number-range"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, r.sizeAt(), hexText(1<<32|r.size)) }, function, lineRecord, cfiInit)},
	{"address-over-64-bit", "an address of 17 digits", []string{"format-number-range", "format-bad-field", "format-unknown-record"},
		change(nil, func(f *file, i int, r *record) {
			s := r.fields[r.addrAt()]
			f.setField(i, r.addrAt(), "1"+strings.Repeat("0", 16-len(s))+s)
		}, function, public, lineRecord, cfiInit, cfiDelta)},
	{"decimal-over-32-bit", "a source line of more than 32 bits", []string{"format-number-range"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, 2, "4294967296"+r.fields[2]) }, lineRecord)},
	{"plus-sign", "a source line with a plus sign", []string{"format-number-prefix", "format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, 2, "+"+r.fields[2]) }, lineRecord)},
	{"bad-decimal", "a source line that is no number", []string{"format-bad-field"},
		change(nil, func(f *file, i int, r *record) { f.setField(i, 2, r.fields[2]+"z") }, lineRecord)},
	{"missing-field", "a line record without file id", []string{"format-bad-field", "format-unknown-record"},
		change(nil, func(f *file, i int, r *record) { f.setFields(i, r.fields[:3]) }, lineRecord)},
	{"surplus-field", "a line record with a fifth field", []string{"format-bad-field"},
		change(nil, func(_ *file, _ int, r *record) { r.text += " 0" }, lineRecord)},

	{"truncated", "the file ends in the middle of its last record", []string{"format-truncated", "format-no-final-newline"},
		func(f *file) (int, bool) {
			i := len(f.recs) - 1
			if i < 1 || len(f.recs[i].text) < 2 {
				return 0, false
			}
			r := &f.recs[i]
			r.text, r.eol = r.text[:1+f.IntN(len(r.text)-1)], ""
			return i, true
		}},
	{"no-final-newline", "the last record has no line end", []string{"format-no-final-newline"},
		func(f *file) (int, bool) {
			i := len(f.recs) - 1
			if i < 0 || f.recs[i].text == "" || f.recs[i].eol == "" {
				return 0, false
			}
			f.recs[i].eol = ""
			return i, true
		}},
	{"crlf-mixed", "one line ends in CR LF, the others in LF, or the other way round", []string{"format-line-ending"},
		when(uniformEnds, change(nil, func(_ *file, _ int, r *record) {
			if r.eol == "\n" {
				r.eol = "\r\n"
			} else {
				r.eol = "\n"
			}
		}, plainRecords...))},
	{"lone-cr", "one line ends in CR alone", []string{"format-line-ending", "format-encoding"},
		when(uniformEnds, change(func(f *file, i int, r *record) bool { return i+1 < len(f.recs) && r.eol == "\n" },
			func(_ *file, _ int, r *record) { r.eol = "\r" }, plainRecords...))},

	{"bad-utf8", "invalid UTF-8 in a name", []string{"format-encoding"}, inName("\xc3(", "\xff", "\x80")},
	{"nul-byte", "a NUL byte in a name", []string{"format-encoding"}, inName("\x00")},
	{"control-character", "a control character in a name", []string{"format-encoding"}, inName("\x07", "\x1b", "\x7f")},
	{"byte-order-mark", "the file begins with U+FEFF", []string{"format-encoding"},
		func(f *file) (int, bool) {
			if len(f.recs) == 0 || f.recs[0].kind != module {
				return 0, false
			}
			f.recs[0].text = "\ufeff" + f.recs[0].text
			return 0, true
		}},

	{"tab-separator", "a TAB instead of a blank", []string{"format-spacing", "format-unknown-record"},
		change(nil, func(f *file, _ int, r *record) { f.atGap(r, "\t") }, plainRecords...)},
	{"leading-blank", "a blank before the record", []string{"format-spacing", "format-unknown-record"},
		change(nil, func(_ *file, _ int, r *record) { r.text = " " + r.text }, plainRecords...)},
	{"repeated-blank", "two blanks between two fields", []string{"format-spacing"},
		change(nil, func(f *file, _ int, r *record) { f.atGap(r, "  ") }, plainRecords...)},
	{"trailing-blank", "a blank at the end of a record", []string{"format-spacing"},
		change(nil, func(_ *file, _ int, r *record) { r.text += " " }, plainRecords...)},
	{"long-line", "a name of 200 000 bytes", []string{"format-long-line"},
		change(nil, func(f *file, i int, r *record) {
			f.setField(i, len(r.fields)-1, r.rest()+strings.Repeat("_and_so_on", 20000))
		}, named...)},

	{"empty-line", "an empty line between two blocks", []string{"format-blank-line"}, emptyLine(fileRecord, origin, function, public, cfiInit, win)},
	{"empty-line-in-func", "an empty line inside a FUNC block", []string{"format-blank-line"}, emptyLine(inline, lineRecord)},
	{"empty-line-in-cfi", "an empty line inside a STACK CFI block", []string{"format-blank-line"}, emptyLine(cfiDelta)},

	{"file-after-func", "a FILE record behind the first FUNC", []string{"format-record-order"},
		func(f *file) (int, bool) {
			return f.late(fileRecord, f.funcs)
		}},
	{"inline-origin-late", "an INLINE_ORIGIN record behind its first use", []string{"format-record-order"},
		func(f *file) (int, bool) {
			i, ok := f.pick(func(i int, _ *record) bool { return !f.anyBefore(i, function) && f.firstUse(i) >= 0 }, origin)
			if !ok {
				return 0, false
			}
			return f.move(i, i+1, f.blockEnd(f.recs[f.firstUse(i)].block)), true
		}},
	{"func-after-stack", "a FUNC with its lines behind the STACK records", []string{"format-record-order"}, afterStack(function)},
	{"public-after-stack", "a PUBLIC behind the STACK records", []string{"format-record-order"}, afterStack(public)},
}

// canonical reports whether every record is well-formed, which means lower-case numbers too.
func canonical(f *file) bool {
	return !f.any(func(r *record) bool { return r.kind == other && r.text != "" })
}

// uniformEnds reports whether all lines end alike.
func uniformEnds(f *file) bool {
	return len(f.recs) > 2 && !f.any(func(r *record) bool { return r.eol != f.eol })
}

// inName replaces one letter of a name by one of the texts.
func inName(texts ...string) func(*file) (int, bool) {
	letters := func(s string) (at []int) {
		for i := range len(s) {
			if c := s[i] | 0x20; c >= 'a' && c <= 'z' {
				at = append(at, i)
			}
		}
		return at
	}
	return change(
		func(_ *file, _ int, r *record) bool { return len(letters(r.rest())) > 0 },
		func(f *file, i int, r *record) {
			s, at := r.rest(), letters(r.rest())
			k := at[f.IntN(len(at))]
			f.setField(i, len(r.fields)-1, s[:k]+texts[f.IntN(len(texts))]+s[k+1:])
		}, named...)
}

// keywords is how many words the keywords of a record have.
var keywords = [...]int{cfiDelta: 2, cfiInit: 3, win: 2, lineRecord: 0, fileRecord: 1, origin: 1, function: 1, inline: 1, public: 1}

// atGap replaces the blank between two fields, or between the keyword and the first.
func (f *file) atGap(r *record, gap string) {
	first := max(keywords[r.kind], 1)
	k := first + f.IntN(len(r.fields)-first)
	r.text = strings.Join(r.fields[:k], " ") + gap + strings.Join(r.fields[k:], " ")
}

// emptyLine inserts an empty line before a record of one of the kinds.
func emptyLine(kinds ...kind) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		i, ok := f.pick(func(i int, _ *record) bool { return i > 0 }, kinds...)
		if ok {
			f.insert(i, "")
		}
		return i, ok
	}
}

// anyBefore reports whether a record of the kind comes before record i.
func (f *file) anyBefore(i int, k kind) bool {
	for j := range i {
		if f.recs[j].kind == k {
			return true
		}
	}
	return false
}

// late moves a record of kind k, all of which come before the blocks, behind one of the blocks.
func (f *file) late(k kind, blocks []int) (int, bool) {
	i, ok := f.pick(func(i int, _ *record) bool { return !f.anyBefore(i, function) }, k)
	if !ok || len(blocks) == 0 {
		return 0, false
	}
	to := f.blockEnd(blocks[f.IntN(len(blocks))])
	return f.move(i, i+1, to), true
}

// afterStack moves a record, with those that belong to it, to the end of the file, behind STACK records.
func afterStack(k kind) func(*file) (int, bool) {
	return func(f *file) (int, bool) {
		last := len(f.recs) - 1
		if last < 0 || f.recs[last].kind != cfiDelta && f.recs[last].kind != cfiInit && f.recs[last].kind != win {
			return 0, false
		}
		i, ok := f.pick(nil, k)
		if !ok {
			return 0, false
		}
		return f.move(i, f.blockEnd(i), len(f.recs)), true
	}
}
