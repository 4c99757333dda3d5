package rules

import (
	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

var moduleFamily = &lint.Analyzer{
	Name: "module",
	Rules: []*lint.Rule{
		moduleMissing, moduleNotFirst, moduleDuplicate, moduleID, moduleOS, moduleArch, moduleName, moduleStorePath, moduleInfo,
	},
	Kinds: []symfile.Kind{symfile.Module, symfile.Info},
	New:   func(p *lint.Pass) lint.Checker { return &moduleChecker{pass: p} },
}

const moduleDoc = symbolFilesDoc + "#module-records"

// exampleBody is what follows MODULE and INFO in the examples.
const exampleBody = "FILE 0 /src/main.c\n" + exampleMain + exampleMainCFI

var moduleMissing = &lint.Rule{
	Name: "module-missing", Family: "module", Severity: lint.Error,
	Summary: "no MODULE record",
	Why: "MODULE says which binary the file describes. Without it symbolic and Sentry do not recognise the file, symbol servers cannot file it, and " +
		"nothing shows that the walker reads symbols of another build. (A file that symbolic writes for its own cache has none.)",
	Effects: lint.Effects{
		lint.Fine("does not look for it"),
		lint.Fine("leaves the module's id empty"),
		{Impact: lint.Rejects, Text: "does not recognise the file"},
	},
	Bad:  lint.Example{Line: 1, Text: exampleBody},
	Good: exampleOne,
	Refs: []string{moduleDoc},
}

var moduleNotFirst = &lint.Rule{
	Name: "module-not-first", Family: "module", Severity: lint.Error,
	Summary: "MODULE is not the first line",
	Why:     "rust-minidump refuses a file whose MODULE record is not its first line, be it for a blank one. symbolic looks at the first line only.",
	Effects: lint.Effects{
		lint.Fine("does not look at it"),
		{Impact: lint.Rejects, Text: "refuses the whole file: MODULE found after the start"},
		{Impact: lint.Rejects, Text: "does not recognise the file"},
	},
	Bad: lint.Example{Line: 2, Text: `INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
` + exampleBody},
	Good: exampleOne,
	Refs: []string{moduleDoc},
}

var moduleDuplicate = &lint.Rule{
	Name: "module-duplicate", Family: "module", Severity: lint.Error,
	Summary: "more than one MODULE record",
	Why:     "Two outputs were concatenated, or one was written twice. rust-minidump refuses such a file; the others read all records as one module's.",
	Effects: lint.Effects{
		{Impact: lint.Degraded, Text: "reads all records as one module's"},
		{Impact: lint.Rejects, Text: "refuses the whole file: MODULE found after the start"},
		{Impact: lint.Degraded, Text: "reads all records as those of the first module"},
	},
	Bad: lint.Example{Line: 3, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
` + exampleBody},
	Good: exampleOne,
	Refs: []string{moduleDoc},
}

var moduleID = &lint.Rule{
	Name: "module-id", Family: "module", Severity: lint.Error,
	Summary: "the id is not 32 upper-case hexadecimal digits and an age, or all zero",
	Why: "A walker finds symbols under NAME/ID/NAME.sym, ID being what the minidump says: a GUID in upper case and the age in lower case, 0 on " +
		"everything but Windows. Any other spelling is another directory, and the module has no symbols. An all-zero id stands for a binary " +
		"without build id: every such build has the same one. (8 digits and an age are the id of an old PDB 2.0 file.)",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "does not find the file in a symbol store"},
		{Impact: lint.Loses, Text: "does not find the file in a symbol store"},
		{Impact: lint.Degraded, Text: "files it under another id"},
	},
	Bad: lint.Example{Line: 1, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F app
` + exampleBody},
	Good:     exampleOne,
	Evidence: "https://github.com/getsentry/symbolic/issues/140, https://github.com/rust-minidump/rust-minidump/issues/786",
	Refs:     []string{moduleDoc},
}

var moduleOS = &lint.Rule{
	Name: "module-os", Family: "module", Severity: lint.Warning,
	Summary: "unknown spelling of the operating system",
	Why: "The description lists Linux, mac and windows; dump_syms of Mozilla writes Mac, Google's also solaris and whatever its option -o says. " +
		"Tools that choose by this field compare letters.",
	Effects: lint.Effects{
		lint.Fine("does not look at it"),
		lint.Fine("does not look at it"),
		{Impact: lint.Degraded, Text: "does not know the platform"},
	},
	Bad: lint.Example{Line: 1, Text: `MODULE linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
` + exampleBody},
	Good:     exampleOne,
	Evidence: "https://github.com/getsentry/sentry-cli/issues/466",
	Refs:     []string{moduleDoc},
}

var moduleArch = &lint.Rule{
	Name: "module-arch", Family: "module", Severity: lint.Error,
	Summary: "unknown architecture",
	Why: "symbolic refuses a file whose architecture it does not know. The names are those that dump_syms writes, such as x86, x86_64, arm, arm64, " +
		"mips, ppc64 and riscv; i386, amd64, aarch64 and the like are other tools' words. (Registers of another CPU in STACK CFI are " +
		"`cfi-unknown-register`.)",
	Effects: lint.Effects{
		lint.Fine("takes the CPU from the minidump"),
		lint.Fine("takes the CPU from the minidump"),
		{Impact: lint.Rejects, Text: "refuses the file: invalid architecture"},
	},
	Bad: lint.Example{Line: 1, Text: `MODULE Linux x64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
` + exampleBody},
	Good:     exampleOne,
	Evidence: "https://github.com/getsentry/sentry-cli/issues/466",
	Refs:     []string{moduleDoc},
}

var moduleName = &lint.Rule{
	Name: "module-name", Family: "module", Severity: lint.Warning, Also: []lint.Severity{lint.Error},
	Summary: "the module's name is empty, a path, or has odd characters",
	Why: "The name is the last part of the debug file's path, by which the file is found in a store. A path, characters that no file name can have, " +
		"or the kernel's mark \" (deleted)\" make another name of it. Without any name rust-minidump refuses the file (error).",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "does not find the file in a symbol store"},
		{Impact: lint.Loses, Text: "does not find the file in a symbol store"},
		{Impact: lint.Degraded, Text: "shows the name as it is"},
	},
	Bad: lint.Example{Line: 1, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 /usr/lib/app
INFO CODE_ID D1E3F2B69CA0574F812D3E4F5A6B7C8D11223344
` + exampleBody},
	Good: exampleOne,
	Refs: []string{moduleDoc},
}

var moduleStorePath = &lint.Rule{
	Name: "module-store-path", Family: "module", Severity: lint.Error,
	Summary: "the file's place in a symbol store contradicts its MODULE record",
	Why: "In a store the file of a module is NAME/ID/NAME.sym, where .pdb gives way to .sym. A walker looks there and nowhere else: a file in " +
		"another place is not found, or found for another module. Only files in a directory that looks like an id are judged.",
	Effects: lint.Effects{
		{Impact: lint.Loses, Text: "does not find the symbols, or takes them for another module's"},
		{Impact: lint.Loses, Text: "does not find the symbols, or takes them for another module's"},
		lint.Fine("goes by the MODULE record"),
	},
	Bad:      lint.Example{Line: 1, Path: "symbols/app/B6F2E3D1A09C4F57812D3E4F5A6B7C8D1/app.sym", Text: exampleOne},
	Good:     exampleOne,
	Evidence: "https://github.com/electron/minidump/issues/16",
	Refs:     []string{"https://chromium.googlesource.com/breakpad/breakpad/+/HEAD/src/processor/simple_symbol_supplier.cc"},
}

var moduleInfo = &lint.Rule{
	Name: "module-info", Family: "module", Severity: lint.Warning, Also: []lint.Severity{lint.Info},
	Summary: "INFO CODE_ID is malformed, missing or contradicts the id; or the INFO is unknown",
	Why: "CODE_ID is how the binary itself is found: on Windows the timestamp and size of the image with its file name, elsewhere the whole build id, " +
		"of which the module's id is the beginning with its first groups in the other byte order. Where the two disagree, one of them belongs to " +
		"another build. On Windows a missing CODE_ID leaves the binary, and with it x64 unwind information, unfindable (info).",
	Effects: lint.Effects{
		lint.Fine("does not look at INFO records"),
		lint.Fine("does not look at INFO records but for INFO URL"),
		{Impact: lint.Degraded, Text: "knows another code id, or none"},
	},
	Bad: lint.Example{Line: 2, Text: `MODULE Linux x86_64 B6F2E3D1A09C4F57812D3E4F5A6B7C8D0 app
INFO CODE_ID 00E3F2B69CA0574F812D3E4F5A6B7C8D11223344
` + exampleBody},
	Good:     exampleOne,
	Evidence: "https://github.com/mozilla/dump_syms/issues/638",
	Refs:     []string{moduleDoc},
}
