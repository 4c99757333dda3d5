package unwind

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/symlint/symlint/unwind/minidump"
)

// Streams that Mozilla's writers add.
const (
	streamMacCrashInfo minidump.StreamType = 0x4d7a0001
	streamMacBootArgs  minidump.StreamType = 0x4d7a0002
	streamLinuxLimits  minidump.StreamType = 0x4d7a0003
	streamSoftErrors   minidump.StreamType = 0x4d7a0004
)

// MacCrash is a __crash_info section (crashreporter_annotations_t of CrashReporterClient.h). Version says which
// fields there are: none before 4, AbortCause from 5 on.
type MacCrash struct {
	Version                                          uint64
	Thread, DialogMode, AbortCause                   uint64
	Module, Message, Signature, Backtrace, SecondMsg string
}

func (d *Details) mozilla(f *minidump.File) {
	if b, ok := f.Stream(streamLinuxLimits); ok {
		d.Limits = parseLimits(b)
	}
	if b, ok := f.Stream(streamSoftErrors); ok {
		d.SoftErrors = string(bytes.TrimRight(b, "\x00"))
	}
	if b, ok := f.Stream(streamMacBootArgs); ok && len(b) >= 12 {
		if s, ok := utf16At(f, f.Order.Uint64(b[4:])); ok {
			d.MacBootArgs = &s
		}
	}
	if b, ok := f.Stream(streamMacCrashInfo); ok {
		d.MacCrash, d.HasMacCrash = parseMacCrash(f, b)
	}
}

// parseLimits reads lines of columns that at least two blanks set apart; the first line has their names.
func parseLimits(text []byte) []Limit {
	out := []Limit{}
	header := true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		if header {
			header = false
			continue
		}
		var columns []string
		for c := range strings.SplitSeq(line, "  ") {
			if c != "" {
				columns = append(columns, strings.TrimSpace(c))
			}
		}
		if len(columns) < 3 {
			continue
		}
		l := Limit{Name: columns[0], Soft: parseLimit(columns[1]), Hard: parseLimit(columns[2]), Unit: "n/a"}
		if len(columns) > 3 {
			l.Unit = columns[3]
		}
		out = append(out, l)
	}
	return out
}

func parseLimit(s string) uint64 {
	if s == "unlimited" {
		return LimitNone
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// utf16At reads a MINIDUMP_STRING: its length in bytes, then the text.
func utf16At(f *minidump.File, rva uint64) (string, bool) {
	size := uint64(len(f.Data))
	if rva > size || size-rva < 4 {
		return "", false
	}
	n := uint64(f.Order.Uint32(f.Data[rva:]))
	if n%2 != 0 || size-rva-4 < n {
		return "", false
	}
	b := f.Data[rva+4 : rva+4+n]
	units := make([]uint16, n/2)
	for i := range units {
		units[i] = f.Order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units)), true
}

const (
	macCrashMost    = 20 // records in a stream
	macCrashStrings = 5
	macCrashLongest = 8192 // bytes of a string
)

// parseMacCrash reads a head of type, count and size of the fixed part of records, then locations of the records.
func parseMacCrash(f *minidump.File, b []byte) ([]MacCrash, bool) {
	if len(b) < 12+8*macCrashMost {
		return nil, false
	}
	n, fixed := int(min(f.Order.Uint32(b[4:]), macCrashMost)), uint64(f.Order.Uint32(b[8:]))
	var out []MacCrash
	var version uint64
	for i := range n {
		at := b[12+8*i:]
		size, rva := uint64(f.Order.Uint32(at)), uint64(f.Order.Uint32(at[4:]))
		if whole := uint64(len(f.Data)); rva > whole || whole-rva < size {
			return nil, false
		}
		m, ok := parseMacRecord(f.Order, f.Data[rva:rva+size], fixed)
		if !ok || i > 0 && m.Version != version {
			return nil, false // where the texts begin is the same in all, so all must be of one version
		}
		version = m.Version
		if m.Version >= 1 {
			out = append(out, m)
		}
	}
	return out, true
}

func parseMacRecord(order binary.ByteOrder, b []byte, fixed uint64) (m MacCrash, ok bool) {
	if len(b) < 16 {
		return m, false
	}
	m.Version = order.Uint64(b[8:])
	if m.Version < 4 {
		return m, true
	}
	words := 4
	if m.Version >= 5 {
		words = 5
	}
	if len(b) < 8*words || fixed < uint64(8*words) || fixed > uint64(len(b)) {
		return m, false
	}
	m.Thread, m.DialogMode = order.Uint64(b[16:]), order.Uint64(b[24:])
	if m.Version >= 5 {
		m.AbortCause = order.Uint64(b[32:])
	}
	rest := b[fixed:]
	for _, to := range [macCrashStrings]*string{&m.Module, &m.Message, &m.Signature, &m.Backtrace, &m.SecondMsg} {
		end := bytes.IndexByte(rest, 0)
		if end < 0 || end > macCrashLongest {
			return m, false
		}
		*to, rest = string(rest[:end]), rest[end+1:]
	}
	return m, true
}
