package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// sniffSize is how much of a text is looked at.
const sniffSize = 64 << 10

var utf8Mark = []byte("\xef\xbb\xbf")

// sframeMagic is the preamble's magic number (SFrame specification, section 2.1), in either byte order.
const sframeMagic = 0xdee2

// binaryKind recognises the binary inputs, "" for others.
func binaryKind(data []byte) string {
	if bytes.HasPrefix(data, []byte("\x7fELF")) {
		return "elf"
	}
	if len(data) >= 4 && (binary.LittleEndian.Uint16(data) == sframeMagic || binary.BigEndian.Uint16(data) == sframeMagic) {
		return "sframe"
	}
	return ""
}

// isSymbolText reports whether text is a symbol file, however damaged: its first record is a MODULE record or was
// one, or somewhere near its beginning stands a record that other texts do not have.
func isSymbolText(data []byte) bool {
	if foreign(data) != "" {
		return false
	}
	head := data[:min(len(data), sniffSize)]
	s := symfile.NewScanner(head)
	first := true
	for s.Next() {
		r := s.Record()
		text := head[r.Span.Off:r.Span.End]
		if r.Kind == symfile.Blank {
			continue
		}
		if first && startsSymbols(text) || isEvidence(r, text) {
			return true
		}
		first = false
	}
	return false
}

// isEvidence: line records are four numbers and INFO records any text, which proves nothing.
func isEvidence(r *symfile.Record, text []byte) bool {
	switch r.Kind {
	case symfile.Module, symfile.File, symfile.Public, symfile.Inline:
		return r.Usable
	case symfile.Func, symfile.StackWin, symfile.StackCFIInit, symfile.StackCFI, symfile.InlineOrigin:
		return true
	}
	return false
}

// startsSymbols judges a first line more kindly: any record at all, or a MODULE record whose keyword is damaged.
func startsSymbols(line []byte) bool {
	words := strings.Fields(string(bytes.TrimPrefix(line, utf8Mark)))
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "MODULE", "FUNC", "PUBLIC", "INLINE", "INLINE_ORIGIN":
		return true
	case "STACK":
		return len(words) > 1 && (words[1] == "CFI" || words[1] == "WIN")
	case "INFO":
		return len(words) > 1 && words[1] == "CODE_ID"
	}
	if lint.Nearest(strings.ToUpper(words[0]), []string{"MODULE"}) == "" {
		return false
	}
	for _, w := range words[1:] {
		if isID(w) {
			return true
		}
	}
	return false
}

// isID: most of a debug identifier's 33 or more hexadecimal digits.
func isID(word string) bool {
	const digits = 24
	return len(word) >= digits && strings.Trim(word, "0123456789abcdefABCDEF") == ""
}

// foreigners are files that get mistaken for symbol files, by what they begin with.
var foreigners = []struct{ magic, name string }{
	{"MDMP", "a minidump"},
	{"Microsoft C/C++ ", "a PDB file"},
	{"BSJB", "a portable PDB file"},
	{"MZ", "a PE image"},
	{"\xfe\xed\xfa\xce", "a Mach-O image"},
	{"\xfe\xed\xfa\xcf", "a Mach-O image"},
	{"\xce\xfa\xed\xfe", "a Mach-O image"},
	{"\xcf\xfa\xed\xfe", "a Mach-O image"},
	{"\xca\xfe\xba\xbe", "a universal Mach-O image"},
	{"!<arch>\n", "an ar archive"},
	{"PK\x03\x04", "a zip archive"},
	{"MSCF", "a cabinet archive"},
	{"\xfd7zXZ", "xz data"},
	{"BZh", "bzip2 data"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\x89PNG", "a PNG image"},
	{"%PDF", "a PDF document"},
	{"<?xml", "XML (an error page of a symbol server?)"},
	{"<!doctype", "HTML (an error page of a symbol server?)"},
	{"<html", "HTML (an error page of a symbol server?)"},
}

// foreign names a known kind of file that is no symbol file, "" if data is none.
func foreign(data []byte) string {
	const tarMagic = 257 // offset of "ustar" in a tar header
	if len(data) > tarMagic+5 && string(data[tarMagic:tarMagic+5]) == "ustar" {
		return "a tar archive"
	}
	for _, f := range foreigners {
		if n := len(f.magic); len(data) >= n && strings.EqualFold(string(data[:n]), f.magic) {
			return f.name
		}
	}
	return ""
}

// describe says what an input that is no symbol file begins with.
func describe(in *lint.Input) string {
	if len(in.Data) == 0 {
		return "an empty file"
	}
	if name := foreign(in.Data); name != "" {
		return name
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(in.Data[:min(len(in.Data), sniffSize)], utf8Mark))
	if len(text) == 0 {
		return "nothing but blanks"
	}
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	const most = 40 // bytes of a line that are shown
	more := ""
	if len(text) > most {
		text, more = text[:most], "…"
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return fmt.Sprintf("binary data that begins with % x", in.Data[:min(len(in.Data), 8)])
	}
	return fmt.Sprintf("%q%s", strings.ToValidUTF8(string(text), "\ufffd"), more)
}
