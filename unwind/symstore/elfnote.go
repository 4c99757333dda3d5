package symstore

import (
	"bytes"
	"encoding/binary"
	"io"
)

// BuildID returns the build id of an ELF file: the first NT_GNU_BUILD_ID note of its PT_NOTE segments or SHT_NOTE
// sections, a copy. nil if the data is no ELF file or has none.
func BuildID(elf []byte) []byte {
	info, _ := readELF(bytes.NewReader(elf), int64(len(elf)))
	return info.buildID
}

// elfInfo is what a search needs to know of an ELF file.
type elfInfo struct {
	buildID []byte
	// debugOnly is a file whose code was taken out (objcopy --only-keep-debug): a section of code has no bytes.
	debugOnly bool
}

const (
	maxHeaders  = 4096     // program headers or section headers that are looked at
	maxEntry    = 256      // bytes of one; 64 at most in any file there is
	maxNotes    = 64       // segments and sections of notes that are looked at
	maxNoteSize = 64 << 10 // bytes of each
)

// Constants of the ELF specification and of the GNU ABI for notes.
const (
	elfClass32, elfClass64 = 1, 2
	elfLittle, elfBig      = 1, 2

	ptNote       = 4
	shtNote      = 7
	shtNobits    = 8
	shfAlloc     = 2
	shfExecInstr = 4

	ntGNUBuildID = 3
)

// elfReader reads the headers of an ELF file. All positions and sizes are the file's word, and are held against its
// size before they are used.
type elfReader struct {
	r     io.ReaderAt
	size  int64
	order binary.ByteOrder
	wide  bool // 64 bits
	notes int  // read so far
}

// readELF reads the headers and notes of an ELF file. ok is whether it is one.
func readELF(r io.ReaderAt, size int64) (info elfInfo, ok bool) {
	e := elfReader{r: r, size: size}
	head := e.bytes(0, 64)
	if len(head) < 52 || string(head[:4]) != "\x7fELF" {
		return info, false
	}
	switch head[4] {
	case elfClass32:
	case elfClass64:
		e.wide = true
		if len(head) < 64 {
			return info, false
		}
	default:
		return info, false
	}
	switch head[5] {
	case elfLittle:
		e.order = binary.LittleEndian
	case elfBig:
		e.order = binary.BigEndian
	default:
		return info, false
	}
	// e_phoff, e_shoff; e_phentsize, e_phnum, e_shentsize, e_shnum follow e_ehsize.
	phoff, shoff, counts := e.word(head, 28), e.word(head, 32), head[42:]
	if e.wide {
		phoff, shoff, counts = e.word(head, 32), e.word(head, 40), head[54:]
	}
	e.segments(phoff, e.order.Uint16(counts), e.order.Uint16(counts[2:]), &info)
	e.sections(shoff, e.order.Uint16(counts[4:]), e.order.Uint16(counts[6:]), &info)
	return info, true
}

// bytes returns at most n bytes at an offset, fewer at the end of the file.
func (e *elfReader) bytes(off uint64, n uint64) []byte {
	if e.size <= 0 || off >= uint64(e.size) {
		return nil
	}
	buf := make([]byte, min(n, uint64(e.size)-off))
	got, _ := e.r.ReadAt(buf, int64(off))
	return buf[:got]
}

// word reads an address, offset or size.
func (e *elfReader) word(b []byte, off int) uint64 {
	if e.wide {
		return e.order.Uint64(b[off:])
	}
	return uint64(e.order.Uint32(b[off:]))
}

// table calls f with each header of a table.
func (e *elfReader) table(off uint64, size, n uint16, least int, f func(header []byte)) {
	if int(size) < least || size > maxEntry {
		return
	}
	entry := int(size)
	all := e.bytes(off, uint64(min(int(n), maxHeaders))*uint64(entry))
	for ; len(all) >= entry; all = all[entry:] {
		f(all[:entry])
	}
}

func (e *elfReader) segments(off uint64, size, n uint16, info *elfInfo) {
	least, offset, filesz, align := 32, 4, 16, 28
	if e.wide {
		least, offset, filesz, align = 56, 8, 32, 48
	}
	e.table(off, size, n, least, func(h []byte) {
		if e.order.Uint32(h) == ptNote {
			e.note(e.word(h, offset), e.word(h, filesz), e.word(h, align), info)
		}
	})
}

func (e *elfReader) sections(off uint64, size, n uint16, info *elfInfo) {
	least, flags, offset, length, align := 40, 8, 16, 20, 32
	if e.wide {
		least, flags, offset, length, align = 64, 8, 24, 32, 48
	}
	e.table(off, size, n, least, func(h []byte) {
		switch e.order.Uint32(h[4:]) {
		case shtNote:
			e.note(e.word(h, offset), e.word(h, length), e.word(h, align), info)
		case shtNobits:
			const code = shfAlloc | shfExecInstr
			if e.word(h, flags)&code == code && e.word(h, length) > 0 {
				info.debugOnly = true
			}
		}
	})
}

// note looks for the build id among the notes at an offset.
func (e *elfReader) note(off, size, align uint64, info *elfInfo) {
	if info.buildID != nil || e.notes == maxNotes {
		return
	}
	e.notes++
	pad := uint64(4)
	if align == 8 {
		pad = 8 // .note.gnu.property of 64-bit files
	}
	up := func(n uint64) uint64 { return (n + pad - 1) &^ (pad - 1) }
	for b := e.bytes(off, min(size, maxNoteSize)); len(b) >= 12; {
		nameSize, descSize := uint64(e.order.Uint32(b)), uint64(e.order.Uint32(b[4:]))
		kind := e.order.Uint32(b[8:])
		desc := up(12 + nameSize)
		end := desc + descSize
		if end > uint64(len(b)) {
			return
		}
		if kind == ntGNUBuildID && descSize > 0 && string(b[12:12+nameSize]) == "GNU\x00" {
			info.buildID = bytes.Clone(b[desc:end])
			return
		}
		b = b[min(up(end), uint64(len(b))):]
	}
}

// sameBuild holds the build id of a dump against that of a file. A minidump may keep no more of it than fits a GUID: 16
// bytes, filled up with zeros.
func sameBuild(dump, file []byte) bool {
	if bytes.Equal(dump, file) {
		return true
	}
	id := guidOf(file)
	return len(dump) == len(id) && bytes.Equal(dump, id[:])
}

// guidOf is a build id cut or filled up to 16 bytes.
func guidOf(buildID []byte) (id [16]byte) {
	copy(id[:], buildID)
	return id
}
