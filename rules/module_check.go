package rules

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// moduleChecker gathers the MODULE and INFO records, of which a file has a handful, and judges them at the end.
type moduleChecker struct {
	pass    *lint.Pass
	modules []recordPos
	codeIDs []recordPos
	other   []infoRecord // INFO records nobody is known to write: the first of each key
}

type infoRecord struct {
	key string
	recordGroup
}

// knownInfo are the keys of INFO records: Google's and Mozilla's dump_syms, rust-minidump's cache, and what Mozilla's
// builds add with --extra-info.
var knownInfo = []string{"CODE_ID", "GENERATOR", "URL", "RELEASECHANNEL", "VENDOR", "PRODUCTNAME", "VERSION", "BUILDID"}

func (c *moduleChecker) Record(r *symfile.Record) {
	if r.Kind == symfile.Module {
		c.modules = append(c.modules, posOf(r))
		return
	}
	key := infoKey(c.pass, r)
	switch {
	case key == "CODE_ID":
		c.codeIDs = append(c.codeIDs, posOf(r))
	case key != "" && !slices.Contains(knownInfo, key) && !spoilt(r):
		c.addOther(key, recordGroup{posOf(r), 1})
	}
}

// infoKey is the first word of an INFO record's text.
func infoKey(p *lint.Pass, r *symfile.Record) string {
	const most = 64
	w := word(p, r, 1)
	return string(p.Data[w.Off:min(w.End, w.Off+most)])
}

func (c *moduleChecker) addOther(key string, g recordGroup) {
	const most = 256 // keys told apart
	for i := range c.other {
		if c.other[i].key == key {
			c.other[i].join(g)
			return
		}
	}
	if len(c.other) < most {
		c.other = append(c.other, infoRecord{key, g})
	}
}

func (c *moduleChecker) Merge(later lint.Checker) {
	l := later.(*moduleChecker)
	c.modules = append(c.modules, l.modules...)
	c.codeIDs = append(c.codeIDs, l.codeIDs...)
	for _, o := range l.other {
		c.addOther(o.key, o.recordGroup)
	}
}

func (c *moduleChecker) Finish() {
	p := c.pass
	if utf16Name(p.Data) != "" {
		return // there are no records
	}
	if len(c.modules) == 0 {
		c.reportMissing()
	} else {
		m := &moduleRecord{pass: p, entry: p.Index.Module, rec: p.RecordAt(c.modules[0].off, c.modules[0].line)}
		c.reportPlaces(m)
		if !spoilt(m.rec) {
			m.judgeID()
			m.judgeOS()
			m.judgeArch()
			m.judgeName()
			m.judgePath()
			c.judgeCodeID(m)
		}
	}
	c.reportOther()
}

// spoilt: bytes of the record are damaged, or it was cut; the format family says so.
func spoilt(r *symfile.Record) bool {
	return has(r, symfile.NULByte) || has(r, symfile.InvalidUTF8) || has(r, symfile.ControlByte) || has(r, symfile.LoneCR) ||
		has(r, symfile.NoFinalNewline)
}

// reportMissing speaks unless the first line was meant to be a MODULE record.
func (c *moduleChecker) reportMissing() {
	p := c.pass
	first := firstLine(p)
	head := p.Data[first.Off:min(first.End, first.Off+64)]
	if meant, _ := meantKeyword(string(head)); meant == "MODULE" {
		return
	}
	p.Report(lint.Spot{Rule: moduleMissing, Line: 1, Record: first, Culprit: symfile.Span{Off: first.Off, End: first.End}}, func(f *lint.Finding) {
		f.Message = "the file has no MODULE record"
	})
}

