package trace

import (
	"bytes"
	"encoding/json"
	"io"
	"sort"
	"strings"

	"github.com/symlint/symlint/unwind"
)

// JSONOptions choose what JSON prints.
type JSONOptions struct {
	// Pretty breaks lines and indents by two blanks.
	Pretty bool
	// Explain adds to every frame how it was found, and to every thread why its walk ended.
	Explain bool
}

// JSON writes a walk as minidump-stackwalk --json does: the schema is json-schema.md of rust-minidump's
// minidump-processor, and its keys come in alphabetical order there, too. Nothing disassembles the instruction that
// crashed, so what tells of it is null.
//
// Frames have one more key, "technique". With Explain they have "record" and "explain", and threads have "end".
func JSON(out io.Writer, d *Walked, o JSONOptions) error {
	j := &report{jsonWriter: newJSONWriter(out, o.Pretty), d: d, p: d.Process, explain: o.Explain}
	j.details = j.p.Details
	if j.details == nil {
		j.details = &unwind.Details{}
	}
	j.digits = pointerDigits(j.p.System.CPU)
	j.document()
	return j.flush()
}

// report is the writing of one document.
type report struct {
	*jsonWriter
	d       *Walked
	p       *unwind.Process
	details *unwind.Details
	explain bool
}

// pointerDigits is how wide addresses are printed: 16 digits where the CPU is not known.
func pointerDigits(cpu string) int {
	switch cpu {
	case "x86", "ppc", "sparc", "arm", "mips", "riscv":
		return 8
	}
	return 16
}

func (j *report) document() {
	p := j.p
	j.open('{')
	j.crash()
	j.crashingThread()
	j.handles()
	j.key("linux_memory_map_count")
	if p.LinuxMaps >= 0 {
		j.number(uint64(p.LinuxMaps))
	} else {
		j.null()
	}
	j.lsbRelease()
	j.key("mac_boot_args")
	if args := j.details.MacBootArgs; args != nil {
		j.string(*args)
	} else {
		j.null()
	}
	j.macCrash()
	j.modules()
	j.key("pid")
	if p.PID != 0 {
		j.number(uint64(p.PID))
	} else {
		j.null()
	}
	j.limits()
	j.key("process_uptime")
	if p.Uptime.Known {
		j.number(uint64(p.Uptime.Seconds))
	} else {
		j.null()
	}
	j.softErrors()
	j.key("status").string("OK")
	j.system()
	j.threads()
	j.unloaded()
	j.close('}')
}

func (j *report) crash() {
	c := j.p.Crash
	j.key("crash_info").open('{')
	j.key("address")
	if c != nil {
		j.address(c.Address)
	} else {
		j.null()
	}
	j.key("adjusted_address").null()
	j.key("assertion").text(j.p.Assertion)
	j.key("crash_inconsistencies")
	if c != nil {
		j.open('[')
		j.close(']')
	} else {
		j.null()
	}
	j.key("crashing_thread")
	if i := j.p.Requesting; i >= 0 && i < len(j.p.Threads) {
		j.number(uint64(j.position(i)))
	} else {
		j.null()
	}
	j.key("instruction").null()
	j.key("instruction_pointer_update").null()
	j.key("memory_accesses").null()
	j.key("possible_bit_flips").null()
	j.key("type")
	if c != nil {
		j.text(crashType(&j.p.System, c))
	} else {
		j.null()
	}
	j.close('}')
}

func (j *report) system() {
	s := &j.p.System
	j.key("system_info").open('{')
	j.key("cpu_arch")
	if s.CPU == "" || strings.HasPrefix(s.CPU, "0x") {
		j.string("unknown")
	} else {
		j.string(s.CPU)
	}
	j.key("cpu_count").number(uint64(s.CPUCount))
	j.key("cpu_info").text(s.CPUInfo)
	j.key("cpu_microcode_version")
	if v := j.details.Microcode; v != 0 {
		j.hex(v, 1)
	} else {
		j.null()
	}
	j.key("os")
	if s.OSShort == "windows" {
		j.string("Windows NT")
	} else {
		j.string(s.OS)
	}
	j.key("os_ver").text(osVersion(s))
	j.close('}')
}

// osVersion takes the version of Linux out of the uname -srvmo that Breakpad and Crashpad leave behind 0.0.0:
// "Linux VERSION BUILD… [MACHINE] SYSTEM", the last word of which is dropped.
func osVersion(s *unwind.System) string {
	version, build, _ := strings.Cut(s.OSVersion, " ")
	build = strings.TrimSpace(build)
	if s.OSShort == "linux" && version == "0.0.0" {
		words := strings.Split(build, " ")
		if len(words) >= 2 && words[1] != version {
			rest := words[2:]
			if len(rest) > 0 {
				rest = rest[:len(rest)-1]
			}
			return words[1] + " " + strings.Join(rest, " ")
		}
	}
	if build == "" {
		return version
	}
	return version + " " + build
}

func (j *report) lsbRelease() {
	j.key("lsb_release")
	r := j.details.LSB
	if r == nil {
		j.null()
		return
	}
	j.open('{')
	j.key("codename").string(r.Codename)
	j.key("description").string(r.Description)
	j.key("id").string(r.ID)
	j.key("release").string(r.Release)
	j.close('}')
}

func (j *report) handles() {
	j.key("handles")
	if !j.details.HasHandles {
		j.null()
		return
	}
	j.open('[')
	for i := range j.details.Handles {
		h := &j.details.Handles[i]
		j.open('{')
		j.key("handle").number(h.Value)
		j.key("object_name").text(h.Name)
		j.key("type_name").text(h.Type)
		j.close('}')
	}
	j.close(']')
}

