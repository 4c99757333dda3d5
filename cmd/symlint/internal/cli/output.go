package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// output is where a result goes: standard output, or a file that appears under its name when it is complete.
type output struct {
	io.Writer
	file   *os.File // nil for standard output
	target string   // what the file is renamed to, "" if it is written in place
}

// toStdout reports whether the result goes to standard output.
func (a *app) toStdout() bool { return a.Output == "" || a.Output == "-" }

// openOutput opens what --output says.
func (a *app) openOutput() (*output, error) {
	if a.toStdout() {
		return &output{Writer: a.Stdout}, nil
	}
	return createFile(a.Output)
}

// createFile begins a file beside its final place. Links are kept and what is no regular file, such as /dev/null, is
// written directly.
func createFile(path string) (*output, error) {
	mode := os.FileMode(0o666)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			return nil, fmt.Errorf("%s: is a directory", path)
		case !info.Mode().IsRegular():
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return nil, err
			}
			return &output{Writer: f, file: f}, nil
		}
		mode = info.Mode().Perm()
	}
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(i)+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if os.IsExist(err) && i < 100 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &output{Writer: f, file: f, target: path}, nil
	}
}

// commit makes the result visible.
func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil {
		o.abort()
		return err
	}
	if o.target == "" {
		return nil
	}
	err := os.Rename(o.file.Name(), o.target)
	if err != nil {
		os.Remove(o.file.Name())
	}
	return err
}

// abort drops the result and leaves an older file as it was.
func (o *output) abort() {
	if o.file != nil {
		o.file.Close()
		if o.target != "" {
			os.Remove(o.file.Name())
		}
	}
}

// write writes a whole result: all of it or nothing.
func (a *app) write(result func(io.Writer) error) error {
	out, err := a.openOutput()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	err = result(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		out.abort()
		return err
	}
	return out.commit()
}
