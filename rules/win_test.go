package rules

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/corpustest"
	"github.com/symlint/symlint/unwind/postfix"
)

const (
	winModule    = "MODULE windows x86 D892A5DF6477A8E41E03C1EB4BC7DE3D1 a.pdb\n"
	ebpProgram   = "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + ="
	searchText   = "$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + ="
	frameRecord  = "STACK WIN 4 %x %x 0 0 0 0 %x 0 1 " + searchText + "\n"
	winFunctions = "FUNC 1000 20 0 a\nFUNC 1020 20 0 b\nFUNC 1040 20 0 c\n"
)

// frames writes STACK WIN records of type 4: address, size and locals of each.
func frames(v ...int) string {
	var b strings.Builder
	for i := 0; i < len(v); i += 3 {
		fmt.Fprintf(&b, frameRecord, v[i], v[i+1], v[i+2])
	}
	return b.String()
}

func TestWinTypes(t *testing.T) {
	rec := func(kind string) string { return "STACK WIN " + kind + " 1000 10 0 0 0 0 0 0 1 " + searchText + "\n" }
	fpo := func(kind string) string { return "STACK WIN " + kind + " 1000 10 0 0 0 0 0 0 0 0\n" }
	testRuleCases(t, []string{"win"}, []ruleCase{
		{"frame data and FPO", winModule + rec("4") + fpo("0"), nil},
		{"a type that does not exist", winModule + rec("5"), []string{"win-type@2"}},
		{"each on its own", winModule + rec("7") + rec("f") + rec("10"), []string{"win-type@2", "win-type@3", "win-type@4"}},
		{"unused types are one finding", winModule + fpo("1") + rec("4") + fpo("2") + rec("3"), []string{"win-type@2*3"}},
		{"of an unused type nothing else matters", winModule + "STACK WIN 3 1000 0 20 0 2 0 0 0 1 + +\n", []string{"win-type@2"}},
		{"another CPU", strings.Replace(winModule, "x86", "x86_64", 1) + rec("4") + rec("4"), []string{"win-type@2*2"}},
		{"another CPU and no type", strings.Replace(winModule, "x86", "arm64", 1) + rec("9") + rec("4"), []string{"win-type@2", "win-type@3"}},
		{"Linux on x86 is fine", strings.Replace(winModule, "windows", "Linux", 1) + rec("4"), nil},
		{"a CPU nobody knows is not ours", strings.Replace(winModule, "x86", "unknown", 1) + rec("4"), nil},
		{"no MODULE", rec("4"), nil},
		{"two digits where rust-minidump reads one", winModule + rec("04") + "STACK WIN 0 1020 10 0 0 0 0 0 0 00 0\n",
			[]string{"win-type@2", "win-flag-mismatch@3"}},
		{"a record that cannot be read is not ours", winModule + "STACK WIN 4 1000 10 0 0 0 0 0 0 1\nSTACK WIN 9 zz 10 0 0 0 0 0 0 1 x\n", nil},
	})
	f := onlyFinding(t, winType, strings.Replace(winModule, "x86", "x86_64", 1)+rec("4"))
	if f.Severity != lint.Warning || !strings.Contains(f.Message, "x86_64") {
		t.Errorf("%s: %s", f.Severity, f.Message)
	}
	f = onlyFinding(t, winType, winModule+rec("04"))
	if f.Effects[lint.RustMinidump].Impact != lint.Rejects || f.Effects[lint.Breakpad].Impact != lint.Unaffected {
		t.Errorf("effects %v", f.Effects)
	}
}

func TestWinFlag(t *testing.T) {
	rec := func(kind int, has, last string) string {
		return fmt.Sprintf("%sSTACK WIN %d 1000 10 0 0 0 0 0 0 %s %s\n", winModule, kind, has, last)
	}
	testRuleCases(t, []string{"win"}, []ruleCase{
		{"FPO with base pointer", rec(0, "0", "1"), nil},
		{"linux-gate's frame data without a program", rec(4, "0", "1"), []string{"win-flag-mismatch@2"}},
		{"a program that is not announced", rec(4, "0", searchText), []string{"win-flag-mismatch@2"}},
		{"a flag for a program", rec(4, "1", "0"), []string{"win-flag-mismatch@2"}},
		{"announced by 2", rec(4, "2", searchText), []string{"win-flag-mismatch@2"}},
		{"FPO with a program", rec(0, "1", searchText), []string{"win-flag-mismatch@2"}},
		{"FPO that announces a program", rec(0, "1", "0"), []string{"win-flag-mismatch@2"}},
		{"a flag that is none", rec(0, "0", "2"), []string{"win-flag-mismatch@2"}},
		{"a program in place of the flag", rec(0, "0", searchText), []string{"win-flag-mismatch@2"}},
	})
}

