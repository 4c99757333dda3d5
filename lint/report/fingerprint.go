package report

import (
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"strconv"
)

// fingerprintName is the key in partialFingerprints; its number changes with the method.
const fingerprintName = "symlint/v1"

// fingerprint knows a finding again in another build, where lines, addresses and ids are different.
func fingerprint(rule, module, key string, ordinal int) string {
	sum := sha256.Sum256([]byte(rule + "\x00" + module + "\x00" + key + "\x00" + strconv.Itoa(ordinal)))
	return fmt.Sprintf("%x", sum[:16])
}

// ordinals numbers the findings of one file that have rule and key in common. It remembers the keys seen lately:
// findings come in order of position, where those of one function are near each other, and a file can have a
// million. A key that was not seen for ordinalWindow others starts at 0 again.
type ordinals struct {
	seed     maphash.Seed
	new, old map[uint64]int
}

// ordinalWindow is the least number of different keys that are remembered.
const ordinalWindow = 1 << 15

func (o *ordinals) reset() {
	o.seed = maphash.MakeSeed()
	o.new, o.old = make(map[uint64]int), nil
}

// next returns the number of the finding among its like, from 0.
func (o *ordinals) next(rule, key string) int {
	h := maphash.String(o.seed, rule+"\x00"+key)
	n, ok := o.new[h]
	if !ok {
		n = o.old[h]
		if len(o.new) >= ordinalWindow {
			o.old, o.new = o.new, make(map[uint64]int)
		}
	}
	o.new[h] = n + 1
	return n
}
