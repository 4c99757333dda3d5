package symdiff

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/symlint/symlint/unwind/symfile"
)

// unit is what is matched with its like in the other file: a FUNC, a PUBLIC outside of all FUNCs, or unwind records
// that belong to neither.
type unit struct {
	addr, size uint64
	off, end   uint32 // of the record in the file, and where the lines and inlined calls behind it end
	nameOff    uint32
	nameEnd    uint32
	line       uint32
	params     uint32
	name       uint64   // hash; 0 = none
	body, cfi  uint64   // hashes of what the records say: lines and inlined calls; unwind records
	inits      [2]int32 // model.inits[inits[0]:inits[1]] overlap it
	wins       [2]int32
	lineBytes  uint32 // as the records claim
	kind       Kind
	multiple   bool
	rows       bool // there are lines or inlined calls
	close      bool // equal hashes say nothing: look closely
}

func (u *unit) limit() uint64 { return u.addr + u.size }

// initial is a STACK CFI INIT record with its deltas.
type initial struct {
	addr, size uint64
	off, end   uint32
	line       uint32
	hash       uint64
	order      int32
	owned      bool
	close      bool // stray deltas reach into it
}

func (e *initial) limit() uint64 { return e.addr + e.size }

// winEntry is a STACK WIN record.
type winEntry struct {
	addr, size uint64
	off        uint32
	line       uint32
	hash       uint64 // of all but the address
	typ        uint8
}

// public is a PUBLIC record inside the unit it belongs to.
type public struct {
	addr     uint64
	name     uint64 // hash
	off      uint32
	nameOff  uint32
	nameEnd  uint32
	line     uint32
	params   uint32
	unit     int32 // -1 for none
	multiple bool
}

// stray is a STACK CFI record that stands behind an INIT it does not belong to.
type stray struct {
	addr uint64
	off  uint32
}

// model is one file as far as it is kept: its ranges, hashes and where to read on.
type model struct {
	forget  func(from, to int) // may be nil
	data    []byte
	module  symfile.ModuleEntry
	info    []string
	fileIDs idTable // FILE and INLINE_ORIGIN ids to numbers of the comparison's nameTable
	origins idTable
	files   []namedID // as read
	inlined []namedID
	// namesEnd is where the look for FILE and INLINE_ORIGIN records ended, late that there are some behind it.
	namesEnd int
	late     bool

	units   []unit // by address
	publics []public
	inits   []initial // by address, disjoint
	wins    []winEntry
	strays  []stray
	counts  [symfile.KindCount]int
	used    []bool // by file number
	total   Coverage
}

type namedID struct {
	id   int64
	off  uint32 // of the record
	name []byte
}

// forgetEvery is how many bytes are read between two calls of forget.
const forgetEvery = 4 << 20

var seed = maphash.MakeSeed()

func newModel(data []byte) *model {
	if uint64(len(data)) > symfile.MaxSize {
		end := uint64(symfile.MaxSize) // beyond what an int of 32-bit systems holds
		data = data[:end]
	}
	return &model{data: data}
}

// mix adds two values to a hash.
func mix(h, a, b uint64) uint64 {
	hi, lo := bits.Mul64(h^a^0x9e3779b97f4a7c15, b^h>>32^0xd6e8feb86659fd93)
	return hi ^ lo
}

func textHash(b []byte) uint64 { return maphash.Bytes(seed, b) }

// readNames reads the FILE and INLINE_ORIGIN records up to the first FUNC, where writers put them. Whether there are
// more behind it is found out by scan, in passing; then all records are looked at.
func (m *model) readNames(all bool) {
	m.files, m.inlined = m.files[:0], m.inlined[:0]
	s := symfile.NewScanner(m.data)
	for s.Next() {
		r := s.Record()
		switch r.Kind {
		case symfile.File, symfile.InlineOrigin:
			m.name(r)
		case symfile.Func, symfile.Public, symfile.StackCFIInit, symfile.StackWin:
			if !all {
				m.namesEnd = r.Span.Off
				return
			}
		}
	}
	m.namesEnd = len(m.data)
}

func (m *model) name(r *symfile.Record) {
	if !r.Usable {
		return
	}
	n := namedID{off: uint32(r.Span.Off), name: m.data[r.Text.Off:r.Text.End]}
	if r.Kind == symfile.File {
		n.id = r.FileID
		m.files = append(m.files, n)
	} else {
		n.id = r.Origin
		m.inlined = append(m.inlined, n)
	}
}

