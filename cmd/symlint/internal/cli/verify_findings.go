package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/replay"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/rules"
	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/symfile"
	"github.com/symlint/symlint/unwind/symstore"
)

// add takes a finding, with the severity that is configured, unless it is not wanted.
func (x *verifying) add(f lint.Finding) {
	if v := x.settings.Severity(x.registry, f.Rule); v != lint.Off {
		f.Severity = v
		x.Findings = append(x.Findings, f)
	}
}

// issues makes findings of what a walk showed by itself.
func (x *verifying) issues(list []replay.Issue) {
	for i := range list {
		y := &list[i]
		at := rules.WalkPlace{Path: x.Path}
		if path := x.symbols.SymbolFile(y.Module); path != "" {
			at = x.lints.place(path, y.Line)
		} else if y.Line > 0 && y.Module == nil {
			at = x.lints.place(y.Path, y.Line)
		}
		f := rules.WalkIssue(y, at)
		x.step(&f, y)
		x.add(f)
	}
}

// step adds to the finding of an issue which techniques were tried at its frame, and what check says of the record.
func (x *verifying) step(f *lint.Finding, y *replay.Issue) {
	if y.Rule == "walk-module-mismatch" {
		return
	}
	s := x.walker.Walk(y.Thread)
	if y.Frame+1 > len(s.Frames) {
		return
	}
	attempts := x.walker.Explain(s, y.Frame+1).Attempts
	f.Detail = append(f.Detail, x.explain(attempts)...)
	for i := range attempts {
		if r := attempts[i].Record; r != nil && r.Module == y.Module && r.Kind != "FUNC" && len(r.Lines) > 0 {
			if path := x.symbols.SymbolFile(r.Module); path != "" {
				relate(f, path, x.lints.file(path).at(r.Lines, ""))
			}
			return
		}
	}
}

// otherBuilds finds symbol files that were named one by one and are for other builds of modules that have no symbols.
func (x *verifying) otherBuilds() []replay.Issue {
	var out []replay.Issue
	for _, m := range x.walker.Missing() {
		r := x.symbols.of(m)
		if r == nil || r.Status != symstore.OtherID {
			continue
		}
		for _, path := range x.Symbols {
			h, ok := header(path)
			if !ok || !strings.EqualFold(unwind.BaseName(h.Name), unwind.BaseName(m.DebugFile)) || strings.EqualFold(h.ID, m.DebugID) {
				continue
			}
			out = append(out, replay.Issue{
				Rule: "walk-module-mismatch", Path: path, Line: h.Line,
				Message: fmt.Sprintf("the file is not used: its MODULE record says id %s, the module %s of the dump has %s", h.ID, h.Name, m.DebugID),
			})
		}
	}
	return out
}

// header is the MODULE record of a symbol file; false for what is none, such as a directory.
func header(path string) (symfile.ModuleEntry, bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return symfile.ModuleEntry{}, false
	}
	sources := source.Find([]string{path}, source.Options{})
	if len(sources) != 1 {
		return symfile.ModuleEntry{}, false
	}
	in, err := sources[0].Open()
	if err != nil {
		return symfile.ModuleEntry{}, false
	}
	if in.Close != nil {
		defer in.Close()
	}
	h := symfile.FindModule(in.Data)
	h.ID, h.Name = strings.Clone(h.ID), strings.Clone(h.Name)
	return h, h.Line > 0
}
