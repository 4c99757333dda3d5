package sframe

import "fmt"

// Target is a version of the format.
type Target struct {
	Version uint8
	// Errata of version 2: 1 has starts that count from their own field, 2 has rows without words for outermost
	// frames as well.
	Errata uint8
}

// Dropped is a function that a version cannot express.
type Dropped struct {
	Index int
	Start uint64
	Why   string
}

// Convert returns the section's content for another version, without the functions that it cannot express. Words get
// the least size, and rows the order of the table. Marks without a place in the version (signal frames, sizes of
// repeated blocks that are the usual 16 bytes) are left out.
func (s *Section) Convert(to Target) (*Table, []Dropped, error) {
	if s.Err != nil {
		return nil, nil, s.Err
	}
	h := s.Header
	t := &Table{
		Version: to.Version, Flags: h.Flags & Defined(to.Version) &^ PCRel, ABI: h.ABI, BigEndian: s.BigEndian,
		FixedFP: h.FixedFP, FixedRA: h.FixedRA, Addr: s.Addr,
	}
	switch to.Version {
	case 1:
	case 2:
		if to.Errata > 0 {
			t.Flags |= PCRel
		}
	case v3:
		t.Flags |= PCRel
	default:
		return nil, nil, fmt.Errorf("sframe: version %d is not known", to.Version)
	}
	if h.ABI == S390X && (to.Version == 1 || to.Version == 2 && to.Errata == 0) {
		return nil, nil, fmt.Errorf("sframe: s390x came with version 2 errata 1")
	}
	h.Version, h.Flags = t.Version, t.Flags
	c := converter{target: to, h: &h}
	var dropped []Dropped
	left := len(s.Data)
	for i := range s.n {
		d := s.FDE(i)
		f, read, why := c.function(&d, left)
		if left -= read; left < 0 {
			return nil, nil, s.fatal(d.Offset, RowsShared, "functions share rows")
		}
		if why != "" {
			dropped = append(dropped, Dropped{i, d.Start, why})
			continue
		}
		f.Order = uint32(len(t.Functions))
		t.Functions = append(t.Functions, f)
	}
	return t, dropped, nil
}

type converter struct {
	target Target
	h      *Header // of the target
}

// function converts a function. It reads at most limit bytes of rows, and one row more.
func (c *converter) function(d *FDE, limit int) (f Function, read int, why string) {
	from := d.s.Header.Version
	f = Function{Start: d.Start, Size: d.Size, Info: d.Info & (infoRowType | infoMask | infoBKey), RepSize: d.RepSize}
	if c.target.Version == v3 && from == v3 {
		f.Info, f.Info2 = d.Info, d.Info2
	}
	if d.Mask() {
		switch repeat := d.Repeat(); {
		case c.target.Version > 1:
			f.RepSize = uint8(repeat)
		case repeat != v1Repeat:
			return f, 0, fmt.Sprintf("a repeated block of %d bytes", repeat)
		}
	}
	if c.target.Version == 1 {
		f.RepSize = 0
	}
	if d.NumRows == 0 && c.target.Version != v3 {
		return f, 0, "no rows"
	}
	flex := from == v3 && d.Flex() && c.target.Version == v3
	if from < v3 && c.target.Version == v3 && d.namesRegisters(limit) {
		flex, f.Info2 = true, typeFlex
	}
	it := d.Rows()
	for read <= limit && it.Next() {
		r := &it.Row
		read += r.Len()
		row := TableRow{Start: r.Start, Info: r.Info & (rowInfoBase | rowInfoSign)}
		switch {
		case r.Outermost:
			if row.Info = 0; c.target.Version == 1 || c.target.Version == 2 && c.target.Errata < 2 {
				return f, read, "an undefined return address"
			}
		case r.Fault != 0:
			return f, read, "a row that cannot be used: " + r.Fault.String()
		default:
			var ok bool
			if flex {
				row.Info &^= rowInfoBase
				row.Words, ok = c.flexWords(r)
			} else {
				row.Info = row.Info&^rowInfoBase | baseBit(r.CFA.From)
				row.Words, ok = c.standardWords(r)
			}
			if !ok {
				return f, read, fmt.Sprintf("rules CFA %s, FP %s, RA %s", r.CFA, r.FP, r.RA)
			}
		}
		f.Rows = append(f.Rows, row)
	}
	if p := it.Problem(); p != nil {
		return f, read, p.Text
	}
	return f, read, ""
}

