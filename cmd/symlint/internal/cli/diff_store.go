package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/source"
	"github.com/symlint/symlint/lint/symdiff"
	"github.com/symlint/symlint/unwind/symfile"
)

// stores compares the symbol files of two directories.
func (d *diffRun) stores(old, new string) error {
	a, err := d.moduleFiles(old)
	if err != nil {
		return err
	}
	b, err := d.moduleFiles(new)
	if err != nil {
		return err
	}
	r := symdiff.CompareStores(a, b, d.options)
	r.OldPath, r.NewPath = old, new
	for i := range r.Modules {
		if err := r.Modules[i].Err; err != nil {
			d.app.complain("%v", err)
			d.app.exit(exitTrouble)
		}
	}
	for _, name := range d.failOn {
		if r.Meets(name) {
			d.app.exit(exitFindings)
		}
	}
	return d.app.write(func(w io.Writer) error {
		switch d.Format {
		case "json":
			return r.WriteJSON(w, d.options)
		case "html":
			return r.WriteHTML(w, d.options)
		}
		return r.WriteText(w, d.options, d.text)
	})
}

// moduleFiles lists the symbol files below a directory with what their MODULE records say. What is no symbol file, such
// as an ELF file with an SFrame section, is left out.
func (d *diffRun) moduleFiles(root string) ([]symdiff.ModuleFile, error) {
	var out []symdiff.ModuleFile
	for _, s := range source.Find([]string{root}, source.Options{}) {
		in, err := s.Open()
		if s.Path() == root && err != nil {
			return nil, err
		}
		m := symdiff.ModuleFile{Path: s.Path(), Err: err}
		if rel, relErr := filepath.Rel(root, s.Path()); relErr == nil {
			m.Path = filepath.ToSlash(rel)
		}
		if err == nil {
			if in.Kind != "sym" {
				closeInput(in)
				continue
			}
			h := symfile.FindModule(in.Data)
			m.Name, m.Arch, m.ID = h.Name, h.Arch, h.ID
			closeInput(in)
		}
		m.Open = func() ([]byte, func() error, error) { return openModule(s) }
		out = append(out, m)
	}
	return out, nil
}

func openModule(s lint.Source) ([]byte, func() error, error) {
	in, err := s.Open()
	if err != nil {
		return nil, nil, err
	}
	if in.Kind != "sym" {
		closeInput(in)
		return nil, nil, fmt.Errorf("%s: the file changed while it was read", s.Path())
	}
	release := in.Close
	if release == nil {
		release = func() error { return nil }
	}
	return in.Data, release, nil
}
