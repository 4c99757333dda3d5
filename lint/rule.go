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
	Good    string  // the same, healthy: triggers no rule at all
	// Evidence names the real file or report that shows the defect in the wild.
	Evidence string
	Refs     []string // specification sections and URLs
}

// Example is a symbol file that triggers a rule.
type Example struct {
	Text string // the whole file
	Line int    // 1-based line of the finding
	// Path is the file name the example is checked under, for rules that look at it. Empty: example.sym.
	Path string
}

// DocURL is where a rule's documentation is published.
func (r *Rule) DocURL() string {
	return "https://github.com/symlint/symlint/blob/main/RULES.md#" + r.Name
}
