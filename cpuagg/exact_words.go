package cpuagg

import "math/bits"

// Arithmetic on integers of any number of words, the low word first: unsigned, or two's complement
// where "signed".

// addWords adds a signed number to another of the same words.
func addWords(sum, v []uint64) {
	v = v[:len(sum)]
	var carry uint64
	for i := range sum {
		sum[i], carry = bits.Add64(sum[i], v[i], carry)
	}
}

// addSigned adds an unsigned number, negated when sign is all ones and not when it is 0, to a
// signed number of the same words.
func addSigned(sum, v []uint64, sign uint64) {
	v = v[:len(sum)]
	carry := sign & 1
	for i := range sum {
		sum[i], carry = bits.Add64(sum[i], v[i]^sign, carry)
	}
}

// addAt adds an unsigned number, shifted left by at bits and negated when sign is all ones, to a
// signed number. Bits past the end of the sum must be 0.
func addAt(sum, v []uint64, at int, sign uint64) {
	sum = sum[at/64:]
	shift := at % 64
	carry := sign & 1
	var below uint64 // the bits that the last word has left for the next
	for i := range sum {
		var w uint64
		switch {
		case i < len(v):
			w = v[i]<<shift | below
			below = v[i] >> 1 >> (63 - shift)
		case carry == sign&1 && below == 0:
			return // all ones with a carry, or zeros without, change nothing
		default:
			w, below = below, 0
		}
		sum[i], carry = bits.Add64(sum[i], w^sign, carry)
	}
}

// magnitude writes the absolute value of a signed number, and returns all ones if it is negative.
func magnitude(out, v []uint64) (sign uint64) {
	sign = uint64(int64(v[len(v)-1]) >> 63)
	clear(out)
	addSigned(out, v, sign)
	return sign
}

// signedBits returns how many bits a signed number needs besides its sign.
func signedBits(v []uint64) int {
	sign := uint64(int64(v[len(v)-1]) >> 63)
	for i := len(v) - 1; i >= 0; i-- {
		if w := v[i] ^ sign; w != 0 {
			return 64*i + bits.Len64(w)
		}
	}
	return 0
}

// shiftLeft shifts a number by n bits.
func shiftLeft(v []uint64, n int) {
	whole, shift := n/64, n%64
	for i := len(v) - 1; i >= 0; i-- {
		var w uint64
		if i >= whole {
			w = v[i-whole] << shift
		}
		if i > whole {
			w |= v[i-whole-1] >> 1 >> (63 - shift)
		}
		v[i] = w
	}
}

// multiply returns the product of two unsigned numbers in out, which has the words of both.
func multiply(out, x, y []uint64) {
	clear(out)
	for i, a := range x {
		var carry uint64
		for j, b := range y {
			high, low := bits.Mul64(a, b)
			var c uint64
			low, c = bits.Add64(low, out[i+j], 0)
			high += c
			out[i+j], c = bits.Add64(low, carry, 0)
			carry = high + c
		}
		out[i+len(y)] = carry
	}
}
