package sframe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// ErrNone is returned for files without an SFrame section.
var ErrNone = errors.New("sframe: no SFrame section")

// List writes what readelf --sframe of binutils 2.47 prints for a file; sections of version 1, which it refuses, as
// readelf 2.40. It fails with ErrNone for files without SFrame, and with a *Problem for a section without a usable
// header. Where readelf crashes, or shows a row again for every one it cannot read, as much as there is to be read is
// listed and the error tells the rest.
func List(w io.Writer, f *File) error {
	if len(f.Sections) == 0 {
		return ErrNone
	}
	var errs []error
	for _, s := range f.Sections {
		if err := ListSection(w, s); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// ListSection is List for one section.
func ListSection(w io.Writer, s *Section) error {
	if s.Err != nil {
		if s.ELF != nil && s.ELF.Size == 0 {
			if _, err := fmt.Fprintf(w, "\nSection '%s' has no debugging data.\n", s.Name); err != nil {
				return err
			}
		}
		return s.Err
	}
	l := lister{w: bufio.NewWriterSize(w, 1<<16), s: s}
	l.header()
	err := l.functions()
	if e := l.w.Flush(); e != nil {
		return e
	}
	return err
}

type lister struct {
	w   *bufio.Writer
	s   *Section
	buf []byte // of one line, used again
}

func (l *lister) header() {
	s, h := l.s, &l.s.Header
	fmt.Fprintf(l.w, "Contents of the SFrame section %s:\n  Header :\n\n", s.Name)
	fmt.Fprintf(l.w, "    Version: SFRAME_VERSION_%d\n", h.Version)
	flags := h.Flags.names()
	if h.Version == 1 && len(flags) > 1 {
		flags = flags[len(flags)-1:] // readelf 2.40 shows the last one
	}
	if len(flags) == 0 {
		flags = []string{"NONE"}
	}
	fmt.Fprintf(l.w, "%11s%s", "Flags: ", flags[0])
	for _, name := range flags[1:] {
		fmt.Fprintf(l.w, ",\n%11s%s", "", name)
	}
	l.w.WriteByte('\n')
	if h.Version > 1 {
		if h.FixedFP != 0 {
			fmt.Fprintf(l.w, "    CFA fixed FP offset: %d\n", h.FixedFP)
		}
		if h.FixedRA != 0 {
			fmt.Fprintf(l.w, "    CFA fixed RA offset: %d\n", h.FixedRA)
		}
	}
	fmt.Fprintf(l.w, "    Num FDEs: %d\n    Num FREs: %d\n\n  Function Index :\n", int32(h.NumFDEs), int32(h.NumFREs))
}

func (l *lister) functions() error {
	var failed *Problem
	it := l.s.Functions()
	for it.Next() {
		d := &it.FDE
		pc := d.listedStart()
		l.function(d, pc)
		for it.NextRow() {
			l.row(it.Row(), pc)
		}
		l.w.WriteByte('\n')
		if p := it.RowProblem(); p != nil && failed == nil {
			failed = p
		}
	}
	if p := it.Problem(); p != nil {
		return p
	}
	if failed == nil && l.s.n < clamp(uint64(l.s.Header.NumFDEs)) {
		failed = l.s.fatal(8, OutOfBounds, "%d of %d functions are beyond the section's end",
			l.s.Header.NumFDEs-uint32(l.s.n), l.s.Header.NumFDEs)
	}
	if failed != nil {
		return failed
	}
	return nil
}

// listedStart is the address that readelf takes for a function's. In object files its sections lie at 0, and it applies
// relocations to the field before it looks at how the field is meant; so objects of assemblers before version 2
// errata 1, whose relocations count from the field without the flag that says so, get other addresses than Start. It
// applies none for version 1.
func (d *FDE) listedStart() uint64 {
	s := d.s
	if s.ELF == nil || s.file.Type != 1 { // ET_REL
		return d.Start
	}
	at := uint64(d.Offset)
	field := uint64(d.Field)
	if r, ok := d.Reloc(); ok && r.Applied && s.Header.Version > 1 {
		if field = r.Target; r.pc {
			field -= s.ELF.Addr + at
		}
		if s.Header.Version < v3 {
			field = uint64(int32(field))
		}
	}
	if s.Header.Flags&PCRel != 0 {
		field += at
	}
	return s.ELF.Addr + field
}

func (l *lister) function(d *FDE, pc uint64) {
	h := &l.s.Header
	fmt.Fprintf(l.w, "\n    func idx [%d]: pc = 0x%x, size = %d bytes", d.Index, pc, int32(d.Size))
	if attr := d.attributes(); attr != "" {
		fmt.Fprintf(l.w, ", attr = \"%s\"", attr)
	}
	if h.ABI.aarch64() && d.BKey() {
		l.w.WriteString(", pauth = B key")
	}
	mark := "   "
	if d.Mask() {
		mark = "[m]"
	}
	fmt.Fprintf(l.w, "\n    STARTPC%s      CFA       FP        RA           ", mark)
}

// attributes are the letters that readelf has for a function. It looks at the signal bit in version 2 as well.
func (d *FDE) attributes() string {
	attr := ""
	if d.s.Header.Version > 1 && d.Info&infoSignal != 0 {
		attr += "S"
	}
	if d.s.Header.Version == v3 && d.Flex() {
		attr += "F"
	}
	return attr
}

func (l *lister) row(r *Row, pc uint64) {
	b := append(l.buf[:0], "\n    "...)
	if r.FDE.Mask() {
		pc = 0
	}
	b = appendHex(b, pc+uint64(r.Start), 16)
	b = append(b, "  "...)
	if r.N == 0 {
		l.buf = append(b, "RA undefined"...)
		l.w.Write(l.buf)
		return
	}
	var c rowColumns
	if r.FDE.s.Header.Version == v3 && r.FDE.Flex() {
		c = flexColumns
	} else {
		c = standardColumns
	}
	at := len(b)
	b = c.cfa(b, r)
	b = pad(b, at, 10)
	at = len(b)
	b = c.fp(b, r)
	b = pad(b, at, 10)
	at = len(b)
	b = c.ra(b, r)
	if r.RASigned {
		b = append(b, "[s]"...)
	} else {
		b = append(b, "   "...)
	}
	l.buf = pad(b, at, 13)
	l.w.Write(l.buf)
}

// pad fills a column up with blanks.
func pad(b []byte, from, width int) []byte {
	for len(b)-from < width {
		b = append(b, ' ')
	}
	return b
}

func appendHex(b []byte, v uint64, digits int) []byte {
	const hex = "0123456789abcdef"
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, hex[v>>shift&15])
	}
	return b
}

