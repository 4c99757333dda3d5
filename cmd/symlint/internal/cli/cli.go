// Package cli is symlint's command line: what the commands and flags are, and how their outcome is told.
package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit statuses.
const (
	exitOK       = 0 // nothing to report
	exitFindings = 1 // findings at or above --fail-on
	exitTrouble  = 2 // wrong usage, unreadable input, internal error
)

// Env is what a run has of the outside world.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// commands is the command line as kong reads it: a field a command or global flag.
type commands struct {
	Check   checkCmd   `cmd:"" aliases:"lint" help:"Lint symbol files."`
	Rules   rulesCmd   `cmd:"" help:"List the rules."`
	Explain explainCmd `cmd:"" help:"Explain rules: why they matter, what consumers do, a bad and a good example."`
	Lookup  lookupCmd  `cmd:"" help:"Tell what a symbol file says of an address: function, line, inlined calls, unwind rows."`
	Dump    dumpCmd    `cmd:"" help:"Show what a symbol file or SFrame section holds, for people and for git diff."`
	Walk    walkCmd    `cmd:"" aliases:"stackwalk" help:"Walk the stacks of a minidump, microdump or ELF core."`
	Verify  verifyCmd  `cmd:"" help:"Hold the walk of a dump against a reference, and tell which record is to blame."`
	Diff    diffCmd    `cmd:"" help:"Compare two symbol files, or two symbol stores, by meaning."`
	Version versionCmd `cmd:"" help:"Tell the version of symlint and how it was built."`

	globals
	ShowVersion versionFlag `name:"version" help:"Tell the version and exit."`
}

// globals are the flags of every command.
type globals struct {
	Output   string `short:"o" placeholder:"FILE" help:"Write the result to FILE, which is replaced only when it is complete. Default: standard output."`
	Color    string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour text output: auto, always or never. auto: when it goes to a terminal and neither NO_COLOR nor TERM=dumb is set; CLICOLOR_FORCE and FORCE_COLOR colour other standard output as well."`
	Jobs     int    `short:"j" placeholder:"N" help:"Do N things at the same time; output does not depend on it. Default: one for each CPU."`
	Progress string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Show progress on standard error: auto, always or never. auto: when it is a terminal and the work takes longer than a second."`
	Quiet    bool   `short:"q" help:"Do not summarise, show no progress, and leave out notes on what was wrong but stopped nothing."`
}

const description = `Symlint lints Breakpad symbol files and walks the stacks of dumps with them.

It reads .sym files as Breakpad, rust-minidump and symbolic do, and tells what each of them will lose, misread or
refuse: record by record, with the place in the file. It walks minidumps, microdumps and ELF cores as Google's
minidump_stackwalk does, tells which record produced each frame, and holds the stacks against a reference.

Exit status: 0 nothing to report, 1 findings at or above --fail-on, 2 wrong usage or unreadable input.`

// app is one run of a command.
type app struct {
	Env
	globals
	status int
}

// exit raises the run's status.
func (a *app) exit(status int) { a.status = max(a.status, status) }

// complain writes one message to standard error.
func (a *app) complain(format string, args ...any) {
	fmt.Fprintf(a.Stderr, "symlint: "+format+"\n", args...)
}

// exited leaves kong's parser, which goes on after its Exit hook returns.
type exited struct{ status int }

// Run runs one command line, without the program's name, and returns the exit status.
func Run(args []string, env Env) (status int) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exited:
			status = e.status
		default:
			panic(e)
		}
	}()
	var c commands
	parser, err := kong.New(&c,
		kong.Name("symlint"),
		kong.Description(description),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(status int) { panic(exited{status}) }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100, NoExpandSubcommands: true}),
	)
	if err != nil {
		panic(err) // the structs above are wrong
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	a := &app{Env: env}
	ctx, err := parser.Parse(args)
	if err != nil {
		return a.misused(err, args)
	}
	a.globals = c.globals
	if a.Jobs < 0 {
		return a.misused(fmt.Errorf("--jobs %d: cannot be negative", a.Jobs), args)
	}
	if err := ctx.Run(a); err != nil {
		return a.failed(err)
	}
	return a.status
}

// misused tells what is wrong with the command line.
func (a *app) misused(err error, args []string) int {
	if errors.Is(err, syscall.EPIPE) { // help that nobody reads any more
		return a.status
	}
	a.complain("%v", err)
	help := "symlint --help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		switch node := parse.Context.Selected(); {
		case node != nil:
			help = "symlint " + node.Name + " --help"
		case len(args) > 0 && (looksLikeInput(args[0]) || looksLikeDump(args[0])):
			if looksLikeDump(args[0]) {
				fmt.Fprintf(a.Stderr, "To walk it: symlint walk %s\n", args[0])
			} else {
				fmt.Fprintf(a.Stderr, "To lint it: symlint check %s\n", args[0])
			}
		}
	}
	fmt.Fprintf(a.Stderr, "Run %q for more information.\n", help)
	return exitTrouble
}

func looksLikeInput(arg string) bool {
	return arg == "-" || strings.ContainsAny(arg, `/\`) || strings.Contains(arg, ".sym")
}

func looksLikeDump(arg string) bool {
	name := filepath.Base(arg)
	return strings.Contains(name, ".dmp") || strings.Contains(name, ".mdmp") || name == "core" || strings.HasPrefix(name, "core.")
}

// failed tells why a command could not do its work. A reader that went away needs not be told.
func (a *app) failed(err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return a.status
	}
	a.complain("%v", err)
	return exitTrouble
}
