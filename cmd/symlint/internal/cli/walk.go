package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/unwind"
	"github.com/symlint/symlint/unwind/corefile"
	"github.com/symlint/symlint/unwind/symstore"
	"github.com/symlint/symlint/unwind/trace"
)

type walkCmd struct {
	Dump    string   `arg:"" help:"A minidump, microdump or ELF core, plain or compressed with gzip or zstd; - for standard input."`
	Symbols []string `arg:"" optional:"" name:"symbols" help:"Where symbol files are: symbol stores (DEBUGFILE/ID/NAME.sym), directories of symbol files, or single files, in the order in which they are searched."`

	Format  string `short:"f" default:"text" placeholder:"FORMAT" group:"Output:" help:"text: as minidump_stackwalk prints it; machine: as minidump_stackwalk -m; json: as rust-minidump's minidump-stackwalk."`
	Machine bool   `short:"m" group:"Output:" help:"The same as --format machine."`
	Stack   bool   `short:"s" group:"Output:" help:"Add the contents of the stack between frames to text."`
	Crashed bool   `short:"c" group:"Output:" help:"Show only the thread that crashed or asked for the dump."`
	Brief   bool   `short:"b" group:"Output:" help:"Show only that thread's frames in text, a line each."`
	Thread  *int   `short:"t" placeholder:"N" group:"Output:" help:"Show only that thread and thread N, and no modules."`
	Explain bool   `group:"Output:" help:"Tell of each frame which record produced it, its rules and their values, what was tried before, and why the walk ended. In text these are indented lines that begin with #."`

	Unwind   string   `default:"auto" placeholder:"LIST" group:"Walk:" help:"How callers are found: auto, as Google's walker does; best, by everything symlint knows, to find the true callers; or a list out of cfi, win, sframe, dwarf, fp and scan, which are tried in that order."`
	Binaries []string `sep:"none" placeholder:"DIR" group:"Walk:" help:"Where the ELF files of the modules are, by their path in the dump, by name or by build id: auto then uses their SFrame and DWARF unwind tables after STACK CFI, and memory that a core left out is read from them. Repeatable."`
	Maps     string   `placeholder:"FILE" group:"Walk:" help:"A copy of /proc/PID/maps for a core that does not name its modules, as qemu writes it. Default: the dynamic linker's list in the core's memory."`
}

// Help is the long description.
func (walkCmd) Help() string {
	return `Walks every thread of a dump and tells its frames. What the dump is and whether it is compressed is told by its
content.

Text and machine format are byte for byte what Google's minidump_stackwalk (or microdump_stackwalk) prints for the same
dump and symbols, its mistakes included: symbol stores give what Google's reader finds in them. --unwind best corrects
those mistakes. Without SYMBOLS no symbols are looked for.

With --explain every frame of the text is followed by lines that say how it was found: "# by TECHNIQUE" with the place of
the unwind record and its rules, and "# not TECHNIQUE" for each that found nothing; after the last frame "# end" tells
why there are no more. Without these lines, which are all indented and begin with #, the text is as before.

What is wrong with the dump, and modules without symbols, are told on standard error unless --quiet is given.

Exit status: 0 when the dump was walked, however far; 2 for wrong usage, a dump that cannot be read, or places that do
not exist.

Examples:

    symlint walk crash.dmp symbols/
    symlint walk -m crash.dmp.gz symbols/ system-symbols/
    symlint walk crash.dmp app.sym libfoo.sym
    symlint walk --explain -c crash.dmp symbols/
    symlint walk --explain crash.dmp symbols/ | grep '^    # not'
    symlint walk --unwind cfi,scan crash.dmp symbols/
    symlint walk --unwind best --binaries / core
    symlint walk --format json crash.dmp symbols/ | jq .crash_info
    adb logcat -d | symlint walk - symbols/`
}

// Run walks the dump.
func (c *walkCmd) Run(a *app) error {
	k, err := c.prepare(a)
	if err != nil {
		return err
	}
	defer k.close()
	return whileMapped(k.run)
}

// whileMapped runs what reads mapped files. One that becomes shorter meanwhile cannot be read any more.
func whileMapped(run func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil {
			if _, fault := e.(interface{ Addr() uintptr }); !fault {
				panic(e)
			}
			err = errors.New("a file changed while it was read")
		}
	}()
	return run()
}

