package rules

import (
	"strings"
	"testing"

	"github.com/symlint/symlint/lint"
)

// What is wrong with MODULE and INFO records, in an otherwise healthy file.
func TestModuleDefects(t *testing.T) {
	const (
		id   = "B6F2E3D1A09C4F57812D3E4F5A6B7C8D0"
		code = "INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344\n"
		win  = "INFO CODE_ID 5F3A1C2240000 app.exe\n"
	)
	for _, c := range []struct{ name, head, want, message string }{
		{"healthy", "MODULE Linux x86_64 " + id + " app\n" + code, "", ""},
		{"healthy, Mac", "MODULE mac arm64e " + id + " app\n", "", ""},
		{"healthy, Mozilla's Mac", "MODULE Mac x86_64 " + id + " XUL\nINFO GENERATOR mozilla/dump_syms 2.3.6\n", "", ""},
		{"healthy, Windows", "MODULE windows x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8Da app.pdb\n" + win, "", ""},
		{"healthy, long age", "MODULE windows x86 B6F2E3D1A09C4F57812D3E4F5A6B7C8Dffffffff app.pdb\n" + win, "", ""},
		{"healthy, PDB 2.0", "MODULE windows x86 3A5B7C8D1 app.pdb\n" + win, "", ""},
		{"healthy, name with blanks", "MODULE windows x86 " + id[:32] + "1 My App (32-bit).pdb\n" + win, "", ""},
		{"healthy, build id of 8 bytes", "MODULE Linux arm 04030201060508070000000000000000" + "0 app\nINFO CODE_ID 0102030405060708\n", "", ""},
		{"healthy, big-endian build id as it stands", "MODULE Linux mips D1E3F2B69CA0574F812D3E4F5A6B7C8D0 app\n" + code, "", ""},
		{"healthy, Breakpad's module1", "MODULE windows x86 111111111111111111111111111111111 module1.pdb\nINFO CODE_ID FFFFFFFF module1.exe\n", "", ""},
		{"Mozilla's extra", "MODULE Linux x86_64 " + id + " app\n" + code + "INFO RELEASECHANNEL nightly\nINFO URL https://example.org\n", "", ""},

		{"second line", "INFO GENERATOR x\nMODULE Linux x86_64 " + id + " app\n" + code, "2:1 error module-not-first", "the MODULE record is on line 2"},
		{"far down", strings.Repeat("FILE 1 /b.c\n", 100) + "MODULE Linux x86_64 " + id + " app\n", "101:1 error module-not-first", "the MODULE record is on line 101"},
		{"repeated", "MODULE Linux x86_64 " + id + " app\n" + code + "MODULE Linux x86_64 " + id + " app\n", "3:1 error module-duplicate", "the MODULE record is repeated"},
		{"another", "MODULE Linux x86_64 " + id + " app\n" + code + "MODULE Linux x86_64 " + id + " lib\nMODULE Linux x86 1 x\n",
			"3:1 error module-duplicate; 4:1 error module-duplicate", "another MODULE record, for another module"},

		{"short id", "MODULE Linux x86_64 B6F2E3D1 app\n", "1:21 error module-id", "module id B6F2E3D1 has 8 digits, 32 and an age are due"},
		{"PDB 2.0 elsewhere", "MODULE Linux x86_64 3A5B7C8D1 app\n", "1:21 error module-id", "module id 3A5B7C8D1 has 9 digits, 32 and an age are due"},
		{"no age", "MODULE Linux x86_64 " + id[:32] + " app\n" + code, "1:21 error module-id", "module id " + id[:32] + " has no age: 32 digits, at least one more is due"},
		{"long id", "MODULE Linux x86_64 " + id + "00000000 app\n", "1:21 error module-id", "module id " + id + "00000000 has 41 digits, 32 and an age of at most 8 are due"},
		{"no hex", "MODULE Linux x86_64 G" + id[1:] + " app\n", "1:21 error module-id", "module id G" + id[1:] + ` has "G", which is no hexadecimal digit`},
		{"hyphens", "MODULE Linux x86_64 B6F2E3D1-A09C-4F57-812D-3E4F5A6B7C8D app\n", "1:21 error module-id", "module id B6F2E3D1-A09C-4F57-812D-3E4F5A6B7C8D is written with hyphens"},
		{"zero", "MODULE Linux x86_64 " + strings.Repeat("0", 33) + " app\n", "1:21 error module-id", "module id 000000000000000000000000000000000 is all zero: the binary has no id of its own"},
		{"lower case", "MODULE Linux x86_64 " + strings.ToLower(id) + " app\n" + code, "1:21 error module-id", "module id " + strings.ToLower(id) + " is in lower case, minidumps write it in upper case"},
		{"age in upper case", "MODULE windows x86_64 " + id[:32] + "A app.pdb\n" + win, "1:55 error module-id", "module id " + id[:32] + "A has its age in upper case, minidumps write it in lower case"},
		{"age with a zero", "MODULE windows x86_64 " + id[:32] + "01 app.pdb\n" + win, "1:55 error module-id", "module id " + id[:32] + "01 has an age with a leading zero: 01"},
		{"age on Linux", "MODULE Linux x86_64 " + id[:32] + "1 app\n" + code, "1:53 error module-id", "module id " + id[:32] + "1 has the age 1, which is always 0 on Linux"},

		{"os", "MODULE linux x86_64 " + id + " app\n", "1:8 warning module-os", `unknown operating system "linux"; was Linux meant?`},
		{"os 2", "MODULE macOS x86_64 " + id + " app\n", "1:8 warning module-os", `unknown operating system "macOS"; was mac meant?`},
		{"os 3", "MODULE QNX x86_64 " + id + " app\n", "1:8 warning module-os", `unknown operating system "QNX"`},
		{"arch", "MODULE Linux x64 " + id + " app\n" + code, "1:14 error module-arch", `unknown architecture "x64"; was x86_64 meant?`},
		{"arch 2", "MODULE Linux aarch64 " + id + " app\n" + code, "1:14 error module-arch", `unknown architecture "aarch64"; was arm64 meant?`},
		{"arch 3", "MODULE Linux X86_64 " + id + " app\n" + code, "1:14 error module-arch", `unknown architecture "X86_64"; was x86_64 meant?`},
		{"arch 4", "MODULE Linux vax " + id + " app\n" + code, "1:14 error module-arch", `unknown architecture "vax"`},

		{"no name", "MODULE Linux x86_64 " + id + "\n" + code, "1:54 error module-name", "the MODULE record has no name"},
		{"no name but its blank", "MODULE Linux x86_64 " + id + " \n" + code, "1:55 error module-name", "the MODULE record has no name"},
		{"a path", "MODULE windows x86 " + id + " C:\\build\\app.pdb\n" + win, "1:54 warning module-name", `the module's name "C:\\build\\app.pdb" is a path`},
		{"deleted", "MODULE Linux x86_64 " + id + " app (deleted)\n" + code, "1:55 warning module-name", `the module's name "app (deleted)" is that of a deleted file`},
		{"odd", "MODULE Linux x86_64 " + id + " <unknown>\n" + code, "1:55 warning module-name", `the module's name "<unknown>" has characters that file names do not have`},
		{"no id", "MODULE Linux x86_64\n", "1:20 error format-bad-field", "MODULE has no id"},

		{"no code id", "MODULE windows x86_64 " + id + " app.pdb\n", "1:1 info module-info", "no INFO CODE_ID: the binary cannot be found"},
		{"empty code id", "MODULE Linux x86_64 " + id + " app\nINFO CODE_ID\n", "2:13 warning module-info", "INFO CODE_ID has no id"},
		{"no hex code id", "MODULE Linux x86_64 " + id + " app\nINFO CODE_ID unknown\n", "2:14 warning module-info", `code id "unknown" is not hexadecimal`},
		{"odd code id", "MODULE Linux x86_64 " + id + " app\nINFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D1\n", "2:14 warning module-info", `code id "D1E3F2B69CA0574F812D3E4F5A6B7C8D1" has 33 digits, which are no whole bytes`},
		{"short Windows code id", "MODULE windows x86_64 " + id + " app.pdb\nINFO CODE_ID 5F3A1C2 app.exe\n", "2:14 warning module-info", `code id "5F3A1C2" has 7 digits, 8 of the timestamp and up to 8 of the image's size are due`},
		{"another build's", "MODULE Linux x86_64 " + id + " app\nINFO CODE_ID 00E3F2B69CA0574F812D3E4F5A6B7C8D11223344\n", "2:14 warning module-info",
			"code id 00E3F2B69CA0574F812D3E4F5A6B7C8D11223344 makes the module id B6F2E300A09C4F57812D3E4F5A6B7C8D0, MODULE says " + id},
		{"not exchanged", "MODULE Linux x86_64 D1E3F2B69CA0574F812D3E4F5A6B7C8D0 app\n" + code, "2:14 warning module-info",
			"the module's id is the code id as it stands; its first groups belong in the other byte order: B6F2E3D1A09C4F57812D3E4F5A6B7C8D0"},
		{"two code ids", "MODULE Linux x86_64 " + id + " app\n" + code + "INFO CODE_ID 00\n", "3:14 warning module-info", `another INFO CODE_ID, "00"`},
		{"code id twice", "MODULE Linux x86_64 " + id + " app\n" + code + code, "3:14 info module-info", "INFO CODE_ID is repeated"},
		{"unknown INFO", "MODULE Linux x86_64 " + id + " app\n" + code + "INFO BRANCH main\nINFO BRANCH x\n", "3:6 info module-info x2", `unknown INFO "BRANCH"`},
		{"misspelt INFO", "MODULE windows x86_64 " + id + " app.pdb\nINFO CODEID 5F3A1C2240000 app.exe\n", "2:6 warning module-info", `unknown INFO "CODEID"; was CODE_ID meant?`},
		{"cut by a CR", "MODULE Linux x86_64 B6F2E3D1\rA09C4F57812D3E4F5A6B7C8D0 app\n", "1:29 error format-line-ending", "a CR stands inside the MODULE record"},
		{"damaged byte", "MODULE Linux x86_64 B6F2E3D1\xc3A09C4F57812D3E4F5A6B7C8D0 app\n", "1:29 error format-encoding", "c3 is not UTF-8, in the MODULE record, at byte 28 of the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.head + exampleBody
			if strings.HasPrefix(c.head, "FILE") {
				text = c.head + exampleMain + exampleMainCFI
			}
			var fs []lint.Finding
			for _, f := range own(t, "x.sym", text) {
				if f.Rule != formatRecordOrder {
					fs = append(fs, f)
				}
			}
			if got := brief(fs); got != c.want {
				t.Fatalf("got  %s\nwant %s\n%s", got, c.want, describe(fs))
			}
			if c.want != "" && fs[0].Message != c.message {
				t.Errorf("got  %s\nwant %s", fs[0].Message, c.message)
			}
		})
	}
}

