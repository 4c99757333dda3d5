package plant

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/symfile/symgen"
)

// armModule has what the base files lack: another CPU, an address of 32 bits, no lines.
const armModule = `MODULE Linux arm EC66C24E8C1BAA69BE7F5E6F81F36CAF0 relay
FUNC 7e8 4c 0 relay_open
FUNC 834 18 0 relay_close
FUNC 84c 70 0 relay_run
PUBLIC 8c0 0 relay_end
STACK CFI INIT 7e8 4c .cfa: sp 0 + .ra: lr
STACK CFI 7ec .cfa: sp 8 + .ra: .cfa -4 + ^ r4: .cfa -8 + ^
STACK CFI INIT 834 18 .cfa: sp 0 + .ra: lr
STACK CFI 838 .cfa: sp 8 + .ra: .cfa -4 + ^ r4: .cfa -8 + ^
STACK CFI INIT 84c 70 .cfa: sp 0 + .ra: lr
STACK CFI 850 .cfa: sp 4 + .ra: .cfa -4 + ^
STACK CFI 85c .cfa: sp 32 +
STACK CFI 8b0 .cfa: sp 4 +
`

type source struct {
	name string
	text []byte
}

// bases are the healthy files that are small enough to look at.
func bases(t testing.TB) []source {
	t.Helper()
	list := []source{{"arm", []byte(armModule)}}
	for _, name := range []string{"base-x86_64.sym", "base-x86.sym", "base-windows-x86.sym"} {
		b, err := os.ReadFile(filepath.Join(corpustest.Root(), "testdata", "sym", name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, source{name, b})
	}
	return list
}

// sources adds made-up files with what the small ones have no place for.
func sources(t testing.TB) []source {
	list := bases(t)
	for _, k := range []struct {
		name  string
		write func(io.Writer, uint64, int64, symgen.Options) error
		size  int64
	}{{"lines", symgen.LinesWith, 120e3}, {"cfi", symgen.CFIWith, 40e3}, {"win", symgen.WinWith, 40e3}} {
		var b bytes.Buffer
		if err := k.write(&b, 1, k.size, symgen.Options{Inlines: k.name == "lines"}); err != nil {
			t.Fatal(err)
		}
		list = append(list, source{k.name, b.Bytes()})
	}
	list = append(list, source{"crlf", bytes.ReplaceAll(list[1].text, []byte("\n"), []byte("\r\n"))})
	return list
}

func byName(t testing.TB, name string) Kind {
	t.Helper()
	for _, k := range Kinds() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("no kind %s", name)
	return Kind{}
}

func random(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 99)) }

