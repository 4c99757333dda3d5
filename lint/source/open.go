package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/symlint/symlint/lint"
)

// mapFrom is the size in bytes from which a plain file is mapped into memory and not read.
const mapFrom = 1 << 20

// Open reads or maps the file. Errors name it.
func (f file) Open() (*lint.Input, error) {
	l := loader{path: f.path, limits: f.options.Limits}
	return l.open()
}

// open reads or maps the file called path.
func (l *loader) open() (*lint.Input, error) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, plainError(err))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, plainError(err))
	}
	if !info.Mode().IsRegular() {
		return l.stream(file)
	}
	l.size = info.Size()
	if l.size < mapFrom {
		return l.stream(file)
	}
	var head [magicSize]byte
	if _, err := file.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", l.path, plainError(err))
	}
	if compressionOf(head[:]) != uncompressed {
		return l.stream(file)
	}
	if l.size > l.limits.Size && !l.raw || int64(int(l.size)) != l.size {
		return nil, l.tooLarge(fmt.Sprintf("%d bytes are", l.size))
	}
	data, unmap, err := mapFile(file, int(l.size))
	if err != nil {
		return l.stream(file)
	}
	in, err := l.interpretMapped(data, unmap)
	if in != nil && len(in.Data) > 0 && &in.Data[0] == &data[0] {
		in.Forget = func(from, to int) { forget(data, from, to) }
	}
	return in, err
}

// interpretMapped is interpret for a file that may become shorter meanwhile: then its memory cannot be read.
func (l *loader) interpretMapped(data []byte, unmap func() error) (in *lint.Input, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil {
			if _, fault := e.(interface{ Addr() uintptr }); !fault {
				panic(e)
			}
			unmap()
			in, err = nil, fmt.Errorf("%s: the file changed while it was read", l.path)
		}
	}()
	return l.interpret(data, nil, unmap)
}

// Open reads standard input to its end.
func (s stdin) Open() (*lint.Input, error) {
	l := loader{path: StdinPath, limits: s.options.Limits}
	if s.options.Stdin == nil {
		return nil, fmt.Errorf("%s: there is no standard input", l.path)
	}
	return l.stream(s.options.Stdin)
}

// FromBytes interprets bytes as the content of an input called path.
func FromBytes(path string, data []byte, limits Limits) (*lint.Input, error) {
	l := loader{path: path, limits: limits.withDefaults(), size: int64(len(data))}
	return l.decode(data)
}

// loader makes one input.
type loader struct {
	path   string
	limits Limits
	size   int64 // of the file as the system tells it, 0 = unknown; a hint
	raw    bool  // it needs not be a symbol file
}

// kind is what is read, wanted how it begins.
func (l *loader) kind() string {
	if l.raw {
		return "dump"
	}
	return "symbol file"
}

func (l *loader) wanted() string {
	if l.raw {
		return "a dump"
	}
	return "a MODULE record"
}

// used is what was done with the part of an input that could be read.
func (l *loader) used() string {
	if l.raw {
		return "used"
	}
	return "checked"
}

func (l *loader) tooLarge(what string) error {
	return fmt.Errorf("%s: %s more than symlint reads (%d bytes)", l.path, what, l.limits.Size)
}

// stream reads an input that is not mapped, compressed or not.
func (l *loader) stream(r io.Reader) (*lint.Input, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := in.Peek(magicSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", l.path, plainError(err))
	}
	if c := compressionOf(head); c != uncompressed {
		return l.unpack(c, in)
	}
	data, err := readAll(in, l.size+1, func(n int64) error {
		if n > l.limits.Size {
			return l.tooLarge("the input is")
		}
		return nil
	})
	switch {
	case err != nil && len(data) == 0, isRefusal(err):
		return nil, l.named(err)
	case err != nil:
		return l.interpret(data, fmt.Errorf("%s: offset %d: %w; only what was read until then was %s",
			l.path, len(data), plainError(err), l.used()), nil)
	}
	return l.interpret(data, nil, nil)
}

// decode is stream for what is in memory already.
func (l *loader) decode(data []byte) (*lint.Input, error) {
	if c := compressionOf(data); c != uncompressed {
		return l.unpack(c, bytes.NewReader(data))
	}
	if int64(len(data)) > l.limits.Size {
		return nil, l.tooLarge(fmt.Sprintf("%d bytes are", len(data)))
	}
	return l.interpret(data, nil, nil)
}

// interpret tells what the decompressed bytes are. early is why they may end too soon, release frees them.
func (l *loader) interpret(data []byte, early error, release func() error) (*lint.Input, error) {
	in := &lint.Input{Data: data, Err: early, Close: release}
	if l.raw {
		return in, nil
	}
	refuse := func(err error) (*lint.Input, error) {
		if release != nil {
			release()
		}
		if early != nil {
			err = early
		}
		return nil, err
	}
	if in.Kind = binaryKind(data); in.Kind != "" {
		return in, nil
	}
	if order := utf16Order(data); order != notUTF16 {
		text, err := order.transcode(data, l.limits.Size)
		if err != nil {
			return refuse(fmt.Errorf("%s: %w", l.path, err))
		}
		if release != nil {
			if err := release(); err != nil {
				return nil, fmt.Errorf("%s: %w", l.path, err)
			}
			release, in.Close = nil, nil
		}
		in.Data, in.Encoding = text, order.String()
	}
	if !isSymbolText(in.Data) {
		return refuse(fmt.Errorf("%s:1:1: %w: expected a MODULE record, found %s", l.path, lint.ErrUnsupported, describe(in)))
	}
	in.Kind = "sym"
	return in, nil
}

// named puts the path before an error that lacks it.
func (l *loader) named(err error) error {
	if isRefusal(err) {
		return err
	}
	return fmt.Errorf("%s: %w", l.path, plainError(err))
}
