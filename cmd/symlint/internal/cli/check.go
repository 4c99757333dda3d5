package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/config"
	"github.com/symlint/symlint/lint/report"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/rules"
)

type checkCmd struct {
	Paths []string `arg:"" optional:"" name:"path" help:"Symbol files, ELF files or SFrame sections by themselves, plain or compressed with gzip or zstd; directories, in which *.sym, *.sym.gz, *.sym.zst, *.sframe and ELF files with SFrame are looked for; - for standard input. Default: the working directory."`

	Format     string `short:"f" default:"text" placeholder:"FORMAT" group:"Output:" help:"text, json, jsonl, sarif, github or junit."`
	MaxPerRule *int   `placeholder:"N" group:"Output:" help:"Show N findings per rule and file in text and count the rest; 0 shows all. Default: 10. The other formats are not cut by it."`
	Stats      bool   `group:"Output:" help:"Add tables of records, coverage and findings per rule to text."`

	Select      []string    `placeholder:"LIST" group:"Judgement:" help:"Report only these: rules, families, severities or globs, separated by commas."`
	Ignore      []string    `placeholder:"LIST" group:"Judgement:" help:"Do not report these."`
	Severity    []string    `placeholder:"RULE=LEVEL" group:"Judgement:" help:"Give a rule, family or glob another severity: error, warning, info or off. Repeatable."`
	FailOn      string      `placeholder:"LEVEL" group:"Judgement:" help:"Exit with 1 when there are findings of this severity or above: error, warning, info or never. Default: error."`
	Consumer    []string    `placeholder:"NAME" group:"Judgement:" help:"Judge by what these consumers do: breakpad, rust-minidump, symbolic; of SFrame: binutils, ld, linux, glibc, llvm. Repeatable. Default: all of them."`
	MinCoverage *percentage `placeholder:"SHARE" group:"Judgement:" help:"The share of code in FUNC records that must have unwind records, such as 95 (percent) or 0.95: below it the rule coverage is an error."`

	Config        string `placeholder:"FILE" xor:"config" group:"Configuration:" help:"Read this configuration. Default: .symlint.toml in the working directory or the nearest one above it."`
	NoConfig      bool   `xor:"config" group:"Configuration:" help:"Read no configuration."`
	Baseline      string `placeholder:"FILE" group:"Configuration:" help:"Report only findings that this baseline does not hold."`
	WriteBaseline string `placeholder:"FILE" group:"Configuration:" help:"Write all findings to a baseline instead of reporting them: from now on they are known, and the exit status is 0."`
}

// Help is the long description.
func (checkCmd) Help() string {
	return `Lints Breakpad symbol files and the SFrame sections of ELF files. Each finding names the place in the file, quotes the
record, and tells what breakpad, rust-minidump and symbolic do with exactly this defect. What a file is, plain text,
gzip or zstd, a symbol file or ELF, is told by its content.

SFrame is held against the format, against the headers, code and symbols of its file, and address by address against
.eh_frame and .debug_frame of the same file. Findings tell what binutils, ld, the Linux kernel, glibc and LLVM do.

Exit status: 0 when nothing was found at or above --fail-on, 1 when something was, 2 for wrong usage and for input that
cannot be read or is none of these. The other inputs are checked all the same.

Examples:

    symlint check app.sym
    symlint check symbols/ --fail-on warning
    symlint check app libapp.so crt1.o
    dump_syms app | symlint check -
    symlint check symbols/ --select cfi,win --consumer breakpad
    symlint check symbols/ --format sarif --output symlint.sarif
    symlint check symbols/ --write-baseline symlint-baseline.json
    symlint check symbols/ --baseline symlint-baseline.json

Environment: NO_COLOR, CLICOLOR, CLICOLOR_FORCE, FORCE_COLOR and TERM decide on colour unless --color does; GOGC tunes
the garbage collector.`
}

// percentage is a share of code, 0 to 100.
type percentage float64

// UnmarshalText reads 95%, 95 or 0.95.
func (p *percentage) UnmarshalText(text []byte) error {
	number, sign := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !sign && v <= 1 {
		v *= 100
	}
	if err != nil || !(v >= 0 && v <= 100) {
		return fmt.Errorf("%q is no share: expected a percentage such as 95, or a number from 0 to 1", text)
	}
	*p = percentage(v)
	return nil
}

// Run checks the inputs.
func (c *checkCmd) Run(a *app) error {
	k, err := c.prepare(a)
	if err != nil {
		return err
	}
	return k.run()
}

// check is a check that is ready to run.
type check struct {
	app      *app
	registry *lint.Registry
	sources  []lint.Source
	runner   lint.Runner
	report   report.Options // but for the writer
	format   string
	failOn   lint.Severity // Off = never
	known    *knownFindings
}

