package rules

import (
	"bytes"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// endOfFile judges the last record of a file that does not end in a newline: whether the file ends inside it.
func (c *formatChecker) endOfFile(r *symfile.Record) (truncated bool) {
	rule, message := formatNoFinalNewline, "no newline follows the last record"
	effects := formatNoFinalNewline.Effects
	if truncated = cutOffAtEnd(c.pass.Data, r); truncated {
		rule, effects = formatTruncated, formatTruncated.Effects
		message = "the file ends inside the " + kindName(r.Kind) + " record"
		if r.Kind == symfile.Unknown {
			message = "the file ends inside a record"
		}
		if googleReads(c.pass.Data, r) != googleTakes {
			effects[lint.Breakpad].Text = "counts an error for the last record and misses the rest without a word"
		}
	}
	spot := lint.At(rule, r, symfile.Span{Off: r.Span.End, End: r.Span.End})
	spot.Effects = &effects
	c.pass.Report(spot, func(f *lint.Finding) {
		c.name(f, r, c.around(r))
		f.Message = message
	})
	return truncated
}

// cutOffAtEnd: the last record lacks something at its end. What is wrong in its middle has another cause.
func cutOffAtEnd(data []byte, r *symfile.Record) bool {
	switch {
	case r.Kind == symfile.Unknown:
		return keywordBegun(data[r.Span.Off:r.Span.End])
	case r.Usable:
		return cutShort(data, r)
	}
	for i := range r.Problems {
		p := &r.Problems[i]
		if problemRules[p.Code] == formatBadField || problemRules[p.Code] == formatNumberPrefix {
			missing := p.Code == symfile.MissingField || p.Code == symfile.EmptyName
			return (!missing || p.Span.Len() == 0) && len(bytes.TrimRight(data[p.Span.End:r.Span.End], " \t")) == 0
		}
	}
	return false
}

// keywordBegun: the text is the beginning of a keyword.
func keywordBegun(text []byte) bool {
	for _, k := range keywords {
		if len(text) > 0 && strings.HasPrefix(k, string(text)) {
			return true
		}
	}
	return false
}

// cutShort: the record can be read, and yet something is visibly missing at its end.
func cutShort(data []byte, r *symfile.Record) bool {
	text := data[r.Text.Off:r.Text.End]
	switch r.Kind {
	case symfile.StackCFI, symfile.StackCFIInit:
		return !completeRules(text)
	case symfile.StackWin:
		// Programs end by assigning something.
		return r.Win.HasProgram != 0 && !bytes.HasSuffix(text, []byte("="))
	case symfile.Func, symfile.Public, symfile.InlineOrigin:
		// A name cut inside its parameter list.
		return bytes.Count(text, []byte{'('}) > bytes.Count(text, []byte{')'})
	}
	return false
}

// completeRules: the text is rules, and the last one's expression leaves one value, as writers form them. A register
// alone would be an expression, but nobody writes a CFA like that: the offset and the operator are missing.
func completeRules(text []byte) bool {
	words := bytes.Fields(text)
	depth, operands, name := 0, 0, ""
	for _, w := range words {
		if w[len(w)-1] == ':' {
			name, depth, operands = string(w), 0, 0
			continue
		}
		switch string(w) {
		case "+", "-", "*", "/", "%", "@":
			depth--
		case "^":
		default:
			depth++
			operands++
		}
	}
	last := words[len(words)-1]
	switch {
	case name == "" || depth != 1:
		return false
	case operands == 1 && last[0] != '^':
		// `.ra: lr` and `$rbx: $rbx` are how writers say that a register holds the value.
		return name != ".cfa:" && string(last) != ".cfa"
	}
	return true
}
