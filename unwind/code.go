package unwind

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// precededByCall reports whether the code that ends where a return address points ends in a call.
func precededByCall(k kind, code []byte, order binary.ByteOrder) bool {
	n := len(code)
	switch k {
	case kindX86, kindAMD64:
		return callX86(code)
	case kindARM64:
		w := binary.LittleEndian.Uint32(code[n-4:]) // instructions are little-endian on every AArch64
		return w>>26 == 0x25 || w&0xfffffc1f == 0xd63f0000 || w&0xfefff800 == 0xd63f0800
	case kindRISCV:
		w := binary.LittleEndian.Uint32(code[n-4:])
		half := uint16(w >> 16)
		// jal and jalr that link to ra or t0, and c.jalr.
		return (w&0x7f == 0x6f || w&0x707f == 0x67) && (w>>7&31 == 1 || w>>7&31 == 5) || half&0xf07f == 0x9002 && half&0xf80 != 0
	case kindMIPS, kindMIPS64:
		if n < 8 {
			return true
		}
		w := order.Uint32(code[n-8:]) // the delay slot follows the call
		return w>>26 == 3 || w&0xfc00003f == 9 || w>>26 == 1 && w>>20&1 == 1 && w>>16&0xe == 0
	case kindPPC, kindPPC64:
		w := order.Uint32(code[n-4:])
		return w&0xfc000003 == 0x48000001 || w&0xfc0007ff == 0x4c000421 || w&0xfc0007ff == 0x4c000021
	}
	return true // arm code may be Thumb, s390x instructions have three lengths: nothing is refused
}

// callX86 knows the encodings of near calls: E8 with a displacement, and FF /2 with every form of operand.
func callX86(code []byte) bool {
	n := len(code)
	if n >= 5 && code[n-5] == 0xe8 {
		return true
	}
	for _, length := range [...]int{2, 3, 4, 6, 7} {
		if n >= length && code[n-length] == 0xff && code[n-length+1]&0x38 == 0x10 && modRMLength(code[n-length+1:]) == length-1 {
			return true
		}
	}
	return false
}

// modRMLength is the number of bytes of a ModRM operand with SIB and displacement.
func modRMLength(b []byte) int {
	mod, rm := b[0]>>6, b[0]&7
	length := 1
	if mod != 3 && rm == 4 {
		length++
		if len(b) > 1 && mod == 0 && b[1]&7 == 5 {
			length += 4
		}
	}
	switch {
	case mod == 1:
		length++
	case mod == 2, mod == 0 && rm == 5:
		length += 4
	}
	return length
}

// segment is a part of a binary that is mapped as it is in the file.
type segment struct {
	addr uint64 // relative to the module
	data []byte
}

// segments reads the read-only segments of an ELF file.
func segments(file []byte, base uint64) []segment {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []segment
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 || p.Off > uint64(len(file)) || p.Filesz > uint64(len(file))-p.Off {
			continue
		}
		out = append(out, segment{p.Vaddr - base, file[p.Off : p.Off+p.Filesz]})
	}
	return out
}

// imageBytes reads read-only memory of a module from its binary.
func (w *Walker) imageBytes(m *Module, addr uint64, n int) ([]byte, bool) {
	i := w.imageOf(m)
	if i.elf == nil || i.cfi == nil {
		return nil, false
	}
	if i.segments == nil {
		i.segments = segments(i.elf, i.cfi.Base())
	}
	for _, s := range i.segments {
		off := addr - m.Base - s.addr
		if addr-m.Base >= s.addr && off <= uint64(len(s.data)) && uint64(n) <= uint64(len(s.data))-off {
			return s.data[off : off+uint64(n)], true
		}
	}
	return nil, false
}
