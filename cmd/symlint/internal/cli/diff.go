package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/lint/symdiff"
)

type diffCmd struct {
	Paths []string `arg:"" name:"path" help:"The older and the newer symbol file, plain, gzip or zstd, - for standard input; or two directories, walked as symbol stores."`

	Format  string `short:"f" enum:"text,json,html" default:"text" placeholder:"FORMAT" group:"Output:" help:"text, json, or html: one page that needs nothing else."`
	Stat    bool   `group:"Output:" help:"Tell the summary only."`
	Unified int    `short:"U" default:"1" placeholder:"N" group:"Output:" help:"Show N rows around what differs in text. Default: 1."`

	Ignore    []string `placeholder:"LIST" group:"Comparison:" help:"What is no difference: address, lines, files, paths (directories of source files), inlines, cfi, win, functions, names, sizes, params, multiple, publics, module, info."`
	Only      []string `placeholder:"LIST" group:"Comparison:" help:"Compare nothing but these."`
	PathMap   []string `placeholder:"FROM=TO" group:"Comparison:" help:"Source paths that begin with FROM begin with TO. Repeatable. A source directory that moved as a whole is found without it."`
	KeepPaths bool     `group:"Comparison:" help:"Do not look for source directories that moved."`
	FailOn    []string `placeholder:"LIST" group:"Comparison:" help:"Exit with 1 only when one of these holds: any (default), never, lost-cfi, lost-lines, lost-inlines, lost-functions, lost-publics, lost-modules, changed-id, changed-module, changed-cfi, changed-lines, changed-inlines, changed-params, changed-sizes, changed-names."`

	Git bool `group:"Git:" help:"Take the arguments that git gives to an external diff driver, and exit with 0 as git wants it."`
}

// Help is the long description.
func (diffCmd) Help() string {
	return `Compares two symbol files by meaning: what a stackwalker would show for each offset of each function. Functions are
matched by name, by name without parameters and clone suffixes, by address, and by their lines or unwind rows. Moved
code, another order of records, other FILE and INLINE_ORIGIN numbers, and rows that are split otherwise are no
difference.

Two directories are compared module by module, by the names in the MODULE records.

Exit status: 0 when the files mean the same, 1 when they differ (or as --fail-on says), 2 for wrong usage and for input
that cannot be read or is no symbol file.

Examples:

    symlint diff old.sym new.sym
    symlint diff old.sym new.sym --stat
    symlint diff gcc.sym clang.sym --only cfi
    symlint diff old.sym new.sym --ignore module,info --path-map /home/me/src=/build
    symlint diff old.sym new.sym --fail-on lost-cfi,lost-lines
    symlint diff release-1/symbols release-2/symbols --format html -o diff.html

As git's diff driver for symbol files:

    echo '*.sym diff=symlint' >> .gitattributes
    git config diff.symlint.command 'symlint diff --git'`
}

