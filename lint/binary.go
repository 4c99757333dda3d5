package lint

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// BinaryAnalyzer is one family of rules over ELF files and SFrame sections.
type BinaryAnalyzer struct {
	Name  string
	Rules []*Rule
	// Run judges one input. An error tells that it cannot be read at all; what is wrong inside is for findings.
	Run func(*BinaryPass) error
}

// BinaryPass is one binary input being checked.
type BinaryPass struct {
	Path string
	Kind string // "elf", "sframe"
	Data []byte
	// Module, Records and Note are for the result, see FileResult; Run sets them.
	Module  ModuleInfo
	Records []RecordCount
	Note    string

	pass Pass
}

// BinarySpot is where and what a finding in a binary is.
type BinarySpot struct {
	Rule     *Rule
	Severity Severity // Off = the rule's default
	Effects  *Effects // nil = the rule's
	Section  string
	Offset   int64 // in the section
	Length   int64 // bytes
	Count    int   // records that share the cause; 0 = 1
}

// Enabled reports whether any finding of the rule can be wanted, so that work can be spared.
func (p *BinaryPass) Enabled(r *Rule) bool { return p.pass.Enabled(r) }

// Keeps reports whether a further finding of the rule would be kept at some severity, rather than only counted.
func (p *BinaryPass) Keeps(r *Rule) bool { return p.pass.Keeps(r) }

// Report counts a finding and, if it is to be kept, has fill complete it.
func (p *BinaryPass) Report(s BinarySpot, fill func(*Finding)) {
	p.pass.report(s.Rule, s.Severity, s.Effects, s.Count, func(f *Finding) {
		f.Location = Location{Section: s.Section, Offset: s.Offset, Length: s.Length}
		fill(f)
	})
}

// CheckBinary checks one binary input in memory, whose kind is "elf" or "sframe".
func (r *Runner) CheckBinary(path, kind string, data []byte, settings *Settings) *FileResult {
	if settings == nil {
		settings = NewSettings(r.Registry)
	}
	res := &FileResult{Path: path, Kind: kind}
	if err := r.checkBinary(res, &Input{Kind: kind, Data: data}, settings, make(chan struct{}, 1)); err != nil {
		res.Err = fmt.Errorf("%s: %w", path, err)
	}
	return res
}

func (r *Runner) checkBinary(res *FileResult, in *Input, settings *Settings, tokens chan struct{}) (err error) {
	tokens <- struct{}{}
	defer func() { <-tokens }()
	defer func() {
		if e := recover(); e != nil {
			err = recovered(e)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a mapped file may shrink under us
	if len(r.Binary) == 0 {
		return errors.New("there are no rules for binaries")
	}
	keep := r.Keep
	if r.Known != nil {
		keep = 0 // the baseline decides first
	}
	p := &BinaryPass{Path: res.Path, Kind: in.Kind, Data: in.Data, pass: Pass{
		Path: res.Path, Data: in.Data, settings: settings, registry: r.Registry, keep: keep,
		counts: make([]ruleCount, len(r.Registry.rules)),
		store:  store{registry: r.Registry},
	}}
	for _, a := range r.Binary {
		enabled := false
		for _, rule := range a.Rules {
			enabled = enabled || p.Enabled(rule)
		}
		if !enabled {
			continue
		}
		if err = a.Run(p); err != nil {
			p.pass.store.close()
			return err
		}
	}
	res.Module, res.Records, res.Note = p.Module, p.Records, p.Note
	r.conclude(res, &p.pass)
	return nil
}
