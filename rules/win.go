package rules

import (
	"fmt"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/arch"
	"github.com/symlint/symlint/unwind/symfile"
)

var winFamily = &lint.Analyzer{
	Name: "win",
	Rules: []*lint.Rule{
		winType, winFlagMismatch, winProgram, winTemporaries, winOverlap, winRange, winParamSize, winPrologue, winCFIConflict,
	},
	Kinds: []symfile.Kind{symfile.StackWin},
	New:   func(p *lint.Pass) lint.Checker { return newWinChecker(p) },
}

// The types of STACK WIN records.
const (
	winFPOType   = 0
	winDataType  = 4
	winLastType  = 4
	winHugeBytes = 16 << 20 // more than any function has
	winSpace     = 1 << 32  // x86 addresses have 32 bits
)

// winChecker judges STACK WIN records one by one, and in Finish against each other and the rest of the file.
type winChecker struct {
	pass    *lint.Pass
	foreign bool // the module is for a CPU whose walkers do not read STACK WIN

	programs map[string]*winJudged
	numbered []numberedRegister // in order of appearance
	data     int                // programs seen, for proportion
	others   winGroup           // records in a module for another CPU
	unused   winGroup           // records of types 1 to 3
	params   []winSpot          // parameter sizes that no stack has
}

// winSpot is a record set aside.
type winSpot struct{ off, line uint32 }

// winGroup is how many records share a cause, and the first of them.
type winGroup struct {
	winSpot
	n int
}

func (g *winGroup) add(r *symfile.Record) {
	if g.n == 0 {
		g.winSpot = winSpot{uint32(r.Span.Off), uint32(r.Line)}
	}
	g.n++
}

func (g *winGroup) merge(later *winGroup) {
	if g.n == 0 {
		g.winSpot = later.winSpot
	}
	g.n += later.n
}

// numberedRegister counts the programs that restore a register under its CodeView number.
type numberedRegister struct {
	name string // $20
	winGroup
}

func newWinChecker(p *lint.Pass) *winChecker {
	c := &winChecker{pass: p, programs: make(map[string]*winJudged)}
	if cpu, ok := arch.Lookup(p.Module.Arch); ok {
		c.foreign = cpu.Name != "x86"
	}
	return c
}

func (c *winChecker) Record(r *symfile.Record) {
	if !r.Usable {
		return
	}
	switch {
	case r.Win.Type > winLastType:
		c.badType(r)
		return
	case c.foreign:
		c.others.add(r)
		return
	case r.Win.Type != winFPOType && r.Win.Type != winDataType:
		c.unused.add(r)
		return
	}
	c.digits(r)
	c.extent(r)
	c.parts(r)
	if r.ParamSize%4 != 0 {
		c.params = append(c.params, winSpot{uint32(r.Span.Off), uint32(r.Line)})
	}
	if c.flag(r) && r.Win.Type == winDataType {
		c.data++
		c.program(r)
	}
}

func (c *winChecker) badType(r *symfile.Record) {
	field := word(c.pass, r, 2)
	c.pass.Report(lint.At(winType, r, field), func(f *lint.Finding) {
		at(f, r.Addr)
		f.Message = fmt.Sprintf("type %x is none that exists; frame data is type 4, FPO data type 0", r.Win.Type)
	})
}

// digits looks at the two fields that rust-minidump reads as single digits.
func (c *winChecker) digits(r *symfile.Record) {
	d := c.pass.Data
	if start := r.Span.Off + len("STACK WIN "); len(r.Problems) == 0 && d[start+1] == ' ' && d[r.Text.Off-3] == ' ' {
		return
	}
	for _, x := range [...]struct {
		word int
		rule *lint.Rule
		name string
	}{{2, winType, "type"}, {11, winFlagMismatch, "has_program_string"}} {
		if field := word(c.pass, r, x.word); field.Len() > 1 && allHexDigits(d[field.Off:field.End]) {
			spot := lint.At(x.rule, r, field)
			spot.Effects = &winDigits
			c.pass.Report(spot, func(f *lint.Finding) {
				at(f, r.Addr)
				f.Message = fmt.Sprintf("%s is written %s, where one digit is due", x.name, d[field.Off:field.End])
			})
			return
		}
	}
}

