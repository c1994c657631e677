package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	mpgasql "github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/tests/peer"
)

// answer is what is left of a result after it was read to its end: its rows, and a total of every column, of
// numbers that are finite, of lengths of strings, of values that are not NULL of other types.
type answer struct {
	rows   int64
	totals []float64
}

func (a answer) equal(b answer) bool {
	if a.rows != b.rows || len(a.totals) != len(b.totals) {
		return false
	}
	for i, x := range a.totals {
		if y := b.totals[i]; math.Abs(x-y) > 1e-7*max(1, math.Abs(x), math.Abs(y)) {
			return false
		}
	}
	return true
}

// mpga asks one engine, whose memory is warm after the first run.
type mpga struct{ engine *engine.Engine }

func openMPGA(o *options) (*mpga, error) {
	e, err := engine.Open(engine.Options{Threads: o.threads, Device: "cpu"})
	return &mpga{e}, err
}

func (m *mpga) Close() error { return m.engine.Close() }

// prepare reads and plans a statement over a file, which is opened each time.
func (m *mpga) prepare(ctx context.Context, q query, path string) (*plan.Query, error) {
	s, err := mpgasql.Parse(q.text)
	if err != nil {
		return nil, err
	}
	return plan.Prepare(ctx, m.engine, s, plan.Options{Tables: map[string]plan.Table{q.table.name: {Files: []string{path}}}})
}

// ask runs a statement once.
func (m *mpga) ask(ctx context.Context, q query, path string) (answer, engine.Stats, error) {
	prepared, err := m.prepare(ctx, q, path)
	if err != nil {
		return answer{}, engine.Stats{}, err
	}
	defer prepared.Close()
	result, err := prepared.Run(ctx)
	if err != nil {
		return answer{}, engine.Stats{}, err
	}
	defer result.Release()
	a := answer{totals: make([]float64, result.Schema().NumFields())}
	for result.Next() {
		batch := result.RecordBatch()
		a.rows += batch.NumRows()
		for i, column := range batch.Columns() {
			a.totals[i] += total(column)
		}
	}
	return a, result.Stats(), result.Err()
}

// columns returns the schema of a statement's result.
func (m *mpga) columns(ctx context.Context, q query, path string) (*arrow.Schema, error) {
	prepared, err := m.prepare(ctx, q, path)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	return prepared.Schema(), nil
}

func total(column arrow.Array) (sum float64) {
	valid := func(i int) bool { return column.NullN() == 0 || column.IsValid(i) }
	switch c := column.(type) {
	case *array.Int64:
		return sumOf(c.Int64Values(), valid)
	case *array.Int32:
		return sumOf(c.Int32Values(), valid)
	case *array.Int16:
		return sumOf(c.Int16Values(), valid)
	case *array.Float64:
		return sumOf(c.Float64Values(), valid)
	case *array.Decimal128:
		scale := c.DataType().(*arrow.Decimal128Type).Scale
		for i, v := range c.Values() {
			if valid(i) {
				sum += v.ToFloat64(scale)
			}
		}
		return sum
	case *array.String:
		for i := range c.Len() {
			if valid(i) {
				sum += float64(c.ValueLen(i))
			}
		}
		return sum
	case *array.List:
		for i := range c.Len() {
			if from, to := c.ValueOffsets(i); valid(i) {
				part := array.NewSlice(c.ListValues(), from, to)
				sum += total(part)
				part.Release()
			}
		}
		return sum
	}
	return float64(column.Len() - column.NullN())
}

func sumOf[T int16 | int32 | int64 | float64](values []T, valid func(int) bool) (sum float64) {
	for i, v := range values {
		if v-v == 0 && valid(i) {
			sum += float64(v)
		}
	}
	return sum
}

// summed wraps a statement so that DuckDB, too, reads the result to its end and in all columns.
func summed(text string, columns *arrow.Schema) string {
	names, totals := make([]string, columns.NumFields()), make([]string, columns.NumFields())
	for i, f := range columns.Fields() {
		names[i] = fmt.Sprint("c", i)
		sum := "count(%s)"
		switch id := f.Type.ID(); {
		case arrow.IsInteger(id), arrow.IsDecimal(id):
			sum = "coalesce(sum(%s), 0)"
		case id == arrow.FLOAT64:
			sum = "coalesce(sum(%[1]s) FILTER (isfinite(%[1]s)), 0)"
		case id == arrow.STRING:
			sum = "coalesce(sum(strlen(%s)), 0)"
		case id == arrow.LIST:
			sum = "coalesce(sum(list_sum(%s)), 0)"
		}
		totals[i] = fmt.Sprintf(sum, names[i]) + "::DOUBLE"
	}
	return fmt.Sprintf("SELECT count(*), %s FROM (%s) AS r(%s)", strings.Join(totals, ", "), text, strings.Join(names, ", "))
}

// askDuckDB runs a statement that summed returned.
func askDuckDB(ctx context.Context, d *peer.DuckDB, text string, columns int) (answer, error) {
	a := answer{totals: make([]float64, columns)}
	targets := []any{&a.rows}
	for i := range a.totals {
		targets = append(targets, &a.totals[i])
	}
	return a, d.QueryRowContext(ctx, text).Scan(targets...)
}
