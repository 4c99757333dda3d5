package rules

import "slices"

// originTable knows where each INLINE_ORIGIN id is defined first, and all later definitions.
type originTable struct {
	dense []recordPos // line 0 = not defined
	large map[int64]recordPos
	again []idUse
}

func (t *originTable) get(id int64) recordPos {
	if uint64(id) < uint64(len(t.dense)) {
		return t.dense[id]
	}
	return t.large[id]
}

func (t *originTable) has(id int64) bool { return t.get(id).line != 0 }

func (t *originTable) add(id int64, pos recordPos) {
	switch {
	case t.has(id):
		t.again = append(t.again, idUse{id, pos})
	case id < 0 || id >= maxDenseID:
		if t.large == nil {
			t.large = make(map[int64]recordPos)
		}
		t.large[id] = pos
	default:
		if id >= int64(len(t.dense)) {
			dense := make([]recordPos, min(max(int(id)+1, 2*len(t.dense), 256), maxDenseID))
			copy(dense, t.dense)
			t.dense = dense
		}
		t.dense[id] = pos
	}
}

// merge takes over the definitions of the part of the file that follows.
func (t *originTable) merge(later *originTable) {
	for id, pos := range later.dense {
		if pos.line != 0 {
			t.add(int64(id), pos)
		}
	}
	for id, pos := range later.large {
		t.add(id, pos)
	}
	t.again = append(t.again, later.again...)
}

// repeats returns the later definitions in file order.
func (t *originTable) repeats() []idUse {
	slices.SortFunc(t.again, func(a, b idUse) int { return int(a.pos.line) - int(b.pos.line) })
	return t.again
}