func allHexDigits(text []byte) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	return true
}

// extent judges the range for itself.
func (c *winChecker) extent(r *symfile.Record) {
	var message string
	effects := &winRange.Effects
	switch {
	case r.Size == 0:
		message, effects = "the record covers no code", &winEmpty
	case r.Addr+r.Size > winSpace || r.Addr+r.Size < r.Addr:
		if r.Addr > winSpace || r.Size > winSpace {
			return // a number that does not fit its field: the format family speaks of it
		}
		message = fmt.Sprintf("%#x bytes from %#x on end beyond 4 GiB", r.Size, r.Addr)
	case r.Size >= winHugeBytes:
		message = fmt.Sprintf("the record covers %#x bytes", r.Size)
	default:
		return
	}
	spot := lint.At(winRange, r, sizeSpan(c.pass, r))
	spot.Effects = effects
	c.pass.Report(spot, func(f *lint.Finding) {
		at(f, r.Addr)
		f.Message = message
	})
}

// parts judges prologue and epilogue.
func (c *winChecker) parts(r *symfile.Record) {
	w := &r.Win
	if r.Size == 0 || w.Prolog+w.Epilog <= r.Size {
		return
	}
	field := word(c.pass, r, 5)
	if w.Prolog <= r.Size {
		field = word(c.pass, r, 6)
	}
	c.pass.Report(lint.At(winPrologue, r, field), func(f *lint.Finding) {
		at(f, r.Addr)
		switch {
		case w.Prolog > r.Size:
			f.Message = fmt.Sprintf("a prologue of %#x bytes in a range of %#x", w.Prolog, r.Size)
		case w.Epilog > r.Size:
			f.Message = fmt.Sprintf("an epilogue of %#x bytes in a range of %#x", w.Epilog, r.Size)
		default:
			f.Message = fmt.Sprintf("a prologue of %#x and an epilogue of %#x bytes in a range of %#x", w.Prolog, w.Epilog, r.Size)
		}
	})
}

// flag compares type, flag and last field; true if they agree.
func (c *winChecker) flag(r *symfile.Record) bool {
	text := c.pass.Data[r.Text.Off:r.Text.End]
	number := len(text) == 1 && (text[0] == '0' || text[0] == '1')
	var message string
	var effects *lint.Effects
	culprit := word(c.pass, r, 11)
	switch has := r.Win.HasProgram; {
	case r.Win.Type == winDataType && has == 0 && number:
		message = "frame data (type 4) without a program"
	case r.Win.Type == winDataType && has == 0:
		message = "frame data (type 4) whose program is not announced by has_program_string"
	case r.Win.Type == winDataType && number:
		message = fmt.Sprintf("frame data (type 4) announces a program and has the flag %s in its place", text)
		effects, culprit = &winFails, r.Text
	case r.Win.Type == winDataType && has > 1:
		message = fmt.Sprintf("has_program_string is %x, where only 1 announces a program", has)
	case r.Win.Type == winFPOType && has != 0 && number:
		message = "FPO data (type 0) announces a program and has none"
	case r.Win.Type == winFPOType && has != 0:
		message = "FPO data (type 0) with a program"
	case r.Win.Type == winFPOType && !number:
		message = "the flag allocates_base_pointer is neither 0 nor 1"
		effects, culprit = &winFlagText, r.Text
	default:
		return true
	}
	spot := lint.At(winFlagMismatch, r, culprit)
	spot.Effects = effects
	c.pass.Report(spot, func(f *lint.Finding) {
		at(f, r.Addr)
		f.Message = message
	})
	return false
}

