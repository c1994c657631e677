//go:build !amd64 || portable

package cpuagg

const hasLookUpVectors = false

func lookUpVectors(*table, []uint64, []uint64, []uint32, []uint32) int {
	panic("cpuagg: no vectors to look keys up with")
}
