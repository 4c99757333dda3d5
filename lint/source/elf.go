package source

import (
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"

	"github.com/symlint/symlint/unwind/sframe"
)

// hasSFrame reports whether a file of a directory is an ELF file with SFrame, or by its name a section. Links are not
// followed: a directory of libraries has each of them under several names.
func (f *finder) hasSFrame(path string, d fs.DirEntry) bool {
	if !d.Type().IsRegular() {
		return false
	}
	if strings.HasSuffix(strings.ToLower(d.Name()), sframe.SectionName) {
		return true
	}
	if !beginsELF(path) {
		return false
	}
	l := loader{path: path, limits: f.options.Limits}
	in, err := l.open()
	if err != nil {
		return false
	}
	if in.Close != nil {
		defer in.Close()
	}
	return sectionsIn(in.Data)
}

func beginsELF(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var head [4]byte
	_, err = io.ReadFull(file, head[:])
	return err == nil && binaryKind(head[:]) == "elf"
}

// sectionsIn looks for SFrame in an ELF file, which may become shorter while it is mapped.
func sectionsIn(data []byte) (found bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil {
			if _, fault := e.(interface{ Addr() uintptr }); !fault {
				panic(e)
			}
			found = false
		}
	}()
	f, err := sframe.Open(data)
	return err == nil && len(f.Sections) > 0
}
