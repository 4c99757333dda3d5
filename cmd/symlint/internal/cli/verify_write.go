package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/report"
)

// verdictWriter writes verdicts in a format. begin comes first, end last.
type verdictWriter interface {
	begin() error
	dump(*verdict) error
	end(*verifySums) error
}

func (v *verification) newWriter(w io.Writer) (verdictWriter, error) {
	if v.Format == "json" {
		return &verifyJSON{w: w, many: v.manyDumps()}, nil
	}
	o := v.reportOptions()
	o.Writer = w
	rep, err := report.New(v.Format, o)
	if err != nil {
		return nil, err
	}
	r := &verifyReport{rep: rep, registry: v.registry}
	if v.Format == "text" {
		r.text, r.quiet, r.paint, r.failOn = w, v.app.Quiet, paint(v.app.colored()), v.failOn
	}
	return r, nil
}

// manyDumps: DUMP is a directory.
func (v *verification) manyDumps() bool { return len(v.dumps) != 1 || v.dumps[0].path != v.Dump }

// verifySums counts over all dumps.
type verifySums struct {
	Dumps    int `json:"dumps"`
	Failed   int `json:"failed"` // could not be read
	Alone    int `json:"alone"`  // held against themselves
	Threads  int `json:"threads"`
	Matched  int `json:"matched"`  // threads with nothing wrong
	Diverged int `json:"diverged"` // threads that differ from the reference, those excused left out
	Doubtful int `json:"doubtful"` // threads with findings, of dumps held against themselves
	Excused  int `json:"excused"`  // threads that differ where the reference is known to be wrong; they count as matched
	Remedies int `json:"remedies"` // threads that differ with a remedy
	Frames   int `json:"frames"`   // held against each other

	Error   int `json:"error"`
	Warning int `json:"warning"`
	Info    int `json:"info"`

	updated, differing int // dumps
	alone              findingCounts
}

// findingCounts are findings by severity.
type findingCounts [lint.Error + 1]int

func (c *findingCounts) add(list []lint.Finding) {
	for i := range list {
		c[list[i].Severity]++
	}
}

