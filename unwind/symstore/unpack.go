package symstore

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// compression is how a file is packed.
type compression uint8

const (
	plain compression = iota
	gzipped
	zstandard
)

func (c compression) String() string { return [...]string{"plain", "gzip", "zstd"}[c] }

// magicSize is how many bytes tell the compressions apart.
const magicSize = 4

// compressionOf looks at the first bytes: RFC 1952 section 2.3.1 (deflate being the only method) and RFC 8878 section
// 3.1, skippable frames included.
func compressionOf(head []byte) compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}):
		return gzipped
	case len(head) < magicSize:
		return plain
	}
	if magic := binary.LittleEndian.Uint32(head); magic == 0xfd2fb528 || magic&^0xf == 0x184d2a50 {
		return zstandard
	}
	return plain
}

const (
	// maxWindow is the largest zstd window in bytes: what `zstd` accepts without --long.
	maxWindow = 128 << 20
	// maxRatio is how many times larger than its archive a file may be, once it is larger than ratioFrom bytes.
	// Symbol files and binaries shrink to a tenth at best.
	maxRatio = 200
	// maxFirstBuffer bounds what is allocated before a byte has been read.
	maxFirstBuffer = 256 << 20
)

// ratioFrom is a variable for the tests alone.
var ratioFrom int64 = 64 << 20

// newReader returns a reader of what r holds in packed form. close frees its buffers.
func (c compression) newReader(r io.Reader) (unpacked io.Reader, close func(), err error) {
	switch c {
	case gzipped:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { z.Close() }, nil
	case zstandard:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return r, func() {}, nil
}

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

// unpack reads all of r. size is the number of bytes r is expected to have, a hint. The result is no larger than
// maxSize, and for an archive in proportion to what has been read of it.
func unpack(c compression, r io.Reader, size, maxSize int64) ([]byte, error) {
	packed := &counter{r: r}
	in, done, err := c.newReader(packed)
	if err != nil {
		return nil, c.damaged(packed, err)
	}
	defer done()
	hint := size + 1
	if c != plain {
		hint = size * 6
	}
	buf := make([]byte, 0, max(512, min(hint, maxFirstBuffer, maxSize)))
	for {
		if len(buf) == cap(buf) {
			grow := cap(buf)
			if grow > 512<<20 {
				grow /= 2 // the old and the new buffer live at the same time
			}
			buf = slices.Grow(buf, grow)
		}
		n, err := in.Read(buf[len(buf):min(cap(buf), len(buf)+1<<20)])
		buf = buf[:len(buf)+n]
		switch got := int64(len(buf)); {
		case got > maxSize:
			return nil, tooLarge(maxSize)
		case c != plain && got > ratioFrom && got/maxRatio > packed.n:
			return nil, fmt.Errorf("refused: %d bytes of %s data became over %d times as many", packed.n, c, maxRatio)
		}
		switch {
		case err == io.EOF:
			if inner := compressionOf(buf); c != plain && inner != plain {
				return nil, fmt.Errorf("compressed twice: the %s data holds %s data", c, inner)
			}
			return buf, nil
		case err != nil && c == plain:
			return nil, withoutPath(err)
		case err != nil:
			return nil, c.damaged(packed, err)
		}
	}
}

func tooLarge(maxSize int64) error {
	return fmt.Errorf("refused: more than %d bytes", maxSize)
}

func (c compression) damaged(packed *counter, err error) error {
	what := "damaged"
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		what = "truncated"
	}
	return fmt.Errorf("%s %s data near byte %d: %w", what, c, packed.n, withoutPath(err))
}
