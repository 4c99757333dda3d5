// Symlint lints Breakpad symbol files.
package main

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/symlint/symlint/cmd/symlint/internal/cli"
)

func main() {
	// One run, then exit: memory is better spent on not collecting garbage, up to a point. $GOGC and $GOMEMLIMIT still
	// decide.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(192 << 20)
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that has seen enough is an error of the write, and no reason to die midway
	os.Exit(cli.Run(os.Args[1:], cli.Env{
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.Getenv,
	}))
}
