// Package timed asks a query some times, and tells whether its answer is that of another run.
package timed

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// Answer is the answer to a query that is asked some times, and what tells it from other answers.
type Answer struct {
	Query   string
	Groups  int64
	Seconds float64 // median
	Best    float64
	First   float64
	Stats   engine.Stats

	// CountsOnly says that other answers are as right, if they have as many rows.
	CountsOnly bool `json:"-"`

	// Times are the times of the runs behind the first, ascending.
	Times []time.Duration `json:"-"`

	digest digest
}

// Measure asks the query once and then some times.
func (r *Answer) Measure(ctx context.Context, eng *engine.Engine, opt plan.Options, times int) error {
	for i := range times + 1 {
		start := time.Now()
		if err := r.run(ctx, eng, opt, i == 0); err != nil {
			return err
		}
		if took := time.Since(start); i == 0 {
			r.First = took.Seconds()
		} else {
			r.Times = append(r.Times, took)
		}
	}
	slices.Sort(r.Times)
	r.Seconds, r.Best = r.Times[times/2].Seconds(), r.Times[0].Seconds()
	return nil
}

// run asks the query once, and takes a digest of its answer if it is asked to.
func (r *Answer) run(ctx context.Context, eng *engine.Engine, opt plan.Options, digests bool) error {
	statement, err := sql.Parse(r.Query)
	if err != nil {
		return err
	}
	query, err := plan.Prepare(ctx, eng, statement, opt)
	if err != nil {
		return err
	}
	defer query.Close()
	result, err := query.Run(ctx)
	if err != nil {
		return err
	}
	defer result.Release()
	r.Groups = 0
	for result.Next() {
		b := result.RecordBatch()
		r.Groups += b.NumRows()
		if digests && r.IsDigested() {
			r.digest.add(b)
		}
	}
	r.Stats = result.Stats()
	return result.Err()
}

// IsDigested reports whether the values of the answer are compared, and not its number of rows alone.
func (r *Answer) IsDigested() bool { return !r.CountsOnly && r.Groups <= digestRowsMax }

// Differs says how the answer differs from another to the same query; each has a name.
func (r *Answer) Differs(name string, from *Answer, fromName string) error {
	if r.Groups != from.Groups {
		return fmt.Errorf("%s has %d groups, %s has %d: an answer is wrong", fromName, from.Groups, name, r.Groups)
	}
	if !r.IsDigested() {
		return nil
	}
	if c := r.digest.differs(&from.digest); c > 0 {
		return fmt.Errorf("column %d of %s and of %s differ: an answer is wrong", c, fromName, name)
	}
	if r.digest.rows != from.digest.rows {
		return fmt.Errorf("rows of %s and of %s differ: an answer is wrong", fromName, name)
	}
	return nil
}

// digestRowsMax is of how many rows of an answer digests are taken, since one goroutine takes them: of a
// larger answer only the number of groups is compared.
const digestRowsMax = 20_000_000

// digest is what the rows of an answer add up to, in whatever order they come.
type digest struct {
	columns []columnDigest
	rows    uint64 // hashes of the rows' exact values
}

// columnDigest is what the values of a column add up to.
type columnDigest struct {
	nulls int64
	sum   uint64  // of hashes of exact values
	float float64 // of finite floating-point numbers, each by a weight of its row's exact values
	size  float64 // of their absolute values
}

var digestSeed = maphash.MakeSeed()

// add adds the rows of a batch.
func (d *digest) add(b arrow.RecordBatch) {
	if d.columns == nil {
		d.columns = make([]columnDigest, b.NumCols())
	}
	rows := make([]uint64, b.NumRows())
	for c, column := range b.Columns() {
		if floats, ok := column.(*array.Float64); ok {
			d.columns[c].addEndless(floats, rows)
		} else {
			d.columns[c].addExact(column, rows)
		}
	}
	for c, column := range b.Columns() {
		if floats, ok := column.(*array.Float64); ok {
			d.columns[c].addFloats(floats, rows)
		}
	}
	for _, h := range rows {
		d.rows += h
	}
}

// addExact adds the values of a column, and to the hash of each row that of its value.
func (d *columnDigest) addExact(column arrow.Array, rows []uint64) {
	d.nulls += int64(column.NullN())
	for i := range rows {
		h := uint64(0)
		switch {
		case column.IsNull(i):
		case column.DataType().ID() == arrow.INT64:
			h = maphash.Comparable(digestSeed, column.(*array.Int64).Value(i))
		case column.DataType().ID() == arrow.INT32:
			h = maphash.Comparable(digestSeed, column.(*array.Int32).Value(i))
		case column.DataType().ID() == arrow.STRING:
			h = maphash.String(digestSeed, column.(*array.String).Value(i))
		default:
			h = maphash.String(digestSeed, column.ValueStr(i))
		}
		d.sum += h
		rows[i] = maphash.Comparable(digestSeed, [2]uint64{rows[i], h})
	}
}

// addEndless adds which values of a column of floating-point numbers are NULL, NaN or infinite, as exact values.
func (d *columnDigest) addEndless(column *array.Float64, rows []uint64) {
	d.nulls += int64(column.NullN())
	for i := range rows {
		class := 0
		switch v := column.Value(i); {
		case column.IsNull(i):
			class = 1
		case math.IsNaN(v):
			class = 2
		case math.IsInf(v, 1):
			class = 3
		case math.IsInf(v, -1):
			class = 4
		}
		h := maphash.Comparable(digestSeed, class)
		d.sum += h
		rows[i] = maphash.Comparable(digestSeed, [2]uint64{rows[i], h})
	}
}

// addFloats adds the finite values of a column of floating-point numbers.
func (d *columnDigest) addFloats(column *array.Float64, rows []uint64) {
	const scale = 0x1p-64 // so that a sum of 2^60 values is finite
	for i, h := range rows {
		v := column.Value(i) * scale
		if column.IsNull(i) || v-v != 0 {
			continue
		}
		d.float += v * (1 + float64(h>>11)*0x1p-53)
		d.size += math.Abs(v)
	}
}

// floatError is by what part of its size a sum of floating-point numbers may differ, which devices add
// in other orders.
const floatError = 1e-9

// differs returns the number of the first column that differs, from 1 on; 0 of none.
func (d *digest) differs(from *digest) int {
	for c := range d.columns {
		x, y := &d.columns[c], &from.columns[c]
		near := math.Abs(x.float-y.float) <= 2*floatError*max(x.size, y.size)
		if x.nulls != y.nulls || x.sum != y.sum || !near {
			return c + 1
		}
	}
	return 0
}