// part is what one chunk of a file yields.
type part struct {
	units   []unit
	publics []public
	inits   []initial
	wins    []winEntry
	strays  []stray
	infos   []string
	module  symfile.ModuleEntry
	counts  [symfile.KindCount]int
	used    []bool
	lines   int
	late    bool
}

// scan reads all records.
func (m *model) scan(jobs int) {
	*m = model{data: m.data, forget: m.forget, fileIDs: m.fileIDs, origins: m.origins, files: m.files, inlined: m.inlined, namesEnd: m.namesEnd}
	chunks := symfile.Cut(m.data, max(1, min(jobs, len(m.data)>>18)))
	parts := make([]part, len(chunks))
	parallel(jobs, len(chunks), func(i int) { m.scanPart(&parts[i], chunks[i].From, chunks[i].To) })
	line := uint32(0)
	for i := range parts {
		p := &parts[i]
		shift := func(l *uint32) { *l += line }
		for j := range p.units {
			shift(&p.units[j].line)
		}
		for j := range p.publics {
			shift(&p.publics[j].line)
		}
		for j := range p.inits {
			shift(&p.inits[j].line)
		}
		for j := range p.wins {
			shift(&p.wins[j].line)
		}
		line += uint32(p.lines)
		if m.module.Line == 0 {
			m.module = p.module
		}
		for k := range p.counts {
			m.counts[k] += p.counts[k]
		}
		for j, u := range p.used {
			if u {
				m.used = grown(m.used, j)
				m.used[j] = true
			}
		}
		m.late = m.late || p.late
		m.info = append(m.info, p.infos...)
		if i == 0 {
			m.units, m.publics, m.inits, m.wins, m.strays = p.units, p.publics, p.inits, p.wins, p.strays
			continue
		}
		m.units = append(m.units, p.units...)
		m.publics = append(m.publics, p.publics...)
		m.inits = append(m.inits, p.inits...)
		m.wins = append(m.wins, p.wins...)
		m.strays = append(m.strays, p.strays...)
	}
	m.arrange()
}

func grown(s []bool, i int) []bool {
	if i < len(s) {
		return s
	}
	return append(s, make([]bool, i+1-len(s))...)
}

const maxInfo = 256 // INFO records kept, and bytes of each: symbol files have two or three

