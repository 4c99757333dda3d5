package report

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
)

// sarifReporter writes one SARIF 2.1.0 run. Its results stream; what is said of files and sections, which is small,
// waits until they are over.
type sarifReporter struct {
	Options
	out       output
	enc       *encoder
	ruleIndex map[*lint.Rule]int
	ordinals  ordinals

	any           bool
	artifacts     []sarifArtifact
	sections      []sarifAddress
	notifications []sarifNotification

	// Of the current file.
	module       string
	fileSections map[string]int // section to index in sections
}

func newSARIF(o Options, out output) *sarifReporter {
	s := &sarifReporter{Options: o, out: out, enc: newEncoder(), ruleIndex: make(map[*lint.Rule]int, len(o.Enabled))}
	for i, r := range o.Enabled {
		s.ruleIndex[r] = i
	}
	return s
}

// member writes one member of the run; sep goes before it.
func (s *sarifReporter) member(sep, name string, v any) error {
	s.out.put(sep, "\"", name, "\": ")
	return s.enc.encode(s.out, v)
}

func (s *sarifReporter) Begin() error {
	s.out.put("{\"$schema\": \"", sarifSchema, "\",\n\"version\": \"2.1.0\",\n\"runs\": [{\n")
	err := s.member("", "tool", sarifTool(s.Enabled, s.Version))
	for _, m := range []struct {
		name  string
		value any
	}{
		// Bytes are not among the units SARIF allows (3.14.17).
		{"columnKind", "unicodeCodePoints"},
		{"newlineSequences", []string{"\r\n", "\n", "\r"}},
		{"originalUriBaseIds", map[string]any{srcRoot: map[string]any{
			"description": sarifMessage{Text: "The directory symlint was run in or told to relate paths to."}}}},
		// Several uploads for one commit must not replace each other.
		{"automationDetails", map[string]string{"id": "symlint/" + cmp.Or(s.Command, "check") + "/"}},
	} {
		if err == nil {
			err = s.member(",\n", m.name, m.value)
		}
	}
	s.out.put(",\n\"results\": [")
	if err != nil {
		return err
	}
	return s.out.err()
}

func (s *sarifReporter) File(res *lint.FileResult) error {
	s.ordinals.reset()
	s.fileSections = nil
	s.module = moduleName(res)
	s.artifacts = append(s.artifacts, sarifArtifact{
		Location: s.artifact(res.Path),
		Roles:    []string{"analysisTarget"},
	})
	for f, err := range res.Findings() {
		if err != nil {
			return fmt.Errorf("findings of %s: %w", res.Path, err)
		}
		if s.any {
			s.out.put(",")
		}
		s.any = true
		s.out.put("\n")
		if err := s.enc.encode(s.out, s.result(res, f)); err != nil {
			return err
		}
	}
	if res.Err != nil {
		s.notifications = append(s.notifications, sarifNotification{
			Level:   "error",
			Message: sarifMessage{Text: printable(res.Err.Error())},
			Locations: []sarifLocation{{PhysicalLocation: &sarifPhysical{
				ArtifactLocation: s.artifact(res.Path)}}},
		})
	}
	return s.out.err()
}

func (s *sarifReporter) End(*lint.Summary) error {
	s.out.put("\n]")
	var err error
	if len(s.artifacts) > 0 {
		err = s.member(",\n", "artifacts", s.artifacts)
	}
	if len(s.sections) > 0 && err == nil {
		err = s.member(",\n", "addresses", s.sections)
	}
	if err == nil {
		// An error among the notifications means by definition that the run failed (3.20.21).
		err = s.member(",\n", "invocations", []sarifInvocation{{
			ExecutionSuccessful: len(s.notifications) == 0,
			Notifications:       s.notifications,
		}})
	}
	s.out.put("\n}]}\n")
	if err != nil {
		return err
	}
	return s.out.Flush()
}

// moduleName is what a module is known by across builds: its name, or the file's where it has none.
func moduleName(res *lint.FileResult) string {
	if res.Module.Name != "" {
		return res.Module.Name
	}
	return path.Base(filepath.ToSlash(res.Path))
}

func (s *sarifReporter) artifact(file string) *sarifArtifactLocation {
	uri, underRoot := artifactURI(s.Root, file)
	a := &sarifArtifactLocation{URI: uri}
	if underRoot {
		a.URIBaseID = srcRoot
	}
	return a
}

func (s *sarifReporter) result(res *lint.FileResult, f *lint.Finding) *sarifResult {
	file := fileOf(res, f)
	r := &sarifResult{
		RuleID:  f.Rule.Name,
		Level:   sarifLevel(f.Severity),
		Kind:    "fail",
		Message: sarifMessage{Text: s.message(f)},
		Fingerprints: map[string]string{
			fingerprintName: fingerprint(f.Rule.Name, s.module, f.Key(), s.ordinals.next(f.Rule.Name, f.Key()))},
		Locations:  []sarifLocation{s.location(res, file, f)},
		Properties: s.properties(f),
	}
	if i, ok := s.ruleIndex[f.Rule]; ok {
		r.RuleIndex = &i
	}
	for i := range f.Related {
		r.Related = append(r.Related, s.related(file, i+1, &f.Related[i]))
	}
	if f.Fix != nil && len(f.Fix.Edits) > 0 {
		r.Fixes = []sarifFix{s.fix(file, f.Fix)}
	}
	return r
}

