package minidump

import (
	"bytes"
	"fmt"
)

// microChunk is how many bytes of the stack a line holds.
const microChunk = 384

// Text writes the microdump as ParseMicrodump reads it, every line behind a log's prefix, such as
// "W/google-breakpad( 1234)", which must have "google-breakpad" in it. The context is written as it is in Raw.
func (m *Microdump) Text(prefix string) []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) {
		b.WriteString(prefix)
		b.WriteString(": ")
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	line("%s", microBegin)
	if m.Version != "" {
		line("V %s", m.Version)
	}
	if m.Process != "" {
		line("P %s", m.Process)
	}
	os := "?"
	switch m.OSShort {
	case "linux":
		os = "L"
	case "android":
		os = "A"
	}
	line("O %s %s %02X %s %s", os, orDash(m.CPU), m.CPUCount, orDash(m.HWArch), m.OSVersion)
	if m.HasReason {
		line("R %s %s %08X", orDash(m.Signal), orDash(m.Reason), m.Address)
	}
	if m.HasGPU {
		line("G %s|%s|%s", m.GLVersion, m.GLVendor, m.GLRenderer)
	} else {
		line("G UNKNOWN")
	}
	line("S 0 %08X %08X %08X", m.SP, m.StackStart, m.StackSize)
	for at := 0; at < len(m.Stack.Data); at += microChunk {
		line("S %X %X", m.Stack.Base+uint64(at), m.Stack.Data[at:min(at+microChunk, len(m.Stack.Data))])
	}
	if m.Context != nil {
		line("C %X", m.Context.Raw)
	}
	for _, x := range m.Modules {
		line("M %016X %08X %08X %s %s", x.Base, x.Offset, x.Size, orDash(x.ID), orDash(x.Name))
	}
	line("%s", microEnd)
	return b.Bytes()
}

// orDash keeps a word in its column.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
