package minidump

const (
	exceptionSize     = 168
	maxParameters     = 15
	assertionSize     = 776
	breakpadInfoSize  = 12
	validDumpThread   = 1
	validRequestingID = 2
)

// Exception is the Exception stream.
type Exception struct {
	ThreadID    uint32
	Code, Flags uint32
	Nested      uint64 // address of the nested exception record
	Address     uint64 // as in the stream: see File.CrashAddress
	Parameters  uint32 // how many of Information count; may be more than there are
	Information [maxParameters]uint64
	Context     Location
}

func (f *File) readException() {
	s := f.open(StreamException)
	if s == nil {
		return
	}
	if !s.sized(exceptionSize) {
		f.ExceptionErr = s.err
		return
	}
	c := s.cursor(0)
	e := &Exception{ThreadID: c.u32()}
	c.take(4)
	e.Code, e.Flags, e.Nested, e.Address, e.Parameters = c.u32(), c.u32(), c.u64(), c.u64(), c.u32()
	c.take(4)
	for i := range e.Information {
		e.Information[i] = c.u64()
	}
	e.Context = c.location()
	f.Exception = e
}

// BreakpadInfo says which threads took part in writing the dump.
type BreakpadInfo struct {
	Validity     uint32
	DumpThreadID uint32 // counts if Validity has bit 0
	RequestingID uint32 // counts if Validity has bit 1
}

func (f *File) readBreakpadInfo() {
	s := f.open(StreamBreakpadInfo)
	if s == nil {
		return
	}
	if !s.sized(breakpadInfoSize) {
		f.BreakpadErr = s.err
		return
	}
	c := s.cursor(0)
	f.Breakpad = &BreakpadInfo{c.u32(), c.u32(), c.u32()}
}

// Assertion is a failed assertion.
type Assertion struct {
	Expression, Function, File string
	Line                       uint32
	Type                       uint32 // 1 invalid parameter, 2 pure virtual call
}

func (f *File) readAssertion() {
	s := f.open(StreamAssertion)
	if s == nil {
		return
	}
	if !s.sized(assertionSize) {
		f.AssertionErr = s.err
		return
	}
	c := s.cursor(0)
	f.Assertion = &Assertion{
		s.r.utf16z(c.take(256)), s.r.utf16z(c.take(256)), s.r.utf16z(c.take(256)), c.u32(), c.u32(),
	}
}
