package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint/config"
	"github.com/symlint/symlint/rules"
	"github.com/symlint/symlint/unwind/corpustest"
)

var update = flag.Bool("update", false, "rewrite the outputs in README.md that are shown in full, and those beside testdata/ok and testdata/err")

// block is a fenced block of README.md.
type block struct {
	line     int // of the opening fence
	language string
	text     string
	// follows is the language of the block before, if nothing but blank lines stands between.
	follows string
}

var fenceLine = regexp.MustCompile("^```([a-z]*)$")

func readmeBlocks(t *testing.T) []block {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpustest.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	var open *block
	last := ""
	for i, line := range strings.Split(string(data), "\n") {
		m := fenceLine.FindStringSubmatch(line)
		switch {
		case open == nil && m != nil:
			if m[1] == "" {
				t.Errorf("README.md:%d: a block needs a language", i+1)
			}
			open = &block{line: i + 1, language: m[1], follows: last}
		case open != nil && line == "```":
			out = append(out, *open)
			last, open = open.language, nil
		case open != nil:
			open.text += line + "\n"
		case line != "":
			last = ""
		}
	}
	if open != nil {
		t.Fatalf("README.md:%d: the block is not closed", open.line)
	}
	return out
}

// commands splits a sh block into its command lines.
func commands(text string) []string {
	var out []string
	for _, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// TestReadme runs every command of README's sh blocks and compares what it prints with the text block that follows.
// A line "…" there stands for any number of lines. It runs in a copy of testdata with symlint in its path; `go run`
// and `go install`, which need the sources, run in the repository.
func TestReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a Unix shell")
	}
	root := corpustest.Root()
	dir, bin := t.TempDir(), t.TempDir()
	if out, err := goCommand(root, "build", "-o", filepath.Join(bin, "symlint"), "./cmd/symlint"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS(filepath.Join(root, "testdata"))); err != nil {
		t.Fatal(err)
	}
	var stdout string
	var outdated []block
	var outputs []string
	ran := 0
	for _, b := range readmeBlocks(t) {
		switch b.language {
		case "sh":
			stdout = ""
			for _, line := range commands(b.text) {
				if regexp.MustCompile(`^(go test|\.ci/run|git clone|cd )`).MatchString(line) {
					continue // the tests are what runs now
				}
				ran++
				cmd := exec.Command("sh", "-c", line)
				cmd.Dir = dir
				if strings.HasPrefix(line, "go ") {
					cmd.Dir = root
				}
				cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOBIN="+t.TempDir(),
					"NO_COLOR=1", "CLICOLOR_FORCE=", "FORCE_COLOR=")
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				var exit *exec.ExitError
				if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
					t.Errorf("README.md:%d: %s: %v\n%s", b.line, line, err, &stderr)
				}
				stdout += string(out)
			}
		case "text":
			if b.follows != "sh" && b.follows != "go" {
				continue
			}
			switch {
			case matchesOutput(stdout, b.text):
			case *update && !strings.Contains(b.text, "…\n"):
				outdated = append(outdated, b)
				outputs = append(outputs, stdout)
			default:
				t.Errorf("README.md:%d: the commands print\n%s\ngo test ./cmd/symlint -run Readme -update rewrites outputs shown in full", b.line, stdout)
			}
		case "go":
			out, err := runProgram(t, root, b.text)
			if err != nil {
				t.Errorf("README.md:%d: %v\n%s", b.line, err, out)
			}
			stdout = out
			ran++
		}
	}
	if len(outdated) > 0 {
		rewrite(t, outdated, outputs)
	}
	if ran < 5 {
		t.Errorf("README.md has only %d commands", ran)
	}
}

// rewrite puts outputs into blocks of README.md.
func rewrite(t *testing.T, blocks []block, outputs []string) {
	path := filepath.Join(corpustest.Root(), "README.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	for i := len(blocks) - 1; i >= 0; i-- { // from the end, so that line numbers hold
		from := blocks[i].line
		to := from + strings.Count(blocks[i].text, "\n")
		lines = slices.Replace(lines, from, to, outputs[i])
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o666); err != nil {
		t.Fatal(err)
	}
}

// goCommand runs the go command in a directory.
func goCommand(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// runProgram runs a program that imports the module.
func runProgram(t *testing.T, root, text string) (string, error) {
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return goCommand(root, "run", path)
}

// matchesOutput compares an output with what README shows of it.
func matchesOutput(got, want string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for _, line := range strings.SplitAfter(strings.TrimSuffix(want, "\n"), "\n") {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")) + `\n`)
	}
	pattern.WriteString("$")
	return regexp.MustCompile(pattern.String()).MatchString(got)
}

func TestMatchesOutput(t *testing.T) {
	for _, c := range []struct {
		got, want string
		ok        bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\nb\n", "a\n", false},
		{"a\nb\nc\n", "a\n…\nc\n", true},
		{"a\nc\n", "a\n…\nc\n", true},
		{"a\nb\n", "…\nb\n", true},
		{"a\nb\n", "a\n…\n", true},
		{"a\nb\n", "…\na\n", false},
		{"a.c\n", "abc\n", false},
	} {
		if got := matchesOutput(c.got, c.want); got != c.ok {
			t.Errorf("%q against %q: %v", c.got, c.want, got)
		}
	}
}

// TestReadmeConfig reads the configurations that README shows, and compares the flags it names with the command's.
func TestReadmeConfig(t *testing.T) {
	n := 0
	for _, b := range readmeBlocks(t) {
		if b.language != "toml" {
			continue
		}
		n++
		cfg, err := config.Parse(".symlint.toml", []byte(b.text))
		if err == nil {
			err = cfg.Check(rules.Registry())
		}
		if err != nil {
			t.Errorf("README.md:%d: %v", b.line, err)
		}
	}
	if n == 0 {
		t.Error("README.md shows no .symlint.toml")
	}
}

// TestReadmeNames looks for every rule and file that README names.
func TestReadmeNames(t *testing.T) {
	root := corpustest.Root()
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	g := rules.Registry()
	var families []string
	for _, r := range g.Rules() {
		if !slices.Contains(families, r.Family) {
			families = append(families, r.Family)
		}
	}
	named := regexp.MustCompile(fmt.Sprintf("`((?:%s)-[a-z-]+)`", strings.Join(families, "|")))
	for _, m := range named.FindAllStringSubmatch(string(data), -1) {
		if g.Rule(m[1]) == nil {
			t.Errorf("README.md names the rule %s, which is not there", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\]\(([^):#]+)(#[^)]*)?\)`).FindAllStringSubmatch(string(data), -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("README.md links to %s, which is not there", m[1])
		}
	}
}
