package rules

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// problemJudge says what consumers make of one problem of a record.
type problemJudge struct {
	pass   *lint.Pass
	rec    *symfile.Record
	p      symfile.Problem
	behind followers // of a FUNC that Google's reader drops
}

// judge returns the effects of the problem, and its severity if that is not the rule's default.
func (j *problemJudge) judge() (lint.Severity, lint.Effects) {
	switch j.p.Code {
	case symfile.UnknownRecord:
		return lint.Off, formatUnknownRecord.Effects
	case symfile.HexPrefix, symfile.Sign, symfile.NegativeNumber:
		return lint.Off, lint.Effects{j.googleNumber(), refusesFile, j.symbolicNumber()}
	case symfile.Range16:
		return lint.Off, lint.Effects{lint.Fine("keeps 32 bits"), lint.Fine("keeps 32 bits"), j.symbolicLoses()}
	case symfile.Range32, symfile.Range64, symfile.LeadingZeroOverrun:
		return lint.Off, j.rangeEffects()
	case symfile.NULByte, symfile.ControlByte, symfile.InvalidUTF8, symfile.ByteOrderMark:
		return j.encodingEffects()
	case symfile.Tab, symfile.LeadingBlank, symfile.RepeatedBlank, symfile.TrailingBlank:
		return j.spacingEffects()
	}
	return lint.Off, j.fieldEffects()
}

// fieldEffects are those of a missing or malformed field.
func (j *problemJudge) fieldEffects() lint.Effects {
	r, p := j.rec, j.p
	e := lint.Effects{j.googleLoses(), refusesFile, j.symbolicLoses()}
	switch {
	case p.Code == symfile.SurplusField:
		e[lint.Breakpad] = lint.Fine("ignores what stands behind the file id")
	case p.Code == symfile.EmptyName:
		// With a blank where the name should begin, rust-minidump reads an empty one.
		if has(r, symfile.TrailingBlank) {
			e[lint.RustMinidump] = lint.Effect{Impact: lint.Degraded, Text: "reads an empty name"}
			if r.Kind == symfile.StackCFI || r.Kind == symfile.StackCFIInit {
				e[lint.RustMinidump] = lint.Effect{Impact: lint.Loses, Text: "fails to unwind from the record's address on to the end of its range"}
			}
		}
		switch r.Kind {
		case symfile.Func, symfile.Public:
			e[lint.Symbolic] = lint.Effect{Impact: lint.Degraded, Text: "calls it <unknown>"}
		case symfile.File:
			e[lint.Symbolic] = lint.Effect{Impact: lint.Degraded, Text: "keeps an empty name"}
		}
	case j.bareStack():
		e[lint.Breakpad] = lint.Effect{Impact: lint.Loses, Text: "steps over the end of the record and swallows the next one"}
	}
	return e
}

// bareStack: STACK CFI or STACK WIN with nothing behind it.
func (j *problemJudge) bareStack() bool {
	t := string(j.pass.Data[j.rec.Span.Off:j.rec.Span.End])
	return strings.HasSuffix(t, " CFI") || strings.HasSuffix(t, " WIN")
}

// googleLoses is what Google's reader does with a record it cannot read.
func (j *problemJudge) googleLoses() lint.Effect {
	r := j.rec
	loses := func(text string) lint.Effect { return lint.Effect{Impact: lint.Loses, Text: text} }
	if googleReads(j.pass.Data, r) == googleTakes {
		switch r.Kind {
		case symfile.Module, symfile.Info:
			return lint.Fine("does not look at the record")
		case symfile.StackCFI, symfile.StackCFIInit, symfile.StackWin:
			v := strtoul(j.pass.Data[j.p.Span.Off:j.p.Span.End])
			return loses(fmt.Sprintf("reads the field as %#x without a word: the rules come into force there", v))
		}
		return lint.Fine("reads it as meant")
	}
	switch r.Kind {
	case symfile.Func:
		switch {
		case j.behind.inlines > 0:
			return lint.Effect{Impact: lint.Crashes, Text: "drops the function; the INLINE record behind it finds none and crashes the reader"}
		case j.behind.lines > 0:
			return loses("drops the function, and its line records become errors as well")
		}
		return loses("drops the function and counts an error")
	case symfile.File:
		return loses("drops the record and counts an error: its lines show no file")
	case symfile.InlineOrigin:
		return loses("drops the record without counting an error: inlined frames are called <name omitted>")
	case symfile.Inline:
		return loses("drops the record without counting an error")
	case symfile.Info:
		return loses("takes it for a line record it cannot read: counts an error")
	case symfile.StackCFI, symfile.StackCFIInit, symfile.StackWin:
		return loses("drops the record and counts an error: its rules are missing from the walk")
	}
	return dropsCounted
}

