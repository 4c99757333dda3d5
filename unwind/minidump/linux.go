package minidump

import (
	"bytes"
	"fmt"
	"strconv"
)

// Linux are the texts of /proc and others that Breakpad's Linux writer copies, as views; nil where absent.
type Linux struct {
	CPUInfo    []byte
	Status     []byte // /proc/PID/status
	LSBRelease []byte
	CmdLine    []byte // arguments, each ended by a zero byte
	Environ    []byte // likewise
	Auxv       []byte // pairs of words of the process's own size
	Maps       []byte // /proc/PID/maps
}

// Permissions of a Mapping.
const (
	MapRead = 1 << iota
	MapWrite
	MapExecute
	MapPrivate
)

// Mapping is a line of /proc/PID/maps.
type Mapping struct {
	Start, End   uint64 // end exclusive
	Permissions  uint8  // MapRead and so on
	Offset       uint64 // in the file
	Major, Minor uint32 // device
	Inode        int64
	Path         string // "" for anonymous memory
}

func (f *File) readLinux() {
	for _, t := range []struct {
		kind StreamType
		to   *[]byte
	}{
		{StreamLinuxCPUInfo, &f.Linux.CPUInfo}, {StreamLinuxStatus, &f.Linux.Status},
		{StreamLinuxLSBRelease, &f.Linux.LSBRelease}, {StreamLinuxCmdLine, &f.Linux.CmdLine},
		{StreamLinuxEnviron, &f.Linux.Environ}, {StreamLinuxAuxv, &f.Linux.Auxv}, {StreamLinuxMaps, &f.Linux.Maps},
	} {
		*t.to, _ = f.Stream(t.kind)
	}
	if s := f.openLoose(StreamLinuxMaps); s != nil {
		var maps []Mapping
		if s.err == nil {
			var at int
			var problem string
			if maps, at, problem = parseMaps(s.r, s.b); problem != "" {
				s.fail(at, "%s", problem)
			}
		}
		f.Maps, f.MapsErr = keep(f, s, maps)
	}
	f.readDSODebug()
}

// ParseMaps reads the text of /proc/PID/maps as Google's processor does (proc_maps_linux.cc): every line must be
// complete and end in a newline or a carriage return. The error is a *FormatError with the offset in the text.
func ParseMaps(text []byte) ([]Mapping, error) {
	r := reader{text: textBudget(text)}
	maps, at, problem := parseMaps(&r, text)
	if problem != "" {
		return nil, &FormatError{StreamLinuxMaps, int64(at), problem}
	}
	return maps, nil
}

// parseMaps returns the mappings before the first problem, and where that is.
func parseMaps(r *reader, text []byte) (maps []Mapping, at int, problem string) {
	for at < len(text) {
		n := bytes.IndexAny(text[at:], "\r\n")
		if n < 0 {
			return maps, at, "last line does not end in a newline"
		}
		if n > 0 {
			m, path, ok := parseMapping(text[at : at+n])
			if !ok {
				return maps, at, fmt.Sprintf("%.80q is no line of /proc/PID/maps", text[at:at+n])
			}
			if !r.spend(len(path)) {
				return maps, at, "texts add up to more than this file can have"
			}
			m.Path = string(path)
			maps = append(maps, m)
		}
		at += n + 1
	}
	return maps, at, ""
}

// parseMapping takes apart "start-end perms offset major:minor inode path".
func parseMapping(line []byte) (m Mapping, path []byte, ok bool) {
	s := fields{b: line, ok: true}
	m.Start = s.number(16, 64)
	s.byte('-')
	m.End = s.number(16, 64)
	perms := s.permissions()
	m.Permissions = perms
	m.Offset = s.number(16, 64)
	m.Major = uint32(s.number(16, 32))
	s.byte(':')
	m.Minor = uint32(s.number(16, 32))
	m.Inode = int64(s.number(10, 63))
	return m, bytes.TrimLeft(s.b, " \t"), s.ok
}

