package symdiff

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
)

// ModuleFile is a symbol file of a store.
type ModuleFile struct {
	Path     string // relative to the store, as shown
	Name     string // of the MODULE record
	Arch, ID string
	// Open returns the content and gives it back.
	Open func() (data []byte, close func() error, err error)
	Err  error // it could not be read
}

// ModulePair are the files of a module in two stores; nil where a store does not have it.
type ModulePair struct{ Old, New *ModuleFile }

// MatchModules matches the modules of two stores by name and CPU; of several of one name, those with the same
// identifier, then in the order of their paths.
func MatchModules(old, new []ModuleFile) []ModulePair {
	order := func(a, b *ModuleFile) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Arch, b.Arch))
	}
	full := func(a, b *ModuleFile) int { return cmp.Or(order(a, b), cmp.Compare(a.Path, b.Path)) }
	sorted := func(list []ModuleFile) []*ModuleFile {
		out := make([]*ModuleFile, len(list))
		for i := range list {
			out[i] = &list[i]
		}
		slices.SortFunc(out, full)
		return out
	}
	group := func(list []*ModuleFile) int {
		n := 1
		for n < len(list) && order(list[0], list[n]) == 0 {
			n++
		}
		return n
	}
	a, b := sorted(old), sorted(new)
	var out []ModulePair
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && order(a[0], b[0]) < 0:
			out, a = append(out, ModulePair{a[0], nil}), a[1:]
		case len(a) == 0 || order(a[0], b[0]) > 0:
			out, b = append(out, ModulePair{nil, b[0]}), b[1:]
		default:
			i, j := group(a), group(b)
			out = append(out, matchSameName(a[:i], b[:j])...)
			a, b = a[i:], b[j:]
		}
	}
	return out
}

func matchSameName(a, b []*ModuleFile) []ModulePair {
	byID := make(map[string][]*ModuleFile)
	for _, m := range b {
		byID[m.ID] = append(byID[m.ID], m)
	}
	taken := make(map[*ModuleFile]bool)
	out := make([]ModulePair, len(a))
	for i, m := range a {
		out[i].Old = m
		if list := byID[m.ID]; len(list) > 0 {
			out[i].New, byID[m.ID] = list[0], list[1:]
			taken[list[0]] = true
		}
	}
	rest := slices.DeleteFunc(slices.Clone(b), func(m *ModuleFile) bool { return taken[m] })
	for i := range out {
		if out[i].New == nil && len(rest) > 0 {
			out[i].New, rest = rest[0], rest[1:]
		}
	}
	for _, m := range rest {
		out = append(out, ModulePair{nil, m})
	}
	return out
}

// StoreResult is how two symbol stores differ.
type StoreResult struct {
	OldPath, NewPath string
	Modules          []ModuleResult
}

// ModuleResult is how a module of two stores differs.
type ModuleResult struct {
	ModulePair
	// Same, Conditions and the summary are kept; the rest of the result is made again when it is written.
	Same    bool
	Met     []string // the conditions that hold
	Summary Summary
	Module  []FieldChange
	Err     error
}

// Status returns same, changed, added, removed or error.
func (m *ModuleResult) Status() string {
	switch {
	case m.Err != nil:
		return "error"
	case m.Old == nil:
		return "added"
	case m.New == nil:
		return "removed"
	case m.Same:
		return "same"
	}
	return "changed"
}

// Name is the module's name, or the path of what is no module.
func (m *ModuleResult) Name() string {
	f := m.file()
	if f.Name == "" {
		return f.Path
	}
	return f.Name
}

func (m *ModuleResult) file() *ModuleFile {
	if m.Old != nil {
		return m.Old
	}
	return m.New
}

// CompareStores compares the modules of two stores, o.Jobs at the same time.
func CompareStores(old, new []ModuleFile, o Options) *StoreResult {
	r := &StoreResult{}
	for _, p := range MatchModules(old, new) {
		r.Modules = append(r.Modules, ModuleResult{ModulePair: p})
	}
	each := o
	each.Jobs = max(1, o.jobs()/max(1, len(r.Modules)))
	parallel(o.jobs(), len(r.Modules), func(i int) {
		m := &r.Modules[i]
		m.Err = m.compare(each, func(d *Result) error {
			m.Same, m.Summary, m.Module = d.Same(), d.Summary, d.Module
			for i := range Conditions {
				if Conditions[i].Met(d) {
					m.Met = append(m.Met, Conditions[i].Name)
				}
			}
			return nil
		})
	})
	return r
}

// compare opens both files, compares them and hands on the result.
func (m *ModuleResult) compare(o Options, use func(d *Result) error) (err error) {
	for _, f := range []*ModuleFile{m.Old, m.New} {
		if f != nil && f.Err != nil {
			return f.Err
		}
	}
	if m.Old == nil || m.New == nil {
		return nil
	}
	a, closeA, err := m.Old.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeA()) }()
	b, closeB, err := m.New.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeB()) }()
	d := Compare(a, b, o)
	d.Old.Path, d.New.Path = m.Old.Path, m.New.Path
	return use(d)
}

