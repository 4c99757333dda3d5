package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/unwind/symfile"
)

type lookupCmd struct {
	File      string   `arg:"" help:"A symbol file, plain, gzip or zstd; - for standard input."`
	Addresses []string `arg:"" name:"address" help:"Addresses relative to the module, hexadecimal, with or without 0x."`

	Format   string `short:"f" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text or json."`
	Consumer string `enum:"breakpad,rust-minidump" default:"breakpad" placeholder:"NAME" help:"Whose reading of damaged and conflicting records counts: breakpad or rust-minidump."`
}

// Help is the long description.
func (lookupCmd) Help() string {
	return `Tells what a symbol file says of an address: the function, the source line, the calls inlined there, and every unwind
record in force, each with the line of the file it comes from. Damaged and conflicting records are read as the consumer
reads them.

Exit status: 0, or 1 when the file says nothing of an address.

Examples:

    symlint lookup app.sym 1930
    symlint lookup app.sym 0x1930 0x1985 --format json
    symlint lookup --consumer rust-minidump app.sym 1930`
}

// Run looks the addresses up.
func (c lookupCmd) Run(a *app) error {
	addresses := make([]uint64, len(c.Addresses))
	for i, s := range c.Addresses {
		var err error
		digits := strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
		if addresses[i], err = strconv.ParseUint(digits, 16, 64); err != nil {
			return fmt.Errorf("%q is no address: expected up to 16 hexadecimal digits", s)
		}
	}
	in, err := c.open(a)
	if err != nil {
		return err
	}
	if in.Close != nil {
		defer in.Close()
	}
	if in.Err != nil {
		a.complain("%v", in.Err)
		a.exit(exitTrouble)
	}
	policy := symfile.Breakpad
	if c.Consumer == symfile.RustMinidump.String() {
		policy = symfile.RustMinidump
	}
	m := symfile.Load(in.Data, symfile.Options{Policy: policy})
	path := c.File
	if path == "-" {
		path = source.StdinPath
	}
	c.warn(a, path, m)
	doc := lookupJSON{Version: 1, File: path, Consumer: c.Consumer, Addresses: []addressJSON{}}
	header := m.Header()
	doc.Module = moduleJSON{header.OS, header.Arch, header.ID, header.Name}
	for _, addr := range addresses {
		x := lookup(m, in.Data, addr)
		if x.Function == nil && x.CFI == nil && x.Win == nil {
			a.exit(exitFindings)
		}
		doc.Addresses = append(doc.Addresses, x)
	}
	return a.write(func(w io.Writer) error {
		if c.Format == "json" {
			enc := json.NewEncoder(w)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(doc)
		}
		for i := range doc.Addresses {
			if i > 0 {
				fmt.Fprintln(w)
			}
			doc.Addresses[i].write(w, path)
		}
		return nil
	})
}

func (c lookupCmd) open(a *app) (*lint.Input, error) {
	sources := source.Find([]string{c.File}, source.Options{Stdin: a.Stdin})
	if len(sources) != 1 {
		return nil, fmt.Errorf("%s: is a directory: expected one symbol file", c.File)
	}
	in, err := sources[0].Open()
	if err != nil {
		return nil, err
	}
	if in.Kind != "sym" {
		if in.Close != nil {
			in.Close()
		}
		return nil, fmt.Errorf("%s:1:1: %w: expected a MODULE record", c.File, lint.ErrUnsupported)
	}
	return in, nil
}

// warn tells of what keeps the consumer from reading the whole file.
func (c lookupCmd) warn(a *app, path string, m *symfile.Symbols) {
	if err := m.Rejected(); err != nil {
		a.complain("%s: %s rejects the file: %v", path, c.Consumer, err)
		return
	}
	if err := m.Crash(); err != nil {
		a.complain("%s: %s crashes on the file: %v", path, c.Consumer, err)
	}
	if line := m.StoppedAt(); line > 0 {
		a.complain("%s:%d: %s reads no further after too many errors", path, line, c.Consumer)
	}
}

