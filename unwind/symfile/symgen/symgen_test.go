package symgen

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

type kind struct {
	name  string
	write func(io.Writer, uint64, int64, Options) error
	o     Options
}

var kinds = []kind{
	{"lines", LinesWith, Options{}},
	{"inlines", LinesWith, Options{Inlines: true}},
	{"cfi", CFIWith, Options{}},
	{"win", WinWith, Options{}},
}

func generate(t testing.TB, k kind, seed uint64, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := k.write(&b, seed, size, k.o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDeterministic(t *testing.T) {
	for _, k := range kinds {
		one := sha256.Sum256(generate(t, k, 7, 3e6))
		if one != sha256.Sum256(generate(t, k, 7, 3e6)) {
			t.Errorf("%s: the same seed gives two files", k.name)
		}
		if one == sha256.Sum256(generate(t, k, 8, 3e6)) {
			t.Errorf("%s: two seeds give one file", k.name)
		}
	}
}

func TestSize(t *testing.T) {
	for _, k := range kinds {
		for _, size := range []int64{300e3, 2e6, 7e6} {
			n := int64(len(generate(t, k, 1, size)))
			if n < size-size/100 || n > size+size/100 {
				t.Errorf("%s: %d bytes, want %d within 1 %%", k.name, n, size)
			}
		}
		if err := k.write(io.Discard, 1, MinSize-1, k.o); err == nil {
			t.Errorf("%s: no error below MinSize", k.name)
		}
		generate(t, k, 1, MinSize)
	}
}

// What the writers print first: facts of module.cc and pdb_source_line_writer.cc.
func TestFirstLines(t *testing.T) {
	elf := regexp.MustCompile(`\AMODULE Linux x86_64 ([0-9A-F]{32})0 \S+\nINFO CODE_ID ([0-9A-F]{40})\nFILE 0 \S`)
	win := regexp.MustCompile(`\AMODULE windows x86 ([0-9A-F]{32})1 \S+\.pdb\nINFO CODE_ID ([0-9A-F]{13}) \S+\.exe\nFILE 1 \S`)
	for _, k := range kinds {
		head := elf
		if k.name == "win" {
			head = win
		}
		m := head.FindSubmatch(generate(t, k, 3, 1e6))
		if m == nil {
			t.Errorf("%s: wrong first lines", k.name)
			continue
		}
		if k.name != "win" && string(m[1]) != guid(string(m[2])) {
			t.Errorf("%s: debug id %s does not follow from build id %s", k.name, m[1], m[2])
		}
	}
}

// guid spells the first 16 bytes of a build id as the debug id does. The pair is that of a real library.
func guid(b string) string {
	return b[6:8] + b[4:6] + b[2:4] + b[0:2] + b[10:12] + b[8:10] + b[14:16] + b[12:14] + b[16:32]
}

func TestGUID(t *testing.T) {
	if got := guid("B72FFA420DC4890D873FDC5DCE498E5E36DE2AE4"); got != "42FA2FB7C40D0D89873FDC5DCE498E5E" {
		t.Error(got)
	}
}

func TestOptions(t *testing.T) {
	const id = "42FA2FB7C40D0D89873FDC5DCE498E5E0"
	for _, k := range kinds {
		k.o.ID, k.o.Name = id, "tower"
		b := generate(t, k, 1, 1e5)
		first, rest, _ := bytes.Cut(b, []byte("\n"))
		if !bytes.HasSuffix(first, []byte(" "+id+" tower")) {
			t.Errorf("%s: %s", k.name, first)
		}
		if k.name != "win" && !bytes.HasPrefix(rest, []byte("INFO CODE_ID B72FFA420DC4890D873FDC5DCE498E5E")) {
			t.Errorf("%s: build id does not belong to the debug id: %.60s", k.name, rest)
		}
	}
	plain, inlined := generate(t, kinds[0], 1, 2e6), generate(t, kinds[1], 1, 2e6)
	if bytes.Contains(plain, []byte("\nINLINE")) || bytes.Count(inlined, []byte("\nINLINE ")) < 1000 {
		t.Error("INLINE records do not follow the option")
	}
}

// The CFI load stands for real files of 92 MB that have 1.3 million rows and fewer than 2000 rule texts.
func TestCFIProportions(t *testing.T) {
	const size = 23e6
	rows, texts := 0, map[string]bool{}
	for line := range strings.Lines(string(generate(t, kinds[2], 1, size))) {
		rest, ok := strings.CutPrefix(line, "STACK CFI ")
		if !ok {
			continue
		}
		rows++
		skip := 1
		if strings.HasPrefix(rest, "INIT ") {
			skip = 3
		}
		texts[strings.Join(strings.Split(rest, " ")[skip:], " ")] = true
	}
	if want := 1.3e6 * size / 92e6; float64(rows) < 0.95*want || float64(rows) > 1.05*want {
		t.Errorf("%d rows, want about %.0f", rows, want)
	}
	if len(texts) < 500 || len(texts) >= 2000 {
		t.Errorf("%d distinct rule texts", len(texts))
	}
}

func TestLinesPerFunction(t *testing.T) {
	count, least, most, functions, total := 0, 1<<30, 0, 0, 0
	end := func() {
		if count > 0 {
			least, most, functions, total = min(least, count), max(most, count), functions+1, total+count
		}
		count = 0
	}
	for line := range strings.Lines(string(generate(t, kinds[0], 1, 4e6))) {
		switch word, _, _ := strings.Cut(line, " "); word {
		case "FUNC", "PUBLIC":
			end()
		case "MODULE", "INFO", "FILE", "STACK":
		default:
			count++
		}
	}
	if mean := total / functions; least < 20 || most > 60 || mean < 35 || mean > 45 {
		t.Errorf("%d to %d lines a function, %d on average", least, most, mean)
	}
}

type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriteError(t *testing.T) {
	for _, k := range kinds {
		for _, room := range []int{0, 1 << 20, 5 << 20} {
			if err := k.write(&failing{room}, 1, 8e6, k.o); !errors.Is(err, errFull) {
				t.Errorf("%s: room for %d: %v", k.name, room, err)
			}
		}
	}
}

func BenchmarkCFI(b *testing.B) {
	for b.Loop() {
		if err := CFI(io.Discard, 1, 100e6); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(100e6)
}

func number(t *testing.T, s string, base int) int {
	n, err := strconv.ParseInt(s, base, 63)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
