//go:build !amd64 || portable

package cpuagg

const (
	hasNarrowVectors = false
	hasFewVectors    = false
)

func addVectors(*uint64, *uint32, *uint64, int) uint64 {
	panic("cpuagg: no vectors to add with")
}

func addFew(*[fewGroups]uint64, *uint32, *uint64, int, int) uint64 {
	panic("cpuagg: no vectors to add with")
}
