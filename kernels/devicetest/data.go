package devicetest

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// Data are the rows of a case, as host memory.
type Data struct {
	Rows    int
	Keys    []byte
	Columns [][]byte
	Valid   [][]byte // bitmaps; nil: no value is NULL
}

// Data makes the rows of a case.
func (c *Case) Data() *Data {
	rng := rand.New(rand.NewPCG(c.Seed, 0x6d706761))
	d := &Data{Rows: c.Rows}
	groups := c.draw(rng)
	for _, g := range groups {
		d.Keys = appendKey(d.Keys, g, c.Shape.KeyBytes)
	}
	for _, t := range c.Shape.Columns {
		column := make([]byte, 0, c.Rows*t.Bytes())
		for range c.Rows {
			column = appendValue(column, t, rng, c.Extreme)
		}
		d.Columns = append(d.Columns, column)
		d.Valid = append(d.Valid, validity(rng, c.Rows, c.Nulls))
	}
	return d
}

// draw returns the group of each row.
func (c *Case) draw(rng *rand.Rand) []int {
	out := make([]int, c.Rows)
	var next func() int
	switch d := c.Distribution; d.Kind {
	case Zipf:
		next = zipf(rng, c.Groups, d.Skew)
	case SelfSimilar:
		next = func() int {
			return int(float64(c.Groups) * math.Pow(rng.Float64(), math.Log(d.Skew)/math.Log(1-d.Skew)))
		}
	case Heavy:
		next = func() int {
			if rng.Float64() < d.Skew {
				return 0
			}
			return rng.IntN(c.Groups)
		}
	default:
		next = func() int { return rng.IntN(c.Groups) }
	}
	for i := range out {
		out[i] = next()
	}
	if c.Groups == c.Rows && c.Distribution.Kind == Uniform { // every row a group
		copy(out, rng.Perm(c.Rows))
	}
	if c.Distribution.Kind == Sorted {
		slices.SortFunc(out, cmp.Compare[int])
	}
	return out
}

// zipf draws by the inverse of the cumulated weights, which takes any exponent.
func zipf(rng *rand.Rand, n int, exponent float64) func() int {
	sums := make([]float64, n)
	sum := 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -exponent)
		sums[i] = sum
	}
	return func() int {
		i, _ := slices.BinarySearch(sums, rng.Float64()*sum)
		return min(i, n-1)
	}
}

// extremeKeys come first: the patterns that an implementation might take for itself, to mark what
// is empty.
var extremeKeys = []uint64{
	0, math.MaxUint64, 1 << 63, math.MaxInt64, math.MaxUint32, 1 << 31, math.MaxInt32, 1, 1 << 32,
	0x7ff8000000000000, 0x7ff8000000000001, 0xfff8000000000000, 0x7fc00000, // NaN
	0xdbdbdbdbdbdbdbdb, 0xdeadbeefdeadbeef, 0x9ae16a3b2f90404f, ^uint64(0x9ae16a3b2f90404f),
}

// extremeKeys32 are the extreme keys of 4 bytes, each once.
var extremeKeys32 = func() []uint32 {
	var out []uint32
	for _, k := range extremeKeys {
		if !slices.Contains(out, uint32(k)) {
			out = append(out, uint32(k))
		}
	}
	return out
}()

// appendKey appends the key of a group: no two groups have the same.
func appendKey(keys []byte, group, keyBytes int) []byte {
	if keyBytes == 4 {
		if group < len(extremeKeys32) {
			return binary.LittleEndian.AppendUint32(keys, extremeKeys32[group])
		}
		k := partition.Mix32(uint32(group))
		for slices.Contains(extremeKeys32, k) {
			k = partition.Mix32(k + math.MaxUint32/2) // a group number that no case reaches
		}
		return binary.LittleEndian.AppendUint32(keys, k)
	}
	// One word of a wide key tells the group, and which one depends on the group.
	words := keyBytes / 8
	for w := range words {
		switch {
		case group < len(extremeKeys):
			keys = binary.LittleEndian.AppendUint64(keys, extremeKeys[(group+w)%len(extremeKeys)])
		case w == group%words:
			keys = binary.LittleEndian.AppendUint64(keys, partition.Mix64(uint64(group)))
		default:
			keys = binary.LittleEndian.AppendUint64(keys, 7)
		}
	}
	return keys
}

var extremeInts = []uint64{0, math.MaxUint64, 1 << 63, math.MaxInt64, 1, math.MaxUint32, 1 << 31,
	math.MaxInt32, 1 << 32}

var extremeFloats = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e100,
	-1e100, math.SmallestNonzeroFloat64}

func appendValue(column []byte, t kernels.ColumnType, rng *rand.Rand, extreme bool) []byte {
	if extreme && rng.IntN(4) == 0 {
		if t == kernels.Float64 {
			return binary.LittleEndian.AppendUint64(column, math.Float64bits(extremeFloats[rng.IntN(len(extremeFloats))]))
		}
		return appendInt(column, t, extremeInts[rng.IntN(len(extremeInts))], extremeInts[rng.IntN(len(extremeInts))])
	}
	if t == kernels.Float64 {
		// Far from 0 beside their spread, which is what shifted moments are for.
		return binary.LittleEndian.AppendUint64(column, math.Float64bits(1000+rng.NormFloat64()))
	}
	low := rng.Uint64() >> rng.IntN(64)
	if rng.IntN(2) == 0 {
		low = -low
	}
	return appendInt(column, t, low, uint64(int64(low)>>63))
}

func appendInt(column []byte, t kernels.ColumnType, low, high uint64) []byte {
	switch t.Bytes() {
	case 4:
		return binary.LittleEndian.AppendUint32(column, uint32(low))
	case 16:
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(column, low), high)
	}
	return binary.LittleEndian.AppendUint64(column, low)
}

func validity(rng *rand.Rand, rows int, nulls float64) []byte {
	if nulls == 0 {
		return nil
	}
	bitmap := make([]byte, (rows+31)/32*4)
	for i := range rows {
		if rng.Float64() >= nulls {
			bitmap[i/8] |= 1 << (i % 8)
		}
	}
	return bitmap
}

func isSet(bitmap []byte, i int) bool { return bitmap == nil || bitmap[i/8]>>(i%8)&1 != 0 }
