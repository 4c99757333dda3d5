package symfile_test

import (
	"fmt"

	"github.com/symlint/symlint/unwind/symfile"
)

// Two INIT records overlap: Google's reader keeps the first in the file and still applies the delta of the other one.
func ExampleLoad() {
	text := []byte(`MODULE Linux x86 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
FILE 0 /src/main.c
FUNC 1000 20 0 main
1000 20 7 0
STACK CFI INIT 1000 20 .cfa: $esp 4 + .ra: .cfa -4 + ^
STACK CFI INIT 1010 10 .cfa: $ebp 8 + .ra: .cfa -4 + ^
STACK CFI 1014 .cfa: $esp 12 +
`)
	for _, p := range []symfile.Policy{symfile.Breakpad, symfile.RustMinidump} {
		m := symfile.Load(text, symfile.Options{Policy: p})
		f, _ := m.Lookup(0x1018)
		cfa, _ := m.CFI(0x1018).Rule(".cfa")
		fmt.Printf("%s: %s (%s:%d), .cfa: %s from line %d\n", p, f.Name, f.File, f.Number, cfa.Expr, cfa.Line)
	}
	// Output:
	// breakpad: main (/src/main.c:7), .cfa: $esp 12 + from line 7
	// rust-minidump: main (/src/main.c:7), .cfa: $esp 4 + from line 5
}
