// Package symfile reads Breakpad symbol files: a scanner that yields every record with exact positions, an index of
// what a file holds, and the tables in which the stackwalkers look addresses up.
//
// The grammar is that of Breakpad's docs/symbol_files.md, widened to what producers write and consumers accept, and
// narrowed again by the Problems that each Record carries.
package symfile

import (
	"bytes"
	"math"
)

// MaxSize is the largest input in bytes: offsets are kept in 32 bits.
const MaxSize = math.MaxUint32

// Scanner yields the records of a symbol file one by one, without allocating. It never fails: what cannot be read is
// a record with Problems, and the scan goes on behind it.
//
// Records in canonical form, which is nearly all of a healthy file, take a short path that only confirms the form;
// everything else is taken apart by parser.go.
type Scanner struct {
	data    []byte
	pos     int
	end     int // scan records that begin before end
	fastEnd int // a line feed stands at or after every position below it
	line    int
	crRun   int  // end of the last run of CRs that was measured
	intern  bool // number the rule texts
	texts   textTable
	rec     Record
}

// NewScanner returns a scanner over a whole file.
func NewScanner(data []byte) *Scanner {
	s := new(Scanner)
	s.Reset(data, 0, len(data), 1)
	return s
}

// Reset makes the scanner read the records that begin in data[from:to], of which the first is line number line.
// The bytes behind to must be there: the last record may need them.
func (s *Scanner) Reset(data []byte, from, to, line int) {
	problems, texts := s.rec.Problems[:0], s.texts
	*s = Scanner{data: data, pos: from, end: to, line: line}
	s.rec.Problems = problems
	texts.reset()
	s.texts = texts
	s.fastEnd = bytes.LastIndexByte(data[from:to], '\n') + 1 + from
	s.intern = to-from >= internMin
}

// Record returns the current record. It is valid until the next call of Next.
func (s *Scanner) Record() *Record { return &s.rec }

// Data returns the input.
func (s *Scanner) Data() []byte { return s.data }

// Next advances to the next record; false at the end.
func (s *Scanner) Next() bool {
	if s.pos >= s.end {
		return false
	}
	r := &s.rec
	r.Line = s.line
	s.line++
	if len(r.Problems) > 0 {
		r.Problems = r.Problems[:0]
	}
	if s.pos < s.fastEnd && s.fast(r) {
		return true
	}
	s.slow(r)
	return true
}

// lowerHex maps a lower-case hexadecimal digit to its value, everything else to 0xff.
var lowerHex = func() (t [256]uint8) {
	for i := range t {
		t[i] = 0xff
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c - '0'
	}
	for c := byte('a'); c <= 'f'; c++ {
		t[c] = c - 'a' + 10
	}
	return
}()

// fast reads a record in canonical form. It returns false, having changed nothing that matters, for any other.
func (s *Scanner) fast(r *Record) bool {
	d, p := s.data, s.pos
	switch d[p] {
	case 'S':
		return s.fastStack(r)
	case 'F':
		if at(d, p, "FUNC ") {
			return s.fastSymbol(r, Func, p+5)
		}
		if at(d, p, "FILE ") {
			return s.fastNamed(r, File, p+5)
		}
		return false
	case 'P':
		return at(d, p, "PUBLIC ") && s.fastSymbol(r, Public, p+7)
	case 'I':
		if at(d, p, "INLINE ") {
			return s.fastInline(r, p+7)
		}
		if at(d, p, "INLINE_ORIGIN ") {
			return s.fastNamed(r, InlineOrigin, p+14)
		}
		return false
	case 'M':
		return false
	}
	return s.fastLine(r)
}

func at(d []byte, p int, keyword string) bool {
	return len(d)-p >= len(keyword) && string(d[p:p+len(keyword)]) == keyword
}