func TestWinProgram(t *testing.T) {
	for _, c := range []struct {
		name, program string
		culprit       string // "" = no finding
		effects       *lint.Effects
	}{
		{"MSVC with frame pointer", ebpProgram, "", nil},
		{"MSVC with parameters", ebpProgram + " $L $T0 .cbSavedRegs - = $P $T0 8 + .cbParams + =", "", nil},
		{"MSVC without", "$T2 $esp .cbLocals + .cbSavedRegs + = $T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + = $ebx $T0 4 - ^ =", "", nil},
		{"MSVC in an epilogue", "$T0 $ebp = $T2 $esp = $T1 .raSearchStart = $eip $T1 ^ = $ebp $T0 = $esp $T1 4 + =", "", nil},
		{"MSVC with a realigned stack", "$T1 .raSearch = $T0 $T1 4 - 8 @ = $ebp $T1 4 - ^ = $eip $T1 ^ = $esp $T1 4 + =", "", nil},
		{"link-time code generation", "$T0 $ebp = $eip $T0 4 + ^ =$ebp $T0 ^ =$esp $T0 8 + =", "", nil},
		{"a base kept in $ebx", "$T0 $ebx = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =", "", nil},

		{"an assignment operator missing", "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ $esp $T0 8 + =", "$ebp $T0 ^ $esp $T0 8 + =", &winLeftover},
		{"the first one missing", "$T0 $ebp $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =", "$T0 $ebp $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =", &winLeftover},
		{"a value left over", ebpProgram + " $T0", "$T0", &winLeftover},
		{"an operator too many", "$T0 $ebp = + $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =", "+", &winFails},
		{"unknown variable", strings.Replace(ebpProgram, "$eip $T0", "$eip $T9", 1), "$T9", &winFails},
		{"read before it is assigned", "$eip $T0 4 + ^ = $T0 $ebp = $ebp $T0 ^ = $esp $T0 8 + =", "$T0", &winFails},
		{"$eip has no value", "$T0 $eip = $eip $T0 4 + ^ = $esp $T0 8 + =", "$eip", &winFails},
		{"constant that does not exist", strings.Replace(searchText, ".raSearch", ".raSeek", 1), ".raSeek", &winFails},
		{"hexadecimal", strings.Replace(ebpProgram, " 8 ", " 0x8 ", 1), "0x8", &winFails},
		{"assignment to a constant", ebpProgram + " .cbParams 4 =", ".cbParams", &winOddTarget},
		{"assignment to a register without its mark", strings.Replace(ebpProgram, "$esp $T0", "esp $T0", 1), "esp", &winFails},
		{"assignment to a number", ebpProgram + " 5 4 =", "5", &winFails},
		{"assignment to a negative number", ebpProgram + " -5 4 =", "-5", &winCrash},
		{"division by zero", strings.Replace(ebpProgram, "8 +", "0 /", 1), "/", &winCrash},
		{"a crash comes before anything else", "$eip $T0 4 + ^ = $esp $ebp 0 / =", "/", &winCrash},
		{"alignment to no power of two", "$T0 .raSearch 12 @ = $eip $T0 ^ = $esp $T0 4 + =", "@", &winRustFails},
		{"no $eip", "$T0 $ebp = $ebp $T0 ^ = $esp $T0 8 + =", "$T0 $ebp = $ebp $T0 ^ = $esp $T0 8 + =", &winNoIP},
		{"no $esp", "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ =", "$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ =", &winNoSP},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := winModule + winFunctions + "STACK WIN 4 1000 20 0 0 0 0 0 0 1 " + c.program + "\n"
			found := check(t, "example.sym", text)
			var got []lint.Finding
			for _, f := range found {
				if f.Rule == winProgram {
					got = append(got, f)
				}
			}
			if c.culprit == "" {
				if len(got) > 0 {
					t.Errorf("a healthy program has\n%s", describe(got))
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%d findings\n%s", len(got), describe(found))
			}
			f := got[0]
			line := strings.Split(text, "\n")[f.Line-1]
			if culprit := line[f.Column-1 : f.EndColumn-1]; f.Line != 5 || culprit != c.culprit {
				t.Errorf("line %d: %q is to blame, want %q", f.Line, culprit, c.culprit)
			}
			if f.Effects != *c.effects || f.Severity != lint.Error || f.Function != "a" {
				t.Errorf("%s in %s: %s\n%s", f.Severity, f.Function, f.Message, f.Effects.String(lint.AllConsumers))
			}
			// The reference's evaluator agrees that the program cannot be run, but for what only rust-minidump refuses.
			if c.effects != &winRustFails && runs(c.program) {
				t.Error("Google's evaluator runs it")
			}
			sameHoweverCut(t, text)
		})
	}
}

