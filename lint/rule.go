package lint

// Rule is one thing that can be wrong, with everything anybody wants to know of it. The same value feeds `explain`,
// RULES.md, SARIF metadata and JSON.
type Rule struct {
	Name     string   // `cfi-missing-ra`; stable, people put it into configurations
	Family   string   // `cfi`: the name's first word or what it is filed under
	Severity Severity // the default
	// Also lists severities the rule uses besides the default, where the case decides: an exact repeat against a
	// conflict. A configured severity replaces all of them.
	Also []Severity

	Summary string  // one line, no full stop
	Why     string  // what the defect does to whom; Markdown paragraphs
	Effects Effects // the rule's typical effects; a finding may carry more exact ones
	Bad     Example // triggers this rule at its marked lines
	// Binary tells a rule over ELF files and SFrame sections. Its examples are made by Bad.Data and GoodData, and Good is
	// empty.
	Binary   bool
	GoodData func() []byte
	Good     string // the same, healthy: triggers no rule at all
	// Evidence names the real file or report that shows the defect in the wild.
	Evidence string
	Refs     []string // specification sections and URLs
}

// Example is an input that triggers a rule.
type Example struct {
	Text string // the whole file
	Line int    // 1-based line of the finding
	// Path is the file name the example is checked under, for rules that look at it. Empty: example.sym.
	Path string
	// Data makes the input of a rule over binaries: an ELF file or a section. Text and Line are not used then.
	Data func() []byte
}

// Consumers are those that read what the rule judges.
func (r *Rule) Consumers() ConsumerSet {
	if r.Binary {
		return SFrameConsumers
	}
	return SymbolConsumers
}

// DocURL is where a rule's documentation is published.
func (r *Rule) DocURL() string {
	return "https://github.com/symlint/symlint/blob/main/RULES.md#" + r.Name
}