// hexField reads lower-case digits up to the blank behind them. next is the position behind the blank, 0 if the form
// is another.
func hexField(d []byte, p, maxDigits int) (v uint64, next int) {
	start := p
	for p < len(d) {
		h := lowerHex[d[p]]
		if h > 15 {
			break
		}
		v = v<<4 | uint64(h)
		p++
	}
	if n := p - start; n == 0 || n > maxDigits || p >= len(d) || d[p] != ' ' {
		return 0, 0
	}
	return v, p + 1
}

// decField is hexField for decimals of at most nine digits, which fit every consumer.
func decField(d []byte, p int) (v int64, next int) {
	start := p
	for p < len(d) {
		c := d[p] - '0'
		if c > 9 {
			break
		}
		v = v*10 + int64(c)
		p++
	}
	if n := p - start; n == 0 || n > 9 || p >= len(d) || d[p] != ' ' {
		return 0, 0
	}
	return v, p + 1
}

// fastLine: address size line file.
func (s *Scanner) fastLine(r *Record) bool {
	d := s.data
	addr, p := hexField(d, s.pos, 16)
	if p == 0 || addr == math.MaxUint64 {
		return false
	}
	size, p := hexField(d, p, 8)
	if p == 0 {
		return false
	}
	number, p := decField(d, p)
	if p == 0 {
		return false
	}
	start, file := p, int64(0)
	for p < len(d) {
		c := d[p] - '0'
		if c > 9 {
			break
		}
		file = file*10 + int64(c)
		p++
	}
	if n := p - start; n == 0 || n > 9 || p >= len(d) {
		return false
	}
	eol := 1
	if d[p] != '\n' {
		if d[p] != '\r' || p+1 >= len(d) || d[p+1] != '\n' {
			return false
		}
		eol = 2
	}
	r.Kind, r.Usable = Line, true
	r.Addr, r.Size, r.Number, r.FileID = addr, size, number, file
	r.Span, r.EOL = Span{s.pos, p}, eol
	s.pos = p + eol
	return true
}

// fastText finds the end of the record whose free text begins at p. Only text that needs no second look passes:
// printable ASCII without blanks at either end or in a row.
func (s *Scanner) fastText(r *Record, p int) bool {
	d := s.data
	n := bytes.IndexByte(d[p:], '\n')
	if n <= 0 {
		return false
	}
	end, eol := p+n, 1
	if d[end-1] == '\r' {
		end, eol = end-1, 2
	}
	if !plain(d[p:end]) {
		return false
	}
	r.Text = Span{p, end}
	r.Span, r.EOL = Span{s.pos, end}, eol
	r.Usable = true
	s.pos = end + eol
	return true
}

// fastRules is fastText for STACK CFI, whose texts repeat: a text that was met before needs no look at all.
func (s *Scanner) fastRules(r *Record, p int) bool {
	r.TextID = -1
	if !s.intern {
		return s.fastText(r, p)
	}
	d := s.data
	h, end := lineHash(d, p)
	if end <= p {
		return s.fastText(r, p)
	}
	id := s.texts.find(d, h, p, end)
	if id < 0 {
		if !plain(d[p:end]) {
			return s.fastText(r, p)
		}
		id = s.texts.add(h, p, end)
	}
	r.TextID = id
	r.Text = Span{p, end}
	r.Span, r.EOL = Span{s.pos, end}, 1
	r.Usable = true
	s.pos = end + 1
	return true
}

func (s *Scanner) fastStack(r *Record) bool {
	d, p := s.data, s.pos
	if !at(d, p, "STACK CFI ") {
		return at(d, p, "STACK WIN ") && s.fastWin(r, p+10)
	}
	p += 10
	if at(d, p, "INIT ") {
		addr, q := hexField(d, p+5, 16)
		if q == 0 || addr == math.MaxUint64 {
			return false
		}
		size, q := hexField(d, q, 8)
		if q == 0 || !s.fastRules(r, q) {
			return false
		}
		r.Kind, r.Addr, r.Size = StackCFIInit, addr, size
		return true
	}
	addr, q := hexField(d, p, 16)
	if q == 0 || addr == math.MaxUint64 || !s.fastRules(r, q) {
		return false
	}
	r.Kind, r.Addr = StackCFI, addr
	return true
}

