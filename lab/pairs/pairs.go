package pairs

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/spawn"
)

// Input is a table of pairs, with what its answers must add up to.
type Input struct {
	Batches []arrow.RecordBatch // rows in ordinary memory; nil of files
	Query   query.Query         // the first aggregate is the sum of the values
	Rows    int64
	Bytes   int64  // of the columns in memory
	Sum     uint64 // of the values, modulo 2^64: I1
	Groups  int64  // of the first answer: I2; 0 before

	source scan.Source // of the batches, or of the files
}

// sumByKey is the query of an input, until the caller changes it.
func sumByKey() query.Query {
	return query.Query{
		Keys:       []query.Key{{Column: "key"}},
		Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"value"}}},
	}
}

// Open opens files that have a column key and a column value. It sums the values up, which also
// brings the files into the page cache.
func Open(ctx context.Context, files string) (in *Input, err error) {
	source, err := dataset.Open(ctx, []string{files}, dataset.Options{})
	if err != nil {
		return nil, err
	}
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	in = &Input{source: source, Query: sumByKey()}
	total := query.Query{Aggregates: append(in.Query.Aggregates, query.Aggregate{Func: query.CountStar})}
	result, err := eng.Aggregate(ctx, source, total)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	for result.Next() {
		in.Sum = sumOf(result.RecordBatch().Column(0))
		in.Rows = int64(sumOf(result.RecordBatch().Column(1)))
	}
	for _, name := range []string{"key", "value"} {
		fields, _ := source.Schema().FieldsByName(name)
		for _, field := range fields {
			if t, fixed := field.Type.(arrow.FixedWidthDataType); fixed {
				in.Bytes += in.Rows * int64(t.Bytes())
			}
		}
	}
	return in, result.Err()
}

// batchRows is how many rows a loaded batch has.
const batchRows = 1 << 20

// Load makes the rows of a table that gen.Pairs describes, in ordinary memory.
func Load(ctx context.Context, table *gen.Table) (*Input, error) {
	splits, err := table.Splits(ctx, []int{0, 1})
	if err != nil {
		return nil, err
	}
	lists := make([][]arrow.RecordBatch, len(splits))
	sums := make([]uint64, len(splits))
	group, ctx := spawn.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range splits {
		group.Go(func() error {
			r, err := s.Open(ctx, scan.OpenOptions{BatchRows: batchRows})
			if err != nil {
				return err
			}
			defer r.Release()
			for r.Next() {
				b := r.RecordBatch()
				b.Retain()
				lists[i] = append(lists[i], b)
				sums[i] += sumOf(b.Column(1))
			}
			return r.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	debug.FreeOSMemory() // memory that loading has left would count as the query's
	in := &Input{Query: sumByKey(), Rows: table.Rows()}
	for i, list := range lists {
		in.Batches = append(in.Batches, list...)
		in.Sum += sums[i]
	}
	in.use(table.Schema())
	return in, nil
}

// use makes the batches, which have the schema, the source of queries.
func (in *Input) use(schema *arrow.Schema) {
	in.Bytes = 0
	for _, field := range schema.Fields() {
		in.Bytes += in.Rows * int64(field.Type.(arrow.FixedWidthDataType).Bytes())
	}
	in.source = scan.Batches(schema, in.Batches)
}

// Repeat gives loaded rows several columns that are the key and several that are the value, which
// share the memory of one. The query stays as it is.
func (in *Input) Repeat(keys, values []string) {
	var fields []arrow.Field
	var of []int // the column that each field repeats
	for column, names := range [][]string{keys, values} {
		for _, name := range names {
			fields = append(fields, arrow.Field{Name: name, Type: in.source.Schema().Field(column).Type})
			of = append(of, column)
		}
	}
	schema := arrow.NewSchema(fields, nil)
	for i, b := range in.Batches {
		columns := make([]arrow.Array, len(of))
		for j, column := range of {
			columns[j] = b.Column(column)
		}
		in.Batches[i] = array.NewRecordBatch(schema, columns, b.NumRows())
		b.Release()
	}
	in.use(schema)
}

// Release gives the batches back.
func (in *Input) Release() {
	for _, b := range in.Batches {
		b.Release()
	}
}

func sumOf(a arrow.Array) (sum uint64) {
	switch a := a.(type) {
	case *array.Uint32:
		for _, v := range a.Uint32Values() {
			sum += uint64(v)
		}
	case *array.Int64:
		for _, v := range a.Int64Values() {
			sum += uint64(v)
		}
	}
	return sum
}
