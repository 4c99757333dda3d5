package symfile

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// slow reads the record at s.pos whatever its form: it finds its end, takes it apart as tolerantly as the most
// tolerant consumer would, and lists every departure from canonical form.
func (s *Scanner) slow(r *Record) {
	start := s.pos
	r.Kind, r.Multiple, r.OldForm, r.Usable = Unknown, false, false, false
	r.Addr, r.Size, r.ParamSize, r.Number, r.FileID, r.Origin, r.Nest = 0, 0, 0, 0, 0, 0, 0
	r.Win = WinFields{}
	r.TextID = -1
	end, eol := s.lineEnd(start)
	r.Span, r.EOL = Span{start, end}, eol
	r.Text = Span{end, end}
	s.pos = end + eol

	p := lineParser{data: s.data, pos: start, end: end, rec: r}
	if start == 0 && bytes.HasPrefix(s.data, bom) {
		p.problem(ByteOrderMark, "", 0, len(bom))
		p.pos = len(bom)
	}
	p.record()
	p.bytes(start, end)
	switch {
	case eol == 0 && r.Kind != Blank:
		p.problem(NoFinalNewline, "", end, end)
	case eol == 1 && s.data[end] == '\r':
		p.problem(LoneCR, "", end, end+1)
	}
	sortProblems(r.Problems)
}

var bom = []byte("\xef\xbb\xbf")

// lineEnd finds the end of the record that begins at start and the length of its terminator: LF, any number of CR
// before an LF, or a CR alone. It looks no further than the record reaches, whatever the file's line ends are.
func (s *Scanner) lineEnd(start int) (end, eol int) {
	for p, window := start, 128; p < len(s.data); p, window = p+window, 4<<10 {
		block := s.data[p:min(p+window, len(s.data))]
		n := bytes.IndexByte(block, '\n')
		if n >= 0 {
			block = block[:n]
		}
		if i := bytes.IndexByte(block, '\r'); i >= 0 {
			return p + i, s.crEnd(p + i)
		}
		if n >= 0 {
			return p + n, 1
		}
	}
	return len(s.data), 0
}

// crEnd returns the length of the terminator that begins with the CR at p.
func (s *Scanner) crEnd(p int) int {
	if p >= s.crRun { // a run of CRs is measured once, however many records it ends
		for s.crRun = p; s.crRun < len(s.data) && s.data[s.crRun] == '\r'; s.crRun++ {
		}
	}
	if s.crRun < len(s.data) && s.data[s.crRun] == '\n' {
		return s.crRun + 1 - p
	}
	return 1
}

// lineParser takes one line apart.
type lineParser struct {
	data     []byte
	pos, end int
	rec      *Record
	bad      bool // a field the kind needs could not be read
}

// maxProblems bounds what is said of one record: a hostile line can be wrong in every byte.
const maxProblems = 8

func (p *lineParser) problem(code ProblemCode, field string, off, end int) {
	ps := p.rec.Problems
	for i := range ps {
		if ps[i].Code == code && ps[i].Field == field {
			return // one of a sort is enough
		}
	}
	if len(ps) < maxProblems {
		p.rec.Problems = append(ps, Problem{code, field, Span{off, end}})
	}
}

// bytes looks for bytes that no record may hold.
func (p *lineParser) bytes(start, end int) {
	text := p.data[start:end]
	for i := 0; i < len(text); {
		i += plainPrefix(text[i:])
		if i == len(text) {
			return
		}
		c := text[i]
		switch {
		case c == 0:
			p.problem(NULByte, "", start+i, start+i+1)
			for i+1 < len(text) && text[i+1] == 0 {
				i++
			}
		case c == '\t':
			if p.inName(start + i) {
				p.problem(ControlByte, "", start+i, start+i+1)
			} else {
				p.problem(Tab, "", start+i, start+i+1)
			}
		case c < 0x20 || c == 0x7f:
			p.problem(ControlByte, "", start+i, start+i+1)
		default:
			r, n := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && n <= 1 {
				j := i + 1
				for j < len(text) && text[j]&0xc0 == 0x80 {
					j++
				}
				p.problem(InvalidUTF8, "", start+i, start+j)
				n = j - i
			} else if r >= 0x80 && r < 0xa0 {
				p.problem(ControlByte, "", start+i, start+i+n)
			}
			i += n
			continue
		}
		i++
		if len(p.rec.Problems) == maxProblems {
			return
		}
	}
}

