package symdiff

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextOptions say how a result is told to people.
type TextOptions struct {
	Color   bool
	Stat    bool // the summary only
	Context int  // rows of context in a hunk
	Quiet   bool // without the summary
}

// maxHunkDeltas bounds how many ranges of one kind are told of one function.
const maxHunkDeltas = 200

// text writes a result.
type text struct {
	w *bufio.Writer
	r *Result
	o TextOptions
	p paint
}

// WriteText tells the result: a summary, then what differs in each function.
func (r *Result) WriteText(w io.Writer, o TextOptions) error {
	t := &text{bufio.NewWriter(w), r, o, paint(o.Color)}
	if r.Same() {
		if !o.Quiet {
			t.line("no difference in meaning%s", t.sameTail())
			t.notes()
		}
		return t.w.Flush()
	}
	if !o.Quiet || o.Stat {
		t.summary()
	}
	if !o.Stat {
		t.module()
		t.publics()
		d := r.NewDetailer()
		for i := range r.Changes {
			t.change(&r.Changes[i], d)
		}
	}
	return t.w.Flush()
}

func (t *text) line(format string, args ...any) {
	fmt.Fprintf(t.w, format, args...)
	t.w.WriteByte('\n')
}

func (t *text) sameTail() string {
	n := t.r.Summary.Matched
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s compared)", count(n, "unit"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// notes are what is told but is no difference.
func (t *text) notes() {
	r := t.r
	if s := r.Shift; s.Others > s.Functions {
		t.line("  moved      %s by various distances, most often by %s (%d)", count(s.Functions+s.Others, "function"), signedHex(s.By), s.Functions)
	} else if s.Functions > 0 && (s.By != 0 || s.Others > 0) {
		t.line("  moved      %s by %s%s", count(s.Functions, "function"), signedHex(s.By), t.others(s))
		if s.Others > 0 {
			for _, m := range s.Outliers {
				t.line("             %s at %s by %s", count(m.Functions, "function"), extent(m.From, m.To), signedHex(m.By))
			}
		}
	}
	for _, m := range r.PathMaps {
		auto := ""
		if m.Auto {
			auto = " (found by comparison)"
		}
		t.line("  paths      %s -> %s in %s%s", printable(m.From), printable(m.To), count(m.Files, "file"), auto)
	}
}

func (t *text) others(s Shift) string {
	if s.Others == 0 {
		return ""
	}
	return fmt.Sprintf(", %d otherwise", s.Others)
}