// prepare finds out everything that can be wrong before any input is read.
func (c *checkCmd) prepare(a *app) (*check, error) {
	g := rules.Registry()
	cfg, err := c.config(g)
	if err != nil {
		return nil, err
	}
	if err := refuseWalks(g, c.Select); err != nil {
		return nil, err
	}
	flags := config.Flags{Select: c.Select, Ignore: c.Ignore, Severity: c.Severity, Consumers: c.Consumer, MinCoverage: (*float64)(c.MinCoverage)}
	paths := c.Paths
	if len(paths) == 0 {
		paths = []string{"."}
	}
	k := &check{app: a, registry: g, format: c.Format}
	k.sources = source.Find(paths, source.Options{Stdin: a.Stdin})
	settings, err := newSettings(cfg, g, flags, k.sources)
	if err != nil {
		return nil, err
	}
	if k.failOn, err = c.failOn(cfg); err != nil {
		return nil, err
	}
	if k.known, err = c.knownFindings(cfg); err != nil {
		return nil, err
	}
	maxPerRule := defaultMaxPerRule
	switch {
	case c.MaxPerRule != nil:
		maxPerRule = *c.MaxPerRule
	case cfg != nil && cfg.MaxPerRule != nil:
		maxPerRule = *cfg.MaxPerRule
	}
	if maxPerRule < 0 {
		return nil, fmt.Errorf("--max-per-rule %d: cannot be negative", maxPerRule)
	}
	k.report = report.Options{
		Registry: g, Enabled: settings.enabled(g), Consumers: settings.base.Consumers, Version: version(),
		MaxPerRule: maxPerRule, Color: a.colored(), Quiet: a.Quiet, Stats: c.Stats,
	}
	if _, err := report.New(k.format, k.report); err != nil {
		return nil, err
	}
	k.runner = lint.Runner{
		Registry: g, Analyzers: rules.Analyzers(), Binary: rules.BinaryAnalyzers(), Settings: settings.of, Known: k.known.filter(),
		Keep: keep(k.format, maxPerRule), Jobs: a.Jobs,
	}
	return k, nil
}

// defaultMaxPerRule is how many findings of a rule text shows of a file.
const defaultMaxPerRule = 10

// keep is how many findings of a rule and file a format can use; 0 = all. What is not shown needs not be kept.
func keep(format string, maxPerRule int) int {
	switch format {
	case "text":
		return maxPerRule
	case "github":
		return 10 // GitHub shows no more of a level
	case "junit":
		return 20 // listed in a failure
	}
	return 0
}

// config reads the configuration, nil if there is none.
func (c *checkCmd) config(g *lint.Registry) (*config.Config, error) {
	path := c.Config
	if path == "" {
		if c.NoConfig {
			return nil, nil
		}
		var err error
		if path, err = config.Find("."); err != nil || path == "" {
			return nil, err
		}
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, path); err == nil {
				path = rel // errors are shorter so
			}
		}
	}
	cfg, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return cfg, cfg.Check(g)
}

func (c *checkCmd) failOn(cfg *config.Config) (lint.Severity, error) {
	switch {
	case c.FailOn != "":
		v, err := config.ParseFailOn(c.FailOn)
		if err != nil {
			err = fmt.Errorf("--fail-on: %w", err)
		}
		return v, err
	case cfg != nil && cfg.FailOn != nil:
		return *cfg.FailOn, nil
	}
	return lint.Error, nil
}

// settings are those of every input.
type settings struct {
	base   *lint.Settings            // what a path without overrides has
	byPath map[string]*lint.Settings // nil if all have base
}

func newSettings(cfg *config.Config, g *lint.Registry, flags config.Flags, sources []lint.Source) (*settings, error) {
	base, err := cfg.Settings(g, "", flags)
	if err != nil {
		return nil, err
	}
	s := &settings{base: base}
	if cfg == nil {
		return s, nil
	}
	s.byPath = make(map[string]*lint.Settings, len(sources))
	for _, src := range sources {
		if s.byPath[src.Path()], err = cfg.Settings(g, src.Path(), flags); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *settings) of(path string) (*lint.Settings, error) {
	if x := s.byPath[path]; x != nil {
		return x, nil
	}
	return s.base, nil
}

// enabled are the rules that can speak of any input.
func (s *settings) enabled(g *lint.Registry) []*lint.Rule {
	out := []*lint.Rule{}
	for _, r := range g.Rules() {
		if rules.NeedsDump(r) {
			continue // verify's
		}
		on := s.base.Enabled(g, r)
		for _, x := range s.byPath {
			on = on || x.Enabled(g, r)
		}
		if on {
			out = append(out, r)
		}
	}
	return out
}

// run checks the inputs and writes the result.
func (k *check) run() error {
	a := k.app
	out, err := a.openOutput()
	if err != nil {
		return err
	}
	p := a.newProgress(len(k.sources))
	k.report.Writer = p.beside(out)
	sum, err := k.write(p)
	p.finish()
	if err != nil {
		out.abort()
		k.judge(sum)
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	k.judge(sum)
	return k.known.finish(a)
}

// write runs the runner into a report.
func (k *check) write(p *progress) (*lint.Summary, error) {
	stderr := p.beside(k.app.Stderr)
	rep, err := report.New(k.format, k.report)
	if err != nil {
		return nil, err
	}
	if err := rep.Begin(); err != nil {
		return nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt ends the program
	sum, err := k.runner.Run(ctx, p.watch(k.sources), func(res *lint.FileResult) error {
		p.done(res.Path)
		k.known.done(res)
		if res.Err != nil {
			fmt.Fprintf(stderr, "symlint: %v\n", res.Err)
		}
		if res.Note != "" && !k.app.Quiet {
			fmt.Fprintf(stderr, "symlint: %s: %s\n", res.Path, res.Note)
		}
		return rep.File(res)
	})
	switch {
	case errors.Is(err, context.Canceled):
		return sum, errors.New("interrupted")
	case err != nil:
		return sum, err
	}
	return sum, rep.End(sum)
}

// judge turns what was found into the exit status.
func (k *check) judge(sum *lint.Summary) {
	switch {
	case sum == nil:
	case sum.Failed > 0:
		k.app.exit(exitTrouble)
	case k.failOn != lint.Off && sum.Worst() >= k.failOn:
		k.app.exit(exitFindings)
	}
}
