package dwarf

import (
	"debug/elf"
	"fmt"
)

// Call frame instructions: DWARF 5, section 7.24, and the extensions of GNU, MIPS and AArch64 (aadwarf64).
const (
	cfaNop                  = 0x00
	cfaSetLoc               = 0x01
	cfaAdvanceLoc1          = 0x02
	cfaAdvanceLoc2          = 0x03
	cfaAdvanceLoc4          = 0x04
	cfaOffsetExtended       = 0x05
	cfaRestoreExtended      = 0x06
	cfaUndefined            = 0x07
	cfaSameValue            = 0x08
	cfaRegister             = 0x09
	cfaRememberState        = 0x0a
	cfaRestoreState         = 0x0b
	cfaDefCFA               = 0x0c
	cfaDefCFARegister       = 0x0d
	cfaDefCFAOffset         = 0x0e
	cfaDefCFAExpression     = 0x0f
	cfaExpression           = 0x10
	cfaOffsetExtendedSF     = 0x11
	cfaDefCFASF             = 0x12
	cfaDefCFAOffsetSF       = 0x13
	cfaValOffset            = 0x14
	cfaValOffsetSF          = 0x15
	cfaValExpression        = 0x16
	cfaMIPSAdvanceLoc8      = 0x1d
	cfaNegateRAStateWithPC  = 0x2c // AArch64
	cfaWindowSave           = 0x2d // SPARC; AArch64: negate_ra_state
	cfaGNUArgsSize          = 0x2e
	cfaGNUNegOffsetExtended = 0x2f
	cfaAdvanceLoc           = 0x40 // these three hold an operand in their low six bits
	cfaOffset               = 0x80
	cfaRestore              = 0xc0
	lowBits                 = 0x3f
	sparcOut, sparcIn       = 8, 24 // %o0 and %i0
	sparcLocal, sparcLast   = 16, 31
)

// ProgramError is a call frame instruction that cannot be executed.
type ProgramError struct {
	Section string
	Offset  uint64 // of the instruction
	Text    string
}

func (e *ProgramError) Error() string { return fmt.Sprintf("%s+0x%x: %s", e.Section, e.Offset, e.Text) }

// RowAt finds the rules that hold at a pc within the FDE's range. It reuses the storage of row and allocates nothing
// once that is large enough. Instructions behind the pc are not looked at.
func (d *FDE) RowAt(pc uint64, row *Row) error {
	if pc < d.Start || pc >= d.End {
		return fmt.Errorf("dwarf: pc 0x%x is not in 0x%x-0x%x", pc, d.Start, d.End)
	}
	return d.run(row, pc, nil)
}

// Rows calls yield for every row from Start to End, in order, until it returns false. Rows of no bytes are left out.
// The row is reused: clone it to keep it. After an error, which may come behind rows that were yielded, nothing is
// known about the rest. If row is not nil its storage is used.
func (d *FDE) Rows(row *Row, yield func(*Row) bool) error {
	if row == nil {
		row = new(Row)
	}
	if d.Start == d.End {
		return nil
	}
	return d.run(row, d.End-1, yield)
}

// run executes the instructions up to the row of pc. With yield, it hands out the rows on the way.
func (d *FDE) run(row *Row, pc uint64, yield func(*Row) bool) error {
	cie := d.CIE
	row.FDE = d
	if d.Unusable != "" {
		return &ProgramError{cie.Section.Name, d.Offset, "FDE cannot be used: " + d.Unusable}
	}
	row.begin(&cie.initial)
	row.saved, row.savedRows = row.saved[:0], row.savedRows[:0]
	row.Start, row.Offset = d.Start, uint64(d.program)

	in := interpreter{cie: cie, row: row, function: d.Start, loc: d.Start}
	in.c = cursor{data: cie.Section.Data[:d.end], pos: d.program, big: cie.file.layout.BigEndian}
	for {
		at, more := in.toNextLocation()
		if in.reason != "" {
			return &ProgramError{cie.Section.Name, uint64(at), in.reason}
		}
		next := in.loc
		if !more || next >= d.End {
			row.End = d.End
			if yield != nil {
				yield(row)
			}
			return nil
		}
		if next == row.Start {
			continue
		}
		row.End = next
		if yield != nil && !yield(row) || next > pc {
			return nil
		}
		row.Start, row.Offset = next, uint64(at)
	}
}

