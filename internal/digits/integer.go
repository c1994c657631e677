package digits

import "math/big"

// Integer returns a two's complement integer of any number of words, the lowest first.
func Integer(words []uint64) *big.Int {
	v := new(big.Int).SetInt64(int64(words[len(words)-1]))
	for i := len(words) - 2; i >= 0; i-- {
		v.Lsh(v, 64)
		v.Add(v, new(big.Int).SetUint64(words[i]))
	}
	return v
}
