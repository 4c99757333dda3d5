package rules

import "github.com/symlint/symlint/lint"

const (
	winHead = `MODULE windows x86 D892A5DF6477A8E41E03C1EB4BC7DE3D1 app.pdb
INFO CODE_ID 5F3A1C2240000 app.exe
FILE 0 c:\src\main.c
FUNC 1000 10 8 walk
1000 10 3 0
FUNC 1010 10 0 probe
1010 10 9 0
`
	winFrame = "STACK WIN 4 1000 10 3 0 8 0 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n"
	winFPO   = "STACK WIN 0 1010 10 0 0 0 0 0 0 0 0\n"
	winGood  = winHead + winFrame + winFPO

	stackWinDoc = symbolFilesDoc + "#stack-win-records"
)

var winType = &lint.Rule{
	Name: "win-type", Family: "win", Severity: lint.Error, Also: []lint.Severity{lint.Warning},
	Summary: "a STACK WIN record is of a type that no walker reads, or stands in a module that is not for x86",
	Why: "Walkers use records of type 4 (FRAME_DATA, with a program) and 0 (FPO). The types 1 to 3 exist in the format, are kept and never asked " +
		"for (warning); any other type is an error, and so is a type of two digits, for which rust-minidump rejects the file. Only the x86 " +
		"walkers look at STACK WIN at all: in a module for another CPU the records show that the file was put together from two, or that its " +
		"MODULE line names the wrong CPU (warning). All warnings of one cause are one finding.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "drops the record and marks the module as corrupt"},
		{Impact: lint.Loses, Text: "drops the record"},
		{Impact: lint.Loses, Text: "drops the record"},
	},
	Bad: lint.Example{Line: 8, Text: winHead +
		"STACK WIN 7 1000 10 3 0 8 0 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n" + winFPO},
	Good:     winGood,
	Evidence: "WindowsFrameInfo::ParseFromString in Breakpad's windows_frame_info.h; https://github.com/rust-minidump/rust-minidump/issues/252",
	Refs:     []string{stackWinDoc},
}

var winFlagMismatch = &lint.Rule{
	Name: "win-flag-mismatch", Family: "win", Severity: lint.Error,
	Summary: "the type of a STACK WIN record and its has_program_string flag disagree",
	Why: "The last field of a record of type 4 is a program, that of type 0 a flag; the field before it says which. rust-minidump keeps a record " +
		"only if both say the same. Google's reader believes the flag: text that is no program then fails to evaluate, and a program that is " +
		"not announced is read as a number.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "believes the flag"},
		{Impact: lint.Loses, Text: "drops the record"},
		{Impact: lint.Degraded, Text: "hands the record on"},
	},
	Bad: lint.Example{Line: 8, Text: winHead +
		"STACK WIN 4 1000 10 3 0 8 0 4 0 0 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n" + winFPO},
	Good:     winGood,
	Evidence: "https://github.com/rust-minidump/rust-minidump/issues/252; Breakpad's linux-gate-intel.sym has a type 4 record without a program",
	Refs:     []string{stackWinDoc},
}

var winProgram = &lint.Rule{
	Name: "win-program", Family: "win", Severity: lint.Error,
	Summary: "the program of a STACK WIN record cannot be evaluated or does not compute the caller's $eip and $esp",
	Why: "A program is a sequence of assignments in reverse Polish order: variable, expression, `=`. It may read `$ebp`, `$esp`, `$ebx`, " +
		"`.raSearch`, `.raSearchStart`, `.cbLocals`, `.cbSavedRegs`, `.cbParams`, `.cbCalleeParams` and what it has assigned itself; names " +
		"it assigns begin with `$`; and when it is done the stack must be empty and `$eip` and `$esp` assigned. Walkers find out only when " +
		"they need the frame: then they scan the stack for something that looks like a return address.\n\nEach text is judged once; the " +
		"finding stands at every record that has it. `=$eip`, without the blank, is how MSVC's link-time code generation writes assignments, " +
		"and every walker reads it.",
	Effects: winFails,
	Bad: lint.Example{Line: 8, Text: winHead +
		"STACK WIN 4 1000 10 3 0 8 0 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ $esp $T0 8 + =\n" + winFPO},
	Good: winGood,
	Evidence: "the programs of Breakpad's module1.out, which read $eip before they assign it; " +
		"https://github.com/rust-minidump/rust-minidump/issues/393",
	Refs: []string{stackWinDoc},
}