// What each kind does to a file, and what stands at the line it names. The first character of an entry is
//
//	=  one line is another, the named one          +  one line is inserted, the named one
//	-  lines are removed; the named one is next    ~  lines are moved, none is changed
//	*  several lines are others                    <  one line is another, above the named one
//
// and the rest is a regular expression for the named line.
var shapes = map[string]string{
	"unknown-record":      `=^([A-Z_]+ )`,
	"bad-hex":             `=^(FUNC |PUBLIC |STACK WIN \d |STACK CFI (INIT )?|)(m )?[0-9a-f]*g[0-9a-f]* `,
	"hex-prefix":          `=^(FUNC |PUBLIC |STACK WIN \d |STACK CFI (INIT )?|)(m )?0x[0-9a-f]+ `,
	"upper-case-hex":      `=^(FUNC |PUBLIC |STACK WIN \d |STACK CFI (INIT )?|)(m )?[0-9]*[A-F][0-9A-F]* `,
	"size-over-32-bit":    `=^(FUNC |STACK CFI INIT |)(m )?[0-9a-f]+ 1[0-9a-f]{8} `,
	"address-over-64-bit": `=^(FUNC |PUBLIC |STACK CFI (INIT )?|)(m )?1[0-9a-f]{16} `,
	"decimal-over-32-bit": `=^[0-9a-f]+ [0-9a-f]+ 4294967296\d+ \d+$`,
	"plus-sign":           `=^[0-9a-f]+ [0-9a-f]+ \+\d+ \d+$`,
	"bad-decimal":         `=^[0-9a-f]+ [0-9a-f]+ \d+z \d+$`,
	"missing-field":       `=^[0-9a-f]+ [0-9a-f]+ \d+$`,
	"surplus-field":       `=^[0-9a-f]+ [0-9a-f]+ \d+ \d+ 0$`,
	"truncated":           `=^S[^\n]*$`,
	"no-final-newline":    `=^(STACK WIN 0 .* 0 [01]|STACK (CFI|WIN) .*[+^=])$`,
	"crlf-mixed":          `=.`,
	"lone-cr":             `*^[^\r]+\r[^\r]+$`,
	"bad-utf8":            `=^[A-Z_]+ .*�`,
	"nul-byte":            `=^[A-Z_]+ .*\x00`,
	"control-character":   `=^[A-Z_]+ .*[\x07\x1b\x7f]`,
	"byte-order-mark":     "=^\ufeffMODULE ",
	"tab-separator":       `=^[^\t]+\t[^\t]+$`,
	"leading-blank":       `=^ \S`,
	"repeated-blank":      `=\S  \S`,
	"trailing-blank":      `=\S $`,
	"long-line":           `=^(FILE|INLINE_ORIGIN|FUNC|PUBLIC) .*(_and_so_on)+$`,
	"empty-line":          `+^$`,
	"empty-line-in-func":  `+^$`,
	"empty-line-in-cfi":   `+^$`,
	"file-after-func":     `~^FILE `,
	"inline-origin-late":  `~^INLINE_ORIGIN `,
	"func-after-stack":    `~^FUNC `,
	"public-after-stack":  `~^PUBLIC `,

	"module-missing":           `-.`,
	"module-not-first":         `~^MODULE `,
	"module-duplicate":         `+^MODULE `,
	"module-id-length":         `=^MODULE \w+ \w+ [0-9A-F]{25,32} `,
	"module-id-not-hex":        `=^MODULE \w+ \w+ [0-9A-F]*[GXZ][0-9A-F]* `,
	"module-id-zero":           `=^MODULE \w+ \w+ 0{33} `,
	"module-id-case":           `=^MODULE \w+ \w+ [0-9a-f]{33} `,
	"module-arch":              `=^MODULE \w+ (x86-64|x8664|ix86|arm-64|armel-none) `,
	"module-arch-mismatch":     `=^MODULE \w+ \w+ [0-9A-F]{33} `,
	"module-os":                `=^MODULE (linuks|Windoze|makos) `,
	"module-name-path":         `=^MODULE .* \S*[/\\][\w.]+$`,
	"module-name-missing":      `=^MODULE \w+ \w+ [0-9A-F]{33}$`,
	"info-code-id-not-hex":     `=^INFO CODE_ID Z`,
	"info-code-id-contradicts": `=^INFO CODE_ID [0-9A-F]{40}$`,
	"info-unknown":             `+^INFO COLOUR blue$`,
	"file-duplicate-id":        `+^FILE \d+ /src/other_[ab].c$`,
	"file-repeat":              `+^FILE \d+ \S`,
	"file-missing-name":        `=^FILE \d+$`,
	"file-bad-id":              `=^FILE \d+a \S`,
	"file-unused":              `+^FILE \d+ /src/never_used.cc$`,

	"func-overlap":            `=^FUNC [0-9a-f]+ [0-9a-f]+ [0-9a-f]+ \S`,
	"func-swallows":           `=^FUNC [0-9a-f]+ [0-9a-f]+ [0-9a-f]+ \S`,
	"func-unsorted":           `~^FUNC `,
	"func-size-zero":          `=^FUNC [0-9a-f]+ 0 `,
	"func-duplicate-address":  `+^FUNC [0-9a-f]+ [0-9a-f]+ [0-9a-f]+ twin_of_it$`,
	"func-missing-name":       `=^FUNC [0-9a-f]+ [0-9a-f]+ [0-9a-f]+$`,
	"func-missing-param-size": `=^FUNC [0-9a-f]+ [0-9a-f]+ [^ ]*[^ 0-9a-f]`,
	"func-bad-mark":           `=^FUNC n [0-9a-f]+ `,
	"func-address-wrap":       `=^FUNC ffffffffffffff00 200 `,
	"func-huge":               `=^FUNC [0-9a-f]+ 7f000000 `,
	"func-address-zero":       `+^FUNC 0 10 0 dead_stripped$`,
	"func-placeholder-name":   `=^FUNC [0-9a-f]+ [0-9a-f]+ [0-9a-f]+ <name omitted>$`,
	"func-mangled-name":       `=^FUNC [0-9a-f]+ [0-9a-f]+ [0-9a-f]+ _ZN\w+$`,
	"func-without-lines":      `<^FUNC `,
	"func-param-size":         `=^FUNC `,
	"public-duplicate":        `+^PUBLIC [0-9a-f]+ [0-9a-f]+ other_name$`,
	"public-inside-func":      `+^PUBLIC [0-9a-f]+ 0 stray_label$`,
	"public-thumb-bit":        `+^PUBLIC [0-9a-f]*[13579bdf] 0 relay_`,
	"public-unsorted":         `~^PUBLIC `,
	"public-missing-name":     `=^PUBLIC [0-9a-f]+ [0-9a-f]+$`,
	"public-address-zero":     `+^PUBLIC 0 0 __mh_execute_header$`,

	"line-undefined-file":  `=^[0-9a-f]+ [0-9a-f]+ \d+ (777|9000)$`,
	"line-outside-func":    `=^[0-9a-f]+ [0-9a-f]+ \d+ \d+$`,
	"line-before-func":     `=^[0-9a-f]+ [0-9a-f]+ \d+ \d+$`,
	"line-past-func-end":   `=^[0-9a-f]+ [0-9a-f]+ \d+ \d+$`,
	"line-orphan":          `~^[0-9a-f]+ [0-9a-f]+ \d+ \d+$`,
	"line-after-public":    `~^[0-9a-f]+ [0-9a-f]+ \d+ \d+$`,
	"line-overlap":         `=^[0-9a-f]+ [0-9a-f]+ \d+ \d+$`,
	"line-negative-number": `=^[0-9a-f]+ [0-9a-f]+ -\d+ \d+$`,
	"line-zero-size":       `=^[0-9a-f]+ 0 \d+ \d+$`,
	"line-number-zero":     `=^[0-9a-f]+ [0-9a-f]+ 0 \d+$`,
	"line-order":           `~^[0-9a-f]+ [0-9a-f]+ \d+ \d+$`,

	"inline-origin-missing":      `-^INLINE \d+ `,
	"inline-undefined-origin":    `=^INLINE \d+ \d+ \d+ (777|9000)0? `,
	"inline-duplicate-origin":    `+^INLINE_ORIGIN \d+ some_other_function$`,
	"inline-origin-missing-name": `=^INLINE_ORIGIN \d+$`,
	"inline-origin-digits":       `=^INLINE_ORIGIN \d+ 42 \S`,
	"inline-nest-skip":           `=^INLINE [2-9] `,
	"inline-undefined-file":      `=^INLINE \d+ \d+ (777|9000) \d+ `,
	"inline-negative-file":       `=^INLINE \d+ \d+ -1 \d+ `,
	"inline-old-form":            `=^INLINE \d+ \d+ \d+ [0-9a-f]{4,} [0-9a-f]+$`,
	"inline-odd-range":           `=^INLINE \d+ \d+ \d+ \d+ [0-9a-f]+$`,
	"inline-outside-parent":      `=^INLINE \d+ \d+ \d+ \d+ [0-9a-f]+ [0-9a-f]+$`,
	"inline-child-outside":       `=^INLINE [1-9] \d+ \d+ \d+ [0-9a-f]+ [0-9a-f]+$`,
	"inline-partial-overlap":     `=^INLINE \d+ \d+ \d+ \d+ [0-9a-f]+ [0-9a-f]+$`,
	"inline-zero-size":           `=^INLINE \d+ \d+ \d+ \d+ [0-9a-f]+ 0$`,
	"inline-too-many-ranges":     `+^INLINE 0 1 \d+ \d+( [0-9a-f]+ 1)+$`,
	"inline-orphan":              `~^INLINE 0 `,
	"inline-after-public":        `~^INLINE 0 `,

	"cfi-init-overlap":            `<^STACK CFI INIT `,
	"cfi-duplicate-init":          `+^STACK CFI INIT `,
	"cfi-conflicting-init":        `+^STACK CFI INIT .*\.cfa: \S+ (8|12|24) \+`,
	"cfi-init-size-zero":          `=^STACK CFI INIT [0-9a-f]+ 0 `,
	"cfi-init-wraps":              `=^STACK CFI INIT [0-9a-f]+ fffffffffffff000 `,
	"cfi-init-missing-size":       `=^STACK CFI INIT [0-9a-f]+ [.$]`,
	"cfi-bare":                    `=^STACK CFI$`,
	"cfi-delta-no-rules":          `=^STACK CFI [0-9a-f]+$`,
	"cfi-orphan-delta":            `-^STACK CFI [0-9a-f]+ `,
	"cfi-delta-outside-init":      `=^STACK CFI [0-9a-f]+ `,
	"cfi-delta-before-init":       `=^STACK CFI [0-9a-f]+ `,
	"cfi-delta-order":             `~^STACK CFI [0-9a-f]+ `,
	"cfi-delta-duplicate":         `=^STACK CFI [0-9a-f]+ `,
	"cfi-missing-cfa":             `=^STACK CFI INIT [0-9a-f]+ [0-9a-f]+ \.ra: (\.cfa -\d \+ \^|lr)$`,
	"cfi-missing-ra":              `=^STACK CFI INIT [0-9a-f]+ [0-9a-f]+ \.cfa: \S+ \d \+$`,
	"cfi-late-ra":                 `*^STACK CFI INIT [0-9a-f]+ [0-9a-f]+ \.cfa: \S+ \d \+$`,
	"cfi-empty-rule":              `=[^ ]: *([^ ]+:|$)`,
	"cfi-no-name":                 `=^STACK CFI (INIT [0-9a-f]+ )?[0-9a-f]+ \S*[^: ] `,
	"cfi-missing-colon":           `=^STACK CFI INIT .* \.ra `,
	"cfi-hex-literal":             `= -?0x[0-9a-f]+ `,
	"cfi-literal-range":           `= -?\d*10{19} `,
	"cfi-underflow":               `=: \S+ \+`,
	"cfi-leftover":                `=: \S+ (-?\d+) -?\d+ \+`,
	"cfi-unknown-operator":        `= (&|\||<<|plus)( |$)`,
	"cfi-division-by-zero":        `= 0 [/%]( |$)`,
	"cfi-alignment":               `= (12|24|48) @( |$)`,
	"cfi-unknown-register":        `= \$?\w+q: `,
	"cfi-unknown-operand":         `=\.cfa: \$?[er]?sq `,
	"cfi-foreign-register":        `=\.cfa: \$[er]sp `,
	"cfi-prefix-convention":       `=\.cfa: ([er]sp|\$sp) `,
	"cfi-unnamed-register":        `=\.cfa: unnamed_register\d+ `,
	"cfi-cfa-self-reference":      `=\.cfa: \.cfa `,
	"cfi-ra-self-reference":       `=\.ra: \.ra( |$)`,
	"cfi-ra-operand":              `=\w: \.ra -\d+ \+ \^`,
	"cfi-undef-ra":                `=\.ra: \.undef( |$)`,
	"cfi-undef-callee-saved":      `= \$?\w+: \.undef( |$)`,
	"cfi-caller-saved-operand":    `= \$?\w+: (\$[er]cx|r12)( |$)`,
	"cfi-registers-exchanged":     `*^STACK CFI INIT [0-9a-f]+ [0-9a-f]+ \.cfa: \$[er]bp `,
	"cfi-cfa-sign":                `=^STACK CFI INIT .*\.cfa: \$[er]sp \d -`,
	"cfi-entry-offset":            `=^STACK CFI INIT .*\.cfa: (\$esp 8|\$rsp 16|sp 4) \+`,
	"cfi-ra-not-dereferenced":     `=^STACK CFI INIT .*\.ra: \.cfa -\d \+$`,
	"cfi-ra-slot":                 `=^STACK CFI INIT .*\.cfa: \$(esp 4 \+ \.ra: \.cfa -8|rsp 8 \+ \.ra: \.cfa -16) `,
	"cfi-misaligned":              `=^STACK CFI [0-9a-f]+ .*\.cfa: \S+ \d+ \+`,
	"cfi-cfa-below-entry":         `=^STACK CFI [0-9a-f]+ .*\.cfa: \$[er]sp 0 \+`,
	"cfi-slot-conflict":           `=^STACK CFI [0-9a-f]+ .*\w: \.cfa -\d+ \+ \^`,
	"cfi-return-slot-taken":       `=^STACK CFI [0-9a-f]+ .*\w: \.cfa -[48] \+ \^`,
	"cfi-slot-above-frame":        `=^STACK CFI [0-9a-f]+ .*\w: \.cfa (24|48) \+ \^`,
	"cfi-slot-below-frame":        `=^STACK CFI [0-9a-f]+ .*\w: \.cfa -\d{4} \+ \^`,
	"cfi-stale-base":              `=^STACK CFI [0-9a-f]+ .*\.cfa: (\$ecx|\$rcx|r12) 0 \+`,
	"cfi-frame-pointer-not-saved": `<^STACK CFI [0-9a-f]+ .*\.cfa: \$[er]bp `,
	"cfi-spans-functions":         `<^STACK CFI INIT `,
	"cfi-outside-symbols":         `+^STACK CFI INIT [0-9a-f]+ 20 `,
	"cfi-missing-for-function":    `<^FUNC `,

	"win-bad-program":        `=^STACK WIN 4 `,
	"win-leftover":           `=^STACK WIN 4 .*= \$T0$`,
	"win-underflow":          `=^STACK WIN 4 .*= \+( |$)`,
	"win-undefined-variable": `=^STACK WIN 4 .* \$T9 `,
	"win-no-eip":             `=^STACK WIN 4 .* 1 \$T0 \S+ = \$e[bs]p `,
	"win-no-esp":             `=^STACK WIN 4 .*\^ =( \$[LPes]|$)`,
	"win-assigns-constant":   `=^STACK WIN 4 .* (1|=) \.cbParams `,
	"win-numeric-register":   `=^STACK WIN 4 .* \$2[034] \$T0 `,
	"win-short":              `=^STACK WIN \d( \w+){0,8}( 1)?$`,
	"win-bad-type":           `=^STACK WIN [5-9a-f] `,
	"win-unused-type":        `=^STACK WIN [123] `,
	"win-flag-mismatch":      `=^STACK WIN (4 .* 0 \$T0 |0 ( ?\w+){8} 1 [01]$)`,
	"win-overlap":            `=^STACK WIN `,
	"win-wraps":              `=^STACK WIN \d [0-9a-f]+ ffffff00 `,
	"win-size-zero":          `=^STACK WIN \d [0-9a-f]+ 0 `,
	"win-prologue":           `=^STACK WIN `,
	"win-param-size":         `=^STACK WIN `,
	"win-in-other-module":    `+^STACK WIN 4 `,
}

