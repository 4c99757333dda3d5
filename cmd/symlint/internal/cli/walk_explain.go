package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/symstore"
)

// explainer tells behind each frame of a text how it was found. All its lines begin with mark, which no line of the
// reference does.
type explainer struct {
	walker *unwind.Walker
	places recordPlaces
	paint  paint
	w      io.Writer
}

const mark = "    #"

// recordPlaces knows the files that unwind records come from.
type recordPlaces struct {
	symbols  *symbolSearch
	binaries *symstore.Binaries
}

// file is the path of the file that a record stands in. Records that were read from the dump's memory have the module's
// name in brackets.
func (p recordPlaces) file(r *unwind.Record) string {
	if r.Module == nil {
		return "[unknown]"
	}
	if r.Line > 0 {
		if path := p.symbols.SymbolFile(r.Module); path != "" {
			return path
		}
	} else if p.binaries != nil {
		if _, path, err := p.binaries.Binary(r.Module.CodeFile, r.Module.BuildID); err == nil {
			return path
		}
	}
	return "[" + unwind.BaseName(r.Module.CodeFile) + "]"
}

// place is where a record stands: FILE:LINE in text, FILE:SECTION+OFFSET in binaries.
func (p recordPlaces) place(r *unwind.Record) string {
	if r.Line > 0 {
		return fmt.Sprintf("%s:%d", p.file(r), r.Line)
	}
	return fmt.Sprintf("%s:%s+%#x", p.file(r), r.Kind, r.Offset)
}

func (k *walking) explainer(w *unwind.Walker) *explainer {
	return &explainer{walker: w, places: recordPlaces{k.symbols, k.binaries}, paint: paint(k.app.colored())}
}

// paint colours a part of a line, if it is true.
type paint bool

func (p paint) sgr(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) found(text string) string  { return p.sgr("32;1", text) }
func (p paint) failed(text string) string { return p.sgr("33", text) }
func (p paint) end(text string) string    { return p.sgr("35;1", text) }
func (p paint) fault(text string) string  { return p.sgr("31", text) }
func (p paint) place(text string) string  { return p.sgr("1", text) }
func (p paint) faint(text string) string  { return p.sgr("2", text) }

// line writes one line. Parts of it that come from files are made printable by the caller.
func (e *explainer) line(indent int, text string) {
	fmt.Fprintf(e.w, "%s%*s%s\n", e.paint.faint(mark), indent, "", text)
}

// Indents of a head, and of what belongs to it.
const (
	headIndent = 1
	restIndent = 3
)

// frame tells how frame i of a stack was found.
func (e *explainer) frame(w io.Writer, s *unwind.Stack, i int) {
	e.w = w
	if i == 0 {
		e.line(headIndent, e.paint.found("by "+unwind.ByContext.String())+": the registers that the dump has of the thread")
		return
	}
	x := e.walker.Explain(s, i)
	if a := x.Found(); a != nil {
		e.attempt(a)
	} else {
		f := &s.Frames[i]
		e.line(headIndent, e.paint.found("by "+f.Technique.String()))
	}
	e.failures(x)
}

// failures tells of the techniques that found nothing. Those that did not apply have nothing to tell.
func (e *explainer) failures(x *unwind.Explanation) {
	for i := range x.Attempts {
		if a := &x.Attempts[i]; !a.Found && a.Why != "" {
			e.attempt(a)
		}
	}
}

// end tells why there are no more frames.
func (e *explainer) end(w io.Writer, s *unwind.Stack) {
	e.w = w
	e.line(headIndent, e.paint.end("end")+": "+s.End.String())
	if len(s.Frames) == 0 {
		return
	}
	e.failures(e.walker.Explain(s, len(s.Frames)))
}