// lookupJSON is the result as JSON. Fields may be added, never changed or removed.
type lookupJSON struct {
	Version   int           `json:"version"`
	File      string        `json:"file"`
	Consumer  string        `json:"consumer"`
	Module    moduleJSON    `json:"module"`
	Addresses []addressJSON `json:"addresses"`
}

type moduleJSON struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// addressJSON is what the file says of one address. Line is always a line of the symbol file, SourceLine one of the
// program's source. Parts are null where the file says nothing.
type addressJSON struct {
	Address  string        `json:"address"`
	Function *functionJSON `json:"function"`
	Inlines  []inlineJSON  `json:"inlines"` // innermost first
	CFI      *cfiJSON      `json:"cfi"`
	Win      *winJSON      `json:"win"`
}

type functionJSON struct {
	Name       string `json:"name"`
	Record     string `json:"record"` // FUNC or PUBLIC
	Address    string `json:"address"`
	Size       string `json:"size"`   // "0x0" for a PUBLIC
	Offset     string `json:"offset"` // of the address in the function
	ParamSize  string `json:"param_size"`
	Multiple   bool   `json:"multiple"`
	Line       int    `json:"line"`
	SourceFile string `json:"source_file"` // "" = unknown
	SourceLine int64  `json:"source_line"` // 0 = unknown
}

type inlineJSON struct {
	Name       string `json:"name"`
	Nest       int64  `json:"nest"`
	Address    string `json:"address"` // where the inlined code begins
	Line       int    `json:"line"`
	SourceFile string `json:"source_file"`
	SourceLine int64  `json:"source_line"`
	CallFile   string `json:"call_file"`
	CallLine   int64  `json:"call_line"`
}

type cfiJSON struct {
	Address string        `json:"address"`
	Size    string        `json:"size"`
	Rows    []cfiRowJSON  `json:"rows"`
	Rules   []cfiRuleJSON `json:"rules"`
	Error   *string       `json:"error"` // why the consumer does not use them
}

type cfiRowJSON struct {
	Address string  `json:"address"`
	Line    int     `json:"line"`
	Init    bool    `json:"init"`
	Rules   string  `json:"rules"`
	Error   *string `json:"error"`
}

type cfiRuleJSON struct {
	Register   string `json:"register"`
	Expression string `json:"expression"`
	Line       int    `json:"line"`
}