// reportPlaces speaks of a MODULE record that is not the first line, and of further ones.
func (c *moduleChecker) reportPlaces(m *moduleRecord) {
	p := c.pass
	if m.rec.Line != 1 {
		p.Report(lint.At(moduleNotFirst, m.rec, word(p, m.rec, 0)), func(f *lint.Finding) {
			f.Message = fmt.Sprintf("the MODULE record is on line %d", m.rec.Line)
			f.Subject = m.entry.Name
		})
	}
	first := p.Data[m.rec.Text.Off:m.rec.Text.End]
	for _, pos := range c.modules[1:] {
		rec := p.RecordAt(pos.off, pos.line)
		p.Report(lint.At(moduleDuplicate, rec, word(p, rec, 0)), func(f *lint.Finding) {
			f.Message = "another MODULE record, for another module"
			if string(p.Data[rec.Text.Off:rec.Text.End]) == string(first) {
				f.Message = "the MODULE record is repeated"
			}
			f.Subject = m.entry.Name
			f.Related = relatedRecord(p, c.modules[0].off, c.modules[0].line, "the first one")
		})
	}
}

// moduleRecord is the first MODULE record.
type moduleRecord struct {
	pass  *lint.Pass
	entry symfile.ModuleEntry
	rec   *symfile.Record
}

func (m *moduleRecord) field(n int) symfile.Span { return word(m.pass, m.rec, n) }

func (m *moduleRecord) windows() bool { return strings.EqualFold(m.entry.OS, "windows") }

// elf and apple tell how ids are made.
func (m *moduleRecord) elf() bool {
	return slices.Contains([]string{"Linux", "Android", "Fuchsia", "solaris"}, m.entry.OS)
}
func (m *moduleRecord) apple() bool {
	return slices.Contains([]string{"mac", "Mac", "iOS"}, m.entry.OS)
}

func (m *moduleRecord) report(rule *lint.Rule, culprit symfile.Span, severity lint.Severity, effects *lint.Effects, message string) {
	spot := lint.At(rule, m.rec, culprit)
	spot.Severity, spot.Effects = severity, effects
	m.pass.Report(spot, func(f *lint.Finding) {
		f.Message = message
		f.Subject = validText([]byte(m.entry.Name))
	})
}

var (
	idNotHexEffects = lint.Effects{
		{Impact: lint.Loses, Text: "does not find the file in a symbol store"},
		refusesFile,
		{Impact: lint.Rejects, Text: "refuses the file: invalid module id"},
	}
	idLengthEffects = lint.Effects{
		{Impact: lint.Loses, Text: "does not find the file in a symbol store"},
		{Impact: lint.Loses, Text: "does not find the file in a symbol store"},
		{Impact: lint.Rejects, Text: "refuses the file: invalid module id"},
	}
	idZeroEffects = lint.Effects{
		{Impact: lint.Loses, Text: "takes it for the symbols of any binary without an id"},
		{Impact: lint.Loses, Text: "takes it for the symbols of any binary without an id"},
		{Impact: lint.Loses, Text: "calls the file unusable"},
	}
)

// judgeID holds the id against what minidumps say: `%08X%04X%04X` and 16 more digits of a GUID, `%x` of an age.
func (m *moduleRecord) judgeID() {
	id := m.entry.ID
	if id == "" {
		return
	}
	span := m.field(3)
	say := func(effects *lint.Effects, format string, args ...any) {
		shown := id
		if len(shown) > 48 {
			shown = shown[:48] + "…"
		}
		m.report(moduleID, span, lint.Off, effects, fmt.Sprintf("module id %s "+format, append([]any{validText([]byte(shown))}, args...)...))
	}
	for i := range len(id) {
		if !isHexDigit(id[i]) {
			if id[i] == '-' {
				say(&idNotHexEffects, "is written with hyphens")
			} else {
				span = symfile.Span{Off: span.Off + i, End: span.Off + i + 1}
				say(&idNotHexEffects, "has %s, which is no hexadecimal digit", quoted(m.pass, span))
			}
			return
		}
	}
	guid := 32
	if n := len(id); n >= 9 && n <= 16 && m.windows() {
		guid = 8 // PDB 2.0: a timestamp
	}
	switch n := len(id); {
	case n < guid:
		say(&idLengthEffects, "has %d digits, 32 and an age are due", n)
		return
	case n == guid:
		say(nil, "has no age: %d digits, at least one more is due", n)
		return
	case n > guid+8:
		say(nil, "has %d digits, 32 and an age of at most 8 are due", n)
		return
	}
	age := id[guid:]
	switch {
	case strings.Trim(id[:guid], "0") == "":
		say(&idZeroEffects, "is all zero: the binary has no id of its own")
	case strings.ToUpper(id[:guid]) != id[:guid]:
		say(nil, "is in lower case, minidumps write it in upper case")
	case strings.ToLower(age) != age:
		span.Off += guid
		say(nil, "has its age in upper case, minidumps write it in lower case")
	case len(age) > 1 && age[0] == '0':
		span.Off += guid
		say(nil, "has an age with a leading zero: %s", age)
	case age != "0" && (m.elf() || m.apple()):
		span.Off += guid
		say(nil, "has the age %s, which is always 0 on %s", age, m.entry.OS)
	}
}

