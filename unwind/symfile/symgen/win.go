package symgen

import (
	"fmt"
	"io"
)

const (
	winStream    = 3
	winTextStart = 0x1000
	// winBytesPerFunction is about what a function takes; it decides how often a source file comes round.
	winBytesPerFunction = 750
)

// The programs MSVC writes for frames with and without frame pointer, by way of the word with the return address.
const (
	framePointerProgram = "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + ="
	searchProgram       = "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + ="
	parameterProgram    = " $L $T0 .cbSavedRegs - = $P $T0 8 + .cbParams + ="
)

type winWriter struct {
	*generator
	files, perFile, stride int
	functions              int
	address                uint64
	programs               map[[2]int]string
}

// WinWith is Win with options; Inlines has no effect. The unwind data are those of a build that describes its frames with
// the spelled register names, which all consumers know.
func WinWith(w io.Writer, seed uint64, size int64, o Options) error {
	if size < MinSize {
		return errTooSmall
	}
	x := &winWriter{generator: newGenerator(w, seed, winStream), address: winTextStart, programs: map[[2]int]string{}}
	x.header(size, o)
	for x.out.err == nil && x.out.size() < size {
		if x.functions > 0 && x.chance(3) {
			x.public()
		} else {
			x.function()
		}
		x.functions++
		x.out.spill()
	}
	return x.out.finish()
}

func (x *winWriter) header(size int64, o Options) {
	const digits = "0123456789ABCDEF"
	id := make([]byte, 32, 33)
	for i := range id {
		id[i] = digits[x.IntN(16)]
	}
	debug, name := string(id)+"1", "harbour.pdb"
	if o.ID != "" {
		debug = o.ID
	}
	if o.Name != "" {
		name = o.Name
	}
	t := &x.out.head
	fmt.Fprintf(t, "MODULE windows x86 %s %s\nINFO CODE_ID %08X%X harbour.exe\n", debug, name, 0x5f000000+x.IntN(1<<24), (size/2)&^0xfff+0x20000)
	x.files = int(min(max(size/16000, 4), 3000))
	x.perFile = int(max(size/winBytesPerFunction/int64(x.files)/2, 1))
	for x.stride = 7; x.files%x.stride == 0; x.stride += 2 {
	}
	for i := range x.files {
		t.str("FILE ")
		t.dec(i + 1)
		t.space()
		x.names.path(t, `d:\build\harbour\`, `\`, i)
		t.newline()
	}
}

// public writes a symbol between the functions, where the PDB writer puts them: records go by address.
func (x *winWriter) public() {
	t := &x.out.head
	parameters := 4 * x.IntN(4)
	t.str("PUBLIC ")
	t.field(x.address)
	t.field(uint64(parameters))
	t.str("_")
	x.names.plain(t)
	t.str("@")
	t.dec(parameters)
	t.newline()
	size := x.between(6, 60)
	x.fpo(size, 0, parameters, 0, false)
	x.advance(size)
}

func (x *winWriter) advance(size int) { x.address = (x.address + uint64(size) + 15) &^ 15 }

func (x *winWriter) function() {
	size := x.skewed(24, 160)
	parameters := 4 * x.IntN(6)
	t := &x.out.head
	t.str("FUNC ")
	t.field(x.address)
	t.field(uint64(size))
	t.field(uint64(parameters))
	if x.chance(15) {
		t.str("_")
		x.names.plain(t)
	} else {
		x.names.method(t, 1)
	}
	t.newline()
	x.lines(size)
	switch k := x.IntN(10); {
	case k < 6:
		x.framePointer(size, parameters)
	case k < 9:
		x.frameData(size, x.between(0, 6), parameters, 4*x.IntN(4), 4*x.IntN(12), searchProgram)
	default:
		x.fpo(size, x.between(0, 6), parameters, 4*x.between(1, 3), x.chance(50))
	}
	x.advance(size)
}

func (x *winWriter) lines(left int) {
	t := &x.out.head
	file := 1 + x.functions/x.perFile*x.stride%x.files
	number := x.between(10, 2500)
	at := x.address
	count := min(x.between(3, 34), left/2)
	for i := range count {
		size := left
		if rest := count - i; rest > 1 {
			size = min(1+x.IntN(2*left/rest), left-rest+1)
		}
		t.field(at)
		t.field(uint64(size))
		t.dec(number)
		t.space()
		t.dec(file)
		t.newline()
		at += uint64(size)
		left -= size
		number += x.between(0, 4)
	}
}

// framePointer writes the record of a function that keeps $ebp, some with a second record for the part behind the
// prologue, in which registers are saved as well.
func (x *winWriter) framePointer(size, parameters int) {
	locals := 4 * x.skewed(0, 8)
	prologue := x.between(3, 6)
	x.frameData(size, prologue, parameters, 0, locals, framePointerProgram)
	if x.chance(20) && size > prologue+8 {
		x.address += uint64(prologue)
		x.frameData(size-prologue, 0, parameters, 4*x.between(1, 3), locals, framePointerProgram)
		x.address -= uint64(prologue)
	}
}

// frameData writes a type 4 record. Registers are saved below the locals, $ebx first.
func (x *winWriter) frameData(size, prologue, parameters, saved, locals int, program string) {
	x.stack(4, size, prologue, parameters, saved, locals)
	t := &x.out.last
	t.str("1 ")
	t.str(program)
	if saved > 0 {
		t.str(x.saved(saved, locals))
	}
	if program == framePointerProgram && x.chance(30) {
		t.str(parameterProgram)
	}
	t.newline()
}

// saved is the part of a program that restores saved bytes of registers from below the locals.
func (x *winWriter) saved(saved, locals int) string {
	key := [2]int{saved, locals}
	s, ok := x.programs[key]
	if !ok {
		for i, register := range []string{"$ebx", "$esi", "$edi"} {
			if 4*i < saved {
				s += fmt.Sprintf(" %s $T0 %d - ^ =", register, locals+4*(i+1))
			}
		}
		x.programs[key] = s
	}
	return s
}

// fpo writes a type 0 record; where $ebp serves as a general register, it is among the saved ones.
func (x *winWriter) fpo(size, prologue, parameters, saved int, allocatesBase bool) {
	x.stack(0, size, prologue, parameters, saved, 4*x.IntN(10))
	t := &x.out.last
	if allocatesBase {
		t.str("0 1\n")
	} else {
		t.str("0 0\n")
	}
}

// stack writes a STACK WIN record up to the flag that says what its last field is.
func (x *winWriter) stack(kind, size, prologue, parameters, saved, locals int) {
	t := &x.out.last
	t.str("STACK WIN ")
	t.field(uint64(kind))
	t.field(x.address)
	t.field(uint64(size))
	t.field(uint64(prologue))
	t.str("0 ") // epilogue: MSVC gives none
	t.field(uint64(parameters))
	t.field(uint64(saved))
	t.field(uint64(locals))
	t.str("0 ") // maximum stack: not used
}
