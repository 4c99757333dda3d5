package cli

import "testing"

func TestReferenceStem(t *testing.T) {
	for dump, want := range map[string]string{
		"crash.dmp":              "crash",
		"crash.dmp.gz":           "crash",
		"crash.DMP.ZST":          "crash",
		"a.b/crash.mdmp":         "a.b/crash",
		"core":                   "core",
		"core.gz":                "core",
		"core.1234":              "core.1234",
		"a/core.app.1000.zst":    "a/core.app.1000",
		"app.core":               "app",
		"log.microdump":          "log",
		"android.txt":            "android",
		"crash":                  "crash",
		"crash.stackwalk.dmp.gz": "crash.stackwalk",
		".gz":                    "",
	} {
		if got := referenceStem(dump); got != want {
			t.Errorf("%s: %q, want %q", dump, got, want)
		}
	}
}

func TestDumpName(t *testing.T) {
	for name, want := range map[string][2]bool{
		"a.dmp": {true, false}, "A.DMP.GZ": {true, false}, "a.mdmp.zst": {true, false}, "x.microdump": {true, false},
		"app.core": {true, false}, "core": {false, true}, "core.gz": {false, true}, "core.17": {false, true}, "core.c": {false, true},
		"a.sym": {false, false}, "a.dmp.txt": {false, false}, "corey": {false, false}, "dmp": {false, false}, "scores.gz": {false, false},
	} {
		if sure, perhaps := dumpName(name); sure != want[0] || perhaps != want[1] {
			t.Errorf("%s: %v %v, want %v", name, sure, perhaps, want)
		}
	}
}