func isHexDigit(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f'
}

// knownOS are the operating systems that writers name: the documented ones, Mozilla's Mac, and the usual values of
// dump_syms -o.
var knownOS = []string{"Linux", "mac", "windows", "Mac", "Windows", "solaris", "Android", "iOS", "Fuchsia"}

// otherOS are words of other tools.
var otherOS = map[string]string{
	"macos": "mac", "macosx": "mac", "osx": "mac", "darwin": "mac", "apple": "mac", "win": "windows", "win32": "windows",
	"win64": "windows", "windowsnt": "windows", "gnu/linux": "Linux", "linux-gnu": "Linux", "sunos": "solaris",
}

func (m *moduleRecord) judgeOS() {
	os := m.entry.OS
	if os == "" || slices.Contains(knownOS, os) {
		return
	}
	m.report(moduleOS, m.field(1), lint.Off, nil,
		fmt.Sprintf("unknown operating system %s%s", quoted(m.pass, m.field(1)), suggest(os, knownOS, otherOS)))
}

// knownArchs are the architectures that Google's and Mozilla's dump_syms write and those that symbolic knows by itself.
var knownArchs = []string{
	"x86", "x86_64", "x86_64h", "arm", "arm64", "arm64e", "arm64_32", "mips", "mips64", "ppc", "ppc64", "riscv", "riscv64", "s390", "s390x",
	"sparc", "sparcv9", "nds32", "loongarch64", "unknown", "armv5", "armv6", "armv6m", "armv7", "armv7f", "armv7s", "armv7k", "armv7m",
	"armv7em", "arm64v8", "x86_unknown", "x86_64_unknown", "arm_unknown", "arm64_unknown",
}

// otherArchs are words of other tools.
var otherArchs = map[string]string{
	"i386": "x86", "i486": "x86", "i586": "x86", "i686": "x86", "ia32": "x86", "amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64",
	"aarch64": "arm64", "arm-64": "arm64", "armhf": "arm", "armel": "arm", "powerpc": "ppc", "powerpc64": "ppc64", "ppc64le": "ppc64",
	"ppc_64": "ppc64", "mipsel": "mips", "mips64el": "mips64",
}

func (m *moduleRecord) judgeArch() {
	arch := m.entry.Arch
	if arch == "" || slices.Contains(knownArchs, arch) {
		return
	}
	m.report(moduleArch, m.field(2), lint.Off, nil,
		fmt.Sprintf("unknown architecture %s%s", quoted(m.pass, m.field(2)), suggest(arch, knownArchs, otherArchs)))
}

// suggest names what an unknown word may stand for.
func suggest(word string, known []string, other map[string]string) string {
	meant := other[strings.ToLower(word)]
	for _, k := range known {
		if meant == "" && strings.EqualFold(k, word) {
			meant = k
		}
	}
	if meant == "" && len(word) > 2 {
		meant = lint.Nearest(word, known)
	}
	if meant == "" {
		return ""
	}
	return fmt.Sprintf("; was %s meant?", meant)
}

var noNameEffects = lint.Effects{
	lint.Fine("does not look at it"),
	refusesFile,
	{Impact: lint.Degraded, Text: "calls the module <unknown>"},
}