func extent(from, to uint64) string {
	if from == to {
		return hex(from)
	}
	return hex(from) + ".." + hex(to)
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

func signedHex(v int64) string {
	if v < 0 {
		return "-" + hex(-uint64(v))
	}
	return "+" + hex(uint64(v))
}

// summary tells the whole in numbers.
func (t *text) summary() {
	r, s := t.r, &t.r.Summary
	t.line("%s %s", t.p.old("---"), printable(r.Old.Path))
	t.line("%s %s", t.p.new("+++"), printable(r.New.Path))
	for _, f := range r.Module {
		if f.Aspect == Module {
			t.line("  %-10s %s -> %s", f.Field, t.p.old(orNone(f.Old)), t.p.new(orNone(f.New)))
		}
	}
	t.line("  functions  %d -> %d: %d added, %d removed, %d renamed, %d resized", r.Old.Functions, r.New.Functions,
		s.FunctionsAdded, s.FunctionsRemoved, s.Renamed, s.Resized)
	t.line("  matched    %s: %d the same, %d not%s", count(s.Matched, "unit"), s.Same, s.Matched-s.Same, t.how())
	parts := []string{}
	for bit := Aspect(1); bit <= All; bit <<= 1 {
		if n := s.With[bit]; n > 0 && bit != Functions && bit != Names && bit != Sizes {
			parts = append(parts, fmt.Sprintf("%s in %d", bit, n))
		}
	}
	if len(parts) > 0 {
		t.line("  differ     %s", strings.Join(parts, ", "))
	}
	if r.Old.Publics > 0 || r.New.Publics > 0 {
		t.line("  publics    %d -> %d: %d added, %d removed, %d changed", r.Old.Publics, r.New.Publics, s.PublicsAdded, s.PublicsRemoved, s.PublicsChanged)
	}
	t.line("  lines      %s -> %s of the code%s", percent(r.Old.WithLines, r.Old.Code), percent(r.New.WithLines, r.New.Code), t.balance(s.LostLines, s.GainedLines))
	t.line("  unwind     %s -> %s of the code%s", percent(r.Old.WithCFI, r.Old.Code), percent(r.New.WithCFI, r.New.Code), t.balance(s.LostCFI, s.GainedCFI))
	if s.LostInlines > 0 || s.GainedInlines > 0 {
		t.line("  inlines    %d -> %d records%s", r.Old.Inlines, r.New.Inlines, t.balance(s.LostInlines, s.GainedInlines))
	}
	t.fileNotes("files gone", r.FilesRemoved, t.p.old)
	t.fileNotes("files new", r.FilesAdded, t.p.new)
	t.notes()
}

func (t *text) fileNotes(what string, files []string, paint func(string) string) {
	const most = 5
	for i, f := range files {
		if i == most && !t.o.Stat {
			t.line("  %-10s and %d more", what, len(files)-most)
			break
		}
		t.line("  %-10s %s", what, paint(printable(f)))
	}
}

// how tells how units were matched but by name.
func (t *text) how() string {
	var parts []string
	for m := BySpelling; m <= ByBody; m++ {
		if n := t.r.Summary.By[m]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d by %s", n, m))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (matched " + strings.Join(parts, ", ") + ")"
}

func (t *text) balance(lost, gained uint64) string {
	switch {
	case lost > 0 && gained > 0:
		return fmt.Sprintf("; matched functions %s and gained %d", t.p.old(fmt.Sprintf("lost %d bytes", lost)), gained)
	case lost > 0:
		return "; matched functions " + t.p.old(fmt.Sprintf("lost %d bytes", lost))
	case gained > 0:
		return "; matched functions " + t.p.new(fmt.Sprintf("gained %d bytes", gained))
	}
	return ""
}

func percent(n, of uint64) string {
	if of == 0 {
		return "0%"
	}
	return strconv.FormatFloat(100*float64(n)/float64(of), 'f', 1, 64) + "%"
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return printable(s)
}

func (t *text) module() {
	any := false
	for _, f := range t.r.Module {
		if !any {
			t.line("\n%s", t.p.head("@@ module @@"))
			any = true
		}
		label := f.Field + " "
		if f.Aspect == Info {
			label = ""
		}
		if f.Old != "" {
			t.line("%s", t.p.old("- "+label+printable(f.Old)))
		}
		if f.New != "" {
			t.line("%s", t.p.new("+ "+label+printable(f.New)))
		}
	}
}

func (t *text) publics() {
	if len(t.r.Publics) == 0 {
		return
	}
	t.line("\n%s", t.p.head("@@ PUBLIC records inside of functions @@"))
	for i := range t.r.Publics {
		p := &t.r.Publics[i]
		old := fmt.Sprintf("%s %s", hex(p.OldAddr), printable(p.Name)) + t.publicTail(p.OldParams, p.OldMult, p.OldIn, p.OldOff)
		new := fmt.Sprintf("%s %s", hex(p.NewAddr), printable(p.Name)) + t.publicTail(p.NewParams, p.NewMult, p.NewIn, p.NewOff)
		if p.Status != Added {
			t.line("%s", t.p.old("- "+old))
		}
		if p.Status != Removed {
			t.line("%s", t.p.new("+ "+new))
		}
	}
}

func (t *text) publicTail(params uint32, multiple bool, in string, off uint64) string {
	s := ""
	if params != 0 {
		s += ", params " + hex(uint64(params))
	}
	if multiple {
		s += ", m"
	}
	if in != "" {
		s += ", in " + printable(in) + "+" + hex(off)
	}
	return s
}

// change tells of one function.
func (t *text) change(ch *Change, d *Detailer) {
	name := printable(ch.Name())
	switch {
	case ch.Status == Removed:
		t.line("\n%s", t.p.old(fmt.Sprintf("- %s %s: removed%s", kindWord(ch.Old.Kind), t.title(name, &ch.Old), t.left(ch))))
	case ch.Status == Added:
		t.line("\n%s", t.p.new(fmt.Sprintf("+ %s %s: added%s", kindWord(ch.New.Kind), t.title(name, &ch.New), t.left(ch))))
	default:
		t.line("\n%s", t.p.head(fmt.Sprintf("@@ %s at %s -> %s @@", name, hex(ch.Old.Addr), hex(ch.New.Addr))))
		t.fields(ch)
	}
	if !ch.Aspects.Has(Lines | Inlines | CFI | Win) {
		return
	}
	x := d.Detail(ch, t.o.Context > 0 || ch.Old.Size != ch.New.Size)
	if x.LineShift != 0 {
		t.line("! lines: all %d of the function moved by %+d", len(x.Lines), x.LineShift)
	} else {
		t.hunks("lines", x.Lines, x.LineRows, ch)
	}
	t.hunks("inlined calls", x.Inlines, x.InlineRows, ch)
	t.hunks("unwind", x.CFI, x.CFIRows, ch)
	t.hunks("STACK WIN", x.Win, [2][]Row{}, ch)
	if lost := lostText(ch); lost != "" {
		t.line("  %s", lost)
	}
}

func lostText(ch *Change) string {
	var parts []string
	for _, f := range []struct {
		what         string
		lost, gained uint64
	}{{"lines", ch.LostLines, ch.GainedLines}, {"inlined calls", ch.LostInlines, ch.GainedInlines}, {"unwind rows", ch.LostCFI, ch.GainedCFI}} {
		if f.lost > 0 {
			parts = append(parts, fmt.Sprintf("%s lost for %d bytes", f.what, f.lost))
		}
		if f.gained > 0 {
			parts = append(parts, fmt.Sprintf("%s gained for %d bytes", f.what, f.gained))
		}
	}
	return strings.Join(parts, ", ")
}

func kindWord(k Kind) string { return [...]string{"function", "symbol", "code without symbol,"}[k] }

func (t *text) title(name string, s *Side) string {
	if s.Kind == Function {
		return fmt.Sprintf("%s at %s, size %s", name, hex(s.Addr), hex(s.Size))
	}
	return fmt.Sprintf("%s at %s", name, hex(s.Addr))
}

// left says that something stays where a symbol went or came.
func (t *text) left(ch *Change) string {
	if ch.pair.old < 0 || ch.pair.new < 0 {
		return ""
	}
	return " (its unwind records are in both files)"
}

// fields tells what differs of a function as a whole.
func (t *text) fields(ch *Change) {
	put := func(a Aspect, what, old, new string) {
		if ch.Aspects.Has(a) && old != new {
			old, new = emphasise(t.p, old, new)
			t.line("! %s %s -> %s", what, old, new)
		}
	}
	a, b := &ch.Old, &ch.New
	if a.Kind != b.Kind {
		t.line("! %s -> %s", t.p.old(a.Kind.String()), t.p.new(b.Kind.String()))
	}
	put(Names, "name", printable(a.Name), printable(b.Name))
	put(Sizes, "size", hex(a.Size), hex(b.Size))
	put(Params, "params", hex(uint64(a.Params)), hex(uint64(b.Params)))
	put(Multiple, "m", strconv.FormatBool(a.Multiple), strconv.FormatBool(b.Multiple))
}

// hunks tells the ranges that differ: offset by offset where the code has the same size, else as rows that were added
// and removed.
func (t *text) hunks(what string, deltas []Delta, rows [2][]Row, ch *Change) {
	if len(deltas) == 0 {
		return
	}
	t.line("  %s:", what)
	if ch.Old.Size != ch.New.Size && len(rows[0]) > 0 && len(rows[1]) > 0 && len(rows[0])+len(rows[1]) <= maxAligned {
		t.alignedRows(rows)
		return
	}
	shown := rows[0]
	last := uint64(0)
	for i, d := range deltas {
		if i == maxHunkDeltas {
			t.line("  … and %d more", len(deltas)-i)
			return
		}
		// Rows around a group of deltas give the place a face.
		if i == 0 || !near(deltas[i-1], d, shown, t.o.Context) {
			t.context(before(shown, d.From, max(last, 0), t.o.Context))
		}
		old, new := emphasise(t.p, orNone(d.Old), orNone(d.New))
		if d.What == "line" {
			t.line("! %s: %s -> %s", offsets(d.From, d.To), old, new)
		} else {
			t.line("! %s: %s %s -> %s", offsets(d.From, d.To), printable(d.What), old, new)
		}
		last = max(last, d.To)
		if i+1 == len(deltas) || !near(d, deltas[i+1], shown, t.o.Context) {
			t.context(after(shown, last, limitOf(deltas, i), t.o.Context))
		}
	}
}

func limitOf(deltas []Delta, i int) uint64 {
	if i+1 < len(deltas) {
		return deltas[i+1].From
	}
	return 1<<64 - 1
}

// near reports whether two deltas share a hunk: no more rows than context stand between them.
func near(a, b Delta, rows []Row, context int) bool {
	n := 0
	i, _ := slices.BinarySearchFunc(rows, a.To, func(r Row, at uint64) int { return cmp.Compare(r.From, at) })
	for ; i < len(rows) && rows[i].To <= b.From; i++ {
		if n++; n > 2*context {
			return false
		}
	}
	return true
}

// before returns up to n rows that end at or before an offset and begin at or behind another.
func before(rows []Row, at, from uint64, n int) []Row {
	i, _ := slices.BinarySearchFunc(rows, at, func(r Row, at uint64) int { return cmp.Compare(r.To, at+1) })
	lo := max(0, i-n)
	for lo < i && rows[lo].From < from {
		lo++
	}
	return rows[lo:i]
}

// after returns up to n rows that begin at or behind an offset and end at or before another.
func after(rows []Row, at, until uint64, n int) []Row {
	i, _ := slices.BinarySearchFunc(rows, at, func(r Row, at uint64) int { return cmp.Compare(r.From, at) })
	hi := i
	for hi < len(rows) && hi < i+n && rows[hi].To <= until {
		hi++
	}
	return rows[i:hi]
}

func (t *text) context(rows []Row) {
	for _, r := range rows {
		t.line("%s", t.p.dim("  "+offsets(r.From, r.To)+": "+printable(r.Text)))
	}
}

func offsets(from, to uint64) string { return "+" + hex(from) + "..+" + hex(to) }

// printable keeps what a file says from acting on the terminal.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// paint colours text, or not.
type paint bool

func (p paint) put(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) old(s string) string  { return p.put("31", s) }
func (p paint) new(s string) string  { return p.put("32", s) }
func (p paint) head(s string) string { return p.put("36", s) }
func (p paint) dim(s string) string  { return p.put("2", s) }
func (p paint) gone(s string) string { return p.put("1;31", s) }
func (p paint) come(s string) string { return p.put("1;32", s) }