// difference cuts the lines both files begin and end with.
func difference(a, b []string) (x, y []string, at int) {
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	x, y = a[at:], b[at:]
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return x, y, at
}

func lines(b []byte) []string { return slices.Collect(strings.Lines(string(b))) }

func TestShapes(t *testing.T) {
	files := sources(t)
	if len(shapes) != len(Kinds()) {
		t.Errorf("%d shapes for %d kinds", len(shapes), len(Kinds()))
	}
	for _, k := range Kinds() {
		shape := shapes[k.Name]
		if shape == "" {
			t.Errorf("%s: no shape", k.Name)
			continue
		}
		what := regexp.MustCompile(shape[1:])
		planted := 0
		for _, src := range files {
			for seed := range map[bool]int{true: 6, false: 2}[len(src.text) < 10e3] {
				damaged, line, ok := k.Plant(src.text, random(seed))
				if !ok {
					break
				}
				planted++
				if problem := differs(src.text, damaged, line, shape[0], what); problem != "" {
					t.Errorf("%s in %s, seed %d, line %d: %s", k.Name, src.name, seed, line, problem)
					break
				}
			}
		}
		if damaged, line, ok := k.Plant(files[0].text, random(0)); ok && k.Name == "long-line" && len(lines(damaged)[line-1]) < 200000 {
			t.Error("long-line is too short for the longest buffer of a consumer")
		}
		if planted == 0 {
			t.Errorf("%s: no place in any file", k.Name)
		}
	}
}

