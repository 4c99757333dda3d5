package report

import "github.com/symlint/symlint/lint"

// fileEntry is what JSON says of an input.
type fileEntry struct {
	Path       string            `json:"path"`
	Kind       *string           `json:"kind"`   // "sym", "elf", "sframe"; null if it could not be told
	Module     *module           `json:"module"` // null if the input names none
	Records    ordered[int]      `json:"records"`
	Coverage   *coverage         `json:"coverage"`
	Rules      ordered[ruleSums] `json:"rules"` // those that spoke
	Suppressed int               `json:"suppressed"`
	Error      *string           `json:"error"`
}

type module struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// coverage counts bytes of FUNC code, and functions.
type coverage struct {
	FuncBytes  uint64 `json:"func_bytes"`
	CFIBytes   uint64 `json:"cfi_bytes"`
	LineBytes  uint64 `json:"line_bytes"`
	Funcs      int    `json:"funcs"`
	FuncsCFI   int    `json:"funcs_cfi"`
	FuncsLines int    `json:"funcs_lines"`
}

type ruleSums struct {
	Findings int `json:"findings"`
	Records  int `json:"records"`
}

func fileEntryOf(res *lint.FileResult) *fileEntry {
	e := &fileEntry{Path: res.Path, Kind: nonEmpty(res.Kind), Suppressed: res.Suppressed}
	if res.Module != (lint.ModuleInfo{}) {
		e.Module = &module{res.Module.OS, res.Module.Arch, res.Module.ID, res.Module.Name}
	}
	for _, r := range res.Records {
		e.Records.add(r.Kind, r.Count)
	}
	for _, r := range res.Rules {
		e.Rules.add(r.Rule.Name, ruleSums{r.Findings, r.Records})
	}
	if c := res.Coverage; c != nil {
		cov := coverage(*c)
		e.Coverage = &cov
	}
	if res.Err != nil {
		e.Error = nonEmpty(res.Err.Error())
	}
	return e
}

// ordered is a JSON object whose members keep the order they were added in.
type ordered[T any] struct {
	names  []string
	values []T
}

func (o *ordered[T]) add(name string, v T) {
	o.names = append(o.names, name)
	o.values = append(o.values, v)
}

// MarshalJSON writes the object.
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range o.names {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := marshal(name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(o.values[i])
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}
