package symstore

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const (
	guid  = "0123456789ABCDEFFEDCBA9876543210"
	id    = guid + "1a"
	other = "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF0"
)

// symText is a symbol file with one function.
func symText(id, name, function string) string {
	return "MODULE Linux x86_64 " + id + " " + name + "\nFUNC 1000 10 0 " + function + "\n"
}

// write makes a file below a directory and returns its path.
func write(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func gz(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	z.Write(data)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zst(t testing.TB, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(data, nil)
}

func newStore(t testing.TB, o Options, roots ...string) *Store {
	t.Helper()
	s, err := New(roots, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// function is the name at address 0x1000, "-" without symbols.
func function(r *Result) string {
	if r.Symbols == nil {
		return "-"
	}
	s, _ := r.Symbols.Symbol(0x1000)
	return s.Name
}

// elfForm is one of the four forms of ELF files.
type elfForm struct {
	order binary.ByteOrder
	wide  bool
}

// elfFile makes an ELF file with a build id (none if nil) in a PT_NOTE segment or a SHT_NOTE section, behind another
// note, and one section of code, which has no bytes if debugOnly is set.
func (f elfForm) elfFile(buildID []byte, inSection, debugOnly bool) []byte {
	head, ph, sh := 52, 32, 40
	if f.wide {
		head, ph, sh = 64, 56, 64
	}
	var note bytes.Buffer
	add := func(kind uint32, desc []byte) {
		for _, v := range []uint32{4, uint32(len(desc)), kind} {
			binary.Write(&note, f.order, v)
		}
		note.WriteString("GNU\x00")
		note.Write(desc)
		for note.Len()%4 != 0 {
			note.WriteByte(0)
		}
	}
	add(1, []byte("an ABI tag, odd"))
	if buildID != nil {
		add(3, buildID)
	}
	noteAt := head + ph + 2*sh
	out := make([]byte, noteAt+note.Len())
	copy(out, "\x7fELF\x01\x01\x01")
	if f.wide {
		out[4] = 2
	}
	if f.order == binary.ByteOrder(binary.BigEndian) {
		out[5] = 2
	}
	word := func(at32, at64 int, v uint64) {
		if f.wide {
			f.order.PutUint64(out[at64:], v)
		} else {
			f.order.PutUint32(out[at32:], uint32(v))
		}
	}
	u16 := func(at int, v int) { f.order.PutUint16(out[at:], uint16(v)) }
	u32 := func(at int, v int) { f.order.PutUint32(out[at:], uint32(v)) }
	word(28, 32, uint64(head))
	word(32, 40, uint64(head+ph))
	u16(head-10, ph)
	u16(head-8, 1)
	u16(head-6, sh)
	u16(head-4, 2)
	if !inSection {
		u32(head, 4)
		word(head+4, head+8, uint64(noteAt))
		word(head+16, head+32, uint64(note.Len()))
		word(head+28, head+48, 4)
	}
	s1, s2 := head+ph, head+ph+sh
	if inSection {
		u32(s1+4, 7)
		word(s1+16, s1+24, uint64(noteAt))
		word(s1+20, s1+32, uint64(note.Len()))
	}
	u32(s2+4, 1)
	if debugOnly {
		u32(s2+4, 8)
	}
	word(s2+8, s2+8, 6)
	word(s2+20, s2+32, 0x100)
	copy(out[noteAt:], note.Bytes())
	return out
}

var elf64 = elfForm{binary.LittleEndian, true}
