package symfile

import (
	"bytes"
	"runtime/debug"
)

// Chunk is a part of a file that can be scanned on its own: data[From:To], whose first line is number Line.
type Chunk struct{ From, To, Line int }

// Chunks cuts a file into at most n parts of about the same size, at records that open a new block: FUNC, PUBLIC,
// STACK CFI INIT and STACK WIN.
func Chunks(data []byte, n int) []Chunk {
	cuts := []int{0}
	for i := 1; i < n; i++ {
		if p := nextBlock(data, max(len(data)/n*i, cuts[len(cuts)-1]+1)); p > 0 {
			cuts = append(cuts, p)
		}
	}
	chunks := make([]Chunk, len(cuts))
	counts := make([]chan int, len(cuts))
	for i, from := range cuts {
		to := len(data)
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		chunks[i] = Chunk{From: from, To: to}
		if i+1 < len(cuts) { // nothing hangs on the last one's count
			counts[i] = make(chan int, 1)
			go func() {
				n := 0
				defer func() {
					recover() // a mapped file has shrunk; whoever scans it next will learn of it
					counts[i] <- n
				}()
				debug.SetPanicOnFault(true)
				n = countLines(data[from:to])
			}()
		}
	}
	line := 1
	for i := range chunks {
		chunks[i].Line = line
		if counts[i] != nil {
			line += <-counts[i]
		}
	}
	return chunks
}

// nextBlock returns the first position from p on at which a record that opens a block begins, 0 if none is near.
func nextBlock(data []byte, p int) int {
	const reach = 4 << 20
	limit := min(len(data), p+reach)
	for p < limit {
		n := bytes.IndexByte(data[p:limit], '\n')
		if n < 0 {
			return 0
		}
		p += n + 1
		if at(data, p, "FUNC ") || at(data, p, "PUBLIC ") || at(data, p, "STACK CFI INIT ") || at(data, p, "STACK WIN ") {
			return p
		}
	}
	return 0
}

// countLines counts the line terminators as the scanner sees them: a run of CRs before an LF is one, any other CR run
// one for each CR.
func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	for i := bytes.IndexByte(data, '\r'); i >= 0; {
		j := i
		for j < len(data) && data[j] == '\r' {
			j++
		}
		if j == len(data) || data[j] != '\n' {
			n += j - i
		}
		k := bytes.IndexByte(data[j:], '\r')
		if k < 0 {
			break
		}
		i = j + k
	}
	return n
}

// FindModule returns the first MODULE record among the first lines of a file, with Line 0 if there is none.
func FindModule(data []byte) ModuleEntry {
	const lines = 64
	var s Scanner
	s.Reset(data, 0, min(len(data), 1<<20), 1)
	for i := 0; i < lines && s.Next(); i++ {
		if r := s.Record(); r.Kind == Module {
			var x Index
			x.Add(r, data)
			return x.Module
		}
	}
	return ModuleEntry{}
}
