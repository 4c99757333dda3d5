package report

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
)

// junitFindings is how many findings of a rule JUnit quotes; the rest is counted.
const junitFindings = 20

// junitReporter writes a testsuite per file and in it a testcase per enabled rule, so that dashboards show what was
// checked and counts stay the same from build to build. Errors and warnings fail a testcase; infos, which healthy
// files have, are its output.
type junitReporter struct {
	Options
	out   output
	cases []*junitCase
	index map[*lint.Rule]*junitCase
}

// junitCase is one rule in the current file.
type junitCase struct {
	rule  *lint.Rule
	worst lint.Severity
	first string   // message of the first finding of the worst severity
	lines []string // the first findings
	total int
}

func newJUnit(o Options, out output) *junitReporter {
	j := &junitReporter{Options: o, out: out, index: make(map[*lint.Rule]*junitCase, len(o.Enabled))}
	for _, r := range o.Enabled {
		j.add(r)
	}
	return j
}

func (j *junitReporter) add(r *lint.Rule) *junitCase {
	c := &junitCase{rule: r}
	j.cases = append(j.cases, c)
	j.index[r] = c
	return c
}

func (j *junitReporter) Begin() error {
	j.out.put(xml.Header, `<testsuites name="symlint">`, "\n")
	return j.out.err()
}

func (j *junitReporter) File(res *lint.FileResult) error {
	for _, c := range j.cases {
		*c = junitCase{rule: c.rule, lines: c.lines[:0]}
	}
	for f, err := range res.Findings() {
		if err != nil {
			return fmt.Errorf("findings of %s: %w", res.Path, err)
		}
		c := j.index[f.Rule]
		if c == nil {
			c = j.add(f.Rule)
		}
		c.take(fileOf(res, f), f, j.Consumers)
	}
	for _, r := range res.Rules {
		if c := j.index[r.Rule]; c != nil {
			c.total = max(c.total, r.Findings) // the result may hold fewer than there are
		}
	}
	j.suite(res)
	return j.out.Flush()
}

func (c *junitCase) take(file string, f *lint.Finding, set lint.ConsumerSet) {
	c.total++
	if f.Severity > c.worst {
		c.worst = f.Severity
		c.first = f.Headline(set) + alike(f)
	}
	if len(c.lines) < junitFindings {
		line := place(file, &f.Location) + ": " + f.Severity.String() + ": " + printable(f.Headline(set)) + alike(f)
		if e := f.Effects.String(set); e != "" {
			line += "\n" + indent + printable(e)
		}
		c.lines = append(c.lines, line)
	}
}

func (c *junitCase) failed() bool { return c.worst >= lint.Warning }

// suite writes what is known of one file.
func (j *junitReporter) suite(res *lint.FileResult) {
	path := xmlText(res.Path)
	tests, failures, errors, skipped := len(j.cases), 0, 0, 0
	for _, c := range j.cases {
		switch {
		case c.failed():
			failures++
		case c.total == 0 && res.Err != nil:
			skipped++
		}
	}
	if res.Err != nil {
		tests++
		errors = 1
	}
	fmt.Fprintf(j.out, "<testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n",
		path, tests, failures, errors, skipped)
	if res.Err != nil {
		text := xmlText(res.Err.Error())
		j.out.put(`<testcase classname="`, path, `" name="input"><error type="input" message="`, text, `">`, text, "</error></testcase>\n")
	}
	for _, c := range j.cases {
		j.out.put(`<testcase classname="`, path, `" name="`, xmlText(c.rule.Name), `"`)
		switch {
		case c.failed():
			j.out.put(`><failure type="`, c.worst.String(), `" message="`, xmlText(c.first), "\">")
			c.body(j.out)
			j.out.put("</failure></testcase>\n")
		case c.total > 0:
			j.out.put("><system-out>")
			c.body(j.out)
			j.out.put("</system-out></testcase>\n")
		case res.Err != nil:
			j.out.put(`><skipped message="the input could not be checked"/></testcase>`, "\n")
		default:
			j.out.put("/>\n")
		}
	}
	j.out.put("</testsuite>\n")
}

// body writes the first findings and the total.
func (c *junitCase) body(out output) {
	for _, block := range c.lines {
		for line := range strings.SplitSeq(block, "\n") {
			out.put(xmlText(line), "\n")
		}
	}
	if rest := c.total - len(c.lines); rest > 0 {
		out.put(plural(rest, "more finding"), " of ", strconv.Itoa(c.total), "\n")
	} else {
		out.put(plural(c.total, "finding"), "\n")
	}
}

func (j *junitReporter) End(*lint.Summary) error {
	j.out.put("</testsuites>\n")
	return j.out.Flush()
}

// xmlText makes text printable, which also removes the characters XML 1.0 has no way to write, and escapes it.
func xmlText(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(printable(s))) // a Builder does not fail
	return b.String()
}
