package table

import (
	"runtime"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// HashesWords reports whether the hash of a packed key is partition.HashKeys1 or HashKeysN of its
// words.
func HashesWords(l *rowdata.KeyLayout) bool { return len(l.Longs) == 0 && !isNullable(l) }

// Hash hashes packed keys. Equal keys have equal hashes, also where their strings lie at
// different addresses. long reports whether some key refers to bytes outside it.
func Hash(l *rowdata.KeyLayout, keys []uint64, seed uint64, hashes []uint64) (long bool) {
	switch {
	case l.Words == 0:
		clear(hashes)
	case l.Words == 1:
		partition.HashKeys1(keys, seed, hashes)
	case isText(l):
		return hashText(keys, seed, hashes)
	case isNullable(l):
		hashNullable(keys, seed, hashes)
	default:
		if long = rowdata.AnyLong(keys, l.Words, l.Longs...); long {
			hashLongs(l, keys, seed, hashes)
		} else {
			partition.HashKeysN(keys, l.Words, seed, hashes)
		}
	}
	return long
}

// isText reports whether a key is one string: the commonest keys that refer to bytes outside them, hashed
// and found without the detours of wider keys.
func isText(l *rowdata.KeyLayout) bool { return l.Words == 2 && len(l.Longs) == 1 }

// hashText hashes keys of one string: short strings by their words, long strings by their bytes.
func hashText(keys []uint64, seed uint64, hashes []uint64) (long bool) {
	values := rowdata.View[rowdata.Bytes2](keys)
	hashes = hashes[:len(values)]
	for i := range values {
		v := &values[i]
		if v.Long() {
			long = true
			hashes[i] = partition.CombineBytes(v.Bytes(), seed)
			continue
		}
		hashes[i] = partition.Combine(partition.Combine(seed, v[0]), v[1])
	}
	partition.FinishAll(hashes)
	return long
}

// hashNullable hashes keys of one word and a bit for NULL like keys of one word. It takes NULL for
// an arbitrary word, so that equal hashes of two keys do not make them equal.
func hashNullable(keys []uint64, seed uint64, hashes []uint64) {
	const null = 0xa54ff53a5f1d36f1 // as in the initial state of SHA-512: of the square root of 7
	pairs := rowdata.View[[2]uint64](keys)
	hashes = hashes[:len(pairs)]
	for i := range pairs {
		hashes[i] = pairs[i][0] | null&-pairs[i][1]
	}
	partition.HashKeys1(hashes, seed, hashes)
}

// touchKeys is how many keys are touched at once.
const touchKeys = 32

// touch loads both ends of the long strings of the next keys. The processor waits for all of these
// loads at once; between the steps of hashes it would wait for a few.
func touch(l *rowdata.KeyLayout, keys []uint64) {
	sum := byte(0)
	for _, w := range l.Longs {
		for at := w; at < min(len(keys), touchKeys*l.Words); at += l.Words {
			if v := rowdata.AsBytes2(keys[at : at+2]); v.Long() {
				sum ^= *(*byte)(v.Address()) ^ *(*byte)(unsafe.Add(v.Address(), v.Len()-1))
			}
		}
	}
	runtime.KeepAlive(sum)
}

// hashLongs hashes keys with long strings, with the hash of a string's bytes in place of its address.
func hashLongs(l *rowdata.KeyLayout, keys []uint64, seed uint64, hashes []uint64) {
	words := make([]uint64, min(len(hashes), touchKeys)*l.Words) // that are hashed, of the next keys
	for len(hashes) > 0 {
		n := min(len(hashes), touchKeys)
		next := keys[:n*l.Words]
		touch(l, next)
		words = words[:copy(words, next)]
		for _, w := range l.Longs {
			for at := w; at < len(next); at += l.Words {
				if v := rowdata.AsBytes2(next[at : at+2]); v.Long() {
					words[at+1] = partition.HashBytes(v.Bytes(), seed)
				}
			}
		}
		partition.HashKeysN(words, l.Words, seed, hashes[:n])
		keys, hashes = keys[n*l.Words:], hashes[n:]
	}
}
