package symstore

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Binaries finds the ELF files of modules. It may be used by several goroutines: every file is read once.
type Binaries struct {
	dirs []string
	pool *pool

	mu      sync.Mutex
	results map[binaryKey]*pendingBinary

	scan  sync.Once
	index map[[16]byte][]string // files by the first 16 bytes of their build id, by scan
	cut   bool                  // the scan ended at maxEntries
}

type binaryKey struct{ path, buildID string }

type pendingBinary struct {
	once sync.Once
	data []byte
	file string
	err  error
}

// BinaryError is a module whose binary was not found. It is an fs.ErrNotExist.
type BinaryError struct {
	Path    string // of the module in the dump
	BuildID []byte
	// Tried are the files that were there and were not the one, each with the reason.
	Tried []string
}

// Error returns a message with the module's path and the first of the files that were tried.
func (e *BinaryError) Error() string {
	text := e.Path + ": no such binary"
	if len(e.BuildID) > 0 {
		text += " with build id " + hex.EncodeToString(e.BuildID)
	}
	if len(e.Tried) > 0 {
		text += ": " + some(e.Tried, trials, "; ")
	}
	return text
}

// Unwrap returns fs.ErrNotExist.
func (e *BinaryError) Unwrap() error { return fs.ErrNotExist }

// NewBinaries returns a finder of binaries in directories, which are tried in the order given. A binary itself may
// stand for a directory. Nothing is read yet; what does not exist is told by the errors of Binary.
func NewBinaries(dirs []string) *Binaries {
	return &Binaries{dirs: dirs, pool: newPool(0), results: make(map[binaryKey]*pendingBinary)}
}

// Close releases the memory of all files, which must not be used any more.
func (b *Binaries) Close() error { return b.pool.close() }

// Binary returns the content and the path of the ELF file of a module, whose path in the dump and build id are given.
// The id may be nil, for unknown, or the 16 bytes of it that fit a GUID. In every directory these are looked at, also
// with .gz or .zst behind their names:
//
//	DIR/PATH   DIR/NAME   DIR/NAME/ID/NAME   DIR/.build-id/xx/yyyy   DIR/.build-id/xx/yyyy.debug
//
// where ID is the debug id in Breakpad's form and xx and yyyy are the build id; then, if the build id is known, all
// files in the directories and one level below. A file with another build id is never taken. One that has none is taken
// if there is no better, and so is one with the right id but without code (a .debug file). The data is valid until
// Close. The error is a *BinaryError, or tells why a file cannot be read.
func (b *Binaries) Binary(path string, buildID []byte) (data []byte, file string, err error) {
	if b.pool.isClosed() {
		return nil, "", ErrClosed
	}
	key := binaryKey{path, string(buildID)}
	b.mu.Lock()
	p := b.results[key]
	if p == nil {
		p = new(pendingBinary)
		b.results[key] = p
	}
	b.mu.Unlock()
	p.once.Do(func() { p.data, p.file, p.err = b.find(path, buildID) })
	return p.data, p.file, p.err
}

// hunt is the state of one search.
type hunt struct {
	*Binaries
	buildID []byte
	seen    map[string]bool
	tried   []string
	failed  error // why the first file that could have been the one cannot be read

	data           []byte // of the best file
	file           string
	noCode, second string // the first file with the right id and no code; the first without an id
}

func (b *Binaries) find(path string, buildID []byte) ([]byte, string, error) {
	h := hunt{Binaries: b, buildID: buildID, seen: make(map[string]bool)}
	for _, dir := range b.dirs {
		if h.directory(dir, path) {
			return h.data, h.file, nil
		}
	}
	if len(buildID) > 0 {
		b.scan.Do(b.makeIndex)
		for _, file := range b.index[guidOf(buildID)] {
			if h.try(file) {
				return h.data, h.file, nil
			}
		}
		if b.cut {
			h.tried = append(h.tried, "there are more files than are looked at")
		}
	}
	for _, file := range [...]string{h.noCode, h.second} {
		if file != "" && h.load(file) {
			return h.data, h.file, nil
		}
	}
	if h.failed != nil {
		return nil, "", h.failed
	}
	return nil, "", &BinaryError{path, buildID, h.tried}
}

