package unwind

// WalkList makes a stack of addresses that something else has walked, innermost first, as StackwalkerAddressList of
// Google's stackwalker_address_list.cc does: each is a frame of trust TrustPrewalked, looked up as it is, without
// taking it for a return address. No memory and no registers are needed, and the frames have none; the limit of frames
// holds. The stack belongs to no thread: its Index is -1 and its Thread empty.
//
// It ends at EndOutermost behind the last address, at EndLimit, or at EndNoContext where there are no addresses.
func (w *Walker) WalkList(pcs []uint64) *Stack {
	w.init()
	s := &Stack{Thread: &Thread{}, Index: -1, End: EndNoContext}
	if len(pcs) == 0 {
		return s
	}
	maxFrames := w.MaxFrames
	if maxFrames == 0 {
		maxFrames = DefaultMaxFrames
	}
	s.End = EndOutermost
	count := 0
	for _, pc := range pcs {
		f := Frame{Instruction: pc, Return: pc, Trust: TrustPrewalked, Technique: ByList}
		w.symbolize(&f)
		s.Frames = append(s.Frames, f)
		if count += len(f.Inlines) + 1; count > maxFrames {
			s.End = EndLimit
			break
		}
	}
	return s
}
