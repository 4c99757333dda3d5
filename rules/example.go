package rules

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/symlint/symlint/lint"
)

// RunExample checks the bad example of a rule, or replays it against a small process if it takes a dump to see, and
// returns what that rule says of it. The caller closes the result.
func RunExample(rule *lint.Rule) (*lint.FileResult, error) {
	if NeedsDump(rule) {
		return runWalkExample(rule, examplePath(rule))
	}
	g := Registry()
	settings := lint.NewSettings(g)
	if err := settings.Select(g, []string{rule.Name}); err != nil {
		return nil, err
	}
	r := &lint.Runner{Registry: g, Analyzers: Analyzers(), Binary: BinaryAnalyzers(), Jobs: 1}
	if rule.Binary {
		data := rule.Bad.Data()
		res := r.CheckBinary(examplePath(rule), binaryKind(data), data, settings)
		return res, res.Err
	}
	res := r.CheckSym(examplePath(rule), []byte(rule.Bad.Text), settings)
	return res, res.Err
}

// examplePath is the name that the bad example of a rule is checked under.
func examplePath(rule *lint.Rule) string {
	if rule.Bad.Path != "" {
		return rule.Bad.Path
	}
	return "example.sym"
}

const (
	excerptLines   = 16  // lines of an example that are shown in full
	excerptContext = 3   // lines around the marked one in a longer example
	excerptWidth   = 110 // characters of a line that are shown
)

// Excerpt makes an example printable: lines with their numbers, the marked one with an arrow, control characters and
// what is no UTF-8 escaped, long lines and long texts cut. A mark of 0 marks nothing.
func Excerpt(text string, mark int) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var out []string
	skipped := false
	for i, line := range lines {
		n := i + 1
		if len(lines) > excerptLines && n > excerptContext && (n < mark-excerptContext || n > mark+excerptContext) {
			if !skipped {
				out = append(out, "      …")
			}
			skipped = true
			continue
		}
		skipped = false
		arrow := " "
		if n == mark {
			arrow = ">"
		}
		out = append(out, strings.TrimRight(fmt.Sprintf("%s %3d  %s", arrow, n, visible(line)), " "))
	}
	return out
}

// visible escapes a line, cuts it to excerptWidth and marks trailing blanks, which are a defect of their own.
func visible(line string) string {
	s := escape(line, excerptWidth)
	text := strings.TrimRight(s, " ")
	return text + strings.Repeat("·", len(s)-len(text))
}

// escape returns the first most characters of s with everything escaped that a reader would not see.
func escape(s string, most int) string {
	var b strings.Builder
	for n := 0; s != ""; n++ {
		if n == most {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[size:]
	}
	return b.String()
}
