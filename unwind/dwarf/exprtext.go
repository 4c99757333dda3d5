package dwarf

import (
	"fmt"
	"strings"
)

// opNames are the names of operations without "DW_OP_"; those of literals and registers are built.
var opNames = map[byte]string{
	opAddr: "addr", opDeref: "deref", opConst1u: "const1u", opConst1s: "const1s", opConst2u: "const2u",
	opConst2s: "const2s", opConst4u: "const4u", opConst4s: "const4s", opConst8u: "const8u", opConst8s: "const8s",
	opConstu: "constu", opConsts: "consts", opDup: "dup", opDrop: "drop", opOver: "over", opPick: "pick",
	opSwap: "swap", opRot: "rot", 0x18: "xderef", opAbs: "abs", opAnd: "and", opDiv: "div", opMinus: "minus",
	opMod: "mod", opMul: "mul", opNeg: "neg", opNot: "not", opOr: "or", opPlus: "plus", opPlusUconst: "plus_uconst",
	opShl: "shl", opShr: "shr", opShra: "shra", opXor: "xor", opBra: "bra", opEq: "eq", opGe: "ge", opGt: "gt",
	opLe: "le", opLt: "lt", opNe: "ne", opSkip: "skip", opRegx: "regx", 0x91: "fbreg", opBregx: "bregx", 0x93: "piece",
	opDerefSize: "deref_size", 0x95: "xderef_size", opNop: "nop", 0x97: "push_object_address", 0x98: "call2",
	0x99: "call4", 0x9a: "call_ref", 0x9b: "form_tls_address", opCallFrameCFA: "call_frame_cfa", 0x9d: "bit_piece",
	0x9e: "implicit_value", 0x9f: "stack_value", 0xa0: "implicit_pointer", 0xa1: "addrx", 0xa2: "constx",
	0xa3: "entry_value", 0xa4: "const_type", 0xa5: "regval_type", 0xa6: "deref_type", 0xa7: "xderef_type",
	0xa8: "convert", 0xa9: "reinterpret", 0xf1: "GNU_encoded_addr",
}

// opName returns an operation's name, "" if it has none.
func opName(op byte) string { return opNames[op] }

// FormatExpr lists an expression's operations, as "breg7(rsp)+8; breg16(rip)+0; lit15; and". Branches show the offset
// they go to. What cannot be read is shown as bytes. regName may be nil.
func FormatExpr(expr []byte, word int, bigEndian bool, regName func(uint64) string) string {
	var out strings.Builder
	c := cursor{data: expr, big: bigEndian}
	reg := func(prefix string, n uint64) string {
		name := ""
		if regName != nil {
			name = regName(n)
		}
		if name == "" {
			return fmt.Sprintf("%s%d", prefix, n)
		}
		return fmt.Sprintf("%s%d(%s)", prefix, n, name)
	}
	for c.pos < len(expr) {
		at := c.pos
		text := ""
		switch op := c.u8(); {
		case op >= opLit0 && op <= opLit31:
			text = fmt.Sprintf("lit%d", op-opLit0)
		case op >= opReg0 && op <= opReg31:
			text = reg("reg", uint64(op-opReg0))
		case op >= opBreg0 && op <= opBreg31:
			text = fmt.Sprintf("%s%+d", reg("breg", uint64(op-opBreg0)), c.sleb())
		case op == opRegx:
			text = reg("regx ", c.uleb())
		case op == opBregx:
			n := c.uleb()
			text = fmt.Sprintf("%s%+d", reg("bregx ", n), c.sleb())
		case op == opAddr:
			text = fmt.Sprintf("addr 0x%x", c.uint(word))
		case op == opConst1u, op == opPick, op == opDerefSize:
			text = fmt.Sprintf("%s %d", opName(op), c.u8())
		case op == opConst1s:
			text = fmt.Sprintf("const1s %d", int8(c.u8()))
		case op == opConst2u:
			text = fmt.Sprintf("const2u %d", c.u16())
		case op == opConst2s:
			text = fmt.Sprintf("const2s %d", int16(c.u16()))
		case op == opConst4u:
			text = fmt.Sprintf("const4u %d", c.u32())
		case op == opConst4s:
			text = fmt.Sprintf("const4s %d", int32(c.u32()))
		case op == opConst8u:
			text = fmt.Sprintf("const8u %d", c.u64())
		case op == opConst8s:
			text = fmt.Sprintf("const8s %d", int64(c.u64()))
		case op == opConstu, op == opPlusUconst:
			text = fmt.Sprintf("%s %d", opName(op), c.uleb())
		case op == opConsts:
			text = fmt.Sprintf("consts %d", c.sleb())
		case op == opBra, op == opSkip:
			d := int(int16(c.u16()))
			text = fmt.Sprintf("%s to %d", opName(op), c.pos+d)
		case op >= opDeref && op <= opNe, op == opNop, op == opCallFrameCFA:
			text = opName(op)
		}
		if at > 0 {
			out.WriteString("; ")
		}
		if text == "" || c.short || c.wide {
			fmt.Fprintf(&out, "bytes % x", expr[at:])
			break
		}
		out.WriteString(text)
	}
	return out.String()
}
