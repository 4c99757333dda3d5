// Package sframe reads, writes and shows SFrame sections: the compact stack trace tables of GNU toolchains, versions 1
// to 3, for AMD64, AArch64 and s390x in their byte orders.
//
// Open takes an ELF file, Parse the bytes of a section. Both keep views into what they are given and read the table
// where it lies: Section.Find and FDE.RowAt decode what they need on the way, and allocate nothing. No count, offset or
// length of the input is trusted; what is wrong is told as a Problem with its position, and reading goes on behind it
// where that is possible.
//
// Row.Apply computes a caller's registers. Table and Encode write sections, List prints them as readelf --sframe does,
// Annotate byte by byte.
//
// Sources: "The SFrame Format", Version 2 (Errata 1), of binutils, named as "the specification" below; for versions 1
// and 3 and for where the text is silent, the behaviour of libsframe in binutils 2.40 to 2.47 and of the Linux
// kernel's reader.
package sframe
