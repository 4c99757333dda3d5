package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/unwind/sframe"
	"github.com/symlint/symlint/unwind/symfile/listing"
)

type dumpCmd struct {
	Files []string `arg:"" name:"file" help:"ELF files, raw SFrame sections and symbol files, plain or compressed with gzip or zstd; - for standard input."`

	Format      string `short:"f" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
	Annotate    bool   `help:"Show the bytes of SFrame sections, each with what it means. For text."`
	NoAddresses bool   `help:"Leave the addresses of symbols out of the listing of symbol files, so that code that only moved is no difference. For text."`
}

// Help is the long description.
func (dumpCmd) Help() string {
	return `Shows what files hold. What a file is and whether it is compressed is told by its content.

ELF files and raw SFrame sections: the functions and rows of every SFrame section, byte for byte as readelf --sframe of
binutils 2.47 prints them (version 1 of the format, which it refuses, as readelf 2.40). Of several files each is
preceded by its name, as there.

Symbol files: a normal form for people and for comparing texts. Symbols stand in the order of their addresses, and what
is below a symbol counts from its start: lines and inlined calls with the names of files and functions for ids, unwind
records as what they mean, with all rules in force in each row. So code that only moved changes one line a function
("address"), none with --no-addresses, and new ids or another order of records change nothing. A register that the
file's CPU does not have is followed by "?". Records that no reader can use are listed at the end.

JSON is one object: {"version": 1, "files": [{"path", "kind": "elf"|"sframe"|"sym"|null, "error": null|"…",
"sframe": …, "symbols": …}]}. The last two are null or what the file holds; "go doc" of unwind/symfile/listing and
unwind/sframe tells their fields. Fields may be added, never changed or removed.

Exit status: 0; 1 when an SFrame section is damaged, which is told on standard error, and what is readable of it was
shown; 2 for wrong usage, and for files that cannot be read, are none of these, or have no SFrame section. The other
files are shown all the same.

Examples:

    symlint dump libfoo.so
    symlint dump --annotate section.sframe
    symlint dump --format json app.sym | jq '.files[].symbols.symbols[].name'
    git config diff.symlint.textconv 'symlint dump'    # with "*.sym diff=symlint" in .gitattributes`
}

