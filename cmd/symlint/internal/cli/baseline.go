package cli

import (
	"fmt"
	"os"
	"sync"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/lint/baseline"
	"github.com/symlint/symlint/lint/config"
)

// knownFindings are those that are not reported: what a baseline holds, or all of them while one is written.
type knownFindings struct {
	old     *baseline.Baseline // nil if none is read
	oldPath string
	all     bool // every rule speaks, so that what is not found is gone

	path     string // where a new baseline is written, "" = nowhere
	recorder *baseline.Recorder
	mu       sync.Mutex
	files    map[string]*baseline.FileRecorder // by path, of inputs at work
	recorded int
}

// knownFindings reads the baseline that the flags or the configuration name.
func (c *checkCmd) knownFindings(cfg *config.Config) (*knownFindings, error) {
	k := &knownFindings{path: c.WriteBaseline}
	if k.path != "" {
		k.recorder = baseline.NewRecorder()
		k.files = make(map[string]*baseline.FileRecorder)
		return k, nil
	}
	k.oldPath = c.Baseline
	if k.oldPath == "" && cfg != nil {
		k.oldPath = cfg.Baseline
	}
	if k.oldPath == "" {
		return k, nil
	}
	f, err := os.Open(k.oldPath)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if k.old, err = baseline.Read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", k.oldPath, err)
	}
	k.all = len(c.Select) == 0 && len(c.Ignore) == 0 && len(c.Severity) == 0 && len(c.Consumer) == 0
	return k, nil
}

// filter is the runner's view: per module, which findings are known.
func (k *knownFindings) filter() func(module string) func(*lint.Finding) bool {
	switch {
	case k.recorder != nil:
		return func(module string) func(*lint.Finding) bool {
			var file *baseline.FileRecorder
			return func(f *lint.Finding) bool {
				if file == nil {
					file = k.begin(module, f.File)
				}
				file.Add(f)
				return true
			}
		}
	case k.old != nil:
		return func(module string) func(*lint.Finding) bool {
			var file *baseline.View
			if module != "" {
				file = k.old.File(module)
			}
			return func(f *lint.Finding) bool {
				if file == nil { // the module goes by the name of its file
					file = k.old.File(baseline.Module(module, f.File))
				}
				return file.Known(f)
			}
		}
	}
	return nil
}

func (k *knownFindings) begin(module, path string) *baseline.FileRecorder {
	file := k.recorder.File(baseline.Module(module, path))
	k.mu.Lock()
	k.files[path] = file
	k.mu.Unlock()
	return file
}

// done takes what one input had into the new baseline.
func (k *knownFindings) done(res *lint.FileResult) {
	if k.recorder == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if file := k.files[res.Path]; file != nil {
		file.Close()
		delete(k.files, res.Path)
	}
	k.recorded += res.Suppressed
}

// finish writes the new baseline, or tells what is in the old one for nothing.
func (k *knownFindings) finish(a *app) error {
	if k.recorder == nil {
		if k.old != nil && k.all && !a.Quiet {
			gone := 0
			for _, e := range k.old.Stale() {
				gone += e.Count
			}
			if gone > 0 {
				a.complain("%s: %s no longer there; --write-baseline writes a new baseline", k.oldPath, plural(gone, "known finding"))
			}
		}
		return nil
	}
	out, err := createFile(k.path)
	if err != nil {
		return err
	}
	if err := k.recorder.Encode(out); err != nil {
		out.abort()
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	if !a.Quiet {
		a.complain("wrote %s to the baseline %s", plural(k.recorded, "finding"), k.path)
	}
	return nil
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
