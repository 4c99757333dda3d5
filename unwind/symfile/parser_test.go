package symfile

import (
	"fmt"
	"strings"
	"testing"
)

// Each departure from the canonical form, with what stands at its place and whether consumers can use the record.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		text     string // one line; the part in «» is where the problem is
		kind     Kind
		problems string // CODE field, separated by commas, in order of position
		usable   bool
	}{
		{"«STAK» CFI 154f .cfa: $rsp 8 +", Unknown, "UnknownRecord", false},
		{"«STACK CFX» 154f .cfa: $rsp 8 +", Unknown, "UnknownRecord", false},
		{"«STACK»", Unknown, "UnknownRecord", false},
		{"«func» 1000 10 0 main", Unknown, "UnknownRecord", false},
		{"«FUNCTION» 1000 10 0 main", Unknown, "UnknownRecord", false},
		{"«#» a comment", Unknown, "UnknownRecord", false},
		{"MODULE Linux x86_64«»", Module, "MissingField id", false},
		{"MODULE Linux x86_64 ABC«»", Module, "MissingField name", false},
		{"INFO«»", Info, "MissingField text", false},
		{"FILE«»", File, "MissingField id", false},
		{"FILE 0«»", File, "EmptyName name", false},
		{"FILE «x» /a.c", File, "BadDecimal id", false},
		{"FILE «1a» /a.c", File, "BadDecimal id", false},
		{"FILE «-1» /a.c", File, "NegativeNumber id", false},
		{"FILE «0x1» /a.c", File, "HexPrefix id", false},
		{"FILE «+1» /a.c", File, "Sign id", true},
		{"FILE «4294967296» /a.c", File, "Range32 id", true},
		{"FILE «99999999999999999999» /a.c", File, "Range64 id", false},
		{"FILE «00000000001» /a.c", File, "LeadingZeroOverrun id", true},
		{"INLINE_ORIGIN 1«»", InlineOrigin, "EmptyName name", false},
		{"INLINE_ORIGIN 1 42«»", InlineOrigin, "EmptyName name", false},
		{"FUNC«»", Func, "MissingField address", false},
		{"FUNC 1000«»", Func, "MissingField size", false},
		{"FUNC 1000 10«»", Func, "MissingField param_size", false},
		{"FUNC 1660 53 0«»", Func, "EmptyName name", false},
		{"FUNC 1dc0 8c «tower::floor_catch(int)»", Func, "MissingField param_size", false},
		{"FUNC 1dc0 8c «std::less<int,» int>(int)", Func, "MissingField param_size", false},
		{"FUNC 1dc0 8c «-[Tower» floor:]", Func, "MissingField param_size", false},
		{"FUNC 1dc0 «main»", Func, "MissingField size", false},
		{"FUNC «180g» 15 0 thread_cond", Func, "BadHex address", false},
		{"FUNC 1800 «1z» 0 thread_cond", Func, "BadHex size", false},
		{"FUNC 1800 15 «0z» thread_cond", Func, "BadHex param_size", false},
		{"FUNC «0x1d40» 1c 0 from_library", Func, "HexPrefix address", true},
		{"FUNC «0X1d40» 1c 0 from_library", Func, "HexPrefix address", true},
		{"FUNC 1d40 «0x1c» 0 from_library", Func, "HexPrefix size", true},
		{"FUNC «+1d40» 1c 0 f", Func, "Sign address", true},
		{"FUNC «-1d40» 1c 0 f", Func, "Sign address", false},
		{"FUNC «1D40» 1c 0 f", Func, "UpperCase address", true},
		{"FUNC 1d40 «100000000» 0 f", Func, "Range32 size", true},
		{"FUNC 1d40 «000000010» 0 f", Func, "LeadingZeroOverrun size", true},
		{"FUNC 1d40 10 «80000000» f", Func, "Range32 param_size", true},
		{"FUNC «ffffffffffffffff» 10 0 f", Func, "Range64 address", false},
		{"FUNC «10000000000000000» 10 0 f", Func, "Range64 address", false},
		{"FUNC «00000000000001000» 10 0 f", Func, "LeadingZeroOverrun address", true},
		{"FUNC «x» 1000 10 0 f", Func, "BadMark mark", false},
		{"FUNC\t1000 10 0 f", Func, "Tab", true},
		{"FUNC 1000«\t»10 0 f", Func, "Tab", true},
		{"FUNC 1000 10 0 a«\t»b", Func, "ControlByte", true},
		{"«  »FUNC 1000 10 0 f", Func, "LeadingBlank", true},
		{"FUNC«  »1000 10 0 f", Func, "RepeatedBlank", true},
		{"FUNC 1000 10 0«  »f", Func, "RepeatedBlank", true},
		{"FUNC 1000 10 0 f« »", Func, "TrailingBlank", true},
		{"FUNC 1660 53 0« »", Func, "TrailingBlank,EmptyName name", false},
		{"FUNC 1000 10 0 a«\x00»b", Func, "NULByte", true},
		{"FUNC «10\x0000» 10 0 b", Func, "BadHex address,NULByte", false},
		{"FUNC 1000 10 0 a«\x1b»b", Func, "ControlByte", true},
		{"FUNC 1000 10 0 a«\x7f»b", Func, "ControlByte", true},
		{"FUNC 1000 10 0 a«\xc2\x85»b", Func, "ControlByte", true},
		{"FUNC 17f0 60 0 park_sleep(in«\xc3»(", Func, "InvalidUTF8", true},
		{"FUNC 17f0 60 0 a«\xff»", Func, "InvalidUTF8", true},
		{"FUNC 17f0 60 0 a«\xed\xa0\x80»", Func, "InvalidUTF8", true}, // a surrogate
		{"1000 10«»", Line, "MissingField line", false},
		{"1000 10 3«»", Line, "MissingField file", false},
		{"1000 10 3 0 «// main»", Line, "SurplusField", true},
		{"1f31 6 «-60» 0", Line, "NegativeNumber line", false},
		{"1f31 6 60 «-1»", Line, "NegativeNumber file", false},
		{"1f31 6 «6a» 0", Line, "BadDecimal line", false},
		{"«1f3g» 6 60 0", Line, "BadHex address", false},
		{"1f31 6 «2147483648» 0", Line, "Range32 line", true},
		{"1f31 «1ffffffff» 60 0", Line, "Range32 size", true},
		{"1f31 6 «-0» 0", Line, "Sign line", true},
		{"INLINE 0 10 1 5«»", Inline, "MissingField address", false},
		{"INLINE 0 10 «-2» 5 1000 10", Inline, "NegativeNumber call_file", false},
		{"INLINE 0 10 1 5 1000 10 «20g0» 5", Inline, "BadHex address", false},
		{"«INLINE 0 10 5 1000 10»", Inline, "InlineParity", true},
		{"INLINE 0 10 1 5 1000«\t»10", Inline, "Tab", true},
		{"PUBLIC 2160«»", Public, "MissingField param_size", false},
		{"PUBLIC 2160 «name»", Public, "MissingField param_size", false},
		{"PUBLIC 2160 0«»", Public, "EmptyName name", false},
		{"STACK CFI«»", StackCFI, "MissingField address", false},
		{"STACK CFI 1000«»", StackCFI, "EmptyName rules", false},
		{"STACK CFI «10z0» .cfa: $rsp 8 +", StackCFI, "BadHex address", false},
		{"STACK CFI 1000 .cfa:«\t»$rsp 8 +", StackCFI, "Tab", true},
		{"STACK CFI INIT«»", StackCFIInit, "MissingField address", false},
		{"STACK CFI INIT 1000«»", StackCFIInit, "MissingField size", false},
		{"STACK CFI INIT 1000 10«»", StackCFIInit, "EmptyName rules", false},
		{"STACK CFI INIT 1000 «1g» .cfa: $rsp 8 +", StackCFIInit, "BadHex size", false},
		{"STACK WIN«»", StackWin, "MissingField type", false},
		{"STACK WIN 0 1100 18 4 0 4 0 0«»", StackWin, "MissingField max_stack_size", false},
		{"STACK WIN 4 1100 18 4 0 4 0 0 0 1«»", StackWin, "EmptyName program", false},
		{"STACK WIN 4 1100 18 4 0 4 «x» 0 0 1 $eip 4 + ^ =", StackWin, "BadHex saved_register_size", false},
		{"STACK WIN 4 1100 18 4 0 4 «100000000» 0 0 1 $eip 4 + ^ =", StackWin, "Range32 saved_register_size", true},
		{"STACK WIN 4 1100 18 «10000» 0 4 0 0 0 1 $eip 4 + ^ =", StackWin, "Range16 prolog_size", true},
		{"STACK WIN 4 1100 18 ffff «12345» 4 0 0 0 1 $eip 4 + ^ =", StackWin, "Range16 epilog_size", true},
		{"STACK WIN 4 1100 10000 ffff 0 4 «ffffffff» 0 0 1 $eip 4 + ^ =", StackWin, "Range16 saved_register_size", true},
		{"« »", Blank, "TrailingBlank", false},
		{"«\t\t»", Blank, "TrailingBlank,Tab", false},
	} {
		off := strings.Index(c.text, "«")
		end := strings.Index(c.text, "»") - len("«")
		text := strings.NewReplacer("«", "", "»", "").Replace(c.text)
		// The neighbours make sure that the problem is the record's own.
		data := "FILE 9 a\n" + text + "\nFILE 9 b\n"
		rs := scanAll([]byte(data))
		if len(rs) != 3 || len(rs[0].Problems)+len(rs[2].Problems) > 0 {
			t.Fatalf("%q: %+v", text, rs)
		}
		r := rs[1]
		if r.Kind != c.kind || r.Usable != c.usable {
			t.Errorf("%q: a %s record, usable %v", text, r.Kind, r.Usable)
		}
		if got := problemNames(&r); got != sortedNames(c.problems) {
			t.Errorf("%q: problems %s, want %s", text, got, c.problems)
			continue
		}
		if off >= 0 {
			found := false
			for _, p := range r.Problems {
				found = found || p.Span == Span{9 + off, 9 + end}
			}
			if !found {
				t.Errorf("%q: problems at %+v, want one at %d to %d", text, r.Problems, 9+off, 9+end)
			}
		}
	}
}

