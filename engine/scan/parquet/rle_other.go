//go:build !amd64 || portable

package parquet

// unpackGroups does as groupUnpackers[width] does.
func unpackGroups(out []uint32, packed []byte, width int) (n int, largest uint32) {
	return groupUnpackers[width](out, packed)
}
