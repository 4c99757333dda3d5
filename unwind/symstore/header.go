package symstore

import (
	"bytes"
	"io"
	"strings"
)

// maxHeader is how many bytes of a symbol file, once decompressed, are searched for its MODULE record.
const maxHeader = 64 << 10

// header is what a symbol file says it is for.
type header struct {
	path     string
	id, name string // of the first MODULE record
	problem  string // why there is none, "" if there is
}

// readHeader looks for the MODULE record of a symbol file. It reads no more than it needs of it.
func readHeader(path string) header {
	h := header{path: path}
	text, err := readStart(path, maxHeader)
	if err != nil || len(text) == maxHeader {
		text = text[:bytes.LastIndexAny(text, "\r\n")+1] // the last line may be cut
	}
	var found bool
	h.id, h.name, found = moduleRecord(text)
	switch {
	case !found && err != nil:
		h.problem = err.Error()
	case !found:
		h.problem = "no MODULE record"
	case h.id == "":
		h.problem = "no id in the MODULE record"
	}
	return h
}

// readStart returns the first bytes of a file, decompressed. What could be read before an error is returned with it.
func readStart(path string, limit int64) ([]byte, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := sniff(f)
	if err != nil {
		return nil, err
	}
	packed := &counter{r: f}
	in, done, err := c.newReader(packed)
	if err != nil {
		return nil, c.damaged(packed, err)
	}
	defer done()
	var buf bytes.Buffer
	if c == plain {
		buf.Grow(int(min(size, limit)))
	}
	if _, err = buf.ReadFrom(io.LimitReader(in, limit)); err != nil {
		err = c.damaged(packed, err)
	}
	return buf.Bytes(), err
}

// moduleRecord returns the id and name of the first MODULE record: MODULE os arch id name.
func moduleRecord(text []byte) (id, name string, found bool) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	for len(text) > 0 {
		line := text
		if end := bytes.IndexAny(text, "\r\n"); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		rest, ok := bytes.CutPrefix(line, []byte("MODULE "))
		if !ok {
			continue
		}
		var fields [3]string
		for i := range fields {
			rest = bytes.TrimLeft(rest, " \t")
			end := bytes.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			fields[i], rest = string(rest[:end]), rest[end:]
		}
		return fields[2], strings.Trim(string(rest), " \t"), true
	}
	return "", "", false
}
