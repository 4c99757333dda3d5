package rules

import "testing"

func TestPublic(t *testing.T) {
	const head = "MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n"
	const arm = "MODULE Linux arm B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app\n"
	const end = "FUNC 9000 10 0 end\n"
	testRuleCases(t, []string{"public"}, []ruleCase{
		{"one address", head + end + "PUBLIC 1000 0 a\nPUBLIC 1000 0 b\nPUBLIC 1010 0 c\n", []string{"public-duplicate@4"}},
		{"one address thrice", head + end + "PUBLIC 1000 0 a\nPUBLIC 1000 0 b\nPUBLIC 1000 0 a\n", []string{"public-duplicate@4*2"}},
		{"far apart in the file", head + "PUBLIC 1000 0 a\nPUBLIC 2000 0 b\nPUBLIC 1000 0 c\n" + end,
			[]string{"public-duplicate@4", "public-order@4"}},
		{"address 0 is not looked at", head + end + "PUBLIC 0 0 a\nPUBLIC 0 0 b\nPUBLIC 1010 0 c\n", []string{"public-address-zero@3*2"}},
		{"inside", head + "FUNC 1000 100 0 f\n" + end + "PUBLIC 1000 0 f\nPUBLIC 1001 0 a\nPUBLIC 10ff 0 b\nPUBLIC 1100 0 c\n",
			[]string{"public-inside-func@5*2"}},
		{"inside two functions", head + "FUNC 1000 100 0 f\nFUNC 1100 10 0 g\n" + end + "PUBLIC 1020 0 a\nPUBLIC 1108 0 b\n",
			[]string{"public-inside-func@5", "public-inside-func@6"}},
		{"inside what an oversized function covers", head + "FUNC 1000 1100 0 f\nFUNC 2000 10 0 g\n" + end + "PUBLIC 1020 0 a\nPUBLIC 1108 0 b\n", nil},
		{"empty and discarded functions contain nothing", head + "FUNC 1000 0 0 f\nFUNC 0 9999 0 g\n" + end + "PUBLIC 1020 0 a\n", nil},
		{"Thumb twins", arm + "FUNC 1000 10 0 f\nFUNC 1010 10 0 g\n" + end + "PUBLIC 1001 0 f\nPUBLIC 1011 0 g\nPUBLIC 1021 0 h\n",
			[]string{"public-thumb-bit@5*2", "public-thumb-bit@7"}},
		{"odd inside a Thumb function", arm + "FUNC 1000 10 0 f\n" + end + "PUBLIC 1007 0 x\n", []string{"public-inside-func@4"}},
		{"odd addresses elsewhere are code", head + end + "PUBLIC 1001 0 f\n", nil},
		{"the last one", head + "FUNC 1000 10 0 f\nPUBLIC 1010 0 a\nPUBLIC 2000 0 b\n", []string{"public-unbounded@4"}},
		{"the last by address", head + "FUNC 1000 10 0 f\nPUBLIC 2010 0 a\nPUBLIC 1800 0 b\n", []string{"public-unbounded@3", "public-order@4"}},
		{"a function behind it", head + "FUNC 3000 10 0 f\nPUBLIC 1010 0 a\n", nil},
		{"only address 0", head + "PUBLIC 0 0 __mh_execute_header\n", []string{"public-address-zero@2"}},
	})
}

func TestPublicDuplicateMarked(t *testing.T) {
	f := onlyFinding(t, publicDuplicate, exampleHead+"PUBLIC m 1000 0 a\nPUBLIC m 1000 0 b\n"+exampleMainCFI)
	if f.Severity.String() != "info" {
		t.Errorf("symbols that are marked are %s", f.Severity)
	}
}