// Run shows the files.
func (c *dumpCmd) Run(a *app) error {
	switch {
	case c.Format == "json" && c.Annotate:
		return errors.New("--annotate and --format json cannot be used together")
	case c.Format == "json" && c.NoAddresses:
		return errors.New("--no-addresses and --format json cannot be used together")
	case c.Annotate && c.NoAddresses:
		return errors.New("--annotate, for SFrame, and --no-addresses, for symbol files, cannot be used together")
	}
	return a.write(func(w io.Writer) error {
		if c.Format == "json" {
			return c.json(a, w)
		}
		for _, path := range c.Files {
			err := c.open(a, path, func(d *dumped) error { return c.text(a, w, d) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// dumped is one file that is open.
type dumped struct {
	*lint.Input
	path    string            // as shown
	file    *sframe.File      // of an ELF file
	section *sframe.Section   // that is a file of its own
	faults  []*sframe.Problem // why parts of it cannot be shown
}

// sections are the SFrame sections of a file.
func (d *dumped) sections() []*sframe.Section {
	switch {
	case d.file != nil:
		return d.file.Sections
	case d.section != nil:
		return []*sframe.Section{d.section}
	}
	return nil
}

// trouble is why a file could not be shown; others may be.
type trouble struct{ error }

// open hands a file to show and tells what was wrong with it. Only an error of writing is returned.
func (c *dumpCmd) open(a *app, path string, show func(*dumped) error) error {
	d, err := c.read(a, path)
	if err == nil {
		if d.Err != nil {
			a.complain("%v", d.Err)
			a.exit(exitTrouble)
		}
		err = whileMapped(func() error { return show(d) })
		if d.Close != nil {
			d.Close()
		}
	}
	if _, ok := errors.AsType[trouble](err); ok && !errors.Is(err, syscall.EPIPE) {
		a.complain("%v", err)
		a.exit(exitTrouble)
		return nil
	}
	return err
}

// read opens a file. Its errors are trouble.
func (c *dumpCmd) read(a *app, path string) (*dumped, error) {
	if info, err := os.Stat(path); path != "-" && err == nil && info.IsDir() {
		return nil, trouble{fmt.Errorf("%s: is a directory: expected an ELF file, SFrame section or symbol file", path)}
	}
	sources := source.Find([]string{path}, source.Options{Stdin: a.Stdin})
	if len(sources) != 1 {
		return nil, trouble{fmt.Errorf("%s: not one file", path)}
	}
	in, err := sources[0].Open()
	switch {
	case errors.Is(err, lint.ErrUnsupported):
		return nil, trouble{fmt.Errorf("%w, and it is neither an ELF file nor an SFrame section", err)}
	case err != nil:
		return nil, trouble{err}
	}
	d := &dumped{Input: in, path: path}
	if path == "-" {
		d.path = source.StdinPath
	}
	if err := d.parse(c); err != nil {
		if in.Close != nil {
			in.Close()
		}
		return nil, trouble{err}
	}
	return d, nil
}

// parse reads what concerns the file as a whole.
func (d *dumped) parse(c *dumpCmd) (err error) {
	switch d.Kind {
	case "elf":
		if d.file, err = sframe.Open(d.Data); err != nil {
			return fmt.Errorf("%s: %w", d.path, err)
		}
		if len(d.file.Sections) == 0 {
			return fmt.Errorf("%s: has no SFrame section", d.path)
		}
	case "sframe":
		if d.section, err = sframe.Parse(d.Data, sframe.Options{Name: ".sframe"}); err != nil {
			p, ok := errors.AsType[*sframe.Problem](err)
			if !ok {
				return fmt.Errorf("%s: %w", d.path, err)
			}
			d.faults = append(d.faults, p)
			d.section = nil
		}
	case "sym":
		if c.Annotate {
			return fmt.Errorf("%s: is a symbol file: --annotate is for SFrame sections", d.path)
		}
		return nil
	}
	if c.NoAddresses {
		return fmt.Errorf("%s: has SFrame sections: --no-addresses is for symbol files", d.path)
	}
	return nil
}

// text shows a file as text.
func (c *dumpCmd) text(a *app, w io.Writer, d *dumped) error {
	if len(c.Files) > 1 {
		if _, err := fmt.Fprintf(w, "\nFile: %s\n", printable(d.path)); err != nil {
			return err
		}
	}
	if d.Kind == "sym" {
		return listing.Text(w, d.Data, listing.Options{NoAddresses: c.NoAddresses})
	}
	for i, s := range d.sections() {
		var err error
		if c.Annotate {
			if i > 0 {
				fmt.Fprintln(w)
			}
			err = sframe.Annotate(w, s)
		} else {
			err = sframe.ListSection(w, s)
		}
		if p, ok := errors.AsType[*sframe.Problem](err); ok {
			d.faults = append(d.faults, p)
		} else if err != nil {
			return err
		}
	}
	d.complain(a)
	return nil
}

// shownFaults is how many faults of a file are told; --format json has all that were found.
const shownFaults = 20

// complain tells what is wrong with the SFrame sections of a file; if need be only what kept them from being shown.
func (d *dumped) complain(a *app) {
	faults, first := d.faults, len(d.faults)
	if d.file != nil {
		faults = appendProblems(faults, d.file.Problems())
	}
	for _, s := range d.sections() {
		faults = appendProblems(faults, s.Check())
	}
	seen := make(map[sframe.Problem]bool)
	n := 0
	for i, p := range faults {
		if seen[*p] {
			continue
		}
		seen[*p] = true
		if n++; n <= shownFaults && (i < first || !a.Quiet) {
			a.complain("%s: %s", d.path, printable(p.Error()))
		}
	}
	if n > shownFaults && !a.Quiet {
		a.complain("%s: and %d more", d.path, n-shownFaults)
	}
	if n > 0 {
		a.exit(exitFindings)
	}
}

func appendProblems(list []*sframe.Problem, more []sframe.Problem) []*sframe.Problem {
	for i := range more {
		list = append(list, &more[i])
	}
	return list
}

// json shows all files as one object.
func (c *dumpCmd) json(a *app, w io.Writer) error {
	out := bufio.NewWriter(w)
	out.WriteString(`{"version":1,"files":[`)
	for i, path := range c.Files {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n")
		if err := c.fileJSON(a, out, path); err != nil {
			return err
		}
	}
	out.WriteString("]}\n")
	return out.Flush()
}

func (c *dumpCmd) fileJSON(a *app, out *bufio.Writer, path string) error {
	d, err := c.read(a, path)
	if err != nil {
		if path == "-" {
			path = source.StdinPath
		}
		a.complain("%v", err)
		a.exit(exitTrouble)
		writeEntry(out, path, "", err)
		out.WriteString(`,"sframe":null,"symbols":null}`)
		return nil
	}
	if d.Close != nil {
		defer d.Close()
	}
	if d.Err != nil {
		a.complain("%v", d.Err)
		a.exit(exitTrouble)
	}
	failure := d.Err
	if failure == nil && len(d.faults) > 0 {
		failure = d.faults[0]
	}
	writeEntry(out, d.path, d.Kind, failure)
	return whileMapped(func() error {
		symbols := d.Kind == "sym"
		if symbols {
			out.WriteString(`,"sframe":null,"symbols":`)
		} else {
			out.WriteString(`,"sframe":`)
		}
		var err error
		switch {
		case symbols:
			err = listing.JSON(out, d.Data)
		case d.file != nil:
			err = sframe.JSON(out, d.file)
		case d.section != nil:
			err = sframe.JSONSection(out, d.section)
		default:
			out.WriteString("null")
		}
		if err != nil {
			return err
		}
		if !symbols {
			d.complain(a)
			out.WriteString(`,"symbols":null`)
		}
		out.WriteString("}")
		return nil
	})
}

// writeEntry begins the object of a file.
func writeEntry(out *bufio.Writer, path, kind string, failure error) {
	entry := struct {
		Path  string  `json:"path"`
		Kind  *string `json:"kind"`
		Error *string `json:"error"`
	}{path, orNil(kind), nil}
	if failure != nil {
		entry.Error = orNil(failure.Error())
	}
	b, err := json.Marshal(&entry)
	if err != nil {
		panic(err) // strings can be marshalled
	}
	out.Write(b[:len(b)-1]) // the object goes on
}
