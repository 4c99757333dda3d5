package symstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"sync"

	"github.com/symlint/symlint/unwind/symfile"
)

// ErrClosed is what a lookup fails with after Close.
var ErrClosed = errors.New("the store is closed")

// errIsDirectory marks a directory where a file is expected.
var errIsDirectory = errors.New("is a directory")

// mapFrom is the size in bytes from which a plain file is mapped into memory and not read.
const mapFrom = 1 << 20

// open opens a regular file; nothing else is opened at all, for that may block.
func open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, withoutPath(err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, 0, errIsDirectory
	case !mode.IsRegular():
		return nil, 0, fmt.Errorf("is no regular file (%s)", mode.Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, withoutPath(err)
	}
	return f, info.Size(), nil
}

// withoutPath takes the path out of an error of package os: our messages begin with it.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// file is a file's content. The data of a mapped file is valid until release.
type file struct {
	data    []byte
	release func() error // nil if there is nothing to release
	// forget lets the system take back the pages of a mapped file that were read; nil for other files.
	forget func(from, to int)
}

// window is how much of a file is looked at between two calls of forget.
const window = 8 << 20

// firstFF returns the offset of the first byte 0xff, -1 if there is none.
func firstFF(data []byte, forget func(from, to int)) int {
	for from := 0; from < len(data); from += window {
		to := min(from+window, len(data))
		if i := bytes.IndexByte(data[from:to], 0xff); i >= 0 {
			return from + i
		}
		if forget != nil {
			forget(from, to)
		}
	}
	return -1
}

// readFile returns a file's content, decompressed unless raw is set.
func readFile(path string, raw bool, maxSize int64) (file, error) {
	f, size, err := open(path)
	if err != nil {
		return file{}, err
	}
	defer f.Close()
	c := plain
	if !raw {
		if c, err = sniff(f); err != nil {
			return file{}, err
		}
	}
	if c == plain {
		if size > maxSize || size > math.MaxInt {
			return file{}, tooLarge(maxSize)
		}
		if size >= mapFrom {
			if data, unmap, err := mapFile(f, int(size)); err == nil {
				return file{data, unmap, func(from, to int) { forget(data, from, to) }}, nil
			}
		}
	}
	data, err := unpack(c, f, size, maxSize)
	return file{data: data}, err
}

// sniff tells how a file is compressed.
func sniff(f io.ReaderAt) (compression, error) {
	var head [magicSize]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return plain, withoutPath(err)
	}
	return compressionOf(head[:n]), nil
}

// guard runs f, which reads mapped memory. That the file has become shorter meanwhile is an error, not a crash.
func guard(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil {
			if _, fault := e.(interface{ Addr() uintptr }); !fault {
				panic(e)
			}
			err = errors.New("the file changed while it was read")
		}
	}()
	f()
	return nil
}

// pool keeps the files that were loaded, each once, until it is closed. It is used by several goroutines.
type pool struct {
	maxSize int64
	mu      sync.Mutex
	files   map[poolKey]*pooled
	closed  bool
}

type poolKey struct {
	path string
	raw  bool // not decompressed
}

// pooled is a file of a pool. All but once is set by the one goroutine that once lets in.
type pooled struct {
	once sync.Once
	file
	symbols *symfile.Symbols // of a symbol file
	packed  compression      // of a symbol file: what it still is, having not been decompressed
	cut     int64            // offset of the 0xff byte at which Google's reader stops, -1 if it does not
	err     error
}

func newPool(maxSize int64) *pool {
	if maxSize <= 0 || maxSize > symfile.MaxSize {
		maxSize = symfile.MaxSize
	}
	return &pool{maxSize: maxSize, files: make(map[poolKey]*pooled)}
}

// get returns a file, having it read and prepared by the first caller. The others wait.
func (p *pool) get(path string, raw bool, prepare func(*pooled)) *pooled {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return &pooled{err: ErrClosed}
	}
	key := poolKey{path, raw}
	e := p.files[key]
	if e == nil {
		e = &pooled{cut: -1}
		p.files[key] = e
	}
	p.mu.Unlock()
	e.once.Do(func() {
		if e.file, e.err = readFile(path, raw, p.maxSize); e.err != nil {
			return
		}
		if e.err = guard(func() { prepare(e) }); e.err != nil {
			e.symbols = nil
		}
	})
	return e
}

func (p *pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close releases all files, after those that are being read.
func (p *pool) close() error {
	p.mu.Lock()
	files := p.files
	p.files, p.closed = nil, true
	p.mu.Unlock()
	var errs []error
	for _, e := range files {
		e.once.Do(func() { e.err = ErrClosed })
		if e.release != nil {
			errs = append(errs, e.release())
		}
	}
	return errors.Join(errs...)
}
