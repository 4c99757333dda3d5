package sframe

import (
	"errors"
	"fmt"
)

// Env is the frame that a row is applied to.
type Env interface {
	// Register returns a register by its DWARF number.
	Register(n uint64) (uint64, bool)
	// Load reads size bytes of memory, zero-extended, in the target's byte order.
	Load(addr uint64, size int) (uint64, bool)
}

// Recovered are the registers of a caller.
type Recovered struct {
	CFA, SP, RA, FP uint64
	// FPKnown: FP has a value. It has none if it could not be read, or is not known in the frame.
	FPKnown bool
	// RAAddr and FPAddr are where the values were loaded from, 0 if they were not.
	RAAddr, FPAddr uint64
	// RAFrom and FPFrom are the registers that held the values in the frame, NoReg if they were loaded or computed. A
	// return address in a register is to be believed only in the youngest frame or one interrupted by a signal.
	RAFrom, FPFrom uint32
}

// The errors of Apply besides those that tell what could not be read.
var (
	// ErrOutermost: the return address is undefined.
	ErrOutermost = errors.New("sframe: the row marks an outermost frame")
	errNoRA      = errors.New("sframe: the row has no rule for the return address")
)

// failure says why a rule gave no value.
func (r *Rule) failure(addr uint64, what string) error {
	if addr != 0 || r.From == FromCFA {
		return fmt.Errorf("sframe: the %s at 0x%x cannot be read", what, addr)
	}
	return fmt.Errorf("sframe: register %d for the %s is not known", r.Reg, what)
}

// Apply computes the caller's registers (specification, "Generating Stack Traces using SFrame"). It fails if the CFA
// or the return address cannot be had. Return addresses that RASigned marks keep their signature.
func (r *Row) Apply(env Env, out *Recovered) error {
	*out = Recovered{RAFrom: NoReg, FPFrom: NoReg}
	if r.Fault != 0 {
		return fmt.Errorf("sframe: row at 0x%x cannot be used: %s", r.Offset, r.Fault)
	}
	if r.Outermost {
		return ErrOutermost
	}
	abi := r.FDE.s.Header.ABI
	var ok bool
	if out.CFA, out.RAAddr, _, ok = r.CFA.apply(env, 0); !ok {
		return r.CFA.failure(out.RAAddr, "CFA")
	}
	out.SP = out.CFA
	if abi == S390X {
		out.SP -= s390xAdjust
	}
	ra := r.RA
	if ra.From == Unchanged {
		if abi == AMD64 {
			return errNoRA
		}
		ra = Rule{From: FromRegister, Reg: abi.RA()}
	}
	if out.RA, out.RAAddr, out.RAFrom, ok = ra.apply(env, out.CFA); !ok {
		return ra.failure(out.RAAddr, "return address")
	}
	fp := r.FP
	if fp.From == Unchanged {
		fp = Rule{From: FromFP, Reg: abi.FP()}
	}
	out.FP, out.FPAddr, out.FPFrom, out.FPKnown = fp.apply(env, out.CFA)
	return nil
}

// apply computes a rule's value, and where it came from.
func (r *Rule) apply(env Env, cfa uint64) (v, addr uint64, from uint32, ok bool) {
	v, from = cfa, NoReg
	if r.From != FromCFA {
		if v, ok = env.Register(uint64(r.Reg)); !ok {
			return 0, 0, NoReg, false
		}
		from = r.Reg
	}
	v += uint64(r.Offset)
	if !r.Deref {
		if r.Offset != 0 {
			from = NoReg
		}
		return v, 0, from, true
	}
	addr = v
	v, ok = env.Load(addr, 8)
	return v, addr, NoReg, ok
}