// symbolicLoses is what symbolic does with a record it cannot read.
func (j *problemJudge) symbolicLoses() lint.Effect {
	loses := func(text string) lint.Effect { return lint.Effect{Impact: lint.Loses, Text: text} }
	switch j.rec.Kind {
	case symfile.Module:
		return lint.Effect{Impact: lint.Rejects, Text: "cannot open the file"}
	case symfile.Info:
		return lint.Effect{Impact: lint.Degraded, Text: "skips the record"}
	case symfile.File:
		return loses("skips the record: its lines show no file")
	case symfile.Public:
		return loses("skips the record")
	case symfile.InlineOrigin:
		return loses("fails on the function it reads next")
	case symfile.Func:
		return loses("fails on the function")
	case symfile.Inline, symfile.Line:
		return loses("fails on the function it belongs to")
	case symfile.StackCFI:
		return loses("skips the record: the rows before it stay in force")
	case symfile.StackCFIInit, symfile.StackWin:
		return loses("stops at the record: the unwind information behind it is lost")
	}
	return lint.Fine("skips it")
}

// googleNumber is what Google's reader does with a prefix or sign.
func (j *problemJudge) googleNumber() lint.Effect {
	if googleReads(j.pass.Data, j.rec) != googleTakes {
		return j.googleLoses()
	}
	if j.p.Code == symfile.Sign && j.pass.Data[j.p.Span.Off] == '-' && !isDecimal(j.rec.Kind, j.p.Field) {
		return lint.Effect{Impact: lint.Loses, Text: "reads a huge number: the value wraps around"}
	}
	return lint.Fine("reads it as meant")
}

// symbolicNumber is what symbolic does with a prefix or sign.
func (j *problemJudge) symbolicNumber() lint.Effect {
	if j.rec.Kind == symfile.Line && j.p.Field == "line" && j.pass.Data[j.p.Span.Off] == '-' {
		return lint.Effect{Impact: lint.Degraded, Text: "reads line 0"}
	}
	return j.symbolicLoses()
}

// rangeEffects are those of a number that is too large or has too many digits.
func (j *problemJudge) rangeEffects() lint.Effects {
	r, p := j.rec, j.p
	digits := j.pass.Data[p.Span.Off:p.Span.End]
	e := lint.Effects{lint.Fine("reads it as meant"), refusesFile, lint.Fine("reads it as meant")}
	if isDecimal(r.Kind, p.Field) {
		v, fits := decimal(digits)
		switch {
		case p.Code == symfile.LeadingZeroOverrun:
		case !fits:
			e[lint.Breakpad] = j.googleLoses()
			e[lint.Symbolic] = j.symbolicLoses()
		default:
			e[lint.Breakpad] = lint.Effect{Impact: lint.Degraded, Text: fmt.Sprintf("keeps %d of it", int32(uint32(v)))}
			if v <= 1<<32-1 && len(digits) <= 10 {
				e[lint.RustMinidump] = lint.Fine("reads it as meant")
			}
		}
		return e
	}
	limit := 8
	switch p.Field {
	case "address", "rva":
		limit = 16
	}
	if len(digits) <= limit { // all ones, or a parameter size with the upper bit
		e[lint.RustMinidump] = lint.Fine("reads it as meant")
	}
	v := strtoul(digits)
	switch {
	case p.Code == symfile.LeadingZeroOverrun:
	case p.Code == symfile.Range64:
		e[lint.Breakpad] = j.googleLoses()
		if len(digits) <= limit {
			e[lint.RustMinidump] = lint.Effect{Impact: lint.Loses, Text: "drops the record without a word: its range wraps around"}
			e[lint.Symbolic] = lint.Effect{Impact: lint.Degraded, Text: "takes a range that wraps around"}
		} else {
			e[lint.Symbolic] = j.symbolicLoses()
		}
	case p.Field == "param_size":
		e[lint.Breakpad] = lint.Effect{Impact: lint.Degraded, Text: fmt.Sprintf("keeps %d of it", int32(uint32(v)))}
	case r.Kind == symfile.StackWin:
		e[lint.Symbolic] = j.symbolicLoses()
		if p.Field != "rva" && p.Field != "code_size" {
			e[lint.Breakpad] = lint.Effect{Impact: lint.Degraded, Text: fmt.Sprintf("keeps %#x of it", uint32(v))}
		}
	}
	return e
}

