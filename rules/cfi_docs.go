package rules

import "github.com/symlint/symlint/lint"

var cfiMissingCFA = &lint.Rule{
	Name: "cfi-missing-cfa", Family: "cfi", Severity: lint.Error,
	Summary: "no rule for the CFA is in force",
	Why:     "Every consumer needs the canonical frame address (CFA) first: the caller's stack pointer is it, and most other rules count from it. Where no `.cfa` rule is in force the records of the range are useless, and the walk falls back to frame pointers or to scanning the stack for something that looks like a return address.",
	Effects: noCFIEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "libc-2.13.so and ld-2.13.so of Breakpad's own test data: signal trampolines whose CFA is a DWARF expression",
	Refs:     []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#stack-cfi-records"},
}

var cfiMissingRA = &lint.Rule{
	Name: "cfi-missing-ra", Family: "cfi", Severity: lint.Error, Also: []lint.Severity{lint.Info},
	Summary: "no rule for the return address is in force",
	Why:     "Without a `.ra` rule Breakpad and rust-minidump refuse the row, however good its other rules are. On arm64, where the return address is in a register at entry, a dumper that only writes what DWARF says leaves whole files in this state: their stacks were shorter with symbols than without. For outermost functions such as `_start`, which have no caller, it is an info.",
	Effects: noCFIEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 +
`},
	Good:     goodX64,
	Evidence: "mozilla/dump_syms 744 and rust-minidump 1138: arm64 INIT records with .cfa only; every Linux file of mozilla/dump_syms has one for _start",
	Refs:     []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#stack-cfi-records"},
}

var cfiSwapped = &lint.Rule{
	Name: "cfi-swapped-frame-stack", Family: "cfi", Severity: lint.Error,
	Summary: "frame pointer and stack pointer are exchanged",
	Why:     "At a function's entry the return address is on top of the stack, so the CFA is `$esp 4 +`, and after `push %ebp` the frame pointer is found at `.cfa -8 + ^`. DWARF register numbers 4 and 5 mean the opposite of each other in `.eh_frame` and `.debug_frame` of i386 Darwin; clang mixed them up, and the rows come out with the two registers exchanged: CFA from `$ebp` at entry, and a rule that loads the stack pointer from memory. The first step of the walk then takes the frame pointer for the stack pointer. Stacks end after the crashing frame although the same dump walks fine without symbols.\n\nThe rule speaks per function, since only some of a file may be affected, and shows the rows with the registers put back. Code that moves the CFA to the frame pointer in the normal way (`push %ebp; mov %esp,%ebp`) has a rule for the frame pointer and is never meant.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 6, Text: x86Head + `STACK CFI INIT 1000 40 .cfa: $ebp 4 + .ra: .cfa -4 + ^
STACK CFI 1001 $esp: .cfa -8 + ^ .cfa: $ebp 8 +
STACK CFI 1003 .cfa: $esp 8 +
STACK CFI 1007 $esi: .cfa -12 + ^
`},
	Good:     goodX86,
	Evidence: "clang for i386-apple-darwin up to 3.x: one-frame stacks of -[Controller causeCrash]",
	Refs:     []string{"https://bugs.chromium.org/p/google-breakpad/issues/detail?id=443", "https://bugs.chromium.org/p/chromium/issues/detail?id=393594"},
}

var cfiEntryRow = &lint.Rule{
	Name: "cfi-entry-row", Family: "cfi", Severity: lint.Warning, Also: []lint.Severity{lint.Error},
	Summary: "the first row of a function is not the ABI's entry state",
	Why:     "Before a function's first instruction has run, the frame is fixed by the calling convention: on x86 and x86-64 the return address is on top of the stack and the CFA one word above it, on arm, arm64, mips and riscv the CFA is the stack pointer and the return address in the link register. Another first row means exchanged registers, rows shifted by an instruction, or rows of the function's body used for the whole of it. The rule stays silent in files in which this is the rule rather than the exception (Windows, macOS compact unwind), in split-off parts of functions, and for code whose stack is special by its purpose. A turned sign is an error.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 24 + .ra: .cfa -8 + ^
FUNC 2000 10 0 other
2000 10 5 0
STACK CFI INIT 2000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "symbolic's .sym output for arm64 PE files (PR 978): INIT records hold the state behind the first prologue instruction",
}

var cfiSyntax = &lint.Rule{
	Name: "cfi-syntax", Family: "cfi", Severity: lint.Error, Also: []lint.Severity{lint.Warning},
	Summary: "the rule text does not parse as it was meant",
	Why:     "A rule is `name: expression`; the expression is postfix, literals are decimal, and operators are `+ - * / % @ ^`. A missing expression, a forgotten colon (`.cfa: $esp .ra 0` is one expression), a hexadecimal literal or a stray character makes the evaluation fail. Nobody says so: Breakpad's parser has no error message for it, and rust-minidump fails on every address behind the record.",
	Effects: initSyntaxEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 .cfa:
`},
	Good:     goodX64,
	Evidence: "Breakpad's own walker tests contain the forgotten colon",
	Refs:     []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#stack-cfi-records"},
}

