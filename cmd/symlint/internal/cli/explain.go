package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/report"
	"github.com/symlint/symlint/rules"
)

type explainCmd struct {
	Rules  []string `arg:"" name:"rule" help:"Names, families or globs, such as cfi-missing-ra, win or 'cfi-init-*'."`
	Format string   `short:"f" enum:"text,json,markdown" default:"text" placeholder:"FORMAT" help:"text, json or markdown."`
}

// Help is the long description.
func (explainCmd) Help() string {
	return `Tells why a rule matters, what breakpad, rust-minidump and symbolic do with the defect, and shows a file that has it,
with what symlint says of that file, and one that has not.

Examples:

    symlint explain cfi-missing-ra
    symlint explain --format markdown win`
}

// Run explains the rules.
func (c explainCmd) Run(a *app) error {
	g := rules.Registry()
	var list []*lint.Rule
	for _, selector := range c.Rules {
		found, err := g.Match(selector)
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	return a.write(func(w io.Writer) error {
		switch c.Format {
		case "json":
			return writeRulesJSON(w, list)
		case "markdown":
			return writeRulesMarkdown(w, list)
		}
		for i, r := range list {
			if i > 0 {
				fmt.Fprintf(w, "\n%s\n\n", strings.Repeat("─", textWidth))
			}
			if err := explain(w, r, g, a.colored()); err != nil {
				return err
			}
		}
		return nil
	})
}

// textWidth is where paragraphs are wrapped.
const textWidth = 96

// explain writes the documentation of a rule for a terminal.
func explain(w io.Writer, r *lint.Rule, g *lint.Registry, color bool) error {
	fmt.Fprintf(w, "%s (%s, family %s)\n%s\n", r.Name, severities(r), r.Family, wrap(r.Summary, ""))
	for _, p := range strings.Split(r.Why, "\n\n") {
		fmt.Fprintf(w, "\n%s\n", wrap(p, ""))
	}
	fmt.Fprintln(w, "\nConsumers:")
	for c := lint.Consumer(0); c < lint.ConsumerCount; c++ {
		if !r.Consumers().Has(c) {
			continue
		}
		const indent = 29
		text := wrap(r.Effects[c].Text, strings.Repeat(" ", indent))
		fmt.Fprintf(w, "  %-13s  %-10s  %s\n", c, r.Effects[c].Impact, strings.TrimLeft(text, " "))
	}
	fmt.Fprintln(w, "\nWrong:")
	writeLines(w, rules.BadExcerpt(r))
	fmt.Fprintln(w)
	if err := reportExample(w, r, g, color); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nRight:")
	writeLines(w, rules.GoodExcerpt(r))
	if r.Evidence != "" {
		fmt.Fprintf(w, "\nEvidence: %s\n", strings.TrimLeft(wrap(r.Evidence, "  "), " "))
	}
	for i, ref := range r.Refs {
		if i == 0 {
			fmt.Fprintln(w, "\nReferences:")
		}
		fmt.Fprintf(w, "  %s\n", ref)
	}
	return nil
}

// reportExample lets the text format tell what the rule says of its example.
func reportExample(w io.Writer, r *lint.Rule, g *lint.Registry, color bool) error {
	res, err := rules.RunExample(r)
	if err != nil {
		return err
	}
	defer res.Close()
	rep, err := report.New("text", report.Options{
		Writer: w, Color: color, Registry: g, Consumers: lint.AllConsumers, Version: version(), Quiet: true,
	})
	if err != nil {
		return err
	}
	if err := rep.Begin(); err != nil {
		return err
	}
	if err := rep.File(res); err != nil {
		return err
	}
	return rep.End(&lint.Summary{Files: 1, Totals: res.Totals})
}

func writeLines(w io.Writer, lines []string) {
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
}

// wrap breaks a paragraph into lines of textWidth, each indented.
func wrap(text, indent string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
			b.WriteString(indent)
			width = len(indent)
		case width+1+n > textWidth:
			b.WriteString("\n" + indent)
			width = len(indent)
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}