// differs says in what way damaged is not as the shape promises.
func differs(src, damaged []byte, line int, shape byte, what *regexp.Regexp) string {
	if bytes.Equal(src, damaged) {
		return "nothing is damaged"
	}
	before, after := lines(src), lines(damaged)
	if line < 1 || line > len(after) {
		return fmt.Sprintf("not in the file, which has %d lines", len(after))
	}
	if text := strings.ToValidUTF8(strings.TrimRight(after[line-1], "\r\n"), "�"); !what.MatchString(text) {
		return fmt.Sprintf("unexpected text %.200q", text)
	}
	x, y, at := difference(before, after)
	sorted := func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }
	good := false
	switch shape {
	case '=':
		good = len(x) == 1 && len(y) == 1 && at+1 == line
	case '+':
		good = len(x) == 0 && len(y) == 1 && slices.Equal(slices.Delete(slices.Clone(after), line-1, line), before)
	case '-':
		good = len(x) > 0 && len(y) == 0 && at+1 <= line
	case '~':
		good = slices.Equal(sorted(x), sorted(y)) && at < line && line <= at+len(y)
	case '*':
		good = len(x) >= len(y) && len(y) >= 1 && at+1 == line
	case '<':
		good = len(x) >= len(y)
	}
	if !good {
		return fmt.Sprintf("wrong change at %d: -%d +%d lines\n%.300q\n%.300q", at+1, len(x), len(y), x, y)
	}
	return ""
}

