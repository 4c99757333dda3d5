package symdiff

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sample are two files that differ in every aspect.
func sample(t *testing.T) *Result {
	t.Helper()
	base := readBase(t, "base-x86_64.sym")
	edited := base
	for _, r := range [][2]string{
		{lineRow, "1665 7 234 0\n"}, {inlineRow, "INLINE 0 86 0 1 1d9a 16\n"}, {cfaRow, "STACK CFI 166c .cfa: $rsp 232 +\n"},
		{"FUNC 1800 15 0 thread_cond\n", "FUNC 1800 14 0 thread_cond(void*)\n"}, {"DCE498E5E0", "DCE498E5E1"},
		{"FUNC 1d40 1c 0 from_library\n", "FUNC 9d40 1c 0 </script><script>alert(1)</script>\nPUBLIC 9d44 0 inner\nFUNC 1d40 1c 4 from_library\n"},
	} {
		edited = replaced(t, edited, r[0], r[1])
	}
	_, list := blocks(base)
	for _, b := range list {
		if strings.HasPrefix(b, "FUNC 1890 ") {
			edited = replaced(t, edited, b, "")
		}
	}
	r := compare(base, edited)
	r.Old.Path, r.New.Path = "old.sym", "new.sym"
	return r
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("diff.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("diff.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// strict refuses fields that the schema does not name, so that none stays undocumented.
func strict(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			strict(x)
		}
	case []any:
		for _, x := range v {
			strict(x)
		}
	}
}

func validate(t *testing.T, text []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := schema(t).Validate(v); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	strict(doc)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("strict.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("strict.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("undocumented fields: %v", err)
	}
	return v.(map[string]any)
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	r := sample(t)
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	doc := validate(t, b.Bytes())
	if n := len(doc["functions"].([]any)); n != len(r.Changes) || n < 6 {
		t.Errorf("%d functions of %d", n, len(r.Changes))
	}
	b.Reset()
	base := readBase(t, "base-x86.sym")
	if err := compare(base, base).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	if doc := validate(t, b.Bytes()); doc["same"] != true {
		t.Error("a file differs from itself")
	}
	bad := strings.Replace(b.String(), `"same":true`, `"same":"yes"`, 1)
	v, _ := jsonschema.UnmarshalJSON(strings.NewReader(bad))
	if schema(t).Validate(v) == nil {
		t.Error("the schema takes anything")
	}
}

func moduleFile(name, id string, data string) ModuleFile {
	return ModuleFile{Path: name + "/" + id + ".sym", Name: name, Arch: "x86_64", ID: id,
		Open: func() ([]byte, func() error, error) { return []byte(data), func() error { return nil }, nil }}
}

func storeSample(t *testing.T) *StoreResult {
	base := readBase(t, "base-x86_64.sym")
	edited := replaced(t, base, lineRow, "1665 7 234 0\n")
	r := CompareStores(
		[]ModuleFile{moduleFile("gone", "1", base), moduleFile("same", "1", base), moduleFile("twin", "1", base), moduleFile("twin", "2", edited), moduleFile("other", "1", base)},
		[]ModuleFile{moduleFile("twin", "2", edited), moduleFile("twin", "1", base), moduleFile("same", "2", base), moduleFile("other", "9", edited), moduleFile("new", "1", base)},
		Options{})
	r.OldPath, r.NewPath = "old", "new"
	return r
}

// TestStore: modules by name, those of one name by identifier.
func TestStore(t *testing.T) {
	r := storeSample(t)
	var got []string
	for i := range r.Modules {
		got = append(got, r.Modules[i].Name()+" "+r.Modules[i].Status())
	}
	want := "gone removed, new added, other changed, same same, twin same, twin same"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if r.Same() || !r.Meets("any") || !r.Meets("changed-lines") || !r.Meets("lost-modules") || r.Meets("lost-cfi") {
		t.Error("conditions")
	}
	var b bytes.Buffer
	if err := r.WriteJSON(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	validate(t, b.Bytes())
	b.Reset()
	if err := r.WriteText(&b, Options{}, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "tower.cc:233 -> tower.cc:234"); n != 1 {
		t.Errorf("the change is told %d times:\n%s", n, &b)
	}
}

var outside = regexp.MustCompile(`(?i)https?://|\bsrc=|\bhref=|@import|url\(|//# sourceMapping`)

// TestHTML: the page needs nothing from elsewhere, and names in it cannot become markup.
func TestHTML(t *testing.T) {
	var single, store bytes.Buffer
	if err := sample(t).WriteHTML(&single); err != nil {
		t.Fatal(err)
	}
	if err := storeSample(t).WriteHTML(&store, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"single": &single, "store": &store} {
		page := b.String()
		if m := outside.FindString(page); m != "" {
			t.Errorf("%s: the page refers to something else: %q", name, m)
		}
		if n := strings.Count(page, "<script"); n != 2 {
			t.Errorf("%s: %d scripts", name, n)
		}
		_, data, _ := strings.Cut(page, `<script type="application/json" id="data">`)
		data, _, _ = strings.Cut(data, "</script>")
		if !json.Valid([]byte(data)) {
			t.Errorf("%s: the data are no JSON", name)
		}
	}
	if !strings.Contains(single.String(), `\u003c/script\u003e\u003cscript\u003ealert`) {
		t.Error("the name that looks like markup is missing")
	}
	render(t, single.String(), "eat_stack")
	render(t, store.String(), "twin")
}

// render shows the page in a browser, if there is one, and looks for a text that only its script puts there.
func render(t *testing.T, page, want string) {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Log("no browser on this machine: the page was not rendered")
		return
	}
	path := filepath.Join(t.TempDir(), "diff.html")
	if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--disable-gpu", "--no-sandbox", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+path).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	dom := string(out)
	if !strings.Contains(dom, `data-ready="1"`) {
		t.Errorf("the page's script did not finish")
	}
	shown := regexp.MustCompile(`(?s)<script type="application/json".*?</script>`).ReplaceAllString(dom, "")
	if !strings.Contains(shown, want) {
		t.Errorf("the page does not show %q", want)
	}
}

// TestText: the telling of a sample in full.
func TestText(t *testing.T) {
	got := tell(sample(t))
	for _, want := range []string{
		"--- old.sym\n+++ new.sym\n",
		"! +0xc..+0x52: CFA rsp+224 -> rsp+232\n",
		"! +0x5..+0xc: tower.cc:233 -> tower.cc:234\n",
		"- function thread_read at 0x1890, size 0x15: removed (its unwind records are in both files)\n",
		"! name thread_cond -> thread_cond(void*)\n! size 0x15 -> 0x14\n",
		"! params 0x0 -> 0x4\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	var b strings.Builder
	if err := sample(t).WriteText(&b, TextOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[31mrsp+\x1b[0m\x1b[1;31m224\x1b[0m -> \x1b[32mrsp+\x1b[0m\x1b[1;32m232\x1b[0m"; !strings.Contains(b.String(), want) {
		t.Errorf("%q is not in\n%q", want, b.String())
	}
	plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(b.String(), "")
	var uncolored strings.Builder
	_ = sample(t).WriteText(&uncolored, TextOptions{})
	if plain != uncolored.String() {
		t.Error("colour changes the text")
	}
}

// TestJobs: the result does not depend on how many things are done at a time.
func TestJobs(t *testing.T) {
	a, b := readBase(t, "base-x86.sym"), readBase(t, "base-x86_64.sym")
	var want string
	for _, jobs := range []int{1, 2, 7} {
		got := tell(Compare([]byte(a), []byte(b), Options{Jobs: jobs}))
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("another result with %d jobs", jobs)
		}
	}
}
