package rules

import (
	"fmt"
	"sort"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/dwarf"
	"github.com/symlint/symlint/unwind/sframe"
)

// The rules on what .eh_frame or .debug_frame of the same file says of the same code.
var sframeCrossRules = []*lint.Rule{
	sfCFAMismatch, sfFPMismatch, sfRAMismatch, sfSigningMismatch, sfOutermostMismatch, sfSignalMismatch, sfPLTWrong,
	sfRangeMismatch, sfUncovered, sfPLTUncovered, sfOnly,
}

var (
	sfCFAMismatch = sframeRule("cfa-mismatch", lint.Error, nil,
		"SFrame and call frame information disagree on the CFA",
		"Both are made from the same directives, so that one of them is wrong, and it has nearly always been SFrame: assemblers and linkers "+
			"keep less state for it. Everything else counts from the CFA.", sfWalk,
		imageAMD64, func(im *sframeImage) { im.work().Rows[2].Words[0] = 24 })
	sfFPMismatch = sframeRule("fp-mismatch", lint.Error, nil,
		"SFrame and call frame information disagree on the frame pointer",
		"The caller's frame pointer comes out wrong: a walk fails at the next frame whose CFA counts from it.", sfWalk,
		imageAMD64, func(im *sframeImage) { im.work().Rows[2].Words[1] = -24 })
	sfRAMismatch = sframeRule("ra-mismatch", lint.Error, nil,
		"SFrame and call frame information disagree on the return address",
		"The walk goes on at an address that is none.", sfWalk,
		imageAArch64, func(im *sframeImage) { im.work().Rows[1].Words[1] = -16 })
	sfSigningMismatch = sframeRule("signing-mismatch", lint.Error, nil,
		"SFrame and call frame information disagree on signed return addresses",
		"A signature that is not taken off leaves an address that is none; the wrong key fails where it is verified.", sfWalk,
		imageAArch64, func(im *sframeImage) { im.work().Rows[1].Info |= 0x80 })
	sfOutermostMismatch = sframeRule("outermost-mismatch", lint.Error, nil,
		"SFrame and call frame information disagree on whether the walk ends",
		"Where the return address is undefined, a walk ends. If SFrame does not say so it goes on into nothing; if only SFrame says so, "+
			"callers are lost.", sfWalk,
		imageAMD64, func(im *sframeImage) {
			im.table.Functions[1].Rows[0].Words = nil
			im.table.Functions[1].Rows[0].Info = 0
		})
	sfSignalMismatch = sframeRule("signal-mismatch", lint.Warning, nil,
		"SFrame and call frame information disagree on a signal frame",
		"The frame that a signal frame returns to is looked up at its very address, others at the byte before it. Only version 3 has a mark.",
		sfWalk, imageAMD64, func(im *sframeImage) { im.signal = true })
	sfPLTWrong = sframeRule("plt-wrong", lint.Error, nil,
		"SFrame of a PLT disagrees with call frame information",
		"The linker makes the unwind information of PLTs itself, from templates. A wrong one affects every call through the table, for as long as the "+
			"program is in it.", sfWalk,
		imagePLT, func(im *sframeImage) { im.work().Rows[0].Words[0] = 16 })
	sfRangeMismatch = sframeRule("range-mismatch", lint.Warning, nil,
		"SFrame and call frame information disagree on the range of a function",
		"An entry of one begins or ends inside one of the other. Code at the edge is unwound by rows of its neighbour, or not at all.", sfGap,
		imageAMD64, func(im *sframeImage) { im.work().Size -= 8 })
	sfUncovered = sframeRule("uncovered", lint.Info, nil,
		"a function has call frame information, but no SFrame",
		"A walk by SFrame ends there. Start-up code and objects that were not assembled for SFrame have none; of other functions the "+
			"assembler leaves out what the format cannot express, with a warning at most.", sfAbsent,
		imageAMD64, func(im *sframeImage) { im.table.Functions = im.table.Functions[:1] })
	sfPLTUncovered = sframeRule("plt-uncovered", lint.Info, nil,
		"a PLT has call frame information, but no SFrame",
		"Linkers do not write it for every PLT: GNU ld has none for AArch64, mold none at all.", sfAbsent,
		imagePLT, func(im *sframeImage) { im.table.Functions = im.table.Functions[:1] })
	sfOnly = sframeRule("only", lint.Info, nil,
		"a function has SFrame, but no call frame information",
		"Nothing is lost by it, but nothing confirms the rows, either.",
		readers(shows, keeps, lint.Fine("uses it"), lint.Fine("uses it"), shows),
		imageAMD64, func(im *sframeImage) {
			im.functions = im.functions[:1]
		})
)

