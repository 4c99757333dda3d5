package symfile

// The types of STACK WIN records that walkers ask for.
const (
	winFPO       = 0 // FPO_DATA: sizes and a flag
	winFrameData = 4 // FRAME_DATA: a program
)

// Win is what a walker learns of an address from STACK WIN records.
type Win struct {
	WinFields
	Addr, Size uint64 // bytes of code from the module-relative Addr on; rust-minidump may have cut Size short
	ParamSize  uint32 // bytes
	// Program is the text of a record that has one. AllocatesBasePointer is the last field of one that has none.
	Program              string
	AllocatesBasePointer bool
	// ParamOnly: no record covers the address. ParamSize is that of the FUNC, and nothing else holds a value.
	ParamOnly bool
	Line      int // of the STACK WIN or FUNC record, 1-based
	// ProgramSpan is where the program, or the flag, stands in the input.
	ProgramSpan Span
}

// Win returns the frame data record (type 4) at an address, else the FPO record (type 0), else what the FUNC there says
// of its parameters. Of nested records Google's reader takes the innermost.
func (m *Symbols) Win(addr uint64) (Win, bool) {
	if m.policy == RustMinidump {
		for slot := range m.rustWin {
			if e, ok := m.rustWin[slot].Get(addr); ok {
				return m.win(e), true
			}
		}
	} else {
		for slot := range m.wins {
			if e, ok := m.wins[slot].Get(addr); ok {
				return m.win(e), true
			}
		}
	}
	if e, ok := m.funcs.Get(addr); ok {
		f := &m.index.Funcs[e.Value]
		return Win{ParamSize: f.ParamSize, ParamOnly: true, Line: int(f.Line)}, true
	}
	return Win{}, false
}

// win reads the record behind an entry of the tables again, for the fields they do not keep.
func (m *Symbols) win(e RangeEntry[int32]) Win {
	x := &m.index.Wins[e.Value]
	var r Record
	if m.policy == RustMinidump {
		rustWin(m.data, int(x.Off), googleLine(m.data, int(x.Off), len(m.data)).End, &r)
	} else {
		end := googleLine(m.data, int(x.Off), len(m.data)).End
		_, fields, bare := stackPlatform(m.data, int(x.Off), end)
		if bare {
			end = len(m.data)
		}
		googleWin(m.data, fields, end, &r)
	}
	w := Win{WinFields: r.Win, Addr: e.First, Size: e.Size(), ParamSize: uint32(r.ParamSize), Line: int(x.Line),
		ProgramSpan: r.Text}
	switch text := m.data[r.Text.Off:r.Text.End]; {
	case r.Win.HasProgram != 0:
		w.Program = string(text)
	case m.policy == RustMinidump:
		w.AllocatesBasePointer = string(text) == "1"
	default:
		flag, _ := strtoull(text, 16)
		w.AllocatesBasePointer = int32(flag) != 0
	}
	return w
}
