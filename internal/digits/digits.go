// Package digits writes numbers of a fixed width, divides integers downwards, and rounds decimals
// to the nearest floats.
package digits

// AppendPadded appends v with zeros in front up to a number of digits, 20 at most; a longer v is
// written whole.
func AppendPadded(dst []byte, v uint64, digits int) []byte {
	var buf [20]byte
	at := len(buf)
	for v != 0 || len(buf)-at < digits {
		at--
		buf[at] = '0' + byte(v%10)
		v /= 10
	}
	return append(dst, buf[at:]...)
}

// FloorDiv divides and rounds down, also below zero. Requires: b > 0.
func FloorDiv(a, b int64) int64 {
	if b == 1 {
		return a
	}
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