// imagePLT has its code in a section called .plt.
func imagePLT() *sframeImage {
	im := imageAMD64()
	im.change(func(h *imageHeaders) { h.plt = ".plt" })
	return im
}

func init() {
	sfPLTWrong.Evidence = "GNU ld 2.44 to 2.47: every .plt.got of x86-64 has sp+16 instead of sp+8"
	sfCFAMismatch.Evidence = "gas 2.44 to 2.47: .cfi_def_cfa_register undoes a .cfi_def_cfa_offset at the same place"
	sfFPMismatch.Evidence = "gas 2.44 to 2.47: .cfi_restore goes back to the function's first row; expat 2.8.3"
	sfOutermostMismatch.Evidence = "gas 2.44 and clang 23 keep the normal rule after .cfi_undefined"
}

// inPLT tells code of the linker for calls through tables.
func (c *sframeCheck) inPLT(addr uint64) bool {
	s, _ := c.elf.sectionAt(addr)
	return s != nil && (strings.HasPrefix(s.name, ".plt") || strings.HasPrefix(s.name, ".iplt"))
}

// undefinedRA asks call frame information whether the return address at an address is undefined. known is false if it
// says nothing of the address.
func (c *sframeCheck) undefinedRA(addr uint64) (undefined, known bool) {
	if c.cfi == nil {
		return false, false
	}
	d, ok := c.cfi.Find(addr)
	if !ok || !c.afford(addr, d) {
		return false, false
	}
	var row dwarf.Row
	if d.RowAt(addr, &row) != nil {
		return false, false
	}
	r, ok := row.Rule(d.CIE.RAReg)
	return ok && r.Kind == dwarf.RuleUndefined, true
}

// afford pays for a look-up: the instructions of an entry are gone through from its start.
func (c *sframeCheck) afford(addr uint64, x *dwarf.FDE) bool {
	const most = 1 << 12
	c.work -= 16 + int(min(addr-x.Start, most))
	return c.work > 0
}

// confirmed: call frame information says the same as a row, where the row begins; for rules on the CFA, the same CFA.
func (c *sframeCheck) confirmed(r *sframe.Row, rule *lint.Rule) bool {
	if c.cfi == nil {
		return false
	}
	addr := r.FDE.Start + uint64(r.Start)
	d, ok := c.cfi.Find(addr)
	if !ok {
		return false
	}
	if !c.afford(addr, d) {
		return true // who knows
	}
	var row dwarf.Row
	if d.RowAt(addr, &row) != nil {
		return false
	}
	x := comparison{c: c, r: r, row: &row, from: addr, to: addr + 1}
	if rule == sfCFAOffset {
		return x.sameCFA()
	}
	return x.difference() == nil
}

