package unwind_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/symstore"
)

// Open a dump, add symbols, walk, read frames, and ask how one of them was found.
func Example() {
	data, err := os.ReadFile("../testdata/walk/crasher.dmp.gz")
	if err != nil {
		log.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		log.Fatal(err)
	}
	if data, err = io.ReadAll(unpacked); err != nil {
		log.Fatal(err)
	}
	process, err := unwind.Open(data, unwind.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	store, err := symstore.New([]string{"../testdata/walk/symbols"}, symstore.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	walker := &unwind.Walker{Process: process, Symbols: unwind.FromStore(store)}
	stack := walker.Walk(process.Requesting)
	fmt.Println(process.Crash.Reason)
	for i := range stack.Frames[:4] {
		f := &stack.Frames[i]
		fmt.Printf("%s [%s:%d] %s\n", f.Function, unwind.BaseName(f.File), f.Line, f.Trust)
	}
	found := walker.Explain(stack, 1).Found()
	for _, r := range found.Rules {
		fmt.Printf("line %d: %s = %s = %#x\n", r.Line, r.Register, r.Expr, r.Value)
	}
	// Output:
	// SIGSEGV /SEGV_MAPERR
	// cause_crash [crasher.c:7] given as instruction pointer in context
	// on_click [crasher.c:10] call frame info
	// send_action [crasher.c:11] call frame info
	// track_mouse [crasher.c:12] call frame info
	// line 129: .cfa = $ebp 8 + = 0xffce1370
	// line 127: .ra = .cfa -4 + ^ = 0x5661039d
	// line 128: $ebp = .cfa -8 + ^ = 0xffce1388
}
