package rules

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/replay"
	"github.com/symlint/symlint/unwind"
)

// WalkPlace is where the record of a walk's finding stands.
type WalkPlace struct {
	// Path of the symbol file; that of the dump where no symbol file is to blame.
	Path string
	Line int // 1-based, 0 for none
	// Text is the record without its end, Offset where it begins in the file's text. Nil if it is not at hand.
	Text   []byte
	Offset int64
	// Section and Offset are the place in a binary.
	Section string
}

// RecordAt finds a line in the text of a symbol file.
func RecordAt(path string, data []byte, line int) WalkPlace {
	p := WalkPlace{Path: path, Line: line}
	rest := data
	for n := 1; n < line; n++ {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return p
		}
		rest = rest[i+1:]
	}
	if line < 1 || len(rest) == 0 {
		return p
	}
	p.Offset = int64(len(data) - len(rest))
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	p.Text = bytes.TrimSuffix(rest, []byte("\r"))
	return p
}

// put fills in the location of a finding.
func (p *WalkPlace) put(f *lint.Finding) {
	f.File = p.Path
	if p.Section != "" {
		f.Section, f.Offset = p.Section, p.Offset
		return
	}
	if p.Line == 0 {
		return
	}
	f.Line = p.Line
	if p.Text == nil {
		return
	}
	f.Column, f.EndColumn = 1, len(p.Text)+1
	f.Offset, f.Length = p.Offset, int64(len(p.Text))
	f.Snippet, f.SnippetColumn = bytes.Clone(p.Text[:min(len(p.Text), lint.MaxSnippet)]), 1
}

// WalkIssue is the finding for what a walk showed without a reference.
func WalkIssue(x *replay.Issue, at WalkPlace) lint.Finding {
	rule := walkRule(x.Rule)
	f := lint.Finding{Rule: rule, Severity: rule.Severity, Effects: rule.Effects, Message: x.Message, Function: x.Function, Count: 1}
	if x.Module != nil {
		f.HasAddress, f.Address = x.Address != 0, x.Address
		f.Subject = unwind.BaseName(x.Module.CodeFile)
		if x.Function != "" {
			f.Subject += "!" + x.Function
		}
	}
	at.put(&f)
	return f
}

func walkRule(name string) *lint.Rule {
	for _, r := range walkFamily.Rules {
		if r.Name == name {
			return r
		}
	}
	panic("no walk rule " + name) // a test of replay's names rules it out
}

// WalkDivergence is the finding for a thread that differs from its reference, which is neither matched nor excused.
func WalkDivergence(r *replay.ThreadResult, at WalkPlace) lint.Finding {
	f := lint.Finding{Rule: walkDiverges, Severity: walkDiverges.Severity, Effects: walkDiverges.Effects, Count: 1}
	d := r.Alignment.First
	thread := r.Thread
	if thread < 0 {
		thread = r.Reference.Index
	}
	f.Message = fmt.Sprintf("thread %d, frame %d differs in %s: expected %s, got %s", thread, d.Frame, fieldText(d.Field), d.Expected, d.Got)
	if r.Thread < 0 {
		f.Message = fmt.Sprintf("thread %d of the reference is none of the dump's; it begins with %s", thread, d.Expected)
	}
	f.Subject = fmt.Sprintf("thread %d", thread)
	if b := r.Blame; b != nil {
		text := b.Describe(r.Stack)
		f.Detail = append(f.Detail, strings.ToUpper(text[:1])+text[1:])
		culprit := b.Frame - 1
		if b.Symbol != nil {
			culprit, f.Effects = b.Frame, misnamedEffects
		}
		if culprit >= 0 && culprit < len(r.Stack.Frames) {
			x := &r.Stack.Frames[culprit]
			f.Function = x.Function
			if x.Module != nil {
				f.HasAddress, f.Address = true, x.Instruction-x.Module.Base
				f.Subject = unwind.BaseName(x.Module.CodeFile) + "!" + x.Function
			}
		}
	}
	if m := r.Remedy; m != nil {
		f.Detail = append(f.Detail, RemedyText(m))
	}
	at.put(&f)
	return f
}

// misnamedEffects are those of symbols that say something else of a frame than the reference.
var misnamedEffects = lint.Same(lint.Degraded, "shows this name and source line for the frame")

// fieldText says what differs.
func fieldText(field string) string {
	switch field {
	case "end":
		return "where the stack ends"
	case "pc":
		return "its address"
	case "sp":
		return "its stack pointer"
	}
	return field
}

// RemedyText tells a remedy and how it was proven.
func RemedyText(m *replay.Remedy) string {
	text := fmt.Sprintf("Proven by replay: %s: %d of %d frames match", m.Text, m.Frames, m.Frames)
	if m.Rule != "" {
		text += " [" + m.Rule + "]"
	}
	return text
}