// stackEnv gives programs what the x86 walker gives them, and a stack in which every word can be read.
type stackEnv struct{}

func (stackEnv) Load(uint64) (uint64, bool) { return 0x1234, true }

func (stackEnv) Variable(p *postfix.Program, name int) (uint64, bool) {
	return 0x1000, winGiven[p.Names[name].Text]
}

// runs evaluates a program as Google's walker does.
func runs(program string) bool {
	p, _ := postfix.Compile([]byte(program), postfix.Win)
	m := postfix.Machine{Semantics: postfix.Breakpad, Word: 4}
	if m.Run(p, stackEnv{}).Failed() {
		return false
	}
	_, eip := m.Variable("$eip")
	_, esp := m.Variable("$esp")
	return eip == postfix.Assigned && esp == postfix.Assigned
}

func TestWinProgramPerRecord(t *testing.T) {
	bad := strings.Replace(searchText, "$esp", "$exp", 1)
	text := winModule + winFunctions
	for addr := 0x1000; addr < 0x1060; addr += 0x20 {
		text += fmt.Sprintf("STACK WIN 4 %x 20 0 0 0 0 0 0 1 %s\n", addr, bad)
	}
	testRuleCases(t, []string{"win"}, []ruleCase{{"each record with the text", text, []string{"win-program@5", "win-program@6", "win-program@7"}}})
}

func TestWinTemporaries(t *testing.T) {
	rec := func(addr int, more string) string {
		return fmt.Sprintf("STACK WIN 4 %x 20 0 0 0 4 0 0 1 %s%s\n", addr, ebpProgram, more)
	}
	testRuleCases(t, []string{"win"}, []ruleCase{
		{"by name", winModule + rec(0x1000, " $ebx $T0 4 - ^ ="), nil},
		{"one finding for each register", winModule + rec(0x1000, "") + rec(0x1020, " $23 $T0 4 - ^ =") + rec(0x1040, " $20 $T0 4 - ^ = $23 $T0 8 - ^ ="),
			[]string{"win-program-temporaries@3*2", "win-program-temporaries@4"}},
		{"a temporary that is read", winModule + rec(0x1000, " $20 $T0 4 - ^ = $ebx $20 ="), nil},
		{"$T0 and its like are never read back either", winModule + rec(0x1000, " $T7 $T0 4 - = $L $T0 ="), nil},
	})
	f := onlyFinding(t, winTemporaries, winModule+rec(0x1000, " $24 $T0 4 - ^ ="))
	if f.Severity != lint.Warning || f.Subject != "$24" || !strings.Contains(f.Message, "edi") {
		t.Errorf("%s %q: %s", f.Severity, f.Subject, f.Message)
	}
	if line := strings.Split(winModule+rec(0x1000, " $24 $T0 4 - ^ ="), "\n")[f.Line-1]; line[f.Column-1:f.EndColumn-1] != "$24" {
		t.Errorf("the caret stands under %q", line[f.Column-1:f.EndColumn-1])
	}
}

