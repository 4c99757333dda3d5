package rules

import (
	"fmt"
	"slices"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/postfix"
	"github.com/symlint/symlint/unwind/symfile"
)

// winPlace is a place on the stack at a fixed distance from a register.
type winPlace struct {
	base   winBase
	offset int64
	load   bool // the word there rather than its address
}

// winBase is what a place is measured from.
type winBase uint8

const (
	winNowhere winBase = iota // not of this simple kind
	winNumber                 // a number
	winEBP
	winESP
	winSearch // .raSearchStart: the stack pointer above locals and saved registers
)

func (b winBase) String() string {
	return [...]string{"?", "", "$ebp", "$esp", ".raSearchStart"}[b]
}

// winReturn follows a program on symbolic values and returns where it takes $eip from.
func winReturn(p *postfix.Program) winPlace {
	if p.Err() != nil {
		return winPlace{}
	}
	vars := map[string]winPlace{
		"$ebp": {base: winEBP}, "$esp": {base: winESP}, ".raSearch": {base: winSearch}, ".raSearchStart": {base: winSearch},
	}
	if slices.ContainsFunc(p.Ops, func(o postfix.Op) bool { return o.Code == postfix.Align }) {
		vars[".raSearch"], vars[".raSearchStart"] = winPlace{base: winEBP, offset: 4}, winPlace{base: winEBP, offset: 4}
	}
	type operand struct {
		winPlace
		name string
	}
	var stack []operand
	pop := func() operand {
		o := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if o.name != "" {
			o.winPlace = vars[o.name]
		}
		return o
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		switch {
		case op.Code == postfix.Push:
			stack = append(stack, operand{winPlace: winPlace{base: winNumber, offset: int64(int32(op.Value))}})
		case op.Code == postfix.Var:
			stack = append(stack, operand{name: p.Names[op.Name].Text})
		case op.Code == postfix.Assign:
			value := pop()
			vars[stack[len(stack)-1].name] = value.winPlace
			stack = stack[:len(stack)-1]
		case op.Code == postfix.Load:
			a := pop()
			if a.load || a.base == winNumber {
				a.base = winNowhere
			}
			stack = append(stack, operand{winPlace: winPlace{a.base, a.offset, a.base != winNowhere}})
		default:
			b, a := pop(), pop()
			stack = append(stack, operand{winPlace: winSum(op.Code, a.winPlace, b.winPlace)})
		}
	}
	return vars["$eip"]
}

// winSum adds a number to a place or takes it off; anything else is nowhere.
func winSum(code postfix.Code, a, b winPlace) winPlace {
	if code == postfix.Add && a.base == winNumber {
		a, b = b, a
	}
	if b.base != winNumber || a.load || a.base == winNowhere || code != postfix.Add && code != postfix.Sub {
		return winPlace{}
	}
	if code == postfix.Sub {
		b.offset = -b.offset
	}
	a.offset += b.offset
	return a
}

// reportConflicts compares STACK WIN with STACK CFI where both are plain.
func (c *winChecker) reportConflicts() {
	p := c.pass
	if len(p.Index.Inits) == 0 || len(p.Index.Wins) == 0 || !p.Enabled(winCFIConflict) {
		return
	}
	var tables *symfile.Symbols
	places := make(map[string]winPlace)
	inits := p.InitRanges()
	for i := range p.Index.Wins {
		w := &p.Index.Wins[i]
		if w.Type != winFPOType && w.Type != winDataType || w.Size == 0 || w.HasProgram != (w.Type == winDataType) {
			continue
		}
		if k := find(inits, w.End()-1); k < 0 || inits[k].End <= w.Addr {
			continue
		}
		rec := p.RecordAt(w.Off, w.Line)
		if rec.Win.Prolog >= w.Size {
			continue
		}
		win := c.winPlaceOf(rec, places)
		// Where the stack pointer is the measure, the record holds behind the prologue; without one it says nothing of where.
		if win.base != winEBP && (win.base != winESP || rec.Win.Prolog == 0) {
			continue
		}
		if tables == nil {
			tables = symfile.Load(p.Data, symfile.Options{})
		}
		at := w.Addr + rec.Win.Prolog
		cfi := tables.CFI(at)
		if cfi == nil || cfi.Err != "" {
			continue
		}
		place := cfiReturn(cfi)
		if place.base != win.base || place.offset == win.offset {
			continue
		}
		c.reportConflict(rec, at, win, place, cfi)
	}
}

// winPlaceOf is where a record says the return address lies behind the prologue.
func (c *winChecker) winPlaceOf(rec *symfile.Record, places map[string]winPlace) winPlace {
	frame := int64(rec.Win.Locals + rec.Win.SavedRegs)
	if rec.Win.Type == winFPOType {
		return winPlace{winESP, frame, true}
	}
	text := c.pass.Data[rec.Text.Off:rec.Text.End]
	place, known := places[string(text)]
	if !known {
		program, _ := postfix.Compile(text, postfix.Win)
		if place = winReturn(program); !place.load {
			place = winPlace{}
		}
		if len(places) < maxWinPrograms {
			places[string(text)] = place
		}
	}
	if place.base == winSearch {
		place.base, place.offset = winESP, place.offset+frame
	}
	return place
}

// cfiReturn is where the rules in force find the return address.
func cfiReturn(c *symfile.CFI) winPlace {
	cfaRule, _ := c.Rule(".cfa")
	raRule, _ := c.Rule(".ra")
	cfa, ra := postfix.ShapeOf([]byte(cfaRule.Expr)), postfix.ShapeOf([]byte(raRule.Expr))
	if ra.Kind != postfix.DerefCFA || cfa.Kind != postfix.Reg && cfa.Kind != postfix.RegOffset {
		return winPlace{}
	}
	place := winPlace{offset: cfa.Offset + ra.Offset, load: true}
	switch string(cfa.Register([]byte(cfaRule.Expr))) {
	case "$ebp":
		place.base = winEBP
	case "$esp":
		place.base = winESP
	}
	return place
}

func (c *winChecker) reportConflict(rec *symfile.Record, addr uint64, win, cfi winPlace, rules *symfile.CFI) {
	p := c.pass
	culprit := rec.Text
	if rec.Win.Type == winFPOType {
		culprit = word(p, rec, 9)
	}
	p.Report(lint.At(winCFIConflict, rec, culprit), func(f *lint.Finding) {
		at(f, addr)
		f.Message = fmt.Sprintf("at %#x the return address lies at %s%+d by STACK WIN and at %s%+d by STACK CFI", addr, win.base, win.offset,
			cfi.base, cfi.offset)
		row := rules.Rows[len(rules.Rows)-1]
		f.Related = relatedRecord(p, uint32(lineStart(p.Data, row.Text.Off)), uint32(row.Line), "the unwind row in force")
	})
}

// lineStart is the beginning of the record that the text at an offset belongs to.
func lineStart(data []byte, off int) int {
	for off > 0 && data[off-1] != '\n' && data[off-1] != '\r' {
		off--
	}
	return off
}
