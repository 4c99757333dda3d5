package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var funcFamily = &lint.Analyzer{
	Name: "func",
	Rules: []*lint.Rule{
		funcOverlap, funcDuplicate, funcZeroSize, funcWraps, funcHuge, funcAddressZero, funcUnnamed, funcMangledName,
		funcParamSize, funcWithoutLines, funcOrder,
	},
	Kinds: []symfile.Kind{symfile.Func, symfile.Public},
	New:   func(p *lint.Pass) lint.Checker { return &funcChecker{pass: p} },
}

// The parts that the examples of several families are made of.
const (
	exampleHead = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
`
	exampleMain = `FUNC 1000 10 0 main
1000 10 3 0
`
	exampleMainCFI = "STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"

	exampleHelper = `FUNC 1010 10 0 helper
1010 10 9 0
`
	exampleHelperCFI = "STACK CFI INIT 1010 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"

	exampleOne = exampleHead + exampleMain + exampleMainCFI
	exampleTwo = exampleHead + exampleMain + exampleHelper + exampleMainCFI + exampleHelperCFI
)

const symbolFilesDoc = "https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md"

var funcOverlap = &lint.Rule{
	Name: "func-overlap", Family: "func", Severity: lint.Error,
	Summary: "the range of a function reaches into another function",
	Why: "No consumer keeps both: of two overlapping FUNC records one is dropped whole, with its lines and inlines, without a word. Google's " +
		"reader keeps the one it reads first, rust-minidump the one with the lowest start, so an address can have two names depending on " +
		"who reads the file, and addresses that only the dropped function covers have none.\n\n" +
		"The finding stands at the function that reaches into the other. When one oversized function covers many, it is one finding.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "keeps the function that comes first in the file and drops the other with its lines"},
		{Impact: lint.Loses, Text: "keeps the function with the lowest start and drops the other with its lines"},
		{Impact: lint.Degraded, Text: "keeps both; its cache decides which one is shown"},
	},
	Bad: lint.Example{Line: 4, Text: exampleHead + `FUNC 1000 18 0 main
1000 10 3 0
` + exampleHelper + exampleMainCFI + exampleHelperCFI},
	Good:     exampleTwo,
	Evidence: "https://github.com/getsentry/symbolic/issues/285",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}

var funcDuplicate = &lint.Rule{
	Name: "func-duplicate", Family: "func", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
	Summary: "several functions start at one address and none is marked as folded",
	Why: "A linker that folds identical code leaves several functions at one address. A stack can show only one of the names, and which one " +
		"depends on the consumer and on the order of the records. The mark `m` behind FUNC says that the name is one of several; without it the " +
		"name is shown as if it were certain. Exact repeats of one function are info.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "keeps the one that comes first in the file"},
		{Impact: lint.Loses, Text: "keeps the shortest, of equal ones the first"},
		{Impact: lint.Degraded, Text: "keeps all and shows one of them"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 1000 10 0 twin
` + exampleMainCFI},
	Good: exampleHead + `FUNC m 1000 10 0 main
1000 10 3 0
` + exampleMainCFI,
	Evidence: "392 functions of breakpad_unittests for Android/arm; https://chromium.googlesource.com/breakpad/breakpad/+/70914b2d",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}