// attempt tells of one technique: what it used, and what came of it.
func (e *explainer) attempt(a *unwind.Attempt) {
	r := a.Record
	switch head := e.paint.failed("not " + a.Technique.String()); {
	case !a.Found:
		text := head + ": " + printable(a.Why)
		if len(a.Rules) == 0 && len(a.Loads) > 0 {
			text += "; " + reads(a.Loads)
		}
		e.line(headIndent, text)
		if r != nil && len(a.Rules) > 0 {
			e.line(restIndent, e.record(r))
		}
	case r != nil:
		e.line(headIndent, e.paint.found("by "+a.Technique.String())+": "+e.record(r))
	default:
		e.line(headIndent, e.paint.found("by "+a.Technique.String())+": "+reads(a.Loads))
		return
	}
	if program, ok := sharedProgram(a.Rules); ok {
		e.line(restIndent, "program "+printable(program))
	}
	e.rules(a.Rules)
	if len(a.Rules) == 0 && len(a.Loads) > 0 && a.Found {
		e.line(restIndent, reads(a.Loads))
	}
}

// record names a record and where it stands.
func (e *explainer) record(r *unwind.Record) string {
	return fmt.Sprintf("%s: %s", e.paint.place(printable(e.places.place(r))), recordText(r))
}

// recordText tells what a record covers and what was looked up in it; addresses are relative to the module.
func recordText(r *unwind.Record) string {
	kind := r.Kind
	if r.Line == 0 {
		kind = "FDE" // the section is part of the place
	}
	return printable(fmt.Sprintf("%s %#x..%#x at %#x", kind, r.Address, r.Address+r.Size, r.Lookup))
}

// sharedProgram is the expression that all rules are results of: those of STACK WIN are variables of one program.
func sharedProgram(rules []unwind.RuleValue) (string, bool) {
	for i := range rules {
		if rules[i].Expr != rules[0].Expr {
			return "", false
		}
	}
	if len(rules) < 2 {
		return "", false
	}
	return rules[0].Expr, true
}

// rules writes a table: register, expression, value, line, words read.
func (e *explainer) rules(rules []unwind.RuleValue) {
	_, shared := sharedProgram(rules)
	registers, exprs, values := 0, 0, 0
	lines := false
	text := func(r *unwind.RuleValue) string {
		if shared {
			return ""
		}
		return printable(r.Expr)
	}
	for i := range rules {
		r := &rules[i]
		registers = max(registers, utf8.RuneCountInString(printable(r.Register)))
		exprs = max(exprs, utf8.RuneCountInString(text(r)))
		values = max(values, len(valueText(r)))
		lines = lines || r.Line > 0 && r.Line != rules[0].Line
	}
	for i := range rules {
		r := &rules[i]
		row := fmt.Sprintf("%-*s", registers, printable(r.Register))
		if !shared {
			row += fmt.Sprintf("  %-*s", exprs, text(r))
		}
		if r.Fault != "" {
			row += "  " + e.paint.fault("no value: "+printable(r.Fault))
		} else {
			row += fmt.Sprintf("  = %-*s", values, valueText(r))
		}
		if lines {
			row += fmt.Sprintf("  line %d", r.Line)
		}
		if at := ruleReads(r); at != "" {
			row += "  " + at
		}
		e.line(restIndent, strings.TrimRight(row, " "))
	}
}

func valueText(r *unwind.RuleValue) string {
	if r.Fault != "" {
		return ""
	}
	return hex(r.Value)
}

// ruleReads tells which words a rule read.
func ruleReads(r *unwind.RuleValue) string {
	if len(r.Loads) == 1 && r.Loads[0].OK && r.Fault == "" && r.Loads[0].Value == r.Value {
		return "at " + hex(r.Loads[0].Addr)
	}
	if len(r.Loads) == 0 {
		return ""
	}
	return reads(r.Loads)
}

// maxReads is how many words of a list are shown.
const maxReads = 8

// reads lists the words that were read: all of a few, of a long scan how many and the last, which decided.
func reads(loads []unwind.Load) string {
	if len(loads) == 0 {
		return "no memory was read"
	}
	var b strings.Builder
	if n := len(loads); n > maxReads {
		fmt.Fprintf(&b, "read %d words from %#x on, the last ", n, loads[0].Addr)
		loads = loads[n-1:]
	} else {
		b.WriteString("read ")
	}
	for i, l := range loads {
		if i > 0 {
			b.WriteString(", ")
		}
		if l.OK {
			fmt.Fprintf(&b, "[%#x] = %#x", l.Addr, l.Value)
		} else {
			fmt.Fprintf(&b, "[%#x] is not in the dump", l.Addr)
		}
	}
	return b.String()
}
