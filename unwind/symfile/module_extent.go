package symfile

// LastFunc returns the FUNC record with the highest address, the first of several; false if there is none.
func (m *Symbols) LastFunc() (FuncEntry, bool) {
	var last FuncEntry
	for i := range m.index.Funcs {
		if f := &m.index.Funcs[i]; i == 0 || f.Addr > last.Addr {
			last = *f
		}
	}
	return last, len(m.index.Funcs) > 0
}
