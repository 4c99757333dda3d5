package symdiff

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"io"
)

// Schema is the JSON schema (draft 2020-12) of what WriteJSON and Store.WriteJSON write. Fields may be added, never
// changed or removed.
//
//go:embed diff.schema.json
var Schema []byte

// jsonVersion is the version of the format.
const jsonVersion = 1

type jsonFile struct {
	Path     string       `json:"path"`
	Size     int          `json:"size"`
	Module   jsonModule   `json:"module"`
	Coverage jsonCoverage `json:"coverage"`
}

type jsonModule struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

type jsonCoverage struct {
	Functions int    `json:"functions"`
	Publics   int    `json:"publics"`
	Lines     int    `json:"lines"`
	Inlines   int    `json:"inlines"`
	CFIRows   int    `json:"cfi_rows"`
	Wins      int    `json:"stack_win"`
	Code      uint64 `json:"code_bytes"`
	WithLines uint64 `json:"code_bytes_with_lines"`
	WithCFI   uint64 `json:"code_bytes_with_cfi"`
}

type jsonField struct {
	Field string  `json:"field"`
	Old   *string `json:"old"`
	New   *string `json:"new"`
}

type jsonMove struct {
	From      string `json:"from"`
	To        string `json:"to"`
	By        string `json:"by"`
	Functions int    `json:"functions"`
}

type jsonShift struct {
	By        string     `json:"by"`
	Functions int        `json:"functions"`
	Others    int        `json:"others"`
	Outliers  []jsonMove `json:"outliers"`
}

type jsonPathMap struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Auto  bool   `json:"auto"`
	Files int    `json:"files"`
}

type jsonBytes struct {
	Lines   uint64 `json:"lines"`
	Inlines uint64 `json:"inlines"`
	CFI     uint64 `json:"cfi"`
}

type jsonSummary struct {
	Matched          int            `json:"matched"`
	Same             int            `json:"same"`
	Changed          int            `json:"changed"`
	Added            int            `json:"added"`
	Removed          int            `json:"removed"`
	FunctionsAdded   int            `json:"functions_added"`
	FunctionsRemoved int            `json:"functions_removed"`
	Renamed          int            `json:"renamed"`
	Resized          int            `json:"resized"`
	PublicsAdded     int            `json:"publics_added"`
	PublicsRemoved   int            `json:"publics_removed"`
	PublicsChanged   int            `json:"publics_changed"`
	MatchedBy        map[string]int `json:"matched_by"`
	Aspects          map[string]int `json:"aspects"`
	Lost             jsonBytes      `json:"lost_bytes"`
	Gained           jsonBytes      `json:"gained_bytes"`
}

type jsonSide struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Address  string `json:"address"`
	Size     string `json:"size"`
	Params   string `json:"param_size"`
	Multiple bool   `json:"multiple"`
	Line     int    `json:"line"`
}

type jsonDelta struct {
	From string  `json:"from"`
	To   string  `json:"to"`
	What string  `json:"what"`
	Old  *string `json:"old"`
	New  *string `json:"new"`
}

type jsonRow struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	Text string `json:"text"`
}

type jsonFunction struct {
	Status    string      `json:"status"`
	Match     string      `json:"match"`
	Name      string      `json:"name"`
	Aspects   []string    `json:"aspects"`
	Old       *jsonSide   `json:"old"`
	New       *jsonSide   `json:"new"`
	LineShift int64       `json:"line_shift"`
	Lines     []jsonDelta `json:"lines"`
	Inlines   []jsonDelta `json:"inlines"`
	CFI       []jsonDelta `json:"cfi"`
	Win       []jsonDelta `json:"stack_win"`
	Lost      jsonBytes   `json:"lost_bytes"`
	Gained    jsonBytes   `json:"gained_bytes"`

	Rows *[2][]jsonRow `json:"cfi_rows,omitempty"` // for the HTML page only
	Cut  bool          `json:"cut,omitempty"`      // likewise: there is more
}

