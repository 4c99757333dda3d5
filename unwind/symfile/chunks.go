package symfile

import "bytes"

// Chunk is a part of a file that can be scanned on its own: data[From:To], whose first line is number Line; 0 = not
// counted yet.
type Chunk struct{ From, To, Line int }

// Cut cuts a file into at most n parts of about the same size, at records that open a new block: FUNC, PUBLIC, STACK
// CFI INIT and STACK WIN. Only the first one's line is known; CountLines tells the others', and is worth a goroutine
// for each.
func Cut(data []byte, n int) []Chunk {
	chunks := []Chunk{{To: len(data), Line: 1}}
	for i := 1; i < n; i++ {
		last := &chunks[len(chunks)-1]
		if p := nextBlock(data, max(len(data)/n*i, last.From+1)); p > 0 {
			last.To = p
			chunks = append(chunks, Chunk{From: p, To: len(data)})
		}
	}
	return chunks
}

// Chunks is Cut with the lines counted.
func Chunks(data []byte, n int) []Chunk {
	chunks := Cut(data, n)
	for i := range chunks[1:] {
		c := &chunks[i]
		chunks[i+1].Line = c.Line + CountLines(data[c.From:c.To])
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

// CountLines counts the line terminators as the scanner sees them: a run of CRs before an LF is one, any other CR run
// one for each CR.
func CountLines(data []byte) int {
	const block = 1 << 17 // looked at twice while it is in the cache
	n := 0
	for len(data) > 0 {
		part := data[:min(block, len(data))]
		if bytes.IndexByte(part, '\r') >= 0 {
			return n + countWithCR(data)
		}
		n += bytes.Count(part, []byte{'\n'})
		data = data[len(part):]
	}
	return n
}

func countWithCR(data []byte) int {
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
