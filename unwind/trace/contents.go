package trace

import (
	"bufio"
	"encoding/binary"
	"fmt"

	"github.com/symlint/symlint/unwind"
)

// maxContents is how much stack is printed between two frames, in bytes. The reference has no limit, and does not end
// when two stack pointers lie far apart.
const maxContents = 16 << 20

// perRow is the number of bytes in a row.
const perRow = 16

// contentsWord is the size of words printed between frames, 0 for CPUs that the reference leaves out.
func contentsWord(cpu string) uint64 {
	switch cpu {
	case "x86", "arm", "riscv":
		return 4
	case "x86_64", "arm64", "riscv64":
		return 8
	}
	return 0
}

// contents prints the stack between a frame and its caller.
func (d *Walked) contents(w *bufio.Writer, s *unwind.Stack, i int) {
	f, caller := &s.Frames[i], &s.Frames[i+1]
	if len(caller.Inlines) > 0 {
		return // the next entry is an inlined call, which has no stack pointer
	}
	cpu := f.Registers.CPU
	size := contentsWord(cpu.Name)
	begin, ok1 := f.Registers.Get(cpu.Slot.SP)
	end, ok2 := caller.Registers.Get(cpu.Slot.SP)
	if size == 0 || !ok1 || !ok2 || begin == 0 || end == 0 {
		return
	}
	fmt.Fprint(w, "\n    Stack contents:")
	if end > begin && end-begin > maxContents {
		fmt.Fprintf(w, "\n     (%d bytes, not printed)\n", end-begin)
		return
	}
	stack := &s.Thread.Stack
	for addr := begin; addr < end; {
		fmt.Fprintf(w, "\n     %0*x", int(2*size), addr)
		var text [perRow]byte
		for k := range text {
			if b, ok := stack.Bytes(addr, 1); ok { // rows are whole, beyond the end too
				fmt.Fprintf(w, " %02x", b[0])
				text[k] = '.'
				if b[0] >= 0x20 && b[0] < 0x7f {
					text[k] = b[0]
				}
			} else {
				w.WriteString("   ")
				text[k] = ' '
			}
			addr++
		}
		fmt.Fprintf(w, "  %s", text[:])
	}
	fmt.Fprint(w, "\n    Possible instruction pointers:\n")
	for addr := begin; addr < end; addr += size {
		var v uint64
		if b, ok := stack.Bytes(addr, int(size)); ok {
			v = decode(d.Process.Order, b)
		}
		d.pointer(w, addr, v, int(2*size))
	}
	fmt.Fprintln(w)
}

func decode(order binary.ByteOrder, b []byte) uint64 {
	if len(b) == 4 {
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}

// pointer prints a word of the stack if it points into a function.
func (d *Walked) pointer(w *bufio.Writer, addr, v uint64, digits int) {
	m := d.Process.Modules.At(v)
	if m == nil {
		return
	}
	f, ok := d.Walker.Resolve(m, v)
	if !ok || f.Name == "" {
		return
	}
	print := func(name, file string, line int64) {
		if name != "" {
			fmt.Fprintf(w, "     *(0x%0*x) = 0x%0*x <%s> [%s : %d + 0x%x]\n", digits, addr, digits, v, name, unwind.BaseName(file),
				line, v-m.Base-f.LineBase)
		}
	}
	if f.File == "" {
		// Without a line record the reference's base is 0.
		fmt.Fprintf(w, "     *(0x%0*x) = 0x%0*x <%s> [%s : %d + 0x%x]\n", digits, addr, digits, v, f.Name, "", 0, v)
		return
	}
	for i := range f.Inlines {
		print(f.Inlines[i].Name, f.Inlines[i].File, f.Inlines[i].Number)
	}
	print(f.Name, f.File, f.Number)
}