// runInitial executes the CIE's instructions, which give every FDE's first rules.
func (cie *CIE) runInitial() {
	var row Row
	in := interpreter{cie: cie, row: &row, initial: true}
	in.c = cursor{data: cie.Section.Data[:cie.end], pos: cie.program, big: cie.file.layout.BigEndian}
	at, _ := in.toNextLocation()
	if in.reason != "" {
		cie.Unusable = in.reason
		cie.file.problem(cie.Section.Name, uint64(at), BadCIE, "CIE: %s", in.reason)
	}
	cie.initial = rules{row.CFA, row.Regs, row.RASigned, row.RASignedWithPC, row.ArgsSize}
}

// interpreter executes call frame instructions on a row.
type interpreter struct {
	c        cursor
	cie      *CIE
	row      *Row
	initial  bool // these are the CIE's instructions
	function uint64
	loc      uint64
	count    int
	reason   string // why it had to stop
}

// Reasons that need no details.
const (
	errShort     = "instruction goes beyond its entry"
	errWide      = "operand has more than 64 bits"
	errRules     = "row has too many register rules"
	errRemember  = "too many remembered states"
	errRestore   = "restore_state without remember_state"
	errInitial   = "instruction is not allowed in a CIE"
	errBackwards = "set_loc goes backwards"
	errMany      = "too many instructions"
)

// toNextLocation executes instructions up to and including one that sets the location, and returns that one's offset;
// at the end of the program more is false. On failure it gives the failing instruction's offset.
func (in *interpreter) toNextLocation() (at int, more bool) {
	c, row := &in.c, in.row
	for c.pos < len(c.data) {
		at = c.pos
		if in.count++; in.count > maxInstructions {
			in.reason = errMany
			return at, false
		}
		op := c.data[c.pos]
		c.pos++
		ok := true
		switch op &^ lowBits {
		case cfaAdvanceLoc:
			return at, in.advance(uint64(op & lowBits))
		case cfaOffset:
			ok = row.set(RegRule{Reg: uint64(op & lowBits), Kind: RuleOffset, Offset: in.factored()})
		case cfaRestore:
			ok = in.restore(uint64(op & lowBits))
		default:
			switch op {
			case cfaNop:
				continue
			case cfaSetLoc:
				return at, in.setLoc()
			case cfaAdvanceLoc1:
				return at, in.advance(uint64(c.u8()))
			case cfaAdvanceLoc2:
				return at, in.advance(uint64(c.u16()))
			case cfaAdvanceLoc4:
				return at, in.advance(uint64(c.u32()))
			case cfaMIPSAdvanceLoc8:
				return at, in.advance(c.u64())
			case cfaOffsetExtended:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleOffset, Offset: in.factored()})
			case cfaOffsetExtendedSF:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleOffset, Offset: in.factoredSigned()})
			case cfaGNUNegOffsetExtended:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleOffset, Offset: -in.factored()})
			case cfaValOffset:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleValOffset, Offset: in.factored()})
			case cfaValOffsetSF:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleValOffset, Offset: in.factoredSigned()})
			case cfaRestoreExtended:
				ok = in.restore(c.uleb())
			case cfaUndefined:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleUndefined})
			case cfaSameValue:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleSameValue})
			case cfaRegister:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleRegister, From: c.uleb()})
			case cfaExpression:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleExpression, Expr: c.next(c.uleb())})
			case cfaValExpression:
				ok = row.set(RegRule{Reg: c.uleb(), Kind: RuleValExpression, Expr: c.next(c.uleb())})
			case cfaRememberState:
				if !row.remember() {
					in.reason = errRemember
				}
			case cfaRestoreState:
				if !row.recall() {
					in.reason = errRestore
				}
			case cfaDefCFA:
				row.CFA = CFARule{Kind: CFARegister, Reg: c.uleb(), Offset: int64(c.uleb())}
			case cfaDefCFASF:
				row.CFA = CFARule{Kind: CFARegister, Reg: c.uleb(), Offset: in.factoredSigned()}
			case cfaDefCFARegister: // the offset is kept even where the CFA was an expression, as by gdb and libgcc
				row.CFA = CFARule{Kind: CFARegister, Reg: c.uleb(), Offset: row.CFA.Offset}
			case cfaDefCFAOffset:
				row.CFA.Offset = int64(c.uleb())
			case cfaDefCFAOffsetSF:
				row.CFA.Offset = in.factoredSigned()
			case cfaDefCFAExpression:
				row.CFA = CFARule{Kind: CFAExpression, Offset: row.CFA.Offset, Expr: c.next(c.uleb())}
			case cfaGNUArgsSize:
				row.ArgsSize = c.uleb()
			case cfaWindowSave, cfaNegateRAStateWithPC:
				ok = in.vendor(op)
			default:
				in.reason = fmt.Sprintf("instruction 0x%02x is not known", op)
			}
		}
		switch {
		case c.short:
			in.reason = errShort
		case c.wide:
			in.reason = errWide
		case !ok && in.reason == "":
			in.reason = errRules
		}
		if in.reason != "" {
			return at, false
		}
	}
	return c.pos, false
}