var winTemporaries = &lint.Rule{
	Name: "win-program-temporaries", Family: "win", Severity: lint.Warning,
	Summary: "programs restore registers under CodeView numbers, which no walker reads back",
	Why: "Newer versions of MSVC write saved registers as `$20` (ebx), `$23` (esi) and `$24` (edi) instead of by name. To a walker these are " +
		"variables of the program's own, so the restored values are lost: the caller is shown with the callee's registers, and a frame " +
		"further up whose program starts from `$ebx` comes out wrong. In such a file 30 to 60 of 100 programs do so; all restores of one " +
		"register are one finding.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "does not recover the register"},
		{Impact: lint.Degraded, Text: "keeps the callee's value of the register"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	},
	Bad: lint.Example{Line: 8, Text: winHead +
		"STACK WIN 4 1000 10 3 0 8 4 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $20 $T0 8 - ^ =\n" + winFPO},
	Good: winHead +
		"STACK WIN 4 1000 10 3 0 8 4 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + = $ebx $T0 8 - ^ =\n" + winFPO,
	Evidence: "1890 of 4972 programs in basic32.sym of mozilla/dump_syms, 1549 of 2477 in Breakpad's omap_reorder_bbs.sym",
	Refs:     []string{stackWinDoc},
}

var winOverlap = &lint.Rule{
	Name: "win-overlap", Family: "win", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
	Summary: "STACK WIN records of one type collide",
	Why: "Google's reader wants the ranges of one type to lie within each other or apart, and drops the later of two that overlap in part or are " +
		"equal. rust-minidump compares each record with the one before it in the file: where the new one begins above it, the old one ends " +
		"there; where not, the new one is dropped.\n\n" +
		"A record that reaches into one of the next function is a warning, and so are different frames for one range, which files have " +
		"whose code was reordered after linking (one finding). MSVC itself writes records that overlap within one function, where registers " +
		"are saved one after another (info). Nested records are well-formed, yet rust-minidump has no frame for what follows the inner one; " +
		"how much code that is, is one finding (info).",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "keeps this record and drops the one it reaches into"},
		{Impact: lint.Degraded, Text: "ends this record where the other begins"},
		{Impact: lint.Degraded, Text: "hands both on"},
	},
	Bad: lint.Example{Line: 8, Text: winHead +
		"STACK WIN 4 1000 18 3 0 8 0 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n" +
		"STACK WIN 4 1010 10 0 0 0 0 0 0 1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =\n"},
	Good: winHead + winFrame + "STACK WIN 4 1010 10 0 0 0 0 0 0 1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =\n",
	Evidence: "the pair 4242 1a and 4243 2e that a comment in Breakpad's basic_source_line_resolver.cc names; " +
		"https://github.com/rust-minidump/rust-minidump/issues/240",
	Refs: []string{stackWinDoc},
}

var winRange = &lint.Rule{
	Name: "win-range", Family: "win", Severity: lint.Warning,
	Summary: "the range of a STACK WIN record is empty, implausibly large or runs out of the address space",
	Why: "A record without bytes covers nothing and is dropped. One of 16 MiB or more, or one that ends beyond 4 GiB, was computed from a bad end " +
		"address: it claims the code of everything behind it, also of functions that have no frame data of their own.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "uses the record for everything in its range that no narrower one covers"},
		{Impact: lint.Degraded, Text: "uses the record up to the next one"},
		{Impact: lint.Loses, Text: "skips frame data of 2 GiB and more"},
	},
	Bad:      lint.Example{Line: 9, Text: winHead + winFrame + "STACK WIN 0 1010 fffffff0 0 0 0 0 0 0 0 0\n"},
	Good:     winGood,
	Evidence: "the size checks of symbolic-cfi's PDB reader; https://github.com/getsentry/symbolic/issues/513",
	Refs:     []string{stackWinDoc},
}