// walking is a walk that is ready to run.
type walking struct {
	*walkCmd
	app        *app
	format     string
	techniques []unwind.Technique
	best       bool
	symbols    *symbolSearch
	binaries   *symstore.Binaries // nil without --binaries
	maps       []byte
	dump       *source.Blob
}

func (k *walking) close() {
	k.symbols.close()
	if k.binaries != nil {
		k.binaries.Close()
	}
	if k.dump != nil {
		k.dump.Close()
	}
}

// prepare finds out everything that can be wrong before the dump is walked.
func (c *walkCmd) prepare(a *app) (*walking, error) {
	k := &walking{walkCmd: c, app: a}
	var err error
	if k.format, err = c.format(); err != nil {
		return nil, err
	}
	if err := c.contradiction(k.format); err != nil {
		return nil, err
	}
	if k.techniques, k.best, err = parseTechniques(c.Unwind); err != nil {
		return nil, err
	}
	for _, dir := range c.Binaries {
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("--binaries: %w", pathError(dir, err))
		}
	}
	if len(c.Binaries) > 0 {
		k.binaries = symstore.NewBinaries(c.Binaries)
	}
	if k.symbols, err = newSymbolSearch(c.Symbols); err != nil {
		k.close()
		return nil, err
	}
	if err := k.readMaps(); err != nil {
		k.close()
		return nil, err
	}
	if k.dump, err = source.Read(c.Dump, source.Options{Stdin: a.Stdin}); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// pathError puts a path before what the system says of it.
func pathError(path string, err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// formats of walks; human is what minidump_stackwalk calls text.
var walkFormats = []string{"text", "machine", "json", "human"}

func (c *walkCmd) format() (string, error) {
	switch {
	case !slices.Contains(walkFormats, c.Format):
		return "", unknown("format", c.Format, walkFormats[:3])
	case c.Machine && c.Format == "json":
		return "", errors.New("-m and --format json cannot be used together")
	case c.Machine:
		return "machine", nil
	case c.Format == "human":
		return "text", nil
	}
	return c.Format, nil
}

// contradiction tells of flags that exclude each other. With the machine format Google's tool ignores those for text.
func (c *walkCmd) contradiction(format string) error {
	switch {
	case c.Crashed && c.Thread != nil:
		return errors.New("-c and -t cannot be used together")
	case c.Dump == "-" && c.Maps == "-":
		return errors.New("the dump and --maps cannot both be standard input")
	case c.Explain && format == "machine":
		return errors.New("--explain is for text and json, not for the machine format")
	case c.Explain && c.Brief && format == "text":
		return errors.New("--explain and -b cannot be used together")
	}
	return nil
}

// unknown is the error for a name that is none of those allowed.
func unknown(what, name string, allowed []string) error {
	msg := fmt.Sprintf("unknown %s %q (want %s)", what, name, strings.Join(allowed, ", "))
	if s := lint.Nearest(name, allowed); s != "" {
		msg += fmt.Sprintf("; did you mean %q?", s)
	}
	return errors.New(msg)
}

// listed are the techniques that --unwind can list.
var listed = []unwind.Technique{
	unwind.ByCFI, unwind.ByWin, unwind.BySFrame, unwind.ByDWARF, unwind.ByFramePointer, unwind.ByScan, unwind.ByLeaf,
}

// parseTechniques reads what --unwind says; nil for auto.
func parseTechniques(list string) (techniques []unwind.Technique, best bool, err error) {
	switch list {
	case "auto":
		return nil, false, nil
	case "best":
		return nil, true, nil
	}
	byName := make(map[string]unwind.Technique)
	var names []string
	for _, t := range listed {
		byName[t.String()] = t
		names = append(names, t.String())
	}
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		t, ok := byName[name]
		switch {
		case name == "auto", name == "best":
			return nil, false, fmt.Errorf("--unwind %s: %s stands alone", list, name)
		case !ok:
			return nil, false, fmt.Errorf("--unwind: %w", unknown("technique", name, append([]string{"auto", "best"}, names...)))
		case slices.Contains(techniques, t):
			return nil, false, fmt.Errorf("--unwind %s: %s stands there twice", list, name)
		}
		techniques = append(techniques, t)
	}
	return techniques, false, nil
}

