package source

import (
	"bytes"
	"fmt"
	"os"

	"github.com/symlint/symlint/lint"
)

// Blob is the content of an input that is no symbol file, such as a dump. Nothing is said of what it is.
type Blob struct {
	Path string // as it is shown: StdinPath for "-"
	Data []byte // decompressed; must not be written to
	Err  error  // why Data may end too soon; it names the path
	// Close gives Data back. It is never nil.
	Close func() error
}

// Limits of blobs. Memory of a process shrinks more than symbol files do: much of it is zero.
const (
	maxBlob       = 4 << 30   // bytes, of what is not mapped
	blobRatio     = 500       // gzip cannot do better than 1032
	blobRatioFrom = 256 << 20 // bytes
)

// Read reads a whole input, "-" for standard input: plain, gzip or zstd, told apart by content. Large plain files are
// mapped into memory and may have any size; o.Limits bound the others (4 GiB, and 500 times the size of the archive
// from 256 MiB on, unless given). Errors name the path.
func Read(path string, o Options) (*Blob, error) {
	limits := o.Limits
	if limits.Size <= 0 {
		limits.Size = maxBlob
	}
	if limits.Ratio <= 0 {
		limits.Ratio = blobRatio
	}
	if limits.RatioFrom <= 0 {
		limits.RatioFrom = blobRatioFrom
	}
	l := loader{path: path, limits: limits, raw: true}
	in, err := l.blob(o)
	if err != nil {
		return nil, err
	}
	b := &Blob{Path: l.path, Data: in.Data, Err: in.Err, Close: in.Close}
	if b.Close == nil {
		b.Close = func() error { return nil }
	}
	return b, nil
}

func (l *loader) blob(o Options) (*lint.Input, error) {
	if l.path == "-" {
		l.path = StdinPath
		if o.Stdin == nil {
			return nil, fmt.Errorf("%s: there is no standard input", l.path)
		}
		return l.stream(o.Stdin)
	}
	if info, err := os.Stat(l.path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: is a directory: expected one dump", l.path)
	}
	return l.open()
}

// Describe says in a few words what data is or begins with, for errors that expected something else.
func Describe(data []byte) string {
	switch binaryKind(data) {
	case "elf":
		return "an ELF file"
	case "sframe":
		return "an SFrame section"
	}
	if bytes.HasPrefix(data, utf8Mark) || !isSymbolText(data) {
		return describe(&lint.Input{Data: data})
	}
	return "a Breakpad symbol file"
}