// factored reads an unsigned offset in units of the data alignment.
func (in *interpreter) factored() int64 { return int64(in.c.uleb()) * in.cie.DataAlign }

func (in *interpreter) factoredSigned() int64 { return in.c.sleb() * in.cie.DataAlign }

// advance moves the location; one that leaves the address space stays at its end, beyond every FDE.
func (in *interpreter) advance(delta uint64) bool {
	if !in.moved() {
		return false
	}
	top := mask(^uint64(0), in.cie.AddressSize)
	if a := in.cie.CodeAlign; delta != 0 && a > (top-in.loc)/delta {
		in.loc = top
	} else {
		in.loc += delta * a
	}
	return true
}

func (in *interpreter) setLoc() bool {
	c, cie := &in.c, in.cie
	c.next(uint64(cie.SegmentSize))
	p, reason := c.pointer(cie.PointerEncoding, cie.file.bases(cie, in.function))
	if reason != "" {
		in.reason = "set_loc: " + reason
		return false
	}
	loc := p.value
	if p.indirect {
		v, ok := cie.file.load(loc)
		if !ok {
			in.reason = "set_loc: the location is not available"
			return false
		}
		loc = v
	}
	if !in.moved() {
		return false
	}
	if loc < in.loc {
		in.reason = errBackwards
		return false
	}
	in.loc = loc
	return true
}

// moved checks an instruction that sets the location, whose operand has been read.
func (in *interpreter) moved() bool {
	switch {
	case in.c.short:
		in.reason = errShort
	case in.c.wide:
		in.reason = errWide
	case in.initial:
		in.reason = errInitial
	}
	return in.reason == ""
}

func (in *interpreter) restore(reg uint64) bool {
	if in.initial {
		in.reason = errInitial
		return true
	}
	for i := range in.cie.initial.regs {
		if r := &in.cie.initial.regs[i]; r.Reg == reg {
			return in.row.set(*r)
		}
	}
	in.row.drop(reg)
	return true
}

// vendor executes the instructions that mean different things on different CPUs.
func (in *interpreter) vendor(op byte) bool {
	row, ok := in.row, true
	switch m := in.cie.file.layout.Machine; {
	case m == elf.EM_AARCH64:
		row.RASigned = !row.RASigned
		if op == cfaNegateRAStateWithPC {
			row.RASignedWithPC = !row.RASignedWithPC
		}
	case op == cfaWindowSave && (m == elf.EM_SPARC || m == elf.EM_SPARC32PLUS || m == elf.EM_SPARCV9):
		// save moved the window: the caller's %o registers are the %i registers, its %l and %i are on the stack.
		for i := uint64(0); i < sparcLocal-sparcOut; i++ {
			ok = ok && row.set(RegRule{Reg: sparcOut + i, Kind: RuleRegister, From: sparcIn + i})
		}
		for i := uint64(sparcLocal); i <= sparcLast; i++ {
			offset := int64(i-sparcLocal) * int64(in.cie.file.layout.Word)
			ok = ok && row.set(RegRule{Reg: i, Kind: RuleOffset, Offset: offset})
		}
	default:
		in.reason = fmt.Sprintf("instruction 0x%02x is not known for %s", op, m)
	}
	return ok
}
