package source

import (
	"errors"
	"io"
	"slices"
)

// refusal marks an error by which an input is given up for its size, whatever was read of it.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func isRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// maxHint bounds what is allocated before a byte has been read.
const maxHint = 256 << 20

// readAll reads to the end, into a buffer that grows with what has really come. hint is an estimate of the length;
// check is asked after each read whether the length so far is acceptable, its error is a refusal.
// What was read before an error is returned with it.
func readAll(r io.Reader, hint int64, check func(n int64) error) ([]byte, error) {
	buf := make([]byte, 0, min(max(hint, 1<<12), maxHint))
	for {
		if len(buf) == cap(buf) {
			grow := cap(buf)
			if grow > 512<<20 {
				grow /= 2 // the old and the new buffer live at the same time
			}
			buf = slices.Grow(buf, grow)
		}
		// In steps, so that check is asked often enough.
		n, err := r.Read(buf[len(buf):min(cap(buf), len(buf)+1<<20)])
		buf = buf[:len(buf)+n]
		if refused := check(int64(len(buf))); refused != nil {
			return nil, refusal{refused}
		}
		switch {
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}
