// Package minidump reads and writes minidumps and microdumps.
//
// The container and its streams are Microsoft's (minidumpapiset.h), with the extensions of Breakpad
// (src/google_breakpad/common/minidump_format.h) and Crashpad (minidump/minidump_extensions.h). Where a file may be
// read in more than one way, Parse reads it as Google's processor does (src/processor/minidump.cc and
// minidump_processor.cc): what is unusable there is unusable here, with an error that says why and where.
//
// Nothing in a dump is trusted. Memory, records and texts are views of the caller's bytes, which must not change
// while the File is in use.
package minidump

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	signature     = 0x504d444d // "MDMP"
	formatVersion = 0xa793     // in the low 16 bits of the header's version
	headerSize    = 32
	entrySize     = 12
)

// ErrNoThreadList is ThreadsErr of a dump without a thread list.
var ErrNoThreadList = errors.New("minidump: no thread list")

// Header is the MINIDUMP_HEADER without its signature.
type Header struct {
	Version      uint32 // low 16 bits: 0xa793; the rest is the writer's
	StreamCount  uint32
	DirectoryRVA uint32
	Checksum     uint32
	Time         uint32 // seconds since 1970
	Flags        uint64
}

// Entry is a directory entry.
type Entry struct {
	Type StreamType
	Location
}

// File is a minidump.
//
// Each stream has its value and its own error. Both are zero if the stream is absent, except that ThreadsErr is
// ErrNoThreadList then. If the error is not nil, Google's processor goes on as if the stream were absent; the value
// is zero (Parse) or what could be read all the same (ParseLenient). Errors are *FormatError.
type File struct {
	Data  []byte
	Order binary.ByteOrder // of the file: little or big endian
	Header
	Directory []Entry // in file order, with those nobody knows

	Threads        []Thread
	ThreadsErr     error
	ThreadNames    []ThreadName
	ThreadNamesErr error
	Modules        []Module // in file order; the first is the main module
	ModulesErr     error
	Unloaded       []UnloadedModule
	UnloadedErr    error
	Memory32       []Region // MemoryList
	Memory32Err    error
	Memory64       []Region // Memory64List, which Google's processor never reads
	Memory64Err    error
	Exception      *Exception
	ExceptionErr   error
	System         *SystemInfo
	SystemErr      error
	Misc           *MiscInfo
	MiscErr        error
	MemoryInfo     []MemoryInfo
	MemoryInfoErr  error
	Breakpad       *BreakpadInfo
	BreakpadErr    error
	Assertion      *Assertion
	AssertionErr   error
	Crashpad       *CrashpadInfo
	CrashpadErr    error
	Handles        []Handle
	HandlesErr     error
	Linux          Linux
	Maps           []Mapping // Linux.Maps, parsed
	MapsErr        error
	DSODebug       *DSODebug
	DSODebugErr    error

	reader  reader   // of what Google's processor reads
	loose   reader   // of the rest
	regions []Region // for Memory: those with data, by base, none within another
}

// IsMinidump reports whether data begins like a minidump of either byte order.
func IsMinidump(data []byte) bool {
	if len(data) < 4 {
		return false
	}
	return binary.LittleEndian.Uint32(data) == signature || binary.BigEndian.Uint32(data) == signature
}

// Parse reads a minidump of either byte order. It fails where Google's processor cannot read the dump at all:
// signature, version, directory, or two streams of a kind that must be unique. All else is in the streams' errors.
func Parse(data []byte) (*File, error) { return parse(data, false) }

// ParseLenient is Parse, but keeps what is readable of streams that Google's processor refuses as a whole: modules
// beside one without a size, names with any character, memory regions that overlap. The errors are the same.
func ParseLenient(data []byte) (*File, error) { return parse(data, true) }

func parse(data []byte, lenient bool) (*File, error) {
	f := &File{Data: data}
	f.reader = reader{data: data, order: binary.LittleEndian, lenient: lenient, sticky: !lenient, text: textBudget(data)}
	if err := f.readHeader(); err != nil {
		return nil, err
	}
	f.Order = f.reader.order
	f.loose = f.reader
	f.loose.sticky = false
	if err := f.readDirectory(); err != nil {
		return nil, err
	}
	// In the order of Google's processor, since the first thing beyond the end of the file is the last it reads.
	f.readMiscInfo()
	f.readSystemInfo()
	f.readBreakpadInfo()
	f.readException()
	f.readAssertion()
	f.readModules()
	f.readUnloaded()
	f.readMemoryList()
	f.readThreads()
	f.readThreadNames()
	// It never reads these.
	f.readMemory64()
	f.readMemoryInfo()
	f.readLinux()
	f.readCrashpad()
	f.readHandles()
	f.indexMemory()
	return f, nil
}

func (f *File) readHeader() error {
	r := &f.reader
	b, ok := r.view(0, headerSize)
	if !ok {
		return &FormatError{Msg: fmt.Sprintf("%d bytes are too few for a minidump's header", len(r.data))}
	}
	switch {
	case binary.LittleEndian.Uint32(b) == signature:
	case binary.BigEndian.Uint32(b) == signature:
		r.order = binary.BigEndian
	default:
		return &FormatError{Msg: fmt.Sprintf("signature is %q, want \"MDMP\" or \"PMDM\"", b[:4])}
	}
	c := cursor{b[4:], r.order}
	f.Header = Header{c.u32(), c.u32(), c.u32(), c.u32(), c.u32(), c.u64()}
	if v := f.Version & 0xffff; v != formatVersion {
		return &FormatError{Offset: 4, Msg: fmt.Sprintf("version 0x%x, want 0x%x", v, formatVersion)}
	}
	return nil
}

