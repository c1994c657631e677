package gen

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/digits"
)

// PairsOptions describe a table of a key and a value.
type PairsOptions struct {
	Rows   int64
	Groups int64 // distinct keys, exactly; above Rows it is Rows
	Dist   Dist  // The default is Uniform.

	// Zipf is the exponent s of Dist Zipf: the r-th key has a share in proportion to r^-s.
	// It must be above 0 and may be at most 10.
	Zipf float64

	// SelfSimilar is h of Dist SelfSimilar: a fraction h of the keys has 1 - h of the rows, and so
	// on within each part. It must be in (0, 0.5).
	SelfSimilar float64

	// Heavy is the share of the rows that the first key has in Dist Heavy, in [0, 1].
	Heavy float64

	// Key is the key's type: int32, int64, uint32, uint64 or utf8. The default is int64.
	Key arrow.DataType

	// Value is the value's type: int32, int64, uint32, uint64 or float64. The default is int64.
	// Integers are in [0, 1000), doubles in [0, 100).
	Value arrow.DataType

	// Sparse spreads integer keys over all of their type. The default is 0 to Groups - 1, the most
	// frequent first.
	Sparse bool

	Seed uint64
}

// Dist says how often keys occur.
type Dist string

// The distributions. Each key occurs once first; the distribution holds for the rows after them.
const (
	Uniform     Dist = "uniform"
	Zipf        Dist = "zipf"        // by rejection-inversion, for any exponent
	SelfSimilar Dist = "selfsimilar" // the 80-20 rule, for h = 0.2: Gray et al., SIGMOD 1994
	Heavy       Dist = "heavy"       // one key with a share of its own, the others uniform
)

// dists lists the distributions.
var dists = []Dist{Uniform, Zipf, SelfSimilar, Heavy}

// ParseDist reads the name of a distribution.
func ParseDist(s string) (Dist, error) {
	if d := Dist(strings.ToLower(s)); slices.Contains(dists, d) {
		return d, nil
	}
	return "", fmt.Errorf("distribution %q: want uniform, zipf, selfsimilar or heavy", s)
}

var (
	keyTypes = []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.BinaryTypes.String}
	valueTypes = []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64}
)

// ParseKeyType reads the name of a key's type.
func ParseKeyType(s string) (arrow.DataType, error) { return parseType("key", s, keyTypes) }

// ParseValueType reads the name of a value's type.
func ParseValueType(s string) (arrow.DataType, error) { return parseType("value", s, valueTypes) }

func parseType(what, s string, types []arrow.DataType) (arrow.DataType, error) {
	names := make([]string, len(types))
	for i, t := range types {
		if names[i] = t.String(); names[i] == strings.ToLower(s) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s type %q: want one of %s", what, s, strings.Join(names, ", "))
}

// EnsureDefaults fills in fields that are zero.
func (o *PairsOptions) EnsureDefaults() {
	o.Dist = cmp.Or(o.Dist, Uniform)
	o.Key = cmp.Or(o.Key, arrow.PrimitiveTypes.Int64)
	o.Value = cmp.Or(o.Value, arrow.PrimitiveTypes.Int64)
	o.Groups = min(o.Groups, o.Rows)
}

// Validate reports every field that is out of its bounds.
func (o *PairsOptions) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Rows < 0 || o.Rows > rowsMax {
		bad("Rows (%d) must be in [0, %d]", o.Rows, int64(rowsMax))
	}
	if o.Groups < min(o.Rows, 1) {
		bad("Groups (%d) must be at least 1", o.Groups)
	}
	if _, err := ParseDist(string(o.Dist)); err != nil {
		errs = append(errs, err)
	}
	if o.Dist == Zipf && !(o.Zipf > 0 && o.Zipf <= 10) {
		bad("Zipf (%v) must be in (0, 10]", o.Zipf)
	}
	if o.Dist == SelfSimilar && !(o.SelfSimilar > 0 && o.SelfSimilar < 0.5) {
		bad("SelfSimilar (%v) must be in (0, 0.5)", o.SelfSimilar)
	}
	if o.Dist == Heavy && !(o.Heavy >= 0 && o.Heavy <= 1) {
		bad("Heavy (%v) must be in [0, 1]", o.Heavy)
	}
	if _, err := ParseKeyType(o.Key.String()); err != nil {
		errs = append(errs, err)
	}
	if _, err := ParseValueType(o.Value.String()); err != nil {
		errs = append(errs, err)
	}
	if o.keyBits() == 32 && o.Groups > math.MaxInt32 {
		bad("Groups (%d) must be at most %d for a key of %s", o.Groups, math.MaxInt32, o.Key)
	}
	return errors.Join(errs...)
}

// keyBits returns the width of an integer key, 0 for a string.
func (o *PairsOptions) keyBits() int {
	switch o.Key.ID() {
	case arrow.INT32, arrow.UINT32:
		return 32
	case arrow.INT64, arrow.UINT64:
		return 64
	}
	return 0
}

// pairs makes the values of a table of pairs.
type pairs struct {
	PairsOptions
	starts []int64      // of Table
	order  *permutation // of the rows: the rows that it sends below Groups hold each key once; nil for no rows
	spread *permutation // of 32-bit keys; nil unless Sparse
	zipf   *zipf        // nil unless Dist is Zipf
}

