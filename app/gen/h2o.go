package gen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/digits"
)

// H2OOptions describe a table of H2O.ai's db-benchmark, group-by.
type H2OOptions struct {
	Rows   int64 // N, at least K
	K      int64 // distinct values of id1, id2, id4 and id5; N/K of id3 and id6
	NA     int   // percentage of NULLs: of the values of each id, of the rows of each v
	Sorted bool  // in the order of id1 to id6, NULLs first
	Seed   uint64
}

// ParseH2O reads a name such as G1_1e7_1e2_5_0: rows, K, NULLs in percent, sorted or not.
func ParseH2O(name string) (H2OOptions, error) {
	parts := strings.Split(name, "_")
	if len(parts) != 5 || parts[0] != "G1" {
		return H2OOptions{}, fmt.Errorf("%q: want G1_<rows>_<K>_<NULL %%>_<sorted>, as in G1_1e7_1e2_0_0", name)
	}
	var numbers [4]int64
	for i, part := range parts[1:] {
		n, err := ParseCount(part)
		if err != nil {
			return H2OOptions{}, fmt.Errorf("%q: %w", name, err)
		}
		numbers[i] = n
	}
	if numbers[3] > 1 {
		return H2OOptions{}, fmt.Errorf("%q: sorted (%d) must be 0 or 1", name, numbers[3])
	}
	if numbers[2] > 100 {
		return H2OOptions{}, fmt.Errorf("%q: NULLs (%d %%) must be in [0, 100]", name, numbers[2])
	}
	opt := H2OOptions{Rows: numbers[0], K: numbers[1], NA: int(numbers[2]), Sorted: numbers[3] == 1}
	return opt, opt.Validate()
}

// ParseCount reads a whole number as people write it: 10000000, 10_000_000, 1e7, 2.5e6.
func ParseCount(s string) (int64, error) {
	digits := strings.ReplaceAll(s, "_", "")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		f, floatErr := strconv.ParseFloat(digits, 64)
		if floatErr != nil || f != float64(int64(f)) || f > 1<<62 {
			return 0, fmt.Errorf("%q is not a whole number: write it as 10000000, 10_000_000 or 1e7", s)
		}
		n = int64(f)
	}
	if n < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	return n, nil
}

// Validate reports a field that is out of its bounds.
func (o H2OOptions) Validate() error {
	switch {
	case o.K < 1 || o.K > h2oKMax:
		return fmt.Errorf("K (%d) must be in [1, %d]", o.K, h2oKMax)
	case o.Rows < o.K || o.Rows > rowsMax:
		return fmt.Errorf("Rows (%d) must be in [K, %d]", o.Rows, int64(rowsMax))
	case o.Rows/o.K > 1<<31-1:
		return fmt.Errorf("Rows / K (%d / %d) must be below 2^31, as id6 is an int32", o.Rows, o.K)
	case o.NA < 0 || o.NA > 100:
		return fmt.Errorf("NA (%d) must be in [0, 100]", o.NA)
	}
	return nil
}

// h2oKMax keeps K * N within 64 bits.
const h2oKMax = 10_000
const _ = uint64(1<<64-1) - h2oKMax*rowsMax // overflow does not compile

// name returns the name that ParseH2O reads.
func (o H2OOptions) name() string {
	exponent := func(n int64) string {
		e := 0
		for ; n >= 10 && n%10 == 0; n /= 10 {
			e++
		}
		return fmt.Sprintf("%de%d", n, e)
	}
	sorted := 0
	if o.Sorted {
		sorted = 1
	}
	return fmt.Sprintf("G1_%s_%s_%d_%d", exponent(o.Rows), exponent(o.K), o.NA, sorted)
}

// The columns of an H2O table, by number.
const (
	id1 = iota
	id2
	id3
	id4
	id5
	id6
	v1
	v2
	v3
	h2oColumns
)

var h2oSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id1", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "id2", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "id3", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "id4", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "id5", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "id6", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "v1", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "v2", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "v3", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
}, nil)

// h2o makes the values of an H2O table.
type h2o struct {
	H2OOptions
	starts []int64   // of Table
	sorted *h2oOrder // nil unless Sorted

	// nulls choose the NULLs, nullCount of them: values of an id column, rows of a v column. nil
	// chooses none. By column.
	nulls     [h2oColumns]*permutation
	nullCount [h2oColumns]uint64
}

