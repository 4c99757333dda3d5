package report

import (
	"fmt"
	"strings"

	"github.com/fatih/color"

	"github.com/symlint/symlint/lint"
)

// indent sets off what belongs to a finding.
const indent = "    "

// textReporter writes what people read: one block per finding in the form editors know how to jump to.
type textReporter struct {
	Options
	out     output
	palette palette
	shown   map[*lint.Rule]*shown // of the current file
}

// shown is what becomes of a rule's findings in one file, by severity.
type shown struct {
	room    [lint.Error + 1]int // may still be printed
	printed [lint.Error + 1]int
}

// palette holds colours of our own: the library's global switch knows only standard output.
type palette struct {
	severity               [lint.Error + 1]*color.Color
	path, rule, note, mark *color.Color
}

func newPalette(enabled bool) palette {
	paint := func(a ...color.Attribute) *color.Color {
		c := color.New(a...)
		if enabled {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return c
	}
	return palette{
		severity: [...]*color.Color{
			lint.Off:     paint(color.Reset),
			lint.Info:    paint(color.FgCyan),
			lint.Warning: paint(color.FgYellow, color.Bold),
			lint.Error:   paint(color.FgRed, color.Bold),
		},
		path: paint(color.Bold),
		rule: paint(color.Faint),
		note: paint(color.FgCyan),
		mark: paint(color.FgGreen, color.Bold),
	}
}

func newText(o Options, out output) *textReporter {
	return &textReporter{Options: o, out: out, palette: newPalette(o.Color), shown: make(map[*lint.Rule]*shown)}
}

func (t *textReporter) Begin() error { return nil }

func (t *textReporter) File(res *lint.FileResult) error {
	clear(t.shown)
	for i := range res.Rules {
		t.shown[res.Rules[i].Rule] = t.allow(&res.Rules[i])
	}
	for f, err := range res.Findings() {
		if err != nil {
			return fmt.Errorf("findings of %s: %w", res.Path, err)
		}
		s := t.shown[f.Rule]
		if s == nil {
			return fmt.Errorf("%s: findings of %s that were not counted", res.Path, f.Rule.Name)
		}
		if s.room[f.Severity] == 0 {
			continue
		}
		s.room[f.Severity]--
		s.printed[f.Severity]++
		t.finding(fileOf(res, f), f)
		if err := t.out.err(); err != nil {
			return err
		}
	}
	t.more(res)
	if t.Stats {
		t.stats(res)
	}
	return t.out.Flush()
}

// allow shares out the findings of a rule that are printed: errors come before infos, however late in the file.
func (t *textReporter) allow(c *lint.RuleCount) *shown {
	s := new(shown)
	left := t.MaxPerRule
	for v := lint.Error; v > lint.Off; v-- {
		s.room[v] = c.BySeverity[v]
		if t.MaxPerRule > 0 {
			s.room[v] = min(s.room[v], left)
			left -= s.room[v]
		}
	}
	return s
}

// finding writes one finding: the message, the record with a caret, the explanation, and what belongs to it.
func (t *textReporter) finding(path string, f *lint.Finding) {
	p := &t.palette
	t.out.put(p.path.Sprint(place(path, &f.Location)), ": ",
		p.severity[f.Severity].Sprint(f.Severity.String()+":"), " ",
		printable(f.Headline(t.Consumers)), alike(f), " ", p.rule.Sprint("["+f.Rule.Name+"]"), "\n")
	if len(f.Snippet) > 0 && f.Section == "" {
		q := quote(f)
		blanks, mark := q.caret()
		t.out.put(indent, q.text, "\n", indent, blanks, p.mark.Sprint(mark), "\n")
	}
	for _, d := range f.Detail {
		t.out.put(strings.TrimRight(indent+printable(d), " "), "\n")
	}
	if e := f.Effects.String(t.Consumers); e != "" {
		t.out.put(indent, printable(e), "\n")
	}
	for i := range f.Related {
		r := &f.Related[i]
		file := r.File
		if file == "" {
			file = path
		}
		t.out.put(indent, place(file, &r.Location), ": ", p.note.Sprint("note:"), " ", printable(r.Message), "\n")
	}
}

// more counts, for every rule, the findings that were not printed.
func (t *textReporter) more(res *lint.FileResult) {
	for _, c := range res.Rules {
		rest, worst := 0, lint.Off
		for v := lint.Error; v > lint.Off; v-- {
			if n := c.BySeverity[v] - t.shown[c.Rule].printed[v]; n > 0 {
				rest += n
				worst = max(worst, v)
			}
		}
		if rest == 0 {
			continue
		}
		t.out.put(t.palette.path.Sprint(printable(res.Path)), ": ",
			t.palette.severity[worst].Sprint(worst.String()+":"), " ",
			plural(rest, "more finding"), " ", t.palette.rule.Sprint("["+c.Rule.Name+"]"))
		if t.MaxPerRule > 0 {
			t.out.put(" (--max-per-rule 0 shows all)")
		}
		t.out.put("\n")
	}
}

func (t *textReporter) End(sum *lint.Summary) error {
	if !t.Quiet {
		t.out.put(summaryLine(sum), "\n")
	}
	return t.out.Flush()
}

// summaryLine counts the findings of a run: "2 errors, 1 warning in 3 files".
func summaryLine(sum *lint.Summary) string {
	var parts []string
	for v := lint.Error; v > lint.Off; v-- {
		if n := sum.Totals[v]; n > 0 {
			parts = append(parts, plural(n, v.String()))
		}
	}
	line := "no findings"
	if len(parts) > 0 {
		line = strings.Join(parts, ", ")
	}
	line += " in " + plural(sum.Files-sum.Failed, "file")
	if sum.Suppressed > 0 {
		line += fmt.Sprintf(", %d known to the baseline", sum.Suppressed)
	}
	if sum.Failed > 0 {
		line += fmt.Sprintf("; %d could not be checked", sum.Failed)
	}
	return line
}