// rowColumns are the texts of a row.
type rowColumns struct{ cfa, fp, ra func([]byte, *Row) []byte }

var (
	standardColumns = rowColumns{standardCFA, standardFP, standardRA}
	flexColumns     = rowColumns{flexCFA, flexFP, flexRA}
)

func standardCFA(b []byte, r *Row) []byte {
	reg := "fp+"
	if r.BaseSP {
		reg = "sp+"
	}
	// Offsets are C ints.
	return strconv.AppendInt(append(b, reg...), int64(int32(cfaOffset(r.FDE.s.Header.ABI, r.Word(0)))), 10)
}

func standardFP(b []byte, r *Row) []byte {
	h := &r.FDE.s.Header
	index := 2
	if h.FixedRA != 0 {
		index = 1
	}
	switch {
	case h.FixedFP != 0:
		return appendSlot(b, int64(h.FixedFP))
	case index < r.N:
		return appendSaved(b, h, r.Word(index))
	}
	return append(b, 'u')
}

func standardRA(b []byte, r *Row) []byte {
	h := &r.FDE.s.Header
	switch {
	case h.FixedRA != 0 && h.Version == 1:
		return append(b, 'u')
	case h.FixedRA != 0:
		return append(b, 'f')
	case r.N < 2:
		return append(b, 'u')
	case r.RA.Padded && h.Version > 1:
		return append(b, 'U')
	}
	return appendSaved(b, h, r.Word(1))
}

// appendSaved shows where a register is saved: "c-16", or "r16" for a register in version 2 on s390x.
func appendSaved(b []byte, h *Header, w int32) []byte {
	if reg, ok := registerWord(h, w); ok {
		return strconv.AppendInt(append(b, 'r'), int64(int32(reg)), 10)
	}
	return appendSlot(b, int64(w))
}

func appendSlot(b []byte, offset int64) []byte { return appendSigned(append(b, 'c'), offset) }

func appendSigned(b []byte, v int64) []byte {
	if v >= 0 {
		b = append(b, '+')
	}
	return strconv.AppendInt(b, v, 10)
}

func flexCFA(b []byte, r *Row) []byte {
	if r.N < 2 {
		return append(b, 'u')
	}
	return appendFlex(b, r, r.ControlWord(0), int64(int32(cfaOffset(r.FDE.s.Header.ABI, r.Word(1)))))
}

func flexFP(b []byte, r *Row) []byte {
	if r.FP.From == Unchanged || r.FP.Fixed {
		return append(b, 'u')
	}
	return appendRule(b, r, &r.FP)
}

func flexRA(b []byte, r *Row) []byte {
	switch {
	case r.RA.Padded:
		return append(b, 'U')
	case r.RA.Fixed:
		return append(b, 'f')
	case r.RA.From == Unchanged:
		return append(b, 'u')
	}
	return appendRule(b, r, &r.RA)
}

// appendRule shows a flexible rule that was read.
func appendRule(b []byte, r *Row, rule *Rule) []byte {
	control := uint32(0)
	if rule.From != FromCFA {
		control = rule.Reg<<controlShift | controlReg
	}
	if rule.Deref {
		control |= controlDeref
	}
	return appendFlex(b, r, control, int64(int32(rule.Offset)))
}

// appendFlex shows a control word with its offset: "r10+0", "(fp-8)", "c-16".
func appendFlex(b []byte, r *Row, control uint32, offset int64) []byte {
	if control&controlReg == 0 {
		return appendSlot(b, offset)
	}
	deref := control&controlDeref != 0
	if deref {
		b = append(b, '(')
	}
	switch abi, reg := r.FDE.s.Header.ABI, control>>controlShift; reg {
	case abi.SP():
		b = append(b, "sp"...)
	case abi.FP():
		b = append(b, "fp"...)
	default:
		b = strconv.AppendUint(append(b, 'r'), uint64(reg), 10)
	}
	if b = appendSigned(b, offset); deref {
		b = append(b, ')')
	}
	return b
}