// Same reports whether both stores have the same modules with the same meaning.
func (r *StoreResult) Same() bool {
	for i := range r.Modules {
		if r.Modules[i].Status() != "same" {
			return false
		}
	}
	return true
}

// Meets reports whether a condition holds for one of the modules, or for the stores as such.
func (r *StoreResult) Meets(condition string) bool {
	for i := range r.Modules {
		m := &r.Modules[i]
		if slices.Contains(m.Met, condition) {
			return true
		}
		if condition == "any" && m.Status() != "same" || condition == "lost-modules" && m.Status() == "removed" {
			return true
		}
	}
	return false
}

func (r *StoreResult) count(status string) (n int) {
	for i := range r.Modules {
		if r.Modules[i].Status() == status {
			n++
		}
	}
	return n
}

// WriteText tells the differences of the stores: a line for each module, then what differs in it.
func (r *StoreResult) WriteText(w io.Writer, c Options, o TextOptions) error {
	t := &text{bufio.NewWriter(w), nil, o, paint(o.Color)}
	if !o.Quiet || o.Stat {
		t.line("%s %s", t.p.old("---"), printable(r.OldPath))
		t.line("%s %s", t.p.new("+++"), printable(r.NewPath))
		t.line("  modules    %d the same, %d changed, %d added, %d removed", r.count("same"), r.count("changed"), r.count("added"), r.count("removed"))
		for i := range r.Modules {
			m := &r.Modules[i]
			if m.Status() != "same" {
				t.moduleLine(m)
			}
		}
	}
	if err := t.w.Flush(); err != nil || o.Stat {
		return err
	}
	for i := range r.Modules {
		m := &r.Modules[i]
		if m.Status() != "changed" {
			continue
		}
		t.line("")
		if err := t.w.Flush(); err != nil {
			return err
		}
		if err := m.compare(c, func(d *Result) error { return d.WriteText(w, o) }); err != nil {
			return err
		}
	}
	return t.w.Flush()
}

func (t *text) moduleLine(m *ModuleResult) {
	name := printable(m.Name())
	switch m.Status() {
	case "added":
		t.line("%s", t.p.new("+ "+name))
	case "removed":
		t.line("%s", t.p.old("- "+name))
	case "error":
		t.line("? %s", name)
	default:
		s := &m.Summary
		t.line("! %s: functions +%d -%d, %d of %d matched differ%s%s", name, s.FunctionsAdded, s.FunctionsRemoved,
			s.Matched-s.Same, s.Matched, t.balance(s.LostLines, s.GainedLines), t.balance(s.LostCFI, s.GainedCFI))
	}
}

// WriteJSON writes the result as one object, as Schema describes it.
func (r *StoreResult) WriteJSON(w io.Writer, c Options) error {
	b := bufio.NewWriter(w)
	if err := r.writeJSON(b, c, -1); err != nil {
		return err
	}
	b.WriteByte('\n')
	return b.Flush()
}

func (r *StoreResult) writeJSON(b *bufio.Writer, c Options, rows int) error {
	head, err := json.Marshal(struct {
		Version int            `json:"version"`
		Same    bool           `json:"same"`
		Old     string         `json:"old"`
		New     string         `json:"new"`
		Summary map[string]int `json:"summary"`
	}{jsonVersion, r.Same(), r.OldPath, r.NewPath, map[string]int{"same": r.count("same"), "changed": r.count("changed"),
		"added": r.count("added"), "removed": r.count("removed"), "errors": r.count("error")}})
	if err != nil {
		return err
	}
	b.Write(head[:len(head)-1])
	b.WriteString(`,"modules":[`)
	for i := range r.Modules {
		m := &r.Modules[i]
		j := struct {
			Name   string  `json:"name"`
			Arch   string  `json:"arch"`
			Status string  `json:"status"`
			Old    *string `json:"old"`
			New    *string `json:"new"`
			Error  *string `json:"error"`
		}{Name: m.Name(), Arch: m.file().Arch, Status: m.Status()}
		if m.Old != nil {
			j.Old = &m.Old.Path
		}
		if m.New != nil {
			j.New = &m.New.Path
		}
		if m.Err != nil {
			s := m.Err.Error()
			j.Error = &s
		}
		text, err := json.Marshal(j)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(text[:len(text)-1])
		b.WriteString(`,"diff":`)
		if m.Status() != "changed" {
			b.WriteString("null}")
			continue
		}
		err = m.compare(c, func(d *Result) error { return d.writeJSON(b, rows) })
		if err != nil {
			return err
		}
		b.WriteByte('}')
	}
	_, err = b.WriteString("]}")
	return err
}
