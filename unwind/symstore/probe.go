package symstore

import (
	"bytes"
	"errors"
	"path/filepath"
)

var errNotELF = errors.New("is no ELF file")

func isNotELF(err error) bool { return errors.Is(err, errNotELF) }

// maxProbe is how many bytes of a compressed file are looked at for its build id, which linkers put at the start.
const maxProbe = 1 << 20

// probe reads the headers of an ELF file. whole is whether it has seen all of them that there are: of a compressed file
// it unpacks the start.
func probe(path string) (info elfInfo, whole bool, err error) {
	f, size, err := open(path)
	if err != nil {
		return info, false, err
	}
	defer f.Close()
	c, err := sniff(f)
	if err != nil {
		return info, false, err
	}
	ok := false
	if c == plain {
		info, ok = readELF(f, size)
		whole = true
	} else {
		if start, _ := readStart(path, 4); string(start) != "\x7fELF" {
			return info, false, errNotELF
		}
		start, _ := readStart(path, maxProbe)
		info, ok = readELF(bytes.NewReader(start), int64(len(start)))
	}
	if !ok {
		return info, whole, errNotELF
	}
	return info, whole, nil
}

// makeIndex reads the build ids of all files in the directories and one level below.
func (b *Binaries) makeIndex() {
	b.index = make(map[[16]byte][]string)
	s := scan{left: maxEntries}
	for _, dir := range b.dirs {
		files, dirs, err := s.list(dir)
		if err != nil {
			continue // a file, or told when its places were tried
		}
		for _, d := range dirs {
			below, _, _ := s.list(d)
			files = append(files, below...)
		}
		for _, path := range files {
			if filepath.Ext(path) == ".sym" {
				continue
			}
			if info, _, err := probe(path); err == nil && len(info.buildID) > 0 {
				id := guidOf(info.buildID)
				b.index[id] = append(b.index[id], path)
			}
		}
	}
	b.cut = s.left <= 0
}
