package lint

import (
	"fmt"
	"strings"
)

// Consumer is a program family that reads symbol files or SFrame sections.
type Consumer uint8

// The consumers a finding speaks of.
const (
	Breakpad     Consumer = iota // Google's minidump_stackwalk and its library
	RustMinidump                 // rust-minidump's breakpad-symbols and minidump-stackwalk
	Symbolic                     // getsentry/symbolic, behind Sentry and sentry-cli
	Binutils                     // libsframe in readelf and objdump of GNU binutils
	LD                           // GNU ld
	Linux                        // the kernel's unwinder of user space
	Glibc                        // backtrace of the GNU C library
	LLVM                         // llvm-readobj
	ConsumerCount
)

var consumerNames = [ConsumerCount]string{"breakpad", "rust-minidump", "symbolic", "binutils", "ld", "linux", "glibc", "llvm"}

// String returns the name used on the command line and in output.
func (c Consumer) String() string { return consumerNames[c] }

// ParseConsumer reads a consumer's name.
func ParseConsumer(name string) (Consumer, error) {
	for i, n := range consumerNames {
		if n == name {
			return Consumer(i), nil
		}
	}
	return 0, fmt.Errorf("unknown consumer %q (want %s)", name, strings.Join(consumerNames[:], ", "))
}

// ConsumerSet is a set of consumers; the zero value is empty.
type ConsumerSet uint16

// Sets of consumers.
const (
	AllConsumers    ConsumerSet = 1<<ConsumerCount - 1
	SymbolConsumers ConsumerSet = 1<<Breakpad | 1<<RustMinidump | 1<<Symbolic // they read symbol files
	SFrameConsumers             = AllConsumers &^ SymbolConsumers             // they read SFrame sections
)

// Add returns the set with c in it.
func (s ConsumerSet) Add(c Consumer) ConsumerSet { return s | 1<<c }

// Has reports whether c is in the set.
func (s ConsumerSet) Has(c Consumer) bool { return s>>c&1 != 0 }

// Impact grades what a defect does to a consumer.
type Impact uint8

// The impacts, from harmless to fatal.
const (
	Unaffected Impact = iota // reads it as meant
	Degraded                 // repairs, guesses or shows something odd
	Loses                    // drops or misreads the record and perhaps those that hang on it
	Rejects                  // refuses the whole file
	Crashes                  // the process dies
)

var impactNames = [...]string{"unaffected", "degraded", "loses", "rejects", "crashes"}

// String returns the name used in documentation and JSON.
func (i Impact) String() string { return impactNames[i] }

// Effect is what one consumer does with a defect.
type Effect struct {
	Impact Impact
	Text   string // a clause without subject: "ignores the record and falls back to frame pointers"
}

// Effects holds one effect per consumer.
type Effects [ConsumerCount]Effect

// Same returns effects in which every consumer of symbol files does the same.
func Same(i Impact, text string) Effects {
	return Effects{Breakpad: {i, text}, RustMinidump: {i, text}, Symbolic: {i, text}}
}

// Fine is the effect of a consumer that does not mind.
func Fine(text string) Effect { return Effect{Unaffected, text} }

// IsZero reports whether nothing is said of any consumer.
func (e Effects) IsZero() bool { return e == Effects{} }

// Affects reports whether a consumer of the set is affected. Effects in which nobody is (style) concern everyone.
func (e *Effects) Affects(set ConsumerSet) bool {
	anyone := false
	for c := Consumer(0); c < ConsumerCount; c++ {
		if e[c].Impact != Unaffected {
			anyone = true
			if set.Has(c) {
				return true
			}
		}
	}
	return !anyone
}

// Headline names the consumers of the set that crash on or reject the whole file, "" if there is none.
func (e *Effects) Headline(set ConsumerSet) string {
	var parts []string
	for _, want := range []struct {
		impact Impact
		verb   string
	}{{Crashes, "crashes"}, {Rejects, "rejects the file"}} {
		var who []string
		for c := Consumer(0); c < ConsumerCount; c++ {
			if set.Has(c) && e[c].Impact == want.impact {
				who = append(who, c.String())
			}
		}
		switch len(who) {
		case 0:
			continue
		case 1:
			parts = append(parts, who[0]+" "+want.verb)
		default:
			verb := map[string]string{"crashes": "crash", "rejects the file": "reject the file"}[want.verb]
			parts = append(parts, strings.Join(who[:len(who)-1], ", ")+" and "+who[len(who)-1]+" "+verb)
		}
	}
	return strings.Join(parts, "; ")
}

// String joins the effects of the set in one line, consumers that do the same mentioned as "same".
func (e *Effects) String(set ConsumerSet) string {
	var b strings.Builder
	prev := ""
	for c := Consumer(0); c < ConsumerCount; c++ {
		text := e[c].Text
		if !set.Has(c) || text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.String())
		b.WriteString(": ")
		if text == prev {
			b.WriteString("same")
		} else {
			b.WriteString(text)
			prev = text
		}
	}
	return b.String()
}