var codeNames = map[ProblemCode]string{
	UnknownRecord: "UnknownRecord", MissingField: "MissingField", SurplusField: "SurplusField", EmptyName: "EmptyName",
	BadHex: "BadHex", BadDecimal: "BadDecimal", HexPrefix: "HexPrefix", Sign: "Sign", UpperCase: "UpperCase",
	Range32: "Range32", Range64: "Range64", BadMark: "BadMark", InlineParity: "InlineParity", Tab: "Tab",
	LeadingBlank: "LeadingBlank", RepeatedBlank: "RepeatedBlank", TrailingBlank: "TrailingBlank", NULByte: "NULByte",
	ControlByte: "ControlByte", InvalidUTF8: "InvalidUTF8", ByteOrderMark: "ByteOrderMark", LoneCR: "LoneCR",
	NoFinalNewline: "NoFinalNewline", NegativeNumber: "NegativeNumber", LeadingZeroOverrun: "LeadingZeroOverrun",
	Range16: "Range16",
}

func problemNames(r *Record) string {
	var names []string
	for _, p := range r.Problems {
		names = append(names, strings.TrimSpace(codeNames[p.Code]+" "+p.Field))
	}
	return sortedNames(strings.Join(names, ","))
}

func sortedNames(list string) string {
	names := strings.Split(list, ",")
	for i := range names {
		for j := i; j > 0 && names[j] < names[j-1]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return strings.Join(names, ",")
}

// Every code has a test: those above and the ones that only the whole file shows.
func TestEveryProblemHasAName(t *testing.T) {
	for c := NoProblem + 1; c < ProblemCodeCount; c++ {
		if codeNames[c] == "" {
			t.Errorf("problem code %d has no test", c)
		}
	}
}

func TestFileProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\xef\xbb\xbfMODULE Linux x86 ABC0 a\nFILE 0 a\n", "1 MODULE true ByteOrderMark@0-3;2 FILE true"},
		{"FILE 0 a\n\xef\xbb\xbfFILE 1 b\n", "1 FILE true;2 unknown false UnknownRecord@9-16"},
		{"FILE 0 a\nFILE 1 b", "1 FILE true;2 FILE true NoFinalNewline@17-17"},
		{"FILE 0 a\n   ", "1 FILE true;2 blank false TrailingBlank@9-12"},
		{"FUNC 1000 10 0 na\rme\n", "1 FUNC true LoneCR@17-18;2 unknown false UnknownRecord@18-20"},
		{"FUNC 10\r00 10 0 f\n", "1 FUNC false MissingFieldsize@7-7 LoneCR@7-8;2 line false BadDecimalfile@16-17"},
		{"FILE 0 a\r", "1 FILE true LoneCR@8-9"},
	} {
		var got []string
		for _, r := range scanAll([]byte(c.text)) {
			s := fmt.Sprintf("%d %s %v", r.Line, r.Kind, r.Usable)
			for _, p := range r.Problems {
				s += fmt.Sprintf(" %s%s@%d-%d", codeNames[p.Code], p.Field, p.Span.Off, p.Span.End)
			}
			got = append(got, s)
		}
		if strings.Join(got, ";") != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, strings.Join(got, ";"), c.want)
		}
	}
}

