// Package rules is symlint's judgement: what can be wrong with a symbol file, one family a file. A family is one
// checker with its own small state that subscribes to the records it needs and speaks under several rule names.
package rules

import "github.com/symlint/symlint/lint"

// families lists the analyzers in the order of the catalogue.
func families() []*lint.Analyzer {
	return []*lint.Analyzer{
		formatFamily,
		moduleFamily,
		fileFamily,
		funcFamily,
		publicFamily,
		symbolsFamily,
		lineFamily,
		inlineFamily,
		cfiFamily,
		winFamily,
		coverageFamily,
		walkFamily,
		sframeCatalogue,
	}
}

// Analyzers returns every family, ready for a lint.Runner.
func Analyzers() []*lint.Analyzer { return families() }

// All returns every rule in the order of the catalogue.
func All() []*lint.Rule {
	var out []*lint.Rule
	for _, a := range families() {
		out = append(out, a.Rules...)
	}
	return out
}

// Registry returns a registry of every rule. It panics if the catalogue is inconsistent, which a test rules out.
func Registry() *lint.Registry {
	g, err := lint.NewRegistry(All()...)
	if err != nil {
		panic(err)
	}
	return g
}