// fastSymbol: [m] address [size] param_size name, the size only for FUNC.
func (s *Scanner) fastSymbol(r *Record, k Kind, p int) bool {
	d := s.data
	multiple := at(d, p, "m ")
	if multiple {
		p += 2
	}
	addr, p := hexField(d, p, 16)
	if p == 0 || addr == math.MaxUint64 {
		return false
	}
	var size uint64
	if k == Func {
		if size, p = hexField(d, p, 8); p == 0 {
			return false
		}
	}
	params, p := hexField(d, p, 7)
	if p == 0 || !s.fastText(r, p) {
		return false
	}
	r.Kind, r.Multiple = k, multiple
	r.Addr, r.Size, r.ParamSize = addr, size, params
	return true
}

// fastNamed: id name, of FILE and the new form of INLINE_ORIGIN.
func (s *Scanner) fastNamed(r *Record, k Kind, p int) bool {
	d := s.data
	id, p := decField(d, p)
	if p == 0 {
		return false
	}
	if k == InlineOrigin && p < len(d) && (d[p] == '-' || d[p]-'0' <= 9) {
		return false // perhaps the old form
	}
	if !s.fastText(r, p) {
		return false
	}
	r.Kind, r.OldForm = k, false
	if k == File {
		r.FileID = id
	} else {
		r.Origin = id
	}
	return true
}

// fastInline: nest call_line call_file origin (address size)+, the new form.
func (s *Scanner) fastInline(r *Record, p int) bool {
	d := s.data
	nest, p := decField(d, p)
	if p == 0 {
		return false
	}
	number, p := decField(d, p)
	if p == 0 {
		return false
	}
	file := int64(-1)
	if at(d, p, "-1 ") {
		p += 3
	} else if file, p = decField(d, p); p == 0 {
		return false
	}
	origin, p := decField(d, p)
	if p == 0 {
		return false
	}
	text := p
	var addr, size uint64
	for pairs := 0; ; pairs++ {
		a, q := hexField(d, p, 16)
		if q == 0 || a == math.MaxUint64 {
			return false
		}
		p = q
		start, n := p, uint64(0)
		for p < len(d) {
			h := lowerHex[d[p]]
			if h > 15 {
				break
			}
			n = n<<4 | uint64(h)
			p++
		}
		if l := p - start; l == 0 || l > 8 || p >= len(d) {
			return false
		}
		if pairs == 0 {
			addr, size = a, n
		}
		if d[p] != ' ' {
			break
		}
		p++
	}
	eol := 1
	if d[p] != '\n' {
		if d[p] != '\r' || p+1 >= len(d) || d[p+1] != '\n' {
			return false
		}
		eol = 2
	}
	r.Kind, r.OldForm, r.Usable = Inline, false, true
	r.Nest, r.Number, r.FileID, r.Origin = nest, number, file, origin
	r.Addr, r.Size = addr, size
	r.Text = Span{text, p}
	r.Span, r.EOL = Span{s.pos, p}, eol
	s.pos = p + eol
	return true
}

// fastWin: type rva size prolog epilog params saved locals max_stack has_program program.
func (s *Scanner) fastWin(r *Record, p int) bool {
	var v [10]uint64
	for i := range v {
		if v[i], p = hexField(s.data, p, 8); p == 0 {
			return false
		}
	}
	if v[0] > 4 || v[9] > 1 || v[3]|v[4]|v[6] > math.MaxUint16 || !s.fastText(r, p) {
		return false
	}
	r.Kind = StackWin
	r.Addr, r.Size, r.ParamSize = v[1], v[2], v[5]
	r.Win = WinFields{Type: v[0], Prolog: v[3], Epilog: v[4], SavedRegs: v[6], Locals: v[7], MaxStack: v[8], HasProgram: v[9]}
	return true
}
