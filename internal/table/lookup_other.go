//go:build !amd64 || portable

package table

const hasLookUpVectors = false

func lookUpVectors(*Table, []uint64, []uint64, []uint32, []uint32) int {
	panic("table: no vectors to look keys up with")
}
