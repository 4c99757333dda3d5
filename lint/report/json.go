package report

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/symlint/symlint/lint"
)

// jsonVersion is the version of the JSON document. Fields may be added within a version, never changed or removed.
const jsonVersion = 1

// diagnostic is a finding in JSON. Pointers are null where there is nothing to say.
type diagnostic struct {
	Rule      string            `json:"rule"`
	Family    string            `json:"family"`
	Severity  lint.Severity     `json:"severity"`
	File      string            `json:"file"`
	Line      *int              `json:"line"`       // 1-based; null in binaries
	Column    *int              `json:"column"`     // 1-based, in bytes
	EndColumn *int              `json:"end_column"` // exclusive
	Section   *string           `json:"section"`    // null in text
	Offset    *int64            `json:"offset"`     // bytes from the start of the text, or of the section
	Length    int64             `json:"length"`     // bytes
	Address   *string           `json:"address"`    // "0x1930", module-relative
	Function  *string           `json:"function"`
	Subject   *string           `json:"subject"` // what the finding is known by across builds
	Message   string            `json:"message"`
	Detail    []string          `json:"detail"`
	Count     int               `json:"count"` // records with this cause
	Consumers map[string]string `json:"consumers"`
	Related   []relatedPlace    `json:"related"`
	Fix       *fix              `json:"fix"`
}

type relatedPlace struct {
	File    string  `json:"file"`
	Line    *int    `json:"line"`
	Column  *int    `json:"column"`
	Section *string `json:"section"`
	Offset  *int64  `json:"offset"`
	Message string  `json:"message"`
}

type fix struct {
	Description string `json:"description"`
	Safe        bool   `json:"safe"`
	Edits       []edit `json:"edits"`
}

type edit struct {
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Text   string `json:"text"`
}

// diagnostics writes findings as JSON objects.
type diagnostics struct {
	consumers lint.ConsumerSet
	out       output
	enc       *encoder
}

func newDiagnostics(o Options, out output) diagnostics {
	return diagnostics{o.Consumers, out, newEncoder()}
}

// write writes one finding as one line, without its end.
func (d *diagnostics) write(res *lint.FileResult, f *lint.Finding) error {
	file := fileOf(res, f)
	v := diagnostic{
		Rule: f.Rule.Name, Family: f.Rule.Family, Severity: f.Severity,
		File: file, Length: f.Length,
		Function: nonEmpty(f.Function), Subject: nonEmpty(f.Key()),
		Message: f.Message, Detail: f.Detail, Count: max(f.Count, 1),
		Consumers: effectsMap(&f.Effects, d.consumers),
		Related:   []relatedPlace{},
	}
	v.Line, v.Column, v.Section, v.Offset = coordinates(&f.Location)
	if v.Column != nil {
		v.EndColumn = &f.EndColumn
	}
	if f.HasAddress {
		v.Address = nonEmpty(hex(f.Address))
	}
	if v.Detail == nil {
		v.Detail = []string{}
	}
	for i := range f.Related {
		r := &f.Related[i]
		p := relatedPlace{File: r.File, Message: r.Message}
		if p.File == "" {
			p.File = file
		}
		p.Line, p.Column, p.Section, p.Offset = coordinates(&r.Location)
		v.Related = append(v.Related, p)
	}
	if f.Fix != nil {
		v.Fix = &fix{Description: f.Fix.Description, Safe: f.Fix.Safe, Edits: []edit{}}
		for _, e := range f.Fix.Edits {
			v.Fix.Edits = append(v.Fix.Edits, edit(e))
		}
	}
	return d.enc.encode(d.out, &v)
}

// coordinates are the parts of a location that are known.
func coordinates(l *lint.Location) (line, column *int, section *string, offset *int64) {
	if l.Section != "" {
		return nil, nil, &l.Section, &l.Offset
	}
	if l.Line == 0 {
		return nil, nil, nil, nil
	}
	if l.Column != 0 {
		column = &l.Column
	}
	if l.Offset != 0 || l.Line == 1 {
		offset = &l.Offset
	}
	return &l.Line, column, nil, offset
}

// effectsMap is what each consumer of the set does.
func effectsMap(e *lint.Effects, set lint.ConsumerSet) map[string]string {
	m := make(map[string]string, lint.ConsumerCount)
	for c := lint.Consumer(0); c < lint.ConsumerCount; c++ {
		if set.Has(c) && e[c].Text != "" {
			m[c.String()] = e[c].Text
		}
	}
	return m
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

// jsonlReporter writes one diagnostic a line and nothing else.
type jsonlReporter struct{ diagnostics }

func (j *jsonlReporter) Begin() error { return nil }

func (j *jsonlReporter) File(res *lint.FileResult) error {
	for f, err := range res.Findings() {
		if err != nil {
			return fmt.Errorf("findings of %s: %w", res.Path, err)
		}
		if err := j.write(res, f); err != nil {
			return err
		}
		j.out.put("\n")
	}
	return j.out.Flush()
}

func (j *jsonlReporter) End(*lint.Summary) error { return j.out.Flush() }

// jsonReporter writes one document. Diagnostics come before files because what is said of a file, though known
// first, is small enough to keep until the end, and findings are not.
type jsonReporter struct {
	Options
	diagnostics
	any   bool
	files []json.RawMessage
}

func (j *jsonReporter) Begin() error {
	tool, err := marshal(struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}{"symlint", j.Version})
	if err != nil {
		return err
	}
	j.out.put("{\"version\": ", strconv.Itoa(jsonVersion), ",\n\"tool\": ", string(tool), ",\n\"diagnostics\": [")
	return j.out.err()
}

func (j *jsonReporter) File(res *lint.FileResult) error {
	for f, err := range res.Findings() {
		if err != nil {
			return fmt.Errorf("findings of %s: %w", res.Path, err)
		}
		if j.any {
			j.out.put(",")
		}
		j.any = true
		j.out.put("\n")
		if err := j.write(res, f); err != nil {
			return err
		}
	}
	file, err := marshal(fileEntryOf(res))
	j.files = append(j.files, file)
	return err
}

func (j *jsonReporter) End(sum *lint.Summary) error {
	j.out.put("\n],\n\"files\": [")
	for i, f := range j.files {
		if i > 0 {
			j.out.put(",")
		}
		j.out.put("\n")
		j.out.Write(f)
	}
	totals, err := marshal(struct {
		Error      int `json:"error"`
		Warning    int `json:"warning"`
		Info       int `json:"info"`
		Suppressed int `json:"suppressed"`
		Files      int `json:"files"`
		Failed     int `json:"failed"`
	}{sum.Totals[lint.Error], sum.Totals[lint.Warning], sum.Totals[lint.Info], sum.Suppressed, sum.Files, sum.Failed})
	if err != nil {
		return err
	}
	j.out.put("\n],\n\"summary\": ", string(totals), "}\n")
	return j.out.Flush()
}
