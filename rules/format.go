package rules

import (
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var formatFamily = &lint.Analyzer{
	Name: "format",
	Rules: []*lint.Rule{
		formatUnknownRecord, formatBadField, formatNumberPrefix, formatNumberCase, formatNumberRange, formatTruncated,
		formatNoFinalNewline, formatLineEnding, formatEncoding, formatSpacing, formatBlankLine, formatRecordOrder,
		formatLongLine, formatErrorBudget,
	},
	Steady: true,
	Kinds: []symfile.Kind{
		symfile.Unknown, symfile.Blank, symfile.Module, symfile.Info, symfile.File, symfile.InlineOrigin, symfile.Func,
		symfile.Inline, symfile.Line, symfile.Public, symfile.StackWin, symfile.StackCFIInit, symfile.StackCFI,
	},
	New: func(p *lint.Pass) lint.Checker { return newFormatChecker(p) },
}

// What consumers do with a record that they cannot read, in general.
var (
	refusesFile  = lint.Effect{Impact: lint.Rejects, Text: "refuses the whole file: the module has no symbols"}
	dropsCounted = lint.Effect{Impact: lint.Loses, Text: "drops the record, counts an error and calls the symbols corrupt"}
)

var formatUnknownRecord = &lint.Rule{
	Name: "format-unknown-record", Family: "format", Severity: lint.Error,
	Summary: "a line that is no known record",
	Why: "Keywords are exact: upper case, at the very beginning of the line, followed by one blank. Anything else is a line record to Google's " +
		"reader, cannot be read as one and counts as an error. rust-minidump refuses a file with a single such line: \"no symbols\". When the " +
		"misspelt keyword was FUNC, the line records behind it go to the function before.\n\n" +
		"Neighbouring unknown lines, such as a log message or a piece of another file that got into this one, are one finding.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "takes it for a line record it cannot read: drops it, counts an error and calls the symbols corrupt"},
		refusesFile,
		{Impact: lint.Loses, Text: "skips it; inside a function it fails on that function"},
	},
	Bad:      lint.Example{Line: 7, Text: exampleHead + exampleMain + exampleMainCFI + "STAK CFI 1004 .cfa: $rsp 16 +\n"},
	Good:     exampleHead + exampleMain + exampleMainCFI + "STACK CFI 1004 .cfa: $rsp 16 +\nSTACK CFI 100f .cfa: $rsp 8 +\n",
	Evidence: "https://github.com/rust-minidump/rust-minidump/issues/903, https://github.com/rust-minidump/rust-minidump/issues/676",
	Refs:     []string{symbolFilesDoc},
}

var formatBadField = &lint.Rule{
	Name: "format-bad-field", Family: "format", Severity: lint.Error, Also: []lint.Severity{lint.Warning},
	Summary: "a field is missing, malformed or one too many",
	Why: "The record cannot be read, and what hangs on it goes with it: without its FUNC every line record behind it is an error of its own, and an " +
		"INLINE record there crashes Google's reader, which holds no function at that moment. In STACK records Google's reader does not " +
		"check numbers at all: it takes the digits up to the first bad character, or 0, and the rules come into force there.\n\n" +
		"A FUNC whose name stands where the parameter size is due has lost that size. A bare `STACK CFI` or `STACK WIN` makes Google's reader " +
		"step over the end of the record and swallow the next one.",
	Effects: lint.Effects{dropsCounted, refusesFile, {Impact: lint.Loses, Text: "skips the record, or fails on the function it belongs to"}},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 1010 10 0
1010 10 9 0
` + exampleMainCFI + exampleHelperCFI},
	Good:     exampleTwo,
	Evidence: "module3_bad.out and module4_bad.out among Breakpad's own test data",
	Refs:     []string{symbolFilesDoc},
}

var formatNumberPrefix = &lint.Rule{
	Name: "format-number-prefix", Family: "format", Severity: lint.Error,
	Summary: "0x or a sign before a number",
	Why: "Hexadecimal fields are digits only. Google's reader hands them to strtoull, which takes 0x, + and even - (as a huge address); " +
		"rust-minidump stops at the first character that is no digit and refuses the file, and symbolic refuses the record. Decimal fields take " +
		"no 0x anywhere, and no minus but that of the call-site file -1 of an INLINE record.",
	Effects: lint.Effects{
		lint.Fine("reads it as meant"),
		refusesFile,
		{Impact: lint.Loses, Text: "skips the record, or fails on the function it belongs to"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 0x1010 10 0 helper
1010 10 9 0
` + exampleMainCFI + exampleHelperCFI},
	Good: exampleTwo,
	Refs: []string{symbolFilesDoc},
}

