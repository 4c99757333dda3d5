package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/config"
	"github.com/symlint/symlint/lint/replay"
	"github.com/symlint/symlint/lint/report"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/rules"
	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corefile"
	"github.com/symlint/symlint/unwind/symstore"
)

type verifyCmd struct {
	Dump    string   `arg:"" help:"A minidump, microdump or ELF core, plain or compressed with gzip or zstd; a directory, in which all dumps are verified; - for standard input."`
	Symbols []string `arg:"" optional:"" name:"symbols" help:"Where symbol files are: symbol stores (DEBUGFILE/ID/NAME.sym), directories of symbol files, or single files, in the order in which they are searched."`

	Reference  string `short:"r" placeholder:"FILE" group:"Reference:" help:"What the walk is held against. Default: DUMP with its extension replaced by .expected.json, .expected.txt or .stackwalk.txt; where none of them exists, the walk is held against itself."`
	Self       bool   `group:"Reference:" help:"Hold the walk against itself, whatever references there are."`
	Update     bool   `group:"Reference:" help:"Write the walk as the reference, .expected.json or what --reference says, instead of verifying it."`
	Compare    string `placeholder:"FIELDS" group:"Reference:" help:"What is compared, out of module, function, pc, sp, line, trust and registers. Default: module,function,pc,line."`
	NoRemedies bool   `group:"Reference:" help:"Do not look for changes of the symbol file that make the walk match, which takes a moment for each thread that differs."`

	Unwind   string   `default:"auto" placeholder:"LIST" group:"Walk:" help:"How callers are found: auto, as Google's walker does; best, by everything symlint knows; or a list out of cfi, win, sframe, dwarf, fp and scan. See walk."`
	Binaries []string `sep:"none" placeholder:"DIR" group:"Walk:" help:"Where the ELF files of the modules are. Repeatable. See walk."`
	Maps     string   `placeholder:"FILE" group:"Walk:" help:"A copy of /proc/PID/maps for cores that do not name their modules. See walk."`

	Format string `short:"f" default:"text" placeholder:"FORMAT" group:"Output:" help:"text, json, junit, sarif or github."`

	Select   []string `placeholder:"LIST" group:"Judgement:" help:"Report only these: rules of the family walk, severities or globs, separated by commas."`
	Ignore   []string `placeholder:"LIST" group:"Judgement:" help:"Do not report these."`
	Severity []string `placeholder:"RULE=LEVEL" group:"Judgement:" help:"Give a rule or glob another severity: error, warning, info or off. Repeatable."`
	FailOn   string   `placeholder:"LEVEL" group:"Judgement:" help:"Exit with 1 when there are findings of this severity or above: error, warning, info or never. Default: error, which a difference from a reference is."`
	Config   string   `placeholder:"FILE" xor:"config" group:"Configuration:" help:"Read this configuration. Default: .symlint.toml in the working directory or the nearest one above it."`
	NoConfig bool     `xor:"config" group:"Configuration:" help:"Read no configuration."`
}

// Help is the long description.
func (verifyCmd) Help() string {
	return `Walks a dump again and holds the stacks against a reference: what another walker or a debugger found in the same dump, or
what symlint found earlier (--update). References are told apart by their content: the output of minidump_stackwalk for
people (of Google or rust-minidump) and for machines (-m), rust-minidump's JSON and symlint's own, gdb's "thread apply all
bt", and a table with the columns thread, frame, pc, sp, function, file and line, separated by tabs. They may be compressed.

Of each thread that differs the first differing frame is told, and which record is to blame: the one that the first frame
with a wrong register came from, with its rules and their values, what the reference has instead, and what check says of
that record. Known defects of records (exchanged registers, wrong offsets, missing rules, stale rows and others) are then
undone one after the other, and the change is told after which the whole thread matches. A difference that is a known
mistake of the tool that wrote the reference is told as such and is none.

Without a reference the walk is held against itself: it must not end earlier with the symbols of a module than without
them, unwind records that cover an address must be usable, and no caller should have to be found by scanning the stack.

In a directory the dumps are those called *.dmp, *.mdmp, *.microdump, *.core, core and core.*, plain or with .gz or .zst
behind the name, in all directories below. Of those called core.* only what is a dump by its content counts. Every symbol
file is read once, for however many dumps.

Findings are those of the rules of family walk; a difference is one of walk-diverges. .symlint.toml applies to them, but
for its selection of rules.

Exit status: 0 when all threads match, 1 when one differs or something was found at or above --fail-on, 2 for wrong usage
and for dumps and references that cannot be read. The other dumps are verified all the same.

Examples:

    symlint verify crash.dmp symbols/ --reference crash.stackwalk.txt
    symlint verify crash.dmp symbols/ --reference gdb.txt --unwind best --binaries /
    symlint verify crash.dmp symbols/ --update
    symlint verify crashes/ symbols/
    symlint verify crashes/ symbols/ --format junit --output verify.xml
    symlint verify --self crash.dmp symbols/`
}