// decimal reads digits; fits is false beyond 63 bits.
func decimal(digits []byte) (v uint64, fits bool) {
	for _, b := range digits {
		if b < '0' || b > '9' {
			continue // a sign
		}
		if v > (1<<63-1-9)/10 {
			return 0, false
		}
		v = v*10 + uint64(b-'0')
	}
	return v, true
}

// encodingEffects are those of a byte that does not belong into text.
func (j *problemJudge) encodingEffects() (lint.Severity, lint.Effects) {
	r, p := j.rec, j.p
	inText := r.Text.Off <= p.Span.Off && p.Span.Off < r.Text.End && r.Kind != symfile.Module && r.Kind != symfile.Inline
	read := googleReads(j.pass.Data, r)
	switch p.Code {
	case symfile.ByteOrderMark:
		e := lint.Effects{
			{Impact: lint.Loses, Text: "does not see the first record and counts an error"},
			refusesFile,
			{Impact: lint.Rejects, Text: "does not recognise the file"},
		}
		if r.Kind == symfile.Module {
			e[lint.Breakpad] = lint.Effect{Impact: lint.Degraded, Text: "counts an error and calls the symbols corrupt"}
		}
		return lint.Off, e
	case symfile.NULByte:
		e := lint.Effects{
			{Impact: lint.Degraded, Text: "replaces it with _, counts an error and calls the symbols corrupt"},
			lint.Fine("keeps it"),
			lint.Fine("keeps it"),
		}
		if !inText {
			e[lint.RustMinidump], e[lint.Symbolic] = refusesFile, j.symbolicLoses()
			if read != googleTakes {
				e[lint.Breakpad] = j.googleLoses()
			}
		}
		if onlyNUL(j.pass.Data, r) {
			e[lint.Breakpad] = lint.Fine("ignores NULs at the end")
		}
		return lint.Off, e
	case symfile.InvalidUTF8:
		if r.Kind == symfile.Info && !strings.HasPrefix(string(j.pass.Data[r.Text.Off:r.Text.End]), "URL ") {
			return lint.Off, lint.Effects{lint.Fine("does not look at the record"), lint.Fine("does not look at the record"), j.symbolicLoses()}
		}
		e := lint.Effects{lint.Fine("keeps the bytes"), refusesFile, j.symbolicLoses()}
		if !inText && read != googleTakes {
			e[lint.Breakpad] = j.googleLoses()
		}
		return lint.Off, e
	}
	if !inText && !r.Usable {
		return lint.Off, lint.Effects{j.googleLoses(), refusesFile, j.symbolicLoses()}
	}
	severity := lint.Off
	if c := j.pass.Data[p.Span.Off]; c == '\t' || c >= 0x80 {
		severity = lint.Warning
	}
	return severity, lint.Same(lint.Degraded, "shows it as it is")
}