var formatNumberCase = &lint.Rule{
	Name: "format-number-case", Family: "format", Severity: lint.Info,
	Summary: "upper-case hexadecimal in addresses and sizes",
	Why: "The format's description asks for lower case. Every known reader takes both; tools that compare or sort files as text do not. One finding " +
		"a file, at the first such record.",
	Effects: lint.Same(lint.Unaffected, "reads it as meant"),
	Bad: lint.Example{Line: 4, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1A00 10 0 main
1a00 10 3 0
STACK CFI INIT 1a00 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: exampleOne,
	Refs: []string{symbolFilesDoc + "#overview"},
}

var formatNumberRange = &lint.Rule{
	Name: "format-number-range", Family: "format", Severity: lint.Error,
	Summary: "a number does not fit what a consumer stores it in",
	Why: "rust-minidump reads at most 8 hexadecimal digits of a size, 16 of an address and 10 of a decimal number, leading zeros included, and " +
		"refuses a file with more. Google's reader keeps ids and line numbers in 32 bits with a sign: a larger id becomes another one, silently. " +
		"symbolic keeps the prologue, epilogue and saved-register sizes of STACK WIN in 16 bits.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "keeps the low bits"},
		refusesFile,
		lint.Fine("reads 64 bits"),
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 1010 000000010 0 helper
1010 10 9 0
` + exampleMainCFI + exampleHelperCFI},
	Good: exampleTwo,
	Refs: []string{symbolFilesDoc},
}

var formatTruncated = &lint.Rule{
	Name: "format-truncated", Family: "format", Severity: lint.Error,
	Summary: "the file ends inside a record",
	Why: "The upload was cut, the disk was full, or two writers shared an output. STACK CFI comes last in a file, so it is what disappears first: " +
		"names and lines are still there, and the walks are wrong. Google's reader notices nothing; rust-minidump refuses the file.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "reads what is there and misses the rest without a word"},
		refusesFile,
		{Impact: lint.Loses, Text: "reads what is there and misses the rest without a word"},
	},
	Bad: lint.Example{Line: 7, Text: exampleHead + exampleMain + exampleMainCFI + "STACK CFI 1004 $rbp: .cfa -16"},
	Good: exampleHead + exampleMain + exampleMainCFI + "STACK CFI 1004 $rbp: .cfa -16 + ^ .cfa: $rsp 16 +\n" +
		"STACK CFI 100f .cfa: $rsp 8 +\n",
	Evidence: "Breakpad commit 02dd5c3f: parallel runs overwrote each other's output",
	Refs:     []string{symbolFilesDoc},
}

var formatNoFinalNewline = &lint.Rule{
	Name: "format-no-final-newline", Family: "format", Severity: lint.Error,
	Summary: "the last record is complete, but no newline follows it",
	Why: "rust-minidump reads line by line and cannot know that the last one is complete: it refuses the file (\"unexpected EOF\"). The others " +
		"do not mind.",
	Effects: lint.Effects{lint.Fine("does not need it"), refusesFile, lint.Fine("does not need it")},
	Bad:     lint.Example{Line: 6, Text: strings.TrimSuffix(exampleOne, "\n")},
	Good:    exampleOne,
	Refs:    []string{symbolFilesDoc},
}

var formatLineEnding = &lint.Rule{
	Name: "format-line-ending", Family: "format", Severity: lint.Warning, Also: []lint.Severity{lint.Info, lint.Error},
	Summary: "lines do not all end in LF",
	Why: "A file with CR LF throughout is read by everybody (info). Mixed line ends hint at files put together from parts, or at an editor " +
		"(warning, at the first line of the minority). A CR alone is a different thing: Google's reader ends the record there, so that a name " +
		"with a CR in it becomes a shorter name and a bogus record, rust-minidump refuses the file, and symbolic keeps the CR in the name " +
		"(error where it cuts a record).",
	Effects: lint.Effects{
		lint.Fine("takes any of CR and LF for the end of a line"),
		lint.Fine("takes any number of CR before LF"),
		lint.Fine("takes one CR before LF"),
	},
	Bad:      lint.Example{Line: 5, Text: exampleHead + "FUNC 1000 10 0 main\n1000 10 3 0\r\n" + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "Breakpad's Windows test files end in CR LF; changelog of mozilla/dump_syms 2.1.1: line breaks in INLINE_ORIGIN",
	Refs:     []string{symbolFilesDoc + "#overview"},
}

var formatEncoding = &lint.Rule{
	Name: "format-encoding", Family: "format", Severity: lint.Error, Also: []lint.Severity{lint.Warning},
	Summary: "bytes that do not belong into text: NUL, byte-order mark, UTF-16, invalid UTF-8, control characters",
	Why: "PowerShell's `>` writes UTF-16 with a byte-order mark: no reader finds symbols in such a file. A byte-order mark alone hides the first " +
		"record, which is MODULE. Bytes that are no UTF-8 make rust-minidump refuse the file and symbolic the record. A NUL becomes `_` in " +
		"Google's reader and calls the symbols corrupt. Other control characters are kept by everybody and end up in terminals and reports; a TAB " +
		"in a name is a warning.",
	Effects: lint.Effects{
		lint.Fine("keeps the bytes"),
		refusesFile,
		{Impact: lint.Loses, Text: "skips the record, or fails on the function it belongs to"},
	},
	Bad:      lint.Example{Line: 4, Text: exampleHead + "FUNC 1000 10 0 gr\xfc\xdfe\n1000 10 3 0\n" + exampleMainCFI},
	Good:     exampleHead + "FUNC 1000 10 0 grüße\n1000 10 3 0\n" + exampleMainCFI,
	Evidence: "https://github.com/rust-minidump/rust-minidump/issues/903",
	Refs:     []string{symbolFilesDoc + "#overview"},
}

var formatSpacing = &lint.Rule{
	Name: "format-spacing", Family: "format", Severity: lint.Warning, Also: []lint.Severity{lint.Error, lint.Info},
	Summary: "tabs, or leading, repeated or trailing blanks",
	Why: "Fields are separated by one blank. A TAB is no separator to Google's reader: the numbers around it cannot be read. A blank before the " +
		"keyword hides the record from Google's reader and symbolic, and rust-minidump refuses the file; so it does when a blank follows a line or INLINE " +
		"record. Blanks before a name become part of it in Google's reader. Where a consumer loses something it is an error, otherwise a warning; " +
		"blanks behind STACK records, such as PDB files have behind their programs, are info.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "takes surplus blanks for a part of the name"},
		lint.Fine("skips them"),
		lint.Fine("skips them"),
	},
	Bad:  lint.Example{Line: 4, Text: exampleHead + "FUNC 1000 10 0  main\n1000 10 3 0\n" + exampleMainCFI},
	Good: exampleOne,
	Refs: []string{symbolFilesDoc + "#overview"},
}

var formatBlankLine = &lint.Rule{
	Name: "format-blank-line", Family: "format", Severity: lint.Error, Also: []lint.Severity{lint.Warning, lint.Info},
	Summary: "a blank line",
	Why: "For rust-minidump a blank line ends the FUNC or STACK CFI INIT it stands in: the line record or STACK CFI behind it belongs to nothing and the " +
		"file is refused (error). Before 0.22 it also refused files that end in blank lines behind STACK CFI (error). symbolic reads INFO and " +
		"FILE records up to the first line that is neither (warning). Elsewhere a blank line is harmless (info, one finding a file). A line of " +
		"blanks only is no blank line to anybody: Google's reader counts an error, rust-minidump refuses the file.",
	Effects: lint.Effects{
		lint.Fine("never sees blank lines"),
		{Impact: lint.Rejects, Text: "ends the block there and refuses the file for what follows"},
		lint.Fine("skips it"),
	},
	Bad:      lint.Example{Line: 5, Text: exampleHead + "FUNC 1000 10 0 main\n\n1000 10 3 0\n" + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "https://github.com/rust-minidump/rust-minidump/issues/1010",
	Refs:     []string{symbolFilesDoc},
}

var formatRecordOrder = &lint.Rule{
	Name: "format-record-order", Family: "format", Severity: lint.Warning, Also: []lint.Severity{lint.Error, lint.Info},
	Summary: "records stand where a consumer does not look for them",
	Why: "symbolic, and Sentry with it, reads INFO up to the first other record, FILE up to the first record that is none of MODULE, INFO and FILE, " +
		"FUNC and PUBLIC up to the first STACK record, and wants an INLINE_ORIGIN before the INLINE that uses it. Google's Windows writer puts " +
		"INLINE_ORIGIN at the end. The first record out of place is reported, the others are counted.\n\n" +
		"A record between a STACK CFI INIT and its STACK CFI records makes rust-minidump refuse the file (error).",
	Effects: lint.Effects{
		lint.Fine("reads records in any order"),
		lint.Fine("reads records in any order"),
		{Impact: lint.Loses, Text: "does not see them"},
	},
	Bad: lint.Example{Line: 5, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FUNC 1000 10 0 main
1000 10 3 0
FILE 0 /src/main.c
` + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "Breakpad commit e87bb1b3",
	Refs:     []string{symbolFilesDoc},
}

var formatLongLine = &lint.Rule{
	Name: "format-long-line", Family: "format", Severity: lint.Warning,
	Summary: "a line is longer than a consumer's buffer",
	Why: "rust-minidump reads through a buffer that grows to 160 KiB; a line that does not fit, which may happen from 80 KiB on, is skipped without a " +
		"word. symbolic looks at no more than 320 bytes for the MODULE record, which cuts a longer name.",
	Effects: lint.Effects{
		lint.Fine("has no limit"),
		{Impact: lint.Loses, Text: "skips a line that does not fit its buffer"},
		lint.Fine("has no limit but for MODULE"),
	},
	Bad: lint.Example{Line: 1, Text: "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 " + strings.Repeat("very-", 56) + "long\n" +
		exampleOne[strings.IndexByte(exampleOne, '\n')+1:]},
	Good:     exampleOne,
	Evidence: "https://github.com/rust-minidump/rust-minidump/issues/529",
	Refs:     []string{symbolFilesDoc + "#module-records"},
}

var formatErrorBudget = &lint.Rule{
	Name: "format-error-budget", Family: "format", Severity: lint.Error,
	Summary: "more errors than Breakpad reads past: everything behind is lost",
	Why: "Google's reader counts records it cannot read, line records without a function, and PUBLIC records at an address that has one. At the " +
		"101st it stops and keeps what came before, logging only the first five. INLINE and INLINE_ORIGIN records do not count. The finding stands " +
		"at the record where reading stops.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "stops reading here"},
		lint.Fine("does not count"),
		lint.Fine("does not count"),
	},
	Bad:      lint.Example{Line: 108, Text: exampleOne + strings.Repeat("PUBLIC 2000 0 alias\n", 102) + "PUBLIC 3000 0 lost\n"},
	Good:     exampleOne,
	Evidence: "103 PUBLIC records at one address, run through Google's reader: the FUNC records behind them were lost",
	Refs:     []string{symbolFilesDoc},
}