func (m *model) scanPart(p *part, from, to int) {
	var s symfile.Scanner
	s.Reset(m.data, from, to, 1)
	var texts []uint64 // hashes by TextID
	var f *unit
	var e *initial
	if size := to - from; size > 1<<20 {
		p.units = make([]unit, 0, size/640) // reserved, not touched: costs nothing where it is too much
		p.inits = make([]initial, 0, size/512)
	}
	closeFunc := func(at int) {
		if f != nil {
			f.end = uint32(at)
			f = nil
		}
	}
	closeInit := func(at int) {
		if e != nil {
			e.end = uint32(at)
			e = nil
		}
	}
	forgotten := from
	for s.Next() {
		r := s.Record()
		if m.forget != nil && r.Span.Off-forgotten >= forgetEvery {
			m.forget(forgotten, r.Span.Off)
			forgotten = r.Span.Off
		}
		p.counts[r.Kind]++
		switch r.Kind {
		case symfile.Line:
			if f == nil || !r.Usable {
				continue
			}
			file := m.fileIDs.get(r.FileID)
			if file > 0 {
				p.used = grown(p.used, int(file))
				p.used[file] = true
			}
			f.body = mix(f.body, (r.Addr-f.addr)<<32^r.Size, uint64(r.Number)<<32|uint64(file))
			f.lineBytes += uint32(r.Size)
			f.rows = true
			continue
		case symfile.StackCFI:
			if e == nil || !r.Usable {
				continue
			}
			if r.Addr-e.addr >= e.size {
				p.strays = append(p.strays, stray{r.Addr, uint32(r.Span.Off)})
				continue
			}
			e.hash = mix(e.hash, r.Addr-e.addr, m.rulesHash(r, &texts))
			continue
		case symfile.Inline:
			if f == nil || !r.Usable {
				continue
			}
			f.rows = true
			f.body = mix(f.body, uint64(r.Number)<<8^uint64(r.Nest), uint64(m.origins.get(r.Origin))<<32|uint64(m.callFile(r)))
			m.eachRange(r, func(addr, size uint64) { f.body = mix(f.body, addr-f.addr, size) })
			continue
		case symfile.Blank, symfile.Unknown:
			continue
		}
		at := r.Span.Off
		closeFunc(at)
		closeInit(at)
		if r.Kind == symfile.Module && p.module.Line == 0 {
			p.module = symfile.FindModule(m.data[at : r.Span.End+min(r.EOL, len(m.data)-r.Span.End)])
		}
		if !r.Usable && r.Kind != symfile.Info {
			continue
		}
		switch r.Kind {
		case symfile.File, symfile.InlineOrigin:
			p.late = p.late || at >= m.namesEnd
		case symfile.Info:
			if len(p.infos) < maxInfo {
				text := m.data[r.Span.Off:r.Span.End]
				p.infos = append(p.infos, string(text[:min(len(text), maxInfo)]))
			}
		case symfile.Func:
			p.units = append(p.units, unit{addr: r.Addr, size: r.Size, off: uint32(at), line: uint32(r.Line),
				params: uint32(min(r.ParamSize, 1<<32-1)), multiple: r.Multiple, kind: Function,
				nameOff: uint32(r.Text.Off), nameEnd: uint32(r.Text.End), name: textHash(m.data[r.Text.Off:r.Text.End])})
			f = &p.units[len(p.units)-1]
		case symfile.Public:
			p.publics = append(p.publics, public{addr: r.Addr, off: uint32(at), line: uint32(r.Line),
				params: uint32(min(r.ParamSize, 1<<32-1)), multiple: r.Multiple, unit: -1,
				nameOff: uint32(r.Text.Off), nameEnd: uint32(r.Text.End), name: textHash(m.data[r.Text.Off:r.Text.End])})
		case symfile.StackCFIInit:
			p.inits = append(p.inits, initial{addr: r.Addr, size: r.Size, off: uint32(at), line: uint32(r.Line)})
			e = &p.inits[len(p.inits)-1]
			e.hash = mix(0, r.Size, m.rulesHash(r, &texts))
		case symfile.StackWin:
			w := &r.Win
			h := mix(textHash(m.data[r.Text.Off:r.Text.End]), w.Prolog<<32|w.Epilog, w.SavedRegs<<32|w.Locals)
			h = mix(mix(h, w.MaxStack<<32|w.HasProgram, r.ParamSize), r.Size, w.Type)
			p.wins = append(p.wins, winEntry{addr: r.Addr, size: r.Size, off: uint32(at), line: uint32(r.Line), hash: h,
				typ: uint8(min(w.Type, 255))})
		}
	}
	closeFunc(to)
	closeInit(to)
	p.lines = s.Record().Line
}

// rulesHash is the hash of a STACK CFI record's rules.
func (m *model) rulesHash(r *symfile.Record, texts *[]uint64) uint64 {
	if id := int(r.TextID); id >= 0 {
		for len(*texts) <= id {
			*texts = append(*texts, 0)
		}
		if (*texts)[id] == 0 {
			(*texts)[id] = textHash(m.data[r.Text.Off:r.Text.End]) | 1
		}
		return (*texts)[id]
	}
	return textHash(m.data[r.Text.Off:r.Text.End]) | 1
}

// callFile is the number of the file in which an inlined call stands.
func (m *model) callFile(r *symfile.Record) uint32 {
	if r.FileID < 0 {
		return 0
	}
	return m.fileIDs.get(r.FileID)
}

// eachRange calls f for the ranges of an INLINE record.
func (m *model) eachRange(r *symfile.Record, f func(addr, size uint64)) {
	text := m.data[r.Text.Off:r.Text.End]
	for len(text) > 0 {
		addr, rest, ok := hexWord(text)
		if !ok {
			return
		}
		size, rest, ok := hexWord(rest)
		if !ok {
			return
		}
		f(addr, size)
		text = rest
	}
}

// hexWord reads a hexadecimal number and what follows it.
func hexWord(b []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	if i+2 < len(b) && b[i] == '0' && b[i+1]|0x20 == 'x' {
		i += 2
	}
	start := i
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case c-'0' <= 9:
			v = v<<4 | uint64(c-'0')
		case (c|0x20)-'a' <= 5:
			v = v<<4 | uint64((c|0x20)-'a'+10)
		default:
			return v, b[i:], i > start
		}
	}
	return v, nil, i > start
}

