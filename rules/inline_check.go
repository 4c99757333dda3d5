package rules

import (
	"fmt"
	"math"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// maxInlineRanges is how many ranges of one INLINE record Breakpad's tokenizer leaves room for: 512 words less the four
// (old form: three) before the ranges.
const maxInlineRanges = 254

// exampleManyRanges is a function with an INLINE record of one range too many.
func exampleManyRanges() string {
	var b strings.Builder
	fmt.Fprintf(&b, "FUNC 1000 %x 0 main\nINLINE 0 5 0 0", 2*maxInlineRanges+2)
	for i := range maxInlineRanges + 1 {
		fmt.Fprintf(&b, " %x 1", 0x1000+2*i)
	}
	fmt.Fprintf(&b, "\n1000 %x 4 0\n", 2*maxInlineRanges+2)
	return b.String()
}

// inlineChecker collects the INLINE records of the open function and judges them when it is complete; ids and forms are
// judged for the whole file.
type inlineChecker struct {
	pass  *lint.Pass
	state funcState
	// The open function.
	start, end uint64
	fn         recordPos
	next       int  // offset behind the last of its records seen here
	rejected   bool // by Breakpad's reader, which has no function then
	severed    bool // by a record of another kind
	orphans    lineRun
	depth      int64 // last level that counts, -1 before the first
	jump       inlineJump
	records    []inlineRecord
	ranges     []inlineRangeOf // those within the function
	away       bool            // a range lies outside the function altogether
	garbled    lineRun         // old form by accident

	files      idUses
	fileDefs   idDefinitions
	origins    idUses
	originIDs  idDefinitions
	originDefs originTable
	noFile     tally // call-site file -1
	empty      tally // records with an empty range
	formed     [2]tally
	namedOld   []recordPos // INLINE_ORIGIN records in the old form
	namedNew   int
	misread    []inlineMisread
	split      []inlineBlock
	scratch    []symfile.Range
	joined     []symfile.Range
}

// The forms of INLINE.
const (
	newForm = 0
	oldForm = 1
)

// inlineMisread is a run of records of a function that are in the old form and have a range outside the function.
type inlineMisread struct {
	lineRun
	fn recordPos
}

// inlineJump is a run of records whose levels are too high.
type inlineJump struct {
	lineRun
	level, after int64
}

// inlineRecord is an INLINE record of the open function.
type inlineRecord struct {
	pos    recordPos
	level  int64
	inside int32 // ranges within the function
	parent int32 // the record before it of a lower level, -1 if there is none
	flags  inlineFlags
	bad    symfile.Range // the range that is at fault
}

type inlineFlags uint8

const (
	inlineJumps   inlineFlags = 1 << iota // level skips one
	inlineGarbled                         // old form by accident
	inlineOutside                         // a range crosses the function's border
	inlineWraps                           // a range wraps
	inlineClashes                         // a range overlaps another of its level
	inlineStrays                          // a range lies in none of the level above
)

// inlineRangeOf is a range with its level; Index is the record's.
type inlineRangeOf struct {
	symfile.Range
	level int64
}

// inlineBlock is a function with INLINE ranges in other places, to be judged when all functions are known.
type inlineBlock struct {
	fn  recordPos
	end uint32 // offset behind its last INLINE record
}

func (c *inlineChecker) Record(r *symfile.Record) {
	switch r.Kind {
	case symfile.Inline:
		if r.Usable {
			c.inline(r)
		}
	case symfile.File:
		c.fileDefs.define(r, r.FileID)
	case symfile.InlineOrigin:
		c.originIDs.define(r, r.Origin)
		if r.Usable {
			c.originDefs.add(r.Origin, posOf(r))
			if r.OldForm {
				c.namedOld = append(c.namedOld, posOf(r))
			} else {
				c.namedNew++
			}
		}
	default: // FUNC, PUBLIC
		c.close()
		c.state = stateBehind(r)
		c.rejected = r.Kind == symfile.Func && breakpadRejects(r)
		c.next = r.Span.End + r.EOL
		c.fn, c.depth = posOf(r), -1
		if c.state == openFunc {
			c.start, c.end = r.Addr, r.Addr+r.Size
		}
	}
}

// breakpadRejects reports whether Google's reader refuses a FUNC record and has no current function behind it. Signs and
// prefixes before an address pass its strtoull; a TAB does not separate fields there.
func breakpadRejects(r *symfile.Record) bool {
	for _, x := range r.Problems {
		switch x.Code {
		case symfile.MissingField, symfile.EmptyName, symfile.BadHex, symfile.BadMark, symfile.Range64:
			return true
		case symfile.NegativeNumber, symfile.Sign:
			if x.Field == "param_size" && !r.Usable {
				return true
			}
		case symfile.Tab:
			if x.Span.Off > r.Span.Off+len("FUNC") && x.Span.Off < r.Text.Off {
				return true
			}
		}
	}
	return false
}

func (c *inlineChecker) inline(r *symfile.Record) {
	if r.Span.Off != c.next && !c.severed && c.state != noFunc {
		c.resume(r)
	}
	c.next = r.Span.End + r.EOL
	if c.state == noFunc || c.rejected || c.severed {
		c.orphans.add(r)
		return
	}
	if r.OldForm && c.state == openFunc && (r.Addr < c.start || r.Addr >= c.end) {
		c.garbled.add(r)
		c.add(r, inlineGarbled)
		return
	}
	form := newForm
	if r.OldForm {
		form = oldForm
	} else if r.FileID < 0 {
		c.noFile.add(r, 0)
	} else {
		c.files.add(r.FileID, r)
	}
	c.formed[form].add(r, 0)
	c.origins.add(r.Origin, r)
	if c.state == openFunc {
		c.take(r)
	}
}

// resume is called for a record that does not follow the last one of the function.
func (c *inlineChecker) resume(r *symfile.Record) {
	if c.severed = endsFunc(c.pass.Data, c.next, r.Span.Off); c.severed {
		return
	}
	before := recordBefore(c.pass, r)
	unknown := meantOtherwise(before)
	if !unknown && (before.Kind != symfile.Inline || before.Usable) {
		return
	}
	// A line that cannot be read, and has been reported, was meant for another FUNC or for the caller of this one.
	if c.state == openFunc && unknown && (r.Addr < c.start || r.Addr >= c.end) {
		c.state = brokenFunc
	} else if r.Nest > 0 {
		x := symfile.Record{Kind: symfile.Inline, Nest: r.Nest - 1, Span: before.Span, Line: before.Line}
		c.depth = max(c.depth, r.Nest-2)
		c.add(&x, inlineGarbled)
	}
}

// add adds a record to the open function.
func (c *inlineChecker) add(r *symfile.Record, flags inlineFlags) *inlineRecord {
	if r.Nest <= c.depth+1 {
		c.depth = r.Nest
	}
	parent := int32(len(c.records)) - 1
	for parent >= 0 && c.records[parent].level >= r.Nest {
		parent = c.records[parent].parent
	}
	c.records = append(c.records, inlineRecord{pos: posOf(r), level: r.Nest, parent: parent, flags: flags})
	return &c.records[len(c.records)-1]
}

// take adds a record with its ranges.
func (c *inlineChecker) take(r *symfile.Record) {
	x := c.add(r, 0)
	if r.Nest > c.depth {
		x.flags = inlineJumps
		if c.jump.count == 0 {
			c.jump.level, c.jump.after = r.Nest, c.depth
		}
		c.jump.add(r)
		if c.depth < 0 && r.Nest == 1 {
			c.depth = 1 // Google's reader lets the first be 1
		}
	} else {
		c.reportJump()
	}
	count, empty := 0, false
	for text := c.pass.Data[r.Text.Off:r.Text.End]; ; count++ {
		var start, size uint64
		var ok bool
		if start, size, text, ok = nextPair(text); !ok {
			break
		}
		end := start + size
		switch {
		case size == 0:
			empty = true
		case size > math.MaxUint32: // it has been reported
			x.inside++
		case end < start:
			x.fault(inlineWraps, start, end)
		case start >= c.start && end <= c.end:
			x.inside++
			c.ranges = append(c.ranges, inlineRangeOf{symfile.Range{Start: start, End: end, Index: int32(len(c.records) - 1)}, r.Nest})
		case end <= c.start || start >= c.end:
			c.away = true
		default:
			x.fault(inlineOutside, start, end)
		}
	}
	if empty {
		c.empty.add(r, 0)
	}
	if count > maxInlineRanges {
		c.reportLimit(r, count)
	}
}

// fault notes the first range of the record that is wrong.
func (x *inlineRecord) fault(flag inlineFlags, start, end uint64) {
	if x.flags&(inlineOutside|inlineWraps|inlineClashes|inlineStrays) == 0 {
		x.bad = symfile.Range{Start: start, End: end}
	}
	x.flags |= flag
}

// nextPair takes an address and a size off the text of a usable INLINE record.
func nextPair(text []byte) (addr, size uint64, rest []byte, ok bool) {
	addr, text, ok = nextHex(text)
	if ok {
		size, text, ok = nextHex(text)
	}
	return addr, size, text, ok
}

// nextHex reads hexadecimal digits of either case behind blanks; a sign or 0x is passed over, as the tolerant scanner
// does.
func nextHex(t []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	for i < len(t) && (t[i] == ' ' || t[i] == '\t' || t[i] == '+') {
		i++
	}
	if i+1 < len(t) && t[i] == '0' && t[i+1]|0x20 == 'x' {
		i += 2
	}
	for ; i < len(t); i++ {
		c := t[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return v, t[i:], ok
		}
		v, ok = v<<4|uint64(c), true
	}
	return v, nil, ok
}

// close judges the open function.
func (c *inlineChecker) close() {
	if c.orphans.count > 0 {
		c.reportOrphans()
		c.orphans = lineRun{}
	}
	if c.garbled.count > 0 {
		c.misread = append(c.misread, inlineMisread{c.garbled, c.fn})
		c.garbled = lineRun{}
	}
	if len(c.records) > 0 {
		c.reportJump()
		c.reportOutside(c.records, c.fn)
		c.checkNesting()
		if c.away {
			c.split = append(c.split, inlineBlock{c.fn, uint32(c.next)})
		}
		c.records, c.ranges = c.records[:0], c.ranges[:0]
	}
	c.state, c.severed, c.rejected, c.away = noFunc, false, false, false
}

func (c *inlineChecker) Merge(later lint.Checker) {
	c.close()
	l := later.(*inlineChecker)
	l.close()
	c.files.merge(&l.files)
	c.fileDefs.merge(&l.fileDefs)
	c.originIDs.merge(&l.originIDs)
	c.origins.merge(&l.origins)
	c.originDefs.merge(&l.originDefs)
	c.noFile.merge(&l.noFile)
	c.empty.merge(&l.empty)
	for i := range c.formed {
		c.formed[i].merge(&l.formed[i])
	}
	c.namedOld = append(c.namedOld, l.namedOld...)
	c.namedNew += l.namedNew
	c.misread = append(c.misread, l.misread...)
	c.split = append(c.split, l.split...)
}

func (c *inlineChecker) Finish() {
	c.close()
	var funcs []symfile.Range
	if len(c.misread)+len(c.split) > 0 {
		funcs = plainFuncs(c.pass)
	}
	c.reportMisread(funcs)
	c.reportForms()
	c.reportOrigins()
	c.reportFiles()
	c.reportEmpty()
	c.reportSplit(funcs)
}
