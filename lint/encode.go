package lint

import (
	"bufio"
	"encoding/binary"
	"io"
)

// The encoding of findings in temporary storage: varints and length-prefixed strings in field order. It never leaves
// the process that wrote it.

func appendFinding(b []byte, g *Registry, f *Finding) []byte {
	b = binary.AppendUvarint(b, uint64(g.Index(f.Rule)))
	b = append(b, byte(f.Severity))
	b = appendString(b, f.File)
	b = appendLocation(b, &f.Location)
	b = appendString(b, string(f.Snippet))
	b = binary.AppendVarint(b, int64(f.SnippetColumn))
	if f.HasAddress {
		b = binary.AppendUvarint(append(b, 1), f.Address)
	} else {
		b = append(b, 0)
	}
	b = appendString(b, f.Function)
	b = appendString(b, f.Subject)
	b = appendString(b, f.Message)
	b = binary.AppendUvarint(b, uint64(len(f.Detail)))
	for _, d := range f.Detail {
		b = appendString(b, d)
	}
	for _, e := range f.Effects {
		b = appendString(append(b, byte(e.Impact)), e.Text)
	}
	b = binary.AppendUvarint(b, uint64(len(f.Related)))
	for i := range f.Related {
		r := &f.Related[i]
		b = appendString(b, r.File)
		b = appendLocation(b, &r.Location)
		b = appendString(b, r.Message)
	}
	if f.Fix == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = appendString(b, f.Fix.Description)
		b = append(b, boolByte(f.Fix.Safe))
		b = binary.AppendUvarint(b, uint64(len(f.Fix.Edits)))
		for _, e := range f.Fix.Edits {
			b = binary.AppendVarint(binary.AppendVarint(b, e.Offset), e.Length)
			b = appendString(b, e.Text)
		}
	}
	return binary.AppendVarint(b, int64(f.Count))
}

func appendLocation(b []byte, l *Location) []byte {
	for _, v := range [...]int64{int64(l.Line), int64(l.Column), int64(l.EndColumn), l.Offset, l.Length} {
		b = binary.AppendVarint(b, v)
	}
	return appendString(b, l.Section)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// readFinding reads what appendFinding wrote; io.EOF at the end of the run.
func readFinding(r *bufio.Reader, g *Registry, f *Finding) error {
	index, err := binary.ReadUvarint(r)
	if err != nil {
		return err
	}
	d := &decoder{r: r}
	*f = Finding{Rule: g.rules[index], Severity: Severity(d.byte()), File: d.string()}
	d.location(&f.Location)
	if s := d.string(); s != "" {
		f.Snippet = []byte(s)
	}
	f.SnippetColumn = int(d.varint())
	if d.byte() == 1 {
		f.HasAddress, f.Address = true, d.uvarint()
	}
	f.Function, f.Subject, f.Message = d.string(), d.string(), d.string()
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		f.Detail = append(f.Detail, d.string())
	}
	for c := range f.Effects {
		f.Effects[c].Impact = Impact(d.byte())
		f.Effects[c].Text = d.string()
	}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		rel := Related{File: d.string()}
		d.location(&rel.Location)
		rel.Message = d.string()
		f.Related = append(f.Related, rel)
	}
	if d.byte() == 1 {
		f.Fix = &Fix{Description: d.string(), Safe: d.byte() == 1}
		for n := d.uvarint(); n > 0 && d.err == nil; n-- {
			f.Fix.Edits = append(f.Fix.Edits, Edit{Offset: d.varint(), Length: d.varint(), Text: d.string()})
		}
	}
	f.Count = int(d.varint())
	if d.err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return d.err
}

type decoder struct {
	r   *bufio.Reader
	err error
}

func (d *decoder) byte() byte {
	if d.err != nil {
		return 0
	}
	var b byte
	b, d.err = d.r.ReadByte()
	return b
}

func (d *decoder) uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	var v uint64
	v, d.err = binary.ReadUvarint(d.r)
	return v
}

func (d *decoder) varint() int64 {
	if d.err != nil {
		return 0
	}
	var v int64
	v, d.err = binary.ReadVarint(d.r)
	return v
}

func (d *decoder) string() string {
	n := d.uvarint()
	if d.err != nil || n == 0 {
		return ""
	}
	b := make([]byte, n)
	_, d.err = io.ReadFull(d.r, b)
	return string(b)
}

func (d *decoder) location(l *Location) {
	l.Line, l.Column, l.EndColumn = int(d.varint()), int(d.varint()), int(d.varint())
	l.Offset, l.Length = d.varint(), d.varint()
	l.Section = d.string()
}
