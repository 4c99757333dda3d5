package trace

import (
	"github.com/symlint/symlint/unwind"
)

// position is where a thread stands in the document, which has the thread that wrote the dump as well.
func (j *report) position(i int) int {
	if w := j.details.Writer; w != nil && i >= w.Index {
		return i + 1
	}
	return i
}

func (j *report) stack(i int) *unwind.Stack {
	if i < len(j.d.Stacks) {
		return j.d.Stacks[i]
	}
	return nil
}

func (j *report) crashingThread() {
	i := j.p.Requesting
	if i < 0 || i >= len(j.p.Threads) {
		return
	}
	if s := j.stack(i); s == nil || len(s.Frames) == 0 {
		return
	}
	j.key("crashing_thread")
	j.thread(i, true)
}

func (j *report) threads() {
	n := len(j.p.Threads)
	writer := j.details.Writer
	if writer != nil {
		n++
	}
	j.key("thread_count").number(uint64(n))
	j.key("threads").open('[')
	for i := range j.p.Threads {
		if writer != nil && writer.Index == i {
			j.skipped(writer)
		}
		j.thread(i, false)
	}
	if writer != nil && writer.Index >= len(j.p.Threads) {
		j.skipped(writer)
	}
	j.close(']')
}

// skipped writes the thread that wrote the dump, which nobody walks.
func (j *report) skipped(t *unwind.Writer) {
	j.open('{')
	j.key("frame_count").number(0)
	j.key("frames").open('[')
	j.close(']')
	j.key("last_error_value").null()
	j.key("thread_id").number(uint64(t.ID))
	j.key("thread_name").null()
	j.close('}')
}

// thread writes a thread. Frames of a thread that was not walked are null, and so is their number.
func (j *report) thread(i int, crashing bool) {
	t, s := &j.p.Threads[i], j.stack(i)
	j.open('{')
	if j.explain && s != nil {
		j.end(s)
	}
	j.key("frame_count")
	if s != nil {
		j.number(uint64(len(s.Frames)))
	} else {
		j.null()
	}
	j.key("frames")
	if s != nil {
		j.open('[')
		for k := range s.Frames {
			j.frame(s, k, crashing && k == 0)
		}
		j.close(']')
	} else {
		j.null()
	}
	j.key("last_error_value")
	if t.HasLastError {
		j.string(windowsError(t.LastError))
	} else {
		j.null()
	}
	j.key("thread_id").number(uint64(t.ID))
	j.key("thread_name")
	if t.Named || t.Name != "" {
		j.string(t.Name)
	} else {
		j.null()
	}
	if crashing {
		j.key("threads_index").number(uint64(j.position(i)))
	}
	j.close('}')
}

func (j *report) frame(s *unwind.Stack, i int, registers bool) {
	f := &s.Frames[i]
	m := f.Module
	if m != nil && j.p.Modules.At(f.Instruction) == nil {
		m = nil // an unloaded one, of which there may be several
	}
	j.open('{')
	var found *unwind.Attempt
	if j.explain {
		found = j.explanation(s, i)
	}
	j.key("file").text(f.File)
	j.key("frame").number(uint64(i))
	j.key("function").text(f.Function)
	j.key("function_offset")
	if f.Function != "" {
		j.address(f.Instruction - f.FunctionBase)
	} else {
		j.null()
	}
	j.inlines(f)
	j.key("line")
	if f.File != "" && f.Line >= 0 {
		j.number(uint64(f.Line))
	} else {
		j.null()
	}
	j.key("missing_symbols").bool(f.Function == "")
	j.key("module")
	if m != nil {
		j.string(unwind.BaseName(m.CodeFile))
	} else {
		j.null()
	}
	j.key("module_offset")
	if m != nil {
		j.address(f.Instruction - m.Base)
	} else {
		j.null()
	}
	j.key("offset").address(f.Instruction)
	if j.explain {
		j.key("record")
		j.record(found)
	}
	if registers {
		j.registers(f)
	}
	j.key("technique").string(f.Technique.String())
	j.key("trust").string(trustName(f.Trust))
	j.key("unloaded_modules")
	if m == nil {
		j.unloadedAt(f.Instruction)
	} else {
		j.null()
	}
	j.close('}')
}

func (j *report) inlines(f *unwind.Frame) {
	j.key("inlines")
	if len(f.Inlines) == 0 {
		j.null()
		return
	}
	j.open('[')
	for i := range f.Inlines {
		in := &f.Inlines[i]
		j.open('{')
		j.key("file").text(in.File)
		j.key("function").string(in.Name)
		j.key("line")
		if in.File != "" && in.Number >= 0 {
			j.number(uint64(in.Number))
		} else {
			j.null()
		}
		j.close('}')
	}
	j.close(']')
}

// trustName is rust-minidump's name, which has none for simulated returns.
func trustName(t unwind.Trust) string {
	switch t {
	case unwind.TrustScan:
		return "scan"
	case unwind.TrustCFIScan:
		return "cfi_scan"
	case unwind.TrustFP:
		return "frame_pointer"
	case unwind.TrustCFI:
		return "cfi"
	case unwind.TrustPrewalked:
		return "prewalked"
	case unwind.TrustContext:
		return "context"
	case unwind.TrustLeaf:
		return "leaf"
	}
	return "none"
}

// registers writes the registers that have a value.
func (j *report) registers(f *unwind.Frame) {
	j.key("registers").open('{')
	if f.Registers.CPU != nil {
		if r := jsonRegisters[f.Registers.CPU.Name]; r != nil {
			for i, slot := range r.slots {
				if v, ok := f.Registers.Get(slot); ok {
					j.key(r.names[i]).hex(v, r.digits)
				}
			}
		}
	}
	j.close('}')
}
