package rules

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
)

var symbolFamilies = []string{"func", "public", "symbols", "line", "inline"}

// readSymbols reads a symbol file, decompressed.
func readSymbols(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return string(data)
}

// corpusFiles lists the symbol files below folders of the corpus.
func corpusFiles(t testing.TB, folders ...string) (paths []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(corpustest.Dir(t), folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".sym") || strings.HasSuffix(path, ".sym.gz")) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// ofSymbols drops the findings of other families.
func ofSymbols(fs []lint.Finding) []lint.Finding {
	return slices.DeleteFunc(fs, func(f lint.Finding) bool { return !slices.Contains(symbolFamilies, f.Rule.Family) })
}

// Each damaged file has one defect; it is found at its line, and nothing worse than info is said elsewhere.
func TestDamagedSymbols(t *testing.T) {
	classes := map[string]*lint.Rule{
		"func-overlap": funcOverlap, "func-unsorted": funcOrder, "func-size-zero": funcZeroSize,
		"func-duplicate-address": funcDuplicate, "func-address-wrap": funcWraps,
		"line-undefined-file": lineUndefinedFile, "line-outside-func": lineOutsideFunc, "line-past-func-end": lineOutsideFunc,
		"line-orphan": lineOrphan, "line-overlap": lineOverlap,
		"inline-origin-missing": inlineOriginUndefined, "inline-outside-parent": inlineRange, "inline-nest-skip": inlineDepth,
		"inline-undefined-file": inlineCallsiteFile, "inline-duplicate-origin": inlineOriginDuplicate,
		"public-inside-func": publicInsideFunc, "public-duplicate": publicDuplicate, "public-unsorted": publicOrder,
	}
	dir := filepath.Join(corpustest.Dir(t), "bad")
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, row := range strings.Split(string(manifest), "\n")[1:] {
		columns := strings.Split(row, "\t")
		if len(columns) < 3 {
			continue
		}
		rule := classes[columns[2]]
		if rule == nil && columns[2] != "none" {
			continue
		}
		line, _ := strconv.Atoi(columns[1])
		found := ofSymbols(check(t, columns[0], readSymbols(t, filepath.Join(dir, columns[0]))))
		if rule != nil {
			seen++
			if !slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Rule == rule && f.Line == line }) {
				t.Errorf("%s: no %s at line %d:\n%s", columns[0], rule.Name, line, describe(found))
			}
		}
		for _, f := range found {
			if f.Severity > lint.Info && f.Line != line {
				t.Errorf("%s: line %d is healthy: %s", columns[0], f.Line, describe([]lint.Finding{f}))
			}
		}
	}
	if seen != len(classes) {
		t.Errorf("%d of %d classes are in the manifest", seen, len(classes))
	}
}

// Files that producers of today make have nothing worse than info.
func TestHealthySymbols(t *testing.T) {
	paths := corpusFiles(t, "made", "cpu", "pairs", "bad/ebp-esp-swap")
	if len(paths) < 80 {
		t.Errorf("only %d files", len(paths))
	}
	for _, path := range paths {
		for _, f := range ofSymbols(check(t, path, readSymbols(t, path))) {
			if f.Severity > lint.Info {
				t.Errorf("%s: %s", path, describe([]lint.Finding{f}))
			}
		}
	}
}

