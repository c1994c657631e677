package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/tests/peer"
)

// load makes t a table of DuckDB's own of the rows of a set.
func load(ctx context.Context, d *peer.DuckDB, set *rowSet) error {
	source := &chunkSource{set: set, chunkRows: duckdb.GetDataChunkCapacity()}
	function := duckdb.ParallelChunkTableFunction{
		BindArguments: func(map[string]any, ...any) (duckdb.ParallelChunkTableSource, error) { return source, nil },
	}
	if err := duckdb.RegisterTableUDF(d.Conn, "record_batches", function); err != nil {
		return err
	}
	return d.Exec(ctx, "CREATE TABLE t AS FROM record_batches()")
}

// chunkSource hands record batches to DuckDB's threads, a chunk at a time.
type chunkSource struct {
	set       *rowSet
	chunkRows int
	next      atomic.Int64 // number of the next chunk
}

// duckDBTypes are DuckDB's names of the types of columns.
var duckDBTypes = map[arrow.Type]struct {
	code duckdb.Type
	name string
}{
	arrow.INT32:   {duckdb.TYPE_INTEGER, "INTEGER"},
	arrow.INT64:   {duckdb.TYPE_BIGINT, "BIGINT"},
	arrow.FLOAT64: {duckdb.TYPE_DOUBLE, "DOUBLE"},
	arrow.STRING:  {duckdb.TYPE_VARCHAR, "VARCHAR"},
}

func (s *chunkSource) ColumnInfos() []duckdb.ColumnInfo {
	infos := make([]duckdb.ColumnInfo, s.set.schema.NumFields())
	for i, f := range s.set.schema.Fields() {
		typ, err := duckdb.NewTypeInfo(duckDBTypes[f.Type.ID()].code)
		if err != nil {
			panic(fmt.Sprintf("column %q of %s: %v", f.Name, f.Type, err)) // tables have no other types
		}
		infos[i] = duckdb.ColumnInfo{Name: f.Name, T: typ}
	}
	return infos
}

func (s *chunkSource) Cardinality() *duckdb.CardinalityInfo { return nil }
func (s *chunkSource) Init() duckdb.ParallelTableSourceInfo { return duckdb.ParallelTableSourceInfo{} }
func (s *chunkSource) NewLocalState() any                   { return new(struct{}) }
func (s *chunkSource) FillChunk(_ any, c duckdb.DataChunk) error {
	return s.fill(c, int(s.next.Add(1)-1))
}

// fill copies the rows of a chunk; after the last, none.
func (s *chunkSource) fill(chunk duckdb.DataChunk, number int) error {
	blockRows := int(s.set.batches[0].NumRows())
	chunksPerBlock := (blockRows + s.chunkRows - 1) / s.chunkRows
	block, from := number/chunksPerBlock, number%chunksPerBlock*s.chunkRows
	if block >= len(s.set.batches) {
		return chunk.SetSize(0)
	}
	batch := s.set.batches[block]
	to := min(from+s.chunkRows, int(batch.NumRows()))
	for c, column := range batch.Columns() {
		if err := fillColumn(chunk, c, column, from, to); err != nil {
			return err
		}
	}
	return chunk.SetSize(max(to-from, 0))
}

func fillColumn(chunk duckdb.DataChunk, c int, column arrow.Array, from, to int) error {
	nulls := scan.NullCount(column) > 0
	for row := from; row < to; row++ {
		var err error
		switch a := column.(type) {
		case *array.Int64:
			err = duckdb.SetChunkValue(chunk, c, row-from, a.Value(row))
		case *array.Int32:
			err = duckdb.SetChunkValue(chunk, c, row-from, a.Value(row))
		case *array.String:
			err = duckdb.SetChunkValue(chunk, c, row-from, a.Value(row))
		default:
			err = fmt.Errorf("column %d: no chunk of %s", c, column.DataType())
		}
		if err == nil && nulls && column.IsNull(row) {
			err = chunk.SetValue(c, row-from, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
