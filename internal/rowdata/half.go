package rowdata

import "math"

// A float16 has 1 bit of sign, 5 of exponent and 10 of fraction; a float32 has 8 of exponent and 23
// of fraction. The conversions of arrow-go return wrong numbers below 2^-14, whose exponent is 0.
const (
	halfFraction = 10
	halfBias     = 15
	fractionCut  = 23 - halfFraction // lowest bits of a float32's fraction, which a float16 lacks
)

// FromHalf returns the number that the bits of a float16 stand for.
func FromHalf(bits uint16) float32 {
	sign := uint32(bits>>15) << 31
	exponent, fraction := uint32(bits>>halfFraction&0x1F), uint32(bits&(1<<halfFraction-1))
	switch exponent {
	case 0:
		small := math.Float32bits(float32(fraction) / (1 << (halfBias - 1 + halfFraction)))
		return math.Float32frombits(sign | small)
	case 0x1F:
		return math.Float32frombits(sign | 0xFF<<23 | fraction<<fractionCut)
	}
	return math.Float32frombits(sign | (exponent+127-halfBias)<<23 | fraction<<fractionCut)
}

// ToHalf returns the bits of the float16 that is nearest to a number: of two that are as near the
// even one, and an infinity for numbers that are too large.
func ToHalf(f float32) uint16 {
	const (
		least = 1.0 / (1 << (halfBias - 1)) // float16 whose exponent is not 0
		most  = 65520                       // from here on the nearest is infinite
	)
	sign := uint16(math.Float32bits(f)>>31) << 15
	switch abs := float32(math.Abs(float64(f))); {
	case f != f:
		return sign | 0x1F<<halfFraction | 1<<(halfFraction-1)
	case abs >= most:
		return sign | 0x1F<<halfFraction
	case abs < least:
		return sign | uint16(math.RoundToEven(float64(abs)*(1<<(halfBias-1+halfFraction))))
	default:
		bits := math.Float32bits(abs) - (127-halfBias)<<23
		bits += 1<<(fractionCut-1) - 1 + bits>>fractionCut&1
		return sign | uint16(bits>>fractionCut)
	}
}