// inName reports whether a position belongs to a name, where a TAB separates nothing.
func (p *lineParser) inName(at int) bool {
	switch p.rec.Kind {
	case File, InlineOrigin, Func, Public:
		return p.rec.Text.Off <= at && at < p.rec.Text.End
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// skip passes over the blanks at pos and returns how many there were.
func (p *lineParser) skip() int {
	n := p.pos
	for p.pos < p.end && isBlank(p.data[p.pos]) {
		p.pos++
	}
	return p.pos - n
}

// separator passes over the blanks between two fields.
func (p *lineParser) separator() {
	start := p.pos
	if n := p.skip(); n > 1 && p.pos < p.end {
		p.problem(RepeatedBlank, "", start, p.pos)
	}
}

// word takes the next field; empty at the end of the line.
func (p *lineParser) word() Span {
	p.separator()
	start := p.pos
	for p.pos < p.end && !isBlank(p.data[p.pos]) {
		p.pos++
	}
	return Span{start, p.pos}
}

func (p *lineParser) peek() Span {
	save, n := p.pos, len(p.rec.Problems)
	w := p.word()
	p.pos = save
	p.rec.Problems = p.rec.Problems[:n]
	return w
}

func (p *lineParser) text(w Span) []byte { return p.data[w.Off:w.End] }

// trailing reports blanks at the end of the line and drops them.
func (p *lineParser) trailing() {
	end := p.end
	for end > p.pos && isBlank(p.data[end-1]) {
		end--
	}
	if end < p.end {
		p.problem(TrailingBlank, "", end, p.end)
		p.end = end
	}
}

func (p *lineParser) record() {
	r := p.rec
	start := p.pos
	if p.skip(); p.pos == p.end {
		r.Kind = Blank
		if p.pos > start {
			p.problem(TrailingBlank, "", start, p.end)
		}
		return
	}
	if p.pos > start {
		p.problem(LeadingBlank, "", start, p.pos)
	}
	begin := p.pos
	p.trailing()
	w := p.word()
	switch string(p.text(w)) {
	case "MODULE":
		r.Kind = Module
		p.module()
	case "INFO":
		r.Kind = Info
		p.separator()
		r.Text = Span{p.pos, p.end}
		if r.Text.Len() == 0 {
			p.missing("text")
		}
	case "FILE":
		r.Kind = File
		r.FileID = p.dec("id", 0)
		p.name("name")
	case "INLINE_ORIGIN":
		r.Kind = InlineOrigin
		p.inlineOrigin()
	case "INLINE":
		r.Kind = Inline
		p.inline()
	case "FUNC":
		r.Kind = Func
		p.symbol()
	case "PUBLIC":
		r.Kind = Public
		p.symbol()
	case "STACK":
		p.stack(w)
	default:
		p.pos = begin
		p.lineRecord(w)
	}
	r.Usable = !p.bad && r.Kind != Unknown
}

// module only looks at what every reader needs; the fields themselves are judged by whoever cares.
func (p *lineParser) module() {
	p.separator()
	p.rec.Text = Span{p.pos, p.end}
	for _, field := range [...]string{"os", "arch", "id"} {
		if w := p.word(); w.Len() == 0 {
			p.missing(field)
			return
		}
	}
	if p.skip(); p.pos == p.end {
		p.missing("name")
	}
}

func (p *lineParser) missing(field string) {
	if !p.bad {
		p.problem(MissingField, field, p.end, p.end)
	}
	p.bad = true
}

// name takes the rest of the line as free text.
func (p *lineParser) name(field string) {
	if p.separator(); p.pos == p.end {
		if !p.bad {
			p.problem(EmptyName, field, p.end, p.end)
		}
		p.bad = true
	}
	p.rec.Text = Span{p.pos, p.end}
}

// hex reads a hexadecimal field of at most max (a 16-, 31-, 32- or 64-bit maximum).
func (p *lineParser) hex(field string, max uint64) uint64 {
	w := p.word()
	if w.Len() == 0 {
		p.missing(field)
		return 0
	}
	v, ok := p.hexValue(field, w, max)
	if !ok {
		p.bad = true
	}
	return v
}

func (p *lineParser) hexValue(field string, w Span, max uint64) (uint64, bool) {
	t := p.text(w)
	if t[0] == '+' || t[0] == '-' {
		if _, digits := parseHex(t[1:]); digits && len(t) > 1 {
			p.problem(Sign, field, w.Off, w.End)
			v, _ := parseHex(t[1:])
			if t[0] == '-' {
				return -v, false // readers wrap it to a huge address
			}
			return v, true
		}
		p.problem(BadHex, field, w.Off, w.End)
		return 0, false
	}
	if len(t) > 2 && t[0] == '0' && (t[1] == 'x' || t[1] == 'X') {
		if v, ok := parseHex(t[2:]); ok {
			p.problem(HexPrefix, field, w.Off, w.End)
			return v, true
		}
		p.problem(BadHex, field, w.Off, w.End)
		return 0, false
	}
	v, ok := parseHex(t)
	if !ok {
		if v == math.MaxUint64 {
			p.problem(Range64, field, w.Off, w.End)
		} else {
			p.problem(BadHex, field, w.Off, w.End)
		}
		return 0, false
	}
	for _, c := range t {
		if 'A' <= c && c <= 'F' {
			p.problem(UpperCase, field, w.Off, w.End)
			break
		}
	}
	switch {
	case v == math.MaxUint64:
		p.problem(Range64, field, w.Off, w.End)
		return v, false
	case v > max && v <= math.MaxUint32 && max == math.MaxUint16:
		p.problem(Range16, field, w.Off, w.End)
	case v > max:
		p.problem(Range32, field, w.Off, w.End)
	case max == math.MaxUint64 && len(t) > 16, max <= math.MaxUint32 && len(t) > 8:
		p.problem(LeadingZeroOverrun, field, w.Off, w.End)
	}
	return v, true
}

// parseHex reads digits of either case. Not ok: no digits, another character, or (value all ones) overflow.
func parseHex(t []byte) (v uint64, ok bool) {
	overflow := false
	for _, c := range t {
		h := lowerHex[c]
		if c >= 'A' && c <= 'F' {
			h = c - 'A' + 10
		}
		if h > 15 {
			return 0, false
		}
		overflow = overflow || v>>60 != 0
		v = v<<4 | uint64(h)
	}
	if overflow {
		return math.MaxUint64, false
	}
	return v, len(t) > 0
}

// dec reads a decimal field that must not be below min.
func (p *lineParser) dec(field string, min int64) int64 {
	w := p.word()
	if w.Len() == 0 {
		p.missing(field)
		return 0
	}
	v, ok := p.decValue(field, w, min)
	if !ok {
		p.bad = true
	}
	return v
}

func (p *lineParser) decValue(field string, w Span, min int64) (int64, bool) {
	t := p.text(w)
	digits := t
	neg := t[0] == '-'
	if neg || t[0] == '+' {
		digits = t[1:]
	}
	if len(digits) == 0 {
		p.problem(BadDecimal, field, w.Off, w.End)
		return 0, false
	}
	var v int64
	overflow := false
	for _, c := range digits {
		if c < '0' || c > '9' {
			if len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x' {
				p.problem(HexPrefix, field, w.Off, w.End)
			} else {
				p.problem(BadDecimal, field, w.Off, w.End)
			}
			return 0, false
		}
		if v > (math.MaxInt64-9)/10 {
			overflow = true
			v = math.MaxInt64 / 10
			continue
		}
		v = v*10 + int64(c-'0')
	}
	if overflow {
		p.problem(Range64, field, w.Off, w.End)
		return 0, false
	}
	switch {
	case neg && -v < min:
		p.problem(NegativeNumber, field, w.Off, w.End)
		return -v, false
	case neg && v != 0:
		return -v, true
	case neg || t[0] == '+':
		p.problem(Sign, field, w.Off, w.End)
	case v > math.MaxInt32:
		p.problem(Range32, field, w.Off, w.End)
	case len(t) > 10:
		p.problem(LeadingZeroOverrun, field, w.Off, w.End)
	}
	return v, true
}

// symbol: [m] address [size] param_size name.
func (p *lineParser) symbol() {
	r := p.rec
	if w := p.peek(); w.Len() == 1 && p.data[w.Off] == 'm' {
		p.word()
		r.Multiple = true
	} else if w.Len() > 0 && !p.looksNumeric(w) {
		// Another word where only `m` may stand, if an address follows it.
		save, n := p.pos, len(r.Problems)
		p.word()
		if next := p.peek(); next.Len() > 0 && p.isHex(next) && p.manyWords(4) {
			p.problem(BadMark, "mark", w.Off, w.End)
			p.bad = true
		} else {
			p.pos, r.Problems = save, r.Problems[:n]
		}
	}
	r.Addr = p.hex("address", math.MaxUint64)
	if r.Kind == Func {
		if p.nameInstead("size") {
			return
		}
		r.Size = p.hex("size", math.MaxUint32)
	}
	if p.nameInstead("param_size") {
		return
	}
	r.ParamSize = p.hex("param_size", math.MaxInt32)
	p.name("name")
}

// nameInstead tells a name that stands where a size is due from a damaged size, and takes it.
func (p *lineParser) nameInstead(field string) bool {
	w := p.peek()
	if w.Len() == 0 || p.bad || p.looksNumeric(w) || p.signedHex(w) {
		return false
	}
	p.separator()
	p.problem(MissingField, field, w.Off, w.End)
	p.bad = true
	p.name("name")
	return true
}

func (p *lineParser) manyWords(n int) bool {
	save := *p
	count := len(p.rec.Problems)
	defer func() { p.rec.Problems = p.rec.Problems[:count]; p.pos = save.pos }()
	for ; n > 0; n-- {
		if p.word().Len() == 0 {
			return false
		}
	}
	return true
}

func (p *lineParser) isHex(w Span) bool {
	_, ok := parseHex(p.text(w))
	return ok
}

// signedHex: digits behind a sign or 0x.
func (p *lineParser) signedHex(w Span) bool {
	t := p.text(w)
	if t[0] == '+' || t[0] == '-' {
		t = t[1:]
	}
	if len(t) > 2 && t[0] == '0' && t[1]|0x20 == 'x' {
		t = t[2:]
	}
	_, ok := parseHex(t)
	return ok
}

// looksNumeric reports whether a word was meant as a number: it begins with a digit, behind a sign or not, or is
// hexadecimal.
func (p *lineParser) looksNumeric(w Span) bool {
	c := p.data[w.Off]
	if (c == '-' || c == '+') && w.Len() > 1 {
		c = p.data[w.Off+1]
	}
	return c >= '0' && c <= '9' || p.isHex(w)
}

// inlineOrigin: id [file] name. An all-digit word behind the id is the old form's file.
func (p *lineParser) inlineOrigin() {
	r := p.rec
	r.Origin = p.dec("id", 0)
	if w := p.peek(); w.Len() > 0 && p.allDigits(w) {
		r.OldForm = true
		r.FileID = p.dec("file", -1)
	}
	p.name("name")
}

func (p *lineParser) allDigits(w Span) bool {
	t := p.text(w)
	if t[0] == '-' && len(t) > 1 {
		t = t[1:]
	}
	for _, c := range t {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// inline: nest call_line [call_file] origin (address size)+. The number of words chooses the form, as in Google's
// reader.
func (p *lineParser) inline() {
	r := p.rec
	save, count := p.pos, 0
	for p.word().Len() > 0 {
		count++
	}
	p.pos = save
	r.Problems = dropSeparators(r.Problems)
	r.OldForm = count%2 == 1
	r.Nest = p.dec("nest", 0)
	r.Number = p.dec("call_line", 0)
	r.FileID = -1
	if !r.OldForm {
		r.FileID = p.dec("call_file", -1)
	}
	r.Origin = p.dec("origin", 0)
	p.separator()
	r.Text = Span{p.pos, p.end}
	r.Addr = p.hex("address", math.MaxUint64)
	r.Size = p.hex("size", math.MaxUint32)
	for p.pos < p.end && !p.bad {
		if w := p.peek(); w.Len() == 0 {
			break
		}
		p.hex("address", math.MaxUint64)
		p.hex("size", math.MaxUint32)
	}
	if r.OldForm && !p.bad {
		// In the old form's place of the origin stands what may be the new form's file: values that fit both.
		p.problem(InlineParity, "", r.Span.Off, p.end)
	}
}

func dropSeparators(ps []Problem) []Problem {
	out := ps[:0]
	for _, x := range ps {
		if x.Code != RepeatedBlank {
			out = append(out, x)
		}
	}
	return out
}

func (p *lineParser) stack(keyword Span) {
	r := p.rec
	w := p.word()
	switch string(p.text(w)) {
	case "CFI":
		r.Kind = StackCFI
		if i := p.peek(); string(p.text(i)) == "INIT" {
			p.word()
			r.Kind = StackCFIInit
		}
		r.Addr = p.hex("address", math.MaxUint64)
		if r.Kind == StackCFIInit {
			r.Size = p.hex("size", math.MaxUint32)
		}
		p.name("rules")
	case "WIN":
		r.Kind = StackWin
		f := &r.Win
		f.Type = p.hex("type", math.MaxUint32)
		for _, x := range [...]struct {
			name string
			v    *uint64
			max  uint64
		}{
			{"rva", &r.Addr, math.MaxUint32}, {"code_size", &r.Size, math.MaxUint32},
			{"prolog_size", &f.Prolog, math.MaxUint16}, {"epilog_size", &f.Epilog, math.MaxUint16},
			{"parameter_size", &r.ParamSize, math.MaxUint32}, {"saved_register_size", &f.SavedRegs, math.MaxUint16},
			{"local_size", &f.Locals, math.MaxUint32}, {"max_stack_size", &f.MaxStack, math.MaxUint32},
			{"has_program_string", &f.HasProgram, math.MaxUint32},
		} {
			*x.v = p.hex(x.name, x.max)
		}
		p.name("program")
	default:
		p.problem(UnknownRecord, "", keyword.Off, max(w.End, keyword.End))
	}
}

// lineRecord: address size line file. A line that is not even nearly one is an unknown record.
func (p *lineParser) lineRecord(first Span) {
	r := p.rec
	var words [5]Span
	n := 0
	save, count := p.pos, len(r.Problems)
	for n < len(words) {
		w := p.word()
		if w.Len() == 0 {
			break
		}
		words[n] = w
		n++
	}
	p.pos, r.Problems = save, r.Problems[:count]
	numeric := 0
	for i := 0; i < min(n, 4); i++ {
		if p.isHex(words[i]) || p.signedHex(words[i]) {
			numeric++
		}
	}
	if p.keywordLike(first) || !(numeric >= 3 || numeric == n && n >= 2 || numeric == n && p.data[first.Off] >= '0' && p.data[first.Off] <= '9') {
		p.problem(UnknownRecord, "", first.Off, first.End)
		return
	}
	r.Kind = Line
	r.Addr = p.hex("address", math.MaxUint64)
	r.Size = p.hex("size", math.MaxUint32)
	r.Number = p.dec("line", 0)
	r.FileID = p.dec("file", 0)
	if p.skip(); p.pos < p.end {
		p.problem(SurplusField, "", p.pos, p.end)
	}
}

// keywordLike tells a word that is no damaged address: without any digit, and with letters that no number has, one if
// all are upper case, two otherwise.
func (p *lineParser) keywordLike(w Span) bool {
	foreign, lower := 0, 0
	for _, c := range p.text(w) {
		if c >= '0' && c <= '9' {
			return false
		}
		if c >= 'a' {
			lower = 1
		}
		if c |= 0x20; c < 'a' || c > 'f' {
			foreign++
		}
	}
	return foreign > lower
}

func sortProblems(ps []Problem) {
	for i := 1; i < len(ps); i++ {
		for j := i; j > 0 && ps[j].Span.Off < ps[j-1].Span.Off; j-- {
			ps[j], ps[j-1] = ps[j-1], ps[j]
		}
	}
}
