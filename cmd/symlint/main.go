// Symlint lints Breakpad symbol files and walks the stacks of dumps.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/symlint/symlint/cmd/symlint/internal/cli"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a reader that has seen enough is an error of the write, and no reason to die midway
	os.Exit(cli.Run(os.Args[1:], cli.Env{
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Getenv: os.Getenv,
	}))
}
