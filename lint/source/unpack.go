package source

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/symlint/symlint/lint"
)

// compression is how an input is packed.
type compression uint8

const (
	uncompressed compression = iota
	gzipped
	zstandard
)

func (c compression) String() string { return [...]string{"plain", "gzip", "zstd"}[c] }

// magicSize is how many bytes tell the compressions apart.
const magicSize = 4

// compressionOf looks at the first bytes: RFC 1952 section 2.3.1 (with the only method there is, deflate) and
// RFC 8878 section 3.1, skippable frames included.
func compressionOf(head []byte) compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}):
		return gzipped
	case len(head) < magicSize:
		return uncompressed
	}
	magic := binary.LittleEndian.Uint32(head)
	if magic == 0xfd2fb528 || magic&^0xf == 0x184d2a50 {
		return zstandard
	}
	return uncompressed
}

// maxWindow is the largest zstd window in bytes: what `zstd` accepts without --long.
const maxWindow = 128 << 20

// expectedRatio is the usual gain on symbol files, for the first buffer.
const expectedRatio = 6

// counter counts what is read of an archive.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// unpack decompresses an input, and once more if that yields another archive (a .sym.gz that a server compressed).
func (l *loader) unpack(c compression, r io.Reader) (*lint.Input, error) {
	packed := &counter{r: r}
	data, err := l.expand(c, packed, packed, l.size*expectedRatio)
	if inner := compressionOf(data); inner != uncompressed {
		outer := err
		data, err = l.expand(inner, bytes.NewReader(data), packed, int64(len(data))*expectedRatio)
		if outer != nil && !isRefusal(err) {
			err = outer // the cause of the inner one
		}
		if again := compressionOf(data); again != uncompressed {
			return nil, fmt.Errorf("%s: compressed more than twice: expected %s, found %s data", l.path, l.wanted(), again)
		}
	}
	if err != nil && len(data) == 0 {
		return nil, err
	}
	return l.interpret(data, err, nil)
}

// expand decompresses r. packed counts the bytes of the outermost archive, which decide what is too good to be true.
func (l *loader) expand(c compression, r io.Reader, packed *counter, hint int64) ([]byte, error) {
	archive := &counter{r: r}
	if r == io.Reader(packed) {
		archive = packed
	}
	plain, closePlain, err := newReader(c, archive)
	if err != nil {
		return nil, l.damaged(c, archive, 0, err)
	}
	defer closePlain()
	data, err := readAll(plain, min(hint, l.limits.Size), func(n int64) error {
		switch {
		case n > l.limits.Size:
			return l.tooLarge("the decompressed input is")
		case n > l.limits.RatioFrom && n/l.limits.Ratio > packed.n:
			return fmt.Errorf("%s: refused: %d bytes of %s data became more than %d, over %d times as much, which no %s does",
				l.path, packed.n, c, n, l.limits.Ratio, l.kind())
		}
		return nil
	})
	if err != nil && !isRefusal(err) {
		err = l.damaged(c, archive, len(data), err)
	}
	return data, err
}

func (l *loader) damaged(c compression, archive *counter, got int, err error) error {
	what := "damaged"
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		what = "truncated"
	}
	rest := "nothing could be read"
	if got > 0 {
		rest = "only what comes before was " + l.used()
	}
	return fmt.Errorf("%s: %s %s data near byte %d (%w); %s", l.path, what, c, archive.n, err, rest)
}

func newReader(c compression, r io.Reader) (plain io.Reader, done func(), err error) {
	if c == gzipped {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { z.Close() }, nil
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}
