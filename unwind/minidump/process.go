package minidump

import "fmt"

// Crash is what the exception says.
type Crash struct {
	// Reason is Google's text: "SIGSEGV /SEGV_MAPERR".
	Reason string
	// Address is what was accessed where that is known, else where the exception happened; cut to 32 bits on CPUs
	// that have no more.
	Address     uint64
	Code, Flags uint32
	Parameters  []uint64 // at most 15, a view of the Exception
	ThreadID    uint32
}

// ThreadState is a thread to be walked.
type ThreadState struct {
	Thread *Thread
	Name   string
	// Context is that of the exception for the thread that crashed, else the thread's own. Nil: the thread has no
	// frames, and ContextErr says why.
	Context    *Context
	ContextErr error
	// Stack is the memory to walk; see File.StackMemory. Without it there is only the context's frame.
	Stack    Region
	HasStack bool
}

// State is what Google's processor makes of a dump before it walks the threads.
type State struct {
	OS, OSShort, OSVersion string
	CPU, CPUInfo           string
	CPUCount               int
	Crash                  *Crash // nil: the dump was written without an exception
	Assertion              string // "" if there is none
	// Requesting is the index in Threads of the thread that crashed or asked for the dump, -1 if it is not known or
	// not in the list.
	Requesting int
	// Threads are the dump's in file order, without the one that wrote the dump: the indices that reports show.
	Threads    []ThreadState
	Time       uint32 // when the dump was written, seconds since 1970
	CreateTime uint32 // when the process was created, 0 if unknown
}

// Uptime is how long the process ran, in seconds. ok is false where a time is missing or they contradict each other.
func (s *State) Uptime() (seconds uint32, ok bool) {
	if s.Time == 0 || s.CreateTime == 0 || s.Time < s.CreateTime {
		return 0, false
	}
	return s.Time - s.CreateTime, true
}

// RequestingThread is the id of the thread that crashed, else of the one that asked for the dump.
func (f *File) RequestingThread() (id uint32, ok bool) {
	if f.Exception != nil {
		return f.Exception.ThreadID, true
	}
	if b := f.Breakpad; b != nil && b.Validity&validRequestingID != 0 {
		return b.RequestingID, true
	}
	return 0, false
}

// DumpThread is the id of the thread that wrote the dump, which is not walked.
func (f *File) DumpThread() (id uint32, ok bool) {
	if b := f.Breakpad; b != nil && b.Validity&validDumpThread != 0 {
		return b.DumpThreadID, true
	}
	return 0, false
}

// CreateTime is when the process was created, in seconds since 1970.
func (f *File) CreateTime() (seconds uint32, ok bool) {
	if f.Misc == nil || f.Misc.Flags&MiscProcessTimes == 0 {
		return 0, false
	}
	return f.Misc.CreateTime, true
}

// Crash describes the exception, nil if there is none.
func (f *File) Crash() *Crash {
	e := f.Exception
	if e == nil {
		return nil
	}
	c := &Crash{Code: e.Code, Flags: e.Flags, ThreadID: e.ThreadID}
	c.Parameters = e.Information[:min(e.Parameters, maxParameters)]
	c.Reason = e.reason(f.System)
	c.Address = e.address(f.System)
	return c
}

// address is where the access went to that caused the exception.
func (e *Exception) address(sys *SystemInfo) uint64 {
	if sys == nil {
		return e.Address
	}
	addr := e.Address
	if sys.Platform.IsWindows() && (e.Code == winAccessViolation || e.Code == winInPageError) && e.Parameters >= 2 {
		addr = e.Information[1]
	}
	switch sys.Arch {
	case ArchX86, ArchMIPS, ArchPPC, ArchSHX, ArchARM, ArchX86Win64:
		addr = uint64(uint32(addr))
	}
	return addr
}

// Text describes the assertion as Google's processor does.
func (a *Assertion) Text() string {
	var s string
	switch a.Type {
	case 1:
		s = "Invalid parameter passed to library function"
	case 2:
		s = "Pure virtual function called"
	default:
		s = fmt.Sprintf("Unknown assertion type 0x%08x", a.Type)
	}
	if a.Expression != "" {
		s += " " + a.Expression
	}
	if a.Function != "" {
		s += " in function " + a.Function
	}
	if a.File != "" {
		s += ", in file " + a.File
	}
	if a.Line != 0 {
		s += fmt.Sprintf(" at line %d", a.Line)
	}
	return s
}

// Process collects what a walker needs, by the rules of Google's minidump_processor.cc. It fails only where the
// thread list is missing or unusable.
func (f *File) Process() (*State, error) {
	if f.ThreadsErr != nil {
		return nil, f.ThreadsErr
	}
	s := &State{
		OS: f.System.OS(), OSShort: f.System.OSShort(), OSVersion: f.System.OSVersion(),
		CPU: f.System.CPU(), CPUInfo: f.System.CPUInfo(),
		Crash: f.Crash(), Requesting: -1, Time: f.Time,
	}
	if f.System != nil {
		s.CPUCount = int(f.System.CPUs)
	}
	s.CreateTime, _ = f.CreateTime()
	if f.Assertion != nil {
		s.Assertion = f.Assertion.Text()
	}
	names := make(map[uint32]string, len(f.ThreadNames))
	for _, n := range f.ThreadNames {
		if _, ok := names[n.ID]; !ok {
			names[n.ID] = n.Name
		}
	}
	r := f.reader // a copy: what cannot be read of one thread is lost for those after it
	writer, hasWriter := f.DumpThread()
	requesting, hasRequesting := f.RequestingThread()
	s.Threads = make([]ThreadState, 0, len(f.Threads))
	for i := range f.Threads {
		t := &f.Threads[i]
		if hasWriter && t.ID == writer {
			continue
		}
		state := ThreadState{Thread: t, Name: names[t.ID]}
		state.Context, state.ContextErr = f.contextAt(&r, t.Context)
		if hasRequesting && t.ID == requesting {
			s.Requesting = len(s.Threads)
			if f.Exception != nil {
				// The thread's own context is that of the exception handler.
				if c, err := f.contextAt(&r, f.Exception.Context); err == nil {
					state.Context, state.ContextErr = c, nil
				}
			}
		}
		state.Stack, state.HasStack = f.StackMemory(t)
		if r.failed {
			state.Stack.Data = nil
		} else if c := state.Context; c != nil && state.HasStack && state.Stack.Size <= maxRegionBytes {
			// The walk will read the stack if it looks at anything in it.
			if state.Stack.Contains(c.Registers.SP()) || state.Stack.Contains(c.Registers.Value[c.CPU.Slot.FP]) {
				r.view(state.Stack.Offset, state.Stack.Size)
			}
		}
		s.Threads = append(s.Threads, state)
	}
	return s, nil
}
