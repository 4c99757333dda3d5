package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// utf16Name names the UTF-16 that text is stored as, "" if it is not: by its byte-order mark, or by every second of the
// first bytes being NUL.
func utf16Name(data []byte) string {
	if len(data) >= 2 {
		switch {
		case data[0] == 0xff && data[1] == 0xfe:
			return "UTF-16LE"
		case data[0] == 0xfe && data[1] == 0xff:
			return "UTF-16BE"
		}
	}
	const least, most = 8, 32 // bytes looked at
	head := data[:min(len(data), most)&^1]
	if len(head) < least {
		return ""
	}
	little, big := true, true
	for i := 0; i < len(head); i += 2 {
		little = little && head[i] != 0 && head[i+1] == 0
		big = big && head[i] == 0 && head[i+1] != 0
	}
	switch {
	case little:
		return "UTF-16LE"
	case big:
		return "UTF-16BE"
	}
	return ""
}

// reportUTF16 reports a whole file in UTF-16, transcoded by whoever opened it or not.
func (c *formatChecker) reportUTF16() {
	name := c.pass.Encoding
	if name == "" {
		name = utf16Name(c.pass.Data)
	}
	if name == "" {
		return
	}
	rec := firstLine(c.pass)
	spot := lint.Spot{Rule: formatEncoding, Effects: &utf16Effects, Line: 1, Record: rec, Culprit: symfile.Span{Off: 0, End: min(2, rec.End)}}
	c.pass.Report(spot, func(f *lint.Finding) {
		f.Message = "the file is " + name + ", not ASCII or UTF-8"
		if c.pass.Encoding != "" {
			f.Detail = []string{"symlint reads it all the same; the other findings are those of the text"}
		}
	})
}

var utf16Effects = lint.Effects{
	{Impact: lint.Loses, Text: "finds no symbols in it and calls them corrupt"},
	refusesFile,
	{Impact: lint.Rejects, Text: "does not recognise the file"},
}

// firstLine is the first line of the input.
func firstLine(p *lint.Pass) symfile.Span {
	if len(p.Data) == 0 {
		return symfile.Span{}
	}
	return p.RecordAt(0, 1).Span
}