func TestWinRanges(t *testing.T) {
	head := winModule + winFunctions
	testRuleCases(t, []string{"win"}, []ruleCase{
		{"neighbours", head + frames(0x1000, 0x20, 0, 0x1020, 0x20, 0), nil},
		{"one byte too many", head + frames(0x1000, 0x21, 0, 0x1020, 0x20, 0), []string{"win-overlap@5"}},
		{"the lower one later in the file", head + frames(0x1020, 0x20, 0, 0x1000, 0x21, 0), []string{"win-overlap@6"}},
		{"into two", head + frames(0x1000, 0x41, 0, 0x1020, 0x31, 0, 0x1050, 0x10, 0), []string{"win-overlap@5", "win-overlap@6"}},
		{"two of them", head + frames(0x1000, 0x22, 0, 0x1020, 0x24, 0, 0x1040, 0x20, 0), []string{"win-overlap@5", "win-overlap@6"}},
		{"types do not meet", head + frames(0x1000, 0x28, 0) + "STACK WIN 0 1020 20 0 0 0 0 0 0 0 0\n", nil},
		{"FPO", head + "STACK WIN 0 1000 28 0 0 0 0 0 0 0 0\nSTACK WIN 0 1020 20 0 0 0 0 0 0 0 0\n", []string{"win-overlap@5"}},
		{"without symbols", winModule + frames(0x1000, 0x28, 0, 0x1020, 0x20, 0), []string{"win-overlap@2"}},
		{"a PUBLIC begins there", winModule + "PUBLIC 1000 0 a\nPUBLIC 1020 0 b\n" + frames(0x1000, 0x28, 0, 0x1020, 0x20, 0), []string{"win-overlap@4"}},
		{"MSVC's pieces of one function", head + frames(0x1002, 0x10, 0, 0x1003, 0x1d, 0), []string{"win-overlap@5"}},
		{"the piece that leaves the function", head + frames(0x1000, 0x20, 0, 0x1010, 0x14, 0), []string{"win-overlap@6"}},
		{"that piece reaches into the next one as well", head + frames(0x1000, 0x20, 0, 0x1010, 0x14, 0, 0x1020, 0x20, 0), []string{"win-overlap@6"}},
		{"suffix chain", head + frames(0x1000, 0x20, 0, 0x1004, 0x1c, 4, 0x1008, 0x18, 8), nil},
		{"nested, with code behind", head + frames(0x1000, 0x20, 0, 0x1008, 8, 4), []string{"win-overlap@5"}},
		{"nested, the inner one first", head + frames(0x1008, 8, 4, 0x1000, 0x20, 0), []string{"win-overlap@6"}},
		{"same range, other frame", head + frames(0x1000, 0x20, 0, 0x1000, 0x20, 4, 0x1000, 0x20, 8), []string{"win-overlap@6*2"}},
		{"repeated", head + frames(0x1000, 0x20, 4, 0x1000, 0x20, 4), []string{"win-overlap@6"}},
		{"empty", head + "STACK WIN 4 1000 0 0 0 0 0 0 0 1 " + searchText + "\n", []string{"win-range@5"}},
		{"beyond 4 GiB", head + "STACK WIN 0 1000 fffff001 0 0 0 0 0 0 0 0\n", []string{"win-range@5"}},
		{"up to 4 GiB, and huge", head + "STACK WIN 0 1000 fffff000 0 0 0 0 0 0 0 0\n", []string{"win-range@5"}},
		{"huge", head + "STACK WIN 0 1000 1000000 0 0 0 0 0 0 0 0\n", []string{"win-range@5"}},
		{"large", head + "STACK WIN 0 1000 ffffff 0 0 0 0 0 0 0 0\n", nil},
		{"prologue", head + "STACK WIN 0 1000 20 20 0 0 0 0 0 0 0\nSTACK WIN 0 1020 20 21 0 0 0 0 0 0 0\n", []string{"win-prologue@6"}},
		{"epilogue", head + "STACK WIN 0 1000 20 0 20 0 0 0 0 0 0\nSTACK WIN 0 1020 20 0 21 0 0 0 0 0 0\n", []string{"win-prologue@6"}},
		{"both", head + "STACK WIN 0 1000 20 10 10 0 0 0 0 0 0\nSTACK WIN 0 1020 20 10 11 0 0 0 0 0 0\n", []string{"win-prologue@6"}},
	})
	for _, c := range []struct {
		text     string
		severity lint.Severity
		rust     lint.Impact
	}{
		{frames(0x1000, 0x21, 0, 0x1020, 0x20, 0), lint.Warning, lint.Degraded},
		{frames(0x1020, 0x20, 0, 0x1000, 0x21, 0), lint.Warning, lint.Loses}, // it is the one dropped
		{frames(0x1002, 0x10, 0, 0x1003, 0x1d, 0), lint.Info, lint.Unaffected},
		{frames(0x1000, 0x20, 0, 0x1008, 8, 4), lint.Info, lint.Loses},
		{frames(0x1000, 0x20, 0, 0x1000, 0x20, 4), lint.Warning, lint.Loses},
		{frames(0x1000, 0x20, 4, 0x1000, 0x20, 4), lint.Info, lint.Unaffected},
	} {
		f := onlyFinding(t, winOverlap, head+c.text)
		if f.Severity != c.severity || f.Effects[lint.RustMinidump].Impact != c.rust {
			t.Errorf("%s, rust-minidump %d: %s\n%s", f.Severity, f.Effects[lint.RustMinidump].Impact, f.Message, c.text)
		}
	}
	// The bytes behind the inner record: 0x1010 to 0x1020.
	if f := onlyFinding(t, winOverlap, head+frames(0x1000, 0x20, 0, 0x1008, 8, 4)); !strings.Contains(f.Message, "16 bytes") {
		t.Error(f.Message)
	}
}