// What is known to be wrong with published files, counted by a script that shares no code with the rules.
func TestPublishedSymbols(t *testing.T) {
	type count struct {
		rule              *lint.Rule
		findings, records int
	}
	for path, want := range map[string][]count{
		"symbols/breakpad_unittests/DA7778FB66018A4E9B4110ED06E730D00/breakpad_unittests.sym": {
			{funcDuplicate, 55, 392}, {publicThumbBit, 1, 235}},
		"symbols/test_app.pdb/5A9832E5287241C1838ED98914E9B7FF1/test_app.sym":       {{lineZeroSize, 1, 462}, {publicInsideFunc, 5, 5}},
		"symbols/kernel32.pdb/BCE8785C57B44245A669896B6A19B9542/kernel32.sym":       {{publicOrder, 487, 487}},
		"symbols/crash_example/8F36148CC4647A8116CAF2A25F591F570/crash_example.sym": {{lineUndefinedFile, 2, 35}},
		"symbols/crash/67E9247C814E392BA027DBDE6748FCBF0/crash.sym":                 {{lineNumberZero, 1, 13}, {publicAddressZero, 1, 1}},
		"sym/bp-mac-dump_syms_i386_breakpad.sym":                                    {{lineOutsideFunc, 319, 1738}},
		"sym/bp-dump_syms_regtest64.sym":                                            {{lineOutsideFunc, 3, 3}, {lineZeroSize, 1, 61}},
		"sym/bp-omap_reorder_bbs.sym":                                               {{lineOutsideFunc, 67, 1194}, {funcOrder, 108, 108}, {publicInsideFunc, 3, 3}},
		"sym/bp-solaris-dump_syms_regtest.sym":                                      {{funcAddressZero, 1, 9}, {funcZeroSize, 1, 2}, {lineOutsideFunc, 8, 8}, {funcDuplicate, 0, 0}},
		"sym/bp-module1.out.sym":                                                    {{funcZeroSize, 1, 1}},
		"sym/symbolic-crash_linux.cfi-only.sym":                                     {{symbolsMissing, 1, 1}},
		"sym/mozdump-basic.full.inlines.sym":                                        {{inlineNesting, 0, 0}, {inlineRange, 0, 0}, {inlineDepth, 0, 0}},
		"sym/mozdump-mozwer.sym":                                                    {{funcUnnamed, 1, 1545}, {publicUnbounded, 0, 0}},
		"symbols/null_read_av/7B7D1968FF0D47AE4366E9C3A7E1B6750/null_read_av.sym":   {{funcOverlap, 0, 0}, {lineOverlap, 0, 0}},
		"symbols/libc-2.13.so/F4F8DFCD5A5FB5A7CE64717E9E6AE3890/libc-2.13.so.sym":   {{publicDuplicate, 0, 0}},
		"symbols/libgcc_s.so.1/18B180F90887D8F8B5C35D185444AF4C0/libgcc_s.so.1.sym": {{publicDuplicate, 0, 0}},
		"symbols/overflow/B0E1FC01EF48E39CAF5C881D2DF0C3840/overflow.sym":           {{funcOverlap, 0, 0}, {lineOverlap, 0, 0}},
		"symbols/ld-2.13.so/C32AD7E235EA6112E02A5B9D6219C4850/ld-2.13.so.sym":       {{publicDuplicate, 0, 0}},
		"sym/symbolic-CrashWithException.pdb.sym":                                   {{lineZeroSize, 1, 22}, {funcDuplicate, 0, 0}},
		"sym/mozdump-basic-opt32.sym.gz":                                            {{funcUnnamed, 0, 0}, {publicUnbounded, 0, 0}},
	} {
		found := check(t, path, readSymbols(t, filepath.Join(corpustest.Dir(t), "public", path)))
		for _, w := range want {
			got := count{rule: w.rule}
			for _, f := range found {
				if f.Rule == w.rule {
					got.findings++
					got.records += f.Count
				}
			}
			if got != w {
				t.Errorf("%s: %s: %d findings for %d records, want %d for %d", path, w.rule.Name, got.findings, got.records, w.findings, w.records)
			}
		}
		for _, f := range ofSymbols(found) {
			if f.Severity == lint.Error && f.Rule != symbolsMissing {
				t.Errorf("%s: %s", path, describe([]lint.Finding{f}))
			}
		}
	}
}

func TestCorpusHoweverCut(t *testing.T) {
	if testing.Short() {
		t.Skip("reads every file many times")
	}
	for _, path := range corpusFiles(t, "public", "bad", "pairs") {
		text := readSymbols(t, path)
		if len(text) < 400_000 {
			t.Run(filepath.Base(path), func(t *testing.T) { sameHoweverCut(t, text) })
		}
	}
}

// symText is a symbol file as lines of words, to be damaged.
type symText struct{ lines [][]string }

func newSymText(text string) *symText {
	x := new(symText)
	for _, l := range strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n") {
		x.lines = append(x.lines, strings.Split(l, " "))
	}
	return x
}

func (x *symText) String() string {
	var b strings.Builder
	for _, l := range x.lines {
		b.WriteString(strings.Join(l, " "))
		b.WriteByte('\n')
	}
	return b.String()
}

func (x *symText) hex(line, word int) uint64 {
	v, _ := strconv.ParseUint(x.lines[line][word], 16, 64)
	return v
}

func (x *symText) set(line, word int, v uint64) { x.lines[line][word] = strconv.FormatUint(v, 16) }

func (x *symText) insert(line int, text string) {
	x.lines = slices.Insert(x.lines, line, strings.Split(text, " "))
}

func (x *symText) isLine(i int) bool {
	return i < len(x.lines) && len(x.lines[i]) == 4 && strings.ToUpper(x.lines[i][0]) != x.lines[i][0] || i < len(x.lines) &&
		len(x.lines[i]) == 4 && x.lines[i][0][0] <= '9'
}

// funcs are the lines of FUNC records without mark that have bytes.
func (x *symText) funcs() (out []int) {
	for i, l := range x.lines {
		if l[0] == "FUNC" && l[1] != "m" && l[2] != "0" {
			out = append(out, i)
		}
	}
	return out
}

