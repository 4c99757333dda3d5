// Command symgen writes a large, healthy symbol file.
//
//	symgen -kind lines|cfi|win -size 92MB [-seed N] [-inlines] [-id ID] [-name NAME] [-o FILE]
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/symlint/symlint/unwind/symfile/symgen"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "symgen:", err)
		}
		os.Exit(2)
	}
}

func run(args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("symgen", flag.ContinueOnError)
	kind := flags.String("kind", "lines", "`kind` of file: lines, cfi or win")
	size := flags.String("size", "1MB", "`size` of the file: bytes, or a number with kB, MB, GB, KiB, MiB or GiB")
	seed := flags.Uint64("seed", 1, "what the file is made from")
	name := flags.String("o", "-", "`file` to write; - is standard output")
	var o symgen.Options
	flags.BoolVar(&o.Inlines, "inlines", false, "with INLINE records (lines)")
	flags.StringVar(&o.ID, "id", "", "debug id of the MODULE record")
	flags.StringVar(&o.Name, "name", "", "name in the MODULE record")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	write, ok := map[string]func(io.Writer, uint64, int64, symgen.Options) error{
		"lines": symgen.LinesWith, "cfi": symgen.CFIWith, "win": symgen.WinWith,
	}[*kind]
	if !ok {
		return fmt.Errorf("no kind %q: lines, cfi or win", *kind)
	}
	bytes, err := parseSize(*size)
	if err != nil {
		return err
	}
	if *name == "-" {
		w := bufio.NewWriter(stdout)
		if err := write(w, *seed, bytes, o); err != nil {
			return err
		}
		return w.Flush()
	}
	f, err := os.Create(*name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f, *seed, bytes, o)
}

// parseSize reads a number of bytes such as 92MB or 48MiB.
func parseSize(s string) (int64, error) {
	number, unit := s, int64(1)
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}} {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			number, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("no size: %q", s)
	}
	return n * unit, nil
}
