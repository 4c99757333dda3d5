package report

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/symlint/symlint/lint"
)

// stats writes the tables of one file: its records, how much of its code is described, and the findings by rule.
func (t *textReporter) stats(res *lint.FileResult) {
	records := [][]string{{"record", "count"}}
	for _, r := range res.Records {
		records = append(records, []string{printable(r.Kind), strconv.Itoa(r.Count)})
	}

	code := [][]string{{"code", "bytes", "share", "functions", "share"}}
	if c := res.Coverage; c != nil {
		row := func(what string, bytes uint64, funcs int) {
			code = append(code, []string{what,
				strconv.FormatUint(bytes, 10), percent(bytes, c.FuncBytes),
				strconv.Itoa(funcs), percent(uint64(funcs), uint64(c.Funcs))})
		}
		row("FUNC", c.FuncBytes, c.Funcs)
		row("with CFI", c.CFIBytes, c.FuncsCFI)
		row("with lines", c.LineBytes, c.FuncsLines)
	}

	rules := [][]string{{"rule", "findings", "records"}}
	for _, r := range res.Rules {
		rules = append(rules, []string{r.Rule.Name, strconv.Itoa(r.Findings), strconv.Itoa(r.Records)})
	}

	heading := t.palette.path.Sprint(printable(res.Path)) + ": statistics\n"
	for _, table := range [][][]string{records, code, rules} {
		if len(table) > 1 {
			t.out.put(heading)
			heading = ""
			t.table(table)
		}
	}
}

// table writes rows, the first of which is the heading: names flush left and numbers flush right.
func (t *textReporter) table(rows [][]string) {
	width := 0
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row[0]))
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(row[0])) // the writer would align names right, too
		fmt.Fprint(w, "  ", row[0], pad, "\t", strings.Join(row[1:], "\t"), "\t\n")
	}
	w.Flush()
}

// percent is part of whole with one decimal, rounded down so that only a whole is 100.0%. A share of nothing is "-".
func percent(part, whole uint64) string {
	if whole == 0 {
		return "-"
	}
	hi, lo := bits.Mul64(min(part, whole), 1000)
	permille, _ := bits.Div64(hi, lo, whole)
	return fmt.Sprintf("%d.%d%%", permille/10, permille%10)
}