// directory tries the places in a directory where a module's binary may be.
func (h *hunt) directory(dir, path string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		h.tried = append(h.tried, fmt.Sprintf("%s: %v", dir, withoutPath(err)))
		return false
	}
	path = strings.TrimSuffix(path, " (deleted)") // as the kernel has it in /proc/PID/maps
	leaf := Base(path)
	if !info.IsDir() {
		known := len(h.buildID) > 0 || strings.TrimSuffix(strings.TrimSuffix(Base(dir), ".gz"), ".zst") == leaf
		return known && h.try(dir)
	}
	if isElement(leaf) {
		places := []string{inside(path), leaf}
		if len(h.buildID) > 0 {
			places = append(places, filepath.Join(leaf, breakpadID(h.buildID), leaf))
		}
		for _, place := range places {
			if h.packed(filepath.Join(dir, place)) {
				return true
			}
		}
	}
	if len(h.buildID) > 1 {
		name := hex.EncodeToString(h.buildID)
		place := filepath.Join(dir, ".build-id", name[:2], name[2:])
		return h.packed(place) || h.packed(place+".debug") || len(h.buildID) == len(guidOf(nil)) && h.startingWith(place)
	}
	return false
}

// startingWith tries the files whose names continue a path: a build id may be longer than what the dump has of it.
func (h *hunt) startingWith(path string) bool {
	dir, start := filepath.Split(path)
	entries, err := readDir(dir, maxEntries)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), start) && h.try(filepath.Join(dir, e.Name())) {
			return true
		}
	}
	return false
}

// inside turns a path of a dump into one that leads nowhere but into a directory.
func inside(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = strings.ReplaceAll(path, `\`, "/")
		if len(path) > 1 && path[1] == ':' {
			path = path[2:]
		}
	}
	return filepath.Clean(filepath.FromSlash("/" + path))
}

// breakpadID is the debug id of a build id: its first 16 bytes as a GUID, of which three fields are little-endian, and
// an age of 0.
func breakpadID(buildID []byte) string {
	g := guidOf(buildID)
	return fmt.Sprintf("%X0", []byte{g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6],
		g[8], g[9], g[10], g[11], g[12], g[13], g[14], g[15]})
}

// packed tries a file and its compressed forms.
func (h *hunt) packed(path string) bool {
	return h.try(path) || h.try(path+".gz") || h.try(path+".zst")
}

// try looks at a file and loads it if it is the one.
func (h *hunt) try(path string) bool {
	if h.seen[path] {
		return false
	}
	h.seen[path] = true
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return false
	}
	info, whole, err := probe(path)
	if err == nil && !whole {
		// The headers behind the start of a compressed file are out of sight. Wait with reading all of it until its
		// build id, if in sight, fits.
		if len(h.buildID) == 0 || len(info.buildID) == 0 || sameBuild(h.buildID, info.buildID) {
			if e := h.content(path); e.err != nil {
				err = e.err
			} else {
				info, _ = readELF(bytes.NewReader(e.data), int64(len(e.data)))
			}
		}
	}
	if err != nil {
		h.miss(path, err)
		return false
	}
	switch known := len(h.buildID) > 0; {
	case known && len(info.buildID) > 0 && !sameBuild(h.buildID, info.buildID):
		h.tried = append(h.tried, fmt.Sprintf("%s has build id %x", path, info.buildID))
	case known && len(info.buildID) == 0:
		if h.second == "" {
			h.second = path
		}
	case info.debugOnly:
		if h.noCode == "" {
			h.noCode = path
		}
	default:
		return h.load(path)
	}
	return false
}

func (h *hunt) miss(path string, err error) {
	err = fmt.Errorf("%s: %w", path, err)
	h.tried = append(h.tried, err.Error())
	if h.failed == nil && !isNotELF(err) {
		h.failed = err
	}
}

// load takes a file.
func (h *hunt) load(path string) bool {
	e := h.content(path)
	if e.err != nil {
		h.miss(path, e.err)
		return false
	}
	h.data, h.file = e.data, path
	return true
}

func (h *hunt) content(path string) *pooled { return h.pool.get(path, false, func(*pooled) {}) }