func baseBit(from Source) uint8 {
	if from == FromSP {
		return rowInfoBase
	}
	return 0
}

// namesRegisters reports whether a row of version 2 has registers in the place of offsets.
func (d *FDE) namesRegisters(limit int) bool {
	it := d.Rows()
	for read := 0; read <= limit && it.Next(); read += it.Row.Len() {
		for _, rule := range [...]*Rule{&it.Row.RA, &it.Row.FP} {
			if rule.From != Unchanged && rule.From != FromCFA {
				return true
			}
		}
	}
	return false
}

// standardWords are the words of a row that is not flexible.
func (c *converter) standardWords(r *Row) ([]int32, bool) {
	if r.CFA.From != FromSP && r.CFA.From != FromFP || r.CFA.Deref {
		return nil, false
	}
	cfa, ok := storedCFA(c.h.ABI, r.CFA.Offset)
	if !ok {
		return nil, false
	}
	words := []int32{cfa}
	if !r.RA.Fixed {
		switch w, ok := c.slotWord(&r.RA); {
		case !ok || c.h.FixedRA != 0:
			return nil, false
		case w != 0 || r.FP.From != Unchanged && !r.FP.Fixed:
			words = append(words, w)
		}
	}
	if !r.FP.Fixed && r.FP.From != Unchanged {
		w, ok := c.slotWord(&r.FP)
		if !ok || c.h.FixedFP != 0 {
			return nil, false
		}
		words = append(words, w)
	}
	return words, true
}

// slotWord is the word of a rule, 0 for none.
func (c *converter) slotWord(rule *Rule) (int32, bool) {
	switch rule.From {
	case Unchanged:
		return 0, true
	case FromCFA:
		_, register := registerWord(c.h, int32(rule.Offset))
		return int32(rule.Offset), rule.Deref && rule.Offset != 0 && !register && fitsInt32(rule.Offset)
	}
	// A register, in the place of an offset.
	if c.h.ABI != S390X || c.h.Version != 2 || rule.Deref || rule.Offset != 0 || rule.Reg > 1<<30-1 {
		return 0, false
	}
	return int32(rule.Reg)<<1 | 1, true
}

// flexWords are the words of a flexible row.
func (c *converter) flexWords(r *Row) ([]int32, bool) {
	cfa, ok := storedCFA(c.h.ABI, r.CFA.Offset)
	if !ok || r.CFA.From == Unchanged || r.CFA.From == FromCFA {
		return nil, false
	}
	words := []int32{control(&r.CFA), cfa}
	switch {
	case !r.RA.Fixed && r.RA.From != Unchanged:
		words = append(words, control(&r.RA), int32(r.RA.Offset))
	case !r.FP.Fixed && r.FP.From != Unchanged:
		words = append(words, 0)
	}
	if !r.FP.Fixed && r.FP.From != Unchanged {
		words = append(words, control(&r.FP), int32(r.FP.Offset))
	}
	return words, true
}

func control(rule *Rule) int32 {
	v := uint32(0)
	if rule.From != FromCFA {
		v = rule.Reg<<controlShift | controlReg
	}
	if rule.Deref {
		v |= controlDeref
	}
	return int32(v)
}

// storedCFA scales a CFA offset as it is stored (SFRAME_V2_S390X_CFA_OFFSET_ENCODE).
func storedCFA(a ABI, offset int64) (int32, bool) {
	if a == S390X {
		offset -= s390xAdjust
		if offset%s390xFactor != 0 {
			return 0, false
		}
		offset /= s390xFactor
	}
	return int32(offset), fitsInt32(offset)
}

func fitsInt32(v int64) bool { return v == int64(int32(v)) }