var cfiStackEffect = &lint.Rule{
	Name: "cfi-stack-effect", Family: "cfi", Severity: lint.Error,
	Summary: "an expression does not leave exactly one value",
	Why:     "A postfix expression must find two operands for every operator and leave one value. An operator with too few operands, or values left over, make every evaluation fail; if the rule is that of the CFA or the return address the range has no CFI.",
	Effects: essentialRuleEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 .cfa: $rsp 8 8 +
`},
	Good: goodX64,
	Refs: []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#stack-cfi-records"},
}

var cfiArithmetic = &lint.Rule{
	Name: "cfi-arithmetic", Family: "cfi", Severity: lint.Error,
	Summary: "an operation divides by zero, aligns to no power of two, or has a literal out of range",
	Why:     "Breakpad divides without looking: a zero divisor kills the processor with SIGFPE, and with it the crash report of every user. Alignment to a number that is no power of two means one thing to Breakpad and fails in rust-minidump; a literal that does not fit the CPU's word is no number to Breakpad. An offset larger than any stack frame is uninitialised memory that the dumper wrote out.",
	Effects: essentialRuleEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 0 / + .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "Google's dump_syms for mips, riscv and arm writes rules such as `.cfa: $sp 94873030992536 +`",
}

var cfiUnknownRegister = &lint.Rule{
	Name: "cfi-unknown-register", Family: "cfi", Severity: lint.Error, Also: []lint.Severity{lint.Warning, lint.Info},
	Summary: "a register that the CPU does not have",
	Why:     "Operands are looked up by exact name: with `$` on x86, x86-64 and mips, without on arm, arm64 and riscv. An operand nobody knows makes the expression fail, and with it the CFI of the range if the rule is that of the CFA or the return address. As a bare target the name only loses its own rule: a warning where a real register was meant, an info for `unnamed_registerN` and registers that no walker follows. Vector registers that dump_syms has names for are silent.",
	Effects: essentialRuleEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $esp 8 + .ra: .cfa -8 + ^
FUNC 2000 10 0 other
2000 10 5 0
STACK CFI INIT 2000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 2001 .cfa: $rsp 16 +
`},
	Good:     goodX64,
	Evidence: "symbolic issue 443 ($-prefixed arm64 names); arm64 PE output with .sp and .x19",
}

var cfiSelfReference = &lint.Rule{
	Name: "cfi-self-reference", Family: "cfi", Severity: lint.Error, Also: []lint.Severity{lint.Warning},
	Summary: "a rule reads .cfa or .ra where it is not known",
	Why:     "The CFA is computed from registers alone, the return address from registers and the CFA; `.ra` is in no expression's scope. `.ra: .ra` is what Google's own writer makes of a restored return address register, once per epilogue on arm64, mips and riscv: that is one warning for the file, and an error only where it stays in force beyond the epilogue.",
	Effects: essentialRuleEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: .cfa 8 + .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "every arm64 file of Google's dump_syms",
}

var cfiUndef = &lint.Rule{
	Name: "cfi-undef", Family: "cfi", Severity: lint.Error,
	Summary: ".undef does not mean what it says",
	Why:     "The format's description has `.undef` for a register that cannot be recovered. Breakpad's evaluator does not know it: a CFA or return address that is `.undef` leaves the range without CFI, and a callee-saved register is taken for unchanged, the opposite of what was said.",
	Effects: registerRuleEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .undef
`},
	Good: goodX64,
	Refs: []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#stack-cfi-records"},
}

var cfiCallerSavedOperand = &lint.Rule{
	Name: "cfi-caller-saved-operand", Family: "cfi", Severity: lint.Warning,
	Summary: "a rule reads a register that a call has overwritten",
	Why:     "The value of a caller-saved register is known in the frame of the crash only. In every other frame a call has been made since, Breakpad fills such registers with 0xda bytes or does not know them, and the rule fails or, worse, yields something.",
	Effects: registerRuleEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1004 $rbx: $rcx
`},
	Good: goodX64,
}

