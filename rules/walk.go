package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// walkFamily are the rules that take a dump to see: they speak when one is walked (WalkIssue, WalkDivergence), never
// of a symbol file alone.
var walkFamily = &lint.Analyzer{
	Name: "walk",
	Rules: []*lint.Rule{
		walkDiverges, walkShorter, walkRejected, walkScan, walkStops, walkSP, walkMismatch,
	},
	New: func(*lint.Pass) lint.Checker { return silent{} },
}

// NeedsDump reports whether a rule is one of those that only a walk shows.
func NeedsDump(r *lint.Rule) bool { return r.Family == walkFamily.Name }

// silent is the checker of a family that has nothing to say of a file alone.
type silent struct{}

func (silent) Record(*symfile.Record) {}
func (silent) Merge(lint.Checker)     {}
func (silent) Finish()                {}

// The examples of the walk rules are symbol files of one program: main calls work, and work calls crash, all with frame
// pointers. They are replayed against its crash, see exampleProcess.
const (
	walkHead = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 40 0 crash
1000 40 3 0
FUNC 1040 40 0 work
1040 40 9 0
FUNC 1080 40 0 main
1080 40 15 0
PUBLIC fd0 0 _start
`
	walkCrash = `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1004 .cfa: $rbp 16 + $rbp: .cfa -16 + ^
`
	walkWork = `STACK CFI INIT 1040 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1044 .cfa: $rbp 16 + $rbp: .cfa -16 + ^
`
	walkMain = `STACK CFI INIT 1080 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1084 .cfa: $rbp 16 + $rbp: .cfa -16 + ^
`
	goodWalk = walkHead + walkCrash + walkWork + walkMain
)

var walkDiverges = &lint.Rule{
	Name: "walk-diverges", Family: "walk", Severity: lint.Error,
	Summary: "the walk with this symbol file differs from the reference",
	Why: "A reference is what another walker, a debugger or an earlier version of symlint found in the same dump. The finding stands at the record " +
		"that the first wrong frame came from, which can lie well before the first frame that looks wrong: a stack pointer or a saved register " +
		"is lost in one function and missed in another.\n\nWhere exchanging registers, correcting an offset, adding a missing rule or taking the record out makes " +
		"the whole thread match the reference, the finding says so. Differences that are known mistakes of the tool that wrote the reference are not reported. " +
		"`symlint verify --help` tells which references there are.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 12, Text: walkHead + `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1004 .cfa: $rbp 64 + $rbp: .cfa -16 + ^
` + walkWork + walkMain},
	Good:     goodWalk,
	Evidence: "a crash report with one frame, written with a symbol file whose rows had $ebp and $esp exchanged; six frames without that file and 17 with a correct one",
}

var walkShorter = &lint.Rule{
	Name: "walk-shorter-with-symbols", Family: "walk", Severity: lint.Error,
	Summary: "the walk reaches further without this symbol file",
	Why: "Symbols are to make stacks better. Where a walk ends with a symbol file and goes on without it, by frame pointers or the call frame information of other " +
		"modules, into functions that have names, the unwind records of that file are wrong: a walker believes them more than anything else.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 12, Text: walkHead + `STACK CFI INIT 1000 40 .cfa: $rbp 8 + .ra: .cfa -8 + ^
STACK CFI 1004 .cfa: $rsp 16 + $rsp: .cfa -16 + ^
` + walkWork + walkMain},
	Good:     goodWalk,
	Evidence: "symbol files of an i386 program with exchanged frame and stack pointers: one frame with them, six without any",
}

var walkRejected = &lint.Rule{
	Name: "walk-cfi-rejected", Family: "walk", Severity: lint.Error,
	Summary: "an unwind record covers the address and cannot be used",
	Why: "The walker came to a function that has an unwind record, evaluated it and failed: a rule is missing, an operand is not known in this frame, or memory " +
		"that the rule reads is not in the dump. It went on with frame pointers or by scanning the stack, which may skip or make up frames. The finding tells " +
		"what failed.",
	Effects: noCFIEffects,
	Bad: lint.Example{Line: 11, Text: walkHead + `STACK CFI INIT 1000 40 .cfa: $rsp 8 +
STACK CFI 1004 .cfa: $rbp 16 + $rbp: .cfa -16 + ^
` + walkWork + walkMain},
	Good:     goodWalk,
	Evidence: "dump_syms cannot express how gcc saves the argument pointer of a function that realigns its stack: the rule reads $ecx or $r10, which nobody knows in outer frames",
}

var walkScan = &lint.Rule{
	Name: "walk-scan-despite-symbols", Family: "walk", Severity: lint.Warning,
	Summary: "a caller was found by scanning the stack although the module has symbols",
	Why: "No unwind record covers the address, and the frame pointer led nowhere. The walker took the next word on the stack that looks like a return address: a guess " +
		"that often finds what an earlier call left behind. The finding stands at the function that has no unwind records.",
	Effects: noCFIEffects,
	Bad:     lint.Example{Line: 4, Text: walkHead + walkFreeRest},
	Good:    walkHead + walkFreeCrash + walkFreeRest,
}

// The program of the scan example was compiled without frame pointers; frames have the same sizes.
const (
	walkFreeCrash = `STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1004 .cfa: $rsp 48 +
`
	walkFreeRest = `STACK CFI INIT 1040 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1044 .cfa: $rsp 48 +
STACK CFI INIT 1080 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1084 .cfa: $rsp 48 +
`
)

var walkStops = &lint.Rule{
	Name: "walk-stops-early", Family: "walk", Severity: lint.Warning,
	Summary: "the walk ends before a function that nothing calls",
	Why: "A complete stack ends where a thread begins: in `_start`, `clone`, `BaseThreadInitThunk` and their like. A walk that ends before, in a function with symbols, " +
		"lost the trail: by a record whose return address is no address, or because there is no record and neither the frame pointer nor a scan found " +
		"anything. The finding tells which.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 15, Text: walkHead + walkCrash + walkWork + `STACK CFI INIT 1080 40 .cfa: $rsp 8 + .ra: .cfa -24 + ^
STACK CFI 1084 .cfa: $rbp 16 + $rbp: .cfa -16 + ^
`},
	Good: goodWalk,
}

var walkSP = &lint.Rule{
	Name: "walk-sp-not-growing", Family: "walk", Severity: lint.Warning,
	Summary: "the walk ends because a record leads down the stack",
	Why: "Stacks grow downwards, so a caller's stack pointer is above that of the function it called. Walkers take anything else for a loop and end there, without " +
		"trying another technique. The usual causes are a turned sign, a CFA taken from the wrong register, and rows that are one instruction off. " +
		"A walk over an alternate signal stack ends in the same way, through no fault of the symbol file.",
	Effects: wrongWalkEffects,
	Bad: lint.Example{Line: 14, Text: walkHead + walkCrash + `STACK CFI INIT 1040 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1044 .cfa: $rbp -48 + $rbp: .cfa -16 + ^
` + walkMain},
	Good: goodWalk,
}

var walkMismatch = &lint.Rule{
	Name: "walk-module-mismatch", Family: "walk", Severity: lint.Warning,
	Summary: "the symbol file is not that of the module in the dump",
	Why: "Symbols of another build name the wrong functions and unwind by the wrong rows. The finding is made of a file that a walk used although its MODULE record says another " +
		"id (Breakpad goes by the path in the symbol store alone), of a file whose functions lie beyond the end of the module, and of files that were there and not " +
		"used because they are for another build.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "finds files by their path and uses this one: functions and unwind rows are those of another build"},
		{Impact: lint.Loses, Text: "finds files by their path and uses this one: functions and unwind rows are those of another build"},
		{Impact: lint.Degraded, Text: "looks symbols up by the id in the MODULE record: the module has none"},
	},
	Bad: lint.Example{Line: 1, Text: "MODULE Linux x86_64 0D1C2B3A495867768594A3B2C1D0E0F10 app\n" +
		"INFO CODE_ID 3A2B1C0D58496776594A3B2C1D0E0F1011223344\n" + goodWalk[len(walkHeader):]},
	Good: goodWalk,
}

// walkHeader are the first two lines of walkHead.
const walkHeader = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\nINFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344\n"