// spacingEffects are those of blanks and TABs where none or one blank is due. Where something is lost it is an error.
func (j *problemJudge) spacingEffects() (lint.Severity, lint.Effects) {
	r, p := j.rec, j.p
	data := j.pass.Data
	read := googleReads(data, r)
	e := lint.Effects{lint.Fine("skips it"), lint.Fine("skips it"), lint.Fine("skips it")}
	severity := lint.Off
	switch p.Code {
	case symfile.LeadingBlank:
		severity = lint.Error
		e[lint.RustMinidump] = refusesFile
		if r.Kind != symfile.Line {
			e[lint.Breakpad] = lint.Effect{Impact: lint.Loses, Text: "takes it for a line record it cannot read: drops it and counts an error"}
			e[lint.Symbolic] = lint.Effect{Impact: lint.Loses, Text: "does not see the record"}
		}
		if r.Kind == symfile.Func {
			e[lint.Breakpad].Text += "; its lines go to the function before"
		}
	case symfile.Tab:
		text := r.Text.Off <= p.Span.Off && p.Span.Off < r.Text.End && r.Kind != symfile.Module && r.Kind != symfile.Inline
		if text || r.Kind == symfile.Info {
			break
		}
		severity = lint.Error
		switch {
		case read != googleTakes:
			e[lint.Breakpad] = j.googleLoses()
			if read == googleAlien && r.Kind == symfile.Func {
				e[lint.Breakpad] = lint.Effect{Impact: lint.Loses, Text: "does not see the FUNC and counts an error; its lines go to the function before"}
			}
		case r.Kind == symfile.Module:
			e[lint.Breakpad] = lint.Fine("does not look at the record")
			severity = lint.Off
		default:
			e[lint.Breakpad] = lint.Effect{Impact: lint.Loses, Text: "takes the field and what follows it for one"}
		}
		if j.afterKeyword() && r.Kind != symfile.StackCFI && r.Kind != symfile.StackCFIInit && r.Kind != symfile.StackWin {
			e[lint.Symbolic] = lint.Effect{Impact: lint.Loses, Text: "does not see the record"}
			if r.Kind == symfile.Module {
				e[lint.Symbolic], severity = lint.Effect{Impact: lint.Rejects, Text: "does not recognise the file"}, lint.Error
			}
		}
	case symfile.RepeatedBlank:
		switch {
		case j.insideKeyword():
			severity = lint.Error
			e[lint.RustMinidump] = refusesFile
			e[lint.Symbolic] = lint.Effect{Impact: lint.Loses, Text: "does not see the record"}
		case p.Span.End == r.Text.Off && (r.Kind == symfile.Func || r.Kind == symfile.Public || r.Kind == symfile.File || r.Kind == symfile.InlineOrigin):
			e[lint.Breakpad] = lint.Effect{Impact: lint.Degraded, Text: "keeps the blanks as a part of the name"}
		}
	case symfile.TrailingBlank:
		switch r.Kind {
		case symfile.Line, symfile.Inline:
			severity = lint.Error
			e[lint.RustMinidump] = refusesFile
		case symfile.Func, symfile.Public, symfile.File, symfile.InlineOrigin:
			keeps := lint.Effect{Impact: lint.Degraded, Text: "keeps the blank as a part of the name"}
			e[lint.Breakpad], e[lint.RustMinidump] = keeps, keeps
		case symfile.StackWin, symfile.StackCFI, symfile.StackCFIInit:
			severity = lint.Info // programs in PDB files end in a blank
			if r.Kind == symfile.StackWin && r.Win.HasProgram == 0 && string(data[r.Text.Off:r.Text.End]) == "1" {
				severity = lint.Error
				e[lint.RustMinidump] = lint.Effect{Impact: lint.Loses, Text: "reads the base pointer flag as 0"}
			}
		}
	}
	return severity, e
}

// afterKeyword: the problem stands directly behind the record's first word.
func (j *problemJudge) afterKeyword() bool {
	return word(j.pass, j.rec, 0).End == j.p.Span.Off
}

// insideKeyword: the problem stands between the words of STACK CFI INIT or STACK WIN.
func (j *problemJudge) insideKeyword() bool {
	switch j.rec.Kind {
	case symfile.StackCFI, symfile.StackWin:
		return j.afterKeyword()
	case symfile.StackCFIInit:
		return j.afterKeyword() || word(j.pass, j.rec, 1).End == j.p.Span.Off
	}
	return false
}