// symbolDefect is a way to damage a file. It returns the index of the damaged line, -1 where the place does not lend itself.
type symbolDefect struct {
	rule  *lint.Rule
	apply func(x *symText, random *rand.Rand) int
}

var symbolDefects = map[string]symbolDefect{
	"func-overlap": {funcOverlap, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		i := random.IntN(len(fs) - 1)
		a, b := fs[i], fs[i+1]
		start, next := x.hex(a, 1), x.hex(b, 1)
		if next <= start {
			return -1
		}
		x.set(a, 2, next-start+1+random.Uint64N(x.hex(b, 2)))
		return a
	}},
	"func-zero-size": {funcZeroSize, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		a := fs[random.IntN(len(fs))]
		x.set(a, 2, 0)
		return a
	}},
	"func-duplicate": {funcDuplicate, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		a := fs[random.IntN(len(fs))]
		twin := append(slices.Clone(x.lines[a][:4]), "twin_of_it")
		for a++; x.isLine(a) || a < len(x.lines) && x.lines[a][0] == "INLINE"; a++ {
		}
		x.insert(a, strings.Join(twin, " "))
		return a
	}},
	"func-wraps": {funcWraps, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		a := fs[random.IntN(len(fs))]
		x.lines[a][1], x.lines[a][2] = "ffffffffffffff00", "200"
		return a
	}},
	"func-order": {funcOrder, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		if len(fs) < 3 {
			return -1
		}
		i := random.IntN(len(fs) - 2)
		a, b, c := fs[i], fs[i+1], fs[i+2]
		if x.hex(a, 1) >= x.hex(b, 1) || x.hex(b, 1) >= x.hex(c, 1) {
			return -1
		}
		first := slices.Clone(x.lines[a:b])
		x.lines = slices.Insert(slices.Delete(x.lines, a, b), c-len(first), first...)
		return c - len(first)
	}},
	"line-outside": {lineOutsideFunc, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		a := fs[random.IntN(len(fs))]
		end := x.hex(a, 1) + x.hex(a, 2)
		n := 0
		for x.isLine(a + 1 + n) {
			n++
		}
		if n == 0 {
			return -1
		}
		l := a + 1 + random.IntN(n)
		if x.lines[l][1] == "0" {
			return -1
		}
		x.set(l, 0, end+random.Uint64N(9))
		return l
	}},
	"line-past-end": {lineOutsideFunc, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		a := fs[random.IntN(len(fs))]
		end := x.hex(a, 1) + x.hex(a, 2)
		l := a
		for x.isLine(l + 1) {
			l++
		}
		if l == a || x.hex(l, 0) >= end || x.lines[l][1] == "0" {
			return -1
		}
		x.set(l, 1, end-x.hex(l, 0)+1+random.Uint64N(9))
		return l
	}},
	"line-overlap": {lineOverlap, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		l := fs[random.IntN(len(fs))] + 1
		for random.IntN(3) > 0 && x.isLine(l+2) {
			l++
		}
		if !x.isLine(l) || !x.isLine(l+1) || x.lines[l+1][1] == "0" || x.lines[l][1] == "0" || x.hex(l, 0)+x.hex(l, 1) != x.hex(l+1, 0) {
			return -1
		}
		x.set(l, 1, x.hex(l, 1)+1+random.Uint64N(x.hex(l+1, 1)))
		return l
	}},
	"line-undefined-file": {lineUndefinedFile, func(x *symText, random *rand.Rand) int {
		l := random.IntN(len(x.lines))
		if !x.isLine(l) {
			return -1
		}
		x.lines[l][3] = "900000"
		return l
	}},
	"line-orphan": {lineOrphan, func(x *symText, random *rand.Rand) int {
		a := x.funcs()[0]
		if !x.isLine(a+1) || slices.ContainsFunc(x.lines[:a], func(l []string) bool { return l[0] == "FUNC" }) {
			return -1
		}
		x.lines[a], x.lines[a+1] = x.lines[a+1], x.lines[a]
		return a
	}},
	"inline-past-end": {inlineRange, func(x *symText, random *rand.Rand) int {
		l, f := x.inlineRecord(random)
		if l < 0 || x.hex(l, 5) < x.hex(f, 1) || x.hex(l, 5) >= x.hex(f, 1)+x.hex(f, 2) {
			return -1
		}
		x.set(l, 6, x.hex(f, 1)+x.hex(f, 2)-x.hex(l, 5)+1+random.Uint64N(32))
		return l
	}},
	"inline-depth": {inlineDepth, func(x *symText, random *rand.Rand) int {
		l, _ := x.inlineRecord(random)
		if l < 0 {
			return -1
		}
		x.lines[l][1] = strconv.Itoa(atoi(x.lines[l][1]) + 2)
		if p := x.lines[l-1]; p[0] == "INLINE" && atoi(p[1])+1 >= atoi(x.lines[l][1]) {
			return -1
		}
		return l
	}},
	"inline-undefined-file": {inlineCallsiteFile, func(x *symText, random *rand.Rand) int {
		l, _ := x.inlineRecord(random)
		if l >= 0 {
			x.lines[l][3] = "77777"
		}
		return l
	}},
	"inline-undefined-origin": {inlineOriginUndefined, func(x *symText, random *rand.Rand) int {
		l, _ := x.inlineRecord(random)
		if l >= 0 {
			x.lines[l][4] = "77777"
		}
		return l
	}},
	"inline-form": {inlineForm, func(x *symText, random *rand.Rand) int {
		l, _ := x.inlineRecord(random)
		if l >= 0 {
			x.lines[l] = x.lines[l][:len(x.lines[l])-1]
		}
		return l
	}},
	"public-inside": {publicInsideFunc, func(x *symText, random *rand.Rand) int {
		fs := x.funcs()
		a := fs[random.IntN(len(fs))]
		if x.hex(a, 2) < 4 {
			return -1
		}
		x.lines = append(x.lines, []string{"PUBLIC", strconv.FormatUint(x.hex(a, 1)+2+random.Uint64N(x.hex(a, 2)-2), 16), "0", "stray"})
		return len(x.lines) - 1
	}},
	"public-duplicate": {publicDuplicate, func(x *symText, random *rand.Rand) int {
		l := random.IntN(len(x.lines))
		for ; l < len(x.lines) && (x.lines[l][0] != "PUBLIC" || x.lines[l][1] == "m" || x.lines[l][1] == "0"); l++ {
		}
		if l == len(x.lines) {
			return -1
		}
		x.insert(l+1, "PUBLIC "+x.lines[l][1]+" 0 other_name")
		return l + 1
	}},
}

