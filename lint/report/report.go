// Package report writes findings: as text for people, and as JSON, JSON Lines, SARIF, GitHub workflow commands and
// JUnit XML for programs. Every format streams: a file's findings are read once and written as they come, so that
// memory does not grow with their number.
package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
)

// Reporter writes the results of a run. Begin is called first, File once per input in the order of the output, End
// last. An error, typically of the writer, ends the report; what was written until then is incomplete.
type Reporter interface {
	Begin() error
	File(*lint.FileResult) error
	End(*lint.Summary) error
}

// Options configure a reporter.
type Options struct {
	Writer   io.Writer
	Registry *lint.Registry
	// Enabled are the rules in force, which SARIF and JUnit list. Nil: all of Registry.
	Enabled []*lint.Rule
	// Consumers are those whose effects are told.
	Consumers lint.ConsumerSet
	Version   string // of symlint
	// Command is that of the run, by which SARIF tells uploads for one commit apart. Empty: check.
	Command string
	// Root is the directory that the relative paths of SARIF and GitHub start from. Empty: the working directory.
	Root string

	// MaxPerRule bounds the findings that text shows per rule and file; 0 = all.
	MaxPerRule int
	Color      bool // text
	Quiet      bool // text: no summary line
	Stats      bool // text: tables of records, coverage and rules
}

// Formats are the names New knows.
var Formats = []string{"text", "json", "jsonl", "sarif", "github", "junit"}

// New returns the reporter of a format.
func New(format string, o Options) (Reporter, error) {
	if o.Enabled == nil {
		o.Enabled = o.Registry.Rules()
	}
	out := newOutput(o.Writer)
	switch format {
	case "text":
		return newText(o, out), nil
	case "json":
		return &jsonReporter{Options: o, diagnostics: newDiagnostics(o, out)}, nil
	case "jsonl":
		return &jsonlReporter{newDiagnostics(o, out)}, nil
	case "sarif":
		return newSARIF(o, out), nil
	case "github":
		return &githubReporter{Options: o, out: out}, nil
	case "junit":
		return newJUnit(o, out), nil
	}
	msg := fmt.Sprintf("unknown format %q (want %s)", format, strings.Join(Formats, ", "))
	if s := lint.Nearest(format, Formats); s != "" {
		msg += fmt.Sprintf("; did you mean %q?", s)
	}
	return nil, fmt.Errorf("%s", msg)
}

// Keep is how many findings per rule and file a format needs of the runner (lint.Runner.Keep), 0 = all. GitHub and
// JUnit show few, but must see the severity of every one.
func Keep(format string, maxPerRule int) int {
	switch format {
	case "text":
		return maxPerRule
	case "junit":
		return junitFindings
	case "github":
		return githubCap
	}
	return 0
}

// fileOf is the path of the file a finding is in.
func fileOf(res *lint.FileResult, f *lint.Finding) string {
	if f.File != "" {
		return f.File
	}
	return res.Path
}

// alike tells of the records that share a finding, "" if it stands for one alone or its message counts them itself.
func alike(f *lint.Finding) string {
	if f.Count <= 1 || counts(f.Message, f.Count) {
		return ""
	}
	return fmt.Sprintf(" (and %s like it)", plural(f.Count-1, "more record"))
}

// counts reports whether a message has the number as a word of its own.
func counts(message string, n int) bool {
	for _, w := range strings.Fields(message) {
		if w == strconv.Itoa(n) {
			return true
		}
	}
	return false
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