var cfiInitOverlap = &lint.Rule{
	Name: "cfi-init-overlap", Family: "cfi", Severity: lint.Error,
	Summary: "two INIT ranges overlap",
	Why:     "An address must have one set of rows. Breakpad keeps the record that comes first in the file, rust-minidump the one with the lower start, and both drop the other whole: code that only the lost record covers has no CFI at all. In Breakpad the STACK CFI records of the lost one stay in force and are applied to the winner's function.",
	Effects: noCFIEffects,
	Bad: lint.Example{Line: 9, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
FUNC 1040 20 0 other
1040 20 9 0
STACK CFI INIT 1030 30 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "Breakpad's unit test files for arm and arm64: 171 and 116 partial overlaps",
}

var cfiInitDuplicate = &lint.Rule{
	Name: "cfi-init-duplicate", Family: "cfi", Severity: lint.Info, Also: []lint.Severity{lint.Error, lint.Warning},
	Summary: "an INIT range is there twice",
	Why:     "Binaries that have both `.debug_frame` and `.eh_frame` come out with every function twice. Exact repeats only cost space and are one info for the file. Repeats with different rows are an error: which of them is used is an accident. Ranges of dead-stripped functions, which old linkers left at address 0, are one warning for the file.",
	Effects: sameTwice,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "Breakpad's unit test files for arm: 2435 exact repeats",
}

var cfiInitZeroSize = &lint.Rule{
	Name: "cfi-init-zero-size", Family: "cfi", Severity: lint.Warning,
	Summary: "an INIT record of size 0",
	Why:     "The record covers nothing and is dropped. In Breakpad its STACK CFI records stay and apply to whatever range covers their addresses.",
	Effects: noCFIEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 0 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: goodX64,
}

var cfiInitWraps = &lint.Rule{
	Name: "cfi-init-wraps", Family: "cfi", Severity: lint.Error,
	Summary: "an INIT range wraps past the end of the address space",
	Why:     "Address plus size does not fit 64 bits. The record is dropped without a word.",
	Effects: noCFIEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI INIT fffffffffffffff0 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: goodX64,
}

var cfiDeltaOrphan = &lint.Rule{
	Name: "cfi-delta-orphan", Family: "cfi", Severity: lint.Error,
	Summary: "a STACK CFI record without an INIT record",
	Why:     "A row changes what the INIT record of its range said. Without one, rust-minidump rejects the whole file; Breakpad keeps the record and applies it to any range that covers its address.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "never applies the records, or to another function's range"},
		{Impact: lint.Rejects, Text: "rejects the file"},
		{Impact: lint.Loses, Text: "ignores the records"},
	},
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI 1001 .cfa: $rsp 16 +
STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: goodX64,
}

var cfiDeltaOutside = &lint.Rule{
	Name: "cfi-delta-outside", Family: "cfi", Severity: lint.Error,
	Summary: "a STACK CFI record outside the range of its INIT record",
	Why:     "The row is dead, or worse: Breakpad keeps all rows of a module in one table, so it becomes part of whichever function covers its address. A whole run of rows outside their range means that the INIT record before them is missing.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "never applies the record"},
		{Impact: lint.Loses, Text: "never applies the record"},
		{Impact: lint.Degraded, Text: "writes it out again as it is"},
	},
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1048 .cfa: $rsp 16 +
`},
	Good: goodX64,
	Refs: []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#stack-cfi-records"},
}

var cfiDeltaOrder = &lint.Rule{
	Name: "cfi-delta-order", Family: "cfi", Severity: lint.Warning,
	Summary: "STACK CFI records are not in the order of their addresses",
	Why:     "The format wants ascending addresses within a range. Breakpad and rust-minidump sort; what reads the records in sequence takes the later for the one in force. Producers write them in order, so another order points to edited or merged files.",
	Effects: lint.Effects{
		{Impact: lint.Unaffected, Text: "sorts the records"},
		{Impact: lint.Unaffected, Text: "sorts the records"},
		{Impact: lint.Degraded, Text: "writes them out again in this order"},
	},
	Bad: lint.Example{Line: 8, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1004 .cfa: $rsp 24 +
STACK CFI 1002 .cfa: $rsp 16 +
`},
	Good: goodX64,
	Refs: []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#stack-cfi-records"},
}

