package expr

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/internal/digits"
)

// int128 widens an integer.
func int128(v int64) wide { return decimal128.FromI64(v) }

// addWide adds, and says whether the sum fits 128 bits.
func addWide(a, b wide) (wide, bool) {
	s := a.Add(b)
	return s, (a.HighBits()^s.HighBits())&(b.HighBits()^s.HighBits()) >= 0
}

func subWide(a, b wide) (wide, bool) {
	s := a.Sub(b)
	return s, (a.HighBits()^b.HighBits())&(a.HighBits()^s.HighBits()) >= 0
}

// mulWide multiplies, and says whether the product fits 128 bits.
func mulWide(a, b wide) (wide, bool) {
	negative := a.Sign()*b.Sign() < 0
	x, y := a.Abs(), b.Abs()
	xh, xl, yh, yl := uint64(x.HighBits()), x.LowBits(), uint64(y.HighBits()), y.LowBits()
	if xh != 0 && yh != 0 {
		return wide{}, false
	}
	hi, lo := bits.Mul64(xl, yl)
	over1, cross1 := bits.Mul64(xh, yl)
	over2, cross2 := bits.Mul64(xl, yh)
	hi, carry1 := bits.Add64(hi, cross1, 0)
	hi, carry2 := bits.Add64(hi, cross2, 0)
	least := negative && hi == 1<<63 && lo == 0
	if over1|over2|carry1|carry2 != 0 || hi>>63 != 0 && !least {
		return wide{}, false
	}
	p := decimal128.New(int64(hi), lo)
	if negative {
		p = p.Negate()
	}
	return p, true
}

// fits says whether an integer has at most `digits` decimal digits.
func fits(v wide, digits int) bool { return v.FitsInPrecision(int32(digits)) }

// pow10 returns a power of ten that fits int64.
func pow10(digits int) int64 { return int64(decimal128.GetScaleMultiplier(digits).LowBits()) }

// scaleUp multiplies by a power of ten.
func scaleUp(v wide, digits int) (wide, bool) {
	return mulWide(v, decimal128.GetScaleMultiplier(digits))
}

// scaleDown divides by a power of ten, halves away from zero.
func scaleDown(v wide, digits int) wide {
	if digits > digitsMax {
		return wide{}
	}
	q, r := v.Div(decimal128.GetScaleMultiplier(digits))
	return roundHalf.decimal(q, r, decimal128.GetHalfScaleMultiplier(digits))
}

// rescale turns the digits of a decimal into its digits at another scale, halves away from zero.
func rescale(v wide, from, to int) (wide, bool) {
	if to >= from {
		return scaleUp(v, to-from)
	}
	return scaleDown(v, from-to), true
}

// wideOf returns a number that a constant holds as int64 or in 128 bits.
func wideOf(value any) wide {
	if v, ok := value.(int64); ok {
		return int128(v)
	}
	return value.(wide)
}

// narrowed returns the digits of a number as its type holds them.
func narrowed(v wide, t Type) any {
	if t.kind() == wideKind {
		return v
	}
	return int64(v.LowBits())
}

// toFloat returns the double nearest to a decimal.
func toFloat(v wide, scale int) float64 {
	return digits.Double128(v.LowBits(), uint64(v.HighBits()), scale)
}

// fromFloat returns the decimal nearest to a double, halves away from zero.
func fromFloat(f float64, t Type) (wide, bool) {
	scaled := math.Round(f * math.Pow10(int(t.Scale)))
	if math.IsNaN(scaled) || math.Abs(scaled) >= math.Pow10(int(t.Precision)) {
		return wide{}, false
	}
	if math.Abs(scaled) < 1<<62 {
		return int128(int64(scaled)), true
	}
	return wideOfFloat(scaled)
}

// wideOfFloat returns a double without fraction as an integer. It returns false for NaN and for doubles
// beyond 128 bits.
func wideOfFloat(f float64) (wide, bool) {
	if !(math.Abs(f) < 1<<127) {
		return wide{}, false
	}
	i, _ := big.NewFloat(f).Int(nil)
	return decimal128.FromBigInt(i), true
}

// parseDecimal reads a number as a decimal, rounded to its scale. It returns false for a text that
// is no number, and for a number that is too large.
func parseDecimal(text string, t Type) (wide, bool) {
	text = strings.TrimSpace(text)
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e < -400 || e > 400 {
			return wide{}, false
		}
		mantissa, exponent = text[:i], e
	}
	negative := strings.HasPrefix(mantissa, "-")
	mantissa = strings.TrimPrefix(strings.TrimPrefix(mantissa, "-"), "+")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.ReplaceAll(whole+fraction, "_", "")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || !separates(whole) || !separates(fraction) {
		return wide{}, false
	}
	fractionDigits := len(strings.ReplaceAll(fraction, "_", ""))
	shift := int(t.Scale) + exponent - fractionDigits // zeros to append to the digits
	round := false
	if shift < 0 {
		keep := len(digits) + shift
		if keep < 0 {
			return wide{}, true
		}
		round, digits = digits[keep] >= '5', digits[:keep]
		shift = 0
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		shift = 0
	}
	if len(digits)+shift > digitsMax {
		return wide{}, false
	}
	var v wide
	for _, c := range []byte(digits) {
		v = v.Mul(int128(10)).Add(int128(int64(c - '0')))
	}
	v, _ = scaleUp(v, shift)
	if round {
		v = v.Add(int128(1))
	}
	if negative {
		v = v.Negate()
	}
	return v, fits(v, int(t.Precision))
}

// separates says whether an underscore stands in digits between two of them alone.
func separates(digits string) bool {
	return !strings.HasPrefix(digits, "_") && !strings.HasSuffix(digits, "_") && !strings.Contains(digits, "__")
}

// appendDecimal writes all digits of a decimal's scale, and none before the point if it has none.
func appendDecimal(b []byte, v wide, t Type) []byte {
	text := v.ToString(int32(t.Scale))
	if t.ID == Decimal && t.Precision == t.Scale {
		text = strings.Replace(text, "0.", ".", 1)
	}
	return append(b, text...)
}
