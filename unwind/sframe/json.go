package sframe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

type jsonSection struct {
	Name      string   `json:"name"`
	Address   string   `json:"address"`
	Size      int      `json:"size"`
	ByteOrder string   `json:"byte_order"`
	Version   uint8    `json:"version"`
	Flags     []string `json:"flags"`
	ABI       string   `json:"abi"`
	FixedFP   int8     `json:"fixed_fp"`
	FixedRA   int8     `json:"fixed_ra"`
	AuxLen    uint8    `json:"auxiliary_length"`
	NumFDEs   uint32   `json:"num_fdes"`
	NumFREs   uint32   `json:"num_fres"`
	FRELen    uint32   `json:"fre_len"`
	FDEOff    uint32   `json:"fde_off"`
	FREOff    uint32   `json:"fre_off"`
}

type jsonFunction struct {
	Index     int       `json:"index"`
	Offset    string    `json:"offset"`
	Address   string    `json:"address"`
	Size      uint32    `json:"size"`
	Section   string    `json:"section,omitempty"` // object files: what the function is in
	RowOffset uint32    `json:"row_offset"`
	NumRows   uint32    `json:"num_rows"`
	RowWidth  int       `json:"row_start_width"`
	Repeat    *uint32   `json:"repeat,omitempty"`
	Signal    bool      `json:"signal,omitempty"`
	Flex      bool      `json:"flex,omitempty"`
	BKey      bool      `json:"b_key,omitempty"`
	Rows      []jsonRow `json:"rows"`
}

type jsonRow struct {
	Offset    string  `json:"offset"`
	Start     uint32  `json:"start"`
	End       uint32  `json:"end"`
	CFA       string  `json:"cfa,omitempty"`
	FP        string  `json:"fp,omitempty"`
	RA        string  `json:"ra,omitempty"`
	RASigned  bool    `json:"ra_signed,omitempty"`
	Outermost bool    `json:"outermost,omitempty"`
	Fault     string  `json:"fault,omitempty"`
	Words     []int32 `json:"words"`
}

type jsonProblem struct {
	Offset string `json:"offset"`
	Kind   string `json:"kind"`
	FDE    *int   `json:"function,omitempty"`
	Row    *int   `json:"row,omitempty"`
	Text   string `json:"text"`
}

func jsonProblems(list []Problem) []jsonProblem {
	out := []jsonProblem{}
	for i := range list {
		p := &list[i]
		j := jsonProblem{Offset: hex(uint64(p.Offset)), Kind: p.Kind.String(), Text: p.Text}
		if p.FDE >= 0 {
			j.FDE = &p.FDE
		}
		if p.Row >= 0 {
			j.Row = &p.Row
		}
		out = append(out, j)
	}
	return out
}

func hex(v uint64) string { return fmt.Sprintf("0x%x", v) }

// jsonWriter writes a large object piece by piece.
type jsonWriter struct {
	w   *bufio.Writer
	err error
}

func (j *jsonWriter) text(s string) { j.w.WriteString(s) }

func (j *jsonWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && j.err == nil {
		j.err = err
	}
	j.w.Write(b)
}

func (j *jsonWriter) finish() error {
	j.text("\n")
	if err := j.w.Flush(); err != nil {
		return err
	}
	return j.err
}

// JSON writes what a file's sections hold as one JSON object. Addresses and offsets are strings like "0x1930"; a row's
// start and end count from its function or repeated block; rules are those of Rule.String.
func JSON(w io.Writer, f *File) error {
	j := jsonWriter{w: bufio.NewWriterSize(w, 1<<16)}
	j.text(`{"kind":"elf","machine":`)
	j.value(f.Machine.String())
	j.text(`,"type":`)
	j.value(f.Type.String())
	j.text(`,"sections":[`)
	for i, s := range f.Sections {
		if i > 0 {
			j.text(",")
		}
		j.section(s)
	}
	j.text(`],"problems":`)
	j.value(jsonProblems(f.problems))
	j.text("}")
	return j.finish()
}

// JSONSection is JSON for a section that is in no ELF file.
func JSONSection(w io.Writer, s *Section) error {
	j := jsonWriter{w: bufio.NewWriterSize(w, 1<<16)}
	j.text(`{"kind":"sframe","sections":[`)
	j.section(s)
	j.text(`],"problems":[]}`)
	return j.finish()
}

func (j *jsonWriter) section(s *Section) {
	h := &s.Header
	order := "little"
	if s.BigEndian {
		order = "big"
	}
	flags := h.Flags.names()
	if flags == nil {
		flags = []string{}
	}
	head := jsonSection{
		Name: s.Name, Address: hex(s.Addr), Size: len(s.Data), ByteOrder: order, Version: h.Version, Flags: flags,
		ABI: h.ABI.String(), FixedFP: h.FixedFP, FixedRA: h.FixedRA, AuxLen: h.AuxLen, NumFDEs: h.NumFDEs,
		NumFREs: h.NumFREs, FRELen: h.FRELen, FDEOff: h.FDEOff, FREOff: h.FREOff,
	}
	b, err := json.Marshal(&head)
	if err != nil && j.err == nil {
		j.err = err
		return
	}
	j.w.Write(b[:len(b)-1]) // the object goes on
	j.text(`,"functions":[`)
	if s.Err == nil {
		first := true
		for it := s.Functions(); it.Next(); {
			if !first {
				j.text(",")
			}
			first = false
			j.function(&it)
		}
	}
	j.text(`],"problems":`)
	j.value(jsonProblems(s.Check()))
	j.text("}")
}

func (j *jsonWriter) function(it *Functions) {
	d := &it.FDE
	out := jsonFunction{
		Index: d.Index, Offset: hex(uint64(d.Offset)), Address: hex(d.Start), Size: d.Size, RowOffset: d.RowOffset,
		NumRows: d.NumRows, RowWidth: d.StartWidth(), Signal: d.Signal(), Flex: d.Flex(), BKey: d.BKey(), Rows: []jsonRow{},
	}
	if r, ok := d.Reloc(); ok && r.Applied {
		out.Section = d.s.file.headers[r.Section].name
	}
	if d.Mask() {
		repeat := d.Repeat()
		out.Repeat = &repeat
	}
	for it.NextRow() {
		r := it.Row()
		row := jsonRow{
			Offset: hex(uint64(r.Offset)), Start: r.Start, End: r.End, RASigned: r.RASigned, Outermost: r.Outermost,
			Words: r.words(),
		}
		if row.Words == nil {
			row.Words = []int32{}
		}
		switch {
		case r.Fault != 0:
			row.Fault = r.Fault.String()
		case !r.Outermost:
			row.CFA, row.FP, row.RA = r.CFA.String(), r.FP.String(), r.RA.String()
		}
		out.Rows = append(out.Rows, row)
	}
	j.value(&out)
}
