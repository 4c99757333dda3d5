package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// kindName names a kind of record in a sentence.
func kindName(k symfile.Kind) string { return k.String() }

// fieldNames spells out the fields that the scanner names by their place in the grammar.
var fieldNames = map[string]string{
	"param_size": "parameter size", "call_line": "call-site line", "call_file": "call-site file id", "nest": "nesting level",
	"origin": "origin id", "os": "operating system", "arch": "architecture", "line": "line number", "file": "file id",
	"rva": "address", "code_size": "size",
}

func fieldName(field string) string {
	if n, ok := fieldNames[field]; ok {
		return n
	}
	return field
}

// quoted quotes a part of the input, cut to what a message can bear.
func quoted(p *lint.Pass, s symfile.Span) string {
	const most = 40
	t := p.Data[s.Off:s.End]
	if len(t) > most {
		return strconv.Quote(validText(t[:most])) + "…"
	}
	return strconv.Quote(string(t))
}

// subject names the field of the record a message is about: "FUNC address", "line number".
func (j *problemJudge) subject() string {
	field := fieldName(j.p.Field)
	if j.rec.Kind == symfile.Line {
		if j.p.Field == "line" || j.p.Field == "file" {
			return field
		}
		return "line record's " + field
	}
	return kindName(j.rec.Kind) + " " + field
}

func (j *problemJudge) quote() string { return quoted(j.pass, j.p.Span) }

// message says what is wrong, with the value at fault.
func (j *problemJudge) message() string {
	r, p := j.rec, j.p
	switch p.Code {
	case symfile.UnknownRecord:
		return j.unknownMessage()
	case symfile.MissingField, symfile.EmptyName, symfile.BadHex, symfile.BadDecimal, symfile.BadMark, symfile.SurplusField:
		return j.fieldMessage() + j.fate()
	case symfile.HexPrefix:
		return fmt.Sprintf("%s %s has a 0x prefix", j.subject(), j.quote())
	case symfile.Sign:
		return fmt.Sprintf("%s %s has a sign", j.subject(), j.quote())
	case symfile.NegativeNumber:
		return fmt.Sprintf("%s %s is negative%s", j.subject(), j.pass.Data[p.Span.Off:p.Span.End], j.oddInline())
	case symfile.Range16:
		return fmt.Sprintf("%s %s does not fit 16 bits", j.subject(), j.quote())
	case symfile.Range32:
		bits := 32
		if isDecimal(r.Kind, p.Field) || p.Field == "param_size" {
			bits = 31
		}
		return fmt.Sprintf("%s %s does not fit %d bits", j.subject(), j.quote(), bits)
	case symfile.Range64:
		if v := strtoul(j.pass.Data[p.Span.Off:p.Span.End]); v == 1<<64-1 && p.Span.Len() <= 16 {
			return fmt.Sprintf("%s %s is all ones, which Breakpad takes for an overflow", j.subject(), j.quote())
		}
		return fmt.Sprintf("%s %s does not fit 64 bits", j.subject(), j.quote())
	case symfile.LeadingZeroOverrun:
		return fmt.Sprintf("%s %s has more digits than rust-minidump reads", j.subject(), j.quote())
	case symfile.Tab:
		if j.afterKeyword() {
			return fmt.Sprintf("a TAB follows the keyword %s", kindName(r.Kind))
		}
		return fmt.Sprintf("a TAB separates fields of the %s record", kindName(r.Kind))
	case symfile.LeadingBlank:
		return fmt.Sprintf("%s before the %s record", plural(p.Span.Len(), "blank"), kindName(r.Kind))
	case symfile.RepeatedBlank:
		if j.insideKeyword() {
			return fmt.Sprintf("%s inside the keyword %s", plural(p.Span.Len(), "blank"), kindName(r.Kind))
		}
		if p.Span.End == r.Text.Off {
			return fmt.Sprintf("%s before the free text of the %s record", plural(p.Span.Len(), "blank"), kindName(r.Kind))
		}
		return fmt.Sprintf("%s between two fields of the %s record", plural(p.Span.Len(), "blank"), kindName(r.Kind))
	case symfile.TrailingBlank:
		return fmt.Sprintf("%s behind the %s record", plural(p.Span.Len(), "blank"), kindName(r.Kind))
	}
	return j.byteMessage()
}

