package rules

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/symlint/symlint/lint"
)

// Markdown writes the documentation of all rules, RULES.md.
func Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(`<!-- Generated from the rules: go test ./rules -run RulesMD -update -->
# The rules of symlint

Names are stable. A severity is the default; ` + "`--severity RULE=LEVEL`" + ` and ` + "`.symlint.toml`" + ` change it. Where a
rule lists several, the case decides. An error means that a consumer loses or corrupts data or that a walk goes wrong; a
warning is suspicious and likely wrong; info is portability, style or a measure.

The impact on a consumer is one of

| impact | meaning |
|---|---|
| unaffected | reads it as meant |
| degraded | repairs, guesses or shows something odd |
| loses | drops or misreads the record, and perhaps those that hang on it |
| rejects | refuses the whole file |
| crashes | the process dies |

Every wrong example is followed by what its rule says of it, without the quoted record. Numbers and the arrow in the
margin are not part of the files; escapes such as ` + "`\\x00`" + ` stand for bytes that do not show.
`)
	for _, a := range families() {
		if len(a.Rules) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n- [%s](#family-%s):", a.Name, a.Name)
		for i, r := range a.Rules {
			if i > 0 {
				b.WriteString(" ·")
			}
			fmt.Fprintf(b, " [%s](#%s)", r.Name, r.Name)
		}
	}
	b.WriteString("\n")
	for _, a := range families() {
		if len(a.Rules) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n## Family %s\n\n| rule | severity | summary |\n|---|---|---|\n", a.Name)
		for _, r := range a.Rules {
			fmt.Fprintf(b, "| [%s](#%s) | %s | %s |\n", r.Name, r.Name, severities(r), cell(r.Summary))
		}
		for _, r := range a.Rules {
			b.WriteString("\n")
			if err := RuleMarkdown(b, r); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}

// RuleMarkdown writes the section of one rule.
func RuleMarkdown(w io.Writer, r *lint.Rule) error {
	res, err := RunExample(r)
	if err != nil {
		return fmt.Errorf("example of %s: %w", r.Name, err)
	}
	defer res.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n**%s** · %s\n\n%s\n\n", r.Name, severities(r), prose(r.Summary), prose(r.Why))
	b.WriteString("| consumer | impact | what it does |\n|---|---|---|\n")
	for c := lint.Consumer(0); c < lint.ConsumerCount; c++ {
		if !r.Consumers().Has(c) {
			continue
		}
		e := r.Effects[c]
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c, e.Impact, cell(e.Text))
	}
	b.WriteString("\nWrong:\n")
	fence(&b, BadExcerpt(r))
	var lines []string
	for f, err := range res.Findings() {
		if err != nil {
			return fmt.Errorf("example of %s: %w", r.Name, err)
		}
		lines = append(lines, findingLines(f)...)
	}
	fence(&b, lines)
	b.WriteString("\nRight:\n")
	fence(&b, GoodExcerpt(r))
	if r.Evidence != "" {
		fmt.Fprintf(&b, "\nEvidence: %s\n", prose(r.Evidence))
	}
	for i, ref := range r.Refs {
		if i == 0 {
			b.WriteString("\nReferences:\n")
		}
		fmt.Fprintf(&b, "- %s\n", reference(ref))
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// severities names the default severity and those that the case may make of it.
func severities(r *lint.Rule) string {
	s := r.Severity.String()
	for _, also := range r.Also {
		s += " or " + also.String()
	}
	return s
}

func fence(b *strings.Builder, lines []string) {
	b.WriteString("\n```text\n")
	for _, l := range lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	b.WriteString("```\n")
}

// findingLines is a finding as plain text, the quoted record left out.
func findingLines(f *lint.Finding) []string {
	headline := f.Headline(lint.AllConsumers)
	first := fmt.Sprintf("%s: %s: %s", linePlace(f.File, &f.Location), f.Severity, escape(headline, len(headline)))
	if f.Count > 1 {
		first += fmt.Sprintf(" (%d records)", f.Count)
	}
	lines := []string{first + " [" + f.Rule.Name + "]"}
	for _, d := range f.Detail {
		lines = append(lines, "    "+escape(d, len(d)))
	}
	if e := f.Effects.String(lint.AllConsumers); e != "" {
		lines = append(lines, "    "+escape(e, len(e)))
	}
	for i := range f.Related {
		r := &f.Related[i]
		lines = append(lines, fmt.Sprintf("    %s: note: %s", linePlace(f.File, &r.Location), escape(r.Message, len(r.Message))))
	}
	return lines
}

// linePlace is a location: line and column of a text, section and offset of a binary.
func linePlace(file string, l *lint.Location) string {
	if l.Section != "" {
		return fmt.Sprintf("%s(%s+0x%x)", file, l.Section, l.Offset)
	}
	return fmt.Sprintf("%s:%d:%d", file, l.Line, l.Column)
}

// codeSpan finds what Markdown leaves alone; codeWord what it would take for formatting, mathematics or HTML:
// registers, names that begin with underscores, placeholders in angle brackets.
var (
	codeSpan = regexp.MustCompile("`[^`]*`|https?://[^\\s)]+")
	codeWord = regexp.MustCompile(`\$[A-Za-z0-9_]+|<[^<>\n]+>|\b__?[A-Za-z]\w*|\w*\*\w*\*\w*`)
)

// prose makes text safe for Markdown.
func prose(s string) string {
	var b strings.Builder
	for s != "" {
		span := codeSpan.FindStringIndex(s)
		if span == nil {
			span = []int{len(s), len(s)}
		}
		b.WriteString(codeWord.ReplaceAllStringFunc(s[:span[0]], func(w string) string { return "`" + w + "`" }))
		b.WriteString(s[span[0]:span[1]])
		s = s[span[1]:]
	}
	return b.String()
}

// cell is prose in a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(prose(s), "\n", " "), "|", `\|`)
}

// reference is a link where the reference is an address.
func reference(ref string) string {
	if strings.HasPrefix(ref, "https://") || strings.HasPrefix(ref, "http://") {
		return "<" + ref + ">"
	}
	return prose(ref)
}
