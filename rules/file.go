package rules

import (
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var fileFamily = &lint.Analyzer{
	Name:  "file",
	Rules: []*lint.Rule{fileDuplicate, fileUnused, fileEmptyName},
	Kinds: []symfile.Kind{symfile.File, symfile.Line, symfile.Inline},
	New:   func(p *lint.Pass) lint.Checker { return &fileChecker{pass: p} },
}

var fileDuplicate = &lint.Rule{
	Name: "file-duplicate", Family: "file", Severity: lint.Error, Also: []lint.Severity{lint.Info},
	Summary: "one FILE id names two files",
	Why: "Line records refer to files by id. When an id is defined twice, Breakpad shows the first name and rust-minidump and symbolic the " +
		"last, so the same crash is attributed to different files depending on who reads it. An exact repeat only wastes space and is " +
		"reported as info.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "keeps the first name"},
		{Impact: lint.Degraded, Text: "keeps the last name"},
		{Impact: lint.Degraded, Text: "keeps the last name"},
	},
	Bad: lint.Example{Line: 4, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FILE 0 /src/other.c
FUNC 1000 10 0 main
1000 10 3 0
STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FUNC 1000 10 0 main
1000 10 3 0
STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`,
	Evidence: "Breakpad's std::map::insert against rust-minidump's HashMap::insert; seen where two compilation passes were concatenated",
	Refs:     []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/docs/symbol_files.md#file-records"},
}

var fileUnused = &lint.Rule{
	Name: "file-unused", Family: "file", Severity: lint.Info,
	Summary: "no line or inline record refers to the file",
	Why:     "The record costs space and nothing else. Many unused files hint that line records were dropped or refer to other ids.",
	Effects: lint.Same(lint.Unaffected, "keeps the name and never shows it"),
	Bad: lint.Example{Line: 4, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /src/main.c
FILE 1 /src/unused.c
FUNC 1000 10 0 main
1000 10 3 0
STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: fileDuplicate.Good,
}

var fileEmptyName = &lint.Rule{
	Name: "file-empty-name", Family: "file", Severity: lint.Warning,
	Summary: "the name of a FILE record says nothing",
	Why:     "A placeholder instead of a path: frames in code of this file point nowhere. (A record without any name is `format-bad-field`.)",
	Effects: lint.Same(lint.Degraded, "shows the placeholder"),
	Bad: lint.Example{Line: 3, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 ""
FUNC 1000 10 0 main
1000 10 3 0
STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`},
	Good: fileDuplicate.Good,
}

// fileChecker knows where every file id is defined and which ids are used.
type fileChecker struct {
	pass *lint.Pass
	defs map[int64]fileDef
	// order lists definitions for deterministic output.
	order []int64
	again []fileDef // definitions of ids that were defined before, in this chunk
	used  idSet
}

type fileDef struct {
	id        int64
	off, line uint32
}

func (c *fileChecker) Record(r *symfile.Record) {
	switch r.Kind {
	case symfile.File:
		c.define(r)
	case symfile.Line:
		c.used.add(r.FileID)
	case symfile.Inline:
		if !r.OldForm {
			c.used.add(r.FileID)
		}
	}
}

func (c *fileChecker) define(r *symfile.Record) {
	if !r.Usable {
		return
	}
	if c.defs == nil {
		c.defs = make(map[int64]fileDef)
	}
	def := fileDef{r.FileID, uint32(r.Span.Off), uint32(r.Line)}
	if _, dup := c.defs[r.FileID]; dup {
		c.again = append(c.again, def)
	} else {
		c.defs[r.FileID] = def
		c.order = append(c.order, r.FileID)
	}
	switch name := string(shortText(c.pass.Data[r.Text.Off:r.Text.End])); name {
	case `""`, "''", "<unknown>", "?", "??", "-":
		c.pass.Report(lint.At(fileEmptyName, r, r.Text), func(f *lint.Finding) {
			f.Message = fmt.Sprintf("FILE %d is named %s", r.FileID, name)
			f.Subject = name
		})
	}
}

func (c *fileChecker) Merge(later lint.Checker) {
	l := later.(*fileChecker)
	c.used.union(&l.used)
	for _, id := range l.order {
		if _, dup := c.defs[id]; dup {
			c.again = append(c.again, l.defs[id])
			continue
		}
		if c.defs == nil {
			c.defs = make(map[int64]fileDef)
		}
		c.defs[id] = l.defs[id]
		c.order = append(c.order, id)
	}
	c.again = append(c.again, l.again...)
}

func (c *fileChecker) Finish() {
	p := c.pass
	for _, again := range c.again {
		first := c.defs[again.id]
		old, name := symfile.RecordText(p.Data, first.off), symfile.RecordText(p.Data, again.off)
		rec := p.RecordAt(again.off, again.line)
		spot := lint.At(fileDuplicate, rec, rec.Text)
		same := string(old) == string(name)
		if same {
			spot.Severity = lint.Info
			spot.Effects = &sameTwice
		}
		p.Report(spot, func(f *lint.Finding) {
			f.Message = fmt.Sprintf("FILE %d is defined again, as another file", again.id)
			if same {
				f.Message = fmt.Sprintf("FILE %d is repeated", again.id)
			}
			f.Subject = string(shortText(name))
			f.Related = relatedRecord(p, first.off, first.line, "first defined here")
		})
	}
	if p.Index.Counts[symfile.Line] == 0 && p.Index.Counts[symfile.Inline] == 0 {
		return // a file without lines cannot use any
	}
	for _, id := range c.order {
		if c.used.has(id) {
			continue
		}
		def := c.defs[id]
		rec := p.RecordAt(def.off, def.line)
		p.Report(lint.At(fileUnused, rec, rec.Text), func(f *lint.Finding) {
			f.Message = fmt.Sprintf("nothing refers to FILE %d", id)
			f.Subject = string(shortText(p.Data[rec.Text.Off:rec.Text.End]))
		})
	}
}

var sameTwice = lint.Same(lint.Unaffected, "reads the same twice")