// The columns of a table of pairs, by number.
const (
	pairsKey = iota
	pairsValue
)

// Pairs returns a table of two columns, key and value.
func Pairs(opt PairsOptions) (*Table, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	g := &pairs{PairsOptions: opt, starts: blockStarts(opt.Rows)}
	if opt.Rows > 0 {
		g.order = newPermutation(uint64(opt.Rows), opt.Seed, pairsKey)
	}
	if opt.Sparse {
		g.spread = newPermutation(1<<32, opt.Seed, pairsValue)
	}
	if opt.Dist == Zipf && opt.Groups > 0 {
		g.zipf = newZipf(uint64(opt.Groups), opt.Zipf)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "key", Type: opt.Key}, {Name: "value", Type: opt.Value}}, nil)
	name := fmt.Sprintf("%s pairs, %d rows, %d groups", opt.Dist, opt.Rows, opt.Groups)
	return &Table{name: name, schema: schema, columns: g.stats(), starts: g.starts, open: g.open}, nil
}

func (g *pairs) stats() []scan.ColumnStats {
	stats := []scan.ColumnStats{{NoNulls: true}, {NoNulls: true}}
	if g.keyBits() > 0 && !g.Sparse && g.Rows > 0 {
		stats[pairsKey].HasRange, stats[pairsKey].Max = true, g.Groups-1
	}
	if g.Value.ID() != arrow.FLOAT64 {
		stats[pairsValue].HasRange, stats[pairsValue].Max = true, valuesBelow-1
	}
	return stats
}

// valuesBelow bounds integer values, so that no sum overflows but of a table that nobody can wait
// for.
const valuesBelow = 1000

func (g *pairs) open(split int, columns []int) filler {
	fillers := make([]columnFiller, len(columns))
	for i, c := range columns {
		if c == pairsKey {
			fillers[i] = g.keys(split)
		} else {
			fillers[i] = g.values(split)
		}
	}
	return each(fillers)
}

// ranks returns the numbers of the split's keys, from 0 for the most frequent.
func (g *pairs) ranks(split int) func() uint64 {
	r := newRNG(g.Seed, pairsKey, split)
	row, groups := uint64(g.starts[split]), uint64(g.Groups)
	return func() uint64 {
		first := g.order.at(row)
		row++
		if first < groups {
			return first // G3
		}
		return g.draw(r, groups)
	}
}

// draw returns a key's rank by the distribution.
func (g *pairs) draw(r *rng, groups uint64) uint64 {
	switch g.Dist {
	case Zipf:
		return g.zipf.draw(r) - 1
	case SelfSimilar:
		rank := float64(groups) * math.Pow(r.float(), math.Log(g.SelfSimilar)/math.Log(1-g.SelfSimilar))
		return min(uint64(rank), groups-1)
	case Heavy:
		if groups == 1 || r.float() < g.Heavy {
			return 0
		}
		return 1 + r.below(groups-1)
	}
	return r.below(groups)
}

func (g *pairs) keys(split int) columnFiller {
	rank := g.ranks(split)
	key := rank
	switch {
	case g.Sparse && g.keyBits() == 32:
		key = func() uint64 { return g.spread.at(rank()) }
	case g.Sparse:
		key = func() uint64 { return mix(rank() + g.Seed) }
	}
	if g.Key.ID() == arrow.STRING {
		return func(mem memory.Allocator, rows int) arrow.Array {
			return newStrings(mem, rows, 12, func(dst []byte) []byte {
				return digits.AppendPadded(append(dst, "key"...), rank(), 9)
			})
		}
	}
	return integers(g.Key, key)
}

func (g *pairs) values(split int) columnFiller {
	r := newRNG(g.Seed, pairsValue, split)
	if g.Value.ID() == arrow.FLOAT64 {
		return func(mem memory.Allocator, rows int) arrow.Array {
			return newColumn(array.NewFloat64Builder(mem), rows, func() (float64, bool) { return r.float() * 100, true })
		}
	}
	return integers(g.Value, func() uint64 { return r.below(valuesBelow) })
}

// integers fills a column of integers, dates or times with the low bits of next's numbers.
func integers(t arrow.DataType, next func() uint64) columnFiller {
	return func(mem memory.Allocator, rows int) arrow.Array {
		switch t.ID() {
		case arrow.INT16:
			return newColumn(array.NewInt16Builder(mem), rows, func() (int16, bool) { return int16(next()), true })
		case arrow.DATE32:
			return newColumn(array.NewDate32Builder(mem), rows, func() (arrow.Date32, bool) {
				return arrow.Date32(next()), true
			})
		case arrow.TIMESTAMP:
			times := array.NewTimestampBuilder(mem, t.(*arrow.TimestampType))
			return newColumn(times, rows, func() (arrow.Timestamp, bool) { return arrow.Timestamp(next()), true })
		case arrow.INT32:
			return newColumn(array.NewInt32Builder(mem), rows, func() (int32, bool) { return int32(next()), true })
		case arrow.UINT32:
			return newColumn(array.NewUint32Builder(mem), rows, func() (uint32, bool) { return uint32(next()), true })
		case arrow.UINT64:
			return newColumn(array.NewUint64Builder(mem), rows, func() (uint64, bool) { return next(), true })
		default:
			return newColumn(array.NewInt64Builder(mem), rows, func() (int64, bool) { return int64(next()), true })
		}
	}
}