// What a tolerant reader takes from records that are not canonical.
func TestTolerantValues(t *testing.T) {
	for text, want := range map[string]string{
		"FUNC 0x1D40 1C 0 f":             "1d40 1c 0 f",
		"FUNC  1000   10  0   f":         "1000 10 0 f",
		" FUNC\t1000 10 0 a  b ":         "1000 10 0 a  b",
		"FUNC +10 10 0 f":                "10 10 0 f",
		"FUNC 1000 1ffffffff ffffffff f": "1000 1ffffffff ffffffff f",
		"FUNC m 1000 10 0 f":             "m 1000 10 0 f",
		"FUNC 1dc0 8c a::b(int, c)":      "1dc0 8c 0 a::b(int, c)",
		"FUNC 1dc0 a::b(int, c)":         "1dc0 0 0 a::b(int, c)",
	} {
		r := scanAll([]byte(text + "\n"))[0]
		mark := ""
		if r.Multiple {
			mark = "m "
		}
		if got := fmt.Sprintf("%s%x %x %x %s", mark, r.Addr, r.Size, r.ParamSize, text[r.Text.Off:r.Text.End]); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"1000 10 4294967295 +7":           "1000 10 4294967295 7",
		"1000 10 3 0 // comment":          "1000 10 3 0",
		"INLINE 0 10 -1 5 1000 10 2000 8": "0 10 -1 5 1000 10",
		"INLINE 0 10 5 1000 10":           "0 10 -1 5 1000 10",
	} {
		r := scanAll([]byte(text + "\n"))[0]
		got := fmt.Sprintf("%x %x %d %d", r.Addr, r.Size, r.Number, r.FileID)
		if r.Kind == Inline {
			got = fmt.Sprintf("%d %d %d %d %x %x", r.Nest, r.Number, r.FileID, r.Origin, r.Addr, r.Size)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
