//go:build !amd64 || portable

package partition

// mixWords sets out[i] to Mix64(words[i] ^ seed). out may be words.
func mixWords(words []uint64, seed uint64, out []uint64) { mixEach(words, seed, out) }
