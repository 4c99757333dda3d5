package symfile

import (
	"cmp"
	"slices"
	"sort"
)

// AddressMap maps addresses to values and finds the closest one at or below an address, as Google's AddressMap
// (src/processor/address_map-inl.h): an address that is stored again is refused. Storing in ascending order costs
// nothing but the append. The zero value is empty.
type AddressMap[V any] struct {
	entries  []addressEntry[V]
	unsorted bool
	seen     map[uint64]struct{} // once the order was left
}

type addressEntry[V any] struct {
	addr  uint64
	value V
}

// Store adds a value; false if there is one at the address.
func (m *AddressMap[V]) Store(addr uint64, v V) bool {
	if n := len(m.entries); m.seen == nil && (n == 0 || m.entries[n-1].addr < addr) {
		m.entries = append(m.entries, addressEntry[V]{addr, v})
		return true
	}
	if m.seen == nil {
		m.seen = make(map[uint64]struct{}, len(m.entries))
		for i := range m.entries {
			m.seen[m.entries[i].addr] = struct{}{}
		}
	}
	if _, again := m.seen[addr]; again {
		return false
	}
	m.seen[addr] = struct{}{}
	m.unsorted = m.unsorted || m.entries[len(m.entries)-1].addr > addr
	m.entries = append(m.entries, addressEntry[V]{addr, v})
	return true
}

// Len is the number of addresses held.
func (m *AddressMap[V]) Len() int { return len(m.entries) }

// Get returns the value at the greatest address up to addr. The first call after a Store puts the map in order.
func (m *AddressMap[V]) Get(addr uint64) (at uint64, v V, ok bool) {
	m.Seal()
	i := sort.Search(len(m.entries), func(i int) bool { return m.entries[i].addr > addr }) - 1
	if i < 0 {
		return 0, v, false
	}
	return m.entries[i].addr, m.entries[i].value, true
}

// Seal puts the map in order and drops what only Store needs. Until the next Store, Get may then be called by several
// goroutines.
func (m *AddressMap[V]) Seal() {
	if m.unsorted {
		slices.SortFunc(m.entries, func(a, b addressEntry[V]) int { return cmp.Compare(a.addr, b.addr) })
		m.unsorted = false
	}
	if m.seen != nil {
		m.seen = nil
	}
}