// arrange puts the records of a file in order and finds out what belongs to what.
func (m *model) arrange() {
	byAddress := func(a, b unit) int { return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.off, b.off)) }
	if !slices.IsSortedFunc(m.units, byAddress) {
		slices.SortFunc(m.units, byAddress)
	}
	slices.SortFunc(m.publics, func(a, b public) int { return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.off, b.off)) })
	slices.SortFunc(m.wins, func(a, b winEntry) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.typ, b.typ), cmp.Compare(b.size, a.size), cmp.Compare(a.off, b.off))
	})
	slices.SortStableFunc(m.strays, func(a, b stray) int { return cmp.Compare(a.addr, b.addr) })
	m.arrangeInits()
	m.publicUnits()
	m.own()
	slices.Sort(m.info)
}

// arrangeInits sorts the INIT records. Of records that overlap the first in the file counts, as in Google's reader.
func (m *model) arrangeInits() {
	for i := range m.inits {
		m.inits[i].order = int32(i)
	}
	byAddress := func(a, b initial) int { return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.order, b.order)) }
	if !slices.IsSortedFunc(m.inits, byAddress) {
		slices.SortFunc(m.inits, byAddress)
	}
	healthy := true
	for i := range m.inits {
		e := &m.inits[i]
		if e.size == 0 || e.limit() < e.addr || i > 0 && m.inits[i-1].limit() > e.addr {
			healthy = false
			break
		}
	}
	if !healthy {
		byOrder := make([]int32, len(m.inits))
		for i := range m.inits {
			byOrder[m.inits[i].order] = int32(i)
		}
		var ranges symfile.RangeMap[int32]
		ranges.Fill(len(m.inits), func(i int) (uint64, uint64, int32) {
			e := &m.inits[byOrder[i]]
			return e.addr, e.size, byOrder[i]
		})
		kept := make([]initial, 0, ranges.Len())
		for i := range ranges.Len() {
			kept = append(kept, m.inits[ranges.At(i).Value])
		}
		m.inits = kept
	}
	for _, s := range m.strays {
		if i := m.initAt(s.addr); i >= 0 {
			m.inits[i].close = true
		}
	}
}

// initAt returns the INIT record that covers an address, or -1.
func (m *model) initAt(addr uint64) int {
	i, found := slices.BinarySearchFunc(m.inits, addr, func(e initial, a uint64) int { return cmp.Compare(e.addr, a) })
	if found {
		return i
	}
	if i--; i >= 0 && addr-m.inits[i].addr < m.inits[i].size {
		return i
	}
	return -1
}

// publicUnits makes units of the PUBLIC records that lie in no FUNC; the others belong to the FUNC around them.
func (m *model) publicUnits() {
	funcs := m.units
	reach := make([]uint64, len(funcs)) // the greatest end of the functions up to here
	for i := range funcs {
		reach[i] = funcs[i].limit()
		if i > 0 {
			reach[i] = max(reach[i], reach[i-1])
		}
	}
	var added []unit
	for i := range m.publics {
		p := &m.publics[i]
		at, _ := slices.BinarySearchFunc(funcs, p.addr+1, func(u unit, a uint64) int { return cmp.Compare(u.addr, a) })
		inFunc := at > 0 && (funcs[at-1].addr == p.addr || reach[at-1] > p.addr)
		if inFunc || i > 0 && m.publics[i-1].addr == p.addr {
			continue
		}
		added = append(added, unit{addr: p.addr, off: p.off, end: p.off, line: p.line, params: p.params,
			multiple: p.multiple, name: p.name, nameOff: p.nameOff, nameEnd: p.nameEnd, kind: Public})
	}
	m.units = mergeUnits(m.units, added)
}

