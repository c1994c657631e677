package main

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/gen"
	"github.com/mpga/mpga/internal/spawn"
)

// pairsInput is a table of pairs, with what its answer must add up to.
type pairsInput struct {
	source  scan.Source
	batches []arrow.RecordBatch // of rows in ordinary memory; nil with --input
	query   query.Query
	rows    int64
	bytes   int64  // of the columns in memory
	sum     uint64 // of the values, modulo 2^64: the sums of the groups add up to it
}

// open returns the input that is measured; rows in memory have so many groups.
func (f *benchOutOfCoreFlags) open(ctx context.Context, groups int64) (*pairsInput, error) {
	if f.input != "" {
		return openPairs(ctx, f.input)
	}
	opt := gen.PairsOptions{Rows: int64(f.rows), Groups: groups, Key: arrow.PrimitiveTypes.Uint32, Value: arrow.PrimitiveTypes.Uint32, Seed: 1}
	if f.zipf > 0 {
		opt.Dist, opt.Zipf = gen.Zipf, f.zipf
	}
	if f.wide {
		opt.Key, opt.Value = arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64
	}
	table, err := gen.Pairs(opt)
	if err != nil {
		return nil, usageError{err}
	}
	return loadPairs(ctx, table, f.wide)
}

// sumByKey is the query of tables of pairs.
func sumByKey() query.Query {
	return query.Query{
		Keys:       []query.Key{{Column: "key"}},
		Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"value"}}},
	}
}

// openPairs opens files of pairs, and sums their values up, which also brings the files into the
// page cache.
func openPairs(ctx context.Context, files string) (in *pairsInput, err error) {
	source, err := dataset.Open(ctx, []string{files}, dataset.Options{})
	if err != nil {
		return nil, err
	}
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	in = &pairsInput{source: source, query: sumByKey()}
	result, err := eng.Aggregate(ctx, source, query.Query{Aggregates: append(in.query.Aggregates, query.Aggregate{Func: query.CountStar})})
	if err != nil {
		return nil, err
	}
	defer result.Release()
	for result.Next() {
		in.sum = sumOf(result.RecordBatch().Column(0))
		in.rows = int64(sumOf(result.RecordBatch().Column(1)))
	}
	for _, name := range []string{"key", "value"} {
		fields, _ := source.Schema().FieldsByName(name)
		for _, field := range fields {
			if t, fixed := field.Type.(arrow.FixedWidthDataType); fixed {
				in.bytes += in.rows * int64(t.Bytes())
			}
		}
	}
	return in, result.Err()
}

// loadBatchRows is how many rows the loaded batches have.
const loadBatchRows = 1 << 20

// loadPairs loads a table into ordinary memory.
func loadPairs(ctx context.Context, table *gen.Table, wide bool) (*pairsInput, error) {
	columns := []int{0, 1}
	splits, err := table.Splits(ctx, columns)
	if err != nil {
		return nil, err
	}
	lists := make([][]arrow.RecordBatch, len(splits))
	sums := make([]uint64, len(splits))
	group, ctx := spawn.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range splits {
		group.Go(func() error {
			r, err := s.Open(ctx, scan.OpenOptions{BatchRows: loadBatchRows})
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
	in := &pairsInput{query: sumByKey()}
	for i, list := range lists {
		in.batches = append(in.batches, list...)
		in.sum += sums[i]
	}
	schema := table.Schema()
	if wide {
		in.widen()
		schema = in.batches[0].Schema()
		for _, name := range []string{"v2", "v3"} {
			in.query.Aggregates = append(in.query.Aggregates, query.Aggregate{Func: query.Sum, Args: []string{name}})
		}
		in.query.Aggregates = append(in.query.Aggregates, query.Aggregate{Func: query.CountStar})
	}
	for _, b := range in.batches {
		in.rows += b.NumRows()
		for _, c := range b.Columns() {
			in.bytes += b.NumRows() * int64(c.DataType().(arrow.FixedWidthDataType).Bytes())
		}
	}
	in.source = scan.Batches(schema, in.batches)
	return in, nil
}

// widen adds two values, which are the first one again.
func (in *pairsInput) widen() {
	for i, b := range in.batches {
		fields := append(slices.Clone(b.Schema().Fields()), arrow.Field{Name: "v2", Type: b.Column(1).DataType()}, arrow.Field{Name: "v3", Type: b.Column(1).DataType()})
		columns := []arrow.Array{b.Column(0), b.Column(1), b.Column(1), b.Column(1)}
		in.batches[i] = array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows())
		b.Release()
	}
}

func (in *pairsInput) release() {
	for _, b := range in.batches {
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

// time asks the query once and then some times. It returns the seconds that each took, and what the last did.
func (in *pairsInput) time(ctx context.Context, eng *engine.Engine, times int, stats *engine.Stats) (seconds []float64, err error) {
	for range times + 1 {
		start := time.Now()
		if *stats, err = in.run(ctx, eng); err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	return seconds, nil
}

// run asks the query once and checks that the sums of the groups add up to the sum of the input.
func (in *pairsInput) run(ctx context.Context, eng *engine.Engine) (engine.Stats, error) {
	result, err := eng.Aggregate(ctx, in.source, in.query)
	if err != nil {
		return engine.Stats{}, err
	}
	defer result.Release()
	// One goroutine would take longer to add up a result than the query takes to make it.
	var sum atomic.Uint64
	batches := make(chan arrow.RecordBatch)
	readers, readCtx := spawn.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), 8) {
		readers.Go(func() error {
			for b := range batches {
				sum.Add(sumOf(b.Column(len(in.query.Keys))))
				b.Release()
			}
			return nil
		})
	}
	for readCtx.Err() == nil && result.Next() {
		b := result.RecordBatch()
		b.Retain()
		select {
		case batches <- b:
		case <-readCtx.Done():
			b.Release()
		}
	}
	close(batches)
	if err := cmp.Or(readers.Wait(), result.Err()); err != nil {
		return engine.Stats{}, err
	}
	if sum.Load() != in.sum {
		return engine.Stats{}, errors.New("the sums do not add up: the answer is wrong")
	}
	return result.Stats(), nil
}
