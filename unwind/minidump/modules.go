package minidump

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

const (
	moduleSize         = 108
	unloadedModuleSize = 24

	fixedInfoSignature = 0xfeef04bd
	fixedInfoVersion   = 0x00010000

	cvPDB70 = 0x53445352 // "RSDS"
	cvPDB20 = 0x3031424e // "NB10"
	cvELF   = 0x4270454c // "LEpB"

	miscHeaderSize = 12 // of IMAGE_DEBUG_MISC: type, length, unicode, three reserved bytes
)

// FixedFileInfo is a VS_FIXEDFILEINFO.
type FixedFileInfo struct {
	Signature, StructVersion           uint32
	FileVersionHi, FileVersionLo       uint32
	ProductVersionHi, ProductVersionLo uint32
	FlagsMask, Flags                   uint32
	OS, Type, Subtype                  uint32
	DateHi, DateLo                     uint32
}

// Module is a MINIDUMP_MODULE with its identifiers as Google's processor derives them. Its range is
// [Base, Base+Size), which does not wrap; ranges of different modules may overlap.
type Module struct {
	Base      uint64
	Size      uint32 // not 0
	Checksum  uint32
	Timestamp uint32 // of the image's header: seconds since 1970, or a hash
	// CodeFile is the module's name, usually a full path.
	CodeFile string
	// Version is "a.b.c.d" from FixedInfo, or "".
	Version string
	// CodeID is timestamp and size on Windows, the build id in lower case for ELF, "id" on other platforms, and ""
	// on unknown ones.
	CodeID string
	// DebugFile and DebugID say which symbol file belongs to the module: they come from the CodeView record and may
	// be empty.
	DebugFile, DebugID string
	CodeView           []byte // the record, a view; nil if there is none or it is unusable
	FixedInfo          FixedFileInfo
	// DebugErr says why CodeView or the miscellaneous debug record is unusable. All identifiers are empty then.
	DebugErr error

	codeView, misc Location
}

// UnloadedModule is a MINIDUMP_UNLOADED_MODULE.
type UnloadedModule struct {
	Base             uint64
	Size             uint32 // not 0
	Checksum         uint32
	Timestamp        uint32
	CodeFile, CodeID string
}

func (f *File) readModules() {
	s := f.open(StreamModuleList)
	if s == nil {
		return
	}
	b, n := s.list(moduleSize, true, maxModules)
	modules := make([]Module, 0, n)
	for i := range n {
		at := len(s.b) - len(b) + i*moduleSize
		m, ok := f.readModule(s, b[i*moduleSize:], at, i)
		if ok {
			modules = append(modules, m)
		} else if !s.r.lenient {
			break
		}
	}
	f.Modules, f.ModulesErr = keep(f, s, modules)
}

func (f *File) readModule(s *stream, b []byte, at, i int) (Module, bool) {
	c := cursor{b, s.r.order}
	m := Module{Base: c.u64(), Size: c.u32(), Checksum: c.u32(), Timestamp: c.u32()}
	nameRVA := c.u32()
	m.FixedInfo = c.fixedInfo()
	m.codeView, m.misc = c.location(), c.location()
	if m.Size == 0 || uint64(m.Size) > ^uint64(0)-m.Base {
		return m, s.fail(at, "module %d has the range 0x%x+0x%x", i, m.Base, m.Size)
	}
	var problem string
	if m.CodeFile, problem = s.r.stringAt(uint64(nameRVA)); problem != "" {
		return m, s.fail(at+20, "name of module %d: %s", i, problem)
	}
	if v := m.FixedInfo; v.Signature == fixedInfoSignature && v.StructVersion&fixedInfoVersion != 0 {
		hi, lo := v.FileVersionHi, v.FileVersionLo
		m.Version = fmt.Sprintf("%d.%d.%d.%d", hi>>16, hi&0xffff, lo>>16, lo&0xffff)
	}
	m.identify(s.r, f.System)
	return m, true
}

func (c *cursor) fixedInfo() FixedFileInfo {
	return FixedFileInfo{
		c.u32(), c.u32(), c.u32(), c.u32(), c.u32(), c.u32(), c.u32(),
		c.u32(), c.u32(), c.u32(), c.u32(), c.u32(), c.u32(),
	}
}

// identify derives the identifiers from the debug records (MinidumpModule in minidump.cc).
func (m *Module) identify(r *reader, sys *SystemInfo) {
	var cvSignature uint32
	m.CodeView, cvSignature, m.DebugErr = readCodeView(r, m.codeView)
	if m.DebugErr != nil {
		return
	}
	var misc string
	if misc, m.DebugErr = readMiscRecord(r, m.misc); m.DebugErr != nil {
		return
	}
	b := m.CodeView
	switch cvSignature {
	case cvPDB70:
		c := cursor{b[4:], r.order}
		guid, age := c.guid(), c.u32()
		m.DebugID = guid.debugID(age)
		m.DebugFile = r.cString(b[24:])
	case cvPDB20:
		c := cursor{b[8:], r.order}
		m.DebugID = fmt.Sprintf("%08X%x", c.u32(), c.u32())
		m.DebugFile = r.cString(b[16:])
	case cvELF:
		// The build id is bytes; a GUID is made of the first 16 as if it lay in memory of a little-endian machine.
		var id [16]byte
		copy(id[:], b[4:])
		c := cursor{id[:], binary.LittleEndian}
		m.DebugID = c.guid().debugID(0)
		m.DebugFile = m.CodeFile
	}
	if m.DebugFile == "" {
		m.DebugFile = misc
	}
	m.CodeID = codeID(sys, m.Timestamp, m.Size)
	if cvSignature == cvELF && sys != nil && (sys.Platform.IsLinux() || sys.Platform == PlatformFuchsia) {
		m.CodeID = ""
		if r.spend(2 * len(b)) {
			m.CodeID = hex.EncodeToString(b[4:])
		}
	}
}

