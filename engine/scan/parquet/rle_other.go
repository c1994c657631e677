//go:build !amd64 || portable

package parquet

// unpackGroups is unpackGroupsGeneric.
func unpackGroups(out []uint32, packed []byte, width int) (n int, largest uint32) {
	return unpackGroupsGeneric(out, packed, width)
}
