package rules

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/sframe"
)

// binaryKind tells an ELF file from a section by itself.
func binaryKind(data []byte) string {
	if bytes.HasPrefix(data, []byte("\x7fELF")) {
		return "elf"
	}
	return "sframe"
}

// BadExcerpt makes the bad example of a rule printable.
func BadExcerpt(r *lint.Rule) []string {
	if !r.Binary {
		return Excerpt(r.Bad.Text, r.Bad.Line)
	}
	return binaryExcerpt(r.Bad.Data(), exampleOffsets(r), ">")
}

// GoodExcerpt makes the good example of a rule printable: of a binary, the part that is wrong in the bad one.
func GoodExcerpt(r *lint.Rule) []string {
	if !r.Binary {
		return Excerpt(r.Good, 0)
	}
	return binaryExcerpt(r.GoodData(), exampleOffsets(r), " ")
}

// exampleOffsets are the offsets in .sframe of what a rule says of its example.
func exampleOffsets(r *lint.Rule) []int64 {
	var out []int64
	res, err := RunExample(r)
	if err != nil {
		return nil
	}
	defer res.Close()
	for f, err := range res.Findings() {
		switch {
		case err != nil:
		case f.Section == sframe.SectionName && f.Length > 0:
			out = append(out, f.Offset)
		case f.Section == ".eh_frame": // what is missing would be counted there
			const functions = 8
			out = append(out, functions)
		}
	}
	return out
}

// excerptAround is how many lines of a listing are shown around the marked ones.
const excerptAround = 2

// binaryExcerpt shows the section byte by byte around the offsets; without any, the headers of the ELF file that matter.
func binaryExcerpt(data []byte, offsets []int64, arrow string) []string {
	var out []string
	var s *sframe.Section
	if binaryKind(data) == "elf" {
		f, err := sframe.Open(data)
		if err != nil {
			return nil
		}
		if len(offsets) == 0 {
			return headerLines(data, f)
		}
		if len(f.Sections) > 0 {
			s = f.Sections[0]
		}
	} else {
		s, _ = sframe.Parse(data, sframe.Options{})
	}
	var list bytes.Buffer
	if s == nil || s.Err != nil || sframe.Annotate(&list, s) != nil {
		raw := data
		if s != nil {
			raw = s.Data
		}
		for at := 0; at < min(len(raw), 32); at += 8 {
			out = append(out, fmt.Sprintf("  %08x  % x", at, raw[at:min(at+8, len(raw))]))
		}
		return out
	}
	lines := strings.Split(strings.TrimRight(list.String(), "\n"), "\n")
	show := make([]byte, len(lines)) // 1 shown, 2 marked
	mark := func(i int, v byte) {
		if i >= 0 && i < len(lines) {
			show[i] = max(show[i], v)
		}
	}
	offsets = slices.Clone(offsets)
	for _, off := range offsets {
		best := -1
		for i, l := range lines {
			if at, ok := lineOffset(l); ok && at <= off {
				best = i
			}
		}
		for i := best - excerptAround; best >= 0 && i <= best+excerptAround; i++ {
			mark(i, 1)
		}
		mark(best, 2)
	}
	skipped := false
	for i, l := range lines {
		switch {
		case show[i] == 0:
			skipped = true
			continue
		case skipped && i > 0:
			out = append(out, "  …")
		}
		skipped = false
		prefix := "  "
		if show[i] == 2 {
			prefix = arrow + " "
		}
		out = append(out, strings.TrimRight(prefix+l, " "))
	}
	return out
}

// lineOffset reads the offset a line of a listing begins with.
func lineOffset(line string) (int64, bool) {
	word, _, _ := strings.Cut(line, " ")
	if len(word) != 8 {
		return 0, false
	}
	v, err := strconv.ParseInt(word, 16, 64)
	return v, err == nil
}

// headerLines are the section and program headers of an example that concern SFrame.
func headerLines(data []byte, f *sframe.File) []string {
	out := []string{fmt.Sprintf("  %s %s", f.Machine, f.Type)}
	e := readELF(data, f)
	for _, s := range e.sections {
		if s.flags != 0 || s.name == sframe.SectionName || strings.HasPrefix(s.name, ".rela.sframe") {
			out = append(out, fmt.Sprintf("  %-13s %-16s %-28s 0x%06x  0x%x bytes", s.name, sectionType(uint32(s.typ)), s.flags, s.addr, s.size))
		}
	}
	for _, p := range f.Segments {
		out = append(out, fmt.Sprintf("  %-13s %-16s %-28s 0x%06x  0x%x bytes", "PT_GNU_SFRAME", "", p.Flags, p.Vaddr, p.FileSize))
	}
	return out
}

func sectionType(t uint32) string {
	if t == uint32(sframe.SectionType) {
		return "SHT_GNU_SFRAME"
	}
	return elf.SectionType(t).String()
}