// codeID is the identifier of a module without a build id.
func codeID(sys *SystemInfo, timestamp, size uint32) string {
	if sys == nil {
		return ""
	}
	switch sys.Platform {
	case PlatformWindowsNT, PlatformWindows:
		return fmt.Sprintf("%08X%x", timestamp, size)
	case PlatformAndroid, PlatformFuchsia, PlatformLinux, PlatformMac, PlatformIOS, PlatformSolaris, PlatformNaCl,
		PlatformPS3:
		return "id"
	}
	return ""
}

// readCodeView returns the record and its signature, which is 0 for records too short to have one.
func readCodeView(r *reader, loc Location) ([]byte, uint32, error) {
	if loc.Size == 0 {
		return nil, 0, nil
	}
	bad := func(format string, args ...any) ([]byte, uint32, error) {
		return nil, 0, &FormatError{StreamModuleList, int64(loc.RVA), "CodeView record " + fmt.Sprintf(format, args...)}
	}
	if loc.Size > maxCodeViewBytes {
		return bad("has %d bytes, at most %d are read", loc.Size, maxCodeViewBytes)
	}
	b, ok := r.view(uint64(loc.RVA), uint64(loc.Size))
	if !ok {
		return bad("%s", r.pastEnd(fmt.Sprintf("of %d bytes", loc.Size)))
	}
	if len(b) <= 4 {
		return b, 0, nil
	}
	sig := r.order.Uint32(b)
	least := map[uint32]int{cvPDB70: 25, cvPDB20: 17}[sig]
	if len(b) < least {
		return bad("has %d bytes, want at least %d", len(b), least)
	}
	if least > 0 && b[len(b)-1] != 0 {
		return bad("does not end in a zero byte")
	}
	return b, sig, nil
}

// readMiscRecord returns the file name of an IMAGE_DEBUG_MISC record.
func readMiscRecord(r *reader, loc Location) (string, error) {
	if loc.Size == 0 {
		return "", nil
	}
	bad := func(format string, args ...any) (string, error) {
		problem := "miscellaneous debug record " + fmt.Sprintf(format, args...)
		return "", &FormatError{StreamModuleList, int64(loc.RVA), problem}
	}
	if loc.Size < miscHeaderSize || loc.Size > maxCodeViewBytes {
		return bad("has %d bytes, want %d to %d", loc.Size, miscHeaderSize, maxCodeViewBytes)
	}
	b, ok := r.view(uint64(loc.RVA), uint64(loc.Size))
	if !ok {
		return bad("%s", r.pastEnd(fmt.Sprintf("of %d bytes", loc.Size)))
	}
	if n := r.order.Uint32(b[4:]); n != loc.Size {
		return bad("says it has %d bytes, but the module says %d", n, loc.Size)
	}
	if text := b[miscHeaderSize:]; b[8] == 0 {
		return r.cString(text), nil
	} else if len(text)%2 == 0 {
		return r.utf16z(text), nil
	}
	return "", nil
}

// cString is the text before the first zero byte.
func (r *reader) cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if !r.spend(len(b)) {
		return ""
	}
	return string(b)
}

func (f *File) readUnloaded() {
	s := f.open(StreamUnloadedModules)
	if s == nil {
		return
	}
	f.Unloaded, f.UnloadedErr = keep(f, s, f.unloadedList(s))
}

func (f *File) unloadedList(s *stream) []UnloadedModule {
	if s.Size < 12 {
		s.fail(0, "size is %d, want at least 12", s.Size)
		return nil
	}
	if !s.load(12) {
		return nil
	}
	c := s.cursor(0)
	header, entry, n := uint64(c.u32()), uint64(c.u32()), uint64(c.u32())
	switch {
	case header < 12 || header+entry*n != uint64(s.Size):
		s.fail(0, "size is %d, which a header of %d bytes and %d entries of %d do not fit", s.Size, header, n, entry)
		return nil
	case n > maxModules:
		s.fail(8, "%d modules, at most %d are read", n, maxModules)
		return nil
	case n > 0 && entry < unloadedModuleSize:
		s.fail(4, "entries of %d bytes, want at least %d", entry, unloadedModuleSize)
		return nil
	}
	if !s.load(s.Size) {
		return nil
	}
	modules := make([]UnloadedModule, 0, n)
	for i := range n {
		at := int(header + i*entry)
		c := s.cursor(at)
		m := UnloadedModule{Base: c.u64(), Size: c.u32(), Checksum: c.u32(), Timestamp: c.u32()}
		if m.Size == 0 || uint64(m.Size) > ^uint64(0)-m.Base {
			s.fail(at, "module %d has the range 0x%x+0x%x", i, m.Base, m.Size)
			continue
		}
		var problem string
		if m.CodeFile, problem = s.r.stringAt(uint64(c.u32())); problem != "" {
			s.fail(at+20, "name of module %d: %s", i, problem)
			continue
		}
		if f.System == nil || f.System.Platform != PlatformFuchsia {
			m.CodeID = codeID(f.System, m.Timestamp, m.Size)
		}
		modules = append(modules, m)
	}
	return modules
}
