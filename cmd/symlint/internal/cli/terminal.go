package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether a stream really ends at a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}

// colored decides whether the result is coloured: the flag, then NO_COLOR, then what forces colour onto standard
// output, then what that is. A file is only coloured by the flag.
func (a *app) colored() bool {
	switch a.Color {
	case "always":
		return true
	case "never":
		return false
	}
	force := func(name string) bool { v := a.Getenv(name); return v != "" && v != "0" }
	switch {
	case a.Getenv("NO_COLOR") != "":
		return false
	case !a.toStdout():
		return false
	case force("CLICOLOR_FORCE"), force("FORCE_COLOR"):
		return true
	case a.Getenv("TERM") == "dumb", a.Getenv("CLICOLOR") == "0":
		return false
	}
	return isTerminal(a.Stdout)
}
