package baseline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	// Version is the version of the format.
	Version = 1
	// MaxSize is the most bytes a baseline may have.
	MaxSize = 64 << 20
	// MaxCount is the highest count of an entry.
	MaxCount = math.MaxInt32
)

// Encode writes what was recorded, sorted by rule, module and subject and one entry a line, so that versions of it
// can be compared and merged.
func (r *Recorder) Encode(w io.Writer) error {
	r.mu.Lock()
	list := make([]Entry, 0, len(r.counts))
	for e, n := range r.counts {
		e.Count = min(n, MaxCount)
		list = append(list, e)
	}
	r.mu.Unlock()
	sortEntries(list)

	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "{\"version\": %d,\n\"findings\": [", Version)
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	for i, e := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		line.Reset()
		if err := enc.Encode(e); err != nil {
			return err
		}
		out.WriteByte('\n')
		if _, err := out.Write(bytes.TrimSuffix(line.Bytes(), []byte("\n"))); err != nil {
			return err
		}
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

// Read reads a baseline.
func Read(r io.Reader) (*Baseline, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("baseline: larger than %d bytes", MaxSize)
	}
	b := &Baseline{modules: make(map[string]*module)}
	d := &reader{data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	d.dec.DisallowUnknownFields()
	if err := d.document(b); err != nil {
		return nil, d.place(err)
	}
	return b, nil
}

// reader reads a document token by token, so that entries never exist as a second, larger structure.
type reader struct {
	data []byte
	dec  *json.Decoder
}

// place adds the line to an error.
func (d *reader) place(err error) error {
	off := d.dec.InputOffset()
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		off = e.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		off = int64(len(d.data))
		err = errors.New("the file ends too early")
	}
	off = min(max(off, 0), int64(len(d.data)))
	return fmt.Errorf("baseline: line %d: %w", 1+bytes.Count(d.data[:off], []byte("\n")), err)
}

func (d *reader) document(b *Baseline) error {
	if err := d.delim('{'); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for d.dec.More() {
		t, err := d.dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string) // the decoder lets nothing else be a name
		if seen[name] {
			return fmt.Errorf("key %q is there twice", name)
		}
		seen[name] = true
		switch name {
		case "version":
			var v int
			if err := d.dec.Decode(&v); err != nil {
				return err
			}
			if v != Version {
				return fmt.Errorf("version %d, want %d", v, Version)
			}
		case "findings":
			if err := d.findings(b); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown key %q", name)
		}
	}
	if err := d.delim('}'); err != nil {
		return err
	}
	if !seen["version"] || !seen["findings"] {
		return errors.New(`no baseline: want "version" and "findings"`)
	}
	if _, err := d.dec.Token(); err != io.EOF {
		return errors.New("text after the end")
	}
	return nil
}

func (d *reader) delim(want json.Delim) error {
	t, err := d.dec.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("want %q, found %v", want.String(), t)
	}
	return nil
}

func (d *reader) findings(b *Baseline) error {
	if err := d.delim('['); err != nil {
		return err
	}
	for d.dec.More() {
		var e Entry
		if err := d.dec.Decode(&e); err != nil {
			return err
		}
		if e.Rule == "" || e.Count < 1 || e.Count > MaxCount {
			return fmt.Errorf("entry %q of %q: want a rule and a count from 1 to %d", e.Rule, e.Module, MaxCount)
		}
		b.add(e)
	}
	return d.delim(']')
}

// add takes in one entry; those that merging version control has left twice add up.
func (b *Baseline) add(e Entry) {
	m := b.modules[e.Module]
	if m == nil {
		m = &module{entries: make(map[key]*entry)}
		b.modules[e.Module] = m
	}
	k := key{e.Rule, e.Subject}
	if m.entries[k] == nil {
		m.entries[k] = new(entry)
	}
	m.entries[k].count = min(m.entries[k].count+e.Count, MaxCount)
}
