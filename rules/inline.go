package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var inlineFamily = &lint.Analyzer{
	Name: "inline",
	Rules: []*lint.Rule{
		inlineOrphan, inlineForm, inlineOriginUndefined, inlineOriginDuplicate, inlineDepth, inlineNesting, inlineRange,
		inlineCallsiteFile, inlineRangeLimit,
	},
	Kinds: []symfile.Kind{symfile.File, symfile.InlineOrigin, symfile.Func, symfile.Public, symfile.Inline},
	New:   func(p *lint.Pass) lint.Checker { return &inlineChecker{pass: p} },
}

// The parts of the examples: helper is inlined into main.
const (
	exampleOrigin = "INLINE_ORIGIN 0 helper\n"
	exampleInline = exampleHead + exampleOrigin + `FUNC 1000 10 0 main
INLINE 0 5 0 0 1004 8
1000 4 4 0
1004 8 12 0
100c 4 6 0
` + exampleMainCFI
)

var inlineOrphan = &lint.Rule{
	Name: "inline-orphan", Family: "inline", Severity: lint.Error,
	Summary: "an INLINE record that belongs to no function",
	Why: "An INLINE record belongs to the FUNC before it. Before the first FUNC, behind a PUBLIC and behind a FUNC that it rejected, Google's " +
		"reader has none and dereferences a null pointer: whatever processes the crash dump dies. rust-minidump refuses the file. Behind a record " +
		"of another kind within the function (FILE, INFO, STACK …) Google's reader still knows the function; the others do not. A run of such " +
		"records is one finding.",
	Effects: lint.Effects{
		{Impact: lint.Crashes, Text: "dereferences a null pointer and dies"},
		{Impact: lint.Rejects, Text: "refuses the whole file"},
		{Impact: lint.Loses, Text: "ignores the record"},
	},
	Bad: lint.Example{Line: 5, Text: exampleHead + exampleOrigin + `INLINE 0 5 0 0 1004 8
` + exampleMain + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "executed with Breakpad's BasicSourceLineResolver at 418aacd6",
	Refs:     []string{symbolFilesDoc + "#inline-records"},
}

var inlineForm = &lint.Rule{
	Name: "inline-form", Family: "inline", Severity: lint.Error, Also: []lint.Severity{lint.Warning},
	Summary: "INLINE or INLINE_ORIGIN is read in another form than it was written in",
	Why: "There are two forms of both records. INLINE has a call-site file in the new one, and only the number of words tells them apart: an odd " +
		"number means the old form. A missing or surplus word therefore shifts every value, and Google's reader stores ranges of garbage. " +
		"INLINE_ORIGIN had a file id before the name in the old form, so a name whose first word is a number loses it.\n\n" +
		"Records of both forms in one file mean that some of them are misread. A file that holds only the old form is read by Google's reader " +
		"as it was meant and by nobody else; that is one warning.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "reads the values in the wrong places and stores a garbage range"},
		{Impact: lint.Rejects, Text: "knows the new form only and refuses the whole file"},
		{Impact: lint.Loses, Text: "knows the new form only and refuses the record"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleOrigin + `FUNC 1000 10 0 main
INLINE 0 5 0 0 1004
1000 10 4 0
` + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "executed with Breakpad's BasicSourceLineResolver at 418aacd6; https://github.com/mozilla-services/minidump-stackwalk/issues/49",
	Refs:     []string{symbolFilesDoc + "#inline-records", symbolFilesDoc + "#inline_origin-records"},
}

var inlineOriginUndefined = &lint.Rule{
	Name: "inline-origin-undefined", Family: "inline", Severity: lint.Error,
	Summary: "INLINE records name an origin that is not defined",
	Why: "No INLINE_ORIGIN record, before or behind, has the id, so the inlined function has no name. Each id is one finding, at its first " +
		"use.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "shows <name omitted>"},
		{Impact: lint.Loses, Text: "omits the inlined frame"},
		{Impact: lint.Loses, Text: "shows an empty name"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleOrigin + `FUNC 1000 10 0 main
INLINE 0 5 0 7 1004 8
1000 10 4 0
` + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "https://github.com/mozilla/dump_syms/issues/511, https://github.com/mozilla/dump_syms/issues/543",
	Refs:     []string{symbolFilesDoc + "#inline_origin-records"},
}

var inlineOriginDuplicate = &lint.Rule{
	Name: "inline-origin-duplicate", Family: "inline", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
	Summary: "one INLINE_ORIGIN id names two functions",
	Why: "When an id is defined twice, Breakpad shows the first name and rust-minidump and symbolic the last. An exact repeat only wastes space " +
		"and is reported as info.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "keeps the first name"},
		{Impact: lint.Degraded, Text: "keeps the last name"},
		{Impact: lint.Degraded, Text: "keeps the last name"},
	},
	Bad: lint.Example{Line: 5, Text: exampleHead + exampleOrigin + `INLINE_ORIGIN 0 other
FUNC 1000 10 0 main
INLINE 0 5 0 0 1004 8
1000 10 4 0
` + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "https://chromium.googlesource.com/breakpad/breakpad/+/9f96d5c7",
	Refs:     []string{symbolFilesDoc + "#inline_origin-records"},
}

var inlineDepth = &lint.Rule{
	Name: "inline-depth", Family: "inline", Severity: lint.Warning,
	Summary: "the nesting level of an INLINE record skips a level",
	Why: "A function inlined at level 2 is inlined into one of level 1, whose record must stand before it. Where that is missing, Google's reader " +
		"drops the record (a function's first may be of level 1), and rust-minidump, which looks for one level after the other, stops at the " +
		"gap. Further records that are dropped with the first are part of the finding.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "drops the record"},
		{Impact: lint.Loses, Text: "stops at the missing level and does not show the inlined frame"},
		{Impact: lint.Degraded, Text: "attaches the function to the wrong caller or to none"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleOrigin + `FUNC 1000 10 0 main
INLINE 2 5 0 0 1004 8
1000 10 4 0
` + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "AppendInline in Breakpad's basic_source_line_resolver.cc",
	Refs:     []string{symbolFilesDoc + "#inline-records"},
}

var inlineNesting = &lint.Rule{
	Name: "inline-nesting", Family: "inline", Severity: lint.Warning,
	Summary: "ranges of INLINE records overlap without being nested",
	Why: "What is inlined into a function lies within it, and what is inlined side by side does not overlap. Google's reader ignores the levels and " +
		"derives the nesting from the ranges: one that overlaps another in part is dropped, a neighbour that contains another becomes its " +
		"caller. rust-minidump looks at one range a level only and misses the others.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "drops a range that overlaps another in part, and nests one that lies in another"},
		{Impact: lint.Loses, Text: "finds one range a level, others hide behind it"},
		{Impact: lint.Degraded, Text: "shows an inlined frame without or with the wrong caller"},
	},
	Bad: lint.Example{Line: 7, Text: exampleHead + exampleOrigin + `FUNC 1000 10 0 main
INLINE 0 5 0 0 1004 6
INLINE 1 6 0 0 1008 4
1000 10 4 0
` + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "https://github.com/getsentry/symbolic/issues/718, https://github.com/getsentry/symbolic/issues/720",
	Refs:     []string{symbolFilesDoc + "#inline-records"},
}

var inlineRange = &lint.Rule{
	Name: "inline-range", Family: "inline", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
	Summary: "a range of an INLINE record lies outside its function or is empty",
	Why: "Inlined frames are looked up in the function that contains the address; what reaches beyond that function is never shown. Google's " +
		"writer repeats all INLINE records under each part of a split function, so a range that lies in another function of the same name is " +
		"no defect. Empty ranges (info, all of a file's are one finding) stand for inlined code that left no instruction.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "never shows the part outside the function"},
		{Impact: lint.Loses, Text: "never shows the part outside the function"},
		{Impact: lint.Loses, Text: "drops the inlined function"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleOrigin + `FUNC 1000 10 0 main
INLINE 0 5 0 0 1004 20
1000 10 4 0
` + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "https://github.com/getsentry/symbolic/pull/747, https://chromium.googlesource.com/breakpad/breakpad/+/647aa17a",
	Refs:     []string{symbolFilesDoc + "#inline-records"},
}

var inlineCallsiteFile = &lint.Rule{
	Name: "inline-callsite-file", Family: "inline", Severity: lint.Warning, Also: []lint.Severity{lint.Error},
	Summary: "the call site of an INLINE record is in no known file",
	Why: "The id of the file from which the inlined function is called is not defined; the calling frame shows the wrong file or none. Each id is " +
		"one finding, at its first use.\n\n" +
		"Google's writer puts -1 for a call site without a file. Its own reader knows that; rust-minidump refuses the whole file because of it " +
		"(error, one finding a file).",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "shows the physical frame's own file for the caller"},
		{Impact: lint.Loses, Text: "shows the caller without a file"},
		{Impact: lint.Loses, Text: "shows the caller without a file"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleOrigin + `FUNC 1000 10 0 main
INLINE 0 5 7 0 1004 8
1000 10 4 0
` + exampleMainCFI},
	Good:     exampleInline,
	Evidence: "Module::WriteInlines in Breakpad's module.cc; https://github.com/mozilla/dump_syms/issues/466",
	Refs:     []string{symbolFilesDoc + "#inline-records"},
}

var inlineRangeLimit = &lint.Rule{
	Name: "inline-range-limit", Family: "inline", Severity: lint.Warning,
	Summary: "an INLINE record has more ranges than Breakpad reads",
	Why: "Google's reader cuts a record into 512 words at most, which is 254 ranges. It does not see the others: the inlined function is missing " +
		"from stacks that run through them.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "reads the first 254 ranges"},
		lint.Fine("reads all ranges"),
		lint.Fine("reads all ranges"),
	},
	Bad:      lint.Example{Line: 6, Text: exampleHead + exampleOrigin + exampleManyRanges()},
	Good:     exampleInline,
	Evidence: "executed with Breakpad's BasicSourceLineResolver at 418aacd6",
	Refs:     []string{symbolFilesDoc + "#inline-records"},
}
