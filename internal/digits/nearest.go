package digits

import (
	"math"
	"math/bits"
)

// This file divides integers by powers of ten and rounds the quotient once, to the nearest float,
// ties to even. Where two floats hold the dividend and the divisor exactly, their quotient is that
// float; all other quotients are divided in words.

const (
	doubleBits, singleBits = 53, 24 // of a mantissa

	// A double holds 10^22, and a single 10^10, without rounding, and all integers of its
	// mantissa's bits.
	doubleScaleMax = 22
	doubleExact    = 1 << doubleBits

	// doubleLeast and singleLeast are how far the lowest bit of the least float is behind the
	// point, and one more.
	doubleLeast, singleLeast = 1075, 150

	// fivesMax is how many fives a word holds.
	fivesMax = 27
)

var tens = func() (t [doubleScaleMax + 1]float64) {
	for i := range t {
		t[i] = math.Pow10(i)
	}
	return t
}()

var fives = func() (f [fivesMax + 1]uint64) {
	f[0] = 1
	for i := 1; i < len(f); i++ {
		f[i] = 5 * f[i-1]
	}
	return f
}()

// Double returns the double nearest to v / 10^scale.
func Double(v int64, scale int) float64 {
	if v <= doubleExact && v >= -doubleExact && scale >= 0 && scale <= doubleScaleMax {
		return float64(v) / tens[scale]
	}
	return Mean([]uint64{uint64(v)}, 1, scale)
}

// Double128 is Double for an integer of two words.
func Double128(low, high uint64, scale int) float64 {
	if high == uint64(int64(low)>>63) {
		return Double(int64(low), scale)
	}
	return Mean([]uint64{low, high}, 1, scale)
}

// Single returns the float32 nearest to v / 10^scale: rounded once, which the nearest double,
// rounded again, is not.
func Single(v int64, scale int) float32 {
	if v <= doubleExact && v >= -doubleExact && scale >= 0 && scale <= doubleScaleMax {
		double := float64(v) / tens[scale]
		if single := float32(double); RoundsOnce(double, single) {
			return single
		}
	}
	return single([]uint64{uint64(v)}, scale)
}

// Single128 is Single for an integer of two words.
func Single128(low, high uint64, scale int) float32 {
	if high == uint64(int64(low)>>63) {
		return Single(int64(low), scale)
	}
	return single([]uint64{low, high}, scale)
}

// RoundsOnce says whether single, to which double was rounded, is also the float32 nearest to the
// number to which double is the nearest double. It is not where double lies midway between two
// float32 and the number on one side of double.
func RoundsOnce(double float64, single float32) bool {
	const behind = doubleBits - singleBits // bits that a single does not have
	const normal = 0x1p-126                // the least single that has all bits of a mantissa
	middle := math.Float64bits(double)&(1<<behind-1) == 1<<(behind-1)
	return !middle && (math.Abs(double) >= normal || double == 0) && !math.IsInf(float64(single), 0)
}

func single(v []uint64, scale int) float32 {
	lead, exponent, more := quotient(v, 1, scale)
	f := float32(rounded(lead, exponent, more, singleBits, singleLeast))
	if negative(v) {
		return -f
	}
	return f
}

// Mean returns the double nearest to sum / n / 10^scale, where sum is a two's complement integer of
// up to three words, the lowest first, and n is positive.
func Mean(sum []uint64, n uint64, scale int) float64 {
	v := int64(sum[0])
	small := v <= doubleExact && v >= -doubleExact && scale >= 0 && scale <= doubleScaleMax
	for _, w := range sum[1:] {
		small = small && w == uint64(v>>63)
	}
	if small {
		if divisor := float64(n) * tens[scale]; divisor <= doubleExact {
			return float64(v) / divisor
		}
	}
	lead, exponent, more := quotient(sum, n, scale)
	f := RoundLead(lead, exponent, more)
	if negative(sum) {
		return -f
	}
	return f
}

func negative(v []uint64) bool { return int64(v[len(v)-1]) < 0 }

// RoundLead returns the double nearest to lead * 2^exponent, ties to even. more says that the
// number is a little larger; lead then has all 64 bits.
func RoundLead(lead uint64, exponent int, more bool) float64 {
	return rounded(lead, exponent, more, doubleBits, doubleLeast)
}

