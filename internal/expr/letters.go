package expr

import (
	endian "encoding/binary"
	"math/bits"
	"sync"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// Strings are read eight bytes at a time, as words of the machine.

const (
	wordOnes  = 0x0101010101010101
	wordHighs = 0x8080808080808080
)

// word returns eight bytes of a string. Requires: at+8 <= len(s).
func word(s string, at int) uint64 {
	return endian.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), len(s))[at:])
}

// isASCII says whether every byte of a string is a character of ASCII.
func isASCII(s string) bool {
	at := 0
	for ; at+8 <= len(s); at += 8 {
		if word(s, at)&wordHighs != 0 {
			return false
		}
	}
	for ; at < len(s); at++ {
		if s[at] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// characters counts as length does: the bytes that do not continue a character.
func characters(s string) int64 {
	at, continued := 0, 0
	for ; at+8 <= len(s); at += 8 {
		w := word(s, at)
		continued += bits.OnesCount64(w & wordHighs &^ (w << 1))
	}
	for ; at < len(s); at++ {
		if s[at]&0xC0 == 0x80 {
			continued++
		}
	}
	return int64(len(s) - continued)
}

// letterCase is a mapping of letters to one case.
type letterCase struct {
	first byte // the first letter of ASCII that it changes; 25 others follow
	of    func(rune) rune

	// pairs returns, by number of the character less 0x80, the two bytes of what a character of two
	// bytes becomes; zeros where that has other than two bytes.
	pairs func() *[0x800 - 0x80][2]byte
}

var lowerCase, upperCase = newLetterCase('A', unicode.ToLower), newLetterCase('a', func(r rune) rune {
	if r == 'ß' {
		return 'ẞ' // which Go leaves, as two letters stand for it too
	}
	return unicode.ToUpper(r)
})

func newLetterCase(first byte, of func(rune) rune) *letterCase {
	return &letterCase{first, of, sync.OnceValue(func() *[0x800 - 0x80][2]byte {
		pairs := new([0x800 - 0x80][2]byte)
		for i := range pairs {
			if to := of(rune(i) + 0x80); utf8.RuneLen(to) == 2 {
				utf8.EncodeRune(pairs[i][:], to)
			}
		}
		return pairs
	})}
}

// ascii appends a string of ASCII in the other case.
func (c *letterCase) ascii(out []byte, s string) []byte {
	at := 0
	for ; at+8 <= len(s); at += 8 {
		w := word(s, at)
		from := w + (0x80-uint64(c.first))*wordOnes      // high bits where a byte is no less than first
		beyond := w + (0x80-uint64(c.first)-26)*wordOnes // and where it is beyond the 26 letters
		out = endian.LittleEndian.AppendUint64(out, w^(from&^beyond&wordHighs)>>2)
	}
	for ; at < len(s); at++ {
		b := s[at]
		if b-c.first < 26 {
			b ^= 'a' - 'A'
		}
		out = append(out, b)
	}
	return out
}

// text appends a string in the other case. A byte that is no text becomes U+FFFD.
func (c *letterCase) text(out []byte, s string) []byte {
	pairs := c.pairs()
	for at := 0; at < len(s); {
		b := s[at]
		if b < utf8.RuneSelf {
			if b-c.first < 26 {
				b ^= 'a' - 'A'
			}
			out = append(out, b)
			at++
			continue
		}
		if b >= 0xC2 && b < 0xE0 && at+1 < len(s) && s[at+1]&0xC0 == 0x80 {
			if to := pairs[int(b&0x1F)<<6+int(s[at+1]&0x3F)-0x80]; to[0] != 0 {
				out = append(out, to[0], to[1])
				at += 2
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s[at:])
		out = utf8.AppendRune(out, c.of(r))
		at += size
	}
	return out
}
