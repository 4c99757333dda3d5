package rules

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

// cfiJudge looks closely at the blocks that the scan set aside. It knows the whole file.
type cfiJudge struct {
	c      *cfiChecker
	p      *lint.Pass
	cpu    *cfiCPU
	m      *cfiMachine
	funcs  []symfile.Range
	inits  []symfile.Range
	public []symfile.Range

	// The block at hand, and the window of its rows.
	init      cfiRow
	end       uint64 // of the INIT range; 0 = unusable
	rows      []cfiRow
	s         symfile.Scanner
	window    int
	more      bool // rows follow the window
	carry     cfiState
	carryHash uint64
	said      cfiFlags // of the kinds that are said once for a block
	garbled   bool     // a rule's name was not recognised, so that what it says seems missing

	entryRows bool // the file's functions begin with the ABI's entry state, so that exceptions stand out
	noRA      int  // blocks without a return address rule

	selfRA    cfiGroup // `.ra: .ra` rows in epilogues
	names     map[string]int
	explained map[string]arch.Explanation
	groups    map[groupKey]*rowGroup
	grouping  []*rowGroup // in order of appearance
	held      int
	dead      bool // dead-stripped functions' ranges lie at address 0
}

// cfiGroup is one cause that many rows share.
type cfiGroup struct {
	count     int
	off, line uint32
	part      symfile.Span
}

// cfiRow is one record of the block being judged.
type cfiRow struct {
	addr  uint64
	line  int
	span  symfile.Span
	text  symfile.Span
	num   int32 // text number
	state int32 // in force from addr on
	flags cfiFlags
}

func newCFIJudge(c *cfiChecker) *cfiJudge {
	p := c.pass
	x := &p.Index
	j := &cfiJudge{c: c, p: p, cpu: c.cpu, m: c.m}
	j.funcs, j.inits = p.FuncRanges(), p.InitRanges()
	j.public = symfile.SortedRanges(len(x.Publics), func(i int) (uint64, uint64) { return x.Publics[i].Addr, 1 })
	j.entryRows = c.notEntry*2 <= c.blocks
	j.dead = len(j.inits) > 1 && j.inits[1].Start == 0
	for _, b := range c.suspects {
		if b.flags&stateNoRA != 0 {
			j.noRA++
		}
	}
	return j
}

// maxWindow bounds the rows that are judged together. Blocks beyond it, which are hostile or generated, are judged piece
// by piece.
const maxWindow = 1 << 12

// load reads the block's first records. It reports whether there is anything to judge.
func (j *cfiJudge) load(b cfiBlock) bool {
	j.rows, j.window = j.rows[:0], 0
	j.s.Reset(j.p.Data, int(b.off), min(len(j.p.Data), int(b.off)+1), int(b.line))
	j.s.Next()
	init := j.s.Record()
	if init.Kind != symfile.StackCFIInit || !init.Usable {
		return false
	}
	j.addRow(init)
	j.init = j.rows[0]
	j.end = 0
	if end := init.Addr + init.Size; end > init.Addr {
		j.end = end
	}
	j.s.Reset(j.p.Data, init.Span.End+init.EOL, nextInit(j.p, b.off), init.Line+1)
	j.fill()
	return true
}

// fill reads the deltas of a window; j.more tells whether another window follows.
func (j *cfiJudge) fill() {
	j.more = false
	for j.s.Next() {
		r := j.s.Record()
		switch {
		case r.Kind == symfile.StackCFI && r.Usable:
			j.addRow(r)
		case r.Kind == symfile.Func, r.Kind == symfile.Public:
			return
		}
		if len(j.rows) == maxWindow {
			j.more = true
			return
		}
	}
}

// slide goes on to the next window, which begins with the last row of this one.
func (j *cfiJudge) slide() {
	last := j.rows[len(j.rows)-1]
	j.carry, j.carryHash = j.m.states[last.state], j.m.stateHash[last.state]
	j.rows = append(j.rows[:0], last)
	j.window++
	j.fill()
}

// nextInit is the offset of the INIT record that follows the one at off.
func nextInit(p *lint.Pass, off uint32) int {
	inits := p.Index.Inits
	i := sort.Search(len(inits), func(i int) bool { return inits[i].Off > off })
	if i < len(inits) {
		return int(inits[i].Off)
	}
	return len(p.Data)
}

func (j *cfiJudge) addRow(r *symfile.Record) {
	j.rows = append(j.rows, cfiRow{addr: r.Addr, line: r.Line, span: r.Span, text: r.Text})
}