var winParamSize = &lint.Rule{
	Name: "win-param-size", Family: "win", Severity: lint.Warning,
	Summary: "the parameter size of a STACK WIN record contradicts the function it belongs to",
	Why: "A walker adds the parameter size of the function that was called to find the caller's frame, and takes it from STACK WIN wherever there " +
		"is a record. The record and the FUNC at its address, or the `@N` of a stdcall or fastcall name there, tell different sizes; or the " +
		"size is no multiple of four. Healthy files differ by one word where a hidden parameter is counted on one side only, and a zero " +
		"stands for \"not known\"; neither is reported. (`func-param-size` speaks of such pairs from the FUNC's side.)",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "believes STACK WIN, which displaces the frames of the callers"},
		{Impact: lint.Degraded, Text: "believes STACK WIN, which displaces the frames of the callers"},
		lint.Fine("hands the size on"),
	},
	Bad: lint.Example{Line: 8, Text: winHead +
		"STACK WIN 4 1000 10 3 0 18 0 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n" + winFPO},
	Good:     winGood,
	Evidence: "https://github.com/rust-minidump/rust-minidump/issues/240, https://github.com/mozilla/dump_syms/issues/284",
	Refs:     []string{stackWinDoc, symbolFilesDoc + "#function-records"},
}

var winPrologue = &lint.Rule{
	Name: "win-prologue", Family: "win", Severity: lint.Warning,
	Summary: "the prologue or epilogue of a STACK WIN record is longer than its code",
	Why: "Both are parts of the range. Walkers do not use the sizes, so the walk does not suffer from them, but a field that cannot be right shows " +
		"that fields were lost or exchanged on the way, and those beside it are used.",
	Effects: lint.Effects{
		lint.Fine("does not use the sizes"),
		lint.Fine("does not use the sizes"),
		{Impact: lint.Degraded, Text: "hands the sizes on"},
	},
	Bad: lint.Example{Line: 8, Text: winHead +
		"STACK WIN 4 1000 10 13 0 8 0 4 0 1 $T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =\n" + winFPO},
	Good:     winGood,
	Evidence: "none of the 13400 records in the MSVC files of Breakpad and mozilla/dump_syms has it",
	Refs:     []string{stackWinDoc},
}

var winCFIConflict = &lint.Rule{
	Name: "win-cfi-conflict", Family: "win", Severity: lint.Warning,
	Summary: "STACK WIN and STACK CFI cover the same code and find the return address in different places",
	Why: "Walkers of x86 modules ask STACK WIN first and STACK CFI only if that fails. Files with both come from mixed tool chains or were merged " +
		"from two. Where both start from the frame pointer, or both from the stack pointer right behind the prologue, the places of the " +
		"return address can be compared; here they differ, so one of the two is wrong. Anything less plain is not judged.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "believes STACK WIN; if that is the wrong one the walk goes astray"},
		{Impact: lint.Loses, Text: "believes STACK WIN; if that is the wrong one the walk goes astray"},
		{Impact: lint.Degraded, Text: "hands both on"},
	},
	Bad: lint.Example{Line: 8, Text: winHead + winFrame + winFPO +
		"STACK CFI INIT 1000 10 .cfa: $esp 4 + .ra: .cfa -4 + ^\n" +
		"STACK CFI 1001 .cfa: $esp 8 + $ebp: .cfa -8 + ^\nSTACK CFI 1003 .cfa: $ebp 12 +\n" +
		"STACK CFI INIT 1010 10 .cfa: $esp 4 + .ra: .cfa -4 + ^\n"},
	Good: winHead + winFrame + winFPO +
		"STACK CFI INIT 1000 10 .cfa: $esp 4 + .ra: .cfa -4 + ^\n" +
		"STACK CFI 1001 .cfa: $esp 8 + $ebp: .cfa -8 + ^\nSTACK CFI 1003 .cfa: $ebp 8 +\n" +
		"STACK CFI INIT 1010 10 .cfa: $esp 4 + .ra: .cfa -4 + ^\n",
	Evidence: "the order of the techniques in Breakpad's stackwalker_x86.cc and in rust-minidump's walk_frame",
	Refs:     []string{stackWinDoc, symbolFilesDoc + "#stack-cfi-records"},
}

