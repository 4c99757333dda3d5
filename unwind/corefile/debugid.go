package corefile

const upperHex = "0123456789ABCDEF"

// DebugID returns the identifier that symbol files have for a build id: its first 16 bytes as a GUID, the first three
// fields of which are byte-swapped, and the age 0, in 33 upper-case hexadecimal digits. Shorter ids are padded with
// zeros; an empty one gives "". So does FileID::ConvertIdentifierToUUIDString of google/breakpad on little-endian
// hosts.
func DebugID(buildID []byte) string {
	if len(buildID) == 0 {
		return ""
	}
	var id [16]byte
	copy(id[:], buildID)
	id[0], id[1], id[2], id[3] = id[3], id[2], id[1], id[0]
	id[4], id[5], id[6], id[7] = id[5], id[4], id[7], id[6]
	var out [33]byte
	for i, b := range id {
		out[2*i], out[2*i+1] = upperHex[b>>4], upperHex[b&15]
	}
	out[32] = '0'
	return string(out[:])
}