func (j *report) limits() {
	j.key("proc_limits")
	if j.details.Limits == nil {
		j.null()
		return
	}
	limit := func(v uint64) {
		if v == unwind.LimitNone {
			j.string("unlimited")
			return
		}
		j.number(v)
	}
	j.open('{')
	j.key("limits").open('[')
	for i := range j.details.Limits {
		l := &j.details.Limits[i]
		j.open('{')
		j.key("hard")
		limit(l.Hard)
		j.key("name").string(l.Name)
		j.key("soft")
		limit(l.Soft)
		j.key("unit").string(l.Unit)
		j.close('}')
	}
	j.close(']')
	j.close('}')
}

func (j *report) macCrash() {
	j.key("mac_crash_info")
	if !j.details.HasMacCrash {
		j.null()
		return
	}
	list := j.details.MacCrash
	j.open('{')
	j.key("num_records").number(uint64(len(list)))
	j.key("records").open('[')
	for i := range list {
		m := &list[i]
		number := func(key string, v uint64) {
			j.key(key)
			if v != 0 {
				j.address(v)
			} else {
				j.null()
			}
		}
		j.open('{')
		number("abort_cause", m.AbortCause)
		j.key("backtrace").text(m.Backtrace)
		number("dialog_mode", m.DialogMode)
		j.key("message").text(m.Message)
		j.key("message2").text(m.SecondMsg)
		j.key("module").text(m.Module)
		j.key("signature_string").text(m.Signature)
		number("thread", m.Thread)
		j.close('}')
	}
	j.close(']')
	j.close('}')
}

// softErrors copies JSON that somebody else wrote, with the keys of its objects sorted.
func (j *report) softErrors() {
	j.key("soft_errors")
	text := j.details.SoftErrors
	if text == "" || !json.Valid([]byte(text)) {
		j.null()
		return
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		j.null()
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if j.pretty {
		enc.SetIndent(strings.Repeat("  ", j.depth), "  ")
	}
	if enc.Encode(v) != nil {
		j.null()
		return
	}
	j.raw(bytes.TrimSpace(b.Bytes()))
}

func (j *report) modules() {
	list, main := j.details.Modules, 0
	if list == nil {
		list, main = j.p.Modules.List(), j.p.Modules.MainIndex()
	}
	j.key("main_module").number(uint64(max(main, 0)))
	j.key("modules").open('[')
	for i := range list {
		j.module(&list[i])
	}
	j.close(']')
	j.key("modules_contains_cert_info").bool(false)
}

// noDebugID is the id of modules without one.
const noDebugID = "000000000000000000000000000000000"

func (j *report) module(m *unwind.Module) {
	status := unwind.SymbolsUnused
	if j.d.Walker != nil {
		status, _ = j.d.Walker.SymbolStatus(m)
	}
	id := m.DebugID
	if id == "" {
		id = noDebugID
	}
	j.open('{')
	j.key("base_addr").address(m.Base)
	j.key("cert_subject").null()
	j.key("code_id").string(strings.ToLower(m.CodeID))
	j.key("corrupt_symbols").bool(status == unwind.SymbolsCorrupt)
	j.key("debug_file").string(unwind.BaseName(m.DebugFile))
	j.key("debug_id").string(id)
	j.key("end_addr").address(m.Base + m.Size)
	j.key("filename").string(unwind.BaseName(m.CodeFile))
	j.key("loaded_symbols").bool(status == unwind.SymbolsCorrupt || status == unwind.SymbolsLoaded)
	j.key("missing_symbols").bool(status == unwind.SymbolsMissing)
	j.key("symbol_url").null()
	j.key("version").text(m.Version)
	j.close('}')
}

func (j *report) unloadedList() []unwind.Module {
	if j.details.Unloaded != nil {
		return j.details.Unloaded
	}
	return j.p.Unloaded.List()
}

func (j *report) unloaded() {
	j.key("unloaded_modules").open('[')
	for _, m := range j.unloadedList() {
		j.open('{')
		j.key("base_addr").address(m.Base)
		j.key("cert_subject").null()
		j.key("code_id").string(strings.ToLower(m.CodeID))
		j.key("end_addr").address(m.Base + m.Size)
		j.key("filename").string(m.CodeFile)
		j.close('}')
	}
	j.close(']')
}

// unloadedAt writes the unloaded modules that an address would lie in, by name, with its offsets in each.
func (j *report) unloadedAt(addr uint64) {
	var offsets map[string][]uint64
	for _, m := range j.unloadedList() {
		if m.Contains(addr) {
			if offsets == nil {
				offsets = make(map[string][]uint64)
			}
			offsets[m.CodeFile] = append(offsets[m.CodeFile], addr-m.Base)
		}
	}
	if offsets == nil {
		j.null()
		return
	}
	names := make([]string, 0, len(offsets))
	for name := range offsets {
		names = append(names, name)
	}
	sort.Strings(names)
	j.open('[')
	for _, name := range names {
		list := offsets[name]
		sort.Slice(list, func(a, b int) bool { return list[a] < list[b] })
		j.open('{')
		j.key("module").string(name)
		j.key("offsets").open('[')
		for i, v := range list {
			if i == 0 || v != list[i-1] {
				j.address(v)
			}
		}
		j.close(']')
		j.close('}')
	}
	j.close(']')
}