var funcZeroSize = &lint.Rule{
	Name: "func-zero-size", Family: "func", Severity: lint.Warning,
	Summary: "a function has no bytes",
	Why: "A FUNC of size zero covers no address. Consumers drop it together with its line and inline records, so code that it was meant to " +
		"describe is attributed to whatever PUBLIC lies before it, or to nothing.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "drops the function with its lines and inlines"},
		{Impact: lint.Loses, Text: "drops the function with its lines and inlines"},
		{Impact: lint.Loses, Text: "keeps a function without code and drops its lines"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 1010 0 0 helper
1010 10 9 0
` + exampleMainCFI + exampleHelperCFI},
	Good:     exampleTwo,
	Evidence: "Test_Zero_Size_Function_Is_Ignored in Breakpad's module1.out; https://github.com/getsentry/symbolic/issues/285",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}

var funcWraps = &lint.Rule{
	Name: "func-wraps", Family: "func", Severity: lint.Error,
	Summary: "the end of a function lies beyond the last address",
	Why: "Address plus size does not fit 64 bits. Usually a negative offset was printed as an unsigned address. Consumers drop the function " +
		"together with its line and inline records.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "drops the function with its lines and inlines"},
		{Impact: lint.Loses, Text: "drops the function with its lines and inlines"},
		{Impact: lint.Degraded, Text: "keeps a range that no address lies in"},
	},
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC ffffffffffffff00 200 0 helper
` + exampleMainCFI},
	Good:     exampleTwo,
	Evidence: "Breakpad's RangeMap and rust-minidump's range maps refuse ranges whose end is below their start",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}

var funcHuge = &lint.Rule{
	Name: "func-huge", Family: "func", Severity: lint.Warning,
	Summary: "a function of 16 MiB or more",
	Why: "No compiler makes such functions. The size is a guess of the producer (Google's reader of STABS gives the last function 10000000 " +
		"bytes) or a difference of unrelated addresses. Everything in the range is shown under this one name, and stack scanning takes every " +
		"word that points into it for a return address. Where it swallows other functions `func-overlap` says so instead.",
	Effects: lint.Same(lint.Degraded, "shows the name for everything in the range"),
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 1010 10000000 0 helper
1010 10 9 0
` + exampleMainCFI + exampleHelperCFI},
	Good:     exampleTwo,
	Evidence: "the fallback size of Breakpad's stabs_to_module.cc",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}

var funcAddressZero = &lint.Rule{
	Name: "func-address-zero", Family: "func", Severity: lint.Warning,
	Summary: "functions at an address that stands for discarded code",
	Why: "When a linker discards a function, its debug information stays behind and points to address 0, 1 or all ones. Such functions do not " +
		"exist in the module. They overlap each other, and of those at low addresses one claims the module's header. A file with all its " +
		"functions at 0 was made from an object file that is not linked yet.\n\nAll of a file's are one finding; that they overlap is part of it.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "keeps the first and drops the others that overlap it"},
		{Impact: lint.Degraded, Text: "keeps the shortest at each address and drops the others"},
		{Impact: lint.Degraded, Text: "keeps them all"},
	},
	Bad: lint.Example{Line: 4, Text: exampleHead + `FUNC 0 2c 0 discarded
` + exampleMain + exampleMainCFI},
	Good:     exampleOne,
	Evidence: "Breakpad's dump_syms_regtest.o for Solaris; https://github.com/llvm/llvm-project/issues/205691",
	Refs:     []string{"https://chromium.googlesource.com/breakpad/breakpad/+/862c9f47"},
}

var funcUnnamed = &lint.Rule{
	Name: "func-unnamed", Family: "func", Severity: lint.Warning,
	Summary: "a placeholder stands for the function's name",
	Why: "The producer found no name. Crashes in all these functions look alike, and crash grouping puts them together. (A record without any " +
		"name is `format-bad-field`; a PUBLIC with a placeholder marks the end of the code and is no defect.) All functions with one placeholder " +
		"are one finding.",
	Effects: lint.Same(lint.Degraded, "shows the placeholder"),
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 1010 10 0 <name omitted>
1010 10 9 0
` + exampleMainCFI + exampleHelperCFI},
	Good:     exampleTwo,
	Evidence: "https://github.com/electron/electron/issues/19475, https://github.com/mozilla/dump_syms/issues/197",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}