func (c *findingCounts) String() string {
	var parts []string
	for v := lint.Error; v > lint.Off; v-- {
		if c[v] > 0 {
			parts = append(parts, counted(c[v], v.String()))
		}
	}
	if len(parts) == 0 {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}

func (s *verifySums) add(d *verdict) {
	s.Dumps++
	if d.Err != nil {
		s.Failed++
	}
	differs, alone := false, d.Reference == "" && d.Err == nil
	if alone {
		s.Alone++
		s.alone.add(d.Findings)
	}
	for i := range d.Threads {
		t := &d.Threads[i]
		s.Threads++
		s.Frames += t.Compared
		switch {
		case !t.Matched && alone:
			s.Doubtful++
		case !t.Matched:
			s.Diverged++
			differs = true
			if t.Divergence != nil && t.Divergence.Remedy != nil {
				s.Remedies++
			}
		case t.Divergence != nil:
			s.Excused++
			s.Matched++
		default:
			s.Matched++
		}
	}
	if d.Updated {
		s.updated++
	}
	if differs {
		s.differing++
	}
	var all findingCounts
	all.add(d.Findings)
	s.Error += all[lint.Error]
	s.Warning += all[lint.Warning]
	s.Info += all[lint.Info]
}

func (s *verifySums) worst() lint.Severity {
	switch {
	case s.Error > 0:
		return lint.Error
	case s.Warning > 0:
		return lint.Warning
	case s.Info > 0:
		return lint.Info
	}
	return lint.Off
}

func (s *verifySums) summary() *lint.Summary {
	return &lint.Summary{
		Files: s.Dumps, Failed: s.Failed, Totals: [lint.Error + 1]int{lint.Info: s.Info, lint.Warning: s.Warning, lint.Error: s.Error},
	}
}

// verifyReport writes findings through the reports that check has. In text each dump has a line of its own besides.
type verifyReport struct {
	rep      report.Reporter
	registry *lint.Registry

	text   io.Writer // nil for the other formats
	quiet  bool
	paint  paint
	failOn lint.Severity
}

func (r *verifyReport) begin() error { return r.rep.Begin() }

func (r *verifyReport) dump(d *verdict) error {
	if err := r.status(d); err != nil {
		return err
	}
	res := lint.NewFileResult(r.registry, d.Path, d.Findings...)
	res.Kind, res.Err = "dump", d.Err
	defer res.Close()
	return r.rep.File(res)
}

func (r *verifyReport) end(sum *verifySums) error {
	if r.text == nil {
		return r.rep.End(sum.summary())
	}
	if err := r.rep.End(sum.summary()); err != nil || r.quiet {
		return err
	}
	_, err := fmt.Fprintln(r.text, sum.line())
	return err
}

// status writes the lines of a dump in text: what it was held against, what came of it, and of each thread that was
// excused why.
func (r *verifyReport) status(d *verdict) error {
	if r.text == nil || r.quiet || d.Err != nil {
		return nil
	}
	name := r.paint.place(printable(d.Path))
	var b strings.Builder
	frames, compared, agreed, expected, differ := 0, 0, 0, 0, 0
	for i := range d.Threads {
		t := &d.Threads[i]
		frames += t.Frames
		compared += t.Compared
		agreed += t.Agreed
		if t.Expected != nil {
			expected += *t.Expected
		}
		if !t.Matched {
			differ++
		}
	}
	threads := counted(len(d.Threads), "thread")
	switch {
	case d.Updated:
		fmt.Fprintf(&b, "%s: %s, %s written to %s\n", name, threads, counted(frames, "frame"), printable(d.Reference))
	case d.Reference == "" && len(d.Findings) == 0:
		fmt.Fprintf(&b, "%s: %s: no reference, held against itself: %s, %s\n", name, r.paint.found("fine"), threads, counted(frames, "frame"))
	case d.Reference == "":
		fmt.Fprintf(&b, "%s: %s: no reference, held against itself: %s, %s\n", name, r.paint.fault("doubtful"), threads, counted(frames, "frame"))
	case differ == 0:
		fmt.Fprintf(&b, "%s: %s %s: %s, %s\n", name, r.paint.found("matches"), printable(d.Reference), threads, counted(compared, "frame"))
	default:
		fmt.Fprintf(&b, "%s: %s from %s: %d of %s, %d of %s agree\n", name, r.paint.fault("differs"), printable(d.Reference), differ, threads, agreed,
			counted(expected, "frame"))
	}
	for i := range d.Threads {
		if t := &d.Threads[i]; t.Matched && t.Divergence != nil {
			v := t.Divergence
			fmt.Fprintf(&b, "    thread %d, frame %d: the reference has %s, the walk %s: %s\n", t.Thread, v.Frame, printable(v.Expected.Text),
				printable(v.Actual.Text), v.Weakness.Text)
		}
	}
	_, err := io.WriteString(r.text, b.String())
	return err
}

// line sums up a run: "3 dumps, 9 threads, 214 frames compared: 2 threads of 1 dump differ, 2 with a remedy".
func (s *verifySums) line() string {
	read := s.Dumps - s.Failed
	out := counted(read, "dump") + ", " + counted(s.Threads, "thread")
	switch {
	case s.updated > 0:
		out = counted(s.updated, "reference") + " written"
	case s.Diverged > 0:
		verb := "differ"
		if s.Diverged == 1 {
			verb = "differs"
		}
		out += fmt.Sprintf(", %s compared: %s of %s %s", counted(s.Frames, "frame"), counted(s.Diverged, "thread"), counted(s.differing, "dump"), verb)
		if s.Remedies > 0 {
			out += fmt.Sprintf(", %d with a remedy", s.Remedies)
		}
	case s.Alone < read:
		out += ", " + counted(s.Frames, "frame") + " compared: all match"
	}
	if s.Excused > 0 {
		out += fmt.Sprintf("; %s where the reference is known to be wrong", counted(s.Excused, "difference"))
	}
	switch {
	case s.Alone > 0 && s.Alone == read:
		out += ": " + s.alone.String()
	case s.Alone > 0:
		out += fmt.Sprintf("; %s without a reference: %s", counted(s.Alone, "dump"), &s.alone)
	}
	if s.Failed > 0 {
		out += fmt.Sprintf("; %d could not be verified", s.Failed)
	}
	return out
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// verifyJSON writes one object for a dump; for a directory one that holds those of its dumps.
type verifyJSON struct {
	w    io.Writer
	many bool
	any  bool
}

// dumpJSON is a dump in JSON. Fields may be added, never changed or removed.
type dumpJSON struct {
	Dump      string          `json:"dump"`
	Reference *string         `json:"reference"` // null: held against itself
	Error     *string         `json:"error"`
	Threads   []threadVerdict `json:"threads"`
	Findings  []findingOfWalk `json:"findings"` // of the rules of family walk
	Summary   *verifySums     `json:"summary"`
}

// findingOfWalk is a finding; check's JSON has the same names.
type findingOfWalk struct {
	Rule     string        `json:"rule"`
	Severity lint.Severity `json:"severity"`
	File     string        `json:"file"`
	Line     *int          `json:"line"`
	Section  *string       `json:"section"`
	Offset   *int64        `json:"offset"`
	Address  *string       `json:"address"`
	Function *string       `json:"function"`
	Message  string        `json:"message"`
	Detail   []string      `json:"detail"`
}

func (j *verifyJSON) begin() error {
	if !j.many {
		return nil
	}
	_, err := fmt.Fprintf(j.w, "{\"version\": 1,\n\"dumps\": [")
	return err
}

func (j *verifyJSON) dump(d *verdict) error {
	sum := new(verifySums)
	sum.add(d)
	v := dumpJSON{Dump: d.Path, Reference: textOf(d.Reference), Threads: d.Threads, Findings: []findingOfWalk{}, Summary: sum}
	if d.Err != nil {
		v.Error = textOf(d.Err.Error())
	}
	if v.Threads == nil {
		v.Threads = []threadVerdict{}
	}
	for i := range v.Threads {
		if v.Threads[i].Tolerated == nil {
			v.Threads[i].Tolerated = []toleranceJSON{}
		}
	}
	for i := range d.Findings {
		v.Findings = append(v.Findings, newFindingOfWalk(&d.Findings[i]))
	}
	if j.many {
		sep := "\n"
		if j.any {
			sep = ",\n"
		}
		if _, err := io.WriteString(j.w, sep); err != nil {
			return err
		}
	}
	j.any = true
	return writeJSON(j.w, v)
}

func newFindingOfWalk(f *lint.Finding) findingOfWalk {
	v := findingOfWalk{
		Rule: f.Rule.Name, Severity: f.Severity, File: f.File, Section: textOf(f.Section), Function: textOf(f.Function), Message: f.Message,
		Detail: append([]string{}, f.Detail...),
	}
	if f.Line > 0 {
		v.Line = &f.Line
	}
	if f.Section != "" {
		v.Offset = &f.Offset
	}
	if f.HasAddress {
		v.Address = hexOf(f.Address)
	}
	return v
}

func (j *verifyJSON) end(sum *verifySums) error {
	if !j.many {
		return nil
	}
	if _, err := io.WriteString(j.w, "],\n\"summary\": "); err != nil {
		return err
	}
	if err := writeJSON(j.w, sum); err != nil {
		return err
	}
	_, err := io.WriteString(j.w, "}\n")
	return err
}

// writeJSON writes a value and a line end.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