// The damaged files of the corpus are what their classes mean, and which line they are reported at: every one must be among
// the results of its kind.
func TestReproducesCorpus(t *testing.T) {
	dir := filepath.Join(corpustest.Dir(t), "bad")
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row := range strings.Lines(string(manifest)) {
		f := strings.Split(strings.TrimSpace(row), "\t")
		if f[1] == "line" || f[1] == "0" {
			continue
		}
		n++
		want, err := os.ReadFile(filepath.Join(dir, f[0]))
		if err != nil {
			t.Fatal(err)
		}
		if !reproduces(byName(t, f[2]), baseOf(bases(t), want), want, f[1]) {
			t.Errorf("%s, line %s: no seed gives it", f[0], f[1])
		}
	}
	if n < 50 {
		t.Errorf("only %d files", n)
	}
}

func reproduces(k Kind, src, want []byte, line string) bool {
	for seed := range 60000 {
		damaged, at, ok := k.Plant(src, random(seed))
		if !ok {
			return false
		}
		if bytes.Equal(damaged, want) && fmt.Sprint(at) == line {
			return true
		}
	}
	return false
}

// baseOf is the base file that most lines of the damaged one come from.
func baseOf(files []source, damaged []byte) (best []byte) {
	most := -1
	for _, f := range files {
		common := 0
		for _, l := range lines(damaged) {
			if bytes.Contains(f.text, []byte(l)) {
				common++
			}
		}
		if common > most {
			most, best = common, f.text
		}
	}
	return best
}

