package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/symlint/symlint/lint"
)

// maxDescription is how many characters GitHub takes of a rule's descriptions.
const maxDescription = 1024

// sarifTool describes symlint and the enabled rules, each once: a rule listed twice gets a file refused.
func sarifTool(rules []*lint.Rule, version string) any {
	driver := sarifDriver{
		Name:            "symlint",
		Version:         version,
		SemanticVersion: semanticVersion(version),
		InformationURI:  "https://github.com/symlint/symlint",
		Rules:           make([]sarifDescriptor, 0, len(rules)),
	}
	for _, r := range rules {
		driver.Rules = append(driver.Rules, descriptor(r))
	}
	return struct {
		Driver sarifDriver `json:"driver"`
	}{driver}
}

func descriptor(r *lint.Rule) sarifDescriptor {
	return sarifDescriptor{
		ID:      r.Name,
		Name:    pascalCase(r.Name),
		Short:   sarifMessage{Text: shorten(r.Summary+".", maxDescription)},
		Full:    sarifMessage{Text: shorten(r.Why, maxDescription)},
		Help:    sarifMessage{Text: r.Summary + ".\n\n" + r.Why + "\n\n" + r.DocURL(), Markdown: helpMarkdown(r)},
		HelpURI: r.DocURL(),
		Default: sarifDefault{Enabled: true, Level: sarifLevel(r.Severity)},
		Props: map[string]any{
			"tags":             []string{"symbols", r.Family},
			"precision":        precision(r.Severity),
			"problem.severity": problemSeverity(r.Severity),
		},
	}
}

// helpMarkdown is what GitHub shows beside an alert.
func helpMarkdown(r *lint.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", r.Why)
	if !r.Effects.IsZero() {
		b.WriteString("\n| Consumer | What it does |\n| --- | --- |\n")
		for c := lint.Consumer(0); c < lint.ConsumerCount; c++ {
			if text := r.Effects[c].Text; text != "" {
				fmt.Fprintf(&b, "| %s | %s |\n", c, strings.ReplaceAll(text, "|", `\|`))
			}
		}
	}
	if r.Bad.Text != "" {
		fmt.Fprintf(&b, "\nBad (line %d):\n\n%s", r.Bad.Line, codeBlock(r.Bad.Text))
	}
	if r.Good != "" {
		fmt.Fprintf(&b, "\nGood:\n\n%s", codeBlock(r.Good))
	}
	if len(r.Refs) > 0 {
		b.WriteString("\nReferences:\n\n")
		for _, ref := range r.Refs {
			fmt.Fprintf(&b, "- %s\n", ref)
		}
	}
	fmt.Fprintf(&b, "\n[%s](%s)\n", r.Name, r.DocURL())
	return b.String()
}

// codeBlock indents, since examples may hold any fence.
func codeBlock(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + printable(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// pascalCase is `CfiMissingRa` for `cfi-missing-ra`: SARIF wants a name that differs from the id.
func pascalCase(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// shorten cuts text to n characters.
func shorten(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + ellipsis
}

// precision is how seldom a rule of a severity may be wrong: an error is what a consumer was seen to lose, a warning
// what is likely wrong.
func precision(v lint.Severity) string {
	switch v {
	case lint.Error:
		return "very-high"
	case lint.Warning:
		return "high"
	}
	return "medium"
}

// problemSeverity is the severity in CodeQL's terms.
func problemSeverity(v lint.Severity) string {
	switch v {
	case lint.Error:
		return "error"
	case lint.Warning:
		return "warning"
	}
	return "recommendation"
}

var semver = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$`)

// semanticVersion is the version if it is one in the sense of Semantic Versioning 2.0, "" otherwise.
func semanticVersion(v string) string {
	if m := semver.FindStringSubmatch(v); m != nil {
		return m[1]
	}
	return ""
}