type jsonPublic struct {
	Status string          `json:"status"`
	Name   string          `json:"name"`
	Moved  bool            `json:"moved"`
	Old    *jsonPublicSide `json:"old"`
	New    *jsonPublicSide `json:"new"`
}

type jsonPublicSide struct {
	Address  string `json:"address"`
	Params   string `json:"param_size"`
	Multiple bool   `json:"multiple"`
	In       string `json:"in"`     // the function it lies in, "" for none
	Offset   string `json:"offset"` // its offset there
	Line     int    `json:"line"`
}

// jsonHead is a result without its functions.
type jsonHead struct {
	Version      int           `json:"version"`
	Same         bool          `json:"same"`
	Old          jsonFile      `json:"old"`
	New          jsonFile      `json:"new"`
	Summary      jsonSummary   `json:"summary"`
	Module       []jsonField   `json:"module"`
	Shift        jsonShift     `json:"shift"`
	PathMaps     []jsonPathMap `json:"path_maps"`
	FilesAdded   []string      `json:"files_added"`
	FilesRemoved []string      `json:"files_removed"`
	Publics      []jsonPublic  `json:"publics"`
}

// WriteJSON writes the result as one object, as Schema describes it.
func (r *Result) WriteJSON(w io.Writer) error {
	b := bufio.NewWriter(w)
	if err := r.writeJSON(b, -1); err != nil {
		return err
	}
	b.WriteByte('\n')
	return b.Flush()
}

// writeJSON writes the object, with the rows of the first functions for a page if rows is not negative. Functions are
// written one by one, so that a long result takes no memory.
func (r *Result) writeJSON(b *bufio.Writer, rows int) error {
	head, err := json.Marshal(r.jsonHead())
	if err != nil {
		return err
	}
	b.Write(head[:len(head)-1])
	if rows >= 0 {
		strip, err := json.Marshal(r.strip())
		if err != nil {
			return err
		}
		b.WriteString(`,"strip":`)
		b.Write(strip)
	}
	b.WriteString(`,"functions":[`)
	d := r.NewDetailer()
	for i := range r.Changes {
		f := r.jsonFunction(&r.Changes[i], d, rows >= 0, rows < 0 || i < rows)
		text, err := json.Marshal(f)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		if _, err := b.Write(text); err != nil {
			return err
		}
	}
	_, err = b.WriteString("]}")
	return err
}

func (r *Result) jsonHead() jsonHead {
	s := &r.Summary
	h := jsonHead{Version: jsonVersion, Same: r.Same(), Old: r.Old.json(), New: r.New.json(),
		Summary: jsonSummary{
			Matched: s.Matched, Same: s.Same, Changed: s.Changed, Added: s.Added, Removed: s.Removed,
			FunctionsAdded: s.FunctionsAdded, FunctionsRemoved: s.FunctionsRemoved, Renamed: s.Renamed, Resized: s.Resized,
			PublicsAdded: s.PublicsAdded, PublicsRemoved: s.PublicsRemoved, PublicsChanged: s.PublicsChanged,
			MatchedBy: map[string]int{}, Aspects: map[string]int{},
			Lost:   jsonBytes{s.LostLines, s.LostInlines, s.LostCFI},
			Gained: jsonBytes{s.GainedLines, s.GainedInlines, s.GainedCFI},
		},
		Module: []jsonField{}, PathMaps: []jsonPathMap{}, Publics: []jsonPublic{},
		FilesAdded: append([]string{}, r.FilesAdded...), FilesRemoved: append([]string{}, r.FilesRemoved...),
		Shift: jsonShift{signedHex(r.Shift.By), r.Shift.Functions, r.Shift.Others, []jsonMove{}},
	}
	for m := ByName; m <= ByBody; m++ {
		h.Summary.MatchedBy[m.String()] = s.By[m]
	}
	for a, n := range s.With {
		h.Summary.Aspects[a.String()] = n
	}
	for _, f := range r.Module {
		h.Module = append(h.Module, jsonField{f.Field, orNull(f.Old), orNull(f.New)})
	}
	for _, m := range r.Shift.Outliers {
		h.Shift.Outliers = append(h.Shift.Outliers, jsonMove{hex(m.From), hex(m.To), signedHex(m.By), m.Functions})
	}
	for _, m := range r.PathMaps {
		h.PathMaps = append(h.PathMaps, jsonPathMap(m))
	}
	for i := range r.Publics {
		p := &r.Publics[i]
		j := jsonPublic{Status: p.Status.String(), Name: p.Name, Moved: p.Moved}
		if p.Status != Added {
			j.Old = &jsonPublicSide{hex(p.OldAddr), hex(uint64(p.OldParams)), p.OldMult, p.OldIn, hex(p.OldOff), p.OldLine}
		}
		if p.Status != Removed {
			j.New = &jsonPublicSide{hex(p.NewAddr), hex(uint64(p.NewParams)), p.NewMult, p.NewIn, hex(p.NewOff), p.NewLine}
		}
		h.Publics = append(h.Publics, j)
	}
	return h
}