// fieldMessage speaks of a missing or malformed field.
func (j *problemJudge) fieldMessage() string {
	r, p := j.rec, j.p
	kind := kindName(r.Kind)
	switch p.Code {
	case symfile.EmptyName:
		what := p.Field
		if r.Kind == symfile.StackWin && r.Win.HasProgram == 0 {
			what = "base pointer flag"
		}
		return fmt.Sprintf("%s has no %s", kind, what)
	case symfile.MissingField:
		switch {
		case r.Kind == symfile.Info:
			return "INFO says nothing"
		case j.bareStack():
			return kind + " stands alone"
		case p.Span.Len() > 0:
			return fmt.Sprintf("%s has no %s: its name stands in that place", kind, fieldName(p.Field))
		case r.Kind == symfile.Line:
			return fmt.Sprintf("line record has no %s", fieldName(p.Field))
		case r.Kind == symfile.StackWin:
			return fmt.Sprintf("STACK WIN ends before its %s: %d of 11 fields", fieldName(p.Field), j.words()-2)
		}
		return fmt.Sprintf("%s has no %s%s", kind, fieldName(p.Field), j.oddInline())
	case symfile.BadMark:
		return fmt.Sprintf("%s stands where %s has its address or the mark m", j.quote(), kind)
	case symfile.SurplusField:
		return "text behind the line record: " + j.quote()
	case symfile.BadDecimal:
		return fmt.Sprintf("%s %s is not decimal%s", j.subject(), j.quote(), j.oddInline())
	}
	return fmt.Sprintf("%s %s is not hexadecimal%s", j.subject(), j.quote(), j.oddInline())
}

// oddInline adds why the fields of an INLINE record are not where they seem to be.
func (j *problemJudge) oddInline() string {
	if j.rec.Kind == symfile.Inline && j.rec.OldForm {
		return " (with an odd number of fields the record is read in the old form, without call-site file)"
	}
	return ""
}

// words counts the blank-separated words of the record.
func (j *problemJudge) words() int {
	return len(strings.Fields(string(j.pass.Data[j.rec.Span.Off:j.rec.Span.End])))
}

// fate tells what is lost with a FUNC that Google's reader drops.
func (j *problemJudge) fate() string {
	switch {
	case j.behind.inlines > 0 && j.behind.lines > 0:
		return fmt.Sprintf("; its %s and %s are lost with it", plural(j.behind.lines, "line record"), plural(j.behind.inlines, "inline"))
	case j.behind.inlines > 0:
		return fmt.Sprintf("; its %s is lost with it", plural(j.behind.inlines, "inline"))
	case j.behind.lines == 1:
		return "; its line record is lost with it"
	case j.behind.lines > 1:
		return fmt.Sprintf("; its %d line records are lost with it", j.behind.lines)
	}
	return ""
}

// unknownMessage suggests what an unknown line was meant to be.
func (j *problemJudge) unknownMessage() string {
	r := j.rec
	text := j.pass.Data[r.Span.Off:r.Span.End]
	if binaryData(j.pass.Data, r) && damagedByte(r) != symfile.NoProblem {
		return "binary data between the records"
	}
	meant, how := meantKeyword(string(text[:min(len(text), 64)]))
	first := symfile.Span{Off: r.Span.Off, End: r.Span.End}
	if w := word(j.pass, r, 0); w.Len() > 0 {
		first = w
	}
	switch how {
	case wrongCase:
		return fmt.Sprintf("the keyword %s is not in upper case: %s", meant, quoted(j.pass, symfile.Span{Off: first.Off, End: min(first.Off+len(meant), r.Span.End)}))
	case glued:
		return fmt.Sprintf("no blank follows the keyword %s", meant)
	case misspelt:
		return fmt.Sprintf("unknown record %s; was %s meant?", quoted(j.pass, first), meant)
	}
	return fmt.Sprintf("unknown record %s", quoted(j.pass, first))
}

