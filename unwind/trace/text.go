package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/symlint/symlint/unwind"
)

// TextOptions choose what Text prints.
type TextOptions struct {
	StackContents bool // -s: the stack between frames
	// NoModules leaves the list of modules out, as -t does.
	NoModules bool
	// AfterFrame, if set, prints more behind each frame; i is its index in Frames.
	AfterFrame func(w io.Writer, s *unwind.Stack, i int)
	// AfterStack, if set, prints more behind each stack.
	AfterStack func(w io.Writer, s *unwind.Stack)
}

// Text writes what minidump_stackwalk prints for people.
func Text(out io.Writer, d *Walked, o TextOptions) error {
	w := bufio.NewWriter(out)
	d.header(w)
	for i := range d.order {
		fmt.Fprintln(w)
		d.threadHeader(w, i)
		d.stack(w, d.Stacks[i], o)
	}
	if !o.NoModules {
		d.modules(w)
	}
	return w.Flush()
}

// Brief writes what minidump_stackwalk -b prints: the requesting thread's frames, a line each.
func Brief(out io.Writer, d *Walked) error {
	w := bufio.NewWriter(out)
	i := d.Process.Requesting
	if i < 0 || i >= len(d.Stacks) || d.Stacks[i] == nil {
		fmt.Fprintln(w, " <no crashing or requesting dump thread identified>")
		return w.Flush()
	}
	d.threadHeader(w, i)
	n := 0
	for e := range func(yield func(entry) bool) { entries(d.Stacks[i], yield) } {
		e.header(w, n)
		fmt.Fprintln(w)
		n++
	}
	return w.Flush()
}

func (d *Walked) threadHeader(w io.Writer, i int) {
	fmt.Fprintf(w, "Thread %d", i)
	if i == d.Process.Requesting {
		if d.Process.Crash != nil {
			fmt.Fprint(w, " (crashed)")
		} else {
			fmt.Fprint(w, " (requested dump, did not crash)")
		}
	}
	fmt.Fprintln(w)
}

func (d *Walked) header(w io.Writer) {
	p := d.Process
	s := &p.System
	fmt.Fprintf(w, "Operating system: %s\n", s.OS)
	fmt.Fprintf(w, "                  %s\n", s.OSVersion)
	fmt.Fprintf(w, "CPU: %s\n", s.CPU)
	if s.CPUInfo != "" {
		fmt.Fprintf(w, "     %s\n", s.CPUInfo)
	}
	plural := "s"
	if s.CPUCount == 1 {
		plural = ""
	}
	fmt.Fprintf(w, "     %d CPU%s\n\n", s.CPUCount, plural)
	if g := s.GPU; g != nil && *g != (unwind.GPU{}) {
		fmt.Fprintf(w, "GPU: %s\n     %s\n     %s\n\n", g.Version, g.Vendor, g.Renderer)
	} else {
		fmt.Fprint(w, "GPU: UNKNOWN\n\n")
	}
	if c := p.Crash; c != nil {
		fmt.Fprintf(w, "Crash reason:  %s\n", c.Reason)
		fmt.Fprintf(w, "Crash address: 0x%x\n", c.Address)
		if len(c.Parameters) > 0 {
			fmt.Fprintln(w, "Crash parameters:")
			for _, v := range c.Parameters {
				fmt.Fprintf(w, "    value: 0x%016x  description: \n", v)
			}
		}
	} else {
		fmt.Fprintln(w, "No crash")
	}
	if p.Assertion != "" {
		fmt.Fprintf(w, "Assertion: %s\n", p.Assertion)
	}
	if p.Uptime.Known {
		fmt.Fprintf(w, "Process uptime: %d seconds\n", p.Uptime.Seconds)
	} else {
		fmt.Fprintln(w, "Process uptime: not available")
	}
}

func (d *Walked) stack(w *bufio.Writer, s *unwind.Stack, o TextOptions) {
	if len(s.Frames) == 0 {
		fmt.Fprintln(w, " <no frames>")
	}
	n, physical := 0, 0
	for e := range func(yield func(entry) bool) { entries(s, yield) } {
		e.header(w, n)
		n++
		fmt.Fprint(w, "\n ")
		if e.inline {
			fmt.Fprintf(w, "\n    Found by: %s\n", unwind.TrustInline)
			continue
		}
		if d.knowsCPU() {
			registers(w, e.frame)
		}
		fmt.Fprintf(w, "\n    Found by: %s\n", e.frame.Trust)
		physical++
		if o.StackContents && d.knowsCPU() && physical < len(s.Frames) {
			d.contents(w, s, physical-1)
		}
		if o.AfterFrame != nil {
			o.AfterFrame(w, s, physical-1)
		}
	}
	if o.AfterStack != nil {
		o.AfterStack(w, s)
	}
}

// knowsCPU: the reference goes by the name of the CPU, which a dump without system information does not tell.
func (d *Walked) knowsCPU() bool {
	cpu := d.Process.System.CPU
	return cpu != "" && !strings.HasPrefix(cpu, "0x")
}

func (e *entry) header(w io.Writer, number int) {
	fmt.Fprintf(w, "%2d  ", number)
	switch {
	case e.module == nil:
		fmt.Fprintf(w, "0x%x", e.address)
	case e.function == "":
		fmt.Fprintf(w, "%s + 0x%x", unwind.BaseName(e.module.CodeFile), e.address-e.module.Base)
	case e.file == "":
		fmt.Fprintf(w, "%s!%s + 0x%x", unwind.BaseName(e.module.CodeFile), e.function, e.address-e.functionBase)
	default:
		fmt.Fprintf(w, "%s!%s [%s : %d + 0x%x]", unwind.BaseName(e.module.CodeFile), e.function, unwind.BaseName(e.file),
			e.line, e.address-e.lineBase)
	}
}

func (d *Walked) modules(w io.Writer) {
	p := d.Process
	if p.Modules == nil {
		return
	}
	fmt.Fprint(w, "\nLoaded modules:\n")
	main := uint64(0)
	if m := p.Modules.Main(); m != nil {
		main = m.Base
	}
	for i := range p.Modules.Len() {
		m := p.Modules.Sorted(i)
		version, mark, issue := m.Version, "", ""
		if version == "" {
			version = "???"
		}
		if main != 0 && m.Base == main {
			mark = "  (main)"
		}
		switch {
		case contains(d.Walker.Missing(), m):
			issue = "No"
		case contains(d.Walker.Corrupt(), m):
			issue = "Corrupt"
		}
		if issue != "" {
			issue = "  (WARNING: " + issue + " symbols, " + unwind.BaseName(m.DebugFile) + ", " + m.DebugID + ")"
		}
		fmt.Fprintf(w, "0x%08x - 0x%08x  %s  %s%s%s\n", m.Base, m.Base+m.Size-1, unwind.BaseName(m.CodeFile), version, mark, issue)
	}
}

// contains compares modules as the reference does: two of one debug file and id are the same.
func contains(list []*unwind.Module, m *unwind.Module) bool {
	for _, x := range list {
		if x.DebugFile == m.DebugFile && x.DebugID == m.DebugID {
			return true
		}
	}
	return false
}