func (f *FileInfo) json() jsonFile {
	c := &f.Coverage
	return jsonFile{f.Path, f.Size, jsonModule{f.OS, f.Arch, f.ID, f.Name},
		jsonCoverage{c.Functions, c.Publics, c.Lines, c.Inlines, c.CFIRows, c.Wins, c.Code, c.WithLines, c.WithCFI}}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (s *Side) json() *jsonSide {
	return &jsonSide{s.Kind.String(), s.Name, hex(s.Addr), hex(s.Size), hex(uint64(s.Params)), s.Multiple, s.Line}
}

// maxPageRows bounds the rows of one function in a page.
const maxPageRows = 500

func (r *Result) jsonFunction(ch *Change, d *Detailer, page, detail bool) jsonFunction {
	f := jsonFunction{Status: ch.Status.String(), Match: ch.Match.String(), Name: ch.Name(), Aspects: ch.Aspects.Names(),
		Lines: []jsonDelta{}, Inlines: []jsonDelta{}, CFI: []jsonDelta{}, Win: []jsonDelta{},
		Lost:   jsonBytes{ch.LostLines, ch.LostInlines, ch.LostCFI},
		Gained: jsonBytes{ch.GainedLines, ch.GainedInlines, ch.GainedCFI},
		Cut:    !detail,
	}
	if ch.pair.old >= 0 {
		f.Old = ch.Old.json()
	}
	if ch.pair.new >= 0 {
		f.New = ch.New.json()
	}
	if !detail || !ch.Aspects.Has(Lines|Inlines|CFI|Win) {
		return f
	}
	x := d.Detail(ch, page)
	f.LineShift = x.LineShift
	put := func(list []Delta) []jsonDelta {
		if page && len(list) > maxPageRows {
			list, f.Cut = list[:maxPageRows], true
		}
		out := make([]jsonDelta, len(list))
		for i, d := range list {
			out[i] = jsonDelta{hex(d.From), hex(d.To), d.What, orNull(d.Old), orNull(d.New)}
		}
		return out
	}
	f.Lines, f.Inlines, f.CFI, f.Win = put(x.Lines), put(x.Inlines), put(x.CFI), put(x.Win)
	if page && len(x.CFIRows[0])+len(x.CFIRows[1]) > 0 {
		var rows [2][]jsonRow
		for i := range rows {
			rows[i] = []jsonRow{}
			for _, row := range x.CFIRows[i][:min(len(x.CFIRows[i]), maxPageRows)] {
				rows[i] = append(rows[i], jsonRow(row))
			}
		}
		f.Rows = &rows
	}
	return f
}