// unique holds the streams of which Google's reader takes only one.
var unique = map[StreamType]bool{
	StreamThreadList: true, StreamThreadNames: true, StreamModuleList: true, StreamMemoryList: true,
	StreamException: true, StreamSystemInfo: true, StreamMiscInfo: true, StreamBreakpadInfo: true,
	StreamCrashpadInfo: true,
}

func (f *File) readDirectory() error {
	if f.StreamCount > maxStreams {
		return &FormatError{Offset: 8, Msg: fmt.Sprintf("%d streams, at most %d are read", f.StreamCount, maxStreams)}
	}
	b, ok := f.reader.view(uint64(f.DirectoryRVA), uint64(f.StreamCount)*entrySize)
	if !ok {
		problem := fmt.Sprintf("directory of %d entries runs past the end of the file", f.StreamCount)
		return &FormatError{Offset: int64(f.DirectoryRVA), Msg: problem}
	}
	c := cursor{b, f.reader.order}
	f.Directory = make([]Entry, f.StreamCount)
	for i := range f.Directory {
		e := Entry{StreamType(c.u32()), c.location()}
		if unique[e.Type] && f.Has(e.Type) {
			at := int64(f.DirectoryRVA) + int64(i)*entrySize
			return &FormatError{Stream: e.Type, Offset: at, Msg: "second stream of this type"}
		}
		f.Directory[i] = e
	}
	return nil
}

// Has reports whether the directory lists a stream of the type.
func (f *File) Has(t StreamType) bool {
	_, ok := f.entry(t)
	return ok
}

// entry finds a stream: of several the last counts.
func (f *File) entry(t StreamType) (Entry, bool) {
	for i := len(f.Directory) - 1; i >= 0; i-- {
		if f.Directory[i].Type == t && t != StreamUnused {
			return f.Directory[i], true
		}
	}
	return Entry{}, false
}

// Stream returns the bytes of a stream as the directory gives them; ok is false if it is absent or not wholly in the
// file.
func (f *File) Stream(t StreamType) (b []byte, ok bool) {
	e, ok := f.entry(t)
	if !ok {
		return nil, false
	}
	return f.loose.view(uint64(e.RVA), uint64(e.Size))
}

// stream is what the readers of streams work with.
type stream struct {
	Entry
	r   *reader
	b   []byte // what has been loaded of it
	err error  // the first thing wrong
}

// open finds a stream. It returns nil if the stream is absent.
func (f *File) open(t StreamType) *stream { return f.openWith(t, &f.reader) }

// openLoose is open for streams that Google's processor does not read, and loads them.
func (f *File) openLoose(t StreamType) *stream {
	s := f.openWith(t, &f.loose)
	if s != nil {
		s.load(s.Size)
	}
	return s
}

func (f *File) openWith(t StreamType, r *reader) *stream {
	e, ok := f.entry(t)
	if !ok {
		return nil
	}
	return &stream{Entry: e, r: r}
}

// load sets b to the first n bytes of the stream.
func (s *stream) load(n uint32) bool {
	if s.err != nil {
		return false
	}
	b, ok := s.r.view(uint64(s.RVA), uint64(n))
	if !ok {
		return s.fail(0, "%s", s.r.pastEnd(fmt.Sprintf("stream of %d bytes", s.Size)))
	}
	s.b = b
	return true
}

// fail records an error at an offset in the stream, unless there is one already. It returns false.
func (s *stream) fail(off int, format string, args ...any) bool {
	return s.failAt(uint64(s.RVA)+uint64(off), format, args...)
}

func (s *stream) failAt(off uint64, format string, args ...any) bool {
	if s.err == nil {
		s.err = &FormatError{s.Type, int64(off), fmt.Sprintf(format, args...)}
	}
	return false
}

func (s *stream) cursor(off int) cursor { return cursor{s.b[off:], s.r.order} }

// sized loads a stream that must have a certain size.
func (s *stream) sized(n uint32) bool {
	if s.Size != n {
		return s.fail(0, "size is %d, want %d", s.Size, n)
	}
	return s.load(n)
}

// atLeast checks the size of a stream that is loaded.
func (s *stream) atLeast(n int) bool {
	if s.err == nil && len(s.b) < n {
		s.fail(0, "size is %d, want at least %d", len(s.b), n)
	}
	return s.err == nil
}

// list loads a list with a count of 32 bits and at most limit entries, and returns the entries' bytes. Writers on
// 64-bit platforms may put four bytes of padding behind the count.
func (s *stream) list(entry uint64, mayPad bool, limit uint64) (entries []byte, n int) {
	if s.Size < 4 {
		s.fail(0, "size is %d, want at least 4", s.Size)
		return nil, 0
	}
	if !s.load(4) {
		return nil, 0
	}
	count := uint64(s.r.order.Uint32(s.b))
	head := uint64(s.Size) - count*entry
	if head != 4 && (head != 8 || !mayPad) {
		s.fail(0, "size is %d, which %d entries of %d bytes do not fit", s.Size, count, entry)
		return nil, 0
	}
	if count > limit {
		s.fail(0, "%d entries, at most %d are read", count, limit)
		if !s.r.lenient {
			return nil, 0
		}
	}
	b, ok := s.r.view(uint64(s.RVA), uint64(s.Size))
	if !ok {
		s.fail(0, "%s", s.r.pastEnd(fmt.Sprintf("stream of %d bytes", s.Size)))
		return nil, 0
	}
	s.b = b
	return b[head:], int(count)
}
