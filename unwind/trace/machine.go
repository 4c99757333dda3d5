package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/symlint/symlint/unwind"
)

// plain removes what separates the fields and lines of the machine format.
var plain = strings.NewReplacer("|", "", "\n", "").Replace

// Machine writes what minidump_stackwalk -m prints.
func Machine(out io.Writer, d *Walked) error {
	w := bufio.NewWriter(out)
	p := d.Process
	s := &p.System
	fmt.Fprintf(w, "OS|%s|%s\n", plain(s.OS), plain(s.OSVersion))
	fmt.Fprintf(w, "CPU|%s|%s|%d\n", plain(s.CPU), plain(s.CPUInfo), s.CPUCount)
	g := s.GPU
	if g == nil {
		g = &unwind.GPU{}
	}
	fmt.Fprintf(w, "GPU|%s|%s|%s\n", plain(g.Version), plain(g.Vendor), plain(g.Renderer))
	fmt.Fprint(w, "Crash|")
	if c := p.Crash; c != nil {
		fmt.Fprintf(w, "%s|0x%x|", plain(c.Reason), c.Address)
	} else if p.Assertion != "" {
		fmt.Fprintf(w, "%s||", plain(p.Assertion))
	} else {
		fmt.Fprint(w, "No crash||")
	}
	if p.Requesting >= 0 {
		fmt.Fprint(w, p.Requesting)
	}
	fmt.Fprintln(w)
	d.machineModules(w)
	fmt.Fprintln(w)
	for i := range d.order {
		n := 0
		for e := range func(yield func(entry) bool) { entries(d.Stacks[i], yield) } {
			e.machine(w, i, n)
			n++
		}
	}
	return w.Flush()
}

func (d *Walked) machineModules(w io.Writer) {
	p := d.Process
	main := uint64(0)
	if m := p.Modules.Main(); m != nil {
		main = m.Base
	}
	for i := range p.Modules.Len() {
		m := p.Modules.Sorted(i)
		mark := 0
		if main != 0 && m.Base == main {
			mark = 1
		}
		fmt.Fprintf(w, "Module|%s|%s|%s|%s|0x%08x|0x%08x|%d\n", plain(unwind.BaseName(m.CodeFile)), plain(m.Version),
			plain(unwind.BaseName(m.DebugFile)), plain(m.DebugID), m.Base, m.Base+m.Size-1, mark)
	}
}

func (e *entry) machine(w io.Writer, thread, number int) {
	fmt.Fprintf(w, "%d|%d|", thread, number)
	switch {
	case e.module == nil:
		fmt.Fprintf(w, "||||0x%x\n", e.address)
		return
	case e.function == "":
		fmt.Fprintf(w, "%s||||0x%x\n", plain(unwind.BaseName(e.module.CodeFile)), e.address-e.module.Base)
	case e.file == "":
		fmt.Fprintf(w, "%s|%s|||0x%x\n", plain(unwind.BaseName(e.module.CodeFile)), plain(e.function), e.address-e.functionBase)
	default:
		fmt.Fprintf(w, "%s|%s|%s|%d|0x%x\n", plain(unwind.BaseName(e.module.CodeFile)), plain(e.function), plain(e.file), e.line,
			e.address-e.lineBase)
	}
}
