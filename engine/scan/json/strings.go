package json

import "unicode/utf8"

// The halves of surrogate pairs are [highSurrogates, lowSurrogates) and [lowSurrogates,
// surrogatesEnd).
const (
	highSurrogates = 0xD800
	lowSurrogates  = 0xDC00
	surrogatesEnd  = 0xE000
)

func isSurrogate(unit rune) bool { return unit >= highSurrogates && unit < surrogatesEnd }

func hexDigit(c byte) (digit rune, ok bool) {
	switch {
	case c-'0' <= 9:
		return rune(c - '0'), true
	case c|0x20-'a' <= 5:
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}

// short are the characters of escapes of two characters, by the second.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape is the fields.Unescape of strings whose escapes a scanner has read.
func unescape(dst, field []byte) []byte {
	for i := 0; i < len(field); {
		c := field[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if field[i+1] != 'u' {
			dst = append(dst, short[field[i+1]])
			i += 2
			continue
		}
		unit := unitOf(field[i+2:])
		i += 6
		if isSurrogate(unit) {
			unit = (unit-highSurrogates)<<10 + (unitOf(field[i+2:]) - lowSurrogates) + 0x10000
			i += 6
		}
		dst = utf8.AppendRune(dst, unit)
	}
	return dst
}

// unitOf returns the number of four hexadecimal digits.
func unitOf(digits []byte) (unit rune) {
	for _, c := range digits[:4] {
		digit, _ := hexDigit(c)
		unit = unit<<4 | digit
	}
	return unit
}