// Run compares.
func (c *diffCmd) Run(a *app) error {
	d, err := c.prepare(a)
	if err != nil {
		return err
	}
	if c.Git {
		return d.git()
	}
	if len(c.Paths) != 2 {
		return fmt.Errorf("expected two files or two directories, OLD and NEW, got %d", len(c.Paths))
	}
	switch old, new := isDir(c.Paths[0]), isDir(c.Paths[1]); {
	case old && new:
		return d.stores(c.Paths[0], c.Paths[1])
	case old:
		return fmt.Errorf("%s is a directory and %s is none: expected two files or two directories", c.Paths[0], c.Paths[1])
	case new:
		return fmt.Errorf("%s is a directory and %s is none: expected two files or two directories", c.Paths[1], c.Paths[0])
	}
	if c.Paths[0] == "-" && c.Paths[1] == "-" {
		return fmt.Errorf("standard input can be read once only")
	}
	return d.files(c.Paths[0], c.Paths[1], c.Paths[0], c.Paths[1])
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// diffRun is a comparison that is ready to run.
type diffRun struct {
	*diffCmd
	app     *app
	options symdiff.Options
	text    symdiff.TextOptions
	failOn  []string
}

// prepare finds out what can be wrong before any input is read.
func (c *diffCmd) prepare(a *app) (*diffRun, error) {
	d := &diffRun{diffCmd: c, app: a}
	d.options.Jobs = a.Jobs
	d.options.KeepPaths = c.KeepPaths
	ignore, err := aspects("--ignore", c.Ignore)
	if err != nil {
		return nil, err
	}
	only, err := aspects("--only", c.Only)
	if err != nil {
		return nil, err
	}
	if only != 0 {
		if only.Has(symdiff.Lines) || only.Has(symdiff.Inlines) {
			only |= symdiff.Files | symdiff.Paths // which are parts of a position
		}
		ignore |= symdiff.All &^ (only | symdiff.Address)
	}
	d.options.Ignore = ignore
	for _, m := range c.PathMap {
		from, to, ok := strings.Cut(m, "=")
		if !ok || from == "" {
			return nil, fmt.Errorf("--path-map %s: expected FROM=TO", m)
		}
		d.options.PathMaps = append(d.options.PathMaps, symdiff.PathMap{From: from, To: to})
	}
	if c.Unified < 0 {
		return nil, fmt.Errorf("--unified %d: cannot be negative", c.Unified)
	}
	d.failOn = c.FailOn
	for _, name := range c.FailOn {
		if name != "lost-modules" && symdiff.FindCondition(name) == nil {
			return nil, unknownName("--fail-on", "condition", name, conditionNames())
		}
	}
	if len(d.failOn) == 0 {
		d.failOn = []string{"any"}
	}
	d.text = symdiff.TextOptions{Color: a.colored(), Stat: c.Stat, Context: c.Unified, Quiet: a.Quiet}
	return d, nil
}

func conditionNames() []string {
	out := []string{"lost-modules"}
	for _, c := range symdiff.Conditions {
		out = append(out, c.Name)
	}
	return out
}

func unknownName(flag, what, name string, known []string) error {
	err := fmt.Errorf("%s: there is no %s %q", flag, what, name)
	if near := lint.Nearest(name, known); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

func aspects(flag string, names []string) (set symdiff.Aspect, err error) {
	for _, name := range names {
		a, ok := symdiff.ParseAspect(name)
		if !ok {
			return 0, unknownName(flag, "aspect", name, symdiff.AspectNames())
		}
		set |= a
	}
	return set, nil
}

// openSym opens a symbol file.
func (d *diffRun) openSym(path string) (*lint.Input, error) {
	if path == os.DevNull { // git's name for a file that is not there
		return &lint.Input{Kind: "sym"}, nil
	}
	c := lookupCmd{File: path}
	in, err := c.open(d.app)
	if err != nil {
		return nil, err
	}
	if in.Err != nil {
		d.app.complain("%v", in.Err)
		d.app.exit(exitTrouble)
	}
	return in, nil
}

func closeInput(in *lint.Input) {
	if in.Close != nil {
		in.Close()
	}
}

// files compares two files, which are shown under the given names.
func (d *diffRun) files(old, new, oldName, newName string) error {
	a, err := d.openSym(old)
	b, errNew := d.openSym(new)
	if err == nil {
		defer closeInput(a)
	}
	if errNew == nil {
		defer closeInput(b)
	}
	switch {
	case err != nil && errNew != nil:
		d.app.complain("%v", err)
		return errNew
	case err != nil:
		return err
	case errNew != nil:
		return errNew
	}
	d.options.ForgetOld, d.options.ForgetNew = a.Forget, b.Forget
	r := symdiff.Compare(a.Data, b.Data, d.options)
	r.Old.Path, r.New.Path = shownPath(oldName), shownPath(newName)
	if !d.Git {
		for _, name := range d.failOn {
			if c := symdiff.FindCondition(name); c != nil && c.Met(r) {
				d.app.exit(exitFindings)
			}
		}
	}
	return d.app.write(func(w io.Writer) error {
		switch d.Format {
		case "json":
			return r.WriteJSON(w)
		case "html":
			return r.WriteHTML(w)
		}
		return r.WriteText(w, d.text)
	})
}

func shownPath(path string) string {
	if path == "-" {
		return source.StdinPath
	}
	return path
}

// git compares what git hands to an external diff driver: path old-file old-hex old-mode new-file new-hex new-mode, and
// for a renamed file the new path and what git says of it. The path alone means that it is not merged.
func (d *diffRun) git() error {
	switch len(d.Paths) {
	case 1:
		return d.app.write(func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "* Unmerged path %s\n", printable(d.Paths[0]))
			return err
		})
	case 7, 9:
	default:
		return fmt.Errorf("--git expects the 7 arguments of a diff driver, got %d", len(d.Paths))
	}
	oldName, newName := "a/"+d.Paths[0], "b/"+d.Paths[0]
	if len(d.Paths) == 9 {
		newName = "b/" + d.Paths[7]
	}
	if d.Paths[1] == os.DevNull {
		oldName = os.DevNull
	}
	if d.Paths[4] == os.DevNull {
		newName = os.DevNull
	}
	return d.files(d.Paths[1], d.Paths[4], oldName, newName)
}
