//go:build !amd64 || portable

package parquet

// unpackGroups calls groupUnpackers[width].
func unpackGroups(out []uint32, packed []byte, width int) (n int, largest uint32) {
	return groupUnpackers[width](out, packed)
}