// What consumers do with these defects, in the variants that findings need.
var (
	winFails = lint.Effects{
		{Impact: lint.Loses, Text: "cannot evaluate it and scans the stack for a return address"},
		{Impact: lint.Loses, Text: "cannot evaluate it and goes on to STACK CFI, frame pointers and scanning"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	}
	winLeftover = lint.Effects{
		{Impact: lint.Loses, Text: "wants an empty stack at the end and scans for a return address instead"},
		{Impact: lint.Degraded, Text: "ignores what is left and does without that assignment"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	}
	winOddTarget = lint.Effects{
		{Impact: lint.Loses, Text: "assigns only to names that begin with $ and scans for a return address instead"},
		{Impact: lint.Degraded, Text: "assigns it all the same"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	}
	winCrash = lint.Effects{
		{Impact: lint.Crashes, Text: "dies of the evaluation (SIGFPE or a null dereference)"},
		{Impact: lint.Loses, Text: "fails to evaluate the program"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	}
	winNoIP = lint.Effects{
		{Impact: lint.Loses, Text: "wants $eip assigned and scans the stack for a return address"},
		{Impact: lint.Loses, Text: "takes the callee's own $eip for the caller's"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	}
	winNoSP = lint.Effects{
		{Impact: lint.Loses, Text: "wants $esp assigned and scans the stack for a return address"},
		{Impact: lint.Loses, Text: "keeps the callee's $esp, and the walk ends because the stack does not grow"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	}
	winRustFails = lint.Effects{
		{Impact: lint.Unaffected, Text: "computes with the number as it is"},
		{Impact: lint.Loses, Text: "cannot evaluate it and goes on to STACK CFI, frame pointers and scanning"},
		{Impact: lint.Degraded, Text: "hands the program on"},
	}

	winDigits = lint.Effects{
		{Impact: lint.Unaffected, Text: "reads the number"},
		{Impact: lint.Rejects, Text: "wants a single digit"},
		{Impact: lint.Unaffected, Text: "reads the number"},
	}
	winUnused   = lint.Same(lint.Loses, "keeps the record and never asks for it")
	winForeign  = lint.Same(lint.Loses, "keeps the records and never asks for them on another CPU")
	winEmpty    = lint.Same(lint.Loses, "drops the record")
	winFlagText = lint.Effects{
		{Impact: lint.Degraded, Text: "reads the field as a hexadecimal number"},
		{Impact: lint.Degraded, Text: "takes everything but 1 for no"},
		{Impact: lint.Degraded, Text: "hands the field on"},
	}

	winUpperFirst = lint.Same(lint.Loses, "drops this record, which comes later in the file")
	winSplit      = lint.Effects{
		{Impact: lint.Degraded, Text: "keeps the record that comes first in the file; what the other covers beyond it has no frame"},
		{Impact: lint.Unaffected, Text: "ends this record where the other begins, as is meant"},
		{Impact: lint.Unaffected, Text: "hands both on"},
	}
	winSame = lint.Effects{
		{Impact: lint.Loses, Text: "keeps the first record"},
		{Impact: lint.Loses, Text: "keeps the first record"},
		{Impact: lint.Degraded, Text: "hands both on"},
	}
	winNested = lint.Effects{
		{Impact: lint.Unaffected, Text: "finds the outer record again behind the inner one"},
		{Impact: lint.Loses, Text: "ends the outer record where the inner one begins, and has no frame behind it"},
		{Impact: lint.Unaffected, Text: "hands both on"},
	}
)
