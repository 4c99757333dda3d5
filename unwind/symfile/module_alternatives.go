package symfile

// CFIAlternatives returns what the unwind rules at an address would be if the INIT records were attributed otherwise: for
// every INIT record that covers the address, its own rules and the deltas that stand under it and apply, nothing else.
// The readers use one record only and let stray deltas of others apply too; where a file is healthy there is one
// alternative, which equals CFI. It is meant for diagnosis and looks through the whole index. Breakpad policy only.
func (m *Symbols) CFIAlternatives(addr uint64) []*CFI {
	if m.policy != Breakpad {
		return nil
	}
	var out []*CFI
	for i := range m.index.Inits {
		e := &m.index.Inits[i]
		if addr < e.Addr || addr-e.Addr >= e.Size || i >= len(m.initEnd) || m.initEnd[i] == 0 {
			continue
		}
		block := &unwindBlock{rows: m.ownRows(int32(i))}
		c := &CFI{Addr: e.Addr, Size: e.Size}
		for n := range block.rows {
			if n > 0 && block.rows[n].Addr > addr {
				break
			}
			c.Rows = block.rows[:n+1]
		}
		m.merge(c, block)
		out = append(out, c)
		if len(out) == maxAlternatives {
			break
		}
	}
	return out
}

// maxAlternatives bounds how many INIT records of one address are looked at.
const maxAlternatives = 16

// ownRows reads an INIT record and the deltas under it.
func (m *Symbols) ownRows(init int32) []CFIRow {
	e := &m.index.Inits[init]
	var r Record
	end := googleLine(m.data, int(e.Off), len(m.data)).End
	_, fields, _ := stackPlatform(m.data, int(e.Off), end)
	googleCFI(m.data, fields, end, &r)
	rows := []CFIRow{m.row(e.Addr, r.Text, int(e.Line), true)}
	m.eachDelta(init, func(addr uint64, text Span, line int) { rows = append(rows, m.row(addr, text, line, false)) })
	return rows
}