// inlineRecord picks an INLINE record with one range, and its FUNC; -1 if there is none behind a random place.
func (x *symText) inlineRecord(random *rand.Rand) (line, fn int) {
	for l := random.IntN(len(x.lines)); l < len(x.lines); l++ {
		if x.lines[l][0] != "INLINE" || len(x.lines[l]) != 7 {
			continue
		}
		for fn = l; x.lines[fn][0] != "FUNC"; fn-- {
		}
		if x.lines[fn][1] == "m" {
			return -1, -1
		}
		return l, fn
	}
	return -1, -1
}

// Defects planted at random places of real files are found at their lines, and no warning or error appears elsewhere.
func TestPlantedSymbols(t *testing.T) {
	paths := append(corpusFiles(t, "bad/ebp-esp-swap/crasher-gcc12-O0", "cpu/symbols", "made/symbols-inline", "public/symbols"),
		filepath.Join(corpustest.Dir(t), "public/sym/mozdump-basic.full.inlines.sym"),
		filepath.Join(corpustest.Dir(t), "public/sym/mozdump-basic64.sym.gz"),
		filepath.Join(corpustest.Dir(t), "public/sym/symbolic-CrashWithException.pdb.sym"))
	random := rand.New(rand.NewPCG(43, 47))
	planted := map[string]int{}
	for _, path := range paths {
		text := readSymbols(t, path)
		if len(text) > 700_000 || len(newSymText(text).funcs()) < 3 {
			continue
		}
		healthy := map[string]bool{}
		for _, f := range ofSymbols(check(t, path, newSymText(text).String())) {
			healthy[f.Rule.Name+f.Key()] = true
		}
		for _, name := range slices.Sorted(maps.Keys(symbolDefects)) {
			p, x, at := symbolDefects[name], newSymText(text), -1
			for try := 0; try < 8 && at < 0; try++ {
				x = newSymText(text)
				at = p.apply(x, random)
			}
			if at < 0 {
				continue
			}
			planted[name]++
			found := ofSymbols(check(t, path, x.String()))
			if !slices.ContainsFunc(found, func(f lint.Finding) bool { return f.Rule == p.rule && f.Line == at+1 }) {
				t.Errorf("%s: %s at line %d is not found: %s\n%s", path, name, at+1, strings.Join(x.lines[at], " "), describe(found))
			}
			for _, f := range found {
				if f.Severity > lint.Info && f.Line != at+1 && !healthy[f.Rule.Name+f.Key()] {
					t.Errorf("%s: %s at line %d brings %s", path, name, at+1, describe([]lint.Finding{f}))
				}
			}
		}
	}
	for name := range symbolDefects {
		if planted[name] < 5 {
			t.Errorf("%s was planted %d times", name, planted[name])
		}
	}
}
