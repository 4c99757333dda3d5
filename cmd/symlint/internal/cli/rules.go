package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/rules"
)

type rulesCmd struct {
	Format string   `short:"f" enum:"text,json,markdown" default:"text" placeholder:"FORMAT" help:"text: a table; json: every field of every rule; markdown: the whole documentation, RULES.md."`
	Family []string `placeholder:"NAME" help:"Only the rules of these families, such as cfi or func."`
}

// Help is the long description.
func (rulesCmd) Help() string {
	return `Lists every rule with its default severity and a one-line summary, in the order of the catalogue.

Examples:

    symlint rules
    symlint rules --family cfi,win
    symlint rules --format json | jq -r '.rules[] | select(.severity == "error") | .name'`
}

// Run lists the rules.
func (c rulesCmd) Run(a *app) error {
	list, err := c.selected()
	if err != nil {
		return err
	}
	return a.write(func(w io.Writer) error {
		switch c.Format {
		case "json":
			return writeRulesJSON(w, list)
		case "markdown":
			if len(c.Family) == 0 {
				return rules.Markdown(w)
			}
			return writeRulesMarkdown(w, list)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, r := range list {
			fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, severities(r), r.Summary)
		}
		return t.Flush()
	})
}

// selected are the rules of the families that were asked for.
func (c rulesCmd) selected() ([]*lint.Rule, error) {
	all := rules.All()
	if len(c.Family) == 0 {
		return all, nil
	}
	var families []string
	for _, r := range all {
		if !slices.Contains(families, r.Family) {
			families = append(families, r.Family)
		}
	}
	for _, name := range c.Family {
		if !slices.Contains(families, name) {
			msg := fmt.Sprintf("unknown family %q (want %s)", name, strings.Join(families, ", "))
			if s := lint.Nearest(name, families); s != "" {
				msg += fmt.Sprintf("; did you mean %q?", s)
			}
			return nil, errors.New(msg)
		}
	}
	return slices.DeleteFunc(all, func(r *lint.Rule) bool { return !slices.Contains(c.Family, r.Family) }), nil
}

// severities names the default severity and those that the case may make of it.
func severities(r *lint.Rule) string {
	names := []string{r.Severity.String()}
	for _, s := range r.Also {
		names = append(names, s.String())
	}
	return strings.Join(names, "/")
}

func writeRulesMarkdown(w io.Writer, list []*lint.Rule) error {
	for i, r := range list {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := rules.RuleMarkdown(w, r); err != nil {
			return err
		}
	}
	return nil
}

// ruleJSON is a rule as JSON. Fields may be added, never changed or removed.
type ruleJSON struct {
	Name       string                `json:"name"`
	Family     string                `json:"family"`
	Severity   lint.Severity         `json:"severity"`
	Severities []lint.Severity       `json:"severities"` // the default and those that the case may make of it
	Summary    string                `json:"summary"`
	Why        string                `json:"why"`
	Consumers  map[string]effectJSON `json:"consumers"`
	Bad        exampleJSON           `json:"bad"`
	Good       string                `json:"good"`
	Evidence   string                `json:"evidence"`
	References []string              `json:"references"`
	URL        string                `json:"url"`
}

type effectJSON struct {
	Impact string `json:"impact"` // unaffected, degraded, loses, rejects, crashes
	Text   string `json:"text"`
}

type exampleJSON struct {
	Path     string        `json:"path"` // the name the example is checked under
	Text     string        `json:"text"`
	Line     int           `json:"line"` // 1-based
	Findings []findingJSON `json:"findings"`
}

// findingJSON is what the rule says of its example.
type findingJSON struct {
	Line     int           `json:"line"`
	Column   int           `json:"column"`
	Severity lint.Severity `json:"severity"`
	Message  string        `json:"message"`
}

func newRuleJSON(r *lint.Rule) (ruleJSON, error) {
	out := ruleJSON{
		Name: r.Name, Family: r.Family, Severity: r.Severity, Severities: append([]lint.Severity{r.Severity}, r.Also...),
		Summary: r.Summary, Why: r.Why, Consumers: make(map[string]effectJSON),
		Bad: exampleJSON{Text: r.Bad.Text, Line: r.Bad.Line}, Good: r.Good,
		Evidence: r.Evidence, References: append([]string{}, r.Refs...), URL: r.DocURL(),
	}
	for c := lint.Consumer(0); c < lint.ConsumerCount; c++ {
		if !r.Consumers().Has(c) {
			continue
		}
		out.Consumers[c.String()] = effectJSON{r.Effects[c].Impact.String(), r.Effects[c].Text}
	}
	if r.Binary { // what is shown of them
		out.Bad.Text = strings.Join(rules.BadExcerpt(r), "\n") + "\n"
		out.Good = strings.Join(rules.GoodExcerpt(r), "\n") + "\n"
	}
	res, err := rules.RunExample(r)
	if err != nil {
		return out, err
	}
	defer res.Close()
	out.Bad.Path = res.Path
	for f, err := range res.Findings() {
		if err != nil {
			return out, err
		}
		out.Bad.Findings = append(out.Bad.Findings, findingJSON{f.Line, f.Column, f.Severity, f.Message})
	}
	return out, nil
}

func writeRulesJSON(w io.Writer, list []*lint.Rule) error {
	doc := struct {
		Version int        `json:"version"`
		Rules   []ruleJSON `json:"rules"`
	}{Version: 1}
	for _, r := range list {
		v, err := newRuleJSON(r)
		if err != nil {
			return err
		}
		doc.Rules = append(doc.Rules, v)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}