// fields reads a line from the left, and stays failed once something does not fit.
type fields struct {
	b  []byte
	ok bool
}

func (s *fields) number(base, bits int) uint64 {
	s.b = bytes.TrimLeft(s.b, " \t")
	n := 0
	for n < len(s.b) && isDigit(s.b[n], base) {
		n++
	}
	v, err := strconv.ParseUint(string(s.b[:n]), base, bits)
	if err != nil {
		s.ok = false
	}
	s.b = s.b[n:]
	return v
}

func isDigit(c byte, base int) bool {
	return c >= '0' && c <= '9' || base == 16 && (c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F')
}

func (s *fields) byte(want byte) {
	if len(s.b) == 0 || s.b[0] != want {
		s.ok = false
		return
	}
	s.b = s.b[1:]
}

func (s *fields) permissions() uint8 {
	s.b = bytes.TrimLeft(s.b, " \t")
	if len(s.b) < 4 {
		s.ok = false
		return 0
	}
	var p uint8
	for i, letter := range []byte("rwxp") {
		switch c := s.b[i]; {
		case c == letter:
			p |= 1 << i
		case c == '-' && i < 3, (c == 's' || c == 'S') && i == 3:
		default:
			s.ok = false
		}
	}
	s.b = s.b[4:]
	return p
}

// DSODebug is what the dynamic linker said about the loaded objects (r_debug of <link.h>).
type DSODebug struct {
	Version              uint32
	Break, Base, Dynamic uint64 // addresses
	Objects              []DSO
	DynamicSection       []byte // the program's, a view
}

// DSO is a link_map.
type DSO struct {
	Addr    uint64 // difference to the addresses in the file
	Name    string // "" for the program
	Dynamic uint64 // address of the dynamic section
}

// is64 reports whether the dump is of a process with 64-bit words.
func (v *SystemInfo) is64() bool {
	if v == nil {
		return false
	}
	switch v.Arch {
	case ArchAMD64, ArchARM64, ArchARM64Old, ArchPPC64, ArchMIPS64, ArchRISCV64, ArchIA64:
		return true
	}
	return false
}

func (f *File) readDSODebug() {
	s := f.openLoose(StreamLinuxDSODebug)
	if s == nil {
		return
	}
	d := dsoDebug(s, f.System.is64())
	if s.err == nil || f.reader.lenient {
		f.DSODebug = d
	}
	f.DSODebugErr = s.err
}

// dsoDebug reads the structures with the alignment of the process's own words.
func dsoDebug(s *stream, is64 bool) *DSODebug {
	head, entry := 24, uint64(12)
	if is64 {
		head, entry = 40, 24
	}
	if !s.atLeast(head) {
		return nil
	}
	c := s.cursor(0)
	d := &DSODebug{Version: c.u32()}
	rva, n := uint64(c.u32()), uint64(c.u32())
	word := func(c *cursor) uint64 {
		if is64 {
			return c.u64()
		}
		return uint64(c.u32())
	}
	if is64 {
		c.take(4)
	}
	d.Break, d.Base, d.Dynamic = word(&c), word(&c), word(&c)
	d.DynamicSection = s.b[head:]
	b, ok := s.r.view(rva, n*entry)
	if !ok {
		s.fail(4, "%d objects at offset 0x%x run past the end of the file", n, rva)
		return d
	}
	d.Objects = make([]DSO, 0, n)
	for i := range n {
		c := cursor{b[i*entry:], s.r.order}
		o := DSO{Addr: word(&c)}
		name := c.u32()
		if is64 {
			c.take(4)
		}
		o.Dynamic = word(&c)
		var problem string
		if o.Name, problem = s.r.stringAt(uint64(name)); problem != "" {
			s.failAt(rva+i*entry, "name of object %d: %s", i, problem)
		}
		d.Objects = append(d.Objects, o)
	}
	return d
}
