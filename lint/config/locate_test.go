package config

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

func TestLocate(t *testing.T) {
	const src = `# comment with 'quotes and [brackets]
a = 1
  "b c" = "x # y" # trailing "
'd.e' = 'it''
f.g = 2
"\u0068" = """
i = 1
\""" " ""
""""
j = '''
k = 1''''
[l]
m = [ 1,   # one ]
  "two]", [3.0, 4], {n = 5},
]
[[o.p]]
q = 1979-05-27 07:32:00
[[o.p]]
q = {r = {s = [ ]}, t = "}"}
[o.p.u]
v = 1
`
	at, deep := locate(strings.Replace(src, `'it''`, `'it'`, 1))
	if deep != nil {
		t.Fatal("too deep")
	}
	key := func(parts ...string) string { return "\x00" + strings.Join(parts, "\x00") }
	want := map[string]position{
		key("a"):                          {2, 1},
		key("b c"):                        {3, 3},
		key("d.e"):                        {4, 1},
		key("f"):                          {5, 1},
		key("f", "g"):                     {5, 3},
		key("h"):                          {6, 1},
		key("j"):                          {10, 1},
		key("l"):                          {12, 2},
		key("l", "m"):                     {13, 1},
		key("l", "m\x010"):                {13, 7},
		key("l", "m\x011"):                {14, 3},
		key("l", "m\x012"):                {14, 11},
		key("l", "m\x012\x010"):           {14, 12},
		key("l", "m\x012\x011"):           {14, 17},
		key("l", "m\x013"):                {14, 21},
		key("l", "m\x013", "n"):           {14, 22},
		key("o"):                          {16, 3},
		key("o", "p"):                     {16, 5},
		key("o", "p\x010"):                {16, 5},
		key("o", "p\x010", "q"):           {17, 1},
		key("o", "p\x011"):                {18, 5},
		key("o", "p\x011", "q"):           {19, 1},
		key("o", "p\x011", "q", "r"):      {19, 6},
		key("o", "p\x011", "q", "r", "s"): {19, 11},
		key("o", "p\x011", "q", "t"):      {19, 21},
		key("o", "p\x011", "u"):           {20, 6},
		key("o", "p\x011", "u", "v"):      {21, 1},
	}
	for k, p := range want {
		if at[k] != p {
			t.Errorf("%q at %v, want %v", k, at[k], p)
		}
	}
	for k := range at {
		if _, ok := want[k]; !ok {
			t.Errorf("%q at %v, which is no key", k, at[k])
		}
	}
}

// paths collects the paths of everything in a decoded document.
func paths(key string, v any, out map[string]bool) {
	if key != "" {
		out[key] = true
	}
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			paths(child(key, name), x, out)
		}
	case []any:
		for i, x := range v {
			paths(element(key, i), x, out)
		}
	case []map[string]any:
		for i, x := range v {
			paths(element(key, i), x, out)
		}
	}
}

var seeds = []string{
	"", "fail-on = 'error'\nmax-per-rule = 3\n", "select = ['a', \"b\"]\n[severity]\ncfi = 'off'\n",
	"[[override]]\npaths = ['**/x']\n[[override]]\npaths = [\n'y', # z\n]\nseverity = {a = 'off'}\n",
	"a.b.\"c d\" = 1\n[a.e]\nf = [[1, 2], [{g = 1}]]", "a = \"\"\"\nx\\\"\"\"\"\"\"", "a='''x'''''", "x = \"\\\"#\" # y",
	"\ufeffa = 1", "a = [\r\n1,\r\n]\r\n", "[a]\n[[a.b]]\n[a.b.c]\n[[a.b.c.d]]\nx=1\n[[a.b]]\n[[a.b.d]]", "\"\\U0001F600\\n\" = 1",
	"min-coverage = inf", "a = 1979-05-27 07:32:00", "baseline = ''", "= 1", "[", "[[", "a = [", "a = {", "a.", "'", "a = \"\\", "[a]]b]c", "\xfe\xff", "a=\"\"\"\\\\\"\"\"\"\"\"", "\ufeff\ufeff",
}

// FuzzParse: no input panics or hangs, and the locator agrees with the decoder on every valid document.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	g := testRegistry(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("c.toml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v and error %v", c, err)
		}
		if c != nil {
			checkErr := c.Check(g)
			if _, err := c.Settings(g, "a/b.sym", Flags{}); err != nil && checkErr == nil {
				t.Fatalf("Check passes, Settings says %v", err)
			}
		}
		if len(data) > MaxSize || !utf8.Valid(data) {
			return
		}
		src := string(data)
		at, deep := locate(src)
		if deep != nil {
			return
		}
		var doc map[string]any
		if _, err := toml.Decode(src, &doc); err != nil {
			return
		}
		want := make(map[string]bool)
		paths("", doc, want)
		for k := range want {
			if _, ok := at[k]; !ok {
				t.Errorf("%q was not located in %q", k, data)
			}
		}
		for _, k := range slices.Sorted(maps.Keys(at)) {
			if !want[k] {
				t.Errorf("located %q, which is not in %q", k, data)
			}
		}
	})
}
