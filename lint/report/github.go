package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
)

// githubCap is how many errors, warnings and notices each GitHub keeps of a step (actions/toolkit,
// docs/problem-matchers.md).
const githubCap = 10

// githubReporter writes workflow commands. GitHub keeps few of them, so they are ranked over the whole run: by
// severity, then the first of every rule before the second of any. What is left out is counted.
type githubReporter struct {
	Options
	out    output
	levels [lint.Error + 1]githubLevel
}

// githubLevel holds the candidates of one severity.
type githubLevel struct {
	total int
	rules []*githubRule // in order of appearance
}

type githubRule struct {
	name     string
	commands []string // at most githubCap
}

// room returns the rule's candidates if more of them can be of use, nil otherwise.
func (l *githubLevel) room(rule string) *githubRule {
	for _, r := range l.rules {
		if r.name == rule {
			if len(r.commands) == githubCap {
				return nil
			}
			return r
		}
	}
	r := &githubRule{name: rule}
	l.rules = append(l.rules, r)
	return r
}

// pick returns at most n commands, round by round.
func (l *githubLevel) pick(n int) []string {
	var out []string
	for round := 0; round < githubCap; round++ {
		for _, r := range l.rules {
			if len(out) < n && round < len(r.commands) {
				out = append(out, r.commands[round])
			}
		}
	}
	return out
}

func (g *githubReporter) Begin() error { return nil }

func (g *githubReporter) File(res *lint.FileResult) error {
	for v, n := range res.Totals {
		g.levels[v].total += n
	}
	for f, err := range res.Findings() {
		if err != nil {
			return fmt.Errorf("findings of %s: %w", res.Path, err)
		}
		if r := g.levels[f.Severity].room(f.Rule.Name); r != nil {
			r.commands = append(r.commands, g.command(fileOf(res, f), f))
		}
	}
	if res.Err != nil {
		l := &g.levels[lint.Error]
		l.total++
		if r := l.room(""); r != nil {
			r.commands = append(r.commands, workflowCommand("error", []string{
				"title", "symlint", "file", g.path(res.Path)}, printable(res.Err.Error())))
		}
	}
	return nil
}

func (g *githubReporter) End(*lint.Summary) error {
	// The notice about the rest takes one of the notices.
	shown, complete := g.pick(githubCap)
	if !complete {
		shown, _ = g.pick(githubCap - 1)
	}
	var rest []string
	for v := lint.Error; v > lint.Off; v-- {
		for _, c := range shown[v] {
			g.out.put(c)
		}
		if n := g.levels[v].total - len(shown[v]); n > 0 {
			rest = append(rest, plural(n, "more "+v.String()))
		}
	}
	if len(rest) > 0 {
		g.out.put(workflowCommand("notice", []string{"title", "symlint"},
			strings.Join(rest, ", ")+fmt.Sprintf(": GitHub shows %d of a level. The formats text, json and sarif have all of them.", githubCap)))
	}
	return g.out.Flush()
}

// pick chooses the commands of each level and reports whether they are all there is.
func (g *githubReporter) pick(notices int) (shown [lint.Error + 1][]string, complete bool) {
	complete = true
	for v := lint.Info; v <= lint.Error; v++ {
		n := githubCap
		if v == lint.Info {
			n = notices
		}
		shown[v] = g.levels[v].pick(n)
		complete = complete && len(shown[v]) == g.levels[v].total
	}
	return shown, complete
}

// command is the annotation of one finding. A column is only understood together with a line.
func (g *githubReporter) command(file string, f *lint.Finding) string {
	text := printable(f.Headline(g.Consumers)) + alike(f)
	if f.Section != "" {
		text = fmt.Sprintf("%s+0x%x: %s", printable(f.Section), f.Offset, text)
	}
	for _, d := range f.Detail {
		text += "\n" + printable(d)
	}
	if e := f.Effects.String(g.Consumers); e != "" {
		text += "\n" + printable(e)
	}
	props := []string{"title", f.Rule.Name, "file", g.path(file)}
	if f.Section == "" && f.Line > 0 {
		props = append(props, "line", strconv.Itoa(f.Line))
		if f.Column > 0 {
			start, end, _ := codePoints(f)
			props = append(props, "col", strconv.Itoa(start), "endColumn", strconv.Itoa(end))
		}
	}
	return workflowCommand(githubCommand(f.Severity), props, text)
}

// path is a file's path from the root of the repository, where GitHub looks for it.
func (g *githubReporter) path(file string) string {
	if rel, ok := relative(g.Root, file); ok {
		file = rel
	}
	return printable(file)
}

func githubCommand(v lint.Severity) string {
	switch v {
	case lint.Error:
		return "error"
	case lint.Warning:
		return "warning"
	}
	return "notice"
}

var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// workflowCommand is a command line; props are names and values in turn. Text and values are escaped as
// actions/toolkit does (packages/core/src/command.ts).
func workflowCommand(command string, props []string, text string) string {
	var b strings.Builder
	b.WriteString("::" + command)
	for i := 0; i+1 < len(props); i += 2 {
		sep := ","
		if i == 0 {
			sep = " "
		}
		b.WriteString(sep + props[i] + "=" + githubProperty.Replace(props[i+1]))
	}
	b.WriteString("::" + githubText.Replace(text) + "\n")
	return b.String()
}