// A file's place in a store is NAME/ID/NAME.sym, as simple_symbol_supplier.cc builds it.
func TestStorePath(t *testing.T) {
	const linux = "B6F2E3D1A09C4F57812D3E4F5A6B7C8D0"
	windows := strings.NewReplacer("Linux", "windows", linux, "B6F2E3D1A09C4F57812D3E4F5A6B7C8D1a", " app\n", " app.pdb\n",
		"D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344", "5F3A1C2240000 app.exe").Replace(exampleOne)
	for _, c := range []struct{ path, text, message string }{
		{"app.sym", exampleOne, ""},
		{"-", exampleOne, ""},
		{"store/app/" + linux + "/app.sym", exampleOne, ""},
		{"/store/app/" + linux + "/app.sym.gz", exampleOne, ""},
		{"store/app/" + linux + "/app.sym.zst", exampleOne, ""},
		{linux + "/app.sym", exampleOne, ""},
		{"./" + linux + "/app.sym", exampleOne, ""},
		{"store/app/" + linux + "/app.txt", exampleOne, ""},
		{"store/other/deadbeef/app.sym", exampleOne, ""},
		{"store/app.pdb/B6F2E3D1A09C4F57812D3E4F5A6B7C8D1a/app.sym", windows, ""},
		{"store/app/B6F2E3D1A09C4F57812D3E4F5A6B7C8D1/app.sym", exampleOne, "the directory B6F2E3D1A09C4F57812D3E4F5A6B7C8D1 is not the id " + linux},
		{"store/app/" + strings.ToLower(linux) + "/app.sym", exampleOne, "the directory " + strings.ToLower(linux) + " differs from the id " + linux + " in case"},
		{"store/lib/" + linux + "/app.sym", exampleOne, "the directory lib is not the name app"},
		{"store/app/" + linux + "/lib.sym", exampleOne, "the file lib.sym is not called app.sym"},
		{"store/app.pdb/B6F2E3D1A09C4F57812D3E4F5A6B7C8D1a/app.pdb.sym", windows, "the file app.pdb.sym is not called app.sym"},
		{"store/x/B6F2E3D1A09C4F57812D3E4F5A6B7C8D1/y.sym", exampleOne,
			"the directory B6F2E3D1A09C4F57812D3E4F5A6B7C8D1 is not the id " + linux + "; the directory x is not the name app; the file y.sym is not called app.sym"},
	} {
		fs := own(t, c.path, c.text)
		switch {
		case c.message == "" && len(fs) > 0:
			t.Errorf("%s:\n%s", c.path, describe(fs))
		case c.message != "" && (len(fs) != 1 || fs[0].Rule != moduleStorePath || fs[0].Line != 1 || fs[0].Message != c.message):
			t.Errorf("%s: want %s, got\n%s", c.path, c.message, describe(fs))
		}
	}
}