// rounded is RoundLead for a mantissa of mantissa bits; least is doubleLeast or singleLeast.
func rounded(lead uint64, exponent int, more bool, mantissa, least int) float64 {
	keep := min(mantissa, exponent+63+least) // a subnormal has fewer bits
	if keep < 0 {
		return 0
	}
	kept, rest := lead>>(64-keep), lead<<keep
	if rest>>63 == 1 && (more || rest<<1 != 0 || kept&1 == 1) {
		kept++
	}
	return math.Ldexp(float64(kept), exponent+64-keep)
}

// quotient returns the first 64 bits of |sum / n / 10^scale|, their exponent, and whether any bit
// follows.
func quotient(sum []uint64, n uint64, scale int) (lead uint64, exponent int, more bool) {
	var words [3]uint64 // of the absolute value, the lowest first
	minus, borrow := negative(sum), uint64(0)
	for i, w := range sum {
		if minus {
			w, borrow = bits.Sub64(0, w, borrow)
		}
		words[i] = w
	}
	if words[2] == 0 && scale >= 0 && scale <= fivesMax {
		if over, divisor := bits.Mul64(n, fives[scale]); over == 0 {
			lead, exponent, more = quotientOf2(words[0], words[1], divisor)
			return lead, exponent - scale, more
		}
	}
	return quotientOf5(words, n, scale)
}

// quotientOf2 divides an integer of two words by one of a word.
func quotientOf2(low, high, divisor uint64) (lead uint64, exponent int, more bool) {
	if high == 0 {
		if low == 0 {
			return 0, 0, false
		}
		high, low, exponent = low, 0, -64
	}
	shift := bits.LeadingZeros64(high)
	high, low = high<<shift|low>>1>>(63-shift), low<<shift
	up := bits.LeadingZeros64(divisor)
	divisor <<= up
	exponent += up - shift
	carry := high >= divisor
	if carry {
		high -= divisor
	}
	lead, remainder := bits.Div64(high, low, divisor)
	more = remainder != 0
	if carry { // a quotient of 65 bits
		return lead>>1 | 1<<63, exponent + 1, more || lead&1 != 0
	}
	return lead, exponent, more
}

// quotientWords hold a sum of three words, and two more, so that the quotient has more than 64
// bits: the divisors have 64 bits, and 89 for 5^38.
const quotientWords = 5

// quotientOf5 divides an integer of three words, the lowest first, by n and by any power of ten.
func quotientOf5(sum [3]uint64, n uint64, scale int) (lead uint64, exponent int, more bool) {
	words := [quotientWords]uint64{sum[2], sum[1], sum[0]} // the highest first
	exponent = -64*(quotientWords-len(sum)) - scale
	for ; scale < 0; scale++ {
		exponent += timesFive(&words)
	}
	exponent -= normalize(&words)
	if n > 1 {
		more = divide(&words, n)
	}
	for ; scale > 0; scale -= fivesMax {
		more = divide(&words, fives[min(scale, fivesMax)]) || more
	}
	exponent -= normalize(&words)
	for _, w := range words[1:] {
		more = more || w != 0
	}
	return words[0], exponent + 64*(quotientWords-1), more
}

// timesFive multiplies by five, and returns by how many bits it has shifted the words to the right
// for that.
func timesFive(words *[quotientWords]uint64) (shifted int) {
	const room = 3 // bits of a five
	if bits.LeadingZeros64(words[0]) < room {
		for i := quotientWords - 1; i > 0; i-- {
			words[i] = words[i]>>room | words[i-1]<<(64-room)
		}
		words[0] >>= room
		shifted = room
	}
	var carry uint64
	for i := quotientWords - 1; i >= 0; i-- {
		high, low := bits.Mul64(words[i], 5)
		var c uint64
		words[i], c = bits.Add64(low, carry, 0)
		carry = high + c
	}
	return shifted
}

// normalize shifts words to the left until the first bit is set, and returns by how many bits.
// Words that are all zero stay zero.
func normalize(words *[quotientWords]uint64) (shifted int) {
	for shifted < 64*quotientWords && words[0] == 0 {
		copy(words[:], words[1:])
		words[quotientWords-1] = 0
		shifted += 64
	}
	shift := bits.LeadingZeros64(words[0]) & 63
	if shift == 0 {
		return shifted
	}
	for i := range quotientWords - 1 {
		words[i] = words[i]<<shift | words[i+1]>>(64-shift)
	}
	words[quotientWords-1] <<= shift
	return shifted + shift
}

// divide divides words, the highest first, and says whether there is a remainder.
func divide(words *[quotientWords]uint64, by uint64) (remains bool) {
	var remainder uint64
	for i, w := range words {
		words[i], remainder = bits.Div64(remainder, w, by)
	}
	return remainder != 0
}
