// Package dwarf reads the DWARF call frame information of ELF files and of images in memory: for every pc, where the
// caller's registers are.
//
// Both forms are read: .debug_frame (DWARF 2 to 5, section 6.4 of the standard) and .eh_frame with its search table
// .eh_frame_hdr (Linux Standard Base, Core specification, chapter "Exception Frames"), of both ELF classes and byte
// orders. Where they disagree with themselves, gdb's and libgcc's readings are followed.
//
//	f, err := dwarf.Open(data)
//	d, ok := f.Find(pc)       // the FDE of a function
//	err = d.RowAt(pc, &row)   // the rules at one pc
//	err = row.Apply(env, &r)  // the CFA and the registers of the caller
//
// Nothing in the input is trusted: every length is held against the bytes that are there, expressions and rows are
// bounded, and what is wrong is collected as Problems with section and offset while reading goes on with the next
// entry. A File does not change after it was opened and may be used by several goroutines; Find, RowAt and Apply do not
// allocate once their results have been used before.
package dwarf