var cfiDeltaDuplicate = &lint.Rule{
	Name: "cfi-delta-duplicate", Family: "cfi", Severity: lint.Error, Also: []lint.Severity{lint.Info},
	Summary: "two STACK CFI records at one address",
	Why:     "In Breakpad the second replaces the first whole, the rules of registers that only the first names are lost. rust-minidump applies both, in the order of their text. (One record at the INIT record's own address is fine: the Windows writer always has it.)",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "forgets the first record"},
		{Impact: lint.Degraded, Text: "applies both in the order of their text"},
		{Impact: lint.Degraded, Text: "writes both out again"},
	},
	Bad: lint.Example{Line: 8, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1002 .cfa: $rsp 16 +
STACK CFI 1002 $rbx: .cfa -16 + ^
`},
	Good: goodX64,
}

var cfiDiscontinuity = &lint.Rule{
	Name: "cfi-cfa-discontinuity", Family: "cfi", Severity: lint.Warning,
	Summary: "the CFA moves as no code moves the stack pointer",
	Why:     "The CFA is fixed while a function runs; what changes is the stack pointer, in whole words, and never past the CFA. A CFA below the stack pointer, a distance that is no multiple of the word, or one that grows by more than the few bytes of code since the last row can push, is a wrong row, and everything older than the frame is computed from it.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1004 .cfa: $rsp 13 +
`},
	Good:     goodX64,
	Evidence: "glibc 2.13's lock stubs come out with `.cfa: $rsp -128 +`; GCC PR 12990; LLVM D14021",
}

var cfiReturnSlot = &lint.Rule{
	Name: "cfi-return-slot", Family: "cfi", Severity: lint.Warning, Also: []lint.Severity{lint.Error},
	Summary: "the return address is not where the ABI puts it",
	Why:     "A call pushes the return address, so it lies right below the CFA on x86 and x86-64; elsewhere it is in the link register or in a slot of the frame. A rule that names another place yields something else. A rule that yields the address of the slot instead of its content (the `^` is missing) is an error.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -16 + ^
`},
	Good: goodX64,
}

var cfiSlotConflict = &lint.Rule{
	Name: "cfi-slot-conflict", Family: "cfi", Severity: lint.Warning,
	Summary: "two registers in one slot",
	Why:     "Two registers cannot have been saved at the same address. One of them is recovered wrong, and frames that count their CFA from it go astray.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1002 $rbp: .cfa -16 + ^ $rbx: .cfa -16 + ^ .cfa: $rsp 24 +
`},
	Good:     goodX64,
	Evidence: "mozilla/dump_syms for Windows x64 prints `.cfa 0 - ^` for every register saved in the caller's home area",
}

var cfiSlotOutside = &lint.Rule{
	Name: "cfi-slot-outside-frame", Family: "cfi", Severity: lint.Warning,
	Summary: "a register saved outside the frame",
	Why:     "A function saves registers between its stack pointer and its CFA. A slot at or above the CFA belongs to the caller, one below the stack pointer is overwritten by the next call. (Windows x64 functions do save above the CFA, in the home area, and are not meant.)",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1002 $rbx: .cfa 16 + ^ .cfa: $rsp 16 +
`},
	Good:     goodX64,
	Evidence: "symbolic 417: compact unwind offsets with a turned sign",
}

var cfiCalleeSavedLost = &lint.Rule{
	Name: "cfi-callee-saved-lost", Family: "cfi", Severity: lint.Warning,
	Summary: "a register the rows need is not recoverable",
	Why:     "The CFA is counted from the frame pointer, so the function has changed it, but no rule says where the caller's value was saved. Consumers take it for unchanged and hand this function's frame pointer to the caller.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 8, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 .cfa: $rsp 16 +
STACK CFI 1004 .cfa: $rbp 16 +
`},
	Good:     goodX64,
	Evidence: "dotnet/runtime 98738",
}

var cfiStaleBase = &lint.Rule{
	Name: "cfi-stale-base", Family: "cfi", Severity: lint.Warning,
	Summary: "the CFA is counted from a register that does not keep its value",
	Why:     "A function that realigns its stack keeps its CFA in a scratch register for a few instructions (`lea 8(%rsp),%r10`) and then describes it by a DWARF expression. The format has no expressions: dump_syms drops it, and the scratch register stays in force for the body of the function, long after a call has overwritten it. The walk ends or repeats a frame.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1005 .cfa: $r10 0 +
`},
	Good:     goodX64,
	Evidence: "gcc -O2: main and __libc_start_call_main of i386 glibc 2.36",
}

var cfiSignalFrame = &lint.Rule{
	Name: "cfi-signal-frame", Family: "cfi", Severity: lint.Warning,
	Summary: "a signal trampoline's frame is not described",
	Why:     "A signal handler returns into a trampoline whose frame is the interrupted one, saved on the stack by the kernel. Its CFA is a DWARF expression, which dump_syms drops. The walk ends there, scans, or follows a stale frame pointer and skips the interrupted function: the very one that crashed if the handler is the crash reporter's.",
	Effects: noCFIEffects,
	Bad: lint.Example{Line: 8, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
PUBLIC 2000 0 __restore_rt
STACK CFI INIT 1fff a .ra: $rip
`},
	Good:     goodX64,
	Evidence: "__restore_rt of every glibc: `STACK CFI INIT 3c04f a .ra: $rip`",
}

