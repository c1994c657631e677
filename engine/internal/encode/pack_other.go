//go:build !amd64 || portable

package encode

import "github.com/mpga/mpga/internal/rowdata"

// packGroups is packFirst for keys of one field as group numbers.
func packGroups(groups []uint32, f *rowdata.KeyField, words []uint64) (outside int) {
	return packFirst(groups, f, words)
}
