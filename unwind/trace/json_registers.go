package trace

import (
	"sort"

	"github.com/symlint/symlint/unwind/arch"
)

// namedRegisters are registers by the names that rust-minidump has for them, sorted.
type namedRegisters struct {
	names  []string
	slots  []int
	digits int
}

func (r *namedRegisters) Len() int           { return len(r.names) }
func (r *namedRegisters) Less(i, k int) bool { return r.names[i] < r.names[k] }
func (r *namedRegisters) Swap(i, k int) {
	r.names[i], r.names[k] = r.names[k], r.names[i]
	r.slots[i], r.slots[k] = r.slots[k], r.slots[i]
}

// jsonRegisters are the registers of frame 0, by CPU: those of Google's text, but all of CPUs of which that text shows
// next to none.
var jsonRegisters = func() map[string]*namedRegisters {
	out := make(map[string]*namedRegisters)
	for name, s := range printed {
		r := &namedRegisters{digits: s.digits}
		for i, slot := range s.slots {
			label := s.labels[i]
			if label == "efl" {
				label = "eflags"
			}
			r.names, r.slots = append(r.names, label), append(r.slots, slot)
		}
		out[name] = r
	}
	for _, name := range [...]string{"ppc", "ppc64", "s390x"} {
		cpu, ok := arch.Lookup(name)
		if !ok {
			panic("trace: no CPU " + name)
		}
		r := &namedRegisters{digits: 2 * cpu.Word}
		for i := range cpu.Slots {
			r.names, r.slots = append(r.names, cpu.SlotName(i)), append(r.slots, i)
		}
		out[name] = r
	}
	for _, r := range out {
		sort.Sort(r)
	}
	return out
}()