// verifyFormats are the formats of verify.
var verifyFormats = []string{"text", "json", "junit", "sarif", "github"}

// Run verifies the dump or dumps.
func (c *verifyCmd) Run(a *app) error {
	v, err := c.prepare(a)
	if err != nil {
		return err
	}
	defer v.close()
	return v.run()
}

// verification is a run that is ready.
type verification struct {
	*verifyCmd
	app        *app
	fields     replay.Fields
	techniques []unwind.Technique
	best       bool
	symbols    *symbolSearch      // nil without SYMBOLS
	binaries   *symstore.Binaries // nil without --binaries
	maps       []byte
	dumps      []dumpInput
	reference  *replay.Reference // nil: each dump has its own
	registry   *lint.Registry
	config     *config.Config
	flags      config.Flags
	settings   *lint.Settings
	failOn     lint.Severity // Off = never
	lints      *recordLints
	told       map[string]bool // notes that were written; dumps share modules
}

func (v *verification) close() {
	v.symbols.close()
	if v.binaries != nil {
		v.binaries.Close()
	}
	if v.lints != nil {
		v.lints.close()
	}
}

// prepare finds out everything that can be wrong before a dump is read.
func (c *verifyCmd) prepare(a *app) (*verification, error) {
	v := &verification{verifyCmd: c, app: a, registry: rules.Registry(), told: make(map[string]bool)}
	if err := c.contradiction(); err != nil {
		return nil, err
	}
	var err error
	if v.techniques, v.best, err = parseTechniques(c.Unwind); err != nil {
		return nil, err
	}
	if c.Compare != "" {
		if v.fields, err = replay.ParseFields(c.Compare); err != nil {
			return nil, fmt.Errorf("--compare: %w", err)
		}
	}
	if err := v.judgement(); err != nil {
		return nil, err
	}
	for _, dir := range c.Binaries {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("--binaries: %w", pathError(dir, err))
		}
	}
	if v.dumps, err = findDumps(c.Dump); err != nil {
		return nil, err
	}
	if err := v.open(); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// contradiction tells of flags that exclude each other.
func (c *verifyCmd) contradiction() error {
	switch {
	case !slices.Contains(verifyFormats, c.Format):
		return unknown("format", c.Format, verifyFormats)
	case c.Self && c.Reference != "":
		return errors.New("--self and --reference cannot be used together")
	case c.Self && c.Update:
		return errors.New("--self and --update cannot be used together")
	case c.Update && c.Format != "text":
		return fmt.Errorf("--update and --format %s cannot be used together: nothing is verified", c.Format)
	case c.Update && c.Dump == "-" && c.Reference == "":
		return errors.New("--update needs --reference FILE for a dump from standard input")
	case c.Update && c.Reference == "-":
		return errors.New("--update cannot write the reference to -: use symlint walk --format json")
	case c.Dump == "-" && c.Reference == "-":
		return errors.New("only one of DUMP and --reference can be standard input")
	}
	return nil
}

// judgement reads the configuration and what the flags say of rules.
func (v *verification) judgement() error {
	check := &checkCmd{Config: v.Config, NoConfig: v.NoConfig, FailOn: v.FailOn}
	var err error
	if v.config, err = check.config(v.registry); err != nil {
		return err
	}
	if v.failOn, err = check.failOn(v.config); err != nil {
		return err
	}
	v.flags = config.Flags{Select: v.Select, Ignore: v.Ignore, Severity: v.Severity}
	if len(v.flags.Select) == 0 {
		v.flags.Select = []string{"walk"} // whatever check is to select
	}
	v.settings, err = v.config.Settings(v.registry, "", v.flags)
	return err
}

