package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

type versionCmd struct{}

// Run tells the version.
func (versionCmd) Run(a *app) error {
	return a.write(func(w io.Writer) error {
		_, err := io.WriteString(w, versionText())
		return err
	})
}

// versionFlag is --version.
type versionFlag bool

// BeforeReset tells the version instead of running a command.
func (versionFlag) BeforeReset(k *kong.Kong) error {
	fmt.Fprint(k.Stdout, versionText())
	k.Exit(exitOK)
	return nil
}

// version is the module version that the build knows: a tag, a pseudo-version, or (devel).
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionText names the version, the commit and what it was built with.
func versionText() string {
	text := "symlint " + version() + "\n"
	if info, ok := debug.ReadBuildInfo(); ok {
		settings := make(map[string]string)
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if rev := settings["vcs.revision"]; rev != "" {
			if settings["vcs.modified"] == "true" {
				rev += " (modified)"
			}
			text += fmt.Sprintf("commit %s, %s\n", rev, settings["vcs.time"])
		}
	}
	return text + fmt.Sprintf("built with %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
