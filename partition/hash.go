package partition

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Hashes come in two families. A key of one word has a bijective mixer: no two keys share
// a hash, so a partition or a table may carry the hash in place of the key. A wider key or
// a string is folded to 64 bits by 128-bit products: two keys may share a hash, and a
// table has to compare keys.
//
// testdata/hash_vectors.txt lists inputs and hashes that every implementation must match.

// Multipliers of the finalisers of MurmurHash3 (Appleby, 2011, public domain) and their
// inverses modulo 2^64 and 2^32.
const (
	mix64A, unmix64A = 0xff51afd7ed558ccd, 0x4f74430c22a54005
	mix64B, unmix64B = 0xc4ceb9fe1a85ec53, 0x9cb4b2f8129337db
	mix32A, unmix32A = 0x85ebca6b, 0xa5cb9243
	mix32B, unmix32B = 0xc2b2ae35, 0x7ed1b41d
)

// A pair that is not inverse does not compile.
const (
	_ = uint(1 - mix64A*unmix64A%(1<<64))
	_ = uint(1 - mix64B*unmix64B%(1<<64))
	_ = uint(1 - mix32A*unmix32A%(1<<32))
	_ = uint(1 - mix32B*unmix32B%(1<<32))
)

// Secrets of the multiply-fold: the fractional parts of the square roots of 2 and 3, as in
// the initial state of SHA-512, chosen because nobody chose them.
const (
	secret0 uint64 = 0x6a09e667f3bcc908
	secret1 uint64 = 0xbb67ae8584caa73b
)

// Mix64 is the 64-bit finaliser of MurmurHash3: a bijection that maps 0 to 0.
func Mix64(x uint64) uint64 {
	x ^= x >> 33
	x *= mix64A
	x ^= x >> 33
	x *= mix64B
	return x ^ x>>33
}

// Unmix64 is the inverse of Mix64.
func Unmix64(h uint64) uint64 {
	h ^= h >> 33
	h *= unmix64B
	h ^= h >> 33
	h *= unmix64A
	return h ^ h>>33
}

// Mix32 is the 32-bit finaliser of MurmurHash3: a bijection that maps 0 to 0.
func Mix32(x uint32) uint32 {
	x ^= x >> 16
	x *= mix32A
	x ^= x >> 13
	x *= mix32B
	return x ^ x>>16
}

// Unmix32 is the inverse of Mix32.
func Unmix32(h uint32) uint32 {
	h ^= h >> 16
	h *= unmix32B
	h ^= h>>13 ^ h>>26
	h *= unmix32A
	return h ^ h>>16
}

// mulFold folds the 128-bit product of x and y to 64 bits, as wyhash (Wang Yi, 2019) does.
// Unlike there, x + y is added: a product by 0 or by 2^64-1 folds to the same word whatever
// the other factor is, and x + y keeps that factor.
func mulFold(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	return (hi ^ lo) + (x + y)
}

// Combine folds the next word of a key into h. It starts from the seed and ends with
// Finish, so that the parts of a key can be hashed column by column.
func Combine(h, word uint64) uint64 {
	return mulFold(h^secret0, word^secret1)
}

// Finish spreads what Combine gathered over all bits of the hash. One product alone leaves
// some bits that an input bit flips almost always or almost never.
func Finish(h uint64) uint64 {
	return Mix64(h)
}

// FinishAll finishes many hashes in place.
func FinishAll(hashes []uint64) { mixWords(hashes, 0, hashes) }

// mixEach is mixWords on every processor.
func mixEach(words []uint64, seed uint64, out []uint64) {
	out = out[:len(words)]
	for i, w := range words {
		out[i] = Mix64(w ^ seed)
	}
}

// HashWords hashes a key of any number of words. Keys that are compared must have the same
// number of words.
func HashWords(words []uint64, seed uint64) uint64 {
	h := seed
	for _, w := range words {
		h = Combine(h, w)
	}
	return Finish(h)
}

// HashBytes hashes a string of bytes of any length. Beyond 16 bytes it folds 16 a step; the
// last 16 are always folded as one step that may overlap the one before.
func HashBytes(b []byte, seed uint64) uint64 { return Finish(CombineBytes(b, seed)) }

// CombineBytes is HashBytes before Finish.
func CombineBytes(b []byte, seed uint64) uint64 {
	h, n := seed, len(b)
	if n <= 16 {
		first, last := loadShort(b)
		return foldPair(h, first, last) ^ uint64(n)
	}
	for i := 0; i < n-16; i += 16 {
		h = foldPair(h, load64(b[i:]), load64(b[i+8:]))
	}
	return foldPair(h, load64(b[n-16:]), load64(b[n-8:])) ^ uint64(n)
}

// foldPair folds two words into h with one product.
func foldPair(h, first, second uint64) uint64 {
	return mulFold(h^first^secret0, second^secret1)
}

// loadShort reads at most 16 bytes as two words, which overlap unless there are 16. Strings of
// different lengths may read alike; the length tells them apart.
func loadShort(b []byte) (first, last uint64) {
	n := len(b)
	switch {
	case n >= 8:
		return load64(b), load64(b[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		return uint64(b[0]) | uint64(b[n/2])<<8, uint64(b[n-1])
	}
	return 0, 0
}

func load64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// HashKeys1 sets out[i] to the hash of the one-word key keys[i]: Mix64(keys[i] ^ seed),
// a bijection for every seed.
//
// Requires: len(out) >= len(keys).
func HashKeys1(keys []uint64, seed uint64, out []uint64) {
	mixWords(keys, seed, out)
}

// HashKeysN sets out[i] to HashWords of the i-th key of keys, which holds keys of the given
// number of words one after another.
//
// Requires: words >= 1 and len(out) >= len(keys) / words.
func HashKeysN(keys []uint64, words int, seed uint64, out []uint64) {
	if words == 2 {
		hashKeys2(keys, seed, out)
		return
	}
	rows := len(keys) / words
	out = out[:rows]
	for i := range out {
		out[i] = seed
	}
	for first := 0; first < words; first++ {
		for i, at := 0, first; i < len(out) && at < len(keys); i, at = i+1, at+words {
			out[i] = Combine(out[i], keys[at])
		}
	}
	FinishAll(out)
}

// hashKeys2 is HashKeysN for two words, without a loop over a key's words.
func hashKeys2(keys []uint64, seed uint64, out []uint64) {
	pairs := unsafe.Slice((*[2]uint64)(unsafe.Pointer(unsafe.SliceData(keys))), len(keys)/2)
	out = out[:len(pairs)]
	for i := range pairs {
		out[i] = Combine(Combine(seed, pairs[i][0]), pairs[i][1])
	}
	FinishAll(out)
}