// open opens what all dumps share.
func (v *verification) open() (err error) {
	v.lints = newRecordLints(v.registry, v.lintSettings, max(v.app.Jobs, 1))
	if len(v.Binaries) > 0 {
		v.binaries = symstore.NewBinaries(v.Binaries)
	}
	if v.symbols, err = newSymbolSearch(v.Symbols); err != nil {
		return err
	}
	if v.Maps != "" {
		if v.maps, err = readText(v.app, v.Maps, maxMaps); err != nil {
			return fmt.Errorf("--maps: %w", err)
		}
		if _, err := corefile.ParseMaps(v.maps); err != nil {
			return fmt.Errorf("--maps: %s: %w", v.Maps, err)
		}
	}
	if v.Reference != "" && v.manyDumps() {
		return errors.New("--reference is for one dump; those of a directory have theirs beside them")
	}
	if v.Update {
		return v.collisions()
	}
	if v.Reference != "" {
		if v.reference, err = readReference(v.app, v.Reference); err != nil {
			return fmt.Errorf("--reference: %w", err)
		}
	}
	return nil
}

// collisions is an error where two dumps would have the same reference.
func (v *verification) collisions() error {
	seen := make(map[string]string)
	for _, d := range v.dumps {
		stem := referenceStem(d.path)
		if other, ok := seen[stem]; ok && v.manyDumps() {
			return fmt.Errorf("--update: %s and %s would both have the reference %s%s", other, d.path, stem, referenceEnds[0])
		}
		seen[stem] = d.path
	}
	return nil
}

// lintSettings are those by which records of a symbol file are judged: as check does, but for its selection of rules.
func (v *verification) lintSettings(path string) (*lint.Settings, error) {
	return v.config.Settings(v.registry, path, config.Flags{})
}

// enabled are the rules of walks that can speak.
func (v *verification) enabled() []*lint.Rule {
	out := []*lint.Rule{}
	for _, r := range v.registry.Rules() {
		if rules.NeedsDump(r) && v.settings.Enabled(v.registry, r) {
			out = append(out, r)
		}
	}
	return out
}

// reportOptions are those of the formats that check has as well.
func (v *verification) reportOptions() report.Options {
	return report.Options{
		Registry: v.registry, Enabled: v.enabled(), Consumers: v.settings.Consumers, Version: version(), Command: "verify",
		Color: v.app.colored(), Quiet: true, MaxPerRule: 0,
	}
}

// refuseWalks is the error for a selection of which nothing can be found without a dump, nil for others.
func refuseWalks(g *lint.Registry, selectors []string) error {
	for _, selector := range selectors {
		matched, err := g.Match(selector)
		if err != nil || slices.ContainsFunc(matched, func(r *lint.Rule) bool { return !rules.NeedsDump(r) }) {
			return nil
		}
	}
	if len(selectors) == 0 {
		return nil
	}
	return fmt.Errorf("--select %s: it takes a dump to see that: symlint verify", strings.Join(selectors, ","))
}

// readText reads a whole text, which may be compressed.
func readText(a *app, path string, limit int64) ([]byte, error) {
	b, err := source.Read(path, source.Options{Stdin: a.Stdin, Limits: source.Limits{Size: limit}})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.Err != nil {
		return nil, b.Err
	}
	return slices.Clone(b.Data), nil
}

// maxReference bounds a reference, in bytes.
const maxReference = 1 << 30

func readReference(a *app, path string) (*replay.Reference, error) {
	data, err := readText(a, path, maxReference)
	if err != nil {
		return nil, err
	}
	ref, err := replay.ParseReference(data)
	shown := path
	if path == "-" {
		shown = source.StdinPath
	}
	if e, ok := errors.AsType[*replay.SyntaxError](err); ok {
		return nil, fmt.Errorf("%s:%d: %s", shown, e.Line, e.Msg)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w, found %s", shown, err, strings.TrimSpace(source.Describe(data)))
	}
	return ref, nil
}
