// Package unwind walks the stacks of crashed processes: of minidumps, microdumps and ELF cores, with Breakpad symbol
// files, SFrame, DWARF call frame information, frame pointers and scanning.
//
// Open reads a dump into a Process. A Walker walks its threads, one at a time, and keeps for every frame how it was
// found; Explain takes a step again and tells the record, its rules and every word read.
//
// A Walker does what the walkers of Google's Breakpad do (src/processor/stackwalker*.cc), to the byte of
// minidump_stackwalk's output, which package trace writes. With Best it follows no reference: signal trampolines, ends
// of stacks, realigned stacks and calls into nowhere are understood, and a caller is believed only if nothing speaks
// against it.
//
// Nothing that a dump, a symbol file or a binary says is trusted: walks end, whatever the records in them.
package unwind