func (m *moduleRecord) judgeName() {
	if m.entry.ID == "" {
		return
	}
	span := symfile.Span{Off: m.field(4).Off, End: m.rec.Text.End}
	name := m.entry.Name
	if name == "" {
		end := symfile.Span{Off: m.rec.Span.End, End: m.rec.Span.End}
		effects := &noNameEffects
		if has(m.rec, symfile.TrailingBlank) {
			effects = &lint.Effects{noNameEffects[0], {Impact: lint.Degraded, Text: "reads an empty name"}, noNameEffects[2]}
		}
		m.report(moduleName, end, lint.Error, effects, "the MODULE record has no name")
		return
	}
	say := func(format string) {
		m.report(moduleName, span, lint.Off, nil, fmt.Sprintf(format, quoted(m.pass, span)))
	}
	switch {
	case strings.ContainsAny(name, `/\`):
		say("the module's name %s is a path")
	case strings.HasSuffix(name, " (deleted)"):
		say("the module's name %s is that of a deleted file")
	case name == "." || name == "..":
		say("%s is no name of a module")
	case strings.ContainsAny(name, `<>"|?*`) || m.windows() && strings.Contains(name, ":"):
		say("the module's name %s has characters that file names do not have")
	}
}

// judgePath holds the MODULE record against the file's place in a store, NAME/ID/NAME.sym.
func (m *moduleRecord) judgePath() {
	parts := strings.Split(filepath.ToSlash(m.pass.Path), "/")
	if len(parts) < 2 || m.entry.ID == "" {
		return
	}
	file, id := parts[len(parts)-1], parts[len(parts)-2]
	if len(id) < 33 || len(id) > 40 || strings.ContainsFunc(id, func(r rune) bool { return r > 0x7f || !isHexDigit(byte(r)) }) {
		return
	}
	var wrong []string
	span := m.field(3)
	switch {
	case id == m.entry.ID:
	case strings.EqualFold(id, m.entry.ID):
		wrong = append(wrong, fmt.Sprintf("the directory %s differs from the id %s in case", id, m.entry.ID))
	default:
		wrong = append(wrong, fmt.Sprintf("the directory %s is not the id %s", id, shortName(m.entry.ID)))
	}
	if name := m.entry.Name; name != "" {
		if len(wrong) == 0 {
			span = symfile.Span{Off: m.field(4).Off, End: m.rec.Text.End}
		}
		if len(parts) > 2 && !slices.Contains([]string{name, "", ".", ".."}, parts[len(parts)-3]) {
			wrong = append(wrong, fmt.Sprintf("the directory %s is not the name %s", parts[len(parts)-3], shortName(name)))
		}
		if want := symName(name); trimPacked(file) != want && strings.HasSuffix(trimPacked(file), ".sym") {
			wrong = append(wrong, fmt.Sprintf("the file %s is not called %s", file, shortName(want)))
		}
	}
	if len(wrong) > 0 {
		m.report(moduleStorePath, span, lint.Off, nil, validText([]byte(strings.Join(wrong, "; "))))
	}
}

// symName is the name of a module's symbol file: .pdb gives way to .sym.
func symName(name string) string {
	if n := len(name) - len(".pdb"); n >= 0 && strings.EqualFold(name[n:], ".pdb") {
		name = name[:n]
	}
	return name + ".sym"
}

// trimPacked drops the suffix of a compressed file.
func trimPacked(file string) string {
	for _, suffix := range []string{".gz", ".zst"} {
		if s, ok := strings.CutSuffix(file, suffix); ok {
			return s
		}
	}
	return file
}

// reportOther speaks of INFO records with unknown keys.
func (c *moduleChecker) reportOther() {
	for _, o := range c.other {
		rec := c.pass.RecordAt(o.first.off, o.first.line)
		spot := lint.At(moduleInfo, rec, word(c.pass, rec, 1))
		spot.Count, spot.Severity = o.count, lint.Info
		spot.Effects = &unknownInfoEffects
		meant := lint.Nearest(strings.ToUpper(o.key), knownInfo[:3])
		if meant == "CODE_ID" {
			spot.Severity, spot.Effects = lint.Warning, nil
		}
		c.pass.Report(spot, func(f *lint.Finding) {
			f.Message = "unknown INFO " + quoted(c.pass, word(c.pass, rec, 1))
			if meant != "" {
				f.Message += fmt.Sprintf("; was %s meant?", meant)
			}
			f.Subject = validText([]byte(o.key))
		})
	}
}

var unknownInfoEffects = lint.Same(lint.Unaffected, "does not look at the record")