// Reordered code: more overlaps than anyone wants to read are one finding.
func TestWinManyOverlaps(t *testing.T) {
	var funcs, wins strings.Builder
	for i := range manyOverlaps + 2 {
		fmt.Fprintf(&funcs, "FUNC %x 20 0 f%d\n", 0x1000+32*i, i)
		fmt.Fprintf(&wins, frameRecord, 0x1000+32*i, 0x24, 0)
	}
	f := onlyFinding(t, winOverlap, winModule+funcs.String()+wins.String())
	if f.Count != manyOverlaps+1 || f.Line != manyOverlaps+4 {
		t.Errorf("line %d, %d records", f.Line, f.Count)
	}
}

func TestWinParamSize(t *testing.T) {
	win := func(params int) string {
		return fmt.Sprintf("STACK WIN 4 1000 20 0 0 %x 0 0 0 1 %s\n", params, searchText)
	}
	fn := func(params int, name string) string { return fmt.Sprintf("FUNC 1000 20 %x %s\n", params, name) }
	var healthy strings.Builder // functions of which both records say 0
	for i := range someZeroes {
		fmt.Fprintf(&healthy, "FUNC %x 10 0 f%d\n", 0x2000+16*i, i)
	}
	for i := range someZeroes {
		fmt.Fprintf(&healthy, "STACK WIN 0 %x 10 0 0 0 0 0 0 0 0\n", 0x2000+16*i)
	}
	testRuleCases(t, []string{"win"}, []ruleCase{
		{"agree", winModule + fn(8, "a") + win(8), nil},
		{"disagree", winModule + fn(8, "a") + win(0x10), []string{"win-param-size@3"}},
		{"one word more", winModule + fn(8, "a") + win(0xc), nil},
		{"one word less", winModule + fn(8, "a") + win(4), nil},
		{"not known", winModule + fn(0, "a") + win(8), nil},
		{"not known either way", winModule + fn(8, "a") + win(0), nil},
		{"zero where zeros are right", winModule + fn(0, "a") + win(8) + healthy.String(), []string{"win-param-size@3"}},
		{"zeros that are wrong more than once", winModule + fn(0, "a") + "FUNC 1020 20 0 b\n" + win(8) +
			"STACK WIN 0 1020 20 0 0 8 0 0 0 0 0\n" + healthy.String(), nil},
		{"stdcall", winModule + "PUBLIC 1000 8 _f@8\n" + win(8), nil},
		{"not what the name says", winModule + "PUBLIC 1000 8 _f@8\n" + win(0x10), []string{"win-param-size@3"}},
		{"fastcall passes two in registers", winModule + "PUBLIC 1000 0 @f@12\n" + win(4), nil},
		{"fastcall in a FUNC", winModule + fn(0x10, "@f@16") + win(8), nil},
		{"no whole words", winModule + win(6), []string{"win-param-size@2"}},
		{"elsewhere in the function", winModule + fn(8, "a") + strings.Replace(win(0x20), " 1000 20 ", " 1004 1c ", 1), nil},
	})
}

