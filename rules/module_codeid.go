package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// judgeCodeID judges the INFO CODE_ID records: at most one, well formed, in accord with the module's id.
func (c *moduleChecker) judgeCodeID(m *moduleRecord) {
	p := c.pass
	if len(c.codeIDs) == 0 {
		if m.windows() && !slices.ContainsFunc(c.other, func(o infoRecord) bool { return lint.Nearest(strings.ToUpper(o.key), knownInfo[:3]) == "CODE_ID" }) {
			m.report(moduleInfo, word(p, m.rec, 0), lint.Info, &noCodeIDEffects, "no INFO CODE_ID: the binary cannot be found")
		}
		return
	}
	first := p.RecordAt(c.codeIDs[0].off, c.codeIDs[0].line)
	span := word(p, first, 2)
	c.judgeOneCodeID(m, first, span)
	for _, pos := range c.codeIDs[1:] {
		rec := p.RecordAt(pos.off, pos.line)
		other := word(p, rec, 2)
		spot := lint.At(moduleInfo, rec, other)
		same := string(p.Data[other.Off:other.End]) == string(p.Data[span.Off:span.End])
		if same {
			spot.Severity = lint.Info
		}
		p.Report(spot, func(f *lint.Finding) {
			f.Message = fmt.Sprintf("another INFO CODE_ID, %s", quoted(p, other))
			if same {
				f.Message = "INFO CODE_ID is repeated"
			}
			f.Related = relatedRecord(p, c.codeIDs[0].off, c.codeIDs[0].line, "the first one")
		})
	}
}

var noCodeIDEffects = lint.Effects{
	lint.Fine("does not look at INFO records"),
	lint.Fine("does not look at INFO records but for INFO URL"),
	{Impact: lint.Degraded, Text: "knows no code id"},
}

func (c *moduleChecker) judgeOneCodeID(m *moduleRecord, rec *symfile.Record, span symfile.Span) {
	p := c.pass
	if spoilt(rec) {
		return
	}
	id := string(p.Data[span.Off:span.End])
	say := func(format string, args ...any) {
		p.Report(lint.At(moduleInfo, rec, span), func(f *lint.Finding) {
			f.Message = fmt.Sprintf(format, args...)
			f.Subject = "CODE_ID"
		})
	}
	bad := strings.IndexFunc(id, func(r rune) bool { return r > 0x7f || !isHexDigit(byte(r)) })
	switch {
	case id == "":
		say("INFO CODE_ID has no id")
	case bad >= 0:
		say("code id %s is not hexadecimal", quoted(p, span))
	case m.windows():
		// The timestamp in 8 digits and the size of the image, which is below 4 GiB.
		if len(id) < 8 || len(id) > 16 {
			say("code id %s has %d digits, 8 of the timestamp and up to 8 of the image's size are due", quoted(p, span), len(id))
		}
	case len(id)%2 != 0 && (m.elf() || m.apple()):
		say("code id %s has %d digits, which are no whole bytes", quoted(p, span), len(id))
	case m.elf():
		c.compareBuildID(m, id, say)
	}
}

// bigEndian are the architectures whose ids symbolic leaves in the order of the build id, Google's tools do not.
var bigEndian = []string{"mips", "mips64", "ppc", "ppc64", "s390", "s390x", "sparc", "sparcv9", "arm", "unknown"}

// compareBuildID holds the id against the build id it is made from: the first 16 bytes, zeros where there are fewer, as
// a GUID, whose first three groups are numbers in the other byte order.
func (c *moduleChecker) compareBuildID(m *moduleRecord, codeID string, say func(string, ...any)) {
	if len(m.entry.ID) < 33 {
		return
	}
	var build [16]byte
	for i := range min(len(build), len(codeID)/2) {
		b, _ := strconv.ParseUint(codeID[2*i:2*i+2], 16, 8)
		build[i] = byte(b)
	}
	plain := fmt.Sprintf("%X", build)
	slices.Reverse(build[0:4])
	slices.Reverse(build[4:6])
	slices.Reverse(build[6:8])
	guid := fmt.Sprintf("%X", build)
	switch id := strings.ToUpper(m.entry.ID[:32]); {
	case id == guid, strings.Trim(id, "0") == "", strings.ContainsFunc(id, func(r rune) bool { return r > 0x7f || !isHexDigit(byte(r)) }):
	case id == plain:
		if !slices.Contains(bigEndian, m.entry.Arch) {
			say("the module's id is the code id as it stands; its first groups belong in the other byte order: %s0", guid)
		}
	default:
		say("code id %s makes the module id %s0, MODULE says %s", shortName(codeID), guid, m.entry.ID)
	}
}
