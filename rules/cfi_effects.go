package rules

import "github.com/symlint/symlint/lint"

// What consumers do with defects of unwind rows, in the variants that findings need.
var (
	noCFIEffects = lint.Effects{
		{Impact: lint.Loses, Text: "cannot use CFI there and falls back to frame pointers and stack scanning"},
		{Impact: lint.Loses, Text: "cannot use CFI there and falls back to frame pointers and stack scanning"},
		{Impact: lint.Loses, Text: "hands the record on; the walk that uses it falls back"},
	}
	outermostNoRAEffects = lint.Effects{
		{Impact: lint.Degraded, Text: "cannot use CFI there and may add made-up frames by scanning"},
		{Impact: lint.Degraded, Text: "cannot use CFI there and may add made-up frames by scanning"},
		{Impact: lint.Unaffected, Text: "writes such records itself"},
	}
	wrongWalkEffects = lint.Same(lint.Loses, "computes a wrong caller; the walk ends or goes astray from there")

	initSyntaxEffects = lint.Effects{
		{Impact: lint.Loses, Text: "drops the whole INIT range's CFI without a word"},
		{Impact: lint.Loses, Text: "fails to evaluate any row of the range"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	deltaSyntaxEffects = lint.Effects{
		{Impact: lint.Loses, Text: "ignores the rest of the record; the rows before it stay in force"},
		{Impact: lint.Loses, Text: "has no CFI for every address from here to the end of the range"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	missingColonEffects = lint.Effects{
		{Impact: lint.Loses, Text: "reads one long expression, which fails to evaluate"},
		{Impact: lint.Loses, Text: "reads one long expression, which fails to evaluate"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	repeatedRuleEffects  = lint.Same(lint.Degraded, "uses the last of them")
	essentialRuleEffects = lint.Effects{
		{Impact: lint.Loses, Text: "cannot evaluate the row: no CFI there, it falls back to frame pointers and scanning"},
		{Impact: lint.Loses, Text: "cannot evaluate the row: no CFI there, it falls back to frame pointers and scanning"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	registerRuleEffects = lint.Effects{
		{Impact: lint.Loses, Text: "skips the rule and takes a callee-saved register for unchanged"},
		{Impact: lint.Loses, Text: "skips the rule and forgets the register"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	crashEffects = lint.Effects{
		{Impact: lint.Crashes, Text: "dies of the evaluation (SIGFPE or a null dereference)"},
		{Impact: lint.Loses, Text: "fails to evaluate the expression"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	alignEffects = lint.Effects{
		{Impact: lint.Degraded, Text: "masks with the number as it is"},
		{Impact: lint.Loses, Text: "fails to evaluate the expression"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	assignEffects = lint.Effects{
		{Impact: lint.Unaffected, Text: "assigns the variable for this rule"},
		{Impact: lint.Loses, Text: "knows no assignment in STACK CFI and fails"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	unknownTargetEffects = lint.Effects{
		{Impact: lint.Loses, Text: "evaluates the rule and throws the value away"},
		{Impact: lint.Loses, Text: "ignores the rule"},
		{Impact: lint.Loses, Text: "hands the text on unread"},
	}
	prefixTargetEffects = lint.Effects{
		{Impact: lint.Loses, Text: "evaluates the rule and throws the value away"},
		{Impact: lint.Unaffected, Text: "knows the register under this name too"},
		{Impact: lint.Unaffected, Text: "hands the text on unread"},
	}
	ignoredTargetEffects = lint.Same(lint.Unaffected, "ignores the rule, having no such register")
	leakEffects          = lint.Effects{
		{Impact: lint.Loses, Text: "applies the record to the range that covers its address, which is another function's"},
		{Impact: lint.Loses, Text: "never applies the record"},
		{Impact: lint.Loses, Text: "writes the record out under the wrong range"},
	}
	deadRowEffects   = lint.Same(lint.Unaffected, "never looks the row up")
	noLoadEffects    = lint.Same(lint.Loses, "takes a stack address for the return address; the walk ends or goes astray")
	tombstoneEffects = lint.Effects{
		{Impact: lint.Degraded, Text: "keeps the first at each address; no code lies there"},
		{Impact: lint.Degraded, Text: "keeps the lowest at each address; no code lies there"},
		{Impact: lint.Degraded, Text: "hands all on"},
	}
	conflictEffects = lint.Effects{
		{Impact: lint.Loses, Text: "keeps the first record; the STACK CFI records of both are in force, the later one's where they share an address"},
		{Impact: lint.Loses, Text: "keeps one of the two with its rows, whichever sorts first"},
		{Impact: lint.Degraded, Text: "hands both on"},
	}
	splitDuplicateEffects = lint.Effects{
		{Impact: lint.Degraded, Text: "keeps the first record, to which the STACK CFI records still apply"},
		{Impact: lint.Loses, Text: "keeps one of the two, and the rows only if it is the one that has them"},
		{Impact: lint.Degraded, Text: "hands both on"},
	}
)
