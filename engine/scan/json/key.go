package json

import "encoding/binary"

// writtenKey is a key as it is most likely written: in quotes, with the colon. Its first 8 bytes are
// compared as a word.
type writtenKey struct {
	word, mask uint64 // the first 8 bytes, 0 behind the end; and all bits of the bytes before the end
	rest       string // the bytes behind the first 8
	bytes      int    // of all
}

func newWrittenKey(text string) writtenKey {
	var first [8]byte
	n := copy(first[:], text)
	return writtenKey{
		word: binary.LittleEndian.Uint64(first[:]), mask: ^uint64(0) >> (64 - 8*n), rest: text[n:], bytes: len(text),
	}
}

// keyOf returns the key of a name, as it is written; or, where written is "", as a key that no sample has.
// A name that is written with escapes is never guessed: it can be written in several ways.
func keyOf(name, written string) writtenKey {
	if written != "" {
		return newWrittenKey(written)
	}
	for _, c := range []byte(name) {
		if c < ' ' || c == '"' || c == '\\' {
			return writtenKey{word: 1}
		}
	}
	return newWrittenKey(`"` + name + `":`)
}

// begins says whether text goes on with the key at p.
// Requires: 8 bytes behind p.
func (k *writtenKey) begins(text []byte, p int) bool {
	if binary.LittleEndian.Uint64(text[p:][:8])&k.mask != k.word {
		return false
	}
	return k.rest == "" || len(text) >= p+k.bytes && string(text[p+8:p+k.bytes]) == k.rest
}