// follow computes the states in the order of the rows.
func (j *cfiJudge) follow() {
	if j.m.full() {
		j.m.restart(stateBefore)
	}
	state, rows := int32(stateBefore), j.rows
	if j.window > 0 {
		state = j.m.state(&j.carry, j.carryHash)
		rows[0].state, rows[0].flags = state, 0
		rows[0].num = j.m.text(rows[0].text.Off, rows[0].text.End)
		rows = rows[1:]
	}
	for i := range rows {
		r := &rows[i]
		r.num = j.m.text(r.text.Off, r.text.End)
		r.state, r.flags = j.m.step(state, r.num)
		state = r.state
	}
}

// intervals calls f for every stretch of addresses in which one row is in force: rows at one address count as one.
// length is 0 for the last row of an INIT without a usable range.
func (j *cfiJudge) intervals(f func(i int, length uint64)) {
	for i := range j.rows {
		next := j.end
		if i+1 < len(j.rows) {
			if next = j.rows[i+1].addr; next == j.rows[i].addr {
				continue
			}
		} else if j.more {
			return // the next window has it
		}
		length := uint64(0)
		if next > j.rows[i].addr {
			length = next - j.rows[i].addr
		}
		f(i, length)
	}
}

// at starts a finding about a part of a row.
func (j *cfiJudge) at(rule *lint.Rule, r *cfiRow, part symfile.Span) lint.Spot {
	return lint.Spot{Rule: rule, Line: r.line, Record: r.span, Culprit: part}
}

// report reports a finding about a row, with its address.
func (j *cfiJudge) report(s lint.Spot, addr uint64, format string, args ...any) {
	j.p.Report(s, func(f *lint.Finding) {
		f.HasAddress, f.Address = true, addr
		f.Message = fmt.Sprintf(format, args...)
	})
}

// rulePart is the place of the rule for a target in a row's text; the whole text if it has none.
func (j *cfiJudge) rulePart(r *cfiRow, target string) symfile.Span {
	text := j.p.Data[r.text.Off:r.text.End]
	i := 0
	for _, w := range bytes.Fields(text) {
		k := i + bytes.Index(text[i:], w)
		if len(w) == len(target)+1 && string(w[:len(target)]) == target && w[len(target)] == ':' {
			end := len(text)
			for p := k + len(w); p < len(text); {
				q := p
				for q < len(text) && text[q] == ' ' {
					q++
				}
				e := q
				for e < len(text) && text[e] != ' ' {
					e++
				}
				if e > q && text[e-1] == ':' {
					end = p
					break
				}
				p = e
			}
			return symfile.Span{Off: r.text.Off + k, End: r.text.Off + end}
		}
		i = k + len(w)
	}
	return r.text
}

// block judges one block.
func (j *cfiJudge) block(b cfiBlock) {
	if b.flags&lone == 0 && b.flags&blockNotEntry != 0 && !j.entryRows && b.flags&stateLinkFrame == 0 {
		return
	}
	if !j.load(b) {
		return
	}
	j.said = 0
	for {
		if !j.judgeWindow(b) || !j.more {
			return
		}
		j.slide()
	}
}

// judgeWindow judges the rows at hand; false if that settles the block.
func (j *cfiJudge) judgeWindow(b cfiBlock) bool {
	j.deltas()
	if !sorted(j.rows) {
		slices.SortStableFunc(j.rows[1:], func(x, y cfiRow) int {
			switch {
			case x.addr < y.addr:
				return -1
			case x.addr > y.addr:
				return 1
			}
			return 0
		})
	}
	j.follow()
	if b.flags&stateSwapped != 0 && j.swapped() {
		return false
	}
	j.garbled = false
	for i := range j.rows {
		if j.rows[i].flags&(textSyntax|textUnknown|textSelf|textUndef|textVolatile) != 0 {
			j.text(i)
		}
	}
	if j.rows[0].flags&blockFirstLost != 0 && j.window == 0 {
		return false // the syntax finding says that the range has no CFI
	}
	if j.window == 0 {
		if j.inexpressible() {
			return false
		}
		j.missing()
	}
	j.states(b)
	return true
}

func sorted(rows []cfiRow) bool {
	for i := 1; i < len(rows); i++ {
		if rows[i].addr < rows[i-1].addr {
			return false
		}
	}
	return true
}

// groupKey is a rule with the rule text that offends it.
type groupKey struct {
	rule *lint.Rule
	text uint64 // hash
}

// rowGroup are the rows with one text that offend one rule.
type rowGroup struct {
	count    int
	findings []rowFinding // the first ones
}

type rowFinding struct {
	spot             lint.Spot
	addr             uint64
	subject, message string
}

// A text that offends a rule in a few places is reported at each; one that does so all over the file is one cause. The
// second number bounds what is held back until that is known.
const (
	fewRows  = 64
	heldRows = 1 << 12
)

