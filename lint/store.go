package lint

import (
	"bufio"
	"container/heap"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

// runLength is how many findings are held in memory before a sorted run goes to temporary storage.
const runLength = 8192

// store collects the findings of one file in bounded memory and yields them in order of position.
type store struct {
	registry *Registry
	mem      []Finding
	spill    *os.File
	size     int64
	runs     []int64 // start offsets of the sorted runs in spill
	err      error
	sorted   bool
}

func (s *store) add(f Finding) {
	if len(s.mem) == runLength {
		s.flush()
	}
	s.mem = append(s.mem, f)
	s.sorted = false
}

// flush writes the findings in memory as one sorted run.
func (s *store) flush() {
	if s.err != nil {
		s.mem = s.mem[:0]
		return
	}
	if s.spill == nil {
		if s.spill, s.err = os.CreateTemp("", "symlint-*.findings"); s.err != nil {
			return
		}
		os.Remove(s.spill.Name()) // where the system allows it, nothing is left behind even by a kill
	}
	s.sort()
	s.runs = append(s.runs, s.size)
	w := bufio.NewWriterSize(s.spill, 1<<16)
	var buf []byte
	for i := range s.mem {
		buf = appendFinding(buf[:0], s.registry, &s.mem[i])
		n, err := w.Write(buf)
		s.size += int64(n)
		if err != nil {
			s.err = err
			return
		}
	}
	if err := w.Flush(); err != nil {
		s.err = err
	}
	clear(s.mem)
	s.mem = s.mem[:0]
}

func (s *store) sort() {
	if !s.sorted {
		slices.SortStableFunc(s.mem, func(a, b Finding) int { return s.compare(&a, &b) })
		s.sorted = true
	}
}

// compare orders by position, then by the rule's place in the catalogue, then by text: the order of the output.
func (s *store) compare(a, b *Finding) int {
	switch {
	case a.Line != b.Line:
		return cmpInt(int64(a.Line), int64(b.Line))
	case a.Section != b.Section:
		return strings.Compare(a.Section, b.Section)
	case a.Offset != b.Offset:
		return cmpInt(a.Offset, b.Offset)
	case a.Column != b.Column:
		return cmpInt(int64(a.Column), int64(b.Column))
	}
	if c := cmpInt(int64(s.registry.Index(a.Rule)), int64(s.registry.Index(b.Rule))); c != 0 {
		return c
	}
	switch {
	case a.Message < b.Message:
		return -1
	case a.Message > b.Message:
		return 1
	}
	return 0
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// all yields the findings in order.
func (s *store) all() iter.Seq2[*Finding, error] {
	return func(yield func(*Finding, error) bool) {
		if s == nil {
			return
		}
		s.sort()
		if s.spill == nil || len(s.runs) == 0 {
			for i := range s.mem {
				if !yield(&s.mem[i], nil) {
					return
				}
			}
			if s.err != nil {
				yield(nil, s.err)
			}
			return
		}
		s.mergeRuns(yield)
	}
}

func (s *store) mergeRuns(yield func(*Finding, error) bool) {
	if s.err != nil {
		yield(nil, s.err)
		return
	}
	h := &runHeap{store: s}
	for i, start := range s.runs {
		end := s.size
		if i+1 < len(s.runs) {
			end = s.runs[i+1]
		}
		r := &run{order: i, r: bufio.NewReaderSize(io.NewSectionReader(s.spill, start, end-start), 1<<14)}
		if err := r.next(s.registry); err == nil {
			h.runs = append(h.runs, r)
		} else if err != io.EOF {
			yield(nil, err)
			return
		}
	}
	if len(s.mem) > 0 {
		h.runs = append(h.runs, &run{order: len(s.runs), mem: s.mem[1:], cur: s.mem[0]})
	}
	heap.Init(h)
	for len(h.runs) > 0 {
		r := h.runs[0]
		if !yield(&r.cur, nil) {
			return
		}
		switch err := r.next(s.registry); err {
		case nil:
			heap.Fix(h, 0)
		case io.EOF:
			heap.Pop(h)
		default:
			yield(nil, err)
			return
		}
	}
}

func (s *store) close() {
	if s != nil && s.spill != nil {
		s.spill.Close()
		os.Remove(s.spill.Name()) // systems that keep open files' names
		s.spill = nil
		s.runs = nil
	}
}

// run is one sorted sequence of findings being merged.
type run struct {
	order int
	cur   Finding
	r     *bufio.Reader
	mem   []Finding
}

func (r *run) next(g *Registry) error {
	if r.r == nil {
		if len(r.mem) == 0 {
			return io.EOF
		}
		r.cur, r.mem = r.mem[0], r.mem[1:]
		return nil
	}
	return readFinding(r.r, g, &r.cur)
}

type runHeap struct {
	store *store
	runs  []*run
}

func (h *runHeap) Len() int { return len(h.runs) }
func (h *runHeap) Less(i, j int) bool {
	if c := h.store.compare(&h.runs[i].cur, &h.runs[j].cur); c != 0 {
		return c < 0
	}
	return h.runs[i].order < h.runs[j].order
}
func (h *runHeap) Swap(i, j int) { h.runs[i], h.runs[j] = h.runs[j], h.runs[i] }
func (h *runHeap) Push(x any)    { h.runs = append(h.runs, x.(*run)) }
func (h *runHeap) Pop() any {
	r := h.runs[len(h.runs)-1]
	h.runs = h.runs[:len(h.runs)-1]
	return r
}