// cross compares a function with call frame information, address by address.
func (c *sframeCheck) cross(d *sframe.FDE) {
	if c.unrelocated(d) {
		return
	}
	x, ok := c.cfi.Find(d.Start)
	plt := c.inPLT(d.Start)
	if !ok {
		c.alone(d)
		return
	}
	if d.Size == 0 {
		return
	}
	if !plt && (x.Start != d.Start || x.End != d.End()) {
		c.ranges(d, x)
	}
	if d.Section().Header.Version == 3 && d.Signal() != x.CIE.SignalFrame {
		c.sayAt(c.spot(sfSignalMismatch, d.Attr+2, 1), d.Start, c.related(x.CIE.Section.Name, x.CIE.Offset, "the CIE"),
			"%s marks a signal frame, %s does not", pick(d.Signal(), "SFrame", x.CIE.Section.Name), pick(d.Signal(), x.CIE.Section.Name, "SFrame"))
	}
	found := make(map[*lint.Rule]*disagreement)
	all := c.cfi.FDEs()
	for pc := d.Start; c.work > 0; {
		c.work--
		c.crossFDE(d, x, pc, found)
		if pc = x.End; pc >= d.End() {
			break
		}
		if x, ok = c.cfi.Find(pc); !ok {
			i := sort.Search(len(all), func(i int) bool { return all[i].Start > pc })
			if i == len(all) || all[i].Start >= d.End() {
				break
			}
			x, pc = &all[i], all[i].Start
		}
		if x.End <= pc {
			break
		}
	}
	for _, rule := range sframeCrossRules {
		if f := found[rule]; f != nil {
			f.report(c)
		}
	}
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// related adds a place in the call frame information to a finding.
func (c *sframeCheck) related(section string, offset uint64, text string) func(*lint.Finding) {
	return func(f *lint.Finding) {
		f.Related = append(f.Related, lint.Related{Location: lint.Location{Section: section, Offset: int64(offset)}, Message: text})
	}
}

// alone reports a function that only SFrame knows.
func (c *sframeCheck) alone(d *sframe.FDE) {
	if s, _ := c.elf.sectionAt(d.Start); s != nil {
		c.sayAt(c.spot(sfOnly, d.Offset, c.s.Header.EntrySize()), d.Start, nil, "no call frame information for a function that has SFrame")
	}
}

// ranges reports entries that do not cover the same code.
func (c *sframeCheck) ranges(d *sframe.FDE, x *dwarf.FDE) {
	c.sayAt(c.spot(sfRangeMismatch, d.Offset, c.s.Header.EntrySize()), d.Start, c.related(x.CIE.Section.Name, x.Offset, "its entry there"),
		"the entry covers 0x%x bytes from here, that of %s %s", d.Size, x.CIE.Section.Name, extent(d.Start, x))
}

// extent describes an entry's range as seen from an address.
func extent(start uint64, x *dwarf.FDE) string {
	switch {
	case x.Start < start:
		return fmt.Sprintf("0x%x bytes, which begin 0x%x before", x.End-x.Start, start-x.Start)
	case x.Start > start:
		return fmt.Sprintf("0x%x bytes, which begin 0x%x behind", x.End-x.Start, x.Start-start)
	}
	return fmt.Sprintf("0x%x bytes", x.End-x.Start)
}

// crossFDE compares the addresses from pc on that both entries cover.
func (c *sframeCheck) crossFDE(d *sframe.FDE, x *dwarf.FDE, pc uint64, found map[*lint.Rule]*disagreement) {
	end := min(d.End(), x.End)
	if d.NumRows == 0 {
		if d.Signal() {
			return
		}
		c.crossNoRows(d, x, pc, end, found)
		return
	}
	note := func(y *comparison) {
		c.work -= 2
		for diff := y.difference(); diff != nil; diff = y.difference() {
			y.add(diff, found)
		}
	}
	rows := d.Rows()
	hasRow := rows.Next()
	_ = x.Rows(&c.row, func(w *dwarf.Row) bool {
		from, to := max(w.Start, pc), min(w.End, end)
		c.work--
		if from >= to {
			return c.work > 0
		}
		if d.Mask() {
			c.crossBlocks(d, w, from, to, note)
			return c.work > 0
		}
		for hasRow && c.work > 0 {
			r := &rows.Row
			start, stop := d.Start+uint64(r.Start), d.Start+uint64(r.End)
			if lo, hi := max(from, start), min(to, stop); lo < hi {
				note(&comparison{c: c, r: r, row: w, from: lo, to: hi})
			}
			if stop > to {
				break
			}
			c.work--
			hasRow = rows.Next()
		}
		return c.work > 0
	})
}

// crossBlocks compares a function of repeated blocks.
func (c *sframeCheck) crossBlocks(d *sframe.FDE, w *dwarf.Row, from, to uint64, note func(*comparison)) {
	rep := uint64(d.Repeat())
	if rep == 0 {
		return
	}
	for pc := from; pc < to && c.work > 0; {
		block := (pc - d.Start) / rep * rep
		r, ok := d.RowAt(pc)
		c.work -= 8
		if !ok {
			pc++
			continue
		}
		stop := min(to, d.Start+block+max(uint64(r.End), pc-d.Start-block+1))
		note(&comparison{c: c, r: &r, row: w, from: pc, to: stop})
		pc = stop
	}
}

// crossNoRows compares a function without rows, which is outermost or nothing.
func (c *sframeCheck) crossNoRows(d *sframe.FDE, x *dwarf.FDE, pc, end uint64, found map[*lint.Rule]*disagreement) {
	if !d.Outermost() {
		return
	}
	_ = x.Rows(&c.row, func(w *dwarf.Row) bool {
		c.work--
		from := max(w.Start, pc)
		if from >= min(w.End, end) {
			return c.work > 0
		}
		if r, ok := w.Rule(x.CIE.RAReg); !ok || r.Kind != dwarf.RuleUndefined {
			y := comparison{c: c, row: w, from: from, offset: d.Offset}
			y.add(&difference{sfOutermostMismatch, "no rows (outermost)", "a return address"}, found)
			return false
		}
		return c.work > 0
	})
}

// disagreement is the first of a kind in a function.
type disagreement struct {
	difference
	rule           *lint.Rule
	addr           uint64
	offset, length int
	section        string
	rowAt          uint64
	n              int
}

func (f *disagreement) report(c *sframeCheck) {
	s := c.spot(f.rule, f.offset, f.length)
	s.Count = f.n
	c.sayAt(s, f.addr, c.related(f.section, f.rowAt, "says "+f.theirs), "%s %s, %s says %s", f.what(), f.ours, f.section, f.theirs)
}

// uncovered reports what has call frame information only.
func (c *sframeCheck) uncovered() {
	if c.cfi == nil || !c.usable() {
		return
	}
	sort.Slice(c.spans, func(i, j int) bool { return c.spans[i].start < c.spans[j].start })
	reach := make([]uint64, len(c.spans)) // the end of what the spans up to here cover
	for i, s := range c.spans {
		reach[i] = s.end
		if i > 0 {
			reach[i] = max(reach[i], reach[i-1])
		}
	}
	all := c.cfi.FDEs()
	for i := range all {
		x := &all[i]
		if i > 0 && all[i-1].Start == x.Start {
			continue // the same function in .debug_frame
		}
		n := sort.Search(len(c.spans), func(i int) bool { return c.spans[i].start > x.Start })
		if n > 0 && reach[n-1] > x.Start || x.Start == x.End {
			continue
		}
		rule, what := sfUncovered, "no SFrame"
		if c.inPLT(x.Start) {
			rule = sfPLTUncovered
		}
		spot := lint.BinarySpot{Rule: rule, Section: x.CIE.Section.Name, Offset: int64(x.Offset)}
		c.p.Report(spot, func(f *lint.Finding) {
			c.locate(f, x.Start)
			f.Message = fmt.Sprintf("%s for 0x%x bytes of code %s", what, x.End-x.Start, c.where(x.Start))
			if reason := c.refusal(x); reason != "" {
				f.Message += ": " + reason
			} else if rule == sfUncovered {
				f.Message += ": nothing in its call frame information explains it; its object file may have none"
			}
			if f.Function == "" {
				f.Subject = c.where(x.Start)
			}
		})
	}
}

// usable: a section could be read, so that gaps in it mean something.
func (c *sframeCheck) usable() bool {
	for _, s := range c.f.Sections {
		if s.Err == nil && s.Len() > 0 {
			return true
		}
	}
	return false
}
