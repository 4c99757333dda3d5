package rules

import (
	"fmt"

	"github.com/symlint/symlint/lint"
	"github.com/symlint/symlint/unwind/symfile"
)

// idUses counts how often each id is referred to and where first. Ids up to maxDenseID cost an array access; others, which
// only damaged or hostile files have, a map entry each.
type idUses struct {
	dense []uint32
	large map[int64]int
	first []idUse // in order of first use
}

type idUse struct {
	id  int64
	pos recordPos
}

func (u *idUses) add(id int64, r *symfile.Record) {
	if uint64(id) < uint64(len(u.dense)) {
		n := u.dense[id]
		u.dense[id] = n + 1
		if n != 0 {
			return
		}
	}
	u.addFirst(id, posOf(r))
}

// addFirst takes an id that dense does not hold, or holds since just now.
func (u *idUses) addFirst(id int64, pos recordPos) {
	switch {
	case id < 0 || id >= maxDenseID:
		if u.large == nil {
			u.large = make(map[int64]int)
		}
		u.large[id]++
		if u.large[id] > 1 {
			return
		}
	case id >= int64(len(u.dense)):
		u.grow(id)
		u.dense[id]++
	}
	u.first = append(u.first, idUse{id, pos})
}

func (u *idUses) grow(id int64) {
	dense := make([]uint32, min(max(int(id)+1, 2*len(u.dense), 1024), maxDenseID))
	copy(dense, u.dense)
	u.dense = dense
}

func (u *idUses) count(id int64) int {
	if uint64(id) < uint64(len(u.dense)) {
		return int(u.dense[id])
	}
	return u.large[id]
}

// merge takes over the uses of the part of the file that follows.
func (u *idUses) merge(later *idUses) {
	for i := range later.first {
		x := &later.first[i]
		n := later.count(x.id)
		if u.count(x.id) == 0 {
			u.first = append(u.first, *x)
		}
		if x.id < 0 || x.id >= maxDenseID {
			if u.large == nil {
				u.large = make(map[int64]int)
			}
			u.large[x.id] += n
			continue
		}
		if x.id >= int64(len(u.dense)) {
			u.grow(x.id)
		}
		u.dense[x.id] += uint32(n)
	}
}

// idDefinitions knows which ids the records of one kind define. Records without a name define theirs all the same, as far
// as this is about: they have been reported.
type idDefinitions struct {
	ids        idSet
	records    int
	unreadable int // records whose id cannot be told
}

func (d *idDefinitions) define(r *symfile.Record, id int64) {
	d.records++
	for _, x := range r.Problems {
		if !r.Usable && x.Field == "id" {
			d.unreadable++
			return
		}
	}
	d.ids.add(id)
}

func (d *idDefinitions) merge(later *idDefinitions) {
	d.ids.union(&later.ids)
	d.records += later.records
	d.unreadable += later.unreadable
}

// undefinedIDs says how to speak of ids that are used and not defined.
type undefinedIDs struct {
	rule  *lint.Rule
	kind  string // the record that defines
	user  string // the record that uses
	place func(*lint.Pass, *symfile.Record) symfile.Span
}

// reportUndefined reports the ids that no record defines, each at its first use; all as one when there is no record that
// defines any. It is silent when as many definitions could not be read, which has been reported.
func reportUndefined(p *lint.Pass, uses *idUses, definitions *idDefinitions, what undefinedIDs) {
	report := func(u *idUse, count int, subject, message string) {
		rec := p.RecordAt(u.pos.off, u.pos.line)
		spot := lint.At(what.rule, rec, what.place(p, rec))
		spot.Count = count
		p.Report(spot, func(f *lint.Finding) {
			at(f, rec.Addr)
			f.Message, f.Subject = message, subject
		})
	}
	if len(uses.first) > 0 && definitions.records == 0 {
		total := 0
		for i := range uses.first {
			total += uses.count(uses.first[i].id)
		}
		report(&uses.first[0], total, what.kind, fmt.Sprintf("there is no %s record, which %s with %s would need", what.kind,
			plural(total, what.user), plural(len(uses.first), "id")))
		return
	}
	var undefined []*idUse
	for i := range uses.first {
		if u := &uses.first[i]; !definitions.ids.has(u.id) {
			undefined = append(undefined, u)
		}
	}
	if len(undefined) <= definitions.unreadable {
		return
	}
	for _, u := range undefined {
		n := uses.count(u.id)
		named := fmt.Sprintf("%d %ss name it", n, what.user)
		if n == 1 {
			named = "one " + what.user + " names it"
		}
		subject := fmt.Sprintf("%s %d", what.kind, u.id)
		report(u, n, subject, fmt.Sprintf("%s is not defined; %s", subject, named))
	}
}