// byteMessage speaks of a byte that does not belong into text.
func (j *problemJudge) byteMessage() string {
	r, p := j.rec, j.p
	at := p.Span.Off
	where := fmt.Sprintf("in the %s record, at byte %d of the file", kindName(r.Kind), at)
	if r.Kind == symfile.Unknown {
		where = fmt.Sprintf("at byte %d of the file", at)
	}
	switch p.Code {
	case symfile.ByteOrderMark:
		return "the file begins with a UTF-8 byte-order mark"
	case symfile.NULByte:
		if onlyNUL(j.pass.Data, r) {
			return fmt.Sprintf("the file ends in %s", plural(r.Span.Len(), "NUL byte"))
		}
		return "NUL byte " + where
	case symfile.InvalidUTF8:
		return fmt.Sprintf("% x is not UTF-8, %s", j.pass.Data[at:min(p.Span.End, at+8)], where)
	}
	c := []rune(string(j.pass.Data[at:p.Span.End]))[0]
	if c == '\t' {
		return "TAB in a name, " + where
	}
	return fmt.Sprintf("control character U+%04X %s", c, where)
}

// mistake is how a line differs from a known record.
type mistake uint8

const (
	unlike    mistake = iota
	wrongCase         // the letters are right
	glued             // no blank behind the keyword
	misspelt          // nearly right
)

var keywords = []string{"MODULE", "INFO", "FILE", "FUNC", "INLINE", "INLINE_ORIGIN", "PUBLIC", "STACK CFI INIT", "STACK CFI", "STACK WIN"}

// meantKeyword finds the keyword that the beginning of an unknown line resembles.
func meantKeyword(text string) (string, mistake) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return "", unlike
	}
	upper := strings.ToUpper(words[0])
	if upper == "STACK" || !isKeyword(upper) && lint.Nearest(upper, []string{"STACK"}) != "" && distanceAllowed(upper, "STACK") {
		return meantStack(words)
	}
	for _, k := range keywords {
		if upper == k {
			return k, wrongCase
		}
	}
	for _, k := range []string{"INLINE_ORIGIN", "MODULE", "INLINE", "PUBLIC", "STACK", "FUNC", "FILE", "INFO"} {
		if rest, ok := strings.CutPrefix(words[0], k); ok && (rest[0] == '-' || rest[0] == '/' || rest[0] >= '0' && rest[0] <= '9') {
			return k, glued
		}
	}
	if len(upper) >= 3 {
		if k := lint.Nearest(upper, keywords[:7]); k != "" && distanceAllowed(upper, k) {
			return k, misspelt
		}
	}
	return "", unlike
}

func isKeyword(w string) bool {
	for _, k := range keywords[:7] {
		if w == k {
			return true
		}
	}
	return false
}

// distanceAllowed keeps short words from resembling everything: they must share most of their letters.
func distanceAllowed(w, keyword string) bool {
	common := 0
	for i := range keyword {
		if strings.IndexByte(w, keyword[i]) >= 0 {
			common++
		}
	}
	return common*4 >= len(keyword)*3
}

// meantStack completes STACK with the word behind it.
func meantStack(words []string) (string, mistake) {
	how := wrongCase
	if strings.ToUpper(words[0]) != "STACK" {
		how = misspelt
	}
	if len(words) == 1 {
		return "STACK CFI", misspelt
	}
	second := strings.ToUpper(words[1])
	switch {
	case second == "CFI" && len(words) > 2 && strings.ToUpper(words[2]) == "INIT":
		return "STACK CFI INIT", how
	case second == "CFI", second == "WIN":
		return "STACK " + second, how
	}
	if k := lint.Nearest(second, []string{"CFI", "WIN"}); k != "" {
		return "STACK " + k, misspelt
	}
	return "STACK CFI", misspelt
}