var funcMangledName = &lint.Rule{
	Name: "func-mangled-name", Family: "func", Severity: lint.Info,
	Summary: "mangled names in a file whose names are demangled",
	Why: "The producer demangles names and left some as they are: its demangler does not know the scheme or gave up. They are hard to read, and " +
		"crash grouping that compares names with those of other builds does not match them.",
	Effects: lint.Same(lint.Degraded, "shows the name as it stands"),
	Bad: lint.Example{Line: 6, Text: exampleHead + `FUNC 1000 10 0 app::main(int)
1000 10 3 0
FUNC 1010 10 0 _ZN3app6helperEv
1010 10 9 0
FUNC 1020 10 0 app::other(int)
1020 10 15 0
` + exampleMainCFI + exampleHelperCFI + "STACK CFI INIT 1020 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"},
	Good: exampleHead + `FUNC 1000 10 0 app::main(int)
1000 10 3 0
FUNC 1010 10 0 app::helper()
1010 10 9 0
` + exampleMainCFI + exampleHelperCFI,
	Evidence: "the PUBLIC records of breakpad_unittests for Android/arm; dump_syms 2.0.0 release notes",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}

var funcParamSize = &lint.Rule{
	Name: "func-param-size", Family: "func", Severity: lint.Info,
	Summary: "the size of the parameters contradicts STACK WIN or the decorated name",
	Why: "On 32-bit Windows the callee removes its parameters from the stack, and a walker needs their size to find the caller's frame. It is " +
		"written in the FUNC record, in the STACK WIN record of the same address and, as `@N`, in the names of stdcall and fastcall functions. " +
		"Two of them disagree. A zero in FUNC is taken for \"not known\".",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "believes STACK WIN where it has a record, else FUNC"},
		{Impact: lint.Degraded, Text: "believes STACK WIN where it has a record, else FUNC"},
		lint.Fine("does not use the size"),
	},
	Bad: lint.Example{Line: 4, Text: `MODULE windows x86 D892A5DF6477A8E41E03C1EB4BC7DE3D1 app.pdb
INFO CODE_ID 5F3A1C2240000 app.exe
FILE 0 c:\src\main.c
FUNC 1000 10 4 helper
1000 10 3 0
STACK WIN 4 1000 10 0 0 8 0 0 0 1 $eip .raSearch ^ = $esp .raSearch 4 + =
`},
	Good:     exampleOne,
	Evidence: "https://github.com/mozilla/dump_syms/issues/284, https://github.com/rust-minidump/rust-minidump/issues/240",
	Refs:     []string{symbolFilesDoc + "#function-records", symbolFilesDoc + "#stack-win-records"},
}

var funcWithoutLines = &lint.Rule{
	Name: "func-without-lines", Family: "func", Severity: lint.Info,
	Summary: "a function without line records among functions that have them",
	Why: "Frames in the function show its name only. Where whole stretches of a module have no lines, debug information was not available; a " +
		"single function between others that have lines was compiled without, or its lines were lost. All of a file's are one finding.",
	Effects: lint.Same(lint.Degraded, "shows the function without file and line"),
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleMain + `FUNC 1010 10 0 helper
FUNC 1020 10 0 other
1020 10 15 0
` + exampleMainCFI + exampleHelperCFI + "STACK CFI INIT 1020 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"},
	Good:     exampleTwo,
	Evidence: "https://github.com/getsentry/symbolic/issues/284",
	Refs:     []string{symbolFilesDoc + "#line-records"},
}

var funcOrder = &lint.Rule{
	Name: "func-order", Family: "func", Severity: lint.Info,
	Summary: "a FUNC record follows one with a higher address",
	Why: "Readers sort, so the order costs nothing by itself. It decides which of two overlapping functions Google's reader keeps, and files " +
		"in order are easier to compare. Windows producers write the separated blocks of profile-guided builds out of order.",
	Effects: lint.Same(lint.Unaffected, "sorts the records"),
	Bad: lint.Example{Line: 6, Text: exampleHead + exampleHelper + exampleMain + exampleMainCFI +
		exampleHelperCFI},
	Good:     exampleTwo,
	Evidence: "108 steps back in Breakpad's omap_reorder_bbs.sym",
	Refs:     []string{symbolFilesDoc + "#function-records"},
}
