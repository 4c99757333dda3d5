package symgen

import (
	"io"
	"strconv"
)

const flushAt = 1 << 20

// output collects a file: head is written as it grows; late and last are held back until the head is complete. The first
// error sticks.
type output struct {
	w       io.Writer
	err     error
	written int64

	head text // what comes first: MODULE to the last FUNC
	late text // PUBLIC records
	last text // STACK records, as far as they are not in held
	held []text
	kept int64 // bytes in held
}

// size is the number of bytes the file has so far.
func (o *output) size() int64 {
	return o.written + o.kept + int64(len(o.head)+len(o.late)+len(o.last))
}

// spill passes a full head on and puts a full last aside.
func (o *output) spill() {
	if len(o.head) >= flushAt {
		o.write(o.head)
		o.head = o.head[:0]
	}
	if len(o.last) >= flushAt {
		o.held = append(o.held, o.last)
		o.kept += int64(len(o.last))
		o.last = make(text, 0, flushAt+flushAt/8)
	}
}

func (o *output) write(b []byte) {
	if o.err != nil {
		return
	}
	n, err := o.w.Write(b)
	o.written += int64(n)
	o.err = err
}

// finish writes what was held back.
func (o *output) finish() error {
	o.write(o.head)
	o.write(o.late)
	for _, t := range o.held {
		o.write(t)
	}
	o.write(o.last)
	return o.err
}

// text is a growing piece of a symbol file.
type text []byte

func (t *text) str(s string)   { *t = append(*t, s...) }
func (t *text) bytes(b []byte) { *t = append(*t, b...) }
func (t *text) space()         { *t = append(*t, ' ') }
func (t *text) newline()       { *t = append(*t, '\n') }
func (t *text) dec(n int)      { *t = strconv.AppendInt(*t, int64(n), 10) }

// hex appends n in lower-case hexadecimal without leading zeros.
func (t *text) hex(n uint64) {
	const digits = "0123456789abcdef"
	var b [16]byte
	i := len(b)
	for {
		i--
		b[i] = digits[n&15]
		if n >>= 4; n == 0 {
			break
		}
	}
	*t = append(*t, b[i:]...)
}

// field appends n in hexadecimal and the blank that ends it.
func (t *text) field(n uint64) {
	t.hex(n)
	t.space()
}

// Write makes a text an io.Writer.
func (t *text) Write(b []byte) (int, error) {
	t.bytes(b)
	return len(b), nil
}