func TestDeterministic(t *testing.T) {
	for _, src := range bases(t) {
		kept := bytes.Clone(src.text)
		for _, k := range Kinds() {
			one, line, ok := k.Plant(src.text, random(5))
			two, again, _ := k.Plant(src.text, random(5))
			if !bytes.Equal(one, two) || line != again {
				t.Errorf("%s in %s: one seed, two results", k.Name, src.name)
			}
			if !ok && (one != nil || line != 0) {
				t.Errorf("%s in %s: a result without a place", k.Name, src.name)
			}
		}
		if !bytes.Equal(kept, src.text) {
			t.Fatalf("%s has been changed", src.name)
		}
	}
}

// Places vary: a harness that always hits the same record would measure little.
func TestPlacesVary(t *testing.T) {
	src := bases(t)[1].text
	for name, least := range map[string]int{"bad-hex": 50, "crlf-mixed": 50, "line-overlap": 30, "cfi-leftover": 15, "public-inside-func": 4, "func-overlap": 3} {
		results := map[string]bool{}
		for seed := range 300 {
			if damaged, _, ok := byName(t, name).Plant(src, random(seed)); ok {
				results[string(damaged)] = true
			}
		}
		if len(results) < least {
			t.Errorf("%s: %d different results in 300", name, len(results))
		}
	}
}

