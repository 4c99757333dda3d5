package report

import (
	"bufio"
	"io"
)

// output is a buffered writer whose first error sticks.
type output struct{ *bufio.Writer }

func newOutput(w io.Writer) output { return output{bufio.NewWriterSize(w, 1<<16)} }

// err returns the first error of the writer beneath, so that a closed pipe ends a long report.
func (o output) err() error {
	_, err := o.Write(nil)
	return err
}

// put writes strings; err tells what became of them.
func (o output) put(parts ...string) {
	for _, s := range parts {
		o.WriteString(s)
	}
}
