package rules

import (
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/sframe"
)

// The rules on rows.
var sframeRowRules = []*lint.Rule{
	sfRowTruncated, sfWordSize, sfRowWords, sfRowOrder, sfRowRange, sfRowFirst, sfSignedRA, sfRAUndefined, sfRAUndefinedOld,
	sfCFAOffset, sfSlotAbove, sfSlotsEqual, sfSlotBelow, sfEntryRow, sfFPUnsaved, sfRAUnsaved, sfRowRepeats, sfWideWords, sfRegister,
	sfFlexCFA, sfFlexRegister, sfFlexReserved, sfFlexNeedless,
}

var (
	sfRowTruncated = sframeRule("row-truncated", lint.Error, nil,
		"a row goes beyond the rows",
		"The number of rows of a function, or the number of words in a row, is larger than what is there.", sfMemory,
		imageAMD64, func(im *sframeImage) {
			im.data = append(im.data, func(b []byte) []byte { b[len(b)-8] = 4; return b }) // rows of main
		})
	sfWordSize = sframeRule("row-word-size", lint.Error, nil,
		"the size of a row's words is not defined",
		"0, 1 and 2 stand for words of 1, 2 and 4 bytes. Behind a row of unknown size no other can be found.", sfRows,
		imageAMD64, func(im *sframeImage) { im.row(1, func(b []byte, r *sframe.Row) { b[r.InfoAt()] |= 0x60 }) })
	sfRowWords = sframeRule("row-words", lint.Error, nil,
		"the number of words in a row has no meaning",
		"A row has a word for the CFA, for the return address where the header does not fix it, and for the frame pointer where it is "+
			"saved; flexible rows have 2, 4, 5 or 6. libsframe has room for 6, glibc for 3.", sfRows,
		imageBlob, func(im *sframeImage) { im.work().Rows[1].Words = []int32{16, -16, -24} })
	sfRowOrder = sframeRule("row-order", lint.Error, nil,
		"rows do not ascend",
		"Rows are searched from the first to the last. One that starts before the row in front of it, or at the same place, makes the other "+
			"unreachable; the kernel drops the section.", sfSearch,
		imageBlob, func(im *sframeImage) { im.work().Rows[2].Start = 1 })
	sfRowRange = sframeRule("row-range", lint.Error, also(lint.Warning),
		"a row starts beyond its function",
		"No address can be looked up in it. Assemblers write rows that start at the very end; readelf 2.40 and 2.44 stop there.", sfRows,
		imageBlob, func(im *sframeImage) { im.work().Rows[3].Start = workSize + 1 })
	sfRowFirst = sframeRule("row-first", lint.Warning, nil,
		"the first row does not start at the function's start",
		"The first instructions have no row: a walk that comes there ends.", sfGap,
		imageBlob, func(im *sframeImage) { im.work().Rows[0].Start = 1; im.work().Rows = im.work().Rows[:1] })
	sfSignedRA = sframeRule("signed-ra", lint.Warning, nil,
		"a signed return address on a machine that has none",
		"Only AArch64 signs return addresses. The bit is damage, or the section is for another machine.", sfReserved,
		imageBlob, func(im *sframeImage) { im.work().Rows[1].Info |= 0x80 })
	sfRAUndefined = sframeRule("ra-undefined", lint.Warning, also(lint.Error),
		"a row without words inside a function",
		"A row without words says that the return address is undefined: the walk ends. That holds for a whole function; between "+
			"normal rows it is more likely that a number of words was lost. With other bits set in the info byte it certainly was.", sfGap,
		imageBlob, func(im *sframeImage) { im.work().Rows[1] = sframe.TableRow{Start: 1} })
	sfRAUndefinedOld = sframeRule("ra-undefined-version", lint.Info, nil,
		"a row without words in a version from before their meaning",
		"They mean that the return address is undefined since version 2 errata 2. Readers of before find no rule for the CFA there.",
		readers(shows, keeps, lint.Fine("stops"), degraded("finds no rule, and stops"), degraded("shows no rule")),
		imageV2PCRel, func(im *sframeImage) { im.work().Rows = []sframe.TableRow{{}} })
	sfCFAOffset = sframeRule("cfa-offset", lint.Error, also(lint.Warning),
		"the offset of a CFA cannot be right",
		"The CFA is above the stack pointer by at least the return address on AMD64 and the register save area on s390x, and offsets are multiples of "+
			"the size of a slot. Where call frame information confirms the row, nothing is said.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Rows[1].Words[0] = 4 })
	sfSlotAbove = sframeRule("slot-above-cfa", lint.Error, nil,
		"a register is saved above the CFA",
		"What is above the CFA belongs to the caller. On s390x a caller does provide room to save registers there, which begins below the "+
			"CFA by its definition.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Rows[1].Words[1] = 16 })
	sfSlotsEqual = sframeRule("slots-equal", lint.Error, nil,
		"frame pointer and return address are saved in the same slot",
		"One of the two is not what the row says.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Rows[1].Words[1] = -8 })
	sfSlotBelow = sframeRule("slot-below-sp", lint.Warning, nil,
		"a register is saved below the stack pointer",
		"Signal handlers overwrite what lies there. The CFA's offset, or the slot's, is likely wrong.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Rows[1].Words[1] = -32 })
	sfEntryRow = sframeRule("entry-row", lint.Warning, nil,
		"the first row of a function is unusual",
		"At the entry of a function nothing is saved yet: the CFA is sp+8 on AMD64, sp on AArch64 and sp+160 on s390x. Parts of "+
			"functions and PLTs are not looked at, nor what call frame information confirms.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Rows[0].Words[0] = 16 })
	sfFPUnsaved = sframeRule("fp-base-unsaved", lint.Warning, nil,
		"the CFA counts from a frame pointer that is not saved",
		"A function that uses the register has to save the caller's value. Without a rule for it the walk goes on with this frame's.", sfWalk,
		imageBare, func(im *sframeImage) { im.work().Rows[2].Words = []int32{16} })
	sfRAUnsaved = sframeRule("ra-unsaved-call", lint.Warning, nil,
		"a call where the return address is only in its register",
		"On AArch64 a call overwrites the link register. In the middle of the walk the row cannot be right: the return address "+
			"must be somewhere on the stack by then.", sfWalk,
		imageAArch64Bare, func(im *sframeImage) {
			copy(im.text[8:], []byte{0, 0, 0, 0x94}) // bl
			im.work().Rows[1].Words = []int32{32}
		})
	sfRowRepeats = sframeRule("row-redundant", lint.Info, nil,
		"rows repeat the row in front of them",
		"They cost space only.", sfOdd,
		imageBlob, func(im *sframeImage) {
			im.table.Functions[1].Rows = append(im.table.Functions[1].Rows, sframe.TableRow{Start: 8, Info: rowSP, Words: []int32{8}})
		})
	sfWideWords = sframeRule("row-words-wide", lint.Info, nil,
		"words of rows are wider than needed",
		"They cost space only.", sfOdd,
		imageBlob, func(im *sframeImage) { im.work().Rows[1].Info |= 1 << 5 })
	sfRegister = sframeRule("s390x-register", lint.Warning, nil,
		"a register that cannot hold what the row says",
		"On s390x version 2 can say that a register holds the return address or the frame pointer, by an odd word. Registers are "+
			"numbered from 0 to 31.", sfWalk,
		imageS390XOld, func(im *sframeImage) { im.work().Rows[1].Words = []int32{20, 33<<1 | 1, -72} })
	sfFlexCFA = sframeRule("flex-cfa", lint.Error, nil,
		"the CFA of a flexible row does not count from a register",
		"A CFA that counts from the CFA says nothing.", sfRows,
		imageBlob, func(im *sframeImage) {
			im.work().Info2, im.work().Rows = 1, []sframe.TableRow{{Words: []int32{2, 16}}}
		})
	sfFlexRegister = sframeRule("flex-register", lint.Error, also(lint.Warning),
		"a flexible row counts from a register that does not exist or is not kept",
		"Numbers beyond those of the ABI come from tools that put something else there. Registers other than the stack and frame "+
			"pointer are known in the youngest frame only.", sfWalk,
		imageBlob, func(im *sframeImage) {
			im.work().Info2, im.work().Rows = 1, []sframe.TableRow{{Words: []int32{7<<3 | 1, 8, 0, -5, 0}}}
		})
	sfFlexReserved = sframeRule("flex-reserved", lint.Warning, nil,
		"the reserved bit of a flexible rule is set",
		"Bit 2 of control words must be zero.", sfReserved,
		imageBlob, func(im *sframeImage) {
			im.work().Info2, im.work().Rows = 1, []sframe.TableRow{{Words: []int32{6<<3 | 5, 8}}}
		})
	sfFlexNeedless = sframeRule("flex-needless", lint.Info, nil,
		"functions are flexible without need",
		"Default rows could say the same in half the space, and to readers that do not know the flexible type.", sfOdd,
		imageBlob, func(im *sframeImage) {
			im.work().Info2, im.work().Rows = 1, []sframe.TableRow{{Words: []int32{7<<3 | 1, 8}}}
		})
)

func imageV2PCRel() *sframeImage {
	im := imageBlob()
	im.table.Version = 2
	return im
}

// imageS390XOld is a section of version 2.
func imageS390XOld() *sframeImage {
	im := imageS390X()
	im.table.Version, im.raw = 2, true
	return im
}

func init() {
	// Version 2 has a finding of its own: the healthy example is of version 3.
	sfRAUndefinedOld.GoodData = func() []byte { return imageBlob().build() }
	sfRegister.GoodData = func() []byte { im := imageS390X(); im.raw = true; return im.build() }
	sfFlexRegister.Evidence = "gas 2.47 for expressions over other registers: 536870911"
	sfRowRange.Evidence = "binutils PR libsframe/33131"
	sfRowOrder.Evidence = "gas 2.44 to 2.47 where an alignment directive adds nothing"
}

// rowRuleOf is ruleOf for problems of rows.
func (c *sframeCheck) rowRuleOf(p *sframe.Problem) (rule *lint.Rule, severity lint.Severity, size int) {
	switch p.Kind {
	case sframe.RowTruncated:
		return sfRowTruncated, 0, 1
	case sframe.RowWordSize:
		return sfWordSize, 0, 1
	case sframe.RowWords:
		return sfRowWords, 0, 1
	case sframe.RowOrder:
		return sfRowOrder, 0, 1
	case sframe.RowRange:
		if d := c.s.FDE(p.FDE); c.startsAtEnd(&d, p.Row) {
			severity = lint.Warning
		}
		return sfRowRange, severity, 1
	case sframe.RowFirst:
		return sfRowFirst, 0, 1
	case sframe.RowReserved:
		switch {
		case strings.HasPrefix(p.Text, "a signed"):
			return sfSignedRA, 0, 1
		case strings.HasPrefix(p.Text, "no words"):
			return sfRAUndefined, lint.Error, 1
		}
		return sfFlexReserved, 0, 1
	case sframe.RowRule:
		if strings.HasPrefix(p.Text, "the CFA") {
			return sfFlexCFA, 0, 1
		}
		return sfFlexRegister, 0, 1
	}
	return sfHeaders, 0, 0
}

// startsAtEnd: a row starts exactly where its function ends.
func (c *sframeCheck) startsAtEnd(d *sframe.FDE, row int) bool {
	if row >= manyRows {
		return false
	}
	for it := d.Rows(); it.Next(); {
		if it.Row.Index == row {
			return it.Row.Start == d.Size && !d.Mask()
		}
	}
	return false
}

// rowSums are what is told once for all rows.
type rowSums struct {
	repeated, wide, flex, starts rowSum
	// Of the function at work.
	last   sframe.Row
	any    bool
	needed bool // flexible rows that default ones cannot express
}

// rowSum counts rows and remembers the first.
type rowSum struct {
	n     int
	bytes int
	at    int
	addr  uint64
}

func (s *rowSum) add(at, bytes int, addr uint64) {
	if s.n == 0 {
		s.at, s.addr = at, addr
	}
	s.n++
	s.bytes += bytes
}

func (s *rowSums) begin() { s.any = false }

// judgeRow judges a row that could be read.
func (c *sframeCheck) judgeRow(r *sframe.Row, sums *rowSums) {
	d := &r.FDE
	last, hasLast := &sums.last, sums.any
	defer func() { sums.last, sums.any = *r, true }()
	if r.Outermost {
		if hasLast && !last.Outermost || r.Index == 0 && d.NumRows > 1 {
			if undefined, known := c.undefinedRA(d.Start + uint64(r.Start)); !undefined || !known {
				c.sayAt(c.spot(sfRAUndefined, r.Offset, r.Len()), d.Start+uint64(r.Start), nil, "no words: the return address is undefined from here on")
			}
		}
		if h := &c.s.Header; h.Version < 3 {
			c.sayAt(c.spot(sfRAUndefinedOld, r.Offset, r.Len()), d.Start+uint64(r.Start), nil, "a row without words in version %d", h.Version)
		}
		return
	}
	if r.Fault != 0 || !c.s.Header.ABI.Known() {
		return
	}
	if r.Index == 0 && r.FDE.RowType() > sframe.RowTypeFor(d.Size) {
		sums.starts.add(d.Offset, 0, d.Start)
	}
	c.style(r, sums, hasLast)
	if reason, rule, severity := c.implausible(r, hasLast); reason != "" && !c.confirmed(r, rule) {
		s := c.spot(rule, r.Offset, r.Len())
		s.Severity = severity
		c.sayAt(s, d.Start+uint64(r.Start), nil, "%s", reason)
	}
}

// style counts what only costs space.
func (c *sframeCheck) style(r *sframe.Row, sums *rowSums, hasLast bool) {
	d := &r.FDE
	addr := d.Start + uint64(r.Start)
	last := &sums.last
	if hasLast && last.Fault == 0 && !last.Outermost && r.CFA == last.CFA && r.FP == last.FP && r.RA == last.RA && r.RASigned == last.RASigned {
		sums.repeated.add(r.Offset, r.Len(), addr)
	}
	if r.WordSize > 1 {
		narrow := true
		half := r.WordSize / 2
		limit := int64(1) << (8*half - 1)
		control := d.Flex()
		for i := 0; i < r.N; i++ {
			v := int64(r.Word(i))
			if control {
				if u := int64(r.ControlWord(i)); u >= 2*limit {
					narrow = false
				}
				control = r.ControlWord(i) == 0
				continue
			}
			control = d.Flex()
			narrow = narrow && v >= -limit && v < limit
		}
		if narrow {
			sums.wide.add(r.Offset, r.N*half, addr)
		}
	}
	if d.Flex() {
		if r.Index == 0 {
			sums.needed = false
		}
		abi := c.s.Header.ABI
		plain := (r.CFA.From == sframe.FromSP || r.CFA.From == sframe.FromFP) && !r.CFA.Deref &&
			(r.FP.From == sframe.Unchanged || r.FP.From == sframe.FromCFA && r.FP.Deref) &&
			(r.RA.Fixed || r.RA.From == sframe.Unchanged || r.RA.From == sframe.FromCFA && r.RA.Deref && abi != sframe.AMD64)
		sums.needed = sums.needed || !plain
		if r.Index == int(d.NumRows)-1 && !sums.needed {
			sums.flex.add(d.Attr, 0, d.Start)
		}
	}
}

// sums reports what was counted.
func (c *sframeCheck) sums(s *rowSums) {
	one := func(rule *lint.Rule, x *rowSum, format string, args ...any) {
		if x.n > 0 {
			spot := c.spot(rule, x.at, 1)
			spot.Count = x.n
			c.sayAt(spot, x.addr, func(f *lint.Finding) { f.Subject = c.name() }, format, args...)
		}
	}
	one(sfRowRepeats, &s.repeated, "%s what the row in front says (%d bytes), the first", count(s.repeated.n, "row repeats", "rows repeat"), s.repeated.bytes)
	one(sfWideWords, &s.wide, "the words of %s are wider than needed (%d bytes), the first", count(s.wide.n, "row", "rows"), s.wide.bytes)
	one(sfStartWide, &s.starts, "the starts of rows of %s are wider than the size asks for, the first", count(s.starts.n, "function", "functions"))
	one(sfFlexNeedless, &s.flex, "%s flexible rows without need, the first", count(s.flex.n, "function has", "functions have"))
}

// implausible tells what of a row can hardly be meant.
func (c *sframeCheck) implausible(r *sframe.Row, hasLast bool) (reason string, rule *lint.Rule, severity lint.Severity) {
	d := &r.FDE
	abi := c.s.Header.ABI
	least, unit := int64(0), int64(8)
	switch abi {
	case sframe.AMD64:
		least = 8
	case sframe.S390X:
		least = 160
	default:
		unit = 16
	}
	flat := r.CFA.From == sframe.FromSP || r.CFA.From == sframe.FromFP
	if flat && !r.CFA.Deref && !d.Signal() {
		off := r.CFA.Offset
		switch {
		case r.CFA.From == sframe.FromSP && off < least, off < 0:
			return "the CFA is " + r.CFA.String() + ", below what a frame has at least", sfCFAOffset, 0
		case off%8 != 0:
			return "the CFA is " + r.CFA.String() + ", which is no multiple of 8", sfCFAOffset, 0
		case off%unit != 0 && r.CFA.From == sframe.FromSP:
			return "the CFA is " + r.CFA.String() + ", which is no multiple of 16", sfCFAOffset, lint.Warning
		}
	}
	if reg := firstOdd(c.s.Header.Version, abi, r); reg != sframe.NoReg {
		return "register " + strconv.FormatUint(uint64(reg), 10) + " holds it, which does not exist", sfRegister, 0
	}
	saved := func(x sframe.Rule) bool { return x.From == sframe.FromCFA && x.Deref }
	for _, x := range [...]struct {
		name string
		rule sframe.Rule
	}{{"return address", r.RA}, {"frame pointer", r.FP}} {
		if saved(x.rule) && x.rule.Offset >= 0 && !d.Signal() {
			return "the " + x.name + " is in " + x.rule.String() + ", above the CFA", sfSlotAbove, 0
		}
	}
	if saved(r.RA) && saved(r.FP) && r.RA.Offset == r.FP.Offset {
		return "return address and frame pointer are both in " + r.FP.String(), sfSlotsEqual, 0
	}
	if r.CFA.From == sframe.FromSP && !r.CFA.Deref {
		for _, x := range [...]sframe.Rule{r.RA, r.FP} {
			// s390x saves registers in the area that the caller provides.
			if saved(x) && !x.Fixed && x.Offset < -r.CFA.Offset {
				return x.String() + " is below the stack pointer, with the CFA at " + r.CFA.String(), sfSlotBelow, 0
			}
		}
	}
	if d.Flex() {
		for _, x := range [...]sframe.Rule{r.CFA, r.RA, r.FP} {
			if x.From == sframe.FromRegister && r.Start > 0 && x.Reg < abi.Registers() && c.cfi == nil && !callSaved(abi, x.Reg) {
				return x.String() + " counts from a register that calls do not keep", sfFlexRegister, lint.Warning
			}
		}
	}
	if r.Index == 0 && !d.Mask() && !d.Signal() && c.wholeFunction(d) {
		if !(r.CFA.From == sframe.FromSP && !r.CFA.Deref && r.CFA.Offset == least && r.FP.From == sframe.Unchanged) {
			return "at its entry the CFA is " + r.CFA.String() + " and the frame pointer " + r.FP.String(), sfEntryRow, 0
		}
	}
	if r.CFA.From == sframe.FromFP && !r.CFA.Deref && r.FP.From == sframe.Unchanged && !d.Signal() {
		return "the CFA is " + r.CFA.String() + ", and the caller's frame pointer is not saved", sfFPUnsaved, 0
	}
	if abi == sframe.AArch64LE && c.elf != nil && r.RA.From == sframe.Unchanged && !d.Mask() && r.End > r.Start {
		if at, ok := firstCall(c.elf.code(d.Start+uint64(r.Start), uint64(r.End-r.Start))); ok {
			return "the return address is in its register at the call 0x" + strconv.FormatInt(int64(at), 16) + " bytes behind the row's start", sfRAUnsaved, 0
		}
	}
	return "", nil, 0
}

// firstOdd returns a register named by a word of version 2 on s390x that does not exist.
func firstOdd(version uint8, abi sframe.ABI, r *sframe.Row) uint32 {
	if abi == sframe.S390X && version < 3 {
		for _, x := range [...]sframe.Rule{r.RA, r.FP} {
			if x.From == sframe.FromRegister && x.Reg > 31 {
				return x.Reg
			}
		}
	}
	return sframe.NoReg
}

// callSaved tells registers that functions keep for their callers.
func callSaved(abi sframe.ABI, reg uint32) bool {
	switch abi {
	case sframe.AMD64:
		return reg == 3 || reg == 6 || reg >= 12 && reg <= 15
	case sframe.S390X:
		return reg >= 6 && reg <= 15 || reg >= 24 && reg <= 31
	}
	return reg >= 19 && reg <= 29
}

// firstCall finds the first bl or blr of AArch64 code, but the last instruction: calls that do not return may end a
// function.
func firstCall(code []byte) (at int, ok bool) {
	for i := 0; i+8 <= len(code); i += 4 {
		op := uint32(code[i]) | uint32(code[i+1])<<8 | uint32(code[i+2])<<16 | uint32(code[i+3])<<24
		if op&0xfc000000 == 0x94000000 || op&0xfffffc1f == 0xd63f0000 {
			return i, true
		}
	}
	return 0, false
}

// wholeFunction tells functions from parts of them, such as what compilers move out of the way, and from code of the
// linker.
func (c *sframeCheck) wholeFunction(d *sframe.FDE) bool {
	if c.elf == nil {
		return false
	}
	sym, ok := c.elf.functionAt(d.Start)
	return ok && !strings.Contains(c.elf.nameOf(sym), ".cold") && !strings.Contains(c.elf.nameOf(sym), ".part.")
}

// count is a number with what it counts.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}