// mergeUnits merges two lists that are sorted by address.
func mergeUnits(a, b []unit) []unit {
	if len(b) == 0 {
		return a
	}
	out := make([]unit, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].addr <= b[0].addr {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// own gives the unwind records and the PUBLICs inside of functions to their units, and makes units of unwind records
// that no symbol covers.
func (m *model) own() {
	budget := 8 * (len(m.inits) + len(m.units)) // functions hardly overlap; hostile ones must not cost the product
	for i := range m.units {
		u := &m.units[i]
		u.inits = m.initsIn(u.addr, max(u.size, 1))
		u.inits[1] = min(u.inits[1], u.inits[0]+int32(max(1, budget)))
		budget -= int(u.inits[1] - u.inits[0])
		for j := u.inits[0]; j < u.inits[1]; j++ {
			m.inits[j].owned = true
		}
	}
	var unnamed []unit
	for i := range m.inits {
		if e := &m.inits[i]; !e.owned {
			unnamed = append(unnamed, unit{addr: e.addr, off: e.off, end: e.off, line: e.line, kind: Unnamed,
				inits: [2]int32{int32(i), int32(i + 1)}})
		}
	}
	m.units = mergeUnits(m.units, unnamed)
	m.ownWins()
	at := 0
	for i := range m.publics {
		p := &m.publics[i]
		for at < len(m.units) && m.units[at].addr <= p.addr {
			at++
		}
		for j := at - 1; j >= 0; j-- { // the nearest named unit before it; overlapping functions are rare
			if u := &m.units[j]; u.kind != Unnamed {
				p.unit = int32(j)
				break
			}
			if at-j > 64 {
				break
			}
		}
	}
	for i := range m.units {
		u := &m.units[i]
		u.cfi = uint64(u.inits[1] - u.inits[0])
		for j := u.inits[0]; j < u.inits[1]; j++ {
			e := &m.inits[j]
			u.cfi = mix(u.cfi, e.addr-u.addr, e.hash)
			u.close = u.close || e.close
			if u.kind == Function {
				from, to := max(e.addr, u.addr), min(e.limit(), u.limit())
				m.total.WithCFI += to - min(from, to)
			}
		}
		if u.kind == Function {
			m.total.Code += u.size
			m.total.WithLines += min(uint64(u.lineBytes), u.size)
		}
		for j := u.wins[0]; j < u.wins[1]; j++ {
			w := &m.wins[j]
			u.cfi = mix(u.cfi, w.addr-u.addr, w.hash)
		}
	}
}

// initsIn returns the INIT records that overlap a range.
func (m *model) initsIn(addr, size uint64) [2]int32 {
	i, found := slices.BinarySearchFunc(m.inits, addr, func(e initial, a uint64) int { return cmp.Compare(e.addr, a) })
	if !found && i > 0 && addr-m.inits[i-1].addr < m.inits[i-1].size {
		i--
	}
	j, _ := slices.BinarySearchFunc(m.inits, addr+size-1, func(e initial, a uint64) int {
		if e.addr <= a {
			return -1
		}
		return 1
	})
	if addr+size < addr {
		j = len(m.inits)
	}
	j = max(i, j)
	return [2]int32{int32(i), int32(j)}
}

// ownWins gives each STACK WIN record to the last unit that begins at or before it.
func (m *model) ownWins() {
	if len(m.wins) == 0 {
		return
	}
	if len(m.units) == 0 || m.units[0].addr > m.wins[0].addr {
		first := unit{addr: m.wins[0].addr, off: m.wins[0].off, end: m.wins[0].off, line: m.wins[0].line, kind: Unnamed}
		m.units = slices.Insert(m.units, 0, first)
	}
	w := 0
	for i := range m.units {
		u := &m.units[i]
		u.wins[0] = int32(w)
		for w < len(m.wins) && (i+1 == len(m.units) || m.wins[w].addr < m.units[i+1].addr) {
			w++
		}
		u.wins[1] = int32(w)
	}
}

// record reads the record at an offset again.
func (m *model) record(s *symfile.Scanner, off uint32) *symfile.Record {
	end := len(m.data)
	if n := bytes.IndexByte(m.data[off:], '\n'); n >= 0 {
		end = int(off) + n + 1
	}
	s.Reset(m.data, int(off), end, 1)
	s.Next()
	return s.Record()
}

// unitName is the name of a FUNC or PUBLIC, nil for unwind records.
func (m *model) unitName(u *unit) []byte { return m.data[u.nameOff:u.nameEnd] }

// publicName is the name of a PUBLIC.
func (m *model) publicName(p *public) string { return string(m.data[p.nameOff:p.nameEnd]) }

// idTable maps FILE or INLINE_ORIGIN ids to numbers; 0 is no name.
type idTable struct {
	dense  []uint32
	sparse map[int64]uint32
}

func (t *idTable) get(id int64) uint32 {
	if uint64(id) < uint64(len(t.dense)) {
		return t.dense[id]
	}
	return t.sparse[id]
}

// set keeps the first value of an id.
func (t *idTable) set(id int64, v uint32, most int) {
	if t.get(id) != 0 {
		return
	}
	if id >= 0 && id < int64(2*most+64) {
		for int64(len(t.dense)) <= id {
			t.dense = append(t.dense, 0)
		}
		t.dense[id] = v
		return
	}
	if t.sparse == nil {
		t.sparse = make(map[int64]uint32)
	}
	t.sparse[id] = v
}
