package rules

import "github.com/symlint/symlint/lint"

// What readers of SFrame do with the usual kinds of defects. Binutils stands for libsframe in readelf and objdump.

func readers(binutils, ld, linux, glibc, llvm lint.Effect) lint.Effects {
	return lint.Effects{lint.Binutils: binutils, lint.LD: ld, lint.Linux: linux, lint.Glibc: glibc, lint.LLVM: llvm}
}

func loses(text string) lint.Effect    { return lint.Effect{Impact: lint.Loses, Text: text} }
func degraded(text string) lint.Effect { return lint.Effect{Impact: lint.Degraded, Text: text} }
func crashes(text string) lint.Effect  { return lint.Effect{Impact: lint.Crashes, Text: text} }

var (
	shows     = lint.Fine("shows it without a word")
	keeps     = lint.Fine("copies it")
	ldIgnores = loses("ignores the section of an input that has it: its functions have no SFrame in the output")
	refuses   = loses("refuses the section: nothing in the module can be unwound by it")
	skips     = loses("does not use the section")
	warns     = degraded("warns and shows nothing")

	// Everybody looks at it and refuses the section.
	sfRefused = readers(loses("refuses the section: the buffer holds no SFrame data"), ldIgnores, refuses, skips, warns)
	// Reading beyond the section, or what is not a row.
	sfMemory = readers(degraded("reads beyond the section: readelf and objdump die or show garbage"),
		degraded("fails or writes garbage"), refuses, degraded("reads beyond the section"), degraded("warns where it ends"))
	// Rows that cannot be decoded.
	sfRows = readers(degraded("stops by an assertion, or shows garbage"), ldIgnores,
		loses("drops the section for the whole process once it meets the function"), loses("finds no caller"),
		degraded("warns and leaves the rest out"))
	// Values that are decoded and wrong.
	sfWalk = readers(shows, keeps, loses("takes a wrong caller, or stops"), loses("takes a wrong caller, or stops"), shows)
	// A search that goes astray.
	sfSearch = readers(shows, degraded("sorts inputs anew, but reads this as it is"),
		loses("drops the section for the whole process, or misses functions"), loses("misses functions"), shows)
	// A section nobody finds.
	sfHidden = readers(shows, keeps, loses("does not find the section"), loses("does not find the section"), shows)
	// No walk comes past it.
	sfGap = readers(shows, keeps, loses("stops at the function"), loses("stops at the function"), shows)
	// Functions that are not there.
	sfAbsent = readers(lint.Fine("has nothing to show"), lint.Fine("has nothing to copy"), loses("stops at the function"),
		loses("stops at the function"), lint.Fine("has nothing to show"))
	// Odd, without consequence by itself.
	sfOdd = readers(shows, keeps, lint.Fine("does not mind"), lint.Fine("does not mind"), shows)
	// Bits that must be zero are for later versions.
	sfReserved = readers(shows, degraded("may drop the bits"), degraded("ignores the bits"), degraded("ignores the bits"), shows)
)