// grouped reports a warning about a row, or once for all rows with the same text if they are many.
func (j *cfiJudge) grouped(s lint.Spot, r *cfiRow, subject, format string, args ...any) {
	key := groupKey{s.Rule, j.m.texts[r.num].hash}
	g := j.groups[key]
	if g == nil {
		if j.groups == nil {
			j.groups = make(map[groupKey]*rowGroup)
		}
		g = new(rowGroup)
		j.groups[key] = g
		j.grouping = append(j.grouping, g)
	}
	if g.count++; g.count == 1 || g.count <= fewRows && j.held < heldRows {
		j.held++
		g.findings = append(g.findings, rowFinding{s, r.addr, subject, fmt.Sprintf(format, args...)})
	}
}

// finish reports what was gathered over the file.
func (j *cfiJudge) finish() {
	for _, g := range j.grouping {
		if g.count > len(g.findings) {
			g.findings = g.findings[:1]
			g.findings[0].spot.Count = g.count
		}
		for _, f := range g.findings {
			j.reportSubject(f.spot, f.addr, f.subject, "%s", f.message)
		}
	}
	j.reportSelfRA()
	j.outermost()
	j.symbols()
}

// funcName is the name at an address, quoted for messages; "" if there is none.
func (j *cfiJudge) funcName(addr uint64) string {
	if i := find(j.funcs, addr); i >= 0 && addr < j.funcs[i].End {
		return string(shortText(symfile.RecordText(j.p.Data, j.p.Index.Funcs[j.funcs[i].Index].Off)))
	}
	if i := find(j.public, addr); i >= 0 && j.public[i].Start == addr {
		return string(shortText(symfile.RecordText(j.p.Data, j.p.Index.Publics[j.public[i].Index].Off)))
	}
	return ""
}

// startsFunc reports whether a FUNC or PUBLIC begins at an address.
func (j *cfiJudge) startsFunc(addr uint64) bool {
	if i := find(j.funcs, addr); i >= 0 && j.funcs[i].Start == addr {
		return true
	}
	i := find(j.public, addr)
	return i >= 0 && j.public[i].Start == addr
}

// fragment reports whether the function at an address is the split-off part of another: a second FUNC of its name, or
// one whose name says so.
func (j *cfiJudge) fragment(addr uint64) bool {
	name := j.funcName(addr)
	if strings.Contains(name, ".cold") || strings.Contains(name, ".part.") || strings.Contains(name, "[clone") {
		return true
	}
	if name == "" {
		return false
	}
	if j.names == nil {
		j.names = make(map[string]int, len(j.p.Index.Funcs))
		for i := range j.p.Index.Funcs {
			j.names[string(shortText(symfile.RecordText(j.p.Data, j.p.Index.Funcs[i].Off)))]++
		}
	}
	return j.names[name] > 1
}

type specialKind uint8

const (
	notSpecial specialKind = iota
	// specialOutermost begins a thread: it has no caller.
	specialOutermost
	// specialSignal is what a signal handler returns to; its frame is the interrupted one, saved by the kernel.
	specialSignal
	// specialLinkage is entered from the dynamic linker's stubs with words already pushed.
	specialLinkage
	// specialContext replaces the registers it was entered with.
	specialContext
)

// specialName sorts the functions of libc, the vDSO and the dynamic linker whose frames no ABI describes.
func specialName(name string) specialKind {
	if strings.Contains(name, "longjmp") || strings.Contains(name, "setcontext") || strings.Contains(name, "swapcontext") {
		return specialContext
	}
	switch name {
	case "_start", "__start", "_dl_start_user", "clone", "__clone", "__clone2", "clone3", "__clone3", "thread_start", "start":
		return specialOutermost
	case "__restore_rt", "__restore", "__kernel_sigreturn", "__kernel_rt_sigreturn", "__default_sa_restorer", "__default_rt_sa_restorer",
		"__default_sa_restorer_v1", "__default_rt_sa_restorer_v1", "__default_sa_restorer_v2", "__default_rt_sa_restorer_v2", "_sigtramp",
		"__sigtramp", "__restore_rt_internal":
		return specialSignal
	case "__start_context":
		return specialContext
	}
	if strings.HasPrefix(name, "_dl_runtime_") || strings.HasPrefix(name, "_dl_tlsdesc_") {
		return specialLinkage
	}
	return notSpecial
}

// special tells what is special about the function whose unwind range begins at addr. Signal trampolines' ranges begin
// one byte early.
func (j *cfiJudge) special(addr, end uint64) specialKind {
	for _, s := range j.c.special {
		if s.addr >= addr && (s.addr == addr || s.addr < end || s.addr == addr+1) {
			return s.kind
		}
		if i := find(j.funcs, addr); i >= 0 && j.funcs[i].Start == s.addr && addr < j.funcs[i].End {
			return s.kind
		}
	}
	return notSpecial
}
