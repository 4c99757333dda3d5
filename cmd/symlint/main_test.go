package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/symlint/symlint/unwind/corpustest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"symlint": main})
}

// TestScript runs the scripts of testdata/script against the command. UPDATE_SCRIPTS=1 rewrites their expectations.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"gzip":   convert(packGzip),
			"zstd":   convert(packZstd),
			"utf16":  convert(toUTF16),
			"cut":    cut,
			"repeat": repeat,
			"save":   save,
			"data":   data,
			"json":   validJSON,
			"poke":   poke,
		},
		Setup: func(env *testscript.Env) error {
			for _, name := range []string{"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"} {
				env.Setenv(name, "")
			}
			env.Setenv("TERM", "xterm")
			return nil
		},
	})
}

// exits STATUS program [args...]: runs the program, whose exit status must be the given one.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// convert makes a command out of a function on bytes: FROM TO.
func convert(f func([]byte) ([]byte, error)) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("want two files")
		}
		out, err := f([]byte(ts.ReadFile(args[0])))
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), out, 0o666))
	}
}

func packGzip(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

func packZstd(data []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.EncodeAll(data, nil), nil
}

// toUTF16 writes little-endian UTF-16 with a byte-order mark, as PowerShell's redirection does.
func toUTF16(data []byte) ([]byte, error) {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(string(data))) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out, nil
}

// cut FILE N: removes the last N bytes.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data[:len(data)-n]), 0o666))
}

// repeat FILE N: makes the file N times as long.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: repeat FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte(ts.ReadFile(args[0])), n), 0o666))
}

// save FILE: stdout of the last command becomes a file.
func save(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: save FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile("stdout")), 0o666))
}

// data DIR...: copies directories of the repository's testdata into the working directory.
func data(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: data DIR...")
	}
	for _, dir := range args {
		ts.Check(os.CopyFS(ts.MkAbs(filepath.Base(dir)), os.DirFS(filepath.Join(corpustest.Root(), "testdata", dir))))
	}
}

// poke FILE OFFSET HEX: overwrites bytes. OFFSET is decimal or begins with 0x.
func poke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: poke FILE OFFSET HEX")
	}
	off, err := strconv.ParseInt(args[1], 0, 0)
	ts.Check(err)
	bytes, err := hex.DecodeString(args[2])
	ts.Check(err)
	content := []byte(ts.ReadFile(args[0]))
	if copy(content[off:], bytes) < len(bytes) {
		ts.Fatalf("%s is too short", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), content, 0o666))
}

// validJSON FILE: the file, or stdout, is one JSON value.
func validJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json FILE")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
}