func TestWinCFIConflict(t *testing.T) {
	const (
		fn   = winModule + "FUNC 1000 20 0 a\n"
		ebp  = "STACK WIN 4 1000 20 3 0 0 0 8 0 1 " + ebpProgram + "\n"
		init = "STACK CFI INIT 1000 20 .cfa: $esp 4 + .ra: .cfa -4 + ^\n"
	)
	search := func(locals int) string {
		return fmt.Sprintf("STACK WIN 4 1000 20 3 0 0 4 %x 0 1 %s\n", locals, searchText)
	}
	testRuleCases(t, []string{"win"}, []ruleCase{
		{"agree on the frame pointer", fn + ebp + init + "STACK CFI 1001 .cfa: $esp 8 +\nSTACK CFI 1003 .cfa: $ebp 8 +\n", nil},
		{"disagree", fn + ebp + init + "STACK CFI 1001 .cfa: $esp 8 +\nSTACK CFI 1003 .cfa: $ebp 12 +\n", []string{"win-cfi-conflict@3"}},
		{"one by the frame pointer, one by the stack pointer", fn + ebp + init + "STACK CFI 1003 .cfa: $esp 16 +\n", nil},
		{"agree on the stack pointer", fn + search(8) + init + "STACK CFI 1003 .cfa: $esp 16 +\n", nil},
		{"disagree on it", fn + search(8) + init + "STACK CFI 1003 .cfa: $esp 20 +\n", []string{"win-cfi-conflict@3"}},
		{"FPO agrees", fn + "STACK WIN 0 1000 20 3 0 0 4 8 0 0 0\n" + init + "STACK CFI 1003 .cfa: $esp 16 +\n", nil},
		{"FPO disagrees", fn + "STACK WIN 0 1000 20 3 0 0 4 8 0 0 0\n" + init, []string{"win-cfi-conflict@3"}},
		{"without a prologue nothing is known of the stack pointer", fn + strings.Replace(search(8), " 3 0 ", " 0 0 ", 1) + init, nil},
		{"a program that is not plain", fn + strings.Replace(ebp, "4 +", "4 *", 1) + init + "STACK CFI 1003 .cfa: $ebp 12 +\n", nil},
		{"the aligned search start is the frame pointer's", fn + "STACK WIN 4 1000 20 3 0 0 0 8 0 1 " +
			"$T0 $ebp = $T1 .raSearch = $eip $T1 ^ = $T2 $T1 8 @ = $esp $T1 4 + =\n" + init + "STACK CFI 1003 .cfa: $ebp 8 +\n", nil},
		{"CFI of other code", fn + ebp + "STACK CFI INIT 2000 20 .cfa: $ebp 12 + .ra: .cfa -4 + ^\n", nil},
		{"CFI that cannot be used", fn + ebp + "STACK CFI INIT 1000 20 .cfa: $ebp 12 +\n", nil},
	})
	f := onlyFinding(t, winCFIConflict, fn+ebp+init+"STACK CFI 1003 .cfa: $ebp 12 +\n")
	if len(f.Related) != 1 || f.Related[0].Line != 5 || !strings.Contains(f.Message, "$ebp+4") || !strings.Contains(f.Message, "$ebp+8") {
		t.Errorf("%s, related %v", f.Message, f.Related)
	}
}

// MSVC's real files have no error; what is said of them is what they are known for.
func TestWinCorpus(t *testing.T) {
	dir := corpustest.Dir(t)
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".sym") || strings.HasPrefix(rel, "bad") && !strings.Contains(rel, "base-") {
			return err
		}
		data := readSym(t, path)
		if !strings.Contains(string(data), "STACK WIN ") {
			return nil
		}
		name := d.Name()
		seen[name] = true
		for _, f := range check(t, strings.TrimSuffix(path, ".gz"), string(data)) {
			if f.Rule.Family != "win" {
				continue
			}
			known := map[string]string{
				"bp-linux-gate-intel.sym": "win-flag-mismatch", // type 4 without a program: written by hand, dropped by rust-minidump
				"bp-module1.out.sym":      "win-program",       // a fixture whose programs read $eip
			}[name]
			grouped := f.Rule == winTemporaries || f.Rule == winOverlap
			if f.Severity == lint.Error && f.Rule.Name != known || f.Severity == lint.Warning && !grouped {
				t.Errorf("%s:%d: %s %s: %s", rel, f.Line, f.Severity, f.Rule.Name, f.Message)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kernel32.sym", "test_app.sym", "bp-omap_reorder_bbs.sym", "mozdump-basic-opt32.sym.gz", "base-windows-x86.sym"} {
		if !seen[name] {
			t.Errorf("%s was not read", name)
		}
	}
	// Counted over the text: 1549 of the 2477 programs of this file restore registers by number.
	data := readSym(t, filepath.Join(dir, "public", "sym", "bp-omap_reorder_bbs.sym"))
	counts := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^STACK WIN 4 .*`).FindAllString(string(data), -1) {
		counts["programs"]++
		for _, n := range []string{"$20", "$23", "$24"} {
			if strings.Contains(m, " "+n+" ") {
				counts[n]++
			}
		}
		if regexp.MustCompile(` \$2[034] `).MatchString(m) {
			counts["any"]++
		}
	}
	if counts["programs"] != 2477 || counts["any"] != 1549 {
		t.Fatalf("counted %v", counts)
	}
	for _, f := range check(t, "omap.sym", string(data)) {
		if f.Rule == winTemporaries && f.Count != counts[f.Subject] {
			t.Errorf("%s: %d programs, counted %d", f.Subject, f.Count, counts[f.Subject])
		}
	}
}
