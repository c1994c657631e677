package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/mpga/mpga/internal/rowdata"
)

// bounds are the least and the greatest value of a chunk or a page, without NaN.
type bounds struct {
	kind      wordKind
	seen      bool
	low, high bound
}

// bound is an end of bounds.
type bound struct {
	words [2]uint64 // of the value; the second is 0 where values have one
	text  []byte    // the bytes of a string, to which words refer; empty for other values
}

// hold makes a copy of a string the end.
func (b *bound) hold(v *rowdata.Bytes2) {
	b.text = append(b.text[:0], v.Bytes()...)
	b.words = rowdata.ToBytes2(b.text)
}

func (b *bounds) reset(kind wordKind) {
	*b = bounds{kind: kind, low: bound{text: b.low.text[:0]}, high: bound{text: b.high.text[:0]}}
}

// add widens the bounds to values.
func (b *bounds) add(words []uint64) {
	if len(words) == 0 {
		return
	}
	switch b.kind {
	case kindSigned:
		b.integers(words, 1<<63)
	case kindNatural:
		b.integers(words, 0)
	case kindFloat64:
		b.floats(words, math.Float64frombits)
	case kindFloat32:
		b.floats(words, func(w uint64) float64 { return float64(math.Float32frombits(uint32(w))) })
	case kindDecimal:
		b.decimals(words)
	case kindBytes:
		b.strings(asStrings(words))
	}
}

// merge widens the bounds to others of the same kind.
func (b *bounds) merge(o *bounds) {
	switch {
	case !o.seen:
	case b.kind == kindFloat32 || b.kind == kindFloat64: // which are kept as doubles
		ends := []uint64{o.low.words[0], o.high.words[0]}
		b.floats(ends, math.Float64frombits)
	case b.kind == kindBytes:
		b.strings([]rowdata.Bytes2{o.low.words, o.high.words})
	case b.kind == kindDecimal:
		b.decimals([]uint64{o.low.words[0], o.low.words[1], o.high.words[0], o.high.words[1]})
	default:
		b.add([]uint64{o.low.words[0], o.high.words[0]})
	}
}

// integers compares words as unsigned numbers after their bits of flip are turned.
func (b *bounds) integers(words []uint64, flip uint64) {
	low, high := words[0]^flip, words[0]^flip
	if b.seen {
		low, high = b.low.words[0]^flip, b.high.words[0]^flip
	}
	for _, w := range words {
		low, high = min(low, w^flip), max(high, w^flip)
	}
	b.seen, b.low.words[0], b.high.words[0] = true, low^flip, high^flip
}

// floats keeps the bounds as doubles.
func (b *bounds) floats(words []uint64, value func(uint64) float64) {
	low, high := math.Inf(1), math.Inf(-1)
	if b.seen {
		low, high = math.Float64frombits(b.low.words[0]), math.Float64frombits(b.high.words[0])
	}
	for _, w := range words {
		v := value(w)
		if v < low { // not min, to which NaN is less
			low = v
		}
		if v > high {
			high = v
		}
	}
	b.seen, b.low.words[0], b.high.words[0] = low <= high || b.seen, math.Float64bits(low), math.Float64bits(high)
}

func (b *bounds) decimals(words []uint64) {
	if !b.seen {
		b.seen = true
		b.low.words, b.high.words = [2]uint64(words), [2]uint64(words)
	}
	for i := 0; i < len(words); i += 2 {
		v := [2]uint64(words[i:])
		if lessDecimal(v, b.low.words) {
			b.low.words = v
		}
		if lessDecimal(b.high.words, v) {
			b.high.words = v
		}
	}
}

func lessDecimal(a, b [2]uint64) bool {
	if a[1] != b[1] {
		return int64(a[1]) < int64(b[1])
	}
	return a[0] < b[0]
}

func (b *bounds) strings(values []rowdata.Bytes2) {
	if !b.seen {
		b.seen = true
		b.low.hold(&values[0])
		b.high.hold(&values[0])
	}
	for i := range values {
		v := &values[i]
		switch {
		case compareStrings(v, (*rowdata.Bytes2)(&b.low.words)) < 0:
			b.low.hold(v)
		case compareStrings(v, (*rowdata.Bytes2)(&b.high.words)) > 0:
			b.high.hold(v)
		}
	}
}

// compareStrings compares by the first four bytes, then, where both strings are short, by words:
// their bytes past the end are zero, so that only the length is left.
func compareStrings(a, b *rowdata.Bytes2) int {
	x, y := bits.ReverseBytes32(uint32(a[0]>>32)), bits.ReverseBytes32(uint32(b[0]>>32))
	if x == y {
		if a.Long() || b.Long() {
			return a.Compare(b)
		}
		if a[1] == b[1] {
			return a.Len() - b.Len()
		}
		if bits.ReverseBytes64(a[1]) < bits.ReverseBytes64(b[1]) {
			return -1
		}
		return 1
	}
	if x < y {
		return -1
	}
	return 1
}

// values returns the bounds as statistics have them; not ok where there are none.
func (b *bounds) values(form *wordForm) (low, high []byte, ok bool) {
	if !b.seen {
		return nil, nil, false
	}
	switch b.kind {
	case kindBytes:
		return append([]byte{}, b.low.text...), append([]byte{}, b.high.text...), true
	case kindFloat32, kindFloat64:
		// Zeros are equal, and a reader may look for either.
		x, y := math.Float64frombits(b.low.words[0]), math.Float64frombits(b.high.words[0])
		if x == 0 {
			x = math.Copysign(0, -1)
		}
		if y == 0 {
			y = math.Copysign(0, 1)
		}
		if b.kind == kindFloat32 {
			return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x))),
				binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(y))), true
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)),
			binary.LittleEndian.AppendUint64(nil, math.Float64bits(y)), true
	}
	return form.plain(nil, b.low.words[:form.words]), form.plain(nil, b.high.words[:form.words]), true
}
