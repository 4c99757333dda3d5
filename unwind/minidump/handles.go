package minidump

// Handle is a MINIDUMP_HANDLE_DESCRIPTOR.
type Handle struct {
	Value             uint64
	Type, Name        string // "" if unnamed
	Attributes        uint32
	Access            uint32
	Handles, Pointers uint32 // counts
}

const (
	handleHeaderSize = 16
	handleSize       = 32 // of version 1; version 2 has more behind it
)

func (f *File) readHandles() {
	s := f.openLoose(StreamHandleData)
	if s == nil {
		return
	}
	f.Handles, f.HandlesErr = keep(f, s, handleList(s))
}

func handleList(s *stream) []Handle {
	if !s.atLeast(handleHeaderSize) {
		return nil
	}
	c := s.cursor(0)
	header, entry, n := uint64(c.u32()), uint64(c.u32()), uint64(c.u32())
	if header < handleHeaderSize || entry < handleSize || header+entry*n > uint64(len(s.b)) {
		s.fail(0, "size is %d, which a header of %d bytes and %d entries of %d do not fit", len(s.b), header, n, entry)
		return nil
	}
	list := make([]Handle, 0, n)
	for i := range n {
		at := int(header + i*entry)
		c := s.cursor(at)
		h := Handle{Value: c.u64()}
		h.Type = s.optionalString(c.u32(), at+8)
		h.Name = s.optionalString(c.u32(), at+12)
		h.Attributes, h.Access, h.Handles, h.Pointers = c.u32(), c.u32(), c.u32(), c.u32()
		list = append(list, h)
	}
	return list
}

func (s *stream) optionalString(rva uint32, at int) string {
	if rva == 0 {
		return ""
	}
	text, problem := s.r.stringAt(uint64(rva))
	if problem != "" {
		s.fail(at, "%s", problem)
	}
	return text
}
