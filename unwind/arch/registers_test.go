package arch

import "testing"

func TestSlots(t *testing.T) {
	for _, c := range All() {
		if c.Slot.PC < 0 || c.Slot.SP < 0 {
			t.Errorf("%s: no slot for the program counter or the stack pointer", c)
		}
		for i, name := range c.Slots {
			if c.SlotOf(name) != i {
				t.Errorf("%s: slot of %s is %d, want %d", c, name, c.SlotOf(name), i)
			}
		}
		// Where dump_syms has a name for a DWARF number, the slot of both is the same.
		for n := range 130 {
			name, ok := c.DWARF(n)
			slot := c.SlotOfDWARF(uint64(n))
			if !ok || slot < 0 || name == "pc" {
				continue
			}
			if c.SlotOf(name) != slot {
				t.Errorf("%s: DWARF %d is %s in slot %d, but slot %d by number", c, n, name, c.SlotOf(name), slot)
			}
		}
		for _, r := range c.Regs {
			if r.CFI && r.Valid && c.SlotOf(r.Name) < 0 {
				t.Errorf("%s: %s has no slot", c, r.Name)
			}
		}
	}
}

func TestRegisters(t *testing.T) {
	c, _ := Lookup("x86")
	r := Registers{CPU: c}
	r.Set(c.Slot.SP, 1<<32|5)
	if v, ok := r.Get(c.Slot.SP); !ok || v != 5 {
		t.Errorf("got %#x, %t: want a value of 32 bits", v, ok)
	}
	r.Set(-1, 3)
	if _, ok := r.Get(-1); ok || r.All() {
		t.Error("slot -1 holds a value, or all do")
	}
	r.Drop(c.Slot.SP)
	if r.Has(c.Slot.SP) {
		t.Error("dropped, but still there")
	}
	r.SetAll()
	if !r.All() {
		t.Error("not all valid after SetAll")
	}
}
