package dwarf_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/symlint/symlint/unwind/dwarf"
)

func Example() {
	file, err := os.Open("testdata/tower-x86_64.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		log.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		log.Fatal(err)
	}

	f, err := dwarf.Open(data)
	if err != nil {
		log.Fatal(err)
	}
	d, ok := f.Find(0x1d44)
	if !ok {
		log.Fatal("no function")
	}
	fmt.Printf("%s 0x%x-0x%x\n", f.Machine(), d.Start, d.End)
	err = d.Rows(nil, func(row *dwarf.Row) bool {
		ra, _ := row.Rule(d.CIE.RAReg)
		fmt.Printf("0x%x cfa=%s ra=%s\n", row.Start, row.CFA, ra)
		return true
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// EM_X86_64 0x1d40-0x1d5c
	// 0x1d40 cfa=r7+8 ra=[cfa-8]
	// 0x1d44 cfa=r7+16 ra=[cfa-8]
	// 0x1d5b cfa=r7+8 ra=[cfa-8]
}
