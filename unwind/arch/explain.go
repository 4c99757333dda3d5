package arch

import (
	"fmt"
	"strconv"
	"strings"
)

// Reason is why a name is no register that Google's walker knows.
type Reason uint8

const (
	Known        Reason = iota // it is one
	WrongPrefix                // a '$' too many or too few
	LeadingDot                 // ".sp"
	WrongCase                  // "$RSP"
	Alias                      // another name of a register: fp for x29
	Unnamed                    // unnamed_registerN, which dump_syms writes for DWARF numbers it has no name for
	NotUnwound                 // a register dump_syms has a name for, but the walker has not: $st0, $xmm6
	MisspelledT0               // mips: $t0, which the walker's table spells $to
	OtherCPU                   // a register of other CPUs
	PseudoName                 // .cfa, .ra or .undef
	NoCFI                      // the CPU has no register names at all
	Unknown                    // none of these
)

var reasonNames = [...]string{
	"known", "wrong prefix", "leading dot", "wrong case", "alias", "unnamed register", "not unwound",
	"$t0 against $to", "register of another CPU", "pseudo register", "CPU without CFI", "unknown",
}

// String names the reason.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "invalid"
}

// Explanation says why a name is not known and what may be meant.
type Explanation struct {
	Reason Reason
	// Suggest is the right spelling, or for Unknown the nearest name; "" where there is none.
	Suggest string
	// CPUs are those the name belongs to, for OtherCPU.
	CPUs []*CPU
	// Number is the DWARF number of an Unnamed register.
	Number int
	// Text is the explanation in words, without a full stop.
	Text string
}

// Explain tells why a name in a CFI rule is not known on this CPU. It is meant for messages and allocates.
func (c *CPU) Explain(name string) Explanation {
	switch name {
	case ".cfa", ".ra", ".undef":
		return Explanation{Reason: PseudoName, Text: name + " is no register"}
	}
	if r, ok := c.Register(name); ok {
		return c.explainOwn(r)
	}
	if digits, ok := strings.CutPrefix(name, "unnamed_register"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 {
			return Explanation{Reason: Unnamed, Number: n, Text: fmt.Sprintf("%s stands for DWARF register %d, which dump_syms has no name for on %s", name, n, c.Name)}
		}
	}
	if !c.HasCFI() {
		return Explanation{Reason: NoCFI, Text: fmt.Sprintf("Breakpad has no CFI register names for %s", c.Name)}
	}
	if e, ok := c.explainSpelling(name); ok {
		return e
	}
	if others := owners(name); len(others) > 0 {
		return Explanation{Reason: OtherCPU, CPUs: others, Text: fmt.Sprintf("%s is a register of %s, not of %s", name, list(others), c.Name)}
	}
	e := Explanation{Reason: Unknown, Suggest: c.nearest(name), Text: fmt.Sprintf("%s is no register of %s", name, c.Name)}
	if e.Suggest != "" {
		e.Text += "; did you mean " + e.Suggest + "?"
	}
	return e
}

func (c *CPU) explainOwn(r Reg) Explanation {
	switch {
	case r.CFI && r.Valid:
		return Explanation{Reason: Known, Suggest: r.Name, Text: r.Name + " is known"}
	case r.Name == "$t0":
		return Explanation{Reason: MisspelledT0, Suggest: "$to", Text: "Breakpad's walker spells $t0 as $to, so rules with $t0 fail"}
	}
	return Explanation{Reason: NotUnwound, Text: fmt.Sprintf("%s is a register of %s that walkers do not recover", r.Name, c.Name)}
}

// explainSpelling finds the register meant by a name with another prefix, in another case, or by an alias.
func (c *CPU) explainSpelling(name string) (Explanation, bool) {
	i, ok := c.folded[fold(name)]
	if !ok {
		return Explanation{}, false
	}
	right := c.Regs[i].Name
	// A number is weak evidence for an alias: x29 on riscv is more likely arm64's than another name of t4.
	if fold(name) != fold(right) && strings.ContainsAny(name, "0123456789") && len(owners(name)) > 0 {
		return Explanation{}, false
	}
	e := Explanation{Suggest: right}
	switch {
	case name[0] == '.':
		e.Reason = LeadingDot
		e.Text = fmt.Sprintf("%s has a leading dot; the register is %s", name, right)
	case strings.EqualFold(name, right):
		e.Reason = WrongCase
		e.Text = fmt.Sprintf("%s must be written %s", name, right)
	case fold(name) != fold(right):
		e.Reason = Alias
		e.Text = fmt.Sprintf("%s is another name of %s, which Breakpad does not know", name, right)
	case c.Dollar:
		e.Reason = WrongPrefix
		e.Text = fmt.Sprintf("registers of %s begin with $: %s", c.Name, right)
	default:
		e.Reason = WrongPrefix
		e.Text = fmt.Sprintf("registers of %s have no $: %s", c.Name, right)
	}
	return e, true
}

// owners returns the CPUs that have a register of exactly this name.
func owners(name string) []*CPU {
	var out []*CPU
	for _, c := range cpus {
		if i, ok := c.byName[name]; ok && (c.Regs[i].CFI || c.Regs[i].DWARF >= 0) {
			out = append(out, c)
		}
	}
	return out
}

func list(cpus []*CPU) string {
	names := make([]string, len(cpus))
	for i, c := range cpus {
		names[i] = c.Name
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}

// nearest returns the known register that differs from name by at most two edits, or a third of its length.
func (c *CPU) nearest(name string) string {
	const longest = 24 // longer names are nobody's slip
	if len(name) > longest {
		return ""
	}
	best, limit := "", min(2, max(1, len(name)/3))+1
	for i := range c.Regs {
		if r := &c.Regs[i]; r.CFI && r.Valid {
			if d := distance(name, r.Name); d < limit {
				best, limit = r.Name, d
			}
		}
	}
	return best
}

// distance is the number of edits between two names: a byte put in, left out, replaced, or exchanged with the next.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
