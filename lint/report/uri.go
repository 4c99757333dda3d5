package report

import (
	"net/url"
	"path"
	"path/filepath"
	"strings"
)

// relative returns the slash-separated path from root to a file, and false if the file is not beneath it. Without a
// root, relative paths are taken to start there already.
func relative(root, file string) (string, bool) {
	if root != "" {
		abs, err := filepath.Abs(file)
		if err == nil {
			root, err = filepath.Abs(root)
		}
		if err != nil {
			return "", false
		}
		if file, err = filepath.Rel(root, abs); err != nil {
			return "", false
		}
	}
	slash := path.Clean(filepath.ToSlash(file))
	return slash, !filepath.IsAbs(file) && slash != ".." && !strings.HasPrefix(slash, "../")
}

// artifactURI is a file's URI: relative to the root where it lies beneath it, absolute otherwise.
func artifactURI(root, file string) (uri string, underRoot bool) {
	if rel, ok := relative(root, file); ok {
		return (&url.URL{Path: rel}).String(), true
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		abs = file
	}
	abs = filepath.ToSlash(abs)
	if !strings.HasPrefix(abs, "/") { // C:/…
		abs = "/" + abs
	}
	return (&url.URL{Scheme: "file", Path: abs}).String(), false
}
