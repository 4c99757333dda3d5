package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var lineFamily = &lint.Analyzer{
	Name: "line",
	Rules: []*lint.Rule{
		lineOrphan, lineOutsideFunc, lineOverlap, lineUndefinedFile, lineZeroSize, lineNumberZero, lineOrder, lineGap,
	},
	Kinds: []symfile.Kind{symfile.File, symfile.Func, symfile.Public, symfile.Inline, symfile.Line},
	New:   func(p *lint.Pass) lint.Checker { return newLineChecker(p) },
}

var lineOrphan = &lint.Rule{
	Name: "line-orphan", Family: "line", Severity: lint.Error,
	Summary: "a line record that belongs to no function",
	Why: "A line record belongs to the FUNC before it. Before the first FUNC and behind a PUBLIC there is none: Google's reader counts an error " +
		"for each and reads nothing more behind the hundred-and-first, rust-minidump refuses the whole file. Behind a record of another kind " +
		"within the function (FILE, INFO, STACK …) Google's reader still knows the function; the others do not. A run of such records is one " +
		"finding. (Lines behind a FUNC that cannot be read are part of that finding.)",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "drops the line, counts an error and calls the symbols corrupt"},
		{Impact: lint.Rejects, Text: "refuses the whole file"},
		{Impact: lint.Loses, Text: "ignores the line"},
	},
	Bad: lint.Example{Line: 4, Text: exampleHead + `ff0 10 2 0
` + exampleMain + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "TestInvalidLoads of Breakpad's basic_source_line_resolver_unittest",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}

var lineOutsideFunc = &lint.Rule{
	Name: "line-outside-func", Family: "line", Severity: lint.Warning,
	Summary: "a line record reaches outside its function",
	Why: "Lines are looked up only after the function has been found, so what lies outside of it is never shown. Either the function's range or " +
		"the line is wrong; in the second case code of another function lost its line. Symbol servers that look up lines first have answered " +
		"with another function and a negative offset. All of a function's are one finding.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "never shows the part outside the function"},
		{Impact: lint.Loses, Text: "never shows the part outside the function"},
		{Impact: lint.Loses, Text: "drops the line"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + `FUNC 1000 10 0 main
1000 c 3 0
100c 8 4 0
` + exampleMainCFI},
	Good: exampleHead + `FUNC 1000 10 0 main
1000 c 3 0
100c 4 4 0
` + exampleMainCFI,
	Evidence: "1738 lines of Breakpad's i386 macOS test file; https://github.com/getsentry/symbolic/issues/746",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}

var lineOverlap = &lint.Rule{
	Name: "line-overlap", Family: "line", Severity: lint.Warning,
	Summary: "a line record reaches into the next one",
	Why: "Of two overlapping lines of a function one is dropped without a word: Google's reader keeps the one it reads first, rust-minidump the " +
		"one with the lowest start. The addresses of the other have no line then, or the wrong one. The finding stands at the record that " +
		"reaches into the other; when one covers many, it is one finding.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "keeps the line that comes first in the file and drops the other"},
		{Impact: lint.Loses, Text: "keeps the line with the lowest start and drops the other"},
		{Impact: lint.Degraded, Text: "keeps both and shows one of them"},
	},
	Bad: lint.Example{Line: 5, Text: exampleHead + `FUNC 1000 10 0 main
1000 c 3 0
1008 8 4 0
` + exampleMainCFI},
	Good: exampleHead + `FUNC 1000 10 0 main
1000 8 3 0
1008 8 4 0
` + exampleMainCFI,
	Evidence: "the RangeMap of Breakpad refuses what overlaps; https://github.com/getsentry/symbolic/issues/719",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}

var lineUndefinedFile = &lint.Rule{
	Name: "line-undefined-file", Family: "line", Severity: lint.Warning,
	Summary: "line records name a file that is not defined",
	Why: "No FILE record, before or behind, has the id. Frames in these lines show a line number without a file, or neither: Google's tools print " +
		"function and offset only. Each id is one finding, at its first use.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "shows function and offset, neither file nor line"},
		{Impact: lint.Loses, Text: "shows the line without a file"},
		{Impact: lint.Loses, Text: "shows the line without a file"},
	},
	Bad: lint.Example{Line: 5, Text: exampleHead + `FUNC 1000 10 0 main
1000 c 3 7
100c 4 4 0
` + exampleMainCFI},
	Good: exampleHead + `FUNC 1000 10 0 main
1000 c 3 0
100c 4 4 0
` + exampleMainCFI,
	Evidence: "two ids of Breakpad's crash_example.sym",
	Refs:     []string{symbolFilesDoc + "#file-records", symbolFilesDoc + "#line-records"},
}

var lineZeroSize = &lint.Rule{
	Name: "line-zero-size", Family: "line", Severity: lint.Info,
	Summary: "line records without bytes",
	Why:     "They cover no address and are dropped. PDB files contain many, for statements that need no code. All of a file's are one finding.",
	Effects: lint.Same(lint.Degraded, "drops the record"),
	Bad: lint.Example{Line: 5, Text: exampleHead + `FUNC 1000 10 0 main
1000 0 2 0
1000 10 3 0
` + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "462 records of Breakpad's test_app.sym",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}

var lineNumberZero = &lint.Rule{
	Name: "line-number-zero", Family: "line", Severity: lint.Info,
	Summary: "line records with line number 0",
	Why: "Compilers use 0 for code that no source line stands for. Frames in it are shown with line 0, which is shown like any other line. All " +
		"of a file's are one finding.",
	Effects: lint.Same(lint.Degraded, "shows line 0"),
	Bad: lint.Example{Line: 6, Text: exampleHead + `FUNC 1000 10 0 main
1000 c 3 0
100c 4 0 0
` + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "12366 records of rust-minidump's crash-client test file",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}

var lineOrder = &lint.Rule{
	Name: "line-order", Family: "line", Severity: lint.Info,
	Summary: "line records of a function are not in ascending order",
	Why: "Readers sort, so the order costs nothing by itself; it decides which of two overlapping lines Google's reader keeps. Lines out of " +
		"order come from functions whose blocks were moved. All of a function's are one finding.",
	Effects: lint.Same(lint.Unaffected, "sorts the records"),
	Bad: lint.Example{Line: 6, Text: exampleHead + `FUNC 1000 10 0 main
1008 8 4 0
1000 8 3 0
` + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "Breakpad's omap_reorder_bbs.sym",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}

var lineGap = &lint.Rule{
	Name: "line-gap", Family: "line", Severity: lint.Info,
	Summary: "code of a function without line records between others that have them",
	Why: "Frames in the gap show the function only. Small gaps are alignment and jump tables; large ones are lost lines. Functions without any " +
		"line are `func-without-lines`. All of a file's gaps are one finding.",
	Effects: lint.Same(lint.Degraded, "shows the function without file and line"),
	Bad: lint.Example{Line: 4, Text: exampleHead + `FUNC 1000 10 0 main
1000 8 3 0
` + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "https://github.com/getsentry/symbolic/issues/284",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}
