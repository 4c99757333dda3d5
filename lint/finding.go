package lint

// Location is a place in an input. Text inputs have Line and columns, binary ones Section and Offset.
type Location struct {
	Line      int    // 1-based; 0 in binary inputs
	Column    int    // 1-based, in bytes
	EndColumn int    // exclusive; equal to Column for a place between two bytes
	Section   string // binary inputs: the section, "" for text
	Offset    int64  // byte offset in the (decompressed) file for text, in Section for binary inputs
	Length    int64  // bytes
}

// Related is another place that belongs to a finding.
type Related struct {
	File string // "" = the finding's own
	Location
	Message string
}

// Edit replaces bytes of the input.
type Edit struct {
	Offset, Length int64
	Text           string
}

// Fix is a set of edits that undoes a defect.
type Fix struct {
	Description string
	Safe        bool // proven not to change the meaning of healthy records
	Edits       []Edit
}

// Finding is one defect at one place.
type Finding struct {
	Rule     *Rule
	Severity Severity // after configuration
	File     string
	Location
	// Snippet is the record at the location, without terminator, cut to MaxSnippet bytes around the culprit;
	// SnippetColumn is the 1-based column in Snippet that Column is shown at. Nil for binary inputs.
	Snippet       []byte
	SnippetColumn int
	HasAddress    bool
	Address       uint64 // module-relative
	Function      string // the function at Address, or the record's own subject; "" if unknown
	// Subject identifies the finding across builds, where lines and addresses change: a function, file name or
	// register. Empty: Function.
	Subject string
	Message string
	// Detail holds further lines of explanation, such as the rows with the registers exchanged back.
	Detail  []string
	Effects Effects
	Related []Related
	Fix     *Fix
	// Count is how many records share this cause; 1 for a finding of its own.
	Count int
}

// MaxSnippet bounds the quoted part of a record.
const MaxSnippet = 240

// Key returns what a baseline and a SARIF fingerprint know the finding by besides rule and module.
func (f *Finding) Key() string {
	if f.Subject != "" {
		return f.Subject
	}
	return f.Function
}

// Headline is the first line of the finding: its message, and which consumers crash or reject the file.
func (f *Finding) Headline(set ConsumerSet) string {
	if h := f.Effects.Headline(set); h != "" {
		return f.Message + " (" + h + ")"
	}
	return f.Message
}
