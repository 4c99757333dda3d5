// Package postfix is the expression language of STACK CFI and STACK WIN records: rule texts are split into rules,
// expressions are compiled once, classified, checked, and evaluated often.
//
// An expression is a sequence of blank-separated tokens in reverse Polish order:
//
//   - - * / %     arithmetic on unsigned words
//     @             align down: a @ b is a with the bits of b-1 cleared
//     ^             load one word from the stack memory
//     =             assign a value to the $variable below it (STACK WIN)
//     123 -8        decimal literals
//     anything else a variable: $rsp, sp, .cfa, .raSearch, $T0
//
// Two consumers evaluate it and differ in many details; [Semantics] selects whose rules apply. Google's behaviour is
// that of src/processor/postfix_evaluator-inl.h and cfi_frame_info.cc, rust-minidump's that of breakpad-symbols'
// sym_file/walker.rs.
//
// One difference is left out: rust-minidump does not take a vertical tab for a blank.
//
// [Compile] never rejects what Google's evaluator would run: a broken expression compiles to a [Program] too, which
// fails at evaluation where the reference fails, and the defect is returned beside it.
package postfix

// Dialect is the kind of record an expression comes from.
type Dialect uint8

const (
	// CFI expressions must leave exactly one value (Google's EvaluateForValue).
	CFI Dialect = iota
	// Win programs assign variables and must leave nothing (Google's Evaluate). Their words have 32 bits.
	Win
)

// String returns "STACK CFI" or "STACK WIN".
func (d Dialect) String() string {
	if d == Win {
		return "STACK WIN"
	}
	return "STACK CFI"
}