// Files without the records a kind is about, or that are no symbol files at all, have no place for it.
func TestNoPlace(t *testing.T) {
	for _, text := range []string{"", "\n", "MODULE", "MODULE Linux x86_64 0 x\n", "\x00\xff\n\n\r\r\n", "STACK CFI INIT 0 0 \nSTACK WIN \nFUNC  m\nINLINE 0\n",
		"MODULE windows x86 D892A5DF6477A8E41E03C1EB4BC7DE3D1 a.pdb\n"} {
		for _, k := range Kinds() {
			for seed := range 3 {
				damaged, line, ok := k.Plant([]byte(text), random(seed))
				if ok && (line < 1 || line > bytes.Count(damaged, []byte("\n"))+1) {
					t.Errorf("%s in %q: line %d", k.Name, text, line)
				}
				if ok && (strings.HasPrefix(k.Name, "cfi-") || strings.HasPrefix(k.Name, "win-") || strings.HasPrefix(k.Name, "line-")) {
					t.Errorf("%s has found a place in %q", k.Name, text)
				}
			}
		}
	}
}

// A file that is damaged already may have places or not; it never makes a kind fail.
func TestDamagedFiles(t *testing.T) {
	r := random(1)
	for _, src := range bases(t) {
		for n := range 15 {
			list := lines(src.text)
			for range 1 + r.IntN(12) {
				i, j := r.IntN(len(list)), r.IntN(len(list))
				switch r.IntN(4) {
				case 0:
					list[i], list[j] = list[j], list[i]
				case 1:
					list = slices.Delete(list, i, i+1)
				case 2:
					list[i] = list[i][:r.IntN(len(list[i]))] + "\n"
				case 3:
					b := []byte(list[i])
					b[r.IntN(len(b))] = byte(r.IntN(256))
					list[i] = string(b)
				}
			}
			text := []byte(strings.Join(list, ""))
			for _, k := range Kinds() {
				damaged, line, ok := k.Plant(text, random(n))
				if ok && (line < 1 || line > bytes.Count(damaged, []byte("\n"))+1) {
					t.Errorf("%s in a damaged %s: line %d", k.Name, src.name, line)
				}
			}
		}
	}
}

// TestRealFiles holds every kind against the output of many writers.
func TestRealFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the whole corpus")
	}
	n := 0
	err := filepath.WalkDir(corpustest.Dir(t), func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".sym" || strings.Contains(path, "/bad/") {
			return err
		}
		if info, _ := d.Info(); info.Size() > 60e3 {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		for _, k := range Kinds() {
			damaged, line, ok := k.Plant(src, random(n))
			if ok && (bytes.Equal(damaged, src) || line < 1 || line > bytes.Count(damaged, []byte("\n"))+1) {
				t.Errorf("%s in %s: line %d", k.Name, path, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 20 {
		t.Errorf("only %d files", n)
	}
}

// catalogue reads the rule names out of the contract's table.
func catalogue(t *testing.T) map[string]bool {
	b, err := os.ReadFile(filepath.Join(corpustest.Dir(t), "..", "rules.md"))
	if err != nil {
		t.Skip("no rule catalogue on this machine")
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		if len(cells) > 3 {
			for _, name := range strings.Split(cells[1], "·") {
				names[strings.TrimSpace(name)] = true
			}
		}
	}
	return names
}

func TestRulesExist(t *testing.T) {
	known := catalogue(t)
	// What no name of the catalogue stands for.
	beyond := map[string]bool{"func-order": true, "public-order": true}
	for _, k := range Kinds() {
		if len(k.Rules) == 0 || k.What == "" {
			t.Errorf("%s: no rules or no description", k.Name)
		}
		for _, r := range k.Rules {
			if !known[r] && !beyond[r] {
				t.Errorf("%s: no rule %s", k.Name, r)
			}
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Name] {
			t.Errorf("%s twice", k.Name)
		}
		seen[k.Name] = true
	}
}
