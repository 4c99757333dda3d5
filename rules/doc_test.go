package rules_test

import (
	"fmt"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/rules"
	"github.com/symlint/symlint/unwind/symfile"
)

const sample = `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
FILE 0 /home/me/main.c
FILE 0 /home/me/other.c
FUNC 1000 10 0 main
1000 10 3 0
STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
`

// Check a symbol file with all rules.
func Example() {
	runner := lint.Runner{Registry: rules.Registry(), Analyzers: rules.Analyzers()}
	result := runner.CheckSym("app.sym", []byte(sample), nil)
	defer result.Close()
	for f, err := range result.Findings() {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s:%d: %s: %s [%s]\n", f.File, f.Line, f.Severity, f.Message, f.Rule.Name)
	}
	// Output:
	// app.sym:4: error: FILE 0 is defined again, as another file [file-duplicate]
}

// Check with a rule of one's own: source paths must not lead into home directories.
func Example_ownRule() {
	runner := lint.Runner{Analyzers: []*lint.Analyzer{homePaths}}
	runner.Registry, _ = lint.NewRegistry(homePath)
	result := runner.CheckSym("app.sym", []byte(sample), nil)
	defer result.Close()
	for f, err := range result.Findings() {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s:%d: %s: %s [%s]\n", f.File, f.Line, f.Severity, f.Message, f.Rule.Name)
	}
	// Output:
	// app.sym:3: warning: /home/me/main.c lies in a home directory [house-home-path]
	// app.sym:4: warning: /home/me/other.c lies in a home directory [house-home-path]
}

var homePath = &lint.Rule{
	Name: "house-home-path", Family: "house", Severity: lint.Warning,
	Summary: "a source path leads into somebody's home directory",
	Why:     "Published symbols should not tell who built them.",
}

var homePaths = &lint.Analyzer{
	Name:  "house",
	Rules: []*lint.Rule{homePath},
	Kinds: []symfile.Kind{symfile.File},
	New:   func(p *lint.Pass) lint.Checker { return homeChecker{p} },
}

type homeChecker struct{ pass *lint.Pass }

func (c homeChecker) Record(r *symfile.Record) {
	path := string(c.pass.Data[r.Text.Off:r.Text.End])
	if !strings.HasPrefix(path, "/home/") {
		return
	}
	c.pass.Report(lint.At(homePath, r, r.Text), func(f *lint.Finding) {
		f.Message = path + " lies in a home directory"
		f.Subject = path
	})
}

func (homeChecker) Merge(lint.Checker) {}
func (homeChecker) Finish()            {}