var cfiOutermost = &lint.Rule{
	Name: "cfi-outermost", Family: "cfi", Severity: lint.Info,
	Summary: "an outermost function has a return address rule",
	Why:     "`_start` and `clone` begin a thread. DWARF says that their return address is undefined, which Google's dump_syms cannot write; the CIE's rule stays, and the walk goes on for one to three made-up frames.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "goes on past the end of the stack for one to three made-up frames"},
		{Impact: lint.Degraded, Text: "goes on past the end of the stack"},
		{Impact: lint.Degraded, Text: "goes on past the end of the stack"},
	},
	Bad: lint.Example{Line: 8, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
PUBLIC 2000 0 _start
STACK CFI INIT 2000 22 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good:     goodX64,
	Evidence: "every x86-64 Linux program written out by Google's dump_syms",
}

var cfiPLTStale = &lint.Rule{
	Name: "cfi-plt-stale", Family: "cfi", Severity: lint.Warning,
	Summary: "one row for all slots of the PLT",
	Why:     "The CFA in a procedure linkage table depends on the position in the 16-byte slot, which DWARF describes by an expression. dump_syms drops it, so the last plain row, true for the table's first slot only, stays in force for all of them. A crash in a stub gets the wrong caller.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 9, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
PUBLIC 2000 0 .plt
STACK CFI INIT 2000 40 .cfa: $rsp 16 + .ra: .cfa -8 + ^
STACK CFI 2006 .cfa: $rsp 24 +
`},
	Good:     goodX64,
	Evidence: "two golden files of mozilla/dump_syms and symbolic",
}

var cfiLinkRegister = &lint.Rule{
	Name: "cfi-link-register", Family: "cfi", Severity: lint.Warning,
	Summary: "the return address is taken from the link register in the body of a function",
	Why:     "Before the prologue has stored it, the return address is in the link register; behind the first call it is not. Only the frame of the crash knows the register at all: in every other frame the rule fails and the walk falls back to frame pointers.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 11, Text: arm64Head + `STACK CFI INIT 1000 40 .cfa: sp 0 + .ra: x30
STACK CFI 1004 .cfa: sp 32 + .ra: .cfa -24 + ^ x29: .cfa -32 + ^
FUNC 2000 400 0 other
2000 400 9 0
STACK CFI INIT 2000 400 .cfa: sp 0 + .ra: x30
STACK CFI 2004 .cfa: sp 32 + x29: .cfa -32 + ^
STACK CFI 2200 .ra: .cfa -24 + ^
`},
	Good: goodARM64,
}

var cfiSpansFunctions = &lint.Rule{
	Name: "cfi-spans-functions", Family: "cfi", Severity: lint.Warning,
	Summary: "one INIT range over several functions",
	Why:     "The rows of one function govern the next. This happens when a range was lost and its neighbour stretched over it. Files in which merged ranges are common (compact unwind) are not meant.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 6, Text: x64Head + `STACK CFI INIT 1000 60 .cfa: $rsp 8 + .ra: .cfa -8 + ^
FUNC 1040 20 0 other
1040 20 9 0
`},
	Good: goodX64,
}

var cfiOutsideSymbols = &lint.Rule{
	Name: "cfi-outside-symbols", Family: "cfi", Severity: lint.Info,
	Summary: "INIT ranges where no symbol is",
	Why:     "Frames there can be unwound but have no name, and a stack scan accepts no return address into them.",
	Effects: lint.Same(lint.Degraded, "unwinds the frame and shows no name"),
	Bad: lint.Example{Line: 7, Text: x64Head + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI INIT 5000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: goodX64,
}

var cfiMissing = &lint.Rule{
	Name: "cfi-missing", Family: "cfi", Severity: lint.Warning, Also: []lint.Severity{lint.Error, lint.Info},
	Summary: "functions without unwind records",
	Why:     "Code without unwind records is crossed by frame pointers, where the compiler kept them, or by scanning the stack. Stacks then look plausible and are wrong. A module of a platform without frame pointers that has no unwind records at all is an error: the dumper did not see the unwind section. Where only a small share of the code is not covered it is an info.",
	Effects: lint.Same(lint.Loses, "falls back to frame pointers and stack scanning in that code"),
	Bad: lint.Example{Line: 1, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 40 0 main
1000 40 3 0
`},
	Good:     goodX64,
	Evidence: "mozilla/dump_syms 274; symbolicator 1086, 2025",
}