// H2O returns a table of H2O.ai's db-benchmark: columns that are uniform and independent.
//
//	id1 id2     utf8     id001 .. id<K>
//	id3         utf8     id0000000001 .. id<N/K>
//	id4 id5     int32    1 .. K
//	id6         int32    1 .. N/K
//	v1 v2       int32    1 .. 5, 1 .. 15
//	v3          float64  0 .. 100, six decimals
//
// With NA, floor(distinct values * NA / 100) of an id column's values are NULL wherever they would
// stand, and in exactly floor(N * NA / 100) random rows each v column is. A sorted table's splits
// differ in their rows.
func H2O(opt H2OOptions) (*Table, error) {
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	g := &h2o{H2OOptions: opt}
	for c := range h2oColumns {
		of := uint64(opt.Rows)
		if c <= id6 {
			of = g.distinct(c)
		}
		if g.nullCount[c] = of * uint64(opt.NA) / 100; g.nullCount[c] > 0 {
			g.nulls[c] = newPermutation(of, opt.Seed, c)
		}
	}
	g.starts = blockStarts(opt.Rows)
	if opt.Sorted {
		g.sorted = newH2OOrder(g)
		g.starts = g.sorted.starts
	}
	return &Table{name: opt.name(), schema: h2oSchema, columns: g.stats(), starts: g.starts, open: g.open}, nil
}

// distinct returns how many values a column but v3 is drawn from: integers from 1 on.
func (g *h2o) distinct(column int) uint64 {
	switch column {
	case id3, id6:
		return uint64(g.Rows / g.K)
	case v1:
		return 5
	case v2:
		return 15
	}
	return uint64(g.K)
}

func (g *h2o) stats() []scan.ColumnStats {
	stats := make([]scan.ColumnStats, h2oColumns)
	for c := range stats {
		stats[c].NoNulls = g.nulls[c] == nil
	}
	for c := id4; c <= v2; c++ {
		stats[c].HasRange, stats[c].Min, stats[c].Max = true, 1, int64(g.distinct(c))
	}
	return stats
}

func (g *h2o) open(split int, columns []int) filler {
	var ids *sortedIDs // made once for all id columns of a sorted table
	fillers := make([]columnFiller, len(columns))
	for i, c := range columns {
		switch {
		case c >= v1:
			fillers[i] = g.value(split, c)
		case g.sorted == nil:
			fillers[i] = g.id(c, g.randomIDs(split, c))
		default:
			if ids == nil {
				ids = g.sorted.rows(split)
			}
			fillers[i] = g.id(c, ids.column(c))
		}
	}
	return each(fillers)
}

// randomIDs returns the number of the split's next value in an id column, from 0, and whether the
// value is not NULL.
func (g *h2o) randomIDs(split, column int) func() (uint64, bool) {
	r := newRNG(g.Seed, column, split)
	distinct, nulls, count := g.distinct(column), g.nulls[column], g.nullCount[column]
	return func() (uint64, bool) {
		v := r.below(distinct)
		return v, nulls == nil || nulls.at(v) >= count
	}
}

// id turns the numbers of values, from 0, into a column.
func (g *h2o) id(column int, next func() (uint64, bool)) columnFiller {
	if column >= id4 {
		return func(mem memory.Allocator, rows int) arrow.Array {
			return newColumn(array.NewInt32Builder(mem), rows, func() (int32, bool) {
				v, ok := next()
				return int32(v) + 1, ok
			})
		}
	}
	width := 3
	if column == id3 {
		width = 10
	}
	return func(mem memory.Allocator, rows int) arrow.Array {
		return newStrings(mem, rows, width+2, func(dst []byte) []byte {
			v, ok := next()
			if !ok {
				return nil
			}
			return digits.AppendPadded(append(dst, "id"...), v+1, width)
		})
	}
}

func (g *h2o) value(split, column int) columnFiller {
	r := newRNG(g.Seed, column, split)
	row := uint64(g.starts[split])
	nulls, count := g.nulls[column], g.nullCount[column]
	present := func() bool {
		row++
		return nulls == nil || nulls.at(row-1) >= count
	}
	if column == v3 {
		return func(mem memory.Allocator, rows int) arrow.Array {
			return newColumn(array.NewFloat64Builder(mem), rows, func() (float64, bool) {
				return float64(r.below(100_000_000)) / 1e6, present()
			})
		}
	}
	high := int64(g.distinct(column))
	return func(mem memory.Allocator, rows int) arrow.Array {
		return newColumn(array.NewInt32Builder(mem), rows, func() (int32, bool) {
			return int32(r.between(1, high)), present()
		})
	}
}
