package minidump

import (
	"fmt"
	"math"
)

const (
	threadSize     = 48
	threadNameSize = 12
)

// Thread is a MINIDUMP_THREAD.
type Thread struct {
	ID            uint32
	Suspend       uint32 // suspend count
	PriorityClass uint32
	Priority      uint32
	TEB           uint64 // address of the thread environment block
	// Stack is the memory the thread itself refers to; see File.StackMemory. Its Data is nil if the thread has none.
	Stack         Region
	StackLocation Location
	Context       Location
}

// ThreadName is an entry of the ThreadNames stream.
type ThreadName struct {
	ID   uint32
	Name string
}

func (f *File) readThreads() {
	s := f.open(StreamThreadList)
	if s == nil {
		f.ThreadsErr = ErrNoThreadList
		return
	}
	b, n := s.list(threadSize, true, math.MaxUint32)
	threads := make([]Thread, 0, n)
	seen := make(map[uint32]bool, n)
	for i := range n {
		c := cursor{b[i*threadSize:], s.r.order}
		t := Thread{ID: c.u32(), Suspend: c.u32(), PriorityClass: c.u32(), Priority: c.u32(), TEB: c.u64()}
		start := c.u64()
		t.StackLocation = c.location()
		t.Context = c.location()
		t.Stack = f.loose.region(start, t.StackLocation)
		if seen[t.ID] {
			s.fail(len(s.b)-len(b)+i*threadSize, "thread %d has the id 0x%x of an earlier one", i, t.ID)
		}
		seen[t.ID] = true
		threads = append(threads, t)
	}
	f.Threads, f.ThreadsErr = keep(f, s, threads)
}

// keep is what of a stream goes into the File: nothing if it is unusable, unless lenient.
func keep[T any](f *File, s *stream, list []T) ([]T, error) {
	if s.err != nil && !f.reader.lenient {
		return nil, s.err
	}
	return list, s.err
}

func (f *File) readThreadNames() {
	s := f.open(StreamThreadNames)
	if s == nil {
		return
	}
	b, n := s.list(threadNameSize, false, math.MaxUint32)
	names := make([]ThreadName, 0, n)
	for i := range n {
		c := cursor{b[i*threadNameSize:], s.r.order}
		id, rva := c.u32(), c.u64()
		name, problem := "", "offset of the name is beyond any file"
		if rva <= math.MaxInt64 {
			name, problem = s.r.stringAt(rva)
		}
		if problem != "" {
			s.fail(4+i*threadNameSize, "name of thread 0x%x: %s", id, problem)
			continue
		}
		names = append(names, ThreadName{id, name})
	}
	f.ThreadNames, f.ThreadNamesErr = keep(f, s, names)
}

// ThreadName returns the name of a thread, "" if it has none.
func (f *File) ThreadName(id uint32) string {
	for i := range f.ThreadNames {
		if f.ThreadNames[i].ID == id {
			return f.ThreadNames[i].Name
		}
	}
	return ""
}

// String identifies the thread.
func (t *Thread) String() string { return fmt.Sprintf("thread 0x%x", t.ID) }
