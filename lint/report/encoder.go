package report

import (
	"bytes"
	"encoding/json"
	"io"
)

// encoder writes JSON values without line ends and without the escapes that only matter inside HTML. Bytes that are
// no UTF-8 become U+FFFD.
type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

func newEncoder() *encoder {
	e := new(encoder)
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}

// encode writes one value.
func (e *encoder) encode(w io.Writer, v any) error {
	e.buf.Reset()
	if err := e.enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n")))
	return err
}

// marshal returns one value's JSON.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := newEncoder().encode(&b, v)
	return b.Bytes(), err
}
