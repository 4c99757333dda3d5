package corefile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseMaps reads the text of /proc/PID/maps (proc(5)), sorted by Start. An error names the line, from 1; what was read
// before it is returned with it.
func ParseMaps(text []byte) ([]Mapping, error) {
	var list []Mapping
	for number := 1; len(text) > 0; number++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		s := strings.TrimRight(string(line), "\r")
		if strings.TrimSpace(s) == "" {
			continue
		}
		m, err := parseMapsLine(s)
		if err != nil {
			sortMappings(list)
			return list, fmt.Errorf("maps line %d: %v", number, err)
		}
		list = append(list, m)
	}
	sortMappings(list)
	return list, nil
}

// parseMapsLine reads "start-end perms offset dev inode   path".
func parseMapsLine(line string) (Mapping, error) {
	var m Mapping
	var fields [5]string
	rest := line
	for i := range fields {
		fields[i], rest, _ = strings.Cut(strings.TrimLeft(rest, " \t"), " ")
	}
	first, last, ok := strings.Cut(fields[0], "-")
	if !ok {
		return m, fmt.Errorf("no address range")
	}
	var err error
	for _, f := range []struct {
		text string
		to   *uint64
	}{{first, &m.Start}, {last, &m.End}, {fields[2], &m.Offset}} {
		if *f.to, err = strconv.ParseUint(f.text, 16, 64); err != nil {
			return m, fmt.Errorf("%.40q is no hexadecimal number", f.text)
		}
	}
	if m.End <= m.Start {
		return m, fmt.Errorf("range %#x to %#x", m.Start, m.End)
	}
	if len(fields[1]) < 4 {
		return m, fmt.Errorf("access rights %.40q", fields[1])
	}
	for i, f := range []elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
		switch fields[1][i] {
		case "rwx"[i]:
			m.Flags |= f
		case '-':
		default:
			return m, fmt.Errorf("access rights %.40q", fields[1])
		}
	}
	m.setPath(unescape(strings.Trim(rest, " \t")))
	return m, nil
}

// unescape undoes \012, as which the kernel writes a newline in a path.
func unescape(path string) string { return strings.ReplaceAll(path, `\012`, "\n") }

func (m *Mapping) setPath(path string) { m.Path, m.Deleted = strings.CutSuffix(path, " (deleted)") }

func sortMappings(list []Mapping) {
	slices.SortStableFunc(list, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
}