type winJSON struct {
	Address              string `json:"address"`
	Size                 string `json:"size"`
	Line                 int    `json:"line"`
	Type                 uint64 `json:"type"`
	Prolog               string `json:"prolog"`
	Epilog               string `json:"epilog"`
	ParamSize            string `json:"param_size"`
	SavedRegs            string `json:"saved_regs"`
	Locals               string `json:"locals"`
	MaxStack             string `json:"max_stack"`
	Program              string `json:"program"` // "" = none
	AllocatesBasePointer bool   `json:"allocates_base_pointer"`
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// lookup asks for everything at an address.
func lookup(m *symfile.Symbols, data []byte, addr uint64) addressJSON {
	x := addressJSON{Address: hex(addr), Inlines: []inlineJSON{}}
	if f, ok := m.Lookup(addr); ok {
		x.Function = &functionJSON{
			Name: f.Name, Record: f.Kind.String(), Address: hex(f.Base), Size: hex(f.Size), Offset: hex(addr - f.Base),
			ParamSize: hex(uint64(f.ParamSize)), Multiple: f.Multiple, Line: f.Line, SourceFile: f.File, SourceLine: f.Number,
		}
		for _, in := range f.Inlines {
			x.Inlines = append(x.Inlines, inlineJSON{
				Name: in.Name, Nest: in.Nest, Address: hex(in.Base), Line: in.Line,
				SourceFile: in.File, SourceLine: in.Number, CallFile: in.CallFile, CallLine: in.CallNumber,
			})
		}
	}
	if c := m.CFI(addr); c != nil {
		x.CFI = newCFIJSON(data, c)
	}
	if w, ok := m.Win(addr); ok && !w.ParamOnly {
		x.Win = &winJSON{
			Address: hex(w.Addr), Size: hex(w.Size), Line: w.Line, Type: w.Type, Prolog: hex(w.Prolog), Epilog: hex(w.Epilog),
			ParamSize: hex(uint64(w.ParamSize)), SavedRegs: hex(w.SavedRegs), Locals: hex(w.Locals), MaxStack: hex(w.MaxStack),
			Program: w.Program, AllocatesBasePointer: w.AllocatesBasePointer,
		}
	}
	return x
}

func newCFIJSON(data []byte, c *symfile.CFI) *cfiJSON {
	out := &cfiJSON{Address: hex(c.Addr), Size: hex(c.Size), Rows: []cfiRowJSON{}, Rules: []cfiRuleJSON{}, Error: orNil(c.Err)}
	for _, r := range c.Rows {
		out.Rows = append(out.Rows, cfiRowJSON{hex(r.Addr), r.Line, r.Init, string(data[r.Text.Off:r.Text.End]), orNil(r.Err)})
	}
	for _, r := range c.Rules {
		out.Rules = append(out.Rules, cfiRuleJSON{r.Name, r.Expr, r.Line})
	}
	return out
}

// write tells the same as text.
func (x *addressJSON) write(w io.Writer, path string) {
	name := "no symbol"
	if f := x.Function; f != nil {
		name = f.Name
		if f.Offset != "0x0" {
			name += " + " + f.Offset
		}
	}
	fmt.Fprintf(w, "%s: %s\n", x.Address, printable(name))
	item := func(line int, what string) { fmt.Fprintf(w, "    %s:%d: %s\n", printable(path), line, printable(what)) }
	for _, in := range x.Inlines {
		item(in.Line, fmt.Sprintf("inlined %s, %s, called at %s", in.Name, position(in.SourceFile, in.SourceLine), position(in.CallFile, in.CallLine)))
	}
	if f := x.Function; f != nil {
		at := position(f.SourceFile, f.SourceLine)
		if f.Record == symfile.Public.String() {
			at = "which has no source lines"
		}
		item(f.Line, fmt.Sprintf("%s %s at %s, %s", f.Record, f.Name, f.Address, at))
	}
	if c := x.CFI; c != nil {
		for _, r := range c.Rows {
			kind := "STACK CFI "
			if r.Init {
				kind = "STACK CFI INIT "
			}
			what := kind + r.Address + ": " + r.Rules
			if r.Error != nil {
				what += " (" + *r.Error + ")"
			}
			item(r.Line, what)
		}
		for _, r := range c.Rules {
			fmt.Fprintf(w, "        %s = %s (line %d)\n", printable(r.Register), printable(r.Expression), r.Line)
		}
		if c.Error != nil {
			fmt.Fprintf(w, "        not used: %s\n", printable(*c.Error))
		}
	}
	if v := x.Win; v != nil {
		what := fmt.Sprintf("STACK WIN type %d at %s, size %s: params %s, saved registers %s, locals %s", v.Type, v.Address, v.Size, v.ParamSize, v.SavedRegs, v.Locals)
		switch {
		case v.Program != "":
			what += ", program " + v.Program
		case v.AllocatesBasePointer:
			what += ", allocates the base pointer"
		}
		item(v.Line, what)
	}
	if x.Function == nil && x.CFI == nil && x.Win == nil {
		fmt.Fprintln(w, "    the file says nothing of this address")
	}
}

// position is a place in the program's source.
func position(file string, line int64) string {
	switch {
	case file == "":
		return "unknown source"
	case line <= 0:
		return file
	}
	return file + ":" + strconv.FormatInt(line, 10)
}

// printable keeps what a file says from acting on the terminal.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if unicode.IsPrint(r) && r != utf8.RuneError {
			b.WriteString(s[:n])
		} else {
			q := strconv.Quote(s[:n])
			b.WriteString(q[1 : len(q)-1])
		}
		s = s[n:]
	}
	return b.String()
}