// program reports what is wrong with the text of a record, and counts registers restored by number.
func (c *winChecker) program(r *symfile.Record) {
	text := c.pass.Data[r.Text.Off:r.Text.End]
	j := c.programs[string(text)]
	if j == nil {
		j = judgeWin(text)
		if len(c.programs) < maxWinPrograms {
			c.programs[string(text)] = j
		}
	}
	for _, name := range j.numbered {
		if g := c.register(name); g != nil {
			g.add(r)
		}
	}
	d := j.defect
	if d == nil {
		return
	}
	spot := lint.At(winProgram, r, symfile.Span{Off: r.Text.Off + d.off, End: r.Text.Off + d.end})
	spot.Effects = d.effects
	c.pass.Report(spot, func(f *lint.Finding) {
		at(f, r.Addr)
		f.Message = d.message
		f.Detail = d.more
	})
}

// maxNumbered bounds the numbers that are told apart; there are eight general registers.
const maxNumbered = 32

func (c *winChecker) register(name string) *winGroup {
	i := slices.IndexFunc(c.numbered, func(n numberedRegister) bool { return n.name == name })
	if i < 0 {
		if len(c.numbered) == maxNumbered {
			return nil
		}
		i = len(c.numbered)
		c.numbered = append(c.numbered, numberedRegister{name: name})
	}
	return &c.numbered[i].winGroup
}

func (c *winChecker) Merge(later lint.Checker) {
	l := later.(*winChecker)
	c.data += l.data
	c.others.merge(&l.others)
	c.unused.merge(&l.unused)
	for i := range l.numbered {
		if g := c.register(l.numbered[i].name); g != nil {
			g.merge(&l.numbered[i].winGroup)
		}
	}
	c.params = append(c.params, l.params...)
}

func (c *winChecker) Finish() {
	c.reportTypes()
	if c.foreign {
		return
	}
	c.reportNumbered()
	c.reportOverlaps()
	c.reportParams()
	c.reportConflicts()
}

func (c *winChecker) reportTypes() {
	p := c.pass
	for _, g := range []struct {
		*winGroup
		effects *lint.Effects
	}{{&c.others, &winForeign}, {&c.unused, &winUnused}} {
		if g.n == 0 {
			continue
		}
		rec := p.RecordAt(g.off, g.line)
		spot := lint.At(winType, rec, word(p, rec, 2))
		spot.Severity, spot.Effects, spot.Count = lint.Warning, g.effects, g.n
		p.Report(spot, func(f *lint.Finding) {
			at(f, rec.Addr)
			if g.winGroup == &c.others {
				f.Message = fmt.Sprintf("STACK WIN in a module for %s; only x86 walkers read it", p.Module.Arch)
			} else {
				f.Message = fmt.Sprintf("records of type %x are never asked for", rec.Win.Type)
			}
			if g.n > 1 {
				f.Message += fmt.Sprintf("; there are %d", g.n)
			}
		})
	}
}

// codeView names the registers that programs restore by number: CV_REG_EAX and its neighbours in Microsoft's cvconst.h.
var codeView = map[string]string{
	"$17": "eax", "$18": "ecx", "$19": "edx", "$20": "ebx", "$21": "esp", "$22": "ebp", "$23": "esi", "$24": "edi",
}

func (c *winChecker) reportNumbered() {
	p := c.pass
	for i := range c.numbered {
		n := &c.numbered[i]
		rec := p.RecordAt(n.off, n.line)
		spot := lint.At(winTemporaries, rec, wordIn(p, rec.Text, n.name))
		spot.Count = n.n
		p.Report(spot, func(f *lint.Finding) {
			at(f, rec.Addr)
			f.Subject = n.name
			what := n.name
			if register := codeView[n.name]; register != "" {
				what = fmt.Sprintf("%s, the CodeView number of %s,", n.name, register)
			}
			f.Message = fmt.Sprintf("%s is assigned and never read; so do %d of %d programs", what, n.n, c.data)
			if n.n == 1 {
				f.Message = fmt.Sprintf("%s is assigned and never read", what)
			}
		})
	}
}

// wordIn finds a word of a text.
func wordIn(p *lint.Pass, text symfile.Span, want string) symfile.Span {
	d := p.Data
	for i := text.Off; i < text.End; {
		start := i
		for i < text.End && d[i] != ' ' && d[i] != '\t' {
			i++
		}
		if string(d[start:i]) == want {
			return symfile.Span{Off: start, End: i}
		}
		i++
	}
	return text
}