// maxMaps bounds the text of /proc/PID/maps, in bytes.
const maxMaps = 64 << 20

func (k *walking) readMaps() error {
	if k.Maps == "" {
		return nil
	}
	b, err := source.Read(k.Maps, source.Options{Stdin: k.app.Stdin, Limits: source.Limits{Size: maxMaps}})
	if err == nil && b.Err != nil {
		err = b.Err
	}
	if err != nil {
		return fmt.Errorf("--maps: %w", err)
	}
	defer b.Close()
	k.maps = slices.Clone(b.Data)
	if _, err := corefile.ParseMaps(k.maps); err != nil {
		return fmt.Errorf("--maps: %s: %w", b.Path, err)
	}
	return nil
}

// run walks the dump and writes the result.
func (k *walking) run() error {
	a := k.app
	if k.dump.Err != nil {
		a.complain("%v", k.dump.Err)
		a.exit(exitTrouble)
	}
	p, err := k.open()
	if err != nil {
		return err
	}
	w := &unwind.Walker{Process: p, Techniques: k.techniques, Best: k.best}
	if k.symbols != nil {
		w.Symbols = k.symbols
	}
	if k.binaries != nil {
		w.Binaries = unwind.FromBinaries(k.binaries)
	}
	d := trace.Walk(w, false) // as the reference, which walks all threads whatever it shows
	if err := k.choose(d); err != nil {
		return err
	}
	if err := a.write(func(out io.Writer) error { return k.write(out, d) }); err != nil {
		return err
	}
	k.notes(w)
	return nil
}

// open makes a process of the dump.
func (k *walking) open() (*unwind.Process, error) {
	b := k.dump
	o := unwind.OpenOptions{Maps: k.maps, Lenient: k.best}
	if k.binaries != nil {
		o.Binary = func(path string) ([]byte, error) {
			data, _, err := k.binaries.Binary(path, nil)
			return data, err
		}
	}
	p, err := unwind.Open(b.Data, o)
	switch {
	case errors.Is(err, unwind.ErrNotDump):
		return nil, fmt.Errorf("%s: at offset 0x0: %w, found %s", b.Path, err, source.Describe(b.Data))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", b.Path, err)
	}
	return p, nil
}

// choose drops the stacks that are not to be shown.
func (k *walking) choose(d *trace.Walked) error {
	if k.Thread != nil && (*k.Thread < 0 || *k.Thread >= len(d.Stacks)) {
		return fmt.Errorf("-t %d: the dump has threads 0 to %d", *k.Thread, len(d.Stacks)-1)
	}
	if k.format == "machine" {
		return nil // as the reference
	}
	for i := range d.Stacks {
		switch {
		case i == d.Process.Requesting:
		case k.Crashed, k.Thread != nil && i != *k.Thread:
			d.Stacks[i] = nil
		}
	}
	return nil
}

// write writes the walk in the format that was asked for.
func (k *walking) write(out io.Writer, d *trace.Walked) error {
	switch {
	case k.format == "machine":
		return trace.Machine(out, d)
	case k.format == "json":
		return trace.JSON(out, d, trace.JSONOptions{Pretty: true, Explain: k.Explain})
	case k.Brief:
		return trace.Brief(out, d)
	}
	o := trace.TextOptions{StackContents: k.Stack, NoModules: k.Thread != nil}
	if k.Explain {
		e := k.explainer(d.Walker)
		o.AfterFrame, o.AfterStack = e.frame, e.end
	}
	return trace.Text(out, d, o)
}

// notes tells what was wrong and did not stop the walk.
func (k *walking) notes(w *unwind.Walker) {
	if k.app.Quiet {
		return
	}
	note := func(format string, args ...any) {
		fmt.Fprintf(k.app.Stderr, "symlint: note: %s\n", printable(fmt.Sprintf(format, args...)))
	}
	for _, text := range w.Process.Problems {
		note("%s: %s", k.dump.Path, text)
	}
	if k.maps != nil && unwind.KindOf(k.dump.Data) != unwind.KindCore {
		note("--maps is for cores: %s is a %s", k.dump.Path, unwind.KindOf(k.dump.Data))
	}
	k.symbols.noteSymbols(w, note)
}
