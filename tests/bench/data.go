package main

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine/scan"
)

// table is a table of a key and of values v1, v2, ..., all int64 in [0, 1000). Every key occurs.
// Equal tables have equal rows, on every machine.
type table struct {
	rows, groups int64
	keys         keyShape
	dist         gen.Dist // the default is uniform
	values       int
}

// The exponent of zipf tables, and the share of one key in tables with a heavy one.
const (
	zipfExponent = 1.2
	heavyShare   = 0.5
)

// name tells tables with other rows apart, and suits a file.
func (t table) name() string {
	dist := t.dist
	if dist == "" {
		dist = gen.Uniform
	}
	return fmt.Sprintf("%s-%s-rows-%s-groups-%s-%d-values", dist, power(t.rows), power(t.groups), t.keys, t.values)
}

// power writes 50000000 as 5e7.
func power(n int64) string {
	exponent := 0
	for ; n >= 10 && n%10 == 0; n /= 10 {
		exponent++
	}
	if exponent < 3 {
		return fmt.Sprint(n * int64(math.Pow10(exponent)))
	}
	return fmt.Sprintf("%de%d", n, exponent)
}

// rowSet holds a table's rows in memory.
type rowSet struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch // of as many rows each, but for the last
	columns []scan.ColumnStats  // by column of the schema
}

func (s *rowSet) release() {
	for _, b := range s.batches {
		b.Release()
	}
}

// source returns the rows as mpga reads them. Arrays in memory come without statistics; known adds
// the range of the key, as a file's footer would.
func (s *rowSet) source(known bool) scan.Source {
	src := scan.Batches(s.schema, s.batches)
	if !known {
		return src
	}
	stats := src.Stats()
	stats.Columns = s.columns
	return knownSource{src, stats}
}

// knownSource is a source with better statistics.
type knownSource struct {
	scan.Source
	stats scan.Stats
}

func (s knownSource) Stats() scan.Stats { return s.stats }

// pairs are the tables that the columns come from: the key and v1 from the first, v2 from the
// second.
func (t table) pairs() ([]*gen.Table, error) {
	tables := make([]*gen.Table, t.values)
	for i := range tables {
		opt := gen.PairsOptions{Rows: t.rows, Groups: t.groups, Dist: t.dist, Zipf: zipfExponent, Heavy: heavyShare, Seed: uint64(i + 1)}
		if t.keys == stringKey {
			opt.Key = arrow.BinaryTypes.String
		}
		var err error
		if tables[i], err = gen.Pairs(opt); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// make generates the rows, by as many goroutines as there are processors.
func (t table) make(ctx context.Context) (*rowSet, error) {
	tables, err := t.pairs()
	if err != nil {
		return nil, err
	}
	splits := make([][]scan.Split, len(tables))
	for i := range tables {
		columns := []int{1}
		if i == 0 {
			columns = []int{0, 1}
		}
		if splits[i], err = tables[i].Splits(ctx, columns); err != nil {
			return nil, err
		}
	}
	set := &rowSet{schema: t.schema(), batches: make([]arrow.RecordBatch, len(splits[0])), columns: t.stats(tables[0].Stats())}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for block := range set.batches {
		group.Go(func() error {
			var columns []arrow.Array
			for i := range splits {
				read, err := readBlock(ctx, splits[i][block])
				if err != nil {
					return err
				}
				columns = append(columns, read...)
			}
			columns = append(t.keyColumns(columns[0], block), columns[1:]...)
			set.batches[block] = array.NewRecordBatch(set.schema, columns, int64(columns[0].Len()))
			return nil
		})
	}
	return set, group.Wait()
}

// readBlock returns the columns of a split, which comes as one batch.
func readBlock(ctx context.Context, s scan.Split) ([]arrow.Array, error) {
	r, err := s.Open(ctx, scan.OpenOptions{BatchRows: int(s.Rows())})
	if err != nil {
		return nil, err
	}
	defer r.Release()
	if !r.Next() {
		return nil, fmt.Errorf("%s: no rows: %w", s.Name(), r.Err())
	}
	columns := r.RecordBatch().Columns()
	for _, c := range columns {
		c.Retain()
	}
	return columns, nil
}

func (t table) schema() *arrow.Schema {
	typ := arrow.DataType(arrow.PrimitiveTypes.Int64)
	switch t.keys {
	case twoKeys:
		typ = arrow.PrimitiveTypes.Int32
	case stringKey:
		typ = arrow.BinaryTypes.String
	}
	var fields []arrow.Field
	for _, name := range t.keyNames() {
		fields = append(fields, arrow.Field{Name: name, Type: typ, Nullable: t.keys == nullKeys})
	}
	for i := range t.values {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("v", i+1), Type: arrow.PrimitiveTypes.Int64})
	}
	return arrow.NewSchema(fields, nil)
}

// stats returns the statistics of each column, by the statistics of the pairs. Values have no
// range, nor have keys that are not the generator's.
func (t table) stats(pairs scan.Stats) []scan.ColumnStats {
	stats := make([]scan.ColumnStats, t.schema().NumFields())
	for i := range stats {
		stats[i].NoNulls = !(t.keys == nullKeys && i == 0)
	}
	if t.keys == intKey {
		stats[0] = pairs.Columns[0]
	}
	return stats
}