// message is what viewers show: the first sentence stands alone, and related places are linked, which alone makes
// GitHub and VS Code show them.
func (s *sarifReporter) message(f *lint.Finding) string {
	var b strings.Builder
	b.WriteString(noLink(f.Headline(s.Consumers)) + alike(f) + ".")
	for _, d := range f.Detail {
		b.WriteString("\n" + noLink(strings.TrimSpace(d)))
	}
	if e := f.Effects.String(s.Consumers); e != "" {
		b.WriteString("\n" + noLink(e))
	}
	for i := range f.Related {
		if i == 0 {
			b.WriteString("\nSee ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString("[" + linkText(f.Related[i].Message) + "](" + strconv.Itoa(i+1) + ")")
	}
	return b.String()
}

// noLink makes text printable and keeps it from being read as an embedded link (3.11.6).
func noLink(text string) string { return strings.ReplaceAll(printable(text), "](", `\](`) }

// linkText escapes what would end a link's text early.
func linkText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(printable(text))
}

// location is the place of a finding: a region of text, or an address in a section of a binary, which must not
// have lines (3.30).
func (s *sarifReporter) location(res *lint.FileResult, file string, f *lint.Finding) sarifLocation {
	p := &sarifPhysical{ArtifactLocation: s.artifact(file)}
	loc := sarifLocation{PhysicalLocation: p}
	switch {
	case f.Section != "":
		p.Address = s.address(file, &f.Location)
		if res.Kind == "sframe" { // the section is the file
			p.Region = &sarifRegion{ByteOffset: &f.Offset, ByteLength: &f.Length}
		}
	case f.Line > 0:
		p.Region = textRegion(f)
		if len(f.Snippet) > 0 && len(f.Snippet) < lint.MaxSnippet {
			p.Context = &sarifRegion{StartLine: f.Line, Snippet: content(f.Snippet)}
		}
	}
	if f.Function != "" {
		loc.Logical = []sarifLogical{{Name: printable(f.Function), Kind: "function"}}
	}
	return loc
}

// textRegion is the culprit. Lines and bytes must denote the same place (3.30.4), so bytes are only told when the
// columns are exact.
func textRegion(f *lint.Finding) *sarifRegion {
	r := &sarifRegion{StartLine: f.Line}
	if f.Column == 0 {
		return r
	}
	var exact bool
	r.StartColumn, r.EndColumn, exact = codePoints(f)
	r.EndLine = f.Line
	if exact {
		r.ByteOffset, r.ByteLength = &f.Offset, &f.Length
		from := f.SnippetColumn - 1
		if culprit := f.Snippet[from : from+f.EndColumn-f.Column]; len(culprit) > 0 {
			r.Snippet = content(culprit)
		}
	}
	return r
}

// address is an offset in a section, which is entered in the run's addresses.
func (s *sarifReporter) address(file string, l *lint.Location) *sarifAddress {
	name := printable(l.Section)
	key := file + "\x00" + l.Section
	i, ok := s.fileSections[key]
	if !ok {
		if s.fileSections == nil {
			s.fileSections = make(map[string]int)
		}
		i = len(s.sections)
		s.fileSections[key] = i
		s.sections = append(s.sections, sarifAddress{
			Kind: "section", Name: name, FullName: printable(file) + "(" + name + ")"})
	}
	return &sarifAddress{
		Kind: "data", Name: fmt.Sprintf("%s+0x%x", name, l.Offset),
		Offset: &l.Offset, Length: l.Length, Parent: &i,
	}
}

// related is a place that belongs to a finding. Its record is not at hand, so columns cannot be converted; the
// region is the whole line.
func (s *sarifReporter) related(file string, id int, r *lint.Related) sarifLocation {
	if r.File != "" {
		file = r.File
	}
	p := &sarifPhysical{ArtifactLocation: s.artifact(file)}
	if r.Section != "" {
		p.Address = s.address(file, &r.Location)
	} else if r.Line > 0 {
		p.Region = &sarifRegion{StartLine: r.Line}
	}
	return sarifLocation{ID: id, PhysicalLocation: p, Message: &sarifMessage{Text: printable(r.Message)}}
}

func (s *sarifReporter) fix(file string, f *lint.Fix) sarifFix {
	change := sarifChange{ArtifactLocation: s.artifact(file)}
	for i := range f.Edits {
		e := &f.Edits[i]
		r := sarifReplacement{Deleted: sarifRegion{ByteOffset: &e.Offset, ByteLength: &e.Length}}
		if e.Text != "" {
			r.Inserted = content([]byte(e.Text))
		}
		change.Replacements = append(change.Replacements, r)
	}
	return sarifFix{Description: sarifMessage{Text: printable(f.Description)}, Changes: []sarifChange{change}}
}

// properties holds what SARIF has no place for.
func (s *sarifReporter) properties(f *lint.Finding) map[string]any {
	m := map[string]any{"records": max(f.Count, 1)}
	if f.HasAddress {
		m["address"] = hex(f.Address)
	}
	if k := f.Key(); k != "" {
		m["subject"] = printable(k)
	}
	if e := effectsMap(&f.Effects, s.Consumers); len(e) > 0 {
		m["consumers"] = e
	}
	if f.Fix != nil {
		m["fixIsSafe"] = f.Fix.Safe
	}
	return m
}

// sarifLevel is the level of a severity.
func sarifLevel(v lint.Severity) string {
	switch v {
	case lint.Error:
		return "error"
	case lint.Warning:
		return "warning"
	}
	return "note"
}
