//go:build !amd64 || portable

package cpuagg

const hasHalvesVectors = false

func halvesVectors(*uint64, int, uint64) (lows, highs uint64) {
	panic("cpuagg: no vectors to add with")
}
